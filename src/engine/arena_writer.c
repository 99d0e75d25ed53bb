// SPDX-License-Identifier: MIT
/*
 * The engine's side of the arena. It runs inside the watched process: no allocation, no output, no
 * failure that reaches the program.
 */
#include "engine/arena.h"

#include "hotpath/stream.h"

#include <linux/futex.h>
#include <linux/prctl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* --- The reader ------------------------------------------------------------------------------- */

/* Whether the reader is alive. The kernel marks the word when the reader dies, for any reason, even
 * in another namespace where it cannot be seen from here. */
static bool reader_alive(struct hp_arena *arena)
{
    return !atomic_load(&arena->detached) && !(atomic_load(&arena->reader) & FUTEX_OWNER_DIED);
}

/*
 * A hint where to map the arena: well away from this code. The kernel would put it just below, and
 * the host's next mapping, the memory for its translated code, below that: more than 2 GiB away, so
 * that every call from there to here would have to be indirect.
 */
static void *away_from_code(void)
{
    const uintptr_t distance = (uintptr_t)64 << 30;
    uintptr_t here = (uintptr_t)&away_from_code & ~(uintptr_t)0xffffff;
    return sizeof(void *) == 8 && here > 2 * distance ? (void *)(here - distance) : NULL;
}

/* How much of the file to map; 0 when it is not an arena. */
static uint64_t mapped_size(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_size < (off_t)HP_ARENA_RECORD_INDEX)
        return 0;
    void *memory = mmap(NULL, HP_ARENA_GUARD, PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return 0;
    const struct hp_arena *arena = memory;
    bool ours = arena->magic == HP_ARENA_MAGIC && arena->version == HP_ARENA_VERSION &&
                arena->shape.file_size == (uint64_t)st.st_size;
    uint64_t size = ours ? arena->shape.size : 0;
    munmap(memory, HP_ARENA_GUARD);
    return size;
}

