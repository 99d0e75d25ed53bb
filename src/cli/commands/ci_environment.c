// SPDX-License-Identifier: MIT
#include "cli/commands/ci_environment.h"

#include "engine/environment.h"

#include <stdlib.h>
#include <string.h>

static enum hp_err set_wanted(char **environment, const char *text)
{
    const char *equals = strchrnul(text, '=');
    size_t length = (size_t)(equals - text);
    const char *value = *equals ? equals + 1 : getenv(text);
    if (length == 0 || length > 1000 || !value)
        return hp_fail(HP_ERR_INVALID, "--env %s: %s", text,
                       value ? "a variable has a name" : "it is not set here");
    return hp_environment_set(environment, text, length, value);
}

enum hp_err hp_ci_environment(const struct hp_texts *more, char ***environment)
{
    HP_TRY(hp_environment_fixed(more->n, environment));
    for (size_t i = 0; i < more->n; i++)
        HP_TRY(set_wanted(*environment, more->items[i]));
    return HP_OK;
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
