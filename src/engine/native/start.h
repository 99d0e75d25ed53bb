// SPDX-License-Identifier: MIT
/*
 * How a native engine is started: by hotpath for the program, and by an engine for a program that
 * its program executes.
 *
 * The engine (hotpath-engine, a stand-alone program) is executed with exactly the arguments and the
 * environment of the program. Everything else it must know is in a small memory file among the
 * inherited descriptors, recognized by its contents; the engine closes it at once.
 */
#ifndef HP_NATIVE_START_H
#define HP_NATIVE_START_H

#include <stdint.h>

#define HP_START_NAME  "hotpath-start"
#define HP_START_MAGIC 0x74726174737468u

struct hp_start {
    uint64_t magic;
    int32_t arena_fd;  /* stays open, hidden from the program */
    int32_t engine_fd; /* the engine's own file, for the programs its program executes; stays open
                          too */
    uint32_t serial;   /* of the first thread, + 1; 0: none taken yet */
    uint32_t former;   /* process number, under which the previous program had its rings; 0: none */
    uint16_t is_filtered;  /* an earlier program installed a seccomp filter */
    uint16_t leaves_fatal; /* one that leaves fatal signals to the kernel */
    uint32_t
        is_let_go; /* its process was let go: the program runs natively, and only `path` matters */
    char path[4096]; /* the ELF file of the program, absolute */
    char name[4096]; /* AT_EXECFN as the kernel would set it: the name as given */
};

#endif
