// SPDX-License-Identifier: MIT
/*
 * The static program: pieces of blocks, and wrong paths into files. The file is this test's own
 * program: what it says has to be what is in memory.
 */
#include "engine/elf_file.h"
#include "hotpath/pipe.h"
#include "stream_fixture.h"

#include <elf.h>
#include <link.h>
#include <unistd.h>

/* Straight code, more than fits in a piece, with a load in it; then a jump over one byte that is no
 * instruction. */
void long_code(void);
__asm__(".text\n"
        ".globl long_code\n"
        ".type long_code, @function\n"
        "long_code:\n"
        "  xorl %eax, %eax\n"
        "  .rept 70\n"
        "  addl $1, %eax\n"
        "  .endr\n"
        "  movq (%rdi), %rdx\n"
        "  movq %rdx, 8(%rdi)\n"
        "  jmp 1f\n"
        "  .byte 6\n"
        "1: ret\n"
        ".size long_code, . - long_code\n");
#define XOR_SIZE 2
#define ADD_SIZE 3
#define N_ADDS   70

/* --- A program with a module ------------------------------------------------------------------ */

struct fixture {
    struct hp_code *code;
    struct hp_machine *machine;
    struct hp_program *program;
    uint32_t segments;
};

static int find_base(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    ElfW(Addr) lowest = ~(ElfW(Addr))0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_vaddr < lowest)
            lowest = info->dlpi_phdr[i].p_vaddr;
    *(uint64_t *)data = info->dlpi_addr + (lowest & ~(ElfW(Addr))4095);
    return 1; /* the first is the program itself */
}

static void own_module(struct hp_module *module, char *path, size_t size, struct hp_elf_file *elf)
{
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    assert_true(n > 0);
    path[n] = 0;
    assert_int_equal(hp_elf_file_read(path, elf), HP_OK);
    *module = (struct hp_module){.path = path, .build_id = elf->build_id};
    dl_iterate_phdr(find_base, &module->base);
    module->low = module->base;
    module->high = module->base + (1 << 24);
}

static void fixture_init(struct fixture *f)
{
    *f = (struct fixture){0};
    assert_int_equal(hp_code_new(HP_ARCH_X86_64, &f->code), HP_OK);
    assert_int_equal(hp_machine_load("modern", &f->machine), HP_OK);
    assert_int_equal(hp_program_new(f->machine, f->code, &f->program), HP_OK);
}

static void fixture_fini(struct fixture *f)
{
    hp_program_free(f->program);
    hp_machine_free(f->machine);
    hp_code_free(f->code);
}

static uint32_t add_module(struct fixture *f, const struct hp_module *module)
{
    uint32_t id;
    assert_int_equal(hp_code_add_module(f->code, module, &id), HP_OK);
    return id;
}

/* Adds a block of the bytes, and returns its piece. */
static uint32_t add_block(struct fixture *f, uint32_t module, uint64_t start, const void *bytes,
                          uint32_t size)
{
    struct hp_segment segment = {.start = start, .module = module, .size = size, .bytes = bytes};
    uint32_t piece, before = hp_code_n_blocks(f->code);
    assert_int_equal(hp_code_add_segment(f->code, ++f->segments, &segment), HP_OK);
    assert_int_equal(hp_code_n_blocks(f->code), before + 1);
    assert_int_equal(hp_program_block(f->program, before, &piece), HP_OK);
    return piece;
}

/* The block at an address of this program, as it is in memory. */
static uint32_t add_own_block(struct fixture *f, uint32_t module, const uint8_t *at)
{
    struct hp_decoder *decoder;
    struct hp_insn insn = {0};
    uint32_t size = 0;
    assert_int_equal(hp_decoder_new(HP_ARCH_X86_64, &decoder), HP_OK);
    while (insn.flow == HP_FLOW_NONE) {
        assert_int_equal(
            hp_decode(decoder, HP_MODE_DEFAULT, (uint64_t)at + size, at + size, 16, true, &insn),
            HP_OK);
        size += insn.length;
    }
    hp_decoder_free(decoder);
    return add_block(f, module, (uint64_t)at, at, size);
}

static const uint8_t *code_of(void (*function)(void))
{
    return (const uint8_t *)(uintptr_t)function;
}

/* --- Blocks ----------------------------------------------------------------------------------- */

