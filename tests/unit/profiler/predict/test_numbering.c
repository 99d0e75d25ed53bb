// SPDX-License-Identifier: MIT
/* Ball-Larus numbers: of graphs alone. */
#include "hotpath/numbering.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed;

static uint32_t below(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 16) % n;
}

/* --- What must hold of every numbering -------------------------------------------------------- */

static bool counts(const struct hp_numbered_edge *edge)
{
    return edge->kind == HP_EDGE_REAL || edge->kind == HP_EDGE_ENTER || edge->kind == HP_EDGE_LEAVE;
}

struct walk {
    const struct hp_numbering *numbering;
    uint32_t edges[128];
    uint8_t *seen; /* of each number */
    uint64_t n;
};

/* All paths from the entry to the exit, found by trying every edge. */
static void try_paths(struct walk *walk, uint32_t vertex, uint32_t length)
{
    const struct hp_numbering *numbering = walk->numbering;
    if (vertex == numbering->exit) {
        uint64_t number, again;
        uint32_t edges[128];
        assert_int_equal(hp_numbering_number(numbering, walk->edges, length, &number), HP_OK);
        assert_true(number < numbering->paths);
        assert_int_equal(walk->seen[number], 0);
        walk->seen[number] = 1;
        walk->n++;
        assert_int_equal(hp_numbering_chord_sum(numbering, walk->edges, length), number);
        assert_int_equal(hp_numbering_path(numbering, number, edges), length);
        assert_memory_equal(edges, walk->edges, length * sizeof *edges);
        assert_int_equal(hp_numbering_number(numbering, edges, length, &again), HP_OK);
        assert_int_equal(again, number);
        return;
    }
    for (uint32_t i = 0; i < numbering->n_edges; i++)
        if (numbering->edges[i].from == vertex && counts(&numbering->edges[i])) {
            walk->edges[length] = i;
            try_paths(walk, numbering->edges[i].to, length + 1);
        }
}

static uint32_t root(const uint32_t *parents, uint32_t v)
{
    while (parents[v] != v)
        v = parents[v];
    return v;
}

/* The edges that are no chords, with one from the exit to the entry, are a tree that reaches all
 * there is. */
static void assert_spanning_tree(const struct hp_numbering *numbering)
{
    uint32_t parents[128], reached = 0, tree = 0;
    for (uint32_t v = 0; v < numbering->n; v++) {
        parents[v] = v;
        reached += numbering->paths_from[v] > 0;
    }
    parents[numbering->exit] = numbering->entry;
    for (uint32_t i = 0; i < numbering->n_edges; i++) {
        const struct hp_numbered_edge *edge = &numbering->edges[i];
        if (!counts(edge) || edge->chord)
            continue;
        assert_int_equal(edge->increment, 0);
        uint32_t a = root(parents, edge->from), b = root(parents, edge->to);
        assert_int_not_equal(a, b); /* no cycle */
        parents[a] = b;
        tree++;
    }
    assert_int_equal(tree, reached - 2);
    for (uint32_t v = 0; v < numbering->n; v++)
        if (numbering->paths_from[v])
            assert_int_equal(root(parents, v), root(parents, numbering->entry));
}

/* Whether the tree edges from `from` on reach `to`; `*lightest` is the lightest on the way. */
static bool tree_path(const struct hp_numbering *numbering, uint32_t from, uint32_t to,
                      uint32_t came_by, uint64_t *lightest)
{
    if (from == to)
        return true;
    for (uint32_t i = 0; i < numbering->n_edges; i++) {
        const struct hp_numbered_edge *edge = &numbering->edges[i];
        if (i == came_by || !counts(edge) || edge->chord ||
            (edge->from != from && edge->to != from))
            continue;
        uint32_t other = edge->from == from ? edge->to : edge->from;
        if (tree_path(numbering, other, to, i, lightest)) {
            *lightest = edge->weight < *lightest ? edge->weight : *lightest;
            return true;
        }
    }
    /* The imaginary edge, which is heavier than any. */
    uint32_t across = from == numbering->exit    ? numbering->entry
                      : from == numbering->entry ? numbering->exit
                                                 : HP_NO_EDGE;
    if (across == HP_NO_EDGE || came_by == HP_NO_EDGE - 1)
        return false;
    return tree_path(numbering, across, to, HP_NO_EDGE - 1, lightest);
}

