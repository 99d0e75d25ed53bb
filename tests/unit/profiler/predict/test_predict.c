// SPDX-License-Identifier: MIT
/*
 * Prediction by hand: what each scheme predicts and when, and what a judge makes of it, on flows
 * small enough to be worked out on paper. The paths are those of figure 1 of Duesterwald and Bala.
 */
#include "hotpath/predict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- Flows ------------------------------------------------------------------------------------ */

/* The paths of figure 1, by a letter each, all from head A; and others, x and y, from heads of
 * their own. */
static const struct named {
    char name;
    uint64_t start;
    const char *outcomes;
} figure1[] = {
    {'a', 0xa0, "0101"},  /* ABDG */
    {'b', 0xa0, "01001"}, /* ABDGJ */
    {'c', 0xa0, "01111"}, /* ABDHJ */
    {'d', 0xa0, "10111"}, /* ACEIJ */
    {'e', 0xa0, "11111"}, /* ACFIJ */
    {'x', 0x10, "1"},     {'y', 0x20, "01"},
};

static struct hp_path path_named(char name)
{
    const struct named *p = figure1;
    while (p->name != name)
        p++;
    struct hp_path path = {.start = p->start, .block = HP_NO_ID, .events = 1};
    for (const char *o = p->outcomes; *o; o++) {
        path.outcomes = path.outcomes << 1 | (*o == '1');
        path.length++;
    }
    return path;
}

static char name_of(const struct hp_indexed_path *p)
{
    for (const struct named *n = figure1;; n++) {
        struct hp_path path = path_named(n->name);
        if (path.start == p->start && path.outcomes == p->outcomes && path.length == p->length)
            return n->name;
    }
}

static struct hp_judge *new_judge(const char *schemes, double hot)
{
    struct hp_judge_config config = {.hot = hot};
    struct hp_judge *judge;
    char text[256], *save, *word;
    snprintf(text, sizeof text, "%s", schemes);
    for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
        assert_int_equal(hp_scheme_parse(word, &config.schemes[config.n_schemes++]), HP_OK);
    assert_int_equal(hp_judge_new(&config, NULL, &judge), HP_OK);
    return judge;
}

static void run(struct hp_judge *judge, const char *flow)
{
    for (; *flow; flow++) {
        struct hp_path path = path_named(*flow);
        struct hp_paths paths = {.paths = &path, .n = 1};
        hp_judge_sink(judge)->paths(hp_judge_sink(judge), &paths);
    }
}

/* "a2@3": path a was predicted with its second execution, the third of all. */
static void expect_predicted(const struct hp_judge *judge, size_t i, const char *expected)
{
    char text[256] = "";
    size_t n, at = 0;
    const struct hp_predicted *p = hp_judge_predicted(judge, i, &n);
    for (size_t k = 0; k < n; k++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%c%d@%d", k ? " " : "",
                               name_of(&hp_index_paths(hp_judge_index(judge))[p[k].path]),
                               (int)p[k].at, (int)p[k].flow);
    assert_string_equal(text, expected);
}

/* --- Schemes ---------------------------------------------------------------------------------- */

static void net_predicts_the_path_that_follows_a_hot_head(void **state)
{
    (void)state;
    struct hp_judge *judge = new_judge("net:2 net:2,after=keep", 0.1);
    /*               1234567890123 */
    run(judge, "abadabddbbcea");
    /* reset: 1, 2, then 3 exceeds the delay with the third arrival: a. d 1, a not counted, b 2, d
     * 3: d. d not counted, b 1, b 2, c 3: c. e 1, a not counted. */
    expect_predicted(judge, 0, "a2@3 d2@7 c1@11");
    /* keep: after a every path is predicted when it comes: d, b, c, e. */
    expect_predicted(judge, 1, "a2@3 d1@4 b2@6 c1@11 e1@12");
    hp_judge_free(judge);
}

