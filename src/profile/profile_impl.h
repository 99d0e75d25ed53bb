// SPDX-License-Identifier: MIT
/*
 * What the parts of the profile share.
 */
#ifndef HP_PROFILE_IMPL_H
#define HP_PROFILE_IMPL_H

#include "base/strings.h"
#include "hotpath/profile.h"
#include "profile/rows.h"

#include <stdbool.h>
#include <string.h>

struct hp_profile_memory {
    struct hp_strings strings;
    size_t capacity[HP_ROW_KINDS];
};

/* Appends a note whether or not there is one like it; as the other hp_profile_add_ functions. */
enum hp_err hp_profile_add_note(struct hp_profile *profile, struct hp_pnote **item);

/* Appends a row, zeroed but for its texts, which are "". */
enum hp_err hp_profile_add_row(struct hp_profile *profile, enum hp_row_kind kind, void **row);

/* --- What the engine did ---------------------------------------------------------------------- */

uint64_t *hp_engine_work_value(struct hp_engine_work *work,
                               const struct hp_engine_work_field *field);
void hp_engine_work_merge(struct hp_engine_work *work, const struct hp_engine_work *other);

/* --- Is it sound? ----------------------------------------------------------------------------- */

/* HP_ERR_INVALID: an index, a value or a range that cannot be. Does not look at the order. */
enum hp_err hp_profile_check(const struct hp_profile *profile);

/* The same for one row, as far as the row and what it refers to tell. */
enum hp_err hp_profile_check_row(const struct hp_profile *profile, enum hp_row_kind kind, size_t i);

/* HP_ERR_INVALID: the profile, which is sound, is not in its normal form. */
enum hp_err hp_profile_check_form(const struct hp_profile *profile);

/* Both: HP_ERR_INVALID when the profile is not sound or not in its normal form. */
enum hp_err hp_profile_check_normal(const struct hp_profile *profile);

/*
 * Makes a profile that hp_profile_check() refuses one that it takes. A row that cannot be loses
 * what is wrong in it, where that may be missing; else it is left out, with what belongs to it.
 * `dead[kind][i]`: rows to leave out in any case, or NULL; changed. Says how many rows were wrong,
 * those of `dead` not counted, and what was wrong with the first of them.
 */
enum hp_err hp_profile_mend_rows(struct hp_profile *profile, bool *dead[HP_ROW_KINDS],
                                 size_t *wrong, char first[256]);

/* What a row of that kind must fulfil beyond its references and limits. */
enum hp_err hp_check_block(const struct hp_profile *profile, size_t i);
enum hp_err hp_check_line(const struct hp_profile *profile, size_t i);
enum hp_err hp_check_path(const struct hp_profile *profile, size_t i);
enum hp_err hp_check_loop(const struct hp_profile *profile, size_t i);
enum hp_err hp_check_loop_count(const struct hp_profile *profile, size_t i);
enum hp_err hp_check_loop_trips(const struct hp_profile *profile, size_t i);
enum hp_err hp_check_hotspot(const struct hp_profile *profile, size_t i);
enum hp_err hp_check_hotspot_branch(const struct hp_profile *profile, size_t i);
enum hp_err hp_check_hotspot_slice(const struct hp_profile *profile, size_t i);
enum hp_err hp_check_insn_tally(const struct hp_profile *profile, size_t i);
enum hp_err hp_check_sampler(const struct hp_profile *profile, size_t i);

/* --- Order: order.c --------------------------------------------------------------------------- */

/* The keys of all rows of a kind grow, and none is to be dropped. */
bool hp_rows_in_order(const struct hp_profile *profile, enum hp_row_kind kind);

/*
 * Sorts the rows of a kind by their keys, joins those that are the same, and drops what is to be.
 * `*map` gets the new index of every old one (malloc'd); NULL: nobody refers to them.
 */
enum hp_err hp_rows_order(struct hp_profile *profile, enum hp_row_kind kind, uint32_t **map);

/* Joins modules that are the same (equal build ids or, when both have none, equal paths), and sorts
 * them. */
enum hp_err hp_modules_order(struct hp_profile *profile, uint32_t **map);

/* Whether no two modules are the same. */
enum hp_err hp_modules_distinct(const struct hp_profile *profile, bool *distinct);

/* 0 when the modules are the same. */
int hp_module_identity(const struct hp_pmodule *a, const struct hp_pmodule *b);

/* Gives the references of rows of `kind` to rows of `to` their new index. */
void hp_rows_renumber(struct hp_profile *profile, enum hp_row_kind kind, enum hp_row_kind to,
                      const uint32_t *map);

/* Counters: rows of an item and a thread. They are the largest arrays of a profile, so they are
 * sorted where they are; `room` is what that takes (malloc'd; NULL: no memory). */
bool hp_rows_are_counters(enum hp_row_kind kind);
size_t *hp_counters_room(const struct hp_profile *profile);
void hp_counters_order(struct hp_profile *profile, enum hp_row_kind kind, size_t *room);

/* --- Rows that are more than a list ----------------------------------------------------------- */

/* Sorts and joins contexts; `*map` as above. */
enum hp_err hp_contexts_order(struct hp_profile *profile, uint32_t **map);
bool hp_contexts_in_order(const struct hp_profile *profile);
/* HP_ERR_INVALID: `*culprit` is a context that is in itself, or too deep. */
enum hp_err hp_contexts_check_depth(const struct hp_profile *profile, uint32_t *culprit);

/* Sorts and joins loops; `*map` as above. */
enum hp_err hp_loops_order(struct hp_profile *profile, uint32_t **map);
/* HP_ERR_INVALID: `*culprit` is a loop that is nested in itself. */
enum hp_err hp_loops_check_nesting(const struct hp_profile *profile, uint32_t *culprit);

/* Of the trip counts of each loop, which are in order, the most frequent ones stay. */
void hp_loop_trips_keep(struct hp_profile *profile);
bool hp_loop_trips_kept(const struct hp_profile *profile);

/* Of paths that were joined, the steps of one of them stay. */
enum hp_err hp_steps_order(struct hp_profile *profile, const uint32_t *paths,
                           const uint32_t *blocks);

/* Joins of hp_row_format. */
enum hp_err hp_join_stats(void *joint, const void *rows, size_t n, size_t stride);
enum hp_err hp_join_loop_counts(void *joint, const void *rows, size_t n, size_t stride);
enum hp_err hp_join_model_loops(void *joint, const void *rows, size_t n, size_t stride);
enum hp_err hp_join_samplers(void *joint, const void *rows, size_t n, size_t stride);

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

static inline uint32_t hp_renumbered(const uint32_t *map, uint32_t index)
{
    return index == HP_PROFILE_NONE ? index : map[index];
}

#endif
