// SPDX-License-Identifier: MIT
/*
 * The digest of a profile: its functions, and what is known of the whole run.
 */
#include "diff/digest.h"

#include "base/grow.h"
#include "hotpath/cycles.h"
#include "profile/rows.h"
#include "report/tables.h"
#include "text/number.h"
#include "text/strbuf.h"

#include <stdlib.h>
#include <string.h>

static const char *const total_names[HP_TOTALS] = {
    "instructions", "branches",  "cycles",    "mispredictions", "l1i.misses",
    "l1d.misses",   "l2.misses", "l3.misses", "itlb.misses",    "dtlb.misses",
};

const char *hp_total_name(enum hp_total total)
{
    return total_names[total];
}

const char *hp_digest_string(struct hp_digest *digest, const char *text)
{
    return hp_strings_add(&digest->strings, text, strlen(text));
}

/* As that, of a text that was made for it. */
static const char *take_string(struct hp_digest *digest, char *text)
{
    const char *kept = text ? hp_digest_string(digest, text) : NULL;
    free(text);
    return kept;
}

/* --- Functions -------------------------------------------------------------------------------- */

/* A function of the profile on its way to a group. */
struct symbol {
    uint32_t index; /* in the profile */
    const char *module, *key;
    const char *file;
    bool whole; /* nothing was appended to its symbol */
    uint64_t nameless;
};

struct making {
    struct hp_digest *digest;
    const struct hp_profile *profile;
    const struct hp_digest_options *options;
    const char **modules; /* keys */
    bool *wanted;         /* by module */
    bool *apart;          /* by module: functions without a symbol are kept apart */
    struct symbol *symbols;
    uint32_t *groups; /* by function of the profile */
};

static bool is_selected(const struct hp_digest_options *options, const char *path, const char *key)
{
    if (!options->modules)
        return true;
    for (const char *const *m = options->modules; *m; m++)
        if (strcmp(*m, key) == 0 || strcmp(*m, hp_base_name(path)) == 0 || strcmp(*m, path) == 0)
            return true;
    return false;
}

static bool has_module(const struct hp_profile *profile, const struct hp_pmodule *module)
{
    for (size_t i = 0; i < profile->n_modules; i++)
        if (*hp_text(module->build_id) &&
            strcmp(hp_text(profile->modules[i].build_id), module->build_id) == 0)
            return true;
    return false;
}

static enum hp_err make_modules(struct making *m)
{
    const struct hp_profile *p = m->profile;
    m->modules = calloc(p->n_modules + 1, sizeof *m->modules);
    m->wanted = calloc(p->n_modules + 1, sizeof *m->wanted);
    m->apart = calloc(p->n_modules + 1, sizeof *m->apart);
    if (!m->modules || !m->wanted || !m->apart)
        return hp_fail_nomem();
    for (size_t i = 0; i < p->n_modules; i++) {
        const char *path = hp_text(p->modules[i].path);
        m->modules[i] = take_string(m->digest, hp_module_key(path));
        if (!m->modules[i])
            return hp_fail_nomem();
        m->wanted[i] = is_selected(m->options, path, m->modules[i]);
        m->apart[i] = m->options->other && has_module(m->options->other, &p->modules[i]);
    }
    return HP_OK;
}

static int compare_groups(const struct symbol *x, const struct symbol *y)
{
    int order = strcmp(x->module, y->module);
    if (!order)
        order = strcmp(x->key, y->key);
    return order ? order : (x->nameless > y->nameless) - (x->nameless < y->nameless);
}

