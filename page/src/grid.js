// SPDX-License-Identifier: MIT
// A table that can be sorted and searched, and has as many rows as there are: only those in sight are elements.
//
//   grid({ label, noun, columns, rows, search, open, forest, legend })
//     noun     ["path", "paths"]
//     columns  [{ label, value(row), cell(row), number, width, low, title }]: `value` orders, `cell` shows (default: the value); `most`: of the width;
//              `low` columns go where there is little room, those with `low: 2` last
//     rows     how many there are, or their numbers
//     search   text => (row => whether it matches)
//     open     row => …, when somebody clicks it or presses Enter
//     forest   { roots, children(row), parent(row), level(row), open }: nested rows; `open` show their children from the beginning
//     legend   an element beside the search
// returns { element, setRows(rows), select(row), focus() }
import { h, newId } from "./dom.js";
import { count, many } from "./format.js";
import { keysOf, sorted, unfold, withParents } from "./order.js";

const ROW_HEIGHT = 27;
const BEYOND = 12; // rows above and below those in sight
const PRINTED = 60;

class Grid {
    constructor(options) {
        this.options = options;
        this.keys = new Map();
        this.open = new Set(options.forest?.open);
        this.query = "";
        this.sortColumn = -1;
        this.descending = true;
        this.active = 0;
        this.selected = -1;
        this.printing = false;
        this.build();
        this.setRows(options.rows);
        new ResizeObserver(() => this.render()).observe(this.scroller);
        for (const [event, on] of [["beforeprint", true], ["afterprint", false]])
            addEventListener(event, () => this.print(on));
        matchMedia("print").addEventListener("change", (event) => this.print(event.matches));
    }

    build() {
        const { options } = this;
        const id = newId("grid");
        this.status = h("span", { class: "status", role: "status", "aria-live": "polite" });
        this.search = options.search && h("input", {
            type: "search", class: "search", placeholder: `Search ${options.noun[1]}  ( / )`, "aria-label": `Search ${options.noun[1]}`, "aria-controls": id,
            spellcheck: "false", autocomplete: "off", oninput: () => this.find(this.search.value),
        });
        this.heads = options.columns.map((column, i) => h("th", {
            scope: "col", role: "columnheader", class: this.cellClass(column), style: column.width ? { width: `min(${column.width}, ${column.most ?? "26cqw"})` } : {}, title: column.title,
        }, column.value ? h("button", { type: "button", class: "sorter", onclick: () => this.sort(i) }, column.label) : column.label));
        this.body = h("tbody");
        this.table = h("table", { id, class: "grid", role: options.forest ? "treegrid" : "grid", "aria-label": options.label },
            h("thead", null, h("tr", null, this.heads)), this.body);
        this.message = h("p", { class: "none" });
        this.scroller = h("div", {
            class: "grid-scroll", tabindex: "-1", onscroll: () => this.render(), onkeydown: (event) => this.key(event),
        }, this.table, this.message);
        this.body.addEventListener("click", (event) => this.click(event));
        this.element = h("div", { class: "grid-box" },
            h("div", { class: "toolbar" }, this.search, options.tools, this.status, options.legend), this.scroller);
    }

    cellClass(column) {
        return [column.number ? "number" : "", column.low ? (column.low === 2 ? "lower" : "low") : ""].join(" ").trim() || null;
    }

    setRows(rows) {
        this.keys.clear();
        this.all = typeof rows === "number" ? Uint32Array.from({ length: rows }, (_, i) => i) : rows;
        this.arrange();
    }

    // --- order ---
    keysFor(column) {
        if (!this.keys.has(column)) {
            const { value } = this.options.columns[column];
            const last = this.all.reduce((most, row) => Math.max(most, row), -1);
            this.keys.set(column, keysOf(Array.from({ length: last + 1 }, (_, row) => value(row))));
        }
        return this.keys.get(column);
    }

    sort(column) {
        const textual = !this.options.columns[column].number;
        this.descending = column === this.sortColumn ? !this.descending : !textual;
        this.sortColumn = column;
        this.heads.forEach((head, i) => {
            if (i === column)
                head.setAttribute("aria-sort", this.descending ? "descending" : "ascending");
            else
                head.removeAttribute("aria-sort");
        });
        this.arrange();
    }

    find(query) {
        this.query = query.trim().toLowerCase();
        this.arrange();
    }

    arrange() {
        const { forest, search } = this.options;
        const matches = this.query ? Uint32Array.from(this.all).filter(search(this.query)) : this.all;
        const order = (rows) => (this.sortColumn < 0 ? rows : sorted(rows, this.keysFor(this.sortColumn), this.descending));
        this.matching = matches.length;
        if (!forest) {
            this.shown = order(matches);
        } else if (this.query) {
            const wanted = withParents(matches, forest.parent);
            this.shown = unfold(forest, () => true, (rows) => order(rows).filter((row) => wanted.has(row)));
        } else {
            this.shown = unfold(forest, (row) => this.open.has(row), order);
        }
        this.active = Math.max(0, this.shown.indexOf(this.selected));
        this.scroller.scrollTop = 0;
        this.tell();
        this.render(true);
    }

    tell() {
        const { noun } = this.options;
        this.status.textContent = this.query ? `${count(this.matching)} of ${many(this.all.length, ...noun)}` : many(this.all.length, ...noun);
        this.table.setAttribute("aria-rowcount", this.shown.length + 1);
    }

    // --- elements ---
    print(on) {
        if (this.printing === on)
            return;
        this.printing = on;
        this.render(true);
    }

