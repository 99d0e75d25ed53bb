// SPDX-License-Identifier: MIT
/*
 * The fields of each view for scripts: the names in JSON objects and CSV headers, in their order,
 * and where the values are from. Most are columns of the profile's rows (profile/rows.h) or values
 * of the row; only what is computed has a function.
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
    HP_CELL_NONE, /* not known */
};

struct hp_cell {
    enum hp_cell_kind kind;
    const char *text; /* may point into the input's buffer */
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
    /* Set for `get` and `list`: what is asked for, so that one function can serve several. */
    const struct hp_field *field;
};

enum hp_field_kind {
    HP_FIELD_PLAIN,
    HP_FIELD_COUNTED, /* a value of its own for each thread */
    HP_FIELD_OF_RUN,  /* differs between equal runs */
};

enum hp_field_from {
    HP_FROM_COLUMN, /* of a row of the profile: the item, or what `of` finds */
    HP_FROM_VALUE,  /* v[value] of the view's row */
    HP_FROM_ITEM,   /* the index of the item */
    /* Of what `of` finds, which is no row of the profile: the member at `offset`. */
    HP_FROM_TEXT,
    HP_FROM_UINT32,
    HP_FROM_DOUBLE,
};

/* What is done with a number. */
enum hp_field_as {
    HP_AS_IT_IS,       /* a reference: the name of the function or module, else the index */
    HP_AS_PLACE,       /* the column is the module of a place, or a function: "module+0xoffset" */
    HP_AS_SHARE,       /* of all instructions */
    HP_AS_THOUSANDTHS, /* a fraction */
    HP_AS_FLAG,
    HP_AS_FLOW, /* the name of an enum hp_flow */
    HP_AS_NAME, /* of the item, a function or module */
};

/* Another row of the profile than the item. */
struct hp_field_row {
    enum hp_row_kind kind;
    const void *(*find)(const struct hp_field_input *input); /* may return NULL: */
    bool null;                                               /* null then, else 0 or "" */
};

/* The names of a view's item that is a thread. */
extern const struct hp_field_row hp_field_thread_names;
/* What a thread is called; never NULL. */
const struct hp_pthread_name *hp_thread_names_of(const struct hp_profile *profile, uint32_t thread);

/* What a list is written to: JSON, or text for CSV. */
struct hp_list {
    struct hp_json *json; /* NULL: text */
    struct hp_strbuf *text;
    const struct hp_tables *tables;
    bool filled; /* an item is there */
    bool member; /* the item has a member */
};

enum hp_list_kind {
    HP_LIST_ITEMS, /* JSON: an array */
    HP_LIST_NAMED, /* JSON: an object */
    HP_LIST_VALUE, /* JSON: what the function writes */
};

struct hp_field {
    const char *name;
    const char *help; /* NULL: what the column says */
    enum hp_field_kind kind;
    bool ordered; /* needs the order of execution: not there when a run was only counted */
    bool timed;   /* needs the times of threads: likewise in profiles without */
    enum hp_row_kind needs; /* not there in profiles without rows of this kind; 0: it needs none */
    enum hp_field_from from;
    uint8_t value; /* or what `get` and `list` make of it */
    uint16_t offset;
    enum hp_field_as as;
    const char *column; /* NULL: as the field is called */
    const char *per;    /* the column that it is divided by. NULL: none */
    const struct hp_field_row *of;
    /* Instead of all these, what is computed: */
    struct hp_cell (*get)(const struct hp_field_input *input);
    void (*list)(const struct hp_field_input *input, struct hp_list *list);
    enum hp_list_kind list_kind;
    /* HP_LIST_NAMED: the names in it, NULL behind the last: "FIELD.NAME" is a column to sort and
     * filter by. NULL: it is not. */
    const char *(*member)(size_t i);
};

