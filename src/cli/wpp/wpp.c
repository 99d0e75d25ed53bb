// SPDX-License-Identifier: MIT
#include "cli/cli.h"

static const struct hp_command *const commands[] = {
    &hp_command_wpp_info,
    &hp_command_wpp_expand,
    &hp_command_wpp_hot,
    NULL,
};

const struct hp_command hp_command_wpp = {
    .name = "wpp",
    .summary = "inspect and expand a whole program path",
    .synopsis = "COMMAND [OPTIONS] FILE",
    .help = "A whole program path is every path that a program executed, in order, as a grammar: "
            "small,\n"
            "and expanded to exactly that sequence again.\n",
    .commands = commands,
};
