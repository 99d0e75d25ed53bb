// SPDX-License-Identifier: MIT
/*
 * The file is read twice: first for what says which code was where, then for the samples. So
 * samples need not be in order, and only the former is kept.
 */
#include "import/import.h"

#include "base/base.h"
#include "import/chains.h"
#include "import/stacks.h"
#include "profiler/exact/exact.h"
#include "profiler/result.h"

#include <stdarg.h>

#define MAX_COUNT                                                                                  \
    (UINT64_C(1) << 62) /* of instructions in a profile: the file says nonsense else */

/* What was said by a record about which code was where. */
struct change {
    uint64_t time, number; /* those of the same time are in the order of the file */
    uint32_t type;         /* of the record */
    int32_t pid, other;    /* of a fork: the parent */
    struct hp_import_mapping mapping;
    char *path, *build_id;
};

/* A name of a thread. */
struct named {
    int32_t tid;
    char name[16];
};

struct import {
    const struct hp_import_request *request;
    struct hp_perf_reader *reader;
    struct hp_import_spaces *spaces;
    struct hp_code *code;
    struct hp_functions *functions;
    struct hp_import_stacks *stacks; /* NULL: the event has none */
    struct hp_import_chains *chains;
    struct hp_profiler *exact;
    struct hp_result *result;
    struct hp_profile *profile;
    struct change *changes;
    size_t n_changes, cap_changes;
    struct named *names;
    size_t n_names, cap_names;
    struct hp_map64 name_of; /* tid -> name */
    struct hp_import_thread *threads;
    size_t n_threads, cap_threads;
    struct hp_map64 thread_of; /* pid << 32 | tid */
    uint32_t attr;             /* the event */
    uint64_t *n_samples;       /* by event */
    size_t cap_samples;
    uint64_t samples, period; /* of the event, and what they stand for */
    uint64_t first, last;     /* times */
    uint64_t lost, bad, unknown_events;
};

static void fini(struct import *im)
{
    for (size_t i = 0; i < im->n_threads; i++)
        hp_import_thread_fini(&im->threads[i]);
    for (size_t i = 0; i < im->n_changes; i++) {
        free(im->changes[i].path);
        free(im->changes[i].build_id);
    }
    free(im->changes);
    free(im->names);
    free(im->threads);
    free(im->n_samples);
    hp_map64_fini(&im->name_of);
    hp_map64_fini(&im->thread_of);
    hp_result_free(im->result);
    if (im->exact)
        im->exact->ops->free(im->exact);
    hp_stacks_free(im->stacks);
    hp_chains_free(im->chains);
    hp_functions_free(im->functions);
    hp_code_free(im->code);
    hp_spaces_free(im->spaces);
    hp_perf_close(im->reader);
    hp_profile_free(im->profile);
}

