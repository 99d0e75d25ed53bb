// SPDX-License-Identifier: MIT
#include "report/tables.h"

#include "base/base.h"
#include "text/number.h"

const char *hp_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

int hp_place_compare(struct hp_place a, struct hp_place b)
{
    return HP_COMPARE(a.module, b.module) ?: HP_COMPARE(a.offset, b.offset);
}

void hp_tables_place(const struct hp_tables *tables, struct hp_place place, struct hp_strbuf *text)
{
    if (place.module == HP_PROFILE_NONE || hp_place_is_inlined(place))
        return;
    hp_strbuf_add(text, tables->modules[place.module]);
    hp_strbuf_add(text, "+");
    hp_strbuf_hex(text, place.offset);
}

/* --- Names ------------------------------------------------------------------------------------ */

static int compare_base(const void *a, const void *b, void *context)
{
    const struct hp_pmodule *modules = context;
    const char *path_a = hp_text(modules[*(const uint32_t *)a].path);
    const char *path_b = hp_text(modules[*(const uint32_t *)b].path);
    return strcmp(hp_base_name(path_a), hp_base_name(path_b)) ?: strcmp(path_a, path_b);
}

/* A module's base name; the path where two share that, with the build id where they share even the
 * path (a file that was rebuilt between merged runs). `order` has those that share side by side. */
static const char *name_module(struct hp_tables *tables, const uint32_t *order, size_t i)
{
    const struct hp_pmodule *modules = tables->profile->modules;
    const char *path = hp_text(modules[order[i]].path);
    const char *build_id = hp_text(modules[order[i]].build_id);
    bool same_base = false, same_path = false;
    for (size_t j = i ? i - 1 : i + 1; j <= i + 1 && j < tables->profile->n_modules; j += 2) {
        const char *other = hp_text(modules[order[j]].path);
        same_base |= strcmp(hp_base_name(path), hp_base_name(other)) == 0;
        same_path |= strcmp(path, other) == 0;
    }
    if (same_path && *build_id)
        return hp_strings_format(&tables->names, "%s@%s", path, build_id);
    return same_base ? path : hp_base_name(path);
}

static enum hp_err name_modules(struct hp_tables *tables)
{
    const struct hp_profile *p = tables->profile;
    uint32_t *order HP_CLEANUP(hp_free) = calloc(p->n_modules + 1, sizeof *order);
    tables->modules = calloc(p->n_modules + 1, sizeof *tables->modules);
    if (!order || !tables->modules)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < p->n_modules; i++)
        order[i] = i;
    qsort_r(order, p->n_modules, sizeof *order, compare_base, p->modules);
    for (size_t i = 0; i < p->n_modules; i++) {
        tables->modules[order[i]] = name_module(tables, order, i);
        if (!tables->modules[order[i]])
            return hp_fail_nomem();
    }
    return HP_OK;
}

static enum hp_err name_functions(struct hp_tables *tables)
{
    const struct hp_profile *p = tables->profile;
    HP_TRY(hp_new(&tables->functions, p->n_functions + 1, sizeof *tables->functions));
    for (size_t i = 0; i < p->n_functions; i++) {
        const struct hp_pfunction *function = &p->functions[i];
        struct hp_place place = function->place;
        const char *name = hp_text(function->name);
        if (!*name)
            name = hp_text(function->linkage);
        if (!*name && place.module != HP_PROFILE_NONE)
            name = hp_strings_format(&tables->names, "%s+0x%" PRIx64, tables->modules[place.module],
                                     place.offset);
        if (!name)
            return hp_fail_nomem();
        tables->functions[i] = name;
    }
    return HP_OK;
}

uint32_t hp_tables_function_at(const struct hp_tables *tables, struct hp_place place)
{
    const struct hp_pfunction *functions = tables->profile->functions;
    size_t behind = HP_BISECT(i, 0, tables->profile->n_functions,
                              hp_place_compare(functions[i].place, place) <= 0);
    if (behind == 0 || place.module == HP_PROFILE_NONE)
        return HP_PROFILE_NONE;
    const struct hp_pfunction *function = &functions[behind - 1];
    bool reaches = function->size == 0 || place.offset - function->place.offset < function->size;
    return function->place.module == place.module && reaches ? (uint32_t)behind - 1
                                                             : HP_PROFILE_NONE;
}

/* --- Blocks ----------------------------------------------------------------------------------- */

