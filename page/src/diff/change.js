// SPDX-License-Identifier: MIT
// Changes as people read them: what grew is orange, what shrank is blue, everywhere; and signs say so, too.
import { h } from "../dom.js";
import { count, share, short } from "../format.js";

/** "+1.2 M", "−340", "0". The sign is a real minus. */
export const signed = (delta, form = short) => (delta > 0 ? `+${form(delta)}` : delta < 0 ? `−${form(-delta)}` : "0");

/** "+12.3%" of what was there before. */
export function percent(delta, before) {
    if (!delta)
        return "0%";
    if (Math.abs(delta) < 0.0005 * before)
        return share(Math.abs(delta) / before);
    return before > 0 ? signed(delta / before, share) : "new";
}

const colourOf = (delta) => (delta > 0 ? "var(--grew)" : "var(--shrank)");

/** A change with a bar, which `most` fills. */
export const changeBar = (delta, most) => h("span", { class: "bar change-bar", title: `${signed(delta, count)}` },
    h("span", { class: "bar-track" }, h("span", { class: delta ? "bar-fill" : "bar-fill nothing", style: { width: `${((Math.abs(delta) / (most || 1)) * 100).toFixed(2)}%`, background: colourOf(delta) } })),
    h("span", { class: `bar-text ${delta > 0 ? "grew" : delta < 0 ? "shrank" : ""}` }, signed(delta)));

/** "12 → 15", or "12" where it did not change. */
export const pair = (old, now, form = count) => (old === now ? form(now) : `${form(old)} → ${form(now)}`);

/** How much of a node's colour it has: from −1 (gone) over 0 (the same) to 1 (new). */
export const tone = (old, now) => (old === now ? 0 : (now - old) / Math.max(old, now));

/** The colour of a cell whose instructions went from `old` to `now`. */
export function toneColour(old, now) {
    const part = tone(old, now);
    const fill = part > 0 ? "var(--grew-fill)" : "var(--shrank-fill)";
    const strength = Math.abs(part) < 0.005 ? 0 : 12 + 58 * Math.sqrt(Math.abs(part));
    return `color-mix(in srgb, ${fill} ${strength.toFixed(0)}%, var(--same))`;
}

const LEGEND = [["gone", -1], ["half", -0.5], ["a tenth less", -0.1], ["the same", 0], ["a tenth more", 0.1], ["twice", 0.5], ["new", 1]];

/** What the colours of the flame graph mean. */
export const toneLegend = () => h("ul", { class: "legend", "aria-label": "Colours" }, LEGEND.map(([label, part]) => h("li", null, h("span", { class: "swatch tone", style: { background: part < 0 ? toneColour(1, 1 + part) : toneColour(1 - part, 1) } }), label)));
