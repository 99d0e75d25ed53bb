// SPDX-License-Identifier: MIT
import { card, facts, h } from "../dom.js";
import { bar, count, decimals, many, share } from "../format.js";
import { functionColour } from "../colours.js";
import { chart, Plot, stackWithLegend, tick } from "../chart.js";
import { grid } from "../grid.js";
import { listing } from "../listing.js";
import { pane } from "../pane.js";
import { functionLink, functionSearch, swatch } from "./functions.js";

const OPEN = 0.01; // of the run: loops that have so much show what is nested in them

/** Loops as nested rows. */
function forestOf(model) {
    const { loops } = model.data;
    const parents = loops.map((loop) => (loop.parent === null ? -1 : model.loopRows.get(loop.parent) ?? -1));
    const children = loops.map(() => []);
    const roots = [];
    const level = (row) => (parents[row] < 0 ? 0 : 1 + level(parents[row]));
    parents.forEach((parent, row) => (parent < 0 ? roots : children[parent]).push(row));
    const open = loops.flatMap((loop, row) => (loop.share >= OPEN && children[row].length ? [row] : []));
    return { column: 1, open, roots, parent: (row) => parents[row], children: (row) => children[row], level };
}

/** "10", or "1–9,000" */
const trips = (loop) => (loop.max === null ? "?" : loop.min === loop.max ? count(loop.min) : `${count(loop.min)} – ${count(loop.max)}`);

function columns(model) {
    const { loops } = model.data;
    const most = loops.reduce((greatest, loop) => Math.max(greatest, loop.share), 0);
    return [
        { label: "Share", number: true, width: "8.5rem", value: (row) => loops[row].inclusive, cell: (row) => bar(loops[row].share, functionColour(model.loopFunction(row)), most), title: "Instructions executed while it was going on, callees included" },
        { label: "Loop", value: (row) => model.functionName(loops[row].function), cell: (row) => h("span", { class: "name", title: `${model.functionName(loops[row].function)} ${model.loopName(row)}` },
            loops[row].irreducible ? "~ " : "", model.loopPlace(row), h("span", { class: "note" }, " ", swatch(model.loopFunction(row)), model.loopScope(row) && `${model.loopScope(row)} in `, model.brief(loops[row].function))) },
        { label: "Self", number: true, low: true, width: "5rem", value: (row) => loops[row].self, cell: (row) => share(loops[row].self / (model.total || 1)), title: "Of its own code, with loops nested in it" },
        { label: "Executions", number: true, low: true, width: "7rem", value: (row) => loops[row].executions, cell: (row) => count(loops[row].executions) },
        { label: "Iterations", number: true, low: true, width: "8rem", value: (row) => loops[row].iterations, cell: (row) => count(loops[row].iterations) },
        { label: "Mean", number: true, width: "6.5rem", value: (row) => loops[row].mean, cell: (row) => decimals(loops[row].mean), title: "Iterations of an execution" },
        { label: "Least – most", number: true, low: true, width: "9rem", value: (row) => loops[row].max ?? -1, cell: (row) => trips(loops[row]) },
        { label: "Foreseen", number: true, low: true, width: "6.5rem", value: (row) => loops[row].predictability ?? -1, cell: (row) => (loops[row].predictability === null ? "" : share(loops[row].predictability)), title: "Executions whose iterations were those of the one before, or changed as before" },
    ];
}

// Few numbers of iterations are shown as they are, many by powers of two.
function histogram(loop) {
    const exact = loop.trips.reduce((sum, trip) => sum + trip.count, 0) === loop.executions && loop.trips.length <= 24;
    return exact
        ? [...loop.trips].sort((a, b) => a.iterations - b.iterations).map((trip) => ({ label: count(trip.iterations), count: trip.count }))
        : loop.histogram.map((slot) => ({ label: slot.from === slot.to ? count(slot.from) : `${count(slot.from)}–${count(slot.to)}`, count: slot.count }));
}

