// SPDX-License-Identifier: MIT
/*
 * Loops by runs of blocks, whose legs are worked out and counted, against the same by single
 * blocks, each transfer of which is shown to the stack and to the loops. (The reference holds
 * those: test_loop_random.c.) The random programs have loops, calls inside them, recursion, jumps
 * to other functions, blocks that overlap, longjmp, and signals.
 */
#include "exact_fixture.h"

#include "profiler/exact/exact_impl.h"
#include "profiler/exact/loops.h"

#define FUNCTIONS 16
#define BLOCKS    8 /* of 8 bytes, in a function */
#define DEEPEST   10
#define HANDLER   (FUNCTIONS - 2) /* a function */
#define RESTORER  (FUNCTIONS - 1)
#define LENGTH    12000 /* blocks that are executed */

enum what { RETURN, TAIL, CALLS, CALLS_ANY, LOOPS, SKIPS, SWITCHES, SYSCALL };

struct made {
    uint64_t seed;
    uint8_t bytes[FUNCTIONS * 64];
    uint8_t what[FUNCTIONS][BLOCKS];
    uint32_t targets[FUNCTIONS][BLOCKS]; /* offsets */
    uint32_t n[FUNCTIONS];
    bool recursive, jumps, signals;
};

/* What is executed: offsets of blocks, and events. */
#define IS_EVENT 0x80000000u
struct made_run {
    uint32_t items[2 * LENGTH + 64];
    size_t n;
};

static void put(struct made *m, uint32_t f, uint32_t block, enum what what, uint32_t target)
{
    static const uint8_t codes[][8] = {
        [RETURN] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3},
        [TAIL] = {0x90, 0x90, 0x90, 0xe9},
        [CALLS] = {0x90, 0x90, 0x90, 0xe8},
        [CALLS_ANY] = {0x90, 0x90, 0xff, 0x15},
        [LOOPS] = {0x90, 0x90, 0x0f, 0x85},
        [SKIPS] = {0x90, 0x90, 0x0f, 0x84},
        [SWITCHES] = {0x90, 0x90, 0xff, 0x25},
        [SYSCALL] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x0f, 0x05}};
    int32_t distance = (int32_t)target - (int32_t)(f * 64 + block * 8 + 8);
    memcpy(m->bytes + f * 64 + block * 8, codes[what], 8);
    if (what != RETURN && what != SYSCALL)
        memcpy(m->bytes + f * 64 + block * 8 + 4, &distance, 4);
    m->what[f][block] = (uint8_t)what;
    m->targets[f][block] = target;
}

static void make_function(struct made *m, uint32_t f)
{
    uint32_t n = m->n[f] = 2 + random_below(&m->seed, BLOCKS - 2);
    uint32_t left = HANDLER - 1 - f;
    for (uint32_t i = 0; i + 1 < n; i++) {
        static const uint8_t some[] = {CALLS, CALLS, CALLS_ANY, LOOPS, LOOPS, SKIPS, SWITCHES};
        enum what what = some[random_below(&m->seed, sizeof some)];
        uint32_t target = f * 64 + 8 * random_below(&m->seed, i + 1);
        if ((what == CALLS || what == CALLS_ANY) && left == 0)
            what = LOOPS;
        if (what == CALLS || what == CALLS_ANY)
            target = 64 * (f + 1 + random_below(&m->seed, left));
        if (what == SKIPS)
            target = f * 64 + 8 * (i + 1 + random_below(&m->seed, n - i - 1));
        if (what == LOOPS || what == SKIPS)
            target += random_below(&m->seed, 6) == 0; /* into a block */
        put(m, f, i, what, target);
    }
    if (f == 0)
        put(m, f, n - 1, TAIL, 0);
    else if (left && random_below(&m->seed, 4) == 0)
        put(m, f, n - 1, TAIL, 64 * (f + 1 + random_below(&m->seed, left)));
    else
        put(m, f, n - 1, RETURN, 0);
}

static void make(struct made *m, uint64_t seed)
{
    *m = (struct made){.seed = seed * 2654435761u + 88172645463325252u};
    m->recursive = seed % 2;
    m->jumps = seed % 3 == 0;
    m->signals = seed % 5 == 0;
    for (uint32_t f = 0; f < HANDLER; f++)
        make_function(m, f);
    put(m, HANDLER, 0, CALLS, 64 * (HANDLER - 1)); /* the last function calls nothing */
    put(m, HANDLER, 1, RETURN, 0);
    put(m, RESTORER, 0, SYSCALL, 0);
}

struct machine {
    struct made *made;
    uint32_t stack[64], depth;
    uint32_t interrupted, base; /* base: of the handler's frames; 0: none runs */
};

