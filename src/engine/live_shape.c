// SPDX-License-Identifier: MIT
/* The size of the arena, and the layout of its parts. */
#include "engine/live_impl.h"

#include <sys/resource.h>

#define ARENA_PART 4 /* the arena takes this part of a limited address space */
#define MIN_RINGS  4 /* fewer are of no use */

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The largest power of two not above `n`; 0 for 0. */
static uint32_t power_of_two(uint64_t n)
{
    return n ? (uint32_t)(UINT64_C(1) << (63 - __builtin_clzll(n))) : 0;
}

static size_t counter_size(enum hp_record_mode mode)
{
    return mode == HP_RECORD_PATHS ? sizeof(uint64_t) : sizeof(struct hp_counter);
}

/* A shape of at most `room` bytes, or the largest supported, with so many chunks in a ring. */
static struct hp_arena_shape shape_for(uint64_t room, enum hp_record_mode mode, uint32_t chunks)
{
    const uint64_t ring_bytes = chunks * (uint64_t)HP_ARENA_CHUNK_STRIDE;
    struct hp_arena_shape shape = {
        .chunks = chunks,
        .rings = (uint32_t)smaller(room / 4 / ring_bytes, HP_ARENA_RINGS),
        .segments = (uint32_t)smaller(room / 8 / 4, HP_ARENA_SEGMENTS) & ~1023u,
        .counted = (uint32_t)smaller(room / 16 / counter_size(mode),
                                     mode == HP_RECORD_PATHS ? HP_ARENA_PATHS : HP_ARENA_COUNTED) &
                   ~1023u,
        .store = smaller(room / 2, HP_ARENA_STORE) & ~(uint64_t)(HP_ARENA_GUARD - 1),
    };
    shape.records = (uint32_t)smaller(room / 64 / 4, HP_ARENA_RECORDS) & ~1023u;
    shape.known = power_of_two(smaller(room / 32 / 4, HP_ARENA_KNOWN));
    shape.segment_index = HP_ARENA_RECORD_INDEX + shape.records * 4ull;
    shape.known_data = shape.segment_index + shape.segments * 4ull;
    shape.ring_data = shape.known_data + shape.known * 4ull;
    if (mode == HP_RECORD_PATHS) {
        shape.prefixes = (uint32_t)smaller(room / 64 / 4, HP_ARENA_PREFIXES) & ~1023u;
        shape.prefix_index = shape.ring_data;
        shape.path_index = shape.prefix_index + shape.prefixes * 4ull;
        shape.function_index = shape.path_index + shape.counted * 4ull;
        shape.ring_data = shape.function_index + shape.records * 4ull;
    }
    if (mode == HP_RECORD_COUNT) {
        shape.derived = shape.counted / 2;
        shape.derived_data = shape.ring_data;
        shape.flow_parents =
            shape.derived_data + shape.derived * (uint64_t)sizeof(struct hp_derived);
        shape.flow_states = shape.flow_parents + HP_FLOW_NODES * 4ull;
        shape.ring_data = shape.flow_states + shape.counted;
    }
    shape.store_data = shape.ring_data + shape.rings * ring_bytes;
    shape.size = shape.store_data + shape.store;
    shape.counter_data = shape.address_data = shape.file_size = shape.size;
    shape.counter_bytes = shape.counted * counter_size(mode);
    if (mode == HP_RECORD_COUNT || mode == HP_RECORD_PATHS)
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

enum hp_err hp_live_choose_shape(enum hp_record_mode mode, uint64_t lag,
                                 struct hp_arena_shape *shape)
{
    uint32_t chunks = lag ? power_of_two(lag / (HP_ARENA_CHUNK_WORDS * 4u)) : HP_ARENA_CHUNKS;
    chunks = chunks < 2 ? 2 : chunks;
    uint64_t space = limit_on(RLIMIT_AS), file = limit_on(RLIMIT_FSIZE);
    uint64_t room = smaller(space / ARENA_PART, file);
    *shape = shape_for(room, mode, chunks);
    for (; shape->rings >= MIN_RINGS && shape->file_size > file; room /= 2)
        *shape = shape_for(room, mode, chunks);
    if (shape->rings >= MIN_RINGS)
        return HP_OK;
    return hp_fail(HP_ERR_IO, "no room for the shared memory: raise the limit on %s",
                   space / ARENA_PART < file ? "address space (ulimit -v)"
                                             : "the size of files (ulimit -f)");
}
