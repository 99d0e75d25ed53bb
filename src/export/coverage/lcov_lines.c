// SPDX-License-Identifier: MIT
#include "export/coverage/lcov_lines.h"

#include "base/base.h"
#include "text/number.h"

void hp_lcov_add(struct hp_lcov_rows *all, const struct hp_lcov_row *row)
{
    if (!row->line || !row->file[0] || (row->kind == HP_LCOV_FUNCTION && !row->name[0]) ||
        strpbrk(row->file, "\r\n") || strpbrk(row->name, "\r\n"))
        return;
    if (hp_grow(&all->rows, &all->capacity, all->n + 1, sizeof *all->rows) == HP_OK)
        all->rows[all->n++] = *row;
    else
        all->failed = true;
}

static int compare(const void *a, const void *b)
{
    const struct hp_lcov_row *x = a, *y = b;
    return (x->file == y->file ? 0 : strcmp(x->file, y->file)) ?: HP_COMPARE(x->kind, y->kind) ?:
        HP_COMPARE(x->line, y->line) ?: strcmp(x->name, y->name) ?:
        HP_COMPARE(x->instance, y->instance);
}

/* Whether a row tells more of the same line or function as the one before it. Parts of a function,
 * and those of one name, are one. */
static bool is_same(const struct hp_lcov_row *a, const struct hp_lcov_row *b)
{
    return a->kind == b->kind && a->kind != HP_LCOV_BRANCH && a->line == b->line &&
           strcmp(a->name, b->name) == 0 && strcmp(a->file, b->file) == 0;
}

/* Copies of a line become one; of the code of one copy the most often executed counts. */
static void join(struct hp_lcov_rows *all)
{
    size_t kept = 0;
    uint64_t most = 0; /* of the copy that is being joined */
    for (size_t i = 0; i < all->n; i++) {
        const struct hp_lcov_row *row = &all->rows[i];
        struct hp_lcov_row *into = kept ? &all->rows[kept - 1] : NULL;
        if (!into || !is_same(into, row)) {
            most = row->counts[1];
            all->rows[kept++] = *row;
            continue;
        }
        hp_add_up(&into->counts[0], row->counts[0]);
        if (into->instance != row->instance)
            most = 0;
        into->instance = row->instance;
        if (row->counts[1] > most) {
            hp_add_up(&into->counts[1], row->counts[1] - most);
            most = row->counts[1];
        }
    }
    all->n = kept;
}

static void put_functions(const struct hp_lcov_row *rows, size_t n, FILE *out)
{
    size_t hit = 0;
    for (size_t i = 0; i < n; i++)
        fprintf(out, "FN:%" PRIu32 ",%s\n", rows[i].line, rows[i].name);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "FNDA:%" PRIu64 ",%s\n", rows[i].counts[0], rows[i].name);
        hit += rows[i].counts[0] != 0;
    }
    fprintf(out, "FNF:%zu\nFNH:%zu\n", n, hit);
}

static void put_branches(const struct hp_lcov_row *rows, size_t n, FILE *out)
{
    size_t hit = 0, number = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t *counts = rows[i].counts;
        number = i && rows[i].line == rows[i - 1].line ? number + 1 : 0;
        for (int way = 0; way < 2; way++) {
            fprintf(out, "BRDA:%" PRIu32 ",%zu,%d,", rows[i].line, number, way);
            if (counts[0] || counts[1])
                fprintf(out, "%" PRIu64 "\n", counts[way]);
            else
                fputs("-\n", out); /* never got there */
            hit += counts[way] != 0;
        }
    }
    fprintf(out, "BRF:%zu\nBRH:%zu\n", 2 * n, hit);
}

static void put_lines(const struct hp_lcov_row *rows, size_t n, FILE *out)
{
    size_t hit = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t count = rows[i].counts[0] ? rows[i].counts[0] : rows[i].counts[1];
        fprintf(out, "DA:%" PRIu32 ",%" PRIu64 "\n", rows[i].line, count);
        hit += count != 0;
    }
    fprintf(out, "LF:%zu\nLH:%zu\n", n, hit);
}

void hp_lcov_write(struct hp_lcov_rows *all, FILE *out)
{
    hp_sort(all->rows, all->n, sizeof *all->rows, compare);
    join(all);
    for (const struct hp_lcov_row *row = all->rows, *end = row + all->n; row < end;) {
        const struct hp_lcov_row *first = row;
        size_t n[HP_LCOV_LINE + 1] = {0};
        for (; row < end && strcmp(row->file, first->file) == 0; row++)
            n[row->kind]++;
        if (!n[HP_LCOV_LINE]) /* nothing to show them in */
            continue;
        fprintf(out, "TN:\nSF:%s\n", first->file);
        put_functions(first, n[HP_LCOV_FUNCTION], out);
        put_branches(first + n[HP_LCOV_FUNCTION], n[HP_LCOV_BRANCH], out);
        put_lines(row - n[HP_LCOV_LINE], n[HP_LCOV_LINE], out);
        fputs("end_of_record\n", out);
    }
}
