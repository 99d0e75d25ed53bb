// SPDX-License-Identifier: MIT
#include "profiler/sample/segments.h"

#include "base/grow.h"

#include <stdlib.h>

void hp_segments_fini(struct hp_segments *s)
{
    hp_map64_fini(&s->edge_places);
    hp_map64_fini(&s->key_places);
    free(s->ways);
    free(s->edges);
    free(s->keys);
    free(s->seen);
    *s = (struct hp_segments){0};
}

/* --- While the program runs ------------------------------------------------------------------- */

static enum hp_err find_edge(struct hp_segments *s, uint32_t from, uint32_t to, uint32_t *place)
{
    uint64_t key = (uint64_t)from << 32 | to;
    *place = hp_map64_get(&s->edge_places, key);
    if (*place != HP_MAP64_NONE)
        return HP_OK;
    *place = (uint32_t)s->n_edges;
    HP_TRY(hp_grow(&s->edges, &s->cap_edges, s->n_edges + 1, sizeof *s->edges));
    HP_TRY(hp_map64_put(&s->edge_places, key, *place));
    s->edges[s->n_edges++] = (struct hp_edge_count){.from = from, .to = to};
    return HP_OK;
}

/* An edge that is not one of the block's two latest. */
static enum hp_err add_other(struct hp_segments *s, uint32_t from, uint32_t to)
{
    struct hp_segment_ways *ways = &s->ways[from];
    uint32_t place;
    HP_TRY(find_edge(s, from, to, &place));
    s->edges[place].count++;
    *ways = (struct hp_segment_ways){.to = {to + 1, ways->to[0]}, .place = {place, ways->place[0]}};
    return HP_OK;
}

enum hp_err hp_segments_batch(struct hp_segments *s, const struct hp_batch *batch)
{
    if (s->alone)
        return HP_OK;
    HP_TRY(hp_grow(&s->ways, &s->cap_ways, hp_code_n_blocks(batch->code), sizeof *s->ways));
    for (size_t i = 0; i < batch->n; i++) {
        uint32_t from = batch->blocks[i], to = batch->blocks[i + 1];
        const struct hp_segment_ways *ways = &s->ways[from];
        if (ways->to[0] == to + 1)
            s->edges[ways->place[0]].count++;
        else if (ways->to[1] == to + 1)
            s->edges[ways->place[1]].count++;
        else
            HP_TRY(add_other(s, from, to));
    }
    return HP_OK;
}

static enum hp_err keep(struct hp_segments *s, const struct hp_sample *sample,
                        const struct hp_sample *earlier, uint64_t distance)
{
    const struct hp_timing *t = &sample->timing;
    HP_TRY(hp_grow(&s->seen, &s->cap_seen, s->n_seen + 1, sizeof *s->seen));
    struct hp_segment_seen *seen = &s->seen[s->n_seen++];
    *seen = (struct hp_segment_seen){
        .sample = {.pc = sample->pc, .history = t->history, .bits = s->bits},
        .address = t->address,
        .taken = t->events & HP_TIMING_TAKEN};
    bool known = earlier && !earlier->empty && earlier->timing.events & HP_TIMING_RETIRED;
    if (known && distance <= HP_RECONSTRUCT_SPAN) {
        seen->sample.other = earlier->pc;
        seen->sample.distance = (uint32_t)distance;
    }
    return HP_OK;
}

enum hp_err hp_segments_sample(struct hp_segments *s, const struct hp_sample *sample,
                               const struct hp_sample *earlier, uint64_t distance)
{
    const struct hp_timing *t = &sample->timing;
    if (sample->empty || !(t->events & HP_TIMING_RETIRED))
        return HP_OK;
    if (s->alone)
        HP_TRY(keep(s, sample, earlier, distance));
    uint32_t history = t->history & ((1u << HP_SEGMENT_BITS) - 1);
    uint64_t key = (uint64_t)t->insn << HP_SEGMENT_BITS | history;
    uint32_t place = hp_map64_get(&s->key_places, key);
    if (place == HP_MAP64_NONE) {
        place = (uint32_t)s->n_keys;
        HP_TRY(hp_grow(&s->keys, &s->cap_keys, s->n_keys + 1, sizeof *s->keys));
        HP_TRY(hp_map64_put(&s->key_places, key, place));
        s->keys[s->n_keys++] = (struct hp_segment_key){.pc = sample->pc, .history = history};
    }
    s->keys[place].samples++;
    s->keys[place].cycles += t->done;
    return HP_OK;
}

