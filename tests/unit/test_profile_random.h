// SPDX-License-Identifier: MIT
/*
 * Random profiles for the tests of the profile: made, copied in another order, compared.
 */
#ifndef TEST_PROFILE_RANDOM_H
#define TEST_PROFILE_RANDOM_H

#include "hotpath/cycles.h"
#include "hotpath/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint32_t random_below(uint64_t *state, size_t n)
{
    return (uint32_t)(random_next(state) % n);
}

/* An index below `n`, or none now and then. */
static inline uint32_t random_index(uint64_t *state, size_t n)
{
    return n == 0 || random_below(state, 10) == 0 ? HP_PROFILE_NONE : random_below(state, n);
}

/* One of few texts, so that some are equal. */
static inline const char *random_text(struct hp_profile *p, uint64_t *state, const char *stem)
{
    char text[64] = "";
    uint32_t number = random_below(state, 12);
    if (number)
        snprintf(text, sizeof text, "%s%u", stem, number);
    return hp_profile_string(p, text);
}

/* Few offsets, so that some places are equal. */
static inline struct hp_place random_place(const struct hp_profile *p, uint64_t *state)
{
    return (struct hp_place){random_index(state, p->n_modules), random_below(state, 30) * 4u};
}

static inline void random_things(struct hp_profile *p, uint64_t *state, size_t n)
{
    for (size_t i = 0; i < n / 8 + 1; i++) {
        struct hp_pmodule *module;
        assert_int_equal(hp_profile_add_module(p, &module), HP_OK);
        module->path = random_text(p, state, "/lib/m");
        module->build_id = random_text(p, state, "id");
    }
    for (size_t i = 0; i < n / 2 + 1; i++) {
        struct hp_pfunction *function;
        assert_int_equal(hp_profile_add_function(p, &function), HP_OK);
        function->place = random_place(p, state);
        function->size = random_below(state, 100);
        function->name = random_text(p, state, "function");
        function->linkage = random_text(p, state, "_Z");
        function->file = random_text(p, state, "file.c");
        function->line = random_below(state, 50);
    }
    for (size_t i = 0; i < n; i++) {
        struct hp_pblock *block;
        struct hp_pedge *edge;
        struct hp_pcall *call;
        assert_int_equal(hp_profile_add_block(p, &block), HP_OK);
        *block = (struct hp_pblock){random_place(p, state),
                                    8 + random_below(state, 3),
                                    1 + random_below(state, 3),
                                    random_index(state, p->n_functions),
                                    (uint8_t)random_below(state, HP_FLOW_COUNT_),
                                    random_below(state, 8),
                                    random_below(state, 2)};
        assert_int_equal(hp_profile_add_edge(p, &edge), HP_OK);
        *edge = (struct hp_pedge){random_place(p, state), random_place(p, state),
                                  (uint8_t)random_below(state, 3), (uint8_t)random_below(state, 2)};
        assert_int_equal(hp_profile_add_call(p, &call), HP_OK);
        *call = (struct hp_pcall){random_index(state, p->n_functions),
                                  random_index(state, p->n_functions)};
    }
}

static inline void random_lines_and_notes(struct hp_profile *p, uint64_t *state, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct hp_pline *line;
        assert_int_equal(hp_profile_add_line(p, &line), HP_OK);
        *line = (struct hp_pline){
            .block = random_below(state, p->n_blocks),
            .from = random_below(state, 4),
            .to = 4 + random_below(state, 4),
            .file = random_text(p, state, "file.c"),
            .line = random_below(state, 5),
            .inlined = random_text(p, state, "inlined"),
            .inlined_at = random_text(p, state, "file.c:"),
            .insns = 1 + random_below(state, 3),
        };
    }
    for (size_t i = 0; i < n / 8; i++)
        assert_int_equal(hp_profile_note(p, random_below(state, 9), i % 2 ? "lost" : "cut",
                                         "something %u", random_below(state, 4)),
                         HP_OK);
}

