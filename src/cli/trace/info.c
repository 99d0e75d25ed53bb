// SPDX-License-Identifier: MIT
#include "cli/cli.h"
#include "hotpath/trace.h"
#include "text/json.h"

#include <inttypes.h>
#include <stdio.h>

static enum hp_err print_json(const struct hp_trace_info *info)
{
    struct hp_json json = {.out = stdout, .lines = 1};
    hp_json_begin_object(&json);
    hp_json_key(&json, "command");
    hp_json_begin_array(&json);
    for (char *const *word = info->run.command; *word; word++)
        hp_json_string(&json, *word);
    hp_json_end_array(&json);
    const struct {
        const char *key, *value;
    } texts[] = {
        {"engine", info->run.engine},
        {"arch", hp_arch_name(info->run.arch)},
        {"machine", info->run.machine},
        {"hotpath", info->run.version},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hp_json_key(&json, texts[i].key);
        hp_json_string(&json, texts[i].value);
    }
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {
        {"version", info->version}, {"file_size", info->file_size}, {"frames", info->frames},
        {"words", info->words},     {"threads", info->threads},     {"segments", info->segments},
        {"modules", info->modules}, {"addresses", info->addresses},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        hp_json_key(&json, numbers[i].key);
        hp_json_uint(&json, numbers[i].value);
    }
    hp_json_key(&json, "exit_status");
    hp_json_int(&json, info->run.exit_status);
    hp_json_key(&json, "seconds");
    hp_json_fixed(&json, info->run.seconds, 3);
    hp_json_key(&json, "complete");
    hp_json_bool(&json, info->complete);
    hp_json_end_object(&json);
    return hp_json_finish(&json);
}

static void print_text(const char *path, const struct hp_trace_info *info)
{
    printf("%s:", path);
    for (char *const *word = info->run.command; *word; word++)
        printf(" %s", *word);
    printf("\n  %s engine, %s, %.2f s, exit status %d\n  on %s, hotpath %s, trace format %u\n",
           info->run.engine, hp_arch_name(info->run.arch), info->run.seconds, info->run.exit_status,
           info->run.machine, info->run.version, info->version);
    printf("  %" PRIu64 " words in %" PRIu64 " frames, %" PRIu64 " bytes", info->words,
           info->frames, info->file_size);
    if (info->words)
        printf(" (%.3f bits a word)", (double)info->file_size * 8 / (double)info->words);
    if (info->run.addresses)
        printf("\n  %" PRIu64 " addresses of data", info->addresses);
    printf("\n  %u threads, %u segments of code in %u modules\n", info->threads, info->segments,
           info->modules);
    if (!info->complete)
        printf("  incomplete: there is no index, the writer did not finish\n");
}

struct request {
    bool json;
};

static const struct hp_option rows[] = {
    {"json", 'j', HP_OPT_FLAG, offsetof(struct request, json), NULL, "JSON, for scripts", 0},
    {0},
};

static const struct hp_option_group options[] = {
    {rows, 0},
    {0},
};

static enum hp_err run_command(void *values, int n, char **words, int *status)
{
    const struct request *r = values;
    struct hp_trace_reader *reader;
    enum hp_err err = HP_OK;
    (void)n, (void)status;
    HP_TRY(hp_trace_reader_open(words[0], &reader));
    if (r->json)
        err = print_json(hp_trace_reader_info(reader));
    else
        print_text(words[0], hp_trace_reader_info(reader));
    hp_trace_reader_close(reader);
    return err;
}

const struct hp_command hp_command_trace_info = {
    .name = "info",
    .group = "trace",
    .summary = "what a trace holds",
    .synopsis = "[--json] FILE",
    .help = "Says what a trace holds. An incomplete trace (its writer died) has no index: what can "
            "be told\n"
            "is told; 'hotpath trace check' reads all of it.\n",
    .options = options,
    .least = 1,
    .most = 1,
    .wrong = "info takes one trace",
    .instead = "hotpath trace info FILE",
    .size = sizeof(struct request),
    .run = run_command,
};
