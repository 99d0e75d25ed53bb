// SPDX-License-Identifier: MIT
/*
 * From a path back to its blocks. Random programs of functions, branches, loops, calls and returns
 * are run; a slow detector keeps, with every path, the blocks that it went through; the walk has to
 * find the same.
 */
#include "profiler/path/walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- Programs --------------------------------------------------------------------------------- */

#define FUNCTIONS 6
#define BLOCKS    12   /* of a function */
#define ROOM      0x40 /* bytes for a block and what is between it and the next */

static uint64_t random_state;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % n;
}

static uint64_t address_of(uint32_t function, uint32_t block)
{
    return 0x400000 + (uint64_t)function * 0x1000 + (uint64_t)block * ROOM;
}

struct code {
    struct hp_code *code;
    uint32_t id[FUNCTIONS][BLOCKS];
    uint32_t module, segments;
};

/* Some instructions and a transfer at its end; the block behind it follows without a gap. */
static void make_block(struct code *c, uint32_t function, uint32_t block, enum hp_flow flow,
                       uint64_t target)
{
    static const struct {
        enum hp_flow flow;
        const char *bytes;
        uint8_t n, displacement;
    } endings[] = {
        {HP_FLOW_COND, "\x0f\x85", 2, 4},     {HP_FLOW_JUMP, "\xe9", 1, 4},
        {HP_FLOW_CALL, "\xe8", 1, 4},         {HP_FLOW_JUMP_IND, "\xff\xe0", 2, 0},
        {HP_FLOW_CALL_IND, "\xff\xd0", 2, 0}, {HP_FLOW_RETURN, "\xc3", 1, 0},
        {HP_FLOW_SYSCALL, "\x0f\x05", 2, 0},
    };
    uint8_t bytes[ROOM];
    size_t k = 0;
    while (endings[k].flow != flow)
        k++;
    size_t end = (size_t)(endings[k].n + endings[k].displacement);
    memset(bytes, 0x90, sizeof bytes);
    memcpy(bytes + ROOM - end, endings[k].bytes, endings[k].n);
    uint64_t start = address_of(function, block);
    int32_t distance = (int32_t)(target - (start + ROOM));
    if (endings[k].displacement)
        memcpy(bytes + ROOM - 4, &distance, 4);
    struct hp_segment segment = {
        .start = start, .module = c->module, .size = sizeof bytes, .bytes = bytes};
    assert_int_equal(hp_code_add_segment(c->code, ++c->segments, &segment), HP_OK);
    uint32_t id = hp_code_n_blocks(c->code) - 1;
    assert_int_equal(hp_code_block(c->code, id)->start, start);
    assert_int_equal(hp_code_block(c->code, id)->end, start + ROOM);
    assert_int_equal(hp_code_block(c->code, id)->flow, flow);
    c->id[function][block] = id;
}

/* A function calls only those behind it; its last block returns. */
static void make_random_block(struct code *c, uint32_t function, uint32_t block)
{
    uint32_t kind = random_below(20);
    bool last = function + 1 == FUNCTIONS;
    uint32_t callee = last ? function : function + 1 + random_below(FUNCTIONS - function - 1);
    if (block + 1 == BLOCKS || kind == 0)
        make_block(c, function, block, HP_FLOW_RETURN, 0);
    else if (kind < 9)
        make_block(c, function, block, HP_FLOW_COND, address_of(function, random_below(BLOCKS)));
    else if (kind < 12) /* forward, or it might never end */
        make_block(c, function, block, HP_FLOW_JUMP,
                   address_of(function, block + 1 + random_below(BLOCKS - block - 1)));
    else if (kind < 13)
        make_block(c, function, block, HP_FLOW_CALL, address_of(function, block) + ROOM);
    else if (kind < 17 && !last)
        make_block(c, function, block, HP_FLOW_CALL, address_of(callee, 0));
    else if (kind < 18 && !last)
        make_block(c, function, block, HP_FLOW_CALL_IND, 0);
    else if (kind < 19)
        make_block(c, function, block, HP_FLOW_JUMP_IND, 0);
    else
        make_block(c, function, block, HP_FLOW_SYSCALL, 0);
}

static void code_init(struct code *c)
{
    struct hp_module module = {.path = "/bin/x", .build_id = "", .low = 0, .high = 0x500000};
    *c = (struct code){0};
    assert_int_equal(hp_code_new(HP_ARCH_X86_64, &c->code), HP_OK);
    assert_int_equal(hp_code_add_module(c->code, &module, &c->module), HP_OK);
}

/* --- The slow detector ------------------------------------------------------------------------ */

#define MAX_STEPS 3000

