// SPDX-License-Identifier: MIT
/*
 * Control flow graphs from the code map, and Ball-Larus paths counted in the stream: random
 * functions of real x86-64 code, run by a random walk. What the walk did is also written down
 * directly, path by path, and is compared with both the numbers and the path detector.
 */
#include "base/map64.h"
#include "hotpath/cfg.h"
#include "hotpath/numbered.h"
#include "hotpath/path.h"
#include "stream_fixture.h"

#define BASE     0x400000
#define MAX_CODE 512
#define MAX_LOG  6000

enum kind { NOP, COND, JMP, JMP_IND, CALL, RET, SYS };

struct instruction {
    uint8_t kind, size;
    uint32_t target; /* index */
    uint32_t offset;
};

/* A block that was run: from instruction `first` to `last`, then on to `next`. */
struct executed {
    uint32_t first, last, next;
};

struct machine {
    uint64_t seed;
    struct instruction code[MAX_CODE];
    uint32_t n, f_end, g_start, main_start; /* f is first */
    uint8_t bytes[MAX_CODE * 8];
    uint32_t size;
    struct executed log[MAX_LOG];
    size_t n_log;
    uint32_t segment_of[MAX_CODE], n_segments;
    uint32_t words[MAX_LOG];
};

/* --- Programs --------------------------------------------------------------------------------- */

static uint32_t below(struct machine *m, uint32_t n)
{
    return random_below(&m->seed, n);
}

static uint32_t emit(struct machine *m, enum kind kind, uint32_t target)
{
    static const struct {
        uint8_t bytes[2], size;
    } forms[] = {{{0x90}, 1}, {{0x0f, 0x84}, 6}, {{0xe9}, 5},      {{0xff, 0xe0}, 2},
                 {{0xe8}, 5}, {{0xc3}, 1},       {{0x0f, 0x05}, 2}};
    m->code[m->n] = (struct instruction){(uint8_t)kind, forms[kind].size, target, m->size};
    memset(m->bytes + m->size, 0, 8);
    memcpy(m->bytes + m->size, forms[kind].bytes, 2);
    m->size += forms[kind].size;
    return m->n++;
}

static void link_code(struct machine *m)
{
    for (uint32_t i = 0; i < m->n; i++) {
        const struct instruction *in = &m->code[i];
        uint32_t end = in->offset + in->size;
        int32_t displacement = (int32_t)(m->code[in->target].offset - end);
        if (in->kind == COND || in->kind == JMP || in->kind == CALL)
            memcpy(m->bytes + end - 4, &displacement, 4);
    }
}

/* f: anything. g: two ways to return. main: calls f for ever. */
static void make(struct machine *m, uint64_t seed, bool indirect)
{
    *m = (struct machine){.seed = seed};
    uint32_t n = 6 + below(m, 60);
    m->f_end = n + 1;
    m->g_start = m->f_end;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t dice = below(m, 100), forward = i + 1 + below(m, 10);
        forward = forward < n ? forward : n;
        if (dice < 24)
            emit(m, COND, below(m, 4) ? forward : below(m, i + 1));
        else if (dice < 27)
            emit(m, JMP, forward);
        else if (dice < 31)
            emit(m, CALL, m->g_start);
        else if (dice < 32)
            emit(m, CALL, 0);
        else if (dice < 34)
            emit(m, RET, 0);
        else if (dice < 36)
            emit(m, indirect ? JMP_IND : SYS, 0);
        else
            emit(m, NOP, 0);
    }
    emit(m, RET, 0);
    emit(m, NOP, 0);
    emit(m, COND, m->g_start + 3);
    emit(m, RET, 0);
    emit(m, RET, 0);
    m->main_start = emit(m, NOP, 0);
    emit(m, CALL, 0);
    emit(m, NOP, 0);
    emit(m, COND, m->main_start);
    emit(m, JMP, m->main_start);
    emit(m, NOP, 0);
    link_code(m);
}

