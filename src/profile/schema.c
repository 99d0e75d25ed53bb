// SPDX-License-Identifier: MIT
#include "profile/schema.h"
#include "base/base.h"

/* --- Tables ----------------------------------------------------------------------------------- */

#define FIELD(row, member, column, kind)                                                           \
    {                                                                                              \
        .name = column, .type = HP_ROW_##kind, .offset = offsetof(struct hp_schema_##row, member)  \
    }
#define RUN(member, kind) FIELD(run, run.member, #member, kind)

static const struct hp_row_field contents_fields[] = {
    {.name = "name", .type = HP_ROW_TEXT, .key = 1},
    FIELD(contents, rows, "rows", U64),
    FIELD(contents, checksum, "checksum", BITS),
};

static const struct hp_row_field run_fields[] = {
    RUN(version, TEXT),   RUN(engine, TEXT),     FIELD(run, arch, "arch", TEXT),
    RUN(directory, TEXT), RUN(machine, TEXT),    RUN(started, I64),
    RUN(seconds, REAL),   RUN(exit_status, I32), RUN(lost, U64),
    RUN(runs, U32)};

static const struct hp_row_field text_fields[] = {{.name = "text", .type = HP_ROW_TEXT}};

static const struct hp_row_field engine_fields[] = {
    FIELD(engine, name, "name", TEXT),
    FIELD(engine, value, "value", U64),
};

/* Those that are not rows of struct hp_profile. */
#define ROWS(row, fields_)                                                                         \
    .size = sizeof(struct hp_schema_##row), .fields = fields_,                                     \
    .n_fields = sizeof fields_ / sizeof *fields_
static const struct hp_row_format others[HP_SCHEMA_ROWS] = {
    [HP_SCHEMA_CONTENTS] = {"contents", ROWS(contents, contents_fields)},
    [HP_SCHEMA_RUN] = {"run", ROWS(run, run_fields), .has_id = true},
    [HP_SCHEMA_ARGUMENT] = {"run_argument", ROWS(text, text_fields), .has_id = true},
    [HP_SCHEMA_STRING] = {"string", ROWS(text, text_fields), .has_id = true},
    [HP_SCHEMA_ENGINE] = {"engine_stat", ROWS(engine, engine_fields), .has_id = true,
                          .later = true},
};

const struct hp_row_format *hp_schema_table(size_t table)
{
    return table < HP_SCHEMA_ROWS ? &others[table] : &hp_row_formats[table - HP_SCHEMA_ROWS];
}

size_t hp_schema_find(const char *name)
{
    size_t table = 0;
    while (table < HP_SCHEMA_TABLES && strcmp(hp_schema_table(table)->table, name) != 0)
        table++;
    return table;
}

/* --- SQL -------------------------------------------------------------------------------------- */

static void add_column(sqlite3_str *sql, const struct hp_row_field *field)
{
    const char *type = field->type == HP_ROW_TEXT   ? "TEXT"
                       : field->type == HP_ROW_REAL ? "REAL"
                                                    : "INTEGER";
    sqlite3_str_appendf(sql, "  %s %s%s", field->name, type,
                        field->type == HP_ROW_LINK ? "" : " NOT NULL");
    if (hp_row_is_reference(field))
        sqlite3_str_appendf(sql, " REFERENCES %s", hp_row_formats[field->to].table);
    else if (field->type == HP_ROW_STRING)
        sqlite3_str_appendf(sql, " REFERENCES string");
}

/* The columns of the key: the first ones. */
static void add_key(sqlite3_str *sql, const struct hp_row_format *format)
{
    for (size_t i = 0; i < format->n_fields && format->fields[i].key; i++)
        sqlite3_str_appendf(sql, "%s%s", i ? ", " : "", format->fields[i].name);
}

char *hp_schema_key(const struct hp_row_format *format)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    if (format->has_id)
        sqlite3_str_appendf(sql, "id");
    else
        add_key(sql, format);
    return sqlite3_str_finish(sql);
}

