// SPDX-License-Identifier: MIT
/* What a thread writes besides its words: addresses or counters. */
#include "engine/live_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* --- Addresses -------------------------------------------------------------------------------- */

static bool map_addresses(struct hp_live *live, uint32_t index)
{
    off_t offset = (off_t)(live->shape.address_data + index * HP_ARENA_ADDRESS_BYTES);
    if (live->windows[index])
        return true;
    void *memory =
        mmap(NULL, HP_ARENA_ADDRESS_BYTES, PROT_READ, MAP_SHARED | MAP_NORESERVE, live->fd, offset);
    if (memory != MAP_FAILED)
        live->windows[index] = memory;
    else if (live->failure == HP_OK)
        live->failure = hp_fail(HP_ERR_IO, "cannot map the addresses: %s", strerror(errno));
    return memory != MAP_FAILED;
}

/* Delivers `n` addresses of a chunk. `n` comes from the watched process: it may be anything. */
static void deliver_addresses(struct hp_live *live, struct hp_consumer *consumer, uint32_t index,
                              uint32_t chunk, uint32_t n)
{
    if (n > HP_ARENA_ADDRESSES)
        n = HP_ARENA_ADDRESSES;
    if (live->failure != HP_OK || n == 0 || !consumer->addresses || !map_addresses(live, index))
        return;
    const char *place = live->windows[index] + (size_t)chunk * HP_ARENA_ADDRESS_STRIDE;
    memcpy(live->addresses, place, n * sizeof *live->addresses);
    live->failure = consumer->addresses(consumer, live->readings[index].thread, live->addresses, n);
}

bool hp_live_read_addresses(struct hp_live *live, struct hp_consumer *consumer, uint32_t index)
{
    struct hp_address_ring *ring = &live->arena->address_rings[index];
    struct hp_live_reading *reading = &live->readings[index];
    uint32_t ready = atomic_load(&ring->published) - reading->addresses;
    if (ready == 0 || ready > HP_ARENA_CHUNKS)
        return false;
    while (ready-- > 0) {
        uint32_t chunk = reading->addresses % HP_ARENA_CHUNKS;
        deliver_addresses(live, consumer, index, chunk, atomic_load(&ring->filled[chunk]));
        reading->addresses++;
        atomic_store(&ring->consumed, reading->addresses);
        if (atomic_load(&ring->writer_waits))
            hp_live_wake(&ring->consumed);
    }
    return true;
}

void hp_live_finish_addresses(struct hp_live *live, struct hp_consumer *consumer, uint32_t index)
{
    struct hp_address_ring *ring = &live->arena->address_rings[index];
    hp_live_read_addresses(live, consumer, index);
    uint32_t chunk = live->readings[index].addresses % HP_ARENA_CHUNKS;
    deliver_addresses(live, consumer, index, chunk, atomic_load(&ring->filled[chunk]));
}

/* --- Counters --------------------------------------------------------------------------------- */

#define COUNTERS_A_READ 2048
#define AHEAD_MS        250 /* between two rounds through the counters of running threads */

/* The counters of a ring from `from` to `to` of the file, as far as one read goes: those that are
 * not 0. Returns where they end. */
static off_t get_counters(const struct hp_live *live, uint32_t index, off_t from, off_t to,
                          struct hp_count counts[COUNTERS_A_READ], size_t *n)
{
    uint64_t counters[COUNTERS_A_READ];
    uint64_t base = live->shape.counter_data + index * live->shape.counter_bytes;
    const uint32_t sides = live->mode == HP_RECORD_PATHS ? 1 : 2; /* of an id */
    from -= (off_t)(((uint64_t)from - base) % sizeof *counters);
    size_t rest = (size_t)(to - from);
    ssize_t got = pread(live->fd, counters, rest < sizeof counters ? rest : sizeof counters, from);
    size_t read = got > 0 ? (size_t)got / sizeof *counters : 0;
    uint64_t first = ((uint64_t)from - base) / sizeof *counters;
    *n = 0;
    for (size_t i = 0; i < read && (first + i) / sides < live->shape.counted; i++)
        if (counters[i])
            counts[(*n)++] = (struct hp_count){.segment = (uint32_t)((first + i) / sides),
                                               .direction = (uint32_t)((first + i) % sides),
                                               .count = counters[i]};
    return read ? from + (off_t)(read * sizeof *counters) : to;
}

