// SPDX-License-Identifier: MIT
/*
 * What the reader of a profile must know about it: what was not seen, and why.
 */
#ifndef HP_SESSION_NOTES_H
#define HP_SESSION_NOTES_H

#include "engine/live.h"
#include "hotpath/profile.h"
#include "profiler/pipeline.h"

/* Gaps, transfers that nothing explains, threads that outlived the observation, a region that never
 * came. Call it behind hp_note_engine(). */
enum hp_err hp_note_losses(struct hp_profile *profile, const struct hp_pipeline_stats *stats);

/*
 * A program that was executed and not observed. `path`: of it, NULL not known; `engine`: the name
 * of the one that saw it; `unwanted`: the user asked for it (--no-follow).
 */
enum hp_err hp_note_exec(struct hp_profile *profile, const char *path, const char *engine,
                         bool unwanted);

/* Takes over what the engine counted, and notes the threads that it let go on natively. */
enum hp_err hp_note_engine(struct hp_profile *profile, struct hp_live *live,
                           const struct hp_code *code);

#endif
