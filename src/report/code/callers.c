// SPDX-License-Identifier: MIT
/* Who calls a function, the function, and what it calls: of each function that is asked for. */
#include "base/base.h"
#include "report/fields.h"
#include "report/query/query.h"
#include "report/text.h"

enum relation { CALLER, FUNCTION, CALLEE };
static const char *const relations[] = {"caller", "function", "callee"};

/* A row. The functions that are asked for follow each other, each with its callers before it. */
struct hp_caller {
    uint32_t of;       /* the function that is asked for */
    uint32_t function; /* of the row; HP_PROFILE_NONE: a thread or a signal handler began */
    enum relation relation;
    uint64_t calls, inclusive;
};

/* --- Rows ------------------------------------------------------------------------------------- */

struct work {
    struct hp_tables *tables;
    size_t capacity;
    uint64_t *calls, *inclusive; /* by call, over all threads */
};

static void work_fini(struct work *work)
{
    free(work->calls);
    free(work->inclusive);
}

static enum hp_err add(struct work *work, struct hp_caller row)
{
    struct hp_tables *t = work->tables;
    HP_TRY(hp_grow(&t->callers, &work->capacity, t->n_callers + 1, sizeof *t->callers));
    t->callers[t->n_callers++] = row;
    return HP_OK;
}

/* The calls in which `of` is on the other side of the relation. */
static enum hp_err add_calls(struct work *work, uint32_t of, enum relation relation)
{
    const struct hp_profile *p = work->tables->profile;
    for (size_t i = 0; i < p->n_calls; i++) {
        const struct hp_pcall *call = &p->calls[i];
        uint32_t near = relation == CALLER ? call->callee : call->caller;
        uint32_t far = relation == CALLER ? call->caller : call->callee;
        if (near == of && work->calls[i])
            HP_TRY(add(work,
                       (struct hp_caller){of, far, relation, work->calls[i], work->inclusive[i]}));
    }
    return HP_OK;
}

static enum hp_err add_function(struct work *work, uint32_t function)
{
    const struct hp_profile *p = work->tables->profile;
    struct hp_caller row = {function, function, FUNCTION, 0, 0};
    size_t n;
    const struct hp_pfunction_count *counts = hp_items(p, HP_ROW_FUNCTION_COUNT, function, &n);
    if (n == 0) /* it was not executed */
        return HP_OK;
    for (size_t i = 0; i < n; i++) {
        hp_add_up(&row.calls, counts[i].calls);
        hp_add_up(&row.inclusive, counts[i].inclusive);
    }
    HP_TRY(add_calls(work, function, CALLER));
    HP_TRY(add(work, row));
    return add_calls(work, function, CALLEE);
}

static enum hp_err make(struct hp_rows *rows, struct hp_tables *tables)
{
    const struct hp_profile *p = tables->profile;
    const bool *asked = tables->query ? tables->query->functions.is : NULL;
    struct work work HP_CLEANUP(work_fini) = {.tables = tables};
    free(tables->callers);
    tables->callers = NULL;
    tables->n_callers = 0;
    HP_TRY(hp_new(&work.calls, p->n_calls + 1, sizeof *work.calls));
    HP_TRY(hp_new(&work.inclusive, p->n_calls + 1, sizeof *work.inclusive));
    for (size_t i = 0; i < p->n_call_counts; i++) {
        hp_add_up(&work.calls[p->call_counts[i].item], p->call_counts[i].count);
        hp_add_up(&work.inclusive[p->call_counts[i].item], p->call_counts[i].inclusive);
    }
    for (uint32_t i = 0; asked && i < p->n_functions; i++)
        if (asked[i])
            HP_TRY(add_function(&work, i));
    HP_TRY(hp_rows_of_items(rows, tables->n_callers));
    for (size_t i = 0; i < rows->n; i++)
        rows->rows[i].v[0] =
            tables->inclusive_known ? tables->callers[i].inclusive : tables->callers[i].calls;
    return HP_OK;
}

/* --- For scripts ------------------------------------------------------------------------------ */

static const struct hp_caller *caller_of(const struct hp_tables *tables, const struct hp_row *row)
{
    return &tables->callers[row->item];
}

/* The row of the function itself. */
static const struct hp_caller *function_of(const struct hp_tables *tables, const struct hp_row *row)
{
    const struct hp_caller *c = caller_of(tables, row);
    while (c->relation == CALLEE)
        c--;
    while (c->relation == CALLER)
        c++;
    return c;
}

enum { OF, RELATION, NAME, ADDRESS, CALLS, INCLUSIVE, SHARE, PART };

static const char *name_of(const struct hp_tables *tables, uint32_t function)
{
    return function == HP_PROFILE_NONE ? "" : tables->functions[function];
}

