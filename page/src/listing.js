// SPDX-License-Identifier: MIT
// Code with its counts: a function by its source lines or by its instructions, a block, a range of source.
import { choice, h } from "./dom.js";
import { bar, count, many } from "./format.js";

const AROUND = 2; // lines of source shown before and behind executed ones
const LONGEST = 3000; // rows of a listing, unless asked for more

/** What a listing's shares are of: cycles where a machine ran, else instructions. */
function weighing(model) {
    const { code, instructions } = model.data;
    if (model.measured && instructions.some((insn) => insn.cycles > 0))
        return { by: "cycles", total: model.measured, weight: (row) => instructions[code.insn[row]]?.cycles ?? 0 };
    return { by: "instructions", total: model.total, weight: (row, executed) => executed };
}

/**
 * The instructions of blocks by address, each once: [{ row, block, offset, at, count, weight }]; a block without kept code is one row (row -1).
 * Executions of an instruction in several blocks (they may overlap) are added.
 */
function instructionsOf(model, blocks) {
    const { blocks: table, code } = model.data;
    const { weight } = weighing(model);
    const found = new Map();
    const add = (key, item, executed) => {
        const known = found.get(key);
        if (known)
            known.count += executed;
        else
            found.set(key, { ...item, at: parseInt(item.offset, 16), count: executed });
    };
    for (const block of new Set(blocks)) {
        const rows = model.codeOf(block);
        if (!rows.length)
            add(`block ${block}`, { row: -1, block, offset: table.offset[block], insns: table.insns[block] }, table.count[block]);
        for (const row of rows)
            add(`${table.module[block]} ${code.offset[row]}`, { row, block, offset: code.offset[row], insns: 1 }, table.count[block]);
    }
    for (const item of found.values())
        item.weight = weight(item.row, item.count * item.insns);
    return [...found.values()].sort((a, b) => table.module[a.block] - table.module[b.block] || a.at - b.at);
}

// Where instructions of a function were not kept, counts of its lines are still known: those between the first and the last that is.
function addLines(model, file, lines) {
    const numbers = [...lines.keys()];
    const first = Math.min(...numbers), last = Math.max(...numbers);
    for (const [line, row] of model.linesOfFile(file))
        if (line > first && line < last && !lines.has(line))
            lines.set(line, { count: model.data.lines.executions[row], weight: 0 });
}

/** Executed lines of instructions: by file, line → { count: of the instruction executed most, weight }. */
function linesOf(model, instructions) {
    const { code, blocks } = model.data;
    const files = new Map();
    for (const item of instructions) {
        const file = item.row < 0 ? blocks.file[item.block] : code.file[item.row];
        const line = item.row < 0 ? blocks.line[item.block] : code.line[item.row];
        if (file < 0 || !line)
            continue;
        if (!files.has(file))
            files.set(file, new Map());
        const known = files.get(file).get(line) ?? { count: 0, weight: 0 };
        files.get(file).set(line, { count: Math.max(known.count, item.count), weight: known.weight + item.weight });
    }
    return files;
}

const greatest = (items) => items.reduce((most, item) => Math.max(most, item.weight), 0);

// --- rows of a listing; `scale`: what shares are of, and the weight of the longest bar ---
const sourceText = (text) => h("code", { class: "source" }, text);

function lineRow(model, file, line, known, scale) {
    return h("tr", { class: known ? null : "cold" },
        h("td", { class: "number" }, known ? count(known.count) : ""),
        h("td", { class: "share" }, known?.weight > 0 ? bar(known.weight / scale.total, null, scale.most / scale.total) : ""),
        h("td", { class: "number place" }, String(line)),
        h("td", null, sourceText(model.source(file, line) ?? "")));
}

const noteRow = (text) => h("tr", null, h("td", { colspan: "4", class: "note" }, text));
const gapRow = () => h("tr", { class: "gap", "aria-hidden": "true" }, h("td", { colspan: "4" }, "⋯"));
const titleRow = (text) => h("tr", { class: "title" }, h("th", { colspan: "4", scope: "rowgroup" }, text));

