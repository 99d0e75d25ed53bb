// SPDX-License-Identifier: MIT
/*
 * Random programs, for differential tests. A program is made of real x86-64 bytes: straight code
 * with jumps, calls, returns and system calls between, so that blocks overlap and any instruction
 * may start one. It is run to get the truth, block by block; at the same time the truth is degraded
 * to the words of an engine like QEMU: blocks in pieces, cut at other places each time or always at
 * the same, REP iterations one by one, instructions run again, signals in between. Or, when it is
 * *native*, to those of an engine that lays blocks out as runs and says what was cut short.
 *
 * Left out is only what no reader of such words could tell: see may_signal() and may_restart().
 */
#ifndef HP_TEST_PROGRAM_FIXTURE_H
#define HP_TEST_PROGRAM_FIXTURE_H

#include "base/map64.h"
#include "stream_fixture.h"

enum kind { NOP, REP, COND, JMP, CALL, JMP_IND, CALL_IND, RET, SYS };

struct instruction {
    uint8_t kind, size;
    uint32_t target; /* of a direct transfer: index */
    uint32_t offset;
};

#define PROGRAM_BASE  0x400000
#define MAX_RETURNS   64
#define MAX_SIGNALS   4  /* nested */
#define SIGNAL_ASYNC  10 /* comes from outside */
#define SIGNAL_FAULT  11 /* an instruction causes it */
#define LONGEST_PIECE 512

/* What was retired last, as a cursor knows it: printed when the next block is complete. */
struct pending {
    bool there;
    bool joined;    /* was run in pieces */
    uint32_t first; /* index of its first instruction */
    uint32_t insns; /* of it */
    uint32_t next;  /* index of what came after, once known */
    uint8_t kind;   /* of its last instruction */
};

struct program {
    uint64_t seed;
    struct instruction *code;
    uint32_t n;
    size_t cap;
    uint8_t *bytes;
    size_t size, cap_bytes;
    uint32_t handler, fault_handler, restorer; /* indices; main code is before the first */

    /* How it is degraded, in percent. */
    uint32_t open, varying, signals, faults, restarts, truncated;
    bool announced; /* signals are, else handlers */
    bool native;    /* runs of blocks, and nothing that has to be guessed */
    uint32_t runs;  /* native: percent of transfers inside of which a run goes on */

    /* The run that the last word stands for. */
    size_t run_word; /* place of the word, + 1 */
    uint32_t run_id, run_end, run_length;

    struct hp_map64 segment_of; /* parent, index, instructions, truncated -> id */
    uint32_t n_segments;

    uint32_t *words;
    size_t n_words, cap_words;
    struct item *truth;
    size_t n_truth, cap_truth;

    struct pending last;
    uint32_t depth; /* of signals */
    uint32_t returns[MAX_RETURNS];
    uint32_t n_returns;
};

static inline bool chance(struct program *p, uint32_t percent)
{
    return random_below(&p->seed, 100) < percent;
}

static inline uint64_t address_of(const struct program *p, uint32_t index)
{
    return PROGRAM_BASE + p->code[index].offset;
}

/* --- Making a program
 * ---------------------------------------------------------------------------- */

static inline uint32_t add_instruction(struct program *p, enum kind kind, uint32_t target)
{
    /* straight code, by length; those of 3 and 5 bytes load and store */
    static const char *const nops[] = {"\x90", "\x66\x90", "\x48\x8b\x03", "\x0f\x1f\x40\x00",
                                       "\x48\x89\x44\x24\x08"};
    static const struct {
        const char *bytes;
        uint8_t size;
    } forms[] = {
        [REP] = {"\xf3\xa4", 2},     [COND] = {"\x0f\x84\0\0\0\0", 6},
        [JMP] = {"\xe9\0\0\0\0", 5}, [CALL] = {"\xe8\0\0\0\0", 5},
        [JMP_IND] = {"\xff\xe0", 2}, [CALL_IND] = {"\xff\xd0", 2},
        [RET] = {"\xc3", 1},         [SYS] = {"\x0f\x05", 2},
    };
    uint32_t nop = random_below(&p->seed, 5);
    const char *bytes = kind == NOP ? nops[nop] : forms[kind].bytes;
    uint8_t size = (uint8_t)(kind == NOP ? nop + 1 : forms[kind].size);
    assert_int_equal(hp_grow(&p->code, &p->cap, (size_t)p->n + 1, sizeof *p->code), HP_OK);
    assert_int_equal(hp_grow(&p->bytes, &p->cap_bytes, p->size + size, 1), HP_OK);
    p->code[p->n] = (struct instruction){
        .kind = (uint8_t)kind, .size = size, .target = target, .offset = (uint32_t)p->size};
    memcpy(p->bytes + p->size, bytes, size);
    p->size += size;
    return p->n++;
}

