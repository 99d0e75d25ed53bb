// SPDX-License-Identifier: MIT
/*
 * Where a machine model and a processor disagree: what both say of an execution of an instruction,
 * and of functions and loops together (docs/diff.md).
 */
#ifndef HP_DIFF_FIDELITY_H
#define HP_DIFF_FIDELITY_H

#include "report/report.h"
#include "report/tables.h"

enum hp_fidelity_by { HP_FIDELITY_RUN, HP_FIDELITY_FUNCTION, HP_FIDELITY_LOOP, HP_FIDELITY_INSN };
#define HP_FIDELITY_KINDS 4

/* A number of an execution, or how many of these there were. */
enum hp_fidelity_number {
    HP_FIDELITY_CYCLES, /* from map (dispatch) to completion */
    HP_FIDELITY_RETIRE, /* from then to retirement */
    HP_FIDELITY_TIMES,  /* executions */
    HP_FIDELITY_EVENTS, /* from here on, by enum hp_insn_event: how often it has the event */
    HP_FIDELITY_NUMBERS = HP_FIDELITY_EVENTS + HP_INSN_EVENTS
};
/* "cycles", "retire", "executions", or the event's. */
const char *hp_fidelity_name(enum hp_fidelity_number number);

/* What is compared; the tallies are of all its instructions that both know. */
struct hp_fidelity_item {
    uint32_t insn; /* the first of them */
    uint32_t loop; /* HP_PROFILE_NONE: none, or they are of none */
    struct hp_pinsn_tally processor, model;
    double gap; /* cycles of all executions that are surely too many or too few: between the
                   nearest ends of both intervals; 0 also of too few samples */
};

struct hp_fidelity {
    struct hp_tables tables; /* of both profiles in one */
    struct hp_insns processor, model;
    struct hp_fidelity_item *items[HP_FIDELITY_KINDS]; /* the largest gap first */
    size_t n[HP_FIDELITY_KINDS];
    uint64_t time, common; /* of the processor: all, and in instructions that both know */
};

/* A number as both say it, and the first through the second; false: one does not know it. */
struct hp_fidelity_pair {
    struct hp_estimate processor, model, ratio;
};
bool hp_fidelity_pair(const struct hp_fidelity *fidelity, const struct hp_fidelity_item *item,
                      enum hp_fidelity_number number, struct hp_fidelity_pair *pair);
/* Whether there are enough samples of it: an interval of a few misses rare long waits. */
#define HP_FIDELITY_SAMPLES 10
bool hp_fidelity_trusted(const struct hp_fidelity_item *item);
/* Whether their intervals have nothing in common. */
bool hp_fidelity_differs(const struct hp_fidelity_pair *pair);

/* `processor`: imported samples of instructions; it is added to `model`, which must outlive the
 * result. HP_ERR_INVALID: one is not what it should be, or they are of different programs; the text
 * says which. HP_ERR_NOMEM. */
HP_MUST_CHECK enum hp_err hp_fidelity_make(const struct hp_profile *processor,
                                           struct hp_profile *model, struct hp_fidelity **fidelity);
void hp_fidelity_free(struct hp_fidelity *fidelity);

struct hp_fidelity_print {
    const char *processor_name, *model_name;
    struct hp_report_options report; /* format (text or JSON), top, color, width, full_names */
};
HP_MUST_CHECK enum hp_err hp_fidelity_print(const struct hp_fidelity *fidelity,
                                            const struct hp_fidelity_print *print, FILE *out);

#endif
