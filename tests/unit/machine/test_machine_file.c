// SPDX-License-Identifier: MIT
/*
 * Machine files: the shipped ones, every error, and damaged ones.
 */
#include "machine/keys.h"
#include "machine/machine.h"
#include "stream_fixture.h"

#include <unistd.h>

/* A whole file, in sections that a test can replace. */
static const char *const sections[] = {
    "[core]\nwidth = 4\nissue = 4\nretire = 4\nreorder = 64\nmemory_queue = 32\n",
    "[units]\nalu = 4\nmul = 1\nfp = 1\nfp_mul = 1\nload = 2\nstore = 1\n",
    "[l1i]\nsize = 32K\nline = 32\nways = 1\nlatency = 1\n",
    "[l1d]\nsize = 32K\nline = 32\nways = 2\nlatency = 1\n",
    "[memory]\nlatency = 100\n",
    "[branch]\npredictor = bimodal\n",
    "[btb]\nentries = 64\nways = 2\n",
};
#define N_SECTIONS (sizeof sections / sizeof *sections)

/* The file with `instead` for the section of the same name, or at the end. */
static void make(char *text, size_t size, const char *instead)
{
    size_t header = strcspn(instead, "]") + 1, used = 0;
    bool replaced = false;
    for (size_t i = 0; i < N_SECTIONS; i++) {
        bool same = *instead == '[' && strncmp(sections[i], instead, header) == 0;
        replaced |= same;
        used += (size_t)snprintf(text + used, size - used, "%s", same ? instead : sections[i]);
    }
    if (!replaced)
        snprintf(text + used, size - used, "%s", instead);
}

static struct hp_machine *parse(const char *text)
{
    struct hp_machine *machine = NULL;
    if (hp_machine_parse(text, strlen(text), "m.ini", "m", &machine) != HP_OK)
        print_error("%s\n", hp_error_text());
    assert_non_null(machine);
    return machine;
}

static void expect_text_error(const char *text, const char *expected)
{
    struct hp_machine *machine = NULL;
    enum hp_err err = hp_machine_parse(text, strlen(text), "m.ini", "m", &machine);
    if (err != HP_ERR_FORMAT)
        print_error("no error, but: %s\n", expected);
    assert_int_equal(err, HP_ERR_FORMAT);
    assert_string_equal(hp_error_text(), expected);
    assert_null(machine);
}

static void expect_error(const char *instead, const char *expected)
{
    char text[4000];
    make(text, sizeof text, instead);
    expect_text_error(text, expected);
}

/* --- Good ones -------------------------------------------------------------------------------- */

static void test_shipped_machines_load(void **state)
{
    static const char *const names[] = {"vaswani", "alpha21264", "arm9", "modern"};
    (void)state;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        struct hp_machine *machine;
        struct hp_core *core;
        if (hp_machine_load(names[i], &machine) != HP_OK)
            print_error("%s\n", hp_error_text());
        assert_string_equal(hp_machine_name(machine), names[i]);
        assert_int_equal(hp_core_new(machine, &core), HP_OK);
        hp_core_free(core);
        hp_machine_free(machine);
    }
}

/* The paths paper's table 3. */
static void test_vaswani_is_table_3(void **state)
{
    struct hp_machine *m;
    (void)state;
    assert_int_equal(hp_machine_load("vaswani", &m), HP_OK);
    assert_int_equal(m->core.width, 4);
    assert_int_equal(m->core.issue, 4);
    assert_int_equal(m->core.reorder, 128);
    assert_int_equal(m->core.memory_queue, 64);
    assert_int_equal(m->core.fetch_queue, 16);
    assert_int_equal(m->units.alu, 4);
    assert_int_equal(m->units.mul, 2);
    assert_int_equal(m->units.fp, 4);
    assert_int_equal(m->units.fp_mul, 2);
    assert_int_equal(m->l1i.size, 32 * 1024);
    assert_int_equal(m->l1d.size, 32 * 1024);
    assert_int_equal(m->l1i.ways, 1);
    assert_int_equal(m->l1d.ways, 1);
    assert_int_equal(m->l1i.line, 32);
    assert_int_equal(m->l1d.latency, 1);
    assert_int_equal(m->l2.size, 512 * 1024);
    assert_int_equal(m->l2.ways, 4);
    assert_int_equal(m->l2.latency, 10);
    assert_int_equal(m->memory.latency, 100);
    assert_int_equal(m->branch.predictor, HP_PREDICT_combined);
    assert_int_equal(*hp_machine_value(m, "gshare", "history"), 12);
    assert_int_equal(*hp_machine_value(m, "gshare", "entries"), 8192);
    assert_int_equal(*hp_machine_value(m, "bimodal", "entries"), 8192);
    assert_int_equal(*hp_machine_value(m, "combined", "meta"), 1024);
    assert_int_equal(m->core.mispredict, 3);
    assert_int_equal(m->branch.ras_entries, 32);
    assert_int_equal(m->branch.btb_entries, 2048);
    assert_int_equal(m->branch.btb_ways, 4);
    hp_machine_free(m);
}

