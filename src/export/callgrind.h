// SPDX-License-Identifier: MIT
/*
 * Callgrind's format, for KCachegrind and callgrind_annotate: costs by instruction and source line, calls, jumps (docs/export-viewers.md).
 */
#ifndef HP_EXPORT_CALLGRIND_H
#define HP_EXPORT_CALLGRIND_H

#include "export/export.h"

enum hp_err hp_export_callgrind(const struct hp_profile *profile,
                                const struct hp_export_request *request, FILE *out,
                                struct hp_export_written *written);

#endif
