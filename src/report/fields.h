// SPDX-License-Identifier: MIT
/*
 * The fields of each view for scripts: the names in JSON objects and CSV headers, in their order.
 */
#ifndef HP_REPORT_FIELDS_H
#define HP_REPORT_FIELDS_H

#include "report/tables.h"
#include "text/json.h"

enum hp_cell_kind {
    HP_CELL_TEXT,
    HP_CELL_UINT,
    HP_CELL_INT,
    HP_CELL_SHARE,
    HP_CELL_BOOL,
    HP_CELL_LIST, /* texts, in `list`, each ended by a line end */
    HP_CELL_NONE, /* not known */
};

struct hp_field_input;

struct hp_cell {
    enum hp_cell_kind kind;
    const char *text; /* may point into the input's buffer */
    char *list;       /* does; may be changed */
    /* JSON instead of the list: writes one value. May be NULL. */
    void (*nested)(const struct hp_field_input *input, struct hp_json *json);
    uint64_t number;
    int64_t integer;
    double share;
    bool flag;
};

/* What a field is taken from. */
struct hp_field_input {
    const struct hp_tables *tables;
    const struct hp_row *row;
    struct hp_strbuf *buffer; /* empty: room for a text that has to be made */
};

enum hp_field_kind {
    HP_FIELD_PLAIN,
    HP_FIELD_COUNTED, /* a value of its own for each thread */
    HP_FIELD_OF_RUN,  /* differs between equal runs */
};

struct hp_field {
    const char *name;
    enum hp_field_kind kind;
    struct hp_cell (*get)(const struct hp_field_input *input);
};

/* The fields of a view that is a table, those that are known; ended by one without a name. */
const struct hp_field *hp_fields(const struct hp_tables *tables, enum hp_report_view view);

/* --- Making cells ----------------------------------------------------------------------------- */

static inline struct hp_cell hp_cell_text(const char *value)
{
    return (struct hp_cell){.kind = HP_CELL_TEXT, .text = hp_text(value)};
}

static inline struct hp_cell hp_cell_number(uint64_t value)
{
    return (struct hp_cell){.kind = HP_CELL_UINT, .number = value};
}

static inline struct hp_cell hp_cell_integer(int64_t value)
{
    return (struct hp_cell){.kind = HP_CELL_INT, .integer = value};
}

static inline struct hp_cell hp_cell_fraction(double value)
{
    return (struct hp_cell){.kind = HP_CELL_SHARE, .share = value};
}

static inline struct hp_cell hp_cell_bool(bool value)
{
    return (struct hp_cell){.kind = HP_CELL_BOOL, .flag = value};
}

static inline struct hp_cell hp_cell_none(void)
{
    return (struct hp_cell){.kind = HP_CELL_NONE};
}

/* None for HP_PROFILE_NONE. */
static inline struct hp_cell hp_cell_index(uint32_t index)
{
    return index == HP_PROFILE_NONE ? hp_cell_none() : hp_cell_number(index);
}

/* "module+0xoffset", in the input's buffer. */
struct hp_cell hp_cell_place(const struct hp_field_input *input, struct hp_place place);

/* What was put into the input's buffer, each item ended by a line end, as a cell. */
struct hp_cell hp_cell_list(const struct hp_field_input *input);

/* Appends a text to a list's buffer: without line ends, and one behind it. */
void hp_list_add(struct hp_strbuf *buffer, const char *item);

/* Those of loops and hot spots (fields_loops.c, fields_loop_models.c, fields_hotspots.c). */
extern const struct hp_field hp_loop_fields[];
extern const struct hp_field hp_model_loop_fields[];
extern const struct hp_field hp_partition_fields[];
extern const struct hp_field hp_hotspot_fields[];

/* Those of calling contexts (contexts.c). */
extern const struct hp_field hp_context_fields[];

/* Those of paths, predictions and what models counted (fields_models.c). */
extern const struct hp_field hp_path_fields[];
extern const struct hp_field hp_prediction_fields[];
extern const struct hp_field hp_machine_fields[];

/* Those of instructions, where cycles went, and ways of sampling (fields_insns.c, fields_cpi.c). */
extern const struct hp_field hp_insn_fields[];
extern const struct hp_field hp_cpi_fields[];
extern const struct hp_field hp_sampling_fields[];

/* Writes a cell as a value. */
void hp_json_cell(struct hp_json *json, const struct hp_field_input *input,
                  const struct hp_cell *cell);

/* {"value", "low", "high"} */
void hp_json_estimate(struct hp_json *json, struct hp_estimate estimate);
/* Appends "name:value:low:high" to a list; without a name "value", "low" and "high" as three items, one where they are equal. */
void hp_list_estimate(struct hp_strbuf *buffer, const char *name, struct hp_estimate estimate);

struct hp_summary_field {
    const char *name;
    size_t offset; /* of the uint64_t in struct hp_summary */
};

/* Ended by one without a name. */
extern const struct hp_summary_field hp_summary_fields[];

#endif
