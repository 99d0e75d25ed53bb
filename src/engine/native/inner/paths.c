// SPDX-License-Identifier: MIT
#include "engine/native/inner/paths.h"

#include "engine/native/inner/decode.h"
#include "engine/native/inner/landings.h"
#include "engine/native/inner/rseq.h"
#include "engine/native/inner/sys.h"
#include "engine/native/inner/traces.h"
#include "hotpath/stream.h"

#include <sys/mman.h>

#define PLACES    (1u << 20) /* return places */
#define BUCKETS   (1u << 18) /* of the table of them */
#define FUNCTIONS (1u << 16) /* functions with numbers */
#define ARRIVALS  (1u << 20)
#define COPIES    256 /* nodes at an address, from which on they must be reached more often */
#define COLD      2   /* times, before they are translated */
#define TRIES     500 /* 0.2 ms each, for the reader to say which functions a module has */

static struct hp_return_place
    *places; /* below 2 GiB; the first is not used, the second is the bottom */
static uint32_t n_places, *buckets;
static uint64_t *functions; /* by number: where they start */
static uint32_t n_functions;
static uint8_t *arrivals; /* at nodes that are not translated, by a hash; up to COLD */
static uint16_t *n_nodes; /* at an address, by a hash of it */

#define BOTTOM 1
#define PAGE   4096

bool hp_paths_start(void)
{
    if (hp_engine.mode != HP_RECORD_PATHS)
        return true;
    long at = hp_pages_low((long)(PLACES * sizeof *places));
    buckets = hp_pages(BUCKETS * sizeof *buckets);
    functions = hp_pages(FUNCTIONS * sizeof *functions);
    arrivals = hp_pages(ARRIVALS);
    n_nodes = hp_pages(0x10000 * sizeof *n_nodes);
    if (hp_sys_failed(at) || !buckets || !functions)
        return false;
    places = (struct hp_return_place *)at;
    places[BOTTOM].code = (uint64_t)(uintptr_t)hp_gate_miss; /* nothing returns there */
    n_places = BOTTOM + 1;
    return true;
}

void hp_paths_thread(struct hp_self *self)
{
    if (hp_engine.mode != HP_RECORD_PATHS)
        return;
    self->counting = false;
    self->shadow_low =
        (uint32_t *)(void *)((char *)self + HP_AT_COUNTERS + hp_engine.arena->shape.counter_bytes);
    self->shadow_high = self->shadow_low + (HP_SHADOW_BYTES - PAGE) / sizeof *self->shadow_low;
    hp_sys3(SYS_mprotect, (long)self->shadow_high, PAGE, PROT_NONE);
    self->shadow_low[0] = (uint32_t)(uintptr_t)&places[BOTTOM];
    self->shadow = self->shadow_low + 1;
}

bool hp_paths_is_full(const struct hp_self *self, uint64_t address)
{
    uint64_t high = (uint64_t)(uintptr_t)self->shadow_high;
    return self->counting && address >= high && address < high + PAGE;
}

static uint64_t *counter(struct hp_self *self, uint32_t path)
{
    return (uint64_t *)(void *)((char *)self + HP_AT_COUNTERS) + path;
}

/* --- Return places ---------------------------------------------------------------------------- */

uint32_t hp_place_for(const struct hp_path_node *node, uint32_t segment, uint64_t behind)
{
    uint32_t *bucket =
        &buckets[(uint32_t)((node->before * 0x9e3779b97f4a7c15u ^ behind) >> 20) % BUCKETS];
    for (uint32_t i = *bucket; i; i = places[i].next)
        if (places[i].node.before == node->before && places[i].minus == -behind)
            return (uint32_t)(uintptr_t)&places[i];
    if (n_places == PLACES)
        return 0;
    places[n_places] = (struct hp_return_place){.code = (uint64_t)(uintptr_t)hp_gate_place,
                                                .minus = -behind,
                                                .node = *node,
                                                .segment = segment,
                                                .next = *bucket};
    *bucket = n_places;
    return (uint32_t)(uintptr_t)&places[n_places++];
}

