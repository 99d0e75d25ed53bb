// SPDX-License-Identifier: MIT
/*
 * The detector of paths against the slow reference: random programs, random walks through them with
 * everything that can befall a thread (signals, longjmp, losses), random control registers. Both
 * must find the same paths in the same order and count the same; and no instruction may get lost on
 * the way.
 */
#include "hotpath/code.h"
#include "stream_fixture.h"
#include "support/path_reference.h"

#include <inttypes.h>

#define BLOCKS       48
#define PER_FUNCTION 6
#define STEPS        3000

/* --- A program -------------------------------------------------------------------------------- */

struct world {
    struct hp_frame_source frames; /* first */
    struct hp_code *code;
    uint32_t module;
    uint32_t ids[BLOCKS]; /* block of the code map by place */
    uint64_t random;
    unsigned without_symbols; /* the functions whose bit is set here */
};

static uint32_t place_of(const struct world *w, uint32_t id)
{
    for (uint32_t i = 0; i < BLOCKS; i++)
        if (w->ids[i] == id)
            return i;
    fail();
    return 0;
}

static uint32_t function_of(struct hp_frame_source *source, uint32_t block)
{
    struct world *w = (struct world *)source;
    uint32_t function = place_of(w, block) / PER_FUNCTION;
    return w->without_symbols >> function & 1 ? HP_NO_ID : function;
}

static bool is_entry(struct hp_frame_source *source, uint32_t block)
{
    return place_of((struct world *)source, block) % PER_FUNCTION == 0;
}

static size_t add_displacement(uint8_t *bytes, size_t at, uint64_t start, uint64_t target)
{
    uint32_t displacement = (uint32_t)(target - (start + at + 4));
    memcpy(bytes + at, &displacement, 4);
    return at + 4;
}

/* Every block takes 16 bytes, so that the next one starts where it falls through to. */
static size_t assemble(struct world *w, uint8_t *bytes, uint64_t start, uint64_t target)
{
    static const char *const ends[] = {"\x0f\x84", "\x0f\x84", "\x0f\x85", "\x0f\x85",
                                       "\xe9",     "\xe8",     "\xe8",     "\xff\xd0",
                                       "\xc3",     "\xc3",     "\xff\xe0", "\x0f\x05"};
    const char *end = ends[random_below(&w->random, sizeof ends / sizeof ends[0])];
    bool relative = end[0] == '\xe9' || end[0] == '\xe8' || end[1] == '\x84' || end[1] == '\x85';
    size_t size = strlen(end) + (relative ? 4 : 0), fill = 16 - size;
    size_t at = random_below(&w->random, 3) == 0 ? 0 : fill;
    memset(bytes, 0x90, fill); /* nop */
    if (at == 0) {             /* the same in two instructions */
        memcpy(bytes, "\x0f\x1f\x84\x00\x00\x00\x00\x00", 8);
        memset(bytes + 8, 0x90, fill - 8);
    }
    memcpy(bytes + fill, end, strlen(end));
    if (relative)
        add_displacement(bytes, fill + strlen(end), start, target);
    return 16;
}

static void world_init(struct world *w, uint64_t seed)
{
    struct hp_module module = {.path = "[anon]", .build_id = "", .high = UINT64_MAX};
    *w = (struct world){.frames = {.function_of = function_of, .is_entry = is_entry},
                        .random = seed};
    w->without_symbols = random_below(&w->random, 3) ? 0 : random_next(&w->random);
    assert_int_equal(hp_code_new(HP_ARCH_X86_64, &w->code), HP_OK);
    assert_int_equal(hp_code_add_module(w->code, &module, &w->module), HP_OK);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        uint8_t bytes[16];
        uint64_t start = 0x1000 + 16 * i;
        uint32_t near = i / PER_FUNCTION * PER_FUNCTION + random_below(&w->random, PER_FUNCTION);
        struct hp_segment segment = {.start = start, .module = w->module, .bytes = bytes};
        segment.size = (uint32_t)assemble(w, bytes, start, 0x1000 + 16 * near);
        assert_int_equal(hp_code_add_segment(w->code, i + 1, &segment), HP_OK);
        for (uint32_t b = 0; b < hp_code_n_blocks(w->code); b++)
            if (hp_code_block(w->code, b)->start == start)
                w->ids[i] = b;
    }
}

