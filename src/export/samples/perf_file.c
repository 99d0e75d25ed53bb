// SPDX-License-Identifier: MIT
#include "export/samples/perf_file.h"

#include "base/base.h"
#include "symbols/module_code.h"

#include <errno.h>

#define ALIGN(n, to) (((n) + (to)-1) / (to) * (to))
#define NAME_ALIGN   64 /* of texts in features */
#define PAGE         4096

/* Behind every record that is not a sample (sample_id_all). */
struct trailer {
    int32_t pid, tid;
    uint64_t time;
    /* Only of traces. */
    uint32_t cpu, reserved;
    uint64_t id;
};
#define SHORT_TRAILER offsetof(struct trailer, cpu)
#define ID            1 /* of the event, where it has one */

static void put(struct hp_perf_file *file, const void *bytes, size_t n)
{
    fwrite(bytes, 1, n, file->out);
    file->at += n;
}

static void put_zeros(struct hp_perf_file *file, size_t n)
{
    static const char zeros[NAME_ALIGN];
    for (; n > sizeof zeros; n -= sizeof zeros)
        put(file, zeros, sizeof zeros);
    put(file, zeros, n);
}

static void put_u32(struct hp_perf_file *file, uint32_t value)
{
    put(file, &value, sizeof value);
}

static void put_u64(struct hp_perf_file *file, uint64_t value)
{
    put(file, &value, sizeof value);
}

static void put_header(struct hp_perf_file *file, uint32_t type, unsigned misc, size_t size)
{
    put(file,
        &(struct perf_event_header){.type = type,
                                    .misc = (uint16_t)misc,
                                    .size = (uint16_t)(sizeof(struct perf_event_header) + size)},
        sizeof(struct perf_event_header));
}

static size_t trailer_size(const struct hp_perf_file *file)
{
    return file->traced ? sizeof(struct trailer) : SHORT_TRAILER;
}

static void put_trailer(struct hp_perf_file *file, const struct hp_perf_who *who)
{
    const struct trailer trailer = {
        .pid = who->pid, .tid = who->tid, .time = who->time, .cpu = file->cpu, .id = ID};
    put(file, &trailer, trailer_size(file));
}

/* --- The beginning ---------------------------------------------------------------------------- */

#define DATA_AT                                                                                    \
    (sizeof(struct hp_perf_header) + sizeof(struct perf_event_attr) +                              \
     sizeof(struct hp_perf_section))

static enum hp_err check_output(FILE *out)
{
    return fseeko(out, 0, SEEK_SET) == 0
               ? HP_OK
               : hp_fail(HP_ERR_INVALID,
                         "a perf.data file cannot be written to a pipe or terminal: -o FILE");
}

/* Of any event: user code, with all that happens to threads and mappings. */
static struct perf_event_attr user_code(void)
{
    return (struct perf_event_attr){
        .size = sizeof(struct perf_event_attr),
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
        .inherit = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .mmap = 1,
        .comm = 1,
        .task = 1,
        .sample_id_all = 1,
        .mmap2 = 1,
        .comm_exec = 1,
        .build_id = 1,
    };
}

enum hp_err hp_perf_file_begin(struct hp_perf_file *file, FILE *out,
                               const struct hp_perf_event *event)
{
    *file = (struct hp_perf_file){.out = out, .event = *event};
    HP_TRY(check_output(out));
    file->attr = user_code();
    file->attr.type = event->type;
    file->attr.config = event->config;
    file->attr.sample_period = event->period;
    file->attr.sample_type |= PERF_SAMPLE_PERIOD | event->samples;
    if (event->samples & PERF_SAMPLE_BRANCH_STACK)
        file->attr.branch_sample_type =
            PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_TYPE_SAVE;
    put_zeros(file, sizeof(struct hp_perf_header));
    put(file, &file->attr, sizeof file->attr);
    put(file, &(struct hp_perf_section){0}, sizeof(struct hp_perf_section)); /* no ids */
    return HP_OK;
}

/* --- Traces of instructions ------------------------------------------------------------------- */

