// SPDX-License-Identifier: MIT
#include "engine/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SCRIPTS 4 /* as deep as the kernel goes */

static bool is_runnable(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *hp_find_in_path(const char *name)
{
    const char *path = getenv("PATH");
    if (!path)
        path = "/usr/local/bin:/usr/bin:/bin";
    for (;;) { /* an empty element, also after the last colon, is the current directory */
        size_t length = strcspn(path, ":");
        char *full = NULL;
        if (asprintf(&full, "%.*s%s%s", (int)length, path, length ? "/" : "./", name) < 0)
            return NULL;
        if (is_runnable(full))
            return full;
        free(full);
        if (!path[length])
            return NULL;
        path += length + 1;
    }
}

static enum hp_err find_file(const char *name, char **path)
{
    if (!strchr(name, '/')) {
        *path = hp_find_in_path(name);
        return *path ? HP_OK : hp_fail(HP_ERR_NOTFOUND, "%s: command not found", name);
    }
    if (access(name, F_OK) != 0)
        return hp_fail(HP_ERR_NOTFOUND, "%s: %s", name, strerror(errno));
    if (!is_runnable(name))
        return hp_fail(HP_ERR_UNSUPPORTED, "%s: not an executable file", name);
    *path = strdup(name);
    return *path ? HP_OK : hp_fail_nomem();
}

static size_t count(char *const *argv)
{
    size_t n = 0;
    while (argv[n])
        n++;
    return n;
}

static void free_argv(char **argv)
{
    for (size_t i = 0; argv && argv[i]; i++)
        free(argv[i]);
    free(argv);
}

/* head (up to two words), then `script`, then argv[1...]; all copied. */
static char **make_argv(const char *first, const char *second, const char *script,
                        char *const *argv)
{
    size_t n = count(argv), k = 0;
    char **made = calloc(n + 3, sizeof *made);
    if (!made)
        return NULL;
    const char *head[] = {first, second, script};
    for (size_t i = 0; i < 3; i++)
        if (head[i])
            made[k++] = strdup(head[i]);
    for (size_t i = 1; i < n; i++)
        made[k++] = strdup(argv[i]);
    for (size_t i = 0; i < k; i++)
        if (!made[i]) {
            free_argv(made);
            return NULL;
        }
    return made;
}

/* Replaces the script in `program` by its interpreter. */
static enum hp_err follow_script(struct hp_executable *program)
{
    char line[256] = "";
    FILE *file = fopen(program->path, "re");
    size_t n = file ? fread(line, 1, sizeof line - 1, file) : 0;
    if (file)
        fclose(file);
    line[n] = 0;
    bool named = line[0] == '#' && line[1] == '!';
    const char *end = named ? memchr(line, '\n', n) : NULL; /* an archive may follow */
    if (n == 0 || memchr(line, 0, end ? (size_t)(end - line) : n) ||
        memcmp(line, "\177ELF", 4) == 0)
        return hp_fail(HP_ERR_UNSUPPORTED, "%s is neither an ELF program nor a script",
                       program->path);
    char shell[] = "/bin/sh"; /* as execvp does with a text file */
    char *interpreter = shell, *argument = NULL;
    if (named) {
        line[strcspn(line, "\n")] = 0;
        interpreter = line + 2 + strspn(line + 2, " \t");
        argument = interpreter + strcspn(interpreter, " \t");
        if (*argument) {
            *argument++ = 0;
            argument += strspn(argument, " \t");
            argument[strcspn(argument, "\n")] = 0;
            for (size_t end = strlen(argument); end && strchr(" \t\r", argument[end - 1]); end--)
                argument[end - 1] = 0;
        }
        if (!*argument)
            argument = NULL;
    }
    char **argv = make_argv(interpreter, argument, program->path, program->argv);
    char *path = strdup(interpreter);
    char *name = strdup(named ? program->name : shell);
    if (!argv || !path || !name) {
        free_argv(argv);
        free(path);
        free(name);
        return hp_fail_nomem();
    }
    if (!is_runnable(path)) {
        enum hp_err err =
            hp_fail(HP_ERR_UNSUPPORTED, "%s: cannot run its interpreter %s", program->path, path);
        free_argv(argv);
        free(path);
        free(name);
        return err;
    }
    free_argv(program->argv);
    free(program->path);
    free(program->name);
    program->argv = argv;
    program->name = name;
    program->path = path;
    return HP_OK;
}

static enum hp_err find_program(char *const *argv, struct hp_executable *program)
{
    HP_TRY(find_file(argv[0], &program->path));
    program->argv = make_argv(argv[0], NULL, NULL, argv);
    program->name = strdup(program->path);
    if (!program->argv || !program->name)
        return hp_fail_nomem();
    for (int depth = 0;; depth++) {
        enum hp_err err = hp_elf_file_read(program->path, &program->elf);
        if (err == HP_OK)
            break;
        if (err == HP_ERR_IO && access(program->path, R_OK) != 0)
            return hp_fail(HP_ERR_UNOBSERVED, "%s cannot be read, only executed", program->path);
        if (err != HP_ERR_FORMAT)
            return hp_fail(HP_ERR_UNSUPPORTED, "%s", hp_error_text());
        if (depth == MAX_SCRIPTS)
            return hp_fail(HP_ERR_UNSUPPORTED, "%s: too many levels of scripts", argv[0]);
        HP_TRY(follow_script(program));
    }
    if (program->elf.arch == HP_ARCH_NONE &&
        (program->elf.machine == EM_386 || program->elf.machine == EM_X86_64))
        return hp_fail(
            HP_ERR_UNSUPPORTED,
            "%s is a 32-bit x86 program: the native engine runs 64-bit x86 only, and the "
            "qemu engine (--engine qemu) does not know 32-bit x86 either",
            program->path);
    if (program->elf.arch == HP_ARCH_NONE)
        return hp_fail(HP_ERR_UNSUPPORTED,
                       "%s is for an architecture hotpath cannot watch (ELF machine %d); it knows "
                       "64-bit x86, AArch64, RISC-V, Alpha and 32-bit ARM",
                       program->path, program->elf.machine);
    if (!program->elf.loadable)
        return hp_fail(HP_ERR_UNSUPPORTED,
                       "%s: an ELF file without a program (an object file, or damaged)",
                       program->path);
    return HP_OK;
}

enum hp_err hp_executable_find(char *const *argv, struct hp_executable *program)
{
    *program = (struct hp_executable){0};
    enum hp_err err = find_program(argv, program);
    if (err != HP_OK && err != HP_ERR_UNOBSERVED)
        hp_executable_fini(program);
    return err;
}

void hp_executable_fini(struct hp_executable *program)
{
    free_argv(program->argv);
    free(program->path);
    free(program->name);
    *program = (struct hp_executable){0};
}