/* --- A walk ----------------------------------------------------------------------------------- */

struct walk {
    struct world *w;
    uint32_t at; /* place */
    uint32_t returns[64];
    size_t depth;
};

static uint32_t any_place(struct walk *walk)
{
    return random_below(&walk->w->random, BLOCKS);
}

static uint32_t any_entry(struct walk *walk)
{
    return random_below(&walk->w->random, BLOCKS / PER_FUNCTION) * PER_FUNCTION;
}

static uint32_t call(struct walk *walk, uint32_t to)
{
    if (walk->depth == 64)
        walk->depth = 0;
    walk->returns[walk->depth++] = (walk->at + 1) % BLOCKS;
    return to;
}

/* Mostly to where the call came from; now and then to an earlier one's, or anywhere. */
static uint32_t do_return(struct walk *walk)
{
    uint64_t *random = &walk->w->random;
    if (walk->depth == 0 || random_below(random, 40) == 0)
        return any_place(walk);
    if (random_below(random, 20) == 0)
        walk->depth = 1 + random_below(random, (uint32_t)walk->depth);
    return walk->returns[--walk->depth];
}

/* Goes to the next place; says whether the branch was taken. */
static bool walk_on(struct walk *walk)
{
    const struct hp_block *b = hp_code_block(walk->w->code, walk->w->ids[walk->at]);
    uint64_t *random = &walk->w->random;
    uint32_t next = (walk->at + 1) % BLOCKS;
    uint32_t target = (uint32_t)((b->target - 0x1000) / 16) % BLOCKS;
    switch ((enum hp_flow)b->flow) {
    case HP_FLOW_COND: walk->at = random_below(random, 2) ? target : next; break;
    case HP_FLOW_JUMP: walk->at = target; break;
    case HP_FLOW_CALL: walk->at = call(walk, target); break;
    case HP_FLOW_CALL_IND: walk->at = call(walk, any_entry(walk)); break;
    case HP_FLOW_RETURN: walk->at = do_return(walk); break;
    case HP_FLOW_JUMP_IND:
        walk->at = random_below(random, 4)
                       ? walk->at / PER_FUNCTION * PER_FUNCTION + random_below(random, PER_FUNCTION)
                       : any_place(walk);
        break;
    default: walk->at = next; break;
    }
    bool may_fall = b->flow == HP_FLOW_COND || b->flow == HP_FLOW_SYSCALL;
    return !(may_fall && walk->at == next);
}

/* --- Both detectors --------------------------------------------------------------------------- */

struct pair {
    struct hp_path_sink sink; /* first */
    struct reference *reference;
    struct hp_detector *detector;
    struct hp_path found[STEPS * 2];
    uint64_t targets[STEPS * 2][HP_PATH_MAX_LENGTH];
    size_t n, done;
    uint64_t insns; /* in paths */
};

static void found(void *context, const struct reference_path *path)
{
    struct pair *pair = context;
    assert_true(pair->n < STEPS * 2);
    memcpy(pair->targets[pair->n], path->targets, path->n_targets * sizeof path->targets[0]);
    pair->found[pair->n++] = reference_descriptor(path);
    pair->insns += path->insns;
}

static void take_paths(struct hp_path_sink *sink, const struct hp_paths *paths)
{
    struct pair *pair = (struct pair *)sink;
    for (size_t i = 0; i < paths->n; i++, pair->done++) {
        const struct hp_path *a = &pair->found[pair->done], *b = &paths->paths[i];
        assert_true(pair->done < pair->n);
        assert_int_equal(a->start, b->start);
        assert_int_equal(a->block, b->block);
        assert_int_equal(a->length, b->length);
        assert_int_equal(a->outcomes, b->outcomes);
        assert_int_equal(a->targets, b->targets);
        assert_int_equal(a->insns, b->insns);
        assert_int_equal(a->events, b->events);
        assert_int_equal(a->n_targets, b->n_targets);
        for (unsigned t = 0; t < a->n_targets; t++)
            assert_int_equal(pair->targets[pair->done][t], paths->targets[b->first_target + t]);
    }
}

static void pair_event(struct pair *pair, struct hp_event event)
{
    reference_event(pair->reference, &event);
    hp_detector_event(pair->detector, &event);
}

