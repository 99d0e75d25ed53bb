// SPDX-License-Identifier: MIT
import { card, facts, h, table } from "../dom.js";
import { bar, count, many, share } from "../format.js";
import { chart, Plot, tick } from "../chart.js";
import { blockGraph } from "../graph.js";
import { grid } from "../grid.js";
import { listing } from "../listing.js";
import { pane } from "../pane.js";
import { spotName, spotOf, spotsOf } from "../spots.js";
import { nameOfPid, processesOfPid } from "../processes.js";
import { functionLink } from "./functions.js";
import { pidFact } from "./processes.js";

const MOST_LINES = 24; // hot spots in the time line

const nameAt = (model, { row }) => `#${model.data.hotspots[row].id} ${spotName(model, row)}`;

/** When hot spots (of spotsOf()) ran, since they were detected: a line each. */
export function timeline(model, spots, compact) {
    const { hotspots } = model.data;
    const names = spots.map((spot) => (compact ? `#${hotspots[spot.row].id}` : nameAt(model, spot)));
    const end = Math.max(model.total, 1);
    const data = spots.flatMap((spot, line) => [...spot.slices].map(([slice, part]) => ({ line, part, colour: spot.colour, from: slice * spot.width, to: Math.min((slice + 1) * spot.width, end) })));
    const height = compact ? 18 : 30;
    return chart({
        small: compact, title: "When they ran", description: compact ? null : "Since each was detected; the higher, the more of that part of the run was executed in its region.",
        draw: (width) => {
            const margin = compact ? 34 : Math.min(220, width / 3);
            const fits = Math.floor((margin - 10) / 7.4);
            return Plot.plot({
                width, height: spots.length * height + 42, marginLeft: margin, marginBottom: 38, marginTop: 2, marginRight: compact ? 20 : 8,
                x: { label: "instructions", domain: [0, end], tickFormat: tick, ticks: Math.max(2, Math.min(8, width / 90)) },
                y: { axis: null, domain: [0, 1] }, fy: { label: null, domain: spots.map((_, line) => line), tickFormat: (line) => (names[line].length > fits ? `${names[line].slice(0, fits - 1)}…` : names[line]), padding: 0.15, axis: "left" },
                marks: [
                    Plot.ruleY(spots.map((_, line) => line), { fy: (line) => line, y: () => 0, stroke: "var(--line)" }),
                    Plot.rectY(data, { fy: "line", x1: "from", x2: "to", y1: 0, y2: "part", fill: "colour", inset: 0, shapeRendering: "crispEdges", title: (slice) => `${names[slice.line]}: ${share(slice.part)} of instructions ${count(slice.from)} to ${count(slice.to)}` }),
                ],
                color: { type: "identity" },
            });
        },
        columns: compact ? null : [{ label: "Hot spot" }, { label: "Detected after", number: true }, { label: "Active slices", number: true }, { label: "Instructions since", number: true }],
        rows: spots.map((spot, line) => [names[line], share(hotspots[spot.row].detected_at_instructions / end), count(spot.slices.size), count(hotspots[spot.row].after)]),
    });
}

function columns(model) {
    const { hotspots } = model.data;
    const most = hotspots.reduce((greatest, spot) => Math.max(greatest, spot.share), 0);
    return [
        { label: "Share", number: true, width: "8.5rem", value: (row) => hotspots[row].total, cell: (row) => bar(hotspots[row].share, spotOf(model, row).colour, most), title: "Instructions executed in its region, in the whole run" },
        { label: "#", number: true, width: "3.5rem", low: 2, value: (row) => hotspots[row].id },
        { label: "Hottest", value: (row) => spotName(model, row), cell: (row) => {
            const { rows } = spotOf(model, row);
            return h("span", { class: "name", title: spotName(model, row) }, spotName(model, row), rows.length > 1 && h("span", { class: "note" }, ` and ${many(rows.length - 1, "like it", "like it")}`));
        } },
        { label: "Functions", low: true, value: (row) => model.functionName(hotspots[row].functions[0] ?? -1), cell: (row) => {
            const { functions } = hotspots[row];
            return h("span", { class: "name", title: functions.map((f) => model.functionName(f)).join(", ") }, functions.map((f) => model.tag(f)).join(", "));
        } },
        { label: "After", number: true, low: true, width: "5.5rem", value: (row) => hotspots[row].after, cell: (row) => share(hotspots[row].after_share), title: "Since it was detected" },
        { label: "Detected", number: true, width: "6rem", value: (row) => hotspots[row].detected_at_instructions, cell: (row) => share(hotspots[row].detected_at_instructions / (model.total || 1)), title: "How much of the run was over" },
        { label: "Blocks", number: true, low: true, width: "5rem", value: (row) => hotspots[row].blocks.length },
        { label: "Instr.", number: true, low: true, width: "5rem", value: (row) => hotspots[row].static_instructions, title: "Static instructions of its region" },
        model.data.processes.length > 1 && { label: "Process", low: true, width: "9rem", value: (row) => nameOfPid(model, hotspots[row].pid), cell: (row) => h("span", { class: "name", title: processesOfPid(model, hotspots[row].pid).map(({ name }) => name).join(", ") }, nameOfPid(model, hotspots[row].pid)) },
        { label: "Detector", low: true, width: "7rem", value: (row) => hotspots[row].detector },
    ].filter(Boolean);
}

