// SPDX-License-Identifier: MIT
/*
 * ProfileMe's samples of a machine in cycles, in the registers of AMD's instruction based sampling:
 * docs/export-samples.md. What these do not have (wrong paths, most stages) is left out.
 */
#include "base/ibs.h"
#include "base/base.h"
#include "export/export.h"
#include "export/samples/perf_file.h"
#include "hotpath/sample.h"

#define PMU   11 /* the number that the kernel gave to ibs_op */
#define FIRST 2  /* the time of cycle 0: before it, the program is mapped */
#define FIELD 0xffff
#define CAPS  (HP_IBS_CAPS_BRTARGET | HP_IBS_CAPS_ZEN4)

struct ibs_settings {
    uint64_t interval, seed;
};

static const struct ibs_settings usual = {10000, 1};
static const struct hp_preset presets[] = {
    {"ibs", &usual, "a sample every 10000 instructions on average", NULL},
};
static const struct hp_setting keys[] = {
    {"interval", HP_SETTING_NUMBER, HP_MEMBER(struct ibs_settings, interval), 2, UINT32_MAX,
     "mean distance of samples, in instructions"},
    {"seed", HP_SETTING_NUMBER, HP_MEMBER(struct ibs_settings, seed), 0, UINT64_MAX,
     "of the random numbers"},
};
static const struct hp_model model = {
    .name = "ibs", .presets = presets, .n_presets = 1, .keys = keys, .n_keys = 2};
static const struct hp_model_family family = {
    .name = "hardware-samples",
    .label = "--format",
    .option = "--format",
    .help = "samples of instructions as AMD processors write them (docs/export-samples.md)",
    .size = sizeof(struct ibs_settings),
    .models = (const struct hp_model *const[]){&model},
    .n_models = 1,
};

struct ibs {
    struct hp_stream_setup setup; /* first */
    struct ibs_settings settings;
    struct hp_perf_file file;
    struct hp_thread thread;
    struct hp_sampler *sampler;
    uint64_t n_samples;
};

static enum hp_err open_ibs(void *state)
{
    struct ibs *s = state;
    struct hp_said said;
    HP_TRY(hp_settings_parse(&family, s->setup.settings, &s->settings, &said));
    return hp_perf_file_begin(&s->file, s->setup.out,
                              &(struct hp_perf_event){.name = "ibs_op/cnt_ctl=1/",
                                                      .type = PMU,
                                                      .config = HP_IBS_CONFIG_OPS,
                                                      .period = s->settings.interval,
                                                      .samples = PERF_SAMPLE_RAW,
                                                      .pmu = "ibs_op",
                                                      .cpu = "AuthenticAMD,25,97,2"});
}

/* --- Registers -------------------------------------------------------------------------------- */

static uint64_t field(uint64_t cycles, unsigned at)
{
    return (cycles < FIELD ? cycles : FIELD) << at;
}

static uint64_t bit(const struct hp_timing *t, uint32_t event, uint64_t register_bit)
{
    return t->events & event ? register_bit : 0;
}

static uint64_t data_of(const struct hp_timing *t, const struct hp_static *code)
{
    uint64_t data = field(t->left - t->done, HP_IBS_DATA_COMPLETION_TO_RETIRE) |
                    field(t->left - t->mapped, HP_IBS_DATA_TAG_TO_RETIRE);
    if (!(code->flags & HP_STATIC_TRANSFER))
        return data;
    return data | HP_IBS_DATA_BRANCH | (code->flow == HP_FLOW_RETURN ? HP_IBS_DATA_RETURN : 0) |
           bit(t, HP_TIMING_TAKEN, HP_IBS_DATA_TAKEN) |
           bit(t, HP_TIMING_MISPREDICTED, HP_IBS_DATA_MISPREDICTED);
}

static uint64_t data2_of(const struct hp_timing *t)
{
    return t->data_from == HP_FROM_MEMORY ? HP_IBS_SOURCE_MEMORY
           : t->data_from == HP_FROM_L3   ? HP_IBS_SOURCE_L3
                                          : HP_IBS_SOURCE_NONE;
}

static uint64_t data3_of(const struct hp_timing *t, const struct hp_static *code)
{
    uint64_t data = (code->n_loads ? HP_IBS_DATA3_LOAD : 0) |
                    (code->n_stores ? HP_IBS_DATA3_STORE : 0) |
                    bit(t, HP_TIMING_DTLB, HP_IBS_DATA3_TLB1_MISS) |
                    bit(t, HP_TIMING_TLB2, HP_IBS_DATA3_TLB2_MISS) |
                    (code->n_mems && t->address ? HP_IBS_DATA3_ADDRESS : 0);
    if (t->data_from <= HP_FROM_L1)
        return data;
    if (code->n_loads && t->loaded != HP_NEVER && t->issued != HP_NEVER)
        data |= field(t->loaded - t->issued, HP_IBS_DATA3_MISS_CYCLES);
    return data | HP_IBS_DATA3_MISS | (t->data_from > HP_FROM_L2 ? HP_IBS_DATA3_L2_MISS : 0);
}

