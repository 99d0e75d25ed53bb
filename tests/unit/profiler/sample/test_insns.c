// SPDX-License-Identifier: MIT
/* Static instructions of a program as rows of a profile: one a place and code, with function and
 * line. */
#include "stream_fixture.h"

#include "profiler/insns.h"

#include <link.h>
#include <unistd.h>

struct fixture {
    struct stream stream;
    struct hp_machine *machine;
    struct hp_program *program;
    struct hp_functions *functions;
    struct hp_profile *profile;
    struct hp_result *result;
};

static void begin(struct fixture *f)
{
    stream_init(&f->stream);
    assert_int_equal(hp_machine_load("vaswani", &f->machine), HP_OK);
    assert_int_equal(hp_program_new(f->machine, f->stream.code, &f->program), HP_OK);
    assert_int_equal(hp_functions_new(f->stream.code, &f->functions), HP_OK);
    assert_int_equal(hp_profile_new(&f->profile), HP_OK);
    assert_int_equal(hp_result_new(f->stream.code, f->functions, f->profile, &f->result), HP_OK);
}

static void end(struct fixture *f)
{
    hp_result_free(f->result);
    hp_profile_free(f->profile);
    hp_functions_free(f->functions);
    hp_program_free(f->program);
    hp_machine_free(f->machine);
    stream_fini(&f->stream);
}

/* Of the block that was added last. */
static uint32_t first_insn(struct fixture *f)
{
    uint32_t piece;
    assert_int_equal(hp_program_block(f->program, hp_code_n_blocks(f->stream.code) - 1, &piece),
                     HP_OK);
    return hp_program_piece(f->program, piece)->first;
}

static uint32_t row_of(struct fixture *f, uint32_t insn)
{
    uint32_t row;
    assert_int_equal(hp_result_insn(f->result, f->program, insn, &row), HP_OK);
    return row;
}

static const struct hp_pinsn *row_at(struct fixture *f, uint32_t insn)
{
    uint32_t row = row_of(f, insn); /* the array may move */
    return &f->profile->insns[row];
}

static void blocks_that_overlap_share_rows(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    add_segment(&f.stream, 1, 0x1000, "90 48 01 d8 c3");
    uint32_t whole = first_insn(&f);
    add_segment(&f.stream, 2, 0x1001, "48 01 d8 c3");
    uint32_t part = first_insn(&f);
    assert_int_not_equal(whole + 1, part);
    assert_int_equal(row_of(&f, part + 1), 0);
    assert_int_equal(row_of(&f, whole + 2), 0);
    assert_int_equal(row_of(&f, whole), 1);
    assert_int_equal(row_of(&f, whole + 1), 2);
    assert_int_equal(row_of(&f, part), 2);
    assert_int_equal(row_of(&f, part), 2);
    assert_int_equal(f.profile->n_insns, 3);
    const struct hp_pinsn *add = &f.profile->insns[2];
    assert_int_equal(add->place.offset, 0x1001);
    assert_int_equal(add->place.module, f.stream.module);
    assert_int_equal(add->length, 3);
    assert_int_equal(add->version, 0);
    assert_int_equal(add->op, HP_OP_ALU);
    assert_string_equal(add->text, "add rax, rbx");
    assert_string_equal(add->file, "");
    assert_int_equal(f.profile->insns[0].flow, HP_FLOW_RETURN);
    /* Code without symbols: all of it is of the function that was made for the first block. */
    assert_int_equal(add->function, f.profile->blocks[0].function);
    assert_int_not_equal(add->function, HP_PROFILE_NONE);
    end(&f);
}

/* Another instruction at a place is another version; what did not change is the same row. */
static void other_code_has_another_version(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    add_segment(&f.stream, 1, 0x1000, "90 48 01 d8 c3");
    uint32_t old = first_insn(&f);
    add_segment(&f.stream, 2, 0x1000, "90 48 29 d8 c3");
    uint32_t new = first_insn(&f);
    add_segment(&f.stream, 3, 0x1001, "48 31 c0 c3");
    uint32_t third = first_insn(&f);
    assert_int_equal(row_of(&f, old), row_of(&f, new));
    assert_int_equal(row_of(&f, old + 2), row_of(&f, new + 2));
    uint32_t add = row_of(&f, old + 1), sub = row_of(&f, new + 1), xor = row_of(&f, third);
    assert_int_equal(f.profile->insns[add].version, 0);
    assert_int_equal(f.profile->insns[sub].version, 1);
    assert_int_equal(f.profile->insns[xor].version, 2);
    assert_string_equal(f.profile->insns[sub].text, "sub rax, rbx");
    assert_int_equal(row_of(&f, third + 1), row_of(&f, old + 2));
    assert_int_equal(f.profile->n_insns, 5);
    end(&f);
}

