// SPDX-License-Identifier: MIT
// What ran, and where the time went, on one screen.
import { card, h } from "../dom.js";
import { bar, count, decimals, many, seconds, share, short } from "../format.js";
import { functionColour } from "../colours.js";
import { stackWithLegend } from "../chart.js";
import { findings } from "../findings.js";
import { flame } from "../flame.js";
import { processesOf, threadsOf } from "../processes.js";
import { spotName, spotsOf } from "../spots.js";
import { startOf } from "../trees.js";
import { treeOf } from "./flame.js";
import { timeline } from "./hotspots.js";

const MOST = 6; // items in a list
const DEPTH = 8; // of the flame graph

function number(label, value, href, title) {
    const content = [h("span", { class: "figure" }, value), h("span", { class: "figure-label" }, label)];
    return href ? h("a", { class: "key", href, title }, content) : h("div", { class: "key", title }, content);
}

function keyNumbers(model) {
    const { run, summary, data } = { ...model.data, data: model.data };
    const kind = data.kinds[model.askedKinds[0]];
    const tile = (label, value, view, present) => Boolean(present) && number(label, short(value), `#${view}`, count(value));
    return h("div", { class: "keys" },
        number("instructions", short(summary.instructions), null, count(summary.instructions)),
        summary.cycles !== null && summary.cycles !== undefined && number(`cycles${summary.machine_name ? ` on ${summary.machine_name}` : ""}`, short(summary.cycles), "#machine", count(summary.cycles)),
        summary.cpi > 0 && number("CPI", decimals(summary.cpi), "#machine"),
        number("time, observed", seconds(run.seconds), null, `${run.seconds} s`),
        number("branches", short(summary.branches), null, count(summary.branches)),
        tile("functions", summary.functions, "functions", model.executed),
        tile("paths", kind?.paths, "paths", kind),
        tile("loops", summary.loops, "loops", data.loops.length),
        tile("hot spots", summary.hotspots, "hotspots", data.hotspots.length),
        tile("processes", data.processes.length, "processes", data.processes.length > 1),
        tile("threads", summary.threads, "processes", summary.threads > Math.max(1, data.processes.length)));
}

/** Heaviest first: [{ share, colour, href, name, note }]. */
function items(title, view, all, rows) {
    return card(title, all > rows.length && h("a", { class: "more", href: `#${view}` }, `all ${count(all)}`),
        h("ol", { class: "items ranked" }, rows.map((row) => h("li", null, bar(row.share, row.colour, rows[0].share),
            h("a", { href: row.href, title: row.title ?? row.name, class: "name", style: row.level ? { "padding-left": `${row.level * 0.9}rem` } : {} }, row.name), row.note && h("span", { class: "note" }, row.note)))));
}

function functionsCard(model) {
    const { functions } = model.data;
    const rows = functions.self.slice(0, Math.min(MOST, model.executed)).map((self, row) => ({ share: self / (model.total || 1), colour: functionColour(row), href: `#function/${row}`, name: model.tag(row), title: functions.name[row], note: model.line(functions.file[row], functions.line[row]) || model.moduleName(functions.module[row]) }));
    return rows.length > 0 && items("Functions", "functions", model.executed, rows);
}

function loopsCard(model) {
    const { loops } = model.data;
    const most = loops.map((_, row) => row).sort((a, b) => loops[b].inclusive - loops[a].inclusive || a - b).slice(0, MOST);
    const parent = (row) => (loops[row].parent === null ? -1 : model.loopRows.get(loops[row].parent) ?? -1);
    const below = (above, level) => most.filter((row) => (most.includes(parent(row)) ? parent(row) : -1) === above).flatMap((row) => [{ row, level }, ...below(row, level + 1)]);
    const rows = below(-1, 0).map(({ row, level }) => ({ level, share: loops[row].share, colour: functionColour(model.loopFunction(row)), href: `#loop/${row}`, name: model.loopName(row), title: model.functionName(loops[row].function), note: `${short(loops[row].executions)} × ${decimals(loops[row].mean)}` }));
    return rows.length > 0 && items("Loops", "loops", loops.length, rows);
}

function pathsCard(model) {
    const { paths } = model.data;
    const kind = model.askedKinds[0] ?? -1;
    const rows = [];
    for (let row = paths.kind.indexOf(kind); row >= 0 && paths.kind[row] === kind && rows.length < MOST; row++)
        rows.push({ share: paths.instructions[row] / (model.total || 1), colour: functionColour(paths.function[row]), href: `#path/${row}`, name: /:\d/.test(model.pathPlace(row)) ? model.pathPlace(row) : model.tag(paths.function[row]), title: `${model.functionName(paths.function[row])} ${model.pathPlace(row)}`, note: `${short(paths.count[row])} × ${decimals(Math.round(paths.instructions[row] / (paths.count[row] || 1)))}` });
    return rows.length > 0 && items("Paths", "paths", model.data.kinds[kind].paths, rows);
}

