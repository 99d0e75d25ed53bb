// SPDX-License-Identifier: MIT
#include "import/stacks.h"

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
    hp_stretches_fini(&s->stretches);
    free(s->spots);
    free(s->runs);
    free(s->blocks);
    free(s);
}

void hp_import_thread_fini(struct hp_import_thread *thread)
{
    hp_tally64_fini(&thread->edges);
    hp_tally64_fini(&thread->orphans);
}

/* --- Addresses and blocks --------------------------------------------------------------------- */

static enum hp_err spot_of(struct hp_import_stacks *s, uint32_t view, uint64_t address,
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

/* The block that starts at a spot; HP_NO_ID: its code is not known. */
static enum hp_err block_at(struct hp_import_stacks *s, uint32_t spot, uint32_t *block)
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
        HP_TRY(block_at(s, from, &block));
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
        HP_TRY(spot_of(s, view, b->end, &from));
    }
    s->n_blocks = first;
    return HP_OK;
}

/* The two kinds of runs between the same spots have numbers of their own: bit 31 of the key. */
static enum hp_err run_of(struct hp_import_stacks *s, uint32_t from, uint32_t to, bool whole,
                          uint32_t *run)
{
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

static enum hp_err count(struct hp_tally64 *tally, uint32_t high, uint32_t low)
{
    uint64_t *n = hp_tally64_add(tally, (uint64_t)high << 32 | low);
    if (!n)
        return hp_fail_nomem();
    ++*n;
    return HP_OK;
}

/* A run was executed, and then what is at `next`. `*run`: it; HP_NO_ID: it is not known. */
static enum hp_err count_run(struct hp_import_stacks *s, struct hp_import_thread *t, uint32_t from,
                             uint32_t to, bool whole, uint32_t next, uint32_t *run)
{
    HP_TRY(run_of(s, from, to, whole, run));
    s->counts.runs++;
    if (s->runs[*run].n)
        return count(&t->edges, *run, next);
    *run = HP_NO_ID;
    s->counts.gaps++;
    return next == HP_NO_ID ? HP_OK : count(&t->orphans, to, next);
}

/* --- Stacks ----------------------------------------------------------------------------------- */

/* A stack that began elsewhere: what was on top ended where its sample was taken, if all of the
 * thread is known. */
static enum hp_err end_tail(struct hp_import_stacks *s, struct hp_import_thread *t)
{
    if (!t->n_tails)
        return HP_OK;
    struct hp_import_tail tail = t->tails[--t->n_tails];
    uint32_t run;
    return t->whole ? count_run(s, t, tail.from, tail.to, false, HP_NO_ID, &run) : HP_OK;
}

/* Whether a stack that begins with this branch goes on where one ended: then that tail is on top.
 */
static enum hp_err join(struct hp_import_stacks *s, struct hp_import_thread *t, uint64_t from,
                        bool *joined)
{
    uint32_t i = t->n_tails;
    while (i > 0 && s->spots[t->tails[i - 1].to].address != from)
        i--;
    *joined = i > 0;
    while (*joined && t->n_tails > i)
        HP_TRY(end_tail(s, t));
    return HP_OK;
}

/* A thread, or a handler, begins: what it interrupts may go on later. */
static enum hp_err begin(struct hp_import_stacks *s, struct hp_import_thread *t, bool first)
{
    if (first)
        t->whole = true;
    if (t->n_tails < HP_IMPORT_TAILS)
        return HP_OK;
    struct hp_import_tail oldest = t->tails[0];
    memmove(t->tails, t->tails + 1, (HP_IMPORT_TAILS - 1) * sizeof *t->tails);
    t->n_tails--;
    uint32_t run;
    return t->whole ? count_run(s, t, oldest.from, oldest.to, false, HP_NO_ID, &run) : HP_OK;
}

/* The cycles of a branch are those since the branch before it: of the run that it ends. */
static void add_cycles(struct hp_import_stacks *s, struct hp_import_run *run, uint64_t cycles)
{
    if (!cycles) {
        run->untimed++;
        return;
    }
    run->min = run->timed && run->min < cycles ? run->min : cycles;
    run->max = run->max > cycles ? run->max : cycles;
    run->timed++;
    run->cycles += cycles;
    run->squares += cycles * cycles;
    s->counts.timed++;
}

static enum hp_err begin_stretch(struct hp_import_stacks *s, const struct hp_import_thread *t,
                                 uint32_t from, uint32_t to)
{
    const struct hp_import_stretch begin = {
        .thread = t->info.id, .sample = (uint32_t)s->counts.stacks, .from = from, .to = to};
    return hp_stretches_begin(&s->stretches, &begin);
}

/* A branch of user code, oldest first; `before`: the target of the one before it, or HP_NO_ID. */
static enum hp_err take_branch(struct hp_import_stacks *s, struct hp_import_thread *t,
                               uint32_t view, const struct hp_perf_branch *branch, bool oldest,
                               uint32_t *before)
{
    uint32_t from, to, run = HP_NO_ID;
    bool joined = false;
    HP_TRY(spot_of(s, view, branch->to, &to));
    if (!branch->from) { /* from outside: as the export writes it */
        HP_TRY(begin(s, t, oldest && !t->n_tails && !t->edges.used && !t->orphans.used));
        *before = to;
        return begin_stretch(s, t, HP_NO_ID, to);
    }
    s->counts.branches++;
    s->counts.mispredicted += branch->mispredicted;
    s->counts.predicted += branch->predicted;
    HP_TRY(spot_of(s, view, branch->from, &from));
    if (oldest) {
        HP_TRY(join(s, t, branch->from, &joined));
        s->counts.joined += joined;
        if (joined)
            *before = t->tails[--t->n_tails].from;
        t->whole = t->whole && joined;
        if (!joined)
            t->n_tails = 0;
    }
    HP_TRY(*before == HP_NO_ID ? count(&t->orphans, from, to)
                               : count_run(s, t, *before, from, true, to, &run));
    *before = to;
    if (run != HP_NO_ID && !joined)
        add_cycles(s, &s->runs[run], branch->cycles);
    if (s->stretches.open && run != HP_NO_ID)
        return hp_stretches_extend(&s->stretches, run, to);
    return begin_stretch(s, t, from, to);
}

static bool is_kernel(uint64_t address)
{
    return address >> 63;
}

enum hp_err hp_stacks_add(struct hp_import_stacks *s, struct hp_import_thread *t,
                          struct hp_perf_sampled *sample)
{
    struct hp_perf_branch branches[HP_PERF_MAX_STACK];
    uint32_t view = hp_spaces_view(s->spaces, sample->pid, sample->time), before = HP_NO_ID;
    size_t n = 0;
    bool oldest = true;
    while (sample->n_branches) {
        struct hp_perf_branch branch = hp_perf_take_branch(sample);
        if (branch.wrong_path)
            s->counts.wrong_path++;
        else
            branches[n++] = branch;
    }
    if (!n || view == HP_NO_VIEW)
        return HP_OK;
    s->counts.stacks++;
    s->stretches.open = false;
    for (; n > 0; n--, oldest = false) {
        const struct hp_perf_branch *branch = &branches[n - 1];
        if (is_kernel(branch->from) || is_kernel(branch->to)) {
            s->counts.kernel++;
            before = HP_NO_ID;
            s->stretches.open = false;
            if (!is_kernel(branch->to)) { /* back from the kernel: what follows starts there */
                HP_TRY(spot_of(s, view, branch->to, &before));
                HP_TRY(begin_stretch(s, t, HP_NO_ID, before));
            }
            continue;
        }
        HP_TRY(take_branch(s, t, view, branch, oldest, &before));
    }
    if (before == HP_NO_ID || is_kernel(sample->ip))
        return HP_OK;
    uint32_t ip;
    HP_TRY(spot_of(s, view, sample->ip, &ip));
    t->tails[t->n_tails < HP_IMPORT_TAILS ? t->n_tails++ : HP_IMPORT_TAILS - 1] =
        (struct hp_import_tail){before, ip};
    return HP_OK;
}

/* --- Edges ------------------------------------------------------------------------------------ */

/* Counts by pairs of blocks. */
struct edges {
    struct hp_tally64 counts;   /* from << 32 | to */
    struct hp_map64 ends;       /* end_key() -> the block most often ended by that branch */
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

static uint64_t end_key(uint32_t module, uint64_t branch)
{
    return branch ^ hp_hash64(module);
}

/* NULL: no block was seen to end with that branch. */
static const struct hp_block *known_end(const struct hp_import_stacks *s, const struct edges *e,
                                        uint32_t module, uint64_t branch, uint32_t *block)
{
    *block = hp_map64_get(&e->ends, end_key(module, branch));
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
    return hp_map64_put(&e->ends, end_key(b->module, b->last), block);
}

static enum hp_err add_run(struct hp_import_stacks *s, struct edges *e, uint64_t key,
                           uint64_t times)
{
    const struct hp_import_run *run = &s->runs[key >> 32];
    uint32_t next = (uint32_t)key, to = HP_NO_ID;
    if (next != HP_NO_ID)
        HP_TRY(block_at(s, next, &to));
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
        HP_TRY(block_at(s, from, &block));
        if (block == HP_NO_ID || hp_code_block(s->code, block)->insns != 1)
            return HP_OK;
    }
    HP_TRY(block_at(s, next, &to));
    return add_edge(e, block, to, times);
}

enum hp_err hp_stacks_edges(struct hp_import_stacks *s, struct hp_import_thread *t,
                            struct hp_edge_count **edges, size_t *n)
{
    struct edges e HP_CLEANUP(fini_edges) = {0};
    while (t->n_tails)
        HP_TRY(end_tail(s, t));
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

/* --- Stretches -------------------------------------------------------------------------------- */

/* Which block ends with a branch: of several that do, any. */
static enum hp_err list_ends(struct hp_import_stacks *s)
{
    for (; s->n_ends < s->n_runs; s->n_ends++) {
        const struct hp_import_run *run = &s->runs[s->n_ends];
        if (!run->n)
            continue;
        uint32_t last = s->blocks[run->first + run->n - 1];
        const struct hp_block *b = hp_code_block(s->code, last);
        HP_TRY(hp_map64_put(&s->end_of, end_key(b->module, b->last), last));
    }
    return HP_OK;
}

/* A block that ends with the branch at a spot; HP_NO_ID: none is known. */
static enum hp_err find_end(struct hp_import_stacks *s, uint32_t spot, uint32_t *block)
{
    const struct hp_import_spot at = s->spots[spot];
    struct hp_import_place place;
    *block = HP_NO_ID;
    enum hp_err err = hp_spaces_find(s->spaces, s->code, at.view, at.address, &place);
    if (err != HP_OK)
        return err == HP_ERR_NOTFOUND ? HP_OK : err;
    *block = hp_map64_get(&s->end_of, end_key(place.module, at.address));
    if (*block == HP_MAP64_NONE) {
        HP_TRY(block_at(s, spot, block));
        if (*block == HP_NO_ID)
            return HP_OK;
    }
    const struct hp_block *b = hp_code_block(s->code, *block);
    if (b->module != place.module || b->last != at.address)
        *block = HP_NO_ID;
    return HP_OK;
}

enum hp_err hp_stacks_settle(struct hp_import_stacks *s)
{
    uint32_t block;
    HP_TRY(list_ends(s));
    for (size_t i = 0; i < s->stretches.n; i++) {
        const struct hp_import_stretch *stretch = &s->stretches.all[i];
        HP_TRY(block_at(s, stretch->to, &block));
        if (stretch->from != HP_NO_ID)
            HP_TRY(find_end(s, stretch->from, &block));
    }
    return HP_OK;
}

uint32_t hp_stacks_same_end(const struct hp_import_stacks *s, uint32_t block)
{
    const struct hp_block *b = hp_code_block(s->code, block), *same;
    uint32_t end = hp_map64_get(&s->end_of, end_key(b->module, b->last));
    if (end == HP_MAP64_NONE)
        return block;
    same = hp_code_block(s->code, end);
    return same->module == b->module && same->last == b->last ? end : block;
}

static enum hp_err put_block(struct hp_import_walk *walk, size_t *n, uint32_t block, bool taken)
{
    HP_TRY(hp_grow(&walk->blocks, &walk->cap_blocks, *n + 1, sizeof *walk->blocks));
    HP_TRY(hp_grow(&walk->taken, &walk->cap_taken, *n + 1, sizeof *walk->taken));
    walk->blocks[*n] = block;
    walk->taken[(*n)++] = taken;
    return HP_OK;
}

enum hp_err hp_stacks_walk(struct hp_import_stacks *s, const struct hp_import_stretch *stretch,
                           struct hp_import_walk *walk)
{
    size_t n = 0;
    uint32_t end = HP_NO_ID;
    HP_TRY(list_ends(s));
    if (stretch->from != HP_NO_ID)
        HP_TRY(find_end(s, stretch->from, &end));
    if (end != HP_NO_ID)
        HP_TRY(put_block(walk, &n, end, true));
    for (size_t i = 0; i < stretch->n; i++) {
        const struct hp_import_run *run = &s->runs[s->stretches.runs[stretch->first + i]];
        for (uint32_t k = 0; k < run->n; k++)
            HP_TRY(put_block(walk, &n, s->blocks[run->first + k], k + 1 == run->n));
    }
    HP_TRY(block_at(s, stretch->to, &end));
    if (end != HP_NO_ID)
        HP_TRY(put_block(walk, &n, end, false));
    walk->n = n ? n - 1 : 0;
    return HP_OK;
}

enum hp_err hp_stacks_cycles(const struct hp_import_stacks *s, struct hp_profile *profile)
{
    for (size_t i = 0; s->counts.timed && i < s->n_runs; i++) {
        const struct hp_import_run *run = &s->runs[i];
        struct hp_prun_cycles *out;
        if (!run->timed && !run->untimed)
            continue;
        HP_TRY(hp_profile_add_run_cycles(profile, &out));
        *out = (struct hp_prun_cycles){.first = s->blocks[run->first],
                                       .last = s->blocks[run->first + run->n - 1],
                                       .count = run->timed,
                                       .cycles = run->cycles,
                                       .squares = run->squares,
                                       .min = run->min,
                                       .max = run->max,
                                       .unknown = run->untimed};
    }
    return HP_OK;
}

static void show(struct hp_profiler *profiler, void *state, const struct hp_code *code,
                 const struct hp_import_walk *walk)
{
    const struct hp_event cut = {.kind = HP_EVENT_DISCONTINUITY};
    for (size_t i = 0; i < walk->n; i += HP_BATCH_MAX) {
        size_t rest = walk->n - i;
        const struct hp_batch batch = {.code = code,
                                       .table = hp_code_blocks(code),
                                       .blocks = walk->blocks + i,
                                       .taken = walk->taken + i,
                                       .n = rest < HP_BATCH_MAX ? rest : HP_BATCH_MAX};
        profiler->ops->batch(state, &batch);
    }
    profiler->ops->event(state, &cut);
}

enum hp_err hp_stacks_show(struct hp_import_stacks *s, const struct hp_import_thread *threads,
                           size_t n, struct hp_profiler *profiler)
{
    const struct hp_event end = {.kind = HP_EVENT_END, .exact = true};
    struct hp_import_walk walk HP_CLEANUP(hp_import_walk_fini) = {0};
    void **states HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new((void *)&states, n, sizeof *states));
    for (size_t i = 0; i < n; i++)
        HP_TRY(profiler->ops->start_thread(profiler, &threads[i].info, &states[i]));
    for (size_t i = 0; i < s->stretches.n; i++) {
        HP_TRY(hp_stacks_walk(s, &s->stretches.all[i], &walk));
        s->shown = s->stretches.all[i].sample;
        show(profiler, states[s->stretches.all[i].thread], s->code, &walk);
    }
    for (size_t i = 0; i < n; i++)
        profiler->ops->event(states[i], &end);
    return HP_OK;
}
