// SPDX-License-Identifier: MIT
/*
 * What the writers of the data share: which rows its tables have, and where an element of the
 * profile is among them.
 */
#ifndef HP_PAGE_MODEL_H
#define HP_PAGE_MODEL_H

#include "base/texts.h"
#include "page/page.h"
#include "report/annotate/annotate.h"
#include "report/tables.h"
#include "text/json.h"

/* What the page says of an element of the profile besides the profile's row and the report's. */
struct hp_page_module {
    const char *name;
    uint64_t instructions;
};
struct hp_page_function {
    const char *name;
    uint64_t cycles;
    uint32_t first_block, n_blocks; /* rows of blocks */
};
struct hp_page_block {
    const char *file; /* source of its start */
    uint32_t line;
    uint32_t loop;               /* innermost */
    uint32_t first_code, n_code; /* rows of code */
};
struct hp_page_path {
    uint32_t kind;
    uint32_t first_step, n_steps; /* rows of steps */
    uint64_t measured, timed;     /* executions that a machine in cycles measured; instructions */
    uint64_t cycles;              /* in these */
};

struct hp_page_code {
    struct hp_code_line line;
    uint32_t inlined; /* index of the name */
};

struct hp_page_edge {
    uint32_t from, to; /* rows of blocks */
    uint64_t count;
    uint8_t taken;
    uint8_t flow; /* enum hp_flow; HP_FLOW_COUNT_: the block goes on as the other one */
};

/* What a thread has in a function or context. */
struct hp_page_part {
    uint32_t item, thread; /* indices in the profile */
    uint64_t self, inclusive, calls;
};
struct hp_page_parts {
    struct hp_page_part *items; /* by thread, then item */
    size_t n, capacity;
};

/* A source line that is worth showing. */
struct hp_page_spot {
    uint32_t file; /* row */
    uint32_t line;
};

struct hp_page {
    const struct hp_profile *profile;
    const struct hp_page_options *options;
    struct hp_tables tables;
    struct hp_annotate_options annotate;
    struct hp_annotator annotator;
    struct hp_json json;
    struct hp_strbuf text;   /* for one cell */
    struct hp_strbuf limits; /* sentences, each ended by a line end */
    void **owned;            /* by hp_page_allocate() */
    size_t n_owned, owned_capacity;

    struct hp_rows rows[HP_ROW_KINDS]; /* of kinds that have a table or a list */
    uint32_t *row_of[HP_ROW_KINDS];    /* by index in the profile; HP_PROFILE_NONE: it has no row */
    struct hp_rows lines;              /* items: of tables.lines */
    struct hp_page_module *modules;    /* by index in the profile, as the next three */
    struct hp_page_function *functions;
    struct hp_page_block *blocks;
    struct hp_page_path *paths;
    struct hp_page_edge *edges;
    size_t n_edges;
    uint32_t *steps; /* of the profile, in the order of `rows` of paths */
    size_t n_steps;
    struct hp_text_set files, names; /* names: of inlined functions */
    struct hp_page_spot *spots;      /* by file, then line */
    size_t n_spots, spots_capacity;
    struct hp_page_parts function_parts, context_parts; /* none where there is one thread */
    struct hp_page_code *code;
    size_t n_code, code_capacity;
};

/* Call hp_page_fini() in any case. */
enum hp_err hp_page_init(struct hp_page *page, const struct hp_profile *profile,
                         const struct hp_page_options *options, FILE *out);
void hp_page_fini(struct hp_page *page);

/* Sets `*(T **)array` to `n` zeroed elements of `size` bytes, which live as long as the page. */
enum hp_err hp_page_allocate(struct hp_page *page, void *array, size_t n, size_t size);

/* The first `top` rows of each list of a view (0: all); `what` says what is left out, if it is to.
 */
enum hp_err hp_page_take(struct hp_page *page, const struct hp_view *view, size_t top,
                         const char *what, struct hp_rows *rows);

enum hp_err hp_page_make_edges(struct hp_page *page);
enum hp_err hp_page_make_files(struct hp_page *page);
enum hp_err hp_page_make_code(struct hp_page *page);
enum hp_err hp_page_make_parts(struct hp_page *page); /* needs the rows of contexts */

/* The most executed block that an instruction is in; HP_PROFILE_NONE: none. */
uint32_t hp_page_block_at(const struct hp_page *page, struct hp_place place);

/* The number of a text, which is added if need be; HP_PROFILE_NONE for "". */
enum hp_err hp_page_text_add(struct hp_text_set *texts, const char *text, uint32_t *row);
uint32_t hp_page_text_find(const struct hp_text_set *texts, const char *text);

/* Adds "COUNT WHAT" to the limits, where count is not 0. */
void hp_page_limit(struct hp_page *page, uint64_t count, const char *what);

#define HP_PAGE_BRIEF 64 /* columns of a name where there is room */
#define HP_PAGE_TAG   32 /* and where there is little */

/* Appends the name of a function in at most `columns` to an empty text; nothing where it fits. */
void hp_page_short_name(struct hp_strbuf *text, const char *name, size_t columns);

/* The row of an element; HP_PROFILE_NONE stays that. */
static inline uint32_t hp_page_row(const struct hp_page *page, enum hp_row_kind kind, uint32_t item)
{
    return item == HP_PROFILE_NONE ? HP_PROFILE_NONE : page->row_of[kind][item];
}

/* -1 for HP_PROFILE_NONE. */
void hp_page_put_index(struct hp_page *page, uint32_t index);

/* A field of a row: a reference is the row of its item, a string the number of a source file. */
void hp_page_put_field(struct hp_page *page, const struct hp_row_field *field, const void *row);

/* The tables (tables.c), the text of source files (files.c), lists of objects (lists.c). */
enum hp_err hp_page_put_tables(struct hp_page *page);
enum hp_err hp_page_put_sources(struct hp_page *page);
enum hp_err hp_page_put_lists(struct hp_page *page);

#endif
