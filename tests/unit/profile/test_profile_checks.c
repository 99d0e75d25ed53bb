// SPDX-License-Identifier: MIT
/* What a profile may not say, and the normal form of one in any order. */
#include "base/compare.h"
#include "profile_fixture.h"

/* --- Loops and hot spots ---------------------------------------------------------------------- */

/* The rows of a profile. */
static size_t n_rows(const struct hp_profile *p)
{
    size_t n = 0;
    for (int i = 0; i < HP_ROW_KINDS; i++)
        n += hp_profile_n_rows(p, (enum hp_row_kind)i);
    return n;
}

/* One thing is wrong in the profile: the rest stays, and a note says so. */
static void check_mending(struct hp_profile *p, int fault)
{
    const char *what;
    size_t rows = n_rows(p), notes = p->n_notes;
    assert_int_equal(hp_profile_mend(p, &what), HP_OK);
    if (!what || n_rows(p) + 20 < rows)
        fail_msg("fault %d: %zu rows of %zu stay, \"%s\"", fault, n_rows(p), rows, what);
    assert_int_equal(p->n_notes, notes + 1);
    assert_string_equal(p->notes[notes].kind, "mended");
    assert_string_equal(p->notes[notes].text, what);
    assert_int_equal(p->notes[notes].count, 1);
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_int_equal(hp_profile_mend(p, &what), HP_OK);
    assert_null(what);
}

/* What was told apart wrongly goes, what was counted stays. */
static void a_loop_that_contradicts_itself_keeps_its_counts(void **state)
{
    (void)state;
    struct hp_profile *p = random_profile(5, 20);
    const char *what;
    uint64_t executions = p->loop_counts[3].executions;
    p->loop_counts[3].same = executions + 60;
    assert_int_equal(hp_profile_mend(p, &what), HP_OK);
    assert_non_null(strstr(what, "loop counter 3"));
    assert_int_equal(p->loop_counts[3].executions, executions);
    assert_int_equal(p->loop_counts[3].max, 0);
    p->loop_counts[3].executions = p->loop_counts[3].iterations + 1;
    size_t n = p->n_loop_counts, loops = p->n_loops;
    assert_int_equal(hp_profile_mend(p, &what), HP_OK);
    assert_int_equal(p->n_loop_counts, n - 1);
    assert_int_equal(p->n_loops, loops);
    hp_profile_free(p);
}

