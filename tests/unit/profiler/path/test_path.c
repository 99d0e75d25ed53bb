// SPDX-License-Identifier: MIT
/*
 * The path detector: presets on examples worked out by hand, every operation and every rule alone.
 * How executions and paths are written: path_fixture.h.
 */
#include "path_fixture.h"

/* --- Figure 1 of the prediction paper --------------------------------------------------------- */

/*
 * A branches (0: B, 1: C); B jumps to D; D branches (0: G, 1: H); G branches (1: back to A, 0:
 * falls to J); H jumps to J; C branches (0: E, 1: F); E and F jump to I; I jumps to J; J branches
 * back to A. All but those back to A are forward, so that H is behind D and before J, and D, G and
 * J stand one after the other: H is inside of G's first instruction.
 */
static const struct letter figure_1[] = {
    {.name = 'A', .start = 0x1000, .insns = 2, .flow = HP_FLOW_COND, .target = 'C'},
    {.name = 'B', .start = 0x1007, .insns = 2, .flow = HP_FLOW_JUMP, .target = 'D'},
    {.name = 'C', .start = 0x1010, .insns = 2, .flow = HP_FLOW_COND, .target = 'F'},
    {.name = 'E', .start = 0x1017, .insns = 1, .flow = HP_FLOW_JUMP, .target = 'I'},
    {.name = 'F', .start = 0x1020, .insns = 3, .flow = HP_FLOW_JUMP, .target = 'I'},
    {.name = 'I', .start = 0x1030, .insns = 1, .flow = HP_FLOW_JUMP, .target = 'J'},
    {.name = 'D', .start = 0x1040, .insns = 3, .flow = HP_FLOW_COND, .target = 'H'},
    {.name = 'G', .start = 0x1048, .hex = "b8 eb 08 90 90  0f 84 ad ff ff ff"}, /* mov; je A */
    {.name = 'H', .start = 0x1049, .hex = "eb 08"},                             /* jmp J */
    {.name = 'J', .start = 0x1053, .insns = 4, .flow = HP_FLOW_COND, .target = 'A'},
    {.name = 'X', .start = 0x105c, .insns = 1, .flow = HP_FLOW_RETURN},
};

static void figure_1_has_its_five_signatures(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, figure_1);
    struct hp_detector_stats stats =
        expect_paths(&p, "forward", "ABDG ABDGJ ABDHJ ACEIJ ACFIJ A",
                     "A.0101/9 A.01001/13 A.01111/12 A.10111/10 A.11111/12");
    assert_int_equal(stats.paths, 5);
    assert_int_equal(stats.branches, 24);
    assert_int_equal(stats.blocks, 24);
    assert_int_equal(stats.instructions, 56);
    assert_int_equal(stats.unfinished, 1);
    letters_fini(&p);
}

/* --- An example in the manner of the path paper's figure 4 ------------------------------------ */

/*
 * main:  M calls f, and returns to N; N branches back to M or falls to O, which returns.
 * f:     F branches to H or falls to G; G jumps over H to I; H has no branch and runs into I, so
 *        that H and I are one block when they are entered at H; I calls leaf and returns to J;
 *        J branches back to F or falls to K, which returns.
 * leaf:  L returns.
 *
 * Instructions: M 2, N 2, O 1, F 3, G 2, H 4 (those of I included), I 2, J 2, K 1, L 2.
 */
static const struct letter example[] = {
    {.name = 'M', .start = 0x1000, .insns = 2, .flow = HP_FLOW_CALL, .target = 'F'},
    {.name = 'N', .start = 0x1006, .insns = 2, .flow = HP_FLOW_COND, .target = 'M'},
    {.name = 'O', .start = 0x100d, .insns = 1, .flow = HP_FLOW_RETURN},
    {.name = 'F', .start = 0x1100, .insns = 3, .flow = HP_FLOW_COND, .target = 'H'},
    {.name = 'G', .start = 0x1108, .insns = 2, .flow = HP_FLOW_JUMP, .target = 'I'},
    {.name = 'H', .start = 0x110e, .insns = 4, .flow = HP_FLOW_CALL, .target = 'L'},
    {.name = 'I', .start = 0x1110, .insns = 2, .flow = HP_FLOW_CALL, .target = 'L'},
    {.name = 'J', .start = 0x1116, .insns = 2, .flow = HP_FLOW_COND, .target = 'F'},
    {.name = 'K', .start = 0x111d, .insns = 1, .flow = HP_FLOW_RETURN},
    {.name = 'L', .start = 0x1200, .insns = 2, .flow = HP_FLOW_RETURN},
};

