// SPDX-License-Identifier: MIT
#include "engine/qemu/plugin_modules.h"

#include "base/bisect.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A line of /proc/self/maps. */
struct mapping {
    uint64_t low, high, offset;
    const char *path; /* points into `text`; "" for none */
};

struct module {
    char *path;
    uint64_t base; /* host */
    uint32_t id;
    bool mapped;
    bool told; /* last value of `mapped` */
};

static char *text; /* the maps as last read */
static size_t text_size;
static struct mapping *mappings;
static size_t n_mappings, cap_mappings;
static struct module *modules; /* all modules ever added to the arena */
static size_t n_modules, cap_modules;
static unsigned n_anonymous;
static _Atomic bool stale = true;

void hp_modules_changed(void)
{
    stale = true;
}

/* Reads all of /proc/self/maps into `text`; false on failure. */
static bool read_text(void)
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t length = 0;
    for (;;) {
        if (length + 4096 > text_size) {
            size_t size = text_size ? text_size * 2 : 1 << 16;
            char *grown = realloc(text, size);
            if (!grown)
                break;
            text = grown;
            text_size = size;
        }
        ssize_t n = read(fd, text + length, text_size - length - 1);
        if (n <= 0)
            break;
        length += (size_t)n;
    }
    close(fd);
    if (text)
        text[length] = 0;
    return length > 0;
}

static void parse_line(char *line)
{
    unsigned long long low, high, offset;
    int path = 0;
    if (sscanf(line, "%llx-%llx %*s %llx %*s %*s %n", &low, &high, &offset, &path) < 3)
        return;
    if (n_mappings == cap_mappings) {
        size_t cap = cap_mappings ? cap_mappings * 2 : 256;
        struct mapping *grown = realloc(mappings, cap * sizeof *grown);
        if (!grown)
            return;
        mappings = grown;
        cap_mappings = cap;
    }
    mappings[n_mappings++] = (struct mapping){
        .low = low, .high = high, .offset = offset, .path = path ? line + path : ""};
}

static void read_maps(void)
{
    stale = false;
    n_mappings = 0;
    if (!read_text())
        return;
    for (char *line = text, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        if (!end)
            break;
        *end = 0;
        parse_line(line);
    }
}

static const struct mapping *find_mapping(uint64_t host)
{
    size_t low = HP_BISECT(i, 0, n_mappings, mappings[i].high <= host);
    return low < n_mappings && mappings[low].low <= host ? &mappings[low] : NULL;
}

/* Where the file's first page is: the nearest mapping below of the same file with offset 0. */
static uint64_t file_base(const struct mapping *mapping)
{
    for (const struct mapping *m = mapping; m >= mappings; m--)
        if (m->offset == 0 && strcmp(m->path, mapping->path) == 0)
            return m->low;
    return mapping->low - mapping->offset;
}

static uint32_t add_module(struct hp_arena *arena, const char *path, uint64_t base, uint64_t low,
                           uint64_t high, uint64_t guest_base)
{
    char name[32];
    bool anonymous = path[0] != '/';
    if (anonymous) {
        n_anonymous++;
        snprintf(name, sizeof name, n_anonymous == 1 ? "[anon]" : "[anon %u]", n_anonymous);
    }
    const char *shown = anonymous ? name : path;
    struct stat st;
    struct hp_arena_record record = {.base = base - guest_base,
                                     .low = low - guest_base,
                                     .high = high - guest_base,
                                     .file = !anonymous && stat(path, &st) == 0 ? hp_arena_file(&st)
                                                                                : 0,
                                     .length = (uint32_t)strlen(shown),
                                     .is_module = 1};
    uint32_t id = hp_arena_add_record(arena, &record, shown);
    if (n_modules == cap_modules) {
        size_t cap = cap_modules ? cap_modules * 2 : 64;
        struct module *grown = realloc(modules, cap * sizeof *grown);
        if (!grown)
            return id;
        modules = grown;
        cap_modules = cap;
    }
    char *copy = strdup(path);
    if (copy)
        modules[n_modules++] =
            (struct module){.path = copy, .base = base, .id = id, .mapped = true, .told = true};
    return id;
}

/* Marks the modules that are no longer mapped. */
static void find_unloaded(void)
{
    for (size_t i = 0; i < n_modules; i++) {
        const struct mapping *mapping = find_mapping(modules[i].base);
        bool mapped = mapping && strcmp(mapping->path, modules[i].path) == 0;
        if (modules[i].mapped && !mapped) {
            modules[i].mapped = false;
            modules[i].told = false;
        }
    }
}

uint32_t hp_modules_unloaded(void)
{
    for (size_t i = 0; i < n_modules; i++)
        if (!modules[i].mapped && !modules[i].told) {
            modules[i].told = true;
            return modules[i].id;
        }
    return 0;
}

uint32_t hp_modules_find(struct hp_arena *arena, uint64_t host, uint64_t guest_base, bool *is_new)
{
    *is_new = false;
    if (stale || !find_mapping(host)) {
        read_maps();
        find_unloaded();
    }
    const struct mapping *mapping = find_mapping(host);
    struct mapping nowhere = {.low = host & ~4095ull, .high = (host & ~4095ull) + 4096, .path = ""};
    if (!mapping)
        mapping = &nowhere;
    uint64_t base = mapping->path[0] == '/' ? file_base(mapping) : mapping->low;
    for (size_t i = n_modules; i-- > 0;)
        if (modules[i].base == base && strcmp(modules[i].path, mapping->path) == 0) {
            *is_new = !modules[i].mapped; /* loaded again */
            modules[i].mapped = true;
            return modules[i].id;
        }
    *is_new = true;
    return add_module(arena, mapping->path, base, mapping->low, mapping->high, guest_base);
}
