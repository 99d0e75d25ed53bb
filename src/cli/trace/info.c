// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "cli/cli.h"
#include "hotpath/trace.h"
#include "text/json.h"

static enum hp_err print_json(const struct hp_trace_info *info)
{
    struct hp_json json = {.out = stdout, .lines = 1};
    hp_json_begin_object(&json);
    hp_json_put_strings(&json, "command", info->run.command);
    hp_json_put_string(&json, "engine", info->run.engine);
    hp_json_put_string(&json, "arch", hp_arch_name(info->run.arch));
    hp_json_put_string(&json, "machine", info->run.machine);
    hp_json_put_string(&json, "hotpath", info->run.version);
    hp_json_put_uint(&json, "version", info->version);
    hp_json_put_uint(&json, "file_size", info->file_size);
    hp_json_put_uint(&json, "frames", info->frames);
    hp_json_put_uint(&json, "words", info->words);
    hp_json_put_uint(&json, "threads", info->threads);
    hp_json_put_uint(&json, "segments", info->segments);
    hp_json_put_uint(&json, "modules", info->modules);
    hp_json_put_uint(&json, "addresses", info->addresses);
    hp_json_put_int(&json, "exit_status", info->run.exit_status);
    hp_json_put_fixed(&json, "seconds", info->run.seconds, 3);
    hp_json_put_bool(&json, "complete", info->complete);
    hp_json_end_object(&json);
    return hp_json_finish(&json);
}

static enum hp_err print_text(const char *path, const struct hp_trace_info *info)
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
    return HP_OK;
}

HP_CLEANUP_POINTER(close_reader, struct hp_trace_reader, hp_trace_reader_close)

static enum hp_err run(struct hp_invocation *call)
{
    const struct hp_cli_json *r = call->values;
    struct hp_trace_reader *reader HP_CLEANUP(close_reader) = NULL;
    HP_TRY(hp_trace_reader_open(call->words[0], &reader));
    return r->json ? print_json(hp_trace_reader_info(reader))
                   : print_text(call->words[0], hp_trace_reader_info(reader));
}

const struct hp_command hp_command_trace_info = {
    .name = "trace info",
    .summary = "what a trace holds",
    .synopsis = "[OPTIONS] FILE",
    .help = "Says what a trace holds. An incomplete trace (its writer died) has no index: what can "
            "be told is told; 'hotpath trace check' reads all of it.\n",
    .options = {hp_options_json},
    .values = {sizeof(struct hp_cli_json), NULL},
    .run = run,
};
