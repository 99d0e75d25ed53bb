// SPDX-License-Identifier: MIT
/*
 * The profile: the results of a run, in memory and as a file.
 *
 * In memory a profile is a set of plain arrays that refer to each other by index. Anyone may fill
 * one; hp_profile_normalize() puts it into the canonical order in which it is stored, compared and
 * printed. On disk it is an SQLite database (schema: docs/profile.md).
 */
#ifndef HOTPATH_PROFILE_H
#define HOTPATH_PROFILE_H

#include "hotpath/error.h"
#include "hotpath/isa.h"
#include "hotpath/sample.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HP_PROFILE_NONE UINT32_MAX /* an index that refers to nothing */

/* Strings belong to the profile; make them with hp_profile_string(). Never NULL, "" when
 * unknown. */

/* What the engine did, over all processes of the run. All 0: not reported. */
struct hp_engine_work {
    uint64_t segments;     /* translated */
    uint64_t blocks;       /* in them */
    uint64_t instructions; /* in those */
    uint64_t links;        /* exits joined to what follows */
    uint64_t lookups;      /* entries into the engine to find the next segment */
    uint64_t invalidated;  /* segments whose code changed or was unmapped */
    uint64_t flushes;      /* of the whole code cache */
    uint64_t translate_ns; /* time in the translator */
    uint64_t cache_bytes;  /* code cache in use, the most of any process */
    uint64_t memory_bytes; /* engine memory, the most of any process */
    uint64_t processes;
    uint64_t threads;
    uint64_t detached;          /* threads that went on natively */
    uint64_t traces;            /* made from predicted paths */
    uint64_t trace_blocks;      /* in them */
    uint64_t trace_insns;       /* in those */
    uint64_t trace_bytes;       /* of their code */
    uint64_t heads;             /* places whose executions were counted, to begin traces there */
    uint64_t abandoned;         /* traces that were begun and not made */
    uint64_t trace_entries;     /* executions of traces; this and the next two: 0 when not known */
    uint64_t trace_completions; /* of these, up to the end of the trace */
    uint64_t trace_insns_run;   /* instructions executed in traces */
    uint64_t waited_ns;         /* time in which threads waited for the profilers */
};

struct hp_run {
    const char *version; /* of hotpath */
    const char *engine;  /* "qemu", "native", "trace" */
    enum hp_arch arch;
    char **command; /* argv, NULL-terminated; owned by the profile */
    const char *directory;
    const char *machine; /* host: "Linux 6.1 x86_64, 2 processors" */
    int64_t started;     /* seconds since the epoch */
    double seconds;      /* wall time of the run */
    int exit_status;     /* as a shell reports it: 128 + signal when killed */
    uint64_t lost;       /* gaps in the stream */
    uint32_t runs;       /* 1, or how many profiles were merged */
    struct hp_engine_work work;
};

/* The members of struct hp_engine_work by name, as files and reports have them; ended by a NULL
 * name. */
struct hp_engine_work_field {
    const char *name;
    size_t offset;
    int is_maximum; /* merging keeps the larger value, not the sum */
};
extern const struct hp_engine_work_field hp_engine_work_fields[];

/* Whether the engine reported anything. */
int hp_engine_work_known(const struct hp_engine_work *work);

struct hp_pmodule {
    const char *path;
    const char *build_id;
};

/* A place in the program: module and offset. module HP_PROFILE_NONE: nowhere. */
struct hp_place {
    uint32_t module;
    uint64_t offset;
};

struct hp_pthread {
    int32_t pid;
    int32_t tid;
    uint64_t instructions;
    uint64_t blocks;   /* executed */
    uint64_t branches; /* executed: control transfers, system calls and splits excluded */
};

/* What a thread is called; not there where that is unknown. */
struct hp_pthread_name {
    uint32_t thread;
    int32_t parent;      /* pid of the process that forked its process; 0: the first */
    const char *name;    /* as it was last */
    const char *command; /* its process's command line, or the beginning of it; "" unknown */
};

/* How long a thread lived; not there where that is unknown. */
struct hp_pthread_time {
    uint32_t thread;
    uint64_t ns;
};

struct hp_pfunction {
    struct hp_place place; /* of its first instruction */
    uint64_t size;         /* bytes; 0 unknown */
    const char *name;      /* demangled; "" unknown (reports make names like "module+0xoffset") */
    const char *linkage;   /* as in the symbol table */
    const char *file;      /* source; "" unknown */
    uint32_t line;
};

/* Where inlined functions are shown as functions, one that has no code of its own is at no real
 * place: its offset is this and a number. No file has such a row. */
#define HP_PROFILE_INLINED (UINT64_C(1) << 63)
static inline int hp_place_is_inlined(struct hp_place place)
{
    return place.offset >> 32 == HP_PROFILE_INLINED >> 32;
}

