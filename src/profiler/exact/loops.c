// SPDX-License-Identifier: MIT
#include "profiler/exact/loops.h"

#include "base/grow.h"
#include "profiler/exact/legs.h"
#include "profiler/exact/phrases.h"

#include <stdlib.h>

/* --- Creating and freeing --------------------------------------------------------------------- */

enum hp_err hp_exact_loops_new(struct hp_exact *exact)
{
    struct hp_exact_loops *all = calloc(1, sizeof *all);
    if (!all)
        return hp_fail_nomem();
    exact->loops = all;
    return hp_loop_graph_init(&all->graph, exact->code, exact->functions);
}

void hp_exact_loops_free(struct hp_exact *exact)
{
    struct hp_exact_loops *all = exact->loops;
    if (!all)
        return;
    hp_loop_graph_fini(&all->graph);
    free(all->members);
    free(all->member_of);
    hp_covers_fini(&all->covers);
    hp_exact_loops_result_free(all->result);
    free(all);
}

enum hp_err hp_exact_loops_start(struct hp_exact_thread *t)
{
    t->loops = calloc(1, sizeof *t->loops);
    if (!t->loops ||
        hp_grow(&t->loops->newest, &t->loops->cap_newest, 1, sizeof *t->loops->newest) != HP_OK) {
        free(t->loops);
        return hp_fail_nomem();
    }
    t->loops->all = t->exact->loops;
    t->loops->current = HP_NO_ID;
    t->loops->now = HP_LOOP_NOBODY;
    return HP_OK;
}

/* Frees what is needed only while the thread runs. */
static void free_running(struct hp_exact_loop_thread *l)
{
    free(l->records);
    free(l->saved);
    free(l->frames);
    free(l->legs);
    free(l->events);
    l->legs = NULL;
    l->events = NULL;
    free(l->newest);
    l->newest = NULL;
    l->cap_newest = 0;
    free(l->slots);
    l->slots = NULL;
    hp_exact_phrases_free(l->phrases);
    l->phrases = NULL;
    l->records = NULL;
    l->saved = NULL;
    l->frames = NULL;
    l->cap_records = l->cap_saved = l->cap_frames = l->cap_legs = l->cap_events = 0;
}

void hp_exact_loops_stop(struct hp_exact_thread *t)
{
    struct hp_exact_loop_thread *l = t->loops;
    if (!l)
        return;
    free_running(l);
    for (size_t i = 0; i < l->n_records; i++)
        hp_trips_fini(&l->trips[i]);
    free(l->trips);
    free(l->trip_loops);
    free(l->sites);
    hp_counters_fini(&l->returns[0]);
    hp_counters_fini(&l->returns[1]);
    hp_counters_fini(&l->odd);
    hp_counters_fini(&l->begins);
    hp_counters_fini(&l->begun);
    hp_counters_fini(&l->interrupted);
    hp_counters_fini(&l->covered);
    hp_counters_fini(&l->covered_calls);
    free(l);
    t->loops = NULL;
}

static void add(struct hp_exact_thread *t, struct hp_counters *tally, uint64_t key, uint64_t count)
{
    if (hp_counters_add(tally, key, count) != HP_OK)
        t->exact->out_of_memory = true;
}

/* --- Tables ----------------------------------------------------------------------------------- */

/* Registers which blocks are in new units. */
static enum hp_err add_members(struct hp_exact_loops *all, const struct hp_code *code)
{
    HP_TRY(hp_grow(&all->member_of, &all->cap_member_of, hp_code_n_blocks(code),
                   sizeof *all->member_of));
    for (; all->n_units < hp_code_n_units(code); all->n_units++) {
        uint32_t n;
        const uint32_t *blocks = hp_code_unit(code, (uint32_t)all->n_units, &n);
        HP_TRY(hp_grow(&all->members, &all->cap_members, all->n_members + n, sizeof *all->members));
        for (uint32_t i = 0; i < n; i++) {
            all->members[all->n_members++] =
                (struct hp_loop_member){.unit = (uint32_t)all->n_units,
                                        .next = all->member_of[blocks[i]],
                                        .watch = i ? HP_WATCH_INNER | HP_WATCH_NEW : HP_WATCH_HEAD};
            all->member_of[blocks[i]] = (uint32_t)all->n_members;
        }
    }
    return HP_OK;
}

