// SPDX-License-Identifier: MIT
#include "report/tables.h"

#include "base/bisect.h"
#include "base/grow.h"
#include "report/items.h"
#include "text/number.h"

#include <stdlib.h>
#include <string.h>

const char *hp_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

int hp_place_compare(struct hp_place a, struct hp_place b)
{
    if (a.module != b.module)
        return a.module < b.module ? -1 : 1;
    return a.offset < b.offset ? -1 : a.offset > b.offset;
}

void hp_tables_place(const struct hp_tables *tables, struct hp_place place, struct hp_strbuf *text)
{
    if (place.module == HP_PROFILE_NONE)
        return;
    hp_strbuf_add(text, tables->modules[place.module]);
    hp_strbuf_add(text, "+");
    hp_strbuf_hex(text, place.offset);
}

/* Keeps what `text` has been filled with; it is empty and reusable afterwards. */
static enum hp_err own(struct hp_tables *tables, struct hp_strbuf *text, const char **name)
{
    char *copy = text->failed ? NULL : strdup(hp_strbuf_text(text));
    if (!copy)
        return hp_fail_nomem();
    if (hp_grow(&tables->owned, &tables->owned_capacity, tables->n_owned + 1,
                sizeof *tables->owned) != HP_OK) {
        free(copy);
        return HP_ERR_NOMEM;
    }
    tables->owned[tables->n_owned++] = copy;
    *name = copy;
    hp_strbuf_clear(text);
    return HP_OK;
}

/* --- Module names ----------------------------------------------------------------------------- */

/* The base name; the path where two share that, with the build id where they share even the path
 * (a file that was rebuilt between merged runs). */

static int compare_base(const void *a, const void *b, void *context)
{
    const struct hp_pmodule *modules = context;
    const char *path_a = hp_text(modules[*(const uint32_t *)a].path);
    const char *path_b = hp_text(modules[*(const uint32_t *)b].path);
    int order = strcmp(hp_base_name(path_a), hp_base_name(path_b));
    return order ? order : strcmp(path_a, path_b);
}

static enum hp_err name_module(struct hp_tables *tables, const uint32_t *order, size_t i,
                               struct hp_strbuf *text)
{
    const struct hp_pmodule *modules = tables->profile->modules;
    const char *path = hp_text(modules[order[i]].path);
    bool same_base = false, same_path = false;
    for (int step = -1; step <= 1; step += 2) {
        size_t j = i + (size_t)(ptrdiff_t)step;
        if (j >= tables->profile->n_modules) /* -1 wraps around to a large number */
            continue;
        const char *other = hp_text(modules[order[j]].path);
        same_base |= strcmp(hp_base_name(path), hp_base_name(other)) == 0;
        same_path |= strcmp(path, other) == 0;
    }
    tables->modules[order[i]] = same_base ? path : hp_base_name(path);
    const char *build_id = hp_text(modules[order[i]].build_id);
    if (!same_path || !*build_id)
        return HP_OK;
    hp_strbuf_add(text, path);
    hp_strbuf_add(text, "@");
    hp_strbuf_add(text, build_id);
    return own(tables, text, &tables->modules[order[i]]);
}

static enum hp_err name_modules(struct hp_tables *tables, struct hp_strbuf *text)
{
    const struct hp_profile *profile = tables->profile;
    uint32_t *order = calloc(profile->n_modules + 1, sizeof *order);
    tables->modules = calloc(profile->n_modules + 1, sizeof *tables->modules);
    enum hp_err err = order && tables->modules ? HP_OK : hp_fail_nomem();
    if (err == HP_OK) {
        for (uint32_t i = 0; i < profile->n_modules; i++)
            order[i] = i;
        qsort_r(order, profile->n_modules, sizeof *order, compare_base, profile->modules);
        for (size_t i = 0; err == HP_OK && i < profile->n_modules; i++)
            err = name_module(tables, order, i, text);
    }
    free(order);
    return err;
}

