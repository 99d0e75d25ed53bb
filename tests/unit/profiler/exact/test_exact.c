// SPDX-License-Identifier: MIT
/* The exact profiler, on streams worked out by hand. Functions are faked: 64 bytes of code each. */
#include "exact_fixture.h"

#include "profiler/exact/contexts.h"
#include "profiler/exact/exact_impl.h"

/* --- By hand ---------------------------------------------------------------------------------- */

/*
 * Functions of 64 bytes from 400000 on:
 *   1  400000  nop; call 400040     5  40004x  nop; call 400040  (recursion)
 *   2  400006  nop; call 400080     6  400080  nop; jmp 4000c0   (tail call)
 *   3  40000c  nop; ret             7  4000c0  nop; ret
 *   4  400040  nop; jz 40004e       8  40004e  nop; ret          9  40004d  ret
 */
static void add_functions(struct stream *s)
{
    add_segment(s, 1, 0x400000, "90 e8 3a 00 00 00");
    add_segment(s, 2, 0x400006, "90 e8 74 00 00 00");
    add_segment(s, 3, 0x40000c, "90 c3");
    add_segment(s, 4, 0x400040, "90 0f 84 07 00 00 00");
    add_segment(s, 5, 0x400047, "90 e8 f3 ff ff ff");
    add_segment(s, 6, 0x400080, "90 e9 3a 00 00 00");
    add_segment(s, 7, 0x4000c0, "90 c3");
    add_segment(s, 8, 0x40004e, "90 c3");
    add_segment(s, 9, 0x40004d, "c3");
}

#define ALL_CONTEXTS 1000000
static size_t kept_contexts = ALL_CONTEXTS; /* of the following */

static void profile_of(struct stream *s, const uint32_t *words, size_t n,
                       struct hp_profile **profile)
{
    struct hp_functions *functions = new_functions(s->code);
    struct hp_profiler *exact;
    assert_int_equal(hp_exact_new(s->code, functions, false, &exact), HP_OK);
    ((struct hp_exact *)exact)->kept_contexts = kept_contexts;
    recorder_add(&s->recorder, exact);
    feed(s, words, n);
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_EXIT), HP_OK);
    assert_int_equal(hp_profile_new(profile), HP_OK);
    finish_exact(s->code, functions, exact, *profile);
    assert_int_equal(hp_profile_normalize(*profile), HP_OK);
    free(functions);
}

static const struct hp_pfunction_count *function_count(const struct hp_profile *profile,
                                                       uint64_t offset)
{
    for (size_t i = 0; i < profile->n_function_counts; i++)
        if (profile->functions[profile->function_counts[i].item].place.offset == offset)
            return &profile->function_counts[i];
    fail_msg("no function at %llx", (unsigned long long)offset);
    return NULL;
}

static void expect_function(const struct hp_profile *profile, uint64_t offset, uint64_t self,
                            uint64_t inclusive, uint64_t calls)
{
    const struct hp_pfunction_count *c = function_count(profile, offset);
    assert_int_equal(c->self, self);
    assert_int_equal(c->inclusive, inclusive);
    assert_int_equal(c->calls, calls);
}

static void recursion_counts_once(void **state)
{
    (void)state;
    struct stream s;
    struct hp_profile *profile;
    /* the callee calls itself twice: depth 3 */
    const uint32_t words[] = {1, 4, 5, 4, 5, 4, 8, 9, 9, 2, 6, 7, 3};
    stream_init(&s);
    add_functions(&s);
    profile_of(&s, words, sizeof words / sizeof *words, &profile);
    expect_function(profile, 0x400000, 2 + 2 + 2, 24, 1);
    expect_function(profile, 0x400040, 2 * 3 + 2 * 2 + 2 + 2, 14, 3);
    /* a tail call is a call, inside the one that jumped */
    expect_function(profile, 0x400080, 2, 4, 1);
    expect_function(profile, 0x4000c0, 2, 2, 1);
    hp_profile_free(profile);
    stream_fini(&s);
}

