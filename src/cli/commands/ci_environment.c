// SPDX-License-Identifier: MIT
#include "cli/commands/ci_environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "NAME=VALUE" in the place of one of the same name, or behind the others. */
static enum hp_err set(char **environment, const char *name, size_t length, const char *value)
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

static enum hp_err set_wanted(char **environment, const char *text)
{
    const char *equals = strchrnul(text, '=');
    size_t length = (size_t)(equals - text);
    const char *value = *equals ? equals + 1 : getenv(text);
    if (length == 0 || length > 1000 || !value)
        return hp_fail(HP_ERR_INVALID, "--env %s: %s", text,
                       value ? "a variable has a name" : "it is not set here");
    return set(environment, text, length, value);
}

enum hp_err hp_ci_environment(const struct hp_texts *more, char ***environment)
{
    const char *path = getenv("PATH"), *home = getenv("HOME");
    char **list = calloc(more->n + 5, sizeof *list);
    if (!list)
        return hp_fail_nomem();
    enum hp_err err = set(list, "PATH", 4, path ? path : "/usr/bin:/bin");
    if (err == HP_OK)
        err = set(list, "HOME", 4, home ? home : "/");
    if (err == HP_OK)
        err = set(list, "LC_ALL", 6, "C");
    if (err == HP_OK)
        err = set(list, "TZ", 2, "UTC0");
    for (size_t i = 0; i < more->n && err == HP_OK; i++)
        err = set_wanted(list, more->items[i]);
    if (err != HP_OK) {
        hp_ci_environment_free(list);
        return err;
    }
    *environment = list;
    return HP_OK;
}

void hp_ci_environment_free(char **environment)
{
    for (char **at = environment; at && *at; at++)
        free(*at);
    free(environment);
}

const char *hp_ci_cpu(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return "x86-64-v4";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
        __builtin_cpu_supports("fma"))
        return "x86-64-v3";
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"))
        return "x86-64-v2";
    return "x86-64-v1";
#else
    return "";
#endif
}
