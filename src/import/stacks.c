// SPDX-License-Identifier: MIT
#include "import/stacks_impl.h"

#include "base/base.h"

#define MAX_RUN    (UINT64_C(1) << 20) /* bytes without a taken branch */
#define MAX_BLOCKS 4096                /* in a run */
#define MANY       (UINT32_C(4) << 20) /* blocks of all runs, from which on they may have FEW */
#define FEW        64
#define READ_FIRST 256
#define READ_MORE  65536

enum hp_err hp_stacks_new(struct hp_import_spaces *spaces, struct hp_code *code,
                          struct hp_import_stacks **stacks)
{
    struct hp_import_stacks *s;
    HP_TRY(hp_new(&s, 1, sizeof *s));
    *s = (struct hp_import_stacks){.spaces = spaces, .code = code, .n_views = spaces->n_views};
    enum hp_err err = hp_new(&s->spot_of, s->n_views, sizeof *s->spot_of);
    if (err == HP_OK)
        err = hp_decoder_new(hp_code_arch(code), &s->decoder);
    if (err != HP_OK)
        hp_stacks_free(s);
    else
        *stacks = s;
    return err;
}

void hp_stacks_free(struct hp_import_stacks *s)
{
    if (!s)
        return;
    for (size_t i = 0; s->spot_of && i < s->n_views; i++)
        hp_map64_fini(&s->spot_of[i]);
    free(s->spot_of);
    hp_decoder_free(s->decoder);
    hp_map64_fini(&s->run_of);
    hp_map64_fini(&s->end_of);
    hp_steps_fini(&s->steps);
    free(s->hops);
    free(s->cycles);
    free(s->ends);
    free(s->spots);
    free(s->runs);
    free(s->blocks);
    free(s);
}

void hp_import_thread_fini(struct hp_import_thread *thread)
{
    for (size_t i = 0; i < thread->n_views; i++)
        hp_hops_fini(&thread->hops[i]);
    free(thread->hops);
    free(thread->views);
    hp_map64_fini(&thread->hops_of);
    hp_tally64_fini(&thread->edges);
    hp_tally64_fini(&thread->orphans);
}

/* --- Addresses and blocks --------------------------------------------------------------------- */

enum hp_err hp_stacks_spot(struct hp_import_stacks *s, uint32_t view, uint64_t address,
                           uint32_t *spot)
{
    *spot = hp_map64_get(&s->spot_of[view], address);
    if (*spot != HP_MAP64_NONE)
        return HP_OK;
    *spot = (uint32_t)s->n_spots;
    HP_TRY(hp_grow(&s->spots, &s->cap_spots, s->n_spots + 1, sizeof *s->spots));
    HP_TRY(hp_map64_put(&s->spot_of[view], address, *spot));
    s->spots[s->n_spots++] =
        (struct hp_import_spot){.address = address, .view = view, .block = HP_NO_ID};
    return HP_OK;
}

/* How many bytes of code, up to the first transfer of control; 0: there are too few, or they are no
 * code. */
static size_t length_of_block(struct hp_import_stacks *s, enum hp_isa_mode mode, uint64_t address,
                              const uint8_t *code, size_t size)
{
    struct hp_insn insn;
    size_t at = 0;
    for (unsigned i = 0; i < HP_BLOCK_MAX_INSNS; i++) {
        if (hp_decode(s->decoder, mode, address + at, code + at, size - at, true, &insn) != HP_OK)
            return 0;
        at += insn.length;
        if (insn.flow != HP_FLOW_NONE)
            break;
    }
    return at;
}

/* Bit 0 of an address of ARM code says that it is Thumb code. */
static enum hp_isa_mode mode_of(const struct hp_import_stacks *s, uint64_t address)
{
    return hp_code_arch(s->code) == HP_ARCH_ARM && (address & 1) ? HP_MODE_THUMB : HP_MODE_DEFAULT;
}

