// SPDX-License-Identifier: MIT
/*
 * The qemu engine's inner half: a TCG plugin that runs inside qemu-user.
 *
 * At translation each QEMU block becomes a segment of the arena's code map. At execution its id is
 * written to the thread's ring, which is all the work on the executed path. QEMU ends its blocks
 * where it likes (pages, REP instructions, length), and async signals only come between them; the
 * reader turns them into the program's own blocks (stream/cursor_blocks.c).
 *
 * QEMU calls the translation callback under its mmap lock, so the tables here need no lock.
 */
#include "engine/arena.h"
#include "engine/qemu/plugin_api.h"
#include "engine/qemu/plugin_arm.h"
#include "engine/qemu/plugin_modules.h"
#include "engine/qemu/plugin_syscalls.h"
#include "hotpath/isa.h"
#include "hotpath/stream.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_INTERFACE_VERSION;
QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                           char **argv);

static struct hp_arena *arena;
static const struct hp_syscalls *syscalls;
static bool is_arm, is_32bit;
static uint64_t guest_base; /* host address = guest address + this; known after the first block */
static pthread_key_t thread_key;

static __thread struct hp_writer writer __attribute__((tls_model("initial-exec")));
static __thread bool thread_known __attribute__((tls_model("initial-exec")));
static __thread bool just_forked __attribute__((tls_model("initial-exec")));
static __thread uint64_t call_since __attribute__((tls_model("initial-exec")));
static __thread uint32_t child_serial __attribute__((tls_model("initial-exec")));

/* --- Execution -------------------------------------------------------------------------------- */

/* Makes room, then writes the word. */
static __attribute__((noinline, cold)) void refill_and_put(uint32_t word)
{
    if (!thread_known) {
        thread_known = true;
        pthread_setspecific(thread_key, &writer); /* for the destructor: end of the thread */
    }
    hp_writer_refill(arena, &writer);
    *writer.next++ = word;
}

/* The executed path. The rare case is a tail call, so that this needs no stack frame. */
static void on_exec(unsigned cpu, void *data)
{
    (void)cpu;
    uint32_t *next = writer.next;
    if (__builtin_expect(next == writer.end, 0)) {
        refill_and_put((uint32_t)(uintptr_t)data);
        return;
    }
    *next = (uint32_t)(uintptr_t)data;
    writer.next = next + 1;
}

/* A block for which the code map had no room. */
static void on_exec_lost(unsigned cpu, void *data)
{
    (void)cpu;
    (void)data;
    static const uint32_t unknown[2] = {0, 0};
    hp_writer_event(arena, &writer, hp_word_event(HP_WORD_LOST, HP_LOST_CODE_FULL), unknown, 2);
}

static const struct hp_arena_segment *stored(uint32_t id)
{
    return hp_arena_store(arena, hp_arena_segment_index(arena)[id]);
}

/* --- Signal handlers -------------------------------------------------------------------------- */

/*
 * The interface does not announce signals. The reader recognizes a signal by its arrival at a
 * handler. Handlers are announced in the stream of each thread just before they run there.
 */
#define MAX_HANDLERS 256
static struct {
    uint64_t address;
    uint32_t signal;
} handlers[MAX_HANDLERS];
static _Atomic uint32_t n_handlers;

static bool is_handler(uint64_t address)
{
    for (uint32_t i = 0; i < n_handlers && i < MAX_HANDLERS; i++)
        if (handlers[i].address == address)
            return true;
    return false;
}

/* Announces a handler, once for each signal it was installed for. */
static void put_handler(uint64_t address)
{
    uint32_t payload[2] = {(uint32_t)address, (uint32_t)(address >> 32)};
    for (uint32_t i = 0; i < n_handlers && i < MAX_HANDLERS; i++)
        if (handlers[i].address == address)
            hp_writer_event(arena, &writer, hp_word_event(HP_WORD_HANDLER, handlers[i].signal),
                            payload, 2);
}

