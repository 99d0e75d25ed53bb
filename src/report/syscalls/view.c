// SPDX-License-Identifier: MIT
/* System calls by number, and by the call path that led to them. */
#include "base/base.h"
#include "report/syscalls/syscalls.h"
#include "report/text.h"

#define CALLERS     2    /* that are named in text */
#define LEAST_NAMED 0.05 /* of them, of all */

static const struct hp_psyscall *call_of(const struct hp_tables *tables, const struct hp_row *row)
{
    return &tables->profile->syscalls[row->item];
}

static int by_number(const struct hp_psyscall *a, const struct hp_psyscall *b)
{
    return HP_COMPARE(a->number, b->number);
}

static int by_path(const struct hp_psyscall *a, const struct hp_psyscall *b)
{
    return HP_COMPARE(a->context, b->context) ?: HP_COMPARE(a->function, b->function)
               ?: HP_COMPARE(a->number, b->number);
}

static enum hp_err join_numbers(struct hp_rows *rows, struct hp_tables *tables)
{
    return hp_syscalls_join(rows, tables, by_number);
}

static enum hp_err join_paths(struct hp_rows *rows, struct hp_tables *tables)
{
    return hp_syscalls_join(rows, tables, by_path);
}

/* --- Callers ---------------------------------------------------------------------------------- */

struct caller {
    uint32_t function;
    uint64_t weight;
};

static int heaviest_first(const void *a, const void *b)
{
    const struct caller *x = a, *y = b;
    return HP_COMPARE(y->weight, x->weight) ?: HP_COMPARE(x->function, y->function);
}

/* Who made the calls of a row, by time, or where no time is known by number; returns how many, at
 * most `room`, the heaviest first. `*all`: the weight of all. */
static size_t find_callers(const struct hp_tables *tables, const struct hp_row *row,
                           struct caller *callers, size_t room, uint64_t *all)
{
    const struct hp_profile *p = tables->profile;
    uint32_t number = call_of(tables, row)->number;
    struct caller *found HP_CLEANUP(hp_free) = calloc(p->n_syscalls + 1, sizeof *found);
    size_t n = 0, k;
    *all = 0;
    for (size_t i = 0; found && i < p->n_syscalls; i++) {
        const struct hp_psyscall *s = &p->syscalls[i];
        bool by_time = row->v[HP_SYSCALL_NS] && !tables->no_run;
        uint64_t weight = by_time ? s->ns : s->calls;
        if (s->number != number || !hp_syscall_is_asked(tables, s))
            continue;
        uint32_t function = hp_syscall_caller(p, s);
        for (k = 0; k < n && found[k].function != function; k++)
            ;
        if (k == n)
            found[n++].function = function;
        hp_add_up(&found[k].weight, weight);
        hp_add_up(all, weight);
    }
    if (n)
        qsort(found, n, sizeof *found, heaviest_first);
    n = n < room ? n : room;
    for (k = 0; k < n; k++)
        callers[k] = found[k];
    return n;
}

static void put_callers(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    struct caller callers[CALLERS];
    uint64_t all;
    size_t n = find_callers(in->tables, row, callers, CALLERS, &all);
    for (size_t i = 0; i < n; i++) {
        double share = hp_number_share(callers[i].weight, all);
        if (i && share < LEAST_NAMED)
            break;
        hp_strbuf_add(cell, i ? ", " : "");
        hp_put_function(in->tables, callers[i].function, cell);
        if (share < 0.9995) {
            hp_strbuf_add(cell, " ");
            hp_strbuf_percent(cell, share);
        }
    }
}

/* --- For scripts ------------------------------------------------------------------------------ */

enum { LONGEST_OF_NUMBER = HP_CALL_OWN, LONGEST_OF_PATH, CALLER_OF_NUMBER, CALLER_OF_PATH };

static struct hp_cell name_cell(const struct hp_tables *tables, uint32_t function)
{
    return hp_cell_text(function == HP_PROFILE_NONE ? "" : tables->functions[function]);
}

