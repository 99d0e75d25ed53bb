// SPDX-License-Identifier: MIT
#include "import/itrace/itrace.h"

#include "base/base.h"
#include "import/itrace/kind.h"

struct reading {
    const struct hp_itrace_recording *recording;
    const struct hp_itrace_kind *kind;
    void *state; /* of the kind */
    struct hp_itrace_threads threads;
    struct hp_itrace_source *sources;
    size_t n_sources;
    struct hp_map64 source_of;     /* owner_key() -> which */
    struct hp_itrace_walk **walks; /* of the buffers of processors */
    size_t n_walks, cap_walks;
};

static const struct hp_itrace_kind *const kinds[] = {&hp_itrace_pt, &hp_itrace_etm};

const struct hp_itrace_kind *hp_itrace_find(struct hp_perf_reader *reader)
{
    const struct hp_aux *aux = hp_perf_aux(reader);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (aux->type == kinds[i]->type && aux->n_pieces)
            return kinds[i];
    return NULL;
}

const char *hp_itrace_name(const struct hp_itrace_kind *kind)
{
    return kind->name;
}

enum hp_arch hp_itrace_arch(const struct hp_itrace_kind *kind)
{
    return kind->arch;
}

static void fini(struct reading *r)
{
    for (size_t i = 0; i < r->n_walks; i++)
        r->kind->close(r->walks[i]);
    for (size_t i = 0; i < r->n_sources; i++)
        free(r->sources[i].stops);
    free(r->walks);
    free(r->sources);
    hp_map64_fini(&r->source_of);
    hp_itrace_code_free(r->threads.code);
    hp_itrace_threads_fini(&r->threads);
    r->kind->end(r->state);
}

/* --- Buffers ---------------------------------------------------------------------------------- */

static uint64_t owner_key(int32_t tid, int32_t cpu)
{
    return cpu >= 0 ? UINT64_C(1) << 32 | (uint32_t)cpu : (uint32_t)tid;
}

static struct hp_itrace_source *source_of(struct reading *r, int32_t tid, int32_t cpu)
{
    uint32_t i = hp_map64_get(&r->source_of, owner_key(tid, cpu));
    return i == HP_MAP64_NONE ? NULL : &r->sources[i];
}

static enum hp_err add_stop(struct hp_itrace_source *source, const struct hp_itrace_stop *stop)
{
    HP_TRY(hp_grow(&source->stops, &source->cap_stops, source->n_stops + 1, sizeof *source->stops));
    source->stops[source->n_stops++] = *stop;
    return HP_OK;
}

static int by_offset(const void *a, const void *b)
{
    const struct hp_itrace_stop *x = a, *y = b;
    return HP_COMPARE(x->offset, y->offset) ?: HP_COMPARE(x->begins, y->begins);
}

/* Where the kernel began and ended to put something into each buffer: a record says whose that is
 * in both ways. */
static enum hp_err place_stops(struct reading *r)
{
    const struct hp_itrace_sides *sides = r->recording->sides;
    for (size_t i = 0; i < sides->n_puts; i++) {
        const struct hp_itrace_put *put = &sides->puts[i];
        struct hp_itrace_source *source = source_of(r, put->tid, -1) ?: source_of(r, 0, put->cpu);
        struct hp_itrace_stop stop = {.offset = put->offset,
                                      .begins = true,
                                      .raw = put->flags & PERF_AUX_FLAG_CORESIGHT_FORMAT_RAW,
                                      .cpu = put->cpu};
        if (source && r->kind->begins)
            HP_TRY(add_stop(source, &stop));
        stop = (struct hp_itrace_stop){.offset = put->end, .lost = true, .cpu = put->cpu};
        if (source && (put->flags & PERF_AUX_FLAG_TRUNCATED))
            HP_TRY(add_stop(source, &stop));
    }
    for (size_t i = 0; i < r->n_sources; i++)
        hp_sort(r->sources[i].stops, r->sources[i].n_stops, sizeof *r->sources[i].stops, by_offset);
    return HP_OK;
}

static enum hp_err find_sources(struct reading *r)
{
    struct hp_aux *aux = hp_perf_aux(r->recording->reader);
    size_t n = 0;
    hp_aux_settle(aux);
    for (size_t i = 0; i < aux->n_pieces; i++)
        n += i == 0 || aux->pieces[i].index != aux->pieces[i - 1].index;
    HP_TRY(hp_new(&r->sources, n, sizeof *r->sources));
    for (size_t i = 0, next; i < aux->n_pieces; i = next) {
        const struct hp_aux_piece *first = &aux->pieces[i];
        for (next = i + 1; next < aux->n_pieces; next++)
            if (aux->pieces[next].index != first->index)
                break;
        r->sources[r->n_sources] = (struct hp_itrace_source){
            .tid = first->tid, .cpu = first->cpu, .pieces = first, .n_pieces = next - i};
        HP_TRY(hp_map64_put(&r->source_of, owner_key(first->tid, first->cpu),
                            (uint32_t)r->n_sources++));
    }
    return place_stops(r);
}

