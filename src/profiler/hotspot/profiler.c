// SPDX-License-Identifier: MIT
#include "profiler/hotspot/profiler_impl.h"

#include "base/grow.h"
#include "profiler/path/plan.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_WIDTH (1u << 18) /* instructions of a slice, at first */

/* --- The plan --------------------------------------------------------------------------------- */

static void plan_block(struct hp_spots *spots, uint32_t id)
{
    const struct hp_block *block = hp_code_block(spots->code, id);
    const struct hp_hotspot_config *config = &spots->config;
    uint32_t sets = config->entries / config->ways;
    spots->plan[id] = (struct hp_spots_block){
        .start = block->start,
        .last = block->last,
        .fall = hp_path_falls(spots->code, block) ? block->end : HP_SPOTS_NOWHERE,
        .place = (uint32_t)((block->last >> config->shift) & (sets - 1)) * config->ways,
        .flow = block->flow,
        .profiled = hp_hotspots_profiles(config, block->flow),
        .computed = block->flow == HP_FLOW_JUMP_IND || block->flow == HP_FLOW_CALL_IND ||
                    block->flow == HP_FLOW_RETURN};
}

static enum hp_err grow_plan(struct hp_spots *spots, size_t n)
{
    HP_TRY(hp_grow(&spots->plan, &spots->cap_plan, n, sizeof *spots->plan));
    HP_TRY(hp_grow(&spots->numbers, &spots->cap_numbers, n, sizeof *spots->numbers));
    for (; spots->n_plan < n; spots->n_plan++)
        plan_block(spots, (uint32_t)spots->n_plan);
    return HP_OK;
}

static enum hp_err grow_lists(struct hp_spots *spots, size_t n)
{
    HP_TRY(hp_grow(&spots->lists, &spots->cap_lists, n, sizeof *spots->lists));
    for (; spots->n_lists < n; spots->n_lists++) {
        uint32_t n_blocks;
        const uint32_t *blocks = hp_code_unit(spots->code, (uint32_t)spots->n_lists, &n_blocks);
        spots->lists[spots->n_lists].start = spots->plan[*blocks].start;
    }
    return HP_OK;
}

static __attribute__((noinline)) enum hp_err grow_tables(struct hp_spots_process *p)
{
    size_t n_units = hp_code_n_units(p->spots->code), n_blocks = hp_code_n_blocks(p->spots->code);
    HP_TRY(grow_plan(p->spots, n_blocks));
    HP_TRY(grow_lists(p->spots, n_units));
    HP_TRY(hp_grow(&p->units, &p->cap_units, n_units, sizeof *p->units));
    HP_TRY(hp_grow(&p->active, &p->cap_active, n_units + 1, sizeof *p->active));
    HP_TRY(hp_grow(&p->counts, &p->cap_counts, n_blocks, sizeof *p->counts));
    p->n_units = n_units;
    p->n_counts = n_blocks;
    return HP_OK;
}

/* Makes the tables cover the code map; false: out of memory, now or before. */
static bool cover_code(struct hp_spots_process *p)
{
    struct hp_spots *spots = p->spots;
    bool covered =
        p->n_units >= hp_code_n_units(spots->code) && p->n_counts >= hp_code_n_blocks(spots->code);
    if (!covered && grow_tables(p) != HP_OK)
        spots->out_of_memory = true;
    return !spots->out_of_memory;
}

/* --- Processes -------------------------------------------------------------------------------- */

static void add_stats(struct hp_hotspot_stats *sum, const struct hp_hotspot_stats *s)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)s;
    for (size_t i = 0; i < sizeof *s / sizeof *to; i++)
        to[i] += from[i];
}

static void free_process(struct hp_spots_process *p)
{
    if (!p->spots->detector)
        hp_hotspots_free(p->detector);
    free(p->units);
    free(p->active);
    free(p->counts);
    free(p->hot);
    hp_spot_pairs_fini(&p->pairs);
    hp_map64_fini(&p->candidates);
    free(p);
}

