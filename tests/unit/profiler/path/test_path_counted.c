// SPDX-License-Identifier: MIT
/*
 * Paths counted by an engine (docs/counted-paths.md). The engine is simulated: it is shown what
 * random programs execute, with everything that can befall a thread, and does what translated code
 * would: it has prefixes and paths in a real arena, counters, a shadow stack, and falls back to
 * words where the rules say so, and at random. From what it writes the reader must find the same
 * paths, the same number of times, with the same totals, as from plain words.
 */
#include "engine/live_impl.h"
#include "profiler/path/paths.h"
#include "profiler/path/prefixes.h"
#include "profiler/pipeline.h"
#include "stream_fixture.h"
#include "support/path_engine.h"
#include "symbols/functions.h"

#include <inttypes.h>

#define BLOCKS       48
#define PER_FUNCTION 6
#define BLOCK_BYTES  16
#define BASE         0x10000u
#define MAX_DEPTH    64
#define MAX_SIGNALS  8
#define STEPS        1500
#define PROGRAMS     700

static uint64_t seed;

/* --- Functions, in place of symbols/functions.c ----------------------------------------------- */

struct hp_functions {
    const struct hp_code *code;
    uint32_t without; /* the functions whose bit is set here have no symbol */
};

static const struct hp_symbol some_symbol = {.linkage = "", .name = ""};
static const struct hp_function some_function = {.symbol = &some_symbol};

static uint32_t function_at(uint64_t address)
{
    return (uint32_t)(address - BASE) / (PER_FUNCTION * BLOCK_BYTES);
}

uint32_t hp_functions_of_block(struct hp_functions *f, uint32_t block)
{
    uint32_t function = function_at(hp_code_block(f->code, block)->start);
    return f->without >> function & 1 ? HP_NO_ID : function;
}

bool hp_functions_is_entry(struct hp_functions *f, uint32_t block)
{
    return (hp_code_block(f->code, block)->start - BASE) % (PER_FUNCTION * BLOCK_BYTES) == 0;
}

const struct hp_function *hp_functions_get(const struct hp_functions *functions, uint32_t id)
{
    (void)functions, (void)id;
    return &some_function;
}

/* What comes with these, and nobody calls here. */
uint32_t hp_functions_count(const struct hp_functions *functions)
{
    (void)functions;
    return 0;
}

uint32_t hp_functions_enter(struct hp_functions *functions, uint32_t block)
{
    return hp_functions_of_block(functions, block);
}

uint32_t hp_functions_settle(struct hp_functions *functions, uint32_t block)
{
    return hp_functions_of_block(functions, block);
}

uint32_t hp_functions_at(struct hp_functions *functions, uint32_t module, uint64_t offset)
{
    (void)functions, (void)module, (void)offset;
    return HP_NO_ID;
}

uint32_t hp_functions_final(const struct hp_functions *functions, uint32_t id)
{
    (void)functions;
    return id;
}

struct hp_symbols *hp_functions_symbols(struct hp_functions *functions, uint32_t module)
{
    (void)functions, (void)module;
    return NULL;
}

enum hp_line_detail hp_functions_lines_wanted(const struct hp_functions *functions)
{
    (void)functions;
    return HP_LINES_NONE;
}

void hp_functions_line(struct hp_functions *functions, uint32_t id, const char **file,
                       uint32_t *line)
{
    (void)functions, (void)id;
    *file = "";
    *line = 0;
}

/* --- A program -------------------------------------------------------------------------------- */

struct world {
    uint64_t random;
    struct hp_live *live;
    struct hp_arena *arena;
    struct hp_path_rules rules;
    struct hp_range_source ranges; /* for the engine */
    struct hp_arena_range list[BLOCKS / PER_FUNCTION];
    size_t n_list;
    uint32_t record; /* of the module */
    uint8_t bytes[BLOCKS * BLOCK_BYTES];
    uint32_t segments[BLOCKS]; /* of whole blocks */
    struct sim_piece *pieces;  /* by segment */
    size_t cap_pieces;
    uint32_t without; /* functions without symbols */
};

static bool chance(struct world *w, uint32_t percent)
{
    return random_below(&w->random, 100) < percent;
}

