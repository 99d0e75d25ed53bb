// SPDX-License-Identifier: MIT
/*
 * For the tests of path reconstruction: programs of real x86-64 code, run by a script or at random, with the edges of the run.
 */
#ifndef HP_TEST_RECONSTRUCT_FIXTURE_H
#define HP_TEST_RECONSTRUCT_FIXTURE_H

#include "hotpath/reconstruct.h"
#include "stream_fixture.h"

#define BASE     0x400000
#define MAX_CODE 256
#define MAX_LOG  3000
#define DEEPEST  60

enum kind { NOP, COND, JMP, JMP_IND, CALL, RET };

struct instruction {
    uint8_t kind, size;
    uint32_t target; /* index */
    uint32_t offset;
};

/* A block that was run: instructions `first` to `last`. */
struct executed {
    uint32_t first, last, block;
};

struct machine {
    uint64_t seed;
    struct instruction code[MAX_CODE];
    uint32_t n, size;
    uint8_t bytes[MAX_CODE * 8];
    uint32_t function[MAX_CODE]; /* of each instruction: its first */
    struct executed log[MAX_LOG];
    size_t n_log;
    struct hp_edge_count edges[MAX_LOG];
    size_t n_edges;
    struct stream stream;
    struct hp_frame_source frames;
    struct hp_reconstruct *reconstruct;
};

/* --- Code ------------------------------------------------------------------------------------- */

static inline uint32_t emit(struct machine *m, enum kind kind, uint32_t target)
{
    static const struct {
        uint8_t bytes[2], size;
    } forms[] = {{{0x90}, 1},       {{0x0f, 0x84}, 6}, {{0xe9}, 5},
                 {{0xff, 0xe0}, 2}, {{0xe8}, 5},       {{0xc3}, 1}};
    assert_true(m->n < MAX_CODE);
    m->code[m->n] = (struct instruction){(uint8_t)kind, forms[kind].size, target, m->size};
    memcpy(m->bytes + m->size, forms[kind].bytes, 2);
    m->size += forms[kind].size;
    return m->n++;
}

static inline uint64_t address_of(const struct machine *m, uint32_t index)
{
    return BASE + m->code[index].offset;
}

static inline uint32_t index_of(const struct machine *m, uint64_t address)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (address_of(m, i) == address)
            return i;
    fail_msg("there is no instruction at 0x%llx", (unsigned long long)address);
    return 0;
}

static inline void link_code(struct machine *m)
{
    for (uint32_t i = 0; i < m->n; i++) {
        const struct instruction *in = &m->code[i];
        uint32_t end = in->offset + in->size;
        int32_t displacement = (int32_t)(m->code[in->target].offset - end);
        if (in->kind == COND || in->kind == JMP || in->kind == CALL)
            memcpy(m->bytes + end - 4, &displacement, 4);
    }
}

/* --- Running ---------------------------------------------------------------------------------- */

/* Directions come from the script; without one, at random. Ends with the script, with a return from nowhere, or when there is enough. */
static inline void run_from(struct machine *m, uint32_t at, const char *script)
{
    uint32_t stack[DEEPEST], depth = 0;
    while (m->n_log < MAX_LOG) {
        uint32_t first = at, next = at + 1;
        while (m->code[at].kind == NOP)
            at++;
        const struct instruction *in = &m->code[at];
        m->log[m->n_log++] = (struct executed){.first = first, .last = at};
        if (in->kind == COND) {
            if (script && !*script)
                return;
            bool taken = script ? *script++ == '1' : random_below(&m->seed, 100) < 30 + at % 40;
            next = taken ? in->target : at + 1;
        } else if (in->kind == JMP)
            next = in->target;
        else if (in->kind == JMP_IND)
            next = random_below(&m->seed, 2) ? in->target : at + 1;
        else if (in->kind == CALL) {
            if (depth == DEEPEST)
                return;
            stack[depth++] = at + 1;
            next = in->target;
        } else {
            if (depth == 0)
                return;
            next = stack[--depth];
        }
        at = next;
    }
}

/* --- What is known of it ---------------------------------------------------------------------- */

static inline void define_blocks(struct machine *m)
{
    uint32_t n = 0;
    for (size_t i = 0; i < m->n_log; i++) {
        struct executed *e = &m->log[i];
        const struct instruction *last = &m->code[e->last];
        uint32_t offset = m->code[e->first].offset;
        e->block = HP_NO_ID;
        for (uint32_t b = 0; b < hp_code_n_blocks(m->stream.code); b++)
            if (hp_code_block(m->stream.code, b)->start == BASE + offset)
                e->block = b;
        if (e->block != HP_NO_ID)
            continue;
        struct hp_segment segment = {.start = BASE + offset,
                                     .module = m->stream.module,
                                     .size = last->offset + last->size - offset,
                                     .bytes = m->bytes + offset};
        e->block = hp_code_n_blocks(m->stream.code);
        assert_int_equal(hp_code_add_segment(m->stream.code, ++n, &segment), HP_OK);
        assert_int_equal(hp_code_n_blocks(m->stream.code), e->block + 1);
    }
}

static inline void count_edges(struct machine *m)
{
    for (size_t i = 0; i + 1 < m->n_log; i++) {
        uint32_t from = m->log[i].block, to = m->log[i + 1].block;
        size_t k = 0;
        while (k < m->n_edges && (m->edges[k].from != from || m->edges[k].to != to))
            k++;
        m->n_edges += k == m->n_edges;
        m->edges[k] = (struct hp_edge_count){from, to, m->edges[k].count + 1};
    }
}

static inline struct machine *machine_of(struct hp_frame_source *source)
{
    return (struct machine *)(void *)((char *)source - offsetof(struct machine, frames));
}

static inline uint32_t test_function_of(struct hp_frame_source *source, uint32_t block)
{
    struct machine *m = machine_of(source);
    return m->function[index_of(m, hp_code_block(m->stream.code, block)->start)];
}

static inline bool test_is_entry(struct hp_frame_source *source, uint32_t block)
{
    struct machine *m = machine_of(source);
    uint32_t first = index_of(m, hp_code_block(m->stream.code, block)->start);
    return m->function[first] == first;
}

/* After the run: makes m->reconstruct. */
static inline void learn(struct machine *m, const struct hp_reconstruct_config *config)
{
    stream_init(&m->stream);
    define_blocks(m);
    count_edges(m);
    m->frames =
        (struct hp_frame_source){.function_of = test_function_of, .is_entry = test_is_entry};
    assert_int_equal(hp_reconstruct_new(m->stream.code, m->edges, m->n_edges, &m->frames, config,
                                        &m->reconstruct),
                     HP_OK);
    assert_int_equal(hp_reconstruct_stats(m->reconstruct)->left_out, 0);
}

static inline void forget(struct machine *m)
{
    hp_reconstruct_free(m->reconstruct);
    stream_fini(&m->stream);
}

#endif
