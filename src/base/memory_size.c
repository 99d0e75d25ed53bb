// SPDX-License-Identifier: MIT
#include "base/memory_size.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The number in a file; UINT64_MAX: there is none ("max"). */
static uint64_t read_limit(const char *path)
{
    unsigned long long value;
    FILE *file = fopen(path, "re");
    bool found = file && fscanf(file, "%llu", &value) == 1;
    if (file)
        fclose(file);
    return found ? value : UINT64_MAX;
}

/* Of the group of the first hierarchy (version 2), and of those that it is in. */
static uint64_t group_limit(void)
{
    char line[PATH_MAX], path[PATH_MAX + 64];
    uint64_t least = read_limit("/sys/fs/cgroup/memory/memory.limit_in_bytes"); /* version 1 */
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file)
        return least;
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "0::/", 4) != 0)
            continue;
        line[strcspn(line, "\n")] = 0;
        for (char *end = line + strlen(line); end; end = strrchr(line + 3, '/')) {
            *end = 0;
            snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", line + 3);
            uint64_t limit = read_limit(path);
            least = limit < least ? limit : least;
        }
    }
    fclose(file);
    return least;
}

uint64_t hp_memory_size(void)
{
    struct rlimit limit;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t size = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
    uint64_t group = group_limit();
    if (group < size)
        size = group;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < size)
        size = limit.rlim_cur;
    return size;
}
