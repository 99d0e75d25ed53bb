// SPDX-License-Identifier: MIT
/*
 * For the tests of paths: a program of blocks named by letters, and executions of it written as text.
 *
 *   a letter  that block is run (the first after an event comes like blocks[0] of a batch)
 *   < >       a signal handler starts; it is left by a signal return
 *   !         something is lost       .  the block before is a tail       $  the end
 *   blanks    mean nothing
 *
 * Every execution is shown to detectors in four ways: batches, steps of one block, steps of runs, and branches. All have to find
 * the same. Paths come as text: "A.0110/12" is the path that starts at block A, with its outcomes, and its instructions; with the
 * events of a metric, "A.0110/12*3"; with indirect targets, "A.0110/12>BC".
 */
#ifndef HP_TEST_PATH_FIXTURE_H
#define HP_TEST_PATH_FIXTURE_H

#include "base/map64.h"
#include "hotpath/path.h"
#include "stream/code_impl.h"
#include "stream_fixture.h"

/* A block: its last instruction is a branch of that flow, before it are one-byte instructions. */
struct letter {
    char name;
    uint64_t start;
    uint32_t insns;
    enum hp_flow flow;
    char target;       /* of a direct branch */
    uint32_t function; /* 0: not known */
    bool entry;
    const char *hex; /* its code, where it is not that */
};

struct found { /* first: the sink */
    struct hp_path_sink sink;
    struct program_of_letters *program;
    FILE *out;
    uint64_t insns;
};

struct program_of_letters {
    struct hp_frame_source frames; /* first */
    const struct letter *letters;
    size_t n;
    struct stream stream; /* for its code map */
    uint32_t block[128];  /* by name */
    uint32_t next_segment;
    struct hp_map64 runs; /* parent << 32 | block -> segment */
    uint32_t longest;     /* run */
};

/* --- Code ------------------------------------------------------------------------------------- */

static inline const struct letter *find_letter(const struct program_of_letters *p, char name)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->letters[i].name == name)
            return &p->letters[i];
    fail_msg("no block is called %c", name);
    return NULL;
}

static inline uint32_t branch_size(enum hp_flow flow)
{
    switch (flow) {
    case HP_FLOW_JUMP:
    case HP_FLOW_CALL: return 5;
    case HP_FLOW_COND: return 6;
    case HP_FLOW_RETURN: return 1;
    default: return 2;
    }
}

/* The code of a block; returns its size. */
static inline uint32_t encode_letter(const struct program_of_letters *p, const struct letter *l,
                                     uint8_t *bytes)
{
    static const uint8_t codes[HP_FLOW_COUNT_][2] = {
        [HP_FLOW_JUMP] = {0xe9},           [HP_FLOW_COND] = {0x0f, 0x84},
        [HP_FLOW_CALL] = {0xe8},           [HP_FLOW_JUMP_IND] = {0xff, 0xe0},
        [HP_FLOW_CALL_IND] = {0xff, 0xd0}, [HP_FLOW_RETURN] = {0xc3},
        [HP_FLOW_SYSCALL] = {0x0f, 0x05}};
    uint32_t size = branch_size(l->flow), at = l->insns - 1;
    if (l->hex) {
        int used;
        unsigned byte;
        size = 0;
        for (const char *hex = l->hex; sscanf(hex, " %2x%n", &byte, &used) == 1; hex += used)
            bytes[size++] = (uint8_t)byte;
        return size;
    }
    memset(bytes, 0x90, at);
    memcpy(bytes + at, codes[l->flow], size < 2 ? size : 2);
    if (size >= 5) {
        uint64_t target = find_letter(p, l->target)->start;
        int32_t distance = (int32_t)(target - (l->start + at + size));
        if (size == 5)
            bytes[at] = codes[l->flow][0];
        memcpy(bytes + at + size - 4, &distance, 4);
    }
    return at + size;
}

/* The segment of a block behind `parent` (0: alone); 0: there can be none. */
static inline uint32_t letter_segment(struct program_of_letters *p, uint32_t parent, char name)
{
    const struct letter *l = find_letter(p, name);
    uint8_t bytes[64];
    struct hp_segment segment = {
        .start = l->start, .module = p->stream.module, .parent = parent, .bytes = bytes};
    uint64_t key = (uint64_t)parent << 32 | (uint8_t)name;
    uint32_t id = hp_map64_get(&p->runs, key);
    if (id != HP_MAP64_NONE)
        return id;
    segment.size = encode_letter(p, l, bytes);
    id = p->next_segment;
    if (hp_code_add_segment(p->stream.code, id, &segment) != HP_OK)
        return 0;
    p->next_segment++;
    assert_int_equal(hp_map64_put(&p->runs, key, id), HP_OK);
    return id;
}

static inline uint32_t letter_function(struct hp_frame_source *source, uint32_t block)
{
    struct program_of_letters *p = (struct program_of_letters *)source;
    for (size_t i = 0; i < p->n; i++)
        if (p->block[(uint8_t)p->letters[i].name] == block && p->letters[i].function)
            return p->letters[i].function;
    return HP_NO_ID;
}

