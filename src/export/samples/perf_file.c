// SPDX-License-Identifier: MIT
#include "export/samples/perf_file.h"

#include "base/base.h"

#include <errno.h>

#define ALIGN(n, to) (((n) + (to)-1) / (to) * (to))
#define NAME_ALIGN   64 /* of texts in features */

/* Behind every record that is not a sample (sample_id_all). */
struct trailer {
    int32_t pid, tid;
    uint64_t time;
};

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

static void put_trailer(struct hp_perf_file *file, const struct hp_perf_who *who)
{
    put(file, &(struct trailer){who->pid, who->tid, who->time}, sizeof(struct trailer));
}

/* --- The beginning ---------------------------------------------------------------------------- */

#define DATA_AT                                                                                    \
    (sizeof(struct hp_perf_header) + sizeof(struct perf_event_attr) +                              \
     sizeof(struct hp_perf_section))

enum hp_err hp_perf_file_begin(struct hp_perf_file *file, FILE *out, bool taken, uint64_t period,
                               bool chains)
{
    *file = (struct hp_perf_file){.out = out, .chains = chains};
    if (fseeko(out, 0, SEEK_SET) != 0)
        return hp_fail(HP_ERR_INVALID, "a perf.data file cannot be written to a pipe or terminal: "
                                       "-o FILE");
    snprintf(file->event, sizeof file->event, "%s", taken ? "taken-branches:u" : "instructions:u");
    file->attr = (struct perf_event_attr){
        .type = taken ? PERF_TYPE_RAW : PERF_TYPE_HARDWARE,
        .size = sizeof(struct perf_event_attr),
        .config = taken ? HP_PERF_TAKEN_BRANCHES : PERF_COUNT_HW_INSTRUCTIONS,
        .sample_period = period,
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |
                       PERF_SAMPLE_BRANCH_STACK,
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
        .branch_sample_type =
            PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_TYPE_SAVE,
    };
    if (chains)
        file->attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
    put_zeros(file, sizeof(struct hp_perf_header));
    put(file, &file->attr, sizeof file->attr);
    put(file, &(struct hp_perf_section){0}, sizeof(struct hp_perf_section)); /* no ids */
    return HP_OK;
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
               sizeof map + room + sizeof(struct trailer));
    put(file, &map, sizeof map);
    put(file, mapping->path, length);
    put_zeros(file, room - length);
    put_trailer(file, who);
}

void hp_perf_put_name(struct hp_perf_file *file, const struct hp_perf_who *who, const char *name,
                      bool exec)
{
    int32_t ids[2] = {who->pid, who->tid};
    char text[HP_PERF_NAME] = {0};
    size_t length = strnlen(name, sizeof text - 1), room = ALIGN(length + 1, 8);
    memcpy(text, name, length);
    put_header(file, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0,
               sizeof ids + room + sizeof(struct trailer));
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
    put_header(file, type, 0, sizeof task + sizeof(struct trailer));
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
    size_t chain = file->chains ? 3 + sample->n_chain : 0;
    put_header(file, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP,
               (5 + chain) * sizeof(uint64_t) + sample->n_branches * sizeof *sample->branches);
    put_u64(file, sample->ip);
    put(file, &sample->who.pid, sizeof(int32_t));
    put(file, &sample->who.tid, sizeof(int32_t));
    put_u64(file, sample->who.time);
    put_u64(file, sample->period);
    if (file->chains) {
        put_u64(file, 2 + sample->n_chain);
        put_u64(file, PERF_CONTEXT_USER);
        put_u64(file, sample->ip);
        put(file, sample->chain, sample->n_chain * sizeof *sample->chain);
    }
    put_u64(file, sample->n_branches);
    put(file, sample->branches, sample->n_branches * sizeof *sample->branches);
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
    put_u32(file, 0); /* ids */
    put_text(file, file->event);
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
    case HP_PERF_FEATURE_CMDLINE: put_command(file, about); break;
    case HP_PERF_FEATURE_EVENT_DESC: put_events(file); break;
    case HP_PERF_FEATURE_SAMPLE_TIME:
        put_u64(file, file->first);
        put_u64(file, file->last);
        break;
    default: break; /* it says all by being there */
    }
}

static const enum hp_perf_feature features[] = {
    HP_PERF_FEATURE_BUILD_ID,    HP_PERF_FEATURE_VERSION,    HP_PERF_FEATURE_ARCH,
    HP_PERF_FEATURE_CMDLINE,     HP_PERF_FEATURE_EVENT_DESC, HP_PERF_FEATURE_BRANCH_STACK,
    HP_PERF_FEATURE_SAMPLE_TIME,
};
#define N_FEATURES (sizeof features / sizeof *features)

enum hp_err hp_perf_file_end(struct hp_perf_file *file, const struct hp_perf_about *about)
{
    put_header(file, HP_PERF_RECORD_FINISHED_ROUND, 0, 0);
    struct hp_perf_section sections[N_FEATURES] = {0};
    struct hp_perf_header header = {
        .magic = HP_PERF_MAGIC,
        .size = sizeof header,
        .attr_size = sizeof file->attr + sizeof(struct hp_perf_section),
        .attrs = {sizeof header, DATA_AT - sizeof header},
        .data = {DATA_AT, file->at - DATA_AT},
    };
    uint64_t sections_at = file->at;
    put_zeros(file, sizeof sections);
    for (size_t i = 0; i < N_FEATURES; i++) {
        sections[i].offset = file->at;
        put_feature(file, features[i], about);
        sections[i].size = file->at - sections[i].offset;
        header.features[features[i] / 64] |= UINT64_C(1) << features[i] % 64;
    }
    if (fseeko(file->out, (off_t)sections_at, SEEK_SET) != 0)
        return hp_fail(HP_ERR_IO, "cannot write: %s", strerror(errno));
    put(file, sections, sizeof sections);
    if (fseeko(file->out, 0, SEEK_SET) != 0)
        return hp_fail(HP_ERR_IO, "cannot write: %s", strerror(errno));
    put(file, &header, sizeof header);
    return HP_OK;
}
