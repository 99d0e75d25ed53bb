// SPDX-License-Identifier: MIT

#include "cli/cli.h"
#include "hotpath/wpp.h"
#include "text/json.h"
#include "text/number.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static double ratio(uint64_t a, uint64_t b)
{
    return b ? (double)a / (double)b : 0;
}

static enum hp_err print_info_json(const struct hp_wpp_reader *reader)
{
    const struct hp_wpp_about *about = hp_wpp_about(reader);
    const struct hp_wpp_stats *stats = hp_wpp_reader_stats(reader);
    struct hp_json json = {.out = stdout, .lines = 1};
    hp_json_begin_object(&json);
    hp_json_key(&json, "command");
    hp_json_begin_array(&json);
    for (char *const *word = about->command; *word; word++)
        hp_json_string(&json, *word);
    hp_json_end_array(&json);
    const struct {
        const char *key, *value;
    } texts[] = {{"hotpath", about->version},
                 {"engine", about->engine},
                 {"arch", about->arch},
                 {"kind", about->ppcr},
                 {"machine", about->machine}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hp_json_key(&json, texts[i].key);
        hp_json_string(&json, texts[i].value);
    }
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {{"symbols", stats->symbols},      {"instructions", stats->insns},
                   {"paths", stats->paths},          {"threads", stats->threads},
                   {"rules", stats->rules},          {"nodes", stats->nodes},
                   {"parts", stats->parts},          {"cuts", stats->cuts},
                   {"forgotten", stats->forgotten},  {"memory", stats->peak},
                   {"file_size", stats->file_bytes}, {"raw_size", stats->symbols * 4}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        hp_json_key(&json, numbers[i].key);
        hp_json_uint(&json, numbers[i].value);
    }
    hp_json_key(&json, "compression");
    hp_json_fixed(&json, ratio(stats->symbols * 4, stats->file_bytes), 3);
    hp_json_key(&json, "symbols_per_node");
    hp_json_fixed(&json, ratio(stats->symbols, stats->nodes), 3);
    hp_json_key(&json, "exit_status");
    hp_json_int(&json, about->exit_status);
    hp_json_key(&json, "seconds");
    hp_json_fixed(&json, about->seconds, 3);
    hp_json_end_object(&json);
    return hp_json_finish(&json);
}

static const char *grouped(char text[HP_NUMBER_SIZE], uint64_t value)
{
    hp_number_grouped(text, value);
    return text;
}

static void print_info_text(const char *path, const struct hp_wpp_reader *reader)
{
    const struct hp_wpp_about *about = hp_wpp_about(reader);
    const struct hp_wpp_stats *stats = hp_wpp_reader_stats(reader);
    char a[HP_NUMBER_SIZE], b[HP_NUMBER_SIZE], c[HP_NUMBER_SIZE];
    printf("%s:", path);
    for (char *const *word = about->command; *word; word++)
        printf(" %s", *word);
    printf("\n  %s engine, %s, %.2f s, exit status %d, paths '%s', hotpath %s\n", about->engine,
           about->arch, about->seconds, about->exit_status, about->ppcr, about->version);
    printf("  %s paths executed in %" PRIu32 " thread%s, %s instructions, %s different paths\n",
           grouped(a, stats->symbols), stats->threads, stats->threads == 1 ? "" : "s",
           grouped(b, stats->insns), grouped(c, stats->paths));
    printf("  grammar: %s rules of %s symbols, %.1f paths a symbol\n", grouped(a, stats->rules),
           grouped(b, stats->nodes), ratio(stats->symbols, stats->nodes));
    printf("  file: %s bytes, 1/%.1f of %s bytes at 4 a path\n", grouped(a, stats->file_bytes),
           ratio(stats->symbols * 4, stats->file_bytes), grouped(b, stats->symbols * 4));
    if (stats->cuts || stats->forgotten)
        printf("  the memory's bound was reached: grammars were closed %s times, known paths "
               "forgotten %s times\n",
               grouped(a, stats->cuts), grouped(b, stats->forgotten));
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
    struct hp_wpp_reader *reader;
    enum hp_err err = HP_OK;
    (void)n, (void)status;
    HP_TRY(hp_wpp_open(words[0], &reader));
    if (r->json)
        err = print_info_json(reader);
    else
        print_info_text(words[0], reader);
    hp_wpp_close(reader);
    return err;
}

const struct hp_command hp_command_wpp_info = {
    .name = "info",
    .group = "wpp",
    .summary = "what a whole program path holds, and how far it was compressed",
    .synopsis = "[--json] FILE",
    .help = "Says what a whole program path holds, and how far it was compressed.\n",
    .options = options,
    .least = 1,
    .most = 1,
    .wrong = "info takes one file",
    .instead = "hotpath wpp info FILE",
    .size = sizeof(struct request),
    .run = run_command,
};