/* The number of its PMU, which the kernel gives, and bits of the event's configuration. */
#define PT_PMU  8
#define PT      (UINT64_C(1) << 0)
#define MTC     (UINT64_C(1) << 9)
#define TSC     (UINT64_C(1) << 10)
#define NO_RETC (UINT64_C(1) << 11)
#define BRANCH  (UINT64_C(1) << 13)

static enum hp_err begin_traced(struct hp_perf_file *file, FILE *out, const char *name,
                                uint32_t type, uint64_t config, bool per_cpu)
{
    *file = (struct hp_perf_file){.out = out, .event.name = name, .traced = true};
    HP_TRY(check_output(out));
    file->attr = user_code();
    file->attr.type = type;
    file->attr.config = config;
    file->attr.sample_period = 1;
    file->attr.sample_type |= PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
    file->attr.context_switch = per_cpu;
    const uint64_t id = ID;
    put_zeros(file, sizeof(struct hp_perf_header));
    put(file, &file->attr, sizeof file->attr);
    put(file, &(struct hp_perf_section){DATA_AT, sizeof id}, sizeof(struct hp_perf_section));
    put(file, &id, sizeof id);
    return HP_OK;
}

static void put_info(struct hp_perf_file *file, uint32_t type, const uint64_t *info, size_t n)
{
    const uint32_t kind[2] = {type};
    put_header(file, HP_PERF_RECORD_AUXTRACE_INFO, 0, sizeof kind + n * sizeof *info);
    put(file, kind, sizeof kind);
    put(file, info, n * sizeof *info);
}

enum hp_err hp_perf_file_begin_pt(struct hp_perf_file *file, FILE *out, bool per_cpu, bool returns)
{
    const uint64_t info[HP_PERF_PT_INFO_COUNT_] = {
        [HP_PERF_PT_PMU_TYPE] = PT_PMU,
        [HP_PERF_PT_TIME_SHIFT] = 1,
        [HP_PERF_PT_TIME_MULTIPLIER] = 2 / HP_PERF_TICKS,
        [HP_PERF_PT_TIME_IS_KNOWN] = 1,
        [HP_PERF_PT_TSC_BIT] = TSC,
        [HP_PERF_PT_NO_RETURNS_BIT] = NO_RETC,
        [HP_PERF_PT_SWITCHES] = per_cpu ? 2 : 0,
        [HP_PERF_PT_PER_CPU] = per_cpu,
        [HP_PERF_PT_MTC_BIT] = MTC,
        [HP_PERF_PT_MTC_PERIOD_BITS] = 0x3c000,
        [HP_PERF_PT_TSC_PER_CTC_DENOMINATOR] = 0,
        [HP_PERF_PT_CYC_BIT] = 2,
    };
    uint64_t config = PT | TSC | BRANCH | (returns ? 0 : NO_RETC);
    HP_TRY(begin_traced(file, out, "intel_pt//u", PT_PMU, config, per_cpu));
    put_info(file, HP_PERF_AUXTRACE_INTEL_PT, info, HP_PERF_PT_INFO_COUNT_);
    return HP_OK;
}

/* The number of its PMU; registers as those of a Cortex-A: 64 bits, return stack, no speculation.
 */
#define ETM_PMU         9
#define ETM_BLOCK       (3 + HP_PERF_ETM_TIME_SOURCE + 1)
#define ETM_MOST_BLOCKS 96

/* How ticks become nanoseconds. */
static void put_time_conversion(struct hp_perf_file *file)
{
    const uint64_t conversion[] = {1, 2 / HP_PERF_TICKS, 0, 0, 0, 1};
    put_header(file, HP_PERF_RECORD_TIME_CONV, 0, sizeof conversion);
    put(file, conversion, sizeof conversion);
}

