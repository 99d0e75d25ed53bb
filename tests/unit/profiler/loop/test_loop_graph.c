// SPDX-License-Identifier: MIT
/*
 * The graphs of functions and their loops: chains of blocks with the same end, known shapes, and
 * random graphs, built edge by edge, against the definition.
 */
#include "stream_fixture.h"

#include "profiler/loop/graph.h"

/* --- Functions: 256 bytes each; beyond 0x800000 there are no symbols / ------------------------ */

struct hp_functions {
    const struct hp_code *code;
};

uint32_t hp_functions_of_block(struct hp_functions *functions, uint32_t block)
{
    uint64_t start = hp_code_block(functions->code, block)->start;
    return start >= 0x800000 ? HP_NO_ID : (uint32_t)(start >> 8);
}

struct fixture {
    struct stream s;
    struct hp_functions functions;
    struct hp_loop_graph graph;
    uint32_t n_segments;
};

static void fixture_init(struct fixture *f)
{
    stream_init(&f->s);
    f->functions.code = f->s.code;
    f->n_segments = 0;
    assert_int_equal(hp_loop_graph_init(&f->graph, f->s.code, &f->functions), HP_OK);
}

static void fixture_fini(struct fixture *f)
{
    assert_false(f->graph.out_of_memory);
    hp_loop_graph_fini(&f->graph);
    stream_fini(&f->s);
}

/* A block of the code map and a node. */
static uint32_t add_block(struct fixture *f, uint64_t start, const char *hex)
{
    uint32_t id = hp_code_n_blocks(f->s.code);
    add_segment(&f->s, ++f->n_segments, start, hex);
    assert_int_equal(hp_code_n_blocks(f->s.code), id + 1);
    hp_loop_graph_cover(&f->graph);
    return id;
}

static void run(struct fixture *f, uint32_t block)
{
    hp_loop_graph_run(&f->graph, block, 7);
    hp_loop_graph_update(&f->graph);
}

static void edge(struct fixture *f, uint32_t from, uint32_t to)
{
    hp_loop_graph_run(&f->graph, to, 7);
    hp_loop_graph_edge(&f->graph, from, to, false);
    hp_loop_graph_update(&f->graph);
}

static void throws(struct fixture *f, uint32_t from, uint32_t to)
{
    hp_loop_graph_run(&f->graph, to, 7);
    hp_loop_graph_edge(&f->graph, from, to, true);
    hp_loop_graph_update(&f->graph);
}

static void root(struct fixture *f, uint32_t block)
{
    hp_loop_graph_run(&f->graph, block, 7);
    hp_loop_graph_root(&f->graph, block);
    hp_loop_graph_update(&f->graph);
}

static size_t n_loops(const struct fixture *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->graph.n_loops; i++)
        n += f->graph.loops[i].alive;
    return n;
}

/* The loop that a block names. */
static const struct hp_loop *loop_at(const struct fixture *f, uint32_t block)
{
    assert_true(f->graph.nodes[block].named);
    const struct hp_loop *loop = &f->graph.loops[f->graph.nodes[block].named - 1];
    assert_true(loop->alive);
    assert_int_equal(loop->header, block);
    return loop;
}

static uint32_t id_of(const struct fixture *f, const struct hp_loop *loop)
{
    return (uint32_t)(loop - f->graph.loops);
}

/* --- Shapes ----------------------------------------------------------------------------------- */

static void add_blocks(struct fixture *f, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        add_block(f, 0x400000 + 4 * i, "90 c3");
}

static void a_loop_is_found_with_its_first_back_edge(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    add_blocks(&f, 5);
    root(&f, 0);
    edge(&f, 0, 1);
    edge(&f, 1, 2);
    edge(&f, 2, 3);
    assert_int_equal(n_loops(&f), 0);
    edge(&f, 3, 1);
    assert_int_equal(n_loops(&f), 1);
    const struct hp_loop *loop = loop_at(&f, 1);
    uint32_t id = id_of(&f, loop);
    assert_int_equal(loop->high - loop->low, 3);
    assert_false(loop->irreducible);
    assert_int_equal(loop->parent, HP_NO_ID);
    assert_int_equal(f.graph.arrivals[1].loop, id + 1);
    assert_int_equal(f.graph.arrivals[2].loop, 0);
    assert_int_equal(f.graph.marked[0], 1);
    /* a second back edge, by a new block: the same loop, larger */
    edge(&f, 2, 4);
    assert_false(hp_loop_has(&f.graph, loop_at(&f, 1), 4));
    edge(&f, 4, 1);
    assert_int_equal(n_loops(&f), 1);
    assert_int_equal(id_of(&f, loop_at(&f, 1)), id);
    assert_true(hp_loop_has(&f.graph, loop_at(&f, 1), 4));
    fixture_fini(&f);
}

