// SPDX-License-Identifier: MIT
/*
 * What is asked of the rows of a view: an expression over their columns, a function, a module,
 * threads, another order. One implementation for all views, over their fields and the rows of the
 * profile that they are about.
 */
#ifndef HP_REPORT_QUERY_H
#define HP_REPORT_QUERY_H

#include "report/query/filter.h"
#include "report/query/names.h"

struct hp_query {
    const struct hp_report_query *words;
    struct hp_filter filter;
    struct hp_found functions, modules; /* `is` NULL: any */
    bool *threads;                      /* by thread; NULL: all */
    struct hp_profile part;             /* with `threads`: only their counters */
};

/* Whether anything is asked for. */
bool hp_query_asks(const struct hp_report_query *words);

/*
 * Makes the tables of what is asked for. Where threads are, they are of a profile that has only the
 * counters of these; the sums of the run stay whole. Release both, the tables first, in any case.
 * HP_ERR_INVALID: a wrong expression, no such thread. HP_ERR_NOTFOUND: no such function, module.
 */
enum hp_err hp_query_open(struct hp_query *query, const struct hp_report_query *words,
                          const struct hp_profile *profile, struct hp_tables *tables);
void hp_query_fini(struct hp_query *query);

/* HP_ERR_INVALID: a column is of no view. */
enum hp_err hp_query_is_known(const struct hp_query *query);

/* Whether this can be asked of a view. HP_ERR_INVALID: what cannot, and of which views it can. */
enum hp_err hp_query_fits(const struct hp_query *query, const struct hp_tables *tables,
                          const struct hp_view *view);

/* Keeps the rows that are asked for, and orders them; rows->n_asked_out says how many are gone. */
enum hp_err hp_query_apply(const struct hp_query *query, struct hp_tables *tables,
                           const struct hp_view *view, struct hp_rows *rows);

/*
 * The same of a list of `n` rows that are no view's: the numbers of those that are asked for, in
 * order, into chosen[n]. `at` makes a row that at hand. The columns "name" and "module" are texts.
 * HP_ERR_INVALID as above.
 */
enum hp_err hp_query_list(const struct hp_report_query *words,
                          const struct hp_filter_columns *columns,
                          void (*at)(void *context, size_t row), size_t n, size_t *chosen,
                          size_t *n_chosen);

/* Says in text how many of `all` rows were left out, if any. */
void hp_print_query_out(const struct hp_report_query *words, size_t all, size_t chosen, FILE *out);

/* What rows were left out by: "--filter, --module". */
void hp_query_put_options(const struct hp_report_query *words, struct hp_strbuf *text);

#endif
