// SPDX-License-Identifier: MIT
#include "report/annotate/annotation.h"

#include "base/bisect.h"
#include "base/grow.h"
#include "report/items.h"
#include "text/number.h"

#include <stdlib.h>
#include <string.h>

#define MOST_INSTRUCTIONS                                                                          \
    (2u << 20)     /* disassembled in all: no program executes more different ones */
#define LONGEST 16 /* bytes of an instruction, of any architecture */

/* --- What all share --------------------------------------------------------------------------- */

static int compare_blocks(const void *a, const void *b, void *context)
{
    const struct hp_pblock *blocks = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (blocks[x].function != blocks[y].function)
        return blocks[x].function < blocks[y].function ? -1 : 1;
    int order = hp_place_compare(blocks[x].place, blocks[y].place);
    return order ? order : (x > y) - (x < y);
}

static int compare_insns(const void *a, const void *b, void *context)
{
    const struct hp_pinsn *insns = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (insns[x].function != insns[y].function)
        return insns[x].function < insns[y].function ? -1 : 1;
    int order = hp_place_compare(insns[x].place, insns[y].place);
    return order ? order : (x > y) - (x < y);
}

static enum hp_err make_orders(struct hp_annotator *a)
{
    const struct hp_profile *p = a->tables->profile;
    a->blocks = calloc(p->n_blocks + 1, sizeof *a->blocks);
    a->insns = calloc(p->n_insns + 1, sizeof *a->insns);
    a->block_counts = calloc(p->n_blocks + 1, sizeof *a->block_counts);
    a->modules = calloc(p->n_modules + 1, sizeof *a->modules);
    if (!a->blocks || !a->insns || !a->block_counts || !a->modules)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < p->n_blocks; i++)
        a->blocks[i] = i;
    for (uint32_t i = 0; i < p->n_insns; i++)
        a->insns[i] = i;
    qsort_r(a->blocks, p->n_blocks, sizeof *a->blocks, compare_blocks, p->blocks);
    qsort_r(a->insns, p->n_insns, sizeof *a->insns, compare_insns, p->insns);
    for (size_t i = 0; i < p->n_block_counts; i++) {
        uint64_t *count = &a->block_counts[p->block_counts[i].item];
        *count = hp_saturating_add(*count, p->block_counts[i].count);
    }
    return HP_OK;
}

enum hp_err hp_annotator_init(struct hp_annotator *a, struct hp_tables *tables,
                              const struct hp_annotate_options *options, FILE *out)
{
    const struct hp_profile *p = tables->profile;
    *a = (struct hp_annotator){.tables = tables,
                               .options = options,
                               .out = out,
                               .by = tables->insns.exact ? HP_ANNOTATE_CYCLES
                                     : tables->insns.n_exact || tables->insns.sampler
                                         ? HP_ANNOTATE_SAMPLES
                                         : HP_ANNOTATE_INSTRUCTIONS,
                               .sources = {.directory = p->run.directory,
                                           .path = options->source_path,
                                           .time = p->run.started},
                               .budget = MOST_INSTRUCTIONS};
    /* Code of ARM may be Thumb, and the profile does not say. */
    if (p->run.arch != HP_ARCH_ARM && hp_decoder_new(p->run.arch, &a->decoder) == HP_ERR_NOMEM)
        return HP_ERR_NOMEM;
    enum hp_err err = make_orders(a);
    if (err != HP_OK)
        hp_annotator_fini(a);
    return err;
}

void hp_annotator_fini(struct hp_annotator *a)
{
    for (size_t i = 0; a->modules && i < a->tables->profile->n_modules; i++) {
        hp_module_code_close(a->modules[i].code);
        free(a->modules[i].missing);
    }
    free(a->modules);
    free(a->blocks);
    free(a->insns);
    free(a->block_counts);
    hp_decoder_free(a->decoder);
    hp_sources_fini(&a->sources);
    hp_strings_fini(&a->texts);
}

/* --- Functions -------------------------------------------------------------------------------- */

static int compare_functions(const void *a, const void *b)
{
    const struct hp_hot_function *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return (x->function > y->function) - (x->function < y->function);
}

