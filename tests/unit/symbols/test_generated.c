// SPDX-License-Identifier: MIT
/* Names of generated code: maps and dumps as they should be, and as they should not. */
#include "stream_fixture.h"

#include "symbols/functions.h"
#include "symbols/generated.h"

#include <sys/stat.h>
#include <unistd.h>

struct test {
    struct hp_generated *names;
    char why[160];
};

static int setup(void **state)
{
    struct test *t = calloc(1, sizeof *t);
    assert_int_equal(hp_generated_new(&t->names), HP_OK);
    *state = t;
    return 0;
}

static int teardown(void **state)
{
    struct test *t = *state;
    hp_generated_free(t->names);
    free(t);
    return 0;
}

/* A copy with a 0 behind it. */
static void take(struct test *t, const void *text, size_t n)
{
    char *copy = calloc(1, n + 1);
    memcpy(copy, text, n);
    assert_int_equal(hp_generated_take(t->names, copy, n, t->why, sizeof t->why), HP_OK);
    hp_generated_settle(t->names);
}

static void take_map(struct test *t, const char *text)
{
    take(t, text, strlen(text));
}

static const struct hp_generated_piece *find(struct test *t, uint64_t address, const char *bytes,
                                             bool *doubt)
{
    bool ignored;
    return hp_generated_find(t->names, address, (const uint8_t *)bytes, strlen(bytes),
                             doubt ? doubt : &ignored);
}

static const char *name_at(struct test *t, uint64_t address)
{
    const struct hp_generated_piece *piece = find(t, address, "", NULL);
    return piece ? piece->name : "";
}

/* --- Maps ------------------------------------------------------------------------------------- */

static void a_map_names_ranges(void **state)
{
    struct test *t = *state;
    take_map(t, "1000 20 one\n0x2000 0x10 int two::f(a, b)\n3000 8 three\r\nA0 1 x\n");
    assert_string_equal(t->why, "");
    assert_int_equal(hp_generated_count(t->names), 4);
    assert_string_equal(name_at(t, 0xfff), "");
    assert_string_equal(name_at(t, 0x1000), "one");
    assert_string_equal(name_at(t, 0x101f), "one");
    assert_string_equal(name_at(t, 0x1020), "");
    assert_string_equal(name_at(t, 0x200f), "int two::f(a, b)");
    assert_string_equal(name_at(t, 0x3000), "three");
    assert_string_equal(name_at(t, 0xa0), "x");
}

static void later_lines_take_the_place_of_earlier_ones(void **state)
{
    struct test *t = *state;
    bool doubt;
    take_map(t, "1000 100 old\n1080 100 new\n1100 8 inner\n5000 10 same\n5000 10 same\n");
    assert_string_equal(find(t, 0x1000, "", &doubt)->name, "old");
    assert_false(doubt);
    assert_string_equal(find(t, 0x1080, "", &doubt)->name, "new");
    assert_true(doubt);
    assert_string_equal(find(t, 0x1104, "", &doubt)->name, "inner");
    assert_true(doubt);
    assert_string_equal(find(t, 0x117f, "", &doubt)->name, "new");
    assert_false(doubt);
    assert_string_equal(find(t, 0x5000, "", &doubt)->name, "same");
    assert_false(doubt);
}

static void lines_that_are_none_are_left_out(void **state)
{
    struct test *t = *state;
    take_map(t, "1000 10 good\n"
                "\n"
                "1000\n"
                "1000 10\n"
                "1000 10 \n"
                "-5 10 signed\n"
                "zz 10 not hex\n"
                "11111111111111111 10 too large\n"
                "ffffffffffffffff 10 beyond the end\n"
                "2000 0 nothing is in it\n"
                "3000 10 control\x1b[31m\n"
                "4000 10 unfinished");
    assert_int_equal(hp_generated_count(t->names), 2);
    assert_non_null(strstr(t->why, "8 of its lines"));
    assert_string_equal(name_at(t, 0x3000), "control?[31m");
}

