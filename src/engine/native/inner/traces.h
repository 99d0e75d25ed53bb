// SPDX-License-Identifier: MIT
/*
 * Traces: hot paths, each translated as one segment.
 *
 * A plain segment becomes a *head* when it is the target of a backward branch, of an exit of a
 * trace, or of an indirect transfer. Whatever leads there in one of these ways counts it down in
 * translated code. When the counter has run out, the path that is executed next (the next executing
 * tail) is recorded: the thread runs *twins* of the segments, whose exits all lead to the gates.
 * The recorded path becomes a trace, and everything that led to the head leads to it.
 *
 * One thread records at a time. Everything is under the lock.
 */
#ifndef HP_NATIVE_TRACES_H
#define HP_NATIVE_TRACES_H

#include "engine/native/inner/cache.h"

void hp_traces_start(uint32_t max_segments);

/* Whether traces are made at all. */
bool hp_traces_are_made(void);

/* Whether arrivals at the segment can be counted: it is plain, and traces are made. */
bool hp_traces_can_count(uint32_t segment);

/* Counts an arrival; the segment is a head from then on. Afterwards the zero flag is set if the
 * head is hot. Or, if the flags are needed: rcx, which is free, is 0. */
void hp_traces_emit_head(struct hp_emit *e, uint32_t segment, bool flags_dead);

/* The thread is about to enter the segment. Begins to record if it is a hot head. Returns what to
 * enter instead: a twin while the thread records. */
uint32_t hp_traces_enter(struct hp_self *self, uint32_t segment);

/* Looks for new wishes of the reader. In a signal handler, without the lock. */
void hp_traces_listen(void);

/* Whether the thread records a path. */
bool hp_traces_records(const struct hp_self *self);

/* The recording thread has left a twin by this exit and goes to `next` (0: the path ends here).
 * Makes the trace if it is complete. */
void hp_traces_add(struct hp_self *self, uint32_t exit, uint64_t next);

/* If the thread records: the path ends with the gate by which it has left a twin; or it cannot be
 * recorded further, and is dropped. Without the lock. */
void hp_traces_end(struct hp_self *self);
void hp_traces_abandon(struct hp_self *self);

/* The trace is gone. All segments are. */
void hp_traces_removed(uint32_t segment);
void hp_traces_flushed(void);
/* Traces do not pay, and the program shall go on unobserved. Without the lock. */
extern _Atomic bool hp_traces_leave;
/* In a forked child: the other threads are gone. */
void hp_traces_after_fork(void);

#endif