static void test_defaults_and_full(void **state)
{
    char text[4000];
    (void)state;
    make(text, sizeof text, "[l1d]\nsize = 1K\nline = 32\nways = full\nlatency = 1\n");
    struct hp_machine *m = parse(text);
    assert_string_equal(m->name, "m");
    assert_int_equal(m->l1d.ways, 32);
    assert_int_equal(m->l1d.replacement, HP_LRU);
    assert_int_equal(m->l1d.ports, 1);
    assert_false(m->l1d.through || m->l1d.no_allocate);
    assert_true(m->l1i.present && m->l1d.present);
    assert_false(m->l2.present || m->l3.present || m->itlb.present || m->tlb2.present);
    assert_int_equal(m->latency.mul, 3);
    assert_int_equal(*hp_machine_value(m, "tage", "tables"), 7);
    hp_machine_free(m);
}

/* A byte order mark, DOS line ends, indents, comments and a last line without an end are fine. */
static void test_spelling(void **state)
{
    char text[4000], other[8000] = "\xef\xbb\xbf; a machine\r\n# of mine\r\n\r\n";
    size_t used = strlen(other);
    (void)state;
    make(text, sizeof text, "[l2] ; the second\nsize=1M ; bytes\n line: 64\nways =8\nlatency= 9");
    for (const char *c = text; *c; c++) {
        if (*c == '\n')
            other[used++] = '\r';
        other[used++] = *c;
        if (*c == '\n')
            other[used++] = '\t';
    }
    struct hp_machine *m = parse(other);
    assert_int_equal(m->l2.size, 1 << 20);
    assert_int_equal(m->l2.line, 64);
    assert_int_equal(m->l2.ways, 8);
    assert_int_equal(m->l2.latency, 9);
    hp_machine_free(m);
}

/* Every key of every section is really stored: with another value, the machine is another. */
static void test_every_key_is_kept(void **state)
{
    (void)state;
    for (unsigned i = 0; i < hp_n_sections; i++) {
        const struct hp_machine_section *section = &hp_sections[i];
        for (unsigned k = 0; k < section->model->n_keys; k++) {
            const struct hp_setting *keys = section->model->keys, *key = &keys[k];
            struct hp_machine machine = {0};
            uint64_t *value = hp_machine_value(&machine, section->model->name, key->key);
            assert_int_equal(key->size, sizeof *value);
            assert_true((char *)value >= (char *)&machine + offsetof(struct hp_machine, core));
            assert_true((char *)(value + 1) <= (char *)(&machine + 1));
            for (unsigned j = 0; j < k; j++)
                assert_ptr_not_equal(value,
                                     hp_machine_value(&machine, section->model->name, keys[j].key));
            assert_true(key->min <= key->max);
            assert_true(key->choices || key->read || key->initial == HP_SETTING_REQUIRED ||
                        ((uint64_t)key->initial >= key->min && (uint64_t)key->initial <= key->max));
            assert_int_equal(hp_key_find(section, key->key), k);
        }
        assert_int_equal(hp_section_find(section->model->name, strlen(section->model->name)),
                         section->model->n_keys ? (int)i : -1);
    }
}

/* --- Errors ----------------------------------------------------------------------------------- */

static void test_syntax_errors(void **state)
{
    char long_line[400];
    (void)state;
    expect_error("[l4]\n", "m.ini:31: there is no section [l4]");
    expect_error("nonsense\n", "m.ini:31: neither a [section] nor key = value");
    expect_error("[l2\nsize = 1\n", "m.ini:31: '[l2' is not a [section]");
    expect_error("[l2] x\n", "m.ini:31: '[l2] x' is not a [section]");
    expect_error("way = 3\n", "m.ini:31: [btb] has no 'way'");
    expect_error("ways = 3\n", "m.ini:31: [btb] ways was in line 30 already");
    expect_text_error("\nsize = 3\n", "m.ini:2: 'size' is in no [section]");
    expect_error("[ras]\n[ras]\n", "m.ini:32: section [ras] was in line 31 already");
    expect_error("[ras]\nentries = 3\x01\n", "m.ini:32: there is a control character in the line");
    memset(long_line, 'a', sizeof long_line - 1);
    long_line[sizeof long_line - 1] = 0;
    expect_error(long_line, "m.ini:31: the line is longer than 198 characters");
    expect_text_error("", "m.ini: there is no [core]");
}

