// SPDX-License-Identifier: MIT
/*
 * A name is read once, into components and the bracketed groups in them. Then one thing after the
 * other is left out until the rest fits. A name that cannot be read (unbalanced brackets, function
 * pointers as return types) is cut like any text.
 */
#include "text/short_name.h"

#include "base/cleanup.h"
#include "text/utf8.h"

#include <ctype.h>
#include <string.h>

#define GROUPS_MAX     48
#define COMPONENTS_MAX 64
#define DEPTH_MAX      128
#define HASH_LENGTH    17 /* "h" and 16 digits */

enum shown { WHOLE, BARE /* without the namespaces in it */, ELIDED, DROPPED };

/* "<…>" or "(…)", with the brackets. */
struct group {
    const char *at, *end;
    size_t component;
    bool leads; /* begins its component: Rust's <T as Trait> */
    enum shown shown;
};

struct name {
    const char *text, *end;
    const char *head;  /* behind what stands before the name */
    const char *start; /* of the name itself; before it, the return type */
    const char *components[COMPONENTS_MAX];
    size_t n_components, first; /* the first shown */
    struct group groups[GROUPS_MAX];
    size_t n_groups;
    const char *tail;               /* behind the parameters, or the last component */
    const char *hash, *behind_hash; /* "::h0123456789abcdef"; NULL: none */
    bool no_type, no_hash, no_mark; /* left out; `no_mark`: also the "…::" for namespaces */
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* The end of a bracketed group; NULL: it has none. In parentheses "<" and ">" may be operators. */
static const char *skip_group(const char *at)
{
    char open[DEPTH_MAX];
    size_t depth = 0;
    for (;; at++) {
        if (!*at)
            return NULL;
        if (at[0] == '-' && at[1] == '>') {
            at++;
        } else if (strchr("<([", *at)) {
            if (depth == DEPTH_MAX)
                return NULL;
            open[depth++] = *at;
        } else if (*at == '>') {
            depth -= open[depth - 1] == '<';
        } else if (*at == ')' || *at == ']') {
            while (depth > 0 && open[depth - 1] == '<')
                depth--;
            if (depth == 0 || open[depth - 1] != (*at == ')' ? '(' : '['))
                return NULL;
            depth--;
        }
        if (depth == 0)
            return at + 1;
    }
}

/* Behind the symbol of the "operator" at `at`; NULL: there is no operator. */
static const char *skip_operator(const char *text, const char *at)
{
    static const char *const symbols[] = {"()", "[]", "<=>", "<<=", ">>=", "->*",  "->", "<<",
                                          ">>", "<=", ">=",  "<",   ">",   "\"\"", NULL};
    if (strncmp(at, "operator", 8) != 0 || is_word(at[8]) || (at > text && is_word(at[-1])))
        return NULL;
    at += 8;
    for (size_t i = 0; symbols[i]; i++)
        if (strncmp(at, symbols[i], strlen(symbols[i])) == 0)
            return at + strlen(symbols[i]);
    return at;
}

/* Behind blanks, "-> ", the depth "31: " and the marks of loops. */
static const char *skip_head(const char *text)
{
    for (;;) {
        size_t digits = strspn(text, "0123456789");
        if (strncmp(text, "-> ", 3) == 0)
            text += 3;
        else if (strncmp(text, "·", strlen("·")) == 0)
            text += strlen("·");
        else if (digits && strncmp(text + digits, ": ", 2) == 0)
            text += digits + 2;
        else if (*text == ' ' || *text == '~' || *text == '!')
            text++;
        else
            return text;
    }
}

static bool is_hash(const char *component)
{
    return *component == 'h' && strspn(component + 1, "0123456789abcdef") == HASH_LENGTH - 1 &&
           !is_word(component[HASH_LENGTH]);
}

/* Parts that say nothing alone stay with what is before them: closures and their operator(). */
static bool splits(const char *colons)
{
    const char *next = colons + 2;
    bool alone = colons[-1] != '}' && !strchr("{'$", *next);
    return is_hash(next) || (alone && strncmp(next, "operator()", 10) != 0);
}

static bool add_group(struct name *name, const char *at, const char *end)
{
    if (name->n_groups == GROUPS_MAX)
        return false;
    bool leads = at == name->components[name->n_components - 1];
    name->groups[name->n_groups++] =
        (struct group){.at = at, .end = end, .component = name->n_components - 1, .leads = leads};
    return true;
}

static void begin(struct name *name, const char *start)
{
    name->start = start;
    name->components[0] = start;
    name->n_components = 1;
    name->n_groups = 0;
}

static bool follows(const struct name *name, const char *at, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(at - name->text) >= n && strncmp(at - n, word, n) == 0;
}

/* "thunk to ", "wrapper function for ": belongs to what follows. */
static bool is_of_head(const struct name *name, const char *space)
{
    return follows(name, space, " to") || follows(name, space, " for");
}

/* Whether parentheses hold the parameters. */
static bool is_params(const struct name *name, const char *at, const char *end)
{
    return strncmp(end, "::", 2) != 0 && !follows(name, at, "decltype") &&
           !follows(name, at, "decltype ");
}

/* Reads the components up to the parameters. Without any, what is before a space is no return type,
 * but the name: `space_ends`. False: it cannot be read. */
static bool read_components(struct name *name, bool space_ends)
{
    bool in_operator = false;
    unsigned braces = 0;
    const char *at = name->head, *symbol;
    begin(name, at);
    for (; *at; at++) {
        bool top = !braces && !in_operator;
        if (top && (symbol = skip_operator(name->text, at))) {
            in_operator = true;
            at = symbol - 1;
        } else if (*at == '{') {
            braces++;
        } else if (*at == '}') {
            braces -= braces > 0;
        } else if (at[0] == '-' && at[1] == '>') {
            at++;
        } else if (*at == '<' || *at == '(') {
            const char *end = skip_group(at);
            if (!end || (*at == '(' && strchr("*&", at[1])))
                return false;
            bool params = *at == '(' && !braces && is_params(name, at, end);
            if (strncmp(at, "(anonymous", 10) != 0 && !add_group(name, at, end))
                return false;
            name->tail = end;
            if (params)
                return true;
            in_operator &= *at != '(' || braces;
            at = end - 1;
        } else if (top && at[0] == ':' && at[1] == ':' && at > name->start) {
            if (splits(at) && name->n_components == COMPONENTS_MAX)
                return false;
            if (splits(at))
                name->components[name->n_components++] = at + 2;
            at++;
        } else if (top && *at == ' ') {
            if (at[1] == '(' && follows(name, at, "decltype"))
                continue;
            if (strchr("[(", at[1]) || space_ends) /* "" is behind the name, too */
                break;
            name->head = is_of_head(name, at) ? at + 1 : name->head;
            begin(name, at + 1);
        }
    }
    if (name->start > name->head)
        return read_components(name, true);
    const char *offset = strstr(name->start, "+0x");
    name->tail = offset && offset < at ? offset : at;
    return true;
}

/* The last component of a Rust name without its readable form. */
static void find_hash(struct name *name)
{
    const char *last = name->components[name->n_components - 1];
    bool is_behind = name->n_groups && name->groups[name->n_groups - 1].at > last;
    if (name->n_components < 2 || !is_hash(last) || is_behind)
        return;
    name->hash = last - 2;
    name->behind_hash = last + HASH_LENGTH;
    name->n_components--;
}

static bool read_name(struct name *name, const char *text)
{
    *name = (struct name){.text = text, .end = text + strlen(text), .head = skip_head(text)};
    if (!read_components(name, false))
        return false;
    find_hash(name);
    return name->n_components > 1 || name->n_groups > 0 || name->hash;
}

/* Appends what is in a group without the namespaces, and without arguments. */
static void put_bare(struct hp_strbuf *out, const char *at, const char *end)
{
    size_t word = out->length; /* where the path begins that is being read */
    while (at < end) {
        const char *group = *at == '<' || *at == '(' || *at == '[' ? skip_group(at) : NULL;
        if (group && group <= end) {
            hp_strbuf_format(out, "%c…%c", *at, group[-1]);
            at = group;
        } else if (at[0] == ':' && at[1] == ':') {
            if (out->length > word && !out->failed)
                out->data[out->length = word] = 0;
            at += 2;
        } else {
            hp_strbuf_bytes(out, at, 1);
            word = is_word(*at) ? word : out->length;
            at++;
        }
    }
}

static void put_group(struct hp_strbuf *out, const struct group *group)
{
    const char *behind_first = group->at + 1;
    if (group->shown == DROPPED)
        return;
    hp_utf8_next(&behind_first);
    if (group->shown == WHOLE || behind_first >= group->end - 1) { /* it is short already */
        hp_strbuf_bytes(out, group->at, (size_t)(group->end - group->at));
        return;
    }
    hp_strbuf_bytes(out, group->at, 1);
    if (group->shown == BARE)
        put_bare(out, group->at + 1, group->end - 1);
    else
        hp_strbuf_add(out, "…");
    hp_strbuf_bytes(out, group->end - 1, 1);
}

static void put_name(struct hp_strbuf *out, const struct name *name)
{
    const char *at = name->components[name->first];
    hp_strbuf_bytes(out, name->text, (size_t)(name->head - name->text));
    if (!name->no_type && !name->first)
        hp_strbuf_bytes(out, name->head, (size_t)(name->start - name->head));
    if (name->first && !name->no_mark)
        hp_strbuf_add(out, "…::");
    for (size_t i = 0; i < name->n_groups; i++) {
        const struct group *group = &name->groups[i];
        if (group->component < name->first)
            continue;
        hp_strbuf_bytes(out, at, (size_t)(group->at - at));
        put_group(out, group);
        at = group->end;
        if (group->shown == DROPPED && at == name->tail && strncmp(at, " const", 6) == 0)
            at += 6;
    }
    if (name->hash && name->no_hash) {
        hp_strbuf_bytes(out, at, (size_t)(name->hash - at));
        at = name->behind_hash;
    }
    hp_strbuf_add(out, at);
}

/* Leaves nothing of the arguments of the class, then of the parameters. False: there are none. */
static bool drop_groups(struct name *name, bool of_class)
{
    size_t last = name->n_components - 1;
    bool dropped = false;
    for (size_t i = 0; i < name->n_groups; i++) {
        struct group *group = &name->groups[i];
        bool is_params = *group->at == '(' && group->end == name->tail;
        bool meant = of_class ? group->component + 1 == last && !group->leads : is_params;
        dropped |= meant && group->shown != DROPPED;
        group->shown = meant ? DROPPED : group->shown;
    }
    return dropped;
}

/* Of what stands before the last component the innermost, the class, is shown as long as it can. */
static bool leave_out_class(struct name *name)
{
    if (drop_groups(name, true))
        return true;
    if (name->first && !name->no_mark)
        return name->no_mark = true;
    if (drop_groups(name, false))
        return true;
    for (size_t i = 0; i < name->n_groups; i++)
        if (name->groups[i].shown == DROPPED)
            name->groups[i].shown = ELIDED;
    name->no_mark = false;
    name->first++;
    return true;
}

/* Leaves out one more thing. False: there is nothing left. */
static bool leave_out(struct name *name)
{
    size_t last = name->n_components - 1;
    if (name->hash && !name->no_hash)
        return name->no_hash = true;
    if (name->start > name->head && !name->no_type)
        return name->no_type = true;
    for (size_t i = 0; i < name->n_groups; i++)
        if (name->groups[i].component < last && name->groups[i].shown == WHOLE) {
            name->groups[i].shown = name->groups[i].leads ? BARE : ELIDED;
            return true;
        }
    for (const char *kinds = "(<"; *kinds; kinds++)
        for (size_t i = 0; i < name->n_groups; i++)
            if (*name->groups[i].at == *kinds && name->groups[i].component >= last &&
                name->groups[i].shown == WHOLE) {
                name->groups[i].shown = name->groups[i].leads && !last ? BARE : ELIDED;
                return true;
            }
    if (name->first + 1 < last)
        return ++name->first;
    if (name->first < last)
        return leave_out_class(name);
    if (name->first && !name->no_mark)
        return name->no_mark = true;
    return false;
}

/* The last resort: the component itself loses its end. What says which part or clone of the
 * function it is stays where there is room for it. */
static void cut_component(struct hp_strbuf *out, struct hp_strbuf *shorter, const char *tail,
                          size_t columns)
{
    size_t width = hp_utf8_width(tail);
    if (hp_utf8_width(hp_strbuf_text(shorter)) <= columns || shorter->failed) {
        hp_strbuf_add(out, hp_strbuf_text(shorter));
        return;
    }
    shorter->data[shorter->length -= strlen(tail)] = 0;
    if (width > columns / 2 || strcmp(tail, " const") == 0)
        width = 0;
    hp_strbuf_cut(out, hp_strbuf_text(shorter), columns - width, HP_CUT_END);
    hp_strbuf_add(out, width ? tail : "");
}

void hp_short_name(struct hp_strbuf *buffer, const char *text, size_t columns)
{
    struct hp_strbuf shorter HP_CLEANUP(hp_strbuf_fini) = {0};
    struct name name;
    if (hp_utf8_width(text) <= columns) {
        hp_strbuf_add(buffer, text);
        return;
    }
    bool is_read = read_name(&name, text);
    hp_strbuf_add(&shorter, text);
    while (is_read && hp_utf8_width(hp_strbuf_text(&shorter)) > columns && leave_out(&name)) {
        hp_strbuf_clear(&shorter);
        put_name(&shorter, &name);
    }
    if (is_read)
        cut_component(buffer, &shorter, name.tail, columns);
    else
        hp_strbuf_cut(buffer, hp_strbuf_text(&shorter), columns, HP_CUT_MIDDLE);
    buffer->failed |= shorter.failed;
}
