// SPDX-License-Identifier: MIT
/* The digest of a profile: its functions, and what is known of the whole run. */
#include "diff/digest.h"

#include "base/base.h"
#include "profile/rows.h"
#include "report/tables.h"
#include "text/number.h"

const char *const hp_total_names[HP_TOTALS] = {
    "instructions", "branches",  "cycles",    "mispredictions", "l1i.misses",
    "l1d.misses",   "l2.misses", "l3.misses", "itlb.misses",    "dtlb.misses",
};

const char *const hp_about_names[HP_ABOUTS] = {
    "command", "hotpath", "engine", "arch", "cpu", "libc", "machine", "modules",
};

/* A lasting copy of a text that was made for it; NULL when there is none. */
static const char *take(struct hp_digest *digest, char *text)
{
    const char *kept = text ? hp_strings_add(&digest->strings, text, strlen(text)) : NULL;
    free(text);
    return kept;
}

enum hp_err hp_digest_add_function(struct hp_digest *d, const struct hp_dfunction *function)
{
    HP_TRY(
        hp_grow(&d->functions, &d->functions_capacity, d->n_functions + 1, sizeof *d->functions));
    d->functions[d->n_functions++] = *function;
    return HP_OK;
}

enum hp_err hp_digest_add_line(struct hp_digest *d, const struct hp_dline *line)
{
    HP_TRY(hp_grow(&d->lines, &d->lines_capacity, d->n_lines + 1, sizeof *d->lines));
    d->lines[d->n_lines++] = *line;
    return HP_OK;
}

enum hp_err hp_digest_name(struct hp_digest *d, struct hp_dfunction *f, const char *name, size_t n)
{
    const char *module = *f->module ? f->module : "?";
    if (n)
        f->name = hp_strings_add(&d->strings, name, n);
    else if (*f->key)
        f->name = f->key;
    else if (f->nameless)
        f->name = hp_strings_format(&d->strings, "%s+%s", module, HP_HEX(f->nameless));
    else
        f->name = hp_strings_format(&d->strings, "%s (no symbols)", module);
    f->loose = f->name ? take(d, hp_lambda_key(f->name)) : NULL;
    return f->name ? HP_OK : hp_fail_nomem();
}

/* --- Functions -------------------------------------------------------------------------------- */

/* A function of the profile on its way to a group. */
struct symbol {
    uint32_t index; /* in the profile */
    const char *module, *key, *file;
    bool whole; /* nothing was appended to its symbol */
    uint64_t nameless;
};

struct module {
    const char *key;
    bool wanted;
    bool apart; /* functions without a symbol are kept apart */
};

struct making {
    struct hp_digest *digest;
    const struct hp_profile *profile;
    const struct hp_digest_options *options;
    struct module *modules;
    struct symbol *symbols;
    uint32_t *groups; /* by function of the profile */
};

static bool is_called(const struct making *m, size_t module, const char *name)
{
    const char *path = hp_text(m->profile->modules[module].path);
    return strcmp(name, m->modules[module].key) == 0 || strcmp(name, hp_base_name(path)) == 0 ||
           strcmp(name, path) == 0;
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
    const struct hp_profile *p = m->profile, *other = m->options->other;
    const char *const *names = m->options->modules;
    for (size_t i = 0; i < p->n_modules; i++) {
        struct module *module = &m->modules[i];
        module->key = take(m->digest, hp_module_key(hp_text(p->modules[i].path)));
        if (!module->key)
            return hp_fail_nomem();
        module->wanted = !names;
        module->apart = other && has_module(other, &p->modules[i]);
    }
    for (; names && *names; names++) {
        bool found = false;
        for (size_t i = 0; i < p->n_modules; i++)
            if (is_called(m, i, *names))
                m->modules[i].wanted = found = true;
        if (!found)
            return hp_fail(HP_ERR_NOTFOUND,
                           "nothing was executed in a file named '%s' (hotpath run --view modules "
                           "lists them)",
                           *names);
    }
    return HP_OK;
}