/* --- Code of a file / ------------------------------------------------------------------------- */

__attribute__((noinline, used)) static int executed(int n)
{
    __asm__ volatile("" : "+r"(n));
    return n * 3;
}

__attribute__((noinline, used)) static int never_executed(int n)
{
    __asm__ volatile("" : "+r"(n));
    return n * 5;
}

static int first_object(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    uint64_t lowest = UINT64_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_vaddr < lowest)
            lowest = info->dlpi_phdr[i].p_vaddr;
    *(uint64_t *)base = info->dlpi_addr + (lowest & ~(uint64_t)4095);
    return 1;
}

/* Adds the code of a function of this program, up to its first transfer, as a block. */
static void add_own_code(struct fixture *f, uintptr_t address)
{
    struct hp_decoder *decoder;
    struct hp_insn insn;
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(length > 0);
    path[length] = 0;
    struct hp_module module = {.path = path, .build_id = "", .low = address, .high = address + 16};
    dl_iterate_phdr(first_object, &module.base);
    const uint8_t *code = (const uint8_t *)address;
    struct hp_segment segment = {.start = address, .bytes = code};
    assert_int_equal(hp_code_add_module(f->stream.code, &module, &segment.module), HP_OK);
    assert_int_equal(hp_decoder_new(HP_ARCH_X86_64, &decoder), HP_OK);
    do {
        assert_int_equal(hp_decode(decoder, HP_MODE_DEFAULT, address + segment.size,
                                   code + segment.size, 15, true, &insn),
                         HP_OK);
        segment.size += insn.length;
    } while (insn.flow == HP_FLOW_NONE);
    hp_decoder_free(decoder);
    assert_int_equal(hp_code_add_segment(f->stream.code, 1, &segment), HP_OK);
}

static void expect_function(const struct fixture *f, const struct hp_pinsn *row, const char *name)
{
    assert_int_not_equal(row->function, HP_PROFILE_NONE);
    const char *path = f->profile->modules[row->place.module].path;
    assert_non_null(strstr(path, "test_insns"));
    assert_string_equal(f->profile->functions[row->function].name, name);
}

static void functions_and_lines_of_a_file(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t piece;
    begin(&f);
    add_own_code(&f, (uintptr_t)&executed);
    uint32_t first = first_insn(&f);
    const struct hp_pinsn *row = row_at(&f, first);
    expect_function(&f, row, "executed");
    assert_non_null(strstr(row->file, "test_insns.c"));
    assert_int_not_equal(row->line, 0);

    /* A wrong path, beyond where the module was seen. */
    assert_int_equal(hp_program_block(f.program, 0, &piece), HP_OK);
    hp_program_reach(f.program, piece);
    piece = hp_program_at(f.program, (uintptr_t)&never_executed);
    assert_int_not_equal(piece, HP_NO_ID);
    assert_int_equal(hp_program_piece(f.program, piece)->block, HP_NO_ID);
    row = row_at(&f, hp_program_piece(f.program, piece)->first);
    expect_function(&f, row, "never_executed");
    assert_non_null(strstr(row->file, "test_insns.c"));
    end(&f);
}

static void lines_only_when_they_are_wanted(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    hp_functions_want_lines(f.functions, HP_LINES_FUNCTIONS);
    add_own_code(&f, (uintptr_t)&executed);
    const struct hp_pinsn *row = row_at(&f, first_insn(&f));
    expect_function(&f, row, "executed");
    assert_string_equal(row->file, "");
    assert_int_equal(row->line, 0);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_that_overlap_share_rows),
        cmocka_unit_test(other_code_has_another_version),
        cmocka_unit_test(functions_and_lines_of_a_file),
        cmocka_unit_test(lines_only_when_they_are_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
