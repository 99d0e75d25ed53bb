// SPDX-License-Identifier: MIT
/* What a program finds around itself, and what it may do to its process. */
#define _GNU_SOURCE
#include "parts.h"

#include <asm/prctl.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;
extern const char __ehdr_start[];
extern void _start(void);

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* --- Names ------------------------------------------------------------------------------------ */

static void names(void)
{
    char text[PATH_MAX], by_number[64];
    ssize_t n = readlink("/proc/self/exe", text, sizeof text - 1);
    CHECK(n > 0);
    text[n] = 0;
    printf("exe %s\n", base_name(text));
    snprintf(by_number, sizeof by_number, "/proc/%d/exe", getpid());
    CHECK((n = readlink(by_number, text, sizeof text - 1)) > 0);
    text[n] = 0;
    printf("exe by number %s\n", base_name(text));
    CHECK((n = readlinkat(AT_FDCWD, "/proc/self/exe", text, 5)) == 5);
    int fd = open("/proc/self/cmdline", O_RDONLY);
    n = read(fd, text, sizeof text);
    close(fd);
    for (ssize_t i = 0; i < n; i++)
        putchar(text[i] ? text[i] : ' ');
    fd = open("/proc/self/comm", O_RDONLY);
    n = read(fd, text, sizeof text);
    close(fd);
    printf("\ncomm %.*s", (int)n, text);
    printf("name %s, short %s\n", base_name(program_invocation_name),
           program_invocation_short_name);
    struct stat by_link, by_path;
    CHECK(stat("/proc/self/exe", &by_link) == 0);
    n = readlink("/proc/self/exe", text, sizeof text - 1);
    text[n] = 0;
    CHECK(stat(text, &by_path) == 0);
    printf("same file %d\n", by_link.st_ino == by_path.st_ino);
    fd = open("/proc/self/exe", O_RDONLY);
    CHECK(fd >= 0 && fstat(fd, &by_link) == 0);
    printf("same file opened %d\n", by_link.st_ino == by_path.st_ino);
    int count = 0;
    while (environ[count])
        count++;
    printf("environment %d entries\n", count);
}

static int first_object(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    *(struct dl_phdr_info *)data = *info;
    return 1;
}

static void auxiliary(void)
{
    const ElfW(Ehdr) *header = (const void *)__ehdr_start;
    struct dl_phdr_info first;
    dl_iterate_phdr(first_object, &first);
    printf("headers %d\n", getauxval(AT_PHDR) == (uintptr_t)header + header->e_phoff);
    printf("number %d, size %d\n", getauxval(AT_PHNUM) == header->e_phnum,
           (int)getauxval(AT_PHENT));
    printf("same for the linker %d\n", (uintptr_t)first.dlpi_phdr == getauxval(AT_PHDR));
    printf("entry %d\n", getauxval(AT_ENTRY) == (uintptr_t)_start);
    printf("execfn %s\n", base_name((const char *)getauxval(AT_EXECFN)));
    printf("platform %s\n", (const char *)getauxval(AT_PLATFORM));
    printf("page %d\n", (int)getauxval(AT_PAGESZ));
    const unsigned char *base = (const unsigned char *)getauxval(AT_BASE);
    printf("linker %d\n", base && memcmp(base, ELFMAG, 4) == 0);
    const unsigned char *vdso = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
    printf("vdso %d\n", vdso && memcmp(vdso, ELFMAG, 4) == 0);
    printf("random %d, secure %d\n", getauxval(AT_RANDOM) != 0, (int)getauxval(AT_SECURE));
    printf("uid %d %d\n", getauxval(AT_UID) == getuid(), getauxval(AT_EUID) == geteuid());
    printf("above the stack %d\n", (uintptr_t)environ > (uintptr_t)&header);
}

static void *map_of(uintptr_t address, char *line, size_t size)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    uintptr_t start, stop;
    CHECK(maps);
    while (fgets(line, (int)size, maps))
        if (sscanf(line, "%lx-%lx", &start, &stop) == 2 && start <= address && address < stop) {
            fclose(maps);
            return line;
        }
    fclose(maps);
    return NULL;
}

/* The program's own mappings are in the list of mappings, with its file's name. */
static void mappings(void)
{
    char line[PATH_MAX + 100];
    CHECK(map_of((uintptr_t)mappings, line, sizeof line));
    printf("code: %s", base_name(line));
    CHECK(map_of((uintptr_t)&line, line, sizeof line));
    printf("stack is writable: %d\n", strstr(line, "rw-p") != NULL);
}

