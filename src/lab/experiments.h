// SPDX-License-Identifier: MIT
/*
 * The experiments; one file each.
 */
#ifndef HP_LAB_EXPERIMENTS_H
#define HP_LAB_EXPERIMENTS_H

#include "lab/lab.h"

/* Vaswani, Thazhuthaveetil, Srikant: A Programmable Hardware Path Profiler (CGO 2005). */
extern const struct hp_experiment hp_paths_overlap; /* figures 7, 8 and 11 */
extern const struct hp_experiment hp_paths_factors; /* table 4: Plackett-Burman, full factorial */
extern const struct hp_experiment hp_paths_distribution; /* figures 2 and 3 */
extern const struct hp_experiment hp_paths_causes;       /* figure 7: why */
extern const struct hp_experiment hp_paths_extended;     /* figure 10 */

extern const struct hp_experiment hp_paths_overhead; /* figure 12 */
extern const struct hp_experiment hp_paths_power;    /* figure 11 */

/* Ball, Larus: Efficient path profiling (MICRO 1996); Young, Smith: Better global scheduling using
 * path profiles (1998). */
extern const struct hp_experiment hp_paths_numbering;

/* Duesterwald, Bala: Software Profiling for Hot Path Prediction: Less is More (ASPLOS 2000). */
extern const struct hp_experiment hp_prediction_curves; /* figures 2 and 3 */
extern const struct hp_experiment hp_prediction_space;  /* tables 1 and 2, figure 4 */
extern const struct hp_experiment hp_prediction_phases; /* section 6.1 */
extern const struct hp_experiment hp_prediction_dynamo; /* figure 5 */

/* Nair, Lysecky: Non-Intrusive Dynamic Application Profiler for Detailed Loop Execution
 * Characterization (CASES 2008). */
extern const struct hp_experiment hp_loops_accuracy; /* figures 4, 5 and 7 */

/* Merten and others: A Hardware-Driven Profiling Scheme for Identifying Program Hot Spots (ISCA
 * 1999). */
extern const struct hp_experiment hp_hotspots_table; /* the table of the slides */

/* Dean and others: ProfileMe: Hardware Support for Instruction-Level Profiling on Out-of-Order
 * Processors (MICRO 1997). */
extern const struct hp_experiment hp_sampling_skid;        /* figure 2 */
extern const struct hp_experiment hp_sampling_convergence; /* figure 3 */
extern const struct hp_experiment hp_sampling_paths;       /* figure 6 */
extern const struct hp_experiment hp_sampling_bottlenecks; /* figure 7 */
extern const struct hp_experiment hp_sampling_ipc;         /* section 6 */
extern const struct hp_experiment hp_sampling_cost;        /* sections 4.1, 4.3 */

/* Gottschall, Eeckhout, Jahre: TIP: Time-Proportional Instruction Profiling (MICRO 2021). */
extern const struct hp_experiment hp_sampling_error;

/* No paper: machine models against the processor. */
extern const struct hp_experiment hp_sampling_fidelity;

/* No paper: sizes by an estimate. */
extern const struct hp_experiment hp_hardware_size;

#endif
