// SPDX-License-Identifier: MIT
/* The counts that formats for optimisers are made of: a profile made by hand. Their own readers are
 * in tests/e2e/test_export_optimizers.py. */
#include "export/flows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/*
 * main at 0x100: A (0x100, 16 bytes) ends with a conditional branch at 0x10c, to itself or to B
 * (0x110), which calls f in the library and comes back to C (0x118). D (0x108) is the end of A,
 * jumped to from C.
 */
static struct hp_pmodule modules[] = {{"/lib/lib.so", ""}, {"/bin/prog", ""}};
static struct hp_pthread threads[] = {{1, 1, 0, 0, 0}, {1, 2, 0, 0, 0}};
static struct hp_pfunction functions[] = {
    {{0, 0x10}, 0x10, "f", "f", "", 0},
    {{1, 0x100}, 0x30, "main", "main", "", 0},
};
static struct hp_pblock blocks[] = {
    {{0, 0x10}, 4, 2, 0, HP_FLOW_RETURN, 3, 0},  {{1, 0x100}, 0x10, 4, 1, HP_FLOW_COND, 0xc, 0},
    {{1, 0x108}, 0x8, 2, 1, HP_FLOW_COND, 4, 0}, {{1, 0x110}, 0x8, 2, 1, HP_FLOW_CALL, 3, 0},
    {{1, 0x118}, 0x4, 1, 1, HP_FLOW_JUMP, 0, 0},
};
static struct hp_pcount block_counts[] = {{0, 0, 7}, {1, 0, 60}, {1, 1, 40},
                                          {2, 0, 6}, {3, 0, 7},  {4, 0, 7}};
static struct hp_pedge edges[] = {
    {{0, 0x13}, {1, 0x118}, HP_FLOW_RETURN, 1}, {{1, 0x10c}, {1, 0x100}, HP_FLOW_COND, 1},
    {{1, 0x10c}, {1, 0x110}, HP_FLOW_COND, 0},  {{1, 0x113}, {0, 0x10}, HP_FLOW_CALL, 1},
    {{1, 0x118}, {1, 0x108}, HP_FLOW_JUMP, 1},
};
static struct hp_pcount edge_counts[] = {{0, 0, 7}, {1, 0, 59}, {1, 1, 39},
                                         {2, 0, 7}, {3, 0, 7},  {4, 0, 6}};
static struct hp_ppath paths[] = {
    {"bl", {1, 0x100}, 0, 0, 1, 1},
    {"bl", {1, 0x108}, 1, 0, 1, 1},
    {"bl,metric=instructions", {1, 0x100}, 1, 0, 1, 1},
    {"bl,metric=l1d", {1, 0x100}, 1, 0, 1, 1},
};
static struct hp_pstep steps[] = {
    {0, 0, 1, HP_STEP_FELL},  {0, 1, 3, HP_STEP_CALLED}, {0, 2, 4, HP_STEP_TAKEN},
    {2, 0, 1, HP_STEP_TAKEN}, {3, 0, 1, HP_STEP_TAKEN},
};
static struct hp_ptable_path table_paths[] = {
    {"few bl", 0, 5}, {"few bl", 1, 3}, {"insns", 2, 41}, {"misses a", 3, 9}, {"misses b", 3, 9}};
static struct hp_pinsn insns[] = {{.place = {1, 0x10c}, .text = "", .file = "", .inlined = ""}};
static struct hp_pinsn_tally tallies[] = {
    {.seen = "exact", .insn = 0, .tally = {.events = {[HP_INSN_MISPREDICTED] = 11}}}};
static char *command[] = {"prog", NULL};

