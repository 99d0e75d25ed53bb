// SPDX-License-Identifier: MIT
#include "import/vdso.h"

#include "base/base.h"
#include "base/memory_file.h"

#include <elf.h>
#include <stdarg.h>
#include <sys/auxv.h>
#include <unistd.h>

bool hp_is_vdso(const char *path)
{
    return strcmp(path, "[vdso]") == 0;
}

static enum hp_err print(char **path, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum hp_err print(char **path, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vasprintf(path, format, arguments);
    va_end(arguments);
    if (n < 0)
        *path = NULL;
    return *path ? HP_OK : hp_fail_nomem();
}

/* Its section headers are its end. */
static size_t size_of(const Elf64_Ehdr *vdso)
{
    bool known = memcmp(vdso->e_ident, ELFMAG, SELFMAG) == 0 &&
                 vdso->e_ident[EI_CLASS] == ELFCLASS64 && vdso->e_shoff < 65536;
    return known ? vdso->e_shoff + (size_t)vdso->e_shnum * vdso->e_shentsize : 0;
}

/* Ours, as a file. */
static enum hp_err copy_own(char **path, int *fd)
{
    const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
    size_t size = vdso ? size_of(vdso) : 0;
    *fd = size ? hp_memory_file("hotpath-vdso") : -1;
    if (*fd < 0 || write(*fd, vdso, size) != (ssize_t)size)
        return hp_fail(HP_ERR_NOTFOUND, "[vdso] is not known");
    return print(path, "/proc/self/fd/%d", *fd);
}

enum hp_err hp_vdso_find(const char *build_id, char **path, int *fd)
{
    const char *home = getenv("HOME");
    *fd = -1;
    *path = NULL;
    if (home && build_id[0]) {
        HP_TRY(print(path, "%s/.debug/[vdso]/%s/vdso", home, build_id));
        if (access(*path, R_OK) == 0)
            return HP_OK;
        free(*path);
        *path = NULL;
    }
    return copy_own(path, fd);
}
