// SPDX-License-Identifier: MIT
#include "profile/rows.h"

#include "base/base.h"
#include "hotpath/cycles.h"
#include "hotpath/path.h"
#include "profile/profile_impl.h"

/* A column of a row of union hp_any_row, as struct hp_row_field has it. */
#define COLUMN(row, member, column, kind, ...)                                                     \
    {                                                                                              \
        .name = column, .type = HP_ROW_##kind, .offset = offsetof(union hp_any_row, row.member),   \
        __VA_ARGS__                                                                                \
    }
/* One that is called as its member. */
#define FIELD(row, member, kind, ...) COLUMN(row, member, #member, kind, __VA_ARGS__)
#define INDEX(row, member, of, ...)   FIELD(row, member, INDEX, .to = HP_ROW_##of, __VA_ARGS__)
#define LINK(row, member, of, ...)    FIELD(row, member, LINK, .to = HP_ROW_##of, __VA_ARGS__)
#define SUM(row, member, ...)         FIELD(row, member, U64, .join = HP_JOIN_SUM, __VA_ARGS__)
#define HELP(text)                    .help = text
#define AT_MOST(column)               .at_most = column
/* A place is two columns. */
#define PLACE(row, member, prefix, ...)                                                            \
    COLUMN(row, member.module, prefix "module", LINK, .to = HP_ROW_MODULE, __VA_ARGS__),           \
        COLUMN(row, member.offset, prefix "offset", BITS, __VA_ARGS__)