static int compare_groups(const struct symbol *x, const struct symbol *y)
{
    return strcmp(x->module, y->module) ?: strcmp(x->key, y->key)
                                        ?: HP_COMPARE(x->nameless, y->nameless);
}

/* The parts behind the wholes, so that these are there for them. */
static int compare_symbols(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;
    int order = compare_groups(x, y) ?: y->whole - x->whole;
    return order ?: strcmp(x->file, y->file) ?: HP_COMPARE(x->index, y->index);
}

static enum hp_err read_symbol(struct making *m, uint32_t index, struct symbol *symbol)
{
    const struct hp_pfunction *f = &m->profile->functions[index];
    const struct module *module =
        f->place.module == HP_PROFILE_NONE ? NULL : &m->modules[f->place.module];
    const char *linkage = *hp_text(f->linkage) ? f->linkage : hp_text(f->name);
    *symbol = (struct symbol){
        .index = index,
        .module = module ? module->key : "",
        .key = take(m->digest, hp_symbol_key(linkage)),
        .file = hp_text(f->file),
        .whole = linkage[hp_symbol_stem(linkage)] == 0,
        .nameless = module && module->apart && !*linkage ? f->place.offset : 0,
    };
    return symbol->key ? HP_OK : hp_fail_nomem();
}

static enum hp_err new_group(struct making *m, const struct symbol *symbol)
{
    const struct hp_pfunction *function = &m->profile->functions[symbol->index];
    const char *name = hp_text(function->name);
    struct hp_dfunction f = {.module = symbol->module,
                             .key = symbol->key,
                             .file = symbol->file,
                             .line = function->line,
                             .nameless = symbol->nameless};
    /* "foo" for foo.part.0 where there is no foo; what is demangled says it by itself: "foo()
     * [clone .part.0]" */
    bool is_symbol = strcmp(name, hp_text(function->linkage)) == 0;
    HP_TRY(hp_digest_name(m->digest, &f, name, is_symbol ? hp_symbol_stem(name) : strlen(name)));
    return hp_digest_add_function(m->digest, &f);
}

/* The group among those from `first` on, which have its name, that a symbol belongs to: that of its
 * file; a part also to the only whole function there is; what has no name to the one without. The
 * number of groups: to none of them. */
static size_t find_group(const struct hp_digest *d, size_t first, size_t wholes,
                         const struct symbol *symbol)
{
    if (d->n_functions > first && (!*symbol->key || (!symbol->whole && wholes == 1)))
        return first;
    /* Wholes come in the order of their files. */
    for (size_t i = d->n_functions; i > first && !(symbol->whole && i < d->n_functions); i--)
        if (strcmp(d->functions[i - 1].file, symbol->file) == 0)
            return i - 1;
    return d->n_functions;
}

static enum hp_err group_symbols(struct making *m, size_t n)
{
    struct hp_digest *d = m->digest;
    size_t first = 0, wholes = 0;
    for (const struct symbol *symbol = m->symbols; symbol < m->symbols + n; symbol++) {
        if (symbol == m->symbols || compare_groups(symbol - 1, symbol) != 0) {
            first = d->n_functions;
            wholes = 0;
        }
        size_t group = find_group(d, first, wholes, symbol);
        if (group == d->n_functions) {
            HP_TRY(new_group(m, symbol));
            wholes += symbol->whole;
        }
        m->groups[symbol->index] = (uint32_t)group;
        d->functions[group].parts++;
    }
    return HP_OK;
}

/* The function of the digest that one of the profile is in; NULL: none. */
static struct hp_dfunction *group_of(const struct making *m, uint32_t function)
{
    uint32_t group = hp_digest_group(m->groups, function);
    return group == HP_PROFILE_NONE ? NULL : &m->digest->functions[group];
}

