// SPDX-License-Identifier: MIT
/*
 * Restartable sequences (rseq). A struct rseq_cs of the program describes a *section* of its code;
 * the kernel moves a thread that it interrupts in the section to the section's abort address. A
 * section is translated as one segment with its own description, a *slot*, so that the kernel does
 * the same for the translation.
 */
#ifndef HP_NATIVE_RSEQ_H
#define HP_NATIVE_RSEQ_H

#include "engine/native/inner/inner.h"

/* The kernel's struct rseq_cs. */
struct hp_rseq_cs {
    uint32_t version, flags;
    uint64_t start, size; /* the section */
    uint64_t abort;       /* where it continues after an interruption */
};

#define HP_LABELS_MAX 32

struct hp_section {
    uint64_t at; /* address of the description */
    struct hp_rseq_cs cs;
    uint16_t labels[HP_LABELS_MAX]; /* branch targets in it, as offsets: see translate_section.c */
    uint32_t n_labels;
};

/* hp_self.unit_begun: which of the program's registers are saved in the block. */
enum {
    HP_UNIT_BEGINS,    /* rax, rcx */
    HP_UNIT_RUNS,      /* none */
    HP_UNIT_RCX_SAVED, /* rcx */
};

/* A thread of the process has registered: from then on sections are translated as a unit. */
extern bool hp_rseq_used;

/* A constant in the program's code: records the section if it is the address of a description. With
 * the lock held. */
void hp_rseq_learn(uint64_t at);

/* The section that starts at `pc`; 0: none. Only known ones that are still there. */
uint32_t hp_rseq_at(uint64_t pc);
/* Whether `pc` is in a section, but not at its start. */
bool hp_rseq_inside(uint64_t pc);
/* The first start of a section in (pc, high), or `high`. */
uint64_t hp_rseq_next(uint64_t pc, uint64_t high);
struct hp_section *hp_rseq_section(uint32_t section);

/* A slot for a translation of the section, to be filled in; NULL: none left. */
struct hp_rseq_cs *hp_rseq_slot(uint32_t section);

/* Where a thread released at `pc` must start: not inside a section, which the kernel may consider
 * left, but at its abort address. */
uint64_t hp_rseq_leave_at(const struct hp_self *self, uint64_t pc);

/*
 * A thread, with all registers the program's, reaches `pc`. Returns where it must continue: if it
 * is inside an announced section that was not known, that is the abort address. With the lock held.
 */
uint64_t hp_rseq_arrive(struct hp_self *self, uint64_t pc);

/* Where the kernel sends threads (gates.S), after the signature that nearly all programs use. */
#define HP_RSEQ_SIGNATURE 0x53053053u
void hp_rseq_abort(void);
_Noreturn void hp_on_rseq_abort(struct hp_self *self);

/* A thread registers with this signature. False: it cannot be supported. Takes the lock. */
bool hp_rseq_allow(uint32_t signature);
/* Whether it is another place than hp_rseq_abort where the kernel sends threads, and leads
 * there. */
bool hp_rseq_is_abort(uint64_t pc);

/* The system call succeeded; `area` is 0 when it ended a registration. */
void hp_rseq_registered(struct hp_self *self, uint64_t area);

#endif
