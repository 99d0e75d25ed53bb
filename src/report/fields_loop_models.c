// SPDX-License-Identifier: MIT
/*
 * The fields of loops as models report them, and of partitioning.
 */
#include "report/fields.h"
#include "report/partition.h"
#include "text/number.h"

static const char *function_name(const struct hp_field_input *in, uint32_t function)
{
    return function == HP_PROFILE_NONE ? "" : in->tables->functions[function];
}

static double share_of_run(const struct hp_field_input *in, uint64_t instructions)
{
    return hp_number_share(instructions, in->tables->summary.instructions);
}

/* --- Loops of models -------------------------------------------------------------------------- */

static const struct hp_pmodel_loop *model_of(const struct hp_field_input *in)
{
    return &in->tables->profile->model_loops[in->row->item];
}

/* What the exact loop did; NULL where it is not known. */
static const struct hp_ploop_count *exact_of(const struct hp_field_input *in)
{
    uint32_t loop = model_of(in)->loop;
    return loop == HP_PROFILE_NONE ? NULL : &in->tables->loops.info[loop].total;
}

static struct hp_cell model_name(const struct hp_field_input *in)
{
    return hp_cell_text(model_of(in)->model);
}

static struct hp_cell model_branch(const struct hp_field_input *in)
{
    return hp_cell_place(in, model_of(in)->branch);
}

static struct hp_cell model_target(const struct hp_field_input *in)
{
    return hp_cell_place(in, model_of(in)->target);
}

static struct hp_cell model_function(const struct hp_field_input *in)
{
    return hp_cell_text(function_name(in, model_of(in)->function));
}

static struct hp_cell model_loop(const struct hp_field_input *in)
{
    return hp_cell_index(model_of(in)->loop);
}

static struct hp_cell model_executions(const struct hp_field_input *in)
{
    return hp_cell_number(model_of(in)->executions);
}

static struct hp_cell model_average(const struct hp_field_input *in)
{
    return hp_cell_fraction((double)model_of(in)->average / 1000);
}

static struct hp_cell model_iterations(const struct hp_field_input *in)
{
    return hp_cell_number(model_of(in)->iterations);
}

static struct hp_cell model_instructions(const struct hp_field_input *in)
{
    return hp_cell_number(model_of(in)->instructions);
}

static struct hp_cell model_share(const struct hp_field_input *in)
{
    return hp_cell_fraction(share_of_run(in, model_of(in)->instructions));
}

static struct hp_cell exact_number(const struct hp_field_input *in, size_t offset)
{
    const struct hp_ploop_count *exact = exact_of(in);
    if (!exact)
        return hp_cell_none();
    return hp_cell_number(*(const uint64_t *)(const void *)((const char *)exact + offset));
}

static struct hp_cell exact_executions(const struct hp_field_input *in)
{
    return exact_number(in, offsetof(struct hp_ploop_count, executions));
}

static struct hp_cell exact_back_edges(const struct hp_field_input *in)
{
    return exact_number(in, offsetof(struct hp_ploop_count, back_edges));
}

static struct hp_cell exact_self(const struct hp_field_input *in)
{
    return exact_number(in, offsetof(struct hp_ploop_count, self));
}

static struct hp_cell exact_average(const struct hp_field_input *in)
{
    const struct hp_ploop_count *exact = exact_of(in);
    return exact ? hp_cell_fraction(hp_number_share(exact->back_edges, exact->executions))
                 : hp_cell_none();
}

static struct hp_cell exact_share(const struct hp_field_input *in)
{
    const struct hp_ploop_count *exact = exact_of(in);
    return exact ? hp_cell_fraction(share_of_run(in, exact->self)) : hp_cell_none();
}

