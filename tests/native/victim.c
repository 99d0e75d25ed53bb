// SPDX-License-Identifier: MIT
/*
 * Programs to be killed, or to outlive a hotpath that is killed: each takes some ten milliseconds
 * and prints one line that says that it did everything.
 *
 *     victim busy | threads | forks | execs N
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define DEPTH   3 /* of the tree of forks: 2^DEPTH leaves */

static uint64_t work(uint64_t rounds)
{
    volatile uint64_t x = 1;
    for (uint64_t i = 0; i < rounds; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

static void *work_in_thread(void *rounds)
{
    uint64_t *n = rounds;
    *n = work(*n);
    return NULL;
}

static uint64_t in_threads(uint64_t rounds)
{
    pthread_t threads[THREADS];
    uint64_t results[THREADS], sum = 0;
    for (int i = 0; i < THREADS; i++) {
        results[i] = rounds + (uint64_t)i;
        if (pthread_create(&threads[i], NULL, work_in_thread, &results[i]) != 0)
            exit(2);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += results[i];
    }
    return sum;
}

/* Each process adds what its children, which may have been killed, tell by their status. */
static int in_forks(uint64_t rounds, int depth)
{
    int leaves = 0;
    work(rounds);
    if (depth == 0)
        return 1;
    for (int i = 0; i < 2; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0)
            _exit(in_forks(rounds, depth - 1));
        if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status))
            leaves += WEXITSTATUS(status);
    }
    return leaves;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "busy";
    uint64_t rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : 200000;
    if (strcmp(what, "threads") == 0) {
        printf("threads %016llx\n", (unsigned long long)in_threads(rounds));
    } else if (strcmp(what, "forks") == 0) {
        printf("forks %d\n", in_forks(rounds, DEPTH));
    } else if (strcmp(what, "execs") == 0 && argc > 3 && atoi(argv[3]) > 0) {
        char left[16];
        snprintf(left, sizeof left, "%d", atoi(argv[3]) - 1);
        work(rounds);
        execl(argv[0], argv[0], "execs", argv[2], left, (char *)NULL);
        return 2;
    } else {
        printf("%s %016llx\n", what, (unsigned long long)work(rounds));
    }
    return 0;
}
