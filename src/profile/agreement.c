// SPDX-License-Identifier: MIT
#include "profile/agreement.h"

#include "base/cleanup.h"
#include "base/compare.h"

#include "base/compare.h"

#include <stdlib.h>
#include <string.h>

const char *hp_agreement_by_name(enum hp_agreement_by by)
{
    static const char *const names[HP_AGREEMENTS] = {
        [HP_AGREE_BY_INSN] = "instruction",
        [HP_AGREE_BY_LINE] = "line",
        [HP_AGREE_BY_FUNCTION] = "function",
    };
    return (unsigned)by < HP_AGREEMENTS ? names[by] : "";
}

/* --- Groups ----------------------------------------------------------------------------------- */

struct member {
    const struct hp_pinsn *insn;
    uint32_t index;
};

static int by_function(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    return HP_COMPARE(x->insn->function, y->insn->function);
}

static int by_line(const void *a, const void *b)
{
    const struct hp_pinsn *x = ((const struct member *)a)->insn;
    const struct hp_pinsn *y = ((const struct member *)b)->insn;
    if (x->line != y->line)
        return HP_COMPARE(x->line, y->line);
    return x->line ? strcmp(x->file, y->file) : by_function(a, b);
}

enum hp_err hp_agreement_groups(const struct hp_profile *profile, enum hp_agreement_by by,
                                uint32_t *groups, uint32_t *n_groups)
{
    size_t n = profile->n_insns;
    *n_groups = (uint32_t)n;
    for (size_t i = 0; i < n; i++)
        groups[i] = (uint32_t)i;
    if (by == HP_AGREE_BY_INSN || !n)
        return HP_OK;
    int (*compare)(const void *, const void *) = by == HP_AGREE_BY_LINE ? by_line : by_function;
    struct member *members HP_CLEANUP(hp_free) = calloc(n, sizeof *members);
    if (!members)
        return hp_fail_nomem();
    for (size_t i = 0; i < n; i++)
        members[i] = (struct member){.insn = &profile->insns[i], .index = (uint32_t)i};
    qsort(members, n, sizeof *members, compare);
    *n_groups = 1;
    for (size_t i = 0; i < n; i++) {
        *n_groups += i && compare(&members[i - 1], &members[i]) != 0;
        groups[members[i].index] = *n_groups - 1;
    }
    return HP_OK;
}

/* --- Agreement -------------------------------------------------------------------------------- */

enum hp_err hp_agreement_of(const uint32_t *groups, size_t n_groups, const double *a,
                            const double *b, size_t n_insns, double *overlap)
{
    struct sums {
        double a, b;
    } * sums HP_CLEANUP(hp_free) = calloc(n_groups + 1, sizeof *sums), all = {0};
    if (!sums)
        return hp_fail_nomem();
    for (size_t i = 0; i < n_insns; i++) {
        sums[groups[i]].a += a[i];
        sums[groups[i]].b += b[i];
        all.a += a[i];
        all.b += b[i];
    }
    *overlap = all.a == 0 && all.b == 0;
    for (size_t i = 0; all.a > 0 && all.b > 0 && i < n_groups; i++) {
        double x = sums[i].a / all.a, y = sums[i].b / all.b;
        *overlap += x < y ? x : y;
    }
    if (*overlap > 1 - 1e-9) /* shares that are equal may differ in their last bit */
        *overlap = 1;
    return HP_OK;
}
