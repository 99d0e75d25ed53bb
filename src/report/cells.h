// SPDX-License-Identifier: MIT
/* What the cells of text tables are filled with. */
#ifndef HP_REPORT_CELLS_H
#define HP_REPORT_CELLS_H

#include "report/tables.h"

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

/* An instruction, without the zeroes that fill an address up: "jne 0x0000000000001010" is no easier
 * to read. */
void hp_put_assembly(const char *text, struct hp_strbuf *cell);

/* A command as a shell would need it, clean; "(unknown command)" without one. */
void hp_put_command(struct hp_strbuf *text, char **command);

/* The eighth part blocks, from " " for 0 to "█" for 1; what is more than nothing is never blank. */
const char *hp_density_glyph(double density);

/* A number of cycles or executions: HP_AMOUNT(). */
void hp_put_amount(double value, struct hp_strbuf *cell);

/* Cycles of one of many: with one decimal below 100. */
void hp_put_cycles(double cycles, struct hp_strbuf *cell);

/* " ±12%": how far the farther end of the interval is away, of the value; nothing when it is exact.
 */
void hp_put_interval(struct hp_estimate estimate, struct hp_strbuf *cell);

/* The amount and its interval. */
void hp_put_estimate(struct hp_estimate estimate, struct hp_strbuf *cell);

/* A file under the run's directory is shown relative to it. */
const char *hp_short_path(const struct hp_run *run, const char *file);

#endif
