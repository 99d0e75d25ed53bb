// SPDX-License-Identifier: MIT
/* Traces and vectors for simulators, of code made by hand; coverage and phases, of a profile made
 * by hand. What is written, to the letter. */
#include "export/export.h"
#include "report_fixture.h"
#include "stream_fixture.h"

/* --- Of a stream ------------------------------------------------------------------------------ */

struct fixture {
    struct stream s;
    struct hp_profiler *profiler;
    struct hp_export_written written;
    FILE *out, *second;
    char *text, *second_text;
    size_t size, second_size;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    stream_init(&f->s);
    f->out = open_memstream(&f->text, &f->size);
    f->second = open_memstream(&f->second_text, &f->second_size);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    stream_fini(&f->s);
    fclose(f->out);
    fclose(f->second);
    free(f->text);
    free(f->second_text);
    free(f);
    return 0;
}

/* The stream's thread has the number 0. */
static void begin(struct fixture *f, const char *name, uint32_t thread, uint64_t interval)
{
    const struct hp_export_format *format;
    assert_int_equal(hp_export_find(name, &format), HP_OK);
    struct hp_stream_setup setup = {.out = f->out,
                                    .second = f->second,
                                    .code = f->s.code,
                                    .thread = thread,
                                    .interval = interval,
                                    .written = &f->written};
    assert_int_equal(hp_stream_profiler_new(format, &setup, &f->profiler), HP_OK);
    recorder_add(&f->s.recorder, f->profiler);
}

static void end(struct fixture *f)
{
    assert_int_equal(hp_cursor_end(f->s.cursor, HP_END_EXIT), HP_OK);
    assert_int_equal(f->profiler->ops->finish(f->profiler, NULL), HP_OK);
    fflush(f->out);
    fflush(f->second);
}

/* --- ChampSim --------------------------------------------------------------------------------- */

/* As ChampSim declares it. */
struct input_instr {
    unsigned long long ip;
    unsigned char is_branch, branch_taken, destination_registers[2], source_registers[4];
    unsigned long long destination_memory[2], source_memory[4];
};

static bool has(const unsigned char *registers, size_t n, unsigned char number)
{
    return memchr(registers, number, n) != NULL;
}

/* What ChampSim takes an instruction for. */
static const char *kind_of(const struct input_instr *i)
{
    bool writes_ip = has(i->destination_registers, 2, 26);
    bool writes_sp = has(i->destination_registers, 2, 6);
    bool reads_sp = has(i->source_registers, 4, 6), reads_flags = has(i->source_registers, 4, 25);
    bool reads_ip = has(i->source_registers, 4, 26), others = false;
    for (size_t k = 0; k < 4; k++) {
        unsigned char number = i->source_registers[k];
        others |= number && number != 6 && number != 25 && number != 26;
    }
    if (!writes_ip)
        return "none";
    if (!reads_sp && !reads_flags && !others)
        return "jump";
    if (!reads_sp && !reads_ip && !reads_flags && others)
        return "indirect jump";
    if (!reads_sp && reads_ip && !writes_sp && (reads_flags || others))
        return "conditional";
    if (reads_sp && reads_ip && writes_sp && !reads_flags)
        return others ? "indirect call" : "call";
    return reads_sp && !reads_ip && writes_sp ? "return" : "other";
}

static const struct input_instr *records(const struct fixture *f, size_t n)
{
    assert_int_equal(f->size, n * sizeof(struct input_instr));
    assert_int_equal(sizeof(struct input_instr), 64);
    return (const void *)f->text;
}

