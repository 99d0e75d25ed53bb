// SPDX-License-Identifier: MIT
/*
 * The rows of a profile, described once. The SQL schema, saving, loading, checking, ordering,
 * merging and the tables of docs/profile.md all follow from these descriptions: to add a column,
 * add a member to the struct in hotpath/profile.h and a line here.
 */
#ifndef HP_PROFILE_ROWS_H
#define HP_PROFILE_ROWS_H

#include "hotpath/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Each kind, the name of one, its struct. A row refers to rows of its kind, or of one before it. */
#define HP_ROW_LIST(KIND)                                                                          \
    KIND(MODULE, module, hp_pmodule)                                                               \
    KIND(THREAD, thread, hp_pthread)                                                               \
    KIND(FUNCTION, function, hp_pfunction)                                                         \
    KIND(BLOCK, block, hp_pblock)                                                                  \
    KIND(EDGE, edge, hp_pedge)                                                                     \
    KIND(CALL, call, hp_pcall)                                                                     \
    KIND(LINE, line, hp_pline)                                                                     \
    KIND(BLOCK_COUNT, block_count, hp_pcount)                                                      \
    KIND(EDGE_COUNT, edge_count, hp_pcount)                                                        \
    KIND(FUNCTION_COUNT, function_count, hp_pfunction_count)                                       \
    KIND(CALL_COUNT, call_count, hp_pcall_count)                                                   \
    KIND(CONTEXT, context, hp_pcontext)                                                            \
    KIND(CONTEXT_COUNT, context_count, hp_pcontext_count)                                          \
    KIND(CONTEXT_REST, context_rest, hp_pcontext_rest)                                             \
    KIND(PATH, path, hp_ppath)                                                                     \
    KIND(PATH_STEP, path_step, hp_pstep)                                                           \
    KIND(PATH_COUNT, path_count, hp_ppath_count)                                                   \
    KIND(PATH_TIME, path_time, hp_ppath_time)                                                      \
    KIND(PATH_CYCLES, path_cycles, hp_ppath_cycles)                                                \
    KIND(TABLE_PATH, table_path, hp_ptable_path)                                                   \
    KIND(STAT, model_stat, hp_pstat)                                                               \
    KIND(PREDICTION, prediction, hp_pprediction)                                                   \
    KIND(LOOP, loop, hp_ploop)                                                                     \
    KIND(LOOP_COUNT, loop_count, hp_ploop_count)                                                   \
    KIND(LOOP_TRIPS, loop_trips, hp_ploop_trips)                                                   \
    KIND(LOOP_BLOCK, loop_block, hp_ploop_block)                                                   \
    KIND(MODEL_LOOP, model_loop, hp_pmodel_loop)                                                   \
    KIND(HOTSPOT, hotspot, hp_photspot)                                                            \
    KIND(HOTSPOT_BRANCH, hotspot_branch, hp_photspot_branch)                                       \
    KIND(HOTSPOT_BLOCK, hotspot_block, hp_photspot_block)                                          \
    KIND(HOTSPOT_SLICE, hotspot_slice, hp_photspot_slice)                                          \
    KIND(INSN, insn, hp_pinsn)                                                                     \
    KIND(INSN_TALLY, insn_tally, hp_pinsn_tally)                                                   \
    KIND(INSN_CYCLES, insn_cycles, hp_pinsn_cycles)                                                \
    KIND(ATTRIBUTION, attribution, hp_pattribution)                                                \
    KIND(WAIT, wait, hp_pwait)                                                                     \
    KIND(SAMPLER, sampler, hp_psampler)                                                            \
    KIND(WINDOW, window, hp_pwindow)                                                               \
    KIND(TRACES_EVENT, traces_event, hp_ptraces_event)                                             \
    KIND(THREAD_NAME, thread_name, hp_pthread_name)                                                \
    KIND(THREAD_TIME, thread_time, hp_pthread_time)                                                \
    KIND(SYSCALL, syscall, hp_psyscall)                                                            \
    KIND(INLINED, inlined, hp_pinlined)                                                            \
    KIND(INLINED_RANGE, inlined_range, hp_pinlined_range)                                          \
    KIND(FUNCTION_SAMPLES, function_samples, hp_psamples)                                          \
    KIND(BLOCK_SAMPLES, block_samples, hp_psamples)                                                \
    KIND(EDGE_SAMPLES, edge_samples, hp_psamples)                                                  \
    KIND(PATH_SAMPLES, path_samples, hp_psamples)                                                  \
    KIND(LOOP_SAMPLES, loop_samples, hp_psamples)                                                  \
    KIND(LOOP_SEEN, loop_seen, hp_ploop_seen)                                                      \
    KIND(RUN_CYCLES, run_cycles, hp_prun_cycles)                                                   \
    KIND(INSN_OVERLAP, insn_overlap, hp_pinsn_overlap)                                             \
    KIND(NOTE, note, hp_pnote)

#define HP_ROW_KIND(kind, name, type) HP_ROW_##kind,
enum hp_row_kind { HP_ROW_LIST(HP_ROW_KIND) HP_ROW_KINDS };

#define HP_ROW_MEMBER(kind, name, type) struct type name;
union hp_any_row {
    HP_ROW_LIST(HP_ROW_MEMBER)
};

