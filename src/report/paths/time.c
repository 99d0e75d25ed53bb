// SPDX-License-Identifier: MIT
#include "report/paths/time.h"

#include "report/text.h"

#define CAUSES_SHOWN 4

struct hp_path_cycles hp_path_cycles_of(const struct hp_tables *tables, uint32_t path)
{
    size_t n, n_causes;
    struct hp_path_cycles all = {0};
    const struct hp_ppath_time *time = hp_items(tables->profile, HP_ROW_PATH_TIME, path, &n);
    const struct hp_ppath_cycles *cycles =
        hp_items(tables->profile, HP_ROW_PATH_CYCLES, path, &n_causes);
    if (!n)
        return all;
    all.count = time->count;
    all.insns = time->insns;
    for (size_t i = 0; i < n_causes; i++) {
        hp_add_up(&all.parts, cycles[i].parts);
        all.causes[cycles[i].cause] += (double)cycles[i].parts;
    }
    return all;
}

struct hp_cell hp_path_time_cell(const struct hp_field_input *in)
{
    struct hp_path_cycles all = hp_path_cycles_of(in->tables, in->row->item);
    double cycles = (double)all.parts / HP_CYCLE_PARTS;
    if (!all.count)
        return hp_cell_none();
    switch (in->field->value) {
    case HP_PATH_MEASURED: return hp_cell_number(all.count);
    case HP_PATH_CYCLES: return hp_cell_fraction(cycles);
    case HP_PATH_EACH: return hp_cell_fraction(cycles / (double)all.count);
    case HP_PATH_CPI:
        return all.insns ? hp_cell_fraction(hp_cpi_of(all.parts, all.insns)) : hp_cell_none();
    default:
        return hp_cell_fraction(
            hp_number_share(all.parts, hp_tables_kind(in->tables, in->row->item)->parts));
    }
}

void hp_path_time_causes(const struct hp_field_input *in, struct hp_list *list)
{
    struct hp_path_cycles all = hp_path_cycles_of(in->tables, in->row->item);
    for (int i = 0; i < HP_CAUSES && all.count; i++)
        hp_list_named(list, hp_cause_name((enum hp_cause)i), all.causes[i] / HP_CYCLE_PARTS);
}

void hp_put_path_causes(const struct hp_tables *tables, uint32_t path, struct hp_strbuf *text)
{
    struct hp_path_cycles all = hp_path_cycles_of(tables, path);
    enum hp_cause causes[HP_CAUSES];
    size_t n = hp_causes_order(all.causes, causes);
    for (size_t i = 0; i < n && i < CAUSES_SHOWN; i++)
        hp_strbuf_format(text, "%s%s %s", i ? ", " : "", hp_cause_name(causes[i]),
                         HP_PERCENT(all.causes[causes[i]] / (double)all.parts));
    hp_strbuf_add(text, n > CAUSES_SHOWN ? ", …" : "");
}
