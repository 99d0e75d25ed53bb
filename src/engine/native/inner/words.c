// SPDX-License-Identifier: MIT
/*
 * A thread's place in the stream. Translated code writes words by itself, without looking for the
 * end of a chunk: the page behind it cannot be written, and the fault comes to hp_words_fault().
 */
#include "engine/native/inner/inner.h"
#include "engine/native/inner/sys.h"
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

void hp_words_event(struct hp_self *self, uint32_t word, const uint32_t *payload, int n)
{
    if (hp_engine.mode == HP_RECORD_NONE)
        return;
    while (self->writer.end - self->writer.next < n + 1)
        put(self, hp_word_event(HP_WORD_PAD, 0));
    hp_writer_event(hp_engine.arena, &self->writer, word, payload, n);
}

static void lose(struct hp_self *self)
{
    static const uint32_t unknown[2] = {0, 0};
    hp_words_event(self, hp_word_event(HP_WORD_LOST, HP_LOST_CODE_FULL), unknown, 2);
}

void hp_words_ran(struct hp_self *self, uint32_t id, bool taken)
{
    if (hp_engine.mode == HP_RECORD_NONE)
        return;
    if (hp_engine.mode != HP_RECORD_COUNT) {
        put(self, id);
        return;
    }
    if (id >= HP_ARENA_COUNTED) {
        lose(self);
        return;
    }
    struct hp_counter *counters = (struct hp_counter *)(void *)((char *)self + HP_AT_COUNTERS);
    counters[id].left[taken]++;
}

void hp_words_ran_to(struct hp_self *self, uint32_t id, uint32_t entered)
{
    if (hp_engine.mode != HP_RECORD_COUNT)
        return; /* the site has written its word */
    while (self->writer.end - self->writer.next < 2)
        put(self, hp_word_event(HP_WORD_PAD, 0));
    put(self, id);
    put(self, entered);
}

void hp_words_ran_part(struct hp_self *self, uint32_t id, uint32_t insns)
{
    if (hp_engine.mode == HP_RECORD_NONE)
        return;
    if (hp_engine.mode == HP_RECORD_COUNT) {
        hp_words_event(self, hp_word_event(HP_WORD_PART, insns), &id, 1);
        return;
    }
    put(self, id);
    put(self, hp_word_event(HP_WORD_CUT, insns));
}

void hp_words_not_ended(struct hp_self *self, uint32_t id, uint32_t insns)
{
    if (hp_engine.mode != HP_RECORD_COUNT || id >= HP_ARENA_COUNTED)
        return; /* the reader of a stream sees it by itself */
    struct hp_counter *counters = (struct hp_counter *)(void *)((char *)self + HP_AT_COUNTERS);
    counters[id].left[0]--;
    hp_words_ran_part(self, id, insns);
}

void hp_words_finish(struct hp_self *self, enum hp_end_reason reason)
{
    if (hp_engine.mode == HP_RECORD_NONE)
        return;
    if (reason == HP_END_SIGNAL)
        put(self, hp_word_event(HP_WORD_END, HP_END_SIGNAL));
    hp_writer_finish(hp_engine.arena, &self->writer, reason);
}

/*
 * The stores that meet the end of a chunk:
 *   c7 /0 [reg] imm32        a word: goes to the next chunk
 *   c7 /0 [reg + 4] imm32    the second half of a pair (count mode): the first goes with it
 */
bool hp_words_fault(struct hp_self *self, uint64_t address, const uint8_t *pc, uint64_t r[16])
{
    uint32_t *end = self->writer.end;
    if (address != (uint64_t)(uintptr_t)end || pc[0] != 0xc7)
        return false;
    unsigned reg = pc[1] & 7;
    if (pc[1] >> 6 == 0) {
        self->writer.next = end;
        hp_words_refill(self);
    } else {
        uint32_t first = end[-1];
        end[-1] = hp_word_event(HP_WORD_PAD, 0);
        self->writer.next = end;
        hp_words_refill(self);
        *self->writer.next = first;
    }
    r[reg] = (uint64_t)(uintptr_t)self->writer.next;
    return true;
}