static inline void random_counts(struct hp_profile *p, uint64_t *state, size_t n)
{
    for (size_t i = 0; i < 3; i++) {
        struct hp_pthread *thread;
        assert_int_equal(hp_profile_add_thread(p, &thread), HP_OK);
        *thread = (struct hp_pthread){(int32_t)i + 100, (int32_t)i + 200, random_below(state, 1000),
                                      random_below(state, 1000), random_below(state, 1000)};
    }
    for (size_t i = 0; i < n * 2; i++) {
        struct hp_pcount *count;
        struct hp_pfunction_count *function;
        struct hp_pcall_count *call;
        assert_int_equal(hp_profile_add_block_count(p, &count), HP_OK);
        *count = (struct hp_pcount){random_below(state, p->n_blocks), random_below(state, 3),
                                    random_below(state, 5)};
        assert_int_equal(hp_profile_add_edge_count(p, &count), HP_OK);
        *count = (struct hp_pcount){random_below(state, p->n_edges), random_below(state, 3),
                                    random_next(state) >> 40};
        assert_int_equal(hp_profile_add_function_count(p, &function), HP_OK);
        *function = (struct hp_pfunction_count){random_below(state, p->n_functions),
                                                random_below(state, 3), random_below(state, 3),
                                                random_below(state, 3), random_below(state, 3)};
        assert_int_equal(hp_profile_add_call_count(p, &call), HP_OK);
        *call = (struct hp_pcall_count){random_below(state, p->n_calls), random_below(state, 3),
                                        random_below(state, 3), random_below(state, 3)};
    }
}

static inline void random_paths(struct hp_profile *p, uint64_t *state, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct hp_ppath *path;
        assert_int_equal(hp_profile_add_path(p, &path), HP_OK);
        uint32_t length = random_below(state, 4) ? random_below(state, 4) : 64;
        *path = (struct hp_ppath){
            .kind = hp_profile_string(p, random_below(state, 3) ? "bl" : "forward"),
            .start = random_place(p, state),
            .outcomes = length == 64 ? UINT64_MAX - random_below(state, 2)
                                     : random_next(state) & ((UINT64_C(1) << length) - 1),
            .targets = random_below(state, 3) ? 0 : UINT64_MAX - random_below(state, 2),
            .length = length,
            .function = random_index(state, p->n_functions)};
    }
    for (size_t i = 0; i < n * 2; i++) {
        struct hp_pstep *step;
        struct hp_ppath_count *count;
        assert_int_equal(hp_profile_add_path_step(p, &step), HP_OK);
        *step = (struct hp_pstep){.path = random_below(state, p->n_paths),
                                  .position = random_below(state, 3),
                                  .block = random_below(state, p->n_blocks),
                                  .how = (uint8_t)random_below(state, HP_STEP_END + 1)};
        assert_int_equal(hp_profile_add_path_count(p, &count), HP_OK);
        *count = (struct hp_ppath_count){random_below(state, p->n_paths), random_below(state, 3),
                                         random_below(state, 3), random_below(state, 3),
                                         random_below(state, 3)};
    }
}

static inline void random_models(struct hp_profile *p, uint64_t *state, size_t n)
{
    for (size_t i = 0; i < n / 4; i++) {
        /* The unit is always the same for a name, as it would be. */
        uint32_t name = random_below(state, 6);
        char text[16];
        snprintf(text, sizeof text, "name%u", name);
        assert_int_equal(hp_profile_add_stat(p, random_text(p, state, "part"), text,
                                             (enum hp_stat_unit)(name % 3),
                                             random_below(state, 100)),
                         HP_OK);
        struct hp_pprediction *prediction;
        assert_int_equal(hp_profile_add_prediction(p, &prediction), HP_OK);
        uint64_t x = random_below(state, 1000);
        *prediction = (struct hp_pprediction){.scheme = random_text(p, state, "net:"),
                                              .delay = random_below(state, 3),
                                              .flow = x,
                                              .paths = x + 1,
                                              .heads = x + 2,
                                              .hot_paths = x + 3,
                                              .hot_flow = x + 4,
                                              .predicted = x + 5,
                                              .predicted_hot = x + 6,
                                              .hits = x + 7,
                                              .noise = x + 8,
                                              .missed = x + 9,
                                              .profiled = x + 10,
                                              .closed_hits = 500 - (int64_t)x,
                                              .closed_noise = (int64_t)x - 100,
                                              .closed_missed = -(int64_t)x,
                                              .counters = x + 11,
                                              .operations = x + 12,
                                              .branches = x + 13};
    }
}