struct hp_pblock {
    struct hp_place place;
    uint32_t size; /* bytes */
    uint32_t insns;
    uint32_t function; /* index; HP_PROFILE_NONE unknown */
    uint8_t flow;      /* enum hp_flow of its end */
    uint32_t branch;   /* offset of the ending instruction from the block's start */
    uint32_t version;  /* 0, or 1, 2 ... for other code seen at the same place */
};

/* An executed control transfer: from an ending instruction to the next one executed. */
struct hp_pedge {
    struct hp_place from; /* of the branch instruction */
    struct hp_place to;
    uint8_t flow;  /* enum hp_flow */
    uint8_t taken; /* 0: fell through */
};

/* A call: from a function to a function, over all call sites. */
struct hp_pcall {
    uint32_t caller; /* function index; HP_PROFILE_NONE: unknown (start of a thread, signal) */
    uint32_t callee;
};

/* The source line of a range of instructions of a block. */
struct hp_pline {
    uint32_t block;
    uint32_t from, to; /* byte range in the block */
    const char *file;
    uint32_t line;
    const char *inlined;    /* innermost inlined function (demangled), "" none */
    const char *inlined_at; /* "file:line" of the call it was inlined at, "" none */
    uint32_t insns;         /* instructions in the range */
};

/* A function that was inlined somewhere, as the debug information describes it. */
struct hp_pinlined {
    const char *name;    /* demangled */
    const char *linkage; /* as in a symbol table */
    const char *file;    /* where it is declared; "" unknown */
    uint32_t line;
};

/* A range of instructions of a block that an inlined function has, or what is inlined into it. So
 * many rows as functions are inlined into each other there, with equal ranges. */
struct hp_pinlined_range {
    uint32_t block;
    uint32_t from, to;     /* byte range in the block */
    uint32_t depth;        /* 1: inlined into the block's function; 2: into that of depth 1, ... */
    uint32_t inlined;      /* index */
    uint64_t entry;        /* offset in the module of its first instruction at this place */
    const char *call_file; /* where it is called, "" unknown */
    uint32_t call_line;
    uint32_t insns; /* instructions in the range */
};

/* How often `item` (of the array the counter belongs to) happened in `thread`. Never zero. */
struct hp_pcount {
    uint32_t item;
    uint32_t thread;
    uint64_t count;
};

struct hp_pfunction_count {
    uint32_t item;
    uint32_t thread;
    uint64_t self;      /* instructions */
    uint64_t inclusive; /* instructions, callees included, recursion counted once */
    uint64_t calls;     /* times entered by call or jump from another function */
};

struct hp_pcall_count {
    uint32_t item;
    uint32_t thread;
    uint64_t count;
    uint64_t inclusive; /* instructions in these calls, callees included, recursion once */
};

/*
 * A calling context: a function and its chain of callers. Contexts are a forest: in the normal form
 * a parent comes before its children, and no two children of one parent have the same function.
 * Where stacks are deeper than HP_CONTEXT_DEPTH, or a run has more contexts than are kept (then the
 * heaviest stay), the rest is attributed to the nearest context that is kept (hp_pcontext_rest says
 * how much).
 */
struct hp_pcontext {
    uint32_t parent;   /* index; HP_PROFILE_NONE: the start of a thread, or a signal's handler */
    uint32_t function; /* HP_PROFILE_NONE: unknown */
};
#define HP_CONTEXT_DEPTH 200

/* The `self` of all contexts of a thread adds up to its instructions. */
struct hp_pcontext_count {
    uint32_t item;
    uint32_t thread;
    uint64_t self;  /* instructions, those of child contexts not included */
    uint64_t calls; /* times it was entered */
};

/* What is attributed to a context although it is of contexts below it that are not kept. */
struct hp_pcontext_rest {
    uint32_t item; /* the context */
    uint32_t thread;
    uint64_t instructions; /* of its `self` */
    uint64_t calls;        /* times these contexts were entered; not in its `calls` */
};

/*
 * The system calls of a thread with this number, made in this context. Without the order of
 * execution the context is not known, but the function is. A call that a signal interrupted and
 * that was made again counts once, with the time of both.
 */
struct hp_psyscall {
    uint32_t context;  /* HP_PROFILE_NONE: unknown */
    uint32_t function; /* that has the instruction; HP_PROFILE_NONE unknown */
    uint32_t thread;
    uint32_t number; /* of the architecture */
    uint64_t calls;
    uint64_t timed;      /* of these, those whose time is known */
    uint64_t unfinished; /* of these, those that had not returned at the end of the thread */
    uint64_t errors;     /* of these, those that returned an error */
    uint64_t ns;         /* from the calls to their returns */
    uint64_t max_ns;     /* the longest */
};

