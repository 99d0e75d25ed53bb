// SPDX-License-Identifier: MIT
#include "symbols/generated.h"

#include "base/compare.h"
#include "base/grow.h"
#include "base/infile.h"
#include "base/map64.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct piece {
    struct hp_generated_piece is; /* first */
    uint32_t order;               /* later code takes the place of earlier */
    uint64_t end;                 /* the highest one of the subtree: see hp_generated_settle() */
};

struct hp_generated {
    struct piece *pieces; /* once settled by start */
    size_t n, capacity;
    char **texts; /* of the files: names and bytes point there */
    size_t n_texts, cap_texts;
    uint32_t codes;
};

enum hp_err hp_generated_new(struct hp_generated **generated)
{
    *generated = calloc(1, sizeof **generated);
    return *generated ? HP_OK : hp_fail_nomem();
}

void hp_generated_free(struct hp_generated *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->n_texts; i++)
        free(g->texts[i]);
    free(g->texts);
    free(g->pieces);
    free(g);
}

size_t hp_generated_count(const struct hp_generated *g)
{
    return g->n;
}

uint32_t hp_generated_codes(const struct hp_generated *g)
{
    return g->codes;
}

/* --- Pieces ----------------------------------------------------------------------------------- */

struct problem {
    char *why;
    size_t size;
};

static void say(const struct problem *problem, const char *text)
{
    snprintf(problem->why, problem->size, "%s", text);
}

/* Names are shown on terminals and in lines. */
static void tidy(char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name < ' ' || *name == 0x7f)
            *name = '?';
}

/* False: there is no room. */
static bool has_room(const struct hp_generated *g, const struct problem *problem)
{
    if (g->n < HP_GENERATED_PIECES)
        return true;
    say(problem, "it names more code than is taken: the rest was left out");
    return false;
}

static enum hp_err add(struct hp_generated *g, const struct hp_generated_piece *piece)
{
    HP_TRY(hp_grow(&g->pieces, &g->capacity, g->n + 1, sizeof *g->pieces));
    g->pieces[g->n] = (struct piece){.is = *piece, .order = (uint32_t)g->n};
    g->n++;
    return HP_OK;
}

static bool is_range(uint64_t start, uint64_t size)
{
    return size && size <= UINT64_MAX - start;
}

/* --- Maps ------------------------------------------------------------------------------------- */

/* A number in hex, with or without 0x, and the space behind it. */
static bool take_number(char **at, uint64_t *value)
{
    char *end;
    if (!((**at >= '0' && **at <= '9') || (**at >= 'a' && **at <= 'f') ||
          (**at >= 'A' && **at <= 'F')))
        return false;
    errno = 0;
    *value = strtoull(*at, &end, 16);
    if (errno || end == *at || *end != ' ')
        return false;
    *at = end + strspn(end, " ");
    return true;
}

/* Of a line that was ended with 0. */
static bool parse_line(char *line, struct hp_generated_piece *piece)
{
    size_t length;
    if (!take_number(&line, &piece->start) || !take_number(&line, &piece->size))
        return false;
    length = strlen(line);
    while (length && (line[length - 1] == '\r' || line[length - 1] == ' '))
        length--;
    line[length < HP_GENERATED_NAME ? length : HP_GENERATED_NAME] = 0;
    tidy(line);
    piece->name = line;
    return *line && is_range(piece->start, piece->size);
}

/* A last line without its end is one that was not finished. */
static enum hp_err take_map(struct hp_generated *g, char *text, size_t n,
                            const struct problem *problem)
{
    size_t bad = 0, good = 0;
    char *end = text + n, *newline;
    for (; (newline = memchr(text, '\n', (size_t)(end - text))); text = newline + 1) {
        struct hp_generated_piece piece = {0};
        *newline = 0;
        bool named = parse_line(text, &piece);
        /* pieces without code are common, and no mistake */
        bad += !named && !(piece.name && *piece.name && !piece.size);
        good += named;
        if (!named)
            continue;
        if (!has_room(g, problem))
            return HP_OK;
        piece.code = g->codes++;
        HP_TRY(add(g, &piece));
    }
    if (bad && !good)
        say(problem, "it has no line \"START SIZE name\"");
    else if (bad)
        snprintf(problem->why, problem->size,
                 "%zu of its lines are not \"START SIZE name\" and were left out", bad);
    return HP_OK;
}

/* --- Dumps ------------------------------------------------------------------------------------ */

#define DUMP_MAGIC   0x4a695444u
#define DUMP_SWAPPED 0x4454694au

struct dump_header {
    uint32_t magic, version, size, machine, reserved, pid;
    uint64_t time, flags;
};

enum { DUMP_LOAD = 0, DUMP_MOVE = 1 };

struct dump_record {
    uint32_t kind, size; /* all of it */
    uint64_t time;
};

/* What follows the record's head. Then the name, with its 0, and the code. */
struct dump_load {
    uint32_t pid, tid;
    uint64_t virtual_address, start, size, index;
};
struct dump_move {
    uint32_t pid, tid;
    uint64_t virtual_address, from, to, size, index;
};