static enum hp_flow flow_at(const struct world *w, uint32_t place)
{
    const uint8_t *end = w->bytes + (place + 1) * BLOCK_BYTES;
    if (end[-6] == 0x0f)
        return HP_FLOW_COND;
    switch (end[-5]) {
    case 0xe9: return HP_FLOW_JUMP;
    case 0xe8: return HP_FLOW_CALL;
    }
    switch (end[-2] << 8 | end[-1]) {
    case 0xffd0: return HP_FLOW_CALL_IND;
    case 0xffe0: return HP_FLOW_JUMP_IND;
    case 0x0f05: return HP_FLOW_SYSCALL;
    case 0x90cc: return HP_FLOW_TRAP;
    default: return HP_FLOW_RETURN;
    }
}

/* Every block takes 16 bytes: instructions of one byte, and one that ends it. */
static void assemble(struct world *w, uint32_t place)
{
    static const char *const ends[] = {"\x0f\x84", "\x0f\x84", "\x0f\x84", "\x0f\x85", "\x0f\x85",
                                       "\xe9",     "\xe8",     "\xe8",     "\xff\xd0", "\xc3",
                                       "\xc3",     "\xff\xe0", "\x0f\x05", "\xcc"};
    const char *end = ends[random_below(&w->random, sizeof ends / sizeof ends[0])];
    uint32_t near = place / PER_FUNCTION * PER_FUNCTION + random_below(&w->random, PER_FUNCTION);
    uint32_t to = end[0] == '\xe8' && !chance(w, 10)
                      ? random_below(&w->random, BLOCKS / PER_FUNCTION) * PER_FUNCTION
                      : near;
    bool direct = end[0] == '\xe9' || end[0] == '\xe8' || end[1] == '\x84' || end[1] == '\x85';
    size_t size = strlen(end), all = size + (direct ? 4 : 0);
    uint8_t *bytes = w->bytes + place * BLOCK_BYTES;
    memset(bytes, 0x90, BLOCK_BYTES);
    memcpy(bytes + BLOCK_BYTES - all, end, size);
    int32_t displacement = ((int32_t)to - (int32_t)place - 1) * BLOCK_BYTES;
    if (direct)
        memcpy(bytes + BLOCK_BYTES - 4, &displacement, 4);
}

static struct sim_piece whole(const struct world *w, uint32_t place)
{
    uint64_t start = BASE + place * BLOCK_BYTES;
    struct sim_piece p = {.start = start,
                          .exit = {.end = start + BLOCK_BYTES, .flow = (uint8_t)flow_at(w, place)}};
    uint32_t size = 1;
    int32_t displacement;
    switch ((enum hp_flow)p.exit.flow) {
    case HP_FLOW_COND: size = 6; break;
    case HP_FLOW_JUMP:
    case HP_FLOW_CALL: size = 5; break;
    case HP_FLOW_CALL_IND:
    case HP_FLOW_JUMP_IND:
    case HP_FLOW_SYSCALL: size = 2; break;
    default: break;
    }
    if (size >= 5) {
        memcpy(&displacement, w->bytes + (place + 1) * BLOCK_BYTES - 4, 4);
        p.exit.direct = p.exit.end + (uint64_t)(int64_t)displacement;
    }
    p.exit.last = p.exit.end - size;
    p.insns = BLOCK_BYTES - size + 1;
    return p;
}

/* The segment of a block without its first `skip` instructions. */
static uint32_t segment_of(struct world *w, uint32_t place, uint32_t skip)
{
    uint32_t at = place * BLOCK_BYTES + skip;
    struct hp_arena_segment segment = {
        .start = BASE + at, .module = w->record, .size = BLOCK_BYTES - skip};
    uint32_t id = hp_arena_add_segment(w->arena, &segment, w->bytes + at);
    assert_true(id);
    assert_int_equal(hp_grow(&w->pieces, &w->cap_pieces, (size_t)id + 1, sizeof *w->pieces), HP_OK);
    struct sim_piece piece = whole(w, place);
    piece.start += skip;
    piece.insns -= skip;
    piece.segment = id;
    piece.module = w->record;
    w->pieces[id] = piece;
    return id;
}

static enum hp_err find_ranges(struct hp_range_source *source, uint32_t module,
                               const struct hp_arena_range **ranges, size_t *n)
{
    struct world *w = (struct world *)(void *)((char *)source - offsetof(struct world, ranges));
    (void)module;
    *ranges = w->list;
    *n = w->n_list;
    return HP_OK;
}

