// SPDX-License-Identifier: MIT
#include "export/pipeline/log.h"

#include "base/grow.h"
#include "report/tables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* An execution of a static instruction. */
struct instance {
    uint64_t id; /* HP_LOG_NONE: there was none */
    uint64_t left;
    bool aborted;
};

/* What is known of a static instruction. */
struct hp_log_place {
    struct instance latest, retired; /* the latest, and the latest that retired */
    char *text, *where;              /* NULL: not asked for yet */
};

void hp_log_fini(void *state)
{
    struct hp_log *log = state;
    for (size_t i = 0; i < log->n_places; i++) {
        free(log->places[i].text);
        free(log->places[i].where);
    }
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
static void describe_place(struct hp_log *log, const struct hp_static *insn, char *text,
                           size_t size)
{
    const struct hp_code *code = hp_program_code(log->setup.program);
    uint32_t id = module_of(code, insn);
    *text = 0;
    if (id == HP_NO_ID)
        return;
    const struct hp_module *module = hp_code_module(code, id);
    uint64_t offset = insn->address - module->base;
    struct hp_symbols *symbols =
        log->setup.functions ? hp_functions_symbols(log->setup.functions, id) : NULL;
    const struct hp_symbol *symbol = symbols ? hp_symbols_find(symbols, offset) : NULL;
    const char *file = "";
    uint32_t line = 0;
    if (symbols && hp_symbols_line(symbols, offset, &file, &line) != HP_OK)
        line = 0;
    snprintf(text, size, "%s+0x%" PRIx64, symbol ? symbol->name : hp_base_name(module->path),
             symbol ? offset - symbol->offset : offset);
    size_t length = strlen(text);
    if (line)
        snprintf(text + length, size - length, ", %s:%" PRIu32, hp_base_name(file), line);
}

/* The place of a static instruction, with its names. */
static enum hp_err find_place(struct hp_log *log, uint32_t insn, struct hp_log_place **place)
{
    char text[256];
    if (insn >= log->n_places)
        HP_TRY(hp_grow(&log->places, &log->n_places, (size_t)insn + 1, sizeof *log->places));
    struct hp_log_place *p = &log->places[insn];
    *place = p;
    if (p->where)
        return HP_OK;
    hp_program_text(log->setup.program, insn, text, sizeof text);
    p->text = strdup(text);
    describe_place(log, &hp_program_insns(log->setup.program)[insn], text, sizeof text);
    p->where = p->text ? strdup(text) : NULL;
    p->latest.id = p->retired.id = HP_LOG_NONE;
    return p->where ? HP_OK : hp_fail_nomem();
}

/* --- Events in words -------------------------------------------------------------------------- */

static void append(char *text, size_t size, const char *word)
{
    size_t length = strlen(text);
    snprintf(text + length, size - length, "%s%s", length ? ", " : "", word);
}

void hp_log_describe(const struct hp_timing *timing, char *text, size_t size)
{
    static const struct {
        uint32_t event;
        const char *text;
    } words[] = {
        {HP_TIMING_WRONG_PATH, "wrong path"},
        {HP_TIMING_TRAPPED, "trapped"},
        {HP_TIMING_L1I, "L1I miss"},
        {HP_TIMING_ITLB, "ITLB miss"},
        {HP_TIMING_L1D, "L1D miss"},
        {HP_TIMING_DTLB, "DTLB miss"},
        {HP_TIMING_TLB2, "second-level TLB miss"},
        {HP_TIMING_MERGED, "line on its way"},
        {HP_TIMING_MISPREDICTED, "mispredicted"},
        {HP_TIMING_BTB, "not in the BTB"},
        {HP_TIMING_FORWARDED, "forwarded from a store"},
        {HP_TIMING_BLOCKED, "waited for a store"},
        {HP_TIMING_NO_REORDER, "reorder buffer full"},
        {HP_TIMING_NO_QUEUE, "issue queue full"},
        {HP_TIMING_NO_MEMORY_QUEUE, "memory queue full"},
        {HP_TIMING_NO_REGISTER, "no register free"},
        {HP_TIMING_SERIAL, "runs alone"},
        {HP_TIMING_UNIT_BUSY, "no unit free"},
        {HP_TIMING_QUEUE_STALL, "branch queue full"},
    };
    static const char *const levels[] = {[HP_FROM_L2] = "data from L2",
                                         [HP_FROM_L3] = "data from L3",
                                         [HP_FROM_MEMORY] = "data from memory"};
    *text = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (timing->events & words[i].event)
            append(text, size, words[i].text);
    if (timing->data_from >= HP_FROM_L2 && timing->data_from <= HP_FROM_MEMORY)
        append(text, size, levels[timing->data_from]);
}

/* --- Adding ----------------------------------------------------------------------------------- */

/* The execution of the producer that an instruction waited for: the latest that was still under way
 * when it was fetched. */
static uint64_t find_producer(const struct hp_log *log, const struct hp_timing *t)
{
    if (t->producer >= log->n_places || !log->places[t->producer].where)
        return HP_LOG_NONE;
    const struct hp_log_place *place = &log->places[t->producer];
    bool gone = place->latest.aborted && place->latest.left <= t->fetched;
    return gone ? place->retired.id : place->latest.id;
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
    *insn = (struct hp_log_insn){
        .timing = t,
        .code = &hp_program_insns(log->setup.program)[t->insn],
        .id = written->written,
        .producer = find_producer(log, t),
        .text = place->text,
        .where = place->where,
    };
    bool retired = t->events & HP_TIMING_RETIRED;
    uint64_t left = t->fetched + t->left;
    place->latest = (struct instance){.id = insn->id, .left = left, .aborted = !retired};
    if (retired)
        place->retired = place->latest;
    if (!insn->id)
        log->first = t->fetched;
    if (left > log->last)
        log->last = left;
    log->fetched = t->fetched;
    written->retired += retired;
    written->cycles = log->last - log->first + 1;
    return HP_OK;
}
