// SPDX-License-Identifier: MIT
/*
 * Instructions split into micro-operations: real bytes, and what rule 1 of docs/pipeline.md makes
 * of them, worked out by hand.
 *
 * Micro-operations as text, in order, with " | " between:
 *   load0:8r r3 >r0            of operand 0, 8 bytes (r: reads, p: a prefetch, rw: for both); reads
 *                              r3, writes r0
 *   mul:20* r0 r3 <0 >r0 flags latency 20, the unit busy all the time; needs the result of
 *                              micro-operation 0
 *   store1:4w r3               ("-" for w: its load accesses for it)
 */
#include "machine/memory.h"
#include "machine/pipe/split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct row {
    const char *hex;  /* bytes */
    const char *uops; /* on `vaswani` */
    const char
        *flags; /* t: transfer, c: conditional, b: backward, s: serial, f: floating point queue */
};

/* --- Text ------------------------------------------------------------------------------------- */

static void print_set(FILE *out, const struct hp_regset *set, char before)
{
    for (unsigned i = 0; i < 63; i++)
        if (set->gpr >> i & 1) {
            fprintf(out, "%cr%u", before, i);
            before = ' ';
        }
    for (unsigned i = 0; i < 64; i++)
        if (set->vec >> i & 1) {
            fprintf(out, "%cv%u", before, i);
            before = ' ';
        }
    if (set->gpr >> HP_REG_FLAGS & 1)
        fprintf(out, "%cflags", before);
}

static void print_uop(FILE *out, const struct hp_uop *uop)
{
    static const char *const loads[] = {"p", "r", "?", "rw"}, *const stores[] = {"-", "?", "w",
                                                                                 "?"};
    const struct hp_regset none = {0};
    fprintf(out, "%s", hp_unit_name((enum hp_unit_kind)uop->unit));
    if (uop->unit == HP_UNIT_LOAD || uop->unit == HP_UNIT_STORE)
        fprintf(out, "%u:%u%s", uop->operand, uop->size,
                (uop->unit == HP_UNIT_LOAD ? loads : stores)[uop->access & 3]);
    else
        fprintf(out, ":%u%s", uop->latency, uop->busy > 1 ? "*" : "");
    print_set(out, &uop->reads, ' ');
    for (unsigned i = 0; i < 8; i++)
        if (uop->after >> i & 1)
            fprintf(out, " <%u", i);
    if (memcmp(&uop->writes, &none, sizeof none) != 0) {
        fputc(' ', out);
        print_set(out, &uop->writes, '>');
    }
}

/* What always holds. */
static void check_uop(const struct hp_uop *uop, unsigned index)
{
    assert_true(uop->unit < HP_UNITS);
    assert_int_equal(uop->after >> index, 0);
    assert_true(uop->busy == 1 || uop->busy == uop->latency);
    if (uop->unit == HP_UNIT_LOAD || uop->unit == HP_UNIT_STORE)
        assert_true(uop->size >= 1);
    if (uop->unit == HP_UNIT_STORE)
        assert_int_equal(uop->latency, 1);
}

static char *uops_text(const struct hp_uop *uops, unsigned n)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (unsigned i = 0; i < n; i++) {
        check_uop(&uops[i], i);
        if (i)
            fprintf(out, " | ");
        print_uop(out, &uops[i]);
    }
    fclose(out);
    return text;
}

static void flags_text(const struct hp_static *insn, char text[8])
{
    static const struct {
        uint8_t flag;
        char letter;
    } letters[] = {{HP_STATIC_TRANSFER, 't'},
                   {HP_STATIC_CONDITIONAL, 'c'},
                   {HP_STATIC_BACKWARD, 'b'},
                   {HP_STATIC_SERIAL, 's'},
                   {HP_STATIC_FP, 'f'}};
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (insn->flags & letters[i].flag)
            *text++ = letters[i].letter;
    *text = 0;
}

/* --- Tables ----------------------------------------------------------------------------------- */

struct table {
    enum hp_arch arch;
    struct hp_machine *machine;
    struct hp_decoder *decoder;
    unsigned wrong;
};

static void table_init(struct table *t, enum hp_arch arch, const char *machine)
{
    *t = (struct table){.arch = arch};
    assert_int_equal(hp_machine_load(machine, &t->machine), HP_OK);
    assert_int_equal(hp_decoder_new(arch, &t->decoder), HP_OK);
}

