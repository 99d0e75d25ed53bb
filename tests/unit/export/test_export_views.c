// SPDX-License-Identifier: MIT
/* Formats for viewers: a profile made by hand, and what is written of it. Their own readers are in
 * tests/e2e/test_export_views.py. */
#include "report_fixture.h"

#include "export/export.h"

#include <zlib.h>

static struct hp_pcontext fixture_contexts[] = {{HP_PROFILE_NONE, 0}, {0, 1}, {0, 2}};
static struct hp_pcontext_count fixture_context_counts[] = {
    {0, 0, 404, 6}, {0, 1, 256, 4}, {1, 0, 40, 5}, {2, 0, 180, 60}, {2, 1, 120, 40}};

/* In the order of a normal profile: nobody is last. */
static struct hp_pcall sorted_calls[] = {{0, 1}, {0, 2}, {HP_PROFILE_NONE, 0}};
static struct hp_pcall_count sorted_call_counts[] = {
    {0, 0, 5, 40}, {1, 0, 60, 180}, {1, 1, 40, 120}, {2, 0, 6, 624}, {2, 1, 4, 376}};

/* Beside the fixture's: who calls helper, at two places. */
static struct hp_pedge sorted_edges[] = {
    {{0, 0x100e}, {0, 0x1010}, HP_FLOW_JUMP, 1},
    {{0, 0x100e}, {1, 0x500}, HP_FLOW_CALL, 1},
    {{0, 0x101e}, {0, 0x1010}, HP_FLOW_COND, 1},
    {{0, 0x101e}, {0, 0x1020}, HP_FLOW_COND, 0},
    {{0, 0x101e}, {1, 0x500}, HP_FLOW_CALL_IND, 1},
    {{0, 0x201f}, {HP_PROFILE_NONE, 0}, HP_FLOW_RETURN, 1},
    {{1, 0x508}, {0, 0x1030}, HP_FLOW_RETURN, 1},
};
static struct hp_pcount sorted_edge_counts[] = {{0, 0, 10}, {1, 0, 20}, {1, 1, 4}, {2, 0, 95},
                                                {3, 0, 10}, {4, 0, 48}, {5, 0, 5}, {6, 0, 100}};

static struct hp_profile profile_with_calls(void)
{
    struct hp_profile p = fixture_profile();
    p.calls = sorted_calls;
    p.call_counts = sorted_call_counts;
    p.edges = sorted_edges;
    p.edge_counts = sorted_edge_counts;
    p.n_edges = sizeof sorted_edges / sizeof *sorted_edges;
    p.n_edge_counts = sizeof sorted_edge_counts / sizeof *sorted_edge_counts;
    return p;
}

static struct hp_profile profile_with_contexts(void)
{
    struct hp_profile p = fixture_profile();
    FIXTURE_SET(p, contexts);
    FIXTURE_SET(p, context_counts);
    return p;
}

/* What a format makes of a profile; free() it. */
static char *export(const char *name, const struct hp_profile *p, size_t *size,
                    struct hp_export_written *written)
{
    const struct hp_export_format *format;
    char *text = NULL;
    assert_int_equal(hp_export_find(name, &format), HP_OK);
    struct hp_export_request request = {.profile = p, .out = open_memstream(&text, size)};
    assert_int_equal(format->write(&request), HP_OK);
    *written = request.written;
    fclose(request.out);
    return text;
}

static void assert_export(const char *name, const struct hp_profile *p, const char *expected)
{
    struct hp_export_written written;
    size_t size;
    char *text = export(name, p, &size, &written);
    assert_string_equal(text, expected);
    assert_string_equal(written.unit, "instructions");
    assert_int_equal(written.written, 1000);
    assert_int_equal(written.total, 1000);
    assert_string_equal(written.missing, "");
    free(text);
}

static void assert_refused(const char *name, const struct hp_profile *p,
                           struct hp_export_request request, const char *why)
{
    const struct hp_export_format *format;
    char *text = NULL;
    size_t size;
    assert_int_equal(hp_export_find(name, &format), HP_OK);
    request.profile = p;
    request.out = open_memstream(&text, &size);
    assert_int_equal(format->write(&request), HP_ERR_INVALID);
    assert_non_null(strstr(hp_error_text(), why));
    fclose(request.out);
    assert_int_equal(size, 0);
    free(text);
}

/* --- Callgrind -------------------------------------------------------------------------------- */

