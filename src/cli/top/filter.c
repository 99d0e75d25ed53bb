// SPDX-License-Identifier: MIT
#include "cli/top/filter.h"

#include "base/base.h"
#include "report/tables.h"

/* --- Columns ---------------------------------------------------------------------------------- */

/* A row for an expression; without a board only the names of its columns. */
struct at {
    struct hp_board *board;
    enum hp_board_kind kind;
    bool since;
    struct hp_board_row *row;
    size_t places[HP_TOP_COLUMNS_MAX]; /* of the columns with a field */
};

static const char *column_name(const void *context, size_t column)
{
    const struct at *at = context;
    return hp_top_columns[at->kind][at->places[column]].field;
}

/* What is wrong with an expression is found with a row that has everything. */
static struct hp_cell example(enum hp_top_what what)
{
    switch (what) {
    case HP_TOP_SHARE:
    case HP_TOP_OF_IT:
    case HP_TOP_TRIPS: return hp_cell_fraction(0);
    case HP_TOP_NAME:
    case HP_TOP_MODULE:
    case HP_TOP_FILE: return hp_cell_text("");
    default: return hp_cell_number(0);
    }
}

static struct hp_cell column_cell(void *context, size_t column)
{
    const struct at *at = context;
    enum hp_top_what what = hp_top_columns[at->kind][at->places[column]].what;
    return at->row ? hp_top_cell(at->board, at->kind, at->since, at->row, what) : example(what);
}

static struct hp_filter_columns columns_of(struct at *at)
{
    struct hp_filter_columns columns = {
        .of = hp_top_parts[at->kind], .name = column_name, .cell = column_cell, .context = at};
    for (size_t i = 0; hp_top_columns[at->kind][i].title; i++)
        if (hp_top_columns[at->kind][i].field)
            at->places[columns.n++] = i;
    return columns;
}

/* --- What a text is --------------------------------------------------------------------------- */

/* Whether an expression compares anything: a column alone is true or false, and none is. */
static bool compares(const struct hp_filter *filter)
{
    for (size_t i = 0; i < filter->n; i++)
        if (!filter->tests[i].text)
            return false;
    return filter->n > 0;
}

static bool bind(struct hp_filter *filter, enum hp_board_kind kind, const char *text)
{
    struct at at = {.kind = kind};
    struct hp_filter_columns columns = columns_of(&at);
    bool passes;
    return hp_filter_parse(filter, text) == HP_OK && compares(filter) &&
           hp_filter_bind(filter, &columns) == HP_OK &&
           hp_filter_passes(filter, &columns, &passes) == HP_OK;
}

static bool begins_with(const char *text, const char *column)
{
    size_t n = strlen(column);
    return strncmp(text, column, n) == 0 && text[n] && strchr(" =!<>~", text[n]);
}

/* Whether something else than a name is being typed: "share > ", "not (calls". */
static bool is_unfinished(const char *text, const bool *kinds)
{
    text += strspn(text, " (");
    if (strncmp(text, "not ", 4) == 0)
        text += 4 + strspn(text + 4, " (");
    for (unsigned kind = 0; kind < HP_BOARD_KINDS; kind++)
        for (size_t i = 0; kinds[kind] && hp_top_columns[kind][i].title; i++)
            if (hp_top_columns[kind][i].field && begins_with(text, hp_top_columns[kind][i].field))
                return true;
    return false;
}

enum hp_top_filter_is hp_top_filter_set(struct hp_top_filter *filter, const char *text,
                                        const bool *kinds)
{
    struct hp_top_filter new = {.is = *text ? HP_TOP_FILTER_NAME : HP_TOP_FILTER_NONE};
    snprintf(new.text, sizeof new.text, "%s", text);
    for (unsigned kind = 0; kind < HP_BOARD_KINDS && *text; kind++) {
        new.fits[kind] = bind(&new.by[kind], kind, text);
        if (new.fits[kind] && kinds[kind])
            new.is = HP_TOP_FILTER_EXPRESSION;
    }
    if (new.is == HP_TOP_FILTER_NAME && is_unfinished(text, kinds)) {
        hp_top_filter_fini(&new);
        return HP_TOP_FILTER_UNFINISHED;
    }
    hp_top_filter_fini(filter);
    *filter = new;
    return new.is;
}

void hp_top_filter_fini(struct hp_top_filter *filter)
{
    for (unsigned kind = 0; kind < HP_BOARD_KINDS; kind++)
        hp_filter_fini(&filter->by[kind]);
    *filter = (struct hp_top_filter){0};
}

/* --- Rows ------------------------------------------------------------------------------------- */

bool hp_top_filter_passes(const struct hp_top_filter *filter, struct hp_board *board,
                          enum hp_board_kind kind, bool since, struct hp_board_row *row)
{
    struct at at = {.board = board, .kind = kind, .since = since, .row = row};
    bool passes = false;
    if (filter->is == HP_TOP_FILTER_NONE)
        return true;
    if (filter->is == HP_TOP_FILTER_NAME)
        return strcasestr(row->name, filter->text) ||
               strcasestr(hp_base_name(row->path_of_module), filter->text) ||
               (row->located && strcasestr(hp_base_name(row->file), filter->text));
    struct hp_filter_columns columns = columns_of(&at);
    return filter->fits[kind] && hp_filter_passes(&filter->by[kind], &columns, &passes) == HP_OK &&
           passes;
}
