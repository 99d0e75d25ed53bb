// SPDX-License-Identifier: MIT
#include "export/autofdo.h"
#include "export/bolt.h"
#include "export/callgrind.h"
#include "export/champsim.h"
#include "export/chrome.h"
#include "export/drcov.h"
#include "export/export.h"
#include "export/folded.h"
#include "export/kanata.h"
#include "export/lcov.h"
#include "export/llvm.h"
#include "export/o3.h"
#include "export/pprof.h"
#include "export/simpoint.h"
#include "export/speedscope.h"

#include <stdio.h>
#include <string.h>

static const struct hp_export_format formats[] = {
    {"kanata", "a pipeline log for Konata", HP_EXPORT_TIMINGS, .log = &hp_log_kanata},
    {"o3", "a pipeline log as gem5's O3PipeView, for o3-pipeview.py and Konata", HP_EXPORT_TIMINGS,
     .log = &hp_log_o3},
    {"champsim", "a trace of instructions for ChampSim", HP_EXPORT_STREAM,
     .stream = &hp_stream_champsim},
    {"simpoint", "basic block vectors for SimPoint", HP_EXPORT_STREAM,
     .stream = &hp_stream_simpoint},
    {"bolt", "fdata, a profile for llvm-bolt -data=", HP_EXPORT_PROFILE, .write = hp_export_bolt},
    {"bolt-aggregated", "a pre-aggregated profile for perf2bolt and llvm-bolt --pa",
     HP_EXPORT_PROFILE, .write = hp_export_bolt_aggregated},
    {"callgrind", "costs, calls and jumps, for KCachegrind and callgrind_annotate",
     HP_EXPORT_PROFILE, .write = hp_export_callgrind},
    {"pprof", "calling contexts, for pprof and what reads its files", HP_EXPORT_PROFILE,
     .write = hp_export_pprof},
    {"folded", "calling contexts, a line each, for flame graphs", HP_EXPORT_PROFILE,
     .write = hp_export_folded},
    {"speedscope", "calling contexts by thread, for speedscope", HP_EXPORT_PROFILE,
     .write = hp_export_speedscope},
    {"drcov", "which blocks were executed, for Lighthouse and others", HP_EXPORT_PROFILE,
     .write = hp_export_drcov},
    {"blocks-text", "the same as lines, module+offset, for scripts", HP_EXPORT_PROFILE,
     .write = hp_export_blocks_text},
    {"chrome", "phases as trace events, for Perfetto and chrome://tracing", HP_EXPORT_PROFILE,
     .write = hp_export_chrome},
    {"llvm-sample", "a sample profile for clang's -fprofile-sample-use, as text", HP_EXPORT_PROFILE,
     .write = hp_export_llvm_sample},
    {"autofdo", "text for AutoFDO's create_llvm_prof --profiler=text", HP_EXPORT_PROFILE,
     .write = hp_export_autofdo},
    {"lcov", "coverage by source lines: a tracefile for lcov and genhtml", HP_EXPORT_PROFILE,
     .write = hp_export_lcov},
};

#define N_FORMATS (sizeof formats / sizeof *formats)

const struct hp_export_format *hp_export_formats(size_t *n)
{
    *n = N_FORMATS;
    return formats;
}

enum hp_err hp_export_find(const char *name, const struct hp_export_format **format)
{
    char names[512];
    int length = 0;
    for (size_t i = 0; i < N_FORMATS; i++) {
        if (name && strcmp(formats[i].name, name) == 0) {
            *format = &formats[i];
            return HP_OK;
        }
        if (length >= 0 && (size_t)length < sizeof names)
            length += snprintf(names + length, sizeof names - (size_t)length, "%s%s", i ? ", " : "",
                               formats[i].name);
    }
    if (!name)
        return hp_fail(HP_ERR_INVALID, "no format given: --format is one of %s", names);
    return hp_fail(HP_ERR_INVALID, "there is no format '%s'; there are: %s", name, names);
}
