// SPDX-License-Identifier: MIT
/*
 * Traces of instructions, Intel PT and Arm ETM: the complete stream, from perf.data.
 * docs/import.md.
 *
 * A buffer is that of a thread, or of a processor: then context switches, or ids in the packets,
 * tell who ran when. Buffers of processors are read in the order of time: a thread that goes from
 * one to another goes on there.
 */
#ifndef HP_IMPORT_ITRACE_ITRACE_H
#define HP_IMPORT_ITRACE_ITRACE_H

#include "hotpath/profile.h"
#include "import/itrace/sides.h"
#include "import/itrace/threads.h"

/* What is read, and who is told. */
struct hp_itrace_recording {
    struct hp_perf_reader *reader; /* that has been read once */
    struct hp_import_spaces *spaces;
    struct hp_itrace_sides *sides;                   /* settled */
    const char *(*name)(void *context, int32_t tid); /* of a thread; NULL: not known */
    void *context;
};

struct hp_itrace_kind;

/* The kind of trace in the file; NULL: it has none. Its name, and of which code it is. */
const struct hp_itrace_kind *hp_itrace_find(struct hp_perf_reader *reader);
const char *hp_itrace_name(const struct hp_itrace_kind *kind);
enum hp_arch hp_itrace_arch(const struct hp_itrace_kind *kind);

/* Delivers it; `*counts` tells what became of it. HP_ERR_NOMEM, HP_ERR_FORMAT,
 * HP_ERR_UNSUPPORTED, or what the consumer says. */
enum hp_err hp_itrace_deliver(const struct hp_itrace_recording *recording, struct hp_code *code,
                              struct hp_consumer *consumer, struct hp_itrace_counts *counts);

/* Adds what became of it to a profile: statistics, and notes. */
enum hp_err hp_itrace_note(const struct hp_itrace_counts *counts, struct hp_profile *profile);

#endif
