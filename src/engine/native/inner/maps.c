// SPDX-License-Identifier: MIT
/*
 * Which code is mapped where, and its name in the stream.
 *
 * The program's own calls update the list (maps_calls.c). It is read from the kernel when code of
 * unknown origin must be named, and when there seems to be no code where the program goes: a change
 * may have been missed. Without /proc, what is known from loading the program and from its calls
 * must suffice.
 */
#include "engine/native/inner/maps.h"

#include "engine/native/inner/sys.h"
#include "hotpath/stream.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/mman.h>
#include <string.h>
#include <sys/stat.h>

#define ZEROS 32 /* file starts remembered while reading */

struct module {
    const char *path;
    uint64_t base;
    uint32_t id;
    bool mapped;
};

struct hp_ranges hp_maps;
const char hp_maps_no_path[] = "";
bool hp_maps_shared_code;

static struct module *modules;
static uint32_t n_modules, modules_room, n_anonymous;
static bool in_doubt = true;

void hp_maps_doubt(void)
{
    in_doubt = true;
}

/* --- Names ------------------------------------------------------------------------------------ */

struct name {
    const char *text;
    uint32_t hash;
    uint32_t next; /* in the same list: index + 1, 0: none */
};

#define LISTS 1024
static struct name *names;
static uint32_t n_names, names_room, first_names[LISTS]; /* by hash: index + 1, 0: none */

static const char *keep(const char *path)
{
    static char *room;
    static size_t left;
    size_t size = strlen(path) + 1;
    if (size > left) {
        left = 1 << 16;
        room = hp_pages(left);
        if (!room || size > left) {
            left = 0;
            return hp_maps_no_path;
        }
    }
    char *copy = memcpy(room, path, size);
    room += size;
    left -= size;
    return copy;
}

/* The unique copy of this text. */
static const char *name(const char *text)
{
    uint32_t hash = 5381;
    if (!*text)
        return hp_maps_no_path;
    for (const char *at = text; *at; at++)
        hash = hash * 33 + (uint8_t)*at;
    uint32_t *first = &first_names[hash % LISTS];
    for (uint32_t i = *first; i; i = names[i - 1].next)
        if (names[i - 1].hash == hash && strcmp(names[i - 1].text, text) == 0)
            return names[i - 1].text;
    if (!hp_grow(&names, &names_room, n_names, sizeof *names))
        return hp_maps_no_path;
    names[n_names++] = (struct name){keep(text), hash, *first};
    *first = n_names;
    return names[n_names - 1].text;
}

/* --- Modules ---------------------------------------------------------------------------------- */

static void name_anonymous(char text[32])
{
    char digits[12];
    int n = 0;
    memcpy(text, "[anon", 6);
    if (++n_anonymous > 1) {
        for (uint32_t v = n_anonymous; v; v /= 10)
            digits[n++] = (char)('0' + v % 10);
        text[5] = ' ';
        for (int i = 0; i < n; i++)
            text[6 + i] = digits[n - 1 - i];
        text[6 + n] = 0;
    }
    size_t end = strlen(text);
    text[end] = ']';
    text[end + 1] = 0;
}

static void tell(struct hp_self *self, struct module *module, bool mapped)
{
    if (module->mapped != mapped)
        hp_words_event(self, hp_word_event(HP_WORD_MODULE, mapped), &module->id, 1);
    module->mapped = mapped;
}

static uint64_t file_mark(const char *path)
{
    struct stat st;
    if (path[0] != '/' ||
        hp_sys_failed(hp_sys4(SYS_newfstatat, AT_FDCWD, (long)path, (long)&st, 0)))
        return 0;
    return hp_arena_file(&st);
}

static void add_module(struct hp_range *range)
{
    char text[32];
    const char *shown = range->path;
    if (shown[0] != '/' && strcmp(shown, "[vdso]") != 0) {
        name_anonymous(text);
        shown = text;
    }
    struct hp_arena_record record = {.base = range->base,
                                     .low = range->low,
                                     .high = range->high,
                                     .file = file_mark(shown),
                                     .length = (uint32_t)strlen(shown),
                                     .is_module = 1};
    if (!hp_grow(&modules, &modules_room, n_modules, sizeof *modules))
        return;
    modules[n_modules++] =
        (struct module){.path = range->path,
                        .base = range->base,
                        .id = hp_arena_add_record(hp_engine.arena, &record, shown)};
    range->module = n_modules;
}

