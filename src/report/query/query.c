// SPDX-License-Identifier: MIT
#include "report/query/query.h"

#include "base/base.h"
#include "report/fields.h"
#include "text/number.h"

#include <ctype.h>

bool hp_query_asks(const struct hp_report_query *w)
{
    return w->sort || w->filter || w->function || w->module || w->thread || w->process;
}

void hp_query_put_options(const struct hp_report_query *w, struct hp_strbuf *text)
{
    const struct {
        const char *word, *option;
    } all[] = {{w->filter, "--filter"},
               {w->function, "--function"},
               {w->module, "--module"},
               {w->thread, "--thread"},
               {w->process, "--process"}};
    const char *before = "";
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i].word)
            continue;
        hp_strbuf_format(text, "%s%s", before, all[i].option);
        before = ", ";
    }
}

/* --- Threads ---------------------------------------------------------------------------------- */

static bool read_id(const char *text, uint64_t *id)
{
    size_t n = strspn(text, "0123456789");
    *id = strtoull(text, NULL, 10);
    return n > 0 && n < 19 && !text[n];
}

/* A thread is its number in the profile, or where there is none of that number, the kernel's; or
 * its name, or a part of that. */
static bool is_thread(const struct hp_profile *p, uint32_t thread, const char *asked, bool part)
{
    uint64_t number;
    const char *name = hp_thread_names_of(p, thread)->name;
    if (!read_id(asked, &number))
        return part ? strstr(name, asked) != NULL : strcmp(name, asked) == 0;
    return number < p->n_threads ? number == thread : (int64_t)number == p->threads[thread].tid;
}

/* A process is its pid, or the name of its program, or a part of its command. */
static bool is_process(const struct hp_profile *p, uint32_t thread, const char *asked, bool part)
{
    uint64_t number;
    const char *command = hp_thread_names_of(p, thread)->command;
    size_t length = strcspn(command, " "), n = strlen(asked);
    if (read_id(asked, &number))
        return (int64_t)number == p->threads[thread].pid;
    if (part)
        return strstr(command, asked);
    return length >= n && strncmp(command + length - n, asked, n) == 0 &&
           (length == n || command[length - n - 1] == '/');
}

/* Those with the name that is asked for; where there are none, those with it in their name. */
static enum hp_err choose_threads(struct hp_query *query, const struct hp_profile *p)
{
    const struct hp_report_query *words = query->words;
    bool is_named[2] = {!words->thread, !words->process};
    size_t n = 0;
    HP_TRY(hp_new(&query->threads, p->n_threads + 1, sizeof *query->threads));
    for (uint32_t i = 0; i < p->n_threads; i++) {
        is_named[0] = is_named[0] || is_thread(p, i, words->thread, false);
        is_named[1] = is_named[1] || is_process(p, i, words->process, false);
    }
    for (uint32_t i = 0; i < p->n_threads; i++) {
        query->threads[i] = (!words->thread || is_thread(p, i, words->thread, !is_named[0])) &&
                            (!words->process || is_process(p, i, words->process, !is_named[1]));
        n += query->threads[i];
    }
    if (n == 0)
        return hp_fail(HP_ERR_NOTFOUND, "no %s %.40s in this profile (view %s lists them)",
                       words->thread ? "thread" : "process", words->thread ?: words->process,
                       words->thread ? "threads" : "processes");
    return HP_OK;
}

/* The column of a kind that says which thread a counter is of; NULL: it has none. */
static const struct hp_row_field *thread_column(enum hp_row_kind kind)
{
    const struct hp_row_field *column = hp_row_column(kind, "thread");
    bool refers = column && hp_row_is_reference(column) && column->to == HP_ROW_THREAD;
    return refers ? column : NULL;
}

/* Makes `part` the profile with only the counters of the threads. */
static enum hp_err cut_counters(struct hp_query *query, const struct hp_profile *profile)
{
    enum hp_err err = HP_OK;
    query->part = *profile;
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++) {
        const struct hp_row_field *column = thread_column(kind);
        struct hp_row_array rows = hp_profile_rows(&query->part, kind);
        size_t size = rows.format->size, kept = 0;
        char *copy;
        if (!column)
            continue;
        /* From here on the array is the query's, also on failure. */
        copy = calloc(*rows.n + 1, size);
        for (size_t i = 0; copy && i < *rows.n; i++)
            if (query->threads[hp_row_number(column, rows.items + i * size)])
                memcpy(copy + kept++ * size, rows.items + i * size, size);
        memcpy(rows.array, &copy, sizeof copy);
        *rows.n = kept;
        err = copy ? err : hp_fail_nomem();
    }
    return err;
}

