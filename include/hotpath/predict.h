// SPDX-License-Identifier: MIT
/*
 * Prediction: which paths will be hot (docs/prediction.md).
 *
 * Paths are interprocedural forward paths (the PPCR "forward" of path.h). An *index* gives every
 * distinct one an id, and every distinct start (head) an id. A *scheme* is given the path id and
 * head id of each execution, keeps its counters and predicts paths. A *judge* knows the exact
 * frequencies and measures schemes: hits, noise, missed opportunity, profiled flow, counters,
 * operations.
 *
 * An emulator or a JIT embeds hp_path_predictor: it feeds branches and learns when a path becomes
 * hot.
 */
#ifndef HOTPATH_PREDICT_H
#define HOTPATH_PREDICT_H

#include "hotpath/path.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Schemes ---------------------------------------------------------------------------------- */

/* One execution of a path. */
struct hp_flow_step {
    uint32_t path; /* ids from 0 in order of appearance */
    uint32_t head;
    uint32_t length; /* branches */
    /* Executions of paths up to this one, predicted ones included: the clock. A real system can use
     * a cycle counter. */
    uint64_t flow;
};

/* A branch along a path. */
struct hp_flow_branch {
    uint64_t address;
    uint64_t target; /* where control went, also when it fell through. 0: unknown (an indirect
                        branch back, which ends the path: its target is not part of it) */
    bool taken;
    bool indirect; /* a computed jump or call, or a return: when it goes forward, the target is part
                      of the path */
};

struct hp_scheme_cost {
    uint64_t counters;   /* used: the space it needs */
    uint64_t operations; /* counters increased, outcomes shifted or collected: docs/prediction.md */
};

struct hp_scheme;

/*
 * The interface of a scheme. profile() is called, in order, for every execution of a path that the
 * scheme has not predicted yet, and for no other. It returns whether the path is predicted now
 * (then this was its last profiled execution). hp_scheme_host.predict() predicts any other path.
 */
struct hp_scheme_ops {
    const char *name;
    bool counts_paths; /* uses hp_flow_step.path; else that may be HP_NO_ID */
    /* Ids below these may occur from now on. HP_ERR_NOMEM. */
    enum hp_err (*grow)(struct hp_scheme *scheme, size_t n_paths, size_t n_heads);
    bool (*profile)(struct hp_scheme *scheme, const struct hp_flow_step *step);
    struct hp_scheme_cost (*cost)(const struct hp_scheme *scheme);
    /* HP_ERR_NOMEM: memory ran out in profile(), and it predicts no more. NULL: it cannot fail. */
    enum hp_err (*check)(const struct hp_scheme *scheme);
    void (*free)(struct hp_scheme *scheme);
};

/* Services for a scheme, during profile(). */
struct hp_scheme_host {
    /* The path of this step; `*targets` points to its targets. */
    void (*path)(struct hp_scheme_host *host, const struct hp_flow_step *step, struct hp_path *path,
                 const uint64_t **targets);
    /* Its branches, in order: at most HP_PATH_MAX_LENGTH, fewer where the code is unknown. Returns
     * their number. */
    size_t (*branches)(struct hp_scheme_host *host, const struct hp_flow_step *step,
                       struct hp_flow_branch *branches);
    /* Predicts a path that need not have run yet; targets[0] is its first target, `branches` are
     * its branches. Returns false, without effect, if it was predicted already. */
    bool (*predict)(struct hp_scheme_host *host, struct hp_scheme *scheme,
                    const struct hp_path *path, const uint64_t *targets,
                    const struct hp_flow_branch *branches);
};

/* First member of every scheme. `host` and `max_length` (of a path) are set by its owner before the
 * first path. */
struct hp_scheme {
    const struct hp_scheme_ops *ops;
    struct hp_scheme_host *host;
    uint32_t max_length;
};

#define HP_DELAY_MAX (UINT64_C(1) << 31)

struct hp_scheme_config {
    char name[24];
    uint64_t delay; /* tau: 0 ... HP_DELAY_MAX */
    bool keep;      /* net: after = keep */
};

/* Reads "net:50", "net:50,after=keep", "net:50,after=reset", "path-profile:50", "boa:50",
 * "net-rate:50", "rate-table:50". HP_ERR_INVALID: one line. */
HP_MUST_CHECK enum hp_err hp_scheme_parse(const char *text, struct hp_scheme_config *config);
/* A text that hp_scheme_parse() reads, cut to `size`. */
void hp_scheme_format(const struct hp_scheme_config *config, char *text, size_t size);
/* HP_ERR_INVALID: no such scheme, or a delay out of range. */
HP_MUST_CHECK enum hp_err hp_scheme_new(const struct hp_scheme_config *config,
                                        struct hp_scheme **scheme);
void hp_scheme_free(struct hp_scheme *scheme);

/* --- The index -------------------------------------------------------------------------------- */