/* The record id of the range's module. */
static uint32_t module_of(struct hp_self *self, struct hp_range *range)
{
    for (uint32_t i = n_modules; i > 0 && !range->module; i--)
        if (modules[i - 1].base == range->base && modules[i - 1].path == range->path)
            range->module = i;
    if (!range->module)
        add_module(range);
    if (!range->module)
        return 0;
    tell(self, &modules[range->module - 1], true);
    return modules[range->module - 1].id;
}

static bool is_mapped(uint32_t module)
{
    for (uint32_t i = 0; i < hp_maps.n; i++) {
        const struct hp_range *range = &hp_maps.items[i];
        if (range->module == module ||
            (range->path == modules[module - 1].path && range->base == modules[module - 1].base))
            return true;
    }
    return false;
}

/* --- Reading ---------------------------------------------------------------------------------- */

struct line {
    uint64_t low, high, offset, inode;
    const char *path;
    uint8_t prot;
    bool shared;
};

/* Where the most recent files start. */
static struct {
    const char *path;
    uint64_t low;
} zeros[ZEROS];
static uint32_t n_zeros;

static uint64_t parse(const char **at, unsigned base)
{
    uint64_t value = 0;
    for (;; (*at)++) {
        unsigned digit = (unsigned char)**at;
        if (digit - '0' < 10)
            value = value * base + (digit - '0');
        else if (digit - 'a' < 6 && base == 16)
            value = value * base + (digit - 'a' + 10);
        else
            return value;
    }
}

/* low-high perms offset device inode path */
static void parse_line(const char *at, struct line *line)
{
    *line = (struct line){.low = parse(&at, 16)};
    at += *at == '-';
    line->high = parse(&at, 16);
    at += *at == ' ';
    line->prot = (uint8_t)((at[0] == 'r' ? PROT_READ : 0) | (at[1] == 'w' ? PROT_WRITE : 0) |
                           (at[2] == 'x' ? PROT_EXEC : 0));
    line->shared = at[3] == 's';
    at += 5;
    line->offset = parse(&at, 16);
    while (*at == ' ')
        at++;
    while (*at && *at != ' ')
        at++;
    while (*at == ' ')
        at++;
    line->inode = parse(&at, 10);
    while (*at == ' ')
        at++;
    line->path = at;
}

/* Where the file's first page is: the nearest mapping below of the same file with offset 0. */
static uint64_t file_base(const struct line *line, const char *path)
{
    for (uint32_t i = n_zeros; i > 0 && i + ZEROS > n_zeros; i--)
        if (zeros[(i - 1) % ZEROS].path == path)
            return zeros[(i - 1) % ZEROS].low;
    return line->low - line->offset;
}

static uint64_t arena_inode(void)
{
    static uint64_t inode;
    struct stat st;
    if (!inode && !hp_sys_failed(hp_sys2(SYS_fstat, hp_engine.arena_fd, (long)&st)))
        inode = st.st_ino;
    return inode;
}

/* Keeps what the old list knows about parts of the line. */
static void take_over(struct hp_ranges *fresh, const struct line *line)
{
    for (uint32_t i = hp_ranges_from(&hp_maps, line->low);
         i < hp_maps.n && hp_maps.items[i].low < line->high; i++) {
        struct hp_range range = hp_maps.items[i];
        if (!(range.used || range.module) || range.inode != line->inode ||
            range.shared != line->shared)
            continue;
        uint64_t low = range.low > line->low ? range.low : line->low;
        if (range.inode && line->offset + (low - line->low) != range.offset + (low - range.low))
            continue;
        range.offset += low - range.low;
        range.low = low;
        if (range.high > line->high)
            range.high = line->high;
        range.prot = line->prot;
        hp_ranges_put(fresh, &range);
    }
}