static void world_init(struct world *w, const struct hp_path_rules *rules, uint64_t random)
{
    struct hp_live_options options = {.mode = HP_RECORD_PATHS, .paths = *rules};
    struct hp_arena_record record = {
        .low = BASE, .high = BASE + BLOCKS * BLOCK_BYTES, .length = 6, .is_module = 1};
    *w = (struct world){.random = random, .rules = *rules, .ranges = {.ranges = find_ranges}};
    assert_int_equal(hp_live_new(&options, &w->live), HP_OK);
    w->arena = w->live->arena;
    w->record = hp_arena_add_record(w->arena, &record, "[anon]");
    hp_live_set_ranges(w->live, &w->ranges);
    if (chance(w, 30))
        w->without = random_next(&w->random);
    for (uint32_t i = 0; i < BLOCKS / PER_FUNCTION; i++)
        if (!(w->without >> i & 1)) {
            uint64_t low = BASE + i * PER_FUNCTION * BLOCK_BYTES;
            w->list[w->n_list++] =
                (struct hp_arena_range){low, low + PER_FUNCTION * BLOCK_BYTES, low};
        }
    for (uint32_t i = 0; i < BLOCKS; i++)
        assemble(w, i);
    for (uint32_t i = 0; i < BLOCKS; i++)
        w->segments[i] = segment_of(w, i, 0);
}

static void world_fini(struct world *w)
{
    hp_live_free(w->live);
    free(w->pieces);
}

/* --- An execution: plain words ---------------------------------------------------------------- */

/* Where a thread is, and where it will return to. */
struct place {
    uint32_t at, skip; /* instructions of the block that were run */
    uint32_t returns[MAX_DEPTH];
    size_t depth;
};

struct walk {
    struct world *w;
    struct sim_words *out;
    struct place now;
    struct place interrupted[MAX_SIGNALS];
    size_t signals;
};

static uint32_t any_place(struct walk *walk)
{
    return random_below(&walk->w->random, BLOCKS);
}

static uint32_t any_entry(struct walk *walk)
{
    return random_below(&walk->w->random, BLOCKS / PER_FUNCTION) * PER_FUNCTION;
}

static void call(struct walk *walk, uint32_t to)
{
    struct place *now = &walk->now;
    if (now->depth == MAX_DEPTH)
        now->depth = 0;
    now->returns[now->depth++] = (now->at + 1) % BLOCKS;
    now->at = to;
}

/* Mostly to where the call came from; now and then further down, or anywhere. */
static void do_return(struct walk *walk)
{
    struct place *now = &walk->now;
    if (now->depth == 0 || chance(walk->w, 2)) {
        now->at = any_place(walk);
        return;
    }
    if (chance(walk->w, 5))
        now->depth = 1 + random_below(&walk->w->random, (uint32_t)now->depth);
    now->at = now->returns[--now->depth];
}

static void jump(struct walk *walk)
{
    uint32_t first = walk->now.at / PER_FUNCTION * PER_FUNCTION;
    if (chance(walk->w, 60))
        walk->now.at = first + random_below(&walk->w->random, PER_FUNCTION);
    else
        walk->now.at = chance(walk->w, 50) ? any_entry(walk) : any_place(walk);
}

/* The block has ended: goes to the next. */
static void leave_block(struct walk *walk)
{
    struct sim_piece block = whole(walk->w, walk->now.at);
    uint32_t next = (walk->now.at + 1) % BLOCKS;
    uint32_t target = (uint32_t)(block.exit.direct - BASE) / BLOCK_BYTES % BLOCKS;
    walk->now.skip = 0;
    switch ((enum hp_flow)block.exit.flow) {
    case HP_FLOW_COND: walk->now.at = chance(walk->w, 50) ? target : next; break;
    case HP_FLOW_JUMP: walk->now.at = target; break;
    case HP_FLOW_CALL: call(walk, target); break;
    case HP_FLOW_CALL_IND: call(walk, chance(walk->w, 95) ? any_entry(walk) : next); break;
    case HP_FLOW_RETURN: do_return(walk); break;
    case HP_FLOW_JUMP_IND: jump(walk); break;
    default: walk->now.at = next; break;
    }
}

static void run_block(struct walk *walk)
{
    sim_put(walk->out, segment_of(walk->w, walk->now.at, walk->now.skip));
    leave_block(walk);
}