static inline void add_nops(struct program *p, uint32_t n)
{
    while (n--)
        add_instruction(p, NOP, 0);
}

/* Fills in the displacements of direct transfers. */
static inline void link_program(struct program *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const struct instruction *in = &p->code[i];
        if (in->kind != COND && in->kind != JMP && in->kind != CALL)
            continue;
        uint32_t end = in->offset + in->size;
        int32_t displacement = (int32_t)(p->code[in->target].offset - end);
        memcpy(p->bytes + end - 4, &displacement, 4);
    }
}

static inline uint32_t add_handler_code(struct program *p)
{
    uint32_t start = add_instruction(p, NOP, 0), body = 1 + random_below(&p->seed, 10);
    for (uint32_t i = 0; i < body; i++) {
        enum kind kind = chance(p, 20) ? COND : chance(p, 15) ? REP : chance(p, 10) ? SYS : NOP;
        add_instruction(p, kind, start + i + 2 + random_below(&p->seed, body - i));
    }
    add_instruction(p, RET, 0);
    return start;
}

static inline void program_init(struct program *p, uint64_t seed)
{
    *p = (struct program){.seed = seed * 2654435761u + 88172645463325252u};
    bool is_long = chance(p, 2);
    uint32_t body = 5 + random_below(&p->seed, chance(p, 30) ? 400 : 40);
    static const uint8_t mix[] = {NOP,  NOP,  NOP, NOP,  NOP, NOP,     REP,      COND,
                                  COND, COND, JMP, CALL, RET, JMP_IND, CALL_IND, SYS};
    for (uint32_t i = 0; i < body; i++) {
        add_instruction(p, mix[random_below(&p->seed, sizeof mix)], 0);
        if (is_long && i % 16 == 0)
            add_nops(p, 1000 + random_below(&p->seed, 9000));
    }
    add_instruction(p, JMP, 0);
    p->handler = p->n;
    for (uint32_t i = 0; i < p->handler; i++)
        p->code[i].target = p->code[i].kind == CALL && chance(p, 5)
                                ? p->handler /* the program calls its handler itself */
                                : random_below(&p->seed, p->handler);
    add_handler_code(p);
    p->fault_handler = add_handler_code(p);
    p->restorer = p->n;
    add_instruction(p, NOP, 0);
    add_instruction(p, SYS, 0);
    link_program(p);

    static const uint32_t opens[] = {0, 5, 30, 60};
    p->open = opens[random_below(&p->seed, 4)];
    p->varying = chance(p, 50) ? 0 : 50;
    p->signals = chance(p, 50) ? 0 : random_below(&p->seed, 10);
    p->faults = chance(p, 50) ? 0 : 2;
    p->restarts = chance(p, 50) ? 0 : 5;
    p->truncated = chance(p, 50) ? 0 : 30;
    p->announced = chance(p, 50);
}

/* Shows it as an engine that lays out runs of blocks would. */
static inline void program_make_native(struct program *p)
{
    p->native = p->announced = true;
    p->open = p->varying = p->truncated = 0;
    p->runs = 30 + random_below(&p->seed, 71);
}

static inline void program_fini(struct program *p)
{
    free(p->code);
    free(p->bytes);
    hp_map64_fini(&p->segment_of);
    free(p->words);
    free(p->truth);
}

/* --- Words and truth
 * ----------------------------------------------------------------------------- */

static inline void put_word(struct program *p, uint32_t word)
{
    assert_int_equal(hp_grow(&p->words, &p->cap_words, p->n_words + 1, sizeof *p->words), HP_OK);
    p->words[p->n_words++] = word;
}

static inline void put_truth(struct program *p, struct item item)
{
    assert_int_equal(hp_grow(&p->truth, &p->cap_truth, p->n_truth + 1, sizeof *p->truth), HP_OK);
    p->truth[p->n_truth++] = item;
}

static inline void put_event(struct program *p, enum hp_event_kind kind, uint64_t value)
{
    put_truth(p, (struct item){.event = (uint8_t)(kind + 1), .taken = 1, .value = value});
}