/* New cells learn whether their first blocks matter. */
static void set_heads(struct hp_exact_thread *t)
{
    const struct hp_loop_graph *g = &t->loops->all->graph;
    for (; t->loops->n_heads < t->n_cells; t->loops->n_heads++) {
        uint32_t n;
        uint32_t block = *hp_code_unit(t->exact->code, (uint32_t)t->loops->n_heads, &n);
        const struct hp_loop_arrival *a = &g->arrivals[block];
        if ((a->loop && a->loop != HP_LOOP_UNSEEN) || a->more)
            t->cells[t->loops->n_heads].watch |= HP_WATCH_HEAD;
    }
}

bool hp_exact_loops_cover(struct hp_exact_thread *t)
{
    struct hp_exact_loop_thread *l = t->loops;
    size_t n = hp_code_n_blocks(t->exact->code);
    hp_loop_graph_cover(&l->all->graph);
    if (l->all->graph.out_of_memory || add_members(l->all, t->exact->code) != HP_OK ||
        hp_grow(&l->sites, &l->cap_sites, n, sizeof *l->sites) != HP_OK) {
        t->exact->out_of_memory = true;
        return false;
    }
    for (; l->n_sites < n; l->n_sites++)
        l->sites[l->n_sites].to = HP_NO_ID;
    set_heads(t);
    return true;
}

/* Running the block means something for loops now: the units that contain it must watch it. Those
 * in which it is not the first are walked again. */
static void watch_block(struct hp_exact_thread *t, uint32_t block)
{
    const struct hp_exact_loops *all = t->exact->loops;
    for (uint32_t i = all->member_of[block]; i; i = all->members[i - 1].next)
        if (all->members[i - 1].unit < t->n_cells)
            t->cells[all->members[i - 1].unit].watch |= all->members[i - 1].watch;
}

static bool grow_records(struct hp_exact_loop_thread *l, size_t n)
{
    if (hp_grow(&l->records, &l->cap_records, n, sizeof *l->records) != HP_OK ||
        hp_grow(&l->trips, &l->cap_trips, n, sizeof *l->trips) != HP_OK)
        return false;
    for (; l->n_records < n; l->n_records++)
        l->records[l->n_records].since = l->serial + 1;
    return true;
}

/* Out of memory: there will be no result. Until the thread ends, nothing may point to what was not
 * allocated. */
static void give_up(struct hp_exact_thread *t)
{
    struct hp_loop_graph *g = &t->loops->all->graph;
    t->exact->out_of_memory = true;
    for (size_t i = 0; i < g->n_nodes; i++) {
        g->arrivals[i].loop = g->arrivals[i].more = 0;
        g->exits[i] = 0;
    }
}

static void catch_up(struct hp_exact_thread *t)
{
    struct hp_exact_loop_thread *l = t->loops;
    const struct hp_loop_graph *g = &l->all->graph;
    if (g->out_of_memory || (l->n_records < g->n_loops && !grow_records(l, g->n_loops)) ||
        hp_grow(&l->newest, &l->cap_newest, g->n_functions + 1, sizeof *l->newest) != HP_OK)
        give_up(t);
    for (; l->n_marked < g->n_marked; l->n_marked++)
        watch_block(t, g->marked[l->n_marked]);
    l->arrivals = g->arrivals;
    l->loops = g->loops;
    l->exits = g->exits;
    l->version = (uint32_t)g->version + 1;
}

/* --- Executions ------------------------------------------------------------------------------- */

static void close_execution(struct hp_exact_thread *t, uint32_t loop, uint64_t n)
{
    if (hp_trips_add(&t->loops->trips[loop], n) != HP_OK)
        t->exact->out_of_memory = true;
}

static bool is_active(const struct hp_exact_thread *t, uint64_t activation, uint32_t depth)
{
    return depth < t->n_frames && t->loops->frames[depth].activation == activation;
}