/* Loops of few functions, some of them the same; nested in what came before. */
static inline void random_loops(struct hp_profile *p, uint64_t *state, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct hp_ploop *loop;
        assert_int_equal(hp_profile_add_loop(p, &loop), HP_OK);
        uint32_t line = random_below(state, 20);
        *loop = (struct hp_ploop){.header = random_place(p, state),
                                  .function =
                                      i % 3 ? (uint32_t)(i % 3 % p->n_functions) : HP_PROFILE_NONE,
                                  .parent = HP_PROFILE_NONE,
                                  .version = random_below(state, 2),
                                  .insns = random_below(state, 50),
                                  .flags = random_below(state, 2),
                                  .file = random_text(p, state, "loop.c"),
                                  .first_line = line,
                                  .last_line = line + random_below(state, 5)};
        uint32_t parent = random_below(state, i + 1);
        if (parent < i && p->loops[parent].function == loop->function)
            loop->parent = parent;
    }
    for (size_t i = 0; i < n * 2; i++) {
        struct hp_ploop_count *count;
        struct hp_ploop_block *block;
        assert_int_equal(hp_profile_add_loop_count(p, &count), HP_OK);
        uint64_t executions = random_below(state, 4), min = executions ? random_below(state, 9) : 0;
        uint64_t max = executions ? min + random_below(state, 9) : 0;
        *count = (struct hp_ploop_count){.item = random_below(state, p->n_loops),
                                         .thread = random_below(state, 3),
                                         .executions = executions,
                                         .iterations = max + executions,
                                         .back_edges = max,
                                         .min = min,
                                         .max = max,
                                         .self = random_below(state, 3),
                                         .inclusive = random_below(state, 3),
                                         .same = executions / 2,
                                         .stride = executions / 3,
                                         .interrupted = executions > 2};
        assert_int_equal(hp_profile_add_loop_block(p, &block), HP_OK);
        *block = (struct hp_ploop_block){random_below(state, p->n_loops),
                                         random_below(state, p->n_blocks)};
    }
    for (size_t i = 0; i < n * 9; i++) {
        struct hp_ploop_trips *trips;
        assert_int_equal(hp_profile_add_loop_trips(p, &trips), HP_OK);
        uint8_t bucket = (uint8_t)random_below(state, 2);
        *trips = (struct hp_ploop_trips){.loop = random_below(state, p->n_loops / 8 + 1),
                                         .bucket = bucket,
                                         .value = bucket ? random_below(state, 64)
                                                         : 1 + random_below(state, 40),
                                         .count = random_below(state, 3)};
    }
    for (size_t i = 0; i < n; i++) {
        struct hp_pmodel_loop *loop;
        assert_int_equal(hp_profile_add_model_loop(p, &loop), HP_OK);
        *loop = (struct hp_pmodel_loop){.model = random_text(p, state, "daprof"),
                                        .branch = {random_index(state, p->n_modules), 8},
                                        .target = {random_index(state, p->n_modules), 4},
                                        .function = random_index(state, p->n_functions),
                                        .loop = random_index(state, p->n_loops),
                                        .executions = random_below(state, 9),
                                        .average = random_below(state, 9000),
                                        .iterations = random_below(state, 9),
                                        .instructions = random_below(state, 9)};
    }
}

static inline void random_hotspots(struct hp_profile *p, uint64_t *state, size_t n)
{
    for (size_t i = 0; i < n / 4 + 1; i++) {
        struct hp_photspot *hotspot;
        assert_int_equal(hp_profile_add_hotspot(p, &hotspot), HP_OK);
        uint64_t after = random_below(state, 100);
        *hotspot = (struct hp_photspot){.detector = random_text(p, state, "merten"),
                                        .number = random_below(state, 3),
                                        .pid = (int32_t)random_below(state, 2),
                                        .at_branches = random_below(state, 2),
                                        .at_instructions = random_below(state, 2),
                                        .insns = random_below(state, 100),
                                        .total = after + random_below(state, 100),
                                        .after = after};
    }
    for (size_t i = 0; i < n * 2; i++) {
        struct hp_photspot_branch *branch;
        struct hp_photspot_block *block;
        struct hp_photspot_slice *slice;
        uint32_t taken = random_below(state, 9);
        assert_int_equal(hp_profile_add_hotspot_branch(p, &branch), HP_OK);
        *branch = (struct hp_photspot_branch){.hotspot = random_below(state, p->n_hotspots),
                                              .branch = random_place(p, state),
                                              .flow = (uint8_t)random_below(state, 3),
                                              .executed = taken + random_below(state, 9),
                                              .taken = taken};
        assert_int_equal(hp_profile_add_hotspot_block(p, &block), HP_OK);
        *block = (struct hp_photspot_block){random_below(state, p->n_hotspots),
                                            random_below(state, p->n_blocks)};
        assert_int_equal(hp_profile_add_hotspot_slice(p, &slice), HP_OK);
        *slice = (struct hp_photspot_slice){.hotspot = random_below(state, p->n_hotspots),
                                            .slice = random_below(state, 9),
                                            .width = 100,
                                            .instructions = random_below(state, 100)};
    }
}

