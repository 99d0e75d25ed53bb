// SPDX-License-Identifier: MIT
/*
 * Names of generated code, as runtimes write them for perf:
 *
 * - a map, perf-PID.map: a line "START SIZE name" for each piece of code, numbers in hex;
 * - a dump, jit-PID.dump ("jitdump"): records of code that was loaded, with its bytes, and of code
 *   that was moved, each with its time.
 *
 * Neither says what is freed. Where pieces overlap, other code has taken the place of the older.
 * Files are read defensively: whoever wrote them, they give names, or a reason why not.
 */
#ifndef HP_SYMBOLS_GENERATED_H
#define HP_SYMBOLS_GENERATED_H

#include "hotpath/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define HP_GENERATED_BYTES  ((size_t)256 << 20) /* the largest file that is read */
#define HP_GENERATED_PIECES ((size_t)4 << 20)   /* of all files */
#define HP_GENERATED_NAME   4096                /* longer names are cut */

/* A piece of generated code with a name. */
struct hp_generated_piece {
    uint64_t start, size; /* start + size does not overflow; size is not 0 */
    const char *name;     /* not "" */
    const uint8_t *bytes; /* `size` of them; NULL: not known */
    uint32_t code;        /* which code it is: the same for code that was moved */
};

struct hp_generated; /* opaque */

enum hp_err hp_generated_new(struct hp_generated **generated);
void hp_generated_free(struct hp_generated *generated);

/*
 * Adds the pieces of a map or a dump, whose first bytes tell which. Where files overlap, the one
 * read last counts. Only a regular file of this user or root is read, no symbolic link. One that
 * is missing, or was last written before `since` (by an earlier process with this number), adds
 * nothing. `why`, of `size` bytes, says why the file, or a part of it, could not be used; "": it
 * could. HP_ERR_NOMEM only.
 */
enum hp_err hp_generated_read(struct hp_generated *generated, const char *path, time_t since,
                              char *why, size_t size);

/* The same from memory, which is changed and kept until the end: free() releases it. With a 0
 * behind its `n` bytes. */
enum hp_err hp_generated_take(struct hp_generated *generated, char *text, size_t n, char *why,
                              size_t size);

size_t hp_generated_count(const struct hp_generated *generated);

/* All pieces are there: hp_generated_find() can be used. */
void hp_generated_settle(struct hp_generated *generated);

/*
 * The piece that holds the `n` bytes of code at `address`; NULL: none. Of several the last whose
 * bytes are these, else the last. `*doubt`: one with another name is only ruled out by being
 * earlier. `n` 0: the code is not known.
 */
const struct hp_generated_piece *hp_generated_find(const struct hp_generated *generated,
                                                   uint64_t address, const uint8_t *bytes, size_t n,
                                                   bool *doubt);

/* How many codes there are: hp_generated_piece.code is below. */
uint32_t hp_generated_codes(const struct hp_generated *generated);

#endif
