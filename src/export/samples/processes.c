// SPDX-License-Identifier: MIT
#include "export/samples/processes.h"

#include "base/base.h"

void hp_perf_processes_fini(struct hp_perf_processes *ps)
{
    for (struct hp_perf_process *p = ps->first, *next; p; p = next) {
        next = p->next;
        free(p->mapped);
        free(p);
    }
    ps->first = NULL;
}

/* --- Processes and threads -------------------------------------------------------------------- */

/* The file name of a path; what is behind a newline is no part of it. */
static void set_name(char name[HP_PERF_NAME], const char *path)
{
    size_t length = strcspn(path, "\n"), from = length;
    while (from > 0 && path[from - 1] != '/')
        from--;
    snprintf(name, HP_PERF_NAME, "%.*s", (int)(length - from), path + from);
}

static struct hp_perf_process *find_process(const struct hp_perf_processes *ps, int32_t pid)
{
    struct hp_perf_process *p = ps->first;
    while (p && p->pid != pid)
        p = p->next;
    return p;
}

static enum hp_err process_of(struct hp_perf_processes *ps, const struct hp_thread *info,
                              struct hp_perf_process **process)
{
    char *const *command = ps->setup->names.command;
    *process = find_process(ps, info->pid);
    if (*process)
        return HP_OK;
    HP_TRY(hp_new(process, 1, sizeof **process));
    const struct hp_perf_process *parent = find_process(ps, info->parent);
    struct hp_perf_process *p = *process;
    *p = (struct hp_perf_process){.pid = info->pid, .parent = info->parent, .next = ps->first};
    ps->first = p;
    p->executed = !parent;
    if (parent)
        memcpy(p->name, parent->name, sizeof p->name);
    else
        set_name(p->name, command && command[0] ? command[0] : "program");
    return HP_OK;
}

/* The process has become another program: what was in its memory is gone. What it is called is
 * known in a run, not in a trace. */
static void replace_program(const struct hp_perf_processes *ps, struct hp_perf_process *p)
{
    const struct hp_stream_names *names = &ps->setup->names;
    const char *path = names->text ? names->text(names->context, p->program) : NULL;
    if (path)
        set_name(p->name, path);
    if (p->mapped)
        memset(p->mapped, 0, p->n_mapped * sizeof *p->mapped);
}

enum hp_err hp_perf_begin_thread(struct hp_perf_processes *ps, const struct hp_perf_who *who,
                                 const struct hp_thread *info, struct hp_perf_process **process)
{
    HP_TRY(process_of(ps, info, process));
    struct hp_perf_process *p = *process;
    if (!p->known && p->parent)
        hp_perf_put_fork(ps->file, who, p->parent, p->parent);
    else if (p->known && info->tid != info->pid)
        hp_perf_put_fork(ps->file, who, info->pid, info->pid);
    if (!p->known || p->executed)
        p->since = who->time;
    if (p->known && p->executed)
        replace_program(ps, p);
    hp_perf_put_name(ps->file, who, p->name, p->executed);
    p->known = true;
    p->executed = false;
    return HP_OK;
}

void hp_perf_process_event(struct hp_perf_processes *ps, const struct hp_perf_who *who,
                           struct hp_perf_process *p, const struct hp_event *event)
{
    if (event->kind == HP_EVENT_EXEC) {
        p->executed = event->exact;
        p->program = (uint32_t)event->value;
    } else if (event->kind == HP_EVENT_EXEC_FAILED) {
        p->executed = false;
    } else if (event->kind == HP_EVENT_END && event->value != HP_END_EXEC) {
        hp_perf_put_exit(ps->file, who, p->parent);
    }
}

void hp_perf_rename_thread(struct hp_perf_processes *ps, const struct hp_thread *info,
                           uint64_t since)
{
    const struct hp_stream_names *names = &ps->setup->names;
    const char *name = names->thread ? names->thread(names->context, info->id) : NULL;
    if (name && *name)
        hp_perf_put_name(ps->file, &(struct hp_perf_who){info->pid, info->tid, since}, name, false);
}

/* --- Mappings --------------------------------------------------------------------------------- */

static bool overlaps(const struct hp_perf_mapped *mapped, const struct hp_module *module)
{
    return mapped->low < module->high && module->low < mapped->high;
}

bool hp_perf_replaces(const struct hp_perf_processes *ps, const struct hp_perf_process *p,
                      uint32_t id)
{
    const struct hp_module *module = hp_code_module(ps->setup->code, id);
    for (size_t i = 0; i < p->n_mapped; i++)
        if (i != id && overlaps(&p->mapped[i], module))
            return true;
    return false;
}

enum hp_err hp_perf_map_module(struct hp_perf_processes *ps, const struct hp_perf_who *who,
                               struct hp_perf_process *p, uint32_t id)
{
    const struct hp_module *module = hp_code_module(ps->setup->code, id);
    HP_TRY(hp_grow(&p->mapped, &p->n_mapped, (size_t)id + 1, sizeof *p->mapped));
    for (size_t i = 0; i < p->n_mapped; i++)
        if (overlaps(&p->mapped[i], module))
            p->mapped[i] = (struct hp_perf_mapped){0};
    p->mapped[id] = (struct hp_perf_mapped){module->low, module->high};
    hp_perf_put_module(ps->file, who, module);
    return HP_OK;
}

bool hp_perf_is_mapped(const struct hp_perf_process *p, const struct hp_block *block)
{
    if (block->module >= p->n_mapped)
        return false;
    const struct hp_perf_mapped *m = &p->mapped[block->module];
    return block->start >= m->low && block->end <= m->high;
}
