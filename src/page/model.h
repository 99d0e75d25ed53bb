// SPDX-License-Identifier: MIT
/*
 * What the writers of the data share: which rows its tables have, and where an element of the
 * profile is among them.
 */
#ifndef HP_PAGE_MODEL_H
#define HP_PAGE_MODEL_H

#include "page/data.h"
#include "report/annotate/annotation.h"
#include "report/tables.h"
#include "text/json.h"

/* The rows of a table. */
struct hp_page_rows {
    struct hp_row *rows; /* as the report has them; for blocks v[0] is the count */
    size_t n;
    uint32_t *row_of; /* by index in the profile; HP_PROFILE_NONE: it has no row */
};

struct hp_page_edge {
    uint32_t from, to; /* rows of blocks */
    uint64_t count;
    uint8_t taken;
    uint8_t flow; /* enum hp_flow; HP_FLOW_COUNT_: the block goes on as the other one */
};

/* Texts in the order in which they came, each once. They are told apart by their address: those of
 * a profile are kept once. */
struct hp_page_texts {
    const char **texts;
    size_t n, capacity;
    struct hp_map64 index;
};

/* A source line that is worth showing. */
struct hp_page_spot {
    uint32_t file; /* row */
    uint32_t line;
};

/* The rows of another table that belong to a row. */
struct hp_page_part {
    uint32_t first, n;
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

    struct hp_page_rows functions, blocks, paths, loops, hotspots, insns, lines;
    uint64_t *module_insns;               /* by module */
    struct hp_page_part *function_blocks; /* by row of `functions` */
    uint64_t *cycles;                     /* by function of the profile */
    uint32_t *block_loops;                /* by block of the profile: innermost loop */
    struct hp_page_edge *edges;
    size_t n_edges;
    uint32_t *contexts; /* of the profile, kept ones, parents first */
    size_t n_contexts;
    uint32_t *context_rows;                 /* by index in the profile */
    struct hp_pcontext_count *context_sums; /* likewise, all threads */
    uint64_t *context_inclusive;            /* likewise */
    struct hp_page_part *path_steps;        /* by row of `paths` */
    uint32_t *steps;                        /* of the profile, in the order of those */
    size_t n_steps;
    struct hp_page_texts files, names; /* names: of inlined functions */
    struct hp_page_spot *spots;        /* by file, then line */
    size_t n_spots, spots_capacity;
    struct hp_page_part *block_code; /* by row of `blocks` */
    struct hp_code_line *code;
    size_t n_code, code_capacity;
};

/* --- Making it (model.c, edges.c, contexts.c, files.c, code.c) -------------------------------- */

/* On failure there is nothing to release. */
enum hp_err hp_page_init(struct hp_page *page, const struct hp_profile *profile,
                         const struct hp_page_options *options, FILE *out);
void hp_page_fini(struct hp_page *page);

enum hp_err hp_page_make_edges(struct hp_page *page);
enum hp_err hp_page_make_contexts(struct hp_page *page);
enum hp_err hp_page_make_files(struct hp_page *page);
enum hp_err hp_page_make_code(struct hp_page *page);

/* The block of the profile that an instruction is in: the one that is executed most often;
 * HP_PROFILE_NONE: none. */
uint32_t hp_page_block_at(const struct hp_page *page, struct hp_place place);

/* The number of a text, which is added if need be; HP_PROFILE_NONE for "". */
enum hp_err hp_page_text_add(struct hp_page_texts *texts, const char *text, uint32_t *row);
uint32_t hp_page_text_find(const struct hp_page_texts *texts, const char *text);

/* Adds "COUNT WHAT" to the limits, where count is not 0. */
void hp_page_limit(struct hp_page *page, uint64_t count, const char *what);

/* The row of an element; HP_PROFILE_NONE stays that. */
static inline uint32_t hp_page_row(const struct hp_page_rows *rows, uint32_t item)
{
    return item == HP_PROFILE_NONE ? HP_PROFILE_NONE : rows->row_of[item];
}

/* --- Writing it ------------------------------------------------------------------------------- */

/* What a table is made of: rows of the report, or 0, 1, ...; `kind` is that of their items. */
struct hp_page_source {
    enum hp_row_kind kind;
    const struct hp_row *rows; /* NULL: row i is item i */
    size_t n;
};

static inline struct hp_page_source hp_page_source(enum hp_row_kind kind,
                                                   const struct hp_page_rows *rows)
{
    return (struct hp_page_source){kind, rows->rows, rows->n};
}

/* A column: one of these, or the profile's column of that name. `index` is written as -1 for
 * HP_PROFILE_NONE; a text may be in page->text, which is empty before. */
struct hp_page_column {
    const char *name;
    uint8_t value; /* k + 1: v[k] of the row */
    uint32_t (*index)(const struct hp_page *page, size_t row);
    uint64_t (*count)(const struct hp_page *page, size_t row);
    const char *(*text)(struct hp_page *page, size_t row);
};

/* Writes a table as a member. Columns end with one without a name. */
void hp_page_put_table(struct hp_page *page, const char *name, const struct hp_page_column *columns,
                       struct hp_page_source source);
void hp_page_put_index(struct hp_page *page, uint32_t index);

/* A number in hexadecimal, in page->text. */
const char *hp_page_hex(struct hp_page *page, uint64_t offset);

/* The tables (tables.c, tables_paths.c, files.c), and the lists of objects (lists.c). */
void hp_page_put_modules(struct hp_page *page);
void hp_page_put_functions(struct hp_page *page);
void hp_page_put_blocks(struct hp_page *page);
void hp_page_put_edges(struct hp_page *page);
void hp_page_put_code(struct hp_page *page);
void hp_page_put_lines(struct hp_page *page);
enum hp_err hp_page_put_sources(struct hp_page *page);
void hp_page_put_contexts(struct hp_page *page);
void hp_page_put_paths(struct hp_page *page);
enum hp_err hp_page_put_lists(struct hp_page *page);

#endif
