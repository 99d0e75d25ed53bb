// SPDX-License-Identifier: MIT
/*
 * The parts of perf.data that are not in <linux/perf_event.h>: what the tool perf puts around the
 * kernel's records. All numbers are in the byte order of the machine that wrote the file.
 */
#ifndef HP_BASE_PERF_DATA_H
#define HP_BASE_PERF_DATA_H

#include <linux/perf_event.h>
#include <stdint.h>

#define HP_PERF_MAGIC         "PERFILE2"
#define HP_PERF_MAGIC_SWAPPED "2ELIFREP"
#define HP_PERF_FEATURE_BITS  256

struct hp_perf_section {
    uint64_t offset, size;
};

/* A file begins with this. Of one that was written to a pipe there is only the beginning, magic and
 * size: records follow, and what is in the sections below are records as well. */
struct hp_perf_header {
    char magic[8];
    uint64_t size;      /* of this; 16: a pipe */
    uint64_t attr_size; /* of an attribute with its section of ids */
    struct hp_perf_section attrs, data, event_types;
    uint64_t features[HP_PERF_FEATURE_BITS / 64]; /* which there are; their sections, in order, are
                                                     behind the data */
};
#define HP_PERF_PIPE_HEADER 16

enum hp_perf_feature {
    HP_PERF_FEATURE_BUILD_ID = 2,
    HP_PERF_FEATURE_HOSTNAME = 3,
    HP_PERF_FEATURE_VERSION = 5,
    HP_PERF_FEATURE_ARCH = 6,
    HP_PERF_FEATURE_CMDLINE = 11,
    HP_PERF_FEATURE_EVENT_DESC = 12,
    HP_PERF_FEATURE_BRANCH_STACK = 15,
    HP_PERF_FEATURE_SAMPLE_TIME = 21,
};

/* Records of perf itself. */
enum hp_perf_own_record {
    HP_PERF_RECORD_ATTR = 64,
    HP_PERF_RECORD_TRACING_DATA = 66, /* data behind the record */
    HP_PERF_RECORD_BUILD_ID = 67,
    HP_PERF_RECORD_FINISHED_ROUND = 68,
    HP_PERF_RECORD_AUXTRACE = 71, /* data behind the record */
    HP_PERF_RECORD_EVENT_UPDATE = 78,
    HP_PERF_RECORD_FEATURE = 80,
    HP_PERF_RECORD_COMPRESSED = 81,
    HP_PERF_RECORD_COMPRESSED2 = 83,
};

#define HP_PERF_BUILD_ID_SIZE   20
#define HP_PERF_MISC_BUILD_SIZE (1 << 15) /* of a build id: its size is known */

/* Also a section of such: the name follows, up to the record's end. */
struct hp_perf_build_id {
    struct perf_event_header header;
    int32_t pid;
    uint8_t id[HP_PERF_BUILD_ID_SIZE];
    uint8_t size; /* with HP_PERF_MISC_BUILD_SIZE */
    uint8_t reserved[3];
};

/* Taken branches, as processors of Intel count them: BR_INST_RETIRED.NEAR_TAKEN. */
#define HP_PERF_TAKEN_BRANCHES 0x20c4

/* perf refuses longer stacks. */
#define HP_PERF_MAX_BRANCHES 127

#endif
