// SPDX-License-Identifier: MIT
import { card, facts, h } from "../dom.js";
import { bar, count, decimals, many, share, short } from "../format.js";
import { functionColour } from "../colours.js";
import { stackWithLegend } from "../chart.js";
import { grid } from "../grid.js";
import { listing } from "../listing.js";
import { pane } from "../pane.js";
import { blockGraph } from "../graph.js";
import { countsOf, partsOf, splitsOf } from "../processes.js";

const MOST_LISTED = 10; // loops and paths in a function's detail

export const swatch = (row) => h("span", { class: "swatch", style: { background: functionColour(row) }, "aria-hidden": "true" });

// Grids show a shorter name where they are narrow.
const nameParts = (model, row) => [!model.compares && swatch(row), model.tag(row) === model.brief(row) ? model.brief(row) : [h("span", { class: "brief" }, model.brief(row)), h("span", { class: "tag" }, model.tag(row))]];

/** A function's name, in its colour, for a cell of a table. */
export const functionCell = (model, row) => (row < 0 ? h("span", { class: "name" }, "(no function)") : h("span", { class: "name", title: model.functionName(row) }, nameParts(model, row)));

/** A function's name, in its colour, as a link. */
export function functionLink(model, row) {
    return row < 0 ? h("span", { class: "note" }, "(no function)") : h("a", { href: `#function/${row}`, class: "name", title: model.functionName(row) }, nameParts(model, row));
}

/** Matches functions by name, file and module. */
export function functionSearch(model) {
    const { name, file, module } = model.data.functions;
    const texts = model.once("function texts", () => name.map((text, row) => `${text}\n${model.fileName(file[row])}\n${model.moduleName(module[row])}`.toLowerCase()));
    return (query) => (row) => texts[row].includes(query);
}

function columns(model) {
    const { functions } = model.data;
    const known = functions.inclusive.some((value) => value >= 0);
    const mostCycles = functions.cycles.reduce((most, cycles) => Math.max(most, cycles), 0);
    return [
        { label: "Self", number: true, width: "8.5rem", value: (row) => functions.self[row], cell: (row) => bar(functions.self[row] / model.total, functionColour(row), functions.self[0] / model.total), title: "Instructions executed in the function itself" },
        mostCycles > 0 && { label: "Cycles", number: true, width: "8.5rem", low: 2, value: (row) => functions.cycles[row], cell: (row) => bar(functions.cycles[row] / model.measured, null, mostCycles / model.measured), title: "Of the cycles that were modelled" },
        known && { label: "Inclusive", number: true, width: "6rem", low: 2, value: (row) => functions.inclusive[row], cell: (row) => share(functions.inclusive[row] / model.total), title: "With everything it calls" },
        { label: "Function", value: (row) => functions.name[row], cell: (row) => functionCell(model, row) },
        { label: "Instructions", number: true, low: true, width: "9.5rem", value: (row) => functions.self[row], cell: (row) => count(functions.self[row]) },
        { label: "Calls", number: true, low: true, width: "8rem", value: (row) => functions.calls[row], cell: (row) => count(functions.calls[row]) },
        { label: "Where", low: true, width: "14rem", value: (row) => model.line(functions.file[row], functions.line[row]) || model.address(functions.module[row], functions.offset[row]) },
    ].filter(Boolean);
}

const ranked = (rows) => h("ol", { class: "items ranked" }, rows.map(([part, href, text, note]) => h("li", null, bar(...part), h("a", { href, class: "name", title: text }, text), note && h("span", { class: "note" }, note))));

