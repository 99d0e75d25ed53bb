// SPDX-License-Identifier: MIT
/*
 * The events of one detector in one run are one "process" of the trace: a track of phases for each
 * process of the program, a counter for each hot spot. Windows in cycles are another. Slices and
 * windows are far from each other in time, so nothing is thinned out.
 */

#include "base/map64.h"
#include "export/export.h"
#include "report/hotspots/hotspots.h"
#include "text/json.h"
#include "text/number.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_COLUMNS 80 /* of a hot spot's name; all its functions are in the arguments */
#define LABEL_NAMES   3
#define PHASE_SHARE   0.5 /* of a slice, that makes a hot spot its phase */

struct chrome {
    const struct hp_profile *profile;
    struct hp_tables tables;
    struct hp_json json;
    uint32_t process;          /* of the trace: 1, 2, ... */
    struct hp_strbuf *labels;  /* by hot spot */
    uint64_t phases, counters; /* written */
};

/* A slice of a hot spot. */
struct slice {
    int32_t pid; /* of the program */
    uint32_t hotspot;
    double start, end; /* instructions of the run */
    uint64_t instructions;
};

/* --- Events ----------------------------------------------------------------------------------- */

static void put_text(struct chrome *c, const char *key, const char *text)
{
    hp_json_put_string(&c->json, key, text);
}

static void put_number(struct chrome *c, const char *key, uint64_t value)
{
    hp_json_put_uint(&c->json, key, value);
}

/* Instructions as microseconds, at a thousandth each. */
static void put_time(struct chrome *c, const char *key, double instructions)
{
    hp_json_put_fixed(&c->json, key, instructions / 1000, 3);
}

/* Begins an event up to its arguments, which follow. */
static void begin_event(struct chrome *c, const char *kind, const char *name, int32_t tid,
                        double start)
{
    hp_json_begin_object(&c->json);
    put_text(c, "ph", kind);
    put_text(c, "name", name);
    put_number(c, "pid", c->process);
    hp_json_put_int(&c->json, "tid", tid);
    put_time(c, "ts", start);
}

static void begin_args(struct chrome *c)
{
    hp_json_put_object(&c->json, "args");
}

static void end_event(struct chrome *c)
{
    hp_json_end_object(&c->json);
    hp_json_end_object(&c->json);
}

static void put_name(struct chrome *c, const char *kind, int32_t tid, const char *name)
{
    begin_event(c, "M", kind, tid, 0);
    begin_args(c);
    put_text(c, "name", name);
    end_event(c);
}

static void put_counter(struct chrome *c, const char *name, double at, const char *unit,
                        double value)
{
    begin_event(c, "C", name, 0, at);
    begin_args(c);
    hp_json_put_fixed(&c->json, unit, value, 3);
    end_event(c);
}

/* --- Names ------------------------------------------------------------------------------------ */

static const char *function_name(const struct chrome *c, const struct hp_hotspot_function *f)
{
    return f->function == HP_PROFILE_NONE ? "?" : c->tables.functions[f->function];
}

/* "#3 main, strcmp" */
static enum hp_err make_label(struct chrome *c, uint32_t hotspot)
{
    struct hp_hotspot_function *functions;
    struct hp_strbuf text = {0}, *label = &c->labels[hotspot];
    size_t n;
    HP_TRY(hp_hotspot_functions(&c->tables, hotspot, &functions, &n));
    hp_strbuf_add(&text, "#");
    hp_strbuf_uint(&text, c->profile->hotspots[hotspot].number);
    for (size_t i = 0; i < n && i < LABEL_NAMES; i++) {
        hp_strbuf_add(&text, i ? ", " : " ");
        hp_strbuf_clean(&text, function_name(c, &functions[i]));
    }
    free(functions);
    hp_strbuf_cut(label, hp_strbuf_text(&text), LABEL_COLUMNS, HP_CUT_END);
    bool failed = text.failed || label->failed;
    hp_strbuf_fini(&text);
    return failed ? hp_fail_nomem() : HP_OK;
}

static enum hp_err put_functions(struct chrome *c, uint32_t hotspot)
{
    struct hp_hotspot_function *functions;
    size_t n;
    HP_TRY(hp_hotspot_functions(&c->tables, hotspot, &functions, &n));
    hp_json_put_array(&c->json, "functions");
    for (size_t i = 0; i < n; i++)
        hp_json_string(&c->json, function_name(c, &functions[i]));
    hp_json_end_array(&c->json);
    free(functions);
    return HP_OK;
}

/* --- Hot spots -------------------------------------------------------------------------------- */

static bool is_same_group(const struct hp_photspot *a, const struct hp_photspot *b)
{
    return a->run == b->run && strcmp(a->detector, b->detector) == 0;
}

static double share(const struct slice *slice)
{
    double width = slice->end - slice->start;
    return width > 0 ? (double)slice->instructions / width : 0;
}

/* By process, time, then the heaviest first. */
static int compare_slices(const void *left, const void *right)
{
    const struct slice *a = left, *b = right;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->instructions != b->instructions)
        return a->instructions > b->instructions ? -1 : 1;
    return a->hotspot < b->hotspot ? -1 : a->hotspot > b->hotspot;
}

