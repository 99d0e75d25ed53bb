// SPDX-License-Identifier: MIT
/* What the threads of a run are called. */
#include "base/grow.h"
#include "session/session_impl.h"

#include <stdlib.h>
#include <string.h>

enum hp_err hp_names_begin(struct hp_names *names, const struct hp_thread *thread)
{
    HP_TRY(hp_grow(&names->all, &names->capacity, names->n + 1, sizeof *names->all));
    names->all[names->n++] = (struct hp_named){.thread = thread->id, .parent = thread->parent};
    return HP_OK;
}

/* NULL: it has not begun. */
static struct hp_named *find(const struct hp_names *names, uint32_t thread)
{
    size_t i = names->n; /* the latest first: they end soonest */
    while (i > 0 && names->all[i - 1].thread != thread)
        i--;
    return i ? &names->all[i - 1] : NULL;
}

const char *hp_names_find(const struct hp_names *names, uint32_t thread)
{
    const struct hp_named *named = find(names, thread);
    return named ? named->name : NULL;
}

enum hp_err hp_names_take(struct hp_names *names, uint32_t thread, const struct hp_thread_names *is)
{
    struct hp_named *named = find(names, thread);
    if (!named || named->name)
        return HP_OK;
    named->pid = is->pid;
    named->ns = is->ns;
    named->name = strdup(is->name);
    named->command = strdup(is->command);
    return named->name && named->command ? HP_OK : hp_fail_nomem();
}

enum hp_err hp_names_add(const struct hp_names *names, const struct hp_result *result,
                         struct hp_profile *profile)
{
    for (size_t i = 0; i < names->n; i++) {
        const struct hp_named *named = &names->all[i];
        uint32_t index = hp_result_known_thread(result, named->thread);
        struct hp_pthread_name *out;
        if (!named->name || index == HP_PROFILE_NONE)
            continue;
        HP_TRY(hp_profile_add_thread_name(profile, &out));
        *out = (struct hp_pthread_name){.thread = index, .parent = named->parent};
        out->name = hp_profile_string(profile, named->name);
        out->command = hp_profile_string(profile, named->command);
        if (!out->name || !out->command)
            return hp_fail_nomem();
        struct hp_pthread_time *time;
        HP_TRY(hp_profile_add_thread_time(profile, &time));
        *time = (struct hp_pthread_time){.thread = index, .ns = named->ns};
    }
    return HP_OK;
}

void hp_names_free(struct hp_names *names)
{
    for (size_t i = 0; i < names->n; i++) {
        free(names->all[i].name);
        free(names->all[i].command);
    }
    free(names->all);
}