/* Another block comes after the last one. */
static inline void print_last(struct program *p)
{
    const struct pending *b = &p->last;
    if (!b->there)
        return;
    uint32_t end = b->first + b->insns;
    bool may_fall = b->kind == COND || b->kind == SYS || b->kind == NOP || b->kind == REP;
    put_truth(p, (struct item){.taken = !(may_fall && b->next == end),
                               .insns = b->insns,
                               .value = address_of(p, b->first)});
    p->last.there = false;
}

static inline bool ends_block(const struct program *p, uint32_t index)
{
    return p->code[index].kind >= COND;
}

/* Whether the engine has laid out the code from `index` on behind the run that was just run. */
static inline bool is_in_run(const struct program *p, uint32_t index)
{
    if (!p->run_word || p->run_word != p->n_words || p->run_length == HP_RUN_MAX)
        return false;
    const struct instruction *last = &p->code[p->run_end];
    bool falls = (last->kind == COND || last->kind == SYS) && index == p->run_end + 1;
    bool jumps = last->kind >= COND && last->kind <= CALL && index == last->target;
    uint64_t own = (uint64_t)p->run_id << 32 | index; /* the same every time */
    return (falls || jumps) && random_below(&own, 100) < p->runs;
}

/* A segment of `n` instructions from `index` on, with the beginning of the next if truncated. */
static inline void put_piece(struct program *p, struct stream *s, uint32_t index, uint32_t n,
                             bool truncated)
{
    uint32_t parent = is_in_run(p, index) ? p->run_id : 0;
    uint64_t key = (uint64_t)parent << 32 | index << 11 | n << 1 | truncated;
    uint32_t id = hp_map64_get(&p->segment_of, key);
    if (id == HP_MAP64_NONE) {
        const struct instruction *last = &p->code[index + n - 1];
        uint32_t from = p->code[index].offset, end = last->offset + last->size;
        if (truncated)
            end += p->code[index + n].size - 1u;
        struct hp_segment segment = {.start = PROGRAM_BASE + from,
                                     .parent = parent,
                                     .module = s->module,
                                     .size = end - from,
                                     .bytes = p->bytes + from};
        id = ++p->n_segments;
        assert_int_equal(hp_code_add_segment(s->code, id, &segment), HP_OK);
        assert_int_equal(hp_map64_put(&p->segment_of, key, id), HP_OK);
    }
    if (parent)
        p->n_words--;
    put_word(p, id);
    p->run_word = p->native && ends_block(p, index + n - 1) ? p->n_words : 0;
    p->run_id = id;
    p->run_end = index + n - 1;
    p->run_length = parent ? p->run_length + 1 : 1;
}

/* --- Running
 * ------------------------------------------------------------------------------------- */

/* Where the program goes after the instruction at `index`, which ends a block. */
static inline uint32_t next_index(struct program *p, uint32_t index)
{
    const struct instruction *in = &p->code[index];
    uint32_t anywhere = random_below(&p->seed, p->handler);
    switch (in->kind) {
    case COND: return chance(p, 60) ? index + 1 : in->target;
    case JMP: return in->target;
    case CALL:
    case CALL_IND:
        if (p->n_returns < MAX_RETURNS)
            p->returns[p->n_returns++] = index + 1;
        if (in->kind == CALL)
            return in->target;
        return chance(p, 5) ? p->handler : anywhere;
    case RET: /* sometimes to a place that nobody called from */
        return p->n_returns && (p->depth || !chance(p, 3)) ? p->returns[--p->n_returns] : anywhere;
    case JMP_IND: return anywhere;
    default: return index + 1;
    }
}

/* Whether a signal after the transfer at `index` can be told from the program going to the handler
 * by itself. */
static inline bool may_signal_after(const struct program *p, uint32_t index)
{
    const struct instruction *last = &p->code[index];
    return p->announced || (last->kind != CALL_IND && last->kind != JMP_IND &&
                            !(last->kind == CALL && last->target == p->handler));
}

static inline bool may_signal(const struct program *p, bool in_piece)
{
    if (p->announced || in_piece)
        return true;
    return p->last.there && may_signal_after(p, p->last.first + p->last.insns - 1);
}

/* Whether running on at `index`, inside the block of `n` instructions from `first` on, can be told
 * from the block going there. */
static inline bool may_restart(const struct program *p, uint32_t first, uint32_t n, uint32_t index)
{
    const struct instruction *last = &p->code[first + n - 1];
    switch (last->kind) {
    case COND:
    case JMP:
    case CALL: return last->target != index;
    case SYS:
    case NOP:
    case REP: return true;
    default: return false;
    }
}

