// SPDX-License-Identifier: MIT
// The views of two compared profiles.
import { append, card, facts, h, table } from "../dom.js";
import { count, decimals, many, share, short } from "../format.js";
import { grid } from "../grid.js";
import { pane } from "../pane.js";
import { functionCell, functionLink } from "../views/functions.js";
import { changeBar, pair, percent, signed, toneLegend } from "./change.js";
import { changes } from "./findings.js";
import { diffFlameView, flameOf } from "./flame.js";

const MOST = 8, DEPTH = 10, MOST_LINES = 300;

const mostOf = (list) => list.reduce((most, { delta }) => Math.max(most, Math.abs(delta)), 0);
const by = (list) => (key) => (row) => list[row][key] ?? 0;

// Columns that every list has: the change first, ordered by its size.
function changeColumns(list) {
    const most = mostOf(list), value = by(list);
    return [
        { label: "Change", number: true, width: "10rem", most: "34cqw", value: (row) => Math.abs(list[row].delta), cell: (row) => changeBar(list[row].delta, most), title: "Instructions, new less old" },
        { label: "Old", number: true, width: "6.5rem", low: 2, value: value("old"), cell: (row) => short(list[row].old ?? 0) },
        { label: "New", number: true, width: "6.5rem", low: 2, value: value("new"), cell: (row) => short(list[row].new ?? 0) },
    ];
}

const status = (model, row) => (model.statusOf(row) ? h("span", { class: "note" }, ` ${model.statusOf(row)}`) : null);

const nameCell = (model, row) => append(functionCell(model, row), [status(model, row)]);

const found = (model, texts) => (query) => (row) => texts[row].toLowerCase().includes(query);

// --- functions ---
function lineTable(model, rows) {
    const { lines } = model.data.diff;
    const texts = model.data.line_texts;
    const hasSource = rows.some((row) => texts[row] !== "");
    const place = ({ file, old_line: old, new_line: now }) => (now === 0 || old === 0 ? "(no line)" : now === null ? `${model.base(file)}:${old} removed` : old === null ? `${model.base(file)}:${now} new` : old === now ? `${model.base(file)}:${now}` : `${model.base(file)}:${old} → ${now}`);
    return table("Lines", [{ label: "Change", number: true }, { label: "Old", number: true, low: true }, { label: "New", number: true, low: true }, { label: "Line" }, hasSource && { label: "Source" }].filter(Boolean),
        rows.map((row) => [h("span", { class: lines[row].delta > 0 ? "grew" : lines[row].delta < 0 ? "shrank" : null }, signed(lines[row].delta)), short(lines[row].old), short(lines[row].new), h("span", null, place(lines[row]), lines[row].inlined && h("span", { class: "note" }, ` ${lines[row].inlined}`)), ...(hasSource ? [h("code", { class: "source" }, texts[row])] : [])]));
}

const mean = (side) => (side?.executions ? side.iterations / side.executions : 0);
const trips = (form) => ({ old, new: now }) => pair(form(old), form(now), String);

// What changed of a loop: how often it goes round, else how often it runs.
function loopNote(loop) {
    const each = trips((side) => decimals(mean(side)))(loop), times = trips((side) => short(side?.executions ?? 0))(loop);
    return each.includes("→") ? `${each} iterations` : times.includes("→") ? `${times} times` : "";
}

