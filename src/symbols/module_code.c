// SPDX-License-Identifier: MIT
/*
 * The file is kept open and read on demand, not mapped: it may shrink meanwhile.
 */
#include "symbols/module_code.h"

#include "base/grow.h"
#include "symbols/symbols_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SEGMENTS 256 /* more than any linker makes */

/* A loaded part of the file that is code. */
struct range {
    uint64_t low, high; /* offsets in the module */
    uint64_t offset;    /* in the file, of `low` */
};

struct hp_module_code {
    int fd;
    struct range *ranges;
    size_t n, capacity;
    uint64_t base;
};

uint64_t hp_module_code_base(const struct hp_module_code *code)
{
    return code->base;
}

void hp_module_code_close(struct hp_module_code *code)
{
    if (!code)
        return;
    if (code->fd >= 0)
        close(code->fd);
    free(code->ranges);
    free(code);
}

bool hp_module_code_range(const struct hp_module_code *code, size_t i, uint64_t *low,
                          uint64_t *high)
{
    if (i >= code->n)
        return false;
    *low = code->ranges[i].low;
    *high = code->ranges[i].high;
    return true;
}

uint64_t hp_module_code_file_offset(const struct hp_module_code *code, size_t i)
{
    return i < code->n ? code->ranges[i].offset : 0;
}

/* --- Opening ---------------------------------------------------------------------------------- */

static enum hp_err add_range(struct hp_module_code *code, const GElf_Phdr *segment, uint64_t lowest,
                             uint64_t file_size)
{
    uint64_t size = segment->p_filesz, low = segment->p_vaddr - lowest;
    if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) || segment->p_offset >= file_size)
        return HP_OK;
    if (size > file_size - segment->p_offset)
        size = file_size - segment->p_offset;
    if (size == 0 || size > UINT64_MAX - low)
        return HP_OK;
    HP_TRY(hp_grow(&code->ranges, &code->capacity, code->n + 1, sizeof *code->ranges));
    code->ranges[code->n++] = (struct range){low, low + size, segment->p_offset};
    return HP_OK;
}

static enum hp_err add_ranges(struct hp_module_code *code, Elf *elf, uint64_t file_size)
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
    if (lowest == UINT64_MAX)
        return HP_OK;
    lowest &= ~(uint64_t)4095;
    code->base = lowest;
    for (size_t i = 0; i < n; i++)
        if (gelf_getphdr(elf, (int)i, &segment))
            HP_TRY(add_range(code, &segment, lowest, file_size));
    return HP_OK;
}

static enum hp_err check_identity(Elf *elf, const char *path, const char *build_id,
                                  const struct stat *status, int64_t not_after)
{
    if (!build_id)
        return HP_OK;
    char *id = hp_elf_build_id(elf);
    if (!id)
        return hp_fail_nomem();
    bool same = strcmp(id, build_id) == 0;
    free(id);
    if (!same)
        return hp_fail(HP_ERR_NOTFOUND, "%s has another build id than the file that ran", path);
    if (!*build_id && (int64_t)status->st_mtime > not_after)
        return hp_fail(HP_ERR_NOTFOUND, "%s has no build id, and was changed after the run", path);
    return HP_OK;
}

static enum hp_err read_elf(struct hp_module_code *code, const char *path, const char *build_id,
                            const struct stat *status, int64_t not_after)
{
    if (elf_version(EV_CURRENT) == EV_NONE)
        return hp_fail(HP_ERR_FORMAT, "%s is not ELF", path);
    Elf *elf = elf_begin(code->fd, ELF_C_READ, NULL);
    if (!elf || elf_kind(elf) != ELF_K_ELF) {
        if (elf)
            elf_end(elf);
        return hp_fail(HP_ERR_FORMAT, "%s is not ELF", path);
    }
    enum hp_err err = check_identity(elf, path, build_id, status, not_after);
    if (err == HP_OK)
        err = add_ranges(code, elf, (uint64_t)status->st_size);
    elf_end(elf);
    return err;
}

enum hp_err hp_module_code_open(const char *path, const char *build_id, int64_t not_after,
                                struct hp_module_code **code)
{
    struct stat status;
    if (*path == '[')
        return hp_fail(HP_ERR_NOTFOUND, "its code is in no file");
    struct hp_module_code *c = calloc(1, sizeof *c);
    if (!c)
        return hp_fail_nomem();
    /* O_NONBLOCK: a FIFO of this name must not hang us. */
    c->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    enum hp_err err;
    if (c->fd < 0 || fstat(c->fd, &status) != 0)
        err = hp_fail(HP_ERR_NOTFOUND, "cannot read %s: %s", path, strerror(errno));
    else if (!S_ISREG(status.st_mode))
        err = hp_fail(HP_ERR_NOTFOUND, "%s is not a regular file", path);
    else
        err = read_elf(c, path, build_id, &status, not_after);
    if (err != HP_OK) {
        hp_module_code_close(c);
        return err;
    }
    *code = c;
    return HP_OK;
}

/* --- Reading ---------------------------------------------------------------------------------- */

static size_t read_range(int fd, const struct range *range, uint64_t offset, uint8_t *bytes,
                         size_t size)
{
    uint64_t from = offset - range->low, left = range->high - offset;
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

size_t hp_module_code_read(const struct hp_module_code *code, uint64_t offset, uint8_t *bytes,
                           size_t size)
{
    for (size_t i = 0; i < code->n; i++)
        if (offset >= code->ranges[i].low && offset < code->ranges[i].high)
            return read_range(code->fd, &code->ranges[i], offset, bytes, size);
    return 0;
}
