// SPDX-License-Identifier: MIT
// What the views ask of the data (docs/page.md). Whatever costs time is made when it is first asked for.
import { seriesColour } from "./colours.js";

const hex = (text) => parseInt(text, 16);

/** Whether a function without a name is called so. */
export const isAddress = (name) => /\+0x[0-9a-f]+$/.test(name);

/** Rows grouped by a column: the rows of group g are rows[start[g]] … rows[start[g + 1] - 1], in order. */
class Groups {
    constructor(column, groups) {
        this.start = new Uint32Array(groups + 1);
        for (const group of column)
            if (group >= 0)
                this.start[group + 1]++;
        for (let g = 0; g < groups; g++)
            this.start[g + 1] += this.start[g];
        this.rows = new Uint32Array(this.start[groups]);
        const next = this.start.slice();
        for (let row = 0; row < column.length; row++)
            if (column[row] >= 0)
                this.rows[next[column[row]]++] = row;
    }

    of(group) {
        return group < 0 ? [] : this.rows.subarray(this.start[group], this.start[group + 1]);
    }
}

export class Model {
    #made = new Map();

    constructor(data) {
        this.data = data;
        this.total = data.summary.instructions;
        this.cycles = data.summary.cycles; // of the run, extrapolated where a machine ran in windows
        this.measured = data.cpi.run[0]?.cycles ?? data.summary.cycles; // those that functions, lines and instructions have: in windows, of the windows
    }

