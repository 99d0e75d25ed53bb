// SPDX-License-Identifier: MIT
#include "base/grow.h"
#include "profile/profile_memory.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where an array's pointer and length are in the profile. */
#define ARRAY(field, title)                                                                        \
    {                                                                                              \
        offsetof(struct hp_profile, field), offsetof(struct hp_profile, n_##field),                \
            sizeof *((struct hp_profile *)0)->field, title                                         \
    }

static const struct {
    size_t array, n, size;
    const char *name;
} arrays[HP_PARRAY_COUNT_] = {
    [HP_PARRAY_MODULES] = ARRAY(modules, "modules"),
    [HP_PARRAY_THREADS] = ARRAY(threads, "threads"),
    [HP_PARRAY_FUNCTIONS] = ARRAY(functions, "functions"),
    [HP_PARRAY_BLOCKS] = ARRAY(blocks, "blocks"),
    [HP_PARRAY_EDGES] = ARRAY(edges, "edges"),
    [HP_PARRAY_CALLS] = ARRAY(calls, "calls"),
    [HP_PARRAY_LINES] = ARRAY(lines, "lines"),
    [HP_PARRAY_BLOCK_COUNTS] = ARRAY(block_counts, "block counters"),
    [HP_PARRAY_EDGE_COUNTS] = ARRAY(edge_counts, "edge counters"),
    [HP_PARRAY_FUNCTION_COUNTS] = ARRAY(function_counts, "function counters"),
    [HP_PARRAY_CALL_COUNTS] = ARRAY(call_counts, "call counters"),
    [HP_PARRAY_CONTEXTS] = ARRAY(contexts, "calling contexts"),
    [HP_PARRAY_CONTEXT_COUNTS] = ARRAY(context_counts, "counters of calling contexts"),
    [HP_PARRAY_PATHS] = ARRAY(paths, "paths"),
    [HP_PARRAY_PATH_STEPS] = ARRAY(path_steps, "steps of paths"),
    [HP_PARRAY_PATH_COUNTS] = ARRAY(path_counts, "path counters"),
    [HP_PARRAY_TABLE_PATHS] = ARRAY(table_paths, "paths of tables"),
    [HP_PARRAY_STATS] = ARRAY(stats, "stats"),
    [HP_PARRAY_PREDICTIONS] = ARRAY(predictions, "predictions"),
    [HP_PARRAY_LOOPS] = ARRAY(loops, "loops"),
    [HP_PARRAY_LOOP_COUNTS] = ARRAY(loop_counts, "loop counters"),
    [HP_PARRAY_LOOP_TRIPS] = ARRAY(loop_trips, "trip counts of loops"),
    [HP_PARRAY_LOOP_BLOCKS] = ARRAY(loop_blocks, "blocks of loops"),
    [HP_PARRAY_MODEL_LOOPS] = ARRAY(model_loops, "loops of models"),
    [HP_PARRAY_HOTSPOTS] = ARRAY(hotspots, "hot spots"),
    [HP_PARRAY_HOTSPOT_BRANCHES] = ARRAY(hotspot_branches, "branches of hot spots"),
    [HP_PARRAY_HOTSPOT_BLOCKS] = ARRAY(hotspot_blocks, "blocks of hot spots"),
    [HP_PARRAY_HOTSPOT_SLICES] = ARRAY(hotspot_slices, "slices of hot spots"),
    [HP_PARRAY_INSNS] = ARRAY(insns, "instructions"),
    [HP_PARRAY_INSN_TALLIES] = ARRAY(insn_tallies, "tallies of instructions"),
    [HP_PARRAY_INSN_CYCLES] = ARRAY(insn_cycles, "cycles of instructions"),
    [HP_PARRAY_ATTRIBUTIONS] = ARRAY(attributions, "attributions"),
    [HP_PARRAY_WAITS] = ARRAY(waits, "waits of instructions"),
    [HP_PARRAY_SAMPLERS] = ARRAY(samplers, "samplers"),
    [HP_PARRAY_WINDOWS] = ARRAY(windows, "windows"),
    [HP_PARRAY_NOTES] = ARRAY(notes, "notes"),
};

struct hp_parray_view hp_profile_array(struct hp_profile *p, enum hp_parray which)
{
    char *base = (char *)p;
    return (struct hp_parray_view){.array = base + arrays[which].array,
                                   .n = (size_t *)(base + arrays[which].n),
                                   .capacity = &p->memory->capacity[which],
                                   .size = arrays[which].size,
                                   .name = arrays[which].name};
}

size_t hp_profile_array_length(const struct hp_profile *p, enum hp_parray which)
{
    return *(const size_t *)((const char *)p + arrays[which].n);
}

void *hp_parray_items(const struct hp_parray_view *view)
{
    void *items;
    memcpy(&items, view->array, sizeof items);
    return items;
}

enum hp_err hp_parray_reserve(const struct hp_parray_view *view, size_t more)
{
    /* HP_PROFILE_NONE must not become a valid index. */
    if (more > UINT32_MAX - *view->n)
        return hp_fail(HP_ERR_INVALID, "a profile cannot hold more than %u %s", UINT32_MAX,
                       view->name);
    return hp_grow(view->array, view->capacity, *view->n + more, view->size);
}

enum hp_err hp_profile_new(struct hp_profile **profile)
{
    struct hp_profile *p = calloc(1, sizeof *p);
    struct hp_profile_memory *memory = calloc(1, sizeof *memory);
    char **command = calloc(1, sizeof *command);
    if (!p || !memory || !command) {
        free(p);
        free(memory);
        free(command);
        return hp_fail_nomem();
    }
    p->memory = memory;
    p->run = (struct hp_run){
        .version = "",
        .engine = "",
        .command = command,
        .directory = "",
        .machine = "",
        .runs = 1,
    };
    *profile = p;
    return HP_OK;
}

void hp_profile_free(struct hp_profile *profile)
{
    if (!profile)
        return;
    for (int i = 0; i < HP_PARRAY_COUNT_; i++) {
        struct hp_parray_view view = hp_profile_array(profile, (enum hp_parray)i);
        free(hp_parray_items(&view));
    }
    free(profile->run.command);
    hp_strings_fini(&profile->memory->strings);
    free(profile->memory);
    free(profile);
}

const char *hp_profile_string(struct hp_profile *profile, const char *text)
{
    const char *copy =
        hp_strings_add(&profile->memory->strings, hp_text(text), strlen(hp_text(text)));
    if (!copy)
        hp_fail_nomem();
    return copy;
}

/* The new element, zeroed: what was there may be left over from before normalisation. */
static enum hp_err append(struct hp_profile *profile, enum hp_parray which, void **item)
{
    struct hp_parray_view view = hp_profile_array(profile, which);
    HP_TRY(hp_parray_reserve(&view, 1));
    char *items = hp_parray_items(&view);
    *item = items + *view.n * view.size;
    memset(*item, 0, view.size);
    (*view.n)++;
    return HP_OK;
}

enum hp_err hp_profile_add_module(struct hp_profile *profile, struct hp_pmodule **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_MODULES, &slot));
    *item = slot;
    **item = (struct hp_pmodule){.path = "", .build_id = ""};
    return HP_OK;
}