/* main calls f twice: two iterations, then one. */
#define TWICE "M FGILJ FHLJ KN M FHLJ KN O ."
/* main calls f once: four iterations. */
#define FOUR "M FGILJ FHLJ FGILJ FHLJ KN O ."

/*
 * A frame a function. M's call adds its 2 instructions to main's path and starts f's at F. F 0, G
 * 1, the call at I adds 2 (7 so far); leaf's path is L with no branch. J 1 ends F.011 with 9. In
 * the same frame F 1, the call at H, J 0, and K's return ends F.10 with 3+4+2+1. N 1 ends main's
 * path: M and N, with 4. And so on; N 0 is still open at the end.
 */
static void example_bl(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, example);
    struct hp_detector_stats stats =
        expect_paths(&p, "bl", TWICE, "L./2 F.011/9 L./2 F.10/10 M.1/4 L./2 F.10/10");
    assert_int_equal(stats.paths, 7);
    assert_int_equal(stats.branches, 19);
    assert_int_equal(stats.blocks, 20);
    assert_int_equal(stats.unfinished, 1);
    assert_int_equal(stats.unfinished_insns, 5); /* M, N, and the tail O */
    assert_int_equal(stats.underflows + stats.overflows + stats.repairs + stats.purges, 0);
    expect_paths(&p, "bl", FOUR, "L./2 F.011/9 L./2 F.11/9 L./2 F.011/9 L./2 F.10/10");
    letters_fini(&p);
}

/* Calls and returns end paths, too, and nothing is stacked: M; F 0 G 1 and the call at I (3+2+2);
 * L; J 1; F 1 and the call at H; L; J 0 and the return at K (2+1); N 1; and the second call. */
static void example_wpp(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, example);
    struct hp_detector_stats stats = expect_paths(
        &p, "wpp", TWICE, "M./2 F.01/7 L./2 J.1/2 F.1/7 L./2 J.0/3 N.1/2 M./2 F.1/7 L./2 J.0/3");
    assert_int_equal(stats.unfinished, 1);
    assert_int_equal(stats.unfinished_insns, 3);
    letters_fini(&p);
}

/*
 * The first backward branch of a path does not end it. TWICE: F 0 G 1 J 1 | F 1 J 0, and K's
 * return: 9 + 9 + 1. main's path goes through N's, too, and is never finished. FOUR: the second J
 * ends the first path (9 + 9); the other: two iterations and K.
 */
static void example_extended_loop_1(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, example);
    expect_paths(&p, "extended-loop:1", TWICE, "L./2 L./2 F.01110/19 L./2 F.10/10");
    expect_paths(&p, "extended-loop:1", FOUR, "L./2 L./2 F.01111/18 L./2 L./2 F.01110/19");
    letters_fini(&p);
}

/* FOUR: three iterations in a path, 27; the fourth alone. */
static void example_extended_loop_2(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, example);
    expect_paths(&p, "extended-loop:2", TWICE, "L./2 L./2 F.01110/19 L./2 F.10/10");
    expect_paths(&p, "extended-loop:2", FOUR, "L./2 L./2 L./2 F.01111011/27 L./2 F.10/10");
    letters_fini(&p);
}

/*
 * main's path grows through the call of f (counter 1): M 2, F 0, G 1, 7 so far; at I the counter is
 * 1, so that leaf gets a path of its own. J 1 ends M.011 with 2+3+2+2+2. The next path starts at F
 * with counter 0: F 1, through the call at H (1), L, through its return (0), J 0, and K's return,
 * with counter 0, ends F.10 with 3+4+2+2+1. There is no other frame: a fresh path at N. N 1. Then M
 * through the call, F 1, at H leaf gets its own, J 0, through K's return, N 0: still open.
 */
static void example_extended_call_1(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, example);
    struct hp_detector_stats stats =
        expect_paths(&p, "extended-call:1", TWICE, "L./2 M.011/11 F.10/12 N.1/2 L./2");
    assert_int_equal(stats.underflows, 1);
    assert_int_equal(stats.unfinished_insns, 15); /* M F H J K N and the tail */
    letters_fini(&p);
}

