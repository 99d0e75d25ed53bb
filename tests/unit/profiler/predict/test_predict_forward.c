// SPDX-License-Identifier: MIT
/*
 * The fast detector of forward paths against the slow reference of all paths: random programs,
 * shown as engines show them, block by block and in runs, with signals, losses and code that is cut
 * short.
 */
#include "profiler/predict/branches.h"
#include "profiler/predict/forward.h"
#include "program_fixture.h"
#include "support/path_reference.h"

/* --- What was found --------------------------------------------------------------------------- */

struct found_path {
    struct hp_path path;
    uint64_t targets[HP_PATH_MAX_LENGTH];
};

struct list {
    struct found_path *paths;
    size_t n, cap;
};

static void add_path(struct list *list, const struct hp_path *path, const uint64_t *targets)
{
    assert_int_equal(hp_grow(&list->paths, &list->cap, list->n + 1, sizeof *list->paths), HP_OK);
    struct found_path *found = &list->paths[list->n++];
    found->path = *path;
    for (unsigned i = 0; i < path->n_targets; i++)
        found->targets[i] = targets[i];
}

static void compare(const struct list *want, const struct list *have)
{
    assert_int_equal(want->n, have->n);
    for (size_t i = 0; i < want->n; i++) {
        const struct hp_path *a = &want->paths[i].path, *b = &have->paths[i].path;
        assert_true(hp_path_same(a, b));
        assert_int_equal(a->n_targets, b->n_targets);
        assert_memory_equal(want->paths[i].targets, have->paths[i].targets,
                            a->n_targets * sizeof(uint64_t));
    }
}

/* --- The reference ---------------------------------------------------------------------------- */

struct slow {
    struct hp_sink sink; /* first */
    struct reference *reference;
    struct list list;
};

static void slow_found(void *context, const struct reference_path *path)
{
    struct hp_path descriptor = reference_descriptor(path);
    add_path(context, &descriptor, path->targets);
}

static void slow_batch(struct hp_sink *sink, const struct hp_batch *batch)
{
    reference_batch(((struct slow *)sink)->reference, batch);
}

static void slow_event(struct hp_sink *sink, const struct hp_event *event)
{
    reference_event(((struct slow *)sink)->reference, event);
}

static void slow_init(struct slow *slow, uint32_t max_length)
{
    struct hp_ppcr ppcr;
    *slow = (struct slow){.sink = {.batch = slow_batch, .event = slow_event}};
    assert_true(reference_preset("forward", &ppcr));
    ppcr.max_length = max_length;
    slow->reference = reference_new(&ppcr, NULL, slow_found, &slow->list);
}

/* --- The fast one ----------------------------------------------------------------------------- */

struct fast {
    struct hp_sink sink; /* first */
    struct hp_flow_sink flow;
    struct hp_index *index;
    struct hp_forward *forward;
    struct hp_forward_thread *thread;
    struct list list;
};

static void fast_batch(struct hp_sink *sink, const struct hp_batch *batch)
{
    hp_forward_batch(((struct fast *)sink)->thread, batch);
}

static void fast_steps(struct hp_sink *sink, const struct hp_steps *steps)
{
    hp_forward_steps(((struct fast *)sink)->thread, steps);
}

static void fast_event(struct hp_sink *sink, const struct hp_event *event)
{
    hp_forward_event(((struct fast *)sink)->thread, event);
}

static void fast_flow(struct hp_flow_sink *sink, const uint32_t *paths, size_t n)
{
    struct fast *fast = (struct fast *)((char *)sink - offsetof(struct fast, flow));
    for (size_t i = 0; i < n; i++) {
        const struct hp_indexed_path *p = &hp_index_paths(fast->index)[paths[i]];
        struct hp_path path = {.start = p->start,
                               .outcomes = p->outcomes,
                               .targets = p->targets,
                               .block = p->block,
                               .length = p->length,
                               .n_targets = p->n_targets};
        add_path(&fast->list, &path, hp_index_targets(fast->index) + p->first_target);
    }
}