static void net_counts_heads_apart(void **state)
{
    (void)state;
    struct hp_judge *judge = new_judge("net:1", 0.1);
    run(judge, "axyaxyy");
    expect_predicted(judge, 0, "a2@4 x2@5 y2@6");
    struct hp_prediction m;
    hp_judge_result(judge, 0, &m);
    assert_int_equal(m.cost.counters, 3);
    /* two arrivals at each, and 4 + 1 + 2 branches collected; the last y is not profiled */
    assert_int_equal(m.cost.operations, 6 + 7);
    assert_int_equal(m.branches, 4 + 1 + 2 + 4 + 1 + 2 + 2);
    hp_judge_free(judge);
}

static void path_profile_predicts_what_was_run_more_often_than_the_delay(void **state)
{
    (void)state;
    struct hp_judge *judge = new_judge("path-profile:2", 0.1);
    run(judge, "abababdaad");
    expect_predicted(judge, 0, "a3@5 b3@6");
    struct hp_prediction m;
    hp_judge_result(judge, 0, &m);
    assert_int_equal(m.cost.counters, 3);
    assert_int_equal(m.cost.operations, 3 * (4 + 1) + 3 * (5 + 1) + 2 * (5 + 1));
    hp_judge_free(judge);
}

static void without_a_delay_everything_is_predicted_when_it_is_first_run(void **state)
{
    (void)state;
    struct hp_judge *judge = new_judge("net:0 net:0,after=keep path-profile:0", 0.1);
    run(judge, "abaabdx");
    for (size_t i = 0; i < 3; i++) {
        struct hp_prediction m;
        expect_predicted(judge, i, "a1@1 b1@2 d1@6 x1@7");
        hp_judge_result(judge, i, &m);
        assert_int_equal(m.profiled, 4);
    }
    hp_judge_free(judge);
}

static void with_a_huge_delay_nothing_is_predicted(void **state)
{
    (void)state;
    struct hp_judge *judge =
        new_judge("net:2147483648 net:2147483648,after=keep path-profile:2147483648", 0.1);
    for (int i = 0; i < 1000; i++)
        run(judge, "abx");
    for (size_t i = 0; i < 3; i++) {
        struct hp_prediction m;
        hp_judge_result(judge, i, &m);
        assert_int_equal(m.predicted, 0);
        assert_int_equal(m.profiled, 3000);
        assert_int_equal(m.hits, 0);
        assert_int_equal(m.cost.counters, i == 2 ? 3 : 2);
    }
    hp_judge_free(judge);
}

/* --- Measures --------------------------------------------------------------------------------- */

static void measures_are_those_worked_out_by_hand(void **state)
{
    (void)state;
    /* 20 executions: a 10, b 6, d 3, x 1. More than a fifth of the flow, 4 executions: a and b are
     * hot. */
    struct hp_judge *judge = new_judge("path-profile:2 net:3", 0.2);
    run(judge, "aababdabadababdabaxa");
    struct hp_prediction m;
    hp_judge_result(judge, 0, &m);
    /*   12345678901234567890
     *   aababdabadababdabaxa   a with its third (4), b with its third (8), d with its third (15).
     */
    expect_predicted(judge, 0, "a3@4 b3@8 d3@15");
    assert_int_equal(m.flow, 20);
    assert_int_equal(m.paths, 4);
    assert_int_equal(m.heads, 2);
    assert_int_equal(hp_judge_threshold(judge), 4);
    assert_int_equal(m.hot_paths, 2);
    assert_int_equal(m.hot_flow, 16);
    assert_int_equal(m.predicted, 3);
    assert_int_equal(m.predicted_hot, 2);
    assert_int_equal(m.hits, 7 + 3);
    assert_int_equal(m.missed, 3 + 3);
    assert_int_equal(m.noise, 0);
    assert_int_equal(m.profiled, 3 + 3 + 3 + 1);
    assert_int_equal(m.closed_hits, 16 - 2 * 2);
    assert_int_equal(m.closed_missed, 2 * 2);
    assert_int_equal(m.closed_noise, 3 - 2);
    assert_true(hp_hit_rate(&m) == 100.0 * 10 / 16);
    assert_true(hp_profiled_rate(&m) == 50.0);

    hp_judge_result(judge, 1, &m);
    /* a a b: 3; a exceeds: a (3rd of its own). b 1, d 2, b 3 (8th), d 4 (10th): d. b 1, b 2, b 3
     * (17th). x alone. */
    expect_predicted(judge, 1, "a3@4 d2@10");
    assert_int_equal(m.predicted_hot, 1);
    assert_int_equal(m.hits, 7);
    assert_int_equal(m.missed, 3);
    assert_int_equal(m.noise, 1);
    assert_int_equal(m.profiled, 20 - 8);
    assert_int_equal(m.closed_hits, 10 - 3);
    assert_int_equal(m.closed_noise, 3 - 3);
    assert_true(hp_noise_rate(&m) == 100.0 * 1 / 16);
    hp_judge_free(judge);
}