/* Every way to be wrong is refused, and leaves the profile as it was. */
static void bad_indices_are_refused(void **state)
{
    (void)state;
    for (int fault = 0; fault < 72; fault++) {
        struct hp_profile *p = random_profile(5, 20), *q = random_profile(5, 20);
        for (int side = 0; side < 2; side++) {
            struct hp_profile *x = side ? q : p;
            uint32_t many = 100000;
            switch (fault) {
            case 0: x->functions[3].place.module = many; break;
            case 1: x->blocks[3].place.module = many; break;
            case 2: x->blocks[3].function = many; break;
            case 3: x->blocks[3].flow = HP_FLOW_COUNT_; break;
            case 4: x->blocks[3].branch = x->blocks[3].size + 1; break;
            case 5: x->edges[3].from.module = many; break;
            case 6: x->edges[3].to.module = many; break;
            case 7: x->edges[3].flow = 99; break;
            case 8: x->edges[3].taken = 2; break;
            case 9: x->calls[3].caller = many; break;
            case 10: x->lines[3].block = HP_PROFILE_NONE; break;
            case 11: x->lines[3].to = many; break;
            case 12: x->block_counts[3].item = HP_PROFILE_NONE; break;
            case 13: x->edge_counts[3].thread = 3; break;
            case 14: x->function_counts[3].item = (uint32_t)x->n_functions; break;
            case 15: x->call_counts[3].item = (uint32_t)x->n_calls; break;
            case 16: x->run.arch = HP_ARCH_COUNT_; break;
            case 17: x->paths[3].start.module = many; break;
            case 18: x->paths[3].function = many; break;
            case 19: x->paths[3].length = 65; break;
            case 20: x->paths[3].length = 0, x->paths[3].outcomes = 1; break;
            case 21: x->path_steps[3].path = (uint32_t)x->n_paths; break;
            case 22: x->path_steps[3].block = HP_PROFILE_NONE; break;
            case 23: x->path_steps[3].how = HP_STEP_END + 1; break;
            case 24: x->path_counts[3].thread = 3; break;
            case 25: x->stats[3].unit = HP_STAT_SHARE + 1; break;
            case 26: x->loops[3].header.module = many; break;
            case 27: x->loops[3].function = many; break;
            case 28: x->loops[3].parent = many; break;
            case 29: x->loops[3].parent = 3; break;
            case 30: x->loops[3].parent = 6, x->loops[6].parent = 9, x->loops[9].parent = 3; break;
            case 31: x->loops[3].parent = 4; break; /* of another function */
            case 32: x->loops[3].flags = 2; break;
            case 33: x->loops[3].first_line = 9, x->loops[3].last_line = 8; break;
            case 34: x->loop_counts[3].item = (uint32_t)x->n_loops; break;
            case 35: x->loop_counts[3].thread = 3; break;
            case 36: x->loop_counts[3].executions = x->loop_counts[3].iterations + 1; break;
            case 37: x->loop_counts[3].min = x->loop_counts[3].max + 1; break;
            case 38: x->loop_counts[3].max = x->loop_counts[3].iterations + 1; break;
            case 39: x->loop_counts[3].same = x->loop_counts[3].executions + 1; break;
            case 40: x->loop_counts[3].interrupted = x->loop_counts[3].executions + 1; break;
            case 41: x->loop_trips[3].loop = HP_PROFILE_NONE; break;
            case 42: x->loop_trips[3].bucket = 1, x->loop_trips[3].value = 64; break;
            case 43: x->loop_trips[3].bucket = 0, x->loop_trips[3].value = 0; break;
            case 44: x->loop_blocks[3].block = many; break;
            case 45: x->model_loops[3].loop = many; break;
            case 46: x->model_loops[3].target.module = many; break;
            case 47: x->hotspots[3].after = x->hotspots[3].total + 1; break;
            case 48: x->hotspot_branches[3].hotspot = HP_PROFILE_NONE; break;
            case 49: x->hotspot_branches[3].flow = HP_FLOW_COUNT_; break;
            case 50: x->hotspot_branches[3].taken = x->hotspot_branches[3].executed + 1; break;
            case 51: x->hotspot_blocks[3].block = many; break;
            case 52: x->hotspot_slices[3].width = 0; break;
            case 53: x->hotspot_slices[3].hotspot = many; break;
            case 54: x->insns[3].place.module = many; break;
            case 55: x->insns[3].function = many; break;
            case 56: x->insns[3].op = HP_OP_COUNT_; break;
            case 57: x->insns[3].flow = HP_FLOW_COUNT_; break;
            case 58: x->insn_tallies[3].insn = HP_PROFILE_NONE; break;
            case 59: x->insn_tallies[3].tally.fetched = 0; break;
            case 60: x->insn_tallies[3].tally.events[HP_INSN_L2] = 9; break;
            case 61: x->insn_tallies[3].useful = 9; break;
            case 62: x->insn_cycles[3].insn = many; break;
            case 63: x->insn_cycles[3].cause = HP_CAUSES; break;
            case 64: x->attributions[3].insn = many; break;
            case 65: x->waits[3].producer = many; break;
            case 66: x->samplers[1].interval = 0; break;
            case 67: x->windows[3].thread = 3; break;
            case 68: /* one name, two meanings */
                x->samplers[0].name = x->samplers[1].name;
                x->samplers[0].interval = x->samplers[1].interval + 1;
                break;
            case 69: x->path_times[3].path = many; break;
            case 70: x->path_cycles[3].path = HP_PROFILE_NONE; break;
            case 71: x->path_cycles[3].cause = HP_CAUSES; break;
            }
        }
        assert_int_equal(hp_profile_normalize(p), HP_ERR_INVALID);
        assert_true(*hp_error_text());
        assert_true(same_profiles(p, q));
        check_mending(p, fault);
        hp_profile_free(p);
        hp_profile_free(q);
    }
}