static enum hp_err find_block_lines(struct hp_tables *tables)
{
    const struct hp_profile *p = tables->profile;
    tables->block_lines = malloc((p->n_blocks + 1) * sizeof *tables->block_lines);
    if (!tables->block_lines)
        return hp_fail_nomem();
    for (size_t i = 0; i < p->n_blocks; i++)
        tables->block_lines[i] = HP_PROFILE_NONE;
    for (uint32_t i = (uint32_t)p->n_lines; i-- > 0;) /* which are in order */
        if (*hp_text(p->lines[i].file))
            tables->block_lines[p->lines[i].block] = i;
    return HP_OK;
}

const struct hp_pline *hp_tables_block_line(const struct hp_tables *tables, uint32_t block)
{
    uint32_t line = tables->block_lines[block];
    return line == HP_PROFILE_NONE ? NULL : &tables->profile->lines[line];
}

enum hp_err hp_tables_count_blocks(struct hp_tables *tables)
{
    const struct hp_profile *p = tables->profile;
    if (tables->block_counts)
        return HP_OK;
    HP_TRY(hp_new(&tables->block_counts, p->n_blocks + 1, sizeof *tables->block_counts));
    for (size_t i = 0; i < p->n_block_counts; i++)
        hp_add_up(&tables->block_counts[p->block_counts[i].item], p->block_counts[i].count);
    for (size_t i = 0; i < p->n_blocks; i++)
        tables->executed += tables->block_counts[i] ? p->blocks[i].insns : 0;
    return HP_OK;
}

/* --- What belongs to an item ------------------------------------------------------------------ */

static uint32_t owner_of(const char *item)
{
    uint32_t owner;
    memcpy(&owner, item, sizeof owner);
    return owner;
}

const void *hp_items_of(const void *items, size_t n_items, size_t size, uint32_t owner, size_t *n)
{
    const char *all = items;
    size_t low = HP_BISECT(i, 0, n_items, owner_of(all + i * size) < owner);
    for (*n = 0; low + *n < n_items && owner_of(all + (low + *n) * size) == owner;)
        ++*n;
    return *n ? all + low * size : NULL;
}

const void *hp_items(const struct hp_profile *p, enum hp_row_kind kind, uint32_t owner, size_t *n)
{
    size_t all = *n = hp_profile_n_rows(p, kind);
    if (all == 0)
        return NULL;
    return hp_items_of(hp_profile_row(p, kind, 0), all, hp_row_formats[kind].size, owner, n);
}

const struct hp_pline *hp_line_at(const struct hp_profile *p, uint32_t block, uint32_t offset)
{
    size_t low = HP_BISECT(i, 0, p->n_lines, /* sorted by block, then start */
                           p->lines[i].block < block ||
                               (p->lines[i].block == block && p->lines[i].from <= offset));
    if (low == 0 || p->lines[low - 1].block != block || p->lines[low - 1].to <= offset)
        return NULL;
    return &p->lines[low - 1];
}

/* --- The summary ------------------------------------------------------------------------------ */

/* How many items have counters, which are sorted by it and none of which is 0. */
static uint64_t count_items(const struct hp_profile *p, enum hp_row_kind counters)
{
    const uint32_t *last = NULL;
    uint64_t n = 0;
    for (size_t i = 0; i < hp_profile_n_rows(p, counters); i++) {
        const uint32_t *item = hp_profile_row(p, counters, i);
        n += !last || *last != *item;
        last = item;
    }
    return n;
}

void hp_put_contexts_beyond(const struct hp_summary *summary, struct hp_strbuf *text)
{
    if (summary->beyond)
        hp_strbuf_format(text,
                         "%s of the run is in contexts beyond the limit, counted in the nearest "
                         "one kept (recording with --contexts N keeps more)",
                         HP_PERCENT(hp_number_share(summary->beyond, summary->instructions)));
}

/* Those that were asked for: others come with the samples of a machine. */
static uint64_t count_paths(const struct hp_tables *tables)
{
    const struct hp_profile *p = tables->profile;
    uint64_t n = 0;
    for (size_t i = 0; i < tables->n_kinds; i++) {
        bool sampled = false;
        for (size_t k = 0; k < p->n_samplers; k++)
            sampled |= strcmp(tables->kinds[i].name, hp_text(p->samplers[k].name)) == 0;
        n += sampled ? 0 : tables->kinds[i].distinct;
    }
    return n;
}

