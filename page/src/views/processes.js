// SPDX-License-Identifier: MIT
// Processes and their threads, by name; and what each executed.
import { card, facts, h } from "../dom.js";
import { bar, count, many, share } from "../format.js";
import { functionColour } from "../colours.js";
import { grid } from "../grid.js";
import { pane } from "../pane.js";
import { countsOf, processesOf, processesOfPid, splitsOf, threadsOf } from "../processes.js";
import { functionCell, functionSearch } from "./functions.js";

const MOST_OF_PID = 4;

// Rows of the list: processes, then threads; those of a process that has several are nested in it.
function rowsOf(model) {
    return model.once("rows of processes", () => [...processesOf(model).map((process) => ({ process, of: process, thread: null })), ...threadsOf(model).map((thread) => ({ process: thread.process, of: thread, thread }))]);
}

export const processName = (model, row) => rowsOf(model)[row].of.name;

// The report's shares have six decimals, which may be none of a process.
const shareOf = (model, of) => of.instructions / (model.total || 1);

// How much of its time a thread is in system calls, or the only one of a process; null: not known.
function waiting(model, row) {
    const { thread, process } = rowsOf(model)[row];
    const only = thread ?? (process.threads.length === 1 ? model.data.threads[process.threads[0]] : null);
    return only?.in_syscalls ?? null;
}

/** A process, as a link to what it executed. */
const processLink = (process) => h("a", { href: `#process/${process.row}`, class: "name", title: process.command || process.name }, process.name);

function columns(model) {
    const rows = rowsOf(model);
    const several = model.data.processes.length > 1;
    const most = (several ? processesOf(model) : threadsOf(model)).reduce((greatest, part) => Math.max(greatest, shareOf(model, part)), 0);
    return [
        { label: "Share", number: true, width: "8.5rem", value: (row) => rows[row].of.instructions, cell: (row) => bar(shareOf(model, rows[row].of), null, most), title: "Of all instructions" },
        { label: "Name", value: (row) => rows[row].of.name, cell: (row) => h("span", { class: "name", title: rows[row].of.name }, rows[row].of.name) },
        { label: "Instructions", number: true, low: true, width: "9rem", value: (row) => rows[row].of.instructions, cell: (row) => count(rows[row].of.instructions) },
        several && { label: "Threads", number: true, low: true, width: "6rem", value: (row) => (rows[row].thread ? 1 : rows[row].process.threads.length), cell: (row) => (rows[row].thread ? "" : count(rows[row].process.threads.length)) },
        model.data.threads.some((thread) => thread.in_syscalls > 0) && { label: "System calls", number: true, low: true, width: "7.5rem", value: (row) => waiting(model, row) ?? -1, cell: (row) => (waiting(model, row) === null ? "" : share(waiting(model, row))), title: "Of its time, in system calls: mostly waiting" },
        several && { label: "Pid", number: true, low: true, width: "5.5rem", value: (row) => rows[row].of.pid, cell: (row) => String(rows[row].of.pid), title: "Of the process" },
        model.data.threads.length > model.data.processes.length && { label: "Thread", number: true, low: true, width: "5.5rem", value: (row) => rows[row].thread?.tid ?? 0, cell: (row) => (rows[row].thread ? String(rows[row].thread.tid) : ""), title: "Its number in the system" },
        several && { label: "Command", low: true, width: "36rem", most: "45cqw", value: (row) => rows[row].of.command, cell: (row) => h("span", { class: "name", title: rows[row].of.command }, rows[row].thread ? "" : rows[row].of.command) },
    ].filter(Boolean);
}

/** The processes that had a pid, as links: a fact about something that names the pid, called `label`. */
export function pidFact(model, label, pid) {
    const found = processesOfPid(model, pid);
    return found.length > 0 && [found.length > 1 ? `${label}: one of` : label, h("span", { class: "chips" }, found.slice(0, MOST_OF_PID).map(processLink), found.length > MOST_OF_PID && ` and ${found.length - MOST_OF_PID} more`)];
}

