// SPDX-License-Identifier: MIT
#include "import/reader.h"

#include "base/base.h"
#include "import/samples.h"
#include "import/window.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define RECORD_MAX  HP_WINDOW_MOST /* the size of a record has 16 bits */
#define PIECE       (256 * 1024)
#define MAX_ATTRS   1024
#define MAX_IDS     (1 << 20)  /* of all attributes */
#define MAX_FEATURE (16 << 20) /* bytes of a feature that is read */
#define MAX_WORDS   4096
#define MAX_KNOWN   16384 /* files with build ids */
#define MAX_PMUS    4096
#define MAX_RATIO   4096 /* of compressed records; those of real files have less than a hundredth */

struct hp_perf_reader {
    FILE *file;
    bool pipe, swapped;
    uint64_t size;            /* of the file */
    uint64_t at, first, last; /* records: the next, where they begin and end */
    struct hp_window window;  /* bytes of the file */
    bool taken_in;            /* once: attributes and features of a pipe are known */
    struct hp_perf_attrs attrs;
    size_t n_ids;
    char machine[64], version[64], cpu[64];
    struct hp_perf_pmu *pmus;
    size_t n_pmus, cap_pmus;
    char **command;
    struct hp_perf_known_id *known;
    size_t n_known, cap_known;
    struct hp_aux aux;
    char damage[160];
    bool no_memory;
    /* What compressed records hold: one stream, whose records need not end where they do. */
    ZSTD_DStream *stream;
    uint8_t *packed, *plain;
    size_t n_packed, at_packed;
    size_t n_plain, at_plain;
    bool unpacking;
    uint64_t all_packed, all_plain; /* bytes so far */
};

/* --- Answers ---------------------------------------------------------------------------------- */

const char *hp_perf_damage(const struct hp_perf_reader *r)
{
    return r->damage;
}

bool hp_perf_no_memory(const struct hp_perf_reader *r)
{
    return r->no_memory;
}

const struct hp_perf_attrs *hp_perf_attrs(const struct hp_perf_reader *r)
{
    return &r->attrs;
}

const char *hp_perf_machine(const struct hp_perf_reader *r)
{
    return r->machine;
}

const char *hp_perf_version(const struct hp_perf_reader *r)
{
    return r->version;
}

const char *hp_perf_cpu(const struct hp_perf_reader *r)
{
    return r->cpu;
}

const char *hp_perf_pmu(const struct hp_perf_reader *r, uint32_t type)
{
    for (size_t i = 0; i < r->n_pmus; i++)
        if (r->pmus[i].type == type)
            return r->pmus[i].name;
    return "";
}

char *const *hp_perf_command(const struct hp_perf_reader *r)
{
    static char *const none[] = {NULL};
    return r->command ? r->command : none;
}

struct hp_aux *hp_perf_aux(struct hp_perf_reader *r)
{
    return &r->aux;
}

size_t hp_perf_read_at(const struct hp_perf_reader *r, uint64_t at, void *bytes, size_t n)
{
    ssize_t got = at > INT64_MAX ? 0 : pread(fileno(r->file), bytes, n, (off_t)at);
    return got > 0 ? (size_t)got : 0;
}

const char *hp_perf_build_id_of(const struct hp_perf_reader *r, const char *path)
{
    for (size_t i = 0; i < r->n_known; i++)
        if (strcmp(r->known[i].path, path) == 0)
            return r->known[i].build_id;
    return NULL;
}

static bool damaged(struct hp_perf_reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Says it, once; false. */
static bool damaged(struct hp_perf_reader *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!r->damage[0])
        vsnprintf(r->damage, sizeof r->damage, format, arguments);
    va_end(arguments);
    return false;
}

static bool keep(struct hp_perf_reader *r, enum hp_err err)
{
    r->no_memory |= err != HP_OK;
    return err == HP_OK;
}

/* --- Attributes ------------------------------------------------------------------------------- */

