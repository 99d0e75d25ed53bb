// SPDX-License-Identifier: MIT
#include "profiler/inlined.h"

#include "base/base.h"
#include "base/cleanup.h"
#include "base/map64.h"

/* The functions inlined at a run of instructions, outermost last but one: the last contains the
 * code. */
struct run {
    struct hp_source_frames frames;
    uint32_t first; /* instruction */
};

struct finder {
    struct hp_result *result;
    struct hp_map64 known; /* name of a function in the debug information: index of its row */
    uint64_t *inclusive;   /* by function of the profile, over all threads; NULL: all matter */
    uint64_t *self;        /* by module */
    uint64_t total;        /* of the run */
    struct run runs[2];    /* that at hand, and the next */
};

static void finder_fini(struct finder *f)
{
    hp_map64_fini(&f->known);
    free(f->inclusive);
    free(f->self);
    free(f->runs[0].frames.frames);
    free(f->runs[1].frames.frames);
}

/* --- What matters ----------------------------------------------------------------------------- */

static enum hp_err weigh(struct finder *f)
{
    const struct hp_profile *p = f->result->profile;
    HP_TRY(hp_new(&f->inclusive, p->n_functions + 1, sizeof *f->inclusive));
    HP_TRY(hp_new(&f->self, p->n_modules + 1, sizeof *f->self));
    for (size_t i = 0; i < p->n_function_counts; i++) {
        const struct hp_pfunction_count *c = &p->function_counts[i];
        uint32_t module = p->functions[c->item].place.module;
        uint64_t most = c->inclusive > c->self ? c->inclusive : c->self;
        hp_add_up(&f->inclusive[c->item], most);
        hp_add_up(&f->self[module == HP_PROFILE_NONE ? p->n_modules : module], c->self);
        hp_add_up(&f->total, c->self);
    }
    return HP_OK;
}

static bool matters(const struct finder *f, uint32_t block, struct hp_symbols *symbols)
{
    const struct hp_pblock *b = &f->result->profile->blocks[block];
    if (!f->inclusive)
        return true;
    if (f->inclusive[b->function] == 0 || f->inclusive[b->function] < f->total / HP_INLINED_LEAST)
        return false;
    uint64_t bytes = hp_symbols_debug_bytes(symbols);
    return bytes <= HP_INLINED_SMALL || f->self[b->place.module] / HP_INLINED_WORTH >= bytes;
}

/* --- Ranges ----------------------------------------------------------------------------------- */

static enum hp_err add_function(struct finder *f, const struct hp_source_frame *frame,
                                uint32_t *index)
{
    struct hp_profile *p = f->result->profile;
    uint64_t key = (uintptr_t)frame->function ^ (uintptr_t)frame->first_file << 16 ^
                   (uint64_t)frame->first_line << 48;
    struct hp_pinlined *row;
    *index = hp_map64_get(&f->known, key);
    if (*index != HP_MAP64_NONE && strcmp(p->inlined[*index].name, frame->name) == 0)
        return HP_OK;
    *index = (uint32_t)p->n_inlined;
    HP_TRY(hp_map64_put(&f->known, key, *index));
    HP_TRY(hp_profile_add_inlined(p, &row));
    row->name = hp_profile_string(p, frame->name);
    row->linkage = hp_profile_string(p, frame->function);
    row->file = hp_profile_string(p, frame->first_file);
    row->line = frame->first_line;
    return row->name && row->linkage && row->file ? HP_OK : hp_fail_nomem();
}

static size_t n_inlined(const struct hp_source_frames *frames)
{
    return frames->n ? frames->n - 1 : 0;
}

/* The instructions from the run's first to before `end`. */
static enum hp_err add_run(struct finder *f, const struct run *run, uint32_t block,
                           const struct hp_insn *insns, uint32_t end)
{
    const struct hp_block *b = hp_code_block(f->result->code, block);
    const struct hp_source_frame *frames = run->frames.frames;
    for (size_t n = n_inlined(&run->frames), i = n; i-- > 0;) {
        struct hp_pinlined_range *range;
        uint32_t index;
        HP_TRY(add_function(f, &frames[i], &index));
        HP_TRY(hp_profile_add_inlined_range(f->result->profile, &range));
        uint64_t behind = end < b->insns ? insns[end].address : b->end;
        *range = (struct hp_pinlined_range){
            .block = block,
            .from = (uint32_t)(insns[run->first].address - b->start),
            .to = (uint32_t)(behind - b->start),
            .depth = (uint32_t)(n - i),
            .inlined = index,
            .entry = frames[i].entry,
            .call_file = hp_profile_string(f->result->profile, frames[i + 1].file),
            .call_line = frames[i + 1].line,
            .insns = end - run->first};
        if (!range->call_file)
            return hp_fail_nomem();
    }
    return HP_OK;
}

static bool same_functions(const struct hp_source_frames *a, const struct hp_source_frames *b)
{
    size_t n = n_inlined(a);
    if (n != n_inlined(b))
        return false;
    for (size_t i = 0; i < n; i++)
        if (a->frames[i].function != b->frames[i].function ||
            a->frames[i].entry != b->frames[i].entry)
            return false;
    return true;
}

static enum hp_err add_block(struct finder *f, uint32_t block, struct hp_symbols *symbols)
{
    const struct hp_block *b = hp_code_block(f->result->code, block);
    uint64_t base = hp_code_module(f->result->code, b->module)->base;
    struct run *run = &f->runs[0], *next = &f->runs[1];
    const struct hp_insn *insns;
    HP_TRY(hp_code_insns(f->result->code, block, &insns));
    run->frames.n = 0;
    run->first = 0;
    uint64_t until = 0;
    for (uint32_t i = 0; i < b->insns; i++) {
        uint64_t offset = insns[i].address - base;
        if (offset < until)
            continue;
        enum hp_err err = hp_symbols_frames(symbols, offset, &next->frames);
        if (err == HP_ERR_NOMEM)
            return err;
        if (err != HP_OK)
            next->frames.n = 0;
        until = next->frames.until;
        next->first = i;
        if (i && same_functions(&run->frames, &next->frames))
            continue;
        if (i)
            HP_TRY(add_run(f, run, block, insns, i));
        struct run *old = run;
        run = next;
        next = old;
    }
    return add_run(f, run, block, insns, b->insns);
}

enum hp_err hp_result_inlined(struct hp_result *r)
{
    const struct hp_profile *p = r->profile;
    enum hp_line_detail detail = hp_functions_lines_wanted(r->functions);
    struct finder f HP_CLEANUP(finder_fini) = {.result = r};
    if (detail == HP_LINES_NONE)
        return HP_OK;
    if (detail == HP_LINES_FUNCTIONS)
        HP_TRY(weigh(&f));
    for (uint32_t i = 0; i < p->n_blocks; i++) { /* which are those of the code map */
        struct hp_symbols *symbols = hp_functions_symbols(r->functions, p->blocks[i].place.module);
        if (symbols && matters(&f, i, symbols))
            HP_TRY(add_block(&f, i, symbols));
    }
    return HP_OK;
}
