// SPDX-License-Identifier: MIT
/*
 * Pages through which translated code can be written. They are made read-only (guarded) until the
 * program writes to them; then their translations are dropped and they stay writable until they are
 * translated again. Besides the page itself these are the pages of other shared mappings of the
 * same part of a file.
 *
 * Signal handlers read the table without the lock, and retry when it has changed meanwhile.
 */
#include "engine/native/inner/maps.h"
#include "engine/native/inner/sys.h"

#include <linux/mman.h>

#define FIRST_SIZE 4096u

struct table { /* a hash table of pages; 0: free */
    uint64_t mask;
    _Atomic uint64_t slots[];
};

static struct table *_Atomic table;
static _Atomic uint32_t changes; /* odd: a change is in progress */
static _Atomic uint32_t n_guards;
_Atomic uint64_t hp_guards_lifted;

static uint64_t page_of(uint64_t address)
{
    return address & ~(uint64_t)4095;
}

/* --- The table -------------------------------------------------------------------------------- */

static uint64_t first_slot(const struct table *t, uint64_t page)
{
    return (page >> 12) * 0x9e3779b97f4a7c15u >> 32 & t->mask;
}

/* The slot that holds the page, or a free one, which always exists. */
static uint64_t find(const struct table *t, uint64_t page)
{
    uint64_t i = first_slot(t, page), here;
    while ((here = atomic_load_explicit(&t->slots[i], memory_order_relaxed)) && here != page)
        i = (i + 1) & t->mask;
    return i;
}

static bool has(uint64_t page)
{
    const struct table *t = atomic_load(&table);
    return t && t->slots[find(t, page)] == page;
}

bool hp_guards_have(uint64_t address)
{
    for (;;) {
        uint32_t before = atomic_load(&changes);
        bool found = !(before & 1) && has(page_of(address));
        atomic_thread_fence(memory_order_seq_cst);
        if (!(before & 1) && atomic_load(&changes) == before)
            return found;
        __builtin_ia32_pause();
    }
}

bool hp_guards_any(void)
{
    return atomic_load_explicit(&n_guards, memory_order_relaxed) != 0;
}

/* At most half of the slots are used. The old table is kept: it may still be read. */
static bool grow(void)
{
    struct table *old = atomic_load(&table);
    uint64_t size = old ? (old->mask + 1) * 2 : FIRST_SIZE;
    if (old && n_guards < size / 4)
        return true;
    struct table *new = hp_pages(sizeof *new + size * 8);
    if (!new)
        return false;
    new->mask = size - 1;
    for (uint64_t i = 0; old && i <= old->mask; i++)
        if (old->slots[i])
            new->slots[find(new, old->slots[i])] = old->slots[i];
    atomic_store(&table, new);
    return true;
}

static bool insert(uint64_t page)
{
    if (!grow())
        return false;
    struct table *t = atomic_load(&table);
    atomic_store(&t->slots[find(t, page)], page);
    atomic_fetch_add(&n_guards, 1);
    return true;
}

/* Moves later entries up to where they will be looked for. */
static void delete (uint64_t page)
{
    struct table *t = atomic_load(&table);
    uint64_t hole = find(t, page);
    atomic_fetch_add(&changes, 1);
    for (uint64_t i = (hole + 1) & t->mask; t->slots[i]; i = (i + 1) & t->mask) {
        uint64_t wanted = first_slot(t, t->slots[i]);
        if (((i - wanted) & t->mask) >= ((i - hole) & t->mask)) {
            atomic_store(&t->slots[hole], t->slots[i]);
            hole = i;
        }
    }
    atomic_store(&t->slots[hole], 0);
    atomic_fetch_sub(&n_guards, 1);
    atomic_fetch_add(&changes, 1);
}

void hp_guards_each(void (*each)(uint64_t page))
{
    const struct table *t = atomic_load(&table);
    for (uint64_t i = 0; n_guards && i <= t->mask; i++)
        if (t->slots[i])
            each(t->slots[i]);
}

/* --- Guarding --------------------------------------------------------------------------------- */

static long protect(uint64_t page, int prot)
{
    return hp_sys3(SYS_mprotect, (long)page, 4096, prot);
}