    /** `make()`, once. */
    once(name, make) {
        if (!this.#made.has(name))
            this.#made.set(name, make());
        return this.#made.get(name);
    }

    /** How many functions were executed: the first rows. Inlined ones may have nothing in themselves. */
    get executed() {
        const { self, inclusive, calls } = this.data.functions;
        return this.once("executed", () => self.findLastIndex((value, row) => value > 0 || inclusive[row] > 0 || calls[row] > 0) + 1);
    }

    /** By function, what is to be seen of it: what it executes itself, or the code it has, which loops, paths and instructions are of. */
    functionWeights() {
        const { functions, blocks } = this.data;
        const code = new Float64Array(functions.name.length);
        blocks.function.forEach((f, block) => {
            if (f >= 0)
                code[f] += blocks.count[block] * blocks.insns[block];
        });
        return functions.self.map((self, row) => Math.max(self, code[row]));
    }

    /** Of a kind of paths, how many of the heaviest have `part` of all instructions; 0: all together have less. */
    pathsOf(kind, part) {
        const sums = this.once(`sums of paths ${kind}`, () => {
            const { paths } = this.data;
            let sum = 0;
            return Float64Array.from(paths.instructions.filter((_, row) => paths.kind[row] === kind)).sort().reverse().map((value) => (sum += value));
        });
        return sums.findIndex((sum) => sum >= part * this.total) + 1;
    }

    get edgesFrom() {
        return this.once("edgesFrom", () => new Groups(this.data.edges.from, this.data.blocks.offset.length));
    }

    get pathsOfFunction() {
        return this.once("pathsOfFunction", () => new Groups(this.data.paths.function, this.data.functions.name.length));
    }

    get loopsOfFunction() {
        return this.once("loopsOfFunction", () => new Groups(this.data.loops.map((loop) => loop.function), this.data.functions.name.length));
    }

    get childContexts() {
        return this.once("childContexts", () => new Groups(this.data.contexts.parent, this.data.contexts.parent.length));
    }

    get rootContexts() {
        return this.once("rootContexts", () => this.data.contexts.parent.flatMap((parent, row) => (parent < 0 ? [row] : [])));
    }

    /** Rows of `loops` by their `id`. */
    get loopRows() {
        return this.once("loopRows", () => new Map(this.data.loops.map((loop, row) => [loop.id, row])));
    }

    get instructionRows() {
        return this.once("instructionRows", () => new Map(this.data.instructions.map((insn, row) => [insn.address, row])));
    }

    /** Kinds of paths (rows) that were asked for; others come with samples of a machine. */
    get askedKinds() {
        const { kinds, sampling } = this.data;
        return this.once("askedKinds", () => [...kinds.keys()].filter((row) => !sampling.some((sampler) => sampler.name === kinds[row].kind)));
    }

    /** Modules (rows), those with most instructions first. */
    get modulesByWeight() {
        const { instructions } = this.data.modules;
        return this.once("modulesByWeight", () => [...instructions.keys()].sort((a, b) => instructions[b] - instructions[a] || a - b));
    }

    moduleColour(row) {
        return row < 0 ? "var(--hue-none)" : seriesColour(this.once("moduleRanks", () => new Map(this.modulesByWeight.map((module, rank) => [module, rank]))).get(row));
    }

    functionName(row) {
        return row < 0 ? "(no function)" : this.data.functions.name[row];
    }

    /** The name as it fits where there is room: without what is in template arguments and parameters, where it is long. */
    brief(row) {
        return row < 0 ? "(no function)" : this.data.functions.brief[row] || this.data.functions.name[row];
    }

    /** The same where there is little room; names without parts stay whole. */
    tag(row) {
        return row < 0 || !/[<(:]/.test(this.data.functions.name[row]) ? this.functionName(row) : this.data.functions.tag[row] || this.brief(row);
    }

    /** The row of a function by its name, of several the heaviest; or undefined. */
    functionRow(name) {
        return this.once("function rows", () => new Map(this.data.functions.name.map((text, at) => [text, at]).reverse())).get(name);
    }

    /** The short form of a function's name that is a text. */
    tagOf(name) {
        const row = this.functionRow(name);
        return row === undefined ? name : this.tag(row);
    }

    moduleName(row) {
        return row < 0 ? "" : this.data.modules.name[row];
    }

    filePath(row) {
        return row < 0 ? "" : this.data.files.path[row];
    }

    fileName(row) {
        return this.filePath(row).replace(/^.*\/(?=[^/])/s, "");
    }

    /** "file.c:12", or "" where it is not known. */
    line(file, line) {
        return file < 0 || !line ? "" : `${this.fileName(file)}:${line}`;
    }

    /** "" of a function without code of its own: it was inlined everywhere. */
    address(module, offset) {
        if (offset.length === 16 && offset.startsWith("80000000"))
            return "";
        return `${this.moduleName(module)}+0x${offset}`;
    }

    blockAddress(block) {
        return this.address(this.data.blocks.module[block], this.data.blocks.offset[block]);
    }

    /** The name, in short, of the function that a block begins in, inlined or not. */
    blockFunction(block) {
        const { blocks, code, names } = this.data;
        const inlined = blocks.n_code[block] > 0 ? code.inlined[blocks.first_code[block]] : -1;
        return inlined < 0 ? this.tag(blocks.function[block]) : this.tagOf(names[inlined]);
    }

    /** "x.c:3"; where lines are not known, "+0x1f" in a function that has a name, else the address. */
    blockPlace(block) {
        const { file, line, function: functions, module, offset } = this.data.blocks;
        return this.line(file[block], line[block]) || this.offsetIn(functions[block], module[block], offset[block]) || this.blockAddress(block);
    }

    /** "+0x1f", or "" in none, and in those that are called by an address themselves. */
    offsetIn(f, module, offset) {
        if (f < 0 || this.data.functions.module[f] !== module || isAddress(this.functionName(f)))
            return "";
        const at = hex(offset) - hex(this.data.functions.offset[f]);
        return at < 0 ? "" : `+0x${at.toString(16)}`;
    }

    blocksOf(f) {
        const { first_block, n_blocks } = this.data.functions;
        return Array.from({ length: n_blocks[f] }, (_, i) => first_block[f] + i);
    }

    /** The block that a block's branch counts for: of blocks that overlap, the last to begin. */
    endOf(block) {
        const { edges, flows } = this.data;
        const overlap = flows.indexOf("overlap");
        for (let next = block; next !== undefined;) {
            block = next;
            const edge = this.edgesFrom.of(block).find((at) => edges.flow[at] === overlap && edges.to[at] > block);
            next = edge === undefined ? undefined : edges.to[edge];
        }
        return block;
    }

    /** Executed lines of a file: line → row of `lines`. */
    linesOfFile(file) {
        const { lines } = this.data;
        const byFile = this.once("linesOfFile", () => new Groups(lines.file, this.data.files.path.length));
        return new Map([...byFile.of(file)].map((row) => [lines.line[row], row]));
    }

    /** Rows of `code` of a block; none where they were not kept. */
    codeOf(block) {
        const { first_code, n_code } = this.data.blocks;
        return Array.from({ length: n_code[block] }, (_, i) => first_code[block] + i);
    }

    /** The text of a source line, or null. */
    source(file, line) {
        const source = file < 0 ? null : this.data.sources[file];
        return source?.lines[line - source.first] ?? null;
    }

    /** The lines that a block's instructions come from, in order, the same not twice in a row: [{ file, line }]; of those before `end`. */
    blockLines(block, end = Infinity) {
        const { file, line, offset } = this.data.code;
        const lines = [];
        const add = (atFile, atLine) => {
            const last = lines.at(-1);
            if (atLine && (last?.file !== atFile || last.line !== atLine))
                lines.push({ file: atFile, line: atLine });
        };
        for (const row of this.codeOf(block))
            if (hex(offset[row]) < end)
                add(file[row], line[row]);
        if (!lines.length)
            add(this.data.blocks.file[block], this.data.blocks.line[block]);
        return lines;
    }

    /** The name of a place in a function: "main+0x1f". */
    inFunction(f, offset) {
        return f < 0 ? `0x${offset}` : `${this.functionName(f)}+0x${(hex(offset) - hex(this.data.functions.offset[f])).toString(16)}`;
    }

    /** An instruction's text; its addresses without padding. */
    instructionText(row) {
        return this.data.instructions[row].text.replace(/\b0x0+(?=[0-9a-f])/gi, "0x");
    }

    /** The lines that a path begins and ends at: "x.c:3 → 7"; addresses where they are not known. */
    pathPlace(row) {
        const { paths, steps } = this.data;
        const at = (step) => {
            const block = step >= 0 && step < paths.n_steps[row] ? steps.block[paths.first_step[row] + step] : -1;
            const place = block < 0 ? "" : this.blockPlace(block), f = block < 0 ? -1 : this.data.blocks.function[block];
            return place.startsWith("+") && f !== paths.function[row] ? `${this.tag(f)}${place}` : place;
        };
        const first = at(0) || this.address(paths.module[row], paths.offset[row]), last = at(paths.n_steps[row] - 1);
        const [file] = first.split(":"), [lastFile, line] = last.split(":");
        return !last || last === first ? first : `${first} → ${line && file === lastFile ? line : last}`;
    }

    /** "x.c:3-7", as it is written. */
    loopName(row) {
        const loop = this.data.loops[row];
        const place = this.line(loop.file, loop.line);
        const last = loop.last_line > loop.line ? `-${loop.last_line}` : "";
        if (place)
            return `${place}${last}`;
        const [, name, offset] = /^(.*)\+0x([0-9a-f]+)$/s.exec(loop.target) ?? [];
        const f = loop.function, inside = f >= 0 && name === this.moduleName(this.data.functions.module[f]) ? this.offsetIn(f, this.data.functions.module[f], offset) : "";
        return inside ? `${this.tag(f)}${inside}` : loop.target;
    }

    /** The same beside the name of its function: "+0x1f" where lines are not known. */
    loopPlace(row) {
        const name = this.loopName(row), own = this.tag(this.data.loops[row].function);
        return name.startsWith(`${own}+`) ? name.slice(own.length) : name;
    }

    /** The function (row) that a loop is written in, as far as it has a row. */
    loopFunction(row) {
        const { written_in: scope, function: f } = this.data.loops[row];
        return scope && scope !== this.functionName(f) ? this.functionRow(scope) ?? f : f;
    }

    /** The function that a loop is written in where that was inlined, or "". */
    loopScope(row) {
        const { written_in: scope, function: f } = this.data.loops[row];
        return scope && scope !== this.functionName(f) ? this.tagOf(scope) : "";
    }
}
