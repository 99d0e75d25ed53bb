// SPDX-License-Identifier: MIT
/*
 * ELF files in memory.
 *
 * They are read, not mapped, so that they may shrink or change while in use. Most runs do not need
 * most of a file, its code and debug information: reading that (and the pages it takes) would be
 * most of the cost of opening the C library. So large sections of these kinds are left out at
 * first, as zeros, and read when needed.
 */
#include "symbols/symbols_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* At least this many zero bytes follow the image. libdw and libelf read strings up to their
 * terminator, even if a damaged file has it outside the section: they find one here. */
#define ROOM (UINT64_C(1) << 16)

/* Larger files are mapped anyway. */
#define MAX_READ (UINT64_C(64) << 20)

#define MIN_LEFT_OUT 16384 /* bytes of a section: less is not worth it */

static bool read_range(int fd, struct hp_elf *file, size_t from, size_t size)
{
    for (size_t at = from; at < from + size;) {
        ssize_t n = pread(fd, file->image + at, from + size - at, (off_t)at);
        if (n <= 0)
            return n == 0; /* the file has shrunk: the rest is zero */
        at += (size_t)n;
    }
    return true;
}

/* --- Sections left out ------------------------------------------------------------------------ */

static bool can_wait(const Elf64_Shdr *section, const char *name)
{
    return section->sh_type == SHT_PROGBITS && section->sh_size >= MIN_LEFT_OUT &&
           (strcmp(name, ".text") == 0 || strcmp(name, ".rodata") == 0 ||
            strncmp(name, ".debug_", 7) == 0);
}

static int by_start(const void *a, const void *b)
{
    const struct hp_elf_range *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* Whether `size` bytes at `offset` are in the file. */
static bool is_inside(const struct hp_elf *file, uint64_t offset, uint64_t size)
{
    return offset <= file->size && size <= file->size - offset;
}

/* The name of a section, from the names already read; "": none. */
static const char *name_in(const struct hp_elf *file, const Elf64_Shdr *names, uint32_t offset)
{
    if (offset >= names->sh_size ||
        !memchr(file->image + names->sh_offset + offset, 0, names->sh_size - offset))
        return "";
    return (const char *)file->image + names->sh_offset + offset;
}

/* Reads the section tables and lists the sections that can wait. Unusual files are read
 * completely. */
static bool list_left_out(int fd, struct hp_elf *file)
{
    Elf64_Ehdr header;
    Elf64_Shdr names, section;
    bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    if (file->size < sizeof header)
        return true;
    if (!read_range(fd, file, 0, sizeof header))
        return false;
    memcpy(&header, file->image, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != (little ? ELFDATA2LSB : ELFDATA2MSB) ||
        header.e_shentsize != sizeof section || header.e_shstrndx >= header.e_shnum ||
        !is_inside(file, header.e_shoff, header.e_shnum * sizeof section) ||
        !read_range(fd, file, header.e_shoff, header.e_shnum * sizeof section))
        return true;
    const unsigned char *table = file->image + header.e_shoff;
    memcpy(&names, table + header.e_shstrndx * sizeof names, sizeof names);
    if (!is_inside(file, names.sh_offset, names.sh_size) ||
        !read_range(fd, file, names.sh_offset, names.sh_size))
        return true;
    for (size_t i = 0; i < header.e_shnum && file->n_left_out < HP_ELF_LEFT_OUT; i++) {
        memcpy(&section, table + i * sizeof section, sizeof section);
        if (is_inside(file, section.sh_offset, section.sh_size) &&
            can_wait(&section, name_in(file, &names, section.sh_name)))
            file->left_out[file->n_left_out++] =
                (struct hp_elf_range){.from = section.sh_offset, .size = section.sh_size};
    }
    qsort(file->left_out, file->n_left_out, sizeof *file->left_out, by_start);
    return true;
}

static bool fill(int fd, struct hp_elf *file)
{
    if (file->size > MAX_READ)
        return mmap(file->image, file->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd,
                    0) == file->image;
    if (!list_left_out(fd, file))
        return false;
    size_t at = 0;
    for (size_t i = 0; i < file->n_left_out; i++) {
        const struct hp_elf_range *gap = &file->left_out[i];
        if (gap->from > at && !read_range(fd, file, at, gap->from - at))
            return false;
        if (gap->from + gap->size > at)
            at = gap->from + gap->size;
    }
    return read_range(fd, file, at, file->size - at);
}

/* --- Opening ---------------------------------------------------------------------------------- */

static enum hp_err load_image(struct hp_elf *file, int fd, const char *path)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return hp_fail(HP_ERR_FORMAT, "%s is not a regular file", path);
    file->device = status.st_dev;
    file->inode = status.st_ino;
    file->size = (size_t)status.st_size;
    file->image = mmap(NULL, file->size + ROOM, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (file->image == MAP_FAILED) {
        file->image = NULL;
        return hp_fail_nomem();
    }
    if (!fill(fd, file))
        return hp_fail(HP_ERR_IO, "cannot read %s: %s", path, strerror(errno));
    return HP_OK;
}

static enum hp_err read_image(struct hp_elf *file, const char *path)
{
    if (elf_version(EV_CURRENT) == EV_NONE)
        return hp_fail(HP_ERR_INTERNAL, "libelf is too old");
    file->elf = elf_memory((char *)file->image, file->size);
    GElf_Ehdr header;
    if (!file->elf || elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &header))
        return hp_fail(HP_ERR_FORMAT, "%s is not an ELF file", path);
    return HP_OK;
}

