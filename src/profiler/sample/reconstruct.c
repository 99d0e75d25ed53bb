// SPDX-License-Identifier: MIT
#include "hotpath/reconstruct.h"

#include "profiler/sample/reconstruct_own.h"

#include <stdlib.h>
#include <string.h>

#define STATES     4096
#define STATES_MAX (1u << 24)
#define CACHED     16384

/* --- Creating --------------------------------------------------------------------------------- */

/* What the graph is made from: edges, or samples. */
struct source {
    const struct hp_edge_count *edges;
    size_t n_edges;
    const struct hp_path_observation *samples; /* NULL: edges */
    size_t n_samples;
    const bool *known; /* blocks; NULL: all */
};

static enum hp_err make(struct hp_reconstruct *r, struct hp_code *code, const struct source *from,
                        struct hp_frame_source *frames, const struct hp_reconstruct_config *config)
{
    uint32_t cached = config->cached ? config->cached : CACHED;
    if (cached & (cached - 1))
        return hp_fail(HP_ERR_INVALID, "reconstruction: %u answers kept is no power of two",
                       cached);
    if (config->states > STATES_MAX)
        return hp_fail(HP_ERR_INVALID, "reconstruction: %u states a query; at most %u can be",
                       config->states, STATES_MAX);
    if (from->samples)
        HP_TRY(hp_place_graph_sampled(&r->graph, code, from->samples, from->n_samples, from->known,
                                      frames));
    else
        HP_TRY(hp_place_graph_init(&r->graph, code, from->edges, from->n_edges, frames,
                                   config->executed));
    HP_TRY(hp_walk_init(&r->walk, &r->graph, config->states ? config->states : STATES));
    r->cache = calloc(cached, sizeof *r->cache);
    r->mask = cached - 1;
    if (!r->cache)
        return hp_fail_nomem();
    if (from->samples)
        HP_TRY(hp_place_graph_estimate(&r->graph, &r->walk, from->samples, from->n_samples));
    r->stats = (struct hp_reconstruct_stats){.places = r->graph.n,
                                             .edges = r->graph.n_arrows,
                                             .executed = r->graph.executed,
                                             .left_out = r->graph.left_out};
    return HP_OK;
}

static enum hp_err create(struct hp_code *code, const struct source *from,
                          struct hp_frame_source *frames,
                          const struct hp_reconstruct_config *config,
                          struct hp_reconstruct **reconstruct)
{
    struct hp_reconstruct *r = calloc(1, sizeof *r);
    if (!r)
        return hp_fail_nomem();
    enum hp_err err = make(r, code, from, frames, config);
    if (err == HP_OK)
        *reconstruct = r;
    else
        hp_reconstruct_free(r);
    return err;
}

enum hp_err hp_reconstruct_new(struct hp_code *code, const struct hp_edge_count *edges,
                               size_t n_edges, struct hp_frame_source *frames,
                               const struct hp_reconstruct_config *config,
                               struct hp_reconstruct **reconstruct)
{
    const struct source from = {.edges = edges, .n_edges = n_edges};
    return create(code, &from, frames, config, reconstruct);
}

enum hp_err hp_reconstruct_new_sampled(struct hp_code *code,
                                       const struct hp_path_observation *samples, size_t n,
                                       const bool *known, struct hp_frame_source *frames,
                                       const struct hp_reconstruct_config *config,
                                       struct hp_reconstruct **reconstruct)
{
    static const struct hp_path_observation none[1];
    const struct source from = {.samples = n ? samples : none, .n_samples = n, .known = known};
    return create(code, &from, frames, config, reconstruct);
}

void hp_reconstruct_free(struct hp_reconstruct *reconstruct)
{
    if (!reconstruct)
        return;
    hp_walk_fini(&reconstruct->walk);
    hp_place_graph_fini(&reconstruct->graph);
    hp_reconstruct_paths_fini(&reconstruct->paths);
    free(reconstruct->cache);
    free(reconstruct);
}

const struct hp_reconstruct_stats *hp_reconstruct_stats(const struct hp_reconstruct *reconstruct)
{
    return &reconstruct->stats;
}

struct hp_reconstruct_edge hp_reconstruct_edge(const struct hp_reconstruct *reconstruct, size_t i)
{
    const struct hp_arrow *arrow = &reconstruct->graph.arrows[i];
    const struct hp_graph_place *places = reconstruct->graph.places;
    return (struct hp_reconstruct_edge){places[arrow->from].start, places[arrow->to].start,
                                        arrow->count, arrow->kind == HP_ARROW_CALL};
}