/* Out of two activations at once, to where the outermost was called from. */
static void unwinding_ends_what_was_left(void **state)
{
    (void)state;
    struct stream s;
    struct hp_profile *profile;
    const uint32_t words[] = {1, 4, 5, 4, 8, 2, 6, 7, 3};
    stream_init(&s);
    add_functions(&s);
    profile_of(&s, words, sizeof words / sizeof *words, &profile);
    expect_function(profile, 0x400000, 6, 18, 1);
    expect_function(profile, 0x400040, 8, 8, 2);
    hp_profile_free(profile);
    stream_fini(&s);
}

static void a_loss_starts_a_new_history(void **state)
{
    (void)state;
    struct stream s;
    struct hp_profile *profile;
    const uint32_t words[] = {1, 4, hp_word_event(HP_WORD_LOST, 1), 0, 0, 7, 3};
    stream_init(&s);
    add_functions(&s);
    profile_of(&s, words, sizeof words / sizeof *words, &profile);
    expect_function(profile, 0x400000, 4, 2 + 2 + 2, 1); /* entered once, and returned to */
    expect_function(profile, 0x400040, 2, 2, 1);
    expect_function(profile, 0x4000c0, 2, 2, 1);
    assert_int_equal(profile->n_notes, 1);
    assert_string_equal(profile->notes[0].kind, "cut");
    hp_profile_free(profile);
    stream_fini(&s);
}

static const struct hp_pcontext_count *context_at(const struct hp_profile *profile,
                                                  const uint32_t *functions, size_t n)
{
    uint32_t at = HP_PROFILE_NONE;
    for (size_t i = 0; i < n; i++)
        at = child_of(profile, at, functions[i]);
    for (size_t i = 0; i < profile->n_context_counts; i++)
        if (profile->context_counts[i].item == at)
            return &profile->context_counts[i];
    fail_msg("no counter of context %u", at);
    return NULL;
}

static void expect_context(const struct hp_profile *profile, const uint32_t *functions, size_t n,
                           uint64_t self, uint64_t calls)
{
    const struct hp_pcontext_count *c = context_at(profile, functions, n);
    assert_int_equal(c->self, self);
    assert_int_equal(c->calls, calls);
}

static void contexts_are_a_tree(void **state)
{
    (void)state;
    struct stream s;
    struct hp_profile *profile;
    const uint32_t words[] = {1, 4, 5, 4, 5, 4, 8, 9, 9, 2, 6, 7, 3};
    const uint32_t recursion[] = {0, 1, 1, 1}, tail[] = {0, 2, 3};
    stream_init(&s);
    add_functions(&s);
    profile_of(&s, words, sizeof words / sizeof *words, &profile);
    assert_int_equal(profile->n_contexts, 6);
    expect_context(profile, recursion, 1, 6, 1);
    expect_context(profile, recursion, 2, 5, 1);
    expect_context(profile, recursion, 3, 5, 1);
    expect_context(profile, recursion, 4, 4, 1);
    expect_context(profile, tail, 2, 2, 1);
    expect_context(profile, tail, 3, 2, 1); /* a tail call is inside the one that jumped */
    hp_profile_free(profile);
    stream_fini(&s);
}

/* Of 24, 14, 9, 4 (tail, 4 and 2) three are kept. */
static void light_contexts_belong_to_their_parents(void **state)
{
    (void)state;
    struct stream s;
    struct hp_profile *profile;
    const uint32_t words[] = {1, 4, 5, 4, 5, 4, 8, 9, 9, 2, 6, 7, 3};
    const uint32_t recursion[] = {0, 1, 1};
    stream_init(&s);
    add_functions(&s);
    kept_contexts = 3;
    profile_of(&s, words, sizeof words / sizeof *words, &profile);
    kept_contexts = ALL_CONTEXTS;
    assert_int_equal(profile->n_contexts, 3);
    expect_context(profile, recursion, 1, 6 + 4, 1);
    expect_context(profile, recursion, 2, 5, 1);
    expect_context(profile, recursion, 3, 5 + 4, 1);
    expect_function(profile, 0x4000c0, 2, 2, 1); /* what is known of functions stays */
    assert_int_equal(profile->n_context_rests, 2);
    const struct hp_pcontext_rest rests[] = {{0, 0, 4, 2}, {2, 0, 4, 1}};
    assert_memory_equal(profile->context_rests, rests, sizeof rests);
    hp_profile_free(profile);
    stream_fini(&s);
}