/* A key of one column stands beside it. */
char *hp_schema_create(const struct hp_row_format *format)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    bool long_key = !format->has_id && format->fields[1].key;
    sqlite3_str_appendf(sql, "CREATE TABLE %s(\n%s", format->table,
                        format->has_id ? "  id INTEGER PRIMARY KEY,\n" : "");
    for (size_t i = 0; i < format->n_fields; i++) {
        add_column(sql, &format->fields[i]);
        sqlite3_str_appendf(sql, "%s%s\n",
                            i == 0 && !format->has_id && !long_key ? " PRIMARY KEY" : "",
                            i + 1 < format->n_fields || long_key ? "," : "");
    }
    if (long_key) {
        sqlite3_str_appendf(sql, "  PRIMARY KEY(");
        add_key(sql, format);
        sqlite3_str_appendf(sql, ")\n");
    }
    sqlite3_str_appendf(sql, format->has_id ? ")" : ") WITHOUT ROWID");
    return sqlite3_str_finish(sql);
}

/* --- Checksums -------------------------------------------------------------------------------- */

uint64_t hp_schema_sum_text(uint64_t sum, const char *text, size_t length)
{
    sum = hp_schema_sum(sum, length);
    for (size_t i = 0; i < length; i += 8) {
        unsigned char bytes[8] = {0};
        memcpy(bytes, text + i, length - i < 8 ? length - i : 8);
        uint64_t word = 0;
        for (int k = 0; k < 8; k++) /* the same on any byte order */
            word |= (uint64_t)bytes[k] << (8 * k);
        sum = hp_schema_sum(sum, word);
    }
    return sum;
}

/* --- For people ------------------------------------------------------------------------------- */

