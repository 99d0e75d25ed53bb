// SPDX-License-Identifier: MIT
/* Creating, finishing and freeing a sampler. */
#include "profiler/sample/sampler.h"

#include <stdlib.h>

#define WIDTH_MAX 65536

static enum hp_err check_machine(const struct hp_sample_config *config,
                                 const struct hp_sample_machine *machine)
{
    if (!machine->width || machine->width > WIDTH_MAX)
        return hp_fail(HP_ERR_INVALID, "sampling: a machine fetches 1 to %d a cycle, not %llu",
                       WIDTH_MAX, (unsigned long long)machine->width);
    if (config->window && config->window < machine->in_flight)
        return hp_fail(HP_ERR_INVALID,
                       "sampling: a window of %llu is less than the %llu instructions that the "
                       "machine has in flight",
                       (unsigned long long)config->window, (unsigned long long)machine->in_flight);
    return HP_OK;
}

enum hp_err hp_sampler_new_on(const struct hp_sample_config *config,
                              const struct hp_sample_machine *machine,
                              const struct hp_thread *thread, hp_sample_deliver deliver,
                              void *context, struct hp_sampler **sampler)
{
    struct hp_sample_config own = *config;
    if (own.window == HP_SAMPLE_MACHINE_WINDOW && !machine->window)
        return hp_fail(HP_ERR_INVALID, "sampling: the machine does not say what window pairs have");
    if (own.window == HP_SAMPLE_MACHINE_WINDOW)
        own.window = machine->window;
    HP_TRY(hp_sample_config_check(&own));
    HP_TRY(check_machine(&own, machine));
    struct hp_sampler *s = calloc(1, sizeof *s);
    struct hp_sample_pair *buffer = calloc(own.buffer, sizeof *buffer);
    if (!s || !buffer) {
        free(s);
        free(buffer);
        return hp_fail_nomem();
    }
    *s = (struct hp_sampler){
        .config = own,
        .machine = *machine,
        .thread = *thread,
        .random = hp_random_seed(own.seed, thread->id),
        .history_mask = (uint32_t)(((uint64_t)1 << own.history) - 1),
        .deliver = deliver,
        .context = context,
        .buffer = buffer,
    };
    hp_sampler_start(s);
    *sampler = s;
    return HP_OK;
}

void hp_sampler_free(struct hp_sampler *sampler)
{
    if (!sampler)
        return;
    free(sampler->buffer);
    free(sampler);
}

void hp_sampler_end(struct hp_sampler *sampler)
{
    hp_sampler_cut(sampler);
    hp_sampler_deliver(sampler);
}

const struct hp_sample_config *hp_sampler_config(const struct hp_sampler *sampler)
{
    return &sampler->config;
}

const struct hp_sampler_stats *hp_sampler_stats(const struct hp_sampler *sampler)
{
    return &sampler->stats;
}
