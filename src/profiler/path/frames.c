// SPDX-License-Identifier: MIT
#include "profiler/path/frames.h"

#include "base/grow.h"

#include <stdlib.h>

struct hp_path_spot {
    uint32_t function;
    bool asked, entry;
};

static const struct hp_path_spot unknown = {.function = HP_NO_ID};

static const struct hp_path_spot *spot_of(struct hp_frame_source *source, uint32_t block)
{
    struct hp_path_frames *f = (struct hp_path_frames *)source;
    if (!f->functions)
        return &unknown;
    if (block >= f->cap_spots &&
        hp_grow(&f->spots, &f->cap_spots, hp_code_n_blocks(f->code), sizeof *f->spots) != HP_OK) {
        f->out_of_memory = true;
        return &unknown;
    }
    struct hp_path_spot *spot = &f->spots[block];
    if (!spot->asked) {
        uint32_t function = hp_functions_of_block(f->functions, block);
        bool named = function != HP_NO_ID && hp_functions_get(f->functions, function)->symbol;
        spot->function = named ? function : HP_NO_ID;
        spot->entry = named && hp_functions_is_entry(f->functions, block);
        spot->asked = true;
    }
    return spot;
}

static uint32_t function_of(struct hp_frame_source *source, uint32_t block)
{
    return spot_of(source, block)->function;
}

static bool is_entry(struct hp_frame_source *source, uint32_t block)
{
    return spot_of(source, block)->entry;
}

static enum hp_err find_ranges(struct hp_range_source *source, uint32_t module,
                               const struct hp_arena_range **ranges, size_t *n)
{
    struct hp_path_frames *f =
        (struct hp_path_frames *)(void *)((char *)source - offsetof(struct hp_path_frames, ranges));
    const struct hp_symbols *symbols =
        f->functions ? hp_functions_symbols(f->functions, module) : NULL;
    struct hp_symbol_range range;
    *n = 0;
    for (size_t i = 0; symbols && hp_symbols_range(symbols, i, &range); i++) {
        if (range.low == range.high)
            continue;
        HP_TRY(hp_grow(&f->list, &f->cap_list, *n + 1, sizeof *f->list));
        f->list[(*n)++] = (struct hp_arena_range){range.low, range.high, range.function};
    }
    *ranges = f->list;
    return HP_OK;
}

void hp_path_frames_init(struct hp_path_frames *frames, const struct hp_code *code,
                         struct hp_functions *functions)
{
    *frames = (struct hp_path_frames){.source = {.function_of = function_of, .is_entry = is_entry},
                                      .code = code,
                                      .functions = functions,
                                      .ranges = {.ranges = find_ranges}};
}

void hp_path_frames_fini(struct hp_path_frames *frames)
{
    free(frames->spots);
    free(frames->list);
    *frames = (struct hp_path_frames){0};
}
