// SPDX-License-Identifier: MIT
// What is under the pointer, or has the focus, told at once in a box beside it.
import { h } from "./dom.js";

const GAP = 14;
const box = h("div", { class: "tip", "aria-hidden": "true", hidden: true });

function put(x, y) {
    const { width, height } = box.getBoundingClientRect();
    const left = x + GAP + width > innerWidth ? Math.max(4, Math.min(x - GAP - width, innerWidth - width - 4)) : x + GAP;
    const top = y + GAP + height > innerHeight ? Math.max(4, y - GAP - height) : y + GAP;
    box.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}

/** Hides what is told. */
export const hush = () => { box.hidden = true; };

/** Tells of the elements in `area` that match `selector`; `describe(element)` gives nodes. */
export function tell(area, selector, describe) {
    let of = null;
    const show = (element, x, y) => {
        if (!box.isConnected)
            document.body.append(box);
        if (element !== of || box.hidden)
            box.replaceChildren(...describe(element));
        of = element;
        box.hidden = false;
        put(x, y);
    };
    area.addEventListener("pointermove", (event) => {
        const element = event.target.closest(selector);
        if (element)
            show(element, event.clientX, event.clientY);
        else
            hush();
    });
    area.addEventListener("pointerleave", hush);
    area.addEventListener("focusin", (event) => {
        const element = event.target.closest(selector);
        if (!element || !element.matches(":focus-visible"))
            return;
        const { left, bottom } = element.getBoundingClientRect();
        show(element, Math.max(0, left), bottom - GAP);
    });
    area.addEventListener("focusout", hush);
    area.addEventListener("keydown", (event) => event.key === "Escape" && hush());
}
addEventListener("scroll", hush, true);
addEventListener("hashchange", hush);
