// SPDX-License-Identifier: MIT
#include "engine/native/inner/traces.h"

#include "engine/native/inner/landings.h"
#include "engine/native/inner/sys.h"
#include "engine/native/inner/traces_policy.h"

#include <time.h>

#define TRACE_BLOCKS 48           /* a trace does not continue after so many blocks, */
#define TRACE_INSNS  512          /* or more instructions than these */
#define UNROLL_INSNS 64           /* a loop gets another round up to so many */
#define TRIAL        256          /* executions in which a head shows how often it is reached */
#define MANY         256          /* traces: after so many a head must be twice as hot, and so on */
#define FIRST_LOOK   (1ull << 25) /* ticks: when to look how much time goes into translating; */
#define QUIET_PART   100          /* less than this part of it is little; */
#define QUIET_WORDS  30           /* the same where words are written */
#define LARGE        65536        /* segments of a program that has a flat profile */
#define PAUSE        7            /* executions between two recordings from a head */
#define CANDIDATES   1024         /* heads whose paths are kept until one is chosen */
#define RECORDINGS   4            /* paths of each */
#define PAYS         1000         /* executions of a trace for which it was worth to make it */
#define NEVER        (1 << 30) /* executions until a head that cannot be a trace is tried again */

/* Countdown of heads, by segment; below 2 GiB. NULL: there are no traces. */
static uint32_t *heads;
/* When counting began; of a segment that is cool, the next one that is. */
static uint32_t *since;
static uint32_t first_cool;
static uint32_t next_warm;             /* age of the program */
static uint64_t n_traces, trace_bytes; /* made by this process; in the cache */
static struct hp_traces_policy policy;
static bool waits;          /* heads are not counted yet */
static uint32_t first_kept; /* of the traces that stay when the others are dropped */
static uint32_t last_made;  /* trace */
static bool gave_up;        /* no more are made */
_Atomic bool hp_traces_leave;

/* The path being recorded. */
static struct {
    struct hp_self *self; /* the thread; NULL: none */
    int32_t tid;
    struct hp_run_plan plan;
    unsigned insns;
    uint16_t insns_of[HP_PIECES_MAX]; /* blocks of the plan */
    bool indirect[HP_PIECES_MAX];     /* which of them end with an indirect transfer */
    bool is_loop;                     /* it is chosen, and returns to its head */
} recorder;

/* Whether traces are made only where they surely pay: with a threshold that leaves time for that.
 */
static bool is_careful(void)
{
    return hp_engine.arena->traces != HP_TRACES_PATHS && hp_engine.arena->traces_after > TRIAL;
}

/* Whether any trace pays, as each segment that is left costs a word. */
static bool writes_words(void)
{
    return hp_engine.mode == HP_RECORD_STREAM || hp_engine.mode == HP_RECORD_MEMORY;
}

/* How many recordings a trace is made from. */
static unsigned recordings(void)
{
    return is_careful() && !writes_words() ? RECORDINGS : 2;
}

void hp_traces_start(uint32_t max_segments)
{
    if (hp_engine.arena->traces < HP_TRACES_NET)
        return;
    long place = hp_pages_low((long)(max_segments * sizeof *heads));
    since = hp_pages(max_segments * sizeof *since);
    if (!hp_sys_failed(place) && since)
        heads = (uint32_t *)place;
    next_warm = 1 << 17; /* a fifth of a second or so */
    waits = is_careful() && hp_engine.mode != HP_RECORD_NONE &&
            hp_engine.arena->traces == HP_TRACES_NET;
    policy.phase = hp_engine.arena->traces_phase;
    policy.bail = hp_engine.arena->traces_bail;
}

/* --- Wishes ----------------------------------------------------------------------------------- */

/* Of the arena's, by address: index + 1; 0: none. Twice as many as there can be. */
static uint16_t wishes[2 * HP_ARENA_WISHES];
static _Atomic uint32_t n_heard;

/* Where the wish for this address is, or would be. */
static uint16_t *wish_place(uint64_t address)
{
    uint32_t i = (uint32_t)(address * 0x9e3779b97f4a7c15u >> 40);
    while (wishes[i % (2 * HP_ARENA_WISHES)] &&
           hp_engine.arena->wishes[wishes[i % (2 * HP_ARENA_WISHES)] - 1].address != address)
        i++;
    return &wishes[i % (2 * HP_ARENA_WISHES)];
}