static void test_nul_bytes_are_errors(void **state)
{
    struct hp_machine *machine;
    char text[] = "[core]\nwidth = 4\0 and more\n";
    (void)state;
    assert_int_equal(hp_machine_parse(text, sizeof text - 1, "m.ini", "m", &machine),
                     HP_ERR_FORMAT);
    assert_string_equal(hp_error_text(), "m.ini:2: there is a control character in the line");
}

static void test_missing_things(void **state)
{
    static const char *const names[] = {"core", "units", "l1i", "l1d", "memory", "branch", "btb"};
    (void)state;
    for (size_t left_out = 0; left_out < N_SECTIONS; left_out++) {
        char text[4000] = "", expected[100];
        for (size_t i = 0; i < N_SECTIONS; i++)
            if (i != left_out)
                strcat(text, sections[i]);
        snprintf(expected, sizeof expected, "m.ini: there is no [%s]", names[left_out]);
        expect_text_error(text, expected);
    }
    expect_error("[l1d]\nsize = 1K\nline = 32\nlatency = 1\n", "m.ini:19: [l1d] needs 'ways'");
    expect_error("[l2]\n", "m.ini:31: [l2] needs 'size'");
    expect_error("[branch]\nindirect = btb\n", "m.ini:26: [branch] needs 'predictor'");
    expect_error("[l3]\nsize = 1M\nline = 64\nways = 1\nlatency = 9\n",
                 "m.ini:31: there is an [l3] but no [l2]");
    expect_error("[tlb2]\nentries = 4\nways = 2\n",
                 "m.ini:31: there is a [tlb2] but no [itlb] or [dtlb]");
}

static void test_bad_values(void **state)
{
    (void)state;
    expect_error("[ras]\nentries = many\n", "m.ini:32: [ras] entries: 'many' is not a number");
    expect_error("[ras]\nentries =\n", "m.ini:32: [ras] entries: '' is not a number");
    expect_error("[ras]\nentries = -1\n", "m.ini:32: [ras] entries: '-1' is not a number");
    expect_error("[ras]\nentries = 12 3\n", "m.ini:32: [ras] entries: '12 3' is not a number");
    expect_error("[ras]\nentries = 1KK\n", "m.ini:32: [ras] entries: '1KK' is not a number");
    expect_error("[ras]\nentries = 0x10\n", "m.ini:32: [ras] entries: '0x10' is not a number");
    expect_error("[ras]\nentries = 5000\n",
                 "m.ini:32: [ras] entries: 5000 is not between 0 and 4096");
    expect_error("[ras]\nentries = 99999999999999999999999\n",
                 "m.ini:32: [ras] entries: 99999999999999999999999 is not between 0 and 4096");
    expect_error("[ras]\nentries = 18014398509481984K\n",
                 "m.ini:32: [ras] entries: 18014398509481984K is not between 0 and 4096");
    expect_error("[bimodal]\nentries = 1000\n",
                 "m.ini:32: [bimodal] entries: 1000 is not a power of two");
    expect_error("[bimodal]\nentries = 0\n",
                 "m.ini:32: [bimodal] entries: 0 is not between 1 and 16777216");
    expect_error(
        "[branch]\npredictor = oracle\n",
        "m.ini:27: [branch] predictor: 'oracle' is none of static, bimodal, gshare, local, "
        "combined, alpha21264, tage");
    expect_error("[tage]\ntables = 17\n", "m.ini:32: [tage] tables: 17 is not between 1 and 16");
    expect_error("[tage]\nlongest = 2001\n",
                 "m.ini:32: [tage] longest: 2001 is not between 1 and 2000");
}