/* --- The same profile in another order -------------------------------------------------------- */

static uint32_t *permutation(uint64_t *state, size_t n)
{
    uint32_t *order = malloc((n + 1) * sizeof *order);
    for (size_t i = 0; i < n; i++) {
        size_t j = random_below(state, i + 1);
        order[i] = order[j];
        order[j] = (uint32_t)i;
    }
    return order;
}

static void follow(uint32_t *index, const uint32_t *order)
{
    if (*index != HP_PROFILE_NONE)
        *index = order[*index];
}

static void shuffle_regions(struct hp_profile *p, uint32_t **order)
{
    for (size_t i = 0; i < p->n_loops; i++) {
        follow(&p->loops[i].header.module, order[HP_ROW_MODULE]);
        follow(&p->loops[i].function, order[HP_ROW_FUNCTION]);
        follow(&p->loops[i].parent, order[HP_ROW_LOOP]);
    }
    for (size_t i = 0; i < p->n_loop_counts; i++)
        follow(&p->loop_counts[i].item, order[HP_ROW_LOOP]);
    for (size_t i = 0; i < p->n_loop_trips; i++)
        follow(&p->loop_trips[i].loop, order[HP_ROW_LOOP]);
    for (size_t i = 0; i < p->n_loop_blocks; i++) {
        follow(&p->loop_blocks[i].loop, order[HP_ROW_LOOP]);
        follow(&p->loop_blocks[i].block, order[HP_ROW_BLOCK]);
    }
    for (size_t i = 0; i < p->n_model_loops; i++) {
        follow(&p->model_loops[i].branch.module, order[HP_ROW_MODULE]);
        follow(&p->model_loops[i].target.module, order[HP_ROW_MODULE]);
        follow(&p->model_loops[i].function, order[HP_ROW_FUNCTION]);
        follow(&p->model_loops[i].loop, order[HP_ROW_LOOP]);
    }
    for (size_t i = 0; i < p->n_hotspot_branches; i++) {
        follow(&p->hotspot_branches[i].hotspot, order[HP_ROW_HOTSPOT]);
        follow(&p->hotspot_branches[i].branch.module, order[HP_ROW_MODULE]);
    }
    for (size_t i = 0; i < p->n_hotspot_blocks; i++) {
        follow(&p->hotspot_blocks[i].hotspot, order[HP_ROW_HOTSPOT]);
        follow(&p->hotspot_blocks[i].block, order[HP_ROW_BLOCK]);
    }
    for (size_t i = 0; i < p->n_hotspot_slices; i++)
        follow(&p->hotspot_slices[i].hotspot, order[HP_ROW_HOTSPOT]);
}

static void shuffle_contexts(struct hp_profile *p, uint32_t **order)
{
    for (size_t i = 0; i < p->n_contexts; i++) {
        follow(&p->contexts[i].parent, order[HP_ROW_CONTEXT]);
        follow(&p->contexts[i].function, order[HP_ROW_FUNCTION]);
    }
    for (size_t i = 0; i < p->n_context_counts; i++)
        follow(&p->context_counts[i].item, order[HP_ROW_CONTEXT]);
    for (size_t i = 0; i < p->n_syscalls; i++) {
        follow(&p->syscalls[i].context, order[HP_ROW_CONTEXT]);
        follow(&p->syscalls[i].function, order[HP_ROW_FUNCTION]);
    }
    for (size_t i = 0; i < p->n_context_rests; i++)
        follow(&p->context_rests[i].item, order[HP_ROW_CONTEXT]);
    for (size_t i = 0; i < p->n_table_paths; i++)
        follow(&p->table_paths[i].path, order[HP_ROW_PATH]);
}