function showFunction(model, row) {
    const f = model.data.diff.functions[row];
    const lines = (model.linesOfFunction.get(row) ?? []).filter((at) => { // all of it without a line says nothing more
        const { delta, new_line: now, old_line: old } = model.data.diff.lines[at];
        return delta !== 0 && (now || old || delta !== f.delta);
    });
    const loops = model.loopsOf.get(row) ?? [];
    const { loops: all } = model.data;
    return {
        title: model.brief(row),
        body: h("div", null,
            model.brief(row) !== f.name && h("pre", { class: "command", tabindex: "0", "aria-label": "Its whole name" }, f.name),
            facts([
                ["Change", h("span", { class: f.delta > 0 ? "grew" : f.delta < 0 ? "shrank" : null }, `${signed(f.delta, count)} (${percent(f.delta, f.old)})`)],
                ["Old", count(f.old)], ["New", count(f.new)],
                ["Of the whole change", model.change ? share(f.delta / model.change) : "–"],
                ["Calls", pair(f.old_calls ?? 0, f.new_calls ?? 0)],
                f.old_cycles !== undefined && ["Cycles, as measured", pair(Math.round(f.old_cycles ?? 0), Math.round(f.new_cycles ?? 0))],
                model.statusOf(row) && ["It", model.statusOf(row)],
                f.file && ["Where", `${f.file}:${f.line}`],
                ["Module", f.module],
            ]),
            lines.length > 0 && card("Lines that changed", lines.length > MOST_LINES && h("span", { class: "note" }, `the ${MOST_LINES} that changed most of ${count(lines.length)}`), lineTable(model, lines.slice(0, MOST_LINES))),
            loops.length > 0 && card("Loops", null, table("Loops", [{ label: "Loop" }, { label: "Executions", number: true }, { label: "Iterations each", number: true }, { label: "Change", number: true, low: true }],
                loops.map((at) => [h("a", { href: `#loop/${at}` }, model.loopName(at)), trips((side) => short(side?.executions ?? 0))(all[at]), trips((side) => decimals(mean(side)))(all[at]), signed(all[at].delta)])))),
    };
}

const functionsView = {
    id: "functions", label: "Functions", item: "function", size: (model) => model.data.functions.name.length,
    present: (model) => model.data.functions.name.length > 0,
    create(model, go) {
        const list = model.data.diff.functions;
        const texts = list.map((f) => `${f.name}\n${f.old_name ?? ""}\n${f.file}\n${f.module}\n${f.status}`);
        return pane(grid({
            label: "Functions, those that changed most first", noun: ["function", "functions"], rows: list.length, search: found(model, texts), open: (row) => go(`function/${row}`),
            columns: [
                ...changeColumns(list),
                { label: "%", number: true, width: "6.4rem", low: 2, value: (row) => (list[row].old ? list[row].delta / list[row].old : Infinity), cell: (row) => percent(list[row].delta, list[row].old), title: "Of what it was" },
                { label: "Function", value: (row) => list[row].name, cell: (row) => nameCell(model, row) },
                { label: "Calls", number: true, low: true, width: "11rem", value: by(list)("new_calls"), cell: (row) => pair(list[row].old_calls ?? 0, list[row].new_calls ?? 0, short) },
                { label: "Where", low: true, width: "12rem", value: (row) => model.line(model.data.functions.file[row], list[row].line) || list[row].module },
            ],
        }), (row) => showFunction(model, row), () => go("functions"));
    },
};

// --- lines ---
const linesView = {
    id: "lines", label: "Lines",
    present: (model) => model.data.diff.lines.some((line) => line.delta !== 0 && (line.new_line || line.old_line)),
    create(model) {
        const list = model.data.diff.lines, texts = model.data.line_texts;
        const rows = Uint32Array.from([...list.keys()].filter((row) => list[row].delta !== 0)).sort((a, b) => Math.abs(list[b].delta) - Math.abs(list[a].delta) || a - b);
        const place = (row) => (list[row].new_line || list[row].old_line ? `${model.base(list[row].file)}:${list[row].new_line ?? list[row].old_line}` : "(no line)");
        const names = list.map((line, row) => `${model.functionName(line.function)}\n${place(row)}\n${line.inlined}\n${texts[row]}`);
        return { element: h("div", { class: "view" }, grid({
            label: "Lines, those that changed most first", noun: ["line", "lines"], rows, search: found(model, names),
            columns: [
                ...changeColumns(list),
                { label: "Line", width: "13rem", most: "44cqw", value: place, cell: (row) => h("span", { class: "name", title: list[row].file }, place(row), h("span", { class: "note" }, list[row].old_line === null ? " new" : list[row].new_line === null ? " removed" : list[row].old_line !== list[row].new_line ? ` was ${list[row].old_line}` : "")) },
                { label: "Source", low: 2, value: (row) => texts[row], cell: (row) => h("code", { class: "name", title: texts[row].trim() }, texts[row].trim()) },
                { label: "Function", low: true, width: "15rem", value: (row) => model.functionName(list[row].function), cell: (row) => functionLink(model, list[row].function) },
            ],
        }).element), open() {} };
    },
};