/* --- Random input ----------------------------------------------------------------------------- */

static struct hp_ppcr random_ppcr(uint64_t *random)
{
    static const char *const presets[] = {"bl", "wpp", "extended-loop:2", "extended-call:1",
                                          "forward"};
    static const uint32_t lengths[] = {1, 2, 5, 32, 64};
    struct hp_ppcr p;
    assert_true(reference_preset(presets[random_below(random, 5)], &p));
    if (random_below(random, 2) && !p.by_address) {
        for (unsigned i = 0; i < HP_CLASSES; i++) {
            p.ops[i] = (uint8_t)random_below(random, 16);
            if (p.ops[i] & HP_PATH_UPDATE)
                p.ops[i] &= (uint8_t)~HP_PATH_UPDATE_COUNT;
        }
        p.extension = (enum hp_extension)random_below(random, 3);
        p.max_extension = p.extension == HP_EXTEND_NONE ? 0 : 1 + random_below(random, 3);
        p.direction = (enum hp_direction)random_below(random, 2);
    }
    p.max_length = lengths[random_below(random, 5)];
    if (random_below(random, 2))
        p.stack_entries = 1 + random_below(random, 8);
    p.overflow = (enum hp_overflow)random_below(random, 2);
    p.metric = (enum hp_metric[]){HP_METRIC_EXECUTIONS, HP_METRIC_INSTRUCTIONS,
                                  HP_METRIC_L2_MISSES}[random_below(random, 3)];
    p.counter_bits = (uint32_t[]){1, 4, 8, 32}[random_below(random, 4)];
    return p;
}

/* One of the things that befall a thread. The block it stands at is retired as a tail where the
 * history is lost. */
static void random_event(struct pair *pair, struct walk *walk, unsigned *signals)
{
    struct hp_event tail = {
        .kind = HP_EVENT_TAIL, .block = walk->w->ids[walk->at], .insns = 1, .exact = true};
    switch (random_below(&walk->w->random, 6)) {
    case 0:
    case 1:
        pair_event(pair, (struct hp_event){.kind = HP_EVENT_SIGNAL, .value = 10});
        walk->at = any_entry(walk);
        ++*signals;
        break;
    case 2:
    case 3:
        if (*signals == 0 && random_below(&walk->w->random, 4))
            break;
        pair_event(pair, (struct hp_event){.kind = HP_EVENT_SIGRETURN});
        walk->at = any_place(walk);
        *signals -= *signals != 0;
        break;
    case 4:
        pair_event(pair, tail);
        pair_event(pair, (struct hp_event){.kind = random_below(&walk->w->random, 2)
                                                       ? HP_EVENT_LOST
                                                       : HP_EVENT_DISCONTINUITY});
        walk->at = any_place(walk);
        *signals = 0;
        break;
    default: pair_event(pair, (struct hp_event){.kind = HP_EVENT_FORK}); break;
    }
}

static void random_batch(struct pair *pair, struct walk *walk, size_t n)
{
    uint32_t blocks[101];
    uint8_t taken[100];
    struct hp_events events[100];
    for (size_t i = 0; i < n; i++) {
        blocks[i] = walk->w->ids[walk->at];
        taken[i] = walk_on(walk);
        for (unsigned m = 0; m < HP_METRICS; m++)
            events[i].count[m] = random_below(&walk->w->random, 7);
    }
    blocks[n] = walk->w->ids[walk->at];
    struct hp_batch batch = {.code = walk->w->code,
                             .table = hp_code_blocks(walk->w->code),
                             .blocks = blocks,
                             .taken = taken,
                             .n = n,
                             .events = events};
    reference_batch(pair->reference, &batch);
    hp_detector_batch(pair->detector, &batch);
}

static void same_stats(const struct hp_detector_stats *a, const struct hp_detector_stats *b)
{
    assert_int_equal(a->branches, b->branches);
    assert_int_equal(a->blocks, b->blocks);
    assert_int_equal(a->instructions, b->instructions);
    assert_int_equal(a->paths, b->paths);
    assert_int_equal(a->splits, b->splits);
    assert_int_equal(a->overflows, b->overflows);
    assert_int_equal(a->dropped, b->dropped);
    assert_int_equal(a->underflows, b->underflows);
    assert_int_equal(a->repairs, b->repairs);
    assert_int_equal(a->repaired, b->repaired);
    assert_int_equal(a->purges, b->purges);
    assert_int_equal(a->unfinished, b->unfinished);
    assert_int_equal(a->unfinished_insns, b->unfinished_insns);
    assert_int_equal(a->saturated, b->saturated);
}

