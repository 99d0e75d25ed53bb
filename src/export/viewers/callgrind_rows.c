// SPDX-License-Identifier: MIT
/*
 * Costs of instructions. A profile counts blocks; which instructions a block has is read from the
 * file that ran, where it is still there. Where it is not, a block's cost is at the first
 * instruction of each of its source lines.
 */
#include "export/viewers/callgrind_rows.h"

#include "base/base.h"
#include "symbols/module_code.h"
#include "text/number.h"

#define MOST_INSTRUCTIONS (4u << 20)  /* decoded in all: no program executes more different ones */
#define BLOCK_BYTES       (64u << 10) /* a block has at most 4096 instructions */

/* --- Rows ------------------------------------------------------------------------------------- */

/* Appends a row, all zero but for where it is; it is valid until the next one. */
static struct hp_cg_row *add_row(struct hp_cg_code *code, enum hp_cg_kind kind,
                                 struct hp_cg_where where)
{
    struct hp_cg_row *row = &code->lost;
    if (hp_grow(&code->rows, &code->capacity, code->n_rows + 1, sizeof *code->rows) == HP_OK)
        row = &code->rows[code->n_rows++];
    else
        code->failed = true;
    *row = (struct hp_cg_row){.where = where, .kind = kind};
    return row;
}

static void add_cost(struct hp_cg_code *code, struct hp_cg_where where, enum hp_cg_column column,
                     uint64_t value)
{
    add_row(code, HP_CG_COST, where)->cost[column] = value;
}

static int compare(const void *a, const void *b)
{
    const struct hp_cg_row *x = a, *y = b;
    const struct hp_cg_where *at = &x->where, *other = &y->where;
    int order = hp_place_compare(at->place, other->place)
                    ?: (at->file == other->file ? 0 : strcmp(at->file, other->file))
                    ?: HP_COMPARE(at->line, other->line) ?: HP_COMPARE(x->kind, y->kind);
    if (!order && x->kind == HP_CG_JUMP)
        return hp_place_compare(x->jump.to.place, y->jump.to.place);
    if (!order && x->kind == HP_CG_CALL)
        return HP_COMPARE(x->call.callee, y->call.callee);
    return order;
}

static void join(struct hp_cg_code *code)
{
    size_t kept = 0;
    hp_sort(code->rows, code->n_rows, sizeof *code->rows, compare);
    for (size_t i = 0; i < code->n_rows; i++) {
        struct hp_cg_row *row = &code->rows[i], *last = kept ? &code->rows[kept - 1] : NULL;
        if (last && row->kind == HP_CG_COST && compare(last, row) == 0)
            for (int k = 0; k < HP_CG_COLUMNS; k++)
                hp_add_up(&last->cost[k], row->cost[k]);
        else
            code->rows[kept++] = *row;
    }
    code->n_rows = kept;
}

/* --- Edges ------------------------------------------------------------------------------------ */

static struct hp_place end_of(const struct hp_pblock *block)
{
    return (struct hp_place){block->place.module, block->place.offset + block->branch};
}

static int compare_ends(const void *a, const void *b, void *context)
{
    const struct hp_pblock *blocks = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return hp_place_compare(end_of(&blocks[x]), end_of(&blocks[y])) ?: HP_COMPARE(x, y);
}

/* Finds the blocks of every edge: the first that ends, and the first that starts at its places. */
static enum hp_err make_edges(struct hp_cg_code *code)
{
    const struct hp_profile *p = code->profile;
    const struct hp_pblock *blocks = p->blocks;
    size_t n = p->n_blocks;
    uint32_t *by_end HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new(&by_end, n, sizeof *by_end));
    HP_TRY(hp_new(&code->edges, p->n_edges, sizeof *code->edges));
    for (uint32_t i = 0; i < n; i++)
        by_end[i] = i;
    qsort_r(by_end, n, sizeof *by_end, compare_ends, p->blocks);
    for (size_t k = 0; k < p->n_edges; k++) {
        struct hp_place from = p->edges[k].from, to = p->edges[k].to;
        size_t end = HP_BISECT(i, 0, n, hp_place_compare(end_of(&blocks[by_end[i]]), from) < 0);
        size_t start = HP_BISECT(i, 0, n, hp_place_compare(blocks[i].place, to) < 0);
        struct hp_cg_edge *edge = &code->edges[k];
        memset(edge, 0xff, offsetof(struct hp_cg_edge, count)); /* HP_PROFILE_NONE */
        if (end < n && hp_place_compare(end_of(&blocks[by_end[end]]), from) == 0) {
            edge->from = by_end[end];
            edge->caller = blocks[edge->from].function;
        }
        if (start < n && hp_place_compare(blocks[start].place, to) == 0) {
            edge->to = (uint32_t)start;
            edge->callee = blocks[start].function;
        }
    }
    for (size_t i = 0; i < p->n_edge_counts; i++)
        hp_add_up(&code->edges[p->edge_counts[i].item].count, p->edge_counts[i].count);
    return HP_OK;
}