/* Saves a record whose activation will continue. */
static void save(struct hp_exact_thread *t, struct hp_loop_record *r)
{
    struct hp_exact_loop_thread *l = t->loops;
    uint32_t i = l->free_saved;
    if (i) {
        l->free_saved = l->saved[i - 1].next;
    } else if (hp_grow(&l->saved, &l->cap_saved, l->n_saved + 1, sizeof *l->saved) == HP_OK) {
        i = (uint32_t)++l->n_saved;
    } else {
        t->exact->out_of_memory = true;
        return;
    }
    l->saved[i - 1] = (struct hp_loop_saved){
        .activation = r->activation, .n = r->n, .depth = r->depth, .next = r->saved};
    r->saved = i;
}

/* The newest saved record becomes the record. */
static void restore(struct hp_exact_loop_thread *l, struct hp_loop_record *r)
{
    uint32_t i = r->saved;
    struct hp_loop_saved *saved = &l->saved[i - 1];
    r->activation = saved->activation;
    r->n = saved->n;
    r->depth = saved->depth;
    r->saved = saved->next;
    saved->next = l->free_saved;
    l->free_saved = i;
}

/* Makes the record of a loop that of the top activation: closes records of activations that have
 * ended, newest first, and saves one that continues below. Afterwards its activation is the top's
 * or 0. */
static void change_activation(struct hp_exact_thread *t, uint32_t loop, struct hp_loop_record *r)
{
    for (;;) {
        if (!r->activation && r->saved)
            restore(t->loops, r);
        if (!r->activation || r->activation == t->loops->now)
            return;
        bool goes_on = is_active(t, r->activation, r->depth);
        if (goes_on)
            save(t, r);
        else
            close_execution(t, loop, r->n);
        r->activation = 0;
        if (goes_on)
            return;
    }
}

static inline void run_header(struct hp_exact_thread *t, uint32_t loop, bool back);

/* A header ran in another activation than the record's. A back edge without a record: either the
 * loop has just been found, so this is the second iteration; or control entered the activation in
 * an unknown way, and it belongs to no execution. */
static __attribute__((noinline)) void switch_execution(struct hp_exact_thread *t, uint32_t loop,
                                                       bool back)
{
    struct hp_loop_record *r = &t->loops->records[loop];
    change_activation(t, loop, r);
    if (r->activation) {
        run_header(t, loop, back);
        return;
    }
    if (t->n_frames == 0 || (back && t->loops->now >= r->since))
        return;
    r->activation = t->loops->now;
    r->depth = (uint32_t)(t->n_frames - 1);
    r->n = back ? 2 : 1;
}

static inline void run_header(struct hp_exact_thread *t, uint32_t loop, bool back)
{
    struct hp_loop_record *r = &t->loops->records[loop];
    if (r->activation == t->loops->now && back) {
        r->n++;
    } else if (r->activation == t->loops->now) {
        close_execution(t, loop, r->n);
        r->n = 1;
    } else {
        switch_execution(t, loop, back);
    }
}

/* An execution in an activation that has ended. */
static void add_ended(struct hp_exact_thread *t, const struct hp_leg_event *event)
{
    struct hp_loop_record *r = &t->loops->records[event->loop];
    uint64_t now = t->loops->now;
    if (r->activation == HP_LOOP_ENDED) {
        close_execution(t, event->loop, r->n);
        r->activation = 0;
    }
    t->loops->now = HP_LOOP_ENDED;
    change_activation(t, event->loop, r);
    t->loops->now = now;
    r->activation = HP_LOOP_ENDED;
    r->depth = UINT32_MAX;
    r->n = event->n;
}

void hp_exact_loops_event(struct hp_exact_thread *t, const struct hp_leg_event *event)
{
    if (event->kind == HP_LEG_GONE) {
        add_ended(t, event);
        return;
    }
    run_header(t, event->loop, event->kind == HP_LEG_GOES_ON);
    for (uint32_t i = 1; i < event->n; i++)
        run_header(t, event->loop, true);
}