/* By address: leaf is behind f, f behind main, so that calls are forward and returns end paths: M 1
 * F 0 G 1 I 1 L 1, 2+3+2+2+2. J 1. F 1 H 1 L 1, 3+4+2. J 0 K 1. N 1. M 1 F 1 H 1 L 1. J 0 K 1. */
static void example_forward(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, example);
    expect_paths(&p, "forward", TWICE, "M.10111/11 J.1/2 F.111/9 J.01/3 N.1/2 M.1111/11 J.01/3");
    letters_fini(&p);
}

/* --- A program for the rules ------------------------------------------------------------------ */

/*
 * A branches to C or falls to B, which jumps to D. C branches back to A or falls to E, which calls
 * f and returns to G, a system call that goes on at D. D calls anything and returns to H, which
 * jumps anywhere. P calls the address behind it. f: f branches to h or falls to g, which calls k
 * and returns to h, which returns; i returns, too. k jumps anywhere; l, in the same function,
 * returns; m falls to n, which jumps anywhere. s is a signal handler, which returns to the restorer
 * t, a system call.
 */
static const struct letter rules[] = {
    {'A', 0x1000, 2, HP_FLOW_COND, 'C', 1, true, NULL},
    {'B', 0x1007, 2, HP_FLOW_JUMP, 'D', 1, false, NULL},
    {'C', 0x1010, 1, HP_FLOW_COND, 'A', 1, false, NULL},
    {'E', 0x1016, 2, HP_FLOW_CALL, 'f', 1, false, NULL},
    {'G', 0x101c, 3, HP_FLOW_SYSCALL, 0, 1, false, NULL},
    {'D', 0x1020, 2, HP_FLOW_CALL_IND, 0, 1, false, NULL},
    {'H', 0x1023, 1, HP_FLOW_JUMP_IND, 0, 1, false, NULL},
    {'P', 0x1030, 1, HP_FLOW_CALL, 'Q', 1, false, NULL},
    {'Q', 0x1035, 2, HP_FLOW_JUMP, 'A', 1, false, NULL},
    {'f', 0x1100, 2, HP_FLOW_COND, 'h', 2, true, NULL},
    {'g', 0x1107, 1, HP_FLOW_CALL, 'k', 2, false, NULL},
    {'h', 0x110c, 2, HP_FLOW_RETURN, 0, 2, false, NULL},
    {'i', 0x1120, 1, HP_FLOW_RETURN, 0, 2, false, NULL},
    {'k', 0x1200, 1, HP_FLOW_JUMP_IND, 0, 3, true, NULL},
    {'l', 0x1202, 1, HP_FLOW_RETURN, 0, 3, false, NULL},
    {'m', 0x1210, 1, HP_FLOW_COND, 'k', 3, false, NULL},
    {'n', 0x1216, 1, HP_FLOW_JUMP_IND, 0, 3, false, NULL},
    {'s', 0x1300, 2, HP_FLOW_RETURN, 0, 4, true, NULL},
    {'t', 0x1400, 1, HP_FLOW_SYSCALL, 0, 5, true, NULL},
    {'u', 0x1500, 1, HP_FLOW_RETURN, 0, 0, false, NULL},
};

#define NOTHING "call=,return=none,forward=,backward=,indirect="

/* --- Operations, each alone ------------------------------------------------------------------- */

static void no_operation_at_all(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    struct hp_detector_stats stats = expect_paths(&p, NOTHING, "ACACEfhGDA", "");
    assert_int_equal(stats.branches, 8);
    assert_int_equal(stats.unfinished, 1);
    assert_int_equal(stats.unfinished_insns, stats.instructions);
    letters_fini(&p);
}

/* What is not added stays pending, and goes to the path that is updated next. */
static void pop_alone_leaves_instructions_pending(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    /* A 1 (update, 2); C 1 backward: emitted without C's instruction, fresh path at A; A 1: 1 + 2.
     */
    struct hp_detector_stats stats = expect_paths(
        &p, "call=,return=,forward=update,backward=pop,indirect=", "ACACACE", "A.1/2 A.1/3");
    assert_int_equal(stats.underflows, 2);
    assert_int_equal(stats.unfinished_insns, 4);
    letters_fini(&p);
}

static void update_appends_and_counts(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    expect_paths(&p, "call=,return=,forward=update,backward=update+pop+push,indirect=", "ABDfgkl",
                 "");
    expect_paths(&p, "call=update+pop,return=,forward=update,backward=update,indirect=", "ACACEfh",
                 "A.11101/8");
    letters_fini(&p);
}

