// SPDX-License-Identifier: MIT
// Charts: a title, a description, the chart as wide as there is room, and the same as a table.
import * as Plot from "@observablehq/plot";
import { h, newId, table } from "./dom.js";
import { causeColour, CAUSES } from "./colours.js";
import { count, share, short } from "./format.js";

export { Plot };

/** Axis labels of counts: 10 k, 2 M. */
export const tick = (value) => short(value).replace(/\.0*(?= |$)|(\.\d*?[1-9])0+(?= |$)/, "$1");

/**
 * chart({ title, description, draw(width), legend: [[label, colour, meaning]], columns, rows, height, small }): a figure. `draw` gives an SVG
 * element (of Plot) and is called again when the width changes; `columns` and `rows` are the same as a table. Of small ones the title is not shown.
 */
export function chart({ title, description, draw, legend, columns, rows, height, small }) {
    const id = newId("chart");
    const area = h("div", { class: "chart-area", role: "img", "aria-labelledby": id, "aria-description": description, style: { "min-height": `${height ?? 0}px` } });
    let width = 0;
    new ResizeObserver(([entry]) => {
        const now = Math.floor(entry.contentRect.width);
        if (now > 0 && Math.abs(now - width) > 1) {
            width = now;
            area.replaceChildren(unlabelled(draw(now)));
        }
    }).observe(area);
    return h("figure", { class: "chart" },
        h("figcaption", { class: small ? "hidden" : null }, h("strong", { id }, title), description && h("span", { class: "note" }, description)),
        legend && h("ul", { class: "legend" }, legend.map(([label, colour, why]) => h("li", { title: why }, h("span", { class: "swatch", style: { background: colour } }), label))),
        area,
        columns && h("details", { class: "as-table" }, h("summary", null, "As a table"), lazily(() => table(title, columns, rows))));
}

// Plot labels its groups, which have no role; the area says what they are.
function unlabelled(drawing) {
    for (const element of drawing.querySelectorAll("[aria-label], [aria-description]")) {
        element.removeAttribute("aria-label");
        element.removeAttribute("aria-description");
    }
    return drawing;
}

// Made when its <details> is first opened.
function lazily(make) {
    const place = h("div");
    queueMicrotask(() => place.parentElement?.addEventListener("toggle", () => place.childElementCount || place.append(make())));
    return place;
}

/** A stack of causes as one bar: [[cause, value]]. Numbers are in the titles, and in the text that a screen reader gets. */
export function stack(parts, total, { colour = causeColour, meaning = CAUSES, label } = {}) {
    const shown = parts.filter(([, value]) => value > 0);
    const text = shown.map(([name, value]) => `${name} ${share(value / total)}`).join(", ");
    return h("div", { class: "stack", role: "img", "aria-label": `${label ?? "Causes"}: ${text}`, title: text }, shown.map(([name, value]) => h("span", {
        class: "stack-part", title: `${name}: ${share(value / total)} (${count(value)}) – ${meaning[name] ?? ""}`,
        style: { width: `${((value / total) * 100).toFixed(3)}%`, background: colour(name) },
    })));
}

/** A row of `cpi` as a stack, with what the colours are. */
export function stackWithLegend(row, most = Infinity) {
    const causes = causesOf(row.causes);
    const shown = [...causes].sort((a, b) => b[1] - a[1]).slice(0, most);
    return [stack(causes, row.cycles, { label: "CPI stack" }), h("ul", { class: "legend" }, shown.map(([cause, cycles]) => h("li", { title: CAUSES[cause] },
        h("span", { class: "swatch", style: { background: causeColour(cause) } }), `${cause} `, h("span", { class: "note" }, share(cycles / row.cycles)))))];
}

/** The causes of a row that are not 0, in the order of stacks. */
export function causesOf(causes) {
    const known = Object.keys(CAUSES).filter((name) => causes[name] > 0);
    const others = Object.keys(causes).filter((name) => !(name in CAUSES) && causes[name] > 0);
    return [...known, ...others].map((name) => [name, causes[name]]);
}
