// SPDX-License-Identifier: MIT
/*
 * The file is read twice: first for what says which code was where, then for the samples. So
 * samples need not be in order, and only the former is kept.
 */
#include "import/state.h"

#include "base/base.h"
#include "import/spe.h"
#include "import/trips.h"
#include "profiler/exact/exact.h"
#include "profiler/result.h"

#define MAX_COUNT                                                                                  \
    (UINT64_C(1) << 62) /* of instructions in a profile: the file says nonsense else */

static void fini(struct hp_import *im)
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
    free(im->sums);
    hp_itrace_sides_fini(&im->sides);
    hp_map64_fini(&im->name_of);
    hp_map64_fini(&im->pid_of);
    hp_map64_fini(&im->thread_of);
    hp_result_free(im->result);
    if (im->exact)
        im->exact->ops->free(im->exact);
    if (im->paths)
        im->paths->ops->free(im->paths);
    hp_stacks_free(im->stacks);
    hp_chains_free(im->chains);
    hp_sampled_free(im->sampled);
    hp_functions_free(im->functions);
    hp_code_free(im->code);
    hp_spaces_free(im->spaces);
    hp_perf_close(im->reader);
    hp_profile_free(im->profile);
}

/* --- First: what was where -------------------------------------------------------------------- */

static enum hp_err add_change(struct hp_import *im, const struct hp_import_change *change)
{
    HP_TRY(hp_grow(&im->changes, &im->cap_changes, im->n_changes + 1, sizeof *im->changes));
    im->changes[im->n_changes++] = *change;
    return HP_OK;
}

static enum hp_err take_mapping(struct hp_import *im, const struct hp_perf_record *record,
                                uint64_t time)
{
    struct hp_perf_bytes body = record->body;
    char path[4096], build_id[HP_PERF_BUILD_ID_TEXT] = "";
    struct hp_import_change change = {.time = time, .type = PERF_RECORD_MMAP2};
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
static enum hp_err take_name(struct hp_import *im, const struct hp_perf_record *record,
                             uint64_t time)
{
    struct hp_perf_bytes body = record->body;
    int32_t pid = (int32_t)hp_perf_u32(&body), tid = (int32_t)hp_perf_u32(&body);
    struct hp_import_named named = {.tid = tid};
    hp_perf_text(&body, hp_perf_left(&body), named.name, sizeof named.name);
    HP_TRY(hp_map64_put(&im->pid_of, (uint32_t)tid, (uint32_t)pid));
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
    return add_change(
        im, &(struct hp_import_change){.time = time, .type = PERF_RECORD_COMM, .pid = pid});
}

static enum hp_err take_fork(struct hp_import *im, const struct hp_perf_record *record)
{
    struct hp_perf_bytes body = record->body;
    struct hp_import_change change = {.type = PERF_RECORD_FORK};
    change.pid = (int32_t)hp_perf_u32(&body);
    change.other = (int32_t)hp_perf_u32(&body);
    HP_TRY(hp_map64_put(&im->pid_of, hp_perf_u32(&body), (uint32_t)change.pid));
    hp_perf_skip(&body, 4);
    change.time = hp_perf_u64(&body);
    return add_change(im, &change);
}

static enum hp_err take_lost(struct hp_import *im, const struct hp_perf_record *record)
{
    struct hp_perf_bytes body = record->body;
    if (record->type == PERF_RECORD_LOST)
        hp_perf_skip(&body, 8);
    hp_add_up(&im->lost, hp_perf_u64(&body));
    return HP_OK;
}

/* Which events there are samples of. */
static enum hp_err count_sample(struct hp_import *im, const struct hp_perf_record *record)
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
    HP_TRY(hp_grow(&im->sums, &im->cap_sums, attrs->n, sizeof *im->sums));
    struct hp_import_sum *sum = &im->sums[sample.attr];
    sum->samples++;
    hp_add_up(&sum->period, sample.period);
    sum->branches += sample.n_branches;
    return HP_OK;
}