static void update_count_only_counts(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    expect_paths(&p, "call=update_count+pop,return=,forward=update_count,backward=update,indirect=",
                 "ACACEfh", "A.1/8");
    letters_fini(&p);
}

/* A frame below goes on where it was. */
static void push_alone_starts_a_path(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    /* Backward branches push; calls pop. */
    struct hp_detector_stats stats = expect_paths(
        &p, "call=update_count+pop,return=,forward=update,backward=update+push,indirect=",
        "ACACEfhGDfhHA", "A.10/5 A.111/12"); /* h, G and D wait for the next update */
    assert_int_equal(stats.underflows, 1);
    letters_fini(&p);
}

static void pop_and_push_restart(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    expect_paths(&p, "call=,return=,forward=update,backward=update+pop+push,indirect=", "ACACACA",
                 "A.11/3 A.11/3 A.11/3");
    letters_fini(&p);
}

/* --- Classes ---------------------------------------------------------------------------------- */

/* Each class alone ends a path, in turn, of the same execution. */
static void every_class_is_told_apart(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    const char *run = "AC AC Efh G D fgkl h H A";
#define ONE_ENDS(call, ret, fwd, back, ind)                                                        \
    "call=update" call ",return=update" ret ",forward=update" fwd ",backward=update" back          \
    ",indirect=update" ind
#define END "+pop+push"
    expect_paths(&p, ONE_ENDS(END, "", "", "", ""), run, "A.11101/8 f.111/9 f.01/3");
    expect_paths(&p, ONE_ENDS("", END, "", "", ""), run, "A.1110111/12 G.10111/10 h.1/2");
    expect_paths(&p, ONE_ENDS("", "", END, "", ""), run, "A.1/2 C.11/3 C.0/1 E.11/4 h.110/9");
    expect_paths(&p, ONE_ENDS("", "", "", END, ""), run, "A.11/3");
    expect_paths(&p, ONE_ENDS("", "", "", "", END), run, "A.11101111011/21 l.111/4");
    letters_fini(&p);
}

/* A call that only reads the program counter is a forward branch with outcome 1. */
static void a_call_of_what_is_behind_it_is_forward(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    struct hp_detector_stats stats = expect_paths(&p, "bl", "PQA", "P.11/3");
    assert_int_equal(stats.unfinished, 1);
    letters_fini(&p);
}

/* A branch that leads back: not taken it is forward, or, by its encoded target, backward. */
static void direction_is_dynamic_or_static(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    expect_paths(&p, "bl", "ACACEfhGDA", "A.11/3 f.1/4");
    expect_paths(&p, "bl,direction=static", "ACACEfhGDA", "A.11/3 A.10/3 f.1/4");
    letters_fini(&p);
}

/* On ARM any branch may be conditional. Not taken, it is forward, with outcome 0. */
static void what_is_not_taken_is_forward(void **state)
{
    (void)state;
    static const uint8_t flows[] = {HP_FLOW_CALL, HP_FLOW_CALL_IND, HP_FLOW_RETURN,
                                    HP_FLOW_JUMP_IND, HP_FLOW_JUMP};
    struct hp_ppcr ppcr;
    assert_int_equal(hp_ppcr_parse("bl", &ppcr), HP_OK);
    for (size_t i = 0; i < sizeof flows; i++) {
        struct hp_path_sink sink = {0};
        struct hp_detector *d;
        struct hp_branch branch = {.address = 0x1004,
                                   .target = 0x1008,
                                   .insns = 2,
                                   .flow = flows[i],
                                   .start = 0x1000,
                                   .end = 0x1008,
                                   .direct = flows[i] == HP_FLOW_JUMP ? 0x1000 : 0};
        assert_int_equal(hp_detector_new(&ppcr, NULL, &sink, &d), HP_OK);
        hp_detector_branch(d, &branch, 0);
        assert_int_equal(hp_detector_stats(d)->paths, 0);
        assert_int_equal(hp_detector_stats(d)->underflows, 0);
        hp_detector_free(d);
    }
}

