// SPDX-License-Identifier: MIT
/*
 * The loop model "ranges" of any size on any branches: it does what a plain reading of
 * docs/better.md does, one branch at a time and behind the stream by batches or by steps, whatever
 * the pieces it comes in.
 */
#include "program_fixture.h"

#include "profiler/loop/models.h"

/* --- The plain reading ------------------------------------------------------------------------ */

struct number {
    uint64_t mantissa;
    unsigned exponent;
};

struct range {
    uint64_t low, high, head;
    struct number executions, iterations, instructions;
    int trust;
    bool used, shunned;
};

struct on {
    int range, current, calls;
    bool counted, many;
};

struct plain {
    struct hp_loop_config config;
    struct range ranges[64];
    struct on on[64];
    int n_on, charged;
    uint64_t insns, aside, from, to;
    uint32_t random;
    uint64_t branches, replacements, overflows;
};

static uint32_t draw(struct plain *p)
{
    p->random ^= p->random << 13;
    p->random ^= p->random >> 17;
    p->random ^= p->random << 5;
    return p->random;
}

static void increase(struct plain *p, struct number *x, uint64_t n, unsigned bits)
{
    uint64_t unit = UINT64_C(1) << x->exponent;
    uint64_t sum = x->mantissa + n / unit;
    if (n % unit && draw(p) % unit < n % unit)
        sum++;
    while (sum >= UINT64_C(1) << bits && x->exponent < 31) {
        bool odd = sum % 2;
        sum /= 2;
        if (odd && draw(p) % 2)
            sum++;
        x->exponent++;
    }
    x->mantissa = sum;
}

static bool has(const struct range *range, uint64_t address)
{
    return address >= range->low && address <= range->high;
}

/* The first that is on in the present activation. */
static int activation(const struct plain *p)
{
    int i = p->n_on;
    while (i > 0 && p->on[i - 1].calls == 0)
        i--;
    return i;
}

static int where_on(const struct plain *p, int range)
{
    for (int i = p->n_on - 1; i >= activation(p); i--)
        if (p->on[i].range == range)
            return i;
    return -1;
}

static int more_calls(const struct plain *p, int calls, int more)
{
    int most = (1 << p->config.depth_bits) - 1;
    return calls + more > most ? most : calls + more;
}

static void turn_off(struct plain *p, int i)
{
    increase(p, &p->ranges[p->on[i].range].iterations, (uint64_t)p->on[i].current,
             p->config.iteration_bits);
    if (i > 0)
        p->on[i - 1].calls = more_calls(p, p->on[i - 1].calls, p->on[i].calls);
    for (int k = i; k + 1 < p->n_on; k++)
        p->on[k] = p->on[k + 1];
    p->n_on--;
}

static void charge(struct plain *p, int range)
{
    if (range == p->charged)
        return;
    if (p->charged >= 0 && p->insns)
        increase(p, &p->ranges[p->charged].instructions, p->insns, p->config.instruction_bits);
    p->insns = 0;
    p->charged = range;
}

static void turn_on(struct plain *p, int range, uint64_t place, uint64_t address)
{
    if (p->n_on == (int)p->config.contexts) {
        int victim = -1;
        for (int i = activation(p); i < p->n_on && victim < 0; i++)
            if (!has(&p->ranges[p->on[i].range], address))
                victim = i;
        for (int i = 0; i < p->n_on && victim < 0; i++)
            if (!p->on[i].counted)
                victim = i;
        victim = victim < 0 ? 0 : victim;
        turn_off(p, victim);
        p->overflows++;
    }
    p->on[p->n_on++] = (struct on){.range = range};
    struct range *r = &p->ranges[range];
    if (place == r->head)
        r->trust = r->trust < 15 ? r->trust + 1 : 15;
    else if (r->trust > 0)
        r->trust--;
    else
        r->head = place;
}

