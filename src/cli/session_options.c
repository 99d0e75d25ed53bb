// SPDX-License-Identifier: MIT
#include "cli/session_options.h"

#define AT(member) offsetof(struct hp_cli_session, member)

const struct hp_option hp_options_profilers[] = {
    {"profile", 'p', HP_OPT_TEXT, AT(settings.profile), "LIST",
     "which profilers, joined by commas (default: exact);\n'hotpath help profilers' lists them",
     HP_WORDS_PROFILERS},
    {"paths", 0, HP_OPT_TEXT, AT(settings.paths), "TYPE",
     "which paths: bl (default), wpp, extended-loop:N,\nextended-call:N, forward, or a table "
     "of operations",
     0},
    {"metric", 0, HP_OPT_TEXT, AT(settings.metric), "NAME",
     "what to count along paths: executions (default),\ninstructions; with --machine l1i, "
     "l1d, l2, itlb, dtlb,\nmispredictions, power, power-cycle",
     0},
    {"table", 0, HP_OPT_TEXTS, AT(settings.tables), "SIZE",
     "model a hot path table too: vaswani, 512x4,\nrandom-admission, ... (may be repeated)", 0},
    {"window", 0, HP_OPT_COUNT, AT(settings.window), "N",
     "compare the tables every N instructions as well", 0},
    {"max-paths", 0, HP_OPT_COUNT, AT(settings.max_paths), "N",
     "distinct paths to keep, a thread (default 33M)", 0},
    {"wpp", 0, HP_OPT_TEXT, AT(settings.wpp), "FILE",
     "write the whole program path: every path, in order\n(for hotpath wpp)", HP_WORDS_FILES},
    {"wpp-memory", 0, HP_OPT_SIZE, AT(settings.wpp_memory), "SIZE",
     "memory for its grammar (default 256M)", 0},
    {"predict", 0, HP_OPT_TEXTS, AT(settings.schemes), "SCHEME",
     "measure a prediction scheme: net:50, path-profile:50,\nboa:50, net-rate:50, "
     "rate-table:50 (may be repeated)",
     0},
    {"loop-model", 0, HP_OPT_TEXTS, AT(settings.loop_models), "MODEL",
     "model a loop profiler in hardware beside the exact\nloops: daprof, daprof,calls, "
     "frequent, ranges (may be repeated)",
     0},
    {"hotspots", 0, HP_OPT_TEXT, AT(settings.hotspots), "NAME",
     "which hot spot detector: merten (default), dense; and\nchanges to it: merten,candidate=8", 0},
    {"machine", 0, HP_OPT_TEXT, AT(settings.machine), "NAME",
     "model a machine ('hotpath help machines' lists them), or\na file. Alone: where the cycles "
     "go, from windows of\nthe run",
     HP_WORDS_MACHINES},
    {"sample", 0, HP_OPT_TEXTS, AT(settings.samplers), "SAMPLER",
     "sample instructions on the machine: profileme, with\nchanges: "
     "profileme,interval=1000,pairs (may be repeated)",
     0},
    {"windows", 0, HP_OPT_TEXT, AT(settings.windows), "WINDOWS",
     "what is run in cycles: all, or\nperiod=1M,detail=50K,ramp=2K,warm=all", 0},
    {0},
};

const struct hp_option hp_options_record[] = {
    {"record", 0, HP_OPT_TEXT, AT(settings.record), "WHAT",
     "what the engine records, for measuring it: none,\ncount, stream or memory", HP_WORDS_RECORDS},
    {0},
};

const struct hp_option hp_options_region[] = {
    {"from", 0, HP_OPT_TEXT, AT(settings.from), "FUNCTION", "start when FUNCTION is first entered",
     0},
    {"after", 0, HP_OPT_COUNT, AT(settings.after), "N", "skip N instructions (10M, 1G, ...)", 0},
    {"for", 0, HP_OPT_COUNT, AT(settings.length), "N",
     "profile N instructions; the program goes on\nunobserved", 0},
    {0},
};

const struct hp_option hp_options_engine[] = {
    {"engine", 'e', HP_OPT_TEXT, AT(settings.engine), "NAME",
     "how to watch the program: native (default where\nit can) or qemu", HP_WORDS_ENGINES},
    {"no-follow", 0, HP_OPT_FLAG, AT(settings.no_follow), NULL, "do not observe children", 0},
    {"cache-size", 0, HP_OPT_SIZE, AT(cache_size), "SIZE",
     "translated code that the native engine keeps, a\nprocess (default 256M)", 0},
    {"aslr", 0, HP_OPT_FLAG, AT(settings.randomize), NULL,
     "let addresses differ from run to run (native engine)", 0},
    {"sysroot", 0, HP_OPT_TEXT, AT(settings.sysroot), "DIR",
     "where a foreign program's libraries are\n(default: /usr/TRIPLE)", HP_WORDS_DIRECTORIES},
    {"quiet", 'q', HP_OPT_FLAG, AT(quiet), NULL, "no progress, no closing line", 0},
    {0},
};

enum hp_err hp_cli_session_begin(struct hp_cli_session *s)
{
    if (s->cache_size == 0)
        return hp_fail(HP_ERR_INVALID, "--cache-size is from 1M to 1G, not 0 bytes");
    s->settings.cache_size = s->cache_size;
    hp_progress_of_session(&s->progress, &s->settings, s->quiet);
    return HP_OK;
}
