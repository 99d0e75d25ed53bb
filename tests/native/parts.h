// SPDX-License-Identifier: MIT
/* What the programs of this folder share: a table of parts, chosen by name on the command line. */
#ifndef PARTS_H
#define PARTS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct part {
    const char *name;
    void (*run)(void);
};

/* Says that something is not as it should be, and ends the program with status 1. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("line %d: not so: %s\n", __LINE__, #condition);                                 \
            fflush(stdout);                                                                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* Runs the part that argv[1] names; without it prints the names. The table ends with a NULL name.
 */
static inline int run_part(const struct part *parts, int argc, char **argv)
{
    for (const struct part *p = parts; p->name; p++)
        if (argc < 2) {
            puts(p->name);
        } else if (strcmp(p->name, argv[1]) == 0) {
            p->run();
            return 0;
        }
    return argc < 2 ? 0 : 2;
}

#endif