static void say(const struct import *im, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(const struct import *im, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    hp_perf_one_line(text);
    if (im->request->say)
        im->request->say(im->request->context, text);
}

/* --- First: what was where -------------------------------------------------------------------- */

static enum hp_err add_change(struct import *im, const struct change *change)
{
    HP_TRY(hp_grow(&im->changes, &im->cap_changes, im->n_changes + 1, sizeof *im->changes));
    im->changes[im->n_changes++] = *change;
    return HP_OK;
}

static enum hp_err take_mapping(struct import *im, const struct hp_perf_record *record,
                                uint64_t time)
{
    struct hp_perf_bytes body = record->body;
    char path[4096], build_id[HP_PERF_BUILD_ID_TEXT] = "";
    struct change change = {.time = time, .type = PERF_RECORD_MMAP2};
    change.pid = (int32_t)hp_perf_u32(&body);
    hp_perf_u32(&body);
    change.mapping.start = hp_perf_u64(&body);
    change.mapping.end = hp_saturating_add(change.mapping.start, hp_perf_u64(&body));
    change.mapping.offset = hp_perf_u64(&body);
    change.mapping.time = time;
    if (record->type == PERF_RECORD_MMAP2) {
        uint8_t id[24] = {0};
        if (hp_perf_left(&body) >= sizeof id)
            memcpy(id, body.at, sizeof id);
        if (record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
            hp_perf_build_id_text(id + 4, id[0], build_id);
        hp_perf_skip(&body, sizeof id + 8);
    }
    hp_perf_text(&body, hp_perf_left(&body), path, sizeof path);
    if (body.bad || (record->misc & PERF_RECORD_MISC_MMAP_DATA) || change.pid == -1) {
        im->bad += body.bad;
        return HP_OK; /* of the kernel, or no code */
    }
    change.path = strdup(path);
    change.build_id = build_id[0] ? strdup(build_id) : NULL;
    bool failed = !change.path || (build_id[0] && !change.build_id);
    enum hp_err err = failed ? hp_fail_nomem() : add_change(im, &change);
    if (err != HP_OK) {
        free(change.path);
        free(change.build_id);
    }
    return err;
}

/* The last name is the one that counts. */
static enum hp_err take_name(struct import *im, const struct hp_perf_record *record, uint64_t time)
{
    struct hp_perf_bytes body = record->body;
    int32_t pid = (int32_t)hp_perf_u32(&body), tid = (int32_t)hp_perf_u32(&body);
    struct named named = {.tid = tid};
    hp_perf_text(&body, hp_perf_left(&body), named.name, sizeof named.name);
    uint32_t known = hp_map64_get(&im->name_of, (uint32_t)tid);
    if (known != HP_MAP64_NONE) {
        im->names[known] = named;
    } else {
        HP_TRY(hp_grow(&im->names, &im->cap_names, im->n_names + 1, sizeof *im->names));
        HP_TRY(hp_map64_put(&im->name_of, (uint32_t)tid, (uint32_t)im->n_names));
        im->names[im->n_names++] = named;
    }
    if (!(record->misc & PERF_RECORD_MISC_COMM_EXEC) || pid != tid)
        return HP_OK;
    return add_change(im, &(struct change){.time = time, .type = PERF_RECORD_COMM, .pid = pid});
}

static enum hp_err take_fork(struct import *im, const struct hp_perf_record *record)
{
    struct hp_perf_bytes body = record->body;
    struct change change = {.type = PERF_RECORD_FORK};
    change.pid = (int32_t)hp_perf_u32(&body);
    change.other = (int32_t)hp_perf_u32(&body);
    hp_perf_skip(&body, 8);
    change.time = hp_perf_u64(&body);
    return add_change(im, &change);
}

static enum hp_err take_lost(struct import *im, const struct hp_perf_record *record)
{
    struct hp_perf_bytes body = record->body;
    if (record->type == PERF_RECORD_LOST)
        hp_perf_skip(&body, 8);
    hp_add_up(&im->lost, hp_perf_u64(&body));
    return HP_OK;
}

/* Which events there are samples of. */
static enum hp_err count_sample(struct import *im, const struct hp_perf_record *record)
{
    struct hp_perf_sampled sample;
    const struct hp_perf_attrs *attrs = hp_perf_attrs(im->reader);
    if (!hp_perf_take_sample(attrs, record, &sample)) {
        im->bad++;
        return HP_OK;
    }
    if (sample.attr == HP_PERF_NO_ATTR) {
        im->unknown_events++;
        return HP_OK;
    }
    HP_TRY(hp_grow(&im->n_samples, &im->cap_samples, attrs->n, sizeof *im->n_samples));
    im->n_samples[sample.attr]++;
    return HP_OK;
}

static enum hp_err take_side(struct import *im, const struct hp_perf_record *record)
{
    uint64_t time = hp_perf_time_of(hp_perf_attrs(im->reader), record);
    switch (record->type) {
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2: return take_mapping(im, record, time);
    case PERF_RECORD_COMM: return take_name(im, record, time);
    case PERF_RECORD_FORK: return take_fork(im, record);
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES: return take_lost(im, record);
    case PERF_RECORD_SAMPLE: return count_sample(im, record);
    default: return HP_OK;
    }
}

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    return HP_COMPARE(x->time, y->time) ?: HP_COMPARE(x->number, y->number);
}

static enum hp_err apply(struct import *im, const struct change *change)
{
    const char *known = NULL;
    switch (change->type) {
    case PERF_RECORD_MMAP2:
        if (!change->build_id)
            known = hp_perf_build_id_of(im->reader, change->path);
        return hp_spaces_map(im->spaces, change->pid, &change->mapping, change->path,
                             change->build_id ? change->build_id
                             : known          ? known
                                              : "");
    case PERF_RECORD_FORK:
        return hp_spaces_fork(im->spaces, change->pid, change->other, change->time);
    default: return hp_spaces_exec(im->spaces, change->pid, change->time);
    }
}

static enum hp_err read_sides(struct import *im)
{
    struct hp_perf_record record;
    while (hp_perf_next(im->reader, &record))
        HP_TRY(take_side(im, &record));
    if (hp_perf_no_memory(im->reader))
        return hp_fail_nomem();
    HP_TRY(hp_grow(&im->n_samples, &im->cap_samples, hp_perf_attrs(im->reader)->n + 1,
                   sizeof *im->n_samples));
    HP_TRY(hp_spaces_new(im->request->files, im->request->n_files, &im->spaces));
    for (size_t i = 0; i < im->n_changes; i++)
        im->changes[i].number = i;
    hp_sort(im->changes, im->n_changes, sizeof *im->changes, by_time);
    for (size_t i = 0; i < im->n_changes; i++)
        HP_TRY(apply(im, &im->changes[i]));
    return hp_spaces_settle(im->spaces);
}

/* --- The event -------------------------------------------------------------------------------- */

static bool has_stacks(const struct hp_perf_attr *attr)
{
    return attr->sample_type & PERF_SAMPLE_BRANCH_STACK;
}

static const struct hp_perf_attr *event(const struct import *im)
{
    return &hp_perf_attrs(im->reader)->all[im->attr];
}

/* "cycles:u", or what it is in numbers. */
static void name_event(const struct hp_perf_attr *attr, char *text, size_t size)
{
    static const char *const hardware[] = {"cycles",       "instructions", "cache-references",
                                           "cache-misses", "branches",     "branch-misses"};
    uint64_t config = attr->config & UINT32_MAX;
    if (attr->name[0])
        snprintf(text, size, "%s", attr->name);
    else if (attr->type == PERF_TYPE_HARDWARE && config < sizeof hardware / sizeof *hardware)
        snprintf(text, size, "%s", hardware[config]);
    else
        snprintf(text, size, "type %u, 0x%" PRIx64, attr->type, attr->config);
}

/* The one that was asked for; else the first with branch stacks and samples, else with samples. */
static enum hp_err choose_event(struct import *im)
{
    const struct hp_perf_attrs *attrs = hp_perf_attrs(im->reader);
    const char *asked = im->request->event;
    char name[80];
    uint32_t best = HP_PERF_NO_ATTR;
    for (uint32_t i = 0; i < attrs->n; i++) {
        name_event(&attrs->all[i], name, sizeof name);
        if (!im->n_samples[i] || (asked && strcmp(asked, name) != 0))
            continue;
        if (best == HP_PERF_NO_ATTR ||
            (has_stacks(&attrs->all[i]) && !has_stacks(&attrs->all[best])))
            best = i;
    }
    im->attr = best;
    if (best != HP_PERF_NO_ATTR)
        return HP_OK;
    if (asked)
        return hp_fail(HP_ERR_INVALID, "%s has no samples of an event '%s'", im->request->path,
                       asked);
    if (hp_perf_traces(im->reader))
        return hp_fail(HP_ERR_UNSUPPORTED,
                       "%s has traces of hardware (Intel PT, Arm ETM or SPE), which hotpath does "
                       "not read yet",
                       im->request->path);
    return hp_fail(HP_ERR_INVALID, "%s has no samples", im->request->path);
}

/* Which kinds of branches are recorded; none: those of a trace, which has all. */
#define KINDS                                                                                      \
    (PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_ANY_RETURN | PERF_SAMPLE_BRANCH_IND_CALL |   \
     PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_IND_JUMP | PERF_SAMPLE_BRANCH_CALL)

/* Only stacks of all taken branches say what was executed between them. */
static enum hp_err check_stacks(const struct import *im)
{
    uint64_t type = event(im)->branch_type;
    if (!has_stacks(event(im)))
        return HP_OK;
    if (type & PERF_SAMPLE_BRANCH_CALL_STACK)
        return hp_fail(HP_ERR_INVALID,
                       "%s has stacks of calls (--call-graph lbr), not of branches: record paths "
                       "with perf record -b",
                       im->request->path);
    if ((type & KINDS) && !(type & PERF_SAMPLE_BRANCH_ANY))
        return hp_fail(HP_ERR_INVALID,
                       "%s has stacks of some kinds of branches only: record all of them, with "
                       "perf record -b or -j any,u",
                       im->request->path);
    return HP_OK;
}

static enum hp_arch arch_of(const char *machine)
{
    if (strncmp(machine, "arm", 3) == 0)
        return HP_ARCH_ARM;
    return machine[0] ? hp_arch_from_name(machine) : HP_ARCH_X86_64;
}

static enum hp_err open_parts(struct import *im)
{
    const char *machine = hp_perf_machine(im->reader);
    enum hp_arch arch = arch_of(machine);
    bool known = arch != HP_ARCH_NONE;
    if (!known)
        say(im, "there is no decoder for %s: no blocks and branches, only functions", machine);
    HP_TRY(hp_code_new(known ? arch : HP_ARCH_X86_64, &im->code));
    HP_TRY(hp_functions_new(im->code, &im->functions));
    hp_functions_want_lines(im->functions, im->request->lines);
    HP_TRY(hp_chains_new(im->spaces, im->code, im->functions, &im->chains));
    if (has_stacks(event(im)) && known)
        HP_TRY(hp_stacks_new(im->spaces, im->code, &im->stacks));
    return HP_OK;
}

/* --- Second: samples -------------------------------------------------------------------------- */

static enum hp_err thread_of(struct import *im, int32_t pid, int32_t tid, uint32_t *index)
{
    uint64_t key = (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
    *index = hp_map64_get(&im->thread_of, key);
    if (*index != HP_MAP64_NONE)
        return HP_OK;
    *index = (uint32_t)im->n_threads;
    HP_TRY(hp_grow(&im->threads, &im->cap_threads, im->n_threads + 1, sizeof *im->threads));
    HP_TRY(hp_map64_put(&im->thread_of, key, *index));
    im->threads[im->n_threads++] =
        (struct hp_import_thread){.info = {.id = *index, .pid = pid, .tid = tid}};
    return HP_OK;
}

static enum hp_err take_sample(struct import *im, const struct hp_perf_record *record)
{
    struct hp_perf_sampled sample;
    uint32_t thread;
    if (!hp_perf_take_sample(hp_perf_attrs(im->reader), record, &sample) || sample.attr != im->attr)
        return HP_OK;
    HP_TRY(thread_of(im, sample.pid, sample.tid, &thread));
    im->samples++;
    hp_add_up(&im->period, sample.period);
    if (sample.time) {
        im->first = im->first && im->first < sample.time ? im->first : sample.time;
        im->last = im->last > sample.time ? im->last : sample.time;
    }
    HP_TRY(hp_chains_add(im->chains, thread, &sample));
    return im->stacks ? hp_stacks_add(im->stacks, &im->threads[thread], &sample) : HP_OK;
}

static enum hp_err read_samples(struct import *im)
{
    struct hp_perf_record record;
    HP_TRY(hp_perf_rewind(im->reader));
    while (hp_perf_next(im->reader, &record))
        if (record.type == PERF_RECORD_SAMPLE)
            HP_TRY(take_sample(im, &record));
    return hp_perf_no_memory(im->reader) ? hp_fail_nomem() : HP_OK;
}

/* --- What the stacks stand for ---------------------------------------------------------------- */

/* The edges of all threads, one after the other, and what they add up to. */
struct edges {
    struct hp_edge_count *all;
    size_t n, capacity;
    size_t *ends; /* by thread */
    uint64_t instructions, branches;
};

static void fini_edges(struct edges *edges)
{
    free(edges->all);
    free(edges->ends);
}

static bool is_branch(uint8_t flow)
{
    return flow != HP_FLOW_NONE && flow != HP_FLOW_SYSCALL && flow != HP_FLOW_TRAP;
}

static enum hp_err collect_edges(struct import *im, struct edges *edges)
{
    HP_TRY(hp_new(&edges->ends, im->n_threads, sizeof *edges->ends));
    for (size_t i = 0; i < im->n_threads; i++) {
        struct hp_edge_count *own HP_CLEANUP(hp_free) = NULL;
        size_t n;
        HP_TRY(hp_stacks_edges(im->stacks, &im->threads[i], (void *)&own, &n));
        HP_TRY(hp_grow(&edges->all, &edges->capacity, edges->n + n + 1, sizeof *edges->all));
        for (size_t k = 0; k < n; k++) {
            const struct hp_block *from = hp_code_block(im->code, own[k].from);
            edges->all[edges->n++] = own[k];
            hp_add_up(&edges->instructions, hp_saturating_mul(own[k].count, from->insns));
            if (is_branch(from->flow))
                hp_add_up(&edges->branches, own[k].count);
        }
        edges->ends[i] = edges->n;
    }
    return HP_OK;
}

/* How many of the sampled events are in the stacks; 0: the event says nothing of that. */
static uint64_t events_seen(const struct import *im, const struct edges *edges)
{
    const struct hp_perf_attr *attr = event(im);
    uint64_t config = attr->config & UINT32_MAX;
    bool hardware = attr->type == PERF_TYPE_HARDWARE;
    if ((attr->type == PERF_TYPE_RAW && (config & 0xffff) == HP_PERF_TAKEN_BRANCHES) ||
        strstr(attr->name, "near_taken") || strstr(attr->name, "taken-branches"))
        return im->stacks->counts.branches;
    if (hardware && config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS)
        return edges->branches;
    return hardware && config == PERF_COUNT_HW_INSTRUCTIONS ? edges->instructions : 0;
}

/* The samples stand for `period` events, of which the stacks show `seen`: each count is multiplied
 * by their ratio. */
static enum hp_err scale(struct import *im, struct edges *edges)
{
    uint64_t seen = events_seen(im, edges);
    char name[80];
    name_event(event(im), name, sizeof name);
    bool sane = seen && im->period >= seen / 2 &&
                (unsigned __int128)edges->instructions * im->period / seen < MAX_COUNT;
    if (!sane)
        return hp_profile_note(im->profile, 1, "relative",
                               "counts are those of the branch stacks of %" PRIu64
                               " samples of %s: they are shares of the run, not numbers",
                               im->samples, name);
    for (size_t i = 0; i < edges->n; i++) {
        struct hp_edge_count *edge = &edges->all[i];
        edge->count = (uint64_t)(((unsigned __int128)edge->count * im->period + seen / 2) / seen);
    }
    if (im->period == seen)
        return HP_OK;
    return hp_profile_note(im->profile, 1, "estimate",
                           "counts are estimates: %" PRIu64 " samples of %s show %" PRIu64
                           " of %" PRIu64 " events",
                           im->samples, name, seen, im->period);
}

/* As of an engine that counts: how often, not in which order. */
static enum hp_err count_edges(struct import *im)
{
    struct edges edges HP_CLEANUP(fini_edges) = {0};
    HP_TRY(collect_edges(im, &edges));
    if (edges.instructions >= MAX_COUNT)
        return hp_fail(HP_ERR_FORMAT, "%s: its counts are impossible", im->request->path);
    HP_TRY(scale(im, &edges));
    HP_TRY(hp_exact_new(im->code, im->functions, false, &im->exact));
    const struct hp_profiler_ops *ops = im->exact->ops;
    for (size_t i = 0, first = 0; i < im->n_threads; first = edges.ends[i++]) {
        void *state;
        struct hp_event end = {.kind = HP_EVENT_END, .exact = true};
        HP_TRY(ops->start_thread(im->exact, &im->threads[i].info, &state));
        ops->edges(state, edges.all + first, edges.ends[i] - first);
        ops->event(state, &end);
    }
    return ops->finish(im->exact, im->result);
}

static enum hp_err note_plain(struct import *im)
{
    char name[80];
    name_event(event(im), name, sizeof name);
    return hp_profile_note(im->profile, 1, "estimate",
                           "numbers of instructions are %s, estimated from %" PRIu64
                           " samples; blocks, branches and calls are not known",
                           name, im->samples);
}

static enum hp_err make_counts(struct import *im)
{
    bool counted = im->stacks && im->stacks->counts.runs > im->stacks->counts.gaps;
    if (!counted && im->period >= MAX_COUNT)
        return hp_fail(HP_ERR_FORMAT, "%s: its counts are impossible", im->request->path);
    HP_TRY(hp_result_new(im->code, im->functions, im->profile, &im->result));
    HP_TRY(counted ? count_edges(im) : note_plain(im));
    HP_TRY(hp_result_code(im->result));
    for (uint32_t i = 0; i < im->n_threads; i++) {
        uint32_t index;
        HP_TRY(hp_result_thread(im->result, &im->threads[i].info, &index));
        HP_TRY(hp_chains_finish(im->chains, i, index, counted, im->profile));
    }
    return HP_OK;
}

/* --- What else there is to know --------------------------------------------------------------- */

static enum hp_err add_stats(struct import *im)
{
    static const struct hp_import_stack_counts none;
    const struct hp_import_stack_counts *c = im->stacks ? &im->stacks->counts : &none;
    const struct {
        const char *name;
        uint64_t value;
    } stats[] = {
        {"samples", im->samples},
        {"events", im->period},
        {"stacks", c->stacks},
        {"branches", c->branches},
        {"mispredicted", c->mispredicted},
        {"predicted", c->predicted},
        {"wrong path", c->wrong_path},
        {"in the kernel", c->kernel},
        {"runs", c->runs},
        {"runs in unknown code", c->gaps},
        {"impossible runs", c->impossible},
        {"joined stacks", c->joined},
        {"lost records", im->lost},
        {"damaged records", im->bad},
    };
    for (size_t i = 0; i < sizeof stats / sizeof *stats; i++)
        if (stats[i].value)
            HP_TRY(hp_profile_add_stat(im->profile, "import", stats[i].name, HP_STAT_COUNT,
                                       stats[i].value > INT64_MAX ? INT64_MAX : stats[i].value));
    return HP_OK;
}

/* Files whose code is not known, and what that means. The first are said, the others counted. */
#define SAID 4

static enum hp_err note_files(struct import *im)
{
    uint64_t unverified = 0, problems = 0;
    for (size_t i = 0; i < im->spaces->n_files; i++) {
        const struct hp_import_file *file = &im->spaces->files[i];
        unverified += file->code && !file->verified;
        if (!file->problem[0] || problems++ >= SAID)
            continue;
        say(im, "%s: what ran in it is not known", file->problem);
        HP_TRY(hp_profile_note(im->profile, 1, "file", "%s: what ran in it is not known",
                               file->problem));
    }
    if (problems > SAID) {
        say(im, "of %" PRIu64 " other files it is not known what ran in them", problems - SAID);
        HP_TRY(hp_profile_note(im->profile, problems - SAID, "file",
                               "other files of which it is not known what ran in them"));
    }
    if (!unverified)
        return HP_OK;
    return hp_profile_note(im->profile, unverified, "unverified",
                           "files without a recorded build id were taken to be those that ran");
}

static enum hp_err note_losses(struct import *im)
{
    const char *damage = hp_perf_damage(im->reader);
    if (!hp_perf_machine(im->reader)[0])
        HP_TRY(hp_profile_note(im->profile, 1, "architecture",
                               "the file does not say which architecture it is of: taken for %s",
                               hp_arch_name(hp_code_arch(im->code))));
    if (damage[0]) {
        say(im, "%s: read as far as it goes", damage);
        HP_TRY(hp_profile_note(im->profile, 1, "damaged", "%s: %s", im->request->path, damage));
    }
    if (im->bad)
        HP_TRY(hp_profile_note(im->profile, im->bad, "damaged",
                               "records that do not hold what they should were passed over"));
    if (im->lost)
        HP_TRY(hp_profile_note(im->profile, im->lost, "lost",
                               "records were lost while perf recorded"));
    if (im->unknown_events)
        HP_TRY(hp_profile_note(im->profile, im->unknown_events, "events",
                               "samples of events that the file does not describe"));
    for (uint32_t i = 0; i < hp_perf_attrs(im->reader)->n; i++) {
        char name[80];
        name_event(&hp_perf_attrs(im->reader)->all[i], name, sizeof name);
        if (i != im->attr && im->n_samples[i])
            HP_TRY(hp_profile_note(im->profile, im->n_samples[i], "events",
                                   "samples of another event: --event %s", name));
    }
    if (im->stacks && im->stacks->counts.gaps)
        return hp_profile_note(im->profile, im->stacks->counts.gaps, "gaps",
                               "runs between branches are in code that is not known or does not "
                               "fit: of %" PRIu64,
                               im->stacks->counts.runs);
    return HP_OK;
}

static enum hp_err add_names(struct import *im)
{
    for (size_t i = 0; i < im->n_threads; i++) {
        uint32_t known = hp_map64_get(&im->name_of, (uint32_t)im->threads[i].info.tid);
        uint32_t index = hp_result_known_thread(im->result, (uint32_t)i);
        struct hp_pthread_name *out;
        if (known == HP_MAP64_NONE || index == HP_PROFILE_NONE)
            continue;
        HP_TRY(hp_profile_add_thread_name(im->profile, &out));
        *out = (struct hp_pthread_name){.thread = index, .command = ""};
        out->name = out->command = hp_profile_string(im->profile, im->names[known].name);
        if (!out->name)
            return hp_fail_nomem();
    }
    return HP_OK;
}

static enum hp_err describe(struct import *im)
{
    struct hp_run *run = &im->profile->run;
    char machine[160];
    snprintf(machine, sizeof machine, "%s, recorded by perf %s", hp_perf_machine(im->reader),
             hp_perf_version(im->reader));
    run->version = hp_profile_string(im->profile, HP_VERSION);
    run->engine = hp_profile_string(im->profile, "perf");
    run->machine = hp_profile_string(im->profile, machine);
    run->arch = hp_code_arch(im->code);
    run->seconds = im->last > im->first ? (double)(im->last - im->first) * 1e-9 : 0;
    run->lost = im->lost < INT64_MAX ? im->lost : INT64_MAX;
    run->runs = 1;
    if (!run->version || !run->engine || !run->machine)
        return hp_fail_nomem();
    return hp_profile_set_command(im->profile, hp_perf_command(im->reader));
}

static enum hp_err make_profile(struct import *im)
{
    const char *what;
    HP_TRY(hp_profile_new(&im->profile));
    HP_TRY(describe(im));
    HP_TRY(make_counts(im));
    HP_TRY(add_names(im));
    HP_TRY(add_stats(im));
    HP_TRY(note_files(im));
    HP_TRY(note_losses(im));
    HP_TRY(hp_profile_settle(im->profile, &what));
    if (what)
        say(im, "%s", what);
    return HP_OK;
}

enum hp_err hp_import_perf(const struct hp_import_request *request, struct hp_profile **profile)
{
    struct import im HP_CLEANUP(fini) = {.request = request};
    HP_TRY(hp_perf_open(request->path, &im.reader));
    HP_TRY(read_sides(&im));
    HP_TRY(choose_event(&im));
    HP_TRY(check_stacks(&im));
    HP_TRY(open_parts(&im));
    HP_TRY(read_samples(&im));
    HP_TRY(make_profile(&im));
    *profile = im.profile;
    im.profile = NULL;
    return HP_OK;
}
