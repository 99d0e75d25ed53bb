// SPDX-License-Identifier: MIT
/*
 * Code as a trace of Intel PT is followed through it: each block is decoded once, and knows where
 * it leads to.
 */
#ifndef HP_IMPORT_PT_CODE_H
#define HP_IMPORT_PT_CODE_H

#include "hotpath/code.h"
#include "import/spaces.h"

enum hp_pt_node_kind {
    HP_PT_UNKNOWN, /* its code is not known */
    HP_PT_THROUGH, /* it leads to one place: a direct jump or call, or no transfer at all */
    HP_PT_BRANCH,
    HP_PT_RETURN,
    HP_PT_INDIRECT, /* a jump or call */
    HP_PT_SYSCALL,
    HP_PT_TRAP,
};

struct hp_pt_node;

/* Up to HP_PT_RUN blocks that ran one after the other, without an indirect transfer: one word. */
struct hp_pt_run {
    uint32_t segment; /* of the code map */
    uint8_t n;        /* blocks */
    uint8_t seen[2]; /* how often what follows was not found, up to HP_PT_OFTEN; more: never look */
    struct hp_pt_run *next[2]; /* with one more: that at the end, at the target; NULL: not made */
};
#define HP_PT_RUN   16
#define HP_PT_OFTEN 16

struct hp_pt_node {
    uint8_t kind;         /* enum hp_pt_node_kind */
    bool calls;           /* the return address is kept: it is a call, and not to what follows it */
    bool sigreturn;       /* the system call is that */
    bool completes;       /* the trap is an instruction that is executed, as INT3 is */
    struct hp_pt_run run; /* of this block */
    uint32_t view;
    uint64_t start, last, end, target;
    struct hp_pt_node *next[2]; /* at the end, at the target; NULL: not looked for */
};

struct hp_pt_code {
    struct hp_import_spaces *spaces;
    struct hp_code *map;
    struct hp_decoder *decoder;
    struct hp_map64 *nodes_at; /* by view: address -> which */
    size_t n_views;
    struct hp_pt_node **chunks;
    size_t n_nodes, cap_chunks;
    struct hp_pt_run **run_chunks;
    size_t n_runs, cap_run_chunks;
    uint32_t n_segments;
    uint8_t *bytes;            /* room for a block */
    uint64_t unknown;          /* places */
    struct hp_pt_node nowhere; /* it has no code */
};

/* Keeps the pointers. HP_ERR_NOMEM. */
enum hp_err hp_pt_code_new(struct hp_import_spaces *spaces, struct hp_code *map,
                           struct hp_pt_code **code);
void hp_pt_code_free(struct hp_pt_code *code);

/* The node at an address; NULL: there is no memory left. */
struct hp_pt_node *hp_pt_code_at(struct hp_pt_code *code, uint32_t view, uint64_t address);

/* The node behind another one, or at its target. NULL: likewise. */
struct hp_pt_node *hp_pt_code_find_next(struct hp_pt_code *code, struct hp_pt_node *node,
                                        bool taken);
static inline struct hp_pt_node *hp_pt_code_next(struct hp_pt_code *code, struct hp_pt_node *node,
                                                 bool taken)
{
    struct hp_pt_node *next = node->next[taken];
    return __builtin_expect(next != NULL, 1) ? next : hp_pt_code_find_next(code, node, taken);
}

/* The run with one more block, to which it leads at its end or by its target; NULL: there is none,
 * as it was not seen often enough, or is too long. */
struct hp_pt_run *hp_pt_code_make_run(struct hp_pt_code *code, struct hp_pt_run *run,
                                      const struct hp_pt_node *next, bool taken);
static inline struct hp_pt_run *hp_pt_code_run(struct hp_pt_code *code, struct hp_pt_run *run,
                                               const struct hp_pt_node *next, bool taken)
{
    struct hp_pt_run *longer = run->next[taken];
    return longer ? longer : hp_pt_code_make_run(code, run, next, taken);
}

/* How many instructions of a node come before an address; false: none begins there. HP_ERR_NOMEM
 * counts as that. */
bool hp_pt_code_before(struct hp_pt_code *code, const struct hp_pt_node *node, uint64_t address,
                       uint32_t *n);

#endif
