// SPDX-License-Identifier: MIT
/* The records of SPE in a perf.data file. */
#include "base/base.h"
#include "import/spe.h"

#define CHUNK 65536

/* Bytes of a buffer that were read and not taken. */
struct room {
    uint8_t bytes[CHUNK];
    size_t n;
    uint64_t offset; /* of the first, in the buffer */
    uint64_t bad;
};

bool hp_spe_is_in(struct hp_perf_reader *reader)
{
    const struct hp_aux *aux = hp_perf_aux(reader);
    return aux->type == HP_PERF_AUXTRACE_ARM_SPE && aux->n_pieces;
}

/* Takes the whole records; a room full of one is none. */
static enum hp_err take_records(struct room *room, const struct hp_aux_piece *piece,
                                hp_spe_take take, void *context)
{
    struct hp_spe_sample sample;
    struct hp_spe spe = {.at = room->bytes, .end = room->bytes + room->n, .offset = room->offset};
    while (hp_spe_next(&spe, &sample))
        HP_TRY(take(context, piece, &sample));
    if (room->n == CHUNK && spe.at == room->bytes) {
        spe.bad += room->n;
        spe.offset += room->n;
        spe.at = spe.end;
    }
    room->bad += spe.bad;
    room->n = (size_t)(spe.end - spe.at);
    room->offset = spe.offset;
    memmove(room->bytes, spe.at, room->n);
    return HP_OK;
}

static enum hp_err take_piece(struct hp_perf_reader *reader, struct room *room,
                              const struct hp_aux_piece *piece, hp_spe_take take, void *context)
{
    for (uint64_t at = 0; at < piece->size;) {
        size_t most = CHUNK - room->n;
        size_t want = piece->size - at < most ? (size_t)(piece->size - at) : most;
        size_t got = hp_perf_read_at(reader, piece->at + at, room->bytes + room->n, want);
        if (!got)
            break;
        at += got;
        room->n += got;
        HP_TRY(take_records(room, piece, take, context));
    }
    return HP_OK;
}

enum hp_err hp_spe_read(struct hp_perf_reader *reader, hp_spe_take take, void *context,
                        uint64_t *bad)
{
    struct hp_aux *aux = hp_perf_aux(reader);
    struct room *room HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new(&room, 1, sizeof *room));
    room->n = 0;
    room->bad = 0;
    hp_aux_settle(aux);
    for (size_t i = 0; i < aux->n_pieces; i++) {
        const struct hp_aux_piece *piece = &aux->pieces[i];
        bool goes_on = i && piece->index == piece[-1].index &&
                       piece->offset == piece[-1].offset + piece[-1].size;
        if (!goes_on) {
            room->n = 0;
            room->offset = piece->offset;
        }
        HP_TRY(take_piece(reader, room, piece, take, context));
    }
    hp_add_up(bad, room->bad);
    return HP_OK;
}
