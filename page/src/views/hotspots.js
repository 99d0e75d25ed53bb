// SPDX-License-Identifier: MIT
import { card, facts, h, table } from "../dom.js";
import { bar, count, many, share } from "../format.js";
import { seriesColour } from "../colours.js";
import { chart, Plot, tick } from "../chart.js";
import { blockGraph } from "../graph.js";
import { grid } from "../grid.js";
import { listing } from "../listing.js";
import { pane } from "../pane.js";
import { functionLink } from "./functions.js";

const MOST_LINES = 24; // hot spots in the time line

const named = (model, spot) => `#${spot.id} ${model.functionName(spot.functions[0] ?? -1)}`;

/** When the hot spots (rows) ran, since they were detected: a line each. */
export function timeline(model, rows, compact) {
    const { hotspots } = model.data;
    const names = new Map(rows.map((row) => [row, compact ? `#${hotspots[row].id}` : named(model, hotspots[row])]));
    const label = (text) => (text.length > 18 ? `${text.slice(0, 17)}…` : text);
    const data = rows.flatMap((row) => hotspots[row].slices.map((slice) => ({
        row, from: slice.slice * hotspots[row].slice_width, to: Math.min((slice.slice + 1) * hotspots[row].slice_width, Math.max(model.total, 1)), part: Math.min(1, slice.instructions / hotspots[row].slice_width),
    })));
    const colour = (row) => seriesColour(rows.indexOf(row));
    const line = compact ? 18 : 30;
    return chart({
        small: compact, title: "When they ran", description: compact ? null : "Since each was detected; the higher, the more of that part of the run was executed in its region.",
        draw: (width) => Plot.plot({
            width, height: rows.length * line + 42, marginLeft: compact ? 44 : Math.min(140, width / 4), marginBottom: 38, marginTop: 2, marginRight: 8,
            x: { label: "instructions", domain: [0, Math.max(model.total, 1)], tickFormat: tick, ticks: Math.max(2, Math.min(8, width / 90)) },
            y: { axis: null, domain: [0, 1] }, fy: { label: null, domain: rows, tickFormat: (row) => label(names.get(row)), padding: 0.15, axis: "left" },
            marks: [
                Plot.ruleY(rows, { fy: (row) => row, y: () => 0, stroke: "var(--line)" }),
                Plot.rectY(data, { fy: "row", x1: "from", x2: "to", y1: 0, y2: "part", fill: (slice) => colour(slice.row), inset: 0, title: (slice) => `${names.get(slice.row)}: ${share(slice.part)} of instructions ${count(slice.from)} to ${count(slice.to)}` }),
            ],
            color: { type: "identity" },
        }),
        columns: compact ? null : [{ label: "Hot spot" }, { label: "Detected after", number: true }, { label: "Active slices", number: true }, { label: "Instructions since", number: true }],
        rows: rows.map((row) => [names.get(row), share(hotspots[row].detected_at_instructions / (model.total || 1)), count(hotspots[row].slices.length), count(hotspots[row].after)]),
    });
}

function columns(model) {
    const { hotspots } = model.data;
    const most = hotspots.reduce((greatest, spot) => Math.max(greatest, spot.share), 0);
    return [
        { label: "Share", number: true, width: "8.5rem", value: (row) => hotspots[row].total, cell: (row) => bar(hotspots[row].share, null, most), title: "Instructions executed in its region, in the whole run" },
        { label: "#", number: true, width: "3.5rem", value: (row) => hotspots[row].id },
        { label: "Functions", value: (row) => model.functionName(hotspots[row].functions[0] ?? -1), cell: (row) => {
            const text = hotspots[row].functions.map((f) => model.functionName(f)).join(", ");
            return h("span", { class: "name", title: text }, text);
        } },
        { label: "After", number: true, low: true, width: "5.5rem", value: (row) => hotspots[row].after, cell: (row) => share(hotspots[row].after_share), title: "Since it was detected" },
        { label: "Detected", number: true, low: true, width: "6rem", value: (row) => hotspots[row].detected_at_instructions, cell: (row) => share(hotspots[row].detected_at_instructions / (model.total || 1)), title: "How much of the run was over" },
        { label: "Blocks", number: true, low: true, width: "5rem", value: (row) => hotspots[row].blocks.length },
        { label: "Instr.", number: true, low: true, width: "5rem", value: (row) => hotspots[row].static_instructions, title: "Static instructions of its region" },
        { label: "Detector", low: true, width: "7rem", value: (row) => hotspots[row].detector },
    ];
}

function show(model, row) {
    const spot = model.data.hotspots[row];
    return {
        title: `Hot spot #${spot.id}`,
        body: h("div", null,
            facts([
                ["In its region", `${count(spot.total)} (${share(spot.share)})`],
                ["Since detected", `${count(spot.after)} (${share(spot.after_share)})`],
                ["Detected", `after ${many(spot.detected_at, "branch", "branches")}, ${share(spot.detected_at_instructions / (model.total || 1))} of the run`],
                ["Region", `${many(spot.blocks.length, "block")}, ${many(spot.static_instructions, "instruction")}`],
                ["Functions", h("span", { class: "chips" }, spot.functions.slice(0, 12).map((f) => functionLink(model, f)), spot.functions.length > 12 && ` and ${spot.functions.length - 12} more`)],
                ["Detector", spot.detector],
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
        const list = grid({
            label: "Hot spots, heaviest first", noun: ["hot spot", "hot spots"], columns: columns(model), rows: hotspots.length,
            search: (query) => (row) => hotspots[row].functions.some((f) => model.functionName(f).toLowerCase().includes(query)) || `#${hotspots[row].id}` === query,
            open: (row) => go(`hotspot/${row}`),
        });
        const lines = hotspots.map((_, row) => row).filter((row) => hotspots[row].slices.length).slice(0, MOST_LINES);
        const view = pane(list, (row) => show(model, row), () => go("hotspots"));
        return { element: h("div", { class: "view" }, lines.length > 0 && h("div", { class: "above-list" }, timeline(model, lines, false)), view.element), open: view.open };
    },
};
