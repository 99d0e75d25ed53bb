// SPDX-License-Identifier: MIT
/*
 * The decoders on a lot of code: both decodes agree on installed libraries and on random bytes,
 * real code decodes without a gap, and Capstone, an independent witness, sees the same branches.
 */
#include "hotpath/isa.h"
#include "isa/elf_section.h"

#include <capstone/capstone.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
// cmocka.h needs the above
#include <cmocka.h>

struct corpus {
    const char *path;
    enum hp_arch arch;
    enum hp_isa_mode mode;
    unsigned bad_per_million; /* data in the text: tables, literal pools */
};

static struct corpus corpora[] = {
    {"/proc/self/exe", HP_ARCH_X86_64, HP_MODE_DEFAULT, 0},
    {"/bin/bash", HP_ARCH_X86_64, HP_MODE_DEFAULT, 0},
    {"/usr/aarch64-linux-gnu/lib/libc.so.6", HP_ARCH_AARCH64, HP_MODE_DEFAULT, 0},
    {"/usr/arm-linux-gnueabihf/lib/libc.so.6", HP_ARCH_ARM, HP_MODE_THUMB, 100},
    {"/usr/riscv64-linux-gnu/lib/libc.so.6", HP_ARCH_RISCV64, HP_MODE_DEFAULT, 100},
    {"/usr/alpha-linux-gnu/lib/libc.so.6.1", HP_ARCH_ALPHA, HP_MODE_DEFAULT, 100},
};

static void assert_same_flow(const struct hp_insn *a, const struct hp_insn *b)
{
    assert_int_equal(a->address, b->address);
    assert_int_equal(a->length, b->length);
    assert_int_equal(a->flow, b->flow);
    assert_int_equal(a->target, b->target);
    assert_int_equal(a->flags, b->flags);
}

// What must hold of any instruction.
static void assert_sane(const struct hp_insn *insn)
{
    assert_in_range(insn->length, 1, 15);
    assert_in_range(insn->flow, 0, HP_FLOW_COUNT_ - 1);
    assert_in_range(insn->op, 0, HP_OP_COUNT_ - 1);
    assert_in_range(insn->n_mems, 0, HP_INSN_MAX_MEMS);
    bool direct =
        insn->flow == HP_FLOW_JUMP || insn->flow == HP_FLOW_COND || insn->flow == HP_FLOW_CALL;
    if (!direct)
        assert_int_equal(insn->target, 0);
    if (insn->flow == HP_FLOW_COND)
        assert_true(insn->flags & HP_INSN_CONDITIONAL);
    if (insn->flags & HP_INSN_CONDITIONAL)
        assert_int_not_equal(insn->flow, HP_FLOW_NONE);
    for (unsigned i = 0; i < insn->n_mems; i++)
        assert_true(insn->mems[i].read || insn->mems[i].write);
}

static void both_decodes_agree_on_real_code(void **state)
{
    const struct corpus *corpus = *state;
    struct elf_section text;
    if (!elf_section_read(corpus->path, ".text", &text))
        skip();
    struct hp_decoder *decoder;
    assert_int_equal(hp_decoder_new(corpus->arch, &decoder), HP_OK);
    uint64_t count = 0, bad = 0, branches = 0;
    for (size_t at = 0; at < text.size; count++) {
        struct hp_insn fast, full;
        uint64_t address = text.address + at;
        const uint8_t *code = text.data + at;
        size_t size = text.size - at;
        enum hp_err err = hp_decode(decoder, corpus->mode, address, code, size, true, &fast);
        assert_int_equal(err, hp_decode(decoder, corpus->mode, address, code, size, false, &full));
        assert_same_flow(&fast, &full);
        assert_sane(&full);
        bad += err != HP_OK;
        branches += full.flow != HP_FLOW_NONE;
        at += full.length;
    }
    assert_true(count > 100);
    assert_true(branches * 50 > count); // a decoder that sees nothing agrees with itself, too
    assert_true(bad * 1000000 <= corpus->bad_per_million * count);
    hp_decoder_free(decoder);
    free(text.data);
}