/* A load or a move. */
struct event {
    uint64_t time;
    size_t position; /* in the file, of the record */
    char *at;        /* what follows its head; not aligned */
    uint32_t kind, size;
};

struct events {
    struct event *all;
    size_t n, capacity;
};

static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    return HP_COMPARE(x->time, y->time) ?: HP_COMPARE(x->position, y->position);
}

/* Lists what fits. */
static enum hp_err list_events(char *text, size_t n, struct events *events,
                               const struct problem *problem)
{
    struct dump_header header;
    struct dump_record record;
    memcpy(&header, text, sizeof header);
    size_t at = header.size;
    if (at < sizeof header || at > n) {
        say(problem, "its header is damaged");
        return HP_OK;
    }
    for (; n - at >= sizeof record; at += record.size) {
        memcpy(&record, text + at, sizeof record);
        if (record.size < sizeof record || record.size > n - at)
            break;
        if (record.kind != DUMP_LOAD && record.kind != DUMP_MOVE)
            continue;
        HP_TRY(hp_grow(&events->all, &events->capacity, events->n + 1, sizeof *events->all));
        events->all[events->n++] = (struct event){.time = record.time,
                                                  .position = at,
                                                  .at = text + at + sizeof record,
                                                  .kind = record.kind,
                                                  .size = record.size - (uint32_t)sizeof record};
    }
    if (at != n)
        say(problem, "it is cut short or damaged: the names behind that place are missing");
    return HP_OK;
}

static enum hp_err take_load(struct hp_generated *g, const struct event *event,
                             struct hp_map64 *piece_of)
{
    struct dump_load load;
    struct hp_generated_piece piece = {0};
    if (event->size < sizeof load)
        return HP_OK;
    memcpy(&load, event->at, sizeof load);
    char *name = event->at + sizeof load;
    size_t rest = event->size - sizeof load, length = strnlen(name, rest);
    if (length == rest || !length || !is_range(load.start, load.size))
        return HP_OK;
    if (load.size <= rest - length - 1)
        piece.bytes = (const uint8_t *)name + length + 1;
    if (length > HP_GENERATED_NAME)
        name[HP_GENERATED_NAME] = 0;
    tidy(name);
    piece.start = load.start;
    piece.size = load.size;
    piece.name = name;
    piece.code = g->codes++;
    HP_TRY(hp_map64_put(piece_of, load.index, (uint32_t)g->n));
    return add(g, &piece);
}

/* Its old place keeps its name: what ran there before is in the profile too. */
static enum hp_err take_move(struct hp_generated *g, const struct event *event,
                             struct hp_map64 *piece_of)
{
    struct dump_move move;
    if (event->size < sizeof move)
        return HP_OK;
    memcpy(&move, event->at, sizeof move);
    uint32_t index = hp_map64_get(piece_of, move.index);
    if (index == HP_MAP64_NONE || !is_range(move.to, move.size))
        return HP_OK;
    struct hp_generated_piece piece = g->pieces[index].is;
    if (move.size > piece.size)
        piece.bytes = NULL;
    piece.start = move.to;
    piece.size = move.size;
    HP_TRY(hp_map64_put(piece_of, move.index, (uint32_t)g->n));
    return add(g, &piece);
}

static enum hp_err take_events(struct hp_generated *g, const struct events *events,
                               struct hp_map64 *piece_of, const struct problem *problem)
{
    for (size_t i = 0; i < events->n && has_room(g, problem); i++)
        HP_TRY(events->all[i].kind == DUMP_LOAD ? take_load(g, &events->all[i], piece_of)
                                                : take_move(g, &events->all[i], piece_of));
    return HP_OK;
}

/* Threads write their records in any order. */
static enum hp_err take_dump(struct hp_generated *g, char *text, size_t n,
                             const struct problem *problem)
{
    struct events events = {0};
    struct hp_map64 piece_of = {0}; /* by index of the code: where it is now */
    enum hp_err err = list_events(text, n, &events, problem);
    hp_sort(events.all, events.n, sizeof *events.all, by_time);
    if (err == HP_OK)
        err = take_events(g, &events, &piece_of, problem);
    free(events.all);
    hp_map64_fini(&piece_of);
    return err;
}

/* --- Files ------------------------------------------------------------------------------------ */

enum hp_err hp_generated_take(struct hp_generated *g, char *text, size_t n, char *why, size_t size)
{
    struct problem problem = {why, size};
    uint32_t magic = 0;
    *why = 0;
    if (hp_grow(&g->texts, &g->cap_texts, g->n_texts + 1, sizeof *g->texts) != HP_OK) {
        free(text);
        return hp_fail_nomem();
    }
    g->texts[g->n_texts++] = text;
    if (n >= sizeof(struct dump_header))
        memcpy(&magic, text, sizeof magic);
    if (magic == DUMP_MAGIC)
        return take_dump(g, text, n, &problem);
    if (magic == DUMP_SWAPPED) {
        say(&problem, "it is of a machine with the other byte order");
        return HP_OK;
    }
    return take_map(g, text, n, &problem);
}