enum hp_err hp_profile_add_thread(struct hp_profile *profile, struct hp_pthread **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_THREADS, &slot));
    *item = slot;
    return HP_OK;
}

enum hp_err hp_profile_add_function(struct hp_profile *profile, struct hp_pfunction **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_FUNCTIONS, &slot));
    *item = slot;
    **item = (struct hp_pfunction){.name = "", .linkage = "", .file = ""};
    return HP_OK;
}

enum hp_err hp_profile_add_block(struct hp_profile *profile, struct hp_pblock **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_BLOCKS, &slot));
    *item = slot;
    return HP_OK;
}

enum hp_err hp_profile_add_edge(struct hp_profile *profile, struct hp_pedge **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_EDGES, &slot));
    *item = slot;
    return HP_OK;
}

enum hp_err hp_profile_add_call(struct hp_profile *profile, struct hp_pcall **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_CALLS, &slot));
    *item = slot;
    return HP_OK;
}

enum hp_err hp_profile_add_line(struct hp_profile *profile, struct hp_pline **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_LINES, &slot));
    *item = slot;
    **item = (struct hp_pline){.file = "", .inlined = "", .inlined_at = ""};
    return HP_OK;
}

enum hp_err hp_profile_add_block_count(struct hp_profile *profile, struct hp_pcount **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_BLOCK_COUNTS, &slot));
    *item = slot;
    return HP_OK;
}

