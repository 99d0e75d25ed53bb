// SPDX-License-Identifier: MIT
/*
 * The native engine from the inside: what its files share. docs/native-engine.md explains how it
 * works.
 *
 * The engine lives in the program's process and must not disturb it. It uses no libc, no
 * thread-local storage, no vector registers (so the program's need not be saved), and its own
 * memory. GS points to the block of the current thread.
 */
#ifndef HP_NATIVE_INNER_H
#define HP_NATIVE_INNER_H

#include "engine/arena.h"
#include "engine/native/inner/layout.h"
#include "hotpath/stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- Threads ---------------------------------------------------------------------------------- */

struct hp_regs {
    uint64_t r[16]; /* numbered as in encodings: rax rcx rdx rbx rsp rbp rsi rdi r8 ... */
    uint64_t rip;
    uint64_t flags;
};

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

#define HP_SIGSET_ALL (~(uint64_t)0)
#define HP_USER_END   0x7ffffffff000u /* of user addresses */

/* What a signal handler receives: the kernel's siginfo_t, opaque. */
struct hp_siginfo {
    int32_t signo, error, code, pad;
    uint64_t address;
    uint8_t rest[104];
};

/* The kernel's stack_t. */
struct hp_altstack {
    uint64_t sp;
    int32_t flags;
    int32_t pad;
    uint64_t size;
};

enum hp_where {
    HP_IN_ENGINE, /* or in a system call: holds no address in the cache */
    HP_IN_CACHE,  /* or about to enter it */
    HP_NATIVE,    /* let go: runs the program's own code */
};

#define HP_UNCUT UINT32_MAX

/* A place in the tree of paths: what comes after a prefix (docs/counted-paths.md). */
struct hp_path_node {
    uint32_t before;    /* the prefix; 0: a path starts here */
    uint8_t how;        /* enum hp_prefix_how: it is reached */
    uint8_t length;     /* of the prefix: struct hp_path_growth */
    uint16_t extension; /* likewise */
};

/* A thread of the program; GS points here. Offsets are in layout.h. */
struct hp_self {
    struct hp_self *self;
    uint64_t rcx, scratch1, scratch2;
    uint64_t target;
    uint32_t exit;
    _Atomic uint32_t pending;
    void *stack;
    uint64_t gs_base;
    uint64_t entry;
    uint64_t *address;
    struct hp_writer writer;
    uint64_t landing_mask; /* the target bits that select a landing */
    struct hp_regs regs;   /* the trap flag in it is the program's own */
    uint32_t native_gs, gs_by_call;
    uint64_t rseq;
    uint32_t unit, unit_begun;
    uint32_t *shadow;
    uint32_t from;

    /* Paths counted in the cache: see paths.h. */
    bool counting;
    uint32_t prefix, prefix_segment; /* that the thread is on, and its last block */
    uint32_t prefix_cut;             /* instructions of that that were run; HP_UNCUT: all */
    struct hp_path_node node;        /* where it goes on without a branch */
    uint32_t *shadow_low;            /* of the shadow stack: its first entry is never popped */
    uint32_t *shadow_high;

    _Atomic uint32_t where; /* enum hp_where */
    _Atomic uint32_t in_use;
    int32_t tid;
    struct hp_self *next_thread;

    uint64_t *address_end;       /* of the chunk of addresses (memory mode) */
    uint64_t *address_seen;      /* `address` when the last chunk of words was full */
    uint64_t probe_addresses[2]; /* of the instruction run natively */
    uint32_t n_probe_addresses;
    bool unread;           /* the addresses are no longer read */
    uint8_t *scratch_code; /* for hp_locate() */

