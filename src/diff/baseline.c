// SPDX-License-Identifier: MIT
/* Baselines as files: sections of lines of words (baseline_text.c). */
#include "diff/baseline.h"

#include "base/base.h"
#include "base/outfile.h"

#include <errno.h>
#include <sys/stat.h>

#define LARGEST ((off_t)64 << 20)
#define FIRST   "hotpath-baseline 1" /* line; the number is the version */

enum hp_err hp_baseline_new(struct hp_baseline **baseline)
{
    return hp_new(baseline, 1, sizeof **baseline);
}

void hp_baseline_free(struct hp_baseline *baseline)
{
    if (!baseline)
        return;
    free(baseline->text);
    free(baseline->sections);
    hp_strings_fini(&baseline->strings);
    free(baseline);
}

/* --- Reading ---------------------------------------------------------------------------------- */

static int compare_sections(const void *a, const void *b)
{
    const struct hp_baseline_section *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static enum hp_err add_section(struct hp_baseline *b, const struct hp_baseline_section *section)
{
    HP_TRY(hp_grow(&b->sections, &b->capacity, b->n + 1, sizeof *b->sections));
    b->sections[b->n++] = *section;
    return HP_OK;
}

static enum hp_err read_sections(struct hp_baseline *b)
{
    char *next = b->text;
    for (unsigned number = 1; *next; number++) {
        char *line = next;
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        if (length > 2 && line[0] == '[' && line[length - 1] == ']') {
            struct hp_baseline_section section = {.line = number, .text = next};
            line[0] = line[length - 1] = 0; /* the ends of the section before and of the name */
            HP_TRY(hp_word_read(&b->strings, line + 1, &section.name));
            if (!*section.name)
                return hp_fail(HP_ERR_FORMAT, "line %u: benchmark without a name", number);
            HP_TRY(add_section(b, &section));
        } else if (b->n == 0 && number > 1 && length > 0 && line[0] != '#') {
            return hp_fail(HP_ERR_FORMAT, "line %u: not in the section of a benchmark", number);
        }
    }
    hp_sort(b->sections, b->n, sizeof *b->sections, compare_sections);
    for (size_t i = 1; i < b->n; i++)
        if (compare_sections(&b->sections[i - 1], &b->sections[i]) == 0)
            return hp_fail(HP_ERR_FORMAT, "benchmark '%s' appears twice", b->sections[i].name);
    return HP_OK;
}

static enum hp_err check_first(const char *text)
{
    size_t n = strcspn(text, "\n");
    if (n == strlen(FIRST) && memcmp(text, FIRST, n) == 0)
        return HP_OK;
    if (strncmp(text, FIRST, strlen(FIRST) - 1) == 0)
        return hp_fail(HP_ERR_VERSION, "a baseline of another version of hotpath ('%.*s')",
                       n < 40 ? (int)n : 40, text);
    return hp_fail(HP_ERR_FORMAT, "not a baseline: its first line is not '" FIRST "'");
}

static enum hp_err read_file(const char *path, char **text)
{
    struct stat status;
    size_t capacity = 0;
    if (stat(path, &status) != 0)
        return hp_fail(errno == ENOENT ? HP_ERR_NOTFOUND : HP_ERR_IO, "%s", strerror(errno));
    if (!S_ISREG(status.st_mode) || status.st_size > LARGEST)
        return hp_fail(HP_ERR_FORMAT, "not a baseline: not a regular file, or too large");
    FILE *file = fopen(path, "re");
    ssize_t n = file ? getdelim(text, &capacity, 0, file) : -1;
    bool is_empty = file && feof(file) && n < 0;
    enum hp_err err = n < 0 ? hp_fail(HP_ERR_IO, "%s", strerror(errno)) : HP_OK;
    if (file)
        fclose(file);
    if (is_empty)
        return check_first("");
    if (err == HP_OK && strlen(*text) != (size_t)n)
        return hp_fail(HP_ERR_FORMAT, "not a baseline: it is not text");
    return err;
}

enum hp_err hp_baseline_load(const char *path, struct hp_baseline **baseline)
{
    HP_TRY(hp_baseline_new(baseline));
    struct hp_baseline *b = *baseline;
    enum hp_err err = read_file(path, &b->text) ?: check_first(b->text) ?: read_sections(b);
    if (err == HP_OK)
        return HP_OK;
    hp_baseline_free(b);
    *baseline = NULL;
    return hp_fail(err, "%s: %s", path, hp_error_text());
}

/* --- Sections --------------------------------------------------------------------------------- */

static struct hp_baseline_section *find(const struct hp_baseline *b, const char *name)
{
    for (size_t i = 0; i < b->n; i++)
        if (strcmp(b->sections[i].name, name) == 0)
            return &b->sections[i];
    return NULL;
}

enum hp_err hp_baseline_get(const struct hp_baseline *baseline, const char *name,
                            struct hp_digest **digest)
{
    const struct hp_baseline_section *section = find(baseline, name);
    if (section)
        return hp_baseline_parse(section, digest);
    struct hp_strbuf names HP_CLEANUP(hp_strbuf_fini) = {0};
    for (size_t i = 0; i < baseline->n && names.length < 150; i++)
        hp_strbuf_format(&names, "%s%s", i ? ", " : "", baseline->sections[i].name);
    return hp_fail(HP_ERR_NOTFOUND, "the baseline has no benchmark '%.60s' (it has: %.150s)", name,
                   baseline->n ? hp_strbuf_text(&names) : "none");
}

enum hp_err hp_baseline_put(struct hp_baseline *baseline, const char *name,
                            const struct hp_digest *digest)
{
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    struct hp_baseline_section new = {.name =
                                          hp_strings_add(&baseline->strings, name, strlen(name))};
    HP_TRY(hp_baseline_format(&text, digest));
    new.text = hp_strings_add(&baseline->strings, hp_strbuf_text(&text), text.length);
    if (!new.name || !new.text)
        return hp_fail_nomem();
    struct hp_baseline_section *section = find(baseline, name);
    if (section)
        *section = new;
    else
        HP_TRY(add_section(baseline, &new));
    qsort(baseline->sections, baseline->n, sizeof *baseline->sections, compare_sections);
    return HP_OK;
}

enum hp_err hp_baseline_save(const struct hp_baseline *baseline, const char *path)
{
    struct hp_outfile out;
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_strbuf_add(&text, FIRST "\n# Counts of benchmarks, for hotpath ci: keep this file with the "
                               "source. hotpath ci --update writes it anew.\n");
    for (size_t i = 0; i < baseline->n; i++) {
        const struct hp_baseline_section *section = &baseline->sections[i];
        size_t length = strlen(section->text);
        while (length > 0 && section->text[length - 1] == '\n')
            length--;
        hp_strbuf_add(&text, "\n[");
        hp_word_write(&text, section->name);
        hp_strbuf_add(&text, "]\n");
        hp_strbuf_bytes(&text, section->text, length);
        hp_strbuf_add(&text, "\n");
    }
    if (text.failed)
        return hp_fail_nomem();
    HP_TRY(hp_outfile_open(&out, path));
    fputs(hp_strbuf_text(&text), out.file);
    return hp_outfile_commit(&out);
}
