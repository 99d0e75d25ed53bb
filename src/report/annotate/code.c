// SPDX-License-Identifier: MIT
#include "report/annotate/annotate.h"

#include "base/base.h"
#include "text/number.h"

#define MOST_INSTRUCTIONS (2u << 20) /* disassembled in all: no program executes more */
#define LONGEST           16         /* bytes of an instruction, of any architecture */

/* --- What all share --------------------------------------------------------------------------- */

enum hp_err hp_annotator_init(struct hp_annotator *a, struct hp_tables *tables,
                              const struct hp_annotate_options *options, FILE *out)
{
    const struct hp_profile *p = tables->profile;
    *a = (struct hp_annotator){.tables = tables,
                               .options = options,
                               .print = {.color = options->color, .width = options->width},
                               .out = out,
                               .by = tables->insns.exact    ? HP_ANNOTATE_CYCLES
                                     : tables->insns.best.n ? HP_ANNOTATE_SAMPLES
                                                            : HP_ANNOTATE_INSTRUCTIONS,
                               .sources = {.directory = p->run.directory,
                                           .path = options->source_path,
                                           .time = p->run.started},
                               .budget = MOST_INSTRUCTIONS};
    /* Code of ARM may be Thumb, and the profile does not say. */
    if (p->run.arch != HP_ARCH_ARM && hp_decoder_new(p->run.arch, &a->decoder) == HP_ERR_NOMEM)
        return HP_ERR_NOMEM;
    HP_TRY(hp_new(&a->modules, p->n_modules + 1, sizeof *a->modules));
    HP_TRY(hp_tables_count_blocks(tables));
    HP_TRY(hp_lists_init(&a->blocks, p->n_functions, p->n_blocks));
    HP_TRY(hp_lists_init(&a->insns, p->n_functions, p->n_insns));
    for (uint32_t i = (uint32_t)p->n_blocks; i-- > 0;)
        hp_lists_prepend(&a->blocks, p->blocks[i].function, i);
    for (uint32_t i = (uint32_t)p->n_insns; i-- > 0;)
        hp_lists_prepend(&a->insns, p->insns[i].function, i);
    return HP_OK;
}

void hp_annotator_fini(struct hp_annotator *a)
{
    for (size_t i = 0; a->modules && i < a->tables->profile->n_modules; i++) {
        hp_module_code_close(a->modules[i].code);
        free(a->modules[i].missing);
    }
    free(a->modules);
    hp_lists_fini(&a->blocks);
    hp_lists_fini(&a->insns);
    hp_decoder_free(a->decoder);
    hp_sources_fini(&a->sources);
    hp_strings_fini(&a->texts);
    free(a->range_functions);
    *a = (struct hp_annotator){0};
}

/* --- Code ------------------------------------------------------------------------------------- */

void hp_function_code_fini(struct hp_function_code *code)
{
    free(code->lines);
}

static enum hp_err add_line(struct hp_function_code *code, struct hp_code_line line)
{
    HP_TRY(hp_grow(&code->lines, &code->capacity, code->n + 1, sizeof *code->lines));
    code->lines[code->n++] = line;
    return HP_OK;
}

/* The file of a module, opened when it is first needed; where it cannot be used it says why. */
static enum hp_err open_module(struct hp_annotator *a, uint32_t module)
{
    const struct hp_pmodule *of = &a->tables->profile->modules[module];
    struct hp_annotated_module *m = &a->modules[module];
    if (m->code || m->missing)
        return HP_OK;
    enum hp_err err = hp_module_code_open(hp_text(of->path), hp_text(of->build_id),
                                          a->tables->profile->run.started, &m->code);
    if (err == HP_OK || err == HP_ERR_NOMEM)
        return err;
    m->missing = strdup(hp_error_text());
    return m->missing ? HP_OK : hp_fail_nomem();
}

/* The block as one line, without its source. */
static struct hp_code_line block_line(const struct hp_annotator *a, uint32_t block)
{
    const struct hp_pblock *b = &a->tables->profile->blocks[block];
    return (struct hp_code_line){.place = b->place,
                                 .version = b->version,
                                 .length = b->size,
                                 .insns = b->insns ? b->insns : 1,
                                 .insn = HP_PROFILE_NONE,
                                 .text = "",
                                 .count = a->tables->block_counts[block]};
}

