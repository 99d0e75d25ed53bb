// SPDX-License-Identifier: MIT
/*
 * Predictors against naive ones, which keep the whole history of the program and work everything
 * out from it; and by hand.
 */
#include "machine/branches.h"
#include "machine/history.h"
#include "stream_fixture.h"

#include <math.h>

/* --- Branches to predict ---------------------------------------------------------------------- */

struct outcome {
    uint64_t pc;
    bool taken;
};

#define N_OUTCOMES 30000

/* Some are loops, some follow another branch, some a pattern, some nothing. */
static struct outcome *make_outcomes(uint64_t seed)
{
    struct outcome *all = calloc(N_OUTCOMES, sizeof *all);
    uint32_t turns[64] = {0};
    for (int i = 0; i < N_OUTCOMES; i++) {
        uint32_t which = random_below(&seed, 64);
        uint32_t turn = turns[which]++;
        all[i].pc = 0x401000 + which * 37;
        switch (which % 4) {
        case 0: all[i].taken = turn % (which + 2) != 0; break;
        case 1: all[i].taken = i > 3 ? all[i - 3].taken ^ all[i - 1].taken : false; break;
        case 2: all[i].taken = 0x5a3c9u >> turn % 20 & 1; break;
        default: all[i].taken = random_below(&seed, 4) == 0; break;
        }
    }
    return all;
}

/* --- Naive predictors ------------------------------------------------------------------------- */

/* A naive predictor says what it would for outcomes[at], from all outcomes before it. Counters are
 * kept by an arbitrary number, their index. */
struct naive {
    const struct outcome *all;
    int counters[1 << 16];
    int more[1 << 16], choice[1 << 16];
    uint64_t entries, history, histories, globals;
};

static int bump(int counter, int most, bool up)
{
    return up ? (counter < most ? counter + 1 : most) : (counter > 0 ? counter - 1 : 0);
}

/* The last `n` outcomes before `at`, the latest in bit 0; of one register's branches, or (histories
 * 0) of all. */
static uint64_t recent(const struct outcome *all, int at, uint64_t n, uint64_t histories)
{
    uint64_t bits = 0, found = 0;
    for (int i = at - 1; i >= 0 && found < n; i--)
        if (!histories || all[i].pc % histories == all[at].pc % histories)
            bits |= (uint64_t)all[i].taken << found++;
    return bits;
}

static uint64_t bimodal_index(const struct naive *n, int at)
{
    return n->all[at].pc % n->entries;
}

static uint64_t gshare_index(const struct naive *n, int at)
{
    return (n->all[at].pc ^ recent(n->all, at, n->history, 0)) % n->entries;
}

static uint64_t local_index(const struct naive *n, int at)
{
    uint64_t history = recent(n->all, at, n->history, n->histories);
    return (n->all[at].pc * ((uint64_t)1 << n->history) + history) % n->entries;
}

static void compare_simple(struct hp_predictor *predictor,
                           uint64_t (*index)(const struct naive *n, int at), struct naive *n)
{
    int taken = 0;
    n->all = make_outcomes(7);
    for (int i = 0; i < 1 << 16; i++)
        n->counters[i] = 1;
    for (int i = 0; i < N_OUTCOMES; i++) {
        int *counter = &n->counters[index(n, i)];
        bool said = predictor->predict(predictor, n->all[i].pc, false);
        assert_int_equal(said, *counter >= 2);
        predictor->update(predictor, n->all[i].pc, n->all[i].taken);
        *counter = bump(*counter, 3, n->all[i].taken);
        taken += said;
    }
    assert_in_range(taken, N_OUTCOMES / 10, N_OUTCOMES * 9 / 10); /* it says both */
    free((void *)(uintptr_t)n->all);
    free(n);
    hp_predictor_free(predictor);
}

static struct naive *new_naive(uint64_t entries, uint64_t history, uint64_t histories)
{
    struct naive *n = calloc(1, sizeof *n);
    n->entries = entries;
    n->history = history;
    n->histories = histories;
    return n;
}

/* One by itself; settings are those of its keys, in their order. */
static enum hp_err make(enum hp_predictor_id id, const void *settings, struct hp_predictor **p)
{
    return hp_predictor_kinds[id]->make(settings, NULL, p);
}

