// SPDX-License-Identifier: MIT
/*
 * The records of a perf.data file, one after the other: of a file or of what was written to a pipe,
 * in either byte order, compressed or not. Nothing in the file is trusted: what cannot be right
 * ends the reading there, and is said.
 */
#ifndef HP_IMPORT_READER_H
#define HP_IMPORT_READER_H

#include "base/map64.h"
#include "base/perf_data.h"
#include "hotpath/error.h"
#include "import/aux.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Where a sample has what all samples of its sort have at the same place: offsets in its body.
 * Behind `size` bytes is the rest. */
struct hp_perf_layout {
    uint8_t ip, tid, time, period; /* HP_PERF_ABSENT: it has none */
    uint8_t size;
};
#define HP_PERF_ABSENT UINT8_MAX

/* What one sort of samples has. */
struct hp_perf_attr {
    uint32_t type;
    uint64_t config, config1, config2, period, sample_type, read_format, branch_type;
    bool frequency;    /* the period is a rate */
    bool trailers;     /* records that are no samples end with who and when */
    char name[64];     /* "cycles:u"; "": not known */
    uint64_t first_id; /* one of its ids; 0: it has none */
    struct hp_perf_layout layout;
};

struct hp_perf_attrs {
    struct hp_perf_attr *all;
    size_t n, capacity;
    struct hp_map64 of_id; /* id -> which one */
};

/* Bytes that are taken one after the other; behind the end come zeroes, and `bad` is set. */
struct hp_perf_bytes {
    const uint8_t *at, *end;
    bool swapped, bad;
};
static inline void hp_perf_take(struct hp_perf_bytes *bytes, void *to, size_t n)
{
    if ((size_t)(bytes->end - bytes->at) >= n) {
        memcpy(to, bytes->at, n);
        bytes->at += n;
        return;
    }
    memset(to, 0, n);
    bytes->at = bytes->end;
    bytes->bad = true;
}
static inline uint32_t hp_perf_u32(struct hp_perf_bytes *bytes)
{
    uint32_t value;
    hp_perf_take(bytes, &value, sizeof value);
    return bytes->swapped ? __builtin_bswap32(value) : value;
}
static inline uint64_t hp_perf_u64(struct hp_perf_bytes *bytes)
{
    uint64_t value;
    hp_perf_take(bytes, &value, sizeof value);
    return bytes->swapped ? __builtin_bswap64(value) : value;
}
/* Flags that were written as bits: bit 0 is the first one of the struct. */
uint64_t hp_perf_flags(struct hp_perf_bytes *bytes);
/* A text up to the end of the bytes or its own, cut to `size`. */
void hp_perf_text(struct hp_perf_bytes *bytes, size_t n, char *text, size_t size);
/* Puts '?' in the place of what would break a line. */
void hp_perf_one_line(char *text);
void hp_perf_skip(struct hp_perf_bytes *bytes, uint64_t n);
static inline size_t hp_perf_left(const struct hp_perf_bytes *bytes)
{
    return (size_t)(bytes->end - bytes->at);
}

struct hp_perf_record {
    uint32_t type;
    uint16_t misc;
    struct hp_perf_bytes body; /* valid until the next record */
};

/* A part of a processor that counts or samples events. */
struct hp_perf_pmu {
    uint32_t type;
    char name[32];
};

/* A build id that the file gives to a path. */
struct hp_perf_known_id {
    char *path, *build_id;
};

struct hp_perf_reader;

/* "-": standard input. What is read from a pipe is kept in a temporary file. HP_ERR_IO,
 * HP_ERR_FORMAT: it is not such a file; the text says what it is. */
HP_MUST_CHECK enum hp_err hp_perf_open(const char *path, struct hp_perf_reader **reader);
void hp_perf_close(struct hp_perf_reader *reader);

/* The next record of the kernel; false: there are no more, or the rest cannot be read:
 * hp_perf_damage(). What perf itself wrote between them (attributes, features, compressed data) is
 * taken in. HP_ERR_NOMEM ends it too. */
bool hp_perf_next(struct hp_perf_reader *reader, struct hp_perf_record *record);

/* From the first record on again. */
void hp_perf_rewind(struct hp_perf_reader *reader);

/* What was wrong; "": nothing. */
const char *hp_perf_damage(const struct hp_perf_reader *reader);
bool hp_perf_no_memory(const struct hp_perf_reader *reader);

/* Known when the file has been read once; of a file from the beginning. */
const struct hp_perf_attrs *hp_perf_attrs(const struct hp_perf_reader *reader);
const char *hp_perf_machine(const struct hp_perf_reader *reader); /* "x86_64"; "": not known */
const char *hp_perf_version(const struct hp_perf_reader *reader); /* of perf; "" */
/* "AuthenticAMD,25,17,1": maker, family, model, stepping; "" */
const char *hp_perf_cpu(const struct hp_perf_reader *reader);
/* The name of the part of a processor that has events of this type: "ibs_op"; "": not known. */
const char *hp_perf_pmu(const struct hp_perf_reader *reader, uint32_t type);
/* The command line, ended by NULL. */
char *const *hp_perf_command(const struct hp_perf_reader *reader);
/* The build id of a path; NULL: not known. */
const char *hp_perf_build_id_of(const struct hp_perf_reader *reader, const char *path);
/* What hardware traced. Its data is read with the next. */
struct hp_aux *hp_perf_aux(struct hp_perf_reader *reader);
/* Reads up to `n` bytes of the file; returns how many. */
size_t hp_perf_read_at(const struct hp_perf_reader *reader, uint64_t at, void *bytes, size_t n);

/* Bytes of a build id as hexadecimal digits; zeroes at its end are no part of it where its size is
 * not known (0). */
#define HP_PERF_BUILD_ID_TEXT (2 * HP_PERF_BUILD_ID_SIZE + 1)
void hp_perf_build_id_text(const uint8_t *id, size_t size, char text[HP_PERF_BUILD_ID_TEXT]);

#endif
