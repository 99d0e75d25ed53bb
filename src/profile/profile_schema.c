// SPDX-License-Identifier: MIT
#include "profile/profile_schema.h"

#include <string.h>

/* The loader compares these texts with the file's: a changed letter is a new version. */
const struct hp_schema_table hp_schema_tables[HP_SCHEMA_TABLES + 1] = {
    {HP_SCHEMA_CONTENTS, "name",
     "CREATE TABLE contents(\n"
     "  name TEXT NOT NULL PRIMARY KEY,\n"
     "  rows INTEGER NOT NULL,\n"
     "  checksum INTEGER NOT NULL\n"
     ") WITHOUT ROWID"},
    {"run", "id",
     "CREATE TABLE run(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  version TEXT NOT NULL,\n"
     "  engine TEXT NOT NULL,\n"
     "  arch TEXT NOT NULL,\n"
     "  directory TEXT NOT NULL,\n"
     "  machine TEXT NOT NULL,\n"
     "  started INTEGER NOT NULL,\n"
     "  seconds REAL NOT NULL,\n"
     "  exit_status INTEGER NOT NULL,\n"
     "  lost INTEGER NOT NULL,\n"
     "  runs INTEGER NOT NULL\n"
     ")"},
    {"run_argument", "id",
     "CREATE TABLE run_argument(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  text TEXT NOT NULL\n"
     ")"},
    {"string", "id",
     "CREATE TABLE string(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  text TEXT NOT NULL\n"
     ")"},
    {"module", "id",
     "CREATE TABLE module(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  path TEXT NOT NULL,\n"
     "  build_id TEXT NOT NULL\n"
     ")"},
    {"thread", "id",
     "CREATE TABLE thread(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  pid INTEGER NOT NULL,\n"
     "  tid INTEGER NOT NULL,\n"
     "  instructions INTEGER NOT NULL,\n"
     "  blocks INTEGER NOT NULL,\n"
     "  branches INTEGER NOT NULL\n"
     ")"},
    {"function", "id",
     "CREATE TABLE function(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  module INTEGER REFERENCES module,\n"
     "  offset INTEGER NOT NULL,\n"
     "  size INTEGER NOT NULL,\n"
     "  name TEXT NOT NULL,\n"
     "  linkage TEXT NOT NULL,\n"
     "  file INTEGER NOT NULL REFERENCES string,\n"
     "  line INTEGER NOT NULL\n"
     ")"},
    {"block", "id",
     "CREATE TABLE block(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  module INTEGER REFERENCES module,\n"
     "  offset INTEGER NOT NULL,\n"
     "  size INTEGER NOT NULL,\n"
     "  insns INTEGER NOT NULL,\n"
     "  function INTEGER REFERENCES function,\n"
     "  flow INTEGER NOT NULL,\n"
     "  branch INTEGER NOT NULL,\n"
     "  version INTEGER NOT NULL\n"
     ")"},
    {"edge", "id",
     "CREATE TABLE edge(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  from_module INTEGER REFERENCES module,\n"
     "  from_offset INTEGER NOT NULL,\n"
     "  to_module INTEGER REFERENCES module,\n"
     "  to_offset INTEGER NOT NULL,\n"
     "  flow INTEGER NOT NULL,\n"
     "  taken INTEGER NOT NULL\n"
     ")"},
    {"call", "id",
     "CREATE TABLE call(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  caller INTEGER REFERENCES function,\n"
     "  callee INTEGER REFERENCES function\n"
     ")"},
    {"line", "block, start, stop, file, line, inlined, inlined_at",
     "CREATE TABLE line(\n"
     "  block INTEGER NOT NULL REFERENCES block,\n"
     "  start INTEGER NOT NULL,\n"
     "  stop INTEGER NOT NULL,\n"
     "  file INTEGER NOT NULL REFERENCES string,\n"
     "  line INTEGER NOT NULL,\n"
     "  inlined INTEGER NOT NULL REFERENCES string,\n"
     "  inlined_at INTEGER NOT NULL REFERENCES string,\n"
     "  insns INTEGER NOT NULL,\n"
     "  PRIMARY KEY(block, start, stop, file, line, inlined, inlined_at)\n"
     ") WITHOUT ROWID"},
    {"block_count", "block, thread",
     "CREATE TABLE block_count(\n"
     "  block INTEGER NOT NULL REFERENCES block,\n"
     "  thread INTEGER NOT NULL REFERENCES thread,\n"
     "  count INTEGER NOT NULL,\n"
     "  PRIMARY KEY(block, thread)\n"
     ") WITHOUT ROWID"},
    {"edge_count", "edge, thread",
     "CREATE TABLE edge_count(\n"
     "  edge INTEGER NOT NULL REFERENCES edge,\n"
     "  thread INTEGER NOT NULL REFERENCES thread,\n"
     "  count INTEGER NOT NULL,\n"
     "  PRIMARY KEY(edge, thread)\n"
     ") WITHOUT ROWID"},
    {"function_count", "function, thread",
     "CREATE TABLE function_count(\n"
     "  function INTEGER NOT NULL REFERENCES function,\n"
     "  thread INTEGER NOT NULL REFERENCES thread,\n"
     "  self INTEGER NOT NULL,\n"
     "  inclusive INTEGER NOT NULL,\n"
     "  calls INTEGER NOT NULL,\n"
     "  PRIMARY KEY(function, thread)\n"
     ") WITHOUT ROWID"},
    {"call_count", "call, thread",
     "CREATE TABLE call_count(\n"
     "  call INTEGER NOT NULL REFERENCES call,\n"
     "  thread INTEGER NOT NULL REFERENCES thread,\n"
     "  count INTEGER NOT NULL,\n"
     "  inclusive INTEGER NOT NULL,\n"
     "  PRIMARY KEY(call, thread)\n"
     ") WITHOUT ROWID"},
    {"note", "id",
     "CREATE TABLE note(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  kind TEXT NOT NULL,\n"
     "  text TEXT NOT NULL,\n"
     "  count INTEGER NOT NULL\n"
     ")"},
    {HP_SCHEMA_ENGINE, "id",
     "CREATE TABLE engine_stat(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  name TEXT NOT NULL,\n"
     "  value INTEGER NOT NULL\n"
     ")"},
    {NULL, NULL, NULL},
};

const char hp_schema_views[] =
    "CREATE TABLE flow(id INTEGER PRIMARY KEY, name TEXT NOT NULL);\n"
    "INSERT INTO flow VALUES(0,'none'),(1,'jump'),(2,'cond'),(3,'call'),(4,'jump_ind'),\n"
    "  (5,'call_ind'),(6,'return'),(7,'syscall'),(8,'trap');\n"
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
    "CREATE VIEW hot_lines AS\n"
    "  WITH b AS (SELECT block, sum(count) AS count FROM block_count GROUP BY block)\n"
    "  SELECT s.text AS file, l.line, sum(b.count * l.insns) AS instructions,\n"
    "    1.0 * sum(b.count * l.insns) / (SELECT sum(instructions) FROM thread) AS share\n"
    "  FROM line l JOIN b ON b.block = l.block JOIN string s ON s.id = l.file\n"
    "  GROUP BY l.file, l.line ORDER BY instructions DESC, file, l.line;\n";

size_t hp_schema_find(const char *table)
{
    size_t i = 0;
    while (i < HP_SCHEMA_TABLES && strcmp(hp_schema_tables[i].name, table) != 0)
        i++;
    return i;
}

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