static void table_fini(struct table *t)
{
    hp_decoder_free(t->decoder);
    hp_machine_free(t->machine);
    assert_int_equal(t->wrong, 0);
}

static struct hp_insn decode(struct table *t, const char *hex)
{
    uint8_t bytes[16];
    size_t size = 0;
    unsigned byte;
    struct hp_insn insn;
    int used;
    for (const char *at = hex; sscanf(at, " %2x%n", &byte, &used) == 1; at += used)
        bytes[size++] = (uint8_t)byte;
    assert_int_equal(hp_decode(t->decoder, HP_MODE_DEFAULT, 0x1000, bytes, size, false, &insn),
                     HP_OK);
    assert_int_equal(insn.length, size);
    return insn;
}

static void check_row(struct table *t, const struct row *row)
{
    struct hp_insn insn = decode(t, row->hex);
    struct hp_uop uops[HP_UOPS_MAX];
    struct hp_static out;
    char flags[8];
    unsigned n = hp_split(t->machine, t->arch, &insn, uops);
    assert_true(n <= HP_UOPS_MAX);
    hp_split_describe(&insn, uops, n, &out);
    flags_text(&out, flags);
    char *text = uops_text(uops, n);
    if (strcmp(text, row->uops) != 0 || strcmp(flags, row->flags) != 0) {
        print_error("%s: \"%s\" (%s), expected \"%s\" (%s)\n", row->hex, text, flags, row->uops,
                    row->flags);
        t->wrong++;
    }
    assert_int_equal(out.end, 0x1000u + insn.length);
    assert_int_equal(out.n_uops, n);
    free(text);
}

#define CHECK(arch, machine, rows) check(arch, machine, rows, sizeof rows / sizeof *rows)
static void check(enum hp_arch arch, const char *machine, const struct row *rows, size_t n)
{
    struct table t;
    table_init(&t, arch, machine);
    for (size_t i = 0; i < n; i++)
        check_row(&t, &rows[i]);
    table_fini(&t);
}

static void x86_integer(void **state)
{
    (void)state;
    static const struct row rows[] = {
        /* add eax, ebx; add rax, [rbx + rcx*4 + 8]; add [rbx], eax */
        {"01 d8", "alu:1 r0 r3 >r0 flags", ""},
        {"48 03 44 8b 08", "load0:8r r1 r3 | alu:1 r0 r1 r3 <0 >r0 flags", ""},
        {"01 03", "load0:4r r3 | alu:1 r0 r3 <0 >flags | store0:4w r3 <1", ""},
        /* mov rax, [rbx]; mov rax, [rax]; mov [rbx + rcx], rax; movzx eax, byte [rbx]; lea */
        {"48 8b 03", "load0:8r r3 >r0", ""},
        {"48 8b 00", "load0:8r r0 >r0", ""},
        {"48 89 04 0b", "store0:8w r0 r1 r3", ""},
        {"0f b6 03", "load0:1r r3 >r0", ""},
        {"48 8d 44 8c 08", "alu:1 r1 r4 >r0", ""},
        /* cmp dword [rbx], 5; imul rax, [rbx]; div rbx; div qword [rcx] */
        {"83 3b 05", "load0:4r r3 | alu:1 r3 <0 >flags", ""},
        {"48 0f af 03", "load0:8r r3 | mul:3 r0 r3 <0 >r0 flags", ""},
        {"48 f7 f3", "mul:20* r0 r2 r3 >r0 r2 flags", ""},
        {"48 f7 31", "load0:8r r1 | mul:20* r0 r1 r2 <0 >r0 r2 flags", ""},
        /* xor eax, eax; sub rax, rax: nothing is waited for */
        {"31 c0", "alu:1 >r0 flags", ""},
        {"48 29 c0", "alu:1 >r0 flags", ""},
        /* nop; nop word [rax + rax]; endbr64; prefetcht0 [rbx] */
        {"90", "", ""},
        {"66 0f 1f 04 00", "", ""},
        {"f3 0f 1e fa", "", ""},
        {"0f 18 0b", "load0:1p r3", ""},
    };
    CHECK(HP_ARCH_X86_64, "vaswani", rows);
}