/*
 * Paths. `kind` is the control register that found them (hp_ppcr_format()): a run may have several
 * kinds. Every path that was executed is there; the heaviest also have their steps.
 */
struct hp_ppath {
    const char *kind;
    struct hp_place start;
    uint64_t outcomes; /* the last branch is bit 0 */
    uint64_t targets;  /* hash of indirect targets; 0 where they do not matter */
    uint32_t length;   /* branches */
    uint32_t function; /* where it starts; HP_PROFILE_NONE unknown */
};

/* A block along a path, in order. */
struct hp_pstep {
    uint32_t path;
    uint32_t position; /* 0, 1, ... */
    uint32_t block;    /* index */
    uint8_t how;       /* enum hp_step_how: how it was left */
};

enum hp_step_how {
    HP_STEP_FELL,     /* not taken, or no branch */
    HP_STEP_TAKEN,    /* a jump or a taken branch */
    HP_STEP_CALLED,   /* a call; the path continues after it, the callee has paths of its own */
    HP_STEP_ENTERED,  /* a call, followed by the path */
    HP_STEP_RETURNED, /* a return */
    HP_STEP_END,      /* the last one of a path that was split or cannot be followed further */
};

struct hp_ppath_count {
    uint32_t item;
    uint32_t thread;
    uint64_t count; /* executions */
    uint64_t insns;
    uint64_t events; /* of the metric in the path's kind */
};

/* Executions of a path that a machine in cycles measured from their first to their last
 * instruction; all threads together. */
struct hp_ppath_time {
    uint32_t path;
    uint64_t count;
    uint64_t insns; /* retired along them */
};

/* Where the cycles of those went, in HP_CYCLE_PARTS. Zeros are left out. */
struct hp_ppath_cycles {
    uint32_t path;
    uint8_t cause; /* enum hp_cause */
    uint64_t parts;
};

/* A path that was in a hot path table at the end, with the table's count: the lossy profile that
 * the hardware gives. */
struct hp_ptable_path {
    const char *table; /* as in the part of its stats, "hpt 512x4 bl", without "hpt " */
    uint32_t path;
    uint64_t events;
};

/* What a stat's value is, and so how it is merged. */
enum hp_stat_unit {
    HP_STAT_COUNT, /* of something that happened: added */
    HP_STAT_SIZE,  /* of a thing (bytes, entries, ...): the larger one stays */
    HP_STAT_SHARE, /* thousandths of a percent: the smaller one, the worse of the runs, stays */
};

/* What a model of hardware or of a prediction scheme did, by name. */
struct hp_pstat {
    const char *part; /* "paths bl", "hpt vaswani", "machine vaswani", ... */
    const char *name; /* "splits", "l1d.misses", "overlap", ... */
    uint64_t value;
    uint8_t unit; /* enum hp_stat_unit */
};

/* A prediction scheme, measured (predict.h). */
struct hp_pprediction {
    const char *scheme; /* hp_scheme_format() */
    uint64_t delay;
    uint64_t flow, paths, heads, hot_paths, hot_flow, predicted, predicted_hot;
    uint64_t hits, noise, missed, profiled;
    int64_t closed_hits, closed_noise, closed_missed;
    uint64_t counters, operations, branches;
};

/* --- Loops ------------------------------------------------------------------------------------ */

enum { HP_LOOP_IRREDUCIBLE = 1 };

/* An exact loop (docs/loops.md). Loops of a function are one tree by `parent`. */
struct hp_ploop {
    struct hp_place header; /* of the header that names it */
    uint32_t function;      /* index; HP_PROFILE_NONE unknown */
    uint32_t parent;        /* the loop it is nested in; HP_PROFILE_NONE: none */
    uint32_t version;       /* of the header's block */
    uint32_t insns;         /* static: own instructions of its nodes, nested ones included */
    uint32_t flags;         /* HP_LOOP_* */
    const char *file;       /* source of its lines: that of most of them; "" unknown */
    uint32_t first_line, last_line; /* in that file */
};

struct hp_ploop_count {
    uint32_t item;
    uint32_t thread;
    uint64_t executions, iterations, back_edges;
    uint64_t min, max;     /* iterations of an execution; 0: unknown, like `same` and `stride` */
    uint64_t self;         /* instructions */
    uint64_t inclusive;    /* instructions, callees included, recursion counted once */
    uint64_t same, stride; /* executions whose iteration count was predicted: rule 7 */
    uint64_t interrupted;
};

/* How many executions, of all threads, had `value` iterations; as a bucket: 2^value up to the next
 * power. Buckets are complete; values are the most frequent ones (at most HP_LOOP_VALUES for a
 * loop). */
