// SPDX-License-Identifier: MIT
#include "export/pipeline/log.h"

#include "base/base.h"
#include "report/tables.h"

/* What is known of a static instruction; times are cycles. */
struct hp_log_place {
    const char *text, *where;
    uint64_t latest, retired; /* ids of the latest execution, and of the latest that retired */
    uint64_t gone;            /* when the latest was aborted; UINT64_MAX: it was not */
};

void hp_log_fini(void *state)
{
    struct hp_log *log = state;
    hp_strings_fini(&log->strings);
    free(log->places);
}

/* --- Names ------------------------------------------------------------------------------------ */

/* The module that an instruction is in; HP_NO_ID: none. Code of wrong paths has no block. */
static uint32_t module_of(const struct hp_code *code, const struct hp_static *insn)
{
    if (insn->block != HP_NO_ID)
        return hp_code_block(code, insn->block)->module;
    for (uint32_t i = 0; i < hp_code_n_modules(code); i++) {
        const struct hp_module *module = hp_code_module(code, i);
        if (insn->address >= module->low && insn->address < module->high)
            return i;
    }
    return HP_NO_ID;
}

/* "main+0x12, sort.c:34", with what of it is known. */
static const char *describe_place(struct hp_log *log, const struct hp_static *insn)
{
    const struct hp_code *code = hp_program_code(log->setup.program);
    uint32_t id = module_of(code, insn), line;
    if (id == HP_NO_ID)
        return "";
    const struct hp_module *module = hp_code_module(code, id);
    struct hp_functions *functions = log->setup.functions;
    struct hp_symbols *symbols = functions ? hp_functions_symbols(functions, id) : NULL;
    uint64_t offset = insn->address - module->base;
    const struct hp_symbol *symbol = symbols ? hp_symbols_find(symbols, offset) : NULL;
    const char *name = symbol ? symbol->name : hp_base_name(module->path), *file;
    uint64_t from = symbol ? symbol->offset : 0;
    if (symbols && hp_symbols_line(symbols, offset, &file, &line) == HP_OK && line)
        return hp_strings_format(&log->strings, "%s+0x%" PRIx64 ", %s:%" PRIu32, name,
                                 offset - from, hp_base_name(file), line);
    return hp_strings_format(&log->strings, "%s+0x%" PRIx64, name, offset - from);
}

/* The place of a static instruction, with its names. */
static enum hp_err find_place(struct hp_log *log, uint32_t insn, struct hp_log_place **place)
{
    char text[256];
    if (insn >= log->n_places)
        HP_TRY(hp_grow(&log->places, &log->n_places, (size_t)insn + 1, sizeof *log->places));
    struct hp_log_place *p = *place = &log->places[insn];
    if (p->where)
        return HP_OK;
    hp_program_text(log->setup.program, insn, text, sizeof text);
    p->text = hp_strings_add(&log->strings, text, strlen(text));
    p->where = describe_place(log, &hp_program_insns(log->setup.program)[insn]);
    p->latest = p->retired = HP_LOG_NONE;
    return p->text && p->where ? HP_OK : hp_fail_nomem();
}

/* --- Events in words -------------------------------------------------------------------------- */

