// SPDX-License-Identifier: MIT
#include "engine/environment.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 4096

/* How many texts, and their bytes with the zeroes behind them. */
static size_t measure(char *const *texts, size_t *bytes)
{
    size_t n = 0;
    for (; texts[n]; n++)
        *bytes += strlen(texts[n]) + 1;
    return n;
}

enum hp_err hp_environment_pad(char *const *environment, char *const *argv, const char *file,
                               char ***padded)
{
    static const char first[] = HP_ENVIRONMENT_PAD "=", second[] = HP_ENVIRONMENT_PAD "2=";
    size_t bytes = strlen(file) + 1 + sizeof first;
    size_t n_variables = measure(environment, &bytes);
    size_t n = measure(argv, &bytes) + n_variables + 1;
    /* An even number of pointers: the kernel rounds what they take to 16 bytes. */
    size_t more = n % 2;
    bytes += more * sizeof second;
    n += more;
    size_t pad = (PAGE - (bytes + n * sizeof(char *)) % PAGE) % PAGE;
    size_t pointers = n_variables + 1 + more + 1;
    char **list = calloc(1, pointers * sizeof *list + sizeof first + pad + sizeof second);
    if (!list)
        return hp_fail_nomem();
    char *text = (char *)(list + pointers);
    memcpy(list, environment, n_variables * sizeof *list);
    list[n_variables] = text;
    memset(mempcpy(text, first, sizeof first - 1), 'x', pad);
    if (more)
        list[n_variables + 1] = memcpy(text + sizeof first + pad, second, sizeof second);
    *padded = list;
    return HP_OK;
}
