// SPDX-License-Identifier: MIT
/*
 * The commands under `hotpath wpp`.
 */
#ifndef HP_CLI_WPP_H
#define HP_CLI_WPP_H

int hp_wpp_cmd_info(int argc, char **argv);
int hp_wpp_cmd_expand(int argc, char **argv);
int hp_wpp_cmd_hot(int argc, char **argv);

#endif
