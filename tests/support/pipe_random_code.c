// SPDX-License-Identifier: MIT
#include "pipe_random.h"

#include <stdlib.h>
#include <string.h>

#define INSNS_MAX 12 /* of a block */
#define CODE      0x401000u

/* --- Instructions ----------------------------------------------------------------------------- */

/* Bytes, of which the first is how many. */
struct bytes {
    uint8_t n, byte[12];
};

static const struct bytes x86_straight[] = {
    {3, {0x48, 0x01, 0xd8}},                      /* add rax, rbx */
    {3, {0x48, 0x01, 0xc3}},                      /* add rbx, rax */
    {3, {0x48, 0x29, 0xc8}},                      /* sub rax, rcx */
    {2, {0x31, 0xc0}},                            /* xor eax, eax */
    {4, {0x48, 0x8d, 0x04, 0x1b}},                /* lea rax, [rbx + rbx] */
    {3, {0x0f, 0x44, 0xc3}},                      /* cmovz eax, ebx */
    {4, {0x48, 0x0f, 0xaf, 0xc3}},                /* imul rax, rbx */
    {3, {0x48, 0xf7, 0xf3}},                      /* div rbx */
    {3, {0x48, 0x8b, 0x03}},                      /* mov rax, [rbx] */
    {3, {0x48, 0x8b, 0x1b}},                      /* mov rbx, [rbx] */
    {3, {0x48, 0x8b, 0x08}},                      /* mov rcx, [rax] */
    {2, {0x8a, 0x03}},                            /* mov al, [rbx] */
    {3, {0x48, 0x89, 0x03}},                      /* mov [rbx], rax */
    {3, {0x48, 0x89, 0x08}},                      /* mov [rax], rcx */
    {2, {0x88, 0x03}},                            /* mov [rbx], al */
    {3, {0x48, 0x01, 0x03}},                      /* add [rbx], rax */
    {3, {0x48, 0x03, 0x03}},                      /* add rax, [rbx] */
    {3, {0x48, 0x39, 0x03}},                      /* cmp [rbx], rax */
    {1, {0x50}},                                  /* push rax */
    {1, {0x58}},                                  /* pop rax */
    {2, {0xff, 0x33}},                            /* push [rbx] */
    {2, {0x8f, 0x03}},                            /* pop [rbx] */
    {1, {0xc9}},                                  /* leave */
    {2, {0x48, 0xa5}},                            /* movsq */
    {3, {0xf3, 0x48, 0xa5}},                      /* rep movsq */
    {1, {0x90}},                                  /* nop */
    {9, {0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}}, /* nop of 9 bytes */
    {4, {0xf2, 0x0f, 0x58, 0xc1}},                /* addsd xmm0, xmm1 */
    {4, {0xf2, 0x0f, 0x59, 0xc1}},                /* mulsd xmm0, xmm1 */
    {4, {0xf2, 0x0f, 0x5e, 0xc1}},                /* divsd xmm0, xmm1 */
    {4, {0xf2, 0x0f, 0x10, 0x03}},                /* movsd xmm0, [rbx] */
    {4, {0xf2, 0x0f, 0x11, 0x03}},                /* movsd [rbx], xmm0 */
    {4, {0xf2, 0x0f, 0x58, 0x03}},                /* addsd xmm0, [rbx] */
    {4, {0x66, 0x0f, 0xfe, 0xc1}},                /* paddd xmm0, xmm1 */
    {4, {0xc5, 0xfe, 0x6f, 0x03}},                /* vmovdqu ymm0, [rbx] */
    {4, {0xc5, 0xfe, 0x7f, 0x03}},                /* vmovdqu [rbx], ymm0 */
    {4, {0xf0, 0x48, 0x01, 0x03}},                /* lock add [rbx], rax */
    {2, {0x0f, 0xa2}},                            /* cpuid */
    {3, {0x0f, 0x18, 0x0b}},                      /* prefetcht0 [rbx] */
};

#define WORD(w)                                                                                    \
    {                                                                                              \
        4,                                                                                         \
        {                                                                                          \
            (w) & 0xff, (w) >> 8 & 0xff, (w) >> 16 & 0xff, (w) >> 24                               \
        }                                                                                          \
    }

