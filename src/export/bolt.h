// SPDX-License-Identifier: MIT
/*
 * Profiles for BOLT (docs/export-optimizers.md).
 */
#ifndef HP_EXPORT_BOLT_H
#define HP_EXPORT_BOLT_H

#include "export/export.h"

/* fdata: what llvm-bolt -data= and merge-fdata read. */
enum hp_err hp_export_bolt(const struct hp_profile *profile,
                           const struct hp_export_request *request, FILE *out,
                           struct hp_export_written *written);

/* What perf2bolt and llvm-bolt -p take with --pa. */
enum hp_err hp_export_bolt_aggregated(const struct hp_profile *profile,
                                      const struct hp_export_request *request, FILE *out,
                                      struct hp_export_written *written);

#endif