static void callgrind_has_lines_jumps_and_calls(void **state)
{
    (void)state;
    struct hp_profile p = profile_with_calls();
    assert_export("callgrind", &p,
                  "# callgrind format\n"
                  "version: 1\n"
                  "creator: hotpath-" HP_VERSION "\n"
                  "pid: 100\n"
                  "cmd: ./demo two words it's\n"
                  "part: 1\n"
                  "\n"
                  "desc: Trigger: end of the run\n"
                  "positions: instr line\n"
                  "event: Ir : Instructions\n"
                  "event: Bc : Conditional branches\n"
                  "event: Bi : Computed jumps and calls, returns\n"
                  "event: Taken : Jumps, calls, returns and conditional branches that were taken\n"
                  "events: Ir Bc Bi Taken\n"
                  "summary: 1000 105 105 282\n"
                  "\n"
                  "ob=(1) /opt/demo\n"
                  "fl=(1) /src/demo.c\n"
                  "fn=(1) work\n"
                  "cob=(1)\n"
                  "cfi=(2) ???\n"
                  "cfn=(2) demo+0x2000\n"
                  "calls=5 0x2000 0\n"
                  "0x1000 10 40\n"
                  "0x1000 11 40\n"
                  "0x100e 11 0 0 0 34\n"
                  "jump=10 0x1010 12\n"
                  "0x100e 11\n"
                  "cob=(2) /usr/lib/libx.so\n"
                  "cfi=(2)\n"
                  "cfn=(3) helper\n"
                  "calls=33 0x500 0\n"
                  "0x100e 11 100\n"
                  "0x1010 12 200\n"
                  "0x1016 13 420\n"
                  "0x101e 13 0 105 0 143\n"
                  "jcnd=95/105 0x1010 12\n"
                  "0x101e 13\n"
                  "cob=(2)\n"
                  "cfi=(2)\n"
                  "cfn=(3)\n"
                  "calls=67 0x500 0\n"
                  "0x101e 13 200\n"
                  "\n"
                  "ob=(1)\n"
                  "fl=(2)\n"
                  "fn=(2)\n"
                  "0x2000 0 40\n"
                  "0x201f 0 0 0 5 5\n"
                  "\n"
                  "ob=(2)\n"
                  "fl=(2)\n"
                  "fn=(3)\n"
                  "0x500 0 300\n"
                  "0x508 0 0 0 100 100\n"
                  "\n"
                  "totals: 1000 105 105 282\n");
}

static void callgrind_has_columns_of_the_machine(void **state)
{
    (void)state;
    struct hp_profile p = profile_with_calls();
    fixture_add_insns(&p);
    assert_export("callgrind", &p,
                  "# callgrind format\n"
                  "version: 1\n"
                  "creator: hotpath-" HP_VERSION "\n"
                  "pid: 100\n"
                  "cmd: ./demo two words it's\n"
                  "part: 1\n"
                  "\n"
                  "desc: Trigger: end of the run\n"
                  "positions: instr line\n"
                  "event: Ir : Instructions\n"
                  "event: Bc : Conditional branches\n"
                  "event: Bi : Computed jumps and calls, returns\n"
                  "event: Taken : Jumps, calls, returns and conditional branches that were taken\n"
                  "event: Bcm : Conditional branches, mispredicted\n"
                  "event: Bim : Other branches, mispredicted\n"
                  "event: I1m : L1 instruction misses\n"
                  "event: D1m : L1 data misses\n"
                  "event: L2m : L2 data misses\n"
                  "event: ITLBm : Instruction TLB misses\n"
                  "event: DTLBm : Data TLB misses\n"
                  "event: Cycles : Cycles of the machine\n"
                  "events: Ir Bc Bi Taken Bcm Bim I1m D1m L2m ITLBm DTLBm Cycles\n"
                  "summary: 1000 105 105 282 31 0 0 30 20 0 0 1000\n"
                  "\n"
                  "ob=(1) /opt/demo\n"
                  "fl=(1) /src/demo.c\n"
                  "fn=(1) work\n"
                  "cob=(1)\n"
                  "cfi=(2) ???\n"
                  "cfn=(2) demo+0x2000\n"
                  "calls=5 0x2000 0\n"
                  "0x1000 10 40\n"
                  "0x1000 11 40\n"
                  "0x100e 11 0 0 0 34\n"
                  "jump=10 0x1010 12\n"
                  "0x100e 11\n"
                  "cob=(2) /usr/lib/libx.so\n"
                  "cfi=(2)\n"
                  "cfn=(3) helper\n"
                  "calls=33 0x500 0\n"
                  "0x100e 11 100\n"
                  "0x1010 12 200 0 0 0 0 0 0 30 20 0 0 400\n"
                  "0x1013 13 0 0 0 0 0 0 0 0 0 0 0 50\n"
                  "0x1016 13 420\n"
                  "0x101e 13 0 105 0 143 31 0 0 0 0 0 0 350\n"
                  "jcnd=95/105 0x1010 12\n"
                  "0x101e 13\n"
                  "cob=(2)\n"
                  "cfi=(2)\n"
                  "cfn=(3)\n"
                  "calls=67 0x500 0\n"
                  "0x101e 13 200\n"
                  "\n"
                  "ob=(1)\n"
                  "fl=(2)\n"
                  "fn=(2)\n"
                  "0x2000 0 40\n"
                  "0x201f 0 0 0 5 5\n"
                  "\n"
                  "ob=(2)\n"
                  "fl=(2)\n"
                  "fn=(3)\n"
                  "0x500 0 300 0 0 0 0 0 0 0 0 0 0 200\n"
                  "0x508 0 0 0 100 100\n"
                  "\n"
                  "totals: 1000 105 105 282 31 0 0 30 20 0 0 1000\n");
}

