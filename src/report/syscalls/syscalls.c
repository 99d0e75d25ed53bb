// SPDX-License-Identifier: MIT
#include "report/syscalls/syscalls.h"

#include "base/base.h"
#include "report/query/query.h"
#include "symbols/syscalls.h"
#include "text/number.h"

#include <string.h>

#define WORTH_SAYING 0.1  /* share of the busiest thread's time */
#define WORTH_NAMING 0.03 /* the same of a call */
#define MOST_NAMED   3

void hp_put_syscall(const struct hp_profile *p, uint32_t number, struct hp_strbuf *text)
{
    const char *name = hp_syscall_name(p->run.arch, number);
    if (name)
        hp_strbuf_add(text, name);
    else
        hp_strbuf_format(text, "syscall_%u", number);
}

void hp_put_time(uint64_t ns, struct hp_strbuf *text)
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1e9, " s"}, {1e6, " ms"}, {1e3, " µs"}, {1, " ns"}};
    size_t i = 0;
    while (i < 3 && (double)ns < units[i].unit * 0.9995)
        i++;
    double value = (double)ns / units[i].unit;
    hp_strbuf_fixed(text, value, i == 3 || value >= 99.95 ? 0 : value < 9.995 ? 2 : 1);
    hp_strbuf_add(text, units[i].name);
}

/* --- For whom --------------------------------------------------------------------------------- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Whether it only passes the call on. */
static bool is_between(const struct hp_profile *p, uint32_t function, const char *call)
{
    const struct hp_pfunction *f = &p->functions[function];
    const char *name = *hp_text(f->linkage) ? f->linkage : hp_text(f->name);
    const char *module = f->place.module == HP_PROFILE_NONE
                             ? ""
                             : hp_base_name(hp_text(p->modules[f->place.module].path));
    return begins(module, "libc.") || begins(module, "libc-") || begins(module, "libpthread") ||
           begins(module, "ld-") || begins(module, "ld.so") || strcmp(name, "syscall") == 0 ||
           (call && strstr(name, call));
}

uint32_t hp_syscall_caller(const struct hp_profile *p, const struct hp_psyscall *call)
{
    const char *name = hp_syscall_name(p->run.arch, call->number);
    uint32_t function = call->function, nearest = function, at = call->context;
    if (function != HP_PROFILE_NONE && !is_between(p, function, name))
        return function;
    for (; at != HP_PROFILE_NONE; at = p->contexts[at].parent) {
        function = p->contexts[at].function;
        if (function == HP_PROFILE_NONE)
            continue;
        if (!is_between(p, function, name))
            return function;
        if (nearest == call->function)
            nearest = function;
    }
    return nearest;
}

size_t hp_syscall_path(const struct hp_profile *p, const struct hp_psyscall *call,
                       uint32_t path[HP_CONTEXT_DEPTH + 1])
{
    uint32_t at = call->context;
    size_t n = 0;
    if (at == HP_PROFILE_NONE || p->contexts[at].function != call->function)
        path[n++] = call->function;
    for (; at != HP_PROFILE_NONE && n <= HP_CONTEXT_DEPTH; at = p->contexts[at].parent)
        path[n++] = p->contexts[at].function;
    return n;
}

/* --- Times of threads ------------------------------------------------------------------------- */

uint64_t hp_threads_time(const struct hp_profile *p)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < p->n_thread_times; i++)
        hp_add_up(&sum, p->thread_times[i].ns);
    return sum;
}

uint64_t hp_thread_time(const struct hp_profile *p, uint32_t thread)
{
    size_t n;
    const struct hp_pthread_time *time = hp_items(p, HP_ROW_THREAD_TIME, thread, &n);
    return time ? time->ns : 0;
}

uint64_t hp_thread_in_syscalls(const struct hp_profile *p, uint32_t thread)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < p->n_syscalls; i++)
        if (p->syscalls[i].thread == thread)
            hp_add_up(&sum, p->syscalls[i].ns);
    return sum;
}

/* --- The summary ------------------------------------------------------------------------------ */

/* The thread that executed most. */
static uint32_t busiest(const struct hp_profile *p)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < p->n_threads; i++)
        if (p->threads[i].instructions > p->threads[best].instructions)
            best = i;
    return best;
}

struct sum {
    uint32_t number;
    uint64_t ns;
};

static int longest_first(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;
    return HP_COMPARE(y->ns, x->ns) ?: HP_COMPARE(x->number, y->number);
}

/* The times of a thread's calls, by number; returns how many numbers there are. */
static size_t sum_numbers(const struct hp_profile *p, uint32_t thread, struct sum *sums)
{
    size_t n = 0, k;
    for (size_t i = 0; i < p->n_syscalls; i++) {
        const struct hp_psyscall *s = &p->syscalls[i];
        if (s->thread != thread)
            continue;
        for (k = 0; k < n && sums[k].number != s->number; k++)
            ;
        if (k == n)
            sums[n++] = (struct sum){.number = s->number};
        hp_add_up(&sums[k].ns, s->ns);
    }
    qsort(sums, n, sizeof *sums, longest_first);
    return n;
}

