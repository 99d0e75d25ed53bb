// SPDX-License-Identifier: MIT
// A flame graph: contexts below each other, as wide as their share. Laid out by d3-hierarchy; what would be narrower than a point is left out.
import { hierarchy, partition } from "d3-hierarchy";
import { h } from "./dom.js";
import { count, many, share } from "./format.js";
import { functionColour } from "./colours.js";

const LINE = 20;
const NARROWEST = 1 / 2000; // of the width

/** What a flame graph is made of: { root, children(node), name(node), value(node), self(node), parent(node), colour(node) }. */
export function contextTree(model) {
    const { contexts } = model.data;
    const roots = model.rootContexts;
    const sum = roots.reduce((total, row) => total + contexts.inclusive[row], 0);
    const ALL = -1; // above the first contexts of the threads
    return {
        root: ALL,
        children: (node) => (node === ALL ? roots : [...model.childContexts.of(node)]),
        parent: (node) => (node === ALL ? null : contexts.parent[node]),
        value: (node) => (node === ALL ? sum : contexts.inclusive[node]),
        self: (node) => (node === ALL ? 0 : contexts.self[node]),
        name: (node) => (node === ALL ? "all" : model.functionName(contexts.function[node])),
        link: (node) => (node === ALL || contexts.function[node] < 0 ? null : `#function/${contexts.function[node]}`),
        colour: (node) => (node === ALL ? "var(--hue-none)" : functionColour(contexts.function[node])),
        calls: (node) => (node === ALL ? 0 : contexts.calls[node]),
    };
}

/** Modules and their functions: what is left where contexts were not recorded. */
export function functionTree(model) {
    const { functions, modules } = model.data;
    const ofModule = modules.name.map(() => []);
    functions.self.forEach((self, row) => self > 0 && functions.module[row] >= 0 && ofModule[functions.module[row]].push(row));
    const sum = (rows) => rows.reduce((total, row) => total + functions.self[row], 0);
    const isModule = (node) => node < -1; // -2 - its row
    const moduleRow = (node) => -2 - node;
    const used = modules.name.flatMap((_, row) => (ofModule[row].length ? [-2 - row] : []));
    const totals = ofModule.map(sum);
    return {
        root: -1,
        children: (node) => (node === -1 ? used : isModule(node) ? ofModule[moduleRow(node)] : []),
        parent: (node) => (node === -1 ? null : isModule(node) ? -1 : -2 - functions.module[node]),
        value: (node) => (node === -1 ? totals.reduce((total, value) => total + value, 0) : isModule(node) ? totals[moduleRow(node)] : functions.self[node]),
        self: (node) => (node < 0 ? 0 : functions.self[node]),
        name: (node) => (node === -1 ? "all" : isModule(node) ? modules.name[moduleRow(node)] : functions.name[node]),
        link: (node) => (node < 0 ? null : `#function/${node}`),
        colour: (node) => (node < 0 ? "var(--hue-none)" : functionColour(node)),
        calls: (node) => (node < 0 ? 0 : functions.calls[node]),
    };
}

function layout(tree, root) {
    const least = tree.value(root) * NARROWEST;
    const top = hierarchy(root, (node) => tree.children(node).filter((child) => tree.value(child) > least && tree.value(child) > 0));
    top.each((node) => {
        node.value = tree.value(node.data);
    });
    top.sort((a, b) => b.value - a.value || a.data - b.data);
    return partition()(top).descendants();
}

/** Where a tree becomes interesting: below what only calls one other, as programs begin. */
export function heartOf(tree) {
    let node = tree.root;
    for (;;) {
        const next = tree.children(node).find((child) => tree.value(child) > 0.95 * tree.value(node));
        if (next === undefined || !tree.children(next).length)
            return node;
        node = next;
    }
}

/**
 * flame(tree, { label, total, start, most, chosen(node) }): { element, zoom(node), find(text) }. `start`: what is shown first; `most`: how deep
 * at most; `chosen`: called with what was zoomed to, by click or Enter; without it the graph cannot be zoomed and links instead.
 */
export function flame(tree, { label, total, start = tree.root, most = Infinity, chosen }) {
    const box = h("div", { class: "flame", role: "tree", "aria-label": label });
    let root = start;
    let nodes = [];
    let active = 0;
    let query = "";

    function cell(node, i) {
        const value = node.value;
        const text = `${tree.name(node.data)}: ${share(value / total)}, ${count(value)} instructions (${share(tree.self(node.data) / total)} in itself)`;
        const matches = query && tree.name(node.data).toLowerCase().includes(query);
        return h("div", {
            class: `flame-cell${matches ? " match" : query ? " no-match" : ""}`, role: "treeitem", tabindex: i === active ? "0" : "-1", "data-i": i, "aria-level": node.depth + 1, "aria-label": text, title: text,
            "aria-expanded": node.children ? "true" : null, "aria-selected": String(node.data === root),
            style: { left: `${(node.x0 * 100).toFixed(4)}%`, width: `${((node.x1 - node.x0) * 100).toFixed(4)}%`, top: `${node.depth * LINE}px`, "--hue": tree.colour(node.data) },
        }, node.x1 - node.x0 > 0.012 ? tree.name(node.data) : "");
    }

    function draw() {
        nodes = layout(tree, root).filter((node) => node.depth < most);
        active = Math.min(active, nodes.length - 1);
        const deepest = nodes.reduce((depth, node) => Math.max(depth, node.depth), 0);
        box.style.height = `${(deepest + 1) * LINE}px`;
        box.replaceChildren(...nodes.map(cell));
    }

    function choose(node) {
        if (chosen)
            chosen(node.data === root && root !== tree.root ? tree.parent(root) : node.data);
        else if (tree.link(node.data))
            location.hash = tree.link(node.data);
    }

    function focus(node) {
        if (!node)
            return;
        box.children[active]?.setAttribute("tabindex", "-1");
        active = nodes.indexOf(node);
        box.children[active].setAttribute("tabindex", "0");
        box.children[active].focus();
    }

    box.addEventListener("click", (event) => {
        const at = event.target.closest("[data-i]");
        if (at)
            choose(nodes[Number(at.dataset.i)]);
    });
    box.addEventListener("keydown", (event) => {
        const node = nodes[active];
        const beside = (step) => node.parent?.children[node.parent.children.indexOf(node) + step];
        const keys = { ArrowUp: () => focus(node.parent), ArrowDown: () => focus(node.children?.find((child) => child.depth < most)), ArrowLeft: () => focus(beside(-1)), ArrowRight: () => focus(beside(1)), Home: () => focus(nodes[0]), Enter: () => choose(node), " ": () => choose(node) };
        if (event.key === "Escape" && chosen && root !== tree.root)
            chosen(tree.root);
        else if (event.key in keys)
            keys[event.key]();
        else
            return;
        event.preventDefault();
    });
    draw();
    return {
        element: box,
        zoom(node) {
            const hadFocus = box.contains(document.activeElement);
            root = node;
            active = 0;
            draw();
            if (hadFocus)
                box.firstElementChild.focus();
        },
        /** Marks what matches; returns a sentence. */
        find(text) {
            query = text.trim().toLowerCase();
            draw();
            const outermost = (node) => tree.name(node.data).toLowerCase().includes(query) && !node.ancestors().slice(1).some((above) => tree.name(above.data).toLowerCase().includes(query));
            const found = query ? nodes.filter(outermost) : [];
            return query ? `${many(nodes.filter((node) => tree.name(node.data).toLowerCase().includes(query)).length, "match", "matches")}, ${share(found.reduce((sum, node) => sum + node.value, 0) / total)}` : "";
        },
    };
}
