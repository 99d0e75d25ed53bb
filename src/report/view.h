// SPDX-License-Identifier: MIT
/* The views of a report: what is printed, what --help, manual pages, completion and errors list,
 * and the tables of docs/report.md. A view is an entry in a file of its own, and a name in
 * HP_VIEWS.
 */
#ifndef HP_REPORT_VIEW_H
#define HP_REPORT_VIEW_H

#include "profile/rows.h"
#include "symbols/functions.h"

struct hp_column;
struct hp_field;
struct hp_row;
struct hp_rows;
struct hp_strbuf;
struct hp_tables;
struct hp_text;

#define HP_ROW_VALUES 5

/* The row of the profile that a row is about: HP_ROW_KINDS: none. */
struct hp_subject {
    enum hp_row_kind kind;
    uint32_t item;
    const char *function; /* a name beside that, of one that may be inlined; NULL: none */
};

struct hp_view {
    const char *name;          /* "loop-models" */
    const char *help;          /* a few words */
    const char *title;         /* above it, in text */
    const char *each;          /* for docs/report.md: what a row stands for, */
    const char *order;         /* and what they are ordered by */
    const char *empty;         /* said in text when there is no row */
    enum hp_line_detail lines; /* that its text needs */
    bool overview;             /* part of the default view */
    /* It is there when the profile has rows of one of these kinds (0: of none), */
    enum hp_row_kind there[3];
    bool (*is_there)(
        const struct hp_profile *profile); /* or as this says; NULL: code was counted */

    /*
     * Rows. Each is about a row of the profile, of the kind `item`; or what `make` makes. Their
     * values are summed from the columns `values` of the rows `counter`, which say in their first
     * two members what item and thread they are of; where `counter` is `item`, of the item itself.
     * NULL: 0. v[0] is the weight that rows are ordered by. `adjust` changes what was read of a
     * counter; item HP_PROFILE_NONE: it is of none.
     */
    enum hp_row_kind item, counter;
    const char *values[HP_ROW_VALUES];
    void (*adjust)(const struct hp_tables *tables, struct hp_row *row);
    bool by_thread; /* items have values by thread; those without any values are left out */
    /* Makes the rows, or with `values` changes them. What was made stays in `rows` on failure. */
    enum hp_err (*make)(struct hp_rows *rows, struct hp_tables *tables);
    /* Makes in `tables` what only this view needs. May be NULL. */
    enum hp_err (*prepare)(struct hp_tables *tables);
    /* The order of items with equal weights. NULL or 0: by index, which is by address of most. */
    int (*compare)(const struct hp_profile *profile, uint32_t a, uint32_t b);
    /* Whether two items belong to one list, as paths of a kind do; the items of a list follow each
     * other in the profile. NULL: there is one. */
    bool (*same_list)(const struct hp_tables *tables, uint32_t a, uint32_t b);

    /* What a row is about, where its item is no row of the profile. May be NULL. */
    struct hp_subject (*subject)(const struct hp_tables *tables, const struct hp_row *row);
    /* Whether a row is of the whole run, and there whatever is asked for. NULL: none is. */
    bool (*is_head)(const struct hp_tables *tables, const struct hp_row *row);
    bool of_function; /* it is made for the functions that are asked for */
    bool chooses;     /* `make` leaves out what is not of the functions that are asked for */

    /* For scripts: ended by one without a name. NULL: it is no table. */
    const struct hp_field *fields;

    /* For people: a table. Instead of what its columns say, its cells are filled by `fill`, which
     * returns the heat of the row. May be NULL. */
    const struct hp_column *columns;
    double (*fill)(const struct hp_text *text, const struct hp_row *row, struct hp_strbuf *cells);
    /* Instead, or around it: prints the rows, which are in order, at least one, and all of them.
     * At most `limit` rows (0: all) of each list are wanted. */
    enum hp_err (*print)(const struct hp_text *text, struct hp_rows *rows, size_t limit);
    /* Prints what stands below a row, and its parts by thread. May be NULL. */
    enum hp_err (*below)(const struct hp_text *text, const struct hp_row *row);
    size_t top; /* rows of text when nothing is said; 0: HP_REPORT_TEXT_TOP */
};

#define HP_VIEW_WHOLE SIZE_MAX /* no ranking but a list of names: text has all of it, too */

/* In the order in which they are listed and printed, "all" last; hp_views is ended by NULL. */
extern const struct hp_view *const hp_views[];
/* clang-format off */
#define HP_VIEWS(V) V(summary) V(functions) V(blocks) V(edges) V(runs) V(calls) V(callers) V(contexts) V(lines) \
    V(processes) V(threads) V(modules) V(loops) V(paths) V(predictions) V(hotspots) V(loop_models) V(partition) \
    V(syscalls) V(syscall_paths) V(machine) V(traces) V(instructions) V(cpi) V(sampling) V(all)
/* clang-format on */
#define HP_VIEW_ONE(name) +1
enum { HP_VIEWS_MAX = 0 HP_VIEWS(HP_VIEW_ONE) };
#define HP_VIEW_DECLARE(name) extern const struct hp_view hp_view_##name;
HP_VIEWS(HP_VIEW_DECLARE)

/* The view of a name, NULL for "default". HP_ERR_INVALID: the error text lists those there are. */
enum hp_err hp_view_from_name(const char *name, const struct hp_view **view);

#endif