static bool is_known(const struct hp_cg_edge *edge)
{
    return edge->from != HP_PROFILE_NONE && edge->to != HP_PROFILE_NONE && edge->count;
}

static bool is_jump(uint8_t flow)
{
    return flow == HP_FLOW_JUMP || flow == HP_FLOW_COND || flow == HP_FLOW_JUMP_IND;
}

static uint64_t call_key(uint32_t caller, uint32_t callee)
{
    return (uint64_t)caller << 32 | callee;
}

/* Whether an edge calls. Jumps to other functions are tail calls, or lead to cold parts. A call of
 * the next instruction only reads the pc. */
static bool is_call(const struct hp_profile *p, const struct hp_pedge *e,
                    const struct hp_cg_edge *edge)
{
    if (!is_known(edge))
        return false;
    struct hp_place next = p->blocks[edge->from].place;
    next.offset += p->blocks[edge->from].size;
    if (e->flow == HP_FLOW_CALL || e->flow == HP_FLOW_CALL_IND)
        return hp_place_compare(e->to, next) != 0;
    return is_jump(e->flow) && edge->caller != edge->callee;
}

/* --- Lists ------------------------------------------------------------------------------------ */

static enum hp_err make_lists(struct hp_cg_code *code)
{
    const struct hp_profile *p = code->profile;
    size_t n = p->n_functions;
    HP_TRY(hp_lists_init(&code->blocks, n, p->n_blocks));
    HP_TRY(hp_lists_init(&code->insns, n, p->n_insns));
    HP_TRY(hp_lists_init(&code->jumps, n, p->n_edges));
    for (uint32_t i = (uint32_t)p->n_blocks; i-- > 0;)
        hp_lists_prepend(&code->blocks, p->blocks[i].function, i);
    for (uint32_t i = (uint32_t)p->n_insns; i-- > 0;)
        hp_lists_prepend(&code->insns, p->insns[i].function, i);
    for (uint32_t i = (uint32_t)p->n_edges; i-- > 0;) {
        hp_lists_prepend(&code->jumps, code->edges[i].caller, i);
        struct hp_cg_edge *edge = &code->edges[i];
        uint64_t key = call_key(edge->caller, edge->callee);
        if (!is_call(p, &p->edges[i], edge))
            continue;
        edge->next_site = hp_map64_get(&code->sites, key);
        HP_TRY(hp_map64_put(&code->sites, key, i));
    }
    return HP_OK;
}

/* --- Where something is ----------------------------------------------------------------------- */

static const struct hp_module_code *file_of(const struct hp_cg_code *code, struct hp_place place)
{
    return place.module == HP_PROFILE_NONE ? NULL : code->modules[place.module];
}

uint64_t hp_cg_address(const struct hp_cg_code *code, struct hp_place place)
{
    const struct hp_module_code *file = file_of(code, place);
    return place.offset + (file ? hp_module_code_base(file) : 0);
}

struct hp_cg_where hp_cg_function(const struct hp_profile *p, uint32_t function)
{
    if (function == HP_PROFILE_NONE)
        return (struct hp_cg_where){{HP_PROFILE_NONE, 0}, "", 0};
    const struct hp_pfunction *f = &p->functions[function];
    return (struct hp_cg_where){f->place, hp_text(f->file), f->line};
}

static struct hp_cg_where where(const struct hp_cg_code *code, struct hp_place place,
                                const char *file, uint32_t line, uint32_t function)
{
    if (line)
        return (struct hp_cg_where){place, hp_text(file), line};
    return (struct hp_cg_where){place, hp_cg_function(code->profile, function).file, 0};
}