static void take_line(struct hp_ranges *fresh, const char *text)
{
    struct line line;
    parse_line(text, &line);
    if (line.path[0] == '/' && line.inode == arena_inode())
        return;
    const char *path = NULL;
    if (line.path[0] == '/' && (line.offset == 0 || line.shared || line.prot & PROT_EXEC))
        path = name(line.path);
    if (path && line.offset == 0) {
        zeros[n_zeros % ZEROS].path = path;
        zeros[n_zeros++ % ZEROS].low = line.low;
    }
    if (line.prot & PROT_EXEC || line.shared) {
        struct hp_range range = {.low = line.low,
                                 .high = line.high,
                                 .offset = line.offset,
                                 .inode = line.inode,
                                 .path = path ? path : name(line.path),
                                 .base = path ? file_base(&line, path) : line.low,
                                 .prot = line.prot,
                                 .shared = line.shared};
        hp_ranges_put(fresh, &range);
    }
    take_over(fresh, &line);
}

/* Processes all complete lines; moves the rest to the start and returns its length. */
static size_t take_lines(struct hp_ranges *fresh, char *text, size_t length)
{
    char *at = text, *end = text + length, *newline;
    while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
        *newline = 0;
        take_line(fresh, at);
        at = newline + 1;
    }
    memmove(text, at, (size_t)(end - at));
    return (size_t)(end - at);
}

static bool read_proc(struct hp_ranges *fresh)
{
    static char text[65536];
    size_t length = 0;
    bool any = false;
    /* Not /proc/self/maps, which is empty once the first thread has ended. */
    long n,
        fd = hp_sys4(SYS_openat, AT_FDCWD, (long)"/proc/thread-self/maps", O_RDONLY | O_CLOEXEC, 0);
    if (hp_sys_failed(fd))
        return false;
    while (length < sizeof text &&
           (n = hp_sys3(SYS_read, fd, (long)(text + length), (long)(sizeof text - length))) > 0) {
        length = take_lines(fresh, text, length + (size_t)n);
        any = true;
    }
    hp_sys1(SYS_close, fd);
    return any;
}

/* We made the page read-only. */
static void allow_page(uint64_t page)
{
    hp_ranges_allow(&hp_maps, page, page + 4096, PROT_WRITE);
}

/* Drops code of ranges that have changed. */
static void let_go_of_changed(const struct hp_ranges *old)
{
    for (uint32_t i = 0; i < old->n; i++) {
        const struct hp_range *range = &old->items[i], *now;
        uint64_t at = range->low;
        while (range->used && at < range->high && (now = hp_ranges_at(&hp_maps, at)) && now->used &&
               now->inode == range->inode)
            at = now->high;
        if (range->used && at < range->high)
            hp_cache_invalidate(range->low, range->high);
    }
}

static void read_maps(struct hp_self *self)
{
    static struct hp_ranges fresh;
    in_doubt = false;
    fresh.n = n_zeros = 0;
    if (!read_proc(&fresh))
        return; /* what is known must suffice */
    struct hp_ranges old = hp_maps;
    hp_maps = fresh;
    fresh = old;
    hp_guards_each(allow_page);
    let_go_of_changed(&old);
    for (uint32_t i = 1; i <= n_modules; i++)
        if (modules[i - 1].mapped && !is_mapped(i))
            tell(self, &modules[i - 1], false);
}

/* --- Queries ---------------------------------------------------------------------------------- */

static bool is_known_code(const struct hp_range *range)
{
    return range && range->prot & PROT_EXEC && range->path;
}

/* Whether code continues from one range into the next with the same properties. */
static bool goes_on(const struct hp_range *range, const struct hp_range *next, uint64_t high)
{
    const uint8_t code = PROT_READ | PROT_EXEC;
    return next->low == high && (next->prot & code) == code &&
           (next->prot & PROT_WRITE) == (range->prot & PROT_WRITE) && !next->shared &&
           !range->shared && next->path;
}

