// SPDX-License-Identifier: MIT
/*
 * Costs of instructions. A profile counts blocks; which instructions a block has is read from the
 * file that ran, where it is still there. Where it is not, a block's cost is at the first
 * instruction of each of its source lines.
 */
#include "base/bisect.h"
#include "export/viewers/callgrind_rows.h"

#include "hotpath/cycles.h"
#include "report/items.h"
#include "text/number.h"

#include <stdlib.h>

#define MOST_INSTRUCTIONS (4u << 20)  /* decoded in all: no program executes more different ones */
#define BLOCK_BYTES       (64u << 10) /* a block has at most 4096 instructions */

/* --- Orders ----------------------------------------------------------------------------------- */

static struct hp_place end_of(const struct hp_pblock *block)
{
    return (struct hp_place){block->place.module, block->place.offset + block->branch};
}

static int compare_ends(const void *a, const void *b, void *context)
{
    const struct hp_pblock *blocks = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = hp_place_compare(end_of(&blocks[x]), end_of(&blocks[y]));
    return order ? order : (x > y) - (x < y);
}

/* The first block at a place, in an order by start (NULL: the profile's own) or by end. */
static uint32_t find_block(const struct hp_profile *p, const uint32_t *ends, struct hp_place place)
{
    size_t low =
        ends
            ? HP_BISECT(i, 0, p->n_blocks, hp_place_compare(end_of(&p->blocks[ends[i]]), place) < 0)
            : HP_BISECT(i, 0, p->n_blocks, hp_place_compare(p->blocks[i].place, place) < 0);
    if (low == p->n_blocks)
        return HP_PROFILE_NONE;
    uint32_t block = ends ? ends[low] : (uint32_t)low;
    struct hp_place at = ends ? end_of(&p->blocks[block]) : p->blocks[block].place;
    return hp_place_compare(at, place) == 0 ? block : HP_PROFILE_NONE;
}

static enum hp_err make_edges(struct hp_cg_code *code)
{
    const struct hp_profile *p = code->tables->profile;
    code->edges = calloc(p->n_edges + 1, sizeof *code->edges);
    if (!code->edges)
        return hp_fail_nomem();
    for (size_t i = 0; i < p->n_edges; i++) {
        code->edges[i].from = find_block(p, code->ends, p->edges[i].from);
        code->edges[i].to = find_block(p, NULL, p->edges[i].to);
    }
    for (size_t i = 0; i < p->n_edge_counts; i++) {
        uint64_t *count = &code->edges[p->edge_counts[i].item].count;
        *count = hp_saturating_add(*count, p->edge_counts[i].count);
    }
    return HP_OK;
}

static enum hp_err make_blocks(struct hp_cg_code *code)
{
    const struct hp_profile *p = code->tables->profile;
    code->counts = calloc(p->n_blocks + 1, sizeof *code->counts);
    code->ends = calloc(p->n_blocks + 1, sizeof *code->ends);
    code->bytes = malloc(BLOCK_BYTES);
    if (!code->counts || !code->ends || !code->bytes)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < p->n_blocks; i++)
        code->ends[i] = i;
    qsort_r(code->ends, p->n_blocks, sizeof *code->ends, compare_ends, p->blocks);
    for (size_t i = 0; i < p->n_block_counts; i++) {
        uint64_t *count = &code->counts[p->block_counts[i].item];
        *count = hp_saturating_add(*count, p->block_counts[i].count);
    }
    return HP_OK;
}

/* --- What belongs to a function --------------------------------------------------------------- */

static uint32_t function_of(const struct hp_profile *p, uint32_t block)
{
    return block == HP_PROFILE_NONE ? HP_PROFILE_NONE : p->blocks[block].function;
}

static uint32_t of_block(const struct hp_cg_code *code, size_t i)
{
    return code->tables->profile->blocks[i].function;
}

static uint32_t of_insn(const struct hp_cg_code *code, size_t i)
{
    return code->tables->profile->insns[i].function;
}

static uint32_t of_edge(const struct hp_cg_code *code, size_t i)
{
    return function_of(code->tables->profile, code->edges[i].from);
}

/* Where a function is in a group. */
static size_t slot_of(const struct hp_cg_code *code, uint32_t function)
{
    return function == HP_PROFILE_NONE ? code->tables->profile->n_functions : function;
}

