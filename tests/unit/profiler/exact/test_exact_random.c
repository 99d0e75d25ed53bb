// SPDX-License-Identifier: MIT
/*
 * The exact profiler against a slow and obvious model: every block of the stream is put down, and
 * all counts are added up from that list, one instruction count to every function that is active.
 * Functions are faked: 64 bytes of code each.
 */
#include "exact_fixture.h"

#include "profiler/exact/contexts.h"
#include "profiler/exact/exact_impl.h"
#include "stream/code_impl.h"

/* --- The model -------------------------------------------------------------------------------- */

enum frame_kind { CALLED, JUMPED, BASE, SIGNAL };

struct frame {
    enum frame_kind kind;
    uint64_t expects;
    uint32_t function, caller; /* caller: of the call that made it; HP_NO_ID: not by a call */
    bool call;
    uint32_t context; /* into contexts */
    bool rest;        /* there was no room for its own context: that is of a frame below */
};

/* A calling context; those of handlers are above what was interrupted. */
struct context {
    uint32_t parent, function; /* function HP_NO_ID: a signal */
    uint32_t caller;           /* the profile joins those that differ by it only */
    uint64_t self, calls;
    uint64_t rest, rest_calls; /* of contexts above it for which there is no room */
    uint32_t depth, signals;
};
#define MAX_CONTEXTS 65536

struct model {
    const struct hp_code *code;
    struct frame frames[8192];
    size_t depth;
    uint64_t inclusive[MAX_FUNCTIONS], self[MAX_FUNCTIONS], entered[MAX_FUNCTIONS];
    uint64_t blocks, instructions, branches;
    struct hp_map64 index; /* keys of what is counted -> into counts */
    uint64_t counts[65536];
    uint64_t weights[65536]; /* of calls: instructions inside */
    uint32_t n_counts;
    struct context contexts[MAX_CONTEXTS]; /* the first is below all */
    size_t n_contexts, most_contexts, n_signals;
    uint64_t syscalls[MAX_CONTEXTS]; /* by context */
    size_t pending; /* system calls of the block that comes next, or of where an event comes */
    bool cut;       /* calls had no context of their own */
    uint64_t joined[MAX_FUNCTIONS]; /* as inclusive, of functions that become one after the run, */
    struct hp_map64 joined_index;   /* and of calls between them: caller << 32 | callee */
    uint64_t joined_weights[65536];
    uint32_t n_joined;
};

enum { KEY_BLOCK, KEY_EDGE, KEY_CALL };

#define ERRING 2 /* the number of the calls that return an error */
#define JOINED 4 /* that many functions become one */

static uint32_t joined(uint32_t function)
{
    return function == HP_NO_ID ? HP_NO_ID : function - function % JOINED;
}

/* The counter of a block (by place), an edge (places) or a call (functions). */
static uint32_t counter(struct model *m, int kind, uint64_t a, uint64_t b)
{
    uint64_t key = (uint64_t)kind << 60 ^ (a & 0x3fffffff) << 30 ^ (b & 0x3fffffff);
    uint32_t i = hp_map64_get(&m->index, key);
    if (i == HP_MAP64_NONE) {
        i = m->n_counts++;
        assert_true(i < 65536);
        assert_int_equal(hp_map64_put(&m->index, key, i), HP_OK);
    }
    return i;
}

static uint32_t joined_call(struct model *m, uint32_t caller, uint32_t callee)
{
    uint64_t key = (uint64_t)caller << 32 | callee;
    uint32_t i = hp_map64_get(&m->joined_index, key);
    if (i == HP_MAP64_NONE) {
        i = m->n_joined++;
        assert_true(i < 65536);
        assert_int_equal(hp_map64_put(&m->joined_index, key, i), HP_OK);
    }
    return i;
}

/* The same as in spend(), of functions that become one. */
static void spend_joined(struct model *m, uint32_t insns)
{
    static uint32_t seen_function[MAX_FUNCTIONS], seen_call[65536], now;
    now++;
    for (size_t i = 0; i < m->depth; i++) {
        const struct frame *f = &m->frames[i];
        uint32_t function = joined(f->function);
        if (function == HP_NO_ID)
            continue;
        if (seen_function[function] != now)
            m->joined[function] += insns;
        seen_function[function] = now;
        if (!f->call)
            continue;
        uint32_t call = joined_call(m, joined(f->caller), function);
        if (seen_call[call] != now)
            m->joined_weights[call] += insns;
        seen_call[call] = now;
    }
}

/* The instructions of a block go to every function and every call that is active, once. */
static void spend(struct model *m, uint32_t block)
{
    static uint32_t seen_function[MAX_FUNCTIONS], seen_call[65536], now;
    const struct hp_block *b = hp_code_block(m->code, block);
    now++;
    for (size_t i = 0; i < m->depth; i++) {
        const struct frame *f = &m->frames[i];
        if (f->function == HP_NO_ID)
            continue;
        if (seen_function[f->function] != now)
            m->inclusive[f->function] += b->insns;
        seen_function[f->function] = now;
        if (!f->call)
            continue;
        uint32_t call = counter(m, KEY_CALL, f->caller, f->function);
        if (seen_call[call] != now)
            m->weights[call] += b->insns;
        seen_call[call] = now;
    }
    spend_joined(m, b->insns);
    struct context *context = &m->contexts[m->frames[m->depth - 1].context];
    context->self += b->insns;
    context->rest += m->frames[m->depth - 1].rest ? b->insns : 0;
    m->self[function_at(b->start)] += b->insns;
    m->instructions += b->insns;
    m->blocks++;
    m->counts[counter(m, KEY_BLOCK, b->start, b->end)]++;
}