static inline void reach_header(struct hp_exact_thread *t, uint32_t loop, bool back)
{
    if (hp_exact_is_noting(t->loops))
        hp_exact_note_events(t,
                             &(struct hp_leg_event){.loop = loop,
                                                    .kind = back ? HP_LEG_GOES_ON : HP_LEG_STARTS,
                                                    .n = 1},
                             1);
    run_header(t, loop, back);
}

void hp_exact_loops_arrive(struct hp_exact_thread *t, uint64_t from, uint32_t to)
{
    const struct hp_loop_graph *g = &t->loops->all->graph;
    const struct hp_loop_arrival *a = &g->arrivals[to];
    if (a->loop)
        reach_header(t, a->loop - 1, hp_loop_spans(&g->loops[a->loop - 1], from));
    while (a->more) {
        uint32_t via = a->via;
        a = &g->arrivals[a->more - 1];
        reach_header(t, a->loop - 1, hp_loop_has(g, &g->loops[a->loop - 1], via));
    }
}

/* --- Learning --------------------------------------------------------------------------------- */

/* The block runs, perhaps for the first time. */
static void see(struct hp_exact_thread *t, uint32_t block)
{
    struct hp_loop_graph *g = &t->loops->all->graph;
    if (g->arrivals[block].loop == HP_LOOP_UNSEEN)
        hp_loop_graph_run(g, block, t->n_frames ? t->frames[t->n_frames - 1].function : HP_NO_ID);
}

static void learned(struct hp_exact_thread *t)
{
    if (hp_exact_is_noting(t->loops))
        hp_exact_note_bad(t);
    hp_loop_graph_update(&t->loops->all->graph);
    catch_up(t);
}

void hp_exact_loops_resume(struct hp_exact_thread *t, uint32_t block)
{
    if (block != HP_NO_ID)
        see(t, block);
    learned(t);
}

static bool same_function(const struct hp_loop_graph *g, uint32_t from, uint32_t to)
{
    return g->nodes[g->nodes[from].last].function == g->nodes[to].function;
}

void hp_exact_loops_learn(struct hp_exact_thread *t, uint32_t from, uint32_t to)
{
    struct hp_loop_graph *g = &t->loops->all->graph;
    see(t, to);
    if (same_function(g, from, to))
        hp_loop_graph_edge(g, from, to, false);
    else
        hp_loop_graph_root(g, to);
    learned(t);
}

/* --- Transfers -------------------------------------------------------------------------------- */

void hp_exact_loops_stay_new(struct hp_exact_thread *t, uint32_t from, uint32_t to)
{
    const struct hp_stack_block *spot = &t->exact->spots[from];
    bool falls = spot->end == t->exact->spots[to].start && spot->may_not_go;
    if (hp_exact_is_noting(t->loops))
        hp_exact_note_bad(t);
    if (spot->flow == HP_FLOW_RETURN && !falls)
        add(t, &t->loops->odd, (uint64_t)from << 32 | to, 1);
    t->loops->is_new = false;
    hp_exact_loops_learn(t, from, to);
}

/* A jump that pushed or popped a frame inside one function. */
static void note_odd(struct hp_exact_thread *t, uint32_t from, uint32_t to)
{
    struct hp_stack_block *spot = &t->exact->spots[from];
    if (spot->flow == HP_FLOW_CALL || spot->flow == HP_FLOW_CALL_IND ||
        spot->flow == HP_FLOW_RETURN || !same_function(&t->loops->all->graph, from, to))
        return;
    add(t, &t->loops->odd, (uint64_t)from << 32 | to, 1);
    if (hp_exact_is_noting(t->loops))
        hp_exact_note_bad(t);
    if (spot->odd)
        return;
    spot->odd = true;
    t->loops->all->graph.version++; /* legs with this jump are shown from now on */
    catch_up(t);
}

void hp_exact_loops_enter_new(struct hp_exact_thread *t, uint32_t to)
{
    see(t, to);
    hp_loop_graph_root(&t->loops->all->graph, to);
    learned(t);
}

void hp_exact_loops_jump(struct hp_exact_thread *t, uint32_t from, uint32_t to)
{
    hp_exact_loops_call(t, to);
    note_odd(t, from, to);
}

