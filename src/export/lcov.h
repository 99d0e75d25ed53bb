// SPDX-License-Identifier: MIT
/*
 * Coverage by source lines, as a tracefile of lcov (docs/export-optimizers.md).
 */
#ifndef HP_EXPORT_LCOV_H
#define HP_EXPORT_LCOV_H

#include "export/export.h"

/* What lcov, genhtml and their kin read. */
enum hp_err hp_export_lcov(const struct hp_profile *profile,
                           const struct hp_export_request *request, FILE *out,
                           struct hp_export_written *written);

#endif
