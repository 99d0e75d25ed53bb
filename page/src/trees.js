// SPDX-License-Identifier: MIT
// What flame graphs are made of: trees of functions with what was executed in them. A node is { f, value, self, calls, parent, children }; `children`
// are made when they are first asked for, heaviest first.
import { countsOf, partsOf } from "./processes.js";

/** `make(node)` gives a list of what children are: { f, value, … }. */
function grow(parent, what, make) {
    let children;
    const node = { f: -1, part: null, self: 0, calls: 0, row: -1, ...what, parent };
    Object.defineProperty(node, "children", {
        get: () => (children ??= make(node).filter((child) => child.value > 0).sort((a, b) => b.value - a.value || a.f - b.f).map((child) => grow(node, child, child.make ?? make))),
    });
    return node;
}

const sum = (list, value) => list.reduce((total, item) => total + value(item), 0);

const NOTHING = { self: 0, inclusive: 0, calls: 0 };

// What contexts have: of the whole run, or of a part of it.
function wholeCounts(model) {
    const { self, inclusive, calls } = model.data.contexts;
    return { rows: self.keys(), of: (row) => ({ self: self[row], inclusive: inclusive[row], calls: calls[row] }) };
}

const partCounts = (counts) => ({ rows: counts.keys(), of: (row) => counts.get(row) ?? NOTHING });

/** Above what `make` gives a node for each part of the run (processes or threads); `make(part, i)` gives { make } of its children. */
function splitTree(model, split, make) {
    const parts = partsOf(model, split);
    return grow(null, { name: "all", value: sum(parts, (part) => part.instructions) },
        () => parts.map((part, i) => ({ part, name: part.name, value: part.instructions, make: make(part, i) })));
}

function below(model, counts) {
    const { contexts } = model.data;
    const ofRow = (row) => {
        const { self, inclusive, calls } = counts.of(row);
        return { row, f: contexts.function[row], name: model.functionName(contexts.function[row]), value: inclusive, self, calls };
    };
    return (node) => Array.from(node.row < 0 ? model.rootContexts : model.childContexts.of(node.row), ofRow);
}

// What `make` gives, from where it becomes interesting.
function fromHeart(make) {
    return (node) => {
        const heart = node.row < 0 ? heartOf(grow(null, { value: node.value }, make)) : node;
        return heart.row < 0 || heart === node ? make(node) : [{ row: heart.row, f: heart.f, name: heart.name, value: heart.value, self: heart.self, calls: heart.calls, make }];
    };
}

/** Functions below their callers; with `split` ("processes", "threads") below each of these. `row`: of contexts. */
export function contextTree(model, split) {
    if (split)
        return splitTree(model, split, (_, i) => fromHeart(below(model, partCounts(countsOf(model, split, "context")[i]))));
    return grow(null, { name: "all", value: sum(model.rootContexts, (row) => model.data.contexts.inclusive[row]) }, below(model, wholeCounts(model)));
}

/** The node of a context. */
export function nodeOfContext(model, root, row) {
    const { parent } = model.data.contexts;
    const chain = [];
    for (let at = row; at >= 0; at = parent[at])
        chain.unshift(at);
    return chain.reduce((node, at) => node?.children.find((child) => child.row === at), root) ?? root;
}

// Contexts by a function of each: [{ f, name, value, entries }]; an entry is { row, value }, and belongs to one of them.
function byFunction(model, entries, counts) {
    const { contexts } = model.data;
    const groups = new Map();
    for (const entry of entries) {
        const f = contexts.function[entry.row];
        if (!groups.has(f))
            groups.set(f, { f, name: model.functionName(f), value: 0, self: 0, calls: 0, entries: [] });
        const group = groups.get(f), { self, calls } = counts.of(entry.row);
        group.value += entry.value;
        group.self += self;
        group.calls += calls;
        group.entries.push(entry);
    }
    return [...groups.values()];
}

// Their callers, and so on; what an entry is worth stays with it.
function callersOf(model, node, counts) {
    const { parent } = model.data.contexts;
    return byFunction(model, node.entries.filter((entry) => parent[entry.row] >= 0).map((entry) => ({ row: parent[entry.row], value: entry.value })), counts);
}

function inverted(model, counts) {
    const entries = Array.from(counts.rows, (row) => ({ row, value: counts.of(row).self })).filter((entry) => entry.value > 0);
    return (node) => (node.entries ? callersOf(model, node, counts) : byFunction(model, entries, counts));
}

/** Functions by what is executed in themselves, and above each its callers; with `split` below each of these. */
export function invertedTree(model, split) {
    if (split)
        return splitTree(model, split, (_, i) => inverted(model, partCounts(countsOf(model, split, "context")[i])));
    return grow(null, { name: "all", value: sum(model.data.contexts.self, (value) => value) }, inverted(model, wholeCounts(model)));
}

/** A function with its callers (`upward`), or with what it calls. A call of it by itself counts once. */
export function aroundFunction(model, f, upward) {
    const { contexts } = model.data;
    const within = new Uint8Array(contexts.parent.length); // below a context of it, or one
    const entries = [];
    for (let row = 0; row < within.length; row++) { // parents come first
        const above = contexts.parent[row] >= 0 && within[contexts.parent[row]];
        within[row] = above || contexts.function[row] === f ? 1 : 0;
        if (within[row] && !above)
            entries.push({ row, value: contexts.inclusive[row] });
    }
    const counts = wholeCounts(model);
    const callees = (node) => byFunction(model, node.entries.flatMap(({ row }) => Array.from(model.childContexts.of(row), (child) => ({ row: child, value: contexts.inclusive[child] }))), counts);
    const [top] = byFunction(model, entries, counts);
    return top ? grow(null, top, upward ? (node) => callersOf(model, node, counts) : callees) : null;
}