    /* Signals. */
    struct hp_actions *actions;
    uint64_t mask; /* of the program, as it sees it */
    struct hp_altstack altstack;
    bool has_signal;         /* one was caught and waits for delivery; all others are blocked */
    bool has_write;          /* the program writes to translated code, at `write_address` */
    bool has_trap_flag;      /* its next instruction, POPF, sets it */
    bool has_breakpoint;     /* a hardware breakpoint was hit */
    bool stepping;           /* to a point where the cache can be left */
    bool stepping_unaligned; /* over an access of ours that fails the alignment check */
    bool probing;            /* runs one instruction natively, at regs.rip */
    bool probe_is_step;      /* because the program has set the trap flag */
    bool probe_pushes_flags; /* it is PUSHF, which must not show the engine's trap flag */
    bool probe_pops_flags;   /* POPF or IRET: the trap flag afterwards is the program's */
    uint64_t resume_flags;   /* for rt_sigreturn to add: the trap flag, HP_KEPT_FLAGS */
    uint32_t probe_id;       /* its segment; 0: a gap in the stream */
    bool has_call_mask;      /* inside a call that sets a temporary mask */
    uint64_t call_mask;
    uint64_t write_address;
    uint64_t lifted_seen; /* hp_guards_lifted at the last retried write */
    struct hp_siginfo info;
    uint8_t context[304]; /* the kernel's ucontext when the signal was caught */
    uint8_t *vectors;     /* the vector state that belongs to it */
    uint8_t *frame;       /* room for a signal frame */

    uint64_t fault_error, fault_number, fault_address; /* of the last fault the program saw */

    /* The x87 instruction pointer found last: in the cache, and in the program. */
    uint64_t x87_cache, x87_program, x87_flushes;

    int32_t process;   /* pid */
    uint32_t number;   /* of the process, in the arena */
    bool is_vforked;   /* shares its creator's memory */
    bool is_awaited;   /* by its creator, which frees this block */
    bool has_to_clear; /* its handlers, before it runs */
    bool is_traced;    /* by its own request */

    /* What filters.c refuses. */
    uint32_t restricted; /* HP_RESTRICTED_* */
    uint64_t dispatch_offset, dispatch_length, dispatch_selector;
};

_Static_assert(offsetof(struct hp_self, rcx) == HP_AT_RCX, "layout");
_Static_assert(offsetof(struct hp_self, scratch1) == HP_AT_SCRATCH1, "layout");
_Static_assert(offsetof(struct hp_self, scratch2) == HP_AT_SCRATCH2, "layout");
_Static_assert(offsetof(struct hp_self, target) == HP_AT_TARGET, "layout");
_Static_assert(offsetof(struct hp_self, exit) == HP_AT_EXIT, "layout");
_Static_assert(offsetof(struct hp_self, pending) == HP_AT_PENDING, "layout");
_Static_assert(offsetof(struct hp_self, stack) == HP_AT_STACK, "layout");
_Static_assert(offsetof(struct hp_self, gs_base) == HP_AT_GS_BASE, "layout");
_Static_assert(offsetof(struct hp_self, entry) == HP_AT_ENTRY, "layout");
_Static_assert(offsetof(struct hp_self, address) == HP_AT_ADDRESS, "layout");
_Static_assert(offsetof(struct hp_self, writer.next) == HP_AT_NEXT, "layout");
_Static_assert(offsetof(struct hp_self, landing_mask) == HP_AT_MASK, "layout");
_Static_assert(offsetof(struct hp_self, regs) == HP_AT_REGS, "layout");
_Static_assert(offsetof(struct hp_self, native_gs) == HP_AT_NATIVE, "layout");
_Static_assert(offsetof(struct hp_self, gs_by_call) == HP_AT_BY_CALL, "layout");
_Static_assert(offsetof(struct hp_self, rseq) == HP_AT_RSEQ, "layout");
_Static_assert(offsetof(struct hp_self, unit) == HP_AT_UNIT, "layout");
_Static_assert(offsetof(struct hp_self, unit_begun) == HP_AT_BEGUN, "layout");
_Static_assert(offsetof(struct hp_self, shadow) == HP_AT_SHADOW, "layout");
_Static_assert(offsetof(struct hp_self, from) == HP_AT_FROM, "layout");

/* The block of a new thread, its counters mapped if it has any; NULL: no memory. Its address is
 * put into GS by hp_thread_adopt(). */
struct hp_self *hp_thread_new(void);
void hp_thread_adopt(struct hp_self *self);
/* GS while the program's own code runs natively: its selector becomes 0; loads its base; reads
 * it. */
void hp_thread_null_gs(struct hp_self *self);
void hp_thread_give_gs(const struct hp_self *self);
uint64_t hp_thread_gs(const struct hp_self *self);

/* Whether the thread has ended, or is only a number (a zombie). */
bool hp_thread_is_dead(int32_t tid);

/* Whether no other thread uses this memory. */
bool hp_thread_is_alone(const struct hp_self *self);

/* The stack on which the thread catches signals. */
void *hp_thread_altstack(struct hp_self *self, uint64_t *size);

