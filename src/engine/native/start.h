// SPDX-License-Identifier: MIT
/*
 * How a native engine is started: by hotpath for the program, and by an engine for a program that
 * its program executes.
 *
 * The engine (hotpath-engine, a program that stands alone) is executed with exactly the arguments
 * and the environment of the program. What else it must know is in a small memory file, found by
 * what it holds among the inherited descriptors; the engine closes it at once.
 */
#ifndef HP_NATIVE_START_H
#define HP_NATIVE_START_H

#include <stdint.h>

#define HP_START_NAME  "hotpath-start"
#define HP_START_MAGIC 0x74726174737468u

struct hp_start {
    uint64_t magic;
    int32_t arena_fd;  /* stays open, kept away from the program */
    int32_t engine_fd; /* the engine's own file, for the programs its program executes; likewise */
    uint32_t serial;   /* of the first thread, + 1; 0: none taken yet */
    uint32_t
        former; /* number of the process, under which the program before had its rings; 0: none */
    uint16_t is_filtered;  /* a program before has installed a seccomp filter */
    uint16_t leaves_fatal; /* one by which signals that kill are the kernel's */
    uint32_t is_let_go;    /* its process was: the program is executed as it is, and `path` all that
                              counts */
    char path[4096];       /* the ELF file of the program, absolute */
    char name[4096];       /* what the kernel would put into AT_EXECFN: the name as it was given */
};

#endif