static void what_is_no_map_gives_a_reason(void **state)
{
    struct test *t = *state;
    take_map(t, "");
    assert_string_equal(t->why, "");
    take(t, "\0\0\n\0", 4);
    assert_non_null(strstr(t->why, "no line"));
    take_map(t, "{\"some\": \"json\"}\n");
    assert_non_null(strstr(t->why, "no line"));
    assert_int_equal(hp_generated_count(t->names), 0);
    assert_null(find(t, 0x1000, "", NULL));
}

static void a_long_name_is_cut(void **state)
{
    struct test *t = *state;
    char *text = malloc(100100);
    int n = sprintf(text, "1000 10 ");
    memset(text + n, 'n', 100000);
    strcpy(text + n + 100000, "\n");
    take_map(t, text);
    free(text);
    assert_int_equal(strlen(name_at(t, 0x1000)), HP_GENERATED_NAME);
}

/* What is found is what looking at every line finds. */
static void it_is_the_last_line_that_holds_the_address(void **state)
{
    struct test *t = *state;
    enum { N = 400 };
    static struct {
        unsigned start, size;
    } line[N];
    char *text = calloc(N, 40), *at = text, name[16];
    srand(7);
    for (int i = 0; i < N; i++) {
        line[i].start = (unsigned)rand() % 4000;
        line[i].size = 1 + (unsigned)rand() % (i % 50 ? 40 : 3000);
        at += sprintf(at, "%x %x f%d\n", line[i].start, line[i].size, i);
    }
    take_map(t, text);
    free(text);
    for (unsigned address = 0; address < 8000; address++) {
        int last = -1, holds = 0;
        bool doubt = false;
        for (int i = 0; i < N; i++)
            if (address - line[i].start < line[i].size && address >= line[i].start) {
                last = i;
                holds++;
            }
        const struct hp_generated_piece *piece = find(t, address, "", &doubt);
        sprintf(name, "f%d", last);
        assert_int_equal(piece != NULL, last >= 0);
        assert_string_equal(piece ? piece->name : name, name);
        assert_int_equal(doubt, holds > 1);
    }
}

/* --- Dumps ------------------------------------------------------------------------------------ */

struct dump {
    uint8_t bytes[4096];
    size_t n;
};

static void put(struct dump *d, uint64_t value, size_t n)
{
    memcpy(d->bytes + d->n, &value, n); /* little-endian, as the machine */
    d->n += n;
}

static void put_header(struct dump *d, uint32_t magic)
{
    put(d, magic, 4);
    put(d, 1, 4);
    put(d, 40, 4);
    put(d, 62, 4);
    put(d, 0, 4);
    put(d, 1234, 4);
    put(d, 0, 8);
    put(d, 0, 8);
}

static void put_load(struct dump *d, uint64_t time, uint64_t index, uint64_t address,
                     const char *name, const char *code)
{
    size_t size = strlen(code);
    put(d, 0, 4);
    put(d, 16 + 40 + strlen(name) + 1 + size, 4);
    put(d, time, 8);
    put(d, 0x100000001, 8);
    put(d, address, 8);
    put(d, address, 8);
    put(d, size, 8);
    put(d, index, 8);
    memcpy(d->bytes + d->n, name, strlen(name) + 1);
    memcpy(d->bytes + d->n + strlen(name) + 1, code, size);
    d->n += strlen(name) + 1 + size;
}

static void put_move(struct dump *d, uint64_t time, uint64_t index, uint64_t from, uint64_t to,
                     uint64_t size)
{
    put(d, 1, 4);
    put(d, 16 + 48, 4);
    put(d, time, 8);
    put(d, 0x100000001, 8);
    put(d, to, 8);
    put(d, from, 8);
    put(d, to, 8);
    put(d, size, 8);
    put(d, index, 8);
}