static void free_counters(struct hp_query *query)
{
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++) {
        char *copy;
        if (!thread_column(kind))
            continue;
        memcpy(&copy, hp_profile_rows(&query->part, kind).array, sizeof copy);
        free(copy);
    }
}

/* What is said of the whole run stays. */
static void keep_sums(struct hp_tables *tables, const struct hp_tables *whole)
{
    tables->summary = whole->summary;
    for (size_t i = 0; i < tables->n_kinds; i++) {
        tables->kinds[i].distinct = whole->kinds[i].distinct;
        tables->kinds[i].count = whole->kinds[i].count;
        tables->kinds[i].insns = whole->kinds[i].insns;
        tables->kinds[i].events = whole->kinds[i].events;
    }
}

static enum hp_err open_threads(struct hp_query *query, const struct hp_profile *profile,
                                struct hp_tables *tables)
{
    struct hp_tables whole HP_CLEANUP(hp_tables_fini) = {0};
    HP_TRY(hp_tables_init(&whole, profile));
    HP_TRY(choose_threads(query, profile));
    HP_TRY(cut_counters(query, profile));
    HP_TRY(hp_tables_init(tables, &query->part));
    keep_sums(tables, &whole);
    return HP_OK;
}

/* --- Opening ---------------------------------------------------------------------------------- */

enum hp_err hp_query_open(struct hp_query *query, const struct hp_report_query *words,
                          const struct hp_profile *profile, struct hp_tables *tables)
{
    *query = (struct hp_query){.words = words};
    if (words->filter)
        HP_TRY(hp_filter_parse(&query->filter, words->filter));
    HP_TRY(words->thread || words->process ? open_threads(query, profile, tables)
                                           : hp_tables_init(tables, profile));
    if (hp_query_asks(words))
        tables->query = query;
    if (words->function)
        HP_TRY(hp_find_functions(tables, words->function, NULL, &query->functions));
    if (words->module)
        HP_TRY(hp_find_modules(tables, words->module, &query->modules));
    /* A function that is inlined everywhere has only lines. */
    bool inlined = false;
    for (size_t i = 0; words->function && !query->functions.n && i < profile->n_lines; i++)
        inlined |= strstr(hp_text(profile->lines[i].inlined), words->function) != NULL;
    if (words->function && query->functions.n == 0 && !inlined)
        return hp_fail(HP_ERR_NOTFOUND,
                       "no function has '%.60s' in its name (view functions lists them)",
                       words->function);
    if (words->module && query->modules.n == 0)
        return hp_fail(HP_ERR_NOTFOUND,
                       "no module has '%.60s' in its path (view modules lists them)",
                       words->module);
    return HP_OK;
}

void hp_query_fini(struct hp_query *query)
{
    if (query->part.threads)
        free_counters(query);
    hp_filter_fini(&query->filter);
    free(query->functions.is);
    free(query->modules.is);
    free(query->threads);
    *query = (struct hp_query){0};
}

/* --- What rows are about ---------------------------------------------------------------------- */

/* Which of the names that are asked for were met. */
struct met {
    const struct hp_query *query;
    const struct hp_tables *tables;
    bool function, module;
};

static void meet_module(struct met *met, uint64_t module)
{
    if (module != HP_PROFILE_NONE && met->query->modules.is)
        met->module |= met->query->modules.is[module];
}

static void meet_function(struct met *met, uint64_t function)
{
    if (function == HP_PROFILE_NONE)
        return;
    if (met->query->functions.is)
        met->function |= met->query->functions.is[function];
    meet_module(met, met->tables->profile->functions[function].place.module);
}

