// SPDX-License-Identifier: MIT
import { card, facts, h, table } from "../dom.js";
import { bar, count, decimals, share, short } from "../format.js";
import { causeColour, CAUSES, functionColour, STAGES, stageColour } from "../colours.js";
import { causesOf, chart, Plot, stack, tick } from "../chart.js";
import { grid } from "../grid.js";
import { listing } from "../listing.js";
import { pane } from "../pane.js";
import { functionCell, functionLink, functionSearch } from "./functions.js";

const MOST_DOTS = 1500;
const OF_CAUSES = { colour: causeColour, meaning: CAUSES, label: "Cause" };
const OF_STAGES = { colour: stageColour, meaning: STAGES, label: "Stage" };

/** Mean cycles from fetch to retirement; the load is part of the execution. */
const latency = (insn) => Object.keys(STAGES).reduce((sum, stage) => sum + (insn.latency?.[stage] ?? 0), 0);

/** Not known where hardware counted cycles between samples. */
const times = (retired) => (retired === null ? "" : count(retired));

const place = (model, insn) => model.line(insn.file, insn.line) || insn.address;

function columns(model) {
    const { instructions } = model.data;
    return [
        { label: "Cycles", number: true, width: "8.5rem", value: (row) => instructions[row].cycles, cell: (row) => bar(instructions[row].share, functionColour(instructions[row].function), instructions[0].share) },
        { label: "Instruction", value: (row) => instructions[row].text, cell: (row) => h("code", { class: "name", title: model.instructionText(row) }, model.instructionText(row)) },
        { label: "Causes", low: true, width: "9rem", cell: (row) => causeBar(instructions[row]) },
        { label: "Times", number: true, low: true, width: "7rem", value: (row) => instructions[row].retired ?? 0, cell: (row) => times(instructions[row].retired) },
        { label: "Each", number: true, width: "4.5rem", value: (row) => instructions[row].cpi ?? 0, cell: (row) => decimals(instructions[row].cpi ?? 0), title: "Cycles an execution" },
        { label: "Latency", number: true, low: true, width: "5.5rem", value: (row) => latency(instructions[row]), cell: (row) => decimals(latency(instructions[row])), title: "Mean cycles from fetch until it retires" },
        { label: "Where", low: true, width: "12rem", value: (row) => place(model, instructions[row]) },
        { label: "Function", low: true, width: "11rem", value: (row) => model.functionName(instructions[row].function), cell: (row) => functionCell(model, instructions[row].function) },
    ];
}

/** What the colours of the causes are: those that matter in the table. */
function legendOf(model) {
    const sums = {};
    for (const { causes } of model.data.instructions)
        for (const [cause, cycles] of causesOf(causes ?? {}))
            sums[cause] = (sums[cause] ?? 0) + cycles;
    const shown = Object.keys(CAUSES).filter((cause) => sums[cause] > 0);
    return shown.length > 0 && h("ul", { class: "legend low" }, h("li", { class: "note" }, "Causes:"), shown.map((cause) => h("li", { title: CAUSES[cause] }, h("span", { class: "swatch", style: { background: causeColour(cause) } }), cause)));
}

function causeBar(insn) {
    const parts = causesOf(insn.causes ?? {});
    return parts.length > 0 && stack(parts, parts.reduce((sum, [, value]) => sum + value, 0));
}

/** A stacked bar with its parts as a table below. */
function bars(title, parts, options, unit) {
    const total = parts.reduce((sum, [, value]) => sum + value, 0);
    return total > 0 && card(title, null, stack(parts, total, options), table(title, [{ label: options.label }, { label: unit, number: true }, { label: "Share", number: true }, { label: "Meaning" }],
        parts.filter(([, value]) => value > 0).map(([name, value]) => [h("span", null, h("span", { class: "swatch", style: { background: options.colour(name) } }), name), decimals(value), share(value / total), h("span", { class: "note" }, options.meaning[name] ?? "")])));
}

function estimate(value, form = short) {
    const least = (of) => form(Math.max(0, of)); // below it is chance
    return value && `${least(value.value)} (${least(value.low)} – ${least(value.high)})`;
}

function waits(model, insn) {
    return insn.waits?.length > 0 && card("Waits for results of", null, h("ul", { class: "items" }, insn.waits.map((wait) => {
        const row = model.instructionRows.get(wait.producer);
        const text = row === undefined ? wait.producer : `${place(model, model.data.instructions[row])}  ${model.instructionText(row)}`;
        return h("li", null, row === undefined ? text : h("a", { href: `#instruction/${row}`, class: "code" }, text), h("span", { class: "note" }, ` ${count(wait.count)} times, ${decimals(wait.cycles / (wait.count || 1))} cycles each`));
    })));
}

