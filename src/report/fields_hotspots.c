// SPDX-License-Identifier: MIT
/*
 * The fields of hot spots.
 */
#include "report/fields.h"
#include "report/hotspots.h"
#include "text/number.h"

#include <stdlib.h>

static struct hp_cell share_of_run(const struct hp_field_input *in, uint64_t instructions)
{
    return (struct hp_cell){.kind = HP_CELL_SHARE,
                            .share =
                                hp_number_share(instructions, in->tables->summary.instructions)};
}

static const struct hp_photspot *hotspot_of(const struct hp_field_input *in)
{
    return &in->tables->profile->hotspots[in->row->item];
}

static struct hp_cell detector(const struct hp_field_input *in)
{
    return hp_cell_text(hotspot_of(in)->detector);
}

static struct hp_cell id(const struct hp_field_input *in)
{
    return hp_cell_number(hotspot_of(in)->number);
}

static struct hp_cell run(const struct hp_field_input *in)
{
    return hp_cell_number(hotspot_of(in)->run);
}

static struct hp_cell pid(const struct hp_field_input *in)
{
    return hp_cell_integer(hotspot_of(in)->pid);
}

static struct hp_cell detected_at(const struct hp_field_input *in)
{
    return hp_cell_number(hotspot_of(in)->at_branches);
}

static struct hp_cell detected_at_instructions(const struct hp_field_input *in)
{
    return hp_cell_number(hotspot_of(in)->at_instructions);
}

static struct hp_cell static_instructions(const struct hp_field_input *in)
{
    return hp_cell_number(hotspot_of(in)->insns);
}

static struct hp_cell total(const struct hp_field_input *in)
{
    return hp_cell_number(hotspot_of(in)->total);
}

static struct hp_cell share(const struct hp_field_input *in)
{
    return share_of_run(in, hotspot_of(in)->total);
}

static struct hp_cell after(const struct hp_field_input *in)
{
    return hp_cell_number(hotspot_of(in)->after);
}

static struct hp_cell after_share(const struct hp_field_input *in)
{
    return share_of_run(in, hotspot_of(in)->after);
}

/* --- Lists ------------------------------------------------------------------------------------ */

static struct hp_cell functions(const struct hp_field_input *in)
{
    struct hp_hotspot_function *list = NULL;
    size_t n = 0;
    if (hp_hotspot_functions(in->tables, in->row->item, &list, &n) != HP_OK)
        in->buffer->failed = true;
    for (size_t i = 0; i < n; i++)
        if (list[i].function != HP_PROFILE_NONE)
            hp_list_add(in->buffer, in->tables->functions[list[i].function]);
    free(list);
    return hp_cell_list(in);
}

static struct hp_cell branches(const struct hp_field_input *in)
{
    size_t n;
    hp_hotspot_branches(in->tables->profile, in->row->item, &n);
    return hp_cell_number(n);
}

static struct hp_cell blocks(const struct hp_field_input *in)
{
    const struct hp_profile *p = in->tables->profile;
    size_t n;
    const struct hp_photspot_block *list = hp_hotspot_blocks(p, in->row->item, &n);
    struct hp_strbuf item = {0};
    for (size_t i = 0; i < n; i++) {
        hp_strbuf_clear(&item);
        hp_tables_place(in->tables, p->blocks[list[i].block].place, &item);
        hp_list_add(in->buffer, hp_strbuf_text(&item));
    }
    in->buffer->failed |= item.failed;
    hp_strbuf_fini(&item);
    return hp_cell_list(in);
}