/* `stall`: that it could not be mapped for this, in short. */
static const struct {
    uint32_t event;
    const char *text, *stall;
} words[] = {
    {HP_TIMING_WRONG_PATH, "wrong path", NULL},
    {HP_TIMING_TRAPPED, "trapped", NULL},
    {HP_TIMING_L1I, "L1I miss", NULL},
    {HP_TIMING_ITLB, "ITLB miss", NULL},
    {HP_TIMING_L1D, "L1D miss", NULL},
    {HP_TIMING_DTLB, "DTLB miss", NULL},
    {HP_TIMING_TLB2, "second-level TLB miss", NULL},
    {HP_TIMING_MERGED, "line on its way", NULL},
    {HP_TIMING_MISPREDICTED, "mispredicted", NULL},
    {HP_TIMING_BTB, "not in the BTB", NULL},
    {HP_TIMING_FORWARDED, "forwarded from a store", NULL},
    {HP_TIMING_BLOCKED, "waited for a store", NULL},
    {HP_TIMING_NO_REORDER, "reorder buffer full", "rob"},
    {HP_TIMING_NO_QUEUE, "issue queue full", "iq"},
    {HP_TIMING_NO_MEMORY_QUEUE, "memory queue full", "mq"},
    {HP_TIMING_NO_REGISTER, "no register free", "reg"},
    {HP_TIMING_SERIAL, "runs alone", "ser"},
    {HP_TIMING_UNIT_BUSY, "no unit free", NULL},
    {HP_TIMING_QUEUE_STALL, "branch queue full", NULL},
};
#define N_WORDS (sizeof words / sizeof *words)

const char *hp_log_stall(const struct hp_timing *timing)
{
    for (size_t i = 0; i < N_WORDS; i++)
        if (timing->events & words[i].event && words[i].stall)
            return words[i].stall;
    return NULL;
}

static void append(char *text, size_t size, const char *word)
{
    size_t length = strlen(text);
    snprintf(text + length, size - length, "%s%s", length ? ", " : "", word);
}

void hp_log_describe(const struct hp_timing *timing, char *text, size_t size)
{
    static const char *const levels[] = {[HP_FROM_L2] = "data from L2",
                                         [HP_FROM_L3] = "data from L3",
                                         [HP_FROM_MEMORY] = "data from memory"};
    *text = 0;
    for (size_t i = 0; i < N_WORDS; i++)
        if (timing->events & words[i].event)
            append(text, size, words[i].text);
    if (timing->data_from >= HP_FROM_L2 && timing->data_from <= HP_FROM_MEMORY)
        append(text, size, levels[timing->data_from]);
}

/* --- Adding ----------------------------------------------------------------------------------- */

/* The execution of the producer that was waited for: the latest in flight at the fetch. */
static uint64_t find_producer(const struct hp_log *log, const struct hp_timing *t)
{
    if (t->producer >= log->n_places || !log->places[t->producer].where)
        return HP_LOG_NONE;
    const struct hp_log_place *place = &log->places[t->producer];
    return place->gone <= t->fetched ? place->retired : place->latest;
}

static enum hp_err check(const struct hp_log *log, const struct hp_timing *t)
{
    if (t->insn >= hp_program_n_insns(log->setup.program))
        return hp_fail(HP_ERR_INVALID, "pipeline log: there is no instruction %" PRIu32, t->insn);
    if (t->fetched < log->fetched)
        return hp_fail(HP_ERR_INVALID, "pipeline log: cycle %" PRIu64 " after cycle %" PRIu64,
                       t->fetched, log->fetched);
    if (t->left == HP_NEVER)
        return hp_fail(HP_ERR_INVALID, "pipeline log: an instruction that never left");
    return HP_OK;
}

enum hp_err hp_log_next(struct hp_log *log, const struct hp_timing *t, struct hp_log_insn *insn)
{
    struct hp_export_written *written = log->setup.written;
    struct hp_log_place *place;
    HP_TRY(check(log, t));
    HP_TRY(find_place(log, t->insn, &place));
    const struct hp_static *code = &hp_program_insns(log->setup.program)[t->insn];
    *insn = (struct hp_log_insn){t,           code,        written->written, find_producer(log, t),
                                 place->text, place->where};
    bool retired = t->events & HP_TIMING_RETIRED;
    uint64_t left = t->fetched + t->left;
    place->latest = insn->id;
    place->gone = retired ? UINT64_MAX : left;
    if (retired)
        place->retired = insn->id;
    if (!insn->id)
        log->first = t->fetched;
    if (left > log->last)
        log->last = left;
    log->fetched = t->fetched;
    written->retired += retired;
    written->cycles = log->last - log->first + 1;
    return HP_OK;
}
