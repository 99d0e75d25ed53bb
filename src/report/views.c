// SPDX-License-Identifier: MIT
#include "report/view.h"

#include <stddef.h>

static const struct hp_view summary = {"summary", "totals of the run"};
static const struct hp_view functions = {"functions", "functions, by their own instructions"};
static const struct hp_view blocks = {"blocks", "basic blocks, by instructions executed in them"};
static const struct hp_view edges = {"edges", "control transfers, by how often they happened"};
static const struct hp_view calls = {"calls", "callers and callees"};
static const struct hp_view contexts = {"contexts", "who called whom, as a tree"};
static const struct hp_view lines = {"lines", "source lines"};
static const struct hp_view threads = {"threads", "threads"};
static const struct hp_view modules = {"modules", "files that code was executed in"};
static const struct hp_view loops = {"loops", "loops, their trip counts and nesting"};
static const struct hp_view paths = {"paths", "hot paths, with their source lines"};
static const struct hp_view predictions = {"predictions", "how early hot paths can be predicted"};
static const struct hp_view hotspots = {"hotspots", "hot spots, and when each of them ran"};
static const struct hp_view loop_models = {"loop-models",
                                           "loops as models of hardware report them"};
static const struct hp_view partition = {"partition", "what loops would gain in hardware"};
static const struct hp_view machine = {"machine", "what models counted"};
static const struct hp_view instructions = {
    "instructions", "the worst instructions of a machine in cycles, and why"};
static const struct hp_view cpi = {"cpi", "where cycles went"};
static const struct hp_view sampling = {
    "sampling", "samplers, and how far ways of sampling are from the truth"};
static const struct hp_view all = {"all", "everything"};

const struct hp_view *const hp_views[] = {
    &summary,   &functions, &blocks,       &edges, &calls,       &contexts, &lines,
    &threads,   &modules,   &loops,        &paths, &predictions, &hotspots, &loop_models,
    &partition, &machine,   &instructions, &cpi,   &sampling,    &all,      NULL,
};