static struct hp_perf_bytes bytes_of(const struct hp_perf_reader *r, const void *at, size_t n)
{
    return (struct hp_perf_bytes){.at = at, .end = (const uint8_t *)at + n, .swapped = r->swapped};
}

/* As large as its writer knew it: what is missing is 0, what is more is not needed. */
static struct hp_perf_attr read_attr(struct hp_perf_bytes bytes)
{
    struct hp_perf_attr attr = {0};
    attr.type = hp_perf_u32(&bytes);
    hp_perf_u32(&bytes); /* its size */
    attr.config = hp_perf_u64(&bytes);
    attr.period = hp_perf_u64(&bytes);
    attr.sample_type = hp_perf_u64(&bytes);
    attr.read_format = hp_perf_u64(&bytes);
    uint64_t flags = hp_perf_flags(&bytes);
    attr.frequency = flags >> 10 & 1;
    attr.trailers = flags >> 18 & 1;
    hp_perf_skip(&bytes, 8); /* wake-ups, breakpoints */
    attr.config1 = hp_perf_u64(&bytes);
    attr.config2 = hp_perf_u64(&bytes);
    attr.branch_type = hp_perf_u64(&bytes);
    return attr;
}

static bool add_attr(struct hp_perf_reader *r, struct hp_perf_bytes attr, struct hp_perf_bytes ids)
{
    struct hp_perf_attrs *attrs = &r->attrs;
    size_t n = hp_perf_left(&ids) / sizeof(uint64_t);
    if (attrs->n == MAX_ATTRS || n > MAX_IDS - r->n_ids)
        return damaged(r, "it has too many events");
    if (!keep(r, hp_grow(&attrs->all, &attrs->capacity, attrs->n + 1, sizeof *attrs->all)))
        return false;
    attrs->all[attrs->n] = read_attr(attr);
    attrs->all[attrs->n].layout = hp_perf_layout_of(&attrs->all[attrs->n]);
    r->n_ids += n;
    for (size_t i = 0; i < n; i++) {
        uint64_t id = hp_perf_u64(&ids);
        if (i == 0)
            attrs->all[attrs->n].first_id = id;
        if (!keep(r, hp_map64_put(&attrs->of_id, id, (uint32_t)attrs->n)))
            return false;
    }
    attrs->n++;
    return true;
}

/* Reads a part of the file into `*bytes`; free() its beginning. False: it is not there. */
static bool read_part(struct hp_perf_reader *r, uint64_t offset, uint64_t size, uint8_t **room,
                      struct hp_perf_bytes *bytes)
{
    *room = NULL;
    if (size > MAX_FEATURE || offset > r->size || size > r->size - offset)
        return false;
    if (!keep(r, hp_new(room, size + 1, 1)))
        return false;
    if (fseeko(r->file, (off_t)offset, SEEK_SET) != 0 || fread(*room, 1, size, r->file) != size)
        return false;
    *bytes = bytes_of(r, *room, size);
    return true;
}

static bool read_attrs(struct hp_perf_reader *r, struct hp_perf_section section, uint64_t attr_size)
{
    uint8_t *room HP_CLEANUP(hp_free) = NULL;
    struct hp_perf_bytes bytes;
    if (attr_size < PERF_ATTR_SIZE_VER0 + sizeof section || attr_size > 4096 ||
        !read_part(r, section.offset, section.size, &room, &bytes))
        return damaged(r, "its events cannot be read");
    while (hp_perf_left(&bytes) >= attr_size) {
        struct hp_perf_bytes attr = bytes_of(r, bytes.at, attr_size - sizeof section);
        struct hp_perf_bytes where = bytes_of(r, attr.end, sizeof section), ids = {0};
        uint64_t offset = hp_perf_u64(&where), size = hp_perf_u64(&where);
        uint8_t *more HP_CLEANUP(hp_free) = NULL;
        if (size && !read_part(r, offset, size, &more, &ids))
            return damaged(r, "the ids of its events cannot be read");
        ids.swapped = r->swapped;
        if (!add_attr(r, attr, ids))
            return false;
        bytes.at += attr_size;
    }
    return r->attrs.n || damaged(r, "it has no events");
}