static uint64_t inclusive_of(const struct hp_profile *profile, uint32_t context)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < profile->n_context_counts; i++)
        for (uint32_t at = profile->context_counts[i].item; at != HP_PROFILE_NONE;
             at = profile->contexts[at].parent)
            sum += at == context ? profile->context_counts[i].self : 0;
    return sum;
}

static uint64_t self_of(const struct hp_profile *profile, uint32_t context, uint64_t *rest)
{
    uint64_t sum = 0;
    *rest = 0;
    for (size_t i = 0; i < profile->n_context_counts; i++)
        sum += profile->context_counts[i].item == context ? profile->context_counts[i].self : 0;
    for (size_t i = 0; i < profile->n_context_rests; i++)
        *rest +=
            profile->context_rests[i].item == context ? profile->context_rests[i].instructions : 0;
    return sum;
}

/* Random programs with little room in the profile: what stays is as heavy as ever, or lighter by
 * what another caller of it did. What counts in a context, but for its rest, is its own. */
static void what_is_kept_is_right(void **state)
{
    (void)state;
    for (uint64_t seed = 40001; seed <= 40040; seed++) {
        struct hp_profile *all, *few;
        for (int i = 0; i < 2; i++) {
            struct program p;
            struct stream s;
            program_init(&p, seed);
            stream_init(&s);
            program_run(&p, &s, 300);
            kept_contexts = i ? 1 + seed % 20 : ALL_CONTEXTS;
            profile_of(&s, p.words, p.n_words, i ? &few : &all);
            stream_fini(&s);
            program_fini(&p);
        }
        uint64_t self = 0, roots = 0;
        uint32_t *same = calloc(few->n_contexts + 1, sizeof *same);
        for (uint32_t i = 0; i < few->n_contexts; i++) {
            const struct hp_pcontext *c = &few->contexts[i];
            uint32_t function = c->function == HP_PROFILE_NONE
                                    ? HP_NO_ID
                                    : function_at(few->functions[c->function].place.offset);
            bool root = c->parent == HP_PROFILE_NONE;
            same[i] = child_of(all, root ? c->parent : same[c->parent], function);
            roots += root;
            uint64_t rest, none = 0, own = self_of(few, i, &rest);
            assert_true(rest <= own && own - rest <= self_of(all, same[i], &none));
            assert_int_equal(none, 0);
            assert_true(inclusive_of(few, i) <= inclusive_of(all, same[i]));
            if (root)
                assert_int_equal(inclusive_of(few, i), inclusive_of(all, same[i]));
        }
        for (size_t i = 0; i < few->n_context_counts; i++)
            self += few->context_counts[i].self;
        assert_int_equal(self, few->threads[0].instructions);
        assert_true(few->n_contexts <= kept_contexts + roots);
        assert_true(few->n_context_rests || few->n_contexts == all->n_contexts);
        free(same);
        hp_profile_free(all);
        hp_profile_free(few);
    }
    kept_contexts = ALL_CONTEXTS;
}

static void deep_recursion_belongs_to_the_deepest_context(void **state)
{
    (void)state;
    enum { DEPTH = 1000 };
    struct stream s;
    struct hp_profile *profile;
    uint32_t words[3 * DEPTH + 2], functions[HP_CONTEXT_DEPTH] = {0}, n = 0;
    stream_init(&s);
    add_functions(&s);
    words[n++] = 1;
    for (uint32_t i = 1; i < DEPTH; i++) {
        words[n++] = 4;
        words[n++] = 5;
    }
    words[n++] = 4;
    words[n++] = 8;
    for (uint32_t i = 1; i < DEPTH; i++)
        words[n++] = 9;
    for (uint32_t i = 1; i < HP_CONTEXT_DEPTH; i++)
        functions[i] = 1;
    profile_of(&s, words, n, &profile);
    assert_int_equal(profile->n_contexts, HP_CONTEXT_DEPTH);
    expect_context(profile, functions, HP_CONTEXT_DEPTH - 1, 5, 1);
    expect_context(profile, functions, HP_CONTEXT_DEPTH, 5 * (DEPTH - HP_CONTEXT_DEPTH + 1) + 4, 1);
    assert_int_equal(profile->n_notes, 0);
    assert_int_equal(profile->n_context_rests, 1);
    assert_int_equal(profile->context_rests[0].item, HP_CONTEXT_DEPTH - 1);
    assert_int_equal(profile->context_rests[0].calls, DEPTH + 1 - HP_CONTEXT_DEPTH);
    assert_int_equal(profile->context_rests[0].instructions, 5 * (DEPTH - HP_CONTEXT_DEPTH) + 4);
    hp_profile_free(profile);
    stream_fini(&s);
}