static void loops_are_nested(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    add_blocks(&f, 5);
    root(&f, 0);
    edge(&f, 0, 1);
    edge(&f, 1, 2);
    edge(&f, 2, 2); /* found first, and inside what is found later */
    uint32_t inner = id_of(&f, loop_at(&f, 2));
    edge(&f, 2, 3);
    edge(&f, 3, 1);
    edge(&f, 3, 4);
    assert_int_equal(n_loops(&f), 2);
    assert_int_equal(id_of(&f, loop_at(&f, 2)), inner);
    assert_int_equal(loop_at(&f, 2)->parent, id_of(&f, loop_at(&f, 1)));
    assert_int_equal(f.graph.nodes[2].inner, inner);
    assert_int_equal(f.graph.nodes[4].inner, HP_NO_ID);
    fixture_fini(&f);
}

static void several_headers_are_irreducible(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    add_blocks(&f, 4);
    root(&f, 0);
    edge(&f, 0, 2);
    edge(&f, 2, 1);
    edge(&f, 1, 2);
    assert_false(loop_at(&f, 2)->irreducible);
    edge(&f, 0, 1);
    assert_int_equal(n_loops(&f), 1);
    assert_true(loop_at(&f, 2)->irreducible); /* 2 ran first */
    assert_int_equal(f.graph.arrivals[1].loop, f.graph.arrivals[2].loop);
    fixture_fini(&f);
}

static void a_root_in_a_loop_is_a_header(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    add_blocks(&f, 3);
    root(&f, 0);
    edge(&f, 0, 1);
    edge(&f, 1, 2);
    edge(&f, 2, 1);
    root(&f, 2);
    assert_true(loop_at(&f, 1)->irreducible);
    fixture_fini(&f);
}

static void what_no_root_reaches_has_one_made(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    add_blocks(&f, 4);
    run(&f, 1); /* a history begins in the middle of a loop */
    edge(&f, 1, 2);
    edge(&f, 2, 1);
    assert_int_equal(loop_at(&f, 1)->header, 1);
    /* Then the function is called, and enters it elsewhere. */
    root(&f, 0);
    edge(&f, 0, 2);
    assert_int_equal(n_loops(&f), 1);
    assert_false(loop_at(&f, 2)->irreducible);
    assert_int_equal(f.graph.arrivals[1].loop, 0);
    fixture_fini(&f);
}

static void exceptional_edges_count_where_there_are_no_others(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    add_blocks(&f, 6);
    root(&f, 0);
    edge(&f, 0, 1);
    edge(&f, 1, 2);
    throws(&f, 2, 3); /* a landing pad */
    edge(&f, 3, 1);
    assert_true(hp_loop_has(&f.graph, loop_at(&f, 1), 3));
    /* longjmp to what was reached before closes no loop */
    edge(&f, 0, 4);
    edge(&f, 4, 5);
    throws(&f, 5, 4);
    assert_int_equal(n_loops(&f), 1);
    /* a pad that is reached otherwise, too, is none */
    edge(&f, 0, 3);
    assert_int_equal(n_loops(&f), 0);
    fixture_fini(&f);
}

static void functions_are_apart(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    add_block(&f, 0x400000, "90 c3");
    add_block(&f, 0x400100, "90 c3");
    add_block(&f, 0x800000, "90 c3"); /* no symbol: of the function that runs */
    add_block(&f, 0x800100, "90 c3");
    root(&f, 0);
    edge(&f, 0, 1);
    edge(&f, 1, 0);
    assert_int_equal(n_loops(&f), 0);
    root(&f, 2);
    edge(&f, 2, 3);
    edge(&f, 3, 2);
    assert_int_equal(n_loops(&f), 1);
    assert_int_equal(f.graph.functions[loop_at(&f, 2)->function].id, 7);
    fixture_fini(&f);
}