/* Runs it: the log. */
static void run(struct machine *m)
{
    static uint32_t stack[MAX_LOG];
    uint32_t depth = 0, at = m->main_start;
    while (m->n_log < MAX_LOG) {
        uint32_t first = at, next;
        while (m->code[at].kind == NOP)
            at++;
        const struct instruction *in = &m->code[at];
        switch (in->kind) {
        case COND: next = below(m, 100) < 30 + at % 40 ? in->target : at + 1; break;
        case JMP: next = in->target; break;
        case JMP_IND: next = (at * 7 + below(m, 3) * 5) % m->f_end; break;
        case CALL:
            stack[depth++] = at + 1;
            next = in->target;
            break;
        case RET: next = stack[--depth]; break;
        default: next = at + 1; break;
        }
        m->log[m->n_log++] = (struct executed){first, at, next};
        at = next;
    }
}

static uint64_t address_of(const struct machine *m, uint32_t index)
{
    return BASE + m->code[index].offset;
}

/* The log as words; every block is a segment. */
static void define(struct machine *m, struct stream *s)
{
    for (size_t i = 0; i < m->n_log; i++) {
        const struct executed *e = &m->log[i];
        if (!m->segment_of[e->first]) {
            const struct instruction *last = &m->code[e->last];
            uint32_t offset = m->code[e->first].offset;
            struct hp_segment segment = {.start = BASE + offset,
                                         .module = s->module,
                                         .size = last->offset + last->size - offset,
                                         .bytes = m->bytes + offset};
            m->segment_of[e->first] = ++m->n_segments;
            assert_int_equal(hp_code_add_segment(s->code, m->n_segments, &segment), HP_OK);
        }
        m->words[i] = m->segment_of[e->first];
    }
}

/* --- What is observed ------------------------------------------------------------------------- */

struct watch {
    struct hp_sink sink; /* first */
    struct hp_detector *detector;
    struct hp_numbered *numbered;
    struct hp_edge_count *edges;
    size_t n_edges, capacity;
};

static void watch_batch(struct hp_sink *sink, const struct hp_batch *batch)
{
    struct watch *w = (struct watch *)sink;
    if (w->numbered) {
        hp_numbered_batch(w->numbered, batch);
        hp_detector_batch(w->detector, batch);
        return;
    }
    for (size_t i = 0; i < batch->n; i++) {
        size_t k = 0;
        while (k < w->n_edges &&
               (w->edges[k].from != batch->blocks[i] || w->edges[k].to != batch->blocks[i + 1]))
            k++;
        if (k == w->n_edges) {
            assert_int_equal(hp_grow(&w->edges, &w->capacity, k + 1, sizeof *w->edges), HP_OK);
            w->edges[w->n_edges++] =
                (struct hp_edge_count){batch->blocks[i], batch->blocks[i + 1], 0};
        }
        w->edges[k].count++;
    }
}

static void watch_event(struct hp_sink *sink, const struct hp_event *event)
{
    struct watch *w = (struct watch *)sink;
    if (w->numbered) {
        hp_numbered_event(w->numbered, event);
        hp_detector_event(w->detector, event);
    }
}

static void feed_words(const struct machine *m, struct hp_code *code, struct watch *w)
{
    struct hp_cursor *cursor;
    w->sink = (struct hp_sink){.batch = watch_batch, .event = watch_event};
    assert_int_equal(hp_cursor_new(code, NULL, &w->sink, &cursor), HP_OK);
    assert_int_equal(hp_cursor_feed(cursor, m->words, m->n_log), HP_OK);
    assert_int_equal(hp_cursor_end(cursor, HP_END_EXIT), HP_OK);
    hp_cursor_free(cursor);
}

static struct hp_cfg *recover(const struct machine *m, struct hp_code *code, const struct watch *w)
{
    uint32_t mine[MAX_CODE], n = 0, entry = HP_NO_ID;
    for (uint32_t i = 0; i < hp_code_n_blocks(code); i++) {
        uint64_t start = hp_code_block(code, i)->start;
        if (start >= address_of(m, m->f_end))
            continue;
        mine[n++] = i;
        if (start == BASE)
            entry = i;
    }
    struct hp_cfg *cfg;
    if (hp_cfg_new(code, mine, n, entry, w->edges, w->n_edges, &cfg) != HP_OK)
        fail_msg("%s", hp_error_text());
    return cfg;
}

