// SPDX-License-Identifier: MIT
/* Pipeline logs: timings made by hand, and what is written of them, to the letter. */
#include "export/pipeline/log.h"
#include "pipe_fixture.h"

enum { ADD, LOAD, STORE, NOP, JUMP, INSNS };

struct fixture {
    struct piped p;
    struct hp_program *program;
    uint32_t first; /* static id of ADD; the others follow */
    FILE *file;
    char *written;
    size_t size;
    struct hp_profiler *profiler;
    void *thread; /* the one that is logged */
    struct hp_export_written written_of;
};

/*
 * 1000  add rax, rbx; mov rax, [rbx]; mov [rdi], rax; nop; jmp 1000
 */
static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    piped_init(&f->p);
    add_segment(&f->p.s, 1, 0x1000, "48 01 d8 48 8b 03 48 89 07 90 eb f4");
    piped_start(&f->p, PIPE_SMALL, -1);
    f->program = f->p.program;
    uint32_t piece;
    assert_int_equal(hp_program_block(f->program, piped_block(&f->p, 0x1000), &piece), HP_OK);
    assert_int_equal(hp_program_piece(f->program, piece)->n, INSNS);
    f->first = hp_program_piece(f->program, piece)->first;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    if (f->profiler)
        f->profiler->ops->free(f->profiler);
    if (f->file)
        fclose(f->file);
    free(f->written);
    piped_fini(&f->p);
    free(f);
    return 0;
}

static void *start_thread(struct fixture *f, uint32_t id)
{
    struct hp_thread thread = {.id = id};
    void *state;
    assert_int_equal(f->profiler->ops->start_thread(f->profiler, &thread, &state), HP_OK);
    return state;
}

static void begin_in(struct fixture *f, const char *name, FILE *file)
{
    const struct hp_export_format *format;
    assert_int_equal(hp_export_find(name, &format), HP_OK);
    f->file = file;
    struct hp_stream_setup setup = {.out = f->file,
                                    .code = f->p.s.code,
                                    .program = f->program,
                                    .thread = 7,
                                    .written = &f->written_of};
    assert_int_equal(hp_stream_profiler_new(format, &setup, &f->profiler), HP_OK);
    f->thread = start_thread(f, 7);
}

static void begin(struct fixture *f, const char *name)
{
    begin_in(f, name, open_memstream(&f->written, &f->size));
}

static enum hp_err finish(struct fixture *f)
{
    return f->profiler->ops->finish(f->profiler, NULL);
}

/* What became of an instruction: cycles after its fetch. */
static struct hp_timing timing(const struct fixture *f, uint32_t insn, uint64_t fetched,
                               uint32_t mapped, uint32_t ready, uint32_t issued, uint32_t done,
                               uint32_t left)
{
    return (struct hp_timing){.insn = f->first + insn,
                              .fetched = fetched,
                              .mapped = mapped,
                              .ready = ready,
                              .issued = issued,
                              .done = done,
                              .left = left,
                              .producer = HP_NO_ID,
                              .events = HP_TIMING_RETIRED};
}

static void add(struct fixture *f, struct hp_timing t)
{
    uint64_t before = f->written_of.written;
    f->profiler->ops->timings(f->thread, &t, 1);
    assert_int_equal(f->written_of.written, before + 1);
}

static void end(struct fixture *f, const char *expected)
{
    assert_int_equal(finish(f), HP_OK);
    if (strcmp(f->written, expected) != 0)
        print_error("%s", f->written);
    assert_string_equal(f->written, expected);
}

#define N HP_NEVER

/* --- Kanata ----------------------------------------------------------------------------------- */

static void kanata_goes_cycle_by_cycle(void **state)
{
    struct fixture *f = *state;
    begin(f, "kanata");
    struct hp_timing load = timing(f, LOAD, 5, 1, 2, 2, 40, 41);
    load.events |= HP_TIMING_L1D;
    load.data_from = HP_FROM_MEMORY;
    load.address = 0x7000;
    struct hp_timing store = timing(f, STORE, 5, 1, 40, 41, 42, 42);
    store.producer = f->first + LOAD;
    add(f, load);
    add(f, store);
    add(f, timing(f, NOP, 6, 1, N, N, 2, 41));
    end(f, "Kanata\t0004\nC=\t5\n"
           "I\t0\t0\t7\nL\t0\t0\t1003: mov rax, [rbx]\nL\t0\t1\t[anon]+0x1003\\n\n"
           "L\t0\t1\tL1D miss, data from memory\nL\t0\t1\t\\ndata at 0x7000\nS\t0\t0\tF\n"
           "I\t1\t1\t7\nL\t1\t0\t1006: mov [rdi], rax\nL\t1\t1\t[anon]+0x1006\\n\nS\t1\t0\tF\n"
           "C\t1\n"
           "I\t2\t2\t7\nL\t2\t0\t1009: nop\nL\t2\t1\t[anon]+0x1009\\n\nS\t2\t0\tF\n"
           "S\t0\t0\tM\nS\t1\t0\tM\n"
           "C\t1\nS\t0\t0\tX\nS\t1\t0\tQ\nS\t2\t0\tM\n"
           "C\t1\nS\t2\t0\tD\n"
           "C\t37\nS\t0\t0\tD\nS\t1\t0\tR\n"
           "C\t1\nR\t0\t0\t0\nS\t1\t0\tX\nW\t1\t0\t0\n"
           "C\t1\nE\t1\t0\tX\nR\t1\t1\t0\nR\t2\t2\t0\n");
}

