// SPDX-License-Identifier: MIT
/*
 * ELF files and their separate debug files.
 */
#include "profile/symbols_private.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Read, not mapped: a file that shrinks while it is mapped would end the process. O_NONBLOCK: a
 * FIFO of that name must not hang it. */
enum hp_err hp_elf_open(struct hp_elf *file, const char *path)
{
    *file = (struct hp_elf){.fd = -1};
    if (elf_version(EV_CURRENT) == EV_NONE)
        return hp_fail(HP_ERR_INTERNAL, "libelf is too old");
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return hp_fail(HP_ERR_IO, "cannot open %s: %s", path, strerror(errno));
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(fd);
        return hp_fail(HP_ERR_FORMAT, "%s is not a regular file", path);
    }
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    GElf_Ehdr header;
    if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header)) {
        if (elf)
            elf_end(elf);
        close(fd);
        return hp_fail(HP_ERR_FORMAT, "%s is not an ELF file", path);
    }
    *file = (struct hp_elf){.fd = fd, .elf = elf};
    return HP_OK;
}

void hp_elf_close(struct hp_elf *file)
{
    if (!file->elf)
        return;
    elf_end(file->elf);
    close(file->fd);
    *file = (struct hp_elf){.fd = -1};
}

const char *hp_elf_section_name(Elf *elf, const GElf_Shdr *header)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return "";
    const char *name = elf_strptr(elf, names, header->sh_name);
    return name ? name : "";
}

Elf_Scn *hp_elf_section_of_type(Elf *elf, uint32_t type)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_type == type)
            return section;
    }
    return NULL;
}

Elf_Scn *hp_elf_section_named(Elf *elf, const char *name)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && strcmp(hp_elf_section_name(elf, &header), name) == 0)
            return section;
    }
    return NULL;
}

char *hp_elf_build_id(Elf *elf)
{
    const void *bytes;
    ssize_t n = dwelf_elf_gnu_build_id(elf, &bytes);
    if (n < 0 || n > 64)
        n = 0;
    char *text = calloc(1, 2 * (size_t)n + 1);
    for (ssize_t i = 0; text && i < n; i++)
        snprintf(text + 2 * i, 3, "%02x", ((const unsigned char *)bytes)[i]);
    return text;
}

/* --- Separate debug files ----------------------------------------------------------------------*/

/* The checksum of .gnu_debuglink: CRC-32 as in zlib. */
static bool file_crc(int fd, uint32_t *crc)
{
    uint32_t table[256];
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++)
            c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
        table[i] = c;
    }
    unsigned char buffer[65536];
    uint32_t c = UINT32_MAX;
    off_t at = 0;
    for (ssize_t n; (n = pread(fd, buffer, sizeof buffer, at)) != 0; at += n) {
        if (n < 0)
            return false;
        for (ssize_t i = 0; i < n; i++)
            c = c >> 8 ^ table[(c ^ buffer[i]) & 0xff];
    }
    *crc = ~c;
    return true;
}

/* What a debug file has to match. */
struct wanted {
    int fd;               /* the file it belongs to */
    const char *build_id; /* "" none */
    bool has_crc;
    uint32_t crc;
};

static bool matches(const struct hp_elf *file, const struct wanted *wanted)
{
    char *build_id = hp_elf_build_id(file->elf);
    if (!build_id)
        return false;
    bool same;
    if (wanted->build_id[0] && build_id[0]) {
        same = strcmp(wanted->build_id, build_id) == 0;
    } else {
        uint32_t crc;
        same = wanted->has_crc && file_crc(file->fd, &crc) && crc == wanted->crc;
    }
    free(build_id);
    return same;
}

static bool same_file(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool try_debug(const char *path, const struct wanted *wanted, struct hp_elf *debug)
{
    if (hp_elf_open(debug, path) != HP_OK)
        return false;
    if (!same_file(debug->fd, wanted->fd) && matches(debug, wanted))
        return true;
    hp_elf_close(debug);
    return false;
}

static const char *debug_directory(void)
{
    const char *directory = getenv("HOTPATH_DEBUG_DIR");
    return directory && directory[0] ? directory : "/usr/lib/debug";
}

static bool debug_by_build_id(const struct wanted *wanted, struct hp_elf *debug)
{
    if (strlen(wanted->build_id) < 4)
        return false;
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/.build-id/%.2s/%s.debug", debug_directory(),
                     wanted->build_id, wanted->build_id + 2);
    return n > 0 && (size_t)n < sizeof path && try_debug(path, wanted, debug);
}

/* The three places GDB documents: beside the file, in .debug beside it, under the debug directory.
 */
static bool debug_by_link(const char *path, const char *link, const struct wanted *wanted,
                          struct hp_elf *debug)
{
    char real[PATH_MAX];
    if (strchr(link, '/') || !link[0] || !realpath(path, real))
        return false;
    *strrchr(real, '/') = '\0';
    const char *const before[] = {"", "", debug_directory()};
    const char *const between[] = {"", "/.debug", ""};
    for (size_t i = 0; i < 3; i++) {
        char candidate[2 * PATH_MAX];
        int n =
            snprintf(candidate, sizeof candidate, "%s%s%s/%s", before[i], real, between[i], link);
        if (n > 0 && (size_t)n < sizeof candidate && try_debug(candidate, wanted, debug))
            return true;
    }
    return false;
}

enum hp_err hp_elf_open_debug(const struct hp_elf *file, const char *path, struct hp_elf *debug)
{
    *debug = (struct hp_elf){.fd = -1};
    GElf_Word crc = 0;
    const char *link = dwelf_elf_gnu_debuglink(file->elf, &crc);
    char *build_id = hp_elf_build_id(file->elf);
    if (!build_id)
        return hp_fail_nomem();
    struct wanted wanted = {
        .fd = file->fd, .build_id = build_id, .has_crc = link != NULL, .crc = crc};
    bool found =
        debug_by_build_id(&wanted, debug) || (link && debug_by_link(path, link, &wanted, debug));
    free(build_id);
    return found ? HP_OK : hp_fail(HP_ERR_NOTFOUND, "%s has no debug file", path);
}
