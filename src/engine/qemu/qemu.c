// SPDX-License-Identifier: MIT
#include "engine/qemu/qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLUGIN "hotpath-qemu.so"

/* --- Finding the parts ------------------------------------------------------------------------ */

/* Our plugin: where HOTPATH_PLUGIN_DIR says, beside the command (a build), or where it was
 * installed. */
static char *find_plugin(void)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = 0;
    const char *named = getenv("HOTPATH_PLUGIN_DIR");
    char *candidates[3] = {NULL, NULL, NULL};
    char *found = NULL;
    if ((named && asprintf(&candidates[0], "%s/" PLUGIN, named) < 0) ||
        asprintf(&candidates[1], "%s/" PLUGIN, self) < 0 ||
        asprintf(&candidates[2], "%s/../lib/hotpath/" PLUGIN, self) < 0)
        return NULL;
    for (int i = 0; i < 3; i++) {
        if (candidates[i] && !found && access(candidates[i], R_OK) == 0)
            found = candidates[i];
        else
            free(candidates[i]);
    }
    return found;
}

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

/* PLUGIN,fd=FD,comm=NAME: the name of the process as the kernel would have it. */
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

/* Where the libraries of a foreign dynamic program are, when not where the program says; NULL: no
 * need. */
static const char *find_sysroot(const struct hp_program *program)
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

/* Variables for the dynamic linker are the program's, not QEMU's. (QEMU's option to set a variable cannot take
 * a comma; such a one stays.) */
static bool is_for_linker(const char *variable)
{
    return strncmp(variable, "LD_", 3) == 0 && !strchr(variable, ',');
}

/* qemu-ARCH [-L SYSROOT] [-E LD_...] -plugin OPTION -0 ARGV0 PATH ARGS...; points into its arguments. */
static char **qemu_argv(const struct hp_program *program, const char *qemu, const char *sysroot,
                        const char *option)
{
    size_t n = 0, k = 0, variables = 0;
    while (program->argv[n])
        n++;
    while (environ[variables])
        variables++;
    const char **argv = calloc(n + 9 + 2 * variables, sizeof *argv);
    if (!argv)
        return NULL;
    argv[k++] = qemu;
    for (size_t i = 0; i < variables; i++)
        if (is_for_linker(environ[i])) {
            argv[k++] = "-E";
            argv[k++] = environ[i];
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

/* QEMU hands the environment on in reverse: so reverse it before. Points into `environ`. */
static char **qemu_environment(void)
{
    size_t n = 0, k = 0;
    while (environ[n])
        n++;
    char **reversed = calloc(n + 1, sizeof *reversed);
    for (size_t i = n; reversed && i > 0; i--)
        if (!is_for_linker(environ[i - 1]))
            reversed[k++] = environ[i - 1];
    return reversed;
}

/* Forks and executes; the child reports a failed exec through a pipe. */
static enum hp_err spawn(char **argv, char **environment, int arena_fd, int inherited_fd,
                         pid_t *pid)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        return hp_fail(HP_ERR_IO, "cannot make a pipe: %s", strerror(errno));
    *pid = fork();
    if (*pid == 0) {
        if (dup2(arena_fd, inherited_fd) == inherited_fd)
            execve(argv[0], argv, environment);
        int error = errno;
        ssize_t ignored = write(fds[1], &error, sizeof error);
        (void)ignored;
        _exit(127);
    }
    int error = errno;
    close(fds[1]);
    ssize_t n = *pid < 0 ? (ssize_t)sizeof error : read(fds[0], &error, sizeof error);
    close(fds[0]);
    if (n == (ssize_t)sizeof error)
        return hp_fail(HP_ERR_IO, "cannot start %s: %s", argv[0], strerror(error));
    return HP_OK;
}

enum hp_err hp_qemu_start(const struct hp_program *program, const char *sysroot, int arena_fd,
                          pid_t *pid)
{
    char name[32];
    snprintf(name, sizeof name, "qemu-%s", hp_arch_name(program->elf.arch));
    char *qemu = hp_find_in_path(name);
    if (!qemu)
        return hp_fail(HP_ERR_NOTFOUND, "%s is not installed (Debian: apt install qemu-user)",
                       name);
    char *plugin = find_plugin();
    if (!plugin) {
        free(qemu);
        return hp_fail(HP_ERR_NOTFOUND,
                       PLUGIN " is neither beside the hotpath command nor in ../lib/hotpath; set "
                              "HOTPATH_PLUGIN_DIR to its directory");
    }
    /* A descriptor the program is not likely to have been given; the plugin closes it. */
    int inherited = fcntl(arena_fd, F_DUPFD_CLOEXEC, 200);
    if (inherited >= 0)
        close(inherited);
    else
        inherited = arena_fd + 1;
    char *option = plugin_option(plugin, inherited, program->path);
    char **argv =
        option ? qemu_argv(program, qemu, sysroot ? sysroot : find_sysroot(program), option) : NULL;
    char **environment = qemu_environment();
    enum hp_err err =
        argv && environment ? spawn(argv, environment, arena_fd, inherited, pid) : hp_fail_nomem();
    free(environment);
    free(argv);
    free(option);
    free(plugin);
    free(qemu);
    return err;
}