void hp_exact_loops_again(struct hp_exact_thread *t, uint32_t from, uint32_t to)
{
    struct hp_exact_loop_thread *l = t->loops;
    l->now = l->frames[t->n_frames - 1].activation = ++l->serial;
    if (hp_exact_is_noting(l))
        hp_exact_note_bad(t);
    hp_exact_loops_jump(t, from, to);
}

void hp_exact_loops_come_back(struct hp_exact_thread *t, uint32_t from, uint32_t to, bool thrown)
{
    struct hp_exact_loop_thread *l = t->loops;
    struct hp_loop_graph *g = &l->all->graph;
    uint32_t site = l->frames[t->n_frames].site;
    l->is_new = false;
    see(t, to);
    if (site != HP_NO_ID)
        hp_loop_graph_edge(g, site, to, thrown);
    learned(t);
    if (site != HP_NO_ID && !thrown && (l->sites[site].to == to || l->sites[site].to == HP_NO_ID)) {
        l->sites[site].to = to;
        l->sites[site].count++;
    } else if (site != HP_NO_ID) {
        add(t, &l->returns[thrown], (uint64_t)site << 32 | to, 1);
    }
    note_odd(t, from, to);
    bool counts = site != HP_NO_ID && !(thrown && hp_loop_graph_leaves_out(g, to));
    hp_exact_loops_arrive(t, counts ? g->exits[site] : HP_LOOP_NOWHERE, to);
}

/* A history begins: it starts an execution of every loop around the block. */
void hp_exact_loops_begin(struct hp_exact_thread *t, uint32_t block, bool by_transfer)
{
    struct hp_exact_loop_thread *l = t->loops;
    const struct hp_loop_graph *g = &l->all->graph;
    l->is_new = false;
    see(t, block);
    learned(t);
    if (!by_transfer)
        add(t, &l->begins, block, 1);
    add(t, &l->begun, block, 1);
    hp_exact_loops_set_cover(t, block);
    for (uint32_t loop = g->nodes[block].inner; loop != HP_NO_ID; loop = g->loops[loop].parent)
        if (g->arrivals[block].loop != loop + 1)
            run_header(t, loop, false);
    hp_exact_loops_arrive(t, HP_LOOP_NOWHERE, block);
}

/* --- Frames ----------------------------------------------------------------------------------- */

/* The cover of a frame's site and of those below it in the same function. Those below are mostly
 * computed already. */
static uint32_t sites_of(struct hp_exact_loop_thread *l, uint32_t index)
{
    uint32_t path[32], n = 0;
    for (; index && !l->frames[index - 1].sites && n < 32; index = l->frames[index - 1].previous)
        path[n++] = index - 1;
    uint32_t cover = index ? l->frames[index - 1].sites : 0;
    while (n) {
        struct hp_loop_frame *frame = &l->frames[path[--n]];
        cover = frame->sites = hp_covers_extend(&l->all->covers, cover, frame->site);
    }
    return cover;
}

void hp_exact_loops_set_cover(struct hp_exact_thread *t, uint32_t block)
{
    struct hp_exact_loop_thread *l = t->loops;
    uint32_t function = (uint32_t)(l->exits[block] >> 32);
    if (t->n_frames == 0 || function == HP_NO_ID)
        return;
    if (!l->slots && !(l->slots = calloc(2 * HP_COVERED_SLOTS, sizeof *l->slots))) {
        t->exact->out_of_memory = true;
        return;
    }
    l->cover = sites_of(l, l->newest[function]);
    struct hp_loop_frame *frame = &l->frames[t->n_frames - 1];
    if (frame->cover != l->cover)
        frame->node = 0; /* it is another stack now */
    frame->cover = l->cover;
}

bool hp_exact_loops_grow_frames(struct hp_exact_thread *t)
{
    struct hp_exact_loop_thread *l = t->loops;
    if (hp_grow(&l->frames, &l->cap_frames, t->cap_frames, sizeof *l->frames) == HP_OK)
        return true;
    t->exact->out_of_memory = true;
    t->n_frames--; /* as if it could not be pushed */
    return false;
}

