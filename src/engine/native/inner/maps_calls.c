// SPDX-License-Identifier: MIT
/*
 * The program's calls that change its mappings. If code may be affected, the lock is held over the
 * call, so that the list matches what was done: before the call, code from there is dropped and the
 * pages get the program's protection; after it the list is updated. Other calls run without the
 * lock.
 */
#include "engine/native/inner/maps.h"
#include "engine/native/inner/sys.h"

#include <errno.h>
#include <linux/ipc.h>
#include <linux/mman.h>
#include <linux/shm.h>
#include <string.h>
#include <sys/stat.h>

static uint64_t page_up(uint64_t address)
{
    return (address + 4095) & ~(uint64_t)4095;
}

static struct hp_span span(uint64_t low, uint64_t size)
{
    uint64_t high = low + page_up(size);
    return high > low ? (struct hp_span){low, high} : (struct hp_span){0, 0};
}

/* --- Before the call -------------------------------------------------------------------------- */

static uint64_t brk_now(void)
{
    return (uint64_t)hp_sys1(SYS_brk, 0);
}

static uint64_t shm_size(uint64_t id)
{
    struct shmid64_ds ds;
    return hp_sys_failed(hp_sys3(SYS_shmctl, (long)id, IPC_STAT, (long)&ds)) ? 0 : ds.shm_segsz;
}

/* The extent of what was attached there. */
static struct hp_span attached(uint64_t low)
{
    const struct hp_range *range = hp_ranges_at(&hp_maps, low);
    struct hp_span all = {low, low};
    for (; range && range->low <= low && range < hp_maps.items + hp_maps.n &&
           range->inode == hp_ranges_at(&hp_maps, low)->inode && range->low <= all.high;
         range++)
        all.high = range->high;
    return all;
}

static bool discards(uint64_t advice)
{
    return advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE ||
           advice == 24 /* MADV_DONTNEED_LOCKED */ || advice == 102 /* MADV_GUARD_INSTALL */;
}

/* The existing mappings that the call changes if it succeeds. mremap has two such spans. */
static void look_ahead(const uint64_t *r, struct hp_span spans[2])
{
    spans[0] = spans[1] = (struct hp_span){0, 0};
    switch (r[RAX]) {
    case SYS_mmap:
        if (r[R10] & MAP_FIXED)
            spans[0] = span(r[RDI], r[RSI]);
        break;
    case SYS_mremap:
        spans[0] = span(r[RDI], r[RSI] ? r[RSI] : r[RDX]); /* 0: maps the same memory again */
        if (r[R10] & MREMAP_FIXED)
            spans[1] = span(r[R8], r[RDX]);
        break;
    case SYS_brk: {
        uint64_t now = page_up(brk_now()), wanted = page_up(r[RDI]);
        if (r[RDI] && wanted < now)
            spans[0] = (struct hp_span){wanted, now};
        break;
    }
    case SYS_madvise:
        if (discards(r[RDX]))
            spans[0] = span(r[RDI], r[RSI]);
        break;
    case SYS_shmat:
        if (r[RDX] & SHM_REMAP)
            spans[0] = span(r[RSI], shm_size(r[RDI]));
        break;
    case SYS_shmdt: spans[0] = attached(r[RDI]); break;
    default: spans[0] = span(r[RDI], r[RSI]); break; /* the others */
    }
}

/* --- After the call --------------------------------------------------------------------------- */

/* Translated code may be written through this mapping. */
static void note_alias(const struct hp_range *range)
{
    if (range->shared && range->prot & PROT_WRITE)
        hp_maps_file_changed(range->inode, range->offset,
                             range->offset + (range->high - range->low));
}

static void note_aliases(uint64_t low, uint64_t high)
{
    for (uint32_t i = hp_ranges_from(&hp_maps, low);
         hp_maps_shared_code && i < hp_maps.n && hp_maps.items[i].low < high; i++)
        note_alias(&hp_maps.items[i]);
}

