// SPDX-License-Identifier: MIT
#include "report/query/filter.h"

#include "base/base.h"
#include "text/strbuf.h"

#include <ctype.h>

#define DEEPEST 32 /* parentheses and "not" in each other */

enum op { OP_TRUE, OP_EQUAL, OP_NOT_EQUAL, OP_LESS, OP_AT_MOST, OP_MORE, OP_AT_LEAST, OP_CONTAINS };
enum code { CODE_TEST, CODE_NOT, CODE_AND, CODE_OR };

/* --- Words ------------------------------------------------------------------------------------ */

enum token { TOKEN_END, TOKEN_WORD, TOKEN_QUOTED, TOKEN_OP, TOKEN_OPEN, TOKEN_CLOSE };

struct parser {
    struct hp_filter *filter;
    const char *text, *at; /* behind the token */
    enum token token;
    const char *start; /* of the token: of a quoted one without the quote */
    size_t length;
    enum op op;
    unsigned depth;
};

static enum hp_err wrong(const struct parser *p, const char *what)
{
    if (p->token == TOKEN_END)
        return hp_fail(HP_ERR_INVALID, "--filter '%s': %s at the end", p->text, what);
    return hp_fail(HP_ERR_INVALID, "--filter '%s': %s at '%.*s'", p->text, what, (int)p->length,
                   p->start);
}

static enum hp_err next_quoted(struct parser *p)
{
    const char *end = strchr(p->at + 1, *p->at);
    p->token = TOKEN_QUOTED;
    p->start = p->at + 1;
    if (!end)
        return hp_fail(HP_ERR_INVALID, "--filter '%s': a quote is not closed", p->text);
    p->length = (size_t)(end - p->start);
    p->at = end + 1;
    return HP_OK;
}

/* At an operator, which is taken. */
static enum hp_err next_operator(struct parser *p)
{
    static const struct {
        const char *text;
        enum op op;
    } all[] = {{"==", OP_EQUAL}, {"!=", OP_NOT_EQUAL}, {"<=", OP_AT_MOST}, {">=", OP_AT_LEAST},
               {"=", OP_EQUAL},  {"<", OP_LESS},       {">", OP_MORE},     {"~", OP_CONTAINS}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strncmp(p->at, all[i].text, strlen(all[i].text)) == 0) {
            p->token = TOKEN_OP;
            p->op = all[i].op;
            p->length = strlen(all[i].text);
            p->at += p->length;
            return HP_OK;
        }
    p->token = TOKEN_OP;
    p->length = 1;
    return wrong(p, "no operator");
}

static enum hp_err next(struct parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
    p->start = p->at;
    p->length = 1;
    if (!*p->at) {
        p->token = TOKEN_END;
    } else if (*p->at == '(' || *p->at == ')') {
        p->token = *p->at++ == '(' ? TOKEN_OPEN : TOKEN_CLOSE;
    } else if (*p->at == '"' || *p->at == '\'') {
        return next_quoted(p);
    } else if (strchr("=!<>~", *p->at)) {
        return next_operator(p);
    } else {
        p->token = TOKEN_WORD;
        p->length = strcspn(p->at, " \t\r\n\f\v()=!<>~\"'");
        p->at += p->length;
    }
    return HP_OK;
}

static bool is_word(const struct parser *p, const char *word)
{
    return p->token == TOKEN_WORD && strlen(word) == p->length &&
           memcmp(p->start, word, p->length) == 0;
}

bool hp_filter_number(const char *text, long double *number)
{
    static const char letters[] = "kMGT";
    char *end;
    const char *digits = *text == '-' ? text + 1 : text;
    if (!isdigit((unsigned char)*digits) || strpbrk(text, "xXpP"))
        return false;
    *number = strtold(text, &end);
    if (*end == '%') {
        *number /= 100;
        return !end[1];
    }
    const char *letter = *end == 'K' ? letters : *end ? strchr(letters, *end) : NULL;
    for (const char *c = letters; letter && c <= letter; c++)
        *number *= 1000;
    return !end[letter != NULL];
}

/* --- Grammar ---------------------------------------------------------------------------------- */

static enum hp_err too_long(void)
{
    return hp_fail(HP_ERR_INVALID, "--filter: it is too long: at most %d comparisons",
                   HP_FILTER_TESTS);
}