enum hp_err hp_syscalls_sum_up(const struct hp_tables *tables, struct hp_strbuf *text)
{
    const struct hp_profile *p = tables->profile;
    if (p->n_threads == 0 || p->n_syscalls == 0)
        return HP_OK;
    uint32_t thread = busiest(p);
    uint64_t lived = hp_thread_time(p, thread), ns = hp_thread_in_syscalls(p, thread);
    if (lived == 0 || hp_number_share(ns, lived) < WORTH_SAYING)
        return HP_OK;
    struct sum *sums HP_CLEANUP(hp_free) = calloc(p->n_syscalls + 1, sizeof *sums);
    if (!sums)
        return hp_fail_nomem();
    size_t n = sum_numbers(p, thread, sums);
    hp_strbuf_percent(text, hp_number_share(ns, lived));
    if (p->n_threads == 1) {
        hp_strbuf_add(text, " of the time in system calls");
    } else {
        const char *name = hp_thread_names_of(p, thread)->name;
        hp_strbuf_add(text, " of the time of the busiest thread ");
        if (*name) {
            hp_strbuf_add(text, "(");
            hp_strbuf_clean(text, name);
            hp_strbuf_add(text, ") ");
        }
        hp_strbuf_add(text, "in system calls");
    }
    for (size_t i = 0;
         i < n && i < MOST_NAMED && hp_number_share(sums[i].ns, lived) >= WORTH_NAMING; i++) {
        hp_strbuf_add(text, i ? ", " : ": ");
        hp_put_syscall(p, sums[i].number, text);
        hp_strbuf_add(text, " ");
        hp_strbuf_percent(text, hp_number_share(sums[i].ns, lived));
    }
    return text->failed ? hp_fail_nomem() : HP_OK;
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* Whether a function that is asked for made it, or asked another to. */
bool hp_syscall_is_asked(const struct hp_tables *tables, const struct hp_psyscall *call)
{
    const struct hp_profile *p = tables->profile;
    const bool *asked = tables->query ? tables->query->functions.is : NULL;
    bool found = !asked || (call->function != HP_PROFILE_NONE && asked[call->function]);
    for (uint32_t at = call->context; at != HP_PROFILE_NONE && !found; at = p->contexts[at].parent)
        found = p->contexts[at].function != HP_PROFILE_NONE && asked[p->contexts[at].function];
    return found;
}

struct sorting {
    const struct hp_profile *profile;
    hp_syscall_order *order;
};

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct sorting *by = context;
    const struct hp_psyscall *all = by->profile->syscalls;
    uint32_t x = ((const struct hp_row *)a)->item, y = ((const struct hp_row *)b)->item;
    return by->order(&all[x], &all[y]) ?: HP_COMPARE(x, y);
}

enum hp_err hp_syscalls_join(struct hp_rows *rows, struct hp_tables *tables,
                             hp_syscall_order *order)
{
    const struct hp_profile *p = tables->profile;
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < rows->n; i++)
        if (hp_syscall_is_asked(tables, &p->syscalls[rows->rows[i].item]))
            rows->rows[n++] = rows->rows[i];
    if (n > 1)
        qsort_r(rows->rows, n, sizeof *rows->rows, compare_rows, &(struct sorting){p, order});
    for (size_t i = 0; i < n; i++) {
        struct hp_row *last = kept ? &rows->rows[kept - 1] : NULL;
        const struct hp_row *row = &rows->rows[i];
        if (last && order(&p->syscalls[last->item], &p->syscalls[row->item]) == 0)
            for (size_t k = 0; k < HP_ROW_VALUES; k++)
                hp_add_up(&last->v[k], row->v[k]);
        else
            rows->rows[kept++] = *row;
    }
    rows->n = kept;
    for (size_t i = 0; tables->no_run && i < kept; i++) /* times differ between equal runs */
        rows->rows[i].v[HP_SYSCALL_NS] = rows->rows[i].v[HP_SYSCALL_CALLS];
    return HP_OK;
}

uint64_t hp_syscall_longest(const struct hp_profile *p, const struct hp_psyscall *of,
                            hp_syscall_order *order)
{
    uint64_t most = 0;
    for (size_t i = 0; i < p->n_syscalls; i++)
        if (p->syscalls[i].max_ns > most && order(&p->syscalls[i], of) == 0)
            most = p->syscalls[i].max_ns;
    return most;
}

/* --- Fields ----------------------------------------------------------------------------------- */

struct hp_cell hp_syscall_cell(const struct hp_field_input *in)
{
    const struct hp_profile *p = in->tables->profile;
    const struct hp_psyscall *call = &p->syscalls[in->row->item];
    const uint64_t *v = in->row->v;
    switch (in->field->value) {
    case HP_CALL_NAME:
        hp_put_syscall(p, call->number, in->buffer);
        return hp_cell_text(hp_strbuf_text(in->buffer));
    case HP_CALL_SHARE:
        return hp_cell_fraction(hp_number_share(v[HP_SYSCALL_NS], hp_threads_time(p)));
    default:
        return v[HP_SYSCALL_TIMED] ? hp_cell_number(v[HP_SYSCALL_NS] / v[HP_SYSCALL_TIMED])
                                   : hp_cell_none();
    }
}
