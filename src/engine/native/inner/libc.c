// SPDX-License-Identifier: MIT
/*
 * The few libc functions that the compiler, the decoder and the arena's writer need, and memory and
 * text for the engine.
 */
#include "engine/native/inner/inner.h"
#include "engine/native/inner/sys.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* --- Bytes ------------------------------------------------------------------------------------ */

/* Unaligned access to memory of any type. */
struct eight {
    uint64_t value;
} __attribute__((packed, may_alias));
struct four {
    uint32_t value;
} __attribute__((packed, may_alias));

/* Copies up to 16 bytes by loads that may overlap, all before the first store: valid for memmove
 * too. Instructions are copied one by one, and `rep movsb` would spend most of the time starting
 * up. */
static inline void copy_short(uint8_t *to, const uint8_t *from, size_t n)
{
    if (n >= 8) {
        uint64_t first = ((const struct eight *)(const void *)from)->value;
        uint64_t last = ((const struct eight *)(const void *)(from + n - 8))->value;
        ((struct eight *)(void *)to)->value = first;
        ((struct eight *)(void *)(to + n - 8))->value = last;
    } else if (n >= 4) {
        uint32_t first = ((const struct four *)(const void *)from)->value;
        uint32_t last = ((const struct four *)(const void *)(from + n - 4))->value;
        ((struct four *)(void *)to)->value = first;
        ((struct four *)(void *)(to + n - 4))->value = last;
    } else if (n > 0) {
        uint8_t first = from[0], middle = from[n / 2], last = from[n - 1];
        to[0] = first;
        to[n / 2] = middle;
        to[n - 1] = last;
    }
}

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    if (n <= 16) {
        copy_short(to, from, n);
        return to;
    }
    void *at = to;
    __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(n) : : "memory");
    return to;
}

void *memmove(void *to, const void *from, size_t n)
{
    if (n <= 16) {
        copy_short(to, from, n);
    } else if ((uintptr_t)to - (uintptr_t)from >= n) { /* `to` is below, or beyond the end */
        void *at = to;
        __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(n) : : "memory");
    } else {
        for (; n >= 8; n -= 8) { /* `rep movsb` is slow when copying downwards */
            uint64_t value =
                ((const struct eight *)(const void *)((const char *)from + n - 8))->value;
            ((struct eight *)(void *)((char *)to + n - 8))->value = value;
        }
        copy_short(to, from, n);
    }
    return to;
}

void *memset(void *to, int value, size_t n)
{
    void *at = to;
    __asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(value) : "memory");
    return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const uint8_t *x = a, *y = b;
    for (; n >= 8; n -= 8, x += 8, y += 8)
        if (((const struct eight *)(const void *)x)->value !=
            ((const struct eight *)(const void *)y)->value)
            break;
    for (; n > 0; n--, x++, y++)
        if (*x != *y)
            return *x - *y;
    return 0;
}

void *memchr(const void *from, int value, size_t n)
{
    for (const uint8_t *at = from; n > 0; n--, at++)
        if (*at == (uint8_t)value)
            return (void *)(uintptr_t)at;
    return NULL;
}

/* --- Strings ---------------------------------------------------------------------------------- */

size_t strlen(const char *text)
{
    const char *at = text;
    while (*at) {
        at++;
        __asm__ volatile("" : "+r"(at)); /* otherwise the compiler recognizes strlen and calls it */
    }
    return (size_t)(at - text);
}

int strncmp(const char *a, const char *b, size_t n)
{
    for (; n > 0; n--, a++, b++)
        if (*a != *b || !*a)
            return (uint8_t)*a - (uint8_t)*b;
    return 0;
}

int strcmp(const char *a, const char *b)
{
    return strncmp(a, b, SIZE_MAX);
}

char *strchr(const char *text, int value)
{
    for (; *text != (char)value; text++)
        if (!*text)
            return NULL;
    return (char *)(uintptr_t)text;
}

char *strrchr(const char *text, int value)
{
    const char *found = NULL;
    do {
        if (*text == (char)value)
            found = text;
    } while (*text++);
    return (char *)(uintptr_t)found;
}

/* --- System calls, as arena_writer.c makes them ----------------------------------------------- */

static long answer(long result)
{
    return hp_sys_failed(result) ? -1 : result; /* the reason is not needed: there is no errno */
}

long syscall(long number, ...)
{
    long args[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        args[i] = va_arg(list, long);
    va_end(list);
    return answer(hp_sys6(number, args[0], args[1], args[2], args[3], args[4], args[5]));
}

int fstat(int fd, struct stat *st)
{
    return (int)answer(hp_sys2(SYS_fstat, fd, (long)st));
}

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    return (void *)answer(
        hp_sys6(SYS_mmap, (long)address, (long)length, protection, flags, fd, offset));
}

int munmap(void *address, size_t length)
{
    return (int)answer(hp_sys2(SYS_munmap, (long)address, (long)length));
}

pid_t getpid(void)
{
    return (pid_t)hp_sys1(SYS_getpid, 0);
}