enum hp_err hp_perf_file_begin_etm(struct hp_perf_file *file, FILE *out, uint32_t cpus,
                                   uint32_t config, bool raw)
{
    uint64_t info[HP_PERF_ETM_CPUS_ + ETM_MOST_BLOCKS * ETM_BLOCK];
    uint32_t blocks = cpus ? cpus : 1;
    info[HP_PERF_ETM_VERSION] = 1;
    info[HP_PERF_ETM_PMU_CPUS] = (uint64_t)ETM_PMU << 32 | blocks;
    info[HP_PERF_ETM_SNAPSHOT] = 0;
    for (uint32_t i = 0; i < blocks && i < ETM_MOST_BLOCKS; i++) {
        const uint64_t block[ETM_BLOCK] = {HP_PERF_ETM_MAGIC_V4,
                                           i,
                                           HP_PERF_ETM_TIME_SOURCE + 1,
                                           [3 + HP_PERF_ETM_CONFIG] = config,
                                           [3 + HP_PERF_ETM_TRACE_ID] = HP_PERF_ETM_ID + i,
                                           [3 + HP_PERF_ETM_ID0] = 0x28000ea1,
                                           [3 + HP_PERF_ETM_ID1] = 0x4100f424,
                                           [3 + HP_PERF_ETM_ID2] = 0x488,
                                           [3 + HP_PERF_ETM_AUTH_STATUS] = 0xcc,
                                           [3 + HP_PERF_ETM_TIME_SOURCE] = 1};
        memcpy(info + HP_PERF_ETM_CPUS_ + i * ETM_BLOCK, block, sizeof block);
    }
    HP_TRY(begin_traced(file, out, "cs_etm//u", ETM_PMU, config, cpus > 0));
    file->raw = raw;
    put_info(file, HP_PERF_AUXTRACE_ARM_ETM, info, HP_PERF_ETM_CPUS_ + blocks * ETM_BLOCK);
    put_time_conversion(file);
    return HP_OK;
}

void hp_perf_put_trace_start(struct hp_perf_file *file, const struct hp_perf_who *who)
{
    put_header(file, PERF_RECORD_ITRACE_START, 0, 8 + trailer_size(file));
    put(file, &who->pid, sizeof who->pid);
    put(file, &who->tid, sizeof who->tid);
    put_trailer(file, who);
}

void hp_perf_put_switch(struct hp_perf_file *file, const struct hp_perf_who *who, bool out)
{
    put_header(file, PERF_RECORD_SWITCH, out ? PERF_RECORD_MISC_SWITCH_OUT : 0, trailer_size(file));
    put_trailer(file, who);
}

void hp_perf_put_trace(struct hp_perf_file *file, const struct hp_perf_who *who,
                       const struct hp_perf_auxtrace *piece, const void *data)
{
    const uint64_t aux[] = {piece->offset, piece->size,
                            file->raw ? PERF_AUX_FLAG_CORESIGHT_FORMAT_RAW : 0};
    put_header(file, PERF_RECORD_AUX, 0, sizeof aux + trailer_size(file));
    put(file, aux, sizeof aux);
    put_trailer(file, who);
    if (hp_grow(&file->traces, &file->cap_traces, file->n_traces + 1, sizeof *file->traces) ==
        HP_OK)
        file->traces[file->n_traces++] = file->at;
    else
        file->unlisted = true;
    put_header(file, HP_PERF_RECORD_AUXTRACE, 0, sizeof *piece);
    put(file, piece, sizeof *piece);
    put(file, data, piece->size);
}

void hp_perf_file_fini(struct hp_perf_file *file)
{
    free(file->traces);
    file->traces = NULL;
}

/* Without a list, the records are read. */
static void put_list_of_traces(struct hp_perf_file *file)
{
    size_t n = file->unlisted ? 0 : file->n_traces;
    put_u64(file, n);
    for (size_t i = 0; i < n; i++) {
        put_u64(file, file->traces[i]);
        put_u64(file, sizeof(struct perf_event_header) + sizeof(struct hp_perf_auxtrace));
    }
}

/* --- Records ---------------------------------------------------------------------------------- */

/* The bytes of a build id; returns how many. */
static uint8_t read_build_id(const char *text, uint8_t id[HP_PERF_BUILD_ID_SIZE])
{
    uint8_t n = 0;
    for (unsigned byte; n < HP_PERF_BUILD_ID_SIZE && sscanf(text, "%2x", &byte) == 1; text += 2) {
        id[n++] = (uint8_t)byte;
        if (!text[1])
            break;
    }
    return n;
}