static void test_bimodal(void **state)
{
    struct hp_predictor *p;
    (void)state;
    for (uint64_t entries = 1; entries <= 4096; entries *= 8) {
        assert_int_equal(make(HP_PREDICT_bimodal, (uint64_t[8]){entries}, &p), HP_OK);
        compare_simple(p, bimodal_index, new_naive(entries, 0, 0));
    }
}

static void test_gshare(void **state)
{
    struct hp_predictor *p;
    (void)state;
    assert_int_equal(make(HP_PREDICT_gshare, (uint64_t[8]){8192, 12}, &p), HP_OK);
    compare_simple(p, gshare_index, new_naive(8192, 12, 0));
    assert_int_equal(make(HP_PREDICT_gshare, (uint64_t[8]){4096, 3}, &p), HP_OK);
    compare_simple(p, gshare_index, new_naive(4096, 3, 0));
    assert_int_equal(make(HP_PREDICT_gshare, (uint64_t[8]){1024, 0}, &p), HP_OK);
    compare_simple(p, gshare_index, new_naive(1024, 0, 0));
}

static void test_local(void **state)
{
    struct hp_predictor *p;
    (void)state;
    assert_int_equal(make(HP_PREDICT_local, (uint64_t[8]){1024, 10, 1024}, &p), HP_OK);
    compare_simple(p, local_index, new_naive(1024, 10, 1024));
    assert_int_equal(make(HP_PREDICT_local, (uint64_t[8]){64, 6, 4096}, &p), HP_OK);
    compare_simple(p, local_index, new_naive(4096, 6, 64));
    assert_int_equal(make(HP_PREDICT_local, (uint64_t[8]){1, 8, 2048}, &p),
                     HP_OK); /* one history for all */
    compare_simple(p, local_index, new_naive(2048, 8, 1));
}

static void test_combined(void **state)
{
    struct hp_predictor *p;
    struct naive *b = new_naive(1024, 0, 0), *g = new_naive(4096, 8, 0);
    int *choices = calloc(256, sizeof *choices), used[2] = {0};
    (void)state;
    const struct hp_branch_config config = {
        .predictor = HP_PREDICT_combined,
        .settings = {[HP_PREDICT_bimodal] = {1024},
                     [HP_PREDICT_gshare] = {4096, 8},
                     [HP_PREDICT_combined] = {HP_PREDICT_bimodal, HP_PREDICT_gshare, 256}}};
    assert_int_equal(hp_predictor_new(&config, &p), HP_OK);
    b->all = g->all = make_outcomes(3);
    for (int i = 0; i < 1 << 16; i++)
        b->counters[i] = g->counters[i] = 1;
    for (int i = 0; i < 256; i++)
        choices[i] = 1;
    for (int i = 0; i < N_OUTCOMES; i++) {
        const struct outcome *o = &b->all[i];
        int *first = &b->counters[bimodal_index(b, i)], *second = &g->counters[gshare_index(g, i)];
        int *choice = &choices[o->pc % 256];
        bool said[2] = {*first >= 2, *second >= 2};
        used[*choice >= 2]++;
        assert_int_equal(p->predict(p, o->pc, false), said[*choice >= 2]);
        p->update(p, o->pc, o->taken);
        if (said[0] != said[1])
            *choice = bump(*choice, 3, said[1] == o->taken);
        *first = bump(*first, 3, o->taken);
        *second = bump(*second, 3, o->taken);
    }
    assert_true(used[0] > 1000 && used[1] > 1000);
    free((void *)(uintptr_t)b->all);
    free(b);
    free(g);
    free(choices);
    hp_predictor_free(p);
}

