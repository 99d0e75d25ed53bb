// SPDX-License-Identifier: MIT
/*
 * Where BOLT cuts functions into blocks, beside behind branches: at every place that something
 * jumps to, executed or not. A profile has to say how often control ran into such a place from
 * above.
 */
#ifndef HP_EXPORT_BOLT_LABELS_H
#define HP_EXPORT_BOLT_LABELS_H

#include "export/flows.h"
#include "export/optimizers/bolt_image.h"

struct hp_bolt_label {
    uint64_t at;     /* offset in the module; never the start of a function */
    uint64_t before; /* the instruction that ends there */
};

struct hp_bolt_labels {
    struct hp_bolt_label *labels; /* by place */
    size_t n;
};

/* Decodes all functions of the file: targets of direct jumps, and of those computed ones that were
 * executed. HP_ERR_UNSUPPORTED: there is no decoder for the architecture. HP_ERR_NOMEM. */
enum hp_err hp_bolt_labels_find(const struct hp_bolt_image *image, const struct hp_flows *flows,
                                struct hp_bolt_labels *labels);
void hp_bolt_labels_fini(struct hp_bolt_labels *labels);

/* Whether there is one at an offset. */
bool hp_bolt_labels_has(const struct hp_bolt_labels *labels, uint64_t offset);

#endif
