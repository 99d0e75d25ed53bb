// SPDX-License-Identifier: MIT
import { h } from "../dom.js";
import { bar, count } from "../format.js";
import { contextTree, flame, functionTree } from "../flame.js";
import { grid } from "../grid.js";
import { functionLink } from "./functions.js";

/** The tree of a model's flame graph: contexts, or where there are none, functions. */
export const treeOf = (model) => (model.data.contexts.parent.length ? contextTree(model) : functionTree(model));

// From the outermost context to this one.
function crumbs(tree, node, go) {
    const chain = [];
    for (let at = node; at !== null; at = tree.parent(at))
        chain.unshift(at);
    return h("nav", { class: "crumbs", "aria-label": "Zoomed to" }, chain.flatMap((at, i) => [
        i > 0 && h("span", { "aria-hidden": "true" }, " › "),
        i === chain.length - 1 ? h("strong", null, tree.name(at)) : h("button", { type: "button", class: "link", onclick: () => go(at === tree.root ? "flame" : `context/${at}`) }, tree.name(at)),
    ]), tree.link(node) && h("a", { href: tree.link(node), class: "note" }, " function"));
}

function contextTable(model, go) {
    const { contexts } = model.data;
    const name = (row) => model.functionName(contexts.function[row]);
    return grid({
        label: "Contexts", noun: ["context", "contexts"], rows: contexts.parent.length, open: (row) => go(`context/${row}`),
        columns: [
            { label: "Inclusive", number: true, width: "8.5rem", value: (row) => contexts.inclusive[row], cell: (row) => bar(contexts.inclusive[row] / model.total) },
            { label: "Self", number: true, width: "8.5rem", value: (row) => contexts.self[row], cell: (row) => bar(contexts.self[row] / model.total) },
            { label: "Function", value: name, cell: (row) => functionLink(model, contexts.function[row]) },
            { label: "Called by", low: true, value: (row) => (contexts.parent[row] < 0 ? "" : name(contexts.parent[row])), cell: (row) => (contexts.parent[row] < 0 ? "" : h("span", { class: "name" }, name(contexts.parent[row]))) },
            { label: "Calls", number: true, low: true, width: "8rem", value: (row) => contexts.calls[row], cell: (row) => count(contexts.calls[row]) },
        ],
        search: (query) => (row) => name(row).toLowerCase().includes(query),
    });
}

export const flameView = {
    id: "flame", label: "Flame graph", item: "context", size: (model) => model.data.contexts.parent.length,
    present: (model) => model.executed > 0,
    create(model, go) {
        const withContexts = model.data.contexts.parent.length > 0;
        const tree = treeOf(model);
        const at = h("div");
        const status = h("span", { class: "status", role: "status" });
        const graph = flame(tree, {
            label: withContexts ? "Flame graph: functions below their callers" : "Modules and their functions", total: tree.value(tree.root) || 1,
            chosen: (node) => (withContexts ? go(node === tree.root ? "flame" : `context/${node}`) : zoom(node)),
        });
        const search = h("input", { type: "search", class: "search", placeholder: "Search functions  ( / )", "aria-label": "Search functions in the flame graph", oninput: () => { status.textContent = graph.find(search.value); } });
        function zoom(node) {
            graph.zoom(node);
            at.replaceChildren(crumbs(tree, node, (where) => (withContexts ? go(where) : zoom(where === "flame" ? tree.root : Number(where.split("/")[1])))));
        }
        const element = h("div", { class: "view" },
            !withContexts && h("p", { class: "note" }, "Calling contexts were not recorded in this profile: shown are modules and, below them, their functions by their own instructions."),
            h("div", { class: "toolbar" }, search, status), at, graph.element,
            h("p", { class: "note" }, "Click or Enter zooms, Escape shows all again, arrow keys move."),
            withContexts && h("details", { class: "card", ontoggle: (event) => event.target.open && event.target.childElementCount === 1 && event.target.append(contextTable(model, go).element) },
                h("summary", null, h("h3", null, "As a table"))));
        return { element, open: (row) => zoom(row >= 0 ? row : tree.root) };
    },
};