static inline const char *random_seen(struct hp_profile *p, uint64_t *state)
{
    static const char *const names[] = {"exact", "profileme", "profileme,pairs", ""};
    return hp_profile_string(p, names[random_below(state, 4)]);
}

static inline struct hp_insn_tally random_tally(uint64_t *state)
{
    struct hp_insn_tally tally = {.retired = random_below(state, 5),
                                  .wrong_path = random_below(state, 2),
                                  .trapped = random_below(state, 2)};
    tally.fetched = tally.retired + tally.wrong_path + tally.trapped;
    for (int i = 0; i < HP_INSN_EVENTS; i++)
        tally.events[i] = random_below(state, tally.retired + 1);
    for (int i = 0; i < HP_STAGES && tally.retired; i++) {
        tally.stages[i] = random_below(state, 50);
        tally.stage_squares[i] = random_below(state, 500);
    }
    return tally;
}

static inline void random_insn_rows(struct hp_profile *p, uint64_t *state)
{
    struct hp_pinsn_tally *tally;
    struct hp_pinsn_cycles *cycles;
    struct hp_pattribution *attribution;
    struct hp_pwait *wait;
    uint64_t pairs = random_below(state, 3);
    assert_int_equal(hp_profile_add_insn_tally(p, &tally), HP_OK);
    *tally = (struct hp_pinsn_tally){.seen = random_seen(p, state),
                                     .insn = random_below(state, p->n_insns),
                                     .tally = random_tally(state),
                                     .pairs = pairs,
                                     .progress = random_below(state, 9),
                                     .useful = random_below(state, pairs + 1),
                                     .near = random_below(state, pairs + 1)};
    assert_int_equal(hp_profile_add_insn_cycles(p, &cycles), HP_OK);
    *cycles = (struct hp_pinsn_cycles){.insn = random_below(state, p->n_insns),
                                       .cause = (uint8_t)random_below(state, HP_CAUSES),
                                       .parts = random_below(state, 4)};
    assert_int_equal(hp_profile_add_attribution(p, &attribution), HP_OK);
    *attribution = (struct hp_pattribution){.scheme = random_text(p, state, "scheme"),
                                            .insn = random_below(state, p->n_insns),
                                            .weight = random_below(state, 4)};
    assert_int_equal(hp_profile_add_wait(p, &wait), HP_OK);
    *wait = (struct hp_pwait){.insn = random_below(state, p->n_insns),
                              .producer = random_below(state, p->n_insns),
                              .count = random_below(state, 3),
                              .cycles = random_below(state, 3)};
}

/* What a sampler's name stands for is always the same. */
static inline void random_samplers(struct hp_profile *p, uint64_t *state, size_t n)
{
    for (size_t i = 0; i < n / 8; i++) {
        struct hp_psampler *sampler;
        assert_int_equal(hp_profile_add_sampler(p, &sampler), HP_OK);
        uint32_t number = random_below(state, 5);
        char name[32];
        snprintf(name, sizeof name, "profileme,interval=%u", number);
        *sampler = (struct hp_psampler){.name = hp_profile_string(p, name),
                                        .interval = 1 + number,
                                        .window = number % 2 * 80,
                                        .width = 4,
                                        .near = number,
                                        .samples = random_below(state, 100),
                                        .empty = random_below(state, 9),
                                        .lost = random_below(state, 9),
                                        .interrupts = random_below(state, 9),
                                        .cost = random_below(state, 9),
                                        .scale = 1000 + random_below(state, 9)};
    }
    for (size_t i = 0; i < n / 4; i++) {
        struct hp_pwindow *window;
        assert_int_equal(hp_profile_add_window(p, &window), HP_OK);
        *window = (struct hp_pwindow){random_below(state, 3), random_below(state, 9),
                                      random_below(state, 3), random_below(state, 3)};
    }
}

static inline void random_insns(struct hp_profile *p, uint64_t *state, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct hp_pinsn *insn;
        assert_int_equal(hp_profile_add_insn(p, &insn), HP_OK);
        *insn = (struct hp_pinsn){.place = random_place(p, state),
                                  .function = random_index(state, p->n_functions),
                                  .version = random_below(state, 2),
                                  .length = 1 + random_below(state, 3),
                                  .flow = (uint8_t)random_below(state, HP_FLOW_COUNT_),
                                  .op = (uint8_t)random_below(state, HP_OP_COUNT_),
                                  .text = random_text(p, state, "mov eax, "),
                                  .file = random_text(p, state, "file.c"),
                                  .line = random_below(state, 4),
                                  .inlined = random_text(p, state, "inlined")};
    }
    for (size_t i = 0; i < n * 2; i++)
        random_insn_rows(p, state);
    random_samplers(p, state, n);
}