/* The child of a context for a function that `caller` calls (HP_NO_ID - 1: nobody does), NULL when
 * there is no room for it. */
static struct context *child_context(struct model *m, uint32_t parent, uint32_t function,
                                     uint32_t caller)
{
    struct context *contexts = m->contexts;
    bool signal = function == HP_NO_ID;
    for (uint32_t i = 1; i <= m->n_contexts; i++)
        if (contexts[i].parent == parent && contexts[i].function == function &&
            contexts[i].caller == caller)
            return &contexts[i];
    uint32_t depth = contexts[parent].depth, signals = contexts[parent].signals;
    if (signal ? signals == HP_CONTEXT_SIGNALS : depth == HP_CONTEXT_DEPTH)
        return NULL;
    /* where a thread's history begins there is room */
    if ((depth || signals) && m->n_contexts - m->n_signals >= m->most_contexts)
        return NULL;
    m->n_signals += signal;
    assert_true(m->n_contexts + 1 < MAX_CONTEXTS);
    struct context *new = &contexts[++m->n_contexts];
    *new = (struct context){.parent = parent,
                            .function = function,
                            .caller = caller,
                            .depth = signal ? 0 : depth + 1,
                            .signals = signals + signal};
    return new;
}

/* A call that has no context of its own. */
static void add_rest(struct model *m, uint32_t context)
{
    m->contexts[context].rest_calls++;
    m->cut = true;
}

/* The context of the top frame, which is new. */
static void find_context(struct model *m)
{
    struct frame *f = &m->frames[m->depth - 1], none = {0}, *below = m->depth > 1 ? f - 1 : &none;
    struct context *own = below->rest ? NULL
                                      : child_context(m, below->context, f->function,
                                                      f->call ? f->caller : HP_NO_ID - 1);
    f->rest = !own;
    f->context = own ? (uint32_t)(own - m->contexts) : below->context;
    if (f->call && f->rest)
        add_rest(m, f->context);
    else if (f->call)
        own->calls++;
}

/* The function of the top frame is jumped to once more. */
static void enter_again(struct model *m, uint32_t caller)
{
    const struct frame *f = &m->frames[m->depth - 1];
    uint32_t parent = f->rest ? f->context : m->contexts[f->context].parent;
    struct context *own = f->rest ? NULL : child_context(m, parent, f->function, caller);
    if (own)
        own->calls++;
    else
        add_rest(m, parent);
}

static void enter(struct model *m, enum frame_kind kind, uint64_t expects, uint32_t function,
                  uint32_t caller, bool call)
{
    assert_true(m->depth < 8192);
    m->frames[m->depth++] = (struct frame){kind, expects, function, caller, call, 0, false};
    find_context(m);
    if (call) {
        m->counts[counter(m, KEY_CALL, caller, function)]++;
        m->entered[function]++;
    }
}

static void model_return(struct model *m, const struct hp_block *to)
{
    for (size_t n = m->depth; n > 0 && m->frames[n - 1].kind != SIGNAL; n--)
        if (m->frames[n - 1].kind == CALLED && m->frames[n - 1].expects == to->start) {
            m->depth = n - 1;
            return;
        }
    for (size_t n = m->depth; n > 0; n--)
        if (m->frames[n - 1].function == function_at(to->start)) {
            m->depth = n;
            return;
        }
    if (m->depth && m->frames[m->depth - 1].kind == BASE) {
        m->depth--;
        enter(m, BASE, 0, function_at(to->start), HP_NO_ID, false);
    }
}

static void model_jump(struct model *m, const struct hp_block *from, const struct hp_block *to)
{
    uint32_t function = function_at(to->start);
    bool entry = to->start % FUNCTION_BYTES == 0, computed = from->flow == HP_FLOW_JUMP_IND;
    if (!m->depth || m->frames[m->depth - 1].function == function)
        return;
    if (!computed && function_at(from->start) == function)
        return;
    if (entry) {
        m->counts[counter(m, KEY_CALL, function_at(from->start), function)]++;
        m->entered[function]++;
    }
    for (size_t n = m->depth; n > 0; n--) {
        if (m->frames[n - 1].function == function) {
            m->depth = n;
            if (entry)
                enter_again(m, function_at(from->start));
            return;
        }
        if ((entry || !computed) && m->frames[n - 1].kind != JUMPED)
            break;
    }
    if (!entry && computed)
        return;
    m->frames[m->depth++] =
        (struct frame){JUMPED, 0, function, function_at(from->start), entry, 0, false};
    find_context(m);
}

static void model_transfer(struct model *m, uint32_t a, uint32_t b)
{
    const struct hp_block *from = hp_code_block(m->code, a), *to = hp_code_block(m->code, b);
    if (from->flow != HP_FLOW_NONE)
        m->counts[counter(m, KEY_EDGE, from->last, to->start)]++;
    if (from->flow != HP_FLOW_NONE && from->flow != HP_FLOW_SYSCALL)
        m->branches++;
    switch (from->flow) {
    case HP_FLOW_CALL:
    case HP_FLOW_CALL_IND:
        if (to->start != from->end)
            enter(m, CALLED, from->end, function_at(to->start), function_at(from->start), true);
        break;
    case HP_FLOW_RETURN: model_return(m, to); break;
    case HP_FLOW_JUMP:
    case HP_FLOW_COND:
    case HP_FLOW_JUMP_IND: model_jump(m, from, to); break;
    default: break;
    }
}

