// SPDX-License-Identifier: MIT
/*
 * From counters by static id to rows of the profile. Several ids may be one row: the same
 * instruction in overlapping blocks.
 */
#include "profile/agreement.h"
#include "profiler/cycles/profiler_impl.h"
#include "profiler/insns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PART_MAX 300

struct out {
    struct hp_cycles *cycles;
    struct hp_result *result;
    struct hp_profile *profile;
    char part[PART_MAX]; /* of the stats */
    uint32_t n_ids;
    uint32_t *row_of;              /* by id; HP_PROFILE_NONE: never measured, or in no module */
    size_t n_rows;                 /* of the profile, when complete */
    struct hp_insn_tally *tallies; /* by row, these two */
    struct hp_cycles_row *rows;
    double *weights[HP_ATTRIBUTIONS]; /* by row; exact: parts of cycles */
    struct hp_insn_tally total;
    uint64_t causes[HP_CAUSES];
    const char *names[HP_ATTRIBUTIONS]; /* the profile's */
};

static void out_fini(struct out *out)
{
    free(out->row_of);
    free(out->tallies);
    free(out->rows);
    for (int i = 0; i < HP_ATTRIBUTIONS; i++)
        free(out->weights[i]);
}

/* --- By row ----------------------------------------------------------------------------------- */

static enum hp_err find_rows(struct out *out)
{
    struct hp_cycles *c = out->cycles;
    /* There are counters only for instructions that occurred; all later ones are zero. */
    out->n_ids = hp_program_n_insns(c->program);
    if (c->cap_tallies < out->n_ids)
        out->n_ids = (uint32_t)c->cap_tallies;
    out->row_of = calloc((size_t)out->n_ids + 1, sizeof *out->row_of);
    if (!out->row_of)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < out->n_ids; i++) {
        out->row_of[i] = HP_PROFILE_NONE;
        if (c->tallies[i].fetched)
            HP_TRY(hp_result_insn(out->result, c->program, i, &out->row_of[i]));
    }
    return HP_OK;
}

static void add_id(struct out *out, uint32_t id)
{
    const struct hp_cycles_row *from = &out->cycles->rows[id];
    uint32_t row = out->row_of[id];
    hp_insn_tally_merge(&out->total, &out->cycles->tallies[id]);
    for (int i = 0; i < HP_CAUSES; i++)
        out->causes[i] += from->parts[i];
    if (row == HP_PROFILE_NONE)
        return;
    hp_insn_tally_merge(&out->tallies[row], &out->cycles->tallies[id]);
    for (int i = 0; i < HP_CAUSES; i++) {
        out->rows[row].parts[i] += from->parts[i];
        out->weights[HP_ATTRIBUTE_EXACT][row] += (double)from->parts[i];
    }
    for (int i = HP_ATTRIBUTE_EXACT + 1; i < HP_ATTRIBUTIONS; i++)
        out->weights[i][row] += (double)from->weights[i];
}

static enum hp_err collect(struct out *out)
{
    HP_TRY(find_rows(out));
    out->n_rows = out->profile->n_insns;
    out->tallies = calloc(out->n_rows + 1, sizeof *out->tallies);
    out->rows = calloc(out->n_rows + 1, sizeof *out->rows);
    if (!out->tallies || !out->rows)
        return hp_fail_nomem();
    for (int i = 0; i < HP_ATTRIBUTIONS; i++)
        if (!(out->weights[i] = calloc(out->n_rows + 1, sizeof *out->weights[i])))
            return hp_fail_nomem();
    for (uint32_t i = 0; i < out->n_ids; i++)
        add_id(out, i);
    return HP_OK;
}

/* --- Rows of the profile ---------------------------------------------------------------------- */

static enum hp_err add_insn(struct out *out, uint32_t row)
{
    struct hp_pinsn_tally *tally;
    HP_TRY(hp_profile_add_insn_tally(out->profile, &tally));
    tally->seen = out->names[HP_ATTRIBUTE_EXACT];
    tally->insn = row;
    tally->tally = out->tallies[row];
    for (int i = 0; i < HP_CAUSES; i++) {
        struct hp_pinsn_cycles *cycles;
        if (!out->rows[row].parts[i])
            continue;
        HP_TRY(hp_profile_add_insn_cycles(out->profile, &cycles));
        *cycles = (struct hp_pinsn_cycles){
            .insn = row, .cause = (uint8_t)i, .parts = out->rows[row].parts[i]};
    }
    for (int i = HP_ATTRIBUTE_EXACT + 1; i < HP_ATTRIBUTIONS; i++) {
        struct hp_pattribution *way;
        if (out->weights[i][row] == 0)
            continue;
        HP_TRY(hp_profile_add_attribution(out->profile, &way));
        way->scheme = out->names[i];
        way->insn = row;
        way->weight = (uint64_t)out->weights[i][row];
    }
    return HP_OK;
}

static enum hp_err add_insns(struct out *out)
{
    for (int i = 0; i < HP_ATTRIBUTIONS; i++) {
        const char *name = hp_attribution_name((enum hp_attribution)i);
        if (!(out->names[i] = hp_profile_string(out->profile, name)))
            return hp_fail_nomem();
    }
    for (uint32_t i = 0; i < out->n_rows; i++)
        if (out->tallies[i].fetched)
            HP_TRY(add_insn(out, i));
    return HP_OK;
}

