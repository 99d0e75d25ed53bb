// SPDX-License-Identifier: MIT
/* System calls that an engine answers itself or has to follow: their numbers, sizes and handlers,
 * and what the kernel writes where code is.
 */
#include "calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

/* --- Numbers ---------------------------------------------------------------------------------- */

/* Code that returns `value`, made anew by mprotect under a long number. */
static void change_code(unsigned char *page, unsigned char value)
{
    unsigned char code[] = {0xb8, value, 0, 0, 0, 0xc3}; /* mov eax, value; ret */
    CHECK(call(UPPER | SYS_mprotect, (uint64_t)page, 4096, PROT_READ | PROT_WRITE, 0) == 0);
    memcpy(page, code, sizeof code);
    CHECK(call(UPPER | SYS_mprotect, (uint64_t)page, 4096, PROT_READ | PROT_EXEC, 0) == 0);
    printf("code %d\n", ((int (*)(void))(void *)page)());
}

static void numbers(void)
{
    unsigned char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    change_code(page, 1);
    change_code(page, 2);
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        uint64_t mask;
    } action;
    struct sigaction libc_action = {.sa_handler = count_signal};
    sigaction(SIGUSR2, &libc_action, NULL);
    CHECK(call(UPPER | SYS_rt_sigaction, SIGUSR2, 0, (uint64_t)&action, 8) == 0);
    CHECK(action.handler == count_signal);
    CHECK(call(UPPER | SYS_rt_sigaction, SIGUSR1, (uint64_t)&action, 0, 8) == 0);
    raise(SIGUSR1);
    printf("caught %d\n", caught);
    long child = call(UPPER | SYS_fork, 0, 0, 0, 0);
    if (child == 0)
        call(UPPER | SYS_exit_group, 7, 0, 0, 0);
    printf("child %x\n", (unsigned)status_of((pid_t)child));
    child = call(SYS_clone, UPPER | SIGCHLD, 0, 0, 0);
    if (child == 0)
        call(UPPER | SYS_exit, 8, 0, 0, 0);
    printf("child %x\n", (unsigned)status_of((pid_t)child));
    printf("x32 %ld, none %ld, negative %ld\n", call(0x40000000 | SYS_getpid, 0, 0, 0, 0),
           call(UPPER | 1000, 0, 0, 0, 0), call((uint64_t)-1, 0, 0, 0, 0));
    CHECK(call(UPPER | 0xffffffffu, 0, 0, 0, 0) == -ENOSYS);
}

/* --- clone3 ----------------------------------------------------------------------------------- */

static struct clone_args *at_page_end(size_t size)
{
    char *pages = mmap(NULL, 8192 * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && munmap(pages + 8192, 8192) == 0);
    return (struct clone_args *)(pages + 8192 - size);
}

static void try_clone3(const char *what, struct clone_args *args, uint64_t size)
{
    long result = call(SYS_clone3, (uint64_t)args, size, 0, 0);
    if (result == 0)
        _exit(3);
    if (result > 0)
        printf("%s: a child, %x\n", what, (unsigned)status_of((pid_t)result));
    else
        printf("%s: %ld\n", what, result);
}

static void clone3_sizes(void)
{
    static const unsigned sizes[] = {0, 8, 63, 64, 72, 80, 84, 88, 89, 96, 4096, 4097, 8192};
    char text[40];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct clone_args *args = at_page_end(sizes[i] > 64 ? sizes[i] : 64);
        args->exit_signal = SIGCHLD;
        snprintf(text, sizeof text, "size %u", sizes[i]);
        try_clone3(text, args, sizes[i]);
        snprintf(text, sizeof text, "size %u, too little there", sizes[i]);
        try_clone3(text, args, sizes[i] + 8);
        if (sizes[i] > 88) {
            ((char *)args)[sizes[i] - 1] = 1;
            snprintf(text, sizeof text, "size %u, not 0", sizes[i]);
            try_clone3(text, args, sizes[i]);
        }
    }
    struct clone_args bad = {.exit_signal = SIGCHLD, .stack = 4096};
    try_clone3("stack without size", &bad, sizeof bad);
    bad = (struct clone_args){.exit_signal = SIGCHLD, .stack_size = 4096};
    try_clone3("size without stack", &bad, sizeof bad);
    bad = (struct clone_args){.exit_signal = SIGCHLD, .stack = 1ull << 62, .stack_size = 4096};
    try_clone3("stack nowhere", &bad, sizeof bad);
    bad = (struct clone_args){.flags = CLONE_CLEAR_SIGHAND | CLONE_SIGHAND | CLONE_VM,
                              .exit_signal = SIGCHLD};
    try_clone3("handlers cleared and shared", &bad, sizeof bad);
    bad = (struct clone_args){.flags = 1ull << 40, .exit_signal = SIGCHLD};
    try_clone3("unknown flag", &bad, sizeof bad);
    bad = (struct clone_args){.exit_signal = 100};
    try_clone3("no such signal", &bad, sizeof bad);
    try_clone3("nowhere", NULL, sizeof bad);
}

