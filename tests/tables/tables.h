// SPDX-License-Identifier: MIT
/* Printing a list of a document. */
#ifndef TABLES_H
#define TABLES_H

#include "text/strbuf.h"

#include <stdbool.h>

void add(struct hp_strbuf *text, const char *before, const char *what, const char *behind);

/* An item: its words are broken at blanks before the last column. Clears the text. */
void print_buffer(struct hp_strbuf *text);

/* The family of models of that name, with "_" for blanks; false: there is none. */
bool print_models(struct hp_strbuf *text, const char *name);

#endif
