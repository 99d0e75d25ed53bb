// SPDX-License-Identifier: MIT
// Numbers as people read them. The same everywhere, whatever the browser's language.
import { h } from "./dom.js";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const units = ["", "k", "M", "G", "T", "P", "E"];

/** 195,722,976 */
export const count = (value) => whole.format(value);

/** 196 M: three digits and a unit, from 100,000 on. */
export function short(value) {
    if (Math.abs(value) < 99999.5)
        return decimals(value);
    let unit = 0;
    while (Math.abs(value) >= 999.5 && unit < units.length - 1) {
        value /= 1000;
        unit++;
    }
    return `${value.toPrecision(3)} ${units[unit]}`;
}

/** 0.381, 12.3, 1,234: as many decimals as make three digits; very little is not nothing. */
export function decimals(value) {
    const size = Math.abs(value);
    if (Number.isInteger(value) || size >= 99.95)
        return count(value);
    if (size < 0.0005)
        return value > 0 ? "<0.001" : ">−0.001";
    return value.toFixed(size < 0.9995 ? 3 : size < 9.995 ? 2 : 1);
}

/** 57.8%; very little is not nothing. */
export function share(value) {
    if (!Number.isFinite(value))
        return "–";
    if (value > 0 && value < 0.0005)
        return "<0.1%";
    return `${(value * 100).toFixed(1)}%`;
}

/** A time in ns: 1.23 s, 45.6 ms, 789 µs, 12 ns. */
export function duration(ns) {
    const [unit, size] = [["s", 1e9], ["ms", 1e6], ["µs", 1e3]].find((step) => ns >= 0.9995 * step[1]) ?? ["ns", 1];
    return `${decimals(ns / size)} ${unit}`;
}

export const seconds = (value) => (value < 60 ? `${decimals(value)} s` : `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`);

/** 1,234 paths */
export const many = (value, one, more = `${one}s`) => `${count(value)} ${value === 1 ? one : more}`;

/** A bar for a share, beside its number; a share of `full` fills it. */
export function bar(value, colour, full = 1) {
    const width = Math.max(0, Math.min(1, value / full || 0)) * 100;
    return h("span", { class: "bar", title: `${(value * 100).toFixed(4)}%` },
        h("span", { class: "bar-track" }, h("span", { class: value > 0 ? "bar-fill" : "bar-fill nothing", style: { width: `${width.toFixed(2)}%`, ...(colour ? { background: colour } : {}) } })),
        h("span", { class: "bar-text" }, share(value)));
}