static inline void run_from(struct program *p, struct stream *s, uint32_t index, uint32_t runs);

static inline void run_signal(struct program *p, struct stream *s, uint32_t signal)
{
    struct pending interrupted = p->last;
    uint32_t n_returns = p->n_returns;
    if (p->announced)
        put_word(p, hp_word_event(HP_WORD_SIGNAL, signal));
    put_event(p, HP_EVENT_SIGNAL, p->announced ? signal : 0);
    p->last.there = false;
    p->depth++;
    p->n_returns = 0;
    p->returns[p->n_returns++] = p->restorer;
    run_from(p, s, signal == SIGNAL_FAULT ? p->fault_handler : p->handler, UINT32_MAX);
    p->depth--;
    p->n_returns = n_returns;
    put_word(p, hp_word_event(HP_WORD_SIGRETURN, 0));
    put_truth(p, (struct item){.event = HP_EVENT_TAIL + 1,
                               .taken = 1,
                               .insns = p->last.insns,
                               .value = address_of(p, p->last.first)});
    put_event(p, HP_EVENT_SIGRETURN, 0);
    p->last = interrupted;
}

/* How many instructions the translator puts into the piece from `at` on; the transfer is at `end`.
 * `fresh`: it is the first of its block. */
static inline uint32_t piece_length(struct program *p, uint32_t at, uint32_t end, bool fresh)
{
    uint64_t own = (uint64_t)at * 0x9e3779b97f4a7c15u; /* the same every time */
    uint64_t *source = chance(p, p->varying) ? &p->seed : &own;
    uint32_t n = end + 1 - at;
    if (random_below(source, 100) < p->open)
        n = 1 + random_below(source, n);
    n = n < LONGEST_PIECE ? n : LONGEST_PIECE;
    for (uint32_t i = 0; i + 1 < n; i++)
        if (p->code[at + i].kind == REP && !p->native && random_below(source, 100) < 70)
            n = i + 1;
    /* One instruction of a block that was run whole, alone: that is how one is done again. */
    const struct pending *b = &p->last;
    if (n == 1 && fresh && !ends_block(p, at) && b->there && !b->joined && at >= b->first &&
        at < b->first + b->insns)
        n = 2;
    return n;
}

/* Where in a piece that was begun the code goes on: before its end when something was in the way. */
static inline uint32_t run_piece(struct program *p, struct stream *s, uint32_t first, uint32_t at,
                                 uint32_t n)
{
    bool ends = ends_block(p, at + n - 1), whole = ends && at == first;
    bool truncated = !ends && p->code[at + n].size > 1 && chance(p, p->truncated);
    put_piece(p, s, at, n, truncated);
    uint32_t again = first + random_below(&p->seed, at + n - first);
    if (!p->announced && (again == p->handler || again == p->fault_handler))
        return at + n; /* that would be another signal */
    uint32_t total = at + n - first;
    bool fault = p->depth < MAX_SIGNALS && chance(p, p->faults) && may_signal_after(p, at + n - 1);
    bool says = p->native || (p->announced && fault);
    if (says && again < at)
        again = at + random_below(&p->seed, n);
    bool seam = !ends && total % HP_BLOCK_MAX_INSNS == 0;
    if (seam || total > HP_BLOCK_MAX_INSNS) /* parts of it are blocks of their own already */
        return at + n;
    if (!fault && (!chance(p, p->restarts) ||
                   (ends && !whole && !p->native && !may_restart(p, first, total, again))))
        return at + n;
    if (ends)
        print_last(p); /* it is known that this block comes next */
    bool system = p->native && fault && p->code[at + n - 1].kind == SYS && chance(p, 50);
    if (system) /* a system call that is interrupted, and restarted: that says itself */
        again = at + n - 1;
    else if (says || (whole && !fault && (!may_restart(p, first, total, again) || chance(p, 30))))
        put_word(p, hp_word_event(HP_WORD_CUT, again - at));
    if (fault)
        run_signal(p, s, system ? SIGNAL_ASYNC : SIGNAL_FAULT);
    p->last.joined = true;
    return again;
}

/* REP iterations, where the piece ended with one. */
static inline void run_iterations(struct program *p, struct stream *s, uint32_t at)
{
    while (p->code[at].kind == REP && chance(p, 50))
        put_piece(p, s, at, 1, false);
}

