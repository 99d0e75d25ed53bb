// SPDX-License-Identifier: MIT
/*
 * The decoders against tests/isa/NAME.s: files in which every instruction says what it is. The
 * build assembles them to isa/NAME.elf where it finds the architecture's assembler.
 */
#include "hotpath/isa.h"
#include "isa/elf_section.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
// cmocka.h needs the above
#include <cmocka.h>

struct file {
    const char *path;
    enum hp_arch arch;
    enum hp_isa_mode mode;
};

// A walk through the records of an expectation section: numbers and strings.
struct reader {
    const uint8_t *at;
    const uint8_t *end;
};

static uint32_t read_u32(struct reader *r)
{
    assert_true(r->end - r->at >= 4);
    uint32_t value = (uint32_t)r->at[0] | (uint32_t)r->at[1] << 8 | (uint32_t)r->at[2] << 16 |
                     (uint32_t)r->at[3] << 24;
    r->at += 4;
    return value;
}

static const char *read_string(struct reader *r)
{
    const char *text = (const char *)r->at;
    const uint8_t *zero = memchr(r->at, 0, (size_t)(r->end - r->at));
    assert_non_null(zero);
    r->at = zero + 1;
    return text;
}

static bool next_record(struct reader *r, const struct elf_section *section)
{
    while ((r->at - section->data) % 4)
        r->at++;
    return r->at < r->end;
}

struct fixture {
    struct elf_section text;
    struct elf_section expected;
    struct hp_decoder *decoder;
    const struct file *file;
    unsigned failures;
};

static void open_fixture(struct fixture *f, const struct file *file, const char *section)
{
    *f = (struct fixture){.file = file};
    if (!elf_section_read(file->path, ".text", &f->text)) {
        print_message("%s: not built, no assembler\n", file->path);
        skip();
    }
    assert_true(elf_section_read(file->path, section, &f->expected));
    assert_int_equal(hp_decoder_new(file->arch, &f->decoder), HP_OK);
}

static void close_fixture(struct fixture *f)
{
    hp_decoder_free(f->decoder);
    free(f->text.data);
    free(f->expected.data);
    assert_int_equal(f->failures, 0);
}

static enum hp_err decode_at(struct fixture *f, uint32_t address, bool flow_only,
                             struct hp_insn *insn, char *text, size_t text_size)
{
    size_t offset = address - f->text.address;
    assert_true(offset < f->text.size);
    hp_disassemble(f->decoder, f->file->mode, address, f->text.data + offset, f->text.size - offset,
                   text, text_size);
    return hp_decode(f->decoder, f->file->mode, address, f->text.data + offset,
                     f->text.size - offset, flow_only, insn);
}

// --- control flow ---

static void flags_text(const struct hp_insn *insn, char text[4])
{
    size_t n = 0;
    if (insn->flags & HP_INSN_CONDITIONAL)
        text[n++] = 'C';
    if (insn->flags & HP_INSN_ATOMIC)
        text[n++] = 'A';
    if (insn->flags & HP_INSN_REP)
        text[n++] = 'R';
    if (n == 0)
        text[n++] = '-';
    text[n] = 0;
}

static void check_flow(struct fixture *f, struct reader *r, bool flow_only)
{
    uint32_t address = read_u32(r), target = read_u32(r), length = read_u32(r);
    const char *flow = read_string(r), *flags = read_string(r);
    struct hp_insn insn;
    char text[128], got_flags[4];
    enum hp_err err = decode_at(f, address, flow_only, &insn, text, sizeof text);
    flags_text(&insn, got_flags);
    if (err == HP_OK && insn.length == length && insn.address == address && insn.target == target &&
        strcmp(hp_flow_name(insn.flow), flow) == 0 && strcmp(got_flags, flags) == 0)
        return;
    f->failures++;
    print_error("%s 0x%x \"%s\"%s: %s, length %u, target 0x%llx, flags %s; expected %s, %u, 0x%x, "
                "%s\n",
                f->file->path, address, text, err == HP_OK ? "" : " (error)",
                hp_flow_name(insn.flow), insn.length, (unsigned long long)insn.target, got_flags,
                flow, length, target, flags);
}

static void control_flow_is_as_written(void **state)
{
    for (int flow_only = 0; flow_only < 2; flow_only++) {
        struct fixture f;
        open_fixture(&f, *state, ".expect");
        struct reader r = {f.expected.data, f.expected.data + f.expected.size};
        unsigned count = 0;
        for (; next_record(&r, &f.expected); count++)
            check_flow(&f, &r, flow_only);
        assert_true(count > 20);
        close_fixture(&f);
    }
}