static void add_weight(struct hp_hot_function *functions, uint32_t function, uint64_t weight)
{
    if (function != HP_PROFILE_NONE)
        functions[function].weight = hp_saturating_add(functions[function].weight, weight);
}

static void weigh_functions(const struct hp_annotator *a, struct hp_hot_function *functions)
{
    const struct hp_profile *p = a->tables->profile;
    const struct hp_insns *insns = &a->tables->insns;
    size_t first = insns->n_exact ? insns->first_exact : insns->first_sampled;
    size_t n = insns->n_exact ? insns->n_exact : insns->n_sampled;
    if (a->by == HP_ANNOTATE_CYCLES)
        for (size_t i = 0; i < p->n_insn_cycles; i++)
            add_weight(functions, p->insns[p->insn_cycles[i].insn].function,
                       p->insn_cycles[i].parts);
    else if (a->by == HP_ANNOTATE_SAMPLES)
        for (size_t i = first; i < first + n; i++)
            for (int k = HP_STAGE_MAP; k <= HP_STAGE_EXECUTE; k++)
                add_weight(functions, p->insns[p->insn_tallies[i].insn].function,
                           p->insn_tallies[i].tally.stages[k]);
    else
        for (size_t i = 0; i < p->n_blocks; i++)
            add_weight(functions, p->blocks[i].function,
                       hp_saturating_mul(a->block_counts[i], p->blocks[i].insns));
}

enum hp_err hp_annotator_functions(const struct hp_annotator *a, struct hp_hot_function **functions,
                                   size_t *n)
{
    const struct hp_profile *p = a->tables->profile;
    bool *seen = calloc(p->n_functions + 1, sizeof *seen);
    struct hp_hot_function *all = *functions = calloc(p->n_functions + 1, sizeof **functions);
    if (!all || !seen) {
        free(seen);
        free(all);
        return hp_fail_nomem();
    }
    for (uint32_t i = 0; i < p->n_functions; i++)
        all[i].function = i;
    weigh_functions(a, all);
    for (size_t i = 0; i < p->n_blocks; i++)
        if (p->blocks[i].function != HP_PROFILE_NONE && a->block_counts[i])
            seen[p->blocks[i].function] = true;
    for (size_t i = 0; i < p->n_insns; i++)
        if (p->insns[i].function != HP_PROFILE_NONE)
            seen[p->insns[i].function] = true;
    *n = 0;
    for (size_t i = 0; i < p->n_functions; i++)
        if (seen[i])
            all[(*n)++] = all[i];
    free(seen);
    qsort(all, *n, sizeof *all, compare_functions);
    return HP_OK;
}

/* --- Code ------------------------------------------------------------------------------------- */

struct code {
    struct hp_code_line *lines;
    size_t n, capacity;
};

static enum hp_err add_line(struct code *code, struct hp_code_line line)
{
    HP_TRY(hp_grow(&code->lines, &code->capacity, code->n + 1, sizeof *code->lines));
    code->lines[code->n++] = line;
    return HP_OK;
}

/* The file of a module, opened when it is first needed; NULL: it cannot be used. */
static enum hp_err module_code(struct hp_annotator *a, uint32_t module,
                               struct hp_module_code **code)
{
    *code = NULL;
    if (module == HP_PROFILE_NONE)
        return HP_OK;
    if (!a->modules[module].asked) {
        const struct hp_profile *p = a->tables->profile;
        enum hp_err err = hp_module_code_open(hp_text(p->modules[module].path),
                                              hp_text(p->modules[module].build_id), p->run.started,
                                              &a->modules[module].code);
        if (err == HP_ERR_NOMEM)
            return err;
        a->modules[module].asked = true;
        a->modules[module].missing = err == HP_OK ? NULL : strdup(hp_error_text());
    }
    *code = a->modules[module].code;
    return HP_OK;
}

static void set_source(const struct hp_profile *p, uint32_t block, uint32_t offset,
                       struct hp_code_line *line)
{
    const struct hp_pline *source = hp_line_at(p, block, offset);
    line->file = source ? hp_text(source->file) : "";
    line->line = source ? source->line : 0;
    line->inlined = source ? hp_text(source->inlined) : "";
}

