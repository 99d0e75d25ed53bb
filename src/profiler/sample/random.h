// SPDX-License-Identifier: MIT
/*
 * The sampler's random numbers: xoshiro256** (Blackman, Vigna, "Scrambled Linear Pseudorandom
 * Number Generators", 2018), seeded by splitmix64. The same on every machine.
 */
#ifndef HP_PROFILER_SAMPLE_RANDOM_H
#define HP_PROFILER_SAMPLE_RANDOM_H

#include <stdint.h>

struct hp_random {
    uint64_t s[4];
};

static inline uint64_t hp_random_mix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Streams of different (seed, thread) are independent. */
static inline struct hp_random hp_random_seed(uint64_t seed, uint64_t thread)
{
    struct hp_random random;
    uint64_t state = seed;
    state = hp_random_mix(&state) ^ thread;
    for (int i = 0; i < 4; i++)
        random.s[i] = hp_random_mix(&state);
    return random;
}

static inline uint64_t hp_random_next(struct hp_random *random)
{
    uint64_t *s = random->s;
    uint64_t scrambled = s[1] * 5;
    scrambled = (scrambled << 7 | scrambled >> 57) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = s[3] << 45 | s[3] >> 19;
    return scrambled;
}

/* Uniform in from ... to (from <= to, not all 2^64 numbers). The bias of the multiplication is
 * below (to - from + 1) / 2^64. */
static inline uint64_t hp_random_between(struct hp_random *random, uint64_t from, uint64_t to)
{
    unsigned __int128 product = (unsigned __int128)hp_random_next(random) * (to - from + 1);
    return from + (uint64_t)(product >> 64);
}

#endif
