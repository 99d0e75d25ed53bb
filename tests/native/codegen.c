// SPDX-License-Identifier: MIT
/* Code that is made, changed, moved and taken away while the program runs. */
#define _GNU_SOURCE
#include "parts.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int function(int);

enum { PAGE = 4096 };

static unsigned char *pages(size_t n, int protection)
{
    void *p = mmap(NULL, n * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    return p;
}

/* lea VALUE(%rdi), %eax; ret */
static void write_add(unsigned char *at, int32_t value)
{
    unsigned char code[7] = {0x8d, 0x87, 0, 0, 0, 0, 0xc3};
    memcpy(code + 2, &value, 4);
    memcpy(at, code, sizeof code);
}

static function *as_function(void *at)
{
    function *f;
    memcpy(&f, &at, sizeof f);
    return f;
}

static void writable(void)
{
    unsigned char *page = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    long sum = 0;
    for (int i = 0; i < 2000; i++) {
        write_add(page + (i % 5) * 64, i);
        sum += as_function(page + (i % 5) * 64)(1);
    }
    for (int i = 0; i < 100; i++) { /* data and code in the same page */
        page[2048] = (unsigned char)i;
        sum += as_function(page)(page[2048]);
    }
    printf("sum %ld\n", sum);
}

static void protected_(void)
{
    unsigned char *page = pages(1, PROT_READ | PROT_WRITE);
    long sum = 0;
    for (int i = 0; i < 300; i++) {
        CHECK(mprotect(page, PAGE, PROT_READ | PROT_WRITE) == 0);
        write_add(page, i * 3);
        CHECK(mprotect(page, PAGE, PROT_READ | PROT_EXEC) == 0);
        for (int k = 0; k < 3; k++)
            sum += as_function(page)(k);
    }
    printf("sum %ld\n", sum);
}

/* New code at an old address. */
static void remapped(void)
{
    unsigned char *place = pages(1, PROT_NONE);
    long sum = 0;
    for (int i = 0; i < 300; i++) {
        CHECK(munmap(place, PAGE) == 0);
        CHECK(mmap(place, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == place);
        write_add(place + 100, i);
        sum += as_function(place + 100)(2);
        if (i % 2) { /* over the old mapping */
            CHECK(mmap(place, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == place);
            write_add(place + 100, -i);
            sum += as_function(place + 100)(2);
        }
    }
    printf("sum %ld\n", sum);
}

static void moved(void)
{
    unsigned char *a = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC), *hole = pages(4, PROT_NONE);
    long sum = 0;
    for (int i = 0; i < 100; i++) {
        unsigned char *to = hole + (i % 4) * PAGE;
        write_add(a, i);
        sum += as_function(a)(1);
        void *b = mremap(a, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
        CHECK(b == to);
        sum += as_function(b)(2);
        CHECK(mmap(a, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == a);
        write_add(a, i * 2);
        sum += as_function(a)(3);
    }
    printf("sum %ld\n", sum);
}

/* The same memory twice: written here, run there. */
static void twice_mapped(void)
{
    int fd = memfd_create("code", 0);
    CHECK(fd >= 0 && ftruncate(fd, PAGE) == 0);
    unsigned char *w = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    unsigned char *x = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    CHECK(w != MAP_FAILED && x != MAP_FAILED);
    write_add(w, 1234);
    printf("first %d\n", as_function(x)(1));
    /* Other functions of the page, each written before it is first run. */
    long sum = 0;
    for (int i = 1; i < 60; i++) {
        write_add(w + i * 64, i);
        sum += as_function(x + i * 64)(i);
    }
    printf("sum %ld\n", sum);
}

/* --- Code that changes itself ----------------------------------------------------------------- */

/* patch_next(n): writes n into the instruction right behind the write. patch_loop(n): each time
 * round adds 1 to the constant that the loop itself adds. */
int patch_next(int), patch_loop(int);
extern unsigned char patch_start[], patch_end[];
__asm__("    .text\n"
        "    .p2align 12\n"
        "patch_start:\n"
        "    .globl patch_next\n"
        "    .type patch_next, @function\n"
        "patch_next:\n"
        "    mov %edi, 1f+1(%rip)\n"
        "1:  mov $0x11111111, %eax\n"
        "    ret\n"
        "    .globl patch_loop\n"
        "    .type patch_loop, @function\n"
        "patch_loop:\n"
        "    xor %eax, %eax\n"
        "2:  add $1, %eax\n"
        "    .byte 0x05\n" /* add $imm32, %eax */
        "3:  .long 1\n"
        "    incl 3b(%rip)\n"
        "    dec %edi\n"
        "    jnz 2b\n"
        "    movl $1, 3b(%rip)\n"
        "    ret\n"
        "    .p2align 12\n"
        "patch_end:\n");

static void itself(void)
{
    size_t size = (size_t)(patch_end - patch_start);
    long sum = 0;
    CHECK(mprotect(patch_start, size, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
    for (int i = 0; i < 500; i++)
        sum += patch_next(i);
    printf("next: %ld\n", sum);
    sum = 0;
    for (int i = 1; i < 50; i++)
        sum += patch_loop(i);
    printf("loop: %ld\n", sum);
    CHECK(mprotect(patch_start, size, PROT_READ | PROT_EXEC) == 0);
}

/* A handler that makes the page writable, as garbage collectors and debuggers do. */
static void on_write(int signal_, siginfo_t *info, void *context)
{
    (void)signal_;
    (void)context;
    uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1);
    if (mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        _exit(9);
}

static void by_fault(void)
{
    struct sigaction action = {0};
    unsigned char *page = pages(1, PROT_READ | PROT_WRITE);
    long sum = 0;
    action.sa_sigaction = on_write;
    action.sa_flags = SA_SIGINFO;
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    for (int i = 0; i < 100; i++) {
        write_add(page, i);
        CHECK(mprotect(page, PAGE, PROT_READ | PROT_EXEC) == 0);
        sum += as_function(page)(1);
    }
    printf("sum %ld\n", sum);
}

/* --- Threads ---------------------------------------------------------------------------------- */

static atomic_int stop;
static unsigned char *shared;

static void *runner(void *unused)
{
    (void)unused;
    while (!atomic_load(&stop)) {
        int got = as_function(shared)(0);
        CHECK(got >= 0 && got < 256);
    }
    return NULL;
}

/* One thread patches an aligned byte of an immediate while others run it: old or new, never else.
 */
static void with_threads(void)
{
    pthread_t thread[2];
    shared = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    write_add(shared, 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&thread[i], NULL, runner, NULL) == 0);
    for (int i = 0; i < 300; i++) {
        *(volatile unsigned char *)(shared + 2) = (unsigned char)i;
        CHECK(as_function(shared)(0) == (i & 255));
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    puts("old or new");
}

/* --- Libraries -------------------------------------------------------------------------------- */

/* Two libraries of the same size come and go at the same address. */
static void libraries(void)
{
    char path[4096], *slash;
    long sum = 0;
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
    CHECK(n > 0);
    path[n] = 0;
    slash = strrchr(path, '/');
    for (int i = 0; i < 60; i++) {
        sprintf(slash, "/libpart%c.so", "ab"[i % 2]);
        void *library = dlopen(path, RTLD_NOW);
        CHECK(library);
        function *f = as_function(dlsym(library, "part_value"));
        CHECK(f);
        for (int k = 0; k < 5; k++)
            sum += f(k);
        CHECK(dlclose(library) == 0);
    }
    printf("sum %ld\n", sum);
    CHECK(dlopen("/no/such/library.so", RTLD_NOW) == NULL);
    puts(dlerror());
}

/* Many blocks: a page of jumps each, thousands of them. */
static void many(void)
{
    enum { COUNT = 3000 };
    unsigned char *code = pages(COUNT, PROT_READ | PROT_WRITE | PROT_EXEC);
    long sum = 0;
    for (int i = 0; i < COUNT; i++) {
        unsigned char *at = code + (size_t)i * PAGE + (size_t)(i % 7) * 8;
        memcpy(at, "\x83\xc7\x01\xe9", 4); /* add $1, %edi; jmp next */
        unsigned char *next = code + (size_t)(i + 1) * PAGE + (size_t)((i + 1) % 7) * 8;
        int32_t distance = (int32_t)(next - (at + 8));
        memcpy(at + 4, &distance, 4);
        if (i == COUNT - 1)
            write_add(at, 5);
    }
    for (int round_ = 0; round_ < 5; round_++)
        sum += as_function(code)(round_);
    printf("sum %ld\n", sum);
}

/* A long fill that begins in a page of code: one instruction, which must not be stepped. */
static void filled(void)
{
    enum { PAGES = 24 * 1024 };
    unsigned char *code = pages(PAGES, PROT_READ | PROT_WRITE | PROT_EXEC), *at = code;
    size_t n = (size_t)PAGES * PAGE;
    long sum = 0;
    for (int i = 0; i < 3; i++) {
        write_add(code + 64, i);
        write_add(code + 5 * PAGE, i);
        sum += as_function(code + 64)(1) + as_function(code + 5 * PAGE)(1);
        at = code;
        n = (size_t)PAGES * PAGE;
        __asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(i) : "memory");
        CHECK(n == 0 && at == code + (size_t)PAGES * PAGE && code[64] == i && at[-1] == i);
    }
    printf("sum %ld\n", sum);
}

/* Code that is reached by a jump from another page, seldom but many times: whatever the engine has
 * learned about it until then, it must see that it changes. */
static void seldom(void)
{
    unsigned char *page = pages(2, PROT_READ | PROT_WRITE | PROT_EXEC);
    unsigned char jump[5] = {0xe9};
    int32_t distance = -PAGE - (int32_t)sizeof jump;
    memcpy(jump + 1, &distance, 4);
    memcpy(page + PAGE, jump, sizeof jump); /* to the first page */
    long sum = 0;
    for (int i = 0; i < 4; i++) {
        write_add(page, i);
        for (int k = 0; k < 400; k++) {
            sum += as_function(page + PAGE)(k);
            usleep(50);
        }
    }
    printf("sum %ld\n", sum);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"seldom", seldom},
        {"writable", writable},
        {"protected", protected_},
        {"remapped", remapped},
        {"moved", moved},
        {"twice-mapped", twice_mapped},
        {"itself", itself},
        {"by-fault", by_fault},
        {"threads", with_threads},
        {"libraries", libraries},
        {"many", many},
        {"filled", filled},
        {NULL, NULL},
    };
    return run_part(parts, argc, argv);
}
