// SPDX-License-Identifier: MIT
/*
 * Hardware/software partitioning: what a program would gain if a loop ran in hardware (Nair,
 * Lysecky, section 2):
 *
 *     T_hw/sw = T_sw - T_sw(loop) + T_hw(loop) + executions x (T_init + T_sync)
 *
 * Times are in instructions. T_sw(loop) are the loop's own ones, nested loops included, callees
 * not: they stay in software. So loops that are not nested in each other have none in common, and
 * what they gain adds up.
 */
#include "base/base.h"
#include "report/fields.h"
#include "report/text.h"

#define LARGEST     1e12 /* speedup that is told apart */
#define NAMES_SHOWN 8

/* The speedup of a program that gains so much. */
static double speedup_of(const struct hp_tables *tables, double gain)
{
    double all = (double)tables->summary.instructions, left = all - gain;
    if (all <= 0)
        return 1;
    return left * LARGEST < all ? LARGEST : all / left;
}

/* What hardware costs, as was said or by default. */
static struct hp_partition_costs costs_of(const struct hp_tables *tables)
{
    const struct hp_partition_costs defaults = {
        .iteration = -1, .init = HP_PARTITION_INIT, .sync = HP_PARTITION_SYNC, .loops = 1};
    return tables->costs.set ? tables->costs : defaults;
}

static struct hp_partition_estimate estimate_loop(const struct hp_tables *tables, uint32_t loop)
{
    const struct hp_partition_costs costs = costs_of(tables);
    const struct hp_ploop_count *total = &tables->loops.info[loop].total;
    double all = (double)tables->summary.instructions, self = (double)total->self;
    struct hp_partition_estimate e = {.software = self < all ? self : all};
    e.hardware = costs.iteration >= 0 ? costs.iteration * (double)total->iterations
                                      : e.software / HP_PARTITION_FASTER;
    e.communication = ((double)costs.init + (double)costs.sync) * (double)total->executions;
    e.gain = e.software - e.hardware - e.communication;
    e.speedup = speedup_of(tables, e.gain);
    return e;
}

static enum hp_err make(struct hp_rows *rows, struct hp_tables *tables)
{
    size_t n = tables->profile->n_loops;
    HP_TRY(hp_rows_of_items(rows, n));
    free(tables->partition);
    HP_TRY(hp_new(&tables->partition, n + 1, sizeof *tables->partition));
    rows->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (tables->loops.info[i].total.executions == 0)
            continue;
        tables->partition[i] = estimate_loop(tables, i);
        rows->rows[rows->n] = rows->rows[i];
        rows->rows[rows->n++].v[0] = (uint64_t)(tables->partition[i].speedup * 1e6 + 0.5);
    }
    return HP_OK;
}

/* --- The choice ------------------------------------------------------------------------------- */

/* No loop that is nested in the chosen one, or in which that is nested, can be chosen any more.
 * `blocked` by position, `above` by loop: of those that are blocked for what is in them, all around
 * them are, too. */
static void block(const struct hp_tables *tables, uint32_t loop, bool *blocked, bool *above)
{
    const struct hp_loop_info *info = tables->loops.info;
    for (uint32_t at = info[loop].at; at < info[loop].end; at++)
        blocked[at] = true;
    for (uint32_t i = tables->profile->loops[loop].parent; i != HP_PROFILE_NONE && !above[i];
         i = tables->profile->loops[i].parent)
        above[i] = blocked[info[i].at] = true;
}

static int compare_ranks(const void *a, const void *b, void *context)
{
    const struct hp_loop_info *info = context;
    return HP_COMPARE(info[*(const uint32_t *)a].rank, info[*(const uint32_t *)b].rank);
}

/* By what they gain; as the view's rows are. */
static int compare_gains(const void *a, const void *b, void *context)
{
    const struct hp_tables *tables = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return HP_COMPARE(tables->partition[y].speedup, tables->partition[x].speedup)
               ?: hp_loop_compare(tables->profile, x, y) ?: HP_COMPARE(x, y);
}

enum hp_err hp_partition_choose(const struct hp_tables *tables, const struct hp_rows *rows,
                                bool by_iterations, uint32_t **chosen, size_t *n)
{
    size_t all = tables->profile->n_loops, most = costs_of(tables).loops;
    bool *blocked HP_CLEANUP(hp_free) = calloc(2 * all + 1, sizeof *blocked);
    uint32_t *loops = *chosen = calloc(rows->n + 1, sizeof *loops);
    *n = 0;
    if (!blocked || !loops)
        return hp_fail_nomem();
    for (size_t i = 0; i < rows->n; i++)
        loops[i] = rows->rows[i].item;
    if (by_iterations)
        qsort_r(loops, rows->n, sizeof *loops, compare_ranks, tables->loops.info);
    else if (rows->sorted)
        qsort_r(loops, rows->n, sizeof *loops, compare_gains, (void *)(uintptr_t)tables);
    /* The choice is made in place: it is never longer than what was looked at. */
    for (size_t i = 0; i < rows->n && *n < most; i++) {
        uint32_t loop = loops[i];
        if (!by_iterations && tables->partition[loop].gain <= 0)
            break;
        if (blocked[tables->loops.info[loop].at])
            continue;
        loops[(*n)++] = loop;
        block(tables, loop, blocked, blocked + all);
    }
    return HP_OK;
}

/* --- For scripts ------------------------------------------------------------------------------ */

static const void *find_estimate(const struct hp_field_input *in)
{
    return &in->tables->partition[in->row->item];
}

static const struct hp_field_row estimate = {.find = find_estimate};