/* --- The result ------------------------------------------------------------------------------- */

/* A path with its samples, over all instructions of its last block. */
struct path {
    uint64_t id;
    uint64_t samples, cycles;
    struct hp_segment_key key; /* one of them, as a representative */
};

struct found {
    struct hp_map64 places; /* id -> path */
    struct path *paths;
    size_t n, cap;
    uint64_t samples, unknown; /* unknown: without a path */
};

static enum hp_err add_to_path(struct found *f, uint64_t id, const struct hp_segment_key *key)
{
    uint32_t place = hp_map64_get(&f->places, id);
    if (place == HP_MAP64_NONE) {
        place = (uint32_t)f->n;
        HP_TRY(hp_grow(&f->paths, &f->cap, f->n + 1, sizeof *f->paths));
        HP_TRY(hp_map64_put(&f->places, id, place));
        f->paths[f->n++] = (struct path){.id = id, .key = *key};
    }
    f->paths[place].samples += key->samples;
    f->paths[place].cycles += key->cycles;
    return HP_OK;
}

static enum hp_err find_paths(const struct hp_segments *s, struct hp_reconstruct *reconstruct,
                              struct found *f)
{
    for (size_t i = 0; i < s->n_keys; i++) {
        const struct hp_segment_key *key = &s->keys[i];
        struct hp_reconstruct_segment segment;
        HP_TRY(hp_reconstruct_sample(reconstruct, key->pc, key->history, HP_SEGMENT_BITS, true,
                                     &segment));
        f->samples += key->samples;
        if (segment.n)
            HP_TRY(add_to_path(f, segment.id, key));
        else
            f->unknown += key->samples;
    }
    return HP_OK;
}

