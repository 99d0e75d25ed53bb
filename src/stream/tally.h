// SPDX-License-Identifier: MIT
/*
 * The tally: from counters and pairs to edges, for an engine that counts and does not record the
 * order (HP_RECORD_COUNT). One a thread; it stands where a cursor stands otherwise.
 *
 * Its words are pairs: the id of a segment that was left by an indirect transfer, then the id of
 * the segment that was entered; and events between pairs. Counters say how often every other
 * segment was run and how it was left. A block that was interrupted (HP_WORD_PART) and goes on
 * later as a segment of its own is put together again: it counts once, as a cursor counts it.
 */
#ifndef HP_STREAM_TALLY_H
#define HP_STREAM_TALLY_H

#include "hotpath/stream.h"

struct hp_tally;

/* `source` may be NULL. Of the sink only `event` is used: losses, forks, execs and modules. The
 * tally keeps the pointers. */
enum hp_err hp_tally_new(struct hp_code *code, struct hp_segment_source *source,
                         struct hp_sink *sink, struct hp_tally **tally);
void hp_tally_free(struct hp_tally *tally);

/* Any words are allowed; nonsense is a loss. Fails only with HP_ERR_NOMEM. */
enum hp_err hp_tally_words(struct hp_tally *tally, const uint32_t *words, size_t n);

/* The segment was run to its end `count` times and left by its branch's target (`direction` 1) or
 * by falling through (0). As above. */
enum hp_err hp_tally_count(struct hp_tally *tally, uint32_t segment, uint32_t direction,
                           uint64_t count);

/* Everything, once, after all words and counts. Valid as long as the tally. */
enum hp_err hp_tally_edges(struct hp_tally *tally, const struct hp_edge_count **edges, size_t *n);

/* Blocks and instructions are there after hp_tally_edges(). */
const struct hp_cursor_stats *hp_tally_stats(const struct hp_tally *tally);

#endif
