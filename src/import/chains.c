// SPDX-License-Identifier: MIT
#include "import/chains.h"

#include "base/base.h"

enum hp_err hp_chains_new(struct hp_import_spaces *spaces, struct hp_code *code,
                          struct hp_functions *functions, struct hp_import_chains **chains)
{
    struct hp_import_chains *c;
    HP_TRY(hp_new(&c, 1, sizeof *c));
    *c = (struct hp_import_chains){
        .spaces = spaces, .code = code, .functions = functions, .n_views = spaces->n_views};
    enum hp_err err = hp_new(&c->known, c->n_views + 1, sizeof *c->known);
    if (err != HP_OK)
        free(c);
    else
        *chains = c;
    return err;
}

void hp_chains_free(struct hp_import_chains *c)
{
    if (!c)
        return;
    for (size_t i = 0; i <= c->n_views; i++)
        hp_map64_fini(&c->known[i]);
    for (size_t i = 0; i < c->n_weights; i++) {
        hp_tally64_fini(&c->weights[i].self);
        hp_tally64_fini(&c->weights[i].inclusive);
        hp_tally64_fini(&c->weights[i].samples);
        hp_tally64_fini(&c->weights[i].squares);
    }
    hp_map64_fini(&c->context_of);
    free(c->known);
    free(c->frames);
    free(c->contexts);
    free(c->weights);
    free(c);
}

/* --- Frames ----------------------------------------------------------------------------------- */

/* The function at an address; without a symbol, all code of the file is one. */
static enum hp_err look_up(struct hp_import_chains *c, uint32_t view, uint64_t address,
                           struct hp_import_frame *frame)
{
    struct hp_import_place place;
    *frame = (struct hp_import_frame){.module = HP_FRAME_UNKNOWN};
    enum hp_err err = hp_spaces_find(c->spaces, c->code, view, address, &place);
    if (err != HP_OK)
        return err == HP_ERR_NOTFOUND ? HP_OK : err;
    struct hp_symbols *symbols = hp_functions_symbols(c->functions, place.module);
    frame->module = place.module;
    frame->symbol = symbols ? hp_symbols_find(symbols, place.offset) : NULL;
    frame->offset = frame->symbol ? frame->symbol->offset : 0;
    return HP_OK;
}

/* A few thousand functions at most have samples; those of other processes are others. */
static enum hp_err add_frame(struct hp_import_chains *c, const struct hp_import_frame *frame,
                             uint32_t *index)
{
    struct hp_map64 *same = &c->known[c->n_views];
    uint64_t key = frame->offset ^ hp_hash64((uint64_t)frame->module + 1);
    *index = hp_map64_get(same, key);
    if (*index != HP_MAP64_NONE && c->frames[*index].module == frame->module &&
        c->frames[*index].offset == frame->offset)
        return HP_OK;
    *index = (uint32_t)c->n_frames;
    HP_TRY(hp_grow(&c->frames, &c->cap_frames, c->n_frames + 1, sizeof *c->frames));
    c->frames[c->n_frames++] = *frame;
    return hp_map64_put(same, key, *index);
}

static enum hp_err frame_at(struct hp_import_chains *c, uint32_t view, uint64_t address,
                            uint32_t *index)
{
    struct hp_import_frame frame = {.module = HP_FRAME_UNKNOWN};
    if (address >> 63)
        frame.module = HP_FRAME_KERNEL;
    if (view == HP_NO_VIEW || address >> 63)
        return add_frame(c, &frame, index);
    *index = hp_map64_get(&c->known[view], address);
    if (*index != HP_MAP64_NONE)
        return HP_OK;
    HP_TRY(look_up(c, view, address, &frame));
    HP_TRY(add_frame(c, &frame, index));
    return hp_map64_put(&c->known[view], address, *index);
}

/* --- Samples ---------------------------------------------------------------------------------- */

static enum hp_err context_of(struct hp_import_chains *c, uint32_t parent, uint32_t frame,
                              uint32_t *index)
{
    uint64_t key = ((uint64_t)parent + 1) << 32 | frame;
    if (parent == HP_NO_ID)
        key = frame;
    *index = hp_map64_get(&c->context_of, key);
    if (*index != HP_MAP64_NONE)
        return HP_OK;
    *index = (uint32_t)c->n_contexts;
    HP_TRY(hp_grow(&c->contexts, &c->cap_contexts, c->n_contexts + 1, sizeof *c->contexts));
    c->contexts[c->n_contexts++] = (struct hp_import_context){parent, frame};
    return hp_map64_put(&c->context_of, key, *index);
}

/* The frames of a sample, innermost first: all of the kernel is one. Behind the first of each kind
 * are return addresses, which are behind the call. */
