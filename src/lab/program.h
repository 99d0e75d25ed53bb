// SPDX-License-Identifier: MIT
/*
 * The programs of the experiments: real ones of the distribution, with generated inputs. Which
 * there are, and how their inputs are made, is written down once, in lab/programs.py; this asks it.
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
    char *stands_for; /* which program of the papers, or why it is here */
};

struct hp_lab_programs {
    struct hp_lab_program *programs;
    size_t n;
};

/*
 * All of them, or with `wanted` (names with commas between) those, in that order. HP_ERR_NOTFOUND:
 * no such program, or the script or python3 is not there; the text says which.
 */
enum hp_err hp_lab_programs(const char *wanted, struct hp_lab_programs *programs);
void hp_lab_programs_fini(struct hp_lab_programs *programs);

/* How to run one. */
struct hp_lab_command {
    char **argv; /* ends with NULL */
    char *input; /* file for its standard input */
    int status;  /* with which it ends when all is well */
    enum hp_arch arch;
    char *
        sysroot; /* where the libraries of a foreign program are; NULL: it is one of this machine */
};

/* What is asked for. */
struct hp_lab_request {
    const char *directory; /* for input files */
    const char *arch;      /* NULL: of this machine */
    bool short_form;       /* as little as the program can do */
};

/*
 * The command of a program, with its input files, which are made when they are not there yet.
 * HP_ERR_UNSUPPORTED: the program is not installed; the text says where it is to be had.
 */
enum hp_err hp_lab_command(const struct hp_lab_program *program,
                           const struct hp_lab_request *request, struct hp_lab_command *command);
void hp_lab_command_fini(struct hp_lab_command *command);

#endif
