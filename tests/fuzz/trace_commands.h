// SPDX-License-Identifier: MIT
/*
 * The commands that read a trace.
 */
#ifndef HP_FUZZ_TRACE_COMMANDS_H
#define HP_FUZZ_TRACE_COMMANDS_H

#include "support.h"

/* Checks the trace, and does one other thing with it, by number. */
static inline void trace_commands(const char *path, unsigned which)
{
    static const char *const others[][14] = {
        {"info"},
        {"info", "--json"},
        {"dump"},
        {"dump", "--words"},
        {"dump", "--code", "--addresses"},
        {"replay", "--json", "--salvage"},
        {"replay", "--json", "--salvage", "-p", "exact,loops,paths,predictions,hotspots",
         "--hotspots", "merten,candidate=4,detect=7", "--loop-model", "daprof", "--table", "512x4"},
        {"replay", "--salvage", "--from", "main", "--for", "100"},
        {"replay", "--json", "--salvage", "--machine", "arm9", "-p", "exact,paths", "--metric",
         "l1i"},
        {"replay", "--salvage", "--machine", "alpha21264", "--windows", "period=20,detail=5,ramp=2",
         "--sample", "profileme,interval=3", "-p", "cycles,instructions"},
        {"replay", "--view", "all", "-p", "exact,loops,paths", "--paths", "extended-call:2"},
    };
    const char *check[] = {"trace", "check", path, NULL};
    const char *words[20] = {"trace"};
    size_t n = 1;
    for (const char *const *word = others[which % (sizeof others / sizeof *others)]; *word; word++)
        words[n++] = *word;
    words[n] = path;
    fuzz_command(check);
    fuzz_command(words);
}

#endif