static void kanata_flushes_what_is_aborted(void **state)
{
    struct fixture *f = *state;
    begin(f, "kanata");
    add(f, timing(f, JUMP, 0, 1, 2, 2, 3, 3));
    struct hp_timing wrong[] = {timing(f, ADD, 1, N, N, N, N, 2), timing(f, LOAD, 1, 1, N, N, N, 2),
                                timing(f, STORE, 1, 0, 1, 1, N, 2),
                                timing(f, NOP, 2, N, N, N, N, 1)};
    for (size_t i = 0; i < 4; i++) {
        wrong[i].events = HP_TIMING_WRONG_PATH;
        add(f, wrong[i]);
    }
    assert_int_equal(f->written_of.retired, 1);
    assert_int_equal(f->written_of.written, 5);
    assert_int_equal(f->written_of.total, 5);
    assert_int_equal(f->written_of.cycles, 4); /* 0 to 3 */
    assert_int_equal(finish(f), HP_OK);
    /* Nothing is said of what would have come behind their end. */
    const char *last = strstr(f->written, "C\t1\nI\t4");
    assert_non_null(last);
    assert_string_equal(last, "C\t1\nI\t4\t4\t7\nL\t4\t0\t1009: nop\nL\t4\t1\t[anon]+0x1009\\n\n"
                              "L\t4\t1\twrong path\nS\t4\t0\tF\n"
                              "S\t0\t0\tX\nS\t2\t0\tM\nS\t3\t0\tX\n"
                              "C\t1\nE\t0\t0\tX\nR\t0\t0\t0\n"
                              "R\t1\t1\t1\nR\t2\t1\t1\nR\t3\t1\t1\nR\t4\t1\t1\n");
}

static void kanata_shows_what_holds_up_the_map(void **state)
{
    struct fixture *f = *state;
    begin(f, "kanata");
    struct hp_timing t = timing(f, ADD, 10, 9, 10, 10, 11, 11);
    t.events |= HP_TIMING_NO_QUEUE;
    add(f, t);
    assert_int_equal(finish(f), HP_OK);
    assert_non_null(strstr(f->written, "C\t8\nS\t0\t1\tiq\nC\t1\nE\t0\t1\tiq\nS\t0\t0\tM\n"));
}

/* --- Which one it waited for ------------------------------------------------------------------ */

static void producers_are_those_of_the_same_path(void **state)
{
    struct fixture *f = *state;
    begin(f, "kanata");
    struct hp_timing add0 = timing(f, ADD, 0, 1, 2, 2, 60, 60),
                     wrong = timing(f, ADD, 1, 1, 2, 2, N, 3);
    struct hp_timing user = timing(f, LOAD, 2, 1, 58, 58, 60, 60),
                     late = timing(f, STORE, 4, 1, 56, 56, 57, 57);
    wrong.events = HP_TIMING_WRONG_PATH;
    user.events = HP_TIMING_WRONG_PATH;
    user.producer = late.producer = f->first + ADD;
    add(f, add0);
    add(f, wrong);
    add(f, user); /* fetched while the wrong one was there */
    add(f, late); /* and after it had gone */
    assert_int_equal(finish(f), HP_OK);
    assert_non_null(strstr(f->written, "W\t2\t1\t0\n"));
    assert_non_null(strstr(f->written, "W\t3\t0\t0\n"));
}

/* --- O3PipeView ------------------------------------------------------------------------------- */

static void o3_has_seven_lines_an_instruction(void **state)
{
    struct fixture *f = *state;
    begin(f, "o3");
    add(f, timing(f, STORE, 0, 3, 4, 6, 7, 9));
    add(f, timing(f, NOP, 1, 3, N, N, 4, 8));
    struct hp_timing wrong = timing(f, LOAD, 2, 3, 4, N, N, 5);
    wrong.events = HP_TIMING_WRONG_PATH;
    add(f, wrong);
    end(f, "O3PipeView:fetch:1000:0x00001006:0:1:  mov [rdi], rax\nO3PipeView:decode:2000\n"
           "O3PipeView:rename:4000\nO3PipeView:dispatch:5000\nO3PipeView:issue:7000\n"
           "O3PipeView:complete:8000\nO3PipeView:retire:10000:store:10000\n"
           "O3PipeView:fetch:2000:0x00001009:0:2:  nop\nO3PipeView:decode:3000\n"
           "O3PipeView:rename:5000\nO3PipeView:dispatch:6000\nO3PipeView:issue:6000\n"
           "O3PipeView:complete:6000\nO3PipeView:retire:10000:store:0\n"
           "O3PipeView:fetch:3000:0x00001003:0:3:  mov rax, [rbx]\nO3PipeView:decode:4000\n"
           "O3PipeView:rename:6000\nO3PipeView:dispatch:7000\nO3PipeView:issue:0\n"
           "O3PipeView:complete:0\nO3PipeView:retire:0:store:0\n");
}

