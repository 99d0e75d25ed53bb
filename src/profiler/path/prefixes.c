// SPDX-License-Identifier: MIT
#include "profiler/path/prefixes.h"

#include "base/grow.h"
#include "profiler/path/detector_impl.h"

#include <stdlib.h>

struct hp_path_prefixes {
    const struct hp_code *code;
    struct hp_path_source *source;
    struct hp_detector *detector;  /* holds one path at a time */
    struct hp_path_prefix *states; /* by id */
    bool *known;                   /* likewise: it was derived */
    size_t cap_states, cap_known;
    struct { /* from the one that is wanted down to the first that is not known */
        uint32_t id;
        struct hp_counted_prefix prefix;
    } * todo;
    size_t cap_todo;
};

bool hp_path_can_count(const struct hp_ppcr *ppcr, struct hp_path_rules *rules)
{
    static const uint8_t ops[HP_CLASSES] = {
        [HP_CLASS_CALL] = HP_PATH_UPDATE_COUNT | HP_PATH_PUSH,
        [HP_CLASS_RETURN] = HP_PATH_UPDATE_COUNT | HP_PATH_POP,
        [HP_CLASS_FORWARD] = HP_PATH_UPDATE,
        [HP_CLASS_BACKWARD] = HP_PATH_UPDATE | HP_PATH_POP | HP_PATH_PUSH,
        [HP_CLASS_INDIRECT] = HP_PATH_UPDATE | HP_PATH_POP | HP_PATH_PUSH,
    };
    for (unsigned i = 0; i < HP_CLASSES; i++)
        if (ppcr->ops[i] != ops[i])
            return false;
    if (ppcr->by_address || ppcr->extension == HP_EXTEND_CALL ||
        ppcr->overflow != HP_OVERFLOW_SPILL || hp_metric_needs_machine(ppcr->metric))
        return false;
    *rules = (struct hp_path_rules){.max_length = ppcr->max_length,
                                    .max_extension =
                                        ppcr->extension == HP_EXTEND_LOOP ? ppcr->max_extension : 0,
                                    .by_encoding = ppcr->direction == HP_DIRECTION_STATIC};
    return true;
}

enum hp_err hp_path_prefixes_new(const struct hp_ppcr *ppcr, const struct hp_code *code,
                                 struct hp_path_source *source, struct hp_path_prefixes **prefixes)
{
    struct hp_path_rules rules;
    if (!hp_path_can_count(ppcr, &rules))
        return hp_fail(HP_ERR_UNSUPPORTED, "no engine counts such paths");
    struct hp_path_prefixes *p = calloc(1, sizeof *p);
    if (!p)
        return hp_fail_nomem();
    p->code = code;
    p->source = source;
    enum hp_err err = hp_detector_new(ppcr, NULL, NULL, &p->detector);
    if (err != HP_OK) {
        free(p);
        return err;
    }
    *prefixes = p;
    return HP_OK;
}

void hp_path_prefixes_free(struct hp_path_prefixes *p)
{
    if (!p)
        return;
    hp_detector_free(p->detector);
    free(p->states);
    free(p->known);
    free(p->todo);
    free(p);
}

/* --- One transfer ----------------------------------------------------------------------------- */

/* Its last block goes to `target`. The detector then has the frame, and what the transfer made. */
static void leave(struct hp_path_prefixes *p, struct hp_path_prefix *prefix, uint64_t target,
                  bool taken)
{
    const struct hp_block *from = hp_code_block(p->code, prefix->last);
    struct hp_detector *d = p->detector;
    d->entries[0] = (struct hp_path_entry){.start = prefix->start,
                                           .outcomes = prefix->outcomes,
                                           .insns = prefix->insns,
                                           .block = prefix->block,
                                           .extension = prefix->extension,
                                           .length = prefix->length};
    d->low = 0;
    d->n = 1;
    d->n_paths = 0;
    d->stats = (struct hp_detector_stats){0};
    d->pending = (struct hp_path_pending){.insns = prefix->pending + from->insns};
    prefix->blocks++;
    if (!hp_path_is_branch(from->flow))
        return;
    prefix->branches++;
    struct hp_path_transfer x = {.last = from->last,
                                 .end = from->end,
                                 .direct = from->target,
                                 .target = target,
                                 .from = prefix->last,
                                 .to = HP_NO_ID,
                                 .flow = from->flow,
                                 .taken = taken};
    hp_detector_transfer(d, &x);
}

/* Takes what became of the path, which goes on. */
static void go_on(const struct hp_path_prefixes *p, struct hp_path_prefix *prefix)
{
    const struct hp_path_entry *entry = &p->detector->entries[0];
    prefix->outcomes = entry->outcomes;
    prefix->insns = entry->insns;
    prefix->pending = p->detector->pending.insns;
    prefix->length = entry->length;
    prefix->extension = entry->extension;
}