struct entry {
    struct hp_path path;
    uint64_t targets[HP_PATH_MAX_LENGTH];
    uint32_t extension;
    uint64_t return_to;
    struct hp_walk_step steps[MAX_STEPS]; /* all of its own, also those whose events wait */
    size_t n;
};

struct detector {
    const struct hp_ppcr *ppcr;
    const struct hp_code *code;
    struct hp_walk *walk;
    struct entry stack[FUNCTIONS + 2];
    size_t depth;
    size_t checked, followed_unknown, split, steps;
};

static void check_path(struct detector *d, const struct entry *e)
{
    const struct hp_walk_step *steps;
    size_t n = hp_walk_path(d->walk, &e->path, e->targets, &steps);
    assert_true(n >= 1 && n <= e->n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(steps[i].block, e->steps[i].block);
        if (i + 1 < n || n == e->n)
            assert_int_equal(steps[i].how, e->steps[i].how);
    }
    d->checked++;
    d->steps += n;
    if (n < e->n) { /* only behind a call that nobody knows the target of */
        assert_int_equal(steps[n - 1].how, HP_STEP_END);
        assert_int_equal(hp_code_block(d->code, steps[n - 1].block)->flow, HP_FLOW_CALL_IND);
        d->followed_unknown++;
    }
}

static void push(struct detector *d, uint32_t block, uint64_t return_to)
{
    assert_true(d->depth < sizeof d->stack / sizeof *d->stack);
    struct entry *e = &d->stack[d->depth++];
    e->path = (struct hp_path){.start = hp_code_block(d->code, block)->start, .block = block};
    e->extension = 0;
    e->return_to = return_to;
    e->n = 0;
}

/* A path was popped by a return to `to`: those of frames that are gone go too. (They are when a
 * path was split inside a call that it followed.) */
static void unwind(struct detector *d, uint64_t popped, uint64_t to)
{
    if (popped == 0 || popped == to)
        return;
    for (size_t k = d->depth; k > 0; k--)
        if (d->stack[k - 1].return_to == to) {
            d->depth = k - 1;
            return;
        }
    d->depth = 0;
}

static enum hp_class class_of(const struct detector *d, const struct hp_block *b, uint64_t to,
                              bool taken)
{
    bool back = taken && to <= b->last;
    if (d->ppcr->by_address)
        return back ? HP_CLASS_BACKWARD : HP_CLASS_FORWARD;
    switch (b->flow) {
    case HP_FLOW_CALL:
    case HP_FLOW_CALL_IND: return to == b->end ? HP_CLASS_FORWARD : HP_CLASS_CALL;
    case HP_FLOW_RETURN: return HP_CLASS_RETURN;
    case HP_FLOW_JUMP_IND: return HP_CLASS_INDIRECT;
    default: break;
    }
    if (d->ppcr->direction == HP_DIRECTION_STATIC)
        back = b->target <= b->last;
    return back ? HP_CLASS_BACKWARD : HP_CLASS_FORWARD;
}

static uint8_t how_left(const struct hp_block *b, enum hp_class class, uint8_t ops, bool taken)
{
    if (!taken)
        return HP_STEP_FELL;
    if (b->flow == HP_FLOW_RETURN)
        return HP_STEP_RETURNED;
    bool call = b->flow == HP_FLOW_CALL || b->flow == HP_FLOW_CALL_IND;
    if (class == HP_CLASS_CALL)
        return ops & (HP_PATH_POP | HP_PATH_PUSH) ? HP_STEP_CALLED : HP_STEP_ENTERED;
    return call && b->target != b->end ? HP_STEP_ENTERED : HP_STEP_TAKEN;
}