/* Sorts `n` things by counting. */
static enum hp_err make_group(const struct hp_cg_code *code, struct hp_cg_group *group, size_t n,
                              uint32_t (*of)(const struct hp_cg_code *code, size_t i))
{
    size_t n_slots = code->tables->profile->n_functions + 1;
    group->items = calloc(n + 1, sizeof *group->items);
    group->first = calloc(n_slots + 1, sizeof *group->first);
    if (!group->items || !group->first)
        return hp_fail_nomem();
    for (size_t i = 0; i < n; i++)
        group->first[slot_of(code, of(code, i))]++;
    for (size_t i = 1; i <= n_slots; i++) /* now each has the end of its own */
        group->first[i] += group->first[i - 1];
    for (size_t i = n; i-- > 0;)
        group->items[--group->first[slot_of(code, of(code, i))]] = (uint32_t)i;
    return HP_OK;
}

static void free_group(struct hp_cg_group *group)
{
    free(group->items);
    free(group->first);
}

const uint32_t *hp_cg_items(const struct hp_cg_code *code, const struct hp_cg_group *group,
                            uint32_t function, size_t *n)
{
    size_t slot = slot_of(code, function);
    *n = group->first[slot + 1] - group->first[slot];
    return group->items + group->first[slot];
}

static enum hp_err make_groups(struct hp_cg_code *code)
{
    const struct hp_profile *p = code->tables->profile;
    HP_TRY(make_group(code, &code->by_blocks, p->n_blocks, of_block));
    HP_TRY(make_group(code, &code->by_insns, p->n_insns, of_insn));
    return make_group(code, &code->by_edges, p->n_edges, of_edge);
}

/* --- All of it -------------------------------------------------------------------------------- */

static enum hp_err open_modules(struct hp_cg_code *code)
{
    const struct hp_profile *p = code->tables->profile;
    code->modules = calloc(p->n_modules + 1, sizeof *code->modules);
    if (!code->modules)
        return hp_fail_nomem();
    for (size_t i = 0; i < p->n_modules; i++)
        if (hp_module_code_open(hp_text(p->modules[i].path), hp_text(p->modules[i].build_id),
                                p->run.started, &code->modules[i]) == HP_ERR_NOMEM)
            return HP_ERR_NOMEM;
    /* Code of ARM may be Thumb, and the profile does not say. */
    if (p->run.arch != HP_ARCH_ARM && hp_decoder_new(p->run.arch, &code->decoder) == HP_ERR_NOMEM)
        return HP_ERR_NOMEM;
    return HP_OK;
}

enum hp_err hp_cg_code_init(struct hp_cg_code *code, struct hp_tables *tables)
{
    *code = (struct hp_cg_code){.tables = tables, .budget = MOST_INSTRUCTIONS};
    enum hp_err err = make_blocks(code);
    if (err == HP_OK)
        err = make_edges(code);
    if (err == HP_OK)
        err = make_groups(code);
    if (err == HP_OK)
        err = open_modules(code);
    if (err != HP_OK)
        hp_cg_code_fini(code);
    return err;
}

void hp_cg_code_fini(struct hp_cg_code *code)
{
    for (size_t i = 0; code->modules && i < code->tables->profile->n_modules; i++)
        hp_module_code_close(code->modules[i]);
    free(code->modules);
    free(code->counts);
    free(code->ends);
    free(code->edges);
    free_group(&code->by_blocks);
    free_group(&code->by_insns);
    free_group(&code->by_edges);
    free(code->bytes);
    hp_decoder_free(code->decoder);
}

/* --- Where something is ----------------------------------------------------------------------- */

uint64_t hp_cg_code_address(const struct hp_cg_code *code, struct hp_place place)
{
    const struct hp_module_code *file =
        place.module == HP_PROFILE_NONE ? NULL : code->modules[place.module];
    return place.offset + (file ? hp_module_code_base(file) : 0);
}

static struct hp_cg_source unknown_source(const struct hp_profile *p, uint32_t function)
{
    const char *file = function == HP_PROFILE_NONE ? "" : hp_text(p->functions[function].file);
    return (struct hp_cg_source){file, 0};
}

struct hp_cg_source hp_cg_code_source(const struct hp_cg_code *code, uint32_t block,
                                      uint32_t offset)
{
    const struct hp_profile *p = code->tables->profile;
    const struct hp_pline *line = block == HP_PROFILE_NONE ? NULL : hp_line_at(p, block, offset);
    if (line && line->line)
        return (struct hp_cg_source){hp_text(line->file), line->line};
    return unknown_source(p, function_of(p, block));
}

/* --- Costs ------------------------------------------------------------------------------------ */

