// SPDX-License-Identifier: MIT
/* All that was executed, as a processor with Intel PT traces it. */
#include "export/samples/pt_packets.h"
#include "export/samples/tracing.h"

static enum hp_err begin(struct hp_perf_file *file, FILE *out,
                         const struct hp_tracing_settings *settings)
{
    return hp_perf_file_begin_pt(file, out, settings->cpus > 0, settings->returns);
}

static const struct hp_tracing_kind kind = {
    .arch = HP_ARCH_X86_64,
    .refusal = "Intel PT is of x86-64",
    .parse = hp_pt_parse,
    .begin = begin,
    .open = hp_pt_packets_new,
    .close = hp_pt_packets_free,
};

static enum hp_err open_pt(void *state)
{
    return hp_tracing_open(state, &kind);
}

const struct hp_export_format hp_format_perf_pt = {
    .name = "perf-pt",
    .summary = "all that was executed, as packets of Intel PT in perf.data: for perf",
    .settings = &hp_pt_family,
    .block = hp_tracing_block,
    .thread = hp_tracing_thread,
    .event = hp_tracing_event,
    .state_size = sizeof(struct hp_tracing),
    .open = open_pt,
    .close = hp_tracing_close,
    .fini = hp_tracing_fini,
    .all = true,
    .all_usual = true,
};