/* Of a row of the profile: the functions and modules that it names, and those of its block. */
static void meet_row(struct met *met, enum hp_row_kind kind, uint64_t item)
{
    const struct hp_profile *p = met->tables->profile;
    const void *row = hp_profile_row(p, kind, item);
    const struct hp_row_format *format = &hp_row_formats[kind];
    if (kind == HP_ROW_FUNCTION)
        meet_function(met, item);
    if (kind == HP_ROW_MODULE)
        meet_module(met, item);
    if (kind == HP_ROW_EDGE) {
        meet_function(met, hp_tables_function_at(met->tables, p->edges[item].from));
        meet_function(met, hp_tables_function_at(met->tables, p->edges[item].to));
    }
    for (size_t i = 0; i < format->n_fields; i++) {
        const struct hp_row_field *field = &format->fields[i];
        uint64_t to = hp_row_is_reference(field) ? hp_row_number(field, row) : HP_PROFILE_NONE;
        if (to == HP_PROFILE_NONE)
            continue;
        if (field->to == HP_ROW_FUNCTION)
            meet_function(met, to);
        else if (field->to == HP_ROW_MODULE)
            meet_module(met, to);
        else if (field->to == HP_ROW_BLOCK)
            meet_row(met, HP_ROW_BLOCK, to);
    }
}

/* Whether a view's rows are those of the profile's kind `item`. */
static bool has_items(const struct hp_view *view)
{
    return view->item || view->counter;
}

static void meet(struct met *met, const struct hp_view *view, const struct hp_row *row)
{
    if (view->subject) {
        struct hp_subject subject = view->subject(met->tables, row);
        if (subject.kind != HP_ROW_KINDS)
            meet_row(met, subject.kind, subject.item);
        met->function |= subject.function && met->query->words->function &&
                         hp_name_is(subject.function, NULL, met->query->words->function,
                                    !met->query->functions.n || met->query->functions.part);
        return;
    }
    meet_row(met, view->item, row->item);
    for (const struct hp_field *f = view->fields; f->name; f++) {
        if (f->list != hp_list_blocks)
            continue;
        size_t n;
        const struct hp_row_field *block = hp_row_column(f->value, "block");
        const char *of = hp_items(met->tables->profile, f->value, row->item, &n);
        for (; n-- > 0; of += hp_row_formats[f->value].size)
            meet_row(met, HP_ROW_BLOCK, hp_row_number(block, of));
    }
}

static bool refers(enum hp_row_kind kind, enum hp_row_kind to)
{
    const struct hp_row_format *format = &hp_row_formats[kind];
    bool found = kind == to || kind == HP_ROW_EDGE;
    for (size_t i = 0; i < format->n_fields; i++)
        found |= hp_row_is_reference(&format->fields[i]) && format->fields[i].to == to;
    return found;
}

static bool knows_functions(const struct hp_view *view)
{
    bool blocks = false;
    for (const struct hp_field *f = view->fields; f->name; f++)
        blocks |= f->list == hp_list_blocks;
    return view->subject || blocks || (has_items(view) && refers(view->item, HP_ROW_FUNCTION));
}

static bool knows_modules(const struct hp_view *view)
{
    return knows_functions(view) || (has_items(view) && refers(view->item, HP_ROW_MODULE));
}

static bool knows_threads(const struct hp_view *view)
{
    return view->by_thread || view->item == HP_ROW_THREAD ||
           (has_items(view) && thread_column(view->counter));
}

static bool knows_processes(const struct hp_view *view)
{
    return knows_threads(view) || (has_items(view) && hp_row_column(view->item, "pid"));
}

/* Rows that are no sums of counters, but of a thread or process themselves. */
static bool is_of_threads(const struct hp_query *query, const struct hp_tables *tables,
                          const struct hp_view *view, const struct hp_row *row)
{
    const struct hp_row_field *pid = has_items(view) ? hp_row_column(view->item, "pid") : NULL;
    if (!query->threads || !pid)
        return true;
    if (view->item == HP_ROW_THREAD)
        return query->threads[row->item];
    uint64_t process = hp_row_number(pid, hp_profile_row(tables->profile, view->item, row->item));
    for (size_t i = 0; i < tables->profile->n_threads; i++)
        if (query->threads[i] && (uint64_t)tables->profile->threads[i].pid == process)
            return true;
    return false;
}

/* --- Columns ---------------------------------------------------------------------------------- */

/* Those of the view, and behind them members of its lists, as they are asked for. */
struct columns {
    struct hp_bound_fields fields;
    struct hp_field_input in;
    struct hp_strbuf buffer;
    struct {
        size_t field;
        const char *name;
    } members[HP_FILTER_TESTS + 1];
    size_t n_members;
};

/* The name of a member of a field, in "FIELD.NAME"; NULL: it has none of that name. */
static const char *member_of(const struct hp_field *field, const char *name)
{
    size_t length = strlen(field->name);
    const char *member = NULL;
    if (!field->member || strncmp(name, field->name, length) != 0 || name[length] != '.')
        return NULL;
    for (size_t i = 0; (member = field->member(i)); i++)
        if (strcmp(member, name + length + 1) == 0)
            break;
    return member;
}