static inline void complete(struct program *p, uint32_t first, uint32_t insns, bool joined)
{
    print_last(p);
    p->last = (struct pending){.there = true,
                               .joined = joined,
                               .first = first,
                               .insns = insns,
                               .next = first + insns,
                               .kind = p->code[first + insns - 1].kind};
}

/* Runs straight code from `index` to its transfer; returns where that leads. */
static inline uint32_t run_straight(struct program *p, struct stream *s, uint32_t index)
{
    uint32_t end = index, at = index, first = index, pieces = 0;
    while (!ends_block(p, end))
        end++;
    while (at <= end) {
        uint32_t n = piece_length(p, at, end, at == first && pieces == 0);
        uint32_t begun = at;
        at = run_piece(p, s, first, at, n);
        pieces++;
        for (; at - first >= HP_BLOCK_MAX_INSNS && first + HP_BLOCK_MAX_INSNS <= end;
             first += HP_BLOCK_MAX_INSNS)
            complete(p, first, HP_BLOCK_MAX_INSNS, true);
        if (at > end)
            break;
        if (at == begun + n)
            run_iterations(p, s, at - 1);
        if (p->depth < MAX_SIGNALS && chance(p, p->signals) && may_signal(p, at > first))
            run_signal(p, s, SIGNAL_ASYNC);
    }
    complete(p, first, end + 1 - first, pieces > 1);
    return p->last.next = next_index(p, end);
}

/* Runs `runs` pieces of straight code, or until a signal handler is over. */
static inline void run_from(struct program *p, struct stream *s, uint32_t index, uint32_t runs)
{
    while (runs--) {
        bool over = index == p->restorer;
        index = run_straight(p, s, index);
        if (over)
            return;
        if (runs && p->depth < MAX_SIGNALS && chance(p, p->signals) && may_signal(p, false))
            run_signal(p, s, SIGNAL_ASYNC);
    }
}

/* Announces the handlers. Two of them, so that what is interrupted from outside is told from what
 * interrupts itself. */
static inline void announce(struct program *p, uint32_t signal, uint32_t handler)
{
    put_word(p, hp_word_event(HP_WORD_HANDLER, signal));
    put_word(p, (uint32_t)address_of(p, handler));
    put_word(p, 0);
}

/* Runs the program: afterwards `words` are what an engine shows of `truth`. */
static inline void program_run(struct program *p, struct stream *s, uint32_t runs)
{
    if (!p->announced) {
        announce(p, SIGNAL_ASYNC, p->handler);
        announce(p, SIGNAL_FAULT, p->fault_handler);
    }
    run_from(p, s, random_below(&p->seed, p->handler), runs);
    put_truth(p, (struct item){.event = HP_EVENT_TAIL + 1,
                               .taken = 1,
                               .insns = p->last.insns,
                               .value = address_of(p, p->last.first)});
    put_event(p, HP_EVENT_END, HP_END_EXIT);
    put_word(p, hp_word_event(HP_WORD_END, HP_END_EXIT));
}

/* --- Nonsense
 * ------------------------------------------------------------------------------------ */

/* A word that means something more often than not. */
static inline uint32_t random_word(struct program *p)
{
    switch (random_below(&p->seed, 12)) {
    case 0: return random_next(&p->seed);
    case 1:
        return hp_word_event((enum hp_word_kind)random_below(&p->seed, HP_WORD_KIND_COUNT_ + 2),
                             random_below(&p->seed, 20));
    case 2: return hp_word_event(HP_WORD_SIGNAL, random_below(&p->seed, 32));
    case 3: return hp_word_event(HP_WORD_SIGRETURN, 0);
    case 4: return hp_word_event(HP_WORD_CUT, random_below(&p->seed, 10));
    case 5: return (uint32_t)address_of(p, random_below(&p->seed, p->n));
    default: return 1 + random_below(&p->seed, p->n_segments + 1);
    }
}

/* Takes what a program did and spoils it: words dropped, doubled, exchanged, invented. */
static inline void spoil(struct program *p, uint32_t percent)
{
    for (size_t i = 0; i < p->n_words; i++) {
        if (!chance(p, percent))
            continue;
        size_t other = random_below(&p->seed, (uint32_t)p->n_words);
        switch (random_below(&p->seed, 3)) {
        case 0: p->words[i] = p->words[other]; break;
        case 1: p->words[i] = random_word(p); break;
        default:
            if (i + 1 < p->n_words)
                p->words[i] = p->words[i + 1];
        }
    }
}

#endif
