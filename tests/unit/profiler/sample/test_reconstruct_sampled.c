// SPDX-License-Identifier: MIT
/*
 * Edges estimated from samples against a slow reference: random programs, random runs, samples of
 * them; the reference tries all ways back from each sample one by one, instruction by instruction.
 * And against the run itself.
 */
#include "reconstruct_fixture.h"
#include "reconstruct_programs.h"

#include <math.h>

#define SPAN        HP_RECONSTRUCT_SPAN
#define ROUNDS      8
#define BITS        8
#define MAX_SAMPLES 4000
#define MAX_STEPS   1000000

enum arrow { NONE, PLAIN, TAIL, RETURN, CALLS };

/* --- Samples ---------------------------------------------------------------------------------- */

static struct hp_path_observation samples[MAX_SAMPLES];
static size_t n_samples;

/* Of instruction `insn`, in entry `at` of the log. */
static void add_sample(struct machine *m, size_t at, uint32_t insn)
{
    struct hp_path_observation *s = &samples[n_samples++];
    *s = (struct hp_path_observation){.pc = address_of(m, insn)};
    for (size_t i = at; i-- > 0 && s->bits < 16;)
        if (m->code[m->log[i].last].kind == COND)
            s->history |= (uint32_t)(m->log[i + 1].first != m->log[i].last + 1) << s->bits++;
    if (insn == m->log[at].last && at + 1 < m->n_log)
        s->next = address_of(m, m->log[at + 1].first);
    uint32_t back = 1 + random_below(&m->seed, 40), here = insn;
    s->distance = random_below(&m->seed, 3) ? back : 0;
    while (here - m->log[at].first < back) {
        back -= here - m->log[at].first + 1;
        if (at-- == 0) {
            s->distance = 0;
            return;
        }
        here = m->log[at].last;
    }
    s->other = address_of(m, here - back);
}

/* --- The graph, by instructions --------------------------------------------------------------- */

static struct reference {
    const struct machine *m;
    uint8_t kind[MAX_CODE][MAX_CODE]; /* enum arrow */
    double seen[MAX_CODE][MAX_CODE];  /* samples that went there */
    double times[MAX_CODE][MAX_CODE], expected[MAX_CODE][MAX_CODE], now[MAX_CODE][MAX_CODE];
    bool there[MAX_CODE], start[MAX_CODE], begins[MAX_CODE]; /* begins: nothing comes before */
    double came[MAX_CODE], called[MAX_CODE];
} ref;

static bool is_last(uint32_t insn)
{
    return ref.m->code[insn].kind != NOP || ref.start[insn + 1];
}

static uint32_t last_of(uint32_t insn)
{
    while (!is_last(insn))
        insn++;
    return insn;
}

static uint32_t first_of(uint32_t insn)
{
    while (!ref.start[insn])
        insn--;
    return insn;
}

static void allow(uint32_t from, uint32_t to, double seen)
{
    const struct machine *m = ref.m;
    if (!ref.start[to])
        return;
    enum arrow kind = PLAIN;
    if (m->code[from].kind == CALL)
        kind = CALLS;
    else if (m->code[from].kind == RET && to > 0 && m->code[to - 1].kind == CALL &&
             ref.there[to - 1])
        kind = RETURN;
    else if (m->function[from] != m->function[to] && m->function[to] == to)
        kind = TAIL;
    ref.kind[from][to] = (uint8_t)kind;
    ref.seen[from][to] += seen;
}

static void allow_code(void)
{
    const struct machine *m = ref.m;
    for (uint32_t i = 0; i < m->n; i++) {
        uint8_t kind = m->code[i].kind;
        if (!ref.there[i] || !is_last(i))
            continue;
        if (kind == NOP || kind == COND)
            allow(i, i + 1, 0);
        if (kind == COND || kind == JMP || kind == CALL)
            allow(i, m->code[i].target, 0);
    }
}