struct hp_ploop_trips {
    uint32_t loop;
    uint8_t bucket;
    uint64_t value;
    uint64_t count;
};
#define HP_LOOP_VALUES 16

/* A block of a loop that is not part of a nested loop. */
struct hp_ploop_block {
    uint32_t loop;
    uint32_t block;
};

/* A loop as a model in hardware reports it (loop.h). */
struct hp_pmodel_loop {
    const char *model;      /* hp_loop_config_format() */
    struct hp_place branch; /* its short backward branch */
    struct hp_place target;
    uint32_t function; /* of the branch */
    uint32_t loop;     /* the exact loop that it closes; HP_PROFILE_NONE: none, or unknown */
    uint64_t executions;
    uint64_t average;      /* thousandths of a back edge an execution */
    uint64_t iterations;   /* back edges */
    uint64_t instructions; /* estimated */
};

/* --- Hot spots -------------------------------------------------------------------------------- */

/* A hot spot as its detector found it (hotspot.h), and its later execution. */
struct hp_photspot {
    const char *detector; /* hp_hotspot_config_format() */
    uint32_t run;         /* 0; in a merged profile, the number of its run */
    uint32_t number;      /* 0, 1, ... of this detector */
    int32_t pid;
    uint64_t at_branches; /* retired by the run when it was detected */
    uint64_t at_instructions;
    uint32_t insns; /* static: of its region, each instruction once */
    uint64_t total; /* instructions executed in its region in the whole run, by the process */
    uint64_t after; /* of these, since it was detected */
};

/* A candidate branch of a hot spot. */
struct hp_photspot_branch {
    uint32_t hotspot;
    struct hp_place branch;
    uint8_t flow;
    uint32_t executed, taken; /* counters when it was detected */
};

/* A block of its region. */
struct hp_photspot_block {
    uint32_t hotspot;
    uint32_t block;
};

/* The instructions executed in the region of a hot spot, after its detection, during slice number
 * `slice` of the run. A slice is `width` instructions of the run; the last one may be shorter.
 * Zeros are left out. */
struct hp_photspot_slice {
    uint32_t hotspot;
    uint32_t slice;
    uint64_t width;
    uint64_t instructions;
};

/* --- Instructions ----------------------------------------------------------------------------- */

/* A static instruction that a machine in cycles fetched (docs/instructions.md). */
struct hp_pinsn {
    struct hp_place place;
    uint32_t function; /* index; HP_PROFILE_NONE unknown */
    uint32_t version;  /* 0, or 1, 2 ... for other code seen at the same place */
    uint32_t length;   /* bytes */
    uint8_t flow, op;  /* enum hp_flow, enum hp_op */
    const char *text;  /* disassembled */
    const char *file;  /* source; "" unknown */
    uint32_t line;
    const char *inlined; /* as in hp_pline */
};

/* How a machine, or a sampler on one, saw an instruction; all threads together. `seen` is "exact",
 * or the sampler (hp_sample_config_format()). */
struct hp_pinsn_tally {
    const char *seen;
    uint32_t insn;
    struct hp_insn_tally tally;
    /* Of a paired sampler. */
    uint64_t pairs;    /* that it is part of, counted twice when it is both */
    uint64_t progress; /* cycles from fetch to retire ready in those (to the end, if it did not
                          become ready) */
    uint64_t useful;   /* of those pairs, with useful overlap */
    uint64_t near;     /* ... in which both retire within the window */
};

/* How an instruction overlapped with others, by a measure (docs/instructions.md, "Overlap"), over
 * the pairs of a paired sampler that it is part of, both ways round. */
struct hp_pinsn_overlap {
    uint32_t insn;
    const char *seen;    /* the sampler */
    const char *measure; /* "around", "busy mul", "useful hit" */
    uint64_t pairs;      /* counted twice when it is both */
    uint64_t sum, squares;
};

/* Where cycles went, in HP_CYCLE_PARTS. Zeros are left out. */
struct hp_pinsn_cycles {
    uint32_t insn;
    uint8_t cause; /* enum hp_cause */
    uint64_t parts;
};

/* The time of an instruction according to a sampling scheme, in the scheme's unit. */
struct hp_pattribution {
    const char *scheme; /* hp_attribution_name(), or another */
    uint32_t insn;
    uint64_t weight;
};

/* An instruction waited for the result of another: retired executions, and their cycles from map to
 * data ready. */
struct hp_pwait {
    uint32_t insn, producer;
    uint64_t count, cycles;
};

