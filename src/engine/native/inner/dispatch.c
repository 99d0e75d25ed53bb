// SPDX-License-Identifier: MIT
/*
 * What happens when translated code reaches its end: the gates call in here, and every function
 * reenters the cache.
 */
#include "engine/native/inner/cpu.h"
#include "engine/native/inner/decode_memory.h"
#include "engine/native/inner/landings.h"
#include "engine/native/inner/paths.h"
#include "engine/native/inner/rseq.h"
#include "engine/native/inner/sys.h"
#include "engine/native/inner/traces.h"
#include "hotpath/stream.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>

#define KNOWN_INSNS 1024 /* instructions run natively whose descriptions are kept */
#define ARCH_GET_FS 0x1003
#define PAGE        4096
#define CODE_PAGES  16 /* more pages than a segment spans, if they are writable */

/* --- The lock --------------------------------------------------------------------------------- */

static _Atomic uint32_t lock_word; /* 0 free, 1 taken, 2 taken with waiters */
static _Atomic int32_t lock_owner; /* the thread that holds it; 0: none, or not yet set */

/*
 * A thread that makes a system call with the lock held may be killed alone by the program's filter
 * (SECCOMP_RET_KILL_THREAD). The call was not made then, and everything under the lock is
 * consistent.
 */
static bool take_from_dead(int32_t tid)
{
    int32_t owner = atomic_load(&lock_owner);
    return owner && hp_thread_is_dead(owner) &&
           atomic_compare_exchange_strong(&lock_owner, &owner, tid);
}

void hp_lock(void)
{
    uint32_t expected = 0;
    int32_t tid = hp_self()->tid;
    struct {
        int64_t s, ns;
    } a_while = {0, 100000000};
    if (!atomic_compare_exchange_strong(&lock_word, &expected, 1))
        while (atomic_exchange(&lock_word, 2) != 0)
            if (hp_sys4(SYS_futex, (long)&lock_word, FUTEX_WAIT_PRIVATE, 2, (long)&a_while) ==
                    -ETIMEDOUT &&
                take_from_dead(tid))
                break;
    atomic_store_explicit(&lock_owner, tid, memory_order_relaxed);
}

bool hp_try_lock(void)
{
    uint32_t expected = 0;
    if (!atomic_compare_exchange_strong(&lock_word, &expected, 1))
        return false;
    atomic_store_explicit(&lock_owner, hp_self()->tid, memory_order_relaxed);
    return true;
}

void hp_unlock(void)
{
    atomic_store_explicit(&lock_owner, 0, memory_order_relaxed);
    if (atomic_exchange(&lock_word, 0) == 2)
        hp_sys3(SYS_futex, (long)&lock_word, FUTEX_WAKE_PRIVATE, 1);
}

void hp_lock_break(void)
{
    atomic_store(&lock_owner, 0);
    atomic_store(&lock_word, 0);
}

/* --- Continuing ------------------------------------------------------------------------------- */

static bool counts_paths(void)
{
    return hp_engine.mode == HP_RECORD_PATHS;
}

static _Noreturn void go_without(struct hp_self *self, uint64_t pc, const char *why);

/* Enters the segment found for `pc`, if any. With the lock held; releases it. */
static _Noreturn void enter(struct hp_self *self, uint32_t segment, uint64_t pc, const char *why)
{
    if (atomic_load(&hp_released)) {
        hp_unlock();
        hp_leave(self);
    }
    if (atomic_load(&hp_traces_leave)) {
        hp_unlock();
        hp_release(self, pc, "traces did not pay, and --traces says that it shall go then");
    }
    hp_words_go_on(self, pc);
    atomic_store(&self->where, HP_IN_CACHE);
    if (segment && self->counting)
        hp_paths_enter(self, segment);
    if (segment)
        self->entry = (uint64_t)(uintptr_t)hp_segs[hp_traces_enter(self, segment)].code;
    hp_unlock();
    if (!segment)
        go_without(self, pc, why);
    hp_enter(self);
}

void hp_go_on(struct hp_self *self, uint64_t pc)
{
    const char *why;
    self->regs.rip = pc;
    if (self->regs.flags & FLAG_TF)
        hp_step(self);
    hp_lock();
    uint32_t segment =
        counts_paths() ? hp_paths_go_on(self, pc, &why) : hp_cache_get(self, pc, false, &why);
    enter(self, segment, pc, why);
}