/* --- The heap --------------------------------------------------------------------------------- */

static void heap(void)
{
    char *start = sbrk(0);
    CHECK(sbrk(100000) == start && sbrk(0) == start + 100000);
    memset(start, 1, 100000);
    CHECK(sbrk(-50000) == start + 100000 && sbrk(0) == start + 50000);
    CHECK(brk(start + 4096) == 0 && sbrk(0) == start + 4096);
    CHECK(sbrk(40 << 20) == start + 4096);
    memset(start, 2, 40 << 20);
    struct rlimit limit = {1 << 20, 1 << 20};
    CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
    CHECK(sbrk(10 << 20) == (void *)-1 && errno == ENOMEM);
    puts("the heap grows, shrinks and stops");
}

/* --- Descriptors ------------------------------------------------------------------------------ */

static void descriptors(void)
{
    struct rlimit limit;
    int fd = open("/dev/null", O_RDONLY);
    printf("first free %d\n", fd);
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    int high = (int)(limit.rlim_cur < 1024 ? limit.rlim_cur : 1024) - 1, bad = 0;
    for (int i = 3; i <= high; i++) /* every number is the program's to use */
        bad += dup2(fd, i) != i;
    printf("could not be used: %d\n", bad);
    for (int i = 3; i <= high; i++)
        bad += close(i) != 0;
    printf("could not be closed: %d\n", bad);
    CHECK(open("/dev/null", O_RDONLY) == 3);
    close(3);
    pid_t child = fork();
    if (child == 0)
        _exit(44);
    printf("after that: %d\n", child > 0);
}

/* Whether anything is open under this number, asked in every way. */
static int ways_open(int fd)
{
    struct stat st;
    struct statx stx;
    char byte;
    int copy = dup(fd), n = copy >= 0;
    if (copy >= 0)
        close(copy);
    n += fcntl(fd, F_GETFD) >= 0 || errno != EBADF;
    n += fstat(fd, &st) == 0 || errno != EBADF;
    n += syscall(SYS_fstat, fd, &st) == 0 || errno != EBADF;
    n += statx(fd, "", AT_EMPTY_PATH, STATX_INO, &stx) == 0 || errno != EBADF;
    n += lseek(fd, 0, SEEK_CUR) >= 0 || errno != EBADF;
    n += read(fd, &byte, 0) >= 0 || errno != EBADF;
    n += write(fd, &byte, 0) >= 0 || errno != EBADF;
    n += isatty(fd) || errno != EBADF;
    return n;
}

static void nothing_open(void)
{
    int found = 0;
    for (int i = 5; i < 5000; i++)
        found += ways_open(i);
    printf("open beyond the first: %d\n", found);
    CHECK(dup2(1, 1000) == 1000 && dup2(1, 1022) == 1022 && dup2(1, 1023) == 1023);
    printf("now: %d\n", ways_open(1000) == ways_open(1) && ways_open(1022) == ways_open(1) &&
                            ways_open(1023) == ways_open(1));
}

static void everything_closed(void)
{
    long result = syscall(SYS_close_range, 3u, ~0u, 0u);
    printf("close_range %ld\n", result);
    fflush(stdout);
    closefrom(3);
    for (int i = 3; i < 5000; i++)
        close(i);
    volatile long sum = 0;
    for (int i = 0; i < 100000; i++)
        sum += i % 7 ? 1 : 2;
    char *memory = malloc(1 << 20);
    memset(memory, 1, 1 << 20);
    printf("going on: %ld\n", sum);
    fflush(stdout);
    execl("/bin/echo", "echo", "and executed", (char *)NULL);
}

static void limits(void)
{
    struct rlimit limit = {20, 20};
    int fd, count = 0;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    while ((fd = dup(1)) >= 0)
        count++;
    printf("%d more, then %s\n", count, strerrorname_np(errno));
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, (void *(*)(void *))(void *)getpid, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    puts("threads still start");
}

/* --- Filters ---------------------------------------------------------------------------------- */

static void filters(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof program / sizeof *program, program};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
    errno = 0;
    long result = syscall(SYS_getppid);
    printf("%ld %s\n", result, strerrorname_np(errno));
    printf("%d\n", getpid() > 0);
    char *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    memset(memory, 1, 1 << 20);
    puts("filtered and going on");
}

/* --- Registers that few use ------------------------------------------------------------------- */

static uint64_t gs_area[2] = {0x1234567812345678, 0x5555};

static uint64_t load_gs(void)
{
    uint64_t value;
    __asm__ volatile("mov %%gs:0, %0" : "=r"(value));
    return value;
}