/* A sampler, its settings, and its totals. */
struct hp_psampler {
    const char *name;    /* hp_sample_config_format() */
    uint64_t interval;   /* mean, in instructions or slots */
    uint64_t window;     /* of pairs; 0: single samples */
    uint64_t width;      /* slots in a cycle: instructions that the machine can sustain */
    uint64_t near;       /* cycles: of hp_pinsn_tally.near */
    uint64_t samples;    /* pairs count as two */
    uint64_t empty;      /* slots without an instruction that were selected */
    uint64_t lost;       /* cut off by the end of the run, or of a window */
    uint64_t interrupts; /* deliveries */
    uint64_t cost;       /* cycles they would have taken */
    uint64_t scale; /* thousandths: factor for estimates, because only windows were observed; 1000:
                       everything was */
};

/* A detailed window of a run that was not modelled completely in cycles. */
struct hp_pwindow {
    uint32_t thread;       /* index */
    uint64_t at;           /* instructions of the thread before it */
    uint64_t instructions; /* measured in it */
    uint64_t cycles;
};

/* Something that happened to the traces of a process of the native engine. */
struct hp_ptraces_event {
    uint32_t run;     /* as of hot spots */
    uint32_t process; /* the engine's number for it: 1, 2, ... */
    uint64_t ns;      /* since the process began */
    const char *kind; /* "full": flushed, as the cache was full; "phase": flushed, as a new phase
                         began; "bail-out": none are made from here on; "hot-spot" */
    uint64_t traces;  /* made by the process so far; "hot-spot": for it, until the end */
    uint64_t bytes;   /* of the traces that were dropped, kept by a bail-out, or made for it */
    /* Of "hot-spot": one that was detected, and whose code could become traces from then on. */
    uint32_t hotspot; /* its number + 1; 0: it is not about one */
    /* Executed by the run between the detections before it and after it, up to it and from it on;
     * and of these, in traces. */
    uint64_t insns_before, traced_before, insns_after, traced_after;
};

/* Of a function, block, edge, path or loop of a profile that is estimated from samples: what they
 * show of it. The estimate's relative standard error is the root of `squares`, divided by `sum`. */
struct hp_psamples {
    uint32_t item;
    uint64_t samples; /* that show it */
    uint64_t sum;     /* instructions, executions, iterations in all of them */
    uint64_t squares; /* of what each shows */
};

/* Executions of a loop that samples show; as they are, not scaled to the run. */
struct hp_ploop_seen {
    uint32_t loop;
    uint8_t whole;       /* from begin to end; else its begin or end was not seen */
    uint64_t iterations; /* exactly, or at least */
    uint64_t count;
};

/* Cycles from one taken branch to the next, as samples show them; not scaled. */
struct hp_prun_cycles {
    uint32_t first,
        last;       /* blocks: control ran straight from one to the branch that ends the other */
    uint64_t count; /* times that they are known */
    uint64_t cycles, squares, min, max;
    uint64_t unknown; /* times that they were not recorded */
};

/* Something a reader of the profile must know: a gap, an unobserved program, an uncertain count. */
struct hp_pnote {
    const char *kind; /* short, fixed: "lost", "exec", "detached", "cut", ... */
    const char *text; /* one sentence */
    uint64_t count;
};

struct hp_profile {
    struct hp_run run;
    struct hp_pmodule *modules;
    struct hp_pthread *threads;
    struct hp_pfunction *functions;
    struct hp_pblock *blocks;
    struct hp_pedge *edges;
    struct hp_pcall *calls;
    struct hp_pline *lines;
    struct hp_pcount *block_counts;
    struct hp_pcount *edge_counts;
    struct hp_pfunction_count *function_counts;
    struct hp_pcall_count *call_counts;
    struct hp_pcontext *contexts;
    struct hp_pcontext_count *context_counts;
    struct hp_ppath *paths;
    struct hp_pstep *path_steps;
    struct hp_ppath_count *path_counts;
    struct hp_ppath_time *path_times;
    struct hp_ppath_cycles *path_cycles;
    struct hp_ptable_path *table_paths;
    struct hp_pstat *stats;
    struct hp_pprediction *predictions;
    struct hp_ploop *loops;
    struct hp_ploop_count *loop_counts;
    struct hp_ploop_trips *loop_trips;
    struct hp_ploop_block *loop_blocks;
    struct hp_pmodel_loop *model_loops;
    struct hp_photspot *hotspots;
    struct hp_photspot_branch *hotspot_branches;
    struct hp_photspot_block *hotspot_blocks;
    struct hp_photspot_slice *hotspot_slices;
    struct hp_pinsn *insns;
    struct hp_pinsn_tally *insn_tallies;
    struct hp_pinsn_cycles *insn_cycles;
    struct hp_pattribution *attributions;
    struct hp_pwait *waits;
    struct hp_psampler *samplers;
    struct hp_pwindow *windows;
    struct hp_ptraces_event *traces_events;
    struct hp_pthread_name *thread_names;
    struct hp_pthread_time *thread_times;
    struct hp_psyscall *syscalls;
    struct hp_pcontext_rest *context_rests;
    struct hp_pinlined *inlined;
    struct hp_pinlined_range *inlined_ranges;
    struct hp_psamples *function_samples;
    struct hp_psamples *block_samples;
    struct hp_psamples *edge_samples;
    struct hp_psamples *path_samples;
    struct hp_psamples *loop_samples;
    struct hp_ploop_seen *loops_seen;
    struct hp_prun_cycles *run_cycles;
    struct hp_pinsn_overlap *insn_overlaps;
    struct hp_pnote *notes;
    size_t n_insns, n_insn_tallies, n_insn_cycles, n_attributions, n_waits, n_samplers, n_windows;
    size_t n_modules, n_threads, n_functions, n_blocks, n_edges, n_calls, n_lines;
    size_t n_block_counts, n_edge_counts, n_function_counts, n_call_counts, n_notes;
    size_t n_contexts, n_context_counts;
    size_t n_paths, n_path_steps, n_path_counts, n_path_times, n_path_cycles, n_table_paths;
    size_t n_stats, n_predictions;
    size_t n_loops, n_loop_counts, n_loop_trips, n_loop_blocks, n_model_loops;
    size_t n_hotspots, n_hotspot_branches, n_hotspot_blocks, n_hotspot_slices, n_traces_events;
    size_t n_thread_names, n_thread_times, n_syscalls, n_context_rests, n_inlined;
    size_t n_inlined_ranges, n_function_samples, n_block_samples, n_edge_samples, n_path_samples;
    size_t n_loop_samples, n_loops_seen, n_run_cycles, n_insn_overlaps;
    struct hp_profile_memory *memory; /* capacities and strings; private */
};