static struct hp_cell get(const struct hp_field_input *in)
{
    const struct hp_profile *p = in->tables->profile;
    const struct hp_psyscall *call = call_of(in->tables, in->row);
    struct caller caller = {.function = HP_PROFILE_NONE};
    uint64_t all;
    switch (in->field->value) {
    case LONGEST_OF_NUMBER: return hp_cell_number(hp_syscall_longest(p, call, by_number));
    case LONGEST_OF_PATH: return hp_cell_number(hp_syscall_longest(p, call, by_path));
    case CALLER_OF_NUMBER:
        find_callers(in->tables, in->row, &caller, 1, &all);
        return name_cell(in->tables, caller.function);
    case CALLER_OF_PATH: return name_cell(in->tables, hp_syscall_caller(p, call));
    default: return hp_syscall_cell(in);
    }
}

/* From the outermost function to the one with the instruction. */
static void list_path(const struct hp_field_input *in, struct hp_list *list)
{
    const struct hp_tables *t = in->tables;
    const struct hp_psyscall *call = call_of(t, in->row);
    uint32_t path[HP_CONTEXT_DEPTH + 1];
    size_t n = hp_syscall_path(t->profile, call, path);
    while (n-- > 0)
        hp_list_text(list, path[n] == HP_PROFILE_NONE ? "(unknown)" : t->functions[path[n]]);
}

#define CALL_FIELDS(longest, whose, from)                                                          \
    {"call", "its name, or `syscall_` and its number", .get = get, .value = HP_CALL_NAME},         \
        {"number", "as the architecture numbers calls", HP_COLUMN},                                \
        {"calls", "made", HP_VALUE(HP_SYSCALL_CALLS)},                                             \
        {"errors", "of these, those that returned an error", .kind = HP_FIELD_OF_RUN,              \
         HP_VALUE(HP_SYSCALL_ERRORS)},                                                             \
        {"unfinished", "of these, those that had not returned when their thread ended",            \
         .kind = HP_FIELD_OF_RUN, HP_VALUE(HP_SYSCALL_OPEN)},                                      \
        {"timed", "of these, those whose time is known", .kind = HP_FIELD_OF_RUN,                  \
         HP_VALUE(HP_SYSCALL_TIMED)},                                                              \
        {"ns", "from the calls to their returns", .kind = HP_FIELD_OF_RUN,                         \
         HP_VALUE(HP_SYSCALL_NS)},                                                                 \
        {"share",                                                                                  \
         "of `ns` in the time of all threads",                                                     \
         .kind = HP_FIELD_OF_RUN,                                                                  \
         .get = get,                                                                               \
         .value = HP_CALL_SHARE,                                                                   \
         .timed = true},                                                                           \
        {"mean_ns", "of those whose time is known; null: of none", .kind = HP_FIELD_OF_RUN,        \
         .get = get, .value = HP_CALL_MEAN},                                                       \
        {"max_ns", "the longest", .kind = HP_FIELD_OF_RUN, .get = get, .value = longest},          \
    {                                                                                              \
        "caller", "function outside the C library " from, .get = get, .value = whose               \
    }

static const struct hp_field fields[] = {
    CALL_FIELDS(LONGEST_OF_NUMBER, CALLER_OF_NUMBER, "for which most of `ns` was spent"), {0}};

static const struct hp_field path_fields[] = {
    CALL_FIELDS(LONGEST_OF_PATH, CALLER_OF_PATH, "that it was made for"),
    {"path", "functions, from the outermost to the one that has the instruction",
     .list = list_path},
    {0}};

/* --- For people ------------------------------------------------------------------------------- */

static void put_time(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    (void)in;
    if (row->v[HP_SYSCALL_TIMED])
        hp_put_time(row->v[HP_SYSCALL_NS], cell);
}