function show(model, row) {
    const insn = model.data.instructions[row];
    const { code } = model.data;
    const stages = Object.keys(STAGES).map((stage) => [stage, insn.latency?.[stage] ?? 0]);
    const rates = Object.entries(insn.rates ?? {});
    const here = insn.block < 0 ? -1 : model.codeOf(insn.block).find((at) => code.insn[at] === row) ?? -1;
    return {
        title: h("code", null, model.instructionText(row)),
        body: h("div", null,
            insn.why && h("p", { class: "why" }, insn.why),
            facts([
                ["Where", place(model, insn)],
                ["Function", functionLink(model, insn.function)],
                insn.inlined && ["Inlined from", insn.inlined],
                ["Cycles", `${count(insn.cycles)} (${share(insn.share)})`],
                insn.retired !== null && ["Executed", `${count(insn.retired)} times`],
                ["Each", `${decimals(insn.cpi ?? 0)} cycles`],
                insn.wrong_path > 0 && ["On wrong paths", count(insn.wrong_path)],
                insn.wasted_slots && ["Wasted slots", estimate(insn.wasted_slots)],
                insn.near_ipc && ["IPC nearby", estimate(insn.near_ipc, decimals)],
                insn.seen !== "exact" && ["From samples of", insn.seen],
                insn.samples > 0 && ["Samples", count(insn.samples)],
                ["Address", insn.address],
            ]),
            bars("Cycles it is responsible for", causesOf(insn.causes ?? {}), OF_CAUSES, "Cycles"),
            bars("Where an execution spends its time", stages, OF_STAGES, "Cycles"),
            rates.length > 0 && card("Events", null, table("Events of an execution", [{ label: "Event" }, { label: "Share of executions", number: true }], rates.map(([name, value]) => [name, share(value)]))),
            waits(model, insn),
            insn.function >= 0 && card("The function", null, listing(model, model.blocksOf(insn.function), { label: `Code of ${model.functionName(insn.function)}`, here, mode: "assembly" }))),
    };
}

function scatter(model, go) {
    const { instructions } = model.data;
    const data = instructions.map((insn, row) => ({ row, insn, latency: latency(insn), wasted: insn.wasted_slots?.value ?? 0 })).filter((dot) => dot.wasted > 0 && dot.latency > 0).slice(0, MOST_DOTS);
    if (!data.length)
        return null;
    return chart({
        title: "Latency against wasted slots", description: "An instruction far to the right takes long; one far up wastes slots: only that costs time. Estimates from pairs of samples, in the colours of functions.", height: 240,
        draw: (width) => {
            const plot = Plot.plot({
                width, height: 240, marginLeft: 52, marginBottom: 36,
                x: { type: "log", label: "mean cycles from fetch to retirement", tickFormat: tick, ticks: Math.max(2, Math.min(6, width / 90)) },
                y: { type: "log", label: "wasted slots", tickFormat: tick, ticks: 4, grid: true, nice: true },
                color: { type: "identity" },
                marks: [
                    Plot.dot(data, { x: "latency", y: "wasted", r: 3, fill: (dot) => functionColour(dot.insn.function), fillOpacity: 0.65 }),
                    Plot.tip(data, Plot.pointer({ x: "latency", y: "wasted", title: (dot) => `${model.instructionText(dot.row)}\n${place(model, dot.insn)} ${model.brief(dot.insn.function)}\n${decimals(dot.latency)} cycles, ${short(dot.wasted)} wasted slots` })),
                ],
            });
            plot.addEventListener("click", () => plot.value && go(`instruction/${plot.value.row}`));
            return plot;
        },
        columns: [{ label: "Instruction" }, { label: "Latency", number: true }, { label: "Wasted slots", number: true }],
        rows: [...data].sort((a, b) => b.wasted - a.wasted).slice(0, 50).map((dot) => [h("a", { href: `#instruction/${dot.row}`, class: "code" }, model.instructionText(dot.row)), decimals(dot.latency), count(dot.wasted)]),
    });
}

export const instructionsView = {
    id: "instructions", label: "Instructions", item: "instruction", size: (model) => model.data.instructions.length,
    present: (model) => model.data.instructions.length > 0,
    create(model, go) {
        const { instructions } = model.data;
        const ofFunction = functionSearch(model);
        const list = grid({
            label: "Instructions, worst first", noun: ["instruction", "instructions"], columns: columns(model), rows: instructions.length,
            search: (query) => {
                const matches = ofFunction(query);
                return (row) => instructions[row].text.toLowerCase().includes(query) || (instructions[row].function >= 0 && matches(instructions[row].function)) || place(model, instructions[row]).toLowerCase().includes(query) || instructions[row].why?.toLowerCase().includes(query);
            },
            open: (row) => go(`instruction/${row}`), legend: legendOf(model),
        });
        const view = pane(list, (row) => show(model, row), () => go("instructions"));
        return { element: h("div", { class: "view" }, h("div", { class: "above-list" }, scatter(model, go)), view.element), open: view.open };
    },
};
