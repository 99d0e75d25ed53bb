// SPDX-License-Identifier: MIT
/* Synchronous signals: handlers see the program's own addresses and registers, and may change them.
 */
#define _GNU_SOURCE
#include "parts.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

/* Each of these faults at its _at label and goes on at _on when the handler says so. */
void fault_load(void), fault_load_at(void), fault_load_on(void);
void fault_store(void), fault_store_at(void), fault_store_on(void);
void fault_divide(void), fault_divide_at(void), fault_divide_on(void);
void fault_illegal(void), fault_illegal_at(void), fault_illegal_on(void);
void fault_trap(void), fault_trap_at(void);
void fault_string(void), fault_string_at(void), fault_string_on(void);
void fault_call(void), fault_call_on(void);
void fault_jump(void), fault_jump_on(void);
void fault_general(void), fault_general_at(void), fault_general_on(void);
void fault_push(void), fault_push_at(void), fault_push_on(void);

__asm__("    .text\n"
        "    .macro part name\n"
        "    .globl \\name, \\name\\()_at, \\name\\()_on\n"
        "    .type \\name, @function\n"
        "\\name:\n"
        "    .endm\n"
        "    part fault_load\n"
        "    xor %ecx, %ecx; mov $7, %edx; stc\n"
        "fault_load_at: mov 0x10(%rcx), %rdx\n"
        "fault_load_on: mov %rdx, %rax; adc $0, %rax; ret\n"
        "    part fault_store\n"
        "    mov $0x1234, %edx; mov $-4096, %rcx; movq %rdx, %xmm9; cmp %edx, %edx\n"
        "fault_store_at: lock addl %edx, 8(%rcx)\n"
        "fault_store_on: setz %al; movzbl %al, %eax; ret\n"
        "    part fault_divide\n"
        "    mov $100, %eax; xor %edx, %edx; xor %ecx, %ecx\n"
        "fault_divide_at: div %ecx\n"
        "fault_divide_on: ret\n"
        "    part fault_illegal\n"
        "    xor %ecx, %ecx; mov $5, %eax; jmp 1f; 1:\n"
        "fault_illegal_at: ud2\n"
        "fault_illegal_on: ret\n"
        "    part fault_trap\n"
        "    xor %ecx, %ecx; mov $6, %eax\n"
        "    int3\n"
        "fault_trap_at: add $1, %eax; ret\n"
        "    part fault_string\n"
        "    mov guarded_end(%rip), %rdi; sub $10, %rdi; mov $100, %ecx; mov $65, %eax\n"
        "fault_string_at: rep stosb\n"
        "fault_string_on: mov %rcx, %rax; ret\n"
        "    part fault_call\n"
        "    xor %ecx, %ecx; mov $64, %ecx; call *%rcx\n"
        "fault_call_on: mov $8, %eax; ret\n"
        "    part fault_jump\n"
        "    xor %ecx, %ecx; mov $72, %ecx; lea fault_jump_on(%rip), %rdx; push %rdx; jmp *%rcx\n"
        "fault_jump_on: mov $9, %eax; ret\n"
        "    part fault_general\n"
        "    xor %ecx, %ecx; mov $0x8000000000000000, %rcx\n"
        "fault_general_at: mov (%rcx), %al\n"
        "fault_general_on: mov $10, %eax; ret\n"
        "    part fault_push\n"
        "    xor %ecx, %ecx; mov %rsp, %rcx; mov $128, %esp\n"
        "fault_push_at: push %rax\n"
        "fault_push_on: mov %rcx, %rsp; mov $11, %eax; ret\n");

unsigned char *guarded_end;

struct expectation {
    const char *name;
    void (*function)(void), (*at)(void), (*on)(void);
};