static void shuffle_insns(struct hp_profile *p, uint32_t **order)
{
    for (size_t i = 0; i < p->n_insns; i++) {
        follow(&p->insns[i].place.module, order[HP_ROW_MODULE]);
        follow(&p->insns[i].function, order[HP_ROW_FUNCTION]);
    }
    for (size_t i = 0; i < p->n_insn_tallies; i++)
        follow(&p->insn_tallies[i].insn, order[HP_ROW_INSN]);
    for (size_t i = 0; i < p->n_insn_cycles; i++)
        follow(&p->insn_cycles[i].insn, order[HP_ROW_INSN]);
    for (size_t i = 0; i < p->n_attributions; i++)
        follow(&p->attributions[i].insn, order[HP_ROW_INSN]);
    for (size_t i = 0; i < p->n_waits; i++) {
        follow(&p->waits[i].insn, order[HP_ROW_INSN]);
        follow(&p->waits[i].producer, order[HP_ROW_INSN]);
    }
}

static void shuffle_samples(struct hp_profile *p, uint32_t **order)
{
    for (size_t i = 0; i < p->n_function_samples; i++)
        follow(&p->function_samples[i].item, order[HP_ROW_FUNCTION]);
    for (size_t i = 0; i < p->n_block_samples; i++)
        follow(&p->block_samples[i].item, order[HP_ROW_BLOCK]);
    for (size_t i = 0; i < p->n_edge_samples; i++)
        follow(&p->edge_samples[i].item, order[HP_ROW_EDGE]);
    for (size_t i = 0; i < p->n_path_samples; i++)
        follow(&p->path_samples[i].item, order[HP_ROW_PATH]);
    for (size_t i = 0; i < p->n_loop_samples; i++)
        follow(&p->loop_samples[i].item, order[HP_ROW_LOOP]);
    for (size_t i = 0; i < p->n_loops_seen; i++)
        follow(&p->loops_seen[i].loop, order[HP_ROW_LOOP]);
    for (size_t i = 0; i < p->n_insn_overlaps; i++)
        follow(&p->insn_overlaps[i].insn, order[HP_ROW_INSN]);
    for (size_t i = 0; i < p->n_run_cycles; i++) {
        follow(&p->run_cycles[i].first, order[HP_ROW_BLOCK]);
        follow(&p->run_cycles[i].last, order[HP_ROW_BLOCK]);
    }
}

