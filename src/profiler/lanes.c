// SPDX-License-Identifier: MIT
#include "profiler/lanes.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 12 /* profilers */

/* The owner sleeps until no more than so many batches are under way: soon after it would have to
 * sleep again. */
#define HALF (HP_LANES_DEPTH / 2)

/* A copy of a delivery. */
struct slot {
    struct hp_batch batch;
    struct hp_steps steps;
    bool by_steps;
    void *states[MOST];
    union {
        struct hp_step list[HP_STEPS_MAX + 1];
        struct {
            uint32_t blocks[HP_BATCH_MAX + 1];
            uint8_t taken[HP_BATCH_MAX];
        };
    };
};

/* Batches are numbered; that with number b is in slots[b % HP_LANES_DEPTH]. */
struct hp_lanes {
    pthread_mutex_t lock; /* of all that follows, up to the slots */
    pthread_cond_t filled, freed;
    uint64_t pushed;     /* batches */
    uint64_t done[MOST]; /* of these, by profiler */
    bool at_work[MOST];  /* by profiler: a thread brings it some */
    unsigned n_asleep;   /* lanes */
    bool owner_sleeps;
    bool over;
    struct slot slots[HP_LANES_DEPTH]; /* filled by the owner, and then only read */

    struct hp_profiler *profilers[MOST];
    size_t state_of[MOST]; /* index in hp_delivery.states */
    size_t n;
    pthread_t threads[MOST];
    size_t n_threads;
};

unsigned hp_lanes_threads(void)
{
    const char *said = getenv("HOTPATH_THREADS");
    long n = sysconf(_SC_NPROCESSORS_ONLN), most = said ? strtol(said, NULL, 10) : n;
    n = most < n ? most : n;
    return n > 1 ? (unsigned)n : 1;
}

/* --- Work, with the lock held ----------------------------------------------------------------- */

/* How far the profiler is that is furthest behind. */
static uint64_t all_done(const struct hp_lanes *l)
{
    uint64_t least = l->pushed;
    for (size_t i = 0; i < l->n; i++)
        least = l->done[i] < least ? l->done[i] : least;
    return least;
}

/* The profiler that is furthest behind, and not at work; `n`: none. */
static size_t find_work(const struct hp_lanes *l)
{
    size_t found = l->n;
    for (size_t i = 0; i < l->n; i++)
        if (!l->at_work[i] && l->done[i] < (found < l->n ? l->done[found] : l->pushed))
            found = i;
    return found;
}

/* Brings a profiler its next batch; without the lock meanwhile. */
static void work(struct hp_lanes *l, size_t i)
{
    const struct slot *slot = &l->slots[l->done[i] % HP_LANES_DEPTH];
    const struct hp_profiler_ops *ops = l->profilers[i]->ops;
    void *state = slot->states[l->state_of[i]];
    l->at_work[i] = true;
    pthread_mutex_unlock(&l->lock);
    if (slot->by_steps)
        ops->steps(state, &slot->steps);
    else
        ops->batch(state, &slot->batch);
    pthread_mutex_lock(&l->lock);
    l->at_work[i] = false;
    l->done[i]++;
}

static void *run_lane(void *argument)
{
    struct hp_lanes *l = argument;
    pthread_mutex_lock(&l->lock);
    while (!l->over) {
        size_t i = find_work(l);
        if (i < l->n) {
            work(l, i);
            if (l->owner_sleeps && (find_work(l) < l->n || l->pushed - all_done(l) <= HALF))
                pthread_cond_signal(&l->freed);
        } else {
            l->n_asleep++;
            pthread_cond_wait(&l->filled, &l->lock);
            l->n_asleep--;
        }
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* The owner works, too, until at most so many batches are under way. */
static void wait_until(struct hp_lanes *l, uint64_t under_way)
{
    while (l->pushed - all_done(l) > under_way) {
        size_t i = find_work(l);
        if (i < l->n) {
            work(l, i);
            continue;
        }
        l->owner_sleeps = true;
        pthread_cond_wait(&l->freed, &l->lock);
        l->owner_sleeps = false;
    }
}

/* --- For the owner ---------------------------------------------------------------------------- */

static void fill(struct slot *slot, const struct hp_lanes *l, const struct hp_delivery *d)
{
    slot->by_steps = !d->batch;
    for (size_t i = 0; i < l->n; i++)
        slot->states[l->state_of[i]] = d->states[l->state_of[i]];
    if (slot->by_steps) {
        slot->steps = *d->steps;
        memcpy(slot->list, d->steps->steps, (d->steps->n + 1) * sizeof *slot->list);
        slot->steps.steps = slot->list;
        return;
    }
    slot->batch = *d->batch;
    memcpy(slot->blocks, d->batch->blocks, (d->batch->n + 1) * sizeof *slot->blocks);
    memcpy(slot->taken, d->batch->taken, d->batch->n);
    slot->batch.blocks = slot->blocks;
    slot->batch.taken = slot->taken;
}

void hp_lanes_push(struct hp_lanes *l, const struct hp_delivery *delivery)
{
    pthread_mutex_lock(&l->lock);
    wait_until(l, HP_LANES_DEPTH - 1);
    pthread_mutex_unlock(&l->lock);
    fill(&l->slots[l->pushed % HP_LANES_DEPTH], l, delivery); /* nobody else uses that one */
    pthread_mutex_lock(&l->lock);
    l->pushed++;
    if (l->n_asleep)
        pthread_cond_broadcast(&l->filled);
    pthread_mutex_unlock(&l->lock);
}

void hp_lanes_settle(struct hp_lanes *l)
{
    pthread_mutex_lock(&l->lock);
    wait_until(l, 0);
    pthread_mutex_unlock(&l->lock);
}

/* --- Making and freeing ----------------------------------------------------------------------- */

/* The threads start with all signals blocked: the existing thread handles them. */
static void start(struct hp_lanes *l, size_t n)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (l->n_threads < n && pthread_create(&l->threads[l->n_threads], NULL, run_lane, l) == 0)
        l->n_threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

enum hp_err hp_lanes_new(struct hp_profiler *const *profilers, const bool *independent, size_t n,
                         unsigned threads, struct hp_lanes **lanes)
{
    struct hp_lanes *l = calloc(1, sizeof *l);
    if (!l)
        return hp_fail_nomem();
    for (size_t i = 0; i < n && l->n < MOST; i++)
        if (independent[i]) {
            l->profilers[l->n] = profilers[i];
            l->state_of[l->n++] = i;
        }
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->filled, NULL);
    pthread_cond_init(&l->freed, NULL);
    start(l, l->n < threads ? l->n : threads - 1);
    if (l->n_threads == 0) {
        hp_lanes_free(l);
        return hp_fail(HP_ERR_UNSUPPORTED, "profilers run in one thread");
    }
    *lanes = l;
    return HP_OK;
}

void hp_lanes_free(struct hp_lanes *lanes)
{
    if (!lanes)
        return;
    pthread_mutex_lock(&lanes->lock);
    lanes->over = true;
    pthread_cond_broadcast(&lanes->filled);
    pthread_mutex_unlock(&lanes->lock);
    for (size_t i = 0; i < lanes->n_threads; i++)
        pthread_join(lanes->threads[i], NULL);
    pthread_cond_destroy(&lanes->filled);
    pthread_cond_destroy(&lanes->freed);
    pthread_mutex_destroy(&lanes->lock);
    free(lanes);
}