/* No chord is heavier than an edge of the tree that it could take the place of. */
static void assert_maximum(const struct hp_numbering *numbering)
{
    for (uint32_t i = 0; i < numbering->n_edges; i++) {
        const struct hp_numbered_edge *edge = &numbering->edges[i];
        uint64_t lightest = UINT64_MAX;
        if (!counts(edge) || !edge->chord)
            continue;
        assert_true(tree_path(numbering, edge->from, edge->to, HP_NO_EDGE, &lightest));
        assert_true(edge->weight <= lightest);
    }
}

static uint64_t assert_numbered(const struct hp_graph *graph, bool counted)
{
    struct hp_numbering *numbering;
    if (hp_numbering_new(graph, counted, &numbering) != HP_OK)
        fail_msg("%s", hp_error_text());
    uint64_t paths = numbering->paths;
    assert_true(paths > 0);
    if (paths < 100000) {
        struct walk walk = {.numbering = numbering, .seen = calloc(paths, 1)};
        try_paths(&walk, numbering->entry, 0);
        assert_int_equal(walk.n, paths);
        free(walk.seen);
    }
    assert_spanning_tree(numbering);
    assert_maximum(numbering);
    for (uint32_t i = 0; i < graph->n_edges; i++) {
        const struct hp_numbered_edge *edge = &numbering->edges[i];
        assert_int_equal(edge->from, graph->edges[i].from);
        assert_int_equal(edge->to, graph->edges[i].to);
        if (edge->kind != HP_EDGE_BACK)
            continue;
        assert_int_equal(numbering->edges[edge->enter].kind, HP_EDGE_ENTER);
        assert_int_equal(numbering->edges[edge->enter].to, edge->to);
        assert_int_equal(numbering->edges[edge->leave].kind, HP_EDGE_LEAVE);
        assert_int_equal(numbering->edges[edge->leave].from, edge->from);
    }
    uint32_t edges[128];
    assert_int_equal(hp_numbering_path(numbering, paths, edges), 0);
    hp_numbering_free(numbering);
    return paths;
}

/* --- The paper's example ---------------------------------------------------------------------- */

enum { A, B, C, D, E, F };

static void test_paper(void **state)
{
    (void)state;
    /* ACDF 0, ACDEF 1, ABCDF 2, ABCDEF 3, ABDF 4, ABDEF 5. */
    const struct hp_graph_edge edges[] = {{A, C, 0}, {A, B, 0}, {B, C, 0}, {B, D, 0},
                                          {C, D, 0}, {D, F, 0}, {D, E, 0}, {E, F, 0}};
    const struct hp_graph graph = {6, A, F, edges, 8};
    const uint64_t values[] = {0, 2, 0, 2, 0, 0, 1, 0}, from[] = {6, 4, 2, 2, 1, 1};
    const char *const paths[] = {"ACDF", "ACDEF", "ABCDF", "ABCDEF", "ABDF", "ABDEF"};
    struct hp_numbering *numbering;
    assert_int_equal(hp_numbering_new(&graph, false, &numbering), HP_OK);
    assert_int_equal(numbering->paths, 6);
    assert_int_equal(numbering->n_edges, 8);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(numbering->edges[i].value, values[i]);
    for (uint32_t v = 0; v < 6; v++)
        assert_int_equal(numbering->paths_from[v], from[v]);
    for (uint64_t number = 0; number < 6; number++) {
        uint32_t found[8], n = hp_numbering_path(numbering, number, found);
        char text[8] = "A";
        for (uint32_t i = 0; i < n; i++)
            text[i + 1] = (char)('A' + numbering->edges[found[i]].to);
        assert_string_equal(text, paths[number]);
    }
    /* Of 9 edges with the one from F to A, 5 are in the tree: 4 chords count. */
    uint32_t chords = 0;
    for (uint32_t i = 0; i < 8; i++)
        chords += numbering->edges[i].chord;
    assert_int_equal(chords, 4);
    hp_numbering_free(numbering);
    assert_int_equal(assert_numbered(&graph, true), 6);
}