/* How often an instruction counts that it executes. */
static uint64_t times(const struct plain *p, int i)
{
    if (i < 0 || !p->on[i].counted)
        return 0;
    return p->on[i].current == 1 && !p->on[i].many ? 2 : 1;
}

static void run(struct plain *p, uint64_t start, uint64_t address, uint32_t insns)
{
    int smallest = -1;
    bool is_new = false;
    for (int i = 0; i < (int)p->config.entries; i++) {
        struct range *r = &p->ranges[i];
        if (!r->used || r->shunned || !has(r, address))
            continue;
        bool head = start <= r->head && r->head <= address, new_here = where_on(p, i) < 0;
        if (new_here) {
            turn_on(p, i, head ? r->head : start < r->low ? r->low : start, address);
        } else if (head) {
            struct on *on = &p->on[where_on(p, i)];
            if (!on->counted)
                increase(p, &r->executions, 1, p->config.execution_bits);
            on->counted = true;
            if (++on->current == 1023) {
                increase(p, &r->iterations, 1023, p->config.iteration_bits);
                on->current = 0;
                on->many = true;
            }
        }
        if (r->executions.mantissa == 0)
            continue; /* it never iterated */
        if (smallest < 0 || r->high - r->low < p->ranges[smallest].high - p->ranges[smallest].low) {
            smallest = i;
            is_new = new_here;
        }
    }
    if (smallest >= 0) {
        charge(p, smallest);
        p->insns += times(p, where_on(p, smallest)) * (insns + (is_new ? 0 : p->aside));
        p->aside = 0;
    } else if (activation(p) < p->n_on) {
        p->aside = p->aside + insns < 65535 ? p->aside + insns : 65535;
    }
}

static int rounds(const struct plain *p, int i)
{
    return i < 0 ? 0 : p->on[i].many ? 1023 : p->on[i].current;
}

static uint64_t value(const struct number *x)
{
    return x->mantissa << x->exponent;
}

static bool is_on_anywhere(const struct plain *p, int range)
{
    for (int i = 0; i < p->n_on; i++)
        if (p->on[i].range == range)
            return true;
    return false;
}

static void new_range(struct plain *p, uint64_t low, uint64_t address)
{
    int slot = -1;
    for (int i = (int)p->config.entries - 1; i >= 0; i--)
        if (!p->ranges[i].used)
            slot = i;
    if (slot < 0) {
        for (int i = (int)p->config.entries - 1; i >= 0; i--)
            if (!is_on_anywhere(p, i) && (slot < 0 || value(&p->ranges[i].instructions) <=
                                                          value(&p->ranges[slot].instructions)))
                slot = i;
        if (slot < 0)
            return;
        uint64_t least = value(&p->ranges[slot].instructions), size = address - low + 1;
        size = size < 128 ? size : 128;
        if (least > size) {
            uint64_t chance = (uint64_t)draw(p) << 32;
            chance += draw(p);
            if (chance % least >= size)
                return;
        }
    }
    if (p->charged == slot)
        charge(p, -1);
    struct range *r = &p->ranges[slot];
    p->replacements += r->used;
    struct number inherited = r->instructions;
    *r = (struct range){.low = low, .high = address, .head = low, .used = true};
    r->instructions = inherited;
    if (p->from < low && p->to > low && p->to <= address)
        r->head = p->to;
    turn_on(p, slot, r->head, address);
}

/* A way back into a loop from behind it. */
static bool is_way_back(struct plain *p, uint64_t address, uint64_t target, int there)
{
    for (int i = p->n_on - 1; i >= activation(p); i--) {
        const struct range *r = &p->ranges[p->on[i].range];
        if (!(r->low < target && target <= r->high && r->high < address))
            continue;
        if (there >= 0 && p->ranges[there].shunned)
            return true;
        if (rounds(p, i) < 2)
            continue;
        if (there < 0)
            return true;
        if (rounds(p, i) > rounds(p, where_on(p, there))) {
            if (p->charged == there)
                charge(p, -1);
            for (int k = p->n_on - 1; k >= 0; k--)
                if (p->on[k].range == there)
                    turn_off(p, k);
            p->ranges[there].shunned = true;
            return true;
        }
    }
    return false;
}

