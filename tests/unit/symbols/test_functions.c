// SPDX-License-Identifier: MIT
/* From blocks to functions: by symbol (of this very program), or else by what was called. */
#include "stream_fixture.h"

#include "symbols/functions.h"

#include <link.h>
#include <unistd.h>

struct test {
    struct stream s;
    struct hp_functions *functions;
    uint32_t next; /* segment */
};

static int setup(void **state)
{
    struct test *t = calloc(1, sizeof *t);
    stream_init(&t->s);
    assert_int_equal(hp_functions_new(t->s.code, &t->functions), HP_OK);
    *state = t;
    return 0;
}

static int teardown(void **state)
{
    struct test *t = *state;
    hp_functions_free(t->functions);
    stream_fini(&t->s);
    free(t);
    return 0;
}

/* A block (a return) at that address; returns its id. */
static uint32_t block_at(struct test *t, uint64_t address)
{
    add_segment(&t->s, ++t->next, address, "c3");
    return hp_code_n_blocks(t->s.code) - 1;
}

static uint64_t offset_of(const struct test *t, uint32_t function)
{
    assert_true(function < hp_functions_count(t->functions));
    return hp_functions_get(t->functions, function)->offset;
}

/* --- Without symbols -------------------------------------------------------------------------- */

static void code_without_symbols_has_no_function_yet(void **state)
{
    struct test *t = *state;
    uint32_t block = block_at(t, 0x1000);
    assert_int_equal(hp_functions_of_block(t->functions, block), HP_NO_ID);
    assert_false(hp_functions_is_entry(t->functions, block));
    assert_null(hp_functions_symbols(t->functions, t->s.module));
    assert_int_equal(hp_functions_count(t->functions), 0);
}

static void what_is_called_is_a_function(void **state)
{
    struct test *t = *state;
    uint32_t block = block_at(t, 0x1000), other = block_at(t, 0x1008);
    uint32_t function = hp_functions_enter(t->functions, block);
    assert_int_equal(offset_of(t, function), 0x1000);
    assert_null(hp_functions_get(t->functions, function)->symbol);
    assert_int_equal(hp_functions_enter(t->functions, block), function);
    assert_int_equal(hp_functions_of_block(t->functions, block), function);
    assert_true(hp_functions_is_entry(t->functions, block));
    assert_int_equal(hp_functions_of_block(t->functions, other), HP_NO_ID);
    assert_int_equal(hp_functions_count(t->functions), 1);
}

static void other_code_belongs_to_the_nearest_before(void **state)
{
    struct test *t = *state;
    struct hp_module second = {.path = "[other]", .build_id = "", .base = 0x100};
    uint32_t before = block_at(t, 0xff0), a = block_at(t, 0x1000), inside = block_at(t, 0x1010);
    uint32_t b = block_at(t, 0x1020), behind = block_at(t, 0x5000);
    assert_int_equal(hp_code_add_module(t->s.code, &second, &t->s.module), HP_OK);
    uint32_t elsewhere = block_at(t, 0x3000);
    uint32_t fb = hp_functions_enter(t->functions, b), fa = hp_functions_enter(t->functions, a);

    assert_int_equal(hp_functions_settle(t->functions, inside), fa);
    assert_int_equal(hp_functions_settle(t->functions, behind), fb);
    assert_int_equal(hp_functions_settle(t->functions, a), fa);
    assert_int_equal(hp_functions_settle(t->functions, b), fb);
    /* the first code of a module makes a function of its own, and one module is not another */
    assert_int_equal(offset_of(t, hp_functions_settle(t->functions, before)), 0xff0);
    uint32_t function = hp_functions_settle(t->functions, elsewhere);
    assert_int_equal(offset_of(t, function), 0x3000 - 0x100);
    assert_int_equal(hp_functions_get(t->functions, function)->module, t->s.module);
    assert_int_equal(hp_functions_of_block(t->functions, inside), fa); /* from now on */
}