function instructionRow(model, item, scale, here) {
    const { code, blocks, names } = model.data;
    const { row } = item;
    const link = row >= 0 && code.insn[row] >= 0;
    const text = row < 0 ? `(${many(blocks.insns[item.block], "instruction")}, not kept)` : code.text[row];
    return h("tr", { class: here === row && row >= 0 ? "here" : "insn" },
        h("td", { class: "number" }, count(item.count)),
        h("td", { class: "share" }, item.weight ? bar(item.weight / scale.total, null, scale.most / scale.total) : ""),
        h("td", { class: "number place", title: model.inFunction(blocks.function[item.block], item.offset) }, item.offset),
        h("td", null, link ? h("a", { href: `#instruction/${code.insn[row]}`, class: "code" }, text) : h("code", null, text),
            row >= 0 && code.inlined[row] >= 0 && h("span", { class: "note inlined", title: names[code.inlined[row]] }, ` in ${names[code.inlined[row]]}`)));
}

/** Source lines of a file, with gaps where nothing was executed for long. */
function fileRows(model, file, lines, scale) {
    const numbers = [...lines.keys()].sort((a, b) => a - b);
    const rows = [];
    let next = 0; // the first line that was not shown yet
    for (const line of numbers) {
        const first = Math.max(line - AROUND, next, 1);
        if (first > next && next)
            rows.push(() => gapRow());
        for (let at = first; at <= line; at++)
            if (lines.has(at) || model.source(file, at) !== null)
                rows.push(() => lineRow(model, file, at, lines.get(at), scale));
        next = line + 1;
        for (let at = line + 1; at <= line + AROUND && !lines.has(at) && model.source(file, at) !== null; at++) {
            rows.push(() => lineRow(model, file, at, null, scale));
            next = at + 1;
        }
    }
    return rows;
}

// None where no source is known at all: then instructions say more.
function sourceRows(model, own, instructions, total) {
    const files = linesOf(model, instructions);
    if (files.has(own) && instructions.some((item) => item.row < 0))
        addLines(model, own, files.get(own));
    const scale = { total, most: greatest([...files.values()].flatMap((lines) => [...lines.values()])) };
    const weightOf = (lines) => [...lines.values()].reduce((sum, line) => sum + line.weight, 0);
    const has = (file) => model.data.sources[file] !== null;
    if (![...files.keys()].some(has))
        return [];
    const order = [...files].sort((a, b) => (b[0] === own) - (a[0] === own) || weightOf(b[1]) - weightOf(a[1]));
    return order.flatMap(([file, lines]) => [() => titleRow(model.filePath(file)),
        ...(has(file) ? fileRows(model, file, lines, scale) : [() => noteRow(`${many(lines.size, "line")}; the source is not available`)])]);
}

// The line that instructions are of, above them: with its text, or as wide as there is room.
function aboveRow(model, file, line, place) {
    const text = model.source(file, line);
    const at = (props) => h("td", { title: model.filePath(file), ...props }, place);
    return h("tr", { class: "above" }, h("td", { colspan: "2" }), text ? [at({ class: "number place" }), h("td", null, sourceText(text))] : at({ class: "place", colspan: "2" }));
}

