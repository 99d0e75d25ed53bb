// SPDX-License-Identifier: MIT
// A list and, beside it, what is known of the row that was opened.
import { h } from "./dom.js";

/**
 * list: a grid; show(row): the content of the detail, { title, body }; close(): called to leave it.
 * Returns { element, open(row, byUser) }; row -1 closes.
 */
export function pane(list, show, close) {
    const detail = h("aside", { class: "detail", hidden: true, tabindex: "-1" });
    const element = h("div", { class: "pane" }, h("div", { class: "list" }, list.element), detail);
    element.addEventListener("keydown", (event) => {
        if (event.key === "Escape" && !detail.hidden && !event.defaultPrevented) {
            close();
            list.focus();
            event.preventDefault();
        }
    });

    function open(row) {
        const had = !detail.hidden;
        detail.hidden = row < 0;
        element.classList.toggle("with-detail", row >= 0);
        detail.replaceChildren();
        list.select(row);
        if (row < 0)
            return;
        const { title, body } = show(row);
        const heading = h("h2", { tabindex: "-1" }, title);
        detail.setAttribute("aria-label", heading.textContent);
        detail.append(h("div", { class: "detail-head" }, heading,
            h("button", { type: "button", class: "close", "aria-label": "Close (Escape)", title: "Close (Escape)", onclick: () => { close(); list.focus(); } }, "✕")), body);
        detail.scrollTop = 0;
        if (!had)
            list.select(row); // the list is narrower now, and may be shorter
        heading.focus({ preventScroll: true });
        if (matchMedia("(max-width: 900px)").matches)
            detail.scrollIntoView({ block: "start" });
    }
    return { element, open };
}
