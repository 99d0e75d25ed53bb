// SPDX-License-Identifier: MIT
/*
 * Releases what a function holds, however the function is left:
 *
 *     struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
 *     uint32_t *order HP_CLEANUP(hp_free) = NULL;
 *     HP_TRY(fill(&text, &order));
 *
 * Each must be initialized in its declaration. What is handed to the caller is set to NULL
 * afterwards.
 */
#ifndef HP_BASE_CLEANUP_H
#define HP_BASE_CLEANUP_H

#include <stdlib.h>

#define HP_CLEANUP(release) __attribute__((cleanup(release)))

/* Defines name(), for HP_CLEANUP(): it calls release() on what a pointer points to. */
#define HP_CLEANUP_POINTER(name, type, release)                                                    \
    static inline void name(type **pointer)                                                        \
    {                                                                                              \
        release(*pointer);                                                                         \
    }

/* free() of the pointer that `pointer` points to. */
static inline void hp_free(void *pointer)
{
    free(*(void **)pointer);
}

#endif
