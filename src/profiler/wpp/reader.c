// SPDX-License-Identifier: MIT
/*
 * The file is not trusted: every number is checked before it is used, so what was read can be
 * expanded without further checks. Rules can name only earlier ones, so there are no cycles;
 * lengths and instructions of expansions are summed with checks for overflow, without expanding
 * anything.
 */
#include "profiler/wpp/reader.h"

#include "base/grow.h"
#include "profiler/wpp/format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static enum hp_err damaged(const struct hp_wpp_reader *r, const char *what)
{
    return hp_fail(HP_ERR_FORMAT, "%s: the whole program path is damaged: %s", r->name, what);
}

/* --- Frames ----------------------------------------------------------------------------------- */

static enum hp_err read_paths(struct hp_wpp_reader *r, struct hp_bytes_in *in)
{
    uint64_t offset = 0;
    while (in->at < in->end && !in->bad) {
        uint64_t module = hp_in_varint(in);
        offset += (uint64_t)hp_unzigzag(hp_in_varint(in));
        uint64_t length = hp_in_varint(in), outcomes = hp_in_varint(in);
        uint64_t targets = hp_in_varint(in), insns = hp_in_varint(in);
        if (in->bad || module > UINT32_MAX || length > HP_PATH_MAX_LENGTH || insns > UINT32_MAX ||
            (length < 64 && outcomes >> length) || r->n_paths >= HP_GRAMMAR_TERMINALS)
            return damaged(r, "a path that is none");
        HP_TRY(hp_grow(&r->paths, &r->cap_paths, r->n_paths + 1, sizeof *r->paths));
        r->paths[r->n_paths++] = (struct hp_wpp_path){.offset = offset,
                                                      .outcomes = outcomes,
                                                      .targets = targets,
                                                      .module = (uint32_t)module - 1,
                                                      .insns = (uint32_t)insns,
                                                      .length = (uint32_t)length};
    }
    return HP_OK;
}

/* One rule, number `number` of the part whose first is `first`. */
static enum hp_err read_rule(struct hp_wpp_reader *r, struct hp_bytes_in *in, uint32_t first,
                             uint64_t number)
{
    uint64_t n = hp_in_varint(in);
    if (in->bad || n == 0 || n > (uint64_t)(in->end - in->at))
        return damaged(r, "a rule that is none");
    HP_TRY(hp_grow(&r->nodes, &r->cap_nodes, r->n_nodes + n, sizeof *r->nodes));
    HP_TRY(hp_grow(&r->rules, &r->cap_rules, r->n_rules + 1, sizeof *r->rules));
    r->rules[r->n_rules++] = (struct hp_wpp_rule){.first = r->n_nodes, .n = n};
    for (uint64_t i = 0; i < n; i++) {
        uint64_t code = hp_in_varint(in), value = code >> 2;
        uint64_t repeat = code & 1 ? hp_in_varint(in) : 1;
        bool rule = code & 2;
        if (in->bad || repeat == 0 || repeat > UINT32_MAX ||
            value >= (rule ? number : HP_GRAMMAR_TERMINALS))
            return damaged(r, "a rule that names what is not there");
        uint32_t symbol = (uint32_t)value;
        if (rule)
            symbol = HP_GRAMMAR_RULE | (first + (uint32_t)(number - 1 - value));
        r->nodes[r->n_nodes++] = (struct hp_wpp_node){.symbol = symbol, .repeat = (uint32_t)repeat};
    }
    return HP_OK;
}

static enum hp_err read_part(struct hp_wpp_reader *r, struct hp_bytes_in *in)
{
    uint64_t thread = hp_in_varint(in), symbols = hp_in_varint(in), n = hp_in_varint(in);
    uint32_t first = (uint32_t)r->n_rules;
    if (in->bad || thread > UINT32_MAX || n == 0 || n > (uint64_t)(in->end - in->at) ||
        r->n_rules + n > HP_GRAMMAR_RULE)
        return damaged(r, "a part that is none");
    for (uint64_t i = 0; i < n; i++)
        HP_TRY(read_rule(r, in, first, i));
    HP_TRY(hp_grow(&r->parts, &r->cap_parts, r->n_parts + 1, sizeof *r->parts));
    r->parts[r->n_parts++] = (struct hp_wpp_part){.thread = (uint32_t)thread,
                                                  .first = first,
                                                  .start = (uint32_t)(first + n - 1),
                                                  .symbols = symbols};
    return HP_OK;
}

