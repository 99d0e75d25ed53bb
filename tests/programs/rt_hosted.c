// SPDX-License-Identifier: MIT
/* The runtime of rt.h on top of the C library, for tools that need one. */
#include "rt.h"

#include <stdlib.h>
#include <unistd.h>

long rt_write(int fd, const void *data, u64 size)
{
    return write(fd, data, size);
}

void rt_exit(int status)
{
    exit(status);
}

void rt_print(u64 number)
{
    (void)number;
}
