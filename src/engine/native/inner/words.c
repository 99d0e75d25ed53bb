// SPDX-License-Identifier: MIT
/*
 * A thread's position in the stream. Translated code writes words without checking for the end of a
 * chunk: the page after it is not writable, and the fault is handled by hp_words_fault().
 */
#include "engine/native/inner/decode_memory.h"
#include "engine/native/inner/inner.h"
#include "engine/native/inner/paths.h"
#include "engine/native/inner/sys.h"
#include "engine/native/inner/traces.h"
#include "hotpath/stream.h"

#include <linux/mman.h>

void hp_words_refill(struct hp_self *self)
{
    hp_writer_refill(hp_engine.arena, &self->writer);
    hp_sys3(SYS_mprotect, (long)self->writer.end, HP_ARENA_GUARD, PROT_NONE);
}

static void put(struct hp_self *self, uint32_t word)
{
    if (self->writer.next == self->writer.end)
        hp_words_refill(self);
    *self->writer.next++ = word;
}

/* Whether a thread may go on counting paths when it writes this event. */
static bool may_be_counting(unsigned kind)
{
    return kind == HP_WORD_PAD || kind == HP_WORD_HANDLER || kind == HP_WORD_FORK ||
           kind == HP_WORD_MODULE;
}

void hp_words_event(struct hp_self *self, uint32_t word, const uint32_t *payload, int n)
{
    if (hp_engine.mode == HP_RECORD_NONE)
        return;
    if (!may_be_counting(hp_word_kind(word)))
        hp_paths_hand_over(self);
    while (self->writer.end - self->writer.next < n + 1)
        put(self, hp_word_event(HP_WORD_PAD, 0));
    hp_writer_event(hp_engine.arena, &self->writer, word, payload, n);
}

static void lose(struct hp_self *self)
{
    static const uint32_t unknown[2] = {0, 0};
    hp_words_event(self, hp_word_event(HP_WORD_LOST, HP_LOST_CODE_FULL), unknown, 2);
}

static struct hp_counter *counters_of(struct hp_self *self)
{
    return (struct hp_counter *)(void *)((char *)self + HP_AT_COUNTERS);
}

void hp_words_arrived(struct hp_self *self, uint64_t at)
{
    if (hp_engine.mode == HP_RECORD_COUNT)
        counters_of(self)[0].left[0] = at;
}

void hp_words_go_on(struct hp_self *self, uint64_t at)
{
    if (hp_engine.mode != HP_RECORD_COUNT)
        return;
    uint64_t *arrived = &counters_of(self)[0].left[0];
    if (*arrived != at) {
        uint32_t payload[4] = {(uint32_t)*arrived, (uint32_t)(*arrived >> 32), (uint32_t)at,
                               (uint32_t)(at >> 32)};
        hp_words_event(self, hp_word_event(HP_WORD_MOVED, 0), payload, 4);
    }
    *arrived = at; /* it may be stopped before it has gone on */
}

void hp_words_ran(struct hp_self *self, uint32_t id, bool taken, uint64_t to)
{
    if (hp_engine.mode == HP_RECORD_NONE)
        return;
    if (self->counting)
        return; /* it is part of the prefix */
    if (hp_engine.mode != HP_RECORD_COUNT) {
        put(self, id);
        return;
    }
    hp_words_arrived(self, to);
    if (id >= hp_engine.arena->shape.counted)
        lose(self);
    else
        counters_of(self)[id].left[taken]++;
}

void hp_words_ran_to(struct hp_self *self, uint32_t id, uint32_t entered, uint64_t to)
{
    if (hp_engine.mode != HP_RECORD_COUNT)
        return; /* the translated code has written its word */
    while (self->writer.end - self->writer.next < 2)
        put(self, hp_word_event(HP_WORD_PAD, 0));
    put(self, id);
    if (entered)
        put(self, entered);
    hp_words_arrived(self, entered ? to : 0);
}

void hp_words_ran_part(struct hp_self *self, uint32_t id, uint32_t insns)
{
    if (hp_engine.mode == HP_RECORD_NONE)
        return;
    if (hp_engine.mode == HP_RECORD_COUNT) {
        hp_words_event(self, hp_word_event(HP_WORD_PART, insns), &id, 1);
        hp_words_arrived(self, 0);
        return;
    }
    if (self->counting) {
        self->prefix_cut = insns;
        hp_paths_hand_over(self);
        return;
    }
    put(self, id);
    put(self, hp_word_event(HP_WORD_CUT, insns));
}

void hp_words_not_ended(struct hp_self *self, uint32_t id, uint32_t insns)
{
    if (hp_engine.mode != HP_RECORD_COUNT || id >= hp_engine.arena->shape.counted)
        return; /* the reader of a stream recognizes it */
    counters_of(self)[id].left[0]--;
    hp_words_ran_part(self, id, insns);
}

void hp_words_finish(struct hp_self *self, enum hp_end_reason reason)
{
    if (hp_engine.mode == HP_RECORD_NONE)
        return;
    hp_paths_hand_over(self);
    hp_addresses_finish_thread(self);
    if (reason == HP_END_SIGNAL)
        put(self, hp_word_event(HP_WORD_END, HP_END_SIGNAL));
    hp_writer_finish(hp_engine.arena, &self->writer, reason);
}

/* --- Addresses -------------------------------------------------------------------------------- */

#define ADDRESSES_MAX 512 /* per block: more than there can be */

/* A thread's window into the ring lies where its counters are in count mode. */
static char *window(struct hp_self *self)
{
    return (char *)self + HP_AT_COUNTERS;
}