// --- operands ---

static void append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

static void set_text(const struct hp_regset *set, char *text, size_t size)
{
    text[0] = 0;
    for (unsigned i = 0; i < 63; i++)
        if (set->gpr >> i & 1)
            append(text, size, "%sr%u", *text ? " " : "", i);
    if (set->gpr >> HP_REG_FLAGS)
        append(text, size, "%sflags", *text ? " " : "");
    for (unsigned i = 0; i < 64; i++)
        if (set->vec >> i & 1)
            append(text, size, "%sv%u", *text ? " " : "", i);
}

// The order of registers in a line is for people; sets are compared.
static bool same_set(const char *expected, const char *got)
{
    if (strlen(expected) != strlen(got))
        return false;
    char copy[256], *rest = copy;
    snprintf(copy, sizeof copy, "%s", expected);
    char padded[256];
    snprintf(padded, sizeof padded, " %s ", got);
    for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, " %s ", word);
        if (!strstr(padded, wanted))
            return false;
    }
    return true;
}

static void memory_text(const struct hp_insn *insn, char *text, size_t size)
{
    text[0] = 0;
    for (unsigned i = 0; i < insn->n_mems; i++) {
        const struct hp_mem *mem = &insn->mems[i];
        append(text, size, "%s%u%s%s[", i ? " " : "", mem->size, mem->read ? "r" : "",
               mem->write ? "w" : "");
        if (mem->base == HP_MEM_PC)
            append(text, size, "pc");
        else if (mem->base != HP_MEM_NOREG)
            append(text, size, "r%u", mem->base);
        if (mem->index != HP_MEM_NOREG)
            append(text, size, "+r%u*%u", mem->index, mem->scale);
        if (mem->disp)
            append(text, size, "%+lld", (long long)mem->disp);
        append(text, size, "]");
    }
}

static void check_operands(struct fixture *f, struct reader *r)
{
    uint32_t address = read_u32(r);
    const char *op = read_string(r), *reads = read_string(r);
    const char *writes = read_string(r), *memory = read_string(r);
    struct hp_insn insn;
    char text[128], got_reads[256], got_writes[256], got_memory[256];
    enum hp_err err = decode_at(f, address, false, &insn, text, sizeof text);
    set_text(&insn.reads, got_reads, sizeof got_reads);
    set_text(&insn.writes, got_writes, sizeof got_writes);
    memory_text(&insn, got_memory, sizeof got_memory);
    if (err == HP_OK && strcmp(hp_op_name(insn.op), op) == 0 && same_set(reads, got_reads) &&
        same_set(writes, got_writes) && strcmp(memory, got_memory) == 0)
        return;
    f->failures++;
    print_error("%s 0x%x \"%s\": %s reads \"%s\" writes \"%s\" memory \"%s\"; expected %s \"%s\" "
                "\"%s\" \"%s\"\n",
                f->file->path, address, text, hp_op_name(insn.op), got_reads, got_writes,
                got_memory, op, reads, writes, memory);
}

static void operands_are_as_written(void **state)
{
    struct fixture f;
    open_fixture(&f, *state, ".operands");
    struct reader r = {f.expected.data, f.expected.data + f.expected.size};
    unsigned count = 0;
    for (; next_record(&r, &f.expected); count++)
        check_operands(&f, &r);
    assert_true(count > 10);
    close_fixture(&f);
}

// --- the rest of the contract ---

static void names_go_both_ways(void **state)
{
    (void)state;
    for (unsigned i = HP_ARCH_NONE + 1; i < HP_ARCH_COUNT_; i++)
        assert_int_equal(hp_arch_from_name(hp_arch_name((enum hp_arch)i)), i);
    assert_string_equal(hp_arch_name((enum hp_arch)99), "none");
    assert_int_equal(hp_arch_from_name("pdp11"), HP_ARCH_NONE);
    assert_string_equal(hp_flow_name(HP_FLOW_CALL_IND), "call_ind");
    for (unsigned i = 0; i < HP_FLOW_COUNT_; i++)
        assert_non_null(hp_flow_name((enum hp_flow)i));
    for (unsigned i = 0; i < HP_OP_COUNT_; i++)
        assert_non_null(hp_op_name((enum hp_op)i));
}