static void a_dump_names_code(void **state)
{
    struct test *t = *state;
    struct dump d = {0};
    bool doubt;
    put_header(&d, 0x4a695444);
    put_load(&d, 1, 0, 0x1000, "first", "abcdefgh");
    put(&d, 4, 4); /* of a kind that says nothing about names */
    put(&d, 24, 4);
    put(&d, 2, 8);
    put(&d, 0, 8);
    put_load(&d, 3, 1, 0x1000, "second", "ABCDEFGH");
    take(t, d.bytes, d.n);
    assert_string_equal(t->why, "");
    assert_int_equal(hp_generated_count(t->names), 2);
    /* the bytes tell which of them was there */
    assert_string_equal(find(t, 0x1002, "cde", &doubt)->name, "first");
    assert_false(doubt);
    assert_string_equal(find(t, 0x1002, "CDE", &doubt)->name, "second");
    assert_false(doubt);
    assert_string_equal(find(t, 0x1006, "gh beyond", &doubt)->name, "first");
    assert_string_equal(find(t, 0x1002, "patched", &doubt)->name, "second");
    assert_true(doubt);
    d = (struct dump){0};
    put_header(&d, 0x4a695444);
    put_load(&d, 1, 0, 0x1000, "third", "abcdEFGH");
    take(t, d.bytes, d.n);
    assert_string_equal(find(t, 0x1002, "cd", &doubt)->name, "third"); /* as in the first */
    assert_true(doubt);
}

static void records_are_taken_by_their_time(void **state)
{
    struct test *t = *state;
    struct dump d = {0};
    put_header(&d, 0x4a695444);
    put_load(&d, 9, 0, 0x1000, "later", "abcd");
    put_load(&d, 5, 1, 0x1000, "earlier", "abcd");
    take(t, d.bytes, d.n);
    assert_string_equal(name_at(t, 0x1000), "later");
}

static void code_that_moves_keeps_its_name(void **state)
{
    struct test *t = *state;
    struct dump d = {0};
    put_header(&d, 0x4a695444);
    put_load(&d, 1, 7, 0x1000, "moving", "abcd");
    put_move(&d, 2, 7, 0x1000, 0x2000, 4);
    put_move(&d, 3, 7, 0x2000, 0x3000, 4);
    put_load(&d, 4, 8, 0x1000, "new", "ABCD");
    put_move(&d, 5, 99, 0x1000, 0x9000, 4); /* of code that was never loaded */
    take(t, d.bytes, d.n);
    const struct hp_generated_piece *piece = find(t, 0x1000, "abcd", NULL);
    assert_string_equal(piece->name, "moving");
    assert_string_equal(name_at(t, 0x1000), "new");
    assert_string_equal(name_at(t, 0x3003), "moving");
    assert_int_equal(find(t, 0x2000, "", NULL)->code, piece->code);
    assert_int_equal(find(t, 0x3000, "abcd", NULL)->code, piece->code);
    assert_null(find(t, 0x9000, "", NULL));
}

/* Cut anywhere, or with any byte changed, it is read, or not, but never beyond its end. */
static void a_damaged_dump_is_read_as_far_as_it_goes(void **state)
{
    struct dump d = {0};
    (void)state;
    put_header(&d, 0x4a695444);
    put_load(&d, 1, 0, 0x1000, "first", "abcd");
    put_move(&d, 2, 0, 0x1000, 0x2000, 4);
    put_load(&d, 3, 1, 0x3000, "last", "abcd");
    for (size_t n = 0; n <= d.n; n++) {
        struct test t;
        assert_int_equal(hp_generated_new(&t.names), HP_OK);
        take(&t, d.bytes, n);
        if (n > 16 + 40 && n < d.n && n != 106 && n != 170)
            assert_non_null(strstr(t.why, "cut short"));
        assert_int_equal(hp_generated_count(t.names), n == d.n ? 3 : n >= 170 ? 2 : n >= 106);
        hp_generated_free(t.names);
    }
    for (size_t i = 4; i < d.n; i++)
        for (int by = 1; by < 256; by += 51) {
            struct test t;
            d.bytes[i] ^= (uint8_t)by;
            assert_int_equal(hp_generated_new(&t.names), HP_OK);
            take(&t, d.bytes, d.n);
            (void)find(&t, 0x1000, "abcdefghijkl", NULL);
            hp_generated_free(t.names);
            d.bytes[i] ^= (uint8_t)by;
        }
}

static void a_dump_of_another_byte_order_is_not_used(void **state)
{
    struct test *t = *state;
    struct dump d = {0};
    put_header(&d, 0x4454694a);
    take(t, d.bytes, d.n);
    assert_non_null(strstr(t->why, "byte order"));
}