/* By address, forward: where computed branches went is part of the path. */
static void indirect_targets_are_part_of_forward_paths(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    /* A 0 B 1 D 1 (to f, computed) f 1 h 1 (returns, backward): its target is not part of the path.
     * H 1 (to k), k 1 (to l), l 1 back. */
    struct hp_detector_stats stats =
        expect_paths(&p, "forward", "ABDfhHkl ABDkl H", "A.01111/10>f H.111/3>kl A.01111/8>kl");
    assert_int_equal(stats.unfinished, 1);
    letters_fini(&p);
}

/* The same branches with another target are another path. */
static void paths_with_other_targets_are_others(void **state)
{
    (void)state;
    struct hp_path a = {.start = 1, .outcomes = 3, .length = 2, .targets = 5}, b = a;
    assert_true(hp_path_same(&a, &b));
    assert_int_equal(hp_path_hash(&a), hp_path_hash(&b));
    b.targets = 6;
    assert_false(hp_path_same(&a, &b));
    assert_int_not_equal(hp_path_hash(&a), hp_path_hash(&b));
}

/* --- Limits ----------------------------------------------------------------------------------- */

/* The branch that does not fit any more ends the path without being recorded; the next starts at
 * its target. */
static void a_long_path_is_split(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    /* A 1 | C 0 is not recorded: split with both blocks' instructions; E starts a path in the same
     * frame. */
    struct hp_detector_stats stats =
        expect_paths(&p, "bl,length=1", "ACEfhGDfhH", "A.1/3 f.1/4 f.1/4");
    assert_int_equal(stats.splits, 1);
    assert_int_equal(stats.unfinished, 1);
    assert_int_equal(stats.unfinished_insns, 7); /* E, G, D */
    /* A backward branch that does not fit ends the path once. */
    stats = expect_paths(&p, "bl,length=1", "ACACA", "A.1/3 A.1/3");
    assert_int_equal(stats.splits, 2);
    assert_int_equal(stats.paths, 2);
    /* 64 outcomes are possible. */
    char run[200] = "", path[100] = "A.";
    for (int i = 0; i < 40; i++)
        strcat(run, "AC");
    for (int i = 0; i < 64; i++)
        strcat(path, "1");
    strcat(path, "/98");
    stats = expect_paths(&p, "call=,return=,forward=update,backward=update,indirect=,length=64",
                         run, path);
    assert_int_equal(stats.splits, 1);
    letters_fini(&p);
}

/* A frame that was split is still the frame of its function. */
static void a_split_keeps_the_frame(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    /* Here calls and returns record, too. A 1; C 0 does not fit: E starts. E's call 1. f 0; g's
     * call does not fit: one starts at k, in f's frame; and k's own. k 1 ends it; l 1 returns to h,
     * which returns to G: the path that started at k. */
    struct hp_detector_stats stats =
        expect_paths(&p,
                     "call=update+push,return=update+pop,forward=update,backward=update+pop+push,"
                     "indirect=update+pop+push,length=1",
                     "ACEfgklhGD", "A.1/3 f.0/3 k.1/1 l.1/1 k.1/2");
    assert_int_equal(stats.splits, 2);
    assert_int_equal(stats.repairs, 0);
    assert_int_equal(stats.underflows, 0);
    letters_fini(&p);
}

static void an_overflow_spills(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    struct hp_detector_stats stats =
        expect_paths(&p, "bl,stack=2", "ACEfgklhGD", "k.1/1 l./1 f.0/5");
    assert_int_equal(stats.overflows, 1);
    assert_int_equal(stats.dropped, 0);
    assert_int_equal(stats.underflows, 0);
    letters_fini(&p);
}

static void an_overflow_drops_the_oldest(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    /* The path of A, C and E goes when g calls k; after f returned, there is none, and one starts
     * at G. */
    struct hp_detector_stats stats = expect_paths(&p, "bl,stack=2,overflow=drop-oldest",
                                                  "ACEfgklhGDfhH", "k.1/1 l./1 f.0/5 f.1/4");
    assert_int_equal(stats.overflows, 1);
    assert_int_equal(stats.dropped, 1);
    assert_int_equal(stats.underflows, 1);
    assert_int_equal(stats.unfinished_insns, 10); /* A C E; G D */
    letters_fini(&p);
}

/* Frames deeper than the memory that there is at first. A calls itself; the last time, it goes
 * behind itself: to B, which returns, 199 times. */
