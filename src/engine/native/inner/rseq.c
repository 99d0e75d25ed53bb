// SPDX-License-Identifier: MIT
#include "engine/native/inner/rseq.h"

#include "engine/native/inner/cache.h"
#include "engine/native/inner/sys.h"
#include "hotpath/stream.h"

#include <string.h>
#include <sys/mman.h>

#define MAX_SECTIONS   4096
#define MAX_SLOTS      65536
#define MAX_SIGNATURES 64
#define PAGE           4096

static struct hp_section *sections; /* 0 means none */
static uint32_t n_sections;
/* The kernel may read a slot long after its translation is gone: slots are not reused. */
static struct hp_rseq_cs *slots;
static uint32_t n_slots;

bool hp_rseq_used;

/* --- Signatures ------------------------------------------------------------------------------- */

/* What the kernel requires before an abort address, and such an address. The first signature is the
 * usual one; each of the others has a page. */
static struct {
    uint32_t signature;
    uint64_t abort;
} signatures[MAX_SIGNATURES] = {{HP_RSEQ_SIGNATURE, 0}};
static _Atomic uint32_t n_signatures = 1; /* read by signal handlers */

/* The abort address; 0: the signature is not known. */
static uint64_t abort_of(uint32_t signature)
{
    for (uint32_t i = 0; i < n_signatures; i++)
        if (signatures[i].signature == signature)
            return i ? signatures[i].abort : (uint64_t)(uintptr_t)hp_rseq_abort;
    return 0;
}

bool hp_rseq_is_abort(uint64_t pc)
{
    for (uint32_t i = 1; i < n_signatures; i++)
        if (signatures[i].abort == pc)
            return true;
    return false;
}

/* With the lock held. */
static bool add_signature(uint32_t signature)
{
    static const uint8_t jump[] = {0xff, 0x25, 0,
                                   0,    0,    0}; /* jmp [rip]: the address that follows */
    uint64_t to = (uint64_t)(uintptr_t)hp_rseq_abort;
    uint32_t n = n_signatures;
    uint8_t *page = n < MAX_SIGNATURES ? hp_pages(PAGE) : NULL;
    if (!page)
        return false;
    memcpy(page, &signature, 4);
    memcpy(page + 4, jump, sizeof jump);
    memcpy(page + 4 + sizeof jump, &to, 8);
    if (hp_sys_failed(hp_sys3(SYS_mprotect, (long)page, PAGE, PROT_READ | PROT_EXEC)))
        return false;
    signatures[n].signature = signature;
    signatures[n].abort = (uint64_t)(uintptr_t)page + 4;
    n_signatures = n + 1;
    hp_cache_invalidate(0, UINT64_MAX); /* it may contain sections that were not recognized */
    return true;
}

bool hp_rseq_allow(uint32_t signature)
{
    hp_lock();
    bool known = abort_of(signature) || add_signature(signature);
    hp_unlock();
    return known;
}

/* --- Sections --------------------------------------------------------------------------------- */

static bool read_section(uint64_t at, struct hp_rseq_cs *cs)
{
    const uint64_t top = 1ull << 47;
    uint32_t before = 0;
    return hp_copy(cs, (const void *)at, sizeof *cs) && cs->version == 0 && cs->flags < 8 &&
           cs->start > 4096 && cs->start < top && cs->size > 0 && cs->size < 65536 &&
           cs->abort > 4096 && cs->abort < top && cs->abort - cs->start >= cs->size &&
           hp_copy(&before, (const void *)(cs->abort - 4), 4) && abort_of(before);
}

void hp_rseq_learn(uint64_t at)
{
    struct hp_rseq_cs cs;
    if (!read_section(at, &cs))
        return;
    for (uint32_t i = 1; i <= n_sections; i++)
        if (sections[i].at == at && memcmp(&sections[i].cs, &cs, sizeof cs) == 0)
            return;
    if (!sections)
        sections = hp_pages((MAX_SECTIONS + 1) * sizeof *sections);
    if (!sections || n_sections == MAX_SECTIONS)
        return;
    sections[++n_sections] = (struct hp_section){.at = at, .cs = cs};
    if (hp_rseq_used)
        hp_cache_invalidate(cs.start, cs.start + cs.size);
}

