// SPDX-License-Identifier: MIT
#include "engine/native/inner/landings.h"

#include "engine/native/inner/emit.h"
#include "engine/native/inner/sys.h"
#include "engine/native/inner/traces.h"

#include <linux/mman.h>
#include <string.h>

#define BITS      16 /* of the target that select an entry: the rest is compared */
#define PEXT_BITS 18
#define N_CHAINS  65536u

#define ENTRY_AT   14 /* in a landing: where it is entered, */
#define SWITCH_AT  32 /* and where it jumps to what counts, or does nothing */
#define COUNT_SIZE 32

static const uint8_t nothing[] = {0x0f, 0x1f, 0x44, 0x00, 0x00}; /* a no-op as long as a jump */

uint32_t hp_landings_at;
bool hp_landings_have_pext;
static uint32_t mask;

/* Segments with a landing: chains, hashed by fewer bits of the target than select an entry, in the
 * order of the landings. */
static uint32_t *chains;

static uint32_t *chain_of(uint64_t pc)
{
    return &chains[pc % N_CHAINS];
}

static uint64_t *entry_of(uint64_t pc)
{
    return (uint64_t *)(uintptr_t)hp_landings_at + (pc & mask);
}

/* Count mode: the second word of the pair that the indirect transfer began. */
static void emit_entered(struct hp_emit *e, uint32_t id)
{
    hp_emit_restore(e, 1, HP_AT_NEXT);
    hp_emit_store_value(e, 1, 4, id);
    hp_emit_add(e, 1, 8);
    hp_emit_save(e, 1, HP_AT_NEXT);
}

/* ecx := the value at gs:[at] - expected */
static void emit_distance(struct hp_emit *e, uint32_t at, uint32_t expected)
{
    hp_emit_byte(e, 0x65); /* mov ecx, gs:[at] */
    hp_emit_byte(e, 0x8b);
    hp_emit_gs_operand(e, 1, at);
    hp_emit_byte(e, 0x8d); /* lea ecx, [rcx - ...] */
    hp_emit_byte(e, 0x89);
    hp_emit_u32(e, -expected);
}

/* Of a node in the middle of a function: a jump from another function may be a longjmp. There is no
 * other landing for the target: the gate follows. */
static void emit_same_function(struct hp_emit *e, uint64_t other, uint32_t function)
{
    emit_distance(e, HP_AT_FROM, function - (uint32_t)HP_CHECKED);
    hp_emit_check(e, other);
}

/*
 * A landing. rcx is saved; HP_AT_TARGET is the target, whose low bits match.
 *
 *   landing:
 *      next: 8 bytes
 *   other:
 *      jmp [next]
 *   entry:
 *      mov ecx, gs:[target + 2]; lea ecx, [rcx - (start >> 16) + HP_CHECKED]; check, else other
 *   switch:
 *      jmp count, or nothing
 *   on:
 *      mov rcx, gs:[rcx]; jmp segment
 *
 * The switch is there if traces are made. What counts an arrival at a head is elsewhere:
 *
 *   count:
 *      count; jrcxz hot; jmp on
 *   hot:
 *      jmp miss
 */
uint8_t *hp_landing_write(uint8_t *place, uint32_t segment, const uint8_t *code)
{
    const struct hp_seg *seg = &hp_segs[segment];
    struct hp_emit e = {hp_cache_writable(place), (uint64_t)(uintptr_t)place};
    hp_emit_u64(&e, 0);
    hp_emit_byte(&e, 0xff); /* jmp [rip - ...] */
    hp_emit_byte(&e, 0x25);
    hp_emit_u32(&e, hp_emit_rel(e.at + 4, (uint64_t)(uintptr_t)place));
    emit_distance(&e, HP_AT_TARGET + 2, (uint32_t)(seg->start >> 16) - (uint32_t)HP_CHECKED);
    hp_emit_check(&e, (uint64_t)(uintptr_t)place + 8);
    if (hp_traces_are_made()) {
        hp_emit_nops(&e, (unsigned)((uint64_t)(uintptr_t)place + SWITCH_AT - e.at));
        hp_emit_bytes(&e, nothing, sizeof nothing);
    }
    if (seg->function)
        emit_same_function(&e, (uint64_t)(uintptr_t)place + 8, seg->function);
    if (hp_engine.mode == HP_RECORD_COUNT)
        emit_entered(&e, seg->first_piece ? hp_pieces[seg->first_piece].id : 0);
    hp_emit_restore(&e, 1, HP_AT_RCX);
    if (code)
        hp_emit_jump(&e, (uint64_t)(uintptr_t)code);
    return (uint8_t *)(uintptr_t)e.at;
}

/* Code that counts an arrival, and goes to the gate if the head is hot; NULL: no room. */
static uint8_t *make_count(uint32_t segment)
{
    const struct hp_seg *seg = &hp_segs[segment];
    uint8_t *place = hp_cache_small((uint64_t)(uintptr_t)seg->landing, COUNT_SIZE);
    if (!place)
        return NULL;
    struct hp_emit e = {hp_cache_writable(place), (uint64_t)(uintptr_t)place};
    hp_traces_emit_head(&e, segment, seg->flags_dead);
    hp_emit_byte(&e, seg->flags_dead ? 0x74 : 0xe3); /* jz hot; jrcxz hot */
    hp_emit_byte(&e, 5);
    hp_emit_jump(&e, (uint64_t)(uintptr_t)seg->landing + SWITCH_AT + sizeof nothing);
    hp_emit_jump(&e, (uint64_t)(uintptr_t)hp_cache_gate_near(place, HP_GATE_MISS)); /* hot */
    return place;
}