static void set_source(struct hp_code_line *line, const struct hp_pline *source)
{
    line->file = source ? hp_text(source->file) : "";
    line->line = source ? source->line : 0;
    line->inlined = source ? hp_text(source->inlined) : "";
}

static enum hp_err disassemble(struct hp_annotator *a, const struct hp_module_code *file,
                               uint32_t block, struct hp_function_code *code, bool *done)
{
    const struct hp_profile *p = a->tables->profile;
    const struct hp_pblock *b = &p->blocks[block];
    struct hp_code_line line = block_line(a, block);
    size_t first = code->n;
    uint32_t offset = 0;
    line.insns = 0;
    for (; offset < b->size && a->budget; a->budget--) {
        uint8_t bytes[LONGEST];
        char text[256];
        struct hp_insn insn;
        uint64_t at = line.place.offset = b->place.offset + offset;
        size_t n = hp_module_code_read(file, at, bytes, sizeof bytes);
        if (n == 0 || hp_decode(a->decoder, HP_MODE_DEFAULT, at, bytes, n, true, &insn) != HP_OK)
            break;
        hp_disassemble(a->decoder, HP_MODE_DEFAULT, at, bytes, n, text, sizeof text);
        line.text = hp_strings_add(&a->texts, text, strlen(text));
        if (!line.text)
            return hp_fail_nomem();
        line.length = insn.length;
        set_source(&line, hp_line_at(p, block, offset));
        HP_TRY(add_line(code, line));
        offset += insn.length;
    }
    *done = offset == b->size; /* else it is other code: changed at run time, or generated */
    if (!*done)
        code->n = first;
    return HP_OK;
}

/* A block whose instructions are not known: a row for each part of it that is of one source line
 * or, where these are not all known, one. */
static enum hp_err add_parts(struct hp_annotator *a, uint32_t block, struct hp_function_code *code)
{
    const struct hp_profile *p = a->tables->profile;
    const struct hp_pblock *b = &p->blocks[block];
    const struct hp_pline *first = hp_line_at(p, block, 0);
    struct hp_code_line line = block_line(a, block);
    uint64_t insns = 0;
    size_t n = 0;
    while (first && first + n < p->lines + p->n_lines && first[n].block == block)
        insns += first[n++].insns;
    if (insns != b->insns || n <= 1) {
        set_source(&line, first);
        return add_line(code, line);
    }
    for (size_t i = 0; i < n; i++) {
        line.place.offset = b->place.offset + first[i].from;
        line.length = first[i].to - first[i].from;
        line.insns = first[i].insns;
        set_source(&line, &first[i]);
        if (line.insns)
            HP_TRY(add_line(code, line));
    }
    return HP_OK;
}

static enum hp_err add_block(struct hp_annotator *a, uint32_t block, struct hp_function_code *code)
{
    const struct hp_pblock *b = &a->tables->profile->blocks[block];
    static const struct hp_annotated_module none;
    const struct hp_annotated_module *module =
        b->place.module == HP_PROFILE_NONE ? &none : &a->modules[b->place.module];
    bool done = false;
    /* Only what was there first is what the file has. */
    if (a->decoder && b->version == 0 && module != &none)
        HP_TRY(open_module(a, b->place.module));
    if (module->code && b->version == 0)
        HP_TRY(disassemble(a, module->code, block, code, &done));
    if (done)
        return HP_OK;
    code->missing = module->missing ? module->missing : "the code that ran is not what a file has";
    return add_parts(a, block, code);
}

/* Blocks before their instructions, the profile's own rows before what was disassembled. */
static int compare_code(const void *a, const void *b)
{
    const struct hp_code_line *x = a, *y = b;
    return hp_place_compare(x->place, y->place) ?: HP_COMPARE(x->version, y->version)
               ?: HP_COMPARE(x->insns == 0, y->insns == 0) ?: HP_COMPARE(x->insn, y->insn)
               ?: HP_COMPARE(x->count, y->count) ?: HP_COMPARE(x->length, y->length);
}

