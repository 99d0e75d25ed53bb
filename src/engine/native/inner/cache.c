// SPDX-License-Identifier: MIT
#include "engine/native/inner/cache.h"

#include "engine/native/inner/emit.h"
#include "engine/native/inner/landings.h"
#include "engine/native/inner/paths.h"
#include "engine/native/inner/sys.h"
#include "engine/native/inner/traces.h"

#include <linux/mman.h>
#include <string.h>

#define MAX_SEGMENTS   (1u << 21) /* less where address space is limited */
#define MAX_EXITS      (2 * MAX_SEGMENTS)
#define MAX_PIECES     (2 * MAX_SEGMENTS)
#define MAX_AREAS      64
#define OFTEN          61                   /* translations between two flushes, in a test */
#define AREA_SIZE      (64ull << 20)        /* less where address space is limited */
#define LINK_SIZE      128                  /* at most */
#define SEGMENT_SOURCE (1u << 17)           /* likewise, bytes that a segment is made from */
#define PAGES          (1u << 16)           /* buckets of the table of pages */
#define MAX_SOURCE     (32ull * MAX_PIECES) /* bytes of source that are kept */

struct hp_seg *hp_segs;
struct hp_exit *hp_exits;
struct hp_cached_piece *hp_pieces;

static uint32_t n_segs, n_exits, n_pieces; /* used; 0 means none */
static uint8_t *sources;                   /* see hp_cache_keep(); NULL: they are in the arena */
static uint64_t sources_used;
struct hp_area hp_areas[MAX_AREAS];
unsigned hp_n_areas;
static uint64_t areas_size, area_size = AREA_SIZE;
static uint64_t extra; /* allowed beyond --cache-size: see make_room() */
_Atomic uint64_t hp_cache_flushes;
static uint32_t n_gets;
static unsigned less; /* log2 of how much smaller the tables are than their maximum */

/* Segments by start address: chains, by hp_seg.next_hash. */
static uint32_t *by_start;
static uint32_t by_start_mask;

/* Exits that lead to no segment yet, by target: chains, by hp_exit.next. As many as by_start has.
 */
static uint32_t *by_target;
static uint32_t n_joined; /* exits up to this one are linked, or in a chain */

/* Pieces by source page: chains, by hp_piece.next and next_too. */
static uint32_t *by_page;

/* --- Memory ----------------------------------------------------------------------------------- */

static void put_gates(struct hp_area *area)
{
    static void (*const gates[HP_GATE_COUNT])(void) = {
        [HP_GATE_EXIT] = hp_gate_exit,       [HP_GATE_MISS] = hp_gate_miss,
        [HP_GATE_SYSCALL] = hp_gate_syscall, [HP_GATE_FAR] = hp_gate_far,
        [HP_GATE_INT80] = hp_gate_int80,     [HP_GATE_X87] = hp_gate_x87,
        [HP_GATE_SLOT] = hp_gate_slot,
    };
    area->gates = area->low;
    struct hp_emit e = hp_area_emit(area, area->low);
    for (int i = 0; i < HP_GATE_COUNT; i++) { /* jmp [rip + 2]; address */
        hp_emit_byte(&e, 0xff);
        hp_emit_byte(&e, 0x25);
        hp_emit_u32(&e, 2);
        hp_emit_byte(&e, 0x90);
        hp_emit_byte(&e, 0x90);
        hp_emit_u64(&e, (uint64_t)(uintptr_t)gates[i]);
    }
    area->code = area->low + (HP_GATE_COUNT * 16 + 63) / 64 * 64;
    area->small = area->cold = area->cold_low = area->high;
    area->n_segments = 0;
}

uint8_t *hp_cache_gate(const struct hp_area *area, int gate)
{
    return area->gates + gate * 16;
}

