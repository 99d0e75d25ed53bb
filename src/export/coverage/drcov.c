// SPDX-License-Identifier: MIT
/*
 * Where modules were loaded is not in a profile, and does not matter to readers: blocks are offsets
 * from the start of their module. In the table modules lie one behind the other.
 */

#include "export/export.h"
#include "report/tables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PAGE        4096u
#define FIRST       0x400000u /* where the first module lies */
#define MAX_MODULES 65536u    /* their numbers have 16 bits */

/* What is written of a profile. */
struct coverage {
    const struct hp_profile *profile;
    uint32_t module; /* HP_PROFILE_NONE: all */
    bool limited;    /* as drcov's numbers are */
    size_t at;       /* in the counters */
};

static enum hp_err begin(struct coverage *c, const struct hp_profile *profile,
                         const struct hp_export_request *request, bool limited)
{
    *c = (struct coverage){.profile = profile, .module = HP_PROFILE_NONE, .limited = limited};
    if (request->table || request->metric)
        return hp_fail(HP_ERR_INVALID,
                       "coverage has no use for --%s: it says what was executed, not how often",
                       request->table ? "table" : "metric");
    if (!profile->n_block_counts)
        return hp_fail(HP_ERR_INVALID, "the profile does not say which blocks were executed: "
                                       "record it with --profile exact");
    return request->module ? hp_export_module(profile, request->module, &c->module) : HP_OK;
}

static bool is_written(const struct coverage *c, const struct hp_pblock *block)
{
    uint32_t module = block->place.module;
    if (module >= c->profile->n_modules || (c->module != HP_PROFILE_NONE && c->module != module))
        return false;
    return !c->limited || (block->place.offset <= UINT32_MAX && block->size <= UINT16_MAX &&
                           (module < MAX_MODULES || c->module != HP_PROFILE_NONE));
}

/* The next block that was executed; NULL at the end. */
static const struct hp_pblock *next_executed(struct coverage *c)
{
    const struct hp_profile *p = c->profile;
    while (c->at < p->n_block_counts) {
        size_t i = c->at++;
        if (i == 0 || p->block_counts[i].item != p->block_counts[i - 1].item)
            return &p->blocks[p->block_counts[i].item];
    }
    return NULL;
}

/* The next one that is written. */
static const struct hp_pblock *next_block(struct coverage *c)
{
    const struct hp_pblock *block;
    do
        block = next_executed(c);
    while (block && !is_written(c, block));
    return block;
}

/* --- Modules ---------------------------------------------------------------------------------- */

/* How far the executed code of each module reaches, in whole pages; free() it. */
static enum hp_err measure(struct coverage *c, struct hp_export_written *written, uint64_t **sizes)
{
    const struct hp_pblock *block;
    uint64_t *found = calloc(c->profile->n_modules + 1, sizeof *found);
    if (!found)
        return hp_fail_nomem();
    while ((block = next_executed(c))) {
        written->total++;
        if (!is_written(c, block))
            continue;
        written->written++;
        uint64_t pages = (block->place.offset + block->size) / PAGE + 1;
        if (found[block->place.module] < pages * PAGE)
            found[block->place.module] = pages * PAGE;
    }
    c->at = 0;
    *sizes = found;
    return HP_OK;
}

/* Readers take lines apart at ", ", and the table at line ends. */
static enum hp_err put_module(FILE *out, uint32_t id, uint64_t base, uint64_t size,
                              const char *path, struct hp_strbuf *name)
{
    hp_strbuf_clear(name);
    hp_strbuf_clean(name, path);
    if (name->failed)
        return hp_fail_nomem();
    for (char *comma = name->data; comma && (comma = strstr(comma, ", "));)
        comma[1] = '_';
    fprintf(out, "%3" PRIu32 ", 0x%016" PRIx64 ", 0x%016" PRIx64 ", 0x%016x, %s\n", id, base,
            base + size, 0, hp_strbuf_text(name));
    return HP_OK;
}

