// SPDX-License-Identifier: MIT
#include "engine/native/native.h"

#include "base/memory_file.h"
#include "engine/environment.h"
#include "engine/native/start.h"
#include "engine/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#define ENGINE "hotpath-engine"

#ifdef __x86_64__
#define HOST_IS_X86_64 true
#else
#define HOST_IS_X86_64 false
#endif

/* The error execve() would give for the program's dynamic linker, with its name. */
static enum hp_err check_interpreter(const struct hp_executable *program)
{
    const char *path = program->elf.interpreter;
    if (*path && access(path, X_OK) != 0)
        return hp_fail(errno == ENOENT || errno == ENOTDIR ? HP_ERR_NOTFOUND : HP_ERR_UNSUPPORTED,
                       "%s: cannot run its interpreter %s: %s", program->path, path,
                       strerror(errno));
    return HP_OK;
}

enum hp_err hp_native_check(const struct hp_executable *program)
{
    if (!HOST_IS_X86_64)
        return hp_fail(HP_ERR_UNSUPPORTED,
                       "the native engine runs on 64-bit x86 machines only; use --engine qemu");
    if (program->elf.arch != HP_ARCH_X86_64)
        return hp_fail(HP_ERR_UNSUPPORTED,
                       "%s is a program for %s and the native engine runs 64-bit x86 only; use "
                       "--engine qemu",
                       program->path, hp_arch_name(program->elf.arch));
    return check_interpreter(program);
}

bool hp_native_installed(void)
{
    char *engine;
    bool found = hp_find_part(ENGINE, X_OK, &engine) == HP_OK;
    free(engine);
    return found;
}

/* --- The start block -------------------------------------------------------------------------- */

/* The path as /proc/self/exe will have it. */
static enum hp_err resolve(const char *path, char *out, size_t size)
{
    char *real = realpath(path, NULL);
    if (!real)
        return hp_fail(HP_ERR_IO, "cannot find %s: %s", path, strerror(errno));
    bool fits = strlen(real) < size;
    if (fits)
        strcpy(out, real);
    free(real);
    return fits ? HP_OK : hp_fail(HP_ERR_UNSUPPORTED, "%s: its path is too long", path);
}

static enum hp_err fill_start(struct hp_start *start, const struct hp_executable *program,
                              const int numbers[2])
{
    *start =
        (struct hp_start){.magic = HP_START_MAGIC, .arena_fd = numbers[0], .engine_fd = numbers[1]};
    if (strlen(program->name) >= sizeof start->name)
        return hp_fail(HP_ERR_UNSUPPORTED, "%s: its name is too long", program->name);
    strcpy(start->name, program->name);
    return resolve(program->path, start->path, sizeof start->path);
}

/* A memory file with the start block. */
static enum hp_err make_start(const struct hp_executable *program, const int numbers[2], int *fd)
{
    struct hp_start *start = malloc(sizeof *start);
    if (!start)
        return hp_fail_nomem();
    enum hp_err err = fill_start(start, program, numbers);
    *fd = err == HP_OK ? hp_memory_file(HP_START_NAME) : -1;
    if (err == HP_OK && (*fd < 0 || write(*fd, start, sizeof *start) != (ssize_t)sizeof *start)) {
        err = hp_fail(HP_ERR_IO, "cannot create the engine's start block: %s", strerror(errno));
        if (*fd >= 0)
            close(*fd);
    }
    free(start);
    return err;
}

/* --- Starting --------------------------------------------------------------------------------- */

/* The previous personality; -1: it cannot be read. */
static int set_randomized(bool randomized)
{
    int before = personality(0xffffffff);
    if (before >= 0 && !randomized)
        personality((unsigned long)before | ADDR_NO_RANDOMIZE);
    return before;
}

static void set_personality(int to)
{
    if (to >= 0)
        personality((unsigned long)to);
}

bool hp_native_can_fix_addresses(void)
{
    int before = set_randomized(false);
    bool fixed = before >= 0 && personality(0xffffffff) & ADDR_NO_RANDOMIZE;
    set_personality(before);
    return fixed;
}

static enum hp_err start_engine(const struct hp_executable *program, const char *engine,
                                int engine_fd, int arena_fd, bool randomize, pid_t *pid)
{
    int numbers[2], start_fd = -1;
    HP_TRY(hp_spare_descriptors(numbers, 2));
    char **padded = NULL;
    if (program->environment)
        HP_TRY(hp_environment_pad(program->environment, program->argv, engine, &padded));
    enum hp_err err = make_start(program, numbers, &start_fd);
    if (err != HP_OK) {
        free(padded);
        return err;
    }
    const struct hp_handed handed[] = {
        {arena_fd, numbers[0]}, {engine_fd, numbers[1]}, {start_fd, start_fd}};
    int before = set_randomized(randomize);
    err = hp_spawn(engine, program->argv, padded ? padded : environ, handed, 3, pid);
    set_personality(before);
    close(start_fd);
    free(padded);
    return err;
}

enum hp_err hp_native_start(const struct hp_executable *program, int arena_fd, bool randomize,
                            pid_t *pid)
{
    char *engine;
    HP_TRY(hp_find_part(ENGINE, X_OK, &engine));
    int fd = open(engine, O_RDONLY | O_CLOEXEC);
    enum hp_err err = fd < 0 ? hp_fail(HP_ERR_IO, "cannot open %s: %s", engine, strerror(errno))
                             : start_engine(program, engine, fd, arena_fd, randomize, pid);
    if (fd >= 0)
        close(fd);
    free(engine);
    return err;
}
