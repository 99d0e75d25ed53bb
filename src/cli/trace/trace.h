// SPDX-License-Identifier: MIT
/* A trace that is read. */
#ifndef HP_CLI_TRACE_TRACE_H
#define HP_CLI_TRACE_TRACE_H

#include "base/cleanup.h"
#include "hotpath/trace.h"
#include "profiler/pipeline.h"

struct hp_open_trace {
    struct hp_trace_reader *reader;
    struct hp_code *code;
    struct hp_pipeline *pipeline;
};

/* HP_CLEANUP(hp_open_trace_close) is needed, also when this fails. */
enum hp_err hp_open_trace(struct hp_open_trace *trace, const char *path);
void hp_open_trace_close(struct hp_open_trace *trace);

/* Replays it into a profiler; with the addresses of data, where it has them. */
enum hp_err hp_open_trace_replay(struct hp_open_trace *trace, struct hp_profiler *profiler,
                                 bool with_addresses);

#endif
