// SPDX-License-Identifier: MIT
/*
 * The programs of the experiments: real ones of the distribution, with generated inputs. The list,
 * and how inputs are made, is in one place, lab/programs.py; this queries it.
 */
#ifndef HP_LAB_PROGRAM_H
#define HP_LAB_PROGRAM_H

#include "hotpath/error.h"
#include "hotpath/isa.h"

#include <stdbool.h>
#include <stddef.h>

struct hp_lab_program {
    char *name;
    char *package;    /* of Debian */
    char *stands_for; /* which program of the papers it is, or why it is included */
};

struct hp_lab_programs {
    struct hp_lab_program *programs;
    size_t n;
};

/*
 * All of them, or with `wanted` (comma-separated names) those, in that order. HP_ERR_NOTFOUND: no
 * such program, or the script or python3 is missing; the text says which.
 */
enum hp_err hp_lab_programs(const char *wanted, struct hp_lab_programs *programs);
void hp_lab_programs_fini(struct hp_lab_programs *programs);

/* How to run one. */
struct hp_lab_command {
    char **argv;  /* NULL-terminated */
    char *input;  /* file for its standard input */
    int status;   /* its exit status on success */
    bool several; /* its children belong to it */
    enum hp_arch arch;
    char *
        sysroot; /* where the libraries of a foreign program are; NULL: it is one of this machine */
};

/* The request. */
struct hp_lab_request {
    const char *directory; /* for input files */
    const char *arch;      /* NULL: this machine's */
    bool short_form;       /* as little work as possible */
};

/*
 * The command of a program, with its input files, which are created if missing. HP_ERR_UNSUPPORTED:
 * the program is not installed; the text says where to get it.
 */
enum hp_err hp_lab_command(const struct hp_lab_program *program,
                           const struct hp_lab_request *request, struct hp_lab_command *command);
void hp_lab_command_fini(struct hp_lab_command *command);

#endif
