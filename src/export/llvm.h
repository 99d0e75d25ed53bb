// SPDX-License-Identifier: MIT
/*
 * Sample profiles for clang's -fprofile-sample-use (docs/export-optimizers.md).
 */
#ifndef HP_EXPORT_LLVM_H
#define HP_EXPORT_LLVM_H

#include "export/export.h"

/* The text form. A sample is an execution. */
enum hp_err hp_export_llvm_sample(const struct hp_profile *profile,
                                  const struct hp_export_request *request, FILE *out,
                                  struct hp_export_written *written);

#endif
