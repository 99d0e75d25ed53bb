// SPDX-License-Identifier: MIT
/*
 * bench-machine INSTRUCTIONS PASSES MACHINE,... -- PROGRAM ARGUMENTS: runs PROGRAM (without input)
 * under the native engine, keeps the blocks and addresses of its first INSTRUCTIONS in memory, and
 * times machines on them, in turn in each pass. Prints one JSON object: instructions, and for each
 * machine its times (processor time in nanoseconds) and a checksum of all its counts, which an
 * optimization must not change.
 */
#include "base/grow.h"
#include "hotpath/machine.h"
#include "hotpath/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_PASSES   100
#define MAX_MACHINES 8

/* What one thread of a program did. */
struct kept {
    struct hp_profiler profiler; /* first */
    void *thread;                /* the first one; others are left out */
    uint32_t *blocks;
    uint8_t *taken;
    uint32_t *address_at;
    uint64_t *addresses;
    size_t n, cap_blocks, cap_taken, cap_at;
    size_t n_addresses, cap_addresses;
    uint32_t next; /* block */
    uint64_t instructions;
    bool failed;
};

struct timed {
    const char *name;
    struct hp_machine *machine;
    uint64_t ns[MAX_PASSES];
    uint64_t checksum;
};

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- Keeping ---------------------------------------------------------------------------------- */

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *thread,
                                void **state)
{
    (void)thread;
    struct kept *k = (struct kept *)profiler;
    *state = k->thread ? NULL : k;
    k->thread = k;
    return HP_OK;
}

static enum hp_err keep(struct kept *k, const struct hp_batch *batch)
{
    size_t n = batch->n, addresses = batch->address_at[n] - batch->address_at[0];
    HP_TRY(hp_grow(&k->blocks, &k->cap_blocks, k->n + n + 1, sizeof *k->blocks));
    HP_TRY(hp_grow(&k->taken, &k->cap_taken, k->n + n, sizeof *k->taken));
    HP_TRY(hp_grow(&k->address_at, &k->cap_at, k->n + n + 1, sizeof *k->address_at));
    HP_TRY(hp_grow(&k->addresses, &k->cap_addresses, k->n_addresses + addresses,
                   sizeof *k->addresses));
    memcpy(k->blocks + k->n, batch->blocks, (n + 1) * sizeof *k->blocks);
    memcpy(k->taken + k->n, batch->taken, n);
    for (size_t i = 0; i <= n; i++)
        k->address_at[k->n + i] =
            (uint32_t)(k->n_addresses + batch->address_at[i] - batch->address_at[0]);
    memcpy(k->addresses + k->n_addresses, batch->addresses + batch->address_at[0],
           addresses * sizeof *k->addresses);
    for (size_t i = 0; i < n; i++)
        k->instructions += batch->table[batch->blocks[i]].insns;
    k->n += n;
    k->n_addresses += addresses;
    return HP_OK;
}

static void keep_batch(void *state, const struct hp_batch *batch)
{
    struct kept *k = state;
    if (k && batch->addresses && !k->failed)
        k->failed = keep(k, batch) != HP_OK;
}

static void skip_event(void *state, const struct hp_event *event)
{
    (void)state, (void)event;
}

static void leave(struct hp_profiler *profiler)
{
    (void)profiler;
}

static const struct hp_profiler_ops keeping = {.name = "keep",
                                               .start_thread = start_thread,
                                               .batch = keep_batch,
                                               .event = skip_event,
                                               .free = leave};

