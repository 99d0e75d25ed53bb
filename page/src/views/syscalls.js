// SPDX-License-Identifier: MIT
// System calls: how often, how long by the clock, and which call paths led to them.
import { card, facts, h } from "../dom.js";
import { bar, count, duration, many, share } from "../format.js";
import { grid } from "../grid.js";
import { pane } from "../pane.js";
import { functionLink } from "./functions.js";

const MOST_PATHS = 20, MOST_FUNCTIONS = 12; // shown at first

const time = (ns, timed) => (timed > 0 ? duration(ns) : "");

function callerCell(model, name) {
    const row = model.functionRow(name);
    return row === undefined ? name : h("span", { class: "name", title: name }, model.brief(row));
}

function columns(model) {
    const { syscalls } = model.data;
    const most = syscalls.reduce((greatest, call) => Math.max(greatest, call.share ?? 0), 0);
    const failed = syscalls.some((call) => call.errors > 0);
    const of = (key) => (row) => syscalls[row][key] ?? 0;
    return [
        most > 0 && { label: "Share", number: true, width: "8.5rem", value: of("share"), cell: (row) => bar(syscalls[row].share ?? 0, null, most), title: "Of the time of all threads, from their beginning to their end" },
        { label: "Call", value: of("call"), cell: (row) => h("span", { class: "name" }, syscalls[row].call) },
        { label: "Time", number: true, width: "6rem", value: of("ns"), cell: (row) => time(syscalls[row].ns, syscalls[row].timed), title: "From the calls to their returns, by the clock" },
        { label: "Calls", number: true, width: "6rem", value: of("calls"), cell: (row) => count(syscalls[row].calls) },
        failed && { label: "Errors", number: true, low: true, width: "6rem", value: of("errors"), cell: (row) => (syscalls[row].errors ? count(syscalls[row].errors) : ""), title: "Calls that returned an error" },
        { label: "Mean", number: true, low: true, width: "6rem", value: of("mean_ns"), cell: (row) => time(syscalls[row].mean_ns, syscalls[row].timed) },
        { label: "Longest", number: true, low: true, width: "6rem", value: of("max_ns"), cell: (row) => time(syscalls[row].max_ns, syscalls[row].timed) },
        { label: "Most for", low: true, width: "22rem", most: "36cqw", value: of("caller"), cell: (row) => callerCell(model, syscalls[row].caller), title: "The function outside the C library that most of the time was spent for" },
    ].filter(Boolean);
}

// The functions of a path, the one that made the call first.
function pathItem(model, path, all, most) {
    const inner = [...path.path].reverse();
    const shown = inner.slice(0, MOST_FUNCTIONS);
    const value = path.timed ? path.ns : path.calls;
    return h("li", null, h("p", null, bar(value / (all || 1), null, most / (all || 1)), h("span", { class: "note" }, [` ${many(path.calls, "call")}`, path.timed > 0 && duration(path.ns), path.errors > 0 && many(path.errors, "error")].filter(Boolean).join(", "))),
        h("p", { class: "chips" }, shown.map((f) => functionLink(model, f)), inner.length > shown.length && h("span", { class: "note" }, `and ${many(inner.length - shown.length, "more function")} above`)));
}

function pathsCard(model, call) {
    const paths = model.data.syscall_paths.filter(({ number }) => number === call.number);
    const weight = (path) => (call.timed ? path.ns : path.calls);
    const all = call.timed ? call.ns : call.calls;
    const most = paths.reduce((greatest, path) => Math.max(greatest, weight(path)), 0);
    const list = h("ol", { class: "items" }, paths.slice(0, MOST_PATHS).map((path) => pathItem(model, path, all, most)));
    return paths.length > 0 && card("Call paths, the innermost function first", null, list, paths.length > MOST_PATHS && h("p", { class: "note" }, `and ${many(paths.length - MOST_PATHS, "more path")}`));
}

function show(model, row) {
    const call = model.data.syscalls[row];
    const caller = model.functionRow(call.caller);
    return {
        title: call.call,
        body: h("div", null,
            facts([
                ["Calls", count(call.calls)],
                call.timed > 0 && ["Time", `${duration(call.ns)}${call.share === null ? "" : ` (${share(call.share)} of that of all threads)`}`],
                call.timed > 0 && ["Mean", duration(call.mean_ns)],
                call.timed > 0 && ["Longest", duration(call.max_ns)],
                call.errors > 0 && ["Errors", count(call.errors)],
                call.unfinished > 0 && ["Had not returned", count(call.unfinished)],
                call.caller && ["Most for", caller === undefined ? call.caller : functionLink(model, caller)],
            ]),
            pathsCard(model, call)),
    };
}

export const syscallsView = {
    id: "syscalls", label: "System calls", item: "syscall", size: (model) => model.data.syscalls.length,
    present: (model) => model.data.syscalls.length > 0,
    create(model, go) {
        const { syscalls } = model.data;
        const list = grid({
            label: "System calls, those with most time first", noun: ["system call", "system calls"], columns: columns(model), rows: syscalls.length,
            search: (query) => (row) => `${syscalls[row].call}\n${syscalls[row].caller}`.toLowerCase().includes(query), open: (row) => go(`syscall/${row}`),
        });
        return pane(list, (row) => show(model, row), () => go("syscalls"));
    },
};
