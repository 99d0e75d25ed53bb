// SPDX-License-Identifier: MIT
#include "import/spaces.h"

#include "base/base.h"
#include "base/map64.h"
#include "import/vdso.h"
#include "symbols/symbols.h"

#include <unistd.h>

#define MAX_PARENTS 64
#define MAX_STEPS   4096 /* mappings around an address that are looked at */

enum hp_err hp_spaces_new(const char *const *given, size_t n_given,
                          struct hp_import_spaces **spaces)
{
    struct hp_import_spaces *s;
    HP_TRY(hp_new(&s, 1, sizeof *s));
    *s = (struct hp_import_spaces){.given = given, .n_given = n_given};
    *spaces = s;
    return HP_OK;
}

void hp_spaces_free(struct hp_import_spaces *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_processes; i++) {
        free(s->processes[i].mappings);
        free(s->processes[i].changes);
        free(s->processes[i].execs);
        free(s->processes[i].order);
    }
    for (size_t i = 0; i < s->n_files; i++) {
        free(s->files[i].path);
        free(s->files[i].found);
        free(s->files[i].build_id);
        free(s->files[i].recorded);
        hp_module_code_close(s->files[i].code);
    }
    hp_map64_fini(&s->process_of);
    hp_map64_fini(&s->file_of);
    free(s->processes);
    free(s->files);
    free(s->views);
    free(s);
}

/* --- Files ------------------------------------------------------------------------------------ */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static uint64_t hash_texts(const char *a, const char *b)
{
    uint64_t hash = 0;
    for (; *a; a++)
        hash = hp_hash64(hash + (unsigned char)*a);
    for (; *b; b++)
        hash = hp_hash64(hash ^ (unsigned char)*b);
    return hash;
}

static enum hp_err file_of(struct hp_import_spaces *s, const char *path, const char *build_id,
                           uint32_t *index)
{
    uint64_t key = hash_texts(path, build_id);
    for (; (*index = hp_map64_get(&s->file_of, key)) != HP_MAP64_NONE; key++)
        if (strcmp(s->files[*index].path, path) == 0 &&
            strcmp(s->files[*index].recorded, build_id) == 0)
            return HP_OK;
    HP_TRY(hp_grow(&s->files, &s->cap_files, s->n_files + 1, sizeof *s->files));
    struct hp_import_file file = {
        .path = strdup(path), .recorded = strdup(build_id), .build_id = strdup(build_id)};
    *index = (uint32_t)s->n_files;
    s->files[s->n_files++] = file;
    if (!file.path || !file.recorded || !file.build_id)
        return hp_fail_nomem();
    return hp_map64_put(&s->file_of, key, *index);
}

/* What has no path is in no file: "[heap]", "//anon". */
static bool is_file(const char *path)
{
    return path[0] && path[0] != '[' && strncmp(path, "//", 2) != 0;
}

/* perf does not always say how long a build id is: zeroes at its end may be missing. */
static bool same_build_id(const char *recorded, const char *actual)
{
    size_t n = strlen(recorded);
    return strncmp(recorded, actual, n) == 0 && actual[n + strspn(actual + n, "0")] == '\0';
}

HP_CLEANUP_POINTER(close_symbols, struct hp_symbols, hp_symbols_close)

static bool has_build_id(const char *path, const char *build_id)
{
    struct hp_symbols *symbols HP_CLEANUP(close_symbols) = NULL;
    return hp_symbols_open(path, "", &symbols) == HP_OK &&
           same_build_id(build_id, hp_symbols_build_id(symbols));
}

/* Where a recorded file is now: one that was given with its build id or its name, or where it was.
 */