/* --- The truth -------------------------------------------------------------------------------- */

/* Paths by a hash of their vertices; how they begin and end is told by the entry and the exit, and
 * by 1000 for a back edge. */
struct truth {
    struct hp_map64 by_hash;
    struct {
        uint64_t hash, count;
    } paths[MAX_LOG];
    size_t n;
    uint64_t total;
};

struct open_path {
    bool mine;
    uint64_t hash;
    uint32_t vertex;
};

static uint64_t mix(uint64_t hash, uint32_t vertex)
{
    return hp_hash64(hash * 31 + vertex + 7);
}

static void found(struct truth *truth, uint64_t hash, uint64_t count)
{
    uint32_t i = hp_map64_get(&truth->by_hash, hash);
    if (i == HP_MAP64_NONE) {
        i = (uint32_t)truth->n++;
        truth->paths[i].hash = hash;
        truth->paths[i].count = 0;
        assert_int_equal(hp_map64_put(&truth->by_hash, hash, i), HP_OK);
    }
    truth->paths[i].count += count;
    truth->total += count;
}

static void go(struct truth *truth, const struct hp_cfg *cfg, const struct hp_numbering *numbering,
               struct open_path *path, uint32_t to)
{
    uint32_t edge = hp_cfg_edge(cfg, path->vertex, to);
    assert_int_not_equal(edge, HP_NO_EDGE);
    if (numbering->edges[edge].kind == HP_EDGE_BACK) {
        found(truth, mix(path->hash, 1000), 1);
        path->hash = mix(0, 1000);
    }
    path->hash = mix(path->hash, to);
    path->vertex = to;
    if (to == HP_CFG_EXIT)
        found(truth, path->hash, 1);
}

/* Goes through the log instruction by instruction, with the true stack. */
static void tell_truth(const struct machine *m, const struct hp_cfg *cfg,
                       const struct hp_numbering *numbering, struct truth *truth)
{
    static struct open_path stack[MAX_LOG];
    size_t depth = 0;
    stack[0] = (struct open_path){0};
    for (size_t i = 0; i + 1 < m->n_log; i++) {
        const struct executed *e = &m->log[i];
        struct open_path *path = &stack[depth];
        for (uint32_t k = e->first + 1; k <= e->last && path->mine; k++)
            if (hp_cfg_at(cfg, address_of(m, k)) != HP_NO_ID)
                go(truth, cfg, numbering, path, hp_cfg_at(cfg, address_of(m, k)));
        uint32_t to = e->next < m->f_end ? hp_cfg_at(cfg, address_of(m, e->next)) : HP_NO_ID;
        switch (m->code[e->last].kind) {
        case CALL:
            path = &stack[++depth];
            *path = (struct open_path){.mine = e->next < m->f_end, .vertex = HP_CFG_ENTRY};
            break;
        case RET:
            if (path->mine)
                go(truth, cfg, numbering, path, HP_CFG_EXIT);
            path = &stack[--depth];
            break;
        default: break;
        }
        if (path->mine)
            go(truth, cfg, numbering, path, to);
    }
}

static void assert_true_counts(const struct hp_numbering *numbering,
                               const struct hp_numbered *numbered, const struct truth *truth)
{
    size_t n;
    const struct hp_numbered_count *counts = hp_numbered_counts(numbered, &n);
    assert_int_equal(n, truth->n);
    for (size_t i = 0; i < n; i++) {
        uint32_t edges[MAX_CODE], length = hp_numbering_path(numbering, counts[i].number, edges);
        const struct hp_numbered_edge *first = &numbering->edges[edges[0]];
        assert_true(length > 0);
        uint64_t hash = first->kind == HP_EDGE_ENTER ? mix(0, 1000) : 0;
        for (uint32_t k = 0; k < length; k++) {
            const struct hp_numbered_edge *edge = &numbering->edges[edges[k]];
            hash = mix(hash, edge->kind == HP_EDGE_LEAVE ? 1000 : edge->to);
        }
        uint32_t known = hp_map64_get(&truth->by_hash, hash);
        assert_int_not_equal(known, HP_MAP64_NONE);
        assert_int_equal(truth->paths[known].count, counts[i].count);
    }
    assert_int_equal(hp_numbered_stats(numbered)->paths, truth->total);
    assert_int_equal(hp_numbered_stats(numbered)->unknown, 0);
}