// --- Capstone as a witness ---

static bool in_group(csh handle, const cs_insn *insn, unsigned group)
{
    return cs_insn_group(handle, insn, group);
}

static int64_t immediate_target(enum hp_arch arch, const cs_insn *insn)
{
    if (arch == HP_ARCH_AARCH64) {
        const cs_arm64 *d = &insn->detail->arm64;
        for (unsigned i = d->op_count; i-- > 0;)
            if (d->operands[i].type == ARM64_OP_IMM)
                return d->operands[i].imm;
    } else {
        const cs_arm *d = &insn->detail->arm;
        for (unsigned i = d->op_count; i-- > 0;)
            if (d->operands[i].type == ARM_OP_IMM)
                return (uint32_t)d->operands[i].imm;
    }
    return -1;
}

// Whether they agree on whether it is a branch, and where to.
static bool agrees(csh handle, const cs_insn *cs, enum hp_arch arch, const struct hp_insn *insn)
{
    if (insn->flow == HP_FLOW_SYSCALL || insn->flow == HP_FLOW_TRAP)
        return cs->size == insn->length;
    bool is_branch = in_group(handle, cs, CS_GRP_JUMP) || in_group(handle, cs, CS_GRP_CALL) ||
                     in_group(handle, cs, CS_GRP_RET);
    if (arch == HP_ARCH_ARM) { // the group of a write to the program counter is not always JUMP
        cs_regs reads, writes;
        uint8_t n_reads = 0, n_writes = 0;
        assert_int_equal(cs_regs_access(handle, cs, reads, &n_reads, writes, &n_writes), 0);
        for (unsigned i = 0; i < n_writes; i++)
            is_branch |= writes[i] == ARM_REG_PC;
    }
    bool same = cs->size == insn->length && is_branch == (insn->flow != HP_FLOW_NONE);
    if (same && insn->target)
        same = immediate_target(arch, cs) == (int64_t)insn->target;
    return same;
}

static void capstone_sees_the_same_branches(void **state)
{
    const struct corpus *corpus = *state;
    struct elf_section text;
    if (!elf_section_read(corpus->path, ".text", &text))
        skip();
    bool arm64 = corpus->arch == HP_ARCH_AARCH64;
    csh handle;
    cs_mode mode = arm64 ? CS_MODE_ARM : (cs_mode)((unsigned)CS_MODE_THUMB | (unsigned)CS_MODE_V8);
    assert_int_equal(cs_open(arm64 ? CS_ARCH_ARM64 : CS_ARCH_ARM, mode, &handle), CS_ERR_OK);
    cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
    cs_insn *cs = cs_malloc(handle);
    assert_non_null(cs);
    struct hp_decoder *decoder;
    assert_int_equal(hp_decoder_new(corpus->arch, &decoder), HP_OK);
    uint64_t compared = 0, differ = 0;
    for (size_t at = 0; at < text.size;) {
        struct hp_insn insn;
        const uint8_t *code = text.data + at;
        size_t size = text.size - at;
        uint64_t address = text.address + at;
        hp_decode(decoder, corpus->mode, address, code, size, true, &insn);
        // Conditions of IT blocks and the data between functions are not what is compared here.
        if (cs_disasm_iter(handle, &code, &size, &address, cs) &&
            (arm64 || cs->detail->arm.cc == ARM_CC_AL || insn.flow == HP_FLOW_COND)) {
            compared++;
            if (!agrees(handle, cs, corpus->arch, &insn)) {
                differ++;
                print_message("0x%llx %s %s: %s\n", (unsigned long long)cs->address, cs->mnemonic,
                              cs->op_str, hp_flow_name(insn.flow));
            }
        }
        at += insn.length;
    }
    assert_true(compared > 100000);
    assert_true(differ * 1000000 <= corpus->bad_per_million * compared);
    hp_decoder_free(decoder);
    cs_free(cs, 1);
    cs_close(&handle);
    free(text.data);
}