static void forget(struct hp_return_place *place)
{
    __atomic_store_n(&place->code, (uint64_t)(uintptr_t)hp_gate_place, __ATOMIC_RELEASE);
}

void hp_places_forget(const struct hp_seg *seg)
{
    if (seg->place)
        forget(&places[seg->place]);
}

void hp_places_flushed(void)
{
    for (uint32_t i = BOTTOM + 1; i < n_places; i++)
        forget(&places[i]);
}

/* --- Functions -------------------------------------------------------------------------------- */

/* The number of the function that starts there. */
static uint32_t number_of(uint64_t start)
{
    uint32_t i = (uint32_t)(start * 0x9e3779b97f4a7c15u >> 40) % FUNCTIONS;
    for (uint32_t tries = 0; tries < 64; tries++, i = (i + 1) % FUNCTIONS) {
        if (functions[i] == start)
            return i + 1;
        if (!functions[i] && n_functions < FUNCTIONS / 2) {
            n_functions++;
            functions[i] = start;
            return i + 1;
        }
    }
    return UINT32_MAX;
}

uint32_t hp_paths_function(struct hp_self *self, uint64_t address, bool *is_start)
{
    struct {
        int64_t s, ns;
    } a_while = {0, 200000};
    struct hp_mapped_place place;
    *is_start = false;
    if (!hp_maps_find(self, address, &place))
        return UINT32_MAX;
    uint64_t start = hp_arena_function(hp_engine.arena, place.module, place.base, address);
    for (int i = 0; i < TRIES && start == HP_FUNCTION_UNKNOWN; i++) {
        hp_sys2(SYS_nanosleep, (long)&a_while, 0);
        start = hp_arena_function(hp_engine.arena, place.module, place.base, address);
    }
    if (start == HP_FUNCTION_NONE)
        return 0;
    *is_start = start == address;
    return start == HP_FUNCTION_UNKNOWN ? UINT32_MAX : number_of(start);
}

/* --- From counting to words ------------------------------------------------------------------- */

static void write_frames(struct hp_self *self)
{
    for (const uint32_t *entry = self->shadow_low + 1; entry < self->shadow; entry++) {
        const struct hp_return_place *place = (const struct hp_return_place *)(uintptr_t)*entry;
        uint64_t address = -place->minus;
        uint32_t payload[3] = {place->node.before, (uint32_t)address, (uint32_t)(address >> 32)};
        hp_words_event(self, hp_word_event(HP_WORD_FRAME, 0), payload, 3);
    }
}

void hp_paths_hand_over(struct hp_self *self)
{
    if (!self->counting)
        return;
    self->counting = false;
    write_frames(self);
    uint32_t payload[2] = {self->prefix, self->prefix_segment};
    hp_words_event(self, hp_word_event(HP_WORD_HANDED, 0), payload, 2);
    if (self->prefix_cut != HP_UNCUT)
        hp_words_event(self, hp_word_event(HP_WORD_CUT, self->prefix_cut), NULL, 0);
    self->shadow = self->shadow_low + 1;
}

/* --- The next segment ------------------------------------------------------------------------- */

static uint32_t in_words(struct hp_self *self, uint64_t pc, const char **why)
{
    hp_paths_hand_over(self);
    uint32_t twin = hp_cache_find_twin(pc);
    struct hp_order order = {.pc = pc, .kind = HP_SEG_TWIN};
    return twin ? twin : hp_cache_make(self, &order, why);
}

/*
 * A block at which very many paths meet has a node for each of them, most of which are reached
 * once. Whether this is one more, and it would cost more to translate it than to hand over.
 */
static bool is_cold(uint64_t pc, const struct hp_path_node *node)
{
    uint64_t by_path = (pc ^ (uint64_t)node->before << 32 ^ node->how) * 0x9e3779b97f4a7c15u;
    uint8_t *times = &arrivals[by_path >> 44];
    uint16_t *copies = &n_nodes[pc * 0x9e3779b97f4a7c15u >> 48];
    if (*copies >= COPIES && *times < COLD) {
        ++*times;
        return true;
    }
    if (*copies < COPIES)
        ++*copies;
    return false;
}