static bool has_new_wishes(void)
{
    return atomic_load_explicit(&hp_engine.arena->n_wishes, memory_order_acquire) !=
           atomic_load_explicit(&n_heard, memory_order_relaxed);
}

/* What leads to the code counts it from now on. */
static void hear(struct hp_arena_wish *wish)
{
    uint16_t *place = wish_place(wish->address);
    if (*place)
        return;
    *place = (uint16_t)(wish - hp_engine.arena->wishes + 1);
    if (!wish->process) {
        wish->ns = hp_engine_ns(hp_engine_ticks() - hp_engine.tsc_start);
        wish->process = hp_engine.process;
    }
    uint32_t segment = hp_cache_find(wish->address);
    if (segment && hp_segs[segment].kind == HP_SEG_PLAIN)
        hp_cache_recount(segment);
}

static void hear_wishes(void)
{
    uint32_t n = atomic_load(&hp_engine.arena->n_wishes);
    if (n > HP_ARENA_WISHES) /* the program can write there */
        n = HP_ARENA_WISHES;
    while (heads && atomic_load(&n_heard) < n)
        hear(&hp_engine.arena->wishes[n_heard++]);
}

static void recount_plain(uint32_t segment)
{
    if (hp_segs[segment].kind == HP_SEG_PLAIN)
        hp_cache_recount(segment);
}

/*
 * As long as much of the time goes into translating, the program is still starting, or its profile
 * is flat: traces would not pay, and to count heads costs. Looks whether that is over whenever the
 * program has run half as long again.
 */
static void wait_for_quiet(void)
{
    static uint64_t looked, translated; /* the last time */
    uint64_t age = hp_engine_ticks() - hp_engine.tsc_start;
    if (age < FIRST_LOOK || age < looked + looked / 2)
        return;
    uint64_t little = (age - looked) / (writes_words() ? QUIET_WORDS : QUIET_PART);
    waits = hp_engine.translate_tsc - translated > little ||
            (!writes_words() && hp_cache_segments() > LARGE);
    looked = age;
    translated = hp_engine.translate_tsc;
    if (!waits)
        hp_cache_each(recount_plain);
}

void hp_traces_listen(void)
{
    if (heads && (waits || has_new_wishes()) && hp_try_lock()) {
        hear_wishes();
        if (waits)
            wait_for_quiet();
        hp_unlock();
    }
}

/* --- Heads ------------------------------------------------------------------------------------ */

bool hp_traces_are_made(void)
{
    return heads;
}

bool hp_traces_can_count(uint32_t segment)
{
    const struct hp_seg *seg = &hp_segs[segment];
    if (!heads || gave_up || waits || seg->section)
        return false;
    if (seg->kind != HP_SEG_PLAIN)
        return seg->on_trial;
    return !seg->is_cool &&
           (hp_engine.arena->traces != HP_TRACES_HOTSPOTS || *wish_place(seg->start));
}

static uint32_t now(void)
{
    return (uint32_t)(hp_engine_ticks() >> 12);
}

static void make_head(uint32_t segment)
{
    struct hp_seg *seg = &hp_segs[segment];
    if (seg->is_head)
        return;
    seg->is_head = true;
    if (seg->kind == HP_SEG_TRACE) {
        heads[segment] = PAYS;
        return;
    }
    uint32_t after = hp_engine.arena->traces == HP_TRACES_PATHS ? 1 : hp_engine.arena->traces_after;
    seg->on_trial = is_careful();
    heads[segment] = seg->on_trial ? TRIAL : after;
    since[segment] = now();
    atomic_fetch_add_explicit(&hp_engine.arena->stats.heads, 1, memory_order_relaxed);
}