function instructionsCard(model) {
    const { instructions } = model.data;
    const rows = instructions.slice(0, MOST).map((insn, row) => ({ share: insn.share, colour: functionColour(insn.function), href: `#instruction/${row}`, name: model.instructionText(row), title: insn.why, note: model.line(insn.file, insn.line) }));
    return rows.length > 0 && items("Instructions", "instructions", instructions.length, rows);
}

function cpiCard(model) {
    const run = model.data.cpi.run[0];
    return run && card(`CPI ${decimals(run.cpi)}: what cycles are spent on`, h("a", { class: "more", href: "#machine" }, "machine"),
        stackWithLegend(run, 8));
}

function flameCard(model) {
    const several = model.data.processes.length > 1;
    const tree = treeOf(model, several ? "processes" : "");
    const start = several ? tree : startOf(tree);
    const graph = flame(model, start, { label: "Flame graph", total: model.total || 1, most: DEPTH });
    const below = several ? " by process" : start.f < 0 ? "" : ` below ${model.brief(start.f)}, ${share(start.value / (model.total || 1))} of the run`;
    return card(model.data.contexts.parent.length ? `Flame graph${below}` : several ? "Processes and functions" : "Modules and functions", h("a", { class: "more", href: several ? "#flame=processes" : "#flame" }, "larger"), graph.element);
}

function spotsCard(model) {
    const { hotspots } = model.data;
    const all = spotsOf(model).filter((spot) => spot.slices.size > 0);
    const spots = [...all].sort((a, b) => hotspots[b.row].total - hotspots[a.row].total).slice(0, 5).sort((a, b) => all.indexOf(a) - all.indexOf(b));
    return spots.length > 0 && card("Hot spots: when they ran", h("a", { class: "more", href: "#hotspots" }, hotspots.length > spots.length ? `all ${count(hotspots.length)}` : "more"), timeline(model, spots, true),
        h("p", { class: "chips" }, spots.map(({ row, colour }) => h("a", { href: `#hotspot/${row}`, class: "name" }, h("span", { class: "swatch", style: { background: colour }, "aria-hidden": "true" }), `#${hotspots[row].id} ${spotName(model, row)}`, h("span", { class: "note" }, ` ${share(hotspots[row].share)}`)))));
}

// Processes, or the threads of the only one.
function processesCard(model) {
    const { processes, threads } = model.data;
    const several = processes.length > 1;
    const all = several ? processesOf(model) : threadsOf(model);
    const rows = all.slice(0, MOST).map((part) => ({ share: part.instructions / (model.total || 1), href: `#process/${several ? part.row : processes.length + part.row}`, name: part.name, title: part.command || part.name, note: part.threads?.length > 1 ? many(part.threads.length, "thread") : short(part.instructions) }));
    return threads.length > 1 && items(several ? "Processes" : "Threads", "processes", all.length, rows);
}

function notes(model) {
    const { notes: list, limits, run } = model.data;
    const lost = run.lost > 0 && !list.some((note) => note.kind === "lost") ? [`${count(run.lost)} gaps: parts of the run were not observed.`] : [];
    const said = [...list.map((note) => note.text), ...lost];
    return (said.length > 0 || limits.length > 0) && h("section", { class: "notes", "aria-label": "Notes" },
        said.map((text) => h("p", { class: "warning" }, text)),
        limits.length > 0 && h("p", { class: "note" }, `${limits.join(". ")}.`));
}

function ran(model) {
    const { run, hotpath } = model.data;
    const when = new Date(run.started * 1000);
    const facts = [run.started > 0 && when.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }), `exit status ${run.exit_status}`, `engine ${run.engine}, ${run.arch}`, run.machine, run.runs > 1 && `${run.runs} runs merged`, `hotpath ${hotpath}`];
    return h("section", { class: "ran", "aria-label": "What ran" }, h("pre", { class: "command", tabindex: "0" }, run.command_text), h("p", { class: "note" }, facts.filter(Boolean).join("  ·  ")));
}

export const overviewView = {
    id: "overview", label: "Overview",
    present: () => true,
    create(model) {
        return {
            element: h("div", { class: "view overview" },
                ran(model), notes(model), findings(model), keyNumbers(model),
                h("div", { class: "cards" }, functionsCard(model), loopsCard(model), pathsCard(model), instructionsCard(model), spotsCard(model), cpiCard(model), processesCard(model), model.executed > 0 && flameCard(model)),
                model.executed > 0 && h("p", { class: "note" }, "A bar's colour is its function's, as in the list of functions."),
                model.total === 0 && h("p", null, "Nothing was executed, or nothing was recorded: the profile is empty.")),
            open() {},
        };
    },
};