    span() {
        if (this.printing)
            return [0, Math.min(PRINTED, this.shown.length)];
        const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW_HEIGHT) - BEYOND);
        const inSight = Math.ceil((this.scroller.clientHeight || 600) / ROW_HEIGHT);
        return [first, Math.min(this.shown.length, first + inSight + 2 * BEYOND)];
    }

    render(again) {
        const [first, end] = this.span();
        if (!again && first === this.first && end === this.end)
            return;
        const focused = this.body.contains(document.activeElement);
        this.first = first;
        this.end = end;
        const rows = [];
        for (let at = first; at < end; at++)
            rows.push(this.row(at));
        const rest = this.shown.length - end;
        this.body.replaceChildren(...this.space(this.printing ? 0 : first), ...rows, ...this.space(this.printing ? 0 : rest));
        this.message.textContent = this.shown.length ? (this.printing && rest > 0 ? `… and ${count(rest)} more` : "") : this.query ? "Nothing matches." : "There is nothing here.";
        if (focused)
            (this.element_(this.active) ?? this.scroller).focus({ preventScroll: true });
    }

    space(rows) {
        return rows > 0 ? [h("tr", { "aria-hidden": "true", class: "space", style: { height: `${rows * ROW_HEIGHT}px` } })] : [];
    }

    row(at) {
        const row = this.shown[at];
        const { forest, columns } = this.options;
        const nested = forest && forest.children(row).length > 0;
        const isOpen = this.query !== "" || this.open.has(row);
        return h("tr", {
            "data-at": at, "data-row": row, "aria-rowindex": at + 2, tabindex: at === this.active ? "0" : "-1", "aria-selected": String(row === this.selected),
            "aria-level": forest && forest.level(row) + 1, "aria-expanded": nested ? String(isOpen) : null,
        }, columns.map((column, i) => h("td", { class: this.cellClass(column) },
            i === (forest?.column ?? -1) && this.twist(row, nested, isOpen), column.cell ? column.cell(row) : column.value(row))));
    }

    // The room before a nested row, and what opens it.
    twist(row, nested, isOpen) {
        return h("span", { class: "twist", "aria-hidden": "true", style: { "--level": this.options.forest.level(row) } }, nested ? (isOpen ? "▾" : "▸") : "");
    }

    element_(at) {
        return this.body.querySelector(`tr[data-at="${at}"]`);
    }

    // --- interaction ---
    click(event) {
        const element = event.target.closest("tr[data-at]");
        if (!element || event.target.closest("a, button"))
            return;
        const at = Number(element.dataset.at);
        if (event.target.closest(".twist") && element.hasAttribute("aria-expanded"))
            return void this.toggle(at, !this.open.has(this.shown[at]));
        this.activate(at);
        this.options.open?.(this.shown[at]);
    }

    activate(at) {
        if (!this.shown.length)
            return;
        this.active = Math.max(0, Math.min(at, this.shown.length - 1));
        this.reveal(this.active);
        for (const row of this.body.querySelectorAll("tr[tabindex='0']"))
            row.tabIndex = -1;
        const element = this.element_(this.active);
        element.tabIndex = 0;
        element.focus({ preventScroll: true });
    }

    reveal(at) {
        const top = at * ROW_HEIGHT;
        const height = this.scroller.clientHeight - ROW_HEIGHT; // the head sticks
        if (top < this.scroller.scrollTop)
            this.scroller.scrollTop = top;
        else if (top + ROW_HEIGHT > this.scroller.scrollTop + height)
            this.scroller.scrollTop = top + ROW_HEIGHT - height;
        this.render();
    }

    toggle(at, open) {
        const row = this.shown[at];
        this.open[open ? "add" : "delete"](row);
        const top = this.scroller.scrollTop;
        this.arrange();
        this.scroller.scrollTop = top;
        this.activate(this.shown.indexOf(row));
    }

    key(event) {
        if (event.target.closest("button, a, input") || event.ctrlKey || event.altKey || event.metaKey)
            return;
        const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW_HEIGHT) - 2);
        const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
        if (event.key in moves)
            this.activate(this.active + moves[event.key]);
        else if (event.key === "Enter" || event.key === " ")
            this.options.open?.(this.shown[this.active]);
        else if (!this.options.forest || !this.fold(event.key))
            return;
        event.preventDefault();
    }

    // Right opens, left closes or goes to what it is nested in.
    fold(key) {
        const row = this.shown[this.active];
        const { forest } = this.options;
        if (key === "ArrowRight" && forest.children(row).length && !this.open.has(row))
            this.toggle(this.active, true);
        else if (key === "ArrowLeft" && this.open.has(row))
            this.toggle(this.active, false);
        else if (key === "ArrowLeft" && forest.parent(row) >= 0)
            this.activate(this.shown.indexOf(forest.parent(row)));
        else
            return false;
        return true;
    }

    /** Marks a row and brings it into sight; -1: none. Rows that the search left out stay so. */
    select(row) {
        this.selected = row;
        const { forest } = this.options;
        if (forest && row >= 0 && !this.query) {
            for (let above = forest.parent(row); above >= 0; above = forest.parent(above))
                this.open.add(above);
            this.arrange();
        }
        const at = this.shown.indexOf(row);
        if (at >= 0) {
            this.active = at;
            this.reveal(at);
        }
        this.render(true);
    }

    focus() {
        this.activate(this.active);
    }
}

export const grid = (options) => new Grid(options);
