// SPDX-License-Identifier: MIT
/*
 * pprof's profile.proto, compressed, for pprof and what reads it (docs/export-viewers.md).
 */
#ifndef HP_EXPORT_PPROF_H
#define HP_EXPORT_PPROF_H

#include "export/export.h"

enum hp_err hp_export_pprof(const struct hp_profile *profile,
                            const struct hp_export_request *request, FILE *out,
                            struct hp_export_written *written);

#endif