static size_t column_member(void *context, const char *name)
{
    struct columns *columns = context;
    if (columns->n_members == sizeof columns->members / sizeof *columns->members)
        return SIZE_MAX;
    for (size_t i = 0; i < columns->fields.n; i++) {
        const char *member = member_of(columns->fields.fields[i].field, name);
        if (!member)
            continue;
        columns->members[columns->n_members].field = i;
        columns->members[columns->n_members].name = member;
        return columns->fields.n + columns->n_members++;
    }
    return SIZE_MAX;
}

/* From what the list is in CSV: "NAME:VALUE NAME:VALUE". */
static struct hp_cell member_cell(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (; *list; list += strcspn(list, " "), list += *list == ' ')
        if (strncmp(list, name, length) == 0 && list[length] == ':')
            return hp_cell_fraction(strtod(list + length + 1, NULL));
    return hp_cell_none();
}

static const char *column_name(const void *context, size_t i)
{
    const struct columns *columns = context;
    return columns->fields.fields[i].field->name;
}

/* A list is the text that it is in CSV. */
static struct hp_cell column_cell(void *context, size_t i)
{
    struct columns *columns = context;
    bool member = i >= columns->fields.n;
    size_t k = member ? i - columns->fields.n : 0;
    const struct hp_bound_field *field =
        &columns->fields.fields[member ? columns->members[k].field : i];
    hp_strbuf_clear(&columns->buffer);
    if (!field->field->list)
        return hp_field_cell(field, &columns->in);
    hp_field_list(field, &columns->in, NULL);
    const char *list = hp_strbuf_text(&columns->buffer);
    return member ? member_cell(list, columns->members[k].name) : hp_cell_text(list);
}

static struct hp_filter_columns bind_columns(struct columns *columns, const char *of,
                                             const struct hp_tables *tables,
                                             const struct hp_view *view)
{
    hp_fields_bind(&columns->fields, view, tables);
    columns->in = (struct hp_field_input){.tables = tables, .buffer = &columns->buffer};
    return (struct hp_filter_columns){.of = of,
                                      .n = columns->fields.n,
                                      .name = column_name,
                                      .cell = column_cell,
                                      .member = column_member,
                                      .context = columns};
}

static void columns_fini(struct columns *columns)
{
    hp_strbuf_fini(&columns->buffer);
}

/* Without the sign that turns the order round. */
static const char *sort_column(const struct hp_report_query *words)
{
    return words->sort + (*words->sort == '-');
}

/* --- Whether it fits -------------------------------------------------------------------------- */

static enum hp_err need(bool asked, bool (*knows)(const struct hp_view *), const char *option,
                        const struct hp_view *view)
{
    struct hp_strbuf names HP_CLEANUP(hp_strbuf_fini) = {0};
    if (!asked || knows(view))
        return HP_OK;
    for (size_t i = 0; hp_views[i]; i++)
        if (hp_views[i]->fields && knows(hp_views[i]))
            hp_strbuf_format(&names, "%s%s", names.length ? ", " : "", hp_views[i]->name);
    return hp_fail(HP_ERR_INVALID, "%s is not for the view %s: it is for %s", option, view->name,
                   hp_strbuf_text(&names));
}

enum hp_err hp_query_fits(const struct hp_query *query, const struct hp_tables *tables,
                          const struct hp_view *view)
{
    const struct hp_report_query *words = query->words;
    struct columns columns HP_CLEANUP(columns_fini) = {0};
    struct hp_filter filter = query->filter; /* the names are shared */
    char of[40];
    size_t index;
    if (!view->fields)
        return hp_fail(HP_ERR_INVALID, "nothing can be asked of the view %s: it is no table",
                       view->name);
    snprintf(of, sizeof of, "view %s", view->name);
    struct hp_filter_columns bound = bind_columns(&columns, of, tables, view);
    HP_TRY(hp_filter_bind(&filter, &bound));
    if (words->sort)
        HP_TRY(hp_filter_column(&bound, "--sort", sort_column(words), &index));
    HP_TRY(need(words->function, knows_functions, "--function", view));
    HP_TRY(need(words->module, knows_modules, "--module", view));
    HP_TRY(need(words->thread, knows_threads, "--thread", view));
    return need(words->process, knows_processes, "--process", view);
}

