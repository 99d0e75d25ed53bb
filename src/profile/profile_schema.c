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
    {"context", "id",
     "CREATE TABLE context(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  parent INTEGER REFERENCES context,\n"
     "  function INTEGER REFERENCES function\n"
     ")",
     1},
    {"context_count", "context, thread",
     "CREATE TABLE context_count(\n"
     "  context INTEGER NOT NULL REFERENCES context,\n"
     "  thread INTEGER NOT NULL REFERENCES thread,\n"
     "  self INTEGER NOT NULL,\n"
     "  calls INTEGER NOT NULL,\n"
     "  PRIMARY KEY(context, thread)\n"
     ") WITHOUT ROWID",
     1},
    {"table_path", "table_name, path",
     "CREATE TABLE table_path(\n"
     "  table_name INTEGER NOT NULL REFERENCES string,\n"
     "  path INTEGER NOT NULL REFERENCES path,\n"
     "  events INTEGER NOT NULL,\n"
     "  PRIMARY KEY(table_name, path)\n"
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
    {"insn", "id",
     "CREATE TABLE insn(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  module INTEGER REFERENCES module,\n"
     "  offset INTEGER NOT NULL,\n"
     "  version INTEGER NOT NULL,\n"
     "  function INTEGER REFERENCES function,\n"
     "  length INTEGER NOT NULL,\n"
     "  flow INTEGER NOT NULL,\n"
     "  op INTEGER NOT NULL,\n"
     "  text INTEGER NOT NULL REFERENCES string,\n"
     "  file INTEGER NOT NULL REFERENCES string,\n"
     "  line INTEGER NOT NULL,\n"
     "  inlined INTEGER NOT NULL REFERENCES string\n"
     ")",
     1},
    {"insn_tally", "seen, insn",
     "CREATE TABLE insn_tally(\n"
     "  seen INTEGER NOT NULL REFERENCES string,\n"
     "  insn INTEGER NOT NULL REFERENCES insn,\n"
     "  fetched INTEGER NOT NULL,\n"
     "  retired INTEGER NOT NULL,\n"
     "  wrong_path INTEGER NOT NULL,\n"
     "  trapped INTEGER NOT NULL,\n"
     "  l1i INTEGER NOT NULL,\n"
     "  itlb INTEGER NOT NULL,\n"
     "  l1d INTEGER NOT NULL,\n"
     "  l2 INTEGER NOT NULL,\n"
     "  l3 INTEGER NOT NULL,\n"
     "  dtlb INTEGER NOT NULL,\n"
     "  taken INTEGER NOT NULL,\n"
     "  mispredicted INTEGER NOT NULL,\n"
     "  btb INTEGER NOT NULL,\n"
     "  forwarded INTEGER NOT NULL,\n"
     "  blocked INTEGER NOT NULL,\n"
     "  no_reorder INTEGER NOT NULL,\n"
     "  no_queue INTEGER NOT NULL,\n"
     "  no_memory_queue INTEGER NOT NULL,\n"
     "  no_register INTEGER NOT NULL,\n"
     "  unit_busy INTEGER NOT NULL,\n"
     "  map_cycles INTEGER NOT NULL,\n"
     "  operands_cycles INTEGER NOT NULL,\n"
     "  issue_cycles INTEGER NOT NULL,\n"
     "  execute_cycles INTEGER NOT NULL,\n"
     "  retire_cycles INTEGER NOT NULL,\n"
     "  load_cycles INTEGER NOT NULL,\n"
     "  map_squares INTEGER NOT NULL,\n"
     "  operands_squares INTEGER NOT NULL,\n"
     "  issue_squares INTEGER NOT NULL,\n"
     "  execute_squares INTEGER NOT NULL,\n"
     "  retire_squares INTEGER NOT NULL,\n"
     "  load_squares INTEGER NOT NULL,\n"
     "  pairs INTEGER NOT NULL,\n"
     "  progress INTEGER NOT NULL,\n"
     "  useful INTEGER NOT NULL,\n"
     "  near INTEGER NOT NULL,\n"
     "  PRIMARY KEY(seen, insn)\n"
     ") WITHOUT ROWID",
     1},
    {"insn_cycles", "insn, cause",
     "CREATE TABLE insn_cycles(\n"
     "  insn INTEGER NOT NULL REFERENCES insn,\n"
     "  cause INTEGER NOT NULL,\n"
     "  parts INTEGER NOT NULL,\n"
     "  PRIMARY KEY(insn, cause)\n"
     ") WITHOUT ROWID",
     1},
    {"attribution", "scheme, insn",
     "CREATE TABLE attribution(\n"
     "  scheme INTEGER NOT NULL REFERENCES string,\n"
     "  insn INTEGER NOT NULL REFERENCES insn,\n"
     "  weight INTEGER NOT NULL,\n"
     "  PRIMARY KEY(scheme, insn)\n"
     ") WITHOUT ROWID",
     1},
    {"insn_wait", "insn, producer",
     "CREATE TABLE insn_wait(\n"
     "  insn INTEGER NOT NULL REFERENCES insn,\n"
     "  producer INTEGER NOT NULL REFERENCES insn,\n"
     "  count INTEGER NOT NULL,\n"
     "  cycles INTEGER NOT NULL,\n"
     "  PRIMARY KEY(insn, producer)\n"
     ") WITHOUT ROWID",
     1},
    {"sampler", "id",
     "CREATE TABLE sampler(\n"
     "  id INTEGER PRIMARY KEY,\n"
     "  name TEXT NOT NULL,\n"
     "  interval INTEGER NOT NULL,\n"
     "  pair_window INTEGER NOT NULL,\n"
     "  width INTEGER NOT NULL,\n"
     "  near INTEGER NOT NULL,\n"
     "  samples INTEGER NOT NULL,\n"
     "  empty INTEGER NOT NULL,\n"
     "  lost INTEGER NOT NULL,\n"
     "  interrupts INTEGER NOT NULL,\n"
     "  cost INTEGER NOT NULL,\n"
     "  scale INTEGER NOT NULL\n"
     ")",
     1},
    {"cycle_window", "thread, at",
     "CREATE TABLE cycle_window(\n"
     "  thread INTEGER NOT NULL REFERENCES thread,\n"
     "  at INTEGER NOT NULL,\n"
     "  instructions INTEGER NOT NULL,\n"
     "  cycles INTEGER NOT NULL,\n"
     "  PRIMARY KEY(thread, at)\n"
     ") WITHOUT ROWID",
     1},
    {NULL, NULL, NULL, 0},
};

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