function assemblyRows(model, instructions, total, here) {
    const { code, blocks } = model.data;
    const scale = { total, most: greatest(instructions) };
    const rows = [];
    // Stubs of the procedure linkage table are parts of what they call, in the modules that call it.
    const partOf = (f, block) => (f >= 0 && blocks.module[block] !== model.data.functions.module[f] ? `${model.functionName(f)}: its stub in ${model.moduleName(blocks.module[block])}` : model.functionName(f));
    const several = new Set(instructions.map((item) => partOf(blocks.function[item.block], item.block))).size > 1;
    let shown = "";
    let end = 0;
    let inside;
    for (const item of instructions) {
        const file = item.row < 0 ? blocks.file[item.block] : code.file[item.row];
        const line = item.row < 0 ? blocks.line[item.block] : code.line[item.row];
        const place = model.line(file, line);
        const f = blocks.function[item.block];
        const part = partOf(f, item.block);
        if (several && part !== inside)
            rows.push(() => titleRow(part));
        else if (end && item.at > end)
            rows.push(() => gapRow());
        if (place && place !== shown)
            rows.push(() => aboveRow(model, file, line, place));
        rows.push(() => instructionRow(model, item, scale, here));
        shown = place;
        end = Math.max(part === inside ? end : 0, parseInt(blocks.offset[item.block], 16) + blocks.size[item.block]);
        inside = part;
    }
    return rows;
}

/** A table of rows (functions that make them), cut when it is very long. */
function listingTable(label, rows, by) {
    const body = h("tbody", null, rows.slice(0, LONGEST).map((row) => row()));
    const more = rows.length > LONGEST && h("button", {
        type: "button", onclick: () => {
            body.append(...rows.slice(LONGEST).map((row) => row()));
            more.remove();
        },
    }, `Show ${count(rows.length - LONGEST)} more rows`);
    return h("div", { class: "scroll-x", tabindex: "0", role: "group", "aria-label": label },
        h("table", { class: "listing" },
            h("thead", null, h("tr", null, h("th", { class: "number" }, "Executed"), h("th", { class: "share" }, by === "cycles" ? "Cycles" : "Instr."), h("th", { class: "number" }, "Where"), h("th", null, "Code"))),
            body), more);
}

// Whether at least half of what was executed can be read as source.
function mostHasSource(model, instructions) {
    const { code, sources } = model.data;
    const weigh = (items) => items.reduce((sum, item) => sum + item.count, 0);
    return 2 * weigh(instructions.filter((item) => item.row >= 0 && sources[code.file[item.row]])) >= weigh(instructions);
}

// The reader's choice holds for all listings.
let preferred = "source";

/** A listing of blocks with a choice of source and assembly. `here`: the row of `code` to mark. */
export function listing(model, blocks, { label, file = -1, here = -1, mode } = {}) {
    const instructions = instructionsOf(model, blocks);
    const { by, total } = weighing(model);
    const source = sourceRows(model, file, instructions, total);
    const place = h("div");
    const draw = (wanted) => {
        place.replaceChildren(wanted === "source" && source.length ? listingTable(label, source, by) : listingTable(label, assemblyRows(model, instructions, total, here), by));
        place.querySelector(".here")?.setAttribute("aria-current", "true");
    };
    const start = source.length && mostHasSource(model, instructions) ? mode ?? preferred : "assembly";
    draw(start);
    const choose = (wanted) => {
        preferred = wanted;
        draw(wanted);
    };
    return h("div", { class: "listing-box" }, source.length > 0 && choice("Show", [["source", "Source"], ["assembly", "Assembly"]], start, choose), place);
}

/** The lines of a block, to read along: { place, text, insn }. Source where there is any (and `mode` is not "assembly"), else instructions; of those before `end`. */
export function blockTexts(model, block, { mode, end = Infinity } = {}) {
    const { code } = model.data;
    if (mode !== "assembly") {
        const lines = model.blockLines(block, end).filter(({ file, line }) => model.source(file, line) !== null);
        if (lines.length)
            return lines.map(({ file, line }) => ({ place: model.line(file, line), text: model.source(file, line).trim() }));
    }
    const rows = model.codeOf(block).filter((row) => parseInt(code.offset[row], 16) < end);
    if (rows.length)
        return rows.map((row) => ({ place: code.offset[row], text: code.text[row], insn: code.insn[row] }));
    return [{ place: model.data.blocks.offset[block], text: `(${many(model.data.blocks.insns[block], "instruction")})` }];
}