/* What every counter begins with. */
#define COUNTER(row, column, of)                                                                   \
    COLUMN(row, item, column, INDEX, .to = HP_ROW_##of, .key = 1),                                 \
        INDEX(row, thread, THREAD, .key = 2)

/* --- Code ------------------------------------------------------------------------------------- */

static const struct hp_row_field modules_fields[] = {FIELD(module, path, TEXT, .key = 1),
                                                     FIELD(module, build_id, TEXT, .key = 2)};

static const struct hp_row_field threads_fields[] = {
    FIELD(thread, pid, I32), FIELD(thread, tid, I32),
    FIELD(thread, instructions, U64, HELP("executed, as are blocks and branches")),
    FIELD(thread, blocks, U64), FIELD(thread, branches, U64)};

static const struct hp_row_field functions_fields[] = {
    PLACE(function, place, "", .key = 1),
    FIELD(function, size, U64, .prefer = -3, HELP("bytes; 0: not known")),
    FIELD(function, name, TEXT, .prefer = 1, HELP("demangled")),
    FIELD(function, linkage, TEXT, .prefer = 2, HELP("as in the symbol table")),
    FIELD(function, file, STRING, .prefer = 4),
    FIELD(function, line, U32, .prefer = -5),
};

static const struct hp_row_field blocks_fields[] = {
    PLACE(block, place, "", .key = 1),
    FIELD(block, size, U32, .key = 2, HELP("bytes")),
    FIELD(block, insns, U32, .prefer = 2),
    LINK(block, function, FUNCTION, .prefer = 1),
    FIELD(block, flow, U8, .key = 4, .max = HP_FLOW_COUNT_ - 1, HELP("→ `flow`")),
    FIELD(block, branch, U32, .prefer = 3, AT_MOST("size"), HELP("offset of its last instruction")),
    FIELD(block, version, U32, .key = 3, HELP("other code seen at the same place")),
};

static const struct hp_row_field edges_fields[] = {
    PLACE(edge, from, "from_", .key = 1), PLACE(edge, to, "to_", .key = 2),
    FIELD(edge, flow, U8, .key = 3, .max = HP_FLOW_COUNT_ - 1, HELP("→ `flow`")),
    FIELD(edge, taken, U8, .key = 4, .max = 1)};

static const struct hp_row_field calls_fields[] = {LINK(call, caller, FUNCTION, .key = 1),
                                                   LINK(call, callee, FUNCTION, .key = 2)};

static const struct hp_row_field lines_fields[] = {
    INDEX(line, block, BLOCK, .key = 1),
    COLUMN(line, from, "start", U32, .key = 2, AT_MOST("stop")),
    COLUMN(line, to, "stop", U32, .key = 3),
    FIELD(line, file, STRING, .key = 4),
    FIELD(line, line, U32, .key = 5),
    FIELD(line, inlined, STRING, .key = 6, HELP("the function inlined here")),
    FIELD(line, inlined_at, STRING, .key = 7, HELP("\"file:line\"")),
    FIELD(line, insns, U32, .prefer = -1),
};

static enum hp_err check_line(const struct hp_profile *p, size_t i)
{
    const struct hp_pline *line = &p->lines[i];
    if (line->to > p->blocks[line->block].size)
        return hp_fail(HP_ERR_INVALID, "line %zu is of bytes %u to %u, outside its block", i,
                       line->from, line->to);
    return HP_OK;
}

/* --- Counters --------------------------------------------------------------------------------- */

static const struct hp_row_field block_counts_fields[] = {
    COUNTER(block_count, "block", BLOCK), SUM(block_count, count, HELP("executions"))};
static const struct hp_row_field edge_counts_fields[] = {COUNTER(edge_count, "edge", EDGE),
                                                         SUM(edge_count, count)};

static const struct hp_row_field function_counts_fields[] = {
    COUNTER(function_count, "function", FUNCTION),
    SUM(function_count, self, HELP("instructions")),
    SUM(function_count, inclusive, HELP("with callees, recursion once")),
    SUM(function_count, calls),
};

static const struct hp_row_field call_counts_fields[] = {
    COUNTER(call_count, "call", CALL), SUM(call_count, count), SUM(call_count, inclusive)};

static const struct hp_row_field contexts_fields[] = {
    LINK(context, parent, CONTEXT, .key = 1,
         HELP("the context it was called from; NULL: a thread or a signal handler began here")),
    LINK(context, function, FUNCTION, .key = 2),
};

static const struct hp_row_field context_counts_fields[] = {
    COUNTER(context_count, "context", CONTEXT),
    SUM(context_count, self, HELP("instructions, without those of contexts above")),
    SUM(context_count, calls, HELP("times it was entered")),
};

static const struct hp_row_field context_rests_fields[] = {
    COUNTER(context_rest, "context", CONTEXT),
    SUM(context_rest, instructions, HELP("of its `self`")),
    SUM(context_rest, calls, HELP("times those contexts were entered")),
};

/* --- Paths ------------------------------------------------------------------------------------ */

static const struct hp_row_field paths_fields[] = {
    FIELD(path, kind, STRING, .key = 1, HELP("the control register that found it")),
    PLACE(path, start, "", .key = 2),
    FIELD(path, length, U32, .key = 3, HELP("branches")),
    FIELD(path, outcomes, BITS, .key = 4, HELP("a bit a branch, the last is bit 0; 1: taken")),
    FIELD(path, targets, BITS, .key = 5,
          HELP("a hash of where its indirect branches went; 0 where that does not matter")),
    LINK(path, function, FUNCTION, .prefer = 1),
};

static enum hp_err check_path(const struct hp_profile *p, size_t i)
{
    const struct hp_ppath *path = &p->paths[i];
    if (path->length > HP_PATH_MAX_LENGTH || (path->length < 64 && path->outcomes >> path->length))
        return hp_fail(HP_ERR_INVALID, "path %zu has %u branches with outcomes 0x%llx", i,
                       path->length, (unsigned long long)path->outcomes);
    return HP_OK;
}

static const struct hp_row_field path_steps_fields[] = {
    INDEX(path_step, path, PATH, .key = 1),
    FIELD(path_step, position, U32, .key = 2, HELP("0, 1, …")),
    INDEX(path_step, block, BLOCK, .prefer = 1),
    FIELD(path_step, how, U8, .prefer = 2, .max = HP_STEP_END,
          HELP("→ `how`: the way it was left")),
};

static const struct hp_row_field path_counts_fields[] = {
    COUNTER(path_count, "path", PATH),
    SUM(path_count, count, HELP("executions")),
    COLUMN(path_count, insns, "instructions", U64, .join = HP_JOIN_SUM),
    SUM(path_count, events, HELP("of the metric that the kind names, else executions")),
};

static const struct hp_row_field path_times_fields[] = {
    INDEX(path_time, path, PATH, .key = 1),
    SUM(path_time, count, HELP("executions that were measured from begin to end")),
    COLUMN(path_time, insns, "instructions", U64, .join = HP_JOIN_SUM, HELP("in these")),
};

static const struct hp_row_field path_cycles_fields[] = {
    INDEX(path_cycles, path, PATH, .key = 1),
    FIELD(path_cycles, cause, U8, .key = 2, .max = HP_CAUSES - 1, HELP("→ `cause`")),
    SUM(path_cycles, parts, HELP("of a cycle: 720720 are one"))};

static const struct hp_row_field table_paths_fields[] = {
    COLUMN(table_path, table, "table_name", STRING, .key = 1,
           HELP("as in the part of its `model_stat`s, without \"hpt \"")),
    INDEX(table_path, path, PATH, .key = 2),
    SUM(table_path, events, HELP("that the table had counted for it")),
};

/* --- Models ----------------------------------------------------------------------------------- */

static const struct hp_row_field stats_fields[] = {
    FIELD(model_stat, part, TEXT, .key = 1),
    FIELD(model_stat, name, TEXT, .key = 2),
    FIELD(model_stat, unit, U8, .prefer = 1, .max = HP_STAT_SHARE,
          HELP("0: a count, 1: a size, 2: a share in thousandths of a percent")),
    FIELD(model_stat, value, U64),
};

static void join_stat(void *joint, const void *row)
{
    struct hp_pstat *sum = joint;
    const struct hp_pstat *stat = row;
    if (sum->unit == HP_STAT_COUNT)
        hp_add_up(&sum->value, stat->value);
    else if (sum->unit == HP_STAT_SIZE ? stat->value > sum->value : stat->value < sum->value)
        sum->value = stat->value;
}

#define SIGNED_SUM(row, member) FIELD(row, member, I64, .join = HP_JOIN_SUM)
static const struct hp_row_field predictions_fields[] = {
    FIELD(prediction, scheme, TEXT, .key = 1),
    FIELD(prediction, delay, U64, .key = 2, HELP("this and the rest: prediction.md")),
    SUM(prediction, flow),
    SUM(prediction, paths),
    SUM(prediction, heads),
    SUM(prediction, hot_paths),
    SUM(prediction, hot_flow),
    SUM(prediction, predicted),
    SUM(prediction, predicted_hot),
    SUM(prediction, hits),
    SUM(prediction, noise),
    SUM(prediction, missed),
    SUM(prediction, profiled),
    SIGNED_SUM(prediction, closed_hits),
    SIGNED_SUM(prediction, closed_noise),
    SIGNED_SUM(prediction, closed_missed),
    SUM(prediction, counters),
    SUM(prediction, operations),
    SUM(prediction, branches)};

/* --- Loops ------------------------------------------------------------------------------------ */

static const struct hp_row_field loops_fields[] = {
    LINK(loop, function, FUNCTION, .key = 1),
    PLACE(loop, header, "", .key = 2),
    FIELD(loop, version, U32, .key = 3, HELP("of the header's block")),
    LINK(loop, parent, LOOP, HELP("the loop it is nested in")),
    FIELD(loop, insns, U32, .join = HP_JOIN_MAX, HELP("static, with nested loops")),
    FIELD(loop, flags, U32, .max = HP_LOOP_IRREDUCIBLE, .join = HP_JOIN_MAX,
          HELP("1: irreducible")),
    FIELD(loop, file, STRING, .prefer = 1),
    FIELD(loop, first_line, U32, .prefer = 2, AT_MOST("last_line")),
    FIELD(loop, last_line, U32, .prefer = -3),
};

static enum hp_err check_loop(const struct hp_profile *p, size_t i)
{
    const struct hp_ploop *loop = &p->loops[i];
    if (loop->parent != HP_PROFILE_NONE && p->loops[loop->parent].function != loop->function)
        return hp_fail(HP_ERR_INVALID, "loop %zu is in loop %u of another function", i,
                       loop->parent);
    return HP_OK;
}

static const struct hp_row_field loop_counts_fields[] = {
    COUNTER(loop_count, "loop", LOOP),
    SUM(loop_count, executions, AT_MOST("iterations")),
    SUM(loop_count, iterations),
    SUM(loop_count, back_edges, AT_MOST("iterations")),
    FIELD(loop_count, min, U64, .join = HP_JOIN_MIN, AT_MOST("max"),
          HELP("iterations of an execution")),
    FIELD(loop_count, max, U64, .join = HP_JOIN_MAX, AT_MOST("iterations")),
    SUM(loop_count, self, HELP("instructions, with nested loops")),
    SUM(loop_count, inclusive, HELP("with callees, too")),
    SUM(loop_count, same, AT_MOST("executions"),
        HELP("executions with as many iterations as the one before")),
    SUM(loop_count, stride, AT_MOST("executions"), HELP("or that changed by as much")),
    SUM(loop_count, interrupted, AT_MOST("executions"), HELP("still going on at the end")),
};

static enum hp_err check_loop_count(const struct hp_profile *p, size_t i)
{
    const struct hp_ploop_count *count = &p->loop_counts[i];
    if (count->executions == 0 && count->max > 0)
        return hp_fail(HP_ERR_INVALID, "loop counter %zu has max %llu without executions", i,
                       (unsigned long long)count->max);
    return HP_OK;
}

static const struct hp_row_field loop_trips_fields[] = {
    INDEX(loop_trips, loop, LOOP, .key = 1),
    FIELD(loop_trips, bucket, U8, .key = 2, .max = 1,
          HELP("1: 2^value up to below 2^(value+1) iterations, complete; 0: exactly so many, the "
               "16 most frequent ones")),
    FIELD(loop_trips, value, U64, .key = 3),
    SUM(loop_trips, count, HELP("executions")),
};

static enum hp_err check_loop_trips(const struct hp_profile *p, size_t i)
{
    const struct hp_ploop_trips *trips = &p->loop_trips[i];
    if (trips->bucket ? trips->value > 63 : trips->value == 0)
        return hp_fail(HP_ERR_INVALID, "trip count %zu is of loop %u, %s %llu, which cannot be", i,
                       trips->loop, trips->bucket ? "bucket" : "value",
                       (unsigned long long)trips->value);
    return HP_OK;
}

static const struct hp_row_field loop_blocks_fields[] = {INDEX(loop_block, loop, LOOP, .key = 1),
                                                         INDEX(loop_block, block, BLOCK, .key = 2)};

static const struct hp_row_field model_loops_fields[] = {
    FIELD(model_loop, model, STRING, .key = 1),
    PLACE(model_loop, branch, "branch_", .key = 2, HELP("of its short backward branch")),
    PLACE(model_loop, target, "target_", .key = 3),
    LINK(model_loop, function, FUNCTION, .prefer = 2),
    LINK(model_loop, loop, LOOP, .prefer = 1, HELP("the exact one that it closes")),
    SUM(model_loop, executions),
    FIELD(model_loop, average, U64, .join = HP_JOIN_MEAN, .weight = "executions",
          HELP("thousandths of a back edge an execution")),
    SUM(model_loop, iterations, HELP("back edges")),
    SUM(model_loop, instructions, HELP("estimated")),
};

/* --- Hot spots -------------------------------------------------------------------------------- */

static const struct hp_row_field hotspots_fields[] = {
    FIELD(hotspot, run, U32, .key = 1, HELP("0; in merged profiles, of which run")),
    FIELD(hotspot, detector, STRING, .key = 2),
    FIELD(hotspot, number, U32, .key = 3, HELP("in the order of detection")),
    FIELD(hotspot, pid, I32, .key = 4),
    FIELD(hotspot, at_branches, U64, .key = 5, HELP("executed when it was detected")),
    FIELD(hotspot, at_instructions, U64, .key = 6),
    FIELD(hotspot, insns, U32, .prefer = -3, HELP("static, of its region")),
    FIELD(hotspot, total, U64, .prefer = -1,
          HELP("instructions executed in its region in the whole run")),
    FIELD(hotspot, after, U64, .prefer = -2, AT_MOST("total"),
          HELP("of these, since it was detected")),
};

static const struct hp_row_field hotspot_branches_fields[] = {
    INDEX(hotspot_branch, hotspot, HOTSPOT, .key = 1),
    PLACE(hotspot_branch, branch, "", .key = 2),
    FIELD(hotspot_branch, flow, U8, .key = 3, .max = HP_FLOW_COUNT_ - 1, HELP("→ `flow`")),
    FIELD(hotspot_branch, executed, U32, .join = HP_JOIN_SUM,
          HELP("its counters when it was detected")),
    FIELD(hotspot_branch, taken, U32, .join = HP_JOIN_SUM, AT_MOST("executed")),
};

static const struct hp_row_field hotspot_blocks_fields[] = {
    INDEX(hotspot_block, hotspot, HOTSPOT, .key = 1), INDEX(hotspot_block, block, BLOCK, .key = 2)};

static const struct hp_row_field hotspot_slices_fields[] = {
    INDEX(hotspot_slice, hotspot, HOTSPOT, .key = 1),
    FIELD(hotspot_slice, slice, U32, .key = 2, HELP("0, 1, …")),
    FIELD(hotspot_slice, width, U64, .key = 3, .positive = true,
          HELP("instructions of the run in a slice; the last slice may be shorter")),
    SUM(hotspot_slice, instructions, HELP("executed in the region, since its detection")),
};

/* --- Instructions ----------------------------------------------------------------------------- */

static const struct hp_row_field insns_fields[] = {
    PLACE(insn, place, "", .key = 1),
    FIELD(insn, version, U32, .key = 2, HELP("of its block")),
    LINK(insn, function, FUNCTION, .prefer = 1),
    FIELD(insn, length, U32, .prefer = 2, HELP("bytes")),
    FIELD(insn, flow, U8, .prefer = 3, .max = HP_FLOW_COUNT_ - 1, HELP("→ `flow`")),
    FIELD(insn, op, U8, .prefer = 4, .max = HP_OP_COUNT_ - 1, HELP("class")),
    FIELD(insn, text, STRING, .key = 3, HELP("disassembled")),
    FIELD(insn, file, STRING, .prefer = 5),
    FIELD(insn, line, U32, .prefer = 6),
    FIELD(insn, inlined, STRING, .prefer = 7),
};

#define TALLY(member, column, ...)                                                                 \
    COLUMN(insn_tally, tally.member, column, U64, .join = HP_JOIN_SUM, __VA_ARGS__)
#define EVENT(column, event)   TALLY(events[HP_INSN_##event], column, AT_MOST("retired"))
#define STAGE(column, stage)   TALLY(stages[HP_STAGE_##stage], column)
#define SQUARES(column, stage) TALLY(stage_squares[HP_STAGE_##stage], column)
static const struct hp_row_field insn_tallies_fields[] = {
    FIELD(insn_tally, seen, STRING, .key = 1, HELP("\"exact\", or the name of a sampler")),
    INDEX(insn_tally, insn, INSN, .key = 2),
    TALLY(fetched, "fetched", HELP("all of the following three")),
    TALLY(retired, "retired", AT_MOST("fetched")),
    TALLY(wrong_path, "wrong_path", AT_MOST("fetched")),
    TALLY(trapped, "trapped", AT_MOST("fetched")),
    EVENT("l1i", L1I),
    EVENT("itlb", ITLB),
    EVENT("l1d", L1D),
    EVENT("l2", L2),
    EVENT("l3", L3),
    EVENT("dtlb", DTLB),
    EVENT("taken", TAKEN),
    EVENT("mispredicted", MISPREDICTED),
    EVENT("btb", BTB),
    EVENT("forwarded", FORWARDED),
    EVENT("blocked", BLOCKED),
    EVENT("no_reorder", NO_REORDER),
    EVENT("no_queue", NO_QUEUE),
    EVENT("no_memory_queue", NO_MEMORY_QUEUE),
    EVENT("no_register", NO_REGISTER),
    EVENT("unit_busy", UNIT_BUSY),
    STAGE("map_cycles", MAP),
    STAGE("operands_cycles", OPERANDS),
    STAGE("issue_cycles", ISSUE),
    STAGE("execute_cycles", EXECUTE),
    STAGE("retire_cycles", RETIRE),
    STAGE("load_cycles", LOAD),
    SQUARES("map_squares", MAP),
    SQUARES("operands_squares", OPERANDS),
    SQUARES("issue_squares", ISSUE),
    SQUARES("execute_squares", EXECUTE),
    SQUARES("retire_squares", RETIRE),
    SQUARES("load_squares", LOAD),
    SUM(insn_tally, pairs, HELP("this and the rest: of a paired sampler")),
    SUM(insn_tally, progress),
    SUM(insn_tally, useful, AT_MOST("pairs")),
    SUM(insn_tally, near, AT_MOST("pairs"))};

static const struct hp_row_field insn_cycles_fields[] = {
    INDEX(insn_cycles, insn, INSN, .key = 1),
    FIELD(insn_cycles, cause, U8, .key = 2, .max = HP_CAUSES - 1, HELP("→ `cause`")),
    SUM(insn_cycles, parts, HELP("of a cycle: 720720 are one"))};

static const struct hp_row_field attributions_fields[] = {
    FIELD(attribution, scheme, STRING, .key = 1, HELP("\"dispatch\", \"next\", \"profileme\"")),
    INDEX(attribution, insn, INSN, .key = 2), SUM(attribution, weight, HELP("in its own unit"))};

static const struct hp_row_field waits_fields[] = {
    INDEX(wait, insn, INSN, .key = 1), INDEX(wait, producer, INSN, .key = 2),
    SUM(wait, count, HELP("executions")), SUM(wait, cycles, HELP("from map to data ready"))};

static const struct hp_row_field insn_overlaps_fields[] = {
    INDEX(insn_overlap, insn, INSN, .key = 1),
    FIELD(insn_overlap, seen, STRING, .key = 2, HELP("the name of a sampler")),
    FIELD(insn_overlap, measure, STRING, .key = 3, HELP("as \"around\", \"busy mul\"")),
    SUM(insn_overlap, pairs, HELP("that it is part of")),
    SUM(insn_overlap, sum, HELP("of the measure, over these")),
    SUM(insn_overlap, squares)};

#define SAME(member, column, ...)                                                                  \
    COLUMN(sampler, member, column, U64, .join = HP_JOIN_EQUAL, __VA_ARGS__)
static const struct hp_row_field samplers_fields[] = {
    FIELD(sampler, name, TEXT, .key = 1),
    SAME(interval, "interval", .positive = true, HELP("mean")),
    SAME(window, "pair_window", HELP("0: single samples")),
    SAME(width, "width", HELP("issue slots of a cycle")),
    SAME(near, "near"),
    SUM(sampler, samples),
    SUM(sampler, empty),
    SUM(sampler, lost),
    SUM(sampler, interrupts),
    SUM(sampler, cost, HELP("cycles")),
    FIELD(sampler, scale, U64, .positive = true, .join = HP_JOIN_MEAN, .weight = "samples",
          HELP("thousandths: what estimates are multiplied by because only windows were observed")),
};

static const struct hp_row_field windows_fields[] = {
    INDEX(window, thread, THREAD, .key = 1),
    FIELD(window, at, U64, .key = 2, HELP("instructions of the thread before it")),
    SUM(window, instructions, HELP("measured in it")), SUM(window, cycles)};

static const struct hp_row_field traces_events_fields[] = {
    FIELD(traces_event, run, U32, .key = 1, HELP("0; in merged profiles, of which run")),
    FIELD(traces_event, process, U32, .key = 2, HELP("the engine's number for it")),
    FIELD(traces_event, ns, U64, .key = 3, HELP("since the process began")),
    FIELD(
        traces_event, kind, STRING, .key = 4,
        HELP("\"full\" or \"phase\": flushed because of that; \"bail-out\"; \"hot-spot\": one was "
             "detected")),
    FIELD(traces_event, traces, U64, .key = 5,
          HELP("made by the process so far, or for the hot spot")),
    FIELD(traces_event, bytes, U64, .prefer = 1,
          HELP("of those dropped, kept by a bail-out, or made for the hot spot")),
    FIELD(traces_event, hotspot, U32, .key = 6, HELP("its number + 1; 0: it is about none")),
    FIELD(traces_event, insns_before, U64, .prefer = 2,
          HELP("executed since the detection before it, or the start")),
    FIELD(traces_event, traced_before, U64, .prefer = 3, AT_MOST("insns_before"),
          HELP("of these, in traces")),
    FIELD(traces_event, insns_after, U64, .prefer = 4,
          HELP("executed until the next detection, or the end")),
    FIELD(traces_event, traced_after, U64, .prefer = 5, AT_MOST("insns_after"),
          HELP("of these, in traces")),
};

static const struct hp_row_field thread_names_fields[] = {
    INDEX(thread_name, thread, THREAD, .key = 1),
    FIELD(thread_name, parent, I32, HELP("pid of the process that forked its own; 0: none")),
    FIELD(thread_name, name, TEXT),
    FIELD(thread_name, command, TEXT, HELP("of its process, or the beginning of it")),
};

static const struct hp_row_field thread_times_fields[] = {
    INDEX(thread_time, thread, THREAD, .key = 1),
    FIELD(thread_time, ns, U64, HELP("from its beginning to its end")),
};

static const struct hp_row_field syscalls_fields[] = {
    LINK(syscall, context, CONTEXT, .key = 1, HELP("it was made in; NULL: not known")),
    LINK(syscall, function, FUNCTION, .key = 2, HELP("that has the instruction")),
    INDEX(syscall, thread, THREAD, .key = 3),
    FIELD(syscall, number, U32, .key = 4, HELP("of the architecture")),
    SUM(syscall, calls),
    SUM(syscall, timed, AT_MOST("calls"), HELP("those whose time is known")),
    SUM(syscall, unfinished, AT_MOST("calls"), HELP("not over at the end of the thread")),
    SUM(syscall, errors, AT_MOST("calls"), HELP("that returned an error")),
    SUM(syscall, ns, HELP("from the calls to their returns")),
    FIELD(syscall, max_ns, U64, .join = HP_JOIN_MAX, AT_MOST("ns"), HELP("the longest")),
};

static const struct hp_row_field inlined_fields[] = {
    FIELD(inlined, name, TEXT, .key = 1, HELP("demangled")),
    FIELD(inlined, linkage, TEXT, .key = 2, HELP("as in a symbol table")),
    FIELD(inlined, file, STRING, .key = 3, HELP("where it is declared")),
    FIELD(inlined, line, U32, .key = 4),
};

static const struct hp_row_field inlined_ranges_fields[] = {
    INDEX(inlined_range, block, BLOCK, .key = 1),
    COLUMN(inlined_range, from, "start", U32, .key = 2),
    COLUMN(inlined_range, to, "stop", U32, .key = 3),
    FIELD(inlined_range, depth, U32, .key = 4,
          HELP("1: inlined into the block's function, 2: into that of depth 1, …")),
    INDEX(inlined_range, inlined, INLINED, .key = 5),
    FIELD(inlined_range, entry, BITS, .key = 6,
          HELP("offset of its first instruction at this place")),
    FIELD(inlined_range, call_file, STRING, .key = 7, HELP("where it is called")),
    FIELD(inlined_range, call_line, U32, .key = 8),
    FIELD(inlined_range, insns, U32, .prefer = -1),
};

static enum hp_err check_inlined_range(const struct hp_profile *p, size_t i)
{
    const struct hp_pinlined_range *range = &p->inlined_ranges[i];
    if (range->from >= range->to || range->to > p->blocks[range->block].size)
        return hp_fail(HP_ERR_INVALID, "inlined range %zu is of bytes %u to %u of its block", i,
                       range->from, range->to);
    return HP_OK;
}

/* --- Samples ---------------------------------------------------------------------------------- */

#define SAMPLES(row, what)                                                                         \
    SUM(row, samples, HELP("that show it")), SUM(row, sum, HELP(what " in all of them")),          \
        SUM(row, squares, HELP("of what each shows"))
static const struct hp_row_field function_samples_fields[] = {
    COLUMN(function_samples, item, "function", INDEX, .to = HP_ROW_FUNCTION, .key = 1),
    SAMPLES(function_samples, "instructions"),
};
static const struct hp_row_field block_samples_fields[] = {
    COLUMN(block_samples, item, "block", INDEX, .to = HP_ROW_BLOCK, .key = 1),
    SAMPLES(block_samples, "executions"),
};
static const struct hp_row_field edge_samples_fields[] = {
    COLUMN(edge_samples, item, "edge", INDEX, .to = HP_ROW_EDGE, .key = 1),
    SAMPLES(edge_samples, "executions"),
};
static const struct hp_row_field path_samples_fields[] = {
    COLUMN(path_samples, item, "path", INDEX, .to = HP_ROW_PATH, .key = 1),
    SAMPLES(path_samples, "executions"),
};
static const struct hp_row_field loop_samples_fields[] = {
    COLUMN(loop_samples, item, "loop", INDEX, .to = HP_ROW_LOOP, .key = 1),
    SAMPLES(loop_samples, "iterations"),
};

static const struct hp_row_field loops_seen_fields[] = {
    INDEX(loop_seen, loop, LOOP, .key = 1),
    FIELD(loop_seen, whole, U8, .key = 2, .max = 1,
          HELP("1: from begin to end; 0: its begin or end was not seen")),
    FIELD(loop_seen, iterations, U64, .key = 3, .positive = true, HELP("exactly, or at least")),
    SUM(loop_seen, count, HELP("executions, not scaled to the run")),
};

static const struct hp_row_field run_cycles_fields[] = {
    INDEX(run_cycles, first, BLOCK, .key = 1, HELP("where control came to")),
    INDEX(run_cycles, last, BLOCK, .key = 2, HELP("that the next taken branch ends")),
    SUM(run_cycles, count, HELP("times that the cycles are known, not scaled to the run")),
    SUM(run_cycles, cycles),
    SUM(run_cycles, squares),
    FIELD(run_cycles, min, U64, .join = HP_JOIN_MIN, AT_MOST("max"), HELP("cycles")),
    FIELD(run_cycles, max, U64, .join = HP_JOIN_MAX, AT_MOST("cycles"), HELP("cycles")),
    SUM(run_cycles, unknown, HELP("times that they were not recorded")),
};

static const struct hp_row_field notes_fields[] = {
    FIELD(note, kind, TEXT, .key = 1), FIELD(note, text, TEXT, .key = 2), SUM(note, count)};

/* --- All -------------------------------------------------------------------------------------- */

/* Where the array of a kind is in the profile, and its fields. */
#define ROWS(member)                                                                               \
    .array = offsetof(struct hp_profile, member), .n = offsetof(struct hp_profile, n_##member),    \
    .size = sizeof *((struct hp_profile *)0)->member, .fields = member##_fields,                   \
    .n_fields = sizeof member##_fields / sizeof *member##_fields
/* The table, one row, many, and what a row stands for. */
#define NAMES(name)    name, name, name "s"
#define COUNTERS(name) name "_count", name " counter", name " counters", name " and thread"
#define ID             .has_id = true
#define LATER          .later = true
#define NOT_ZERO       .drop_zero = true

const struct hp_row_format hp_row_formats[HP_ROW_KINDS] = {
    [HP_ROW_MODULE] = {NAMES("module"), "a file with code", ROWS(modules), ID},
    [HP_ROW_THREAD] = {NAMES("thread"), "a thread", ROWS(threads), ID},
    [HP_ROW_FUNCTION] = {NAMES("function"), "a function", ROWS(functions), ID},
    [HP_ROW_BLOCK] = {NAMES("block"), "a basic block", ROWS(blocks), ID},
    [HP_ROW_EDGE] = {NAMES("edge"), "a control transfer that happened", ROWS(edges), ID},
    [HP_ROW_CALL] = {NAMES("call"), "a pair of functions, one calling the other", ROWS(calls), ID},
    [HP_ROW_LINE] = {NAMES("line"), "a byte range of a block", ROWS(lines), .check = check_line},
    [HP_ROW_BLOCK_COUNT] = {COUNTERS("block"), ROWS(block_counts), NOT_ZERO},
    [HP_ROW_EDGE_COUNT] = {COUNTERS("edge"), ROWS(edge_counts), NOT_ZERO},
    [HP_ROW_FUNCTION_COUNT] = {COUNTERS("function"), ROWS(function_counts), NOT_ZERO},
    [HP_ROW_CALL_COUNT] = {COUNTERS("call"), ROWS(call_counts), NOT_ZERO},
    [HP_ROW_CONTEXT] = {"context", "context", "calling contexts",
                        "a calling context: a function, and who called whom up to it",
                        ROWS(contexts), ID, LATER},
    [HP_ROW_CONTEXT_COUNT] = {COUNTERS("context"), ROWS(context_counts), LATER, NOT_ZERO},
    [HP_ROW_CONTEXT_REST] =
        {"context_rest", "rest", "rests of contexts",
         "a context below which there were others, beyond the limit, that count "
         "in it",
         ROWS(context_rests), LATER, NOT_ZERO},
    [HP_ROW_PATH] = {NAMES("path"), "a path that was executed", ROWS(paths), ID, LATER,
                     .check = check_path},
    [HP_ROW_PATH_STEP] = {"path_step", "step", "steps of paths",
                          "a block along a path; only the heaviest 10,000 paths of a kind, and "
                          "those in tables, have them",
                          ROWS(path_steps), LATER},
    [HP_ROW_PATH_COUNT] = {COUNTERS("path"), ROWS(path_counts), LATER, NOT_ZERO},
    [HP_ROW_PATH_TIME] = {"path_time", "time of a path", "times of paths",
                          "a path whose cycles a machine measured; all threads together",
                          ROWS(path_times), LATER, NOT_ZERO},
    [HP_ROW_PATH_CYCLES] = {"path_cycles", "cycles of a path", "cycles of paths",
                            "path and cause: of the executions in `path_time`", ROWS(path_cycles),
                            LATER, NOT_ZERO},
    [HP_ROW_TABLE_PATH] = {"table_path", "path of a table", "paths of tables",
                           "a path that was in a hot path table at the end", ROWS(table_paths),
                           LATER},
    [HP_ROW_STAT] = {"model_stat", "stat", "stats",
                     "something a model counted: a path profiler, a hot path table, a machine",
                     ROWS(stats), ID, LATER, .join = join_stat},
    [HP_ROW_PREDICTION] = {NAMES("prediction"), "a prediction scheme that was measured",
                           ROWS(predictions), ID, LATER},
    [HP_ROW_LOOP] = {NAMES("loop"), "a loop ([loops.md](loops.md))", ROWS(loops), ID, LATER,
                     .check = check_loop},
    [HP_ROW_LOOP_COUNT] = {COUNTERS("loop"), ROWS(loop_counts), LATER, NOT_ZERO,
                           .check = check_loop_count},
    [HP_ROW_LOOP_TRIPS] = {"loop_trip", "trip count", "trip counts of loops",
                           "a number of iterations of a loop's executions, all threads together",
                           ROWS(loop_trips), LATER, NOT_ZERO, .check = check_loop_trips},
    [HP_ROW_LOOP_BLOCK] = {"loop_block", "block of a loop", "blocks of loops",
                           "a block of a loop, not of one nested in it", ROWS(loop_blocks), LATER},
    [HP_ROW_MODEL_LOOP] = {"model_loop", "loop of a model", "loops of models",
                           "a loop as a model of hardware reports it", ROWS(model_loops), ID,
                           LATER},
    [HP_ROW_HOTSPOT] = {"hotspot", "hot spot", "hot spots",
                        "a hot spot that was detected ([hotspots.md](hotspots.md))", ROWS(hotspots),
                        ID, LATER},
    [HP_ROW_HOTSPOT_BRANCH] = {"hotspot_branch", "branch of a hot spot", "branches of hot spots",
                               "a candidate branch of a hot spot", ROWS(hotspot_branches), ID,
                               LATER},
    [HP_ROW_HOTSPOT_BLOCK] = {"hotspot_block", "block of a hot spot", "blocks of hot spots",
                              "a block of a hot spot's region", ROWS(hotspot_blocks), LATER},
    [HP_ROW_HOTSPOT_SLICE] = {"hotspot_slice", "slice of a hot spot", "slices of hot spots",
                              "a slice of the run in which a hot spot was executed",
                              ROWS(hotspot_slices), LATER, NOT_ZERO},
    [HP_ROW_INSN] = {"insn", "instruction", "instructions",
                     "an instruction that a machine in cycles fetched "
                     "([instructions.md](instructions.md))",
                     ROWS(insns), ID, LATER},
    [HP_ROW_INSN_TALLY] = {"insn_tally", "tally", "tallies of instructions",
                           "an instruction, as it was seen; all threads together",
                           ROWS(insn_tallies), LATER, NOT_ZERO},
    [HP_ROW_INSN_CYCLES] = {"insn_cycles", "cycles", "cycles of instructions",
                            "instruction and cause", ROWS(insn_cycles), LATER, NOT_ZERO},
    [HP_ROW_ATTRIBUTION] = {NAMES("attribution"), "a way of sampling and an instruction",
                            ROWS(attributions), LATER, NOT_ZERO},
    [HP_ROW_WAIT] = {"insn_wait", "wait", "waits of instructions",
                     "two instructions, one waiting for the result of the other", ROWS(waits),
                     LATER, NOT_ZERO},
    [HP_ROW_SAMPLER] = {NAMES("sampler"), "a sampler", ROWS(samplers), ID, LATER},
    [HP_ROW_WINDOW] = {"cycle_window", "window", "windows",
                       "a window of a run that was not observed completely in cycles",
                       ROWS(windows), LATER, NOT_ZERO},
    [HP_ROW_TRACES_EVENT] = {"traces_event", "event of traces", "events of traces",
                             "something that happened to the traces of the native engine",
                             ROWS(traces_events), ID, LATER},
    [HP_ROW_THREAD_NAME] = {"thread_name", "name", "names of threads", "a thread that has a name",
                            ROWS(thread_names), LATER},
    [HP_ROW_THREAD_TIME] = {"thread_time", "time", "times of threads",
                            "a thread whose time is known", ROWS(thread_times), LATER, NOT_ZERO},
    [HP_ROW_SYSCALL] = {"syscall", "system call", "system calls",
                        "a system call by number, thread and place ([syscalls.md](syscalls.md))",
                        ROWS(syscalls), ID, LATER},
    [HP_ROW_INLINED] = {"inlined", "inlined function", "inlined functions",
                        "a function that was inlined somewhere", ROWS(inlined), ID, LATER},
    [HP_ROW_INLINED_RANGE] = {"inlined_range", "range of an inlined function",
                              "ranges of inlined functions",
                              "a byte range of a block, and a function that was inlined there",
                              ROWS(inlined_ranges), LATER, .check = check_inlined_range},
    [HP_ROW_FUNCTION_SAMPLES] =
        {"function_sample", "samples of a function", "samples of functions",
         "a function of a profile that is estimated from samples: what they show",
         ROWS(function_samples), LATER, NOT_ZERO},
    [HP_ROW_BLOCK_SAMPLES] = {"block_sample", "samples of a block", "samples of blocks",
                              "a block of a profile that is estimated from samples: what they show",
                              ROWS(block_samples), LATER, NOT_ZERO},
    [HP_ROW_EDGE_SAMPLES] = {"edge_sample", "samples of an edge", "samples of edges",
                             "an edge of a profile that is estimated from samples: what they show",
                             ROWS(edge_samples), LATER, NOT_ZERO},
    [HP_ROW_PATH_SAMPLES] = {"path_sample", "samples of a path", "samples of paths",
                             "a path of a profile that is estimated from samples: what they show",
                             ROWS(path_samples), LATER, NOT_ZERO},
    [HP_ROW_LOOP_SAMPLES] = {"loop_sample", "samples of a loop", "samples of loops",
                             "a loop of a profile that is estimated from samples: what they show",
                             ROWS(loop_samples), LATER, NOT_ZERO},
    [HP_ROW_LOOP_SEEN] = {"loop_seen", "execution of a loop that was seen",
                          "executions of loops that were seen",
                          "executions of a loop that samples show", ROWS(loops_seen), LATER,
                          NOT_ZERO},
    [HP_ROW_RUN_CYCLES] =
        {"run_cycle", "cycles of a run", "cycles of runs",
         "a run of blocks between two taken branches of samples: cycles from one to the other",
         ROWS(run_cycles), LATER, NOT_ZERO},
    [HP_ROW_INSN_OVERLAP] = {"insn_overlap", "overlap", "overlaps of instructions",
                             "how an instruction overlapped with others, in pairs of samples",
                             ROWS(insn_overlaps), LATER, NOT_ZERO},
    [HP_ROW_NOTE] = {NAMES("note"), "something to know about the data", ROWS(notes), ID},
};

/* --- All rows of a kind ----------------------------------------------------------------------- */

struct hp_row_array hp_profile_rows(struct hp_profile *p, enum hp_row_kind kind)
{
    const struct hp_row_format *format = &hp_row_formats[kind];
    struct hp_row_array rows = {.format = format,
                                .array = (char *)p + format->array,
                                .n = (size_t *)(void *)((char *)p + format->n),
                                .capacity = p->memory ? &p->memory->capacity[kind] : NULL};
    memcpy(&rows.items, rows.array, sizeof rows.items);
    return rows;
}

size_t hp_profile_n_rows(const struct hp_profile *p, enum hp_row_kind kind)
{
    return *(const size_t *)(const void *)((const char *)p + hp_row_formats[kind].n);
}

const void *hp_profile_row(const struct hp_profile *p, enum hp_row_kind kind, size_t i)
{
    const char *items;
    memcpy(&items, (const char *)p + hp_row_formats[kind].array, sizeof items);
    return i ? items + i * hp_row_formats[kind].size : items; /* there may be none */
}

const struct hp_row_field *hp_row_column(enum hp_row_kind kind, const char *name)
{
    const struct hp_row_format *format = &hp_row_formats[kind];
    for (size_t i = 0; i < format->n_fields; i++)
        if (strcmp(format->fields[i].name, name) == 0)
            return &format->fields[i];
    return NULL;
}

/* --- One value -------------------------------------------------------------------------------- */

const char *hp_row_text(const struct hp_row_field *field, const void *row)
{
    const char *text;
    memcpy(&text, (const char *)row + field->offset, sizeof text);
    return text ? text : "";
}

uint32_t *hp_row_index(const struct hp_row_field *field, void *row)
{
    return (uint32_t *)(void *)((char *)row + field->offset);
}

void hp_row_set_text(const struct hp_row_field *field, void *row, const char *text)
{
    memcpy((char *)row + field->offset, &text, sizeof text);
}