/* --- Chains ----------------------------------------------------------------------------------- */

static void a_block_inside_another_splits_it(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    uint32_t whole = add_block(&f, 0x400000, "90 90 90 75 fc");
    root(&f, whole);
    assert_int_equal(hp_loop_graph_own(&f.graph, whole), 4);
    /* The first round of a loop hidden in what leads into it. */
    uint32_t round = add_block(&f, 0x400001, "90 90 75 fc");
    assert_int_equal(f.graph.nodes[whole].next, round);
    assert_int_equal(f.graph.nodes[whole].last, round);
    assert_int_equal(hp_loop_graph_own(&f.graph, whole), 1);
    assert_int_equal(f.graph.nodes[round].first, f.graph.nodes[whole].first);
    edge(&f, whole, round);
    assert_int_equal(n_loops(&f), 1);
    const struct hp_loop *loop = loop_at(&f, round);
    assert_int_equal(loop->high - loop->low, 1);
    assert_int_equal(f.graph.arrivals[whole].more, round + 1);
    assert_int_equal(f.graph.arrivals[whole].via, whole);
    assert_int_equal(f.graph.n_marked, 2);
    /* between them */
    uint32_t end = add_block(&f, 0x400003, "75 fc");
    assert_int_equal(f.graph.nodes[round].next, end);
    assert_int_equal(f.graph.nodes[whole].last, end);
    assert_int_equal(f.graph.nodes[end].function, f.graph.nodes[whole].function);
    loop = loop_at(&f, round);
    assert_int_equal(loop->high - loop->low, 2);
    uint32_t middle = add_block(&f, 0x400002, "90 75 fc");
    assert_int_equal(f.graph.nodes[round].next, middle);
    assert_int_equal(f.graph.nodes[middle].next, end);
    assert_int_equal(f.graph.nodes[whole].next, round);
    loop = loop_at(&f, round);
    assert_int_equal(loop->high - loop->low, 3);
    assert_int_equal(n_loops(&f), 1);
    fixture_fini(&f);
}

static void other_code_at_the_same_place_is_apart(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    uint32_t a = add_block(&f, 0x400000, "90 b8 01 00 00 00 c3"); /* nop; mov eax, 1; ret */
    uint32_t b = add_block(&f, 0x400001, "b8 02 00 00 00 c3");
    uint32_t c = add_block(&f, 0x400002, "01 00 00 00 c3"); /* in the middle of the mov */
    assert_int_equal(f.graph.nodes[a].next, HP_NO_ID);
    assert_int_equal(f.graph.nodes[b].next, HP_NO_ID);
    assert_int_equal(f.graph.nodes[c].next, HP_NO_ID);
    /* all of them go on with the same instruction, where only two have the same code */
    uint32_t d = add_block(&f, 0x400006, "c3");
    assert_int_equal(f.graph.nodes[a].next, d);
    assert_int_equal(f.graph.nodes[b].next, d);
    assert_int_equal(f.graph.nodes[c].last, d);
    uint32_t e = add_block(&f, 0x400001, "b8 01 00 00 00 c3");
    assert_int_equal(f.graph.nodes[a].next, e);
    assert_int_equal(f.graph.nodes[b].next, d);
    assert_int_equal(f.graph.nodes[e].next, d);
    fixture_fini(&f);
}

