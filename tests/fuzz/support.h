// SPDX-License-Identifier: MIT
/*
 * What the fuzz harnesses share. A harness is one fuzz_NAME.c with LLVMFuzzerTestOneInput(): with
 * HP_FUZZ=ON libFuzzer calls it, else runner.c does, with the files of corpus/NAME. See
 * docs/fuzzing.md.
 */
#ifndef HP_FUZZ_SUPPORT_H
#define HP_FUZZ_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Something that must never be: says what, and aborts. */
_Noreturn void fuzz_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define FUZZ_ASSERT(condition)                                                                     \
    do                                                                                             \
        if (!(condition))                                                                          \
            fuzz_wrong("%s:%d: %s", __FILE__, __LINE__, #condition);                               \
    while (0)

/* A file of that name in a directory of this process's own, with these bytes. The path is valid
 * until the next call with that name. */
const char *fuzz_file(const char *name, const void *bytes, size_t size);

/* The path of such a file, whether it is there or not. */
const char *fuzz_path(const char *name);

/* Where output goes that nobody reads. */
FILE *fuzz_nowhere(void);

/* Runs the command with these words (the last is NULL; not counting "hotpath"); returns its status.
 * Insists that an error is one line. */
int fuzz_command(const char *const *words);

/* --- Taking an input apart: behind its end come zeroes. --------------------------------------- */

struct fuzz_in {
    const uint8_t *at, *end;
};

uint64_t fuzz_uint(struct fuzz_in *in, unsigned bytes);

/* A number that is likely to be taken wrongly, or any; of few bytes of the input. */
uint64_t fuzz_odd(struct fuzz_in *in);

/* Up to `max` bytes, as many as the next one or two say; `*n` is how many. */
const uint8_t *fuzz_bytes(struct fuzz_in *in, size_t max, size_t *n);

/* A text of up to `size` - 1 bytes without a 0, into `text`. */
void fuzz_text(struct fuzz_in *in, char *text, size_t size);

static inline bool fuzz_more(const struct fuzz_in *in)
{
    return in->at < in->end;
}

#endif
