// SPDX-License-Identifier: MIT
#include "symbols/build.h"

#include "symbols/demangle.h"
#include "symbols/symbols.h"
#include "symbols/symbols_private.h"
#include "symbols/symbols_span.h"

#include <sys/stat.h>

static struct hp_symbols *open_built(const char *name)
{
    struct hp_symbols *symbols;
    enum hp_err err = hp_symbols_open(built(name), "", &symbols);
    if (err != HP_OK)
        fail_msg("%s: %s", name, hp_error_text());
    return symbols;
}

/* The offset of the only function of that name. */
static uint64_t only(struct hp_symbols *symbols, const char *name)
{
    uint64_t offset;
    size_t n = hp_symbols_by_name(symbols, name, &offset, 1);
    if (n != 1)
        fail_msg("%zu functions named %s", n, name);
    return offset;
}

static const char *linkage_at(struct hp_symbols *symbols, uint64_t offset)
{
    const struct hp_symbol *symbol = hp_symbols_find(symbols, offset);
    return symbol ? symbol->linkage : "";
}

/* --- Parts ------------------------------------------------------------------------------------ */

static void check_demangled(const char *mangled, bool params, const char *expected)
{
    char *name = hp_demangle(mangled, params);
    assert_non_null(name);
    assert_string_equal(name, expected);
    free(name);
}

static void demangle_knows_cxx_and_rust(void **state)
{
    (void)state;
    check_demangled("_ZN4shop4Till3addEiPKc", true, "shop::Till::add(int, char const*)");
    check_demangled("_ZN4shop4Till3addEiPKc", false, "shop::Till::add");
    check_demangled("_ZN4shop4growIlEET_S1_", true, "long shop::grow<long>(long)");
    check_demangled("_ZN4shop4growIlEET_S1_", false, "shop::grow<long>");
    check_demangled("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", true,
                    "core::fmt::Formatter::pad");
    check_demangled("_RNvNtCs1234_7mycrate3foo3bar", true, "mycrate::foo::bar");
    check_demangled("_RINvNtC3std3mem8align_ofjE", true, "std::mem::align_of::<usize>");
}

static void demangle_leaves_other_names_alone(void **state)
{
    (void)state;
    const char *const names[] = {"", "main", "_", "_Z", "_R", "_start", "Z3foov", "_Zgarbage"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_null(hp_demangle(names[i], true));
}

/* Each argument is the pair of the one before: the text doubles with every step. */
static void demangle_gives_up_on_exploding_names(void **state)
{
    (void)state;
    char name[4096] = "_Z1f1aIiE";
    size_t at = strlen(name);
    const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    at += (size_t)snprintf(name + at, sizeof name - at, "S_IS0_S0_E");
    for (int i = 1; i < 35; i++)
        at += (size_t)snprintf(name + at, sizeof name - at, "S_IS%c_S%c_E", digits[i], digits[i]);
    assert_null(hp_demangle(name, true));
    name[9 + 10 + 5 * 10] = '\0'; /* the same, short, is a name */
    char *readable = hp_demangle(name, true);
    assert_non_null(readable);
    free(readable);
}

static void paths_are_normalised(void **state)
{
    (void)state;
    const char *const cases[][3] = {
        {"/a/b", "c.c", "/a/b/c.c"},
        {"/a/b", "/x/y.c", "/x/y.c"},
        {"/a/b", "../c.c", "/a/c.c"},
        {"/a/b", "./x/./y//z.c", "/a/b/x/y/z.c"},
        {"", "../../c.c", "../../c.c"},
        {"", "a/../../c.c", "../c.c"},
        {"/", "../../c.c", "/c.c"},
        {"rel", "../../c.c", "../c.c"},
        {"/a/b/", "..hidden/c.c", "/a/b/..hidden/c.c"},
    };
    struct hp_strings strings = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(hp_strings_add_path(&strings, cases[i][0], cases[i][1]), cases[i][2]);
    assert_ptr_equal(hp_strings_add(&strings, "/c.cxx", 4), hp_strings_add(&strings, "/c.c", 4));
    hp_strings_fini(&strings);
}

/* The slow way: of the spans that contain the address, the one that starts last wins. */
static uint32_t innermost(const struct hp_symbol_span *spans, size_t n, uint64_t address)
{
    const struct hp_symbol_span *best = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct hp_symbol_span *span = &spans[i];
        if (address < span->low || address >= span->high)
            continue;
        if (!best || span->low > best->low ||
            (span->low == best->low &&
             (span->depth > best->depth || (span->depth == best->depth && span->id > best->id))))
            best = span;
    }
    return best ? best->id : HP_SPAN_NONE;
}

