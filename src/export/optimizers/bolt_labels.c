// SPDX-License-Identifier: MIT
#include "export/optimizers/bolt_labels.h"
#include "base/bisect.h"

#include "base/grow.h"

#include <stdlib.h>

/* Offsets that are jumped to, in any order at first. */
struct targets {
    uint64_t *at;
    size_t n, capacity;
};

static enum hp_err add_target(struct targets *targets, uint64_t at)
{
    HP_TRY(hp_grow(&targets->at, &targets->capacity, targets->n + 1, sizeof *targets->at));
    targets->at[targets->n++] = at;
    return HP_OK;
}

static int order_offsets(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort_targets(struct targets *targets)
{
    size_t kept = 0;
    if (targets->n)
        qsort(targets->at, targets->n, sizeof *targets->at, order_offsets);
    for (size_t i = 0; i < targets->n; i++)
        if (!kept || targets->at[kept - 1] != targets->at[i])
            targets->at[kept++] = targets->at[i];
    targets->n = kept;
}

/* --- Walking over the code -------------------------------------------------------------------- */

struct walk {
    const struct hp_bolt_image *image;
    struct hp_decoder *decoder;
    struct targets targets;
    struct hp_bolt_labels *labels;
    size_t capacity;
};

/* The code of the file at an offset of the module; NULL: there is none. `*size` is how much. */
static const uint8_t *code_at(const struct hp_bolt_image *image, uint64_t offset, size_t *size)
{
    GElf_Phdr segment;
    size_t n;
    uint64_t address = image->base + offset;
    if (elf_getphdrnum(image->file.elf, &n) != 0)
        return NULL;
    for (size_t i = 0; i < n && i < INT32_MAX; i++) {
        if (!gelf_getphdr(image->file.elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
            address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
            continue;
        uint64_t in_file = segment.p_offset + (address - segment.p_vaddr);
        uint64_t left = segment.p_filesz - (address - segment.p_vaddr);
        if (in_file < segment.p_offset || in_file >= image->file.size)
            return NULL;
        if (left > image->file.size - in_file)
            left = image->file.size - in_file;
        *size = (size_t)left;
        return image->file.image + in_file;
    }
    return NULL;
}

typedef enum hp_err visit(struct walk *walk, const struct hp_insn *insn);

/* Calls `each` for every instruction of a function; their addresses are offsets in the module. */
static enum hp_err visit_function(struct walk *walk, const struct hp_bolt_function *function,
                                  visit *each)
{
    size_t size, at = 0;
    uint64_t length = function->size && function->size < function->to - function->from
                          ? function->size
                          : function->to - function->from;
    const uint8_t *code = code_at(walk->image, function->from, &size);
    if (!code)
        return HP_OK;
    if (size > length)
        size = (size_t)length;
    while (at < size) {
        struct hp_insn insn;
        hp_decode(walk->decoder, HP_MODE_DEFAULT, function->from + at, code + at, size - at, true,
                  &insn);
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
    return add_target(&walk->targets, insn->target);
}

static bool has_target(const struct targets *targets, uint64_t at)
{
    return targets->n && bsearch(&at, targets->at, targets->n, sizeof *targets->at, order_offsets);
}

/* A target is a label where an instruction ends, and not a function. */
static enum hp_err note_label(struct walk *walk, const struct hp_insn *insn)
{
    uint64_t end = insn->address + insn->length;
    if (!has_target(&walk->targets, end))
        return HP_OK;
    const struct hp_bolt_function *function = hp_bolt_image_find(walk->image, end);
    if (!function || function->from == end)
        return HP_OK;
    struct hp_bolt_labels *labels = walk->labels;
    HP_TRY(hp_grow(&labels->labels, &walk->capacity, labels->n + 1, sizeof *labels->labels));
    labels->labels[labels->n++] = (struct hp_bolt_label){.at = end, .before = insn->address};
    return HP_OK;
}

/* --- The whole -------------------------------------------------------------------------------- */

/* Computed jumps stay in their function when they are a switch; what they led to is a label then.
 */
static enum hp_err note_executed(struct walk *walk, const struct hp_flows *flows)
{
    for (size_t i = 0; i < flows->profile->n_edges; i++) {
        const struct hp_pedge *edge = &flows->profile->edges[i];
        if (edge->flow != HP_FLOW_JUMP_IND || !hp_flows_leaves(flows, i) ||
            !hp_flows_enters(flows, i) ||
            hp_bolt_image_find(walk->image, edge->from.offset) !=
                hp_bolt_image_find(walk->image, edge->to.offset))
            continue;
        HP_TRY(add_target(&walk->targets, edge->to.offset));
    }
    return HP_OK;
}

static enum hp_err find_labels(struct walk *walk, const struct hp_flows *flows)
{
    HP_TRY(visit_all(walk, note_target));
    HP_TRY(note_executed(walk, flows));
    sort_targets(&walk->targets);
    return visit_all(walk, note_label);
}

enum hp_err hp_bolt_labels_find(const struct hp_bolt_image *image, const struct hp_flows *flows,
                                struct hp_bolt_labels *labels)
{
    struct walk walk = {.image = image, .labels = labels};
    *labels = (struct hp_bolt_labels){0};
    HP_TRY(hp_decoder_new(flows->profile->run.arch, &walk.decoder));
    enum hp_err err = find_labels(&walk, flows);
    hp_decoder_free(walk.decoder);
    free(walk.targets.at);
    if (err != HP_OK)
        hp_bolt_labels_fini(labels);
    return err;
}

void hp_bolt_labels_fini(struct hp_bolt_labels *labels)
{
    free(labels->labels);
    *labels = (struct hp_bolt_labels){0};
}

bool hp_bolt_labels_has(const struct hp_bolt_labels *labels, uint64_t offset)
{
    size_t low = HP_BISECT(i, 0, labels->n, labels->labels[i].at < offset);
    return low < labels->n && labels->labels[low].at == offset;
}