pid_t getppid(void)
{
    return (pid_t)hp_sys1(SYS_getppid, 0);
}

/* --- For the engine --------------------------------------------------------------------------- */

/* Away from where the kernel puts the program's mappings: the program may expect an address that it
 * unmapped to be free again. The sanitizers leave this range to programs. */
#define PAGES_AT 0x7ec000000000u

#define UNIT 0x10000u

/* All up to here is the engine's, without holes: the program could be given memory in one. */
static _Atomic uint64_t pages_used;

/* Freed pages: where they begin and how many, in units. */
static _Atomic uint64_t pages_free[16];

void hp_pages_span(uint64_t *low, uint64_t *high)
{
    *low = PAGES_AT;
    *high = PAGES_AT + atomic_load(&pages_used);
}

static long map_pages(uint64_t at, uint64_t size, int flags)
{
    return hp_sys6(SYS_mmap, (long)at, (long)size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

static void *take_free(uint64_t size)
{
    for (unsigned i = 0; i < sizeof pages_free / sizeof *pages_free; i++) {
        uint64_t one = atomic_load(&pages_free[i]);
        if (one && (uint32_t)one == size / UNIT &&
            atomic_compare_exchange_strong(&pages_free[i], &one, 0))
            return (void *)(PAGES_AT + (one >> 32) * UNIT);
    }
    return NULL;
}

/* The program occupies the place, or memory is short: maps anywhere. */
static void *pages_elsewhere(uint64_t size, uint64_t align)
{
    uint64_t more = align > 4096 ? align : 0;
    long memory = map_pages(0, size + more, 0);
    if (hp_sys_failed(memory))
        return NULL;
    uint64_t at = (uint64_t)memory, before = more ? -at & (align - 1) : 0;
    if (before)
        hp_sys2(SYS_munmap, memory, (long)before);
    if (more > before)
        hp_sys2(SYS_munmap, (long)(at + before + size), (long)(more - before));
    return (void *)(at + before);
}

void *hp_pages_aligned(uint64_t size, uint64_t align)
{
    uint64_t used = atomic_load(&pages_used), before, next;
    size = (size + UNIT - 1) & ~(uint64_t)(UNIT - 1);
    do {
        before = -(PAGES_AT + used) & (align - 1);
        next = used + before + size;
    } while (!atomic_compare_exchange_weak(&pages_used, &used, next));
    long memory = map_pages(PAGES_AT + used, before + size, MAP_FIXED_NOREPLACE);
    if (memory == (long)(PAGES_AT + used))
        return (void *)(PAGES_AT + used + before);
    if (!hp_sys_failed(memory)) /* this kernel does not know the flag */
        hp_sys2(SYS_munmap, memory, (long)(before + size));
    atomic_compare_exchange_strong(&pages_used, &next, used);
    return pages_elsewhere(size, align);
}

void *hp_pages(uint64_t size)
{
    void *again = take_free((size + UNIT - 1) & ~(uint64_t)(UNIT - 1));
    return again ? again : hp_pages_aligned(size, UNIT);
}

void hp_pages_give_back(void *pages, uint64_t size)
{
    uint64_t at = (uint64_t)(uintptr_t)pages - PAGES_AT, none = 0;
    size = (size + UNIT - 1) & ~(uint64_t)(UNIT - 1);
    if (at >= atomic_load(&pages_used)) {
        hp_sys2(SYS_munmap, (long)pages, (long)size);
        return;
    }
    map_pages(PAGES_AT + at, size, MAP_FIXED); /* zeroed, and uses no memory */
    for (unsigned i = 0; i < sizeof pages_free / sizeof *pages_free; i++, none = 0)
        if (atomic_compare_exchange_strong(&pages_free[i], &none, at / UNIT << 32 | size / UNIT))
            return;
}

/* In one call, so that lines of several processes do not mix. */
void hp_say(const char *text, const char *detail)
{
    struct iovec parts[] = {
        {(void *)(uintptr_t) "hotpath: ", 9},
        {(void *)(uintptr_t)text, strlen(text)},
        {(void *)(uintptr_t) ": ", detail ? 2 : 0},
        {(void *)(uintptr_t)detail, detail ? strlen(detail) : 0},
        {(void *)(uintptr_t) "\n", 1},
    };
    hp_sys3(SYS_writev, STDERR_FILENO, (long)parts, sizeof parts / sizeof *parts);
}

struct hp_file_id hp_file_id(int fd)
{
    struct stat st;
    if (hp_sys_failed(hp_sys2(SYS_fstat, fd, (long)&st)))
        return (struct hp_file_id){0, 0};
    return (struct hp_file_id){st.st_dev, st.st_ino};
}

char *hp_put_number(char *to, int number)
{
    char digits[12];
    int n = 0;
    uint32_t rest = number < 0 ? 0u - (uint32_t)number : (uint32_t)number;
    if (number < 0)
        *to++ = '-';
    do {
        digits[n++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    while (n > 0)
        *to++ = digits[--n];
    *to = 0;
    return to;
}