/* Delivers the counters of a ring in [from, to) of the file. */
static void read_counters(struct hp_live *live, struct hp_consumer *consumer, uint32_t index,
                          off_t from, off_t to)
{
    struct hp_count counts[COUNTERS_A_READ];
    while (from < to && live->failure == HP_OK) {
        size_t n;
        from = get_counters(live, index, from, to, counts, &n);
        if (n)
            live->failure = consumer->counts(consumer, live->readings[index].thread, counts, n);
    }
}

/* Delivers the ways out that no thread counts. */
static void read_derived(struct hp_live *live, struct hp_consumer *consumer, uint32_t index)
{
    const struct hp_derived *stored =
        (const struct hp_derived *)(void *)((char *)live->arena + live->shape.derived_data);
    uint32_t n = atomic_load(&live->arena->n_derived);
    if (n > live->shape.derived)
        n = live->shape.derived;
    for (uint32_t from = 0; from < n && live->failure == HP_OK; from += COUNTERS_A_READ) {
        struct hp_derived edges[COUNTERS_A_READ]; /* others can write to the arena */
        uint32_t some = n - from < COUNTERS_A_READ ? n - from : COUNTERS_A_READ;
        memcpy(edges, stored + from, some * sizeof *edges);
        live->failure = consumer->derived(consumer, live->readings[index].thread, edges, some);
    }
}

_Static_assert(sizeof(struct hp_counter) == 2 * sizeof(uint64_t), "read as two numbers");

void hp_live_take_counters(struct hp_live *live, struct hp_consumer *consumer, uint32_t index)
{
    off_t base = (off_t)(live->shape.counter_data + index * live->shape.counter_bytes);
    off_t end = base + (off_t)live->shape.counter_bytes, at = base;
    while (consumer->counts && at < end) {
        off_t data = lseek(live->fd, at, SEEK_DATA);
        off_t hole = data < 0 ? -1 : lseek(live->fd, data, SEEK_HOLE);
        if (data < 0 || data >= end || hole < 0)
            break;
        at = hole < end ? hole : end;
        read_counters(live, consumer, index, data, at);
    }
    if (consumer->derived && live->mode == HP_RECORD_COUNT)
        read_derived(live, consumer, index);
    if (fallocate(live->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, base,
                  (off_t)live->shape.counter_bytes) != 0 &&
        live->failure == HP_OK)
        live->failure = hp_fail(HP_ERR_IO, "cannot clear the counters: %s", strerror(errno));
}

/* --- Ahead ------------------------------------------------------------------------------------ */

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

bool hp_live_load_ahead(struct hp_live *live)
{
    struct hp_live_ahead *ahead = &live->ahead;
    if (live->mode != HP_RECORD_COUNT || !live->code || now_ms() < ahead->not_before)
        return false;
    while (ahead->ring < HP_ARENA_RINGS && live->readings[ahead->ring].thread == HP_NO_THREAD)
        *ahead = (struct hp_live_ahead){.ring = ahead->ring + 1};
    if (ahead->ring == HP_ARENA_RINGS) {
        *ahead = (struct hp_live_ahead){.not_before = now_ms() + AHEAD_MS};
        return false;
    }
    off_t base = (off_t)(live->shape.counter_data + ahead->ring * live->shape.counter_bytes);
    off_t end = base + (off_t)live->shape.counter_bytes;
    off_t data = lseek(live->fd, base + ahead->at, SEEK_DATA);
    if (data < 0 || data >= end) {
        *ahead = (struct hp_live_ahead){.ring = ahead->ring + 1};
        return true;
    }
    struct hp_count counts[COUNTERS_A_READ];
    size_t n;
    ahead->at = get_counters(live, ahead->ring, data, end, counts, &n) - base;
    for (size_t i = 0; i < n; i++)
        hp_live_load_code(live, counts[i].segment);
    return true;
}
