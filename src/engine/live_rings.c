// SPDX-License-Identifier: MIT
/* The rings, from their first word to the last. */
#include "engine/live_impl.h"

#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_GAP       4096 /* in thread numbers: larger is not believed */
#define CHUNKS_A_TURN 4    /* read from one ring before turning to the next */
#define CLAIM_LOOKS   50   /* at a claimed ring before its writer is considered dead */

void hp_live_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* --- Beginning -------------------------------------------------------------------------------- */

/* The id of a ring's thread: its serial number, or a free one if that makes no sense. */
static uint32_t thread_id(struct hp_live *live, uint32_t serial)
{
    if (serial >= live->next_id + MAX_GAP || hp_map64_get(&live->ids, serial) != HP_MAP64_NONE)
        serial = live->next_id;
    while (hp_map64_get(&live->ids, serial) != HP_MAP64_NONE)
        serial++;
    if (serial >= live->next_id)
        live->next_id = serial + 1;
    if (live->failure == HP_OK)
        live->failure = hp_map64_put(&live->ids, serial, 1);
    return serial;
}

/* The process of a ring. The pid in the ring may be from another namespace. */
static pid_t ring_process(const struct hp_live *live, const struct hp_ring *ring)
{
    pid_t marked = hp_live_marked_process(live, ring->process);
    return marked ? marked : ring->pid;
}

static void open_reading(struct hp_live *live, struct hp_consumer *consumer, uint32_t index)
{
    const struct hp_ring *ring = &live->arena->rings[index];
    pid_t pid = ring_process(live, ring);
    struct hp_thread thread = {.id = thread_id(live, ring->serial),
                               .pid = pid,
                               .tid = ring->tid,
                               .parent = pid == live->first_pid ? 0 : ring->parent};
    live->n_begun++;
    live->readings[index] = (struct hp_live_reading){.thread = thread.id, .pid = pid};
    if (live->failure == HP_OK)
        live->failure = hp_live_know_process(live, pid);
    if (live->failure == HP_OK)
        live->failure = consumer->thread(consumer, &thread);
}

/* --- Reading ---------------------------------------------------------------------------------- */

static void deliver(struct hp_live *live, struct hp_consumer *consumer, uint32_t thread, size_t n)
{
    if (live->failure == HP_OK && n)
        live->failure = consumer->words(consumer, thread, live->words, n);
}

/* Copies a chunk out of the ring, for deliver(): what is checked must not change afterwards. */
static void take_chunk(struct hp_live *live, uint32_t index, uint32_t chunk)
{
    uint32_t *words = hp_shape_chunk(&live->shape, live->arena, index, chunk);
    memcpy(live->words, words, HP_ARENA_CHUNK_WORDS * sizeof *words);
    memset(words, 0, HP_ARENA_CHUNK_WORDS * sizeof *words);
}

/* How many chunks there are to read; 0 when the process wrote a number that is impossible. */
static uint32_t chunks_ready(struct hp_live *live, uint32_t index)
{
    uint32_t ready =
        atomic_load(&live->arena->rings[index].published) - live->readings[index].chunk;
    return ready <= live->shape.chunks ? ready : 0;
}

/* Reads `n` published chunks. */
static void read_chunks(struct hp_live *live, struct hp_consumer *consumer, uint32_t index,
                        uint32_t n)
{
    struct hp_ring *ring = &live->arena->rings[index];
    struct hp_live_reading *reading = &live->readings[index];
    while (n-- > 0) {
        take_chunk(live, index, reading->chunk++);
        atomic_store(&ring->consumed, reading->chunk);
        if (atomic_load(&ring->writer_waits))
            hp_live_wake(&ring->consumed);
        deliver(live, consumer, reading->thread, HP_ARENA_CHUNK_WORDS);
        if (consumer->tick) /* a scan of many rings takes long */
            consumer->tick(consumer);
    }
}

/* --- Ending ----------------------------------------------------------------------------------- */

/* How many words a partly filled chunk holds: it ends at the first place where a word should start
 * and is 0. */
static size_t chunk_length(const uint32_t *words)
{
    size_t n = 0;
    while (n < HP_ARENA_CHUNK_WORDS && words[n]) {
        int payload = words[n] & HP_WORD_EVENT ? hp_word_payload(words[n]) : 0;
        n += 1 + (size_t)(payload > 0 ? payload : 0);
    }
    return n < HP_ARENA_CHUNK_WORDS ? n : HP_ARENA_CHUNK_WORDS;
}

/* When the thread ended; where it could not say so, when that was noticed. */
static uint64_t end_of(const struct hp_ring *ring)
{
    uint64_t ended = atomic_load(&ring->ended);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t noticed = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return ended && ended < noticed ? ended : noticed;
}

/* The system call that the thread did not return from. */
static void pass_call(struct hp_live *live, struct hp_consumer *consumer, uint32_t index)
{
    const struct hp_ring *ring = &live->arena->rings[index];
    uint64_t call = atomic_load(&ring->call), since = atomic_load(&ring->call_since);
    uint64_t ended = end_of(ring), ns = since && ended > since ? ended - since : 0;
    if (!(call & HP_RING_IN_CALL))
        return;
    uint32_t words[] = {hp_call_word(since ? HP_CALL_CUT_OFF : HP_CALL_CUT_OFF_UNTIMED, 0),
                        (uint32_t)call, (uint32_t)ns, (uint32_t)(ns >> 32), 0};
    memcpy(live->words, words, sizeof words);
    deliver(live, consumer, live->readings[index].thread, sizeof words / sizeof *words);
}