static void deep_stacks(void **state)
{
    (void)state;
    static const struct letter recursion[] = {
        {.name = 'A', .start = 0x1000, .insns = 1, .flow = HP_FLOW_CALL, .target = 'A'},
        {.name = 'B', .start = 0x1005, .insns = 1, .flow = HP_FLOW_RETURN},
    };
    struct program_of_letters p;
    char run[501] = "", spilled[2000] = "A.1/2", dropped[2000] = "A.1/2";
    LETTERS(&p, recursion);
    for (int i = 0; i < 500; i++)
        strcat(run, i < 300 ? "A" : "B");
    for (int i = 1; i < 199; i++) {
        strcat(spilled, " A./2");
        strcat(dropped, i < 32 ? " A./2" : " B./1");
    }
    struct hp_detector_stats stats = expect_paths(&p, "bl", run, spilled);
    assert_int_equal(stats.overflows, 300 - 32);
    stats = expect_paths(&p, "bl,overflow=drop-oldest", run, dropped);
    assert_int_equal(stats.overflows, 300 - 32);
    assert_int_equal(stats.dropped, 300 - 32);
    assert_int_equal(stats.underflows, 199 - 31);
    letters_fini(&p);
}

/* --- Metrics ---------------------------------------------------------------------------------- */

static void instructions_saturate(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    struct hp_detector_stats stats =
        expect_paths(&p, "bl,metric=instructions,counter=2", "ACACEfhGDA", "A.11/3*3 f.1/4*3");
    assert_int_equal(stats.saturated, 1);
    expect_paths(&p, "bl,metric=instructions", "ACACEfhGDA", "A.11/3*3 f.1/4*4");
    letters_fini(&p);
}

static void events_go_to_the_path_of_their_block(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    struct hp_ppcr ppcr;
    struct hp_detector_stats stats;
    struct hp_events events[8] = {0};
    for (uint32_t i = 0; i < 8; i++)
        events[i].count[HP_METRIC_L1D_MISSES] = 10 + i;
    assert_int_equal(hp_ppcr_parse("bl,metric=l1d,counter=5", &ppcr), HP_OK);
    /* A C: 10 + 11; f h: 15 + 16. */
    for (int way = 0; way < 2; way++) {
        char *found = detect(&p, &ppcr, "ACACEfhGD", events, way ? BY_BRANCH : BY_BATCH, &stats);
        assert_string_equal(found, "A.11/3*21 f.1/4*31");
        assert_int_equal(stats.saturated, 0);
        free(found);
    }
    ppcr.counter_bits = 4;
    free(detect(&p, &ppcr, "ACACEfhGD", events, BY_BATCH, &stats));
    assert_int_equal(stats.saturated, 2);
    letters_fini(&p);
}

/* --- Frames that are gone --------------------------------------------------------------------- */

/* k returns to where E's call of f would have: f's frame is gone, too. */
static void a_return_past_a_frame(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    struct hp_detector_stats stats = expect_paths(&p, "bl", "ACEfgklGDfh", "k.1/1 l./1");
    assert_int_equal(stats.repairs, 1);
    assert_int_equal(stats.repaired, 1);
    assert_int_equal(stats.underflows, 0);
    letters_fini(&p);
}

/* l returns to f, but not to where it was called from: f's path is not known, a fresh one starts at
 * i, and returns to where f's frame did. */
static void a_return_into_the_middle_of_a_function(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    struct hp_detector_stats stats = expect_frames(&p, "bl", "ACEfgkliGDA", "k.1/1 l./1 i./1");
    assert_int_equal(stats.repairs, 1);
    assert_int_equal(stats.repaired, 1);
    assert_int_equal(stats.unfinished, 2);
    letters_fini(&p);
}

/* l returns to nobody knows where. */
static void a_return_to_nowhere_purges(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    struct hp_detector_stats stats = expect_paths(&p, "bl", "ACEfgkluA", "k.1/1 l./1 u./1");
    assert_int_equal(stats.purges, 1);
    assert_int_equal(stats.repairs, 0);
    assert_int_equal(stats.unfinished, 3);
    assert_int_equal(stats.underflows, 1);
    assert_int_equal(stats.unfinished_insns, 8);
    letters_fini(&p);
}

