// SPDX-License-Identifier: MIT
/*
 * Paths: the programmable path profiler (docs/paths.md).
 *
 * A *detector* turns one thread's retired branches into paths: a path stack programmed by a control
 * register (PPCR). It passes them in batches to a *sink*. Sinks in the library: the complete
 * profile, the hot path table, the whole program path, the prediction of hot paths.
 *
 * A detector is fed either with batches of the stream (hp_detector_batch, _steps, _event), or, by
 * an emulator, a JIT or a simulator, with branches of its own (hp_detector_branch). Nothing
 * allocates per branch.
 */
#ifndef HOTPATH_PATH_H
#define HOTPATH_PATH_H

#include "hotpath/metric.h"
#include "hotpath/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- The control register --------------------------------------------------------------------- */

enum hp_class { /* of a retired control transfer */
                HP_CLASS_CALL,
                HP_CLASS_RETURN,
                HP_CLASS_FORWARD,
                HP_CLASS_BACKWARD,
                HP_CLASS_INDIRECT, /* an indirect jump */
                HP_CLASSES
};

enum {                                /* operations on the path stack, always in this order */
       HP_PATH_UPDATE = 1 << 0,       /* append the outcome, add the block's events */
       HP_PATH_UPDATE_COUNT = 1 << 1, /* add the block's events only */
       HP_PATH_POP = 1 << 2,          /* the path is finished */
       HP_PATH_PUSH = 1 << 3,         /* a path starts at the branch's target */
};

enum hp_extension { HP_EXTEND_NONE, HP_EXTEND_LOOP, HP_EXTEND_CALL };

enum hp_direction {
    HP_DIRECTION_DYNAMIC, /* a conditional branch is backward when it is taken to an address at or
                             below its own */
    HP_DIRECTION_STATIC,  /* ... when its encoded target is there, taken or not */
};

enum hp_overflow {
    HP_OVERFLOW_SPILL,       /* the stack continues in memory */
    HP_OVERFLOW_DROP_OLDEST, /* the path of the outermost frame is forgotten */
};

#define HP_PATH_MAX_LENGTH 64

struct hp_ppcr {
    uint8_t ops[HP_CLASSES];
    enum hp_extension extension;
    uint32_t max_extension;
    enum hp_direction direction;
    /* Interprocedural forward paths: calls, returns and indirect jumps, too, are forward or
     * backward by their target, and the targets of indirect ones (and of returns) become part of
     * the path. */
    bool by_address;
    uint32_t max_length;    /* of a path, branches: 1 ... HP_PATH_MAX_LENGTH */
    uint32_t stack_entries; /* before the stack overflows */
    enum hp_overflow overflow;
    enum hp_metric metric; /* what hp_path.events counts */
    uint32_t counter_bits; /* width of a stack entry's event counter, which saturates: 1 ... 32 */
};

/*
 * Reads a preset: "bl", "wpp", "extended-loop:N", "extended-call:N", "forward"; or a whole table,
 * classes and options in any order:
 *
 *     call=update_count+push,return=update_count+pop,forward=update,backward=update+pop+push,
 *     indirect=update+pop+push
 *
 * with, optionally, ",extend=loop:N" or "call:N", ",direction=static", ",length=N", ",stack=N",
 * ",overflow=drop-oldest|spill", ",metric=NAME", ",counter=BITS". The options may follow a preset
 * too: "bl,length=64". Defaults: dynamic direction, length 32, a stack of 32 entries that spills,
 * executions, counters of 8 bits. A class may have the empty set ("call=" or "call=none").
 * HP_ERR_INVALID: one line that names the part and what is wrong with it.
 */
HP_MUST_CHECK enum hp_err hp_ppcr_parse(const char *text, struct hp_ppcr *ppcr);

/* Checks one filled in by hand: not both of update and update_count; sizes in range. */
HP_MUST_CHECK enum hp_err hp_ppcr_check(const struct hp_ppcr *ppcr);

/* Writes a text that hp_ppcr_parse() reads to `text`, cut to `size`: the preset's name if it is
 * one. */
void hp_ppcr_format(const struct hp_ppcr *ppcr, char *text, size_t size);

/* --- Paths ------------------------------------------------------------------------------------ */

