// SPDX-License-Identifier: MIT
/*
 * Ball-Larus numbers of the functions of real programs: each is recorded, every function's graph is
 * recovered and numbered, its paths are counted in the stream, and compared with the path detector
 * where both cut paths at the same places.
 */
#include "base/map64.h"
#include "hotpath/cfg.h"
#include "hotpath/numbered.h"
#include "hotpath/path.h"
#include "hotpath/trace.h"
#include "stream_fixture.h"
#include "symbols/functions.h"

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define MAX_FUNCTIONS 256

/* A function and what is known of it. */
struct routine {
    uint32_t *blocks;
    size_t n, capacity;
    uint32_t entry;
    struct hp_cfg *cfg;
    struct hp_numbering *numbering;
    struct hp_numbered *numbered;
};

struct reader {
    struct hp_sink sink; /* first */
    struct hp_code *code;
    struct hp_edge_count *edges;
    size_t n_edges, capacity;
    struct hp_map64 by_ends;
    struct routine routines[MAX_FUNCTIONS];
    size_t n;
    struct hp_detector *detector; /* NULL: the first time */
};

/* --- Reading a trace -------------------------------------------------------------------------- */

static void take_batch(struct hp_sink *sink, const struct hp_batch *batch)
{
    struct reader *r = (struct reader *)sink;
    for (size_t i = 0; i < r->n && r->detector; i++)
        if (r->routines[i].numbered)
            hp_numbered_batch(r->routines[i].numbered, batch);
    if (r->detector) {
        hp_detector_batch(r->detector, batch);
        return;
    }
    for (size_t i = 0; i < batch->n; i++) {
        uint64_t key = (uint64_t)batch->blocks[i] << 32 | batch->blocks[i + 1];
        uint32_t known = hp_map64_get(&r->by_ends, key);
        if (known == HP_MAP64_NONE) {
            known = (uint32_t)r->n_edges++;
            assert_int_equal(hp_grow(&r->edges, &r->capacity, r->n_edges, sizeof *r->edges), HP_OK);
            assert_int_equal(hp_map64_put(&r->by_ends, key, known), HP_OK);
            r->edges[known] = (struct hp_edge_count){batch->blocks[i], batch->blocks[i + 1], 0};
        }
        r->edges[known].count++;
    }
}

static void take_event(struct hp_sink *sink, const struct hp_event *event)
{
    struct reader *r = (struct reader *)sink;
    for (size_t i = 0; i < r->n && r->detector; i++)
        if (r->routines[i].numbered)
            hp_numbered_event(r->routines[i].numbered, event);
    if (r->detector)
        hp_detector_event(r->detector, event);
}

/* Into a code map of its own each time: the blocks are the same. */
static struct hp_code *read_trace(const char *path, struct reader *r)
{
    struct hp_code *code;
    struct hp_trace_reader *trace;
    struct hp_trace_item item;
    struct hp_cursor *cursor = NULL;
    if (hp_trace_reader_open(path, &trace) != HP_OK)
        fail_msg("%s", hp_error_text());
    assert_int_equal(hp_code_new(hp_trace_reader_info(trace)->run.arch, &code), HP_OK);
    assert_int_equal(hp_cursor_new(code, NULL, &r->sink, &cursor), HP_OK);
    for (;;) {
        assert_int_equal(hp_trace_reader_next(trace, code, &item), HP_OK);
        if (item.kind == HP_TRACE_END)
            break;
        assert_int_equal(item.thread.id, 0);
        if (item.kind == HP_TRACE_WORDS)
            assert_int_equal(hp_cursor_feed(cursor, item.words, item.n_words), HP_OK);
        else if (item.kind == HP_TRACE_THREAD_END)
            assert_int_equal(hp_cursor_end(cursor, item.reason), HP_OK);
    }
    hp_cursor_free(cursor);
    hp_trace_reader_close(trace);
    return code;
}

/* --- Functions -------------------------------------------------------------------------------- */