/* --- Handlers of a child with shared memory --------------------------------------------------- */

static int child_changes_handlers(void *unused)
{
    (void)unused;
    struct sigaction action = {.sa_handler = SIG_IGN}, old;
    CHECK(sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_handler == count_signal);
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    raise(SIGUSR1);
    action.sa_handler = SIG_DFL;
    CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
    _exit(0);
}

static int child_has_no_handlers(void *unused)
{
    (void)unused;
    struct sigaction old;
    CHECK(sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_handler == SIG_DFL);
    CHECK(sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler == SIG_IGN);
    raise(SIGUSR1);
    _exit(0);
}

/* As clone(), but by clone3. */
static pid_t clone3_with_stack(int (*function)(void *), uint64_t flags)
{
    struct clone_args args = {.flags = flags,
                              .exit_signal = SIGCHLD,
                              .stack = (uint64_t)child_stack,
                              .stack_size = sizeof child_stack};
    long result;
    register int (*kept)(void *) __asm__("r12") = function;
    __asm__ volatile("syscall\n\t"
                     "testq %%rax, %%rax\n\t"
                     "jne 1f\n\t"
                     "xorl %%edi, %%edi\n\t"
                     "call *%%r12\n\t"
                     "ud2\n"
                     "1:"
                     : "=a"(result)
                     : "a"(SYS_clone3), "D"(&args), "S"(sizeof args), "r"(kept)
                     : "rcx", "r11", "memory");
    return (pid_t)result;
}

static void handlers_of_children(void)
{
    struct sigaction action = {.sa_handler = count_signal};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    signal(SIGHUP, SIG_IGN);
    for (int i = 0; i < 2; i++) {
        uint64_t flags = CLONE_VM | (i ? CLONE_VFORK : 0);
        printf("changed %x\n",
               (unsigned)status_of(clone3_with_stack(child_changes_handlers, flags)));
        caught = 0;
        raise(SIGUSR1);
        raise(SIGUSR2);
        printf("caught %d\n", caught);
        flags |= CLONE_CLEAR_SIGHAND;
        printf("cleared %x\n",
               (unsigned)status_of(clone3_with_stack(child_has_no_handlers, flags)));
        raise(SIGUSR1);
        printf("caught %d\n", caught);
    }
    pid_t shared = clone3_with_stack(child_changes_handlers, CLONE_VM | CLONE_SIGHAND);
    printf("shared %x\n", (unsigned)status_of(shared));
    CHECK(sigaction(SIGUSR1, NULL, &action) == 0);
    printf("ignored %d\n", action.sa_handler == SIG_IGN);
}

/* --- What the kernel writes where code is ----------------------------------------------------- */

#define PAGES 4
#define AT    6000 /* of a function, in the second of them */

static unsigned char *code;

static int run_code(void)
{
    return ((int (*)(void))(void *)(code + AT))();
}

static void fill(unsigned char *image, unsigned char value)
{
    static const unsigned char function[] = {0xb8, 0, 0, 0, 0, 0xc3}; /* mov eax, value; ret */
    for (volatile unsigned char *at = image; at < image + PAGES * 4096; at++)
        *at = 0x90; /* not by one instruction, of which every step would be run natively */
    memcpy(image + AT, function, sizeof function);
    image[AT + 1] = value;
}

/* A function is run, then changed by `write_all`, which writes all four pages, and run again. */
static void change_by(const char *name, ssize_t (*write_all)(unsigned char *image))
{
    static unsigned char image[PAGES * 4096];
    fill(code, 1);
    int before = run_code();
    fill(image, 2);
    ssize_t n = write_all(image);
    printf("%s: %zd bytes, %d, then %d\n", name, n, before, run_code());
}

static int pipe_with(unsigned char *image)
{
    int ends[2];
    CHECK(pipe(ends) == 0 && write(ends[1], image, PAGES * 4096) == PAGES * 4096);
    close(ends[1]);
    return ends[0];
}

