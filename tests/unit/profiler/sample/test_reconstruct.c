// SPDX-License-Identifier: MIT
/*
 * Path reconstruction on graphs that are small enough to list all paths by hand.
 */
#include "reconstruct_fixture.h"

static struct machine machine;

/* A program from a text: blanks between instructions; "n" nop, "?K" conditional branch to K, "jK"
 * jump, "iK" indirect, "cK" call, "r" return. ":" begins a function. */
static struct machine *assemble(const char *text)
{
    static const char letters[] = "n?jicr";
    struct machine *m = &machine;
    uint32_t function = 0;
    memset(m, 0, sizeof *m);
    for (; *text; text++) {
        if (*text == ' ')
            continue;
        if (*text == ':') {
            function = m->n;
            continue;
        }
        const char *letter = strchr(letters, *text);
        assert_non_null(letter);
        char *end;
        uint32_t target = (uint32_t)strtoul(text + 1, &end, 10);
        m->function[m->n] = function;
        emit(m, (enum kind)(letter - letters), target);
        text = end - 1;
    }
    link_code(m);
    return m;
}

static struct machine *run_text(const char *text, uint32_t start, const char *script)
{
    struct machine *m = assemble(text);
    run_from(m, start, script);
    learn(m, &(struct hp_reconstruct_config){0});
    return m;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All paths as text, places by the index of their first instruction, in order: "0-2-5 0-4-5". */
static void paths_text(struct machine *m, const struct hp_reconstruct_paths *paths, char *text)
{
    char lines[16][128], *sorted[16];
    assert_in_range(paths->n, 0, 16);
    for (size_t i = 0; i < paths->n; i++) {
        char *at = lines[i];
        *at = 0;
        for (size_t k = paths->first[i]; k < paths->first[i + 1]; k++)
            at +=
                sprintf(at, "%s%u", k > paths->first[i] ? "-" : "", index_of(m, paths->starts[k]));
        sorted[i] = lines[i];
    }
    qsort(sorted, paths->n, sizeof *sorted, by_text);
    *text = 0;
    for (size_t i = 0; i < paths->n; i++)
        text += sprintf(text, "%s%s", i ? " " : "", sorted[i]);
}

/* Histories are written with the first branch first: "01" is not taken, then taken. */
static struct hp_reconstruct_query make_query(struct machine *m, uint32_t at, const char *history,
                                              bool across)
{
    struct hp_reconstruct_query query = {.scheme = HP_RECONSTRUCT_HISTORY,
                                         .across = across,
                                         .pc = address_of(m, at),
                                         .bits = (uint32_t)strlen(history)};
    for (; *history; history++)
        query.history = query.history << 1 | (*history == '1');
    return query;
}

static void expect_query(struct machine *m, const struct hp_reconstruct_query *query,
                         const char *expected)
{
    struct hp_reconstruct_paths paths = {0};
    struct hp_reconstruct_answer answer;
    char text[2048];
    assert_int_equal(hp_reconstruct_list(m->reconstruct, query, 16, &paths), HP_OK);
    paths_text(m, &paths, text);
    assert_string_equal(text, expected);
    assert_true(paths.complete);
    assert_int_equal(hp_reconstruct_ask(m->reconstruct, query, &answer), HP_OK);
    assert_int_equal(answer.paths[query->bits], paths.n > 2 ? 2 : paths.n);
    hp_reconstruct_paths_fini(&paths);
}

static void expect_paths(struct machine *m, uint32_t at, const char *history, bool across,
                         const char *expected)
{
    struct hp_reconstruct_query query = make_query(m, at, history, across);
    expect_query(m, &query, expected);
}

/* --- Branches --------------------------------------------------------------------------------- */

/*  0 n  1 ?4  2 n  3 j5  4 n  5 n  6 ?9  7 n  8 j10  9 n  10 n  11 ?0 */
#define DIAMONDS "n ?4 n j5 n n ?9 n j10 n n ?0 r"

static void diamonds(void **state)
{
    (void)state;
    struct machine *m = run_text(DIAMONDS, 0,
                                 "001"
                                 "011"
                                 "101"
                                 "110");
    expect_paths(m, 10, "0", false, "5-7-10");
    expect_paths(m, 10, "1", false, "5-9-10");
    expect_paths(m, 10, "01", false, "0-2-5-9-10");
    expect_paths(m, 10, "00", false, "0-2-5-7-10");
    expect_paths(m, 9, "11", false, "0-4-5-9");
    expect_paths(m, 9, "10", false, ""); /* not taken leads elsewhere */
    expect_paths(m, 5, "1", false, "0-4-5");
    expect_paths(m, 4, "111", false, "5-9-10-0-4");
    expect_paths(m, 12, "110", false, "0-4-5-9-10-12");
    forget(m);
}

/* Both ways to a place by a branch that is not taken: histories cannot tell them apart. */
static void several(void **state)
{
    (void)state;
    /* 0 ?3  1 ?5  2 j4  3 n(taken 0)  4 n  5 n  6 ?0 */
    struct machine *m = run_text("?3 ?5 j4 n n n ?0 r", 0,
                                 "11"
                                 "001"
                                 "011"
                                 "0");
    expect_paths(m, 5, "1", false, "0-3-4-5 1-5");
    expect_paths(m, 5, "01", false, "0-1-5");
    expect_paths(m, 5, "11", false, "5-0-3-4-5");
    forget(m);
}

static void loops(void **state)
{
    (void)state;
    /* 0 n  1 n  2 ?1  3 n  4 ?0 */
    struct machine *m = run_text("n n ?1 n ?0 r", 0,
                                 "1101"
                                 "01"
                                 "0");
    expect_paths(m, 1, "1", false, "1-1 3-0-1");
    expect_paths(m, 1, "11", false, "1-1-1 3-0-1-1");
    expect_paths(m, 3, "10", false, "1-1-3 3-0-1-3");
    expect_paths(m, 3, "110", false, "1-1-1-3 3-0-1-1-3");
    expect_paths(m, 3, "010", false, "1-3-0-1-3");
    forget(m);
}

/* A loop without a conditional branch: no end of paths. */
static void endless(void **state)
{
    (void)state;
    /* 0 n  1 ?4  2 i1.. */
    struct machine *m = assemble("n ?6 n j4 n j2 n r");
    struct hp_reconstruct_paths paths = {0};
    struct hp_reconstruct_answer answer;
    run_from(m, 0, "1");
    m->n_log = 0;
    for (int i = 0; i < 5; i++) { /* 0 to 2 once, then round and round */
        m->log[m->n_log++] = (struct executed){.first = i ? 4 : 0, .last = i ? 5 : 1};
        m->log[m->n_log++] = (struct executed){.first = 2, .last = 3};
    }
    learn(m, &(struct hp_reconstruct_config){0});
    struct hp_reconstruct_query query = make_query(m, 2, "0", false);
    assert_int_equal(hp_reconstruct_ask(m->reconstruct, &query, &answer), HP_OK);
    assert_int_equal(answer.known, 1);
    assert_int_equal(answer.paths[1], 2);
    assert_int_equal(hp_reconstruct_list(m->reconstruct, &query, 3, &paths), HP_OK);
    assert_int_equal(paths.n, 3);
    assert_false(paths.complete);
    hp_reconstruct_paths_fini(&paths);
    forget(m);
}

/* --- Calls ------------------------------------------------------------------------------------ */

/* Two callers of one routine: a return leads back to the call it is of, and to no other.
 *  0 ?3  1 c8  2 j5  3 c8  4 n  5 n  6 ?0  7 r   : 8 n  9 ?11  10 r  11 r */
#define CALLERS "?3 c8 j5 c8 n n ?0 r : n ?11 r r"

static void calls(void **state)
{
    (void)state;
    struct machine *m = run_text(CALLERS, 0,
                                 "001"
                                 "101"
                                 "011"
                                 "110");
    expect_paths(m, 2, "0", false, "8-10-2");
    expect_paths(m, 2, "00", false, "0-1-8-10-2");
    expect_paths(m, 2, "10", false, "");
    expect_paths(m, 4, "10", false, "0-3-8-10-4");
    expect_paths(m, 4, "1", false, "8-11-4");
    expect_paths(m, 5, "11", false, "0-3-8-11-4-5");
    expect_paths(m, 5, "01", false, "0-1-8-11-2-5");
    /* In the routine itself: it begins there, or anybody may have called it. */
    expect_paths(m, 10, "00", false, "8-10");
    expect_paths(m, 10, "00", true, "0-1-8-10");
    expect_paths(m, 8, "1", true, "0-3-8");
    expect_paths(m, 8, "1", false, "8");
    expect_paths(m, 8, "01", true, "");
    expect_paths(m, 8, "10", true, "5-0-1-8");
    forget(m);
}

/* 0 c3  1 ?0  2 r   : 3 ?9  4 c3  5 n  6 ?8  7 r  8 r  9 r */
static void recursion(void **state)
{
    (void)state;
    struct machine *m = run_text("c3 ?0 r : ?9 c3 n ?8 r r r", 0,
                                 "001"
                                 "01"
                                 "111"
                                 "0100");
    /* The call before came back from 9, or, having called itself, from 8. */
    expect_paths(m, 5, "1", false, "3-9-5 5-8-5");
    expect_paths(m, 5, "01", false, "3-4-3-9-5 5-7-5-8-5");
    expect_paths(m, 5, "001", false, "3-4-3-9-5 5-7-5-7-5-8-5");
    expect_paths(m, 5, "001", true, "3-4-3-4-3-9-5 5-7-5-7-5-8-5");
    expect_paths(m, 1, "1", false, "3-9-1 5-8-1");
    /* Two returns one in the other: their calls have to be met in this order, and in no other. */
    expect_paths(m, 1, "011", false, "3-4-3-9-5-8-1 5-7-1-0-3-9-1 5-7-5-8-5-8-1");
    forget(m);
}

/* Behind the call there is no branch: how deep it was nobody can tell.  0 c3  1 ?0  2 r   : 3 ?6  4
 * c3  5 r  6 r */
static void deep_recursion(void **state)
{
    (void)state;
    struct machine *m = run_text("c3 ?0 r : ?6 c3 r r", 0, "0001101");
    struct hp_reconstruct_query query = make_query(m, 1, "1", false);
    struct hp_reconstruct_answer answer;
    assert_int_equal(hp_reconstruct_ask(m->reconstruct, &query, &answer), HP_OK);
    assert_int_equal(answer.known, 1);
    assert_int_equal(answer.paths[1], 2);
    query = make_query(m, 1, "0", false); /* but not so */
    assert_int_equal(hp_reconstruct_ask(m->reconstruct, &query, &answer), HP_OK);
    assert_int_equal(answer.known, 1);
    assert_int_equal(answer.paths[1], 0);
    /* The calls say it. */
    expect_paths(m, 1, "1001", false, "1-0-3-4-3-4-3-6-5-5-1");
    forget(m);
}

/* A jump to another routine is no part of it; what it returns to is behind the call of the first.
 * 0 c4  1 ?0  2 r  3 n  : 4 ?7  5 n  6 j8  7 r  : 8 n  9 ?11  10 r  11 r */
static void tail_calls(void **state)
{
    (void)state;
    struct machine *m = run_text("c4 ?0 r n : ?7 n j8 r : n ?11 r r", 0,
                                 "001"
                                 "11"
                                 "011"
                                 "10");
    expect_paths(m, 10, "0", false, "8-10");
    expect_paths(m, 10, "00", false, "8-10");
    expect_paths(m, 10, "00", true, "4-5-8-10");
    expect_paths(m, 1, "00", false, "4-5-8-10-1");
    expect_paths(m, 1, "1", false, "4-7-1 8-11-1");
    expect_paths(m, 1, "01", false, "4-5-8-11-1");
    forget(m);
}

/* --- Other code ------------------------------------------------------------------------------- */

static uint32_t block_at(const struct stream *s, uint64_t start)
{
    for (uint32_t b = 0; b < hp_code_n_blocks(s->code); b++)
        if (hp_code_block(s->code, b)->start == start)
            return b;
    fail_msg("there is no block at 0x%llx", (unsigned long long)start);
    return HP_NO_ID;
}

/* Paths as text: addresses in hexadecimal. One at most has to be the only one. */
static void expect_addresses(struct hp_reconstruct *r, uint64_t pc, uint32_t history, uint32_t bits,
                             size_t n, const char *first)
{
    struct hp_reconstruct_query query = {
        .scheme = HP_RECONSTRUCT_HISTORY, .pc = pc, .history = history, .bits = bits};
    struct hp_reconstruct_paths paths = {0};
    char text[256] = "", *at = text;
    assert_int_equal(hp_reconstruct_list(r, &query, 10, &paths), HP_OK);
    assert_int_equal(paths.n, n);
    for (size_t i = 0; n && i < paths.first[1]; i++)
        at += sprintf(at, "%s%llx", i ? "-" : "", (unsigned long long)paths.starts[i]);
    if (n == 1)
        assert_string_equal(text, first);
    hp_reconstruct_paths_fini(&paths);
}

/* ARM has conditional calls and returns.  1000 blne 2000  1004 nop  1008 b 1000   2000 bxeq lr 2004
 * bx lr */
static void conditional_calls(void **state)
{
    (void)state;
    struct stream s;
    struct hp_reconstruct *r;
    stream_init_arch(&s, HP_ARCH_ARM);
    add_segment(&s, 1, 0x1000, "fe 03 00 1b");
    add_segment(&s, 2, 0x1004, "00 f0 20 e3 fc ff ff ea");
    add_segment(&s, 3, 0x2000, "1e ff 2f 01");
    add_segment(&s, 4, 0x2004, "1e ff 2f e1");
    uint32_t a = block_at(&s, 0x1000), b = block_at(&s, 0x1004), c = block_at(&s, 0x2000),
             d = block_at(&s, 0x2004);
    struct hp_edge_count edges[] = {{a, c, 2}, {c, b, 1}, {a, b, 5},
                                    {c, d, 1}, {d, b, 1}, {b, a, 7}};
    struct hp_reconstruct_config config = {0};
    assert_int_equal(hp_reconstruct_new(s.code, edges, 6, NULL, &config, &r), HP_OK);
    expect_addresses(r, 0x1004, 1, 1, 1, "2000-1004");
    expect_addresses(r, 0x1004, 3, 2, 1, "1000-2000-1004");
    expect_addresses(r, 0x1004, 0, 1, 2, "");          /* not called, or not returned at once */
    expect_addresses(r, 0x2004, 2, 2, 1, "2000-2004"); /* the routine begins */
    hp_reconstruct_free(r);
    stream_fini(&s);
}

/* What was changed is left out, and said to be. */
static void changed_code(void **state)
{
    (void)state;
    struct stream s;
    struct hp_reconstruct *r;
    stream_init(&s);
    add_segment(&s, 1, 0x1000, "90 90 75 fc"); /* nop nop jne 1000 */
    add_segment(&s, 2, 0x1004, "90 eb f9");    /* nop jmp 1000 */
    add_segment(&s, 3, 0x1000, "90 eb fd");    /* nop jmp 1000 */
    assert_int_equal(hp_code_n_blocks(s.code), 3);
    struct hp_edge_count edges[] = {{0, 1, 3}, {0, 0, 1}, {1, 0, 3}, {2, 2, 9}, {2, HP_NO_ID, 1}};
    struct hp_reconstruct_config config = {0};
    assert_int_equal(hp_reconstruct_new(s.code, edges, 5, NULL, &config, &r), HP_OK);
    assert_int_equal(hp_reconstruct_stats(r)->left_out, 2);
    expect_addresses(r, 0x1004, 2, 2, 1, "1000-1000-1004");
    expect_addresses(r, 0x1001, 0, 1, 1, "1000-1004-1000");
    hp_reconstruct_free(r);
    stream_fini(&s);
}

/* --- Other schemes ---------------------------------------------------------------------------- */

static void pairs(void **state)
{
    (void)state;
    struct machine *m = run_text("n n ?1 n ?0 r", 0,
                                 "1101"
                                 "01"
                                 "0");
    struct hp_reconstruct_query query = make_query(m, 1, "1", false);
    expect_query(m, &query, "1-1 3-0-1");
    query.scheme = HP_RECONSTRUCT_PAIR;
    query.other = address_of(m, 0);
    query.distance = 1;
    expect_query(m, &query, "3-0-1");
    query.other = address_of(m, 2);
    expect_query(m, &query, "1-1");
    /* 2 before it is in 1-1, and is not the last of 3-0. */
    query.distance = 2;
    query.other = address_of(m, 1);
    expect_query(m, &query, "1-1");
    query.distance = 3; /* more than 1-1 has: it stays */
    query.other = address_of(m, 3);
    expect_query(m, &query, "1-1 3-0-1");
    query.scheme = HP_RECONSTRUCT_DISTANCE;
    expect_query(m, &query, "1-1 3-0-1");
    query.other = address_of(m, 4);
    expect_query(m, &query, "1-1"); /* in 3-0-1 that is not 3 before */
    query.distance = 2;
    expect_query(m, &query, "3-0-1");
    query.scheme = HP_RECONSTRUCT_PAIR;
    query.other = BASE + 4096; /* nowhere */
    expect_query(m, &query, "");
    forget(m);
}

/* The other instruction may be in the same place. */
static void pairs_within_a_place(void **state)
{
    (void)state;
    struct machine *m = run_text("n n n n ?1 r", 0, "110");
    struct hp_reconstruct_query query = make_query(m, 3, "1", false);
    expect_query(m, &query, "0-1 1-1");
    query.scheme = HP_RECONSTRUCT_DISTANCE;
    query.other = address_of(m, 2);
    query.distance = 1;
    expect_query(m, &query, "0-1 1-1");
    query.distance = 2;
    expect_query(m, &query, "");
    query.scheme = HP_RECONSTRUCT_PAIR;
    expect_query(m, &query, "0-1 1-1");
    query.other = address_of(m, 3); /* the sample itself does not count, only the one before it */
    query.distance = 3;
    expect_query(m, &query, "1-1");
    query.distance = 4; /* which is more than there is in the other */
    expect_query(m, &query, "0-1 1-1");
    query.pc = address_of(m, 1);
    query.other = address_of(m, 0);
    query.distance = 1;
    expect_query(m, &query, "0-1");
    forget(m);
}

static void without_history(void **state)
{
    (void)state;
    struct machine *m = run_text(DIAMONDS, 0,
                                 "001"
                                 "011"
                                 "101"
                                 "011"
                                 "011"
                                 "110");
    struct hp_reconstruct_query query = make_query(m, 11, "000", false);
    query.scheme = HP_RECONSTRUCT_EDGES;
    expect_query(m, &query, "10-0-2-5-9-10");
    query = make_query(m, 12, "00", false);
    query.scheme = HP_RECONSTRUCT_COUNTS;
    expect_query(m, &query, "5-9-10-12");
    forget(m);
    /* A routine that is mostly called begins; one that mostly goes round does not. */
    m = run_text(": c3 ?0 r : n ?3 r", 0,
                 "11011100"
                 "0");
    query = make_query(m, 3, "000", false);
    query.scheme = HP_RECONSTRUCT_EDGES;
    expect_query(m, &query, "3-3-3-3");
    forget(m);
    m = run_text(": c3 ?0 r : n ?3 r", 0,
                 "01010110"
                 "0");
    expect_query(m, &query, "3");
    forget(m);
}

/* 1 is executed more often than 3, but leads to 4 less often.  0 ?3  1 n  2 ?0  3 n  4 n  5 ?0 */
static void places_and_edges(void **state)
{
    (void)state;
    struct machine *m = run_text("?3 n ?0 j4 n ?0 r", 0,
                                 "01"
                                 "01"
                                 "01"
                                 "11"
                                 "11"
                                 "00"
                                 "0");
    struct hp_reconstruct_query query = make_query(m, 4, "0", false);
    query.scheme = HP_RECONSTRUCT_EDGES;
    expect_query(m, &query, "0-3-4");
    query = make_query(m, 3, "0", false);
    expect_query(m, &query, "1-3");
    query.scheme = HP_RECONSTRUCT_COUNTS;
    expect_query(m, &query, "0-3");
    query.scheme = HP_RECONSTRUCT_EDGES;
    expect_query(m, &query, "0-3");
    forget(m);
}

/* Both ways to 5 agree with "1"; by 1 it comes more often. */
static void likeliest_of_several(void **state)
{
    (void)state;
    struct machine *m = run_text("?3 ?5 j4 n n n ?0 r", 0,
                                 "11"
                                 "011"
                                 "011"
                                 "011"
                                 "001"
                                 "0");
    struct hp_reconstruct_query query = make_query(m, 5, "1", false);
    expect_query(m, &query, "0-3-4-5 1-5");
    query.likeliest = true;
    expect_query(m, &query, "1-5");
    query.scheme = HP_RECONSTRUCT_DISTANCE;
    query.other = address_of(m, 4);
    query.distance = 1;
    expect_query(m, &query, "0-3-4-5");
    forget(m);
}

/* --- Samples ---------------------------------------------------------------------------------- */

static void profile_by_paths(void **state)
{
    (void)state;
    struct machine *m = run_text(CALLERS, 0,
                                 "001"
                                 "101"
                                 "011"
                                 "110");
    struct hp_reconstruct_segment a, b;
    assert_int_equal(hp_reconstruct_sample(m->reconstruct, address_of(m, 5), 1, 2, false, &a),
                     HP_OK);
    uint64_t id = a.id;
    assert_int_equal(a.n, 6);
    assert_int_equal(a.starts[0], address_of(m, 0));
    assert_int_equal(a.starts[5], address_of(m, 5));
    assert_int_equal(hp_reconstruct_sample(m->reconstruct, address_of(m, 6), 1, 2, false, &b),
                     HP_OK);
    assert_int_equal(b.id, id); /* another instruction, the same place */
    assert_int_equal(hp_reconstruct_sample(m->reconstruct, address_of(m, 5), 3, 2, false, &b),
                     HP_OK);
    assert_int_not_equal(b.id, id);
    assert_int_equal(hp_reconstruct_sample(m->reconstruct, address_of(m, 5), 1, 1, false, &b),
                     HP_OK);
    assert_int_equal(b.n, 0); /* by either call */
    assert_int_equal(hp_reconstruct_sample(m->reconstruct, address_of(m, 5), 1, 1, true, &b),
                     HP_OK);
    assert_int_equal(b.starts[b.n - 1], address_of(m, 5));
    assert_int_not_equal(b.id, id);
    assert_int_equal(hp_reconstruct_sample(m->reconstruct, 1, 1, 1, false, &b), HP_OK);
    assert_int_equal(b.n, 0);
    forget(m);
}

static void answers_are_kept(void **state)
{
    (void)state;
    struct machine *m = run_text(DIAMONDS, 0,
                                 "001"
                                 "011"
                                 "101"
                                 "110");
    struct hp_reconstruct_query query = make_query(m, 10, "01", true);
    struct hp_reconstruct_answer one, two;
    assert_int_equal(hp_reconstruct_ask(m->reconstruct, &query, &one), HP_OK);
    query.pc = address_of(m, 11);
    query.history |= 1u << 31; /* more than is looked at */
    assert_int_equal(hp_reconstruct_ask(m->reconstruct, &query, &two), HP_OK);
    assert_memory_equal(&one, &two, sizeof one);
    assert_int_equal(hp_reconstruct_stats(m->reconstruct)->queries, 2);
    assert_int_equal(hp_reconstruct_stats(m->reconstruct)->cached, 1);
    forget(m);
}

/* --- Limits ----------------------------------------------------------------------------------- */

/* 20 times two ways that no branch tells apart: a million paths, few states. */
static void many_paths(void **state)
{
    (void)state;
    struct machine *m = &machine;
    struct hp_reconstruct_answer answer;
    struct hp_reconstruct_paths paths = {0};
    memset(m, 0, sizeof *m);
    m->seed = 5;
    for (uint32_t n = 0; n < 80; n += 4) {
        emit(m, JMP_IND, n + 2);
        emit(m, JMP, n + 3);
        emit(m, NOP, 0);
        emit(m, COND, n + 4); /* goes there in any case: that is not taken */
    }
    emit(m, COND, 0);
    emit(m, JMP, 0);
    link_code(m);
    run_from(m, 0, NULL);
    learn(m, &(struct hp_reconstruct_config){0});
    struct hp_reconstruct_query query = make_query(m, 80, "00000000000000000000", false);
    assert_int_equal(hp_reconstruct_ask(m->reconstruct, &query, &answer), HP_OK);
    assert_int_equal(answer.known, 20);
    assert_int_equal(answer.paths[20], 2);
    assert_int_equal(hp_reconstruct_list(m->reconstruct, &query, 100, &paths), HP_OK);
    assert_int_equal(paths.n, 100);
    assert_false(paths.complete);
    hp_reconstruct_paths_fini(&paths);
    forget(m);
    /* With less room it gives up, and says for which lengths it did not. */
    memset(m->log, 0, sizeof m->log);
    memset(m->edges, 0, sizeof m->edges);
    m->n_log = m->n_edges = 0;
    run_from(m, 0, NULL);
    learn(m, &(struct hp_reconstruct_config){.states = 8, .cached = 1});
    assert_int_equal(hp_reconstruct_ask(m->reconstruct, &query, &answer), HP_OK);
    assert_in_range(answer.known, 1, 8);
    assert_int_equal(hp_reconstruct_stats(m->reconstruct)->over, 1);
    forget(m);
}

static void nonsense(void **state)
{
    (void)state;
    struct machine *m = run_text(DIAMONDS, 0,
                                 "001"
                                 "011"
                                 "101"
                                 "110");
    struct hp_reconstruct_answer answer;
    struct hp_reconstruct_query query = make_query(m, 10, "0", false);
    struct hp_reconstruct *other;
    bool nested;
    query.bits = 0;
    assert_int_equal(hp_reconstruct_ask(m->reconstruct, &query, &answer), HP_ERR_INVALID);
    query.bits = 33;
    assert_int_equal(hp_reconstruct_ask(m->reconstruct, &query, &answer), HP_ERR_INVALID);
    query.bits = 32;
    query.history = UINT32_MAX;
    assert_int_equal(hp_reconstruct_ask(m->reconstruct, &query, &answer), HP_OK);
    query.scheme = HP_RECONSTRUCT_PAIR;
    assert_int_equal(hp_reconstruct_ask(m->reconstruct, &query, &answer), HP_ERR_INVALID);
    query.distance = 4096;
    assert_int_equal(hp_reconstruct_ask(m->reconstruct, &query, &answer), HP_ERR_INVALID);
    query.distance = 4095;
    query.pc = 7;
    assert_int_equal(hp_reconstruct_ask(m->reconstruct, &query, &answer), HP_OK);
    assert_int_equal(answer.paths[32], 0);
    uint32_t block = 1000;
    assert_int_equal(
        hp_reconstruct_follow(m->reconstruct, &block, 1, 0, 4, false, &answer, &nested),
        HP_ERR_INVALID);
    block = 0;
    assert_int_equal(
        hp_reconstruct_follow(m->reconstruct, &block, 1, 99, 4, false, &answer, &nested),
        HP_ERR_INVALID);
    assert_int_equal(
        hp_reconstruct_follow(m->reconstruct, &block, 0, 0, 4, false, &answer, &nested),
        HP_ERR_INVALID);
    struct hp_edge_count edge = {.from = 0, .to = 1000, .count = 1};
    struct hp_reconstruct_config config = {0};
    assert_int_equal(hp_reconstruct_new(m->stream.code, &edge, 1, NULL, &config, &other),
                     HP_ERR_INVALID);
    config.cached = 3;
    assert_int_equal(hp_reconstruct_new(m->stream.code, NULL, 0, NULL, &config, &other),
                     HP_ERR_INVALID);
    config = (struct hp_reconstruct_config){.states = UINT32_MAX};
    assert_int_equal(hp_reconstruct_new(m->stream.code, NULL, 0, NULL, &config, &other),
                     HP_ERR_INVALID);
    config = (struct hp_reconstruct_config){.states = 1, .cached = 4};
    assert_int_equal(hp_reconstruct_new(m->stream.code, NULL, 0, NULL, &config, &other), HP_OK);
    query.pc = address_of(m, 0);
    assert_int_equal(hp_reconstruct_ask(other, &query, &answer), HP_OK);
    assert_int_equal(answer.paths[32], 0);
    hp_reconstruct_free(other);
    forget(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(diamonds),
        cmocka_unit_test(several),
        cmocka_unit_test(loops),
        cmocka_unit_test(endless),
        cmocka_unit_test(calls),
        cmocka_unit_test(recursion),
        cmocka_unit_test(deep_recursion),
        cmocka_unit_test(tail_calls),
        cmocka_unit_test(conditional_calls),
        cmocka_unit_test(changed_code),
        cmocka_unit_test(pairs),
        cmocka_unit_test(pairs_within_a_place),
        cmocka_unit_test(without_history),
        cmocka_unit_test(places_and_edges),
        cmocka_unit_test(likeliest_of_several),
        cmocka_unit_test(profile_by_paths),
        cmocka_unit_test(answers_are_kept),
        cmocka_unit_test(many_paths),
        cmocka_unit_test(nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
