// SPDX-License-Identifier: MIT
/*
 * Merging: everything of the other profile is appended with its indices moved behind ours, and
 * normalising joins what is the same.
 */
#include "profile/profile_memory.h"

/* How long the arrays were before: what an index of the other profile is moved by, and what is
 * restored when something fails. */
struct lengths {
    size_t n[HP_PARRAY_COUNT_];
};

static struct lengths measure(struct hp_profile *profile)
{
    struct lengths lengths;
    for (int i = 0; i < HP_PARRAY_COUNT_; i++)
        lengths.n[i] = *hp_profile_array(profile, (enum hp_parray)i).n;
    return lengths;
}

static void restore(struct hp_profile *profile, const struct lengths *lengths)
{
    for (int i = 0; i < HP_PARRAY_COUNT_; i++)
        *hp_profile_array(profile, (enum hp_parray)i).n = lengths->n[i];
}

/* All room at once: nothing moves while it is filled, even when a profile is merged with itself. */
static enum hp_err reserve(struct hp_profile *profile, const struct lengths *more)
{
    for (int i = 0; i < HP_PARRAY_COUNT_; i++) {
        struct hp_parray_view view = hp_profile_array(profile, (enum hp_parray)i);
        HP_TRY(hp_parray_reserve(&view, more->n[i]));
    }
    return HP_OK;
}

static uint32_t moved(uint32_t index, size_t by)
{
    return index == HP_PROFILE_NONE ? index : index + (uint32_t)by;
}

