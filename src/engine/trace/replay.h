// SPDX-License-Identifier: MIT
/*
 * The trace engine: delivers a recorded stream like that of a running program.
 */
#ifndef HP_ENGINE_REPLAY_H
#define HP_ENGINE_REPLAY_H

#include "engine/engine.h"
#include "hotpath/trace.h"

/*
 * Delivers the whole trace, with its addresses if the reader was told they are wanted. `code` has
 * the trace's architecture. With `salvage`, damaged frames are skipped (their words are reported as
 * lost) and counted in `*damaged`, and threads without an end are ended; otherwise damage is an
 * error.
 */
enum hp_err hp_replay(struct hp_trace_reader *reader, struct hp_code *code,
                      struct hp_consumer *consumer, bool salvage, uint64_t *damaged);

#endif