/* An empty profile: no command, strings "", runs 1. */
HP_MUST_CHECK enum hp_err hp_profile_new(struct hp_profile **profile);
void hp_profile_free(struct hp_profile *profile);

/* A copy of `text` that lives as long as the profile; equal texts give the same pointer. NULL only
 * when memory ran out. */
const char *hp_profile_string(struct hp_profile *profile, const char *text);

/* Appends one element and stores a pointer to it in `*item`. Its strings are "", the rest is zero.
 * Valid until the next append to the same array. */
HP_MUST_CHECK enum hp_err hp_profile_add_module(struct hp_profile *profile,
                                                struct hp_pmodule **item);
HP_MUST_CHECK enum hp_err hp_profile_add_thread(struct hp_profile *profile,
                                                struct hp_pthread **item);
HP_MUST_CHECK enum hp_err hp_profile_add_function(struct hp_profile *profile,
                                                  struct hp_pfunction **item);
HP_MUST_CHECK enum hp_err hp_profile_add_block(struct hp_profile *profile, struct hp_pblock **item);
HP_MUST_CHECK enum hp_err hp_profile_add_edge(struct hp_profile *profile, struct hp_pedge **item);
HP_MUST_CHECK enum hp_err hp_profile_add_call(struct hp_profile *profile, struct hp_pcall **item);
HP_MUST_CHECK enum hp_err hp_profile_add_line(struct hp_profile *profile, struct hp_pline **item);
HP_MUST_CHECK enum hp_err hp_profile_add_block_count(struct hp_profile *profile,
                                                     struct hp_pcount **item);
HP_MUST_CHECK enum hp_err hp_profile_add_edge_count(struct hp_profile *profile,
                                                    struct hp_pcount **item);
HP_MUST_CHECK enum hp_err hp_profile_add_function_count(struct hp_profile *profile,
                                                        struct hp_pfunction_count **item);
HP_MUST_CHECK enum hp_err hp_profile_add_call_count(struct hp_profile *profile,
                                                    struct hp_pcall_count **item);
HP_MUST_CHECK enum hp_err hp_profile_add_context(struct hp_profile *profile,
                                                 struct hp_pcontext **item);
HP_MUST_CHECK enum hp_err hp_profile_add_context_count(struct hp_profile *profile,
                                                       struct hp_pcontext_count **item);
HP_MUST_CHECK enum hp_err hp_profile_add_path(struct hp_profile *profile, struct hp_ppath **item);
HP_MUST_CHECK enum hp_err hp_profile_add_path_step(struct hp_profile *profile,
                                                   struct hp_pstep **item);
HP_MUST_CHECK enum hp_err hp_profile_add_path_count(struct hp_profile *profile,
                                                    struct hp_ppath_count **item);
HP_MUST_CHECK enum hp_err hp_profile_add_path_time(struct hp_profile *profile,
                                                   struct hp_ppath_time **item);
HP_MUST_CHECK enum hp_err hp_profile_add_path_cycles(struct hp_profile *profile,
                                                     struct hp_ppath_cycles **item);