/* One instruction may lie in several blocks: executed by each of them. */
static void join_lines(struct hp_function_code *code)
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
        hp_add_up(&last->count, line.count);
        if (!*last->file && *line.file) {
            last->file = line.file;
            last->line = line.line;
            last->inlined = line.inlined;
        }
    }
    code->n = kept;
}

/* Instructions that the machine knows say more than the block they are in. Whether blocks are left.
 */
static bool drop_known_blocks(struct hp_function_code *code)
{
    const struct hp_code_line *next = NULL; /* instruction */
    bool any = false;
    size_t kept = code->n;
    for (size_t i = code->n; i-- > 0;) {
        struct hp_code_line *line = &code->lines[i];
        bool known = line->insns && next && next->place.module == line->place.module &&
                     next->version == line->version &&
                     next->place.offset - line->place.offset < line->length;
        if (known)
            continue;
        any |= line->insns != 0;
        code->lines[--kept] = *line; /* at or behind where it was */
        if (!line->insns)
            next = &code->lines[kept];
    }
    code->n -= kept;
    memmove(code->lines, code->lines + kept, code->n * sizeof *code->lines);
    return any;
}

static enum hp_err add_insn(const struct hp_profile *p, uint32_t i, struct hp_function_code *code)
{
    const struct hp_pinsn *insn = &p->insns[i];
    return add_line(code, (struct hp_code_line){.place = insn->place,
                                                .version = insn->version,
                                                .length = insn->length,
                                                .insn = i,
                                                .text = hp_text(insn->text),
                                                .file = hp_text(insn->file),
                                                .line = insn->line,
                                                .inlined = hp_text(insn->inlined)});
}

enum hp_err hp_annotator_add_range(struct hp_annotator *a, uint32_t block, uint32_t from,
                                   uint32_t to, struct hp_function_code *code)
{
    const struct hp_profile *p = a->tables->profile;
    const struct hp_pblock *b = &p->blocks[block];
    struct hp_function_code whole HP_CLEANUP(hp_function_code_fini) = {0};
    struct hp_place low = {b->place.module, b->place.offset + from};
    struct hp_place high = {b->place.module, b->place.offset + to};
    size_t at = HP_BISECT(i, 0, p->n_insns, hp_place_compare(p->insns[i].place, low) < 0);
    for (; at < p->n_insns && hp_place_compare(p->insns[at].place, high) < 0; at++)
        HP_TRY(add_insn(p, (uint32_t)at, code));
    HP_TRY(add_block(a, block, &whole));
    for (size_t i = 0; i < whole.n; i++)
        if (hp_place_compare(whole.lines[i].place, low) >= 0 &&
            hp_place_compare(whole.lines[i].place, high) < 0)
            HP_TRY(add_line(code, whole.lines[i]));
    code->missing = whole.missing ? whole.missing : code->missing;
    return HP_OK;
}

static enum hp_err collect(struct hp_annotator *a, uint32_t function, struct hp_function_code *code)
{
    const struct hp_profile *p = a->tables->profile;
    uint32_t first = hp_lists_first(&a->insns, function);
    for (uint32_t i = first; i != HP_PROFILE_NONE; i = a->insns.next[i])
        HP_TRY(add_insn(p, i, code));
    first = hp_lists_first(&a->blocks, function);
    for (uint32_t i = first; i != HP_PROFILE_NONE; i = a->blocks.next[i])
        if (a->tables->block_counts[i] && (!a->wanted || a->wanted[i]))
            HP_TRY(add_block(a, i, code));
    return HP_OK;
}

enum hp_err hp_annotator_code(struct hp_annotator *a, uint32_t function,
                              struct hp_function_code *code)
{
    HP_TRY(collect(a, function, code));
    hp_function_code_join(code);
    return HP_OK;
}

void hp_function_code_join(struct hp_function_code *code)
{
    bool has_blocks = false;
    if (code->n) {
        qsort(code->lines, code->n, sizeof *code->lines, compare_code);
        join_lines(code);
        has_blocks = drop_known_blocks(code);
    }
    if (!has_blocks)
        code->missing = NULL;
}