/* Only a part of the block is run. */
static void cut_block(struct walk *walk)
{
    struct sim_piece block = whole(walk->w, walk->now.at);
    uint32_t left = block.insns - walk->now.skip, run = random_below(&walk->w->random, left);
    sim_put(walk->out, segment_of(walk->w, walk->now.at, walk->now.skip));
    sim_put_event(walk->out, HP_WORD_CUT, run, NULL);
    walk->now.skip += run;
}

static void signal_comes(struct walk *walk)
{
    if (walk->signals == MAX_SIGNALS)
        return;
    sim_put_event(walk->out, HP_WORD_SIGNAL, 10, NULL);
    walk->interrupted[walk->signals++] = walk->now;
    walk->now = (struct place){.at = any_entry(walk)};
}

static void handler_ends(struct walk *walk)
{
    if (!walk->signals) {
        if (chance(walk->w, 20))
            sim_put_event(walk->out, HP_WORD_SIGRETURN, 0, NULL);
        return;
    }
    sim_put_event(walk->out, HP_WORD_SIGRETURN, 0, NULL);
    walk->now = walk->interrupted[--walk->signals];
    if (chance(walk->w, 10)) { /* the handler has changed the context */
        walk->now.at = any_place(walk);
        walk->now.skip = 0;
    }
}

/* Leaves a handler by siglongjmp: the stack is that of the interrupted code. */
static void handler_jumps(struct walk *walk)
{
    if (!walk->signals)
        return;
    uint32_t at = walk->now.at;
    walk->now = walk->interrupted[--walk->signals];
    if (walk->now.depth)
        walk->now.depth = random_below(&walk->w->random, (uint32_t)walk->now.depth + 1);
    walk->now.at = at;
    walk->now.skip = 0;
}

static void befall(struct walk *walk)
{
    const uint32_t nothing[2] = {0, 0}, child = 7;
    switch (random_below(&walk->w->random, 12)) {
    case 0:
    case 1: cut_block(walk); break;
    case 2:
        cut_block(walk);
        signal_comes(walk);
        break;
    case 3:
    case 4: signal_comes(walk); break;
    case 5:
    case 6:
    case 7: handler_ends(walk); break;
    case 8: handler_jumps(walk); break;
    case 9: sim_put_event(walk->out, HP_WORD_FORK, 0, &child); break;
    case 10:
        sim_put_event(walk->out, HP_WORD_LOST, HP_LOST_ABORTED, nothing);
        walk->now = (struct place){.at = any_place(walk)};
        break;
    default: /* a transfer that nothing explains */
        walk->now.at = any_place(walk);
        walk->now.skip = 0;
        break;
    }
}

static void take_walk(struct world *w, struct sim_words *out)
{
    struct walk walk = {.w = w, .out = out};
    uint32_t often = (uint32_t[]){0, 1, 2, 10}[random_below(&w->random, 4)];
    walk.now.at = any_place(&walk);
    for (size_t i = 0; i < STEPS; i++) {
        run_block(&walk);
        if (chance(w, often))
            befall(&walk);
    }
    if (chance(w, 50))
        cut_block(&walk);
}

/* --- The engine ------------------------------------------------------------------------------- */

/* What all engines did, and all readers found. */
static struct {
    struct sim_engine did;
    struct hp_detector_stats stats;
} seen;

/* The reader looks at what the engine asks for now and then: `answers` percent. */
static void run_engine(struct sim_engine *e, struct world *w, uint32_t answers,
                       const struct sim_words *plain)
{
    for (size_t i = 0; i < plain->n; i++) {
        if (random_below(&e->random, 100) < answers)
            hp_live_answer(w->live);
        if (plain->words[i] & HP_WORD_EVENT) {
            sim_engine_event(e, plain->words + i);
            i += (size_t)hp_word_payload(plain->words[i]);
        } else {
            sim_engine_run(e, &w->pieces[plain->words[i]]);
        }
    }
}

/* --- Two readers ------------------------------------------------------------------------------ */

struct reading {
    struct hp_segment_source source; /* first; of plain words */
    const struct world *world;
    struct hp_code *code;
    struct hp_functions functions;
    struct hp_profiler *profiler;
    struct hp_pipeline *pipeline;
};