static ssize_t by_read(unsigned char *image)
{
    return read(pipe_with(image), code, PAGES * 4096);
}

static ssize_t by_readv(unsigned char *image)
{
    struct iovec parts[] = {{code, 100}, {code + 100, 9000}, {code + 9100, PAGES * 4096 - 9100}};
    return readv(pipe_with(image), parts, 3);
}

static ssize_t by_preadv(unsigned char *image)
{
    struct iovec parts[] = {{code, 5000}, {code + 5000, PAGES * 4096 - 5000}};
    int fd = memfd_create("part", 0);
    CHECK(write(fd, image, PAGES * 4096) == PAGES * 4096);
    return preadv(fd, parts, 2, 0);
}

/* A datagram is there once only. */
static int socket_with(unsigned char *image)
{
    int ends[2], size = 100000;
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    CHECK(send(ends[0], image, PAGES * 4096, 0) == PAGES * 4096);
    return ends[1];
}

static ssize_t by_recv(unsigned char *image)
{
    return recv(socket_with(image), code, PAGES * 4096, MSG_DONTWAIT);
}

static ssize_t by_recvmsg(unsigned char *image)
{
    struct iovec parts[] = {{code, 4096}, {code + 4096, PAGES * 4096 - 4096}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    return recvmsg(socket_with(image), &message, MSG_DONTWAIT);
}

static ssize_t by_recvmmsg(unsigned char *image)
{
    struct iovec part = {code, PAGES * 4096};
    struct mmsghdr message = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
    CHECK(recvmmsg(socket_with(image), &message, 1, MSG_DONTWAIT, NULL) == 1);
    return message.msg_len;
}

static ssize_t by_process_vm_readv(unsigned char *image)
{
    struct iovec to = {code, PAGES * 4096}, from = {image, PAGES * 4096};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0);
}

static ssize_t by_process_vm_writev(unsigned char *image)
{
    struct iovec from = {image, PAGES * 4096}, to = {code, PAGES * 4096};
    return process_vm_writev(getpid(), &from, 1, &to, 1, 0);
}

/* What the kernel has to tell must not be lost. */
static ssize_t by_wait(unsigned char *image)
{
    (void)image;
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(0x90);
    pid_t found = wait4(child, (int *)(void *)(code + AT - 5), 0, NULL);
    memcpy(&status, code + AT - 5, sizeof status);
    return found == child ? status : -1;
}

static ssize_t by_getrandom(unsigned char *image)
{
    (void)image;
    run_code();
    ssize_t n = getrandom(code, PAGES * 4096, 0);
    fill(code, 3);
    return n;
}

static int memory_file(const char *name)
{
    int fd = open(name, O_RDWR);
    CHECK(fd >= 0);
    return fd;
}

static ssize_t by_memory_pwrite(unsigned char *image)
{
    return pwrite(memory_file("/proc/self/mem"), image, PAGES * 4096, (off_t)(uintptr_t)code);
}

static ssize_t by_memory_write(unsigned char *image)
{
    char name[40];
    snprintf(name, sizeof name, "/proc/%d/task/%d/mem", getpid(), gettid());
    int fd = memory_file(name), again = dup(fd);
    CHECK(lseek(fd, (off_t)(uintptr_t)code, SEEK_SET) == (off_t)(uintptr_t)code);
    return write(again, image, PAGES * 4096);
}

static ssize_t by_memory_pwritev(unsigned char *image)
{
    struct iovec parts[] = {{image, 5000}, {image + 5000, PAGES * 4096 - 5000}};
    int folder = open("/proc/thread-self", O_RDONLY);
    return pwritev(openat(folder, "mem", O_RDWR), parts, 2, (off_t)(uintptr_t)code);
}