/* The thread is about to run for the first time: sets up its stream and signals. */
void hp_thread_start(struct hp_self *self);

/* All threads of the process: first, then ->next_thread; only those with `in_use`. */
extern struct hp_self *hp_threads;

static inline struct hp_self *hp_self(void)
{
    struct hp_self *self;
    __asm__("movq %%gs:0, %0" : "=r"(self));
    return self;
}

/* The number of the program's system call: the kernel looks at these bits only. */
static inline int32_t hp_call_number(const struct hp_self *self)
{
    return (int32_t)self->regs.r[RAX];
}

/* System calls that create threads and processes. */
bool hp_sys_clone(struct hp_self *self); /* false: a signal came first */
_Noreturn void hp_sys_exit(struct hp_self *self, bool group);

/* Makes the system call at `pc`, one instruction recorded as segment `id` (0: not recorded), and
 * continues after it. */
_Noreturn void hp_syscall_at(struct hp_self *self, uint64_t pc, uint32_t id);
_Noreturn void hp_on_child(struct hp_self *self);
_Noreturn void hp_thread_kill(struct hp_self *self); /* as by SIGKILL, this thread only */

/* Adds what this process did since the last call to the arena's statistics. */
void hp_process_add_stats(void);

/* In a forked child: the other threads are gone. */
void hp_threads_after_fork(struct hp_self *self);

/* Makes every other thread (`borrowers`: and every child that borrows our memory) leave the cache,
 * and checks up to `tries` times, 0.1 ms apart, whether each has. False: one has not; it may be
 * stopped, or be waiting for another inside an instruction. With the lock held: threads that have
 * left reenter after hp_unlock(). */
bool hp_threads_leave_cache(struct hp_self *self, unsigned tries, bool borrowers);

/* --- What the engine knows -------------------------------------------------------------------- */

struct hp_file_id {
    uint64_t device, inode;
};

struct hp_engine {
    struct hp_arena *arena;
    enum hp_record_mode mode;
    int arena_fd, engine_fd;
    struct hp_file_id arena_id,
        engine_id;    /* what is open there, unless the program took the number */
    uint32_t process; /* its number in the arena; 0: none yet */
    uint64_t room;    /* bytes of address space, or of private memory, available to the process */
    bool has_fsgsbase, has_pext, has_loop, has_xsave;
    bool flushes_often;              /* for tests */
    bool has_no_clock;               /* PR_SET_TSC: RDTSC faults */
    bool is_filtered;                /* the program has installed a seccomp filter */
    bool leaves_fatal;               /* fatal signals are left to the kernel: see filters.c */
    uint64_t stack_limit;            /* at start */
    uint64_t stack_for_signals;      /* enough bytes for the largest signal frame */
    char *program_path;              /* of the ELF file */
    uint64_t translate_tsc, lookups; /* this process; added to the arena's when it ends */
    uint64_t tsc_start, ns_start;
};
extern struct hp_engine hp_engine;

/* Identifies the open file; zeros: none. */
struct hp_file_id hp_file_id(int fd);

/* The processor's clock, 0 where the program has disabled reading it; and the nanoseconds that this
 * many ticks are. */
uint64_t hp_engine_ticks(void);
/* Nanoseconds of the monotonic clock, quickly where that is possible. */
uint64_t hp_engine_now(void);
uint64_t hp_engine_ns(uint64_t ticks);

/* The lock of translation: cache, tables, maps, memory. Never taken on the executed path. */
void hp_lock(void);
bool hp_try_lock(void); /* false: another thread has it */
void hp_unlock(void);
void hp_lock_break(void); /* its holder will never return */

/* --- The executed path (gates.S) -------------------------------------------------------------- */

/* Addresses that translated code jumps to. */
void hp_gate_exit(void);    /* an exit that is not linked: its number is in HP_AT_EXIT */
void hp_gate_miss(void);    /* an indirect transfer to HP_AT_TARGET; rcx is in HP_AT_RCX */
void hp_gate_syscall(void); /* a system call; exit number */
void hp_gate_far(void);     /* a far transfer, at the exit's target; exit number */
void hp_gate_int80(void);   /* a system call by int 0x80; exit number */
void hp_gate_x87(void);     /* after an instruction that stored x87 state; exit number */
void hp_gate_slot(void);    /* as a miss, of a segment that waits for a slot; exit number */
void hp_gate_place(void);   /* a return to a place (paths.h), the last one that was popped */
void hp_gate_resume(void);  /* continue at HP_AT_TARGET; all registers are the program's */