static const struct expectation expectations[] = {
    {"load", fault_load, fault_load_at, fault_load_on},
    {"store", fault_store, fault_store_at, fault_store_on},
    {"divide", fault_divide, fault_divide_at, fault_divide_on},
    {"illegal", fault_illegal, fault_illegal_at, fault_illegal_on},
    {"trap", fault_trap, fault_trap_at, NULL},
    {"string", fault_string, fault_string_at, fault_string_on},
    {"call", fault_call, NULL, fault_call_on},
    {"jump", fault_jump, NULL, fault_jump_on},
    {"general", fault_general, fault_general_at, fault_general_on},
    {"push", fault_push, fault_push_at, fault_push_on},
};

static const struct expectation *now;

static void on_fault(int signal_, siginfo_t *info, void *context)
{
    ucontext_t *c = context;
    greg_t *r = c->uc_mcontext.gregs;
    long distance = (long)r[REG_RIP] - (long)(intptr_t)now->function;
    intptr_t address = (intptr_t)info->si_addr;
    printf("%s: signal %d code %d ", now->name, signal_, info->si_code);
    if (now->at)
        printf("at %ld, as expected %d; ", distance, r[REG_RIP] == (greg_t)(intptr_t)now->at);
    else
        printf("at %#llx; ", r[REG_RIP]);
    if (address == r[REG_RIP])
        printf("address is there");
    else if (guarded_end && address == (intptr_t)guarded_end)
        printf("address is the guard");
    else
        printf("address %#lx", (long)address);
    printf("; flags %#llx; error %lld; trap %lld", r[REG_EFL] & 0xcd5, r[REG_ERR], r[REG_TRAPNO]);
    if (now->function == fault_store)
        printf("; xmm9 %#x", c->uc_mcontext.fpregs->_xmm[9].element[0]);
    if (now->function == fault_string)
        printf("; left %lld, done %d", r[REG_RCX], r[REG_RDI] == (greg_t)(intptr_t)guarded_end);
    printf("\n");
    r[REG_RDX] = 1000;
    if (now->function == fault_illegal)
        r[REG_RAX] = 55;
    if (now->function == fault_call)
        r[REG_RSP] += 8;
    if (now->function == fault_jump)
        r[REG_RSP] += 8;
    if (now->on)
        r[REG_RIP] = (greg_t)(intptr_t)now->on;
}

static void install(void)
{
    static const int signals[] = {SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGBUS};
    static char stack_memory[65536];
    stack_t stack = {.ss_sp = stack_memory, .ss_size = sizeof stack_memory};
    struct sigaction action = {0};
    CHECK(sigaltstack(&stack, NULL) == 0);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        CHECK(sigaction(signals[i], &action, NULL) == 0);
}

static void fixups(void)
{
    unsigned char *pages =
        mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && mprotect(pages + 4096, 4096, PROT_NONE) == 0);
    guarded_end = pages + 4096;
    install();
    for (int round_ = 0; round_ < 3; round_++)
        for (size_t i = 0; i < sizeof expectations / sizeof *expectations; i++) {
            long (*function)(void);
            now = &expectations[i];
            memcpy(&function, &now->function, sizeof function);
            printf("result %ld\n", function() & 0xffff);
        }
}

/* --- Faults that are handled by mapping, or left by a jump ------------------------------------ */

static sigjmp_buf out;
static volatile int bus_errors;

static void jump_out(int signal_, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    bus_errors++;
    siglongjmp(out, signal_);
}

static void truncated(void)
{
    char name[] = "/tmp/hotpath-faults-XXXXXX";
    int fd = mkstemp(name);
    struct sigaction action = {0};
    volatile char *map;
    CHECK(fd >= 0 && unlink(name) == 0 && ftruncate(fd, 8192) == 0);
    map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(map != MAP_FAILED);
    action.sa_sigaction = jump_out;
    action.sa_flags = SA_SIGINFO;
    CHECK(sigaction(SIGBUS, &action, NULL) == 0);
    map[5000] = 1;
    CHECK(ftruncate(fd, 4096) == 0);
    for (int i = 0; i < 20; i++) {
        int signal_ = sigsetjmp(out, 1);
        if (signal_ == 0)
            map[5000]++;
        else
            CHECK(signal_ == SIGBUS);
    }
    printf("bus errors: %d, below: %d\n", bus_errors, map[100]);
}