static void unknown_architecture_is_refused(void **state)
{
    (void)state;
    struct hp_decoder *decoder = (struct hp_decoder *)state;
    assert_int_equal(hp_decoder_new(HP_ARCH_NONE, &decoder), HP_ERR_UNSUPPORTED);
    assert_null(decoder);
    assert_int_equal(hp_decoder_new((enum hp_arch)77, &decoder), HP_ERR_UNSUPPORTED);
    hp_decoder_free(NULL);
}

struct bad_case {
    enum hp_arch arch;
    enum hp_isa_mode mode;
    uint8_t code[4];
    uint8_t size;
    uint8_t length; /* what a caller may skip */
};

static void bad_and_cut_off_code_can_be_skipped(void **state)
{
    (void)state;
    static const struct bad_case cases[] = {
        {HP_ARCH_X86_64, HP_MODE_DEFAULT, {0x06}, 1, 1},              // push es
        {HP_ARCH_X86_64, HP_MODE_DEFAULT, {0xe8, 0, 0, 0}, 4, 1},     // cut off
        {HP_ARCH_X86_64, HP_MODE_DEFAULT, {0}, 0, 1},                 // nothing
        {HP_ARCH_AARCH64, HP_MODE_DEFAULT, {0, 0, 0, 0x02}, 4, 4},    // unallocated
        {HP_ARCH_AARCH64, HP_MODE_DEFAULT, {0x1f, 0x20, 0x03}, 3, 4}, // cut off
        {HP_ARCH_ARM, HP_MODE_DEFAULT, {0x1e, 0xff, 0x2f}, 3, 4},
        {HP_ARCH_ARM, HP_MODE_THUMB, {0x00, 0xf0, 0x00}, 3, 2}, // half a BL
        {HP_ARCH_ARM, HP_MODE_THUMB, {0x00}, 1, 2},
        {HP_ARCH_RISCV64, HP_MODE_DEFAULT, {0x13, 0, 0}, 3, 2},
        {HP_ARCH_RISCV64, HP_MODE_DEFAULT, {0x1f, 0, 0, 0}, 4, 2}, // longer than 32 bits
        {HP_ARCH_RISCV64, HP_MODE_DEFAULT, {0x00, 0x80}, 2, 2},    // reserved, 16 bits
        {HP_ARCH_ALPHA, HP_MODE_DEFAULT, {0, 0, 0, 0x04}, 4, 4},   // reserved opcode
        {HP_ARCH_ALPHA, HP_MODE_DEFAULT, {0, 0, 0}, 3, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct bad_case *c = &cases[i];
        struct hp_decoder *decoder;
        assert_int_equal(hp_decoder_new(c->arch, &decoder), HP_OK);
        for (int flow_only = 0; flow_only < 2; flow_only++) {
            struct hp_insn insn;
            memset(&insn, 0xff, sizeof insn);
            enum hp_err err =
                hp_decode(decoder, c->mode, 0x1000, c->code, c->size, flow_only, &insn);
            assert_int_equal(err, HP_ERR_FORMAT);
            assert_int_equal(insn.length, c->length);
            assert_int_equal(insn.flow, HP_FLOW_NONE);
            assert_int_equal(insn.op, HP_OP_SYSTEM);
            assert_int_equal(insn.address, 0x1000);
            assert_int_equal(insn.target | insn.n_mems | insn.flags, 0);
        }
        char text[32];
        hp_disassemble(decoder, c->mode, 0x1000, c->code, c->size, text, sizeof text);
        assert_string_equal(text, "(bad)");
        hp_decoder_free(decoder);
    }
}

static void text_is_cut_to_the_buffer(void **state)
{
    (void)state;
    static const uint8_t x86[] = {0x48, 0x8b, 0x84, 0xcb, 0x78, 0x56, 0x34, 0x12};
    static const uint8_t riscv[] = {0x33, 0x85, 0xc5, 0x00};
    static const uint8_t alpha[] = {0xf8, 0xff, 0x22, 0xa4};
    struct hp_decoder *decoder;
    char text[64] = "xxxxxxxxxxxxxxxx";
    assert_int_equal(hp_decoder_new(HP_ARCH_X86_64, &decoder), HP_OK);
    hp_disassemble(decoder, HP_MODE_DEFAULT, 0, x86, sizeof x86, text, sizeof text);
    assert_string_equal(text, "mov rax, [rbx+rcx*8+0x12345678]");
    hp_disassemble(decoder, HP_MODE_DEFAULT, 0, x86, sizeof x86, text, 8);
    assert_string_equal(text, "mov rax");
    hp_disassemble(decoder, HP_MODE_DEFAULT, 0, x86, sizeof x86, text, 0);
    hp_decoder_free(decoder);
    assert_int_equal(hp_decoder_new(HP_ARCH_RISCV64, &decoder), HP_OK);
    hp_disassemble(decoder, HP_MODE_DEFAULT, 0, riscv, sizeof riscv, text, sizeof text);
    assert_string_equal(text, "add a0, a1, a2");
    hp_decoder_free(decoder);
    assert_int_equal(hp_decoder_new(HP_ARCH_ALPHA, &decoder), HP_OK);
    hp_disassemble(decoder, HP_MODE_DEFAULT, 0, alpha, sizeof alpha, text, sizeof text);
    assert_string_equal(text, "ldq t0, -8(t1)");
    hp_decoder_free(decoder);
}

// Capstone keeps the state of an IT block; a decode must not depend on the one before.
static void thumb_decodes_do_not_depend_on_order(void **state)
{
    (void)state;
    static const uint8_t itttt_eq[] = {0x01, 0xbf}, adds[] = {0x48, 0x1c};
    struct hp_decoder *decoder;
    struct hp_insn before, after;
    char text_before[64], text_after[64];
    assert_int_equal(hp_decoder_new(HP_ARCH_ARM, &decoder), HP_OK);
    hp_disassemble(decoder, HP_MODE_THUMB, 0, adds, 2, text_before, sizeof text_before);
    assert_int_equal(hp_decode(decoder, HP_MODE_THUMB, 0, adds, 2, false, &before), HP_OK);
    assert_int_equal(hp_decode(decoder, HP_MODE_THUMB, 0, itttt_eq, 2, false, &after), HP_OK);
    assert_int_equal(hp_decode(decoder, HP_MODE_THUMB, 0, adds, 2, false, &after), HP_OK);
    hp_disassemble(decoder, HP_MODE_THUMB, 0, itttt_eq, 2, text_after, sizeof text_after);
    hp_disassemble(decoder, HP_MODE_THUMB, 0, adds, 2, text_after, sizeof text_after);
    assert_memory_equal(&before, &after, sizeof before);
    assert_string_equal(text_before, "adds r0, r1, #1");
    assert_string_equal(text_after, text_before);
    hp_decoder_free(decoder);
}

static struct file files[] = {
    {"isa/x86.elf", HP_ARCH_X86_64, HP_MODE_DEFAULT},
    {"isa/aarch64.elf", HP_ARCH_AARCH64, HP_MODE_DEFAULT},
    {"isa/arm.elf", HP_ARCH_ARM, HP_MODE_DEFAULT},
    {"isa/thumb.elf", HP_ARCH_ARM, HP_MODE_THUMB},
    {"isa/riscv.elf", HP_ARCH_RISCV64, HP_MODE_DEFAULT},
    {"isa/alpha.elf", HP_ARCH_ALPHA, HP_MODE_DEFAULT},
};

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_go_both_ways),
        cmocka_unit_test(unknown_architecture_is_refused),
        cmocka_unit_test(bad_and_cut_off_code_can_be_skipped),
        cmocka_unit_test(text_is_cut_to_the_buffer),
        cmocka_unit_test(thumb_decodes_do_not_depend_on_order),
        {"x86 flow", control_flow_is_as_written, NULL, NULL, &files[0]},
        {"aarch64 flow", control_flow_is_as_written, NULL, NULL, &files[1]},
        {"arm flow", control_flow_is_as_written, NULL, NULL, &files[2]},
        {"thumb flow", control_flow_is_as_written, NULL, NULL, &files[3]},
        {"riscv flow", control_flow_is_as_written, NULL, NULL, &files[4]},
        {"alpha flow", control_flow_is_as_written, NULL, NULL, &files[5]},
        {"x86 operands", operands_are_as_written, NULL, NULL, &files[0]},
        {"aarch64 operands", operands_are_as_written, NULL, NULL, &files[1]},
        {"arm operands", operands_are_as_written, NULL, NULL, &files[2]},
        {"thumb operands", operands_are_as_written, NULL, NULL, &files[3]},
        {"riscv operands", operands_are_as_written, NULL, NULL, &files[4]},
        {"alpha operands", operands_are_as_written, NULL, NULL, &files[5]},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