static enum hp_err add_block(struct hp_import_stacks *s, const struct hp_import_place *place,
                             uint64_t address, uint32_t *block)
{
    static const size_t sizes[] = {READ_FIRST, READ_MORE};
    enum hp_isa_mode mode = mode_of(s, address);
    uint8_t *bytes HP_CLEANUP(hp_free) = NULL;
    size_t length = 0;
    HP_TRY(hp_new(&bytes, READ_MORE, 1));
    for (int i = 0; i < 2 && !length; i++) {
        size_t n = hp_module_code_read(place->code, place->offset, bytes, sizes[i]);
        length = length_of_block(s, mode, address, bytes, n);
    }
    if (!length || s->n_segments + 1 >= HP_SEGMENTS_MAX)
        return HP_OK;
    enum hp_err err = hp_code_add_segment(s->code, s->n_segments + 1,
                                          &(struct hp_segment){.start = address,
                                                               .module = place->module,
                                                               .mode = (uint8_t)mode,
                                                               .size = (uint32_t)length,
                                                               .bytes = bytes});
    if (err == HP_ERR_NOMEM)
        return err;
    if (err == HP_OK)
        *block = hp_code_segment_block(s->code, ++s->n_segments);
    return HP_OK;
}

enum hp_err hp_stacks_block_at(struct hp_import_stacks *s, uint32_t spot, uint32_t *block)
{
    struct hp_import_spot *at = &s->spots[spot];
    struct hp_import_place place;
    if (!at->looked_for) {
        at->looked_for = true;
        enum hp_err err = hp_spaces_find(s->spaces, s->code, at->view, at->address, &place);
        if (err == HP_OK)
            err = add_block(s, &place, at->address, &at->block);
        if (err != HP_OK && err != HP_ERR_NOTFOUND)
            return err;
    }
    *block = at->block;
    return HP_OK;
}

/* --- Runs ------------------------------------------------------------------------------------- */

static bool may_fall_through(const struct hp_block *block)
{
    return block->flow == HP_FLOW_NONE || block->flow == HP_FLOW_COND ||
           block->flow == HP_FLOW_SYSCALL || block->flags & HP_BLOCK_CONDITIONAL;
}

/* Adds the blocks from one spot to another; `whole`: the last one ends there, else it only has to
 * contain that instruction. `*n` is 0 where no straight run leads there. */
static enum hp_err walk(struct hp_import_stacks *s, uint32_t from, uint64_t to, bool whole,
                        uint32_t *n)
{
    size_t first = s->n_blocks;
    uint32_t view = s->spots[from].view, block;
    *n = 0;
    if (to < s->spots[from].address || to - s->spots[from].address > MAX_RUN) {
        s->counts.impossible++;
        return HP_OK;
    }
    for (;;) {
        HP_TRY(hp_stacks_block_at(s, from, &block));
        if (block == HP_NO_ID)
            break;
        const struct hp_block *b = hp_code_block(s->code, block);
        HP_TRY(hp_grow(&s->blocks, &s->cap_blocks, s->n_blocks + 1, sizeof *s->blocks));
        s->blocks[s->n_blocks++] = block;
        if (b->last == to || (!whole && to < b->end)) {
            *n = (uint32_t)(s->n_blocks - first);
            return HP_OK;
        }
        size_t most = first > MANY ? FEW : MAX_BLOCKS;
        if (to < b->end || !may_fall_through(b) || s->n_blocks - first >= most) {
            s->counts.impossible++;
            break;
        }
        HP_TRY(hp_stacks_spot(s, view, b->end, &from));
    }
    s->n_blocks = first;
    return HP_OK;
}

enum hp_err hp_stacks_run(struct hp_import_stacks *s, uint32_t from, uint32_t to, bool whole,
                          uint32_t *run)
{
    /* The two kinds of runs between the same spots have numbers of their own. */
    uint64_t key = (uint64_t)from << 32 | to | (whole ? 0 : UINT32_C(1) << 31);
    *run = hp_map64_get(&s->run_of, key);
    if (*run != HP_MAP64_NONE)
        return HP_OK;
    struct hp_import_run made = {.first = (uint32_t)s->n_blocks};
    HP_TRY(walk(s, from, s->spots[to].address, whole, &made.n));
    *run = (uint32_t)s->n_runs;
    HP_TRY(hp_grow(&s->runs, &s->cap_runs, s->n_runs + 1, sizeof *s->runs));
    s->runs[s->n_runs++] = made;
    return hp_map64_put(&s->run_of, key, *run);
}

enum hp_err hp_stacks_count(struct hp_tally64 *tally, uint32_t high, uint32_t low, uint64_t times)
{
    uint64_t *n = hp_tally64_add(tally, (uint64_t)high << 32 | low);
    if (!n)
        return hp_fail_nomem();
    hp_add_up(n, times);
    return HP_OK;
}