/* A jump into each instruction of a long block, in random order: always one chain. */
static void chains_are_in_order(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (int round = 0; round < 50; round++) {
        struct fixture f;
        char hex[128] = "";
        uint32_t at[24], n = 2 + random_below(&seed, 22), block[24];
        fixture_init(&f);
        for (uint32_t i = 0; i < n; i++) {
            strcat(hex, i + 1 < n ? "90 " : "c3");
            at[i] = i;
        }
        for (uint32_t i = n; i-- > 1;) {
            uint32_t j = random_below(&seed, i + 1), t = at[i];
            at[i] = at[j];
            at[j] = t;
        }
        for (uint32_t i = 0; i < n; i++) {
            block[at[i]] = add_block(&f, 0x400000 + at[i], hex + 3 * at[i]);
            if (random_below(&seed, 2))
                run(&f, block[at[i]]);
        }
        for (uint32_t i = 0; i < n; i++) {
            const struct hp_loop_node *node = &f.graph.nodes[block[i]];
            assert_int_equal(node->next, i + 1 < n ? block[i + 1] : HP_NO_ID);
            assert_int_equal(node->last, block[n - 1]);
            /* what is behind something that was run was run */
            if (i + 1 < n && node->function != HP_NO_ID) {
                assert_int_equal(f.graph.nodes[block[i + 1]].function, node->function);
                assert_true(f.graph.nodes[block[i + 1]].first <= node->first);
            }
        }
        fixture_fini(&f);
    }
}

/* --- Random graphs against the definition / --------------------------------------------------- */

#define MOST 14

struct naive {
    uint32_t n;
    bool edge[MOST][MOST], root[MOST];
    uint32_t first[MOST]; /* UINT32_MAX: not run */
    /* found: by node, the loop's nodes as bits where it is the one that names it */
    uint32_t loop[MOST], heads[MOST], parent[MOST];
};

static uint32_t reached(const struct naive *g, uint32_t nodes, uint32_t barred, uint32_t from)
{
    uint32_t seen = 0, old;
    for (uint32_t j = 0; j < g->n; j++)
        if (g->edge[from][j] && nodes >> j & 1 && !(barred >> j & 1))
            seen |= 1u << j;
    do {
        old = seen;
        for (uint32_t i = 0; i < g->n; i++)
            for (uint32_t j = 0; j < g->n && seen >> i & 1; j++)
                if (g->edge[i][j] && nodes >> j & 1 && !(barred >> j & 1))
                    seen |= 1u << j;
    } while (seen != old);
    return seen;
}

static void find(struct naive *g, uint32_t roots, uint32_t nodes, uint32_t barred, uint32_t parent)
{
    uint32_t done = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        if (!(nodes >> i & 1) || done >> i & 1)
            continue;
        uint32_t out = reached(g, nodes, barred, i), c = 0, heads = 0, name = HP_NO_ID;
        if (!(out >> i & 1))
            continue;
        for (uint32_t j = 0; j < g->n; j++)
            if (out >> j & 1 && reached(g, nodes, barred, j) >> i & 1)
                c |= 1u << j;
        for (uint32_t j = 0; j < g->n; j++) {
            bool header = roots >> j & 1;
            for (uint32_t k = 0; k < g->n; k++)
                header |= g->edge[k][j] && !(c >> k & 1);
            if (!(c >> j & 1) || !header)
                continue;
            heads |= 1u << j;
            if (name == HP_NO_ID || g->first[j] < g->first[name])
                name = j;
        }
        done |= c;
        g->loop[name] = c;
        g->heads[name] = heads;
        g->parent[name] = parent;
        find(g, roots, c, heads, name);
    }
}

static void find_all(struct naive *g)
{
    uint32_t run = 0, roots = 0, seen = 0;
    memset(g->loop, 0, sizeof g->loop);
    for (uint32_t i = 0; i < g->n; i++) {
        run |= g->first[i] != UINT32_MAX ? 1u << i : 0;
        roots |= g->root[i] ? 1u << i : 0;
    }
    for (uint32_t i = 0; i < g->n; i++)
        if (roots >> i & 1)
            seen |= 1u << i | reached(g, run, 0, i);
    while (seen != run) {
        uint32_t next = HP_NO_ID;
        for (uint32_t i = 0; i < g->n; i++)
            if ((run & ~seen) >> i & 1 && (next == HP_NO_ID || g->first[i] < g->first[next]))
                next = i;
        roots |= 1u << next;
        seen |= 1u << next | reached(g, run, 0, next);
    }
    find(g, roots, run, 0, HP_NO_ID);
}

