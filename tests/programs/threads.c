// SPDX-License-Identifier: MIT
/* Four threads at the same time, each with its own number of calls. */
#include <pthread.h>

#define THREADS 4

static __thread volatile int sink;

static void work(void)
{
    sink++;
}

static void *start(void *argument)
{
    long n = 1000 * ((long)argument + 1);
    for (long i = 0; i < n; i++) /* @loop */
        work();
    return argument;
}

int main(void)
{
    pthread_t thread[THREADS];
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, start, (void *)i) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
