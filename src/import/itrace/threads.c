// SPDX-License-Identifier: MIT
#include "import/itrace/threads.h"

#include "base/base.h"

void hp_itrace_threads_fini(struct hp_itrace_threads *ts)
{
    for (size_t i = 0; i < ts->n; i++) {
        hp_map64_fini(&ts->all[i]->handlers);
        free(ts->all[i]);
    }
    free(ts->all);
}

/* --- Words ------------------------------------------------------------------------------------ */

enum hp_err hp_itrace_threads_flush(struct hp_itrace_threads *ts)
{
    size_t n = ts->n_words;
    ts->n_words = 0;
    return n ? ts->consumer->words(ts->consumer, ts->writes->info.id, ts->words, n) : HP_OK;
}

/* The words that follow are those of a thread. */
static enum hp_err let_write(struct hp_itrace_threads *ts, struct hp_itrace_thread *t)
{
    if (ts->writes == t)
        return HP_OK;
    HP_TRY(hp_itrace_threads_flush(ts));
    ts->writes = t;
    return HP_OK;
}

/* What ran becomes a word. */
static void put_run(struct hp_itrace_threads *ts, struct hp_itrace_thread *t)
{
    if (t->run)
        ts->words[ts->n_words++] = t->run->segment;
    t->run = NULL;
    t->way = -1;
}

enum hp_err hp_itrace_thread_word(struct hp_itrace_threads *ts, struct hp_itrace_thread *t,
                                  uint32_t word)
{
    HP_TRY(let_write(ts, t));
    put_run(ts, t);
    ts->words[ts->n_words++] = word;
    return ts->n_words < HP_ITRACE_WORDS ? HP_OK : hp_itrace_threads_flush(ts);
}

enum hp_err hp_itrace_thread_event(struct hp_itrace_threads *ts, struct hp_itrace_thread *t,
                                   uint32_t word, uint64_t payload)
{
    HP_TRY(hp_itrace_thread_word(ts, t, word));
    for (int i = 0; i < hp_word_payload(word); i++)
        HP_TRY(hp_itrace_thread_word(ts, t, (uint32_t)(payload >> 32 * i)));
    return HP_OK;
}

enum hp_err hp_itrace_thread_lose(struct hp_itrace_threads *ts, struct hp_itrace_thread *t,
                                  enum hp_lost_reason reason)
{
    if (t->state == HP_ITRACE_LOST)
        return HP_OK;
    t->state = HP_ITRACE_LOST;
    return hp_itrace_thread_event(ts, t, hp_word_event(HP_WORD_LOST, reason), 0);
}

/* --- Threads ---------------------------------------------------------------------------------- */

enum hp_err hp_itrace_threads_get(struct hp_itrace_threads *ts, uint32_t task,
                                  struct hp_itrace_thread **thread)
{
    struct hp_itrace_task *of = &ts->sides->tasks[task];
    struct hp_itrace_thread *t = *thread = of->thread;
    if (t)
        return HP_OK;
    HP_TRY(hp_grow(&ts->all, &ts->capacity, ts->n + 1, sizeof *ts->all));
    HP_TRY(hp_new(&t, 1, sizeof *t));
    *t = (struct hp_itrace_thread){
        .info = {.id = (uint32_t)ts->n, .pid = of->pid, .tid = of->tid, .parent = of->parent},
        .task = task};
    ts->all[ts->n++] = t;
    of->thread = *thread = t;
    return ts->consumer->thread(ts->consumer, &t->info);
}

/* What the thread was about to do when it was interrupted for good; or it had come there, at
 * least. */
static enum hp_err put_cut(struct hp_itrace_threads *ts, struct hp_itrace_thread *t, bool *whole)
{
    const struct hp_itrace_node *node = t->node;
    uint32_t n;
    *whole = node->kind == HP_NODE_TRAP && node->completes && t->resume == node->last;
    if (!*whole && !hp_itrace_code_before(ts->code, node, t->resume, &n))
        return HP_OK;
    HP_TRY(hp_itrace_thread_word(ts, t, node->run.segment));
    return *whole ? HP_OK : hp_itrace_thread_word(ts, t, hp_word_event(HP_WORD_CUT, n));
}