const struct hp_field hp_model_loop_fields[] = {
    {"model", HP_FIELD_PLAIN, model_name},
    {"branch", HP_FIELD_PLAIN, model_branch},
    {"target", HP_FIELD_PLAIN, model_target},
    {"function", HP_FIELD_PLAIN, model_function},
    {"loop", HP_FIELD_PLAIN, model_loop},
    {"executions", HP_FIELD_PLAIN, model_executions},
    {"average", HP_FIELD_PLAIN, model_average},
    {"iterations", HP_FIELD_PLAIN, model_iterations},
    {"instructions", HP_FIELD_PLAIN, model_instructions},
    {"share", HP_FIELD_PLAIN, model_share},
    {"exact_executions", HP_FIELD_PLAIN, exact_executions},
    {"exact_average", HP_FIELD_PLAIN, exact_average},
    {"exact_iterations", HP_FIELD_PLAIN, exact_back_edges},
    {"exact_instructions", HP_FIELD_PLAIN, exact_self},
    {"exact_share", HP_FIELD_PLAIN, exact_share},
    {0}};

/* --- Partitioning ----------------------------------------------------------------------------- */

static const struct hp_ploop *loop_of(const struct hp_field_input *in)
{
    return &in->tables->profile->loops[in->row->item];
}

static const struct hp_loop_info *info_of(const struct hp_field_input *in)
{
    return &in->tables->loops.info[in->row->item];
}

static struct hp_cell loop_id(const struct hp_field_input *in)
{
    return hp_cell_number(in->row->item);
}

static struct hp_cell loop_function(const struct hp_field_input *in)
{
    return hp_cell_text(function_name(in, loop_of(in)->function));
}

static struct hp_cell loop_file(const struct hp_field_input *in)
{
    return hp_cell_text(loop_of(in)->file);
}

static struct hp_cell loop_line(const struct hp_field_input *in)
{
    return hp_cell_number(loop_of(in)->first_line);
}

static struct hp_cell loop_target(const struct hp_field_input *in)
{
    return hp_cell_place(in, loop_of(in)->header);
}

static struct hp_cell loop_insns(const struct hp_field_input *in)
{
    return hp_cell_number(loop_of(in)->insns);
}

static struct hp_cell loop_executions(const struct hp_field_input *in)
{
    return hp_cell_number(info_of(in)->total.executions);
}

static struct hp_cell loop_iterations(const struct hp_field_input *in)
{
    return hp_cell_number(info_of(in)->total.iterations);
}

static struct hp_partition_estimate estimate_of(const struct hp_field_input *in)
{
    struct hp_partition_estimate estimate;
    hp_partition_estimate(in->tables, in->row->item, &estimate);
    return estimate;
}

static struct hp_cell partition_speedup(const struct hp_field_input *in)
{
    return hp_cell_fraction(estimate_of(in).speedup);
}

static struct hp_cell partition_rank(const struct hp_field_input *in)
{
    return hp_cell_number(info_of(in)->rank);
}

static struct hp_cell partition_software(const struct hp_field_input *in)
{
    return hp_cell_fraction(estimate_of(in).software);
}

static struct hp_cell partition_hardware(const struct hp_field_input *in)
{
    return hp_cell_fraction(estimate_of(in).hardware);
}

static struct hp_cell partition_communication(const struct hp_field_input *in)
{
    return hp_cell_fraction(estimate_of(in).communication);
}

static struct hp_cell partition_gain(const struct hp_field_input *in)
{
    return hp_cell_fraction(estimate_of(in).gain);
}

const struct hp_field hp_partition_fields[] = {
    {"loop", HP_FIELD_PLAIN, loop_id},
    {"function", HP_FIELD_PLAIN, loop_function},
    {"file", HP_FIELD_PLAIN, loop_file},
    {"line", HP_FIELD_PLAIN, loop_line},
    {"target", HP_FIELD_PLAIN, loop_target},
    {"speedup", HP_FIELD_PLAIN, partition_speedup},
    {"iteration_rank", HP_FIELD_PLAIN, partition_rank},
    {"executions", HP_FIELD_PLAIN, loop_executions},
    {"iterations", HP_FIELD_PLAIN, loop_iterations},
    {"software", HP_FIELD_PLAIN, partition_software},
    {"hardware", HP_FIELD_PLAIN, partition_hardware},
    {"communication", HP_FIELD_PLAIN, partition_communication},
    {"gain", HP_FIELD_PLAIN, partition_gain},
    {"static_instructions", HP_FIELD_PLAIN, loop_insns},
    {0}};
