// SPDX-License-Identifier: MIT
// The differential flame graph: contexts of both versions, as wide as one of them has it, in the colour of the change.
import { choice, h } from "../dom.js";
import { count, many, share } from "../format.js";
import { flame } from "../flame.js";
import { differential, nodeOfContext, startOf } from "../trees.js";
import { crumbs } from "../views/flame.js";
import { percent, signed, toneColour, toneLegend } from "./change.js";

const SIDES = [["new", "As wide as new"], ["old", "As wide as old"]];

export const treeOf = (model, side) => model.once(`tree ${side}`, () => differential(model, side));

const allOf = (model, side) => (side === "new" ? model.total : model.before) || 1;

/** How cells are coloured, and what is told of them. */
export const changed = (model, side) => ({
    total: allOf(model, side),
    paint: (node) => toneColour(node.old, node.now),
    spoken: (node) => `${signed(node.now - node.old, count)} instructions (${percent(node.now - node.old, node.old)}), ${count(node.old)} before, ${count(node.now)} now`,
    told(node) {
        const row = (label, old, now) => h("tr", null, h("th", null, label), h("td", null, count(old)), h("td", null, count(now)), h("td", null, signed(now - old, count)), h("td", null, percent(now - old, old)));
        const status = node.f < 0 ? "" : model.statusOf(node.f);
        return [status && h("p", { class: "note" }, status), h("table", null, h("thead", null, h("tr", null, ["", "Old", "New", "Change", ""].map((text) => h("td", null, text)))),
            h("tbody", null, row("Instructions", node.old, node.now), node.f >= 0 && row("In itself", node.oldSelf, node.nowSelf), node.f >= 0 && row("Calls", node.oldCalls, node.nowCalls)))];
    },
});

class Flames {
    constructor(model, go) {
        this.model = model;
        this.go = go;
        this.side = "new";
        this.row = -1;
        this.at = h("div");
        this.place = h("div", { class: "flames" });
        this.status = h("span", { class: "status", role: "status" });
        this.search = h("input", { type: "search", class: "search", placeholder: "Search functions  ( / )", "aria-label": "Search functions in the flame graph", oninput: () => this.find() });
        this.sides = h("span", { class: "tool" });
        this.element = h("div", { class: "view" }, h("div", { class: "toolbar" }, this.sides, this.search, this.status), this.at, toneLegend(), this.place,
            h("p", { class: "note" }, "Below a function what it calls, in the colour of its change. What is gone has no width in the new version: look at the old one, too. Click or Enter zooms; Escape shows the whole."));
        this.element.addEventListener("keydown", (event) => event.key === "Escape" && event.target.closest(".flame") && this.go(this.address("all")));
    }

    address(what) {
        return `flame=${[this.side === "old" ? "old" : "", what].filter(Boolean).join(",")}`.replace(/=$/, "");
    }

    find() {
        const query = this.search.value.trim().toLowerCase();
        const { functions } = this.model.data;
        const found = query ? [...functions.name.keys()].filter((f) => functions.name[f].toLowerCase().includes(query)) : [];
        const delta = found.reduce((sum, f) => sum + functions.delta[f], 0);
        this.status.textContent = query ? `${many(found.length, "function matches", "functions match")}: ${signed(delta, count)} instructions in themselves` : "";
        this.graph.mark(query);
    }

    draw(root, node) {
        const { model } = this;
        const { parent } = model.data.contexts;
        const to = (wanted) => {
            const target = wanted === node && node.parent ? node.parent : wanted;
            if (target.row < 0 || !parent.length)
                return parent.length ? this.go(this.address("all")) : this.draw(root, target);
            this.go(`context/${target.row}`);
        };
        const hadFocus = this.place.contains(document.activeElement);
        this.at.replaceChildren(crumbs(model, node, to, false));
        this.graph = flame(model, node, { label: `Differential flame graph, as wide as the ${this.side} version`, ...changed(model, this.side), chosen: to });
        this.sides.replaceChildren(choice("Width", SIDES, this.side, (side) => { this.side = side; this.row >= 0 ? this.open(this.row) : this.go(this.address("")); }));
        this.place.replaceChildren(node.value > 0 ? this.graph.element : h("p", { class: "note" }, "The version has nothing of that."));
        if (this.search.value)
            this.find();
        if (hadFocus)
            this.place.querySelector("[tabindex='0']")?.focus();
    }

    /** `what`: "old", "all", "old,all". */
    open(row, what = "") {
        const words = what.split(",");
        if (row < 0)
            this.side = words.includes("old") ? "old" : "new";
        this.row = row;
        const tree = treeOf(this.model, this.side);
        this.draw(tree, row >= 0 ? nodeOfContext(this.model, tree, row) : words.includes("all") ? tree : startOf(tree));
    }
}

export const diffFlameView = {
    id: "flame", label: "Flame graph", item: "context", size: (model) => model.data.contexts.parent.length,
    present: (model) => model.total + model.before > 0,
    create: (model, go) => new Flames(model, go),
};

/** A small one for the overview. */
export function flameOf(model, most) {
    const tree = treeOf(model, "new");
    const start = startOf(tree);
    return { start: start.f < 0 ? "" : `${model.brief(start.f)}, ${share(start.value / allOf(model, "new"))} of the new run`, element: flame(model, start, { label: "Differential flame graph", most, ...changed(model, "new") }).element };
}
