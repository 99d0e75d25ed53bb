// SPDX-License-Identifier: MIT
/*
 * deny HOW COMMAND...: runs a command where no memory can be writable and executable. HOW is
 * "filter", as systemd's MemoryDenyWriteExecute= does it, or "kernel" (PR_SET_MDWE). Status 77:
 * that is not possible here.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define REFUSE      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define ALLOW       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
/* Refuses call `number` when all of `bits` are set in its argument. */
#define DENY(number, argument, bits)                                                               \
    LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4), LOAD(args[argument]),             \
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits),                                                 \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, bits, 0, 1), REFUSE

static int filter(void)
{
    struct sock_filter program[] = {
        DENY(SYS_mmap, 2, PROT_WRITE | PROT_EXEC),
        DENY(SYS_mprotect, 2, PROT_EXEC),
        DENY(SYS_pkey_mprotect, 2, PROT_EXEC),
        DENY(SYS_shmat, 2, SHM_EXEC),
        ALLOW,
    };
    struct sock_fprog all = {sizeof program / sizeof *program, program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    if (strcmp(argv[1], "filter") == 0 ? filter() : prctl(65 /* PR_SET_MDWE */, 1, 0, 0, 0))
        return 77;
    if (mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
        MAP_FAILED)
        return 77;
    execv(argv[2], argv + 2);
    return 127;
}
