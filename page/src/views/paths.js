// SPDX-License-Identifier: MIT
import { append, card, choice, facts, h } from "../dom.js";
import { bar, count, many, share } from "../format.js";
import { functionColour } from "../colours.js";
import { chart, Plot, tick } from "../chart.js";
import { grid } from "../grid.js";
import { blockTexts } from "../listing.js";
import { pane } from "../pane.js";
import { functionCell, functionLink, functionSearch } from "./functions.js";

const HOWS = { // how a block is left: an arrow, words, and how much deeper in calls what follows is
    fell: ["↓", "falls through", 0],
    taken: ["↷", "branch taken", 0],
    called: ["⤼", "calls; the path goes on behind the call", 0],
    entered: ["→", "calls, into", 1],
    returned: ["←", "returns", -1],
    end: ["…", "the path ends here", 0],
};
const LONGEST = 400; // steps drawn, unless asked for more

/** Branches of a path as little marks: taken ones are high. */
function outcomes(text) {
    const shown = text.length > 48 ? `${text.slice(0, 48)}…` : text;
    return h("span", { class: "outcomes", title: `${text} (1: taken)` }, shown);
}

function cpi(paths, row) {
    return paths.cycles[row] / (paths.measured_instructions[row] || 1);
}

function columns(model) {
    const { paths, kinds } = model.data;
    const most = paths.instructions.reduce((greatest, value) => Math.max(greatest, value), 0);
    const metric = kinds.some((kind) => kind.metric !== "executions");
    const timed = paths.measured.some((n) => n > 0);
    const each = (row) => paths.measured[row] ? paths.cycles[row] / paths.measured[row] : 0;
    return [
        { label: "Share", number: true, width: "8.5rem", value: (row) => paths.instructions[row], cell: (row) => bar(paths.instructions[row] / model.total, functionColour(paths.function[row]), most / model.total), title: "Instructions executed along it, of all" },
        { label: "Count", number: true, low: 2, width: "7.5rem", value: (row) => paths.count[row], cell: (row) => count(paths.count[row]) },
        metric && { label: "Events", number: true, low: true, width: "7.5rem", value: (row) => paths.events[row], cell: (row) => count(paths.events[row]) },
        { label: "Function", value: (row) => model.functionName(paths.function[row]), cell: (row) => append(functionCell(model, paths.function[row]), [h("span", { class: "note" }, ` ${model.pathPlace(row)}`)]) },
        { label: "Each", number: true, low: true, width: "5rem", value: (row) => paths.instructions[row] / (paths.count[row] || 1), cell: (row) => count(paths.instructions[row] / (paths.count[row] || 1)), title: "Instructions of one execution" },
        timed && { label: "Cycles", number: true, low: true, width: "7.5rem", value: (row) => paths.cycles[row], cell: (row) => paths.measured[row] ? count(paths.cycles[row]) : "", title: "In executions that the machine measured" },
        timed && { label: "Cycles each", number: true, low: true, width: "7.5rem", value: each, cell: (row) => paths.measured[row] ? count(each(row)) : "", title: "Cycles of one execution" },
        timed && { label: "CPI", number: true, low: true, width: "5rem", value: (row) => cpi(paths, row), cell: (row) => paths.measured[row] ? cpi(paths, row).toFixed(2) : "", title: "Cycles an instruction" },
        { label: "Branches", number: true, low: true, width: "6.2rem", value: (row) => paths.length[row], cell: (row) => count(paths.length[row]) },
        { label: "Outcomes", low: true, width: "11rem", cell: (row) => outcomes(paths.outcomes[row]) },
    ].filter(Boolean);
}

function search(model) {
    const { paths } = model.data;
    const ofFunction = functionSearch(model);
    return (query) => {
        const matches = ofFunction(query);
        const found = model.data.functions.name.map((_, row) => matches(row));
        const offset = query.replace(/^.*\+?0x/, "");
        return (row) => found[paths.function[row]] || (offset && paths.offset[row].includes(offset)) || (paths.function[row] < 0 && "(no function)".includes(query));
    };
}