static enum hp_err emit(struct parser *p, enum code code)
{
    struct hp_filter *f = p->filter;
    if (f->n_code == sizeof f->code)
        return too_long();
    f->code[f->n_code++] = (uint8_t)code;
    return HP_OK;
}

static enum hp_err read_value(struct parser *p, struct hp_filter_test *test)
{
    if (p->token != TOKEN_WORD && p->token != TOKEN_QUOTED)
        return wrong(p, "a value is missing");
    test->quoted = p->token == TOKEN_QUOTED;
    test->text = strndup(p->start, p->length);
    if (!test->text)
        return hp_fail_nomem();
    test->is_number = !test->quoted && hp_filter_number(test->text, &test->number);
    return next(p);
}

static enum hp_err read_comparison(struct parser *p)
{
    struct hp_filter *f = p->filter;
    if (p->token != TOKEN_WORD || is_word(p, "and") || is_word(p, "or"))
        return wrong(p, "a column is missing");
    if (f->n == HP_FILTER_TESTS)
        return too_long();
    struct hp_filter_test *test = &f->tests[f->n++];
    test->op = OP_TRUE;
    test->column = strndup(p->start, p->length);
    if (!test->column)
        return hp_fail_nomem();
    HP_TRY(next(p));
    if (p->token == TOKEN_OP) {
        test->op = (uint8_t)p->op;
        HP_TRY(next(p));
        HP_TRY(read_value(p, test));
    }
    return emit(p, CODE_TEST);
}

static enum hp_err read_expression(struct parser *p);

static enum hp_err read_test(struct parser *p)
{
    bool is_not = is_word(p, "not");
    if (!is_not && p->token != TOKEN_OPEN)
        return read_comparison(p);
    if (++p->depth > DEEPEST)
        return hp_fail(HP_ERR_INVALID, "--filter: nested deeper than %d", DEEPEST);
    HP_TRY(next(p));
    HP_TRY(is_not ? read_test(p) : read_expression(p));
    p->depth--;
    if (is_not)
        return emit(p, CODE_NOT);
    if (p->token != TOKEN_CLOSE)
        return wrong(p, "')' is missing");
    return next(p);
}

static enum hp_err read_and_part(struct parser *p)
{
    HP_TRY(read_test(p));
    while (is_word(p, "and")) {
        HP_TRY(next(p));
        HP_TRY(read_test(p));
        HP_TRY(emit(p, CODE_AND));
    }
    return HP_OK;
}

static enum hp_err read_expression(struct parser *p)
{
    HP_TRY(read_and_part(p));
    while (is_word(p, "or")) {
        HP_TRY(next(p));
        HP_TRY(read_and_part(p));
        HP_TRY(emit(p, CODE_OR));
    }
    return HP_OK;
}

enum hp_err hp_filter_parse(struct hp_filter *filter, const char *text)
{
    struct parser p = {.filter = filter, .text = text, .at = text};
    *filter = (struct hp_filter){0};
    HP_TRY(next(&p));
    HP_TRY(read_expression(&p));
    return p.token == TOKEN_END ? HP_OK : wrong(&p, "'and' or 'or' is missing");
}

void hp_filter_fini(struct hp_filter *filter)
{
    for (size_t i = 0; i < filter->n; i++) {
        free(filter->tests[i].column);
        free(filter->tests[i].text);
    }
    *filter = (struct hp_filter){0};
}

/* --- Columns ---------------------------------------------------------------------------------- */

enum hp_err hp_filter_column(const struct hp_filter_columns *columns, const char *option,
                             const char *name, size_t *index)
{
    struct hp_strbuf names HP_CLEANUP(hp_strbuf_fini) = {0};
    for (size_t i = 0; i < columns->n; i++) {
        *index = i;
        if (strcmp(columns->name(columns->context, i), name) == 0)
            return HP_OK;
        hp_strbuf_format(&names, "%s%s", i ? ", " : "", columns->name(columns->context, i));
    }
    *index = columns->member ? columns->member(columns->context, name) : SIZE_MAX;
    if (*index != SIZE_MAX)
        return HP_OK;
    return hp_fail(HP_ERR_INVALID, "%s: %s has no column '%.40s': there are %s", option,
                   columns->of, name, hp_strbuf_text(&names));
}

enum hp_err hp_filter_bind(struct hp_filter *filter, const struct hp_filter_columns *columns)
{
    for (size_t i = 0; i < filter->n; i++)
        HP_TRY(hp_filter_column(columns, "--filter", filter->tests[i].column,
                                &filter->tests[i].index));
    return HP_OK;
}