/* A share is shown from its slice on; where the next slice is not there it falls to nothing. */
static void put_shares(struct chrome *c, const struct slice *slices, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *label = hp_strbuf_text(&c->labels[slices[i].hotspot]);
        put_counter(c, label, slices[i].start, "percent", 100 * share(&slices[i]));
        if (i + 1 == n || slices[i + 1].start > slices[i].end)
            put_counter(c, label, slices[i].end, "percent", 0);
        c->counters++;
    }
}

static enum hp_err put_phase(struct chrome *c, const struct slice *phase)
{
    const struct hp_photspot *hotspot = &c->profile->hotspots[phase->hotspot];
    begin_event(c, "X", hp_strbuf_text(&c->labels[phase->hotspot]), phase->pid, phase->start);
    put_time(c, "dur", phase->end - phase->start);
    put_text(c, "cat", "phase");
    begin_args(c);
    put_number(c, "hot spot", hotspot->number);
    put_number(c, "instructions in it", phase->instructions);
    hp_json_put_fixed(&c->json, "percent", 100 * share(phase), 1);
    HP_TRY(put_functions(c, phase->hotspot));
    end_event(c);
    c->phases++;
    return HP_OK;
}

/* Slices behind each other that have the same hot spot for their phase are one phase. */
static enum hp_err put_phases(struct chrome *c, struct slice *slices, size_t n)
{
    struct slice phase = {0};
    bool open = false;
    qsort(slices, n, sizeof *slices, compare_slices);
    for (size_t i = 0; i < n; i++) {
        bool first =
            i == 0 || slices[i].pid != slices[i - 1].pid || slices[i].start != slices[i - 1].start;
        if (!first || share(&slices[i]) < PHASE_SHARE)
            continue;
        if (open && slices[i].pid == phase.pid && slices[i].hotspot == phase.hotspot &&
            slices[i].start <= phase.end) {
            phase.end = slices[i].end;
            phase.instructions = hp_saturating_add(phase.instructions, slices[i].instructions);
            continue;
        }
        if (open)
            HP_TRY(put_phase(c, &phase));
        phase = slices[i];
        open = true;
    }
    return open ? put_phase(c, &phase) : HP_OK;
}

static void put_detection(struct chrome *c, uint32_t i)
{
    const struct hp_photspot *hotspot = &c->profile->hotspots[i];
    begin_event(c, "i", "detected", hotspot->pid, (double)hotspot->at_instructions);
    put_text(c, "s", "t");
    put_text(c, "cat", "detection");
    begin_args(c);
    put_text(c, "hot spot", hp_strbuf_text(&c->labels[i]));
    put_number(c, "branches", hotspot->at_branches);
    put_number(c, "static instructions", hotspot->insns);
    put_number(c, "instructions since", hotspot->after);
    end_event(c);
}

/* The slices of a hot spot. The last slice of a run may be shorter than the others. */
static size_t add_slices(const struct chrome *c, uint32_t hotspot, double end, struct slice *slices)
{
    size_t n;
    const struct hp_photspot_slice *rows = hp_hotspot_slices(c->profile, hotspot, &n);
    for (size_t i = 0; i < n; i++) {
        double width = (double)rows[i].width, start = (double)rows[i].slice * width;
        bool last = end > start && end < start + width;
        slices[i] = (struct slice){.pid = c->profile->hotspots[hotspot].pid,
                                   .hotspot = hotspot,
                                   .start = start,
                                   .end = last ? end : start + width,
                                   .instructions = rows[i].instructions};
    }
    return n;
}

/* The tracks of a group: one for each process that has hot spots. */
static enum hp_err put_track_names(struct chrome *c, uint32_t first, uint32_t n)
{
    struct hp_map64 known = {0};
    enum hp_err err = HP_OK;
    char name[64];
    for (uint32_t i = first; i < first + n && err == HP_OK; i++) {
        int32_t pid = c->profile->hotspots[i].pid;
        if (hp_map64_get(&known, (uint32_t)pid) != HP_MAP64_NONE)
            continue;
        snprintf(name, sizeof name, "phases of process %" PRId32, pid);
        put_name(c, "thread_name", pid, name);
        err = hp_map64_put(&known, (uint32_t)pid, 1);
    }
    hp_map64_fini(&known);
    return err;
}

static enum hp_err put_group_names(struct chrome *c, uint32_t first, uint32_t n)
{
    const struct hp_photspot *hotspot = &c->profile->hotspots[first];
    struct hp_strbuf name = {0};
    hp_strbuf_add(&name, "hot spots, ");
    hp_strbuf_clean(&name, hotspot->detector);
    if (c->profile->run.runs > 1) {
        hp_strbuf_add(&name, ", run ");
        hp_strbuf_uint(&name, hotspot->run);
    }
    put_name(c, "process_name", 0, hp_strbuf_text(&name));
    bool failed = name.failed;
    hp_strbuf_fini(&name);
    return failed ? hp_fail_nomem() : put_track_names(c, first, n);
}