static void *gs_thread(void *unused)
{
    uint64_t mine[1] = {77}, base = 1;
    (void)unused;
    CHECK(syscall(SYS_arch_prctl, ARCH_GET_GS, &base) == 0);
    printf("in a new thread %lu\n", (unsigned long)base);
    CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, mine) == 0);
    printf("then %lu\n", (unsigned long)load_gs());
    return NULL;
}

static void gs_base(void)
{
    uint64_t base = 1;
    pthread_t thread;
    CHECK(syscall(SYS_arch_prctl, ARCH_GET_GS, &base) == 0);
    printf("at first %lu\n", (unsigned long)base);
    CHECK(pthread_create(&thread, NULL, gs_thread, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, gs_area) == 0);
    CHECK(syscall(SYS_arch_prctl, ARCH_GET_GS, &base) == 0 && base == (uintptr_t)gs_area);
    printf("by prctl %lx\n", (unsigned long)load_gs());
    __asm__ volatile("movq $9, %%gs:8; lock incq %%gs:8" ::: "memory");
    printf("written %lu\n", (unsigned long)gs_area[1]);
    pid_t child = fork();
    if (child == 0)
        _exit(load_gs() == gs_area[0] ? 0 : 1);
    printf("after fork %lx\n", (unsigned long)load_gs());
}

static void base_instructions(void)
{
    uint64_t base, fs, fs_by_call;
    if (!(getauxval(AT_HWCAP2) & 2)) {
        puts("no such instructions");
        return;
    }
    __asm__ volatile("wrgsbase %0" ::"r"(gs_area));
    __asm__ volatile("rdgsbase %0" : "=r"(base));
    printf("gs %d %lx\n", base == (uintptr_t)gs_area, (unsigned long)load_gs());
    __asm__ volatile("rdfsbase %0" : "=r"(fs));
    CHECK(syscall(SYS_arch_prctl, ARCH_GET_FS, &fs_by_call) == 0);
    printf("fs %d\n", fs == fs_by_call);
    uint64_t word;
    __asm__ volatile("mov %%fs:0, %0" : "=r"(word)); /* points to itself */
    printf("fs:0 %d\n", word == fs);
    static uint64_t other[2] = {4711, 0};
    __asm__ volatile("wrfsbase %1; mov %%fs:0, %0; wrfsbase %2"
                     : "=&r"(word)
                     : "r"(other), "r"(fs)
                     : "memory");
    printf("other fs %lu\n", (unsigned long)word);
}

static void flags(void)
{
    uint64_t got, sum = 0;
    for (uint64_t set = 0; set < 64; set++) {
        /* carry parity adjust zero sign overflow, each alone and together; and direction */
        uint64_t want = (set & 1) | (set & 2) << 1 | (set & 4) << 2 | (set & 8) << 3 |
                        (set & 16) << 3 | (set & 32) << 6;
        __asm__ volatile("push %1; popf; jmp 1f; 1: pushf; pop %0" : "=r"(got) : "r"(want) : "cc");
        sum += (got & 0x8d5) == want;
        want |= 0x400;
        __asm__ volatile("push %1; popf; call 1f; 1: pop %0; pushf; pop %0; cld"
                         : "=r"(got)
                         : "r"(want)
                         : "cc");
        sum += (got & 0xcd5) == want;
    }
    printf("right %lu of 128\n", (unsigned long)sum);
    __asm__ volatile(
        "pushf; xorl $0x200000, (%%rsp); mov (%%rsp), %0; popf; pushf; xor (%%rsp), %0;"
        "lea 8(%%rsp), %%rsp"
        : "=r"(got)
        :
        : "cc");
    printf("ID can be changed: %d\n", (got & 0x200000) == 0);
}

