// SPDX-License-Identifier: MIT
/*
 * Pipeline logs: every instruction that a core fetched, with the cycles in which it came and went,
 * in a format that a viewer reads. A log numbers the instructions of a thread, finds out which one
 * another waited for, and names them. The state of a format begins with it.
 */
#ifndef HP_EXPORT_LOG_H
#define HP_EXPORT_LOG_H

#include "base/strings.h"
#include "export/export.h"

#define HP_LOG_NONE UINT64_MAX

struct hp_log {
    struct hp_stream_setup setup; /* first */
    struct hp_log_place *places;  /* by static id */
    size_t n_places;
    struct hp_strings strings;     /* their names */
    uint64_t first, fetched, last; /* cycles: the first fetch, the last one, the last that left */
};

/* An instruction of a log. What is pointed to is valid until the next one. */
struct hp_log_insn {
    const struct hp_timing *timing;
    const struct hp_static *code;
    uint64_t id;       /* 0, 1, ... in the order of fetch */
    uint64_t producer; /* id of the one it waited for longest to become ready; HP_LOG_NONE */
    const char *text;  /* disassembled */
    const char *where; /* "main+0x12, sort.c:34"; "" when that is not known */
};

/* The next instruction, in fetch order. HP_ERR_INVALID: not in order, or unknown. HP_ERR_NOMEM. */
enum hp_err hp_log_next(struct hp_log *log, const struct hp_timing *timing,
                        struct hp_log_insn *insn);

/* Releases what a struct hp_log holds. */
void hp_log_fini(void *log);

/* The events of a timing: "L1D miss, from L2; mispredicted". At most `size` bytes, terminated. */
void hp_log_describe(const struct hp_timing *timing, char *text, size_t size);

/* Why an instruction could not be mapped, in short: "rob"; NULL: it was not held up. */
const char *hp_log_stall(const struct hp_timing *timing);

#endif