void hp_traces_emit_head(struct hp_emit *e, uint32_t segment, bool flags_dead)
{
    static const uint8_t dec[] = {0xff, 0x0c, 0x25};   /* dec dword [counter] */
    static const uint8_t load[] = {0x8b, 0x0c, 0x25};  /* mov ecx, [counter] */
    static const uint8_t less[] = {0x8d, 0x49, 0xff};  /* lea ecx, [rcx - 1] */
    static const uint8_t store[] = {0x89, 0x0c, 0x25}; /* mov [counter], ecx */
    uint32_t counter = (uint32_t)(uintptr_t)&heads[segment];
    make_head(segment);
    if (flags_dead) {
        hp_emit_bytes(e, dec, sizeof dec);
        hp_emit_u32(e, counter);
        return;
    }
    hp_emit_bytes(e, load, sizeof load);
    hp_emit_u32(e, counter);
    hp_emit_bytes(e, less, sizeof less);
    hp_emit_bytes(e, store, sizeof store);
    hp_emit_u32(e, counter);
}

/* The segment is not counted any more. */
static void cool(uint32_t segment)
{
    hp_segs[segment].is_cool = true;
    hp_cache_recount(segment);
    since[segment] = first_cool;
    first_cool = segment;
}

/* The trial of a head is over: would it become hot within as much time as the program has run? The
 * more traces there are, the more often it must be executed: a flat program makes many, which are
 * executed rarely. */
static void judge(uint32_t segment)
{
    struct hp_seg *seg = &hp_segs[segment];
    uint64_t after = hp_engine.arena->traces_after;
    uint64_t needs = (uint64_t)(now() - since[segment]) * (after / TRIAL);
    seg->on_trial = false;
    heads[segment] = (uint32_t)after - TRIAL;
    if (needs * (1 + n_traces / MANY) > now() - (uint32_t)(hp_engine.tsc_start >> 12))
        cool(segment);
}

/* The program has run twice as long as at the last time: all heads are tried again. */
static void warm_all(void)
{
    uint32_t age = now() - (uint32_t)(hp_engine.tsc_start >> 12);
    if (age < next_warm)
        return;
    next_warm = 2 * age;
    for (uint32_t segment = first_cool, next; segment; segment = next) {
        next = since[segment];
        hp_segs[segment].is_cool = hp_segs[segment].is_head = false;
        if (hp_segs[segment].gone)
            continue;
        make_head(segment);
        hp_cache_recount(segment);
    }
    first_cool = 0;
}

/* --- Recording -------------------------------------------------------------------------------- */

bool hp_traces_records(const struct hp_self *self)
{
    return recorder.self == self;
}

static void stop(void)
{
    recorder.self = NULL;
}

/* A trace was made or abandoned. */
static void count_try(void)
{
    policy.tried++;
    stop();
}

/* Notes what became of the traces, for the report. */
static void note(enum hp_traces_event_kind kind, uint64_t bytes)
{
    struct hp_arena *arena = hp_engine.arena;
    uint32_t i = atomic_fetch_add(&arena->n_traces_events, 1);
    if (i < HP_TRACES_EVENTS)
        arena->traces_events[i] =
            (struct hp_traces_event){.ns = hp_engine_ns(hp_engine_ticks() - hp_engine.tsc_start),
                                     .kind = kind,
                                     .process = hp_engine.process,
                                     .traces = n_traces,
                                     .bytes = bytes};
}

void hp_traces_removed(uint32_t segment)
{
    uint32_t head = hp_cache_find(hp_segs[segment].start);
    trace_bytes -= hp_segs[segment].code_size;
    if (head && hp_segs[head].is_head)
        heads[head] = hp_engine.arena->traces_after;
}

static void drop_trace(uint32_t segment)
{
    if (hp_segs[segment].kind == HP_SEG_TRACE && segment < first_kept)
        hp_cache_remove(segment);
}

/* Drops the traces before this one. Their code stays until the cache is flushed: threads may be in
 * it. What led to them leads to plain segments, which are heads again. */
static void drop_traces(enum hp_traces_event_kind kind, uint32_t first)
{
    uint64_t bytes = trace_bytes;
    first_kept = first;
    hp_cache_each(drop_trace);
    note(kind, bytes - trace_bytes);
}

/* --- Giving up -------------------------------------------------------------------------------- */

static struct {
    uint32_t from, to; /* the traces are between these */
    uint32_t often, not_often;
} look;

/* A trace that was on trial is a head. */
static void look_at(uint32_t segment)
{
    const struct hp_seg *seg = &hp_segs[segment];
    if (seg->kind != HP_SEG_TRACE || !seg->is_head || segment < look.from || segment >= look.to)
        return;
    look.often += !seg->on_trial;
    look.not_often += seg->on_trial;
}

