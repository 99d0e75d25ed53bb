// SPDX-License-Identifier: MIT
/*
 * Debug messages: what the parts of hotpath do, a line each on stderr, on request. Each part is a
 * domain. Nothing is printed, and nothing computed, until hp_debug_start() names some. Never for an
 * event of the stream: only for what happens once, or once per thread or file.
 */
#ifndef HP_BASE_DEBUG_H
#define HP_BASE_DEBUG_H

#include "hotpath/error.h"

#include <stdbool.h>

enum hp_debug_domain {
    HP_DEBUG_SESSION,  /* what was planned, and how a run ended */
    HP_DEBUG_ENGINE,   /* shared memory, and threads and processes as they start and end */
    HP_DEBUG_STREAM,   /* what was read */
    HP_DEBUG_SYMBOLS,  /* files read for their symbols */
    HP_DEBUG_PROFILER, /* profilers, and the time taken by finishing */
    HP_DEBUG_PROFILE,  /* profile files */
    HP_DEBUG_DOMAINS
};

/* Turns on the domains of a list, "engine,stream" or "all". NULL or "": none. HP_ERR_INVALID: an
 * unknown domain; the text lists them. Call it once, before threads are created. */
enum hp_err hp_debug_start(const char *list);

bool hp_debug_is_on(enum hp_debug_domain domain);

/* Prints "hotpath: DOMAIN: TIME s: TEXT", with the time since hp_debug_start(). */
void hp_debug(enum hp_debug_domain domain, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
