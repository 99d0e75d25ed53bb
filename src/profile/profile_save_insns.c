// SPDX-License-Identifier: MIT
/*
 * Saving instructions, samplers and windows.
 */
#include "profile/profile_store.h"

static void put_insns(struct hp_store *w, const struct hp_profile *p)
{
    hp_store_begin(w, "insn", 12, p->n_insns);
    for (size_t i = 0; i < p->n_insns && w->err == HP_OK; i++) {
        const struct hp_pinsn *insn = &p->insns[i];
        hp_store_i64(w, (int64_t)i);
        hp_store_place(w, insn->place);
        hp_store_i64(w, insn->version);
        hp_store_index(w, insn->function);
        hp_store_i64(w, insn->length);
        hp_store_i64(w, insn->flow);
        hp_store_i64(w, insn->op);
        hp_store_string(w, insn->text);
        hp_store_string(w, insn->file);
        hp_store_i64(w, insn->line);
        hp_store_string(w, insn->inlined);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_numbers(struct hp_store *w, const uint64_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hp_store_u64(w, numbers[i]);
}

static void put_tallies(struct hp_store *w, const struct hp_profile *p)
{
    hp_store_begin(w, "insn_tally", 10 + HP_INSN_EVENTS + 2 * HP_STAGES, p->n_insn_tallies);
    for (size_t i = 0; i < p->n_insn_tallies && w->err == HP_OK; i++) {
        const struct hp_pinsn_tally *row = &p->insn_tallies[i];
        hp_store_string(w, row->seen);
        hp_store_i64(w, row->insn);
        hp_store_u64(w, row->tally.fetched);
        hp_store_u64(w, row->tally.retired);
        hp_store_u64(w, row->tally.wrong_path);
        hp_store_u64(w, row->tally.trapped);
        put_numbers(w, row->tally.events, HP_INSN_EVENTS);
        put_numbers(w, row->tally.stages, HP_STAGES);
        put_numbers(w, row->tally.stage_squares, HP_STAGES);
        hp_store_u64(w, row->pairs);
        hp_store_u64(w, row->progress);
        hp_store_u64(w, row->useful);
        hp_store_u64(w, row->near);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_cycles(struct hp_store *w, const struct hp_profile *p)
{
    hp_store_begin(w, "insn_cycles", 3, p->n_insn_cycles);
    for (size_t i = 0; i < p->n_insn_cycles && w->err == HP_OK; i++) {
        hp_store_i64(w, p->insn_cycles[i].insn);
        hp_store_i64(w, p->insn_cycles[i].cause);
        hp_store_u64(w, p->insn_cycles[i].parts);
        hp_store_next(w);
    }
    hp_store_end(w);

    hp_store_begin(w, "attribution", 3, p->n_attributions);
    for (size_t i = 0; i < p->n_attributions && w->err == HP_OK; i++) {
        hp_store_string(w, p->attributions[i].scheme);
        hp_store_i64(w, p->attributions[i].insn);
        hp_store_u64(w, p->attributions[i].weight);
        hp_store_next(w);
    }
    hp_store_end(w);

    hp_store_begin(w, "insn_wait", 4, p->n_waits);
    for (size_t i = 0; i < p->n_waits && w->err == HP_OK; i++) {
        hp_store_i64(w, p->waits[i].insn);
        hp_store_i64(w, p->waits[i].producer);
        hp_store_u64(w, p->waits[i].count);
        hp_store_u64(w, p->waits[i].cycles);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_samplers(struct hp_store *w, const struct hp_profile *p)
{
    hp_store_begin(w, "sampler", 12, p->n_samplers);
    for (size_t i = 0; i < p->n_samplers && w->err == HP_OK; i++) {
        const struct hp_psampler *sampler = &p->samplers[i];
        hp_store_i64(w, (int64_t)i);
        hp_store_text(w, sampler->name);
        hp_store_u64(w, sampler->interval);
        hp_store_u64(w, sampler->window);
        hp_store_u64(w, sampler->width);
        hp_store_u64(w, sampler->near);
        hp_store_u64(w, sampler->samples);
        hp_store_u64(w, sampler->empty);
        hp_store_u64(w, sampler->lost);
        hp_store_u64(w, sampler->interrupts);
        hp_store_u64(w, sampler->cost);
        hp_store_u64(w, sampler->scale);
        hp_store_next(w);
    }
    hp_store_end(w);

    hp_store_begin(w, "cycle_window", 4, p->n_windows);
    for (size_t i = 0; i < p->n_windows && w->err == HP_OK; i++) {
        hp_store_i64(w, p->windows[i].thread);
        hp_store_u64(w, p->windows[i].at);
        hp_store_u64(w, p->windows[i].instructions);
        hp_store_u64(w, p->windows[i].cycles);
        hp_store_next(w);
    }
    hp_store_end(w);
}

void hp_store_insns(struct hp_store *w, const struct hp_profile *p)
{
    put_insns(w, p);
    put_tallies(w, p);
    put_cycles(w, p);
    put_samplers(w, p);
}