static struct hp_area *new_area(uint64_t pc)
{
    uint64_t size = area_size, allowed = hp_engine.arena->cache_size + extra;
    uint64_t left = allowed - areas_size;
    if (hp_n_areas == MAX_AREAS || areas_size >= allowed)
        return NULL;
    if (size > left)
        size = left;
    size &= ~(uint64_t)0xffff;
    struct hp_area *area = &hp_areas[hp_n_areas];
    if (size < 1 << 18 || !hp_area_map(area, pc, size))
        return NULL;
    area->segments =
        hp_pages(size / 4); /* a segment takes 16 bytes or more, see hp_cache_publish */
    if (!area->segments) {
        hp_area_unmap(area);
        return NULL;
    }
    hp_n_areas++;
    areas_size += size;
    put_gates(area);
    return area;
}

struct hp_area *hp_cache_room(uint64_t pc, uint32_t code, uint32_t small)
{
    if (n_segs + 1 >= MAX_SEGMENTS >> less || n_exits + 2 * HP_PIECES_MAX >= MAX_EXITS >> less ||
        n_pieces + HP_PIECES_MAX >= MAX_PIECES >> less ||
        (sources && sources_used + SEGMENT_SOURCE >= MAX_SOURCE >> less))
        return NULL;
    struct hp_area *out_of_reach = NULL;
    for (unsigned i = hp_n_areas; i-- > 0;) {
        struct hp_area *area = &hp_areas[i];
        if (area->code + code + small > area->small)
            continue;
        if (hp_emit_reaches((uint64_t)(uintptr_t)area->low, pc) &&
            hp_emit_reaches((uint64_t)(uintptr_t)area->high, pc))
            return area;
        out_of_reach = area;
    }
    struct hp_area *area = new_area(pc);
    return area ? area : out_of_reach;
}

uint8_t *hp_cache_small(uint64_t address, uint32_t size)
{
    for (unsigned i = hp_n_areas; i-- > 0;) {
        struct hp_area *area = &hp_areas[i];
        if (area->small - area->code > size + 256 &&
            hp_emit_reaches((uint64_t)(uintptr_t)area->low, address) &&
            hp_emit_reaches((uint64_t)(uintptr_t)area->high, address)) {
            area->small -= size;
            return area->small;
        }
    }
    return NULL;
}

uint8_t *hp_cache_cold(struct hp_area *area, uint32_t size)
{
    if (area->cold - area->cold_low < size) {
        area->cold = area->small;
        area->cold_low = area->small -= HP_COLD_CHUNK;
    }
    return area->cold -= size;
}

uint32_t hp_cache_new_segment(void)
{
    return ++n_segs;
}

uint32_t hp_cache_segments(void)
{
    return n_segs;
}

uint32_t hp_cache_new_exit(void)
{
    return ++n_exits;
}

uint32_t hp_cache_new_piece(void)
{
    return ++n_pieces;
}

uint32_t hp_cache_keep(const uint8_t *bytes, uint32_t size)
{
    uint8_t *place = sources + sources_used;
    sources_used += size;
    memcpy(place, bytes, size);
    return (uint32_t)(place - sources) + 1;
}

const uint8_t *hp_cache_kept(uint32_t number)
{
    return sources + number - 1;
}

/* --- Finding ---------------------------------------------------------------------------------- */

/* Code that is near has buckets that are near: they are in the processor's cache. */
static uint32_t hash_key(uint64_t pc, const struct hp_path_node *node)
{
    uint32_t path = (node->before * 2 + node->how) * 0x85ebca6bu;
    return ((uint32_t)(pc >> 3) ^ (uint32_t)(pc >> 20) * 0x9e3779b1u ^ path >> 8) & by_start_mask;
}

static uint32_t hash_start(uint64_t pc)
{
    static const struct hp_path_node none = {0};
    return hash_key(pc, &none);
}

uint32_t hp_cache_find(uint64_t pc)
{
    uint32_t segment = by_start[hash_start(pc)];
    while (segment && (hp_segs[segment].start != pc || hp_segs[segment].kind == HP_SEG_TWIN ||
                       hp_segs[segment].kind == HP_SEG_NODE))
        segment = hp_segs[segment].next_hash;
    return segment;
}