static enum hp_err find_column(const char *option, const char *name)
{
    for (size_t i = 0; hp_views[i]; i++)
        for (const struct hp_field *f = hp_views[i]->fields; f && f->name; f++)
            if (strcmp(f->name, name) == 0 || member_of(f, name))
                return HP_OK;
    return hp_fail(HP_ERR_INVALID,
                   "%s: no view has a column '%.40s' (hotpath help columns lists them)", option,
                   name);
}

enum hp_err hp_query_is_known(const struct hp_query *query)
{
    for (size_t i = 0; i < query->filter.n; i++)
        HP_TRY(find_column("--filter", query->filter.tests[i].column));
    return query->words->sort ? find_column("--sort", sort_column(query->words)) : HP_OK;
}

/* --- Rows ------------------------------------------------------------------------------------- */

static bool is_asked_for(const struct hp_query *query, const struct hp_tables *tables,
                         const struct hp_view *view, const struct hp_row *row)
{
    struct met met = {.query = query, .tables = tables};
    if (!is_of_threads(query, tables, view, row))
        return false;
    if (!query->words->function && !query->words->module)
        return true;
    meet(&met, view, row);
    return (met.function || !query->words->function || view->of_function || view->chooses) &&
           (met.module || !query->words->module);
}

static enum hp_err choose(const struct hp_query *query, const struct hp_tables *tables,
                          const struct hp_view *view, struct columns *columns,
                          const struct hp_filter_columns *bound, struct hp_rows *rows)
{
    struct hp_filter filter = query->filter;
    size_t kept = 0;
    HP_TRY(hp_filter_bind(&filter, bound));
    for (size_t i = 0; i < rows->n; i++) {
        bool passes = view->is_head && view->is_head(tables, &rows->rows[i]);
        columns->in.row = &rows->rows[i];
        if (!passes && is_asked_for(query, tables, view, &rows->rows[i]))
            HP_TRY(hp_filter_passes(&filter, bound, &passes));
        if (passes)
            rows->rows[kept++] = rows->rows[i];
    }
    rows->n_asked_out = rows->n - kept;
    rows->n = kept;
    return HP_OK;
}

/* What a row is ordered by. */
struct key {
    size_t place; /* in the order there was */
    uint32_t list;
    int rank; /* 0: as usual; 1: not known, which comes last; -1: above all */
    const char *text;
    long double number;
};

/* Numbers from large to small, texts from A to Z; `context` turns that round. */
static int compare_keys(const void *a, const void *b, void *context)
{
    const struct key *x = a, *y = b;
    int order = x->text && y->text ? strcmp(x->text, y->text) : HP_COMPARE(y->number, x->number);
    if (*(const bool *)context)
        order = -order;
    return HP_COMPARE(x->list, y->list) ?: HP_COMPARE(x->rank, y->rank)
               ?: order ?: HP_COMPARE(x->place, y->place);
}

static void sort_keys(const struct hp_report_query *words, struct key *keys, size_t n)
{
    bool reversed = words->sort[0] == '-';
    if (n > 1)
        qsort_r(keys, n, sizeof *keys, compare_keys, &reversed);
}

static enum hp_err set_key(struct key *key, const struct hp_cell *cell, struct hp_strings *texts)
{
    switch (cell->kind) {
    case HP_CELL_TEXT: key->text = hp_strings_add(texts, cell->text, strlen(cell->text)); break;
    case HP_CELL_UINT: key->number = (long double)cell->number; break;
    case HP_CELL_INT: key->number = (long double)cell->integer; break;
    case HP_CELL_SHARE: key->number = cell->share; break;
    case HP_CELL_BOOL: key->number = cell->flag; break;
    case HP_CELL_NONE: key->rank = 1; break;
    }
    return cell->kind == HP_CELL_TEXT && !key->text ? hp_fail_nomem() : HP_OK;
}