static bool is_call(const struct hp_block *block)
{
    return block->flow == HP_FLOW_CALL || block->flow == HP_FLOW_CALL_IND;
}

/* The last block calls; false: it does not. */
static bool call(struct hp_path_prefixes *p, struct hp_path_prefix *prefix)
{
    const struct hp_block *from = hp_code_block(p->code, prefix->last);
    if (!is_call(from))
        return false;
    /* Where to does not matter, except that it is not the next address. */
    leave(p, prefix, from->target ? from->target : from->end + 1, true);
    go_on(p, prefix);
    return p->detector->n == 2 && p->detector->n_paths == 0;
}

/* The path goes on with `block`; false: it cannot. */
static bool follow(struct hp_path_prefixes *p, struct hp_path_prefix *prefix, uint32_t block)
{
    const struct hp_block *from = hp_code_block(p->code, prefix->last);
    uint64_t to = hp_code_block(p->code, block)->start;
    bool falls = hp_path_falls(p->code, from) && to == from->end;
    bool leads = falls || (from->target ? to == from->target : is_call(from) && to == from->end);
    leave(p, prefix, to, !falls);
    go_on(p, prefix);
    return leads && p->detector->n == 1 && p->detector->n_paths == 0;
}

/* --- Prefixes --------------------------------------------------------------------------------- */

/* Derives a prefix; the one before it is known. */
static enum hp_err derive(struct hp_path_prefixes *p, uint32_t id,
                          const struct hp_counted_prefix *stored)
{
    struct hp_path_prefix prefix = {.start = hp_code_block(p->code, stored->block)->start,
                                    .block = stored->block,
                                    .last = stored->block};
    if (stored->before) {
        prefix = p->states[stored->before];
        const struct hp_block *from = hp_code_block(p->code, prefix.last);
        bool can = stored->returned ? call(p, &prefix) &&
                                          hp_code_block(p->code, stored->block)->start == from->end
                                    : follow(p, &prefix, stored->block);
        if (!can)
            return hp_fail(HP_ERR_FORMAT, "prefix %u cannot follow prefix %u", id, stored->before);
        prefix.last = stored->block;
    }
    HP_TRY(hp_grow(&p->states, &p->cap_states, (size_t)id + 1, sizeof *p->states));
    HP_TRY(hp_grow(&p->known, &p->cap_known, (size_t)id + 1, sizeof *p->known));
    p->states[id] = prefix;
    p->known[id] = true;
    return HP_OK;
}

enum hp_err hp_path_prefixes_get(struct hp_path_prefixes *p, uint32_t id,
                                 struct hp_path_prefix *prefix)
{
    size_t n = 0;
    for (uint32_t at = id; at >= p->cap_known || !p->known[at]; n++) {
        HP_TRY(hp_grow(&p->todo, &p->cap_todo, n + 1, sizeof *p->todo));
        p->todo[n].id = at;
        HP_TRY(p->source->prefix(p->source, at, &p->todo[n].prefix));
        at = p->todo[n].prefix.before; /* smaller than before: this ends */
        if (!at) {
            n++;
            break;
        }
    }
    while (n-- > 0)
        HP_TRY(derive(p, p->todo[n].id, &p->todo[n].prefix));
    *prefix = p->states[id];
    return HP_OK;
}

enum hp_err hp_path_prefixes_call(struct hp_path_prefixes *p, uint32_t id,
                                  struct hp_path_prefix *prefix)
{
    HP_TRY(hp_path_prefixes_get(p, id, prefix));
    if (!call(p, prefix))
        return hp_fail(HP_ERR_FORMAT, "prefix %u does not end with a call", id);
    return HP_OK;
}

enum hp_err hp_path_prefixes_path(struct hp_path_prefixes *p, uint32_t id,
                                  struct hp_path_counted *path)
{
    struct hp_counted stored;
    struct hp_path_prefix prefix;
    HP_TRY(p->source->path(p->source, id, &stored));
    HP_TRY(hp_path_prefixes_get(p, stored.prefix, &prefix));
    const struct hp_block *from = hp_code_block(p->code, prefix.last);
    bool can = stored.taken || hp_path_falls(p->code, from);
    leave(p, &prefix, stored.taken && from->target ? from->target : from->end, stored.taken);
    const struct hp_detector *d = p->detector;
    if (!can || d->n_paths != 1)
        return hp_fail(HP_ERR_FORMAT, "path %u does not end", id);
    *path = (struct hp_path_counted){.path = d->paths[0],
                                     .insns = prefix.insns + prefix.pending + from->insns,
                                     .blocks = prefix.blocks,
                                     .branches = prefix.branches,
                                     .split = d->stats.splits > 0,
                                     .saturated = d->stats.saturated > 0};
    return HP_OK;
}