static enum hp_err read_chain(struct hp_import_chains *c, uint32_t view,
                              struct hp_perf_sampled *sample, uint32_t *frames, size_t *n)
{
    bool first = true, kernel = false, user = false;
    *n = 0;
    for (; sample->n_chain; sample->n_chain--) {
        uint64_t address = hp_perf_u64(&sample->chain);
        if (address >= PERF_CONTEXT_MAX) { /* what follows is of the kernel, or of the user */
            first = true;
            user = address == PERF_CONTEXT_USER;
            continue;
        }
        if (!address || (user && address >> 63))
            address = 1; /* what was no return address was taken for one: nothing is there */
        if (address >> 63 && kernel)
            continue;
        kernel |= address >> 63;
        HP_TRY(frame_at(c, view, first || address >> 63 ? address : address - 1, &frames[(*n)++]));
        first = false;
    }
    c->chained |= *n > 1;
    return *n ? HP_OK : frame_at(c, view, sample->ip, &frames[(*n)++]);
}

static enum hp_err add_up(struct hp_tally64 *tally, uint64_t key, uint64_t amount)
{
    uint64_t *sum = hp_tally64_add(tally, key);
    if (!sum)
        return hp_fail_nomem();
    hp_add_up(sum, amount);
    return HP_OK;
}

enum hp_err hp_chains_add(struct hp_import_chains *c, uint32_t thread,
                          struct hp_perf_sampled *sample)
{
    uint32_t frames[HP_PERF_MAX_STACK + 1], context = HP_NO_ID;
    uint32_t view = hp_spaces_view(c->spaces, sample->pid, sample->time);
    size_t n, depth = 0;
    HP_TRY(hp_grow(&c->weights, &c->n_weights, (size_t)thread + 1, sizeof *c->weights));
    HP_TRY(read_chain(c, view, sample, frames, &n));
    struct hp_import_weights *weights = &c->weights[thread];
    c->unknown += c->frames[frames[0]].module == HP_FRAME_UNKNOWN;
    for (size_t i = n; i > 0; i--) {
        bool above = false; /* recursion counts once */
        for (size_t k = n; k > i && !above; k--)
            above = frames[k - 1] == frames[i - 1];
        if (!above)
            HP_TRY(add_up(&weights->inclusive, frames[i - 1], sample->period));
        if (depth++ < HP_CONTEXT_DEPTH)
            HP_TRY(context_of(c, context, frames[i - 1], &context));
    }
    hp_add_up(&weights->sum, sample->period);
    HP_TRY(add_up(&weights->samples, frames[0], 1));
    HP_TRY(add_up(&weights->squares, frames[0], hp_saturating_mul(sample->period, sample->period)));
    return add_up(&weights->self, context, sample->period);
}

/* --- The profile ------------------------------------------------------------------------------ */

struct making {
    struct hp_import_chains *chains;
    struct hp_profile *profile;
    uint32_t *functions; /* by frame: the profile's index; HP_PROFILE_NONE: not there yet */
    uint32_t *contexts;  /* likewise */
    uint64_t *self;      /* by frame */
};

static void fini_making(struct making *m)
{
    free(m->functions);
    free(m->contexts);
    free(m->self);
}

/* A module for what is in no file, added when it is needed. */
static enum hp_err module_named(struct hp_profile *p, const char *name, uint32_t *index)
{
    struct hp_pmodule *module;
    for (*index = 0; *index < p->n_modules; ++*index)
        if (strcmp(p->modules[*index].path, name) == 0)
            return HP_OK;
    HP_TRY(hp_profile_add_module(p, &module));
    module->path = hp_profile_string(p, name);
    return module->path ? HP_OK : hp_fail_nomem();
}

static enum hp_err function_of(struct making *m, uint32_t frame, uint32_t *index)
{
    const struct hp_import_frame *f = &m->chains->frames[frame];
    struct hp_profile *p = m->profile;
    struct hp_pfunction *function;
    const char *name = f->symbol ? f->symbol->name : "", *linkage = name;
    uint32_t module = f->module;
    *index = m->functions[frame];
    if (*index != HP_PROFILE_NONE)
        return HP_OK;
    if (module == HP_FRAME_KERNEL || module == HP_FRAME_UNKNOWN) {
        name = linkage = module == HP_FRAME_KERNEL ? "[kernel]" : "[unknown]";
        HP_TRY(module_named(p, name, &module));
    } else if (f->symbol) {
        linkage = f->symbol->linkage;
    }
    *index = m->functions[frame] = (uint32_t)p->n_functions;
    HP_TRY(hp_profile_add_function(p, &function));
    function->place = (struct hp_place){module, f->offset};
    function->size = f->symbol ? f->symbol->size : 0;
    function->name = hp_profile_string(p, name);
    function->linkage = hp_profile_string(p, linkage);
    return function->name && function->linkage ? HP_OK : hp_fail_nomem();
}