/* Not even the program could write there by itself. */
static ssize_t by_memory_to_text(unsigned char *image)
{
    CHECK(mprotect(code, PAGES * 4096, PROT_READ | PROT_EXEC) == 0);
    int before = run_code();
    ssize_t n = by_memory_pwrite(image);
    printf("%d, then %d; ", before, run_code());
    CHECK(mprotect(code, PAGES * 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
    return n;
}

static void into_code(void)
{
    code = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0);
    CHECK(code != MAP_FAILED);
    change_by("read", by_read);
    change_by("readv", by_readv);
    change_by("preadv", by_preadv);
    change_by("recv", by_recv);
    change_by("recvmsg", by_recvmsg);
    change_by("recvmmsg", by_recvmmsg);
    change_by("process_vm_readv", by_process_vm_readv);
    change_by("process_vm_writev", by_process_vm_writev);
    change_by("wait4", by_wait);
    change_by("getrandom", by_getrandom);
    change_by("mem, pwrite", by_memory_pwrite);
    change_by("mem, write", by_memory_write);
    change_by("mem, pwritev", by_memory_pwritev);
    change_by("mem, text", by_memory_to_text);
}

/* --- The program's own file and descriptors --------------------------------------------------- */

/* Whether an open file is the program's. */
static void say_file(const char *what, int fd)
{
    struct stat st;
    if (fd < 0) {
        printf("%s: error %d\n", what, errno);
        return;
    }
    CHECK(fstat(fd, &st) == 0);
    printf("%s: %s, %lld bytes\n", what, S_ISLNK(st.st_mode) ? "a link" : "a file",
           (long long)st.st_size);
    close(fd);
}

static void say_link(const char *what, int folder, const char *name)
{
    char text[300];
    ssize_t n = readlinkat(folder, name, text, sizeof text);
    printf("%s: %.*s\n", what, n > 0 ? (int)n : 5, n > 0 ? text : "error");
}

static void exe(void)
{
    int folder = open("/proc/self", O_RDONLY | O_DIRECTORY);
    struct open_how how = {0};
    struct stat st;
    struct statx stx;
    char name[60];
    say_file("open", open("/proc/self/exe", O_RDONLY));
    say_file("openat", openat(folder, "exe", O_RDONLY));
    say_file("no follow", open("/proc/self/exe", O_RDONLY | O_NOFOLLOW));
    int link = open("/proc/self/exe", O_PATH | O_NOFOLLOW);
    say_link("itself", link, "");
    say_file("itself", link);
    say_file("openat2", (int)syscall(SYS_openat2, folder, "exe", &how, sizeof how));
    how.resolve = RESOLVE_NO_MAGICLINKS;
    say_file("no magic", (int)syscall(SYS_openat2, folder, "exe", &how, sizeof how));
    say_link("readlinkat", folder, "exe");
    say_link("thread", AT_FDCWD, "/proc/thread-self/exe");
    snprintf(name, sizeof name, "/proc/%d/task/%d/exe", getpid(), gettid());
    say_link("task", AT_FDCWD, name);
    say_link("roundabout", AT_FDCWD, "/proc/../proc/self/./exe");
    CHECK(lstat("/proc/self/exe", &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(fstatat(folder, "exe", &st, 0) == 0);
    printf("stat %lld bytes\n", (long long)st.st_size);
    CHECK(fstatat(folder, "exe", &st, AT_SYMLINK_NOFOLLOW) == 0);
    printf("stat of link %d\n", S_ISLNK(st.st_mode));
    CHECK(statx(folder, "exe", AT_SYMLINK_NOFOLLOW, STATX_ALL, &stx) == 0);
    printf("statx of link %d\n", S_ISLNK(stx.stx_mode));
    printf("access %ld\n", syscall(SYS_faccessat2, folder, "exe", X_OK, AT_EACCESS));
    say_file("another exe", open("/nowhere/exe", O_RDONLY));
}

/* A child that shares memory and not descriptors takes every number. */
static void vforked_descriptors(void)
{
    char *argv[] = {"echo", "executed", NULL}, *none[] = {NULL};
    pid_t child = vfork();
    if (child == 0) {
        for (int fd = 3; fd < 1024; fd++)
            dup2(1, fd);
        execve("/bin/echo", argv, none);
        _exit(9);
    }
    printf("child %x\n", (unsigned)status_of(child));
    child = vfork();
    if (child == 0) {
        execve("/bin/echo", argv, none);
        _exit(9);
    }
    printf("child %x\n", (unsigned)status_of(child));
}

/* As programs do that close all that they find. */
static void descriptors(void)
{
    static const char *const names[] = {"/proc/self/fd", "/proc/thread-self/fdinfo"};
    for (int i = 0; i < 2; i++) {
        DIR *folder = opendir(names[i]);
        struct dirent *entry;
        CHECK(folder);
        printf("%s:", names[i]);
        while ((entry = readdir(folder)))
            printf(" %s", entry->d_name);
        puts("");
        closedir(folder);
    }
    vforked_descriptors();
}

// clang-format off
static const struct part parts[] = {
    {"numbers", numbers},
    {"clone3", clone3_sizes},
    {"handlers", handlers_of_children},
    {"into_code", into_code},
    {"exe", exe},
    {"descriptors", descriptors},
    {NULL, NULL},
};
// clang-format on

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    return run_part(parts, argc, argv);
}