/* Counting is put on light edges. */
static void test_weights_choose_the_chords(void **state)
{
    (void)state;
    const struct hp_graph_edge edges[] = {{0, 1, 100}, {1, 2, 99}, {1, 3, 1}, {2, 3, 99}};
    const struct hp_graph graph = {4, 0, 3, edges, 4};
    struct hp_numbering *numbering;
    assert_int_equal(hp_numbering_new(&graph, true, &numbering), HP_OK);
    uint64_t counted = 0;
    for (uint32_t i = 0; i < 4; i++)
        counted += numbering->edges[i].chord ? numbering->edges[i].weight : 0;
    /* With the edge from exit to entry there are 5: 3 in the tree, so one of 1 and one of 99 count,
     * not that of 100. */
    assert_int_equal(counted, 100);
    assert_true(numbering->edges[2].chord && !numbering->edges[0].chord);
    hp_numbering_free(numbering);
}

/* entry, 1 (head), 2, 3 (tail, back to 1), exit: by hand. */
static void test_loop(void **state)
{
    (void)state;
    const struct hp_graph_edge edges[] = {{0, 1, 10}, {1, 2, 70}, {1, 3, 30},
                                          {2, 3, 70}, {3, 1, 90}, {3, 4, 10}};
    const struct hp_graph graph = {5, 0, 4, edges, 6};
    struct hp_numbering *numbering;
    assert_int_equal(hp_numbering_new(&graph, true, &numbering), HP_OK);
    assert_int_equal(numbering->edges[4].kind, HP_EDGE_BACK);
    assert_int_equal(numbering->n_edges, 8);
    assert_int_equal(numbering->edges[6].kind, HP_EDGE_ENTER);
    assert_int_equal(numbering->edges[6].weight, 90);
    assert_int_equal(numbering->edges[7].weight, 90);
    /* {from entry, from the back edge} x {2, not 2} x {to exit, to the back edge} */
    assert_int_equal(numbering->paths, 8);
    uint64_t number;
    const uint32_t good[] = {6, 2, 7}, bad[] = {6, 3, 7}, back[] = {0, 2, 4}, half[] = {0, 1};
    assert_int_equal(hp_numbering_number(numbering, good, 3, &number), HP_OK);
    assert_int_equal(hp_numbering_number(numbering, bad, 3, &number), HP_ERR_INVALID);
    assert_int_equal(hp_numbering_number(numbering, back, 3, &number), HP_ERR_INVALID);
    assert_int_equal(hp_numbering_number(numbering, half, 2, &number), HP_ERR_INVALID);
    hp_numbering_free(numbering);
    assert_int_equal(assert_numbered(&graph, true), 8);
    assert_int_equal(assert_numbered(&graph, false), 8);
}

/* --- Random graphs ---------------------------------------------------------------------------- */

/* 0 is the entry, n - 1 the exit; edges lead anywhere, or only forward. */
static struct hp_graph random_graph(struct hp_graph_edge *edges, uint32_t n, uint32_t more,
                                    bool cycles)
{
    struct hp_graph graph = {.n = n, .entry = 0, .exit = n - 1, .edges = edges};
    for (uint32_t v = 0; v + 1 < n; v++) {
        uint32_t to = cycles && v && below(4) ? 1 + below(n - 1) : v + 1 + below(n - 1 - v);
        edges[graph.n_edges++] = (struct hp_graph_edge){v, to, below(1000)};
    }
    for (uint32_t i = 0; i < more; i++) {
        uint32_t from = below(n - 1),
                 to = cycles ? 1 + below(n - 1) : from + 1 + below(n - 1 - from);
        edges[graph.n_edges++] = (struct hp_graph_edge){from, to, below(1000)};
    }
    return graph;
}

static void test_random(void **state)
{
    (void)state;
    struct hp_graph_edge edges[128];
    for (uint32_t round = 0; round < 3000; round++) {
        seed = round * UINT64_C(2654435761) + 12345;
        struct hp_graph graph = random_graph(edges, 2 + below(14), below(14), round % 3 != 0);
        assert_numbered(&graph, round % 2);
    }
}