/* Refuses where it could not be undone: some systems let no executable page become writable. */
static bool guard(uint64_t page, int prot)
{
    if (has(page))
        return true;
    if (prot & PROT_EXEC && protect(page, prot) != 0)
        return false;
    if (!insert(page)) /* first: a thread stopped at the page must find it */
        return false;
    if (protect(page, PROT_READ | (prot & PROT_EXEC)) == 0)
        return true;
    delete (page);
    return false;
}

/* Guards the other mappings of the page of `range`. */
static bool guard_aliases(const struct hp_range *range, uint64_t page)
{
    uint64_t offset = range->offset + (page - range->low);
    for (uint32_t i = 0; i < hp_maps.n; i++) {
        const struct hp_range *alias = &hp_maps.items[i];
        if (alias->shared && alias->inode == range->inode && alias->prot & PROT_WRITE &&
            offset - alias->offset < alias->high - alias->low &&
            !guard(alias->low + (offset - alias->offset), alias->prot))
            return false;
    }
    return true;
}

static bool guard_all(uint64_t low, uint64_t high)
{
    for (uint64_t page = page_of(low); page < high; page += 4096) {
        const struct hp_range *range = hp_ranges_at(&hp_maps, page);
        if (range && !(range->shared ? guard_aliases(range, page)
                                     : !(range->prot & PROT_WRITE) || guard(page, range->prot)))
            return false;
    }
    return true;
}

/* The number of mappings is limited, and guards split them: at the limit, all other guards go
 * first. */
bool hp_guards_set(uint64_t low, uint64_t high)
{
    return guard_all(low, high) || (hp_guards_remove(0, UINT64_MAX) && guard_all(low, high));
}

/* --- Lifting ---------------------------------------------------------------------------------- */

/* Drops code from the page. */
static void forget_code(const struct hp_range *range, uint64_t page)
{
    if (range && range->shared) {
        uint64_t offset = range->offset + (page - range->low);
        hp_maps_file_changed(range->inode, offset, offset + 4096);
    } else {
        hp_cache_invalidate(page, page + 4096);
    }
}

/* Restores the program's protection. False: that would split a mapping, and there are too many
 * already. */
static bool lift_pages(uint64_t low, uint64_t high)
{
    const struct hp_range *range = hp_ranges_at(&hp_maps, low);
    for (uint64_t page = low; page < high; page += 4096)
        forget_code(range, page);
    if (hp_sys_failed(hp_sys3(SYS_mprotect, (long)low, (long)(high - low),
                              range ? range->prot : PROT_READ | PROT_WRITE | PROT_EXEC)))
        return false;
    atomic_fetch_add(&hp_guards_lifted, 1);
    for (uint64_t page = low; page < high; page += 4096)
        delete (page);
    return true;
}

static void lift(uint64_t page)
{
    uint64_t low = page, high = page + 4096;
    if (lift_pages(low, high))
        return;
    const struct hp_range *range = hp_ranges_at(&hp_maps, page);
    while (range && low > range->low && has(low - 4096))
        low -= 4096;
    while (range && high < range->high && has(high))
        high += 4096;
    if (!lift_pages(low, high)) {
        hp_say("memory that the program may write cannot be made writable again", NULL);
        hp_sys1(SYS_exit_group, 125);
    }
}

bool hp_guards_remove(uint64_t low, uint64_t high)
{
    const struct table *t = atomic_load(&table);
    uint32_t before = n_guards;
    if (!before || high <= low)
        return false;
    if ((high - low) >> 12 < t->mask) {
        for (uint64_t page = page_of(low); page < high && n_guards; page += 4096)
            if (has(page))
                lift(page);
    } else {
        for (uint64_t i = 0; i <= t->mask && n_guards; i++)
            while (t->slots[i] && t->slots[i] >= page_of(low) && t->slots[i] < high)
                lift(t->slots[i]);
    }
    return n_guards != before;
}

bool hp_guards_lift(uint64_t low, uint64_t high)
{
    if (!n_guards)
        return false;
    hp_lock();
    bool any = hp_guards_remove(low, high);
    hp_unlock();
    return any;
}

bool hp_put(uint64_t to, const void *from, uint64_t size)
{
    return hp_copy((void *)to, from, size) ||
           (hp_guards_lift(to, to + size) && hp_copy((void *)to, from, size));
}