static void compare(const struct fixture *f, const struct naive *g)
{
    size_t n = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        if (!g->loop[i])
            continue;
        const struct hp_loop *loop = loop_at(f, i);
        n++;
        for (uint32_t j = 0; j < g->n; j++) {
            bool has = g->first[j] != UINT32_MAX && hp_loop_has(&f->graph, loop, j);
            assert_int_equal(has, g->loop[i] >> j & 1);
            assert_int_equal(f->graph.arrivals[j].loop == id_of(f, loop) + 1, g->heads[i] >> j & 1);
        }
        assert_int_equal(loop->irreducible, (g->heads[i] & (g->heads[i] - 1)) != 0);
        assert_int_equal(loop->parent,
                         g->parent[i] == HP_NO_ID ? HP_NO_ID : id_of(f, loop_at(f, g->parent[i])));
    }
    assert_int_equal(n, n_loops(f));
}

static void random_graphs_have_their_loops(void **state)
{
    (void)state;
    uint64_t seed = 77;
    size_t loops = 0, nested = 0, irreducible = 0, reordered = 0;
    for (int round = 0; round < 3000; round++) {
        struct fixture f;
        struct naive g = {.n = 2 + random_below(&seed, MOST - 1)};
        uint32_t clock = 0, at = 0, local = 1 + random_below(&seed, 100);
        fixture_init(&f);
        add_blocks(&f, g.n);
        memset(g.first, 0xff, sizeof g.first);
        for (uint32_t i = 0; i < 4 * g.n; i++) {
            /* Mostly it goes on where it was; now and then a history begins elsewhere. */
            uint32_t to = random_below(&seed, g.n);
            if (random_below(&seed, 100) < local)
                to = (at + 1 + random_below(&seed, 2)) % g.n;
            bool begins = i == 0 || random_below(&seed, 20) == 0;
            /* Every other one mostly goes forward, in an order of its own. */
            if (round % 2 && random_below(&seed, 20))
                begins |= to * 11 % g.n <= at * 11 % g.n;
            if (g.first[to] == UINT32_MAX)
                g.first[to] = clock++;
            if (begins && random_below(&seed, 3)) {
                g.root[to] = true;
                root(&f, to);
            } else if (begins) {
                run(&f, to);
            } else {
                g.edge[at][to] = true;
                edge(&f, at, to);
            }
            at = to;
            find_all(&g);
            compare(&f, &g);
        }
        reordered += f.graph.marks;
        for (size_t i = 0; i < f.graph.n_loops; i++) {
            loops += f.graph.loops[i].alive;
            nested += f.graph.loops[i].alive && f.graph.loops[i].parent != HP_NO_ID;
            irreducible += f.graph.loops[i].alive && f.graph.loops[i].irreducible;
        }
        fixture_fini(&f);
    }
    assert_true(loops > 1000 && nested > 300 && irreducible > 300 && reordered > 5000);
}

/* A function of many thousand nodes, found in the worst order, takes no more than the work it may.
 */
static void large_functions_are_put_off(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    uint32_t n = 3000;
    for (uint32_t i = 0; i < n; i++)
        add_block(&f, 0x800000 + 4 * i, "90 c3");
    root(&f, 0);
    f.graph.functions[0].work = HP_LOOP_WORK_MAX + 1;
    for (uint32_t i = 1; i < n; i++)
        edge(&f, i - 1, i);
    uint64_t work = f.graph.functions[0].work;
    for (uint32_t i = n - 1; i-- > 0;)
        edge(&f, i + 1, i);
    assert_true(f.graph.functions[0].work - work < 100ull * n * 64);
    hp_loop_graph_settle(&f.graph);
    assert_int_equal(n_loops(&f), n - 1);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_is_found_with_its_first_back_edge),
        cmocka_unit_test(loops_are_nested),
        cmocka_unit_test(several_headers_are_irreducible),
        cmocka_unit_test(a_root_in_a_loop_is_a_header),
        cmocka_unit_test(what_no_root_reaches_has_one_made),
        cmocka_unit_test(exceptional_edges_count_where_there_are_no_others),
        cmocka_unit_test(functions_are_apart),
        cmocka_unit_test(a_block_inside_another_splits_it),
        cmocka_unit_test(other_code_at_the_same_place_is_apart),
        cmocka_unit_test(chains_are_in_order),
        cmocka_unit_test(random_graphs_have_their_loops),
        cmocka_unit_test(large_functions_are_put_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
