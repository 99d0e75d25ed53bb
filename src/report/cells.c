// SPDX-License-Identifier: MIT
#include "report/text.h"

#include "base/base.h"

#include <ctype.h>
#include <math.h>

#define SOURCE_COLUMNS 100 /* of a source line, even where the width is not limited */

void hp_put_source_place(const char *file, uint32_t line, struct hp_strbuf *cell)
{
    hp_strbuf_clean(cell, file);
    if (line != 0)
        hp_strbuf_format(cell, ":%u", line);
}

void hp_put_where(const struct hp_tables *tables, const char *file, uint32_t line, uint32_t module,
                  struct hp_strbuf *cell)
{
    if (*hp_text(file))
        hp_put_source_place(hp_base_name(file), line, cell);
    else if (module != HP_PROFILE_NONE)
        hp_strbuf_clean(cell, tables->modules[module]);
}

void hp_put_function(const struct hp_tables *tables, uint32_t function, struct hp_strbuf *cell)
{
    const char *name = function == HP_PROFILE_NONE ? "" : tables->functions[function];
    hp_strbuf_clean(cell, *name ? name : "(unknown)");
}

/* The function, where it has a name and begins at the place or before it; else NULL. */
static const struct hp_pfunction *named_function(const struct hp_tables *tables, uint32_t function,
                                                 struct hp_place place)
{
    const struct hp_pfunction *f =
        function == HP_PROFILE_NONE ? NULL : &tables->profile->functions[function];
    bool named = f && (*hp_text(f->name) || *hp_text(f->linkage));
    return named && f->place.module == place.module && f->place.offset <= place.offset ? f : NULL;
}

void hp_put_code(const struct hp_tables *tables, uint32_t function, struct hp_place place,
                 struct hp_strbuf *cell)
{
    const struct hp_pfunction *f = named_function(tables, function, place);
    uint64_t offset = f ? place.offset - f->place.offset : place.offset;
    if (!f && place.module == HP_PROFILE_NONE) {
        hp_strbuf_add(cell, "(unknown)");
        return;
    }
    hp_strbuf_clean(cell, f ? tables->functions[function] : tables->modules[place.module]);
    if (!f || offset != 0)
        hp_strbuf_format(cell, "+%s", HP_HEX(offset));
}

void hp_put_offset(const struct hp_tables *tables, uint32_t function, struct hp_place place,
                   struct hp_strbuf *cell)
{
    const struct hp_pfunction *f = named_function(tables, function, place);
    if (f)
        hp_strbuf_format(cell, "+%s", HP_HEX(place.offset - f->place.offset));
    else
        hp_put_code(tables, function, place, cell);
}

void hp_put_each(uint64_t all, uint64_t count, struct hp_strbuf *cell)
{
    if (count == 0 || all % count == 0)
        hp_strbuf_human(cell, count ? all / count : 0);
    else if (all / count < 1000)
        hp_strbuf_fixed(cell, (double)all / (double)count, 1);
    else
        hp_strbuf_human(cell, all / count + (all % count >= count - all % count));
}

void hp_put_source(const char *text, size_t length, struct hp_strbuf *cell)
{
    while (length > 0 && (*text == ' ' || *text == '\t'))
        text++, length--;
    while (length > 0 && (text[length - 1] == '\r' || text[length - 1] == ' '))
        length--;
    if (length > (size_t)SOURCE_COLUMNS * 4)
        length = (size_t)SOURCE_COLUMNS * 4;
    char copy[SOURCE_COLUMNS * 4 + 1];
    for (size_t i = 0; i < length; i++)
        copy[i] = text[i] == '\t' ? ' ' : text[i] == 0 ? '?' : text[i];
    copy[length] = 0;
    struct hp_strbuf clean HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_strbuf_clean(&clean, copy);
    hp_strbuf_cut(cell, hp_strbuf_text(&clean), SOURCE_COLUMNS, HP_CUT_END);
    cell->failed |= clean.failed;
}

void hp_put_indented_source(const char *text, size_t length, struct hp_strbuf *cell)
{
    size_t columns = 0;
    for (; length > 0 && (*text == ' ' || *text == '\t'); text++, length--)
        columns = *text == ' ' ? columns + 1 : columns / 8 * 8 + 8;
    if (length == 0)
        return;
    hp_strbuf_format(cell, "%*s",
                     (int)(columns < SOURCE_COLUMNS / 2 ? columns : SOURCE_COLUMNS / 2), "");
    hp_put_source(text, length, cell);
}

void hp_put_assembly(const char *text, struct hp_strbuf *cell)
{
    struct hp_strbuf shorter HP_CLEANUP(hp_strbuf_fini) = {0};
    while (*text) {
        hp_strbuf_bytes(&shorter, text, 1);
        if (text[0] == '0' && text[1] == 'x') {
            hp_strbuf_add(&shorter, "x");
            text++;
            while (text[1] == '0' && isxdigit((unsigned char)text[2]))
                text++;
        }
        text++;
    }
    hp_strbuf_clean(cell, hp_strbuf_text(&shorter));
    cell->failed |= shorter.failed;
}

const char *hp_density_glyph(double density)
{
    static const char *const glyphs[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    if (!(density > 0))
        return " ";
    return glyphs[density >= 1 ? 7 : (int)(density * 8)];
}

void hp_put_cycles(double cycles, struct hp_strbuf *cell)
{
    hp_strbuf_fixed(cell, cycles, cycles < 99.95 ? 1 : 0);
}

void hp_put_interval(struct hp_estimate e, struct hp_strbuf *cell)
{
    double half = fmax(e.high - e.value, e.value - e.low);
    if (!(half > 0) || e.value == 0)
        return;
    double percent = half / fabs(e.value) * 100;
    hp_strbuf_format(cell, " ±%s%%", HP_FIXED(percent, percent < 9.95 ? 1 : 0));
}

void hp_put_estimate(struct hp_estimate estimate, struct hp_strbuf *cell)
{
    hp_strbuf_add(cell, HP_AMOUNT(estimate.value));
    hp_put_interval(estimate, cell);
}

const char *hp_short_path(const struct hp_run *run, const char *file)
{
    const char *directory = hp_text(run->directory);
    size_t n = strlen(directory);
    if (n > 0 && strncmp(file, directory, n) == 0 && file[n] == '/' && file[n + 1])
        return file + n + 1;
    return file;
}

/* As a shell would need it. */
static void put_argument(struct hp_strbuf *text, const char *argument)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                               "_@%+=:,./-";
    if (*argument && !argument[strspn(argument, safe)]) {
        hp_strbuf_add(text, argument);
        return;
    }
    hp_strbuf_add(text, "'");
    for (; *argument; argument++)
        hp_strbuf_bytes(text, *argument == '\'' ? "'\\''" : argument, *argument == '\'' ? 4 : 1);
    hp_strbuf_add(text, "'");
}

void hp_put_command(struct hp_strbuf *text, char **command)
{
    struct hp_strbuf quoted HP_CLEANUP(hp_strbuf_fini) = {0};
    for (char **argument = command; argument && *argument; argument++) {
        hp_strbuf_add(&quoted, argument == command ? "" : " ");
        put_argument(&quoted, *argument);
    }
    hp_strbuf_clean(text, quoted.length ? hp_strbuf_text(&quoted) : "(unknown command)");
    text->failed |= quoted.failed;
}