static enum hp_err take_side(struct hp_import *im, const struct hp_perf_record *record)
{
    if (record->type == PERF_RECORD_SAMPLE)
        return count_sample(im, record);
    uint64_t time = hp_perf_time_of(hp_perf_attrs(im->reader), record);
    HP_TRY(hp_itrace_sides_take(&im->sides, hp_perf_attrs(im->reader), record));
    switch (record->type) {
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2: return take_mapping(im, record, time);
    case PERF_RECORD_COMM: return take_name(im, record, time);
    case PERF_RECORD_FORK: return take_fork(im, record);
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES: return take_lost(im, record);
    default: return HP_OK;
    }
}

static int by_time(const void *a, const void *b)
{
    const struct hp_import_change *x = a, *y = b;
    return HP_COMPARE(x->time, y->time) ?: HP_COMPARE(x->number, y->number);
}

static enum hp_err apply(struct hp_import *im, const struct hp_import_change *change)
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

static enum hp_err read_sides(struct hp_import *im)
{
    struct hp_perf_record record;
    while (hp_perf_next(im->reader, &record))
        HP_TRY(take_side(im, &record));
    if (hp_perf_no_memory(im->reader))
        return hp_fail_nomem();
    HP_TRY(hp_grow(&im->sums, &im->cap_sums, hp_perf_attrs(im->reader)->n + 1, sizeof *im->sums));
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

static bool has_chains(const struct hp_perf_attr *attr)
{
    return attr->sample_type & PERF_SAMPLE_CALLCHAIN;
}

static const struct hp_perf_attr *event(const struct hp_import *im)
{
    return &hp_perf_attrs(im->reader)->all[im->attr];
}

void hp_import_event_name(const struct hp_perf_attr *attr, char *text, size_t size)
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

/* Which of IBS an event is; HP_IMPORT_SAMPLERS: none. The name tells it where the file does not say
 * which part of the processor has the event. */
static enum hp_import_sampler ibs_of(const struct hp_import *im, const struct hp_perf_attr *attr)
{
    const char *pmu = hp_perf_pmu(im->reader, attr->type);
    const char *name = *pmu ? pmu : attr->name;
    if (!(attr->sample_type & PERF_SAMPLE_RAW))
        return HP_IMPORT_SAMPLERS;
    return strncmp(name, "ibs_op", 6) == 0      ? HP_IMPORT_OPS
           : strncmp(name, "ibs_fetch", 9) == 0 ? HP_IMPORT_FETCHES
                                                : HP_IMPORT_SAMPLERS;
}

/* How much there is to be known from an event. */
static int worth(const struct hp_import *im, uint32_t attr)
{
    const struct hp_perf_attr *a = &hp_perf_attrs(im->reader)->all[attr];
    return has_stacks(a) ? 2 : ibs_of(im, a) == HP_IMPORT_OPS;
}

/* The one that was asked for; else the first with branch stacks and samples, else with samples of
 * instructions, else with samples. */
static enum hp_err choose_event(struct hp_import *im)
{
    const struct hp_perf_attrs *attrs = hp_perf_attrs(im->reader);
    const char *asked = im->request->event;
    char name[80];
    uint32_t best = HP_PERF_NO_ATTR;
    for (uint32_t i = 0; i < attrs->n; i++) {
        hp_import_event_name(&attrs->all[i], name, sizeof name);
        if (!im->sums[i].samples || (asked && strcmp(asked, name) != 0))
            continue;
        if (best == HP_PERF_NO_ATTR || worth(im, i) > worth(im, best))
            best = i;
    }
    im->attr = best;
    if (best != HP_PERF_NO_ATTR)
        return HP_OK;
    if (asked)
        return hp_fail(HP_ERR_INVALID, "%s has no samples of an event '%s'", im->request->path,
                       asked);
    if (hp_perf_aux(im->reader)->n_pieces)
        return hp_fail(HP_ERR_UNSUPPORTED, "%s has traces of hardware that hotpath does not read",
                       im->request->path);
    return hp_fail(HP_ERR_INVALID, "%s has no samples", im->request->path);
}

/* The event of SPE, which has no samples: its records are in what was traced. */
static enum hp_err choose_spe(struct hp_import *im)
{
    const struct hp_perf_attrs *attrs = hp_perf_attrs(im->reader);
    uint64_t type = hp_perf_aux(im->reader)->info[0];
    for (im->attr = 0; im->attr < attrs->n; im->attr++)
        if (attrs->all[im->attr].type == type ||
            strncmp(attrs->all[im->attr].name, "arm_spe", 7) == 0)
            return HP_OK;
    return hp_fail(HP_ERR_FORMAT, "%s has records of Arm's SPE and no event of them",
                   im->request->path);
}

/* Which kinds of branches are recorded; none: those of a trace, which has all. */
#define KINDS                                                                                      \
    (PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_ANY_RETURN | PERF_SAMPLE_BRANCH_IND_CALL |   \
     PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_IND_JUMP | PERF_SAMPLE_BRANCH_CALL)

/* Only stacks of all taken branches say what was executed between them. */
static enum hp_err check_stacks(const struct hp_import *im)
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

enum hp_arch hp_import_arch(const char *machine)
{
    if (strncmp(machine, "arm", 3) == 0)
        return HP_ARCH_ARM;
    return machine[0] ? hp_arch_from_name(machine) : HP_ARCH_X86_64;
}

/* The order of branches is kept where it is needed: for paths and loops, and to know how sure
 * counts are. If the stacks may show all of the run, these are exact. */
static enum hp_err open_stacks(struct hp_import *im)
{
    const struct hp_import_sum *sum = &im->sums[im->attr];
    HP_TRY(hp_stacks_new(im->spaces, im->code, &im->stacks));
    im->stacks->steps.keep =
        im->selection.paths || im->selection.loops || sum->branches < sum->period;
    return HP_OK;
}

static enum hp_err open_parts(struct hp_import *im)
{
    const char *machine = hp_perf_machine(im->reader);
    enum hp_arch arch = hp_import_arch(machine);
    bool known = arch != HP_ARCH_NONE;
    if (!known)
        hp_import_say(im, "there is no decoder for %s: no blocks and branches, only functions",
                      machine);
    HP_TRY(hp_code_new(known ? arch : HP_ARCH_X86_64, &im->code));
    HP_TRY(hp_functions_new(im->code, &im->functions));
    hp_functions_want_lines(im->functions, im->request->lines);
    HP_TRY(hp_chains_new(im->spaces, im->code, im->functions, &im->chains));
    if (has_stacks(event(im)) && known)
        HP_TRY(open_stacks(im));
    im->cpu = hp_ibs_cpu_of(hp_perf_cpu(im->reader));
    if (known && (im->spe || ibs_of(im, event(im)) != HP_IMPORT_SAMPLERS))
        HP_TRY(hp_sampled_new(im->spaces, im->code, im->functions, &im->sampled));
    return HP_OK;
}

/* --- Second: samples -------------------------------------------------------------------------- */

static enum hp_err thread_of(struct hp_import *im, int32_t pid, int32_t tid, uint32_t *index)
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

/* Where the event is of IBS, the other one of IBS is read too, unless one was asked for. */
bool hp_import_reads(const struct hp_import *im, uint32_t attr)
{
    const struct hp_perf_attr *a = &hp_perf_attrs(im->reader)->all[attr];
    return attr == im->attr ||
           (im->sampled && !im->request->event && ibs_of(im, a) != HP_IMPORT_SAMPLERS);
}

static enum hp_err take_ibs(struct hp_import *im, const struct hp_perf_sampled *sample)
{
    const struct hp_perf_attr *attr = &hp_perf_attrs(im->reader)->all[sample->attr];
    enum hp_import_sampler sampler = ibs_of(im, attr);
    struct hp_ibs_sample taken;
    enum hp_ibs_state state = sampler == HP_IMPORT_OPS
                                  ? hp_ibs_take_op(sample->raw, &im->cpu, &taken)
                                  : hp_ibs_take_fetch(sample->raw, &im->cpu, &taken);
    im->bad += state == HP_IBS_DAMAGED;
    im->aborted += state == HP_IBS_ABORTED;
    im->no_place += state == HP_IBS_NO_PLACE;
    if (state == HP_IBS_DAMAGED)
        return HP_OK;
    im->filtered += taken.filtered;
    hp_sampled_count(im->sampled, sampler, sample->period);
    if (state != HP_IBS_GOOD)
        return HP_OK;
    return hp_sampled_add(im->sampled, sampler, sample, taken.pc, &taken.timing);
}

static enum hp_err take_sample(struct hp_import *im, const struct hp_perf_record *record)
{
    struct hp_perf_sampled sample;
    uint32_t thread;
    if (!hp_perf_take_sample(hp_perf_attrs(im->reader), record, &sample) ||
        sample.attr == HP_PERF_NO_ATTR || !hp_import_reads(im, sample.attr))
        return HP_OK;
    if (im->sampled)
        HP_TRY(take_ibs(im, &sample));
    if (sample.attr != im->attr)
        return HP_OK;
    HP_TRY(thread_of(im, sample.pid, sample.tid, &thread));
    im->samples++;
    hp_add_up(&im->period, sample.period);
    if (sample.time) {
        im->first = im->first && im->first < sample.time ? im->first : sample.time;
        im->last = im->last > sample.time ? im->last : sample.time;
    }
    if (!im->stacks || has_chains(event(im)))
        HP_TRY(hp_chains_add(im->chains, thread, &sample));
    return im->stacks ? hp_stacks_add(im->stacks, &im->threads[thread], &sample) : HP_OK;
}

/* A record of SPE. Buffers of threads say whose it is, those of processors by the context. */
static enum hp_err take_spe(void *context, const struct hp_aux_piece *piece,
                            const struct hp_spe_sample *taken)
{
    struct hp_import *im = context;
    uint32_t tid = piece->tid >= 0 ? (uint32_t)piece->tid : taken->context, thread;
    uint32_t pid = hp_map64_get(&im->pid_of, tid);
    struct hp_perf_sampled sample = {.attr = im->attr,
                                     .pid = (int32_t)(pid == HP_MAP64_NONE ? tid : pid),
                                     .tid = (int32_t)tid,
                                     .ip = taken->pc,
                                     .time = UINT64_MAX, /* of no clock that is known */
                                     .period = event(im)->period ?: 1};
    im->samples++;
    hp_add_up(&im->period, sample.period);
    hp_sampled_count(im->sampled, HP_IMPORT_OPS, sample.period);
    im->no_place += !taken->pc;
    if (!taken->pc)
        return HP_OK;
    HP_TRY(thread_of(im, sample.pid, sample.tid, &thread));
    if (taken->timing.events & HP_TIMING_RETIRED)
        HP_TRY(hp_chains_add(im->chains, thread, &sample));
    return hp_sampled_add(im->sampled, HP_IMPORT_OPS, &sample, taken->pc, &taken->timing);
}

static enum hp_err read_samples(struct hp_import *im)
{
    struct hp_perf_record record;
    if (im->spe && im->sampled)
        return hp_spe_read(im->reader, take_spe, im, &im->bad);
    hp_perf_rewind(im->reader);
    while (hp_perf_next(im->reader, &record))
        if (record.type == PERF_RECORD_SAMPLE)
            HP_TRY(take_sample(im, &record));
    for (size_t i = 0; im->stacks && i < im->n_threads; i++)
        HP_TRY(hp_stacks_end(im->stacks, &im->threads[i]));
    return hp_perf_no_memory(im->reader) ? hp_fail_nomem() : HP_OK;
}

/* Passes over the samples of the event again. */
static enum hp_err read_again(struct hp_import *im,
                              enum hp_err (*take)(struct hp_import *im, uint32_t thread,
                                                  struct hp_perf_sampled *sample))
{
    struct hp_perf_record record;
    struct hp_perf_sampled sample;
    uint32_t thread;
    hp_perf_rewind(im->reader);
    while (hp_perf_next(im->reader, &record)) {
        if (record.type != PERF_RECORD_SAMPLE ||
            !hp_perf_take_sample(hp_perf_attrs(im->reader), &record, &sample) ||
            sample.attr != im->attr)
            continue;
        HP_TRY(thread_of(im, sample.pid, sample.tid, &thread));
        HP_TRY(take(im, thread, &sample));
    }
    return hp_perf_no_memory(im->reader) ? hp_fail_nomem() : HP_OK;
}

static enum hp_err take_chain(struct hp_import *im, uint32_t thread, struct hp_perf_sampled *sample)
{
    return hp_chains_add(im->chains, thread, sample);
}

static enum hp_err take_order(struct hp_import *im, uint32_t thread, struct hp_perf_sampled *sample)
{
    return hp_stacks_order(im->stacks, &im->threads[thread], sample);
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

static enum hp_err collect_edges(struct hp_import *im, struct edges *edges)
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
    return hp_stretches_settle(im->stacks);
}

/* How many of the sampled events are in the stacks; 0: the event says nothing of that. */
static uint64_t events_seen(const struct hp_import *im, const struct edges *edges)
{
    const struct hp_perf_attr *attr = event(im);
    uint64_t config = attr->config & UINT32_MAX;
    bool hardware = attr->type == PERF_TYPE_HARDWARE;
    bool amd = strncmp(hp_perf_cpu(im->reader), "AuthenticAMD", 12) == 0;
    uint64_t taken = amd ? HP_PERF_TAKEN_BRANCHES_AMD : HP_PERF_TAKEN_BRANCHES;
    if ((attr->type == PERF_TYPE_RAW && (config & 0xffff) == taken) ||
        strstr(attr->name, "near_taken") || strstr(attr->name, "taken-branches"))
        return im->stacks->counts.branches;
    if (hardware && config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS)
        return edges->branches;
    return hardware && config == PERF_COUNT_HW_INSTRUCTIONS ? edges->instructions : 0;
}

/* What the stacks show, for the whole run. */
static uint64_t estimate(const struct hp_import *im, uint64_t count)
{
    if (!im->seen)
        return count;
    return (uint64_t)(((unsigned __int128)count * im->period + im->seen / 2) / im->seen);
}

/* The samples stand for `period` events, of which the stacks show `seen`: each count is multiplied
 * by their ratio. */
static enum hp_err scale(struct hp_import *im, struct edges *edges)
{
    uint64_t seen = events_seen(im, edges);
    char name[80];
    hp_import_event_name(event(im), name, sizeof name);
    bool sane = seen && im->period >= seen / 2 &&
                (unsigned __int128)edges->instructions * im->period / seen < MAX_COUNT;
    if (!sane)
        return hp_profile_note(im->profile, 1, "relative",
                               "counts are those of the branch stacks of %" PRIu64
                               " samples of %s: they are shares of the run, not numbers",
                               im->samples, name);
    im->seen = seen;
    im->whole = im->period == seen;
    for (size_t i = 0; i < edges->n; i++)
        edges->all[i].count = estimate(im, edges->all[i].count);
    if (im->period == seen)
        return HP_OK;
    return hp_profile_note(im->profile, 1, "estimate",
                           "counts are estimates: %" PRIu64 " samples of %s show %" PRIu64
                           " of %" PRIu64 " events",
                           im->samples, name, seen, im->period);
}

/* As of an engine that counts: how often, not in which order. */
static enum hp_err count_edges(struct hp_import *im)
{
    struct edges edges HP_CLEANUP(fini_edges) = {0};
    HP_TRY(collect_edges(im, &edges));
    if (edges.instructions >= MAX_COUNT)
        return hp_fail(HP_ERR_FORMAT, "%s: its counts are impossible", im->request->path);
    HP_TRY(scale(im, &edges));
    HP_TRY(hp_exact_new(im->code, im->functions, im->selection.loops, &im->exact));
    if (!im->whole)
        hp_exact_expect_samples(im->exact);
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

/* What the detector left out is said, not guessed. */
static enum hp_err note_pieces(struct hp_import *im, uint64_t paths, uint64_t pieces, uint64_t open)
{
    HP_TRY(hp_profile_note(im->profile, paths, "paths",
                           "executions of paths lie within a branch stack, from their first branch "
                           "to their last: only these are counted, so long paths are seen too "
                           "seldom"));
    if (!pieces && !open)
        return HP_OK;
    return hp_profile_note(im->profile, pieces + open, "paths",
                           "pieces of paths are cut by the ends of branch stacks, and not counted");
}

static struct hp_path_sink *shown_paths(void *context, const struct hp_thread *thread)
{
    (void)thread;
    return context;
}

/* The detector runs over each stack. */
static enum hp_err count_paths(struct hp_import *im)
{
    struct hp_paths_config config = im->selection.paths_config;
    uint64_t paths = 0, pieces = 0, open = 0;
    size_t first = im->profile->n_path_counts, first_path = im->profile->n_paths;
    struct hp_shown_paths shown HP_CLEANUP(hp_shown_paths_fini);
    hp_shown_paths_init(&shown, &im->stacks->shown);
    config.pieces = true;
    config.extra = im->whole ? NULL : shown_paths;
    config.context = &shown;
    HP_TRY(hp_paths_new(im->code, im->functions, &config, &im->paths));
    HP_TRY(hp_stretches_show(im->stacks, im->threads, im->n_threads, im->paths));
    HP_TRY(im->paths->ops->finish(im->paths, im->result));
    if (!im->whole)
        HP_TRY(hp_shown_paths_finish(&shown, im->paths, (uint32_t)first_path, im->profile));
    for (size_t i = first; i < im->profile->n_path_counts; i++) {
        struct hp_ppath_count *count = &im->profile->path_counts[i];
        count->count = estimate(im, count->count);
        count->insns = estimate(im, count->insns);
        count->events = estimate(im, count->events);
    }
    for (size_t i = 0; i < hp_paths_threads(im->paths); i++) {
        const struct hp_detector_stats *stats = hp_paths_thread(im->paths, i).stats;
        paths += stats->paths;
        pieces += stats->pieces;
        open += stats->unfinished;
    }
    return note_pieces(im, paths, pieces, open);
}

/* Adds what was seen of executions of loops; `*cut`: of how many not all. */
static enum hp_err add_seen(struct hp_import *im, const struct hp_tally64 *seen, uint64_t *whole,
                            uint64_t *cut)
{
    for (size_t i = 0; i < seen->n_slots; i++) {
        const struct hp_tally64_slot *slot = &seen->slots[i];
        struct hp_ploop_seen *out;
        if (slot->key == HP_TALLY64_NONE)
            continue;
        HP_TRY(hp_profile_add_loop_seen(im->profile, &out));
        *out = (struct hp_ploop_seen){.loop = (uint32_t)(slot->key >> 33),
                                      .whole = slot->key >> 32 & 1,
                                      .iterations = (uint32_t)slot->key,
                                      .count = slot->count};
        hp_add_up(out->whole ? whole : cut, slot->count);
    }
    return HP_OK;
}

static enum hp_err add_loop_samples(struct hp_import *im, const struct hp_shown *iterations)
{
    struct hp_psamples row = {0}, *out;
    for (row.item = 0; !im->whole && row.item < iterations->n; row.item++) {
        if (!hp_shown_get(iterations, row.item, &row))
            continue;
        HP_TRY(hp_profile_add_loop_samples(im->profile, &out));
        *out = row;
    }
    return HP_OK;
}

/* The executions of loops that lie within a stack. */
static enum hp_err count_trips(struct hp_import *im)
{
    struct hp_import_trips trips HP_CLEANUP(hp_import_trips_fini) = {0};
    struct hp_import_walk walk HP_CLEANUP(hp_import_walk_fini) = {0};
    struct hp_import_stretch stretch = {0};
    uint64_t whole = 0, cut = 0;
    HP_TRY(hp_import_trips_init(&trips, im->code, im->functions, im->exact));
    while (hp_steps_next(&im->stacks->steps, &stretch)) {
        HP_TRY(hp_stretches_walk(im->stacks, &stretch, &walk));
        HP_TRY(hp_import_trips_add(&trips, &walk, stretch.sample));
    }
    HP_TRY(add_seen(im, &trips.seen, &whole, &cut));
    HP_TRY(add_loop_samples(im, &trips.iterations));
    return hp_profile_note(im->profile, cut, "loops",
                           "executions of loops are cut by the ends of branch stacks: they had at "
                           "least as many iterations as were seen; whole ones: %" PRIu64,
                           whole);
}

static enum hp_err note_cycles(struct hp_import *im)
{
    const struct hp_import_stack_counts *c = &im->stacks->counts;
    HP_TRY(hp_stacks_cycles(im->stacks, im->profile));
    uint64_t untimed = 0;
    for (size_t i = 0; c->timed && i < im->profile->n_run_cycles; i++)
        hp_add_up(&untimed, im->profile->run_cycles[i].unknown);
    if (!untimed)
        return HP_OK;
    return hp_profile_note(im->profile, untimed, "cycles",
                           "runs between branches have no recorded cycles; known are those of "
                           "%" PRIu64,
                           c->timed);
}

static enum hp_err note_plain(struct hp_import *im)
{
    char name[80];
    hp_import_event_name(event(im), name, sizeof name);
    return hp_profile_note(im->profile, 1, "estimate",
                           "numbers of instructions are %s, estimated from %" PRIu64
                           " samples; blocks, branches and calls are not known",
                           name, im->samples);
}

/* Bits of the event of SPE: only branches, loads, stores. */
#define SPE_FILTERS (UINT64_C(7) << 32)

/* The samples of instructions, and what they do not know. */
static enum hp_err make_sampled(struct hp_import *im)
{
    const struct hp_perf_attr *attr = event(im);
    bool ops = im->spe || attr->config & HP_IBS_CONFIG_OPS;
    bool filtered = im->spe && (attr->config & SPE_FILTERS || attr->config1 || attr->config2);
    const char *const names[HP_IMPORT_SAMPLERS] = {[HP_IMPORT_OPS] = im->spe ? "spe"
                                                                     : ops   ? "ibs-op"
                                                                             : "ibs-op-cycles",
                                                   [HP_IMPORT_FETCHES] = "ibs-fetch"};
    const struct hp_import_sampled *s = im->sampled;
    if (!s)
        return HP_OK;
    if (s->events[HP_IMPORT_OPS] >= MAX_COUNT || s->events[HP_IMPORT_FETCHES] >= MAX_COUNT)
        return hp_fail(HP_ERR_FORMAT, "%s: its counts are impossible", im->request->path);
    HP_TRY(hp_sampled_finish(im->sampled, names, im->lost, im->result));
    if (!s->taken[HP_IMPORT_OPS])
        return HP_OK;
    if (filtered)
        HP_TRY(hp_profile_note(im->profile, 1, "hardware",
                               "only some operations were sampled (filters or a least latency): "
                               "shares of executions and their numbers are of those alone"));
    if (im->filtered)
        HP_TRY(hp_profile_note(im->profile, im->filtered, "hardware",
                               "only what missed the L3 was sampled (l3missonly): shares of "
                               "executions and their numbers are of that alone"));
    if (!ops)
        HP_TRY(hp_profile_note(im->profile, 1, "hardware",
                               "cycles were counted between samples, not ops: how often something "
                               "was executed is not known; record with -e ibs_op/cnt_ctl=1/"));
    return hp_profile_note(im->profile, 1, "hardware", "samples of this processor do not know: %s",
                           hp_sampler_about(names[HP_IMPORT_OPS])->unknown);
}

static enum hp_err make_counts(struct hp_import *im)
{
    bool counted = im->stacks && im->stacks->counts.runs > im->stacks->counts.gaps;
    if (!counted && im->period >= MAX_COUNT)
        return hp_fail(HP_ERR_FORMAT, "%s: its counts are impossible", im->request->path);
    if (im->stacks && !counted && !has_chains(event(im)))
        HP_TRY(read_again(im, take_chain));
    HP_TRY(hp_result_new(im->code, im->functions, im->profile, &im->result));
    HP_TRY(counted ? count_edges(im) : note_plain(im));
    if (counted && im->selection.loops)
        HP_TRY(count_trips(im));
    if (counted && im->selection.paths)
        HP_TRY(count_paths(im));
    HP_TRY(hp_result_code(im->result));
    if (counted && !im->whole && !im->stacks->steps.keep)
        HP_TRY(read_again(im, take_order));
    if (counted && !im->whole)
        HP_TRY(hp_shown_code(im->stacks, im->result));
    if (counted)
        HP_TRY(note_cycles(im));
    HP_TRY(make_sampled(im));
    for (uint32_t i = 0; i < im->n_threads; i++) {
        uint32_t index;
        HP_TRY(hp_result_thread(im->result, &im->threads[i].info, &index));
        HP_TRY(hp_chains_finish(im->chains, i, index, counted, im->profile));
    }
    return HP_OK;
}

/* What can be found in stacks. */
static enum hp_err check_request(struct hp_import *im)
{
    static const struct hp_session_settings nothing;
    const struct hp_session_settings *o = im->request->settings;
    struct hp_selection *s = &im->selection;
    if (im->request->trace)
        return hp_fail(HP_ERR_INVALID,
                       "%s has no trace of Intel PT or Arm ETM: --trace is not for it",
                       im->request->path);
    if (o && (o->from || o->after || o->length))
        return hp_fail(HP_ERR_INVALID,
                       "%s has no trace of Intel PT or Arm ETM: no part of the run can be chosen, "
                       "as the order "
                       "of what was executed is not known",
                       im->request->path);
    HP_TRY(hp_selection_parse(o ? o : &nothing, s));
    if (s->predictions || s->hotspots || s->machine || s->cycles || s->instructions || s->none ||
        s->n_loop_models || s->settings->wpp || s->paths_config.n_tables)
        return hp_fail(HP_ERR_INVALID,
                       "%s has samples, no complete record of the run: of the profilers there are "
                       "exact, counts, loops and paths, without tables and machines",
                       im->request->path);
    return HP_OK;
}

static enum hp_err check_ordered(const struct hp_import *im)
{
    if ((!im->selection.paths && !im->selection.loops) || has_stacks(event(im)))
        return HP_OK;
    return hp_fail(HP_ERR_INVALID, "%s has no branch stacks: there are no paths and loops in it",
                   im->request->path);
}

static enum hp_err make_profile(struct hp_import *im)
{
    const char *what;
    HP_TRY(hp_profile_new(&im->profile));
    HP_TRY(hp_import_describe(im));
    HP_TRY(make_counts(im));
    HP_TRY(hp_import_add_names(im));
    HP_TRY(hp_import_add_stats(im));
    HP_TRY(hp_import_note_files(im));
    HP_TRY(hp_import_note_losses(im));
    HP_TRY(hp_profile_settle(im->profile, &what));
    if (what)
        hp_import_say(im, "%s", what);
    return HP_OK;
}

enum hp_err hp_import_perf(const struct hp_import_request *request, struct hp_profile **profile)
{
    struct hp_import im HP_CLEANUP(fini) = {.request = request};
    *profile = NULL;
    HP_TRY(hp_perf_open(request->path, &im.reader));
    HP_TRY(read_sides(&im));
    if (hp_itrace_find(im.reader) && !request->event)
        return hp_import_traced(&im, profile);
    HP_TRY(check_request(&im));
    im.spe = !request->event && hp_spe_is_in(im.reader);
    HP_TRY(im.spe ? choose_spe(&im) : choose_event(&im));
    HP_TRY(check_stacks(&im));
    HP_TRY(check_ordered(&im));
    HP_TRY(open_parts(&im));
    HP_TRY(read_samples(&im));
    HP_TRY(make_profile(&im));
    *profile = im.profile;
    im.profile = NULL;
    return HP_OK;
}