bool hp_maps_find(struct hp_self *self, uint64_t address, struct hp_mapped_place *place)
{
    struct hp_range *range = in_doubt ? NULL : hp_ranges_at(&hp_maps, address);
    if (!is_known_code(range)) {
        read_maps(self);
        range = hp_ranges_at(&hp_maps, address);
    }
    if (!range)
        return false;
    if (!range->path)
        range->path = hp_maps_no_path;
    *place = (struct hp_mapped_place){
        .low = range->low,
        .base = range->base,
        .high = range->high,
        .executable = range->prot & PROT_EXEC && range->prot & PROT_READ,
    };
    if (!place->executable)
        return true;
    place->writable = range->prot & PROT_WRITE || range->shared;
    place->solid = !place->writable && range->path[0] == '/';
    hp_maps_shared_code = hp_maps_shared_code || range->shared;
    range->used = true;
    place->module = module_of(self, range);
    for (struct hp_range *next = range + 1;
         next < hp_maps.items + hp_maps.n && goes_on(range, next, place->high); next++) {
        next->used = true;
        place->high = next->high;
    }
    return true;
}

/* --- Changes ---------------------------------------------------------------------------------- */

void hp_maps_loaded(uint64_t low, uint64_t high, int prot, const char *path, uint64_t base)
{
    struct hp_range range = {
        .low = low, .high = high, .path = name(path), .base = base, .prot = (uint8_t)prot};
    hp_ranges_put(&hp_maps, &range);
}

void hp_maps_vdso(uint64_t at)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)at;
    const Elf64_Phdr *segments = (const Elf64_Phdr *)(at + header->e_phoff);
    uint64_t size = 0;
    for (int i = 0; i < header->e_phnum; i++)
        if (segments[i].p_type == PT_LOAD && segments[i].p_vaddr + segments[i].p_memsz > size)
            size = segments[i].p_vaddr + segments[i].p_memsz;
    hp_maps_loaded(at, at + ((size + 4095) & ~(uint64_t)4095), PROT_READ | PROT_EXEC, "[vdso]", at);
}

void hp_maps_drop(struct hp_self *self, uint64_t low, uint64_t high)
{
    struct hp_range *range;
    uint32_t i;
    while ((i = hp_ranges_from(&hp_maps, low)) < hp_maps.n &&
           (range = &hp_maps.items[i])->low < high) {
        uint32_t module = range->module;
        hp_ranges_remove(&hp_maps, range->low > low ? range->low : low,
                         range->high < high ? range->high : high);
        if (module && !is_mapped(module))
            tell(self, &modules[module - 1], false);
    }
}

/* Whether both are code of the same file, one after the other. */
static bool is_same_file(const struct hp_range *a, const struct hp_range *b)
{
    return a->path && a->path[0] == '/' && a->path == b->path && a->base == b->base;
}

/* A part of the i-th range changes. Of a file's code everything goes: see hp_mapped_place.solid. */
static void let_go_of_code(uint32_t i, uint64_t from, uint64_t to)
{
    const struct hp_range *items = hp_maps.items, *range = &items[i];
    if (is_same_file(range, range)) {
        uint32_t low = i, high = i;
        while (low > 0 && is_same_file(&items[low - 1], range))
            low--;
        while (high + 1 < hp_maps.n && is_same_file(&items[high + 1], range))
            high++;
        from = items[low].low;
        to = items[high].high;
    }
    hp_cache_invalidate(from, to);
}

void hp_maps_let_go(uint64_t low, uint64_t high)
{
    for (uint32_t i = hp_ranges_from(&hp_maps, low); i < hp_maps.n && hp_maps.items[i].low < high;
         i++) {
        const struct hp_range *range = &hp_maps.items[i];
        uint64_t from = range->low > low ? range->low : low;
        uint64_t to = range->high < high ? range->high : high;
        if (range->used)
            let_go_of_code(i, from, to);
        if (range->used || range->shared)
            hp_guards_remove(from, to);
    }
}

void hp_maps_file_changed(uint64_t inode, uint64_t low, uint64_t high)
{
    for (uint32_t i = 0; hp_maps_shared_code && i < hp_maps.n; i++) {
        const struct hp_range *range = &hp_maps.items[i];
        uint64_t size = range->high - range->low;
        if (!range->shared || !range->used || range->inode != inode || range->offset >= high ||
            range->offset + size <= low)
            continue;
        uint64_t from = low > range->offset ? low - range->offset : 0;
        uint64_t to = high - range->offset < size ? high - range->offset : size;
        hp_cache_invalidate(range->low + from, range->low + to);
    }
}