/* One transfer, by the rules: the blocks of a path are those that ran while it was on top. */
static void transfer(struct detector *d, uint32_t from, uint32_t to, bool taken)
{
    const struct hp_block *b = hp_code_block(d->code, from), *t = hp_code_block(d->code, to);
    if (d->depth == 0)
        push(d, from, 0);
    struct entry *e = &d->stack[d->depth - 1];
    struct hp_walk_step *step = &e->steps[e->n++];
    assert_true(e->n < MAX_STEPS);
    *step = (struct hp_walk_step){from, HP_STEP_FELL};
    if (b->flow == HP_FLOW_SYSCALL)
        return;
    enum hp_class class = class_of(d, b, t->start, taken);
    uint8_t ops = d->ppcr->ops[class];
    uint32_t max = d->ppcr->max_extension;
    if (d->ppcr->extension == HP_EXTEND_LOOP && class == HP_CLASS_BACKWARD && e->extension < max) {
        ops = HP_PATH_UPDATE;
        e->extension++;
    } else if (d->ppcr->extension == HP_EXTEND_CALL && class == HP_CLASS_CALL &&
               e->extension < max) {
        ops &= HP_PATH_UPDATE | HP_PATH_UPDATE_COUNT;
        e->extension++;
    } else if (d->ppcr->extension == HP_EXTEND_CALL && class == HP_CLASS_RETURN && e->extension) {
        ops &= HP_PATH_UPDATE | HP_PATH_UPDATE_COUNT;
        e->extension--;
    }
    step->how = how_left(b, class, ops, taken);
    if (ops & HP_PATH_UPDATE && e->path.length == d->ppcr->max_length) {
        step->how = HP_STEP_END;
        d->split++;
        if (!(ops & HP_PATH_POP)) {
            check_path(d, e);
            d->depth--;
            push(d, to, e->return_to);
            return;
        }
    } else if (ops & HP_PATH_UPDATE) {
        if (d->ppcr->by_address && taken && class == HP_CLASS_FORWARD && b->target == 0)
            e->targets[e->path.n_targets++] = t->start;
        e->path.outcomes = e->path.outcomes << 1 | taken;
        e->path.length++;
    }
    uint64_t return_to = ops & HP_PATH_POP ? e->return_to : 0;
    if (ops & HP_PATH_POP) {
        check_path(d, e);
        d->depth--;
    }
    if (ops & HP_PATH_PUSH)
        push(d, to, class == HP_CLASS_CALL && !(ops & HP_PATH_POP) ? b->end : return_to);
    else if (class == HP_CLASS_RETURN && ops & HP_PATH_POP)
        unwind(d, return_to, t->start);
    if (d->depth == 0)
        push(d, to, 0);
}

/* --- Running ---------------------------------------------------------------------------------- */

/* Runs `n` blocks; starts again when the first function returns, as if it were called in a loop. */
static void run(struct detector *d, const struct code *c, size_t n)
{
    uint32_t function = 0, block = 0, callers[FUNCTIONS][2];
    size_t depth = 0;
    while (n--) {
        const struct hp_block *b = hp_code_block(c->code, c->id[function][block]);
        uint32_t to_function = function, to = block + 1;
        bool taken = true;
        switch (b->flow) {
        case HP_FLOW_COND:
            taken = random_below(3) == 0;
            if (taken)
                to = (uint32_t)((b->target - address_of(function, 0)) / ROOM);
            break;
        case HP_FLOW_JUMP: to = (uint32_t)((b->target - address_of(function, 0)) / ROOM); break;
        case HP_FLOW_JUMP_IND: to = random_below(BLOCKS); break;
        case HP_FLOW_CALL:
        case HP_FLOW_CALL_IND:
            if (b->target == b->end)
                break;
            callers[depth][0] = function;
            callers[depth++][1] = block + 1;
            to_function = b->target ? (uint32_t)((b->target - address_of(0, 0)) / 0x1000)
                                    : function + 1 + random_below(FUNCTIONS - function - 1);
            to = 0;
            break;
        case HP_FLOW_RETURN:
            to_function = depth ? callers[depth - 1][0] : 0;
            to = depth ? callers[depth - 1][1] : 0;
            depth -= depth > 0;
            break;
        default: taken = false; break;
        }
        transfer(d, c->id[function][block], c->id[to_function][to], taken);
        function = to_function;
        block = to;
    }
}

static const struct hp_ppcr bl = {
    .ops = {[HP_CLASS_CALL] = HP_PATH_UPDATE_COUNT | HP_PATH_PUSH,
            [HP_CLASS_RETURN] = HP_PATH_UPDATE_COUNT | HP_PATH_POP,
            [HP_CLASS_FORWARD] = HP_PATH_UPDATE,
            [HP_CLASS_BACKWARD] = HP_PATH_UPDATE | HP_PATH_POP | HP_PATH_PUSH,
            [HP_CLASS_INDIRECT] = HP_PATH_UPDATE | HP_PATH_POP | HP_PATH_PUSH},
    .max_length = 32,
    .stack_entries = 32,
    .counter_bits = 8};

