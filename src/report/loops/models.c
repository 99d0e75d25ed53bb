// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "report/fields.h"
#include "report/text.h"

/* What the exact loop did; NULL where it is not known. */
static const void *exact_of(const struct hp_field_input *in)
{
    uint32_t loop = in->tables->profile->model_loops[in->row->item].loop;
    return loop == HP_PROFILE_NONE ? NULL : &in->tables->loops.info[loop].total;
}

static const struct hp_field_row exact = {HP_ROW_LOOP_COUNT, exact_of, true};

static const struct hp_field fields[] = {
    {"model", "that reports it", HP_COLUMN},
    {"branch", "address of its short backward branch", HP_PLACE("branch_")},
    {"target", "of the branch", HP_PLACE("target_")},
    {"function", "that it is in", HP_COLUMN},
    {"loop", "`id` of the exact loop that the branch closes; null: there is none", HP_COLUMN},
    {"executions", "as the model counts them; what it does not know is 0", HP_COLUMN},
    {"average", "back edges of an execution", HP_COLUMN, .as = HP_AS_THOUSANDTHS},
    {"iterations", "back edges over all executions", HP_COLUMN},
    {"instructions", "estimated", HP_COLUMN},
    {"share", "of `instructions` in all of them", HP_NAMED("instructions"), .as = HP_AS_SHARE},
    {"exact_executions", "what is true", .of = &exact, HP_NAMED("executions")},
    {"exact_average", "likewise", .of = &exact, HP_NAMED("back_edges"), .per = "executions"},
    {"exact_iterations", "likewise: back edges", .of = &exact, HP_NAMED("back_edges")},
    {"exact_instructions", "likewise: `self`", .of = &exact, HP_NAMED("self")},
    {"exact_share", "of that in all instructions", .of = &exact, HP_NAMED("self"),
     .as = HP_AS_SHARE},
    {0}};

static void put_loop(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    const struct hp_pmodel_loop *loop = &in->tables->profile->model_loops[row->item];
    if (loop->loop == HP_PROFILE_NONE)
        hp_put_code(in->tables, loop->function, loop->target, cell);
    else
        hp_put_loop(in->tables, loop->loop, true, hp_loop_columns(in), cell);
}

/* What a model does not know it reports as 0. */
static const struct hp_column columns[] = {
    {"share", .not_zero = true, .right = true, .heat = true},
    {"exact", .field = "exact_share", .right = true},
    {"times", .field = "executions", .not_zero = true, .right = true},
    {"exact", .field = "exact_executions", .right = true},
    {"average", .not_zero = true, .ratio = true, .right = true},
    {"exact", .field = "exact_average", .ratio = true, .right = true},
    {"total", .field = "iterations", .right = true},
    {"exact", .field = "exact_iterations", .right = true},
    {"loop", .put = put_loop, .flexible = true, .telling = true},
    {0}};

static enum hp_err print_model(const struct hp_text *text, struct hp_rows *rows)
{
    struct hp_strbuf name HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_strbuf_clean(&name, hp_text(text->tables->profile->model_loops[rows->rows[0].item].model));
    hp_strbuf_add(&name, ":");
    HP_TRY(hp_print_line(&name, text->options, text->out));
    return hp_print_rows(text, &hp_view_loop_models, NULL, rows);
}

static enum hp_err print(const struct hp_text *text, struct hp_rows *rows, size_t limit)
{
    HP_TRY(hp_print_lists(text, rows, limit, print_model));
    hp_print_more(text->out, rows->n_left_out);
    return HP_OK;
}

static bool same_model(const struct hp_tables *tables, uint32_t a, uint32_t b)
{
    const struct hp_pmodel_loop *loops = tables->profile->model_loops;
    return strcmp(hp_text(loops[a].model), hp_text(loops[b].model)) == 0;
}

const struct hp_view hp_view_loop_models = {
    .name = "loop-models",
    .help = "loops as models of hardware report them",
    .title = "Loop models",
    .each = "loop that a model of hardware reports",
    .order = "model, then `iterations`, then address",
    .empty = "no model of a loop profiler ran: --loop-model asks for one",
    .there = {HP_ROW_MODEL_LOOP},
    .item = HP_ROW_MODEL_LOOP,
    .counter = HP_ROW_MODEL_LOOP,
    .values = {"iterations"},
    .same_list = same_model,
    .fields = fields,
    .columns = columns,
    .print = print,
};