static enum hp_err add_cost(struct hp_cg_rows *rows, struct hp_place place,
                            struct hp_cg_source source, enum hp_cg_column column, uint64_t value)
{
    struct hp_cg_row *row;
    HP_TRY(hp_cg_rows_add(rows, HP_CG_COST, place, source, &row));
    row->cost[column] = value;
    return HP_OK;
}

/* The instructions of a block as its file has them; false: they are not those that ran. */
static enum hp_err add_insns(struct hp_cg_code *code, uint32_t block, struct hp_cg_rows *rows,
                             bool *done)
{
    const struct hp_pblock *b = &code->tables->profile->blocks[block];
    const struct hp_module_code *file =
        b->place.module == HP_PROFILE_NONE ? NULL : code->modules[b->place.module];
    size_t first = rows->n;
    uint32_t offset = 0, n = 0;
    *done = false;
    /* Only what was there first is what the file has. */
    if (!file || !code->decoder || b->version || b->size > BLOCK_BYTES || b->insns > code->budget ||
        hp_module_code_read(file, b->place.offset, code->bytes, b->size) != b->size)
        return HP_OK;
    code->budget -= b->insns;
    while (offset < b->size && n < b->insns) {
        struct hp_place at = {b->place.module, b->place.offset + offset};
        struct hp_insn insn;
        if (hp_decode(code->decoder, HP_MODE_DEFAULT, at.offset, code->bytes + offset,
                      b->size - offset, true, &insn) != HP_OK)
            break;
        HP_TRY(add_cost(rows, at, hp_cg_code_source(code, block, offset), HP_CG_IR,
                        code->counts[block]));
        offset += insn.length;
        n++;
    }
    *done = offset == b->size && n == b->insns;
    if (!*done)
        rows->n = first;
    return HP_OK;
}

/* A block whose instructions are not known: by source line or, where these are not all known, as
 * one. */
static enum hp_err add_lines(struct hp_cg_code *code, uint32_t block, struct hp_cg_rows *rows)
{
    const struct hp_profile *p = code->tables->profile;
    const struct hp_pblock *b = &p->blocks[block];
    size_t n;
    const struct hp_pline *lines = hp_items_of(p->lines, p->n_lines, sizeof *lines, block, &n);
    uint64_t insns = 0, count = code->counts[block];
    for (size_t i = 0; i < n; i++)
        insns += lines[i].insns;
    if (insns != b->insns)
        return add_cost(rows, b->place, hp_cg_code_source(code, block, 0), HP_CG_IR,
                        hp_saturating_mul(count, b->insns));
    for (size_t i = 0; i < n; i++)
        HP_TRY(add_cost(rows, (struct hp_place){b->place.module, b->place.offset + lines[i].from},
                        hp_cg_code_source(code, block, lines[i].from), HP_CG_IR,
                        hp_saturating_mul(count, lines[i].insns)));
    return HP_OK;
}

/* The column in which a branch of this kind is counted; HP_CG_COLUMNS: in none. */
static enum hp_cg_column branch_column(uint8_t flow)
{
    switch (flow) {
    case HP_FLOW_COND: return HP_CG_BC;
    case HP_FLOW_JUMP_IND:
    case HP_FLOW_CALL_IND:
    case HP_FLOW_RETURN: return HP_CG_BI;
    default: return HP_CG_COLUMNS;
    }
}

static enum hp_err add_block(struct hp_cg_code *code, uint32_t block, struct hp_cg_rows *rows)
{
    const struct hp_pblock *b = &code->tables->profile->blocks[block];
    enum hp_cg_column column = branch_column(b->flow);
    bool done;
    if (!code->counts[block])
        return HP_OK;
    HP_TRY(add_insns(code, block, rows, &done));
    if (!done)
        HP_TRY(add_lines(code, block, rows));
    if (column == HP_CG_COLUMNS)
        return HP_OK;
    return add_cost(rows, end_of(b), hp_cg_code_source(code, block, b->branch), column,
                    code->counts[block]);
}

static bool is_taken(const struct hp_pedge *edge)
{
    return edge->taken && edge->flow != HP_FLOW_NONE && edge->flow != HP_FLOW_SYSCALL &&
           edge->flow != HP_FLOW_TRAP;
}

static enum hp_err add_taken(const struct hp_cg_code *code, uint32_t edge, struct hp_cg_rows *rows)
{
    const struct hp_profile *p = code->tables->profile;
    uint32_t from = code->edges[edge].from;
    uint32_t branch = from == HP_PROFILE_NONE ? 0 : p->blocks[from].branch;
    if (!is_taken(&p->edges[edge]))
        return HP_OK;
    return add_cost(rows, p->edges[edge].from, hp_cg_code_source(code, from, branch), HP_CG_TAKEN,
                    code->edges[edge].count);
}