static void pass_names(struct hp_live *live, struct hp_consumer *consumer, uint32_t index)
{
    const struct hp_ring *ring = &live->arena->rings[index];
    char name[HP_THREAD_NAME + 1] = "";
    memcpy(name, ring->name, HP_THREAD_NAME);
    const char *command = ring->command ? hp_live_string(live, ring->command) : NULL;
    uint64_t began = atomic_load(&ring->began), ended = end_of(ring);
    struct hp_thread_names names = {.pid = ring->pid,
                                    .name = name,
                                    .command = command ? command : "",
                                    .ns = ended > began ? ended - began : 0};
    if (live->failure == HP_OK && consumer->named)
        live->failure = consumer->named(consumer, live->readings[index].thread, &names);
}

/* The writer is done or dead: reads the rest and frees the ring. */
static void close_reading(struct hp_live *live, struct hp_consumer *consumer, uint32_t index)
{
    struct hp_ring *ring = &live->arena->rings[index];
    struct hp_live_reading *reading = &live->readings[index];
    read_chunks(live, consumer, index, chunks_ready(live, index));
    take_chunk(live, index, reading->chunk);
    deliver(live, consumer, reading->thread, chunk_length(live->words));
    if (live->arena->calls)
        pass_call(live, consumer, index);
    if (live->mode == HP_RECORD_COUNT || live->mode == HP_RECORD_PATHS)
        hp_live_take_counters(live, consumer, index);
    if (live->mode == HP_RECORD_MEMORY)
        hp_live_finish_addresses(live, consumer, index);
    pass_names(live, consumer, index);
    uint32_t reason = atomic_load(&ring->end_reason);
    if (reason > HP_END_SIGNAL)
        reason = HP_END_KILLED;
    if (live->failure == HP_OK)
        live->failure = consumer->end(consumer, reading->thread, (enum hp_end_reason)reason);
    reading->thread = HP_NO_THREAD;
    atomic_store(&ring->state, HP_RING_FREE);
    atomic_fetch_add(&live->arena->rings_freed, 1);
    hp_live_wake(&live->arena->rings_freed);
}

/* --- All of them ------------------------------------------------------------------------------ */

/* A process that executes another program goes on with another ring: what it has finished before
 * comes first. */
static void close_earlier(struct hp_live *live, struct hp_consumer *consumer, uint32_t index)
{
    uint32_t used = atomic_load(&live->arena->rings_used);
    const struct hp_ring *later = &live->arena->rings[index];
    for (uint32_t i = 0; i < used && i < live->shape.rings; i++) {
        const struct hp_ring *ring = &live->arena->rings[i];
        if (atomic_load(&ring->state) != HP_RING_FINISHED || ring->pid != later->pid ||
            ring->serial >= later->serial)
            continue;
        if (live->readings[i].thread == HP_NO_THREAD)
            open_reading(live, consumer, i);
        close_reading(live, consumer, i);
    }
}

bool hp_live_read_rings(struct hp_live *live, struct hp_consumer *consumer)
{
    bool found = false;
    uint32_t used = atomic_load(&live->arena->rings_used);
    for (uint32_t i = 0; i < used && i < live->shape.rings; i++) {
        uint32_t state = atomic_load(&live->arena->rings[i].state);
        if (state != HP_RING_ACTIVE && state != HP_RING_FINISHED)
            continue;
        if (live->readings[i].thread == HP_NO_THREAD) {
            close_earlier(live, consumer, i);
            open_reading(live, consumer, i);
        }
        uint32_t ready = chunks_ready(live, i);
        bool some = live->mode == HP_RECORD_MEMORY && hp_live_read_addresses(live, consumer, i);
        if (state == HP_RING_FINISHED)
            close_reading(live, consumer, i);
        else
            read_chunks(live, consumer, i, ready < CHUNKS_A_TURN ? ready : CHUNKS_A_TURN);
        found = found || ready || some || state == HP_RING_FINISHED;
    }
    return found;
}

void hp_live_close_rings(struct hp_live *live, struct hp_consumer *consumer, bool all)
{
    for (uint32_t i = 0; i < HP_ARENA_RINGS; i++) {
        if (live->readings[i].thread == HP_NO_THREAD)
            continue;
        struct hp_ring *ring = &live->arena->rings[i];
        bool dead = hp_live_is_dead(live, live->readings[i].pid);
        if (!dead && all)
            atomic_store(&ring->end_reason, HP_END_DETACHED);
        if (dead || all)
            close_reading(live, consumer, i);
    }
}

void hp_live_free_claimed(struct hp_live *live)
{
    uint32_t used = atomic_load(&live->arena->rings_used);
    for (uint32_t i = 0; i < used && i < live->shape.rings; i++) {
        struct hp_live_reading *reading = &live->readings[i];
        uint32_t state = atomic_load(&live->arena->rings[i].state), process = state >> HP_RING_BITS;
        if (!process || state != (HP_RING_CLAIMED | process << HP_RING_BITS) ||
            hp_live_marked_process(live, process)) {
            reading->looks = 0;
            continue;
        }
        reading->looks = state == reading->claimed ? reading->looks + 1 : 0;
        reading->claimed = state;
        if (reading->looks >= CLAIM_LOOKS)
            atomic_compare_exchange_strong(&live->arena->rings[i].state, &state, HP_RING_FREE);
    }
}