static void count_syscalls(struct model *m)
{
    m->syscalls[m->depth ? m->frames[m->depth - 1].context : 0] += m->pending;
    m->pending = 0;
}

static void model_run(struct model *m, const struct recorder *r)
{
    bool fresh = true;
    for (size_t i = 0; i < r->n; i++) {
        const struct item *item = &r->items[i];
        bool tail = item->event == HP_EVENT_TAIL + 1;
        if (item->event == RECORDED_SYSCALL) {
            m->pending++;
            continue;
        }
        if (!tail && item->event)
            count_syscalls(m);
        if ((tail || !item->event) && fresh) {
            enter(m, BASE, 0, function_at(item->value), HP_NO_ID, true);
            fresh = false;
        }
        if (tail || !item->event) {
            spend(m, item->block);
            count_syscalls(m);
        }
        if (!item->event)
            model_transfer(m, item->block, item->next);
        if (item->event == HP_EVENT_SIGNAL + 1) {
            enter(m, SIGNAL, 0, HP_NO_ID, HP_NO_ID, false);
            fresh = true;
        }
        if (item->event == HP_EVENT_SIGRETURN + 1) {
            while (m->depth && m->frames[--m->depth].kind != SIGNAL)
                ;
            fresh = m->depth == 0;
        }
        if (item->event == HP_EVENT_LOST + 1 || item->event == HP_EVENT_DISCONTINUITY + 1) {
            m->depth = 0;
            fresh = true;
        }
    }
}

/* --- Comparing -------------------------------------------------------------------------------- */

static void compare_functions(const struct hp_profile *profile, const struct model *m)
{
    uint64_t found = 0, expected = 0;
    for (size_t i = 0; i < profile->n_function_counts; i++) {
        const struct hp_pfunction_count *c = &profile->function_counts[i];
        uint32_t id = function_at(profile->functions[c->item].place.offset);
        uint64_t inclusive = m->inclusive[id] > m->self[id] ? m->inclusive[id] : m->self[id];
        assert_int_equal(c->self, m->self[id]);
        assert_int_equal(c->inclusive, inclusive);
        assert_int_equal(c->calls, m->entered[id]);
        found++;
    }
    for (uint32_t i = 0; i < MAX_FUNCTIONS; i++)
        expected += m->self[i] || m->inclusive[i] || m->entered[i];
    assert_int_equal(found, expected);
}

static uint64_t compare_calls(const struct hp_profile *profile, struct model *m)
{
    for (size_t i = 0; i < profile->n_call_counts; i++) {
        const struct hp_pcall_count *c = &profile->call_counts[i];
        const struct hp_pcall *call = &profile->calls[c->item];
        uint32_t caller = call->caller == HP_PROFILE_NONE
                              ? HP_NO_ID
                              : function_at(profile->functions[call->caller].place.offset);
        uint32_t callee = function_at(profile->functions[call->callee].place.offset);
        uint32_t k = counter(m, KEY_CALL, caller, callee);
        assert_int_equal(c->count, m->counts[k]);
        assert_int_equal(c->inclusive, m->weights[k]);
    }
    return profile->n_call_counts;
}

static uint64_t called; /* system calls that were compared */
static bool spoiling;   /* they may say anything */

/* `index`: of the profile's contexts, by the model's. */
static void compare_syscalls(const struct hp_profile *profile, const struct model *m,
                             const uint32_t *index)
{
    uint64_t *expected = calloc(profile->n_contexts + 1, sizeof *expected);
    uint64_t *found = calloc(profile->n_contexts + 1, sizeof *found);
    for (size_t i = 0; i <= m->n_contexts; i++) {
        expected[index[i] == HP_PROFILE_NONE ? profile->n_contexts : index[i]] += m->syscalls[i];
        called += m->syscalls[i];
    }
    for (size_t i = 0; i < profile->n_syscalls; i++) {
        const struct hp_psyscall *s = &profile->syscalls[i];
        found[s->context == HP_PROFILE_NONE ? profile->n_contexts : s->context] += s->calls;
        if (spoiling)
            continue;
        assert_int_equal(s->ns, 3 * s->calls);
        assert_int_equal(s->max_ns, 3);
        assert_int_equal(s->timed, s->calls);
        assert_int_equal(s->errors, s->number == ERRING ? s->calls : 0);
    }
    for (size_t i = 0; i <= profile->n_contexts; i++)
        assert_int_equal(found[i], expected[i]);
    free(expected);
    free(found);
}

/* What handlers did is beside what they interrupted; what ran where one should have begun, but did
 * not, is of no function. */