static void test_alpha21264(void **state)
{
    struct hp_predictor *p;
    struct naive *n = new_naive(0, 10, 1024);
    int used[2] = {0};
    (void)state;
    assert_int_equal(make(HP_PREDICT_alpha, (uint64_t[8]){1024, 10, 12}, &p), HP_OK);
    n->all = make_outcomes(11);
    for (int i = 0; i < 1 << 16; i++) {
        n->counters[i] = 3; /* 3 bits */
        n->more[i] = n->choice[i] = 1;
    }
    for (int i = 0; i < N_OUTCOMES; i++) {
        const struct outcome *o = &n->all[i];
        uint64_t path = recent(n->all, i, 12, 0);
        int *local = &n->counters[recent(n->all, i, 10, 1024)];
        bool local_said = *local >= 4, global_said = n->more[path] >= 2;
        bool use_global = n->choice[path] >= 2;
        used[use_global]++;
        assert_int_equal(p->predict(p, o->pc, false), use_global ? global_said : local_said);
        p->update(p, o->pc, o->taken);
        if (local_said != global_said)
            n->choice[path] = bump(n->choice[path], 3, global_said == o->taken);
        *local = bump(*local, 7, o->taken);
        n->more[path] = bump(n->more[path], 3, o->taken);
    }
    assert_true(used[0] > 1000 && used[1] > 1000);
    free((void *)(uintptr_t)n->all);
    free(n);
    hp_predictor_free(p);
}

/* --- TAGE ------------------------------------------------------------------------------------- */

#define T_TABLES  5
#define T_ENTRIES 64
#define T_TAG     7
#define T_RESET   500

static const struct hp_tage_config tage_config = {.base = 256,
                                                  .tables = T_TABLES,
                                                  .entries = T_ENTRIES,
                                                  .tag = T_TAG,
                                                  .shortest = 3,
                                                  .longest = 80,
                                                  .reset = T_RESET};

/* The history as a list, its latest bit last. */
struct bits {
    uint8_t *bit;
    size_t n, cap;
};

static void add_bit(struct bits *b, bool bit)
{
    assert_int_equal(hp_grow(&b->bit, &b->cap, b->n + 1, 1), HP_OK);
    b->bit[b->n++] = bit;
}

static uint64_t fold(const struct bits *b, int length, int width)
{
    uint64_t value = 0;
    for (int i = 0; i < length && i < (int)b->n; i++)
        value ^= (uint64_t)b->bit[b->n - 1 - (size_t)i] << i % width;
    return value;
}

struct naive_entry {
    int tag; /* -1: empty */
    int counter, useful;
    uint64_t target;
};

struct naive_tage {
    struct bits history;
    int base[256];
    uint64_t base_target[256];
    struct naive_entry table[T_TABLES][T_ENTRIES];
    int lengths[T_TABLES];
    int use_alternate, updates;
    uint32_t random;
    /* of the branch at hand */
    struct naive_entry *entry[T_TABLES];
    int tag[T_TABLES];
};

static struct naive_tage *new_naive_tage(void)
{
    struct naive_tage *n = calloc(1, sizeof *n);
    for (int i = 0; i < T_TABLES; i++) {
        n->lengths[i] = (int)lround(3 * pow(80.0 / 3, i / 4.0));
        for (int k = 0; k < T_ENTRIES; k++)
            n->table[i][k] = (struct naive_entry){.tag = -1};
    }
    for (int i = 0; i < 256; i++)
        n->base[i] = 1;
    n->use_alternate = 8;
    n->random = 2463534242u;
    return n;
}

static void naive_find(struct naive_tage *n, uint64_t pc)
{
    for (int i = 0; i < T_TABLES; i++) {
        uint64_t index = pc ^ pc / T_ENTRIES ^ fold(&n->history, n->lengths[i], 6);
        uint64_t tag = pc ^ fold(&n->history, n->lengths[i], T_TAG) ^
                       fold(&n->history, n->lengths[i], T_TAG - 1) * 2;
        n->entry[i] = &n->table[i][index % T_ENTRIES];
        n->tag[i] = (int)(tag % (1 << T_TAG));
    }
}

static int naive_match(const struct naive_tage *n, int below)
{
    int best = -1;
    for (int i = 0; i < below; i++)
        if (n->entry[i]->tag == n->tag[i])
            best = i;
    return best;
}

static bool naive_coin(struct naive_tage *n)
{
    n->random ^= n->random << 13;
    n->random ^= n->random >> 17;
    n->random ^= n->random << 5;
    return n->random >= 0x80000000u;
}

static void naive_allocate(struct naive_tage *n, int above, bool taken)
{
    int free_tables[T_TABLES], n_free = 0;
    for (int i = above + 1; i < T_TABLES; i++)
        if (n->entry[i]->useful == 0)
            free_tables[n_free++] = i;
    if (n_free == 0) {
        for (int i = above + 1; i < T_TABLES; i++)
            n->entry[i]->useful--;
        return;
    }
    int chosen = free_tables[n_free > 1 && naive_coin(n) && naive_coin(n)];
    *n->entry[chosen] = (struct naive_entry){.tag = n->tag[chosen], .counter = taken ? 4 : 3};
}

