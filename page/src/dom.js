// SPDX-License-Identifier: MIT
// Elements. Texts become text nodes, whatever is in them: nothing of a profile is ever parsed as markup.

/** Adds children as h() does. */
export function append(element, children) {
    for (const child of children) {
        if (Array.isArray(child))
            append(element, child);
        else if (child !== null && child !== undefined && child !== false)
            element.append(child);
    }
    return element;
}

function fill(element, props, children) {
    for (const [name, value] of Object.entries(props ?? {})) {
        if (value === null || value === undefined || value === false)
            continue;
        if (name.startsWith("on"))
            element.addEventListener(name.slice(2), value);
        else if (name === "style")
            for (const [property, text] of Object.entries(value))
                element.style.setProperty(property, text);
        else
            element.setAttribute(name, value === true ? "" : value);
    }
    return append(element, children);
}

/** An element: h("a", { href: "#x", onclick: f, style: { "--x": 1 } }, "text", node, [more]). */
export function h(tag, props, ...children) {
    return fill(document.createElement(tag), props, children);
}

/** Likewise, of SVG. */
export function svg(tag, props, ...children) {
    return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
}

let ids = 0;

/** A new id for aria-labelledby and the like. */
export const newId = (prefix) => `${prefix}-${++ids}`;

/** A section with a title; `extra` stands beside the title. */
export function card(title, extra, ...children) {
    return h("section", { class: "card" }, h("div", { class: "card-head" }, h("h3", null, title), extra), children);
}

const cellClass = ({ number, low }) => [number && "number", low && "low"].filter(Boolean).join(" ") || null;

/** A plain table: columns are { label, number, low: goes where there is little room }, rows are lists of texts or nodes. */
export function table(caption, columns, rows) {
    return h("div", { class: "scroll-x", tabindex: "0", role: "group", "aria-label": caption },
        h("table", { class: "plain" },
            h("caption", { class: "hidden" }, caption),
            h("thead", null, h("tr", null, columns.map((column) => h("th", { scope: "col", class: cellClass(column) }, column.label)))),
            h("tbody", null, rows.map((row) => h("tr", null, row.map((cell, i) => h("td", { class: cellClass(columns[i]) }, cell)))))));
}

/** A list of facts: pairs of a term and what it is. */
export function facts(pairs) {
    return h("dl", { class: "facts" }, pairs.filter((pair) => pair && pair[1] !== null && pair[1] !== undefined)
        .map(([term, what]) => h("div", null, h("dt", null, term), h("dd", null, what))));
}

/** One of a few: buttons of which one is pressed. `choices` are [value, label]; `choose(value)` is called. */
export function choice(label, choices, current, choose) {
    const buttons = choices.map(([value, text]) => h("button", {
        type: "button", "aria-pressed": String(value === current),
        onclick: () => {
            buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(choices[i][0] === value)));
            choose(value);
        },
    }, text));
    return h("div", { class: "choice", role: "group", "aria-label": label }, buttons);
}
