// SPDX-License-Identifier: MIT
/*
 * speedscope's own JSON (docs/export-viewers.md).
 */
#ifndef HP_EXPORT_SPEEDSCOPE_H
#define HP_EXPORT_SPEEDSCOPE_H

#include "export/export.h"

enum hp_err hp_export_speedscope(const struct hp_profile *profile,
                                 const struct hp_export_request *request, FILE *out,
                                 struct hp_export_written *written);

#endif