/* --- The detector ----------------------------------------------------------------------------- */

/* Whether the two cut at the same places: the detector at every taken branch backward in memory,
 * Ball and Larus at back edges of the graph. */
static bool is_comparable(const struct hp_cfg *cfg, const struct hp_numbering *numbering)
{
    for (uint32_t i = 0; i < cfg->graph.n_edges; i++) {
        const struct hp_numbered_edge *edge = &numbering->edges[i];
        if (edge->from == HP_CFG_ENTRY || edge->to == HP_CFG_EXIT)
            continue;
        const struct hp_cfg_vertex *from = &cfg->vertices[edge->from];
        bool backward = cfg->vertices[edge->to].start <= from->last;
        if (from->flow == HP_FLOW_JUMP_IND || backward != (edge->kind == HP_EDGE_BACK) ||
            (from->flow == HP_FLOW_COND && from->target == from->end))
            return false;
    }
    return true;
}

static uint64_t signature_hash(uint64_t start, uint64_t outcomes, uint32_t length)
{
    return hp_hash64(hp_hash64(start) + hp_hash64(outcomes + 1) * 3 + length);
}

/* Both as (start, outcomes): a path from the function's entry and one from a back edge to it are
 * the same to the detector. */
static bool assert_detector_agrees(const struct machine *m, const struct hp_cfg *cfg,
                                   const struct hp_numbering *numbering,
                                   const struct hp_numbered *numbered, struct hp_complete *complete)
{
    static struct truth ours, theirs;
    bool all = true;
    size_t n;
    ours = theirs = (struct truth){0};
    const struct hp_numbered_count *counts = hp_numbered_counts(numbered, &n);
    for (size_t i = 0; i < n; i++) {
        uint32_t edges[MAX_CODE], length = hp_numbering_path(numbering, counts[i].number, edges);
        struct hp_cfg_signature s;
        if (hp_cfg_signature(cfg, numbering, edges, length, &s))
            found(&ours, signature_hash(s.start, s.outcomes, s.length), counts[i].count);
        else
            all = false;
    }
    const struct hp_path_count *paths = hp_complete_paths(complete, &n);
    for (size_t i = 0; i < n; i++)
        if (paths[i].path.start < address_of(m, m->f_end))
            found(&theirs,
                  signature_hash(paths[i].path.start, paths[i].path.outcomes, paths[i].path.length),
                  paths[i].count);
    if (all) {
        assert_int_equal(ours.n, theirs.n);
        for (size_t i = 0; i < ours.n; i++) {
            uint32_t k = hp_map64_get(&theirs.by_hash, ours.paths[i].hash);
            assert_int_not_equal(k, HP_MAP64_NONE);
            assert_int_equal(ours.paths[i].count, theirs.paths[k].count);
        }
    }
    hp_map64_fini(&ours.by_hash);
    hp_map64_fini(&theirs.by_hash);
    return all;
}

/* --- All of it -------------------------------------------------------------------------------- */

struct seen {
    int functions, compared, loops, indirect, chords_saved;
};

static void assert_flow(const struct hp_cfg *cfg, const struct machine *m)
{
    /* What leads to a vertex leads away from it, but for the frames that are open in the end. */
    uint64_t in[MAX_CODE] = {0}, out[MAX_CODE] = {0}, open = 0;
    for (uint32_t i = 0; i < cfg->graph.n_edges; i++) {
        in[cfg->edges[i].to] += cfg->edges[i].count;
        out[cfg->edges[i].from] += cfg->edges[i].count;
    }
    for (uint32_t v = HP_CFG_FIRST; v < cfg->graph.n; v++) {
        assert_true(in[v] >= out[v]);
        open += in[v] - out[v];
    }
    assert_int_equal(out[HP_CFG_ENTRY] - in[HP_CFG_EXIT], open);
    (void)m;
}