static void compare_contexts(const struct hp_profile *profile, const struct model *m)
{
    uint32_t *index = calloc(m->n_contexts + 1, sizeof *index);
    struct hp_pcontext_count *sums = calloc(profile->n_contexts + 1, sizeof *sums);
    struct hp_pcontext_rest *rests = calloc(profile->n_contexts + 1, sizeof *rests);
    uint64_t instructions = 0, n_sums = 0, n_rests = 0;
    index[0] = HP_PROFILE_NONE;
    for (size_t i = 1; i <= m->n_contexts; i++) {
        const struct context *c = &m->contexts[i];
        bool signal = c->function == HP_NO_ID;
        index[i] = HP_PROFILE_NONE;
        if (signal && !c->self && !c->rest_calls)
            continue;
        uint32_t at = child_of(profile, signal ? index[0] : index[c->parent], c->function);
        sums[at].self += c->self;
        sums[at].calls += c->calls;
        rests[at].instructions += c->rest;
        rests[at].calls += c->rest_calls;
        if (!signal)
            index[i] = at;
    }
    compare_syscalls(profile, m, index);
    for (size_t i = 0; i < profile->n_context_counts; i++) {
        const struct hp_pcontext_count *c = &profile->context_counts[i];
        assert_int_equal(c->self, sums[c->item].self);
        assert_int_equal(c->calls, sums[c->item].calls);
        instructions += c->self;
    }
    assert_int_equal(instructions, m->instructions);
    for (size_t i = 0; i < profile->n_context_rests; i++) {
        const struct hp_pcontext_rest *rest = &profile->context_rests[i];
        assert_int_equal(rest->instructions, rests[rest->item].instructions);
        assert_int_equal(rest->calls, rests[rest->item].calls);
    }
    for (size_t i = 0; i < profile->n_contexts; i++) {
        n_sums += sums[i].self || sums[i].calls;
        n_rests += rests[i].instructions || rests[i].calls;
    }
    assert_int_equal(profile->n_context_counts, n_sums);
    assert_int_equal(profile->n_context_rests, n_rests);
    free(index);
    free(rests);
    free(sums);
}

static void compare_profile(const struct hp_profile *profile, struct model *m)
{
    assert_int_equal(profile->n_threads, 1);
    assert_int_equal(profile->threads[0].instructions, m->instructions);
    assert_int_equal(profile->threads[0].blocks, m->blocks);
    assert_int_equal(profile->threads[0].branches, m->branches);
    uint64_t kinds = profile->n_block_counts + profile->n_edge_counts;
    for (size_t i = 0; i < profile->n_block_counts; i++) {
        const struct hp_pcount *c = &profile->block_counts[i];
        const struct hp_pblock *b = &profile->blocks[c->item];
        uint32_t k = counter(m, KEY_BLOCK, b->place.offset, b->place.offset + b->size);
        assert_int_equal(c->count, m->counts[k]);
    }
    for (size_t i = 0; i < profile->n_edge_counts; i++) {
        const struct hp_pcount *c = &profile->edge_counts[i];
        const struct hp_pedge *e = &profile->edges[c->item];
        assert_int_equal(c->count, m->counts[counter(m, KEY_EDGE, e->from.offset, e->to.offset)]);
    }
    compare_functions(profile, m);
    compare_contexts(profile, m);
    kinds += compare_calls(profile, m);
    /* everything the model has counted is in the profile */
    assert_int_equal(kinds, m->n_counts);
}

/* A profiler behind a cursor of its own, which gets steps instead of batches. */
struct stepping {
    struct hp_sink sink; /* first */
    struct hp_profiler *exact;
    void *state;
};

static void pass_steps(struct hp_sink *sink, const struct hp_steps *steps)
{
    struct stepping *s = (struct stepping *)sink;
    assert_in_range(steps->n, 1, HP_STEPS_MAX);
    s->exact->ops->steps(s->state, steps);
}

static void pass_event(struct hp_sink *sink, const struct hp_event *event)
{
    struct stepping *s = (struct stepping *)sink;
    s->exact->ops->event(s->state, event);
}

static void pass_syscall(struct hp_sink *sink, size_t at, const struct hp_syscall *call)
{
    struct stepping *s = (struct stepping *)sink;
    s->exact->ops->syscall(s->state, at, call);
}

static uint64_t excursions; /* that were counted, not shown to the stack */

static uint64_t count_excursions(const struct hp_exact_thread *t)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < t->excursions.n; i++)
        sum += t->excursions.counts[i];
    return sum;
}

/* The profile of the words by steps, a few at a time. */
static struct hp_profile *run_steps(struct stream *s, struct hp_functions *functions,
                                    const uint32_t *words, size_t n, size_t most_contexts,
                                    struct hp_cursor_stats *stats)
{
    struct stepping by = {
        .sink = {.steps = pass_steps, .event = pass_event, .syscall = pass_syscall}};
    const struct hp_thread thread = {.id = 0, .pid = 10, .tid = 10};
    struct hp_cursor *cursor;
    struct hp_profile *profile;
    uint64_t seed = n;
    uint32_t most = 1u << random_below(&seed, 12);
    assert_int_equal(hp_exact_new(s->code, functions, false, &by.exact), HP_OK);
    ((struct hp_exact *)by.exact)->most_contexts = most_contexts;
    assert_int_equal(by.exact->ops->start_thread(by.exact, &thread, &by.state), HP_OK);
    assert_int_equal(hp_cursor_new(s->code, NULL, &by.sink, &cursor), HP_OK);
    for (size_t i = 0, some; i < n; i += some) {
        some = 1 + random_below(&seed, most);
        some = some < n - i ? some : n - i;
        assert_int_equal(hp_cursor_feed(cursor, words + i, some), HP_OK);
    }
    excursions += count_excursions(by.state);
    assert_int_equal(hp_cursor_end(cursor, HP_END_EXIT), HP_OK);
    *stats = *hp_cursor_stats(cursor);
    assert_int_equal(hp_profile_new(&profile), HP_OK);
    finish_exact(s->code, functions, by.exact, profile);
    assert_int_equal(hp_profile_normalize(profile), HP_OK);
    hp_cursor_free(cursor);
    by.exact->ops->free(by.exact);
    return profile;
}