static void shuffle(struct hp_profile *p, uint64_t seed)
{
    uint64_t state = seed;
    uint32_t *order[HP_ROW_KINDS];
    for (int i = 0; i < HP_ROW_KINDS; i++) {
        order[i] = permutation(&state, *hp_profile_rows(p, (enum hp_row_kind)i).n);
        if (i != HP_ROW_THREAD)
            permute(p, (enum hp_row_kind)i, order[i]);
    }
    for (size_t i = 0; i < p->n_functions; i++)
        follow(&p->functions[i].place.module, order[HP_ROW_MODULE]);
    for (size_t i = 0; i < p->n_blocks; i++) {
        follow(&p->blocks[i].place.module, order[HP_ROW_MODULE]);
        follow(&p->blocks[i].function, order[HP_ROW_FUNCTION]);
    }
    for (size_t i = 0; i < p->n_edges; i++) {
        follow(&p->edges[i].from.module, order[HP_ROW_MODULE]);
        follow(&p->edges[i].to.module, order[HP_ROW_MODULE]);
    }
    for (size_t i = 0; i < p->n_calls; i++) {
        follow(&p->calls[i].caller, order[HP_ROW_FUNCTION]);
        follow(&p->calls[i].callee, order[HP_ROW_FUNCTION]);
    }
    for (size_t i = 0; i < p->n_lines; i++)
        follow(&p->lines[i].block, order[HP_ROW_BLOCK]);
    for (size_t i = 0; i < p->n_block_counts; i++)
        follow(&p->block_counts[i].item, order[HP_ROW_BLOCK]);
    for (size_t i = 0; i < p->n_edge_counts; i++)
        follow(&p->edge_counts[i].item, order[HP_ROW_EDGE]);
    for (size_t i = 0; i < p->n_function_counts; i++)
        follow(&p->function_counts[i].item, order[HP_ROW_FUNCTION]);
    for (size_t i = 0; i < p->n_call_counts; i++)
        follow(&p->call_counts[i].item, order[HP_ROW_CALL]);
    for (size_t i = 0; i < p->n_paths; i++) {
        follow(&p->paths[i].start.module, order[HP_ROW_MODULE]);
        follow(&p->paths[i].function, order[HP_ROW_FUNCTION]);
    }
    for (size_t i = 0; i < p->n_path_steps; i++) {
        follow(&p->path_steps[i].path, order[HP_ROW_PATH]);
        follow(&p->path_steps[i].block, order[HP_ROW_BLOCK]);
    }
    for (size_t i = 0; i < p->n_path_counts; i++)
        follow(&p->path_counts[i].item, order[HP_ROW_PATH]);
    for (size_t i = 0; i < p->n_path_times; i++)
        follow(&p->path_times[i].path, order[HP_ROW_PATH]);
    for (size_t i = 0; i < p->n_path_cycles; i++)
        follow(&p->path_cycles[i].path, order[HP_ROW_PATH]);
    shuffle_contexts(p, order);
    shuffle_regions(p, order);
    shuffle_insns(p, order);
    shuffle_samples(p, order);
    for (size_t i = 0; i < p->n_inlined_ranges; i++) {
        follow(&p->inlined_ranges[i].block, order[HP_ROW_BLOCK]);
        follow(&p->inlined_ranges[i].inlined, order[HP_ROW_INLINED]);
    }
    for (int i = 0; i < HP_ROW_KINDS; i++)
        free(order[i]);
}

static void normal_form_does_not_depend_on_the_order(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct hp_profile *p = random_profile(seed, 1 + seed * 5);
        struct hp_profile *q = random_profile(seed, 1 + seed * 5);
        shuffle(q, seed + 1000);
        assert_int_equal(hp_profile_normalize(p), HP_OK);
        assert_int_equal(hp_profile_normalize(q), HP_OK);
        assert_int_equal(hp_profile_check_normal(p), HP_OK);
        assert_true(same_profiles(p, q));
        /* And once more from the normal form: the same again. */
        shuffle(q, seed + 2000);
        assert_int_equal(hp_profile_normalize(q), HP_OK);
        assert_true(same_profiles(p, q));
        assert_int_equal(hp_profile_normalize(q), HP_OK);
        assert_true(same_profiles(p, q));
        hp_profile_free(p);
        hp_profile_free(q);
    }
}

/* The slow, obvious way: the sum of the counters of a block found by what it is. */
static uint64_t count_at(const struct hp_profile *p, const char *build_id, const char *path,
                         const struct hp_pblock *like)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < p->n_block_counts; i++) {
        const struct hp_pblock *block = &p->blocks[p->block_counts[i].item];
        if (block->place.offset != like->place.offset || block->size != like->size ||
            block->version != like->version || block->flow != like->flow ||
            (block->place.module == HP_PROFILE_NONE) != (like->place.module == HP_PROFILE_NONE))
            continue;
        if (block->place.module != HP_PROFILE_NONE) {
            const struct hp_pmodule *module = &p->modules[block->place.module];
            if (strcmp(module->build_id, build_id) != 0 ||
                (!*build_id && strcmp(module->path, path) != 0))
                continue;
        }
        sum += p->block_counts[i].count;
    }
    return sum;
}