static enum hp_err read_modules(struct hp_wpp_reader *r, struct hp_bytes_in *in)
{
    uint64_t n = hp_in_varint(in);
    if (in->bad || n > (uint64_t)(in->end - in->at) || n >= UINT32_MAX)
        return damaged(r, "modules that are not there");
    HP_TRY(hp_grow(&r->modules, &r->cap_modules, n, sizeof *r->modules));
    for (; r->n_modules < n && !in->bad; r->n_modules++) {
        r->modules[r->n_modules].path = hp_in_string(in);
        r->modules[r->n_modules].build_id = hp_in_string(in);
    }
    return HP_OK;
}

static enum hp_err read_threads(struct hp_wpp_reader *r, struct hp_bytes_in *in)
{
    uint64_t n = hp_in_varint(in);
    if (in->bad || n > (uint64_t)(in->end - in->at) || n >= UINT32_MAX)
        return damaged(r, "threads that are not there");
    HP_TRY(hp_grow(&r->threads, &r->cap_threads, n, sizeof *r->threads));
    r->thread_parts = calloc(n ? n : 1, sizeof *r->thread_parts);
    if (!r->thread_parts)
        return hp_fail_nomem();
    for (; r->n_threads < n && !in->bad; r->n_threads++) {
        struct hp_wpp_thread *thread = &r->threads[r->n_threads];
        thread->id = (uint32_t)hp_in_varint(in);
        thread->pid = (int32_t)hp_in_varint(in);
        thread->tid = (int32_t)hp_in_varint(in);
        r->thread_parts[r->n_threads] = hp_in_varint(in);
        thread->symbols = hp_in_varint(in);
        thread->insns = hp_in_varint(in);
    }
    return HP_OK;
}

static enum hp_err read_about(struct hp_wpp_reader *r, struct hp_bytes_in *in)
{
    struct hp_wpp_about *about = &r->about;
    const char **texts[] = {&about->version, &about->engine,    &about->arch,
                            &about->ppcr,    &about->directory, &about->machine};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = hp_in_string(in);
    about->started = (int64_t)hp_in_uint(in, 8);
    about->seconds = (double)hp_in_uint(in, 8) / 1e6;
    about->exit_status = (int)(int32_t)hp_in_uint(in, 4);
    uint64_t n = hp_in_varint(in);
    if (in->bad || n > (uint64_t)(in->end - in->at))
        return damaged(r, "a command that is not there");
    r->command = calloc(n + 1, sizeof *r->command);
    if (!r->command)
        return hp_fail_nomem();
    for (uint64_t i = 0; i < n; i++)
        r->command[i] = (char *)(uintptr_t)hp_in_string(in);
    about->command = r->command;
    return HP_OK;
}

static enum hp_err read_end(struct hp_wpp_reader *r, struct hp_bytes_in *in)
{
    uint64_t *numbers[] = {&r->stated.paths, &r->stated.parts, &r->stated.rules,
                           &r->stated.nodes, &r->stated.cuts,  &r->stated.forgotten,
                           &r->stated.peak};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = hp_in_varint(in);
    return HP_OK;
}

static enum hp_err read_frame(struct hp_wpp_reader *r, uint64_t kind, struct hp_bytes_in *in)
{
    static enum hp_err (*const readers[])(struct hp_wpp_reader *, struct hp_bytes_in *) = {
        [HP_WPP_FRAME_PATHS] = read_paths,     [HP_WPP_FRAME_PART] = read_part,
        [HP_WPP_FRAME_MODULES] = read_modules, [HP_WPP_FRAME_THREADS] = read_threads,
        [HP_WPP_FRAME_ABOUT] = read_about,     [HP_WPP_FRAME_END] = read_end,
    };
    if (kind == 0 || kind >= sizeof readers / sizeof *readers)
        return HP_OK; /* of a later version, marked as optional */
    if (kind >= HP_WPP_FRAME_MODULES && r->seen & 1u << kind)
        return damaged(r, "something is there twice");
    r->seen |= 1u << kind;
    HP_TRY(readers[kind](r, in));
    return in->bad || in->at != in->end ? damaged(r, "a frame is not what it says") : HP_OK;
}