// --- the path, drawn ---
function edgeCount(model, from, to) {
    const { edges } = model.data;
    let along = 0;
    let all = 0;
    for (const edge of model.edgesFrom.of(model.endOf(from))) {
        all += edges.count[edge];
        if (edges.to[edge] === to)
            along += edges.count[edge];
    }
    return along ? `${count(along)} of ${count(all)} times (${share(along / all)})` : "";
}

function step(model, block, how, next, depth, mode, named) {
    const { blocks } = model.data;
    const [arrow, words] = HOWS[how] ?? ["", how];
    const f = block < 0 ? -1 : blocks.function[block];
    const goes = block >= 0 && next >= 0 ? edgeCount(model, block, next) : "";
    return h("li", { class: `step how-${how}`, style: { "--depth": Math.max(0, Math.min(depth, 8)), "--rail": functionColour(f) } },
        h("div", { class: "step-head" }, named && functionLink(model, f),
            block >= 0 && h("span", { class: "note", title: model.blockAddress(block) }, model.blockPlace(block)),
            block >= 0 && h("span", { class: "note right" }, `block executed ${count(blocks.count[block])} times`)),
        h("div", { class: "step-code" }, block < 0 ? "(not known)" : blockTexts(model, block, { mode }).map(({ place, text, insn }) => h("div", null,
            h("span", { class: "place" }, place), insn >= 0 ? h("a", { class: "code", href: `#instruction/${insn}` }, text) : h("code", null, text)))),
        h("div", { class: "step-how" }, h("span", { class: "arrow", "aria-hidden": "true" }, arrow), words, goes && h("span", { class: "note" }, ` ${goes}`)));
}

function drawing(model, row, mode) {
    const { paths, steps, hows, blocks } = model.data;
    const first = paths.first_step[row];
    const length = Math.min(paths.n_steps[row], LONGEST);
    const items = [];
    let depth = 0;
    let last = -2;
    for (let i = 0; i < length; i++) {
        const block = steps.block[first + i];
        const how = hows[steps.how[first + i]];
        const f = block < 0 ? -1 : blocks.function[block];
        items.push(step(model, block, how, i + 1 < length ? steps.block[first + i + 1] : -1, depth, mode, f !== last));
        depth = Math.max(0, depth + (HOWS[how]?.[2] ?? 0));
        last = f;
    }
    return h("ol", { class: "path" }, items, paths.n_steps[row] > length && h("li", { class: "note" }, `… and ${count(paths.n_steps[row] - length)} more blocks`));
}

function show(model, row) {
    const { paths, kinds, steps } = model.data;
    const kind = kinds[paths.kind[row]];
    const place = h("div");
    const blocks = Array.from({ length: paths.n_steps[row] }, (_, i) => steps.block[paths.first_step[row] + i]);
    const hasSource = blocks.some((block) => block >= 0 && model.blockLines(block).some(({ file, line }) => model.source(file, line) !== null));
    const draw = (mode) => place.replaceChildren(drawing(model, row, mode));
    draw("source");
    return {
        title: ["Path in ", functionLink(model, paths.function[row])],
        body: h("div", null,
            facts([
                ["Executed", `${count(paths.count[row])} times`],
                ["Instructions", `${count(paths.instructions[row])} (${share(paths.instructions[row] / model.total)})`],
                ["Each", count(paths.instructions[row] / (paths.count[row] || 1))],
                paths.measured[row] > 0 && ["Cycles", `${count(paths.cycles[row])} in ${many(paths.measured[row], "measured execution")}: CPI ${cpi(paths, row).toFixed(2)}`],
                paths.measured[row] > 0 && ["Where they went", paths.causes[row]],
                kind.metric !== "executions" && [kind.metric, count(paths.events[row])],
                ["Branches", h("span", null, `${paths.length[row]}: `, outcomes(paths.outcomes[row]))],
                ["Start", model.address(paths.module[row], paths.offset[row])],
                ["Kind", kind.kind],
            ]),
            paths.n_steps[row]
                ? card("Block by block", hasSource && choice("Show", [["source", "Source"], ["assembly", "Assembly"]], "source", draw), place)
                : h("p", { class: "note" }, "The blocks of this path were not kept: only the heaviest paths have them.")),
    };
}