/* --- The rest --------------------------------------------------------------------------------- */

static void other_threads_are_left_out(void **state)
{
    struct fixture *f = *state;
    begin(f, "o3");
    struct hp_timing t = timing(f, ADD, 0, 1, 2, 2, 3, 3);
    f->profiler->ops->timings(start_thread(f, 3), &t, 1);
    assert_int_equal(f->written_of.total, 1);
    assert_int_equal(f->written_of.written, 0);
    assert_int_equal(f->written_of.cycles, 0);
    end(f, "");
}

static void nonsense_is_refused(void **state)
{
    struct fixture *f = *state;
    struct hp_timing good = timing(f, ADD, 9, 1, 2, 2, 3, 3), early = good, unknown = good,
                     endless = good;
    struct hp_log log = {.setup = {.program = f->program, .written = &f->written_of}};
    struct hp_log_insn insn;
    assert_int_equal(hp_log_next(&log, &good, &insn), HP_OK);
    early.fetched = 8;
    unknown.insn = hp_program_n_insns(f->program);
    endless.left = HP_NEVER;
    assert_int_equal(hp_log_next(&log, &early, &insn), HP_ERR_INVALID);
    assert_int_equal(hp_log_next(&log, &unknown, &insn), HP_ERR_INVALID);
    assert_int_equal(hp_log_next(&log, &endless, &insn), HP_ERR_INVALID);
    /* A producer that was never seen is none. */
    good.producer = 1u << 30;
    assert_int_equal(hp_log_next(&log, &good, &insn), HP_OK);
    assert_true(insn.producer == HP_LOG_NONE);
    hp_log_fini(&log);
}

/* The first failure is told in the end; nothing is written behind it. */
static void a_failure_is_told_in_the_end(void **state)
{
    struct fixture *f = *state;
    begin(f, "kanata");
    struct hp_timing good = timing(f, ADD, 9, 1, 2, 2, 3, 3), endless = good;
    endless.left = HP_NEVER;
    add(f, good);
    f->profiler->ops->timings(f->thread, &endless, 1);
    f->profiler->ops->timings(f->thread, &good, 1);
    assert_int_equal(f->written_of.written, 1);
    assert_int_equal(finish(f), HP_ERR_INVALID);
    assert_non_null(strstr(hp_error_text(), "never left"));
}

static void events_fit_any_room(void **state)
{
    (void)state;
    struct hp_timing t = {.events = UINT32_MAX, .data_from = HP_FROM_L3};
    for (size_t size = 1; size < 500; size++) {
        char *text = malloc(size);
        hp_log_describe(&t, text, size);
        assert_true(strlen(text) < size);
        free(text);
    }
    t = (struct hp_timing){.events = HP_TIMING_RETIRED | HP_TIMING_TAKEN};
    char text[8] = "x";
    hp_log_describe(&t, text, sizeof text);
    assert_string_equal(text, "");
}

static void a_full_disk_is_noticed(void **state)
{
    struct fixture *f = *state;
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        skip();
    begin_in(f, "o3", full);
    add(f, timing(f, ADD, 0, 1, 2, 2, 3, 3));
    assert_int_equal(finish(f), HP_ERR_IO);
}

static void formats_are_found_by_name(void **state)
{
    (void)state;
    const struct hp_export_format *found;
    for (size_t i = 0; hp_export_formats[i]; i++) {
        assert_int_equal(hp_export_find(hp_export_formats[i]->name, &found), HP_OK);
        assert_ptr_equal(found, hp_export_formats[i]);
    }
    assert_int_equal(hp_export_find("none", &found), HP_ERR_INVALID);
    for (size_t i = 0; hp_export_formats[i]; i++)
        assert_non_null(strstr(hp_error_text(), hp_export_formats[i]->name));
    assert_int_equal(hp_export_find(NULL, &found), HP_ERR_INVALID);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(kanata_goes_cycle_by_cycle),
        CASE(kanata_flushes_what_is_aborted),
        CASE(kanata_shows_what_holds_up_the_map),
        CASE(producers_are_those_of_the_same_path),
        CASE(o3_has_seven_lines_an_instruction),
        CASE(other_threads_are_left_out),
        CASE(nonsense_is_refused),
        CASE(a_failure_is_told_in_the_end),
        CASE(events_fit_any_room),
        CASE(a_full_disk_is_noticed),
        CASE(formats_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