static enum hp_err end_thread(struct hp_itrace_threads *ts, struct hp_itrace_thread *t,
                              enum hp_end_reason reason)
{
    const char *name = ts->name ? ts->name(ts->context, t->info.tid) : NULL;
    if (t->ended)
        return HP_OK;
    t->ended = true;
    HP_TRY(let_write(ts, t));
    put_run(ts, t);
    HP_TRY(hp_itrace_threads_flush(ts));
    if (name && ts->consumer->named)
        HP_TRY(ts->consumer->named(
            ts->consumer, t->info.id,
            &(struct hp_thread_names){.pid = t->info.pid, .name = name, .command = ""}));
    return ts->consumer->end(ts->consumer, t->info.id, reason);
}

/* Whether the file says that a task did something; it may be the next that it did. */
static const struct hp_itrace_act *next_act(const struct hp_itrace_threads *ts,
                                            const struct hp_itrace_task *task)
{
    return task->next < task->first + task->n ? &ts->sides->acts[task->next] : NULL;
}

static bool has_exited(const struct hp_itrace_threads *ts, const struct hp_itrace_task *task)
{
    for (size_t i = 0; i < task->n; i++)
        if (ts->sides->acts[task->first + i].kind == HP_ITRACE_EXITS)
            return true;
    return false;
}

enum hp_err hp_itrace_threads_end(struct hp_itrace_threads *ts)
{
    for (size_t i = 0; i < ts->n; i++) {
        struct hp_itrace_thread *t = ts->all[i];
        enum hp_end_reason reason = HP_END_KILLED;
        bool whole;
        if (t->ended)
            continue;
        if (!has_exited(ts, &ts->sides->tasks[t->task]))
            reason = HP_END_DETACHED;
        else if (t->state == HP_ITRACE_OUT)
            reason = t->after_call ? HP_END_EXIT : HP_END_SIGNAL;
        if (t->state == HP_ITRACE_OUT && !t->after_call)
            HP_TRY(put_cut(ts, t, &whole));
        HP_TRY(end_thread(ts, t, reason));
    }
    return HP_OK;
}

/* --- Entering user code ----------------------------------------------------------------------- */

enum hp_err hp_itrace_thread_arrive(struct hp_itrace_threads *ts, struct hp_itrace_thread *t,
                                    uint64_t address)
{
    HP_TRY(let_write(ts, t));
    t->node = hp_itrace_code_at(ts->code, t->view, address);
    t->way = -1;
    if (!t->node)
        return hp_fail_nomem();
    if (t->node->kind == HP_NODE_UNKNOWN)
        return hp_itrace_thread_lose(ts, t, HP_LOST_UNKNOWN);
    t->state = HP_ITRACE_RUNS;
    return HP_OK;
}

/* The memory of the process at that time. */
static void look_at(struct hp_itrace_threads *ts, struct hp_itrace_thread *t, uint64_t ns)
{
    const struct hp_import_spaces *spaces = ts->code->spaces;
    if (t->announced && ns <= t->view_until)
        return;
    t->announced = true;
    t->view = hp_spaces_view(spaces, t->info.pid, ns ? ns : UINT64_MAX);
    t->view_until = t->view == HP_NO_VIEW || !ns ? UINT64_MAX : spaces->views[t->view].until;
    if (t->state == HP_ITRACE_OUT && !t->after_call && t->node->view != t->view) {
        struct hp_itrace_node *node = hp_itrace_code_at(ts->code, t->view, t->node->start);
        t->node = node ? node : t->node;
        t->way = -1;
    }
}

/* The process has become another program. */
static enum hp_err execute(struct hp_itrace_threads *ts, struct hp_itrace_thread **thread)
{
    struct hp_itrace_thread *t = *thread;
    if (t->state != HP_ITRACE_LOST)
        HP_TRY(hp_itrace_thread_event(ts, t, hp_word_event(HP_WORD_EXEC, 1), 0));
    HP_TRY(end_thread(ts, t, HP_END_EXEC));
    ts->sides->tasks[t->task].thread = NULL;
    return hp_itrace_threads_get(ts, t->task, thread);
}