static enum hp_err disassemble(struct hp_annotator *a, const struct hp_module_code *file,
                               uint32_t block, struct code *code, bool *done)
{
    const struct hp_profile *p = a->tables->profile;
    const struct hp_pblock *b = &p->blocks[block];
    size_t first = code->n;
    uint32_t offset = 0;
    while (offset < b->size && a->budget) {
        uint8_t bytes[LONGEST];
        char text[256];
        struct hp_insn insn;
        uint64_t at = b->place.offset + offset;
        size_t n = hp_module_code_read(file, at, bytes, sizeof bytes);
        if (n == 0 || hp_decode(a->decoder, HP_MODE_DEFAULT, at, bytes, n, true, &insn) != HP_OK)
            break;
        hp_disassemble(a->decoder, HP_MODE_DEFAULT, at, bytes, n, text, sizeof text);
        const char *own = hp_strings_add(&a->texts, text, strlen(text));
        if (!own)
            return hp_fail_nomem();
        struct hp_code_line line = {.place = {b->place.module, at},
                                    .version = b->version,
                                    .length = insn.length,
                                    .insn = HP_PROFILE_NONE,
                                    .text = own,
                                    .count = a->block_counts[block]};
        set_source(p, block, offset, &line);
        HP_TRY(add_line(code, line));
        offset += insn.length;
        a->budget--;
    }
    *done = offset == b->size; /* else it is other code: changed at run time, or generated */
    if (!*done)
        code->n = first;
    return HP_OK;
}

/* A block whose instructions are not known: a row for each part of it that is of one source line
 * or, where these are not all known, one. */
static enum hp_err add_parts(struct hp_annotator *a, uint32_t block, struct code *code)
{
    const struct hp_profile *p = a->tables->profile;
    const struct hp_pblock *b = &p->blocks[block];
    const struct hp_pline *first = hp_line_at(p, block, 0);
    uint64_t insns = 0;
    size_t n = 0;
    while (first && first + n < p->lines + p->n_lines && first[n].block == block)
        insns += first[n++].insns;
    struct hp_code_line line = {.place = b->place,
                                .version = b->version,
                                .length = b->size,
                                .insns = b->insns ? b->insns : 1,
                                .insn = HP_PROFILE_NONE,
                                .text = "",
                                .count = a->block_counts[block]};
    if (insns != b->insns || n <= 1) {
        set_source(p, block, 0, &line);
        return add_line(code, line);
    }
    for (size_t i = 0; i < n; i++) {
        line.place.offset = b->place.offset + first[i].from;
        line.length = first[i].to - first[i].from;
        line.insns = first[i].insns;
        line.file = hp_text(first[i].file);
        line.line = first[i].line;
        line.inlined = hp_text(first[i].inlined);
        if (line.insns)
            HP_TRY(add_line(code, line));
    }
    return HP_OK;
}

static enum hp_err add_block(struct hp_annotator *a, uint32_t block, struct code *code,
                             const char **missing)
{
    const struct hp_profile *p = a->tables->profile;
    const struct hp_pblock *b = &p->blocks[block];
    struct hp_module_code *file = NULL;
    bool done = false;
    /* Only what was there first is what the file has. */
    if (a->decoder && b->version == 0)
        HP_TRY(module_code(a, b->place.module, &file));
    if (file)
        HP_TRY(disassemble(a, file, block, code, &done));
    if (done)
        return HP_OK;
    const char *why =
        b->place.module == HP_PROFILE_NONE ? NULL : a->modules[b->place.module].missing;
    *missing = why ? why : "the code that ran is not what a file has";
    return add_parts(a, block, code);
}

/* By place and version; the profile's own rows before what was disassembled, whole blocks before
 * their instructions. */
