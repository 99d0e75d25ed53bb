// SPDX-License-Identifier: MIT
/*
 * Why an instruction takes its time, as one plain sentence (without a capital letter and a full
 * stop): "waits 41 cycles for the load at foo.c:12, which misses L2 in 38 % of executions".
 *
 * Where every cycle was attributed exactly, the sentence is about the cause that most of the
 * instruction's cycles have; where only latencies are known (sampling) about the stage that takes
 * longest. What it waits for follows when it waits longer than it takes itself, or stands alone
 * when that is next to nothing.
 */
#ifndef HP_REPORT_WHY_H
#define HP_REPORT_WHY_H

#include "hotpath/cycles.h"
#include "hotpath/sample.h"
#include "text/strbuf.h"

/* Executions are retired ones. All zero: nothing is known. */
struct hp_why {
    enum hp_op op;
    bool has_l3;                  /* the machine does: else what misses L2 comes from memory */
    bool causes_known;            /* exactly */
    double causes[HP_CAUSES];     /* cycles an execution */
    double stages[HP_STAGES];     /* cycles an execution */
    double rates[HP_INSN_EVENTS]; /* of executions, 0 ... 1 */
    double trapped;               /* times it was fetched again, an execution */
    /* What it waited for longest. */
    const char *producer;                  /* clean: "the load at foo.c:12"; NULL: not known */
    bool producer_loads;                   /* its rates are worth a word */
    double producer_rates[HP_INSN_EVENTS]; /* as above */
    double wait;                           /* cycles, of an execution that waited for it */
    double waiting;                        /* of executions, how many did: 0 ... 1 */
};

/* Appends the sentence; nothing where nothing is known. */
void hp_why_put(const struct hp_why *why, struct hp_strbuf *text);

/* What a cause means, for people: "loads from memory". */
const char *hp_cause_meaning(enum hp_cause cause);

#endif
