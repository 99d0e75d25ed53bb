// SPDX-License-Identifier: MIT
/*
 * The schemes that predict by rate, net-rate and rate-table: against naive ones written from
 * docs/better.md, on random flows, and what they are for.
 */
#include "hotpath/predict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PATHS 600
#define HEADS 200

static uint32_t below(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

static struct hp_scheme *scheme_of(const char *text)
{
    struct hp_scheme_config config;
    struct hp_scheme *scheme = NULL;
    if (hp_scheme_parse(text, &config) != HP_OK || hp_scheme_new(&config, &scheme) != HP_OK)
        fail_msg("%s: %s", text, hp_error_text());
    assert_int_equal(scheme->ops->grow(scheme, PATHS, HEADS), HP_OK);
    return scheme;
}

/* --- Naive ones ------------------------------------------------------------------------------- */

struct naive {
    uint64_t delay, epoch_start, epoch_size, asked;
    uint64_t counts[HEADS]; /* in this epoch */
    bool touched[HEADS];
    struct {
        bool used, held;
        uint32_t path;
        uint64_t count, since;
    } places[256];
};

/* Epochs begin when the first path is executed that is not predicted, and at the first such behind
 * the end of the one before. */
static bool naive_net_rate(struct naive *n, const struct hp_flow_step *step)
{
    if (n->epoch_size == 0 || step->flow >= n->epoch_start + n->epoch_size) {
        memset(n->counts, 0, sizeof n->counts);
        n->asked = n->delay + step->flow / 20000;
        n->epoch_start = step->flow;
        n->epoch_size = 700 * (n->asked + 1);
    }
    n->touched[step->head] = true;
    if (++n->counts[step->head] <= n->asked)
        return false;
    n->counts[step->head] = 0;
    return true;
}

static bool naive_rate_table(struct naive *n, const struct hp_flow_step *step)
{
    uint32_t first = 16 * ((step->path * UINT32_C(2654435761)) >> 28), mine = UINT32_MAX;
    for (uint32_t i = first; i < first + 16; i++) /* those that are too slow lose their places */
        if (step->flow - n->places[i].since > 700 * (n->places[i].count + 5) &&
            !(n->places[i].held && n->places[i].path == step->path))
            n->places[i].held = false;
    for (uint32_t i = first; i < first + 16; i++)
        if (n->places[i].held && n->places[i].path == step->path)
            mine = i;
    if (mine != UINT32_MAX &&
        step->flow - n->places[mine].since > 700 * (n->places[mine].count + 5)) {
        n->places[mine].count = 0;
        n->places[mine].since = step->flow;
    }
    for (uint32_t i = first; i < first + 16 && mine == UINT32_MAX; i++)
        if (!n->places[i].held) {
            mine = i;
            n->places[i].used = n->places[i].held = true;
            n->places[i].path = step->path;
            n->places[i].count = 0;
            n->places[i].since = step->flow;
        }
    if (mine == UINT32_MAX || ++n->places[mine].count <= n->delay + step->flow / 20000)
        return false;
    n->places[mine].held = false;
    return true;
}

/* --- Random flows ----------------------------------------------------------------------------- */

/* Runs a flow with phases, in which different paths are frequent; both must predict the same at the
 * same time. */
static void run_flow(const char *text, uint64_t delay, uint64_t seed, uint64_t *predicted)
{
    static struct naive naive;
    static bool done[PATHS];
    char name[64];
    snprintf(name, sizeof name, "%s:%llu", text, (unsigned long long)delay);
    struct hp_scheme *scheme = scheme_of(name);
    bool table = strcmp(text, "rate-table") == 0;
    uint64_t counters = 0;
    memset(&naive, 0, sizeof naive);
    memset(done, 0, sizeof done);
    naive.delay = delay;
    for (uint64_t flow = 1; flow <= 300000; flow++) {
        uint32_t phase = (uint32_t)(flow / 50000) * 37, kind = below(&seed, PATHS);
        uint32_t path = (phase + below(&seed, kind + 1)) % PATHS;
        struct hp_flow_step step = {.path = path, .head = path % HEADS, .length = 3, .flow = flow};
        if (done[path])
            continue;
        bool expected = table ? naive_rate_table(&naive, &step) : naive_net_rate(&naive, &step);
        assert_int_equal(scheme->ops->profile(scheme, &step), expected);
        done[path] = expected;
        *predicted += expected;
    }
    for (uint32_t i = 0; i < HEADS; i++)
        counters += !table && naive.touched[i];
    for (uint32_t i = 0; i < 256; i++)
        counters += table && naive.places[i].used;
    assert_int_equal(scheme->ops->cost(scheme).counters, counters);
    hp_scheme_free(scheme);
}

static void same_as_naive(void **state)
{
    static const uint64_t delays[] = {0, 1, 5, 20, 100, 500};
    (void)state;
    for (unsigned i = 0; i < sizeof delays / sizeof *delays; i++) {
        uint64_t net = 0, table = 0;
        for (uint64_t seed = 1; seed <= 3; seed++) {
            run_flow("net-rate", delays[i], seed, &net);
            run_flow("rate-table", delays[i], seed, &table);
        }
        assert_in_range(net, 50, 3 * PATHS - 1);
        assert_in_range(table, 50, 3 * PATHS - 1);
    }
}

/* --- What they are for ------------------------------------------------------------------------ */

/* Executes path 0 once in `period`, `n` times, and others in between; says after how many it was
 * predicted, 0: never. */
static uint64_t predicted_after(const char *text, uint64_t period, uint64_t n)
{
    struct hp_scheme *scheme = scheme_of(text);
    uint64_t after = 0;
    for (uint64_t i = 1; i <= n && !after; i++) {
        struct hp_flow_step step = {.flow = i * period, .length = 1};
        if (scheme->ops->profile(scheme, &step))
            after = i;
    }
    hp_scheme_free(scheme);
    return after;
}

static void rates_decide(void **state)
{
    (void)state;
    assert_int_equal(predicted_after("net:20", 5000, 1000), 21); /* it has time */
    assert_int_equal(predicted_after("net-rate:20", 100, 1000), 21);
    assert_int_equal(predicted_after("rate-table:20", 100, 1000), 21);
    assert_int_equal(predicted_after("net-rate:20", 5000, 10000), 0);
    assert_int_equal(predicted_after("rate-table:20", 5000, 10000), 0);
    /* The later the more is asked for. */
    struct hp_scheme *late = scheme_of("rate-table:20");
    uint64_t count = 0;
    bool hot = false;
    while (!hot) {
        struct hp_flow_step step = {.flow = 2000000 + 10 * count++, .length = 1};
        hot = late->ops->profile(late, &step);
    }
    assert_int_equal(count, 20 + 100 + 1);
    hp_scheme_free(late);
}

static void few_counters(void **state)
{
    struct hp_scheme *table = scheme_of("rate-table:1000");
    (void)state;
    for (uint32_t i = 0; i < 100000; i++) {
        struct hp_flow_step step = {.path = i, .head = i, .length = 2, .flow = i + 1};
        assert_false(table->ops->profile(table, &step));
    }
    assert_int_equal(table->ops->cost(table).counters, 256);
    assert_int_equal(table->ops->cost(table).operations, 300000);
    hp_scheme_free(table);
}

static void illegal_delays_are_refused(void **state)
{
    struct hp_scheme_config config;
    struct hp_scheme *scheme;
    (void)state;
    assert_int_equal(hp_scheme_parse("net-rate:2000000000", &config), HP_ERR_INVALID);
    assert_int_equal(hp_scheme_parse("net-rate:20", &config), HP_OK);
    config.delay = 2000000000;
    assert_int_equal(hp_scheme_new(&config, &scheme), HP_ERR_INVALID);
    assert_int_equal(hp_scheme_parse("net-rate:20,after=keep", &config), HP_ERR_INVALID);
    assert_int_equal(hp_scheme_parse("rate-table", &config), HP_ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_naive),
        cmocka_unit_test(rates_decide),
        cmocka_unit_test(few_counters),
        cmocka_unit_test(illegal_delays_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