/* k jumps into the middle of f, or of the function that called f. */
static void longjmp_goes_back_to_a_live_frame(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    struct hp_detector_stats stats = expect_frames(&p, "bl", "ACEfgkhGDA", "k.1/1 h./2");
    assert_int_equal(stats.repairs, 1);
    assert_int_equal(stats.repaired, 1);
    assert_int_equal(stats.underflows, 0);
    stats = expect_frames(&p, "bl", "ACEfgkGDfhH", "k.1/1 f.1/4");
    assert_int_equal(stats.repairs, 1);
    assert_int_equal(stats.repaired, 2);
    /* To the beginning of a function it is a tail call; inside its own function a jump. */
    stats = expect_frames(&p, "bl", "ACEfgkfhhG", "k.1/1 f.1/4 f.0/5");
    assert_int_equal(stats.repairs, 0);
    stats = expect_frames(&p, "bl", "ACEfgklhG", "k.1/1 l./1 f.0/5");
    assert_int_equal(stats.repairs, 0);
    letters_fini(&p);
}

/* The path that longjmp ends is full: the jump is not part of it. */
static void longjmp_splits(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    /* A 0; B's jump does not fit: D starts, and calls m. m 0; n's jump to B does not fit, either.
     */
    struct hp_detector_stats stats = expect_frames(&p, "bl,length=1", "ABDmnBDmn", "A.0/4 m.0/2");
    assert_int_equal(stats.splits, 2);
    assert_int_equal(stats.repairs, 1);
    assert_int_equal(stats.repaired, 1);
    letters_fini(&p);
}

/* --- Signals ---------------------------------------------------------------------------------- */

/* The handler's paths are its own; what it interrupts goes on as if nothing had been. */
static void a_signal_is_apart(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    struct hp_detector_stats stats =
        expect_paths(&p, "bl", "ACA <s t.> ACEf <st.> fhG D A", "A.11/3 s./2 s./2 f.1/4");
    assert_int_equal(stats.underflows, 0);
    assert_int_equal(stats.purges, 0);
    assert_int_equal(stats.unfinished, 4); /* what starts at t, twice; both A */
    letters_fini(&p);
}

/* What was pending before the signal is added after it. */
static void a_signal_keeps_what_is_pending(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    /* G is a system call: it does not end anything. The signal comes before D. */
    struct hp_detector_stats stats =
        expect_frames(&p, "wpp", "EfhGD <st.> DfhH", "E./2 f.1/4 s./2 G./5 f.1/4");
    assert_int_equal(stats.unfinished_insns, 1);
    letters_fini(&p);
}

static void signals_nest(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    struct hp_detector_stats stats =
        expect_paths(&p, "bl", "ACA <s <s t.> st.> ACEf", "A.11/3 s./2 s./2");
    assert_int_equal(stats.underflows, 0);
    assert_int_equal(stats.purges, 0);
    letters_fini(&p);
}

/* A signal return without a signal: nothing is known any more. */
static void a_signal_return_without_a_signal_purges(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    struct hp_detector_stats stats = expect_paths(&p, "bl", "ACEfg > AC A", "A.11/3");
    assert_int_equal(stats.purges, 1);
    assert_int_equal(stats.unfinished, 3);
    letters_fini(&p);
}

/* A handler calls k, which jumps to where the interrupted function set its mark. */
static void a_handler_is_left_by_longjmp(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    struct hp_detector_stats stats =
        expect_frames(&p, "bl", "ACEfg <f g k h G D f h H", "k.1/1 h./2 f.1/4");
    /* k's jump goes to the nearest f: the handler's own. */
    assert_int_equal(stats.repairs, 1);
    assert_int_equal(stats.repaired, 1);
    stats = expect_frames(&p, "bl", "ACEfg <D k H h G D f h H", "k.1/1 H.1/1 h./2 f.1/4");
    assert_int_equal(stats.repairs, 2);
    assert_int_equal(stats.repaired, 2); /* D in the handler, and f outside */
    assert_int_equal(stats.underflows + stats.purges, 0);
    letters_fini(&p);
}

/* A signal return throws away what the handler has begun. */
static void a_signal_return_out_of_calls(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    struct hp_detector_stats stats =
        expect_paths(&p, "bl", "ACA <E f g k > A C A", "A.11/3 A.11/3");
    assert_int_equal(stats.unfinished, 4); /* E, f, k; A */
    assert_int_equal(stats.purges, 0);
    letters_fini(&p);
}

