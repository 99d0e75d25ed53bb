// SPDX-License-Identifier: MIT
#include "engine/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096

/* Counts the texts and adds up their bytes, terminators included. */
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
    /* An even number of pointers: the kernel rounds their size up to 16 bytes. */
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

enum hp_err hp_environment_set(char **environment, const char *name, size_t length,
                               const char *value)
{
    char *text, **at = environment;
    if (asprintf(&text, "%.*s=%s", (int)length, name, value) < 0)
        return hp_fail_nomem();
    while (*at && strncmp(*at, text, length + 1) != 0)
        at++;
    free(*at);
    *at = text;
    return HP_OK;
}

enum hp_err hp_environment_fixed(size_t more, char ***environment)
{
    const char *path = getenv("PATH"), *home = getenv("HOME");
    const char *const variables[][2] = {{"PATH", path ? path : "/usr/bin:/bin"},
                                        {"HOME", home ? home : "/"},
                                        {"LC_ALL", "C"},
                                        {"TZ", "UTC0"}};
    const size_t n = sizeof variables / sizeof *variables;
    char **list = calloc(n + more + 1, sizeof *list);
    enum hp_err err = list ? HP_OK : hp_fail_nomem();
    for (size_t i = 0; i < n && err == HP_OK; i++)
        err = hp_environment_set(list, variables[i][0], strlen(variables[i][0]), variables[i][1]);
    if (err == HP_OK)
        *environment = list;
    else
        hp_environment_free(list);
    return err;
}

void hp_environment_free(char **environment)
{
    for (char **at = environment; at && *at; at++)
        free(*at);
    free(environment);
}
