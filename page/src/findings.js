// SPDX-License-Identifier: MIT
// What a profile says, in sentences: the hottest loop and path, the stall that costs most, phases, modules. Each leads to its view.
import { h } from "./dom.js";
import { count, decimals, many, share, short } from "./format.js";
import { CAUSES } from "./colours.js";
import { processesOf } from "./processes.js";
import { phasesOf, spotName } from "./spots.js";

const MOST_PHASES = 6, MOST_MODULES = 4;
const LEAST = 0.0005; // of the run: what has less is not named
const WAITS = 0.1, NAMED = 0.05; // of the time of a thread, of all threads: system calls that are worth a word
const NEARLY = 0.9; // of the hottest loop
const KNOWN = 0.5; // of the instructions have lines, where the hottest of them says something

const strong = (text) => h("strong", null, text);
const dot = (colour) => h("span", { class: "swatch", style: { background: colour }, "aria-hidden": "true" });
const named = (model, f) => h("strong", { title: model.functionName(f) }, model.brief(f));
// Parts of a sentence, and what more there is, to its end: each stays on a line as far as there is room.
function listed(parts, more) {
    const all = more ? [...parts, more] : parts;
    return all.map((part, i) => [h("span", { class: "part" }, part, i + 1 < all.length ? "," : "."), i + 1 < all.length && " "]);
}
const greatest = (rows, value) => rows.reduce((a, b) => (a < 0 || value(b) > value(a) ? b : a), -1);

function hottestFunction(model) {
    const { functions } = model.data;
    if (model.executed < 1)
        return null;
    const place = model.line(functions.file[0], functions.line[0]);
    const self = share(functions.self[0] / model.total), inclusive = share(functions.inclusive[0] / model.total);
    return { label: "Hottest function", href: "#function/0", text: [named(model, 0), place && ` (${place})`, ` has `, strong(self), " of all instructions in itself", functions.inclusive[0] >= 0 && inclusive !== self && `, ${inclusive} with what it calls`, "."] };
}

/** The loop that has most without loops nested in it: outer ones have everything, and say little. Of those that have nearly as much, as one calls
 * what another is in, the one that goes round most. */
function hottestLoop(model) {
    const { loops } = model.data;
    const own = loops.map((loop) => loop.inclusive);
    for (const loop of loops)
        if (loop.parent !== null && model.loopRows.has(loop.parent))
            own[model.loopRows.get(loop.parent)] -= loop.inclusive;
    const most = own.reduce((a, b) => Math.max(a, b), 0);
    const row = greatest([...loops.keys()].filter((at) => own[at] >= NEARLY * most), (at) => loops[at].iterations);
    if (row < 0)
        return null;
    const loop = loops[row];
    const range = loop.max === null || loop.min === loop.max ? "" : ` (${short(loop.min)} to ${short(loop.max)})`;
    return { label: "Hottest loop", href: `#loop/${row}`, text: [strong(model.loopName(row)), model.loopScope(row) ? [" in ", strong(model.loopScope(row)), ", inlined in ", named(model, loop.function), ","] : !model.loopName(row).startsWith(model.tag(loop.function)) && [" in ", named(model, loop.function)], " has ", strong(share(loop.share)), " of all instructions, with what it calls. It ran ",
        `${many(loop.executions, "time")}, `, strong(`${decimals(loop.mean)} ${loop.mean === 1 ? "iteration" : "iterations"}`), ` each${range}.`] };
}

function hottestPath(model) {
    const { paths, kinds } = model.data;
    const kind = model.askedKinds[0];
    const row = kind === undefined ? -1 : greatest([...paths.kind.keys()].filter((at) => paths.kind[at] === kind), (at) => paths.instructions[at]);
    if (row < 0)
        return null;
    const place = model.pathPlace(row);
    const half = model.pathsOf(kind, 0.5);
    return { label: "Hottest path", href: `#path/${row}`, text: ["A path of ", many(paths.length[row], "branch", "branches"), " in ", named(model, paths.function[row]), place && ` (${place})`, ` was taken ${short(paths.count[row])} times and has `, strong(share(paths.instructions[row] / model.total)), " of all instructions. ",
        half > 0 && `${many(half, "path")} of ${short(kinds[kind].paths)} ${half === 1 ? "has" : "have"} half of them.`] };
}

// The function whose block, with code of the line, was executed most.
function functionOfLine(model, file, line) {
    const { code, blocks } = model.data;
    const of = [...blocks.count.keys()].filter((block) => blocks.function[block] >= 0 && model.codeOf(block).some((row) => code.line[row] === line && code.file[row] === file));
    return of.length ? blocks.function[greatest(of, (block) => blocks.count[block])] : -1;
}

function hottestLine(model) {
    const { lines } = model.data;
    if (!lines.line.length || model.data.loops.length || lines.instructions.reduce((sum, value) => sum + value, 0) < KNOWN * model.total)
        return null;
    const [file, line] = [lines.file[0], lines.line[0]];
    const f = functionOfLine(model, file, line);
    const text = model.source(file, line)?.trim();
    return { label: "Hottest line", href: f < 0 ? "#functions" : `#function/${f}`, text: [strong(model.line(file, line)), text && [" ", h("code", null, text.length > 70 ? `${text.slice(0, 69)}…` : text)], " has ", strong(share(lines.instructions[0] / model.total)), ` of all instructions; it was executed ${short(lines.executions[0])} times.`] };
}