/* The same words by steps must give the same. */
static void check_steps(struct stream *s, struct hp_functions *functions, const uint32_t *words,
                        size_t n, struct model *m)
{
    struct hp_cursor_stats stats;
    struct hp_profile *profile = run_steps(s, functions, words, n, m->most_contexts, &stats);
    assert_memory_equal(&stats, hp_cursor_stats(s->cursor), sizeof stats);
    compare_profile(profile, m);
    hp_profile_free(profile);
}

/* The same words, where functions become one: self and calls are sums, and what is inclusive counts
 * once. Where calls had no context of their own it is bounded only. */
static uint64_t joined_exactly;

static void check_joined(struct stream *s, struct hp_functions *functions, const uint32_t *words,
                         size_t n, struct model *m)
{
    struct hp_cursor_stats stats;
    functions->joined = JOINED;
    struct hp_profile *p = run_steps(s, functions, words, n, m->most_contexts, &stats);
    functions->joined = 0;
    joined_exactly += !m->cut;
    for (size_t i = 0; i < p->n_function_counts; i++) {
        const struct hp_pfunction_count *c = &p->function_counts[i];
        uint32_t id = function_at(p->functions[c->item].place.offset);
        uint64_t self = 0, entered = 0;
        assert_int_equal(id % JOINED, 0);
        for (uint32_t k = id; k < id + JOINED; k++) {
            self += m->self[k];
            entered += m->entered[k];
        }
        assert_int_equal(c->self, self);
        assert_int_equal(c->calls, entered);
        assert_in_range(c->inclusive, m->joined[id], m->instructions);
        if (!m->cut)
            assert_int_equal(c->inclusive, m->joined[id] > self ? m->joined[id] : self);
    }
    for (size_t i = 0; i < p->n_call_counts; i++) {
        const struct hp_pcall_count *c = &p->call_counts[i];
        const struct hp_pcall *call = &p->calls[c->item];
        uint32_t caller = call->caller == HP_PROFILE_NONE
                              ? HP_NO_ID
                              : function_at(p->functions[call->caller].place.offset);
        uint32_t callee = function_at(p->functions[call->callee].place.offset);
        uint64_t weight = m->joined_weights[joined_call(m, caller, callee)];
        assert_in_range(c->inclusive, weight, m->instructions);
        if (!m->cut)
            assert_int_equal(c->inclusive, weight);
    }
    hp_profile_free(p);
}

/* --- The same, counted ------------------------------------------------------------------------ */

/* What an engine that counts makes of the words of one that does not. */
struct counting {
    const struct hp_code *code;
    uint32_t *words;
    size_t n, cap;
    uint64_t (*counters)[2]; /* by segment */
    uint32_t interrupted[64], depth;
    uint32_t last; /* segment that was run and of which it is not known how it was left; 0: none */
};

static void count_word(struct counting *c, uint32_t word)
{
    assert_int_equal(hp_grow(&c->words, &c->cap, c->n + 1, sizeof *c->words), HP_OK);
    c->words[c->n++] = word;
}

static uint64_t counted, counted_parts; /* programs, and blocks that were interrupted in them */

static void count_part(struct counting *c, uint32_t id, uint32_t insns)
{
    if (!id)
        return;
    counted_parts += insns != UINT16_MAX;
    count_word(c, hp_word_event(HP_WORD_PART, insns));
    count_word(c, id);
}

static uint32_t head_of(const struct hp_code *code, uint32_t id)
{
    while (code->segs[id].parent)
        id = code->segs[id].parent;
    return id;
}

/* After `c->last`, segment `id` was run. */
static void count_transfer(struct counting *c, uint32_t id)
{
    uint32_t left = c->last, route = left ? c->code->route[left] : 0;
    uint64_t start = c->code->chains[id].start;
    c->last = id;
    if (!left)
        return;
    const struct hp_hot *hot = &c->code->hot[route];
    if (hot->anywhere) {
        count_word(c, left);
        count_word(c, head_of(c->code, id));
    } else if (start == hot->fall || start == hot->target) {
        c->counters[left][start == hot->target]++;
    } else { /* a system call, interrupted and restarted */
        count_part(c, left, c->code->blocks[route].insns - 1);
    }
}

static void count_words(struct counting *c, const uint32_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        switch (words[i] & HP_WORD_EVENT ? (int)hp_word_kind(words[i]) : -1) {
        case -1: count_transfer(c, words[i]); break;
        case HP_WORD_CUT:
            count_part(c, c->last, hp_word_arg(words[i]));
            c->last = 0;
            break;
        case HP_WORD_SIGNAL:
            c->interrupted[c->depth++] = c->last;
            c->last = 0;
            count_word(c, words[i]);
            break;
        case HP_WORD_SIGRETURN:
            count_part(c, c->last, UINT16_MAX);
            c->last = c->interrupted[--c->depth];
            count_word(c, words[i]);
            break;
        case HP_WORD_END:
            count_part(c, c->last, UINT16_MAX);
            count_word(c, words[i]);
            break;
        case HP_WORD_SYSCALL: i += (size_t)hp_word_payload(words[i]); break;
        default: fail();
        }
    }
}

