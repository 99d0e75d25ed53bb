// SPDX-License-Identifier: MIT
/*
 * Files are kept open and read when code is asked for, not mapped: they may shrink meanwhile.
 */
#include "machine/pipe/image.h"

#include "base/grow.h"
#include "symbols/symbols_private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SEGMENTS 256 /* more than any linker makes */

static void close_image(struct hp_image *image)
{
    if (image->fd >= 0)
        close(image->fd);
    free(image->ranges);
    *image = (struct hp_image){.fd = -1};
}

void hp_images_fini(struct hp_images *images)
{
    for (size_t i = 0; i < images->n; i++)
        close_image(&images->images[i]);
    free(images->images);
    free(images->known);
    *images = (struct hp_images){0};
}

static bool overlap(const struct hp_image *a, const struct hp_image *b)
{
    for (size_t i = 0; i < a->n; i++)
        for (size_t j = 0; j < b->n; j++)
            if (a->ranges[i].low < b->ranges[j].high && b->ranges[j].low < a->ranges[i].high)
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

/* --- Reading ---------------------------------------------------------------------------------- */

static size_t read_range(int fd, const struct hp_image_range *range, uint64_t address,
                         uint8_t *bytes, size_t size)
{
    uint64_t from = address - range->low, left = range->high - address;
    size_t done = 0;
    if (size > left)
        size = (size_t)left;
    while (done < size) {
        ssize_t n = pread(fd, bytes + done, size - done, (off_t)(range->offset + from + done));
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    return done;
}

static size_t read_image(const struct hp_image *image, uint64_t address, uint8_t *bytes,
                         size_t size)
{
    for (size_t i = 0; i < image->n; i++)
        if (address >= image->ranges[i].low && address < image->ranges[i].high)
            return read_range(image->fd, &image->ranges[i], address, bytes, size);
    return 0;
}

size_t hp_images_read(const struct hp_images *images, uint64_t address, uint8_t *bytes, size_t size,
                      enum hp_isa_mode *mode)
{
    for (size_t i = images->n; i-- > 0;) {
        size_t n = read_image(&images->images[i], address, bytes, size);
        if (n) {
            *mode = images->images[i].mode;
            return n;
        }
    }
    return 0;
}

/* --- Opening ---------------------------------------------------------------------------------- */

/* A segment as it is loaded at `base`, when that and the file leave it any room. */
static enum hp_err add_range(struct hp_image *image, const GElf_Phdr *segment, uint64_t lowest,
                             uint64_t base, uint64_t file_size)
{
    uint64_t size = segment->p_filesz, low = base + (segment->p_vaddr - lowest);
    if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) || segment->p_offset >= file_size)
        return HP_OK;
    if (size > file_size - segment->p_offset)
        size = file_size - segment->p_offset;
    if (size > UINT64_MAX - low)
        return HP_OK;
    HP_TRY(hp_grow(&image->ranges, &image->cap, image->n + 1, sizeof *image->ranges));
    image->ranges[image->n++] =
        (struct hp_image_range){.low = low, .high = low + size, .offset = segment->p_offset};
    return HP_OK;
}

/* Lists the code; offsets of a module count from the lowest page that is loaded. */
static enum hp_err add_ranges(struct hp_image *image, Elf *elf, uint64_t base, uint64_t file_size)
{
    GElf_Phdr segment;
    size_t n;
    uint64_t lowest = UINT64_MAX;
    if (elf_getphdrnum(elf, &n) != 0 || n > MAX_SEGMENTS)
        return HP_OK;
    for (size_t i = 0; i < n; i++)
        if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD &&
            segment.p_vaddr < lowest)
            lowest = segment.p_vaddr;
    lowest &= ~(uint64_t)4095;
    for (size_t i = 0; i < n; i++)
        if (gelf_getphdr(elf, (int)i, &segment))
            HP_TRY(add_range(image, &segment, lowest, base, file_size));
    return HP_OK;
}

/* Whether the file is still the one that ran, as its build id says. */
static enum hp_err check_build_id(Elf *elf, const char *wanted, bool *same)
{
    char *id = hp_elf_build_id(elf);
    if (!id)
        return hp_fail_nomem();
    *same = !wanted[0] || strcmp(id, wanted) == 0;
    free(id);
    return HP_OK;
}

static enum hp_err read_elf(struct hp_image *image, const struct hp_module *module,
                            uint64_t file_size)
{
    bool same = false;
    enum hp_err err = HP_OK;
    if (elf_version(EV_CURRENT) == EV_NONE)
        return HP_OK;
    Elf *elf = elf_begin(image->fd, ELF_C_READ, NULL);
    if (elf && elf_kind(elf) == ELF_K_ELF)
        err = check_build_id(elf, module->build_id, &same);
    if (err == HP_OK && same)
        err = add_ranges(image, elf, module->base, file_size);
    if (elf)
        elf_end(elf);
    return err;
}

/* Whether the block has the same code in the file. */
static bool has_code(const struct hp_image *image, const struct hp_code *code,
                     const struct hp_block *block)
{
    const uint8_t *bytes = hp_code_bytes(code, block);
    uint8_t there[512];
    for (uint64_t at = block->start; at < block->end;) {
        size_t size = block->end - at < sizeof there ? (size_t)(block->end - at) : sizeof there;
        if (read_image(image, at, there, size) != size ||
            memcmp(there, bytes + (at - block->start), size) != 0)
            return false;
        at += size;
    }
    return true;
}

/* O_NONBLOCK: a FIFO of that name must not hang us. */
static enum hp_err open_image(struct hp_image *image, const struct hp_code *code,
                              const struct hp_block *block)
{
    const struct hp_module *module = hp_code_module(code, block->module);
    struct stat status;
    if (module->path[0] == '[')
        return HP_OK;
    image->fd = open(module->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (image->fd < 0 || fstat(image->fd, &status) != 0 || !S_ISREG(status.st_mode))
        return HP_OK;
    HP_TRY(read_elf(image, module, (uint64_t)status.st_size));
    if (!module->build_id[0] && !has_code(image, code, block))
        image->n = 0;
    return HP_OK;
}

enum hp_err hp_images_reach(struct hp_images *images, const struct hp_code *code, uint32_t block)
{
    const struct hp_block *b = hp_code_block(code, block);
    struct hp_image image = {.fd = -1,
                             .mode = b->flags & HP_BLOCK_THUMB ? HP_MODE_THUMB : HP_MODE_DEFAULT};
    HP_TRY(hp_grow(&images->known, &images->cap_known, (size_t)b->module + 1, 1));
    HP_TRY(hp_grow(&images->images, &images->cap, images->n + 1, sizeof image));
    enum hp_err err = open_image(&image, code, b);
    if (err != HP_OK || !image.n)
        close_image(&image);
    if (err != HP_OK)
        return err;
    images->known[b->module] = 1;
    if (image.n)
        images->images[images->n++] = image;
    return HP_OK;
}
