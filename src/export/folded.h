// SPDX-License-Identifier: MIT
/*
 * Folded stacks, a line each, for flame graphs (docs/export-viewers.md).
 */
#ifndef HP_EXPORT_FOLDED_H
#define HP_EXPORT_FOLDED_H

#include "export/export.h"

enum hp_err hp_export_folded(const struct hp_profile *profile,
                             const struct hp_export_request *request, FILE *out,
                             struct hp_export_written *written);

#endif
