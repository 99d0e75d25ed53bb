// SPDX-License-Identifier: MIT
#include "engine/live.h"

#include "base/debug.h"
#include "base/grow.h"
#include "base/map64.h"
#include "base/memory_file.h"
#include "engine/arena.h"
#include "engine/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_GAP       4096       /* in the numbers of threads: more is not believed */
#define MAX_NEW       (1u << 22) /* above all known segments, likewise: there is room below */
#define NO_THREAD     UINT32_MAX
#define IDLE_MS       20     /* how often to look after processes while nothing arrives */
#define CHUNKS_A_TURN 4      /* read from one ring before looking at the others */
#define ARENA_PART    4      /* of a limited address space the arena takes this part */
#define MIN_RINGS     4      /* an arena with fewer is of no use */
#define CLAIM_LOOKS   50     /* at a ring that is claimed, before its writer can be thought dead */
#define TEXT_MAX      65536u /* of a record: longer names there are none */

struct process {
    pid_t pid;
    int fd; /* pidfd; -1 when it was gone already */
    bool dead;
};

/* The reader's view of a ring. */
struct reading {
    uint32_t thread;    /* NO_THREAD: the ring is not in use */
    pid_t pid;          /* whose it is */
    uint32_t chunk;     /* next to read */
    uint32_t addresses; /* chunk of addresses, likewise */
    uint32_t claimed;   /* the state of a ring that is not in use yet, and */
    uint32_t looks;     /* how often it was seen in it */
};

struct hp_live {
    struct hp_arena *arena;
    struct hp_arena_shape
        shape; /* this and the mode: those in the arena can be written by anybody */
    enum hp_record_mode mode;
    int fd;
    struct hp_segment_source source;
    struct hp_code *code;
    uint32_t *modules; /* by record id: module id + 1; 0 not loaded yet */
    struct process *processes;
    size_t n_processes, cap_processes;
    struct reading readings[HP_ARENA_RINGS];
    char *windows[HP_ARENA_RINGS]; /* their rings of addresses, NULL: not mapped */
    char *text;                    /* of the record asked for last */
    size_t cap_text;
    uint8_t code_bytes[HP_BLOCK_MAX_INSNS * 16]; /* of the segment that is added */
    uint32_t *words;                             /* what is delivered: a chunk, or */
    uint64_t *addresses; /* of these. The originals can change at any time */
    struct hp_map64 ids; /* of threads, that were given */
    uint32_t next_id;    /* above all of them */
    pid_t first_pid;
    enum hp_err failure; /* of the consumer */
    bool detached;
    struct robust_list_head robust, *robust_before;
    struct robust_list held; /* the one element of `robust` */
};

/* --- Making and freeing ----------------------------------------------------------------------- */

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The largest that is not larger; 0 of 0. */
static uint32_t power_of_two(uint64_t n)
{
    return n ? (uint32_t)(UINT64_C(1) << (63 - __builtin_clzll(n))) : 0;
}

/* A shape of no more than `room` bytes, or the largest there is. */
static struct hp_arena_shape shape_for(uint64_t room, enum hp_record_mode mode)
{
    struct hp_arena_shape shape = {
        .rings = (uint32_t)smaller(room / 4 / HP_ARENA_RING_BYTES, HP_ARENA_RINGS),
        .segments = (uint32_t)smaller(room / 8 / 4, HP_ARENA_SEGMENTS) & ~1023u,
        .counted =
            (uint32_t)smaller(room / 16 / sizeof(struct hp_counter), HP_ARENA_COUNTED) & ~1023u,
        .store = smaller(room / 2, HP_ARENA_STORE) & ~(uint64_t)(HP_ARENA_GUARD - 1),
    };
    shape.records = (uint32_t)smaller(room / 64 / 4, HP_ARENA_RECORDS) & ~1023u;
    shape.known = power_of_two(smaller(room / 32 / 4, HP_ARENA_KNOWN));
    shape.segment_index = HP_ARENA_RECORD_INDEX + shape.records * 4ull;
    shape.known_data = shape.segment_index + shape.segments * 4ull;
    shape.ring_data = shape.known_data + shape.known * 4ull;
    shape.store_data = shape.ring_data + shape.rings * HP_ARENA_RING_BYTES;
    shape.size = shape.store_data + shape.store;
    shape.counter_data = shape.address_data = shape.file_size = shape.size;
    shape.counter_bytes = shape.counted * sizeof(struct hp_counter);
    if (mode == HP_RECORD_COUNT)
        shape.file_size += shape.rings * shape.counter_bytes;
    if (mode == HP_RECORD_MEMORY)
        shape.file_size += shape.rings * HP_ARENA_ADDRESS_BYTES;
    return shape;
}

