// SPDX-License-Identifier: MIT
/*
 * Which functions of two versions are the same.
 *
 * A list of passes, from what says most to what says least. In each, functions that are still alone
 * are brought together by a key, and those with a key that one function of each version has are the
 * same: a pass never chooses among several.
 */
#include "diff/diff.h"

#include "base/base.h"
#include "report/tables.h"

/* --- Keys ------------------------------------------------------------------------------------- */

enum key {
    NO_KEY,
    LOOSE_NAME,
    SYMBOL,
    LINKAGE,
    NAME,
    PLAIN_NAME, /* in front of parameters and template arguments */
    MODULE,
    ANY_MODULE, /* of code without symbols: the only module with such, whatever it is called */
    PATH,       /* of the source file */
    BASE,       /* the file's name */
};

static size_t plain_length(const char *name)
{
    size_t n = strcspn(name, "(<");
    return n && strncmp(name, "operator", 8) != 0 ? n : strlen(name);
}

static int compare_plain(const char *a, const char *b)
{
    size_t n_a = plain_length(a), n_b = plain_length(b);
    return strncmp(a, b, n_a < n_b ? n_a : n_b) ?: HP_COMPARE(n_a, n_b);
}

static int compare_key(enum key key, const struct hp_dfunction *a, const struct hp_dfunction *b)
{
    switch (key) {
    case LOOSE_NAME: return strcmp(a->loose, b->loose);
    /* Where there is no symbol, names are made of module and place. */
    case SYMBOL: return strcmp(a->key, b->key) ?: (*a->key ? 0 : strcmp(a->name, b->name));
    case LINKAGE: return strcmp(a->key, b->key);
    case NAME: return strcmp(a->name, b->name);
    case PLAIN_NAME: return compare_plain(a->name, b->name);
    case MODULE: return strcmp(a->module, b->module);
    case ANY_MODULE:
        return (*a->module == 0) - (*b->module == 0) ?: HP_COMPARE(a->nameless, b->nameless);
    case PATH: return strcmp(a->file, b->file);
    case BASE: return strcmp(hp_base_name(a->file), hp_base_name(b->file));
    case NO_KEY: break;
    }
    return 0;
}

/* --- Passes ----------------------------------------------------------------------------------- */

struct candidate {
    const struct hp_dfunction *function;
    uint32_t index;
    bool is_new;
};

struct pass {
    enum key keys[4];
    enum hp_diff_how how; /* HP_DIFF_SAME unless it says otherwise */
    bool lambdas;         /* only these */
    bool several;         /* where both versions have as many, in the order of their lines */
};

static const struct pass passes[] = {
    {.keys = {LOOSE_NAME, MODULE, BASE}, .lambdas = true, .several = true},
    {.keys = {SYMBOL, MODULE, PATH}},
    {.keys = {SYMBOL, MODULE, BASE}},
    {.keys = {SYMBOL, MODULE}},
    {.keys = {SYMBOL, BASE}},
    {.keys = {SYMBOL}},
    {.keys = {SYMBOL, MODULE, BASE}, .several = true},
    {.keys = {LINKAGE, ANY_MODULE}},
    {.keys = {NAME, BASE}, .how = HP_DIFF_SIGNATURE},
    {.keys = {PLAIN_NAME, BASE}, .how = HP_DIFF_SIGNATURE},
};

struct matching {
    struct hp_diff *diff;
    struct candidate *candidates;
    size_t n;
};

static int compare_keys(const struct pass *pass, const struct hp_dfunction *a,
                        const struct hp_dfunction *b)
{
    int order = 0;
    for (const enum key *key = pass->keys; !order && *key; key++)
        order = compare_key(*key, a, b);
    return order;
}

static int compare_candidates(const void *a, const void *b, void *pass)
{
    const struct candidate *x = a, *y = b;
    int order = compare_keys(pass, x->function, y->function) ?: x->is_new - y->is_new;
    return order ?: HP_COMPARE(x->function->line, y->function->line)
                 ?: HP_COMPARE(x->index, y->index);
}

/* Functions of a version that are still alone. */
static void collect(struct matching *m, bool lambdas, bool is_new)
{
    const struct hp_digest *d = is_new ? m->diff->new : m->diff->old;
    const struct hp_changes *functions = &m->diff->functions;
    const uint32_t *other = is_new ? functions->to_old : functions->to_new;
    for (uint32_t i = 0; i < d->n_functions; i++)
        if (other[i] == HP_PROFILE_NONE && (!lambdas || d->functions[i].loose))
            m->candidates[m->n++] = (struct candidate){&d->functions[i], i, is_new};
}

static void match(struct matching *m, uint32_t old, uint32_t new, enum hp_diff_how how)
{
    hp_changes_match(&m->diff->functions, old, new);
    m->diff->how[new] = how;
}

