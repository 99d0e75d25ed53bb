// SPDX-License-Identifier: MIT
/*
 * A baseline is sections of lines of words. A word has no blanks: what is not printable ASCII is
 * written as %XX, nothing as "-".
 */
#include "diff/baseline.h"

#include "base/base.h"
#include "base/outfile.h"
#include "report/tables.h"
#include "symbols/demangle.h"

#include <errno.h>
#include <sys/stat.h>

#define LARGEST ((off_t)64 << 20)
#define FIRST   "hotpath-baseline 1" /* line; the number is the version */

/* Lines of a function itself are kept by their distance from its start, which is here: any number
 * that leaves room for lines before it. */
#define START 1000000

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

/* --- Words ------------------------------------------------------------------------------------ */

static const char digits[] = "0123456789abcdef";

static void write_word(struct hp_strbuf *text, const char *word)
{
    if (!*word)
        hp_strbuf_add(text, "-");
    for (const char *c = word; *c; c++) {
        unsigned char byte = (unsigned char)*c;
        bool plain = byte > 0x20 && byte < 0x7f && byte != '%' && !(c == word && byte == '-');
        char coded[3] = {'%', digits[byte >> 4], digits[byte & 15]};
        hp_strbuf_bytes(text, plain ? c : coded, plain ? 1 : 3);
    }
}

static enum hp_err read_word(struct hp_strings *strings, const char *word, const char **text)
{
    struct hp_strbuf read HP_CLEANUP(hp_strbuf_fini) = {0};
    for (const char *c = strcmp(word, "-") == 0 ? "" : word; *c; c++) {
        char byte = *c;
        if (byte == '%') {
            const char *high = c[1] ? strchr(digits, c[1]) : NULL;
            const char *low = high && c[2] ? strchr(digits, c[2]) : NULL;
            byte = low ? (char)((high - digits) * 16 + (low - digits)) : 0;
            if (!byte)
                return hp_fail(HP_ERR_FORMAT, "'%%' must be followed by two hexadecimal digits");
            c += 2;
        }
        hp_strbuf_bytes(&read, &byte, 1);
    }
    *text = hp_strings_add(strings, hp_strbuf_text(&read), read.length);
    return read.failed || !*text ? hp_fail_nomem() : HP_OK;
}

/* --- A digest as lines ------------------------------------------------------------------------ */

static void put_word(struct hp_strbuf *text, const char *word)
{
    hp_strbuf_add(text, " ");
    write_word(text, word);
}

static bool is_kept(const struct hp_digest *d, uint64_t instructions)
{
    return instructions > 0 && instructions >= d->totals[HP_TOTAL_INSTRUCTIONS] / HP_BASELINE_PART;
}

/* Of a line of the function's own text only the distance matters. */
static void put_line(struct hp_strbuf *text, const struct hp_dfunction *f,
                     const struct hp_dline *line)
{
    int64_t distance = (int64_t)line->line - f->line;
    if (f->line && !*line->inlined && strcmp(line->file, f->file) == 0 && distance > -START &&
        distance < START) {
        hp_strbuf_format(text, "  own %+" PRId64, distance);
    } else {
        hp_strbuf_add(text, "  other");
        put_word(text, hp_base_name(line->file));
        put_word(text, line->inlined);
        hp_strbuf_format(text, " %u", line->line);
    }
    hp_strbuf_format(text, " %" PRIu64 "\n", line->instructions);
}

static void put_function(struct hp_strbuf *text, const struct hp_digest *d,
                         const struct hp_dfunction *f)
{
    hp_strbuf_add(text, "function");
    put_word(text, f->key);
    put_word(text, f->module);
    put_word(text, hp_base_name(f->file));
    hp_strbuf_format(text, " %" PRIu64 " %" PRIu64 "\n", f->self, f->calls);
    for (uint32_t i = f->lines; i < f->lines + f->n_lines; i++)
        if (d->lines[i].line && is_kept(d, d->lines[i].instructions))
            put_line(text, f, &d->lines[i]);
}

static int compare_functions(const void *a, const void *b)
{
    const struct hp_dfunction *x = *(const struct hp_dfunction *const *)a;
    const struct hp_dfunction *y = *(const struct hp_dfunction *const *)b;
    int order = strcmp(x->key, y->key) ?: strcmp(x->module, y->module);
    order = order ?: strcmp(hp_base_name(x->file), hp_base_name(y->file));
    return order ?: HP_COMPARE(x->self, y->self) ?: HP_COMPARE(x->line, y->line);
}