static uint32_t computed(struct machine *c, uint32_t f, uint32_t at)
{
    struct made *m = c->made;
    if (m->jumps && c->depth > c->base && random_below(&m->seed, 16) == 0) { /* longjmp */
        c->depth -= 1 + random_below(&m->seed, c->depth - c->base);
        return c->stack[c->depth];
    }
    return random_below(&m->seed, 2) ? at / 8 * 8 + 8
                                     : f * 64 + 8 * random_below(&m->seed, m->n[f]);
}

/* Where control goes after the block at `at`. */
static uint32_t step(struct machine *c, uint32_t at)
{
    struct made *m = c->made;
    uint32_t f = at / 64, block = at % 64 / 8, target = m->targets[f][block];
    switch (m->what[f][block]) {
    case RETURN: return c->stack[--c->depth];
    case CALLS:
    case CALLS_ANY:
        c->stack[c->depth++] = at / 8 * 8 + 8;
        if (m->what[f][block] == CALLS_ANY && m->recursive && c->depth < DEEPEST)
            return 64 * (1 + random_below(&m->seed, HANDLER - 1));
        return target;
    case LOOPS: return random_below(&m->seed, 4) ? target : at / 8 * 8 + 8;
    case SKIPS: return random_below(&m->seed, 2) ? target : at / 8 * 8 + 8;
    case SWITCHES: return computed(c, f, at);
    default: return target;
    }
}

static void run_made(struct made *m, struct made_run *r)
{
    struct machine c = {.made = m};
    uint32_t at = 0;
    r->n = 0;
    for (size_t i = 0; i < LENGTH; i++) {
        r->items[r->n++] = at;
        if (at == RESTORER * 64) {
            r->items[r->n++] = IS_EVENT | 1;
            c.base = 0;
            at = c.interrupted;
            continue;
        }
        at = step(&c, at);
        if (m->signals && c.base == 0 && random_below(&m->seed, 200) == 0) {
            r->items[r->n++] = IS_EVENT;
            c.interrupted = at;
            c.stack[c.depth++] = RESTORER * 64;
            c.base = c.depth;
            at = HANDLER * 64;
        }
    }
}

static uint32_t segment_of(struct made *m, struct stream *s, struct hp_map64 *ids, uint32_t parent,
                           uint32_t start)
{
    uint64_t key = (uint64_t)parent << 32 | start;
    uint32_t id = hp_map64_get(ids, key);
    if (id != HP_MAP64_NONE)
        return id;
    struct hp_segment segment = {.start = PROGRAM_BASE + start,
                                 .parent = parent,
                                 .module = s->module,
                                 .size = (uint16_t)(8 - start % 8),
                                 .bytes = m->bytes + start};
    id = (uint32_t)ids->used + 1;
    assert_int_equal(hp_code_add_segment(s->code, id, &segment), HP_OK);
    assert_int_equal(hp_map64_put(ids, key, id), HP_OK);
    return id;
}

/* The words for it, each of a run of at most `most` blocks: cut at the same places wherever the
 * same code is executed, and at events. */
static size_t make_words(struct made *m, struct stream *s, const struct made_run *r, uint32_t most,
                         struct hp_map64 *ids, uint32_t *words)
{
    size_t n = 0;
    uint32_t parent = 0, length = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (r->items[i] & IS_EVENT) {
            words[n++] = r->items[i] & 1 ? EVENT(SIGRETURN, 0) : EVENT(SIGNAL, 10);
            continue;
        }
        uint32_t id = segment_of(m, s, ids, parent, r->items[i]);
        uint64_t own = id; /* the same every time */
        bool ends = ++length >= most || random_below(&own, most) == 0 || i + 1 == r->n ||
                    r->items[i + 1] & IS_EVENT;
        if (ends)
            words[n++] = id;
        parent = ends ? 0 : id;
        length = ends ? 0 : length;
    }
    return n;
}

/* --- Profiling -------------------------------------------------------------------------------- */

struct stepping {
    struct hp_sink sink; /* first */
    struct hp_profiler *exact;
    void *state;
};

static void pass_steps(struct hp_sink *sink, const struct hp_steps *steps)
{
    struct stepping *s = (struct stepping *)sink;
    s->exact->ops->steps(s->state, steps);
}

static void pass_event(struct hp_sink *sink, const struct hp_event *event)
{
    struct stepping *s = (struct stepping *)sink;
    s->exact->ops->event(s->state, event);
}

static uint64_t n_counted, n_covered, n_events, n_shown, n_loops, n_irreducible;