static void on_exec_handler(unsigned cpu, void *data)
{
    put_handler(stored((uint32_t)(uintptr_t)data)->start);
    on_exec(cpu, data);
}

/* --- Translation ------------------------------------------------------------------------------ */

/*
 * Segments by their code, so that a block that QEMU translates again gets its old id. Open
 * addressing over ids; the code is in the arena.
 */
static struct {
    uint32_t *ids;
    size_t mask, used;
} known;

static uint64_t hash_code(const struct hp_arena_segment *segment, const uint8_t *bytes)
{
    uint64_t h = segment->start * 0x9e3779b97f4a7c15u + segment->module;
    for (uint32_t i = 0; i < segment->size; i++)
        h = (h ^ bytes[i]) * 0x100000001b3u;
    return h ^ h >> 29;
}

static void remember(uint32_t id)
{
    if (known.used * 2 >= known.mask) {
        size_t count = known.mask ? (known.mask + 1) * 2 : 1 << 14;
        uint32_t *old = known.ids, *grown = calloc(count, sizeof *grown);
        if (!grown)
            return; /* it costs only duplicates */
        size_t old_count = old ? known.mask + 1 : 0;
        known.ids = grown;
        known.mask = count - 1;
        known.used = 0;
        for (size_t i = 0; i < old_count; i++)
            if (old[i])
                remember(old[i]);
        free(old);
    }
    const struct hp_arena_segment *s = stored(id);
    size_t i = hash_code(s, (const uint8_t *)(s + 1)) & known.mask;
    while (known.ids[i])
        i = (i + 1) & known.mask;
    known.ids[i] = id;
    known.used++;
}

static uint32_t find_segment(const struct hp_arena_segment *segment, const uint8_t *bytes)
{
    if (!known.ids)
        return 0;
    for (size_t i = hash_code(segment, bytes) & known.mask; known.ids[i];
         i = (i + 1) & known.mask) {
        const struct hp_arena_segment *s = stored(known.ids[i]);
        if (memcmp(s, segment, sizeof *s) == 0 && memcmp(s + 1, bytes, s->size) == 0)
            return known.ids[i];
    }
    return 0;
}

/* The segment this thread ran last; NULL: not known. */
static const struct hp_arena_segment *ran_before(void)
{
    uint32_t word =
        writer.ring && writer.end - writer.next < HP_ARENA_CHUNK_WORDS ? writer.next[-1] : 0;
    return word && !(word & HP_WORD_EVENT) ? stored(word) : NULL;
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    static uint8_t bytes[1 << 16];
    struct hp_arena_segment segment = {.start = qemu_plugin_tb_vaddr(tb)};
    size_t n = qemu_plugin_tb_n_insns(tb);
    if (is_arm && hp_arm_is_thumb(tb, ran_before()))
        segment.mode = HP_MODE_THUMB;
    for (size_t i = 0; i < n; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        size_t size = qemu_plugin_insn_size(insn);
        if (segment.mode == HP_MODE_THUMB)
            size = hp_arm_thumb_size(qemu_plugin_insn_data(insn));
        if (segment.size + size > sizeof bytes)
            break;
        memcpy(bytes + segment.size, qemu_plugin_insn_data(insn), size);
        segment.size += (uint32_t)size;
    }
    uint64_t host = (uint64_t)(uintptr_t)qemu_plugin_insn_haddr(qemu_plugin_tb_get_insn(tb, 0));
    guest_base = host - segment.start;
    bool is_new = false;
    segment.module = hp_modules_find(arena, host, guest_base, &is_new);
    for (uint32_t gone; (gone = hp_modules_unloaded());)
        hp_writer_event(arena, &writer, hp_word_event(HP_WORD_MODULE, 0), &gone, 1);
    if (is_new)
        hp_writer_event(arena, &writer, hp_word_event(HP_WORD_MODULE, 1), &segment.module, 1);

    uint32_t word = find_segment(&segment, bytes);
    if (!word) {
        word = hp_arena_add_segment(arena, &segment, bytes);
        if (word)
            remember(word);
    }
    if (is_arm)
        hp_arm_remember(&segment);
    qemu_plugin_register_vcpu_tb_exec_cb(tb,
                                         !word                       ? on_exec_lost
                                         : is_handler(segment.start) ? on_exec_handler
                                                                     : on_exec,
                                         QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)word);
}

