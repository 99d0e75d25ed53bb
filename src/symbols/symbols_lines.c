// SPDX-License-Identifier: MIT
/*
 * Line tables only: from an address to its file and line, without the rest of the debug
 * information.
 *
 * libdw reaches a line table through its unit, and that through .debug_info and .debug_abbrev,
 * which are most of a debug file and usually compressed: for the C library 50 of 60 ms. DWARF 5
 * tables name their files in full, so here they are read on their own. One pass over all of them
 * finds which part covers which addresses; a query then runs one part. Tables that are not DWARF 5,
 * or unusual in any way, are left to libdw: this gives up.
 */
#include "base/grow.h"
#include "symbols/symbols_private.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARTS  (UINT64_C(1) << 24)
#define PART_BYTES 2048 /* of opcodes, approximately */

/* The state machine of a line program. */
struct machine {
    uint64_t address;
    uint64_t file;
    uint32_t line;
    bool row;   /* the last opcode produced a row */
    bool ended; /* the row ended its sequence */
};

static const struct machine reset = {.file = 1, .line = 1};

/* A part of a program: its first opcode, and the state there. Sequences, which describe contiguous
 * instructions, are cut into parts because each query runs one. */
struct part {
    uint32_t table;   /* offset of the header */
    uint32_t program; /* offset of the first opcode */
    struct machine machine;
};

struct hp_lines {
    const uint8_t *bytes; /* .debug_line */
    size_t size;
    const char *strings; /* .debug_line_str */
    size_t strings_size;
    struct hp_strings *kept;
    struct part *parts;
    size_t n_parts, parts_capacity;
    struct hp_symbol_span *spans; /* of them, while they are collected */
    size_t n_spans, spans_capacity;
    struct hp_span_index index; /* address to part */
};

/* How far special opcodes advance address and line, by opcode. Most tables have the same parameters
 * for this. */
struct advances {
    uint8_t line_range, opcode_base, min_length;
    int8_t line_base;
    uint16_t address[256];
    uint32_t line[256]; /* modulo 2^32 */
};

/* --- Tables ----------------------------------------------------------------------------------- */

struct table {
    struct hp_bytes names;   /* directories and files */
    struct hp_bytes program; /* opcodes */
    uint8_t min_length, line_range, opcode_base;
    int8_t line_base;
    const uint8_t *lengths; /* of the standard opcodes, from 1 on */
};

/* Reads the header of the table at `section->at` and moves past the table. False: not
 * understood. */
static bool read_header(struct hp_bytes *section, struct table *table)
{
    uint64_t length = hp_bytes_fixed(section, 4);
    struct hp_bytes b = {.at = section->at};
    hp_bytes_skip(section, length);
    b.end = section->at;
    if (section->bad || length >= 0xfffffff0 || hp_bytes_fixed(&b, 2) != 5)
        return false;
    uint64_t address_size = hp_bytes_fixed(&b, 1), selector_size = hp_bytes_fixed(&b, 1);
    uint64_t header_length = hp_bytes_fixed(&b, 4);
    struct hp_bytes program = b;
    hp_bytes_skip(&program, header_length);
    table->min_length = hp_bytes_byte(&b);
    uint8_t max_operations = hp_bytes_byte(&b);
    hp_bytes_byte(&b); /* default_is_stmt */
    table->line_base = (int8_t)hp_bytes_byte(&b);
    table->line_range = hp_bytes_byte(&b);
    table->opcode_base = hp_bytes_byte(&b);
    table->lengths = b.at;
    hp_bytes_skip(&b, table->opcode_base ? table->opcode_base - 1u : 0);
    table->names = (struct hp_bytes){.at = b.at, .end = program.at};
    table->program = program;
    return !b.bad && !program.bad && b.at <= program.at &&
           (address_size == 4 || address_size == 8) && selector_size == 0 && max_operations <= 1 &&
           table->line_range && table->opcode_base >= 10;
}

/* --- Programs --------------------------------------------------------------------------------- */

static void run_extended(struct hp_bytes *b, struct machine *m)
{
    uint64_t length = hp_bytes_leb(b, false);
    struct hp_bytes operands = *b;
    hp_bytes_skip(b, length);
    operands.end = b->at;
    switch (length ? hp_bytes_byte(&operands) : 0) {
    case DW_LNE_end_sequence: m->row = m->ended = true; break;
    case DW_LNE_set_address:
        if (length != 5 && length != 9)
            b->bad = true;
        m->address = hp_bytes_fixed(&operands, length == 5 ? 4 : 8);
        break;
    case DW_LNE_define_file: b->bad = true; break; /* not in DWARF 5 */
    default: break;
    }
}

