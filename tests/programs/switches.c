// SPDX-License-Identifier: MIT
/* A dense switch (a jump table) and a sparse one (compares), each taken a known number of times. */
static volatile int sink;

static void even_case(void)
{
    sink++;
}

static void odd_case(void)
{
    sink--;
}

static int dense(int op)
{
    switch (op) { /* @dense */
    case 0: return 3;
    case 1: even_case(); break;
    case 2: odd_case(); break;
    case 3:
        sink += 3; /* @three */
        /* fall through */
    case 4:
        sink += 4; /* @four */
        break;
    case 5:
        sink += 5; /* @five */
        break;
    case 6: return 1;
    case 7:
        sink ^= 7; /* @seven */
        break;
    default: sink = 0; /* @default */
    }
    return 0;
}

static int sparse(int op)
{
    switch (op) {
    case 1: return 10;       /* @one */
    case 1000: return 20;    /* @thousand */
    case 1000000: return 30; /* @million */
    }
    return 0; /* @none */
}

int main(void)
{
    for (int i = 0; i < 1000; i++)
        dense(i * i % 11);
    for (int i = 0; i < 300; i++)
        sparse(i % 3 == 0 ? 1 : i % 5 == 0 ? 1000 : i % 7 == 0 ? 1000000 : i);
    return 0;
}