static bool traces_pay(void)
{
    if (!hp_policy_looks(&policy))
        return true;
    look.often = look.not_often = 0;
    hp_cache_each(look_at);
    look.from = look.to;
    look.to = last_made + 1;
    return !hp_policy_gives_up(&policy, look.often, look.not_often);
}

static void forget_head(uint32_t segment)
{
    if (hp_segs[segment].is_head)
        hp_cache_recount(segment);
}

/* Traces do not pay. Those that there are stay. */
static void give_up(void)
{
    gave_up = true;
    first_cool = 0;
    note(HP_TRACES_BAILED_OUT, trace_bytes);
    hp_cache_each(forget_head);
    atomic_store(&hp_traces_leave, hp_engine.arena->traces_leave);
}

void hp_traces_flushed(void)
{
    if (trace_bytes)
        note(HP_TRACES_FLUSHED_FULL, trace_bytes);
    trace_bytes = 0;
    policy.made = policy.burst = policy.looks = policy.tried = policy.abandoned = 0;
    look.from = look.to = last_made = 0;
    stop();
    first_cool = 0;
}

void hp_traces_after_fork(void)
{
    stop();
}

static void abandon(void)
{
    atomic_fetch_add_explicit(&hp_engine.arena->stats.abandoned, 1, memory_order_relaxed);
    policy.abandoned++;
    count_try();
}

void hp_traces_abandon(struct hp_self *self)
{
    if (recorder.self == self) /* only this thread can have set it */
        abandon();
}

/* A head has become hot, in this thread. Only one path is recorded at a time. */
static void begin(struct hp_self *self, uint32_t segment)
{
    heads[segment] = hp_engine.arena->traces_after;
    if (recorder.self && (recorder.self == self || !hp_thread_is_dead(recorder.tid)))
        return;
    if (!traces_pay()) {
        give_up();
        return;
    }
    recorder.plan.n = recorder.insns = 0;
    recorder.tid = self->tid;
    recorder.self = self;
}

static uint32_t translate(struct hp_self *self, const struct hp_order *order)
{
    const char *why;
    uint64_t start = hp_engine_ticks();
    uint32_t segment = hp_translate(self, order, &why);
    hp_engine.translate_tsc += hp_engine_ticks() - start;
    return segment;
}

static uint32_t twin_of(struct hp_self *self, uint64_t pc)
{
    uint32_t twin = hp_cache_find_twin(pc);
    struct hp_order order = {.pc = pc, .kind = HP_SEG_TWIN};
    return twin ? twin : translate(self, &order);
}

/* The countdown of a head is over. */
static void take_hot(struct hp_self *self, uint32_t segment)
{
    struct hp_seg *seg = &hp_segs[segment];
    if (seg->kind == HP_SEG_TRACE) { /* it pays */
        seg->on_trial = false;
        hp_cache_recount(segment);
    } else if (seg->on_trial) {
        judge(segment);
    } else {
        begin(self, segment);
    }
}

uint32_t hp_traces_enter(struct hp_self *self, uint32_t segment)
{
    const struct hp_seg *seg = &hp_segs[segment];
    if (waits)
        wait_for_quiet();
    if (first_cool)
        warm_all();
    if (has_new_wishes())
        hear_wishes();
    if (hp_traces_can_count(segment) && seg->is_head && (int32_t)heads[segment] <= 0)
        take_hot(self, segment);
    if (recorder.self != self)
        return segment;
    uint32_t twin = seg->section ? 0 : twin_of(self, seg->start);
    if (!twin)
        abandon();
    return twin ? twin : segment;
}

/* --- Making ----------------------------------------------------------------------------------- */

