// SPDX-License-Identifier: MIT
/*
 * From what the settings ask for to how a program is watched: which engine, what it records,
 * what is made of it.
 */
#ifndef HP_SESSION_PLAN_H
#define HP_SESSION_PLAN_H

#include "engine/arena.h"
#include "engine/program.h"
#include "session/selection.h"

enum hp_plan_engine { HP_PLAN_NATIVE, HP_PLAN_QEMU };

struct hp_plan {
    struct hp_selection selection;
    enum hp_record_mode mode;
    enum hp_plan_engine engine;
    uint64_t cache_size;
};

/* Names, by the value of the enum; ended by one without a name. */
struct hp_plan_name {
    const char *name, *help;
};

extern const struct hp_plan_name hp_plan_engines[], hp_plan_records[];

/* Checks the words of the settings and that they fit together; all but the engine is decided then.
 * HP_ERR_INVALID: the text says what is wrong. */
enum hp_err hp_plan_settings(const struct hp_session_settings *settings, struct hp_plan *plan);

/*
 * Chooses the engine for the program: the one asked for, else native where it can run the program
 * and is installed. HP_ERR_UNSUPPORTED: what was asked for cannot run it, or cannot record what is
 * wanted.
 */
enum hp_err hp_plan_choose(const struct hp_session_settings *settings,
                           const struct hp_executable *program, struct hp_plan *plan);

#endif