static enum hp_err load(struct hp_segment_source *source, uint32_t id)
{
    struct reading *r = (struct reading *)source;
    const struct sim_piece *piece = &r->world->pieces[id];
    struct hp_module module = {.path = "[anon]", .build_id = "", .high = UINT64_MAX};
    struct hp_segment segment = {.start = piece->start,
                                 .size = (uint32_t)(piece->exit.end - piece->start),
                                 .bytes = r->world->bytes + (piece->start - BASE)};
    HP_TRY(hp_code_add_module(r->code, &module, &segment.module));
    return hp_code_add_segment(r->code, id, &segment);
}

static void reading_init(struct reading *r, struct world *w, const struct hp_ppcr *ppcr,
                         bool counted)
{
    struct hp_region region = {0};
    struct hp_paths_config config = {.ppcr = *ppcr};
    *r = (struct reading){.source = {.load = load}, .world = w};
    assert_int_equal(hp_code_new(HP_ARCH_X86_64, &r->code), HP_OK);
    r->functions = (struct hp_functions){.code = r->code, .without = w->without};
    assert_int_equal(hp_paths_new(r->code, &r->functions, &config, &r->profiler), HP_OK);
    assert_int_equal(hp_pipeline_new(r->code,
                                     counted ? hp_live_source(w->live, r->code) : &r->source, NULL,
                                     &region, &r->pipeline),
                     HP_OK);
    assert_int_equal(hp_pipeline_add(r->pipeline, r->profiler), HP_OK);
    if (counted) {
        assert_int_equal(hp_paths_expect_counts(r->profiler, hp_live_paths(w->live)), HP_OK);
        assert_int_equal(hp_pipeline_expect_paths(r->pipeline), HP_OK);
    }
}

static void reading_fini(struct reading *r)
{
    hp_pipeline_free(r->pipeline);
    r->profiler->ops->free(r->profiler);
    hp_code_free(r->code);
}

/* In pieces of any size; `counters`: of the engine's `n` paths. */
static void read_all(struct reading *r, const struct sim_words *words, const uint64_t *counters,
                     size_t n, enum hp_end_reason reason, uint64_t *random)
{
    struct hp_consumer *consumer = hp_pipeline_consumer(r->pipeline);
    assert_int_equal(consumer->thread(consumer, &(struct hp_thread){.pid = 1, .tid = 1}), HP_OK);
    for (size_t i = 0, some; i < words->n; i += some) {
        some = 1 + random_below(random, 300);
        some = some < words->n - i ? some : words->n - i;
        assert_int_equal(consumer->words(consumer, 0, words->words + i, some), HP_OK);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct hp_count count = {.segment = i, .count = counters[i]};
        if (count.count)
            assert_int_equal(consumer->counts(consumer, 0, &count, 1), HP_OK);
    }
    assert_int_equal(consumer->end(consumer, 0, reason), HP_OK);
}

static int by_path(const void *a, const void *b)
{
    const struct hp_path *x = &((const struct hp_path_count *)a)->path;
    const struct hp_path *y = &((const struct hp_path_count *)b)->path;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    return x->outcomes < y->outcomes ? -1 : x->outcomes > y->outcomes;
}

static uint64_t same_paths(const struct reading *plain, const struct reading *counted)
{
    struct hp_path_count *a, *b;
    size_t n, m;
    uint64_t insns = 0;
    assert_int_equal(hp_paths_all(plain->profiler, &a, &n), HP_OK);
    assert_int_equal(hp_paths_all(counted->profiler, &b, &m), HP_OK);
    assert_int_equal(n, m);
    qsort(a, n, sizeof *a, by_path);
    qsort(b, m, sizeof *b, by_path);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(by_path(&a[i], &b[i]), 0);
        assert_int_equal(a[i].count, b[i].count);
        assert_int_equal(a[i].insns, b[i].insns);
        assert_int_equal(a[i].events, b[i].events);
        assert_int_equal(hp_code_block(plain->code, a[i].path.block)->end,
                         hp_code_block(counted->code, b[i].path.block)->end);
        insns += a[i].insns;
    }
    free(a);
    free(b);
    return insns;
}

#define SAME(member)                                                                               \
    (assert_int_equal(a->member, b->member), (void)(seen.stats.member += a->member))

static void same_stats(const struct hp_detector_stats *a, const struct hp_detector_stats *b)
{
    SAME(branches);
    SAME(blocks);
    SAME(instructions);
    SAME(paths);
    SAME(splits);
    SAME(dropped);
    SAME(underflows);
    SAME(repairs);
    SAME(repaired);
    SAME(purges);
    SAME(unfinished);
    SAME(unfinished_insns);
    SAME(saturated);
}