/* Nothing of it is in the DAG of another loop; both heads can be entered. */
static void test_irreducible(void **state)
{
    (void)state;
    const struct hp_graph_edge edges[] = {{0, 1, 1}, {0, 2, 1}, {1, 2, 1},
                                          {2, 1, 1}, {1, 3, 1}, {2, 3, 1}};
    const struct hp_graph graph = {4, 0, 3, edges, 6};
    /* 1 is visited first: 2 -> 1 is cut. 0 1 3, 0 1 2 3, 0 1 2 |, 0 2 3, 0 2 |, | 1 3, | 1 2 3, | 1
     * 2 | */
    assert_int_equal(assert_numbered(&graph, true), 8);
}

static void test_unreachable_and_self_loops(void **state)
{
    (void)state;
    const struct hp_graph_edge edges[] = {{0, 1, 5}, {1, 1, 9}, {1, 4, 5}, {2, 3, 0}, {3, 2, 0}};
    const struct hp_graph graph = {5, 0, 4, edges, 5};
    assert_int_equal(assert_numbered(&graph, true), 4);
    /* A loop without an end. */
    const struct hp_graph_edge forever[] = {{0, 1, 1}, {1, 2, 9}, {2, 1, 9}};
    const struct hp_graph no_exit = {4, 0, 3, forever, 3};
    assert_int_equal(assert_numbered(&no_exit, true), 2);
}

/* --- Limits ----------------------------------------------------------------------------------- */

/* `n` diamonds in a row. */
static struct hp_graph diamonds(struct hp_graph_edge *edges, uint32_t n)
{
    struct hp_graph graph = {.n = n + 2, .entry = 0, .exit = n + 1, .edges = edges};
    edges[graph.n_edges++] = (struct hp_graph_edge){0, 1, 0};
    for (uint32_t i = 1; i <= n; i++)
        for (int k = 0; k < 2; k++)
            edges[graph.n_edges++] = (struct hp_graph_edge){i, i + 1, 0};
    return graph;
}

static void test_overflow(void **state)
{
    (void)state;
    struct hp_graph_edge edges[256];
    struct hp_numbering *numbering;
    struct hp_graph graph = diamonds(edges, 63);
    assert_int_equal(hp_numbering_new(&graph, false, &numbering), HP_OK);
    assert_int_equal(numbering->paths, UINT64_C(1) << 63);
    uint32_t path[128];
    for (uint64_t number = 1; number < numbering->paths / 3; number = number * 3 + 1) {
        uint64_t again;
        uint32_t n = hp_numbering_path(numbering, number, path);
        assert_int_equal(hp_numbering_number(numbering, path, n, &again), HP_OK);
        assert_int_equal(again, number);
        assert_int_equal(hp_numbering_chord_sum(numbering, path, n), number);
    }
    hp_numbering_free(numbering);
    for (uint32_t n = 64; n < 120; n += 9) {
        graph = diamonds(edges, n);
        assert_int_equal(hp_numbering_new(&graph, false, &numbering), HP_ERR_UNSUPPORTED);
        assert_non_null(strstr(hp_error_text(), "more than 2^63 paths"));
    }
}

static void test_bad_graphs(void **state)
{
    (void)state;
    struct hp_numbering *numbering;
    const struct hp_graph_edge edges[] = {{0, 1, 0}, {1, 2, 0}, {1, 0, 0}, {2, 1, 0}, {1, 9, 0}};
    const struct hp_graph graphs[] = {
        {3, 0, 2, edges, 3}, /* to the entry */
        {3, 0, 2, edges + 3, 1}, {3, 0, 2, edges + 4, 1},
        {3, 0, 0, edges, 2},     {2, 0, 2, edges, 1}, /* no exit */
        {3, 0, 2, edges, 1},                          /* nothing leaves 1 */
        {3, 0, 2, edges, 0},
    };
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
        assert_int_equal(hp_numbering_new(&graphs[i], false, &numbering), HP_ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paper),       cmocka_unit_test(test_weights_choose_the_chords),
        cmocka_unit_test(test_loop),        cmocka_unit_test(test_random),
        cmocka_unit_test(test_irreducible), cmocka_unit_test(test_unreachable_and_self_loops),
        cmocka_unit_test(test_overflow),    cmocka_unit_test(test_bad_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