static void candidates_json(const struct hp_field_input *in, struct hp_json *json)
{
    size_t n;
    const struct hp_photspot_branch *list =
        hp_hotspot_branches(in->tables->profile, in->row->item, &n);
    hp_json_begin_array(json);
    for (size_t i = 0; i < n; i++) {
        hp_strbuf_clear(in->buffer);
        hp_tables_place(in->tables, list[i].branch, in->buffer);
        hp_json_begin_object(json);
        hp_json_key(json, "branch");
        hp_json_string(json, hp_strbuf_text(in->buffer));
        hp_json_key(json, "kind");
        hp_json_string(json, hp_flow_name((enum hp_flow)list[i].flow));
        hp_json_key(json, "executed");
        hp_json_uint(json, list[i].executed);
        hp_json_key(json, "taken");
        hp_json_uint(json, list[i].taken);
        hp_json_key(json, "ratio");
        hp_json_fixed(json, hp_number_share(list[i].taken, list[i].executed), 6);
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

/* "address:taken/executed" */
static struct hp_cell candidates(const struct hp_field_input *in)
{
    size_t n;
    const struct hp_photspot_branch *list =
        hp_hotspot_branches(in->tables->profile, in->row->item, &n);
    struct hp_strbuf item = {0};
    for (size_t i = 0; i < n; i++) {
        hp_strbuf_clear(&item);
        hp_tables_place(in->tables, list[i].branch, &item);
        hp_strbuf_add(&item, ":");
        hp_strbuf_uint(&item, list[i].taken);
        hp_strbuf_add(&item, "/");
        hp_strbuf_uint(&item, list[i].executed);
        hp_list_add(in->buffer, hp_strbuf_text(&item));
    }
    in->buffer->failed |= item.failed;
    hp_strbuf_fini(&item);
    struct hp_cell cell = hp_cell_list(in);
    cell.nested = candidates_json;
    return cell;
}

static struct hp_cell slice_width(const struct hp_field_input *in)
{
    size_t n;
    const struct hp_photspot_slice *slices =
        hp_hotspot_slices(in->tables->profile, in->row->item, &n);
    return hp_cell_number(n ? slices->width : 0);
}

static void slices_json(const struct hp_field_input *in, struct hp_json *json)
{
    size_t n;
    const struct hp_photspot_slice *list =
        hp_hotspot_slices(in->tables->profile, in->row->item, &n);
    hp_json_begin_array(json);
    for (size_t i = 0; i < n; i++) {
        hp_json_begin_object(json);
        hp_json_key(json, "slice");
        hp_json_uint(json, list[i].slice);
        hp_json_key(json, "instructions");
        hp_json_uint(json, list[i].instructions);
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

/* "slice:instructions" */
static struct hp_cell slices(const struct hp_field_input *in)
{
    size_t n;
    const struct hp_photspot_slice *list =
        hp_hotspot_slices(in->tables->profile, in->row->item, &n);
    for (size_t i = 0; i < n; i++) {
        hp_strbuf_uint(in->buffer, list[i].slice);
        hp_strbuf_add(in->buffer, ":");
        hp_strbuf_uint(in->buffer, list[i].instructions);
        hp_strbuf_add(in->buffer, "\n");
    }
    struct hp_cell cell = hp_cell_list(in);
    cell.nested = slices_json;
    return cell;
}

const struct hp_field hp_hotspot_fields[] = {
    {"detector", HP_FIELD_PLAIN, detector},
    {"run", HP_FIELD_PLAIN, run},
    {"id", HP_FIELD_PLAIN, id},
    {"pid", HP_FIELD_OF_RUN, pid},
    {"detected_at", HP_FIELD_PLAIN, detected_at},
    {"detected_at_instructions", HP_FIELD_PLAIN, detected_at_instructions},
    {"branches", HP_FIELD_PLAIN, branches},
    {"static_instructions", HP_FIELD_PLAIN, static_instructions},
    {"total", HP_FIELD_PLAIN, total},
    {"share", HP_FIELD_PLAIN, share},
    {"after", HP_FIELD_PLAIN, after},
    {"after_share", HP_FIELD_PLAIN, after_share},
    {"functions", HP_FIELD_PLAIN, functions},
    {"blocks", HP_FIELD_PLAIN, blocks},
    {"candidates", HP_FIELD_PLAIN, candidates},
    {"slice_width", HP_FIELD_PLAIN, slice_width},
    {"slices", HP_FIELD_PLAIN, slices},
    {0}};