static void put_mean(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    (void)in;
    if (row->v[HP_SYSCALL_TIMED])
        hp_put_time(row->v[HP_SYSCALL_NS] / row->v[HP_SYSCALL_TIMED], cell);
}

static void put_longest(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    if (row->v[HP_SYSCALL_TIMED])
        hp_put_time(hp_syscall_longest(in->tables->profile, call_of(in->tables, row), by_number),
                    cell);
}

/* The innermost first: where a path is cut it is the less telling end. */
static void put_path(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    uint32_t path[HP_CONTEXT_DEPTH + 1];
    size_t n = hp_syscall_path(in->tables->profile, call_of(in->tables, row), path);
    for (size_t i = 0; i < n; i++) {
        hp_strbuf_add(cell, i ? " < " : "");
        hp_put_function(in->tables, path[i], cell);
    }
}

static const struct hp_column columns[] = {
    {"share", .right = true, .heat = true},
    {"time", .right = true, .put = put_time},
    {"calls", .right = true},
    {"errors", .right = true, .not_zero = true},
    {"mean", .right = true, .put = put_mean},
    {"longest", .right = true, .put = put_longest},
    {"call", .plain = true},
    {"for", .put = put_callers, .flexible = true, .cut = HP_CUT_NAME},
    {0}};

static const struct hp_column path_columns[] = {
    {"share", .right = true, .heat = true},
    {"time", .right = true, .put = put_time},
    {"calls", .right = true},
    {"errors", .right = true, .not_zero = true},
    {"mean", .right = true, .put = put_mean},
    {"call", .plain = true},
    {"path", .put = put_path, .flexible = true, .cut = HP_CUT_END},
    {0}};

/* --- The views -------------------------------------------------------------------------------- */

static struct hp_subject subject(const struct hp_tables *tables, const struct hp_row *row)
{
    struct caller caller = {.function = HP_PROFILE_NONE};
    uint64_t all;
    find_callers(tables, row, &caller, 1, &all);
    return (struct hp_subject){caller.function == HP_PROFILE_NONE ? HP_ROW_KINDS : HP_ROW_FUNCTION,
                               caller.function, NULL};
}

static struct hp_subject path_subject(const struct hp_tables *tables, const struct hp_row *row)
{
    uint32_t caller = hp_syscall_caller(tables->profile, call_of(tables, row));
    return (struct hp_subject){caller == HP_PROFILE_NONE ? HP_ROW_KINDS : HP_ROW_FUNCTION, caller,
                               NULL};
}

#define EMPTY "no system call was recorded: --profile exact, loops and counts do"

const struct hp_view hp_view_syscalls = {
    .name = "syscalls",
    .help = "system calls: how often, how long, for which function",
    .title = "System calls",
    .each = "system call",
    .order = "`ns` (`calls` with `--no-run`), then number",
    .empty = EMPTY,
    .lines = HP_LINES_FUNCTIONS,
    .there = {HP_ROW_SYSCALL},
    .item = HP_ROW_SYSCALL,
    .counter = HP_ROW_SYSCALL,
    .values = {"ns", "calls", "errors", "timed", "unfinished"},
    .make = join_numbers,
    .subject = subject,
    .chooses = true,
    .fields = fields,
    .columns = columns,
};

const struct hp_view hp_view_syscall_paths = {
    .name = "syscall-paths",
    .help = "system calls by the calls that led to them",
    .title = "System calls by call path",
    .each = "system call made in a calling context",
    .order = "`ns` (`calls` with `--no-run`), then the order of the profile",
    .empty = EMPTY,
    .lines = HP_LINES_FUNCTIONS,
    .there = {HP_ROW_SYSCALL},
    .item = HP_ROW_SYSCALL,
    .counter = HP_ROW_SYSCALL,
    .values = {"ns", "calls", "errors", "timed", "unfinished"},
    .make = join_paths,
    .subject = path_subject,
    .chooses = true,
    .fields = path_fields,
    .columns = path_columns,
};