function related(model, row) {
    const found = [...model.loopsOfFunction.of(row)].slice(0, MOST_LISTED);
    const paths = [...model.pathsOfFunction.of(row)].slice(0, MOST_LISTED);
    const { paths: table, loops } = model.data;
    return h("div", { class: "columns" },
        found.length > 0 && card("Loops", null, ranked(found.map((loop) => [[loops[loop].share, null, loops[found[0]].share], `#loop/${loop}`, model.loopPlace(loop), `${short(loops[loop].executions)} × ${decimals(loops[loop].mean)}`]))),
        paths.length > 0 && card("Hot paths", null, ranked(paths.map((path) => [[table.instructions[path] / model.total, null, table.instructions[paths[0]] / model.total], `#path/${path}`, model.pathPlace(path), `${short(table.count[path])} × ${decimals(Math.round(table.instructions[path] / (table.count[path] || 1)))}`]))),
        sharedCard(model, row));
}

function show(model, row) {
    const { functions, cpi } = model.data;
    const place = model.line(functions.file[row], functions.line[row]);
    const blocks = model.blocksOf(row);
    const stalls = cpi.function.find((entry) => entry.name === functions.name[row] && entry.address === model.address(functions.module[row], functions.offset[row])) ??
        cpi.function.find((entry) => entry.name === functions.name[row]);
    const body = h("div", null,
        model.brief(row) !== functions.name[row] && h("pre", { class: "command", tabindex: "0", "aria-label": "Its whole name" }, functions.name[row]),
        facts([
            ["Self", `${count(functions.self[row])} (${share(functions.self[row] / model.total)})`],
            functions.inclusive[row] >= 0 && ["Inclusive", `${count(functions.inclusive[row])} (${share(functions.inclusive[row] / model.total)})`],
            ["Calls", h("span", null, count(functions.calls[row]), model.data.contexts.parent.length > 0 && [" ", h("a", { href: `#flame=sandwich:${row}` }, "callers and callees")])],
            stalls && ["Cycles", `${count(stalls.cycles)} (CPI ${stalls.cpi.toFixed(2)})`],
            ["Where", place ? `${model.filePath(functions.file[row])}:${functions.line[row]}` : model.address(functions.module[row], functions.offset[row])],
            ["Module", model.data.modules.path[functions.module[row]]],
        ]),
        stalls && stackWithLegend(stalls),
        related(model, row),
        card("Code", null, listing(model, blocks, { label: `Code of ${functions.name[row]}`, file: functions.file[row] })),
        blocks.length > 1 && graphCard(model, blocks, functions.name[row]));
    return { title: model.brief(row), body };
}

// Which processes or threads executed it, where several did.
function sharedCard(model, row) {
    const [split] = splitsOf(model)[0] ?? [];
    if (!split)
        return null;
    const first = split === "threads" ? model.data.processes.length : 0; // in the list of processes and threads
    const counts = countsOf(model, split, "function");
    const found = partsOf(model, split).map((part, i) => ({ part, self: counts[i].get(row)?.self ?? 0 })).filter(({ self }) => self > 0).sort((a, b) => b.self - a.self);
    return found.length > 1 && card(`In ${many(found.length, split === "threads" ? "thread" : "process", split)}`, null,
        ranked(found.slice(0, MOST_LISTED).map(({ part, self }) => [[self / (model.data.functions.self[row] || 1), null, found[0].self / (model.data.functions.self[row] || 1)], `#process/${first + part.row}`, part.name, short(self)])),
        found.length > MOST_LISTED && h("p", { class: "note" }, `and ${count(found.length - MOST_LISTED)} more`));
}

// Drawn when it is asked for: layouts of large graphs take a while.
function graphCard(model, blocks, name) {
    const details = h("details", { class: "card", ontoggle: () => {
        if (details.open && details.childElementCount === 1)
            details.append(blockGraph(model, blocks, `Control flow of ${name}`));
    } }, h("summary", null, h("h3", null, "Control flow graph")));
    return details;
}

export const functionsView = {
    id: "functions", label: "Functions", item: "function", size: (model) => model.data.functions.name.length,
    present: (model) => model.executed > 0,
    create(model, go) {
        const list = grid({
            label: "Functions, heaviest first", noun: ["function", "functions"], columns: columns(model), rows: model.executed,
            search: functionSearch(model), open: (row) => go(`function/${row}`),
        });
        return pane(list, (row) => show(model, row), () => go("functions"));
    },
};