/* --- Files ------------------------------------------------------------------------------------ */

static void only_own_regular_new_files_are_read(void **state)
{
    struct test *t = *state;
    char directory[] = "/tmp/hotpath-names-XXXXXX", file[64], link[64], pipe[64];
    struct stat status;
    assert_non_null(mkdtemp(directory));
    snprintf(file, sizeof file, "%s/map", directory);
    snprintf(link, sizeof link, "%s/link", directory);
    snprintf(pipe, sizeof pipe, "%s/pipe", directory);
    FILE *out = fopen(file, "w");
    fputs("1000 10 f\n", out);
    fclose(out);
    assert_int_equal(symlink(file, link), 0);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(stat(file, &status), 0);
    time_t written = status.st_mtim.tv_sec;

    assert_int_equal(hp_generated_read(t->names, link, 0, t->why, sizeof t->why), HP_OK);
    assert_string_equal(t->why, "it is a symbolic link");
    assert_int_equal(hp_generated_read(t->names, pipe, 0, t->why, sizeof t->why), HP_OK);
    assert_string_equal(t->why, "it is not a regular file");
    assert_int_equal(hp_generated_read(t->names, directory, 0, t->why, sizeof t->why), HP_OK);
    assert_string_equal(t->why, "it is not a regular file");
    assert_int_equal(hp_generated_read(t->names, "/tmp/no/such", 0, t->why, sizeof t->why), HP_OK);
    assert_string_equal(t->why, "");
    assert_int_equal(hp_generated_read(t->names, file, written + 1, t->why, sizeof t->why), HP_OK);
    assert_string_equal(t->why, "");
    assert_int_equal(hp_generated_count(t->names), 0);
    assert_int_equal(hp_generated_read(t->names, file, written, t->why, sizeof t->why), HP_OK);
    assert_int_equal(hp_generated_count(t->names), 1);
    assert_int_equal(truncate(file, (off_t)HP_GENERATED_BYTES + 1), 0);
    assert_int_equal(hp_generated_read(t->names, file, written, t->why, sizeof t->why), HP_OK);
    assert_non_null(strstr(t->why, "larger than"));
    if (geteuid() == 0) {
        assert_int_equal(truncate(file, 0), 0);
        assert_int_equal(chown(file, 12345, 12345), 0);
        assert_int_equal(hp_generated_read(t->names, file, written, t->why, sizeof t->why), HP_OK);
        assert_string_equal(t->why, "it belongs to another user");
    }
    unlink(file);
    unlink(link);
    unlink(pipe);
    rmdir(directory);
}

/* --- Functions -------------------------------------------------------------------------------- */

struct world {
    struct stream s;
    struct hp_functions *functions;
    uint32_t next;
};

static void world_init(struct world *w, const char *path)
{
    struct hp_module module = {.path = path, .build_id = "", .base = 0x1000};
    *w = (struct world){0};
    stream_init(&w->s);
    assert_int_equal(hp_functions_new(w->s.code, &w->functions), HP_OK);
    assert_int_equal(hp_code_add_module(w->s.code, &module, &w->s.module), HP_OK);
}

static void world_fini(struct world *w)
{
    hp_functions_free(w->functions);
    stream_fini(&w->s);
}

static uint32_t block_at(struct world *w, uint64_t address, const char *hex)
{
    add_segment(&w->s, ++w->next, address, hex);
    return hp_code_n_blocks(w->s.code) - 1;
}

static const char *final_name(struct world *w, uint32_t function)
{
    function = hp_functions_final(w->functions, function);
    const struct hp_symbol *symbol = hp_functions_get(w->functions, function)->symbol;
    return symbol ? symbol->name : "";
}

