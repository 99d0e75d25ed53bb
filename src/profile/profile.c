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
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        for (size_t i = 0; i < hp_row_formats[kind].n_fields; i++)
            own->memory.has_texts[kind] |= hp_row_is_text(&hp_row_formats[kind].fields[i]);
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

static void clear_texts(const struct hp_row_format *format, void *row)
{
    for (size_t i = 0; i < format->n_fields; i++)
        if (hp_row_is_text(&format->fields[i]))
            hp_row_set_text(&format->fields[i], row, "");
}

/* What was there may be left over from before normalisation. */
enum hp_err hp_profile_add_row(struct hp_profile *profile, enum hp_row_kind kind, void **row)
{
    struct hp_row_array rows = hp_profile_rows(profile, kind);
    if (*rows.n == *rows.capacity) {
        HP_TRY(hp_profile_reserve(profile, kind, 1));
        rows = hp_profile_rows(profile, kind);
    }
    *row = rows.items + (*rows.n)++ * rows.format->size;
    memset(*row, 0, rows.format->size);
    if (profile->memory->has_texts[kind])
        clear_texts(rows.format, *row);
    return HP_OK;
}

/* A function for each kind, so that the compiler checks the type. */
#define ADD(kind, name, type)                                                                      \
    enum hp_err hp_profile_add_##name(struct hp_profile *profile, struct type **item)              \
    {                                                                                              \
        void *row = NULL;                                                                          \
        enum hp_err err = hp_profile_add_row(profile, HP_ROW_##kind, &row);                        \
        *item = row;                                                                               \
        return err;                                                                                \
    }
HP_ROW_LIST(ADD)

enum hp_err hp_profile_add_stat(struct hp_profile *profile, const char *part, const char *name,
                                enum hp_stat_unit unit, uint64_t value)
{
    struct hp_pstat *stat;
    const char *own_part = hp_profile_string(profile, part);
    const char *own_name = hp_profile_string(profile, name);
    if (!own_part || !own_name)
        return HP_ERR_NOMEM;
    HP_TRY(hp_profile_add_model_stat(profile, &stat));
    *stat = (struct hp_pstat){
        .part = own_part, .name = own_name, .value = value, .unit = (uint8_t)unit};
    return HP_OK;
}

static enum hp_err join_note(struct hp_profile *profile, uint64_t count, const char *kind,
                             const char *text)
{
    struct hp_pnote *note;
    if (!kind || !text)
        return HP_ERR_NOMEM;
    for (size_t i = 0; i < profile->n_notes; i++) {
        note = &profile->notes[i];
        if (note->kind == kind && note->text == text) {
            hp_add_up(&note->count, count);
            return HP_OK;
        }
    }
    HP_TRY(hp_profile_add_note(profile, &note));
    *note = (struct hp_pnote){.kind = kind, .text = text, .count = count};
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

/* clang-format off */
const struct hp_engine_work_field hp_engine_work_fields[] = {
    SUM(segments), SUM(blocks), SUM(instructions), SUM(links), SUM(lookups), SUM(invalidated),
    SUM(flushes), SUM(translate_ns), MAXIMUM(cache_bytes), MAXIMUM(memory_bytes), SUM(processes),
    SUM(threads), SUM(detached), SUM(traces), SUM(trace_blocks), SUM(trace_insns),
    SUM(trace_bytes), SUM(heads), SUM(abandoned), SUM(trace_entries), SUM(trace_completions),
    SUM(trace_insns_run), SUM(waited_ns), {NULL, 0, 0},
};
/* clang-format on */

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
            hp_add_up(mine, its);
        else if (its > *mine)
            *mine = its;
    }
}