static void test_bad_geometry(void **state)
{
    (void)state;
    expect_error("[l1d]\nsize = 32K\nline = 48\nways = 1\nlatency = 1\n",
                 "m.ini:21: [l1d] line: 48 is not a power of two");
    expect_error("[l1d]\nsize = 32K\nline = 8\nways = 1\nlatency = 1\n",
                 "m.ini:21: [l1d] line: 8 is not between 16 and 4096");
    expect_error("[l1d]\nsize = 32K\nline = 32\nways = 0\nlatency = 1\n",
                 "m.ini:22: [l1d] ways: 0 is not between 1 and 16777216");
    expect_error("[l1d]\nsize = 64\nline = 128\nways = 1\nlatency = 1\n",
                 "m.ini:21: [l1d] line: a line of 128 bytes does not fit in a cache of 64");
    expect_error("[l1d]\nsize = 1000\nline = 32\nways = 1\nlatency = 1\n",
                 "m.ini:20: [l1d] size: 1000 bytes are not a number of lines of 32");
    expect_error("[l1d]\nsize = 1K\nline = 32\nways = 64\nlatency = 1\n",
                 "m.ini:22: [l1d] ways: 64 ways are more than its 32 lines");
    expect_error("[l1d]\nsize = 1K\nline = 32\nways = 3\nlatency = 1\n",
                 "m.ini:22: [l1d] ways: 32 lines in 3 ways do not make a number of sets that is a "
                 "power of two");
    expect_error("[l1d]\nsize = 3K\nline = 32\nways = 1\nlatency = 1\n",
                 "m.ini:22: [l1d] ways: 96 lines in 1 ways do not make a number of sets that is a "
                 "power of two");
    expect_error(
        "[l1d]\nsize = 3K\nline = 32\nways = 3\nlatency = 1\nreplacement = plru\n",
        "m.ini:22: [l1d] ways: replacement = plru needs a power of two of at most 64 ways, "
        "not 3");
    expect_error(
        "[l1d]\nsize = 4K\nline = 32\nways = full\nlatency = 1\nreplacement = plru\n",
        "m.ini:22: [l1d] ways: replacement = plru needs a power of two of at most 64 ways, "
        "not 128");
    expect_error("[l2]\nsize = 1M\nline = 16\nways = 4\nlatency = 9\n",
                 "m.ini:33: [l2] line: a line of 16 bytes is smaller than one of [l1i], 32");
    expect_error(
        "[dtlb]\nentries = 12\nways = 5\n",
        "m.ini:33: [dtlb] ways: 12 entries in 5 ways do not make a number of sets that is a "
        "power of two");
    expect_error("[dtlb]\nentries = 8\nways = 2\n[tlb2]\nentries = 64\nways = 4\npage = 8K\n",
                 "m.ini:31: [dtlb] page: pages of 4096 bytes, but [tlb2] has them of 8192");
    expect_error(
        "[btb]\nentries = 10\nways = 2\n",
        "m.ini:30: [btb] ways: 10 entries in 2 ways do not make a number of sets that is a "
        "power of two");
    expect_error("[combined]\nsecond = tage\n",
                 "m.ini:32: [combined] second: only bimodal, gshare and local predictors can be "
                 "combined");
    expect_error("[gshare]\nentries = 1K\nhistory = 11\n",
                 "m.ini:33: [gshare] history: a history of 11 bits needs more than 1024 entries");
    expect_error(
        "[tage]\nshortest = 9\nlongest = 8\n",
        "m.ini:32: [tage] shortest: the shortest history, 9, is longer than the longest, 8");
    expect_error(
        "[core]\nwidth = 4\nissue = 4\nretire = 4\nreorder = 8\nmemory_queue = 9\n",
        "m.ini:6: [core] memory_queue: 9 loads and stores are more than the 8 instructions "
        "in flight (reorder)");
}

static void test_files(void **state)
{
    struct hp_machine *machine;
    (void)state;
    assert_int_equal(hp_machine_load("unheard-of", &machine), HP_ERR_NOTFOUND);
    assert_non_null(strstr(hp_error_text(), "vaswani, alpha21264, arm9 and modern"));
    assert_int_equal(hp_machine_load("unheard-of.ini", &machine), HP_ERR_NOTFOUND);
    assert_string_equal(hp_error_text(),
                        "cannot open the machine file unheard-of.ini: No such file or directory");
    assert_int_equal(hp_machine_load("./", &machine), HP_ERR_IO);
    assert_int_equal(hp_machine_load("/dev/zero", &machine), HP_ERR_FORMAT);
    char path[] = "/tmp/hotpath-machine-XXXXXX", text[4000], named[64];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    make(text, sizeof text, "[ras]\nentries = 5\n");
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    snprintf(named, sizeof named, "%s.ini", path);
    assert_int_equal(rename(path, named), 0);
    assert_int_equal(hp_machine_load(named, &machine), HP_OK);
    assert_string_equal(hp_machine_name(machine), path + strlen("/tmp/"));
    assert_int_equal(machine->branch.ras_entries, 5);
    hp_machine_free(machine);
    unlink(named);
}