static void allow_sampled(void)
{
    const struct machine *m = ref.m;
    for (size_t i = 0; i < n_samples; i++) {
        uint32_t insn = index_of(m, samples[i].pc);
        if (samples[i].next && is_last(insn))
            allow(insn, index_of(m, samples[i].next), 1);
        if (!samples[i].distance)
            continue;
        uint32_t other = index_of(m, samples[i].other), last = last_of(other);
        uint32_t apart = last - other + 1 + insn - first_of(insn);
        if ((m->code[last].kind == JMP_IND || m->code[last].kind == RET) &&
            apart == samples[i].distance)
            allow(last, first_of(insn), 0);
    }
}

static void reach(uint32_t at, bool *met)
{
    if (met[at])
        return;
    met[at] = true;
    if (ref.m->code[at].kind == CALL && ref.start[at + 1])
        reach(at + 1, met);
    if (!is_last(at))
        reach(at + 1, met);
    for (uint32_t to = 0; to < ref.m->n; to++)
        if (ref.kind[at][to] == PLAIN || ref.kind[at][to] == TAIL)
            reach(to, met);
}

static void allow_returns(void)
{
    static uint8_t before[MAX_CODE][MAX_CODE];
    const struct machine *m = ref.m;
    memcpy(before, ref.kind, sizeof before);
    for (uint32_t routine = 0; routine < m->n; routine++) {
        bool met[MAX_CODE] = {false}, returns[MAX_CODE] = {false}, any = false, called = false;
        for (uint32_t from = 0; from < m->n; from++)
            called |= before[from][routine] == CALLS;
        if (!called)
            continue;
        reach(routine, met);
        for (uint32_t exit = 0; exit < m->n; exit++)
            for (uint32_t from = 0; from < m->n; from++)
                if (met[exit] && m->code[exit].kind == RET && before[from][routine] == CALLS &&
                    before[exit][from + 1] == RETURN)
                    any = returns[exit] = true;
        for (uint32_t exit = 0; exit < m->n; exit++)
            for (uint32_t from = 0; from < m->n; from++)
                if (met[exit] && m->code[exit].kind == RET && (!any || returns[exit]) &&
                    before[from][routine] == CALLS)
                    allow(exit, from + 1, 0);
    }
}

static void learn_reference(const struct machine *m)
{
    memset(&ref, 0, sizeof ref);
    ref.m = m;
    for (size_t i = 0; i < m->n_log; i++) {
        ref.start[m->log[i].first] = true;
        for (uint32_t k = m->log[i].first; k <= m->log[i].last; k++)
            ref.there[k] = true;
    }
    allow_code();
    allow_sampled();
    allow_returns();
    for (uint32_t to = 0; to < m->n; to++) {
        bool any = false;
        for (uint32_t from = 0; from < m->n; from++)
            any |= ref.kind[from][to] != NONE;
        ref.begins[to] = !any;
    }
}

/* --- All ways back ---------------------------------------------------------------------------- */

struct way {
    const struct hp_path_observation *sample;
    uint32_t from[SPAN + 1], to[SPAN + 1], n; /* edges, the nearest first */
    uint32_t stack[DEEPEST + 5000], depth;
    double all;
    size_t *steps;
};

static void add_way(struct way *w, double probability)
{
    w->all += probability;
    for (uint32_t i = 0; i < w->n; i++)
        ref.now[w->from[i]][w->to[i]] += probability;
}