void hp_on_exit(struct hp_self *self)
{
    const char *why;
    uint32_t number = self->exit;
    uint64_t before = atomic_load(&hp_cache_flushes);
    struct hp_exit exit = hp_exits[number]; /* once we are out, the cache may be flushed */
    struct hp_left left;
    if (counts_paths())
        left = hp_paths_left(number);
    uint64_t pc = self->regs.rip = exit.target;
    atomic_store(&self->where, HP_IN_ENGINE);
    hp_lock();
    hp_words_arrived(self, pc);
    if (!exit.recorded)
        hp_words_ran(self, exit.id, exit.taken, pc);
    uint64_t to = self->regs.rip = self->rseq ? hp_rseq_arrive(self, pc) : pc;
    if (hp_traces_records(self))
        hp_traces_add(self, number, to == pc ? to : 0);
    uint32_t segment =
        counts_paths() ? hp_paths_next(self, &left, to, &why) : hp_cache_get(self, to, false, &why);
    if (segment && to == pc && before == atomic_load(&hp_cache_flushes))
        hp_cache_link(number, segment);
    hp_engine.lookups++;
    enter(self, segment, to, why);
}

/* A call has returned, with the place on the shadow stack, to where nothing is translated yet. */
void hp_on_place(struct hp_self *self)
{
    const char *why;
    struct hp_left left = hp_paths_left(self->exit);
    uint64_t pc = self->regs.rip = self->target;
    atomic_store(&self->where, HP_IN_ENGINE);
    hp_lock();
    uint32_t segment = hp_paths_return(self, &left, &why);
    hp_engine.lookups++;
    enter(self, segment, pc, why);
}

/* An indirect transfer, of a twin or of a node that has not found its landing. */
static _Noreturn void miss_in_paths(struct hp_self *self)
{
    const char *why;
    struct hp_left left = hp_paths_left(self->exit);
    uint64_t pc = self->regs.rip = self->target;
    atomic_store(&self->where, HP_IN_ENGINE);
    hp_lock();
    bool was_counting = self->counting;
    hp_words_ran(self, left.exit.id, true, pc);
    uint32_t segment = hp_paths_next(self, &left, pc, &why);
    if (segment && was_counting && self->counting)
        hp_paths_land(self, segment);
    hp_engine.lookups++;
    enter(self, segment, pc, why);
}

/* The id of the segment's first block; 0: there is no segment. */
static uint32_t entered_id(uint32_t segment)
{
    return segment ? hp_pieces[hp_segs[segment].first_piece].id : 0;
}

void hp_on_miss(struct hp_self *self)
{
    const char *why;
    if (counts_paths())
        miss_in_paths(self);
    uint64_t pc = self->regs.rip = self->target;
    atomic_store(&self->where, HP_IN_ENGINE);
    uint32_t left = hp_engine.mode == HP_RECORD_COUNT ? *self->writer.next : 0;
    hp_lock();
    if (hp_traces_records(self))
        hp_traces_add(self, self->exit, pc);
    uint32_t segment = hp_cache_get(self, pc, true, &why);
    if (segment)
        hp_land(segment, NULL);
    hp_words_ran_to(self, left, entered_id(segment), pc);
    hp_engine.lookups++;
    enter(self, segment, pc, why);
}

/* An indirect transfer through a slot that was not bound when it was translated. */
void hp_on_slot(struct hp_self *self)
{
    uint64_t before = atomic_load(&hp_cache_flushes);
    uint32_t segment = hp_exits[self->exit].segment;
    atomic_store(&self->where, HP_IN_ENGINE);
    hp_lock();
    if (before == atomic_load(&hp_cache_flushes) && !hp_segs[segment].gone &&
        hp_slot_is_over(segment, self->target))
        hp_cache_remove(segment);
    hp_unlock();
    hp_on_miss(self);
}

void hp_go_on_from(struct hp_self *self, uint32_t id, uint64_t pc)
{
    const char *why;
    self->regs.rip = pc;
    hp_lock();
    if (hp_engine.mode != HP_RECORD_COUNT)
        hp_words_ran(self, id, true, pc);
    uint32_t segment =
        counts_paths() ? hp_paths_go_on(self, pc, &why) : hp_cache_get(self, pc, false, &why);
    hp_words_ran_to(self, id, entered_id(segment), pc);
    hp_engine.lookups++;
    enter(self, segment, pc, why);
}

void hp_on_resume(struct hp_self *self)
{
    self->regs.rip = self->target;
    atomic_store(&self->where, HP_IN_ENGINE);
    self->regs.flags |= self->resume_flags;
    hp_signals_let_go_held(self);
    hp_go_on(self, self->target);
}

