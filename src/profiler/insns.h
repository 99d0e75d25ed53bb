// SPDX-License-Identifier: MIT
/*
 * Static instructions of a program (pipe.h) as rows of a profile.
 */
#ifndef HP_PROFILER_INSNS_H
#define HP_PROFILER_INSNS_H

#include "hotpath/pipe.h"
#include "profiler/result.h"

/*
 * The profile's index of an instruction; adds it, with its text, function and source line, when it
 * is new. Instructions of one place and code are one row, however many pieces they are in; other
 * code at the same place has another version. The function is the one whose symbol it lies in, else
 * that of its block, else (on a wrong path) the nearest before it that was called. HP_PROFILE_NONE:
 * it lies in no module. Brings the code map into the profile first. HP_ERR_NOMEM.
 */
enum hp_err hp_result_insn(struct hp_result *result, struct hp_program *program, uint32_t insn,
                           uint32_t *index);

/* What hp_result_insn() remembers; hp_result_free() does it. */
void hp_result_insns_free(struct hp_result_insns *insns);

#endif