/* Whether an indirect call may end there: landings do not see that it calls the next address. */
static bool is_behind_call(uint64_t pc)
{
    uint8_t bytes[15];
    struct hp_x86 insn;
    for (unsigned length = 2; length < sizeof bytes; length++) {
        if (!hp_copy(bytes, (const void *)(uintptr_t)(pc - length), length))
            return true;
        hp_x86_decode(bytes, length, &insn);
        if (insn.kind == HP_X86_CALL_IND && insn.length == length)
            return true;
    }
    return false;
}

/* Whether a node that starts a path there may have a landing; `*function`: see hp_seg. */
static bool may_land(struct hp_self *self, uint64_t pc, uint32_t *function)
{
    bool is_start;
    if (is_behind_call(pc))
        return false;
    *function = hp_paths_function(self, pc, &is_start);
    if (*function == UINT32_MAX)
        return false;
    if (is_start)
        *function = 0;
    return true;
}

/* The segment for the node at `pc`; 0: there can be none. `lands`: an indirect transfer leads
 * there. */
static uint32_t node_at(struct hp_self *self, uint64_t pc, const struct hp_path_node *node,
                        bool lands)
{
    const char *why;
    uint32_t segment = hp_cache_find_node(pc, node);
    if (!segment && node->before && is_cold(pc, node))
        return 0;
    struct hp_order order = {.pc = pc, .kind = HP_SEG_NODE, .node = *node};
    if (!segment && lands && !hp_rseq_at(pc))
        order.land = may_land(self, pc, &order.function);
    return segment ? segment : hp_cache_make(self, &order, &why);
}

/* How a block of a twin ends. */
static struct hp_path_exit end_of(const struct hp_cached_piece *piece)
{
    static const uint8_t flows[256] = {
        [HP_X86_JUMP] = HP_FLOW_JUMP,         [HP_X86_CALL] = HP_FLOW_CALL,
        [HP_X86_COND] = HP_FLOW_COND,         [HP_X86_COUNTED] = HP_FLOW_COND,
        [HP_X86_JUMP_IND] = HP_FLOW_JUMP_IND, [HP_X86_CALL_IND] = HP_FLOW_CALL_IND,
        [HP_X86_RET] = HP_FLOW_RETURN,
    };
    uint32_t at = piece->size - piece->last_length;
    struct hp_x86 insn = {0};
    if (piece->last_length)
        hp_x86_decode(hp_piece_source(piece) + at, piece->last_length, &insn);
    uint64_t last = piece->start + at;
    uint8_t flow = flows[insn.kind];
    bool direct = flow == HP_FLOW_JUMP || flow == HP_FLOW_CALL || flow == HP_FLOW_COND;
    return (struct hp_path_exit){.last = last,
                                 .end = piece->start + piece->size,
                                 .direct = direct ? hp_x86_target(&insn, last) : 0,
                                 .flow = flow};
}

uint64_t hp_paths_called(const struct hp_self *self, const struct hp_cached_piece *piece)
{
    struct hp_path_exit end = end_of(piece);
    return end.direct ? end.direct : self->target;
}

/* The thread, in words, goes to `to`: begins to count if a path starts there. */
static uint32_t from_words(struct hp_self *self, const struct hp_left *left, uint64_t to,
                           const char **why)
{
    static const struct hp_path_node root = {0};
    struct hp_path_exit end = end_of(&left->piece);
    bool taken = left->exit.taken || !left->exit.patch;
    if (!hp_path_starts(&hp_engine.arena->paths, &end, to, taken))
        return in_words(self, to, why);
    uint32_t segment = node_at(self, to, &root, false);
    if (!segment)
        return in_words(self, to, why);
    hp_words_event(self, hp_word_event(HP_WORD_COUNTING, 0),
                   &hp_pieces[hp_segs[segment].first_piece].id, 1);
    self->counting = true;
    self->shadow = self->shadow_low + 1;
    return segment;
}