static enum hp_err new_process(struct hp_spots *spots, int32_t pid,
                               struct hp_spots_process **process)
{
    HP_TRY(hp_grow(&spots->processes, &spots->cap_processes, spots->n_processes + 1,
                   sizeof *spots->processes));
    struct hp_spots_process *p = calloc(1, sizeof *p);
    if (!p)
        return hp_fail_nomem();
    p->spots = spots;
    p->pid = pid;
    p->number = spots->next_number++;
    p->detector = spots->detector;
    enum hp_err err = HP_OK;
    if (!p->detector)
        err = hp_hotspots_new(&spots->config, hp_spots_on_detection, spots, &p->detector);
    if (err != HP_OK) {
        free_process(p);
        return err;
    }
    spots->processes[spots->n_processes++] = p;
    *process = p;
    return HP_OK;
}

/* The process of a thread: created with its first one. */
static enum hp_err find_process(struct hp_spots *spots, int32_t pid,
                                struct hp_spots_process **process)
{
    for (size_t i = 0; i < spots->n_processes && spots->detector; i++)
        if (spots->processes[i]->pid == pid) {
            *process = spots->processes[i];
            return HP_OK;
        }
    return new_process(spots, pid, process);
}

static void end_process(struct hp_spots_process *p)
{
    struct hp_spots *spots = p->spots;
    size_t i = 0;
    hp_spots_settle(spots);
    if (cover_code(p))
        hp_spots_seal(p);
    while (spots->processes[i] != p)
        i++;
    spots->n_processes--;
    memmove(&spots->processes[i], &spots->processes[i + 1],
            (spots->n_processes - i) * sizeof *spots->processes);
    hp_spots_give_back(spots, p->state && p->detector->owner == p->state);
    hp_hotspots_end(p->detector, p->number);
    if (!spots->detector) {
        spots->out_of_memory = spots->out_of_memory || hp_hotspots_check(p->detector) != HP_OK;
        add_stats(&spots->stats, hp_hotspots_stats(p->detector));
    }
    free_process(p);
}

void hp_spots_end_all(struct hp_spots *spots)
{
    while (spots->n_processes)
        end_process(spots->processes[0]);
    for (size_t i = 0; i < spots->n_threads; i++)
        spots->threads[i]->process = NULL;
}

/* --- The profiler ----------------------------------------------------------------------------- */

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    struct hp_spots *spots = (struct hp_spots *)profiler;
    HP_TRY(hp_grow(&spots->threads, &spots->cap_threads, spots->n_threads + 1,
                   sizeof *spots->threads));
    struct hp_spots_thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return hp_fail_nomem();
    spots->threads[spots->n_threads++] = thread;
    thread->spots = spots;
    thread->info = *info;
    HP_TRY(find_process(spots, info->pid, &thread->process));
    thread->process->live++;
    *state = thread;
    return HP_OK;
}

/* Resumes the thread; false: it cannot. */
static bool go_on(struct hp_spots_thread *t)
{
    struct hp_spots_process *p = t->process;
    if (!p || !cover_code(p))
        return false;
    p->thread = t;
    return true;
}

static void take_steps(void *state, const struct hp_steps *steps)
{
    struct hp_spots_thread *t = state;
    if (!go_on(t))
        return;
    uint64_t before = t->spots->clock;
    hp_spots_run(t->process, steps);
    t->instructions += t->spots->clock - before;
}

static void take_batch(void *state, const struct hp_batch *batch)
{
    struct hp_spots_thread *t = state;
    struct hp_step *buffer = t->spots->buffer;
    for (size_t i = 0; i <= batch->n; i++)
        buffer[i] =
            (struct hp_step){.unit = hp_code_unit_of_block(t->spots->code, batch->blocks[i]),
                             .first = batch->blocks[i]};
    take_steps(state, &(struct hp_steps){.code = t->spots->code, .steps = buffer, .n = batch->n});
}

/* It counts in full, as in an exact profile. Its branch was not retired, or its outcome is
 * unknown. */
static void take_tail(struct hp_spots_thread *t, uint32_t block)
{
    struct hp_spots *spots = t->spots;
    if (!go_on(t))
        return;
    if (spots->clock >= spots->slice_end)
        hp_spots_end_slice(spots);
    uint32_t insns = hp_code_block(spots->code, block)->insns;
    t->process->counts[block]++;
    spots->clock += insns;
    t->instructions += insns;
    t->blocks++;
}

