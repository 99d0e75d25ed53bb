// SPDX-License-Identifier: MIT
#include "cli/cli.h"

static const struct hp_command *const commands[] = {
    &hp_command_trace_record, &hp_command_trace_info,   &hp_command_trace_check,
    &hp_command_trace_dump,   &hp_command_trace_replay, NULL,
};

const struct hp_command hp_command_trace = {
    .name = "trace",
    .summary = "record, inspect, check and replay the raw stream",
    .synopsis = "COMMAND [OPTIONS] ...",
    .help = "A trace is everything a program executed, in order: about a bit a branch. Replaying "
            "it gives\n"
            "the same profile as watching the program, to the last count, as often as you like.\n",
    .commands = commands,
};
