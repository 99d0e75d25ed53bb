// SPDX-License-Identifier: MIT
/*
 * The native engine starts here, in place of the program: with its arguments, its environment and
 * its stack.
 */
#include "engine/native/inner/cache.h"
#include "engine/native/inner/cpu.h"
#include "engine/native/inner/sys.h"
#include "engine/native/start.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <string.h>
#include <sys/resource.h>

#define FD_MAX (1 << 20) /* more than an unprivileged process can have open */

struct hp_engine hp_engine;

_Noreturn void hp_main(uint64_t *stack, const Elf64_Dyn *dynamic);

static struct hp_start *start; /* NULL: not known yet */
static uint64_t *first_stack;  /* as the kernel made it */

static _Noreturn void end(int status)
{
    for (;;)
        hp_sys1(SYS_exit_group, status);
}

static _Noreturn void fail(const char *text)
{
    hp_say(text, NULL);
    end(125);
}

/* Writes to the file: it may not be mapped. */
static void tell_why(const char *what, const char *why)
{
    char text[HP_ARENA_WHY] = "";
    uint32_t n = 0;
    size_t length = strlen(what), rest = strlen(why);
    if (length + rest + 3 <= sizeof text) {
        memcpy(text, what, length);
        memcpy(text + length, ": ", 2);
        memcpy(text + length + 2, why, rest);
    }
    hp_sys4(SYS_pwrite64, hp_engine.arena_fd, (long)text, sizeof text,
            offsetof(struct hp_arena, natively_why));
    hp_sys4(SYS_pread64, hp_engine.arena_fd, (long)&n, sizeof n,
            offsetof(struct hp_arena, natively));
    n++;
    hp_sys4(SYS_pwrite64, hp_engine.arena_fd, (long)&n, sizeof n,
            offsetof(struct hp_arena, natively));
}

static _Noreturn void execute(void)
{
    uint64_t *argv = first_stack + 1, *envp = argv + first_stack[0] + 1;
    long error = hp_sys3(SYS_execve, (long)start->path, (long)argv, (long)envp);
    hp_say(start->path, "cannot be executed");
    end(error == -ENOENT ? 127 : 126);
}

void hp_run_natively(const char *what, const char *why)
{
    tell_why(what, why);
    execute();
}

/* --- The engine itself ------------------------------------------------------------------------ */

/* The engine is position-independent and has no loader: relocates itself. */
static void relocate(const Elf64_Dyn *dynamic)
{
    extern const char __ehdr_start[] __attribute__((visibility("hidden")));
    uint64_t base = (uint64_t)(uintptr_t)__ehdr_start;
    const Elf64_Rela *rela = NULL;
    uint64_t size = 0;
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == DT_RELA)
            rela = (const Elf64_Rela *)(base + dynamic->d_un.d_ptr);
        if (dynamic->d_tag == DT_RELASZ)
            size = dynamic->d_un.d_val;
    }
    for (uint64_t i = 0; i < size / sizeof *rela; i++)
        if (ELF64_R_TYPE(rela[i].r_info) == R_X86_64_RELATIVE)
            *(uint64_t *)(base + rela[i].r_offset) = base + (uint64_t)rela[i].r_addend;
}