uint32_t hp_rseq_at(uint64_t pc)
{
    struct hp_rseq_cs cs;
    for (uint32_t i = n_sections; hp_rseq_used && i > 0; i--)
        if (sections[i].cs.start == pc && read_section(sections[i].at, &cs) &&
            memcmp(&sections[i].cs, &cs, sizeof cs) == 0)
            return i;
    return 0;
}

bool hp_rseq_inside(uint64_t pc)
{
    for (uint32_t i = 1; hp_rseq_used && i <= n_sections; i++)
        if (pc - sections[i].cs.start - 1 < sections[i].cs.size - 1)
            return hp_rseq_at(sections[i].cs.start) == i;
    return false;
}

uint64_t hp_rseq_next(uint64_t pc, uint64_t high)
{
    for (uint32_t i = 1; hp_rseq_used && i <= n_sections; i++)
        if (sections[i].cs.start > pc && sections[i].cs.start < high)
            high = sections[i].cs.start;
    return high;
}

struct hp_section *hp_rseq_section(uint32_t section)
{
    return &sections[section];
}

struct hp_rseq_cs *hp_rseq_slot(uint32_t section)
{
    if (!slots)
        slots = hp_pages(MAX_SLOTS * sizeof *slots);
    if (!slots || n_slots == MAX_SLOTS)
        return NULL;
    const struct hp_rseq_cs *cs = &sections[section].cs;
    uint32_t before = HP_RSEQ_SIGNATURE;
    hp_copy(&before, (const void *)(cs->abort - 4), 4);
    slots[n_slots] = (struct hp_rseq_cs){.flags = cs->flags, .abort = abort_of(before)};
    return &slots[n_slots++];
}

uint64_t hp_rseq_leave_at(const struct hp_self *self, uint64_t pc)
{
    for (uint32_t i = n_sections; self->rseq && i > 0; i--)
        if (pc - sections[i].cs.start < sections[i].cs.size)
            return sections[i].cs.abort;
    return pc;
}

/* Drops translations of sections, and of code made without knowing them. With the lock held. */
static void forget_units(void)
{
    for (uint32_t i = 1; i <= n_sections; i++)
        hp_cache_invalidate(sections[i].cs.start, sections[i].cs.start + sections[i].cs.size);
}

/* --- Threads ---------------------------------------------------------------------------------- */

void hp_rseq_registered(struct hp_self *self, uint64_t area)
{
    self->rseq = area;
    if (hp_rseq_used || !area)
        return;
    hp_lock(); /* earlier translations ignore sections */
    hp_rseq_used = true;
    forget_units();
    hp_unlock();
}

static void lose(struct hp_self *self)
{
    static const uint32_t unknown[2] = {0, 0};
    hp_words_event(self, hp_word_event(HP_WORD_LOST, HP_LOST_ABORTED), unknown, 2);
}

uint64_t hp_rseq_arrive(struct hp_self *self, uint64_t pc)
{
    uint64_t at, none = 0;
    struct hp_rseq_cs cs;
    if (!hp_copy(&at, (const void *)(self->rseq + 8), 8) || !at ||
        at - (uint64_t)(uintptr_t)slots < MAX_SLOTS * sizeof *slots)
        return pc;
    if (!read_section(at, &cs))
        return pc;
    hp_rseq_learn(at);
    if (pc - cs.start - 1 < cs.size - 1) { /* as if it had been interrupted here */
        hp_copy((void *)(self->rseq + 8), &none, 8);
        lose(self);
        return cs.abort;
    }
    return pc;
}

/* The kernel has aborted a section of the thread: how far it got is not known. */
void hp_on_rseq_abort(struct hp_self *self)
{
    atomic_store(&self->where, HP_IN_ENGINE);
    if (self->unit_begun != HP_UNIT_RUNS)
        self->regs.r[RCX] = self->rcx;
    if (self->unit_begun == HP_UNIT_BEGINS)
        self->regs.r[RAX] = self->scratch1;
    if (self->has_write) {
        self->has_write = false;
        hp_guards_lift(self->write_address, self->write_address + 1);
    }
    lose(self);
    hp_words_arrived(self, 0);
    hp_go_on(self, sections[self->unit].cs.abort);
}