static void compare_counted(const struct hp_profile *profile, struct model *m)
{
    uint64_t kinds = 0, edges = 0;
    assert_int_equal(profile->threads[0].instructions, m->instructions);
    assert_int_equal(profile->threads[0].blocks, m->blocks);
    assert_int_equal(profile->threads[0].branches, m->branches);
    for (size_t i = 0; i < profile->n_block_counts; i++) {
        const struct hp_pcount *c = &profile->block_counts[i];
        const struct hp_pblock *b = &profile->blocks[c->item];
        uint32_t k = counter(m, KEY_BLOCK, b->place.offset, b->place.offset + b->size);
        assert_int_equal(c->count, m->counts[k]);
        kinds += c->count;
    }
    assert_int_equal(kinds, m->blocks);
    for (size_t i = 0; i < profile->n_edge_counts; i++) {
        const struct hp_pcount *c = &profile->edge_counts[i];
        const struct hp_pedge *e = &profile->edges[c->item];
        assert_int_equal(c->count, m->counts[counter(m, KEY_EDGE, e->from.offset, e->to.offset)]);
        edges += c->count;
    }
    assert_true(edges <= kinds);
    for (size_t i = 0; i < profile->n_function_counts; i++) {
        const struct hp_pfunction_count *c = &profile->function_counts[i];
        assert_int_equal(c->self, m->self[function_at(profile->functions[c->item].place.offset)]);
        assert_int_equal(c->inclusive, 0);
    }
    assert_string_equal(profile->notes[0].kind, "counted");
    assert_int_equal(profile->n_contexts, 0);
}

/* The words of a native program, delivered as counters and pairs. */
static void check_counts(struct stream *s, struct hp_functions *functions, const uint32_t *words,
                         size_t n, struct model *m)
{
    const struct hp_thread thread = {.id = 0, .pid = 10, .tid = 10};
    struct hp_region everything = {0};
    struct hp_pipeline *pipeline;
    struct hp_profiler *exact;
    struct hp_profile *profile;
    uint32_t limit = hp_code_segment_limit(s->code);
    struct counting c = {.code = s->code, .counters = calloc(limit, sizeof *c.counters)};
    count_words(&c, words, n);
    counted++;
    assert_int_equal(hp_pipeline_new(s->code, NULL, functions, &everything, &pipeline), HP_OK);
    assert_int_equal(hp_exact_new(s->code, functions, false, &exact), HP_OK);
    assert_int_equal(hp_pipeline_add(pipeline, exact), HP_OK);
    assert_int_equal(hp_pipeline_expect_counts(pipeline), HP_OK);
    struct hp_consumer *to = hp_pipeline_consumer(pipeline);
    assert_int_equal(to->thread(to, &thread), HP_OK);
    for (size_t i = 0, some; i < c.n; i += some) {
        some = c.n - i < 7 ? c.n - i : 7;
        assert_int_equal(to->words(to, 0, c.words + i, some), HP_OK);
    }
    for (uint32_t id = 0; id < limit; id++)
        for (uint32_t side = 0; side < 2; side++)
            if (c.counters[id][side]) {
                struct hp_count count = {id, side, c.counters[id][side]};
                assert_int_equal(to->counts(to, 0, &count, 1), HP_OK);
            }
    assert_int_equal(to->end(to, 0, HP_END_EXIT), HP_OK);
    assert_int_equal(hp_pipeline_stats(pipeline)->cursor.instructions, m->instructions);
    assert_int_equal(hp_pipeline_stats(pipeline)->cursor.losses, 0);
    assert_int_equal(hp_profile_new(&profile), HP_OK);
    finish_exact(s->code, functions, exact, profile);
    assert_int_equal(hp_profile_normalize(profile), HP_OK);
    compare_counted(profile, m);
    hp_profile_free(profile);
    hp_pipeline_free(pipeline);
    exact->ops->free(exact);
    free(c.words);
    free(c.counters);
}

/* Calls of all functions, as they are seen while the program runs. */
static uint64_t peek_calls(const struct hp_profiler *exact)
{
    struct hp_exact_peek peek = {0};
    uint64_t sum = 0;
    static size_t turn; /* the calls of one function, another each time */
    struct hp_exact_peek_calls of = {0};
    assert_int_equal(hp_exact_peek(exact, &peek), HP_OK);
    for (size_t i = 0; i < peek.now.n_calls; i++)
        sum += peek.now.calls[i];
    if (peek.now.n_calls) {
        size_t i = turn++ % peek.now.n_calls;
        uint64_t callers = 0;
        assert_int_equal(hp_exact_peek_calls(exact, (uint32_t)i, false, &of), HP_OK);
        for (size_t k = 0; k <= of.n; k++)
            callers += of.callers[k];
        assert_int_equal(callers, peek.now.calls[i]);   /* whoever it was */
        assert_int_equal(of.callers[i], of.callees[i]); /* itself */
    }
    hp_exact_peek_calls_fini(&of);
    hp_exact_peek_fini(&peek);
    return sum;
}

