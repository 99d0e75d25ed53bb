// SPDX-License-Identifier: MIT
#include "base/own_directory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Without /proc: the name by which this program was executed. */
static void find_by_name(char *path, size_t size)
{
    const char *name = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    char *real = name ? realpath(name, NULL) : NULL;
    snprintf(path, size, "%s", real ? real : "");
    free(real);
}

void hp_own_directory(char *directory, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", directory, size - 1);
    directory[n > 0 ? n : 0] = 0;
    if (n <= 0)
        find_by_name(directory, size);
    char *slash = strrchr(directory, '/');
    if (slash)
        *slash = 0;
}