static void champsim_knows_every_branch(void **state)
{
    static const struct {
        const char *code, *kind;
    } cases[] = {
        {"eb 10", "jump"},
        {"e9 00 01 00 00", "jump"},
        {"74 10", "conditional"},
        {"e3 10", "conditional"},             /* jrcxz */
        {"e2 10", "conditional"},             /* loop */
        {"e1 10", "conditional"},             /* loope */
        {"c7 f8 10 00 00 00", "conditional"}, /* xbegin */
        {"e8 10 00 00 00", "call"},
        {"ff d0", "indirect call"},
        {"ff 15 00 01 00 00", "indirect call"}, /* call [rip+0x100] */
        {"ff 54 24 08", "indirect call"},       /* call [rsp+8] */
        {"ff 14 c3", "indirect call"},          /* call [rbx+rax*8] */
        {"ff d4", "indirect call"},             /* call rsp */
        {"ff e0", "indirect jump"},
        {"ff 25 00 01 00 00", "indirect jump"},
        {"ff 64 24 08", "indirect jump"},
        {"ff 24 25 00 10 00 00", "indirect jump"}, /* jmp [0x1000] */
        {"c3", "return"},
        {"c2 08 00", "return"},
        {"f3 c3", "return"},
        {"0f 05", "none"}, /* syscall */
        {"0f 0b", "none"}, /* ud2 */
    };
    const size_t n = sizeof cases / sizeof *cases;
    struct fixture *f = *state;
    const struct hp_insn *insns;
    begin(f, "champsim", 0, 0);
    for (uint32_t i = 0; i < n; i++) {
        add_segment(&f->s, i + 1, 0x1000 + 0x1000 * i, cases[i].code);
        uint32_t id = hp_code_n_blocks(f->s.code) - 1;
        const struct hp_block *block = hp_code_block(f->s.code, id);
        assert_int_equal(hp_code_insns(f->s.code, id, &insns), HP_OK);
        const struct hp_event tail = {
            .kind = HP_EVENT_TAIL, .block = id, .insns = block->insns, .exact = true};
        f->profiler->ops->event(f->s.recorder.states[1], &tail);
    }
    end(f);
    const struct input_instr *all = records(f, n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(kind_of(&all[i]), cases[i].kind) != 0)
            print_error("%s: %s\n", cases[i].code, kind_of(&all[i]));
        assert_string_equal(kind_of(&all[i]), cases[i].kind);
        assert_int_equal(all[i].ip, 0x1000 + 0x1000 * i);
        assert_int_equal(all[i].is_branch, strcmp(cases[i].kind, "none") != 0);
    }
    assert_non_null(strstr(f->written.detail, "without the addresses"));
}

static void champsim_has_registers_and_addresses(void **state)
{
    struct fixture *f = *state;
    /* 1000  mov rax, [rbx+rcx]; add [rdi], rsi; movsq; mul r8; paddd xmm1, xmm9; je 1000 */
    add_segment(&f->s, 1, 0x1000, "48 8b 04 0b 48 01 37 48 a5 49 f7 e0 66 41 0f fe c9 74 ed");
    add_segment(&f->s, 2, 0x1013, "0f 05");
    assert_int_equal(hp_cursor_expect_addresses(f->s.cursor), HP_OK);
    begin(f, "champsim", 0, 0);
    FEED(&f->s, 1, 1, 2);
    const uint64_t addresses[] = {0x7000, 0x8000, 0x9000, 0xa000, 0x7008, 0x8008, 0x9008, 0xa008};
    assert_int_equal(hp_cursor_feed_addresses(f->s.cursor, addresses, 8), HP_OK);
    end(f);
    const struct input_instr *r = records(f, 13);
    const struct input_instr expected[] = {
        {0x1000, 0, 0, {10}, {9, 7}, {0}, {0x7000}},
        {0x1004, 0, 0, {25}, {4, 3}, {0x8000}, {0x8000}},
        {0x1007, 0, 0, {4, 3}, {4, 3, 25}, {0xa000}, {0x9000}},
        {0x1009, 0, 0, {10, 8}, {10, 11}, {0}, {0}}, /* the flags have no room */
        {0x100c, 0, 0, {65}, {65, 73}, {0}, {0}},
        {0x1011, 1, 1, {26}, {26, 25}, {0}, {0}},
    };
    for (size_t i = 0; i < 6; i++) {
        assert_memory_equal(&r[i], &expected[i], 16);
        assert_memory_equal(&r[i], &expected[i], sizeof *r);
    }
    assert_int_equal(r[6].source_memory[0], 0x7008);
    assert_int_equal(r[8].destination_memory[0], 0xa008);
    assert_int_equal(r[11].branch_taken, 0);
    assert_int_equal(r[12].ip, 0x1013);
    assert_int_equal(f->written.written, 13);
    assert_int_equal(f->written.total, 13);
    assert_string_equal(f->written.detail, "");
}

static void champsim_is_of_one_thread(void **state)
{
    struct fixture *f = *state;
    add_segment(&f->s, 1, 0x1000, "90 90 eb fc");
    begin(f, "champsim", 5, 0);
    FEED(&f->s, 1, 1, 1);
    end(f);
    assert_int_equal(f->size, 0);
    assert_int_equal(f->written.written, 0);
    assert_int_equal(f->written.total, 9);
}

