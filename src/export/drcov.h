// SPDX-License-Identifier: MIT
/*
 * Coverage: which blocks were executed, for tools that colour a disassembly.
 */
#ifndef HP_EXPORT_DRCOV_H
#define HP_EXPORT_DRCOV_H

#include "export/export.h"

/* DynamoRIO's drcov, version 2: a table of modules, and 8 bytes for each block. */
enum hp_err hp_export_drcov(const struct hp_profile *profile,
                            const struct hp_export_request *request, FILE *out,
                            struct hp_export_written *written);

/* A line for each block: "module+offset", the module without directories, the offset in hexadecimal. */
enum hp_err hp_export_blocks_text(const struct hp_profile *profile,
                                  const struct hp_export_request *request, FILE *out,
                                  struct hp_export_written *written);

#endif
