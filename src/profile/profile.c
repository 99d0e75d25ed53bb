// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "profile/profile_impl.h"

#include <stdarg.h>

/* A profile with its memory behind it. */
struct own {
    struct hp_profile public;
    struct hp_profile_memory memory;
};

enum hp_err hp_profile_new(struct hp_profile **profile)
{
    struct own *own = calloc(1, sizeof *own);
    if (!own)
        return hp_fail_nomem();
    struct hp_profile *p = &own->public;
    p->memory = &own->memory;
    p->run =
        (struct hp_run){.version = "", .engine = "", .directory = "", .machine = "", .runs = 1};
    enum hp_err err = hp_profile_set_command(p, NULL);
    if (err == HP_OK)
        *profile = p;
    else
        free(own);
    return err;
}

void hp_profile_free_rows(struct hp_profile *profile)
{
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        free(hp_profile_rows(profile, kind).items);
}

void hp_profile_free(struct hp_profile *profile)
{
    if (!profile)
        return;
    hp_profile_free_rows(profile);
    free(profile->run.command);
    hp_strings_fini(&profile->memory->strings);
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

enum hp_err hp_profile_reserve(struct hp_profile *profile, enum hp_row_kind kind, size_t more)
{
    struct hp_row_array rows = hp_profile_rows(profile, kind);
    /* HP_PROFILE_NONE must not become a valid index. */
    if (more > UINT32_MAX - *rows.n)
        return hp_fail(HP_ERR_INVALID, "a profile cannot hold more than %u %s", UINT32_MAX,
                       rows.format->many);
    return hp_grow(rows.array, rows.capacity, *rows.n + more, rows.format->size);
}

/* What was there may be left over from before normalisation. */
enum hp_err hp_profile_add_row(struct hp_profile *profile, enum hp_row_kind kind, void **row)
{
    HP_TRY(hp_profile_reserve(profile, kind, 1));
    struct hp_row_array rows = hp_profile_rows(profile, kind);
    *row = rows.items + (*rows.n)++ * rows.format->size;
    memset(*row, 0, rows.format->size);
    for (size_t i = 0; i < rows.format->n_fields; i++)
        if (hp_row_is_text(&rows.format->fields[i]))
            hp_row_set_text(&rows.format->fields[i], *row, "");
    return HP_OK;
}

/* A function for each kind, so that the compiler checks the type. */
#define ADD(name, type, kind)                                                                      \
    enum hp_err hp_profile_add_##name(struct hp_profile *profile, type **item)                     \
    {                                                                                              \
        void *row = NULL;                                                                          \
        enum hp_err err = hp_profile_add_row(profile, kind, &row);                                 \
        *item = row;                                                                               \
        return err;                                                                                \
    }
ADD(module, struct hp_pmodule, HP_ROW_MODULE)
ADD(thread, struct hp_pthread, HP_ROW_THREAD)
ADD(function, struct hp_pfunction, HP_ROW_FUNCTION)
ADD(block, struct hp_pblock, HP_ROW_BLOCK)
ADD(edge, struct hp_pedge, HP_ROW_EDGE)
ADD(call, struct hp_pcall, HP_ROW_CALL)
ADD(line, struct hp_pline, HP_ROW_LINE)
ADD(block_count, struct hp_pcount, HP_ROW_BLOCK_COUNT)
ADD(edge_count, struct hp_pcount, HP_ROW_EDGE_COUNT)
ADD(function_count, struct hp_pfunction_count, HP_ROW_FUNCTION_COUNT)
ADD(call_count, struct hp_pcall_count, HP_ROW_CALL_COUNT)
ADD(context, struct hp_pcontext, HP_ROW_CONTEXT)
ADD(context_count, struct hp_pcontext_count, HP_ROW_CONTEXT_COUNT)
ADD(table_path, struct hp_ptable_path, HP_ROW_TABLE_PATH)
ADD(path, struct hp_ppath, HP_ROW_PATH)
ADD(path_step, struct hp_pstep, HP_ROW_PATH_STEP)
ADD(path_count, struct hp_ppath_count, HP_ROW_PATH_COUNT)
ADD(prediction, struct hp_pprediction, HP_ROW_PREDICTION)
ADD(loop, struct hp_ploop, HP_ROW_LOOP)
ADD(loop_count, struct hp_ploop_count, HP_ROW_LOOP_COUNT)
ADD(loop_trips, struct hp_ploop_trips, HP_ROW_LOOP_TRIPS)
ADD(loop_block, struct hp_ploop_block, HP_ROW_LOOP_BLOCK)
ADD(model_loop, struct hp_pmodel_loop, HP_ROW_MODEL_LOOP)
ADD(hotspot, struct hp_photspot, HP_ROW_HOTSPOT)
ADD(hotspot_branch, struct hp_photspot_branch, HP_ROW_HOTSPOT_BRANCH)
ADD(hotspot_block, struct hp_photspot_block, HP_ROW_HOTSPOT_BLOCK)
ADD(hotspot_slice, struct hp_photspot_slice, HP_ROW_HOTSPOT_SLICE)
ADD(insn, struct hp_pinsn, HP_ROW_INSN)
ADD(insn_tally, struct hp_pinsn_tally, HP_ROW_INSN_TALLY)
ADD(insn_cycles, struct hp_pinsn_cycles, HP_ROW_INSN_CYCLES)
ADD(attribution, struct hp_pattribution, HP_ROW_ATTRIBUTION)
ADD(wait, struct hp_pwait, HP_ROW_WAIT)
ADD(sampler, struct hp_psampler, HP_ROW_SAMPLER)
ADD(window, struct hp_pwindow, HP_ROW_WINDOW)
ADD(note, struct hp_pnote, HP_ROW_NOTE)

enum hp_err hp_profile_add_stat(struct hp_profile *profile, const char *part, const char *name,
                                enum hp_stat_unit unit, uint64_t value)
{
    void *row;
    const char *own_part = hp_profile_string(profile, part);
    const char *own_name = hp_profile_string(profile, name);
    if (!own_part || !own_name)
        return HP_ERR_NOMEM;
    HP_TRY(hp_profile_add_row(profile, HP_ROW_STAT, &row));
    *(struct hp_pstat *)row = (struct hp_pstat){
        .part = own_part, .name = own_name, .value = value, .unit = (uint8_t)unit};
    return HP_OK;
}

static enum hp_err join_note(struct hp_profile *profile, uint64_t count, const char *kind,
                             const char *text)
{
    void *row;
    if (!kind || !text)
        return HP_ERR_NOMEM;
    for (size_t i = 0; i < profile->n_notes; i++) {
        struct hp_pnote *note = &profile->notes[i];
        if (note->kind == kind && note->text == text) {
            note->count = hp_add_saturated(note->count, count);
            return HP_OK;
        }
    }
    HP_TRY(hp_profile_add_row(profile, HP_ROW_NOTE, &row));
    *(struct hp_pnote *)row = (struct hp_pnote){.kind = kind, .text = text, .count = count};
    return HP_OK;
}

enum hp_err hp_profile_note(struct hp_profile *profile, uint64_t count, const char *kind,
                            const char *format, ...)
{
    char *text HP_CLEANUP(hp_free) = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) {
        text = NULL;
        return hp_fail_nomem();
    }
    return join_note(profile, count, hp_profile_string(profile, kind),
                     hp_profile_string(profile, text));
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

/* --- What the engine did ---------------------------------------------------------------------- */

#define SUM(member)     MEMBER(member, 0)
#define MAXIMUM(member) MEMBER(member, 1)
#define MEMBER(member, is_maximum)                                                                 \
    {                                                                                              \
#member, offsetof(struct hp_engine_work, member), is_maximum                               \
    }

const struct hp_engine_work_field hp_engine_work_fields[] = {
    SUM(segments),    SUM(blocks),  SUM(instructions), SUM(links),           SUM(lookups),
    SUM(invalidated), SUM(flushes), SUM(translate_ns), MAXIMUM(cache_bytes), MAXIMUM(memory_bytes),
    SUM(processes),   SUM(threads), SUM(detached),     {NULL, 0, 0},
};

uint64_t *hp_engine_work_value(struct hp_engine_work *work,
                               const struct hp_engine_work_field *field)
{
    return (uint64_t *)(void *)((char *)work + field->offset);
}

int hp_engine_work_known(const struct hp_engine_work *work)
{
    static const struct hp_engine_work none;
    return memcmp(work, &none, sizeof none) != 0;
}

void hp_engine_work_merge(struct hp_engine_work *work, const struct hp_engine_work *other)
{
    struct hp_engine_work copy = *other;
    for (const struct hp_engine_work_field *f = hp_engine_work_fields; f->name; f++) {
        uint64_t *mine = hp_engine_work_value(work, f), its = *hp_engine_work_value(&copy, f);
        if (!f->is_maximum)
            *mine = hp_add_saturated(*mine, its);
        else if (its > *mine)
            *mine = its;
    }
}