/* --- What a machine saw ----------------------------------------------------------------------- */

/* The columns of an instruction, added to `cost`. */
static void machine_costs(const struct hp_profile *p, const struct hp_pinsn_tally *tally,
                          uint64_t cost[HP_CG_COLUMNS])
{
    static const struct {
        enum hp_cg_column column;
        enum hp_insn_event event;
    } events[] = {{HP_CG_I1, HP_INSN_L1I}, {HP_CG_D1, HP_INSN_L1D},    {HP_CG_L2, HP_INSN_L2},
                  {HP_CG_L3, HP_INSN_L3},  {HP_CG_ITLB, HP_INSN_ITLB}, {HP_CG_DTLB, HP_INSN_DTLB}};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        cost[events[i].column] =
            hp_saturating_add(cost[events[i].column], tally->tally.events[events[i].event]);
    enum hp_cg_column missed = p->insns[tally->insn].flow == HP_FLOW_COND ? HP_CG_BCM : HP_CG_BIM;
    cost[missed] = hp_saturating_add(cost[missed], tally->tally.events[HP_INSN_MISPREDICTED]);
}

static enum hp_err add_machine(const struct hp_cg_code *code, uint32_t insn,
                               struct hp_cg_rows *rows)
{
    const struct hp_profile *p = code->tables->profile;
    const struct hp_pinsn *i = &p->insns[insn];
    struct hp_insn_facts facts;
    struct hp_cg_row *row;
    struct hp_cg_source source =
        i->line ? (struct hp_cg_source){hp_text(i->file), i->line} : unknown_source(p, i->function);
    hp_insn_facts(code->tables, insn, &facts);
    if (!facts.exact && !facts.n_cycles)
        return HP_OK;
    HP_TRY(hp_cg_rows_add(rows, HP_CG_COST, i->place, source, &row));
    if (facts.exact)
        machine_costs(p, facts.exact, row->cost);
    for (size_t k = 0; k < facts.n_cycles; k++)
        row->cost[HP_CG_CYCLES] = hp_saturating_add(row->cost[HP_CG_CYCLES], facts.cycles[k].parts);
    return HP_OK;
}

enum hp_err hp_cg_code_costs(struct hp_cg_code *code, uint32_t function, struct hp_cg_rows *rows)
{
    size_t n;
    const uint32_t *items = hp_cg_items(code, &code->by_blocks, function, &n);
    for (size_t i = 0; i < n; i++)
        HP_TRY(add_block(code, items[i], rows));
    items = hp_cg_items(code, &code->by_edges, function, &n);
    for (size_t i = 0; i < n; i++)
        HP_TRY(add_taken(code, items[i], rows));
    items = hp_cg_items(code, &code->by_insns, function, &n);
    for (size_t i = 0; i < n; i++)
        HP_TRY(add_machine(code, items[i], rows));
    return HP_OK;
}

void hp_cg_code_totals(const struct hp_cg_code *code, uint64_t totals[HP_CG_COLUMNS])
{
    const struct hp_profile *p = code->tables->profile;
    const struct hp_insns *insns = &code->tables->insns;
    for (int k = 0; k < HP_CG_COLUMNS; k++)
        totals[k] = 0;
    for (size_t i = 0; i < p->n_blocks; i++) {
        enum hp_cg_column column = branch_column(p->blocks[i].flow);
        totals[HP_CG_IR] = hp_saturating_add(
            totals[HP_CG_IR], hp_saturating_mul(code->counts[i], p->blocks[i].insns));
        if (column != HP_CG_COLUMNS)
            totals[column] = hp_saturating_add(totals[column], code->counts[i]);
    }
    for (size_t i = 0; i < p->n_edges; i++)
        if (is_taken(&p->edges[i]))
            totals[HP_CG_TAKEN] = hp_saturating_add(totals[HP_CG_TAKEN], code->edges[i].count);
    for (size_t i = 0; i < insns->n_exact; i++)
        machine_costs(p, &p->insn_tallies[insns->first_exact + i], totals);
    for (size_t i = 0; i < p->n_insn_cycles; i++)
        totals[HP_CG_CYCLES] = hp_saturating_add(totals[HP_CG_CYCLES], p->insn_cycles[i].parts);
}