/* As in the kernel: names are cut. */
#define MAX_PATH 4096

void hp_perf_put_mapping(struct hp_perf_file *file, const struct hp_perf_who *who,
                         const struct hp_perf_mapping *mapping)
{
    struct {
        int32_t pid, tid;
        uint64_t start, size, file_offset;
        uint8_t id_size, reserved[3];
        uint8_t id[HP_PERF_BUILD_ID_SIZE];
        uint32_t protection, flags;
    } map = {.pid = who->pid,
             .tid = who->tid,
             .start = mapping->start,
             .size = mapping->size,
             .file_offset = mapping->file_offset,
             .protection = 5, /* read, execute */
             .flags = 2};     /* private */
    _Static_assert(sizeof map == 64, "as the kernel has it");
    map.id_size = read_build_id(mapping->build_id, map.id);
    size_t length = strnlen(mapping->path, MAX_PATH - 1), room = ALIGN(length + 1, 8);
    put_header(file, PERF_RECORD_MMAP2,
               PERF_RECORD_MISC_USER | (map.id_size ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0),
               sizeof map + room + trailer_size(file));
    put(file, &map, sizeof map);
    put(file, mapping->path, length);
    put_zeros(file, room - length);
    put_trailer(file, who);
}

/* The name that the kernel gives to what is in no file. */
static const char *name_of_mapping(const struct hp_module *module)
{
    return strcmp(module->path, "[anon]") == 0 ? "//anon" : module->path;
}

/* The pages of a part of a module. */
static void put_pages(struct hp_perf_file *file, const struct hp_perf_who *who,
                      const struct hp_module *module, uint64_t low, uint64_t high,
                      uint64_t file_offset)
{
    uint64_t in_page = low % PAGE;
    const struct hp_perf_mapping mapping = {.start = low - in_page,
                                            .size = (high - low + in_page + PAGE - 1) / PAGE * PAGE,
                                            .file_offset =
                                                file_offset > in_page ? file_offset - in_page : 0,
                                            .path = name_of_mapping(module),
                                            .build_id = module->build_id};
    hp_perf_put_mapping(file, who, &mapping);
}

HP_CLEANUP_POINTER(close_code, struct hp_module_code, hp_module_code_close)

void hp_perf_put_module(struct hp_perf_file *file, const struct hp_perf_who *who,
                        const struct hp_module *module)
{
    struct hp_module_code *code HP_CLEANUP(close_code) = NULL;
    uint64_t low, high;
    if (hp_module_code_open(module->path, module->build_id, INT64_MAX, &code) != HP_OK)
        put_pages(file, who, module, module->low, module->high, module->low - module->base);
    for (size_t i = 0; code && hp_module_code_range(code, i, &low, &high); i++)
        put_pages(file, who, module, module->base + low, module->base + high,
                  hp_module_code_file_offset(code, i));
}

void hp_perf_put_name(struct hp_perf_file *file, const struct hp_perf_who *who, const char *name,
                      bool exec)
{
    int32_t ids[2] = {who->pid, who->tid};
    char text[HP_PERF_NAME] = {0};
    size_t length = strnlen(name, sizeof text - 1), room = ALIGN(length + 1, 8);
    memcpy(text, name, length);
    put_header(file, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0,
               sizeof ids + room + trailer_size(file));
    put(file, ids, sizeof ids);
    put(file, text, room);
    put_trailer(file, who);
}

static void put_task(struct hp_perf_file *file, uint32_t type, const struct hp_perf_who *who,
                     int32_t parent_pid, int32_t parent_tid)
{
    struct {
        int32_t pid, parent_pid, tid, parent_tid;
        uint64_t time;
    } task = {who->pid, parent_pid, who->tid, parent_tid, who->time};
    put_header(file, type, 0, sizeof task + trailer_size(file));
    put(file, &task, sizeof task);
    put_trailer(file, who);
}

