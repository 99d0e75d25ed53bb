// SPDX-License-Identifier: MIT
/*
 * Executing another program. It is located as the kernel would, through scripts. If it can be
 * observed, the engine is executed in its place, with instructions what to load.
 *
 * Anything unusual or wrong on the way is left to the kernel: the program's own exec is made, which
 * gives the right error, or the right program, unobserved.
 *
 * A child of vfork() comes here with its parent's memory: what it maps stays mapped there after the
 * exec. So everything is on the stack, except for the arguments of a script when they are many. No
 * state is static: other threads may be here too.
 */
#include "engine/native/inner/inner.h"
#include "engine/native/inner/sys.h"
#include "engine/native/start.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#ifndef AT_EXECVE_CHECK
#define AT_EXECVE_CHECK 0x10000 /* since Linux 6.14; older kernels return EINVAL */
#endif

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8
#endif

#define SCRIPT_LEVELS 5    /* the kernel's limit */
#define HEAD_SIZE     256  /* bytes of a file that it reads */
#define ARGS_ON_STACK 2048 /* 16 KiB */
#define FD_PATH       48   /* room for "/proc/thread-self/fd/N" */

enum { DIRFD, PATH, ARGV, ENVP, FLAGS }; /* of the arguments of execveat */

/* A script's first line, split into words. */
struct script {
    char head[HEAD_SIZE];
    const char *interpreter;
    const char *argument; /* NULL: none */
};

struct plan {
    const char *path;      /* as the program gave it: the tail of start.name */
    bool is_program_again; /* it is /proc/self/exe, the engine: means hp_engine.program_path */
    int dirfd;             /* the current file, as it was named */
    const char *named;
    const char *why; /* reason it is not observed, if the file does not show it; or NULL */
    int n_scripts;
    struct script scripts[SCRIPT_LEVELS];
    struct hp_start start;
};

static void close_fd(int fd)
{
    hp_sys1(SYS_close, fd);
}

/* --- Text ------------------------------------------------------------------------------------- */

/* A name for the open file. Not through /proc/self: a thread may have its own descriptors. */
static void fd_path(char to[FD_PATH], int fd)
{
    static const char folder[] = "/proc/thread-self/fd/";
    memcpy(to, folder, sizeof folder);
    hp_put_number(to + sizeof folder - 1, fd);
}

/* Copies a string of the program; false when it is not readable or does not fit. */
static bool copy_text(char *to, uint64_t size, uint64_t from)
{
    while (size > 0) {
        uint64_t n = 4096 - from % 4096; /* the page after the string's may be unmapped */
        if (n > size)
            n = size;
        if (!hp_copy(to, (const void *)from, n))
            return false;
        if (memchr(to, 0, n))
            return true;
        to += n;
        from += n;
        size -= n;
    }
    return false;
}

/* The name as the kernel sets it in AT_EXECFN: the path, or one made from its descriptor. */
static bool copy_path(struct plan *plan, const uint64_t args[5])
{
    char *name = plan->start.name, first;
    int dirfd = (int)args[DIRFD];
    if (!hp_copy(&first, (const void *)args[PATH], 1))
        return false;
    if (dirfd != AT_FDCWD && first != '/') {
        memcpy(name, "/dev/fd/", 8);
        name = hp_put_number(name + 8, dirfd);
        if (first)
            *name++ = '/';
    }
    uint64_t room = sizeof plan->start.name - (uint64_t)(name - plan->start.name);
    plan->path = name;
    return copy_text(name, room, args[PATH]);
}

/* --- Files ------------------------------------------------------------------------------------ */