/* --- Functions -------------------------------------------------------------------------------- */

static enum hp_err name_functions(struct hp_tables *tables, struct hp_strbuf *text)
{
    const struct hp_profile *profile = tables->profile;
    tables->functions = calloc(profile->n_functions + 1, sizeof *tables->functions);
    if (!tables->functions)
        return hp_fail_nomem();
    for (size_t i = 0; i < profile->n_functions; i++) {
        const struct hp_pfunction *function = &profile->functions[i];
        const char *name = hp_text(function->name);
        if (!*name)
            name = hp_text(function->linkage);
        if (!*name) {
            hp_tables_place(tables, function->place, text);
            HP_TRY(own(tables, text, &name));
        }
        tables->functions[i] = name;
    }
    return HP_OK;
}

static int compare_functions(const void *a, const void *b, void *context)
{
    const struct hp_pfunction *functions = context;
    uint32_t index_a = *(const uint32_t *)a, index_b = *(const uint32_t *)b;
    int order = hp_place_compare(functions[index_a].place, functions[index_b].place);
    return order ? order : index_a < index_b ? -1 : index_a > index_b;
}

static enum hp_err order_functions(struct hp_tables *tables)
{
    const struct hp_profile *profile = tables->profile;
    tables->by_place = calloc(profile->n_functions + 1, sizeof *tables->by_place);
    if (!tables->by_place)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < profile->n_functions; i++)
        tables->by_place[i] = i;
    qsort_r(tables->by_place, profile->n_functions, sizeof *tables->by_place, compare_functions,
            profile->functions);
    return HP_OK;
}

uint32_t hp_tables_function_at(const struct hp_tables *tables, struct hp_place place)
{
    const struct hp_pfunction *functions = tables->profile->functions;
    /* finds the first function behind the place */
    size_t low = HP_BISECT(i, 0, tables->profile->n_functions,
                           hp_place_compare(functions[tables->by_place[i]].place, place) <= 0);
    if (low == 0 || place.module == HP_PROFILE_NONE)
        return HP_PROFILE_NONE;
    const struct hp_pfunction *function = &functions[tables->by_place[low - 1]];
    if (function->place.module != place.module ||
        (function->size != 0 && place.offset - function->place.offset >= function->size))
        return HP_PROFILE_NONE;
    return tables->by_place[low - 1];
}

/* --- Blocks ----------------------------------------------------------------------------------- */

static enum hp_err find_block_lines(struct hp_tables *tables)
{
    const struct hp_profile *profile = tables->profile;
    tables->block_lines = malloc((profile->n_blocks + 1) * sizeof *tables->block_lines);
    if (!tables->block_lines)
        return hp_fail_nomem();
    for (size_t i = 0; i < profile->n_blocks; i++)
        tables->block_lines[i] = HP_PROFILE_NONE;
    for (uint32_t i = 0; i < profile->n_lines; i++) {
        const struct hp_pline *line = &profile->lines[i];
        uint32_t *first = &tables->block_lines[line->block];
        if (*hp_text(line->file) &&
            (*first == HP_PROFILE_NONE || line->from < profile->lines[*first].from))
            *first = i;
    }
    return HP_OK;
}

const struct hp_pline *hp_tables_block_line(const struct hp_tables *tables, uint32_t block)
{
    uint32_t line = tables->block_lines[block];
    return line == HP_PROFILE_NONE ? NULL : &tables->profile->lines[line];
}

/* --- The summary ------------------------------------------------------------------------------ */

static uint64_t count_set(const bool *set, size_t n)
{
    uint64_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += set[i];
    return count;
}

