// SPDX-License-Identifier: MIT
/* What changed between two versions of a program: two digests, matched (docs/diff.md). */
#ifndef HP_DIFF_DIFF_H
#define HP_DIFF_DIFF_H

#include "diff/digest.h"
#include "report/report.h"
#include "report/sources.h"
#include "text/json.h"
#include "text/number.h"
#include "text/strbuf.h"

/* How it is known that two functions are the same. */
enum hp_diff_how {
    HP_DIFF_SAME,      /* same symbol; file and module as far as they tell it from others */
    HP_DIFF_SIGNATURE, /* same name, other parameters or other numbers in the symbol */
    HP_DIFF_RENAMED,   /* a guess: the same lines in the same file, another name */
};

/* Something of both versions, or of one (the other is HP_PROFILE_NONE). */
struct hp_change {
    uint32_t old, new;
    /* struct hp_dfunction, hp_dline, hp_dloop or hp_dpath; NULL: that version does not have it */
    const void *old_item, *new_item;
    uint32_t function;      /* of a line or loop: in hp_diff.functions, one of both versions */
    uint64_t before, after; /* instructions; of a loop: not in one nested in it */
    int64_t delta;
    enum hp_diff_how how; /* of a function */
    /* Of a function of one version: that of the other version that it is inlined in.
     * HP_PROFILE_NONE: none */
    uint32_t inlined;
};

struct hp_changes {
    struct hp_change *items; /* the largest change first; lines: by function before that */
    size_t n;
    uint32_t *to_new, *to_old; /* by index in one digest, that in the other; HP_PROFILE_NONE none */
};

enum hp_diff_kind { HP_DIFF_FUNCTIONS, HP_DIFF_LINES, HP_DIFF_LOOPS, HP_DIFF_PATHS, HP_DIFF_KINDS };

struct hp_diff {
    const struct hp_digest *old, *new;
    union {
        struct hp_changes kinds[HP_DIFF_KINDS];
        struct {
            struct hp_changes functions, lines, loops, paths;
        };
    };
    struct hp_sources old_sources, new_sources;
    /* By function of `new` that both have: */
    uint32_t *rows; /* in `functions` */
    enum hp_diff_how *how;
};

/* Where the sources are. NULL: where debug information says, unless changed after the run. */
struct hp_diff_options {
    const char *old_source, *new_source; /* directories */
};

/* Both digests must outlive it. Free it even on failure: HP_ERR_NOMEM. */
enum hp_err hp_diff_make(const struct hp_digest *old, const struct hp_digest *new,
                         const struct hp_diff_options *options, struct hp_diff **diff);
void hp_diff_free(struct hp_diff *diff);

/* Whether a total can be compared: both have it, of the same machine. */
bool hp_diff_has(const struct hp_diff *diff, enum hp_total total);

/* The function of a change as the new version has it, or the old one where it was removed. */
static inline const struct hp_dfunction *hp_change_function(const struct hp_change *function)
{
    return function->new_item ?: function->old_item;
}

/* new - old, at most what a number can be. */
static inline int64_t hp_delta(uint64_t old, uint64_t new)
{
    if (new >= old)
        return new - old > INT64_MAX ? INT64_MAX : (int64_t)(new - old);
    return old - new > INT64_MAX ? -INT64_MAX : -(int64_t)(old - new);
}

/* The size of a change. */
static inline uint64_t hp_delta_size(int64_t delta)
{
    return delta < 0 ? 0 - (uint64_t)delta : (uint64_t)delta;
}

static inline void hp_changes_match(struct hp_changes *changes, uint32_t old, uint32_t new)
{
    changes->to_new[old] = new;
    changes->to_old[new] = old;
}

/* Matches the functions; sets `how`. */
enum hp_err hp_diff_match(struct hp_diff *diff);

/* Matches the lines of two functions that are the same. */
enum hp_err hp_diff_align(struct hp_diff *diff, const struct hp_dfunction *old,
                          const struct hp_dfunction *new);

/* Whether two lines of source say the same, but for blanks; < 0: the text of one is not known. */
int hp_diff_same_text(struct hp_diff *diff, const struct hp_dline *old, const struct hp_dline *new);

/* What the versions are called, and what is shown of the changes. */
struct hp_diff_print {
    const char *old_name, *new_name;
    double
        threshold; /* percent of the old instructions: functions that changed less are left out */
    struct hp_report_options report; /* format (text or JSON), top, color, width */
};

enum hp_err hp_diff_print(const struct hp_diff *diff, const struct hp_diff_print *print, FILE *out);
enum hp_err hp_diff_print_json(const struct hp_diff *diff, const struct hp_diff_print *print,
                               FILE *out);

/* The member "diff" of an object, with what is to be printed of it. */
void hp_diff_put_json(struct hp_json *json, const struct hp_diff *diff,
                      const struct hp_diff_print *print);

/* Whether a function changed by the threshold or more. */
bool hp_diff_counts(const struct hp_diff *diff, const struct hp_diff_print *print, int64_t delta);

/* How many of `n` to print, where `usual` (0: all) is what a person reads. */
size_t hp_diff_limit(const struct hp_diff_print *print, size_t n, size_t usual);

/* Appends "  instructions    1,000 -> 1,234". */
void hp_diff_put_total(struct hp_strbuf *text, const struct hp_diff *diff, enum hp_total total);

/* "+1,234", as an argument of printf() and its like. */
#define HP_DELTA(delta) hp_delta_text((char[HP_NUMBER_SIZE + 1]){0}, delta)
const char *hp_delta_text(char text[HP_NUMBER_SIZE + 1], int64_t delta);

/* "old", "new" and "delta" of an object. */
void hp_diff_put_counts(struct hp_json *json, uint64_t old, uint64_t new);

#endif
