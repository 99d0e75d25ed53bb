// SPDX-License-Identifier: MIT
#include "import/pt/pt.h"

#include "base/base.h"
#include "import/pt/flow.h"

/* A buffer. */
struct queue {
    struct hp_pt_flow flow;
    uint64_t *losses; /* offsets */
    size_t n_losses, cap_losses;
    int32_t tid, cpu;
    const struct hp_aux_piece *pieces;
    size_t n_pieces;
    uint32_t slice; /* the first of its processor's; HP_NO_ID: none */
};

struct reading {
    const struct hp_pt_recording *recording;
    struct hp_pt_threads threads;
    struct queue *queues;
    size_t n_queues;
    struct hp_map64 queue_of; /* owner_key() -> which */
    struct hp_pt_clock clock;
    uint32_t *next_slice; /* of each slice: the next of the same processor */
};

bool hp_pt_is_in(struct hp_perf_reader *reader)
{
    const struct hp_aux *aux = hp_perf_aux(reader);
    return aux->type == HP_PERF_AUXTRACE_INTEL_PT && aux->n_pieces;
}

static void fini(struct reading *r)
{
    for (size_t i = 0; i < r->n_queues; i++) {
        hp_pt_packets_close(&r->queues[i].flow.packets);
        free(r->queues[i].losses);
    }
    free(r->queues);
    free(r->next_slice);
    hp_map64_fini(&r->queue_of);
    hp_pt_code_free(r->threads.code);
    hp_pt_threads_fini(&r->threads);
}

/* --- Buffers ---------------------------------------------------------------------------------- */

static uint64_t owner_key(int32_t tid, int32_t cpu)
{
    return cpu >= 0 ? UINT64_C(1) << 32 | (uint32_t)cpu : (uint32_t)tid;
}

static struct queue *queue_of(struct reading *r, int32_t tid, int32_t cpu)
{
    uint32_t i = hp_map64_get(&r->queue_of, owner_key(tid, cpu));
    return i == HP_MAP64_NONE ? NULL : &r->queues[i];
}

/* What the kernel lost of each buffer: a record says whose it is in both ways. */
static enum hp_err place_losses(struct reading *r)
{
    const struct hp_pt_sides *sides = r->recording->sides;
    for (size_t i = 0; i < sides->n_losses; i++) {
        const struct hp_pt_loss *loss = &sides->losses[i];
        struct queue *q = queue_of(r, loss->tid, -1) ?: queue_of(r, 0, loss->cpu);
        if (!q)
            continue;
        HP_TRY(hp_grow(&q->losses, &q->cap_losses, q->n_losses + 1, sizeof *q->losses));
        q->losses[q->n_losses++] = loss->offset;
    }
    return HP_OK;
}

static enum hp_err open_queue(struct reading *r, struct queue *q)
{
    q->flow.code = r->threads.code;
    q->flow.threads = &r->threads;
    return hp_pt_packets_open(r->recording->reader, q->pieces, q->n_pieces, q->losses, q->n_losses,
                              &r->clock, &q->flow.packets);
}

/* The event's configuration. */
static uint64_t config_of(const struct hp_pt_recording *recording, const struct hp_aux *aux)
{
    const struct hp_perf_attrs *attrs = hp_perf_attrs(recording->reader);
    for (size_t i = 0; i < attrs->n; i++)
        if (attrs->all[i].type == aux->info[HP_PERF_PT_PMU_TYPE])
            return attrs->all[i].config;
    return 0;
}

static enum hp_err add_queue(struct reading *r, const struct hp_aux_piece *pieces, size_t n)
{
    uint32_t i = (uint32_t)r->n_queues++;
    r->queues[i] = (struct queue){
        .tid = pieces->tid, .cpu = pieces->cpu, .pieces = pieces, .n_pieces = n, .slice = HP_NO_ID};
    return hp_map64_put(&r->queue_of, owner_key(pieces->tid, pieces->cpu), i);
}

static enum hp_err find_queues(struct reading *r)
{
    struct hp_aux *aux = hp_perf_aux(r->recording->reader);
    size_t n = 0;
    r->clock = hp_pt_clock_of(aux, config_of(r->recording, aux));
    hp_aux_settle(aux);
    for (size_t i = 0; i < aux->n_pieces; i++)
        n += i == 0 || aux->pieces[i].index != aux->pieces[i - 1].index;
    HP_TRY(hp_new(&r->queues, n, sizeof *r->queues));
    for (size_t i = 0, next; i < aux->n_pieces; i = next) {
        for (next = i + 1; next < aux->n_pieces; next++)
            if (aux->pieces[next].index != aux->pieces[i].index)
                break;
        HP_TRY(add_queue(r, &aux->pieces[i], next - i));
    }
    return place_losses(r);
}

/* --- In the order of time --------------------------------------------------------------------- */

