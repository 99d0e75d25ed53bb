// SPDX-License-Identifier: MIT
/*
 * A digest as lines of words: the section of a baseline. A word has no blanks: what is not
 * printable ASCII is written as %XX, nothing as "-".
 */
#include "diff/baseline.h"

#include "base/cleanup.h"
#include "base/compare.h"
#include "report/tables.h"
#include "symbols/demangle.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Lines of a function itself are kept by their distance from its start, which is here: any number
 * that leaves room for lines before it. */
#define START 1000000

/* --- Words ------------------------------------------------------------------------------------ */

static const char digits[] = "0123456789abcdef";

void hp_word_write(struct hp_strbuf *text, const char *word)
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

enum hp_err hp_word_read(struct hp_strings *strings, const char *word, size_t length,
                         const char **text)
{
    struct hp_strbuf read HP_CLEANUP(hp_strbuf_fini) = {0};
    for (size_t i = 0; i < length; i++) {
        char byte = word[i];
        if (byte == '%') {
            const char *high = i + 2 < length ? strchr(digits, word[i + 1]) : NULL;
            const char *low = high ? strchr(digits, word[i + 2]) : NULL;
            byte = low ? (char)((high - digits) * 16 + (low - digits)) : 0;
            if (!byte)
                return hp_fail(HP_ERR_FORMAT, "'%%' without the two digits of a byte");
            i += 2;
        }
        if (length > 1 || byte != '-')
            hp_strbuf_bytes(&read, &byte, 1);
    }
    *text = hp_strings_add(strings, hp_strbuf_text(&read), read.length);
    return read.failed || !*text ? hp_fail_nomem() : HP_OK;
}

/* --- Lines of words --------------------------------------------------------------------------- */

/* What a word stands for, and where it is in a struct. */
struct field {
    enum { WORD, FILE_NAME, COUNT, LINE, DISTANCE } kind; /* of a line from START */
    size_t offset;
};

struct form {
    const char *first; /* word */
    struct field fields[6];
    size_t n;
    const char *wrong; /* what is said of another number of words */
};

static const struct form function_form = {
    "function",
    {{WORD, offsetof(struct hp_dfunction, key)},
     {WORD, offsetof(struct hp_dfunction, module)},
     {FILE_NAME, offsetof(struct hp_dfunction, file)},
     {COUNT, offsetof(struct hp_dfunction, self)},
     {COUNT, offsetof(struct hp_dfunction, calls)}},
    5,
    "a function has a name, a module, a file and two counts",
};

/* Lines of the function itself, and others. */
static const struct form own_form = {
    "own",
    {{DISTANCE, offsetof(struct hp_dline, line)}, {COUNT, offsetof(struct hp_dline, instructions)}},
    2,
    "a line belongs to a function, and says which it is",
};
static const struct form other_form = {
    "other",
    {{FILE_NAME, offsetof(struct hp_dline, file)},
     {WORD, offsetof(struct hp_dline, inlined)},
     {LINE, offsetof(struct hp_dline, line)},
     {COUNT, offsetof(struct hp_dline, instructions)}},
    4,
    "a line belongs to a function, and says which it is",
};

/* --- Writing ---------------------------------------------------------------------------------- */

static void put_field(struct hp_strbuf *text, const struct field *field, const void *row)
{
    const void *at = (const char *)row + field->offset;
    switch (field->kind) {
    case WORD: hp_word_write(text, *(const char *const *)at); break;
    case FILE_NAME: hp_word_write(text, hp_base_name(*(const char *const *)at)); break;
    case COUNT: hp_strbuf_uint(text, *(const uint64_t *)at); break;
    case LINE: hp_strbuf_uint(text, *(const uint32_t *)at); break;
    case DISTANCE: hp_strbuf_format(text, "%+d", (int)*(const uint32_t *)at - START); break;
    }
}

static void put_row(struct hp_strbuf *text, const struct form *form, const void *row)
{
    hp_strbuf_add(text, form->first);
    for (size_t i = 0; i < form->n; i++) {
        hp_strbuf_add(text, " ");
        put_field(text, &form->fields[i], row);
    }
    hp_strbuf_add(text, "\n");
}

static bool is_kept(const struct hp_digest *d, uint64_t instructions)
{
    return instructions > 0 && instructions >= d->totals[HP_TOTAL_INSTRUCTIONS] / HP_BASELINE_PART;
}

