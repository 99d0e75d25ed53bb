// SPDX-License-Identifier: MIT
/*
 * The events of one detector in one run are one "process" of the trace: a track of phases for each
 * process of the program, a counter for each hot spot. Windows in cycles are another. Slices and
 * windows are far from each other in time, so nothing is thinned out.
 */

#include "base/base.h"
#include "base/map64.h"
#include "export/export.h"
#include "report/hotspots/hotspots.h"
#include "text/json.h"
#include "text/number.h"

#define LABEL_COLUMNS 80 /* of a hot spot's name; all its functions are in the arguments */
#define LABEL_NAMES   3
#define MICROSECOND   1000 /* instructions that are shown as one */
#define PHASE_SHARE   0.5  /* of a slice, that makes a hot spot its phase */

/* A slice of a hot spot. */
struct slice {
    int32_t pid; /* of the program */
    uint32_t hotspot;
    const char *label;
    double start, end; /* instructions of the run */
    uint64_t instructions;
};

struct chrome {
    const struct hp_profile *profile;
    struct hp_tables tables;
    struct hp_json json;
    uint32_t process;          /* of the trace: 1, 2, ... */
    struct slice *slices;      /* room for those of a detector */
    struct hp_strings labels;  /* of hot spots */
    struct hp_strbuf text;     /* room for a name */
    uint64_t phases, counters; /* written */
};

static void release(struct chrome *c)
{
    hp_tables_fini(&c->tables);
    free(c->slices);
    hp_strings_fini(&c->labels);
    hp_strbuf_fini(&c->text);
}

/* --- Events ----------------------------------------------------------------------------------- */

/* Begins an event; what only its kind has follows, and then its arguments. */
static void begin_event(struct chrome *c, const char *kind, const char *name, int32_t tid,
                        double start)
{
    hp_json_begin_object(&c->json);
    hp_json_put_string(&c->json, "ph", kind);
    hp_json_put_string(&c->json, "name", name);
    hp_json_put_uint(&c->json, "pid", c->process);
    hp_json_put_int(&c->json, "tid", tid);
    hp_json_put_fixed(&c->json, "ts", start / MICROSECOND, 3);
}

static void end_event(struct chrome *c)
{
    hp_json_end_object(&c->json);
    hp_json_end_object(&c->json);
}

static void put_name(struct chrome *c, const char *kind, int32_t tid, const char *name)
{
    begin_event(c, "M", kind, tid, 0);
    hp_json_put_object(&c->json, "args");
    hp_json_put_string(&c->json, "name", name);
    end_event(c);
}

static void put_counter(struct chrome *c, const char *name, double at, const char *unit,
                        double value)
{
    begin_event(c, "C", name, 0, at);
    hp_json_put_object(&c->json, "args");
    hp_json_put_fixed(&c->json, unit, value, 3);
    end_event(c);
}

/* --- Hot spots -------------------------------------------------------------------------------- */

static const char *function_name(const struct chrome *c, const struct hp_hotspot_function *f)
{
    return f->function == HP_PROFILE_NONE ? "?" : c->tables.functions[f->function];
}

/* "#3 main, strcmp"; NULL: memory ran out. */
static const char *make_label(struct chrome *c, uint32_t hotspot)
{
    struct hp_hotspot_function *functions HP_CLEANUP(hp_free) = NULL;
    struct hp_strbuf cut HP_CLEANUP(hp_strbuf_fini) = {0};
    size_t n;
    if (hp_hotspot_functions(&c->tables, hotspot, &functions, &n) != HP_OK)
        return NULL;
    hp_strbuf_clear(&c->text);
    hp_strbuf_format(&c->text, "#%" PRIu32, c->profile->hotspots[hotspot].number);
    for (size_t i = 0; i < n && i < LABEL_NAMES; i++) {
        hp_strbuf_add(&c->text, i ? ", " : " ");
        hp_strbuf_clean(&c->text, function_name(c, &functions[i]));
    }
    hp_strbuf_cut(&cut, hp_strbuf_text(&c->text), LABEL_COLUMNS, HP_CUT_END);
    return cut.failed ? NULL : hp_strings_add(&c->labels, hp_strbuf_text(&cut), cut.length);
}

static double share(const struct slice *slice)
{
    double width = slice->end - slice->start;
    return width > 0 ? (double)slice->instructions / width : 0;
}

/* Makes the slices of a hot spot and returns how many. A share is shown from its slice on; where
 * the next slice is not there it falls to nothing. */
