// SPDX-License-Identifier: MIT
/*
 * The contents of ELF files, and their separate debug files.
 */
#include "base/grow.h"
#include "symbols/debuginfod.h"
#include "symbols/symbols_private.h"

#include <elfutils/libdwelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BUILD_ID 64

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

enum hp_err hp_elf_code(Elf *elf, struct hp_span_index *code)
{
    struct hp_symbol_span *spans = NULL;
    size_t n = 0, capacity = 0;
    enum hp_err err = HP_OK;
    for (Elf_Scn *section = NULL; err == HP_OK && (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR) ||
            header.sh_size > UINT64_MAX - header.sh_addr)
            continue;
        err = hp_grow(&spans, &capacity, n + 1, sizeof *spans);
        if (err == HP_OK)
            spans[n++] = (struct hp_symbol_span){.low = header.sh_addr,
                                                 .high = header.sh_addr + header.sh_size};
    }
    if (err == HP_OK)
        err = hp_span_index_build(code, spans, n);
    free(spans);
    return err;
}

uint64_t hp_elf_base(Elf *elf)
{
    uint64_t lowest = UINT64_MAX;
    size_t n;
    if (elf_getphdrnum(elf, &n) != 0)
        return 0;
    for (size_t i = 0; i < n && i < INT32_MAX; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(elf, (int)i, &segment))
            break;
        if (segment.p_type == PT_LOAD && segment.p_vaddr < lowest)
            lowest = segment.p_vaddr;
    }
    return lowest == UINT64_MAX ? 0 : lowest & ~UINT64_C(4095);
}

static char *hex(const void *bytes, size_t n)
{
    char *text = calloc(1, 2 * n + 1);
    for (size_t i = 0; text && i < n; i++)
        snprintf(text + 2 * i, 3, "%02x", ((const unsigned char *)bytes)[i]);
    return text;
}

char *hp_elf_build_id(Elf *elf)
{
    const void *bytes = NULL;
    ssize_t n = dwelf_elf_gnu_build_id(elf, &bytes);
    return hex(bytes, n < 0 || n > MAX_BUILD_ID ? 0 : (size_t)n);
}

/* --- Separate debug files --------------------------------------------------------------------- */

/* The checksum of .gnu_debuglink: CRC-32 as in zlib. */
static uint32_t checksum(const unsigned char *bytes, size_t size)
{
    uint32_t table[256];
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++)
            c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
        table[i] = c;
    }
    uint32_t c = UINT32_MAX;
    for (size_t i = 0; i < size; i++)
        c = c >> 8 ^ table[(c ^ bytes[i]) & 0xff];
    return ~c;
}

/* What a debug file must match. */
struct wanted {
    const struct hp_elf *file; /* the one it belongs to */
    const char *build_id;      /* "" none */
    bool has_crc;
    uint32_t crc;
};

static bool matches(struct hp_elf *file, const struct wanted *wanted)
{
    char *build_id = hp_elf_build_id(file->elf);
    if (!build_id)
        return false;
    bool same;
    if (wanted->build_id[0] && build_id[0])
        same = strcmp(wanted->build_id, build_id) == 0;
    else
        same = wanted->has_crc && hp_elf_complete(file) == HP_OK &&
               checksum(file->image, file->size) == wanted->crc;
    free(build_id);
    return same;
}

static bool same_file(const struct hp_elf *a, const struct hp_elf *b)
{
    return a->device == b->device && a->inode == b->inode;
}

static bool try_debug(const char *path, const struct wanted *wanted, struct hp_elf *debug)
{
    if (hp_elf_open(debug, path) != HP_OK)
        return false;
    if (!same_file(debug, wanted->file) && matches(debug, wanted))
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

/* From the cache of debuginfod's clients, or from a server, if some are named. */
static bool debug_by_debuginfod(const struct wanted *wanted, struct hp_elf *debug)
{
    char path[PATH_MAX];
    return (hp_debuginfod_cached(wanted->build_id, path) && try_debug(path, wanted, debug)) ||
           (hp_debuginfod_fetch(wanted->build_id, wanted->file->path, path) &&
            try_debug(path, wanted, debug));
}

static bool directory_of(const struct hp_elf *file, char directory[PATH_MAX])
{
    if (!realpath(file->path, directory))
        return false;
    *strrchr(directory, '/') = '\0';
    return true;
}

/* The three places that GDB documents: beside the file, in .debug beside it, under the debug
 * directory. */
static bool debug_by_link(const char *link, const struct wanted *wanted, struct hp_elf *debug)
{
    char directory[PATH_MAX];
    if (strchr(link, '/') || !link[0] || !directory_of(wanted->file, directory))
        return false;
    const char *const before[] = {"", "", debug_directory()};
    const char *const between[] = {"", "/.debug", ""};
    for (size_t i = 0; i < 3; i++) {
        char candidate[2 * PATH_MAX];
        int n = snprintf(candidate, sizeof candidate, "%s%s%s/%s", before[i], directory, between[i],
                         link);
        if (n > 0 && (size_t)n < sizeof candidate && try_debug(candidate, wanted, debug))
            return true;
    }
    return false;
}

enum hp_err hp_elf_open_debug(const struct hp_elf *file, struct hp_elf *debug)
{
    *debug = (struct hp_elf){0};
    GElf_Word crc = 0;
    const char *link = dwelf_elf_gnu_debuglink(file->elf, &crc);
    char *build_id = hp_elf_build_id(file->elf);
    if (!build_id)
        return hp_fail_nomem();
    struct wanted wanted = {
        .file = file, .build_id = build_id, .has_crc = link != NULL, .crc = crc};
    bool found = debug_by_build_id(&wanted, debug) ||
                 (link && debug_by_link(link, &wanted, debug)) ||
                 debug_by_debuginfod(&wanted, debug);
    free(build_id);
    return found ? HP_OK : hp_fail(HP_ERR_NOTFOUND, "%s has no debug file", file->path);
}

static bool alternate_by_name(const char *name, const struct wanted *wanted,
                              struct hp_elf *alternate)
{
    char directory[PATH_MAX], path[2 * PATH_MAX];
    if (name[0] == '/')
        return try_debug(name, wanted, alternate);
    if (!directory_of(wanted->file, directory))
        return false;
    int n = snprintf(path, sizeof path, "%s/%s", directory, name);
    return n > 0 && (size_t)n < sizeof path && try_debug(path, wanted, alternate);
}

enum hp_err hp_elf_open_alternate(const struct hp_elf *file, Dwarf *dwarf, struct hp_elf *alternate)
{
    *alternate = (struct hp_elf){0};
    const char *name;
    const void *build_id;
    ssize_t size = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &build_id);
    if (size <= 0 || size > MAX_BUILD_ID)
        return hp_fail(HP_ERR_NOTFOUND, "%s has no alternate debug file", file->path);
    char *text = hex(build_id, (size_t)size);
    if (!text)
        return hp_fail_nomem();
    struct wanted wanted = {.file = file, .build_id = text};
    bool found = debug_by_build_id(&wanted, alternate) ||
                 alternate_by_name(name, &wanted, alternate) ||
                 debug_by_debuginfod(&wanted, alternate);
    free(text);
    return found ? HP_OK : hp_fail(HP_ERR_NOTFOUND, "cannot find %s for %s", name, file->path);
}