/*
 * Handlers that are left in a way that nobody understands, each inside the one before; what the
 * profiler looked at, and the frames that are left. 20  400100  nop; call 400140 21  400140  ret
 * (to 400200) 22  400200  nop; call 400240 23  400240  ret 24  400206  nop; jmp 400206 25  400300
 * nop; jmp 400300
 */
static uint64_t leave_handlers(uint32_t rounds, bool loops, size_t most_frames, size_t *n_frames)
{
    struct stream s;
    struct hp_profile *profile;
    struct hp_profiler *profiler;
    stream_init(&s);
    add_segment(&s, 20, 0x400100, "90 e8 3a 00 00 00");
    add_segment(&s, 21, 0x400140, "c3");
    add_segment(&s, 22, 0x400200, "90 e8 3a 00 00 00");
    add_segment(&s, 23, 0x400240, "c3");
    add_segment(&s, 24, 0x400206, "90 e9 fa ff ff ff");
    add_segment(&s, 25, 0x400300, "90 e9 fa ff ff ff");
    struct hp_functions *functions = new_functions(s.code);
    assert_int_equal(hp_exact_new(s.code, functions, loops, &profiler), HP_OK);
    struct hp_exact *exact = (struct hp_exact *)profiler;
    exact->most_frames = most_frames;
    recorder_add(&s.recorder, profiler);
    const uint32_t words[] = {hp_word_event(HP_WORD_SIGNAL, 5), 20, 21, 22, 23, 24}, first = 25;
    feed(&s, &first, 1);
    for (uint32_t i = 0; i < rounds; i++)
        feed(&s, words, 6);
    *n_frames = exact->threads[0]->n_frames;
    assert_true(exact->threads[0]->n_contexts < 200);
    assert_int_equal(hp_cursor_end(s.cursor, HP_END_EXIT), HP_OK);
    assert_int_equal(hp_profile_new(&profile), HP_OK);
    finish_exact(s.code, functions, profiler, profile);
    uint64_t searched = exact->searched, self = 0;
    for (size_t i = 0; i < profile->n_context_counts; i++)
        self += profile->context_counts[i].self;
    assert_int_equal(self, profile->threads[0].instructions);
    assert_int_equal(profile->threads[0].instructions, 2 + 8 * (uint64_t)rounds);
    bool noted = false;
    for (size_t i = 0; i < profile->n_notes; i++)
        noted |= strcmp(profile->notes[i].kind, "depth") == 0;
    assert_true(noted == (most_frames < rounds));
    hp_profile_free(profile);
    stream_fini(&s);
    free(functions);
    return searched;
}

/* Work grows as the run does, and memory is bounded, whatever is left behind. */
static void what_is_never_returned_to_costs_nothing(void **state)
{
    (void)state;
    size_t frames;
    for (int loops = 0; loops < 2; loops++) {
        uint64_t once = leave_handlers(2000, loops, HP_FRAMES_MAX, &frames);
        assert_in_range(frames, 4000, 20000);
        uint64_t twice = leave_handlers(4000, loops, HP_FRAMES_MAX, &frames);
        assert_in_range(twice, once, once * 21 / 10);
        assert_in_range(twice, 0, 4000 * 200);
        uint64_t bounded = leave_handlers(4000, loops, 1000, &frames);
        assert_in_range(frames, 1, 2000);
        assert_in_range(bounded, 0, 4000 * 200);
    }
}

/*
 * Out of the deepest of many activations to the first, as an exception goes, and down again:
 *   1, 4, 5 as above     30  400047  nop; call 400240     31  400240  nop; ret, to 400006
 */