static size_t put_shares(struct chrome *c, uint32_t hotspot, const char *label,
                         const struct hp_timeline *line, struct slice *slices)
{
    size_t n;
    const struct hp_photspot_slice *rows = hp_items(c->profile, HP_ROW_HOTSPOT_SLICE, hotspot, &n);
    for (size_t i = 0; i < n; i++) {
        double width = (double)rows[i].width, start = (double)rows[i].slice * width;
        /* The last slice of a run may be shorter than the others. */
        double end = line->end > start && line->end < start + width ? line->end : start + width;
        slices[i] = (struct slice){
            c->profile->hotspots[hotspot].pid, hotspot, label, start, end, rows[i].instructions};
        put_counter(c, label, start, "percent", 100 * share(&slices[i]));
        if (i + 1 == n || (double)rows[i + 1].slice * (double)rows[i + 1].width > end)
            put_counter(c, label, end, "percent", 0);
        c->counters++;
    }
    return n;
}

static enum hp_err put_phase(struct chrome *c, const struct slice *phase)
{
    struct hp_hotspot_function *functions HP_CLEANUP(hp_free) = NULL;
    size_t n;
    HP_TRY(hp_hotspot_functions(&c->tables, phase->hotspot, &functions, &n));
    begin_event(c, "X", phase->label, phase->pid, phase->start);
    hp_json_put_fixed(&c->json, "dur", (phase->end - phase->start) / MICROSECOND, 3);
    hp_json_put_string(&c->json, "cat", "phase");
    hp_json_put_object(&c->json, "args");
    hp_json_put_uint(&c->json, "hot spot", c->profile->hotspots[phase->hotspot].number);
    hp_json_put_uint(&c->json, "instructions in it", phase->instructions);
    hp_json_put_fixed(&c->json, "percent", 100 * share(phase), 1);
    hp_json_put_array(&c->json, "functions");
    for (size_t i = 0; i < n; i++)
        hp_json_string(&c->json, function_name(c, &functions[i]));
    hp_json_end_array(&c->json);
    end_event(c);
    c->phases++;
    return HP_OK;
}

/* By process, time, then the heaviest first. */
static int compare_slices(const void *left, const void *right)
{
    const struct slice *a = left, *b = right;
    return HP_COMPARE(a->pid, b->pid) ?: HP_COMPARE(a->start, b->start) ?:
        HP_COMPARE(b->instructions, a->instructions) ?: HP_COMPARE(a->hotspot, b->hotspot);
}

/* Slices behind each other that have the same hot spot for their phase are one phase. */
static enum hp_err put_phases(struct chrome *c, size_t n)
{
    struct slice phase = {0};
    bool open = false;
    qsort(c->slices, n, sizeof *c->slices, compare_slices);
    for (size_t i = 0; i < n; i++) {
        const struct slice *slice = &c->slices[i];
        bool first = i == 0 || slice->pid != slice[-1].pid || slice->start != slice[-1].start;
        if (!first || share(slice) < PHASE_SHARE)
            continue;
        if (open && slice->pid == phase.pid && slice->hotspot == phase.hotspot &&
            slice->start <= phase.end) {
            phase.end = slice->end;
            hp_add_up(&phase.instructions, slice->instructions);
            continue;
        }
        if (open)
            HP_TRY(put_phase(c, &phase));
        phase = *slice;
        open = true;
    }
    return open ? put_phase(c, &phase) : HP_OK;
}

static void put_detection(struct chrome *c, const struct hp_photspot *hotspot, const char *label)
{
    begin_event(c, "i", "detected", hotspot->pid, (double)hotspot->at_instructions);
    hp_json_put_string(&c->json, "s", "t");
    hp_json_put_string(&c->json, "cat", "detection");
    hp_json_put_object(&c->json, "args");
    hp_json_put_string(&c->json, "hot spot", label);
    hp_json_put_uint(&c->json, "branches", hotspot->at_branches);
    hp_json_put_uint(&c->json, "static instructions", hotspot->insns);
    hp_json_put_uint(&c->json, "instructions since", hotspot->after);
    end_event(c);
}

/* The names of a group, and of its tracks: one for each process that has hot spots. */
static enum hp_err put_names(struct chrome *c, const struct hp_photspot *hotspots, size_t n)
{
    struct hp_map64 known HP_CLEANUP(hp_map64_fini) = {0};
    hp_strbuf_clear(&c->text);
    hp_strbuf_add(&c->text, "hot spots, ");
    hp_strbuf_clean(&c->text, hotspots->detector);
    if (c->profile->run.runs > 1)
        hp_strbuf_format(&c->text, ", run %" PRIu32, hotspots->run);
    put_name(c, "process_name", 0, hp_strbuf_text(&c->text));
    for (size_t i = 0; i < n; i++) {
        int32_t pid = hotspots[i].pid;
        if (hp_map64_get(&known, (uint32_t)pid) != HP_MAP64_NONE)
            continue;
        hp_strbuf_clear(&c->text);
        hp_strbuf_format(&c->text, "phases of process %" PRId32, pid);
        put_name(c, "thread_name", pid, hp_strbuf_text(&c->text));
        HP_TRY(hp_map64_put(&known, (uint32_t)pid, 1));
    }
    return HP_OK;
}