// --- loops ---
const loopsView = {
    id: "loops", label: "Loops", item: "loop", size: (model) => model.data.loops.length,
    present: (model) => model.data.loops.length > 0,
    create(model, go) {
        const { loops } = model.data;
        const texts = loops.map((loop, row) => `${model.loopName(row)}\n${model.functionName(loop.function)}`);
        const side = (name, of) => (row) => of(loops[row][name]);
        const most = mostOf(loops);
        const state = ({ old, new: now }) => (old && now ? "" : now ? " new" : " removed");
        return pane(grid({
            label: "Loops, those that changed most first", noun: ["loop", "loops"], rows: loops.length, search: found(model, texts), open: (row) => go(`loop/${row}`),
            columns: [
                { label: "Change", number: true, width: "10rem", most: "34cqw", value: (row) => Math.abs(loops[row].delta), cell: (row) => changeBar(loops[row].delta, most), title: "Instructions of its own, new less old" },
                { label: "Loop", value: (row) => model.loopName(row), cell: (row) => h("span", { class: "name", title: `${model.functionName(loops[row].function)} ${model.loopName(row)}` }, model.loopName(row), h("span", { class: "note" }, `${state(loops[row])} ${model.tag(loops[row].function)}`)) },
                { label: "Executions", number: true, low: true, width: "13rem", value: side("new", (loop) => loop?.executions ?? 0), cell: (row) => trips((loop) => short(loop?.executions ?? 0))(loops[row]) },
                { label: "Iterations each", number: true, low: 2, width: "11rem", value: side("new", mean), cell: (row) => trips((loop) => decimals(mean(loop)))(loops[row]) },
                { label: "Old", number: true, low: true, width: "6.5rem", value: side("old", (loop) => loop?.self ?? 0), cell: (row) => short(loops[row].old?.self ?? 0) },
                { label: "New", number: true, low: true, width: "6.5rem", value: side("new", (loop) => loop?.self ?? 0), cell: (row) => short(loops[row].new?.self ?? 0) },
            ],
        }), (row) => {
            const { old, new: now, delta, function: f } = loops[row];
            const rows = [["Executions", (loop) => count(loop.executions)], ["Iterations", (loop) => count(loop.iterations)], ["Iterations each", (loop) => decimals(mean(loop))], ["Instructions of its own", (loop) => count(loop.self)], ["Where", (loop) => (loop.line ? `${model.base(loop.file)}:${loop.line}` : "")]];
            return { title: [(now ?? old).line ? "Loop at " : "", model.loopName(row)], body: h("div", null, facts([["In", h("span", { class: "chips" }, functionLink(model, f))], ["Change", `${signed(delta, count)} instructions`]]),
                card("Old and new", null, table("Old and new", [{ label: "" }, { label: "Old", number: true }, { label: "New", number: true }], rows.map(([label, of]) => [label, old ? of(old) : "–", now ? of(now) : "–"])))) };
        }, () => go("loops"));
    },
};

// --- paths ---
const stepText = (model, { function: name, file, line }) => (line ? `${model.base(file)}:${line}` : name);

// Its lines, the file once: "main x.c:3 7 9".
function pathText(model, path) {
    let last = "";
    return path.steps.map((step) => {
        const text = step.line && step.file === last ? String(step.line) : stepText(model, step);
        last = step.line ? step.file : "";
        return text;
    }).join(" ");
}