static enum hp_err summarize(struct hp_tables *tables)
{
    const struct hp_profile *p = tables->profile;
    struct hp_summary *summary = &tables->summary;
    for (size_t i = 0; i < p->n_threads; i++) {
        hp_add_up(&summary->instructions, p->threads[i].instructions);
        hp_add_up(&summary->branches, p->threads[i].branches);
        hp_add_up(&summary->block_executions, p->threads[i].blocks);
    }
    summary->threads = p->n_threads;
    summary->functions = count_items(p, HP_ROW_FUNCTION_COUNT);
    summary->blocks = count_items(p, HP_ROW_BLOCK_COUNT);
    summary->edges = count_items(p, HP_ROW_EDGE_COUNT);
    summary->paths = count_paths(tables);
    summary->hotspots = p->n_hotspots;
    for (size_t i = 0; i < p->n_context_rests; i++)
        hp_add_up(&summary->beyond, p->context_rests[i].instructions);
    for (size_t i = 0; i < p->n_loops; i++)
        summary->loops += tables->loops.info[i].total.executions != 0;
    bool *seen HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new(&seen, p->n_modules + 1, sizeof *seen));
    for (size_t i = 0; i < p->n_block_counts; i++) {
        uint32_t module = p->blocks[p->block_counts[i].item].place.module;
        if (module != HP_PROFILE_NONE && !seen[module])
            summary->modules++;
        seen[module == HP_PROFILE_NONE ? p->n_modules : module] = true;
    }
    return HP_OK;
}

/* --- Paths ------------------------------------------------------------------------------------ */

/* What the events of a kind are: it is part of its name. */
static enum hp_metric metric_of(const char *kind)
{
    static const char key[] = "metric=";
    const char *at = strstr(kind, key);
    char name[32] = "";
    enum hp_metric metric = HP_METRIC_EXECUTIONS;
    if (!at)
        return metric;
    size_t length = strcspn(at + strlen(key), ",");
    if (length < sizeof name)
        memcpy(name, at + strlen(key), length);
    return hp_metric_parse(name, &metric) == HP_OK ? metric : HP_METRIC_EXECUTIONS;
}

static bool same_kind(const struct hp_profile *p, size_t a, size_t b)
{
    return p->paths[a].kind == p->paths[b].kind ||
           strcmp(hp_text(p->paths[a].kind), hp_text(p->paths[b].kind)) == 0;
}

static struct hp_path_kind *find_kind(const struct hp_tables *tables, uint32_t path)
{
    size_t behind = HP_BISECT(i, 0, tables->n_kinds, tables->kinds[i].first <= path);
    return &tables->kinds[behind - 1];
}

const struct hp_path_kind *hp_tables_kind(const struct hp_tables *tables, uint32_t path)
{
    return find_kind(tables, path);
}

/* The kinds, of paths that are sorted by it, and what each amounts to. */
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
    struct hp_path_kind *kind = tables->kinds;
    for (size_t i = 0; i < p->n_path_counts; i++) { /* by path, and so by kind */
        const struct hp_ppath_count *count = &p->path_counts[i];
        while (count->item >= kind->first + kind->n)
            kind++;
        hp_add_up(&kind->count, count->count);
        hp_add_up(&kind->insns, count->insns);
        hp_add_up(&kind->events, count->events);
        kind->distinct += i == 0 || count[-1].item != count->item;
    }
    for (size_t i = 0; i < p->n_path_times; i++)
        hp_add_up(&find_kind(tables, p->path_times[i].path)->timed, p->path_times[i].insns);
    for (size_t i = 0; i < p->n_path_cycles; i++)
        hp_add_up(&find_kind(tables, p->path_cycles[i].path)->parts, p->path_cycles[i].parts);
    return HP_OK;
}

/* --- All of it -------------------------------------------------------------------------------- */

static enum hp_err init(struct hp_tables *tables)
{
    const struct hp_profile *p = tables->profile;
    tables->inclusive_known = true;
    for (size_t i = 0; i < p->n_notes; i++)
        tables->inclusive_known &= strcmp(hp_text(p->notes[i].kind), "counted") != 0;
    HP_TRY(name_modules(tables));
    HP_TRY(name_functions(tables));
    HP_TRY(find_block_lines(tables));
    HP_TRY(find_kinds(tables));
    HP_TRY(hp_loops_init(&tables->loops, p));
    hp_insns_init(&tables->insns, p);
    return summarize(tables);
}

enum hp_err hp_tables_init(struct hp_tables *tables, const struct hp_profile *profile)
{
    *tables = (struct hp_tables){.profile = profile};
    HP_TRY(hp_profile_check_references(profile));
    enum hp_err err = init(tables);
    if (err != HP_OK)
        hp_tables_fini(tables);
    return err;
}

void hp_tables_fini(struct hp_tables *tables)
{
    hp_strings_fini(&tables->names);
    free(tables->modules);
    free(tables->functions);
    free(tables->block_lines);
    free(tables->lines);
    free(tables->kinds);
    free(tables->block_counts);
    free(tables->partition);
    free(tables->cpi);
    free(tables->ways);
    free(tables->callers);
    free(tables->differences);
    hp_loops_fini(&tables->loops);
    *tables = (struct hp_tables){0};
}
