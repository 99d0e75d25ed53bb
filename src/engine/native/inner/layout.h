// SPDX-License-Identifier: MIT
/*
 * The layout of a thread's block (struct hp_self in inner.h) for translated code and the gates,
 * which reach it through GS. The assembler reads this too: only numbers.
 */
#ifndef HP_NATIVE_LAYOUT_H
#define HP_NATIVE_LAYOUT_H

#define HP_AT_SELF     0x00 /* pointer to the block */
#define HP_AT_RCX      0x08 /* rcx, while translated code uses it */
#define HP_AT_SCRATCH1 0x10 /* other registers, the same */
#define HP_AT_SCRATCH2 0x18
#define HP_AT_TARGET   0x20 /* target of an indirect transfer */
#define HP_AT_EXIT     0x28 /* number of the exit by which the cache was left (32 bits) */
#define HP_AT_PENDING                                                                              \
    0x2c /* not 0: something waits to be done before the cache is entered (32 bits) */
#define HP_AT_STACK   0x30 /* top of the engine's stack */
#define HP_AT_GS_BASE 0x38 /* the program's GS base */
#define HP_AT_ENTRY   0x40 /* where to enter: an address in the cache */
#define HP_AT_ADDRESS 0x48 /* next place for an address (memory mode) */
#define HP_AT_NEXT    0x50 /* next place for a word: writer.next */
#define HP_AT_MASK    0x78 /* the target bits that select a landing */
#define HP_AT_REGS    0x80 /* r[16], rip, flags */
#define HP_AT_RIP     (HP_AT_REGS + 16 * 8)
#define HP_AT_FLAGS   (HP_AT_REGS + 17 * 8)
#define HP_AT_NATIVE  (HP_AT_REGS + 18 * 8) /* not 0: GS is the program's own (32 bits) */
#define HP_AT_BY_CALL                                                                              \
    (HP_AT_NATIVE + 4) /* not 0: its base is set by a system call: no WRGSBASE (32 bits) */
#define HP_AT_RSEQ  (HP_AT_NATIVE + 8)  /* the thread's struct rseq, 0: none */
#define HP_AT_UNIT  (HP_AT_NATIVE + 16) /* number of the last section entered (32 bits) */
#define HP_AT_BEGUN (HP_AT_NATIVE + 20) /* what is saved while it runs: see rseq.h (32 bits) */

/* Paths counted in the cache: see paths.h. */
#define HP_AT_SHADOW (HP_AT_NATIVE + 24) /* where the next entry of the shadow stack goes */
#define HP_AT_FROM   (HP_AT_NATIVE + 32) /* number of the function that jumps (32 bits) */

/* Flags that rt_sigreturn does not change: NT and ID, and the one that is always set. */
#define HP_KEPT_FLAGS 0x204002

/* Blocks are aligned to their size, so a signal handler, whose stack is inside the block, finds the
 * block of its thread whatever GS is. */
#define HP_BLOCK_SIZE 0x100000

/* Counters of the thread, relative to its block. */
#define HP_AT_COUNTERS HP_BLOCK_SIZE

/* The shadow stack comes after the counters of paths. */
#define HP_SHADOW_BYTES 0x401000 /* 2^20 entries, and a page that is not there */

#endif