static void x86_stack_and_transfers(void **state)
{
    (void)state;
    static const struct row rows[] = {
        /* push rbp; push [rbx]; pop rbp; pop rsp */
        {"55", "alu:1 r4 >r4 | store0:8w r4 r5", ""},
        {"ff 33", "load0:8r r3 | alu:1 r4 >r4 | store1:8w r3 r4 <0", ""},
        {"5d", "load0:8r r4 >r5 | alu:1 r4 >r4", ""},
        {"5c", "load0:8r r4 >r4", ""},
        /* leave: the stack pointer does not wait for memory, the frame pointer does */
        {"c9", "load0:8r r5 >r5 | alu:1 r5 >r4", ""},
        /* call .+5; call [rbx + 8]; call rax; ret */
        {"e8 00 00 00 00", "branch:1 r4 | alu:1 r4 >r4 | store0:8w r4 <0", "t"},
        {"ff 53 08", "load0:8r r3 | branch:1 r3 r4 <0 | alu:1 r4 >r4 | store1:8w r4 <1", "t"},
        {"ff d0", "branch:1 r0 r4 | alu:1 r4 >r4 | store0:8w r4 <0", "t"},
        {"c3", "load0:8r r4 | branch:1 r4 <0 | alu:1 r4 >r4", "t"},
        /* jmp [rax + 8]; jne .+2; jne .-2; jmp . */
        {"ff 60 08", "load0:8r r0 | branch:1 r0 <0", "t"},
        {"75 00", "branch:1 flags", "tc"},
        {"75 fc", "branch:1 flags", "tcb"},
        {"eb fe", "branch:1", "tb"},
    };
    CHECK(HP_ARCH_X86_64, "vaswani", rows);
}

static void x86_strings_and_alone(void **state)
{
    (void)state;
    static const struct row rows[] = {
        /* movsq; rep stosb */
        {"48 a5", "load0:8r r6 | alu:1 r6 r7 flags <0 >r6 r7 | store1:8w r7 <1", ""},
        {"f3 aa", "alu:1 r0 r1 r7 flags >r1 r7 | store0:1w r7 <0", ""},
        /* lock xadd [rbx], eax; xchg [rbx], eax; mfence */
        {"f0 0f c1 03", "load0:4r r3 | alu:1 r0 r3 <0 >r0 flags | store0:4w r3 <1", "s"},
        {"87 03", "load0:4r r3 | alu:1 r0 r3 <0 >r0 | store0:4w r3 <1", "s"},
        {"0f ae f0", "alu:1", "s"},
        /* cpuid; ud2: no transfer */
        {"0f a2", "alu:1 r0 r1 >r0 r1 r2 r3", "s"},
        {"0f 0b", "alu:1", "s"},
    };
    CHECK(HP_ARCH_X86_64, "vaswani", rows);
}

static void x86_vector(void **state)
{
    (void)state;
    static const struct row rows[] = {
        /* pxor xmm0, xmm0; movups xmm0, [rbx]; movups [rbx], xmm0; vmovups zmm1, [rbx] */
        {"66 0f ef c0", "vector:1 >v0", "f"},
        {"0f 10 03", "load0:16r r3 >v0", ""},
        {"0f 11 03", "store0:16w r3 v0", ""},
        {"62 f1 7c 48 10 0b", "load0:64r r3 >v1", ""},
        /* movhps xmm0, [rbx] keeps the other half */
        {"0f 16 03", "load0:8r r3 v0 >v0", ""},
        /* addsd xmm0, [rbx]; mulps xmm0, xmm1; vfmadd231pd ymm1, ymm2, [rbx] */
        {"f2 0f 58 03", "load0:8r r3 | fp:2 r3 v0 <0 >v0", "f"},
        {"0f 59 c1", "fp_mul:4 v0 v1 >v0", "f"},
        {"c4 e2 ed b8 0b", "load0:32r r3 | fp_mul:4 r3 v1 v2 <0 >v1", "f"},
        /* divsd xmm0, xmm1; paddd xmm0, [rbx]; cvtsi2sd xmm0, eax */
        {"f2 0f 5e c1", "fp_mul:12* v0 v1 >v0", "f"},
        {"66 0f fe 03", "load0:16r r3 | vector:1 r3 v0 <0 >v0", "f"},
        {"f2 0f 2a c0", "fp:2 r0 v0 >v0", "f"},
    };
    CHECK(HP_ARCH_X86_64, "vaswani", rows);
}

