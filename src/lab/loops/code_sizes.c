// SPDX-License-Identifier: MIT
#include "lab/loops/code_sizes.h"

#include "base/bisect.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static enum hp_err add_block(struct hp_lab_code_sizes *sizes, struct hp_code *code, uint32_t id)
{
    const struct hp_insn *insns;
    HP_TRY(hp_code_insns(code, id, &insns));
    for (uint32_t i = 0; i < hp_code_block(code, id)->insns; i++)
        sizes->addresses[sizes->n++] = insns[i].address;
    return HP_OK;
}

enum hp_err hp_lab_code_sizes_init(struct hp_lab_code_sizes *sizes, struct hp_code *code)
{
    size_t all = 1, n = 0;
    enum hp_err err = HP_OK;
    for (uint32_t b = 0; b < hp_code_n_blocks(code); b++)
        all += hp_code_block(code, b)->insns;
    *sizes = (struct hp_lab_code_sizes){.addresses = malloc(all * sizeof *sizes->addresses)};
    if (!sizes->addresses)
        return hp_fail_nomem();
    for (uint32_t b = 0; b < hp_code_n_blocks(code) && err == HP_OK; b++)
        err = add_block(sizes, code, b);
    if (err != HP_OK) {
        hp_lab_code_sizes_fini(sizes);
        return err;
    }
    qsort(sizes->addresses, sizes->n, sizeof *sizes->addresses, compare);
    for (size_t i = 0; i < sizes->n; i++)
        if (n == 0 || sizes->addresses[i] != sizes->addresses[n - 1])
            sizes->addresses[n++] = sizes->addresses[i];
    sizes->n = n;
    return HP_OK;
}

void hp_lab_code_sizes_fini(struct hp_lab_code_sizes *sizes)
{
    free(sizes->addresses);
    *sizes = (struct hp_lab_code_sizes){0};
}

/* How many are below. */
static size_t below(const struct hp_lab_code_sizes *sizes, uint64_t address)
{
    return HP_BISECT(i, 0, sizes->n, sizes->addresses[i] < address);
}

size_t hp_lab_code_sizes_count(const struct hp_lab_code_sizes *sizes, uint64_t first, uint64_t last)
{
    return first > last ? 0 : below(sizes, last + 1) - below(sizes, first);
}
