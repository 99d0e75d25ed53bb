// SPDX-License-Identifier: MIT
// Reads the data, makes the tabs, and shows the view that the address names.
import { parse } from "./address.js";
import { weighFunctions } from "./colours.js";
import { DiffModel } from "./diff/model.js";
import { DIFF_VIEWS } from "./diff/views.js";
import { h } from "./dom.js";
import { load, Unreadable } from "./load.js";
import { Model } from "./model.js";
import { countersView } from "./views/counters.js";
import { flameView } from "./views/flame.js";
import { functionsView } from "./views/functions.js";
import { hotspotsView } from "./views/hotspots.js";
import { instructionsView } from "./views/instructions.js";
import { loopsView } from "./views/loops.js";
import { machineView } from "./views/machine.js";
import { overviewView } from "./views/overview.js";
import { pathsView } from "./views/paths.js";
import { predictionsView } from "./views/predictions.js";
import { processesView } from "./views/processes.js";
import { syscallsView } from "./views/syscalls.js";
import { themeButton } from "./theme.js";

// A view: { id, label or label(model), item: what its rows are called in addresses, size(model): how many there are, present(model), create(model, go): { element, open(row, or -1, what: a way to show it) } }.
const VIEWS = [overviewView, functionsView, flameView, pathsView, loopsView, hotspotsView, predictionsView, instructionsView, machineView, processesView, syscallsView, countersView];

const go = (where) => {
    location.hash = where;
};

const labelOf = ({ label }, model) => (typeof label === "string" ? label : label(model));

function tabs(model, views) {
    const list = h("div", { class: "tabs", role: "tablist", "aria-label": "Views" }, views.map((view) => h("button", {
        type: "button", role: "tab", id: `tab-${view.id}`, "aria-controls": `view-${view.id}`, onclick: () => go(view.id),
    }, labelOf(view, model))));
    list.addEventListener("keydown", (event) => {
        const buttons = [...list.children];
        const at = buttons.indexOf(document.activeElement);
        const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
        if (to === undefined)
            return;
        const button = buttons[(to + buttons.length) % buttons.length];
        button.focus();
        button.click();
        event.preventDefault();
    });
    return list;
}

// "/" goes to the search of the view that is shown.
function searchKey(event) {
    if (event.key !== "/" || event.target.closest("input, textarea") || event.ctrlKey || event.metaKey || event.altKey)
        return;
    const search = document.querySelector("[role=tabpanel]:not([hidden]) input[type=search]");
    if (search) {
        search.focus();
        search.select();
        event.preventDefault();
    }
}

function start(model, all) {
    const views = all.filter((view) => view.present(model));
    const bar = tabs(model, views);
    const panels = views.map((view) => h("div", { class: "panel", role: "tabpanel", id: `view-${view.id}`, "aria-labelledby": `tab-${view.id}`, hidden: true }, h("h2", { class: "hidden" }, labelOf(view, model))));
    const made = new Map();
    document.title = `${model.data.title} – hotpath`;
    document.getElementById("app").replaceChildren(
        h("header", { class: "top" }, h("h1", null, h("span", { class: "brand" }, "hotpath"), h("span", { class: "title", title: model.data.run.command_text }, model.data.title)), bar, themeButton()),
        h("main", null, panels));

    function show() {
        const { view, row, what, address } = parse(model, views, location.hash);
        if (address)
            history.replaceState(null, "", `#${address}`);
        const at = views.indexOf(view);
        panels.forEach((panel, i) => {
            panel.hidden = i !== at;
            bar.children[i].setAttribute("aria-selected", String(i === at));
            bar.children[i].tabIndex = i === at ? 0 : -1;
        });
        bar.children[at].scrollIntoView({ block: "nearest", inline: "nearest" });
        if (!made.has(view)) {
            made.set(view, view.create(model, go));
            panels[at].append(made.get(view).element);
        }
        made.get(view).open(row, what);
    }
    addEventListener("hashchange", show);
    addEventListener("keydown", searchKey);
    show();
}

async function main() {
    try {
        const data = await load(document.getElementById("hotpath-data"));
        const model = data.diff ? new DiffModel(data) : new Model(data);
        if (!data.diff)
            weighFunctions(model.functionWeights());
        start(model, data.diff ? DIFF_VIEWS : VIEWS);
    } catch (error) {
        const text = error instanceof Unreadable ? error.message : `The profile in this page could not be shown (${error.message}). Make the page again with 'hotpath html'.`;
        document.getElementById("app").replaceChildren(h("p", { class: "message", role: "alert" }, text));
    }
}

main();
