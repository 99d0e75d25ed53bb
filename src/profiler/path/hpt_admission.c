// SPDX-License-Identifier: MIT
#include "profiler/path/hpt_admission.h"

uint64_t hp_hpt_draw(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

static unsigned log2_of(uint64_t value)
{
    return 63 - (unsigned)__builtin_clzll(value);
}

bool hp_hpt_admits(uint64_t random, uint64_t least, uint32_t events)
{
    uint64_t sum = least > UINT64_MAX - events ? UINT64_MAX : least + events;
    uint64_t mask = (UINT64_C(1) << log2_of(sum)) - 1;
    return (random & mask) < events;
}

/*
 * With exponent 0 the value is the mantissa alone; otherwise the mantissa with a leading one,
 * shifted by exponent - 1.
 */
uint64_t hp_hpt_most(const struct hp_hpt_config *config)
{
    uint32_t mantissa = config->accumulator_bits - config->exponent_bits;
    if (!config->exponent_bits)
        return UINT64_MAX >> (64 - mantissa);
    return ((UINT64_C(2) << mantissa) - 1) << ((1u << config->exponent_bits) - 2);
}

uint64_t hp_hpt_round(const struct hp_hpt_config *config, uint64_t value, uint64_t random)
{
    uint32_t mantissa = config->accumulator_bits - config->exponent_bits;
    if (!config->exponent_bits || value >> mantissa <= 1)
        return value;
    uint64_t step = UINT64_C(1) << (log2_of(value) - mantissa);
    uint64_t rest = value & (step - 1);
    return value - rest + ((random & (step - 1)) < rest ? step : 0);
}