const pathsView = {
    id: "paths", label: "Paths", item: "path", size: (model) => model.data.diff.paths.length,
    present: (model) => model.data.diff.paths.length > 0,
    create(model, go) {
        const list = model.data.diff.paths;
        const texts = list.map((path) => pathText(model, path));
        const names = list.map((path, row) => `${texts[row]}\n${path.steps.map((step) => step.function).join("\n")}\n${path.status}`);
        const state = ({ status: what }) => (what === "added" ? "new " : what === "removed" ? "removed " : "");
        return pane(grid({
            label: "Paths, those that changed most first", noun: ["path", "paths"], rows: list.length, search: found(model, names), open: (row) => go(`path/${row}`),
            columns: [
                ...changeColumns(list),
                { label: "Path", value: (row) => texts[row], cell: (row) => h("span", { class: "name", title: texts[row] }, h("span", { class: "note" }, state(list[row])), texts[row]) },
                { label: "Function", low: true, width: "13rem", value: (row) => list[row].steps[0]?.function ?? "", cell: (row) => h("span", { class: "name", title: list[row].steps[0]?.function }, model.tagOf(list[row].steps[0]?.function ?? "")) },
                { label: "Executions", number: true, low: true, width: "12rem", value: by(list)("new_executions"), cell: (row) => pair(list[row].old_executions, list[row].new_executions, short) },
            ],
        }), (row) => {
            const path = list[row];
            return { title: `Path in ${model.tagOf(path.steps[0]?.function ?? "(no function)")}`, body: h("div", null, facts([
                ["Change", `${signed(path.delta, count)} (${percent(path.delta, path.old)})`], ["Old", count(path.old)], ["New", count(path.new)], ["Executions", pair(path.old_executions, path.new_executions)], ["Kind", path.kind], path.status !== "same" && ["It is", path.status === "added" ? "new" : path.status]]),
            card("Along the lines", null, h("ol", { class: "items" }, path.steps.map((step) => h("li", null, h("code", null, step.line ? `${model.base(step.file)}:${step.line}` : "(no line)"), h("span", { class: "note" }, ` ${model.tagOf(step.function)}`)))))) };
        }, () => go("paths"));
    },
};

// --- overview ---
const side = (label, run) => h("p", { class: "side" }, h("strong", null, label), " ", h("code", null, run.command_text), h("span", { class: "note" }, [run.name, run.started > 0 && new Date(run.started * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }), run.engine && `engine ${run.engine}, ${run.arch}`].filter(Boolean).map((text) => `  ·  ${text}`).join("")));

function totals(model) {
    return card("The whole run", null, table("Totals", [{ label: "" }, { label: "Old", number: true }, { label: "New", number: true }, { label: "Change", number: true, low: true }, { label: "%", number: true }],
        model.data.diff.totals.map((total) => [total.name, ...[total.old, total.new].map((value) => h("span", { title: count(value) }, short(value))), h("span", { class: total.delta > 0 ? "grew" : total.delta < 0 ? "shrank" : null, title: signed(total.delta, count) }, signed(total.delta)), percent(total.delta, total.old)])));
}

/** What changed most: [{ delta, href, name, title, note }]. */
function ranked(title, view, all, rows) {
    const most = mostOf(rows);
    return rows.length > 0 && card(title, all > rows.length && h("a", { class: "more", href: `#${view}` }, `all ${count(all)}`),
        h("ol", { class: "items ranked" }, rows.map((row) => h("li", null, changeBar(row.delta, most), h("a", { href: row.href, class: "name", title: row.title ?? row.name }, row.name), row.note && h("span", { class: "note" }, row.note)))));
}

const overviewView = {
    id: "overview", label: "What changed", present: () => true,
    create(model) {
        const { functions, paths } = model.data.diff;
        const { loops } = model.data;
        const first = (list) => [...list.keys()].filter((row) => list[row].delta !== 0).slice(0, MOST);
        const graph = model.total > 0 ? flameOf(model, DEPTH) : null;
        return {
            element: h("div", { class: "view overview" },
                h("section", { class: "sides", "aria-label": "What is compared" }, side("Old", model.data.old), side("New", model.data.new)),
                changes(model),
                h("div", { class: "cards" },
                    ranked("Functions", "functions", functions.length, first(functions).map((row) => ({ delta: functions[row].delta, href: `#function/${row}`, name: model.tag(row), title: functions[row].name, note: model.statusOf(row) || percent(functions[row].delta, functions[row].old) }))),
                    ranked("Loops", "loops", loops.length, first(loops).map((row) => ({ delta: loops[row].delta, href: `#loop/${row}`, name: model.loopName(row), title: model.functionName(loops[row].function), note: loopNote(loops[row]) }))),
                    ranked("Paths", "paths", paths.length, first(paths).map((row) => ({ delta: paths[row].delta, href: `#path/${row}`, name: pathText(model, paths[row]), note: pair(paths[row].old_executions, paths[row].new_executions, short) }))),
                    totals(model),
                    graph && card(`What changed, by calls${graph.start ? `: below ${graph.start}` : ""}`, h("a", { class: "more", href: "#flame" }, "larger"), graph.element, toneLegend()))),
            open() {},
        };
    },
};

export const DIFF_VIEWS = [overviewView, functionsView, diffFlameView, linesView, loopsView, pathsView];
