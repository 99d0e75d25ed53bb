// SPDX-License-Identifier: MIT
/*
 * Prefixes of paths that an engine counts (docs/counted-paths.md): from an id to the path so far.
 *
 * The engine only says which blocks follow each other. What that makes of the path is derived here,
 * one transfer at a time, by a detector. Each prefix is derived once, and shared by all threads.
 */
#ifndef HP_PROFILER_PATH_PREFIXES_H
#define HP_PROFILER_PATH_PREFIXES_H

#include "engine/engine.h"
#include "engine/paths.h"
#include "hotpath/path.h"

/* The path when its last block begins: all blocks before it are retired. */
struct hp_path_prefix {
    uint64_t start, outcomes;
    uint64_t insns;            /* in the path */
    uint64_t pending;          /* instructions of blocks that no branch has ended yet */
    uint32_t block, last;      /* the first, the last */
    uint32_t blocks, branches; /* retired */
    uint32_t length, extension;
};

/* A finished path. */
struct hp_path_counted {
    struct hp_path path;
    uint64_t insns; /* all of them: path.insns saturates */
    uint32_t blocks, branches;
    bool split;     /* it was full */
    bool saturated; /* its events are */
};

struct hp_path_prefixes;

/* Keeps the pointers. HP_ERR_UNSUPPORTED: such paths cannot be counted (hp_path_can_count()). */
enum hp_err hp_path_prefixes_new(const struct hp_ppcr *ppcr, const struct hp_code *code,
                                 struct hp_path_source *source, struct hp_path_prefixes **prefixes);
void hp_path_prefixes_free(struct hp_path_prefixes *prefixes);

/* Whether an engine can count paths of this control register, with these rules. */
bool hp_path_can_count(const struct hp_ppcr *ppcr, struct hp_path_rules *rules);

/*
 * The prefix with this id: when its last block begins; and when that has ended with a call, which
 * is a frame that waits. The path with this id. HP_ERR_FORMAT, HP_ERR_NOTFOUND: the engine has said
 * something that cannot be. HP_ERR_NOMEM.
 */
enum hp_err hp_path_prefixes_get(struct hp_path_prefixes *prefixes, uint32_t id,
                                 struct hp_path_prefix *prefix);
enum hp_err hp_path_prefixes_call(struct hp_path_prefixes *prefixes, uint32_t id,
                                  struct hp_path_prefix *prefix);
enum hp_err hp_path_prefixes_path(struct hp_path_prefixes *prefixes, uint32_t id,
                                  struct hp_path_counted *path);

#endif