/* What the walks came across, all together: a rule that none of them needs would not be tested. */
static struct hp_detector_stats seen;
static uint64_t seed;

static void add_seen(const struct hp_detector_stats *stats)
{
    seen.splits += stats->splits;
    seen.overflows += stats->overflows;
    seen.dropped += stats->dropped;
    seen.underflows += stats->underflows;
    seen.repairs += stats->repairs;
    seen.repaired += stats->repaired;
    seen.purges += stats->purges;
    seen.saturated += stats->saturated;
}

static void run_walk(struct pair *pair)
{
    struct world w;
    world_init(&w, seed);
    struct walk walk = {.w = &w, .at = random_below(&w.random, BLOCKS)};
    struct hp_ppcr ppcr = random_ppcr(&w.random);
    struct hp_frame_source *frames = random_below(&w.random, 4) ? &w.frames : NULL;
    unsigned signals = 0;
    memset(pair, 0, offsetof(struct pair, found));
    pair->n = pair->done = 0;
    pair->insns = 0;
    pair->sink.paths = take_paths;
    pair->reference = reference_new(&ppcr, frames, found, pair);
    assert_int_equal(hp_detector_new(&ppcr, frames, &pair->sink, &pair->detector), HP_OK);
    for (size_t done = 0; done < STEPS;) {
        size_t n = 1 + random_below(&w.random, 100);
        random_batch(pair, &walk, n);
        if (random_below(&w.random, 8) == 0)
            random_event(pair, &walk, &signals);
        done += n;
    }
    pair_event(pair, (struct hp_event){.kind = HP_EVENT_END});
    hp_detector_flush(pair->detector);
    const struct hp_detector_stats *stats = reference_stats(pair->reference);
    assert_int_equal(hp_detector_check(pair->detector), HP_OK);
    assert_int_equal(pair->n, pair->done);
    assert_int_equal(pair->insns + stats->unfinished_insns, stats->instructions);
    same_stats(stats, hp_detector_stats(pair->detector));
    add_seen(stats);
    reference_free(pair->reference);
    hp_detector_free(pair->detector);
    hp_code_free(w.code);
}

static void random_walks(void **state)
{
    struct pair *pair = malloc(sizeof *pair);
    (void)state;
    assert_non_null(pair);
    for (seed = 1; seed <= 600; seed++)
        run_walk(pair);
    free(pair);
    assert_in_range(seen.splits, 10000, UINT64_MAX);
    assert_in_range(seen.overflows, 10000, UINT64_MAX);
    assert_in_range(seen.dropped, 100, UINT64_MAX);
    assert_in_range(seen.underflows, 100, UINT64_MAX);
    assert_in_range(seen.repairs, 100, UINT64_MAX);
    assert_in_range(seen.repaired, 100, UINT64_MAX);
    assert_in_range(seen.purges, 100, UINT64_MAX);
    assert_in_range(seen.saturated, 100, UINT64_MAX);
    seed = 0;
}

/* --- Stretches -------------------------------------------------------------------------------- */

/* Of a walk whose history is cut into stretches, what is found in them. */
struct stretches {
    struct hp_path_sink sink; /* first */
    struct hp_detector *detector;
    uint64_t at; /* transfers so far */
    uint64_t first;
    struct {
        struct hp_path path; /* that the transfer finished */
        uint64_t began;
        bool there, definite;
    } all[STEPS];
    bool settled; /* a path begins and ends with what is pending added to one */
    bool found;
    uint64_t n_found, n_within, n_pieces;
};

static void note_path(void *context, const struct reference_path *path)
{
    struct stretches *s = context;
    assert_false(s->all[s->at].there);
    s->all[s->at].path = reference_descriptor(path);
    s->all[s->at].began = path->began;
    s->all[s->at].there = true;
    s->all[s->at].definite = path->definite;
}

