// SPDX-License-Identifier: MIT
#include "live/board_impl.h"
#include "session/session_impl.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DOMINANT 4 /* the hot spot of now has one part of so many, at least */

/* Of the processor: what others do meanwhile is no cost of ours. */
static double spent(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* --- Differences ------------------------------------------------------------------------------ */

static enum hp_err copy(uint64_t **to, size_t *cap, size_t *n_to, const uint64_t *from, size_t n)
{
    HP_TRY(hp_grow(to, cap, n + 1, sizeof **to));
    if (n)
        memcpy(*to, from, n * sizeof **to);
    *n_to = n;
    return HP_OK;
}

static enum hp_err copy_sums(struct hp_exact_sums *to, const struct hp_exact_sums *from)
{
    HP_TRY(copy(&to->blocks, &to->cap_blocks, &to->n_blocks, from->blocks, from->n_blocks));
    HP_TRY(copy(&to->calls, &to->cap_calls, &to->n_calls, from->calls, from->n_calls));
    return copy(&to->trips, &to->cap_trips, &to->n_trips, from->trips, from->n_trips);
}

/* Counters may go back a little: what a loop that is none any more had is another's. */
static void subtract(uint64_t *from, size_t n, const uint64_t *values, size_t n_values)
{
    for (size_t i = 0; i < n && i < n_values; i++)
        from[i] -= values[i] < from[i] ? values[i] : from[i];
}

static void free_sums(struct hp_exact_sums *sums)
{
    free(sums->blocks);
    free(sums->calls);
    free(sums->trips);
}

/* `change` becomes what happened since the last look, or the start. */
static enum hp_err find_change(struct hp_board *b, bool since)
{
    const struct hp_exact_sums *from = since ? &b->base : &b->before;
    HP_TRY(copy_sums(&b->change, &b->peek.now));
    subtract(b->change.blocks, b->change.n_blocks, from->blocks, from->n_blocks);
    subtract(b->change.calls, b->change.n_calls, from->calls, from->n_calls);
    subtract(b->change.trips, b->change.n_trips, from->trips, from->n_trips);
    b->whole = 0;
    for (uint32_t i = 0; i < b->change.n_blocks; i++)
        if (b->change.blocks[i])
            b->whole += b->change.blocks[i] * hp_code_block(b->code, i)->insns;
    return HP_OK;
}

static bool is_branch(uint8_t flow)
{
    return flow != HP_FLOW_NONE && flow != HP_FLOW_SYSCALL && flow != HP_FLOW_TRAP;
}

/* Of the last interval, whatever shares are of. */
static void find_rates(struct hp_board *b)
{
    const struct hp_pipeline_stats *stats = hp_pipeline_stats(b->pipeline);
    const struct hp_exact_sums *now = &b->peek.now, *before = &b->before;
    uint64_t branches = 0;
    b->recent = 0;
    for (uint32_t i = 0; i < now->n_blocks; i++) {
        uint64_t known = i < before->n_blocks ? before->blocks[i] : 0;
        if (now->blocks[i] <= known)
            continue;
        uint64_t count = now->blocks[i] - known;
        const struct hp_block *block = hp_code_block(b->code, i);
        b->recent += count * block->insns;
        branches += is_branch(block->flow) ? count : 0;
    }
    double seconds = b->seconds > 0 ? b->seconds : 1e-9;
    b->instructions_rate = (double)(stats->cursor.instructions - b->instructions) / seconds;
    b->branches_rate = (double)branches / seconds;
    double waited = hp_session_info(b->session).waited;
    b->waiting = (waited - b->waited) / seconds;
    b->waited = waited;
    b->instructions = stats->cursor.instructions;
    b->threads = stats->running;
    b->waits = !stats->region_reached;
}

/* --- Functions -------------------------------------------------------------------------------- */

/* The function of a block without a symbol: the nearest that was called before it. Searched anew
 * only when so many more are known that it may be another. */
static uint32_t search_owner(struct hp_board *b, uint32_t block, uint32_t n_functions)
{
    struct hp_board_owner *owner = &b->owners[block];
    if (owner->known && n_functions - owner->known <= owner->known / 8)
        return owner->function;
    const struct hp_block *info = hp_code_block(b->code, block);
    owner->known = n_functions;
    owner->function =
        hp_functions_at(b->functions, info->module, hp_board_offset(b, block, info->start));
    return owner->function;
}

uint32_t hp_board_owner_of(struct hp_board *b, uint32_t block)
{
    uint32_t id = hp_functions_of_block(b->functions, block);
    if (id != HP_NO_ID || block >= b->cap_owners)
        return id;
    return search_owner(b, block, hp_functions_count(b->functions));
}

bool hp_board_is_picked(struct hp_board *b, uint32_t block)
{
    const struct hp_board_function *picked = &b->wish->picked;
    return hp_board_owner_of(b, block) == picked->id &&
           hp_code_block(b->code, block)->module == picked->module;
}

static enum hp_err add_to_function(struct hp_board *b, uint32_t id, uint64_t weight)
{
    HP_TRY(hp_grow(&b->weights, &b->cap_weights, (size_t)id + 1, sizeof *b->weights));
    b->weights[id] += weight;
    return HP_OK;
}

/* What was executed in a stub is its target's. */
static enum hp_err fold_stubs(struct hp_board *b)
{
    const struct hp_exact_peek_calls *calls = &b->calls_of_stubs;
    for (uint32_t i = 0; i < calls->n && i < b->cap_weights; i++) {
        uint64_t weight = calls->is_stub[i] && calls->most[i] ? b->weights[i] : 0;
        if (weight == 0)
            continue;
        HP_TRY(add_to_function(b, calls->target[i], weight));
        b->weights[i] = 0;
    }
    return HP_OK;
}

/* Blocks with symbols first: the functions they bring would make every search among the others
 * start anew. */
static enum hp_err add_up_functions(struct hp_board *b)
{
    HP_TRY(hp_grow(&b->stray, &b->cap_stray, hp_code_n_modules(b->code) + 1, sizeof *b->stray));
    memset(b->stray, 0, b->cap_stray * sizeof *b->stray);
    if (b->cap_weights)
        memset(b->weights, 0, b->cap_weights * sizeof *b->weights);
    for (int named = 1; named >= 0; named--) {
        uint32_t n_functions = hp_functions_count(b->functions);
        for (uint32_t i = 0; i < b->change.n_blocks; i++) {
            uint32_t id = b->change.blocks[i] ? hp_functions_of_block(b->functions, i) : HP_NO_ID;
            if (!b->change.blocks[i] || (id != HP_NO_ID) != named)
                continue;
            const struct hp_block *block = hp_code_block(b->code, i);
            uint64_t weight = b->change.blocks[i] * block->insns;
            if (!named)
                id = search_owner(b, i, n_functions);
            if (id == HP_NO_ID)
                b->stray[block->module] += weight;
            else
                HP_TRY(add_to_function(b, id, weight));
        }
    }
    return fold_stubs(b);
}

static struct hp_board_row function_row(const struct hp_board *b, struct hp_board_function of)
{
    struct hp_board_row row = {.id = of.id, .module = of.module, .block = HP_NO_ID};
    if (of.id == HP_NO_ID) {
        row.weight = of.module < b->cap_stray ? b->stray[of.module] : 0;
        return row;
    }
    row.weight = of.id < b->cap_weights ? b->weights[of.id] : 0;
    row.count = of.id < b->change.n_calls ? b->change.calls[of.id] : 0;
    return row;
}

static enum hp_err offer_functions(struct hp_board *b)
{
    for (uint32_t i = 0; i < hp_functions_count(b->functions) && i < b->cap_weights; i++)
        if (b->weights[i]) {
            struct hp_board_function of = {i, hp_functions_get(b->functions, i)->module};
            HP_TRY(hp_board_offer(b, HP_BOARD_FUNCTIONS, function_row(b, of)));
        }
    for (uint32_t i = 0; i < hp_code_n_modules(b->code); i++)
        if (b->stray[i]) {
            struct hp_board_function of = {HP_NO_ID, i};
            HP_TRY(hp_board_offer(b, HP_BOARD_FUNCTIONS, function_row(b, of)));
        }
    return HP_OK;
}

/* --- Loops ------------------------------------------------------------------------------------ */

enum hp_err hp_board_offer_loops(struct hp_board *b, enum hp_board_kind kind)
{
    size_t n;
    HP_TRY(hp_exact_peek_loops(b->exact, b->change.blocks, b->change.n_blocks, &b->peek_loops,
                               &b->cap_peek_loops, &n));
    for (size_t i = 0; i < n; i++) {
        const struct hp_exact_peek_loop *loop = &b->peek_loops[i];
        if (!(loop->self | loop->iterations))
            continue;
        struct hp_board_row row = {.weight = loop->self,
                                   .count = loop->iterations,
                                   .times =
                                       loop->id < b->change.n_trips ? b->change.trips[loop->id] : 0,
                                   .id = loop->id,
                                   .module = hp_code_block(b->code, loop->header)->module,
                                   .block = loop->header,
                                   .depth = loop->depth};
        if (kind == HP_BOARD_LOOPS || hp_board_is_picked(b, loop->header))
            HP_TRY(hp_board_offer(b, kind, row));
    }
    return HP_OK;
}

/* --- Hot spots -------------------------------------------------------------------------------- */

static struct hp_board_row spot_row(const struct hp_board *b, size_t i, uint64_t weight)
{
    const struct hp_hotspot_peek *spot = &b->spots[i];
    struct hp_board_row row = {.weight = weight,
                               .count = spot->at_instructions,
                               .id = spot->number,
                               .block = spot->hottest,
                               .size = spot->blocks};
    if (row.block != HP_NO_ID)
        row.module = hp_code_block(b->code, row.block)->module;
    return row;
}

/* Which one took most of the last interval, of `recent` instructions. */
static void find_spot(struct hp_board *b, uint64_t recent, double now)
{
    struct hp_board_row most = {.id = HP_BOARD_NO_SPOT, .block = HP_NO_ID};
    for (size_t i = 0; i < b->detector.found; i++) {
        uint64_t weight = b->spots[i].executed - b->spots_before[i];
        if (weight > most.weight && weight >= recent / DOMINANT)
            most = spot_row(b, i, weight);
    }
    if (most.id != b->spot.id || b->n_history == 0)
        b->spot_since = now;
    b->spot = most;
    b->spot_share = recent ? (double)most.weight / (double)recent : 0;
}

static enum hp_err look_spots(struct hp_board *b, double now)
{
    size_t n_before = b->n_history ? b->detector.found : 0;
    for (size_t i = 0; i < n_before; i++)
        b->spots_before[i] = b->spots[i].executed;
    HP_TRY(hp_hotspot_peek(b->hotspots, b->change.blocks, b->change.n_blocks, &b->spots,
                           &b->cap_spots, &b->detector));
    size_t n = b->detector.found;
    HP_TRY(hp_grow(&b->spots_before, &b->cap_spots_before, n + 1, sizeof *b->spots_before));
    HP_TRY(hp_grow(&b->spots_base, &b->cap_spots_base, n + 1, sizeof *b->spots_base));
    /* Of one that is new it is not known what its region executed when; its share would be more
     * than all. */
    for (size_t i = n_before; i < n; i++)
        b->spots_before[i] =
            b->spots[i].executed < b->recent ? 0 : b->spots[i].executed - b->recent;
    find_spot(b, b->recent, now);
    return HP_OK;
}

static enum hp_err offer_spots(struct hp_board *b)
{
    const uint64_t *from = b->wish->since ? b->spots_base : b->spots_before;
    for (size_t i = 0; i < b->detector.found; i++)
        if (b->spots[i].executed > from[i])
            HP_TRY(hp_board_offer(b, HP_BOARD_HOTSPOTS,
                                  spot_row(b, i, b->spots[i].executed - from[i])));
    return HP_OK;
}

/* --- All -------------------------------------------------------------------------------------- */

static void begin_rows(struct hp_board *b)
{
    for (unsigned kind = 0; kind < HP_BOARD_KINDS; kind++) {
        struct hp_board_rows *rows = &b->kinds[kind];
        *rows = (struct hp_board_rows){
            .rows = rows->rows, .cap = rows->cap, .order = b->wish->order[kind], .whole = b->whole};
    }
}

static enum hp_err offer(struct hp_board *b)
{
    const bool *kinds = b->wish->kinds;
    b->stale = false;
    if (kinds[HP_BOARD_FUNCTIONS] || b->wish->picks)
        HP_TRY(add_up_functions(b));
    if (kinds[HP_BOARD_FUNCTIONS])
        HP_TRY(offer_functions(b));
    if (b->loops && kinds[HP_BOARD_LOOPS])
        HP_TRY(hp_board_offer_loops(b, HP_BOARD_LOOPS));
    if (b->paths && kinds[HP_BOARD_PATHS])
        HP_TRY(hp_board_offer_paths(b));
    if (b->hotspots && kinds[HP_BOARD_HOTSPOTS])
        HP_TRY(offer_spots(b));
    if (b->wish->picks) {
        b->picked = function_row(b, b->wish->picked);
        hp_board_name(b, HP_BOARD_FUNCTIONS, &b->picked);
        HP_TRY(hp_board_offer_details(b));
    }
    return HP_OK;
}

/* The rows of the change that was found. */
static enum hp_err show(struct hp_board *b)
{
    begin_rows(b);
    HP_TRY(hp_grow(&b->owners, &b->cap_owners, hp_code_n_blocks(b->code) + 1, sizeof *b->owners));
    HP_TRY(offer(b));
    for (unsigned kind = 0; kind < HP_BOARD_KINDS; kind++)
        hp_board_settle(&b->kinds[kind]);
    return HP_OK;
}

enum hp_err hp_board_again(struct hp_board *b, const struct hp_board_wish *wish)
{
    b->wish = wish;
    HP_TRY(find_change(b, wish->since));
    return show(b);
}

static enum hp_err look(struct hp_board *b, double now)
{
    HP_TRY(copy_sums(&b->before, &b->peek.now));
    HP_TRY(hp_exact_peek(b->exact, &b->peek));
    find_rates(b);
    if (!b->wish->stubs)
        HP_TRY(hp_exact_peek_calls(b->exact, HP_NO_ID, true, &b->calls_of_stubs));
    HP_TRY(find_change(b, b->wish->since));
    if (b->paths && b->wish->kinds[HP_BOARD_PATHS])
        HP_TRY(hp_board_look_paths(b, b->wish));
    if (b->hotspots) /* the one of now is always shown */
        HP_TRY(look_spots(b, now));
    else
        b->spot.id = HP_BOARD_NO_SPOT;
    HP_TRY(hp_board_look_details(b, b->wish));
    b->history[b->n_history++ % HP_BOARD_HISTORY] =
        (struct hp_board_moment){.rate = b->instructions_rate, .hot_spot = b->spot.id};
    return show(b);
}

void hp_board_open(struct hp_board *board, struct hp_session *session, double started)
{
    const struct hp_profilers *profilers = &session->profilers;
    board->session = session;
    board->code = session->code;
    board->functions = session->functions;
    board->pipeline = session->pipeline;
    board->exact = profilers->exact;
    board->paths = profilers->paths;
    board->hotspots = profilers->hotspots;
    board->loops = session->plan.selection.loops;
    if (profilers->paths)
        board->ppcr = hp_paths_config(profilers->paths)->ppcr;
    board->looked = started;
}

enum hp_err hp_board_look(struct hp_board *b, const struct hp_board_wish *wish, double now)
{
    hp_pipeline_settle(b->pipeline);
    double began = spent();
    b->seconds = now - b->looked;
    b->looked = now;
    b->wish = wish;
    HP_TRY(look(b, now));
    b->cost = spent() - began;
    if (b->spot.id != HP_BOARD_NO_SPOT) {
        hp_board_name(b, HP_BOARD_HOTSPOTS, &b->spot);
        return hp_board_locate(b, HP_BOARD_HOTSPOTS, &b->spot);
    }
    return HP_OK;
}

enum hp_err hp_board_reset(struct hp_board *b)
{
    HP_TRY(copy_sums(&b->base, &b->peek.now));
    for (size_t i = 0; i < b->detector.found && b->spots_base; i++)
        b->spots_base[i] = b->spots[i].executed;
    HP_TRY(hp_board_reset_details(b));
    return hp_board_reset_paths(b);
}

const struct hp_board_moment *hp_board_moment(const struct hp_board *b, size_t back)
{
    return back < b->n_history && back < HP_BOARD_HISTORY
               ? &b->history[(b->n_history - 1 - back) % HP_BOARD_HISTORY]
               : NULL;
}

void hp_board_fini(struct hp_board *b)
{
    hp_exact_peek_fini(&b->peek);
    free_sums(&b->before);
    free_sums(&b->base);
    free_sums(&b->change);
    free(b->owners);
    free(b->weights);
    free(b->stray);
    hp_exact_peek_calls_fini(&b->calls_of_stubs);
    free(b->peek_loops);
    free(b->spots);
    free(b->spots_before);
    free(b->spots_base);
    for (unsigned kind = 0; kind < HP_BOARD_KINDS; kind++)
        free(b->kinds[kind].rows);
    hp_board_fini_paths(b);
    hp_board_fini_details(b);
    hp_board_fini_names(b);
    *b = (struct hp_board){0};
}