static enum hp_err add_context(struct making *m, uint32_t context)
{
    const struct hp_import_context *c = &m->chains->contexts[context];
    struct hp_pcontext *out;
    uint32_t function;
    if (m->contexts[context] != HP_PROFILE_NONE)
        return HP_OK;
    if (c->parent != HP_NO_ID)
        HP_TRY(add_context(m, c->parent)); /* at most HP_CONTEXT_DEPTH of them */
    HP_TRY(function_of(m, c->frame, &function));
    m->contexts[context] = (uint32_t)m->profile->n_contexts;
    HP_TRY(hp_profile_add_context(m->profile, &out));
    *out = (struct hp_pcontext){.parent = c->parent == HP_NO_ID ? HP_PROFILE_NONE
                                                                : m->contexts[c->parent],
                                .function = function};
    return HP_OK;
}

/* `whole` of instructions is shared by what the contexts' samples add up to; the largest gets what
 * rounding leaves. */
static enum hp_err add_contexts(struct making *m, const struct hp_import_weights *w, uint32_t index,
                                uint64_t whole)
{
    size_t first = m->profile->n_context_counts, most = first;
    uint64_t given = 0;
    for (size_t i = 0; i < w->self.n_slots; i++) {
        const struct hp_tally64_slot *slot = &w->self.slots[i];
        struct hp_pcontext_count *out;
        if (slot->key == HP_TALLY64_NONE || !w->sum)
            continue;
        uint32_t context = (uint32_t)slot->key;
        HP_TRY(add_context(m, context));
        HP_TRY(hp_profile_add_context_count(m->profile, &out));
        uint64_t self = hp_part_of(whole, slot->count, w->sum);
        *out =
            (struct hp_pcontext_count){.item = m->contexts[context], .thread = index, .self = self};
        m->self[m->chains->contexts[context].frame] += self;
        given += self;
        struct hp_pcontext_count *counts = m->profile->context_counts;
        if (self > counts[most].self)
            most = m->profile->n_context_counts - 1;
    }
    if (m->profile->n_context_counts > first && given < whole)
        m->profile->context_counts[most].self += whole - given;
    return HP_OK;
}

static enum hp_err add_functions(struct making *m, const struct hp_import_weights *w,
                                 uint32_t index)
{
    for (size_t i = 0; i < w->inclusive.n_slots; i++) {
        const struct hp_tally64_slot *slot = &w->inclusive.slots[i];
        struct hp_pfunction_count *out;
        uint32_t function;
        if (slot->key == HP_TALLY64_NONE)
            continue;
        HP_TRY(function_of(m, (uint32_t)slot->key, &function));
        HP_TRY(hp_profile_add_function_count(m->profile, &out));
        *out = (struct hp_pfunction_count){.item = function,
                                           .thread = index,
                                           .self = m->self[slot->key],
                                           .inclusive = slot->count};
    }
    return HP_OK;
}

/* How sure the instructions of functions are: a sample shows those that it stands for of one. Where
 * that would be too large a number, all threads together, it is not known. */
static enum hp_err add_samples(struct making *m, const struct hp_import_weights *w)
{
    uint64_t most = INT64_MAX / m->chains->n_weights;
    for (size_t i = 0; i < w->samples.n_slots; i++) {
        const struct hp_tally64_slot *slot = &w->samples.slots[i];
        struct hp_psamples *out;
        uint32_t function;
        if (slot->key == HP_TALLY64_NONE)
            continue;
        uint64_t squares = *hp_tally64_get(&w->squares, slot->key);
        if (squares > most)
            continue;
        HP_TRY(function_of(m, (uint32_t)slot->key, &function));
        HP_TRY(hp_profile_add_function_samples(m->profile, &out));
        *out = (struct hp_psamples){.item = function,
                                    .samples = slot->count,
                                    .sum = m->self[slot->key],
                                    .squares = squares};
    }
    return HP_OK;
}

enum hp_err hp_chains_finish(struct hp_import_chains *c, uint32_t thread, uint32_t index,
                             bool counted, struct hp_profile *profile)
{
    struct making m HP_CLEANUP(fini_making) = {.chains = c, .profile = profile};
    if (thread >= c->n_weights || (counted && !c->chained))
        return HP_OK;
    const struct hp_import_weights *w = &c->weights[thread];
    HP_TRY(hp_new(&m.functions, c->n_frames, sizeof *m.functions));
    HP_TRY(hp_new(&m.contexts, c->n_contexts, sizeof *m.contexts));
    HP_TRY(hp_new(&m.self, c->n_frames, sizeof *m.self));
    memset(m.functions, 0xff, c->n_frames * sizeof *m.functions);
    memset(m.contexts, 0xff, c->n_contexts * sizeof *m.contexts);
    if (!counted)
        profile->threads[index].instructions = w->sum;
    HP_TRY(add_contexts(&m, w, index, profile->threads[index].instructions));
    if (counted)
        return HP_OK;
    HP_TRY(add_functions(&m, w, index));
    return add_samples(&m, w);
}
