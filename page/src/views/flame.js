// SPDX-License-Identifier: MIT
// Flame graphs: functions below their callers, inverted, or one function between its callers and what it calls.
import { choice, h } from "../dom.js";
import { bar, count, many, share } from "../format.js";
import { flame } from "../flame.js";
import { aroundFunction, contextsLeftOut, contextTree, functionTree, invertedTree, nodeOfContext, searchContexts, searchFunctions, startOf } from "../trees.js";
import { grid } from "../grid.js";
import { splitsOf } from "../processes.js";
import { functionCell, functionLink } from "./functions.js";

const MOST_CRUMBS = 8, MOST_LISTED = 300;
const WORTH = 0.01; // of the run: to be said when it is not drawn
const MODES = [["down", "Top down"], ["inverted", "Inverted"], ["sandwich", "Sandwich"]];
const HINTS = {
    down: "Below a function what it calls. Click or Enter zooms; Escape shows the whole; arrow keys move.",
    inverted: "Functions by what is executed in themselves; below each its callers, and theirs. Click or Enter zooms; Escape shows the whole.",
    sandwich: "Above the function its callers, below it what it calls, as wide as their share of it. Click or Enter puts another function in the middle.",
};

/** The tree of a model's flame graph: contexts, or where there are none, functions; with `split` ("processes", "threads") below each of these. */
export const treeOf = (model, split = "") => model.once(`tree ${split}`, () => (model.data.contexts.parent.length ? contextTree(model, split) : functionTree(model, split)));

const briefOf = (model, node) => (node.f < 0 ? node.name : model.brief(node.f));

const invertedOf = (model, split) => model.once(`inverted ${split}`, () => invertedTree(model, split));

/** The address of a way to show it. */
const addressOf = (mode, split) => {
    const words = [mode === "down" ? "" : mode, mode === "sandwich" ? "" : split].filter(Boolean);
    return words.length ? `flame=${words.join(",")}` : "flame";
};

// From the outermost to this one, long ones without their middle.
export function crumbs(model, node, go, sandwich = true) {
    const chain = [];
    for (let at = node; at !== null; at = at.parent)
        chain.unshift(at);
    const left = chain.length > MOST_CRUMBS ? chain.length - MOST_CRUMBS + 1 : 0;
    const shown = left ? [...chain.slice(0, 2), null, ...chain.slice(2 + left)] : chain;
    return h("nav", { class: "crumbs", "aria-label": "Zoomed to" }, shown.map((at, i) => [
        i > 0 && h("span", { "aria-hidden": "true" }, " › "),
        at === null ? h("span", { class: "note" }, `${many(left, "function")} between`) : at === node ? h("strong", { title: at.name }, briefOf(model, at)) : h("button", { type: "button", class: "link", title: at.name, onclick: () => go(at) }, briefOf(model, at)),
    ]), node.f >= 0 && [h("a", { href: `#function/${node.f}`, class: "note" }, "code"), sandwich && h("a", { href: `#flame=sandwich:${node.f}`, class: "note" }, "callers and callees")]);
}

function contextTable(model, go) {
    const { contexts } = model.data;
    const name = (row) => model.functionName(contexts.function[row]);
    return grid({
        label: "Contexts", noun: ["context", "contexts"], rows: contexts.parent.length, open: (row) => go(`context/${row}`),
        columns: [
            { label: "Inclusive", number: true, width: "8.5rem", low: 2, value: (row) => contexts.inclusive[row], cell: (row) => bar(contexts.inclusive[row] / model.total) },
            { label: "Self", number: true, width: "8.5rem", value: (row) => contexts.self[row], cell: (row) => bar(contexts.self[row] / model.total) },
            { label: "Function", value: name, cell: (row) => functionLink(model, contexts.function[row]) },
            { label: "Called by", low: true, value: (row) => (contexts.parent[row] < 0 ? "" : name(contexts.parent[row])), cell: (row) => (contexts.parent[row] < 0 ? "" : functionCell(model, contexts.function[contexts.parent[row]])) },
            { label: "Calls", number: true, low: true, width: "8rem", value: (row) => contexts.calls[row], cell: (row) => count(contexts.calls[row]) },
        ],
        search: (query) => (row) => name(row).toLowerCase().includes(query),
    });
}

