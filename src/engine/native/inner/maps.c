// SPDX-License-Identifier: MIT
/*
 * Which code is mapped where, by /proc/thread-self/maps (/proc/self/maps is empty when the first
 * thread is gone).
 */
#include "engine/native/inner/cache.h"
#include "engine/native/inner/sys.h"
#include "hotpath/stream.h"

#include <fcntl.h>
#include <linux/mman.h>
#include <string.h>

#define MAX_MAPPINGS 65536
#define MAX_MODULES  16384
#define TEXT_SIZE    (16u << 20)

struct mapping {
    uint64_t low, high, offset;
    const char *path; /* into `text`; "" for none */
    uint32_t module;  /* 0: not asked for yet */
    bool executable, writable, readable;
};

struct module {
    const char *path;
    uint64_t base;
    uint32_t id;
    bool mapped;
};

static char *text;
static struct mapping *mappings;
static uint32_t n_mappings;
static struct module *modules;
static uint32_t n_modules, n_anonymous;
static bool stale = true;

/* --- Reading ---------------------------------------------------------------------------------- */

static bool read_text(void)
{
    long fd =
        hp_sys4(SYS_openat, AT_FDCWD, (long)"/proc/thread-self/maps", O_RDONLY | O_CLOEXEC, 0);
    if (hp_sys_failed(fd))
        return false;
    size_t length = 0;
    while (length < TEXT_SIZE - 1) {
        long n = hp_sys3(SYS_read, fd, (long)(text + length), (long)(TEXT_SIZE - 1 - length));
        if (n <= 0)
            break;
        length += (size_t)n;
    }
    hp_sys1(SYS_close, fd);
    text[length] = 0;
    return length > 0;
}

static uint64_t parse_hex(char **at)
{
    uint64_t value = 0;
    for (;; (*at)++) {
        unsigned digit = (unsigned char)**at;
        if (digit - '0' < 10)
            value = value << 4 | (digit - '0');
        else if (digit - 'a' < 6)
            value = value << 4 | (digit - 'a' + 10);
        else
            return value;
    }
}

/* low-high perms offset device inode path */
static void parse_line(char *at, struct mapping *m)
{
    *m = (struct mapping){.low = parse_hex(&at)};
    at += *at == '-';
    m->high = parse_hex(&at);
    at += *at == ' ';
    m->readable = at[0] == 'r';
    m->writable = at[1] == 'w';
    m->executable = at[2] == 'x';
    at += 5;
    m->offset = parse_hex(&at);
    for (int fields = 0; fields < 3 && *at; fields++) { /* behind device and inode */
        while (*at == ' ')
            at++;
        if (fields < 2)
            while (*at && *at != ' ')
                at++;
    }
    m->path = at;
}

static void read_maps(void)
{
    stale = false;
    n_mappings = 0;
    if (!read_text())
        return;
    for (char *line = text, *end; *line && n_mappings < MAX_MAPPINGS; line = end + 1) {
        end = strchr(line, '\n');
        if (!end)
            break;
        *end = 0;
        parse_line(line, &mappings[n_mappings++]);
    }
}