HP_MUST_CHECK enum hp_err hp_profile_add_table_path(struct hp_profile *profile,
                                                    struct hp_ptable_path **item);
HP_MUST_CHECK enum hp_err hp_profile_add_prediction(struct hp_profile *profile,
                                                    struct hp_pprediction **item);
HP_MUST_CHECK enum hp_err hp_profile_add_loop(struct hp_profile *profile, struct hp_ploop **item);
HP_MUST_CHECK enum hp_err hp_profile_add_loop_count(struct hp_profile *profile,
                                                    struct hp_ploop_count **item);
HP_MUST_CHECK enum hp_err hp_profile_add_loop_trips(struct hp_profile *profile,
                                                    struct hp_ploop_trips **item);
HP_MUST_CHECK enum hp_err hp_profile_add_loop_block(struct hp_profile *profile,
                                                    struct hp_ploop_block **item);
HP_MUST_CHECK enum hp_err hp_profile_add_model_loop(struct hp_profile *profile,
                                                    struct hp_pmodel_loop **item);
HP_MUST_CHECK enum hp_err hp_profile_add_hotspot(struct hp_profile *profile,
                                                 struct hp_photspot **item);
HP_MUST_CHECK enum hp_err hp_profile_add_hotspot_branch(struct hp_profile *profile,
                                                        struct hp_photspot_branch **item);
HP_MUST_CHECK enum hp_err hp_profile_add_hotspot_block(struct hp_profile *profile,
                                                       struct hp_photspot_block **item);
HP_MUST_CHECK enum hp_err hp_profile_add_hotspot_slice(struct hp_profile *profile,
                                                       struct hp_photspot_slice **item);

HP_MUST_CHECK enum hp_err hp_profile_add_insn(struct hp_profile *profile, struct hp_pinsn **item);
HP_MUST_CHECK enum hp_err hp_profile_add_insn_tally(struct hp_profile *profile,
                                                    struct hp_pinsn_tally **item);
HP_MUST_CHECK enum hp_err hp_profile_add_insn_cycles(struct hp_profile *profile,
                                                     struct hp_pinsn_cycles **item);
HP_MUST_CHECK enum hp_err hp_profile_add_attribution(struct hp_profile *profile,
                                                     struct hp_pattribution **item);
HP_MUST_CHECK enum hp_err hp_profile_add_wait(struct hp_profile *profile, struct hp_pwait **item);
HP_MUST_CHECK enum hp_err hp_profile_add_sampler(struct hp_profile *profile,
                                                 struct hp_psampler **item);
HP_MUST_CHECK enum hp_err hp_profile_add_window(struct hp_profile *profile,
                                                struct hp_pwindow **item);
HP_MUST_CHECK enum hp_err hp_profile_add_traces_event(struct hp_profile *profile,
                                                      struct hp_ptraces_event **item);
HP_MUST_CHECK enum hp_err hp_profile_add_context_rest(struct hp_profile *profile,
                                                      struct hp_pcontext_rest **item);
HP_MUST_CHECK enum hp_err hp_profile_add_thread_name(struct hp_profile *profile,
                                                     struct hp_pthread_name **item);
HP_MUST_CHECK enum hp_err hp_profile_add_thread_time(struct hp_profile *profile,
                                                     struct hp_pthread_time **item);
HP_MUST_CHECK enum hp_err hp_profile_add_syscall(struct hp_profile *profile,
                                                 struct hp_psyscall **item);
HP_MUST_CHECK enum hp_err hp_profile_add_inlined(struct hp_profile *profile,
                                                 struct hp_pinlined **item);
HP_MUST_CHECK enum hp_err hp_profile_add_inlined_range(struct hp_profile *profile,
                                                       struct hp_pinlined_range **item);
HP_MUST_CHECK enum hp_err hp_profile_add_function_samples(struct hp_profile *profile,
                                                          struct hp_psamples **item);
HP_MUST_CHECK enum hp_err hp_profile_add_block_samples(struct hp_profile *profile,
                                                       struct hp_psamples **item);
HP_MUST_CHECK enum hp_err hp_profile_add_edge_samples(struct hp_profile *profile,
                                                      struct hp_psamples **item);
HP_MUST_CHECK enum hp_err hp_profile_add_path_samples(struct hp_profile *profile,
                                                      struct hp_psamples **item);
HP_MUST_CHECK enum hp_err hp_profile_add_loop_samples(struct hp_profile *profile,
                                                      struct hp_psamples **item);
HP_MUST_CHECK enum hp_err hp_profile_add_loop_seen(struct hp_profile *profile,
                                                   struct hp_ploop_seen **item);
HP_MUST_CHECK enum hp_err hp_profile_add_run_cycles(struct hp_profile *profile,
                                                    struct hp_prun_cycles **item);
