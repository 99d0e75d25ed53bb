// SPDX-License-Identifier: MIT
#include "import/aux.h"

#include "base/base.h"
#include "import/reader.h"

void hp_aux_fini(struct hp_aux *aux)
{
    free(aux->pieces);
    free(aux->info);
}

enum hp_err hp_aux_take_info(struct hp_aux *aux, struct hp_perf_bytes body)
{
    size_t words = hp_perf_left(&body) / 8;
    free(aux->info);
    aux->info = NULL;
    aux->n_info = words > HP_PERF_PT_INFO_COUNT_ ? words : HP_PERF_PT_INFO_COUNT_;
    HP_TRY(hp_new(&aux->info, aux->n_info, sizeof *aux->info));
    aux->type = hp_perf_u32(&body);
    hp_perf_u32(&body);
    for (size_t i = 0; i < aux->n_info; i++)
        aux->info[i] = hp_perf_u64(&body);
    return HP_OK;
}

void hp_aux_take_time(struct hp_aux *aux, struct hp_perf_bytes body)
{
    aux->shift = hp_perf_u64(&body) & 63;
    aux->multiplier = hp_perf_u64(&body);
    aux->zero = hp_perf_u64(&body);
}

uint64_t hp_aux_ns(uint64_t ticks, uint64_t shift, uint64_t multiplier, uint64_t zero)
{
    uint64_t low = ticks & ((UINT64_C(1) << shift) - 1);
    return zero + (ticks >> shift) * multiplier + (low * multiplier >> shift);
}

enum hp_err hp_aux_take_piece(struct hp_aux *aux, struct hp_perf_bytes body, uint64_t at,
                              uint64_t left)
{
    struct hp_aux_piece piece = {.at = at};
    piece.size = hp_perf_u64(&body);
    piece.offset = hp_perf_u64(&body);
    hp_perf_skip(&body, 8);
    piece.index = hp_perf_u32(&body);
    piece.tid = (int32_t)hp_perf_u32(&body);
    piece.cpu = (int32_t)hp_perf_u32(&body);
    if (piece.size > left)
        piece.size = left;
    if (body.bad || !piece.size || piece.offset > UINT64_MAX - piece.size)
        return HP_OK;
    HP_TRY(hp_grow(&aux->pieces, &aux->cap_pieces, aux->n_pieces + 1, sizeof *aux->pieces));
    aux->pieces[aux->n_pieces++] = piece;
    return HP_OK;
}

static int by_place(const void *a, const void *b)
{
    const struct hp_aux_piece *x = a, *y = b;
    return HP_COMPARE(x->index, y->index) ?: HP_COMPARE(x->offset, y->offset)
                                          ?: HP_COMPARE(x->at, y->at);
}

void hp_aux_settle(struct hp_aux *aux)
{
    hp_sort(aux->pieces, aux->n_pieces, sizeof *aux->pieces, by_place);
    for (size_t i = 0; i + 1 < aux->n_pieces; i++) {
        struct hp_aux_piece *piece = &aux->pieces[i], *next = piece + 1;
        if (next->index == piece->index && next->offset - piece->offset < piece->size)
            piece->size = next->offset - piece->offset;
    }
}