/* Which elements were executed is marked in `seen`, used for one kind after the other. */
static void count_distinct(const struct hp_profile *p, bool *seen, size_t size,
                           struct hp_summary *summary)
{
    for (size_t i = 0; i < p->n_function_counts; i++) {
        const struct hp_pfunction_count *count = &p->function_counts[i];
        seen[count->item] |= count->self || count->inclusive || count->calls;
    }
    summary->functions = count_set(seen, p->n_functions);
    memset(seen, 0, size);
    for (size_t i = 0; i < p->n_edge_counts; i++)
        seen[p->edge_counts[i].item] |= p->edge_counts[i].count != 0;
    summary->edges = count_set(seen, p->n_edges);
    memset(seen, 0, size);
    for (size_t i = 0; i < p->n_block_counts; i++)
        seen[p->block_counts[i].item] |= p->block_counts[i].count != 0;
    summary->blocks = count_set(seen, p->n_blocks);
    memset(seen, 0, size);
    for (size_t i = 0; i < p->n_block_counts; i++) {
        uint32_t module = p->blocks[p->block_counts[i].item].place.module;
        if (p->block_counts[i].count != 0 && module != HP_PROFILE_NONE)
            seen[module] = true;
    }
    summary->modules = count_set(seen, p->n_modules);
}

static enum hp_err summarize(struct hp_tables *tables)
{
    const struct hp_profile *p = tables->profile;
    struct hp_summary *summary = &tables->summary;
    summary->threads = p->n_threads;
    for (size_t i = 0; i < p->n_threads; i++) {
        const struct hp_pthread *thread = &p->threads[i];
        summary->instructions = hp_saturating_add(summary->instructions, thread->instructions);
        summary->branches = hp_saturating_add(summary->branches, thread->branches);
        summary->block_executions = hp_saturating_add(summary->block_executions, thread->blocks);
    }
    size_t size = p->n_functions + p->n_edges + p->n_blocks + p->n_modules + 1;
    bool *seen = calloc(size, sizeof *seen);
    if (!seen)
        return hp_fail_nomem();
    count_distinct(p, seen, size, summary);
    free(seen);
    return HP_OK;
}

/* --- Paths ------------------------------------------------------------------------------------ */

/* What the events of a kind are: it is part of its name. */
static enum hp_metric metric_of(const char *kind)
{
    const char *at = strstr(kind, "metric=");
    char name[32] = "";
    enum hp_metric metric = HP_METRIC_EXECUTIONS;
    if (!at)
        return metric;
    at += strlen("metric=");
    size_t length = strcspn(at, ",");
    if (length < sizeof name)
        memcpy(name, at, length);
    return hp_metric_parse(name, &metric) == HP_OK ? metric : HP_METRIC_EXECUTIONS;
}

static bool same_kind(const struct hp_profile *p, size_t a, size_t b)
{
    return p->paths[a].kind == p->paths[b].kind ||
           strcmp(hp_text(p->paths[a].kind), hp_text(p->paths[b].kind)) == 0;
}

/* The kinds, of paths that are sorted by it. */
static enum hp_err find_kinds(struct hp_tables *tables)
{
    const struct hp_profile *p = tables->profile;
    size_t capacity = 0;
    for (size_t i = 0; i < p->n_paths; i++) {
        if (i == 0 || !same_kind(p, i - 1, i)) {
            HP_TRY(hp_grow(&tables->kinds, &capacity, tables->n_kinds + 1, sizeof *tables->kinds));
            struct hp_path_kind *kind = &tables->kinds[tables->n_kinds++];
            *kind = (struct hp_path_kind){.name = hp_text(p->paths[i].kind), .first = (uint32_t)i};
            kind->metric = metric_of(kind->name);
            kind->by_events = hp_metric_needs_machine(kind->metric);
        }
        tables->kinds[tables->n_kinds - 1].n++;
    }
    return HP_OK;
}

const struct hp_path_kind *hp_tables_kind(const struct hp_tables *tables, uint32_t path)
{
    size_t behind = HP_BISECT(i, 0, tables->n_kinds, tables->kinds[i].first <= path);
    return &tables->kinds[behind - 1];
}