static inline void random_contexts(struct hp_profile *p, uint64_t *state, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct hp_pcontext *context;
        assert_int_equal(hp_profile_add_context(p, &context), HP_OK);
        *context = (struct hp_pcontext){random_index(state, i),
                                        random_index(state, p->n_functions < 4 ? 1 : 4)};
    }
    for (size_t i = 0; i < n * 2; i++) {
        struct hp_pcontext_count *count;
        struct hp_ptable_path *path;
        assert_int_equal(hp_profile_add_context_count(p, &count), HP_OK);
        *count =
            (struct hp_pcontext_count){random_below(state, p->n_contexts), random_below(state, 3),
                                       random_below(state, 9), random_below(state, 3)};
        assert_int_equal(hp_profile_add_table_path(p, &path), HP_OK);
        *path = (struct hp_ptable_path){random_text(p, state, "bl "),
                                        random_below(state, p->n_paths), random_below(state, 9)};
    }
}

/* Not normal: with duplicates and zeroes, in any order. */
static inline struct hp_profile *random_profile(uint64_t seed, size_t n)
{
    uint64_t state = seed;
    struct hp_profile *p;
    assert_int_equal(hp_profile_new(&p), HP_OK);
    random_things(p, &state, n);
    random_lines_and_notes(p, &state, n);
    random_counts(p, &state, n);
    random_paths(p, &state, n);
    random_models(p, &state, n);
    random_loops(p, &state, n);
    random_hotspots(p, &state, n);
    random_insns(p, &state, n);
    random_contexts(p, &state, n);
    char *argv[] = {"prog", "", "--flag=\xff\xfe", "last", NULL};
    assert_int_equal(hp_profile_set_command(p, argv), HP_OK);
    p->run.version = hp_profile_string(p, "0.1");
    p->run.engine = hp_profile_string(p, "native");
    p->run.arch = HP_ARCH_X86_64;
    p->run.directory = hp_profile_string(p, "/home/a'b");
    p->run.machine = hp_profile_string(p, "Linux");
    p->run.started = 1700000000 + (int64_t)(seed % 1000);
    p->run.seconds = 1.25 + (double)(seed % 10);
    p->run.exit_status = (int)(seed % 3);
    p->run.lost = seed % 5;
    uint64_t *work = (uint64_t *)(void *)&p->run.work; /* all of its members are of that type */
    for (size_t i = 0; seed % 4 && i < sizeof p->run.work / sizeof *work; i++)
        work[i] = seed * 100 + i;
    return p;
}

/* --- Equality --------------------------------------------------------------------------------- */

/* Says what differs, and returns 0 then. */
static inline int differs(const char *what, size_t i)
{
    print_message("profiles differ: %s %zu\n", what, i);
    return 0;
}

static inline int same_place(struct hp_place a, struct hp_place b)
{
    return a.module == b.module && a.offset == b.offset;
}

static inline int same_runs(const struct hp_run *a, const struct hp_run *b)
{
    size_t i = 0;
    for (; a->command[i] && b->command[i]; i++)
        if (strcmp(a->command[i], b->command[i]) != 0)
            return differs("argument", i);
    if (a->command[i] || b->command[i])
        return differs("arguments", i);
    if (strcmp(a->version, b->version) || strcmp(a->engine, b->engine) || a->arch != b->arch ||
        strcmp(a->directory, b->directory) || strcmp(a->machine, b->machine) ||
        a->started != b->started || a->seconds != b->seconds || a->exit_status != b->exit_status ||
        a->lost != b->lost || a->runs != b->runs || memcmp(&a->work, &b->work, sizeof a->work) != 0)
        return differs("run", 0);
    return 1;
}