static void blocks_that_come_later_are_known(void **state)
{
    struct test *t = *state;
    uint32_t first = hp_functions_enter(t->functions, block_at(t, 0x1000));
    for (uint64_t i = 1; i < 3000; i++) {
        uint32_t block = block_at(t, 0x1000 + i * 16);
        if (i % 3 == 0)
            assert_int_not_equal(hp_functions_enter(t->functions, block), first);
        else
            assert_int_equal(hp_functions_of_block(t->functions, block), HP_NO_ID);
    }
    assert_int_equal(hp_functions_count(t->functions), 1000);
    for (uint32_t i = 0; i < 3000; i++)
        assert_int_equal(offset_of(t, hp_functions_settle(t->functions, i)),
                         0x1000 + i / 3 * 3 * 16);
    assert_int_equal(hp_functions_count(t->functions), 1000);
}

/* --- With symbols ----------------------------------------------------------------------------- */

int probed_function(int n);
__attribute__((noinline)) int probed_function(int n)
{
    return n * 3 + (int)getpid();
}

static int find_base(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    uint64_t low = UINT64_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_vaddr < low)
            low = info->dlpi_phdr[i].p_vaddr & ~(uint64_t)4095;
    *(uint64_t *)data = info->dlpi_addr + low;
    return 1; /* the program comes first */
}

static void symbols_name_functions(void **state)
{
    struct test *t = *state;
    char path[1024] = "";
    struct hp_module module = {.path = path, .build_id = "", .high = UINT64_MAX};
    uint64_t address = (uint64_t)(uintptr_t)probed_function;
    assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    dl_iterate_phdr(find_base, &module.base);
    assert_int_equal(hp_code_add_module(t->s.code, &module, &t->s.module), HP_OK);
    uint32_t entry = block_at(t, address), inside = block_at(t, address + 4);
    uint32_t function = hp_functions_of_block(t->functions, inside);
    assert_int_not_equal(function, HP_NO_ID);
    assert_int_equal(hp_functions_of_block(t->functions, entry), function);
    assert_string_equal(hp_functions_get(t->functions, function)->symbol->name, "probed_function");
    assert_int_equal(offset_of(t, function), address - module.base);
    assert_true(hp_functions_get(t->functions, function)->size > 4);
    assert_true(hp_functions_is_entry(t->functions, entry));
    assert_false(hp_functions_is_entry(t->functions, inside));
    /* a call into the middle is a call of that function */
    assert_int_equal(hp_functions_enter(t->functions, inside), function);
    assert_int_equal(hp_functions_settle(t->functions, inside), function);
    assert_non_null(hp_functions_symbols(t->functions, t->s.module));
}

/* A table of ranges says of every place what a search for it says. */
static void ranges_are_what_is_found(void **state)
{
    struct hp_symbols *symbols;
    struct hp_symbol_range range = {0}, next;
    size_t n = 0, more;
    (void)state;
    assert_int_equal(hp_symbols_open("/proc/self/exe", "", &symbols), HP_OK);
    for (uint64_t at = 0; n < 100000; at += 7) {
        for (; (more = hp_symbols_range(symbols, n, &next)) && next.low <= at; n++) {
            assert_true(next.low >= range.high && next.high >= next.low);
            range = next;
        }
        const struct hp_symbol *symbol = hp_symbols_find(symbols, at);
        if (at >= range.low && at < range.high)
            assert_int_equal(symbol->offset, range.function);
        else
            assert_null(symbol);
        if (!more)
            break;
    }
    assert_in_range(n, 100, 99999);
    hp_symbols_close(symbols);
}

static void a_file_that_has_changed_has_no_symbols(void **state)
{
    struct test *t = *state;
    struct hp_module module = {.path = "/proc/self/exe", .build_id = "00", .high = UINT64_MAX};
    dl_iterate_phdr(find_base, &module.base);
    assert_int_equal(hp_code_add_module(t->s.code, &module, &t->s.module), HP_OK);
    uint32_t block = block_at(t, (uint64_t)(uintptr_t)probed_function);
    assert_int_equal(hp_functions_of_block(t->functions, block), HP_NO_ID);
    assert_null(hp_functions_symbols(t->functions, t->s.module));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(code_without_symbols_has_no_function_yet),
        CASE(what_is_called_is_a_function),
        CASE(other_code_belongs_to_the_nearest_before),
        CASE(blocks_that_come_later_are_known),
        CASE(symbols_name_functions),
        cmocka_unit_test(ranges_are_what_is_found),
        CASE(a_file_that_has_changed_has_no_symbols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
