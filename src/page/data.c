// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "page/model.h"
#include "report/fields.h"
#include "report/print.h"
#include "report/text.h"

#include <math.h>

#define TITLE_COLUMNS 80

static void put_run(struct hp_page *page)
{
    const struct hp_run *run = &page->profile->run;
    struct hp_strbuf command HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_put_command(&command, run->command);
    hp_strbuf_clear(&page->text);
    hp_strbuf_cut(&page->text, hp_strbuf_text(&command), TITLE_COLUMNS, HP_CUT_END);
    hp_json_put_string(&page->json, "title", hp_strbuf_text(&page->text));
    hp_json_put_object(&page->json, "run");
    hp_json_run(&page->json, run);
    hp_json_put_string(&page->json, "command_text", hp_strbuf_text(&command));
    hp_json_end_object(&page->json);
    page->text.failed |= command.failed;
}

/* Of the machine that was modelled, in cycles if any was: from the part of its stats. */
static const char *machine_name(const struct hp_profile *p)
{
    static const char *const prefixes[] = {"cycles ", "machine "};
    for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; k++)
        for (size_t i = 0; i < p->n_stats; i++)
            if (strncmp(hp_text(p->stats[i].part), prefixes[k], strlen(prefixes[k])) == 0)
                return p->stats[i].part + strlen(prefixes[k]);
    return NULL;
}

/* Not finite: null. */
static void put_cycles(struct hp_page *page)
{
    const struct hp_insns *insns = &page->tables.insns;
    double cycles = NAN, cpi = NAN;
    if (insns->windows.n) {
        cycles = insns->windows.all.value;
        cpi = insns->windows.cpi.value;
    } else if (insns->exact) {
        cycles = (double)insns->parts / HP_CYCLE_PARTS;
        cpi = insns->retired ? hp_cpi_of(insns->parts, insns->retired) : NAN;
    }
    hp_json_put_fixed(&page->json, "cycles", cycles, 0);
    hp_json_put_fixed(&page->json, "cpi", cpi, 6);
}

static void put_summary(struct hp_page *page)
{
    struct hp_json *json = &page->json;
    hp_json_put_object(json, "summary");
    hp_json_summary(json, &page->tables.summary);
    put_cycles(page);
    hp_json_put_bool(json, "has_contexts", page->profile->n_contexts > 0);
    hp_json_put_string(&page->json, "machine_name", machine_name(page->profile));
    hp_json_end_object(json);
    hp_json_key(json, "notes");
    hp_json_notes(json, page->profile);
}

static void put_limits(struct hp_page *page)
{
    hp_json_put_array(&page->json, "limits");
    for (char *line = page->limits.data, *end; page->limits.length && *line; line = end) {
        end = strchrnul(line, '\n');
        if (*end)
            *end++ = 0;
        hp_json_string(&page->json, line);
    }
    hp_json_end_array(&page->json);
}

static enum hp_err put_all(struct hp_page *page)
{
    hp_json_begin_object(&page->json);
    hp_json_put_uint(&page->json, "format", 1);
    hp_json_put_string(&page->json, "hotpath", HP_VERSION);
    put_run(page);
    put_summary(page);
    HP_TRY(hp_page_put_tables(page));
    HP_TRY(hp_page_put_lists(page));
    put_limits(page);
    hp_json_end_object(&page->json);
    if (page->text.failed || page->limits.failed)
        return hp_fail_nomem();
    return hp_json_finish(&page->json);
}

enum hp_err hp_page_data(const struct hp_profile *profile, const struct hp_page_options *options,
                         FILE *out)
{
    struct hp_page page HP_CLEANUP(hp_page_fini) = {0};
    HP_TRY(hp_page_init(&page, profile, options, out));
    flockfile(out); /* the writer uses the unlocked calls */
    enum hp_err err = put_all(&page);
    funlockfile(out);
    return err;
}