/* Writes the switch: it is in one aligned word. */
static void set_switch(const struct hp_seg *seg, const uint8_t *to)
{
    uint64_t *word = (uint64_t *)(void *)(hp_cache_writable(seg->landing) + SWITCH_AT);
    uint64_t value = *word;
    uint8_t code[sizeof nothing];
    struct hp_emit e = {code, (uint64_t)(uintptr_t)seg->landing + SWITCH_AT};
    if (to)
        hp_emit_jump(&e, (uint64_t)(uintptr_t)to);
    else
        hp_emit_bytes(&e, nothing, sizeof nothing);
    memcpy(&value, code, sizeof code);
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

void hp_landing_recount(uint32_t segment)
{
    struct hp_seg *seg = &hp_segs[segment];
    bool counts = hp_traces_can_count(segment);
    if (!hp_traces_are_made() || (!counts && !seg->count))
        return;
    if (counts && !seg->count)
        seg->count = make_count(segment);
    set_switch(seg, counts ? seg->count : NULL);
}

static uint8_t *make_landing(uint32_t segment)
{
    const struct hp_seg *seg = &hp_segs[segment];
    uint8_t *place = hp_cache_small((uint64_t)(uintptr_t)seg->code, HP_LANDING_SIZE);
    if (!place)
        return NULL;
    place = (uint8_t *)(((uintptr_t)place + 7) & ~(uintptr_t)7);
    hp_landing_write(place, segment, seg->code);
    return place;
}

void hp_land(uint32_t segment, uint8_t *landing)
{
    struct hp_seg *seg = &hp_segs[segment];
    uint64_t *entry = entry_of(seg->start);
    if (seg->landing || seg->gone)
        return;
    if (!landing)
        landing = make_landing(segment);
    if (!landing)
        return;
    memcpy(hp_cache_writable(landing), entry, 8);
    seg->landing = landing;
    seg->count = NULL;
    hp_landing_recount(segment);
    uint32_t *chain = chain_of(seg->start);
    seg->next_landing = *chain;
    *chain = segment;
    __atomic_store_n(entry, (uint64_t)(uintptr_t)landing + ENTRY_AT, __ATOMIC_RELEASE);
}

void hp_landings_remove(uint32_t segment)
{
    struct hp_seg *seg = &hp_segs[segment];
    if (!seg->landing)
        return;
    uint32_t *link = chain_of(seg->start);
    uint64_t *entry = entry_of(seg->start), *pointer = entry;
    for (; *link != segment; link = &hp_segs[*link].next_landing)
        if (entry_of(hp_segs[*link].start) == entry)
            pointer = (uint64_t *)(void *)hp_cache_writable(hp_segs[*link].landing);
    __atomic_store_n(pointer, *(uint64_t *)(void *)seg->landing, __ATOMIC_RELEASE);
    *link = seg->next_landing;
    seg->landing = NULL;
}

static void empty_table(void)
{
    for (uint32_t i = 0; i <= mask; i++)
        *entry_of(i) = (uint64_t)(uintptr_t)hp_gate_miss;
}

void hp_landings_flush(void)
{
    empty_table();
    memset(chains, 0, N_CHAINS * sizeof *chains);
}

uint32_t hp_landings_mask(void)
{
    return mask;
}

uint64_t hp_landings_size(void)
{
    return (mask + 1ull) * 8 + N_CHAINS * sizeof *chains;
}

/* --- Starting --------------------------------------------------------------------------------- */

/* The kernel searches the upper half, we the rest. */
long hp_pages_low(long size)
{
    const long flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    long place = hp_sys6(SYS_mmap, 0, size, PROT_READ | PROT_WRITE, flags | MAP_32BIT, -1, 0);
    for (long at = 0x100000; hp_sys_failed(place) && at < 0x7f000000; at += 0x100000)
        place =
            hp_sys6(SYS_mmap, at, size, PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE, -1, 0);
    return place;
}

/* The whole table is written at once, which is most of the start-up cost of a small program: uses
 * one huge page, if there is one. */
static long map_table(long size)
{
    long place = hp_pages_low(2 * size);
    if (hp_sys_failed(place))
        return hp_pages_low(size);
    long table = (place + size - 1) & -size;
    if (table > place)
        hp_sys2(SYS_munmap, place, table - place);
    hp_sys2(SYS_munmap, table + size, place + size - table);
    hp_sys3(SYS_madvise, table, size, MADV_HUGEPAGE);
    hp_sys3(SYS_madvise, table, size, MADV_POPULATE_WRITE);
    return table;
}

bool hp_landings_start(bool has_pext)
{
    hp_landings_have_pext = has_pext;
    mask = (1u << (has_pext ? PEXT_BITS : BITS)) - 1;
    long table = map_table((mask + 1l) * 8);
    chains = hp_pages(N_CHAINS * sizeof *chains);
    if (hp_sys_failed(table) || !chains)
        return false;
    hp_landings_at = (uint32_t)table;
    empty_table();
    return true;
}
