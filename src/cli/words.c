// SPDX-License-Identifier: MIT
#include "cli/help.h"

#include "base/base.h"
#include "cli/top/page.h"
#include "export/export.h"
#include "hotpath/metric.h"
#include "lab/lab.h"
#include "machine/keys.h"
#include "profiler/models.h"
#include "report/fields.h"
#include "report/report.h"
#include "session/selection.h"

void hp_word_put(struct hp_strbuf *lines, const char *word, const char *help)
{
    hp_strbuf_format(lines, "%s\t%s\n", word, help ? help : "");
}

static void put_views(struct hp_strbuf *lines)
{
    for (const struct hp_view *const *view = hp_views; *view; view++)
        hp_word_put(lines, (*view)->name, (*view)->help);
}

/* Of all views, each once; the help is that of the first view that has it. */
static void put_columns(struct hp_strbuf *lines)
{
    for (const struct hp_view *const *view = hp_views; *view; view++)
        for (const struct hp_field *f = (*view)->fields; f && f->name; f++) {
            char line[64];
            snprintf(line, sizeof line, "%s\t", f->name);
            const char *at = strstr(hp_strbuf_text(lines), line);
            while (at && at > hp_strbuf_text(lines) && at[-1] != '\n')
                at = strstr(at + 1, line);
            if (!at)
                hp_strbuf_format(lines, "%s%s\n", line, f->help ? f->help : "");
        }
}

static void put_formats(struct hp_strbuf *lines)
{
    for (const struct hp_export_format *const *format = hp_export_formats; *format; format++)
        hp_word_put(lines, (*format)->name, (*format)->summary);
}

static void put_profilers(struct hp_strbuf *lines)
{
    for (const struct hp_session_profiler *p = hp_session_profilers(); p->name; p++)
        hp_strbuf_format(lines, "%s\t%s; takes about %s as long%s\n", p->name, p->help, p->cost,
                         strcmp(p->needs, "machine") == 0 ? "; --machine" : "");
}

static void put_presets(const struct hp_model *model, struct hp_strbuf *lines)
{
    for (unsigned i = 0; i < model->n_presets; i++)
        hp_strbuf_format(lines, "%s%s\t%s\n", model->presets[i].name,
                         model->presets[i].number ? ":N" : "",
                         model->presets[i].help ? model->presets[i].help : "");
}

static void put_metrics(struct hp_strbuf *lines)
{
    for (int i = 0; i < HP_METRICS; i++)
        hp_word_put(lines, hp_metric_name((enum hp_metric)i), hp_metric_title((enum hp_metric)i));
}

static void put_experiments(struct hp_strbuf *lines)
{
    size_t n;
    const struct hp_experiment *const *experiments = hp_lab_experiments(&n);
    hp_word_put(lines, "list", "what there is");
    for (size_t i = 0; i < n; i++)
        hp_word_put(lines, experiments[i]->name, experiments[i]->summary);
}

void hp_commands_put(const char *group, struct hp_strbuf *lines)
{
    for (const struct hp_command *const *c = hp_commands; *c; c++)
        if (hp_command_name(*c, group))
            hp_word_put(lines, hp_command_name(*c, group), (*c)->summary);
}

static void put_topics(struct hp_strbuf *lines)
{
    hp_commands_put(NULL, lines);
    hp_word_put(lines, "models", "");
    for (const struct hp_words *words = hp_word_lists; words->argument; words++)
        if (words->topic)
            hp_word_put(lines, words->topic, "");
}

const struct hp_words hp_word_lists[] = {
    {"VIEW", "views", .put = put_views},
    {"COLUMN", "columns", .put = put_columns},
    {"FORMAT", "formats", .put = put_formats},
    {"LIST", "profilers", .put = put_profilers},
    {"MACHINE", "machines", .family = &hp_machine_family},
    {"ENGINE", .names = hp_plan_engines},
    {"RECORD", .names = hp_plan_records},
    {"TRACES", .family = &hp_traces_family},
    {"METRIC", .put = put_metrics},
    {"UNIT", .names = hp_report_units},
    {"PART", .names = hp_top_views},
    {"SHELL", .names = hp_shells},
    {"EXPERIMENT", .put = put_experiments},
    {"KEY", "keys", .put = hp_top_keys_put},
    {"TOPIC", .put = put_topics},
    {"TYPE", .family = &hp_path_family},
    {"TABLE", .family = &hp_hpt_family},
    {"SCHEME", .family = &hp_scheme_family},
    {"MODEL", .family = &hp_loop_family},
    {"DETECTOR", .family = &hp_hotspot_family},
    {"SAMPLER", .family = &hp_sample_family},
    {0},
};

const struct hp_words *hp_words_find(const char *name)
{
    for (const struct hp_words *w = hp_word_lists; w->argument; w++)
        if (strcmp(w->argument, name) == 0 || (w->topic && strcmp(w->topic, name) == 0))
            return w;
    return NULL;
}

void hp_words_put(const struct hp_words *words, struct hp_strbuf *lines)
{
    if (words->put)
        words->put(lines);
    for (const struct hp_name *name = words->names; name && name->name; name++)
        hp_word_put(lines, name->name, name->help);
    for (unsigned i = 0; words->family && i < words->family->n_models; i++)
        put_presets(words->family->models[i], lines);
}