/* --- Features --------------------------------------------------------------------------------- */

static void read_string(struct hp_perf_bytes *bytes, char *text, size_t size)
{
    hp_perf_text(bytes, hp_perf_u32(bytes), text, size);
}

/* A name belongs to the event with one of these ids, or where there are none to the one of its
 * number. */
static void name_event(struct hp_perf_reader *r, struct hp_perf_bytes *bytes, uint32_t number,
                       uint32_t n_ids)
{
    char name[sizeof r->attrs.all->name];
    read_string(bytes, name, sizeof name);
    hp_perf_one_line(name);
    uint64_t id = n_ids ? hp_perf_u64(bytes) : 0;
    hp_perf_skip(bytes, n_ids ? (n_ids - 1) * (uint64_t)sizeof id : 0);
    for (uint32_t i = 0; i < r->attrs.n; i++) {
        struct hp_perf_attr *attr = &r->attrs.all[i];
        bool same = n_ids && attr->first_id ? attr->first_id == id : i == number;
        if (same)
            memcpy(attr->name, name, sizeof name);
    }
}

static void read_events(struct hp_perf_reader *r, struct hp_perf_bytes *bytes)
{
    uint32_t n = hp_perf_u32(bytes), size = hp_perf_u32(bytes);
    for (uint32_t i = 0; i < n && !bytes->bad && hp_perf_left(bytes); i++) {
        hp_perf_skip(bytes, size);
        name_event(r, bytes, i, hp_perf_u32(bytes));
    }
}

static void read_pmus(struct hp_perf_reader *r, struct hp_perf_bytes *bytes)
{
    uint32_t n = hp_perf_u32(bytes);
    for (uint32_t i = 0; i < n && i < MAX_PMUS && hp_perf_left(bytes); i++) {
        struct hp_perf_pmu pmu = {.type = hp_perf_u32(bytes)};
        read_string(bytes, pmu.name, sizeof pmu.name);
        if (bytes->bad || !keep(r, hp_grow(&r->pmus, &r->cap_pmus, r->n_pmus + 1, sizeof *r->pmus)))
            return;
        r->pmus[r->n_pmus++] = pmu;
    }
}

static void read_command(struct hp_perf_reader *r, struct hp_perf_bytes *bytes)
{
    char word[4096];
    uint32_t n = hp_perf_u32(bytes);
    if (r->command || n > MAX_WORDS || !keep(r, hp_new(&r->command, n + 1, sizeof *r->command)))
        return;
    for (uint32_t i = 0; i < n && !bytes->bad; i++) {
        read_string(bytes, word, sizeof word);
        if (!(r->command[i] = strdup(word))) {
            r->no_memory = true;
            return;
        }
    }
}

static void add_build_id(struct hp_perf_reader *r, uint16_t misc, struct hp_perf_bytes *bytes)
{
    uint8_t id[HP_PERF_BUILD_ID_SIZE + 4];
    char path[4096], text[HP_PERF_BUILD_ID_TEXT];
    hp_perf_u32(bytes); /* pid */
    if (hp_perf_left(bytes) < sizeof id)
        return;
    memcpy(id, bytes->at, sizeof id);
    bytes->at += sizeof id;
    hp_perf_text(bytes, hp_perf_left(bytes), path, sizeof path);
    hp_perf_build_id_text(id, misc & HP_PERF_MISC_BUILD_SIZE ? id[HP_PERF_BUILD_ID_SIZE] : 0, text);
    if (r->n_known == MAX_KNOWN || hp_perf_build_id_of(r, path) ||
        !keep(r, hp_grow(&r->known, &r->cap_known, r->n_known + 1, sizeof *r->known)))
        return;
    struct hp_perf_known_id known = {strdup(path), strdup(text)};
    r->no_memory |= !known.path || !known.build_id;
    r->known[r->n_known] = known;
    if (known.path && known.build_id)
        r->n_known++;
}