/* The slices of each processor, one after the other. */
static enum hp_err link_slices(struct reading *r)
{
    const struct hp_pt_sides *sides = r->recording->sides;
    HP_TRY(hp_new(&r->next_slice, sides->n_slices, sizeof *r->next_slice));
    for (size_t i = sides->n_slices; i-- > 0;) {
        struct queue *q = queue_of(r, 0, (int32_t)sides->slices[i].cpu);
        r->next_slice[i] = HP_NO_ID;
        if (!q)
            continue;
        r->next_slice[i] = q->slice;
        q->slice = (uint32_t)i;
    }
    return HP_OK;
}

static void set_task(struct reading *r, struct queue *q, uint32_t task)
{
    q->flow.task = task;
    q->flow.thread = task == HP_NO_ID ? NULL : r->recording->sides->tasks[task].thread;
}

/* What a processor did during a slice. */
static enum hp_err run_slice(struct reading *r, uint32_t slice)
{
    const struct hp_pt_sides *sides = r->recording->sides;
    struct queue *q = queue_of(r, 0, (int32_t)sides->slices[slice].cpu);
    if (!q)
        return HP_OK;
    uint32_t next = r->next_slice[slice];
    set_task(r, q, sides->slices[slice].task);
    return hp_pt_flow_run(&q->flow, next == HP_NO_ID ? UINT64_MAX : sides->slices[next].time);
}

static enum hp_err run_cpus(struct reading *r)
{
    const struct hp_pt_sides *sides = r->recording->sides;
    HP_TRY(link_slices(r));
    for (size_t i = 0; i < r->n_queues; i++) { /* what is before the first is nobody's */
        struct queue *q = &r->queues[i];
        if (q->cpu < 0)
            continue;
        HP_TRY(open_queue(r, q));
        set_task(r, q, HP_NO_ID);
        HP_TRY(hp_pt_flow_run(&q->flow,
                              q->slice == HP_NO_ID ? UINT64_MAX : sides->slices[q->slice].time));
    }
    for (uint32_t i = 0; i < sides->n_slices; i++)
        HP_TRY(run_slice(r, i));
    return HP_OK;
}

/* One buffer after the other. */
static enum hp_err run_threads(struct reading *r)
{
    for (size_t i = 0; i < r->n_queues; i++) {
        struct queue *q = &r->queues[i];
        uint32_t task;
        if (q->cpu >= 0)
            continue;
        HP_TRY(hp_pt_sides_task(r->recording->sides, q->tid, q->tid, &task));
        HP_TRY(open_queue(r, q));
        set_task(r, q, task);
        HP_TRY(hp_pt_flow_run(&q->flow, UINT64_MAX));
        hp_pt_packets_close(&q->flow.packets);
    }
    return HP_OK;
}

enum hp_err hp_pt_deliver(const struct hp_pt_recording *recording, struct hp_code *code,
                          struct hp_consumer *consumer, struct hp_pt_counts *counts)
{
    struct reading r HP_CLEANUP(fini) = {.recording = recording,
                                         .threads = {.sides = recording->sides,
                                                     .consumer = consumer,
                                                     .name = recording->name,
                                                     .context = recording->context}};
    HP_TRY(hp_pt_code_new(recording->spaces, code, &r.threads.code));
    HP_TRY(find_queues(&r));
    HP_TRY(run_threads(&r));
    HP_TRY(run_cpus(&r));
    HP_TRY(hp_pt_threads_end(&r.threads));
    *counts = r.threads.counts;
    return HP_OK;
}

enum hp_err hp_pt_note(const struct hp_pt_counts *c, struct hp_profile *profile)
{
    const struct {
        const char *name;
        uint64_t value;
    } stats[] = {
        {"transfers", c->transfers},
        {"outcomes of branches", c->outcomes},
        {"interrupts", c->interrupts},
        {"signals", c->signals},
        {"overflows", c->overflows},
        {"gaps", c->gaps},
        {"places in unknown code", c->unknown},
        {"places where code does not fit", c->unfitting},
        {"times that nobody was known to run", c->unattributed},
    };
    for (size_t i = 0; i < sizeof stats / sizeof *stats; i++)
        if (stats[i].value)
            HP_TRY(hp_profile_add_stat(profile, "import", stats[i].name, HP_STAT_COUNT,
                                       stats[i].value > INT64_MAX ? INT64_MAX : stats[i].value));
    if (c->overflows || c->gaps)
        HP_TRY(hp_profile_note(profile, c->overflows + c->gaps, "gaps",
                               "packets of the trace were lost, or are damaged"));
    if (c->unknown)
        HP_TRY(hp_profile_note(profile, c->unknown, "gaps",
                               "times that the trace came to code that is not known"));
    if (c->unfitting)
        HP_TRY(hp_profile_note(profile, c->unfitting, "gaps",
                               "times that the code did not fit the packets of the trace"));
    if (c->unattributed)
        return hp_profile_note(profile, c->unattributed, "gaps",
                               "times that it is not known which thread ran");
    return HP_OK;
}
