// SPDX-License-Identifier: MIT
/*
 * Loading instructions, samplers and windows. The tables may not be there.
 */
#include "profile/profile_loader.h"

static void load_insns(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_pinsn *insn;
    if (!hp_reader_has(r, "insn"))
        return;
    hp_reader_begin(r, "insn");
    while (hp_reader_next(r) && (r->err = hp_profile_add_insn(l->profile, &insn)) == HP_OK) {
        hp_reader_id(r);
        insn->place = hp_reader_place(r);
        insn->version = hp_reader_u32(r);
        insn->function = hp_reader_index(r);
        insn->length = hp_reader_u32(r);
        insn->flow = (uint8_t)hp_reader_i64(r, 0, HP_FLOW_COUNT_ - 1);
        insn->op = (uint8_t)hp_reader_i64(r, 0, HP_OP_COUNT_ - 1);
        insn->text = hp_loader_string(l);
        insn->file = hp_loader_string(l);
        insn->line = hp_reader_u32(r);
        insn->inlined = hp_loader_string(l);
    }
    hp_reader_end(r);
}

static void read_numbers(struct hp_reader *r, uint64_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        numbers[i] = hp_reader_u64(r);
}

static void load_tallies(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_pinsn_tally *row;
    if (!hp_reader_has(r, "insn_tally"))
        return;
    hp_reader_begin(r, "insn_tally");
    while (hp_reader_next(r) && (r->err = hp_profile_add_insn_tally(l->profile, &row)) == HP_OK) {
        row->seen = hp_loader_string(l);
        row->insn = hp_reader_u32(r);
        row->tally.fetched = hp_reader_u64(r);
        row->tally.retired = hp_reader_u64(r);
        row->tally.wrong_path = hp_reader_u64(r);
        row->tally.trapped = hp_reader_u64(r);
        read_numbers(r, row->tally.events, HP_INSN_EVENTS);
        read_numbers(r, row->tally.stages, HP_STAGES);
        read_numbers(r, row->tally.stage_squares, HP_STAGES);
        row->pairs = hp_reader_u64(r);
        row->progress = hp_reader_u64(r);
        row->useful = hp_reader_u64(r);
        row->near = hp_reader_u64(r);
    }
    hp_reader_end(r);
}

static void load_cycles(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_pinsn_cycles *cycles;
    if (!hp_reader_has(r, "insn_cycles"))
        return;
    hp_reader_begin(r, "insn_cycles");
    while (hp_reader_next(r) &&
           (r->err = hp_profile_add_insn_cycles(l->profile, &cycles)) == HP_OK) {
        cycles->insn = hp_reader_u32(r);
        cycles->cause = (uint8_t)hp_reader_i64(r, 0, UINT8_MAX);
        cycles->parts = hp_reader_u64(r);
    }
    hp_reader_end(r);
}

static void load_attributions(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_pattribution *attribution;
    if (!hp_reader_has(r, "attribution"))
        return;
    hp_reader_begin(r, "attribution");
    while (hp_reader_next(r) &&
           (r->err = hp_profile_add_attribution(l->profile, &attribution)) == HP_OK) {
        attribution->scheme = hp_loader_string(l);
        attribution->insn = hp_reader_u32(r);
        attribution->weight = hp_reader_u64(r);
    }
    hp_reader_end(r);
}

static void load_waits(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_pwait *wait;
    if (!hp_reader_has(r, "insn_wait"))
        return;
    hp_reader_begin(r, "insn_wait");
    while (hp_reader_next(r) && (r->err = hp_profile_add_wait(l->profile, &wait)) == HP_OK) {
        wait->insn = hp_reader_u32(r);
        wait->producer = hp_reader_u32(r);
        wait->count = hp_reader_u64(r);
        wait->cycles = hp_reader_u64(r);
    }
    hp_reader_end(r);
}

static void load_samplers(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_psampler *sampler;
    if (!hp_reader_has(r, "sampler"))
        return;
    hp_reader_begin(r, "sampler");
    while (hp_reader_next(r) && (r->err = hp_profile_add_sampler(l->profile, &sampler)) == HP_OK) {
        hp_reader_id(r);
        sampler->name = hp_loader_text(l);
        sampler->interval = hp_reader_u64(r);
        sampler->window = hp_reader_u64(r);
        sampler->width = hp_reader_u64(r);
        sampler->near = hp_reader_u64(r);
        sampler->samples = hp_reader_u64(r);
        sampler->empty = hp_reader_u64(r);
        sampler->lost = hp_reader_u64(r);
        sampler->interrupts = hp_reader_u64(r);
        sampler->cost = hp_reader_u64(r);
        sampler->scale = hp_reader_u64(r);
    }
    hp_reader_end(r);
}

static void load_windows(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_pwindow *window;
    if (!hp_reader_has(r, "cycle_window"))
        return;
    hp_reader_begin(r, "cycle_window");
    while (hp_reader_next(r) && (r->err = hp_profile_add_window(l->profile, &window)) == HP_OK) {
        window->thread = hp_reader_u32(r);
        window->at = hp_reader_u64(r);
        window->instructions = hp_reader_u64(r);
        window->cycles = hp_reader_u64(r);
    }
    hp_reader_end(r);
}

void hp_loader_insns(struct hp_loader *l)
{
    load_insns(l);
    load_tallies(l);
    load_cycles(l);
    load_attributions(l);
    load_waits(l);
    load_samplers(l);
    load_windows(l);
}