/* Appends what is worth keeping of a digest. */
static enum hp_err put_digest(struct hp_strbuf *text, const struct hp_digest *d)
{
    size_t n = 0;
    const struct hp_dfunction **order HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new(&order, d->n_functions, sizeof *order));
    for (enum hp_about i = 0; i < HP_ABOUTS; i++)
        if (*d->about[i]) {
            hp_strbuf_add(text, hp_about_names[i]);
            put_word(text, d->about[i]);
            hp_strbuf_add(text, "\n");
        }
    for (enum hp_total i = 0; i < HP_TOTALS; i++)
        if (d->known[i])
            hp_strbuf_format(text, "total %s %" PRIu64 "\n", hp_total_names[i], d->totals[i]);
    for (size_t i = 0; i < d->n_functions; i++) {
        const struct hp_dfunction *f = &d->functions[i];
        if (is_kept(d, f->self) && (*f->key || *f->module))
            order[n++] = f;
    }
    qsort(order, n, sizeof *order, compare_functions);
    for (size_t i = 0; i < n; i++)
        put_function(text, d, order[i]);
    return text->failed ? hp_fail_nomem() : HP_OK;
}

/* --- Lines as a digest ------------------------------------------------------------------------ */

#define WORDS 6

struct reading {
    struct hp_digest *digest;
    char *words[WORDS];
    size_t n;
    uint64_t rest; /* instructions that no function has */
};

static enum hp_err read_number(const char *word, uint64_t *number)
{
    errno = 0;
    *number = strtoull(word, NULL, 10);
    if (!*word)
        return hp_fail(HP_ERR_FORMAT, "a count is missing");
    if (word[strspn(word, "0123456789")] || errno || *number > INT64_MAX)
        return hp_fail(HP_ERR_FORMAT, "'%.40s' is not a count", word);
    return HP_OK;
}

static enum hp_err read_text(struct reading *r, size_t i, const char **text)
{
    return read_word(&r->digest->strings, r->words[i], text);
}

static enum hp_err read_total(struct reading *r)
{
    struct hp_digest *d = r->digest;
    enum hp_total i = 0;
    while (i < HP_TOTALS && (r->n != 3 || strcmp(r->words[1], hp_total_names[i]) != 0))
        i++;
    if (i == HP_TOTALS)
        return hp_fail(HP_ERR_FORMAT, "unknown total");
    if (d->known[i])
        return hp_fail(HP_ERR_FORMAT, "this total appears twice");
    d->known[i] = true;
    HP_TRY(read_number(r->words[2], &d->totals[i]));
    if (i == HP_TOTAL_INSTRUCTIONS)
        r->rest = d->totals[i];
    return HP_OK;
}

static enum hp_err add_line(struct hp_digest *d, struct hp_dline line)
{
    line.function = (uint32_t)d->n_functions - 1;
    d->functions[line.function].n_lines++;
    return hp_digest_add_line(d, &line);
}

/* Its first line is none: it has what the others leave. */
static enum hp_err add_function(struct reading *r, struct hp_dfunction f)
{
    if (f.self > r->rest)
        return hp_fail(HP_ERR_FORMAT, "functions have more instructions than the total");
    r->rest -= f.self;
    f.lines = (uint32_t)r->digest->n_lines;
    HP_TRY(hp_digest_add_function(r->digest, &f));
    return add_line(r->digest,
                    (struct hp_dline){.file = "", .inlined = "", .instructions = f.self});
}

static enum hp_err read_function(struct reading *r)
{
    struct hp_dfunction f = {.parts = 1, .line = START};
    if (r->n != 6)
        return hp_fail(HP_ERR_FORMAT, "a function has a name, a module, a file and two counts");
    HP_TRY(read_text(r, 1, &f.key));
    HP_TRY(read_text(r, 2, &f.module));
    HP_TRY(read_text(r, 3, &f.file));
    HP_TRY(read_number(r->words[4], &f.self));
    HP_TRY(read_number(r->words[5], &f.calls));
    char *readable HP_CLEANUP(hp_free) = *f.key ? hp_demangle(f.key, false) : NULL;
    HP_TRY(hp_digest_name(r->digest, &f, readable, readable ? strlen(readable) : 0));
    return add_function(r, f);
}

