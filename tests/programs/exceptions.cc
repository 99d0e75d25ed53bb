// SPDX-License-Identifier: MIT
/* Exceptions thrown from a known depth, past destructors, caught, rethrown. */
static volatile int sink;

struct guard {
    ~guard();
};

guard::~guard()
{
    sink = sink + 1;
}

static void caught_int()
{
    sink = sink + 1;
}

static void caught_double()
{
    sink = sink + 1;
}

static void passed_on()
{
    sink = sink + 1;
}

static void dive(int depth, int kind)
{
    guard g;
    if (depth == 0) {
        if (kind == 0)
            throw 1;
        if (kind == 1)
            throw 2.0;
        return;
    }
    dive(depth - 1, kind);
}

static void middle(int depth, int kind)
{
    try {
        dive(depth, kind);
    } catch (double) {
        passed_on();
        throw;
    }
}

int main()
{
    for (int i = 0; i < 30; i++) {
        try {
            middle(i % 5, i % 3);
        } catch (int) {
            caught_int();
        } catch (double) {
            caught_double();
        }
    }
    return 0;
}
