// SPDX-License-Identifier: MIT
/*
 * Counts from the paths of a hot path table.
 */
#ifndef HP_EXPORT_FLOWS_TABLE_H
#define HP_EXPORT_FLOWS_TABLE_H

#include "export/flows.h"

/* Adds those of the table to flows that are empty, but know their module. Errors: as
 * hp_flows_new(). */
enum hp_err hp_flows_add_table(struct hp_flows *flows, const char *name);

#endif
