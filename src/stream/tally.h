// SPDX-License-Identifier: MIT
/*
 * The tally: from counters and pairs to edges, for an engine that counts and does not record the
 * order (HP_RECORD_COUNT). One per thread; it takes the place of a cursor.
 *
 * Its words are pairs: the id of a segment that was left by an indirect transfer, then the id of
 * the segment that was entered; and events between pairs. Counters say how often every other
 * segment ran and how it was left, as far as that does not follow from the rest. A block that was
 * interrupted (HP_WORD_PART) and continues later as a segment of its own is joined again: it counts
 * once, as in a cursor.
 */
#ifndef HP_STREAM_TALLY_H
#define HP_STREAM_TALLY_H

#include "hotpath/stream.h"

struct hp_tally;

/* `source` may be NULL. Only `event` of the sink is used, for losses, forks, execs and modules, and
 * `syscall`. The tally keeps the pointers. */
enum hp_err hp_tally_new(struct hp_code *code, struct hp_segment_source *source,
                         struct hp_sink *sink, struct hp_tally **tally);
void hp_tally_free(struct hp_tally *tally);

/* Any words are allowed; invalid ones are a loss. Fails only with HP_ERR_NOMEM. */
enum hp_err hp_tally_words(struct hp_tally *tally, const uint32_t *words, size_t n);

/* The segment ran to its end `count` times and was left through its branch's target (`direction` 1)
 * or by falling through (0). Errors as above. */
enum hp_err hp_tally_count(struct hp_tally *tally, uint32_t segment, uint32_t direction,
                           uint64_t count);

/* These ways out of segments were not counted, whatever the counts say: they follow from the rest
 * (stream/balance.h). */
enum hp_err hp_tally_derive(struct hp_tally *tally, const struct hp_derived *edges, size_t n);

/* All edges; call it once, after all words and counts. Valid for the lifetime of the tally. */
enum hp_err hp_tally_edges(struct hp_tally *tally, const struct hp_edge_count **edges, size_t *n);

/* Blocks and instructions are valid after hp_tally_edges(). */
const struct hp_cursor_stats *hp_tally_stats(const struct hp_tally *tally);

#endif