struct hp_arena *hp_arena_map(int fd)
{
    uint64_t size = mapped_size(fd);
    if (size == 0)
        return NULL;
    void *memory =
        mmap(away_from_code(), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

/* --- Waiting and waking ----------------------------------------------------------------------- */

static void wait_on(_Atomic uint32_t *word, uint32_t value, long milliseconds)
{
    struct timespec limit = {.tv_sec = milliseconds / 1000,
                             .tv_nsec = milliseconds % 1000 * 1000000};
    syscall(SYS_futex, word, FUTEX_WAIT, value, &limit, NULL, 0);
}

static void wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void ring_doorbell(struct hp_arena *arena)
{
    atomic_fetch_add(&arena->doorbell, 1);
    if (atomic_load(&arena->reader_waits))
        wake(&arena->doorbell);
}

/* A chunk is full, and `unread` of `chunks` are. To wake a reader that sleeps costs the program up
 * to 30 us: it is woken when half of the ring is full, and looks by itself from time to time. */
static void announce(struct hp_arena *arena, uint32_t unread, uint32_t chunks)
{
    if (unread >= chunks / 2)
        ring_doorbell(arena);
    else
        atomic_fetch_add(&arena->doorbell, 1);
}

uint64_t hp_writer_now(void)
{
    struct timespec now = {0};
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- Rings ------------------------------------------------------------------------------------ */

/* The words of unobserved threads go here: all write, none reads. A page-aligned guard page follows
 * it, as after every chunk. */
#define NOWHERE_WORDS 4096u
static _Alignas(HP_ARENA_GUARD) uint32_t nowhere[NOWHERE_WORDS + HP_ARENA_GUARD / 4];

_Static_assert(NOWHERE_WORDS * 4 % HP_ARENA_GUARD == 0, "a guard page begins inside a page");
_Static_assert(HP_ARENA_CHUNK_STRIDE % HP_ARENA_GUARD == 0, "a guard page begins inside a page");

static void go_unobserved(struct hp_writer *writer)
{
    writer->unobserved = true;
    writer->ring = NULL;
    writer->next = nowhere;
    writer->end = nowhere + NOWHERE_WORDS;
}

static struct hp_ring *claim_ring(struct hp_arena *arena, uint32_t process, uint32_t *index)
{
    for (uint32_t i = 0; i < arena->shape.rings; i++) {
        struct hp_ring *ring = &arena->rings[i];
        uint32_t expected = HP_RING_FREE;
        if (atomic_load_explicit(&ring->state, memory_order_relaxed) != HP_RING_FREE ||
            !atomic_compare_exchange_strong(&ring->state, &expected,
                                            HP_RING_CLAIMED | process << HP_RING_BITS))
            continue;
        uint32_t used = atomic_load(&arena->rings_used);
        while (used <= i && !atomic_compare_exchange_weak(&arena->rings_used, &used, i + 1))
            ;
        *index = i;
        return ring;
    }
    return NULL;
}

static uint32_t command_record;

void hp_writer_set_command(uint32_t record)
{
    command_record = record;
}

/* Only the thread itself can ask for its name. */
static void note_name(struct hp_ring *ring)
{
    if (ring->tid == (int32_t)syscall(SYS_gettid))
        syscall(SYS_prctl, PR_GET_NAME, ring->name);
}

void hp_writer_note_name(const struct hp_writer *writer)
{
    if (writer->ring)
        note_name(writer->ring);
}

static void open_ring(struct hp_arena *arena, struct hp_writer *writer)
{
    uint32_t index = 0;
    struct hp_ring *ring = claim_ring(arena, writer->process, &index);
    /* All are in use. Finished ones are being drained, so wait for one. */
    for (int tries = 0; !ring && tries < 100 && reader_alive(arena); tries++) {
        wait_on(&arena->rings_freed, atomic_load(&arena->rings_freed), 10);
        ring = claim_ring(arena, writer->process, &index);
    }
    if (!ring) {
        atomic_fetch_add(&arena->unobserved_threads, 1);
        go_unobserved(writer);
        return;
    }
    ring->pid = getpid();
    ring->tid = (int32_t)syscall(SYS_gettid);
    ring->parent = getppid();
    ring->process = writer->process;
    ring->command = command_record;
    note_name(ring);
    ring->serial = writer->serial ? writer->serial - 1 : atomic_fetch_add(&arena->next_thread, 1);
    atomic_store(&ring->end_reason, HP_END_KILLED);
    atomic_store(&ring->call, 0);
    atomic_store(&ring->began, hp_writer_now());
    atomic_store(&ring->ended, 0);
    atomic_store(&ring->published, 0);
    atomic_store(&ring->consumed, 0);
    atomic_store(&ring->writer_waits, 0);
    struct hp_address_ring *addresses = &arena->address_rings[index];
    atomic_store(&addresses->published, 0);
    atomic_store(&addresses->consumed, 0);
    atomic_store(&addresses->writer_waits, 0);
    atomic_store(&addresses->filled[0], HP_ADDRESSES_UNKNOWN);
    atomic_store(&ring->state, HP_RING_ACTIVE);
    ring_doorbell(arena); /* the reader must know the process before it can die unnoticed */
    writer->ring = ring;
    writer->index = index;
    writer->next = hp_arena_chunk(arena, index, 0);
    writer->end = writer->next + HP_ARENA_CHUNK_WORDS;
}

/* Waits until fewer than `limit` of the `published` chunks are unread; false when nothing reads
 * them any more. */
static bool wait_for_reader(struct hp_arena *arena, uint32_t published, uint32_t limit,
                            _Atomic uint32_t *consumed, _Atomic uint32_t *writer_waits)
{
    for (;;) {
        uint32_t seen = atomic_load(consumed);
        if (published - seen < limit)
            return true;
        uint64_t begun = hp_writer_now();
        atomic_store(writer_waits, 1);
        if (atomic_load(consumed) == seen)
            wait_on(consumed, seen, 200);
        atomic_store(writer_waits, 0);
        atomic_fetch_add_explicit(&arena->stats.waited_ns, hp_writer_now() - begun,
                                  memory_order_relaxed);
        if (!reader_alive(arena))
            return false;
    }
}

/* Publishes the full chunk and takes the next, once the reader has handed it back. */
static void next_chunk(struct hp_arena *arena, struct hp_writer *writer)
{
    struct hp_ring *ring = writer->ring;
    uint32_t published = atomic_load_explicit(&ring->published, memory_order_relaxed) + 1;
    atomic_store_explicit(&ring->published, published, memory_order_release);
    announce(arena, published - atomic_load_explicit(&ring->consumed, memory_order_relaxed),
             arena->shape.chunks);
    if (!wait_for_reader(arena, published, arena->shape.chunks, &ring->consumed,
                         &ring->writer_waits)) {
        go_unobserved(writer);
        return;
    }
    writer->next = hp_arena_chunk(arena, writer->index, published);
    writer->end = writer->next + HP_ARENA_CHUNK_WORDS;
}

void hp_writer_refill(struct hp_arena *arena, struct hp_writer *writer)
{
    if (writer->unobserved || atomic_load_explicit(&arena->detached, memory_order_relaxed))
        go_unobserved(writer);
    else if (!writer->ring)
        open_ring(arena, writer);
    else
        next_chunk(arena, writer);
}

void hp_writer_event(struct hp_arena *arena, struct hp_writer *writer, uint32_t word,
                     const uint32_t *payload, int n)
{
    while (writer->end - writer->next < n + 1)
        hp_writer_put(arena, writer, hp_word_event(HP_WORD_PAD, 0));
    /* The payload first: if the process dies in between, there is no partial event. */
    for (int i = 0; i < n; i++)
        writer->next[i + 1] = payload[i];
    atomic_signal_fence(memory_order_release);
    writer->next[0] = word;
    writer->next += n + 1;
}

void hp_writer_finish(struct hp_arena *arena, struct hp_writer *writer, uint32_t end_reason)
{
    if (writer->ring) {
        note_name(writer->ring);
        atomic_store(&writer->ring->ended, hp_writer_now());
        atomic_store(&writer->ring->end_reason, end_reason);
        atomic_store(&writer->ring->state, HP_RING_FINISHED);
        ring_doorbell(arena);
    }
    *writer = (struct hp_writer){0};
}

/* --- Addresses -------------------------------------------------------------------------------- */

void hp_addresses_finish(struct hp_arena *arena, uint32_t index, uint32_t n)
{
    struct hp_address_ring *ring = &arena->address_rings[index];
    uint32_t published = atomic_load_explicit(&ring->published, memory_order_relaxed);
    atomic_store(&ring->filled[published % HP_ARENA_CHUNKS], n);
}

bool hp_addresses_next(struct hp_arena *arena, uint32_t index, uint32_t n)
{
    struct hp_address_ring *ring = &arena->address_rings[index];
    uint32_t published = atomic_load_explicit(&ring->published, memory_order_relaxed) + 1;
    hp_addresses_finish(arena, index, n);
    atomic_store_explicit(&ring->published, published, memory_order_release);
    announce(arena, published - atomic_load_explicit(&ring->consumed, memory_order_relaxed),
             HP_ARENA_CHUNKS);
    if (atomic_load_explicit(&arena->detached, memory_order_relaxed) ||
        !wait_for_reader(arena, published, HP_ARENA_CHUNKS, &ring->consumed, &ring->writer_waits))
        return false;
    atomic_store(&ring->filled[published % HP_ARENA_CHUNKS], HP_ADDRESSES_UNKNOWN);
    return true;
}

/* --- Forks ------------------------------------------------------------------------------------ */

uint32_t hp_writer_before_fork(struct hp_arena *arena)
{
    return atomic_fetch_add(&arena->next_thread, 1);
}

void hp_writer_after_fork(struct hp_writer *writer, uint32_t serial, bool observe)
{
    *writer = (struct hp_writer){.serial = serial + 1};
    if (!observe)
        go_unobserved(writer);
}

/* --- The code map ----------------------------------------------------------------------------- */

/* Reserves room in the store for a header and a text; 0 when it is full. */
static uint32_t reserve(struct hp_arena *arena, size_t size)
{
    uint64_t rounded = (size + 7) & ~(uint64_t)7;
    uint64_t at = atomic_fetch_add(&arena->store_used, rounded);
    if (at + rounded > arena->shape.store)
        return 0;
    return (uint32_t)(at / 8 + 1);
}

static uint64_t mix(uint64_t hash, const void *data, size_t size)
{
    const char *at = data;
    for (uint64_t word; size > 0; at += sizeof word) {
        size_t n = size < sizeof word ? size : sizeof word;
        word = 0;
        memcpy(&word, at, n);
        size -= n;
        hash = (hash ^ word ^ n) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

/* An entry of the store: a header and its data. */
struct entry {
    const void *header, *data;
    size_t header_size, size;
    bool ended; /* a 0 follows */
};

/* Whether the store has this entry under this id. */
static bool is_stored(struct hp_arena *arena, const _Atomic uint32_t *index, uint32_t limit,
                      uint32_t id, const struct entry *e)
{
    uint32_t position = id && id < limit ? atomic_load(&index[id]) : 0;
    uint64_t end = (uint64_t)(position - 1) * 8 + e->header_size + e->size;
    if (position == 0 || end > arena->shape.store)
        return false;
    const char *place = hp_arena_store(arena, position);
    return memcmp(place, e->header, e->header_size) == 0 &&
           memcmp(place + e->header_size, e->data, e->size) == 0;
}

/*
 * Each page of the table serves a few pages of code, so that a process touches few. An entry has
 * PROBES places in it: ids of segments and records, with some bits of the hash above them. An entry
 * that finds none free replaces another.
 */
#define CODE_BITS 12
#define PAGE      1024u
#define PROBES    8u
#define ID_BITS   26
_Static_assert(HP_ARENA_SEGMENTS <= 1u << ID_BITS && HP_ARENA_RECORDS <= 1u << ID_BITS, "");

/* The id of the entry, 0: unknown. `*place`: where to record it, NULL: nowhere. */
static uint32_t find_known(struct hp_arena *arena, const _Atomic uint32_t *index, uint32_t limit,
                           uint64_t address, const struct entry *e, _Atomic uint32_t **place,
                           uint32_t *tag)
{
    uint64_t hash = mix(mix(0, e->header, e->header_size), e->data, e->size);
    uint64_t code = address >> CODE_BITS;
    *place = NULL;
    *tag = (uint32_t)(hash >> 32) & ~((1u << ID_BITS) - 1);
    if (arena->shape.known < PAGE)
        return 0;
    _Atomic uint32_t *page =
        (_Atomic uint32_t *)(void *)((char *)arena + arena->shape.known_data) +
        (mix(0, &code, sizeof code) >> 8 & (arena->shape.known / PAGE - 1)) * PAGE;
    for (uint32_t i = 0; i < PROBES; i++) {
        _Atomic uint32_t *at = &page[(hash + i) % PAGE];
        uint32_t known = atomic_load(at), id = known & ((1u << ID_BITS) - 1);
        if (known - id == *tag && is_stored(arena, index, limit, id, e))
            return id;
        if (known == 0 || i == (hash >> 16) % PROBES)
            *place = at;
        if (known == 0)
            break;
    }
    return 0;
}

static uint32_t add_entry(struct hp_arena *arena, _Atomic uint32_t *index, uint32_t limit,
                          _Atomic uint32_t *next, uint64_t address, const struct entry *e)
{
    uint32_t tag;
    _Atomic uint32_t *place;
    uint32_t id = find_known(arena, index, limit, address, e, &place, &tag);
    if (id)
        return id;
    uint32_t position = reserve(arena, e->header_size + e->size + e->ended);
    id = position ? atomic_fetch_add(next, 1) + 1 : 0;
    if (id == 0 || id >= limit)
        return 0;
    char *to = hp_arena_store(arena, position);
    memcpy(to, e->header, e->header_size);
    memcpy(to + e->header_size, e->data, e->size);
    if (e->ended)
        to[e->header_size + e->size] = 0;
    atomic_store_explicit(&index[id], position, memory_order_release);
    if (place)
        atomic_store(place, tag | id);
    return id;
}

uint32_t hp_arena_add_segment(struct hp_arena *arena, const struct hp_arena_segment *segment,
                              const void *bytes)
{
    const struct entry e = {segment, bytes, sizeof *segment, segment->size, true};
    return add_entry(arena, hp_arena_segment_index(arena), arena->shape.segments,
                     &arena->next_segment, segment->start, &e);
}

void hp_arena_end_trace(struct hp_arena *arena, uint32_t id)
{
    struct hp_arena_segment *segment =
        hp_arena_store(arena, atomic_load(&hp_arena_segment_index(arena)[id]));
    ((char *)(segment + 1))[segment->size] = 1;
}

uint32_t hp_arena_add_record(struct hp_arena *arena, const struct hp_arena_record *record,
                             const char *text)
{
    const struct entry e = {record, text, sizeof *record, record->length, true};
    return add_entry(arena, hp_arena_record_index(arena), arena->shape.records, &arena->next_record,
                     record->base, &e);
}

/* --- Paths ------------------------------------------------------------------------------------ */

/* What continues a few hundred prefixes shares a page of the table. */
static uint64_t page_of(uint32_t prefix)
{
    return (UINT64_C(1) << 40 | prefix >> 8) << CODE_BITS;
}

uint32_t hp_arena_add_prefix(struct hp_arena *arena, const struct hp_arena_prefix *prefix,
                             uint64_t start)
{
    const struct entry e = {prefix, "", sizeof *prefix, 0, false};
    return add_entry(arena, hp_arena_index(arena, arena->shape.prefix_index), arena->shape.prefixes,
                     &arena->next_prefix, prefix->before ? page_of(prefix->before) : start, &e);
}

uint32_t hp_arena_add_path(struct hp_arena *arena, const struct hp_arena_path *path)
{
    const struct entry e = {path, "", sizeof *path, 0, false};
    return add_entry(arena, hp_arena_index(arena, arena->shape.path_index), arena->shape.counted,
                     &arena->next_path, page_of(path->prefix), &e);
}

/* --- Functions -------------------------------------------------------------------------------- */

uint64_t hp_arena_function(struct hp_arena *arena, uint32_t module, uint64_t base, uint64_t address)
{
    _Atomic uint32_t *place = hp_arena_index(arena, arena->shape.function_index) + module;
    uint32_t position = module < arena->shape.records ? atomic_load(place) : HP_FUNCTIONS_NOWHERE;
    if (position == 0 && atomic_compare_exchange_strong(place, &position, HP_FUNCTIONS_WANTED)) {
        atomic_fetch_add(&arena->functions_wanted, 1);
        ring_doorbell(arena);
    }
    if (position == 0 || position >= HP_FUNCTIONS_NOWHERE)
        return HP_FUNCTION_UNKNOWN;
    const struct hp_arena_functions *functions = hp_arena_store(arena, position);
    uint64_t offset = address - base, low = 0, high = functions->n;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (functions->ranges[middle].high <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == functions->n || offset < functions->ranges[low].low)
        return HP_FUNCTION_NONE;
    return base + functions->ranges[low].function;
}

/* --- Flow ------------------------------------------------------------------------------------- */

/* The root of the node's tree. Parents have smaller numbers, roots 0. */
static uint32_t find_root(_Atomic uint32_t *parents, uint32_t node)
{
    for (;;) {
        uint32_t parent = atomic_load_explicit(&parents[node], memory_order_relaxed);
        if (parent == 0 || parent >= node) /* the program can write there */
            return node;
        uint32_t next = atomic_load_explicit(&parents[parent], memory_order_relaxed);
        if (next && next < parent)
            atomic_compare_exchange_weak(&parents[node], &parent, next);
        node = parent;
    }
}

/* Joins the trees of two nodes; false: they are one already. */
static bool join_nodes(struct hp_arena *arena, uint32_t a, uint32_t b)
{
    _Atomic uint32_t *parents = hp_arena_index(arena, arena->shape.flow_parents);
    for (;;) {
        uint32_t none = 0;
        a = find_root(parents, a);
        b = find_root(parents, b);
        if (a == b)
            return false;
        uint32_t low = a < b ? a : b;
        if (atomic_compare_exchange_strong(&parents[a < b ? b : a], &none, low))
            return true;
    }
}

enum { FLOW_UNDECIDED, FLOW_COUNTED, FLOW_DERIVED };

static bool add_derived(struct hp_arena *arena, const struct hp_derived *edge)
{
    struct hp_derived *edges =
        (struct hp_derived *)(void *)((char *)arena + arena->shape.derived_data);
    uint32_t i = atomic_fetch_add(&arena->n_derived, 1);
    if (i >= arena->shape.derived)
        return false;
    edges[i].direction = edge->direction;
    edges[i].from = edge->from;
    edges[i].to = edge->to;
    __atomic_store_n(&edges[i].segment, edge->segment, __ATOMIC_RELEASE);
    return true;
}

static uint8_t flow_state(struct hp_arena *arena, uint32_t id, bool taken)
{
    const _Atomic uint8_t *state = (_Atomic uint8_t *)arena + arena->shape.flow_states + id;
    return atomic_load(state) >> (taken ? 2 : 0) & 3;
}

/* Another process may decide at the same time. Returns what was decided first. */
static uint8_t decide(struct hp_arena *arena, uint32_t id, bool taken, uint8_t mine)
{
    _Atomic uint8_t *state = (_Atomic uint8_t *)arena + arena->shape.flow_states + id;
    const unsigned shift = taken ? 2 : 0;
    uint8_t old = atomic_load(state);
    while (!(old >> shift & 3) &&
           !atomic_compare_exchange_weak(state, &old, old | (uint8_t)(mine << shift)))
        ;
    uint8_t first = old >> shift & 3;
    return first ? first : mine;
}

/* Of two processes that decide at once only one can join the nodes. If the other one was first to
 * say that it counts, it counts for nothing. */
bool hp_arena_derive(struct hp_arena *arena, uint32_t id, bool taken, uint64_t from, uint64_t to)
{
    struct hp_derived edge = {id, taken, hp_flow_node(from), hp_flow_node(to)};
    uint8_t known = flow_state(arena, id, taken);
    if (known)
        return known == FLOW_DERIVED;
    bool derived = join_nodes(arena, edge.from, edge.to) && add_derived(arena, &edge);
    return decide(arena, id, taken, derived ? FLOW_DERIVED : FLOW_COUNTED) == FLOW_DERIVED;
}

bool hp_arena_count(struct hp_arena *arena, uint32_t id, bool taken)
{
    return decide(arena, id, taken, FLOW_COUNTED) == FLOW_DERIVED;
}