enum hp_err hp_profile_add_edge_count(struct hp_profile *profile, struct hp_pcount **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_EDGE_COUNTS, &slot));
    *item = slot;
    return HP_OK;
}

enum hp_err hp_profile_add_function_count(struct hp_profile *profile,
                                          struct hp_pfunction_count **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_FUNCTION_COUNTS, &slot));
    *item = slot;
    return HP_OK;
}

enum hp_err hp_profile_add_call_count(struct hp_profile *profile, struct hp_pcall_count **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_CALL_COUNTS, &slot));
    *item = slot;
    return HP_OK;
}

enum hp_err hp_profile_add_context(struct hp_profile *profile, struct hp_pcontext **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_CONTEXTS, &slot));
    *item = slot;
    return HP_OK;
}

enum hp_err hp_profile_add_context_count(struct hp_profile *profile,
                                         struct hp_pcontext_count **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_CONTEXT_COUNTS, &slot));
    *item = slot;
    return HP_OK;
}

enum hp_err hp_profile_add_table_path(struct hp_profile *profile, struct hp_ptable_path **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_TABLE_PATHS, &slot));
    *item = slot;
    **item = (struct hp_ptable_path){.table = ""};
    return HP_OK;
}

enum hp_err hp_profile_add_path(struct hp_profile *profile, struct hp_ppath **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_PATHS, &slot));
    *item = slot;
    **item = (struct hp_ppath){.kind = ""};
    return HP_OK;
}

enum hp_err hp_profile_add_path_step(struct hp_profile *profile, struct hp_pstep **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_PATH_STEPS, &slot));
    *item = slot;
    return HP_OK;
}

enum hp_err hp_profile_add_path_count(struct hp_profile *profile, struct hp_ppath_count **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_PATH_COUNTS, &slot));
    *item = slot;
    return HP_OK;
}

enum hp_err hp_profile_add_prediction(struct hp_profile *profile, struct hp_pprediction **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_PREDICTIONS, &slot));
    *item = slot;
    **item = (struct hp_pprediction){.scheme = ""};
    return HP_OK;
}

enum hp_err hp_profile_add_loop(struct hp_profile *profile, struct hp_ploop **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_LOOPS, &slot));
    *item = slot;
    **item = (struct hp_ploop){.file = ""};
    return HP_OK;
}

enum hp_err hp_profile_add_loop_count(struct hp_profile *profile, struct hp_ploop_count **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_LOOP_COUNTS, &slot));
    *item = slot;
    return HP_OK;
}

enum hp_err hp_profile_add_loop_trips(struct hp_profile *profile, struct hp_ploop_trips **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_LOOP_TRIPS, &slot));
    *item = slot;
    return HP_OK;
}

enum hp_err hp_profile_add_loop_block(struct hp_profile *profile, struct hp_ploop_block **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_LOOP_BLOCKS, &slot));
    *item = slot;
    return HP_OK;
}

enum hp_err hp_profile_add_model_loop(struct hp_profile *profile, struct hp_pmodel_loop **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_MODEL_LOOPS, &slot));
    *item = slot;
    **item = (struct hp_pmodel_loop){.model = ""};
    return HP_OK;
}

enum hp_err hp_profile_add_hotspot(struct hp_profile *profile, struct hp_photspot **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_HOTSPOTS, &slot));
    *item = slot;
    **item = (struct hp_photspot){.detector = ""};
    return HP_OK;
}

enum hp_err hp_profile_add_hotspot_branch(struct hp_profile *profile,
                                          struct hp_photspot_branch **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_HOTSPOT_BRANCHES, &slot));
    *item = slot;
    return HP_OK;
}

enum hp_err hp_profile_add_hotspot_block(struct hp_profile *profile,
                                         struct hp_photspot_block **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_HOTSPOT_BLOCKS, &slot));
    *item = slot;
    return HP_OK;
}

enum hp_err hp_profile_add_hotspot_slice(struct hp_profile *profile,
                                         struct hp_photspot_slice **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_HOTSPOT_SLICES, &slot));
    *item = slot;
    return HP_OK;
}

