// SPDX-License-Identifier: MIT
/*
 * A stream whose contents end up in another one, compressed (gzip) and as text (base64).
 */
#ifndef HP_PAGE_PACK_H
#define HP_PAGE_PACK_H

#include "hotpath/error.h"

#include <stdio.h>

struct hp_pack;

/* `out` stays open, and must until the pack is closed. */
enum hp_err hp_pack_open(FILE *out, struct hp_pack **pack);

/* Write here. */
FILE *hp_pack_file(struct hp_pack *pack);

/* Writes what is left, and releases it. HP_ERR_IO: something could not be written. */
enum hp_err hp_pack_close(struct hp_pack *pack);

#endif