static void champsim_is_of_x86(void **state)
{
    struct fixture *f = *state;
    struct hp_code *code;
    struct hp_profiler *profiler;
    const struct hp_export_format *format;
    assert_int_equal(hp_export_find("champsim", &format), HP_OK);
    assert_int_equal(hp_code_new(HP_ARCH_AARCH64, &code), HP_OK);
    struct hp_stream_setup setup = {.out = f->out, .code = code, .written = &f->written};
    assert_int_equal(hp_stream_profiler_new(format, &setup, &profiler), HP_ERR_UNSUPPORTED);
    assert_non_null(strstr(hp_error_text(), "aarch64"));
    hp_code_free(code);
}

/* --- SimPoint --------------------------------------------------------------------------------- */

static void run_times(struct fixture *f, uint32_t word, size_t n)
{
    for (size_t i = 0; i < n; i++)
        feed(&f->s, &word, 1);
}

static void simpoint_cuts_behind_blocks(void **state)
{
    struct fixture *f = *state;
    add_segment(&f->s, 1, 0x1000, "90 90 74 fc");       /* 3 instructions, to itself or on */
    add_segment(&f->s, 2, 0x1004, "90 90 90 90 eb f6"); /* 5, back to the first */
    begin(f, "simpoint", 0, 5000);
    run_times(f, 1, 1667); /* 5001: the first interval, with one too many */
    run_times(f, 2, 1);
    run_times(f, 1, 1665); /* 10001 */
    run_times(f, 2, 1);
    run_times(f, 1, 4);
    end(f);
    assert_string_equal(f->text, "T:1:5001 \nT:1:4995 :2:5 \nT:1:12 :2:5 \n");
    assert_string_equal(f->second_text,
                        "F:1:1000:\t[anon]+0x1000\t3\nF:2:1004:\t[anon]+0x1004\t5\n");
    assert_int_equal(f->written.written, 10018);
    assert_string_equal(f->written.detail,
                        "3 intervals, 2 blocks; the last interval has 17 instructions");
}

static void simpoint_ends_where_the_run_ends(void **state)
{
    struct fixture *f = *state;
    add_segment(&f->s, 1, 0x1000, "90 90 90 90 90 90 90 eb f7");
    begin(f, "simpoint", HP_STREAM_ALL, 4096);
    run_times(f, 1, 1024);
    end(f);
    assert_string_equal(f->text, "T:1:4096 \nT:1:4096 \n");
    assert_string_equal(f->written.detail, "2 intervals, 1 blocks");
}

static void simpoint_needs_room_for_a_block(void **state)
{
    struct fixture *f = *state;
    struct hp_profiler *profiler;
    const struct hp_export_format *format;
    assert_int_equal(hp_export_find("simpoint", &format), HP_OK);
    struct hp_stream_setup setup = {
        .out = f->out, .code = f->s.code, .interval = 4095, .written = &f->written};
    assert_int_equal(hp_stream_profiler_new(format, &setup, &profiler), HP_ERR_INVALID);
    assert_non_null(strstr(hp_error_text(), "4096"));
}

static void a_full_disk_is_noticed(void **state)
{
    static const char *const names[] = {"champsim", "simpoint"};
    struct fixture *f = *state;
    FILE *full = fopen("/dev/full", "w"), *out = f->out;
    if (!full)
        skip();
    add_segment(&f->s, 1, 0x1000, "90 90 eb fc");
    f->out = full;
    struct hp_profiler *profilers[2];
    for (size_t i = 0; i < 2; i++) {
        begin(f, names[i], 0, 0);
        profilers[i] = f->profiler;
    }
    run_times(f, 1, 10000);
    assert_int_equal(hp_cursor_end(f->s.cursor, HP_END_EXIT), HP_OK);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(profilers[i]->ops->finish(profilers[i], NULL), HP_ERR_IO);
    fclose(full);
    f->out = out;
}

/* --- Of a profile ----------------------------------------------------------------------------- */

struct output {
    char *text;
    size_t size;
    struct hp_export_written written;
};