static void all_that_is_called_in_a_piece_is_one_function(void **state)
{
    struct test *t = *state;
    struct world w;
    uint64_t doubtful;
    world_init(&w, "[anon 2]");
    uint32_t a = block_at(&w, 0x1100, "c3"), b = block_at(&w, 0x1110, "c3");
    uint32_t inside = block_at(&w, 0x1108, "c3");
    uint32_t lost = block_at(&w, 0x1300, "c3"), lost_too = block_at(&w, 0x1400, "c3");
    uint32_t fa = hp_functions_enter(w.functions, a), fb = hp_functions_enter(w.functions, b);
    uint32_t fl = hp_functions_enter(w.functions, lost);
    uint32_t fm = hp_functions_enter(w.functions, lost_too);
    take_map(t, "1100 20 piece\n1500 20 never run\n");
    assert_true(hp_functions_has_generated(w.functions));
    assert_int_equal(hp_functions_name_generated(w.functions, t->names, &doubtful), HP_OK);
    assert_int_equal(doubtful, 0);
    uint32_t piece = hp_functions_final(w.functions, fa);
    assert_string_equal(final_name(&w, fa), "piece");
    assert_int_equal(hp_functions_final(w.functions, fb), piece);
    assert_int_equal(hp_functions_settle(w.functions, inside), piece);
    assert_int_equal(hp_functions_at(w.functions, w.s.module, 0x11f - 0x1), piece);
    assert_int_equal(hp_functions_get(w.functions, piece)->offset, 0x100);
    assert_int_equal(hp_functions_get(w.functions, piece)->size, 0x20);
    /* the rest is one too, named like the module */
    assert_string_equal(final_name(&w, fl), "[anon 2]");
    assert_int_equal(hp_functions_final(w.functions, fm), hp_functions_final(w.functions, fl));
    assert_int_equal(hp_functions_at(w.functions, w.s.module, 0x800),
                     hp_functions_final(w.functions, fl));
    world_fini(&w);
}

static void without_names_a_region_is_one_function(void **state)
{
    struct world w;
    uint64_t doubtful;
    (void)state;
    world_init(&w, "[anon]");
    uint32_t first = block_at(&w, 0x1100, "c3"), a = block_at(&w, 0x1200, "c3");
    uint32_t fa = hp_functions_enter(w.functions, a);
    assert_int_equal(hp_functions_name_generated(w.functions, NULL, &doubtful), HP_OK);
    assert_string_equal(final_name(&w, fa), "[anon]");
    assert_int_equal(hp_functions_settle(w.functions, first), hp_functions_final(w.functions, fa));
    assert_int_equal(hp_functions_get(w.functions, hp_functions_final(w.functions, fa))->offset,
                     0x100);
    world_fini(&w);
}

/* A file in memory may be a library: what was called in it stays apart. */
static void a_file_in_memory_is_no_region(void **state)
{
    struct test *t = *state;
    struct world w;
    uint64_t doubtful;
    world_init(&w, "/memfd:doublemapper (deleted)");
    uint32_t a = block_at(&w, 0x1100, "c3"), b = block_at(&w, 0x1200, "c3");
    uint32_t c = block_at(&w, 0x1300, "c3"), behind = block_at(&w, 0x1180, "c3");
    uint32_t fa = hp_functions_enter(w.functions, a), fb = hp_functions_enter(w.functions, b);
    uint32_t fc = hp_functions_enter(w.functions, c);
    take_map(t, "1100 20 piece\n");
    assert_int_equal(hp_functions_name_generated(w.functions, t->names, &doubtful), HP_OK);
    assert_string_equal(final_name(&w, fa), "piece");
    assert_int_equal(hp_functions_final(w.functions, fb), fb);
    assert_int_equal(hp_functions_final(w.functions, fc), fc);
    /* not of the piece, which ends before it */
    uint32_t settled = hp_functions_settle(w.functions, behind);
    assert_int_equal(hp_functions_final(w.functions, settled), settled);
    assert_null(hp_functions_get(w.functions, settled)->symbol);
    world_fini(&w);
}

