// SPDX-License-Identifier: MIT
#include "machine/predictor.h"

#include <stdlib.h>

struct combined {
    struct hp_predictor predictor; /* first */
    struct hp_predictor *parts[2];
    bool said[2]; /* by each, of the branch that update() will be about */
    uint64_t mask;
    uint8_t *choices;
};

static bool combined_predict(struct hp_predictor *predictor, uint64_t pc, bool backward)
{
    struct combined *c = (struct combined *)predictor;
    for (int i = 0; i < 2; i++)
        c->said[i] = c->parts[i]->predict(c->parts[i], pc, backward);
    return c->said[hp_counter_taken(c->choices[pc & c->mask], 2)];
}

static void combined_update(struct hp_predictor *predictor, uint64_t pc, bool taken)
{
    struct combined *c = (struct combined *)predictor;
    uint8_t *choice = &c->choices[pc & c->mask];
    if (c->said[0] != c->said[1])
        *choice = hp_counter_next(*choice, 2, c->said[1] == taken);
    for (int i = 0; i < 2; i++)
        c->parts[i]->update(c->parts[i], pc, taken);
}

static void combined_free(struct hp_predictor *predictor)
{
    struct combined *c = (struct combined *)predictor;
    hp_predictor_free(c->parts[0]);
    hp_predictor_free(c->parts[1]);
    free(c->choices);
    free(c);
}

enum hp_err hp_combined_new(struct hp_predictor *first, struct hp_predictor *second,
                            uint64_t entries, struct hp_predictor **predictor)
{
    struct combined *c = malloc(sizeof *c);
    if (!c) {
        hp_predictor_free(first);
        hp_predictor_free(second);
        return hp_fail_nomem();
    }
    *c = (struct combined){.predictor = {.predict = combined_predict,
                                         .update = combined_update,
                                         .free = combined_free},
                           .parts = {first, second},
                           .mask = entries - 1,
                           .choices = hp_counters_new(entries, 2)};
    if (!c->choices) {
        combined_free(&c->predictor);
        return hp_fail_nomem();
    }
    *predictor = &c->predictor;
    return HP_OK;
}
