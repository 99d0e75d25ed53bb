// SPDX-License-Identifier: MIT
/*
 * Kanata 0004, the log format of Onikiri and the viewer Konata (docs/export-pipeline.md says what is where).
 */
#ifndef HP_EXPORT_KANATA_H
#define HP_EXPORT_KANATA_H

#include "export/log.h"

extern const struct hp_log_format hp_log_kanata;

#endif