const char *hp_reconstruct_scheme_name(enum hp_reconstruct_scheme scheme)
{
    static const char *const names[] = {"counts", "edges", "history", "pair", "distance"};
    return scheme < HP_RECONSTRUCT_SCHEMES ? names[scheme] : "";
}

/* --- Queries ---------------------------------------------------------------------------------- */

static bool has_pair(enum hp_reconstruct_scheme scheme)
{
    return scheme == HP_RECONSTRUCT_PAIR || scheme == HP_RECONSTRUCT_DISTANCE;
}

enum hp_err hp_reconstruct_prepare(struct hp_reconstruct *r, const struct hp_reconstruct_query *q,
                                   struct hp_walk_query *prepared)
{
    if (q->bits < 1 || q->bits > HP_RECONSTRUCT_BITS)
        return hp_fail(HP_ERR_INVALID, "reconstruction: a history of %u bits; 1 to %u can be",
                       q->bits, HP_RECONSTRUCT_BITS);
    if (has_pair(q->scheme) && (q->distance < 1 || q->distance > HP_RECONSTRUCT_FARTHEST))
        return hp_fail(HP_ERR_INVALID, "reconstruction: a distance of %u; 1 to %u can be",
                       q->distance, HP_RECONSTRUCT_FARTHEST);
    memset(prepared, 0, sizeof *prepared); /* it is compared as a whole */
    prepared->scheme = (uint8_t)q->scheme;
    prepared->across = q->across;
    prepared->bits = (uint8_t)q->bits;
    prepared->likeliest = q->likeliest && !hp_reconstruct_greedy(q->scheme);
    if (!hp_reconstruct_greedy(q->scheme))
        prepared->history = q->history & (uint32_t)((UINT64_C(1) << q->bits) - 1);
    HP_TRY(hp_place_find(&r->graph, q->pc, &prepared->place, &prepared->index));
    if (has_pair(q->scheme)) {
        prepared->distance = (uint16_t)q->distance;
        HP_TRY(hp_place_find(&r->graph, q->other, &prepared->other, &prepared->other_index));
    } else
        prepared->index = 0; /* the same for the whole place */
    return HP_OK;
}

static enum hp_err walk(struct hp_reconstruct *r, const struct hp_walk_query *q,
                        struct hp_reconstruct_answer *answer)
{
    if (hp_reconstruct_greedy(q->scheme))
        return hp_walk_greedy(&r->walk, q, NULL, answer);
    return hp_walk_best(&r->walk, q, q->likeliest ? 1 : 2, false, answer);
}