/* Enters the cache at self->entry, or calls hp_on_pending() and then enters. Does not return. */
_Noreturn void hp_enter(struct hp_self *self);

/* The same for the program's own code, at self->regs.rip and with its own GS. */
_Noreturn void hp_enter_native(struct hp_self *self);

/* The parts of gates.S by which a signal handler identifies what was interrupted. */
extern const char hp_gates_begin[], hp_gates_end[], hp_enter_end[], hp_enter_native_end[];
void hp_gate_pending(void);
extern const char hp_syscall_begin[], hp_syscall_insn[], hp_syscall_end[];

/* Another place that makes calls for the program: its filters apply to them (filters.c). */
long hp_judged_call(long number, long a, long b, long c, long d, long e);
extern const char hp_judged_end[], hp_clone_end[], hp_exit_end[], hp_sigreturn_end[];

#define HP_SYSCALL_LENGTH 2 /* bytes of the instruction */

/* Makes the system call in self->regs, unless something is pending: then false. */
bool hp_raw_syscall(struct hp_self *self);

/* The same by int 0x80; -1: this kernel does not support it. */
int hp_raw_int80(struct hp_self *self);
extern const char hp_int80_begin[], hp_int80_insn[], hp_int80_end[], hp_int80_failed[];

/* Copies memory that may be unmapped; false when it was. */
bool hp_copy(void *to, const void *from, uint64_t size);
extern const char hp_copy_begin[], hp_copy_end[], hp_copy_failed[];

/* Deliberate faults: release.c. */
enum hp_fault {
    HP_FAULT_DIVIDE,
    HP_FAULT_STEP,
    HP_FAULT_BREAK,
    HP_FAULT_OVERFLOW,
    HP_FAULT_UNDEFINED,
    HP_FAULT_PROTECTION,
    HP_FAULT_READ, /* accesses `address`; faults only if that is bad */
    HP_FAULT_WRITE,
};
void hp_fault(enum hp_fault how, uint64_t address);
extern const char hp_fault_begin[], hp_fault_end[];

struct hp_clone_call {
    uint64_t number, args[5];
    struct hp_self *self;
    uint64_t by_arch_prctl;
};
long hp_clone(const struct hp_clone_call *call);
_Noreturn void hp_exit_thread(_Atomic uint32_t *in_use, int status);
_Noreturn void hp_sigreturn(void *frame);
_Noreturn void hp_sigreturn_native(void *frame, uint64_t gs, uint64_t by_call);
void hp_save_vectors(void *area);
void hp_restorer(void);
void hp_reset_vectors(const void *area);

/* Called by the gates, in C. Each ends in hp_enter(). */
_Noreturn void hp_on_exit(struct hp_self *self);
_Noreturn void hp_on_miss(struct hp_self *self);
_Noreturn void hp_on_slot(struct hp_self *self);
_Noreturn void hp_on_place(struct hp_self *self);
_Noreturn void hp_on_syscall(struct hp_self *self);
_Noreturn void hp_on_far(struct hp_self *self);
_Noreturn void hp_on_int80(struct hp_self *self);
_Noreturn void hp_on_x87(struct hp_self *self);
_Noreturn void hp_on_resume(struct hp_self *self);
_Noreturn void hp_on_pending(struct hp_self *self);

/* Continues at program address `pc` with the registers in self->regs. */
_Noreturn void hp_go_on(struct hp_self *self, uint64_t pc);

/* Continues at `pc`, the target of the indirect transfer that ends segment `id`. */
_Noreturn void hp_go_on_from(struct hp_self *self, uint32_t id, uint64_t pc);

/* The addresses of the instruction's memory operands, with the registers in self->regs; returns how
 * many. */
struct hp_x86;
unsigned hp_operands(const struct hp_self *self, const uint8_t *bytes, const struct hp_x86 *insn,
                     uint64_t pc, uint64_t addresses[2]);

/* Whether it is SYSENTER, which enters 32-bit code. */
bool hp_is_sysenter(uint64_t pc);

/* Runs the one instruction at `pc` natively, then continues. `counts`: it is known and recorded;
 * otherwise it is a gap in the stream. */