static void fast_init(struct fast *fast, struct hp_code *code, uint32_t max_length,
                      size_t max_nodes, bool by_steps)
{
    *fast =
        (struct fast){.sink = {.batch = fast_batch, .event = fast_event}, .flow.flow = fast_flow};
    if (by_steps)
        fast->sink.steps = fast_steps;
    assert_int_equal(hp_index_new(0, 0, &fast->index), HP_OK);
    assert_int_equal(
        hp_forward_new(code, fast->index, max_length, &fast->flow, max_nodes, &fast->forward),
        HP_OK);
    assert_int_equal(hp_forward_thread_new(fast->forward, &fast->thread), HP_OK);
}

static void fast_fini(struct fast *fast)
{
    hp_forward_free(fast->forward);
    hp_index_free(fast->index);
    free(fast->list.paths);
}

/* --- Both ------------------------------------------------------------------------------------- */

/* The words with losses in between. */
static size_t with_losses(struct program *p, uint32_t percent, uint32_t *words)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_words;) {
        if (chance(p, percent)) {
            words[n++] = EVENT(LOST, HP_LOST_UNKNOWN);
            words[n++] = 0;
            words[n++] = 0;
        }
        int more = p->words[i] & HP_WORD_EVENT ? hp_word_payload(p->words[i]) : 0;
        for (int k = 0; k <= more; k++)
            words[n++] = p->words[i++];
    }
    return n;
}

static void play(struct hp_code *code, struct hp_sink *sink, const uint32_t *words, size_t n)
{
    struct hp_cursor *cursor;
    assert_int_equal(hp_cursor_new(code, NULL, sink, &cursor), HP_OK);
    for (size_t i = 0; i < n; i += 100)
        assert_int_equal(hp_cursor_feed(cursor, words + i, n - i < 100 ? n - i : 100), HP_OK);
    assert_int_equal(hp_cursor_end(cursor, HP_END_EXIT), HP_OK);
    hp_cursor_free(cursor);
}

struct sum {
    uint64_t paths, targets, splits, flushes, purges;
};

static void run_fast(struct program *p, struct stream *s, const struct slow *slow,
                     uint32_t max_length, const uint32_t *words, size_t n, struct sum *sum)
{
    const struct hp_detector_stats *stats = reference_stats(slow->reference);
    for (int by_steps = 0; by_steps < 2; by_steps++) {
        struct fast fast;
        fast_init(&fast, s->code, max_length, chance(p, 30) ? 8 : 0, by_steps);
        play(s->code, &fast.sink, words, n);
        compare(&slow->list, &fast.list);
        assert_int_equal(hp_forward_check(fast.forward), HP_OK);
        const struct hp_forward_counts *counts = hp_forward_counts(fast.thread);
        assert_int_equal(counts->instructions, stats->instructions);
        assert_int_equal(counts->blocks, stats->blocks);
        assert_int_equal(counts->branches, stats->branches);
        sum->flushes += hp_forward_stats(fast.forward)->flushes;
        fast_fini(&fast);
    }
    sum->splits += stats->splits;
    sum->purges += stats->purges;
}

static void run_seed(uint64_t seed, bool native, struct sum *sum)
{
    static const uint32_t lengths[] = {1, 2, 3, 7, 32, 64};
    struct program p;
    struct stream s;
    struct slow slow;
    program_init(&p, seed);
    if (native)
        program_make_native(&p);
    uint32_t max_length = lengths[random_below(&p.seed, 6)];
    stream_init(&s);
    program_run(&p, &s, 50 + random_below(&p.seed, 600));
    uint32_t *words = malloc(p.n_words * 4 * sizeof *words);
    size_t n = with_losses(&p, chance(&p, 50) ? 0 : 1, words);
    slow_init(&slow, max_length);
    play(s.code, &slow.sink, words, n);
    sum->paths += slow.list.n;
    for (size_t i = 0; i < slow.list.n; i++)
        sum->targets += slow.list.paths[i].path.n_targets;
    run_fast(&p, &s, &slow, max_length, words, n, sum);
    reference_free(slow.reference);
    free(slow.list.paths);
    free(words);
    stream_fini(&s);
    program_fini(&p);
}

