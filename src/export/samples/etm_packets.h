// SPDX-License-Identifier: MIT
/*
 * Writes packets of Arm ETM (ETMv4), as a processor does that traces user code only, and puts them
 * into frames.
 */
#ifndef HP_EXPORT_SAMPLES_ETM_PACKETS_H
#define HP_EXPORT_SAMPLES_ETM_PACKETS_H

#include "export/samples/tracing.h"

/* What HP_PERF_ETM_CONFIG says of such packets. */
uint32_t hp_etm_config(const struct hp_tracing_settings *settings);

/* The packets of a buffer, which begin on a processor. HP_ERR_NOMEM. */
enum hp_err hp_etm_packets_new(const struct hp_tracing_settings *settings, uint32_t cpu,
                               uint64_t ticks, struct hp_packets **packets);
void hp_etm_packets_free(struct hp_packets *packets);

/* These are all that the kernel writes at once: puts them into frames. */
void hp_etm_packets_finish(struct hp_packets *packets);

#endif