static const char *why_not(const struct stat *file)
{
    if (!S_ISREG(file->st_mode))
        return "it is not a regular file";
    if (file->st_uid != geteuid() && file->st_uid != 0)
        return "it belongs to another user";
    if ((uint64_t)file->st_size > HP_GENERATED_BYTES)
        return "it is larger than 256 MB";
    return NULL;
}

static enum hp_err read_open(struct hp_generated *g, int fd, const char *path, time_t since,
                             const struct problem *problem)
{
    struct stat file;
    char *text;
    if (fstat(fd, &file) != 0) {
        say(problem, strerror(errno));
        return HP_OK;
    }
    const char *why = why_not(&file);
    if (why)
        say(problem, why);
    if (why || file.st_mtim.tv_sec < since)
        return HP_OK;
    enum hp_err err = hp_infile_read(fd, path, (size_t)file.st_size, &text);
    if (err == HP_ERR_NOMEM)
        return err;
    if (err != HP_OK) {
        say(problem, "it cannot be read");
        return HP_OK;
    }
    return hp_generated_take(g, text, (size_t)file.st_size, problem->why, problem->size);
}

enum hp_err hp_generated_read(struct hp_generated *g, const char *path, time_t since, char *why,
                              size_t size)
{
    struct problem problem = {why, size};
    *why = 0;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        if (errno == ELOOP)
            say(&problem, "it is a symbolic link");
        else if (errno != ENOENT && errno != ENOTDIR)
            say(&problem, strerror(errno));
        return HP_OK;
    }
    enum hp_err err = read_open(g, fd, path, since, &problem);
    close(fd);
    return err;
}

/* --- Finding ---------------------------------------------------------------------------------- */

/* Sorted by start, pieces are a binary tree: the root of a range is its middle. Each knows the
 * highest end below it, so all that hold an address are found without looking at most others. */

static int by_start(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    return HP_COMPARE(x->is.start, y->is.start) ?: HP_COMPARE(x->order, y->order);
}

static uint64_t note_ends(struct piece *pieces, size_t low, size_t high)
{
    if (low == high)
        return 0;
    size_t middle = low + (high - low) / 2;
    uint64_t below = note_ends(pieces, low, middle), above = note_ends(pieces, middle + 1, high);
    struct piece *root = &pieces[middle];
    root->end = root->is.start + root->is.size;
    if (root->end < below)
        root->end = below;
    if (root->end < above)
        root->end = above;
    return root->end;
}

void hp_generated_settle(struct hp_generated *g)
{
    hp_sort(g->pieces, g->n, sizeof *g->pieces, by_start);
    note_ends(g->pieces, 0, g->n);
}

#define CANDIDATES 4096 /* more at one address are not names of code */

struct search {
    const struct piece *pieces;
    uint64_t address;
    const uint8_t *bytes;
    size_t n;
    const struct piece *last;  /* of all, */
    const struct piece *match; /* and of those with these bytes */
    bool differ;               /* all of them in name, */
    bool matches_differ;       /* and those */
    size_t candidates;
};

static bool has_bytes(const struct search *s, const struct hp_generated_piece *piece)
{
    uint64_t inside = s->address - piece->start, rest = piece->size - inside;
    return s->n && piece->bytes &&
           memcmp(piece->bytes + inside, s->bytes, s->n < rest ? s->n : (size_t)rest) == 0;
}

/* Takes the later one of the two; true: they have other names. */
static bool prefer_later(const struct piece **last, const struct piece *piece)
{
    const struct piece *other = *last;
    if (!other || piece->order > other->order)
        *last = piece;
    return other && other->is.code != piece->is.code && strcmp(other->is.name, piece->is.name) != 0;
}

static void consider(struct search *s, const struct piece *piece)
{
    s->candidates++;
    s->differ |= prefer_later(&s->last, piece);
    if (has_bytes(s, &piece->is))
        s->matches_differ |= prefer_later(&s->match, piece);
}

static void search(struct search *s, size_t low, size_t high)
{
    while (low < high && s->candidates < CANDIDATES) {
        size_t middle = low + (high - low) / 2;
        const struct piece *root = &s->pieces[middle];
        if (root->end <= s->address)
            return;
        search(s, low, middle);
        if (root->is.start > s->address)
            return;
        if (s->address - root->is.start < root->is.size)
            consider(s, root);
        low = middle + 1;
    }
}

const struct hp_generated_piece *hp_generated_find(const struct hp_generated *g, uint64_t address,
                                                   const uint8_t *bytes, size_t n, bool *doubt)
{
    struct search s = {.pieces = g->pieces, .address = address, .bytes = bytes, .n = n};
    search(&s, 0, g->n);
    const struct piece *found = s.match ? s.match : s.last;
    *doubt = s.match ? s.matches_differ : s.differ;
    return found ? &found->is : NULL;
}