static uint64_t unwind_all(uint32_t depth, uint32_t rounds)
{
    struct stream s;
    struct hp_profile *profile;
    struct hp_profiler *profiler;
    stream_init(&s);
    add_functions(&s);
    add_segment(&s, 30, 0x400006, "90 e9 f5 ff ff ff"); /* once more: jmp 400001 */
    add_segment(&s, 31, 0x400001, "e8 3a 00 00 00");    /* call 400040 */
    struct hp_functions *functions = new_functions(s.code);
    assert_int_equal(hp_exact_new(s.code, functions, false, &profiler), HP_OK);
    recorder_add(&s.recorder, profiler);
    const uint32_t down[] = {4, 5}, out[] = {4, 8, 30, 31};
    const uint32_t first = 1;
    feed(&s, &first, 1);
    for (uint32_t i = 0; i < rounds; i++) {
        for (uint32_t k = 1; k < depth; k++)
            feed(&s, down, 2);
        feed(&s, out, 4);
    }
    struct hp_exact *exact = (struct hp_exact *)profiler;
    assert_in_range(exact->threads[0]->n_frames, 1, 3);
    assert_int_equal(hp_cursor_end(s.cursor, HP_END_EXIT), HP_OK);
    assert_int_equal(hp_profile_new(&profile), HP_OK);
    finish_exact(s.code, functions, profiler, profile);
    uint64_t searched = exact->searched;
    hp_profile_free(profile);
    stream_fini(&s);
    free(functions);
    return searched;
}

/* The frame is found, however deep the stack is, and looking for it costs no more than the calls
 * did. */
static void deep_stacks_are_left_at_once(void **state)
{
    (void)state;
    assert_in_range(unwind_all(10000, 3), 1, 3 * 10000 * 4);
    assert_in_range(unwind_all(20000, 3), 1, 3 * 20000 * 4);
}

/* A thread that was only counted needs room for what it ran, not for all code. */
static void counted_threads_cost_what_they_ran(void **state)
{
    (void)state;
    struct stream s;
    struct hp_profile *profile;
    struct hp_profiler *profiler;
    stream_init(&s);
    add_functions(&s);
    for (uint32_t i = 0; i < 1000; i++)
        add_segment(&s, 100 + i, 0x410000 + 2 * i, "eb 00");
    struct hp_functions *functions = new_functions(s.code);
    assert_int_equal(hp_exact_new(s.code, functions, false, &profiler), HP_OK);
    const struct hp_edge_count edges[] = {{.from = 0, .to = 1, .count = 3},
                                          {.from = 0, .to = 1, .count = 4},
                                          {.from = 1, .to = HP_NO_ID, .count = 7}};
    const struct hp_event end = {.kind = HP_EVENT_END, .block = HP_NO_ID};
    for (uint32_t i = 0; i < 3; i++) {
        void *thread;
        assert_int_equal(
            profiler->ops->start_thread(
                profiler, &(struct hp_thread){.id = i, .pid = 1, .tid = (int32_t)i + 1}, &thread),
            HP_OK);
        profiler->ops->edges(thread, edges, 3);
        profiler->ops->event(thread, &end);
        assert_int_equal(((struct hp_exact_thread *)thread)->n_edges, 3);
        assert_int_equal(((struct hp_exact_thread *)thread)->cap_cells, 0);
    }
    assert_int_equal(hp_profile_new(&profile), HP_OK);
    finish_exact(s.code, functions, profiler, profile);
    assert_int_equal(profile->n_block_counts, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_in_range(profile->block_counts[i].item, 0, 1);
        assert_int_equal(profile->block_counts[i].count, 7);
    }
    hp_profile_free(profile);
    profiler->ops->free(profiler);
    stream_fini(&s);
    free(functions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counted_threads_cost_what_they_ran),
        cmocka_unit_test(what_is_never_returned_to_costs_nothing),
        cmocka_unit_test(deep_stacks_are_left_at_once),
        cmocka_unit_test(recursion_counts_once),
        cmocka_unit_test(unwinding_ends_what_was_left),
        cmocka_unit_test(a_loss_starts_a_new_history),
        cmocka_unit_test(contexts_are_a_tree),
        cmocka_unit_test(light_contexts_belong_to_their_parents),
        cmocka_unit_test(what_is_kept_is_right),
        cmocka_unit_test(deep_recursion_belongs_to_the_deepest_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