static void closed_forms_may_be_negative(void **state)
{
    (void)state;
    struct hp_judge *judge = new_judge("net:3", 0.3);
    run(judge, "aaabaa");
    struct hp_prediction m;
    hp_judge_result(judge, 0, &m);
    expect_predicted(judge, 0, "b1@4"); /* b came when the head was hot, and never again */
    assert_int_equal(m.noise, 0);
    assert_int_equal(m.closed_noise, 1 - 3);
    hp_judge_free(judge);
}

static void a_path_at_the_threshold_is_cold(void **state)
{
    (void)state;
    struct hp_judge *judge = new_judge("net:0", 0); /* 0.1 %, when nothing is said */
    for (int i = 0; i < 998; i++)
        run(judge, "a");
    run(judge, "xb");
    struct hp_prediction m;
    hp_judge_result(judge, 0, &m);
    assert_int_equal(hp_judge_threshold(judge), 1);
    assert_int_equal(m.hot_paths, 1);
    run(judge, "x"); /* two of 1001 */
    hp_judge_result(judge, 0, &m);
    assert_int_equal(m.hot_paths, 2);
    hp_judge_free(judge);
}

static void an_empty_flow_has_no_rates(void **state)
{
    (void)state;
    struct hp_judge *judge = new_judge("net:50", 0);
    struct hp_prediction m;
    hp_judge_result(judge, 0, &m);
    assert_int_equal(m.flow, 0);
    assert_true(hp_hit_rate(&m) == 0 && hp_noise_rate(&m) == 0 && hp_profiled_rate(&m) == 0);
    assert_true(hp_operations_per_branch(&m) == 0);
    hp_judge_free(judge);
}

static void paths_beyond_the_bound_are_lost_and_counted(void **state)
{
    (void)state;
    struct hp_judge_config config = {.n_schemes = 1, .max_paths = 2};
    struct hp_judge *judge;
    struct hp_prediction m;
    assert_int_equal(hp_scheme_parse("net:0", &config.schemes[0]), HP_OK);
    assert_int_equal(hp_judge_new(&config, NULL, &judge), HP_OK);
    run(judge, "abdeabd");
    hp_judge_result(judge, 0, &m);
    assert_int_equal(m.flow, 7);
    assert_int_equal(m.paths, 2);
    assert_int_equal(m.lost, 3);
    assert_int_equal(m.profiled, 2 + 3);
    assert_int_equal(hp_judge_check(judge), HP_OK);
    hp_judge_free(judge);
}

/* --- Texts ------------------------------------------------------------------------------------ */

static void schemes_are_read_and_written(void **state)
{
    (void)state;
    static const char *const texts[] = {"net:50", "net:0,after=keep", "path-profile:1000000",
                                        "boa:2147483648"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct hp_scheme_config config;
        char text[64];
        assert_int_equal(hp_scheme_parse(texts[i], &config), HP_OK);
        hp_scheme_format(&config, text, sizeof text);
        assert_string_equal(text, texts[i]);
    }
    struct hp_scheme_config config;
    char cut[6];
    assert_int_equal(hp_scheme_parse("net:50,after=reset", &config), HP_OK);
    assert_false(config.keep);
    hp_scheme_format(&config, cut, sizeof cut);
    assert_string_equal(cut, "net:5");
}