struct hp_path_count;

struct hp_path {
    uint64_t start;    /* address of its first instruction */
    uint64_t outcomes; /* the last branch is bit 0, the one before bit 1, ... */
    uint64_t targets;  /* by_address: a hash of the indirect targets, in order; else 0 */
    uint32_t block;    /* that starts there, in the code map; HP_NO_ID when branches were fed */
    uint32_t insns;    /* retired along this execution of it (saturated) */
    uint32_t events;   /* of the metric: as wide as the PPCR says (1 for executions) */
    uint8_t length;    /* branches in `outcomes` */
    uint8_t n_targets; /* by_address: indirect targets, in the batch's list; at most length */
    uint16_t reserved;
    uint32_t first_target; /* index of the first */
    uint32_t more;         /* further executions like this one that it stands for; 0 from a
                              detector */
};

/* Whether they are executions of the same path. */
static inline bool hp_path_same(const struct hp_path *a, const struct hp_path *b)
{
    return a->start == b->start && a->outcomes == b->outcomes && a->targets == b->targets &&
           a->length == b->length && a->block == b->block;
}

/* A hash of everything hp_path_same() compares. */
static inline uint64_t hp_path_hash(const struct hp_path *path)
{
    uint64_t h = (path->start ^ (uint64_t)path->block << 32) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 29 ^ path->outcomes ^ (uint64_t)path->length << 56) *
        UINT64_C(0xbf58476d1ce4e5b9);
    h ^= path->targets;
    return h ^ h >> 32;
}

/* hp_path.targets extended by one target. */
static inline uint64_t hp_path_hash_target(uint64_t targets, uint64_t target)
{
    targets = (targets ^ target) * UINT64_C(0x9e3779b97f4a7c15);
    return (targets ^ targets >> 29) | 1;
}

#define HP_PATHS_MAX 512 /* in a batch */

/* What was spent along an execution, by kind, in units of the caller's. */
#define HP_PATH_COSTS 16
struct hp_path_costs {
    uint64_t of[HP_PATH_COSTS];
};

struct hp_paths {
    const struct hp_path *paths;
    size_t n;
    const uint64_t *targets;           /* see hp_path.first_target */
    const struct hp_path_costs *costs; /* of each path; NULL: not counted */
};

/* Executions that often follow one another. */
struct hp_path_group {
    uint32_t first, n; /* numbers of paths, in hp_known_paths.lists; at most HP_PATH_GROUP_MAX */
};

#define HP_PATH_GROUP     0x80000000u
#define HP_PATH_GROUP_MAX 128

/* Executions of paths that have numbers: known[numbers[i]].path, for i < n. Of all batches of the
 * same source, the same number is the same path, with the same instructions and events, and another
 * number is another path. Numbers are small, and `n_known` of them are in use. A sink that takes
 * groups also gets numbers of groups, plus HP_PATH_GROUP, for which the same holds. */
struct hp_known_paths {
    const uint32_t *numbers;
    size_t n;                          /* at most HP_PATHS_MAX */
    const struct hp_path_count *known; /* by number; only `path` is valid */
    size_t n_known;
    const struct hp_path_group *groups; /* by number */
    size_t n_groups;
    const uint32_t *lists;
    size_t n_lists;
    uint64_t source; /* not 0 */
};

/* Receives finished paths, in the order in which they finished. */
struct hp_path_sink {
    void (*paths)(struct hp_path_sink *sink, const struct hp_paths *paths);
    /* Those that have numbers; NULL: they, too, come as paths. */
    void (*known)(struct hp_path_sink *sink, const struct hp_known_paths *known);
    bool groups; /* it takes them */
};

/* --- The detector ----------------------------------------------------------------------------- */