static int by_cycles(const void *a, const void *b)
{
    const struct path *x = a, *y = b;
    if (x->cycles != y->cycles)
        return x->cycles < y->cycles ? 1 : -1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Blocks of the code map by start; where code changed, the latest. */
static enum hp_err index_blocks(const struct hp_code *code, struct hp_map64 *blocks)
{
    for (uint32_t i = 0; i < hp_code_n_blocks(code); i++)
        HP_TRY(hp_map64_put(blocks, hp_code_block(code, i)->start, i));
    return HP_OK;
}

struct out {
    struct hp_result *result;
    struct hp_reconstruct *reconstruct;
    struct hp_map64 blocks;
    const char *kind;
    double interval;
    uint32_t thread;
};

/* How a place was left: the block that starts there may be cut, where another one starts inside
 * it. */
static enum hp_step_how how_left(const struct hp_block *block, uint64_t next)
{
    if (next > block->start && next <= block->end)
        return HP_STEP_FELL;
    switch (block->flow) {
    case HP_FLOW_CALL:
    case HP_FLOW_CALL_IND: return HP_STEP_ENTERED;
    case HP_FLOW_RETURN: return HP_STEP_RETURNED;
    default: return HP_STEP_TAKEN;
    }
}

static bool left_by_condition(const struct hp_block *block, uint64_t next)
{
    bool cut = next > block->start && next < block->end;
    return !cut && (block->flow == HP_FLOW_COND || block->flags & HP_BLOCK_CONDITIONAL);
}

/* Adds the steps, and counts the conditional branches between them. A part of a block that is not
 * the start of a block has no row: its block is already there. */
static enum hp_err add_steps(struct out *out, uint32_t path,
                             const struct hp_reconstruct_segment *segment, uint32_t *branches)
{
    uint32_t position = 0;
    *branches = 0;
    for (size_t i = 0; i < segment->n; i++) {
        uint32_t block = hp_map64_get(&out->blocks, segment->starts[i]);
        bool last = i + 1 == segment->n;
        struct hp_pstep *step;
        if (block == HP_MAP64_NONE)
            continue;
        const struct hp_block *b = hp_code_block(out->result->code, block);
        HP_TRY(hp_profile_add_path_step(out->result->profile, &step));
        *step = (struct hp_pstep){
            .path = path,
            .position = position++,
            .block = block,
            .how = (uint8_t)(last ? HP_STEP_END : how_left(b, segment->starts[i + 1]))};
        *branches += !last && left_by_condition(b, segment->starts[i + 1]);
    }
    return HP_OK;
}

/* What came before a path that begins with its routine is not part of it: it gets only its own
 * branches of the history. */
static enum hp_err add_path(struct out *out, const struct path *path)
{
    struct hp_profile *profile = out->result->profile;
    struct hp_reconstruct_segment segment;
    struct hp_ppath *row;
    struct hp_ppath_count *count;
    uint32_t branches;
    HP_TRY(hp_reconstruct_sample(out->reconstruct, path->key.pc, path->key.history, HP_SEGMENT_BITS,
                                 true, &segment));
    uint32_t first = hp_map64_get(&out->blocks, segment.starts[0]);
    if (first == HP_MAP64_NONE)
        return HP_OK;
    uint32_t index = (uint32_t)profile->n_paths;
    HP_TRY(add_steps(out, index, &segment, &branches));
    if (branches > HP_SEGMENT_BITS) /* where code changed */
        branches = HP_SEGMENT_BITS;
    HP_TRY(hp_profile_add_path(profile, &row));
    *row = (struct hp_ppath){.kind = out->kind,
                             .start = profile->blocks[first].place,
                             .outcomes = path->key.history & ((UINT64_C(1) << branches) - 1),
                             .targets = path->id,
                             .length = branches,
                             .function = profile->blocks[first].function};
    HP_TRY(hp_profile_add_path_count(profile, &count));
    *count = (struct hp_ppath_count){.item = index,
                                     .thread = out->thread,
                                     .count = path->samples,
                                     .insns = (uint64_t)((double)path->samples * out->interval),
                                     .events = (uint64_t)((double)path->cycles * out->interval)};
    return HP_OK;
}

static enum hp_err write(struct out *out, const struct hp_segments *s, struct found *f)
{
    HP_TRY(find_paths(s, out->reconstruct, f));
    HP_TRY(index_blocks(out->result->code, &out->blocks));
    if (f->n)
        qsort(f->paths, f->n, sizeof *f->paths, by_cycles);
    for (size_t i = 0; i < f->n && i < HP_SEGMENTS_TOP; i++)
        HP_TRY(add_path(out, &f->paths[i]));
    HP_TRY(hp_profile_add_stat(out->result->profile, out->kind, "path.samples", HP_STAT_COUNT,
                               f->samples));
    return hp_profile_add_stat(out->result->profile, out->kind, "path.unknown", HP_STAT_COUNT,
                               f->unknown);
}

/* Where a sample went that ends its block, by what it knows: its direction, or the address
 * register, which has the target of an indirect transfer, or an operand's address, where no code
 * is. */
static uint64_t next_of(const struct hp_block *block, const struct hp_segment_seen *seen)
{
    if (block->flow == HP_FLOW_COND)
        return seen->taken ? block->target : block->end;
    return block->target ? 0 : seen->address;
}

static enum hp_err estimate(const struct hp_segments *s, struct hp_code *code,
                            struct hp_reconstruct **reconstruct)
{
    const struct hp_reconstruct_config config = {.executed = false};
    struct hp_path_observation *samples;
    struct hp_map64 ends = {0};
    HP_TRY(hp_new(&samples, s->n_seen, sizeof *samples));
    enum hp_err err = HP_OK;
    for (uint32_t i = 0; i < hp_code_n_blocks(code) && err == HP_OK; i++)
        err = hp_map64_put(&ends, hp_code_block(code, i)->last, i);
    for (size_t i = 0; i < s->n_seen && err == HP_OK; i++) {
        uint32_t block = hp_map64_get(&ends, s->seen[i].sample.pc);
        samples[i] = s->seen[i].sample;
        if (block != HP_MAP64_NONE)
            samples[i].next = next_of(hp_code_block(code, block), &s->seen[i]);
    }
    if (err == HP_OK)
        err =
            hp_reconstruct_new_sampled(code, samples, s->n_seen, NULL, NULL, &config, reconstruct);
    hp_map64_fini(&ends);
    free(samples);
    return err;
}

enum hp_err hp_segments_finish(struct hp_segments *s, struct hp_result *result, const char *kind,
                               double interval)
{
    const struct hp_reconstruct_config config = {.executed = true};
    struct out out = {.result = result, .kind = kind, .interval = interval};
    struct found found = {0};
    if (!s->n_keys)
        return HP_OK;
    HP_TRY(hp_result_thread(result, &s->thread, &out.thread));
    enum hp_err err = s->alone ? estimate(s, result->code, &out.reconstruct)
                               : hp_reconstruct_new(result->code, s->edges, s->n_edges, NULL,
                                                    &config, &out.reconstruct);
    if (err == HP_OK)
        err = write(&out, s, &found);
    hp_reconstruct_free(out.reconstruct);
    hp_map64_fini(&out.blocks);
    hp_map64_fini(&found.places);
    free(found.paths);
    return err;
}
