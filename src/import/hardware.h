// SPDX-License-Identifier: MIT
/*
 * Recording what the processor samples: what the kernel allows here, and `perf record` with that.
 */
#ifndef HP_IMPORT_HARDWARE_H
#define HP_IMPORT_HARDWARE_H

#include "hotpath/error.h"

#include <linux/perf_event.h>
#include <stdbool.h>

/* The machine that is asked; tests ask others. */
struct hp_hardware_host {
    const char *maker;   /* of the processor: "intel", "amd", "" */
    const char *devices; /* the folder of what has events */
    const char *level;   /* the file that says what users may sample */
    /* As perf_event_open() of the calling process: a descriptor, or -1 and errno. */
    int (*open)(void *context, struct perf_event_attr *attr);
    void *context;
};
struct hp_hardware_host hp_hardware_here(void);

#define HP_HARDWARE_WORDS 8

/* Something that can be sampled. */
struct hp_hardware {
    const char *what;                     /* "branch stacks" */
    const char *words[HP_HARDWARE_WORDS]; /* for `perf record`, ended by NULL */
};

/* The best that is allowed: branch stacks, else samples of instructions (AMD IBS), or only the
 * latter. HP_ERR_UNSUPPORTED: there is nothing; the text says why. */
HP_MUST_CHECK enum hp_err hp_hardware_find(const struct hp_hardware_host *host, bool instructions,
                                           const struct hp_hardware **hardware);

/* What is run. */
struct hp_hardware_program {
    char *const *words;         /* ended by NULL */
    const char *input, *output; /* files; NULL: those of hotpath */
};

/* Runs a program under the perf of PATH, which writes the file. `*status`: as a shell has it.
 * HP_ERR_NOTFOUND: there is no perf. HP_ERR_IO: it cannot be run. */
HP_MUST_CHECK enum hp_err hp_hardware_record(const struct hp_hardware *hardware, const char *path,
                                             const struct hp_hardware_program *program,
                                             int *status);

#endif