static size_t count_slices(const struct hp_profile *profile, uint32_t first, uint32_t n)
{
    size_t sum = 0, some;
    for (uint32_t i = first; i < first + n; i++) {
        hp_hotspot_slices(profile, i, &some);
        sum += some;
    }
    return sum;
}

/* The hot spots of a detector in a run, `n` from `first` on. */
static enum hp_err put_group(struct chrome *c, uint32_t first, uint32_t n)
{
    struct hp_timeline line;
    size_t n_slices = 0;
    struct slice *slices = calloc(count_slices(c->profile, first, n) + 1, sizeof *slices);
    if (!slices)
        return hp_fail_nomem();
    c->process++;
    hp_timeline_fit(&c->tables, first, n, SIZE_MAX, &line);
    enum hp_err err = put_group_names(c, first, n);
    for (uint32_t i = first; i < first + n && err == HP_OK; i++) {
        err = make_label(c, i);
        put_detection(c, i);
        size_t added = add_slices(c, i, line.end, slices + n_slices);
        put_shares(c, slices + n_slices, added);
        n_slices += added;
    }
    if (err == HP_OK)
        err = put_phases(c, slices, n_slices);
    free(slices);
    return err;
}

static enum hp_err put_hotspots(struct chrome *c)
{
    const struct hp_profile *p = c->profile;
    uint32_t end;
    for (uint32_t first = 0; first < p->n_hotspots; first = end) {
        for (end = first + 1;
             end < p->n_hotspots && is_same_group(&p->hotspots[first], &p->hotspots[end]);)
            end++;
        HP_TRY(put_group(c, first, end - first));
    }
    return HP_OK;
}

/* --- Windows in cycles ------------------------------------------------------------------------ */

/* Cycles an instruction, by the thread's own instructions. */
static void put_windows(struct chrome *c)
{
    const struct hp_profile *p = c->profile;
    char name[64];
    if (!p->n_windows)
        return;
    c->process++;
    put_name(c, "process_name", 0, "cycles, by the instructions of each thread");
    for (size_t i = 0; i < p->n_windows; i++) {
        const struct hp_pwindow *window = &p->windows[i];
        snprintf(name, sizeof name, "CPI, thread %" PRId32, p->threads[window->thread].tid);
        double cpi =
            window->instructions ? (double)window->cycles / (double)window->instructions : 0;
        put_counter(c, name, (double)window->at, "cpi", cpi);
        c->counters++;
    }
}

/* --- The file --------------------------------------------------------------------------------- */

static enum hp_err put_all(struct chrome *c)
{
    const struct hp_profile *p = c->profile;
    hp_json_begin_object(&c->json);
    put_text(c, "displayTimeUnit", "ns");
    hp_json_put_object(&c->json, "otherData");
    put_text(c, "time", "instructions: one is shown as one nanosecond");
    put_text(c, "program", p->run.command && p->run.command[0] ? p->run.command[0] : "");
    put_text(c, "version", p->run.version);
    hp_json_end_object(&c->json);
    hp_json_put_array(&c->json, "traceEvents");
    HP_TRY(put_hotspots(c));
    put_windows(c);
    hp_json_end_array(&c->json);
    hp_json_end_object(&c->json);
    return hp_json_finish(&c->json);
}

static enum hp_err check(const struct hp_profile *profile, const struct hp_export_request *request)
{
    if (request->module || request->table || request->metric)
        return hp_fail(HP_ERR_INVALID, "the format 'chrome' has no use for --%s",
                       request->module  ? "module"
                       : request->table ? "table"
                                        : "metric");
    if (!profile->n_hotspots && !profile->n_windows)
        return hp_fail(HP_ERR_INVALID,
                       "the profile has no phases: no hot spots (record it with --profile "
                       "exact,hotspots), and no windows in cycles (--machine modern)");
    return HP_OK;
}

static enum hp_err write_chrome(const struct hp_profile *profile,
                                const struct hp_export_request *request, FILE *out,
                                struct hp_export_written *written)
{
    struct chrome c = {.profile = profile, .json = {.out = out, .lines = 2}};
    HP_TRY(check(profile, request));
    HP_TRY(hp_tables_init(&c.tables, profile));
    enum hp_err err = hp_tables_count_blocks(&c.tables);
    c.labels = calloc(profile->n_hotspots + 1, sizeof *c.labels);
    if (err == HP_OK)
        err = c.labels ? put_all(&c) : hp_fail_nomem();
    *written = (struct hp_export_written){.unit = "slices and windows",
                                          .written = c.counters,
                                          .total = profile->n_hotspot_slices + profile->n_windows};
    snprintf(written->detail, sizeof written->detail, "%" PRIu64 " phases of %zu hot spots",
             c.phases, profile->n_hotspots);
    for (size_t i = 0; c.labels && i < profile->n_hotspots; i++)
        hp_strbuf_fini(&c.labels[i]);
    free(c.labels);
    hp_tables_fini(&c.tables);
    return err;
}

const struct hp_export_format hp_format_chrome = {
    .name = "chrome",
    .summary = "phases as trace events, for Perfetto and chrome://tracing",
    .write = write_chrome,
};