static const struct bytes aarch64_straight[] = {
    WORD(0x8b010000u), /* add x0, x0, x1 */
    WORD(0x8b050083u), /* add x3, x4, x5 */
    WORD(0xeb050083u), /* subs x3, x4, x5 */
    WORD(0x9a851083u), /* csel x3, x4, x5, ne */
    WORD(0x9b017c00u), /* mul x0, x0, x1 */
    WORD(0x9ac50c80u), /* sdiv x0, x4, x5 */
    WORD(0xf9400000u), /* ldr x0, [x0] */
    WORD(0xf9400040u), /* ldr x0, [x2] */
    WORD(0xb9400043u), /* ldr w3, [x2] */
    WORD(0xf9000041u), /* str x1, [x2] */
    WORD(0xf9000061u), /* str x1, [x3] */
    WORD(0xb9000041u), /* str w1, [x2] */
    WORD(0xa8c11043u), /* ldp x3, x4, [x2], #16 */
    WORD(0xa9bf1043u), /* stp x3, x4, [x2, #-16]! */
    WORD(0xf8408443u), /* ldr x3, [x2], #8 */
    WORD(0xf8008c43u), /* str x3, [x2, #8]! */
    WORD(0x1e632841u), /* fadd d1, d2, d3 */
    WORD(0x1e610800u), /* fmul d0, d0, d1 */
    WORD(0x1f420020u), /* fmadd d0, d1, d2, d0 */
    WORD(0x1e621820u), /* fdiv d0, d1, d2 */
    WORD(0xfd400040u), /* ldr d0, [x2] */
    WORD(0x4ea38441u), /* add v1.4s, v2.4s, v3.4s */
    WORD(0xf8210043u), /* ldadd x1, x3, [x2] */
    WORD(0xc85f7c43u), /* ldxr x3, [x2] */
    WORD(0xd5033bbfu), /* dmb ish */
    WORD(0xd503201fu), /* nop */
    WORD(0xf9800040u), /* prfm pldl1keep, [x2] */
};

static const struct bytes riscv_straight[] = {
    WORD(0x00c58533u), /* add a0, a1, a2 */
    {2, {0x2e, 0x95}}, /* c.add a0, a1 */
    WORD(0x02b50533u), /* mul a0, a0, a1 */
    WORD(0x02c5c533u), /* div a0, a1, a2 */
    WORD(0x02c5f553u), /* fadd.d fa0, fa1, fa2 */
    WORD(0x12b57553u), /* fmul.d fa0, fa0, fa1 */
    WORD(0x1ac5f553u), /* fdiv.d fa0, fa1, fa2 */
    {2, {0x88, 0x61}}, /* c.ld a0, 0(a1) */
    {2, {0x88, 0xe1}}, /* c.sd a0, 0(a1) */
    {2, {0x4c, 0x42}}, /* c.lw a1, 4(a2) */
    WORD(0x00a60023u), /* sb a0, 0(a2) */
    {2, {0x88, 0x21}}, /* c.fld fa0, 0(a1) */
    WORD(0x00c5b52fu), /* amoadd.d a0, a2, (a1) */
    WORD(0x0ff0000fu), /* fence */
    {2, {0x01, 0x00}}, /* c.nop */
};

struct arch {
    enum hp_arch arch;
    const struct bytes *straight;
    uint32_t n;
};

static const struct arch archs[] = {
    {HP_ARCH_X86_64, x86_straight, sizeof x86_straight / sizeof *x86_straight},
    {HP_ARCH_AARCH64, aarch64_straight, sizeof aarch64_straight / sizeof *aarch64_straight},
    {HP_ARCH_RISCV64, riscv_straight, sizeof riscv_straight / sizeof *riscv_straight},
};

/* --- Transfers -------------------------------------------------------------------------------- */

enum end {
    END_COND,
    END_JUMP,
    END_CALL,
    END_RETURN,
    END_JUMP_IND,
    END_CALL_IND,
    END_JUMP_MEM,
    END_CALL_MEM,
    END_SYSTEM,
    ENDS
};

static bool is_direct(enum end end)
{
    return end == END_COND || end == END_JUMP || end == END_CALL;
}

static struct bytes x86_end(enum end end, uint32_t random)
{
    switch (end) {
    case END_COND: return (struct bytes){6, {0x0f, (uint8_t)(0x80 | random % 16)}};
    case END_JUMP: return (struct bytes){5, {0xe9}};
    case END_CALL: return (struct bytes){5, {0xe8}};
    case END_RETURN: return (struct bytes){1, {0xc3}};
    case END_JUMP_IND: return (struct bytes){2, {0xff, 0xe0}};
    case END_CALL_IND: return (struct bytes){2, {0xff, 0xd0}};
    case END_JUMP_MEM: return (struct bytes){2, {0xff, 0x23}};
    case END_CALL_MEM: return (struct bytes){2, {0xff, 0x13}};
    default: return (struct bytes){2, {0x0f, 0x05}};
    }
}