/* Whether it is a repeated string instruction: natively it would be single-stepped to its end. */
static bool is_repeated(uint64_t pc)
{
    uint8_t bytes[2];
    return hp_copy(bytes, (const void *)pc, sizeof bytes) &&
           (bytes[0] == 0xf3 || (bytes[0] == 0x66 && bytes[1] == 0xf3));
}

/* The page can be written now. The instruction runs natively: it could be in that same page, which
 * would be guarded again when it is translated. */
static _Noreturn void write_again(struct hp_self *self)
{
    uint64_t pc = self->regs.rip, distance = self->write_address / PAGE - pc / PAGE;
    self->has_write = false;
    hp_guards_lift(self->write_address, self->write_address + 1);
    hp_signals_set_mask(self);
    if (distance + CODE_PAGES > 2 * CODE_PAGES && is_repeated(pc))
        hp_go_on(self, pc);
    hp_probe(self, pc, true);
}

void hp_on_pending(struct hp_self *self)
{
    self->stepping = false;
    hp_traces_abandon(self);
    hp_paths_hand_over(self);
    if (self->probing) /* something else came first */
        hp_probe_done(self, true);
    if (atomic_load(&hp_releasing) && !atomic_load(&hp_released) && self->where == HP_IN_CACHE)
        hp_release_fault(self); /* while the releasing thread waits */
    atomic_store(&self->where, HP_IN_ENGINE);
    atomic_store(&self->pending, 0);
    if (self->has_write)
        write_again(self);
    if (self->has_trap_flag) {
        self->has_trap_flag = false;
        hp_signals_set_mask(self);
        hp_probe(self, self->regs.rip, true);
    }
    if (self->has_breakpoint) {
        self->info.address = self->regs.rip;
        hp_release(self, self->regs.rip, "a debugger has set a hardware breakpoint");
    }
    if (self->has_signal)
        hp_signals_deliver(self);
    else
        hp_signals_set_mask(self);
    hp_go_on(self, self->regs.rip);
}

/* --- One instruction natively ----------------------------------------------------------------- */

static uint64_t segment_base(const struct hp_self *self, unsigned segment)
{
    uint64_t base = 0;
    if (segment == HP_X86_SEG_GS)
        base = self->gs_base;
    else if (segment == HP_X86_SEG_FS)
        hp_sys2(SYS_arch_prctl, ARCH_GET_FS, (long)&base);
    return base;
}

unsigned hp_operands(const struct hp_self *self, const uint8_t *bytes, const struct hp_x86 *insn,
                     uint64_t pc, uint64_t addresses[HP_X86_MEMS_MAX])
{
    struct hp_x86_mem mems[HP_X86_MEMS_MAX];
    const uint64_t *r = self->regs.r;
    unsigned n = hp_x86_memory(bytes, insn, pc, mems);
    for (unsigned i = 0; i < n; i++) {
        const struct hp_x86_mem *mem = &mems[i];
        uint64_t address = (uint64_t)mem->disp + (mem->plus_al ? r[RAX] & 0xff : 0);
        if (mem->base != HP_X86_NO_REG)
            address += r[mem->base];
        if (mem->index != HP_X86_NO_REG)
            address += r[mem->index] << mem->shift;
        if (mem->addr32)
            address = (uint32_t)address;
        addresses[i] = address + segment_base(self, mem->segment);
    }
    return n;
}

/* Whether segment `id` is exactly these bytes at `pc`. */
static bool is_described(uint32_t id, uint64_t pc, const uint8_t *bytes, uint32_t size)
{
    if (!id)
        return false;
    uint32_t position = hp_arena_segment_index(hp_engine.arena)[id];
    const struct hp_arena_segment *stored = hp_arena_store(hp_engine.arena, position);
    return stored->start == pc && stored->size == size && memcmp(stored + 1, bytes, size) == 0;
}

/* Describes the instruction at `pc` as a segment; 0: not possible. */
static uint32_t describe_insn(struct hp_self *self, uint64_t pc, struct hp_x86 *insn)
{
    static uint32_t known[KNOWN_INSNS];
    struct hp_mapped_place place;
    hp_lock();
    bool found = hp_maps_find(self, pc, &place) && place.executable;
    uint8_t bytes[15];
    uint64_t rest = found ? place.high - pc : 0;
    unsigned size = rest < 15 ? (unsigned)rest : 15;
    *insn = (struct hp_x86){.kind = HP_X86_INVALID};
    uint32_t id = 0;
    if (found && hp_copy(bytes, (const void *)pc, size)) {
        hp_x86_decode(bytes, size, insn);
        self->n_probe_addresses = hp_operands(self, bytes, insn, pc, self->probe_addresses);
        uint32_t *slot = &known[pc % KNOWN_INSNS];
        struct hp_arena_segment segment = {
            .start = pc, .module = place.module, .size = insn->length};
        if (!is_described(*slot, pc, bytes, insn->length))
            *slot = hp_arena_add_segment(hp_engine.arena, &segment, bytes);
        id = *slot;
    }
    hp_unlock();
    return id;
}

