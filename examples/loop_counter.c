// SPDX-License-Identifier: MIT
/*
 * A simulator that embeds a loop profiler: a toy machine runs a program with a loop that calls a
 * function with a loop, and passes every retired branch to a model of hotpath/loop.h. Argument: a
 * model, as in `hotpath run --loop-model` (default: "daprof").
 *
 * The program: 40 pages of 25 rows, and for each row a call of a function that adds up 8 numbers.
 */
#include <hotpath/loop.h>

#include <stdio.h>
#include <stdlib.h>

enum op { SET, ADD, LOOP, CALL, RETURN, HALT };

struct instruction {
    enum op op;
    int reg,
        value; /* LOOP: decrement the register, and go to the instruction `value` unless it is 0 */
};

/* Instructions have 4 bytes and begin at 0x1000. */
#define ADDRESS(i) (0x1000 + 4 * (uint64_t)(i))

static const struct instruction program[] = {
    {SET, 0, 40},                               /*  0 */
    {SET, 1, 25},                               /*  1 pages */
    {CALL, 0, 7},                               /*  2 rows */
    {ADD, 4, 1},    {LOOP, 1, 2},               /*  3 */
    {LOOP, 0, 1},   {HALT, 0, 0},               /*  5 */
    {SET, 2, 8},                                /*  7 the function */
    {ADD, 3, 1},    {ADD, 3, 1},  {LOOP, 2, 8}, /*  8 */
    {RETURN, 0, 0},                             /* 11 */
};

/* The machine retired the branch at `from`, `insns` instructions after the previous one. */
static void retire(struct hp_loop_model *model, int from, int to, uint32_t insns, enum hp_flow flow)
{
    struct hp_branch branch = {.address = ADDRESS(from),
                               .target = ADDRESS(to),
                               .end = ADDRESS(from + 1),
                               .insns = insns,
                               .flow = (uint8_t)flow,
                               .taken = to != from + 1};
    hp_loop_model_branch(model, 0, &branch);
}

static void run(struct hp_loop_model *model)
{
    int registers[5] = {0}, return_to = 0, at = 0, next;
    for (uint32_t insns = 1; program[at].op != HALT; at = next, insns++) {
        const struct instruction *in = &program[at];
        enum hp_flow flow = HP_FLOW_NONE;
        next = at + 1;
        switch (in->op) {
        case SET: registers[in->reg] = in->value; break;
        case ADD: registers[in->reg] += in->value; break;
        case LOOP:
            flow = HP_FLOW_COND;
            next = --registers[in->reg] ? in->value : at + 1;
            break;
        case CALL:
            flow = HP_FLOW_CALL;
            return_to = at + 1;
            next = in->value;
            break;
        case RETURN:
            flow = HP_FLOW_RETURN;
            next = return_to;
            break;
        case HALT: break;
        }
        if (flow == HP_FLOW_NONE)
            continue;
        retire(model, at, next, insns, flow);
        insns = 0;
    }
}

static int print(const struct hp_loop_model *model)
{
    struct hp_loop_entry *entries;
    size_t n;
    if (hp_loop_model_entries(model, &entries, &n) != HP_OK)
        return 1;
    printf("  branch  target  executions  average\n");
    for (size_t i = 0; i < n; i++)
        printf("  0x%llx  0x%llx  %10.0f  %7.3f\n", (unsigned long long)entries[i].address,
               (unsigned long long)entries[i].target, entries[i].executions, entries[i].average);
    free(entries);
    return 0;
}

int main(int argc, char **argv)
{
    struct hp_loop_config config;
    struct hp_loop_model *model;
    if (hp_loop_config_parse(argc > 1 ? argv[1] : "daprof", &config) != HP_OK ||
        hp_loop_model_new(&config, &model) != HP_OK) {
        fprintf(stderr, "loop_counter: %s\n", hp_error_text());
        return 1;
    }
    run(model);
    printf("%llu bits of hardware, %llu short backward branches\n",
           (unsigned long long)hp_loop_config_bits(&config),
           (unsigned long long)hp_loop_model_stats(model)->branches);
    int status = print(model);
    hp_loop_model_free(model);
    return status;
}