/* Where a byte of a block is; where its line is not known, the file is that of the function. */
static struct hp_cg_where in_block(const struct hp_cg_code *code, uint32_t block, uint32_t offset)
{
    const struct hp_pblock *b = &code->profile->blocks[block];
    const struct hp_pline *line = hp_line_at(code->profile, block, offset);
    return where(code, (struct hp_place){b->place.module, b->place.offset + offset},
                 line ? line->file : "", line ? line->line : 0, b->function);
}

/* Where the branch of an edge is. */
static struct hp_cg_where at_branch(const struct hp_cg_code *code, uint32_t edge)
{
    uint32_t from = code->edges[edge].from;
    if (from == HP_PROFILE_NONE)
        return where(code, code->profile->edges[edge].from, "", 0, HP_PROFILE_NONE);
    return in_block(code, from, code->profile->blocks[from].branch);
}

/* --- Costs ------------------------------------------------------------------------------------ */

/* The instructions of a block as its file has them; false: they are not those that ran. */
static bool add_insns(struct hp_cg_code *code, uint32_t block)
{
    const struct hp_pblock *b = &code->profile->blocks[block];
    const struct hp_module_code *file = file_of(code, b->place);
    uint8_t bytes[BLOCK_BYTES];
    size_t first = code->n_rows;
    uint32_t offset = 0, n = 0;
    /* Only what was there first is what the file has. */
    if (!file || !code->decoder || b->version || b->size > BLOCK_BYTES || b->insns > code->budget ||
        hp_module_code_read(file, b->place.offset, bytes, b->size) != b->size)
        return false;
    code->budget -= b->insns;
    for (; offset < b->size && n < b->insns; n++) {
        struct hp_insn insn;
        if (hp_decode(code->decoder, HP_MODE_DEFAULT, b->place.offset + offset, bytes + offset,
                      b->size - offset, true, &insn) != HP_OK)
            break;
        add_cost(code, in_block(code, block, offset), HP_CG_IR, code->tables.block_counts[block]);
        offset += insn.length;
    }
    if (offset == b->size && n == b->insns)
        return true;
    code->n_rows = first;
    return false;
}

