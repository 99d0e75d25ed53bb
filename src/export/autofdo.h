// SPDX-License-Identifier: MIT
/*
 * The text that AutoFDO's tools read with --profiler=text (docs/export-optimizers.md).
 */
#ifndef HP_EXPORT_AUTOFDO_H
#define HP_EXPORT_AUTOFDO_H

#include "export/export.h"

/* For create_llvm_prof and create_gcov. A sample is an execution. */
enum hp_err hp_export_autofdo(const struct hp_profile *profile,
                              const struct hp_export_request *request, FILE *out,
                              struct hp_export_written *written);

#endif