static struct bytes aarch64_end(enum end end, uint32_t random)
{
    switch (end) {
    case END_COND:
        if (random % 2)
            return (struct bytes)WORD(0xb4000003u); /* cbz x3 */
        return (struct bytes)WORD(0x54000001u);     /* b.ne */
    case END_JUMP: return (struct bytes)WORD(0x14000000u);
    case END_CALL: return (struct bytes)WORD(0x94000000u);
    case END_RETURN: return (struct bytes)WORD(0xd65f03c0u);
    case END_JUMP_IND:
    case END_JUMP_MEM: return (struct bytes)WORD(0xd61f0120u);
    case END_CALL_IND:
    case END_CALL_MEM: return (struct bytes)WORD(0xd63f0120u);
    default: return (struct bytes)WORD(0xd4000001u);
    }
}

static struct bytes riscv_end(enum end end)
{
    switch (end) {
    case END_COND: return (struct bytes)WORD(0x00b50063u); /* beq a0, a1 */
    case END_JUMP: return (struct bytes)WORD(0x0000006fu); /* jal zero */
    case END_CALL: return (struct bytes)WORD(0x000000efu); /* jal ra */
    case END_RETURN: return (struct bytes)WORD(0x00008067u);
    case END_JUMP_IND:
    case END_JUMP_MEM: return (struct bytes)WORD(0x00030067u); /* jr t1 */
    case END_CALL_IND:
    case END_CALL_MEM: return (struct bytes)WORD(0x000300e7u); /* jalr t1 */
    default: return (struct bytes)WORD(0x00000073u);
    }
}

static uint32_t get_word(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void set_word(uint8_t *p, uint32_t word)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(word >> 8 * i);
}

/* Where a direct transfer leads: `distance` from its start. */
static void set_target(enum hp_arch arch, enum end end, uint8_t *insn, uint32_t length,
                       int32_t distance)
{
    uint32_t d = (uint32_t)distance, word = get_word(insn);
    if (arch == HP_ARCH_X86_64)
        set_word(insn + length - 4, d - length);
    else if (arch == HP_ARCH_AARCH64 && end == END_COND)
        set_word(insn, word | (d >> 2 & 0x7ffff) << 5);
    else if (arch == HP_ARCH_AARCH64)
        set_word(insn, word | (d >> 2 & 0x3ffffff));
    else if (end == END_COND)
        set_word(insn, word | (d >> 12 & 1) << 31 | (d >> 5 & 0x3f) << 25 | (d >> 1 & 0xf) << 8 |
                           (d >> 11 & 1) << 7);
    else
        set_word(insn, word | (d >> 20 & 1) << 31 | (d >> 1 & 0x3ff) << 21 | (d >> 11 & 1) << 20 |
                           (d >> 12 & 0xff) << 12);
}

/* --- Code ------------------------------------------------------------------------------------- */

/* A block while the code is laid out. */
struct layout {
    uint64_t start, last;
    uint8_t bytes[160];
    uint32_t size, second; /* second: where its second instruction begins */
    enum end end;
};

static void add_bytes(struct layout *b, struct bytes bytes)
{
    memcpy(b->bytes + b->size, bytes.byte, bytes.n);
    b->size += bytes.n;
}

static void fill(uint64_t *seed, const struct arch *arch, struct layout *b)
{
    uint32_t n = pipe_random(seed, INSNS_MAX);
    b->size = 0;
    for (uint32_t i = 0; i < n; i++) {
        add_bytes(b, arch->straight[pipe_random(seed, arch->n)]);
        if (i == 0)
            b->second = b->size;
    }
    if (n < 2)
        b->second = 0;
    b->last = b->start + b->size;
    /* Conditional branches are what most blocks end with. */
    b->end = pipe_random(seed, 2) ? END_COND : (enum end)pipe_random(seed, ENDS);
    if (arch->arch == HP_ARCH_X86_64)
        add_bytes(b, x86_end(b->end, pipe_random(seed, 16)));
    else if (arch->arch == HP_ARCH_AARCH64)
        add_bytes(b, aarch64_end(b->end, pipe_random(seed, 2)));
    else
        add_bytes(b, riscv_end(b->end));
}