enum hp_err hp_stacks_count_run(struct hp_import_stacks *s, struct hp_import_thread *t,
                                uint32_t from, uint32_t to, bool whole, uint32_t next)
{
    uint32_t run;
    HP_TRY(hp_stacks_run(s, from, to, whole, &run));
    s->counts.runs++;
    if (s->runs[run].n)
        return hp_stacks_count(&t->edges, run, next, 1);
    s->counts.gaps++;
    return next == HP_NO_ID ? HP_OK : hp_stacks_count(&t->orphans, to, next, 1);
}

enum hp_err hp_stacks_end_tail(struct hp_import_stacks *s, struct hp_import_thread *t)
{
    if (!t->n_tails)
        return HP_OK;
    struct hp_import_tail tail = t->tails[--t->n_tails];
    return t->whole ? hp_stacks_count_run(s, t, tail.from, tail.to, false, HP_NO_ID) : HP_OK;
}

/* --- Edges ------------------------------------------------------------------------------------ */

enum hp_err hp_stacks_end(struct hp_import_stacks *s, struct hp_import_thread *t)
{
    for (size_t v = 0; v < t->n_views; v++) {
        const struct hp_import_hops *hops = &t->hops[v];
        for (size_t i = 0; i < hops->n_slots; i++) {
            if (hops->slots[i].hop == UINT32_MAX)
                continue;
            struct hp_import_hop *hop = &s->hops[hops->slots[i].hop & HP_HOP_ID];
            bool gap = hop->run == HP_NO_ID || !s->runs[hop->run].n;
            hop->count = (hop->count << 32) + hops->slots[i].count;
            if (hop->run != HP_NO_ID) {
                s->counts.runs += hop->count;
                s->counts.gaps += gap ? hop->count : 0;
            }
            if (!hop->count)
                continue;
            HP_TRY(gap ? hp_stacks_count(&t->orphans, hop->from, hop->to, hop->count)
                       : hp_stacks_count(&t->edges, hop->run, hop->to, hop->count));
        }
    }
    return HP_OK;
}

/* Counts by pairs of blocks. */
struct edges {
    struct hp_tally64 counts; /* from << 32 | to */
    struct hp_map64 ends;     /* hp_stacks_end_key() -> the block most often ended by that branch */
    struct hp_tally64 executed; /* by block, as the last one of a run */
};

static void fini_edges(struct edges *e)
{
    hp_tally64_fini(&e->counts);
    hp_tally64_fini(&e->executed);
    hp_map64_fini(&e->ends);
}

static enum hp_err add_edge(struct edges *e, uint32_t from, uint32_t to, uint64_t times)
{
    uint64_t *n = hp_tally64_add(&e->counts, (uint64_t)from << 32 | to);
    if (!n)
        return hp_fail_nomem();
    hp_add_up(n, times);
    return HP_OK;
}

/* NULL: no block was seen to end with that branch. */
static const struct hp_block *known_end(const struct hp_import_stacks *s, const struct edges *e,
                                        uint32_t module, uint64_t branch, uint32_t *block)
{
    *block = hp_map64_get(&e->ends, hp_stacks_end_key(module, branch));
    if (*block == HP_MAP64_NONE)
        return NULL;
    const struct hp_block *b = hp_code_block(s->code, *block);
    return b->module == module && b->last == branch ? b : NULL;
}

/* Of the blocks that end with a branch, the one that is seen most. */
static enum hp_err learn_end(struct hp_import_stacks *s, struct edges *e, uint32_t block,
                             uint64_t times)
{
    const struct hp_block *b = hp_code_block(s->code, block);
    uint32_t best;
    uint64_t *n = hp_tally64_add(&e->executed, block);
    if (!n)
        return hp_fail_nomem();
    hp_add_up(n, times);
    if (known_end(s, e, b->module, b->last, &best) && *hp_tally64_get(&e->executed, best) >= *n)
        return HP_OK;
    return hp_map64_put(&e->ends, hp_stacks_end_key(b->module, b->last), block);
}

static enum hp_err add_run(struct hp_import_stacks *s, struct edges *e, uint64_t key,
                           uint64_t times)
{
    const struct hp_import_run *run = &s->runs[key >> 32];
    uint32_t next = (uint32_t)key, to = HP_NO_ID;
    if (next != HP_NO_ID)
        HP_TRY(hp_stacks_block_at(s, next, &to));
    for (uint32_t i = 0; i + 1 < run->n; i++)
        HP_TRY(add_edge(e, s->blocks[run->first + i], s->blocks[run->first + i + 1], times));
    uint32_t last = s->blocks[run->first + run->n - 1];
    HP_TRY(learn_end(s, e, last, times));
    return add_edge(e, last, to, times);
}