#define ESTIMATE(member) .of = &estimate, HP_FOUND(DOUBLE, struct hp_partition_estimate, member)
static const struct hp_field fields[] = {
    {"loop", "its `id` in `loops`", .from = HP_FROM_ITEM},
    {"function", "that it is in", HP_COLUMN},
    {"file", "source file", HP_COLUMN},
    {"line", "its first source line", HP_NAMED("first_line")},
    {"target", "address of its header", HP_PLACE("")},
    {"speedup", "of the program, were the loop in hardware", ESTIMATE(speedup)},
    {"iteration_rank", "rank by iterations, from 1", .of = &hp_loop_total,
     HP_FOUND(UINT32, struct hp_loop_info, rank)},
    {"executions", "over all threads", .of = &hp_loop_total},
    {"iterations", "likewise", .of = &hp_loop_total},
    {"software", "time of the loop in software, in instructions", ESTIMATE(software)},
    {"hardware", "time of the loop in hardware", ESTIMATE(hardware)},
    {"communication", "time before and behind its executions", ESTIMATE(communication)},
    {"gain", "what is saved; may be negative", ESTIMATE(gain)},
    {"static_instructions", "with nested loops", HP_NAMED("insns")},
    {0}};

/* --- For people ------------------------------------------------------------------------------- */

static void put_speedup(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    hp_strbuf_format(cell, "%sx", HP_FIXED(in->tables->partition[row->item].speedup, 2));
}

static void put_self(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    hp_strbuf_percent(cell, hp_number_share(in->tables->loops.info[row->item].total.self,
                                            in->tables->summary.instructions));
}

static void put_cost(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    double all = (double)in->tables->summary.instructions;
    hp_strbuf_percent(cell, all > 0 ? in->tables->partition[row->item].communication / all : 0);
}

static void put_loop(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    hp_put_loop(in->tables, row->item, true, hp_loop_columns(in), cell);
}

static const struct hp_column columns[] = {
    {"speedup", .put = put_speedup, .right = true},
    {"by iter.", .field = "iteration_rank", .plain = true, .right = true},
    {"self", .put = put_self, .right = true},
    {"times", .field = "executions", .right = true},
    {"iterations", .right = true},
    {"cost", .put = put_cost, .right = true},
    {"instr.", .field = "static_instructions", .right = true},
    {"loop", .put = put_loop, .flexible = true, .telling = true},
    {0}};

/* What was reckoned with. */
static enum hp_err print_head(const struct hp_text *text)
{
    const struct hp_partition_costs costs = costs_of(text->tables);
    struct hp_strbuf line HP_CLEANUP(hp_strbuf_fini) = {0};
    if (costs.iteration >= 0)
        hp_strbuf_format(&line, "in hardware: %s an iteration", HP_FIXED(costs.iteration, 1));
    else
        hp_strbuf_add(&line, "in hardware: a tenth of the instructions");
    hp_strbuf_format(&line, "; cost: %s + %s each time", HP_GROUPED(costs.init),
                     HP_GROUPED(costs.sync));
    return hp_print_line(&line, text->options, text->out);
}

/* Chooses, and puts the names of the loops; `*speedup` is what they gain together. */
static enum hp_err put_choice(const struct hp_tables *tables, const struct hp_rows *rows,
                              bool by_iterations, double *speedup, struct hp_strbuf *names)
{
    uint32_t *chosen HP_CLEANUP(hp_free) = NULL;
    size_t n;
    double gain = 0;
    HP_TRY(hp_partition_choose(tables, rows, by_iterations, &chosen, &n));
    for (size_t i = 0; i < n; i++) {
        gain += tables->partition[chosen[i]].gain;
        if (i < NAMES_SHOWN) {
            hp_strbuf_add(names, i ? ", " : "");
            hp_put_loop(tables, chosen[i], true, SIZE_MAX, names);
        }
    }
    hp_strbuf_add(names, n > NAMES_SHOWN ? ", …" : "");
    *speedup = speedup_of(tables, gain);
    return names->failed ? hp_fail_nomem() : HP_OK;
}

static enum hp_err print_choice(const struct hp_text *text, const struct hp_rows *rows)
{
    struct hp_strbuf best HP_CLEANUP(hp_strbuf_fini) = {0}, naive HP_CLEANUP(hp_strbuf_fini) = {0},
                          line HP_CLEANUP(hp_strbuf_fini) = {0};
    double speedup, other;
    HP_TRY(put_choice(text->tables, rows, false, &speedup, &best));
    HP_TRY(put_choice(text->tables, rows, true, &other, &naive));
    if (best.length)
        hp_strbuf_format(&line, "  best: %sx: %s", HP_FIXED(speedup, 2), hp_strbuf_text(&best));
    else
        hp_strbuf_add(&line, "  no loop gains anything");
    HP_TRY(hp_print_line(&line, text->options, text->out));
    if (!naive.length || other >= speedup)
        return HP_OK;
    hp_strbuf_format(&line, "  iterations would choose: %sx instead of %sx: %s", HP_FIXED(other, 2),
                     HP_FIXED(speedup, 2), hp_strbuf_text(&naive));
    return hp_print_line(&line, text->options, text->out);
}

static enum hp_err print(const struct hp_text *text, struct hp_rows *rows, size_t limit)
{
    HP_TRY(print_head(text));
    HP_TRY(print_choice(text, rows));
    return hp_print_list(text, &hp_view_partition, rows, limit);
}

const struct hp_view hp_view_partition = {
    .name = "partition",
    .help = "what loops would gain in hardware",
    .title = "Partition",
    .each = "loop that was executed",
    .order = "`speedup`, then address",
    .empty = "no loop was recorded: --profile loops asks for them",
    .there = {HP_ROW_LOOP},
    .item = HP_ROW_LOOP,
    .make = make,
    .compare = hp_loop_compare,
    .fields = fields,
    .columns = columns,
    .print = print,
};
