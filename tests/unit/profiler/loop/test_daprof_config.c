// SPDX-License-Identifier: MIT
/* Loop models by name, and how large they are. */
#include "loop_letters.h"

static void presets_are_the_papers(void **state)
{
    (void)state;
    struct hp_loop_config c;
    assert_int_equal(hp_loop_config_parse("daprof", &c), HP_OK);
    assert_int_equal(c.kind, HP_LOOP_DAPROF);
    assert_int_equal(c.entries, 32);
    assert_int_equal(c.ways, 8);
    assert_int_equal(c.max_offset, 1024);
    assert_int_equal(c.fifo, 4);
    assert_int_equal(c.fifo_service, 3);
    assert_int_equal(c.execution_bits, 16);
    assert_int_equal(c.iteration_bits, 10);
    assert_int_equal(c.fraction_bits, 3);
    assert_int_equal(c.freshness, 4);
    assert_false(c.calls || c.first_average || c.exact_average || c.tasks);
    assert_int_equal(hp_loop_config_parse("daprof-16way", &c), HP_OK);
    assert_int_equal(c.ways, 16);
    assert_int_equal(c.freshness, 7);
    assert_int_equal(hp_loop_config_parse("daprof-full", &c), HP_OK);
    assert_int_equal(c.ways, 32);
    assert_int_equal(c.freshness, 7);
    assert_int_equal(hp_loop_config_parse("frequent", &c), HP_OK);
    assert_int_equal(c.kind, HP_LOOP_FREQUENT);
    assert_int_equal(c.entries, 16);
    assert_int_equal(c.ways, 16);
    assert_int_equal(c.max_offset, 256);
    assert_int_equal(c.execution_bits, 16);
    assert_int_equal(c.fifo, 0);
}

static void options_are_read(void **state)
{
    (void)state;
    struct hp_loop_config c;
    assert_int_equal(
        hp_loop_config_parse("daprof,entries=64,ways=16,max-offset=256,fifo=8,fifo-service=5,"
                             "execution-bits=20,iteration-bits=12,ratio=31/32,freshness=3,"
                             "address-bits=48,insn-bytes=1,depth-bits=6,contexts=2,calls,"
                             "first-average,exact-average,tasks",
                             &c),
        HP_OK);
    const struct hp_loop_config expected = {.kind = HP_LOOP_DAPROF,
                                            .entries = 64,
                                            .ways = 16,
                                            .max_offset = 256,
                                            .fifo = 8,
                                            .fifo_service = 5,
                                            .execution_bits = 20,
                                            .iteration_bits = 12,
                                            .fraction_bits = 5,
                                            .freshness = 3,
                                            .address_bits = 48,
                                            .insn_bytes = 1,
                                            .depth_bits = 6,
                                            .contexts = 2,
                                            .calls = true,
                                            .first_average = true,
                                            .exact_average = true,
                                            .tasks = true};
    assert_memory_equal(&c, &expected, sizeof c);
    /* What follows from others. */
    assert_int_equal(hp_loop_config_parse("daprof,ways=4", &c), HP_OK);
    assert_int_equal(c.freshness, 2);
    assert_int_equal(hp_loop_config_parse("daprof,ways=full,entries=64", &c), HP_OK);
    assert_int_equal(c.ways, 64);
    assert_int_equal(hp_loop_config_parse("daprof-full,entries=2", &c), HP_OK);
    assert_int_equal(c.ways, 2);
    assert_int_equal(c.freshness, 1);
    assert_int_equal(hp_loop_config_parse("daprof-full,ways=4", &c), HP_OK);
    assert_int_equal(c.ways, 4);
}