/* --- Rows ------------------------------------------------------------------------------------- */

static enum hp_err does_not_fit(const struct hp_filter_test *test, const char *is)
{
    return hp_fail(HP_ERR_INVALID, "--filter: %s is %s", test->column, is);
}

static bool is_value(const struct hp_filter_test *test, const char *value)
{
    return test->text && !test->quoted && strcmp(test->text, value) == 0;
}

/* `order` < 0: the cell is less than the value. */
static bool compare(enum op op, int order)
{
    switch (op) {
    case OP_EQUAL: return order == 0;
    case OP_NOT_EQUAL: return order != 0;
    case OP_LESS: return order < 0;
    case OP_AT_MOST: return order <= 0;
    case OP_MORE: return order > 0;
    default: return order >= 0;
    }
}

static enum hp_err test_text(const struct hp_filter_test *test, const char *text, bool *passes)
{
    if (test->op != OP_EQUAL && test->op != OP_NOT_EQUAL && test->op != OP_CONTAINS)
        return does_not_fit(test, "a text: =, != and ~ (contains) are for texts");
    *passes = test->op == OP_CONTAINS ? strstr(text, test->text) != NULL
                                      : compare(test->op, strcmp(text, test->text));
    return HP_OK;
}

static enum hp_err test_flag(const struct hp_filter_test *test, bool flag, bool *passes)
{
    bool wanted = test->op == OP_TRUE || is_value(test, "true");
    if (test->op > OP_NOT_EQUAL || (!wanted && !is_value(test, "false")))
        return does_not_fit(test, "true or false");
    *passes = (flag == wanted) == (test->op != OP_NOT_EQUAL);
    return HP_OK;
}

static enum hp_err test_number(const struct hp_filter_test *test, const struct hp_cell *cell,
                               bool *passes)
{
    if (!test->is_number || test->op == OP_CONTAINS)
        return does_not_fit(test, "a number: compare it with one (examples: 4, 10k, 2.5M, 1%)");
    int order = 0;
    if (cell->kind == HP_CELL_UINT)
        order = HP_COMPARE((long double)cell->number, test->number);
    else if (cell->kind == HP_CELL_INT)
        order = HP_COMPARE((long double)cell->integer, test->number);
    else
        order = HP_COMPARE(cell->share, (double)test->number);
    *passes = compare(test->op, order);
    return HP_OK;
}

static enum hp_err run_test(const struct hp_filter_test *test, const struct hp_cell *cell,
                            bool *passes)
{
    bool null = is_value(test, "null") && cell->kind != HP_CELL_TEXT;
    if (null && test->op != OP_EQUAL && test->op != OP_NOT_EQUAL)
        return does_not_fit(test, "compared with null by = and != only");
    *passes = null && (cell->kind == HP_CELL_NONE) == (test->op == OP_EQUAL);
    if (null || cell->kind == HP_CELL_NONE)
        return HP_OK;
    if (cell->kind == HP_CELL_BOOL)
        return test_flag(test, cell->flag, passes);
    if (test->op == OP_TRUE)
        return does_not_fit(test, "neither true nor false: compare it with a value");
    return cell->kind == HP_CELL_TEXT ? test_text(test, cell->text, passes)
                                      : test_number(test, cell, passes);
}

/* All tests are run, so that what is wrong with one does not depend on the others. */
enum hp_err hp_filter_passes(const struct hp_filter *filter,
                             const struct hp_filter_columns *columns, bool *passes)
{
    bool stack[HP_FILTER_TESTS + 1];
    size_t n = 0, test = 0;
    for (size_t i = 0; i < filter->n_code; i++) {
        if (filter->code[i] == CODE_TEST) {
            const struct hp_filter_test *t = &filter->tests[test++];
            struct hp_cell cell = columns->cell(columns->context, t->index);
            HP_TRY(run_test(t, &cell, &stack[n++]));
        } else if (filter->code[i] == CODE_NOT) {
            stack[n - 1] = !stack[n - 1];
        } else {
            n--;
            stack[n - 1] =
                filter->code[i] == CODE_AND ? stack[n - 1] && stack[n] : stack[n - 1] || stack[n];
        }
    }
    *passes = filter->n_code == 0 || stack[0];
    return HP_OK;
}
