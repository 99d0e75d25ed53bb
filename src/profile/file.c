// SPDX-License-Identifier: MIT
#include "profile/file.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "hotpath-fd"

struct file {
    sqlite3_file base; /* first */
    int fd;            /* not ours to close */
};

static int fd_of(sqlite3_file *file)
{
    return ((struct file *)file)->fd;
}

/* --- A file ----------------------------------------------------------------------------------- */

static int do_close(sqlite3_file *file)
{
    (void)file;
    return SQLITE_OK;
}

static int do_read(sqlite3_file *file, void *to, int size, sqlite3_int64 offset)
{
    char *at = to;
    while (size > 0) {
        ssize_t n = pread(fd_of(file), at, (size_t)size, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return SQLITE_IOERR_READ;
        if (n == 0) {
            memset(at, 0, (size_t)size);
            return SQLITE_IOERR_SHORT_READ;
        }
        at += n;
        size -= (int)n;
        offset += n;
    }
    return SQLITE_OK;
}

static int do_write(sqlite3_file *file, const void *from, int size, sqlite3_int64 offset)
{
    const char *at = from;
    while (size > 0) {
        ssize_t n = pwrite(fd_of(file), at, (size_t)size, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 || errno == ENOSPC || errno == EDQUOT ? SQLITE_FULL : SQLITE_IOERR_WRITE;
        at += n;
        size -= (int)n;
        offset += n;
    }
    return SQLITE_OK;
}

static int do_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return ftruncate(fd_of(file), size) == 0 ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

static int do_sync(sqlite3_file *file, int flags)
{
    (void)file, (void)flags;
    return SQLITE_OK;
}

static int do_size(sqlite3_file *file, sqlite3_int64 *size)
{
    struct stat st;
    if (fstat(fd_of(file), &st) != 0)
        return SQLITE_IOERR_FSTAT;
    *size = st.st_size;
    return SQLITE_OK;
}

static int do_lock(sqlite3_file *file, int level)
{
    (void)file, (void)level;
    return SQLITE_OK;
}

static int do_check_lock(sqlite3_file *file, int *locked)
{
    (void)file;
    *locked = 0;
    return SQLITE_OK;
}

static int do_control(sqlite3_file *file, int what, void *value)
{
    (void)file, (void)what, (void)value;
    return SQLITE_NOTFOUND;
}

static int do_sector_size(sqlite3_file *file)
{
    (void)file;
    return 4096;
}

static int do_characteristics(sqlite3_file *file)
{
    (void)file;
    return 0;
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = do_close,
    .xRead = do_read,
    .xWrite = do_write,
    .xTruncate = do_truncate,
    .xSync = do_sync,
    .xFileSize = do_size,
    .xLock = do_lock,
    .xUnlock = do_lock,
    .xCheckReservedLock = do_check_lock,
    .xFileControl = do_control,
    .xSectorSize = do_sector_size,
    .xDeviceCharacteristics = do_characteristics,
};

/* --- The file system -------------------------------------------------------------------------- */

/* There is one file, whose name is the number of its descriptor. */
static int do_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *got)
{
    (void)vfs;
    file->pMethods = NULL;
    if (!name || !(flags & SQLITE_OPEN_MAIN_DB))
        return SQLITE_CANTOPEN;
    ((struct file *)file)->fd = atoi(name);
    file->pMethods = &methods;
    if (got)
        *got = flags;
    return SQLITE_OK;
}

static int do_full_name(sqlite3_vfs *vfs, const char *name, int size, char *full)
{
    (void)vfs;
    snprintf(full, (size_t)size, "%s", name);
    return SQLITE_OK;
}

static int do_access(sqlite3_vfs *vfs, const char *name, int flags, int *is)
{
    (void)vfs, (void)name, (void)flags;
    *is = 0;
    return SQLITE_OK;
}

static int do_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs, (void)name, (void)sync;
    return SQLITE_OK;
}

static sqlite3_vfs file_system;

static void add_file_system(void)
{
    const sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
    if (!usual)
        return;
    file_system = *usual;
    file_system.zName = NAME;
    file_system.pNext = NULL;
    file_system.szOsFile = sizeof(struct file);
    file_system.xOpen = do_open;
    file_system.xFullPathname = do_full_name;
    file_system.xAccess = do_access;
    file_system.xDelete = do_delete;
    sqlite3_vfs_register(&file_system, 0);
}

int hp_profile_file_open(int fd, sqlite3 **db)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char name[16];
    pthread_once(&once, add_file_system);
    snprintf(name, sizeof name, "%d", fd);
    return sqlite3_open_v2(name, db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NAME);
}
