// SPDX-License-Identifier: MIT
/*
 * Names of generated code: the files that the processes of a run have written. They are read when
 * the run is over, since runtimes write them through a buffer, or only when they end.
 */
#include "symbols/generated.h"
#include "base/compare.h"
#include "base/debug.h"
#include "session/session_impl.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct hp_generated *generated;
    struct hp_profile *profile;
    time_t since;
};

static enum hp_err read_file(struct reading *r, const char *path)
{
    char why[160];
    size_t before = hp_generated_count(r->generated);
    HP_TRY(hp_generated_read(r->generated, path, r->since, why, sizeof why));
    size_t n = hp_generated_count(r->generated) - before;
    hp_debug(HP_DEBUG_SESSION, "%s: %zu pieces of generated code %s", path, n, why);
    if (!*why)
        return HP_OK;
    return hp_profile_note(r->profile, 1, "names", "names of generated code: %s was %s: %s", path,
                           n ? "used, but not all of it" : "not used", why);
}

/* Where perf's agent for Java writes: a directory per process. */
static enum hp_err read_agents(struct reading *r, const char *home, int pid)
{
    char pattern[4200];
    glob_t found;
    enum hp_err err = HP_OK;
    snprintf(pattern, sizeof pattern, "%s/.debug/jit/*/jit-%d.dump", home, pid);
    if (glob(pattern, 0, NULL, &found) != 0)
        return HP_OK;
    for (size_t i = 0; i < found.gl_pathc && err == HP_OK; i++)
        err = read_file(r, found.gl_pathv[i]);
    globfree(&found);
    return err;
}

/* A dump says more than a map: it is read later, and counts. */
static enum hp_err read_process(struct reading *r, const char *directory, int pid)
{
    char path[4200];
    const char *home = getenv("JITDUMPDIR");
    snprintf(path, sizeof path, "/tmp/perf-%d.map", pid);
    HP_TRY(read_file(r, path));
    snprintf(path, sizeof path, "/tmp/jit-%d.dump", pid);
    HP_TRY(read_file(r, path));
    snprintf(path, sizeof path, "%s/jit-%d.dump", directory, pid);
    if (*directory && strcmp(directory, "/tmp") != 0)
        HP_TRY(read_file(r, path));
    if (!home)
        home = getenv("HOME");
    return home && *home ? read_agents(r, home, pid) : HP_OK;
}

static int by_number(const void *a, const void *b)
{
    return HP_COMPARE(*(const int32_t *)a, *(const int32_t *)b);
}

/* Every process of the run, once. */
static enum hp_err read_all(const struct hp_names *names, const char *directory, struct reading *r)
{
    int32_t *pids = malloc((names->n + 1) * sizeof *pids);
    enum hp_err err = pids ? HP_OK : hp_fail_nomem();
    for (size_t i = 0; i < names->n && pids; i++)
        pids[i] = names->all[i].pid;
    if (pids)
        hp_sort(pids, names->n, sizeof *pids, by_number);
    for (size_t i = 0; i < names->n && err == HP_OK; i++)
        if (pids[i] > 0 && (i == 0 || pids[i] != pids[i - 1]))
            err = read_process(r, directory, pids[i]);
    free(pids);
    return err;
}

enum hp_err hp_name_generated(struct hp_session *s, struct hp_profile *profile)
{
    uint64_t doubtful;
    if (s->generated || !hp_functions_has_generated(s->functions))
        return HP_OK;
    HP_TRY(hp_generated_new(&s->generated));
    struct reading reading = {
        .generated = s->generated, .profile = profile, .since = (time_t)s->run->started};
    if (s->live) /* long after a recording, such files may be of other processes */
        HP_TRY(read_all(&s->names, s->run->directory ? s->run->directory : "", &reading));
    hp_generated_settle(s->generated);
    HP_TRY(hp_functions_name_generated(
        s->functions, hp_generated_count(s->generated) ? s->generated : NULL, &doubtful));
    return doubtful ? hp_profile_note(profile, doubtful, "names",
                                      "blocks of generated code are at addresses that had several "
                                      "names: they have the last of them")
                    : HP_OK;
}
