// SPDX-License-Identifier: MIT
#include "import/itrace/buffer.h"

#include "base/base.h"

#define WINDOW (256 * 1024)

enum hp_err hp_itrace_buffer_open(const struct hp_perf_reader *reader,
                                  const struct hp_aux_piece *pieces, size_t n,
                                  const struct hp_itrace_stop *stops, size_t n_stops,
                                  struct hp_itrace_buffer *b)
{
    *b = (struct hp_itrace_buffer){.reader = reader,
                                   .piece = pieces,
                                   .end = pieces + n,
                                   .stop = stops,
                                   .stops_end = stops + n_stops,
                                   .begins = true};
    for (size_t i = 0; i < n && b->room < WINDOW; i++)
        b->room += pieces[i].size < WINDOW ? pieces[i].size : WINDOW;
    if (b->room > WINDOW)
        b->room = WINDOW;
    return hp_new(&b->window, b->room, 1);
}

void hp_itrace_buffer_close(struct hp_itrace_buffer *b)
{
    free(b->window);
    b->window = NULL;
}

/* How much of the piece can be read before something is missing. */
static uint64_t to_read(struct hp_itrace_buffer *b)
{
    uint64_t offset = hp_itrace_buffer_offset(b), left = b->piece->size - b->taken;
    while (b->stop < b->stops_end && b->stop->offset < offset + b->begins)
        b->stop++;
    if (b->stop < b->stops_end && b->stop->offset - offset < left)
        left = b->stop->offset - offset;
    return left;
}

/* What comes next does not follow from what is in the window. */
static bool is_interrupted(const struct hp_itrace_buffer *b)
{
    uint64_t offset = hp_itrace_buffer_offset(b);
    if (b->stop < b->stops_end && b->stop->offset == offset)
        return true;
    return b->taken == 0 && b->piece[-1].offset + b->piece[-1].size != offset;
}

bool hp_itrace_buffer_read(struct hp_itrace_buffer *b)
{
    memmove(b->window, b->window + b->at, b->n - b->at);
    b->n -= b->at;
    b->at = 0;
    while (b->piece < b->end && b->taken == b->piece->size) {
        b->piece++;
        b->taken = 0;
    }
    if (b->piece == b->end)
        return false;
    uint64_t n = to_read(b);
    if (!b->begins && is_interrupted(b)) {
        b->interrupted = true;
        return false;
    }
    b->begins = false;
    if (n > b->room - b->n)
        n = b->room - b->n;
    size_t got = hp_perf_read_at(b->reader, b->piece->at + b->taken, b->window + b->n, (size_t)n);
    b->n += got;
    b->taken += got;
    if (got == n)
        return true;
    b->piece = b->end; /* the file has become shorter */
    return got > 0;
}

bool hp_itrace_buffer_go_on(struct hp_itrace_buffer *b)
{
    if (!b->interrupted)
        return false;
    b->interrupted = false;
    b->begins = true;
    b->n = b->at = 0;
    return true;
}
