// SPDX-License-Identifier: MIT
/* The sampler on our own machine in cycles. */
#include "machine/machine.h"
#include "hotpath/sample.h"

static uint64_t address_of(const void *program, uint32_t insn)
{
    if (insn >= hp_program_n_insns(program))
        return 0;
    return hp_program_insns(program)[insn].address;
}

/*
 * The fetch queue and the reorder buffer are in flight. What can retire within `near` cycles on one
 * side of an instruction was fetched within about as many times the width. Slots also pass when
 * nothing is fetched: up to a whole memory access before the next one.
 */
struct hp_sample_machine hp_sample_machine_of(const struct hp_sample_config *config,
                                              const struct hp_program *program)
{
    const struct hp_machine *machine = hp_program_machine(program);
    uint64_t width = machine->core.width;
    uint64_t in_flight = machine->core.reorder + machine->core.fetch_queue;
    uint64_t near = config->near * width;
    uint64_t window = near > in_flight ? near : in_flight;
    if (config->mode == HP_SAMPLE_SLOTS)
        window += machine->memory.latency * width;
    return (struct hp_sample_machine){.width = width,
                                      .in_flight = in_flight,
                                      .window = window,
                                      .pc = address_of,
                                      .context = program};
}

enum hp_err hp_sampler_new(const struct hp_sample_config *config, const struct hp_program *program,
                           const struct hp_thread *thread, hp_sample_deliver deliver, void *context,
                           struct hp_sampler **sampler)
{
    struct hp_sample_machine machine = hp_sample_machine_of(config, program);
    return hp_sampler_new_on(config, &machine, thread, deliver, context, sampler);
}