/* What the file says that the thread did until now, in system calls. */
static enum hp_err take_acts(struct hp_itrace_threads *ts, struct hp_itrace_thread **thread,
                             uint64_t ns, bool strange)
{
    struct hp_itrace_task *task = &ts->sides->tasks[(*thread)->task];
    for (const struct hp_itrace_act *act; (act = next_act(ts, task)); task->next++) {
        bool executes = act->kind == HP_ITRACE_EXECUTES;
        if (ns ? act->time > ns : !(executes && strange))
            break;
        bool begins = (*thread)->state == HP_ITRACE_LOST && !(*thread)->announced;
        if (act->kind == HP_ITRACE_FORKS && (*thread)->state == HP_ITRACE_OUT)
            HP_TRY(hp_itrace_thread_event(ts, *thread, hp_word_event(HP_WORD_FORK, 0),
                                          (uint32_t)act->other));
        if (executes && !begins)
            HP_TRY(execute(ts, thread));
    }
    return HP_OK;
}

static void push(struct hp_itrace_thread *t, uint64_t address, bool call)
{
    if (t->n_interrupted == HP_ITRACE_CONTEXTS)
        memmove(t->interrupted, t->interrupted + 1, --t->n_interrupted * sizeof *t->interrupted);
    t->interrupted[t->n_interrupted].address = address;
    t->interrupted[t->n_interrupted++].call = call;
}

/* A signal's handler is entered. */
static enum hp_err enter_handler(struct hp_itrace_threads *ts, struct hp_itrace_thread *t,
                                 uint64_t address)
{
    ts->counts.signals++;
    HP_TRY(hp_map64_put(&t->handlers, address, 1));
    HP_TRY(hp_itrace_thread_word(ts, t, hp_word_event(HP_WORD_SIGNAL, 0)));
    return hp_itrace_thread_arrive(ts, t, address);
}

/* The code that a handler interrupted goes on; or another handler is entered before that. */
static enum hp_err leave_handler(struct hp_itrace_threads *ts, struct hp_itrace_thread *t,
                                 uint64_t address)
{
    HP_TRY(hp_itrace_thread_word(ts, t, hp_word_event(HP_WORD_SIGRETURN, 0)));
    if (!t->n_interrupted)
        return hp_itrace_thread_arrive(ts, t, address);
    uint64_t resume = t->interrupted[t->n_interrupted - 1].address;
    bool call = t->interrupted[t->n_interrupted - 1].call;
    bool resumes = address == resume || (call && address == resume - ts->code->call_size);
    if (!resumes && hp_map64_get(&t->handlers, address) != HP_MAP64_NONE)
        return enter_handler(ts, t, address);
    t->n_interrupted--;
    return hp_itrace_thread_arrive(ts, t, address);
}

/* Not where user code was left: a handler, or a system call that is made again. */
static enum hp_err enter_elsewhere(struct hp_itrace_threads *ts, struct hp_itrace_thread *t,
                                   uint64_t address)
{
    bool whole = false;
    uint64_t resume = t->resume;
    if (t->after_call && address == resume - ts->code->call_size)
        return hp_itrace_thread_arrive(ts, t, address);
    if (!t->after_call) {
        HP_TRY(put_cut(ts, t, &whole));
        if (whole)
            resume = t->node->end;
        if (whole && address == resume)
            return hp_itrace_thread_arrive(ts, t, address);
    }
    push(t, resume, t->after_call);
    return enter_handler(ts, t, address);
}

enum hp_err hp_itrace_thread_enter(struct hp_itrace_threads *ts, struct hp_itrace_thread **thread,
                                   uint64_t address, uint64_t ns)
{
    bool strange =
        (*thread)->state == HP_ITRACE_OUT && (*thread)->after_call && (*thread)->resume != address;
    HP_TRY(take_acts(ts, thread, ns, strange));
    struct hp_itrace_thread *t = *thread;
    HP_TRY(let_write(ts, t));
    look_at(ts, t, ns);
    if (t->state == HP_ITRACE_OUT && !t->resume)
        HP_TRY(hp_itrace_thread_lose(ts, t, HP_LOST_RECORD));
    if (t->state != HP_ITRACE_OUT) {
        if (t->state == HP_ITRACE_RUNS)
            HP_TRY(hp_itrace_thread_lose(ts, t, HP_LOST_RECORD));
        return hp_itrace_thread_arrive(ts, t, address);
    }
    if (t->sigreturn)
        return leave_handler(ts, t, address);
    if (address != t->resume)
        return enter_elsewhere(ts, t, address);
    ts->counts.interrupts += !t->after_call;
    if (t->after_call)
        return hp_itrace_thread_arrive(ts, t, address);
    if (t->node->kind == HP_NODE_UNKNOWN)
        return hp_itrace_thread_arrive(ts, t, address);
    t->state = HP_ITRACE_RUNS;
    return HP_OK;
}
