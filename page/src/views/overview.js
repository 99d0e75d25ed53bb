// SPDX-License-Identifier: MIT
// What ran, and where the time went, on one screen.
import { card, h } from "../dom.js";
import { bar, count, decimals, seconds, share, short } from "../format.js";
import { functionColour } from "../colours.js";
import { stackWithLegend } from "../chart.js";
import { findings } from "../findings.js";
import { flame } from "../flame.js";
import { spotName, spotsOf } from "../spots.js";
import { heartOf } from "../trees.js";
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
    const many = (label, value, view, present) => Boolean(present) && number(label, short(value), `#${view}`, count(value));
    return h("div", { class: "keys" },
        number("instructions", short(summary.instructions), null, count(summary.instructions)),
        summary.cycles !== null && summary.cycles !== undefined && number(`cycles${summary.machine_name ? ` on ${summary.machine_name}` : ""}`, short(summary.cycles), "#machine", count(summary.cycles)),
        summary.cpi > 0 && number("CPI", decimals(summary.cpi), "#machine"),
        number("time, observed", seconds(run.seconds), null, `${run.seconds} s`),
        number("branches", short(summary.branches), null, count(summary.branches)),
        many("functions", summary.functions, "functions", model.executed),
        many("paths", kind?.paths, "paths", kind),
        many("loops", summary.loops, "loops", data.loops.length),
        many("hot spots", summary.hotspots, "hotspots", data.hotspots.length),
        many("threads", summary.threads, "overview", summary.threads > 1));
}

/** Heaviest first: [{ share, colour, href, name, note }]. */
function items(title, view, all, rows) {
    return card(title, all > rows.length && h("a", { class: "more", href: `#${view}` }, `all ${count(all)}`),
        h("ol", { class: "items ranked" }, rows.map((row) => h("li", null, bar(row.share, row.colour, rows[0].share),
            h("a", { href: row.href, title: row.title ?? row.name, class: "name", style: row.level ? { "padding-left": `${row.level * 0.9}rem` } : {} }, row.name), row.note && h("span", { class: "note" }, row.note)))));
}

function functionsCard(model) {
    const { functions } = model.data;
    const rows = functions.self.slice(0, Math.min(MOST, model.executed)).map((self, row) => ({ share: self / (model.total || 1), colour: functionColour(row), href: `#function/${row}`, name: functions.name[row], note: model.line(functions.file[row], functions.line[row]) || model.moduleName(functions.module[row]) }));
    return rows.length > 0 && items("Functions", "functions", model.executed, rows);
}

function loopsCard(model) {
    const { loops } = model.data;
    const most = loops.map((_, row) => row).sort((a, b) => loops[b].inclusive - loops[a].inclusive || a - b).slice(0, MOST);
    const parent = (row) => (loops[row].parent === null ? -1 : model.loopRows.get(loops[row].parent) ?? -1);
    const below = (above, level) => most.filter((row) => (most.includes(parent(row)) ? parent(row) : -1) === above).flatMap((row) => [{ row, level }, ...below(row, level + 1)]);
    const rows = below(-1, 0).map(({ row, level }) => ({ level, share: loops[row].share, colour: functionColour(loops[row].function), href: `#loop/${row}`, name: model.loopName(row), title: model.functionName(loops[row].function), note: `${short(loops[row].executions)} × ${decimals(loops[row].mean)}` }));
    return rows.length > 0 && items("Loops", "loops", loops.length, rows);
}

function pathsCard(model) {
    const { paths } = model.data;
    const kind = model.askedKinds[0] ?? -1;
    const rows = [];
    for (let row = paths.kind.indexOf(kind); row >= 0 && paths.kind[row] === kind && rows.length < MOST; row++)
        rows.push({ share: paths.instructions[row] / (model.total || 1), colour: functionColour(paths.function[row]), href: `#path/${row}`, name: model.functionName(paths.function[row]), note: `${short(paths.count[row])} × ${decimals(Math.round(paths.instructions[row] / (paths.count[row] || 1)))}` });
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
    const tree = treeOf(model);
    const start = heartOf(tree);
    const graph = flame(model, start, { label: "Flame graph", total: model.total || 1, most: DEPTH });
    const below = start === tree ? "" : ` below ${start.name}, ${share(start.value / (model.total || 1))} of the run`;
    return card(model.data.contexts.parent.length ? `Flame graph${below}` : "Modules and functions", h("a", { class: "more", href: "#flame" }, "larger"), graph.element);
}

function spotsCard(model) {
    const { hotspots } = model.data;
    const all = spotsOf(model).filter((spot) => spot.slices.size > 0);
    const spots = [...all].sort((a, b) => hotspots[b.row].total - hotspots[a.row].total).slice(0, 5).sort((a, b) => all.indexOf(a) - all.indexOf(b));
    return spots.length > 0 && card("Hot spots: when they ran", h("a", { class: "more", href: "#hotspots" }, hotspots.length > spots.length ? `all ${count(hotspots.length)}` : "more"), timeline(model, spots, true),
        h("p", { class: "chips" }, spots.map(({ row, colour }) => h("a", { href: `#hotspot/${row}`, class: "name" }, h("span", { class: "swatch", style: { background: colour }, "aria-hidden": "true" }), `#${hotspots[row].id} ${spotName(model, row)}`, h("span", { class: "note" }, ` ${share(hotspots[row].share)}`)))));
}

function threadsCard(model) {
    const { threads } = model.data;
    return threads.length > 1 && card("Threads", null, h("ol", { class: "items ranked" }, threads.slice(0, MOST).map((thread) => h("li", null,
        bar(thread.share), h("span", { class: "name" }, `thread ${thread.thread}`), h("span", { class: "note" }, `pid ${thread.pid}, tid ${thread.tid}`)))), threads.length > MOST && h("p", { class: "note" }, `and ${count(threads.length - MOST)} more`));
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
                h("div", { class: "cards" }, functionsCard(model), loopsCard(model), pathsCard(model), instructionsCard(model), spotsCard(model), cpiCard(model), threadsCard(model), model.executed > 0 && flameCard(model)),
                model.executed > 0 && h("p", { class: "note" }, "A bar's colour is its function's, as in the list of functions."),
                model.total === 0 && h("p", null, "Nothing was executed, or nothing was recorded: the profile is empty.")),
            open() {},
        };
    },
};
