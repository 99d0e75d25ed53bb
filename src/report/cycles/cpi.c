// SPDX-License-Identifier: MIT
#include "report/cycles/cpi.h"

#include "base/bisect.h"
#include "report/cells.h"
#include "report/tables.h"
#include "text/number.h"

#include <stdlib.h>
#include <string.h>

/* --- Groups ----------------------------------------------------------------------------------- */

static int compare_lines(const void *a, const void *b, void *context)
{
    const struct hp_pinsn *insns = context;
    const struct hp_pinsn *x = &insns[*(const uint32_t *)a], *y = &insns[*(const uint32_t *)b];
    int order = strcmp(hp_text(x->file), hp_text(y->file));
    if (order)
        return order;
    if (!*hp_text(x->file)) /* no source: those of a function */
        return (x->function > y->function) - (x->function < y->function);
    return (x->line > y->line) - (x->line < y->line);
}

static enum hp_err group_lines(const struct hp_profile *p, uint32_t *groups, size_t *n)
{
    uint32_t *order = malloc((p->n_insns + 1) * sizeof *order);
    if (!order)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < p->n_insns; i++)
        order[i] = i;
    qsort_r(order, p->n_insns, sizeof *order, compare_lines, p->insns);
    uint32_t group = 0;
    for (size_t i = 0; i < p->n_insns; i++) {
        group += i > 0 && compare_lines(&order[i - 1], &order[i], p->insns) != 0;
        groups[order[i]] = group;
    }
    *n = (size_t)group + 1;
    free(order);
    return HP_OK;
}

static int compare_blocks(const void *a, const void *b, void *context)
{
    const struct hp_profile *p = context;
    const struct hp_ploop_block *x = a, *y = b;
    int order = hp_place_compare(p->blocks[x->block].place, p->blocks[y->block].place);
    return order ? order : (x->loop > y->loop) - (x->loop < y->loop);
}

/* The loop of the last block that starts at or before a place. Blocks that overlap end together, so
 * that one has the instruction if any has. */
static uint32_t loop_at(const struct hp_profile *p, const struct hp_ploop_block *blocks, size_t n,
                        struct hp_place place)
{
    size_t low = HP_BISECT(i, 0, n, hp_place_compare(p->blocks[blocks[i].block].place, place) <= 0);
    if (low == 0)
        return HP_PROFILE_NONE;
    const struct hp_pblock *block = &p->blocks[blocks[low - 1].block];
    if (block->place.module != place.module || place.offset - block->place.offset >= block->size)
        return HP_PROFILE_NONE;
    return blocks[low - 1].loop;
}

static enum hp_err group_loops(const struct hp_profile *p, uint32_t *groups, size_t *n)
{
    struct hp_ploop_block *blocks = malloc((p->n_loop_blocks + 1) * sizeof *blocks);
    if (!blocks)
        return hp_fail_nomem();
    if (p->n_loop_blocks)
        memcpy(blocks, p->loop_blocks, p->n_loop_blocks * sizeof *blocks);
    qsort_r(blocks, p->n_loop_blocks, sizeof *blocks, compare_blocks, (void *)(uintptr_t)p);
    for (size_t i = 0; i < p->n_insns; i++) {
        uint32_t loop = loop_at(p, blocks, p->n_loop_blocks, p->insns[i].place);
        groups[i] = loop == HP_PROFILE_NONE ? (uint32_t)p->n_loops : loop;
    }
    *n = p->n_loops + 1;
    free(blocks);
    return HP_OK;
}

enum hp_err hp_insn_groups(const struct hp_tables *tables, enum hp_report_by by, uint32_t **groups,
                           size_t *n)
{
    const struct hp_profile *p = tables->profile;
    uint32_t *to = *groups = calloc(p->n_insns + 1, sizeof **groups);
    if (!to)
        return hp_fail_nomem();
    enum hp_err err = HP_OK;
    *n = 1;
    switch (by) {
    case HP_REPORT_BY_INSTRUCTION:
        for (uint32_t i = 0; i < p->n_insns; i++)
            to[i] = i;
        *n = p->n_insns + 1;
        break;
    case HP_REPORT_BY_FUNCTION:
        for (size_t i = 0; i < p->n_insns; i++)
            to[i] = p->insns[i].function == HP_PROFILE_NONE ? (uint32_t)p->n_functions
                                                            : p->insns[i].function;
        *n = p->n_functions + 1;
        break;
    case HP_REPORT_BY_LINE: err = group_lines(p, to, n); break;
    case HP_REPORT_BY_LOOP: err = group_loops(p, to, n); break;
    default: break;
    }
    if (err != HP_OK) {
        free(to);
        *groups = NULL;
    }
    return err;
}

/* --- The CPI stack ---------------------------------------------------------------------------- */

static int compare_items(const void *a, const void *b)
{
    const struct hp_cpi_item *x = a, *y = b;
    if (x->all != y->all)
        return x->all > y->all ? -1 : 1;
    return (x->insn > y->insn) - (x->insn < y->insn); /* in the order of places */
}