static enum hp_err write_profile(const struct hp_profile *profile, const char *name,
                                 const struct hp_export_request *request, struct output *o)
{
    const struct hp_export_format *format;
    free(o->text);
    *o = (struct output){0};
    assert_int_equal(hp_export_find(name, &format), HP_OK);
    FILE *out = open_memstream(&o->text, &o->size);
    struct hp_export_request full = *request;
    full.profile = profile;
    full.out = out;
    enum hp_err err = format->write(&full);
    o->written = full.written;
    fclose(out);
    return err;
}

static const struct hp_export_request anything;

static void expect_bytes(const struct output *o, const char *head, const char *blocks, size_t n)
{
    size_t length = strlen(head);
    assert_int_equal(o->size, length + n);
    assert_memory_equal(o->text, head, length);
    assert_memory_equal(o->text + length, blocks, n);
}

static void drcov_has_modules_and_blocks(void **state)
{
    (void)state;
    struct hp_profile p = fixture_profile();
    struct output o = {0};
    assert_int_equal(write_profile(&p, "drcov", &anything, &o), HP_OK);
    expect_bytes(&o,
                 "DRCOV VERSION: 2\nDRCOV FLAVOR: drcov-64\nModule Table: version 2, count 2\n"
                 "Columns: id, base, end, entry, path\n"
                 "  0, 0x0000000000400000, 0x0000000000403000, 0x0000000000000000, /opt/demo\n"
                 "  1, 0x0000000000404000, 0x0000000000405000, 0x0000000000000000, "
                 "/usr/lib/libx.so\nBB Table: 5 bbs\n",
                 "\0\x10\0\0\x10\0\0\0\x10\x10\0\0\x10\0\0\0\x16\x10\0\0\x0a\0\0\0"
                 "\0\x20\0\0\x20\0\0\0\0\x05\0\0\x09\0\x01\0",
                 40);
    assert_int_equal(o.written.written, 5);
    assert_string_equal(o.written.missing, "");
    assert_int_equal(
        write_profile(&p, "drcov", &(struct hp_export_request){.module = "libx.so"}, &o), HP_OK);
    expect_bytes(&o,
                 "DRCOV VERSION: 2\nDRCOV FLAVOR: drcov-64\nModule Table: version 2, count 1\n"
                 "Columns: id, base, end, entry, path\n"
                 "  0, 0x0000000000400000, 0x0000000000401000, 0x0000000000000000, "
                 "/usr/lib/libx.so\nBB Table: 1 bbs\n",
                 "\0\x05\0\0\x09\0\0\0", 8);
    assert_int_equal(o.written.total, 5);
    assert_string_equal(o.written.missing, "in other modules");
    assert_int_equal(write_profile(&p, "blocks-text", &anything, &o), HP_OK);
    assert_string_equal(o.text, "demo+1000\ndemo+1010\ndemo+1016\ndemo+2000\nlibx.so+500\n");
    free(o.text);
}

static void drcov_keeps_its_lines(void **state)
{
    (void)state;
    struct hp_profile p = fixture_profile();
    struct hp_pmodule modules[] = {{"/a, b,, \n/x\n1, y\xff", ""}, {"", ""}};
    struct output o = {0};
    p.modules = modules;
    assert_int_equal(write_profile(&p, "drcov", &anything, &o), HP_OK);
    assert_non_null(strstr(o.text, "0000, /a,_b,,_?/x?1,_y\xef\xbf\xbd\n  1, 0x"));
    assert_int_equal(write_profile(&p, "blocks-text", &anything, &o), HP_OK);
    assert_int_equal(strncmp(o.text, "x?1, y\xef\xbf\xbd+1000\n", 15), 0);
    free(o.text);
}

static void drcov_leaves_out_what_it_cannot_say(void **state)
{
    (void)state;
    struct hp_profile p = fixture_profile();
    struct hp_pblock blocks[5];
    struct output o = {0};
    memcpy(blocks, p.blocks, sizeof blocks);
    blocks[3].place.offset = UINT64_C(1) << 32;
    blocks[4].size = 65536;
    p.blocks = blocks;
    assert_int_equal(write_profile(&p, "drcov", &anything, &o), HP_OK);
    assert_int_equal(o.written.written, 3);
    assert_int_equal(o.written.total, 5);
    assert_non_null(strstr(o.text, "BB Table: 3 bbs\n"));
    assert_string_equal(o.written.missing, "too large for the format");
    free(o.text);
}