_Noreturn void hp_probe(struct hp_self *self, uint64_t pc, bool counts);
/* The same for the instruction at self->regs.rip, because the program has set the trap flag. */
_Noreturn void hp_step(struct hp_self *self);
/* It has run, or (`failed`) could not: regs are the program's. */
void hp_probe_done(struct hp_self *self, bool failed);

/* --- Letting go (release.c) ------------------------------------------------------------------- */

/*
 * Lets the process go: all its threads run the program's own code from now on, this one at `pc`.
 * The kernel gets the program's signal handlers, masks and signal stacks, so the engine is out of
 * the way. `why` is for the report. Call it at a clean point, without the lock.
 */
_Noreturn void hp_release(struct hp_self *self, uint64_t pc, const char *why);

/* Whether that has happened; and what a thread does then instead of entering the cache. */
extern _Atomic bool hp_released;
_Noreturn void hp_leave(struct hp_self *self);

/* The kernel reports a thread's last fault in every signal frame. Repeats the program's last fault,
 * so that a thread about to be let go finds its own and not one of the engine's. Only while the
 * engine's handlers are installed, and without a tracer. */
void hp_release_fault(const struct hp_self *self);
extern _Atomic bool hp_releasing; /* waiting until the other threads can be let go */

/* The engine itself failed, at `at`. The program continues natively if its state is known;
 * otherwise it is killed with a message. */
_Noreturn void hp_crashed(struct hp_self *self, uint64_t at);

/* --- The stream (words.c) --------------------------------------------------------------------- */

/* Makes room for at least one word, followed by a guard page. */
void hp_words_refill(struct hp_self *self);
void hp_words_event(struct hp_self *self, uint32_t word, const uint32_t *payload, int n);
/* Segment `id` ran to its end, which is not an indirect transfer, and the thread arrived at `to`;
 * `taken` as in hp_counter. */
void hp_words_ran(struct hp_self *self, uint32_t id, bool taken, uint64_t to);
/* The same for an end that is an indirect transfer, to segment `entered`; 0: there is none. */
void hp_words_ran_to(struct hp_self *self, uint32_t id, uint32_t entered, uint64_t to);
/* It ran, but only `insns` instructions of its last block. */
void hp_words_ran_part(struct hp_self *self, uint32_t id, uint32_t insns);
/* The system call that ended the segment, already recorded, will be made again, or does not return:
 * `insns` of its last block count, and the code after it was not entered. */
void hp_words_not_ended(struct hp_self *self, uint32_t id, uint32_t insns);
/* What was run and is recorded has brought the thread to this address; it goes on there. In count
 * mode the two may differ (HP_WORD_MOVED). */
void hp_words_arrived(struct hp_self *self, uint64_t at);
void hp_words_go_on(struct hp_self *self, uint64_t at);
/* The thread has ended. */
void hp_words_finish(struct hp_self *self, enum hp_end_reason reason);
/* Memory mode: maps the ring of addresses; the ring of words exists. */
void hp_addresses_open(struct hp_self *self);
void hp_addresses_put(struct hp_self *self, uint64_t address);
/* The thread, this one or a stopped one, writes no more: publishes how many there are. */
void hp_addresses_finish_thread(struct hp_self *self);
void hp_addresses_go_on(struct hp_self *self); /* it does after all */
/* A write of a word or an address at `address` hit the end of a chunk: redirects the instruction at
 * `pc` (see words.c); false when it was no such write. */
bool hp_words_fault(struct hp_self *self, uint64_t address, const uint8_t *pc, uint64_t r[16]);

/* --- Code in memory (maps.c) ------------------------------------------------------------------ */

struct hp_mapped_place {
    uint64_t low;    /* where the mapping begins */
    uint64_t base;   /* of its module */
    uint64_t high;   /* end of the mapping, or of adjacent executable ones */
    uint32_t module; /* record id */
    bool executable;
    bool writable; /* there, or possibly through another mapping of the same file */
    bool solid;    /* a file's code: when any part of it changes, all translations of it go */
};

/* What is mapped at `address`; false: nothing. With the lock held. */
bool hp_maps_find(struct hp_self *self, uint64_t address, struct hp_mapped_place *place);
/* Makes the program's system call in self->regs, which changes mappings, and records the change.
 * False: a signal came first. Takes the lock. */
