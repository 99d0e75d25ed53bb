// SPDX-License-Identifier: MIT
#include "base/cleanup.h"
#include "base/grow.h"
#include "export/optimizers/bolt.h"
#include "symbols/module_code.h"

#include <stdlib.h>

struct walk {
    struct hp_bolt_image *image;
    struct hp_module_code *code;
    struct hp_decoder *decoder;
    uint8_t *bytes; /* of a function */
    size_t capacity;
};

static void fini_walk(struct walk *walk)
{
    hp_module_code_close(walk->code);
    hp_decoder_free(walk->decoder);
    free(walk->bytes);
}

typedef enum hp_err visit(struct walk *walk, const struct hp_insn *insn);

/* Calls `each` for every instruction of a function; their addresses are offsets in the module. */
static enum hp_err visit_function(struct walk *walk, const struct hp_bolt_function *function,
                                  visit *each)
{
    uint64_t length = function->to - function->from;
    if (function->size && function->size < length)
        length = function->size;
    if (length > walk->image->file.size)
        length = walk->image->file.size;
    HP_TRY(hp_grow(&walk->bytes, &walk->capacity, length, 1));
    size_t size = hp_module_code_read(walk->code, function->from, walk->bytes, length);
    for (size_t at = 0; at < size;) {
        struct hp_insn insn;
        hp_decode(walk->decoder, HP_MODE_DEFAULT, function->from + at, walk->bytes + at, size - at,
                  true, &insn);
        if (!insn.length)
            break;
        HP_TRY(each(walk, &insn));
        at += insn.length;
    }
    return HP_OK;
}

static enum hp_err visit_all(struct walk *walk, visit *each)
{
    for (size_t i = 0; i < walk->image->n; i++)
        HP_TRY(visit_function(walk, &walk->image->functions[i], each));
    return HP_OK;
}

static enum hp_err note_target(struct walk *walk, const struct hp_insn *insn)
{
    if (insn->flow != HP_FLOW_JUMP && insn->flow != HP_FLOW_COND)
        return HP_OK;
    return hp_map64_put(&walk->image->labels, insn->target, 0);
}

/* Computed jumps stay in their function when they are a switch; what they led to is a label then.
 */
static enum hp_err note_executed(struct walk *walk, const struct hp_flows *flows)
{
    for (size_t i = 0; i < flows->profile->n_edges; i++) {
        const struct hp_pedge *edge = &flows->profile->edges[i];
        if (edge->flow == HP_FLOW_JUMP_IND && hp_flows_leaves(flows, i) &&
            hp_flows_enters(flows, i) &&
            hp_bolt_image_find(walk->image, edge->from.offset) ==
                hp_bolt_image_find(walk->image, edge->to.offset))
            HP_TRY(hp_map64_put(&walk->image->labels, edge->to.offset, 0));
    }
    return HP_OK;
}

/* A target is a label where an instruction ends, and not a function. */
static enum hp_err note_length(struct walk *walk, const struct hp_insn *insn)
{
    struct hp_map64 *labels = &walk->image->labels;
    uint64_t end = insn->address + insn->length;
    if (hp_map64_get(labels, end) == HP_MAP64_NONE)
        return HP_OK;
    const struct hp_bolt_function *function = hp_bolt_image_find(walk->image, end);
    return function && function->from != end ? hp_map64_put(labels, end, insn->length) : HP_OK;
}

enum hp_err hp_bolt_image_label(struct hp_bolt_image *image, const struct hp_flows *flows)
{
    struct walk walk HP_CLEANUP(fini_walk) = {.image = image};
    HP_TRY(hp_decoder_new(flows->profile->run.arch, &walk.decoder));
    HP_TRY(hp_module_code_open(image->file.path, NULL, 0, &walk.code));
    HP_TRY(visit_all(&walk, note_target));
    HP_TRY(note_executed(&walk, flows));
    return visit_all(&walk, note_length);
}