void hp_perf_put_fork(struct hp_perf_file *file, const struct hp_perf_who *who, int32_t parent_pid,
                      int32_t parent_tid)
{
    put_task(file, PERF_RECORD_FORK, who, parent_pid, parent_tid);
}

void hp_perf_put_exit(struct hp_perf_file *file, const struct hp_perf_who *who, int32_t parent_pid)
{
    put_task(file, PERF_RECORD_EXIT, who, parent_pid, parent_pid);
}

void hp_perf_put_sample(struct hp_perf_file *file, const struct hp_perf_sample *sample)
{
    uint64_t has = file->event.samples;
    size_t size = 4 * sizeof(uint64_t);
    size += has & PERF_SAMPLE_CALLCHAIN ? (3 + sample->n_chain) * sizeof(uint64_t) : 0;
    size += has & PERF_SAMPLE_RAW ? sizeof(uint32_t) + sample->n_raw : 0;
    size += has & PERF_SAMPLE_BRANCH_STACK
                ? sizeof(uint64_t) + sample->n_branches * sizeof *sample->branches
                : 0;
    put_header(file, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP, size);
    put_u64(file, sample->ip);
    put(file, &sample->who.pid, sizeof(int32_t));
    put(file, &sample->who.tid, sizeof(int32_t));
    put_u64(file, sample->who.time);
    put_u64(file, sample->period);
    if (has & PERF_SAMPLE_CALLCHAIN) {
        put_u64(file, 2 + sample->n_chain);
        put_u64(file, PERF_CONTEXT_USER);
        put_u64(file, sample->ip);
        put(file, sample->chain, sample->n_chain * sizeof *sample->chain);
    }
    if (has & PERF_SAMPLE_RAW) {
        put_u32(file, (uint32_t)sample->n_raw);
        put(file, sample->raw, sample->n_raw);
    }
    if (has & PERF_SAMPLE_BRANCH_STACK) {
        put_u64(file, sample->n_branches);
        put(file, sample->branches, sample->n_branches * sizeof *sample->branches);
    }
    file->first = file->first ? file->first : sample->who.time;
    file->last = sample->who.time;
}

/* --- The end ---------------------------------------------------------------------------------- */

static void put_text(struct hp_perf_file *file, const char *text)
{
    size_t length = strlen(text), room = ALIGN(length + 1, NAME_ALIGN);
    put_u32(file, (uint32_t)room);
    put(file, text, length);
    put_zeros(file, room - length);
}

static void put_build_ids(struct hp_perf_file *file, const struct hp_perf_about *about)
{
    for (uint32_t i = 0; i < hp_code_n_modules(about->code); i++) {
        const struct hp_module *module = hp_code_module(about->code, i);
        struct hp_perf_build_id id = {.pid = -1};
        size_t length = strnlen(module->path, MAX_PATH - 1), room = ALIGN(length + 1, NAME_ALIGN);
        id.size = read_build_id(module->build_id, id.id);
        if (!id.size)
            continue;
        id.header.misc = PERF_RECORD_MISC_USER | HP_PERF_MISC_BUILD_SIZE;
        id.header.size = (uint16_t)(sizeof id + room);
        put(file, &id, sizeof id);
        put(file, module->path, length);
        put_zeros(file, room - length);
    }
}

static void put_command(struct hp_perf_file *file, const struct hp_perf_about *about)
{
    uint32_t n = 0;
    while (about->command && about->command[n])
        n++;
    put_u32(file, n);
    for (uint32_t i = 0; i < n; i++)
        put_text(file, about->command[i]);
}

static void put_events(struct hp_perf_file *file)
{
    put_u32(file, 1);
    put_u32(file, sizeof file->attr);
    put(file, &file->attr, sizeof file->attr);
    put_u32(file, file->traced); /* ids */
    put_text(file, file->event.name);
    if (file->traced)
        put_u64(file, ID);
}

/* As `uname -m` has it. */
static const char *machine_of(enum hp_arch arch)
{
    return arch == HP_ARCH_ARM ? "armv7l" : hp_arch_name(arch);
}

