// SPDX-License-Identifier: MIT
/* An interpreter dispatching by computed goto: LOOPS rounds of DOWN, ADD, BRANCH. */
enum { PUSH, DOWN, ADD, BRANCH, HALT };

#define LOOPS 250

static const int code[] = {PUSH, LOOPS, DOWN, ADD, 3, BRANCH, 2, HALT};
static volatile int sink;

static void on_add(int value)
{
    sink += value;
}

static int interpret(const int *pc)
{
    static const void *const labels[] = {&&push, &&down, &&add, &&branch, &&halt};
    int counter = 0;
    goto *labels[*pc++];
push:
    counter = *pc++; /* @push */
    goto *labels[*pc++];
down:
    counter--; /* @down */
    goto *labels[*pc++];
add:
    on_add(*pc++); /* @add */
    goto *labels[*pc++];
branch:
    pc = counter ? code + *pc : pc + 1; /* @branch */
    goto *labels[*pc++];
halt:
    return counter; /* @halt */
}

int main(void)
{
    return interpret(code);
}