static uint64_t n_anonymous;

static void mapped(struct hp_self *self, const uint64_t *r, uint64_t low)
{
    bool anonymous = r[R10] & MAP_ANONYMOUS, shared = r[R10] & MAP_SHARED;
    struct hp_range range = {.low = low,
                             .high = low + page_up(r[RSI]),
                             .offset = r[R9],
                             .path = anonymous && !shared ? hp_maps_no_path : NULL,
                             .base = low,
                             .prot = r[RDX] & (PROT_READ | PROT_WRITE | PROT_EXEC),
                             .shared = shared};
    struct stat st;
    hp_maps_drop(self, range.low, range.high);
    if (!shared && !(range.prot & PROT_EXEC))
        return;
    if (shared && anonymous) /* private to the process: any number will do */
        range.inode = 1ull << 63 | ++n_anonymous;
    else if (shared && !hp_sys_failed(hp_sys2(SYS_fstat, (long)r[R8], (long)&st)))
        range.inode = st.st_ino;
    hp_ranges_put(&hp_maps, &range);
    note_alias(&range);
}

/* Copies what is known about [from, from + size) to `to`. */
static void copy(uint64_t from, uint64_t size, uint64_t to)
{
    for (uint64_t at = from; at < from + size;) {
        uint32_t i = hp_ranges_from(&hp_maps, at);
        if (i == hp_maps.n || hp_maps.items[i].low >= from + size)
            return;
        struct hp_range range = hp_maps.items[i];
        at = range.high;
        if (range.low < from) {
            range.offset += from - range.low;
            range.low = from;
        }
        if (range.high > from + size)
            range.high = from + size;
        range.low += to - from;
        range.high += to - from;
        range.base = range.low;
        if (range.inode)
            range.path = NULL;
        range.module = 0;
        range.used = false;
        hp_ranges_put(&hp_maps, &range);
        note_alias(&range);
    }
}

static void moved(struct hp_self *self, const uint64_t *r, uint64_t to)
{
    uint64_t from = r[RDI], old = page_up(r[RSI]), new = page_up(r[RDX]), common = old;
    if (old == 0) /* maps the same memory again */
        common = new;
    else if (new < old)
        common = new;
    if (to != from) {
        hp_maps_drop(self, to, to + new);
        copy(from, common, to);
        if (old && !(r[R10] & MREMAP_DONTUNMAP))
            hp_maps_drop(self, from, from + old);
    } else if (old > new) {
        hp_maps_drop(self, from + new, from + old);
    }
    const struct hp_range *last = new > common ? hp_ranges_at(&hp_maps, to + common - 1) : NULL;
    if (last) {
        struct hp_range more = *last;
        more.offset += to + common - more.low;
        more.low = to + common;
        more.high = to + new;
        more.used = false;
        hp_ranges_put(&hp_maps, &more);
        note_alias(&more);
    }
}

/* Drops shared code: it may be written through what was attached. */
static void forget_shared_code(void)
{
    for (uint32_t i = 0; i < hp_maps.n; i++)
        if (hp_maps.items[i].shared && hp_maps.items[i].used)
            hp_cache_invalidate(hp_maps.items[i].low, hp_maps.items[i].high);
}