static void count_trace(const struct hp_seg *seg)
{
    struct hp_engine_stats *stats = &hp_engine.arena->stats;
    uint32_t insns = 0;
    for (uint32_t i = 0; i < seg->n_pieces; i++)
        insns += hp_pieces[seg->first_piece + i].insns;
    const uint16_t *wish = wish_place(seg->start);
    n_traces++;
    trace_bytes += seg->code_size;
    if (*wish) {
        atomic_fetch_add(&hp_engine.arena->wishes[*wish - 1].traces, 1);
        atomic_fetch_add(&hp_engine.arena->wishes[*wish - 1].bytes, seg->code_size);
    }
    atomic_fetch_add_explicit(&stats->traces, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&stats->trace_blocks, seg->n_pieces, memory_order_relaxed);
    atomic_fetch_add_explicit(&stats->trace_insns, insns, memory_order_relaxed);
    atomic_fetch_add_explicit(&stats->trace_bytes, seg->code_size, memory_order_relaxed);
}

/* The paths recorded from one head. */
struct candidate {
    uint64_t head;
    unsigned n, times;
    struct recording {
        struct hp_run_plan plan;
        uint32_t times;
    } paths[RECORDINGS];
};
static struct candidate candidates[CANDIDATES];

/* How many blocks two paths begin with in common. */
static unsigned common(const struct hp_run_plan *a, const struct hp_run_plan *b)
{
    unsigned n = 0;
    while (n < a->n && n < b->n && a->starts[n] == b->starts[n])
        n++;
    return n;
}

/* Adds the path to those of its head; the rarest goes if there are too many. */
static struct recording *add_path(struct candidate *c, const struct hp_run_plan *plan)
{
    struct recording *rarest = &c->paths[0];
    for (unsigned i = 0; i < c->n; i++) {
        struct recording *path = &c->paths[i];
        if (path->plan.n == plan->n && common(&path->plan, plan) == plan->n)
            return path;
        if (path->times < rarest->times)
            rarest = path;
    }
    if (c->n < RECORDINGS)
        rarest = &c->paths[c->n++];
    *rarest = (struct recording){.plan = *plan};
    return rarest;
}

/* Whether nearly all paths, which begin with the plan, return to its head after that. */
static bool closes(const struct candidate *c, const struct hp_run_plan *plan)
{
    unsigned times = 0;
    for (unsigned i = 0; i < c->n; i++)
        if (c->paths[i].plan.n > plan->n && c->paths[i].plan.starts[plan->n] == c->head)
            times += c->paths[i].times;
    return times * 2 >= c->times && times;
}

/* The plan is a loop: it gets more rounds, so that not every round is recorded. */
static void unroll(struct hp_run_plan *plan)
{
    unsigned round = plan->n, insns = 0, all;
    for (unsigned i = 0; i < round; i++)
        insns += recorder.insns_of[i];
    for (all = 2 * insns; all <= UNROLL_INSNS && plan->n + round <= TRACE_BLOCKS; all += insns)
        for (unsigned i = 0; i < round; i++)
            plan->starts[plan->n++] = plan->starts[i];
}

/*
 * The path just recorded is one of its head's. Chooses what shall be the trace; false: more must be
 * recorded. With a path profile it is the first path that was executed often enough. With NET it is
 * what several tails have in common: where one of them went elsewhere, a longer trace would be
 * left. If the first ones are lost, as another head took their place, it is this one: a flat
 * program, which has many heads, would otherwise record for ever.
 */
static bool choose(struct hp_run_plan *plan, bool is_second)
{
    uint64_t head = plan->starts[0];
    struct candidate *c = &candidates[(head * 0x9e3779b97f4a7c15u >> 32) % CANDIDATES];
    bool is_lost = is_second && c->head != head;
    if (c->head != head)
        c->n = c->times = 0;
    c->head = head;
    struct recording *path = add_path(c, plan);
    path->times++;
    c->times++;
    bool by_profile = hp_engine.arena->traces == HP_TRACES_PATHS;
    if (by_profile && path->times < hp_engine.arena->traces_after)
        return false;
    if (!by_profile && c->times < recordings() && !is_lost)
        return false;
    if (!by_profile) {
        for (unsigned i = 0; i < c->n; i++)
            plan->n = common(&c->paths[i].plan, plan);
        recorder.is_loop = closes(c, plan);
        if (recorder.is_loop)
            unroll(plan);
    }
    c->head = 0;
    return true;
}

/* Nanoseconds: what else the machine does has no influence. */
static uint64_t processor_time(void)
{
    struct {
        int64_t s, ns;
    } time = {0, 0};
    hp_sys2(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, (long)&time);
    return (uint64_t)time.s * 1000000000u + (uint64_t)time.ns;
}

