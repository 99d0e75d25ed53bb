// SPDX-License-Identifier: MIT
/*
 * Names for parts of the processor.
 */
#ifndef HP_NATIVE_CPU_H
#define HP_NATIVE_CPU_H

#include <stdint.h>

/* Segments of ordinary 64-bit programs. */
#define USER_CS 0x33
#define USER_SS 0x2b

#define FLAG_TF 0x100u
#define FLAG_DF 0x400u
#define FLAG_NT 0x4000u
#define FLAG_RF 0x10000u
#define FLAG_AC 0x40000u

/* eax, ebx, ecx, edx */
static inline void hp_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t r[4])
{
    __asm__ volatile("cpuid"
                     : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3])
                     : "a"(leaf), "c"(subleaf));
}

#endif