static struct hp_ppcr variant(int which)
{
    struct hp_ppcr p = bl;
    switch (which) {
    case 1:
        p.ops[HP_CLASS_CALL] = HP_PATH_UPDATE_COUNT | HP_PATH_POP | HP_PATH_PUSH;
        p.ops[HP_CLASS_RETURN] = HP_PATH_UPDATE_COUNT | HP_PATH_POP | HP_PATH_PUSH;
        break;
    case 2: p.extension = HP_EXTEND_LOOP, p.max_extension = 1; break;
    case 3: p.extension = HP_EXTEND_LOOP, p.max_extension = 5, p.max_length = 64; break;
    case 4: p.extension = HP_EXTEND_CALL, p.max_extension = 1; break;
    case 5: p.extension = HP_EXTEND_CALL, p.max_extension = 3; break;
    case 6:
        p.by_address = true;
        p.ops[HP_CLASS_CALL] = p.ops[HP_CLASS_RETURN] = p.ops[HP_CLASS_INDIRECT] = 0;
        break;
    case 7: p.direction = HP_DIRECTION_STATIC; break;
    case 8: p.max_length = 3; break;
    case 9: p.extension = HP_EXTEND_CALL, p.max_extension = 2, p.max_length = 4; break;
    case 10: /* calls and returns are in the path, and ended by nothing but a loop */
        p.ops[HP_CLASS_CALL] = HP_PATH_UPDATE | HP_PATH_POP | HP_PATH_PUSH;
        p.ops[HP_CLASS_RETURN] = HP_PATH_UPDATE | HP_PATH_POP | HP_PATH_PUSH;
        break;
    default: break;
    }
    return p;
}

static void the_walk_finds_the_blocks_of_every_path(void **state)
{
    (void)state;
    struct detector *d = malloc(sizeof *d);
    for (int which = 0; which <= 10; which++) {
        struct hp_ppcr ppcr = variant(which);
        size_t checked = 0, unknown = 0, split = 0, steps = 0;
        for (uint64_t seed = 1; seed <= 40; seed++) {
            struct code c;
            random_state = seed * 977;
            code_init(&c);
            for (uint32_t f = 0; f < FUNCTIONS; f++)
                for (uint32_t b = 0; b < BLOCKS; b++)
                    make_random_block(&c, f, b);
            *d = (struct detector){.ppcr = &ppcr, .code = c.code};
            assert_int_equal(hp_walk_new(c.code, &ppcr, &d->walk), HP_OK);
            run(d, &c, 3000);
            checked += d->checked;
            unknown += d->followed_unknown;
            split += d->split;
            steps += d->steps;
            hp_walk_free(d->walk);
            hp_code_free(c.code);
        }
        assert_true(checked > 5000 && steps > checked);
        assert_int_equal(unknown > 0, ppcr.extension == HP_EXTEND_CALL);
        if (ppcr.max_length < 5)
            assert_true(split > 1000);
    }
    free(d);
}

/* --- What does not fit ------------------------------------------------------------------------ */

static size_t walk_with(const struct hp_ppcr *ppcr, const struct hp_code *code,
                        const struct hp_path *path, struct hp_walk_step *out)
{
    struct hp_walk *walk;
    const struct hp_walk_step *steps;
    assert_int_equal(hp_walk_new(code, ppcr, &walk), HP_OK);
    size_t n = hp_walk_path(walk, path, NULL, &steps);
    memcpy(out, steps, n * sizeof *out);
    hp_walk_free(walk);
    return n;
}

/* Block 0 branches to 2 or falls to 1, which jumps to itself; 2 has no successor in the map. */
static void paths_that_cannot_be_end(void **state)
{
    (void)state;
    static struct hp_walk_step steps[HP_WALK_MAX];
    struct code c;
    code_init(&c);
    make_block(&c, 0, 0, HP_FLOW_COND, address_of(0, 2));
    make_block(&c, 0, 1, HP_FLOW_JUMP, address_of(0, 1));
    make_block(&c, 0, 2, HP_FLOW_JUMP, address_of(0, 9));
    struct hp_path none = {.block = HP_NO_ID}, beyond = {.block = 3};
    assert_int_equal(walk_with(&bl, c.code, &none, steps), 0);
    assert_int_equal(walk_with(&bl, c.code, &beyond, steps), 0);
    /* Too few outcomes. */
    struct hp_path path = {.block = 0, .start = address_of(0, 0)};
    assert_int_equal(walk_with(&bl, c.code, &path, steps), 1);
    assert_int_equal(steps[0].how, HP_STEP_END);
    /* Into the unknown. */
    path.outcomes = 7, path.length = 3;
    assert_int_equal(walk_with(&bl, c.code, &path, steps), 2);
    assert_int_equal(steps[0].how, HP_STEP_TAKEN);
    assert_int_equal(steps[1].how, HP_STEP_END);
    /* A jump that was not taken. */
    path.outcomes = 0;
    assert_int_equal(walk_with(&bl, c.code, &path, steps), 2);
    assert_int_equal(steps[0].how, HP_STEP_FELL);
    assert_int_equal(steps[1].how, HP_STEP_END);
    /* A register that records nothing of a loop: the walk ends by itself. */
    struct hp_ppcr blind = bl;
    blind.ops[HP_CLASS_BACKWARD] = HP_PATH_UPDATE_COUNT;
    path.outcomes = 0, path.length = 1;
    assert_int_equal(walk_with(&blind, c.code, &path, steps), HP_WALK_MAX);
    assert_int_equal(steps[HP_WALK_MAX - 1].how, HP_STEP_END);
    /* One that records one direction only. */
    blind = bl;
    blind.ops[HP_CLASS_BACKWARD] = HP_PATH_UPDATE_COUNT;
    make_block(&c, 1, 0, HP_FLOW_COND, address_of(1, 0));
    path = (struct hp_path){.block = c.id[1][0], .outcomes = 1, .length = 1};
    assert_int_equal(walk_with(&blind, c.code, &path, steps), 1);
    assert_int_equal(steps[0].how, HP_STEP_END);
    hp_code_free(c.code);
}

