// SPDX-License-Identifier: MIT
/*
 * From a command as a user types it to the file to run.
 */
#ifndef HP_ENGINE_PROGRAM_H
#define HP_ENGINE_PROGRAM_H

#include "engine/elf_file.h"
#include "hotpath/error.h"

struct hp_executable {
    char *path;  /* the ELF file */
    char *name;  /* name of the requested file, as given to execve(); for a script its own, not its
                    interpreter's */
    char **argv; /* argv[0] as the user wrote it; for scripts the interpreter's */
    struct hp_elf_file elf;
    char *const *environment; /* padded (environment.h); NULL: ours, unchanged */
};

/*
 * Finds the program in PATH as a shell would, and follows `#!` lines to the interpreter.
 * HP_ERR_NOTFOUND: no such program (exit status 127). HP_ERR_UNSUPPORTED: it exists but cannot be
 * run here (126): not executable, not a program, an unknown architecture. HP_ERR_UNOBSERVED: it may
 * be executed but not read; the result is still filled.
 */
enum hp_err hp_executable_find(char *const *argv, struct hp_executable *program);
void hp_executable_fini(struct hp_executable *program);

/* Finds an executable in PATH; NULL when there is none. Free the result. */
char *hp_find_in_path(const char *name);

#endif
