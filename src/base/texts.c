// SPDX-License-Identifier: MIT
#include "base/texts.h"

#include "base/base.h"

enum hp_err hp_text_set_add(struct hp_text_set *texts, const char *text)
{
    if (hp_text_set_find(texts, text) != HP_MAP64_NONE)
        return HP_OK;
    HP_TRY(hp_grow(&texts->texts, &texts->capacity, texts->n + 1, sizeof *texts->texts));
    HP_TRY(hp_map64_put(&texts->numbers, (uintptr_t)text, (uint32_t)texts->n));
    texts->texts[texts->n++] = text;
    return HP_OK;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum hp_err hp_text_set_sort(struct hp_text_set *texts)
{
    size_t kept = 0;
    if (texts->n)
        qsort(texts->texts, texts->n, sizeof *texts->texts, compare);
    for (size_t i = 0; i < texts->n; i++) {
        const char *text = texts->texts[i];
        if (kept == 0 || strcmp(texts->texts[kept - 1], text) != 0)
            texts->texts[kept++] = text;
        HP_TRY(hp_map64_put(&texts->numbers, (uintptr_t)text, (uint32_t)(kept - 1)));
    }
    texts->n = kept;
    return HP_OK;
}

void hp_text_set_fini(struct hp_text_set *texts)
{
    free(texts->texts);
    hp_map64_fini(&texts->numbers);
}
