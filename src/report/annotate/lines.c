// SPDX-License-Identifier: MIT
/*
 * The numbers beside code, by instruction and by source line.
 */
#include "report/annotate/annotation.h"
#include "text/number.h"

#include <stdlib.h>
#include <string.h>

struct hp_estimate hp_code_line_times(const struct hp_annotator *a, const struct hp_code_line *line)
{
    struct hp_insn_facts facts;
    if (line->insn != HP_PROFILE_NONE) {
        hp_insn_facts(a->tables, line->insn, &facts);
        if (hp_insn_tally_of(&facts, HP_INSN_BEST))
            return hp_insn_executions(&facts, HP_INSN_BEST).retired;
    }
    double count = (double)line->count;
    return (struct hp_estimate){count, count, count};
}

double hp_annotator_weight(const struct hp_annotator *a, const struct hp_code_line *line)
{
    struct hp_insn_facts facts;
    if (a->by == HP_ANNOTATE_INSTRUCTIONS)
        return (double)line->count * (line->insns ? line->insns : 1);
    if (line->insn == HP_PROFILE_NONE)
        return 0;
    hp_insn_facts(a->tables, line->insn, &facts);
    return hp_insn_share(a->tables, &facts) * 1e6;
}

double hp_annotator_share(const struct hp_annotator *a, double weight)
{
    if (a->by != HP_ANNOTATE_INSTRUCTIONS)
        return weight / 1e6;
    uint64_t all = a->tables->summary.instructions;
    return all ? weight / (double)all : 0;
}

double hp_annotator_function_share(const struct hp_annotator *a,
                                   const struct hp_hot_function *function)
{
    const struct hp_tables *t = a->tables;
    return hp_number_share(function->weight, a->by == HP_ANNOTATE_CYCLES ? t->insns.parts
                                             : a->by == HP_ANNOTATE_SAMPLES
                                                 ? t->insns.latency
                                                 : t->summary.instructions);
}

/* --- Source lines ----------------------------------------------------------------------------- */

static int compare_lines(const void *a, const void *b, void *context)
{
    const struct hp_annotated_line *x = a, *y = b;
    const char *first = context;
    int own_x = strcmp(x->file, first) == 0, own_y = strcmp(y->file, first) == 0;
    if (own_x != own_y)
        return own_y - own_x;
    int order = strcmp(x->file, y->file);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static void add_code(const struct hp_annotator *a, const struct hp_code_line *code,
                     struct hp_annotated_line *line)
{
    struct hp_estimate times = hp_code_line_times(a, code);
    struct hp_insn_facts facts;
    line->weight = hp_annotator_weight(a, code);
    line->times = times;
    line->retired = times.value * (code->insns ? code->insns : 1);
    if (code->insn == HP_PROFILE_NONE)
        return;
    hp_insn_facts(a->tables, code->insn, &facts);
    for (size_t i = 0; i < facts.n_cycles; i++)
        line->causes[facts.cycles[i].cause] += (double)facts.cycles[i].parts / HP_CYCLE_PARTS;
}

static void join(struct hp_annotated_line *line, const struct hp_annotated_line *other)
{
    line->weight += other->weight;
    line->retired += other->retired;
    if (other->times.value > line->times.value)
        line->times = other->times;
    for (int i = 0; i < HP_CAUSES; i++)
        line->causes[i] += other->causes[i];
}

enum hp_err hp_annotator_lines(const struct hp_annotator *a, uint32_t function,
                               const struct hp_code_line *code, size_t n,
                               struct hp_annotated_line **lines, size_t *n_lines)
{
    const char *file = hp_text(a->tables->profile->functions[function].file);
    struct hp_annotated_line *all = *lines = calloc(n + 1, sizeof **lines);
    if (!all)
        return hp_fail_nomem();
    size_t used = 0, kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (!*code[i].file || !code[i].line)
            continue;
        all[used].file = code[i].file;
        all[used].line = code[i].line;
        add_code(a, &code[i], &all[used++]);
    }
    qsort_r(all, used, sizeof *all, compare_lines, (void *)(uintptr_t)file);
    for (size_t i = 0; i < used; i++) {
        struct hp_annotated_line line = all[i];
        if (kept && all[kept - 1].line == line.line && strcmp(all[kept - 1].file, line.file) == 0)
            join(&all[kept - 1], &line);
        else
            all[kept++] = line;
    }
    *n_lines = kept;
    return HP_OK;
}