/* --- Samples ---------------------------------------------------------------------------------- */

static void put_op(struct ibs *s, const struct hp_sample *sample)
{
    static const uint32_t caps = CAPS;
    uint64_t r[HP_IBS_OP_REGISTERS] = {0};
    uint8_t raw[sizeof caps + sizeof r];
    const struct hp_timing *t = &sample->timing;
    const struct hp_static *code = &hp_program_insns(s->setup.program)[t->insn];
    r[HP_IBS_OP_CTL] = HP_IBS_CTL_ENABLED | HP_IBS_CTL_VALID | HP_IBS_CTL_OPS;
    r[HP_IBS_OP_RIP] = sample->pc;
    r[HP_IBS_OP_DATA] = data_of(t, code);
    r[HP_IBS_OP_DATA2] = data2_of(t);
    r[HP_IBS_OP_DATA3] = data3_of(t, code);
    r[HP_IBS_DC_LINADDR] = r[HP_IBS_OP_DATA3] & HP_IBS_DATA3_ADDRESS ? t->address : 0;
    r[HP_IBS_BRTARGET] = t->events & HP_TIMING_TAKEN ? code->target : 0;
    memcpy(raw, &caps, sizeof caps);
    memcpy(raw + sizeof caps, r, sizeof r);
    const struct hp_perf_sample out = {
        .who = {s->thread.pid, s->thread.tid, FIRST + t->fetched + t->left},
        .ip = sample->pc,
        .period = s->settings.interval,
        .raw = raw,
        .n_raw = sizeof raw};
    hp_perf_put_sample(&s->file, &out);
    s->n_samples++;
}

/* Hardware says nothing of what was aborted. */
static void take_samples(void *state, const struct hp_sample_pair *samples, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!samples[i].first.empty && samples[i].first.timing.events & HP_TIMING_RETIRED)
            put_op(state, &samples[i].first);
}

static enum hp_err begin_thread(void *state, const struct hp_thread *thread)
{
    struct ibs *s = state;
    struct hp_sample_config config;
    char text[96];
    snprintf(text, sizeof text, "profileme,interval=%" PRIu64 ",seed=%" PRIu64,
             s->settings.interval, s->settings.seed);
    HP_TRY(hp_sample_config_parse(text, &config));
    s->thread = *thread;
    return hp_sampler_new(&config, s->setup.program, thread, take_samples, s, &s->sampler);
}

static enum hp_err put_timing(void *state, const struct hp_timing *timing)
{
    struct ibs *s = state;
    hp_sampler_timings(s->sampler, timing, 1);
    return HP_OK;
}

/* --- The end ---------------------------------------------------------------------------------- */

/* What was mapped is known now; it was there from the beginning on. */
static void put_program(struct ibs *s)
{
    char *const *command = s->setup.names.command;
    const char *path = command && command[0] ? command[0] : "program", *slash = strrchr(path, '/');
    const struct hp_perf_who who = {s->thread.pid, s->thread.tid, 1};
    hp_perf_put_name(&s->file, &who, slash ? slash + 1 : path, true);
    for (uint32_t i = 0; i < hp_code_n_modules(s->setup.code); i++)
        hp_perf_put_module(&s->file, &who, hp_code_module(s->setup.code, i));
}

static enum hp_err close_ibs(void *state)
{
    struct ibs *s = state;
    struct hp_export_written *written = s->setup.written;
    if (s->sampler)
        hp_sampler_end(s->sampler);
    put_program(s);
    snprintf(written->detail, sizeof written->detail, "%" PRIu64 " samples", s->n_samples);
    return hp_perf_file_end(&s->file, &(struct hp_perf_about){.arch = hp_code_arch(s->setup.code),
                                                              .version = "hotpath " HP_VERSION,
                                                              .command = s->setup.names.command,
                                                              .code = s->setup.code});
}

static void fini_ibs(void *state)
{
    hp_sampler_free(((struct ibs *)state)->sampler);
}

const struct hp_export_format hp_format_ibs = {
    .name = "ibs",
    .summary =
        "samples of instructions on a machine in cycles, as AMD's IBS in perf.data: for perf",
    .settings = &family,
    .timing = put_timing,
    .thread = begin_thread,
    .state_size = sizeof(struct ibs),
    .open = open_ibs,
    .close = close_ibs,
    .fini = fini_ibs,
    .whole = true,
};
