// SPDX-License-Identifier: MIT
/*
 * The bytes of a buffer that hardware wrote, one after the other: a window of them is in memory.
 */
#ifndef HP_IMPORT_ITRACE_BUFFER_H
#define HP_IMPORT_ITRACE_BUFFER_H

#include "import/aux.h"
#include "import/reader.h"

/* What comes from an offset on does not follow from what is before. */
struct hp_itrace_stop {
    uint64_t offset;
    bool lost;   /* there the kernel had no room for some */
    bool begins; /* what it wrote at once begins there: */
    bool raw;    /* Arm ETM: it is not in frames */
    int32_t cpu;
};

struct hp_itrace_buffer {
    const struct hp_perf_reader *reader;
    const struct hp_aux_piece *piece, *end; /* the next to read from */
    uint64_t taken;                         /* bytes of it */
    const struct hp_itrace_stop *stop, *stops_end;
    uint8_t *window;
    size_t room, n, at; /* bytes: of the window, in it, and used of these */
    bool begins;        /* what is read next follows nothing */
    bool interrupted;   /* what is in the window is not followed by what comes next */
};

/* Of the pieces of one buffer, and stops, sorted. Keeps the pointers. HP_ERR_NOMEM. */
enum hp_err hp_itrace_buffer_open(const struct hp_perf_reader *reader,
                                  const struct hp_aux_piece *pieces, size_t n,
                                  const struct hp_itrace_stop *stops, size_t n_stops,
                                  struct hp_itrace_buffer *buffer);
void hp_itrace_buffer_close(struct hp_itrace_buffer *buffer);

/* Reads more behind what is left of the window, which moves to its beginning; false: there is no
 * more, or it does not follow. */
bool hp_itrace_buffer_read(struct hp_itrace_buffer *buffer);

/* Makes `size` bytes available, if there are as many before an interruption; false: there are none.
 */
static inline bool hp_itrace_buffer_has(struct hp_itrace_buffer *b, size_t size)
{
    while (b->n - b->at < size && !b->interrupted && b->piece < b->end)
        if (!hp_itrace_buffer_read(b))
            break;
    return b->at < b->n;
}

/* What follows an interruption; false: there was none. */
bool hp_itrace_buffer_go_on(struct hp_itrace_buffer *buffer);

/* Where the next byte to be read is, in all that the buffer ever had. */
static inline uint64_t hp_itrace_buffer_offset(const struct hp_itrace_buffer *b)
{
    return b->piece->offset + b->taken;
}

#endif
