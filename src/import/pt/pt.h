// SPDX-License-Identifier: MIT
/*
 * Recordings of Intel PT: the complete stream, from perf.data. docs/import.md.
 *
 * A buffer is that of a thread, or of a processor: then context switches tell who ran when. Buffers
 * are read in the order of these: a thread that goes from one processor to another goes on there.
 */
#ifndef HP_IMPORT_PT_PT_H
#define HP_IMPORT_PT_PT_H

#include "hotpath/profile.h"
#include "import/pt/sides.h"
#include "import/pt/threads.h"

/* What is read, and who is told. */
struct hp_pt_recording {
    struct hp_perf_reader *reader; /* that has been read once */
    struct hp_import_spaces *spaces;
    struct hp_pt_sides *sides;                       /* settled */
    const char *(*name)(void *context, int32_t tid); /* of a thread; NULL: not known */
    void *context;
};

/* Whether the file has such a recording. */
bool hp_pt_is_in(struct hp_perf_reader *reader);

/* Delivers it; `*counts` tells what became of it. HP_ERR_NOMEM, or what the consumer says. */
enum hp_err hp_pt_deliver(const struct hp_pt_recording *recording, struct hp_code *code,
                          struct hp_consumer *consumer, struct hp_pt_counts *counts);

/* Adds what became of it to a profile: statistics, and notes. */
enum hp_err hp_pt_note(const struct hp_pt_counts *counts, struct hp_profile *profile);

#endif
