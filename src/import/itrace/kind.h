// SPDX-License-Identifier: MIT
/*
 * What is different between the kinds of traces.
 */
#ifndef HP_IMPORT_ITRACE_KIND_H
#define HP_IMPORT_ITRACE_KIND_H

#include "import/itrace/buffer.h"
#include "import/itrace/itrace.h"
#include "import/itrace/walk.h"

/* A buffer of the recording. */
struct hp_itrace_source {
    int32_t tid, cpu; /* whose it is; -1: it is of the other */
    const struct hp_aux_piece *pieces;
    size_t n_pieces;
    struct hp_itrace_stop *stops;
    size_t n_stops, cap_stops;
};

struct hp_itrace_kind {
    const char *name;
    uint32_t type; /* HP_PERF_AUXTRACE_INTEL_PT, ... */
    enum hp_arch arch;
    bool begins; /* what the kernel puts into a buffer at once follows nothing */
    /* What is known of all buffers, and of the code. HP_ERR_NOMEM; HP_ERR_FORMAT,
     * HP_ERR_UNSUPPORTED: it is not such a trace, or one that cannot be read; the text says why. */
    enum hp_err (*begin)(const struct hp_itrace_recording *recording, struct hp_itrace_code *code,
                         void **state);
    void (*end)(void *state);
    /* Of which parts the buffer of a processor consists, each of packets that follow one another:
     * numbers, at most HP_ITRACE_PARTS. NULL: it is one part, 0. HP_ERR_NOMEM. */
    enum hp_err (*parts)(void *state, const struct hp_itrace_source *source, uint32_t *parts,
                         size_t *n);
    /* Begins to read a part (HP_NO_ID: a whole buffer, that of a thread). HP_ERR_NOMEM. */
    enum hp_err (*open)(void *state, const struct hp_itrace_source *source, uint32_t part,
                        struct hp_itrace_walk **walk);
    void (*close)(struct hp_itrace_walk *walk);
    /* Reads on, until user code is entered at the place `until` among the buffers or behind it
     * (`holds`), or to the end of the buffer (`ended`). HP_ERR_NOMEM, or what the consumer says. */
    enum hp_err (*run)(struct hp_itrace_walk *walk, uint64_t until);
};
#define HP_ITRACE_PARTS 128

extern const struct hp_itrace_kind hp_itrace_pt, hp_itrace_etm;

#endif