static void normalizing_keeps_the_sums_of_each_block(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct hp_profile *raw = random_profile(seed, 60), *p = random_profile(seed, 60);
        assert_int_equal(hp_profile_normalize(p), HP_OK);
        for (size_t i = 0; i < raw->n_blocks; i++) {
            uint32_t m = raw->blocks[i].place.module;
            const char *id = m == HP_PROFILE_NONE ? "" : raw->modules[m].build_id;
            const char *path = m == HP_PROFILE_NONE ? "" : raw->modules[m].path;
            assert_int_equal(count_at(raw, id, path, &raw->blocks[i]),
                             count_at(p, id, path, &raw->blocks[i]));
        }
        hp_profile_free(raw);
        hp_profile_free(p);
    }
}

/* Keys of more bits than a number has: what a number does not tell is compared. */
static void long_keys_are_sorted_to_the_last_bit(void **state)
{
    (void)state;
    enum { ROWS = 3000 };
    struct hp_profile *p;
    struct hp_pmodule *module;
    struct hp_pthread *thread;
    uint64_t random = 1;
    assert_int_equal(hp_profile_new(&p), HP_OK);
    assert_int_equal(hp_profile_add_module(p, &module), HP_OK);
    assert_int_equal(hp_profile_add_thread(p, &thread), HP_OK);
    for (uint32_t i = 0; i < ROWS; i++) {
        struct hp_pedge *edge;
        struct hp_pcount *count;
        random = random * 6364136223846793005u + 1442695040888963407u;
        assert_int_equal(hp_profile_add_edge(p, &edge), HP_OK);
        edge->from.offset = (random >> 63) << 62 | (random >> 60 & 1);
        edge->to.offset = (random >> 56 & 7) << 61 | (random >> 50 & 7);
        edge->taken = random >> 40 & 1;
        assert_int_equal(hp_profile_add_edge_count(p, &count), HP_OK);
        *count = (struct hp_pcount){.item = i, .count = 1};
    }
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_int_equal(p->n_edges, 4 * 64 * 2);
    assert_int_equal(p->n_edge_counts, p->n_edges);
    uint64_t sum = p->edge_counts[0].count;
    for (size_t i = 1; i < p->n_edges; i++) {
        const struct hp_pedge *a = &p->edges[i - 1], *b = &p->edges[i];
        assert_true((HP_COMPARE(a->from.offset, b->from.offset)
                         ?: HP_COMPARE(a->to.offset, b->to.offset)
                         ?: HP_COMPARE(a->taken, b->taken)) < 0);
        sum += p->edge_counts[i].count;
    }
    assert_int_equal(sum, ROWS);
    hp_profile_free(p);
}

/* In place or in copies, with one check or two. */
static void settling_is_mending_and_normalizing(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct hp_profile *p = random_profile(seed, 60), *q = random_profile(seed, 60);
        const char *what;
        assert_int_equal(hp_profile_mend(p, &what), HP_OK);
        assert_int_equal(hp_profile_normalize(p), HP_OK);
        assert_int_equal(hp_profile_settle(q, &what), HP_OK);
        assert_true(same_profiles(p, q));
        hp_profile_free(p);
        hp_profile_free(q);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_indices_are_refused),
        cmocka_unit_test(a_loop_that_contradicts_itself_keeps_its_counts),
        cmocka_unit_test(normal_form_does_not_depend_on_the_order),
        cmocka_unit_test(normalizing_keeps_the_sums_of_each_block),
        cmocka_unit_test(long_keys_are_sorted_to_the_last_bit),
        cmocka_unit_test(settling_is_mending_and_normalizing),
    };
    return cmocka_run_group_tests_name("profile checks", tests, NULL, NULL);
}
