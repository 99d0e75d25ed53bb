// SPDX-License-Identifier: MIT
#include "cli/words.h"

#include "export/export.h"
#include "machine/keys.h"
#include "report/view.h"

#include <string.h>

/* A word with its help, which may be NULL. */
struct writer {
    FILE *out;
    enum hp_words_form form;
    bool some;
};

static void put(struct writer *w, const char *word, const char *help)
{
    if (w->form == HP_WORDS_BARE)
        fprintf(w->out, "%s%s", w->some ? " " : "", word);
    else
        fprintf(w->out, "  %-15s %s\n", word, help ? help : "");
    w->some = true;
}

static void put_views(struct writer *w)
{
    for (const struct hp_view *const *view = hp_views; *view; view++)
        put(w, (*view)->name, (*view)->help);
}

static void put_formats(struct writer *w)
{
    for (const struct hp_export_format *const *format = hp_export_formats; *format; format++)
        put(w, (*format)->name, (*format)->summary);
}

static void put_profilers(struct writer *w)
{
    for (const struct hp_session_profiler *p = hp_session_profilers(); p->name; p++) {
        char help[256];
        snprintf(help, sizeof help, "%s; takes about %s as long%s", p->help, p->cost,
                 strcmp(p->needs, "machine") == 0 ? "; --machine" : "");
        put(w, p->name, help);
    }
}

static void put_machines(struct writer *w)
{
    const struct hp_model *shipped = hp_machine_family.models[0];
    for (unsigned i = 0; i < shipped->n_presets; i++)
        put(w, shipped->presets[i].name, shipped->presets[i].help);
}

static void put_engines(struct writer *w)
{
    put(w, "native", "programs of this machine: fast");
    put(w, "qemu", "programs of other machines, too");
}

static void put_records(struct writer *w)
{
    put(w, "none", "nothing");
    put(w, "count", "counters of blocks and edges");
    put(w, "stream", "the order of execution");
    put(w, "memory", "the same with the addresses of data");
}

static const struct {
    const char *title, *topic;
    void (*put)(struct writer *writer);
} lists[HP_WORDS_LAST + 1] = {
    [HP_WORDS_VIEWS] = {"Views", "views", put_views},
    [HP_WORDS_FORMATS] = {"Formats", "formats", put_formats},
    [HP_WORDS_PROFILERS] = {"Profilers", "profilers", put_profilers},
    [HP_WORDS_MACHINES] = {"Machines", "machines", put_machines},
    [HP_WORDS_ENGINES] = {"Engines", NULL, put_engines},
    [HP_WORDS_RECORDS] = {"What is recorded", NULL, put_records},
};

void hp_words_print(enum hp_word_list list, enum hp_words_form form, FILE *out)
{
    struct writer writer = {.out = out, .form = form};
    if (lists[list].put)
        lists[list].put(&writer);
}

const char *hp_words_title(enum hp_word_list list)
{
    return lists[list].title;
}

const char *hp_words_topic(enum hp_word_list list)
{
    return lists[list].topic;
}

enum hp_word_list hp_words_from_topic(const char *topic)
{
    for (int i = 0; i <= HP_WORDS_LAST; i++)
        if (lists[i].topic && strcmp(lists[i].topic, topic) == 0)
            return (enum hp_word_list)i;
    return HP_WORDS_ANY;
}