static void default_action(void)
{
    puts("about to divide");
    fflush(stdout);
    fault_divide();
}

static void ignored(void)
{
    signal(SIGSEGV, SIG_IGN); /* the kernel does not ignore a fault */
    puts("about to load");
    fflush(stdout);
    fault_load();
}

static void blocked(void)
{
    sigset_t set;
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    puts("about to trap");
    fflush(stdout);
    fault_illegal();
}

/* A handler that faults itself, once. */
static volatile int inner;

static void fault_in_handler(int signal_, siginfo_t *info, void *context)
{
    (void)info;
    (void)signal_;
    ucontext_t *c = context;
    greg_t rip = c->uc_mcontext.gregs[REG_RIP];
    if (inner++ == 0)
        fault_load();
    c->uc_mcontext.gregs[REG_RIP] = rip == (greg_t)(intptr_t)fault_load_at
                                        ? (greg_t)(intptr_t)fault_load_on
                                        : (greg_t)(intptr_t)fault_illegal_on;
}

static void twice(void)
{
    struct sigaction action = {0};
    action.sa_sigaction = fault_in_handler;
    action.sa_flags = SA_SIGINFO;
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0 && sigaction(SIGILL, &action, NULL) == 0);
    fault_illegal();
    printf("handlers: %d\n", inner);
}

/* Frames of other signals tell of the last fault of the program, and of no other. */
static void tell(int signal_, siginfo_t *info, void *context)
{
    ucontext_t *c = context;
    const greg_t *r = c->uc_mcontext.gregs;
    (void)info;
    printf("signal %d: error %llx, number %lld, address %llx\n", signal_, r[REG_ERR], r[REG_TRAPNO],
           r[REG_CR2]);
    if (signal_ == SIGSEGV)
        c->uc_mcontext.gregs[REG_RIP] = (greg_t)(intptr_t)fault_load_on;
    if (signal_ == SIGILL)
        c->uc_mcontext.gregs[REG_RIP] = (greg_t)(intptr_t)fault_illegal_on;
}

static void told(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = tell;
    for (int i = 0; i < 3; i++)
        CHECK(sigaction((int[]){SIGSEGV, SIGILL, SIGUSR1}[i], &action, NULL) == 0);
    CHECK(access((const char *)1, 0) != 0); /* a bad address in a call */
    raise(SIGUSR1);
    fault_load();
    raise(SIGUSR1);
    fault_illegal();
    raise(SIGUSR1);
}

/* The same by the kernel itself, once the engine has let the program go: for a call of 32-bit
 * programs that maps. */
static void let_go(void)
{
    long number = 125; /* mprotect, of no page */
    __asm__ volatile("int $0x80"
                     : "+a"(number)
                     : "b"(1), "c"(0), "d"(0)
                     : "r8", "r9", "r10", "r11");
}

static void told_unobserved(void (*before)(void))
{
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = tell;
    for (int i = 0; i < 3; i++)
        CHECK(sigaction((int[]){SIGSEGV, SIGILL, SIGUSR1}[i], &action, NULL) == 0);
    if (before)
        before();
    for (int i = 0; i < 100; i++)
        CHECK(access((const char *)1, 0) != 0);
    let_go();
    raise(SIGUSR1);
    fault_load();
    raise(SIGUSR1);
}

static void told_of_nothing(void)
{
    told_unobserved(NULL);
}

static void told_of_load(void)
{
    told_unobserved(fault_load);
}

static void told_of_illegal(void)
{
    told_unobserved(fault_illegal);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"fixups", fixups},
        {"truncated", truncated},
        {"default", default_action},
        {"ignored", ignored},
        {"blocked", blocked},
        {"twice", twice},
        {"told", told},
        {"told_of_nothing", told_of_nothing},
        {"told_of_load", told_of_load},
        {"told_of_illegal", told_of_illegal},
        {NULL, NULL},
    };
    return run_part(parts, argc, argv);
}