uint64_t hp_engine_ticks(void)
{
    uint32_t low, high;
    if (hp_engine.has_no_clock)
        return 0;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

uint64_t hp_engine_now(void)
{
    const struct hp_ticks *known = &hp_engine.arena->ticks;
    uint64_t rate = atomic_load_explicit(&known->rate, memory_order_relaxed);
    if (!rate || hp_engine.has_no_clock)
        return hp_writer_now();
    return hp_ticks_to_ns(known, rate, hp_engine_ticks());
}

uint64_t hp_engine_ns(uint64_t ticks)
{
    struct {
        int64_t s, ns;
    } now;
    hp_sys2(SYS_clock_gettime, 1, (long)&now);
    uint64_t ns = (uint64_t)now.s * 1000000000u + (uint64_t)now.ns - hp_engine.ns_start;
    uint64_t tsc = hp_engine_ticks() - hp_engine.tsc_start;
    uint64_t ticks_a_microsecond = ns > 1000 ? tsc / (ns / 1000) : 0;
    return ticks_a_microsecond ? ticks / ticks_a_microsecond * 1000 : 0;
}

static void start_clock(void)
{
    struct {
        int64_t s, ns;
    } now;
    int mode = PR_TSC_ENABLE;
    hp_sys2(SYS_prctl, PR_GET_TSC, (long)&mode);
    hp_engine.has_no_clock = mode != PR_TSC_ENABLE;
    hp_sys2(SYS_clock_gettime, 1, (long)&now);
    hp_engine.ns_start = (uint64_t)now.s * 1000000000u + (uint64_t)now.ns;
    hp_engine.tsc_start = hp_engine_ticks();
}

/* --- Reading the start block ------------------------------------------------------------------ */

/* Whether the descriptor is the start block. Reading a few bytes to find out is safe only for
 * memory files, which have seals. */
static bool read_block(int fd, struct hp_start *block)
{
    return hp_sys2(SYS_fcntl, fd, F_GET_SEALS) >= 0 &&
           hp_sys4(SYS_pread64, fd, (long)block, sizeof *block, 0) == (long)sizeof *block &&
           block->magic == HP_START_MAGIC;
}

/* Tries all descriptors, from the lowest: /proc may not be available. */
static int find_start(struct hp_start *block)
{
    for (int fd = 0; fd < FD_MAX; fd++)
        if (read_block(fd, block))
            return fd;
    return -1;
}

static void read_start(void)
{
    static struct hp_start block;
    int fd = find_start(&block);
    if (fd < 0)
        fail("hotpath-engine is started by hotpath: use hotpath run -- PROGRAM");
    hp_sys1(SYS_close, fd);
    start = &block;
    if (start->is_let_go)
        execute();
    hp_engine.arena_fd = start->arena_fd;
    hp_engine.engine_fd = start->engine_fd;
    hp_sys3(SYS_fcntl, start->arena_fd, F_SETFD, FD_CLOEXEC);
    hp_sys3(SYS_fcntl, start->engine_fd, F_SETFD, FD_CLOEXEC);
    hp_engine.arena_id = hp_file_id(start->arena_fd);
    hp_engine.engine_id = hp_file_id(start->engine_fd);
    hp_engine.program_path = start->path;
}

/* --- The program's initial state -------------------------------------------------------------- */

static Elf64_auxv_t *find_auxv(uint64_t *stack)
{
    uint64_t *at = stack + 1 + stack[0] + 1; /* after argc, argv and its terminator */
    while (*at++)
        ;
    return (Elf64_auxv_t *)at;
}

/* Stores the program's arguments, with blanks between them; a long line is cut. */
static void describe_command(const uint64_t *stack)
{
    char line[256];
    size_t length = 0;
    for (uint64_t i = 0; i < stack[0]; i++) {
        const char *argument = (const char *)(uintptr_t)stack[1 + i];
        if (i && length < sizeof line - 1)
            line[length++] = ' ';
        while (*argument && length < sizeof line - 1)
            line[length++] = *argument++;
    }
    line[length] = 0;
    struct hp_arena_record record = {.length = (uint32_t)length};
    hp_writer_set_command(hp_arena_add_record(hp_engine.arena, &record, line));
}

/* The smaller of the process's limits; unlimited is just a large number. */
static uint64_t find_room(void)
{
    uint64_t space[2] = {UINT64_MAX}, data[2] = {UINT64_MAX};
    hp_sys4(SYS_prlimit64, 0, RLIMIT_AS, 0, (long)space);
    hp_sys4(SYS_prlimit64, 0, RLIMIT_DATA, 0, (long)data);
    return space[0] < data[0] ? space[0] : data[0];
}

static uint64_t find_stack_limit(void)
{
    uint64_t limit[2] = {0};
    hp_sys4(SYS_prlimit64, 0, RLIMIT_STACK, 0, (long)limit);
    return limit[0];
}

/* The family of a processor by AMD; 0: by others. */
static uint32_t amd_family(void)
{
    uint32_t vendor[4], version[4];
    hp_cpuid(0, 0, vendor);
    hp_cpuid(1, 0, version);
    bool is_amd = vendor[2] == 0x444d4163; /* "cAMD" */
    return is_amd ? (version[0] >> 8 & 15) + (version[0] >> 20 & 255) : 0;
}

/* Has PEXT, but not AMD's before family 25, which takes hundreds of cycles. */
static bool has_fast_pext(void)
{
    uint32_t vendor[4], features[4];
    hp_cpuid(0, 0, vendor);
    if (vendor[0] < 7)
        return false;
    hp_cpuid(7, 0, features);
    return features[1] >> 8 & 1 && (!amd_family() || amd_family() >= 25);
}

/* LOOP is one operation on AMD's since family 21; on Intel's it takes 7. */
static bool has_fast_loop(void)
{
    return amd_family() >= 21;
}

static bool has_xsave(void)
{
    uint32_t features[4];
    hp_cpuid(1, 0, features);
    return features[2] >> 27 & 1; /* and the kernel uses it */
}

static void look_at_auxv(const Elf64_auxv_t *auxv)
{
    for (; auxv->a_type != AT_NULL; auxv++) {
        if (auxv->a_type == AT_HWCAP2)
            hp_engine.has_fsgsbase = auxv->a_un.a_val & 2;
        if (auxv->a_type == AT_MINSIGSTKSZ)
            hp_engine.stack_for_signals = auxv->a_un.a_val;
        if (auxv->a_type == AT_SYSINFO_EHDR)
            hp_maps_vdso(auxv->a_un.a_val);
    }
}

static void fix_auxv(Elf64_auxv_t *auxv, const struct hp_image *image, const char *name)
{
    for (; auxv->a_type != AT_NULL; auxv++)
        switch (auxv->a_type) {
        case AT_PHDR: auxv->a_un.a_val = image->headers; break;
        case AT_PHENT: auxv->a_un.a_val = image->header_size; break;
        case AT_PHNUM: auxv->a_un.a_val = image->n_headers; break;
        case AT_BASE: auxv->a_un.a_val = image->interpreter; break;
        case AT_ENTRY: auxv->a_un.a_val = image->program_entry; break;
        case AT_EXECFN: auxv->a_un.a_val = (uint64_t)(uintptr_t)name; break;
        default: break;
        }
}

/* The process ran another program before: ends its rings. */
static void end_former_program(uint32_t process)
{
    struct hp_arena *arena = hp_engine.arena;
    for (uint32_t i = 0; i < atomic_load(&arena->rings_used) && i < arena->shape.rings; i++)
        if (process && arena->rings[i].process == process &&
            atomic_load(&arena->rings[i].state) == HP_RING_ACTIVE) {
            if (!atomic_load(&arena->rings[i].ended))
                atomic_store(&arena->rings[i].ended, hp_writer_now());
            atomic_store(&arena->rings[i].end_reason, HP_END_EXEC);
            atomic_store(&arena->rings[i].state, HP_RING_FINISHED);
        }
}

/* For tests: HOTPATH_CACHE=twice behaves as if memory could not be both writable and executable;
 * HOTPATH_CACHE=flush drops all translations every now and then; HOTPATH_CACHE=old uses no
 * instruction that some processors lack, or execute slowly. */
static bool wants(const uint64_t *stack, const char *what)
{
    for (const uint64_t *at = stack + 1 + stack[0] + 1; *at; at++)
        if (strcmp((const char *)*at, what) == 0)
            return true;
    return false;
}

void hp_main(uint64_t *stack, const Elf64_Dyn *dynamic)
{
    relocate(dynamic);
    start_clock();
    first_stack = stack;
    read_start();
    hp_engine.arena = hp_arena_map(hp_engine.arena_fd);
    if (!hp_engine.arena)
        hp_run_natively("the shared memory cannot be mapped", "raise the limit (ulimit -v)");
    hp_engine.mode = (enum hp_record_mode)hp_engine.arena->mode;
    Elf64_auxv_t *auxv = find_auxv(stack);
    look_at_auxv(auxv);
    hp_engine.room = find_room();
    hp_limits_start();
    hp_engine.stack_limit = find_stack_limit();
    hp_engine.is_filtered = start->is_filtered;
    hp_engine.leaves_fatal = start->leaves_fatal;
    bool is_old = wants(stack, "HOTPATH_CACHE=old");
    hp_engine.has_pext = !is_old && has_fast_pext();
    hp_engine.has_loop = !is_old && has_fast_loop();
    hp_engine.has_xsave = has_xsave();
    const char *slash = strrchr(start->name, '/');
    hp_sys2(SYS_prctl, PR_SET_NAME, (long)(slash ? slash + 1 : start->name));
    end_former_program(start->former);
    struct hp_image image;
    hp_load(start->path, &image); /* first: it may need certain addresses */
    hp_areas_twice = wants(stack, "HOTPATH_CACHE=twice");
    hp_engine.flushes_often = wants(stack, "HOTPATH_CACHE=flush");
    hp_cache_start();
    struct hp_self *self = hp_thread_new();
    if (!self)
        hp_run_natively("there is no memory for a thread", "raise the limits (ulimit -v, -d)");
    hp_thread_adopt(self);
    fix_auxv(auxv, &image, start->name);
    if (image.executable_stack)
        hp_sys3(SYS_mprotect, (long)stack & -4096, 4096,
                PROT_READ | PROT_WRITE | PROT_EXEC | PROT_GROWSDOWN);
    self->writer.serial = start->serial;
    describe_command(stack);
    hp_thread_start(self);
    hp_signals_start(self);
    atomic_fetch_add(&hp_engine.arena->stats.processes, 1);
    atomic_store(&hp_engine.arena->attached, 1);
    self->regs.r[RSP] = (uint64_t)(uintptr_t)stack;
    self->regs.flags = 0x202;
    hp_go_on(self, image.entry);
}
