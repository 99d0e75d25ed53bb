// SPDX-License-Identifier: MIT
// What the views of two compared profiles ask: the data (docs/page.md) as tables that the other views' parts know, with `old` and `new` of each row.
import { Model } from "../model.js";

/** Texts, each once: { rows: of each text, texts }. */
function numbered(texts) {
    const rows = new Map();
    const of = texts.map((text) => (text === "" ? -1 : rows.get(text) ?? (rows.set(text, rows.size), rows.size - 1)));
    return { of, texts: [...rows.keys()] };
}

// The columns of a list of objects.
const columns = (list, names) => Object.fromEntries(names.map((name) => [name, list.map((entry) => entry[name])]));

function adapted(data) {
    const { functions, loops, totals } = data.diff;
    const files = numbered(functions.map(({ file }) => file));
    const modules = numbered(functions.map(({ module }) => module));
    const instructions = totals.find(({ name }) => name === "instructions");
    return {
        ...data,
        title: `${data.old.name.replace(/^.*\//, "")} → ${data.new.name.replace(/^.*\//, "")}`,
        run: { command_text: `${data.diff.old} → ${data.diff.new}` },
        summary: { instructions: instructions.new, cycles: null }, cpi: { run: [] },
        files: { path: files.texts }, modules: { name: modules.texts, path: modules.texts },
        functions: { ...columns(functions, ["name", "line", "status", "old", "new", "delta"]), brief: data.briefs, tag: data.tags, module: modules.of, file: files.of, offset: functions.map(() => "0"), self: functions.map((f) => f.new) },
        loops,
    };
}

export class DiffModel extends Model {
    constructor(data) {
        super(adapted(data));
        const { totals } = data.diff;
        this.compares = true; // colours are changes, not functions
        this.before = totals.find(({ name }) => name === "instructions").old;
        this.change = this.total - this.before;
        /** Names of things in addresses, where they are not as those of one profile (address.js). */
        this.names = { path: () => data.diff.paths.map((path) => `${path.kind}:${path.steps.map(({ file, line, function: name }) => (line ? `${this.base(file)}:${line}` : name)).join(",")}`) };
    }

    base(path) {
        return path.replace(/^.*\/(?=[^/])/s, "");
    }

    get linesOfFunction() {
        return this.once("lines of functions", () => this.grouped(this.data.diff.lines));
    }

    get loopsOf() {
        return this.once("loops of functions", () => this.grouped(this.data.loops));
    }

    /** By function (row), rows of a list. */
    grouped(list) {
        const groups = new Map();
        list.forEach((entry, row) => (groups.get(entry.function) ?? groups.set(entry.function, []).get(entry.function)).push(row));
        return groups;
    }

    loopName(row) {
        const { file, line } = this.data.loops[row].new ?? this.data.loops[row].old;
        return file && line ? `${this.base(file)}:${line}` : `loop ${this.loopsOf.get(this.data.loops[row].function).indexOf(row) + 1} of ${this.tag(this.data.loops[row].function)}`;
    }

    /** What is to be said of a function besides its name: "new", "removed, now inlined in main", "was f?". */
    statusOf(row) {
        const { status, old_name: name, inlined_in: inlined } = this.data.diff.functions[row];
        return { added: inlined ? `new, was inlined in ${inlined}` : "new", removed: inlined ? `removed, now inlined in ${inlined}` : "removed", renamed: `was ${name}?`, signature: name ? `was ${name}` : "", same: "" }[status] ?? "";
    }
}