struct hp_detector_stats {
    uint64_t branches;
    uint64_t blocks;           /* retired */
    uint64_t instructions;     /* retired */
    uint64_t paths;            /* finished */
    uint64_t splits;           /* paths ended by max_length; included in `paths` */
    uint64_t overflows;        /* pushes on a full stack */
    uint64_t dropped;          /* paths forgotten by HP_OVERFLOW_DROP_OLDEST */
    uint64_t underflows;       /* returns on an empty stack: a new path starts at their target */
    uint64_t repairs;          /* times frames were found to be gone (longjmp, exception) */
    uint64_t repaired;         /* paths discarded by that */
    uint64_t purges;           /* times the whole stack was discarded: the history was lost */
    uint64_t unfinished;       /* paths open at the end of the thread, or purged */
    uint64_t unfinished_insns; /* instructions in all paths that were dropped, discarded by repairs
                                  or left unfinished */
    uint64_t saturated;        /* event counters that saturated */
    uint64_t pieces;           /* with hp_detector_only_whole(): paths that were not delivered */
};

struct hp_detector;

/*
 * One for each thread. Asks `frames` (NULL: functions are unknown) for the function of a block, to
 * find the live frame after a longjmp or an exception. The sink is called when a batch is full, at
 * events, and by hp_detector_flush().
 */
struct hp_frame_source {
    /* An id, the same for all blocks of a function; HP_NO_ID: unknown. */
    uint32_t (*function_of)(struct hp_frame_source *source, uint32_t block);
    /* Whether it is the first block of its function. */
    bool (*is_entry)(struct hp_frame_source *source, uint32_t block);
};

HP_MUST_CHECK enum hp_err hp_detector_new(const struct hp_ppcr *ppcr,
                                          struct hp_frame_source *frames, struct hp_path_sink *sink,
                                          struct hp_detector **detector);
void hp_detector_free(struct hp_detector *detector);

/*
 * From now on only paths are delivered of which it is certain that they are the same whatever came
 * before a discontinuity. Not what a detector makes of the history's beginning: the path in which
 * it begins; those that frames which it does not show go on with; those whose end, by length or by
 * extension, depends on where the path before began. After a return or a jump that no known frame
 * explains, frames are not looked for: the history begins there. Batches and branches only.
 */
void hp_detector_only_whole(struct hp_detector *detector);

/* As in struct hp_profiler_ops. A detector is given batches or steps, or else branches. */
void hp_detector_batch(struct hp_detector *detector, const struct hp_batch *batch);
void hp_detector_steps(struct hp_detector *detector, const struct hp_steps *steps);
void hp_detector_event(struct hp_detector *detector, const struct hp_event *event);

/* A branch from a caller without a code map. `events`: those of the metric in the block that it
 * ends (ignored for the first two metrics). */
void hp_detector_branch(struct hp_detector *detector, const struct hp_branch *branch,
                        uint32_t events);

/* Delivers the finished paths that are pending. */
void hp_detector_flush(struct hp_detector *detector);

/* HP_ERR_NOMEM: memory ran out; some paths are missing. */
HP_MUST_CHECK enum hp_err hp_detector_check(const struct hp_detector *detector);
const struct hp_detector_stats *hp_detector_stats(const struct hp_detector *detector);

/* --- The complete profile --------------------------------------------------------------------- */

/* One distinct path. */
struct hp_path_count {
    struct hp_path path; /* as it was first executed; first_target: into hp_complete_targets() */
    uint64_t count;      /* executions */
    uint64_t insns;      /* retired along all of them */
    uint64_t events;     /* of the metric */
};

struct hp_complete;

/* Grows with distinct paths only. `max_paths` bounds them (0: HP_COMPLETE_DEFAULT); executions of
 * further paths are counted by hp_complete_lost(). */
#define HP_COMPLETE_DEFAULT (UINT64_C(1) << 25)
HP_MUST_CHECK enum hp_err hp_complete_new(uint64_t max_paths, struct hp_complete **complete);
void hp_complete_free(struct hp_complete *complete);
struct hp_path_sink *hp_complete_sink(struct hp_complete *complete);

/* In the order of first execution; valid until more paths arrive. */
const struct hp_path_count *hp_complete_paths(struct hp_complete *complete, size_t *n);
const uint64_t *hp_complete_targets(const struct hp_complete *complete);
/* Executions (and, in `events`, instructions) of paths for which there was no room. */
struct hp_path_count hp_complete_lost(const struct hp_complete *complete);
/* Frees what only numbers need, which grows with all paths of their source: the thread has ended.
 * More may come. */
