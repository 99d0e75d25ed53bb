// SPDX-License-Identifier: MIT
/*
 * The numbers beside code, by instruction and by source line.
 */
#include "base/compare.h"
#include "report/annotate/annotation.h"
#include "text/number.h"

#include <stdlib.h>
#include <string.h>

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
    const struct hp_annotated_line *x = a, *y = b;
    const char *own = context;
    return HP_COMPARE(strcmp(x->file, own) != 0, strcmp(y->file, own) != 0)
               ?: strcmp(x->file, y->file) ?: HP_COMPARE(x->line, y->line);
}

static struct hp_annotated_line line_of(const struct hp_annotator *a,
                                        const struct hp_code_line *code)
{
    struct hp_code_numbers n = hp_code_numbers(a, code);
    struct hp_annotated_line line = {.file = code->file,
                                     .line = code->line,
                                     .times = n.times,
                                     .weight = n.weight,
                                     .retired = n.times.value * (code->insns ? code->insns : 1)};
    for (size_t i = 0; i < n.facts.n_cycles; i++)
        line.causes[n.facts.cycles[i].cause] += (double)n.facts.cycles[i].parts / HP_CYCLE_PARTS;
    return line;
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
                               const struct hp_code *code, struct hp_annotated_line **lines,
                               size_t *n)
{
    const char *file = hp_text(a->tables->profile->functions[function].file);
    struct hp_annotated_line *all = *lines = calloc(code->n + 1, sizeof **lines);
    if (!all)
        return hp_fail_nomem();
    size_t used = 0;
    for (size_t i = 0; i < code->n; i++)
        if (*code->lines[i].file && code->lines[i].line)
            all[used++] = line_of(a, &code->lines[i]);
    qsort_r(all, used, sizeof *all, compare_lines, (void *)(uintptr_t)file);
    *n = 0;
    for (size_t i = 0; i < used; i++) {
        if (*n && compare_lines(&all[*n - 1], &all[i], (void *)(uintptr_t)file) == 0)
            join(&all[*n - 1], &all[i]);
        else
            all[(*n)++] = all[i];
    }
    for (size_t i = 0; i < *n; i++)
        for (int k = 0; k < HP_CAUSES; k++)
            all[i].cycles += all[i].causes[k];
    return HP_OK;
}