/* For the tables of fields. */
#define HP_COLUMN                    .from = HP_FROM_COLUMN
#define HP_NAMED(name)               .column = (name)
#define HP_PLACE(prefix)             .as = HP_AS_PLACE, .column = prefix "module"
#define HP_VALUE(k)                  .from = HP_FROM_VALUE, .value = (k)
#define HP_COUNTED(k)                .kind = HP_FIELD_COUNTED, HP_VALUE(k)
#define HP_SHARE(k)                  .as = HP_AS_SHARE, HP_VALUE(k)
#define HP_FOUND(kind, type, member) .from = HP_FROM_##kind, .offset = offsetof(type, member)

/* --- Reading them ----------------------------------------------------------------------------- */

#define HP_FIELDS_MAX 40

/* The fields of a view, with the columns that they name. */
struct hp_bound_fields {
    size_t n;
    struct hp_bound_field {
        const struct hp_field *field;
        enum hp_row_kind kind;             /* of the row */
        const struct hp_row_field *column; /* NULL: it is from no column */
        const struct hp_row_field *per;
    } fields[HP_FIELDS_MAX];
};

/* Those that are known: `tables` NULL: all that may be. */
void hp_fields_bind(struct hp_bound_fields *fields, const struct hp_view *view,
                    const struct hp_tables *tables);

/* Of a field that is no list. */
struct hp_cell hp_field_cell(const struct hp_bound_field *field,
                             const struct hp_field_input *input);

/* Writes a field as a member of an object. */
void hp_field_json(struct hp_json *json, const struct hp_bound_field *field,
                   const struct hp_field_input *input);
/* A list, without its key; `json` NULL: for CSV, into the input's buffer. */
void hp_field_list(const struct hp_bound_field *field, const struct hp_field_input *input,
                   struct hp_json *json);

/* --- Making cells ----------------------------------------------------------------------------- */

static inline struct hp_cell hp_cell_text(const char *value)
{
    return (struct hp_cell){.kind = HP_CELL_TEXT, .text = hp_text(value)};
}

static inline struct hp_cell hp_cell_number(uint64_t value)
{
    return (struct hp_cell){.kind = HP_CELL_UINT, .number = value};
}

static inline struct hp_cell hp_cell_fraction(double value)
{
    return (struct hp_cell){.kind = HP_CELL_SHARE, .share = value};
}

static inline struct hp_cell hp_cell_none(void)
{
    return (struct hp_cell){.kind = HP_CELL_NONE};
}

/* A `get`: of the item, from the profile's rows of the kind `value`, what samples tell of how sure
 * it is: 1.96 standard errors, as a fraction. For the whole run, not for a thread. */
struct hp_cell hp_field_error(const struct hp_field_input *input);

/* "module+0xoffset", in the input's buffer. */
struct hp_cell hp_cell_place(const struct hp_field_input *input, struct hp_place place);

/* --- Making lists ----------------------------------------------------------------------------- */

/* A `list`: the addresses of the item's blocks, from the profile's rows of the kind `value`. */
void hp_list_blocks(const struct hp_field_input *input, struct hp_list *list);

/* An item that is a text, without line ends. */
void hp_list_text(struct hp_list *list, const char *text);

/* An item of several members; in CSV they are the members without keys: "1:2". */
void hp_list_begin(struct hp_list *list);
void hp_list_end(struct hp_list *list);

/* Of HP_LIST_VALUE: begins an object in JSON, or writes null if not `known`, which it returns. */
bool hp_list_begin_known(struct hp_list *list, bool known);

void hp_list_add_number(struct hp_list *list, const char *key, uint64_t value);
void hp_list_add_place(struct hp_list *list, const char *key, struct hp_place place);

/* An item of a named list; in CSV "name:value", with its bounds behind where they differ. */
void hp_list_named(struct hp_list *list, const char *name, double value);
void hp_list_estimate(struct hp_list *list, const char *name, struct hp_estimate estimate);

/* {"value", "low", "high"} */
void hp_json_estimate(struct hp_json *json, struct hp_estimate estimate);

#endif