static struct mapping *find_mapping(uint64_t address)
{
    uint32_t low = 0, high = n_mappings;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (mappings[middle].high <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n_mappings && mappings[low].low <= address ? &mappings[low] : NULL;
}

/* --- Modules ---------------------------------------------------------------------------------- */

/* Where the file's first page is: the nearest mapping below of the same file with offset 0. */
static uint64_t file_base(const struct mapping *mapping)
{
    for (const struct mapping *m = mapping; m >= mappings; m--)
        if (m->offset == 0 && strcmp(m->path, mapping->path) == 0)
            return m->low;
    return mapping->low - mapping->offset;
}

static const char *keep(const char *path)
{
    static char *room;
    static size_t left;
    size_t size = strlen(path) + 1;
    if (size > left) {
        left = 1 << 16;
        room = hp_pages(left);
        if (!room || size > left)
            return "";
    }
    char *copy = memcpy(room, path, size);
    room += size;
    left -= size;
    return copy;
}

static void name_anonymous(char name[32])
{
    char digits[12];
    int n = 0;
    memcpy(name, "[anon", 6);
    if (++n_anonymous > 1) {
        for (uint32_t v = n_anonymous; v; v /= 10)
            digits[n++] = (char)('0' + v % 10);
        name[5] = ' ';
        for (int i = 0; i < n; i++)
            name[6 + i] = digits[n - 1 - i];
        name[6 + n] = 0;
    }
    size_t end = strlen(name);
    name[end] = ']';
    name[end + 1] = 0;
}

static void tell(struct hp_self *self, uint32_t id, uint32_t loaded)
{
    hp_words_event(self, hp_word_event(HP_WORD_MODULE, loaded), &id, 1);
}

static uint32_t add_module(struct hp_self *self, const struct mapping *mapping, uint64_t base)
{
    char name[32];
    const char *shown = mapping->path;
    if (shown[0] != '/' && strcmp(shown, "[vdso]") != 0) {
        name_anonymous(name);
        shown = name;
    }
    struct hp_arena_record record = {.base = base,
                                     .low = mapping->low,
                                     .high = mapping->high,
                                     .length = (uint32_t)strlen(shown),
                                     .is_module = 1};
    uint32_t id = hp_arena_add_record(hp_engine.arena, &record, shown);
    if (n_modules < MAX_MODULES)
        modules[n_modules++] =
            (struct module){.path = keep(mapping->path), .base = base, .id = id, .mapped = true};
    tell(self, id, 1);
    return id;
}

static uint32_t module_of(struct hp_self *self, struct mapping *mapping)
{
    if (mapping->module)
        return mapping->module;
    uint64_t base = mapping->path[0] == '/' ? file_base(mapping) : mapping->low;
    for (uint32_t i = n_modules; i-- > 0 && !mapping->module;)
        if (modules[i].base == base && strcmp(modules[i].path, mapping->path) == 0) {
            if (!modules[i].mapped) /* loaded again */
                tell(self, modules[i].id, 1);
            modules[i].mapped = true;
            mapping->module = modules[i].id;
        }
    if (!mapping->module)
        mapping->module = add_module(self, mapping, base);
    return mapping->module;
}

/* Tells of modules of which nothing is mapped where it was any more. */
static void find_unloaded(struct hp_self *self)
{
    for (uint32_t i = 0; i < n_modules; i++) {
        const struct mapping *mapping = find_mapping(modules[i].base);
        bool mapped = mapping && strcmp(mapping->path, modules[i].path) == 0;
        if (modules[i].mapped && !mapped) {
            modules[i].mapped = false;
            tell(self, modules[i].id, 0);
        }
    }
}

/* --- Asking ----------------------------------------------------------------------------------- */

bool hp_maps_find(struct hp_self *self, uint64_t address, struct hp_place *place)
{
    if (!text) {
        text = hp_pages(TEXT_SIZE);
        mappings = hp_pages(MAX_MAPPINGS * sizeof *mappings);
        modules = hp_pages(MAX_MODULES * sizeof *modules);
        if (!text || !mappings || !modules)
            return false;
    }
    struct mapping *m = stale ? NULL : find_mapping(address);
    if (!m || !m->executable) {
        read_maps();
        find_unloaded(self);
        m = find_mapping(address);
    }
    if (!m)
        return false;
    *place = (struct hp_place){.high = m->high, .executable = m->executable && m->readable};
    if (!place->executable)
        return true;
    place->writable = m->writable || hp_guards_know(address);
    place->module = module_of(self, m);
    for (m++; m < mappings + n_mappings && m->low == place->high && m->executable && m->readable;
         m++)
        place->high = m->high;
    return true;
}

/* --- Changes ----------------------------------------------------------------------------------- */

void hp_maps_changed(uint64_t low, uint64_t high)
{
    hp_lock();
    bool code = false;
    for (uint32_t i = 0; i < n_mappings && !code; i++)
        code = mappings[i].executable && mappings[i].low < high && mappings[i].high > low;
    if (code || stale) {
        hp_cache_invalidate(low, high);
        hp_guards_forget(low, high);
    }
    stale = stale || code;
    hp_unlock();
}

void hp_maps_new_code(void)
{
    hp_lock();
    stale = true;
    hp_unlock();
}
