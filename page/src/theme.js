// SPDX-License-Identifier: MIT
// Light or dark: what the system says, until somebody chooses. Printed pages are light (style.css).
import { h } from "./dom.js";

const KEY = "hotpath-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

// Pages in files may have no storage; then the choice holds as long as the page.
function stored() {
    try {
        return localStorage.getItem(KEY);
    } catch {
        return null;
    }
}

function store(theme) {
    try {
        localStorage.setItem(KEY, theme);
    } catch {
        // It is a comfort only.
    }
}

export function themeButton() {
    const root = document.documentElement;
    const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
    const button = h("button", { type: "button", class: "theme", onclick: () => {
        root.dataset.theme = isDark() ? "light" : "dark";
        store(root.dataset.theme);
        tell();
    } });
    const tell = () => {
        const label = isDark() ? "Light colours" : "Dark colours";
        button.textContent = isDark() ? "☀" : "☾";
        button.setAttribute("aria-label", label);
        button.title = label;
    };
    if (["light", "dark"].includes(stored()))
        root.dataset.theme = stored();
    dark.addEventListener("change", tell);
    tell();
    return button;
}
