// SPDX-License-Identifier: MIT
/*
 * Code as a trace is followed through it: each block is decoded once, and knows where it leads to.
 */
#ifndef HP_IMPORT_ITRACE_CODE_H
#define HP_IMPORT_ITRACE_CODE_H

#include "hotpath/code.h"
#include "import/spaces.h"

enum hp_itrace_node_kind {
    HP_NODE_UNKNOWN, /* its code is not known */
    HP_NODE_THROUGH, /* it leads to one place, and packets do not show that it ran */
    HP_NODE_JUMP,    /* it leads to one place by a direct jump or call, which has an outcome */
    HP_NODE_BRANCH,
    HP_NODE_RETURN,
    HP_NODE_INDIRECT, /* a jump or call */
    HP_NODE_SYSCALL,
    HP_NODE_TRAP,
};

struct hp_itrace_node;

/* Up to HP_ITRACE_RUN blocks that ran one after the other, without an indirect transfer: one word.
 */
struct hp_itrace_run {
    uint32_t segment; /* of the code map */
    uint8_t n;        /* blocks */
    uint8_t
        seen[2]; /* how often what follows was not found, up to HP_ITRACE_OFTEN; more: never look */
    struct hp_itrace_run
        *next[2]; /* with one more: that at the end, at the target; NULL: not made */
};
#define HP_ITRACE_RUN   16
#define HP_ITRACE_OFTEN 16

struct hp_itrace_node {
    uint8_t kind;    /* enum hp_itrace_node_kind */
    bool calls;      /* the return address is kept: it is a call, and not to what follows it */
    bool sigreturn;  /* the system call is that */
    bool completes;  /* the trap is an instruction that is executed, as INT3 is */
    uint16_t inside; /* outcomes of what in it is no transfer */
    struct hp_itrace_run run; /* of this block */
    uint32_t view;
    uint64_t start, last, end, target;
    struct hp_itrace_node *next[2]; /* at the end, at the target; NULL: not looked for */
};

struct hp_itrace_code {
    struct hp_import_spaces *spaces;
    struct hp_code *map;
    struct hp_decoder *decoder;
    enum hp_arch arch;
    bool waits;                /* WFE and WFI have outcomes */
    uint8_t call_size;         /* bytes of a system call's instruction */
    struct hp_map64 *nodes_at; /* by view: address -> which */
    size_t n_views;
    struct hp_itrace_node **chunks;
    size_t n_nodes, cap_chunks;
    struct hp_itrace_run **run_chunks;
    size_t n_runs, cap_run_chunks;
    uint32_t n_segments;
    uint8_t *bytes;                /* room for a block */
    uint64_t unknown;              /* places */
    struct hp_itrace_node nowhere; /* it has no code */
};

/* Keeps the pointers. Of x86-64 it is for the packets of Intel PT, of AArch64 for those of Arm ETM.
 * HP_ERR_NOMEM. */
enum hp_err hp_itrace_code_new(struct hp_import_spaces *spaces, struct hp_code *map,
                               enum hp_arch arch, struct hp_itrace_code **code);
void hp_itrace_code_free(struct hp_itrace_code *code);

/* The node at an address; NULL: there is no memory left. */
struct hp_itrace_node *hp_itrace_code_at(struct hp_itrace_code *code, uint32_t view,
                                         uint64_t address);

/* The node behind another one, or at its target. NULL: likewise. */
struct hp_itrace_node *hp_itrace_code_find_next(struct hp_itrace_code *code,
                                                struct hp_itrace_node *node, bool taken);
static inline struct hp_itrace_node *hp_itrace_code_next(struct hp_itrace_code *code,
                                                         struct hp_itrace_node *node, bool taken)
{
    struct hp_itrace_node *next = node->next[taken];
    return __builtin_expect(next != NULL, 1) ? next : hp_itrace_code_find_next(code, node, taken);
}

/* The run with one more block, to which it leads at its end or by its target; NULL: there is none,
 * as it was not seen often enough, or is too long. */
struct hp_itrace_run *hp_itrace_code_make_run(struct hp_itrace_code *code,
                                              struct hp_itrace_run *run,
                                              const struct hp_itrace_node *next, bool taken);
static inline struct hp_itrace_run *hp_itrace_code_run(struct hp_itrace_code *code,
                                                       struct hp_itrace_run *run,
                                                       const struct hp_itrace_node *next,
                                                       bool taken)
{
    struct hp_itrace_run *longer = run->next[taken];
    return longer ? longer : hp_itrace_code_make_run(code, run, next, taken);
}

/* How many instructions of a node come before an address; false: none begins there. HP_ERR_NOMEM
 * counts as that. */
bool hp_itrace_code_before(struct hp_itrace_code *code, const struct hp_itrace_node *node,
                           uint64_t address, uint32_t *n);

#endif