static void go_back(struct plain *p, uint64_t address, uint64_t target, bool direct)
{
    int first = activation(p), there = -1;
    for (int i = p->n_on - 1; i >= first; i--)
        if (p->ranges[p->on[i].range].low > target)
            turn_off(p, i);
    if (!direct || address - target >= p->config.max_offset)
        return;
    p->branches++;
    for (int i = (int)p->config.entries - 1; i >= 0; i--)
        if (p->ranges[i].used && p->ranges[i].low == target)
            there = i;
    if (is_way_back(p, address, target, there))
        return;
    for (int i = p->n_on - 1; i >= activation(p); i--) {
        struct range *r = &p->ranges[p->on[i].range];
        if (target == r->low && address > r->high)
            r->high = address;
        if (r->low <= target && target <= r->head && r->head <= address)
            return;
    }
    if (there < 0) {
        new_range(p, target, address);
        return;
    }
    struct range *r = &p->ranges[there];
    if (r->shunned && draw(p) % 64)
        return;
    r->high = address > r->high ? address : r->high;
    r->shunned = false;
}

static void plain_branch(struct plain *p, const struct hp_branch *b)
{
    run(p, b->start ? b->start : b->address, b->address, b->insns);
    if (!b->taken)
        return;
    bool call = (b->flow == HP_FLOW_CALL || b->flow == HP_FLOW_CALL_IND) && b->target != b->end;
    if (call && p->n_on) {
        p->on[p->n_on - 1].calls = more_calls(p, p->on[p->n_on - 1].calls, 1);
    } else if (b->flow == HP_FLOW_RETURN) {
        p->aside = 0;
        while (p->n_on && !p->on[p->n_on - 1].calls)
            turn_off(p, p->n_on - 1);
        if (p->n_on)
            p->on[p->n_on - 1].calls--;
    } else if (b->flow == HP_FLOW_JUMP || b->flow == HP_FLOW_COND || b->flow == HP_FLOW_JUMP_IND) {
        if (b->target <= b->address) {
            go_back(p, b->address, b->target, b->flow != HP_FLOW_JUMP_IND);
        } else {
            p->from = b->address;
            p->to = b->target;
        }
    }
}

/* --- Comparing -------------------------------------------------------------------------------- */

static struct hp_loop_stats seen;

/* What the plain one has with that head: the most iterations count, instructions are added up. */
static void compare(const struct hp_loop_model *model, const struct plain *p)
{
    const struct hp_loop_stats *stats = hp_loop_model_stats(model);
    struct hp_loop_entry *entries;
    double found = 0, expected = 0, executions[64] = {0};
    size_t n;
    assert_int_equal(stats->branches, p->branches);
    assert_int_equal(stats->replacements, p->replacements);
    assert_int_equal(stats->context_overflows, p->overflows);
    assert_int_equal(hp_loop_model_entries(model, &entries, &n), HP_OK);
    for (int i = 0; i < (int)p->config.entries; i++) {
        const struct range *r = &p->ranges[i];
        if (!r->used || r->shunned)
            continue;
        double iterations = (double)value(&r->iterations);
        for (int k = 0; k < p->n_on; k++)
            iterations += p->on[k].range == i ? p->on[k].current : 0;
        expected += (double)value(&r->instructions) + (p->charged == i ? (double)p->insns : 0);
        size_t k = 0;
        while (k < n && entries[k].target != r->head)
            k++;
        assert_true(k < n);
        assert_true(iterations <= entries[k].iterations);
        if (iterations == entries[k].iterations) /* of equals the last one counts */
            executions[k] = (double)value(&r->executions);
    }
    for (size_t k = 0; k < n; k++) {
        assert_true(entries[k].executions == executions[k]);
        found += entries[k].instructions;
    }
    assert_true(found == expected);
    free(entries);
    seen.branches += stats->branches;
    seen.replacements += stats->replacements;
    seen.context_overflows += stats->context_overflows;
}