static void spans_agree_with_the_slow_way(void **state)
{
    (void)state;
    srand(1);
    for (int round = 0; round < 300; round++) {
        struct hp_symbol_span spans[40];
        size_t n = (size_t)rand() % 41;
        for (size_t i = 0; i < n; i++) {
            uint64_t low = (uint64_t)(rand() % 100);
            spans[i] = (struct hp_symbol_span){.low = low,
                                               .high = low + (uint64_t)(rand() % 30),
                                               .depth = (uint32_t)rand() % 3,
                                               .id = (uint32_t)i};
        }
        struct hp_span_index index = {0};
        assert_int_equal(hp_span_index_build(&index, spans, n), HP_OK);
        for (uint64_t address = 0; address < 140; address++)
            assert_int_equal(hp_span_find(&index, address), innermost(spans, n, address));
        hp_span_index_fini(&index);
    }
}

/* --- Functions -------------------------------------------------------------------------------- */

static void functions_are_found_by_offset_and_name(void **state)
{
    (void)state;
    assert_int_equal(run("cc -g -O2 $S/inline.c -o prog"), 0);
    struct hp_symbols *symbols = open_built("prog");
    uint64_t outer = only(symbols, "outer");
    const struct hp_symbol *symbol = hp_symbols_find(symbols, outer);
    assert_non_null(symbol);
    assert_string_equal(symbol->linkage, "outer");
    assert_string_equal(symbol->name, "outer");
    assert_int_equal(symbol->offset, outer);
    assert_true(symbol->size > 8);
    assert_ptr_equal(hp_symbols_find(symbols, outer + symbol->size - 1), symbol);
    assert_ptr_not_equal(hp_symbols_find(symbols, outer + symbol->size), symbol);
    assert_ptr_not_equal(hp_symbols_find(symbols, outer - 1), symbol);
    assert_null(hp_symbols_find(symbols, 0));
    assert_null(hp_symbols_find(symbols, UINT64_MAX));
    assert_string_equal(linkage_at(symbols, only(symbols, "hidden")), "hidden");
    assert_int_equal(hp_symbols_by_name(symbols, "no_such", NULL, 0), 0);
    hp_symbols_close(symbols);
}

static void offsets_do_not_depend_on_the_link_address(void **state)
{
    (void)state;
    assert_int_equal(run("cc -g -O2 -no-pie $S/inline.c -o fixed && "
                         "nm fixed | sed -n 's/^\\([0-9a-f]*\\) T outer$/\\1/p' > fixed.outer"),
                     0);
    FILE *file = fopen(built("fixed.outer"), "r");
    assert_non_null(file);
    unsigned long address = 0;
    assert_int_equal(fscanf(file, "%lx", &address), 1);
    fclose(file);
    struct hp_symbols *symbols = open_built("fixed");
    assert_int_equal(only(symbols, "outer"), address - 0x400000);
    struct hp_source source;
    assert_int_equal(hp_symbols_source(symbols, address - 0x400000, &source), HP_OK);
    hp_symbols_close(symbols);
}

