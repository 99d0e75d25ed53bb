// SPDX-License-Identifier: MIT
/*
 * What the kernel writes to the program's memory in a system call. A guard (guards.c) stops it: it
 * then returns EFAULT, or a short count, and data may be lost. So guards are lifted before the
 * call. For most calls it is enough to know that an argument points to a guarded page.
 */
#include "engine/native/inner/inner.h"
#include "engine/native/inner/sys.h"

#include <sys/socket.h>
#include <sys/uio.h>

#define STRUCT_SIZE 512 /* upper bound for calls without a size argument */
#define MAX_VECTORS 1024

enum kind {
    OTHER,
    BUFFER,   /* `size` bytes at `at` */
    VECTORS,  /* `size` of them at `at` */
    MESSAGE,  /* a struct msghdr at `at` */
    MESSAGES, /* `size` struct mmsghdr at `at` */
};

struct call {
    uint8_t kind, at, size; /* registers */
};

static const struct call calls[] = {
    [SYS_read] = {BUFFER, RSI, RDX},
    [SYS_pread64] = {BUFFER, RSI, RDX},
    [SYS_recvfrom] = {BUFFER, RSI, RDX},
    [SYS_getdents] = {BUFFER, RSI, RDX},
    [SYS_getdents64] = {BUFFER, RSI, RDX},
    [SYS_getrandom] = {BUFFER, RDI, RSI},
    [SYS_getcwd] = {BUFFER, RDI, RSI},
    [SYS_msgrcv] = {BUFFER, RSI, RDX},
    [SYS_mq_timedreceive] = {BUFFER, RSI, RDX},
    [SYS_mincore] = {BUFFER, RDX, RSI}, /* more than it writes */
    [SYS_readv] = {VECTORS, RSI, RDX},
    [SYS_preadv] = {VECTORS, RSI, RDX},
    [SYS_preadv2] = {VECTORS, RSI, RDX},
    [SYS_vmsplice] = {VECTORS, RSI, RDX},
    [SYS_process_vm_readv] = {VECTORS, RSI, RDX},
    [SYS_process_vm_writev] = {VECTORS, R10, R8}, /* if the target is this process */
    [SYS_recvmsg] = {MESSAGE, RSI, 0},
    [SYS_recvmmsg] = {MESSAGES, RSI, RDX},
};

static void lift(uint64_t at, uint64_t size)
{
    if (size < UINT64_MAX - at)
        hp_guards_lift(at, at + size);
}

static void lift_vectors(uint64_t at, uint64_t n)
{
    struct iovec vector;
    for (uint64_t i = 0; i < n && i < MAX_VECTORS; i++) {
        if (!hp_copy(&vector, (const void *)(at + i * sizeof vector), sizeof vector))
            return;
        lift((uint64_t)(uintptr_t)vector.iov_base, vector.iov_len);
    }
}

static void lift_message(uint64_t at)
{
    struct msghdr message;
    if (!hp_copy(&message, (const void *)at, sizeof message))
        return;
    lift(at, sizeof message);
    lift((uint64_t)(uintptr_t)message.msg_name, (uint32_t)message.msg_namelen);
    lift((uint64_t)(uintptr_t)message.msg_control, message.msg_controllen);
    lift_vectors((uint64_t)(uintptr_t)message.msg_iov, message.msg_iovlen);
}

static void lift_arguments(const uint64_t *r)
{
    static const uint8_t arguments[] = {RDI, RSI, RDX, R10, R8, R9};
    for (unsigned i = 0; i < sizeof arguments; i++) {
        uint64_t at = r[arguments[i]];
        if (at >= 4096 && at < HP_USER_END &&
            (hp_guards_have(at) || hp_guards_have(at + STRUCT_SIZE - 1)))
            lift(at, STRUCT_SIZE);
    }
}

void hp_writes_prepare(struct hp_self *self)
{
    const uint64_t *r = self->regs.r;
    uint32_t number = (uint32_t)hp_call_number(self);
    lift_arguments(r);
    if (number >= sizeof calls / sizeof *calls)
        return;
    const struct call *call = &calls[number];
    switch (call->kind) {
    case BUFFER: lift(r[call->at], r[call->size]); break;
    case VECTORS: lift_vectors(r[call->at], r[call->size]); break;
    case MESSAGE: lift_message(r[call->at]); break;
    case MESSAGES:
        for (uint64_t i = 0; i < r[call->size] && i < MAX_VECTORS; i++)
            lift_message(r[call->at] + i * sizeof(struct mmsghdr));
        break;
    default: break;
    }
}