static enum hp_err put_modules(const struct coverage *c, const uint64_t *sizes, FILE *out)
{
    struct hp_strbuf name = {0};
    uint64_t base = FIRST;
    size_t n = c->profile->n_modules < MAX_MODULES ? c->profile->n_modules : MAX_MODULES;
    uint32_t first = c->module == HP_PROFILE_NONE ? 0 : c->module;
    uint32_t end = c->module == HP_PROFILE_NONE ? (uint32_t)n : c->module + 1;
    enum hp_err err = HP_OK;
    fprintf(out,
            "Module Table: version 2, count %" PRIu32 "\nColumns: id, base, end, entry, path\n",
            end - first);
    for (uint32_t i = first; i < end && err == HP_OK; i++) {
        uint64_t size = sizes[i] ? sizes[i] : PAGE;
        err = put_module(out, i - first, base, size, c->profile->modules[i].path, &name);
        base += size + PAGE;
    }
    hp_strbuf_fini(&name);
    return err;
}

/* --- Blocks ----------------------------------------------------------------------------------- */

static void put_little(FILE *out, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        fputc((int)(value >> 8 * i & 0xff), out);
}

static void put_blocks(struct coverage *c, uint64_t n, FILE *out)
{
    const struct hp_pblock *block;
    fprintf(out, "BB Table: %" PRIu64 " bbs\n", n);
    while ((block = next_block(c))) {
        put_little(out, block->place.offset, 4);
        put_little(out, block->size, 2);
        put_little(out, c->module == HP_PROFILE_NONE ? block->place.module : 0, 2);
    }
}

static enum hp_err write_drcov(const struct hp_profile *profile,
                               const struct hp_export_request *request, FILE *out,
                               struct hp_export_written *written)
{
    struct coverage c;
    uint64_t *sizes = NULL;
    HP_TRY(begin(&c, profile, request, true));
    *written = (struct hp_export_written){.unit = "blocks"};
    HP_TRY(measure(&c, written, &sizes));
    if (written->written < written->total)
        snprintf(written->missing, sizeof written->missing, "%s",
                 request->module ? "in other modules" : "too large for the format");
    fprintf(out, "DRCOV VERSION: 2\nDRCOV FLAVOR: drcov%s\n",
            profile->run.arch == HP_ARCH_ARM ? "-32" : "-64");
    enum hp_err err = put_modules(&c, sizes, out);
    if (err == HP_OK)
        put_blocks(&c, written->written, out);
    free(sizes);
    return err;
}

/* --- As text ---------------------------------------------------------------------------------- */

static enum hp_err write_blocks_text(const struct hp_profile *profile,
                                     const struct hp_export_request *request, FILE *out,
                                     struct hp_export_written *written)
{
    struct coverage c;
    struct hp_strbuf name = {0};
    uint32_t module = HP_PROFILE_NONE; /* that `name` is of */
    const struct hp_pblock *block;
    HP_TRY(begin(&c, profile, request, false));
    *written = (struct hp_export_written){.unit = "blocks"};
    while ((block = next_executed(&c))) {
        written->total++;
        if (!is_written(&c, block))
            continue;
        if (block->place.module != module) {
            module = block->place.module;
            hp_strbuf_clear(&name);
            hp_strbuf_clean(&name, hp_base_name(profile->modules[module].path));
        }
        written->written++;
        fprintf(out, "%s+%" PRIx64 "\n", hp_strbuf_text(&name), block->place.offset);
    }
    if (written->written < written->total)
        snprintf(written->missing, sizeof written->missing, "in other modules");
    bool failed = name.failed;
    hp_strbuf_fini(&name);
    return failed ? hp_fail_nomem() : HP_OK;
}

const struct hp_export_format hp_format_drcov = {
    .name = "drcov",
    .summary = "which blocks were executed, for Lighthouse and others",
    .source = HP_EXPORT_PROFILE,
    .write = write_drcov,
};

const struct hp_export_format hp_format_blocks_text = {
    .name = "blocks-text",
    .summary = "the same as lines, module+offset, for scripts",
    .source = HP_EXPORT_PROFILE,
    .write = write_blocks_text,
};
