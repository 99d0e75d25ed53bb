// SPDX-License-Identifier: MIT
/*
 * What the parts of the profile model share: strings, the arrays by number, the checks.
 */
#ifndef HP_PROFILE_MEMORY_H
#define HP_PROFILE_MEMORY_H

#include "base/strings.h"
#include "hotpath/profile.h"

#include <stdbool.h>
#include <string.h>

/* --- The arrays of a profile by number, for code that treats them all alike ------------------- */

enum hp_parray {
    HP_PARRAY_MODULES,
    HP_PARRAY_THREADS,
    HP_PARRAY_FUNCTIONS,
    HP_PARRAY_BLOCKS,
    HP_PARRAY_EDGES,
    HP_PARRAY_CALLS,
    HP_PARRAY_LINES,
    HP_PARRAY_BLOCK_COUNTS,
    HP_PARRAY_EDGE_COUNTS,
    HP_PARRAY_FUNCTION_COUNTS,
    HP_PARRAY_CALL_COUNTS,
    HP_PARRAY_CONTEXTS,
    HP_PARRAY_CONTEXT_COUNTS,
    HP_PARRAY_PATHS,
    HP_PARRAY_PATH_STEPS,
    HP_PARRAY_PATH_COUNTS,
    HP_PARRAY_TABLE_PATHS,
    HP_PARRAY_STATS,
    HP_PARRAY_PREDICTIONS,
    HP_PARRAY_LOOPS,
    HP_PARRAY_LOOP_COUNTS,
    HP_PARRAY_LOOP_TRIPS,
    HP_PARRAY_LOOP_BLOCKS,
    HP_PARRAY_MODEL_LOOPS,
    HP_PARRAY_HOTSPOTS,
    HP_PARRAY_HOTSPOT_BRANCHES,
    HP_PARRAY_HOTSPOT_BLOCKS,
    HP_PARRAY_HOTSPOT_SLICES,
    HP_PARRAY_INSNS,
    HP_PARRAY_INSN_TALLIES,
    HP_PARRAY_INSN_CYCLES,
    HP_PARRAY_ATTRIBUTIONS,
    HP_PARRAY_WAITS,
    HP_PARRAY_SAMPLERS,
    HP_PARRAY_WINDOWS,
    HP_PARRAY_NOTES,
    HP_PARRAY_COUNT_
};

struct hp_profile_memory {
    struct hp_strings strings;
    size_t capacity[HP_PARRAY_COUNT_];
};

/* One array: where its pointer, its length and its capacity are. */
struct hp_parray_view {
    void *array; /* a T ** */
    size_t *n;
    size_t *capacity;
    size_t size;      /* of an element */
    const char *name; /* "blocks" */
};

struct hp_parray_view hp_profile_array(struct hp_profile *profile, enum hp_parray which);
size_t hp_profile_array_length(const struct hp_profile *profile, enum hp_parray which);

/* The first element of the array. */
void *hp_parray_items(const struct hp_parray_view *view);

/* Makes room for `more` elements after those there. HP_ERR_INVALID: more than an index can
 * count. */
enum hp_err hp_parray_reserve(const struct hp_parray_view *view, size_t more);

/* Appends a note whether or not there is one like it; as the other hp_profile_add_ functions. */
enum hp_err hp_profile_add_note(struct hp_profile *profile, struct hp_pnote **item);

/* --- What the engine did ---------------------------------------------------------------------- */

uint64_t *hp_engine_work_value(struct hp_engine_work *work,
                               const struct hp_engine_work_field *field);
void hp_engine_work_merge(struct hp_engine_work *work, const struct hp_engine_work *other);

/* --- Checks ----------------------------------------------------------------------------------- */

/* HP_ERR_INVALID: an index, a flow or a range that cannot be. Does not look at the order. */
enum hp_err hp_profile_check(const struct hp_profile *profile);

/* The same for one row, as far as it can be told from the row and what it refers to. */
enum hp_err hp_profile_check_row(const struct hp_profile *profile, enum hp_parray which, size_t i);

/*
 * Makes a profile that hp_profile_check() refuses one that it takes. A row that cannot be loses what is wrong in it, where that may be missing, else it is left
 * out, and with it what belongs to it. `dead[which][i]`: rows to leave out in any case, or NULL; changed. Says how many rows were wrong, those of `dead` not
 * counted, and what was wrong with the first of them.
 */
enum hp_err hp_profile_mend_rows(struct hp_profile *profile, bool *dead[HP_PARRAY_COUNT_],
                                 size_t *wrong, char first[256]);

/* HP_ERR_INVALID: hp_profile_check() fails, or the profile is not in its normal form. */
enum hp_err hp_profile_check_normal(const struct hp_profile *profile);

/* --- The order of the normal form ------------------------------------------------------------- */

/*
 * How elements of a kind are told apart and sorted. `key`: 0 when two are the same thing, else
 * their order. `rest`: which of two that are the same thing is kept (the smaller one); it looks at
 * everything the key leaves out, so that what is kept does not depend on the order of the input.
 * NULL: the key is everything.
 */
struct hp_order {
    size_t size;
    int (*key)(const void *a, const void *b);
    int (*rest)(const void *a, const void *b);
};