static void wrong_texts_are_refused_with_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } wrong[] = {
        {"", "there is no ''; there are net:N, path-profile:N, boa:N, net-rate:N,"},
        {"nett:50", "there is no 'nett:50'; there are net:N, path-profile:N, boa:N,"},
        {"ne:50", "there is no 'ne:50'; there are net:N, path-profile:N, boa:N,"},
        {"net", "net needs a number: net:N"},
        {"net,after=keep", "net needs a number: net:N"},
        {"net:", "delay: '' is not a number"},
        {"net:-1", "delay: '-1' is not a number"},
        {"net: 1", "delay: ' 1' is not a number"},
        {"net:x", "delay: 'x' is not a number"},
        {"net:2147483649", "delay: 2147483649 is not between 0 and 2147483648"},
        {"net:99999999999999999999999",
         "delay: 99999999999999999999999 is not between 0 and 2147483648"},
        {"net:50x", "delay: '50x' is not a number"},
        {"net:50:", "delay: '50:' is not a number"},
        {"net:50,", "net has no setting ''; there are delay, after"},
        {"net:50,before=keep", "net has no setting 'before'; there are delay, after"},
        {"net:50,after=", "after: '' is none of reset, keep"},
        {"net:50,after=keep,", "net has no setting ''; there are delay, after"},
        {"path-profile:50,after=keep", "path-profile has no setting 'after'; there are delay"},
        {"boa:1,after=reset", "boa has no setting 'after'; there are delay"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct hp_scheme_config config = {.delay = 77};
        assert_int_equal(hp_scheme_parse(wrong[i].text, &config), HP_ERR_INVALID);
        if (!strstr(hp_error_text(), wrong[i].part))
            fail_msg("\"%s\": %s", wrong[i].text, hp_error_text());
        assert_null(strchr(hp_error_text(), '\n'));
        assert_int_equal(config.delay, 77);
    }
}

static void wrong_configs_are_refused_with_a_reason(void **state)
{
    (void)state;
    struct hp_scheme *scheme;
    struct hp_judge *judge;
    struct hp_path_predictor *predictor;
    struct hp_scheme_config net = {.name = "net", .delay = HP_DELAY_MAX + 1};
    assert_int_equal(hp_scheme_new(&net, &scheme), HP_ERR_INVALID);
    net.delay = 1;
    struct hp_scheme_config none = {.name = "none"}, keep = {.name = "boa", .keep = true}, full;
    memset(full.name, 'x', sizeof full.name);
    full.delay = 0;
    full.keep = false;
    assert_int_equal(hp_scheme_new(&none, &scheme), HP_ERR_INVALID);
    assert_int_equal(hp_scheme_new(&keep, &scheme), HP_ERR_INVALID);
    assert_int_equal(hp_scheme_new(&full, &scheme), HP_ERR_INVALID);

    struct hp_judge_config config = {.schemes = {net}};
    assert_int_equal(hp_judge_new(&config, NULL, &judge), HP_ERR_INVALID);
    config.n_schemes = HP_JUDGE_SCHEMES + 1;
    assert_int_equal(hp_judge_new(&config, NULL, &judge), HP_ERR_INVALID);
    assert_string_equal(hp_error_text(), "65 prediction schemes: 1 to 64 are possible");
    config.n_schemes = 2; /* the second has no name */
    assert_int_equal(hp_judge_new(&config, NULL, &judge), HP_ERR_INVALID);
    config.n_schemes = 1;
    static const double shares[] = {-0.1, 1, 2, 0.0 / 0.0, 1e-10};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        config.hot = shares[i];
        assert_int_equal(hp_judge_new(&config, NULL, &judge), HP_ERR_INVALID);
    }
    config.hot = 0.5;
    config.max_length = HP_PATH_MAX_LENGTH + 1;
    assert_int_equal(hp_judge_new(&config, NULL, &judge), HP_ERR_INVALID);

    struct hp_path_predictor_config wanted = {.scheme = none};
    assert_int_equal(hp_path_predictor_new(&wanted, &predictor), HP_ERR_INVALID);
    wanted.scheme = net;
    wanted.max_length = 65;
    assert_int_equal(hp_path_predictor_new(&wanted, &predictor), HP_ERR_INVALID);
    hp_scheme_free(NULL);
    hp_judge_free(NULL);
    hp_path_predictor_free(NULL);
    hp_index_free(NULL);
}

/* --- The index -------------------------------------------------------------------------------- */

