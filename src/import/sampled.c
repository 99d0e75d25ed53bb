// SPDX-License-Identifier: MIT
#include "import/sampled.h"

#include "base/base.h"

#define INSN_BYTES 16

enum hp_err hp_sampled_new(struct hp_import_spaces *spaces, struct hp_code *code,
                           struct hp_functions *functions, struct hp_import_sampled **sampled)
{
    struct hp_import_sampled *s;
    HP_TRY(hp_new(&s, 1, sizeof *s));
    *s = (struct hp_import_sampled){.spaces = spaces, .code = code, .functions = functions};
    enum hp_err err = hp_decoder_new(hp_code_arch(code), &s->decoder);
    if (err != HP_OK)
        hp_sampled_free(s);
    else
        *sampled = s;
    return err;
}

void hp_sampled_free(struct hp_import_sampled *s)
{
    if (!s)
        return;
    hp_decoder_free(s->decoder);
    hp_map64_fini(&s->row_of);
    free(s->rows);
    free(s);
}

/* --- Samples ---------------------------------------------------------------------------------- */

static enum hp_err row_of(struct hp_import_sampled *s, enum hp_import_sampler sampler,
                          const struct hp_import_place *place, struct hp_import_row **row)
{
    uint64_t key =
        place->offset ^ hp_hash64((uint64_t)place->module * HP_IMPORT_SAMPLERS + sampler);
    uint32_t index;
    for (; (index = hp_map64_get(&s->row_of, key)) != HP_MAP64_NONE; key++) {
        *row = &s->rows[index];
        if ((*row)->offset == place->offset && (*row)->module == place->module &&
            (*row)->sampler == sampler)
            return HP_OK;
    }
    index = (uint32_t)s->n_rows;
    HP_TRY(hp_grow(&s->rows, &s->cap_rows, s->n_rows + 1, sizeof *s->rows));
    HP_TRY(hp_map64_put(&s->row_of, key, index));
    *row = &s->rows[s->n_rows++];
    **row = (struct hp_import_row){
        .sampler = sampler, .module = place->module, .offset = place->offset, .code = place->code};
    return HP_OK;
}

void hp_sampled_count(struct hp_import_sampled *s, enum hp_import_sampler sampler, uint64_t period)
{
    s->taken[sampler]++;
    hp_add_up(&s->events[sampler], period);
}

enum hp_err hp_sampled_add(struct hp_import_sampled *s, enum hp_import_sampler sampler,
                           const struct hp_perf_sampled *sample, uint64_t pc,
                           const struct hp_timing *timing)
{
    struct hp_import_place place;
    struct hp_import_row *row;
    if (pc >> 63) {
        s->kernel++;
        return HP_OK;
    }
    uint32_t view = hp_spaces_view(s->spaces, sample->pid, sample->time);
    enum hp_err err = hp_spaces_find(s->spaces, s->code, view, pc, &place);
    s->unknown += err == HP_ERR_NOTFOUND;
    if (err != HP_OK)
        return err == HP_ERR_NOTFOUND ? HP_OK : err;
    HP_TRY(row_of(s, sampler, &place, &row));
    hp_insn_tally_add(&row->tally, timing);
    s->samples[sampler]++;
    return HP_OK;
}

/* --- Instructions ----------------------------------------------------------------------------- */

/* Decodes one; returns how many of its bytes there are. */
static size_t decode(struct hp_import_sampled *s, const struct hp_module_code *code,
                     uint64_t offset, uint8_t bytes[INSN_BYTES], struct hp_insn *insn)
{
    size_t n = hp_module_code_read(code, offset, bytes, INSN_BYTES);
    hp_decode(s->decoder, HP_MODE_DEFAULT, offset, bytes, n, false, insn);
    return n;
}

/* Where the instruction begins that a row is of. That of a fetch is found from the beginning of its
 * function on, or from the one before it, as rows come in the order of their places; without a
 * symbol it is taken to begin where the fetch does. */
static uint64_t start_of(struct hp_import_sampled *s, const struct hp_import_row *row)
{
    struct hp_symbols *symbols = hp_functions_symbols(s->functions, row->module);
    const struct hp_symbol *symbol = symbols ? hp_symbols_find(symbols, row->offset) : NULL;
    uint8_t bytes[INSN_BYTES];
    struct hp_insn insn;
    if (row->sampler != HP_IMPORT_FETCHES || !symbol)
        return row->offset;
    uint64_t at = symbol->offset;
    if (s->sweep.module == row->module && s->sweep.function == at && s->sweep.at <= row->offset)
        at = s->sweep.at;
    while (decode(s, row->code, at, bytes, &insn) && row->offset - at >= insn.length)
        at += insn.length;
    s->sweep.module = row->module;
    s->sweep.function = symbol->offset;
    s->sweep.at = at;
    return at;
}

