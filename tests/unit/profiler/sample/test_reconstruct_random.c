// SPDX-License-Identifier: MIT
/*
 * Path reconstruction against a slow reference: random programs, random runs, and for samples of
 * them all ways back tried one by one, instruction by instruction, without places and states.
 */
#include "base/map64.h"
#include "reconstruct_fixture.h"
#include "reconstruct_programs.h"

#include <math.h>

#define MAX_PATHS 400
#define MAX_PATH  500
#define MAX_STEPS 400000

/* --- The graph, by instructions --------------------------------------------------------------- */

enum arrow { NONE, PLAIN, TAIL, RETURN, CALLS };

static struct reference {
    const struct machine *m;
    uint64_t count[MAX_CODE][MAX_CODE];
    uint8_t kind[MAX_CODE][MAX_CODE]; /* enum arrow */
    bool start[MAX_CODE], begins[MAX_CODE];
    uint64_t came[MAX_CODE], entered[MAX_CODE], called[MAX_CODE], left[MAX_CODE];
} ref;

static int bit_of(uint32_t from, uint32_t to)
{
    return ref.m->code[from].kind == COND ? to != from + 1 : -1;
}

static void allow(uint32_t from, uint32_t to, uint64_t count)
{
    const struct machine *m = ref.m;
    enum arrow kind = PLAIN;
    if (m->code[from].kind == CALL)
        kind = CALLS;
    else if (m->code[from].kind == RET)
        kind = RETURN;
    else if (m->function[from] != m->function[to] && m->function[to] == to)
        kind = TAIL;
    ref.kind[from][to] = (uint8_t)kind;
    ref.count[from][to] += count;
}

static void reach(uint32_t at, bool *met)
{
    if (met[at])
        return;
    met[at] = true;
    if (ref.m->code[at].kind == CALL && ref.start[at + 1])
        reach(at + 1, met);
    for (uint32_t to = 0; to < ref.m->n; to++)
        if (ref.kind[at][to] == PLAIN || ref.kind[at][to] == TAIL)
            reach(to, met);
}

/* Whether an exit was seen to return from a routine. */
static bool returned(uint32_t exit, uint32_t routine)
{
    for (uint32_t from = 0; from < ref.m->n; from++)
        if (ref.kind[from][routine] == CALLS && ref.count[exit][from + 1])
            return true;
    return false;
}

/* What the code allows beyond what was executed. */
static void allow_more(void)
{
    static bool met[MAX_CODE];
    const struct machine *m = ref.m;
    for (size_t i = 0; i < m->n_log; i++) {
        uint32_t last = m->log[i].last;
        if (m->code[last].kind != COND)
            continue;
        if (ref.start[last + 1])
            allow(last, last + 1, 0);
        if (ref.start[m->code[last].target])
            allow(last, m->code[last].target, 0);
    }
    for (uint32_t routine = 0; routine < m->n; routine++) {
        memset(met, 0, sizeof met);
        for (uint32_t from = 0; from < m->n; from++) {
            if (ref.kind[from][routine] != CALLS || !ref.start[from + 1])
                continue;
            reach(routine, met);
            for (uint32_t exit = 0; exit < m->n; exit++)
                if (met[exit] && m->code[exit].kind == RET && returned(exit, routine))
                    allow(exit, from + 1, 0);
        }
    }
}

static void learn_reference(const struct machine *m, bool executed)
{
    memset(&ref, 0, sizeof ref);
    ref.m = m;
    for (size_t i = 0; i < m->n_log; i++)
        ref.start[m->log[i].first] = true;
    for (size_t i = 0; i + 1 < m->n_log; i++) {
        for (uint32_t k = m->log[i].first; k < m->log[i].last; k++)
            allow(k, k + 1, 1);
        allow(m->log[i].last, m->log[i + 1].first, 1);
    }
    if (!executed)
        allow_more();
    for (uint32_t to = 0; to < m->n; to++) {
        bool any = false;
        for (uint32_t from = 0; from < m->n; from++) {
            any |= ref.kind[from][to] != NONE;
            bool calls = ref.kind[from][to] == CALLS, enters = calls || ref.kind[from][to] == TAIL;
            ref.begins[to] |= enters;
            ref.entered[to] += enters ? ref.count[from][to] : 0;
            ref.called[to] += calls ? ref.count[from][to] : 0;
            ref.came[to] += ref.count[from][to];
            ref.left[from] += ref.count[from][to];
        }
        ref.begins[to] |= ref.start[to] && !any;
    }
}

