// SPDX-License-Identifier: MIT
/* What a profile says beside its counts: statistics, notes, names. */
#include "import/state.h"

#include "base/base.h"

#include <stdarg.h>

void hp_import_say(const struct hp_import *im, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    hp_perf_one_line(text);
    if (im->request->say)
        im->request->say(im->request->context, text);
}

enum hp_err hp_import_add_stats(struct hp_import *im)
{
    static const struct hp_import_stack_counts none;
    static const struct hp_import_sampled nothing;
    const struct hp_import_stack_counts *c = im->stacks ? &im->stacks->counts : &none;
    const struct hp_import_sampled *s = im->sampled ? im->sampled : &nothing;
    const struct {
        const char *name;
        uint64_t value;
    } stats[] = {
        {"samples", im->samples},
        {"events", im->period},
        {"stacks", c->stacks},
        {"branches", c->branches},
        {"mispredicted", c->mispredicted},
        {"predicted", c->predicted},
        {"wrong path", c->wrong_path},
        {"in the kernel", c->kernel + s->kernel},
        {"instructions sampled", s->samples[HP_IMPORT_OPS]},
        {"fetches sampled", s->samples[HP_IMPORT_FETCHES]},
        {"fetches given up", im->aborted},
        {"instructions not known", im->no_place},
        {"samples in unknown code", s->unknown},
        {"runs", c->runs},
        {"runs in unknown code", c->gaps},
        {"impossible runs", c->impossible},
        {"joined stacks", c->joined},
        {"runs with cycles", c->timed},
        {"lost records", im->lost},
        {"damaged records", im->bad},
    };
    for (size_t i = 0; i < sizeof stats / sizeof *stats; i++)
        if (stats[i].value)
            HP_TRY(hp_profile_add_stat(im->profile, "import", stats[i].name, HP_STAT_COUNT,
                                       stats[i].value > INT64_MAX ? INT64_MAX : stats[i].value));
    return HP_OK;
}

/* Files whose code is not known, and what that means. The first are said, the others counted. */
#define SAID 4

enum hp_err hp_import_note_files(struct hp_import *im)
{
    uint64_t unverified = 0, problems = 0;
    for (size_t i = 0; i < im->spaces->n_files; i++) {
        const struct hp_import_file *file = &im->spaces->files[i];
        unverified += file->code && !file->verified;
        if (!file->problem[0] || problems++ >= SAID)
            continue;
        hp_import_say(im, "%s: what ran in it is not known", file->problem);
        HP_TRY(hp_profile_note(im->profile, 1, "file", "%s: what ran in it is not known",
                               file->problem));
    }
    if (problems > SAID) {
        hp_import_say(im, "of %" PRIu64 " other files it is not known what ran in them",
                      problems - SAID);
        HP_TRY(hp_profile_note(im->profile, problems - SAID, "file",
                               "other files of which it is not known what ran in them"));
    }
    if (!unverified)
        return HP_OK;
    return hp_profile_note(im->profile, unverified, "unverified",
                           "files without a recorded build id were taken to be those that ran");
}

enum hp_err hp_import_note_losses(struct hp_import *im)
{
    const char *damage = hp_perf_damage(im->reader);
    if (!hp_perf_machine(im->reader)[0])
        HP_TRY(hp_profile_note(im->profile, 1, "architecture",
                               "the file does not say which architecture it is of: taken for %s",
                               hp_arch_name(hp_import_arch(""))));
    if (damage[0]) {
        hp_import_say(im, "%s: read as far as it goes", damage);
        HP_TRY(hp_profile_note(im->profile, 1, "damaged", "%s: %s", im->request->path, damage));
    }
    if (im->bad)
        HP_TRY(hp_profile_note(im->profile, im->bad, "damaged",
                               "records that do not hold what they should were passed over"));
    if (im->lost)
        HP_TRY(hp_profile_note(im->profile, im->lost, "lost",
                               "records were lost while perf recorded"));
    if (im->unknown_events)
        HP_TRY(hp_profile_note(im->profile, im->unknown_events, "events",
                               "samples of events that the file does not describe"));
    for (uint32_t i = 0; i < hp_perf_attrs(im->reader)->n; i++) {
        char name[80];
        hp_import_event_name(&hp_perf_attrs(im->reader)->all[i], name, sizeof name);
        if (!hp_import_reads(im, i) && im->sums[i].samples)
            HP_TRY(hp_profile_note(im->profile, im->sums[i].samples, "events",
                                   "samples of another event: --event %s", name));
    }
    if (im->stacks && im->stacks->counts.gaps)
        return hp_profile_note(im->profile, im->stacks->counts.gaps, "gaps",
                               "runs between branches are in code that is not known or does not "
                               "fit: of %" PRIu64,
                               im->stacks->counts.runs);
    return HP_OK;
}

enum hp_err hp_import_add_names(struct hp_import *im)
{
    for (size_t i = 0; i < im->n_threads; i++) {
        uint32_t known = hp_map64_get(&im->name_of, (uint32_t)im->threads[i].info.tid);
        uint32_t index = hp_result_known_thread(im->result, (uint32_t)i);
        struct hp_pthread_name *out;
        if (known == HP_MAP64_NONE || index == HP_PROFILE_NONE)
            continue;
        HP_TRY(hp_profile_add_thread_name(im->profile, &out));
        *out = (struct hp_pthread_name){.thread = index, .command = ""};
        out->name = out->command = hp_profile_string(im->profile, im->names[known].name);
        if (!out->name)
            return hp_fail_nomem();
    }
    return HP_OK;
}

enum hp_err hp_import_describe(struct hp_import *im)
{
    struct hp_run *run = &im->profile->run;
    char machine[160];
    snprintf(machine, sizeof machine, "%s, recorded by perf %s", hp_perf_machine(im->reader),
             hp_perf_version(im->reader));
    run->version = hp_profile_string(im->profile, HP_VERSION);
    run->engine = hp_profile_string(im->profile, "perf");
    run->machine = hp_profile_string(im->profile, machine);
    run->arch = hp_code_arch(im->code);
    run->seconds = im->last > im->first ? (double)(im->last - im->first) * 1e-9 : 0;
    run->lost = im->lost < INT64_MAX ? im->lost : INT64_MAX;
    run->runs = 1;
    if (!run->version || !run->engine || !run->machine)
        return hp_fail_nomem();
    return hp_profile_set_command(im->profile, hp_perf_command(im->reader));
}