/* Runs `words` through cursor and profiler, and what came out of the cursor through the model. */
static void check_stream(struct stream *s, const uint32_t *words, size_t n, bool counts)
{
    struct hp_functions *functions = new_functions(s->code);
    struct hp_profiler *exact;
    struct hp_profile *profile;
    struct model *m = calloc(1, sizeof *m);
    m->code = s->code;
    assert_int_equal(hp_exact_new(s->code, functions, false, &exact), HP_OK);
    /* Now and then there is no room for all. */
    m->most_contexts = n % 4 ? 1000000 : 1 + n / 4 % 32;
    ((struct hp_exact *)exact)->most_contexts = m->most_contexts;
    recorder_add(&s->recorder, exact);
    s->recorder.sink.syscall = record_syscall;
    feed(s, words, n);
    uint64_t running = peek_calls(exact);
    assert_int_equal(hp_cursor_end(s->cursor, HP_END_EXIT), HP_OK);
    assert_int_equal(hp_profile_new(&profile), HP_OK);
    finish_exact(s->code, functions, exact, profile);
    assert_int_equal(hp_profile_normalize(profile), HP_OK);
    model_run(m, &s->recorder);
    /* What follows the last word decides about its last transfers. */
    uint64_t calls = 0;
    for (uint32_t i = 0; i < MAX_FUNCTIONS; i++)
        calls += m->entered[i];
    assert_true(running <= calls && calls - running <= HP_RUN_MAX);
    compare_profile(profile, m);
    check_steps(s, functions, words, n, m);
    check_joined(s, functions, words, n, m);
    if (counts)
        check_counts(s, functions, words, n, m);
    hp_profile_free(profile);
    hp_map64_fini(&m->index);
    hp_map64_fini(&m->joined_index);
    free(m);
    free(functions);
}

/* Whether the engine shows whole blocks only: one that counts does. */
static bool has_no_pieces(const struct program *p, const struct hp_code *code)
{
    for (uint32_t id = 1; id <= p->n_segments; id++)
        if (code->route[id] & HP_ROUTE_NODE)
            return false;
    return true;
}

/* Puts system calls behind some of the words of a program: at most two behind one. */
static void add_syscalls(struct program *p)
{
    uint32_t *old = p->words;
    size_t n_old = p->n_words;
    p->words = NULL;
    p->n_words = p->cap_words = 0;
    for (size_t i = 0; i < n_old; i++) {
        bool is_cut =
            i + 1 < n_old && old[i + 1] & HP_WORD_EVENT && hp_word_kind(old[i + 1]) == HP_WORD_CUT;
        put_word(p, old[i]);
        for (int k = 0; !(old[i] & HP_WORD_EVENT) && !is_cut && k < 2 && chance(p, 15); k++) {
            uint32_t number = 1 + random_below(&p->seed, 3);
            put_word(p, hp_call_word(HP_CALL_RETURNED, number == ERRING ? 9 : 0));
            put_word(p, number);
            put_word(p, 3);
            put_word(p, 0);
            put_word(p, 0);
        }
    }
    free(old);
}

static void count_programs(uint64_t first, uint64_t last, bool native, uint32_t spoilt)
{
    for (uint64_t seed = first; seed <= last; seed++) {
        struct program p;
        struct stream s;
        program_init(&p, seed);
        if (native)
            program_make_native(&p);
        stream_init(&s);
        program_run(&p, &s, 50 + random_below(&p.seed, 400));
        if (seed % 2)
            add_syscalls(&p);
        spoil(&p, spoilt);
        spoiling = spoilt > 0;
        check_stream(&s, p.words, p.n_words, native && spoilt == 0 && has_no_pieces(&p, s.code));
        stream_fini(&s);
        program_fini(&p);
    }
}

/* --- Calls that return within a run ------------------------------------------------------------
 */