/** What a search found, in a sentence. */
function told(model, query) {
    if (!query)
        return "";
    const withContexts = model.data.contexts.parent.length > 0;
    const { functions, contexts, value } = (withContexts ? searchContexts : searchFunctions)(model, query);
    return functions === 0 ? "0 functions match" : `${many(functions, "function matches", "functions match")}${withContexts ? `, in ${many(contexts, "context")}` : ""}: ${withContexts && contextsLeftOut(model) > 0 ? "at least " : ""}${count(value)} instructions, ${share(value / model.total)}${withContexts ? ", with what they call" : ""}`;
}

class Flames {
    constructor(model, go) {
        this.model = model;
        this.go = go;
        this.withContexts = model.data.contexts.parent.length > 0;
        this.colourBy = "function";
        this.from = "";
        this.query = "";
        this.graphs = [];
        this.at = h("div");
        this.place = h("div", { class: "flames" });
        this.hint = h("p", { class: "note" });
        this.legend = h("ul", { class: "legend" });
        this.status = h("span", { class: "status", role: "status" });
        this.search = h("input", { type: "search", class: "search", placeholder: "Search functions  ( / )", "aria-label": "Search functions in the flame graph", oninput: () => this.find() });
        this.modes = h("span", { class: "tool" });
        this.splits = h("span", { class: "tool" });
        this.split = "";
        this.colours = h("span", { class: "tool" });
        this.element = h("div", { class: "view" },
            !this.withContexts && h("p", { class: "note" }, "Calling contexts were not recorded in this profile: shown are modules and, below them, their functions by their own instructions."),
            h("div", { class: "toolbar" }, this.modes, this.splits, this.colours, this.search, this.status), this.at, this.legend, this.place, this.hint,
            this.withContexts && h("details", { class: "card", ontoggle: (event) => event.target.open && event.target.childElementCount === 1 && event.target.append(contextTable(model, go).element) },
                h("summary", null, h("h3", null, "As a table"))));
        this.element.addEventListener("keydown", (event) => event.key === "Escape" && event.target.closest(".flame") && this.leave());
    }

    find() {
        this.query = this.search.value.trim().toLowerCase();
        this.status.textContent = told(this.model, this.query);
        for (const graph of this.graphs)
            graph.mark(this.query);
    }

    draw(mode, graphs, heads = []) {
        this.mode = mode;
        this.graphs = graphs;
        this.place.replaceChildren(...graphs.flatMap((graph, i) => [...(heads[i] ? [heads[i]] : []), graph.element]));
        const small = mode === "sandwich" ? 0 : graphs[0].tooSmall() / (this.model.total || 1);
        this.hint.textContent = HINTS[mode] + (mode === "sandwich" ? "" : this.from) + (small >= WORTH ? ` What is too small to be drawn has ${share(small)} of all instructions.` : "");
        if (this.withContexts)
            this.modes.replaceChildren(choice("Which way", MODES, mode, (to) => this.go(addressOf(to, this.split))));
        const splits = mode === "sandwich" ? [] : splitsOf(this.model);
        this.splits.hidden = !splits.length;
        this.splits.replaceChildren(choice("Split", [["", "Whole run"], ...splits], this.split, (to) => this.go(addressOf(mode, to))));
        this.colours.replaceChildren(choice("Colour by", [["function", "Colour by function"], ["module", "by module"]], this.colourBy, (by) => this.colour(by)));
        if (this.query)
            this.graphs.forEach((graph) => graph.mark(this.query));
        this.showLegend();
    }

    colour(by) {
        this.colourBy = by;
        this.graphs.forEach((graph) => graph.colour(by));
        this.showLegend();
    }

    showLegend() {
        const seen = new Set(this.graphs.flatMap((graph) => graph.modules()));
        this.legend.hidden = this.colourBy !== "module";
        this.legend.replaceChildren(...this.model.modulesByWeight.filter((row) => seen.has(row)).map((row) => h("li", null,
            h("span", { class: "swatch", style: { background: this.model.moduleColour(row) } }), this.model.moduleName(row), h("span", { class: "note" }, ` ${share(this.model.data.modules.instructions[row] / this.model.total)}`))));
    }