uint32_t hp_cache_find_node(uint64_t pc, const struct hp_path_node *node)
{
    uint32_t segment = by_start[hash_key(pc, node)];
    for (; segment; segment = hp_segs[segment].next_hash) {
        const struct hp_seg *seg = &hp_segs[segment];
        if (seg->start == pc && seg->kind == HP_SEG_NODE && seg->node.before == node->before &&
            seg->node.how == node->how)
            break;
    }
    return segment;
}

uint32_t hp_cache_find_twin(uint64_t pc)
{
    uint32_t segment = by_start[hash_start(pc)];
    while (segment && (hp_segs[segment].start != pc || hp_segs[segment].kind != HP_SEG_TWIN))
        segment = hp_segs[segment].next_hash;
    return segment;
}

static void insert(uint32_t segment)
{
    uint32_t *bucket = &by_start[hash_key(hp_segs[segment].start, &hp_segs[segment].node)];
    hp_segs[segment].next_hash = *bucket;
    *bucket = segment;
}

/* Whether the exit's arrival at the segment is counted: see traces.h. */
static bool is_counted(const struct hp_exit *exit, uint32_t segment)
{
    return (exit->is_back || hp_segs[exit->segment].kind == HP_SEG_TRACE) &&
           hp_traces_can_count(segment);
}

/* A link that records takes memory, so it is made only when its exit is taken. */
static bool is_free(const struct hp_exit *exit)
{
    bool records =
        hp_engine.mode != HP_RECORD_NONE && !exit->recorded && !(exit->prefix && !exit->path);
    return !records && exit->patch && hp_segs[exit->segment].kind != HP_SEG_TWIN;
}

/* The exit waits until its target is translated. */
static void await(uint32_t number)
{
    struct hp_exit *exit = &hp_exits[number];
    uint32_t *bucket = &by_target[hash_key(exit->target, &exit->node)];
    exit->waits = true;
    exit->next = *bucket;
    *bucket = number;
}

static void stop_waiting(uint32_t number)
{
    struct hp_exit *exit = &hp_exits[number];
    uint32_t *link = &by_target[hash_key(exit->target, &exit->node)];
    while (*link != number)
        link = &hp_exits[*link].next;
    *link = exit->next;
    exit->waits = false;
}

/* More of both kinds; false: no memory, the chains get longer. */
static bool new_buckets(uint32_t n)
{
    uint32_t *buckets = hp_pages(2ull * n * sizeof *buckets);
    if (!buckets)
        return false;
    if (by_start)
        hp_pages_give_back(by_start, 2 * (by_start_mask + 1ull) * sizeof *by_start);
    by_start = buckets;
    by_target = buckets + n;
    by_start_mask = n - 1;
    hp_cache_each(insert);
    for (uint32_t i = 1; i <= n_joined; i++)
        if (hp_exits[i].waits)
            await(i);
    return true;
}

static struct hp_area *area_of(uint64_t address)
{
    for (unsigned i = 0; i < hp_n_areas; i++)
        if (address - (uint64_t)(uintptr_t)hp_areas[i].low <
            (uint64_t)(hp_areas[i].high - hp_areas[i].low))
            return &hp_areas[i];
    return NULL;
}

uint8_t *hp_cache_gate_near(const uint8_t *place, int gate)
{
    return hp_cache_gate(area_of((uint64_t)(uintptr_t)place), gate);
}

bool hp_cache_has(uint64_t address)
{
    return area_of(address) != NULL;
}

uint64_t hp_cache_with_low(uint32_t low)
{
    const uint64_t range = 1ull << 32;
    for (unsigned i = 0; i < hp_n_areas; i++) {
        uint64_t start = (uint64_t)(uintptr_t)hp_areas[i].low, address = (start & -range) | low;
        if (address < start)
            address += range;
        if (hp_cache_segment_at(address))
            return address;
    }
    return 0;
}

uint8_t *hp_cache_writable(uint8_t *code)
{
    const struct hp_area *area = hp_areas_twice ? area_of((uint64_t)(uintptr_t)code) : NULL;
    return area ? code + area->view : code;
}