static void formats_refuse_what_they_cannot_do(void **state)
{
    (void)state;
    static const char *const names[] = {"drcov", "blocks-text", "chrome"};
    struct hp_profile p = fixture_profile();
    struct output o = {0};
    fixture_add_loops(&p);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(write_profile(&p, names[i], &(struct hp_export_request){.table = "t"}, &o),
                         HP_ERR_INVALID);
        assert_non_null(strstr(hp_error_text(), "--table"));
        assert_int_equal(
            write_profile(&p, names[i], &(struct hp_export_request){.module = "none"}, &o),
            HP_ERR_INVALID);
    }
    struct hp_profile empty = {.run = p.run};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(write_profile(&empty, names[i], &anything, &o), HP_ERR_INVALID);
        assert_non_null(strstr(hp_error_text(), "record it with --profile exact"));
        assert_int_equal(o.size, 0);
    }
    free(o.text);
}

/* --- Phases ----------------------------------------------------------------------------------- */

/* Slices of 100 instructions: hot spot 0 in 2, 3, 8 and 9, hot spot 1 in 6 and 7. */
static void chrome_has_phases_and_shares(void **state)
{
    (void)state;
    struct hp_profile p = fixture_profile();
    struct hp_pwindow windows[] = {{1, 50, 20, 30}};
    struct output o = {0};
    fixture_add_loops(&p);
    p.windows = windows;
    p.n_windows = 1;
    assert_int_equal(write_profile(&p, "chrome", &anything, &o), HP_OK);
#define SHARE(name, at, percent)                                                                   \
    "  {\"ph\":\"C\",\"name\":\"" name "\",\"pid\":1,\"tid\":0,\"ts\":" at                         \
    ",\"args\":{\"percent\":" percent "}},\n"
    assert_string_equal(
        o.text,
        "{\n \"displayTimeUnit\": \"ns\",\n \"otherData\": {\n"
        "  \"time\": \"instructions: one is shown as one nanosecond\",\n"
        "  \"program\": \"./demo\",\n  \"version\": \"0.1.0\"\n },\n \"traceEvents\": [\n"
        "  {\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,\"ts\":0.000,"
        "\"args\":{\"name\":\"hot spots, merten\"}},\n"
        "  {\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":100,\"ts\":0.000,"
        "\"args\":{\"name\":\"phases of process 100\"}},\n"
        "  {\"ph\":\"i\",\"name\":\"detected\",\"pid\":1,\"tid\":100,\"ts\":0.200,\"s\":\"t\","
        "\"cat\":\"detection\",\"args\":{\"hot spot\":\"#0 helper\",\"branches\":40,"
        "\"static instructions\":10,\"instructions since\":250}},\n"
        /* clang-format off */
        SHARE("#0 helper", "0.200", "50.000")
        SHARE("#0 helper", "0.300", "100.000")
        SHARE("#0 helper", "0.400", "0.000")
        SHARE("#0 helper", "0.800", "99.000")
        SHARE("#0 helper", "0.900", "1.000")
        SHARE("#0 helper", "1.000", "0.000")
        /* clang-format on */
        "  {\"ph\":\"i\",\"name\":\"detected\",\"pid\":1,\"tid\":100,\"ts\":0.600,\"s\":\"t\","
        "\"cat\":\"detection\",\"args\":{\"hot spot\":\"#1 work, helper\",\"branches\":120,"
        "\"static instructions\":14,\"instructions since\":500}},\n"
        /* clang-format off */
        SHARE("#1 work, helper", "0.600", "70.000")
        SHARE("#1 work, helper", "0.700", "30.000")
        SHARE("#1 work, helper", "0.800", "0.000")
        /* clang-format on */
        "  {\"ph\":\"X\",\"name\":\"#0 helper\",\"pid\":1,\"tid\":100,\"ts\":0.200,\"dur\":0.200,"
        "\"cat\":\"phase\",\"args\":{\"hot spot\":0,\"instructions in it\":150,\"percent\":75.0,"
        "\"functions\":[\"helper\"]}},\n"
        "  {\"ph\":\"X\",\"name\":\"#1 work, helper\",\"pid\":1,\"tid\":100,\"ts\":0.600,"
        "\"dur\":0.100,\"cat\":\"phase\",\"args\":{\"hot spot\":1,\"instructions in it\":70,"
        "\"percent\":70.0,\"functions\":[\"work\",\"helper\"]}},\n"
        "  {\"ph\":\"X\",\"name\":\"#0 helper\",\"pid\":1,\"tid\":100,\"ts\":0.800,\"dur\":0.100,"
        "\"cat\":\"phase\",\"args\":{\"hot spot\":0,\"instructions in it\":99,\"percent\":99.0,"
        "\"functions\":[\"helper\"]}},\n"
        "  {\"ph\":\"M\",\"name\":\"process_name\",\"pid\":2,\"tid\":0,\"ts\":0.000,\"args\":"
        "{\"name\":\"cycles, by the instructions of each thread\"}},\n"
        "  {\"ph\":\"C\",\"name\":\"CPI, thread 101\",\"pid\":2,\"tid\":0,\"ts\":0.050,\"args\":"
        "{\"cpi\":1.500}}\n"
        " ]\n}\n");
    assert_int_equal(o.written.written, 7);
    assert_int_equal(o.written.total, 7);
    assert_string_equal(o.written.detail, "3 phases of 2 hot spots");
    free(o.text);
}