    /** Zoomed to a node of a tree. */
    zoom(mode, root, node) {
        const to = (wanted) => {
            const target = wanted === node && node.parent ? node.parent : wanted;
            if (mode === "down" && this.withContexts && !this.split)
                this.go(target.row < 0 ? "flame=all" : `context/${target.row}`);
            else
                this.zoom(mode, root, target);
        };
        this.root = root;
        this.node = node;
        this.at.replaceChildren(crumbs(this.model, node, to));
        const label = this.split ? `Flame graph by ${this.split === "threads" ? "thread" : "process"}` : mode === "inverted" ? "Inverted flame graph: below functions their callers" : this.withContexts ? "Flame graph: functions below their callers" : "Modules and their functions";
        const hadFocus = this.place.contains(document.activeElement);
        this.from = node !== root && node.f < 0 ? " Each begins where it does more than to call one other; a click on “all” shows how it came there." : "";
        this.draw(mode, [flame(this.model, node, { label, total: this.model.total || 1, colourBy: this.colourBy, chosen: to })]);
        if (hadFocus)
            this.place.querySelector("[tabindex='0']")?.focus();
    }

    sandwich(f) {
        const { model } = this;
        const callers = aroundFunction(model, f, true), callees = aroundFunction(model, f, false);
        if (!callees)
            return this.zoom("down", treeOf(model), treeOf(model));
        const { functions } = model.data;
        const listed = [...new Set([f, ...Array(Math.min(MOST_LISTED, model.executed)).keys()])].sort((a, b) => a - b);
        const select = h("select", { class: "pick", "aria-label": "Function in the middle", onchange: () => this.go(`flame=sandwich:${select.value}`) },
            listed.map((row) => h("option", { value: row, selected: row === f }, model.brief(row))));
        const chosen = (node) => node.f >= 0 && this.go(`flame=sandwich:${node.f}`);
        const options = { total: model.total || 1, colourBy: this.colourBy, chosen };
        this.at.replaceChildren(h("p", null, select, h("span", { class: "note" }, ` ${share(callees.value / model.total)} of all instructions with what it calls, ${share(functions.self[f] / model.total)} in itself; ${many(functions.calls[f], "call")}  `), h("a", { href: `#function/${f}` }, "code")));
        const head = (node, some, none) => h("h3", { class: "flame-head" }, node.children.length ? some : none);
        this.draw("sandwich", [flame(model, callers, { ...options, label: `Callers of ${callers.name}`, upward: true, withoutRoot: true }), flame(model, callees, { ...options, label: `${callees.name} and what it calls` })],
            [head(callers, "Callers", "Nothing calls it"), head(callees, "What it calls", "It calls nothing")]);
    }

    leave() {
        if (this.split)
            this.zoom(this.mode, this.root, this.root);
        else if (this.mode === "down")
            this.withContexts ? this.go(this.node === startOf(this.root) ? "flame=all" : "flame") : this.zoom("down", this.root, this.root);
        else if (this.mode === "inverted")
            this.zoom("inverted", this.root, this.root);
    }

    /** `what`: "all", "modules", "inverted", "sandwich", "sandwich:ROW", "processes", "processes:ROW", "threads", "inverted,processes" … of an address. */
    open(row, what = "") {
        const { model } = this;
        const [words, rest] = what.split(":");
        const has = (word) => words.split(",").includes(word);
        const mode = !this.withContexts ? "down" : has("inverted") ? "inverted" : has("sandwich") ? "sandwich" : "down";
        this.split = splitsOf(model).map(([split]) => split).find(has) ?? "";
        if (what === "modules")
            this.colourBy = "module";
        if (mode === "sandwich")
            return this.sandwich(/^\d{1,9}$/.test(rest) && Number(rest) < model.data.functions.name.length ? Number(rest) : 0);
        const tree = mode === "inverted" ? invertedOf(model, this.split) : treeOf(model, this.split);
        if (row >= 0)
            this.zoom(mode, tree, nodeOfContext(model, tree, row));
        else if (this.split)
            this.zoom(mode, tree, tree.children.find(({ part }) => String(part.row) === rest) ?? tree);
        else
            this.zoom(mode, tree, mode === "inverted" || what === "all" ? tree : startOf(tree));
    }
}

export const flameView = {
    id: "flame", label: "Flame graph", item: "context", size: (model) => model.data.contexts.parent.length,
    present: (model) => model.executed > 0,
    create: (model, go) => new Flames(model, go),
};