int hp_cache_copy(void)
{
    return hp_areas_copy(hp_areas, hp_n_areas);
}

bool hp_cache_take_copy(int fd)
{
    return hp_areas_take_copy(hp_areas, hp_n_areas, fd);
}

uint32_t hp_cache_segment_at(uint64_t address)
{
    const struct hp_area *area = area_of(address);
    if (!area)
        return 0;
    uint32_t low = 0, high = area->n_segments;
    while (low < high) { /* the last that does not start after it */
        uint32_t middle = (low + high) / 2;
        if ((uint64_t)(uintptr_t)hp_segs[area->segments[middle]].code <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return 0;
    const struct hp_seg *seg = &hp_segs[area->segments[low - 1]];
    return address < (uint64_t)(uintptr_t)seg->code + seg->code_size ? area->segments[low - 1] : 0;
}

/* --- Pages ------------------------------------------------------------------------------------ */

static uint32_t *page_bucket(uint64_t page)
{
    return &by_page[(uint32_t)(page * 0x9e3779b97f4a7c15u >> 40) % PAGES];
}

static void note_page(uint32_t piece, uint64_t page, uint32_t *next)
{
    uint32_t *bucket = page_bucket(page);
    *next = *bucket;
    *bucket = piece << 1 | (next == &hp_pieces[piece].next_too);
}

/* The pages a piece touches: at most two where code can be written. */
static void note_pages(const struct hp_seg *seg)
{
    for (uint32_t i = 0; i < seg->n_pieces; i++) {
        struct hp_cached_piece *piece = &hp_pieces[seg->first_piece + i];
        uint64_t first = piece->start >> 12, last = (piece->start + piece->size - 1) >> 12;
        note_page(seg->first_piece + i, first, &piece->next);
        if (last != first)
            note_page(seg->first_piece + i, last, &piece->next_too);
    }
}

static bool is_in(const struct hp_cached_piece *piece, uint64_t low, uint64_t high)
{
    return piece->start < high && piece->start + piece->size > low && !hp_segs[piece->segment].gone;
}

/* --- Joining ---------------------------------------------------------------------------------- */

static bool leads_to(const struct hp_exit *exit, uint32_t segment)
{
    const struct hp_seg *seg = &hp_segs[segment];
    return exit->target == seg->start && exit->node.before == seg->node.before &&
           exit->node.how == seg->node.how && !exit->prefix == (seg->kind != HP_SEG_NODE);
}

/* Links the exits that wait for the segment; drops those of removed segments. */
static void join_incoming(uint32_t segment)
{
    uint64_t start = hp_segs[segment].start;
    uint32_t next, i = by_target[hash_key(start, &hp_segs[segment].node)];
    for (; i; i = next) {
        struct hp_exit *exit = &hp_exits[i];
        next = exit->next;
        if (hp_segs[exit->segment].gone)
            stop_waiting(i);
        else if (leads_to(exit, segment) && !is_counted(exit, segment))
            hp_cache_link(i, segment);
    }
}

/* Links the segment's exits whose targets are translated; the others wait. */
static void join_exits(uint32_t segment)
{
    while (n_joined < n_exits) {
        const struct hp_exit *exit = &hp_exits[++n_joined];
        if (exit->segment != segment || !is_free(exit))
            continue; /* of a translation that failed; through a gate */
        uint32_t to = exit->prefix ? hp_cache_find_node(exit->target, &exit->node)
                                   : hp_cache_find(exit->target);
        if (to && !is_counted(exit, to))
            hp_cache_link(n_joined, to);
        else
            await(n_joined);
    }
}

void hp_cache_publish(uint32_t segment, struct hp_area *area)
{
    struct hp_seg *seg = &hp_segs[segment];
    uint8_t *end = seg->code + seg->code_size;
    area->code = (uint8_t *)(((uintptr_t)end + 15) & ~(uintptr_t)15);
    area->segments[area->n_segments] = segment;
    __atomic_store_n(&area->n_segments, area->n_segments + 1, __ATOMIC_RELEASE);
    note_pages(seg);
    if (n_segs <= by_start_mask || !new_buckets((by_start_mask + 1) * 4))
        insert(segment);
    if (seg->kind != HP_SEG_TWIN)
        join_incoming(segment);
    join_exits(segment);
}

void hp_cache_patch(uint8_t *at, const uint8_t *to)
{
    __atomic_store_n((uint32_t *)(void *)hp_cache_writable(at),
                     hp_emit_rel((uint64_t)(uintptr_t)at + 4, (uint64_t)(uintptr_t)to),
                     __ATOMIC_RELEASE);
}

/* A register that may be used: rcx, saved in HP_AT_RCX, if none is dead. */
static unsigned take_register(struct hp_emit *e, uint16_t dead)
{
    uint16_t usable = dead & 0xcf; /* the first eight except rsp, rbp */
    if (usable)
        return (unsigned)__builtin_ctz(usable);
    hp_emit_save(e, 1, HP_AT_RCX);
    return 1;
}

static void give_back_register(struct hp_emit *e, uint16_t dead)
{
    if (!(dead & 0xcf))
        hp_emit_restore(e, 1, HP_AT_RCX);
}

void hp_emit_count(struct hp_emit *e, uint32_t at, uint16_t dead, bool flags_dead)
{
    if (flags_dead) { /* inc qword gs:[at] */
        hp_emit_byte(e, 0x65);
        hp_emit_byte(e, 0x48);
        hp_emit_byte(e, 0xff);
        hp_emit_gs_operand(e, 0, at);
        return;
    }
    unsigned reg = take_register(e, dead);
    hp_emit_restore(e, reg, at);
    hp_emit_add(e, reg, 1);
    hp_emit_save(e, reg, at);
    give_back_register(e, dead);
}

void hp_emit_ran(struct hp_emit *e, uint32_t id, bool taken, uint16_t dead, bool flags_dead)
{
    uint32_t at = (uint32_t)(HP_AT_COUNTERS + id * sizeof(struct hp_counter) + (taken ? 8u : 0));
    if (hp_engine.mode == HP_RECORD_COUNT) {
        hp_emit_count(e, at, dead, flags_dead);
        return;
    }
    unsigned reg = take_register(e, dead);
    hp_emit_restore(e, reg, HP_AT_NEXT);
    hp_emit_store_value(e, reg, 0, id);
    hp_emit_add(e, reg, 4);
    hp_emit_save(e, reg, HP_AT_NEXT);
    give_back_register(e, dead);
}

/* Counts an arrival at a head, before the exit is recorded; when the head is hot, goes to the
 * exit's stub instead. */
static void emit_head(struct hp_emit *e, const struct hp_exit *exit, uint32_t segment)
{
    static const uint8_t over[] = {0xe3, 2, 0xeb, 14}; /* jrcxz hot; jmp on */
    if (hp_segs[segment].flags_dead) {
        hp_traces_emit_head(e, segment, true);
        hp_emit_jump_if(e, HP_X86_ZERO, (uint64_t)(uintptr_t)exit->stub);
        return;
    }
    hp_emit_save(e, 1, HP_AT_RCX);
    hp_traces_emit_head(e, segment, false);
    hp_emit_bytes(e, over, sizeof over);
    hp_emit_restore(e, 1, HP_AT_RCX); /* hot: 9 bytes */
    hp_emit_jump(e, (uint64_t)(uintptr_t)exit->stub);
    hp_emit_restore(e, 1, HP_AT_RCX);
}

/* Where an exit leads that has a link which can count: there, behind the counting, or directly. */
static const uint8_t *place_of(const struct hp_exit *exit, uint32_t segment)
{
    uint8_t *code = hp_segs[segment].code;
    if (is_counted(exit, segment))
        return exit->link;
    bool direct = is_free(exit) &&
                  hp_emit_reaches((uint64_t)(uintptr_t)exit->patch, (uint64_t)(uintptr_t)code);
    return direct ? code : exit->link + exit->head;
}

/* The code of a link: everything between the exit and the segment. Returns the size of what counts
 * an arrival. */
static uint8_t emit_link(struct hp_emit *e, const struct hp_exit *exit, uint32_t segment,
                         bool counts)
{
    const uint8_t *start = e->out;
    if (counts)
        emit_head(e, exit, segment);
    uint8_t head = (uint8_t)(e->out - start);
    if (exit->recorded || hp_engine.mode == HP_RECORD_NONE)
        return head;
    const struct hp_seg *seg = &hp_segs[segment];
    if (exit->path)
        hp_emit_count(e, HP_AT_COUNTERS + exit->path * 8, seg->dead, seg->flags_dead);
    else if (!exit->prefix)
        hp_emit_ran(e, exit->id, exit->taken, seg->dead, seg->flags_dead);
    return head;
}

/* Whether the exit need not be counted. */
static bool is_derived(const struct hp_exit *exit)
{
    const struct hp_seg *seg = &hp_segs[exit->segment];
    return hp_engine.mode == HP_RECORD_COUNT && !exit->recorded && !seg->section &&
           hp_arena_derive(hp_engine.arena, exit->id, exit->taken, hp_run_start(seg, exit->piece),
                           exit->target);
}

void hp_cache_link(uint32_t number, uint32_t segment)
{
    struct hp_exit *exit = &hp_exits[number];
    struct hp_seg *seg = &hp_segs[segment];
    const struct hp_seg *source = &hp_segs[exit->segment];
    uint64_t from = (uint64_t)(uintptr_t)exit->patch, to = (uint64_t)(uintptr_t)seg->code;
    if (!exit->patch || exit->to || seg->gone || source->gone || source->kind == HP_SEG_TWIN ||
        !leads_to(exit, segment) ||
        (hp_engine.mode == HP_RECORD_COUNT && exit->id >= hp_engine.arena->shape.counted))
        return;
    exit->recorded |= is_derived(exit);
    uint8_t *place = seg->code;
    bool counts = is_counted(exit, segment);
    exit->head = 0;
    if (!is_free(exit) || counts || !hp_emit_reaches(from, to)) {
        uint8_t code[LINK_SIZE];
        struct hp_emit e = {code, 0};
        (void)emit_link(&e, exit, segment, counts);
        uint32_t size = (uint32_t)(e.out - code);
        place = hp_cache_small(from, size + 5); /* no larger than needed: this code runs often */
        if (!place || !hp_emit_reaches((uint64_t)(uintptr_t)place, to))
            return; /* always goes through the gate */
        e = (struct hp_emit){hp_cache_writable(place), (uint64_t)(uintptr_t)place};
        exit->head = emit_link(&e, exit, segment, counts);
        exit->link = place;
        hp_emit_jump(&e, to);
    }
    if (exit->waits)
        stop_waiting(number);
    exit->to = segment;
    exit->next = seg->incoming;
    seg->incoming = number;
    hp_cache_patch(exit->patch, place);
    atomic_fetch_add_explicit(&hp_engine.arena->stats.links, 1, memory_order_relaxed);
}

/* --- Unlinking -------------------------------------------------------------------------------- */

static void remove_from_hash(uint32_t segment)
{
    uint32_t *link = &by_start[hash_key(hp_segs[segment].start, &hp_segs[segment].node)];
    while (*link && *link != segment)
        link = &hp_segs[*link].next_hash;
    if (*link)
        *link = hp_segs[segment].next_hash;
}

/* The exit, now in no list, leads to segment `to`, or to the gate if that is 0 or impossible. */
static void relink(uint32_t number, uint32_t to)
{
    struct hp_exit *exit = &hp_exits[number];
    exit->to = exit->next = 0;
    if (to)
        hp_cache_link(number, to);
    if (exit->to)
        return;
    hp_cache_patch(exit->patch, exit->stub);
    if (is_free(exit))
        await(number);
}

/* The exits that lead to the segment lead to the gate again, or to segment `to` if that is not
 * 0. */
static void unlink_incoming(struct hp_seg *seg, uint32_t to)
{
    uint32_t first = seg->incoming;
    seg->incoming = 0;
    for (uint32_t i = first, next; i; i = next) {
        next = hp_exits[i].next;
        relink(i, to);
    }
}

/* Threads inside it leave by its exits, which lead to the gate again. */
void hp_cache_remove(uint32_t segment)
{
    struct hp_seg *seg = &hp_segs[segment];
    seg->gone = true;
    remove_from_hash(segment);
    hp_landings_remove(segment);
    hp_places_forget(seg);
    unlink_incoming(seg, 0);
    if (seg->kind == HP_SEG_TRACE)
        hp_traces_removed(segment);
}

void hp_cache_each(void (*each)(uint32_t segment))
{
    for (uint32_t i = 1; i <= n_segs; i++)
        if (hp_segs[i].code && hp_segs[i].code_size && !hp_segs[i].gone)
            each(i);
}

void hp_cache_replace(uint32_t from, uint32_t to)
{
    bool lands = hp_segs[from].landing;
    hp_landings_remove(from);
    if (lands)
        hp_land(to, NULL);
    unlink_incoming(&hp_segs[from], to);
}

void hp_cache_recount(uint32_t segment)
{
    struct hp_seg *seg = &hp_segs[segment];
    if (seg->landing)
        hp_landing_recount(segment);
    uint32_t first = seg->incoming;
    seg->incoming = 0;
    for (uint32_t i = first, next; i; i = next) {
        struct hp_exit *exit = &hp_exits[i];
        next = exit->next;
        if (exit->head || !is_counted(exit, segment)) {
            if (exit->head)
                hp_cache_patch(exit->patch, place_of(exit, segment));
            exit->next = seg->incoming;
            seg->incoming = i;
            continue;
        }
        relink(i, segment);
    }
}

/* Removed segments are unlinked here: where code changes often the chain would only grow. */
static uint32_t invalidate_page(uint64_t page, uint64_t low, uint64_t high)
{
    uint32_t n = 0, *link = page_bucket(page);
    while (*link) {
        struct hp_cached_piece *piece = &hp_pieces[*link >> 1];
        uint32_t *next = *link & 1 ? &piece->next_too : &piece->next;
        if (is_in(piece, low, high)) {
            hp_cache_remove(piece->segment);
            n++;
        }
        if (hp_segs[piece->segment].gone)
            *link = *next;
        else
            link = next;
    }
    return n;
}

uint32_t hp_cache_invalidate(uint64_t low, uint64_t high)
{
    uint32_t n = 0;
    if ((high - low) >> 12 < 4096) {
        for (uint64_t page = low >> 12; page <= (high - 1) >> 12; page++)
            n += invalidate_page(page, low, high);
    } else {
        for (uint32_t i = 1; i <= n_pieces; i++)
            if (is_in(&hp_pieces[i], low, high)) {
                hp_cache_remove(hp_pieces[i].segment);
                n++;
            }
    }
    atomic_fetch_add_explicit(&hp_engine.arena->stats.invalidated, n, memory_order_relaxed);
    return n;
}

uint64_t hp_cache_used(void)
{
    uint64_t used = 0;
    for (unsigned i = 0; i < hp_n_areas; i++)
        used += (uint64_t)(hp_areas[i].code - hp_areas[i].low) +
                (uint64_t)(hp_areas[i].high - hp_areas[i].small);
    return used;
}

uint64_t hp_cache_tables_used(void)
{
    return n_segs * sizeof *hp_segs + n_exits * sizeof *hp_exits + n_pieces * sizeof *hp_pieces +
           sources_used + 2 * (by_start_mask + 1ull) * sizeof *by_start + hp_landings_size();
}

/* Unmaps the areas beyond the configured size. */
static void drop_extra_areas(void)
{
    extra = 0;
    while (areas_size > hp_engine.arena->cache_size) {
        struct hp_area *area = &hp_areas[--hp_n_areas];
        uint64_t size = (uint64_t)(area->high - area->low);
        areas_size -= size;
        hp_area_unmap(area);
        hp_pages_give_back(area->segments, size / 4);
    }
}

void hp_cache_flush(void)
{
    drop_extra_areas();
    hp_cache_flushes++;
    hp_landings_flush();
    memset(by_start, 0, 2 * (by_start_mask + 1ull) * sizeof *by_start);
    memset(by_page, 0, PAGES * sizeof *by_page);
    n_segs = n_exits = n_pieces = n_joined = 0;
    sources_used = 0;
    hp_traces_flushed();
    hp_places_flushed();
    for (unsigned i = 0; i < hp_n_areas; i++)
        put_gates(&hp_areas[i]);
    atomic_fetch_add(&hp_engine.arena->stats.flushes, 1);
}

/* --- Lookup ----------------------------------------------------------------------------------- */

/*
 * The cache is full: flushes it. If a thread does not leave it, no part of it may be reused: the
 * cache grows beyond its size instead, until it is full again. There is no waiting for such a
 * thread: it may itself be waiting for one that needs the lock.
 */
static bool make_room(struct hp_self *self, uint64_t pc, const char **why)
{
    bool all_out = hp_threads_leave_cache(self, 2000, true);
    if (all_out)
        hp_cache_flush();
    else
        extra += hp_engine.arena->cache_size < area_size ? hp_engine.arena->cache_size : area_size;
    if (hp_cache_room(pc, 65536, 32768))
        return true;
    *why = all_out ? "there is no memory for the code cache"
                   : "the code cache is full, and a thread does not leave it";
    return false;
}

uint32_t hp_cache_get(struct hp_self *self, uint64_t pc, bool land, const char **why)
{
    *why = NULL;
    uint32_t segment = hp_cache_find(pc);
    if (segment)
        return segment;
    struct hp_order order = {.pc = pc, .land = land};
    return hp_cache_make(self, &order, why);
}

uint32_t hp_cache_make(struct hp_self *self, const struct hp_order *order, const char **why)
{
    bool drops = hp_engine.flushes_often && ++n_gets % OFTEN == 0;
    *why = NULL;
    if ((drops || !hp_cache_room(order->pc, 65536, 32768)) && !make_room(self, order->pc, why))
        return 0;
    uint64_t start = hp_engine_ticks();
    uint32_t segment = hp_translate(self, order, why);
    hp_engine.translate_tsc += hp_engine_ticks() - start;
    return segment;
}

/* The tables get an eighth of a limited address space, each area a 32nd. */
static void choose_sizes(void)
{
    uint64_t tables = MAX_SEGMENTS * sizeof *hp_segs + MAX_EXITS * sizeof *hp_exits +
                      MAX_PIECES * sizeof *hp_pieces;
    if (hp_engine.mode == HP_RECORD_NONE)
        tables += MAX_SOURCE;
    while (less < 9 && tables >> less > hp_engine.room / 8)
        less++;
    while (area_size > 1 << 20 && area_size > hp_engine.room / 32)
        area_size /= 2;
}

void hp_cache_start(void)
{
    choose_sizes();
    hp_segs = hp_pages((MAX_SEGMENTS >> less) * sizeof *hp_segs);
    hp_exits = hp_pages((MAX_EXITS >> less) * sizeof *hp_exits);
    hp_pieces = hp_pages((MAX_PIECES >> less) * sizeof *hp_pieces);
    if (hp_engine.mode == HP_RECORD_NONE)
        sources = hp_pages(MAX_SOURCE >> less);
    by_page = hp_pages(PAGES * sizeof *by_page);
    new_buckets(1 << 14);
    hp_traces_start(MAX_SEGMENTS >> less);
    if (!hp_landings_start(hp_engine.has_pext) || !hp_segs || !hp_exits || !hp_pieces || !by_page ||
        !by_start || !hp_paths_start() || (hp_engine.mode == HP_RECORD_NONE && !sources))
        hp_run_natively("there is no memory for the native engine",
                        "raise its limits (ulimit -v, -d)");
}