/* Where two programs of a run had code at the same address, a path stays in its module. */
static void modules_at_the_same_address_are_told_apart(void **state)
{
    (void)state;
    static struct hp_walk_step steps[HP_WALK_MAX];
    struct code c;
    struct hp_module other = {.path = "/bin/y", .build_id = "", .low = 0, .high = 0x500000};
    uint32_t first[2];
    code_init(&c);
    for (int i = 0; i < 2; i++) {
        make_block(&c, 0, 0, HP_FLOW_JUMP, address_of(0, 2));
        first[i] = c.id[0][0];
        make_block(&c, 0, 2, i ? HP_FLOW_RETURN : HP_FLOW_JUMP_IND, 0);
        assert_int_equal(hp_code_add_module(c.code, &other, &c.module), HP_OK);
    }
    struct hp_path path = {.block = first[0], .outcomes = 3, .length = 2};
    assert_int_equal(walk_with(&bl, c.code, &path, steps), 2);
    assert_int_equal(steps[1].block, first[0] + 1);
    assert_int_equal(steps[1].how, HP_STEP_TAKEN);
    path = (struct hp_path){.block = first[1], .outcomes = 1, .length = 1};
    assert_int_equal(walk_with(&bl, c.code, &path, steps), 2);
    assert_int_equal(steps[1].block, first[1] + 1);
    assert_int_equal(steps[1].how, HP_STEP_RETURNED);
    hp_code_free(c.code);
}

/* ARM: 0x1000 nop, bxne lr; 0x1008 bx lr. */
static void conditional_returns_are_told_apart(void **state)
{
    (void)state;
    static struct hp_walk_step steps[HP_WALK_MAX];
    const uint8_t bytes[] = {0x00, 0x00, 0xa0, 0xe1, 0x1e, 0xff,
                             0x2f, 0x11, 0x1e, 0xff, 0x2f, 0xe1};
    struct hp_module module = {.path = "/bin/x", .build_id = "", .low = 0, .high = 0x2000};
    struct hp_segment segment = {.start = 0x1000, .size = 8, .bytes = bytes};
    struct hp_code *code;
    assert_int_equal(hp_code_new(HP_ARCH_ARM, &code), HP_OK);
    assert_int_equal(hp_code_add_module(code, &module, &segment.module), HP_OK);
    assert_int_equal(hp_code_add_segment(code, 1, &segment), HP_OK);
    segment.start = 0x1008, segment.size = 4, segment.bytes = bytes + 8;
    assert_int_equal(hp_code_add_segment(code, 2, &segment), HP_OK);
    struct hp_path returned = {.block = 0}, fell = {.block = 0, .length = 1};
    assert_int_equal(walk_with(&bl, code, &returned, steps), 1);
    assert_int_equal(steps[0].how, HP_STEP_RETURNED);
    assert_int_equal(walk_with(&bl, code, &fell, steps), 2);
    assert_int_equal(steps[0].how, HP_STEP_FELL);
    assert_int_equal(steps[1].how, HP_STEP_RETURNED);
    fell.outcomes = 1; /* cannot be */
    assert_int_equal(walk_with(&bl, code, &fell, steps), 1);
    assert_int_equal(steps[0].how, HP_STEP_END);
    hp_code_free(code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_walk_finds_the_blocks_of_every_path),
        cmocka_unit_test(paths_that_cannot_be_end),
        cmocka_unit_test(modules_at_the_same_address_are_told_apart),
        cmocka_unit_test(conditional_returns_are_told_apart),
    };
    return cmocka_run_group_tests_name("walk", tests, NULL, NULL);
}
