// SPDX-License-Identifier: MIT
/*
 * Memory for code. Usually it is private and both writable and executable. Where that is refused,
 * it is a memory file mapped twice, once to execute and once to write. A forked child needs its own
 * cache and then gets a copy made before the fork.
 */
#include "engine/native/inner/cache.h"
#include "engine/native/inner/emit.h"
#include "engine/native/inner/sys.h"

#include <errno.h>
#include <linux/memfd.h>
#include <linux/mman.h>
#include <string.h>

#define NAME "hotpath-cache"

bool hp_areas_twice;

/* --- Finding a place -------------------------------------------------------------------------- */

/* `fd`: the file to map; -1: anonymous memory, writable too. */
static long map_code(uint64_t at, uint64_t size, int flags, int fd)
{
    int prot = PROT_READ | PROT_EXEC | (fd < 0 ? PROT_WRITE : 0);
    flags |= fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    return hp_sys6(SYS_mmap, (long)at, (long)size, prot, flags | MAP_NORESERVE, fd, 0);
}

/* Maps memory at this distance below `pc`, or above it. */
static uint8_t *map_at_distance(uint64_t pc, uint64_t distance, uint64_t size, int fd)
{
    for (int above = 0; above < 2; above++) {
        uint64_t at = (above ? pc + distance : pc - distance - size) & ~0xfffffull;
        if (above ? at + size > 0x7fff00000000 : pc < distance + size + 0x10000)
            continue;
        long place = map_code(at, size, MAP_FIXED_NOREPLACE, fd);
        if (place == (long)at)
            return (uint8_t *)place;
        if (!hp_sys_failed(place))
            hp_sys2(SYS_munmap, place, (long)size);
    }
    return NULL;
}

/* Memory for code within reach of `pc`, preferably 1 GiB away: the kernel does not put the
 * program's mappings there until it has mapped a lot. */
static uint8_t *map_near(uint64_t pc, uint64_t size, int fd)
{
    uint8_t *place = map_at_distance(pc, 1ull << 30, size, fd);
    for (uint64_t distance = 64ull << 20; !place && distance < 1800ull << 20;
         distance += 32ull << 20)
        place = map_at_distance(pc, distance, size, fd);
    if (place)
        return place;
    long anywhere = map_code(0, size, 0, fd); /* out of reach: operands are handled one by one */
    return hp_sys_failed(anywhere) ? NULL : (uint8_t *)anywhere;
}

/* --- One area --------------------------------------------------------------------------------- */

static int new_file(uint64_t size)
{
    long fd = hp_sys2(SYS_memfd_create, (long)NAME, MFD_CLOEXEC | 0x10u /* MFD_EXEC */);
    if (fd == -EINVAL) /* this kernel does not know the flag */
        fd = hp_sys2(SYS_memfd_create, (long)NAME, MFD_CLOEXEC);
    if (hp_sys_failed(fd))
        return -1;
    if (hp_sys_failed(hp_sys2(SYS_ftruncate, fd, (long)size))) {
        hp_sys1(SYS_close, fd);
        return -1;
    }
    return (int)fd;
}

/* Whether memory can be writable and executable: tried with a minimal mapping. */
static bool is_refused(void)
{
    long page = map_code(0, 4096, 0, -1);
    if (!hp_sys_failed(page))
        hp_sys2(SYS_munmap, page, 4096);
    return page == -EPERM || page == -EACCES;
}

static bool map_twice(struct hp_area *area, uint64_t pc, uint64_t size)
{
    int fd = new_file(size);
    uint8_t *low = fd < 0 ? NULL : map_near(pc, size, fd);
    uint8_t *written = low ? hp_pages(size) : NULL;
    if (written && hp_sys_failed(hp_sys6(SYS_mmap, (long)written, (long)size,
                                         PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0))) {
        hp_pages_give_back(written, size);
        written = NULL;
    }
    if (low && !written)
        hp_sys2(SYS_munmap, (long)low, (long)size);
    if (fd >= 0)
        hp_sys1(SYS_close, fd);
    area->low = low;
    area->view = written - low;
    return written != NULL;
}

bool hp_area_map(struct hp_area *area, uint64_t pc, uint64_t size)
{
    hp_areas_twice = hp_areas_twice || is_refused();
    area->view = 0;
    if (hp_areas_twice ? !map_twice(area, pc, size) : !(area->low = map_near(pc, size, -1)))
        return false;
    area->high = area->low + size;
    return true;
}

void hp_area_unmap(struct hp_area *area)
{
    long size = area->high - area->low;
    hp_sys2(SYS_munmap, (long)area->low, size);
    if (area->view)
        hp_pages_give_back(area->low + area->view, (uint64_t)size);
}

/* --- Fork ------------------------------------------------------------------------------------- */

static bool copy_part(int fd, const struct hp_area *area, uint64_t at, const uint8_t *from,
                      const uint8_t *to)
{
    at += (uint64_t)(from - area->low);
    while (from < to) {
        long n = hp_sys4(SYS_pwrite64, fd, (long)from, to - from, (long)at);
        if (n == -EINTR)
            continue;
        if (n <= 0)
            return false;
        from += n;
        at += (uint64_t)n;
    }
    return true;
}

int hp_areas_copy(const struct hp_area *areas, unsigned n)
{
    uint64_t size = 0, at = 0;
    for (unsigned i = 0; i < n; i++)
        size += areas[i].view ? (uint64_t)(areas[i].high - areas[i].low) : 0;
    if (size == 0)
        return HP_NO_COPY;
    int fd = new_file(size);
    if (fd < 0)
        return HP_COPY_FAILED;
    for (unsigned i = 0; i < n; i++) {
        const struct hp_area *area = &areas[i];
        if (!area->view)
            continue;
        if (!copy_part(fd, area, at, area->low, area->code) ||
            !copy_part(fd, area, at, area->small, area->high)) {
            hp_sys1(SYS_close, fd);
            return HP_COPY_FAILED;
        }
        at += (uint64_t)(area->high - area->low);
    }
    return fd;
}

bool hp_areas_take_copy(const struct hp_area *areas, unsigned n, int fd)
{
    uint64_t at = 0;
    for (unsigned i = 0; i < n; i++) {
        const struct hp_area *area = &areas[i];
        long size = area->high - area->low;
        if (!area->view)
            continue;
        if (hp_sys_failed(hp_sys6(SYS_mmap, (long)area->low, size, PROT_READ | PROT_EXEC,
                                  MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, (long)at)) ||
            hp_sys_failed(hp_sys6(SYS_mmap, (long)(area->low + area->view), size,
                                  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
                                  fd, (long)at)))
            return false;
        at += (uint64_t)size;
    }
    return true;
}