const char hp_schema_views[] =
    "CREATE TABLE flow(id INTEGER PRIMARY KEY, name TEXT NOT NULL);\n"
    "INSERT INTO flow VALUES(0,'none'),(1,'jump'),(2,'cond'),(3,'call'),(4,'jump_ind'),\n"
    "  (5,'call_ind'),(6,'return'),(7,'syscall'),(8,'trap');\n"
    "CREATE TABLE how(id INTEGER PRIMARY KEY, name TEXT NOT NULL);\n"
    "INSERT INTO how VALUES(0,'fell'),(1,'taken'),(2,'called'),(3,'entered'),(4,'returned'),\n"
    "  (5,'end');\n"
    "CREATE TABLE cause(id INTEGER PRIMARY KEY, name TEXT NOT NULL);\n"
    "INSERT INTO cause VALUES(0,'retire'),(1,'execute'),(2,'unit'),(3,'l1'),(4,'l2'),(5,'l3'),\n"
    "  (6,'memory'),(7,'dtlb'),(8,'blocked'),(9,'queue'),(10,'mispredict'),(11,'trap'),\n"
    "  (12,'l1i'),(13,'itlb'),(14,'fetch'),(15,'serial');\n"
    "CREATE VIEW hot_functions AS\n"
    "  SELECT CASE f.name WHEN '' THEN printf('0x%x', f.offset) ELSE f.name END AS name,\n"
    "    m.path AS module, sum(c.self) AS self,\n"
    "    1.0 * sum(c.self) / (SELECT sum(instructions) FROM thread) AS share,\n"
    "    sum(c.inclusive) AS inclusive, sum(c.calls) AS calls\n"
    "  FROM function_count c JOIN function f ON f.id = c.function\n"
    "    LEFT JOIN module m ON m.id = f.module\n"
    "  GROUP BY c.function ORDER BY self DESC, c.function;\n"
    "CREATE VIEW hot_blocks AS\n"
    "  SELECT m.path AS module, printf('0x%x', b.offset) AS offset, f.name AS function, b.insns,\n"
    "    sum(c.count) AS count, sum(c.count) * b.insns AS instructions,\n"
    "    1.0 * sum(c.count) * b.insns / (SELECT sum(instructions) FROM thread) AS share\n"
    "  FROM block_count c JOIN block b ON b.id = c.block\n"
    "    LEFT JOIN module m ON m.id = b.module LEFT JOIN function f ON f.id = b.function\n"
    "  GROUP BY c.block ORDER BY instructions DESC, c.block;\n"
    "CREATE VIEW hot_edges AS\n"
    "  SELECT fm.path AS from_module, printf('0x%x', e.from_offset) AS from_offset,\n"
    "    tm.path AS to_module, printf('0x%x', e.to_offset) AS to_offset, w.name AS flow, e.taken,\n"
    "    sum(c.count) AS count\n"
    "  FROM edge_count c JOIN edge e ON e.id = c.edge JOIN flow w ON w.id = e.flow\n"
    "    LEFT JOIN module fm ON fm.id = e.from_module LEFT JOIN module tm ON tm.id = e.to_module\n"
    "  GROUP BY c.edge ORDER BY count DESC, c.edge;\n"
    "CREATE VIEW hot_calls AS\n"
    "  SELECT r.name AS caller, e.name AS callee, sum(c.count) AS count,\n"
    "    sum(c.inclusive) AS inclusive\n"
    "  FROM call_count c JOIN call k ON k.id = c.call LEFT JOIN function r ON r.id = k.caller\n"
    "    LEFT JOIN function e ON e.id = k.callee\n"
    "  GROUP BY c.call ORDER BY inclusive DESC, c.call;\n"
    "CREATE VIEW hot_contexts AS\n"
    "  SELECT k.id, k.parent, f.name AS function, m.path AS module, sum(c.self) AS self,\n"
    "    1.0 * sum(c.self) / (SELECT sum(instructions) FROM thread) AS share,\n"
    "    sum(c.calls) AS calls\n"
    "  FROM context_count c JOIN context k ON k.id = c.context\n"
    "    LEFT JOIN function f ON f.id = k.function LEFT JOIN module m ON m.id = f.module\n"
    "  GROUP BY c.context ORDER BY self DESC, c.context;\n"
    "CREATE VIEW hot_lines AS\n"
    "  WITH b AS (SELECT block, sum(count) AS count FROM block_count GROUP BY block)\n"
    "  SELECT s.text AS file, l.line, sum(b.count * l.insns) AS instructions,\n"
    "    1.0 * sum(b.count * l.insns) / (SELECT sum(instructions) FROM thread) AS share\n"
    "  FROM line l JOIN b ON b.block = l.block JOIN string s ON s.id = l.file\n"
    "  GROUP BY l.file, l.line ORDER BY instructions DESC, file, l.line;\n"
    "CREATE VIEW hot_paths AS\n"
    "  SELECT p.id, s.text AS kind, m.path AS module, printf('0x%x', p.offset) AS offset,\n"
    "    f.name AS function, p.length, sum(c.count) AS count, sum(c.instructions) AS "
    "instructions,\n"
    "    sum(c.events) AS events,\n"
    "    1.0 * sum(c.instructions) / (SELECT sum(instructions) FROM thread) AS share,\n"
    "    (SELECT sum(parts) / 720720.0 FROM path_cycles y WHERE y.path = c.path) AS cycles\n"
    "  FROM path_count c JOIN path p ON p.id = c.path JOIN string s ON s.id = p.kind\n"
    "    LEFT JOIN module m ON m.id = p.module LEFT JOIN function f ON f.id = p.function\n"
    "  GROUP BY c.path ORDER BY instructions DESC, c.path;\n"
    "CREATE VIEW hot_loops AS\n"
    "  SELECT l.id, f.name AS function, m.path AS module, printf('0x%x', l.offset) AS offset,\n"
    "    s.text AS file, l.first_line, l.last_line, l.parent, sum(c.executions) AS executions,\n"
    "    sum(c.iterations) AS iterations,\n"
    "    min(CASE WHEN c.executions THEN c.min END) AS min, max(c.max) AS max,\n"
    "    sum(c.self) AS self, sum(c.inclusive) AS inclusive,\n"
    "    1.0 * sum(c.inclusive) / (SELECT sum(instructions) FROM thread) AS share\n"
    "  FROM loop_count c JOIN loop l ON l.id = c.loop JOIN string s ON s.id = l.file\n"
    "    LEFT JOIN module m ON m.id = l.module LEFT JOIN function f ON f.id = l.function\n"
    "  GROUP BY c.loop ORDER BY inclusive DESC, c.loop;\n"
    "CREATE VIEW hot_instructions AS\n"
    "  SELECT i.id, m.path AS module, printf('0x%x', i.offset) AS offset, f.name AS function,\n"
    "    t.text AS text, s.text AS file, i.line, sum(c.parts) / 720720.0 AS cycles,\n"
    "    1.0 * sum(c.parts) / (SELECT sum(parts) FROM insn_cycles) AS share,\n"
    "    (SELECT retired FROM insn_tally y JOIN string n ON n.id = y.seen\n"
    "      WHERE n.text = 'exact' AND y.insn = i.id) AS executions\n"
    "  FROM insn_cycles c JOIN insn i ON i.id = c.insn JOIN string t ON t.id = i.text\n"
    "    JOIN string s ON s.id = i.file LEFT JOIN module m ON m.id = i.module\n"
    "    LEFT JOIN function f ON f.id = i.function\n"
    "  GROUP BY c.insn ORDER BY cycles DESC, c.insn;\n";