static void test_directory_from_the_environment(void **state)
{
    struct hp_machine *machine;
    char directory[] = "/tmp/hotpath-machines-XXXXXX", path[64], text[4000];
    (void)state;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/vaswani.ini", directory);
    make(text, sizeof text, "[ras]\nentries = 7\n");
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    setenv("HOTPATH_MACHINE_DIR", directory, 1);
    assert_int_equal(hp_machine_load("vaswani", &machine), HP_OK);
    assert_int_equal(machine->branch.ras_entries, 7);
    hp_machine_free(machine);
    unsetenv("HOTPATH_MACHINE_DIR");
    unlink(path);
    rmdir(directory);
}

/* --- Damage ----------------------------------------------------------------------------------- */

/* Tests run in the directory beside that of the machines. */
static char *shipped_text(const char *name, size_t *size)
{
    char path[64], *text = malloc(100000);
    snprintf(path, sizeof path, "../machines/%s.ini", name);
    FILE *file = fopen(path, "r");
    if (!file)
        return free(text), NULL;
    *size = fread(text, 1, 100000, file);
    fclose(file);
    return text;
}

/* Bytes changed, cut out, doubled: read, or refused with a place; never anything else. A machine
 * that is accepted can be built, unless it is too large. */
static void damage(const char *text, size_t size, uint64_t *seed, unsigned *accepted)
{
    static const char odd[] = "\n\n=[];#:0129KMG \t\r\xef\x80";
    struct hp_machine *machine = NULL;
    char *copy = malloc(2 * size); /* not terminated: reading beyond is seen by the sanitizer */
    size_t n = size;
    memcpy(copy, text, size);
    for (uint32_t i = random_below(seed, 4); i < 4; i++) {
        size_t at = random_below(seed, (uint32_t)n), length = random_below(seed, 40);
        if (length > n - at)
            length = n - at;
        switch (random_below(seed, 4)) {
        case 0: copy[at] = (char)random_next(seed); break;
        case 1: copy[at] = odd[random_below(seed, sizeof odd - 1)]; break;
        case 2:
            memmove(copy + at, copy + at + length, n - at - length);
            n -= length;
            break;
        default:
            if (n + length > 2 * size)
                break;
            memmove(copy + at + length, copy + at, n - at);
            n += length;
        }
        if (n == 0)
            break;
    }
    char *exact = malloc(n ? n : 1);
    memcpy(exact, copy, n);
    enum hp_err err = hp_machine_parse(exact, n, "m.ini", "m", &machine);
    if (err == HP_OK) {
        (*accepted)++;
        struct hp_core *core = NULL;
        if (machine->l1i.size + machine->l1d.size + machine->l2.size + machine->l3.size < 1 << 27 &&
            machine->branch.btb_entries < 1 << 20)
            assert_int_equal(hp_core_new(machine, &core), HP_OK);
        hp_core_free(core);
        hp_machine_free(machine);
    } else {
        assert_int_equal(err, HP_ERR_FORMAT);
        assert_int_equal(strncmp(hp_error_text(), "m.ini:", 6), 0);
        assert_null(strchr(hp_error_text(), '\n'));
        assert_null(machine);
    }
    free(copy);
    free(exact);
}

static void test_damaged_files(void **state)
{
    static const char *const names[] = {"vaswani", "alpha21264", "arm9", "modern"};
    const char *wanted = getenv("HOTPATH_MUTATIONS");
    int rounds = wanted ? atoi(wanted) : 400;
    (void)state;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size = 0;
        unsigned accepted = 0;
        uint64_t seed = i + 1;
        char *text = shipped_text(names[i], &size);
        assert_non_null(text);
        for (int k = 0; k < rounds; k++)
            damage(text, size, &seed, &accepted);
        assert_in_range(accepted, 1, rounds - 1);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shipped_machines_load),
        cmocka_unit_test(test_vaswani_is_table_3),
        cmocka_unit_test(test_defaults_and_full),
        cmocka_unit_test(test_spelling),
        cmocka_unit_test(test_every_key_is_kept),
        cmocka_unit_test(test_syntax_errors),
        cmocka_unit_test(test_nul_bytes_are_errors),
        cmocka_unit_test(test_missing_things),
        cmocka_unit_test(test_bad_values),
        cmocka_unit_test(test_bad_geometry),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_directory_from_the_environment),
        cmocka_unit_test(test_damaged_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
