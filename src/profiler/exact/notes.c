// SPDX-License-Identifier: MIT
#include "profiler/exact/notes.h"

#include "profiler/exact/contexts.h"

#include <string.h>

/* --- Taking them ------------------------------------------------------------------------------ */

void hp_note_begin(struct hp_note *note, const struct hp_exact_thread *t)
{
    note->good = true;
    note->clock = t->clock;
    note->base = note->lowest = note->highest = t->n_frames;
    note->n = note->n_adds = note->n_words = 0;
}

static void append(struct hp_exact_thread *t, enum hp_note_kind kind,
                   const struct hp_leg_event *event)
{
    struct hp_note *note = t->loops->note;
    if (note->n == HP_NOTE_ENTRIES) {
        note->good = false;
        return;
    }
    struct hp_note_entry *entry = &note->entries[note->n++];
    entry->kind = kind;
    entry->insns = (uint32_t)(t->clock - note->clock);
    if (event)
        entry->event = *event;
}

void hp_exact_note_add(struct hp_exact_thread *t, enum hp_phrase_adds to, uint32_t index,
                       uint64_t amount)
{
    struct hp_note *note = t->loops->note;
    if (note->n_adds == HP_NOTE_ADDS || amount > UINT32_MAX)
        note->good = false;
    else
        note->adds[note->n_adds++] = (struct hp_phrase_add){to, index, (uint32_t)amount};
}

void hp_exact_note_push(struct hp_exact_thread *t)
{
    struct hp_note *note = t->loops->note;
    append(t, HP_NOTE_PUSH, NULL);
    note->highest = t->n_frames > note->highest ? t->n_frames : note->highest;
}

void hp_exact_note_pop(struct hp_exact_thread *t, uint64_t spent)
{
    struct hp_exact_loop_thread *l = t->loops;
    struct hp_note *note = l->note;
    uint32_t context = t->frames[t->n_frames].context, site = l->frames[t->n_frames].site;
    note->good &= !hp_context_is_rest(&t->contexts[context]);
    if (t->n_frames < note->lowest) {
        note->lowest = t->n_frames;
        append(t, HP_NOTE_POP, NULL);
        return;
    }
    append(t, HP_NOTE_LEAVE, NULL);
    hp_exact_note_add(t, HP_ADDS_CONTEXT, context, spent);
    if (site == HP_NO_ID)
        return;
    hp_exact_note_add(t, HP_ADDS_SITE, site, spent);
    if (l->cover)
        hp_exact_note_add(t, HP_ADDS_COVERED_CALL,
                          hp_map64_get(&l->covered_calls.of, (uint64_t)l->cover << 32 | site),
                          spent);
}

void hp_exact_note_events(struct hp_exact_thread *t, const struct hp_leg_event *events, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        append(t, HP_NOTE_EVENT, &events[i]);
}

void hp_exact_note_bad(struct hp_exact_thread *t)
{
    t->loops->note->good = false;
}

/* It is, or is not, each time, unless that depends on what came before. */
void hp_exact_note_stub(struct hp_exact_thread *t, uint32_t insns)
{
    struct hp_note *note = t->loops->note;
    note->good &= t->n_frames > note->lowest || t->clock - note->clock > insns;
}

/* --- Concluding ------------------------------------------------------------------------------- */

#define FRAMES (HP_NOTE_ENTRIES + 1)
#define EVENTS 64 /* of a stage */

struct scan {
    struct hp_note *note;
    uint32_t ids[FRAMES]; /* by depth above the stage's frame: unique; [0]: that one's, 0 */
    uint32_t depth, last_id;
    struct hp_leg_event events[EVENTS]; /* of the stage */
    uint32_t of[EVENTS];                /* in which frame */
    uint32_t n_events;
};

/* Finds out which of the pushed frames are gone. */
static void match(struct hp_note *note)
{
    uint32_t open[HP_NOTE_ENTRIES], n = 0;
    for (uint32_t i = 0; i < note->n; i++) {
        if (note->entries[i].kind == HP_NOTE_PUSH)
            open[n++] = i;
        else if (note->entries[i].kind == HP_NOTE_LEAVE)
            note->entries[open[--n]].kind = HP_NOTE_ENTER;
    }
}

static bool is_there(const struct scan *s, uint32_t id)
{
    for (uint32_t i = 0; i <= s->depth; i++)
        if (s->ids[i] == id)
            return true;
    return false;
}

/* In two frames, the same loop is run one after the other: not in recursion. */
static void add_event(struct scan *s, uint32_t frame, const struct hp_leg_event *event)
{
    uint32_t i = s->n_events;
    while (i > 0 && s->events[i - 1].loop != event->loop)
        i--;
    if (i > 0 && s->of[i - 1] == frame && event->kind == HP_LEG_GOES_ON) {
        s->note->good &= (uint32_t)s->events[i - 1].n + event->n <= UINT16_MAX;
        s->events[i - 1].n = (uint16_t)(s->events[i - 1].n + event->n);
        return;
    }
    if (i > 0 && s->of[i - 1] != frame && (frame == 0 || is_there(s, s->of[i - 1])))
        s->note->good = false;
    if (s->n_events == EVENTS || (frame && event->kind == HP_LEG_GOES_ON)) {
        s->note->good = false;
        return;
    }
    s->of[s->n_events] = frame;
    s->events[s->n_events] = *event;
    if (frame)
        s->events[s->n_events].kind = HP_LEG_GONE;
    s->n_events++;
}

static void end_stage(struct scan *s, uint32_t then, uint32_t insns)
{
    struct hp_note *note = s->note;
    struct hp_phrase_stage stage = {.then = then, .insns = insns, .n_events = s->n_events};
    size_t need = (sizeof stage + s->n_events * sizeof *s->events) / sizeof *note->words;
    note->good &= s->depth == 0 && note->n_words + need <= HP_NOTE_WORDS;
    if (!note->good)
        return;
    memcpy(note->words + note->n_words, &stage, sizeof stage);
    memcpy(note->words + note->n_words + sizeof stage / sizeof *note->words, s->events,
           s->n_events * sizeof *s->events);
    note->n_words += need;
    s->n_events = 0;
}

bool hp_note_conclude(struct hp_note *note, struct hp_exact_thread *t)
{
    struct scan s;
    size_t top = note->lowest;
    s.note = note;
    s.depth = s.last_id = s.n_events = s.ids[0] = 0;
    if (!note->good || t->n_active || (top && !t->loops->frames[top - 1].node) ||
        !hp_exact_phrases_node(t))
        return false;
    match(note);
    for (uint32_t i = 0; i < note->n && note->good; i++) {
        const struct hp_note_entry *entry = &note->entries[i];
        switch (entry->kind) {
        case HP_NOTE_PUSH: end_stage(&s, t->loops->frames[top++].node, entry->insns); break;
        case HP_NOTE_POP: end_stage(&s, HP_PHRASE_POPS, entry->insns); break;
        case HP_NOTE_ENTER: s.ids[++s.depth] = ++s.last_id; break;
        case HP_NOTE_LEAVE: s.depth--; break;
        default:
            add_event(&s, entry->event.kind == HP_LEG_GONE ? ++s.last_id : s.ids[s.depth],
                      &entry->event);
        }
    }
    end_stage(&s, HP_PHRASE_ENDS, (uint32_t)(t->clock - note->clock));
    return note->good;
}