/* A block of unknown instructions: by source line or, where these are not all known, as one. */
static void add_lines(struct hp_cg_code *code, uint32_t block)
{
    const struct hp_profile *p = code->profile;
    size_t n;
    const struct hp_pline *lines = hp_items(p, HP_ROW_LINE, block, &n);
    uint64_t insns = 0, count = code->tables.block_counts[block];
    for (size_t i = 0; i < n; i++)
        insns += lines[i].insns;
    if (insns != p->blocks[block].insns) {
        add_cost(code, in_block(code, block, 0), HP_CG_IR,
                 hp_saturating_mul(count, p->blocks[block].insns));
        return;
    }
    for (size_t i = 0; i < n; i++)
        add_cost(code, in_block(code, block, lines[i].from), HP_CG_IR,
                 hp_saturating_mul(count, lines[i].insns));
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

static void add_block(struct hp_cg_code *code, uint32_t block)
{
    const struct hp_pblock *b = &code->profile->blocks[block];
    enum hp_cg_column column = branch_column(b->flow);
    uint64_t count = code->tables.block_counts[block];
    if (!count)
        return;
    if (!add_insns(code, block))
        add_lines(code, block);
    if (column != HP_CG_COLUMNS)
        add_cost(code, in_block(code, block, b->branch), column, count);
}

static bool is_taken(const struct hp_pedge *edge)
{
    return edge->taken && edge->flow != HP_FLOW_NONE && edge->flow != HP_FLOW_SYSCALL &&
           edge->flow != HP_FLOW_TRAP;
}

/* What a machine saw of an instruction, added to `cost`. */
static void add_events(const struct hp_profile *p, const struct hp_pinsn_tally *tally,
                       uint64_t cost[HP_CG_COLUMNS])
{
    static const enum hp_insn_event events[HP_CG_COLUMNS] = {
        [HP_CG_I1] = HP_INSN_L1I, [HP_CG_D1] = HP_INSN_L1D,    [HP_CG_L2] = HP_INSN_L2,
        [HP_CG_L3] = HP_INSN_L3,  [HP_CG_ITLB] = HP_INSN_ITLB, [HP_CG_DTLB] = HP_INSN_DTLB};
    bool conditional = p->insns[tally->insn].flow == HP_FLOW_COND;
    for (int k = HP_CG_I1; k <= HP_CG_DTLB; k++)
        hp_add_up(&cost[k], tally->tally.events[events[k]]);
    hp_add_up(&cost[conditional ? HP_CG_BCM : HP_CG_BIM],
              tally->tally.events[HP_INSN_MISPREDICTED]);
}

static void add_machine(struct hp_cg_code *code, uint32_t insn)
{
    const struct hp_pinsn *i = &code->profile->insns[insn];
    struct hp_insn_facts facts = hp_insn_facts(&code->tables, insn);
    if (!facts.exact && !facts.n_cycles)
        return;
    uint64_t *cost =
        add_row(code, HP_CG_COST, where(code, i->place, i->file, i->line, i->function))->cost;
    if (facts.exact)
        add_events(code->profile, facts.exact, cost);
    for (size_t k = 0; k < facts.n_cycles; k++)
        hp_add_up(&cost[HP_CG_CYCLES], facts.cycles[k].parts);
}

/* --- Branches --------------------------------------------------------------------------------- */

static void add_branch(struct hp_cg_code *code, uint32_t i, uint32_t function, uint64_t executed)
{
    const struct hp_pedge *edge = &code->profile->edges[i];
    const struct hp_cg_edge *e = &code->edges[i];
    if (is_taken(edge))
        add_cost(code, at_branch(code, i), HP_CG_TAKEN, e->count);
    if (is_jump(edge->flow) && edge->taken && is_known(e) && e->callee == function)
        add_row(code, HP_CG_JUMP, at_branch(code, i))->jump = (struct hp_cg_jump){
            in_block(code, e->to, 0), e->count, edge->flow == HP_FLOW_COND ? executed : 0};
}

/* Adds what was taken, and the jumps inside of a function. */
static void add_branches(struct hp_cg_code *code, uint32_t function)
{
    const struct hp_pedge *edges = code->profile->edges;
    const uint32_t *following = code->jumps.next;
    uint32_t first = hp_lists_first(&code->jumps, function), next;
    for (; first != HP_PROFILE_NONE; first = next) {
        uint64_t executed = 0; /* of a conditional branch, whose edges follow each other */
        for (next = first;
             next != HP_PROFILE_NONE && hp_place_compare(edges[next].from, edges[first].from) == 0;
             next = following[next])
            if (edges[next].flow == HP_FLOW_COND)
                hp_add_up(&executed, code->edges[next].count);
        for (uint32_t i = first; i != next; i = following[i])
            add_branch(code, i, function, executed);
    }
}

/* --- Calls ------------------------------------------------------------------------------------ */

/* Shares a call out to the instructions that made it; what is rounded off goes to later ones.
 * Without any (the run began in the middle of it) it is where the function begins. Readers take the
 * cost of 0 calls for the function's own: a jump into a part of another function, which is not
 * counted as a call, is written as one. */
static void share_call(struct hp_cg_code *code, uint32_t function, struct hp_cg_call sum)
{
    uint32_t first = hp_map64_get(&code->sites, call_key(function, sum.callee));
    uint64_t all = 0, so_far = 0;
    for (uint32_t i = first; i != HP_PROFILE_NONE; i = code->edges[i].next_site)
        hp_add_up(&all, code->edges[i].count);
    if (!sum.count)
        sum.count = all ? all : 1;
    if (!all)
        add_row(code, HP_CG_CALL, hp_cg_function(code->profile, function))->call = sum;
    struct hp_cg_call given = {0};
    for (uint32_t i = first; i != HP_PROFILE_NONE; i = code->edges[i].next_site) {
        hp_add_up(&so_far, code->edges[i].count);
        struct hp_cg_call part = {sum.callee, hp_part_of(sum.count, so_far, all) - given.count,
                                  hp_part_of(sum.inclusive, so_far, all) - given.inclusive};
        if (!part.count)
            continue;
        add_row(code, HP_CG_CALL, at_branch(code, i))->call = part;
        given.count += part.count;
        given.inclusive += part.inclusive;
    }
}

/* Adds the calls from a function, at the instructions that call. The profile has them by caller and
 * callee: where there are several instructions, the inclusive cost is shared out by how often each
 * of them called. */
static void add_calls(struct hp_cg_code *code, uint32_t function)
{
    const struct hp_profile *p = code->profile;
    size_t n, n_counts;
    if (function == HP_PROFILE_NONE) /* the start of a thread, or a signal: nobody calls */
        return;
    const struct hp_pcall *calls = hp_items(p, HP_ROW_CALL, function, &n);
    for (size_t i = 0; i < n; i++) {
        uint32_t call = (uint32_t)(&calls[i] - p->calls);
        struct hp_cg_call sum = {.callee = calls[i].callee};
        const struct hp_pcall_count *counts = hp_items(p, HP_ROW_CALL_COUNT, call, &n_counts);
        for (size_t k = 0; k < n_counts; k++) {
            hp_add_up(&sum.count, counts[k].count);
            hp_add_up(&sum.inclusive, counts[k].inclusive);
        }
        if (sum.count || sum.inclusive)
            share_call(code, function, sum);
    }
}

void hp_cg_rows_of(struct hp_cg_code *code, uint32_t function)
{
    code->n_rows = 0;
    for (uint32_t i = hp_lists_first(&code->blocks, function); i != HP_PROFILE_NONE;
         i = code->blocks.next[i])
        add_block(code, i);
    for (uint32_t i = hp_lists_first(&code->insns, function); i != HP_PROFILE_NONE;
         i = code->insns.next[i])
        add_machine(code, i);
    add_branches(code, function);
    add_calls(code, function);
    join(code);
}

/* --- All of it -------------------------------------------------------------------------------- */

static enum hp_err open_modules(struct hp_cg_code *code)
{
    const struct hp_profile *p = code->profile;
    HP_TRY(hp_new(&code->modules, p->n_modules, sizeof *code->modules));
    for (size_t i = 0; i < p->n_modules; i++)
        if (hp_module_code_open(hp_text(p->modules[i].path), hp_text(p->modules[i].build_id),
                                p->run.started, &code->modules[i]) == HP_ERR_NOMEM)
            return HP_ERR_NOMEM;
    /* Code of ARM may be Thumb, and the profile does not say. */
    if (p->run.arch != HP_ARCH_ARM && hp_decoder_new(p->run.arch, &code->decoder) == HP_ERR_NOMEM)
        return HP_ERR_NOMEM;
    return HP_OK;
}

/* By the profile's counters alone. */
static void sum_up(struct hp_cg_code *code)
{
    const struct hp_profile *p = code->profile;
    const struct hp_insns *insns = &code->tables.insns;
    uint64_t *totals = code->totals;
    for (size_t i = 0; i < p->n_blocks; i++) {
        enum hp_cg_column column = branch_column(p->blocks[i].flow);
        uint64_t count = code->tables.block_counts[i];
        hp_add_up(&totals[HP_CG_IR], hp_saturating_mul(count, p->blocks[i].insns));
        if (column != HP_CG_COLUMNS)
            hp_add_up(&totals[column], count);
    }
    for (size_t i = 0; i < p->n_edges; i++)
        hp_add_up(&totals[HP_CG_TAKEN], is_taken(&p->edges[i]) ? code->edges[i].count : 0);
    for (size_t i = 0; i < insns->counted.n; i++)
        add_events(p, &insns->counted.tallies[i], totals);
    for (size_t i = 0; i < p->n_insn_cycles; i++)
        hp_add_up(&totals[HP_CG_CYCLES], p->insn_cycles[i].parts);
}

enum hp_err hp_cg_code_init(struct hp_cg_code *code, const struct hp_profile *profile)
{
    *code = (struct hp_cg_code){.profile = profile, .budget = MOST_INSTRUCTIONS};
    HP_TRY(hp_tables_init(&code->tables, profile));
    HP_TRY(hp_tables_count_blocks(&code->tables));
    HP_TRY(make_edges(code));
    HP_TRY(make_lists(code));
    HP_TRY(open_modules(code));
    sum_up(code);
    return HP_OK;
}

void hp_cg_code_fini(struct hp_cg_code *code)
{
    for (size_t i = 0; code->modules && i < code->profile->n_modules; i++)
        hp_module_code_close(code->modules[i]);
    free(code->modules);
    hp_decoder_free(code->decoder);
    free(code->rows);
    free(code->edges);
    hp_lists_fini(&code->blocks);
    hp_lists_fini(&code->insns);
    hp_lists_fini(&code->jumps);
    hp_map64_fini(&code->sites);
    hp_tables_fini(&code->tables);
}