static uint64_t limit_on(__rlimit_resource_t resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur
                                                                               : UINT64_MAX;
}

/* The shape that the limits of this process allow; they are those of the watched ones too. */
static enum hp_err choose_shape(enum hp_record_mode mode, struct hp_arena_shape *shape)
{
    uint64_t space = limit_on(RLIMIT_AS), file = limit_on(RLIMIT_FSIZE);
    uint64_t room = smaller(space / ARENA_PART, file);
    *shape = shape_for(room, mode);
    for (; shape->rings >= MIN_RINGS && shape->file_size > file; room /= 2)
        *shape = shape_for(room, mode);
    if (shape->rings >= MIN_RINGS)
        return HP_OK;
    return hp_fail(HP_ERR_IO, "no room for the shared memory: raise the limit on %s",
                   space / ARENA_PART < file ? "address space (ulimit -v)"
                                             : "the size of files (ulimit -f)");
}

/* From here on the kernel marks arena->reader when this thread dies. The list is not the C
 * library's, whose elements would lie in the arena, where the watched process can write. */
static void hold_word(struct hp_live *live)
{
    size_t size;
    if (syscall(SYS_get_robust_list, 0, &live->robust_before, &size) != 0)
        live->robust_before = NULL;
    live->held.next = &live->robust.list;
    live->robust.list.next = &live->held;
    live->robust.futex_offset = (char *)&live->arena->reader - (char *)&live->held;
    atomic_store(&live->arena->reader, (uint32_t)syscall(SYS_gettid));
    syscall(SYS_set_robust_list, &live->robust, sizeof live->robust);
}

static void drop_word(struct hp_live *live)
{
    if (live->held.next)
        syscall(SYS_set_robust_list, live->robust_before, sizeof live->robust);
}