/* --- Stacks ----------------------------------------------------------------------------------- */

static void folded_sums_threads(void **state)
{
    (void)state;
    struct hp_profile p = profile_with_contexts();
    assert_export("folded", &p,
                  "work 660\n"
                  "work;demo+0x2000 40\n"
                  "work;helper 300\n");
}

static void folded_names_cannot_break_lines(void **state)
{
    (void)state;
    struct hp_profile p = profile_with_contexts();
    struct hp_pfunction functions[] = {fixture_functions[0], fixture_functions[1],
                                       fixture_functions[2]};
    functions[0].name = "a;b\nc 7\x1b[0m";
    functions[2].name = "\xff\xfe";
    p.functions = functions;
    p.n_functions = 3;
    assert_export("folded", &p,
                  "a:b?c 7?[0m 660\n"
                  "a:b?c 7?[0m;demo+0x2000 40\n"
                  "a:b?c 7?[0m;\xef\xbf\xbd\xef\xbf\xbd 300\n");
}

static void speedscope_opens_and_closes_every_context(void **state)
{
    (void)state;
    struct hp_profile p = profile_with_contexts();
    assert_export("speedscope", &p,
                  "{\n"
                  " \"$schema\": \"https://www.speedscope.app/file-format-schema.json\",\n"
                  " \"exporter\": \"hotpath@" HP_VERSION "\",\n"
                  " \"name\": \"./demo two words it's\",\n"
                  " \"shared\": {\n"
                  "  \"frames\": [\n"
                  "   {\n"
                  "    \"name\": \"work\",\n"
                  "    \"file\": \"/src/demo.c\",\n"
                  "    \"line\": 10\n"
                  "   },\n"
                  "   {\n"
                  "    \"name\": \"demo+0x2000\"\n"
                  "   },\n"
                  "   {\n"
                  "    \"name\": \"helper\"\n"
                  "   }\n"
                  "  ]\n"
                  " },\n"
                  " \"profiles\": [\n"
                  "  {\n"
                  "   \"type\": \"evented\",\n"
                  "   \"name\": \"thread 0 (process 100, thread 100)\",\n"
                  "   \"unit\": \"none\",\n"
                  "   \"startValue\": 0,\n"
                  "   \"events\": [\n"
                  "    {\"type\":\"O\",\"frame\":0,\"at\":0},\n"
                  "    {\"type\":\"O\",\"frame\":1,\"at\":404},\n"
                  "    {\"type\":\"C\",\"frame\":1,\"at\":444},\n"
                  "    {\"type\":\"O\",\"frame\":2,\"at\":444},\n"
                  "    {\"type\":\"C\",\"frame\":2,\"at\":624},\n"
                  "    {\"type\":\"C\",\"frame\":0,\"at\":624}\n"
                  "   ],\n"
                  "   \"endValue\": 624\n"
                  "  },\n"
                  "  {\n"
                  "   \"type\": \"evented\",\n"
                  "   \"name\": \"thread 1 (process 100, thread 101)\",\n"
                  "   \"unit\": \"none\",\n"
                  "   \"startValue\": 0,\n"
                  "   \"events\": [\n"
                  "    {\"type\":\"O\",\"frame\":0,\"at\":0},\n"
                  "    {\"type\":\"O\",\"frame\":2,\"at\":256},\n"
                  "    {\"type\":\"C\",\"frame\":2,\"at\":376},\n"
                  "    {\"type\":\"C\",\"frame\":0,\"at\":376}\n"
                  "   ],\n"
                  "   \"endValue\": 376\n"
                  "  }\n"
                  " ],\n"
                  " \"activeProfileIndex\": 0\n"
                  "}\n");
}

