// SPDX-License-Identifier: MIT
/*
 * Notes: what a phrase (phrases.h) does, taken while its transfers are shown to the stack and the
 * loops.
 */
#ifndef HP_PROFILER_EXACT_NOTES_H
#define HP_PROFILER_EXACT_NOTES_H

#include "profiler/exact/phrases.h"

/* What happens to a stack and to loops, in order. */
enum hp_note_kind {
    HP_NOTE_PUSH, /* a frame that is there at the end, or was not matched yet */
    HP_NOTE_POP,  /* a frame that was there before */
    HP_NOTE_ENTER,
    HP_NOTE_LEAVE, /* a frame that was not, and will not be */
    HP_NOTE_EVENT,
};

struct hp_note_entry {
    uint32_t kind;
    uint32_t insns; /* since the beginning */
    struct hp_leg_event event;
};

#define HP_NOTE_ENTRIES 256
#define HP_NOTE_ADDS    256
#define HP_NOTE_WORDS   1024

struct hp_note {
    bool good;                    /* so far, nothing else mattered */
    uint64_t clock;               /* at the beginning */
    size_t base, lowest, highest; /* frames */
    size_t n, n_adds, n_words;
    struct hp_note_entry entries[HP_NOTE_ENTRIES];
    struct hp_phrase_add adds[HP_NOTE_ADDS];
    uint32_t words[HP_NOTE_WORDS]; /* the stages, once concluded */
};

void hp_note_begin(struct hp_note *note, const struct hp_exact_thread *thread);

/* Makes `words` from what was noted. False: the phrase cannot be kept. */
bool hp_note_conclude(struct hp_note *note, struct hp_exact_thread *thread);

#endif