/* --- Numbers ---------------------------------------------------------------------------------- */

struct hp_code_numbers hp_code_numbers(const struct hp_annotator *a,
                                       const struct hp_code_line *line)
{
    double count = (double)line->count;
    struct hp_code_numbers n = {.times = {count, count, count}};
    if (line->insn != HP_PROFILE_NONE)
        n.facts = hp_insn_facts(a->tables, line->insn);
    if (n.facts.exact || n.facts.sampled)
        n.times = hp_insn_retired(&n.facts);
    if (a->by == HP_ANNOTATE_INSTRUCTIONS)
        n.weight = count * (line->insns ? line->insns : 1);
    else if (n.facts.run)
        n.weight = (double)hp_insn_weight(&n.facts);
    return n;
}

double hp_annotator_share(const struct hp_annotator *a, double weight)
{
    uint64_t all = a->by == HP_ANNOTATE_INSTRUCTIONS ? a->tables->summary.instructions
                                                     : a->tables->insns.weight;
    return all ? weight / (double)all : 0;
}

/* --- Source lines ----------------------------------------------------------------------------- */

static int compare_lines(const void *a, const void *b, void *context)
{
    const struct hp_code_line *x = *(const struct hp_code_line *const *)a;
    const struct hp_code_line *y = *(const struct hp_code_line *const *)b;
    const char *own = context;
    return HP_COMPARE(strcmp(x->file, own) != 0, strcmp(y->file, own) != 0)
               ?: strcmp(x->file, y->file) ?: HP_COMPARE(x->line, y->line)
               ?: HP_COMPARE(x->copy, y->copy) ?: HP_COMPARE(x, y);
}

/* `most`: the executions of one instruction that its copy of the line has so far. */
static void add_code(const struct hp_annotator *a, const struct hp_code_line *code,
                     struct hp_annotated_line *line, struct hp_estimate *most)
{
    struct hp_code_numbers n = hp_code_numbers(a, code);
    if (n.times.value > most->value) {
        line->times.value += n.times.value - most->value;
        line->times.low += n.times.low - most->low;
        line->times.high += n.times.high - most->high;
        *most = n.times;
    }
    line->file = code->file;
    line->line = code->line;
    line->weight += n.weight;
    line->retired += n.times.value * (code->insns ? code->insns : 1);
    for (size_t i = 0; i < n.facts.n_cycles; i++)
        line->causes[n.facts.cycles[i].cause] += (double)n.facts.cycles[i].parts / HP_CYCLE_PARTS;
}

enum hp_err hp_annotator_lines(const struct hp_annotator *a, uint32_t function,
                               const struct hp_function_code *code,
                               struct hp_annotated_line **lines, size_t *n)
{
    const char *file = hp_text(a->tables->profile->functions[function].file);
    const struct hp_code_line **sorted HP_CLEANUP(hp_free) = calloc(code->n + 1, sizeof(void *));
    struct hp_annotated_line *all = *lines = calloc(code->n + 1, sizeof **lines);
    struct hp_estimate most = {0};
    size_t used = *n = 0;
    if (!all || !sorted)
        return hp_fail_nomem();
    for (size_t i = 0; i < code->n; i++)
        if (*code->lines[i].file && code->lines[i].line)
            sorted[used++] = &code->lines[i];
    qsort_r(sorted, used, sizeof *sorted, compare_lines, (void *)(uintptr_t)file);
    for (size_t i = 0; i < used; i++) {
        bool same = i && sorted[i]->line == sorted[i - 1]->line &&
                    strcmp(sorted[i]->file, sorted[i - 1]->file) == 0;
        if (!same || sorted[i]->copy != sorted[i - 1]->copy)
            most = (struct hp_estimate){0};
        *n += !same;
        add_code(a, sorted[i], &all[*n - 1], &most);
    }
    for (size_t i = 0; i < *n; i++)
        for (int k = 0; k < HP_CAUSES; k++)
            all[i].cycles += all[i].causes[k];
    return HP_OK;
}
