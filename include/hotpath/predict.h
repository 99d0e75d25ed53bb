// SPDX-License-Identifier: MIT
/*
 * Prediction: which paths will be hot (docs/prediction.md).
 *
 * Paths are interprocedural forward paths (hp_ppcr "forward"). An *index* gives every distinct one an id, and every distinct start (head)
 * an id. A *scheme* sees, path by path, (path id, head id), keeps its counters and says when it predicts. A *judge* knows
 * the exact frequencies and measures a scheme: hits, noise, missed opportunity, profiled flow, counters, operations.
 *
 * An emulator or a JIT embeds hp_predictor: it feeds branches and is told when a path becomes hot.
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
};

struct hp_scheme_cost {
    uint64_t counters;   /* that were touched: the space it needs */
    uint64_t operations; /* on counters, bits shifted, tables looked up: see the scheme's page */
};

struct hp_scheme;

/*
 * The interface behind which a scheme stands. predict() is called for every execution of a path that the scheme has not predicted yet, in order, and for
 * no other: it returns whether the path is predicted now (then this is its last profiled execution). A prediction of another path than
 * the one at hand (boa) is made with hp_scheme_predict(). `predicted()` executions cost nothing.
 */
struct hp_scheme_ops {
    const char *name;
    enum hp_err (*grow)(struct hp_scheme *scheme, size_t n_paths,
                        size_t n_heads); /* ids below these may come */
    bool (*profile)(struct hp_scheme *scheme, const struct hp_flow_step *step);
    struct hp_scheme_cost (*cost)(const struct hp_scheme *scheme);
    void (*free)(struct hp_scheme *scheme);
};

struct hp_scheme {
    const struct hp_scheme_ops *ops; /* first member of every scheme */
};

/* "net:50", "net:50,after=keep", "path-profile:50", "boa:50", and the library's own. The delay (tau) is 0 ... 2^31. HP_ERR_INVALID: one line. */
struct hp_scheme_config {
    char name[24];
    uint64_t delay;
    bool keep; /* net: after = keep */
};
enum hp_err hp_scheme_parse(const char *text, struct hp_scheme_config *config);
void hp_scheme_format(const struct hp_scheme_config *config, char *text, size_t size);
enum hp_err hp_scheme_new(const struct hp_scheme_config *config, struct hp_scheme **scheme);

/* --- Measures --------------------------------------------------------------------------------- */

struct hp_prediction {
    uint64_t flow;         /* executions of paths */
    uint64_t paths, heads; /* distinct */
    uint64_t hot_paths, hot_flow;
    uint64_t predicted, predicted_hot; /* paths */
    uint64_t hits;     /* executions of hot predicted paths after their prediction */
    uint64_t noise;    /* executions of cold predicted paths after their prediction */
    uint64_t missed;   /* executions of hot predicted paths up to their prediction */
    uint64_t profiled; /* executions not of already predicted paths */
    /* The paper's closed forms: tau charged per predicted path. May be negative for cold paths. */
    int64_t closed_hits, closed_noise, closed_missed;
    struct hp_scheme_cost cost;
    uint64_t branches;
};

#ifdef __cplusplus
}
#endif
#endif