/* Of two hot spots in a slice the heavier is its phase; runs and processes have tracks of their
 * own; the last slice ends with the run. */
static void chrome_tells_tracks_apart(void **state)
{
    (void)state;
    struct hp_profile p = fixture_profile();
    struct hp_photspot hotspots[] = {{.detector = "dense", .pid = 7, .number = 0},
                                     {.detector = "dense", .pid = 7, .number = 1},
                                     {.detector = "dense", .pid = -8, .number = 2},
                                     {.detector = "dense", .run = 1, .pid = 7}};
    struct hp_photspot_slice slices[] = {
        {0, 0, 600, 400}, {1, 0, 600, 500}, {1, 1, 600, 400}, {2, 1, 600, 400}, {3, 1, 600, 600}};
    struct output o = {0};
    p.hotspots = hotspots;
    p.n_hotspots = 4;
    p.hotspot_slices = slices;
    p.n_hotspot_slices = 5;
    assert_int_equal(write_profile(&p, "chrome", &anything, &o), HP_OK);
    const char *tracks[] = {"\"pid\":1,\"tid\":7,\"ts\":0.000,\"dur\":1.000,",
                            "\"pid\":1,\"tid\":-8,\"ts\":0.600,\"dur\":0.400,",
                            "\"pid\":2,\"tid\":7,\"ts\":0.600,\"dur\":0.400,"};
    for (size_t i = 0; i < 3; i++)
        assert_non_null(strstr(o.text, tracks[i]));
    assert_null(strstr(o.text, "{\"ph\":\"X\",\"name\":\"#0\",\"pid\":1"));
    free(o.text);
}

static void chrome_names_are_harmless(void **state)
{
    (void)state;
    struct hp_profile p = fixture_profile();
    struct hp_pfunction functions[4];
    struct output o = {0};
    char *name = malloc(10001);
    memset(name, 'x', 10000);
    memcpy(name, "</script>\"\n\\\xff", 13);
    name[10000] = 0;
    memcpy(functions, p.functions, sizeof functions);
    functions[2].name = name;
    p.functions = functions;
    fixture_add_loops(&p);
    assert_int_equal(write_profile(&p, "chrome", &anything, &o), HP_OK);
    assert_non_null(strstr(o.text, "\"name\":\"#0 </script>\\\"?\\\\\xef\xbf\xbdxxx"));
    assert_non_null(strstr(o.text, "\"functions\":[\"</script>\\\"\\n\\\\\xef\xbf\xbdxxx"));
    free(o.text);
    free(name);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(champsim_knows_every_branch),
        CASE(champsim_has_registers_and_addresses),
        CASE(champsim_is_of_one_thread),
        CASE(champsim_is_of_x86),
        CASE(simpoint_cuts_behind_blocks),
        CASE(simpoint_ends_where_the_run_ends),
        CASE(simpoint_needs_room_for_a_block),
        CASE(a_full_disk_is_noticed),
        cmocka_unit_test(drcov_has_modules_and_blocks),
        cmocka_unit_test(drcov_keeps_its_lines),
        cmocka_unit_test(drcov_leaves_out_what_it_cannot_say),
        cmocka_unit_test(formats_refuse_what_they_cannot_do),
        cmocka_unit_test(chrome_has_phases_and_shares),
        cmocka_unit_test(chrome_tells_tracks_apart),
        cmocka_unit_test(chrome_names_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