/* Takes back what the exit has done for a transfer that must be words after all. */
static uint32_t take_back(struct hp_self *self, const struct hp_exit *exit, uint64_t to,
                          const char **why)
{
    if (exit->pushed)
        self->shadow--;
    if (exit->popped)
        self->shadow++;
    if (exit->path && (exit->recorded || exit->popped || exit->indirect == HP_X86_JUMP_IND))
        --*counter(self, exit->path);
    return in_words(self, to, why);
}

/* Whether the indirect transfer may lead to a node. */
static bool may_count(struct hp_self *self, const struct hp_left *left, uint64_t to)
{
    bool is_start, ignored;
    if (left->exit.indirect == HP_X86_RET)
        return false;
    if (left->exit.indirect == HP_X86_CALL_IND)
        return to != left->piece.start + left->piece.size; /* that is no call */
    if (left->exit.indirect != HP_X86_JUMP_IND)
        return true;
    uint32_t target = hp_paths_function(self, to, &is_start);
    if (target == 0 || is_start)
        return true;
    uint32_t from = hp_paths_function(self, left->piece.start, &ignored);
    return from == 0 || (from == target && from != UINT32_MAX);
}

struct hp_left hp_paths_left(uint32_t number)
{
    const struct hp_exit *exit = &hp_exits[number];
    return (struct hp_left){*exit, hp_pieces[hp_segs[exit->segment].first_piece + exit->piece]};
}

uint32_t hp_paths_next(struct hp_self *self, const struct hp_left *left, uint64_t to,
                       const char **why)
{
    const struct hp_exit *exit = &left->exit;
    *why = NULL;
    if (!exit->prefix)
        return from_words(self, left, to, why);
    hp_paths_at(self, exit->prefix, exit->id, HP_UNCUT);
    if (exit->indirect ? !may_count(self, left, to) : to != exit->target)
        return take_back(self, exit, to, why);
    uint32_t segment = node_at(self, to, &exit->node, exit->indirect);
    if (!segment)
        return take_back(self, exit, to, why);
    if (exit->path && !exit->recorded && !exit->indirect)
        ++*counter(self, exit->path);
    return segment;
}

uint32_t hp_paths_go_on(struct hp_self *self, uint64_t pc, const char **why)
{
    *why = NULL;
    uint32_t segment = self->counting ? node_at(self, pc, &self->node, false) : 0;
    return segment ? segment : in_words(self, pc, why);
}

void hp_paths_enter(struct hp_self *self, uint32_t segment)
{
    const struct hp_seg *seg = &hp_segs[segment];
    const struct hp_cached_piece *first = &hp_pieces[seg->first_piece];
    if (seg->node.before && !seg->node.how)
        return; /* it is at the end of the block before */
    hp_paths_at(self, first->prefix, first->id, 0);
}

/* A call has returned to a place without code: the place is popped, the path counted. */
uint32_t hp_paths_return(struct hp_self *self, const struct hp_left *left, const char **why)
{
    const struct hp_exit *exit = &left->exit;
    struct hp_return_place *place = (struct hp_return_place *)(uintptr_t)*self->shadow;
    uint64_t to = -place->minus;
    *why = NULL;
    hp_paths_at(self, exit->prefix, exit->id, HP_UNCUT);
    uint32_t segment = to == self->target ? node_at(self, to, &place->node, false) : 0;
    if (!segment)
        return take_back(self, exit, self->target, why);
    hp_segs[segment].place = (uint32_t)(place - places);
    __atomic_store_n(&place->code, (uint64_t)(uintptr_t)hp_segs[segment].entrance,
                     __ATOMIC_RELEASE);
    return segment;
}

void hp_paths_land(struct hp_self *self, uint32_t segment)
{
    struct hp_seg *seg = &hp_segs[segment];
    if (!seg->landing && may_land(self, seg->start, &seg->function))
        hp_land(segment, NULL);
}
