// SPDX-License-Identifier: MIT
/* A profile by symbol and source line, which two versions have in common (docs/diff.md). */
#ifndef HP_DIFF_DIGEST_H
#define HP_DIFF_DIGEST_H

#include "base/strings.h"
#include "hotpath/profile.h"

#include <stdbool.h>

/* What is counted of a whole run. */
enum hp_total {
    HP_TOTAL_INSTRUCTIONS,
    HP_TOTAL_BRANCHES,
    HP_TOTAL_CYCLES, /* this and the next: of a machine */
    HP_TOTAL_MISPREDICTIONS,
    HP_TOTAL_L1I,
    HP_TOTAL_L1D,
    HP_TOTAL_L2,
    HP_TOTAL_L3,
    HP_TOTAL_ITLB,
    HP_TOTAL_DTLB,
    HP_TOTALS
};
/* "instructions", ..., "dtlb.misses". */
extern const char *const hp_total_names[HP_TOTALS];

/* What is known of a run besides. */
enum hp_about {
    HP_ABOUT_COMMAND,
    HP_ABOUT_HOTPATH, /* version */
    HP_ABOUT_ENGINE,
    HP_ABOUT_ARCH,
    HP_ABOUT_CPU,  /* what instructions libraries may choose. Set by the caller */
    HP_ABOUT_LIBC, /* "libc.so.6 1a2b3c4d5e6f" */
    HP_ABOUT_MACHINE,
    HP_ABOUT_MODULES, /* "a,b": only these; "" all */
    HP_ABOUTS
};
/* "command", "hotpath", ... */
extern const char *const hp_about_names[HP_ABOUTS];

/*
 * A function as the source has it: the symbols that compilers split it into (foo, foo.part.0,
 * foo.cold, foo.constprop.1) are one. All code of a module without symbols may be one, too.
 */
struct hp_dfunction {
    const char *module; /* file name; of libraries without versions: "libz.so" */
    const char *key;    /* symbol without what compilers append; "" none */
    const char *name;   /* for people; never "" */
    const char *loose;  /* name without the numbers of lambdas; NULL: it has none */
    const char *file;   /* where it begins; "" unknown */
    uint32_t line;
    uint32_t parts;   /* symbols */
    uint64_t self;    /* instructions */
    uint64_t calls;   /* times entered from other functions */
    uint64_t cycles;  /* on a machine, in HP_CYCLE_PARTS; 0 with retired 0: not known */
    uint64_t retired; /* instructions that these are of */
    uint64_t events[HP_INSN_EVENTS]; /* of these, how many had it */
    uint32_t lines;                  /* its first one */
    uint32_t n_lines;                /* the instructions of all of them are `self` */
    uint64_t nameless;               /* the offset of one without a symbol */
};

/* Instructions of a function that come from a line. line 0: from no known line. */
struct hp_dline {
    uint32_t function;
    const char *file;
    const char *inlined; /* the function inlined there, "" none */
    uint32_t line;
    uint64_t instructions;
};

/* The index is that of the profile. */
struct hp_dloop {
    uint32_t function; /* HP_PROFILE_NONE: it is in none, and not compared */
    uint32_t parent;
    const char *file;
    uint32_t line;
    struct hp_place header;
    uint64_t executions, iterations, self;
};

/* Paths that go along the same lines are one. */
struct hp_dpath {
    const char *kind;
    uint32_t steps, n_steps; /* lines (indices), neighbours differ */
    uint64_t count, instructions;
};

struct hp_digest {
    const char *about[HP_ABOUTS]; /* "" unknown or none */
    const char *directory;
    int64_t started;
    bool known[HP_TOTALS];
    uint64_t totals[HP_TOTALS];
    struct hp_dfunction *functions; /* their self adds up to the total of instructions */
    size_t n_functions, functions_capacity;
    struct hp_dline *lines; /* by function, file, inlined, line */
    size_t n_lines, lines_capacity;
    struct hp_dloop *loops;
    size_t n_loops;
    uint32_t *loop_order;   /* by function, parent, line, header */
    struct hp_dpath *paths; /* by kind and lines */
    size_t n_paths, paths_capacity;
    uint32_t *steps;
    size_t n_steps, steps_capacity;
    struct hp_strings strings;
    uint32_t *groups; /* by function of the profile, that of the digest; HP_PROFILE_NONE: none */
};

/* What goes into a digest. All zero: everything. */
struct hp_digest_options {
    const struct hp_profile *other; /* functions without a symbol are kept apart in modules that
                                       this has too; NULL: nowhere */
    bool unfolded;                  /* inlined functions are functions in it (profile/unfold.h) */
    const char *const *modules; /* only these files: "gzip", "libz.so"; ended by NULL. NULL: all */
};

/* Makes the digest of a normal profile, which must outlive it; free it even on failure. `*digest`
 * must be NULL before. HP_ERR_INVALID: its references do not fit together. HP_ERR_NOTFOUND: nothing
 * was executed in one of the modules. */
enum hp_err hp_digest_make(const struct hp_profile *profile,
                           const struct hp_digest_options *options, struct hp_digest **digest);
void hp_digest_free(struct hp_digest *digest);

/* --- Its parts -------------------------------------------------------------------------------- */

/* One with nothing in it. */
enum hp_err hp_digest_new(struct hp_digest **digest);

/* Lines, loops and paths. `groups`: by function of the profile, that of the digest. */
enum hp_err hp_digest_code(struct hp_digest *digest, const struct hp_profile *profile,
                           const uint32_t *groups, bool unfolded);

static inline uint32_t hp_digest_group(const uint32_t *groups, uint32_t function)
{
    return function == HP_PROFILE_NONE ? HP_PROFILE_NONE : groups[function];
}

/* Orders paths by kind and lines, as those of a digest are; the steps of each are in an array. */
int hp_digest_compare_paths(const struct hp_dpath *x, const uint32_t *steps_of_x,
                            const struct hp_dpath *y, const uint32_t *steps_of_y);

/* Adds a function or a line, a copy. */
enum hp_err hp_digest_add_function(struct hp_digest *digest, const struct hp_dfunction *function);
enum hp_err hp_digest_add_line(struct hp_digest *digest, const struct hp_dline *line);

/* Sets the names of a function with module and key. `name`: `n` bytes, 0 when it has none. */
enum hp_err hp_digest_name(struct hp_digest *digest, struct hp_dfunction *function,
                           const char *name, size_t n);

/* --- Names ------------------------------------------------------------------------------------ */

/* How many bytes of a symbol are its name in the source: without ".constprop.0", ".llvm.123",
 * ".cold" and the like. */
size_t hp_symbol_stem(const char *symbol);

/* A name that stays the same from build to build: the stem, and without the hash of Rust. Without
 * memory NULL. free() it. */
char *hp_symbol_key(const char *symbol);

/* The name of a file without directory and without what is behind ".so". free() it. */
char *hp_module_key(const char *path);

/* The name without numbers of lambdas and closures; NULL: it has none, or no memory. free() it. */
char *hp_lambda_key(const char *name);

#endif