static void take_event(void *state, const struct hp_event *event)
{
    struct hp_spots_thread *t = state;
    hp_spots_settle(t->spots);
    if (event->kind == HP_EVENT_TAIL)
        take_tail(t, event->block);
    if (event->kind != HP_EVENT_END || !t->process)
        return;
    if (--t->process->live == 0)
        end_process(t->process);
    t->process = NULL;
}

static void spots_free(struct hp_profiler *profiler)
{
    struct hp_spots *spots = (struct hp_spots *)profiler;
    for (size_t i = 0; i < spots->n_processes; i++)
        free_process(spots->processes[i]);
    free(spots->processes);
    for (size_t i = 0; i < spots->n_threads; i++)
        free(spots->threads[i]);
    free(spots->threads);
    for (size_t i = 0; i < spots->n_found; i++)
        hp_spots_found_free(spots->found[i]);
    free(spots->found);
    hp_hotspots_free(spots->detector);
    free(spots->plan);
    free(spots->lists);
    free(spots->ops);
    free(spots->hits);
    free(spots->uses);
    free(spots->numbers);
    free(spots->ahead.parts);
    free(spots->ahead.kept);
    free(spots->ahead.recent);
    free(spots->ahead.steps);
    hp_spot_windows_fini(&spots->windows);
    hp_spot_counts_fini(&spots->numbered);
    hp_map64_fini(&spots->first_by_start);
    hp_map64_fini(&spots->first_by_last);
    free(spots->next_by_start);
    free(spots->next_by_last);
    free(spots->ran);
    free(spots->hot);
    free(spots->buffer);
    free(spots);
}

static const struct hp_profiler_ops spots_ops = {
    .name = "hotspots",
    .independent = true,
    .start_thread = start_thread,
    .batch = take_batch,
    .steps = take_steps,
    .event = take_event,
    .finish = hp_spots_finish,
    .free = spots_free,
};

/* The minimum distance between instruction addresses, as a shift. */
static uint32_t shift_of(enum hp_arch arch)
{
    switch (arch) {
    case HP_ARCH_AARCH64:
    case HP_ARCH_ALPHA: return 2;
    case HP_ARCH_ARM: /* Thumb */
    case HP_ARCH_RISCV64: return 1;
    default: return 0;
    }
}

enum hp_err hp_hotspot_profiler_new(struct hp_code *code, struct hp_functions *functions,
                                    const struct hp_hotspot_config *config,
                                    struct hp_profiler **profiler)
{
    (void)functions; /* the result has them */
    HP_TRY(hp_hotspot_config_check(config));
    struct hp_spots *spots = calloc(1, sizeof *spots);
    if (!spots)
        return hp_fail_nomem();
    spots->base.ops = &spots_ops;
    spots->code = code;
    spots->config = spots->asked = *config;
    if (config->shift == HP_HOTSPOT_SHIFT_ARCH)
        spots->config.shift = shift_of(hp_code_arch(code));
    spots->width = spots->slice_end = FIRST_WIDTH;
    spots->buffer = calloc(HP_BATCH_MAX + 1, sizeof *spots->buffer);
    enum hp_err err = spots->buffer ? HP_OK : hp_fail_nomem();
    if (err == HP_OK && !config->per_thread)
        err = hp_hotspots_new(&spots->config, hp_spots_on_detection, spots, &spots->detector);
    if (err != HP_OK) {
        spots_free(&spots->base);
        return err;
    }
    *profiler = &spots->base;
    return HP_OK;
}

void hp_hotspot_profiler_tell(struct hp_profiler *profiler, hp_hotspot_found found, void *context)
{
    struct hp_spots *spots = (struct hp_spots *)profiler;
    spots->tell = found;
    spots->tell_context = context;
}

const struct hp_hotspot_stats *hp_hotspot_profiler_stats(const struct hp_profiler *profiler)
{
    struct hp_spots *spots = (struct hp_spots *)profiler;
    spots->all = spots->stats;
    if (spots->detector)
        spots->all = *hp_hotspots_stats(spots->detector);
    return &spots->all;
}