enum hp_err hp_live_new(const struct hp_live_options *options, struct hp_live **live)
{
    struct hp_live *l = calloc(1, sizeof *l);
    void *memory = MAP_FAILED;
    if (!l)
        return hp_fail_nomem();
    l->fd = hp_memory_file("hotpath");
    enum hp_err err = choose_shape(options->mode, &l->shape);
    if (err == HP_OK)
        l->modules = calloc(l->shape.records, sizeof *l->modules);
    if (err == HP_OK && l->fd >= 0 && ftruncate(l->fd, (off_t)l->shape.file_size) == 0)
        memory =
            mmap(NULL, l->shape.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, l->fd, 0);
    if (memory != MAP_FAILED) /* who has the descriptor must not take the memory away */
        fcntl(l->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    l->words = malloc(HP_ARENA_CHUNK_WORDS * sizeof *l->words);
    l->addresses = malloc(HP_ARENA_ADDRESSES * sizeof *l->addresses);
    if (memory == MAP_FAILED || !l->modules || !l->words || !l->addresses) {
        if (err == HP_OK)
            err = hp_fail(HP_ERR_IO, "cannot create the shared memory: %s", strerror(errno));
        hp_live_free(l);
        return err;
    }
    l->arena = memory;
    l->arena->shape = l->shape;
    l->arena->magic = HP_ARENA_MAGIC;
    l->arena->version = HP_ARENA_VERSION;
    l->arena->follow = options->follow;
    l->arena->mode = options->mode;
    l->mode = (enum hp_record_mode)options->mode;
    l->arena->cache_size = options->cache_size;
    hold_word(l);
    hp_debug(HP_DEBUG_ENGINE, "shared memory of %llu MiB, reserved, for %d rings",
             (unsigned long long)l->shape.size >> 20, HP_ARENA_RINGS);
    for (size_t i = 0; i < HP_ARENA_RINGS; i++)
        l->readings[i].thread = NO_THREAD;
    *live = l;
    return HP_OK;
}

void hp_live_free(struct hp_live *live)
{
    if (!live)
        return;
    for (size_t i = 0; i < live->n_processes; i++)
        if (live->processes[i].fd >= 0)
            close(live->processes[i].fd);
    for (size_t i = 0; i < HP_ARENA_RINGS; i++)
        if (live->windows[i])
            munmap(live->windows[i], HP_ARENA_ADDRESS_BYTES);
    drop_word(live);
    if (live->arena)
        munmap(live->arena, live->shape.size);
    if (live->fd >= 0)
        close(live->fd);
    hp_map64_fini(&live->ids);
    free(live->processes);
    free(live->modules);
    free(live->text);
    free(live->words);
    free(live->addresses);
    free(live);
}

int hp_live_fd(const struct hp_live *live)
{
    return live->fd;
}

void hp_live_engine_stats(const struct hp_live *live, struct hp_engine_stats *stats)
{
    memcpy(stats, &live->arena->stats, sizeof *stats);
}

/* --- The code map ----------------------------------------------------------------------------- */

/* The text of record `id`, until the next is asked for, and its header; NULL when there is no such
 * record. The watched process can write anywhere in the arena, at any time: nothing in it is
 * trusted, and what is checked is a copy. */
static const char *record_text(struct hp_live *live, uint32_t id, struct hp_arena_record *record)
{
    if (id == 0 || id >= live->shape.records)
        return NULL;
    uint32_t position = atomic_load(&hp_arena_record_index(live->arena)[id]);
    uint64_t at = (uint64_t)(position - 1) * 8;
    if (position == 0 || at + sizeof *record > live->shape.store)
        return NULL;
    const char *place = hp_shape_store(&live->shape, live->arena, position);
    memcpy(record, place, sizeof *record);
    size_t length = record->length;
    if (length >= live->shape.store - at - sizeof *record || length > TEXT_MAX ||
        hp_grow(&live->text, &live->cap_text, length + 1, 1) != HP_OK)
        return NULL;
    memcpy(live->text, place + sizeof *record, length + 1);
    return memchr(live->text, 0, length + 1) == live->text + length ? live->text : NULL;
}

const char *hp_live_string(struct hp_live *live, uint32_t id)
{
    struct hp_arena_record record;
    return record_text(live, id, &record);
}

static enum hp_err load_module(struct hp_live *live, uint32_t record_id, uint32_t *id)
{
    struct hp_arena_record record;
    const char *path = record_text(live, record_id, &record);
    if (!path || !record.is_module)
        return hp_fail(HP_ERR_FORMAT, "the engine named a module that is not there");
    if (live->modules[record_id] == 0) {
        struct hp_elf_file file = {0};
        if (path[0] == '/')
            hp_elf_file_read(path, &file); /* without a build id if it cannot be read */
        struct hp_module module = {.path = path,
                                   .build_id = file.build_id,
                                   .base = record.base,
                                   .low = record.low,
                                   .high = record.high};
        HP_TRY(hp_code_add_module(live->code, &module, id));
        live->modules[record_id] = *id + 1;
    }
    *id = live->modules[record_id] - 1;
    return HP_OK;
}

/* What the engine wrote of segment `id`. */
static enum hp_err find_segment(struct hp_live *live, uint32_t id, struct hp_arena_segment *header,
                                const uint8_t **bytes)
{
    uint32_t position = id < live->shape.segments
                            ? atomic_load(&hp_shape_segment_index(&live->shape, live->arena)[id])
                            : 0;
    uint64_t at = (uint64_t)(position - 1) * 8;
    if (position == 0 || at + sizeof *header > live->shape.store)
        return hp_fail(HP_ERR_NOTFOUND, "the engine named code that is not there");
    const char *place = hp_shape_store(&live->shape, live->arena, position);
    memcpy(header, place, sizeof *header);
    *bytes = (const uint8_t *)place + sizeof *header;
    if (header->size > live->shape.store - at - sizeof *header ||
        header->size > sizeof live->code_bytes)
        return hp_fail(HP_ERR_FORMAT, "the engine described code of impossible size");
    return HP_OK;
}

static bool is_known(const struct hp_live *live, uint32_t id)
{
    struct hp_segment segment;
    return hp_code_segment(live->code, id, &segment) == HP_OK;
}

/* Parents come first; how many there are was written by the watched process, so it is bounded. */
static enum hp_err load_segment(struct hp_segment_source *source, uint32_t id)
{
    struct hp_live *live =
        (struct hp_live *)(void *)((char *)source - offsetof(struct hp_live, source));
    struct {
        struct hp_arena_segment header;
        const uint8_t *bytes;
        uint32_t id;
    } chain[HP_RUN_MAX];
    size_t n = 0;
    do {
        if (n == HP_RUN_MAX)
            return hp_fail(HP_ERR_FORMAT, "the engine described a run of more than %d blocks",
                           HP_RUN_MAX);
        if (id > hp_code_segment_limit(live->code) + MAX_NEW)
            return hp_fail(HP_ERR_FORMAT, "the engine named code far ahead of all before");
        chain[n].id = id;
        HP_TRY(find_segment(live, id, &chain[n].header, &chain[n].bytes));
        id = chain[n++].header.parent;
    } while (id && !is_known(live, id));
    while (n-- > 0) {
        const struct hp_arena_segment *header = &chain[n].header;
        struct hp_segment segment = {.start = header->start,
                                     .parent = header->parent,
                                     .mode = (uint8_t)header->mode,
                                     .size = header->size,
                                     .bytes = live->code_bytes};
        memcpy(live->code_bytes, chain[n].bytes, header->size);
        HP_TRY(load_module(live, header->module, &segment.module));
        HP_TRY(hp_code_add_segment(live->code, chain[n].id, &segment));
    }
    return HP_OK;
}

struct hp_segment_source *hp_live_source(struct hp_live *live, struct hp_code *code)
{
    live->code = code;
    live->source.load = load_segment;
    return &live->source;
}

/* --- Processes -------------------------------------------------------------------------------- */

static enum hp_err know_process(struct hp_live *live, pid_t pid)
{
    for (size_t i = 0; i < live->n_processes; i++)
        if (live->processes[i].pid == pid && !live->processes[i].dead)
            return HP_OK;
    HP_TRY(hp_grow(&live->processes, &live->cap_processes, live->n_processes + 1,
                   sizeof *live->processes));
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    live->processes[live->n_processes++] =
        (struct process){.pid = pid, .fd = fd, .dead = fd < 0 && errno == ESRCH};
    return HP_OK;
}

static bool is_dead(const struct hp_live *live, pid_t pid)
{
    bool known = false;
    for (size_t i = 0; i < live->n_processes; i++)
        if (live->processes[i].pid == pid) {
            if (!live->processes[i].dead)
                return false;
            known = true;
        }
    return known;
}

static void look_after(const struct hp_live *live, struct process *process)
{
    struct pollfd poll_fd = {.fd = process->fd, .events = POLLIN};
    siginfo_t info = {0};
    if (process->dead)
        return;
    if (process->fd >= 0)
        process->dead = poll(&poll_fd, 1, 0) == 1;
    else if (process->pid == live->first_pid) /* ours to wait for: it may be a zombie */
        process->dead =
            waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            info.si_pid != 0;
    else
        process->dead = kill(process->pid, 0) != 0 && errno == ESRCH;
    if (process->dead && process->fd >= 0) {
        close(process->fd);
        process->fd = -1;
    }
}

static void look_after_processes(struct hp_live *live)
{
    for (size_t i = 0; i < live->n_processes; i++)
        look_after(live, &live->processes[i]);
}

/* --- Rings ------------------------------------------------------------------------------------ */

static void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void deliver(struct hp_live *live, struct hp_consumer *consumer, uint32_t thread, size_t n)
{
    if (live->failure == HP_OK && n)
        live->failure = consumer->words(consumer, thread, live->words, n);
}

/* Takes a chunk out of the ring, for deliver(): what is checked must not change afterwards. */
static void take_chunk(struct hp_live *live, uint32_t index, uint32_t chunk)
{
    uint32_t *words = hp_shape_chunk(&live->shape, live->arena, index, chunk);
    memcpy(live->words, words, HP_ARENA_CHUNK_WORDS * sizeof *words);
    memset(words, 0, HP_ARENA_CHUNK_WORDS * sizeof *words);
}

/* The id of a ring's thread: its serial number, or when that makes no sense one that is free. */
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

/* The process with this number of the engine's; 0: it is gone, or was never marked. */
static pid_t marked_process(const struct hp_live *live, uint32_t process)
{
    struct flock mark = {.l_type = F_WRLCK,
                         .l_whence = SEEK_SET,
                         .l_start = (off_t)hp_shape_mark(&live->shape, process),
                         .l_len = 1};
    bool marked = process && fcntl(live->fd, F_GETLK, &mark) == 0 && mark.l_type != F_UNLCK;
    return marked && mark.l_pid > 0 ? mark.l_pid : 0;
}

/* The process that a ring belongs to: what it says itself may be meant for another namespace. */
static pid_t ring_process(const struct hp_live *live, const struct hp_ring *ring)
{
    pid_t marked = marked_process(live, ring->process);
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
    live->readings[index] = (struct reading){.thread = thread.id, .pid = pid};
    if (live->failure == HP_OK)
        live->failure = know_process(live, pid);
    if (live->failure == HP_OK)
        live->failure = consumer->thread(consumer, &thread);
}

/* How many chunks there are to read: never more than a ring has, whatever the process has written
 * there. */
static uint32_t chunks_ready(struct hp_live *live, uint32_t index)
{
    uint32_t ready =
        atomic_load(&live->arena->rings[index].published) - live->readings[index].chunk;
    return ready <= HP_ARENA_CHUNKS ? ready : 0;
}

/* Reads `n` published chunks. */
static void read_chunks(struct hp_live *live, struct hp_consumer *consumer, uint32_t index,
                        uint32_t n)
{
    struct hp_ring *ring = &live->arena->rings[index];
    struct reading *reading = &live->readings[index];
    while (n-- > 0) {
        take_chunk(live, index, reading->chunk++);
        atomic_store(&ring->consumed, reading->chunk);
        if (atomic_load(&ring->writer_waits))
            futex_wake(&ring->consumed);
        deliver(live, consumer, reading->thread, HP_ARENA_CHUNK_WORDS);
        if (consumer->tick) /* with many threads a look at every ring takes long */
            consumer->tick(consumer);
    }
}

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

/* One chunk of addresses, of which `n` are there; the watched process may have written anything
 * for that. */
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

/* Reads the published chunks; true when there were any. */
static bool read_addresses(struct hp_live *live, struct hp_consumer *consumer, uint32_t index)
{
    struct hp_address_ring *ring = &live->arena->address_rings[index];
    struct reading *reading = &live->readings[index];
    uint32_t ready = atomic_load(&ring->published) - reading->addresses;
    if (ready == 0 || ready > HP_ARENA_CHUNKS)
        return false;
    while (ready-- > 0) {
        uint32_t chunk = reading->addresses % HP_ARENA_CHUNKS;
        deliver_addresses(live, consumer, index, chunk, atomic_load(&ring->filled[chunk]));
        reading->addresses++;
        atomic_store(&ring->consumed, reading->addresses);
        if (atomic_load(&ring->writer_waits))
            futex_wake(&ring->consumed);
    }
    return true;
}

/* Those of a thread that is over. When it did not say how many it has written, the last chunk is
 * delivered whole: its words say how many of them mean anything. */
static void finish_addresses(struct hp_live *live, struct hp_consumer *consumer, uint32_t index)
{
    struct hp_address_ring *ring = &live->arena->address_rings[index];
    read_addresses(live, consumer, index);
    uint32_t chunk = live->readings[index].addresses % HP_ARENA_CHUNKS;
    deliver_addresses(live, consumer, index, chunk, atomic_load(&ring->filled[chunk]));
}

/* --- Rings, on and on ------------------------------------------------------------------------- */

/* How many words a chunk holds that was not filled: up to the first place where a word should be
 * and is not. */
static size_t chunk_length(const uint32_t *words)
{
    size_t n = 0;
    while (n < HP_ARENA_CHUNK_WORDS && words[n]) {
        int payload = words[n] & HP_WORD_EVENT ? hp_word_payload(words[n]) : 0;
        n += 1 + (size_t)(payload > 0 ? payload : 0);
    }
    return n < HP_ARENA_CHUNK_WORDS ? n : HP_ARENA_CHUNK_WORDS;
}

#define COUNTERS_A_READ 1024

/* Delivers the counters of a ring in [from, to) of the file. */
static void read_counters(struct hp_live *live, struct hp_consumer *consumer, uint32_t index,
                          off_t from, off_t to)
{
    struct hp_counter counters[COUNTERS_A_READ];
    struct hp_count counts[2 * COUNTERS_A_READ];
    uint64_t base = live->shape.counter_data + index * live->shape.counter_bytes;
    from -= (off_t)(((uint64_t)from - base) % sizeof *counters);
    while (from < to && live->failure == HP_OK) {
        ssize_t got = pread(live->fd, counters, sizeof counters, from);
        size_t n = 0, read = got > 0 ? (size_t)got / sizeof *counters : 0;
        uint32_t id = (uint32_t)(((uint64_t)from - base) / sizeof *counters);
        for (uint32_t i = 0; i < read && id + i < live->shape.counted; i++)
            for (uint32_t side = 0; side < 2; side++)
                if (counters[i].left[side])
                    counts[n++] = (struct hp_count){id + i, side, counters[i].left[side]};
        if (n)
            live->failure = consumer->counts(consumer, live->readings[index].thread, counts, n);
        if (read == 0)
            break;
        from += (off_t)(read * sizeof *counters);
    }
}

/* Delivers what the ring's thread counted; the window is left empty for the next one. */
static void take_counters(struct hp_live *live, struct hp_consumer *consumer, uint32_t index)
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
    if (fallocate(live->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, base,
                  (off_t)live->shape.counter_bytes) != 0 &&
        live->failure == HP_OK)
        live->failure = hp_fail(HP_ERR_IO, "cannot clear the counters: %s", strerror(errno));
}

