// SPDX-License-Identifier: MIT
/* Between an engine and the pipeline. */
#include "base/base.h"
#include "base/debug.h"
#include "session/session_impl.h"

#include <signal.h>

void hp_session_trace_result(struct hp_session *s, enum hp_err err)
{
    if (err == HP_OK)
        return;
    s->trace_failure = err;
    snprintf(s->trace_error, sizeof s->trace_error, "%s", hp_error_text());
    hp_trace_writer_abort(s->writer);
    s->writer = NULL;
}

static enum hp_err take_thread(struct hp_consumer *consumer, const struct hp_thread *thread)
{
    struct hp_session *s = (struct hp_session *)consumer;
    hp_debug(HP_DEBUG_ENGINE, "process %d, thread %d begins", (int)thread->pid, (int)thread->tid);
    if (s->next)
        HP_TRY(s->next->thread(s->next, thread));
    if (s->writer)
        hp_session_trace_result(s, hp_trace_writer_thread(s->writer, thread));
    return HP_OK;
}

static enum hp_err take_words(struct hp_consumer *consumer, uint32_t thread, const uint32_t *words,
                              size_t n)
{
    struct hp_session *s = (struct hp_session *)consumer;
    if (s->next)
        HP_TRY(s->next->words(s->next, thread, words, n)); /* first: it fills the code map */
    if (s->writer)
        hp_session_trace_result(s, hp_trace_writer_words(s->writer, thread, words, n));
    return HP_OK;
}

static enum hp_err take_counts(struct hp_consumer *consumer, uint32_t thread,
                               const struct hp_count *counts, size_t n)
{
    struct hp_session *s = (struct hp_session *)consumer;
    return s->next ? s->next->counts(s->next, thread, counts, n) : HP_OK;
}

static enum hp_err take_addresses(struct hp_consumer *consumer, uint32_t thread,
                                  const uint64_t *addresses, size_t n)
{
    struct hp_session *s = (struct hp_session *)consumer;
    if (s->next)
        HP_TRY(s->next->addresses(s->next, thread, addresses, n));
    if (s->writer)
        hp_session_trace_result(s, hp_trace_writer_addresses(s->writer, thread, addresses, n));
    return HP_OK;
}

static const char *const ends[] = {[HP_END_EXIT] = "exit",
                                   [HP_END_KILLED] = "killed",
                                   [HP_END_EXEC] = "exec",
                                   [HP_END_DETACHED] = "goes on unobserved",
                                   [HP_END_SIGNAL] = "signal"};

static enum hp_err take_end(struct hp_consumer *consumer, uint32_t thread,
                            enum hp_end_reason reason)
{
    struct hp_session *s = (struct hp_session *)consumer;
    hp_debug(HP_DEBUG_ENGINE, "thread number %u ends: %s", thread,
             (size_t)reason < sizeof ends / sizeof *ends ? ends[reason] : "unknown");
    if (s->next)
        HP_TRY(s->next->end(s->next, thread, reason));
    if (s->writer)
        hp_session_trace_result(s, hp_trace_writer_end(s->writer, thread, reason));
    return HP_OK;
}

static bool is_done(struct hp_consumer *consumer)
{
    struct hp_session *s = (struct hp_session *)consumer;
    bool done = s->next && s->next->done(s->next);
    if (done && s->settings->stop && s->pid && !s->stopped) {
        kill(s->pid, SIGKILL);
        s->stopped = true;
    }
    return done;
}

void hp_session_tick(struct hp_session *s, bool over)
{
    s->over = over;
    if (s->settings->tick && s->pipeline)
        s->settings->tick(s->settings->context, s);
}

static void tick(struct hp_consumer *consumer)
{
    hp_session_tick((struct hp_session *)consumer, is_done(consumer));
}

void hp_session_init_consumer(struct hp_session *s)
{
    s->consumer = (struct hp_consumer){.thread = take_thread,
                                       .words = take_words,
                                       .counts = take_counts,
                                       .addresses = take_addresses,
                                       .end = take_end,
                                       .tick = tick,
                                       .done = is_done};
}