static struct hp_covered_slot *slot_of(struct hp_exact_loop_thread *l, uint64_t key)
{
    return &l->slots[HP_COVERED_SLOTS + ((uint32_t)key ^ l->cover * 37) % HP_COVERED_SLOTS];
}

void hp_exact_loops_covered_call(struct hp_exact_thread *t, uint32_t site, uint64_t spent)
{
    struct hp_exact_loop_thread *l = t->loops;
    uint64_t key = (uint64_t)l->cover << 32 | site;
    struct hp_covered_slot *slot = slot_of(l, key);
    if (slot->key == key) {
        l->covered_calls.counts[slot->index] += spent;
        return;
    }
    add(t, &l->covered_calls, key, spent);
    *slot = (struct hp_covered_slot){key, hp_map64_get(&l->covered_calls.of, key)};
}

void hp_exact_loops_covered_new(struct hp_exact_thread *t, uint64_t key)
{
    struct hp_exact_loop_thread *l = t->loops;
    uint32_t unit = (uint32_t)key;
    add(t, &l->covered, key, 1);
    uint32_t index = hp_map64_get(&l->covered.of, key);
    l->slots[(unit ^ l->cover * 37) % HP_COVERED_SLOTS] = (struct hp_covered_slot){key, index};
    if (hp_exact_is_noting(l))
        hp_exact_note_add(t, HP_ADDS_COVERED, index, 1);
}

/* --- Ends ------------------------------------------------------------------------------------- */

void hp_exact_loops_interrupt(struct hp_exact_thread *t)
{
    struct hp_exact_loop_thread *l = t->loops;
    uint32_t block = l->current;
    for (size_t i = t->n_frames; i-- > 0;) {
        if (block != HP_NO_ID)
            add(t, &l->interrupted, block, 1);
        block = l->frames[i].site;
    }
    l->current = HP_NO_ID;
}

/* Few blocks ever had a frame left from them. */
static void keep_sites(struct hp_exact_loop_thread *l)
{
    size_t n = 0;
    for (uint32_t i = 0; i < l->n_sites; i++)
        if (l->sites[i].count || l->sites[i].inclusive) {
            l->sites[n] = l->sites[i];
            l->sites[n++].block = i;
        }
    l->n_sites = n;
    struct hp_loop_site *sites = realloc(l->sites, (n + 1) * sizeof *sites);
    l->sites = sites ? sites : l->sites;
}

/* Most threads execute few of the loops. */
static void keep_trips(struct hp_exact_thread *t)
{
    struct hp_exact_loop_thread *l = t->loops;
    size_t n = 0;
    l->trip_loops = malloc((l->n_records + 1) * sizeof *l->trip_loops);
    if (!l->trip_loops) {
        t->exact->out_of_memory = true;
        return;
    }
    for (uint32_t i = 0; i < l->n_records; i++)
        if (l->trips[i].executions) {
            if (hp_trips_settle(&l->trips[i]) != HP_OK)
                t->exact->out_of_memory = true;
            l->trips[n] = l->trips[i];
            l->trip_loops[n++] = i;
        }
    l->n_records = n;
    struct hp_trips *trips = realloc(l->trips, (n + 1) * sizeof *trips);
    uint32_t *loops = realloc(l->trip_loops, (n + 1) * sizeof *loops);
    l->trips = trips ? trips : l->trips;
    l->trip_loops = loops ? loops : l->trip_loops;
}

void hp_exact_loops_seal(struct hp_exact_thread *t)
{
    struct hp_exact_loop_thread *l = t->loops;
    if (l->sealed)
        return;
    l->sealed = true;
    hp_legs_settle(t);
    for (uint32_t i = 0; i < l->n_records; i++) {
        struct hp_loop_record *r = &l->records[i];
        for (; r->activation || r->saved; r->activation = 0) {
            if (!r->activation)
                restore(l, r);
            close_execution(t, i, r->n);
        }
    }
    keep_sites(l);
    keep_trips(t);
    free_running(l);
}