static int compare_lines(const void *a, const void *b)
{
    const struct hp_code_line *x = a, *y = b;
    int order = hp_place_compare(x->place, y->place);
    if (!order)
        order = (x->version > y->version) - (x->version < y->version);
    if (!order)
        order = (x->insns == 0) - (y->insns == 0);
    if (!order)
        order = (x->insn > y->insn) - (x->insn < y->insn);
    if (!order)
        order = (x->count > y->count) - (x->count < y->count);
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

/* One instruction may lie in several blocks: executed by each of them. */
static void join_lines(struct code *code)
{
    size_t kept = 0;
    for (size_t i = 0; i < code->n; i++) {
        struct hp_code_line line = code->lines[i], *last = kept ? &code->lines[kept - 1] : NULL;
        bool same = last && hp_place_compare(last->place, line.place) == 0 &&
                    last->version == line.version && last->insns == line.insns &&
                    (line.insns == 0 || last->length == line.length) &&
                    (line.insn == HP_PROFILE_NONE || line.insn == last->insn);
        if (!same) {
            code->lines[kept++] = line;
            continue;
        }
        last->count = hp_saturating_add(last->count, line.count);
        if (!*last->file && *line.file) {
            last->file = line.file;
            last->line = line.line;
            last->inlined = line.inlined;
        }
    }
    code->n = kept;
}

/* The rows of the machine that are in a block that could not be disassembled say more than that. */
static void drop_known_blocks(struct code *code)
{
    const struct hp_code_line *next = NULL; /* instruction */
    size_t kept = code->n;
    for (size_t i = code->n; i-- > 0;) {
        struct hp_code_line *line = &code->lines[i];
        bool known = line->insns && next && next->place.module == line->place.module &&
                     next->version == line->version &&
                     next->place.offset - line->place.offset < line->length;
        if (known)
            continue;
        code->lines[--kept] = *line; /* at or behind where it was */
        if (!line->insns)
            next = &code->lines[kept];
    }
    code->n -= kept;
    memmove(code->lines, code->lines + kept, code->n * sizeof *code->lines);
}

/* The part of an order that is a function's. */
static size_t first_of(const struct hp_annotator *a, bool blocks, uint32_t function)
{
    const struct hp_profile *p = a->tables->profile;
    if (blocks)
        return HP_BISECT(i, 0, p->n_blocks, p->blocks[a->blocks[i]].function < function);
    return HP_BISECT(i, 0, p->n_insns, p->insns[a->insns[i]].function < function);
}

static enum hp_err collect(struct hp_annotator *a, uint32_t function, struct code *code,
                           const char **missing)
{
    const struct hp_profile *p = a->tables->profile;
    for (size_t i = first_of(a, false, function);
         i < p->n_insns && p->insns[a->insns[i]].function == function; i++) {
        const struct hp_pinsn *insn = &p->insns[a->insns[i]];
        HP_TRY(add_line(code, (struct hp_code_line){.place = insn->place,
                                                    .version = insn->version,
                                                    .length = insn->length,
                                                    .insn = a->insns[i],
                                                    .text = hp_text(insn->text),
                                                    .file = hp_text(insn->file),
                                                    .line = insn->line,
                                                    .inlined = hp_text(insn->inlined)}));
    }
    for (size_t i = first_of(a, true, function);
         i < p->n_blocks && p->blocks[a->blocks[i]].function == function; i++)
        if (a->block_counts[a->blocks[i]] && (!a->wanted || a->wanted[a->blocks[i]]))
            HP_TRY(add_block(a, a->blocks[i], code, missing));
    return HP_OK;
}

enum hp_err hp_annotator_code(struct hp_annotator *a, uint32_t function,
                              struct hp_code_line **lines, size_t *n, const char **missing)
{
    struct code code = {0};
    *missing = NULL;
    enum hp_err err = collect(a, function, &code, missing);
    if (err != HP_OK) {
        free(code.lines);
        return err;
    }
    if (code.n)
        qsort(code.lines, code.n, sizeof *code.lines, compare_lines);
    join_lines(&code);
    drop_known_blocks(&code);
    bool blocks = false;
    for (size_t i = 0; i < code.n; i++)
        blocks |= code.lines[i].insns != 0;
    if (!blocks)
        *missing = NULL;
    *lines = code.lines;
    *n = code.n;
    return HP_OK;
}