HP_MUST_CHECK enum hp_err hp_profile_add_insn_overlap(struct hp_profile *profile,
                                                      struct hp_pinsn_overlap **item);

/* Adds a stat; normalizing joins those with the same part and name. */
HP_MUST_CHECK enum hp_err hp_profile_add_stat(struct hp_profile *profile, const char *part,
                                              const char *name, enum hp_stat_unit unit,
                                              uint64_t value);

/* Adds a note, or adds `count` to the one with the same kind and text. */
HP_MUST_CHECK enum hp_err hp_profile_note(struct hp_profile *profile, uint64_t count,
                                          const char *kind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Sets run.command to a copy of argv. */
HP_MUST_CHECK enum hp_err hp_profile_set_command(struct hp_profile *profile, char *const *argv);

/*
 * Removes or repairs rows that hp_profile_normalize() would refuse, and adds a note ("mended"): one
 * bad row must not cost the rest. `*what` says what was wrong and lives as long as the profile;
 * NULL: nothing was.
 */
HP_MUST_CHECK enum hp_err hp_profile_mend(struct hp_profile *profile, const char **what);

/*
 * Brings the profile into its canonical form: equal modules, functions, blocks (by place, size,
 * version, flow), edges, calls, paths, loops and counters joined, every array sorted (modules by
 * path, the rest by place; counters by item, then thread), zero counters dropped, indices
 * rewritten. Two runs that executed the same code equally often have equal normal forms, wherever
 * the code was loaded. HP_ERR_INVALID: an index out of range; the profile is unchanged then.
 */
HP_MUST_CHECK enum hp_err hp_profile_normalize(struct hp_profile *profile);

/* hp_profile_mend() and hp_profile_normalize(), for a profile that was just made: it can only be
 * freed if that fails. */
HP_MUST_CHECK enum hp_err hp_profile_settle(struct hp_profile *profile, const char **what);

/* Writes the profile to `path` atomically (to another file, then renamed). HP_ERR_INVALID: the
 * profile is not normal, a number is above 2^63-1, or `path` exists and is not a regular file. */
HP_MUST_CHECK enum hp_err hp_profile_save(const struct hp_profile *profile, const char *path);

/* Reads a profile, in normal form. HP_ERR_FORMAT: not a profile, corrupt, or its references do not
 * fit together. HP_ERR_VERSION: written by a later, incompatible version. */
HP_MUST_CHECK enum hp_err hp_profile_load(const char *path, struct hp_profile **profile);

/* The same, but reads what it can of a damaged or modified file. The profile then has a note
 * ("damaged"), which is `*what`; NULL: the file is as it was written. HP_ERR_FORMAT: not a profile,
 * or nothing of it can be read. */
HP_MUST_CHECK enum hp_err hp_profile_rescue(const char *path, struct hp_profile **profile,
                                            const char **what);

/* Adds everything of `other` to `profile`: threads and hot spots side by side, the rest joined by
 * place. Modules are the same when their build ids are (or, without build ids, their paths). Both
 * stay valid; `profile` becomes normal. HP_ERR_INVALID: their architectures differ, or one is not
 * sound; `profile` is unchanged then. */
HP_MUST_CHECK enum hp_err hp_profile_merge(struct hp_profile *profile,
                                           const struct hp_profile *other);

/* --- Comparing -------------------------------------------------------------------------------- */

/* What moved: an item's share of executed instructions in A and in B. */
struct hp_move {
    const char *name; /* of the function, or module+0xoffset */
    const char *module;
    uint64_t a, b; /* instructions */
    double share_a, share_b;
};

/* Overlap of the paths found by the same control register in both. */
struct hp_kind_overlap {
    const char *kind;
    double executions, instructions; /* percent, weighted by these */
};

struct hp_comparison {
    double block_overlap; /* percent: sum over blocks of min(share in A, share in B) */
    double edge_overlap;
    double function_overlap;
    struct hp_kind_overlap *kinds; /* in the order of their names */
    size_t n_kinds;
    int has_loops;            /* both have them */
    double loop_instructions; /* percent, by the instructions executed in a loop, nested loops
                                 excluded */
    double loop_iterations;   /* percent, by iterations */
    uint64_t instructions_a, instructions_b;
    struct hp_move *moves; /* functions, largest change of share first */
    size_t n_moves;
};

/* Compares two normal profiles (HP_ERR_INVALID: one is not); docs/profile.md says what is matched
 * with what. The strings of `moves` and `kinds` belong to the profiles (or the comparison). */
HP_MUST_CHECK enum hp_err hp_profile_compare(const struct hp_profile *a, const struct hp_profile *b,
                                             struct hp_comparison **comparison);
void hp_comparison_free(struct hp_comparison *comparison);

#ifdef __cplusplus
}
#endif
#endif