static struct hp_cell get(const struct hp_field_input *in)
{
    const struct hp_tables *t = in->tables;
    const struct hp_caller *c = caller_of(t, in->row);
    switch (in->field->value) {
    case OF: return hp_cell_text(name_of(t, c->of));
    case RELATION: return hp_cell_text(relations[c->relation]);
    case NAME: return hp_cell_text(name_of(t, c->function));
    case ADDRESS:
        return c->function == HP_PROFILE_NONE
                   ? hp_cell_text("")
                   : hp_cell_place(in, t->profile->functions[c->function].place);
    case CALLS: return hp_cell_number(c->calls);
    case INCLUSIVE: return hp_cell_number(c->inclusive);
    case SHARE: return hp_cell_fraction(hp_number_share(c->inclusive, t->summary.instructions));
    default:
        return hp_cell_fraction(hp_number_share(c->inclusive, function_of(t, in->row)->inclusive));
    }
}

static const struct hp_field fields[] = {
    {"of", "function that is asked for", .get = get, .value = OF},
    {"relation", "`caller`, `function` (itself) or `callee`", .get = get, .value = RELATION},
    {"function", "that calls, or is called; empty: a thread or a signal handler began", .get = get,
     .value = NAME},
    {"address", "where it begins", .get = get, .value = ADDRESS},
    {"calls", "between the two; of the function itself: times it was entered", .get = get,
     .value = CALLS},
    {"inclusive", "instructions executed during them; of the function itself: in all", .get = get,
     .value = INCLUSIVE, .ordered = true},
    {"share", "of `inclusive` in all instructions", .get = get, .value = SHARE, .ordered = true},
    {"part", "of `inclusive` in that of the function that is asked for", .get = get, .value = PART,
     .ordered = true},
    {0}};

/* --- For people ------------------------------------------------------------------------------- */

static void put_function(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    static const char *const before[] = {"", "  ", "    -> "};
    const struct hp_caller *c = caller_of(in->tables, row);
    hp_strbuf_add(cell, before[c->relation]);
    if (c->function == HP_PROFILE_NONE)
        hp_strbuf_add(cell, "(a thread or a signal handler begins)");
    else
        hp_put_function(in->tables, c->function, cell);
    hp_strbuf_add(cell, c->relation == CALLER ? " ->" : "");
}

static void put_where(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    uint32_t function = caller_of(in->tables, row)->function;
    const struct hp_pfunction *f = &in->tables->profile->functions[function];
    if (function != HP_PROFILE_NONE)
        hp_put_where(in->tables, f->file, f->line, f->place.module, cell);
}

static const struct hp_column columns[] = {
    {"relation", .right = true},
    {"part", .right = true, .heat = true},
    {"share", .right = true},
    {"inclusive", .right = true},
    {"calls", .right = true},
    {"function", .put = put_function, .flexible = true, .cut = HP_CUT_NAME},
    {"where", .put = put_where, .flexible = true},
    {0}};

/* A table for each function; its callers and callees are lists of their own. */
static enum hp_err print(const struct hp_text *text, struct hp_rows *rows, size_t limit)
{
    const struct hp_tables *tables = text->tables;
    hp_rows_keep(rows, limit);
    for (size_t i = 0, n; i < rows->n; i += n) {
        uint32_t of = caller_of(tables, &rows->rows[i])->of;
        for (n = 1; i + n < rows->n && caller_of(tables, &rows->rows[i + n])->of == of;)
            n++;
        if (i > 0)
            putc('\n', text->out);
        HP_TRY(hp_print_rows(text, &hp_view_callers, NULL,
                             &(struct hp_rows){.rows = rows->rows + i, .n = n}));
    }
    hp_print_more(text->out, rows->n_left_out);
    return HP_OK;
}

/* --- The view --------------------------------------------------------------------------------- */

static bool same_list(const struct hp_tables *tables, uint32_t a, uint32_t b)
{
    const struct hp_caller *x = &tables->callers[a], *y = &tables->callers[b];
    return x->of == y->of && x->relation == y->relation;
}

static struct hp_subject subject(const struct hp_tables *tables, const struct hp_row *row)
{
    uint32_t function = caller_of(tables, row)->function;
    return (struct hp_subject){function == HP_PROFILE_NONE ? HP_ROW_KINDS : HP_ROW_FUNCTION,
                               function, NULL};
}

static bool is_head(const struct hp_tables *tables, const struct hp_row *row)
{
    return caller_of(tables, row)->relation == FUNCTION;
}

const struct hp_view hp_view_callers = {
    .name = "callers",
    .help = "who calls a function, and what it calls: with --function",
    .title = "Callers and callees",
    .each = "caller of a function that `--function` names, that function itself, or its callee",
    .order = "the function, then callers, itself and callees, each by `inclusive` (`calls` where "
             "that is not known), then address",
    .empty = "no function that was executed is asked for: --function NAME",
    .lines = HP_LINES_FUNCTIONS,
    .counter = HP_ROW_CALL_COUNT,
    .make = make,
    .subject = subject,
    .is_head = is_head,
    .of_function = true,
    .same_list = same_list,
    .fields = fields,
    .columns = columns,
    .print = print,
};
