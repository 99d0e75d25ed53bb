// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "cli/cli.h"
#include "cli/wpp/names.h"
#include "text/json.h"
#include "text/number.h"

static double ratio(uint64_t a, uint64_t b)
{
    return b ? (double)a / (double)b : 0;
}

static enum hp_err print_json(const struct hp_wpp_about *about, const struct hp_wpp_stats *stats)
{
    struct hp_json json = {.out = stdout, .lines = 1};
    hp_json_begin_object(&json);
    hp_json_put_strings(&json, "command", about->command);
    hp_json_put_string(&json, "hotpath", about->version);
    hp_json_put_string(&json, "engine", about->engine);
    hp_json_put_string(&json, "arch", about->arch);
    hp_json_put_string(&json, "kind", about->ppcr);
    hp_json_put_string(&json, "machine", about->machine);
    hp_json_put_uint(&json, "symbols", stats->symbols);
    hp_json_put_uint(&json, "instructions", stats->insns);
    hp_json_put_uint(&json, "paths", stats->paths);
    hp_json_put_uint(&json, "threads", stats->threads);
    hp_json_put_uint(&json, "rules", stats->rules);
    hp_json_put_uint(&json, "nodes", stats->nodes);
    hp_json_put_uint(&json, "parts", stats->parts);
    hp_json_put_uint(&json, "cuts", stats->cuts);
    hp_json_put_uint(&json, "forgotten", stats->forgotten);
    hp_json_put_uint(&json, "memory", stats->peak);
    hp_json_put_uint(&json, "file_size", stats->file_bytes);
    hp_json_put_uint(&json, "raw_size", stats->symbols * 4);
    hp_json_put_fixed(&json, "compression", ratio(stats->symbols * 4, stats->file_bytes), 3);
    hp_json_put_fixed(&json, "symbols_per_node", ratio(stats->symbols, stats->nodes), 3);
    hp_json_put_int(&json, "exit_status", about->exit_status);
    hp_json_put_fixed(&json, "seconds", about->seconds, 3);
    hp_json_end_object(&json);
    return hp_json_finish(&json);
}

static enum hp_err print_text(const char *path, const struct hp_wpp_about *about,
                              const struct hp_wpp_stats *stats)
{
    printf("%s:", path);
    for (char *const *word = about->command; *word; word++)
        printf(" %s", *word);
    printf("\n  %s engine, %s, %.2f s, exit status %d, paths '%s', hotpath %s\n", about->engine,
           about->arch, about->seconds, about->exit_status, about->ppcr, about->version);
    printf("  %s paths executed in %" PRIu32 " thread%s, %s instructions, %s different paths\n",
           HP_GROUPED(stats->symbols), stats->threads, stats->threads == 1 ? "" : "s",
           HP_GROUPED(stats->insns), HP_GROUPED(stats->paths));
    printf("  grammar: %s rules of %s symbols, %.1f paths a symbol\n", HP_GROUPED(stats->rules),
           HP_GROUPED(stats->nodes), ratio(stats->symbols, stats->nodes));
    printf("  file: %s bytes, 1/%.1f of %s bytes at 4 a path\n", HP_GROUPED(stats->file_bytes),
           ratio(stats->symbols * 4, stats->file_bytes), HP_GROUPED(stats->symbols * 4));
    if (stats->cuts || stats->forgotten)
        printf("  the memory's bound was reached: grammars were closed %s times, known paths "
               "forgotten %s times\n",
               HP_GROUPED(stats->cuts), HP_GROUPED(stats->forgotten));
    return HP_OK;
}

static enum hp_err run(struct hp_invocation *call)
{
    const struct hp_cli_json *r = call->values;
    struct hp_open_wpp wpp HP_CLEANUP(hp_open_wpp_close) = {0};
    HP_TRY(hp_open_wpp(&wpp, call->words[0]));
    const struct hp_wpp_about *about = hp_wpp_about(wpp.reader);
    const struct hp_wpp_stats *stats = hp_wpp_reader_stats(wpp.reader);
    return r->json ? print_json(about, stats) : print_text(call->words[0], about, stats);
}

const struct hp_command hp_command_wpp_info = {
    .name = "wpp info",
    .summary = "what a whole program path holds, and how far it was compressed",
    .synopsis = "[OPTIONS] FILE",
    .help = "Says what a whole program path holds, and how far it was compressed.\n",
    .options = {hp_options_json},
    .values = {sizeof(struct hp_cli_json), NULL},
    .run = run,
};