/* Adds up what the functions of the profile did. Calls from one part to another are none. */
static void count_functions(struct making *m)
{
    const struct hp_profile *p = m->profile;
    for (size_t i = 0; i < p->n_function_counts; i++) {
        struct hp_dfunction *f = group_of(m, p->function_counts[i].item);
        if (!f)
            continue;
        hp_add_up(&f->self, p->function_counts[i].self);
        hp_add_up(&f->calls, p->function_counts[i].calls);
    }
    for (size_t i = 0; i < p->n_call_counts; i++) {
        const struct hp_pcall *call = &p->calls[p->call_counts[i].item];
        struct hp_dfunction *f = group_of(m, call->callee);
        uint64_t inside = p->call_counts[i].count;
        if (f && call->caller != call->callee && group_of(m, call->caller) == f)
            f->calls -= inside < f->calls ? inside : f->calls;
    }
}

static void count_cycles(struct making *m)
{
    const struct hp_profile *p = m->profile;
    for (size_t i = 0; i < p->n_insn_cycles; i++) {
        struct hp_dfunction *f = group_of(m, p->insns[p->insn_cycles[i].insn].function);
        if (f)
            hp_add_up(&f->cycles, p->insn_cycles[i].parts);
    }
    for (size_t i = 0; i < p->n_insn_tallies; i++) {
        const struct hp_insn_tally *tally = &p->insn_tallies[i].tally;
        struct hp_dfunction *f = group_of(m, p->insns[p->insn_tallies[i].insn].function);
        if (!f || strcmp(hp_text(p->insn_tallies[i].seen), "exact") != 0)
            continue;
        hp_add_up(&f->retired, tally->retired);
        for (int event = 0; event < HP_INSN_EVENTS; event++)
            hp_add_up(&f->events[event], tally->events[event]);
    }
}

static enum hp_err make_functions(struct making *m)
{
    const struct hp_profile *p = m->profile;
    size_t n = 0;
    bool *counted HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new(&counted, p->n_functions, sizeof *counted));
    for (size_t i = 0; i < p->n_function_counts; i++)
        counted[p->function_counts[i].item] = true;
    for (uint32_t i = 0; i < p->n_functions; i++) {
        uint32_t module = p->functions[i].place.module;
        bool wanted = module == HP_PROFILE_NONE ? !m->options->modules : m->modules[module].wanted;
        m->groups[i] = HP_PROFILE_NONE;
        if (counted[i] && wanted)
            HP_TRY(read_symbol(m, i, &m->symbols[n++]));
    }
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
    const char *machine = "";
    for (size_t i = 0; i < p->n_stats && !*machine; i++)
        if (strncmp(hp_text(p->stats[i].part), "machine ", 8) == 0)
            machine = p->stats[i].part + 8;
    if (!*machine)
        return;
    d->about[HP_ABOUT_MACHINE] = machine;
    for (enum hp_total total = HP_TOTAL_MISPREDICTIONS; total < HP_TOTALS; total++)
        set_total(d, total, find_stat(p, "machine ", machine, hp_total_names[total]));
    uint64_t cycles = find_stat(p, "cycles ", machine, "cycles");
    uint64_t all = find_stat(p, "cycles ", machine, "run.instructions");
    uint64_t measured = find_stat(p, "cycles ", machine, "run.measured");
    if (cycles && measured && measured < all)
        cycles = (uint64_t)((long double)cycles * (long double)all / (long double)measured + 0.5L);
    if (cycles)
        set_total(d, HP_TOTAL_CYCLES, cycles);
}

/* The totals, and code that is in no function, so that functions add up to the whole. */
static enum hp_err make_totals(struct making *m)
{
    struct hp_digest *d = m->digest;
    uint64_t sum = 0, threads = 0, branches = 0;
    for (size_t i = 0; i < d->n_functions; i++)
        hp_add_up(&sum, d->functions[i].self);
    for (size_t i = 0; i < m->profile->n_threads; i++) {
        hp_add_up(&threads, m->profile->threads[i].instructions);
        hp_add_up(&branches, m->profile->threads[i].branches);
    }
    if (m->options->modules || threads < sum)
        threads = sum;
    set_total(d, HP_TOTAL_INSTRUCTIONS, threads);
    if (m->options->modules)
        return HP_OK;
    set_machine(d, m->profile);
    set_total(d, HP_TOTAL_BRANCHES, branches);
    struct hp_dfunction rest = {
        .module = "", .key = "", .name = "(in no function)", .file = "", .self = threads - sum};
    return rest.self ? hp_digest_add_function(d, &rest) : HP_OK;
}