static bool naive_tage_step(struct naive_tage *n, uint64_t pc, bool taken)
{
    naive_find(n, pc);
    int provider = naive_match(n, T_TABLES);
    int other = provider >= 0 ? naive_match(n, provider) : -1;
    bool base = n->base[pc % 256] >= 2;
    bool alternate = other >= 0 ? n->entry[other]->counter >= 4 : base;
    bool longest = provider >= 0 ? n->entry[provider]->counter >= 4 : base;
    bool fresh = provider >= 0 && n->entry[provider]->useful == 0 &&
                 (n->entry[provider]->counter == 3 || n->entry[provider]->counter == 4);
    bool said = fresh && n->use_alternate >= 8 ? alternate : longest;
    if (provider < 0) {
        n->base[pc % 256] = bump(n->base[pc % 256], 3, taken);
    } else {
        struct naive_entry *e = n->entry[provider];
        if (fresh && longest != alternate)
            n->use_alternate = bump(n->use_alternate, 15, alternate == taken);
        if (longest != alternate)
            e->useful = bump(e->useful, 3, longest == taken);
        e->counter = bump(e->counter, 7, taken);
    }
    if (said != taken && !(fresh && longest == taken))
        naive_allocate(n, provider, taken);
    if (++n->updates % T_RESET == 0)
        for (int i = 0; i < T_TABLES * T_ENTRIES; i++)
            n->table[i / T_ENTRIES][i % T_ENTRIES].useful /= 2;
    add_bit(&n->history, taken);
    return said;
}

static void test_tage(void **state)
{
    struct hp_predictor *p;
    struct naive_tage *n = new_naive_tage();
    struct outcome *all = make_outcomes(5);
    int right = 0;
    (void)state;
    assert_int_equal(make(HP_PREDICT_tage, &tage_config, &p), HP_OK);
    for (int i = 0; i < T_TABLES; i++)
        assert_int_equal(hp_tagged_length(&tage_config, (unsigned)i), n->lengths[i]);
    for (int i = 0; i < N_OUTCOMES; i++) {
        bool said = p->predict(p, all[i].pc, false);
        p->update(p, all[i].pc, all[i].taken);
        assert_int_equal(said, naive_tage_step(n, all[i].pc, all[i].taken));
        right += said == all[i].taken;
        if (i % 5 == 0) { /* a jump between */
            uint64_t target = all[i].pc * 3;
            p->note(p, all[i].pc, target);
            add_bit(&n->history, (target ^ target / 8 ^ target / 64) % 2);
        }
    }
    assert_in_range(right, N_OUTCOMES * 55 / 100, N_OUTCOMES * 99 / 100);
    free(n->history.bit);
    free(n);
    free(all);
    hp_predictor_free(p);
}

/* What TAGE is for: a loop of 50 turns among noise-free branches is foreseen, and by bimodal never.
 */
static void test_tage_learns_long_patterns(void **state)
{
    struct hp_tage_config config = {.base = 1024,
                                    .tables = 8,
                                    .entries = 1024,
                                    .tag = 11,
                                    .shortest = 4,
                                    .longest = 200,
                                    .reset = 1 << 18};
    struct hp_predictor *p;
    int wrong = 0;
    (void)state;
    assert_int_equal(make(HP_PREDICT_tage, &config, &p), HP_OK);
    for (int i = 0; i < 50 * 400; i++) {
        bool taken = i % 50 != 49;
        wrong += p->predict(p, 0x1234, true) != taken && i >= 50 * 200;
        p->update(p, 0x1234, taken);
    }
    assert_int_equal(wrong, 0);
    hp_predictor_free(p);
}

/* --- ITTAGE ----------------------------------------------------------------------------------- */