/* The writer is done or dead: reads the rest and frees the ring. */
static void close_reading(struct hp_live *live, struct hp_consumer *consumer, uint32_t index)
{
    struct hp_ring *ring = &live->arena->rings[index];
    struct reading *reading = &live->readings[index];
    read_chunks(live, consumer, index, chunks_ready(live, index));
    take_chunk(live, index, reading->chunk);
    deliver(live, consumer, reading->thread, chunk_length(live->words));
    if (live->mode == HP_RECORD_COUNT)
        take_counters(live, consumer, index);
    if (live->mode == HP_RECORD_MEMORY)
        finish_addresses(live, consumer, index);
    uint32_t reason = atomic_load(&ring->end_reason);
    if (reason > HP_END_SIGNAL)
        reason = HP_END_KILLED;
    if (live->failure == HP_OK)
        live->failure = consumer->end(consumer, reading->thread, (enum hp_end_reason)reason);
    reading->thread = NO_THREAD;
    atomic_store(&ring->state, HP_RING_FREE);
    atomic_fetch_add(&live->arena->rings_freed, 1);
    futex_wake(&live->arena->rings_freed);
}

/* One look at every ring; true when any had something. */
static bool read_rings(struct hp_live *live, struct hp_consumer *consumer)
{
    bool found = false;
    uint32_t used = atomic_load(&live->arena->rings_used);
    for (uint32_t i = 0; i < used && i < live->shape.rings; i++) {
        uint32_t state = atomic_load(&live->arena->rings[i].state);
        if (state != HP_RING_ACTIVE && state != HP_RING_FINISHED)
            continue;
        if (live->readings[i].thread == NO_THREAD)
            open_reading(live, consumer, i);
        uint32_t ready = chunks_ready(live, i);
        bool some = live->mode == HP_RECORD_MEMORY && read_addresses(live, consumer, i);
        if (state == HP_RING_FINISHED)
            close_reading(live, consumer, i);
        else
            read_chunks(live, consumer, i, ready < CHUNKS_A_TURN ? ready : CHUNKS_A_TURN);
        found = found || ready || some || state == HP_RING_FINISHED;
    }
    return found;
}

