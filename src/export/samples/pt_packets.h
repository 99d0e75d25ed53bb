// SPDX-License-Identifier: MIT
/*
 * Writes packets of Intel PT, as a processor does that traces user code only.
 */
#ifndef HP_EXPORT_SAMPLES_PT_PACKETS_H
#define HP_EXPORT_SAMPLES_PT_PACKETS_H

#include "export/samples/tracing.h"

/* The packets of a buffer. HP_ERR_NOMEM. */
enum hp_err hp_pt_packets_new(const struct hp_tracing_settings *settings, uint32_t cpu,
                              uint64_t ticks, struct hp_packets **packets);
void hp_pt_packets_free(struct hp_packets *packets);

#endif