static void read_build_ids(struct hp_perf_reader *r, struct hp_perf_bytes *bytes)
{
    while (hp_perf_left(bytes) > sizeof(struct perf_event_header)) {
        const uint8_t *begin = bytes->at;
        hp_perf_u32(bytes);
        uint32_t word = hp_perf_u32(bytes); /* misc and size, 16 bits each */
        uint16_t misc = (uint16_t)(r->swapped ? word >> 16 : word);
        uint16_t size = (uint16_t)(r->swapped ? word : word >> 16);
        if (size < sizeof(struct hp_perf_build_id) || size > bytes->end - begin)
            return;
        struct hp_perf_bytes one = bytes_of(r, bytes->at, size - sizeof(struct perf_event_header));
        add_build_id(r, misc, &one);
        bytes->at = begin + size;
    }
}

static void read_feature(struct hp_perf_reader *r, uint64_t feature, struct hp_perf_bytes *bytes)
{
    switch (feature) {
    case HP_PERF_FEATURE_BUILD_ID: read_build_ids(r, bytes); break;
    case HP_PERF_FEATURE_VERSION: read_string(bytes, r->version, sizeof r->version); break;
    case HP_PERF_FEATURE_ARCH:
        read_string(bytes, r->machine, sizeof r->machine);
        hp_perf_one_line(r->machine);
        break;
    case HP_PERF_FEATURE_CPUID: read_string(bytes, r->cpu, sizeof r->cpu); break;
    case HP_PERF_FEATURE_CMDLINE: read_command(r, bytes); break;
    case HP_PERF_FEATURE_PMU_MAPPINGS: read_pmus(r, bytes); break;
    case HP_PERF_FEATURE_EVENT_DESC: read_events(r, bytes); break;
    default: break;
    }
}

/* The sections are behind the data. One that cannot be read is as if it were not there. */
static void read_features(struct hp_perf_reader *r, const uint64_t *features)
{
    struct hp_perf_section sections[HP_PERF_FEATURE_BITS] = {0};
    uint64_t at = r->last;
    for (unsigned i = 0; i < HP_PERF_FEATURE_BITS; i++) {
        uint8_t *room HP_CLEANUP(hp_free) = NULL;
        struct hp_perf_bytes bytes;
        if (!(features[i / 64] >> i % 64 & 1))
            continue;
        if (!read_part(r, at, sizeof *sections, &room, &bytes))
            return;
        sections[i].offset = hp_perf_u64(&bytes);
        sections[i].size = hp_perf_u64(&bytes);
        at += sizeof *sections;
    }
    for (unsigned i = 0; i < HP_PERF_FEATURE_BITS; i++) {
        uint8_t *room HP_CLEANUP(hp_free) = NULL;
        struct hp_perf_bytes bytes;
        if (sections[i].size && read_part(r, sections[i].offset, sections[i].size, &room, &bytes))
            read_feature(r, i, &bytes);
    }
}

/* --- Opening ---------------------------------------------------------------------------------- */

/* What comes through a pipe is needed twice. */
static enum hp_err spool(FILE **file)
{
    uint8_t piece[65536];
    size_t n;
    FILE *from = *file, *to = tmpfile();
    if (!to)
        return hp_fail(HP_ERR_IO, "cannot make a temporary file: %s", strerror(errno));
    while ((n = fread(piece, 1, sizeof piece, from)) > 0)
        fwrite(piece, 1, n, to);
    bool failed = ferror(from) || fflush(to) != 0 || ferror(to);
    if (from != stdin)
        fclose(from);
    *file = to;
    return failed ? hp_fail(HP_ERR_IO, "cannot read or keep it: %s", strerror(errno)) : HP_OK;
}

