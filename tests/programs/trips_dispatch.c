// SPDX-License-Identifier: MIT
/*
 * An interpreter by computed goto, every operation with a jump of its own (-O2): the loops of the
 * interpreted program are loops among the operations. As trips.c.
 */
#define SINGLE __attribute__((noinline, noclone))

enum { SET, BODY, DECREMENT, AGAIN, OUTER, STOP };

static volatile int sink;

/* The inner loop has n rounds of BODY, DECREMENT, AGAIN; the outer one m. */
SINGLE int interpret(const unsigned char *code, int m, int n)
{
    static void *const operations[] = {&&set, &&body, &&decrement, &&again, &&outer, &&stop};
    const unsigned char *pc = code;
    int i = 0;
#define NEXT goto *operations[*pc++]
    NEXT;
set:
    i = n;
    NEXT;
body:
    sink++;
    NEXT;
decrement:
    i--;
    NEXT;
again:
    if (i > 0)
        pc = code + 1;
    NEXT;
outer:
    if (--m > 0)
        pc = code;
    NEXT;
stop:
    return i;
}

int main(void)
{
    static const unsigned char code[] = {SET, BODY, DECREMENT, AGAIN, OUTER, STOP};
    return interpret(code, 6, 9);
}
