// SPDX-License-Identifier: MIT
/* The same loop in several threads, 100 times the thread's number of rounds each, in three
 * executions. As trips.c. */
#include <pthread.h>

#define THREADS 4
#define SINGLE  __attribute__((noinline, noclone))

SINGLE void work(long n)
{
    long i = 0;
    do {
        __asm__ volatile("" : : : "memory");
    } while (++i < n);
}

static void *start(void *argument)
{
    long n = (long)argument;
    work(100 * n);
    work(100 * n);
    work(100 * n + 1);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, start, (void *)(i + 1)) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