/* Of a line of the function's own text only the distance matters. */
static void put_line(struct hp_strbuf *text, const struct hp_dfunction *f, struct hp_dline line)
{
    int64_t distance = (int64_t)line.line - f->line;
    bool own = f->line && !*line.inlined && strcmp(line.file, f->file) == 0 && distance > -START &&
               distance < START;
    if (own)
        line.line = (uint32_t)(START + distance);
    hp_strbuf_add(text, "  ");
    put_row(text, own ? &own_form : &other_form, &line);
}

static int compare_functions(const void *a, const void *b)
{
    const struct hp_dfunction *x = *(const struct hp_dfunction *const *)a;
    const struct hp_dfunction *y = *(const struct hp_dfunction *const *)b;
    int order = strcmp(x->key, y->key) ?: strcmp(x->module, y->module);
    order = order ?: strcmp(hp_base_name(x->file), hp_base_name(y->file));
    return order ?: HP_COMPARE(x->self, y->self) ?: HP_COMPARE(x->line, y->line);
}

enum hp_err hp_baseline_format(struct hp_strbuf *text, const struct hp_digest *d)
{
    const struct hp_dfunction **order HP_CLEANUP(hp_free) =
        calloc(d->n_functions + 1, sizeof *order);
    if (!order)
        return hp_fail_nomem();
    for (enum hp_about i = 0; i < HP_ABOUTS; i++)
        if (*d->about[i])
            put_row(text, &(struct form){hp_about_name(i), {{WORD, 0}}, 1, NULL}, &d->about[i]);
    for (enum hp_total i = 0; i < HP_TOTALS; i++)
        if (d->known[i])
            hp_strbuf_format(text, "total %s %" PRIu64 "\n", hp_total_name(i), d->totals[i]);
    size_t n = 0;
    for (size_t i = 0; i < d->n_functions; i++)
        if (is_kept(d, d->functions[i].self) && (*d->functions[i].key || *d->functions[i].module))
            order[n++] = &d->functions[i];
    qsort(order, n, sizeof *order, compare_functions);
    for (size_t i = 0; i < n; i++) {
        put_row(text, &function_form, order[i]);
        for (uint32_t k = order[i]->lines; k < order[i]->lines + order[i]->n_lines; k++)
            if (d->lines[k].line && is_kept(d, d->lines[k].instructions))
                put_line(text, order[i], d->lines[k]);
    }
    return text->failed ? hp_fail_nomem() : HP_OK;
}

/* --- Reading ---------------------------------------------------------------------------------- */

#define WORDS 6

struct word {
    const char *text;
    size_t length;
};

struct reading {
    struct hp_digest *digest;
    struct word words[WORDS];
    size_t n;
    uint64_t rest; /* instructions that no function has */
};

static bool is_word(const struct word *word, const char *text)
{
    return word->length == strlen(text) && memcmp(word->text, text, word->length) == 0;
}

static enum hp_err read_words(struct reading *r, const char *line)
{
    r->n = 0;
    for (line += strspn(line, " "); *line && *line != '\n'; line += strspn(line, " ")) {
        if (r->n == WORDS)
            return hp_fail(HP_ERR_FORMAT, "too many words");
        r->words[r->n] = (struct word){line, strcspn(line, " \n")};
        line += r->words[r->n++].length;
    }
    return HP_OK;
}

static enum hp_err read_number(const struct word *word, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < word->length; i++) {
        char c = word->text[i];
        if (!isdigit((unsigned char)c) || __builtin_mul_overflow(*number, 10u, number) ||
            __builtin_add_overflow(*number, (uint64_t)(c - '0'), number) || *number > INT64_MAX)
            return hp_fail(HP_ERR_FORMAT, "'%.*s' is not a count",
                           word->length < 40 ? (int)word->length : 40, word->text);
    }
    return word->length ? HP_OK : hp_fail(HP_ERR_FORMAT, "a count is missing");
}

/* "+12", "-3" */
static enum hp_err read_distance(const struct word *word, uint32_t *line)
{
    uint64_t number = START;
    if (word->text[0] == '+' || word->text[0] == '-')
        HP_TRY(read_number(&(struct word){word->text + 1, word->length - 1}, &number));
    if (number >= START)
        return hp_fail(HP_ERR_FORMAT, "no distance from the start of a function");
    *line = word->text[0] == '+' ? START + (uint32_t)number : START - (uint32_t)number;
    return HP_OK;
}

static enum hp_err read_field(struct reading *r, const struct field *field, const struct word *word,
                              void *row)
{
    void *at = (char *)row + field->offset;
    uint64_t number;
    switch (field->kind) {
    case COUNT: return read_number(word, at);
    case DISTANCE: return read_distance(word, at);
    case LINE:
        HP_TRY(read_number(word, &number));
        *(uint32_t *)at = (uint32_t)number;
        return number && number <= UINT32_MAX ? HP_OK
                                              : hp_fail(HP_ERR_FORMAT, "no number of a line");
    default: return hp_word_read(&r->digest->strings, word->text, word->length, at);
    }
}