/* A distinct path. A cache line. */
struct hp_indexed_path {
    uint64_t start, outcomes, targets; /* as in struct hp_path */
    uint64_t mark;                     /* for the user */
    uint32_t block;
    uint32_t head;
    uint32_t first_target; /* in hp_index_targets() */
    uint8_t length;
    uint8_t n_targets;
    uint16_t flags; /* HP_INDEXED_* */
    uint64_t reserved[2];
};

enum { HP_INDEXED_SPLIT = 1 }; /* it was ended by max_length, not by a backward branch */

struct hp_index;

#define HP_INDEX_DEFAULT (UINT64_C(1) << 24)

/* Takes at most `max_paths` (0: HP_INDEX_DEFAULT). New paths get `mark`. */
HP_MUST_CHECK enum hp_err hp_index_new(uint64_t max_paths, uint64_t mark, struct hp_index **index);
void hp_index_free(struct hp_index *index);

/* Finds the ids of paths, in order, and adds new ones. HP_NO_ID: no room. */
void hp_index_add(struct hp_index *index, const struct hp_paths *paths, uint32_t *ids);

/* HP_NO_ID: not found. */
uint32_t hp_index_find(const struct hp_index *index, const struct hp_path *path);
/* The same, but adds a new one; targets[0] is its first target. HP_NO_ID: no room. */
uint32_t hp_index_intern(struct hp_index *index, const struct hp_path *path,
                         const uint64_t *targets);
/* The head at `start`, added when new. HP_NO_ID: memory ran out. */
uint32_t hp_index_head(struct hp_index *index, uint64_t start);
/* HP_NO_ID: not found. */
uint32_t hp_index_find_head(const struct hp_index *index, uint64_t start);

/* Valid until a path is added. */
struct hp_indexed_path *hp_index_paths(const struct hp_index *index);
const uint64_t *hp_index_targets(const struct hp_index *index);
size_t hp_index_n_paths(const struct hp_index *index);
size_t hp_index_n_heads(const struct hp_index *index);
/* HP_ERR_NOMEM: memory ran out. Paths are missing. */
HP_MUST_CHECK enum hp_err hp_index_check(const struct hp_index *index);

/* Receives executions of paths by their ids, in order; HP_NO_ID: a path for which there was no
 * room. */
struct hp_flow_sink {
    void (*flow)(struct hp_flow_sink *sink, const uint32_t *paths, size_t n);
};

/* --- Measures --------------------------------------------------------------------------------- */

struct hp_prediction {
    uint64_t flow;         /* executions of paths */
    uint64_t paths, heads; /* distinct, executed */
    uint64_t hot_paths, hot_flow;
    uint64_t predicted, predicted_hot; /* paths */
    uint64_t never_ran;                /* of the predicted ones */
    uint64_t hits;     /* executions of hot predicted paths after their prediction */
    uint64_t noise;    /* executions of cold predicted paths after their prediction */
    uint64_t missed;   /* executions of hot predicted paths up to their prediction */
    uint64_t profiled; /* executions of paths not yet predicted */
    /* The paper's closed forms: tau charged per predicted path. May be negative for cold paths. */
    int64_t closed_hits, closed_noise, closed_missed;
    struct hp_scheme_cost cost;
    uint64_t branches; /* along the paths, except those of `lost` */
    uint64_t splits;   /* executions of paths that were ended by max_length */
    uint64_t lost;     /* executions of paths beyond max_paths: included in flow and profiled */
};

/* Percent of the hot flow; 0 where there is none. */
static inline double hp_hit_rate(const struct hp_prediction *p)
{
    return p->hot_flow ? 100.0 * (double)p->hits / (double)p->hot_flow : 0;
}

static inline double hp_noise_rate(const struct hp_prediction *p)
{
    return p->hot_flow ? 100.0 * (double)p->noise / (double)p->hot_flow : 0;
}

/* Percent of the flow. */
static inline double hp_profiled_rate(const struct hp_prediction *p)
{
    return p->flow ? 100.0 * (double)p->profiled / (double)p->flow : 0;
}

static inline double hp_operations_per_branch(const struct hp_prediction *p)
{
    return p->branches ? (double)p->cost.operations / (double)p->branches : 0;
}

/* Finds the branches of paths for schemes. */
struct hp_branch_source {
    /* As hp_scheme_host.branches. */
    size_t (*branches)(struct hp_branch_source *source, const struct hp_path *path,
                       const uint64_t *targets, struct hp_flow_branch *branches);
};

#define HP_JUDGE_SCHEMES 64

struct hp_judge_config {
    struct hp_scheme_config schemes[HP_JUDGE_SCHEMES];
    size_t n_schemes;
    double hot;          /* a path with more than this share of the flow is hot; 0: 0.001 */
    uint64_t max_paths;  /* see hp_index_new() */
    uint32_t max_length; /* of a path; 0: HP_PATH_MAX_LENGTH */
};