/* `near` instructions lie between the first one of a place and the sample. */
static void go_back(struct way *w, uint32_t at, uint32_t near, uint32_t level, bool seen,
                    double probability)
{
    const struct hp_path_observation *s = w->sample;
    uint32_t distance = s->distance <= SPAN ? s->distance : 0;
    uint32_t bits = s->bits < BITS ? s->bits : BITS;
    bool open = !distance || seen || near < distance;
    *w->steps += near > 4000 ? MAX_STEPS : 1; /* a loop without a branch */
    if (*w->steps > MAX_STEPS)
        return;
    if (near >= SPAN && level >= bits) {
        if (open)
            add_way(w, probability);
        return;
    }
    if (ref.begins[at] && open)
        add_way(w, ldexp(probability, level < bits ? (int)level - (int)bits : 0));
    for (uint32_t from = 0; from < ref.m->n; from++) {
        enum arrow kind = (enum arrow)ref.kind[from][at];
        bool conditional = ref.m->code[from].kind == COND;
        double times = ref.times[from][at];
        if (kind == NONE || (kind == CALLS && w->depth && w->stack[w->depth - 1] != from))
            continue;
        if (conditional && level < bits && (s->history >> level & 1) != (at != from + 1))
            continue;
        if (kind == CALLS && w->depth)
            times = ref.called[at];
        uint32_t depth = w->depth, popped = depth ? w->stack[depth - 1] : 0;
        if (kind == RETURN)
            w->stack[w->depth++] = at - 1;
        else if (kind == CALLS && depth)
            w->depth--;
        uint32_t within = w->n;
        if (near < SPAN) {
            w->from[w->n] = from;
            w->to[w->n++] = at;
        }
        uint32_t first = first_of(from), insns = from - first + 1;
        bool here = seen;
        for (uint32_t i = first; i <= from && distance; i++)
            here |= address_of(ref.m, i) == s->other && near + from - i + 1 <= distance;
        go_back(w, first, near + insns, level + conditional, here,
                probability * times / ref.came[at]);
        w->n = within;
        w->depth = depth;
        if (depth)
            w->stack[depth - 1] = popped;
    }
}

static void expect_of(const struct hp_path_observation *sample, size_t *steps)
{
    struct way way = {.sample = sample, .steps = steps};
    uint32_t insn = index_of(ref.m, sample->pc), first = first_of(insn);
    bool seen = false;
    memset(ref.now, 0, sizeof ref.now);
    for (uint32_t i = first; i < insn && sample->distance; i++)
        seen |= address_of(ref.m, i) == sample->other && insn - i <= sample->distance;
    go_back(&way, first, insn - first, 0, seen, 1);
    for (uint32_t from = 0; from < ref.m->n && way.all > 0; from++)
        for (uint32_t to = 0; to < ref.m->n; to++)
            ref.expected[from][to] += ref.now[from][to] / way.all;
}

static void take_over(void)
{
    for (uint32_t to = 0; to < ref.m->n; to++) {
        ref.came[to] = ref.called[to] = 0;
        for (uint32_t from = 0; from < ref.m->n; from++) {
            if (ref.kind[from][to] == NONE)
                continue;
            double times = ref.expected[from][to] + ref.seen[from][to] + 1.0 / 16;
            ref.times[from][to] = times;
            ref.came[to] += times;
            ref.called[to] += ref.kind[from][to] == CALLS ? times : 0;
        }
    }
    memset(ref.expected, 0, sizeof ref.expected);
}

/* False: too many ways. */
static bool estimate(void)
{
    size_t steps = 0;
    for (uint32_t from = 0; from < ref.m->n; from++)
        for (uint32_t to = 0; to < ref.m->n; to++)
            ref.expected[from][to] = 1;
    take_over();
    for (int round = 0; round < ROUNDS && steps <= MAX_STEPS; round++) {
        for (size_t i = 0; i < n_samples && steps <= MAX_STEPS; i++)
            expect_of(&samples[i], &steps);
        take_over();
    }
    return steps <= MAX_STEPS;
}

/* --- Comparing -------------------------------------------------------------------------------- */

static struct hp_reconstruct *learn_samples(struct machine *m)
{
    const struct hp_reconstruct_config config = {.states = 1 << 16, .cached = 64};
    struct hp_reconstruct *r;
    assert_int_equal(hp_reconstruct_new_sampled(m->stream.code, samples, n_samples, NULL,
                                                &m->frames, &config, &r),
                     HP_OK);
    return r;
}

static size_t compare_edges(const struct machine *m, const struct hp_reconstruct *r)
{
    size_t n = hp_reconstruct_stats(r)->edges, expected = 0;
    for (uint32_t from = 0; from < m->n; from++)
        for (uint32_t to = 0; to < m->n; to++)
            expected += ref.kind[from][to] != NONE;
    assert_int_equal(n, expected);
    for (size_t i = 0; i < n; i++) {
        struct hp_reconstruct_edge edge = hp_reconstruct_edge(r, i);
        uint32_t from = last_of(index_of(m, edge.from)), to = index_of(m, edge.to);
        assert_true(ref.kind[from][to] != NONE);
        assert_int_equal(edge.call, ref.kind[from][to] == CALLS);
        assert_true(fabs((double)edge.count - 16 * ref.times[from][to]) < 0.5 + 1e-6);
    }
    return n;
}

