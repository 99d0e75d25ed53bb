// SPDX-License-Identifier: MIT
/*
 * Debug files that are not installed: from the cache of debuginfod's clients, or, where the
 * environment variable DEBUGINFOD_URLS names servers, from one of these. Without it nothing is ever
 * fetched.
 */
#ifndef HP_SYMBOLS_DEBUGINFOD_H
#define HP_SYMBOLS_DEBUGINFOD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is being fetched; `failure`: why it was not, and servers are not asked again. */
struct hp_fetch {
    const char *file;      /* that the debug file belongs to; NULL: it is over */
    uint64_t bytes, total; /* so far; 0: not known */
    const char *failure;   /* NULL: none */
};

/* Says who is told, now and then, from whatever thread fetches; NULL: nobody. */
void hp_debuginfod_tell(void (*tell)(const struct hp_fetch *fetch));

/* The path of the file with this build id in the cache; it need not exist. False: none is
 * possible. */
bool hp_debuginfod_cached(const char *build_id, char path[PATH_MAX]);

/* Fetches it for `file`; false: there is none, or nobody may be asked. Waits for a server that does
 * not answer for 20 seconds, or as long as DEBUGINFOD_TIMEOUT says, and only once. */
bool hp_debuginfod_fetch(const char *build_id, const char *file, char path[PATH_MAX]);

/* What makes the functions of a stripped file get their names: a package with its debug file, a
 * variable; one sentence, at most `size` bytes. */
void hp_debuginfod_advice(const char *file, char *text, size_t size);

#endif