static const char *find_file(const struct hp_import_spaces *s, const struct hp_import_file *file)
{
    for (size_t i = 0; i < s->n_given; i++)
        if (file->build_id[0] && has_build_id(s->given[i], file->build_id))
            return s->given[i];
    for (size_t i = 0; i < s->n_given; i++)
        if (strcmp(base_name(s->given[i]), base_name(file->path)) == 0)
            return s->given[i];
    return file->path;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* Opens the file, if it is the one that ran. The build id becomes the whole one. */
static enum hp_err check_file(const struct hp_import_spaces *s, struct hp_import_file *file)
{
    struct hp_symbols *symbols HP_CLEANUP(close_symbols) = NULL;
    char *vdso HP_CLEANUP(hp_free) = NULL;
    int fd HP_CLEANUP(close_fd) = -1;
    file->found = strdup(find_file(s, file));
    if (!file->found)
        return hp_fail_nomem();
    if (hp_is_vdso(file->found))
        HP_TRY(hp_vdso_find(file->build_id, &vdso, &fd));
    const char *where = vdso ? vdso : file->found;
    HP_TRY(hp_symbols_open(where, "", &symbols));
    const char *actual = hp_symbols_build_id(symbols);
    if (file->build_id[0] && !same_build_id(file->build_id, actual))
        return hp_fail(HP_ERR_NOTFOUND, "%s has another build id than the file that ran",
                       file->found);
    HP_TRY(hp_module_code_open(where, NULL, 0, &file->code));
    file->verified = file->build_id[0];
    char *build_id = strdup(actual);
    if (!build_id)
        return hp_fail_nomem();
    free(file->build_id);
    file->build_id = build_id;
    return HP_OK;
}

static const struct hp_module_code *open_file(const struct hp_import_spaces *s,
                                              struct hp_import_file *file)
{
    if (file->tried || (!is_file(file->path) && !hp_is_vdso(file->path)))
        return file->code;
    file->tried = true;
    if (check_file(s, file) != HP_OK)
        snprintf(file->problem, sizeof file->problem, "%s", hp_error_text());
    hp_perf_one_line(file->problem);
    return file->code;
}

/* --- Processes -------------------------------------------------------------------------------- */

static enum hp_err process_of(struct hp_import_spaces *s, int32_t pid, uint32_t *index)
{
    *index = hp_map64_get(&s->process_of, (uint32_t)pid);
    if (*index != HP_MAP64_NONE)
        return HP_OK;
    *index = (uint32_t)s->n_processes;
    HP_TRY(hp_grow(&s->processes, &s->cap_processes, s->n_processes + 1, sizeof *s->processes));
    HP_TRY(hp_map64_put(&s->process_of, (uint32_t)pid, *index));
    s->processes[s->n_processes++] = (struct hp_import_process){.pid = pid, .parent = HP_NO_ID};
    return HP_OK;
}

static enum hp_err add_time(uint64_t **times, size_t *n, size_t *capacity, uint64_t time)
{
    HP_TRY(hp_grow(times, capacity, *n + 1, sizeof **times));
    (*times)[(*n)++] = time;
    return HP_OK;
}

enum hp_err hp_spaces_map(struct hp_import_spaces *s, int32_t pid,
                          const struct hp_import_mapping *mapping, const char *path,
                          const char *build_id)
{
    struct hp_import_mapping added = *mapping;
    uint32_t index;
    HP_TRY(process_of(s, pid, &index));
    HP_TRY(file_of(s, path, build_id, &added.file));
    struct hp_import_process *p = &s->processes[index];
    added.module = HP_NO_ID;
    added.asked = false;
    if (added.end <= added.start)
        return HP_OK;
    HP_TRY(hp_grow(&p->mappings, &p->cap_mappings, p->n_mappings + 1, sizeof *p->mappings));
    p->mappings[p->n_mappings++] = added;
    return HP_OK;
}

enum hp_err hp_spaces_fork(struct hp_import_spaces *s, int32_t pid, int32_t parent, uint64_t time)
{
    uint32_t index, of_parent;
    if (pid == parent)
        return HP_OK;
    HP_TRY(process_of(s, parent, &of_parent));
    HP_TRY(process_of(s, pid, &index));
    struct hp_import_process *p = &s->processes[index];
    if (p->n_mappings || p->parent != HP_NO_ID) { /* the number is used again */
        HP_TRY(add_time(&p->execs, &p->n_execs, &p->cap_execs, time));
        HP_TRY(add_time(&p->changes, &p->n_changes, &p->cap_changes, time));
    }
    p->parent = of_parent;
    p->forked = time;
    return HP_OK;
}

enum hp_err hp_spaces_exec(struct hp_import_spaces *s, int32_t pid, uint64_t time)
{
    uint32_t index;
    HP_TRY(process_of(s, pid, &index));
    struct hp_import_process *p = &s->processes[index];
    HP_TRY(add_time(&p->changes, &p->n_changes, &p->cap_changes, time));
    return add_time(&p->execs, &p->n_execs, &p->cap_execs, time);
}

/* --- Mappings by address ---------------------------------------------------------------------- */

static int by_start(const void *a, const void *b, void *process)
{
    const struct hp_import_process *p = process;
    const struct hp_import_mapping *x = &p->mappings[((const struct hp_import_order *)a)->mapping];
    const struct hp_import_mapping *y = &p->mappings[((const struct hp_import_order *)b)->mapping];
    return HP_COMPARE(x->start, y->start) ?: HP_COMPARE(x - p->mappings, y - p->mappings);
}

static enum hp_err order_mappings(struct hp_import_process *p)
{
    uint64_t end = 0;
    HP_TRY(hp_new(&p->order, p->n_mappings, sizeof *p->order));
    for (uint32_t i = 0; i < p->n_mappings; i++)
        p->order[i].mapping = i;
    if (p->n_mappings)
        qsort_r(p->order, p->n_mappings, sizeof *p->order, by_start, p);
    for (size_t i = 0; i < p->n_mappings; i++) {
        const struct hp_import_mapping *m = &p->mappings[p->order[i].mapping];
        end = m->end > end ? m->end : end;
        p->order[i].end = end;
    }
    return HP_OK;
}

/* The latest mapping of a process at an address from one time to another; NULL: none. */
static struct hp_import_mapping *find_own(struct hp_import_process *p, uint64_t since,
                                          uint64_t until, uint64_t address)
{
    struct hp_import_mapping *found = NULL;
    size_t i = HP_BISECT(k, 0, p->n_mappings, p->mappings[p->order[k].mapping].start <= address);
    for (size_t steps = 0; i > 0 && p->order[i - 1].end > address && steps < MAX_STEPS; steps++) {
        struct hp_import_mapping *m = &p->mappings[p->order[--i].mapping];
        if (address < m->end && m->time >= since && m->time <= until && (!found || m > found))
            found = m;
    }
    return found;
}

/* The mapping at an address: the latest of the process since its last exec; before the first exec
 * also those of its parent when it forked. NULL: none. */
static struct hp_import_mapping *find_mapping(struct hp_import_spaces *s, uint32_t process,
                                              uint64_t until, uint64_t address)
{
    for (int depth = 0; depth < MAX_PARENTS; depth++) {
        struct hp_import_process *p = &s->processes[process];
        size_t n_execs = HP_BISECT(k, 0, p->n_execs, p->execs[k] <= until);
        uint64_t since = n_execs ? p->execs[n_execs - 1] : 0;
        struct hp_import_mapping *found = find_own(p, since, until, address);
        bool inherits = p->parent != HP_NO_ID && (!n_execs || since <= p->forked);
        if (found || !inherits || p->forked > until)
            return found;
        process = p->parent;
        until = p->forked;
    }
    return NULL;
}

/* --- Views ------------------------------------------------------------------------------------ */

static bool same_mapping(const struct hp_import_mapping *a, const struct hp_import_mapping *b)
{
    return a->file == b->file && a->offset - a->start == b->offset - b->start;
}

static enum hp_err add_change(struct hp_import_process *p, uint64_t time)
{
    return add_time(&p->changes, &p->n_changes, &p->cap_changes, time);
}

/* Mappings that overlap, all together: if they are not of the same, each is a change. */
static enum hp_err add_overlaps(struct hp_import_process *p)
{
    for (size_t i = 0, next; i < p->n_mappings; i = next) {
        const struct hp_import_mapping *first = &p->mappings[p->order[i].mapping];
        bool same = true;
        for (next = i + 1; next < p->n_mappings; next++) {
            const struct hp_import_mapping *m = &p->mappings[p->order[next].mapping];
            if (m->start >= p->order[next - 1].end)
                break;
            same = same && same_mapping(first, m);
        }
        for (size_t k = i; !same && k < next; k++)
            HP_TRY(add_change(p, p->mappings[p->order[k].mapping].time));
    }
    return HP_OK;
}

/* What a child maps over what it has from its parent. */
static enum hp_err add_replaced(struct hp_import_spaces *s, struct hp_import_process *p)
{
    if (p->parent == HP_NO_ID)
        return HP_OK;
    for (size_t i = 0; i < p->n_mappings; i++) {
        const struct hp_import_mapping *m = &p->mappings[i];
        const struct hp_import_mapping *inherited = find_mapping(s, p->parent, p->forked, m->start);
        if (inherited && !same_mapping(inherited, m))
            HP_TRY(add_change(p, m->time));
    }
    return HP_OK;
}

static int by_number(const void *a, const void *b)
{
    return HP_COMPARE(*(const uint64_t *)a, *(const uint64_t *)b);
}

static enum hp_err add_view(struct hp_import_spaces *s, uint32_t process, uint64_t until)
{
    HP_TRY(hp_grow(&s->views, &s->cap_views, s->n_views + 1, sizeof *s->views));
    s->views[s->n_views++] = (struct hp_import_view){process, until};
    return HP_OK;
}

/* A view ends just before a change. */
static enum hp_err add_views(struct hp_import_spaces *s, uint32_t process)
{
    struct hp_import_process *p = &s->processes[process];
    size_t n = 0;
    HP_TRY(add_overlaps(p));
    HP_TRY(add_replaced(s, p));
    hp_sort(p->changes, p->n_changes, sizeof *p->changes, by_number);
    for (size_t k = 0; k < p->n_changes; k++)
        if (p->changes[k] > 0 && (n == 0 || p->changes[n - 1] != p->changes[k]))
            p->changes[n++] = p->changes[k];
    p->n_changes = n;
    p->first_view = (uint32_t)s->n_views;
    for (size_t k = 0; k < n; k++)
        HP_TRY(add_view(s, process, p->changes[k] - 1));
    return add_view(s, process, UINT64_MAX);
}

enum hp_err hp_spaces_settle(struct hp_import_spaces *s)
{
    for (size_t i = 0; i < s->n_processes; i++)
        HP_TRY(order_mappings(&s->processes[i]));
    for (uint32_t i = 0; i < s->n_processes; i++)
        HP_TRY(add_views(s, i));
    return HP_OK;
}

static uint32_t view_of(const struct hp_import_process *p, uint64_t time)
{
    size_t i = HP_BISECT(k, 0, p->n_changes, p->changes[k] <= time);
    return p->first_view + (uint32_t)i;
}

uint32_t hp_spaces_view(const struct hp_import_spaces *s, int32_t pid, uint64_t time)
{
    uint32_t index = hp_map64_get(&s->process_of, (uint32_t)pid);
    return index == HP_MAP64_NONE ? HP_NO_VIEW : view_of(&s->processes[index], time);
}

/* --- Places ----------------------------------------------------------------------------------- */

/* The module that a mapping shows a part of: its base follows from the part of the file that is
 * there. */
static enum hp_err open_module(struct hp_import_spaces *s, struct hp_code *map,
                               struct hp_import_mapping *m)
{
    struct hp_import_file *file = &s->files[m->file];
    const struct hp_module_code *code = open_file(s, file);
    uint64_t low, high, size = m->end - m->start;
    m->asked = true;
    for (size_t i = 0; code && hp_module_code_range(code, i, &low, &high); i++) {
        uint64_t at = hp_module_code_file_offset(code, i);
        if (at + (high - low) <= m->offset || (at > m->offset && at - m->offset >= size))
            continue;
        uint64_t base = m->start + (at - m->offset) - low;
        return hp_code_add_module(map,
                                  &(struct hp_module){.path = file->found,
                                                      .build_id = file->build_id,
                                                      .base = base,
                                                      .low = m->start,
                                                      .high = m->end},
                                  &m->module);
    }
    return HP_OK;
}

enum hp_err hp_spaces_find(struct hp_import_spaces *s, struct hp_code *code, uint32_t view,
                           uint64_t address, struct hp_import_place *place)
{
    struct hp_import_mapping *m =
        view < s->n_views ? find_mapping(s, s->views[view].process, s->views[view].until, address)
                          : NULL;
    if (!m)
        return HP_ERR_NOTFOUND;
    if (!m->asked)
        HP_TRY(open_module(s, code, m));
    if (m->module == HP_NO_ID)
        return HP_ERR_NOTFOUND;
    *place = (struct hp_import_place){.module = m->module,
                                      .offset = address - hp_code_module(code, m->module)->base,
                                      .code = s->files[m->file].code};
    return HP_OK;
}