/* What each kind amounts to. */
static enum hp_err sum_kinds(struct hp_tables *tables)
{
    const struct hp_profile *p = tables->profile;
    bool *seen = calloc(p->n_paths + 1, sizeof *seen);
    if (!seen)
        return hp_fail_nomem();
    for (size_t i = 0; i < p->n_path_counts; i++) {
        const struct hp_ppath_count *count = &p->path_counts[i];
        const struct hp_path_kind *found = hp_tables_kind(tables, count->item);
        struct hp_path_kind *kind = &tables->kinds[found - tables->kinds];
        kind->count = hp_saturating_add(kind->count, count->count);
        kind->insns = hp_saturating_add(kind->insns, count->insns);
        kind->events = hp_saturating_add(kind->events, count->events);
        kind->distinct += !seen[count->item];
        tables->summary.paths += !seen[count->item];
        seen[count->item] = true;
    }
    free(seen);
    return HP_OK;
}

const struct hp_pstep *hp_tables_steps(const struct hp_tables *tables, uint32_t path, size_t *n)
{
    const struct hp_profile *p = tables->profile;
    return hp_items_of(p->path_steps, p->n_path_steps, sizeof *p->path_steps, path, n);
}

static bool has_note(const struct hp_profile *profile, const char *kind)
{
    for (size_t i = 0; i < profile->n_notes; i++)
        if (strcmp(hp_text(profile->notes[i].kind), kind) == 0)
            return true;
    return false;
}

static enum hp_err init(struct hp_tables *tables, struct hp_strbuf *text)
{
    tables->inclusive_known = !has_note(tables->profile, "counted");
    HP_TRY(name_modules(tables, text));
    HP_TRY(name_functions(tables, text));
    HP_TRY(order_functions(tables));
    HP_TRY(find_block_lines(tables));
    HP_TRY(summarize(tables));
    HP_TRY(find_kinds(tables));
    HP_TRY(sum_kinds(tables));
    HP_TRY(hp_loops_init(&tables->loops, tables->profile));
    for (size_t i = 0; i < tables->profile->n_loops; i++)
        tables->summary.loops += tables->loops.info[i].total.executions != 0;
    tables->summary.hotspots = tables->profile->n_hotspots;
    hp_insns_init(&tables->insns, tables->profile);
    return HP_OK;
}

enum hp_err hp_tables_init(struct hp_tables *tables, const struct hp_profile *profile)
{
    *tables = (struct hp_tables){.profile = profile};
    HP_TRY(hp_profile_check_references(profile));
    struct hp_strbuf text = {0};
    enum hp_err err = init(tables, &text);
    hp_strbuf_fini(&text);
    if (err != HP_OK)
        hp_tables_fini(tables);
    return err;
}

enum hp_err hp_tables_count_blocks(struct hp_tables *tables)
{
    const struct hp_profile *p = tables->profile;
    if (tables->block_counts)
        return HP_OK;
    tables->block_counts = calloc(p->n_blocks + 1, sizeof *tables->block_counts);
    tables->block_marks = calloc(p->n_blocks + 1, sizeof *tables->block_marks);
    if (!tables->block_counts || !tables->block_marks)
        return hp_fail_nomem();
    for (size_t i = 0; i < p->n_block_counts; i++) {
        uint64_t *count = &tables->block_counts[p->block_counts[i].item];
        *count = hp_saturating_add(*count, p->block_counts[i].count);
    }
    for (size_t i = 0; i < p->n_blocks; i++)
        tables->executed += tables->block_counts[i] ? p->blocks[i].insns : 0;
    return HP_OK;
}

void hp_tables_fini(struct hp_tables *tables)
{
    for (size_t i = 0; i < tables->n_owned; i++)
        free(tables->owned[i]);
    free(tables->owned);
    free(tables->modules);
    free(tables->functions);
    free(tables->by_place);
    free(tables->block_lines);
    free(tables->lines);
    free(tables->kinds);
    free(tables->block_counts);
    free(tables->block_marks);
    free(tables->partition);
    free(tables->cpi);
    free(tables->ways);
    hp_loops_fini(&tables->loops);
    *tables = (struct hp_tables){0};
}