static void take_chunk(struct hp_self *self, uint32_t number)
{
    uint64_t at = (uint64_t)(number % HP_ARENA_CHUNKS) * HP_ARENA_ADDRESS_STRIDE;
    self->address = (uint64_t *)(void *)(window(self) + at);
    self->address_end = self->address + HP_ARENA_ADDRESSES;
}

/* Maps the thread's window: the ring, or memory that is never read. */
static void map_window(struct hp_self *self)
{
    long result = -1, at = (long)window(self);
    uint64_t offset =
        hp_engine.arena->shape.address_data + self->writer.index * HP_ARENA_ADDRESS_BYTES;
    if (self->writer.ring && !self->unread)
        result = hp_sys6(SYS_mmap, at, (long)HP_ARENA_ADDRESS_BYTES, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_FIXED | MAP_NORESERVE, hp_engine.arena_fd, (long)offset);
    if (hp_sys_failed(result))
        hp_sys6(SYS_mmap, at, (long)HP_ARENA_ADDRESS_BYTES, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    for (uint32_t i = 0; i < HP_ARENA_CHUNKS; i++) {
        take_chunk(self, i);
        hp_sys3(SYS_mprotect, (long)self->address_end, HP_ARENA_GUARD, PROT_NONE);
    }
    take_chunk(self, 0);
}

void hp_addresses_open(struct hp_self *self)
{
    map_window(self);
}

static uint32_t chunk_length(const struct hp_self *self)
{
    return (uint32_t)(self->address - (self->address_end - HP_ARENA_ADDRESSES));
}

static void next_addresses(struct hp_self *self)
{
    struct hp_arena *arena = hp_engine.arena;
    self->address_seen = NULL;
    uint32_t index = self->writer.index;
    if (!self->writer.ring || self->unread) {
        take_chunk(self, 0);
    } else if (hp_addresses_next(arena, index, chunk_length(self))) {
        take_chunk(self, atomic_load(&arena->address_rings[index].published));
    } else {
        self->unread = true;
        map_window(self);
    }
}

void hp_addresses_put(struct hp_self *self, uint64_t address)
{
    if (self->address == self->address_end)
        next_addresses(self);
    *self->address++ = address;
}

void hp_addresses_finish_thread(struct hp_self *self)
{
    if (hp_engine.mode == HP_RECORD_MEMORY && self->writer.ring && !self->unread)
        hp_addresses_finish(hp_engine.arena, self->writer.index, chunk_length(self));
}

void hp_addresses_go_on(struct hp_self *self)
{
    if (hp_engine.mode == HP_RECORD_MEMORY && self->writer.ring && !self->unread)
        hp_addresses_finish(hp_engine.arena, self->writer.index, HP_ADDRESSES_UNKNOWN);
}

/* A block stores its addresses one after the other. Those before this one, which are not announced
 * yet, move to the next chunk with it. */
static void move_addresses(struct hp_self *self, uint32_t n)
{
    const uint64_t *from = self->address;
    uint64_t moved[ADDRESSES_MAX];
    for (uint32_t i = 0; i < n; i++)
        moved[i] = from[i];
    next_addresses(self);
    for (uint32_t i = 0; i < n; i++)
        self->address[i] = moved[i];
}

/*
 * A chunk of words is full: publishes its addresses too. Otherwise a reader might wait for them
 * while the words of a loop without operands pile up. The last instruction's addresses may still be
 * taken back (hp_spot.addresses), so they stay within reach of the pointer, unless nothing was
 * written since the last time: then they are older than that.
 */
static void publish_addresses(struct hp_self *self)
{
    uint32_t keep = self->address == self->address_seen ? 0 : HP_X86_MEMS_MAX;
    if (hp_engine.mode != HP_RECORD_MEMORY || !self->writer.ring || self->unread)
        return;
    if (chunk_length(self) > keep) {
        self->address -= keep;
        move_addresses(self, keep);
        self->address += keep;
    }
    self->address_seen = self->address;
}

/*
 * Recognizes mov [pointer + disp], reg, with REX: see translate_memory.c. The pointer becomes that
 * of the next chunk.
 */
static bool address_fault(struct hp_self *self, const uint8_t *pc, uint64_t r[16])
{
    unsigned pointer = (pc[2] & 7u) | (pc[0] & 1u) << 3;
    uint64_t waiting = (uint64_t)(self->address_end - self->address);
    if ((pc[0] & 0xfa) != 0x48 || pc[1] != 0x89 || pc[2] < 0x40 || pc[2] >= 0xc0 ||
        waiting > ADDRESSES_MAX || r[pointer] != (uint64_t)(uintptr_t)self->address)
        return false;
    move_addresses(self, (uint32_t)waiting);
    r[pointer] = (uint64_t)(uintptr_t)self->address;
    return true;
}

/*
 * The stores that hit the end of a chunk:
 *
 *   c7 /0 [reg] imm32        a word: goes to the next chunk
 *   c7 /0 [reg + 4] imm32    the second word of a pair (count mode): the first goes with it
 */
bool hp_words_fault(struct hp_self *self, uint64_t address, const uint8_t *pc, uint64_t r[16])
{
    uint32_t *end = self->writer.end;
    if (address == (uint64_t)(uintptr_t)self->address_end && address)
        return address_fault(self, pc, r);
    if (address != (uint64_t)(uintptr_t)end || pc[0] != 0xc7)
        return false;
    unsigned reg = pc[1] & 7;
    if (pc[1] >> 6 == 0) {
        self->writer.next = end;
        hp_words_refill(self);
        publish_addresses(self);
    } else {
        uint32_t first = end[-1];
        end[-1] = hp_word_event(HP_WORD_PAD, 0);
        self->writer.next = end;
        hp_words_refill(self);
        *self->writer.next = first;
    }
    r[reg] = (uint64_t)(uintptr_t)self->writer.next;
    hp_traces_listen();
    return true;
}
