// SPDX-License-Identifier: MIT
/*
 * Demangling of C++ (Itanium ABI) and Rust (legacy and v0) names.
 */
#ifndef HP_SYMBOLS_DEMANGLE_H
#define HP_SYMBOLS_DEMANGLE_H

#include <stdbool.h>

/*
 * The readable form of `name`, or NULL when it is not a mangled name, when its readable form would
 * be absurdly long (a few bytes can expand without bound), or when memory ran out. With `params` as
 * c++filt prints it; otherwise without parameter list and return type ("space::name<int>"). Free it
 * with free().
 */
char *hp_demangle(const char *name, bool params);

#endif