static enum hp_err read_frames(struct hp_wpp_reader *r)
{
    struct hp_bytes_in in = {.at = r->bytes + HP_WPP_FILE_HEADER, .end = r->bytes + r->size};
    while (in.at < in.end) {
        const uint8_t *frame = in.at;
        uint64_t kind = hp_in_uint(&in, 4), size = hp_in_uint(&in, 8);
        if (in.bad || size > (uint64_t)(in.end - in.at) ||
            (uint64_t)(in.end - in.at) - size < HP_WPP_FRAME_TAIL)
            return hp_fail(HP_ERR_FORMAT, "%s: the whole program path is truncated at byte %zu",
                           r->name, r->size);
        if (r->seen & 1u << HP_WPP_FRAME_END)
            return damaged(r, "something is behind its end");
        struct hp_bytes_in content = {.at = in.at, .end = in.at + size};
        in.at += size;
        if (hp_trace_crc(frame, HP_WPP_FRAME_HEAD + size) != hp_in_uint(&in, 4))
            return damaged(r, "a checksum is wrong");
        HP_TRY(read_frame(r, kind, &content));
    }
    unsigned needed = 1u << HP_WPP_FRAME_MODULES | 1u << HP_WPP_FRAME_THREADS |
                      1u << HP_WPP_FRAME_ABOUT | 1u << HP_WPP_FRAME_END;
    if ((r->seen & needed) != needed)
        return hp_fail(HP_ERR_FORMAT, "%s: the whole program path is truncated at byte %zu",
                       r->name, r->size);
    return HP_OK;
}

/* --- Measuring rules -------------------------------------------------------------------------- */

static enum hp_err measure_rule(struct hp_wpp_reader *r, struct hp_wpp_rule *rule)
{
    for (uint64_t i = 0; i < rule->n; i++) {
        const struct hp_wpp_node *node = &r->nodes[rule->first + i];
        uint64_t length = 1, insns;
        if (node->symbol & HP_GRAMMAR_RULE) {
            const struct hp_wpp_rule *other = &r->rules[node->symbol & ~HP_GRAMMAR_RULE];
            length = other->length;
            insns = other->insns;
            if (other->depth > rule->depth)
                rule->depth = other->depth;
        } else if (node->symbol < r->n_paths) {
            insns = r->paths[node->symbol].insns;
        } else {
            return damaged(r, "a rule that names what is not there");
        }
        if (__builtin_mul_overflow(length, node->repeat, &length) ||
            __builtin_mul_overflow(insns, node->repeat, &insns) ||
            __builtin_add_overflow(rule->length, length, &rule->length) ||
            __builtin_add_overflow(rule->insns, insns, &rule->insns))
            return damaged(r, "a sequence longer than there can be");
    }
    rule->depth++;
    /* So a rule generates more than any that it names, and its depth is at most its length. */
    bool renames = rule->n == 1 && r->nodes[rule->first].repeat == 1 &&
                   r->nodes[rule->first].symbol & HP_GRAMMAR_RULE;
    return renames ? damaged(r, "a rule that only names another") : HP_OK;
}

static enum hp_err check_threads(struct hp_wpp_reader *r)
{
    struct hp_wpp_stats *stats = &r->stats;
    for (size_t i = 0; i < r->n_parts; i++) {
        const struct hp_wpp_part *part = &r->parts[i];
        const struct hp_wpp_rule *start = &r->rules[part->start];
        if (part->thread >= r->n_threads || start->length != part->symbols ||
            r->thread_parts[part->thread]-- == 0 ||
            start->length > r->threads[part->thread].symbols ||
            start->insns > r->threads[part->thread].insns)
            return damaged(r, "a part does not fit its thread");
        r->threads[part->thread].symbols -= start->length;
        r->threads[part->thread].insns -= start->insns;
    }
    for (size_t i = 0; i < r->n_threads; i++)
        if (r->thread_parts[i] || r->threads[i].symbols || r->threads[i].insns)
            return damaged(r, "a part of a thread is missing");
    for (size_t i = 0; i < r->n_parts; i++) {
        const struct hp_wpp_rule *start = &r->rules[r->parts[i].start];
        r->threads[r->parts[i].thread].symbols += start->length;
        r->threads[r->parts[i].thread].insns += start->insns;
        if (__builtin_add_overflow(stats->symbols, start->length, &stats->symbols) ||
            __builtin_add_overflow(stats->insns, start->insns, &stats->insns))
            return damaged(r, "a sequence longer than there can be");
    }
    return HP_OK;
}

