// SPDX-License-Identifier: MIT
/*
 * Static instructions of a program (pipe.h) as rows of a profile.
 */
#ifndef HP_PROFILER_INSNS_H
#define HP_PROFILER_INSNS_H

#include "hotpath/pipe.h"
#include "profiler/result.h"

/* The profile's index of an instruction; adds it, with its text, function and source line, when it is new. Instructions of one place and code
 * are one row, however many pieces they are in. HP_PROFILE_NONE: it lies in no module. */
enum hp_err hp_result_insn(struct hp_result *result, struct hp_program *program, uint32_t insn,
                           uint32_t *index);

#endif
