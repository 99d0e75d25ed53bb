// SPDX-License-Identifier: MIT
/*
 * Static instructions of a program (pipe.h) as rows of a profile.
 */
#ifndef HP_PROFILER_INSNS_H
#define HP_PROFILER_INSNS_H

#include "hotpath/pipe.h"
#include "profiler/result.h"

/*
 * The profile's index of an instruction. Adds it, with its text, function and source line, when it
 * is new. Instructions with the same place and code are one row, however many pieces they are in;
 * different code at the same place has another version. The function is the one whose symbol
 * contains it, else that of its block, else (on a wrong path) the nearest called function before
 * it. HP_PROFILE_NONE: it lies in no module. Brings the code map into the profile first.
 * HP_ERR_NOMEM.
 */
enum hp_err hp_result_insn(struct hp_result *result, struct hp_program *program, uint32_t insn,
                           uint32_t *index);

/* Frees the state of hp_result_insn(); called by hp_result_free(). */
void hp_result_insns_free(struct hp_result_insns *insns);

#endif