/* Adds what a block has from `skip` on, as the i-th block. */
static void add_block(struct random_code *c, uint32_t module, uint32_t i, const struct layout *b,
                      uint32_t skip)
{
    struct hp_segment segment = {.start = b->start + skip,
                                 .module = module,
                                 .size = b->size - skip,
                                 .bytes = b->bytes + skip};
    if (hp_code_add_segment(c->code, i + 1, &segment) != HP_OK) {
        fprintf(stderr, "pipe_random: %s\n", hp_error_text());
        abort();
    }
    c->ids[i] = hp_code_n_blocks(c->code) - 1;
}

void pipe_random_code(uint64_t *seed, struct random_code *c)
{
    static const struct hp_module anonymous = {
        .path = "[anon]", .build_id = "", .high = UINT64_MAX};
    const struct arch *arch = &archs[pipe_random(seed, 3)];
    struct layout *blocks = calloc(RANDOM_BLOCKS, sizeof *blocks);
    uint32_t n = 1 + pipe_random(seed, RANDOM_BLOCKS / 2), module;
    uint64_t at = CODE;
    *c = (struct random_code){.n = n};
    if (!blocks || hp_code_new(arch->arch, &c->code) != HP_OK ||
        hp_code_add_module(c->code, &anonymous, &module) != HP_OK)
        abort();
    for (uint32_t i = 0; i < n; i++) {
        blocks[i].start = at;
        fill(seed, arch, &blocks[i]);
        at += blocks[i].size;
        c->behind[i] = i + 1 < n ? i + 1 : HP_NO_ID;
        /* Now and then there is nothing behind, and the next is far away. */
        if (pipe_random(seed, 12) == 0) {
            at += 4 * pipe_random(seed, 600);
            c->behind[i] = HP_NO_ID;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        struct layout *b = &blocks[i];
        c->target[i] = is_direct(b->end) ? pipe_random(seed, n) : HP_NO_ID;
        if (is_direct(b->end))
            set_target(arch->arch, b->end, b->bytes + (b->last - b->start),
                       (uint32_t)(b->start + b->size - b->last),
                       (int32_t)(blocks[c->target[i]].start - b->last));
        add_block(c, module, i, b, 0);
    }
    /* Some are entered in the middle, too. */
    for (uint32_t i = 0; i < n && c->n < RANDOM_BLOCKS; i++) {
        if (!blocks[i].second || pipe_random(seed, 3))
            continue;
        add_block(c, module, c->n, &blocks[i], blocks[i].second);
        c->behind[c->n] = c->behind[i];
        c->target[c->n++] = c->target[i];
    }
    free(blocks);
}

/* --- The walk --------------------------------------------------------------------------------- */

#define WALK_MAX  400 /* blocks of a batch */
#define CALLS_MAX 16

struct walk {
    uint64_t *seed;
    const struct random_code *code;
    uint32_t at, calls[CALLS_MAX], n_calls;
    /* A batch. */
    uint32_t blocks[WALK_MAX + 1], address_at[WALK_MAX + 1];
    uint8_t taken[WALK_MAX];
    uint16_t costs[WALK_MAX];
    uint64_t addresses[WALK_MAX * INSNS_MAX * 3];
    size_t n;
};

static uint64_t random_address(uint64_t *seed)
{
    static const uint64_t bases[] = {0x7000, 0x7008, 0x7010, 0x70f8,         0x7ff8,
                                     0x8000, 0x9000, 0x9100, 0x123456789000, UINT64_MAX - 20};
    return bases[pipe_random(seed, pipe_random(seed, 4) ? 4 : 10)] +
           (pipe_random(seed, 3) ? 0 : pipe_random(seed, 16));
}

static void add_addresses(struct walk *w)
{
    const struct hp_insn *insns;
    const struct hp_block *block = hp_code_block(w->code->code, w->code->ids[w->at]);
    if (hp_code_insns(w->code->code, w->code->ids[w->at], &insns) != HP_OK)
        abort();
    w->address_at[w->n + 1] = w->address_at[w->n];
    for (uint32_t i = 0; i < block->insns; i++)
        for (uint32_t k = 0; k < insns[i].n_mems; k++)
            w->addresses[w->address_at[w->n + 1]++] = random_address(w->seed);
}

static uint32_t anywhere(struct walk *w)
{
    return pipe_random(w->seed, w->code->n);
}

/* Where a return goes: to the last call, mostly. */
static uint32_t returned_to(struct walk *w)
{
    if (w->n_calls == 0 || pipe_random(w->seed, 8) == 0)
        return anywhere(w);
    return w->calls[--w->n_calls];
}

/* Leaves the block at hand. Indirect transfers go to few places. HP_NO_ID: there is no way on. */
static uint32_t leave(struct walk *w, const struct hp_block *block, uint8_t *taken)
{
    const struct random_code *c = w->code;
    uint32_t behind = c->behind[w->at];
    *taken = 1;
    switch ((enum hp_flow)block->flow) {
    case HP_FLOW_COND:
        *taken = behind == HP_NO_ID || pipe_random(w->seed, 2 + w->at % 3) == 0;
        return *taken ? c->target[w->at] : behind;
    case HP_FLOW_JUMP: return c->target[w->at];
    case HP_FLOW_RETURN: return returned_to(w);
    case HP_FLOW_JUMP_IND: return (w->at + pipe_random(w->seed, 2)) % c->n;
    case HP_FLOW_CALL:
    case HP_FLOW_CALL_IND:
        if (behind != HP_NO_ID && w->n_calls < CALLS_MAX)
            w->calls[w->n_calls++] = behind;
        return block->flow == HP_FLOW_CALL ? c->target[w->at]
                                           : (w->at + pipe_random(w->seed, 3)) % c->n;
    default: *taken = 0; return behind;
    }
}

/* Fills a batch of `n` blocks, or fewer if there is no way on. Its last successor is where the walk is then. */
static void walk(struct walk *w, size_t n, bool costs)
{
    w->n = 0;
    w->address_at[0] = 0;
    w->blocks[0] = w->code->ids[w->at];
    while (w->n < n) {
        const struct hp_block *block = hp_code_block(w->code->code, w->code->ids[w->at]);
        uint8_t taken;
        uint32_t next = leave(w, block, &taken);
        if (next == HP_NO_ID)
            return;
        add_addresses(w);
        w->taken[w->n] = taken;
        w->costs[w->n] =
            (uint16_t)(costs && pipe_random(w->seed, 2) ? pipe_random(w->seed, 12) : 0);
        w->blocks[++w->n] = w->code->ids[next];
        w->at = next;
    }
}

static void feed_tail(struct walk *w, struct pipe_feed *feed)
{
    w->n = 0;
    w->address_at[0] = 0;
    add_addresses(w);
    struct hp_event tail = {.kind = HP_EVENT_TAIL, .block = w->code->ids[w->at], .exact = true};
    uint32_t insns = hp_code_block(w->code->code, tail.block)->insns;
    const struct hp_insn *insn;
    tail.insns = pipe_random(w->seed, 3) ? insns : 1 + pipe_random(w->seed, insns);
    if (hp_code_insns(w->code->code, tail.block, &insn) != HP_OK)
        abort();
    for (uint32_t i = 0; i < tail.insns; i++)
        tail.n_addresses += insn[i].n_mems;
    if (pipe_random(w->seed, 8))
        tail.addresses = w->addresses;
    else
        tail.n_addresses = 0;
    pipe_feed_tail(feed, &tail);
}

void pipe_random_walk(uint64_t *seed, const struct random_code *code, size_t blocks, bool costs,
                      struct pipe_feed *feed)
{
    struct walk *w = calloc(1, sizeof *w);
    bool measured = true;
    if (!w)
        abort();
    w->seed = seed;
    w->code = code;
    for (size_t n = 0; n < blocks; n += w->n + 1) {
        size_t some = 1 + pipe_random(seed, pipe_random(seed, 4) ? WALK_MAX : 20);
        walk(w, some < blocks - n ? some : blocks - n, costs);
        bool addresses = pipe_random(seed, 10);
        struct hp_batch batch = {.code = code->code,
                                 .table = hp_code_blocks(code->code),
                                 .blocks = w->blocks,
                                 .taken = w->taken,
                                 .n = w->n,
                                 .addresses = addresses ? w->addresses : NULL,
                                 .address_at = addresses ? w->address_at : NULL};
        if (w->n)
            pipe_feed_batch(feed, &batch, w->costs);
        bool stuck = w->n < some && w->n < blocks - n;
        uint32_t what = pipe_random(seed, 6);
        if (stuck || what == 0)
            feed_tail(w, feed);
        else if (what == 1)
            pipe_feed_break(feed);
        else if (what == 2)
            pipe_feed_drain(feed);
        else if (what == 3)
            pipe_feed_measure(feed, measured = !measured);
        if (stuck || what <= 2)
            w->at = anywhere(w);
    }
    free(w);
}
