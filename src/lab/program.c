// SPDX-License-Identifier: MIT
#include "lab/program.h"

#include "base/grow.h"
#include "engine/program.h"
#include "engine/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SCRIPT        "lab/programs.py"
#define NOT_INSTALLED 3 /* exit status of the script */

/* --- Querying the script ---------------------------------------------------------------------- */

static enum hp_err read_all(int fd, char **text)
{
    size_t length = 0, capacity = 0;
    *text = NULL;
    for (;;) {
        if (hp_grow(text, &capacity, length + 4096, 1) != HP_OK)
            break;
        ssize_t n = read(fd, *text + length, capacity - length - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            (*text)[length] = 0;
            return n == 0 ? HP_OK
                          : hp_fail(HP_ERR_IO, "cannot read from " SCRIPT ": %s", strerror(errno));
        }
        length += (size_t)n;
    }
    return HP_ERR_NOMEM;
}

static enum hp_err start(const char *path, char *const *argv, int out, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return hp_fail_nomem();
    int error = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (error == 0)
        error = posix_spawn(pid, path, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0 ? HP_OK : hp_fail(HP_ERR_IO, "cannot run %s: %s", path, strerror(error));
}

/* Runs a command to its end; what it prints is freed with free(). */
static enum hp_err capture(const char *path, char *const *argv, char **output, int *status)
{
    int fds[2];
    pid_t pid;
    *output = NULL;
    if (pipe2(fds, O_CLOEXEC) != 0)
        return hp_fail(HP_ERR_IO, "cannot make a pipe: %s", strerror(errno));
    enum hp_err err = start(path, argv, fds[1], &pid);
    close(fds[1]);
    if (err == HP_OK) {
        err = read_all(fds[0], output);
        close(fds[0]);
        while (waitpid(pid, status, 0) < 0 && errno == EINTR)
            ;
    } else {
        close(fds[0]);
    }
    return err;
}

/* Queries `words` (NULL-terminated, at most 5). */
static enum hp_err ask(char *const *words, char **output, int *status)
{
    char *script, *python = hp_find_in_path("python3");
    if (!python)
        return hp_fail(HP_ERR_NOTFOUND, "python3 is not installed: it makes the programs' inputs");
    enum hp_err err = hp_find_part(SCRIPT, R_OK, &script);
    if (err == HP_OK) {
        char *argv[8] = {python, script};
        for (int i = 0; words[i] && i < 5; i++)
            argv[2 + i] = words[i];
        err = capture(python, argv, output, status);
        free(script);
    }
    free(python);
    return err;
}

static enum hp_err fail_script(int status)
{
    return hp_fail(HP_ERR_IO, SCRIPT " failed (%s %d)", WIFSIGNALED(status) ? "signal" : "status",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* --- The list --------------------------------------------------------------------------------- */

static enum hp_err add(struct hp_lab_programs *programs, size_t *capacity, const char *name,
                       const char *package, const char *stands_for)
{
    HP_TRY(hp_grow(&programs->programs, capacity, programs->n + 1, sizeof *programs->programs));
    struct hp_lab_program *p = &programs->programs[programs->n++];
    *p = (struct hp_lab_program){strdup(name), strdup(package), strdup(stands_for)};
    return p->name && p->package && p->stands_for ? HP_OK : hp_fail_nomem();
}

static enum hp_err parse_list(char *text, struct hp_lab_programs *programs)
{
    size_t capacity = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *fields = line;
        char *name = strsep(&fields, "\t"), *package = strsep(&fields, "\t");
        if (!package || !fields)
            return hp_fail(HP_ERR_FORMAT, SCRIPT ": '%s' is no line of its list", line);
        HP_TRY(add(programs, &capacity, name, package, fields));
    }
    return HP_OK;
}

static enum hp_err all_programs(struct hp_lab_programs *programs)
{
    char *output = NULL;
    int status;
    *programs = (struct hp_lab_programs){0};
    enum hp_err err = ask((char *[]){"list", NULL}, &output, &status);
    if (err == HP_OK && status != 0)
        err = fail_script(status);
    if (err == HP_OK)
        err = parse_list(output, programs);
    free(output);
    return err;
}

/* A line with all names. */
static void list_names(const struct hp_lab_programs *programs, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < programs->n && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
                                 programs->programs[i].name);
}

static enum hp_err choose(const struct hp_lab_programs *all, const char *wanted,
                          struct hp_lab_programs *chosen)
{
    size_t capacity = 0;
    for (const char *name = wanted; *name;) {
        size_t length = strcspn(name, ","), i = 0;
        const struct hp_lab_program *p = all->programs;
        while (i < all->n && (strlen(p[i].name) != length || memcmp(p[i].name, name, length)))
            i++;
        if (i == all->n) {
            char names[512];
            list_names(all, names, sizeof names);
            return hp_fail(HP_ERR_NOTFOUND, "there is no program '%.*s'; there are %s",
                           (int)(length < 64 ? length : 64), name, names);
        }
        HP_TRY(add(chosen, &capacity, p[i].name, p[i].package, p[i].stands_for));
        name += length + (name[length] == ',');
    }
    return chosen->n ? HP_OK : hp_fail(HP_ERR_INVALID, "no program is named");
}

enum hp_err hp_lab_programs(const char *wanted, struct hp_lab_programs *programs)
{
    enum hp_err err = all_programs(programs);
    if (err == HP_OK && wanted) {
        struct hp_lab_programs all = *programs;
        *programs = (struct hp_lab_programs){0};
        err = choose(&all, wanted, programs);
        hp_lab_programs_fini(&all);
    }
    if (err != HP_OK)
        hp_lab_programs_fini(programs);
    return err;
}

void hp_lab_programs_fini(struct hp_lab_programs *programs)
{
    for (size_t i = 0; i < programs->n; i++) {
        free(programs->programs[i].name);
        free(programs->programs[i].package);
        free(programs->programs[i].stands_for);
    }
    free(programs->programs);
    *programs = (struct hp_lab_programs){0};
}

/* --- How to run one --------------------------------------------------------------------------- */

static enum hp_err parse_line(char *line, struct hp_lab_command *command, size_t *n,
                              size_t *capacity)
{
    char *value = strchr(line, ' ');
    if (!value)
        return hp_fail(HP_ERR_FORMAT, SCRIPT ": '%s' is no part of a command", line);
    *value++ = 0;
    if (strcmp(line, "status") == 0) {
        command->status = atoi(value);
        return HP_OK;
    }
    if (strcmp(line, "several") == 0) {
        command->several = atoi(value);
        return HP_OK;
    }
    if (strcmp(line, "arch") == 0) {
        command->arch = hp_arch_from_name(value);
        return HP_OK;
    }
    char *copy = strdup(value);
    if (!copy)
        return hp_fail_nomem();
    bool is_input = strcmp(line, "stdin") == 0;
    if (is_input || strcmp(line, "sysroot") == 0) {
        char **place = is_input ? &command->input : &command->sysroot;
        free(*place);
        *place = copy;
        return HP_OK;
    }
    enum hp_err err = hp_grow(&command->argv, capacity, *n + 2, sizeof *command->argv);
    if (err == HP_OK)
        command->argv[(*n)++] = copy;
    else
        free(copy);
    return err;
}

static enum hp_err parse_command(char *text, struct hp_lab_command *command)
{
    size_t n = 0, capacity = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        HP_TRY(parse_line(line, command, &n, &capacity));
    return n && command->input ? HP_OK : hp_fail(HP_ERR_FORMAT, SCRIPT " gave no command");
}

/* The script prints where to get it, in one line. */
static enum hp_err fail_missing(char *output)
{
    output[strcspn(output, "\n")] = 0;
    return hp_fail(HP_ERR_UNSUPPORTED, "not installed: %s", output);
}

enum hp_err hp_lab_command(const struct hp_lab_program *program,
                           const struct hp_lab_request *request, struct hp_lab_command *command)
{
    char *output = NULL, *directory = strdup(request->directory);
    char *arch = request->arch ? strdup(request->arch) : NULL;
    int status;
    *command = (struct hp_lab_command){.arch = HP_ARCH_X86_64};
    char *words[] = {"command",     directory, request->short_form ? "short" : "long",
                     program->name, arch,      NULL};
    enum hp_err err =
        directory && (arch || !request->arch) ? ask(words, &output, &status) : hp_fail_nomem();
    if (err == HP_OK && WIFEXITED(status) && WEXITSTATUS(status) == NOT_INSTALLED)
        err = fail_missing(output);
    else if (err == HP_OK && status != 0)
        err = fail_script(status);
    else if (err == HP_OK)
        err = parse_command(output, command);
    if (err != HP_OK)
        hp_lab_command_fini(command);
    free(output);
    free(directory);
    free(arch);
    return err;
}

void hp_lab_command_fini(struct hp_lab_command *command)
{
    for (char **argument = command->argv; argument && *argument; argument++)
        free(*argument);
    free(command->argv);
    free(command->input);
    free(command->sysroot);
    *command = (struct hp_lab_command){0};
}
