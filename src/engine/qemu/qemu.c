// SPDX-License-Identifier: MIT
#include "engine/qemu/qemu.h"

#include "engine/environment.h"
#include "engine/spawn.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLUGIN "hotpath-qemu.so"

/* --- The parts -------------------------------------------------------------------------------- */

/* Appends a text with its commas doubled: a single one separates QEMU's options. */
static char *put_doubled(char *out, const char *text)
{
    for (; *text; text++) {
        *out++ = *text;
        if (*text == ',')
            *out++ = ',';
    }
    *out = 0;
    return out;
}

/* PLUGIN,fd=FD,comm=NAME: the process name as the kernel would set it. */
static char *plugin_option(const char *plugin, int fd, const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *name = slash ? slash + 1 : program;
    char *option = malloc(strlen(plugin) * 2 + strlen(name) * 2 + 40);
    if (!option)
        return NULL;
    char *out = put_doubled(option, plugin);
    out += sprintf(out, ",fd=%d,comm=", fd);
    put_doubled(out, name);
    return option;
}

/* The sysroot of a foreign dynamic program, if its libraries are not where it says; NULL: none
 * needed. */
static const char *find_sysroot(const struct hp_executable *program)
{
    static const char *const roots[HP_ARCH_COUNT_][2] = {
        [HP_ARCH_X86_64] = {"/usr/x86_64-linux-gnu", NULL},
        [HP_ARCH_AARCH64] = {"/usr/aarch64-linux-gnu", NULL},
        [HP_ARCH_ARM] = {"/usr/arm-linux-gnueabihf", "/usr/arm-linux-gnueabi"},
        [HP_ARCH_RISCV64] = {"/usr/riscv64-linux-gnu", NULL},
        [HP_ARCH_ALPHA] = {"/usr/alpha-linux-gnu", NULL},
    };
    const char *interpreter = program->elf.interpreter;
    if (!interpreter[0] || getenv("QEMU_LD_PREFIX"))
        return NULL;
    struct hp_elf_file elf;
    if (hp_elf_file_read(interpreter, &elf) == HP_OK && elf.arch == program->elf.arch)
        return NULL;
    for (int i = 0; i < 2; i++) {
        char path[512];
        const char *root = roots[program->elf.arch][i];
        if (!root)
            continue;
        snprintf(path, sizeof path, "%s%s", root, interpreter);
        if (access(path, R_OK) == 0)
            return root;
    }
    return NULL;
}

/* --- Starting --------------------------------------------------------------------------------- */

/* Variables for the dynamic linker are the program's, not QEMU's. (QEMU's option to set a variable
 * cannot take a comma; a value with one stays.) */
static bool is_for_linker(const char *variable)
{
    return strncmp(variable, "LD_", 3) == 0 && !strchr(variable, ',');
}

/* qemu-ARCH [-L SYSROOT] [-E LD_...] -plugin OPTION -0 ARGV0 PATH ARGS...; points into the
 * arguments of this function. */
static char **qemu_argv(const struct hp_executable *program, char *const *environment,
                        const char *qemu, const char *sysroot, const char *option)
{
    size_t n = 0, k = 0, variables = 0;
    while (program->argv[n])
        n++;
    while (environment[variables])
        variables++;
    const char **argv = calloc(n + 9 + 2 * variables, sizeof *argv);
    if (!argv)
        return NULL;
    argv[k++] = qemu;
    for (size_t i = 0; i < variables; i++)
        if (is_for_linker(environment[i])) {
            argv[k++] = "-E";
            argv[k++] = environment[i];
        }
    if (sysroot) {
        argv[k++] = "-L";
        argv[k++] = sysroot;
    }
    argv[k++] = "-plugin";
    argv[k++] = option;
    argv[k++] = "-0";
    argv[k++] = program->argv[0];
    argv[k++] = program->path;
    for (size_t i = 1; i < n; i++)
        argv[k++] = program->argv[i];
    return (char **)argv;
}

/* QEMU reverses the environment, so reverse it first. Points into `environment`. */
static char **qemu_environment(char *const *environment)
{
    size_t n = 0, k = 0;
    while (environment[n])
        n++;
    char **reversed = calloc(n + 1, sizeof *reversed);
    for (size_t i = n; reversed && i > 0; i--)
        if (!is_for_linker(environment[i - 1]))
            reversed[k++] = environment[i - 1];
    return reversed;
}

static enum hp_err start(const struct hp_executable *program, const char *qemu, const char *sysroot,
                         const char *plugin, int arena_fd, pid_t *pid)
{
    struct hp_handed handed = {.fd = arena_fd}; /* the plugin closes it */
    HP_TRY(hp_spare_descriptors(&handed.as, 1));
    char **padded = NULL;
    if (program->environment)
        HP_TRY(hp_environment_pad(program->environment, program->argv, program->path, &padded));
    char *const *all = padded ? padded : environ;
    char *option = plugin_option(plugin, handed.as, program->name);
    char **argv = option ? qemu_argv(program, all, qemu, sysroot, option) : NULL;
    char **environment = qemu_environment(all);
    enum hp_err err =
        argv && environment ? hp_spawn(qemu, argv, environment, &handed, 1, pid) : hp_fail_nomem();
    free(environment);
    free(padded);
    free(argv);
    free(option);
    return err;
}

enum hp_err hp_qemu_start(const struct hp_executable *program, const char *sysroot, int arena_fd,
                          pid_t *pid)
{
    char name[32];
    snprintf(name, sizeof name, "qemu-%s", hp_arch_name(program->elf.arch));
    char *qemu = hp_find_in_path(name);
    if (!qemu)
        return hp_fail(HP_ERR_NOTFOUND, "%s is not installed (Debian: apt install qemu-user)",
                       name);
    char *plugin;
    enum hp_err err = hp_find_part(PLUGIN, R_OK, &plugin);
    if (err == HP_OK) {
        err =
            start(program, qemu, sysroot ? sysroot : find_sysroot(program), plugin, arena_fd, pid);
        free(plugin);
    }
    free(qemu);
    return err;
}