/* --- All ways back ---------------------------------------------------------------------------- */

struct search {
    struct hp_reconstruct_query query;
    uint32_t bits; /* up to query.bits */
    uint32_t other;
    uint32_t path[MAX_PATH]; /* the instruction before the sample first */
    size_t n;
    uint32_t stack[MAX_PATH];
    size_t depth;
    uint64_t found[MAX_PATHS]; /* what identifies each path */
    size_t n_found, steps;
    bool too_many;
    double cost, least; /* of the way at hand; of the likeliest */
};

static uint64_t identify(const uint32_t *path, size_t n)
{
    uint64_t hash = n;
    for (size_t i = 0; i < n; i++)
        hash = hp_hash64(hash ^ (path[i] + 77));
    return hash;
}

static bool fits_pair(const struct search *s)
{
    bool there = false;
    if (s->query.scheme < HP_RECONSTRUCT_PAIR || s->n < s->query.distance)
        return true;
    if (s->query.scheme == HP_RECONSTRUCT_DISTANCE)
        return s->path[s->query.distance - 1] == s->other;
    for (size_t i = 0; i < s->n; i++)
        there |= s->path[i] == s->other;
    return there;
}

/* A segment has the whole place that it begins in. */
static void find(struct search *s)
{
    size_t n = s->n;
    while (s->n && !ref.start[s->path[s->n - 1]]) {
        s->path[s->n] = s->path[s->n - 1] - 1;
        s->n++;
    }
    if (fits_pair(s) && s->query.likeliest) {
        /* Which of two that are as likely is anybody's guess. */
        s->too_many |= s->n_found && fabs(s->cost - s->least) < 1e-9;
        if (!s->n_found || s->cost < s->least) {
            s->found[0] = identify(s->path, s->n);
            s->n_found = 1;
            s->least = s->cost;
        }
    } else if (fits_pair(s)) {
        if (s->n_found < MAX_PATHS)
            s->found[s->n_found++] = identify(s->path, s->n);
        else
            s->too_many = true;
    }
    s->n = n;
}

static uint64_t weight_of(const struct search *s, uint32_t from, uint32_t at)
{
    if (s->query.scheme == HP_RECONSTRUCT_COUNTS)
        return ref.left[from];
    return ref.kind[from][at] == CALLS && s->depth ? ref.called[at] : ref.count[from][at];
}

