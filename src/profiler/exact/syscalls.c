// SPDX-License-Identifier: MIT
#include "profiler/exact/syscalls.h"

#include "base/base.h"
#include "profiler/exact/contexts.h"

/* Those with this number that a block makes in a context. */
struct hp_exact_syscall {
    uint32_t context, block; /* block: HP_NO_ID unknown */
    uint32_t number;
    uint32_t next; /* of the same context and block: index + 1; 0: none */
    uint64_t calls, timed, unfinished, errors, ns, max_ns;
    uint64_t again; /* nanoseconds of calls that will be made again */
};

void hp_exact_syscall(struct hp_exact_thread *t, size_t at, const struct hp_syscall *call)
{
    struct hp_exact_syscalls *s = &t->syscalls;
    if (t->sealed)
        return;
    if (hp_grow(&s->pending, &s->cap_pending, s->n_pending + 1, sizeof *s->pending) != HP_OK)
        t->exact->out_of_memory = true;
    else
        s->pending[s->n_pending++] = (struct hp_exact_pending){at, *call};
}

/* --- Counting --------------------------------------------------------------------------------- */

/* NULL: out of memory. */
static struct hp_exact_syscall *find(struct hp_exact_syscalls *s, uint32_t context, uint32_t block,
                                     uint32_t number)
{
    uint64_t key = (uint64_t)context << 32 | block;
    uint32_t first = hp_map64_get(&s->of, key), i = first == HP_MAP64_NONE ? 0 : first + 1;
    for (; i && s->all[i - 1].number != number; i = s->all[i - 1].next)
        ;
    if (i)
        return &s->all[i - 1];
    if (hp_grow(&s->all, &s->cap, s->n + 1, sizeof *s->all) != HP_OK ||
        (first == HP_MAP64_NONE && hp_map64_put(&s->of, key, (uint32_t)s->n) != HP_OK))
        return NULL;
    struct hp_exact_syscall *new = &s->all[s->n++];
    *new = (struct hp_exact_syscall){.context = context, .block = block, .number = number};
    if (first != HP_MAP64_NONE) {
        new->next = s->all[first].next;
        s->all[first].next = (uint32_t)s->n;
    }
    return new;
}

/* A call that is made again has its time added when it is over. */
static void count(struct hp_exact_thread *t, const struct hp_syscall *call)
{
    uint32_t context = t->n_frames ? t->frames[t->n_frames - 1].context : 0;
    struct hp_exact_syscall *s = find(&t->syscalls, context, call->block, call->number);
    if (!s) {
        t->exact->out_of_memory = true;
        return;
    }
    if (!call->counts) {
        hp_add_up(&s->again, call->ns);
        return;
    }
    uint64_t ns = hp_saturating_add(call->ns, s->again);
    s->again = 0;
    s->calls++;
    s->timed += call->timed;
    s->unfinished += !call->returned;
    s->errors += call->error != 0;
    hp_add_up(&s->ns, ns);
    s->max_ns = ns > s->max_ns ? ns : s->max_ns;
}

size_t hp_exact_syscalls_here(struct hp_exact_thread *t, size_t from, size_t at)
{
    const struct hp_exact_syscalls *s = &t->syscalls;
    while (from < s->n_pending && s->pending[from].at <= at)
        count(t, &s->pending[from++].call);
    return from;
}

void hp_exact_syscalls_settle(struct hp_exact_thread *t)
{
    for (size_t i = 0; i < t->syscalls.n_pending; i++)
        count(t, &t->syscalls.pending[i].call);
    t->syscalls.n_pending = 0;
}

/* --- The end ---------------------------------------------------------------------------------- */

void hp_exact_syscalls_seal(struct hp_exact_thread *t)
{
    hp_map64_fini(&t->syscalls.of);
    free(t->syscalls.pending);
    t->syscalls.pending = NULL;
    t->syscalls.n_pending = t->syscalls.cap_pending = 0;
}

void hp_exact_syscalls_fini(struct hp_exact_thread *t)
{
    hp_exact_syscalls_seal(t);
    free(t->syscalls.all);
    t->syscalls.all = NULL;
    t->syscalls.n = t->syscalls.cap = 0;
}

/* The context that stands for this one in the profile. */
static uint32_t kept_context(const struct hp_exact_thread *t, const uint32_t *contexts,
                             uint32_t context)
{
    while (context && t->contexts[context].function == HP_CONTEXT_REST)
        context = t->context_more[context].parent;
    return contexts[context];
}

/* What was to be made again and never was has been counted where it was cut short. */
enum hp_err hp_exact_syscalls_finish(const struct hp_exact_thread *t, uint32_t index,
                                     const uint32_t *contexts, struct hp_profile *p)
{
    for (size_t i = 0; i < t->syscalls.n; i++) {
        const struct hp_exact_syscall *s = &t->syscalls.all[i];
        uint64_t ns = hp_saturating_add(s->ns, s->again);
        struct hp_psyscall *out;
        HP_TRY(hp_profile_add_syscall(p, &out));
        *out = (struct hp_psyscall){
            .context = kept_context(t, contexts, s->context),
            .function = s->block == HP_NO_ID ? HP_PROFILE_NONE : p->blocks[s->block].function,
            .thread = index,
            .number = s->number,
            .calls = s->calls,
            .timed = s->timed,
            .unfinished = s->unfinished,
            .errors = s->errors,
            .ns = ns < INT64_MAX ? ns : INT64_MAX, /* whoever is watched can write what it likes */
            .max_ns = s->max_ns < INT64_MAX ? s->max_ns : INT64_MAX};
    }
    return HP_OK;
}
