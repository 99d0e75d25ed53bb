// SPDX-License-Identifier: MIT
// A flame graph: nodes of a tree below each other, as wide as their share. Laid out by d3-hierarchy; what would be narrower than a point is left out.
import { hierarchy, partition } from "d3-hierarchy";
import { h } from "./dom.js";
import { count, many, share } from "./format.js";
import { functionColour } from "./colours.js";
import { tell } from "./tip.js";

const LINE = 20, CHAR = 6.3;
const NARROWEST = 1 / 2000; // of the width

/** The module (row) of a node, or -1. */
export const moduleOf = (model, node) => node.module ?? (node.f < 0 ? -1 : model.data.functions.module[node.f]);

// The longest form of a name that fits; at last what is behind its namespaces and classes.
function fitting(model, { f, name }, width) {
    const forms = f < 0 ? [name] : [name, model.brief(f), model.tag(f)];
    return forms.find((form) => form.length * CHAR <= width) ?? forms.at(-1).replace(/^[^ ]*::(?=[^:\s])/, "");
}

const least = (root) => root.value * NARROWEST;

function layout(root) {
    const limit = least(root);
    const top = hierarchy(root, (node) => node.children.filter((child) => child.value > limit));
    top.each((node) => {
        node.value = node.data.value;
    });
    return partition()(top).descendants();
}

/**
 * flame(model, root, { label, total, most, upward, withoutRoot, colourBy, chosen(node) }): { element, nodes(), zoom(node), mark(query), colour(by) }.
 * `most`: how deep at most; `upward`: children are above; `withoutRoot`: it is not drawn; `chosen`: called with what was clicked, or chosen by Enter;
 * without it the graph cannot be zoomed and links instead. `paint(node)` gives the background of a cell, `spoken(node)` and `told(node)` what is said
 * of it, in place of the usual.
 */
export function flame(model, root, { label, total, most = Infinity, upward = false, withoutRoot = false, colourBy = "function", chosen, paint, spoken, told }) {
    const box = h("div", { class: "flame", role: "tree", "aria-label": label });
    const skipped = withoutRoot ? 1 : 0;
    let nodes = [];
    let active = 0;
    let query = "";
    let by = colourBy;

    const numbers = (node) => `${share(node.value / total)}, ${count(node.value)} instructions, ${node.self > 0 ? `${share(node.self / total)} in itself` : "none in itself"}${node.calls > 0 ? `, ${many(node.calls, "call")}` : ""}`;
    const colourOf = (node) => (by === "module" ? model.moduleColour(moduleOf(model, node)) : node.part ? node.part.colour : node.f < 0 ? "var(--hue-none)" : functionColour(node.f));

    function describe(node) {
        const { functions, modules } = model.data;
        const module = moduleOf(model, node);
        const place = node.f < 0 ? "" : model.line(functions.file[node.f], functions.line[node.f]);
        const row = (term, value, part) => h("tr", null, h("th", null, term), h("td", null, count(value)), h("td", null, part === undefined ? "" : share(part)));
        return [h("p", { class: "tip-name" }, node.name),
            node.part && h("p", { class: "note tip-command" }, node.part.command || `pid ${node.part.pid}`),
            (place || module >= 0) && h("p", { class: "note" }, [place, module >= 0 && node.f >= 0 && modules.name[module]].filter(Boolean).join("  ·  ")),
            ...(told ? told(node) : [h("table", null, h("tbody", null, row("Instructions", node.value, node.value / total), node.f >= 0 && row("In itself", node.self, node.self / total), node.calls > 0 && row("Calls", node.calls)))])].filter(Boolean);
    }

    function cell(node, i, deepest) {
        const { data, x0, x1, depth } = node;
        const matches = query && data.name.toLowerCase().includes(query);
        const line = upward ? deepest - depth : depth - skipped;
        return h("div", {
            class: `flame-cell${matches ? " match" : query ? " no-match" : ""}`, role: "treeitem", tabindex: i === active ? "0" : "-1", "data-i": i, "aria-level": depth + 1 - skipped, "aria-label": `${data.name}: ${(spoken ?? numbers)(data)}`,
            "aria-expanded": node.children ? "true" : null, "aria-selected": String(data === root),
            style: { left: `${(x0 * 100).toFixed(4)}%`, width: `${((x1 - x0) * 100).toFixed(4)}%`, top: `${line * LINE}px`, ...(paint ? { background: query && !matches ? "" : paint(data) } : { "--hue": colourOf(data) }) },
        }, x1 - x0 > 0.012 ? fitting(model, data, (x1 - x0) * (box.clientWidth || innerWidth)) : "");
    }

    function draw() {
        nodes = layout(root).filter((node) => node.depth < most && node.depth >= skipped);
        active = Math.max(0, Math.min(active, nodes.length - 1));
        const deepest = nodes.reduce((depth, node) => Math.max(depth, node.depth), 0);
        box.style.height = `${(deepest + 1 - skipped) * LINE}px`;
        box.replaceChildren(...nodes.map((node, i) => cell(node, i, deepest)));
    }

    function choose(node) {
        if (chosen)
            chosen(node.data);
        else if (node.data.f >= 0)
            location.hash = `function/${node.data.f}`;
    }

    function focus(node) {
        if (!nodes.includes(node))
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
        if (!node)
            return;
        const beside = (step) => (node.parent ? node.parent.children[node.parent.children.indexOf(node) + step] : undefined);
        const above = () => focus(node.parent), below = () => focus(node.children?.find((child) => child.depth < most));
        const keys = { ArrowUp: upward ? below : above, ArrowDown: upward ? above : below, ArrowLeft: () => focus(beside(-1)), ArrowRight: () => focus(beside(1)), Home: () => focus(nodes[0]), Enter: () => choose(node), " ": () => choose(node) };
        if (!(event.key in keys))
            return;
        keys[event.key]();
        event.preventDefault();
    });
    tell(box, ".flame-cell", (element) => describe(nodes[Number(element.dataset.i)].data));
    draw();
    return {
        element: box,
        zoom(node) {
            const hadFocus = box.contains(document.activeElement);
            root = node;
            active = 0;
            draw();
            if (hadFocus)
                box.firstElementChild?.focus();
        },
        /** Marks the cells whose names have `text` in them. */
        mark(text) {
            query = text;
            draw();
        },
        colour(wanted) {
            by = wanted;
            draw();
        },
        /** How much of the root is in children that are too small to be drawn. */
        tooSmall: () => root.children.reduce((sum, child) => sum + (child.value > least(root) ? 0 : child.value), 0),
        /** The modules (rows) that can be seen. */
        modules: () => [...new Set(nodes.map((node) => moduleOf(model, node.data)).filter((module) => module >= 0))],
    };
}