void hp_complete_forget_numbers(struct hp_complete *complete);
/* Forgets all paths: a new window. */
void hp_complete_clear(struct hp_complete *complete);

/* --- The hot path table ----------------------------------------------------------------------- */

enum hp_hpt_index {
    HP_HPT_XOR,     /* of start address, outcomes and length: their lowest bits */
    HP_HPT_ADDRESS, /* the lowest bits of the start address */
    HP_HPT_FOLD,    /* of all bits of the start address and of the outcomes with a leading one */
};

/* Which entry a new path replaces. See docs/paths.md. */
enum hp_hpt_policy {
    HP_HPT_LFU,
    HP_HPT_LRU,
    HP_HPT_RANDOM_ADMISSION, /* the least frequent, admitted at random: docs/better.md */
};

struct hp_hpt_config {
    uint32_t entries;
    uint32_t ways; /* entries / ways, the sets, is a power of two; entries: fully associative */
    enum hp_hpt_index index;
    uint32_t shift; /* low bits of the start address that the index leaves out; not of FOLD */
    enum hp_hpt_policy policy;
    uint32_t accumulator_bits; /* 8 ... 64; saturates */
    uint32_t exponent_bits; /* of these; 0: exact counts; else floating point, rounded at random */
    /* An entry omits the bits of the start address that its set implies, and stores the length as a
     * leading one in front of the outcomes (for the size in bytes only). */
    bool packed;
    uint32_t address_bits; /* of a start address (for the size in bytes only) */
    uint32_t max_length;   /* of a path (for the size in bytes only) */
};

/* Reads a preset ("vaswani": the paper's 512x4, xor, lfu, 32 bits; "random-admission": the best
 * table of the same size in bytes, 608x19), or ENTRIESxWAYS, with optional
 * ",index=xor|address|fold", ",shift=N", ",policy=lfu|lru|rap", ",bits=N", ",exponent=N",
 * ",packed". HP_ERR_INVALID: the number of sets is not a power of two, zero ways, more ways than
 * entries, ...; one line. */
HP_MUST_CHECK enum hp_err hp_hpt_parse(const char *text, struct hp_hpt_config *config);
HP_MUST_CHECK enum hp_err hp_hpt_check(const struct hp_hpt_config *config);
void hp_hpt_format(const struct hp_hpt_config *config, char *text, size_t size);

/* Size of the hardware table, with the real widths of its fields and the policy's state. */
uint64_t hp_hpt_bytes(const struct hp_hpt_config *config);

struct hp_hpt_stats {
    uint64_t paths, hits, misses, replacements;
};

struct hp_hpt;

HP_MUST_CHECK enum hp_err hp_hpt_new(const struct hp_hpt_config *config, struct hp_hpt **hpt);
void hp_hpt_free(struct hp_hpt *hpt);
struct hp_path_sink *
hp_hpt_sink(struct hp_hpt *hpt); /* adds hp_path.events to the path's accumulator */

/* The paths in it, with their accumulators in `count`, in no order: at most `entries`. Returns
 * their number. */
size_t hp_hpt_paths(struct hp_hpt *hpt, struct hp_path_count *paths);
const struct hp_hpt_stats *hp_hpt_stats(const struct hp_hpt *hpt);
void hp_hpt_clear(struct hp_hpt *hpt);

/* --- Measures --------------------------------------------------------------------------------- */

enum hp_weight { HP_WEIGHT_COUNT, HP_WEIGHT_INSNS, HP_WEIGHT_EVENTS }; /* of struct hp_path_count */

/* Percent: the sum over paths of min(share in A, share in B). The weight of the table's entries is
 * always their `count`. 100 when both are empty, 0 when one is. `targets` need not be valid. */
HP_MUST_CHECK enum hp_err hp_path_overlap(const struct hp_path_count *table, size_t n_table,
                                          const struct hp_path_count *complete, size_t n_complete,
                                          enum hp_weight weight, double *percent);

/* Percent of the whole in the `n` heaviest paths: the best that a table of n entries can cover. */
HP_MUST_CHECK enum hp_err hp_path_coverage(const struct hp_path_count *complete, size_t n_complete,
                                           enum hp_weight weight, size_t n, double *percent);

#ifdef __cplusplus
}
#endif
#endif