static void like_the_reference(void **state)
{
    static struct machine m;
    size_t compared = 0, unknown = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        make_program(&m, seed);
        run_from(&m, 0, NULL);
        learn(&m, &(struct hp_reconstruct_config){0});
        n_samples = 0;
        for (uint32_t i = 0; i < 40; i++) {
            size_t at = random_below(&m.seed, (uint32_t)m.n_log);
            uint32_t n = m.log[at].last - m.log[at].first + 1;
            add_sample(&m, at, m.log[at].first + random_below(&m.seed, n));
        }
        learn_reference(&m);
        if (estimate()) {
            struct hp_reconstruct *r = learn_samples(&m);
            compared += compare_edges(&m, r);
            hp_reconstruct_free(r);
        } else
            unknown++;
        forget(&m);
    }
    print_message("%zu edges compared, %zu programs with too many ways\n", compared, unknown);
    assert_true(compared > 2000);
    assert_true(unknown < 10);
}

/* --- The truth -------------------------------------------------------------------------------- */

/* How much of the run's edges, weighed by how often they were taken, is where the estimate says. */
static double overlap(const struct machine *m, const struct hp_reconstruct *r)
{
    static double really[MAX_CODE][MAX_CODE];
    double all = 0, estimated = 0, common = 0;
    memset(really, 0, sizeof really);
    for (size_t i = 0; i + 1 < m->n_log; i++) {
        for (uint32_t k = m->log[i].first; k < m->log[i].last; k++)
            if (ref.start[k + 1])
                really[k][k + 1]++, all++;
        really[m->log[i].last][m->log[i + 1].first]++;
        all++;
    }
    size_t n = hp_reconstruct_stats(r)->edges;
    for (size_t i = 0; i < n; i++)
        estimated += (double)hp_reconstruct_edge(r, i).count;
    for (size_t i = 0; i < n; i++) {
        struct hp_reconstruct_edge edge = hp_reconstruct_edge(r, i);
        uint32_t from = last_of(index_of(m, edge.from)), to = index_of(m, edge.to);
        common += fmin((double)edge.count / estimated, really[from][to] / all);
    }
    return common;
}

/* With a sample of every few instructions the estimates are the truth, nearly. */
static void like_the_run(void **state)
{
    static struct machine m;
    double sum = 0, least = 1;
    int n = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        make_program(&m, seed);
        run_from(&m, 0, NULL);
        learn(&m, &(struct hp_reconstruct_config){0});
        n_samples = 0;
        for (size_t at = 0; at < m.n_log && m.n_log == MAX_LOG; at++)
            for (uint32_t k = m.log[at].first; k <= m.log[at].last; k++)
                if (random_below(&m.seed, 4) == 0 && n_samples < MAX_SAMPLES)
                    add_sample(&m, at, k);
        if (n_samples) {
            learn_reference(&m);
            struct hp_reconstruct *r = learn_samples(&m);
            double part = overlap(&m, r);
            sum += part;
            n++;
            least = fmin(least, part);
            hp_reconstruct_free(r);
        }
        forget(&m);
    }
    print_message("%d programs: overlap %.3f, at least %.3f\n", n, sum / n, least);
    assert_true(n > 30);
    assert_true(sum / n > 0.9);
    assert_true(least > 0.7);
}

static void without_samples(void **state)
{
    static struct machine m;
    (void)state;
    make_program(&m, 1);
    run_from(&m, 0, NULL);
    learn(&m, &(struct hp_reconstruct_config){0});
    n_samples = 0;
    struct hp_reconstruct *r = learn_samples(&m);
    struct hp_reconstruct_answer answer;
    struct hp_reconstruct_query query = {
        .scheme = HP_RECONSTRUCT_HISTORY, .pc = address_of(&m, 1), .bits = 2, .likeliest = true};
    assert_int_equal(hp_reconstruct_ask(r, &query, &answer), HP_OK);
    hp_reconstruct_free(r);
    forget(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(like_the_reference),
        cmocka_unit_test(like_the_run),
        cmocka_unit_test(without_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
