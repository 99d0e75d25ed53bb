// SPDX-License-Identifier: MIT
#include "report/paths/lines.h"

#include "base/base.h"
#include "report/text.h"

/* Of a block's line ranges, and of the lines in them: more are not looked at. A profile may be made
 * to have millions in every step. */
#define MAX_RANGES 256
#define MAX_LINES  64

void hp_path_outcomes(const struct hp_ppath *path, struct hp_strbuf *text)
{
    for (uint32_t i = path->length < 64 ? path->length : 64; i-- > 0;)
        hp_strbuf_add(text, path->outcomes >> i & 1 ? "1" : "0");
}

const char *hp_step_name(unsigned how)
{
    static const char *const names[] = {"fell", "taken", "called", "entered", "returned", "end"};
    return how < sizeof names / sizeof *names ? names[how] : "end";
}

/* --- The lines of a block --------------------------------------------------------------------- */

static bool same_line(const char *file_a, uint32_t line_a, const char *file_b, uint32_t line_b)
{
    return line_a == line_b && (file_a == file_b || strcmp(hp_text(file_a), hp_text(file_b)) == 0);
}

static bool is_known(const struct hp_pline *line)
{
    return *hp_text(line->file) && line->line;
}

/* The range that the block's last instruction is in; the last one known where it is in none. */
static const struct hp_pline *last_line(const struct hp_pblock *block, const struct hp_pline *lines,
                                        size_t n)
{
    const struct hp_pline *last = NULL;
    for (size_t i = 0; i < n; i++)
        if (is_known(&lines[i])) {
            last = &lines[i];
            if (lines[i].from <= block->branch && block->branch < lines[i].to)
                return last;
        }
    return last;
}

/* Puts the distinct lines of a block, its branch's last, into `found`; returns how many. */
static size_t lines_of(const struct hp_tables *tables, uint32_t block,
                       const struct hp_pline *found[MAX_LINES])
{
    const struct hp_profile *p = tables->profile;
    const struct hp_pline *lines = hp_tables_block_line(tables, block);
    size_t n = 0, n_found = 0;
    while (lines && n < MAX_RANGES && &lines[n] < &p->lines[p->n_lines] && lines[n].block == block)
        n++;
    const struct hp_pline *last = last_line(&p->blocks[block], lines, n);
    if (!last)
        return 0;
    for (size_t i = 0; i < n && n_found + 1 < MAX_LINES; i++) {
        bool seen =
            !is_known(&lines[i]) || same_line(lines[i].file, lines[i].line, last->file, last->line);
        for (size_t k = 0; k < n_found && !seen; k++)
            seen = same_line(lines[i].file, lines[i].line, found[k]->file, found[k]->line);
        if (!seen)
            found[n_found++] = &lines[i];
    }
    found[n_found++] = last;
    return n_found;
}

/* --- Those of a path -------------------------------------------------------------------------- */

static enum hp_err append(struct hp_path_lines *lines, const struct hp_path_line *line)
{
    struct hp_path_line *last = lines->n ? &lines->lines[lines->n - 1] : NULL;
    if (last && *line->file && same_line(last->file, last->line, line->file, line->line))
        return HP_OK;
    HP_TRY(hp_grow(&lines->lines, &lines->capacity, lines->n + 1, sizeof *lines->lines));
    lines->lines[lines->n++] = *line;
    return HP_OK;
}

static enum hp_err add_step(struct hp_path_lines *lines, const struct hp_tables *tables,
                            uint32_t step)
{
    static const struct hp_pline unknown = {.file = "", .inlined = ""};
    const struct hp_pline *found[MAX_LINES];
    found[0] = &unknown;
    uint32_t block = lines->steps[step].block;
    size_t n = lines_of(tables, block, found);
    for (size_t i = 0; i < (n ? n : 1); i++)
        HP_TRY(append(lines, &(struct hp_path_line){.file = found[i]->file,
                                                    .line = found[i]->line,
                                                    .inlined = hp_text(found[i]->inlined),
                                                    .block = block}));
    struct hp_path_line *last = &lines->lines[lines->n - 1];
    if (last->n_exits++ == 0)
        last->first_exit = step;
    return HP_OK;
}

enum hp_err hp_path_lines_make(struct hp_path_lines *lines, const struct hp_tables *tables,
                               uint32_t path)
{
    lines->n = 0;
    lines->steps = hp_items(tables->profile, HP_ROW_PATH_STEP, path, &lines->n_steps);
    for (uint32_t i = 0; i < lines->n_steps; i++)
        HP_TRY(add_step(lines, tables, i));
    return HP_OK;
}

void hp_path_lines_fini(struct hp_path_lines *lines)
{
    free(lines->lines);
    *lines = (struct hp_path_lines){0};
}

/* --- Exits ------------------------------------------------------------------------------------ */

/* The one function that a branch was seen to go to; HP_PROFILE_NONE: several, or nobody saw. */
static uint32_t target_function(const struct hp_tables *tables, struct hp_place from)
{
    const struct hp_pedge *edges = tables->profile->edges;
    size_t n = tables->profile->n_edges;
    size_t low = HP_BISECT(i, 0, n, hp_place_compare(edges[i].from, from) < 0);
    uint32_t found = HP_PROFILE_NONE;
    for (; low < n && hp_place_compare(edges[low].from, from) == 0; low++) {
        uint32_t function = hp_tables_function_at(tables, edges[low].to);
        if (!edges[low].taken)
            continue;
        if (found != HP_PROFILE_NONE && function != found)
            return HP_PROFILE_NONE;
        found = function;
    }
    return found;
}

void hp_put_exit(const struct hp_tables *tables, const struct hp_path_lines *lines, size_t step,
                 struct hp_strbuf *cell)
{
    const struct hp_pblock *blocks = tables->profile->blocks;
    const struct hp_pblock *block = &blocks[lines->steps[step].block];
    bool last = step + 1 == lines->n_steps;
    uint32_t next = last ? HP_PROFILE_NONE : blocks[lines->steps[step + 1].block].function;
    struct hp_place branch = {block->place.module, block->place.offset + block->branch};
    switch (lines->steps[step].how) {
    case HP_STEP_FELL:
        if (block->flow != HP_FLOW_NONE && block->flow != HP_FLOW_SYSCALL)
            hp_strbuf_add(cell, ".");
        break;
    case HP_STEP_TAKEN:
        hp_strbuf_add(cell, "->");
        if (!last && next != block->function) {
            hp_strbuf_add(cell, " ");
            hp_put_function(tables, next, cell);
        }
        break;
    case HP_STEP_CALLED:
    case HP_STEP_ENTERED:
        if (last || lines->steps[step].how == HP_STEP_CALLED)
            next = target_function(tables, branch);
        hp_strbuf_add(cell, "call ");
        if (next == HP_PROFILE_NONE)
            hp_strbuf_add(cell, "*"); /* through a pointer */
        else
            hp_put_function(tables, next, cell);
        break;
    case HP_STEP_RETURNED: hp_strbuf_add(cell, "return"); break;
    default: hp_strbuf_add(cell, "…"); break;
    }
}