/* What was counted by legs. */
static void look_at_legs(const struct hp_exact_thread *t)
{
    for (size_t i = 0; i < t->excursions.n; i++)
        n_counted += t->excursions.counts[i];
    for (size_t i = 0; i < t->loops->n_legs; i++) {
        n_events += t->loops->legs[i].n_events;
        n_covered += t->loops->legs[i].context != HP_NO_ID && t->loops->legs[i].cover != 0;
        n_shown += t->loops->legs[i].shown;
    }
}

static struct hp_profile *profile_words(struct stream *s, struct hp_functions *functions,
                                        const uint32_t *words, size_t n, const uint64_t seed)
{
    struct stepping by = {.sink = {.steps = pass_steps, .event = pass_event}};
    const struct hp_thread thread = {.id = 0, .pid = 10, .tid = 10};
    struct hp_cursor *cursor;
    struct hp_profile *profile;
    uint64_t random = seed;
    uint32_t most = 1u << random_below(&random, 12);
    assert_int_equal(hp_exact_new(s->code, functions, true, &by.exact), HP_OK);
    /* Now and then there is no room for all. */
    ((struct hp_exact *)by.exact)->most_contexts = seed % 7 ? 1000000 : 1 + seed % 20;
    assert_int_equal(by.exact->ops->start_thread(by.exact, &thread, &by.state), HP_OK);
    assert_int_equal(hp_cursor_new(s->code, NULL, &by.sink, &cursor), HP_OK);
    for (size_t i = 0, some; i < n; i += some) {
        some = 1 + random_below(&random, most);
        some = some < n - i ? some : n - i;
        assert_int_equal(hp_cursor_feed(cursor, words + i, some), HP_OK);
    }
    look_at_legs(by.state);
    assert_int_equal(hp_cursor_end(cursor, HP_END_EXIT), HP_OK);
    assert_int_equal(hp_profile_new(&profile), HP_OK);
    finish_exact(s->code, functions, by.exact, profile);
    assert_int_equal(hp_profile_normalize(profile), HP_OK);
    hp_cursor_free(cursor);
    by.exact->ops->free(by.exact);
    return profile;
}

#define SAME(a, b, array)                                                                          \
    (assert_int_equal((a)->n_##array, (b)->n_##array),                                             \
     assert_memory_equal((a)->array, (b)->array, (a)->n_##array * sizeof *(a)->array))

static void compare(const struct hp_profile *a, const struct hp_profile *b)
{
    SAME(a, b, block_counts);
    SAME(a, b, edge_counts);
    SAME(a, b, function_counts);
    SAME(a, b, call_counts);
    SAME(a, b, context_counts);
    assert_int_equal(a->n_loops, b->n_loops);
    for (size_t i = 0; i < a->n_loops; i++) {
        const struct hp_ploop *x = &a->loops[i], *y = &b->loops[i];
        assert_int_equal(x->header.offset, y->header.offset);
        assert_int_equal(x->parent, y->parent);
        assert_int_equal(x->insns, y->insns);
        assert_int_equal(x->flags, y->flags);
        n_irreducible += x->flags & HP_LOOP_IRREDUCIBLE;
    }
    SAME(a, b, loop_counts);
    SAME(a, b, loop_trips);
    SAME(a, b, loop_blocks);
    n_loops += a->n_loops;
}

static void check(uint64_t seed)
{
    static struct made_run r;
    static uint32_t words[2 * LENGTH + 64];
    struct made m;
    struct stream s;
    struct hp_map64 ids = {0};
    struct hp_profile *profiles[2];
    make(&m, seed);
    stream_init(&s);
    run_made(&m, &r);
    for (int runs = 0; runs < 2; runs++) {
        struct hp_functions *functions = new_functions(s.code);
        functions->stripped = seed % 4 == 1;
        uint32_t most = runs ? 2 + random_below(&m.seed, HP_RUN_MAX - 1) : 1;
        size_t n = make_words(&m, &s, &r, most, &ids, words);
        profiles[runs] = profile_words(&s, functions, words, n, seed);
        free(functions);
    }
    compare(profiles[0], profiles[1]);
    hp_profile_free(profiles[0]);
    hp_profile_free(profiles[1]);
    hp_map64_fini(&ids);
    stream_fini(&s);
}

static void runs_have_the_loops_of_their_blocks(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++)
        check(seed);
    print_message("%llu loops, %llu irreducible; %llu legs counted, %llu covered, %llu events, "
                  "%llu shown\n",
                  (unsigned long long)n_loops, (unsigned long long)n_irreducible,
                  (unsigned long long)n_counted, (unsigned long long)n_covered,
                  (unsigned long long)n_events, (unsigned long long)n_shown);
    assert_true(n_loops > 1000 && n_irreducible > 100 && n_counted > 10000 && n_covered > 100);
    assert_true(n_events > 10000 && n_shown > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_have_the_loops_of_their_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