static void mistakes_are_told(void **state)
{
    (void)state;
    const struct {
        const char *text, *message;
    } cases[] = {
        {"", "there is no ''; there are daprof, daprof-16way, daprof-full,"},
        {"dapro", "there is no 'dapro'; there are daprof, daprof-16way, daprof-full,"},
        {"daprofx,calls", "there is no 'daprofx'; there are daprof, daprof-16way, daprof-full,"},
        {"daprof,", "daprof has no setting ''; there are entries, ways, max-offset, fifo,"},
        {"daprof,call", "daprof has no setting 'call'; there are entries, ways, max-offset,"},
        {"daprof,calls=1", "'calls' takes no value"},
        {"daprof,ways", "'ways' needs a value"},
        {"daprof,ways=", "ways: '' is not a number"},
        {"daprof,ways=x", "ways: 'x' is not a number"},
        {"daprof,ways=8x", "ways: '8x' is not a number"},
        {"daprof,ways=-8", "ways: '-8' is not a number"},
        {"daprof,ways= 8", "ways: ' 8' is not a number"},
        {"daprof,entries=99999999999", "entries: 99999999999 is not between 1 and 65536"},
        {"daprof,entries=4294967328", "entries: 4294967328 is not between 1 and 65536"},
        {"daprof,entries=0", "entries: 0 is not between 1 and 65536"},
        {"daprof,ways=64", "32 entries cannot be sets of 64 ways: their number has to be a power"},
        {"daprof,entries=24",
         "24 entries cannot be sets of 8 ways: their number has to be a power"},
        {"daprof,entries=31",
         "31 entries cannot be sets of 8 ways: their number has to be a power"},
        {"daprof,freshness=5", "freshness 5 is more than half of the 8 ways"},
        {"daprof,ways=1,freshness=1", "freshness 1 is more than half of the 1 ways"},
        {"daprof,ratio=7/9", "ratio: '7/9' is none of 1/2, 3/4, 7/8, 15/16, ... 255/256"},
        {"daprof,ratio=0/1", "ratio: '0/1' is none of 1/2, 3/4, 7/8, 15/16, ... 255/256"},
        {"daprof,execution-bits=1", "execution-bits: 1 is not between 2 and 32"},
        {"daprof,iteration-bits=0", "iteration-bits: 0 is not between 1 and 22"},
        {"daprof,fifo-service=0", "fifo-service: 0 is not between 1 and 4096"},
        {"frequent,calls", "frequent has no setting 'calls'; there are entries, ways, max-offset,"},
        {"frequent,ratio=7/8",
         "frequent has no setting 'ratio'; there are entries, ways, max-offset,"},
        {"frequent,freshness=1", "frequent has no setting 'freshness'; there are entries, ways,"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hp_loop_config c = {.entries = 77};
        assert_int_equal(hp_loop_config_parse(cases[i].text, &c), HP_ERR_INVALID);
        if (!strstr(hp_error_text(), cases[i].message) || strchr(hp_error_text(), '\n'))
            fail_msg("%s: %s", cases[i].text, hp_error_text());
        assert_int_equal(c.entries, 77);
    }
    char endless[5000];
    memset(endless, 'x', sizeof endless);
    memcpy(endless, "daprof,", 7);
    endless[sizeof endless - 1] = '\0';
    struct hp_loop_config c;
    assert_int_equal(hp_loop_config_parse(endless, &c), HP_ERR_INVALID);
    assert_true(strlen(hp_error_text()) < 300);
}

/* A configuration that nobody read is checked as well. */
static void impossible_models_are_not_made(void **state)
{
    (void)state;
    struct hp_loop_model *model;
    struct hp_loop_config good, c;
    assert_int_equal(hp_loop_config_parse("daprof", &good), HP_OK);
    assert_int_equal(hp_loop_model_new(&(struct hp_loop_config){0}, &model), HP_ERR_INVALID);
    c = good, c.kind = (enum hp_loop_model_kind)7;
    assert_int_equal(hp_loop_model_new(&c, &model), HP_ERR_INVALID);
    c = good, c.ways = 0;
    assert_int_equal(hp_loop_model_new(&c, &model), HP_ERR_INVALID);
    c = good, c.fraction_bits = 0;
    assert_int_equal(hp_loop_model_new(&c, &model), HP_ERR_INVALID);
    c = good, c.fraction_bits = 40;
    assert_int_equal(hp_loop_model_new(&c, &model), HP_ERR_INVALID);
    c = good, c.freshness = 5;
    assert_int_equal(hp_loop_model_new(&c, &model), HP_ERR_INVALID);
    assert_int_equal(hp_loop_config_parse("frequent", &c), HP_OK);
    c.calls = true;
    assert_int_equal(hp_loop_model_new(&c, &model), HP_ERR_INVALID);
    assert_int_equal(hp_loop_model_new(&good, &model), HP_OK);
    hp_loop_model_free(model);
    hp_loop_model_free(NULL);
}

static void what_is_written_can_be_read(void **state)
{
    (void)state;
    const struct {
        const char *read, *written;
    } cases[] = {
        {"daprof", "daprof"},
        {"daprof,ways=16", "daprof-16way"},
        {"daprof,ways=32", "daprof-full"},
        {"daprof-full,ways=8", "daprof"},
        {"daprof-16way,freshness=4", "daprof-16way,freshness=4"},
        {"daprof,ways=4", "daprof,ways=4"},
        {"daprof-full,entries=64", "daprof-full,entries=64"},
        {"daprof,entries=64,ways=64", "daprof-full,entries=64"},
        {"daprof,tasks,calls,ratio=15/16,fifo=0", "daprof,fifo=0,ratio=15/16,calls,tasks"},
        {"frequent,max-offset=1024", "frequent,max-offset=1024"},
        {"frequent,entries=32", "frequent,entries=32"},
        {"daprof,insn-bytes=1,address-bits=48", "daprof,address-bits=48,insn-bytes=1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hp_loop_config c, again;
        char text[256], shorter[8];
        assert_int_equal(hp_loop_config_parse(cases[i].read, &c), HP_OK);
        hp_loop_config_format(&c, text, sizeof text);
        assert_string_equal(text, cases[i].written);
        assert_int_equal(hp_loop_config_parse(text, &again), HP_OK);
        assert_memory_equal(&c, &again, sizeof c);
        hp_loop_config_format(&c, shorter, sizeof shorter);
        assert_int_equal(strlen(shorter), strlen(text) < 7 ? strlen(text) : 7);
        hp_loop_config_format(&c, NULL, 0);
    }
}

static void bits_are_those_of_the_figure(void **state)
{
    (void)state;
    const struct {
        const char *text;
        uint64_t bits;
    } cases[] = {
        /* Figure 1: tag 30, offset 8, executions 16, current 10, average 13, in loop 1, freshness 3
         */
        {"daprof", 32 * (30 + 8 + 16 + 10 + 13 + 1 + 3) + 4 * (30 + 8)},
        {"daprof-16way", 32 * 81 + 4 * 38},
        {"daprof-full", 32 * 81 + 4 * 38},
        {"daprof,fifo=0", 32 * 81},
        {"daprof,ways=2", 32 * 79 + 4 * 38}, /* freshness 0 and 1 */
        {"daprof,ways=1", 32 * 78 + 4 * 38}, /* none */
        {"daprof,ratio=15/16", 32 * 82 + 4 * 38},
        {"daprof,iteration-bits=12", 32 * 85 + 4 * 38},
        {"daprof,max-offset=256", 32 * 79 + 4 * 36},
        {"daprof,max-offset=1028", 32 * 82 + 4 * 39}, /* offsets up to 256 instructions */
        /* x86-64: tag 48, offset 10 */
        {"daprof,address-bits=48,insn-bytes=1", 32 * (48 + 10 + 43) + 4 * 58},
        {"daprof,first-average,tasks", 32 * 81 + 4 * 38},
        /* entries have the depth, branches that wait two; a context has 5 bits for the entry, 10
           and 8 */
        {"daprof,calls", 32 * (81 + 8) + 4 * (38 + 16) + 8 * (5 + 10 + 8) + 64},
        {"daprof,calls,contexts=0,depth-bits=4", 32 * (81 + 4) + 4 * (38 + 8) + 64},
        {"frequent", 16 * (30 + 16)},
        {"frequent,fifo=4,execution-bits=24", 16 * (30 + 24) + 4 * 30},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hp_loop_config c;
        assert_int_equal(hp_loop_config_parse(cases[i].text, &c), HP_OK);
        if (hp_loop_config_bits(&c) != cases[i].bits)
            fail_msg("%s: %d bits", cases[i].text, (int)hp_loop_config_bits(&c));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_are_the_papers),
        cmocka_unit_test(options_are_read),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(impossible_models_are_not_made),
        cmocka_unit_test(what_is_written_can_be_read),
        cmocka_unit_test(bits_are_those_of_the_figure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