static void only_dynamic_symbols_are_left_after_strip(void **state)
{
    (void)state;
    assert_int_equal(run("cc -O2 -fPIC -shared $S/inline.c -o lib.so && strip lib.so"), 0);
    struct hp_symbols *symbols = open_built("lib.so");
    only(symbols, "outer");
    assert_int_equal(hp_symbols_by_name(symbols, "hidden", NULL, 0), 0);
    struct hp_source source;
    assert_int_equal(hp_symbols_source(symbols, only(symbols, "outer"), &source), HP_ERR_NOTFOUND);
    assert_string_equal(source.file, "");
    assert_string_equal(source.inlined, "");
    assert_string_equal(source.call_file, "");
    hp_symbols_close(symbols);
}

static void cxx_functions_have_three_names(void **state)
{
    (void)state;
    assert_int_equal(run("c++ -g -O1 $S/names.cc -o names"), 0);
    struct hp_symbols *symbols = open_built("names");
    uint64_t add = only(symbols, "_ZN4shop4Till3addEiPKc");
    assert_int_equal(only(symbols, "shop::Till::add(int, char const*)"), add);
    assert_int_equal(only(symbols, "shop::Till::add"), add);
    assert_string_equal(hp_symbols_find(symbols, add)->name, "shop::Till::add(int, char const*)");
    assert_int_equal(hp_symbols_by_name(symbols, "shop::Till::add(int)", NULL, 0), 0);
    assert_int_equal(only(symbols, "shop::Till::total"), only(symbols, "_ZNK4shop4Till5totalEv"));
    only(symbols, "shop::grow<long>");
    uint64_t offsets[3] = {0, 0, 77};
    assert_int_equal(hp_symbols_by_name(symbols, "shop::twice", offsets, 3), 2);
    assert_true(offsets[0] < offsets[1]);
    assert_int_equal(hp_symbols_by_name(symbols, "shop::twice", offsets + 2, 0), 2);
    assert_int_equal(offsets[2], 77);
    hp_symbols_close(symbols);
}