/* --- System calls ----------------------------------------------------------------------------- */

/* Reads the program's memory; false when it is not mapped. */
static bool read_guest(uint64_t address, void *to, size_t size)
{
    struct iovec local = {to, size};
    struct iovec remote = {(void *)(uintptr_t)(address + guest_base), size};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static void note_handler(uint32_t signal, uint64_t action)
{
    uint64_t address = 0;
    if (!action || !read_guest(action, &address, is_32bit ? 4 : 8) || address <= 1)
        return; /* a query, the default or ignored */
    if (is_arm)
        address &= ~(uint64_t)1;
    bool known = false;
    for (uint32_t i = 0; i < n_handlers && i < MAX_HANDLERS; i++)
        known = known || (handlers[i].address == address && handlers[i].signal == signal);
    uint32_t i = known ? MAX_HANDLERS : atomic_fetch_add(&n_handlers, 1);
    if (i < MAX_HANDLERS) {
        handlers[i].signal = signal;
        handlers[i].address = address;
    }
    put_handler(address); /* for this thread, in case QEMU has translated it already */
}

static void note_exec(uint64_t path)
{
    char text[1024] = "";
    size_t length = 0;
    while (length < sizeof text - 1 && read_guest(path + length, text + length, 1) && text[length])
        length++;
    text[length] = 0;
    struct hp_arena_record record = {.length = (uint32_t)length};
    uint32_t id = hp_arena_add_record(arena, &record, text);
    hp_writer_event(arena, &writer, hp_word_event(HP_WORD_EXEC, 0), &id, 1);
}

/* QEMU's errors: the call will be made again after a signal's handler; it was a signal return. */
#define QEMU_RESTARTS  (-512)
#define QEMU_SIGRETURN (-513)

static void put_call(int64_t number, enum hp_call_end end, uint32_t error, uint64_t ns)
{
    const uint32_t payload[] = {(uint32_t)number, (uint32_t)ns, (uint32_t)(ns >> 32), 0};
    hp_writer_event(arena, &writer, hp_call_word(end, error), payload, 4);
}

/* What never returns is told here, without a time: a signal return returns, but elsewhere. */
static void begin_call(int64_t number)
{
    if (!arena->calls)
        return;
    enum hp_syscall_kind kind = hp_syscall_kind(syscalls, number);
    bool returns =
        kind != HP_SYSCALL_EXIT && kind != HP_SYSCALL_EXECVE && kind != HP_SYSCALL_EXECVEAT;
    call_since = hp_writer_now();
    if (kind == HP_SYSCALL_SIGRETURN)
        put_call(number, HP_CALL_UNTIMED, 0, 0);
    else
        hp_writer_call(&writer, (uint32_t)number, returns ? call_since : 0);
}

static void end_call(int64_t number, int64_t result)
{
    if (!call_since || result == QEMU_SIGRETURN)
        return;
    uint64_t now = hp_writer_now(), ns = now > call_since ? now - call_since : 0;
    if (result == QEMU_RESTARTS)
        put_call(number, HP_CALL_REPEATED, 0, ns);
    else
        put_call(number, HP_CALL_RETURNED, hp_call_error(result), ns);
    hp_writer_called(&writer);
}

static void on_syscall(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t a1, uint64_t a2,
                       uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
    (void)id, (void)cpu, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
    begin_call(number);
    switch (hp_syscall_kind(syscalls, number)) {
    case HP_SYSCALL_SIGACTION: note_handler((uint32_t)a1, a2); break;
    case HP_SYSCALL_SIGRETURN:
        hp_writer_event(arena, &writer, hp_word_event(HP_WORD_SIGRETURN, 0), NULL, 0);
        break;
    case HP_SYSCALL_EXECVE: note_exec(a1); break;
    case HP_SYSCALL_EXECVEAT: note_exec(a2); break;
    case HP_SYSCALL_MAP: hp_modules_changed(); break;
    case HP_SYSCALL_EXIT:
    case HP_SYSCALL_OTHER: break;
    }
}

static void on_syscall_return(qemu_plugin_id_t id, unsigned cpu, int64_t number, int64_t result)
{
    (void)id, (void)cpu;
    if (just_forked) {
        just_forked = false;
        uint32_t pid = result > 0 ? (uint32_t)result : 0;
        hp_writer_event(arena, &writer, hp_word_event(HP_WORD_FORK, 0), &pid, 1);
    }
    switch (hp_syscall_kind(syscalls, number)) {
    case HP_SYSCALL_EXECVE:
    case HP_SYSCALL_EXECVEAT: /* returns only when it failed */
        hp_writer_event(arena, &writer, hp_word_event(HP_WORD_EXEC_FAILED, 0), NULL, 0);
        break;
    case HP_SYSCALL_MAP: hp_modules_changed(); break;
    default: break;
    }
    end_call(number, result);
}

/* --- Start and end ---------------------------------------------------------------------------- */

static void on_thread_exit(void *data)
{
    (void)data;
    hp_writer_finish(arena, &writer, HP_END_EXIT);
}

static void before_fork(void)
{
    if (arena->follow)
        child_serial = hp_writer_before_fork(arena);
}

static void after_fork_parent(void)
{
    just_forked = true;
}

static void after_fork_child(void)
{
    hp_writer_after_fork(&writer, child_serial, arena->follow != 0);
    call_since = 0; /* the call is the parent's */
}

/* The process exits normally: marks all its threads. */
static void on_exit_process(qemu_plugin_id_t id, void *data)
{
    (void)id, (void)data;
    int32_t pid = getpid();
    uint64_t now = hp_writer_now();
    for (uint32_t i = 0; i < arena->rings_used; i++)
        if (arena->rings[i].pid == pid && arena->rings[i].state == HP_RING_ACTIVE) {
            atomic_store(&arena->rings[i].ended, now);
            atomic_store(&arena->rings[i].end_reason, HP_END_EXIT);
        }
}

/* QEMU reports a fatal signal on stderr; the program alone would not. All other output passes. */
static ssize_t filter_stderr(void *cookie, const char *text, size_t size)
{
    (void)cookie;
    static const char uncaught[] = "qemu: uncaught target signal";
    if (size >= sizeof uncaught - 1 && memcmp(text, uncaught, sizeof uncaught - 1) == 0)
        return (ssize_t)size;
    return write(STDERR_FILENO, text, size);
}

static void quiet_stderr(void)
{
    FILE *file = fopencookie(NULL, "w", (cookie_io_functions_t){.write = filter_stderr});
    if (!file)
        return;
    setvbuf(file, NULL, _IOLBF, 1024);
    stderr = file;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    int fd = -1;
    for (int i = 0; i < argc; i++)
        if (strncmp(argv[i], "fd=", 3) == 0)
            fd = atoi(argv[i] + 3);
        else if (strncmp(argv[i], "comm=", 5) == 0)
            prctl(PR_SET_NAME, argv[i] + 5);
    arena = fd >= 0 ? hp_arena_map(fd) : NULL;
    if (!arena) {
        fprintf(stderr, "hotpath: the plugin was started without its shared memory\n");
        return -1;
    }
    close(fd);
    syscalls = hp_syscalls_for(info->target_name);
    is_arm = strcmp(info->target_name, "arm") == 0;
    is_32bit = is_arm;
    quiet_stderr();
    pthread_key_create(&thread_key, on_thread_exit);
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
    qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
    qemu_plugin_register_vcpu_syscall_ret_cb(id, on_syscall_return);
    qemu_plugin_register_atexit_cb(id, on_exit_process, NULL);
    atomic_store(&arena->attached, 1);
    return 0;
}