static void run_pass(struct matching *m, const struct pass *pass)
{
    m->n = 0;
    collect(m, pass->lambdas, false);
    collect(m, pass->lambdas, true);
    qsort_r(m->candidates, m->n, sizeof *m->candidates, compare_candidates,
            (void *)(uintptr_t)pass);
    for (size_t i = 0, n; i < m->n; i += n) {
        const struct candidate *run = &m->candidates[i];
        size_t n_old = 0;
        for (n = 0; i + n < m->n && compare_keys(pass, run->function, run[n].function) == 0; n++)
            n_old += !run[n].is_new;
        bool clear = n_old * 2 == n && (n_old == 1 || pass->several);
        for (size_t k = 0; clear && k < n_old; k++)
            match(m, run[k].index, run[n_old + k].index, pass->how);
    }
}

/* --- Guesses ---------------------------------------------------------------------------------- */

#define GUESS_LINES   3     /* fewer may look the same by chance */
#define GUESS_WEIGHT  10000 /* only functions with more than one in so many instructions */
#define GUESS_AT_MOST 200   /* functions of each version */

/* Whether two lines are the same: by text where both have it, else by distance from the start of
 * their functions and instructions. */
static bool same_line(struct matching *m, const struct hp_dfunction *f, const struct hp_dline *x,
                      const struct hp_dfunction *g, const struct hp_dline *y)
{
    int same = hp_diff_same_text(m->diff, x, y);
    return same >= 0 ? same
                     : x->line - f->line == y->line - g->line && x->instructions == y->instructions;
}

/* Lines behind the first, which has the name; those of inlined functions do not count. */
static bool is_inner(const struct hp_dfunction *f, const struct hp_dline *line)
{
    return line->line > f->line && !*line->inlined;
}

/* Whether they are clearly the same: of their inner lines at least four of five, in order. */
static bool look_alike(struct matching *m, const struct hp_dfunction *f,
                       const struct hp_dfunction *g)
{
    const struct hp_dline *x = &m->diff->old->lines[f->lines], *end_x = x + f->n_lines;
    const struct hp_dline *start_y = &m->diff->new->lines[g->lines], *end_y = start_y + g->n_lines;
    if (!*f->file || compare_key(BASE, f, g) != 0)
        return false;
    size_t same = 0, n_old = 0, n_new = 0;
    for (const struct hp_dline *y = start_y; y < end_y; y++)
        n_new += is_inner(g, y);
    for (; x < end_x; x++) {
        if (!is_inner(f, x))
            continue;
        n_old++;
        const struct hp_dline *y = start_y;
        while (y < end_y && !(is_inner(g, y) && same_line(m, f, x, g, y)))
            y++;
        if (y < end_y) {
            same++;
            start_y = y + 1;
        }
    }
    size_t most = n_old > n_new ? n_old : n_new;
    return same >= GUESS_LINES && same * 5 >= most * 4;
}

static int compare_weights(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return HP_COMPARE(y->function->self, x->function->self) ?: HP_COMPARE(x->index, y->index);
}

/* The heaviest functions of a version that are alone. */
static size_t heaviest(struct matching *m, struct candidate *to, bool is_new)
{
    const struct hp_digest *d = is_new ? m->diff->new : m->diff->old;
    size_t n = 0;
    m->n = 0;
    collect(m, false, is_new);
    qsort(m->candidates, m->n, sizeof *m->candidates, compare_weights);
    while (n < m->n && n < GUESS_AT_MOST &&
           m->candidates[n].function->self > d->totals[HP_TOTAL_INSTRUCTIONS] / GUESS_WEIGHT)
        n++;
    memcpy(to, m->candidates, n * sizeof *to);
    return n;
}

/* A pair that looks alike is the same when neither looks like another one. */
static void guess(struct matching *m)
{
    struct candidate old[GUESS_AT_MOST], new[GUESS_AT_MOST];
    size_t n_old = heaviest(m, old, false), n_new = heaviest(m, new, true);
    size_t found[GUESS_AT_MOST], like_old[GUESS_AT_MOST] = {0}, like_new[GUESS_AT_MOST] = {0};
    for (size_t i = 0; i < n_old; i++)
        for (size_t j = 0; j < n_new; j++)
            if (look_alike(m, old[i].function, new[j].function)) {
                found[i] = j;
                like_old[i]++;
                like_new[j]++;
            }
    for (size_t i = 0; i < n_old; i++)
        if (like_old[i] == 1 && like_new[found[i]] == 1)
            match(m, old[i].index, new[found[i]].index, HP_DIFF_RENAMED);
}

enum hp_err hp_diff_match(struct hp_diff *diff)
{
    size_t n = diff->old->n_functions + diff->new->n_functions;
    struct candidate *candidates HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new(&candidates, n, sizeof *candidates));
    struct matching m = {diff, candidates, 0};
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
        run_pass(&m, &passes[i]);
    guess(&m);
    return HP_OK;
}
