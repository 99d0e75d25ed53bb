// SPDX-License-Identifier: MIT
/* All that was executed, as a processor with Arm ETM traces it. */
#include "export/samples/etm_packets.h"
#include "export/samples/tracing.h"

static enum hp_err begin(struct hp_perf_file *file, FILE *out,
                         const struct hp_tracing_settings *settings)
{
    return hp_perf_file_begin_etm(file, out, settings->cpus, hp_etm_config(settings),
                                  settings->raw);
}

static const struct hp_tracing_kind kind = {
    .arch = HP_ARCH_AARCH64,
    .refusal = "Arm ETM is of AArch64",
    .parse = hp_etm_parse,
    .begin = begin,
    .open = hp_etm_packets_new,
    .close = hp_etm_packets_free,
    .finish = hp_etm_packets_finish,
};

static enum hp_err open_etm(void *state)
{
    return hp_tracing_open(state, &kind);
}

const struct hp_export_format hp_format_perf_etm = {
    .name = "perf-etm",
    .summary = "all that was executed, as packets of Arm ETM in perf.data: for perf",
    .settings = &hp_etm_family,
    .block = hp_tracing_block,
    .thread = hp_tracing_thread,
    .event = hp_tracing_event,
    .state_size = sizeof(struct hp_tracing),
    .open = open_etm,
    .close = hp_tracing_close,
    .fini = hp_tracing_fini,
    .all = true,
    .all_usual = true,
};