static void go_back(struct search *s, uint32_t at, uint32_t level)
{
    bool top = s->depth == 0;
    if (s->n > MAX_PATH - 40 || ++s->steps > MAX_STEPS)
        s->too_many = true;
    if (s->too_many)
        return;
    double cost = s->cost;
    if (top && !s->query.across && ref.begins[at]) {
        s->cost += ref.entered[at] ? log((double)ref.came[at] / (double)ref.entered[at]) : 0;
        find(s);
        s->cost = cost;
    }
    for (uint32_t from = 0; from < ref.m->n; from++) {
        enum arrow kind = (enum arrow)ref.kind[from][at];
        int bit = bit_of(from, at);
        if (kind == NONE || (bit >= 0 && (int)(s->query.history >> level & 1) != bit) ||
            (top && !s->query.across && (kind == CALLS || kind == TAIL)) ||
            (!top && kind == CALLS && s->stack[s->depth - 1] != from))
            continue;
        if (s->query.likeliest && ref.count[from][at] == 0)
            continue;
        s->cost += log((double)ref.came[at] / (double)weight_of(s, from, at));
        size_t depth = s->depth;
        uint32_t popped = depth ? s->stack[depth - 1] : 0;
        if (kind == RETURN)
            s->stack[s->depth++] = at - 1;
        else if (kind == CALLS && depth)
            s->depth--;
        s->path[s->n++] = from;
        if (bit >= 0 && level + 1 == s->bits)
            find(s);
        else
            go_back(s, from, level + (bit >= 0));
        s->n--;
        s->cost = cost;
        s->depth = depth;
        if (depth)
            s->stack[depth - 1] = popped;
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* --- Step by step ------------------------------------------------------------------------ */

/* Of calls and others, the others; then the one that was taken more often. */
static bool heavier(const struct search *s, uint32_t a, uint32_t b, uint32_t at)
{
    bool one = ref.kind[a][at] == CALLS, two = ref.kind[b][at] == CALLS;
    if (weight_of(s, a, at) != weight_of(s, b, at))
        return weight_of(s, a, at) > weight_of(s, b, at);
    return one == two ? ref.count[a][at] > ref.count[b][at] : two;
}

/* The best that comes before; ref.m->n: the routine begins; HP_NO_ID: nothing is possible. */
static uint32_t heaviest_before(const struct search *s, uint32_t at)
{
    uint32_t best = HP_NO_ID;
    bool top = s->depth == 0;
    for (uint32_t kind = PLAIN; kind <= CALLS; kind++)
        for (uint32_t from = 0; from < ref.m->n; from++) {
            if (ref.kind[from][at] != kind ||
                ((kind == CALLS || kind == TAIL) && top && !s->query.across) ||
                (kind == CALLS && !top && s->stack[s->depth - 1] != from))
                continue;
            if (best == HP_NO_ID || heavier(s, from, best, at))
                best = from;
        }
    bool begins = top && !s->query.across && ref.begins[at];
    return begins && (best == HP_NO_ID || ref.entered[at] >= weight_of(s, best, at)) ? ref.m->n
                                                                                     : best;
}

static void go_heaviest(struct search *s, uint32_t at)
{
    for (uint32_t level = 0; s->n < MAX_PATH - 40;) {
        uint32_t from = heaviest_before(s, at);
        if (from == ref.m->n)
            find(s);
        if (from >= ref.m->n)
            return;
        if (ref.kind[from][at] == RETURN)
            s->stack[s->depth++] = at - 1;
        else if (ref.kind[from][at] == CALLS && s->depth)
            s->depth--;
        s->path[s->n++] = from;
        level += bit_of(from, at) >= 0;
        if (bit_of(from, at) >= 0 && level == s->bits) {
            find(s);
            return;
        }
        at = from;
    }
    s->too_many = true;
}

/* --- The way that was taken ------------------------------------------------------------------- */

/* From the log alone; false: it does not reach back so far. */
static bool go_truly(struct search *s, size_t at, uint32_t sample)
{
    const struct machine *m = ref.m;
    uint32_t here = sample;
    for (uint32_t level = 0;;) {
        bool first = here == m->log[at].first;
        if (first && at == 0)
            return false;
        uint32_t from = first ? m->log[at - 1].last : here - 1;
        enum arrow kind = (enum arrow)ref.kind[from][here];
        if (s->depth == 0 && !s->query.across && (kind == CALLS || kind == TAIL))
            break;
        if (kind == RETURN)
            s->stack[s->depth++] = here - 1;
        else if (kind == CALLS && s->depth)
            assert_int_equal(s->stack[--s->depth], from);
        s->path[s->n++] = from;
        at -= first;
        if (bit_of(from, here) >= 0 && ++level == s->bits)
            break;
        here = from;
        if (s->n > MAX_PATH - 40)
            return false;
    }
    s->query.scheme = HP_RECONSTRUCT_HISTORY;
    s->query.likeliest = false;
    find(s);
    return true;
}

/* --- Comparing -------------------------------------------------------------------------------- */

/* The paths that were listed, instruction by instruction. */
static size_t identify_listed(const struct hp_reconstruct_paths *paths, uint32_t sample,
                              uint64_t *found)
{
    const struct machine *m = ref.m;
    for (size_t i = 0; i < paths->n; i++) {
        uint32_t path[MAX_PATH];
        size_t n = 0;
        for (size_t k = paths->first[i + 1]; k-- > paths->first[i];) {
            uint32_t first = index_of(m, paths->starts[k]), end = first + 1;
            if (k + 1 == paths->first[i + 1])
                end = sample;
            else
                while (m->code[end - 1].kind == NOP && !ref.start[end])
                    end++;
            while (end > first)
                path[n++] = --end;
        }
        found[i] = identify(path, n);
    }
    qsort(found, paths->n, sizeof *found, by_value);
    return paths->n;
}

static struct tally {
    size_t queries, compared, single, several, unknown;
} tally[2][HP_RECONSTRUCT_SCHEMES];

static struct search *search_for(const struct hp_reconstruct_query *query, uint32_t bits,
                                 uint32_t sample)
{
    static struct search s;
    memset(&s, 0, sizeof s);
    s.query = *query;
    s.bits = bits;
    if (query->scheme == HP_RECONSTRUCT_PAIR || query->scheme == HP_RECONSTRUCT_DISTANCE)
        s.other = index_of(ref.m, query->other);
    /* What is before the sample in its own block comes by sequence. */
    if (query->scheme < HP_RECONSTRUCT_HISTORY)
        go_heaviest(&s, sample);
    else
        go_back(&s, sample, 0);
    qsort(s.found, s.n_found, sizeof *s.found, by_value);
    return &s;
}

static void compare_answer(struct machine *m, const struct hp_reconstruct_query *query, size_t at,
                           uint32_t sample)
{
    struct hp_reconstruct_answer answer, truth;
    uint32_t blocks[MAX_LOG];
    bool nested;
    for (size_t i = 0; i <= at; i++)
        blocks[i] = m->log[i].block;
    assert_int_equal(hp_reconstruct_ask(m->reconstruct, query, &answer), HP_OK);
    assert_int_equal(hp_reconstruct_follow(m->reconstruct, blocks, at + 1,
                                           sample - m->log[at].first, query->bits, query->across,
                                           &truth, &nested),
                     HP_OK);
    assert_true(nested);
    for (uint32_t bits = 1; bits <= query->bits; bits++) {
        struct search *s = search_for(query, bits, sample);
        if (!s->too_many) {
            size_t n = s->n_found;
            assert_int_equal(bits <= answer.known ? answer.paths[bits] : 0, n > 2 ? 2 : n);
        }
        static struct search true_way;
        memset(&true_way, 0, sizeof true_way);
        true_way.query = *query;
        true_way.bits = bits;
        bool known = go_truly(&true_way, at, sample);
        assert_int_equal(known, truth.known >= bits);
        if (!known || s->too_many)
            continue;
        bool among = bsearch(true_way.found, s->found, s->n_found, sizeof *s->found, by_value);
        if (query->scheme >= HP_RECONSTRUCT_HISTORY && !query->likeliest)
            assert_true(among); /* the way that was taken always agrees */
        if (bits <= answer.known && answer.paths[bits] == 1)
            assert_int_equal(answer.path[bits] == truth.path[bits], among);
    }
}

static void compare_list(struct machine *m, const struct hp_reconstruct_query *query,
                         uint32_t sample)
{
    struct hp_reconstruct_paths paths = {0};
    uint64_t found[MAX_PATHS + 1];
    struct search *s = search_for(query, query->bits, sample);
    tally[query->likeliest][query->scheme].queries++;
    tally[query->likeliest][query->scheme].unknown += s->too_many;
    if (s->too_many)
        return;
    assert_int_equal(hp_reconstruct_list(m->reconstruct, query, MAX_PATHS, &paths), HP_OK);
    assert_true(paths.complete);
    assert_int_equal(paths.n, s->n_found);
    identify_listed(&paths, sample, found);
    for (size_t i = 0; i < paths.n; i++)
        assert_int_equal(found[i], s->found[i]);
    tally[query->likeliest][query->scheme].compared++;
    tally[query->likeliest][query->scheme].single += paths.n == 1;
    tally[query->likeliest][query->scheme].several += paths.n > 1;
    hp_reconstruct_paths_fini(&paths);
}

/* The instruction `distance` before one of the log. */
static bool before(const struct machine *m, size_t at, uint32_t sample, uint32_t distance,
                   uint32_t *other)
{
    while (sample - m->log[at].first < distance) {
        distance -= sample - m->log[at].first + 1;
        if (at-- == 0)
            return false;
        sample = m->log[at].last;
    }
    *other = sample - distance;
    return true;
}

static void ask_of_sample(struct machine *m, size_t at, uint32_t sample)
{
    struct hp_reconstruct_query query = {.pc = address_of(m, sample)};
    uint32_t other;
    query.bits = 1 + random_below(&m->seed, 5);
    query.distance = 1 + random_below(&m->seed, 20);
    uint32_t bits = 0;
    for (size_t i = at; i-- > 0 && bits < query.bits;)
        if (m->code[m->log[i].last].kind == COND)
            query.history |= (uint32_t)(m->log[i + 1].first != m->log[i].last + 1) << bits++;
    if (bits < query.bits || !before(m, at, sample, query.distance, &other))
        return;
    query.other = address_of(m, other);
    for (uint32_t k = 0; k < 4 * HP_RECONSTRUCT_SCHEMES; k++) {
        query.scheme = (enum hp_reconstruct_scheme)(k / 4);
        query.across = k % 2;
        query.likeliest = k / 2 % 2;
        compare_list(m, &query, sample);
        compare_answer(m, &query, at, sample);
    }
    /* A history that never was. */
    query.scheme = HP_RECONSTRUCT_HISTORY;
    query.likeliest = false;
    query.history ^= 1u << random_below(&m->seed, query.bits);
    compare_list(m, &query, sample);
}

static void compare(bool executed)
{
    static struct machine m;
    memset(tally, 0, sizeof tally);
    for (uint64_t seed = 0; seed < 150; seed++) {
        make_program(&m, seed);
        run_from(&m, 0, NULL);
        if (seed % 2 && m.n_log > 200) /* much was not executed yet */
            m.n_log = 40 + random_below(&m.seed, 100);
        learn(&m, &(struct hp_reconstruct_config){.executed = executed, .cached = 64});
        learn_reference(&m, executed);
        for (int i = 0; i < 12; i++) {
            size_t at = random_below(&m.seed, (uint32_t)m.n_log);
            uint32_t n = m.log[at].last - m.log[at].first + 1;
            if (at > 0 && at + 1 < m.n_log)
                ask_of_sample(&m, at, m.log[at].first + random_below(&m.seed, n));
        }
        forget(&m);
    }
    for (int k = 0; k < 2 * HP_RECONSTRUCT_SCHEMES; k++) {
        int scheme = k % HP_RECONSTRUCT_SCHEMES, likeliest = k / HP_RECONSTRUCT_SCHEMES;
        const struct tally *t = &tally[likeliest][scheme];
        bool one = likeliest || scheme < HP_RECONSTRUCT_HISTORY;
        print_message("%s%s: %zu compared, %zu single, %zu several, %zu unknown\n",
                      hp_reconstruct_scheme_name((enum hp_reconstruct_scheme)scheme),
                      likeliest ? ", likeliest" : "", t->compared, t->single, t->several,
                      t->unknown);
        assert_true(t->compared > 1000);
        assert_true(t->single > 300);
        assert_true(one ? !t->several : t->several > 100);
        assert_true(10 * t->unknown < t->queries);
    }
}

static void with_all_edges(void **state)
{
    (void)state;
    compare(false);
}

static void with_executed_edges(void **state)
{
    (void)state;
    compare(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_all_edges),
        cmocka_unit_test(with_executed_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
