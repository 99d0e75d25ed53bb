// SPDX-License-Identifier: MIT
/*
 * Hot spots steer the engine: what the detector finds becomes wishes for traces, and the time line
 * says what that bought.
 */
#include "base/base.h"
#include "session/session_impl.h"

/* The run when a hot spot was detected. */
struct hp_steered {
    uint64_t instructions, traced;
};

static struct hp_steered now(struct hp_session *s)
{
    const struct hp_cursor_stats *stats = &hp_pipeline_stats(s->pipeline)->cursor;
    return (struct hp_steered){stats->instructions, stats->trace_insns};
}

static void wish(void *context, uint32_t number, uint64_t start)
{
    struct hp_session *s = context;
    struct hp_steering *steering = &s->steering;
    if (steering->n <= number) { /* they come in order */
        if (hp_grow(&steering->spots, &steering->capacity, (size_t)number + 1,
                    sizeof *steering->spots) != HP_OK)
            return;
        while (steering->n <= number)
            steering->spots[steering->n++] = now(s);
    }
    hp_live_wish(s->live, number, start);
}

enum hp_err hp_steer(struct hp_session *s)
{
    if (!s->profilers.hotspots)
        return hp_fail(HP_ERR_INVALID,
                       "--traces hotspots needs a profile: hot spots are found while it is made");
    hp_hotspot_profiler_tell(s->profilers.hotspots, wish, s);
    hp_pipeline_keep_in_step(s->pipeline);
    return HP_OK;
}

static enum hp_err add_event(struct hp_profile *profile, const struct hp_traces_event *event,
                             uint32_t hotspot, struct hp_ptraces_event **row)
{
    const char *kind = hp_profile_string(profile, hp_traces_events[HP_TRACES_STEERED].name);
    HP_TRY(kind ? hp_profile_add_traces_event(profile, row) : hp_fail_nomem());
    **row = (struct hp_ptraces_event){.process = event->process,
                                      .ns = event->ns,
                                      .kind = kind,
                                      .traces = event->traces,
                                      .bytes = event->bytes,
                                      .hotspot = hotspot + 1};
    return HP_OK;
}

/* What was executed between two moments, at the end of the one event and the start of the other. */
static void add_between(struct hp_profile *profile, size_t before, size_t after,
                        const struct hp_steered *from, const struct hp_steered *to)
{
    uint64_t insns = to->instructions - from->instructions, traced = to->traced - from->traced;
    if (traced > insns) /* the words behind an instruction are read later than it */
        traced = insns;
    if (before < profile->n_traces_events) {
        profile->traces_events[before].insns_after = insns;
        profile->traces_events[before].traced_after = traced;
    }
    if (after < profile->n_traces_events) {
        profile->traces_events[after].insns_before = insns;
        profile->traces_events[after].traced_before = traced;
    }
}

/* Those hot spots that became traces. */
enum hp_err hp_steered_events(struct hp_session *s, struct hp_profile *profile)
{
    const struct hp_steering *steering = &s->steering;
    struct hp_steered last = {0, 0}, end;
    struct hp_traces_event event;
    struct hp_ptraces_event *row;
    size_t before = SIZE_MAX;
    for (uint32_t i = 0; i < steering->n; i++) {
        if (!hp_live_steered(s->live, i, &event) || !event.traces)
            continue;
        HP_TRY(add_event(profile, &event, i, &row));
        size_t this = profile->n_traces_events - 1;
        add_between(profile, before, this, &last, &steering->spots[i]);
        last = steering->spots[i];
        before = this;
    }
    if (before == SIZE_MAX)
        return HP_OK;
    end = now(s);
    add_between(profile, before, SIZE_MAX, &last, &end);
    return HP_OK;
}

void hp_steering_free(struct hp_steering *steering)
{
    free(steering->spots);
}
