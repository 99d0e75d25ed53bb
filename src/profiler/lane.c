// SPDX-License-Identifier: MIT
#include "profiler/lane.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* Batches come about every tenth of a millisecond: a short spin is cheaper than sleeping. */
#define SPINS 2000

struct hp_lane {
    pthread_t thread;
    sem_t begun, done;
    void (*work)(void *context); /* NULL: the end */
    void *context;
};

static inline void relax(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

static void wait_for(sem_t *semaphore)
{
    for (int i = 0; i < SPINS; i++) {
        if (sem_trywait(semaphore) == 0)
            return;
        relax();
    }
    while (sem_wait(semaphore) != 0)
        ; /* interrupted by a signal */
}

static void *run(void *argument)
{
    struct hp_lane *lane = argument;
    for (;;) {
        wait_for(&lane->begun);
        if (!lane->work)
            return NULL;
        lane->work(lane->context);
        sem_post(&lane->done);
    }
}

/* The thread starts with all signals blocked: the existing thread handles them. */
static int start(struct hp_lane *lane)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&lane->thread, NULL, run, lane);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

enum hp_err hp_lane_new(struct hp_lane **lane)
{
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        return hp_fail(HP_ERR_UNSUPPORTED, "there is one processor only");
    struct hp_lane *l = calloc(1, sizeof *l);
    if (!l)
        return hp_fail_nomem();
    sem_init(&l->begun, 0, 0);
    sem_init(&l->done, 0, 0);
    if (start(l) != 0) {
        sem_destroy(&l->begun);
        sem_destroy(&l->done);
        free(l);
        return hp_fail(HP_ERR_UNSUPPORTED, "no thread could be started");
    }
    *lane = l;
    return HP_OK;
}

void hp_lane_free(struct hp_lane *lane)
{
    if (!lane)
        return;
    lane->work = NULL;
    sem_post(&lane->begun);
    pthread_join(lane->thread, NULL);
    sem_destroy(&lane->begun);
    sem_destroy(&lane->done);
    free(lane);
}

void hp_lane_begin(struct hp_lane *lane, void (*work)(void *context), void *context)
{
    lane->work = work;
    lane->context = context;
    sem_post(&lane->begun);
}

void hp_lane_wait(struct hp_lane *lane)
{
    wait_for(&lane->done);
}