static void try_function(uint64_t seed, bool indirect, struct seen *seen)
{
    static struct machine m;
    static struct truth truth;
    struct stream s;
    struct watch w = {0};
    make(&m, seed, indirect);
    run(&m);
    stream_init(&s);
    define(&m, &s);
    feed_words(&m, s.code, &w);
    struct hp_cfg *cfg = recover(&m, s.code, &w);
    assert_flow(cfg, &m);
    struct hp_numbering *numbering;
    enum hp_err err = hp_numbering_new(&cfg->graph, seed % 2, &numbering);
    if (err == HP_OK) {
        struct hp_ppcr ppcr;
        struct hp_complete *complete;
        assert_int_equal(hp_ppcr_parse("bl,length=64", &ppcr), HP_OK);
        assert_int_equal(hp_complete_new(0, &complete), HP_OK);
        assert_int_equal(hp_numbered_new(cfg, numbering, &w.numbered), HP_OK);
        assert_int_equal(hp_detector_new(&ppcr, NULL, hp_complete_sink(complete), &w.detector),
                         HP_OK);
        feed_words(&m, s.code, &w);
        hp_detector_flush(w.detector);
        truth = (struct truth){0};
        tell_truth(&m, cfg, numbering, &truth);
        assert_true_counts(numbering, w.numbered, &truth);
        hp_map64_fini(&truth.by_hash);
        const struct hp_numbered_stats *stats = hp_numbered_stats(w.numbered);
        seen->functions++;
        seen->loops += numbering->n_edges > cfg->graph.n_edges;
        seen->chords_saved += stats->chords < stats->edges;
        assert_true(stats->chords <= stats->edges);
        if (is_comparable(cfg, numbering))
            seen->compared += assert_detector_agrees(&m, cfg, numbering, w.numbered, complete);
        hp_detector_free(w.detector);
        hp_complete_free(complete);
        hp_numbered_free(w.numbered);
        hp_numbering_free(numbering);
    } else {
        assert_int_equal(err, HP_ERR_UNSUPPORTED);
    }
    free(w.edges);
    hp_cfg_free(cfg);
    stream_fini(&s);
}

static void test_random_functions(void **state)
{
    (void)state;
    struct seen seen = {0};
    for (uint64_t seed = 1; seed <= 400; seed++)
        try_function(seed, false, &seen);
    print_message("%d functions, %d with loops, %d compared with the detector\n", seen.functions,
                  seen.loops, seen.compared);
    assert_true(seen.functions > 300 && seen.loops > 100 && seen.compared > 60);
    assert_true(seen.chords_saved > seen.functions / 2);
}

static void test_random_functions_with_indirect_jumps(void **state)
{
    (void)state;
    struct seen seen = {0};
    for (uint64_t seed = 1000; seed <= 1200; seed++)
        try_function(seed, true, &seen);
    assert_true(seen.functions > 150);
}

/* --- By hand ---------------------------------------------------------------------------------- */

/*
 *   0x1000  jmp 0x1008         a loop whose test is at its end, as compilers lay it out
 *   0x1005  nop nop nop        the body
 *   0x1008  nop
 *   0x1009  jz 0x1005          the test
 *   0x100f  ret
 *
 * The detector cuts at the backward branch: paths begin with the body. In the graph the edge from
 * the body to the test is the back edge, although it falls through: the test is met first.
 */
