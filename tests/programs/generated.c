// SPDX-License-Identifier: MIT
/* Generates code, runs it 10 times, patches it, runs it 5 times, 3 times round. x86-64. */
#include <string.h>
#include <sys/mman.h>

static volatile int sink;

static void run(int (*function)(void), int times, int expected)
{
    for (int i = 0; i < times; i++)
        sink += function() == expected; /* @call */
}

int main(void)
{
    static const unsigned char code[] = {0xb8, 1, 0, 0, 0, 0xc3}; /* mov $1, %eax; ret */
    unsigned char *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int (*function)(void);
    memcpy(page, code, sizeof code);
    memcpy(&function, &page, sizeof function);
    for (int round_ = 0; round_ < 3; round_++) {
        page[1] = 1;
        run(function, 10, 1);
        page[1] = 2;
        run(function, 5, 2);
    }
    return sink == 45 ? 0 : 1;
}
