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
     ") WITHOUT ROWID",
     0},
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
     ")",
     0},
    {"run_argument", "id",
     "CREATE TABLE run_argument(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  text TEXT NOT NULL\n"
     ")",
     0},
    {"string", "id",
     "CREATE TABLE string(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  text TEXT NOT NULL\n"
     ")",
     0},
    {"module", "id",
     "CREATE TABLE module(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  path TEXT NOT NULL,\n"
     "  build_id TEXT NOT NULL\n"
     ")",
     0},
    {"thread", "id",
     "CREATE TABLE thread(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  pid INTEGER NOT NULL,\n"
     "  tid INTEGER NOT NULL,\n"
     "  instructions INTEGER NOT NULL,\n"
     "  blocks INTEGER NOT NULL,\n"
     "  branches INTEGER NOT NULL\n"
     ")",
     0},
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
     ")",
     0},
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
     ")",
     0},
    {"edge", "id",
     "CREATE TABLE edge(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  from_module INTEGER REFERENCES module,\n"
     "  from_offset INTEGER NOT NULL,\n"
     "  to_module INTEGER REFERENCES module,\n"
     "  to_offset INTEGER NOT NULL,\n"
     "  flow INTEGER NOT NULL,\n"
     "  taken INTEGER NOT NULL\n"
     ")",
     0},
    {"call", "id",
     "CREATE TABLE call(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  caller INTEGER REFERENCES function,\n"
     "  callee INTEGER REFERENCES function\n"
     ")",
     0},
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
     ") WITHOUT ROWID",
     0},
    {"block_count", "block, thread",
     "CREATE TABLE block_count(\n"
     "  block INTEGER NOT NULL REFERENCES block,\n"
     "  thread INTEGER NOT NULL REFERENCES thread,\n"
     "  count INTEGER NOT NULL,\n"
     "  PRIMARY KEY(block, thread)\n"
     ") WITHOUT ROWID",
     0},
    {"edge_count", "edge, thread",
     "CREATE TABLE edge_count(\n"
     "  edge INTEGER NOT NULL REFERENCES edge,\n"
     "  thread INTEGER NOT NULL REFERENCES thread,\n"
     "  count INTEGER NOT NULL,\n"
     "  PRIMARY KEY(edge, thread)\n"
     ") WITHOUT ROWID",
     0},
    {"function_count", "function, thread",
     "CREATE TABLE function_count(\n"
     "  function INTEGER NOT NULL REFERENCES function,\n"
     "  thread INTEGER NOT NULL REFERENCES thread,\n"
     "  self INTEGER NOT NULL,\n"
     "  inclusive INTEGER NOT NULL,\n"
     "  calls INTEGER NOT NULL,\n"
     "  PRIMARY KEY(function, thread)\n"
     ") WITHOUT ROWID",
     0},
    {"call_count", "call, thread",
     "CREATE TABLE call_count(\n"
     "  call INTEGER NOT NULL REFERENCES call,\n"
     "  thread INTEGER NOT NULL REFERENCES thread,\n"
     "  count INTEGER NOT NULL,\n"
     "  inclusive INTEGER NOT NULL,\n"
     "  PRIMARY KEY(call, thread)\n"
     ") WITHOUT ROWID",
     0},
    {"note", "id",
     "CREATE TABLE note(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  kind TEXT NOT NULL,\n"
     "  text TEXT NOT NULL,\n"
     "  count INTEGER NOT NULL\n"
     ")",
     0},
    {"engine_stat", "id",
     "CREATE TABLE engine_stat(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  name TEXT NOT NULL,\n"
     "  value INTEGER NOT NULL\n"
     ")",
     1},
    {"path", "id",
     "CREATE TABLE path(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  kind INTEGER NOT NULL REFERENCES string,\n"
     "  module INTEGER REFERENCES module,\n"
     "  offset INTEGER NOT NULL,\n"
     "  length INTEGER NOT NULL,\n"
     "  outcomes INTEGER NOT NULL,\n"
     "  targets INTEGER NOT NULL,\n"
     "  function INTEGER REFERENCES function\n"
     ")",
     1},
    {"path_step", "path, position",
     "CREATE TABLE path_step(\n"
     "  path INTEGER NOT NULL REFERENCES path,\n"
     "  position INTEGER NOT NULL,\n"
     "  block INTEGER NOT NULL REFERENCES block,\n"
     "  how INTEGER NOT NULL,\n"
     "  PRIMARY KEY(path, position)\n"
     ") WITHOUT ROWID",
     1},
    {"path_count", "path, thread",
     "CREATE TABLE path_count(\n"
     "  path INTEGER NOT NULL REFERENCES path,\n"
     "  thread INTEGER NOT NULL REFERENCES thread,\n"
     "  count INTEGER NOT NULL,\n"
     "  instructions INTEGER NOT NULL,\n"
     "  events INTEGER NOT NULL,\n"
     "  PRIMARY KEY(path, thread)\n"
     ") WITHOUT ROWID",
     1},
    {"model_stat", "id",
     "CREATE TABLE model_stat(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  part TEXT NOT NULL,\n"
     "  name TEXT NOT NULL,\n"
     "  unit INTEGER NOT NULL,\n"
     "  value INTEGER NOT NULL\n"
     ")",
     1},
    {"prediction", "id",
     "CREATE TABLE prediction(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  scheme TEXT NOT NULL,\n"
     "  delay INTEGER NOT NULL,\n"
     "  flow INTEGER NOT NULL,\n"
     "  paths INTEGER NOT NULL,\n"
     "  heads INTEGER NOT NULL,\n"
     "  hot_paths INTEGER NOT NULL,\n"
     "  hot_flow INTEGER NOT NULL,\n"
     "  predicted INTEGER NOT NULL,\n"
     "  predicted_hot INTEGER NOT NULL,\n"
     "  hits INTEGER NOT NULL,\n"
     "  noise INTEGER NOT NULL,\n"
     "  missed INTEGER NOT NULL,\n"
     "  profiled INTEGER NOT NULL,\n"
     "  closed_hits INTEGER NOT NULL,\n"
     "  closed_noise INTEGER NOT NULL,\n"
     "  closed_missed INTEGER NOT NULL,\n"
     "  counters INTEGER NOT NULL,\n"
     "  operations INTEGER NOT NULL,\n"
     "  branches INTEGER NOT NULL\n"
     ")",
     1},
    {"loop", "id",
     "CREATE TABLE loop(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  function INTEGER REFERENCES function,\n"
     "  module INTEGER REFERENCES module,\n"
     "  offset INTEGER NOT NULL,\n"
     "  version INTEGER NOT NULL,\n"
     "  parent INTEGER REFERENCES loop,\n"
     "  insns INTEGER NOT NULL,\n"
     "  flags INTEGER NOT NULL,\n"
     "  file INTEGER NOT NULL REFERENCES string,\n"
     "  first_line INTEGER NOT NULL,\n"
     "  last_line INTEGER NOT NULL\n"
     ")",
     1},
    {"loop_count", "loop, thread",
     "CREATE TABLE loop_count(\n"
     "  loop INTEGER NOT NULL REFERENCES loop,\n"
     "  thread INTEGER NOT NULL REFERENCES thread,\n"
     "  executions INTEGER NOT NULL,\n"
     "  iterations INTEGER NOT NULL,\n"
     "  back_edges INTEGER NOT NULL,\n"
     "  min INTEGER NOT NULL,\n"
     "  max INTEGER NOT NULL,\n"
     "  self INTEGER NOT NULL,\n"
     "  inclusive INTEGER NOT NULL,\n"
     "  same INTEGER NOT NULL,\n"
     "  stride INTEGER NOT NULL,\n"
     "  interrupted INTEGER NOT NULL,\n"
     "  PRIMARY KEY(loop, thread)\n"
     ") WITHOUT ROWID",
     1},
    {"loop_trip", "loop, bucket, value",
     "CREATE TABLE loop_trip(\n"
     "  loop INTEGER NOT NULL REFERENCES loop,\n"
     "  bucket INTEGER NOT NULL,\n"
     "  value INTEGER NOT NULL,\n"
     "  count INTEGER NOT NULL,\n"
     "  PRIMARY KEY(loop, bucket, value)\n"
     ") WITHOUT ROWID",
     1},
    {"loop_block", "loop, block",
     "CREATE TABLE loop_block(\n"
     "  loop INTEGER NOT NULL REFERENCES loop,\n"
     "  block INTEGER NOT NULL REFERENCES block,\n"
     "  PRIMARY KEY(loop, block)\n"
     ") WITHOUT ROWID",
     1},
    {"model_loop", "id",
     "CREATE TABLE model_loop(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  model INTEGER NOT NULL REFERENCES string,\n"
     "  branch_module INTEGER REFERENCES module,\n"
     "  branch_offset INTEGER NOT NULL,\n"
     "  target_module INTEGER REFERENCES module,\n"
     "  target_offset INTEGER NOT NULL,\n"
     "  function INTEGER REFERENCES function,\n"
     "  loop INTEGER REFERENCES loop,\n"
     "  executions INTEGER NOT NULL,\n"
     "  average INTEGER NOT NULL,\n"
     "  iterations INTEGER NOT NULL,\n"
     "  instructions INTEGER NOT NULL\n"
     ")",
     1},
    {"hotspot", "id",
     "CREATE TABLE hotspot(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  run INTEGER NOT NULL,\n"
     "  detector INTEGER NOT NULL REFERENCES string,\n"
     "  number INTEGER NOT NULL,\n"
     "  pid INTEGER NOT NULL,\n"
     "  at_branches INTEGER NOT NULL,\n"
     "  at_instructions INTEGER NOT NULL,\n"
     "  insns INTEGER NOT NULL,\n"
     "  total INTEGER NOT NULL,\n"
     "  after INTEGER NOT NULL\n"
     ")",
     1},
    {"hotspot_branch", "id",
     "CREATE TABLE hotspot_branch(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  hotspot INTEGER NOT NULL REFERENCES hotspot,\n"
     "  module INTEGER REFERENCES module,\n"
     "  offset INTEGER NOT NULL,\n"
     "  flow INTEGER NOT NULL,\n"
     "  executed INTEGER NOT NULL,\n"
     "  taken INTEGER NOT NULL\n"
     ")",
     1},
    {"hotspot_block", "hotspot, block",
     "CREATE TABLE hotspot_block(\n"
     "  hotspot INTEGER NOT NULL REFERENCES hotspot,\n"
     "  block INTEGER NOT NULL REFERENCES block,\n"
     "  PRIMARY KEY(hotspot, block)\n"
     ") WITHOUT ROWID",
     1},
    {"hotspot_slice", "hotspot, slice, width",
     "CREATE TABLE hotspot_slice(\n"
     "  hotspot INTEGER NOT NULL REFERENCES hotspot,\n"
     "  slice INTEGER NOT NULL,\n"
     "  width INTEGER NOT NULL,\n"
     "  instructions INTEGER NOT NULL,\n"
     "  PRIMARY KEY(hotspot, slice, width)\n"
     ") WITHOUT ROWID",
     1},
    {NULL, NULL, NULL, 0},
};