static void aarch64(void **state)
{
    (void)state;
    static const struct row rows[] = {
        /* add x0, x1, x2; madd x0, x1, x2, x3; udiv x0, x1, x2 */
        {"20 00 02 8b", "alu:1 r1 r2 >r0", ""},
        {"20 0c 02 9b", "mul:3 r1 r2 r3 >r0", ""},
        {"20 08 c2 9a", "mul:20* r1 r2 >r0", ""},
        /* ldr x0, [x1, 8]; ldr x0, [x1], 8; ldr x1, [x1]; ldrsw x0, [x1, x2, lsl 2] */
        {"20 04 40 f9", "load0:8r r1 >r0", ""},
        {"20 84 40 f8", "load0:8r r1 >r0 | alu:1 r1 >r1", ""},
        {"21 00 40 f9", "load0:8r r1 >r1", ""},
        {"20 78 a2 b8", "load0:4r r1 r2 >r0", ""},
        /* ldp x29, x30, [sp], 16; stp x29, x30, [sp, -16]!; str xzr, [sp, 24] */
        {"fd 7b c1 a8", "load0:16r r31 >r29 r30 | alu:1 r31 >r31", ""},
        {"fd 7b bf a9", "alu:1 r31 >r31 | store0:16w r29 r30 r31", ""},
        {"ff 0f 00 f9", "store0:8w r31", ""},
        /* ld1 {v0.16b, v1.16b}, [x0], 32; ldr q0, [x1, 16]; prfm pldl1keep, [x0] */
        {"00 a0 df 4c", "load0:32r r0 >v0 v1 | alu:1 r0 >r0", ""},
        {"20 04 c0 3d", "load0:16r r1 >v0", ""},
        {"00 00 80 f9", "load0:8p r0", ""},
        /* fdiv d0, d1, d2; fmadd d0, d1, d2, d3; fadd d0, d1, d2; add v0.4s, v1.4s, v2.4s */
        {"20 18 62 1e", "fp_mul:12* v1 v2 >v0", "f"},
        {"20 0c 42 1f", "fp_mul:4 v1 v2 v3 >v0", "f"},
        {"20 28 62 1e", "fp:2 v1 v2 >v0", "f"},
        {"20 84 a2 4e", "vector:1 v1 v2 >v0", "f"},
        /* bl .+8; blr x3; ret; b.ne .-4; cbz x3, .+8 */
        {"02 00 00 94", "branch:1 >r30", "t"},
        {"60 00 3f d6", "branch:1 r3 >r30", "t"},
        {"c0 03 5f d6", "branch:1 r30", "t"},
        {"e1 ff ff 54", "branch:1 flags", "tcb"},
        {"43 00 00 b4", "branch:1 r3", "tc"},
        /* ldadd w0, w1, [x2]; stxr w0, x1, [x2]; nop; svc 0 */
        {"41 00 20 b8", "load0:4r r2 | alu:1 r0 r2 <0 >r1 | store0:4w r2 <1", "s"},
        {"41 7c 00 c8", "alu:1 r1 r2 >r0 | store0:8w r2 <0", "s"},
        {"1f 20 03 d5", "", ""},
        {"01 00 00 d4", "alu:1", "s"},
    };
    CHECK(HP_ARCH_AARCH64, "vaswani", rows);
}

static void riscv(void **state)
{
    (void)state;
    static const struct row rows[] = {
        /* ld a0, -8(a1); sd a0, 8(a1); addi a0, a1, 1; mul a0, a1, a2; divu a0, a1, a2 */
        {"03 b5 85 ff", "load0:8r r11 >r10", ""},
        {"23 b4 a5 00", "store0:8w r10 r11", ""},
        {"13 85 15 00", "alu:1 r11 >r10", ""},
        {"33 85 c5 02", "mul:3 r11 r12 >r10", ""},
        {"33 d5 c5 02", "mul:20* r11 r12 >r10", ""},
        /* fld fa0, 16(a1); fdiv.d; fadd.d; fmadd.d */
        {"07 b5 05 01", "load0:8r r11 >v10", ""},
        {"53 f5 c5 1a", "fp_mul:12* v11 v12 >v10", "f"},
        {"53 f5 c5 02", "fp:2 v11 v12 >v10", "f"},
        {"43 f5 c5 6a", "fp_mul:4 v11 v12 v13 >v10", "f"},
        /* amoswap.d a0, a2, (a1); jal ra, .+8; ret; beq a0, a1, .-4; nop; ecall; c.ldsp a0, 8(sp)
         */
        {"2f b5 c5 08", "load0:8r r11 | alu:1 r11 r12 <0 >r10 | store0:8w r11 <1", "s"},
        {"ef 00 80 00", "branch:1 >r1", "t"},
        {"67 80 00 00", "branch:1 r1", "t"},
        {"e3 0e b5 fe", "branch:1 r10 r11", "tcb"},
        {"13 00 00 00", "", ""},
        {"73 00 00 00", "alu:1", "s"},
        {"22 65", "load0:8r r2 >r10", ""},
    };
    CHECK(HP_ARCH_RISCV64, "vaswani", rows);
}

