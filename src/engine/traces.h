// SPDX-License-Identifier: MIT
/*
 * How the native engine chooses what it translates as one unit, as text: "net:50".
 */
#ifndef HP_ENGINE_TRACES_H
#define HP_ENGINE_TRACES_H

#include "base/names.h"
#include "base/settings.h"
#include "engine/arena.h"

/* What is usual where something is recorded, as help shows it: see hp_traces_usual(). */
#define HP_TRACES_USUAL "net:5000"

/* What the engine does when traces do not pay. */
enum hp_traces_then { HP_THEN_PLAIN, HP_THEN_LEAVE };

/* The members after `how` are 0 where nothing is predicted. */
struct hp_traces_choice {
    enum hp_traces how;
    uint32_t after; /* executions of a head before its trace is made */
    uint32_t phase; /* traces in a burst that are a new phase; 0: none is */
    uint32_t bail;  /* traces after which it is asked whether they pay; 0: never */
    enum hp_traces_then then;
    uint64_t cache; /* bytes of traces before all are dropped; 0: no limit of their own */
};

/* "net:50,cache=4M", "static", ... */
extern const struct hp_model_family hp_traces_family;

/* By enum hp_traces_event_kind. */
extern const struct hp_name hp_traces_events[];

/* Reads a text. HP_ERR_INVALID: the error text says what is wrong. */
HP_MUST_CHECK enum hp_err hp_traces_parse(const char *text, struct hp_traces_choice *choice);

/* Writes it in the form in which it is read; at most 128 bytes. */
void hp_traces_format(const struct hp_traces_choice *choice, char *text, size_t size);

/* What is usual in a mode. */
struct hp_traces_choice hp_traces_usual(enum hp_record_mode mode);

#endif