static void account(struct hp_self *self, const uint64_t *r, const struct hp_span *span,
                    uint64_t result)
{
    switch (r[RAX]) {
    case SYS_mmap: mapped(self, r, result); break;
    case SYS_mremap: moved(self, r, result); break;
    case SYS_munmap:
    case SYS_shmdt: hp_maps_drop(self, span->low, span->high); break;
    case SYS_brk:
        if (span->high && page_up(result) == span->low) /* otherwise it failed */
            hp_maps_drop(self, span->low, span->high);
        break;
    case SYS_mprotect:
    case SYS_pkey_mprotect:
        hp_ranges_protect(&hp_maps, span->low, span->high,
                          r[RDX] & (PROT_READ | PROT_WRITE | PROT_EXEC));
        note_aliases(span->low, span->high);
        if (r[RDX] & (PROT_GROWSDOWN | PROT_GROWSUP))
            hp_maps_doubt(); /* affects more than the given range */
        break;
    case SYS_shmat: /* irrelevant while such memory holds no code */
        if (r[RDX] & (SHM_EXEC | SHM_REMAP) || hp_maps_shared_code) {
            forget_shared_code();
            hp_maps_doubt();
        }
        break;
    case SYS_remap_file_pages: hp_maps_doubt(); break;
    default: break;
    }
}

void hp_maps_written(int fd)
{
    struct stat st;
    if (!hp_maps_shared_code || hp_sys_failed(hp_sys2(SYS_fstat, fd, (long)&st)))
        return;
    hp_lock();
    hp_maps_file_changed(st.st_ino, 0, UINT64_MAX);
    hp_unlock();
}

/* --- The whole -------------------------------------------------------------------------------- */

/* Makes the call. Guards split mappings, and their number is limited: retries without guards. */
static bool call(struct hp_self *self, bool locked)
{
    uint64_t number = self->regs.r[RAX];
    if (!hp_raw_syscall(self))
        return false;
    if ((int64_t)self->regs.r[RAX] == -ENOMEM &&
        (locked ? hp_guards_remove(0, UINT64_MAX) : hp_guards_lift(0, UINT64_MAX))) {
        self->regs.r[RAX] = number;
        return hp_raw_syscall(self);
    }
    return true;
}

/* Unmaps everything but the engine's memory. */
static long unmap_around(struct hp_self *self, struct hp_span span)
{
    struct hp_span ours;
    long result = 0;
    for (uint64_t at = span.low; at < span.high && result == 0; at = ours.high) {
        if (!hp_ours(at, span.high, &ours))
            ours = (struct hp_span){span.high, span.high};
        if (ours.low <= at)
            continue;
        hp_maps_let_go(at, ours.low);
        result = hp_sys2(SYS_munmap, (long)at, (long)(ours.low - at));
        hp_maps_drop(self, at, ours.low);
    }
    return result;
}

/* Whether the call would change the engine's memory: it is then handled here. */
static bool meets_ours(struct hp_self *self, const struct hp_span spans[2])
{
    uint64_t *r = self->regs.r;
    struct hp_span ours;
    if (!hp_ours(spans[0].low, spans[0].high, &ours) &&
        !hp_ours(spans[1].low, spans[1].high, &ours))
        return false;
    if (r[RDI] & 4095)
        r[RAX] = (uint64_t)-EINVAL;
    else
        r[RAX] = r[RAX] == SYS_munmap ? (uint64_t)unmap_around(self, spans[0]) : (uint64_t)-ENOMEM;
    return true;
}

bool hp_maps_call(struct hp_self *self)
{
    uint64_t r[16];
    struct hp_span spans[2];
    bool concerned = false;
    memcpy(r, self->regs.r, sizeof r);
    r[RAX] = (uint64_t)hp_call_number(self);
    hp_lock();
    look_ahead(r, spans);
    if (hp_n_areas && meets_ours(self, spans)) {
        hp_unlock();
        return true;
    }
    for (int i = 0; i < 2; i++)
        if (hp_ranges_touch(&hp_maps, spans[i].low, spans[i].high)) {
            hp_maps_let_go(spans[i].low, spans[i].high);
            concerned = true;
        }
    if (!concerned)
        hp_unlock();
    bool done = call(self, concerned);
    if (!concerned)
        hp_lock();
    if (done && !hp_sys_failed((long)self->regs.r[RAX]))
        account(self, r, &spans[0], self->regs.r[RAX]);
    else if (done && concerned)
        hp_maps_doubt(); /* it may have been partly done */
    hp_unlock();
    return done;
}
