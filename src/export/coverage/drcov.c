// SPDX-License-Identifier: MIT
/*
 * Where modules were loaded is not in a profile, and does not matter to readers: blocks are offsets
 * from the start of their module. In the table modules lie one behind the other.
 */

#include "base/base.h"
#include "export/export.h"
#include "report/tables.h"

#include <endian.h>

#define PAGE        4096u
#define FIRST       0x400000u /* where the first module lies */
#define MAX_MODULES 65536u    /* their numbers have 16 bits */

/* What is written of a profile. */
struct coverage {
    const struct hp_profile *profile;
    uint32_t module; /* HP_PROFILE_NONE: all */
    const struct hp_pblock **blocks;
    size_t n;
    struct hp_strbuf name; /* of a module, clean */
};

static void release(struct coverage *c)
{
    free(c->blocks);
    hp_strbuf_fini(&c->name);
}

/* `limited`: as drcov's numbers are. */
static bool is_written(const struct coverage *c, const struct hp_pblock *block, bool limited)
{
    uint32_t module = block->place.module;
    if (module >= c->profile->n_modules || (c->module != HP_PROFILE_NONE && c->module != module))
        return false;
    return !limited || (block->place.offset <= UINT32_MAX && block->size <= UINT16_MAX &&
                        (module < MAX_MODULES || c->module != HP_PROFILE_NONE));
}

/* Finds the blocks that were executed. */
static enum hp_err find_blocks(struct coverage *c, struct hp_export_request *request, bool limited)
{
    const struct hp_profile *p = c->profile;
    struct hp_export_written *written = &request->written;
    if (request->table || request->metric)
        return hp_fail(HP_ERR_INVALID,
                       "coverage has no use for --%s: it says what was executed, not how often",
                       request->table ? "table" : "metric");
    if (!p->n_block_counts)
        return hp_fail(HP_ERR_INVALID, "the profile does not say which blocks were executed: "
                                       "record it with --profile exact");
    if (request->module && strcmp(request->module, HP_EXPORT_ALL) != 0)
        HP_TRY(hp_export_module(p, request->module, &c->module));
    HP_TRY(hp_new(&c->blocks, p->n_block_counts, sizeof *c->blocks));
    *written = (struct hp_export_written){.unit = "blocks"};
    for (size_t i = 0; i < p->n_block_counts; i++) {
        const struct hp_pblock *block = &p->blocks[p->block_counts[i].item];
        if (i && p->block_counts[i].item == p->block_counts[i - 1].item)
            continue;
        written->total++;
        if (is_written(c, block, limited))
            c->blocks[c->n++] = block;
    }
    written->written = c->n;
    if (written->written < written->total)
        strcpy(written->missing, limited && c->module == HP_PROFILE_NONE
                                     ? "too large for the format"
                                     : "in other modules");
    return HP_OK;
}

static void set_name(struct coverage *c, const char *path)
{
    hp_strbuf_clear(&c->name);
    hp_strbuf_clean(&c->name, path);
}

/* A module reaches to the page behind its executed code. Readers take lines apart at ", ", and the
 * table at line ends. */
static enum hp_err put_modules(struct coverage *c, FILE *out)
{
    bool all = c->module == HP_PROFILE_NONE;
    size_t n = c->profile->n_modules < MAX_MODULES ? c->profile->n_modules : MAX_MODULES;
    size_t first = all ? 0 : c->module, end = all ? n : first + 1;
    uint64_t base = FIRST;
    uint64_t *sizes HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new(&sizes, c->profile->n_modules, sizeof *sizes));
    for (size_t i = 0; i < c->n; i++) {
        struct hp_place place = c->blocks[i]->place;
        uint64_t size = ((place.offset + c->blocks[i]->size) / PAGE + 1) * PAGE;
        if (sizes[place.module] < size)
            sizes[place.module] = size;
    }
    fprintf(out, "Module Table: version 2, count %zu\nColumns: id, base, end, entry, path\n",
            end - first);
    for (size_t i = first; i < end; i++) {
        uint64_t size = sizes[i] ? sizes[i] : PAGE;
        set_name(c, c->profile->modules[i].path);
        for (char *comma = c->name.data; comma && (comma = strstr(comma, ", "));)
            comma[1] = '_';
        fprintf(out, "%3zu, 0x%016" PRIx64 ", 0x%016" PRIx64 ", 0x%016x, %s\n", i - first, base,
                base + size, 0, hp_strbuf_text(&c->name));
        base += size + PAGE;
    }
    return c->name.failed ? hp_fail_nomem() : HP_OK;
}

static enum hp_err write_drcov(struct hp_export_request *request)
{
    const struct hp_profile *p = request->profile;
    struct coverage c HP_CLEANUP(release) = {.profile = p, .module = HP_PROFILE_NONE};
    FILE *out = request->out;
    HP_TRY(find_blocks(&c, request, true));
    fprintf(out, "DRCOV VERSION: 2\nDRCOV FLAVOR: drcov%s\n",
            p->run.arch == HP_ARCH_ARM ? "-32" : "-64");
    HP_TRY(put_modules(&c, out));
    fprintf(out, "BB Table: %zu bbs\n", c.n);
    for (size_t i = 0; i < c.n; i++) {
        struct hp_place place = c.blocks[i]->place;
        struct {
            uint32_t offset;
            uint16_t size, module;
        } entry = {htole32((uint32_t)place.offset), htole16((uint16_t)c.blocks[i]->size),
                   htole16(c.module != HP_PROFILE_NONE ? 0 : (uint16_t)place.module)};
        fwrite(&entry, sizeof entry, 1, out);
    }
    return HP_OK;
}

static enum hp_err write_blocks_text(struct hp_export_request *request)
{
    const struct hp_profile *p = request->profile;
    struct coverage c HP_CLEANUP(release) = {.profile = p, .module = HP_PROFILE_NONE};
    HP_TRY(find_blocks(&c, request, false));
    for (size_t i = 0; i < c.n; i++) {
        struct hp_place place = c.blocks[i]->place;
        if (i == 0 || place.module != c.blocks[i - 1]->place.module)
            set_name(&c, hp_base_name(p->modules[place.module].path));
        fprintf(request->out, "%s+%" PRIx64 "\n", hp_strbuf_text(&c.name), place.offset);
    }
    return c.name.failed ? hp_fail_nomem() : HP_OK;
}

const struct hp_export_format hp_format_drcov = {
    .name = "drcov",
    .summary = "which blocks were executed, for Lighthouse and others",
    .write = write_drcov,
    .all_modules = true,
};

const struct hp_export_format hp_format_blocks_text = {
    .name = "blocks-text",
    .summary = "the same as lines, module+offset, for scripts",
    .write = write_blocks_text,
    .all_modules = true,
};
