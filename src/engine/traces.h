// SPDX-License-Identifier: MIT
/*
 * How the native engine chooses what it translates as one unit, as text: "net:50".
 */
#ifndef HP_ENGINE_TRACES_H
#define HP_ENGINE_TRACES_H

#include "base/names.h"
#include "engine/arena.h"

/* What is usual where something is recorded, as help shows it: see hp_traces_usual(). */
#define HP_TRACES_USUAL "net:5000"

struct hp_traces_choice {
    enum hp_traces how;
    uint32_t after; /* executions of a head before its trace is made; 0: `how` takes no number */
};

/* By enum hp_traces, and by enum hp_traces_event_kind. */
extern const struct hp_name hp_traces_names[], hp_traces_events[];

/* Reads "net", "net:50", "path-profile:10", "static", "none". HP_ERR_INVALID: the text says what is
 * wrong. */
HP_MUST_CHECK enum hp_err hp_traces_parse(const char *text, struct hp_traces_choice *choice);

/* Writes it in the form in which it is read; at most 32 bytes. */
void hp_traces_format(const struct hp_traces_choice *choice, char *text, size_t size);

/* What is usual in a mode. */
struct hp_traces_choice hp_traces_usual(enum hp_record_mode mode);

#endif