static inline bool letter_is_entry(struct hp_frame_source *source, uint32_t block)
{
    struct program_of_letters *p = (struct program_of_letters *)source;
    for (size_t i = 0; i < p->n; i++)
        if (p->block[(uint8_t)p->letters[i].name] == block)
            return p->letters[i].entry;
    return false;
}

static inline void letters_init(struct program_of_letters *p, const struct letter *letters,
                                size_t n)
{
    *p = (struct program_of_letters){.letters = letters, .n = n, .next_segment = 1, .longest = 4};
    p->frames =
        (struct hp_frame_source){.function_of = letter_function, .is_entry = letter_is_entry};
    stream_init(&p->stream);
    for (size_t i = 0; i < n; i++) {
        uint32_t id = letter_segment(p, 0, letters[i].name);
        assert_int_not_equal(id, 0);
        p->block[(uint8_t)letters[i].name] = p->stream.code->chains[id].blocks[0];
    }
}

static inline void letters_fini(struct program_of_letters *p)
{
    hp_map64_fini(&p->runs);
    stream_fini(&p->stream);
}

#define LETTERS(p, letters) letters_init(p, letters, sizeof letters / sizeof *letters)

/* --- What is found ---------------------------------------------------------------------------- */

static inline char letter_at(const struct program_of_letters *p, uint64_t address)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->letters[i].start == address)
            return p->letters[i].name;
    return '?';
}

static inline void found_paths(struct hp_path_sink *sink, const struct hp_paths *paths)
{
    struct found *f = (struct found *)sink;
    assert_in_range(paths->n, 1, HP_PATHS_MAX);
    for (size_t i = 0; i < paths->n; i++) {
        const struct hp_path *path = &paths->paths[i];
        fprintf(f->out, "%c.", letter_at(f->program, path->start));
        for (unsigned k = path->length; k-- > 0;)
            fputc(path->outcomes >> k & 1 ? '1' : '0', f->out);
        if (path->length < 64)
            assert_int_equal(path->outcomes >> path->length, 0);
        fprintf(f->out, "/%u", path->insns);
        if (path->events != 1)
            fprintf(f->out, "*%u", path->events);
        uint64_t hash = 0;
        for (unsigned k = 0; k < path->n_targets; k++) {
            uint64_t target = paths->targets[path->first_target + k];
            fprintf(f->out, "%s%c", k ? "" : ">", letter_at(f->program, target));
            hash = hp_path_hash_target(hash, target);
        }
        assert_int_equal(path->targets, hash);
        fputc(' ', f->out);
        f->insns += path->insns;
    }
}

/* --- Executions ------------------------------------------------------------------------------- */

enum way { BY_BATCH, BY_STEP, BY_RUN, BY_BRANCH, WAYS };

/* `n` + 1 blocks by their names: n transfers. */
static inline void show_batch(struct program_of_letters *p, struct hp_detector *d, const char *text,
                              size_t n, const struct hp_events *events, enum way way)
{
    uint32_t blocks[1024];
    uint8_t taken[1024];
    uint32_t insns = 0;
    for (size_t i = 0; i <= n; i++)
        blocks[i] = p->block[(uint8_t)text[i]];
    for (size_t i = 0; i < n; i++)
        taken[i] = p->stream.code->hot[blocks[i + 1]].start != p->stream.code->hot[blocks[i]].fall;
    struct hp_batch batch = {.code = p->stream.code,
                             .table = hp_code_blocks(p->stream.code),
                             .blocks = blocks,
                             .taken = taken,
                             .n = n,
                             .events = events};
    if (way == BY_BATCH) {
        hp_detector_batch(d, &batch);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct hp_branch branch;
        bool is_branch = hp_batch_branch(&batch, i, &branch);
        insns += branch.insns;
        if (!is_branch)
            continue;
        branch.insns = insns;
        hp_detector_branch(d, &branch, events ? events[i].count[HP_METRIC_L1D_MISSES] : 0);
        insns = 0;
    }
}

static inline void show_steps(struct program_of_letters *p, struct hp_detector *d, const char *text,
                              size_t n, uint32_t longest)
{
    struct hp_step steps[1024];
    size_t count = 1;
    steps[0].first = p->block[(uint8_t)text[0]];
    steps[0].unit = hp_code_unit_of_block(p->stream.code, steps[0].first);
    for (size_t i = 1; i <= n; count++) {
        uint32_t id = letter_segment(p, 0, text[i]), length = 1, next;
        steps[count].first = p->block[(uint8_t)text[i]];
        for (i++; i <= n && length < longest; i++, length++) {
            next = letter_segment(p, id, text[i]);
            if (!next)
                break;
            id = next;
        }
        steps[count].unit = p->stream.code->chains[id].unit;
    }
    struct hp_steps all = {.code = p->stream.code, .steps = steps, .n = count - 1};
    hp_detector_steps(d, &all);
}