extern const struct hp_order hp_order_module_identity; /* groups; the smallest path is kept */
extern const struct hp_order hp_order_module;          /* the final order, by path */
extern const struct hp_order hp_order_function;
extern const struct hp_order hp_order_block;
extern const struct hp_order hp_order_edge;
extern const struct hp_order hp_order_call;
extern const struct hp_order hp_order_line;
extern const struct hp_order hp_order_note;
extern const struct hp_order hp_order_path;
extern const struct hp_order hp_order_step;
extern const struct hp_order hp_order_table_path;
extern const struct hp_order hp_order_stat;
extern const struct hp_order hp_order_prediction;
extern const struct hp_order hp_order_loop;
extern const struct hp_order hp_order_loop_trips;
extern const struct hp_order hp_order_loop_block;
extern const struct hp_order hp_order_model_loop;
extern const struct hp_order hp_order_hotspot;
extern const struct hp_order hp_order_hotspot_branch;
extern const struct hp_order hp_order_hotspot_block;
extern const struct hp_order hp_order_hotspot_slice;
extern const struct hp_order hp_order_insn;
extern const struct hp_order hp_order_sampler;

/* 0 when the modules are the same: equal build ids or, when both have none, equal paths. */
int hp_module_identity(const struct hp_pmodule *a, const struct hp_pmodule *b);

/* The key of every element is smaller than that of the next. */
bool hp_order_strict(const struct hp_order *order, const void *items, size_t n);

/*
 * Sorts the elements, keeps one of each set of the same, updates `*n`; `*map` gets the new index of
 * every old one (malloc'd). HP_ERR_NOMEM: nothing was changed.
 */
enum hp_err hp_order_apply(const struct hp_order *order, void *items, size_t *n, uint32_t **map);

/* --- Counters, of any kind -------------------------------------------------------------------- */

/* What each kind of counter begins with; the rest of it is 64-bit numbers that are added up. */
struct hp_counter_head {
    uint32_t item;
    uint32_t thread;
};

/* Makes `sum` what both together are. */
typedef void (*hp_counter_join)(void *sum, const void *counter);

/* Gives the items their new index, sorts, joins the counters of the same item and thread, drops
 * those that are all zero. `size` is that of a counter; `items` how many there are. `join` NULL: all numbers are added.
 * HP_ERR_NOMEM: nothing was changed. */
enum hp_err hp_counters_order(void *counters, size_t *n, size_t size, const uint32_t *map,
                              size_t items, hp_counter_join join);

/* The same in two steps, of which the second cannot fail: what sorting the counters of so many items, or fewer, needs
 * (malloc'd; NULL: no memory), and sorting. */
size_t *hp_counters_room(size_t items);
void hp_counters_order_in(void *counters, size_t *n, size_t size, const uint32_t *map, size_t items,
                          hp_counter_join join, size_t *room);

/* Whether there is nothing to order. */
bool hp_counters_normal(const void *counters, size_t n, size_t size);

/* --- Calling contexts -------------------------------------------------------------------------- */

/* Of a profile whose functions are in order, and refer to each other so: orders its contexts and their counters. */
enum hp_err hp_contexts_order(struct hp_profile *profile);

/* The parts of hp_profile_check() for them. `*culprit`: the context that is in itself, or too deep. */
enum hp_err hp_contexts_check_row(const struct hp_profile *profile, enum hp_parray which, size_t i);
enum hp_err hp_contexts_check_depth(const struct hp_profile *profile, uint32_t *culprit);

/* Which of them are not in their normal form, NULL: none. */
const char *hp_contexts_abnormal(const struct hp_profile *profile);

/* --- Paths, and what models say --------------------------------------------------------------- */

/* Of a profile whose modules, functions and blocks are in order, and refer to each other so: orders its
 * paths, their steps and counters, and those of tables. `blocks`: the new index of every block. */
enum hp_err hp_paths_order(struct hp_profile *profile, const uint32_t *blocks);

/* Joins and orders stats and predictions. */
void hp_models_order(struct hp_profile *profile);

/* --- Loops and hot spots ---------------------------------------------------------------------- */

/* Of a profile whose modules, functions and blocks are in order, and refer to each other so: orders its
 * loops, what belongs to them, and what models say of loops. `blocks`: the new index of every block. */
enum hp_err hp_loops_order(struct hp_profile *profile, const uint32_t *blocks);
enum hp_err hp_hotspots_order(struct hp_profile *profile, const uint32_t *blocks);

/* The parts of hp_profile_check() for them. `*culprit`: the loop that is in itself. */
enum hp_err hp_regions_check_row(const struct hp_profile *profile, enum hp_parray which, size_t i);
enum hp_err hp_loops_check_nesting(const struct hp_profile *profile, uint32_t *culprit);

/* The first of them that is not in its normal form, NULL: none. */
const char *hp_regions_abnormal(const struct hp_profile *profile);

/* --- Instructions ----------------------------------------------------------------------------- */

/* Of a profile whose modules and functions are in order, and refer to each other so: orders its instructions, what belongs to them,
 * samplers and windows. HP_ERR_INVALID: two samplers have one name, but were set differently. */
enum hp_err hp_insns_order(struct hp_profile *profile);

/* The part of hp_profile_check() for them. */
enum hp_err hp_insns_check_row(const struct hp_profile *profile, enum hp_parray which, size_t i);

/* The first of them that is not in its normal form, NULL: none. */
const char *hp_insns_abnormal(const struct hp_profile *profile);

/* --- Small things ----------------------------------------------------------------------------- */

static inline const char *hp_text(const char *text)
{
    return text ? text : "";
}

static inline int hp_compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static inline int hp_compare_text(const char *a, const char *b)
{
    return a == b ? 0 : strcmp(hp_text(a), hp_text(b));
}

static inline int hp_compare_place(const struct hp_place *a, const struct hp_place *b)
{
    int order = hp_compare_u64(a->module, b->module);
    return order ? order : hp_compare_u64(a->offset, b->offset);
}

static inline uint64_t hp_add_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

#endif
