// SPDX-License-Identifier: MIT
/*
 * ChampSim's traces: 64 bytes an instruction, in the order of execution, with nothing before or between them.
 */
#ifndef HP_EXPORT_CHAMPSIM_H
#define HP_EXPORT_CHAMPSIM_H

#include "export/stream.h"

extern const struct hp_stream_format hp_stream_champsim;

#endif
