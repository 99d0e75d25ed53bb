// SPDX-License-Identifier: MIT
// What flame graphs are made of: trees of functions with what was executed in them. A node is { f, value, self, calls, parent, children }; `children`
// are made when they are first asked for, heaviest first.

/** `make(node)` gives a list of what children are: { f, value, … }. */
function grow(parent, what, make) {
    let children;
    const node = { f: -1, self: 0, calls: 0, row: -1, ...what, parent };
    Object.defineProperty(node, "children", {
        get: () => (children ??= make(node).filter((child) => child.value > 0).sort((a, b) => b.value - a.value || a.f - b.f).map((child) => grow(node, child, child.make ?? make))),
    });
    return node;
}

const sum = (list, value) => list.reduce((total, item) => total + value(item), 0);

/** Functions below their callers. `row`: of contexts. */
export function contextTree(model) {
    const { contexts } = model.data;
    const ofRow = (row) => ({ row, f: contexts.function[row], name: model.functionName(contexts.function[row]), value: contexts.inclusive[row], self: contexts.self[row], calls: contexts.calls[row] });
    return grow(null, { name: "all", value: sum(model.rootContexts, (row) => contexts.inclusive[row]) },
        (node) => Array.from(node.row < 0 ? model.rootContexts : model.childContexts.of(node.row), ofRow));
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
function byFunction(model, entries) {
    const { contexts } = model.data;
    const groups = new Map();
    for (const entry of entries) {
        const f = contexts.function[entry.row];
        if (!groups.has(f))
            groups.set(f, { f, name: model.functionName(f), value: 0, self: 0, calls: 0, entries: [] });
        const group = groups.get(f);
        group.value += entry.value;
        group.self += contexts.self[entry.row];
        group.calls += contexts.calls[entry.row];
        group.entries.push(entry);
    }
    return [...groups.values()];
}

// Their callers, and so on; what an entry is worth stays with it.
function callersOf(model, node) {
    const { parent } = model.data.contexts;
    return byFunction(model, node.entries.filter((entry) => parent[entry.row] >= 0).map((entry) => ({ row: parent[entry.row], value: entry.value })));
}

/** Functions by what is executed in themselves, and above each its callers. */
export function invertedTree(model) {
    const { contexts } = model.data;
    const entries = contexts.self.flatMap((value, row) => (value > 0 ? [{ row, value }] : []));
    const total = sum(entries, (entry) => entry.value);
    return grow(null, { name: "all", value: total }, (node) => (node.entries ? callersOf(model, node) : byFunction(model, entries)));
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
    const below = (node) => byFunction(model, node.entries.flatMap(({ row }) => Array.from(model.childContexts.of(row), (child) => ({ row: child, value: contexts.inclusive[child] }))));
    const [top] = byFunction(model, entries);
    return top ? grow(null, top, upward ? (node) => callersOf(model, node) : below) : null;
}

/** Modules and their functions: what is left where contexts were not recorded. */
export function functionTree(model) {
    const { functions, modules } = model.data;
    const ofModule = modules.name.map(() => []);
    functions.self.forEach((self, row) => self > 0 && functions.module[row] >= 0 && ofModule[functions.module[row]].push(row));
    const leaves = (node) => ofModule[node.module].map((row) => ({ f: row, name: functions.name[row], value: functions.self[row], self: functions.self[row], calls: functions.calls[row], make: () => [] }));
    const used = modules.name.flatMap((name, module) => (ofModule[module].length ? [{ module, name, value: sum(ofModule[module], (row) => functions.self[row]), make: leaves }] : []));
    return grow(null, { name: "all", value: sum(used, (module) => module.value) }, () => used);
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
