// SPDX-License-Identifier: MIT
/*
 * What the formats that are made of calling contexts share.
 */
#ifndef HP_EXPORT_STACKS_H
#define HP_EXPORT_STACKS_H

#include "export/viewers/names.h"

#define HP_STACKS_DEPTH 4096 /* far more than HP_CONTEXT_DEPTH */

/* HP_ERR_INVALID: the profile has no contexts, or none that a run can have; or something is asked
 * for that cannot be told by context. */
enum hp_err hp_stacks_check(const struct hp_profile *profile,
                            const struct hp_export_request *request, const char *format);

/* The functions of a context, innermost first (HP_PROFILE_NONE: not known); returns how many, at
 * most HP_STACKS_DEPTH of a profile that passed the check. */
size_t hp_stacks_functions(const struct hp_profile *profile, uint32_t context,
                           uint32_t functions[HP_STACKS_DEPTH]);

/* What was written, when it was so many instructions. */
struct hp_export_written hp_stacks_written(const struct hp_profile *profile, uint64_t instructions);

#endif