static void put_feature(struct hp_perf_file *file, enum hp_perf_feature feature,
                        const struct hp_perf_about *about)
{
    switch (feature) {
    case HP_PERF_FEATURE_BUILD_ID: put_build_ids(file, about); break;
    case HP_PERF_FEATURE_VERSION: put_text(file, about->version); break;
    case HP_PERF_FEATURE_ARCH: put_text(file, machine_of(about->arch)); break;
    case HP_PERF_FEATURE_CPUID: put_text(file, file->event.cpu); break;
    case HP_PERF_FEATURE_CMDLINE: put_command(file, about); break;
    case HP_PERF_FEATURE_EVENT_DESC: put_events(file); break;
    case HP_PERF_FEATURE_PMU_MAPPINGS:
        put_u32(file, 1);
        put_u32(file, file->event.type);
        put_text(file, file->event.pmu);
        break;
    case HP_PERF_FEATURE_AUXTRACE: put_list_of_traces(file); break;
    case HP_PERF_FEATURE_SAMPLE_TIME:
        put_u64(file, file->first);
        put_u64(file, file->last);
        break;
    default: break; /* it says all by being there */
    }
}

static const enum hp_perf_feature features[] = {
    HP_PERF_FEATURE_BUILD_ID,     HP_PERF_FEATURE_VERSION,      HP_PERF_FEATURE_ARCH,
    HP_PERF_FEATURE_CPUID,        HP_PERF_FEATURE_CMDLINE,      HP_PERF_FEATURE_EVENT_DESC,
    HP_PERF_FEATURE_BRANCH_STACK, HP_PERF_FEATURE_PMU_MAPPINGS, HP_PERF_FEATURE_AUXTRACE,
    HP_PERF_FEATURE_SAMPLE_TIME,
};
#define N_FEATURES (sizeof features / sizeof *features)

static bool has_feature(const struct hp_perf_file *file, enum hp_perf_feature feature)
{
    switch (feature) {
    case HP_PERF_FEATURE_CPUID: return file->event.cpu;
    case HP_PERF_FEATURE_PMU_MAPPINGS: return file->event.pmu;
    case HP_PERF_FEATURE_BRANCH_STACK: return file->event.samples & PERF_SAMPLE_BRANCH_STACK;
    case HP_PERF_FEATURE_AUXTRACE: return file->traced;
    default: return true;
    }
}

enum hp_err hp_perf_file_end(struct hp_perf_file *file, const struct hp_perf_about *about)
{
    put_header(file, HP_PERF_RECORD_FINISHED_ROUND, 0, 0);
    struct hp_perf_section sections[N_FEATURES] = {0};
    uint64_t data_at = DATA_AT + (file->traced ? sizeof(uint64_t) : 0);
    struct hp_perf_header header = {
        .magic = HP_PERF_MAGIC,
        .size = sizeof header,
        .attr_size = sizeof file->attr + sizeof(struct hp_perf_section),
        .attrs = {sizeof header, DATA_AT - sizeof header},
        .data = {data_at, file->at - data_at},
    };
    uint64_t sections_at = file->at;
    size_t n = 0;
    for (size_t i = 0; i < N_FEATURES; i++)
        n += has_feature(file, features[i]);
    put_zeros(file, n * sizeof *sections);
    for (size_t i = 0, k = 0; i < N_FEATURES; i++) {
        if (!has_feature(file, features[i]))
            continue;
        sections[k].offset = file->at;
        put_feature(file, features[i], about);
        sections[k].size = file->at - sections[k].offset;
        k++;
        header.features[features[i] / 64] |= UINT64_C(1) << features[i] % 64;
    }
    if (fseeko(file->out, (off_t)sections_at, SEEK_SET) != 0)
        return hp_fail(HP_ERR_IO, "cannot write: %s", strerror(errno));
    put(file, sections, n * sizeof *sections);
    if (fseeko(file->out, 0, SEEK_SET) != 0)
        return hp_fail(HP_ERR_IO, "cannot write: %s", strerror(errno));
    put(file, &header, sizeof header);
    return HP_OK;
}
