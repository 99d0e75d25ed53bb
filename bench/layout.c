// SPDX-License-Identifier: MIT
/* The words of a recording, as an engine that lays out runs of blocks would have written them. */
#include "recording.h"

#include "base/grow.h"
#include "base/map64.h"

struct layout {
    struct hp_sink sink; /* first */
    const struct hp_code *from;
    struct recording *to;
    uint32_t longest;
    uint32_t next_id;
    struct hp_map64 id_of; /* parent << 32 | block -> segment */
    uint32_t id, length;   /* of the current run; 0: none */
    bool goes_on;          /* the successor of the last block is laid out after it */
    enum hp_err err;
};

static void put(struct layout *l, const uint32_t *words, size_t n)
{
    struct recording *r = l->to;
    if (l->err == HP_OK)
        l->err = hp_grow(&r->words, &r->cap_words, r->n_words + n, sizeof *words);
    for (size_t i = 0; i < n && l->err == HP_OK; i++)
        r->words[r->n_words++] = words[i];
}

static void end_run(struct layout *l)
{
    if (l->id)
        put(l, &l->id, 1);
    l->id = 0;
    l->goes_on = false;
}

/* The segment of `block` after `parent`, 0: none. */
static enum hp_err find_segment(struct layout *l, uint32_t parent, uint32_t block, uint32_t *id)
{
    uint64_t key = (uint64_t)parent << 32 | block;
    *id = hp_map64_get(&l->id_of, key);
    if (*id != HP_MAP64_NONE)
        return HP_OK;
    const struct hp_block *b = hp_code_block(l->from, block);
    struct hp_segment segment = {
        .start = b->start,
        .module = b->module,
        .parent = parent,
        .mode = b->flags & HP_BLOCK_THUMB ? HP_MODE_THUMB : HP_MODE_DEFAULT,
        .size = (uint32_t)(b->end - b->start),
        .bytes = hp_code_bytes(l->from, b),
    };
    *id = ++l->next_id;
    HP_TRY(hp_code_add_segment(l->to->code, *id, &segment));
    return hp_map64_put(&l->id_of, key, *id);
}

static void lay_block(struct layout *l, uint32_t block, bool taken)
{
    uint8_t flow = hp_code_block(l->from, block)->flow;
    if (!l->goes_on || l->length == l->longest)
        end_run(l);
    l->length = l->id ? l->length + 1 : 1;
    if (l->err == HP_OK)
        l->err = find_segment(l, l->id, block, &l->id);
    l->goes_on = flow == HP_FLOW_COND ? !taken : flow == HP_FLOW_JUMP || flow == HP_FLOW_CALL;
}

static void lay_batch(struct hp_sink *sink, const struct hp_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++)
        lay_block((struct layout *)sink, batch->blocks[i], batch->taken[i]);
}

/* Signals and the like are rare: a new history begins there. */
static void lay_event(struct hp_sink *sink, const struct hp_event *event)
{
    struct layout *l = (struct layout *)sink;
    const uint32_t gap[] = {hp_word_event(HP_WORD_LOST, HP_LOST_NONE), 0, 0};
    if (event->kind == HP_EVENT_MODULE)
        return;
    if (event->kind == HP_EVENT_TAIL)
        lay_block(l, event->block, true);
    end_run(l);
    if (event->kind != HP_EVENT_TAIL && event->kind != HP_EVENT_END)
        put(l, gap, 3);
}

static enum hp_err lay_part(struct layout *l, const struct recording *old,
                            const struct recording_part *part, struct hp_cursor *cursor)
{
    struct recording *r = l->to;
    size_t first = r->n_words;
    HP_TRY(hp_cursor_feed(cursor, old->words + part->first, part->n));
    HP_TRY(l->err);
    HP_TRY(hp_grow(&r->parts, &r->cap_parts, r->n_parts + 1, sizeof *r->parts));
    r->parts[r->n_parts++] =
        (struct recording_part){.thread = part->thread, .first = first, .n = r->n_words - first};
    return HP_OK;
}

/* Only the first thread: it does nearly all the work in these programs. */
static enum hp_err lay_out(struct layout *l, const struct recording *old)
{
    struct hp_cursor *cursor;
    HP_TRY(hp_cursor_new(old->code, NULL, &l->sink, &cursor));
    enum hp_err err = HP_OK;
    for (size_t i = 0; i < old->n_parts && err == HP_OK; i++)
        if (old->parts[i].thread == old->threads[0].id)
            err = lay_part(l, old, &old->parts[i], cursor);
    hp_cursor_free(cursor);
    return err;
}

enum hp_err recording_lay_out(struct recording *recording, uint32_t longest)
{
    struct recording made = {0};
    struct layout l = {.sink = {.batch = lay_batch, .event = lay_event},
                       .from = recording->code,
                       .to = &made,
                       .longest = longest};
    HP_TRY(hp_code_new(hp_code_arch(recording->code), &made.code));
    enum hp_err err = hp_grow(&made.threads, &made.cap_threads, 1, sizeof *made.threads);
    for (uint32_t i = 0, id; err == HP_OK && i < hp_code_n_modules(recording->code); i++)
        err = hp_code_add_module(made.code, hp_code_module(recording->code, i), &id);
    if (err == HP_OK) {
        made.threads[made.n_threads++] = recording->threads[0];
        err = lay_out(&l, recording);
    }
    hp_map64_fini(&l.id_of);
    if (err != HP_OK) {
        recording_fini(&made);
        return err;
    }
    recording_fini(recording);
    *recording = made;
    return HP_OK;
}