#define SET(p, field, array)                                                                       \
    ((p)->field = (array), (p)->n_##field = sizeof(array) / sizeof *(array))

static struct hp_profile profile(void)
{
    struct hp_profile p = {.run = {.command = command, .directory = "/", .arch = HP_ARCH_X86_64}};
    SET(&p, modules, modules);
    SET(&p, threads, threads);
    SET(&p, functions, functions);
    SET(&p, blocks, blocks);
    SET(&p, block_counts, block_counts);
    SET(&p, edges, edges);
    SET(&p, edge_counts, edge_counts);
    SET(&p, paths, paths);
    SET(&p, path_steps, steps);
    SET(&p, table_paths, table_paths);
    return p;
}

static struct hp_flows flows_of(const struct hp_profile *p, const char *table)
{
    struct hp_flows flows;
    struct hp_export_request request = {.profile = p, .module = "prog", .table = table};
    uint32_t module;
    assert_int_equal(hp_export_module(p, request.module, &module), HP_OK);
    assert_int_equal(hp_flows_init(&flows, &request, module), HP_OK);
    return flows;
}

static void exact_counts_are_summed(void **state)
{
    (void)state;
    struct hp_profile p = profile();
    struct hp_flows flows = flows_of(&p, NULL);
    assert_int_equal(flows.module, 1);
    assert_int_equal(flows.first_block, 1);
    assert_int_equal(flows.end_block, 5);
    assert_int_equal(flows.blocks[1], 100);
    assert_int_equal(flows.edges[1], 98);
    assert_int_equal(flows.mispredicted[1], 0);
    assert_int_equal(flows.continued[4], 7); /* behind the call */
    assert_int_equal(flows.continued[3], 0);
    assert_int_equal(flows.instructions, 400 + 12 + 14 + 7);
    hp_flows_fini(&flows);
}

static void overlapping_blocks_add_up(void **state)
{
    (void)state;
    struct hp_profile p = profile();
    struct hp_flows flows = flows_of(&p, NULL);
    const struct hp_flow_range expected[] = {
        {0x100, 0x108, 100}, {0x108, 0x110, 106}, {0x110, 0x118, 7}, {0x118, 0x11c, 7}};
    assert_int_equal(flows.n_ranges, 4);
    assert_memory_equal(flows.ranges, expected, sizeof expected);
    assert_int_equal(hp_flows_executed(&flows, 0xff, 0xff + 1), 0);
    assert_int_equal(hp_flows_executed(&flows, 0x10f, 0x10f + 1), 106);
    assert_int_equal(hp_flows_executed(&flows, 0x11c, 0x11c + 1), 0);
    assert_int_equal(hp_flows_executed(&flows, 0x107, 0x111), 106);
    hp_flows_fini(&flows);
}

static void arrivals_and_entries(void **state)
{
    (void)state;
    struct hp_profile p = profile();
    struct hp_flows flows = flows_of(&p, NULL);
    size_t n;
    const uint32_t *arrivals = hp_flows_arrivals(&flows, 0x118, &n);
    assert_int_equal(n, 1);
    assert_int_equal(arrivals[0], 0);
    hp_flows_arrivals(&flows, 0x119, &n);
    assert_int_equal(n, 0);
    /* 100 executions of the first instruction, of which 98 are turns of the loop. */
    assert_int_equal(hp_flows_entries(&flows, 0x100), 2);
    assert_int_equal(hp_flows_departures(&flows, (struct hp_place){1, 0x113}, &n), 3);
    assert_int_equal(n, 4);
    assert_int_equal(hp_flows_departures(&flows, (struct hp_place){1, 0x10c}, &n), 1);
    assert_int_equal(n, 3);
    assert_int_equal(hp_flows_departures(&flows, (struct hp_place){1, 0x114}, &n), 4);
    assert_int_equal(n, 4);
    assert_ptr_equal(hp_flows_function(&flows, (struct hp_place){0, 0x10}), &functions[0]);
    assert_null(hp_flows_function(&flows, (struct hp_place){0, 0x11}));
    hp_flows_fini(&flows);
}

static void mispredictions_are_shared(void **state)
{
    (void)state;
    struct hp_profile p = profile();
    SET(&p, insns, insns);
    SET(&p, insn_tallies, tallies);
    struct hp_flows flows = flows_of(&p, NULL);
    assert_int_equal(flows.mispredicted[1] + flows.mispredicted[2], 11);
    assert_int_equal(flows.mispredicted[1], 11); /* 98 of 105, rounded down, and what is left */
    hp_flows_fini(&flows);
}

static void tables_count_along_their_paths(void **state)
{
    (void)state;
    struct hp_profile p = profile();
    struct hp_flows flows = flows_of(&p, "few bl");
    hp_flows_fini(&flows);
    flows = flows_of(&p, "few"); /* enough, as there is one */
    assert_int_equal(flows.blocks[1], 5);
    assert_int_equal(flows.blocks[3], 5);
    assert_int_equal(flows.blocks[4], 5);
    assert_int_equal(flows.edges[2], 5); /* fell */
    assert_int_equal(flows.edges[3], 5); /* the call, which has one target */
    assert_int_equal(flows.edges[4], 5); /* its last branch, likewise */
    assert_int_equal(flows.edges[1], 0);
    assert_int_equal(flows.edges[0], 0);
    assert_int_equal(flows.continued[4], 5);
    assert_int_equal(flows.lost, 3); /* a path without steps */
    struct hp_export_request request = {0};
    hp_flows_written(&flows, &request, "things", 5, 6, "elsewhere");
    assert_string_equal(request.written.missing,
                        "elsewhere; 3 executions of paths whose blocks are not in the profile");
    hp_flows_fini(&flows);
    /* 41 instructions of a path of 4 are 10 executions. */
    flows = flows_of(&p, "insns");
    assert_int_equal(flows.blocks[1], 10);
    assert_int_equal(flows.edges[1], 10);
    hp_flows_fini(&flows);
}

/* A computed jump at 0x200, to 0x210 or to 0x220: paths end with it, and begin behind it. */
static void several_targets_are_told_by_where_paths_start(void **state)
{
    (void)state;
    static struct hp_pblock jump_blocks[] = {
        {{1, 0x200}, 2, 1, 1, HP_FLOW_JUMP_IND, 0, 0},
        {{1, 0x210}, 2, 1, 1, HP_FLOW_RETURN, 0, 0},
        {{1, 0x220}, 2, 1, 1, HP_FLOW_RETURN, 0, 0},
    };
    static struct hp_pedge jump_edges[] = {
        {{1, 0x200}, {1, 0x210}, HP_FLOW_JUMP_IND, 1},
        {{1, 0x200}, {1, 0x220}, HP_FLOW_JUMP_IND, 1},
    };
    static struct hp_pstep jump_steps[] = {
        {0, 0, 0, HP_STEP_TAKEN}, {1, 0, 1, HP_STEP_END}, {2, 0, 2, HP_STEP_END}};
    static struct hp_ptable_path jump_paths[] = {{"few", 0, 10}, {"few", 1, 6}, {"few", 2, 3}};
    static struct hp_ppath kinds[] = {{"bl", {1, 0x200}, 0, 0, 1, 1},
                                      {"bl", {1, 0x210}, 0, 0, 1, 1},
                                      {"bl", {1, 0x220}, 0, 0, 1, 1}};
    struct hp_profile p = profile();
    SET(&p, blocks, jump_blocks);
    SET(&p, edges, jump_edges);
    SET(&p, path_steps, jump_steps);
    SET(&p, table_paths, jump_paths);
    SET(&p, paths, kinds);
    p.n_block_counts = p.n_edge_counts = 0;
    struct hp_flows flows = flows_of(&p, "few");
    assert_int_equal(flows.edges[0], 6);
    assert_int_equal(flows.edges[1], 3);
    assert_int_equal(flows.blocks[0], 10);
    hp_flows_fini(&flows);
}

static void assert_refused(const struct hp_profile *p, struct hp_export_request request,
                           const char *why)
{
    struct hp_flows flows = {0};
    uint32_t module;
    request.profile = p;
    enum hp_err err = hp_export_module(p, request.module, &module);
    assert_int_equal(err == HP_OK ? hp_flows_init(&flows, &request, module) : err, HP_ERR_INVALID);
    assert_non_null(strstr(hp_error_text(), why));
    hp_flows_fini(&flows);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    struct hp_profile p = profile();
    assert_refused(&p, (struct hp_export_request){.module = "x"}, "no module 'x'");
    assert_refused(&p, (struct hp_export_request){.table = "none"},
                   "'few bl', 'insns', 'misses a'");
    assert_refused(&p, (struct hp_export_request){.table = "misses"}, "not one table 'misses'");
    assert_refused(&p, (struct hp_export_request){.table = "misses b"}, "L1 data cache misses");
    assert_refused(&p, (struct hp_export_request){.metric = "cycles"}, "--metric cycles");
    p.n_table_paths = 0;
    assert_refused(&p, (struct hp_export_request){.table = "few"}, "no hot path tables");
    p.n_block_counts = 0;
    assert_refused(&p, (struct hp_export_request){0}, "--profile counts");
}

static void assert_left_out(const struct hp_profile *p, struct hp_export_format format,
                            const char *module, const char *expected)
{
    struct hp_export_request request = {.profile = p, .module = module};
    struct hp_strbuf text = {0};
    bool heavier;
    assert_int_equal(hp_export_left_out(&format, &request, &text, &heavier), HP_OK);
    assert_int_equal(heavier, strstr(expected, ", ") != NULL);
    assert_string_equal(hp_strbuf_text(&text), expected);
    hp_strbuf_fini(&text);
}

static void what_one_file_leaves_out_is_told(void **state)
{
    (void)state;
    struct hp_profile p = profile();
    const struct hp_export_format one = {.one_module = true};
    const struct hp_export_format all = {.one_module = true, .all_modules = true};
    static struct hp_pcount counts[] = {{0, 0, 10}, {1, 0, 0}, {2, 0, 0}, {3, 0, 1}};
    SET(&p, block_counts, counts);
    assert_left_out(&p, one, NULL, "prog has 9.1% of the run, lib.so has 90.9%: --module lib.so");
    assert_left_out(&p, all, NULL,
                    "prog has 9.1% of the run, lib.so has 90.9%: --module lib.so, or --module all");
    assert_left_out(&p, all, "lib.so", "lib.so has 90.9% of the run (--module all: all files)");
    assert_left_out(&p, one, "lib.so", "lib.so has 90.9% of the run");
    assert_left_out(&p, all, "all", "");
    assert_left_out(&p, (struct hp_export_format){0}, NULL, "");
    p.n_block_counts = 1;
    assert_left_out(&p, one, "lib.so", "");
}

static void parts_of_names_are_enough(void **state)
{
    (void)state;
    struct hp_profile p = profile();
    uint32_t module;
    assert_int_equal(hp_export_module(&p, "lib", &module), HP_OK);
    assert_int_equal(module, 0);
    assert_int_equal(hp_export_module(&p, "", &module), HP_ERR_INVALID);
}

static void the_program_is_found(void **state)
{
    (void)state;
    struct hp_profile p = profile();
    uint32_t module;
    assert_int_equal(hp_export_module(&p, NULL, &module), HP_OK);
    assert_int_equal(module, 1);
    assert_int_equal(hp_export_module(&p, "/lib/lib.so", &module), HP_OK);
    assert_int_equal(module, 0);
    /* A command that says nothing: there is one main(). */
    static char *other[] = {"/no/such/thing", NULL};
    p.run.command = other;
    assert_int_equal(hp_export_module(&p, NULL, &module), HP_OK);
    assert_int_equal(module, 1);
    p.n_functions = 1;
    assert_int_equal(hp_export_module(&p, NULL, &module), HP_ERR_INVALID);
    assert_non_null(strstr(hp_error_text(), "lib.so, prog"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_counts_are_summed),
        cmocka_unit_test(overlapping_blocks_add_up),
        cmocka_unit_test(arrivals_and_entries),
        cmocka_unit_test(mispredictions_are_shared),
        cmocka_unit_test(tables_count_along_their_paths),
        cmocka_unit_test(several_targets_are_told_by_where_paths_start),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(the_program_is_found),
        cmocka_unit_test(what_one_file_leaves_out_is_told),
        cmocka_unit_test(parts_of_names_are_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
