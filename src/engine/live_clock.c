// SPDX-License-Identifier: MIT
/* The processor's clock, for engines that take the time often (ticks.h). */
#include "engine/live_impl.h"

#ifdef __x86_64__

#include "base/debug.h"

#include <cpuid.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <x86intrin.h>

#define FIRST_NS 1000000 /* the first measurement takes so long */
#define TRIES    8       /* at two clocks at once */

/* The kernel has another clock where it found that this one cannot be relied on. */
static bool is_distrusted(void)
{
    char name[32] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
    if (!file)
        return false;
    if (!fgets(name, sizeof name, file))
        name[0] = 0;
    fclose(file);
    return strncmp(name, "hpet", 4) == 0 || strncmp(name, "acpi_pm", 7) == 0 ||
           strncmp(name, "pit", 3) == 0 || strncmp(name, "jiffies", 7) == 0 ||
           strncmp(name, "refined-jiffies", 15) == 0;
}

/* It goes at one rate in all states of the processor, and may be read. */
static bool is_usable(void)
{
    unsigned a, b, c, d = 0;
    int mode = PR_TSC_ENABLE;
    prctl(PR_GET_TSC, &mode);
    return mode == PR_TSC_ENABLE && __get_cpuid(0x80000007, &a, &b, &c, &d) && d >> 8 & 1 &&
           !is_distrusted();
}

struct moment {
    uint64_t ticks, ns;
};

/* Both clocks at once: what came nearest to that. */
static struct moment look(void)
{
    struct moment best = {0};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        struct timespec now;
        uint64_t before = __rdtsc();
        clock_gettime(CLOCK_MONOTONIC, &now);
        uint64_t took = __rdtsc() - before;
        if (took >= least)
            continue;
        least = took;
        best = (struct moment){before + took / 2,
                               (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec};
    }
    return best;
}

static void set_rate(struct hp_live *live, struct moment now)
{
    struct hp_ticks *known = &live->arena->ticks;
    uint64_t ticks = now.ticks - live->clock_ticks, ns = now.ns - live->clock_ns;
    if (now.ticks <= live->clock_ticks || now.ns <= live->clock_ns)
        return;
    uint64_t rate = (uint64_t)(((unsigned __int128)ns << 32) / ticks);
    atomic_store(&known->rate, rate);
    live->tune_after = now.ticks + 9 * ticks;
    hp_debug(HP_DEBUG_ENGINE, "a second has %.0f ticks", 4294967296e9 / (double)rate);
}

void hp_live_start_clock(struct hp_live *live)
{
    struct moment now;
    if (!is_usable())
        return;
    now = look();
    live->arena->ticks.ticks = live->clock_ticks = now.ticks;
    live->arena->ticks.ns = live->clock_ns = now.ns;
    do
        now = look();
    while (now.ns < live->clock_ns + FIRST_NS);
    set_rate(live, now);
}

void hp_live_tune_clock(struct hp_live *live)
{
    if (live->tune_after && __rdtsc() > live->tune_after)
        set_rate(live, look());
}

#else

void hp_live_start_clock(struct hp_live *live)
{
    (void)live;
}

void hp_live_tune_clock(struct hp_live *live)
{
    (void)live;
}

#endif