/* O_NONBLOCK: a FIFO of this name must not hang us. */
enum hp_err hp_elf_open(struct hp_elf *file, const char *path)
{
    *file = (struct hp_elf){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return hp_fail(HP_ERR_IO, "cannot open %s: %s", path, strerror(errno));
    enum hp_err err = load_image(file, fd, path);
    close(fd);
    if (err == HP_OK && !(file->path = strdup(path)))
        err = hp_fail_nomem();
    if (err == HP_OK)
        err = read_image(file, path);
    if (err != HP_OK)
        hp_elf_close(file);
    return err;
}

void hp_elf_close(struct hp_elf *file)
{
    if (file->elf)
        elf_end(file->elf);
    if (file->image)
        munmap(file->image, file->size + ROOM);
    free(file->path);
    *file = (struct hp_elf){0};
}

/* --- Reading more ----------------------------------------------------------------------------- */

/* Reads what was left out at `from`, or with `all` everywhere. */
static enum hp_err read_left_out(struct hp_elf *file, size_t from, bool all)
{
    struct stat status;
    size_t kept = 0;
    bool done = true;
    int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) != 0 || status.st_dev != file->device ||
        status.st_ino != file->inode)
        done = false;
    for (size_t i = 0; done && i < file->n_left_out; i++) {
        const struct hp_elf_range range = file->left_out[i];
        if (all || range.from == from)
            done = read_range(fd, file, range.from, range.size);
        else
            file->left_out[kept++] = range;
    }
    if (fd >= 0)
        close(fd);
    if (!done)
        return hp_fail(HP_ERR_IO, "%s cannot be read any more", file->path);
    file->n_left_out = kept;
    return HP_OK;
}

enum hp_err hp_elf_complete(struct hp_elf *file)
{
    return file->n_left_out ? read_left_out(file, 0, true) : HP_OK;
}

enum hp_err hp_elf_need(struct hp_elf *file, const char *name)
{
    GElf_Shdr header;
    Elf_Scn *section = hp_elf_section_named(file->elf, name);
    if (!section || !gelf_getshdr(section, &header))
        return HP_OK;
    for (size_t i = 0; i < file->n_left_out; i++)
        if (file->left_out[i].from == header.sh_offset)
            return read_left_out(file, header.sh_offset, false);
    return HP_OK;
}
