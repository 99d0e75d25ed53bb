// SPDX-License-Identifier: MIT
/*
 * The laboratory: the papers' experiments on real programs. An experiment runs each program under
 * the native engine (foreign ones under the qemu engine) with everything attached that it compares,
 * and fills tables: our results beside the paper's. See docs/lab.md.
 */
#ifndef HP_LAB_LAB_H
#define HP_LAB_LAB_H

#include "lab/program.h"
#include "lab/results.h"
#include "session/session_impl.h"

#include <stdio.h>

#define HP_LAB_RESULTS 48

/* The programs of the experiments on paths and predictions. */
#define HP_LAB_PROGRAMS                                                                            \
    "bzip2,cc1,cjpeg,compress,glpsol,gnugo,gzip,lame,lua,minisat,perl,python3,sqlite3,xz"

struct hp_lab;

struct hp_experiment {
    const char *name;
    const char *summary;  /* one line */
    const char *paper;    /* what it says about the subject, in lines */
    const char *programs; /* comma-separated names: the default; NULL: HP_LAB_PROGRAMS */
    /* Creates the tables of results. */
    enum hp_err (*begin)(struct hp_lab *lab);
    /* Runs one program, as often as needed, and fills its rows. A failure affects only that
     * program. NULL: no programs are run. */
    enum hp_err (*measure)(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command);
    /* After the last program; may be NULL. */
    enum hp_err (*end)(struct hp_lab *lab);
};

/* All experiments; `*n` of them. */
const struct hp_experiment *const *hp_lab_experiments(size_t *n);
/* HP_ERR_NOTFOUND: there is none with that name. */
enum hp_err hp_lab_find(const char *name, const struct hp_experiment **experiment);

struct hp_lab_options {
    const char *programs; /* comma-separated names; NULL: those of the experiment */
    const char *arch;     /* "arm": its programs, under the qemu engine; NULL: this machine's */
    const char *inputs;   /* directory for input files */
    bool short_form;
    uint64_t instructions;         /* of a program to observe; 0: all (short form: 50 M) */
    uint64_t machine_instructions; /* the same with a machine model; 0: 300 M (20 M) */
    uint64_t cycle_instructions;   /* the same with a machine in cycles; 0: 30 M (1 M) */
    uint64_t window;               /* of the dynamic profiles; 0: 100 M (5 M) */
    /* Called from time to time while `program` (NULL: none at the moment) is run: the library
     * itself prints nothing. May be NULL. */
    void (*progress)(void *context, const char *program, uint64_t instructions);
    void *context;
};

/* The outcome for one program. */
struct hp_lab_outcome {
    uint64_t instructions; /* of its longest run */
    double seconds;        /* of all its runs */
    bool missing, failed;
    char problem[256]; /* if missing or failed */
};

struct hp_lab {
    const struct hp_experiment *experiment;
    struct hp_lab_options options; /* with defaults filled in */
    struct hp_lab_programs programs;
    struct hp_lab_outcome *outcomes; /* one per program */
    size_t current;                  /* program */
    char **environment;              /* of all programs, see engine/environment.h */
    struct hp_lab_results *results[HP_LAB_RESULTS];
    size_t n_results;
};

/*
 * Runs an experiment. A program that is not installed, or fails, is left out, and its outcome says
 * so. `*lab` holds the results until it is freed. HP_ERR_INVALID: none of the programs could be
 * run.
 */
enum hp_err hp_lab_run(const struct hp_experiment *experiment, const struct hp_lab_options *options,
                       struct hp_lab **lab);
void hp_lab_free(struct hp_lab *lab);

/* Prints the tables, what was left out, and what the paper says. */
void hp_lab_print(const struct hp_lab *lab, FILE *out);
enum hp_err hp_lab_write(const struct hp_lab *lab, FILE *out);

/* --- For experiments -------------------------------------------------------------------------- */

/* Adds a table of results; NULL: out of memory. */
struct hp_lab_results *hp_lab_add_results(struct hp_lab *lab, const char *key, const char *title,
                                          const char *rows_are);

/* Of the run, or of what was observed of it. */
uint64_t hp_lab_instructions(struct hp_session *session);

/* What is attached to a program, and what is collected from it afterwards. */
struct hp_lab_probe {
    enum hp_err (*attach)(void *context, struct hp_session *session);
    enum hp_err (*collect)(void *context, struct hp_session *session);
    void *context;
};

/* Runs the current program for the number of instructions in the options. */
enum hp_err hp_lab_observe(struct hp_lab *lab, const struct hp_lab_command *command,
                           const struct hp_lab_probe *probe);

/* The same with addresses, for a machine model: for an n-th of machine_instructions, as n machines
 * take n times as long. */
enum hp_err hp_lab_observe_machine(struct hp_lab *lab, const struct hp_lab_command *command,
                                   unsigned nth, const struct hp_lab_probe *probe);

/* Runs the current program to its end in the native engine with these traces (--traces), and
 * records nothing, or counts. The probe attaches nothing. */
enum hp_err hp_lab_observe_traces(struct hp_lab *lab, const struct hp_lab_command *command,
                                  const char *traces, bool counted,
                                  const struct hp_lab_probe *probe);

/* Windows to simulate in cycles, spread over an n-th of machine_instructions: an n-th of
 * cycle_instructions in total. */
struct hp_windows hp_lab_windows(const struct hp_lab *lab, unsigned nth);

/* The same with a machine in cycles attached to the program, in those windows; `whole`: everything
 * in detail, cycle_instructions from the start. */
enum hp_err hp_lab_observe_cycles(struct hp_lab *lab, const struct hp_lab_command *command,
                                  const char *machine, bool whole,
                                  const struct hp_lab_probe *probe);

#endif