/* "+12", "-3" */
static enum hp_err read_distance(const char *word, uint32_t *line)
{
    uint64_t number = START;
    if (*word == '+' || *word == '-')
        HP_TRY(read_number(word + 1, &number));
    if (number >= START)
        return hp_fail(HP_ERR_FORMAT, "not a distance from the start of a function");
    *line = *word == '+' ? START + (uint32_t)number : START - (uint32_t)number;
    return HP_OK;
}

static enum hp_err read_line(struct reading *r, bool own)
{
    struct hp_digest *d = r->digest;
    uint64_t number = 0;
    if (d->n_functions == 0 || r->n != (own ? 3 : 5))
        return hp_fail(HP_ERR_FORMAT, "a line needs a function before it, a place and a count");
    const struct hp_dfunction *f = &d->functions[d->n_functions - 1];
    struct hp_dline line = {.file = f->file, .inlined = ""};
    if (own) {
        HP_TRY(read_distance(r->words[1], &line.line));
    } else {
        HP_TRY(read_text(r, 1, &line.file));
        HP_TRY(read_text(r, 2, &line.inlined));
        HP_TRY(read_number(r->words[3], &number));
        if (number == 0 || number > UINT32_MAX)
            return hp_fail(HP_ERR_FORMAT, "not a line number");
        line.line = (uint32_t)number;
    }
    HP_TRY(read_number(r->words[r->n - 1], &line.instructions));
    uint64_t *left = &d->lines[f->lines].instructions;
    if (line.instructions > *left)
        return hp_fail(HP_ERR_FORMAT, "lines have more instructions than their function");
    *left -= line.instructions;
    return add_line(d, line);
}

static enum hp_err read_one(struct reading *r, char *line)
{
    char *rest = NULL;
    r->n = 0;
    for (char *w = strtok_r(line, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        if (r->n == 0 && *w == '#')
            return HP_OK;
        if (r->n == WORDS)
            return hp_fail(HP_ERR_FORMAT, "too many words");
        r->words[r->n++] = w;
    }
    const char *first = r->words[0];
    if (r->n == 0)
        return HP_OK;
    if (strcmp(first, "total") == 0)
        return read_total(r);
    if (strcmp(first, "function") == 0)
        return read_function(r);
    if (strcmp(first, "own") == 0 || strcmp(first, "other") == 0)
        return read_line(r, strcmp(first, "own") == 0);
    for (enum hp_about i = 0; i < HP_ABOUTS; i++)
        if (strcmp(first, hp_about_names[i]) == 0)
            return r->n == 2 ? read_text(r, 1, &r->digest->about[i])
                             : hp_fail(HP_ERR_FORMAT, "'%s' takes one word", first);
    return hp_fail(HP_ERR_FORMAT, "unknown word '%.40s'", first);
}

static enum hp_err read_digest(struct reading *r, const struct hp_baseline_section *section)
{
    unsigned number = section->line;
    char *text HP_CLEANUP(hp_free) = strdup(section->text), *next = text;
    if (!text)
        return hp_fail_nomem();
    for (char *line; (line = strsep(&next, "\n"));) {
        enum hp_err err = read_one(r, line);
        number++;
        if (err != HP_OK)
            return hp_fail(err, "line %u of the baseline: %s", number, hp_error_text());
    }
    if (!r->digest->known[HP_TOTAL_INSTRUCTIONS])
        return hp_fail(HP_ERR_FORMAT, "the baseline of '%.60s' has no total of instructions",
                       section->name);
    return add_function(r, (struct hp_dfunction){.module = "",
                                                 .key = HP_BASELINE_REST,
                                                 .name = HP_BASELINE_REST,
                                                 .file = "",
                                                 .self = r->rest});
}

/* --- Files ------------------------------------------------------------------------------------ */

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
            HP_TRY(read_word(&b->strings, line + 1, &section.name));
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
    if (section) {
        HP_TRY(hp_digest_new(digest));
        return read_digest(&(struct reading){.digest = *digest}, section);
    }
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
    HP_TRY(put_digest(&text, digest));
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
        write_word(&text, section->name);
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
