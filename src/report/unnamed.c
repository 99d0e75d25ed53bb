// SPDX-License-Identifier: MIT
/* Functions without names: of stripped files, and generated code. What would name them is said
 * once. */
#include "base/base.h"
#include "report/text.h"
#include "symbols/debuginfod.h"
#include "text/number.h"

#define LEAST 0.05 /* share of the run: less is not worth a line */

/* How runtimes are told to write the names of what they generate (docs/howto-jit.md). */
static const struct {
    const char *module, *how;
} runtimes[] = {
    {"libjvm.so", "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit"},
    {"node", "node --perf-basic-prof"},
    {"libcoreclr.so", "DOTNET_PerfMapEnabled=1"},
};

static bool is_generated(const struct hp_pmodule *module)
{
    return *hp_text(module->path) == '[';
}

/* Instructions in functions without a name, by module; of all generated code in `generated`. A
 * region of that is called like its module. */
static enum hp_err count(const struct hp_tables *tables, uint64_t **unnamed, uint64_t *generated)
{
    const struct hp_profile *p = tables->profile;
    HP_TRY(hp_new(unnamed, p->n_modules + 1, sizeof **unnamed));
    for (size_t i = 0; i < p->n_function_counts; i++) {
        const struct hp_pfunction *f = &p->functions[p->function_counts[i].item];
        uint32_t module = f->place.module;
        uint64_t self = p->function_counts[i].self;
        if (module >= p->n_modules)
            continue;
        if (is_generated(&p->modules[module])) {
            bool named = *hp_text(f->name) && strcmp(f->name, p->modules[module].path) != 0;
            hp_add_up(generated, named ? 0 : self);
        } else if (!*hp_text(f->name)) {
            hp_add_up(&(*unnamed)[module], self);
        }
    }
    return HP_OK;
}

static void put_generated(const struct hp_tables *tables, double share, struct hp_strbuf *text)
{
    const struct hp_profile *p = tables->profile;
    const char *how = NULL;
    for (size_t i = 0; i < p->n_modules; i++)
        for (size_t k = 0; k < sizeof runtimes / sizeof *runtimes; k++)
            if (strcmp(hp_base_name(hp_text(p->modules[i].path)), runtimes[k].module) == 0)
                how = runtimes[k].how;
    hp_strbuf_format(text,
                     "%s of the run is in generated code that has no names: ", HP_PERCENT(share));
    if (how)
        hp_strbuf_format(text, "%s writes them, record again", how);
    else
        hp_strbuf_add(text, "docs/howto-jit.md says how runtimes write them");
}

enum hp_err hp_put_unnamed(const struct hp_tables *tables, struct hp_strbuf *text)
{
    const struct hp_profile *p = tables->profile;
    uint64_t *unnamed HP_CLEANUP(hp_free) = NULL, generated = 0;
    size_t most = 0;
    char advice[600];
    HP_TRY(count(tables, &unnamed, &generated));
    for (size_t i = 1; i < p->n_modules; i++)
        if (unnamed[i] > unnamed[most])
            most = i;
    bool is_made = generated > unnamed[most];
    double share =
        hp_number_share(is_made ? generated : unnamed[most], tables->summary.instructions);
    if (share < LEAST)
        return HP_OK;
    if (is_made) {
        put_generated(tables, share, text);
        return HP_OK;
    }
    hp_debuginfod_advice(p->modules[most].path, advice, sizeof advice);
    hp_strbuf_format(text, "%s of the run is in functions of %s that have no names: %s",
                     HP_PERCENT(share), tables->modules[most], advice);
    return HP_OK;
}
