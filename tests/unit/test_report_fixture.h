// SPDX-License-Identifier: MIT
/*
 * A small profile made by hand, the numbers of which can be checked on paper, and what the tests of
 * the report share. Each test program includes it once.
 *
 * Two threads run `work`, which loops and calls `helper` in a library, and code without a symbol.
 *   block 0  demo+0x1000  work     4 insns  10 times (thread 0: 6, thread 1: 4)      40
 *   block 1  demo+0x1010  work     6 insns  100 times (60, 40)                      600
 *   block 2  demo+0x1016  work     4 insns  5 times (5, 0): the end of block 1       20
 *   block 3  demo+0x2000  (none)   8 insns  5 times (5, 0)                           40
 *   block 4  libx.so+0x500 helper  3 insns  100 times (60, 40)                      300
 * so 1000 instructions: 624 of thread 0 and 376 of thread 1.
 *
 * With fixture_add_loops() also loops, what a model says of them, and hot spots: `work` has two loops, one in the other, of 10 iterations each time.
 * With fixture_add_paths() also paths (of blocks that did not quite follow each other), model statistics, predictions.
 */
#ifndef TEST_REPORT_FIXTURE_H
#define TEST_REPORT_FIXTURE_H

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "hotpath/cycles.h"
#include "hotpath/profile.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *fixture_command[] = {"./demo", "two words", "it's", NULL};

static struct hp_pmodule fixture_modules[] = {{"/opt/demo", "aa11"}, {"/usr/lib/libx.so", ""}};

static struct hp_pthread fixture_threads[] = {{100, 100, 624, 136, 125}, {100, 101, 376, 84, 80}};

static struct hp_pfunction fixture_functions[] = {
    {{0, 0x1000}, 0x40, "work", "work", "/src/demo.c", 10},
    {{0, 0x2000}, 0, "", "", "", 0},
    {{1, 0x500}, 0x20, "helper", "helper", "", 0},
    {{1, 0x900}, 0x20, "never_called", "never_called", "", 0},
};

static struct hp_pblock fixture_blocks[] = {
    {{0, 0x1000}, 0x10, 4, 0, HP_FLOW_JUMP, 0xe, 0},
    {{0, 0x1010}, 0x10, 6, 0, HP_FLOW_COND, 0xe, 0},
    {{0, 0x1016}, 0xa, 4, 0, HP_FLOW_COND, 0x8, 0},
    {{0, 0x2000}, 0x20, 8, 1, HP_FLOW_RETURN, 0x1f, 0},
    {{1, 0x500}, 0x9, 3, 2, HP_FLOW_RETURN, 0x8, 0},
};

static struct hp_pedge fixture_edges[] = {
    {{0, 0x100e}, {0, 0x1010}, HP_FLOW_JUMP, 1},
    {{0, 0x101e}, {0, 0x1010}, HP_FLOW_COND, 1},
    {{0, 0x101e}, {0, 0x1020}, HP_FLOW_COND, 0},
    {{0, 0x201f}, {HP_PROFILE_NONE, 0}, HP_FLOW_RETURN, 1},
    {{1, 0x508}, {0, 0x1030}, HP_FLOW_RETURN, 1},
};

static struct hp_pcall fixture_calls[] = {{HP_PROFILE_NONE, 0}, {0, 1}, {0, 2}};

static struct hp_pline fixture_lines[] = {
    {0, 0, 0x10, "/src/demo.c", 11, "", "", 4},
    {1, 0, 6, "/src/demo.c", 12, "", "", 2},
    {1, 6, 0x10, "/src/demo.c", 13, "twice", "/src/demo.c:13", 4},
    {2, 0, 0xa, "/src/demo.c", 13, "twice", "/src/demo.c:13", 4},
};

static struct hp_pcount fixture_block_counts[] = {{0, 0, 6}, {0, 1, 4}, {1, 0, 60}, {1, 1, 40},
                                                  {2, 0, 5}, {3, 0, 5}, {4, 0, 60}, {4, 1, 40}};