static uint32_t between(uint64_t *seed, uint32_t low, uint32_t high)
{
    return low + random_below(seed, high - low + 1);
}

static struct hp_loop_config random_config(uint64_t *seed)
{
    struct hp_loop_config c;
    assert_int_equal(hp_loop_config_parse("ranges", &c), HP_OK);
    c.entries = c.ways = between(seed, 1, random_below(seed, 3) ? 6 : 64);
    c.contexts = between(seed, 1, random_below(seed, 2) ? 4 : 20);
    c.max_offset = random_below(seed, 2) ? c.max_offset : between(seed, 1, 300);
    c.execution_bits = between(seed, 3, 14);
    c.iteration_bits = between(seed, 3, 14);
    c.instruction_bits = between(seed, 3, 14);
    c.depth_bits = between(seed, 1, 8);
    return c;
}

static void plain_init(struct plain *p, const struct hp_loop_config *config)
{
    *p = (struct plain){.config = *config, .charged = -1, .random = 0x9e3779b9u};
}

/* A walk in a small piece of code: most branches lead where they led before, from where the one
 * before led to. */
static struct hp_branch random_branch(uint64_t *seed, const struct hp_branch *before)
{
    static const enum hp_flow flows[] = {HP_FLOW_COND, HP_FLOW_COND,   HP_FLOW_COND,
                                         HP_FLOW_COND, HP_FLOW_JUMP,   HP_FLOW_JUMP_IND,
                                         HP_FLOW_CALL, HP_FLOW_RETURN, HP_FLOW_NONE};
    uint64_t start = before->target, address = start | 7, key = address * 0x9e3779b97f4a7c15u;
    enum hp_flow flow = flows[key >> 40 & 7];
    uint64_t place = key >> 50 & 31;
    place = random_below(seed, 8) ? place : random_below(seed, 32);
    struct hp_branch branch = {.start = start,
                               .address = address,
                               .target = 0x1000 + 8 * place,
                               .end = address + 1,
                               .insns = between(seed, 1, 9),
                               .flow = (uint8_t)flow,
                               .taken = flow != HP_FLOW_COND || random_below(seed, 3)};
    if (flow == HP_FLOW_NONE)
        branch.taken = 0;
    if (!branch.taken)
        branch.target = address + 1 > 0x1100 ? 0x1000 : address + 1;
    return branch;
}

static void branches_one_by_one(void **state)
{
    (void)state;
    seen = (struct hp_loop_stats){0};
    for (uint64_t i = 1; i <= 400; i++) {
        uint64_t seed = i;
        struct hp_loop_config config = random_config(&seed);
        struct hp_branch branch = {.target = 0x1000};
        struct hp_loop_model *model;
        struct plain plain;
        assert_int_equal(hp_loop_model_new(&config, &model), HP_OK);
        plain_init(&plain, &config);
        for (int k = 0; k < 3000; k++) {
            branch = random_branch(&seed, &branch);
            hp_loop_model_branch(model, 0, &branch);
            plain_branch(&plain, &branch);
            if (k % 100 == 0)
                compare(model, &plain);
        }
        compare(model, &plain);
        hp_loop_model_free(model);
    }
    assert_true(seen.branches > 100000 && seen.replacements > 1000 &&
                seen.context_overflows > 1000);
}

/* --- Behind the stream ------------------------------------------------------------------------ */

struct watcher {
    struct hp_sink sink;          /* first */
    struct hp_profiler *profiler; /* NULL: the plain one */
    void *state;
    struct plain *plain;
};

