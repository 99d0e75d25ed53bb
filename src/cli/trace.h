// SPDX-License-Identifier: MIT
/*
 * The commands under `hotpath trace`.
 */
#ifndef HP_CLI_TRACE_H
#define HP_CLI_TRACE_H

int hp_trace_cmd_record(int argc, char **argv);
int hp_trace_cmd_info(int argc, char **argv);
int hp_trace_cmd_check(int argc, char **argv);
int hp_trace_cmd_dump(int argc, char **argv);
int hp_trace_cmd_replay(int argc, char **argv);

#endif