/* Closes the rings of processes that are gone; with `all`, every ring. */
static void close_rings(struct hp_live *live, struct hp_consumer *consumer, bool all)
{
    for (uint32_t i = 0; i < HP_ARENA_RINGS; i++) {
        if (live->readings[i].thread == NO_THREAD)
            continue;
        struct hp_ring *ring = &live->arena->rings[i];
        bool dead = is_dead(live, live->readings[i].pid);
        if (!dead && all)
            atomic_store(&ring->end_reason, HP_END_DETACHED);
        if (dead || all)
            close_reading(live, consumer, i);
    }
}

/* Frees rings whose writer was killed when it had only just claimed them. */
static void free_claimed(struct hp_live *live)
{
    uint32_t used = atomic_load(&live->arena->rings_used);
    for (uint32_t i = 0; i < used && i < live->shape.rings; i++) {
        struct reading *reading = &live->readings[i];
        uint32_t state = atomic_load(&live->arena->rings[i].state), process = state >> HP_RING_BITS;
        if (!process || state != (HP_RING_CLAIMED | process << HP_RING_BITS) ||
            marked_process(live, process)) {
            reading->looks = 0;
            continue;
        }
        reading->looks = state == reading->claimed ? reading->looks + 1 : 0;
        reading->claimed = state;
        if (reading->looks >= CLAIM_LOOKS)
            atomic_compare_exchange_strong(&live->arena->rings[i].state, &state, HP_RING_FREE);
    }
}