static enum hp_err join(struct hp_digest *d, const char *const *words, const char *between,
                        const char **to)
{
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    for (size_t i = 0; words && words[i]; i++)
        hp_strbuf_format(&text, "%s%s", i ? between : "", words[i]);
    *to = hp_strings_add(&d->strings, hp_strbuf_text(&text), text.length);
    return *to && !text.failed ? HP_OK : hp_fail_nomem();
}

static bool is_libc(const char *name)
{
    return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-", 5) == 0 ||
           strncmp(name, "ld-musl", 7) == 0;
}

static enum hp_err describe(struct making *m)
{
    struct hp_digest *d = m->digest;
    const struct hp_run *run = &m->profile->run;
    d->about[HP_ABOUT_HOTPATH] = hp_text(run->version);
    d->about[HP_ABOUT_ENGINE] = hp_text(run->engine);
    d->about[HP_ABOUT_ARCH] = hp_arch_name(run->arch);
    d->directory = hp_text(run->directory);
    d->started = run->started;
    HP_TRY(join(d, (const char *const *)run->command, " ", &d->about[HP_ABOUT_COMMAND]));
    HP_TRY(join(d, m->options->modules, ",", &d->about[HP_ABOUT_MODULES]));
    for (size_t i = 0; i < m->profile->n_modules; i++) {
        const struct hp_pmodule *module = &m->profile->modules[i];
        const char *name = hp_base_name(hp_text(module->path));
        if (!is_libc(name))
            continue;
        d->about[HP_ABOUT_LIBC] =
            hp_strings_format(&d->strings, "%s %.12s", name, hp_text(module->build_id));
        return d->about[HP_ABOUT_LIBC] ? HP_OK : hp_fail_nomem();
    }
    return HP_OK;
}

static enum hp_err make(struct making *m)
{
    HP_TRY(describe(m));
    HP_TRY(make_modules(m));
    HP_TRY(make_functions(m));
    HP_TRY(make_totals(m));
    return hp_digest_code(m->digest, m->profile, m->groups, m->options->unfolded);
}

enum hp_err hp_digest_new(struct hp_digest **digest)
{
    HP_TRY(hp_new(digest, 1, sizeof **digest));
    (*digest)->directory = "";
    for (size_t i = 0; i < HP_ABOUTS; i++)
        (*digest)->about[i] = "";
    return HP_OK;
}

enum hp_err hp_digest_make(const struct hp_profile *profile,
                           const struct hp_digest_options *options, struct hp_digest **digest)
{
    HP_TRY(hp_profile_check_references(profile));
    HP_TRY(hp_digest_new(digest));
    size_t n = profile->n_functions + 1;
    struct module *modules HP_CLEANUP(hp_free) = calloc(profile->n_modules + 1, sizeof *modules);
    struct symbol *symbols HP_CLEANUP(hp_free) = calloc(n, sizeof *symbols);
    uint32_t *groups = (*digest)->groups = malloc(n * sizeof *groups);
    struct making m = {*digest, profile, options, modules, symbols, groups};
    return modules && symbols && groups ? make(&m) : hp_fail_nomem();
}

void hp_digest_free(struct hp_digest *digest)
{
    if (!digest)
        return;
    free(digest->functions);
    free(digest->lines);
    free(digest->loops);
    free(digest->loop_order);
    free(digest->paths);
    free(digest->steps);
    free(digest->groups);
    hp_strings_fini(&digest->strings);
    free(digest);
}