static void sum_items(const struct hp_tables *tables, const uint32_t *groups,
                      struct hp_cpi_item *items)
{
    const struct hp_profile *p = tables->profile;
    for (size_t i = 0; i < p->n_insn_cycles; i++) {
        const struct hp_pinsn_cycles *cycles = &p->insn_cycles[i];
        struct hp_cpi_item *item = &items[groups[cycles->insn]];
        item->parts[cycles->cause] = hp_saturating_add(item->parts[cycles->cause], cycles->parts);
        item->all = hp_saturating_add(item->all, cycles->parts);
        item->insn = cycles->insn < item->insn ? cycles->insn : item->insn;
    }
    for (size_t i = 0; i < tables->insns.n_exact; i++) {
        const struct hp_pinsn_tally *t = &p->insn_tallies[tables->insns.first_exact + i];
        struct hp_cpi_item *item = &items[groups[t->insn]];
        item->retired = hp_saturating_add(item->retired, t->tally.retired);
    }
}

enum hp_err hp_cpi_items(const struct hp_tables *tables, enum hp_report_by by,
                         struct hp_cpi_item **items, size_t *n)
{
    uint32_t *groups;
    size_t n_groups;
    HP_TRY(hp_insn_groups(tables, by, &groups, &n_groups));
    struct hp_cpi_item *all = *items = calloc(n_groups, sizeof **items);
    if (!all) {
        free(groups);
        return hp_fail_nomem();
    }
    for (size_t i = 0; i < n_groups; i++) {
        bool loop = by == HP_REPORT_BY_LOOP && i < tables->profile->n_loops;
        all[i].insn = UINT32_MAX;
        all[i].loop = loop ? (uint32_t)i : HP_PROFILE_NONE;
    }
    sum_items(tables, groups, all);
    free(groups);
    *n = 0;
    for (size_t i = 0; i < n_groups; i++)
        if (all[i].all || (by == HP_REPORT_BY_RUN && tables->insns.windows.n))
            all[(*n)++] = all[i];
    qsort(all, *n, sizeof *all, compare_items);
    return HP_OK;
}

void hp_cpi_name(const struct hp_tables *tables, enum hp_report_by by,
                 const struct hp_cpi_item *item, struct hp_strbuf *text)
{
    if (by == HP_REPORT_BY_RUN) {
        hp_strbuf_add(text, "run");
        return;
    }
    const struct hp_pinsn *insn = &tables->profile->insns[item->insn];
    switch (by) {
    case HP_REPORT_BY_FUNCTION: hp_put_function(tables, insn->function, text); return;
    case HP_REPORT_BY_LINE:
        if (*hp_text(insn->file)) {
            hp_put_source_place(hp_short_path(&tables->profile->run, insn->file), insn->line, text);
        } else {
            hp_put_function(tables, insn->function, text);
            hp_strbuf_add(text, " (no line)");
        }
        return;
    case HP_REPORT_BY_LOOP:
        if (item->loop == HP_PROFILE_NONE)
            hp_strbuf_add(text, "(in no loop)");
        else
            hp_put_loop(tables, item->loop, true, text);
        return;
    default: hp_put_code(tables, insn->function, insn->place, text); return;
    }
}

double hp_cpi_of(uint64_t parts, uint64_t retired)
{
    return retired ? (double)parts / HP_CYCLE_PARTS / (double)retired : 0;
}

size_t hp_cpi_order(const struct hp_cpi_item *item, enum hp_cause causes[HP_CAUSES])
{
    size_t n = 0;
    for (int i = 0; i < HP_CAUSES; i++) {
        if (item->parts[i] == 0)
            continue;
        size_t at = n++;
        for (; at > 0 && item->parts[causes[at - 1]] < item->parts[i]; at--)
            causes[at] = causes[at - 1];
        causes[at] = (enum hp_cause)i;
    }
    return n;
}

/* The run comes first, whatever the rest is by. */
enum hp_err hp_rows_cpi(struct hp_rows *rows, struct hp_tables *tables, bool per_thread)
{
    (void)per_thread;
    struct hp_cpi_item *run, *items = NULL;
    size_t n_run, n = 0;
    HP_TRY(hp_cpi_items(tables, HP_REPORT_BY_RUN, &run, &n_run));
    enum hp_err err = HP_OK;
    if (tables->by != HP_REPORT_BY_RUN)
        err = hp_cpi_items(tables, tables->by, &items, &n);
    free(tables->cpi);
    tables->cpi = calloc(n_run + n + 1, sizeof *tables->cpi);
    rows->rows = calloc(n_run + n + 1, sizeof *rows->rows);
    if (err == HP_OK && (!tables->cpi || !rows->rows))
        err = hp_fail_nomem();
    for (size_t i = 0; err == HP_OK && i < n_run + n; i++) {
        tables->cpi[i] = i < n_run ? run[i] : items[i - n_run];
        rows->rows[rows->n++] = (struct hp_row){
            .item = (uint32_t)i, .thread = HP_PROFILE_NONE, .v = {tables->cpi[i].all}};
    }
    free(run);
    free(items);
    return err;
}
