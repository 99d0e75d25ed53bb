// SPDX-License-Identifier: MIT
#include "report/fields.h"

#include "text/number.h"

#include <math.h>

/* --- Columns ---------------------------------------------------------------------------------- */

void hp_fields_bind(struct hp_bound_fields *fields, const struct hp_view *view,
                    const struct hp_tables *tables)
{
    fields->n = 0;
    for (const struct hp_field *f = view->fields; f->name && fields->n < HP_FIELDS_MAX; f++) {
        if (f->ordered && tables && !tables->inclusive_known)
            continue;
        if (f->timed && tables && !tables->profile->n_thread_times)
            continue;
        if (f->needs && tables && !hp_profile_n_rows(tables->profile, f->needs))
            continue;
        struct hp_bound_field *to = &fields->fields[fields->n++];
        *to = (struct hp_bound_field){.field = f, .kind = f->of ? f->of->kind : view->item};
        if (!f->get && !f->list && f->from == HP_FROM_COLUMN)
            to->column = hp_row_column(to->kind, f->column ? f->column : f->name);
        if (f->per)
            to->per = hp_row_column(to->kind, f->per);
    }
}

struct hp_cell hp_cell_place(const struct hp_field_input *in, struct hp_place place)
{
    hp_tables_place(in->tables, place, in->buffer);
    return hp_cell_text(hp_strbuf_text(in->buffer));
}

#define NORMAL_95 1.96

struct hp_cell hp_field_error(const struct hp_field_input *in)
{
    size_t n;
    const struct hp_psamples *samples =
        hp_items(in->tables->profile, (enum hp_row_kind)in->field->value, in->row->item, &n);
    if (!n || in->row->thread != HP_PROFILE_NONE || !samples->sum)
        return hp_cell_none();
    return hp_cell_fraction(NORMAL_95 * sqrt((double)samples->squares) / (double)samples->sum);
}

static struct hp_cell number_cell(const struct hp_field_input *in, enum hp_field_as as,
                                  uint64_t number)
{
    switch (as) {
    case HP_AS_SHARE:
        return hp_cell_fraction(hp_number_share(number, in->tables->summary.instructions));
    case HP_AS_THOUSANDTHS: return hp_cell_fraction((double)number / 1000);
    case HP_AS_FLAG: return (struct hp_cell){.kind = HP_CELL_BOOL, .flag = number != 0};
    case HP_AS_FLOW: return hp_cell_text(hp_flow_name((enum hp_flow)number));
    default: return hp_cell_number(number);
    }
}

static struct hp_cell reference_cell(const struct hp_tables *tables, enum hp_row_kind to,
                                     uint64_t index)
{
    bool none = index == HP_PROFILE_NONE;
    if (to == HP_ROW_FUNCTION)
        return hp_cell_text(none ? "" : tables->functions[index]);
    if (to == HP_ROW_MODULE)
        return hp_cell_text(none ? "" : tables->modules[index]);
    return none ? hp_cell_none() : hp_cell_number(index);
}

static struct hp_cell column_cell(const struct hp_bound_field *field,
                                  const struct hp_field_input *in, const void *row)
{
    const struct hp_row_field *column = field->column;
    if (field->field->as == HP_AS_PLACE && column->to == HP_ROW_FUNCTION) {
        uint64_t function = hp_row_number(column, row);
        return function == HP_PROFILE_NONE
                   ? hp_cell_text("")
                   : hp_cell_place(in, in->tables->profile->functions[function].place);
    }
    if (field->field->as == HP_AS_PLACE)
        return hp_cell_place(
            in, *(const struct hp_place *)(const void *)((const char *)row + column->offset));
    if (hp_row_is_text(column))
        return hp_cell_text(hp_row_text(column, row));
    uint64_t number = hp_row_number(column, row);
    if (field->per)
        return hp_cell_fraction(hp_number_share(number, hp_row_number(field->per, row)));
    if (hp_row_is_reference(column))
        return reference_cell(in->tables, column->to, number);
    if (column->type == HP_ROW_I32 || column->type == HP_ROW_I64)
        return (struct hp_cell){.kind = HP_CELL_INT, .integer = (int64_t)number};
    return number_cell(in, field->field->as, number);
}

static struct hp_cell member_cell(const struct hp_field *field, const void *of)
{
    const void *member = (const char *)of + field->offset;
    switch (field->from) {
    case HP_FROM_TEXT: return hp_cell_text(*(const char *const *)member);
    case HP_FROM_UINT32: return hp_cell_number(*(const uint32_t *)member);
    default: return hp_cell_fraction(*(const double *)member);
    }
}

struct hp_cell hp_field_cell(const struct hp_bound_field *field, const struct hp_field_input *in)
{
    const struct hp_field *f = field->field;
    if (f->get)
        return f->get(&(struct hp_field_input){in->tables, in->row, in->buffer, f});
    if (f->from == HP_FROM_ITEM)
        return f->as == HP_AS_NAME ? reference_cell(in->tables, field->kind, in->row->item)
                                   : hp_cell_number(in->row->item);
    if (f->from == HP_FROM_VALUE)
        return number_cell(in, f->as, in->row->v[f->value]);
    const void *row =
        f->of ? f->of->find(in) : hp_profile_row(in->tables->profile, field->kind, in->row->item);
    if (row)
        return f->from == HP_FROM_COLUMN ? column_cell(field, in, row) : member_cell(f, row);
    if (f->of->null)
        return hp_cell_none();
    return f->as == HP_AS_PLACE || hp_row_is_text(field->column) ? hp_cell_text("")
                                                                 : hp_cell_number(0);
}

