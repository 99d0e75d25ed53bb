// SPDX-License-Identifier: MIT
/*
 * Restartable sequences (rseq). A *section* of the program's code is described by a struct rseq_cs
 * of the program; the kernel moves a thread that it interrupts in it to the section's abort
 * address. A section is translated as one segment with a description of its own, a *slot*, so that
 * the kernel does the same for the translation.
 */
#ifndef HP_NATIVE_RSEQ_H
#define HP_NATIVE_RSEQ_H

#include "engine/native/inner/inner.h"

/* The kernel's struct rseq_cs. */
struct hp_rseq_cs {
    uint32_t version, flags;
    uint64_t start, size; /* the section */
    uint64_t abort;       /* where it goes on when it was interrupted */
};

#define HP_LABELS_MAX 32

struct hp_section {
    uint64_t at; /* the description */
    struct hp_rseq_cs cs;
    uint16_t
        labels[HP_LABELS_MAX]; /* targets of branches in it, as offsets: see translate_section.c */
    uint32_t n_labels;
};

/* hp_self.unit_begun: what of the program's registers is kept in the block. */
enum {
    HP_UNIT_BEGINS,    /* rax, rcx */
    HP_UNIT_RUNS,      /* nothing */
    HP_UNIT_RCX_SAVED, /* rcx */
};

/* Some thread of the process has registered: sections are made one piece from then on. */
extern bool hp_rseq_used;

/* A constant in the program's code: remembers the section if it is the address of one's
 * description. With the lock held. */
void hp_rseq_learn(uint64_t at);

/* The section that starts at `pc`; 0: none. Only what is known, and still there. */
uint32_t hp_rseq_at(uint64_t pc);
/* Whether `pc` is in a section, but not at its start. */
bool hp_rseq_inside(uint64_t pc);
/* The first start of a section in (pc, high), or `high`. */
uint64_t hp_rseq_next(uint64_t pc, uint64_t high);
struct hp_section *hp_rseq_section(uint32_t section);

/* A slot for a translation of the section, to be filled in; NULL: there are no more. */
struct hp_rseq_cs *hp_rseq_slot(uint32_t section);

/* Where a thread that is let go at `pc` has to begin: not in a section, of which the kernel may
 * think that it was left, but where an interrupted one goes on. */
uint64_t hp_rseq_leave_at(const struct hp_self *self, uint64_t pc);

/*
 * A thread of which all registers are the program's comes to `pc`. Returns where it has to go on:
 * if it has announced a section that was not known and is in the middle of it, that is where an
 * interrupted one goes. With the lock held.
 */
uint64_t hp_rseq_arrive(struct hp_self *self, uint64_t pc);

/* Where the kernel sends threads (gates.S), behind the signature that nearly all use. */
#define HP_RSEQ_SIGNATURE 0x53053053u
void hp_rseq_abort(void);
_Noreturn void hp_on_rseq_abort(struct hp_self *self);

/* A thread registers with this signature. False: there can be no sections with it. Takes the lock.
 */
bool hp_rseq_allow(uint32_t signature);
/* Whether that is a place, other than hp_rseq_abort, where the kernel sends threads, and which
 * leads there. */
bool hp_rseq_is_abort(uint64_t pc);

/* The system call was made and went well; `area` is 0 when it ended a registration. */
void hp_rseq_registered(struct hp_self *self, uint64_t area);

#endif