// --- random bytes ---

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

// Random x86 code seldom has the prefixes and escapes that real code has.
static void add_prefixes(uint8_t *code, size_t size, uint64_t random)
{
    static const uint8_t common[16] = {0x66, 0xf2, 0xf3, 0xf0, 0x48, 0x41, 0x4c, 0x40,
                                       0x0f, 0x0f, 0xc4, 0xc5, 0x62, 0x64, 0x67, 0xff};
    for (size_t i = 0; i < random % 4 && i < size; i++)
        code[i] = common[random >> (8 + 4 * i) & 15];
}

static void random_bytes_are_harmless(void **state)
{
    const struct corpus *corpus = *state;
    struct hp_decoder *decoder;
    assert_int_equal(hp_decoder_new(corpus->arch, &decoder), HP_OK);
    uint64_t seed = 0x9e3779b97f4a7c15u + corpus->mode;
    for (unsigned i = 0; i < 170000; i++) {
        uint64_t words[2] = {next_random(&seed), next_random(&seed)};
        size_t size = i % 8 == 0 ? next_random(&seed) % 16 : 16;
        uint8_t *code = malloc(size ? size : 1); // exactly this much, for the sanitizer to watch
        assert_non_null(code);
        memcpy(code, words, size);
        if (corpus->arch == HP_ARCH_X86_64)
            add_prefixes(code, size, next_random(&seed));
        uint64_t address = next_random(&seed);
        struct hp_insn fast, full;
        enum hp_err err = hp_decode(decoder, corpus->mode, address, code, size, true, &fast);
        assert_int_equal(err, hp_decode(decoder, corpus->mode, address, code, size, false, &full));
        assert_same_flow(&fast, &full);
        assert_sane(&full);
        if (err == HP_OK)
            assert_true(full.length <= size);
        char text[40];
        memset(text, 'x', sizeof text);
        hp_disassemble(decoder, corpus->mode, address, code, size, text, sizeof text);
        assert_non_null(memchr(text, 0, sizeof text));
        assert_int_equal(err != HP_OK, strcmp(text, "(bad)") == 0);
        free(code);
    }
    hp_decoder_free(decoder);
}

static struct corpus arm_mode = {NULL, HP_ARCH_ARM, HP_MODE_DEFAULT, 0};

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"agree: this test", both_decodes_agree_on_real_code, NULL, NULL, &corpora[0]},
        {"agree: x86_64", both_decodes_agree_on_real_code, NULL, NULL, &corpora[1]},
        {"agree: aarch64", both_decodes_agree_on_real_code, NULL, NULL, &corpora[2]},
        {"agree: thumb", both_decodes_agree_on_real_code, NULL, NULL, &corpora[3]},
        {"agree: riscv64", both_decodes_agree_on_real_code, NULL, NULL, &corpora[4]},
        {"agree: alpha", both_decodes_agree_on_real_code, NULL, NULL, &corpora[5]},
        {"capstone: aarch64", capstone_sees_the_same_branches, NULL, NULL, &corpora[2]},
        {"capstone: thumb", capstone_sees_the_same_branches, NULL, NULL, &corpora[3]},
        {"random: x86_64", random_bytes_are_harmless, NULL, NULL, &corpora[1]},
        {"random: aarch64", random_bytes_are_harmless, NULL, NULL, &corpora[2]},
        {"random: arm", random_bytes_are_harmless, NULL, NULL, &arm_mode},
        {"random: thumb", random_bytes_are_harmless, NULL, NULL, &corpora[3]},
        {"random: riscv64", random_bytes_are_harmless, NULL, NULL, &corpora[4]},
        {"random: alpha", random_bytes_are_harmless, NULL, NULL, &corpora[5]},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
