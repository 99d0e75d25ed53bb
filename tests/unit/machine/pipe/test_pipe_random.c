// SPDX-License-Identifier: MIT
/*
 * The pipe against the slow one, which looks at everything in every cycle: random machines, random
 * code, random ways through it. They agree in every field of every timing.
 *
 * PIPE_RANDOM_SEED and PIPE_RANDOM_COUNT in the environment: where to begin, and how many.
 */
#include "machine/machine.h"
#include "pipe_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct hp_machine *make_machine(uint64_t *seed, char *text, size_t size)
{
    struct hp_machine *machine = NULL;
    pipe_random_machine(seed, text, size);
    if (hp_machine_parse(text, strlen(text), "random.ini", "random", &machine) != HP_OK)
        print_error("%s\n%s", hp_error_text(), text);
    assert_non_null(machine);
    return machine;
}

/* What has been seen in all cases, so that a generator that makes too little of something is
 * noticed. */
struct seen {
    uint64_t events, retired, wrong_path, traps, forwards, queue_stalls;
};

static void count(struct seen *seen, const struct pipe_run *run)
{
    for (size_t i = 0; i < run->n; i++)
        seen->events |= run->timings[i].events;
    seen->retired += run->stats.retired;
    seen->wrong_path += run->stats.wrong_path;
    seen->traps += run->stats.traps;
    seen->forwards += run->stats.forwards;
    seen->queue_stalls += run->stats.queue_stalls;
}

static void run_case(uint64_t number, struct seen *seen)
{
    char text[4000];
    uint64_t seed = number * 0x9e3779b97f4a7c15u + 1;
    struct hp_machine *machine = make_machine(&seed, text, sizeof text);
    struct random_code code;
    struct pipe_feed feed;
    struct pipe_run slow, fast;
    struct pipe_setup setup = {.machine = machine, .queue = -1};
    if (pipe_random(&seed, 3) == 0)
        setup.queue = (int)pipe_random(&seed, 5);
    setup.no_wrong_path = pipe_random(&seed, 5) == 0;
    setup.cut = pipe_random(&seed, 2) ? number + 1 : 0;
    setup.blocks = pipe_random(&seed, 2);
    pipe_random_code(&seed, &code);
    pipe_feed_init(&feed, code.code);
    pipe_random_walk(&seed, &code, 1 + pipe_random(&seed, pipe_random(&seed, 20) ? 60 : 1000),
                     setup.queue >= 0, &feed);
    pipe_run_slow(&slow, &feed, &setup);
    pipe_run_fast(&fast, &feed, &setup);
    bool equal = pipe_runs_equal(&slow, &fast, stderr),
         lawful = pipe_run_lawful(&fast, &feed, &setup, stderr);
    if (!equal || !lawful)
        fprintf(stderr, "seed %llu: queue %d%s%s, machine\n%s", (unsigned long long)number,
                setup.queue, setup.no_wrong_path ? ", no wrong path" : "",
                setup.cut ? ", in pieces" : "", text);
    count(seen, &fast);
    pipe_run_fini(&slow);
    pipe_run_fini(&fast);
    pipe_feed_fini(&feed);
    hp_code_free(code.code);
    hp_machine_free(machine);
    assert_true(equal && lawful);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *value = getenv(name);
    return value ? strtoull(value, NULL, 10) : otherwise;
}

static void test_random_programs(void **state)
{
    struct seen seen = {0};
    uint64_t first = setting("PIPE_RANDOM_SEED", 1), n = setting("PIPE_RANDOM_COUNT", 2000);
    (void)state;
    for (uint64_t i = first; i < first + n; i++)
        run_case(i, &seen);
    print_message("%llu retired, %llu on wrong paths, %llu traps, %llu forwards, %llu stalls\n",
                  (unsigned long long)seen.retired, (unsigned long long)seen.wrong_path,
                  (unsigned long long)seen.traps, (unsigned long long)seen.forwards,
                  (unsigned long long)seen.queue_stalls);
    if (n < 1000)
        return;
    assert_int_equal(seen.events, (HP_TIMING_QUEUE_STALL << 1) - 1);
    assert_true(seen.traps > n / 10 && seen.forwards > n / 10 && seen.queue_stalls > n / 10);
    assert_true(seen.wrong_path > seen.retired / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