static void on_batch(struct hp_sink *sink, const struct hp_batch *batch)
{
    struct watcher *w = (struct watcher *)sink;
    struct hp_branch branch;
    if (w->profiler) {
        w->profiler->ops->batch(w->state, batch);
        return;
    }
    for (size_t i = 0; i < batch->n; i++) {
        hp_batch_branch(batch, i, &branch);
        plain_branch(w->plain, &branch);
    }
}

static void on_steps(struct hp_sink *sink, const struct hp_steps *steps)
{
    struct watcher *w = (struct watcher *)sink;
    w->profiler->ops->steps(w->state, steps);
}

static void on_event(struct hp_sink *sink, const struct hp_event *event)
{
    struct watcher *w = (struct watcher *)sink;
    if (w->profiler)
        w->profiler->ops->event(w->state, event);
    else if (event->kind == HP_EVENT_SIGNAL && w->plain->n_on)
        w->plain->on[w->plain->n_on - 1].calls =
            more_calls(w->plain, w->plain->on[w->plain->n_on - 1].calls, 1);
}

static void watch(struct watcher w, struct hp_code *code, const struct program *p, uint64_t seed)
{
    const struct hp_thread thread = {.pid = 1, .tid = 1};
    struct hp_cursor *cursor;
    if (w.profiler)
        assert_int_equal(w.profiler->ops->start_thread(w.profiler, &thread, &w.state), HP_OK);
    assert_int_equal(hp_cursor_new(code, NULL, &w.sink, &cursor), HP_OK);
    for (size_t at = 0; at < p->n_words;) {
        size_t n = 1 + random_below(&seed, random_below(&seed, 3) ? 30 : 2000);
        n = n < p->n_words - at ? n : p->n_words - at;
        assert_int_equal(hp_cursor_feed(cursor, p->words + at, n), HP_OK);
        at += n;
    }
    assert_int_equal(hp_cursor_end(cursor, HP_END_EXIT), HP_OK);
    hp_cursor_free(cursor);
}

static void run_seed(uint64_t seed, bool native, bool spoiled)
{
    struct program p;
    struct stream s;
    struct plain plain;
    struct hp_profiler *batches, *steps;
    program_init(&p, seed);
    if (native)
        program_make_native(&p);
    stream_init(&s);
    program_run(&p, &s, 50 + random_below(&p.seed, 3000));
    if (spoiled)
        spoil(&p, 1 + random_below(&p.seed, 10));
    struct hp_loop_config config = random_config(&p.seed);
    plain_init(&plain, &config);
    assert_int_equal(hp_loop_models_new(s.code, NULL, &config, 1, &batches), HP_OK);
    assert_int_equal(hp_loop_models_new(s.code, NULL, &config, 1, &steps), HP_OK);
    struct watcher w = {.sink = {.batch = on_batch, .event = on_event}, .plain = &plain};
    watch(w, s.code, &p, seed);
    w.profiler = batches;
    watch(w, s.code, &p, seed + 1);
    w.profiler = steps;
    w.sink.steps = on_steps;
    watch(w, s.code, &p, seed + 2);
    compare(hp_loop_models_get(batches, 0), &plain);
    compare(hp_loop_models_get(steps, 0), &plain);
    batches->ops->free(batches);
    steps->ops->free(steps);
    stream_fini(&s);
    program_fini(&p);
}

static void batches_and_steps(void **state)
{
    (void)state;
    seen = (struct hp_loop_stats){0};
    for (uint64_t seed = 1; seed <= 400; seed++)
        run_seed(seed, seed % 4 != 0, false);
    assert_true(seen.branches > 10000 && seen.replacements > 100);
}

static void batches_and_steps_of_nonsense(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++)
        run_seed(seed, seed % 4 != 0, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches_one_by_one),
        cmocka_unit_test(batches_and_steps),
        cmocka_unit_test(batches_and_steps_of_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
