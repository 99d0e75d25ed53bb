// SPDX-License-Identifier: MIT
/*
 * Where loops are in the source. All code of a loop is in the function that has it in its source:
 * the innermost function that was inlined around all of it, or the one that has the code. Its lines
 * there are those of its code, and where that was inlined, those of the calls; the first is that of
 * the header, as people write loops.
 */
#include "base/base.h"
#include "report/frames.h"
#include "report/loops/loops.h"
#include "report/tables.h"

struct work {
    struct hp_loop_info *info;
    const struct hp_profile *p;
    struct hp_frames *frames; /* by loop */
    bool *any;                /* by loop: it has code */
};

static void meet(struct work *w, uint32_t loop, struct hp_frames frames)
{
    w->frames[loop] = w->any[loop] ? hp_frames_common(w->frames[loop], frames) : frames;
    w->any[loop] = true;
}

/* Loops after those that are nested in them. */
static void find_frames(struct work *w, const uint32_t *by_position)
{
    const struct hp_profile *p = w->p;
    for (size_t i = 0; i < p->n_loop_blocks; i++)
        meet(w, p->loop_blocks[i].loop, hp_frames_of_block(p, p->loop_blocks[i].block));
    for (size_t i = p->n_loops; i-- > 0;) {
        uint32_t loop = by_position[i], parent = p->loops[loop].parent;
        if (parent != HP_PROFILE_NONE && w->any[loop])
            meet(w, parent, w->frames[loop]);
    }
}

/* The file that the function of a loop is in. */
static const char *file_of(const struct work *w, uint32_t loop)
{
    const struct hp_frames *frames = &w->frames[loop];
    uint32_t function = w->p->loops[loop].function;
    if (frames->n)
        return hp_text(w->p->inlined[frames->ranges[frames->n - 1].inlined].file);
    return function == HP_PROFILE_NONE ? "" : hp_text(w->p->functions[function].file);
}

/* The line where the function of a loop begins. */
static uint32_t line_of(const struct work *w, uint32_t loop)
{
    const struct hp_frames *frames = &w->frames[loop];
    uint32_t function = w->p->loops[loop].function;
    if (frames->n)
        return w->p->inlined[frames->ranges[frames->n - 1].inlined].line;
    return function == HP_PROFILE_NONE ? 0 : w->p->functions[function].line;
}

/* Compilers move code of a function's first line, which is of no loop, unless all is on it. */
static void add_line(struct work *w, uint32_t loop, const struct hp_pline *line)
{
    struct hp_loop_info *info = &w->info[loop];
    struct hp_written at = hp_written_in(w->p, w->frames[loop], line);
    uint32_t begin = line_of(w, loop);
    if (!at.line || strcmp(at.file, file_of(w, loop)) != 0)
        return;
    if (info->line > begin && at.line <= begin)
        return;
    if (info->line && info->line <= begin && at.line > begin)
        info->line = info->last_line = 0;
    if (!info->line || at.line < info->line)
        info->line = at.line;
    if (at.line > info->last_line)
        info->last_line = at.line;
    info->file = at.file;
}

enum hp_err hp_loops_find_source(struct hp_loop_info *info, const struct hp_profile *p)
{
    struct hp_frames *frames HP_CLEANUP(hp_free) = calloc(p->n_loops + 1, sizeof *frames);
    bool *any HP_CLEANUP(hp_free) = calloc(p->n_loops + 1, sizeof *any);
    uint32_t *by_position HP_CLEANUP(hp_free) = calloc(p->n_loops + 1, sizeof *by_position);
    struct work w = {info, p, frames, any};
    if (!frames || !any || !by_position)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < p->n_loops; i++)
        by_position[info[i].at] = i;
    if (p->n_inlined_ranges)
        find_frames(&w, by_position);
    for (size_t i = 0; p->n_inlined_ranges && i < p->n_loop_blocks; i++) {
        size_t n;
        const struct hp_pline *lines = hp_items(p, HP_ROW_LINE, p->loop_blocks[i].block, &n);
        for (size_t k = 0; k < n; k++)
            for (uint32_t loop = p->loop_blocks[i].loop; loop != HP_PROFILE_NONE;
                 loop = p->loops[loop].parent)
                add_line(&w, loop, &lines[k]);
    }
    for (uint32_t i = 0; i < p->n_loops; i++) {
        info[i].function =
            frames[i].n ? frames[i].ranges[frames[i].n - 1].inlined : HP_PROFILE_NONE;
        if (info[i].line)
            continue;
        info[i].function = HP_PROFILE_NONE; /* only what was recorded is known */
        info[i].file = hp_text(p->loops[i].file);
        info[i].line = p->loops[i].first_line;
        info[i].last_line = p->loops[i].last_line;
    }
    return HP_OK;
}
