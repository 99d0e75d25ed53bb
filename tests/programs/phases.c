// SPDX-License-Identifier: MIT
/*
 * Three kernels, A B C A B C, each long enough for a detector of hot spots to settle. With an
 * argument, in processes: the parent runs A, and a child each B and C; then once more.
 */
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 3000

static volatile uint32_t sink;
static uint8_t data[64];

/* Six branches a round of the inner loop. */
__attribute__((noinline)) static void kernel_a(void)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < ROUNDS; i++)
        for (uint32_t k = 0; k < 64; k++) {
            if (data[k] & 1)
                sum += k;
            if (data[k] & 2)
                sum ^= i;
            sink = sum;
        }
}

static uint32_t step(uint32_t n)
{
    return n & 1 ? 3 * n + 1 : n / 2;
}

/* Calls and returns. */
__attribute__((noinline)) static void kernel_b(void)
{
    for (uint32_t i = 1; i < ROUNDS; i++)
        for (uint32_t n = i; n != 1; n = step(n))
            sink = n;
}

/* A switch: a computed jump. */
__attribute__((noinline)) static void kernel_c(void)
{
    uint32_t value = 1;
    for (uint32_t i = 0; i < 64 * ROUNDS; i++) {
        switch (i % 6) {
        case 0: value += 3; break;
        case 1: value ^= i; break;
        case 2: value *= 5; break;
        case 3: value -= 7; break;
        case 4: value ^= value >> 3; break;
        default: value += value << 2; break;
        }
        sink = value;
    }
}

static void run_child(void (*kernel)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        kernel();
        kernel();
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    (void)argv;
    for (uint32_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7);
    for (int turn = 0; turn < 2; turn++) {
        kernel_a();
        if (argc > 1) {
            run_child(kernel_b);
            run_child(kernel_c);
        } else {
            kernel_b();
            kernel_c();
        }
    }
    return 0;
}
