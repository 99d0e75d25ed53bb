// SPDX-License-Identifier: MIT
/*
 * Limits of the address space and of data (RLIMIT_AS, RLIMIT_DATA) that the program sets for
 * itself. It means its own memory, but the kernel counts the engine's too. So the limit is raised
 * by that much, and the program is shown what it has set. A program it executes starts with the
 * limit as set: the next engine then takes little (main.c).
 *
 * A child of vfork() shares this state with its parent, but has its own limits: it sets what was
 * requested, since it will execute something.
 */
#include "engine/native/inner/inner.h"
#include "engine/native/inner/sys.h"

#include <string.h>
#include <sys/resource.h>

#define SPARE (64ull << 20) /* for the engine's future needs */

struct limit { /* as the kernel has it */
    uint64_t now, most;
};

static struct known {
    bool is_set;
    struct limit asked, given; /* by the program, to the kernel */
} known[2];                    /* RLIMIT_AS, RLIMIT_DATA */

static uint64_t heap_start;

static struct known *known_of(uint64_t resource)
{
    if ((uint32_t)resource == RLIMIT_AS)
        return &known[0];
    return (uint32_t)resource == RLIMIT_DATA ? &known[1] : NULL;
}

static bool same(const struct limit *a, const struct limit *b)
{
    return a->now == b->now && a->most == b->most;
}

/* The program's limit, if the kernel still has the one given for it. Others may have changed it. */
static struct limit as_asked(const struct known *of, const struct limit *real)
{
    return of->is_set && same(&of->given, real) ? of->asked : *real;
}

/* The arena is not data: it is shared. */
static uint64_t engine_size(bool of_data)
{
    struct hp_span ours;
    uint64_t size = SPARE;
    for (uint64_t at = 0; hp_ours(at, UINT64_MAX, &ours); at = ours.high)
        if (!of_data || ours.low != (uint64_t)(uintptr_t)hp_engine.arena)
            size += ours.high - ours.low;
    return size;
}

static uint64_t raise(uint64_t limit, uint64_t by, uint64_t most)
{
    uint64_t raised = limit > UINT64_MAX - by ? UINT64_MAX : limit + by;
    return raised < most ? raised : most;
}

/* The limit to give the kernel for `asked`: no more than the process may set. */
static struct limit with_engine(const struct known *of, const struct limit *asked,
                                const struct limit *real)
{
    uint64_t by = engine_size(of == &known[1]);
    bool is_lower = asked->most <= as_asked(of, real).most;
    struct limit given;
    given.most = raise(asked->most, by, is_lower ? real->most : UINT64_MAX);
    given.now = raise(asked->now, by, given.most);
    return given;
}

static bool read_real(uint64_t resource, struct limit *to)
{
    return !hp_sys_failed(hp_sys4(SYS_prlimit64, 0, (long)(uint32_t)resource, 0, (long)to));
}

/* Makes the call with an adjusted copy of the new limit that register `reg` points to. */
static bool set(struct hp_self *self, struct known *of, int reg, const struct limit *real)
{
    uint64_t *r = self->regs.r, at = r[reg];
    struct limit asked;
    if (!hp_copy(&asked, (const void *)at, sizeof asked) || asked.now > asked.most)
        return hp_raw_syscall(self);
    struct limit given = with_engine(of, &asked, real);
    r[reg] = (uint64_t)(uintptr_t)&given;
    bool done = hp_raw_syscall(self);
    r[reg] = at;
    if (done && !hp_sys_failed((long)r[RAX]))
        *of = (struct known){true, asked, given};
    return done;
}

/* `set_in`, `get_in`: the registers that point to the new limit and to where the old one is stored;
 * -1: none. */
static bool get_and_set(struct hp_self *self, struct known *of, uint64_t resource, int set_in,
                        int get_in)
{
    uint64_t *r = self->regs.r;
    struct limit real;
    if (!read_real(resource, &real))
        return hp_raw_syscall(self);
    struct limit old = as_asked(of, &real);
    bool sets = set_in >= 0 && r[set_in] && !self->is_vforked;
    bool done = sets ? set(self, of, set_in, &real) : hp_raw_syscall(self);
    if (done && !hp_sys_failed((long)r[RAX]) && get_in >= 0 && r[get_in])
        hp_put(r[get_in], &old, sizeof old);
    return done;
}

bool hp_sys_limit(struct hp_self *self)
{
    const uint64_t *r = self->regs.r;
    int32_t number = hp_call_number(self);
    bool both = number == SYS_prlimit64;
    uint64_t resource = both ? r[RSI] : r[RDI];
    struct known *of = known_of(resource);
    if (!of || (both && (int)r[RDI] != 0 && (int)r[RDI] != self->process))
        return hp_raw_syscall(self);
    if (both)
        return get_and_set(self, of, resource, RDX, R10);
    return get_and_set(self, of, resource, number == SYS_setrlimit ? RSI : -1,
                       number == SYS_getrlimit ? RSI : -1);
}

void hp_limits_exec(bool begins)
{
    static const uint32_t resources[] = {RLIMIT_AS, RLIMIT_DATA};
    for (int i = 0; i < 2; i++) {
        struct limit real;
        const struct limit *from = begins ? &known[i].given : &known[i].asked;
        const struct limit *to = begins ? &known[i].asked : &known[i].given;
        if (known[i].is_set && read_real(resources[i], &real) && same(&real, from))
            hp_sys4(SYS_prlimit64, 0, resources[i], (long)to, 0);
    }
}

void hp_limits_start(void)
{
    heap_start = (uint64_t)hp_sys1(SYS_brk, 0);
}

/* The kernel checks the heap by itself against the data limit. */
bool hp_limits_let_heap_end(uint64_t at)
{
    struct limit real;
    return !known[1].is_set || at < heap_start || at - heap_start <= known[1].asked.now ||
           !read_real(RLIMIT_DATA, &real) || !same(&real, &known[1].given);
}