static inline int same_things(const struct hp_profile *a, const struct hp_profile *b)
{
    if (a->n_modules != b->n_modules || a->n_functions != b->n_functions ||
        a->n_blocks != b->n_blocks || a->n_edges != b->n_edges || a->n_calls != b->n_calls ||
        a->n_lines != b->n_lines || a->n_notes != b->n_notes)
        return differs("lengths", 0);
    for (size_t i = 0; i < a->n_modules; i++)
        if (strcmp(a->modules[i].path, b->modules[i].path) ||
            strcmp(a->modules[i].build_id, b->modules[i].build_id))
            return differs("module", i);
    for (size_t i = 0; i < a->n_functions; i++) {
        const struct hp_pfunction *x = &a->functions[i], *y = &b->functions[i];
        if (!same_place(x->place, y->place) || x->size != y->size || strcmp(x->name, y->name) ||
            strcmp(x->linkage, y->linkage) || strcmp(x->file, y->file) || x->line != y->line)
            return differs("function", i);
    }
    for (size_t i = 0; i < a->n_blocks; i++) {
        const struct hp_pblock *x = &a->blocks[i], *y = &b->blocks[i];
        if (!same_place(x->place, y->place) || x->size != y->size || x->insns != y->insns ||
            x->function != y->function || x->flow != y->flow || x->branch != y->branch ||
            x->version != y->version)
            return differs("block", i);
    }
    for (size_t i = 0; i < a->n_edges; i++) {
        const struct hp_pedge *x = &a->edges[i], *y = &b->edges[i];
        if (!same_place(x->from, y->from) || !same_place(x->to, y->to) || x->flow != y->flow ||
            x->taken != y->taken)
            return differs("edge", i);
    }
    for (size_t i = 0; i < a->n_calls; i++)
        if (memcmp(&a->calls[i], &b->calls[i], sizeof a->calls[i]))
            return differs("call", i);
    for (size_t i = 0; i < a->n_lines; i++) {
        const struct hp_pline *x = &a->lines[i], *y = &b->lines[i];
        if (x->block != y->block || x->from != y->from || x->to != y->to ||
            strcmp(x->file, y->file) || x->line != y->line || strcmp(x->inlined, y->inlined) ||
            strcmp(x->inlined_at, y->inlined_at) || x->insns != y->insns)
            return differs("line", i);
    }
    for (size_t i = 0; i < a->n_notes; i++)
        if (strcmp(a->notes[i].kind, b->notes[i].kind) ||
            strcmp(a->notes[i].text, b->notes[i].text) || a->notes[i].count != b->notes[i].count)
            return differs("note", i);
    return 1;
}

static inline int same_paths(const struct hp_profile *a, const struct hp_profile *b)
{
    if (a->n_paths != b->n_paths || a->n_path_steps != b->n_path_steps)
        return differs("lengths of paths", a->n_paths);
    for (size_t i = 0; i < a->n_paths; i++) {
        const struct hp_ppath *x = &a->paths[i], *y = &b->paths[i];
        if (strcmp(x->kind, y->kind) || !same_place(x->start, y->start) ||
            x->outcomes != y->outcomes || x->targets != y->targets || x->length != y->length ||
            x->function != y->function)
            return differs("path", i);
    }
    for (size_t i = 0; i < a->n_path_steps; i++) {
        const struct hp_pstep *x = &a->path_steps[i], *y = &b->path_steps[i];
        if (x->path != y->path || x->position != y->position || x->block != y->block ||
            x->how != y->how)
            return differs("step", i);
    }
    return 1;
}

static inline int same_models(const struct hp_profile *a, const struct hp_profile *b)
{
    if (a->n_stats != b->n_stats || a->n_predictions != b->n_predictions)
        return differs("lengths of models", a->n_stats);
    for (size_t i = 0; i < a->n_stats; i++) {
        const struct hp_pstat *x = &a->stats[i], *y = &b->stats[i];
        if (strcmp(x->part, y->part) || strcmp(x->name, y->name) || x->unit != y->unit ||
            x->value != y->value)
            return differs("stat", i);
    }
    for (size_t i = 0; i < a->n_predictions; i++) {
        struct hp_pprediction x = a->predictions[i], y = b->predictions[i];
        if (strcmp(x.scheme, y.scheme))
            return differs("scheme", i);
        x.scheme = y.scheme; /* the rest is numbers without padding */
        if (memcmp(&x, &y, sizeof x))
            return differs("prediction", i);
    }
    return 1;
}

