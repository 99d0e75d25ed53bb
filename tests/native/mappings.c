// SPDX-License-Identifier: MIT
/* Code in memory of every kind: thrown away, shared, mapped twice, mapped by many threads, where
 * nothing can be asked. */
#define _GNU_SOURCE
#include "parts.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int function(int);

enum { PAGE = 4096 };
#define RWX (PROT_READ | PROT_WRITE | PROT_EXEC)

static unsigned char *pages(size_t n, int protection)
{
    void *p = mmap(NULL, n * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    return p;
}

/* lea VALUE(%rdi), %eax; ret */
static void make_add(unsigned char code[7], int32_t value)
{
    memcpy(code, "\x8d\x87\0\0\0\0\xc3", 7);
    memcpy(code + 2, &value, 4);
}

static void write_add(unsigned char *at, int32_t value)
{
    unsigned char code[7];
    make_add(code, value);
    memcpy(at, code, sizeof code);
}

static int call(void *at, int argument)
{
    function *f;
    memcpy(&f, &at, sizeof f);
    return f(argument);
}

static int memory_file(size_t n)
{
    int fd = memfd_create("code", 0);
    CHECK(fd >= 0 && ftruncate(fd, (off_t)(n * PAGE)) == 0);
    return fd;
}

static unsigned char *map_file(int fd, size_t n, int protection, size_t from)
{
    void *p = mmap(NULL, n * PAGE, protection, MAP_SHARED, fd, (off_t)(from * PAGE));
    CHECK(p != MAP_FAILED);
    return p;
}

/* --- Kinds of memory -------------------------------------------------------------------------- */

/* Thrown away: there is something else at the same address, without any mapping call. */
static void discarded(void)
{
    int fd = memory_file(1);
    unsigned char code[7];
    make_add(code, 1000);
    CHECK(pwrite(fd, code, sizeof code, 0) == sizeof code);
    unsigned char *page = mmap(NULL, PAGE, RWX, MAP_PRIVATE, fd, 0);
    CHECK(page != MAP_FAILED);
    long sum = 0;
    for (int i = 0; i < 100; i++) {
        sum += call(page, i); /* the file's */
        write_add(page, i);
        sum += call(page, i); /* ours */
        CHECK(madvise(page, PAGE, MADV_DONTNEED) == 0);
    }
    printf("sum %ld\n", sum);
}

/* On the heap, which shrinks and grows. */
static void heap(void)
{
    long sum = 0;
    uintptr_t end = ((uintptr_t)sbrk(0) + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    for (int i = 0; i < 50; i++) {
        CHECK(brk((void *)(end + 2 * PAGE)) == 0);
        CHECK(mprotect((void *)end, PAGE, RWX) == 0);
        CHECK(*(unsigned char *)end == 0);
        write_add((unsigned char *)end, i);
        sum += call((void *)end, 1);
        CHECK(brk((void *)end) == 0);
    }
    printf("sum %ld\n", sum);
}

/* System V shared memory: attached twice, and over itself. */
static void attached(void)
{
    int id = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0700), other = shmget(IPC_PRIVATE, PAGE, 0700);
    if (id < 0 || other < 0) {
        puts("sum 0");
        return;
    }
    unsigned char *x = shmat(id, NULL, SHM_EXEC);
    long sum = 0;
    CHECK(x != (void *)-1);
    for (int i = 0; i < 30; i++) {
        write_add(x, i);
        sum += call(x, 0);
        unsigned char *w = shmat(id, NULL, 0);
        CHECK(w != (void *)-1);
        write_add(w, i * 3);
        sum += call(x, 0);
        CHECK(shmdt(w) == 0);
        CHECK(shmat(other, x, SHM_EXEC | SHM_REMAP) == x);
        write_add(x, -1);
        sum += call(x, 0);
        CHECK(shmat(id, x, SHM_EXEC | SHM_REMAP) == x);
        sum += call(x, 0);
        CHECK(shmdt(x) == 0);
        CHECK(shmat(id, x, SHM_EXEC) == x);
    }
    CHECK(shmctl(id, IPC_RMID, NULL) == 0 && shmctl(other, IPC_RMID, NULL) == 0);
    printf("sum %ld expected %d\n", sum, 29 * 30 / 2 * 7 - 30);
}

/* What was unmapped is free, and nobody else's. */
static int nothing(void *unused)
{
    (void)unused;
    return 0;
}

static void comes_back(void)
{
    size_t size = (size_t)300 << 20, n = 200;
    unsigned char *stack = pages(64, PROT_READ | PROT_WRITE), *code = pages(n * 16, RWX);
    unsigned char *big = pages(size / PAGE, PROT_NONE);
    CHECK(munmap(big, size) == 0);
    long sum = 0;
    for (size_t i = 0; i < n * 16; i++) { /* new code, new threads: the engine needs memory */
        write_add(code + i * PAGE, (int)i);
        sum += call(code + i * PAGE, 0);
    }
    for (int i = 0; i < 8; i++) {
        int id = clone(nothing, stack + 64 * PAGE, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL), status;
        CHECK(id > 0 && waitpid(id, &status, 0) == id);
    }
    void *again = mmap(big, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(again == big);
    printf("sum %ld\n", sum);
}

/* Code that can be written is there already when no more of that can be made. */
static void barred(void)
{
    unsigned char *page = pages(1, RWX);
    long sum = 0;
    write_add(page, 5);
    sum += call(page, 1);
    if (prctl(65 /* PR_SET_MDWE */, 1, 0, 0, 0) == 0)
        CHECK(mprotect(pages(1, PROT_READ), PAGE, PROT_READ | PROT_EXEC) != 0);
    for (int i = 0; i < 10; i++) {
        write_add(page, i);
        sum += call(page, 1);
    }
    printf("sum %ld\n", sum);
}

/* What is not the program's cannot be taken away by it. Alone there is nothing of the kind. */
static void not_ours(void)
{
    static char text[65536];
    int fd = open("/proc/self/maps", O_RDONLY), status;
    size_t length = 0;
    for (ssize_t n; fd >= 0 && (n = read(fd, text + length, sizeof text - 1 - length)) > 0;)
        length += (size_t)n;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        unsigned long low, high;
        if ((strstr(line, "hotpath-engine") || strstr(line, "memfd:hotpath") ||
             strstr(line, " rwxp ")) &&
            sscanf(line, "%lx-%lx", &low, &high) == 2)
            CHECK(munmap((void *)low, high - low) == 0);
    }
    CHECK(munmap((void *)0x7ec000000000, (size_t)1 << 36) == 0);
    int child = fork();
    if (child == 0)
        _exit(system("exit 3") == 3 << 8 ? 5 : 6);
    CHECK(waitpid(child, &status, 0) == child && status == 5 << 8);
    puts("still here");
}

/* --- Many threads ----------------------------------------------------------------------------- */

static void *mapper(void *argument)
{
    intptr_t sum = 0, start = (intptr_t)argument;
    for (int i = 0; i < 150; i++) {
        size_t n = (size_t)(1 + i % 3);
        unsigned char *p = pages(n, i % 2 ? RWX : PROT_READ | PROT_WRITE);
        int value = (int)(start * 1000 + i);
        write_add(p, value);
        if (i % 2 == 0)
            CHECK(mprotect(p, n * PAGE, PROT_READ | PROT_EXEC) == 0);
        CHECK(call(p, 1) == value + 1);
        if (i % 4 == 1) {
            unsigned char *to = mremap(p, n * PAGE, (n + 1) * PAGE, MREMAP_MAYMOVE);
            CHECK(to != MAP_FAILED && call(to, 2) == value + 2);
            write_add(to, value + 5);
            CHECK(call(to, 2) == value + 7);
            p = to;
            n++;
        }
        sum += call(p, 0);
        CHECK(munmap(p, n * PAGE) == 0);
    }
    return (void *)sum;
}

static void by_many(void)
{
    pthread_t threads[6];
    intptr_t sum = 0;
    for (intptr_t i = 0; i < 6; i++)
        CHECK(pthread_create(&threads[i], NULL, mapper, (void *)i) == 0);
    for (int i = 0; i < 6; i++) {
        void *result;
        CHECK(pthread_join(threads[i], &result) == 0);
        sum += (intptr_t)result;
    }
    printf("sum %ld\n", (long)sum);
}

/* --- Without /proc ---------------------------------------------------------------------------- */

static void in_empty_root(void)
{
    char empty[] = "/tmp/hotpath-empty-XXXXXX";
    CHECK(mkdtemp(empty));
    int child = fork(), status;
    if (child == 0) {
        if (chroot(empty) != 0 && (unshare(CLONE_NEWUSER) != 0 || chroot(empty) != 0))
            _exit(0); /* not allowed here */
        if (access("/proc", F_OK) == 0)
            _exit(2);
        int sum = 0;
        for (int i = 0; i < 50; i++) {
            unsigned char *p = pages(1, i % 2 ? RWX : PROT_READ | PROT_WRITE);
            write_add(p, i);
            if (i % 2 == 0 && mprotect(p, PAGE, PROT_READ | PROT_EXEC) != 0)
                _exit(3);
            for (int k = 0; k < 200; k++)
                sum += call(p, k) != k + i;
            munmap(p, PAGE);
        }
        _exit(sum ? 4 : 0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(rmdir(empty) == 0);
    puts("ran");
}

/* --- The same memory twice: written here, run there ------------------------------------------- */

/* Both are there before anything is run. */
static void alias_before(void)
{
    int fd = memory_file(3);
    unsigned char *w = map_file(fd, 3, PROT_READ | PROT_WRITE, 0);
    unsigned char *x = map_file(fd, 2, PROT_READ | PROT_EXEC, 1);
    long sum = 0;
    for (int i = 0; i < 500; i++) {
        unsigned at = (unsigned)(i % 3) * 3000;
        write_add(w + PAGE + at, i);
        sum += call(x + at, 1);
    }
    printf("sum %ld\n", sum);
}

/* The one to write comes, in different ways, when the code was run already, and goes again. */
static void alias_after(void)
{
    int fd = memory_file(4);
    unsigned char *x = map_file(fd, 4, PROT_READ | PROT_EXEC, 0), *place = pages(8, PROT_NONE);
    unsigned char *seen = map_file(fd, 4, PROT_READ, 0);
    unsigned char first[7];
    make_add(first, 7);
    CHECK(pwrite(fd, first, sizeof first, PAGE) == sizeof first);
    long sum = call(x + PAGE, 0);
    for (int i = 0; i < 100; i++) {
        unsigned char *w = map_file(fd, 1, PROT_READ | PROT_WRITE, 1);
        write_add(w, i);
        sum += call(x + PAGE, 1);
        CHECK(munmap(w, PAGE) == 0);
        CHECK(mprotect(seen, 4 * PAGE, PROT_READ | PROT_WRITE) == 0);
        write_add(seen + PAGE, -i);
        sum += call(x + PAGE, 2);
        CHECK(mprotect(seen, 4 * PAGE, PROT_READ) == 0);
        sum += call(x + PAGE, 2);
        w = mmap(place, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, PAGE);
        CHECK(w == place);
        w = mremap(w, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place + 4 * PAGE);
        CHECK(w == place + 4 * PAGE);
        write_add(w, i * 2);
        sum += call(x + PAGE, 3);
        unsigned char *once_more = mremap(w, 0, PAGE, MREMAP_MAYMOVE);
        CHECK(once_more != MAP_FAILED);
        write_add(once_more, i * 3);
        sum += call(x + PAGE, 4);
        CHECK(munmap(once_more, PAGE) == 0);
    }
    printf("sum %ld\n", sum);
}

/* Through the file itself. */
static void by_descriptor(void)
{
    int fd = memory_file(2), from = memory_file(1);
    unsigned char *x = map_file(fd, 2, PROT_READ | PROT_EXEC, 0), code[7];
    long sum = 0;
    for (int i = 0; i < 200; i++) {
        make_add(code, i);
        CHECK(pwrite(fd, code, sizeof code, 100) == sizeof code);
        sum += call(x + 100, 1);
        make_add(code, -i);
        CHECK(lseek(fd, 100, SEEK_SET) == 100 && write(fd, code, sizeof code) == sizeof code);
        sum += call(x + 100, 2);
        make_add(code, i * 2);
        CHECK(pwrite(from, code, sizeof code, 0) == sizeof code && lseek(from, 0, SEEK_SET) == 0);
        CHECK(lseek(fd, 100, SEEK_SET) == 100 && sendfile(fd, from, NULL, 7) == 7);
        sum += call(x + 100, 3);
        make_add(code, i * 3);
        struct iovec parts[2] = {{code, 3}, {code + 3, 4}};
        CHECK(pwritev(fd, parts, 2, 100) == 7);
        sum += call(x + 100, 4);
    }
    printf("sum %ld\n", sum);
}

static unsigned char *alias_written, *alias_run;
static atomic_int stop, turn;

static void *alias_runner(void *unused)
{
    (void)unused;
    while (!atomic_load(&stop)) {
        int got = call(alias_run, 0);
        CHECK(got >= 0 && got < 256);
    }
    return NULL;
}

/* Another thread waits for each change, and runs it. */
static void *alias_follower(void *unused)
{
    long sum = 0;
    (void)unused;
    for (int i = 1; i < 400; i++) {
        while (atomic_load(&turn) != i * 2)
            sched_yield();
        sum += call(alias_run + 2048, i);
        atomic_store(&turn, i * 2 + 1);
    }
    return (void *)sum;
}

static void alias_threads(void)
{
    pthread_t threads[3];
    int fd = memory_file(1);
    alias_written = map_file(fd, 1, PROT_READ | PROT_WRITE, 0);
    alias_run = map_file(fd, 1, PROT_READ | PROT_EXEC, 0);
    write_add(alias_written, 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, alias_runner, NULL) == 0);
    for (int i = 0; i < 300; i++) {
        *(volatile unsigned char *)(alias_written + 2) = (unsigned char)i;
        CHECK(call(alias_run, 0) == (i & 255));
    }
    atomic_store(&stop, 1);
    CHECK(pthread_create(&threads[2], NULL, alias_follower, NULL) == 0);
    for (int i = 1; i < 400; i++) {
        write_add(alias_written + 2048, i * 5);
        atomic_store(&turn, i * 2);
        while (atomic_load(&turn) != i * 2 + 1)
            sched_yield();
    }
    void *sum;
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(threads[i], &sum) == 0);
    printf("sum %ld\n", (long)sum);
}

/* A child has the same memory, and its own way of looking at it. */
static void alias_fork(void)
{
    int fd = memory_file(1), status;
    unsigned char *w = map_file(fd, 1, PROT_READ | PROT_WRITE, 0);
    unsigned char *x = map_file(fd, 1, PROT_READ | PROT_EXEC, 0);
    long sum = 0;
    for (int i = 0; i < 20; i++) {
        write_add(w, i);
        sum += call(x, 1);
        int child = fork();
        if (child == 0) {
            int wrong = call(x, 1) != i + 1;
            write_add(w + 64, i * 2);
            wrong |= call(x + 64, 1) != i * 2 + 1;
            write_add(w + 64, i * 3);
            wrong |= call(x + 64, 1) != i * 3 + 1;
            _exit(wrong);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        write_add(w, -i);
        sum += call(x, 1);
    }
    printf("sum %ld\n", sum);
}

/* --- Very many pages -------------------------------------------------------------------------- */

/* More pages of code that can be written, each apart from the next, than a process may have
 * mappings. */
static void very_many(void)
{
    enum { COUNT = 36000 };
    unsigned char *code = pages(2 * COUNT, RWX);
    long sum = 0;
    for (int round_ = 0; round_ < 2; round_++)
        for (int i = 0; i < COUNT; i += round_ ? 7 : 1) {
            unsigned char *at = code + (size_t)i * 2 * PAGE + (size_t)(i % 500) * 8;
            write_add(at, i + round_);
            sum += call(at, 1);
        }
    unsigned char *more = pages(3, PROT_READ | PROT_WRITE); /* there is room for the program's */
    CHECK(mprotect(more + PAGE, PAGE, PROT_READ) == 0);
    printf("sum %ld\n", sum);
}

/* --- A thread that cannot move ---------------------------------------------------------------- */

static atomic_int running, may_end;

/* A child in our memory. It is stopped while we run a lot of new code, and goes on after that. */
static int spinner(void *unused)
{
    unsigned sum = 0;
    (void)unused;
    atomic_fetch_add(&running, 1);
    while (!atomic_load(&may_end))
        for (unsigned i = 0; i < 1000; i++)
            sum = sum * 31 + i;
    return sum == 77;
}

static void stopped(void)
{
    enum { CHILDREN = 3, COUNT = 12000 };
    unsigned char *stacks = pages(CHILDREN * 16, PROT_READ | PROT_WRITE);
    unsigned char *code = pages(COUNT / 8, RWX);
    int children[CHILDREN], status;
    long sum = 0;
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = clone(spinner, stacks + (i + 1) * 16 * PAGE, CLONE_VM | SIGCHLD, NULL);
        CHECK(children[i] > 0);
    }
    while (atomic_load(&running) < CHILDREN)
        sched_yield();
    for (int i = 0; i < CHILDREN; i++) {
        CHECK(kill(children[i], SIGSTOP) == 0);
        CHECK(waitpid(children[i], &status, WUNTRACED) == children[i] && WIFSTOPPED(status));
    }
    for (int i = 0; i < COUNT; i++)
        write_add(code + i * 512, i);
    for (int i = 0; i < COUNT; i++)
        sum += call(code + i * 512, 1);
    for (int i = 0; i < CHILDREN; i++)
        CHECK(kill(children[i], SIGCONT) == 0);
    for (int i = COUNT; i-- > 0;)
        sum -= call(code + i * 512, 2);
    atomic_store(&may_end, 1);
    for (int i = 0; i < CHILDREN; i++)
        CHECK(waitpid(children[i], &status, 0) == children[i] && status == 0);
    printf("sum %ld\n", sum);
}

/* A child in our memory runs new code when we are gone. */
static int heir(void *code)
{
    int parent = getppid();
    atomic_store(&running, 1);
    while (getppid() == parent)
        sched_yield();
    for (int i = 0; i < 100; i++) {
        write_add((unsigned char *)code + i * 64, i);
        if (call((unsigned char *)code + i * 64, 1) != i + 1)
            return 1;
    }
    static const char done[] = "done\n";
    return write(1, done, sizeof done - 1) != sizeof done - 1;
}

static void outlives(void)
{
    unsigned char *stack = pages(16, PROT_READ | PROT_WRITE), *code = pages(4, RWX);
    CHECK(clone(heir, stack + 16 * PAGE, CLONE_VM | SIGCHLD, code) > 0);
    while (!atomic_load(&running))
        sched_yield();
}

/* Many mappings that come and go in no order: each has the code that was put there last. */
static void scattered(void)
{
    enum { COUNT = 400 };
    static int there[COUNT];
    unsigned char *place = pages(COUNT, PROT_NONE);
    int file = memfd_create("code", 0);
    long sum = 0;
    CHECK(file >= 0 && ftruncate(file, COUNT * PAGE) == 0);
    for (unsigned i = 0, at = 0; i < 3 * COUNT; i++, at = (at + 237) % COUNT) {
        unsigned char *page = place + (size_t)at * PAGE, code[7];
        if (there[at] && i % 5 == 0) {
            CHECK(munmap(page, PAGE) == 0);
            there[at] = 0;
            continue;
        }
        there[at] = 1 + (int)(i % 1000);
        make_add(code, there[at]);
        CHECK(pwrite(file, code, sizeof code, (off_t)at * PAGE) == sizeof code);
        CHECK(mmap(page, PAGE, PROT_READ | PROT_EXEC,
                   (i % 3 ? MAP_SHARED : MAP_PRIVATE) | MAP_FIXED, file, (off_t)at * PAGE) == page);
        CHECK(call(page, 1) == there[at] + 1);
    }
    for (int at = 0; at < COUNT; at++)
        if (there[at])
            sum += call(place + (size_t)at * PAGE, at) - there[at] - at + 1;
    printf("%ld pages\n", sum);
}

/* All addresses that are free: what the program is given, it can give back. */
static void filled(void)
{
    static struct {
        void *at;
        size_t size;
    } given[4000];
    size_t n = 0;
    for (size_t size = (size_t)1 << 46; size >= PAGE; size /= 2)
        for (; n < 4000; n++) {
            given[n].at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            given[n].size = size;
            if (given[n].at == MAP_FAILED)
                break;
        }
    CHECK(n > 10 && n < 4000);
    while (n-- > 0) {
        unsigned char in_memory;
        CHECK(mprotect(given[n].at, PAGE, PROT_READ) == 0);
        CHECK(munmap(given[n].at, given[n].size) == 0);
        CHECK(mincore(given[n].at, PAGE, &in_memory) == -1);
    }
    puts("filled and empty again");
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"discarded", discarded},
        {"heap", heap},
        {"attached", attached},
        {"comes-back", comes_back},
        {"barred", barred},
        {"not-ours", not_ours},
        {"by-many", by_many},
        {"empty-root", in_empty_root},
        {"alias-before", alias_before},
        {"alias-after", alias_after},
        {"by-descriptor", by_descriptor},
        {"alias-threads", alias_threads},
        {"alias-fork", alias_fork},
        {"very-many", very_many},
        {"stopped", stopped},
        {"outlives", outlives},
        {"scattered", scattered},
        {"filled", filled},
        {NULL, NULL},
    };
    return run_part(parts, argc, argv);
}