static enum hp_err add_waits(struct out *out)
{
    const struct hp_waits *waits = &out->cycles->waits;
    for (size_t i = 0; i < waits->n; i++) {
        const struct hp_wait *wait = &waits->waits[i];
        uint32_t producer;
        struct hp_pwait *row;
        /* The producer need not have been measured itself. */
        HP_TRY(hp_result_insn(out->result, out->cycles->program, wait->producer, &producer));
        if (out->row_of[wait->insn] == HP_PROFILE_NONE || producer == HP_PROFILE_NONE)
            continue;
        HP_TRY(hp_profile_add_wait(out->profile, &row));
        *row = (struct hp_pwait){.insn = out->row_of[wait->insn],
                                 .producer = producer,
                                 .count = wait->count,
                                 .cycles = wait->cycles};
    }
    return HP_OK;
}

/* If everything was measured there are no windows. */
static enum hp_err add_windows(struct out *out, const struct hp_cycles_thread *thread)
{
    const struct hp_attributor *a = &thread->attributor;
    uint32_t index;
    if (!a->unmeasured)
        return HP_OK;
    HP_TRY(hp_result_thread(out->result, &thread->info, &index));
    for (size_t i = 0; i < a->n_windows; i++) {
        struct hp_pwindow *window;
        HP_TRY(hp_profile_add_window(out->profile, &window));
        *window = (struct hp_pwindow){.thread = index,
                                      .instructions = a->windows[i].instructions,
                                      .cycles = hp_cycles_of(a->windows[i].parts)};
    }
    return HP_OK;
}

/* --- Stats ------------------------------------------------------------------------------------ */

static enum hp_err add_count(struct out *out, const char *name, uint64_t value)
{
    return hp_profile_add_stat(out->profile, out->part, name, HP_STAT_COUNT, value);
}

static enum hp_err add_totals(struct out *out)
{
    uint64_t parts = 0;
    char name[64];
    for (int i = 0; i < HP_CAUSES; i++)
        parts += out->causes[i];
    HP_TRY(add_count(out, "cycles", hp_cycles_of(parts)));
    HP_TRY(add_count(out, "instructions", out->total.retired));
    HP_TRY(add_count(out, "fetched", out->total.fetched));
    HP_TRY(add_count(out, "wrong_path", out->total.wrong_path));
    HP_TRY(add_count(out, "trapped", out->total.trapped));
    for (int i = 0; i < HP_CAUSES; i++) {
        snprintf(name, sizeof name, "cycles.%s", hp_cause_name((enum hp_cause)i));
        HP_TRY(add_count(out, name, hp_cycles_of(out->causes[i])));
    }
    return HP_OK;
}

/* How far the methods agree with the exact attribution. As an agreement, not an error, because
 * merged profiles keep the smaller share. */
static enum hp_err add_overlaps(struct out *out, enum hp_agreement_by by, uint32_t *groups)
{
    uint32_t n_groups;
    char name[64];
    HP_TRY(hp_agreement_groups(out->profile, by, groups, &n_groups));
    for (int i = HP_ATTRIBUTE_EXACT + 1; i < HP_ATTRIBUTIONS; i++) {
        double overlap;
        HP_TRY(hp_agreement_of(groups, n_groups, out->weights[HP_ATTRIBUTE_EXACT], out->weights[i],
                               out->n_rows, &overlap));
        snprintf(name, sizeof name, "%s.%s_overlap", hp_attribution_name((enum hp_attribution)i),
                 hp_agreement_by_name(by));
        HP_TRY(hp_profile_add_stat(out->profile, out->part, name, HP_STAT_SHARE,
                                   (uint64_t)llround(overlap * 100000)));
    }
    return HP_OK;
}

static enum hp_err add_stats(struct out *out)
{
    uint32_t *groups = calloc(out->profile->n_insns + 1, sizeof *groups);
    enum hp_err err = groups ? add_totals(out) : hp_fail_nomem();
    for (int by = 0; err == HP_OK && by < HP_AGREEMENTS; by++)
        err = add_overlaps(out, (enum hp_agreement_by)by, groups);
    free(groups);
    return err;
}

/* --- All of it -------------------------------------------------------------------------------- */

static enum hp_err add_all(struct out *out)
{
    HP_TRY(collect(out));
    HP_TRY(add_insns(out));
    HP_TRY(add_stats(out));
    HP_TRY(add_waits(out)); /* may add instructions */
    for (size_t i = 0; i < out->cycles->n_threads; i++)
        HP_TRY(add_windows(out, out->cycles->threads[i]));
    return HP_OK;
}

enum hp_err hp_cycles_finish(struct hp_profiler *profiler, struct hp_result *result)
{
    struct hp_cycles *c = (struct hp_cycles *)profiler;
    struct out out = {.cycles = c, .result = result, .profile = hp_result_profile(result)};
    if (c->out_of_memory)
        return hp_fail_nomem();
    snprintf(out.part, sizeof out.part, "cycles %s",
             hp_machine_name(hp_program_machine(c->program)));
    for (size_t i = 0; i < c->n_threads; i++)
        hp_attributor_end(&c->threads[i]->attributor, c->rows);
    enum hp_err err = add_all(&out);
    out_fini(&out);
    return err;
}