function show(model, row) {
    const { hotspots } = model.data;
    const spot = hotspots[row];
    const alike = spotOf(model, row).rows.filter((other) => other !== row);
    return {
        title: `Hot spot #${spot.id}: ${spotName(model, row)}`,
        body: h("div", null,
            facts([
                ["In its region", `${count(spot.total)} (${share(spot.share)})`],
                ["Since detected", `${count(spot.after)} (${share(spot.after_share)})`],
                ["Detected", `after ${many(spot.detected_at, "branch", "branches")}, ${share(spot.detected_at_instructions / (model.total || 1))} of the run`],
                ["Region", `${many(spot.blocks.length, "block")}, ${many(spot.static_instructions, "instruction")}`],
                ["Functions", h("span", { class: "chips" }, spot.functions.slice(0, 12).map((f) => functionLink(model, f)), spot.functions.length > 12 && ` and ${spot.functions.length - 12} more`)],
                ["Detector", spot.detector],
                model.data.processes.length > 1 && pidFact(model, "Process", spot.pid),
                alike.length > 0 && ["Nearly the same", h("span", { class: "chips" }, alike.map((other) => h("a", { href: `#hotspot/${other}` }, `#${hotspots[other].id}, ${share(hotspots[other].share)}`)))],
            ]),
            card("Region", null, blockGraph(model, spot.blocks, `Region of hot spot ${spot.id}`)),
            card("Branches that made it hot", null, table("Candidate branches", [{ label: "Branch" }, { label: "Kind" }, { label: "Executed", number: true }, { label: "Taken", number: true }, { label: "Ratio", number: true }],
                spot.candidates.map((branch) => [branch.branch, branch.kind, count(branch.executed), count(branch.taken), share(branch.ratio)]))),
            card("Code", null, listing(model, spot.blocks, { label: `Code of hot spot ${spot.id}` }))),
    };
}

export const hotspotsView = {
    id: "hotspots", label: "Hot spots", item: "hotspot", size: (model) => model.data.hotspots.length,
    present: (model) => model.data.hotspots.length > 0,
    create(model, go) {
        const { hotspots } = model.data;
        const spots = spotsOf(model);
        const list = grid({
            label: "Hot spots in the order of time", noun: ["hot spot", "hot spots"], columns: columns(model), rows: Uint32Array.from(spots, (spot) => spot.row),
            search: (query) => (row) => hotspots[row].functions.some((f) => model.functionName(f).toLowerCase().includes(query)) || spotName(model, row).toLowerCase().includes(query) || `#${hotspots[row].id}` === query,
            open: (row) => go(`hotspot/${row}`),
            legend: hotspots.length > spots.length && h("span", { class: "note" }, `${many(hotspots.length - spots.length, "more is", "more are")} nearly the same as one of these`),
        });
        const lines = spots.filter((spot) => spot.slices.size > 0);
        const heaviest = new Set([...lines].sort((a, b) => hotspots[b.row].total - hotspots[a.row].total).slice(0, MOST_LINES));
        const view = pane(list, (row) => show(model, row), () => go("hotspots"));
        return {
            element: h("div", { class: "view" }, lines.length > 0 && h("div", { class: "above-list" }, timeline(model, lines.filter((spot) => heaviest.has(spot)), false)), view.element),
            open: (row) => view.open(row),
        };
    },
};
