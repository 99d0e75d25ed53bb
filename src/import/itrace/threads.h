// SPDX-License-Identifier: MIT
/*
 * The threads of a trace, and their words.
 */
#ifndef HP_IMPORT_ITRACE_THREADS_H
#define HP_IMPORT_ITRACE_THREADS_H

#include "engine/engine.h"
#include "import/itrace/code.h"
#include "import/itrace/sides.h"

#define HP_ITRACE_WORDS    16384
#define HP_ITRACE_CONTEXTS 64 /* nested signals; as a cursor has them */

enum hp_itrace_state {
    HP_ITRACE_LOST, /* nobody knows where the thread is */
    HP_ITRACE_RUNS, /* it is at the beginning of `node` */
    HP_ITRACE_OUT,  /* it has left user code, at `resume`, in `node` */
};

/* What became of it all. */
struct hp_itrace_counts {
    uint64_t transfers;  /* packets with an address that were used */
    uint64_t outcomes;   /* of branches */
    uint64_t interrupts; /* after which the code went on */
    uint64_t signals;
    uint64_t overflows, gaps;    /* that a processor or the kernel, or the file, has */
    uint64_t unknown, unfitting; /* places where code was not known, or did not fit the packets */
    uint64_t unattributed;       /* times that user code was entered by nobody knows whom */
};

struct hp_itrace_thread {
    struct hp_thread info;
    uint32_t task; /* what the file says of it */
    enum hp_itrace_state state;
    struct hp_itrace_node *node;
    struct hp_itrace_run *run; /* what ran, and is no word yet; NULL: nothing */
    int8_t way;                /* from that to `node`: at its end 0, its target 1; else -1 */
    uint64_t resume;           /* 0: not known */
    bool after_call;           /* it was left by a system call, not by an interrupt */
    bool sigreturn;            /* by that one */
    bool announced, ended;
    uint32_t view;
    uint64_t view_until; /* ns */
    struct {
        uint64_t address; /* where it goes on */
        bool call;        /* behind a system call, which may be made again */
    } interrupted[HP_ITRACE_CONTEXTS];
    unsigned n_interrupted;
    struct hp_map64 handlers; /* their addresses */
};

struct hp_itrace_threads {
    struct hp_itrace_code *code;
    struct hp_itrace_sides *sides;
    struct hp_consumer *consumer;
    struct hp_itrace_counts counts;
    const char *(*name)(void *context, int32_t tid); /* NULL: not known */
    void *context;
    struct hp_itrace_thread **all;
    size_t n, capacity;
    struct hp_itrace_thread *writes; /* whose words these are */
    size_t n_words;
    uint32_t words[HP_ITRACE_WORDS + 2];
};
void hp_itrace_threads_fini(struct hp_itrace_threads *threads);

/* The thread that a task is now. HP_ERR_NOMEM, or what the consumer says. */
enum hp_err hp_itrace_threads_get(struct hp_itrace_threads *threads, uint32_t task,
                                  struct hp_itrace_thread **thread);

/* Ends all threads. */
enum hp_err hp_itrace_threads_end(struct hp_itrace_threads *threads);

/* Delivers the words that are held back. */
enum hp_err hp_itrace_threads_flush(struct hp_itrace_threads *threads);

/* Appends a word, behind what ran; of an event with its payload. */
enum hp_err hp_itrace_thread_word(struct hp_itrace_threads *threads,
                                  struct hp_itrace_thread *thread, uint32_t word);
enum hp_err hp_itrace_thread_event(struct hp_itrace_threads *threads,
                                   struct hp_itrace_thread *thread, uint32_t word,
                                   uint64_t payload);

/* From here on it is not known where the thread is. */
enum hp_err hp_itrace_thread_lose(struct hp_itrace_threads *threads,
                                  struct hp_itrace_thread *thread, enum hp_lost_reason reason);

/* User code is entered at an address, at a time (0: not known): what led there becomes words, and
 * the thread runs there. `*thread` becomes another one where the process has become another
 * program. */
enum hp_err hp_itrace_thread_enter(struct hp_itrace_threads *threads,
                                   struct hp_itrace_thread **thread, uint64_t address, uint64_t ns);

/* The thread is at an address, whatever was before. */
enum hp_err hp_itrace_thread_arrive(struct hp_itrace_threads *threads,
                                    struct hp_itrace_thread *thread, uint64_t address);

#endif
