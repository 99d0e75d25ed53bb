// SPDX-License-Identifier: MIT
#include "cli/trace.h"

#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static const struct hp_command commands[] = {
    {"record", "run a program and record its stream in a trace file", hp_trace_cmd_record},
    {"info", "what a trace holds", hp_trace_cmd_info},
    {"check", "verify a trace: its checksums and the stream's invariants", hp_trace_cmd_check},
    {"dump", "print the blocks and events of a trace", hp_trace_cmd_dump},
    {"replay", "make a profile of a trace", hp_trace_cmd_replay},
};

static void print_help(void)
{
    printf("Usage: hotpath trace COMMAND [OPTIONS] ...\n\n"
           "A trace is everything a program executed, in order: about a bit a branch. Replaying it "
           "gives\n"
           "the same profile as watching the program, to the last count, as often as you like.\n\n"
           "Commands:\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        printf("  %-9s %s\n", commands[i].name, commands[i].summary);
    printf("\n'hotpath trace COMMAND --help' explains a command.\n");
}

int hp_cmd_trace(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "--help";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_help();
        return argc > 1 ? 0 : HP_EXIT_FAILED;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    return hp_cli_fail(hp_fail(
        HP_ERR_INVALID, "unknown command 'trace %s' (hotpath trace --help lists them)", name));
}