static enum hp_err set_source(struct hp_result *r, struct hp_pinsn *insn)
{
    struct hp_symbols *symbols = hp_functions_symbols(r->functions, insn->place.module);
    struct hp_source source = {.file = "", .inlined = ""};
    if (symbols && hp_functions_lines_wanted(r->functions) == HP_LINES_ALL &&
        hp_symbols_source(symbols, insn->place.offset, &source) != HP_OK)
        source = (struct hp_source){.file = "", .inlined = ""};
    insn->file = hp_profile_string(r->profile, source.file);
    insn->inlined = hp_profile_string(r->profile, source.inlined);
    insn->line = source.line;
    return insn->file && insn->inlined ? HP_OK : hp_fail_nomem();
}

static enum hp_err add_insn(struct hp_import_sampled *s, const struct hp_import_row *row,
                            uint64_t offset, struct hp_result *r)
{
    struct hp_pinsn *out;
    struct hp_insn insn;
    uint8_t bytes[INSN_BYTES];
    char text[256];
    uint32_t function;
    size_t n = decode(s, row->code, offset, bytes, &insn);
    hp_disassemble(s->decoder, HP_MODE_DEFAULT, offset, bytes, n, text, sizeof text);
    HP_TRY(hp_result_function(r, hp_functions_at(r->functions, row->module, offset), &function));
    HP_TRY(hp_profile_add_insn(r->profile, &out));
    *out = (struct hp_pinsn){.place = {row->module, offset},
                             .function = function,
                             .length = insn.length,
                             .flow = insn.flow,
                             .op = insn.op,
                             .text = hp_profile_string(r->profile, text)};
    return out->text ? set_source(r, out) : hp_fail_nomem();
}

static int by_place(const void *a, const void *b)
{
    const struct hp_import_row *x = a, *y = b;
    return HP_COMPARE(x->module, y->module)
               ?: HP_COMPARE(x->offset, y->offset) ?: HP_COMPARE(x->sampler, y->sampler);
}

/* What is said twice of an instruction is added up when the profile is made normal. */
static enum hp_err add_row(struct hp_import_sampled *s, const struct hp_import_row *row,
                           const char *seen, struct hp_result *r)
{
    struct hp_pinsn_tally *out;
    HP_TRY(add_insn(s, row, start_of(s, row), r));
    HP_TRY(hp_profile_add_insn_tally(r->profile, &out));
    *out = (struct hp_pinsn_tally){
        .seen = seen, .insn = (uint32_t)r->profile->n_insns - 1, .tally = row->tally};
    return HP_OK;
}

/* --- Samplers --------------------------------------------------------------------------------- */

static enum hp_err add_sampler(const struct hp_import_sampled *s, enum hp_import_sampler sampler,
                               const char *about, uint64_t lost, struct hp_profile *profile,
                               const char **name)
{
    struct hp_psampler *out;
    char text[96];
    uint64_t interval = s->events[sampler] / s->taken[sampler];
    interval = interval ? interval : 1;
    snprintf(text, sizeof text, "%s,interval=%" PRIu64, about, interval);
    HP_TRY(hp_profile_add_sampler(profile, &out));
    *out = (struct hp_psampler){.name = *name = hp_profile_string(profile, text),
                                .interval = interval,
                                .samples = s->taken[sampler],
                                .interrupts = s->taken[sampler],
                                .lost = lost < INT64_MAX ? lost : INT64_MAX,
                                .scale = 1000};
    return *name ? HP_OK : hp_fail_nomem();
}

enum hp_err hp_sampled_finish(struct hp_import_sampled *s,
                              const char *const names[HP_IMPORT_SAMPLERS], uint64_t lost,
                              struct hp_result *result)
{
    const char *seen[HP_IMPORT_SAMPLERS] = {NULL};
    for (int i = 0; i < HP_IMPORT_SAMPLERS; i++)
        if (s->taken[i])
            HP_TRY(add_sampler(s, (enum hp_import_sampler)i, names[i], lost, result->profile,
                               &seen[i]));
    hp_sort(s->rows, s->n_rows, sizeof *s->rows, by_place);
    for (size_t i = 0; i < s->n_rows; i++)
        HP_TRY(add_row(s, &s->rows[i], seen[s->rows[i].sampler], result));
    return HP_OK;
}