/* --- pprof ------------------------------------------------------------------------------------ */

/* A message that is being read. */
struct message {
    const unsigned char *at, *end;
};

static uint64_t read_varint(struct message *m)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        assert_true(m->at < m->end && shift < 64);
        value |= (uint64_t)(*m->at & 0x7f) << shift;
        if (!(*m->at++ & 0x80))
            return value;
    }
}

/* The next field: its number; a number in `value`, or what is in it in `inner`. 0: there is none.
 */
static unsigned read_field(struct message *m, uint64_t *value, struct message *inner)
{
    if (m->at == m->end)
        return 0;
    uint64_t key = read_varint(m);
    *value = read_varint(m);
    if ((key & 7) == 2) {
        assert_true(*value <= (uint64_t)(m->end - m->at));
        *inner = (struct message){m->at, m->at + *value};
        m->at += *value;
    } else {
        assert_int_equal(key & 7, 0);
    }
    return (unsigned)(key >> 3);
}

static size_t unzip(char *zipped, size_t size, unsigned char *bytes, size_t room)
{
    z_stream zip = {.next_in = (unsigned char *)zipped,
                    .avail_in = (unsigned)size,
                    .next_out = bytes,
                    .avail_out = (unsigned)room};
    assert_int_equal(inflateInit2(&zip, 15 + 16), Z_OK);
    assert_int_equal(inflate(&zip, Z_FINISH), Z_STREAM_END);
    assert_int_equal(zip.avail_in, 0);
    assert_int_equal(inflateEnd(&zip), Z_OK);
    return zip.total_out;
}

/* Checks a sample: leaf first; returns its instructions. */
static uint64_t read_sample(struct message m)
{
    struct message inner;
    uint64_t value, locations[3] = {0}, values[2] = {0};
    size_t n = 0, labels = 0;
    for (unsigned field; (field = read_field(&m, &value, &inner)) != 0;) {
        if (field == 1)
            for (n = 0; inner.at < inner.end; n++)
                locations[n] = read_varint(&inner);
        if (field == 2) {
            values[0] = read_varint(&inner);
            values[1] = read_varint(&inner);
            assert_ptr_equal(inner.at, inner.end);
        }
        labels += field == 3;
    }
    assert_int_equal(labels, 3);
    assert_in_range(n, 1, 2);
    assert_int_equal(locations[n - 1], 1); /* work */
    assert_true(values[0] > 0);
    return values[1];
}

static void pprof_can_be_decoded(void **state)
{
    (void)state;
    struct hp_profile p = profile_with_contexts();
    struct hp_export_written written;
    size_t size, counts[16] = {0};
    unsigned char bytes[4096];
    char *zipped = export("pprof", &p, &size, &written);
    struct message m = {bytes, bytes + unzip(zipped, size, bytes, sizeof bytes)}, inner;
    uint64_t value, sum = 0;
    for (unsigned field; (field = read_field(&m, &value, &inner)) != 0;) {
        assert_in_range(field, 1, 15);
        if (field == 2)
            sum += read_sample(inner);
        if (field == 6 && counts[6] == 0)
            assert_ptr_equal(inner.at, inner.end); /* the first string is empty */
        if (field == 9)
            assert_int_equal(value, 1700000000u * UINT64_C(1000000000));
        counts[field]++;
    }
    assert_int_equal(sum, 1000);
    assert_int_equal(written.written, 1000);
    assert_int_equal(counts[1], 2); /* types of values */
    assert_int_equal(counts[2], 5); /* samples */
    assert_int_equal(counts[3], 2); /* mappings */
    assert_int_equal(counts[4], 3); /* locations */
    assert_int_equal(counts[5], 3); /* functions */
    free(zipped);
}