/* The handler's frames push out what it interrupted. */
static void an_overflow_in_a_handler(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    struct hp_detector_stats stats = expect_paths(
        &p, "bl,stack=2,overflow=drop-oldest", "ACEf <E f g k l h > f h G D", "k.1/1 l./1 f.1/4");
    assert_int_equal(stats.dropped, 3);
    assert_int_equal(stats.underflows, 1);
    letters_fini(&p);
}

/* --- Losses ----------------------------------------------------------------------------------- */

static void a_loss_forgets_everything(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    struct hp_detector_stats stats = expect_paths(&p, "bl", "ACEfg. ! hGD ! ! ACA", "h./2 A.11/3");
    assert_int_equal(stats.purges, 2);
    assert_int_equal(stats.underflows, 1);
    assert_int_equal(stats.unfinished, 4);
    /* A C E; f; the tail g; G. */
    assert_int_equal(stats.unfinished_insns, 5 + 2 + 1 + 3);
    letters_fini(&p);
}

static void nothing_is_found_in_nothing(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    struct hp_detector_stats stats = expect_paths(&p, "bl", "A . ! < >", "");
    assert_int_equal(stats.blocks, 1);
    assert_int_equal(stats.purges, 0);
    assert_int_equal(stats.unfinished_insns, 2);
    letters_fini(&p);
}

/* --- Extensions ------------------------------------------------------------------------------- */

/* Growing through a call does the class's own update. */
static void a_call_is_grown_through_by_its_own_update(void **state)
{
    (void)state;
    struct program_of_letters p;
    LETTERS(&p, rules);
    /* E 1 (its call), f 1, h 1 (its return), then D 1 f 1 h 1; ended by H. */
    expect_paths(&p,
                 "call=update+push,return=update+pop,forward=update,backward=update+pop+push,"
                 "indirect=update+pop+push,extend=call:1",
                 "EfhGDfhHA", "E.1111111/16");
    /* Two deep. */
    expect_paths(&p, "extended-call:2", "EfgklhGDfhHA", "E.01/6 l./1 h./2 G.11/10");
    letters_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figure_1_has_its_five_signatures),
        cmocka_unit_test(example_bl),
        cmocka_unit_test(example_wpp),
        cmocka_unit_test(example_extended_loop_1),
        cmocka_unit_test(example_extended_loop_2),
        cmocka_unit_test(example_extended_call_1),
        cmocka_unit_test(example_forward),
        cmocka_unit_test(no_operation_at_all),
        cmocka_unit_test(pop_alone_leaves_instructions_pending),
        cmocka_unit_test(update_appends_and_counts),
        cmocka_unit_test(update_count_only_counts),
        cmocka_unit_test(push_alone_starts_a_path),
        cmocka_unit_test(pop_and_push_restart),
        cmocka_unit_test(every_class_is_told_apart),
        cmocka_unit_test(a_call_of_what_is_behind_it_is_forward),
        cmocka_unit_test(direction_is_dynamic_or_static),
        cmocka_unit_test(what_is_not_taken_is_forward),
        cmocka_unit_test(indirect_targets_are_part_of_forward_paths),
        cmocka_unit_test(paths_with_other_targets_are_others),
        cmocka_unit_test(a_long_path_is_split),
        cmocka_unit_test(a_split_keeps_the_frame),
        cmocka_unit_test(an_overflow_spills),
        cmocka_unit_test(an_overflow_drops_the_oldest),
        cmocka_unit_test(deep_stacks),
        cmocka_unit_test(instructions_saturate),
        cmocka_unit_test(events_go_to_the_path_of_their_block),
        cmocka_unit_test(a_return_past_a_frame),
        cmocka_unit_test(a_return_into_the_middle_of_a_function),
        cmocka_unit_test(a_return_to_nowhere_purges),
        cmocka_unit_test(longjmp_goes_back_to_a_live_frame),
        cmocka_unit_test(longjmp_splits),
        cmocka_unit_test(a_signal_is_apart),
        cmocka_unit_test(a_signal_keeps_what_is_pending),
        cmocka_unit_test(signals_nest),
        cmocka_unit_test(a_signal_return_without_a_signal_purges),
        cmocka_unit_test(a_handler_is_left_by_longjmp),
        cmocka_unit_test(a_signal_return_out_of_calls),
        cmocka_unit_test(an_overflow_in_a_handler),
        cmocka_unit_test(a_loss_forgets_everything),
        cmocka_unit_test(nothing_is_found_in_nothing),
        cmocka_unit_test(a_call_is_grown_through_by_its_own_update),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