static uint64_t hash_query(const struct hp_walk_query *q)
{
    uint64_t words[sizeof *q / sizeof(uint64_t)], hash = 0;
    _Static_assert(sizeof words == sizeof *q, "there is nothing behind the words");
    memcpy(words, q, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = hp_hash64(hash ^ words[i]);
    return hash;
}

enum hp_err hp_reconstruct_ask(struct hp_reconstruct *r, const struct hp_reconstruct_query *query,
                               struct hp_reconstruct_answer *answer)
{
    struct hp_walk_query q;
    HP_TRY(hp_reconstruct_prepare(r, query, &q));
    r->stats.queries++;
    if (q.place == HP_NO_ID) {
        *answer = (struct hp_reconstruct_answer){.known = query->bits};
        return HP_OK;
    }
    struct hp_reconstruct_kept *kept = &r->cache[hash_query(&q) & r->mask];
    if (kept->there && memcmp(&kept->query, &q, sizeof q) == 0) {
        r->stats.cached++;
        *answer = kept->answer;
        return HP_OK;
    }
    kept->there = false;
    HP_TRY(walk(r, &q, &kept->answer));
    kept->query = q;
    kept->there = true;
    r->stats.over += r->walk.over;
    *answer = kept->answer;
    return HP_OK;
}

/* --- The true path ---------------------------------------------------------------------------- */

/* Follows a run backwards. */
struct follower {
    const struct hp_place_graph *graph;
    bool across;
    uint32_t place, bits;
    uint64_t path;
    uint32_t stack[HP_WALK_DEPTH], depth;
    struct hp_reconstruct_answer *answer;
    bool nested;
};

/* False: the segment ends here. */
static bool step_back(struct follower *f, uint32_t from)
{
    const struct hp_arrow *arrow = hp_place_arrow(f->graph, from, f->place);
    bool enters = arrow && (arrow->kind == HP_ARROW_CALL || arrow->kind == HP_ARROW_TAIL);
    if (!arrow) /* left out because its code changed */
        return false;
    if (enters && f->depth == 0 && !f->across) {
        while (f->answer->known < f->bits) {
            f->answer->paths[++f->answer->known] = 1;
            f->answer->path[f->answer->known] = hp_walk_path(f->path, HP_WALK_BEGINNING);
        }
        return false;
    }
    if (arrow->kind == HP_ARROW_RETURN) {
        if (f->depth == HP_WALK_DEPTH)
            return false;
        f->stack[f->depth++] = arrow->site;
    } else if (arrow->kind == HP_ARROW_CALL && f->depth) {
        f->nested = f->stack[--f->depth] == from;
        if (!f->nested)
            return false;
    }
    f->place = from;
    f->path = hp_walk_path(f->path, from);
    if (arrow->bit >= 0) {
        f->answer->paths[++f->answer->known] = 1;
        f->answer->path[f->answer->known] = f->path;
    }
    return f->answer->known < f->bits;
}

/* The place of a block that contains its instruction `insn`; HP_NO_ID: none. */
static uint32_t place_within(const struct hp_place_graph *g, uint32_t block, uint32_t insn)
{
    uint32_t p = hp_place_of_block(g, block);
    while (p != HP_NO_ID && insn >= g->places[p].insns) {
        uint32_t next = hp_map64_get(&g->by_start, g->places[p].end);
        bool on = g->places[p].flow == HP_FLOW_NONE && next != HP_MAP64_NONE;
        insn -= g->places[p].insns;
        p = on ? next : HP_NO_ID;
    }
    return p;
}

/* Walks back through the places of a block from `place`, which is one of them. Blocks have few
 * places, so each step searches from the front. */
static bool through_block(struct follower *f, uint32_t block, uint32_t place)
{
    uint32_t first = hp_place_of_block(f->graph, block);
    while (place != first) {
        uint32_t before = first;
        for (uint32_t next; f->graph->places[before].flow == HP_FLOW_NONE; before = next) {
            next = hp_map64_get(&f->graph->by_start, f->graph->places[before].end);
            if (next == place || next == HP_MAP64_NONE)
                break;
        }
        if (f->graph->places[before].end != f->graph->places[place].start || !step_back(f, before))
            return false;
        place = before;
    }
    return true;
}

enum hp_err hp_reconstruct_follow(const struct hp_reconstruct *r, const uint32_t *blocks, size_t n,
                                  uint32_t insn, uint32_t bits, bool across,
                                  struct hp_reconstruct_answer *answer, bool *nested)
{
    uint32_t n_blocks = hp_code_n_blocks(r->graph.code);
    struct follower f = {.graph = &r->graph, .across = across, .bits = bits, .answer = answer};
    *answer = (struct hp_reconstruct_answer){0};
    f.nested = *nested = true;
    if (bits < 1 || bits > HP_RECONSTRUCT_BITS)
        return hp_fail(HP_ERR_INVALID, "reconstruction: a history of %u bits; 1 to %u can be", bits,
                       HP_RECONSTRUCT_BITS);
    for (size_t i = 0; i < n; i++)
        if (blocks[i] >= n_blocks)
            return hp_fail(HP_ERR_INVALID, "reconstruction: there is no block %u", blocks[i]);
    if (n == 0 || insn >= hp_code_block(r->graph.code, blocks[n - 1])->insns)
        return hp_fail(HP_ERR_INVALID, "reconstruction: there is no instruction %u", insn);
    f.place = place_within(&r->graph, blocks[n - 1], insn);
    f.path = f.place;
    bool on = f.place != HP_NO_ID && through_block(&f, blocks[n - 1], f.place);
    for (size_t i = n - 1; i-- > 0 && on;) {
        uint32_t last =
            place_within(&r->graph, blocks[i], hp_code_block(r->graph.code, blocks[i])->insns - 1);
        on = last != HP_NO_ID && step_back(&f, last) && through_block(&f, blocks[i], last);
    }
    *nested = f.nested;
    return HP_OK;
}
