// SPDX-License-Identifier: MIT
import { h } from "../dom.js";
import { count, decimals, share } from "../format.js";
import { seriesColour } from "../colours.js";
import { chart, Plot, tick } from "../chart.js";
import { grid } from "../grid.js";

/** The scheme without its delay: "net:50,after=keep" is of "net,after=keep". */
const family = (scheme) => scheme.replace(/:\d+[kMG]?/, "");

const SYMBOLS = ["circle", "square", "triangle", "diamond", "star", "cross", "wye"];

function rates(model, key, title, description) {
    const { predictions } = model.data;
    const families = [...new Set(predictions.map((entry) => family(entry.scheme)))];
    const data = predictions.map((entry) => ({ delay: Math.max(entry.delay, 0.5), rate: entry[key], family: family(entry.scheme), scheme: entry.scheme })).sort((a, b) => a.delay - b.delay);
    const colour = (point) => seriesColour(families.indexOf(point.family));
    const rate = (value) => `${Number((value * 100).toPrecision(3))}%`;
    const lines = (width) => Plot.plot({
        width, height: 220, marginLeft: 48, marginBottom: 34,
        x: { type: "log", label: "delay", tickFormat: tick, ticks: Math.max(2, Math.min(6, width / 90)), nice: true },
        y: { label: null, grid: true, tickFormat: rate, zero: true, ...(key === "hit_rate" ? { domain: [0, 1] } : {}), ticks: 5 },
        color: { type: "identity" }, symbol: { type: "ordinal", domain: families, range: SYMBOLS },
        marks: [
            Plot.lineY(data, { x: "delay", y: "rate", z: "family", stroke: colour, strokeWidth: 1.8 }),
            Plot.dot(data, { x: "delay", y: "rate", fill: colour, symbol: "family", r: 4 }),
            Plot.tip(data, Plot.pointer({ x: "delay", y: "rate", title: (point) => `${point.scheme}: ${share(point.rate)}` })),
        ],
    });
    const bars = (width) => Plot.plot({ // there is one delay only
        width, height: 44 + 26 * data.length, marginLeft: 130, marginRight: 50, marginBottom: 34,
        x: { label: null, grid: true, tickFormat: rate, ...(key === "hit_rate" ? { domain: [0, 1] } : {}), ticks: Math.max(2, Math.min(5, width / 120)) },
        y: { label: null, type: "band", domain: data.map((point) => point.scheme), padding: 0.2 }, color: { type: "identity" },
        marks: [Plot.barX(data, { y: "scheme", x: "rate", fill: colour }), Plot.text(data, { y: "scheme", x: "rate", text: (point) => share(point.rate), textAnchor: "start", dx: 5 })],
    });
    return chart({
        title, description,
        legend: families.map((name, i) => [name, seriesColour(i)]),
        draw: (width) => (new Set(data.map((point) => point.delay)).size > 1 ? lines(width) : bars(width)),
        columns: [{ label: "Scheme" }, { label: "Rate", number: true }], rows: data.map((point) => [point.scheme, share(point.rate)]),
    });
}

function columns(rows) {
    const number = (label, key, title, form = count) => ({ label, number: true, low: !key.endsWith("_rate"), width: "6.6rem", title, value: (row) => rows[row][key], cell: (row) => form(rows[row][key]) });
    return [
        { label: "Scheme", value: (row) => rows[row].scheme },
        number("Delay", "delay", "What it waits for"),
        number("Hits", "hit_rate", "Executions of hot paths after their prediction, of those of hot paths", share),
        number("Noise", "noise_rate", "Executions of cold predicted paths, of those of hot paths", share),
        number("Missed", "missed_rate", "Executions of hot paths before their prediction", share),
        number("Profiled", "profiled_flow", "Executions of paths that were not predicted, of all", share),
        number("Predicted", "predicted", "Paths"),
        number("Of them hot", "predicted_hot", "Paths"),
        number("Counters", "counters", "Counters that were touched"),
        { label: "Ops/branch", number: true, low: true, width: "7rem", title: "Operations of profiling for each branch of the run", value: (row) => rows[row].operations / (rows[row].branches || 1), cell: (row) => decimals(rows[row].operations / (rows[row].branches || 1)) },
    ];
}

export const predictionsView = {
    id: "predictions", label: "Predictions",
    present: (model) => model.data.predictions.length > 0,
    create(model) {
        const { predictions } = model.data;
        const first = predictions[0];
        const list = grid({
            label: "Prediction schemes", noun: ["scheme", "schemes"], columns: columns(predictions), rows: predictions.length,
            search: (query) => (row) => predictions[row].scheme.toLowerCase().includes(query),
        });
        return {
            element: h("div", { class: "view" },
                h("p", { class: "note" }, `${count(first.hot_paths)} of ${count(first.paths)} paths are hot; they have ${share(first.hot_flow / (first.flow || 1))} of the ${count(first.flow)} executions of paths.`),
                h("div", { class: "columns" },
                    rates(model, "hit_rate", "Hits", "Executions of hot paths that had been predicted, by delay."),
                    rates(model, "noise_rate", "Noise", "Executions of cold paths that had been predicted, relative to those of hot paths, by delay.")),
                list.element),
            open() {},
        };
    },
};