enum hp_row_type {
    HP_ROW_U8,
    /* Of 4 bytes: */
    HP_ROW_U32,
    HP_ROW_INDEX, /* uint32_t: the row of kind `to` that this one belongs to */
    HP_ROW_LINK,  /* the same, or HP_PROFILE_NONE */
    HP_ROW_I32,
    HP_ROW_LAST_OF_4 = HP_ROW_I32,
    /* Of 8: */
    HP_ROW_U64, /* an amount: at most 2^63-1 in a file */
    HP_ROW_I64,
    HP_ROW_BITS,   /* uint64_t: an address or a set of bits; all 64 are kept */
    HP_ROW_REAL,   /* double: finite, not negative */
    HP_ROW_TEXT,   /* kept in the row */
    HP_ROW_STRING, /* a text that many rows have: kept once, in the string table */
};

/* What a value becomes when rows that are the same thing become one. */
enum hp_row_join {
    HP_JOIN_KEEP,  /* that of the row that is kept */
    HP_JOIN_EQUAL, /* the same in all of them, or they cannot be one */
    HP_JOIN_SUM,
    HP_JOIN_MIN, /* of those that are not 0 */
    HP_JOIN_MAX,
    HP_JOIN_MEAN, /* weighted by the column `weight`; without any weight the largest */
};

/* A column in the file, a member in memory. */
struct hp_row_field {
    const char *name; /* of the column */
    enum hp_row_type type;
    enum hp_row_kind to; /* of an index or link */
    uint8_t max;         /* the largest value there is; 0: of a U8 too, of others any */
    bool positive;
    const char *at_most; /* the column whose value this one does not exceed; NULL: none */
    /* Rows with equal keys become one. Keys are compared by rank (1 first); 0: not in the key. */
    uint8_t key;
    /* Of rows that are the same thing, the first by these ranks is kept: the smaller number, with a
     * negative rank the larger one; a text that is there before "". 0: does not matter. */
    int8_t prefer;
    enum hp_row_join join;
    const char *weight; /* of HP_JOIN_MEAN: a column */
    uint16_t offset;
    const char *help; /* a few words; NULL: the name says it */
};

struct hp_row_format {
    const char *table; /* in the file */
    const char *one;   /* "block", for errors */
    const char *many;  /* "blocks" */
    const char *help;  /* what one row stands for */
    size_t array, n;   /* offsets of its pointer and its length in struct hp_profile */
    size_t size;
    const struct hp_row_field *fields;
    size_t n_fields;
    bool has_id;    /* the index is a column; else the key is unique in the file */
    bool later;     /* files from before this kind do not have the table */
    bool drop_zero; /* rows that say nothing but zero are left out */
    /* What its fields cannot say: HP_ERR_INVALID when the row cannot be. NULL: nothing. */
    enum hp_err (*check)(const struct hp_profile *profile, size_t i);
    /* Joins another row to `joint`, beyond what its fields say. NULL: nothing. */
    void (*join)(void *joint, const void *row);
};

extern const struct hp_row_format hp_row_formats[HP_ROW_KINDS];

/* --- All rows of a kind ----------------------------------------------------------------------- */

/* One array of a profile: where its pointer, its length and its capacity are. */
struct hp_row_array {
    const struct hp_row_format *format;
    void *array; /* a T ** */
    char *items; /* the first row, until the array grows; NULL: there are none */
    size_t *n;
    size_t *capacity;
};

struct hp_row_array hp_profile_rows(struct hp_profile *profile, enum hp_row_kind kind);
size_t hp_profile_n_rows(const struct hp_profile *profile, enum hp_row_kind kind);
const void *hp_profile_row(const struct hp_profile *profile, enum hp_row_kind kind, size_t i);

/* HP_ERR_INVALID: a reference leads nowhere, or from a context to one that comes behind it; or
 * contexts are too deep. A part of hp_profile_check(), enough for reading the rows. */
enum hp_err hp_profile_check_references(const struct hp_profile *profile);

/* NULL: there is none of that name. */
const struct hp_row_field *hp_row_column(enum hp_row_kind kind, const char *name);

/* --- One value -------------------------------------------------------------------------------- */

/* Of a number or an index; signed ones as two's complement. */
static inline uint64_t hp_row_number(const struct hp_row_field *field, const void *row)
{
    const char *at = (const char *)row + field->offset;
    uint32_t word;
    uint64_t number;
    if (field->type > HP_ROW_LAST_OF_4) {
        memcpy(&number, at, sizeof number);
        return number;
    }
    if (field->type == HP_ROW_U8)
        return (uint8_t)*at;
    memcpy(&word, at, sizeof word);
    return field->type == HP_ROW_I32 ? (uint64_t)(int64_t)(int32_t)word : word;
}

static inline void hp_row_set_number(const struct hp_row_field *field, void *row, uint64_t value)
{
    char *at = (char *)row + field->offset;
    uint32_t word = (uint32_t)value;
    if (field->type > HP_ROW_LAST_OF_4)
        memcpy(at, &value, sizeof value);
    else if (field->type == HP_ROW_U8)
        *at = (char)value;
    else
        memcpy(at, &word, sizeof word);
}

const char *hp_row_text(const struct hp_row_field *field, const void *row);
/* Of an index or a link. */
uint32_t *hp_row_index(const struct hp_row_field *field, void *row);
/* Joins a row to another of its kind; of a mean, the larger one is kept. */
void hp_row_add(enum hp_row_kind kind, void *joint, const void *row);
void hp_row_set_text(const struct hp_row_field *field, void *row, const char *text);

static inline bool hp_row_is_reference(const struct hp_row_field *field)
{
    return field->type == HP_ROW_INDEX || field->type == HP_ROW_LINK;
}

static inline bool hp_row_is_text(const struct hp_row_field *field)
{
    return field->type == HP_ROW_TEXT || field->type == HP_ROW_STRING;
}

#endif