static struct hp_pcount fixture_edge_counts[] = {{0, 0, 6},  {0, 1, 4},  {1, 0, 59},
                                                 {1, 1, 36}, {2, 0, 6},  {2, 1, 4},
                                                 {3, 0, 5},  {4, 0, 60}, {4, 1, 40}};

static struct hp_pfunction_count fixture_function_counts[] = {{0, 0, 404, 624, 6},
                                                              {0, 1, 256, 376, 4},
                                                              {1, 0, 40, 40, 5},
                                                              {2, 0, 180, 180, 60},
                                                              {2, 1, 120, 120, 40}};

static struct hp_pcall_count fixture_call_counts[] = {
    {0, 0, 6, 624}, {0, 1, 4, 376}, {1, 0, 5, 40}, {2, 0, 60, 180}, {2, 1, 40, 120}};

static struct hp_pnote fixture_notes[] = {
    {"exec", "process 102 started /bin/true, which was not observed", 1},
    {"cut", "the length of a block is uncertain", 1234}};

#define FIXTURE_SET(profile, member)                                                               \
    ((profile).member = fixture_##member,                                                          \
     (profile).n_##member = sizeof fixture_##member / sizeof *fixture_##member)

static inline struct hp_profile fixture_profile(void)
{
    struct hp_profile p = {.run = {.version = "0.1.0",
                                   .engine = "qemu",
                                   .arch = HP_ARCH_X86_64,
                                   .command = fixture_command,
                                   .directory = "/src",
                                   .machine = "Linux 6.1 x86_64",
                                   .started = 1700000000,
                                   .seconds = 1.84,
                                   .exit_status = 3,
                                   .runs = 1}};
    FIXTURE_SET(p, modules);
    FIXTURE_SET(p, threads);
    FIXTURE_SET(p, functions);
    FIXTURE_SET(p, blocks);
    FIXTURE_SET(p, edges);
    FIXTURE_SET(p, calls);
    FIXTURE_SET(p, lines);
    FIXTURE_SET(p, block_counts);
    FIXTURE_SET(p, edge_counts);
    FIXTURE_SET(p, function_counts);
    FIXTURE_SET(p, call_counts);
    FIXTURE_SET(p, notes);
    return p;
}

static struct hp_ppath fixture_paths[] = {
    {"bl", {0, 0x1000}, 0, 0, 1, 0},
    {"bl", {0, 0x1000}, 2, 0, 2, 0},
    {"bl", {0, 0x1010}, 1, 0, 1, 0},
    {"bl", {0, 0x2000}, 0, 0, 0, 1},
    {"forward,metric=l1d", {1, 0x500}, 1, 0xabc, 1, 2},
    {"forward,metric=l1d", {1, 0x500}, 3, 0, 2, HP_PROFILE_NONE},
};

static struct hp_pstep fixture_path_steps[] = {
    {0, 0, 0, HP_STEP_CALLED},   {0, 1, 2, HP_STEP_END},   {1, 0, 0, HP_STEP_TAKEN},
    {1, 1, 1, HP_STEP_FELL},     {1, 2, 2, HP_STEP_TAKEN}, {1, 3, 3, HP_STEP_TAKEN},
    {1, 4, 4, HP_STEP_RETURNED}, {2, 0, 1, HP_STEP_TAKEN}, {5, 0, 4, HP_STEP_ENTERED},
    {5, 1, 3, HP_STEP_CALLED},
};

static struct hp_ppath_count fixture_path_counts[] = {
    {0, 0, 5, 40, 5},    {1, 0, 6, 150, 6},  {1, 1, 4, 100, 4},  {2, 0, 54, 324, 54},
    {2, 1, 36, 216, 36}, {4, 0, 60, 180, 1}, {4, 1, 40, 120, 2}, {5, 1, 3, 34, 9}};

static struct hp_pstat fixture_stats[] = {{"hpt 512x4 bl", "bytes", 7488, HP_STAT_SIZE},
                                          {"hpt 512x4 bl", "overlap", 98765, HP_STAT_SHARE},
                                          {"paths bl", "splits", 1234567, HP_STAT_COUNT}};

static struct hp_pprediction fixture_predictions[] = {
    {"net:100", 100, 1000, 40, 20, 4, 800, 30, 4, 600, 80, 200, 250, 590, 70, 210, 20, 300, 2000},
    {"net:50", 50, 1000, 40, 20, 4, 800, 35, 4, 700, 900, 100, 150, 690, -70, 110, 20, 200, 2000}};

static inline void fixture_add_paths(struct hp_profile *p)
{
    FIXTURE_SET(*p, paths);
    FIXTURE_SET(*p, path_steps);
    FIXTURE_SET(*p, path_counts);
    FIXTURE_SET(*p, stats);
    FIXTURE_SET(*p, predictions);
}

static struct hp_ploop fixture_loops[] = {
    {{0, 0x1000}, 0, HP_PROFILE_NONE, 0, 14, 0, "/src/demo.c", 11, 13},
    {{0, 0x1010}, 0, 0, 0, 10, 0, "/src/demo.c", 12, 13},
    {{0, 0x2000}, 1, HP_PROFILE_NONE, 0, 8, HP_LOOP_IRREDUCIBLE, "", 0, 0},
    {{1, 0x504}, 2, HP_PROFILE_NONE, 1, 3, 0, "", 0, 0},
};

static struct hp_ploop_count fixture_loop_counts[] = {
    {0, 0, 2, 6, 4, 1, 5, 404, 624, 0, 0, 0},
    {0, 1, 1, 4, 3, 4, 4, 256, 376, 0, 0, 0},
    {1, 0, 6, 60, 54, 10, 10, 380, 560, 5, 4, 0},
    {1, 1, 4, 40, 36, 10, 10, 240, 360, 3, 2, 0},
    {2, 0, 2, 5, 3, 1, 4, 40, 40, 0, 0, 0},
    {3, 0, 60, 90, 30, 1, 3, 180, 180, 20, 10, 0},
    {3, 1, 40, 200000, 199960, 1, 9000, 120, 120, 0, 0, 2}};

static struct hp_ploop_trips fixture_loop_trips[] = {
    {0, 0, 1, 1},   {0, 0, 4, 1},  {0, 0, 5, 1},   {0, 1, 0, 1},  {0, 1, 2, 2},
    {1, 0, 10, 10}, {1, 1, 3, 10}, {2, 0, 1, 1},   {2, 0, 4, 1},  {2, 1, 0, 1},
    {2, 1, 2, 1},   {3, 0, 1, 15}, {3, 0, 2, 10},  {3, 0, 3, 10}, {3, 1, 0, 15},
    {3, 1, 1, 20},  {3, 1, 3, 5},  {3, 1, 12, 40}, {3, 1, 13, 20}};

static struct hp_ploop_block fixture_loop_blocks[] = {{0, 0}, {1, 1}, {1, 2}, {2, 3}, {3, 4}};

static struct hp_pmodel_loop fixture_model_loops[] = {
    {"daprof", {0, 0x101e}, {0, 0x1010}, 0, 1, 10, 8900, 89, 590},
    {"daprof", {1, 0x508}, {1, 0x500}, 2, HP_PROFILE_NONE, 3, 1500, 4, 30},
    {"frequent", {0, 0x101e}, {0, 0x1010}, 0, 1, 0, 0, 90, 0},
};

static struct hp_photspot fixture_hotspots[] = {
    {"merten", 0, 0, 100, 40, 200, 10, 300, 250},
    {"merten", 0, 1, 100, 120, 600, 14, 620, 500},
};

static struct hp_photspot_branch fixture_hotspot_branches[] = {
    {0, {1, 0x508}, HP_FLOW_RETURN, 16, 16}, {1, {0, 0x101e}, HP_FLOW_COND, 20, 18}};

static struct hp_photspot_block fixture_hotspot_blocks[] = {{0, 4}, {1, 1}, {1, 2}, {1, 4}};

static struct hp_photspot_slice fixture_hotspot_slices[] = {{0, 2, 100, 50}, {0, 3, 100, 100},
                                                            {0, 8, 100, 99}, {0, 9, 100, 1},
                                                            {1, 6, 100, 70}, {1, 7, 100, 30}};

static inline void fixture_add_loops(struct hp_profile *p)
{
    FIXTURE_SET(*p, loops);
    FIXTURE_SET(*p, loop_counts);
    FIXTURE_SET(*p, loop_trips);
    FIXTURE_SET(*p, loop_blocks);
    FIXTURE_SET(*p, model_loops);
    FIXTURE_SET(*p, hotspots);
    FIXTURE_SET(*p, hotspot_branches);
    FIXTURE_SET(*p, hotspot_blocks);
    FIXTURE_SET(*p, hotspot_slices);
}

/*
 * With fixture_add_insns() also what a machine in cycles says, 1000 cycles in all:
 *   demo+0x1010  work    demo.c:12  mov rax, [rdi]  100 times, 400 cycles: 300 from memory, 60 L2, 40 retire; misses L1 30 %, L2 and L3 20 %
 *   demo+0x1013  work    demo.c:13  add rbx, rax    100 times, 50 cycles, all retire; waits 40 cycles each time for the load
 *   demo+0x101e  work    demo.c:13  jne 0x1010      100 times, 350 cycles: 310 mispredict (31 %), 40 retire
 *   libx.so+0x500 helper            div rcx         100 times, 200 cycles: 150 execute, 50 unit
 * and a paired sampler that saw the load 8 times (6 retired), the division 2 times.
 */
static struct hp_pinsn fixture_insns[] = {
    {{0, 0x1010}, 0, 0, 3, HP_FLOW_NONE, HP_OP_LOAD, "mov rax, [rdi]", "/src/demo.c", 12, ""},
    {{0, 0x1013}, 0, 0, 3, HP_FLOW_NONE, HP_OP_ALU, "add rbx, rax", "/src/demo.c", 13, "twice"},
    {{0, 0x101e}, 0, 0, 2, HP_FLOW_COND, HP_OP_BRANCH, "jne 0x1010", "/src/demo.c", 13, ""},
    {{1, 0x500}, 2, 0, 3, HP_FLOW_NONE, HP_OP_DIV, "div rcx", "", 0, ""},
};

static struct hp_pinsn_tally fixture_insn_tallies[] = {
    {"exact",
     0,
     {100,
      100,
      0,
      0,
      {[HP_INSN_L1D] = 30, [HP_INSN_L2] = 20, [HP_INSN_L3] = 20},
      {100, 0, 0, 400, 50, 400},
      {100, 0, 0, 9000, 70, 9000}},
     0,
     0,
     0,
     0},
    {"exact",
     1,
     {110, 100, 10, 0, {0}, {100, 4000, 0, 100, 0, 0}, {100, 160000, 0, 100, 0, 0}},
     0,
     0,
     0,
     0},
    {"exact",
     2,
     {120,
      100,
      0,
      20,
      {[HP_INSN_TAKEN] = 95, [HP_INSN_MISPREDICTED] = 31},
      {100, 0, 0, 100, 0, 0},
      {100, 0, 0, 100, 0, 0}},
     0,
     0,
     0,
     0},
    {"exact",
     3,
     {100,
      100,
      0,
      0,
      {[HP_INSN_UNIT_BUSY] = 25},
      {200, 0, 300, 2500, 0, 0},
      {500, 0, 1500, 62500, 0, 0}},
     0,
     0,
     0,
     0},
    {"profileme,pairs",
     0,
     {8,
      6,
      2,
      0,
      {[HP_INSN_L1D] = 2, [HP_INSN_L2] = 1, [HP_INSN_L3] = 1},
      {6, 0, 0, 30, 3, 30},
      {6, 0, 0, 450, 5, 450}},
     8,
     48,
     2,
     3},
    {"profileme,pairs",
     3,
     {2, 2, 0, 0, {[HP_INSN_UNIT_BUSY] = 1}, {4, 0, 6, 50, 0, 0}, {8, 0, 36, 1250, 0, 0}},
     2,
     60,
     1,
     0},
};

#define FIXTURE_CYCLES(n) ((n) * (uint64_t)HP_CYCLE_PARTS)

static struct hp_pinsn_cycles fixture_insn_cycles[] = {
    {0, HP_CAUSE_RETIRE, FIXTURE_CYCLES(40)},   {0, HP_CAUSE_L2, FIXTURE_CYCLES(60)},
    {0, HP_CAUSE_MEMORY, FIXTURE_CYCLES(300)},  {1, HP_CAUSE_RETIRE, FIXTURE_CYCLES(50)},
    {2, HP_CAUSE_RETIRE, FIXTURE_CYCLES(40)},   {2, HP_CAUSE_MISPREDICT, FIXTURE_CYCLES(310)},
    {3, HP_CAUSE_EXECUTE, FIXTURE_CYCLES(150)}, {3, HP_CAUSE_UNIT, FIXTURE_CYCLES(50)},
};

static struct hp_pattribution fixture_attributions[] = {
    {"dispatch", 0, 100}, {"dispatch", 1, 550}, {"dispatch", 2, 150}, {"dispatch", 3, 200},
    {"next", 0, 400},     {"next", 1, 50},      {"next", 2, 350},     {"next", 3, 200}};

static struct hp_pwait fixture_waits[] = {{1, 0, 100, 4000}, {1, 3, 10, 20}};

static struct hp_psampler fixture_samplers[] = {
    {"profileme,pairs", 20, 80, 4, 30, 10, 1, 2, 5, 50, 1000}};

static inline void fixture_add_insns(struct hp_profile *p)
{
    FIXTURE_SET(*p, insns);
    FIXTURE_SET(*p, insn_tallies);
    FIXTURE_SET(*p, insn_cycles);
    FIXTURE_SET(*p, attributions);
    FIXTURE_SET(*p, waits);
    FIXTURE_SET(*p, samplers);
}

/* work, with helper, which calls work again, and demo+0x2000; and something unknown. 1,000 instructions in all. */
static struct hp_pcontext fixture_tree[] = {
    {HP_PROFILE_NONE, 0}, {HP_PROFILE_NONE, HP_PROFILE_NONE}, {0, 1}, {0, 2}, {3, 0}};

static struct hp_pcontext_count fixture_tree_counts[] = {
    {0, 0, 400, 1}, {0, 1, 200, 1}, {1, 1, 5, 1}, {2, 0, 35, 5}, {3, 0, 300, 100}, {4, 1, 60, 8}};

static inline void fixture_add_contexts(struct hp_profile *p)
{
    p->contexts = fixture_tree;
    p->n_contexts = sizeof fixture_tree / sizeof *fixture_tree;
    p->context_counts = fixture_tree_counts;
    p->n_context_counts = sizeof fixture_tree_counts / sizeof *fixture_tree_counts;
}

static struct hp_pnote fixture_counted[] = {{"counted", "inclusive counts are not known", 2}};

/* The same from an engine that counted: what nobody knows is 0 in it. */
static inline struct hp_profile fixture_counted_profile(void)
{
    static struct hp_pfunction_count functions[5];
    static struct hp_pcall_count calls[5];
    struct hp_profile p = fixture_profile();
    memcpy(functions, fixture_function_counts, sizeof functions);
    memcpy(calls, fixture_call_counts, sizeof calls);
    for (size_t i = 0; i < 5; i++)
        functions[i].inclusive = calls[i].inclusive = 0;
    p.function_counts = functions;
    p.call_counts = calls;
    p.notes = fixture_counted;
    p.n_notes = 1;
    return p;
}

/* The report as a string; free() it. Fails the test when the report does. (Inlined, gcc 12 takes what open_memstream() keeps for dangling.) */
__attribute__((noinline, unused)) static char *render(const struct hp_profile *profile,
                                                      const struct hp_report_options *options)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    enum hp_err err = hp_report(profile, options, out);
    assert_int_equal(fclose(out), 0);
    if (err != HP_OK)
        fail_msg("hp_report: %s", hp_error_text());
    assert_int_equal(strlen(text), size);
    return text;
}

#endif