static uint64_t naive_ittage_step(struct naive_tage *n, uint64_t pc, uint64_t target)
{
    naive_find(n, pc);
    int provider = naive_match(n, T_TABLES);
    int other = provider >= 0 ? naive_match(n, provider) : -1;
    uint64_t base = n->base_target[pc % 256];
    uint64_t alternate = other >= 0 ? n->entry[other]->target : base;
    uint64_t longest = provider >= 0 ? n->entry[provider]->target : base;
    uint64_t said = longest;
    if (provider >= 0) {
        struct naive_entry *e = n->entry[provider];
        if (e->counter == 0 && alternate)
            said = alternate;
        if (longest != alternate)
            e->useful = longest == target;
        if (e->target == target)
            e->counter = bump(e->counter, 3, true);
        else if (e->counter == 0)
            e->target = target;
        else
            e->counter--;
    }
    n->base_target[pc % 256] = target;
    if (said != target && longest != target) {
        int i = provider + 1;
        while (i < T_TABLES && n->entry[i]->useful)
            i++;
        if (i < T_TABLES)
            *n->entry[i] = (struct naive_entry){.tag = n->tag[i], .target = target};
        else
            for (i = provider + 1; i < T_TABLES; i++)
                n->entry[i]->useful = 0;
    }
    if (++n->updates % T_RESET == 0)
        for (int i = 0; i < T_TABLES * T_ENTRIES; i++)
            n->table[i / T_ENTRIES][i % T_ENTRIES].useful = 0;
    for (int i = 0; i < 4; i++)
        add_bit(&n->history, (target ^ target / 16 ^ target / 256) >> i & 1);
    return said;
}

/* An interpreter's dispatch: the next target follows from the last ones, mostly. */
static void test_ittage(void **state)
{
    struct hp_ittage *t;
    struct naive_tage *n = new_naive_tage();
    uint64_t seed = 9, last = 0x2000;
    int right = 0;
    (void)state;
    assert_int_equal(hp_ittage_new(&tage_config, &t), HP_OK);
    for (int i = 0; i < N_OUTCOMES; i++) {
        uint64_t pc = 0x401000 + 7 * random_below(&seed, 3);
        uint64_t target = random_below(&seed, 20) == 0 ? 0x2000 + 16 * random_below(&seed, 8)
                                                       : (last * 5 + 0x130) % 128 + 0x2000;
        uint64_t said = hp_ittage_predict(t, pc);
        hp_ittage_update(t, pc, target);
        assert_int_equal(said, naive_ittage_step(n, pc, target));
        right += said == target;
        last = target;
        if (i % 3 == 0) {
            hp_ittage_note(t, i % 2);
            add_bit(&n->history, i % 2);
        }
    }
    assert_in_range(right, N_OUTCOMES / 2, N_OUTCOMES);
    free(n->history.bit);
    free(n);
    hp_ittage_free(t);
}

/* --- The branch unit -------------------------------------------------------------------------- */

static const struct hp_branch_config small_unit = {.predictor = HP_PREDICT_static,
                                                   .indirect = HP_INDIRECT_BTB,
                                                   .btb_entries = 4,
                                                   .btb_ways = 2,
                                                   .ras_entries = 2};

static bool retire(struct hp_branches *b, enum hp_flow flow, uint64_t pc, uint64_t target)
{
    struct hp_transfer transfer = {
        .pc = pc, .target = target, .end = pc + 4, .flow = (uint8_t)flow, .taken = true};
    return hp_branches_retire(b, &transfer);
}

static void test_returns_beyond_the_stack(void **state)
{
    struct hp_branches b;
    (void)state;
    assert_int_equal(hp_branches_init(&b, &small_unit), HP_OK);
    assert_false(retire(&b, HP_FLOW_CALL, 0x100, 0x200));
    assert_false(retire(&b, HP_FLOW_CALL, 0x200, 0x300));
    assert_false(retire(&b, HP_FLOW_CALL, 0x300, 0x400)); /* the first one's place */
    assert_false(retire(&b, HP_FLOW_RETURN, 0x410, 0x304));
    assert_false(retire(&b, HP_FLOW_RETURN, 0x310, 0x204));
    assert_true(retire(&b, HP_FLOW_RETURN, 0x210, 0x104));
    assert_int_equal(b.stats.returns, 3);
    assert_int_equal(b.stats.calls, 3);
    assert_int_equal(b.stats.return_addresses, 1);
    assert_int_equal(b.stats.mispredictions, 1);
    hp_branches_fini(&b);
}