static inline int same_loops(const struct hp_profile *a, const struct hp_profile *b)
{
    if (a->n_loops != b->n_loops || a->n_loop_trips != b->n_loop_trips ||
        a->n_loop_blocks != b->n_loop_blocks || a->n_model_loops != b->n_model_loops)
        return differs("lengths of loops", a->n_loops);
    for (size_t i = 0; i < a->n_loops; i++) {
        const struct hp_ploop *x = &a->loops[i], *y = &b->loops[i];
        if (!same_place(x->header, y->header) || x->function != y->function ||
            x->parent != y->parent || x->version != y->version || x->insns != y->insns ||
            x->flags != y->flags || strcmp(x->file, y->file) || x->first_line != y->first_line ||
            x->last_line != y->last_line)
            return differs("loop", i);
    }
    for (size_t i = 0; i < a->n_loop_trips; i++) {
        const struct hp_ploop_trips *x = &a->loop_trips[i], *y = &b->loop_trips[i];
        if (x->loop != y->loop || x->bucket != y->bucket || x->value != y->value ||
            x->count != y->count)
            return differs("trips", i);
    }
    for (size_t i = 0; i < a->n_loop_blocks; i++)
        if (a->loop_blocks[i].loop != b->loop_blocks[i].loop ||
            a->loop_blocks[i].block != b->loop_blocks[i].block)
            return differs("loop block", i);
    for (size_t i = 0; i < a->n_model_loops; i++) {
        const struct hp_pmodel_loop *x = &a->model_loops[i], *y = &b->model_loops[i];
        if (strcmp(x->model, y->model) || !same_place(x->branch, y->branch) ||
            !same_place(x->target, y->target) || x->function != y->function || x->loop != y->loop ||
            x->executions != y->executions || x->average != y->average ||
            x->iterations != y->iterations || x->instructions != y->instructions)
            return differs("model loop", i);
    }
    return 1;
}

static inline int same_hotspots(const struct hp_profile *a, const struct hp_profile *b)
{
    if (a->n_hotspots != b->n_hotspots || a->n_hotspot_branches != b->n_hotspot_branches ||
        a->n_hotspot_blocks != b->n_hotspot_blocks || a->n_hotspot_slices != b->n_hotspot_slices)
        return differs("lengths of hot spots", a->n_hotspots);
    for (size_t i = 0; i < a->n_hotspots; i++) {
        const struct hp_photspot *x = &a->hotspots[i], *y = &b->hotspots[i];
        if (x->run != y->run || strcmp(x->detector, y->detector) || x->number != y->number ||
            x->pid != y->pid || x->at_branches != y->at_branches ||
            x->at_instructions != y->at_instructions || x->insns != y->insns ||
            x->total != y->total || x->after != y->after)
            return differs("hot spot", i);
    }
    for (size_t i = 0; i < a->n_hotspot_branches; i++) {
        const struct hp_photspot_branch *x = &a->hotspot_branches[i], *y = &b->hotspot_branches[i];
        if (x->hotspot != y->hotspot || !same_place(x->branch, y->branch) || x->flow != y->flow ||
            x->executed != y->executed || x->taken != y->taken)
            return differs("hot spot branch", i);
    }
    for (size_t i = 0; i < a->n_hotspot_blocks; i++)
        if (a->hotspot_blocks[i].hotspot != b->hotspot_blocks[i].hotspot ||
            a->hotspot_blocks[i].block != b->hotspot_blocks[i].block)
            return differs("hot spot block", i);
    for (size_t i = 0; i < a->n_hotspot_slices; i++) {
        const struct hp_photspot_slice *x = &a->hotspot_slices[i], *y = &b->hotspot_slices[i];
        if (x->hotspot != y->hotspot || x->slice != y->slice || x->width != y->width ||
            x->instructions != y->instructions)
            return differs("slice", i);
    }
    return 1;
}

static inline int same_insns(const struct hp_profile *a, const struct hp_profile *b)
{
    if (a->n_insns != b->n_insns || a->n_insn_tallies != b->n_insn_tallies ||
        a->n_insn_cycles != b->n_insn_cycles || a->n_attributions != b->n_attributions)
        return differs("lengths of instructions", a->n_insns);
    for (size_t i = 0; i < a->n_insns; i++) {
        const struct hp_pinsn *x = &a->insns[i], *y = &b->insns[i];
        if (!same_place(x->place, y->place) || x->function != y->function ||
            x->version != y->version || x->length != y->length || x->flow != y->flow ||
            x->op != y->op || strcmp(x->text, y->text) || strcmp(x->file, y->file) ||
            x->line != y->line || strcmp(x->inlined, y->inlined))
            return differs("instruction", i);
    }
    for (size_t i = 0; i < a->n_insn_tallies; i++) {
        const struct hp_pinsn_tally *x = &a->insn_tallies[i], *y = &b->insn_tallies[i];
        if (strcmp(x->seen, y->seen) || x->insn != y->insn ||
            memcmp(&x->tally, &y->tally, sizeof x->tally) || x->pairs != y->pairs ||
            x->progress != y->progress || x->useful != y->useful || x->near != y->near)
            return differs("tally", i);
    }
    for (size_t i = 0; i < a->n_insn_cycles; i++) {
        const struct hp_pinsn_cycles *x = &a->insn_cycles[i], *y = &b->insn_cycles[i];
        if (x->insn != y->insn || x->cause != y->cause || x->parts != y->parts)
            return differs("cycles", i);
    }
    for (size_t i = 0; i < a->n_attributions; i++) {
        const struct hp_pattribution *x = &a->attributions[i], *y = &b->attributions[i];
        if (strcmp(x->scheme, y->scheme) || x->insn != y->insn || x->weight != y->weight)
            return differs("attribution", i);
    }
    return 1;
}