/* Stops observing: writers that wait are woken and go on unobserved. */
static void detach(struct hp_live *live)
{
    if (live->detached)
        return;
    live->detached = true;
    atomic_store(&live->arena->detached, 1);
    for (uint32_t i = 0; i < HP_ARENA_RINGS; i++)
        futex_wake(&live->arena->rings[i].consumed);
    for (uint32_t i = 0; i < HP_ARENA_RINGS; i++)
        futex_wake(&live->arena->address_rings[i].consumed);
    futex_wake(&live->arena->rings_freed);
}

/* --- The loop --------------------------------------------------------------------------------- */

static struct hp_arena *signalled_arena; /* for the SIGCHLD handler: one live run at a time */

static void on_sigchld(int signal)
{
    (void)signal;
    if (signalled_arena)
        atomic_fetch_add(&signalled_arena->doorbell, 1);
}

/* Waits until the doorbell differs from `seen`, a child changes state, or a moment has passed. */
static void wait_for_doorbell(struct hp_arena *arena, uint32_t seen)
{
    struct timespec limit = {.tv_nsec = IDLE_MS * 1000000L};
    atomic_store(&arena->reader_waits, 1);
    if (atomic_load(&arena->doorbell) == seen)
        syscall(SYS_futex, &arena->doorbell, FUTEX_WAIT, seen, &limit, NULL, 0);
    atomic_store(&arena->reader_waits, 0);
}