static void test_targets(void **state)
{
    struct hp_branches b;
    (void)state;
    assert_int_equal(hp_branches_init(&b, &small_unit), HP_OK);
    assert_true(retire(&b, HP_FLOW_JUMP_IND, 0x100, 0x200)); /* unknown */
    assert_false(retire(&b, HP_FLOW_JUMP_IND, 0x100, 0x200));
    assert_true(retire(&b, HP_FLOW_JUMP_IND, 0x100, 0x300)); /* another */
    assert_false(retire(&b, HP_FLOW_JUMP_IND, 0x100, 0x300));
    /* Two more in the same set of two: the first is gone. Direct ones are no mispredictions. */
    assert_false(retire(&b, HP_FLOW_JUMP, 0x102, 0x200));
    assert_false(retire(&b, HP_FLOW_JUMP, 0x104, 0x200));
    assert_false(retire(&b, HP_FLOW_JUMP, 0x104, 0x200));
    assert_true(retire(&b, HP_FLOW_CALL_IND, 0x100, 0x300));
    assert_int_equal(b.stats.btb_lookups, 3);
    assert_int_equal(b.stats.btb_misses, 2);
    assert_int_equal(b.stats.targets, 3);
    assert_int_equal(b.stats.indirect, 5);
    assert_int_equal(b.stats.calls, 1);
    assert_false(retire(&b, HP_FLOW_RETURN, 0x300, 0x104)); /* the indirect call's */
    hp_branches_fini(&b);
}

/* Backward taken, forward not; a branch that is not taken is not looked for in the BTB. */
static void test_static_directions(void **state)
{
    struct hp_branches b;
    (void)state;
    assert_int_equal(hp_branches_init(&b, &small_unit), HP_OK);
    for (int i = 0; i < 4; i++) {
        bool backward = i & 1, taken = i & 2;
        struct hp_transfer transfer = {.pc = 0x100,
                                       .target = taken ? 0x80 : 0x104,
                                       .end = 0x104,
                                       .flow = HP_FLOW_COND,
                                       .conditional = true,
                                       .backward = backward,
                                       .taken = taken};
        assert_int_equal(hp_branches_retire(&b, &transfer), backward != taken);
    }
    assert_int_equal(b.stats.conditional, 4);
    assert_int_equal(b.stats.taken, 2);
    assert_int_equal(b.stats.directions, 2);
    assert_int_equal(b.stats.btb_lookups, 2);
    hp_branches_fini(&b);
}

/* A conditional return that is not taken leaves the stack alone. */
static void test_conditional_returns(void **state)
{
    struct hp_branches b;
    (void)state;
    assert_int_equal(hp_branches_init(&b, &small_unit), HP_OK);
    struct hp_transfer stays = {
        .pc = 0x200, .target = 0x204, .end = 0x204, .flow = HP_FLOW_RETURN, .conditional = true};
    struct hp_transfer goes = stays;
    goes.taken = true;
    goes.target = 0x104;
    retire(&b, HP_FLOW_CALL, 0x100, 0x200);
    assert_false(hp_branches_retire(&b, &stays));
    assert_true(hp_branches_retire(&b, &goes)); /* forward: said not taken */
    assert_int_equal(b.stats.directions, 1);
    assert_int_equal(b.stats.return_addresses, 0);
    assert_int_equal(b.stats.mispredictions, 1);
    hp_branches_fini(&b);
}

static void test_without_return_stack_the_btb_is_asked(void **state)
{
    struct hp_branch_config config = small_unit;
    struct hp_branches b;
    (void)state;
    config.ras_entries = 0;
    assert_int_equal(hp_branches_init(&b, &config), HP_OK);
    retire(&b, HP_FLOW_CALL, 0x100, 0x200);
    assert_true(retire(&b, HP_FLOW_RETURN, 0x210, 0x104));
    assert_false(retire(&b, HP_FLOW_RETURN, 0x210, 0x104));
    hp_branches_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bimodal),
        cmocka_unit_test(test_gshare),
        cmocka_unit_test(test_local),
        cmocka_unit_test(test_combined),
        cmocka_unit_test(test_alpha21264),
        cmocka_unit_test(test_tage),
        cmocka_unit_test(test_tage_learns_long_patterns),
        cmocka_unit_test(test_ittage),
        cmocka_unit_test(test_returns_beyond_the_stack),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_static_directions),
        cmocka_unit_test(test_conditional_returns),
        cmocka_unit_test(test_without_return_stack_the_btb_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