static inline void run_standard(struct hp_bytes *b, const struct table *table, uint8_t opcode,
                                struct machine *m)
{
    switch (opcode) {
    case DW_LNS_copy: m->row = true; break;
    case DW_LNS_advance_pc: m->address += hp_bytes_leb(b, false) * table->min_length; break;
    case DW_LNS_advance_line: m->line += (uint32_t)hp_bytes_leb(b, true); break;
    case DW_LNS_set_file: m->file = hp_bytes_leb(b, false); break;
    case DW_LNS_const_add_pc:
        m->address +=
            (uint64_t)((255 - table->opcode_base) / table->line_range) * table->min_length;
        break;
    case DW_LNS_fixed_advance_pc: m->address += hp_bytes_fixed(b, 2); break;
    default: /* not used here: this many operands */
        for (uint8_t n = table->lengths[opcode - 1]; n > 0; n--)
            hp_bytes_leb(b, false);
        break;
    }
}

/* Runs one opcode. */
static inline void step(struct hp_bytes *b, const struct table *table,
                        const struct advances *advances, struct machine *m)
{
    uint8_t opcode = hp_bytes_byte(b);
    m->row = opcode >= table->opcode_base;
    if (m->row) {
        m->address += advances->address[opcode];
        m->line += advances->line[opcode];
    } else if (opcode == 0) {
        run_extended(b, m);
    } else {
        run_standard(b, table, opcode, m);
    }
}

static void set_advances(struct advances *advances, const struct table *table)
{
    if (advances->line_range == table->line_range && advances->opcode_base == table->opcode_base &&
        advances->min_length == table->min_length && advances->line_base == table->line_base)
        return;
    advances->line_range = table->line_range;
    advances->opcode_base = table->opcode_base;
    advances->min_length = table->min_length;
    advances->line_base = table->line_base;
    for (unsigned i = table->opcode_base; i < 256; i++) {
        unsigned special = i - table->opcode_base;
        advances->address[i] = (uint16_t)(special / table->line_range * table->min_length);
        advances->line[i] = (uint32_t)(table->line_base + (int)(special % table->line_range));
    }
}

/* --- The index -------------------------------------------------------------------------------- */

static enum hp_err add_part(struct hp_lines *lines, const struct part *part, uint64_t low,
                            uint64_t high)
{
    if (lines->n_parts >= MAX_PARTS)
        return hp_fail(HP_ERR_UNSUPPORTED, "too much line information");
    HP_TRY(
        hp_grow(&lines->parts, &lines->parts_capacity, lines->n_parts + 1, sizeof *lines->parts));
    HP_TRY(
        hp_grow(&lines->spans, &lines->spans_capacity, lines->n_spans + 1, sizeof *lines->spans));
    lines->spans[lines->n_spans++] =
        (struct hp_symbol_span){.low = low, .high = high, .id = (uint32_t)lines->n_parts};
    lines->parts[lines->n_parts++] = *part;
    return HP_OK;
}

/* Finds the parts of a sequence and moves `b` past it. A sequence that starts outside `code` is
 * left over from a function that the linker discarded. */
static enum hp_err index_sequence(struct hp_lines *lines, const struct table *table,
                                  struct hp_bytes *b, struct part *part,
                                  const struct advances *advances, const struct hp_span_index *code)
{
    const uint8_t *start = b->at;
    struct machine m = reset;
    bool wanted = false, begun = false;
    uint64_t low = 0;
    part->machine = m;
    part->program = (uint32_t)(b->at - lines->bytes);
    do {
        step(b, table, advances, &m);
        if (m.row && !begun) {
            begun = true;
            low = m.address;
            wanted = hp_span_find(code, low) != HP_SPAN_NONE;
        } else if (m.row && wanted && (m.ended || b->at - start > PART_BYTES) && m.address > low) {
            HP_TRY(add_part(lines, part, low, m.address));
            low = m.address;
            start = b->at;
            part->machine = m; /* the row just produced is the first of the next part */
            part->program = (uint32_t)(b->at - lines->bytes);
        }
    } while (!m.ended && b->at < b->end && !b->bad);
    if (b->bad || !m.ended)
        return hp_fail(HP_ERR_UNSUPPORTED, "a line program that is not understood");
    return HP_OK;
}