static enum hp_err open_walk(struct reading *r, const struct hp_itrace_source *source,
                             uint32_t part, struct hp_itrace_walk **walk)
{
    HP_TRY(r->kind->open(r->state, source, part, walk));
    struct hp_itrace_walk *w = *walk;
    w->code = r->threads.code;
    w->threads = &r->threads;
    w->cpu = source->cpu;
    w->task = w->slice = w->next_slice = HP_NO_ID;
    uint32_t first = hp_map64_get(&r->recording->sides->slice_of, (uint32_t)source->cpu);
    if (source->cpu >= 0 && first != HP_MAP64_NONE)
        w->next_slice = first;
    return HP_OK;
}

/* --- In the order of time --------------------------------------------------------------------- */

/* That which goes on before all others; `*until`: before this, which is where the next one does. */
static struct hp_itrace_walk *first_walk(const struct reading *r, uint64_t *until)
{
    struct hp_itrace_walk *first = NULL;
    *until = UINT64_MAX;
    for (size_t i = 0; i < r->n_walks; i++) {
        struct hp_itrace_walk *w = r->walks[i];
        if (!w->holds)
            continue;
        if (!first || w->order < first->order) {
            *until = first ? first->order + 1 : UINT64_MAX;
            first = w;
        } else if (w->order + 1 < *until) {
            *until = w->order + 1;
        }
    }
    return first;
}

static enum hp_err open_cpu(struct reading *r, const struct hp_itrace_source *source)
{
    uint32_t parts[HP_ITRACE_PARTS] = {0};
    size_t n = 1;
    if (r->kind->parts)
        HP_TRY(r->kind->parts(r->state, source, parts, &n));
    for (size_t i = 0; i < n; i++) {
        HP_TRY(hp_grow(&r->walks, &r->cap_walks, r->n_walks + 1, sizeof *r->walks));
        HP_TRY(open_walk(r, source, parts[i], &r->walks[r->n_walks]));
        r->n_walks++;
    }
    return HP_OK;
}

static enum hp_err run_cpus(struct reading *r)
{
    uint64_t until;
    for (size_t i = 0; i < r->n_sources; i++)
        if (r->sources[i].cpu >= 0)
            HP_TRY(open_cpu(r, &r->sources[i]));
    for (size_t i = 0; i < r->n_walks; i++)
        HP_TRY(r->kind->run(r->walks[i], 0));
    for (struct hp_itrace_walk *w; (w = first_walk(r, &until));)
        HP_TRY(r->kind->run(w, until));
    return HP_OK;
}

static enum hp_err run_thread(struct reading *r, const struct hp_itrace_source *source)
{
    struct hp_itrace_walk *walk;
    uint32_t task;
    HP_TRY(hp_itrace_sides_task(r->recording->sides, source->tid, source->tid, &task));
    HP_TRY(open_walk(r, source, HP_NO_ID, &walk));
    hp_walk_set_task(walk, task);
    enum hp_err err = r->kind->run(walk, UINT64_MAX);
    r->kind->close(walk);
    return err;
}

enum hp_err hp_itrace_deliver(const struct hp_itrace_recording *recording, struct hp_code *code,
                              struct hp_consumer *consumer, struct hp_itrace_counts *counts)
{
    struct reading r HP_CLEANUP(fini) = {.recording = recording,
                                         .kind = hp_itrace_find(recording->reader),
                                         .threads = {.sides = recording->sides,
                                                     .consumer = consumer,
                                                     .name = recording->name,
                                                     .context = recording->context}};
    HP_TRY(hp_itrace_code_new(recording->spaces, code, r.kind->arch, &r.threads.code));
    HP_TRY(r.kind->begin(recording, r.threads.code, &r.state));
    HP_TRY(find_sources(&r));
    for (size_t i = 0; i < r.n_sources; i++) /* one after the other */
        if (r.sources[i].cpu < 0)
            HP_TRY(run_thread(&r, &r.sources[i]));
    HP_TRY(run_cpus(&r));
    HP_TRY(hp_itrace_threads_end(&r.threads));
    *counts = r.threads.counts;
    return HP_OK;
}

enum hp_err hp_itrace_note(const struct hp_itrace_counts *c, struct hp_profile *profile)
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
