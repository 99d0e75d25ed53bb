// SPDX-License-Identifier: MIT
/*
 * ProfileMe as a profiler: samples the timings of all threads and tallies them by instruction.
 */
#ifndef HP_PROFILER_SAMPLE_PROFILER_H
#define HP_PROFILER_SAMPLE_PROFILER_H

#include "hotpath/profiler.h"
#include "hotpath/sample.h"

/* Keeps `program`. */
enum hp_err hp_sample_profiler_new(const struct hp_sample_config *config,
                                   struct hp_program *program, struct hp_profiler **profiler);

/* The factor for estimates when only windows of the run were observed, in thousandths; 1000 unless
 * this is called before finish(). */
void hp_sample_profiler_set_scale(struct hp_profiler *profiler, uint64_t thousandths);

#endif
