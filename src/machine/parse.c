// SPDX-License-Identifier: MIT
/*
 * Reading a machine file. The syntax is libinih's. libinih reports neither line numbers nor
 * sections without keys, and cuts long lines, so this file feeds it line by line.
 */
#include "machine/check.h"
#include "machine/keys.h"

#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    const char *at, *end; /* what has not been read */
    const char *file;
    struct hp_machine *machine;
    int line;    /* passed on last */
    int section; /* index; -1: before the first */
    int section_lines[HP_SECTIONS_MAX];
    int key_lines[HP_SECTIONS_MAX][HP_KEYS_MAX];
    enum hp_err err;
    int err_line;
};

/* The first error is kept and ends the reading. */
static enum hp_err fail_at(struct reading *r, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static enum hp_err fail_at(struct reading *r, int line, const char *format, ...)
{
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    r->err_line = line;
    r->err = line ? hp_fail(HP_ERR_FORMAT, "%s:%d: %s", r->file, line, text)
                  : hp_fail(HP_ERR_FORMAT, "%s: %s", r->file, text);
    return r->err;
}

/* --- Lines ------------------------------------------------------------------------------------ */

static void open_section(struct reading *r, const char *line)
{
    size_t length = strcspn(line + 1, "]");
    const char *behind = line + 1 + length;
    behind += *behind == ']' ? 1 + strspn(behind + 1, " \t") : 0;
    if (line[1 + length] != ']' || (*behind && !strchr(";#", *behind))) {
        fail_at(r, r->line, "'%s' is not a [section]", line);
        return;
    }
    int section = hp_section_find(line + 1, length);
    if (section < 0)
        fail_at(r, r->line, "there is no section [%.*s]", (int)length, line + 1);
    else if (r->section_lines[section])
        fail_at(r, r->line, "section [%.*s] was in line %d already", (int)length, line + 1,
                r->section_lines[section]);
    else
        r->section_lines[r->section = section] = r->line;
}

/* For libinih: the next line, without leading blanks; NULL at the end, and after an error. */
static char *next_line(char *text, int size, void *user)
{
    struct reading *r = user;
    if (r->err != HP_OK || r->at == r->end)
        return NULL;
    const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
    const char *stop = newline ? newline : r->end;
    r->line++;
    while (r->at < stop && (*r->at == ' ' || *r->at == '\t'))
        r->at++;
    const char *last = stop;
    while (last > r->at && strchr(" \t\r", last[-1]) && last[-1])
        last--;
    size_t length = (size_t)(last - r->at);
    for (const char *c = r->at; c < last; c++)
        if ((unsigned char)*c < ' ' && *c != '\t')
            return fail_at(r, r->line, "there is a control character in the line"), NULL;
    if (length + 2 > (size_t)size)
        return fail_at(r, r->line, "the line is longer than %d characters", size - 2), NULL;
    memcpy(text, r->at, length);
    memcpy(text + length, "\n", 2);
    r->at = newline ? newline + 1 : r->end;
    if (*text == '[') {
        text[length] = 0;
        open_section(r, text);
        memcpy(text + length, "\n", 2);
    }
    return text;
}

/* --- Values ----------------------------------------------------------------------------------- */

/* For libinih: 0 is an error. Its section name is not used: it may be cut off. */
static int take_value(void *user, const char *section_name, const char *name, const char *text)
{
    struct reading *r = user;
    (void)section_name;
    if (r->err != HP_OK)
        return 0;
    if (r->section < 0)
        return fail_at(r, r->line, "'%s' is in no [section]", name), 0;
    const struct hp_machine_section *section = &hp_sections[r->section];
    int index = hp_key_find(section, name);
    if (index < 0)
        return fail_at(r, r->line, "[%s] has no '%s'", section->model->name, name), 0;
    const struct hp_setting *key = &section->model->keys[index];
    int *line = &r->key_lines[r->section][index];
    if (*line)
        return fail_at(r, r->line, "[%s] %s was in line %d already", section->model->name, name,
                       *line),
               0;
    *line = r->line;
    if (hp_setting_read(key, text, hp_section_of(section, r->machine)) == HP_OK)
        return 1;
    char reason[200];
    snprintf(reason, sizeof reason, "%s", hp_error_text());
    return fail_at(r, r->line, "[%s] %s: %s", section->model->name, name, reason), 0;
}

/* Fills in defaults for missing values, or fails. */
static enum hp_err complete_section(struct reading *r, unsigned index)
{
    const struct hp_machine_section *section = &hp_sections[index];
    int line = r->section_lines[index];
    if (!line && section->kind == HP_SECTION_REQUIRED)
        return fail_at(r, 0, "there is no [%s]", section->model->name);
    for (unsigned i = 0; i < section->model->n_keys; i++) {
        const struct hp_setting *key = &section->model->keys[i];
        if (r->key_lines[index][i])
            continue;
        if (line && key->initial == HP_SETTING_REQUIRED)
            return fail_at(r, line, "[%s] needs '%s'", section->model->name, key->key);
        if (key->initial != HP_SETTING_REQUIRED)
            hp_setting_set(key, hp_section_of(section, r->machine), (uint64_t)key->initial);
    }
    return HP_OK;
}

static enum hp_err complete(struct reading *r)
{
    struct hp_machine *m = r->machine;
    struct hp_machine_fault fault;
    for (unsigned i = 0; i < hp_n_sections; i++)
        HP_TRY(complete_section(r, i));
    m->l1i.present = m->l1d.present = true;
    m->l2.present = r->section_lines[hp_section_find("l2", 2)] != 0;
    m->l3.present = r->section_lines[hp_section_find("l3", 2)] != 0;
    m->itlb.present = r->section_lines[hp_section_find("itlb", 4)] != 0;
    m->dtlb.present = r->section_lines[hp_section_find("dtlb", 4)] != 0;
    m->tlb2.present = r->section_lines[hp_section_find("tlb2", 4)] != 0;
    if (hp_machine_check(m, &fault))
        return HP_OK;
    int section = hp_section_find(fault.section, strlen(fault.section));
    int line = r->section_lines[section];
    int key = fault.key ? hp_key_find(&hp_sections[section], fault.key) : -1;
    if (key < 0)
        return fail_at(r, line, "%s", fault.text);
    if (r->key_lines[section][key])
        line = r->key_lines[section][key];
    return fail_at(r, line, "[%s] %s: %s", fault.section, fault.key, fault.text);
}

/* --- Files ------------------------------------------------------------------------------------ */

static enum hp_err read_all(struct reading *r)
{
    if (r->end - r->at >= 3 && memcmp(r->at, "\xef\xbb\xbf", 3) == 0)
        r->at += 3;
    int line = ini_parse_stream(next_line, r, take_value, r);
    if (r->err != HP_OK && (line <= 0 || r->err_line <= line))
        return r->err;
    if (line < 0)
        return hp_fail_nomem();
    if (line > 0)
        return fail_at(r, line, "neither a [section] nor key = value");
    return complete(r);
}

enum hp_err hp_machine_parse(const char *text, size_t size, const char *file, const char *name,
                             struct hp_machine **machine)
{
    struct reading *r = calloc(1, sizeof *r);
    struct hp_machine *m = calloc(1, sizeof *m);
    if (!r || !m) {
        free(r);
        free(m);
        return hp_fail_nomem();
    }
    *r =
        (struct reading){.at = text, .end = text + size, .file = file, .machine = m, .section = -1};
    snprintf(m->name, sizeof m->name, "%s", name);
    enum hp_err err = read_all(r);
    free(r);
    if (err != HP_OK)
        hp_machine_free(m);
    else
        *machine = m;
    return err;
}
