// SPDX-License-Identifier: MIT
#include "diff/baseline_text.h"

#include "base/grow.h"
#include "report/tables.h"
#include "symbols/demangle.h"
#include "text/number.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Lines of a function itself are kept by their distance from its start, which is here: any number
 * that leaves room for lines before it. */
#define START 1000000

/* --- Words ------------------------------------------------------------------------------------ */

void hp_word_write(struct hp_strbuf *text, const char *word)
{
    static const char digits[] = "0123456789abcdef";
    if (!*word)
        hp_strbuf_add(text, "-");
    for (const char *c = word; *c; c++) {
        unsigned char byte = (unsigned char)*c;
        bool plain = byte > 0x20 && byte < 0x7f && byte != '%' && !(c == word && byte == '-');
        char coded[3] = {'%', digits[byte >> 4], digits[byte & 15]};
        if (plain)
            hp_strbuf_bytes(text, c, 1);
        else
            hp_strbuf_bytes(text, coded, 3);
    }
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

enum hp_err hp_word_read(struct hp_strings *strings, const char *word, size_t length,
                         const char **text)
{
    struct hp_strbuf read = {0};
    enum hp_err err = HP_OK;
    for (size_t i = 0; i < length && err == HP_OK; i++) {
        char byte = word[i];
        if (byte == '%') {
            int high = i + 2 < length ? hex_digit(word[i + 1]) : -1;
            int low = i + 2 < length ? hex_digit(word[i + 2]) : -1;
            if (high < 0 || low < 0 || (high | low) == 0)
                err = hp_fail(HP_ERR_FORMAT, "'%%' without the two digits of a byte");
            byte = (char)(high * 16 + low);
            i += 2;
        }
        if (err == HP_OK && !(length == 1 && byte == '-'))
            hp_strbuf_bytes(&read, &byte, 1);
    }
    if (err == HP_OK) {
        *text = hp_strings_add(strings, hp_strbuf_text(&read), read.length);
        err = read.failed || !*text ? hp_fail_nomem() : HP_OK;
    }
    hp_strbuf_fini(&read);
    return err;
}

/* --- Writing ---------------------------------------------------------------------------------- */

static void put_word(struct hp_strbuf *text, const char *word)
{
    hp_strbuf_add(text, " ");
    hp_word_write(text, word);
}

static void put_number(struct hp_strbuf *text, uint64_t number)
{
    hp_strbuf_add(text, " ");
    hp_strbuf_uint(text, number);
}

static void put_about(struct hp_strbuf *text, const char *what, const char *value)
{
    if (!*value)
        return;
    hp_strbuf_add(text, what);
    put_word(text, value);
    hp_strbuf_add(text, "\n");
}

static bool is_kept(const struct hp_digest *d, uint64_t instructions)
{
    return instructions > 0 && instructions >= d->totals[HP_TOTAL_INSTRUCTIONS] / HP_BASELINE_PART;
}

/* Whether a line is of the function's own text, so that only the distance matters. */
static bool is_own(const struct hp_dfunction *f, const struct hp_dline *line)
{
    int64_t distance = (int64_t)line->line - f->line;
    return f->line && !*line->inlined && strcmp(line->file, f->file) == 0 && distance > -START &&
           distance < START;
}

static void put_line(struct hp_strbuf *text, const struct hp_dfunction *f,
                     const struct hp_dline *line)
{
    bool own = is_own(f, line);
    hp_strbuf_add(text, own ? "  own" : "  other");
    if (own) {
        hp_strbuf_add(text, line->line < f->line ? " -" : " +");
        hp_strbuf_uint(text, line->line < f->line ? f->line - line->line : line->line - f->line);
    } else {
        put_word(text, hp_base_name(line->file));
        put_word(text, line->inlined);
        put_number(text, line->line);
    }
    put_number(text, line->instructions);
    hp_strbuf_add(text, "\n");
}

static int compare_functions(const void *a, const void *b, void *context)
{
    const struct hp_dfunction *functions = context;
    const struct hp_dfunction *x = &functions[*(const uint32_t *)a];
    const struct hp_dfunction *y = &functions[*(const uint32_t *)b];
    int order = strcmp(x->key, y->key);
    if (!order)
        order = strcmp(x->module, y->module);
    if (!order)
        order = strcmp(hp_base_name(x->file), hp_base_name(y->file));
    if (!order)
        order = (x->self > y->self) - (x->self < y->self);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static void put_functions(struct hp_strbuf *text, const struct hp_digest *d, const uint32_t *order)
{
    for (size_t i = 0; i < d->n_functions; i++) {
        const struct hp_dfunction *f = &d->functions[order[i]];
        if (!is_kept(d, f->self) || (!*f->key && !*f->module))
            continue;
        hp_strbuf_add(text, "function");
        put_word(text, f->key);
        put_word(text, f->module);
        put_word(text, hp_base_name(f->file));
        put_number(text, f->self);
        put_number(text, f->calls);
        hp_strbuf_add(text, "\n");
        for (uint32_t k = f->lines; k < f->lines + f->n_lines; k++)
            if (d->lines[k].line && is_kept(d, d->lines[k].instructions))
                put_line(text, f, &d->lines[k]);
    }
}

void hp_baseline_format(struct hp_strbuf *text, const struct hp_digest *d)
{
    uint32_t *order = calloc(d->n_functions + 1, sizeof *order);
    if (!order) {
        text->failed = true;
        return;
    }
    for (uint32_t i = 0; i < d->n_functions; i++)
        order[i] = i;
    qsort_r(order, d->n_functions, sizeof *order, compare_functions, d->functions);
    put_about(text, "command", d->command);
    put_about(text, "hotpath", d->version);
    put_about(text, "engine", d->engine);
    put_about(text, "arch", d->arch);
    put_about(text, "cpu", d->cpu);
    put_about(text, "libc", d->libc);
    put_about(text, "machine", d->machine);
    put_about(text, "modules", d->modules);
    for (int i = 0; i < HP_TOTALS; i++)
        if (d->known[i]) {
            hp_strbuf_add(text, "total ");
            hp_strbuf_add(text, hp_total_name((enum hp_total)i));
            put_number(text, d->totals[i]);
            hp_strbuf_add(text, "\n");
        }
    put_functions(text, d, order);
    free(order);
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
    uint64_t left; /* instructions of the function that no line has yet */
    uint64_t rest; /* that no function has */
};

static bool is_word(const struct word *word, const char *text)
{
    return word->length == strlen(text) && memcmp(word->text, text, word->length) == 0;
}

static enum hp_err read_words(struct reading *r, const char *line, size_t length)
{
    const char *end = line + length;
    for (r->n = 0; line < end;) {
        while (line < end && *line == ' ')
            line++;
        const char *start = line;
        while (line < end && *line != ' ')
            line++;
        if (line == start)
            break;
        if (r->n == WORDS)
            return hp_fail(HP_ERR_FORMAT, "too many words");
        r->words[r->n++] = (struct word){start, (size_t)(line - start)};
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

static enum hp_err read_text(struct reading *r, size_t i, const char **text)
{
    return hp_word_read(&r->digest->strings, r->words[i].text, r->words[i].length, text);
}

static enum hp_err read_total(struct reading *r)
{
    for (int i = 0; r->n == 3 && i < HP_TOTALS; i++)
        if (is_word(&r->words[1], hp_total_name((enum hp_total)i))) {
            if (r->digest->known[i])
                return hp_fail(HP_ERR_FORMAT, "a total that was given before");
            r->digest->known[i] = true;
            HP_TRY(read_number(&r->words[2], &r->digest->totals[i]));
            if (i == HP_TOTAL_INSTRUCTIONS)
                r->rest = r->digest->totals[i];
            return HP_OK;
        }
    return hp_fail(HP_ERR_FORMAT, "no total that hotpath knows");
}

/* What is left of the function before has no line. */
static enum hp_err end_function(struct reading *r)
{
    struct hp_digest *d = r->digest;
    if (d->n_functions)
        d->lines[d->functions[d->n_functions - 1].lines].instructions = r->left;
    r->left = 0;
    return HP_OK;
}

static enum hp_err add_line(struct reading *r, const struct hp_dline *line)
{
    struct hp_digest *d = r->digest;
    HP_TRY(hp_grow(&d->lines, &d->lines_capacity, d->n_lines + 1, sizeof *d->lines));
    d->lines[d->n_lines] = *line;
    d->lines[d->n_lines++].function = (uint32_t)d->n_functions - 1;
    d->functions[d->n_functions - 1].n_lines++;
    return HP_OK;
}

static enum hp_err add_function(struct reading *r, const struct hp_dfunction *f)
{
    struct hp_digest *d = r->digest;
    HP_TRY(end_function(r));
    if (f->self > r->rest)
        return hp_fail(HP_ERR_FORMAT, "more instructions in functions than in all");
    r->rest -= f->self;
    r->left = f->self;
    HP_TRY(
        hp_grow(&d->functions, &d->functions_capacity, d->n_functions + 1, sizeof *d->functions));
    d->functions[d->n_functions] = *f;
    d->functions[d->n_functions++].lines = (uint32_t)d->n_lines;
    return add_line(r, &(struct hp_dline){.file = "", .inlined = ""});
}

/* As a report would call it. */
static enum hp_err name_function(struct hp_digest *d, struct hp_dfunction *f)
{
    struct hp_strbuf text = {0};
    char *readable = *f->key ? hp_demangle(f->key, false) : NULL;
    if (*f->key) {
        hp_strbuf_add(&text, readable ? readable : f->key);
    } else {
        hp_strbuf_add(&text, f->module);
        hp_strbuf_add(&text, " (no symbols)");
    }
    free(readable);
    f->name = text.failed ? NULL : hp_digest_string(d, hp_strbuf_text(&text));
    hp_strbuf_fini(&text);
    if (!f->name)
        return hp_fail_nomem();
    char *loose = hp_lambda_key(f->name);
    f->loose = loose ? hp_digest_string(d, loose) : NULL;
    free(loose);
    return HP_OK;
}

static enum hp_err read_function(struct reading *r)
{
    struct hp_dfunction f = {.parts = 1, .line = START};
    if (r->n != 6)
        return hp_fail(HP_ERR_FORMAT, "a function has a name, a module, a file and two counts");
    HP_TRY(read_text(r, 1, &f.key));
    HP_TRY(read_text(r, 2, &f.module));
    HP_TRY(read_text(r, 3, &f.file));
    HP_TRY(read_number(&r->words[4], &f.self));
    HP_TRY(read_number(&r->words[5], &f.calls));
    HP_TRY(name_function(r->digest, &f));
    return add_function(r, &f);
}

/* "+12", "-3" */
static enum hp_err read_distance(const struct word *word, uint32_t *line)
{
    struct word digits = {word->text + 1, word->length - 1};
    uint64_t number = START;
    if (word->text[0] == '+' || word->text[0] == '-')
        HP_TRY(read_number(&digits, &number));
    if (number >= START)
        return hp_fail(HP_ERR_FORMAT, "no distance from the start of a function");
    *line = word->text[0] == '+' ? START + (uint32_t)number : START - (uint32_t)number;
    return HP_OK;
}

static enum hp_err read_line(struct reading *r, bool own)
{
    struct hp_digest *d = r->digest;
    struct hp_dline line = {.inlined = ""};
    uint64_t number = 0;
    if (d->n_functions == 0 || r->n != (own ? 3 : 5))
        return hp_fail(HP_ERR_FORMAT, "a line belongs to a function, and says which it is");
    if (own) {
        line.file = d->functions[d->n_functions - 1].file;
        HP_TRY(read_distance(&r->words[1], &line.line));
    } else {
        HP_TRY(read_text(r, 1, &line.file));
        HP_TRY(read_text(r, 2, &line.inlined));
        HP_TRY(read_number(&r->words[3], &number));
        line.line = (uint32_t)number;
        if (number == 0 || number > UINT32_MAX)
            return hp_fail(HP_ERR_FORMAT, "no number of a line");
    }
    HP_TRY(read_number(&r->words[r->n - 1], &line.instructions));
    if (line.instructions > r->left)
        return hp_fail(HP_ERR_FORMAT, "more instructions in lines than in their function");
    r->left -= line.instructions;
    return add_line(r, &line);
}

static enum hp_err read_about(struct reading *r)
{
    struct hp_digest *d = r->digest;
    const struct {
        const char *name;
        const char **value;
    } abouts[] = {
        {"command", &d->command}, {"hotpath", &d->version}, {"engine", &d->engine},
        {"arch", &d->arch},       {"cpu", &d->cpu},         {"libc", &d->libc},
        {"machine", &d->machine}, {"modules", &d->modules},
    };
    for (size_t i = 0; i < sizeof abouts / sizeof *abouts; i++)
        if (is_word(&r->words[0], abouts[i].name))
            return r->n == 2
                       ? read_text(r, 1, abouts[i].value)
                       : hp_fail(HP_ERR_FORMAT, "one word expected behind '%s'", abouts[i].name);
    return hp_fail(HP_ERR_FORMAT, "'%.*s' is not known",
                   r->words[0].length < 40 ? (int)r->words[0].length : 40, r->words[0].text);
}

static enum hp_err read_one(struct reading *r)
{
    const struct word *first = &r->words[0];
    if (r->n == 0 || first->text[0] == '#')
        return HP_OK;
    if (is_word(first, "total"))
        return read_total(r);
    if (is_word(first, "function"))
        return read_function(r);
    if (is_word(first, "own") || is_word(first, "other"))
        return read_line(r, is_word(first, "own"));
    return read_about(r);
}

static enum hp_err read_all(struct reading *r, const struct hp_baseline_section *section)
{
    const char *line = section->text, *end = section->text + section->length;
    for (unsigned number = section->line + 1; line < end; number++) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((stop ? stop : end) - line);
        enum hp_err err = *line == '#' ? HP_OK : read_words(r, line, length);
        if (err == HP_OK && *line != '#')
            err = read_one(r);
        if (err != HP_OK) {
            char reason[160];
            snprintf(reason, sizeof reason, "%s", hp_error_text());
            return hp_fail(err, "line %u of the baseline: %s", number, reason);
        }
        line = stop ? stop + 1 : end;
    }
    if (!r->digest->known[HP_TOTAL_INSTRUCTIONS])
        return hp_fail(HP_ERR_FORMAT, "the baseline of '%.60s' has no total of instructions",
                       section->name);
    HP_TRY(add_function(r, &(struct hp_dfunction){.module = "",
                                                  .key = HP_BASELINE_REST,
                                                  .name = HP_BASELINE_REST,
                                                  .file = "",
                                                  .self = r->rest}));
    return end_function(r);
}

enum hp_err hp_baseline_parse(const struct hp_baseline_section *section, struct hp_digest **digest)
{
    struct hp_digest *d = calloc(1, sizeof *d);
    if (!d)
        return hp_fail_nomem();
    d->version = d->engine = d->arch = d->libc = d->machine = d->cpu = d->modules = "";
    d->command = d->directory = "";
    struct reading r = {.digest = d};
    enum hp_err err = read_all(&r, section);
    if (err != HP_OK) {
        hp_digest_free(d);
        return err;
    }
    *digest = d;
    return HP_OK;
}