static inline bool is_block_name(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static inline void show_event(struct program_of_letters *p, struct hp_detector *d, char c,
                              char last)
{
    struct hp_event event = {.block = HP_NO_ID, .exact = true};
    switch (c) {
    case '<': event.kind = HP_EVENT_SIGNAL; break;
    case '>': event.kind = HP_EVENT_SIGRETURN; break;
    case '!': event.kind = HP_EVENT_LOST; break;
    case '$': event.kind = HP_EVENT_END; break;
    case '.':
        event.kind = HP_EVENT_TAIL;
        event.block = p->block[(uint8_t)last];
        event.insns = find_letter(p, last)->insns;
        break;
    default: fail_msg("what is %c?", c);
    }
    hp_detector_event(d, &event);
}

static inline void show_part(struct program_of_letters *p, struct hp_detector *d, const char *text,
                             size_t n, const struct hp_events *events, enum way way)
{
    if (n == 0)
        return;
    if (way == BY_STEP)
        show_steps(p, d, text, n, 1);
    else if (way == BY_RUN)
        show_steps(p, d, text, n, p->longest);
    else
        show_batch(p, d, text, n, events, way);
}

/* Shows the execution to a detector; `events`: one for each transfer, or NULL. */
static inline void show(struct program_of_letters *p, struct hp_detector *d, const char *text,
                        const struct hp_events *events, enum way way)
{
    char names[1024];
    size_t n = 0, at = 0;
    char last = 0;
    for (; *text; text++) {
        if (is_block_name(*text)) {
            assert_true(n < sizeof names);
            last = names[n++] = *text;
        } else if (*text != ' ') {
            if (n)
                show_part(p, d, names, n - 1, events ? events + at : NULL, way);
            at += n ? n - 1 : 0;
            n = 0;
            show_event(p, d, *text, last);
        }
    }
    if (n)
        show_part(p, d, names, n - 1, events ? events + at : NULL, way);
}

/* What a detector makes of it: paths as text, freed by the caller. Checks that no instruction is lost: rule 11. */
static inline char *detect(struct program_of_letters *p, const struct hp_ppcr *ppcr,
                           const char *text, const struct hp_events *events, enum way way,
                           struct hp_detector_stats *stats)
{
    char *found_text = NULL;
    size_t size = 0;
    struct hp_detector *d;
    struct found found = {.sink.paths = found_paths, .program = p};
    found.out = open_memstream(&found_text, &size);
    assert_int_equal(hp_detector_new(ppcr, way == BY_BRANCH ? NULL : &p->frames, &found.sink, &d),
                     HP_OK);
    show(p, d, text, events, way);
    show_event(p, d, '$', 0);
    assert_int_equal(hp_detector_check(d), HP_OK);
    fclose(found.out);
    if (size)
        found_text[size - 1] = 0;
    *stats = *hp_detector_stats(d);
    assert_int_equal(stats->instructions, found.insns + stats->unfinished_insns);
    hp_detector_free(d);
    return found_text;
}

/* All ways give `expected`; the statistics of the batches are returned. `functions`: branches are left out, they know none. */
static inline struct hp_detector_stats expect_paths_of(struct program_of_letters *p,
                                                       const struct hp_ppcr *ppcr, const char *text,
                                                       const char *expected, bool functions)
{
    struct hp_detector_stats stats[WAYS];
    for (int way = BY_BATCH; way < (functions ? BY_BRANCH : WAYS); way++) {
        char *found = detect(p, ppcr, text, NULL, (enum way)way, &stats[way]);
        if (strcmp(found, expected) != 0)
            print_error("by way %d:\n", way);
        assert_string_equal(found, expected);
        free(found);
        if (way == BY_BRANCH) { /* blocks without a branch are not shown, nor counted at an end */
            assert_int_equal(stats[way].instructions - stats[way].unfinished_insns,
                             stats[0].instructions - stats[0].unfinished_insns);
            stats[way].instructions = stats[0].instructions;
            stats[way].unfinished_insns = stats[0].unfinished_insns;
            stats[way].blocks = stats[0].blocks;
        }
        assert_memory_equal(&stats[way], &stats[0], sizeof *stats);
    }
    return stats[0];
}

static inline struct hp_detector_stats expect_paths(struct program_of_letters *p, const char *ppcr,
                                                    const char *text, const char *expected)
{
    struct hp_ppcr parsed;
    assert_int_equal(hp_ppcr_parse(ppcr, &parsed), HP_OK);
    return expect_paths_of(p, &parsed, text, expected, false);
}

/* The same for what only those find who know functions. */
static inline struct hp_detector_stats expect_frames(struct program_of_letters *p, const char *ppcr,
                                                     const char *text, const char *expected)
{
    struct hp_ppcr parsed;
    assert_int_equal(hp_ppcr_parse(ppcr, &parsed), HP_OK);
    return expect_paths_of(p, &parsed, text, expected, true);
}

#endif
