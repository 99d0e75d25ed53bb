// SPDX-License-Identifier: MIT
#include "cli/cli.h"
int hp_cmd_trace(int argc, char **argv) { (void)argc; (void)argv; return 0; }