static uint32_t add_runs(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static struct hp_place moved_place(struct hp_place place, size_t by)
{
    return (struct hp_place){moved(place.module, by), place.offset};
}

/* A copy of the text that lives as long as `profile`; remembers when memory ran out. */
static const char *own(struct hp_profile *profile, const char *text, enum hp_err *err)
{
    const char *copy = hp_profile_string(profile, text);
    if (!copy)
        *err = HP_ERR_NOMEM;
    return copy;
}

static enum hp_err append_things(struct hp_profile *p, const struct hp_profile *other,
                                 const struct lengths *base, const struct lengths *more)
{
    enum hp_err err = HP_OK;
    size_t modules = base->n[HP_PARRAY_MODULES], functions = base->n[HP_PARRAY_FUNCTIONS];
    for (size_t i = 0; i < more->n[HP_PARRAY_MODULES]; i++)
        p->modules[p->n_modules++] = (struct hp_pmodule){
            .path = own(p, other->modules[i].path, &err),
            .build_id = own(p, other->modules[i].build_id, &err),
        };
    for (size_t i = 0; i < more->n[HP_PARRAY_THREADS]; i++)
        p->threads[p->n_threads++] = other->threads[i];
    for (size_t i = 0; i < more->n[HP_PARRAY_FUNCTIONS]; i++) {
        struct hp_pfunction function = other->functions[i];
        function.place = moved_place(function.place, modules);
        function.name = own(p, function.name, &err);
        function.linkage = own(p, function.linkage, &err);
        function.file = own(p, function.file, &err);
        p->functions[p->n_functions++] = function;
    }
    for (size_t i = 0; i < more->n[HP_PARRAY_BLOCKS]; i++) {
        struct hp_pblock block = other->blocks[i];
        block.place = moved_place(block.place, modules);
        block.function = moved(block.function, functions);
        p->blocks[p->n_blocks++] = block;
    }
    for (size_t i = 0; i < more->n[HP_PARRAY_EDGES]; i++) {
        struct hp_pedge edge = other->edges[i];
        edge.from = moved_place(edge.from, modules);
        edge.to = moved_place(edge.to, modules);
        p->edges[p->n_edges++] = edge;
    }
    for (size_t i = 0; i < more->n[HP_PARRAY_CALLS]; i++)
        p->calls[p->n_calls++] = (struct hp_pcall){
            .caller = moved(other->calls[i].caller, functions),
            .callee = moved(other->calls[i].callee, functions),
        };
    for (size_t i = 0; i < more->n[HP_PARRAY_PATHS]; i++) {
        struct hp_ppath path = other->paths[i];
        path.kind = own(p, path.kind, &err);
        path.start = moved_place(path.start, modules);
        path.function = moved(path.function, functions);
        p->paths[p->n_paths++] = path;
    }
    return err;
}

static enum hp_err append_texts(struct hp_profile *p, const struct hp_profile *other,
                                const struct lengths *base, const struct lengths *more)
{
    enum hp_err err = HP_OK;
    for (size_t i = 0; i < more->n[HP_PARRAY_LINES]; i++) {
        struct hp_pline line = other->lines[i];
        line.block = moved(line.block, base->n[HP_PARRAY_BLOCKS]);
        line.file = own(p, line.file, &err);
        line.inlined = own(p, line.inlined, &err);
        line.inlined_at = own(p, line.inlined_at, &err);
        p->lines[p->n_lines++] = line;
    }
    for (size_t i = 0; i < more->n[HP_PARRAY_TABLE_PATHS]; i++) {
        struct hp_ptable_path path = other->table_paths[i];
        path.table = own(p, path.table, &err);
        path.path = moved(path.path, base->n[HP_PARRAY_PATHS]);
        p->table_paths[p->n_table_paths++] = path;
    }
    for (size_t i = 0; i < more->n[HP_PARRAY_STATS]; i++) {
        struct hp_pstat stat = other->stats[i];
        stat.part = own(p, stat.part, &err);
        stat.name = own(p, stat.name, &err);
        p->stats[p->n_stats++] = stat;
    }
    for (size_t i = 0; i < more->n[HP_PARRAY_PREDICTIONS]; i++) {
        struct hp_pprediction prediction = other->predictions[i];
        prediction.scheme = own(p, prediction.scheme, &err);
        p->predictions[p->n_predictions++] = prediction;
    }
    for (size_t i = 0; i < more->n[HP_PARRAY_NOTES]; i++)
        p->notes[p->n_notes++] = (struct hp_pnote){
            .kind = own(p, other->notes[i].kind, &err),
            .text = own(p, other->notes[i].text, &err),
            .count = other->notes[i].count,
        };
    return err;
}

/* Also the steps of paths. */
static void append_counts(struct hp_profile *p, const struct hp_profile *other,
                          const struct lengths *base, const struct lengths *more)
{
    size_t threads = base->n[HP_PARRAY_THREADS];
    for (size_t i = 0; i < more->n[HP_PARRAY_BLOCK_COUNTS]; i++) {
        struct hp_pcount count = other->block_counts[i];
        count.item = moved(count.item, base->n[HP_PARRAY_BLOCKS]);
        count.thread = moved(count.thread, threads);
        p->block_counts[p->n_block_counts++] = count;
    }
    for (size_t i = 0; i < more->n[HP_PARRAY_EDGE_COUNTS]; i++) {
        struct hp_pcount count = other->edge_counts[i];
        count.item = moved(count.item, base->n[HP_PARRAY_EDGES]);
        count.thread = moved(count.thread, threads);
        p->edge_counts[p->n_edge_counts++] = count;
    }
    for (size_t i = 0; i < more->n[HP_PARRAY_FUNCTION_COUNTS]; i++) {
        struct hp_pfunction_count count = other->function_counts[i];
        count.item = moved(count.item, base->n[HP_PARRAY_FUNCTIONS]);
        count.thread = moved(count.thread, threads);
        p->function_counts[p->n_function_counts++] = count;
    }
    for (size_t i = 0; i < more->n[HP_PARRAY_CALL_COUNTS]; i++) {
        struct hp_pcall_count count = other->call_counts[i];
        count.item = moved(count.item, base->n[HP_PARRAY_CALLS]);
        count.thread = moved(count.thread, threads);
        p->call_counts[p->n_call_counts++] = count;
    }
    for (size_t i = 0; i < more->n[HP_PARRAY_PATH_COUNTS]; i++) {
        struct hp_ppath_count count = other->path_counts[i];
        count.item = moved(count.item, base->n[HP_PARRAY_PATHS]);
        count.thread = moved(count.thread, threads);
        p->path_counts[p->n_path_counts++] = count;
    }
    for (size_t i = 0; i < more->n[HP_PARRAY_PATH_STEPS]; i++) {
        struct hp_pstep step = other->path_steps[i];
        step.path = moved(step.path, base->n[HP_PARRAY_PATHS]);
        step.block = moved(step.block, base->n[HP_PARRAY_BLOCKS]);
        p->path_steps[p->n_path_steps++] = step;
    }
}

static void append_contexts(struct hp_profile *p, const struct hp_profile *other,
                            const struct lengths *base, const struct lengths *more)
{
    size_t contexts = base->n[HP_PARRAY_CONTEXTS];
    for (size_t i = 0; i < more->n[HP_PARRAY_CONTEXTS]; i++)
        p->contexts[p->n_contexts++] = (struct hp_pcontext){
            .parent = moved(other->contexts[i].parent, contexts),
            .function = moved(other->contexts[i].function, base->n[HP_PARRAY_FUNCTIONS]),
        };
    for (size_t i = 0; i < more->n[HP_PARRAY_CONTEXT_COUNTS]; i++) {
        struct hp_pcontext_count count = other->context_counts[i];
        count.item = moved(count.item, contexts);
        count.thread = moved(count.thread, base->n[HP_PARRAY_THREADS]);
        p->context_counts[p->n_context_counts++] = count;
    }
}

static enum hp_err append_loops(struct hp_profile *p, const struct hp_profile *other,
                                const struct lengths *base, const struct lengths *more)
{
    enum hp_err err = HP_OK;
    size_t modules = base->n[HP_PARRAY_MODULES], functions = base->n[HP_PARRAY_FUNCTIONS];
    size_t loops = base->n[HP_PARRAY_LOOPS];
    for (size_t i = 0; i < more->n[HP_PARRAY_LOOPS]; i++) {
        struct hp_ploop loop = other->loops[i];
        loop.header = moved_place(loop.header, modules);
        loop.function = moved(loop.function, functions);
        loop.parent = moved(loop.parent, loops);
        loop.file = own(p, loop.file, &err);
        p->loops[p->n_loops++] = loop;
    }
    for (size_t i = 0; i < more->n[HP_PARRAY_LOOP_COUNTS]; i++) {
        struct hp_ploop_count count = other->loop_counts[i];
        count.item = moved(count.item, loops);
        count.thread = moved(count.thread, base->n[HP_PARRAY_THREADS]);
        p->loop_counts[p->n_loop_counts++] = count;
    }
    for (size_t i = 0; i < more->n[HP_PARRAY_LOOP_TRIPS]; i++) {
        struct hp_ploop_trips trips = other->loop_trips[i];
        trips.loop = moved(trips.loop, loops);
        p->loop_trips[p->n_loop_trips++] = trips;
    }
    for (size_t i = 0; i < more->n[HP_PARRAY_LOOP_BLOCKS]; i++)
        p->loop_blocks[p->n_loop_blocks++] = (struct hp_ploop_block){
            .loop = moved(other->loop_blocks[i].loop, loops),
            .block = moved(other->loop_blocks[i].block, base->n[HP_PARRAY_BLOCKS]),
        };
    for (size_t i = 0; i < more->n[HP_PARRAY_MODEL_LOOPS]; i++) {
        struct hp_pmodel_loop loop = other->model_loops[i];
        loop.model = own(p, loop.model, &err);
        loop.branch = moved_place(loop.branch, modules);
        loop.target = moved_place(loop.target, modules);
        loop.function = moved(loop.function, functions);
        loop.loop = moved(loop.loop, loops);
        p->model_loops[p->n_model_loops++] = loop;
    }
    return err;
}

/* Side by side: a hot spot is of one run. */
static enum hp_err append_hotspots(struct hp_profile *p, const struct hp_profile *other,
                                   const struct lengths *base, const struct lengths *more)
{
    enum hp_err err = HP_OK;
    size_t hotspots = base->n[HP_PARRAY_HOTSPOTS];
    for (size_t i = 0; i < more->n[HP_PARRAY_HOTSPOTS]; i++) {
        struct hp_photspot hotspot = other->hotspots[i];
        hotspot.detector = own(p, hotspot.detector, &err);
        hotspot.run = add_runs(hotspot.run, p->run.runs);
        p->hotspots[p->n_hotspots++] = hotspot;
    }
    for (size_t i = 0; i < more->n[HP_PARRAY_HOTSPOT_BRANCHES]; i++) {
        struct hp_photspot_branch branch = other->hotspot_branches[i];
        branch.hotspot = moved(branch.hotspot, hotspots);
        branch.branch = moved_place(branch.branch, base->n[HP_PARRAY_MODULES]);
        p->hotspot_branches[p->n_hotspot_branches++] = branch;
    }
    for (size_t i = 0; i < more->n[HP_PARRAY_HOTSPOT_BLOCKS]; i++)
        p->hotspot_blocks[p->n_hotspot_blocks++] = (struct hp_photspot_block){
            .hotspot = moved(other->hotspot_blocks[i].hotspot, hotspots),
            .block = moved(other->hotspot_blocks[i].block, base->n[HP_PARRAY_BLOCKS]),
        };
    for (size_t i = 0; i < more->n[HP_PARRAY_HOTSPOT_SLICES]; i++) {
        struct hp_photspot_slice slice = other->hotspot_slices[i];
        slice.hotspot = moved(slice.hotspot, hotspots);
        p->hotspot_slices[p->n_hotspot_slices++] = slice;
    }
    return err;
}

static enum hp_err append_insns(struct hp_profile *p, const struct hp_profile *other,
                                const struct lengths *base, const struct lengths *more)
{
    enum hp_err err = HP_OK;
    size_t insns = base->n[HP_PARRAY_INSNS];
    for (size_t i = 0; i < more->n[HP_PARRAY_INSNS]; i++) {
        struct hp_pinsn insn = other->insns[i];
        insn.place = moved_place(insn.place, base->n[HP_PARRAY_MODULES]);
        insn.function = moved(insn.function, base->n[HP_PARRAY_FUNCTIONS]);
        insn.text = own(p, insn.text, &err);
        insn.file = own(p, insn.file, &err);
        insn.inlined = own(p, insn.inlined, &err);
        p->insns[p->n_insns++] = insn;
    }
    for (size_t i = 0; i < more->n[HP_PARRAY_INSN_TALLIES]; i++) {
        struct hp_pinsn_tally tally = other->insn_tallies[i];
        tally.seen = own(p, tally.seen, &err);
        tally.insn = moved(tally.insn, insns);
        p->insn_tallies[p->n_insn_tallies++] = tally;
    }
    for (size_t i = 0; i < more->n[HP_PARRAY_INSN_CYCLES]; i++) {
        struct hp_pinsn_cycles cycles = other->insn_cycles[i];
        cycles.insn = moved(cycles.insn, insns);
        p->insn_cycles[p->n_insn_cycles++] = cycles;
    }
    for (size_t i = 0; i < more->n[HP_PARRAY_ATTRIBUTIONS]; i++) {
        struct hp_pattribution attribution = other->attributions[i];
        attribution.scheme = own(p, attribution.scheme, &err);
        attribution.insn = moved(attribution.insn, insns);
        p->attributions[p->n_attributions++] = attribution;
    }
    for (size_t i = 0; i < more->n[HP_PARRAY_WAITS]; i++) {
        struct hp_pwait wait = other->waits[i];
        wait.insn = moved(wait.insn, insns);
        wait.producer = moved(wait.producer, insns);
        p->waits[p->n_waits++] = wait;
    }
    return err;
}

/* Windows are of a thread, and side by side as those are. */
static enum hp_err append_samplers(struct hp_profile *p, const struct hp_profile *other,
                                   const struct lengths *base, const struct lengths *more)
{
    enum hp_err err = HP_OK;
    for (size_t i = 0; i < more->n[HP_PARRAY_SAMPLERS]; i++) {
        struct hp_psampler sampler = other->samplers[i];
        sampler.name = own(p, sampler.name, &err);
        p->samplers[p->n_samplers++] = sampler;
    }
    for (size_t i = 0; i < more->n[HP_PARRAY_WINDOWS]; i++) {
        struct hp_pwindow window = other->windows[i];
        window.thread = moved(window.thread, base->n[HP_PARRAY_THREADS]);
        p->windows[p->n_windows++] = window;
    }
    return err;
}

static void merge_run(struct hp_run *run, const struct hp_run *other)
{
    run->seconds += other->seconds;
    run->lost = hp_add_saturated(run->lost, other->lost);
    run->runs = add_runs(run->runs, other->runs);
    hp_engine_work_merge(&run->work, &other->work);
    if (run->exit_status == 0)
        run->exit_status = other->exit_status;
}

enum hp_err hp_profile_merge(struct hp_profile *profile, const struct hp_profile *other)
{
    HP_TRY(hp_profile_check(profile));
    HP_TRY(hp_profile_check(other));
    if (profile->run.arch != other->run.arch)
        return hp_fail(HP_ERR_INVALID, "profiles of different architectures cannot be merged");
    /* Measuring changes nothing; the views only need to point to the fields. */
    struct lengths base = measure(profile), more = measure((void *)(uintptr_t)other);
    HP_TRY(reserve(profile, &more));
    enum hp_err err = append_things(profile, other, &base, &more);
    if (err == HP_OK)
        err = append_texts(profile, other, &base, &more);
    if (err == HP_OK)
        err = append_loops(profile, other, &base, &more);
    if (err == HP_OK)
        err = append_hotspots(profile, other, &base, &more);
    if (err == HP_OK)
        err = append_insns(profile, other, &base, &more);
    if (err == HP_OK)
        err = append_samplers(profile, other, &base, &more);
    if (err == HP_OK) {
        append_counts(profile, other, &base, &more);
        append_contexts(profile, other, &base, &more);
        err = hp_profile_normalize(profile);
    }
    if (err != HP_OK) {
        restore(profile, &base);
        return err;
    }
    merge_run(&profile->run, &other->run);
    return HP_OK;
}