static void pieces_of_blocks(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    uint32_t module =
        add_module(&f, &(struct hp_module){.path = "[anon]", .build_id = "", .high = UINT64_MAX});
    /* add rax, [rbx]; push rax; nop; call [rcx] and jne .+2 */
    static const uint8_t first[] = {0x48, 0x03, 0x03, 0x50, 0x90, 0xff, 0x11}, second[] = {0x75, 0};
    uint32_t a = add_block(&f, module, 0x1000, first, sizeof first);
    uint32_t b = add_block(&f, module, 0x2000, second, sizeof second), again;
    const struct hp_piece *piece = hp_program_piece(f.program, a);
    assert_int_equal(piece->first, 0);
    assert_int_equal(piece->n, 4);
    assert_int_equal(piece->block, 0);
    assert_int_equal(piece->n_mems, 4);
    assert_int_equal(hp_program_piece(f.program, b)->first, 4);
    assert_int_equal(hp_program_n_insns(f.program), 5);
    const struct hp_static *insns = hp_program_insns(f.program);
    static const unsigned first_mems[] = {0, 1, 2, 2}, n_uops[] = {2, 2, 0, 4};
    static const uint64_t addresses[] = {0x1000, 0x1003, 0x1004, 0x1005};
    for (unsigned i = 0, uops = 0; i < 4; i++) {
        assert_int_equal(insns[i].address, addresses[i]);
        assert_int_equal(insns[i].first_mem, first_mems[i]);
        assert_int_equal(insns[i].n_uops, n_uops[i]);
        assert_int_equal(insns[i].uops, uops);
        assert_int_equal(insns[i].block, 0);
        uops += n_uops[i];
    }
    assert_int_equal(insns[4].target, 0x2002);
    assert_int_equal(hp_program_uops(f.program)[insns[4].uops].unit, HP_UNIT_BRANCH);
    assert_int_equal(hp_program_block(f.program, 0, &again), HP_OK);
    assert_int_equal(again, a);
    assert_int_equal(hp_program_n_insns(f.program), 5);
    assert_int_equal(hp_program_block(f.program, 2, &again), HP_ERR_INVALID);
    assert_ptr_equal(hp_program_code(f.program), f.code);
    assert_ptr_equal(hp_program_machine(f.program), f.machine);
    fixture_fini(&f);
}

/* Wrong paths find what was executed, no sooner, and the latest. */
static void reached_blocks(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    uint32_t module =
        add_module(&f, &(struct hp_module){.path = "[anon]", .build_id = "", .high = UINT64_MAX});
    static const uint8_t first[] = {0x90, 0xc3}, second[] = {0x50, 0xc3};
    uint32_t a = add_block(&f, module, 0x1000, first, sizeof first);
    uint32_t b = add_block(&f, module, 0x1000, second, sizeof second);
    assert_int_equal(hp_program_at(f.program, 0x1000), HP_NO_ID);
    hp_program_reach(f.program, a);
    assert_int_equal(hp_program_at(f.program, 0x1000), a);
    assert_int_equal(hp_program_at(f.program, 0x1001), HP_NO_ID);
    hp_program_reach(f.program, b);
    hp_program_reach(f.program, b);
    assert_int_equal(hp_program_at(f.program, 0x1000), b);
    hp_program_reach(f.program, a);
    assert_int_equal(hp_program_at(f.program, 0x1000), a);
    fixture_fini(&f);
}

static void texts(void **state)
{
    (void)state;
    struct fixture f;
    char text[64], cut[4];
    fixture_init(&f);
    uint32_t module =
        add_module(&f, &(struct hp_module){.path = "[anon]", .build_id = "", .high = UINT64_MAX});
    static const uint8_t code[] = {0x01, 0xd8, 0x48, 0x8b, 0x03, 0xc3}, jump[] = {0xeb, 0x10};
    add_block(&f, module, 0x1000, code, sizeof code);
    add_block(&f, module, 0x2000, jump, sizeof jump);
    hp_program_text(f.program, 3, text, sizeof text);
    assert_non_null(strstr(text, "2012"));
    hp_program_text_at(f.program, 3, 0x400, text, sizeof text);
    assert_non_null(strstr(text, "412"));
    hp_program_text(f.program, 0, text, sizeof text);
    assert_string_equal(text, "add eax, ebx");
    hp_program_text(f.program, 1, text, sizeof text);
    assert_string_equal(text, "mov rax, [rbx]");
    hp_program_text(f.program, 2, text, sizeof text);
    assert_string_equal(text, "ret");
    hp_program_text(f.program, 2, cut, sizeof cut);
    assert_string_equal(cut, "ret");
    hp_program_text(f.program, 4, text, sizeof text);
    assert_string_equal(text, "(bad)");
    hp_program_text_at(f.program, 4, 0, text, sizeof text);
    assert_string_equal(text, "(bad)");
    fixture_fini(&f);
}

/* --- Files ------------------------------------------------------------------------------------ */