static void labels(const char *compiler, unsigned nop)
{
    assert_int_equal(run("%s -nostdlib -static $S/labels.S -o labels", compiler), 0);
    struct hp_symbols *symbols = open_built("labels");
    uint64_t start = only(symbols, "_start"), sized = only(symbols, "sized");
    assert_int_equal(sized, start + 2 * nop);
    const char *const expected[] = {"_start", "_start",      "sized",       "sized",
                                    "sized",  "local_label", "local_label", "d_same",
                                    "d_same", "tail",        "tail",        ""};
    for (unsigned i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_string_equal(linkage_at(symbols, start + i * nop), expected[i]);
    assert_string_equal(linkage_at(symbols, start - 1), "");
    assert_int_equal(hp_symbols_by_name(symbols, "inside", NULL, 0), 0);
    assert_int_equal(only(symbols, "a_weak"), start + 7 * nop);
    assert_int_equal(only(symbols, "b_local"), start + 7 * nop);
    assert_int_equal(hp_symbols_find(symbols, start + 9 * nop)->size, 0);
    hp_symbols_close(symbols);
}

static void aliases_and_labels_are_resolved(void **state)
{
    (void)state;
    labels("cc", 1);
    if (have("aarch64-linux-gnu-gcc"))
        labels("aarch64-linux-gnu-gcc", 4);
    if (have("arm-linux-gnueabihf-gcc"))
        labels("arm-linux-gnueabihf-gcc -mthumb -Wa,-mthumb", 2);
}

static void versions_are_taken_off(void **state)
{
    (void)state;
    assert_int_equal(run("printf 'V1 { global: tool; local: *; }; V2 { global: tool; } V1;' > map "
                         "&& cc -fPIC -shared -Wl,--version-script=map $S/versions.c -o tools.so "
                         "&& strings -a tools.so | grep -q 'tool@@V2'"),
                     0);
    struct hp_symbols *symbols = open_built("tools.so");
    uint64_t offsets[2];
    assert_int_equal(hp_symbols_by_name(symbols, "tool", offsets, 2), 2);
    assert_string_equal(linkage_at(symbols, offsets[0]), "tool");
    assert_string_equal(linkage_at(symbols, offsets[1]), "tool");
    hp_symbols_close(symbols);
}

/* --- PLT -------------------------------------------------------------------------------------- */

/* Every entry is found at its start and its last byte. */
static void check_plt(const char *command, const char *const *names)
{
    if (run("%s", command) != 0)
        fail_msg("cannot build: %s", command);
    struct hp_symbols *symbols = open_built("plt");
    for (; *names; names++) {
        uint64_t offsets[4];
        size_t n = hp_symbols_by_name(symbols, *names, offsets, 4);
        if (n < 1 || n > 2) /* .plt and .plt.sec */
            fail_msg("%zu entries %s after %s", n, *names, command);
        for (size_t i = 0; i < n; i++) {
            const struct hp_symbol *symbol = hp_symbols_find(symbols, offsets[i]);
            assert_string_equal(symbol->name, *names);
            assert_int_equal(symbol->offset, offsets[i]);
            assert_ptr_equal(hp_symbols_find(symbols, offsets[i] + symbol->size - 1), symbol);
        }
    }
    hp_symbols_close(symbols);
}

static void plt_entries_have_names(void **state)
{
    (void)state;
    const char *const c[] = {"printf@plt", "puts@plt", NULL};
    const char *const cxx[] = {"atoi@plt", NULL};
    const char *const own[] = {"shop::twice(int)@plt", "shop::Till::total() const@plt", NULL};
    check_plt("cc -O1 -fno-builtin -Wl,-z,lazy $S/inline.c -o plt", c);
    check_plt("cc -O1 -fno-builtin -Wl,-z,now $S/inline.c -o plt", c);
    check_plt("cc -O1 -fno-builtin -fcf-protection -Wl,-z,ibtplt -Wl,-z,lazy $S/inline.c -o plt",
              c);
    check_plt("cc -O1 -fno-builtin -fcf-protection -Wl,-z,ibtplt -Wl,-z,now $S/inline.c -o plt", c);
    check_plt("c++ -O0 $S/names.cc -o plt", cxx);
    check_plt("c++ -O1 -fPIC -shared $S/names.cc -o plt", own);
    check_plt("cc -O1 -fno-builtin $S/inline.c -o plt && strip plt", c);
    if (have("ld.lld"))
        check_plt("cc -O1 -fno-builtin -fuse-ld=lld $S/inline.c -o plt", c);
    if (have("ld.gold"))
        check_plt("cc -O1 -fno-builtin -fuse-ld=gold $S/inline.c -o plt", c);
}

static void other_machines_are_understood(void **state)
{
    (void)state;
    const char *const names[] = {"printf@plt", "puts@plt", NULL};
    const char *const builds[][2] = {
        {"aarch64-linux-gnu-gcc", "-O1"},
        {"aarch64-linux-gnu-gcc", "-O1 -mbranch-protection=standard -Wl,-z,force-bti"},
        {"arm-linux-gnueabihf-gcc", "-O1 -marm"},
        {"arm-linux-gnueabihf-gcc", "-O1 -mthumb"},
        {"riscv64-linux-gnu-gcc", "-O1"},
        {"alpha-linux-gnu-gcc", "-O1"},
    };
    unsigned tried = 0;
    for (size_t i = 0; i < sizeof builds / sizeof builds[0]; i++) {
        if (!have(builds[i][0]))
            continue;
        tried++;
        char command[512];
        snprintf(command, sizeof command, "%s -g %s -fno-builtin $S/inline.c -o plt 2>/dev/null",
                 builds[i][0], builds[i][1]);
        const char *const none[] = {NULL};
        check_plt(command, strncmp(builds[i][0], "alpha", 5) == 0 ? none : names);
        struct hp_symbols *symbols = open_built("plt");
        uint64_t outer = only(symbols, "outer");
        assert_int_equal(outer & 1, 0);
        struct hp_source source;
        assert_int_equal(hp_symbols_source(symbols, outer, &source), HP_OK);
        assert_non_null(strstr(source.file, "/inline.c"));
        assert_true(source.line >= line_of("inline.c", "MIDDLE"));
        hp_symbols_close(symbols);
    }
    if (!tried)
        skip();
}

/* --- Refusals --------------------------------------------------------------------------------- */

static void files_that_are_not_elf_are_refused(void **state)
{
    (void)state;
    struct hp_symbols *symbols = (void *)1;
    assert_int_equal(hp_symbols_open(built("missing"), "", &symbols), HP_ERR_IO);
    assert_null(symbols);
    assert_non_null(strstr(hp_error_text(), "missing"));
    assert_int_equal(run("echo text > text && : > empty && mkfifo fifo && mkdir dir"), 0);
    assert_int_equal(hp_symbols_open(built("text"), "", &symbols), HP_ERR_FORMAT);
    assert_int_equal(hp_symbols_open(built("empty"), "", &symbols), HP_ERR_FORMAT);
    assert_int_equal(hp_symbols_open(built("fifo"), "", &symbols), HP_ERR_FORMAT);
    assert_int_equal(hp_symbols_open(built("dir"), "", &symbols), HP_ERR_FORMAT);
    hp_symbols_close(NULL);
}

static void another_build_id_is_refused(void **state)
{
    (void)state;
    assert_int_equal(run("cc -Wl,--build-id=0xabCDef0123456789 $S/inline.c -o ided && "
                         "cc -Wl,--build-id=none $S/inline.c -o anonymous"),
                     0);
    struct hp_symbols *symbols = open_built("ided");
    assert_string_equal(hp_symbols_build_id(symbols), "abcdef0123456789");
    hp_symbols_close(symbols);
    assert_int_equal(hp_symbols_open(built("ided"), "abcdef0123456789", &symbols), HP_OK);
    hp_symbols_close(symbols);
    assert_int_equal(hp_symbols_open(built("ided"), "abcdef0123456788", &symbols), HP_ERR_NOTFOUND);
    assert_int_equal(hp_symbols_open(built("anonymous"), "abcdef", &symbols), HP_ERR_NOTFOUND);
    symbols = open_built("anonymous");
    assert_string_equal(hp_symbols_build_id(symbols), "");
    hp_symbols_close(symbols);
}

static void objects_have_no_offsets(void **state)
{
    (void)state;
    assert_int_equal(run("cc -g -O2 -c $S/inline.c -o inline.o"), 0);
    struct hp_symbols *symbols = open_built("inline.o");
    struct hp_source source;
    assert_null(hp_symbols_find(symbols, 0));
    assert_int_equal(hp_symbols_source(symbols, 0, &source), HP_ERR_NOTFOUND);
    hp_symbols_close(symbols);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(demangle_knows_cxx_and_rust),
        cmocka_unit_test(demangle_leaves_other_names_alone),
        cmocka_unit_test(demangle_gives_up_on_exploding_names),
        cmocka_unit_test(paths_are_normalised),
        cmocka_unit_test(spans_agree_with_the_slow_way),
        cmocka_unit_test(functions_are_found_by_offset_and_name),
        cmocka_unit_test(offsets_do_not_depend_on_the_link_address),
        cmocka_unit_test(only_dynamic_symbols_are_left_after_strip),
        cmocka_unit_test(cxx_functions_have_three_names),
        cmocka_unit_test(aliases_and_labels_are_resolved),
        cmocka_unit_test(versions_are_taken_off),
        cmocka_unit_test(plt_entries_have_names),
        cmocka_unit_test(other_machines_are_understood),
        cmocka_unit_test(files_that_are_not_elf_are_refused),
        cmocka_unit_test(another_build_id_is_refused),
        cmocka_unit_test(objects_have_no_offsets),
    };
    return cmocka_run_group_tests(tests, build_setup, build_teardown);
}
