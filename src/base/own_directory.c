// SPDX-License-Identifier: MIT
#include "base/own_directory.h"

#include <string.h>
#include <unistd.h>

void hp_own_directory(char *directory, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", directory, size - 1);
    directory[n > 0 ? n : 0] = 0;
    char *slash = strrchr(directory, '/');
    if (slash)
        *slash = 0;
}