static void arm(void **state)
{
    (void)state;
    static const struct row rows[] = {
        /* add r0, r1, r2; ldr r0, [r1], 4; ldr r0, [r1, r2, lsl 2] */
        {"02 00 81 e0", "alu:1 r1 r2 >r0", ""},
        {"04 00 91 e4", "load0:4r r1 >r0 | alu:1 r1 >r1", ""},
        {"02 01 91 e7", "load0:4r r1 r2 >r0", ""},
        /* ldm r0!, {r1, r2, r3}; push {r4, r5, lr}; pop {r4, pc}; vldmia r0!, {d0-d1} */
        {"0e 00 b0 e8", "load0:12r r0 >r1 r2 r3 | alu:1 r0 >r0", ""},
        {"30 40 2d e9", "alu:1 r13 >r13 | store0:12w r4 r5 r13 r14", ""},
        {"10 80 bd e8", "load0:8r r13 | branch:1 r13 <0 >r4 | alu:1 r13 >r13", "t"},
        {"04 0b b0 ec", "load0:16r r0 >v0 v1 v2 v3 | alu:1 r0 >r0", ""},
        /* mul r0, r1, r2; vdiv.f64 d0, d1, d2; bl .+16; bx lr; bxne lr */
        {"91 02 00 e0", "mul:3 r1 r2 >r0", ""},
        {"02 0b 81 ee", "fp_mul:12* v2 v3 v4 v5 >v0 v1", "f"},
        {"02 00 00 eb", "branch:1 >r14", "t"},
        {"1e ff 2f e1", "branch:1 r14", "t"},
        {"1e ff 2f 11", "branch:1 r14 flags", "tc"},
    };
    CHECK(HP_ARCH_ARM, "vaswani", rows);
}

static void alpha(void **state)
{
    (void)state;
    static const struct row rows[] = {
        /* addq $1, $2, $3; mulq $1, $2, $3; ldq $1, 8($2); stq $1, 8($2); ldt $f1, 0($2) */
        {"03 04 22 40", "alu:1 r1 r2 >r3", ""},
        {"03 04 22 4c", "mul:3 r1 r2 >r3", ""},
        {"08 00 22 a4", "load0:8r r2 >r1", ""},
        {"08 00 22 b4", "store0:8w r1 r2", ""},
        {"00 00 22 8c", "load0:8r r2 >v1", ""},
        /* divt $f1, $f2, $f3; bsr $26, .+8; ret; beq $1, .-4 */
        {"63 14 22 58", "fp_mul:12* v1 v2 >v3", "f"},
        {"01 00 40 d3", "branch:1 >r26", "t"},
        {"01 80 fa 6b", "branch:1 r26", "t"},
        {"fe ff 3f e4", "branch:1 r1", "tcb"},
        /* ldl_l $1, 0($2); unop; ldl $31, 0($2): a prefetch */
        {"00 00 22 a8", "load0:4r r2 | alu:1 r2 <0 >r1", "s"},
        {"00 00 fe 2f", "", ""},
        {"00 00 e2 a3", "load0:4p r2", ""},
    };
    CHECK(HP_ARCH_ALPHA, "vaswani", rows);
}

/* --- Machines --------------------------------------------------------------------------------- */

/* The latencies of each machine file, class by class: imul, div, addsd, mulps, divsd, paddd, jne,
 * add. */
