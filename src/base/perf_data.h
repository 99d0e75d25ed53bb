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
    HP_PERF_FEATURE_CPUID = 9,
    HP_PERF_FEATURE_CMDLINE = 11,
    HP_PERF_FEATURE_EVENT_DESC = 12,
    HP_PERF_FEATURE_BRANCH_STACK = 15,
    HP_PERF_FEATURE_PMU_MAPPINGS = 16,
    HP_PERF_FEATURE_AUXTRACE = 18,
    HP_PERF_FEATURE_SAMPLE_TIME = 21,
};

/* Records of perf itself. */
enum hp_perf_own_record {
    HP_PERF_RECORD_ATTR = 64,
    HP_PERF_RECORD_TRACING_DATA = 66, /* data behind the record */
    HP_PERF_RECORD_BUILD_ID = 67,
    HP_PERF_RECORD_FINISHED_ROUND = 68,
    HP_PERF_RECORD_AUXTRACE_INFO = 70, /* what hardware traced, and how */
    HP_PERF_RECORD_AUXTRACE = 71,      /* data behind the record */
    HP_PERF_RECORD_EVENT_UPDATE = 78,
    HP_PERF_RECORD_TIME_CONV = 79, /* shift, multiplier, zero: ticks become nanoseconds */
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
/* As those of AMD do: EX_RET_BRN_TKN. */
#define HP_PERF_TAKEN_BRANCHES_AMD 0xc4

/* perf refuses longer stacks. */
#define HP_PERF_MAX_BRANCHES 127

/* A piece of what hardware traced: the data follows. */
struct hp_perf_auxtrace {
    uint64_t size, offset; /* of the data; where it is in all data of its buffer */
    uint64_t reference;
    uint32_t index; /* of the buffer */
    int32_t tid;    /* -1: of a processor's buffer */
    int32_t cpu;    /* -1: of a thread's buffer */
    uint32_t reserved;
};

#define HP_PERF_AUXTRACE_INTEL_PT 1
#define HP_PERF_AUXTRACE_ARM_ETM  3
#define HP_PERF_AUXTRACE_ARM_SPE  4

/* What HP_PERF_RECORD_AUXTRACE_INFO says of Intel PT, behind the kind of trace. */
enum hp_perf_pt_info {
    HP_PERF_PT_PMU_TYPE,
    HP_PERF_PT_TIME_SHIFT, /* nanoseconds = zero + (ticks * multiplier >> shift) */
    HP_PERF_PT_TIME_MULTIPLIER,
    HP_PERF_PT_TIME_ZERO,
    HP_PERF_PT_TIME_IS_KNOWN,
    HP_PERF_PT_TSC_BIT, /* of the event's configuration */
    HP_PERF_PT_NO_RETURNS_BIT,
    HP_PERF_PT_SWITCHES, /* 0: there are no records of them; 1: as samples of sched_switch; 2, 3 */
    HP_PERF_PT_SNAPSHOT,
    HP_PERF_PT_PER_CPU, /* buffers */
    HP_PERF_PT_MTC_BIT,
    HP_PERF_PT_MTC_PERIOD_BITS,
    HP_PERF_PT_TSC_PER_CTC, /* numerator */
    HP_PERF_PT_TSC_PER_CTC_DENOMINATOR,
    HP_PERF_PT_CYC_BIT,
    HP_PERF_PT_RATIO,
    HP_PERF_PT_FILTER_SIZE, /* of a text behind this */
    HP_PERF_PT_INFO_COUNT_
};

/* Likewise, what it says of Arm ETM; behind that comes a block for each processor. */
enum hp_perf_etm_info {
    HP_PERF_ETM_VERSION,
    HP_PERF_ETM_PMU_CPUS, /* the type of the event << 32 | processors */
    HP_PERF_ETM_SNAPSHOT,
    HP_PERF_ETM_CPUS_
};

/* A block: the magic number of its kind, the number of the processor, since version 1 how many
 * registers follow, and these. */
#define HP_PERF_ETM_MAGIC_V3     UINT64_C(0x3030303030303030)
#define HP_PERF_ETM_MAGIC_V4     UINT64_C(0x4040404040404040)
#define HP_PERF_ETM_MAGIC_ETE    UINT64_C(0x5050505050505050)
#define HP_PERF_ETM_REGISTERS_V3 4 /* of ETMv3, in version 0 */
enum hp_perf_etm_register {
    HP_PERF_ETM_CONFIG,
    HP_PERF_ETM_TRACE_ID,
    HP_PERF_ETM_ID0,
    HP_PERF_ETM_ID1,
    HP_PERF_ETM_ID2,
    HP_PERF_ETM_ID8,
    HP_PERF_ETM_AUTH_STATUS,
    HP_PERF_ETM_REGISTERS_V0,                           /* as many are in a block of version 0 */
    HP_PERF_ETM_TIME_SOURCE = HP_PERF_ETM_REGISTERS_V0, /* 1: the processor's timer */
    HP_PERF_ETE_DEVARCH = HP_PERF_ETM_REGISTERS_V0,     /* of ETE, these two */
    HP_PERF_ETE_TIME_SOURCE,
    HP_PERF_ETM_REGISTERS_
};

/* In HP_PERF_ETM_CONFIG. */
#define HP_PERF_ETM_CONFIG_CYCLES  (1u << 4)
#define HP_PERF_ETM_CONFIG_CONTEXT (1u << 6) /* ids of threads are in packets; likewise: */
#define HP_PERF_ETM_CONFIG_VM      (1u << 7) /* the same for EL2, with the next but two */
#define HP_PERF_ETM_CONFIG_TIMES   (1u << 11)
#define HP_PERF_ETM_CONFIG_RETURNS (1u << 12) /* are compressed */
#define HP_PERF_ETM_CONFIG_VM_OPT  (1u << 15)

#endif