/* The code map has the same blocks, in any order. */
static void same_blocks(const struct hp_code *a, const struct hp_code *b)
{
    assert_int_equal(hp_code_n_blocks(a), hp_code_n_blocks(b));
    for (uint32_t i = 0; i < hp_code_n_blocks(a); i++) {
        const struct hp_block *block = hp_code_block(a, i);
        bool found = false;
        for (uint32_t k = 0; k < hp_code_n_blocks(b) && !found; k++)
            found = hp_code_block(b, k)->start == block->start &&
                    hp_code_block(b, k)->end == block->end;
        assert_true(found);
    }
}

static void compare(struct reading *plain, struct reading *counted)
{
    const struct hp_detector_stats *a = hp_paths_thread(plain->profiler, 0).stats;
    const struct hp_detector_stats *b = hp_paths_thread(counted->profiler, 0).stats;
    const struct hp_cursor_stats *s = &hp_pipeline_stats(plain->pipeline)->cursor;
    const struct hp_cursor_stats *t = &hp_pipeline_stats(counted->pipeline)->cursor;
    uint64_t insns = same_paths(plain, counted);
    assert_int_equal(insns + a->unfinished_insns, a->instructions);
    same_stats(a, b);
    same_blocks(plain->code, counted->code);
    assert_int_equal(s->losses, t->losses);
    assert_int_equal(s->signals, t->signals);
    assert_int_equal(s->discontinuities, t->discontinuities);
    assert_int_equal(s->cuts, t->cuts);
}

/* --- Random programs -------------------------------------------------------------------------- */

static struct hp_ppcr random_ppcr(uint64_t *random)
{
    static const char *const texts[] = {"bl",
                                        "bl",
                                        "extended-loop:1",
                                        "extended-loop:3",
                                        "bl,direction=static",
                                        "extended-loop:2,direction=static"};
    static const uint32_t lengths[] = {1, 2, 5, 32, 32, 64};
    struct hp_ppcr p;
    assert_int_equal(hp_ppcr_parse(texts[random_below(random, 6)], &p), HP_OK);
    p.max_length = lengths[random_below(random, 6)];
    p.stack_entries = 1 + random_below(random, 40);
    p.metric = random_below(random, 2) ? HP_METRIC_EXECUTIONS : HP_METRIC_INSTRUCTIONS;
    p.counter_bits = (uint32_t[]){4, 8, 32}[random_below(random, 3)];
    return p;
}

static struct sim_engine random_engine(const struct world *w, struct sim_words *out)
{
    struct sim_engine e = {
        .arena = w->arena, .rules = w->rules, .out = out, .random = w->random ^ 0x5bd1e995};
    e.room = (size_t[]){0, 1, 4, MAX_DEPTH, MAX_DEPTH}[random_below(&e.random, 5)];
    e.ids = (uint32_t[]){100, 1000, UINT32_MAX, UINT32_MAX, UINT32_MAX}[random_below(&e.random, 5)];
    e.hands_over = (uint32_t[]){0, 0, 0, 1, 10}[random_below(&e.random, 5)];
    e.counts = (uint32_t[]){10, 50, 100, 100}[random_below(&e.random, 4)];
    return e;
}

/* A program, what it executed, and both readers. */
struct setup {
    struct world w;
    struct sim_words plain, words;
    struct reading streamed, counted;
    struct sim_engine engine;
};

static void setup_init(struct setup *t)
{
    uint64_t random = seed * 0x9e3779b97f4a7c15u;
    struct hp_ppcr ppcr = random_ppcr(&random);
    struct hp_path_rules rules;
    *t = (struct setup){0};
    assert_true(hp_path_can_count(&ppcr, &rules));
    world_init(&t->w, &rules, random);
    take_walk(&t->w, &t->plain);
    reading_init(&t->streamed, &t->w, &ppcr, false);
    reading_init(&t->counted, &t->w, &ppcr, true);
    t->engine = random_engine(&t->w, &t->words);
    uint32_t answers = (uint32_t[]){0, 1, 100}[random_below(&t->engine.random, 3)];
    run_engine(&t->engine, &t->w, answers, &t->plain);
}

