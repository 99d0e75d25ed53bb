// SPDX-License-Identifier: MIT
#include "machine/pipe/image.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

void hp_images_fini(struct hp_images *images)
{
    for (size_t i = 0; i < images->n; i++)
        hp_module_code_close(images->images[i].code);
    free(images->images);
    free(images->known);
    *images = (struct hp_images){0};
}

static bool overlap(const struct hp_code_image *a, const struct hp_code_image *b)
{
    uint64_t low, high, other_low, other_high;
    for (size_t i = 0; hp_module_code_range(a->code, i, &low, &high); i++)
        for (size_t j = 0; hp_module_code_range(b->code, j, &other_low, &other_high); j++)
            if (a->base + low < b->base + other_high && b->base + other_low < a->base + high)
                return true;
    return false;
}

bool hp_images_overlap(const struct hp_images *images)
{
    for (size_t i = 0; i + 1 < images->n; i++)
        if (overlap(&images->images[i], &images->images[images->n - 1]))
            return true;
    return false;
}

size_t hp_images_read(const struct hp_images *images, uint64_t address, uint8_t *bytes, size_t size,
                      enum hp_isa_mode *mode)
{
    for (size_t i = images->n; i-- > 0;) {
        const struct hp_code_image *image = &images->images[i];
        size_t n = hp_module_code_read(image->code, address - image->base, bytes, size);
        if (n) {
            *mode = image->mode;
            return n;
        }
    }
    return 0;
}

/* --- Opening ---------------------------------------------------------------------------------- */

/* Whether the block has the same code in the file. */
static bool has_code(const struct hp_code_image *image, const struct hp_code *code,
                     const struct hp_block *block)
{
    const uint8_t *bytes = hp_code_bytes(code, block);
    uint8_t there[512];
    for (uint64_t at = block->start; at < block->end;) {
        size_t size = block->end - at < sizeof there ? (size_t)(block->end - at) : sizeof there;
        if (hp_module_code_read(image->code, at - image->base, there, size) != size ||
            memcmp(there, bytes + (at - block->start), size) != 0)
            return false;
        at += size;
    }
    return true;
}

/* Without the right file there is no code; that is not an error. */
static enum hp_err open_image(struct hp_code_image *image, const struct hp_code *code,
                              const struct hp_block *block)
{
    const struct hp_module *module = hp_code_module(code, block->module);
    if (module->path[0] == '[')
        return HP_OK;
    enum hp_err err = hp_module_code_open(
        module->path, module->build_id[0] ? module->build_id : NULL, INT64_MAX, &image->code);
    if (err != HP_OK)
        return err == HP_ERR_NOMEM ? err : HP_OK;
    if (!module->build_id[0] && !has_code(image, code, block)) {
        hp_module_code_close(image->code);
        image->code = NULL;
    }
    return HP_OK;
}

enum hp_err hp_images_reach(struct hp_images *images, const struct hp_code *code, uint32_t block)
{
    const struct hp_block *b = hp_code_block(code, block);
    struct hp_code_image image = {.base = hp_code_module(code, b->module)->base,
                                  .mode =
                                      b->flags & HP_BLOCK_THUMB ? HP_MODE_THUMB : HP_MODE_DEFAULT};
    HP_TRY(hp_grow(&images->known, &images->cap_known, (size_t)b->module + 1, 1));
    HP_TRY(hp_grow(&images->images, &images->cap, images->n + 1, sizeof image));
    HP_TRY(open_image(&image, code, b));
    images->known[b->module] = 1;
    if (image.code)
        images->images[images->n++] = image;
    return HP_OK;
}
