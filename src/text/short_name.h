// SPDX-License-Identifier: MIT
/* Names of C++ and Rust functions, shortened so that what identifies them stays. */
#ifndef HP_TEXT_SHORT_NAME_H
#define HP_TEXT_SHORT_NAME_H

#include "text/strbuf.h"

/*
 * Appends a name, which is valid UTF-8, in at most `columns` terminal columns (at least 1). As far
 * as that is needed: the hash of a Rust name is dropped, then the return type; what is in template
 * arguments and parameters becomes "…", from left to right, but those of the last component after
 * all others; leading namespaces become "…::"; "<…>" of the class, "…::" before it and the
 * parameters go, then the class. The last component stays, with what says which clone or closure it
 * is; if that is too long its end is cut. Of a name without such parts the middle is cut. What
 * stands before the name ("-> ", blanks) and behind it (" (new)") is kept.
 */
void hp_short_name(struct hp_strbuf *buffer, const char *name, size_t columns);

#endif