static void equal_profiles_make_equal_files(void **state)
{
    (void)state;
    struct hp_profile p = profile_with_contexts();
    struct hp_export_written written;
    size_t size_a, size_b;
    char *a = export("pprof", &p, &size_a, &written);
    char *b = export("pprof", &p, &size_b, &written);
    assert_int_equal(size_a, size_b);
    assert_memory_equal(a, b, size_a);
    free(a);
    free(b);
}

/* --- What cannot be / ------------------------------------------------------------------------- */

static const char *const stacks[] = {"folded", "pprof", "speedscope"};

static void requests_without_use_are_refused(void **state)
{
    (void)state;
    struct hp_profile p = profile_with_contexts();
    for (size_t i = 0; i < 3; i++) {
        assert_refused(stacks[i], &p, (struct hp_export_request){.metric = "cycles"}, "callgrind");
        assert_refused(stacks[i], &p, (struct hp_export_request){.module = "demo"}, "--module");
        assert_refused(stacks[i], &p, (struct hp_export_request){.table = "512x4"}, "--table");
    }
    assert_refused("callgrind", &p, (struct hp_export_request){.metric = "cycles"}, "columns");
    assert_refused("callgrind", &p, (struct hp_export_request){.module = "demo"}, "--module");
    assert_refused("callgrind", &p, (struct hp_export_request){.table = "512x4"}, "--table");
}

static void profiles_without_contexts_say_how_to_record(void **state)
{
    (void)state;
    struct hp_profile p = fixture_profile();
    for (size_t i = 0; i < 3; i++)
        assert_refused(stacks[i], &p, (struct hp_export_request){0}, "record --profile exact");
}

static void contexts_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static struct hp_pcontext deep[10000];
    for (uint32_t i = 0; i < 10000; i++)
        deep[i] = (struct hp_pcontext){i ? i - 1 : HP_PROFILE_NONE, 0};
    struct hp_pcontext circle[] = {{1, 0}, {0, 1}, {0, 2}};
    struct hp_pcontext unknown[] = {{HP_PROFILE_NONE, 0}, {0, 1}, {0, 77}};
    struct hp_pcontext *all[] = {deep, circle, unknown};
    static const char *const reasons[] = {"context 200 is in itself, or more than 200 deep",
                                          "context 0 has parent 1", "context 2 has function 77"};
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 3; k++) {
            struct hp_profile p = profile_with_contexts();
            p.contexts = all[k];
            p.n_contexts = k == 0 ? 10000 : 3;
            assert_refused(stacks[i], &p, (struct hp_export_request){0}, reasons[k]);
        }
}

static void runs_without_contexts_are_said_to_be_missing(void **state)
{
    (void)state;
    struct hp_profile p = profile_with_contexts();
    for (size_t i = 0; i < 3; i++) {
        struct hp_export_written written;
        size_t size;
        p.n_context_counts = 3;
        free(export(stacks[i], &p, &size, &written));
        assert_int_equal(written.written, 700);
        assert_int_equal(written.total, 1000);
        assert_non_null(strstr(written.missing, "without calling contexts"));
    }
}

static void an_empty_profile_is_no_mistake(void **state)
{
    (void)state;
    static const char *const names[] = {"callgrind", "folded", "pprof", "speedscope"};
    struct hp_profile *p;
    assert_int_equal(hp_profile_new(&p), HP_OK);
    for (size_t i = 0; i < 4; i++) {
        struct hp_export_written written;
        size_t size;
        free(export(names[i], p, &size, &written));
        assert_int_equal(written.written, 0);
        assert_int_equal(written.total, 0);
    }
    hp_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(callgrind_has_lines_jumps_and_calls),
        cmocka_unit_test(callgrind_has_columns_of_the_machine),
        cmocka_unit_test(folded_sums_threads),
        cmocka_unit_test(folded_names_cannot_break_lines),
        cmocka_unit_test(speedscope_opens_and_closes_every_context),
        cmocka_unit_test(pprof_can_be_decoded),
        cmocka_unit_test(equal_profiles_make_equal_files),
        cmocka_unit_test(requests_without_use_are_refused),
        cmocka_unit_test(profiles_without_contexts_say_how_to_record),
        cmocka_unit_test(contexts_that_cannot_be_are_refused),
        cmocka_unit_test(runs_without_contexts_are_said_to_be_missing),
        cmocka_unit_test(an_empty_profile_is_no_mistake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