static void setup_read(struct setup *t, enum hp_end_reason reason)
{
    read_all(&t->streamed, &t->plain, NULL, 0, reason, &t->w.random);
    read_all(&t->counted, &t->words, t->engine.counters, t->engine.cap_counters, reason,
             &t->w.random);
}

static void setup_fini(struct setup *t)
{
    reading_fini(&t->streamed);
    reading_fini(&t->counted);
    seen.did.counted += t->engine.counted;
    seen.did.begun += t->engine.begun;
    seen.did.handed += t->engine.handed;
    seen.did.frames += t->engine.frames;
    seen.did.returned += t->engine.returned;
    seen.did.landed += t->engine.landed;
    seen.did.spared += t->engine.spared;
    sim_engine_fini(&t->engine);
    free(t->plain.words);
    free(t->words.words);
    world_fini(&t->w);
}

static void run_program(void)
{
    struct setup t;
    setup_init(&t);
    enum hp_end_reason reason = (enum hp_end_reason)random_below(&t.w.random, HP_END_SIGNAL + 1);
    sim_engine_hand_over(&t.engine);
    if (reason == HP_END_SIGNAL) { /* the only end that is a word */
        sim_put_event(&t.plain, HP_WORD_END, reason, NULL);
        sim_put_event(&t.words, HP_WORD_END, reason, NULL);
    }
    setup_read(&t, reason);
    compare(&t.streamed, &t.counted);
    setup_fini(&t);
}

/* Everything must have happened, and most of it counted: else little is shown. */
static void random_programs(void **state)
{
    (void)state;
    for (seed = 1; seed <= PROGRAMS; seed++)
        run_program();
    seed = 0;
    assert_in_range(seen.did.counted, seen.stats.paths / 3, seen.stats.paths);
    assert_in_range(seen.did.begun, 10000, UINT64_MAX);
    assert_in_range(seen.did.handed, 10000, UINT64_MAX);
    assert_in_range(seen.did.frames, 10000, UINT64_MAX);
    assert_in_range(seen.did.returned, 5000, UINT64_MAX);
    assert_in_range(seen.did.landed, 1000, UINT64_MAX);
    assert_in_range(seen.did.spared, 5000, UINT64_MAX);
    assert_in_range(seen.stats.splits, 10000, UINT64_MAX);
    assert_in_range(seen.stats.underflows, 100, UINT64_MAX);
    assert_in_range(seen.stats.repairs, 1000, UINT64_MAX);
    assert_in_range(seen.stats.purges, 1000, UINT64_MAX);
    assert_in_range(seen.stats.saturated, 1000, UINT64_MAX);
}

/* --- Threads and engines that do not do as they should ---------------------------------------- */

static uint64_t losses(const struct reading *r, enum hp_lost_reason reason)
{
    return hp_pipeline_stats(r->pipeline)->losses_by_reason[reason];
}

/* A thread that is killed while it counts has counted its finished paths. Those under way are a
 * loss; not if the reader has left. */
static void killed_while_counting(void **state)
{
    uint32_t n = 0;
    (void)state;
    for (seed = 1; seed <= 120; seed++) {
        struct setup t;
        setup_init(&t);
        bool left = seed % 4 == 0;
        setup_read(&t, left ? HP_END_DETACHED : HP_END_KILLED);
        same_paths(&t.streamed, &t.counted);
        assert_int_equal(losses(&t.counted, HP_LOST_UNFINISHED), t.engine.counting && !left);
        /* The block that it is in is not in the words. */
        uint64_t cuts = hp_pipeline_stats(t.streamed.pipeline)->cursor.cuts;
        cuts -= t.engine.counting && !left && t.engine.last.exit.flow != HP_FLOW_SYSCALL;
        assert_int_equal(hp_pipeline_stats(t.counted.pipeline)->cursor.cuts, cuts);
        n += t.engine.counting;
        setup_fini(&t);
    }
    seed = 0;
    assert_in_range(n, 10, 120);
}

/* So are the paths under way when words come out of turn, and the thread goes on after that. */
static void words_while_counting(void **state)
{
    uint32_t n = 0;
    (void)state;
    for (seed = 1; seed <= 120; seed++) {
        struct setup t;
        setup_init(&t);
        if (t.engine.counting) {
            sim_put(&t.words, t.w.segments[1]);
            sim_put_event(&t.words, HP_WORD_END, HP_END_SIGNAL, NULL);
            setup_read(&t, HP_END_KILLED);
            same_paths(&t.streamed, &t.counted);
            assert_int_equal(losses(&t.counted, HP_LOST_UNFINISHED), 1);
            n++;
        }
        setup_fini(&t);
    }
    seed = 0;
    assert_in_range(n, 10, 120);
}