/*
 * Whether the path is worth a trace. Where a word is written for each segment, any is. Else what a
 * trace saves are look-ups of indirect transfers and, in a loop, counts of each round. Without any
 * it is only more code, with branches that the processor has to learn again.
 */
static bool is_worth(const struct hp_run_plan *plan)
{
    if (!is_careful() || writes_words() || (hp_engine.mode == HP_RECORD_COUNT && recorder.is_loop))
        return true;
    for (unsigned i = 0; i + 1 < plan->n; i++)
        if (recorder.indirect[i])
            return true;
    return false;
}

/* The recorded path is complete. */
static void make(struct hp_self *self)
{
    static uint32_t burst_first; /* trace, after a quiet time */
    uint64_t pc = recorder.plan.starts[0];
    uint32_t head = hp_cache_find(pc);
    if (!choose(&recorder.plan, head && hp_segs[head].is_recorded)) {
        if (head && hp_segs[head].is_head) {
            heads[head] = hp_engine.arena->traces == HP_TRACES_PATHS ? 1 : PAUSE;
            hp_segs[head].is_recorded = true;
        }
        stop();
        return;
    }
    if (head && hp_segs[head].is_head && hp_segs[head].kind == HP_SEG_PLAIN &&
        !is_worth(&recorder.plan)) {
        hp_segs[head].is_cool = true; /* for good */
        hp_cache_recount(head);
        stop();
        return;
    }
    if (hp_engine.arena->traces_cache && trace_bytes >= hp_engine.arena->traces_cache)
        drop_traces(HP_TRACES_FLUSHED_FULL, UINT32_MAX);
    struct hp_order order = {.pc = pc, .kind = HP_SEG_TRACE, .plan = &recorder.plan};
    order.land = head && hp_segs[head].landing;
    order.on_trial = policy.bail && !order.land;
    uint32_t trace = head && hp_segs[head].kind == HP_SEG_PLAIN ? translate(self, &order) : 0;
    if (!trace) {
        if (head && hp_segs[head].is_head)
            heads[head] = NEVER;
        abandon();
        return;
    }
    hp_cache_replace(head, trace);
    last_made = trace;
    count_trace(&hp_segs[trace]);
    count_try();
    bool new_phase = hp_policy_made(&policy, processor_time());
    if (policy.burst == 1)
        burst_first = trace;
    if (new_phase)
        drop_traces(HP_TRACES_FLUSHED_PHASE, burst_first);
}

/* Adds the pieces of the twin that were run. False: the path is long enough. */
static bool add_pieces(const struct hp_seg *twin, uint32_t last, bool by_indirect)
{
    struct hp_run_plan *plan = &recorder.plan;
    for (uint32_t i = 0; i <= last; i++) {
        const struct hp_cached_piece *piece = &hp_pieces[twin->first_piece + i];
        if (plan->n == HP_PIECES_MAX)
            return false;
        recorder.insns_of[plan->n] = piece->insns;
        recorder.indirect[plan->n] = i == last && by_indirect;
        plan->starts[plan->n++] = piece->start;
        recorder.insns += piece->insns;
    }
    return plan->n < TRACE_BLOCKS && recorder.insns <= TRACE_INSNS;
}

/* Whether the path ends before the code at `next`: there it closes a loop that is long enough. */
static bool ends_before(uint64_t next)
{
    return next == recorder.plan.starts[0] && recorder.insns > UNROLL_INSNS;
}

void hp_traces_add(struct hp_self *self, uint32_t number, uint64_t next)
{
    const struct hp_exit *exit = &hp_exits[number];
    const struct hp_seg *twin = &hp_segs[exit->segment];
    if (twin->kind != HP_SEG_TWIN) {
        abandon();
        return;
    }
    if (!add_pieces(twin, exit->piece, exit->indirect) || !next || ends_before(next))
        make(self);
}

void hp_traces_end(struct hp_self *self)
{
    if (recorder.self != self)
        return;
    if (!hp_try_lock()) { /* its holder may be waiting for this thread */
        abandon();
        return;
    }
    hp_traces_add(self, self->exit, 0);
    hp_unlock();
}
