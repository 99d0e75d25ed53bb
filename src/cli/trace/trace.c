// SPDX-License-Identifier: MIT
#include "cli/trace/trace.h"

#include "engine/trace/replay.h"

enum hp_err hp_open_trace(struct hp_open_trace *trace, const char *path)
{
    HP_TRY(hp_trace_reader_open(path, &trace->reader));
    return hp_code_new(hp_trace_reader_info(trace->reader)->run.arch, &trace->code);
}

void hp_open_trace_close(struct hp_open_trace *trace)
{
    hp_pipeline_free(trace->pipeline);
    hp_code_free(trace->code);
    hp_trace_reader_close(trace->reader);
}

enum hp_err hp_open_trace_replay(struct hp_open_trace *trace, struct hp_profiler *profiler,
                                 bool with_addresses)
{
    uint64_t damaged;
    HP_TRY(hp_pipeline_new(trace->code, NULL, NULL, &(struct hp_region){0}, &trace->pipeline));
    HP_TRY(hp_pipeline_add(trace->pipeline, profiler));
    if (with_addresses && hp_trace_reader_info(trace->reader)->run.addresses) {
        hp_trace_reader_want_addresses(trace->reader);
        hp_pipeline_expect_addresses(trace->pipeline);
    }
    return hp_replay(trace->reader, trace->code, hp_pipeline_consumer(trace->pipeline), false,
                     &damaged);
}
