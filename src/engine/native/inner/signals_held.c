// SPDX-License-Identifier: MIT
/*
 * Signals that the program blocks but the engine must not (its own instructions may raise them).
 * When one is *sent*, it is caught anyway and held here until the program unblocks it. So is one
 * that comes while another waits for delivery. During a system call the kernel has them: it gets
 * the program's own mask, and held signals are sent again, so that sigpending(), sigwait(),
 * signalfd and the like see them.
 *
 * Handlers insert and threads remove without a lock: a slot is free, busy or full.
 */
#include "engine/native/inner/signals_impl.h"
#include "engine/native/inner/sys.h"

#define HELD_MAX     64 /* more are lost, as when the kernel's queue is full */
#define SI_TKILL_    (-6)
#define REALTIME_MIN 32

enum { FREE, BUSY, FULL };

struct held {
    _Atomic uint32_t state;
    int32_t process;
    int32_t tid; /* 0: for any thread of the process */
    struct hp_siginfo info;
};

static struct held held[HELD_MAX];
static _Atomic uint32_t n_held;

static uint64_t bit_of(int number)
{
    return 1ull << (number - 1);
}

static uint64_t mask_of(const struct hp_self *self)
{
    return self->has_call_mask ? self->call_mask : self->mask;
}

static bool is_for(const struct held *h, const struct hp_self *self)
{
    return h->process == self->process && (h->tid == 0 || h->tid == self->tid);
}

/* Only real-time signals queue. */
static bool is_held_already(const struct hp_self *self, int number, int32_t tid)
{
    for (int i = 0; number < REALTIME_MIN && i < HELD_MAX; i++)
        if (held[i].state == FULL && held[i].info.signo == number && held[i].tid == tid &&
            held[i].process == self->process)
            return true;
    return false;
}

static void put(const struct hp_self *self, const struct hp_siginfo *info, int32_t tid)
{
    for (int i = 0; i < HELD_MAX; i++) {
        uint32_t expected = FREE;
        if (!atomic_compare_exchange_strong(&held[i].state, &expected, BUSY))
            continue;
        held[i].process = self->process;
        held[i].tid = tid;
        held[i].info = *info;
        atomic_fetch_add(&n_held, 1);
        atomic_store(&held[i].state, FULL);
        return;
    }
}

/* Another thread of the process that does not block the signal. */
static const struct hp_self *find_taker(const struct hp_self *self, int number)
{
    for (const struct hp_self *t = hp_threads; t; t = t->next_thread)
        if (t != self && t->in_use && t->tid && t->process == self->process &&
            !(mask_of(t) & bit_of(number)))
            return t;
    return NULL;
}

bool hp_signals_hold(struct hp_self *self, const struct hp_siginfo *info)
{
    int number = info->signo;
    uint64_t blocked = self->has_signal ? HP_SIGSET_ALL : HP_SIGNALS_SYNC & mask_of(self);
    if (!(blocked & bit_of(number)))
        return false;
    bool for_thread = info->code == SI_TKILL_;
    const struct hp_self *taker = for_thread ? NULL : find_taker(self, number);
    int32_t tid = for_thread ? self->tid : 0;
    if (taker)
        hp_sys4(SYS_rt_tgsigqueueinfo, self->process, taker->tid, number, (long)info);
    else if (!is_held_already(self, number, tid))
        put(self, info, tid);
    return true;
}

/* Sends again what is held for the thread and in `set`: one of each number, as a second would be
 * merged with the first. */
static void send_again(const struct hp_self *self, uint64_t set)
{
    uint64_t sent = 0;
    bool is_alone = hp_thread_is_alone(self);
    for (int i = 0; i < HELD_MAX; i++) {
        uint32_t expected = FULL;
        if (atomic_load_explicit(&held[i].state, memory_order_relaxed) != FULL ||
            !atomic_compare_exchange_strong(&held[i].state, &expected, BUSY))
            continue;
        if (!is_for(&held[i], self) || !(set & ~sent & bit_of(held[i].info.signo))) {
            atomic_store(&held[i].state, FULL);
            continue;
        }
        struct hp_siginfo info = held[i].info;
        bool for_process = held[i].tid == 0 && is_alone; /* or another thread may get it */
        if (info.signo < REALTIME_MIN)
            sent |= bit_of(info.signo);
        atomic_fetch_sub(&n_held, 1);
        atomic_store(&held[i].state, FREE);
        if (for_process)
            hp_sys3(SYS_rt_sigqueueinfo, self->process, info.signo, (long)&info);
        else
            hp_sys4(SYS_rt_tgsigqueueinfo, self->process, self->tid, info.signo, (long)&info);
    }
}

void hp_signals_let_go_held(const struct hp_self *self)
{
    if (atomic_load_explicit(&n_held, memory_order_relaxed))
        send_again(self, ~self->mask);
}

bool hp_signals_any_held(const struct hp_self *self)
{
    for (int i = 0; atomic_load_explicit(&n_held, memory_order_relaxed) && i < HELD_MAX; i++)
        if (held[i].state == FULL && is_for(&held[i], self))
            return true;
    return false;
}

void hp_signals_to_kernel(const struct hp_self *self, uint64_t mask)
{
    hp_sys4(SYS_rt_sigprocmask, 2, (long)&mask, 0, 8);
    send_again(self, HP_SIGSET_ALL);
}

void hp_signals_forget_held(void)
{
    for (int i = 0; i < HELD_MAX; i++)
        atomic_store(&held[i].state, FREE);
    atomic_store(&n_held, 0);
}