static void paths_that_differ_in_anything_have_different_ids(void **state)
{
    (void)state;
    static const struct hp_path paths[] = {
        {.start = 1, .outcomes = 1, .length = 1, .block = 0},
        {.start = 2, .outcomes = 1, .length = 1, .block = 0},
        {.start = 1, .outcomes = 0, .length = 1, .block = 0},
        {.start = 1, .outcomes = 1, .length = 2, .block = 0},
        {.start = 1, .outcomes = 1, .length = 1, .block = 7},
        {.start = 1, .outcomes = 1, .length = 1, .block = 0, .targets = 5, .n_targets = 2},
    };
    const uint64_t targets[] = {40, 50};
    const size_t n = sizeof paths / sizeof *paths;
    struct hp_index *index;
    assert_int_equal(hp_index_new(0, 3, &index), HP_OK);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(hp_index_find(index, &paths[i]), HP_NO_ID);
        assert_int_equal(hp_index_intern(index, &paths[i], targets), i);
        assert_int_equal(hp_index_paths(index)[i].mark, 3);
    }
    uint32_t ids[sizeof paths / sizeof *paths];
    hp_index_add(index, &(struct hp_paths){.paths = paths, .n = n, .targets = targets}, ids);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(ids[i], i);
        assert_int_equal(hp_index_find(index, &paths[i]), i);
    }
    assert_int_equal(hp_index_n_paths(index), n);
    assert_int_equal(hp_index_n_heads(index), 2);
    assert_int_equal(hp_index_find_head(index, 2), 1);
    assert_int_equal(hp_index_find_head(index, 3), HP_NO_ID);
    const struct hp_indexed_path *last = &hp_index_paths(index)[n - 1];
    assert_memory_equal(hp_index_targets(index) + last->first_target, targets, sizeof targets);
    hp_index_free(index);
}

static void an_index_grows_and_stops_at_its_bound(void **state)
{
    (void)state;
    enum { BATCH = 1500, BOUND = 40000 };
    struct hp_index *index;
    struct hp_path *paths = calloc(BATCH, sizeof *paths);
    uint32_t *ids = calloc(BATCH, sizeof *ids);
    assert_int_equal(hp_index_new(BOUND, 0, &index), HP_OK);
    for (uint32_t round = 0; round < 60; round++) { /* every third path comes twice */
        for (uint32_t i = 0; i < BATCH; i++)
            paths[i] = (struct hp_path){.start = (round * 1000 + i * 2 / 3) % 50000,
                                        .outcomes = (round * 1000 + i * 2 / 3) * 0x9e37u,
                                        .length = 20};
        hp_index_add(index, &(struct hp_paths){.paths = paths, .n = BATCH}, ids);
        for (uint32_t i = 0; i < BATCH; i++)
            assert_int_equal(ids[i], round * 1000 + i * 2 / 3 < BOUND ? round * 1000 + i * 2 / 3
                                                                      : HP_NO_ID);
    }
    assert_int_equal(hp_index_n_paths(index), BOUND);
    assert_int_equal(hp_index_check(index), HP_OK);
    for (uint32_t i = 0; i < BOUND; i++)
        assert_int_equal(hp_index_paths(index)[i].outcomes, i * 0x9e37u);
    hp_index_free(index);
    free(paths);
    free(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(net_predicts_the_path_that_follows_a_hot_head),
        cmocka_unit_test(net_counts_heads_apart),
        cmocka_unit_test(path_profile_predicts_what_was_run_more_often_than_the_delay),
        cmocka_unit_test(without_a_delay_everything_is_predicted_when_it_is_first_run),
        cmocka_unit_test(with_a_huge_delay_nothing_is_predicted),
        cmocka_unit_test(measures_are_those_worked_out_by_hand),
        cmocka_unit_test(closed_forms_may_be_negative),
        cmocka_unit_test(a_path_at_the_threshold_is_cold),
        cmocka_unit_test(an_empty_flow_has_no_rates),
        cmocka_unit_test(paths_beyond_the_bound_are_lost_and_counted),
        cmocka_unit_test(schemes_are_read_and_written),
        cmocka_unit_test(wrong_texts_are_refused_with_a_reason),
        cmocka_unit_test(wrong_configs_are_refused_with_a_reason),
        cmocka_unit_test(paths_that_differ_in_anything_have_different_ids),
        cmocka_unit_test(an_index_grows_and_stops_at_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