static enum hp_err sort(const struct hp_query *query, const struct hp_tables *tables,
                        const struct hp_view *view, struct columns *columns,
                        const struct hp_filter_columns *bound, struct hp_rows *rows)
{
    struct hp_strings texts HP_CLEANUP(hp_strings_fini) = {0};
    struct key *keys HP_CLEANUP(hp_free) = calloc(rows->n + 1, sizeof *keys);
    struct hp_row *old HP_CLEANUP(hp_free) = calloc(rows->n + 1, sizeof *old);
    size_t index;
    if (!keys || !old)
        return hp_fail_nomem();
    HP_TRY(hp_filter_column(bound, "--sort", sort_column(query->words), &index));
    for (size_t i = 0; i < rows->n; i++) {
        columns->in.row = &rows->rows[i];
        struct hp_cell cell = column_cell(columns, index);
        old[i] = rows->rows[i];
        keys[i] = (struct key){.place = i, .list = old[i].list};
        if (view->is_head && view->is_head(tables, &rows->rows[i]))
            keys[i].rank = -1;
        else
            HP_TRY(set_key(&keys[i], &cell, &texts));
    }
    sort_keys(query->words, keys, rows->n);
    for (size_t i = 0; i < rows->n; i++)
        rows->rows[i] = old[keys[i].place];
    rows->sorted = true;
    return HP_OK;
}

enum hp_err hp_query_apply(const struct hp_query *query, struct hp_tables *tables,
                           const struct hp_view *view, struct hp_rows *rows)
{
    struct columns columns HP_CLEANUP(columns_fini) = {0};
    struct hp_filter_columns bound = bind_columns(&columns, view->name, tables, view);
    if (view->prepare)
        HP_TRY(view->prepare(tables));
    HP_TRY(choose(query, tables, view, &columns, &bound, rows));
    if (query->words->sort)
        HP_TRY(sort(query, tables, view, &columns, &bound, rows));
    return columns.buffer.failed ? hp_fail_nomem() : HP_OK;
}

/* --- Rows that are no view's ------------------------------------------------------------------ */

/* Of the row at hand; "" where there is no such column. */
static const char *text_of(const struct hp_filter_columns *columns, const char *name)
{
    for (size_t i = 0; i < columns->n; i++)
        if (strcmp(columns->name(columns->context, i), name) == 0)
            return columns->cell(columns->context, i).text;
    return "";
}

static bool is_named(const struct hp_report_query *words, const struct hp_filter_columns *columns,
                     bool part)
{
    return (!words->function ||
            hp_name_is(text_of(columns, "name"), NULL, words->function, part)) &&
           (!words->module || strstr(text_of(columns, "module"), words->module));
}

enum hp_err hp_query_list(const struct hp_report_query *words,
                          const struct hp_filter_columns *columns,
                          void (*at)(void *context, size_t row), size_t n, size_t *chosen,
                          size_t *n_chosen)
{
    struct hp_filter filter HP_CLEANUP(hp_filter_fini) = {0};
    struct hp_strings texts HP_CLEANUP(hp_strings_fini) = {0};
    struct key *keys HP_CLEANUP(hp_free) = calloc(n + 1, sizeof *keys);
    bool part = true;
    size_t kept = 0, index = 0;
    if (!keys)
        return hp_fail_nomem();
    if (words->filter)
        HP_TRY(hp_filter_parse(&filter, words->filter));
    HP_TRY(hp_filter_bind(&filter, columns));
    if (words->sort)
        HP_TRY(hp_filter_column(columns, "--sort", sort_column(words), &index));
    for (size_t i = 0; words->function && i < n; i++) {
        at(columns->context, i);
        part &= !hp_name_is(text_of(columns, "name"), NULL, words->function, false);
    }
    for (size_t i = 0; i < n; i++) {
        bool passes;
        at(columns->context, i);
        HP_TRY(hp_filter_passes(&filter, columns, &passes));
        if (!passes || !is_named(words, columns, part))
            continue;
        struct hp_cell cell = words->sort ? columns->cell(columns->context, index) : hp_cell_none();
        keys[kept] = (struct key){.place = i};
        HP_TRY(set_key(&keys[kept++], &cell, &texts));
    }
    if (words->sort)
        sort_keys(words, keys, kept);
    for (size_t i = 0; i < kept; i++)
        chosen[i] = keys[i].place;
    *n_chosen = kept;
    return HP_OK;
}

void hp_print_query_out(const struct hp_report_query *words, size_t all, size_t chosen, FILE *out)
{
    struct hp_strbuf options HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_query_put_options(words, &options);
    if (chosen == 0 && options.length)
        fprintf(out, "  (nothing passes %s: %s row%s left out)\n", hp_strbuf_text(&options),
                HP_GROUPED(all), all == 1 ? "" : "s");
    else if (chosen < all)
        fprintf(out, "  (%s of %s rows left out by %s)\n", HP_GROUPED(all - chosen),
                HP_GROUPED(all), hp_strbuf_text(&options));
}