static void find_functions(struct reader *r, struct hp_functions *functions)
{
    for (uint32_t block = 0; block < hp_code_n_blocks(r->code); block++) {
        uint32_t id = hp_functions_of_block(functions, block);
        if (id == HP_NO_ID)
            continue;
        assert_true(id < MAX_FUNCTIONS);
        struct routine *routine = &r->routines[id];
        r->n = id >= r->n ? id + 1 : r->n;
        assert_int_equal(hp_grow(&routine->blocks, &routine->capacity, routine->n + 1, 4), HP_OK);
        if (routine->n == 0 || hp_functions_is_entry(functions, block))
            routine->entry = block;
        routine->blocks[routine->n++] = block;
    }
}

static void number(struct reader *r, struct routine *routine)
{
    if (routine->n == 0)
        return;
    if (hp_cfg_new(r->code, routine->blocks, routine->n, routine->entry, r->edges, r->n_edges,
                   &routine->cfg) != HP_OK)
        fail_msg("%s", hp_error_text());
    if (hp_numbering_new(&routine->cfg->graph, true, &routine->numbering) != HP_OK)
        fail_msg("%s", hp_error_text());
    assert_int_equal(hp_numbered_new(routine->cfg, routine->numbering, &routine->numbered), HP_OK);
}

static bool is_comparable(const struct routine *routine)
{
    const struct hp_cfg *cfg = routine->cfg;
    for (uint32_t i = 0; i < cfg->graph.n_edges; i++) {
        const struct hp_numbered_edge *edge = &routine->numbering->edges[i];
        if (edge->from == HP_CFG_ENTRY || edge->to == HP_CFG_EXIT)
            continue;
        bool backward = cfg->vertices[edge->to].start <= cfg->vertices[edge->from].last;
        if (cfg->vertices[edge->from].flow == HP_FLOW_JUMP_IND ||
            backward != (edge->kind == HP_EDGE_BACK))
            return false;
    }
    return true;
}

/* Executions of the detector's paths that start in the function and are this one. */
static uint64_t detected(struct hp_complete *complete, const struct hp_cfg_signature *s)
{
    size_t n;
    uint64_t count = 0;
    const struct hp_path_count *paths = hp_complete_paths(complete, &n);
    for (size_t i = 0; i < n; i++)
        if (paths[i].path.start == s->start && paths[i].path.outcomes == s->outcomes &&
            paths[i].path.length == s->length)
            count += paths[i].count;
    return count;
}

struct totals {
    size_t functions, compared, paths;
    uint64_t edges, chords;
};

/* What the graph's counts say of the cost is what it was. */
static void check_weights(const struct hp_numbering *numbering,
                          const struct hp_numbered_stats *stats)
{
    uint64_t edges = 0, chords = 0;
    for (uint32_t i = 0; i < numbering->n_edges; i++) {
        const struct hp_numbered_edge *edge = &numbering->edges[i];
        if (edge->kind == HP_EDGE_BACK || edge->kind == HP_EDGE_UNREACHABLE)
            continue;
        edges += edge->weight;
        chords += edge->chord ? edge->weight : 0;
    }
    assert_int_equal(edges, stats->edges);
    assert_int_equal(chords, stats->chords);
}

static void check_routine(const struct routine *routine, struct hp_complete *complete,
                          struct totals *totals)
{
    size_t n;
    const struct hp_numbered_count *counts = hp_numbered_counts(routine->numbered, &n);
    const struct hp_numbered_stats *stats = hp_numbered_stats(routine->numbered);
    const struct hp_numbering *numbering = routine->numbering;
    uint32_t *edges = calloc(numbering->n + 1, sizeof *edges);
    assert_int_equal(stats->unknown, 0);
    assert_true(stats->entered > 0);
    check_weights(numbering, stats);
    bool comparable = is_comparable(routine);
    for (size_t i = 0; i < n; i++) {
        struct hp_cfg_signature s, t;
        uint64_t number, same = 0;
        uint32_t length = hp_numbering_path(numbering, counts[i].number, edges);
        assert_true(length > 0);
        assert_int_equal(hp_numbering_number(numbering, edges, length, &number), HP_OK);
        assert_int_equal(number, counts[i].number);
        assert_int_equal(hp_numbering_chord_sum(numbering, edges, length), number);
        if (!comparable || !hp_cfg_signature(routine->cfg, numbering, edges, length, &s))
            continue;
        for (size_t k = 0; k < n; k++) {
            length = hp_numbering_path(numbering, counts[k].number, edges);
            if (hp_cfg_signature(routine->cfg, numbering, edges, length, &t) &&
                t.start == s.start && t.outcomes == s.outcomes && t.length == s.length)
                same += counts[k].count;
        }
        assert_int_equal(same, detected(complete, &s));
    }
    totals->functions++;
    totals->compared += comparable;
    totals->paths += n;
    totals->edges += stats->edges;
    totals->chords += stats->chords;
    free(edges);
}

