// SPDX-License-Identifier: MIT
/* Four threads, each with its own number of calls; with an argument one after the other. */
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

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    (void)argv;
    for (long i = 0; i < THREADS; i++) {
        if (pthread_create(&thread[i], NULL, start, (void *)i) != 0)
            return 1;
        if (argc > 1)
            pthread_join(thread[i], NULL);
    }
    for (int i = 0; argc == 1 && i < THREADS; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