static enum hp_err open_file(struct hp_perf_reader *r, const char *path)
{
    struct stat status;
    bool standard = strcmp(path, "-") == 0;
    r->file = standard ? stdin : fopen(path, "rbe");
    if (!r->file || fstat(fileno(r->file), &status) != 0)
        return hp_fail(HP_ERR_IO, "cannot open %s: %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return hp_fail(HP_ERR_IO, "%s is a directory", path);
    if (!S_ISREG(status.st_mode))
        HP_TRY(spool(&r->file));
    if (fseeko(r->file, 0, SEEK_END) != 0)
        return hp_fail(HP_ERR_IO, "cannot read %s: %s", path, strerror(errno));
    r->size = (uint64_t)ftello(r->file);
    return HP_OK;
}

static enum hp_err read_header(struct hp_perf_reader *r, const char *path)
{
    uint8_t room[sizeof(struct hp_perf_header)] = {0};
    rewind(r->file);
    size_t n = fread(room, 1, sizeof room, r->file);
    bool own = memcmp(room, HP_PERF_MAGIC, 8) == 0;
    r->swapped = memcmp(room, HP_PERF_MAGIC_SWAPPED, 8) == 0;
    if (n < HP_PERF_PIPE_HEADER || (!own && !r->swapped))
        return hp_fail(HP_ERR_FORMAT, "%s is no perf.data file%s", path,
                       memcmp(room, "PERFFILE", 8) == 0 ? ": it is of the first version" : "");
    struct hp_perf_bytes bytes = bytes_of(r, room + 8, n - 8);
    uint64_t size = hp_perf_u64(&bytes), features[HP_PERF_FEATURE_BITS / 64];
    r->pipe = size == HP_PERF_PIPE_HEADER;
    r->first = HP_PERF_PIPE_HEADER;
    r->last = r->size;
    if (r->pipe)
        return HP_OK;
    uint64_t attr_size = hp_perf_u64(&bytes);
    struct hp_perf_section attrs = {.offset = hp_perf_u64(&bytes)};
    attrs.size = hp_perf_u64(&bytes);
    r->first = hp_perf_u64(&bytes);
    uint64_t data = hp_perf_u64(&bytes);
    hp_perf_skip(&bytes, sizeof attrs);
    for (size_t i = 0; i < HP_PERF_FEATURE_BITS / 64; i++)
        features[i] = hp_perf_u64(&bytes);
    if (bytes.bad || size < sizeof room || r->first > r->size)
        return hp_fail(HP_ERR_FORMAT, "%s: the header of this perf.data file is damaged", path);
    if (!data) /* perf was killed */
        damaged(r, "its recording was not ended");
    else if (data > r->size - r->first)
        damaged(r, "it is cut off");
    else
        r->last = r->first + data;
    if (!read_attrs(r, attrs, attr_size))
        return r->no_memory ? hp_fail_nomem() : hp_fail(HP_ERR_FORMAT, "%s: %s", path, r->damage);
    if (data && r->last < r->size)
        read_features(r, features);
    return r->no_memory ? hp_fail_nomem() : HP_OK;
}

enum hp_err hp_perf_open(const char *path, struct hp_perf_reader **reader)
{
    struct hp_perf_reader *r;
    HP_TRY(hp_new(&r, 1, sizeof *r));
    enum hp_err err = open_file(r, path);
    if (err == HP_OK)
        err = hp_window_init(&r->window, fileno(r->file), r->size);
    if (err == HP_OK)
        err = read_header(r, path);
    if (err != HP_OK) {
        hp_perf_close(r);
        return err;
    }
    hp_perf_rewind(r);
    *reader = r;
    return HP_OK;
}

void hp_perf_close(struct hp_perf_reader *r)
{
    if (!r)
        return;
    hp_window_fini(&r->window);
    if (r->file && r->file != stdin)
        fclose(r->file);
    hp_map64_fini(&r->attrs.of_id);
    hp_aux_fini(&r->aux);
    for (size_t i = 0; i < r->n_known; i++) {
        free(r->known[i].path);
        free(r->known[i].build_id);
    }
    for (char **word = r->command; word && *word; word++)
        free(*word);
    ZSTD_freeDStream(r->stream);
    free(r->attrs.all);
    free(r->pmus);
    free(r->known);
    free(r->command);
    free(r->packed);
    free(r->plain);
    free(r);
}

void hp_perf_rewind(struct hp_perf_reader *r)
{
    r->taken_in |= r->at != 0;
    r->at = r->first;
    r->unpacking = false;
    r->n_packed = r->at_packed = r->n_plain = r->at_plain = 0;
    r->all_packed = r->all_plain = 0;
    if (r->stream)
        ZSTD_DCtx_reset(r->stream, ZSTD_reset_session_only);
}

/* --- Compressed records ----------------------------------------------------------------------- */

static bool begin_unpacking(struct hp_perf_reader *r, uint32_t type, struct hp_perf_bytes bytes)
{
    if (!r->stream)
        r->stream = ZSTD_createDStream();
    if (!r->stream || (!r->packed && !keep(r, hp_new(&r->packed, RECORD_MAX, 1))) ||
        (!r->plain && !keep(r, hp_new(&r->plain, PIECE, 1)))) {
        r->no_memory = true;
        return false;
    }
    uint64_t n = hp_perf_left(&bytes);
    if (type == HP_PERF_RECORD_COMPRESSED2) {
        uint64_t own = hp_perf_u64(&bytes);
        n = hp_perf_left(&bytes);
        if (own > n)
            return damaged(r, "a compressed record has an impossible size");
        n = own;
    }
    memcpy(r->packed, bytes.at, n);
    r->n_packed = n;
    r->all_packed += n;
    r->at_packed = 0;
    r->unpacking = true;
    return true;
}

/* More plain bytes behind those that are left; false: there are none now, or the data is damaged.
 */
static bool unpack(struct hp_perf_reader *r)
{
    size_t left = r->n_plain - r->at_plain;
    memmove(r->plain, r->plain + r->at_plain, left);
    r->at_plain = 0;
    r->n_plain = left;
    ZSTD_inBuffer in = {r->packed, r->n_packed, r->at_packed};
    ZSTD_outBuffer out = {r->plain, PIECE, left};
    size_t result = ZSTD_decompressStream(r->stream, &out, &in);
    r->at_packed = in.pos;
    r->n_plain = out.pos;
    if (ZSTD_isError(result))
        return damaged(r, "compressed records are damaged");
    r->all_plain += out.pos - left;
    if (r->all_plain / MAX_RATIO > r->all_packed + PIECE)
        return damaged(r, "compressed records hold more than there can be");
    return out.pos > left;
}

/* --- Records ---------------------------------------------------------------------------------- */

/* The header of a record; its size, or 0 where it cannot be one. */
static uint16_t take_header(const struct hp_perf_reader *r, const uint8_t *at,
                            struct hp_perf_record *record)
{
    struct perf_event_header header;
    memcpy(&header, at, sizeof header);
    if (r->swapped) {
        header.type = __builtin_bswap32(header.type);
        header.misc = __builtin_bswap16(header.misc);
        header.size = __builtin_bswap16(header.size);
    }
    *record = (struct hp_perf_record){.type = header.type, .misc = header.misc};
    if (header.size < sizeof header)
        return 0;
    record->body = bytes_of(r, at + sizeof header, header.size - sizeof header);
    return header.size;
}

/* The next record of what is unpacked. */
static bool next_unpacked(struct hp_perf_reader *r, struct hp_perf_record *record)
{
    while (!r->no_memory) {
        size_t left = r->n_plain - r->at_plain;
        uint16_t size = 0;
        if (left >= sizeof(struct perf_event_header)) {
            size = take_header(r, r->plain + r->at_plain, record);
            if (!size)
                return damaged(r, "a compressed record has an impossible size");
        }
        if (size && size <= left) {
            r->at_plain += size;
            return true;
        }
        if (!unpack(r))
            break;
    }
    r->unpacking = false;
    return false;
}

static bool next_plain(struct hp_perf_reader *r, struct hp_perf_record *record)
{
    const uint8_t *at;
    if (r->at >= r->last)
        return false;
    if (r->last - r->at < sizeof(struct perf_event_header) ||
        !(at = hp_window_look(&r->window, r->at, sizeof(struct perf_event_header))))
        return damaged(r, "it is cut off");
    uint16_t size = take_header(r, at, record);
    if (!size)
        return damaged(r, "the record at byte %" PRIu64 " has an impossible size", r->at);
    const uint8_t *whole = size > r->last - r->at ? NULL : hp_window_look(&r->window, r->at, size);
    if (!whole)
        return damaged(r, "it is cut off");
    if (whole != at)
        take_header(r, whole, record);
    r->at += size;
    return true;
}

/* Passes over data behind a record. */
static bool pass_data(struct hp_perf_reader *r, uint64_t n)
{
    if (n > r->last - r->at)
        return damaged(r, "it is cut off");
    r->at += n;
    return true;
}

/* An attribute in a pipe: as large as it says, then its ids. */
static bool take_attr(struct hp_perf_reader *r, struct hp_perf_bytes body)
{
    struct hp_perf_bytes look = body;
    hp_perf_u32(&look);
    uint32_t size = hp_perf_u32(&look);
    if (size < PERF_ATTR_SIZE_VER0 || size > hp_perf_left(&body))
        return damaged(r, "an event of it has an impossible size");
    return add_attr(r, bytes_of(r, body.at, size),
                    bytes_of(r, body.at + size, hp_perf_left(&body) - size));
}

/* What perf itself wrote; false: reading ends. Attributes and features are taken in once. */
static bool take_own(struct hp_perf_reader *r, const struct hp_perf_record *record)
{
    struct hp_perf_bytes body = record->body;
    switch (record->type) {
    case HP_PERF_RECORD_ATTR: return r->taken_in || take_attr(r, body);
    case HP_PERF_RECORD_FEATURE: {
        uint64_t feature = hp_perf_u64(&body);
        if (!r->taken_in)
            read_feature(r, feature, &body);
        return !r->no_memory;
    }
    case HP_PERF_RECORD_BUILD_ID:
        if (!r->taken_in)
            add_build_id(r, record->misc, &body);
        return !r->no_memory;
    case HP_PERF_RECORD_TRACING_DATA: return pass_data(r, (hp_perf_u32(&body) + 7u) & ~UINT64_C(7));
    case HP_PERF_RECORD_AUXTRACE_INFO:
        return r->taken_in || keep(r, hp_aux_take_info(&r->aux, body));
    case HP_PERF_RECORD_TIME_CONV: hp_aux_take_time(&r->aux, body); return true;
    case HP_PERF_RECORD_AUXTRACE:
        if (!r->taken_in && !keep(r, hp_aux_take_piece(&r->aux, body, r->at, r->last - r->at)))
            return false;
        return pass_data(r, hp_perf_u64(&body));
    case HP_PERF_RECORD_COMPRESSED:
    case HP_PERF_RECORD_COMPRESSED2: return begin_unpacking(r, record->type, body);
    default: return true;
    }
}

bool hp_perf_next(struct hp_perf_reader *r, struct hp_perf_record *record)
{
    while (!r->no_memory) {
        bool unpacked = r->unpacking;
        if (unpacked && !next_unpacked(r, record))
            continue;
        if (!unpacked && !next_plain(r, record))
            return false;
        if (record->type < HP_PERF_RECORD_ATTR)
            return true;
        if (unpacked) /* perf compresses records of the kernel only */
            continue;
        if (!take_own(r, record))
            return false;
    }
    return false;
}