static enum hp_err index_tables(struct hp_lines *lines, const struct hp_span_index *code)
{
    struct hp_bytes section = {.at = lines->bytes, .end = lines->bytes + lines->size};
    struct advances advances = {0}; /* no table has a line range of 0 */
    while (section.at < section.end) {
        struct table table;
        size_t offset = (size_t)(section.at - lines->bytes);
        if (!read_header(&section, &table))
            return hp_fail(HP_ERR_UNSUPPORTED, "a line table that is not understood");
        set_advances(&advances, &table);
        struct part part = {.table = (uint32_t)offset};
        for (struct hp_bytes b = table.program; b.at < b.end;)
            HP_TRY(index_sequence(lines, &table, &b, &part, &advances, code));
    }
    return hp_span_index_build(&lines->index, lines->spans, lines->n_spans);
}

/* --- Opening ---------------------------------------------------------------------------------- */

/* The contents of a section, decompressed if necessary; NULL: none. */
static const void *contents(struct hp_elf *file, const char *name, size_t *size)
{
    GElf_Shdr header;
    Elf_Scn *section = hp_elf_section_named(file->elf, name);
    *size = 0;
    if (!section || hp_elf_need(file, name) != HP_OK || !gelf_getshdr(section, &header) ||
        (header.sh_flags & SHF_COMPRESSED && elf_compress(section, 0, 0) < 0))
        return NULL;
    Elf_Data *data = elf_getdata(section, NULL);
    if (!data || !data->d_buf)
        return NULL;
    *size = data->d_size;
    return data->d_buf;
}

enum hp_err hp_lines_open(struct hp_elf *file, struct hp_strings *strings, struct hp_lines **lines)
{
    GElf_Ehdr header;
    struct hp_span_index code = {0};
    *lines = NULL;
    struct hp_lines *opened = calloc(1, sizeof *opened);
    if (!opened)
        return hp_fail_nomem();
    opened->kept = strings;
    opened->bytes = contents(file, ".debug_line", &opened->size);
    opened->strings = contents(file, ".debug_line_str", &opened->strings_size);
    enum hp_err err = HP_OK;
    if (!opened->bytes || opened->size > UINT32_MAX || !gelf_getehdr(file->elf, &header) ||
        header.e_ident[EI_DATA] != ELFDATA2LSB)
        err = hp_fail(HP_ERR_UNSUPPORTED, "%s has no line tables of a known kind", file->path);
    if (err == HP_OK)
        err = hp_elf_code(file->elf, &code);
    if (err == HP_OK)
        err = index_tables(opened, &code);
    hp_span_index_fini(&code);
    free(opened->spans);
    opened->spans = NULL;
    if (err != HP_OK) {
        hp_lines_close(opened);
        return err;
    }
    *lines = opened;
    return HP_OK;
}

void hp_lines_close(struct hp_lines *lines)
{
    if (!lines)
        return;
    hp_span_index_fini(&lines->index);
    free(lines->parts);
    free(lines->spans);
    free(lines);
}

/* --- Queries ---------------------------------------------------------------------------------- */

enum hp_err hp_lines_find(const struct hp_lines *lines, uint64_t address, const char **file,
                          uint32_t *line)
{
    uint32_t found = hp_span_find(&lines->index, address);
    if (found == HP_SPAN_NONE)
        return hp_fail(HP_ERR_NOTFOUND, "no line information for address 0x%llx",
                       (unsigned long long)address);
    const struct part *part = &lines->parts[found];
    struct hp_bytes section = {.at = lines->bytes + part->table, .end = lines->bytes + lines->size};
    struct table table;
    struct advances advances = {0};
    if (!read_header(&section, &table))
        return hp_fail(HP_ERR_INTERNAL, "a line table changed");
    set_advances(&advances, &table);
    struct hp_bytes b = {.at = lines->bytes + part->program, .end = table.program.end};
    struct machine m = part->machine, best = m;
    while (!m.ended && b.at < b.end) {
        step(&b, &table, &advances, &m);
        if (m.row && m.address > address)
            break;
        if (m.row && !m.ended)
            best = m; /* of several at one address the last counts */
    }
    *line = best.line;
    const struct hp_line_names names = {.lists = table.names,
                                        .strings = lines->strings,
                                        .strings_size = lines->strings_size,
                                        .kept = lines->kept};
    return hp_line_names_path(&names, best.file, file);
}