const char hp_schema_views[] =
    "CREATE TABLE flow(id INTEGER PRIMARY KEY, name TEXT NOT NULL);\n"
    "INSERT INTO flow VALUES(0,'none'),(1,'jump'),(2,'cond'),(3,'call'),(4,'jump_ind'),\n"
    "  (5,'call_ind'),(6,'return'),(7,'syscall'),(8,'trap');\n"
    "CREATE TABLE how(id INTEGER PRIMARY KEY, name TEXT NOT NULL);\n"
    "INSERT INTO how VALUES(0,'fell'),(1,'taken'),(2,'called'),(3,'entered'),(4,'returned'),\n"
    "  (5,'end');\n"
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
    "  GROUP BY l.file, l.line ORDER BY instructions DESC, file, l.line;\n"
    "CREATE VIEW hot_paths AS\n"
    "  SELECT p.id, s.text AS kind, m.path AS module, printf('0x%x', p.offset) AS offset,\n"
    "    f.name AS function, p.length, sum(c.count) AS count, sum(c.instructions) AS "
    "instructions,\n"
    "    sum(c.events) AS events,\n"
    "    1.0 * sum(c.instructions) / (SELECT sum(instructions) FROM thread) AS share\n"
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
    "  GROUP BY c.loop ORDER BY inclusive DESC, c.loop;\n";

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