// --- how much the first n paths are ---
/** [{ n, share }] at about `points` places, denser where there are few. */
function cumulative(model, kind, points = 240) {
    const { paths } = model.data;
    const weights = [];
    paths.kind.forEach((of, row) => of === kind && weights.push(paths.instructions[row]));
    const heavy = Float64Array.from(weights).sort().reverse();
    const out = [];
    let sum = 0;
    let next = 1;
    for (let n = 1; n <= heavy.length; n++) {
        sum += heavy[n - 1];
        if (n < next && n < heavy.length)
            continue;
        out.push({ n, share: model.total ? sum / model.total : 0 });
        next = Math.max(n + 1, n * heavy.length ** (1 / points));
    }
    return out;
}

function distribution(model, kind) {
    const data = cumulative(model, kind);
    const half = model.pathsOf(kind, 0.5), most = model.pathsOf(kind, 0.9);
    const said = [half > 0 && `${many(half, "path")} ${half === 1 ? "has" : "have"} half of all instructions`, most > 0 && `${count(most)} ${most === 1 ? "has" : "have"} 90%`].filter(Boolean).join("; ");
    return chart({
        title: "How few paths are how much", description: said ? `${said}.` : "Share of all executed instructions that the heaviest paths have together.",
        height: 170,
        draw: (width) => Plot.plot({
            width, height: 170, marginLeft: 42, marginBottom: 34,
            x: { type: "log", label: "paths, heaviest first", tickFormat: tick, ticks: Math.max(2, Math.min(6, width / 90)), domain: [1, Math.max(2, data.at(-1)?.n ?? 2)] },
            y: { label: null, domain: [0, 1], tickFormat: (value) => `${value * 100}%`, grid: true, ticks: 5 },
            marks: [
                Plot.areaY(data, { x: "n", y: "share", fill: "var(--accent)", fillOpacity: 0.12 }),
                Plot.lineY(data, { x: "n", y: "share", stroke: "var(--accent)", strokeWidth: 2, marker: data.length < 30 ? "dot" : null }),
                Plot.tip(data, Plot.pointerX({ x: "n", y: "share", title: (point) => `${many(point.n, "path")}: ${share(point.share)}` })),
            ],
        }),
        columns: [{ label: "Paths", number: true }, { label: "Share", number: true }],
        rows: data.filter((_, i) => i % Math.ceil(data.length / 24) === 0 || i === data.length - 1).map((point) => [count(point.n), share(point.share)]),
    });
}

export const pathsView = {
    id: "paths", label: "Paths", item: "path", size: (model) => model.data.paths.kind.length,
    present: (model) => model.data.paths.kind.length > 0,
    create(model, go) {
        const { paths, kinds } = model.data;
        const rowsOf = (kind) => Uint32Array.from(paths.kind.keys()).filter((row) => paths.kind[row] === kind);
        const plot = h("div", { class: "above-list" });
        let kind = paths.kind[0];
        const choose = (wanted) => {
            kind = wanted;
            plot.replaceChildren(distribution(model, kind));
            list.setRows(rowsOf(kind));
        };
        const kindTool = h("span", { class: "tool" });
        const list = grid({
            label: "Paths, heaviest first", noun: ["path", "paths"], columns: columns(model), rows: rowsOf(kind), search: search(model),
            open: (row) => go(`path/${row}`), tools: kindTool,
        });
        const kindChoice = () => kinds.length > 1 && kindTool.replaceChildren(choice("Kind of paths", kinds.map((entry, i) => [i, entry.kind]), kind, choose));
        kindChoice();
        plot.append(distribution(model, kind));
        const view = pane(list, (row) => show(model, row), () => go("paths"));
        return {
            element: h("div", { class: "view" }, plot, view.element),
            open(row) {
                if (row >= 0 && paths.kind[row] !== kind) {
                    choose(paths.kind[row]);
                    kindChoice();
                }
                view.open(row);
            },
        };
    },
};