/* A system call keeps all registers but three, and those have what the kernel puts there. */
static void call_registers(void)
{
    uint64_t result, rcx, r11, after, kept = 0;
    __asm__ volatile(
        "mov $0x1111, %%rdi; mov $0x2222, %%rsi; mov $0x3333, %%rdx; mov $0x4444, %%r10;"
        "mov $0x5555, %%r8; mov $0x6666, %%r9; mov $1000, %%eax; stc; syscall; 1:"
        "mov %%rax, %0; adc $0, %4; mov %%rcx, %1; mov %%r11, %2; lea 1b(%%rip), %3;"
        "cmp $0x1111, %%rdi; jne 2f; cmp $0x2222, %%rsi; jne 2f; cmp $0x3333, %%rdx;"
        "jne 2f; cmp $0x4444, %%r10; jne 2f; cmp $0x5555, %%r8; jne 2f;"
        "cmp $0x6666, %%r9; jne 2f; add $10, %4; 2:"
        : "=&b"(result), "=m"(rcx), "=m"(r11), "=&r"(after), "+r"(kept)
        :
        : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory");
    printf("result %ld, kept %lu, rcx is the address behind %d, r11 has the flags %d\n",
           (long)result, (unsigned long)kept, rcx == after, (int)(r11 & 1));
}

static void sequences(void)
{
    /* Registered by the C library, or refused: both are fine, a crash is not. */
    static char area[256] __attribute__((aligned(32)));
    errno = 0;
    long result = syscall(SYS_rseq, area, 32, 0, 0x1234);
    printf("%s\n",
           result == 0 || errno == ENOSYS || errno == EINVAL || errno == EBUSY ? "fine" : "?");
}

static void alternate(void)
{
    stack_t stack = {0}, old;
    CHECK(sigaltstack(NULL, &old) == 0);
    printf("at first: disabled %d, size %zu, at %p\n", old.ss_flags == SS_DISABLE, old.ss_size,
           old.ss_sp);
    stack.ss_sp = malloc(100);
    stack.ss_size = 100;
    int result = sigaltstack(&stack, NULL);
    printf("too small: %d %s\n", result, strerrorname_np(errno));
    stack.ss_flags = 99;
    result = sigaltstack(&stack, NULL);
    printf("bad flags: %d %s\n", result, strerrorname_np(errno));
    struct sigaction action;
    for (int i = 1; i < 32; i++) {
        CHECK(sigaction(i, NULL, &action) == 0);
        if (action.sa_handler != SIG_DFL)
            printf("signal %d is not default\n", i);
    }
    sigset_t mask;
    CHECK(sigprocmask(SIG_BLOCK, NULL, &mask) == 0);
    for (int i = 1; i < 65; i++)
        if (sigismember(&mask, i) == 1)
            printf("signal %d is blocked\n", i);
    result = sigaction(SIGKILL, &action, NULL);
    printf("KILL: %d %s\n", result, strerrorname_np(errno));
}

/* A limit of the program's memory is one of its own memory, and is what it was set to, after exec
 * too. */
static void limit_memory(int resource, rlim_t most)
{
    struct rlimit limit = {most - 4096, most}, old;
    CHECK(setrlimit(resource, &limit) == 0);
    CHECK(getrlimit(resource, &old) == 0);
    CHECK(old.rlim_cur == limit.rlim_cur && old.rlim_max == limit.rlim_max);
    limit.rlim_cur = most;
    CHECK(prlimit(getpid(), resource, &limit, &old) == 0);
    CHECK(old.rlim_cur == most - 4096 && old.rlim_max == most);
    CHECK(prlimit(0, resource, NULL, &old) == 0);
    CHECK(old.rlim_cur == most && old.rlim_max == most);
    limit.rlim_cur = most + 1;
    CHECK(setrlimit(resource, &limit) == -1 && errno == EINVAL);
    void *fits = mmap(NULL, most / 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(fits != MAP_FAILED && munmap(fits, most / 2) == 0);
    CHECK(mmap(NULL, 2 * most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
          MAP_FAILED);
    CHECK(execl("/", "/", NULL) == -1 && execl("/dev/null", "null", NULL) == -1);
    CHECK(getrlimit(resource, &old) == 0 && old.rlim_cur == most && old.rlim_max == most);
    fits = mmap(NULL, most / 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(fits != MAP_FAILED);
}

static void limited_space(void)
{
    limit_memory(RLIMIT_AS, 256 << 20);
    execl("/bin/sh", "sh", "-c", "ulimit -v; ulimit -Hv", NULL);
}

static void limited_data(void)
{
    limit_memory(RLIMIT_DATA, 256 << 20);
    execl("/bin/sh", "sh", "-c", "ulimit -d; ulimit -Hd", NULL);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"names", names},
        {"auxiliary", auxiliary},
        {"mappings", mappings},
        {"limited-space", limited_space},
        {"nothing-open", nothing_open},
        {"limited-data", limited_data},
        {"heap", heap},
        {"descriptors", descriptors},
        {"closed", everything_closed},
        {"limits", limits},
        {"filters", filters},
        {"gs-base", gs_base},
        {"base-instructions", base_instructions},
        {"flags", flags},
        {"call-registers", call_registers},
        {"sequences", sequences},
        {"alternate", alternate},
        {NULL, NULL},
    };
    return run_part(parts, argc, argv);
}