/** Modules and their functions: what is left where contexts were not recorded. With `split` the functions of each part. */
export function functionTree(model, split) {
    const { functions, modules } = model.data;
    if (split)
        return splitTree(model, split, (_, i) => () => Array.from(countsOf(model, split, "function")[i], ([f, { self, calls }]) => ({ f, name: model.functionName(f), value: self, self, calls, make: () => [] })));
    const ofModule = modules.name.map(() => []);
    functions.self.forEach((self, row) => self > 0 && functions.module[row] >= 0 && ofModule[functions.module[row]].push(row));
    const leaves = (node) => ofModule[node.module].map((row) => ({ f: row, name: functions.name[row], value: functions.self[row], self: functions.self[row], calls: functions.calls[row], make: () => [] }));
    const used = modules.name.flatMap((name, module) => (ofModule[module].length ? [{ module, name, value: sum(ofModule[module], (row) => functions.self[row]), make: leaves }] : []));
    return grow(null, { name: "all", value: sum(used, (module) => module.value) }, () => used);
}

/** The contexts of two versions (diff/model.js), as wide as one of them (`side`) has it; without contexts modules and functions. */
export function differential(model, side) {
    const { contexts, functions, modules } = model.data;
    const top = { name: "all", old: model.before, now: model.total };
    if (contexts.parent.length) {
        const ofRow = (row) => ({ row, f: contexts.function[row], name: model.functionName(contexts.function[row]), value: contexts[`${side}_inclusive`][row], old: contexts.old_inclusive[row], now: contexts.new_inclusive[row],
            oldSelf: contexts.old_self[row], nowSelf: contexts.new_self[row], oldCalls: contexts.old_calls[row], nowCalls: contexts.new_calls[row] });
        return grow(null, { ...top, value: sum(model.rootContexts, (row) => contexts[`${side}_inclusive`][row]) }, (node) => Array.from(node.row < 0 ? model.rootContexts : model.childContexts.of(node.row), ofRow));
    }
    const calls = (row, which) => model.data.diff.functions[row][which] ?? 0;
    const leaf = (row) => ({ f: row, name: functions.name[row], value: functions[side][row], old: functions.old[row], now: functions.new[row], oldSelf: functions.old[row], nowSelf: functions.new[row], oldCalls: calls(row, "old_calls"), nowCalls: calls(row, "new_calls"), make: () => [] });
    const ofModule = (module) => [...functions.name.keys()].filter((row) => functions.module[row] === module).map(leaf);
    const nodes = modules.name.map((name, module) => {
        const leaves = ofModule(module);
        return { module, name, value: sum(leaves, (node) => node.value), old: sum(leaves, (node) => node.old), now: sum(leaves, (node) => node.now), make: () => leaves };
    });
    return grow(null, { ...top, value: sum(nodes, (node) => node.value) }, () => nodes);
}

/** Where a tree becomes interesting: below what does little but call one other, as programs begin. */
export function heartOf(root) {
    let node = root;
    for (;;) {
        const [next] = node.children;
        if (!next || next.value <= 0.95 * node.value || !next.children.length)
            return node;
        node = next;
    }
}

const starts = new WeakMap();

/** Where its flame graph begins: at its heart, or where there are several roots (threads), at that of each. */
export function startOf(root) {
    if (!starts.has(root)) {
        const heart = heartOf(root);
        const hearts = root.children.map((child) => (child.row < 0 ? child : heartOf(child)));
        starts.set(root, heart === root && hearts.some((child, i) => child !== root.children[i]) ? { ...root, children: hearts } : heart);
    }
    return starts.get(root);
}

/** What is in contexts that the page has not got: of large runs it has the heaviest. */
export const contextsLeftOut = (model) => model.once("contexts left out", () => model.total - sum(model.data.contexts.self, (self) => self));

/** What functions whose names have `query` in them execute, with what they call: { functions, contexts, value }. Nothing counts twice. */
export function searchContexts(model, query) {
    const { contexts, functions } = model.data;
    const matches = functions.name.map((name) => name.toLowerCase().includes(query));
    const within = new Uint8Array(contexts.parent.length);
    const found = new Set();
    let value = 0, n = 0;
    for (let row = 0; row < within.length; row++) {
        const above = contexts.parent[row] >= 0 && within[contexts.parent[row]];
        const hit = contexts.function[row] >= 0 && matches[contexts.function[row]];
        within[row] = above || hit ? 1 : 0;
        if (hit) {
            found.add(contexts.function[row]);
            n++;
            value += above ? 0 : contexts.inclusive[row];
        }
    }
    return { functions: found.size, contexts: n, value };
}

/** The same where contexts were not recorded. */
export function searchFunctions(model, query) {
    const { name, self } = model.data.functions;
    const rows = [...name.keys()].filter((row) => self[row] > 0 && name[row].toLowerCase().includes(query));
    return { functions: rows.length, contexts: 0, value: sum(rows, (row) => self[row]) };
}
