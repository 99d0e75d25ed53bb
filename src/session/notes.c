// SPDX-License-Identifier: MIT
#include "session/notes.h"

#include "engine/elf_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum hp_err hp_note_losses(struct hp_profile *profile, const struct hp_pipeline_stats *stats)
{
    /* Those that the engine let go are noted with what the engine said about them. */
    uint64_t let_go = profile->run.work.detached;
    for (int i = 0; i < HP_LOST_REASON_COUNT_; i++)
        if (stats->losses_by_reason[i])
            HP_TRY(hp_profile_note(profile, stats->losses_by_reason[i], "lost",
                                   "gaps in the stream: %s",
                                   hp_lost_reason_text((enum hp_lost_reason)i)));
    if (stats->cursor.discontinuities)
        HP_TRY(hp_profile_note(profile, stats->cursor.discontinuities, "discontinuity",
                               "transfers of control that no branch explains"));
    if (stats->detached_threads > let_go)
        HP_TRY(hp_profile_note(profile, stats->detached_threads - let_go, "detached",
                               "threads still ran when observation ended; what they did after that "
                               "is not in the profile"));
    if (!stats->region_reached)
        HP_TRY(hp_profile_note(profile, 1, "region",
                               "the program ended before the region asked for began"));
    return HP_OK;
}

/* --- Programs that were executed -------------------------------------------------------------- */

/* Why the native engine lets a program go; as far as the file, if it is still there, tells. */
static const char *why_not_native(const char *path)
{
    struct stat status;
    struct hp_elf_file elf;
    if (!path || path[0] != '/' || stat(path, &status) != 0)
        return "the native engine did not follow it";
    if (status.st_mode & (S_ISUID | S_ISGID))
        return "the native engine does not follow setuid programs";
    if (hp_elf_file_read(path, &elf) == HP_OK && elf.arch != HP_ARCH_X86_64)
        return "the native engine follows 64-bit x86 programs only";
    return "the native engine did not follow it";
}

enum hp_err hp_note_exec(struct hp_profile *profile, const char *path, const char *engine,
                         bool unwanted)
{
    const char *newline = path ? strrchr(path, '\n') : NULL;
    if (newline && newline[1])
        return hp_profile_note(profile, 1, "exec", "%.*s was executed and ran outside hotpath: %s",
                               (int)(newline - path), path, newline + 1);
    const char *name = path && *path ? path : "another program";
    if (engine && strcmp(engine, "qemu") == 0)
        return hp_profile_note(profile, 1, "exec",
                               "%s was executed and ran outside hotpath: the qemu engine cannot "
                               "follow exec",
                               name);
    return hp_profile_note(profile, 1, "exec", "%s was executed and ran outside hotpath: %s", name,
                           unwanted ? "children are not followed (--no-follow)"
                                    : why_not_native(path));
}

/* --- The engine ------------------------------------------------------------------------------- */

/* The watched processes can write anything there; profiles hold numbers up to 2^63-1. */
static uint64_t bounded(uint64_t n)
{
    return n > INT64_MAX ? INT64_MAX : n;
}

static void take_work(struct hp_engine_work *work, const struct hp_engine_stats *stats)
{
    *work = (struct hp_engine_work){
        .segments = bounded(stats->segments),
        .blocks = bounded(stats->blocks),
        .instructions = bounded(stats->instructions),
        .links = bounded(stats->links),
        .lookups = bounded(stats->lookups),
        .invalidated = bounded(stats->invalidated),
        .flushes = bounded(stats->flushes),
        .translate_ns = bounded(stats->translate_ns),
        .cache_bytes = bounded(stats->cache_bytes),
        .memory_bytes = bounded(stats->memory_bytes),
        .processes = bounded(stats->processes),
        .threads = bounded(stats->threads),
        .detached = bounded(stats->detached),
    };
}

/* "libc.so.6+0x1234", or the bare address where no module that was seen is there. */
static void describe_address(const struct hp_code *code, uint64_t address, char *text, size_t size)
{
    snprintf(text, size, "address 0x%llx", (unsigned long long)address);
    for (uint32_t i = 0; i < hp_code_n_modules(code); i++) {
        const struct hp_module *module = hp_code_module(code, i);
        if (address < module->low || address >= module->high)
            continue;
        const char *slash = strrchr(module->path, '/');
        snprintf(text, size, "%.200s+0x%llx", slash ? slash + 1 : module->path,
                 (unsigned long long)(address - module->base));
        return;
    }
}

enum hp_err hp_note_engine(struct hp_profile *profile, struct hp_live *live,
                           const struct hp_code *code)
{
    struct hp_engine_stats stats;
    char place[256];
    hp_live_engine_stats(live, &stats);
    take_work(&profile->run.work, &stats);
    if (!profile->run.work.detached)
        return HP_OK;
    describe_address(code, stats.detach_address, place, sizeof place);
    const char *reason = hp_live_string(live, stats.detach_reason);
    return hp_profile_note(profile, profile->run.work.detached, "detached",
                           "a thread went on natively and was not seen any more, the first from %s "
                           "on: %.400s",
                           place, reason ? reason : "the engine did not say why");
}
