// SPDX-License-Identifier: MIT
/*
 * Baselines as files: sections of lines of words. A word has no blanks: what is not printable ASCII
 * is written as %XX, nothing as "-".
 */
#include "diff/baseline.h"

#include "base/grow.h"
#include "base/outfile.h"
#include "diff/baseline_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGEST   ((off_t)64 << 20)
#define FIRST     "hotpath-baseline 1"
#define FIRST_ANY "hotpath-baseline "

enum hp_err hp_baseline_new(struct hp_baseline **baseline)
{
    *baseline = calloc(1, sizeof **baseline);
    return *baseline ? HP_OK : hp_fail_nomem();
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

/* --- Sections --------------------------------------------------------------------------------- */

static int compare_sections(const void *a, const void *b)
{
    const struct hp_baseline_section *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static enum hp_err add_section(struct hp_baseline *b, const char *word, size_t length,
                               unsigned line)
{
    HP_TRY(hp_grow(&b->sections, &b->capacity, b->n + 1, sizeof *b->sections));
    struct hp_baseline_section *section = &b->sections[b->n];
    *section = (struct hp_baseline_section){.line = line};
    HP_TRY(hp_word_read(&b->strings, word, length, &section->name));
    if (!*section->name)
        return hp_fail(HP_ERR_FORMAT, "line %u: a benchmark without a name", line);
    b->n++;
    return HP_OK;
}

static enum hp_err read_sections(struct hp_baseline *b, size_t size)
{
    unsigned number = 1;
    const char *end = b->text + size;
    for (const char *line = b->text, *next; line < end; line = next, number++) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        next = stop ? stop + 1 : end;
        size_t length = (size_t)((stop ? stop : end) - line);
        if (length > 2 && line[0] == '[' && line[length - 1] == ']') {
            HP_TRY(add_section(b, line + 1, length - 2, number));
            b->sections[b->n - 1].text = next;
        } else if (b->n) {
            struct hp_baseline_section *section = &b->sections[b->n - 1];
            section->length = (size_t)(next - section->text);
        } else if (number > 1 && length > 0 && line[0] != '#') {
            return hp_fail(HP_ERR_FORMAT, "line %u: not in the section of a benchmark", number);
        }
    }
    if (b->n)
        qsort(b->sections, b->n, sizeof *b->sections, compare_sections);
    for (size_t i = 1; i < b->n; i++)
        if (compare_sections(&b->sections[i - 1], &b->sections[i]) == 0)
            return hp_fail(HP_ERR_FORMAT, "the benchmark '%s' is there twice", b->sections[i].name);
    return HP_OK;
}

static enum hp_err check_first(const char *text)
{
    size_t n = strcspn(text, "\n");
    if (n == strlen(FIRST) && memcmp(text, FIRST, n) == 0)
        return HP_OK;
    if (strncmp(text, FIRST_ANY, strlen(FIRST_ANY)) == 0)
        return hp_fail(HP_ERR_VERSION, "a baseline of another version of hotpath ('%.*s')",
                       n < 40 ? (int)n : 40, text);
    return hp_fail(HP_ERR_FORMAT, "not a baseline: its first line is not '" FIRST "'");
}

static enum hp_err read_file(const char *path, char **text, size_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (fd < 0)
        return hp_fail(errno == ENOENT ? HP_ERR_NOTFOUND : HP_ERR_IO, "%s", strerror(errno));
    enum hp_err err = HP_OK;
    size_t have = 0;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > LARGEST)
        err = hp_fail(HP_ERR_FORMAT, "not a baseline: not a file, or too large");
    *text = err == HP_OK ? malloc((size_t)status.st_size + 1) : NULL;
    if (err == HP_OK && !*text)
        err = hp_fail_nomem();
    while (err == HP_OK && have < (size_t)status.st_size) {
        ssize_t n = read(fd, *text + have, (size_t)status.st_size - have);
        if (n < 0)
            err = hp_fail(HP_ERR_IO, "%s", strerror(errno));
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    if (err == HP_OK)
        (*text)[have] = 0;
    *size = have;
    close(fd);
    return err;
}

enum hp_err hp_baseline_load(const char *path, struct hp_baseline **baseline)
{
    struct hp_baseline *b;
    size_t size = 0;
    HP_TRY(hp_baseline_new(&b));
    enum hp_err err = read_file(path, &b->text, &size);
    if (err == HP_OK && strlen(b->text) != size)
        err = hp_fail(HP_ERR_FORMAT, "not a baseline: it is not text");
    if (err == HP_OK)
        err = check_first(b->text);
    if (err == HP_OK)
        err = read_sections(b, size);
    if (err != HP_OK) {
        char reason[256];
        snprintf(reason, sizeof reason, "%s", hp_error_text());
        hp_baseline_free(b);
        return hp_fail(err, "%s: %s", path, reason);
    }
    *baseline = b;
    return HP_OK;
}

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
    struct hp_strbuf names = {0};
    for (size_t i = 0; i < baseline->n && names.length < 150; i++) {
        hp_strbuf_add(&names, i ? ", " : "");
        hp_strbuf_add(&names, baseline->sections[i].name);
    }
    enum hp_err err =
        hp_fail(HP_ERR_NOTFOUND, "the baseline has no benchmark '%.60s' (it has: %.150s)", name,
                baseline->n ? hp_strbuf_text(&names) : "none");
    hp_strbuf_fini(&names);
    return err;
}

enum hp_err hp_baseline_put(struct hp_baseline *baseline, const char *name,
                            const struct hp_digest *digest)
{
    struct hp_strbuf text = {0};
    hp_baseline_format(&text, digest);
    struct hp_baseline_section *section = find(baseline, name);
    enum hp_err err = text.failed ? hp_fail_nomem() : HP_OK;
    if (err == HP_OK && !section) {
        err = hp_grow(&baseline->sections, &baseline->capacity, baseline->n + 1,
                      sizeof *baseline->sections);
        if (err == HP_OK) {
            section = &baseline->sections[baseline->n++];
            section->name = hp_strings_add(&baseline->strings, name, strlen(name));
        }
    }
    if (err == HP_OK) {
        section->text = hp_strings_add(&baseline->strings, hp_strbuf_text(&text), text.length);
        section->length = text.length;
        if (!section->text || !section->name)
            err = hp_fail_nomem();
    }
    hp_strbuf_fini(&text);
    HP_TRY(err);
    qsort(baseline->sections, baseline->n, sizeof *baseline->sections, compare_sections);
    return HP_OK;
}

enum hp_err hp_baseline_save(const struct hp_baseline *baseline, const char *path)
{
    struct hp_outfile out;
    struct hp_strbuf name = {0};
    HP_TRY(hp_outfile_open(&out, path));
    fputs(FIRST
          "\n# Counts of benchmarks, for hotpath ci: keep this file with the source. hotpath ci "
          "--update writes it anew.\n",
          out.file);
    for (size_t i = 0; i < baseline->n; i++) {
        const struct hp_baseline_section *section = &baseline->sections[i];
        size_t length = section->length;
        while (length > 0 && section->text[length - 1] == '\n')
            length--;
        hp_strbuf_clear(&name);
        hp_word_write(&name, section->name);
        fprintf(out.file, "\n[%s]\n", hp_strbuf_text(&name));
        fwrite(section->text, 1, length, out.file);
        fputc('\n', out.file);
    }
    bool failed = name.failed;
    hp_strbuf_fini(&name);
    if (failed) {
        hp_outfile_abort(&out);
        return hp_fail_nomem();
    }
    return hp_outfile_commit(&out);
}
