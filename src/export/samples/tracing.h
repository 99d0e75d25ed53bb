// SPDX-License-Identifier: MIT
/*
 * A run as a processor would trace it, in perf.data: docs/export-samples.md. All packets are those
 * of user code. Buffers are those of threads, or of processors: then the threads that run are told
 * by records of context switches, or by ids in the packets.
 */
#ifndef HP_EXPORT_SAMPLES_TRACING_H
#define HP_EXPORT_SAMPLES_TRACING_H

#include "export/export.h"
#include "export/samples/perf_file.h"
#include "export/samples/processes.h"
#include "export/samples/settings.h"

/* How a thread comes to a block. */
struct hp_arrival {
    uint64_t address, ticks;
    int32_t tid;
};

/* How it leaves it: with all its bytes. */
struct hp_departure {
    const struct hp_block *code;
    const uint8_t *bytes;
    uint64_t size;
    bool taken;
    uint64_t next;
};

struct hp_packets;

/* Packets of a kind. Failures are kept in `failure`. */
struct hp_packets_ops {
    /* A block ran to its end. */
    void (*depart)(struct hp_packets *packets, const struct hp_departure *departure);
    /* Only so much of a block ran. NULL: that has no packets. */
    void (*pass)(struct hp_packets *packets, const uint8_t *bytes, uint64_t size);
    void (*enter)(struct hp_packets *packets, const struct hp_arrival *arrival);
    /* User code is left before the instruction at an address. */
    void (*interrupt)(struct hp_packets *packets, uint64_t address);
    /* Packets were lost; user code runs. */
    void (*overflow)(struct hp_packets *packets, const struct hp_arrival *arrival);
    /* Where reading can begin; user code runs. */
    void (*sync)(struct hp_packets *packets, const struct hp_arrival *arrival);
    /* Writes what is held back. */
    void (*flush)(struct hp_packets *packets);
};

/* Those of a buffer. */
struct hp_packets {
    const struct hp_packets_ops *ops;
    uint8_t *bytes;
    size_t n, capacity;
    uint64_t all;    /* bytes so far */
    uint64_t synced; /* of these, before the last place where reading can begin */
    bool enabled;    /* user code runs */
    enum hp_err failure;
};

/* What is different between the kinds of traces. */
struct hp_tracing_kind {
    enum hp_arch arch;
    const char *refusal; /* of other programs */
    enum hp_err (*parse)(const char *text, struct hp_tracing_settings *settings);
    enum hp_err (*begin)(struct hp_perf_file *file, FILE *out,
                         const struct hp_tracing_settings *settings);
    enum hp_err (*open)(const struct hp_tracing_settings *settings, uint32_t cpu, uint64_t ticks,
                        struct hp_packets **packets);
    void (*close)(struct hp_packets *packets);
    /* The bytes are all that is written at once: what follows does not go on with them. NULL: it
     * does. */
    void (*finish)(struct hp_packets *packets);
};

struct hp_tracing_thread;
struct hp_tracing_buffer;

/* The state of a format. */
struct hp_tracing {
    struct hp_stream_setup setup; /* first */
    const struct hp_tracing_kind *kind;
    struct hp_tracing_settings settings;
    struct hp_perf_file file;
    struct hp_perf_processes processes;
    struct hp_tracing_thread **threads; /* by id; NULL: none */
    size_t n_threads;
    struct hp_tracing_buffer **buffers;
    size_t n_buffers, cap_buffers;
    uint64_t clock; /* instructions, and what else has to be in order */
};

enum hp_err hp_tracing_open(void *state, const struct hp_tracing_kind *kind);
enum hp_err hp_tracing_thread(void *state, const struct hp_thread *info);
enum hp_err hp_tracing_block(void *state, const struct hp_stream_block *block);
enum hp_err hp_tracing_event(void *state, const struct hp_thread *thread,
                             const struct hp_event *event);
enum hp_err hp_tracing_close(void *state);
void hp_tracing_fini(void *state);

#endif
