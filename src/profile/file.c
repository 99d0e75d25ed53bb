// SPDX-License-Identifier: MIT
/*
 * SQLite opens files by name. The system call that it does so with is replaced by one that takes
 * some names for descriptors, and opens all others as before.
 */
#include "profile/schema.h"

#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_SYSTEM "unix-none" /* without locks */
#define PREFIX      "/hotpath-fd/"

typedef int open_call(const char *path, int flags, int mode);

static open_call *usual;

static int open_any(const char *path, int flags, int mode)
{
    if (strncmp(path, PREFIX, strlen(PREFIX)) == 0)
        return fcntl(atoi(path + strlen(PREFIX)), F_DUPFD_CLOEXEC, 3);
    return usual(path, flags, mode);
}

static void replace_open(void)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(FILE_SYSTEM);
    if (!vfs)
        return;
    usual = (open_call *)vfs->xGetSystemCall(vfs, "open");
    vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)open_any);
}

int hp_schema_open(int fd, bool immutable, sqlite3 **db)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char name[64];
    pthread_once(&once, replace_open);
    snprintf(name, sizeof name, "file:" PREFIX "%d?immutable=%d", fd, immutable);
    return sqlite3_open_v2(name, db,
                           (immutable ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
                               SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
                           FILE_SYSTEM);
}