static void latencies_of_machines(void **state)
{
    (void)state;
    static const char *const hex[] = {"48 0f af c3", "48 f7 f3",    "f2 0f 58 c1", "0f 59 c1",
                                      "f2 0f 5e c1", "66 0f fe c1", "75 00",       "01 d8"};
    static const struct {
        const char *machine;
        unsigned latencies[8];
    } machines[] = {
        {"vaswani", {3, 20, 2, 4, 12, 1, 1, 1}},
        {"alpha21264", {7, 20, 4, 4, 12, 3, 1, 1}},
        {"arm9", {3, 20, 2, 4, 20, 1, 1, 1}},
        {"modern", {3, 12, 3, 3, 13, 1, 1, 1}},
    };
    static const uint8_t units[] = {HP_UNIT_MUL,    HP_UNIT_MUL,    HP_UNIT_FP,     HP_UNIT_FP_MUL,
                                    HP_UNIT_FP_MUL, HP_UNIT_VECTOR, HP_UNIT_BRANCH, HP_UNIT_ALU};
    for (size_t m = 0; m < 4; m++) {
        struct table t;
        table_init(&t, HP_ARCH_X86_64, machines[m].machine);
        for (size_t i = 0; i < 8; i++) {
            struct hp_uop uops[HP_UOPS_MAX];
            struct hp_insn insn = decode(&t, hex[i]);
            assert_int_equal(hp_split(t.machine, t.arch, &insn, uops), 1);
            assert_int_equal(uops[0].unit, units[i]);
            assert_int_equal(uops[0].latency, machines[m].latencies[i]);
            bool divides = i == 1 || i == 4;
            assert_int_equal(uops[0].busy, divides ? machines[m].latencies[i] : 1);
        }
        table_fini(&t);
    }
}

/* In order cores access what is read and written once. */
static void in_order_updates(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"01 03", "load0:4rw r3 | alu:1 r0 r3 <0 >flags | store0:4- r3 <1", ""},
        {"48 89 03", "store0:8w r0 r3", ""},
        {"48 8b 03", "load0:8r r3 >r0", ""},
        {"ff 33", "load0:8r r3 | alu:1 r4 >r4 | store1:8w r3 r4 <0", ""},
    };
    CHECK(HP_ARCH_X86_64, "arm9", rows);
}

/* --- The rest --------------------------------------------------------------------------------- */

static void counts(void **state)
{
    (void)state;
    struct table t;
    struct hp_uop uops[HP_UOPS_MAX];
    struct hp_static out;
    table_init(&t, HP_ARCH_X86_64, "modern");
    struct hp_insn call = decode(&t, "ff 53 08"); /* call [rbx + 8] */
    unsigned n = hp_split(t.machine, t.arch, &call, uops);
    hp_split_describe(&call, uops, n, &out);
    assert_int_equal(out.n_uops, 4);
    assert_int_equal(out.n_loads, 1);
    assert_int_equal(out.n_stores, 1);
    assert_int_equal(out.n_mems, 2);
    assert_int_equal(out.int_writes, 1);
    assert_int_equal(out.vec_writes, 0);
    assert_int_equal(out.flow, HP_FLOW_CALL_IND);
    assert_int_equal(out.op, HP_OP_BRANCH);
    struct hp_insn div = decode(&t, "48 f7 f3"); /* the flags do not count */
    hp_split_describe(&div, uops, hp_split(t.machine, t.arch, &div, uops), &out);
    assert_int_equal(out.int_writes, 2);
    struct hp_insn jump = decode(&t, "75 fc");
    hp_split_describe(&jump, uops, hp_split(t.machine, t.arch, &jump, uops), &out);
    assert_int_equal(out.target, 0xffe);
    table_fini(&t);
}

static void names_of_units(void **state)
{
    (void)state;
    assert_string_equal(hp_unit_name(HP_UNIT_ALU), "alu");
    assert_string_equal(hp_unit_name(HP_UNIT_BRANCH), "branch");
    assert_string_equal(hp_unit_name(HP_UNITS), "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(x86_integer),
        cmocka_unit_test(x86_stack_and_transfers),
        cmocka_unit_test(x86_strings_and_alone),
        cmocka_unit_test(x86_vector),
        cmocka_unit_test(aarch64),
        cmocka_unit_test(riscv),
        cmocka_unit_test(arm),
        cmocka_unit_test(alpha),
        cmocka_unit_test(latencies_of_machines),
        cmocka_unit_test(in_order_updates),
        cmocka_unit_test(counts),
        cmocka_unit_test(names_of_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
