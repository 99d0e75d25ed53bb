// SPDX-License-Identifier: MIT
/*
 * The fields of loops.
 */
#include "report/fields.h"
#include "text/number.h"

static const char *function_name(const struct hp_field_input *in, uint32_t function)
{
    return function == HP_PROFILE_NONE ? "" : in->tables->functions[function];
}

static double share_of_run(const struct hp_field_input *in, uint64_t instructions)
{
    return hp_number_share(instructions, in->tables->summary.instructions);
}

/* A member of an object. */
static void put_number(struct hp_json *json, const char *key, uint64_t value)
{
    hp_json_key(json, key);
    hp_json_uint(json, value);
}

static void put_place(const struct hp_field_input *in, struct hp_json *json, const char *key,
                      struct hp_place at)
{
    hp_strbuf_clear(in->buffer);
    hp_tables_place(in->tables, at, in->buffer);
    hp_json_key(json, key);
    hp_json_string(json, hp_strbuf_text(in->buffer));
}

/* --- Loops: which one it is ------------------------------------------------------------------- */

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

static struct hp_cell loop_parent(const struct hp_field_input *in)
{
    return hp_cell_index(loop_of(in)->parent);
}

static struct hp_cell loop_depth(const struct hp_field_input *in)
{
    return hp_cell_number(info_of(in)->depth);
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

static struct hp_cell loop_last_line(const struct hp_field_input *in)
{
    return hp_cell_number(loop_of(in)->last_line);
}

/* The most frequent branch that closes it. */
static struct hp_cell loop_branch(const struct hp_field_input *in)
{
    size_t n;
    const struct hp_back_edge *edges = hp_loop_edges(&in->tables->loops, in->row->item, &n);
    return n ? hp_cell_place(in, in->tables->profile->edges[edges->edge].from) : hp_cell_text("");
}

static struct hp_cell loop_target(const struct hp_field_input *in)
{
    return hp_cell_place(in, loop_of(in)->header);
}

static struct hp_cell loop_version(const struct hp_field_input *in)
{
    return hp_cell_number(loop_of(in)->version);
}

static struct hp_cell loop_irreducible(const struct hp_field_input *in)
{
    return (struct hp_cell){.kind = HP_CELL_BOOL,
                            .flag = (loop_of(in)->flags & HP_LOOP_IRREDUCIBLE) != 0};
}

static struct hp_cell loop_insns(const struct hp_field_input *in)
{
    return hp_cell_number(loop_of(in)->insns);
}

/* --- Loops: what it did ----------------------------------------------------------------------- */

static const struct hp_ploop_count *counts_of(const struct hp_field_input *in)
{
    return hp_loop_counts(in->tables, in->row);
}

static struct hp_cell loop_executions(const struct hp_field_input *in)
{
    return hp_cell_number(counts_of(in)->executions);
}

static struct hp_cell loop_iterations(const struct hp_field_input *in)
{
    return hp_cell_number(counts_of(in)->iterations);
}

static struct hp_cell loop_back_edges(const struct hp_field_input *in)
{
    return hp_cell_number(counts_of(in)->back_edges);
}

static struct hp_cell loop_mean(const struct hp_field_input *in)
{
    return hp_cell_fraction(hp_number_share(counts_of(in)->iterations, counts_of(in)->executions));
}

/* A number about executions one by one, where they are known. */
static struct hp_cell of_executions(const struct hp_field_input *in, uint64_t number)
{
    bool unknown = counts_of(in)->max == 0 && counts_of(in)->executions;
    return unknown ? hp_cell_none() : hp_cell_number(number);
}

static struct hp_cell loop_min(const struct hp_field_input *in)
{
    return of_executions(in, counts_of(in)->min);
}

static struct hp_cell loop_max(const struct hp_field_input *in)
{
    return of_executions(in, counts_of(in)->max);
}

static struct hp_cell loop_self(const struct hp_field_input *in)
{
    return hp_cell_number(counts_of(in)->self);
}

static struct hp_cell loop_inclusive(const struct hp_field_input *in)
{
    return hp_cell_number(counts_of(in)->inclusive);
}

static struct hp_cell loop_share(const struct hp_field_input *in)
{
    return hp_cell_fraction(share_of_run(in, counts_of(in)->inclusive));
}

static struct hp_cell loop_self_share(const struct hp_field_input *in)
{
    return hp_cell_fraction(share_of_run(in, counts_of(in)->self));
}

static struct hp_cell loop_same(const struct hp_field_input *in)
{
    return of_executions(in, counts_of(in)->same);
}

static struct hp_cell loop_stride(const struct hp_field_input *in)
{
    return of_executions(in, counts_of(in)->stride);
}

static struct hp_cell loop_predictability(const struct hp_field_input *in)
{
    double foreseen = info_of(in)->foreseen;
    return foreseen < 0 ? hp_cell_none() : hp_cell_fraction(foreseen);
}

static struct hp_cell loop_interrupted(const struct hp_field_input *in)
{
    return hp_cell_number(counts_of(in)->interrupted);
}

/* --- Loops: lists ----------------------------------------------------------------------------- */

/* The largest number of a bucket. */
static uint64_t bucket_end(uint64_t bucket)
{
    return bucket >= 63 ? UINT64_MAX : (UINT64_C(2) << bucket) - 1;
}

static uint64_t bucket_start(uint64_t bucket)
{
    return bucket > 63 ? UINT64_MAX : UINT64_C(1) << bucket;
}

static void histogram_json(const struct hp_field_input *in, struct hp_json *json)
{
    size_t n;
    const struct hp_ploop_trips *trips =
        hp_loop_trips(in->tables->profile, in->row->item, true, &n);
    hp_json_begin_array(json);
    for (size_t i = 0; i < n; i++) {
        hp_json_begin_object(json);
        put_number(json, "from", bucket_start(trips[i].value));
        put_number(json, "to", bucket_end(trips[i].value));
        put_number(json, "count", trips[i].count);
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

/* "from:count" */
static void add_pair(const struct hp_field_input *in, uint64_t value, uint64_t count)
{
    hp_strbuf_uint(in->buffer, value);
    hp_strbuf_add(in->buffer, ":");
    hp_strbuf_uint(in->buffer, count);
    hp_strbuf_add(in->buffer, "\n");
}

static struct hp_cell loop_histogram(const struct hp_field_input *in)
{
    size_t n;
    const struct hp_ploop_trips *trips =
        hp_loop_trips(in->tables->profile, in->row->item, true, &n);
    for (size_t i = 0; i < n; i++)
        add_pair(in, bucket_start(trips[i].value), trips[i].count);
    struct hp_cell cell = hp_cell_list(in);
    cell.nested = histogram_json;
    return cell;
}

static void trips_json(const struct hp_field_input *in, struct hp_json *json)
{
    size_t n;
    const struct hp_ploop_trips *trips =
        hp_loop_trips(in->tables->profile, in->row->item, false, &n);
    hp_json_begin_array(json);
    for (size_t i = 0; i < n; i++) {
        hp_json_begin_object(json);
        put_number(json, "iterations", trips[i].value);
        put_number(json, "count", trips[i].count);
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

static struct hp_cell loop_trips(const struct hp_field_input *in)
{
    size_t n;
    const struct hp_ploop_trips *trips =
        hp_loop_trips(in->tables->profile, in->row->item, false, &n);
    for (size_t i = 0; i < n; i++)
        add_pair(in, trips[i].value, trips[i].count);
    struct hp_cell cell = hp_cell_list(in);
    cell.nested = trips_json;
    return cell;
}

static void branches_json(const struct hp_field_input *in, struct hp_json *json)
{
    size_t n;
    const struct hp_back_edge *edges = hp_loop_edges(&in->tables->loops, in->row->item, &n);
    hp_json_begin_array(json);
    for (size_t i = 0; i < n; i++) {
        hp_json_begin_object(json);
        put_place(in, json, "branch", in->tables->profile->edges[edges[i].edge].from);
        put_number(json, "count", edges[i].count);
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

static struct hp_cell loop_branches(const struct hp_field_input *in)
{
    size_t n;
    const struct hp_back_edge *edges = hp_loop_edges(&in->tables->loops, in->row->item, &n);
    struct hp_strbuf item = {0};
    for (size_t i = 0; i < n; i++) {
        hp_strbuf_clear(&item);
        hp_tables_place(in->tables, in->tables->profile->edges[edges[i].edge].from, &item);
        hp_strbuf_add(&item, ":");
        hp_strbuf_uint(&item, edges[i].count);
        hp_list_add(in->buffer, hp_strbuf_text(&item));
    }
    in->buffer->failed |= item.failed;
    hp_strbuf_fini(&item);
    struct hp_cell cell = hp_cell_list(in);
    cell.nested = branches_json;
    return cell;
}

static struct hp_cell loop_blocks(const struct hp_field_input *in)
{
    const struct hp_profile *p = in->tables->profile;
    size_t low = 0, high = p->n_loop_blocks;
    struct hp_strbuf item = {0};
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->loop_blocks[middle].loop < in->row->item)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < p->n_loop_blocks && p->loop_blocks[low].loop == in->row->item; low++) {
        hp_strbuf_clear(&item);
        hp_tables_place(in->tables, p->blocks[p->loop_blocks[low].block].place, &item);
        hp_list_add(in->buffer, hp_strbuf_text(&item));
    }
    in->buffer->failed |= item.failed;
    hp_strbuf_fini(&item);
    return hp_cell_list(in);
}

static void models_json(const struct hp_field_input *in, struct hp_json *json)
{
    const struct hp_profile *p = in->tables->profile;
    size_t n;
    const uint32_t *models = hp_loop_models(&in->tables->loops, p, in->row->item, &n);
    hp_json_begin_array(json);
    for (size_t i = 0; i < n; i++) {
        const struct hp_pmodel_loop *loop = &p->model_loops[models[i]];
        hp_json_begin_object(json);
        hp_json_key(json, "model");
        hp_json_string(json, hp_text(loop->model));
        put_place(in, json, "branch", loop->branch);
        put_number(json, "executions", loop->executions);
        hp_json_key(json, "average");
        hp_json_fixed(json, (double)loop->average / 1000, 3);
        put_number(json, "iterations", loop->iterations);
        put_number(json, "instructions", loop->instructions);
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

static struct hp_cell loop_models(const struct hp_field_input *in)
{
    const struct hp_profile *p = in->tables->profile;
    size_t n;
    const uint32_t *models = hp_loop_models(&in->tables->loops, p, in->row->item, &n);
    for (size_t i = 0; i < n; i++)
        hp_list_add(in->buffer, hp_text(p->model_loops[models[i]].model));
    struct hp_cell cell = hp_cell_list(in);
    cell.nested = models_json;
    return cell;
}

const struct hp_field hp_loop_fields[] = {{"id", HP_FIELD_PLAIN, loop_id},
                                          {"parent", HP_FIELD_PLAIN, loop_parent},
                                          {"depth", HP_FIELD_PLAIN, loop_depth},
                                          {"function", HP_FIELD_PLAIN, loop_function},
                                          {"file", HP_FIELD_PLAIN, loop_file},
                                          {"line", HP_FIELD_PLAIN, loop_line},
                                          {"last_line", HP_FIELD_PLAIN, loop_last_line},
                                          {"branch", HP_FIELD_PLAIN, loop_branch},
                                          {"target", HP_FIELD_PLAIN, loop_target},
                                          {"version", HP_FIELD_PLAIN, loop_version},
                                          {"irreducible", HP_FIELD_PLAIN, loop_irreducible},
                                          {"static_instructions", HP_FIELD_PLAIN, loop_insns},
                                          {"executions", HP_FIELD_COUNTED, loop_executions},
                                          {"iterations", HP_FIELD_COUNTED, loop_iterations},
                                          {"back_edges", HP_FIELD_COUNTED, loop_back_edges},
                                          {"mean", HP_FIELD_COUNTED, loop_mean},
                                          {"min", HP_FIELD_COUNTED, loop_min},
                                          {"max", HP_FIELD_COUNTED, loop_max},
                                          {"self", HP_FIELD_COUNTED, loop_self},
                                          {"inclusive", HP_FIELD_COUNTED, loop_inclusive},
                                          {"share", HP_FIELD_PLAIN, loop_share},
                                          {"self_share", HP_FIELD_PLAIN, loop_self_share},
                                          {"same", HP_FIELD_COUNTED, loop_same},
                                          {"stride", HP_FIELD_COUNTED, loop_stride},
                                          {"predictability", HP_FIELD_PLAIN, loop_predictability},
                                          {"interrupted", HP_FIELD_COUNTED, loop_interrupted},
                                          {"trips", HP_FIELD_PLAIN, loop_trips},
                                          {"histogram", HP_FIELD_PLAIN, loop_histogram},
                                          {"branches", HP_FIELD_PLAIN, loop_branches},
                                          {"blocks", HP_FIELD_PLAIN, loop_blocks},
                                          {"models", HP_FIELD_PLAIN, loop_models},
                                          {0}};