static void block_by_block_it_finds_what_the_reference_finds(void **state)
{
    (void)state;
    struct sum sum = {0};
    for (uint64_t seed = 1; seed <= 400; seed++)
        run_seed(seed, false, &sum);
    assert_true(sum.paths > 10000 && sum.targets > 1000 && sum.splits > 1000);
    assert_true(sum.flushes > 100 && sum.purges > 100);
}

static void in_runs_it_finds_what_the_reference_finds(void **state)
{
    (void)state;
    struct sum sum = {0};
    for (uint64_t seed = 1; seed <= 400; seed++)
        run_seed(seed, true, &sum);
    assert_true(sum.paths > 10000 && sum.targets > 1000 && sum.splits > 1000);
    assert_true(sum.flushes > 100 && sum.purges > 100);
}

/* --- Branches of paths ------------------------------------------------------------------------ */

/* Going along the branches of a path has to give the path again. */
static void check_branches(struct hp_branch_finder *finder, const struct found_path *found)
{
    struct hp_flow_branch branches[HP_PATH_MAX_LENGTH];
    const struct hp_path *path = &found->path;
    size_t n = finder->source.branches(&finder->source, path, found->targets, branches);
    uint64_t outcomes = 0;
    unsigned n_targets = 0;
    assert_int_equal(n, path->length);
    for (size_t i = 0; i < n; i++) {
        const struct hp_flow_branch *b = &branches[i];
        outcomes = outcomes << 1 | b->taken;
        bool back = b->taken && b->target <= b->address;
        assert_true(!back || i == n - 1);
        if (b->taken && b->indirect && !back)
            assert_int_equal(b->target, found->targets[n_targets++]);
        if (i)
            assert_true(b->address >= branches[i - 1].target);
    }
    assert_int_equal(outcomes, path->outcomes);
    assert_int_equal(n_targets, path->n_targets);
}

static void branches_of_a_path_are_found(void **state)
{
    (void)state;
    size_t paths = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct program p;
        struct stream s;
        struct slow slow;
        struct hp_branch_finder finder;
        program_init(&p, seed);
        program_make_native(&p);
        p.faults = p.restarts = 0; /* blocks that were cut short start where others do */
        stream_init(&s);
        program_run(&p, &s, 300);
        slow_init(&slow, 64);
        play(s.code, &slow.sink, p.words, p.n_words);
        hp_branch_finder_init(&finder, s.code);
        for (size_t i = 0; i < slow.list.n; i++)
            check_branches(&finder, &slow.list.paths[i]);
        paths += slow.list.n;
        hp_branch_finder_fini(&finder);
        reference_free(slow.reference);
        free(slow.list.paths);
        stream_fini(&s);
        program_fini(&p);
    }
    assert_true(paths > 2000);
}

static void lengths_out_of_range_are_refused(void **state)
{
    (void)state;
    struct hp_forward *forward;
    struct hp_index *index;
    assert_int_equal(hp_index_new(0, 0, &index), HP_OK);
    assert_int_equal(hp_forward_new(NULL, index, 0, NULL, 0, &forward), HP_ERR_INVALID);
    assert_int_equal(hp_forward_new(NULL, index, 65, NULL, 0, &forward), HP_ERR_INVALID);
    assert_string_equal(hp_error_text(), "paths of 65 branches: 1 to 64 are possible");
    hp_index_free(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_by_block_it_finds_what_the_reference_finds),
        cmocka_unit_test(in_runs_it_finds_what_the_reference_finds),
        cmocka_unit_test(branches_of_a_path_are_found),
        cmocka_unit_test(lengths_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