static void test_rotated_loop(void **state)
{
    (void)state;
    struct stream s;
    struct hp_cfg *cfg;
    struct hp_numbering *numbering;
    stream_init(&s);
    add_segment(&s, 1, 0x1000, "e9 03 00 00 00");
    add_segment(&s, 2, 0x1008, "90 0f 84 f6 ff ff ff");
    add_segment(&s, 3, 0x1005, "90 90 90 90 0f 84 f6 ff ff ff");
    add_segment(&s, 4, 0x100f, "c3");
    const uint32_t blocks[] = {0, 1, 2, 3, 3};
    const struct hp_edge_count edges[] = {{0, 1, 1}, {1, 2, 1}, {2, 2, 8}, {2, 3, 1}};
    assert_int_equal(hp_cfg_new(s.code, blocks, 5, 0, edges, 4, &cfg), HP_OK);
    assert_int_equal(cfg->graph.n, 2 + 4);
    uint32_t start = hp_cfg_at(cfg, 0x1000), body = hp_cfg_at(cfg, 0x1005),
             test = hp_cfg_at(cfg, 0x1008), end = hp_cfg_at(cfg, 0x100f);
    assert_int_equal(cfg->vertices[body].end, 0x1008);
    assert_int_equal(cfg->vertices[body].flow, HP_FLOW_NONE);
    assert_int_equal(cfg->vertices[body].insns, 3);
    assert_int_equal(cfg->edges[hp_cfg_edge(cfg, start, test)].count, 1);
    assert_int_equal(cfg->edges[hp_cfg_edge(cfg, body, test)].count, 9);
    assert_int_equal(cfg->edges[hp_cfg_edge(cfg, test, body)].count, 9);
    assert_int_equal(cfg->edges[hp_cfg_edge(cfg, test, end)].count, 1);
    assert_int_equal(cfg->edges[hp_cfg_edge(cfg, end, HP_CFG_EXIT)].count, 0);
    assert_int_equal(hp_numbering_new(&cfg->graph, true, &numbering), HP_OK);
    assert_int_equal(numbering->edges[hp_cfg_edge(cfg, body, test)].kind, HP_EDGE_BACK);
    assert_int_equal(numbering->edges[hp_cfg_edge(cfg, test, body)].kind, HP_EDGE_REAL);
    assert_false(is_comparable(cfg, numbering));
    /* {from the start, from the back edge} x {to the exit, to the back edge} */
    assert_int_equal(numbering->paths, 4);
    hp_numbering_free(numbering);
    hp_cfg_free(cfg);
    assert_int_equal(hp_cfg_new(s.code, blocks, 3, 3, NULL, 0, &cfg), HP_ERR_INVALID);
    stream_fini(&s);
}

/* A tail call leads to the exit; another function's call is the entry; a return to behind a call is
 * an edge from it. */
static void test_calls(void **state)
{
    (void)state;
    struct stream s;
    struct hp_cfg *cfg;
    stream_init(&s);
    add_segment(&s, 1, 0x1000, "e8 fb 0f 00 00"); /* f: call 0x2000 */
    add_segment(&s, 2, 0x1005, "e9 f6 1f 00 00"); /* jmp 0x3000 */
    add_segment(&s, 3, 0x2000, "c3");
    add_segment(&s, 4, 0x4000, "e8 fb cf ff ff"); /* call f */
    const uint32_t blocks[] = {0, 1};
    const struct hp_edge_count edges[] = {
        {3, 0, 7}, {0, 2, 7}, {2, 1, 7}, {1, HP_NO_ID, 1}, {1, 2, 6}};
    assert_int_equal(hp_cfg_new(s.code, blocks, 2, 0, edges, 5, &cfg), HP_OK);
    uint32_t call = hp_cfg_at(cfg, 0x1000), tail = hp_cfg_at(cfg, 0x1005);
    assert_int_equal(cfg->graph.n_edges, 3);
    assert_int_equal(cfg->edges[hp_cfg_edge(cfg, HP_CFG_ENTRY, call)].count, 7);
    assert_int_equal(cfg->edges[hp_cfg_edge(cfg, call, tail)].count, 7);
    assert_int_equal(cfg->edges[hp_cfg_edge(cfg, tail, HP_CFG_EXIT)].count, 7);
    hp_cfg_free(cfg);
    stream_fini(&s);
}

static void test_changed_code(void **state)
{
    (void)state;
    struct stream s;
    struct hp_cfg *cfg;
    stream_init(&s);
    add_segment(&s, 1, 0x1000, "90 c3");
    add_segment(&s, 2, 0x1000, "66 90 c3");
    const uint32_t blocks[] = {0, 1};
    assert_int_equal(hp_cfg_new(s.code, blocks, 2, 0, NULL, 0, &cfg), HP_ERR_UNSUPPORTED);
    assert_non_null(strstr(hp_error_text(), "0x1000 was changed"));
    stream_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rotated_loop),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_changed_code),
        cmocka_unit_test(test_random_functions),
        cmocka_unit_test(test_random_functions_with_indirect_jumps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
