// SPDX-License-Identifier: MIT
#include "profile/agreement.h"

#include "base/base.h"
#include "profile/profile_impl.h"

const char *hp_agreement_by_name(enum hp_agreement_by by)
{
    static const char *const names[HP_AGREEMENTS] = {
        [HP_AGREE_BY_INSN] = "instruction",
        [HP_AGREE_BY_LINE] = "line",
        [HP_AGREE_BY_FUNCTION] = "function",
    };
    return (unsigned)by < HP_AGREEMENTS ? names[by] : "";
}

static int by_function(const void *a, const void *b, void *context)
{
    const struct hp_pinsn *insns = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return HP_COMPARE(insns[x].function, insns[y].function);
}

static int by_line(const void *a, const void *b, void *context)
{
    const struct hp_pinsn *insns = context;
    const struct hp_pinsn *x = &insns[*(const uint32_t *)a], *y = &insns[*(const uint32_t *)b];
    if (x->line != y->line)
        return HP_COMPARE(x->line, y->line);
    return x->line ? strcmp(x->file, y->file) : by_function(a, b, context);
}

enum hp_err hp_agreement_groups(const struct hp_profile *profile, enum hp_agreement_by by,
                                uint32_t *groups, uint32_t *n_groups)
{
    int (*compare)(const void *, const void *, void *) =
        by == HP_AGREE_BY_LINE ? by_line : by_function;
    uint32_t *order HP_CLEANUP(hp_free) = NULL;
    size_t n = profile->n_insns;
    HP_TRY(hp_map_new(n, &order));
    if (by != HP_AGREE_BY_INSN && n)
        qsort_r(order, n, sizeof *order, compare, profile->insns);
    *n_groups = 0;
    for (size_t i = 0; i < n; i++) {
        *n_groups += i == 0 || by == HP_AGREE_BY_INSN ||
                     compare(&order[i - 1], &order[i], profile->insns) != 0;
        groups[order[i]] = *n_groups - 1;
    }
    return HP_OK;
}

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