/* Opens what execveat would execute, as a path only (O_PATH). */
static int open_named(struct plan *plan, int dirfd, const char *path, int flags)
{
    plan->dirfd = dirfd;
    plan->named = path;
    char by_fd[FD_PATH];
    int mode = O_PATH | O_CLOEXEC | (flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0);
    if (!*path && flags & AT_EMPTY_PATH) {
        fd_path(by_fd, dirfd);
        path = by_fd;
        mode &= ~O_NOFOLLOW;
    }
    return (int)hp_sys4(SYS_openat, dirfd, (long)path, mode, 0);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Without /proc: reopens by name the file of an O_PATH descriptor, if it is still the same. */
static int open_again(const struct plan *plan, int named)
{
    struct stat st, again;
    if (hp_sys_failed(hp_sys2(SYS_fstat, named, (long)&st)) || !S_ISREG(st.st_mode))
        return -ENOENT;
    int fd = (int)hp_sys4(SYS_openat, plan->dirfd, (long)plan->named,
                          O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0 || (!hp_sys_failed(hp_sys2(SYS_fstat, fd, (long)&again)) && same_file(&st, &again)))
        return fd;
    close_fd(fd);
    return -ENOENT;
}

/* Reopens an O_PATH descriptor for reading, and closes it. */
static int open_readable(const struct plan *plan, int named)
{
    char path[FD_PATH];
    fd_path(path, named);
    int fd = (int)hp_sys4(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd == -ENOENT)
        fd = open_again(plan, named);
    close_fd(named);
    return fd;
}

static bool is_file(int fd, const struct hp_file_id *wanted)
{
    struct hp_file_id id = hp_file_id(fd);
    return id.inode && id.inode == wanted->inode && id.device == wanted->device;
}

/* Whether the path is a link to a process's program: /proc/self/exe and the like. */
static bool is_exe_link(int dirfd, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (strcmp(slash ? slash + 1 : path, "exe") != 0)
        return false;
    int fd = (int)hp_sys4(SYS_openat, dirfd, (long)path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    struct stat st;
    struct statfs fs;
    bool is = !hp_sys_failed(hp_sys2(SYS_fstat, fd, (long)&st)) && S_ISLNK(st.st_mode) &&
              !hp_sys_failed(hp_sys2(SYS_fstatfs, fd, (long)&fs)) && fs.f_type == PROC_SUPER_MAGIC;
    close_fd(fd);
    return is;
}

/*
 * Whether the kernel would execute this, argv and envp included, as far as can be known without
 * doing so. On older kernels only the permission is checked.
 */
static bool may_execute(int dirfd, const char *path, const uint64_t args[5], int flags)
{
    const char *argv[] = {path, NULL}, *envp[] = {NULL};
    long result = hp_sys6(SYS_execveat, dirfd, (long)path, args ? (long)args[ARGV] : (long)argv,
                          args ? (long)args[ENVP] : (long)envp, flags | AT_EXECVE_CHECK, 0);
    if (result != -EINVAL && result != -ENOSYS)
        return !hp_sys_failed(result);
    result = hp_sys4(SYS_faccessat2, dirfd, (long)path, X_OK,
                     (flags & (AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW)) | AT_EACCESS);
    if (result == -ENOSYS && *path)
        result = hp_sys3(SYS_faccessat, dirfd, (long)path, X_OK);
    return !hp_sys_failed(result);
}

/* Whether the program would run with other privileges: an engine could not get those. */
static bool gains_rights(int fd, const struct stat *st)
{
    if (hp_sys6(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0, 0) == 1)
        return false;
    if (st->st_mode & S_ISUID && st->st_uid != (uid_t)hp_sys1(SYS_geteuid, 0))
        return true;
    if (st->st_mode & S_ISGID && st->st_mode & S_IXGRP &&
        st->st_gid != (gid_t)hp_sys1(SYS_getegid, 0))
        return true;
    return hp_sys4(SYS_fgetxattr, fd, (long)"security.capability", 0, 0) > 0;
}

/* Without /proc: the name by which the file was opened, made absolute. Returns its length, 0:
 * none. */
static uint64_t join_name(const struct plan *plan, char *to, uint64_t size)
{
    uint64_t length = strlen(plan->named), n = 0;
    if (plan->named[0] != '/') {
        long got =
            plan->dirfd == AT_FDCWD && length ? hp_sys2(SYS_getcwd, (long)to, (long)size) : 0;
        if (got <= 0 || (uint64_t)got + length >= size) /* including the terminator */
            return 0;
        n = (uint64_t)got;
        to[n - 1] = '/';
    }
    if (n + length >= size)
        return 0;
    memcpy(to + n, plan->named, length);
    return n + length;
}

/* The file's absolute name, if the engine will find it by that. */
static bool name_file(struct plan *plan, int fd, const struct stat *st)
{
    char path[FD_PATH], *to = plan->start.path;
    struct stat named;
    fd_path(path, fd);
    long n = hp_sys3(SYS_readlink, (long)path, (long)to, sizeof plan->start.path);
    if (n == -ENOENT)
        n = (long)join_name(plan, to, sizeof plan->start.path);
    if (n <= 0 || (uint64_t)n >= sizeof plan->start.path)
        return false;
    to[n] = 0;
    return to[0] == '/' && !hp_sys_failed(hp_sys2(SYS_stat, (long)to, (long)&named)) &&
           same_file(st, &named);
}

/* --- Scripts ---------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The first non-blank up to `last`; NULL: none. */
static char *skip_blanks(char *at, char *last)
{
    for (; at <= last; at++)
        if (!is_blank(*at))
            return at;
    return NULL;
}

/* The first blank or 0, up to `last`; NULL: none. */
static char *skip_word(char *at, char *last)
{
    for (; at <= last; at++)
        if (is_blank(*at) || !*at)
            return at;
    return NULL;
}

/* The end of a first line: its newline, or the end of `head` if the name in it is complete. */
static char *line_end(char *head)
{
    char *last = head + HEAD_SIZE - 1;
    for (char *at = head; at <= last && *at; at++)
        if (*at == '\n')
            return at;
    char *name = skip_blanks(head + 2, last);
    return name && skip_word(name, last) ? last : NULL;
}

/* Splits a first line into words as the kernel does; false when the kernel would reject it. */
static bool read_script(struct script *script)
{
    char *head = script->head;
    char *end = line_end(head);
    if (!end)
        return false;
    while (is_blank(end[-1]))
        end--;
    *end = 0;
    char *name = skip_blanks(head + 2, end);
    if (!name || !*name)
        return false;
    char *after = skip_word(name, end);
    script->interpreter = name;
    script->argument = NULL;
    if (after && *after) {
        char *argument = skip_blanks(after, end);
        script->argument = argument && *argument ? argument : NULL;
        *after = 0;
    }
    return true;
}

/* A script given by a descriptor cannot be opened after that is closed. */
static bool script_stays(const struct plan *plan, const uint64_t args[5])
{
    if (plan->path == plan->start.name)
        return true;
    long flags = hp_sys2(SYS_fcntl, (int)args[DIRFD], F_GETFD);
    return !hp_sys_failed(flags) && !(flags & FD_CLOEXEC);
}

/* --- Deciding --------------------------------------------------------------------------------- */

static bool is_our_elf(const char head[HEAD_SIZE])
{
    Elf64_Ehdr header;
    memcpy(&header, head, sizeof header);
    return memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
           header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_machine == EM_X86_64 &&
           (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

/* The file's first bytes, padded with zeros. */
static void read_head(int fd, char head[HEAD_SIZE])
{
    memset(head, 0, HEAD_SIZE);
    long n = 0;
    for (long done = 0; done < HEAD_SIZE; done += n) {
        n = hp_sys4(SYS_pread64, fd, (long)(head + done), HEAD_SIZE - done, done);
        if (n <= 0)
            return;
    }
}

/* Whether the program's interpreter exists, if it names one. Otherwise the kernel reports the
 * error. */
static bool has_interpreter(int fd, const char head[HEAD_SIZE])
{
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    char path[PATH_MAX];
    memcpy(&header, head, sizeof header);
    for (unsigned i = 0; i < header.e_phnum; i++) {
        long at = (long)(header.e_phoff + i * sizeof segment);
        if (hp_sys4(SYS_pread64, fd, (long)&segment, sizeof segment, at) != (long)sizeof segment)
            return false;
        if (segment.p_type != PT_INTERP)
            continue;
        uint64_t size = segment.p_filesz;
        return size > 1 && size <= sizeof path &&
               hp_sys4(SYS_pread64, fd, (long)path, (long)size, (long)segment.p_offset) ==
                   (long)size &&
               path[size - 1] == 0 && may_execute(AT_FDCWD, path, NULL, 0);
    }
    return true;
}

static bool can_observe(struct plan *plan, int fd, const char head[HEAD_SIZE])
{
    struct stat st;
    return is_our_elf(head) && !hp_sys_failed(hp_sys2(SYS_fstat, fd, (long)&st)) &&
           S_ISREG(st.st_mode) && !gains_rights(fd, &st) && has_interpreter(fd, head) &&
           name_file(plan, fd, &st);
}

/* Follows scripts from the file in `named`, which is closed, to the program that would run; false
 * when it should not be observed. */
static bool find_program(struct plan *plan, int named, const uint64_t args[5])
{
    char head[HEAD_SIZE];
    for (;;) {
        int fd = open_readable(plan, named);
        if (fd < 0)
            return false;
        read_head(fd, head);
        if (head[0] != '#' || head[1] != '!') {
            bool observed = can_observe(plan, fd, head);
            close_fd(fd);
            return observed;
        }
        close_fd(fd);
        if (plan->n_scripts == SCRIPT_LEVELS || !script_stays(plan, args))
            return false;
        struct script *script = &plan->scripts[plan->n_scripts++];
        memcpy(script->head, head, HEAD_SIZE);
        if (!read_script(script) || !may_execute(AT_FDCWD, script->interpreter, NULL, 0))
            return false;
        named = open_named(plan, AT_FDCWD, script->interpreter, 0);
        if (named < 0)
            return false;
    }
}

/* --- Arguments of scripts --------------------------------------------------------------------- */

/* The program's argv[i]; false when it is not readable. */
static bool get_arg(uint64_t argv, uint64_t i, uint64_t *arg)
{
    return hp_copy(arg, (const void *)(argv + i * 8), 8);
}

/* The number of arguments, without the final 0; false when they are not readable. */
static bool count_args(uint64_t argv, uint64_t *n)
{
    uint64_t arg = 1;
    *n = 0;
    if (argv == 0)
        return true;
    while (get_arg(argv, *n, &arg) && arg)
        ++*n;
    return arg == 0;
}

/* The arguments that scripts put before the program's second one, last interpreter first. Each
 * interpreter's name replaces the name it was called by. Returns how many. */
static uint64_t put_script_args(const struct plan *plan, uint64_t *to)
{
    uint64_t n = 0;
    for (int i = plan->n_scripts - 1; i >= 0; i--) {
        const struct script *script = &plan->scripts[i];
        if (i == plan->n_scripts - 1)
            to[n++] = (uint64_t)script->interpreter;
        if (script->argument)
            to[n++] = (uint64_t)script->argument;
        to[n++] = (uint64_t)(i > 0 ? plan->scripts[i - 1].interpreter : plan->start.name);
    }
    return n;
}

/* The arguments including those of scripts; false when the program's are not all readable. `to` has
 * room for `count` of the program's and three per level. */
static bool put_args(const struct plan *plan, uint64_t argv, uint64_t count, uint64_t *to)
{
    uint64_t n = put_script_args(plan, to);
    for (uint64_t i = 1; i < count; i++)
        if (!get_arg(argv, i, &to[n++]))
            return false;
    to[n] = 0;
    return true;
}

/* --- Executing -------------------------------------------------------------------------------- */

/*
 * The exec itself, by execveat() or, with dirfd AT_FDCWD and no flags, execve(), which filters are
 * most likely to allow. The new program inherits the program's mask and pending signals.
 * HP_EXEC_AGAIN: a signal came first, nothing was done.
 */
static long call_exec(struct hp_self *self, const uint64_t args[5])
{
    if (self->has_signal)
        return HP_EXEC_AGAIN;
    struct hp_regs saved = self->regs;
    uint64_t *r = self->regs.r;
    bool plain = (int)args[DIRFD] == AT_FDCWD && (int)args[FLAGS] == 0;
    const uint64_t *first = plain ? &args[PATH] : args;
    r[RAX] = plain ? SYS_execve : SYS_execveat;
    r[RDI] = first[0];
    r[RSI] = first[1];
    r[RDX] = first[2];
    r[R10] = first[3];
    r[R8] = args[FLAGS];
    hp_signals_to_kernel(self, self->mask);
    long result = hp_raw_syscall(self) ? (long)r[RAX] : HP_EXEC_AGAIN;
    self->regs = saved;
    if (!self->has_signal)
        hp_signals_set_mask(self);
    return result;
}

/* As the program requested. */
static long exec_natively(struct hp_self *self, const struct plan *plan, const uint64_t args[5])
{
    uint64_t again[5] = {(uint64_t)AT_FDCWD, (uint64_t)(uintptr_t)hp_engine.program_path,
                         args[ARGV], args[ENVP], 0};
    return call_exec(self, plan->is_program_again ? again : args);
}

/* The memory file that instructs an engine; it outlives the exec. Negative: none. */
static int write_start(const struct hp_start *start)
{
    int fd = (int)hp_sys2(SYS_memfd_create, (long)HP_START_NAME, MFD_NOEXEC_SEAL);
    if (fd == -EINVAL) /* as before Linux 6.3 */
        fd = (int)hp_sys2(SYS_memfd_create, (long)HP_START_NAME, 0);
    if (fd < 0)
        return fd;
    long n = hp_sys4(SYS_pwrite64, fd, (long)start, sizeof *start, 0);
    if (n != sizeof *start) {
        close_fd(fd);
        return -EIO;
    }
    return fd;
}

static int make_start(const struct hp_self *self, struct plan *plan)
{
    plan->start.magic = HP_START_MAGIC;
    plan->start.arena_fd = hp_engine.arena_fd;
    plan->start.engine_fd = hp_engine.engine_fd;
    plan->start.serial = 0;
    plan->start.former = self->number;
    plan->start.is_filtered = hp_engine.is_filtered;
    plan->start.leaves_fatal = hp_engine.leaves_fatal;
    plan->start.is_let_go = false;
    return write_start(&plan->start);
}

static void keep_over_exec(bool keep)
{
    hp_sys3(SYS_fcntl, hp_engine.arena_fd, F_SETFD, keep ? 0 : FD_CLOEXEC);
    hp_sys3(SYS_fcntl, hp_engine.engine_fd, F_SETFD, keep ? 0 : FD_CLOEXEC);
}

/* By execve if the program used that: its filters may allow no other. */
static long call_engine(struct hp_self *self, uint64_t argv, uint64_t envp, bool at)
{
    char path[FD_PATH];
    long error = -ENOENT;
    fd_path(path, hp_engine.engine_fd);
    uint64_t by_path[5] = {(uint64_t)AT_FDCWD, (uint64_t)(uintptr_t)path, argv, envp, 0};
    uint64_t by_fd[5] = {(uint64_t)hp_engine.engine_fd, (uint64_t)(uintptr_t) "", argv, envp,
                         AT_EMPTY_PATH};
    if (hp_engine.is_filtered && !at)
        error = call_exec(self, by_path);
    return error == -ENOENT ? call_exec(self, by_fd) : error;
}

/* Executes the engine. Returns the error, with everything as before; 0: nothing was tried. */
static long exec_engine(struct hp_self *self, struct plan *plan, uint64_t argv, uint64_t envp)
{
    int fd = make_start(self, plan);
    if (fd < 0)
        return 0;
    keep_over_exec(true);
    hp_exec_announce(self, plan->start.path, true);
    hp_limits_exec(true);
    long error = call_engine(self, argv, envp, plan->path != plan->start.name);
    hp_limits_exec(false);
    keep_over_exec(false);
    close_fd(fd);
    return error;
}

/* The same with the arguments of a script. */
static long exec_engine_for_script(struct hp_self *self, struct plan *plan, const uint64_t args[5])
{
    uint64_t few[ARGS_ON_STACK], *argv = few, count;
    if (!count_args(args[ARGV], &count))
        return 0;
    uint64_t size = (count + 3 * SCRIPT_LEVELS + 1) * 8;
    if (size > sizeof few)
        argv = hp_pages(size);
    if (!argv)
        return 0;
    long error = 0;
    if (put_args(plan, args[ARGV], count, argv))
        error = exec_engine(self, plan, (uint64_t)argv, args[ENVP]);
    if (argv != few)
        hp_pages_give_back(argv, size);
    return error;
}

/* Errors that the program's own exec would have had as well. */
static bool is_of_the_program(long error)
{
    return error == -E2BIG || error == -EFAULT || error == -ENOMEM || error == -EAGAIN ||
           error == HP_EXEC_AGAIN;
}

bool hp_is_traced(const struct hp_self *self)
{
    static const char wanted[] = "\nTracerPid:\t";
    char text[1024];
    if (self->is_traced)
        return true;
    int fd = (int)hp_sys4(SYS_openat, AT_FDCWD, (long)"/proc/thread-self/status",
                          O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    long n = hp_sys3(SYS_read, fd, (long)text, sizeof text - 1);
    close_fd(fd);
    text[n > 0 ? n : 0] = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        if (strncmp(at, wanted, sizeof wanted - 1) == 0)
            return at[sizeof wanted - 1] != '0';
    return false;
}

void hp_exec_let_go(void)
{
    struct hp_start start = {.magic = HP_START_MAGIC, .is_let_go = true};
    if (!is_file(hp_engine.engine_fd, &hp_engine.engine_id))
        return;
    memcpy(start.path, hp_engine.program_path, strlen(hp_engine.program_path) + 1);
    int fd = write_start(&start);
    if (fd < 0)
        return;
    hp_sys3(SYS_dup3, fd, hp_engine.engine_fd, 0);
    close_fd(fd);
}

/* Why nothing executed now can be observed; NULL: it can. */
static const char *why_not(const struct hp_self *self)
{
    if (!is_file(hp_engine.arena_fd, &hp_engine.arena_id) ||
        !is_file(hp_engine.engine_fd, &hp_engine.engine_id))
        return "the engine's descriptors were taken";
    if (!hp_filters_know_next())
        return "a seccomp filter would stop the engine";
    return hp_is_traced(self) ? "it is traced (ptrace)" : NULL;
}

/* Decides whether the program to be executed is to be observed. */
static bool decide(const struct hp_self *self, struct plan *plan, const uint64_t args[5])
{
    int dirfd = (int)args[DIRFD];
    int named = open_named(plan, dirfd, plan->path, (int)args[FLAGS]);
    if (named < 0)
        return false;
    bool engine = is_file(named, &hp_engine.engine_id);
    if (engine && is_exe_link(dirfd, plan->path)) {
        close_fd(named);
        plan->is_program_again = true;
        if (!may_execute(AT_FDCWD, hp_engine.program_path, NULL, 0))
            return false;
        named = open_named(plan, AT_FDCWD, hp_engine.program_path, 0);
        if (named < 0)
            return false;
        engine = false;
    }
    /* A hotpath that is itself observed executes the engine: it is already prepared. */
    if (!engine && hp_engine.arena->follow)
        plan->why = why_not(self);
    if (engine || !hp_engine.arena->follow || plan->why) {
        close_fd(named);
        return false;
    }
    return find_program(plan, named, args);
}

/* Announces what is executed natively, and why. */
static void announce_native(struct hp_self *self, struct plan *plan)
{
    const char *name = plan->is_program_again ? hp_engine.program_path : plan->start.name;
    char *text = plan->start.path; /* no longer needed */
    size_t length = strlen(name), room = sizeof plan->start.path;
    if (!plan->why || length + strlen(plan->why) + 2 > room) {
        hp_exec_announce(self, name, false);
        return;
    }
    memcpy(text, name, length);
    text[length] = '\n';
    memcpy(text + length + 1, plan->why, strlen(plan->why) + 1);
    hp_exec_announce(self, text, false);
}

long hp_exec(struct hp_self *self, const uint64_t args[5])
{
    struct plan plan;
    plan.is_program_again = false;
    plan.n_scripts = 0;
    plan.why = NULL;
    int flags = (int)args[FLAGS];
    if (flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) || !copy_path(&plan, args) ||
        !may_execute((int)args[DIRFD], plan.path, args, flags))
        return exec_natively(self, &plan, args);
    long error = 0;
    if (decide(self, &plan, args))
        error = plan.n_scripts > 0 ? exec_engine_for_script(self, &plan, args)
                                   : exec_engine(self, &plan, args[ARGV], args[ENVP]);
    if (is_of_the_program(error) || hp_filters_trapped(self))
        return error;
    announce_native(self, &plan);
    hp_limits_exec(true);
    error = exec_natively(self, &plan, args);
    hp_limits_exec(false);
    return error;
}
