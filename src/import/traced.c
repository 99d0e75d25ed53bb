// SPDX-License-Identifier: MIT
/* Traces of instructions: a session takes them. */
#include "import/state.h"

#include "base/base.h"
#include "session/recorded.h"

/* One that a session takes. */
struct traced {
    struct hp_recorded base; /* first */
    struct hp_import *import;
    struct hp_itrace_counts counts;
    char machine[160];
};

static const char *name_of_thread(void *context, int32_t tid)
{
    const struct hp_import *im = context;
    uint32_t known = hp_map64_get(&im->name_of, (uint32_t)tid);
    return known == HP_MAP64_NONE ? NULL : im->names[known].name;
}

static enum hp_err deliver_traced(struct hp_recorded *recorded, struct hp_code *code,
                                  struct hp_consumer *consumer)
{
    struct traced *traced = (struct traced *)recorded;
    struct hp_import *im = traced->import;
    const struct hp_itrace_recording recording = {.reader = im->reader,
                                                  .spaces = im->spaces,
                                                  .sides = &im->sides,
                                                  .name = name_of_thread,
                                                  .context = im};
    return hp_itrace_deliver(&recording, code, consumer, &traced->counts);
}

static enum hp_err note_traced(struct hp_recorded *recorded, struct hp_profile *profile)
{
    const struct traced *traced = (struct traced *)recorded;
    struct hp_import *im = traced->import;
    im->profile = profile;
    im->attr = HP_PERF_NO_ATTR;
    enum hp_err err = hp_itrace_note(&traced->counts, profile);
    if (err == HP_OK)
        err = hp_import_note_files(im);
    if (err == HP_OK)
        err = hp_import_note_losses(im);
    im->profile = NULL;
    return err;
}

enum hp_err hp_import_traced(struct hp_import *im, struct hp_profile **profile)
{
    const struct hp_session_settings none = {0};
    const struct hp_import_request *request = im->request;
    const struct hp_session_settings *settings = request->settings ? request->settings : &none;
    struct traced traced = {.base = {.deliver = deliver_traced, .note = note_traced}, .import = im};
    const struct hp_itrace_kind *kind = hp_itrace_find(im->reader);
    const char *machine = hp_perf_machine(im->reader);
    if (machine[0] && hp_import_arch(machine) != hp_itrace_arch(kind))
        return hp_fail(HP_ERR_FORMAT, "%s: a trace of %s, recorded on %s", request->path,
                       hp_itrace_name(kind), machine);
    snprintf(traced.machine, sizeof traced.machine, "%s, recorded by perf %s", machine,
             hp_perf_version(im->reader));
    traced.base.run = (struct hp_trace_run){.version = HP_VERSION,
                                            .engine = "perf",
                                            .arch = hp_itrace_arch(kind),
                                            .command = hp_perf_command(im->reader),
                                            .directory = "",
                                            .machine = traced.machine};
    HP_TRY(hp_itrace_sides_settle(&im->sides));
    return request->trace ? hp_session_keep(settings, &traced.base, request->trace)
                          : hp_session_take(settings, &traced.base, profile);
}