function mostCalled(model) {
    const { functions } = model.data;
    const row = greatest([...functions.calls.keys()], (at) => functions.calls[at]);
    if (row < 0 || functions.calls[row] < 2 || model.data.loops.length)
        return null;
    return { label: "Most calls", href: `#function/${row}`, text: [named(model, row), ` was called `, strong(`${short(functions.calls[row])} times`), `; a call takes ${decimals(functions.self[row] / functions.calls[row])} instructions of its own.`] };
}

function costliestStall(model) {
    const run = model.data.cpi.run[0];
    if (!run)
        return null;
    const cause = Object.keys(run.causes).filter((name) => name !== "retire").reduce((a, b) => (run.causes[b] > (run.causes[a] ?? 0) ? b : a), null);
    if (!cause || !(run.causes[cause] > 0))
        return null;
    const { instructions } = model.data;
    const row = greatest([...instructions.keys()], (at) => instructions[at].causes?.[cause] ?? 0);
    const most = instructions[row]?.causes?.[cause] ?? 0;
    const place = most > 0 && (model.line(instructions[row].file, instructions[row].line) || instructions[row].address);
    return { label: "Costliest stall", href: most > 0 ? `#instruction/${row}` : "#machine", text: ["In ", strong(share(run.causes[cause] / run.cycles)), ` of the cycles the oldest instruction stalls by `, strong(cause), `: ${CAUSES[cause] ?? cause}.`,
        most > 0 && [` ${share(most / run.causes[cause])} of them are at `, h("code", null, model.instructionText(row)), `, `, strong(place), "."], ` In ${share((run.causes.retire ?? 0) / run.cycles)} instructions retire.`] };
}

function phases(model) {
    const found = phasesOf(model);
    if (!found.length)
        return null;
    const parts = found.slice(0, MOST_PHASES).map(({ spot, from, to }) => [spot && dot(spot.colour), spot ? spotName(model, spot.row) : "no hot spot", h("span", { class: "note" }, ` ${Math.round(from * 100)}–${Math.round(to * 100)}%`)]);
    return { label: "Phases", href: "#hotspots", text: [strong(many(found.length, "phase")), found.length === 1 ? ": " : ", in the order of time: ", listed(parts, found.length > MOST_PHASES && `${many(found.length - MOST_PHASES, "more phase")}`)] };
}

function split(model) {
    const { modules } = model.data;
    const order = model.modulesByWeight.filter((row) => modules.instructions[row] > 0);
    if (!order.length)
        return null;
    const shown = order.filter((row, at) => at === 0 || modules.instructions[row] >= LEAST * model.total).slice(0, MOST_MODULES);
    const rest = order.slice(shown.length).reduce((sum, row) => sum + modules.instructions[row], 0);
    const parts = shown.map((row) => [dot(model.moduleColour(row)), strong(share(modules.instructions[row] / model.total)), ` in ${modules.name[row]}`]);
    return { label: "Modules", href: "#flame=modules", text: listed(parts, rest > 0 && `${share(rest / model.total)} in ${many(order.length - shown.length, "other")}`) };
}

// Programs that ran, each with its processes together.
function programs(model) {
    const processes = processesOf(model);
    if (processes.length < 2)
        return null;
    const found = new Map();
    for (const { program, instructions } of processes) {
        const known = found.get(program) ?? { program, instructions: 0, times: 0 };
        found.set(program, { program, instructions: known.instructions + instructions, times: known.times + 1 });
    }
    const all = [...found.values()].sort((a, b) => b.instructions - a.instructions);
    const shown = all.slice(0, MOST_MODULES);
    const rest = all.slice(MOST_MODULES);
    const parts = shown.map(({ program, instructions, times }) => [strong(share(instructions / model.total)), ` in ${program}`, times > 1 && h("span", { class: "note" }, ` (${count(times)} processes)`)]);
    const left = rest.reduce((sum, { instructions }) => sum + instructions, 0);
    return { label: "Processes", href: "#processes", text: [strong(many(processes.length, "process", "processes")), " ran: ", listed(parts, rest.length > 0 && `${share(left / model.total)} in ${many(rest.length, "other program")}`)] };
}

// Where a program waits: worth a sentence as in the report's summary.
function waits(model) {
    const { threads, syscalls } = model.data;
    const busiest = threads.reduce((a, b) => (a && a.instructions >= b.instructions ? a : b), null);
    if (!(busiest?.in_syscalls >= WAITS) || !syscalls.length)
        return null;
    const several = threads.length > 1;
    const parts = syscalls.filter(({ share: part }) => part >= NAMED).slice(0, MOST_MODULES).map(({ call, share: part, caller }) => [strong(call), ` ${share(part)}`, several && caller && ` (most for ${model.tagOf(caller)})`]);
    return { label: "System calls", href: "#syscalls", text: [strong(share(busiest.in_syscalls)), several ? [" of the time of the busiest thread", busiest.name && ` (${busiest.name})`] : " of the time", " is in system calls",
        parts.length === 0 ? "." : [several ? ". Of the time of all threads: " : ": ", listed(parts)]] };
}

/** [{ label, href, text }], `text` as of h(). */
export const findingsOf = (model) => (model.total > 0 ? [hottestFunction, hottestLine, mostCalled, hottestLoop, hottestPath, costliestStall, phases, programs, waits, split].map((find) => find(model)).filter(Boolean) : []);

/** Findings as a list; nothing where there are none. */
export const findingList = (found) => found.length > 0 && h("section", { class: "card findings", "aria-label": "Findings" }, h("ul", null, found.map(({ label, href, text }) =>
    h("li", null, h("a", { href }, h("span", { class: "finding-label" }, label), h("span", { class: "finding" }, text))))));

export const findings = (model) => findingList(findingsOf(model));