bool hp_maps_call(struct hp_self *self);
/* The program wrote to a file: drops code from shared mappings of it. Takes the lock. */
void hp_maps_written(int fd);
/* At loading: an executable part of a file; the kernel's own code. */
void hp_maps_loaded(uint64_t low, uint64_t high, int prot, const char *path, uint64_t base);
void hp_maps_vdso(uint64_t at);

/* --- Writable code (guards.c) ----------------------------------------------------------------- */

/* The pages of [low, high) hold code that has just been translated. Those that are writable there,
 * or through another mapping of the same file, become read-only until they are written. False: not
 * possible. With the lock held. */
bool hp_guards_set(uint64_t low, uint64_t high);
/* Whether a guard stops a write to `address`. Without the lock. */
bool hp_guards_have(uint64_t address);
/* Makes the pages writable again and drops their translations. True when any was guarded. Takes the
 * lock. */
bool hp_guards_lift(uint64_t low, uint64_t high);
/* Whether there are any guards. Without the lock. */
bool hp_guards_any(void);
/* How often guards were lifted: a thread that was stopped by one may find it gone. */
extern _Atomic uint64_t hp_guards_lifted;
/* Like hp_guards_lift(), with the lock held. */
bool hp_guards_remove(uint64_t low, uint64_t high);
/* Calls `each` with every page that is guarded. With the lock held. */
void hp_guards_each(void (*each)(uint64_t page));

/* Copies into the program's memory; false when it cannot be written. */
bool hp_put(uint64_t to, const void *from, uint64_t size);

/* The kernel may write to the program's memory in the system call about to be made: lifts the
 * guards that would stop it (writes.c). Only where there are guards. */
void hp_writes_prepare(struct hp_self *self);

/* --- Signals (signals.c) ---------------------------------------------------------------------- */

void hp_signals_start(struct hp_self *self); /* once per process */
void hp_signals_clear(struct hp_self *self); /* removes all handlers */
/* Signals that kill by default do so without the engine: hp_engine.leaves_fatal. */
void hp_signals_leave_fatal(struct hp_self *self);
/* The kernel gets the program's handlers. */
void hp_signals_give_back(const struct hp_self *self);
void hp_signals_thread(struct hp_self *self); /* once per thread: its alternate stack */
/* The signal actions of a child that shares our memory: the same, or a copy of its own. NULL: no
 * memory. */
struct hp_actions *hp_actions_for_child(struct hp_actions *parent, bool shared);
void hp_actions_drop(struct hp_actions *actions); /* a thread no longer uses it */
void hp_actions_after_fork(struct hp_actions *mine);
/* Delivers the signal in self->info at the point where the registers are self->regs. */
void hp_signals_deliver(struct hp_self *self);
/* Sets the kernel's mask for the program's mask. */
void hp_signals_set_mask(struct hp_self *self);
/* System calls; false: a signal came first, and the call must be made again. */
bool hp_sys_sigaction(struct hp_self *self);
bool hp_sys_sigaltstack(struct hp_self *self);
bool hp_sys_sigprocmask(struct hp_self *self);
/* arch_prctl: the program requests more vector state. Frames on its signal stacks must have room
 * for it. */
bool hp_sys_permit_state(struct hp_self *self);
_Noreturn void hp_sys_sigreturn(struct hp_self *self);
#define HP_SIGNAL_STOP                                                                             \
    64 /* the engine's own, between its threads, when it comes with this code                      \
        */
#define HP_STOP_CODE (-0x68706174)
/* Signals that the kernel must never block: instructions may raise them, the program's or, for all
 * but ILL and FPE, the engine's (steps, ends of chunks, guards, bad addresses). */
#define HP_SIGNALS_SYNC                                                                            \
    (1ull << (4 - 1) | 1ull << (5 - 1) | 1ull << (7 - 1) | 1ull << (8 - 1) | 1ull << (11 - 1) |    \
     1ull << (HP_SIGNAL_STOP - 1))

/* One of these was sent while the program blocks it, or while another signal waits
 * (signals_held.c): keeps it, or sends it to another thread. False: it can be delivered. In a
 * signal handler. */
bool hp_signals_hold(struct hp_self *self, const struct hp_siginfo *info);
/* The thread's mask has changed: sends the held signals that it no longer blocks. */
void hp_signals_let_go_held(const struct hp_self *self);
/* Whether the thread has held signals. For the duration of a system call the kernel gets them, with
 * `mask`, the program's own; hp_signals_set_mask() ends that. */