static enum hp_err read_row(struct reading *r, const struct form *form, void *row)
{
    if (r->n != form->n + 1)
        return hp_fail(HP_ERR_FORMAT, "%s", form->wrong);
    for (size_t i = 0; i < form->n; i++)
        HP_TRY(read_field(r, &form->fields[i], &r->words[i + 1], row));
    return HP_OK;
}

static enum hp_err read_total(struct reading *r)
{
    struct hp_digest *d = r->digest;
    for (enum hp_total i = 0; r->n == 3 && i < HP_TOTALS; i++)
        if (is_word(&r->words[1], hp_total_name(i))) {
            if (d->known[i])
                return hp_fail(HP_ERR_FORMAT, "a total that was given before");
            d->known[i] = true;
            HP_TRY(read_number(&r->words[2], &d->totals[i]));
            if (i == HP_TOTAL_INSTRUCTIONS)
                r->rest = d->totals[i];
            return HP_OK;
        }
    return hp_fail(HP_ERR_FORMAT, "no total that hotpath knows");
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
        return hp_fail(HP_ERR_FORMAT, "more instructions in functions than in all");
    r->rest -= f.self;
    f.lines = (uint32_t)r->digest->n_lines;
    HP_TRY(hp_digest_add_function(r->digest, &f));
    return add_line(r->digest,
                    (struct hp_dline){.file = "", .inlined = "", .instructions = f.self});
}

/* Called as a report would call it. */
static enum hp_err read_function(struct reading *r)
{
    struct hp_dfunction f = {.parts = 1, .line = START};
    HP_TRY(read_row(r, &function_form, &f));
    char *readable HP_CLEANUP(hp_free) = *f.key ? hp_demangle(f.key, false) : NULL;
    HP_TRY(hp_digest_name(r->digest, &f, readable, readable ? strlen(readable) : 0));
    return add_function(r, f);
}

static enum hp_err read_line(struct reading *r, const struct form *form)
{
    struct hp_digest *d = r->digest;
    if (d->n_functions == 0)
        return hp_fail(HP_ERR_FORMAT, "%s", form->wrong);
    const struct hp_dfunction *f = &d->functions[d->n_functions - 1];
    struct hp_dline line = {.file = f->file, .inlined = ""};
    HP_TRY(read_row(r, form, &line));
    uint64_t *left = &d->lines[f->lines].instructions;
    if (line.instructions > *left)
        return hp_fail(HP_ERR_FORMAT, "more instructions in lines than in their function");
    *left -= line.instructions;
    return add_line(d, line);
}

static enum hp_err read_about(struct reading *r)
{
    const struct word *word = r->words;
    for (enum hp_about i = 0; i < HP_ABOUTS; i++)
        if (is_word(word, hp_about_name(i)))
            return r->n == 2
                       ? hp_word_read(&r->digest->strings, word[1].text, word[1].length,
                                      &r->digest->about[i])
                       : hp_fail(HP_ERR_FORMAT, "one word expected behind '%s'", hp_about_name(i));
    return hp_fail(HP_ERR_FORMAT, "'%.*s' is not known", word->length < 40 ? (int)word->length : 40,
                   word->text);
}

static enum hp_err read_one(struct reading *r, const char *line)
{
    if (line[strspn(line, " ")] == '#')
        return HP_OK;
    HP_TRY(read_words(r, line));
    if (r->n == 0)
        return HP_OK;
    if (is_word(r->words, "total"))
        return read_total(r);
    if (is_word(r->words, function_form.first))
        return read_function(r);
    if (is_word(r->words, own_form.first))
        return read_line(r, &own_form);
    if (is_word(r->words, other_form.first))
        return read_line(r, &other_form);
    return read_about(r);
}

static enum hp_err read_all(struct reading *r, const struct hp_baseline_section *section)
{
    unsigned number = section->line;
    for (const char *line = section->text; *line; line += strcspn(line, "\n"), line += *line != 0) {
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

enum hp_err hp_baseline_parse(const struct hp_baseline_section *section, struct hp_digest **digest)
{
    HP_TRY(hp_digest_new(digest));
    enum hp_err err = read_all(&(struct reading){.digest = *digest}, section);
    if (err != HP_OK) {
        hp_digest_free(*digest);
        *digest = NULL;
    }
    return err;
}