function tripChart(loop) {
    const data = histogram(loop);
    const longest = data.reduce((length, slot) => Math.max(length, slot.label.length), 0);
    const most = data.reduce((greatest, slot) => Math.max(greatest, slot.count), 0);
    return chart({
        title: "Iterations of an execution", description: `${many(loop.executions, "execution")}: ${trips(loop)} iterations, ${decimals(loop.mean)} on average.`,
        draw: (width) => Plot.plot({
            width, height: 44 + data.length * 20, marginLeft: Math.min(150, 16 + longest * 7), marginRight: 64, marginBottom: 32,
            x: { label: "executions", grid: true, tickFormat: tick, ...(most < 8 ? { interval: 1 } : { ticks: Math.max(2, Math.min(5, width / 110)) }) },
            y: { label: null, type: "band", domain: data.map((slot) => slot.label), padding: 0.18 },
            marks: [
                Plot.barX(data, { y: "label", x: "count", fill: "var(--accent)" }),
                Plot.text(data, { y: "label", x: "count", text: (slot) => share(slot.count / loop.executions), textAnchor: "start", dx: 5 }),
            ],
        }),
        columns: [{ label: "Iterations", number: true }, { label: "Executions", number: true }, { label: "Share", number: true }],
        rows: data.map((slot) => [slot.label, count(slot.count), share(slot.count / loop.executions)]),
    });
}

function modelsTable(model, loop) {
    const rows = model.data.loop_models.filter((entry) => entry.loop === loop.id);
    return rows.length > 0 && card("As hardware saw it", null, h("ul", { class: "items" }, rows.map((entry) => h("li", null,
        `${entry.model}: ${count(entry.executions)} executions, ${decimals(entry.average)} back edges on average`))));
}

function show(model, forest, row) {
    const loop = model.data.loops[row];
    const stalls = model.data.cpi.loop.find((entry) => entry.address === loop.target);
    const inner = forest.children(row);
    const blocks = (at) => [...model.data.loops[at].blocks, ...forest.children(at).flatMap(blocks)];
    return {
        title: ["Loop ", model.loopName(row)],
        body: h("div", null,
            facts([
                ["Function", functionLink(model, loop.function)],
                model.loopScope(row) && ["Written in", model.loopScope(row)],
                ["Inclusive", `${count(loop.inclusive)} (${share(loop.share)})`],
                ["Self", `${count(loop.self)} (${share(loop.self_share)})`],
                ["Executions", count(loop.executions)],
                ["Iterations", count(loop.iterations)],
                ["Mean", decimals(loop.mean)],
                ["Least – most", trips(loop)],
                ["Foreseen", loop.predictability === null ? null : share(loop.predictability)],
                ["Header", loop.target],
                ["Closed by", loop.branch || null],
                loop.irreducible && ["Note", "irreducible: it has more than one entry"],
                loop.interrupted > 0 && ["Unfinished", count(loop.interrupted)],
                forest.parent(row) >= 0 && ["Nested in", h("a", { href: `#loop/${forest.parent(row)}` }, model.loopName(forest.parent(row)))],
                inner.length > 0 && ["Has", h("span", null, inner.flatMap((child, i) => [i ? ", " : "", h("a", { href: `#loop/${child}` }, model.loopName(child))]))],
            ]),
            stalls && stackWithLegend(stalls),
            loop.max === null ? null : tripChart(loop),
            modelsTable(model, loop),
            card("Code", null, listing(model, blocks(row), { label: `Code of the loop ${model.loopName(row)}`, file: loop.file }))),
    };
}

export const loopsView = {
    id: "loops", label: "Loops", item: "loop", size: (model) => model.data.loops.length,
    present: (model) => model.data.loops.length > 0,
    create(model, go) {
        const { loops } = model.data;
        const forest = forestOf(model);
        const ofFunction = functionSearch(model);
        const list = grid({
            label: "Loops, nested", noun: ["loop", "loops"], columns: columns(model), rows: loops.length, forest,
            search: (query) => {
                const matches = ofFunction(query);
                return (row) => (loops[row].function >= 0 && matches(loops[row].function)) || model.loopName(row).toLowerCase().includes(query);
            },
            open: (row) => go(`loop/${row}`),
        });
        return pane(list, (row) => show(model, forest, row), () => go("loops"));
    },
};
