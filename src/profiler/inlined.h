// SPDX-License-Identifier: MIT
/* Inlined functions of the code that was executed. */
#ifndef HP_PROFILER_INLINED_H
#define HP_PROFILER_INLINED_H

#include "profiler/result.h"

/*
 * After the profilers are finished: adds to the profile which functions were inlined where. Of all
 * code, where all source lines are wanted. Where only those of functions are, of functions that
 * matter (HP_INLINED_LEAST of the run, callees included), unless their debug information takes long
 * to read beside what was executed there. Else of none.
 */
enum hp_err hp_result_inlined(struct hp_result *result);

#define HP_INLINED_LEAST 200 /* a part in so many */
#define HP_INLINED_SMALL                                                                           \
    (UINT64_C(512) << 10)  /* bytes of debug information that are always read;                     \
                            */
#define HP_INLINED_WORTH 4 /* of more, so many instructions were executed for each byte */

#endif