/* The parts behind the wholes, so that these are there for them. */
static int compare_symbols(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;
    int order = compare_groups(x, y);
    if (!order)
        order = y->whole - x->whole;
    if (!order)
        order = strcmp(x->file, y->file);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static enum hp_err read_symbol(struct making *m, uint32_t index, struct symbol *symbol)
{
    const struct hp_pfunction *f = &m->profile->functions[index];
    const char *linkage = *hp_text(f->linkage) ? f->linkage : hp_text(f->name);
    uint32_t module = f->place.module;
    char *key = hp_symbol_key(linkage);
    bool apart = module != HP_PROFILE_NONE && m->apart[module];
    *symbol = (struct symbol){
        .index = index,
        .module = module == HP_PROFILE_NONE ? "" : m->modules[module],
        .file = hp_text(f->file),
        .whole = linkage[hp_symbol_stem(linkage)] == 0,
        .nameless = !*linkage && apart ? f->place.offset : 0,
    };
    symbol->key = take_string(m->digest, key);
    return symbol->key ? HP_OK : hp_fail_nomem();
}

static enum hp_err name_function(struct making *m, const struct symbol *symbol,
                                 struct hp_dfunction *f)
{
    const char *name = hp_text(m->profile->functions[symbol->index].name);
    const char *linkage = hp_text(m->profile->functions[symbol->index].linkage);
    struct hp_strbuf text = {0};
    if (*name)
        /* "foo" for foo.part.0 where there is no foo; what is demangled says it by itself: "foo()
         * [clone .part.0]" */
        hp_strbuf_bytes(&text, name,
                        strcmp(name, linkage) == 0 ? hp_symbol_stem(name) : strlen(name));
    else if (*symbol->key)
        hp_strbuf_add(&text, symbol->key);
    else {
        hp_strbuf_add(&text, *symbol->module ? symbol->module : "?");
        if (symbol->nameless) {
            hp_strbuf_add(&text, "+");
            hp_strbuf_hex(&text, symbol->nameless);
        } else {
            hp_strbuf_add(&text, " (no symbols)");
        }
    }
    f->name = text.failed ? NULL : hp_digest_string(m->digest, hp_strbuf_text(&text));
    hp_strbuf_fini(&text);
    if (!f->name)
        return hp_fail_nomem();
    char *loose = hp_lambda_key(f->name);
    f->loose = loose ? take_string(m->digest, loose) : NULL;
    return HP_OK;
}

static enum hp_err new_group(struct making *m, const struct symbol *symbol, uint32_t *group)
{
    struct hp_digest *d = m->digest;
    HP_TRY(
        hp_grow(&d->functions, &d->functions_capacity, d->n_functions + 1, sizeof *d->functions));
    struct hp_dfunction *f = &d->functions[d->n_functions];
    *f = (struct hp_dfunction){.module = symbol->module,
                               .key = symbol->key,
                               .file = symbol->file,
                               .line = m->profile->functions[symbol->index].line,
                               .nameless = symbol->nameless};
    HP_TRY(name_function(m, symbol, f));
    *group = (uint32_t)d->n_functions++;
    return HP_OK;
}

/* The group among those from `first` on, which have its name, that a symbol belongs to: that of its
 * file; a part also to the only whole function there is; what has no name to the one without.
 * HP_PROFILE_NONE: to none of them. */
static uint32_t find_group(const struct hp_digest *d, uint32_t first, size_t wholes,
                           const struct symbol *symbol)
{
    if (d->n_functions > first && (!*symbol->key || (!symbol->whole && wholes == 1)))
        return first;
    for (uint32_t i = (uint32_t)d->n_functions; i > first; i--) {
        if (strcmp(d->functions[i - 1].file, symbol->file) == 0)
            return i - 1;
        if (symbol->whole) /* they come in the order of their files */
            break;
    }
    return HP_PROFILE_NONE;
}

static enum hp_err group_symbols(struct making *m, size_t n)
{
    struct hp_digest *d = m->digest;
    uint32_t first = 0;
    size_t wholes = 0;
    for (size_t i = 0; i < n; i++) {
        const struct symbol *symbol = &m->symbols[i];
        if (i == 0 || compare_groups(&m->symbols[i - 1], symbol) != 0) {
            first = (uint32_t)d->n_functions;
            wholes = 0;
        }
        uint32_t group = find_group(d, first, wholes, symbol);
        if (group == HP_PROFILE_NONE) {
            HP_TRY(new_group(m, symbol, &group));
            wholes += symbol->whole;
        }
        m->groups[symbol->index] = group;
        d->functions[group].parts++;
        d->functions[group].size =
            hp_saturating_add(d->functions[group].size, m->profile->functions[symbol->index].size);
    }
    return HP_OK;
}

/* Adds up what the functions of the profile did. Calls from one part to another are none. */
static void count_functions(struct making *m)
{
    const struct hp_profile *p = m->profile;
    struct hp_dfunction *functions = m->digest->functions;
    for (size_t i = 0; i < p->n_function_counts; i++) {
        uint32_t group = m->groups[p->function_counts[i].item];
        if (group == HP_PROFILE_NONE)
            continue;
        functions[group].self =
            hp_saturating_add(functions[group].self, p->function_counts[i].self);
        functions[group].calls =
            hp_saturating_add(functions[group].calls, p->function_counts[i].calls);
    }
    for (size_t i = 0; i < p->n_call_counts; i++) {
        const struct hp_pcall *call = &p->calls[p->call_counts[i].item];
        if (call->caller == HP_PROFILE_NONE || call->callee == HP_PROFILE_NONE ||
            call->caller == call->callee || m->groups[call->callee] == HP_PROFILE_NONE ||
            m->groups[call->caller] != m->groups[call->callee])
            continue;
        uint64_t *calls = &functions[m->groups[call->callee]].calls;
        uint64_t inside = p->call_counts[i].count;
        *calls -= inside < *calls ? inside : *calls;
    }
}

static void count_cycles(struct making *m)
{
    const struct hp_profile *p = m->profile;
    struct hp_dfunction *functions = m->digest->functions;
    for (size_t i = 0; i < p->n_insn_cycles; i++) {
        uint32_t function = p->insns[p->insn_cycles[i].insn].function;
        uint32_t group = function == HP_PROFILE_NONE ? function : m->groups[function];
        if (group != HP_PROFILE_NONE)
            functions[group].cycles =
                hp_saturating_add(functions[group].cycles, p->insn_cycles[i].parts);
    }
    for (size_t i = 0; i < p->n_insn_tallies; i++) {
        const struct hp_insn_tally *tally = &p->insn_tallies[i].tally;
        uint32_t function = p->insns[p->insn_tallies[i].insn].function;
        uint32_t group = function == HP_PROFILE_NONE ? function : m->groups[function];
        if (group == HP_PROFILE_NONE || strcmp(hp_text(p->insn_tallies[i].seen), "exact") != 0)
            continue;
        struct hp_dfunction *f = &functions[group];
        f->retired = hp_saturating_add(f->retired, tally->retired);
        for (int event = 0; event < HP_INSN_EVENTS; event++)
            f->events[event] = hp_saturating_add(f->events[event], tally->events[event]);
    }
}

static enum hp_err make_functions(struct making *m)
{
    const struct hp_profile *p = m->profile;
    size_t n = 0;
    m->groups = malloc((p->n_functions + 1) * sizeof *m->groups);
    m->symbols = calloc(p->n_functions + 1, sizeof *m->symbols);
    bool *counted = calloc(p->n_functions + 1, sizeof *counted);
    enum hp_err err = m->groups && m->symbols && counted ? HP_OK : hp_fail_nomem();
    for (size_t i = 0; err == HP_OK && i < p->n_function_counts; i++)
        counted[p->function_counts[i].item] = true;
    for (uint32_t i = 0; err == HP_OK && i < p->n_functions; i++) {
        uint32_t module = p->functions[i].place.module;
        bool wanted = module == HP_PROFILE_NONE ? !m->options->modules : m->wanted[module];
        m->groups[i] = HP_PROFILE_NONE;
        if (counted[i] && wanted)
            err = read_symbol(m, i, &m->symbols[n++]);
    }
    free(counted);
    HP_TRY(err);
    qsort(m->symbols, n, sizeof *m->symbols, compare_symbols);
    HP_TRY(group_symbols(m, n));
    count_functions(m);
    count_cycles(m);
    return HP_OK;
}

/* --- The whole run ---------------------------------------------------------------------------- */

static void set_total(struct hp_digest *d, enum hp_total total, uint64_t value)
{
    d->known[total] = true;
    d->totals[total] = value;
}

static uint64_t find_stat(const struct hp_profile *p, const char *part, const char *machine,
                          const char *name)
{
    for (size_t i = 0; i < p->n_stats; i++) {
        size_t n = strlen(part);
        if (strncmp(hp_text(p->stats[i].part), part, n) == 0 &&
            strcmp(p->stats[i].part + n, machine) == 0 &&
            strcmp(hp_text(p->stats[i].name), name) == 0)
            return p->stats[i].value;
    }
    return 0;
}

/* What the machine counted; where it saw windows of the run, cycles are those of all of it. */
static void set_machine(struct hp_digest *d, const struct hp_profile *p)
{
    for (size_t i = 0; i < p->n_stats && !*d->machine; i++)
        if (strncmp(hp_text(p->stats[i].part), "machine ", 8) == 0)
            d->machine = p->stats[i].part + 8;
    if (!*d->machine)
        return;
    for (int total = HP_TOTAL_MISPREDICTIONS; total < HP_TOTALS; total++)
        set_total(d, (enum hp_total)total,
                  find_stat(p, "machine ", d->machine, total_names[total]));
    uint64_t cycles = find_stat(p, "cycles ", d->machine, "cycles");
    uint64_t all = find_stat(p, "cycles ", d->machine, "run.instructions");
    uint64_t measured = find_stat(p, "cycles ", d->machine, "run.measured");
    if (cycles && measured && measured < all)
        cycles = (uint64_t)((long double)cycles * (long double)all / (long double)measured + 0.5L);
    if (cycles)
        set_total(d, HP_TOTAL_CYCLES, cycles);
}

/* Code that is in no function, so that functions add up to the whole. */
static enum hp_err add_rest(struct making *m)
{
    struct hp_digest *d = m->digest;
    uint64_t sum = 0, threads = 0, branches = 0;
    for (size_t i = 0; i < d->n_functions; i++)
        sum = hp_saturating_add(sum, d->functions[i].self);
    for (size_t i = 0; i < m->profile->n_threads; i++) {
        threads = hp_saturating_add(threads, m->profile->threads[i].instructions);
        branches = hp_saturating_add(branches, m->profile->threads[i].branches);
    }
    if (m->options->modules) {
        set_total(d, HP_TOTAL_INSTRUCTIONS, sum);
        return HP_OK;
    }
    set_machine(d, m->profile);
    set_total(d, HP_TOTAL_INSTRUCTIONS, threads > sum ? threads : sum);
    set_total(d, HP_TOTAL_BRANCHES, branches);
    if (threads <= sum)
        return HP_OK;
    HP_TRY(
        hp_grow(&d->functions, &d->functions_capacity, d->n_functions + 1, sizeof *d->functions));
    d->functions[d->n_functions++] = (struct hp_dfunction){
        .module = "", .key = "", .name = "(in no function)", .file = "", .self = threads - sum};
    return HP_OK;
}

/* "libc.so.6 1a2b3c4d5e6f": the file and the start of its build id. */
static enum hp_err describe_libc(struct hp_digest *d, const struct hp_profile *p)
{
    for (size_t i = 0; i < p->n_modules; i++) {
        const char *name = hp_base_name(hp_text(p->modules[i].path));
        if (strncmp(name, "libc.so", 7) != 0 && strncmp(name, "libc-", 5) != 0 &&
            strncmp(name, "ld-musl", 7) != 0)
            continue;
        struct hp_strbuf text = {0};
        hp_strbuf_add(&text, name);
        hp_strbuf_add(&text, " ");
        hp_strbuf_bytes(&text, hp_text(p->modules[i].build_id),
                        strnlen(hp_text(p->modules[i].build_id), 12));
        d->libc = hp_digest_string(d, hp_strbuf_text(&text));
        bool failed = text.failed || !d->libc;
        hp_strbuf_fini(&text);
        return failed ? hp_fail_nomem() : HP_OK;
    }
    return HP_OK;
}

static enum hp_err describe(struct hp_digest *d, const struct hp_profile *p)
{
    struct hp_strbuf command = {0};
    for (char **word = p->run.command; word && *word; word++) {
        hp_strbuf_add(&command, word == p->run.command ? "" : " ");
        hp_strbuf_add(&command, *word);
    }
    d->version = hp_text(p->run.version);
    d->engine = hp_text(p->run.engine);
    d->arch = hp_arch_name(p->run.arch);
    d->libc = d->machine = d->cpu = d->modules = "";
    d->directory = hp_text(p->run.directory);
    d->started = p->run.started;
    d->command = hp_digest_string(d, hp_strbuf_text(&command));
    bool failed = command.failed || !d->command;
    hp_strbuf_fini(&command);
    return failed ? hp_fail_nomem() : describe_libc(d, p);
}

static enum hp_err check_modules(const struct making *m)
{
    struct hp_strbuf list = {0};
    for (const char *const *name = m->options->modules; name && *name; name++) {
        hp_strbuf_add(&list, name == m->options->modules ? "" : ",");
        hp_strbuf_add(&list, *name);
    }
    m->digest->modules = hp_digest_string(m->digest, hp_strbuf_text(&list));
    bool failed = list.failed || !m->digest->modules;
    hp_strbuf_fini(&list);
    if (failed)
        return hp_fail_nomem();
    for (const char *const *name = m->options->modules; name && *name; name++) {
        bool found = false;
        const char *const one[] = {*name, NULL};
        const struct hp_digest_options only = {.modules = one};
        for (size_t i = 0; i < m->profile->n_modules && !found; i++)
            found = is_selected(&only, hp_text(m->profile->modules[i].path), m->modules[i]);
        if (!found)
            return hp_fail(HP_ERR_NOTFOUND,
                           "nothing was executed in a file named '%s' (hotpath run --view modules "
                           "lists them)",
                           *name);
    }
    return HP_OK;
}

static enum hp_err make(struct making *m)
{
    HP_TRY(describe(m->digest, m->profile));
    HP_TRY(make_modules(m));
    HP_TRY(check_modules(m));
    HP_TRY(make_functions(m));
    HP_TRY(add_rest(m));
    HP_TRY(hp_digest_lines(m->digest, m->profile, m->groups));
    HP_TRY(hp_digest_loops(m->digest, m->profile, m->groups));
    return hp_digest_paths(m->digest, m->profile, m->groups);
}

enum hp_err hp_digest_make(const struct hp_profile *profile,
                           const struct hp_digest_options *options, struct hp_digest **digest)
{
    HP_TRY(hp_profile_check_references(profile));
    struct hp_digest *made = calloc(1, sizeof *made);
    if (!made)
        return hp_fail_nomem();
    struct making m = {.digest = made, .profile = profile, .options = options};
    enum hp_err err = make(&m);
    free(m.modules);
    free(m.wanted);
    free(m.apart);
    free(m.symbols);
    free(m.groups);
    if (err != HP_OK) {
        hp_digest_free(made);
        return err;
    }
    *digest = made;
    return HP_OK;
}

void hp_digest_free(struct hp_digest *digest)
{
    if (!digest)
        return;
    free(digest->functions);
    free(digest->lines);
    free(digest->loops);
    free(digest->paths);
    free(digest->steps);
    hp_strings_fini(&digest->strings);
    free(digest);
}
