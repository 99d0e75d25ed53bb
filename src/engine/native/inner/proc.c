// SPDX-License-Identifier: MIT
/*
 * What /proc shows about the process, which to the kernel is the engine: the program's file, its
 * descriptors, its memory. A file is only examined if the end of its name matches, so that others
 * cost next to nothing.
 */
#include "engine/native/inner/proc.h"
#include "engine/native/inner/cache.h"
#include "engine/native/inner/sys.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SHORT_NAME  64 /* longer names are ignored */
#define MAX_VECTORS 1024

/* --- Names ------------------------------------------------------------------------------------ */

/* Copies a string of the program; "" when it is too long or not readable. */
static void read_name(uint64_t from, char to[SHORT_NAME])
{
    uint64_t here = 4096 - from % 4096; /* the next page may be unmapped */
    if (here > SHORT_NAME)
        here = SHORT_NAME;
    if (hp_copy(to, (const void *)from, here) &&
        (memchr(to, 0, here) ||
         (hp_copy(to + here, (const void *)(from + here), SHORT_NAME - here) &&
          memchr(to, 0, SHORT_NAME))))
        return;
    to[0] = 0;
}

static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

/* The name of the open file if it is in /proc, else "". */
static void name_of(int fd, char name[SHORT_NAME])
{
    static const char folder[] = "/proc/thread-self/fd/";
    char link[SHORT_NAME];
    struct statfs fs;
    long n = 0;
    memcpy(link, folder, sizeof folder);
    hp_put_number(link + sizeof folder - 1, fd);
    if (!hp_sys_failed(hp_sys2(SYS_fstatfs, fd, (long)&fs)) && fs.f_type == PROC_SUPER_MAGIC)
        n = hp_sys3(SYS_readlink, (long)link, (long)name, SHORT_NAME - 1);
    name[n > 0 ? n : 0] = 0;
}

/* Whether the name is this process's: .../PID/last, .../PID/task/TID/last. */
static bool is_mine(const struct hp_self *self, const char *name, const char *last)
{
    char mine[16] = "/";
    char *end = hp_put_number(mine + 1, self->process);
    end[0] = '/';
    end[1] = 0;
    if (strcmp(last_part(name), last) != 0)
        return false;
    for (const char *at = name; (at = strchr(at, '/')); at++)
        if (strncmp(at, mine, strlen(mine)) == 0)
            return strncmp(at + strlen(mine), "task/", 5) == 0 ||
                   strcmp(at + strlen(mine), last) == 0;
    return false;
}

/* --- The program's file ----------------------------------------------------------------------- */

bool hp_proc_is_exe(const struct hp_self *self, int dirfd, uint64_t path)
{
    char name[SHORT_NAME];
    read_name(path, name);
    if (strcmp(last_part(name), "exe") != 0)
        return false;
    int fd = (int)hp_sys4(SYS_openat, dirfd, (long)name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    name_of(fd, name);
    hp_sys1(SYS_close, fd);
    return is_mine(self, name, "exe");
}

bool hp_proc_is_open_exe(const struct hp_self *self, int fd, uint64_t path)
{
    char name[SHORT_NAME];
    if (!hp_copy(name, (const void *)path, 1) || name[0])
        return false;
    name_of(fd, name);
    return is_mine(self, name, "exe");
}

/* --- Its descriptors -------------------------------------------------------------------------- */

struct entry { /* the kernel's */
    uint64_t inode, offset;
    uint16_t size;
    uint8_t type;
    char name[13];
};
#define ENTRY_HEAD offsetof(struct entry, name)

static bool is_ours(const char *name)
{
    char number[12];
    hp_put_number(number, hp_engine.arena_fd);
    if (strcmp(name, number) == 0)
        return true;
    hp_put_number(number, hp_engine.engine_fd);
    return strcmp(name, number) == 0;
}

bool hp_proc_is_fds(const struct hp_self *self, int fd)
{
    char name[SHORT_NAME];
    name_of(fd, name);
    return is_mine(self, name, "fd") || is_mine(self, name, "fdinfo");
}

uint64_t hp_proc_hide_ours(uint64_t at, uint64_t size)
{
    for (uint64_t here = 0; here < size;) {
        struct entry entry = {0};
        uint64_t rest = size - here;
        if (rest <= ENTRY_HEAD ||
            !hp_copy(&entry, (const void *)(at + here), rest < sizeof entry ? rest : sizeof entry))
            break;
        entry.name[sizeof entry.name - 1] = 0;
        if (entry.size <= ENTRY_HEAD || entry.size > rest)
            break;
        if (!is_ours(entry.name)) {
            here += entry.size;
            continue;
        }
        if (!hp_copy((void *)(at + here), (const void *)(at + here + entry.size),
                     rest - entry.size))
            break;
        size -= entry.size;
    }
    return size;
}

/* --- Its memory ------------------------------------------------------------------------------- */

static _Atomic bool has_memory_file; /* one was opened: writes are checked */

void hp_proc_opened(uint64_t path, long fd)
{
    char name[SHORT_NAME];
    if (hp_sys_failed(fd) || atomic_load_explicit(&has_memory_file, memory_order_relaxed))
        return;
    read_name(path, name);
    if (strcmp(last_part(name), "mem") == 0) {
        name_of((int)fd, name);
        if (strcmp(last_part(name), "mem") == 0)
            atomic_store(&has_memory_file, true);
    }
}

static uint64_t sum_of(uint64_t vectors, uint64_t n)
{
    uint64_t sum = 0;
    struct iovec vector;
    for (uint64_t i = 0; i < n && i < MAX_VECTORS; i++)
        if (hp_copy(&vector, (const void *)(vectors + i * sizeof vector), sizeof vector))
            sum += vector.iov_len;
    return sum;
}

/* Where the call writes to, if the file is a process's memory. */
static void find_span(const uint64_t *r, int fd, struct hp_proc_write *to)
{
    uint64_t at = r[R10], size = r[RDX];
    *to = (struct hp_proc_write){0, UINT64_MAX};
    switch ((int32_t)r[RAX]) {
    case SYS_write: at = UINT64_MAX; break;
    case SYS_pwrite64: break;
    case SYS_writev:
        at = UINT64_MAX;
        size = sum_of(r[RSI], r[RDX]);
        break;
    case SYS_pwritev:
    case SYS_pwritev2: size = sum_of(r[RSI], r[RDX]); break;
    default: return; /* anywhere */
    }
    if (at == UINT64_MAX)
        at = (uint64_t)hp_sys3(SYS_lseek, fd, 0, SEEK_CUR);
    if (size < UINT64_MAX - at)
        *to = (struct hp_proc_write){at, at + size};
}

bool hp_proc_before_write(const struct hp_self *self, int fd, struct hp_proc_write *to)
{
    char name[SHORT_NAME];
    if (!atomic_load_explicit(&has_memory_file, memory_order_relaxed))
        return false;
    name_of(fd, name);
    if (strcmp(last_part(name), "mem") != 0)
        return false;
    find_span(self->regs.r, fd, to);
    hp_guards_lift(to->low, to->high);
    return true;
}

void hp_proc_after_write(const struct hp_proc_write *to)
{
    if (to->low == to->high)
        return;
    hp_lock();
    hp_cache_invalidate(to->low, to->high);
    hp_unlock();
}