static enum hp_err check_meaning(struct hp_wpp_reader *r)
{
    for (size_t i = 0; i < r->n_paths; i++)
        if (r->paths[i].module != HP_NO_ID && r->paths[i].module >= r->n_modules)
            return damaged(r, "a path in a module that is not there");
    for (size_t i = 0; i < r->n_rules; i++)
        HP_TRY(measure_rule(r, &r->rules[i]));
    HP_TRY(check_threads(r));
    if (r->stated.paths != r->n_paths || r->stated.parts != r->n_parts ||
        r->stated.rules != r->n_rules || r->stated.nodes != r->n_nodes)
        return damaged(r, "its parts do not add up");
    r->stats.paths = r->n_paths;
    r->stats.parts = r->n_parts;
    r->stats.rules = r->n_rules;
    r->stats.nodes = r->n_nodes;
    r->stats.threads = (uint32_t)r->n_threads;
    r->stats.file_bytes = r->size;
    r->stats.cuts = r->stated.cuts;
    r->stats.forgotten = r->stated.forgotten;
    r->stats.peak = r->stated.peak;
    return HP_OK;
}

/* --- The file --------------------------------------------------------------------------------- */

static enum hp_err read_file(struct hp_wpp_reader *r)
{
    FILE *file = fopen(r->name, "rb");
    struct stat st;
    if (!file)
        return hp_fail(HP_ERR_IO, "cannot open %s: %s", r->name, strerror(errno));
    enum hp_err err = HP_OK;
    if (fstat(fileno(file), &st) != 0 || !S_ISREG(st.st_mode))
        err = hp_fail(HP_ERR_FORMAT, "%s is not a file", r->name);
    if (err == HP_OK && !(r->bytes = malloc((size_t)st.st_size + 1)))
        err = hp_fail_nomem();
    if (err == HP_OK) {
        r->size = fread(r->bytes, 1, (size_t)st.st_size, file);
        if (ferror(file))
            err = hp_fail(HP_ERR_IO, "cannot read %s: %s", r->name, strerror(errno));
    }
    fclose(file);
    return err;
}

static enum hp_err check_header(const struct hp_wpp_reader *r)
{
    if (r->size < sizeof hp_wpp_magic || memcmp(r->bytes, hp_wpp_magic, sizeof hp_wpp_magic) != 0)
        return hp_fail(HP_ERR_FORMAT, "%s is not a whole program path", r->name);
    if (r->size < HP_WPP_FILE_HEADER)
        return hp_fail(HP_ERR_FORMAT, "%s: the whole program path is truncated at byte %zu",
                       r->name, r->size);
    struct hp_bytes_in in = {.at = r->bytes + sizeof hp_wpp_magic, .end = r->bytes + r->size};
    uint64_t version = hp_in_uint(&in, 4), oldest = hp_in_uint(&in, 4);
    if (hp_trace_crc(r->bytes, HP_WPP_FILE_HEADER - 4) != hp_in_uint(&in, 4))
        return damaged(r, "a checksum is wrong");
    if (oldest > HP_WPP_VERSION)
        return hp_fail(HP_ERR_VERSION,
                       "%s has format %llu of whole program paths, which needs a newer hotpath "
                       "(this one reads up to format %d)",
                       r->name, (unsigned long long)version, HP_WPP_VERSION);
    return HP_OK;
}

enum hp_err hp_wpp_open(const char *path, struct hp_wpp_reader **reader)
{
    struct hp_wpp_reader *r = calloc(1, sizeof *r);
    if (!r)
        return hp_fail_nomem();
    r->name = path;
    enum hp_err err = read_file(r);
    if (err == HP_OK)
        err = check_header(r);
    if (err == HP_OK)
        err = read_frames(r);
    if (err == HP_OK)
        err = check_meaning(r);
    r->name = NULL;
    if (err == HP_OK)
        *reader = r;
    else
        hp_wpp_close(r);
    return err;
}

void hp_wpp_close(struct hp_wpp_reader *r)
{
    if (!r)
        return;
    free(r->bytes);
    free(r->modules);
    free(r->paths);
    free(r->threads);
    free(r->thread_parts);
    free(r->rules);
    free(r->nodes);
    free(r->parts);
    free(r->command);
    free(r);
}

const struct hp_wpp_about *hp_wpp_about(const struct hp_wpp_reader *r)
{
    return &r->about;
}

const struct hp_wpp_stats *hp_wpp_reader_stats(const struct hp_wpp_reader *r)
{
    return &r->stats;
}

const struct hp_wpp_thread *hp_wpp_threads(const struct hp_wpp_reader *r, size_t *n)
{
    *n = r->n_threads;
    return r->threads;
}

const struct hp_wpp_module *hp_wpp_modules(const struct hp_wpp_reader *r, size_t *n)
{
    *n = r->n_modules;
    return r->modules;
}

const struct hp_wpp_path *hp_wpp_paths(const struct hp_wpp_reader *r, size_t *n)
{
    *n = r->n_paths;
    return r->paths;
}
