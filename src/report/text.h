// SPDX-License-Identifier: MIT
/* Views for people: what printing them needs and has in common. */
#ifndef HP_REPORT_TEXT_H
#define HP_REPORT_TEXT_H

#include "report/print.h"
#include "report/sources.h"
#include "report/view.h"
#include "text/number.h"
#include "text/table.h"

struct hp_text {
    struct hp_tables *tables;
    const struct hp_report_options *options;
    struct hp_sources *sources;
    FILE *out;
    void *context; /* of the view */
    bool printed;  /* something stands above */
};

/* The table of a view: `columns` (NULL: the view's), each row followed by its parts by thread; what
 * is not known has no column. */
enum hp_err hp_print_rows(const struct hp_text *text, const struct hp_view *view,
                          const struct hp_column *columns, const struct hp_rows *rows);

/* The same of the first `limit` rows (0: all), and how many more there are. */
enum hp_err hp_print_list(const struct hp_text *text, const struct hp_view *view,
                          struct hp_rows *rows, size_t limit);

/* The same of each list in turn, as `print` prints it, with a blank line between them. The rows of
 * the list that were left out stand behind its others. */
enum hp_err hp_print_lists(const struct hp_text *text, struct hp_rows *rows, size_t limit,
                           enum hp_err (*print)(const struct hp_text *text, struct hp_rows *list));

/* One line of a text, cut to the width of the terminal. Empties the text. HP_ERR_NOMEM. */
enum hp_err hp_print_line(struct hp_strbuf *text, const struct hp_report_options *options,
                          FILE *out);

/* A sentence, broken at blanks, each line indented by `indent`. Empties the text. HP_ERR_NOMEM. */
enum hp_err hp_print_wrapped(struct hp_strbuf *text, size_t indent,
                             const struct hp_report_options *options, FILE *out);

/* "… and 12 more", where rows were left out. */
void hp_print_more(FILE *out, size_t more);

/* Where much of the run is in functions without names, what would name them. HP_ERR_NOMEM. */
enum hp_err hp_put_unnamed(const struct hp_tables *tables, struct hp_strbuf *text);

/* The command of a thread's process; on a terminal, without the directories of its program. */
void hp_put_thread_command(const struct hp_text *in, const struct hp_row *row,
                           struct hp_strbuf *cell);

/* "file.c:12" */
void hp_put_source_place(const char *file, uint32_t line, struct hp_strbuf *cell);

/* The same without directories, or the module's name where no source is known. */
void hp_put_where(const struct hp_tables *tables, const char *file, uint32_t line, uint32_t module,
                  struct hp_strbuf *cell);

/* The function's name, "(unknown)" without one. */
void hp_put_function(const struct hp_tables *tables, uint32_t function, struct hp_strbuf *cell);

/* "function+0x1c", or the address where the function is not known, has no name, or lies behind (as
 * with the cold parts that compilers move away). */
void hp_put_code(const struct hp_tables *tables, uint32_t function, struct hp_place place,
                 struct hp_strbuf *cell);
/* The same in a function that was named: "+0x1c". */
void hp_put_offset(const struct hp_tables *tables, uint32_t function, struct hp_place place,
                   struct hp_strbuf *cell);

/* What one of `count` comes to: "34", or "33.5" where they differ. */
void hp_put_each(uint64_t all, uint64_t count, struct hp_strbuf *cell);

/* A line of source without what indents it, and with the tabs inside as blanks. */
void hp_put_source(const char *text, size_t length, struct hp_strbuf *cell);

/* The same with what indents it, tabs as blanks up to the next column of eight. */
void hp_put_indented_source(const char *text, size_t length, struct hp_strbuf *cell);

/* An instruction, without the zeroes that fill an address up: "jne 0x0000000000001010". */
void hp_put_assembly(const char *text, struct hp_strbuf *cell);

/* A command as a shell would need it, clean; "(unknown command)" without one. */
void hp_put_command(struct hp_strbuf *text, char **command);

/* The eighth part blocks, from " " for 0 to "█" for 1; what is more than nothing is never blank. */
const char *hp_density_glyph(double density);

/* Cycles of one of many: with one decimal below 100. */
void hp_put_cycles(double cycles, struct hp_strbuf *cell);

/* " ±12%": how far the farther end of the interval is from the value; nothing when it is exact. */
void hp_put_interval(struct hp_estimate estimate, struct hp_strbuf *cell);

/* The amount and its interval. */
void hp_put_estimate(struct hp_estimate estimate, struct hp_strbuf *cell);

/* A file under the run's directory is shown relative to it. */
const char *hp_short_path(const struct hp_run *run, const char *file);

#endif