/* A branch of which it is not known where its block began: it is taken to be the block that was
 * seen most often to end with it; if there is none, the block is the branch alone. */
static enum hp_err add_orphan(struct hp_import_stacks *s, struct edges *e, uint64_t key,
                              uint64_t times)
{
    uint32_t from = (uint32_t)(key >> 32), next = (uint32_t)key, block, to;
    const struct hp_import_spot at = s->spots[from];
    struct hp_import_place place;
    enum hp_err err = hp_spaces_find(s->spaces, s->code, at.view, at.address, &place);
    if (err != HP_OK)
        return err == HP_ERR_NOTFOUND ? HP_OK : err;
    if (!known_end(s, e, place.module, at.address, &block)) {
        HP_TRY(hp_stacks_block_at(s, from, &block));
        if (block == HP_NO_ID || hp_code_block(s->code, block)->insns != 1)
            return HP_OK;
    }
    HP_TRY(hp_stacks_block_at(s, next, &to));
    return add_edge(e, block, to, times);
}

enum hp_err hp_stacks_edges(struct hp_import_stacks *s, struct hp_import_thread *t,
                            struct hp_edge_count **edges, size_t *n)
{
    struct edges e HP_CLEANUP(fini_edges) = {0};
    while (t->n_tails)
        HP_TRY(hp_stacks_end_tail(s, t));
    for (size_t i = 0; i < t->edges.n_slots; i++)
        if (t->edges.slots[i].key != HP_TALLY64_NONE)
            HP_TRY(add_run(s, &e, t->edges.slots[i].key, t->edges.slots[i].count));
    for (size_t i = 0; i < t->orphans.n_slots; i++)
        if (t->orphans.slots[i].key != HP_TALLY64_NONE)
            HP_TRY(add_orphan(s, &e, t->orphans.slots[i].key, t->orphans.slots[i].count));
    *n = 0;
    HP_TRY(hp_new(edges, e.counts.used, sizeof **edges));
    for (size_t i = 0; i < e.counts.n_slots; i++) {
        const struct hp_tally64_slot *slot = &e.counts.slots[i];
        if (slot->key != HP_TALLY64_NONE)
            (*edges)[(*n)++] = (struct hp_edge_count){(uint32_t)(slot->key >> 32),
                                                      (uint32_t)slot->key, slot->count};
    }
    return HP_OK;
}

/* --- Cycles ----------------------------------------------------------------------------------- */

static void add_up(struct hp_prun_cycles *out, const struct hp_import_hop *hop,
                   const struct hp_import_cycles *c)
{
    out->unknown += hop->count - hop->joined - c->timed;
    if (!c->timed)
        return;
    out->min = out->count && out->min < c->min ? out->min : c->min;
    out->max = out->max > c->max ? out->max : c->max;
    out->count += c->timed;
    out->cycles += c->cycles;
    out->squares += c->squares;
}

enum hp_err hp_stacks_cycles(struct hp_import_stacks *s, struct hp_profile *profile)
{
    static const struct hp_import_cycles none;
    struct hp_prun_cycles *runs HP_CLEANUP(hp_free) = NULL, *out;
    if (!s->n_cycles)
        return HP_OK;
    HP_TRY(hp_new(&runs, s->n_runs, sizeof *runs));
    for (size_t i = 0; i < s->n_hops; i++) {
        const struct hp_import_hop *hop = &s->hops[i];
        if (hop->run != HP_NO_ID && s->runs[hop->run].n)
            add_up(&runs[hop->run], hop, i < s->n_cycles ? &s->cycles[i] : &none);
    }
    for (size_t i = 0; i < s->n_runs; i++)
        s->counts.timed += runs[i].count;
    for (size_t i = 0; s->counts.timed && i < s->n_runs; i++) {
        const struct hp_import_run *run = &s->runs[i];
        if (!runs[i].count && !runs[i].unknown)
            continue;
        HP_TRY(hp_profile_add_run_cycles(profile, &out));
        *out = runs[i];
        out->first = s->blocks[run->first];
        out->last = s->blocks[run->first + run->n - 1];
    }
    return HP_OK;
}