/* --- Timing ----------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t sum, uint64_t value)
{
    return (sum ^ value) * 0x100000001b3u;
}

static uint64_t checksum(struct hp_core *core)
{
    uint64_t sum = 0xcbf29ce484222325u;
    for (const struct hp_core_stat *stat = hp_core_stats(core); stat->name; stat++)
        sum = mix(sum, stat->value);
    return sum;
}

static enum hp_err run(const struct kept *k, struct hp_code *code, struct hp_core *core,
                       uint64_t *sum)
{
    static struct hp_events events[HP_BATCH_MAX];
    for (size_t at = 0; at < k->n; at += HP_BATCH_MAX) {
        size_t n = k->n - at < HP_BATCH_MAX ? k->n - at : HP_BATCH_MAX;
        struct hp_batch batch = {.code = code,
                                 .table = hp_code_blocks(code),
                                 .blocks = k->blocks + at,
                                 .taken = k->taken + at,
                                 .n = n,
                                 .addresses = k->addresses,
                                 .address_at = k->address_at + at};
        HP_TRY(hp_core_batch(core, code, &batch, events));
        for (int i = 0; i < HP_METRICS; i++)
            *sum = mix(*sum, events[n / 2].count[i]);
    }
    return HP_OK;
}

static enum hp_err time_pass(const struct kept *k, struct hp_code *code, struct timed *timed,
                             uint64_t *ns)
{
    struct hp_core *core;
    uint64_t sum = 0;
    HP_TRY(hp_core_new(timed->machine, &core));
    uint64_t start = now();
    enum hp_err err = run(k, code, core, &sum);
    *ns = now() - start;
    timed->checksum = mix(checksum(core), sum);
    hp_core_free(core);
    return err;
}

static void print(const struct kept *k, const struct timed *timed, size_t n, int passes)
{
    printf("{\"instructions\": %llu", (unsigned long long)k->instructions);
    for (size_t i = 0; i < n; i++) {
        printf(", \"%s\": {\"checksum\": \"%016llx\", \"ns\": [", timed[i].name,
               (unsigned long long)timed[i].checksum);
        for (int pass = 0; pass < passes; pass++)
            printf("%s%llu", pass ? ", " : "", (unsigned long long)timed[i].ns[pass]);
        printf("]}");
    }
    printf("}\n");
}

static enum hp_err measure(struct kept *k, struct hp_code *code, char *machines, int passes)
{
    struct timed timed[MAX_MACHINES] = {0};
    size_t n = 0;
    enum hp_err err = HP_OK;
    for (char *name = strtok(machines, ","); name && n < MAX_MACHINES && err == HP_OK;
         name = strtok(NULL, ",")) {
        timed[n].name = name;
        err = hp_machine_load(name, &timed[n++].machine);
    }
    for (int pass = -1; pass < passes; pass++) /* the first one warms up */
        for (size_t i = 0; i < n && err == HP_OK; i++)
            err = time_pass(k, code, &timed[i], &timed[i].ns[pass < 0 ? 0 : pass]);
    if (err == HP_OK)
        print(k, timed, n, passes);
    for (size_t i = 0; i < n; i++)
        hp_machine_free(timed[i].machine);
    return err;
}

struct request {
    struct kept *kept;
    char *machines;
    int passes;
};

static enum hp_err attach(void *context, struct hp_session *session)
{
    return hp_session_add(session, &((struct request *)context)->kept->profiler);
}

static enum hp_err collect(void *context, struct hp_session *session)
{
    const struct request *r = context;
    if (r->kept->failed || !r->kept->n)
        return hp_fail(HP_ERR_INVALID, "nothing was kept");
    return measure(r->kept, hp_session_code(session), r->machines, r->passes);
}

static enum hp_err observe(struct kept *k, uint64_t instructions, char **argv, char *machines,
                           int passes)
{
    struct request request = {k, machines, passes};
    int status;
    return hp_session_run(&(struct hp_session_settings){.engine = "native",
                                                        .addresses = true,
                                                        .length = instructions,
                                                        .stop = true,
                                                        .no_follow = true,
                                                        .input = "/dev/null",
                                                        .output = "/dev/null",
                                                        .lines = HP_LINES_NONE,
                                                        .context = &request,
                                                        .attach = attach,
                                                        .collect = collect},
                          argv, NULL, &status);
}

int main(int argc, char **argv)
{
    int passes = argc < 6 ? 0 : atoi(argv[2]);
    if (passes < 1 || passes > MAX_PASSES || strcmp(argv[4], "--") != 0) {
        fprintf(stderr,
                "usage: bench-machine INSTRUCTIONS PASSES MACHINE,... -- PROGRAM...\n"
                "PASSES: 1 to %d\n",
                MAX_PASSES);
        return 2;
    }
    struct kept k = {.profiler = {.ops = &keeping}};
    enum hp_err err = observe(&k, strtoull(argv[1], NULL, 10), argv + 5, argv[3], passes);
    if (err != HP_OK)
        fprintf(stderr, "bench-machine: %s\n", hp_error_text());
    free(k.blocks);
    free(k.taken);
    free(k.address_at);
    free(k.addresses);
    return err == HP_OK ? 0 : 1;
}
