// SPDX-License-Identifier: MIT
/* What the parts of the profile share. */
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
    bool has_texts[HP_ROW_KINDS]; /* rows have some */
};

/* As the other hp_profile_add_ functions: whether or not there is one like it. */
enum hp_err hp_profile_add_note(struct hp_profile *profile, struct hp_pnote **item);
enum hp_err hp_profile_add_model_stat(struct hp_profile *profile, struct hp_pstat **item);

/* Appends a row, zeroed but for its texts, which are "". */
enum hp_err hp_profile_add_row(struct hp_profile *profile, enum hp_row_kind kind, void **row);

/* Makes room for `more` rows after those there. HP_ERR_INVALID: more than an index can count. */
enum hp_err hp_profile_reserve(struct hp_profile *profile, enum hp_row_kind kind, size_t more);

void hp_profile_free_rows(struct hp_profile *profile);

uint64_t *hp_engine_work_value(struct hp_engine_work *work,
                               const struct hp_engine_work_field *field);
void hp_engine_work_merge(struct hp_engine_work *work, const struct hp_engine_work *other);

/* HP_ERR_INVALID: an index, a value or a range that cannot be. Does not look at the order. */
enum hp_err hp_profile_check(const struct hp_profile *profile);

/* The same for the rows `from` to `to` - 1, as far as they and what they refer to tell. */
enum hp_err hp_profile_check_rows(const struct hp_profile *profile, enum hp_row_kind kind,
                                  size_t from, size_t to);

/* HP_ERR_INVALID: the profile, which is sound, is not in its normal form. */
enum hp_err hp_profile_check_form(const struct hp_profile *profile);

/* Brings a profile that is sound into its normal form. If it fails, rows are lost. */
enum hp_err hp_profile_reorder(struct hp_profile *profile);

/* Both: HP_ERR_INVALID when the profile is not sound or not in its normal form. */
enum hp_err hp_profile_check_normal(const struct hp_profile *profile);

struct hp_mending {
    struct hp_profile *profile;
    bool *dead[HP_ROW_KINDS]; /* by row: it is left out; those behind are not */
    size_t n_dead[HP_ROW_KINDS];
    size_t wrong;    /* what was wrong; rows that are left out from the start not counted */
    char first[256]; /* what, of the first */
};
void hp_mending_fini(struct hp_mending *mending);
enum hp_err hp_mending_leave_out(struct hp_mending *mending, enum hp_row_kind kind, size_t i);

/* Makes a profile that hp_profile_check() refuses one that it takes. A row that cannot be loses
 * what is wrong in it, where that may be missing; else it is left out, with what belongs to it. */
enum hp_err hp_profile_mend_rows(struct hp_mending *mending);

/* Notes how much was wrong, and what the first was: `*what` is the note. */
enum hp_err hp_profile_note_wrong(const struct hp_mending *mending, const char *kind,
                                  const char *text, const char **what);

/* Both rows can be one, if their keys are equal. */
bool hp_rows_may_join(enum hp_row_kind kind, const void *a, const void *b);

/* The keys of all rows of a kind grow, and none is to be dropped. */
bool hp_rows_in_order(const struct hp_profile *profile, enum hp_row_kind kind);

/* Sorts the rows of a kind by their keys, and joins those that are the same. `*map` gets the new
 * index of every old one (malloc'd). */
enum hp_err hp_rows_order(struct hp_profile *profile, enum hp_row_kind kind, uint32_t **map);

/* Room for putting rows in order that nobody refers to. */
struct hp_order_room {
    size_t *indices; /* twice as many as there are rows that any of them refers to, and two more */
    char *rows;      /* for a copy of the rows; where they do not fit, it takes longer */
    size_t bytes;
};

/* The same for rows that nobody refers to; those that say nothing are dropped. They are the largest
 * arrays of a profile, so they are sorted where they are, which cannot fail. */
void hp_leaves_order(struct hp_profile *profile, enum hp_row_kind kind,
                     const struct hp_order_room *room);

/* Gives the references of rows of `kind` to rows of `to` their new index. */
void hp_rows_renumber(struct hp_profile *profile, enum hp_row_kind kind, enum hp_row_kind to,
                      const uint32_t *map);

/* Which rows of `b` are in `a`; both are normal. maps[kind] (malloc'd): their index there, of
 * others one that `a` does not have. What their keys refer to was matched before. */
enum hp_err hp_rows_match(const struct hp_profile *a, const struct hp_profile *b,
                          enum hp_row_kind kind, uint32_t **maps);

/* A map (malloc'd) in which each of `n` stays what it is. */
enum hp_err hp_map_new(size_t n, uint32_t **map);

/* Joins equal modules (build ids, or paths where both have none), and sorts; `*map` as above. */
enum hp_err hp_modules_order(struct hp_profile *profile, uint32_t **map);
/* Whether no two are the same. */
enum hp_err hp_modules_distinct(const struct hp_profile *profile, bool *distinct);
/* 0 when the modules are the same. */
int hp_module_identity(const struct hp_pmodule *a, const struct hp_pmodule *b);

/* Sorts and joins contexts; `*map` as above. */
enum hp_err hp_contexts_order(struct hp_profile *profile, uint32_t **map);
bool hp_contexts_in_order(const struct hp_profile *profile);
/* HP_ERR_INVALID: `*culprit` is a context that is in itself, or too deep. */
enum hp_err hp_contexts_check_depth(const struct hp_profile *profile, uint32_t *culprit);

/* Sorts and joins loops; `*map` as above. */
enum hp_err hp_loops_order(struct hp_profile *profile, uint32_t **map);
/* HP_ERR_INVALID: a loop is nested in itself. */
enum hp_err hp_loops_check_nesting(const struct hp_profile *profile);
/* `*n`: how many circles there were. */
enum hp_err hp_loops_open_circles(struct hp_profile *profile, size_t *n);

/* Of the trip counts of each loop, which are in order, the most frequent ones stay. */
void hp_loop_trips_keep(struct hp_profile *profile);
bool hp_loop_trips_kept(const struct hp_profile *profile);

/* Sorts the steps; of paths that were joined, the steps of one of them stay. `paths`: their map. */
enum hp_err hp_steps_order(struct hp_profile *profile, const uint32_t *paths);

static inline const char *hp_text(const char *text)
{
    return text ? text : "";
}

static inline int hp_compare_text(const char *a, const char *b)
{
    return a == b ? 0 : strcmp(hp_text(a), hp_text(b));
}

static inline uint32_t hp_renumbered(const uint32_t *map, uint32_t index)
{
    return index == HP_PROFILE_NONE ? index : map[index];
}

#endif