/* The instructions of a piece are those in memory at `at`. */
static void check_piece(struct fixture *f, uint32_t piece, const uint8_t *at, uint32_t n)
{
    assert_int_not_equal(piece, HP_NO_ID);
    struct hp_piece p = *hp_program_piece(f->program, piece);
    struct hp_decoder *decoder;
    assert_int_equal(p.n, n);
    assert_int_equal(p.block, HP_NO_ID);
    assert_int_equal(hp_decoder_new(HP_ARCH_X86_64, &decoder), HP_OK);
    for (uint32_t i = 0; i < n; i++) {
        const struct hp_static *got = hp_program_insns(f->program) + p.first + i;
        struct hp_insn insn;
        char text[64], expected[64];
        hp_decode(decoder, HP_MODE_DEFAULT, (uint64_t)at, at, 16, false, &insn);
        hp_disassemble(decoder, HP_MODE_DEFAULT, (uint64_t)at, at, 16, expected, sizeof expected);
        hp_program_text(f->program, p.first + i, text, sizeof text);
        assert_string_equal(text, expected);
        assert_int_equal(got->address, (uint64_t)at);
        assert_int_equal(got->end, (uint64_t)at + insn.length);
        assert_int_equal(got->op, insn.op);
        assert_int_equal(got->block, HP_NO_ID);
        at += insn.length;
    }
    hp_decoder_free(decoder);
}

static void wrong_paths_into_the_file(void **state)
{
    (void)state;
    struct fixture f;
    struct hp_module module;
    struct hp_elf_file elf;
    char path[4096];
    const uint8_t *code = code_of(long_code), *end;
    fixture_init(&f);
    own_module(&module, path, sizeof path, &elf);
    uint32_t own = add_own_block(&f, add_module(&f, &module), code);
    assert_int_equal(hp_program_at(f.program, (uint64_t)code + XOR_SIZE), HP_NO_ID);
    hp_program_reach(f.program, own);
    assert_int_equal(hp_program_at(f.program, (uint64_t)code), own);

    uint32_t piece = hp_program_at(f.program, (uint64_t)code + XOR_SIZE);
    check_piece(&f, piece, code + XOR_SIZE, HP_PIECE_MAX);
    assert_int_equal(hp_program_at(f.program, (uint64_t)code + XOR_SIZE), piece);
    assert_int_equal(hp_program_piece(f.program, piece)->n_mems, 0);
    end = code + XOR_SIZE + HP_PIECE_MAX * ADD_SIZE; /* 6 more, a load, a store, a jump */
    piece = hp_program_at(f.program, (uint64_t)end);
    check_piece(&f, piece, end, N_ADDS - HP_PIECE_MAX + 3);
    assert_int_equal(hp_program_piece(f.program, piece)->n_mems, 2);
    const struct hp_static *jump =
        hp_program_insns(f.program) + hp_program_piece(f.program, piece)->first + 8;
    assert_int_equal(jump->flow, HP_FLOW_JUMP);
    assert_int_equal(hp_program_at(f.program, jump->end), HP_NO_ID); /* the byte between */
    check_piece(&f, hp_program_at(f.program, jump->target), (const uint8_t *)jump->target, 1);
    fixture_fini(&f);
}

static void places_without_code(void **state)
{
    (void)state;
    struct fixture f;
    struct hp_module module;
    struct hp_elf_file elf;
    char path[4096];
    static int data = 1;
    fixture_init(&f);
    own_module(&module, path, sizeof path, &elf);
    hp_program_reach(f.program, add_own_block(&f, add_module(&f, &module), code_of(long_code)));
    assert_int_equal(hp_program_at(f.program, (uint64_t)(uintptr_t)&data), HP_NO_ID);
    assert_int_equal(hp_program_at(f.program, (uint64_t)(uintptr_t) "text"), HP_NO_ID);
    assert_int_equal(hp_program_at(f.program, module.base - 1), HP_NO_ID);
    assert_int_equal(hp_program_at(f.program, module.base + (1 << 24)), HP_NO_ID);
    assert_int_equal(hp_program_at(f.program, 0), HP_NO_ID);
    assert_int_equal(hp_program_at(f.program, UINT64_MAX), HP_NO_ID);
    fixture_fini(&f);
}

/* Whether code is found when this module was reached with this block. */
static bool finds(const struct hp_module *module, const uint8_t *block, uint32_t size)
{
    struct fixture f;
    uint64_t start = (uint64_t)code_of(long_code);
    fixture_init(&f);
    hp_program_reach(f.program, add_block(&f, add_module(&f, module), start, block, size));
    bool found = hp_program_at(f.program, start + XOR_SIZE) != HP_NO_ID;
    fixture_fini(&f);
    return found;
}