struct hp_judge;

/* `source` may be NULL: then schemes see no branches (boa predicts nothing). Keeps it. */
HP_MUST_CHECK enum hp_err hp_judge_new(const struct hp_judge_config *config,
                                       struct hp_branch_source *source, struct hp_judge **judge);
void hp_judge_free(struct hp_judge *judge);

/* Receives paths. Each thread may have a detector that feeds it. */
struct hp_path_sink *hp_judge_sink(struct hp_judge *judge);

/* The same for a caller that looks up the paths in the judge's index itself. */
struct hp_flow_sink *hp_judge_flow_sink(struct hp_judge *judge);

const struct hp_judge_config *hp_judge_config(const struct hp_judge *judge);
/* The measures of scheme `i` so far. */
void hp_judge_result(const struct hp_judge *judge, size_t i, struct hp_prediction *prediction);
/* The paths with their counts; hp_indexed_path.mark: bit i is set while scheme i has not predicted
 * it. */
struct hp_index *hp_judge_index(const struct hp_judge *judge);
/* More executions than this make a path hot. */
uint64_t hp_judge_threshold(const struct hp_judge *judge);

/* What scheme `i` predicted, in order; valid until more paths arrive. */
struct hp_predicted {
    uint32_t path;
    uint64_t at;   /* executions of the path up to then, this one included */
    uint64_t flow; /* of all paths up to then */
};
const struct hp_predicted *hp_judge_predicted(const struct hp_judge *judge, size_t i, size_t *n);

/* HP_ERR_NOMEM: memory ran out; the measures are meaningless. */
HP_MUST_CHECK enum hp_err hp_judge_check(const struct hp_judge *judge);

/* --- For JITs and emulators ------------------------------------------------------------------- */

/*
 * A predictor is fed the branches of one thread, by address: of machine code, byte code, or any
 * other code in which a backward branch means a loop. It needs no code map. Nothing allocates per
 * branch: memory is taken only for a new head or path.
 */
struct hp_path_predictor_config {
    struct hp_scheme_config scheme;
    uint32_t max_length; /* of a path; 0: HP_PATH_MAX_LENGTH */
    uint64_t max_paths;  /* 0: HP_INDEX_DEFAULT; NET keeps only predicted paths */
};

enum hp_news {
    HP_NEWS_NOTHING, /* the path continues */
    HP_NEWS_STARTED, /* the branch ended a path; another starts at its target */
    HP_NEWS_HOT,     /* the same, and a path is now predicted hot: see hp_path_predictor_path() */
};

/* A predicted path. */
struct hp_hot_path {
    uint64_t start;
    uint64_t outcomes; /* as in struct hp_path */
    uint32_t length;
    const struct hp_flow_branch *branches; /* `length` of them */
};

struct hp_path_predictor_stats {
    uint64_t branches;
    uint64_t flow;      /* paths that ended */
    uint64_t profiled;  /* of these, not predicted before */
    uint64_t predicted; /* distinct paths */
    uint64_t heads;     /* distinct, counted */
    uint64_t lost;      /* paths that could not be kept (max_paths, memory) */
    struct hp_scheme_cost cost;
};

struct hp_path_predictor;

/* HP_ERR_INVALID: see hp_scheme_new(); max_length out of range. */
HP_MUST_CHECK enum hp_err hp_path_predictor_new(const struct hp_path_predictor_config *config,
                                                struct hp_path_predictor **predictor);
void hp_path_predictor_free(struct hp_path_predictor *predictor);

/* Control is at `address` now, however it got there: the current path is forgotten and a new one
 * starts. Call it before the first branch, after running your own code for a hot path, and after an
 * exception. */
void hp_path_predictor_start(struct hp_path_predictor *predictor, uint64_t address);

/* The branch at `address` was executed and control is at `target` now (also when it was not taken).
 * Of `kind` it only matters whether it is indirect or a return. */
enum hp_news hp_path_predictor_branch(struct hp_path_predictor *predictor, uint64_t address,
                                      uint64_t target, bool taken, enum hp_flow kind);

/* Adds `paths`, executed unseen in your own code, to the clock of schemes that use rates (net-rate,
 * rate-table). An estimate is enough. */
void hp_path_predictor_ran(struct hp_path_predictor *predictor, uint64_t paths);

/* After HP_NEWS_HOT: the path that was predicted. Valid until the next branch. */
const struct hp_hot_path *hp_path_predictor_path(const struct hp_path_predictor *predictor);

/* Whether a path that starts there was predicted. */
bool hp_path_predictor_is_hot(const struct hp_path_predictor *predictor, uint64_t start);

const struct hp_path_predictor_stats *hp_path_predictor_stats(struct hp_path_predictor *predictor);

#ifdef __cplusplus
}
#endif
#endif
