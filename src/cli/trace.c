// SPDX-License-Identifier: MIT
#include "cli/trace.h"

#include "cli/cli.h"
#include "cli/group.h"

static const struct hp_command commands[] = {
    {"record", "run a program and record its stream in a trace file", hp_trace_cmd_record},
    {"info", "what a trace holds", hp_trace_cmd_info},
    {"check", "verify a trace: its checksums and the stream's invariants", hp_trace_cmd_check},
    {"dump", "print the blocks and events of a trace", hp_trace_cmd_dump},
    {"replay", "make a profile of a trace", hp_trace_cmd_replay},
    {0},
};

static const struct hp_group group = {
    .name = "trace",
    .words = "...",
    .help = "A trace is everything a program executed, in order: about a bit a branch. Replaying "
            "it gives\n"
            "the same profile as watching the program, to the last count, as often as you like.\n",
    .commands = commands,
};

int hp_cmd_trace(int argc, char **argv)
{
    return hp_group_run(&group, argc, argv);
}