/* The hot spots of a detector in a run, from `first` to before `end`. */
static enum hp_err put_group(struct chrome *c, uint32_t first, uint32_t end)
{
    const struct hp_photspot *hotspots = c->profile->hotspots;
    struct hp_timeline line;
    size_t n = 0;
    c->process++;
    hp_timeline_fit(&c->tables, first, end - first, SIZE_MAX, &line);
    HP_TRY(put_names(c, &hotspots[first], end - first));
    for (uint32_t i = first; i < end; i++) {
        const char *label = make_label(c, i);
        if (!label)
            return hp_fail_nomem();
        put_detection(c, &hotspots[i], label);
        n += put_shares(c, i, label, &line, c->slices + n);
    }
    return put_phases(c, n);
}

static enum hp_err put_hotspots(struct chrome *c)
{
    const struct hp_photspot *hotspots = c->profile->hotspots;
    uint32_t end, n = (uint32_t)c->profile->n_hotspots;
    for (uint32_t first = 0; first < n; first = end) {
        for (end = first + 1; end < n && hotspots[end].run == hotspots[first].run &&
                              strcmp(hotspots[end].detector, hotspots[first].detector) == 0;)
            end++;
        HP_TRY(put_group(c, first, end));
    }
    return HP_OK;
}

/* --- Windows in cycles ------------------------------------------------------------------------ */

/* Cycles an instruction, by the thread's own instructions. */
static void put_windows(struct chrome *c)
{
    const struct hp_profile *p = c->profile;
    if (!p->n_windows)
        return;
    c->process++;
    put_name(c, "process_name", 0, "cycles, by the instructions of each thread");
    for (size_t i = 0; i < p->n_windows; i++) {
        const struct hp_pwindow *window = &p->windows[i];
        hp_strbuf_clear(&c->text);
        hp_strbuf_format(&c->text, "CPI, thread %" PRId32, p->threads[window->thread].tid);
        put_counter(c, hp_strbuf_text(&c->text), (double)window->at, "cpi",
                    hp_number_share(window->cycles, window->instructions));
        c->counters++;
    }
}

/* --- The file --------------------------------------------------------------------------------- */

static enum hp_err put_all(struct chrome *c)
{
    const struct hp_profile *p = c->profile;
    hp_json_begin_object(&c->json);
    hp_json_put_string(&c->json, "displayTimeUnit", "ns");
    hp_json_put_object(&c->json, "otherData");
    hp_json_put_string(&c->json, "time", "instructions: one is shown as one nanosecond");
    hp_json_put_string(&c->json, "program",
                       p->run.command && p->run.command[0] ? p->run.command[0] : "");
    hp_json_put_string(&c->json, "version", p->run.version);
    hp_json_end_object(&c->json);
    hp_json_put_array(&c->json, "traceEvents");
    HP_TRY(put_hotspots(c));
    put_windows(c);
    hp_json_end_array(&c->json);
    hp_json_end_object(&c->json);
    return c->text.failed ? hp_fail_nomem() : hp_json_finish(&c->json);
}

static enum hp_err write_chrome(struct hp_export_request *request)
{
    const struct hp_profile *p = request->profile;
    struct chrome c HP_CLEANUP(release) = {.profile = p, .json = {.out = request->out, .lines = 2}};
    if (request->module || request->table || request->metric)
        return hp_fail(HP_ERR_INVALID, "the format 'chrome' has no use for --%s",
                       request->module  ? "module"
                       : request->table ? "table"
                                        : "metric");
    if (!p->n_hotspots && !p->n_windows)
        return hp_fail(HP_ERR_INVALID,
                       "the profile has no phases: no hot spots (record it with --profile "
                       "exact,hotspots), and no windows in cycles (--machine modern)");
    HP_TRY(hp_tables_init(&c.tables, p));
    HP_TRY(hp_tables_count_blocks(&c.tables));
    HP_TRY(hp_new(&c.slices, p->n_hotspot_slices, sizeof *c.slices));
    HP_TRY(put_all(&c));
    request->written = (struct hp_export_written){.unit = "slices and windows",
                                                  .written = c.counters,
                                                  .total = p->n_hotspot_slices + p->n_windows};
    snprintf(request->written.detail, sizeof request->written.detail,
             "%" PRIu64 " phases of %zu hot spots", c.phases, p->n_hotspots);
    return HP_OK;
}

const struct hp_export_format hp_format_chrome = {
    .name = "chrome",
    .summary = "phases as trace events, for Perfetto and chrome://tracing",
    .write = write_chrome,
    .functions = true,
    .inlined = true,
};