/* --- A program -------------------------------------------------------------------------------- */

static void record(const char *directory, const char *name, const char *trace)
{
    char hotpath[PATH_MAX], program[PATH_MAX];
    snprintf(hotpath, sizeof hotpath, "%s/../hotpath", directory);
    snprintf(program, sizeof program, "%s/programs/%s", directory, name);
    if (access(hotpath, X_OK) != 0 || access(program, X_OK) != 0)
        skip();
    char *argv[] = {hotpath,      (char *)"trace", (char *)"record",
                    (char *)"-q", (char *)"-o",    (char *)(uintptr_t)trace,
                    (char *)"--", program,         NULL};
    pid_t pid;
    int status;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    assert_int_equal(posix_spawn(&pid, hotpath, &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 125);
}

static void try_program(const char *trace, struct totals *totals)
{
    struct reader *r = calloc(1, sizeof *r);
    struct hp_functions *functions;
    struct hp_complete *complete;
    struct hp_ppcr ppcr;
    r->sink = (struct hp_sink){.batch = take_batch, .event = take_event};
    r->code = read_trace(trace, r);
    assert_int_equal(hp_functions_new(r->code, &functions), HP_OK);
    find_functions(r, functions);
    for (size_t i = 0; i < r->n; i++)
        number(r, &r->routines[i]);
    assert_int_equal(hp_ppcr_parse("bl,length=64", &ppcr), HP_OK);
    assert_int_equal(hp_complete_new(0, &complete), HP_OK);
    assert_int_equal(hp_detector_new(&ppcr, NULL, hp_complete_sink(complete), &r->detector), HP_OK);
    hp_code_free(read_trace(trace, r));
    hp_detector_flush(r->detector);
    for (size_t i = 0; i < r->n; i++)
        if (r->routines[i].numbered && hp_numbered_stats(r->routines[i].numbered)->entered)
            check_routine(&r->routines[i], complete, totals);
    for (size_t i = 0; i < r->n; i++) {
        hp_numbered_free(r->routines[i].numbered);
        hp_numbering_free(r->routines[i].numbering);
        hp_cfg_free(r->routines[i].cfg);
        free(r->routines[i].blocks);
    }
    hp_detector_free(r->detector);
    hp_complete_free(complete);
    hp_functions_free(functions);
    hp_map64_fini(&r->by_ends);
    hp_code_free(r->code);
    free(r->edges);
    free(r);
}

static void test_programs(void **state)
{
    (void)state;
    static const char *const names[] = {"sieve", "matrix", "hash",    "sort",
                                        "crc",   "queens", "machine", "mix"};
    char self[PATH_MAX], trace[] = "/tmp/hotpath-cfg.XXXXXX";
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    self[n] = 0;
    const char *directory = dirname(self);
    int fd = mkstemp(trace);
    assert_true(fd >= 0);
    close(fd);
    struct totals totals = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        record(directory, names[i], trace);
        try_program(trace, &totals);
    }
    unlink(trace);
    print_message(
        "%zu functions, %zu compared with the detector, %zu paths; %.1f%% of edges counted\n",
        totals.functions, totals.compared, totals.paths,
        100.0 * (double)totals.chords / (double)totals.edges);
    assert_true(totals.functions >= 20 && totals.compared >= 10);
    assert_true(totals.chords < totals.edges * 2 / 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
