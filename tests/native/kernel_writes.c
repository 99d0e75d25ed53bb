// SPDX-License-Identifier: MIT
/* What the kernel writes where code is. */
#include "calls.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>

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

// clang-format off
static const struct part parts[] = {
    {"into_code", into_code},
    {NULL, NULL},
};
// clang-format on

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    return run_part(parts, argc, argv);
}
