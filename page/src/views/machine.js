// SPDX-License-Identifier: MIT
import { card, choice, h, table } from "../dom.js";
import { count, decimals, share, short } from "../format.js";
import { causeColour, CAUSES } from "../colours.js";
import { causesOf, chart, Plot, stack, tick } from "../chart.js";

const MOST_BARS = 20;
const CHAR = 7.4; // of a label

/** The legend of the causes that a list of rows has. */
function causeLegend(rows) {
    const has = new Set(rows.flatMap((row) => causesOf(row.causes).map(([cause]) => cause)));
    return [...Object.keys(CAUSES)].filter((cause) => has.has(cause)).map((cause) => [cause, causeColour(cause), CAUSES[cause]]);
}

/** Where the cycles of the run went: a bar, and each cause in words. */
function cpiStack(model) {
    const run = model.data.cpi.run[0];
    const causes = causesOf(run.causes).sort((a, b) => b[1] - a[1]);
    return h("div", null, stack(causesOf(run.causes), run.cycles, { label: "CPI stack" }),
        table("CPI stack of the run", [{ label: "Cause" }, { label: "Share", number: true }, { label: "CPI", number: true, low: true }, { label: "Cycles", number: true, low: true }, { label: "Meaning" }],
            causes.map(([cause, cycles]) => [h("span", null, h("span", { class: "swatch", style: { background: causeColour(cause) } }), cause), share(cycles / run.cycles), decimals(cycles / (run.instructions || 1)), count(cycles), h("span", { class: "note" }, CAUSES[cause] ?? "")])));
}

function nameOf(model, row) {
    const loop = row.by === "loop" ? model.data.loops.findIndex(({ target }) => target === row.address) : -1;
    if (loop >= 0)
        return `${model.loopScope(loop) || model.tag(model.data.loops[loop].function)} ${model.loopName(loop)}`;
    const place = `${row.file.replace(/^.*\/(?=[^/])/s, "")}:${row.line}`;
    return row.by === "line" || !row.name ? place : row.by === "loop" && row.file ? `${model.tagOf(row.name)} ${place}` : model.tagOf(row.name);
}

// Rows of one way to divide the run, as stacks whose length are their cycles.
function divided(model, rows, by) {
    const shown = rows.slice(0, MOST_BARS).map((row, i) => ({ ...row, key: i, label: nameOf(model, row) }));
    const parts = shown.flatMap((row) => causesOf(row.causes).map(([cause, cycles]) => ({ key: row.key, cause, cycles, label: row.label, all: row.cycles })));
    const longest = shown.reduce((most, row) => Math.max(most, row.label.length), 0);
    const cut = (text, width) => (text.length * CHAR > width ? `…${text.slice(1 - Math.floor(width / CHAR))}` : text);
    return chart({
        title: `Cycles by ${by}`, description: `The ${shown.length} with most cycles${rows.length > shown.length ? ` of ${count(rows.length)}` : ""}; the number behind a bar is its CPI.`,
        legend: causeLegend(shown),
        draw: (width) => {
            const margin = Math.min(longest * CHAR + 14, width * 0.36);
            return Plot.plot({
                width, height: shown.length * 22 + 40, marginLeft: margin, marginRight: 52, marginTop: 4,
                x: { label: "cycles", grid: true, tickFormat: tick, ticks: Math.max(2, Math.min(6, width / 110)) },
                y: { label: null, type: "band", domain: shown.map((row) => row.key), tickFormat: (key) => cut(shown[key].label, margin - 14), padding: 0.18 },
                color: { type: "identity" },
                marks: [
                    Plot.barX(parts, { y: "key", x: "cycles", fill: (part) => causeColour(part.cause), insetRight: 0.5, title: (part) => `${part.label}\n${part.cause}: ${share(part.cycles / part.all)} (${count(part.cycles)})\n${CAUSES[part.cause] ?? ""}`, order: null }),
                    Plot.text(shown, { y: "key", x: "cycles", text: (row) => decimals(row.cpi), textAnchor: "start", dx: 5 }),
                ],
            });
        },
        columns: [{ label: by }, { label: "Cycles", number: true }, { label: "Share", number: true }, { label: "CPI", number: true }, { label: "Causes" }],
        rows: shown.map((row) => [row.label, count(row.cycles), share(row.share), decimals(row.cpi), causesOf(row.causes).map(([cause, cycles]) => `${cause} ${share(cycles / row.cycles)}`).join(", ")]),
    });
}

function extrapolation(run) {
    const more = run.extrapolated;
    return more && h("p", { class: "note" }, `The whole run: about ${short(more.cycles.value)} cycles, CPI ${decimals(more.cpi.value)} (${decimals(more.cpi.low)} – ${decimals(more.cpi.high)})${more.trusted ? "" : "; from so few windows the interval is not to be trusted"}. What is below is of the windows.`);
}

function stacks(model) {
    const { cpi } = model.data;
    const ways = [["function", cpi.function], ["loop", cpi.loop], ["line", cpi.line]].filter(([, rows]) => rows.length > 0);
    const place = h("div");
    const draw = (by) => place.replaceChildren(divided(model, cpi[by], by));
    if (ways.length)
        draw(ways[0][0]);
    return ways.length > 0 && card("Where the cycles went", choice("By", ways.map(([by]) => [by, `By ${by}`]), ways[0][0], draw), place);
}

function sampling(model) {
    const rows = model.data.sampling;
    const error = (value) => (value === null || value === undefined ? "" : share(value));
    return rows.length > 0 && card("Ways to attribute time, and their errors", null,
        h("p", { class: "note" }, "Of the time, how much is said to be at another place than it was."),
        table("Sampling errors", [{ label: "Way" }, { label: "Instruction", number: true }, { label: "Line", number: true }, { label: "Loop", number: true }, { label: "Function", number: true }, { label: "Samples", number: true }, { label: "Lost", number: true }, { label: "Cost", number: true }],
            rows.map((row) => [row.name, error(row.error_instruction), error(row.error_line), error(row.error_loop), error(row.error_function), row.samples ? count(row.samples) : "", row.samples ? count(row.lost) : "", row.overhead ? share(row.overhead) : ""])));
}

export const machineView = {
    id: "machine", label: "Machine",
    present: (model) => model.data.cpi.run.length > 0 || model.data.sampling.length > 0,
    create(model) {
        const run = model.data.cpi.run[0];
        return {
            element: h("div", { class: "view" },
                run && card(`CPI ${decimals(run.cpi)}${model.data.summary.machine_name ? ` on ${model.data.summary.machine_name}` : ""}: ${count(run.cycles)} cycles, ${count(run.instructions)} instructions${run.extrapolated ? `, in ${count(run.extrapolated.windows)} windows` : ""}`, null, extrapolation(run), cpiStack(model)),
                stacks(model), sampling(model)),
            open() {},
        };
    },
};