/* What an engine says that cannot be: there is no profile. */
static void misleading_engines(void **state)
{
    uint32_t n = 0;
    (void)state;
    for (seed = 1; seed <= 60; seed++) {
        struct setup t;
        setup_init(&t);
        t.engine.ids = UINT32_MAX;
        struct sim_node from = t.engine.node;
        const struct sim_piece *last = &t.w.pieces[from.segment];
        uint32_t other = t.w.segments[(last->start - BASE) / BLOCK_BYTES == 0];
        bool follows = sim_leads(last, t.w.pieces[other].start);
        uint32_t wrong = sim_engine_prefix(&t.engine, &from, other, HP_PREFIX_BRANCHED, from.start);
        if (t.engine.counting && !follows) {
            const uint32_t not_there[] = {0xfffff, other}, cannot[] = {wrong, other},
                           not_its[] = {from.prefix, other}, no_call[] = {from.prefix, 1, 0};
            switch (n++ % 4) {
            case 0: sim_put_event(&t.words, HP_WORD_HANDED, 0, not_there); break;
            case 1: sim_put_event(&t.words, HP_WORD_HANDED, 0, cannot); break;
            case 2: sim_put_event(&t.words, HP_WORD_HANDED, 0, not_its); break;
            default:
                if (last->exit.flow == HP_FLOW_CALL || last->exit.flow == HP_FLOW_CALL_IND)
                    sim_put_event(&t.words, HP_WORD_HANDED, 0, cannot);
                else
                    sim_put_event(&t.words, HP_WORD_FRAME, 0, no_call);
                break;
            }
            setup_read(&t, HP_END_KILLED);
            struct hp_profiler *profiler = t.counted.profiler;
            assert_int_equal(profiler->ops->finish(profiler, NULL), HP_ERR_FORMAT);
            assert_non_null(strstr(hp_error_text(), "cannot be"));
        }
        setup_fini(&t);
    }
    seed = 0;
    assert_in_range(n, 8, 60);
}

/* A path that does not end there. */
static void a_path_without_an_end(void **state)
{
    (void)state;
    struct setup t;
    seed = 1;
    setup_init(&t);
    uint32_t place = 0;
    while (flow_at(&t.w, place) != HP_FLOW_CALL)
        place++;
    t.engine.ids = UINT32_MAX;
    assert_true(sim_engine_start(&t.engine, &t.w.pieces[t.w.segments[place]]));
    assert_true(sim_engine_count(&t.engine, true));
    setup_read(&t, HP_END_DETACHED);
    struct hp_profiler *profiler = t.counted.profiler;
    assert_int_equal(profiler->ops->finish(profiler, NULL), HP_ERR_FORMAT);
    setup_fini(&t);
    seed = 0;
}

/* Which paths can be counted. */
static void control_registers(void **state)
{
    static const struct {
        const char *text;
        bool can;
    } cases[] = {
        {"bl", true},
        {"bl,length=64,stack=8", true},
        {"bl,direction=static", true},
        {"bl,metric=instructions", true},
        {"extended-loop:4", true},
        {"extended-call:1", false},
        {"wpp", false},
        {"forward", false},
        {"bl,overflow=drop-oldest", false},
        {"bl,metric=l2", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hp_ppcr ppcr;
        struct hp_path_rules rules;
        assert_int_equal(hp_ppcr_parse(cases[i].text, &ppcr), HP_OK);
        assert_int_equal(hp_path_can_count(&ppcr, &rules), cases[i].can);
    }
}

static int say_seed(void **state)
{
    (void)state;
    if (seed)
        print_error("program %" PRIu64 "\n", seed);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(random_programs, say_seed),
        cmocka_unit_test_teardown(killed_while_counting, say_seed),
        cmocka_unit_test_teardown(words_while_counting, say_seed),
        cmocka_unit_test_teardown(misleading_engines, say_seed),
        cmocka_unit_test_teardown(a_path_without_an_end, say_seed),
        cmocka_unit_test(control_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
