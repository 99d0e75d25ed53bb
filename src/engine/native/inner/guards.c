// SPDX-License-Identifier: MIT
/*
 * Pages that hold translated code and can be written. They are made read-only (guarded) until the
 * program writes to them; then their translations go and they can be written until they are
 * translated again.
 *
 * The table is read without the lock, by signal handlers: entries change with one store.
 */
#include "engine/native/inner/cache.h"
#include "engine/native/inner/sys.h"

#include <linux/mman.h>

#define SLOTS (1u << 16)

/* In the low bits of an entry, which is the address of a page. */
#define GUARDED  1u /* read-only because of us */
#define WRITABLE 2u /* as the program wants it; the maps may have been read when it was guarded */
#define GONE     4u /* nothing; others may come behind it */

static _Atomic uint64_t *slots;
static uint32_t n_used;
_Atomic uint64_t hp_guards_lifted;

static uint64_t page_of(uint64_t address)
{
    return address & ~(uint64_t)4095;
}

static uint32_t first_slot(uint64_t page)
{
    return (uint32_t)((page >> 12) * 0x9e3779b97f4a7c15u >> 40) & (SLOTS - 1);
}

static _Atomic uint64_t *find(uint64_t page)
{
    for (uint32_t i = first_slot(page), n = 0; slots && n < SLOTS; i = (i + 1) & (SLOTS - 1), n++) {
        uint64_t here = atomic_load_explicit(&slots[i], memory_order_relaxed);
        if (page_of(here) == page && here & (GUARDED | WRITABLE))
            return &slots[i];
        if (here == 0)
            return NULL;
    }
    return NULL;
}

bool hp_guards_have(uint64_t address)
{
    _Atomic uint64_t *slot = find(page_of(address));
    return slot && atomic_load(slot) & GUARDED;
}

bool hp_guards_know(uint64_t address)
{
    return find(page_of(address)) != NULL;
}

static void insert(uint64_t entry)
{
    uint32_t i = first_slot(page_of(entry));
    while (slots[i])
        i = (i + 1) & (SLOTS - 1);
    atomic_store(&slots[i], entry);
    n_used++;
}

/* Takes out the entries that stand for nothing. */
static void tidy(void)
{
    static uint64_t kept[SLOTS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < SLOTS; i++)
        if (slots[i] & (GUARDED | WRITABLE))
            kept[n++] = slots[i];
    for (uint32_t i = 0; i < SLOTS; i++)
        slots[i] = 0;
    n_used = 0;
    for (uint32_t i = 0; i < n; i++)
        insert(kept[i]);
}

static void guard_page(uint64_t page)
{
    _Atomic uint64_t *slot = find(page);
    if (slot && atomic_load(slot) & GUARDED)
        return;
    if (!slot && n_used > SLOTS / 2)
        tidy();
    if (!slot && n_used > SLOTS * 3 / 4)
        return; /* changes there will not be noticed */
    if (slot)   /* the table first: who is stopped at the page must find it */
        atomic_store(slot, page | GUARDED);
    else
        insert(page | GUARDED);
    hp_sys3(SYS_mprotect, (long)page, 4096, PROT_READ | PROT_EXEC);
}

void hp_guards_set(uint64_t low, uint64_t high)
{
    if (!slots)
        slots = hp_pages(SLOTS * sizeof *slots);
    for (uint64_t page = page_of(low); slots && page < high; page += 4096)
        guard_page(page);
}

static void lift(_Atomic uint64_t *slot, uint64_t page)
{
    hp_cache_invalidate(page, page + 4096);
    hp_sys3(SYS_mprotect, (long)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
    atomic_fetch_add(&hp_guards_lifted, 1);
    atomic_store(slot, page | WRITABLE);
}

bool hp_guards_lift(uint64_t low, uint64_t high)
{
    bool any = false;
    if (!slots || high <= low)
        return false;
    hp_lock();
    if ((high - low) >> 12 < SLOTS) {
        for (uint64_t page = page_of(low); page < high; page += 4096) {
            _Atomic uint64_t *slot = find(page);
            if (slot && atomic_load(slot) & GUARDED) {
                lift(slot, page);
                any = true;
            }
        }
    } else {
        for (uint32_t i = 0; i < SLOTS; i++)
            if (slots[i] & GUARDED && slots[i] >= low && slots[i] < high) {
                lift(&slots[i], page_of(slots[i]));
                any = true;
            }
    }
    hp_unlock();
    return any;
}

void hp_guards_forget(uint64_t low, uint64_t high)
{
    for (uint32_t i = 0; slots && i < SLOTS; i++)
        if (slots[i] & (GUARDED | WRITABLE) && slots[i] >= low && slots[i] < high)
            atomic_store(&slots[i], GONE);
}

bool hp_put(uint64_t to, const void *from, uint64_t size)
{
    return hp_copy((void *)to, from, size) ||
           (hp_guards_lift(to, to + size) && hp_copy((void *)to, from, size));
}