// The functions of a process or thread.
function functionsOf(model, counts, total, go) {
    const { functions } = model.data;
    const rows = Uint32Array.from(counts.keys()).sort((a, b) => counts.get(b).self - counts.get(a).self || a - b);
    const known = functions.inclusive.some((value) => value >= 0);
    const most = rows.length ? counts.get(rows[0]).self : 1;
    const of = (row) => counts.get(row) ?? { self: 0, inclusive: 0, calls: 0 };
    return grid({
        label: "Functions, heaviest first", noun: ["function", "functions"], rows, search: functionSearch(model), open: (row) => go(`function/${row}`),
        columns: [
            { label: "Self", number: true, width: "8.5rem", value: (row) => of(row).self, cell: (row) => bar(of(row).self / total, functionColour(row), most / total), title: "Of what it executed" },
            known && { label: "Inclusive", number: true, width: "6rem", low: 2, value: (row) => of(row).inclusive, cell: (row) => share(of(row).inclusive / total), title: "With everything it calls" },
            { label: "Function", value: (row) => functions.name[row], cell: (row) => functionCell(model, row) },
            { label: "Instructions", number: true, low: true, width: "8rem", value: (row) => of(row).self, cell: (row) => count(of(row).self) },
            { label: "Calls", number: true, low: true, width: "7rem", value: (row) => of(row).calls, cell: (row) => count(of(row).calls) },
        ].filter(Boolean),
    });
}

function show(model, row, go) {
    const { process, of, thread } = rowsOf(model)[row];
    const split = thread ? "threads" : "processes";
    const isOffered = splitsOf(model).some(([way]) => way === split);
    const threads = thread || !process || process.threads.length < 2 ? [] : process.threads.map((own) => threadsOf(model)[own]);
    const counts = countsOf(model, split, "function")[of.row];
    return {
        title: `${thread ? "Thread" : "Process"} ${of.name}`,
        body: h("div", null,
            of.command && h("pre", { class: "command", tabindex: "0" }, of.command),
            facts([
                ["Instructions", `${count(of.instructions)} (${share(shareOf(model, of))})`],
                ["Branches", count(of.branches)],
                ["Pid", String(of.pid)],
                thread && ["Thread", String(thread.tid)],
                waiting(model, row) !== null && ["In system calls", `${share(waiting(model, row))} of its time`],
                thread && process && model.data.processes.length > 1 && ["Process", processLink(process)],
                !thread && ["Threads", count(process.threads.length)],
                process && pidFact(model, "Started by", process.parent),
            ]),
            threads.length > 0 && card(many(threads.length, "thread"), null, h("ol", { class: "items ranked scroll-y", tabindex: "0", "aria-label": "Threads" }, threads.map((own) => h("li", null,
                bar(own.instructions / (process.instructions || 1)), h("a", { class: "name", href: `#process/${model.data.processes.length + own.row}` }, own.name))))),
            counts.size > 0 && card("Functions", isOffered && h("a", { class: "more", href: `#flame=${split}:${of.row}` }, "flame graph"), functionsOf(model, counts, of.instructions || 1, go).element)),
    };
}

export const processesView = {
    id: "processes", label: (model) => (model.data.processes.length > 1 ? "Processes" : "Threads"), item: "process", size: (model) => rowsOf(model).length,
    present: (model) => model.data.threads.length > 1,
    create(model, go) {
        const rows = rowsOf(model), n = model.data.processes.length;
        const inProcess = (row) => (rows[row].thread && n > 1 ? rows[row].process?.row ?? -1 : -1);
        const nested = (process) => (process.threads.length > 1 ? process.threads.map((row) => n + row) : []);
        const several = n > 1;
        const list = grid({
            label: several ? "Processes, heaviest first" : "Threads, heaviest first", noun: several ? ["process", "processes"] : ["thread", "threads"],
            columns: columns(model), rows: several ? Uint32Array.from(processesOf(model).flatMap((process) => [process.row, ...nested(process)])) : Uint32Array.from(threadsOf(model), (_, row) => n + row),
            forest: several && processesOf(model).some((process) => process.threads.length > 1) ? { column: 1, open: [], roots: Array.from({ length: n }, (_, row) => row), children: (row) => (row < n ? nested(rows[row].process) : []), parent: inProcess, level: (row) => (row < n ? 0 : 1) } : null,
            search: (query) => (row) => `${rows[row].of.name}\n${rows[row].of.command}\n${rows[row].of.pid}`.toLowerCase().includes(query), open: (row) => go(`process/${row}`),
        });
        return pane(list, (row) => show(model, row, go), () => go("processes"));
    },
};