static inline int same_samplers(const struct hp_profile *a, const struct hp_profile *b)
{
    if (a->n_samplers != b->n_samplers)
        return differs("samplers", a->n_samplers);
    for (size_t i = 0; i < a->n_samplers; i++) {
        struct hp_psampler x = a->samplers[i], y = b->samplers[i];
        if (strcmp(x.name, y.name))
            return differs("name of sampler", i);
        x.name = y.name; /* the rest is numbers without padding */
        if (memcmp(&x, &y, sizeof x))
            return differs("sampler", i);
    }
    return 1;
}

/* Counters and threads have no padding and no pointers. */
static inline int same_bytes(const char *what, const void *a, size_t n_a, const void *b, size_t n_b,
                             size_t size)
{
    if (n_a != n_b)
        return differs(what, n_a);
    for (size_t i = 0; i < n_a; i++)
        if (memcmp((const char *)a + i * size, (const char *)b + i * size, size) != 0)
            return differs(what, i);
    return 1;
}

static inline int same_counts(const struct hp_profile *a, const struct hp_profile *b)
{
    return same_bytes("thread", a->threads, a->n_threads, b->threads, b->n_threads,
                      sizeof *a->threads) &&
           same_bytes("block counter", a->block_counts, a->n_block_counts, b->block_counts,
                      b->n_block_counts, sizeof *a->block_counts) &&
           same_bytes("edge counter", a->edge_counts, a->n_edge_counts, b->edge_counts,
                      b->n_edge_counts, sizeof *a->edge_counts) &&
           same_bytes("function counter", a->function_counts, a->n_function_counts,
                      b->function_counts, b->n_function_counts, sizeof *a->function_counts) &&
           same_bytes("call counter", a->call_counts, a->n_call_counts, b->call_counts,
                      b->n_call_counts, sizeof *a->call_counts) &&
           same_bytes("path counter", a->path_counts, a->n_path_counts, b->path_counts,
                      b->n_path_counts, sizeof *a->path_counts) &&
           same_bytes("loop counter", a->loop_counts, a->n_loop_counts, b->loop_counts,
                      b->n_loop_counts, sizeof *a->loop_counts) &&
           same_bytes("wait", a->waits, a->n_waits, b->waits, b->n_waits, sizeof *a->waits);
}

static inline int same_contexts(const struct hp_profile *a, const struct hp_profile *b)
{
    if (a->n_table_paths != b->n_table_paths)
        return differs("paths of tables", a->n_table_paths);
    for (size_t i = 0; i < a->n_table_paths; i++) {
        const struct hp_ptable_path *x = &a->table_paths[i], *y = &b->table_paths[i];
        if (strcmp(x->table, y->table) || x->path != y->path || x->events != y->events)
            return differs("path of a table", i);
    }
    return same_bytes("context", a->contexts, a->n_contexts, b->contexts, b->n_contexts,
                      sizeof *a->contexts) &&
           same_bytes("context counter", a->context_counts, a->n_context_counts, b->context_counts,
                      b->n_context_counts, sizeof *a->context_counts);
}

static inline int same_windows(const struct hp_profile *a, const struct hp_profile *b)
{
    if (a->n_windows != b->n_windows)
        return differs("windows", a->n_windows);
    for (size_t i = 0; i < a->n_windows; i++) {
        const struct hp_pwindow *x = &a->windows[i], *y = &b->windows[i];
        if (x->thread != y->thread || x->at != y->at || x->instructions != y->instructions ||
            x->cycles != y->cycles)
            return differs("window", i);
    }
    return 1;
}

static inline int same_profiles(const struct hp_profile *a, const struct hp_profile *b)
{
    return same_runs(&a->run, &b->run) && same_things(a, b) && same_counts(a, b) &&
           same_paths(a, b) && same_models(a, b) && same_loops(a, b) && same_hotspots(a, b) &&
           same_insns(a, b) && same_samplers(a, b) && same_windows(a, b) && same_contexts(a, b);
}

#endif