/* --- Lists ------------------------------------------------------------------------------------ */

static void begin_item(struct hp_list *list)
{
    if (list->json) {
        hp_strbuf_clear(list->text);
        return;
    }
    hp_strbuf_add(list->text, list->filled ? " " : "");
    list->filled = true;
    list->member = false;
}

/* Ends an item that is one text, from `start` on in the buffer; it has no line ends. */
static void end_text(struct hp_list *list, size_t start)
{
    for (size_t i = start; i < list->text->length; i++)
        if (list->text->data[i] == '\n')
            list->text->data[i] = '?';
    if (list->json)
        hp_json_string(list->json, hp_strbuf_text(list->text));
}

void hp_list_text(struct hp_list *list, const char *text)
{
    begin_item(list);
    size_t start = list->text->length;
    hp_strbuf_add(list->text, text);
    end_text(list, start);
}

void hp_list_blocks(const struct hp_field_input *in, struct hp_list *list)
{
    const struct hp_profile *p = in->tables->profile;
    enum hp_row_kind kind = in->field->value;
    const struct hp_row_field *block = hp_row_column(kind, "block");
    size_t n;
    const char *row = hp_items(p, kind, in->row->item, &n);
    for (; n-- > 0; row += hp_row_formats[kind].size) {
        begin_item(list);
        size_t start = list->text->length;
        hp_tables_place(list->tables, p->blocks[hp_row_number(block, row)].place, list->text);
        end_text(list, start);
    }
}

void hp_list_begin(struct hp_list *list)
{
    begin_item(list);
    if (list->json)
        hp_json_begin_object(list->json);
}

void hp_list_end(struct hp_list *list)
{
    if (list->json)
        hp_json_end_object(list->json);
}

bool hp_list_begin_known(struct hp_list *list, bool known)
{
    if (list->json && known)
        hp_json_begin_object(list->json);
    else if (list->json)
        hp_json_null(list->json);
    return known;
}

static void begin_member(struct hp_list *list)
{
    hp_strbuf_add(list->text, list->member ? ":" : "");
    list->member = true;
}

void hp_list_add_number(struct hp_list *list, const char *key, uint64_t value)
{
    if (list->json) {
        hp_json_put_uint(list->json, key, value);
        return;
    }
    begin_member(list);
    hp_strbuf_uint(list->text, value);
}

void hp_list_add_place(struct hp_list *list, const char *key, struct hp_place place)
{
    if (list->json)
        hp_strbuf_clear(list->text);
    else
        begin_member(list);
    size_t start = list->text->length;
    hp_tables_place(list->tables, place, list->text);
    if (list->json)
        hp_json_put_string(list->json, key, hp_strbuf_text(list->text));
    else
        end_text(list, start);
}

void hp_list_named(struct hp_list *list, const char *name, double value)
{
    if (list->json)
        hp_json_put_fixed(list->json, name, value, 6);
    else
        hp_list_estimate(list, name, (struct hp_estimate){value, value, value});
}

void hp_json_estimate(struct hp_json *json, struct hp_estimate estimate)
{
    hp_json_begin_object(json);
    hp_json_put_fixed(json, "value", estimate.value, 6);
    hp_json_put_fixed(json, "low", estimate.low, 6);
    hp_json_put_fixed(json, "high", estimate.high, 6);
    hp_json_end_object(json);
}

void hp_list_estimate(struct hp_list *list, const char *name, struct hp_estimate estimate)
{
    const double values[] = {estimate.value, estimate.low, estimate.high};
    bool one = estimate.low == estimate.high;
    if (list->json) {
        hp_json_key(list->json, name);
        hp_json_estimate(list->json, estimate);
        return;
    }
    begin_item(list);
    hp_strbuf_add(list->text, name);
    for (size_t i = 0; i < (one ? 1 : 3); i++) {
        hp_strbuf_add(list->text, ":");
        hp_strbuf_fixed(list->text, values[i], 6);
    }
}

void hp_field_list(const struct hp_bound_field *field, const struct hp_field_input *in,
                   struct hp_json *json)
{
    const struct hp_field *f = field->field;
    struct hp_list list = {.json = json, .text = in->buffer, .tables = in->tables};
    if (json && f->list_kind == HP_LIST_NAMED)
        hp_json_begin_object(json);
    else if (json && f->list_kind == HP_LIST_ITEMS)
        hp_json_begin_array(json);
    f->list(&(struct hp_field_input){in->tables, in->row, in->buffer, f}, &list);
    if (json && f->list_kind == HP_LIST_NAMED)
        hp_json_end_object(json);
    else if (json && f->list_kind == HP_LIST_ITEMS)
        hp_json_end_array(json);
}

void hp_field_json(struct hp_json *json, const struct hp_bound_field *field,
                   const struct hp_field_input *in)
{
    hp_json_key(json, field->field->name);
    hp_strbuf_clear(in->buffer);
    if (field->field->list) {
        hp_field_list(field, in, json);
        return;
    }
    struct hp_cell cell = hp_field_cell(field, in);
    switch (cell.kind) {
    case HP_CELL_TEXT: hp_json_string(json, cell.text); break;
    case HP_CELL_UINT: hp_json_uint(json, cell.number); break;
    case HP_CELL_INT: hp_json_int(json, cell.integer); break;
    case HP_CELL_SHARE: hp_json_fixed(json, cell.share, 6); break;
    case HP_CELL_BOOL: hp_json_bool(json, cell.flag); break;
    case HP_CELL_NONE: hp_json_null(json); break;
    }
}