enum hp_err hp_profile_add_insn(struct hp_profile *profile, struct hp_pinsn **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_INSNS, &slot));
    *item = slot;
    **item = (struct hp_pinsn){.text = "", .file = "", .inlined = ""};
    return HP_OK;
}

enum hp_err hp_profile_add_insn_tally(struct hp_profile *profile, struct hp_pinsn_tally **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_INSN_TALLIES, &slot));
    *item = slot;
    **item = (struct hp_pinsn_tally){.seen = ""};
    return HP_OK;
}

enum hp_err hp_profile_add_insn_cycles(struct hp_profile *profile, struct hp_pinsn_cycles **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_INSN_CYCLES, &slot));
    *item = slot;
    return HP_OK;
}

enum hp_err hp_profile_add_attribution(struct hp_profile *profile, struct hp_pattribution **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_ATTRIBUTIONS, &slot));
    *item = slot;
    **item = (struct hp_pattribution){.scheme = ""};
    return HP_OK;
}

enum hp_err hp_profile_add_wait(struct hp_profile *profile, struct hp_pwait **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_WAITS, &slot));
    *item = slot;
    return HP_OK;
}

enum hp_err hp_profile_add_sampler(struct hp_profile *profile, struct hp_psampler **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_SAMPLERS, &slot));
    *item = slot;
    **item = (struct hp_psampler){.name = ""};
    return HP_OK;
}

enum hp_err hp_profile_add_window(struct hp_profile *profile, struct hp_pwindow **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_WINDOWS, &slot));
    *item = slot;
    return HP_OK;
}

enum hp_err hp_profile_add_stat(struct hp_profile *profile, const char *part, const char *name,
                                enum hp_stat_unit unit, uint64_t value)
{
    void *slot;
    const char *own_part = hp_profile_string(profile, part);
    const char *own_name = hp_profile_string(profile, name);
    if (!own_part || !own_name)
        return HP_ERR_NOMEM;
    HP_TRY(append(profile, HP_PARRAY_STATS, &slot));
    *(struct hp_pstat *)slot = (struct hp_pstat){
        .part = own_part, .name = own_name, .value = value, .unit = (uint8_t)unit};
    return HP_OK;
}

enum hp_err hp_profile_add_note(struct hp_profile *profile, struct hp_pnote **item)
{
    void *slot;
    HP_TRY(append(profile, HP_PARRAY_NOTES, &slot));
    *item = slot;
    **item = (struct hp_pnote){.kind = "", .text = ""};
    return HP_OK;
}

static enum hp_err join_note(struct hp_profile *profile, uint64_t count, const char *kind,
                             const char *text)
{
    const char *own_kind = hp_profile_string(profile, kind);
    const char *own_text = hp_profile_string(profile, text);
    if (!own_kind || !own_text)
        return HP_ERR_NOMEM;
    for (size_t i = 0; i < profile->n_notes; i++) {
        struct hp_pnote *note = &profile->notes[i];
        if (note->kind == own_kind && note->text == own_text) {
            note->count = hp_add_saturated(note->count, count);
            return HP_OK;
        }
    }
    struct hp_pnote *note;
    HP_TRY(hp_profile_add_note(profile, &note));
    *note = (struct hp_pnote){.kind = own_kind, .text = own_text, .count = count};
    return HP_OK;
}

enum hp_err hp_profile_note(struct hp_profile *profile, uint64_t count, const char *kind,
                            const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        return hp_fail_nomem();
    enum hp_err err = join_note(profile, count, kind, text);
    free(text);
    return err;
}

enum hp_err hp_profile_set_command(struct hp_profile *profile, char *const *argv)
{
    size_t n = 0, bytes = 0;
    while (argv && argv[n])
        bytes += strlen(argv[n++]) + 1;
    /* One piece of memory: the pointers, then the texts. */
    char **command = malloc((n + 1) * sizeof *command + bytes);
    if (!command)
        return hp_fail_nomem();
    char *text = (char *)(command + n + 1);
    for (size_t i = 0; i < n; i++) {
        command[i] = text;
        text = stpcpy(text, argv[i]) + 1;
    }
    command[n] = NULL;
    free(profile->run.command);
    profile->run.command = command;
    return HP_OK;
}