static void take_whole(struct hp_path_sink *sink, const struct hp_paths *paths)
{
    struct stretches *s = (struct stretches *)sink;
    const struct hp_path *a = &s->all[s->at].path, *b = paths->paths;
    assert_int_equal(paths->n, 1);
    assert_true(s->all[s->at].there);
    assert_true(s->all[s->at].began > s->first);
    assert_true(hp_path_same(a, b));
    if (s->settled) {
        assert_int_equal(a->insns, b->insns);
        assert_int_equal(a->events, b->events);
    }
    s->found = true;
    s->n_found++;
}

/* Each transfer is shown alone, so that it is known which one finished a path. */
static void walk_stretches(struct stretches *s, const struct hp_ppcr *ppcr,
                           struct hp_frame_source *frames, struct world *w, bool complete)
{
    struct walk walk = {.w = w, .at = random_below(&w->random, BLOCKS)};
    const struct hp_event cut = {.kind = HP_EVENT_DISCONTINUITY};
    memset(s, 0, sizeof *s);
    s->settled = true;
    for (unsigned i = 0; i < HP_CLASSES; i++)
        s->settled &= !(ppcr->ops[i] & (HP_PATH_POP | HP_PATH_PUSH)) ||
                      ppcr->ops[i] & (HP_PATH_UPDATE | HP_PATH_UPDATE_COUNT);
    s->sink.paths = take_whole;
    struct reference *reference = reference_new(ppcr, frames, note_path, s);
    assert_int_equal(hp_detector_new(ppcr, frames, &s->sink, &s->detector), HP_OK);
    hp_detector_only_whole(s->detector);
    for (; s->at < STEPS; s->at++) {
        uint32_t blocks[2] = {w->ids[walk.at]};
        uint8_t taken = walk_on(&walk);
        blocks[1] = w->ids[walk.at];
        struct hp_batch batch = {.code = w->code,
                                 .table = hp_code_blocks(w->code),
                                 .blocks = blocks,
                                 .taken = &taken,
                                 .n = 1};
        if (random_below(&w->random, 60) == 0) {
            hp_detector_event(s->detector, &cut);
            s->first = s->at;
        }
        s->found = false;
        reference_batch(reference, &batch);
        hp_detector_batch(s->detector, &batch);
        hp_detector_flush(s->detector);
        bool within = s->all[s->at].definite && s->all[s->at].began > s->first;
        s->n_within += within;
        assert_true(s->found || !within || !complete);
    }
    s->n_pieces = hp_detector_stats(s->detector)->pieces;
    assert_int_equal(hp_detector_check(s->detector), HP_OK);
    reference_free(reference);
    hp_detector_free(s->detector);
}

/* Whatever is found in a stretch is what is found of the whole walk; and where neither functions
 * nor extensions nor full paths matter, it is all that lies within the stretch. */
static void stretches_of_walks(void **state)
{
    static const char *const plain[] = {"bl", "wpp", "forward"};
    struct stretches *s = malloc(sizeof *s);
    uint64_t found = 0, pieces = 0, within = 0, all = 0;
    (void)state;
    assert_non_null(s);
    for (seed = 1; seed <= 900; seed++) {
        struct world w;
        struct hp_ppcr ppcr;
        bool complete = seed % 3 == 0;
        world_init(&w, seed);
        ppcr = random_ppcr(&w.random);
        if (complete)
            assert_true(reference_preset(plain[random_below(&w.random, 3)], &ppcr));
        if (complete)
            ppcr.max_length = HP_PATH_MAX_LENGTH;
        if (ppcr.metric > HP_METRIC_INSTRUCTIONS)
            ppcr.metric = HP_METRIC_EXECUTIONS;
        walk_stretches(s, &ppcr, complete || seed % 3 == 1 ? NULL : &w.frames, &w, complete);
        found += s->n_found;
        pieces += s->n_pieces;
        within += complete ? 0 : s->n_within;
        all += complete ? 0 : s->n_found;
        hp_code_free(w.code);
    }
    free(s);
    assert_in_range(found, 100000, UINT64_MAX);
    assert_in_range(pieces, 10000, UINT64_MAX);
    assert_true(all > within / 2); /* of the others, most */
    seed = 0;
}

static int say_seed(void **state)
{
    (void)state;
    if (seed)
        print_error("walk %" PRIu64 "\n", seed);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(random_walks, say_seed),
                                       cmocka_unit_test_teardown(stretches_of_walks, say_seed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