/* Whether the instruction involves the trap flag. */
static void look_at_flags(struct hp_self *self, uint64_t pc)
{
    uint8_t bytes[2] = {0, 0}, opcode;
    hp_copy(bytes, (const void *)pc, 1);
    bool prefix = bytes[0] == 0x66 || (bytes[0] & 0xf0) == 0x40; /* operand size, REX */
    opcode = bytes[0];
    if (prefix && hp_copy(bytes + 1, (const void *)(pc + 1), 1))
        opcode = bytes[1];
    self->probe_pushes_flags = opcode == HP_X86_PUSHF;
    self->probe_pops_flags = opcode == HP_X86_POPF || opcode == HP_X86_IRET;
}

static _Noreturn void probe(struct hp_self *self, uint64_t pc, uint32_t id)
{
    look_at_flags(self, pc);
    self->regs.rip = pc;
    self->probe_is_step = self->regs.flags & FLAG_TF;
    self->regs.flags |= FLAG_TF;
    self->probing = true;
    self->probe_id = id;
    hp_words_go_on(self, pc);
    atomic_store(&self->where, HP_IN_CACHE);
    hp_enter_native(self);
}

/* Handles a `pc` where no segment can be made: the processor shall report what is wrong. */
static _Noreturn void go_without(struct hp_self *self, uint64_t pc, const char *why)
{
    if (why)
        hp_release(self, pc, why);
    struct hp_x86 insn;
    self->probe_pushes_flags = false;
    uint32_t id = describe_insn(self, pc, &insn);
    if (insn.kind == HP_X86_SYSTEM && hp_is_sysenter(pc))
        hp_release(self, pc, "the program leaves 64-bit code");
    bool known = insn.kind == HP_X86_PLAIN || insn.kind == HP_X86_LOAD_GS;
    probe(self, pc, known ? id : 0);
}

void hp_probe(struct hp_self *self, uint64_t pc, bool counts)
{
    struct hp_x86 insn;
    if (atomic_load(&hp_released))
        hp_leave(self);
    probe(self, pc, counts ? describe_insn(self, pc, &insn) : 0);
}

/* The program single-steps itself: instructions run natively, and each one traps. */
void hp_step(struct hp_self *self)
{
    struct hp_x86 insn;
    uint64_t pc = self->regs.rip;
    if (atomic_load(&hp_released))
        hp_leave(self);
    uint32_t id = describe_insn(self, pc, &insn);
    if (insn.kind == HP_X86_SYSCALL) {
        hp_words_go_on(self, pc);
        hp_syscall_at(self, pc, id);
    }
    probe(self, pc, id);
}

/* Hides our trap flag, which PUSHF has stored. */
static void hide_trap_flag(struct hp_self *self)
{
    uint16_t flags;
    uint64_t at = self->regs.r[RSP];
    if (hp_copy(&flags, (const void *)at, sizeof flags)) {
        flags &= (uint16_t)~FLAG_TF;
        hp_put(at, &flags, sizeof flags);
    }
}

void hp_probe_done(struct hp_self *self, bool failed)
{
    static const uint32_t unknown[2] = {0, 0};
    self->probing = false;
    if (!self->probe_is_step && (failed || !self->probe_pops_flags))
        self->regs.flags &= ~(uint64_t)FLAG_TF;
    if (failed)
        return;
    if (self->probe_pushes_flags && !self->probe_is_step)
        hide_trap_flag(self);
    if (!self->probe_id)
        hp_words_event(self, hp_word_event(HP_WORD_LOST, HP_LOST_UNKNOWN), unknown, 2);
    else if (hp_engine.mode == HP_RECORD_COUNT)
        hp_words_ran_part(self, self->probe_id, 1);
    else
        hp_words_ran(self, self->probe_id, true, self->regs.rip);
    for (uint32_t i = 0;
         self->probe_id && hp_engine.mode == HP_RECORD_MEMORY && i < self->n_probe_addresses; i++)
        hp_addresses_put(self, self->probe_addresses[i]);
}