static void read_until_exit(struct hp_live *live, pid_t pid, struct hp_consumer *consumer)
{
    for (;;) {
        uint32_t seen = atomic_load(&live->arena->doorbell);
        bool ended = is_dead(live, pid); /* before the last look at the rings */
        bool found = read_rings(live, consumer);
        if (consumer->tick)
            consumer->tick(consumer);
        if (ended || live->failure != HP_OK || (consumer->done && consumer->done(consumer)))
            return;
        if (found) {
            look_after(live, &live->processes[0]); /* the program: its children may go on and on */
            continue;
        }
        look_after_processes(live);
        close_rings(live, consumer, false);
        free_claimed(live);
        if (!is_dead(live, pid))
            wait_for_doorbell(live->arena, seen);
    }
}

/* Nothing is read any more, but the consumer goes on being asked. */
static void wait_for_end(struct hp_live *live, struct hp_consumer *consumer)
{
    struct process *program = live->n_processes ? &live->processes[0] : NULL;
    while (program && !program->dead && consumer->tick) {
        struct pollfd poll_fd = {.fd = program->fd, .events = POLLIN};
        poll(&poll_fd, 1, IDLE_MS);
        look_after(live, program);
        consumer->tick(consumer);
    }
}

enum hp_err hp_live_run(struct hp_live *live, pid_t pid, struct hp_consumer *consumer,
                        struct hp_live_stats *stats)
{
    struct sigaction old, action = {.sa_handler = on_sigchld};
    *stats = (struct hp_live_stats){0};
    live->first_pid = pid;
    signalled_arena = live->arena;
    sigaction(SIGCHLD, &action, &old);
    live->failure = know_process(live, pid);
    if (live->failure == HP_OK)
        read_until_exit(live, pid, consumer);
    /* Children that outlive the program, or the program when the consumer wants no more, may write
     * on: only once they are detached do the rings have an end. */
    look_after_processes(live);
    detach(live);
    close_rings(live, consumer, true);
    wait_for_end(live, consumer);
    while (waitpid(pid, &stats->status, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGCHLD, &old, NULL);
    signalled_arena = NULL;
    stats->attached = atomic_load(&live->arena->attached);
    stats->unobserved_threads = atomic_load(&live->arena->unobserved_threads);
    stats->natively = atomic_load(&live->arena->natively);
    memcpy(stats->why, live->arena->natively_why, sizeof stats->why - 1);
    return live->failure;
}