static void only_the_right_file(void **state)
{
    (void)state;
    struct hp_module module;
    struct hp_elf_file elf;
    char path[4096];
    const uint8_t *code = code_of(long_code);
    uint8_t other[XOR_SIZE + N_ADDS * ADD_SIZE + 9];
    static const uint8_t ret[] = {0x90, 0xc3};
    own_module(&module, path, sizeof path, &elf);
    memcpy(other, code, sizeof other);
    assert_true(elf.build_id[0]);
    assert_true(finds(&module, code, sizeof other));
    assert_true(finds(&module, ret, sizeof ret)); /* the build id is enough: code may be patched */

    struct hp_module changed = module;
    changed.build_id = "00112233445566778899aabbccddeeff00112233";
    assert_false(finds(&changed, code, sizeof other));
    changed.build_id = ""; /* then the code has to be the same */
    assert_true(finds(&changed, code, sizeof other));
    other[XOR_SIZE + ADD_SIZE - 1] = 2; /* add eax, 2 */
    assert_false(finds(&changed, other, sizeof other));
    static const char *const paths[] = {
        "/nowhere/to/be/found", "/dev/null", "/", "[vdso]", "[anon]", ""};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        changed = module;
        changed.path = paths[i];
        assert_false(finds(&changed, code, sizeof other));
    }
}

/* A module that comes where another one is: the one that was reached last. */
static void modules_on_each_other(void **state)
{
    (void)state;
    struct fixture f;
    struct hp_module module;
    struct hp_elf_file elf;
    char path[4096];
    const uint8_t *code = code_of(long_code);
    fixture_init(&f);
    own_module(&module, path, sizeof path, &elf);
    hp_program_reach(f.program, add_own_block(&f, add_module(&f, &module), code));
    uint64_t at = (uint64_t)code + XOR_SIZE, moved = at - ADD_SIZE;
    uint32_t before = hp_program_at(f.program, at);
    uint32_t nothing = hp_program_at(f.program, (uint64_t)1 << 60);
    module.base -= ADD_SIZE; /* the same file, elsewhere */
    uint32_t block = add_block(&f, add_module(&f, &module), moved - XOR_SIZE, code,
                               XOR_SIZE + N_ADDS * ADD_SIZE + 9);
    assert_int_equal(hp_program_at(f.program, at), before);
    hp_program_reach(f.program, block);
    assert_int_equal(nothing, HP_NO_ID);
    uint32_t after = hp_program_at(f.program, at);
    assert_int_not_equal(after, before);
    assert_int_equal(hp_program_piece(f.program, after)->n, HP_PIECE_MAX);
    fixture_fini(&f);
}

/* --- Damaged files ---------------------------------------------------------------------------- */

static uint8_t *read_all(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static void write_all(const char *path, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void damaged_files(void **state)
{
    (void)state;
    struct hp_module module;
    struct hp_elf_file elf;
    char path[4096], copy[] = "/tmp/hotpath-program-XXXXXX";
    const uint8_t *code = code_of(long_code);
    const uint32_t block = XOR_SIZE + N_ADDS * ADD_SIZE + 9;
    size_t size;
    uint64_t random = 1;
    own_module(&module, path, sizeof path, &elf);
    uint8_t *bytes = read_all(path, &size);
    int fd = mkstemp(copy);
    assert_true(fd >= 0);
    close(fd);
    module.path = copy;
    module.build_id = "";
    write_all(copy, bytes, size);
    assert_true(finds(&module, code, block));
    for (size_t keep = 0; keep < 2048; keep = keep * 2 + 1) {
        write_all(copy, bytes, keep);
        assert_false(finds(&module, code, block));
    }
    for (int i = 0; i < 300; i++) { /* in the headers; whether it finds something is open */
        size_t at = random_below(&random, sizeof(Elf64_Ehdr) + 14 * sizeof(Elf64_Phdr));
        uint8_t before = bytes[at];
        bytes[at] = i & 1 ? 0xff : (uint8_t)random_next(&random);
        write_all(copy, bytes, size < 65536 ? size : 65536);
        finds(&module, code, block);
        bytes[at] = before;
    }
    unlink(copy);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_of_blocks),
        cmocka_unit_test(reached_blocks),
        cmocka_unit_test(texts),
        cmocka_unit_test(wrong_paths_into_the_file),
        cmocka_unit_test(places_without_code),
        cmocka_unit_test(only_the_right_file),
        cmocka_unit_test(modules_on_each_other),
        cmocka_unit_test(damaged_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