bool hp_signals_any_held(const struct hp_self *self);
void hp_signals_to_kernel(const struct hp_self *self, uint64_t mask);
void hp_signals_forget_held(void); /* a forked child has none */

/* Sends the thread a signal that it can neither block nor ignore, like one raised by an
 * instruction. False: another signal came first. */
bool hp_signals_force(struct hp_self *self, const struct hp_siginfo *info);
_Noreturn void hp_signals_die(struct hp_self *self, int number); /* it ends the process */

/* --- Restrictions of system calls (filters.c) ------------------------------------------------- */

#define HP_RESTRICTED_STRICT   1u /* seccomp's strict mode */
#define HP_RESTRICTED_DISPATCH 2u /* calls are returned to the program as SIGSYS */

enum hp_verdict { HP_CALL_MADE, HP_CALL_OVER, HP_CALL_AGAIN };

/* Whether the restricted thread may make its call; OVER: no, and the consequence is handled. */
enum hp_verdict hp_filters_judge(struct hp_self *self);
/* Whether filters will distinguish the calls of an engine executed now from the program's. */
bool hp_filters_know_next(void);
/* A call made in a judged place returned as a filter's signal (SIGSYS): it was not made. */
bool hp_filters_trapped(const struct hp_self *self);
/* System calls; false: a signal came first. */
bool hp_sys_prctl(struct hp_self *self);
bool hp_sys_seccomp(struct hp_self *self);

/* --- Starting programs (load.c, exec.c) ------------------------------------------------------- */

struct hp_image {
    uint64_t entry; /* of the interpreter if there is one */
    uint64_t program_entry;
    uint64_t interpreter; /* its base, 0: none */
    uint64_t headers;     /* address of the program headers */
    uint64_t n_headers, header_size;
    bool executable_stack; /* the program asks for one (PT_GNU_STACK) */
};

/* The program cannot run in the engine, and nothing has been started yet: executes it natively. The
 * reader is told why. */
_Noreturn void hp_run_natively(const char *what, const char *why);

/* Maps the ELF file and its interpreter. A file that cannot be loaded is run natively. */
void hp_load(const char *path, struct hp_image *image);

/* The program executes another one: prepares it to be observed, and executes it. Returns the error
 * like execve. args: as for execveat (dirfd, path, argv, envp, flags). */
long hp_exec(struct hp_self *self, const uint64_t args[5]);
#define HP_EXEC_AGAIN (-512) /* a signal came first: deliver it and repeat the call */

/* The process is let go, but to the kernel it is still the engine. If it executes /proc/self/exe,
 * the engine finds the program to execute instead in place of its own file's descriptor. */
void hp_exec_let_go(void);

/* Whether another process traces this thread: the tracer wants to see the program, not an
 * engine. */
bool hp_is_traced(const struct hp_self *self);

/* Called by hp_exec() just before an exec that should succeed: `path` is the file that will run (as
 * the program named it if nothing better is known), `observed` whether in an engine. */
void hp_exec_announce(struct hp_self *self, const char *path, bool observed);

/* --- Memory and text (libc.c) ----------------------------------------------------------------- */

/* Zeroed memory from the kernel. NULL: none. */
void *hp_pages(uint64_t size);
/* Aligned to `align`, a power of two; it cannot be given back. */
void *hp_pages_aligned(uint64_t size, uint64_t align);
void hp_pages_give_back(void *pages, uint64_t size);
/* The address range it usually comes from. */
void hp_pages_span(uint64_t *low, uint64_t *high);

/* The first part of [low, high) that is the engine's own memory (ours.c), in full; false: none
 * is. */
struct hp_span {
    uint64_t low, high;
};
bool hp_ours(uint64_t low, uint64_t high, struct hp_span *found);

/* Appends the decimal digits; returns the end. */
char *hp_put_number(char *to, int number);

/* Prints a line to stderr, "hotpath: ..."; only for what the user must know. */
void hp_say(const char *text, const char *detail);

/* --- Limits of memory (limits.c) -------------------------------------------------------------- */

void hp_limits_start(void);
/* getrlimit, setrlimit, prlimit64; false: a signal came first. */
bool hp_sys_limit(struct hp_self *self);
/* An exec begins that will probably succeed; or it has failed. */
void hp_limits_exec(bool begins);
/* Whether brk(at) is within the limits the program has set. */
bool hp_limits_let_heap_end(uint64_t at);

#endif