#define SAME(a, b, array)                                                                          \
    (assert_int_equal((a)->n_##array, (b)->n_##array),                                             \
     assert_memory_equal((a)->array, (b)->array, (a)->n_##array * sizeof *(a)->array))

static void compare_profiles(const struct hp_profile *a, const struct hp_profile *b)
{
    assert_int_equal(a->n_functions, b->n_functions);
    SAME(a, b, block_counts);
    SAME(a, b, edge_counts);
    SAME(a, b, function_counts);
    SAME(a, b, calls);
    SAME(a, b, call_counts);
    SAME(a, b, contexts);
    SAME(a, b, context_counts);
}

/*
 * A program of functions that call later ones, directly or not, and return, or end with a jump to
 * one. The first starts again at its end.
 */
#define FUNCTIONS   24
#define MOST_BLOCKS 8 /* of 8 bytes, in a function */
struct tree {
    uint64_t seed;
    uint8_t bytes[FUNCTIONS * 64];
    uint32_t blocks[FUNCTIONS]; /* of each function */
    uint8_t kinds[FUNCTIONS][MOST_BLOCKS];
    uint32_t targets[FUNCTIONS][MOST_BLOCKS];
};

static void put_block(struct tree *t, uint32_t function, uint32_t block, enum kind kind,
                      uint32_t target)
{
    uint8_t *at = t->bytes + function * 64 + block * 8;
    int32_t distance = (int32_t)(target * 64) - (int32_t)(function * 64 + block * 8 + 8);
    static const uint8_t of_kind[][4] = {[RET] = {0x90, 0x90, 0x90, 0x90},
                                         [JMP] = {0x90, 0x90, 0x90, 0xe9},
                                         [CALL] = {0x90, 0x90, 0x90, 0xe8},
                                         [CALL_IND] = {0x90, 0x90, 0xff, 0x15}};
    memcpy(at, of_kind[kind], 4);
    memcpy(at + 4, kind == RET ? (const void *)"\x90\x90\x90\xc3" : &distance, 4);
    t->kinds[function][block] = (uint8_t)kind;
    t->targets[function][block] = target;
}

static void make_tree(struct tree *t, uint64_t seed)
{
    *t = (struct tree){.seed = seed * 2654435761u + 88172645463325252u};
    for (uint32_t f = 0; f < FUNCTIONS; f++) {
        uint32_t left = FUNCTIONS - f - 1, n = left ? random_below(&t->seed, 4) : 0;
        for (uint32_t i = 0; i < n; i++)
            put_block(t, f, i, random_below(&t->seed, 4) ? CALL : CALL_IND,
                      f + 1 + random_below(&t->seed, left));
        bool jumps = f == 0 || (left && random_below(&t->seed, 4) == 0);
        put_block(t, f, n, jumps ? JMP : RET,
                  f == 0 ? 0 : f + 1 + random_below(&t->seed, left + !left));
        t->blocks[f] = n + 1;
    }
}

/* The starts of the first `n` blocks that it executes, as offsets. */
static void run_tree(struct tree *t, uint32_t *starts, size_t n)
{
    uint32_t stack[FUNCTIONS + 1], depth = 0, at = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t f = at / 64, block = at % 64 / 8, kind = t->kinds[f][block];
        starts[i] = at;
        if (kind == CALL || kind == CALL_IND)
            stack[depth++] = at + 8;
        if (kind == RET)
            at = stack[--depth];
        else if (kind == CALL_IND)
            at = 64 * (f + 1 + random_below(&t->seed, FUNCTIONS - f - 1) % 2);
        else
            at = 64 * t->targets[f][block];
    }
}

/* The words for these blocks, each of a run of at most `most`: cut at the same places wherever the
 * same code is executed. */
static size_t make_words(struct tree *t, struct stream *s, const uint32_t *starts, size_t n,
                         uint32_t most, struct hp_map64 *ids, uint32_t *words)
{
    size_t n_words = 0;
    uint32_t parent = 0, length = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = (uint64_t)parent << 32 | starts[i];
        uint32_t id = hp_map64_get(ids, key);
        if (id == HP_MAP64_NONE) {
            struct hp_segment segment = {.start = PROGRAM_BASE + starts[i],
                                         .parent = parent,
                                         .module = s->module,
                                         .size = 8,
                                         .bytes = t->bytes + starts[i]};
            id = (uint32_t)ids->used + 1;
            assert_int_equal(hp_code_add_segment(s->code, id, &segment), HP_OK);
            assert_int_equal(hp_map64_put(ids, key, id), HP_OK);
        }
        uint64_t own = id; /* the same every time */
        bool ends = ++length >= most || random_below(&own, most) == 0;
        if (ends || i + 1 == n)
            words[n_words++] = id;
        parent = ends ? 0 : id;
        length = ends ? 0 : length;
    }
    return n_words;
}

/* By runs, and by single blocks, each transfer of which is shown to the stack. */
static void check_tree(uint64_t seed, bool stripped, size_t most_contexts)
{
    enum { BLOCKS = 20000 };
    static uint32_t starts[BLOCKS], words[BLOCKS];
    struct tree t;
    struct stream s;
    struct hp_map64 ids = {0};
    struct hp_profile *profiles[2];
    struct hp_cursor_stats stats;
    make_tree(&t, seed);
    stream_init(&s);
    run_tree(&t, starts, BLOCKS);
    for (int runs = 0; runs < 2; runs++) {
        struct hp_functions *functions = new_functions(s.code);
        functions->stripped = stripped;
        uint32_t most = runs ? 2 + random_below(&t.seed, HP_RUN_MAX - 1) : 1;
        size_t n = make_words(&t, &s, starts, BLOCKS, most, &ids, words);
        profiles[runs] = run_steps(&s, functions, words, n, most_contexts, &stats);
        free(functions);
    }
    compare_profiles(profiles[0], profiles[1]);
    hp_profile_free(profiles[0]);
    hp_profile_free(profiles[1]);
    hp_map64_fini(&ids);
    stream_fini(&s);
}

static void calls_return_within_runs(void **state)
{
    (void)state;
    excursions = 0;
    for (uint64_t seed = 1; seed <= 100; seed++)
        check_tree(seed, seed % 2, seed % 5 ? 1000000 : 1 + seed % 7);
    assert_in_range(excursions, 10000, UINT64_MAX);
}

static void random_programs_are_counted(void **state)
{
    (void)state;
    count_programs(10001, 10300, false, 0);
    count_programs(10301, 10600, true, 0);
    assert_true(joined_exactly > 250);
    assert_true(counted > 250);
    assert_true(counted_parts > 1000);
    assert_true(called > 1000);
}

static void spoilt_streams_are_counted(void **state)
{
    (void)state;
    count_programs(20001, 20200, false, 1);
    count_programs(20201, 20300, false, 20);
    count_programs(20301, 20500, true, 1);
    count_programs(20501, 20600, true, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_are_counted),
        cmocka_unit_test(calls_return_within_runs),
        cmocka_unit_test(spoilt_streams_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