static void other_code_at_the_same_place_is_another_function(void **state)
{
    struct test *t = *state;
    struct world w;
    struct dump d = {0};
    uint64_t doubtful;
    world_init(&w, "[anon]");
    uint32_t a = block_at(&w, 0x1100, "90c3"), b = block_at(&w, 0x1100, "9090c3");
    uint32_t fa = hp_functions_enter(w.functions, a), fb = hp_functions_enter(w.functions, b);
    put_header(&d, 0x4a695444);
    put_load(&d, 1, 0, 0x1100, "first", "\x90\xc3");
    put_load(&d, 2, 1, 0x1100, "second", "\x90\x90\xc3");
    take(t, d.bytes, d.n);
    assert_int_equal(hp_functions_name_generated(w.functions, t->names, &doubtful), HP_OK);
    assert_int_equal(doubtful, 0);
    assert_string_equal(final_name(&w, fa), "first");
    assert_string_equal(final_name(&w, fb), "second");
    assert_string_equal(final_name(&w, hp_functions_settle(w.functions, a)), "first");
    /* two places: a profile joins functions by place */
    assert_int_not_equal(
        hp_functions_get(w.functions, hp_functions_final(w.functions, fa))->offset,
        hp_functions_get(w.functions, hp_functions_final(w.functions, fb))->offset);
    world_fini(&w);
}

/* Regions of two processes have the same name, and are one module in a profile. */
static void modules_of_the_same_name_share_places(void **state)
{
    struct test *t = *state;
    struct hp_module second = {.path = "[anon]", .build_id = "", .base = 0x5000};
    struct world w;
    uint64_t doubtful;
    world_init(&w, "[anon]");
    uint32_t a = hp_functions_enter(w.functions, block_at(&w, 0x1100, "c3"));
    uint32_t lost = hp_functions_enter(w.functions, block_at(&w, 0x1200, "c3"));
    assert_int_equal(hp_code_add_module(w.s.code, &second, &w.s.module), HP_OK);
    uint32_t b = hp_functions_enter(w.functions, block_at(&w, 0x5100, "c3"));
    uint32_t lost_too = hp_functions_enter(w.functions, block_at(&w, 0x5300, "c3"));
    take_map(t, "1100 10 a\n5100 10 b\n");
    assert_int_equal(hp_functions_name_generated(w.functions, t->names, &doubtful), HP_OK);
    assert_string_equal(final_name(&w, a), "a");
    assert_string_equal(final_name(&w, b), "b");
    assert_int_not_equal(hp_functions_get(w.functions, hp_functions_final(w.functions, a))->offset,
                         hp_functions_get(w.functions, hp_functions_final(w.functions, b))->offset);
    assert_int_equal(hp_functions_final(w.functions, lost),
                     hp_functions_final(w.functions, lost_too));
    world_fini(&w);
}

static void code_in_files_stays_as_it_is(void **state)
{
    struct test *t = *state;
    struct world w;
    uint64_t doubtful;
    world_init(&w, "/no/such/file");
    uint32_t fa = hp_functions_enter(w.functions, block_at(&w, 0x1100, "c3"));
    take_map(t, "1100 20 piece\n");
    assert_false(hp_functions_has_generated(w.functions));
    assert_int_equal(hp_functions_name_generated(w.functions, t->names, &doubtful), HP_OK);
    assert_false(hp_functions_renamed(w.functions));
    assert_int_equal(hp_functions_final(w.functions, fa), fa);
    assert_int_equal(hp_functions_final(w.functions, HP_NO_ID), HP_NO_ID);
    world_fini(&w);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_map_names_ranges),
        CASE(later_lines_take_the_place_of_earlier_ones),
        CASE(lines_that_are_none_are_left_out),
        CASE(what_is_no_map_gives_a_reason),
        CASE(a_long_name_is_cut),
        CASE(it_is_the_last_line_that_holds_the_address),
        CASE(a_dump_names_code),
        CASE(records_are_taken_by_their_time),
        CASE(code_that_moves_keeps_its_name),
        CASE(a_damaged_dump_is_read_as_far_as_it_goes),
        CASE(a_dump_of_another_byte_order_is_not_used),
        CASE(only_own_regular_new_files_are_read),
        CASE(all_that_is_called_in_a_piece_is_one_function),
        CASE(without_names_a_region_is_one_function),
        CASE(a_file_in_memory_is_no_region),
        CASE(other_code_at_the_same_place_is_another_function),
        CASE(modules_of_the_same_name_share_places),
        CASE(code_in_files_stays_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
