// SPDX-License-Identifier: MIT
// Using the page: sorting, searching, details, keys, colours, paper, narrow screens.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { at, facts, hashOf, manifest, reportOf, rows, shown, status, title, withPage } from "./browser.mjs";

const report = reportOf("all");
const dataOf = (name) => JSON.parse(readFileSync(manifest[name].data, "utf8"));
const number = (text) => Number(text.replace(/[,%<]/g, ""));
const focused = (page, selector) => page.evaluate((wanted) => document.activeElement.matches(wanted), selector);

test("sorting by a column, both ways", at("all", "functions", async (page) => {
    for (const order of ["descending", "ascending"]) {
        await page.click(`${shown} th:has-text("Calls") button`);
        assert.equal(await page.getAttribute(`${shown} th:has-text("Calls")`, "aria-sort"), order);
        const calls = (await rows(page)).map((row) => number(row.Calls));
        assert.deepEqual(calls, [...calls].sort((a, b) => (order === "ascending" ? a - b : b - a)));
    }
    await page.click(`${shown} th:has-text("Function") button`);
    const names = (await rows(page)).map((row) => row.Function);
    assert.deepEqual(names, [...names].sort());
    assert.equal(await page.$$eval(`${shown} th[aria-sort]`, (heads) => heads.length), 1);
}));

test("searching while typing", withPage("all", "functions", async (page) => {
    await page.fill(`${shown} input[type=search]`, "COLL");
    assert.match(await status(page), /^\d+ of [\d,]+ functions$/);
    const found = await rows(page);
    assert.ok(found.some((row) => row.Function === "collatz"));
    await page.fill(`${shown} input[type=search]`, "no such thing");
    assert.match(await status(page), /^0 of /);
    assert.match(await page.textContent(`${shown} .none`), /Nothing matches/);
    await page.fill(`${shown} input[type=search]`, "");
    assert.equal((await rows(page))[0].Function, report.functions[0].name);
}));

test("every kind of address opens what it names", at("all", "overview", async (page) => {
    const titles = { "function/0": report.functions[0].name, "path/1": /^Path in /, "loop/0": /^Loop /, "hotspot/0": /^Hot spot #\d/, "instruction/2": /\w/, "syscall/0": report.syscalls[0].call };
    for (const [hash, expected] of Object.entries(titles)) {
        await page.evaluate((to) => { location.hash = to; }, hash);
        await page.waitForSelector(`${shown} .detail:not([hidden]) h2`);
        const found = await title(page);
        assert.ok(expected instanceof RegExp ? expected.test(found) : found === expected, `${hash}: ${found}`);
        assert.equal(await page.$$eval(`${shown} tr[aria-selected=true]`, (all) => all.length), 1, hash);
    }
    const none = Object.keys(titles).flatMap((hash) => [hash.replace(/\d+/, "999999"), hash.replace(/\/\d+/, "=no%20such%thing")]); // no such thing: a view, not an error
    for (const hash of [...none, "context/999999", "flame=nothing", "flame=sandwich:nothing", "flame=sandwich:999999", "nothing", "path/x", "../etc", "constructor/1"]) {
        await page.evaluate((to) => { location.hash = to; }, hash);
        await page.waitForFunction((panel) => !document.querySelector(`${panel} .detail:not([hidden])`), shown);
    }
}));

test("links of the overview lead to their views", at("all", "overview", async (page) => {
    const links = await page.$$eval(`${shown} .card a`, (all) => all.map((link) => link.getAttribute("href")));
    assert.ok(links.length > 20);
    for (const view of ["functions", "loops", "paths", "instructions", "hotspots", "machine", "flame"])
        assert.ok(links.includes(`#${view}`) || links.some((link) => link.startsWith(`#${view.replace(/s$/, "")}/`)), view);
    await page.click(`${shown} .card a[href="#function/0"]`);
    assert.equal(await title(page), report.functions[0].name);
}));

test("tabs by arrow keys, / searches", at("all", "overview", async (page) => {
    await page.focus("[role=tab][aria-selected=true]");
    await page.keyboard.press("ArrowRight");
    assert.equal(await hashOf(page), "#functions");
    assert.ok(await focused(page, "#tab-functions"));
    await page.keyboard.press("End");
    assert.equal(await hashOf(page), "#counters");
    await page.keyboard.press("ArrowRight");
    assert.equal(await hashOf(page), "#overview");
    await page.keyboard.press("ArrowRight");
    await page.waitForSelector("#view-functions");
    await page.keyboard.press("/");
    assert.ok(await focused(page, "input[type=search]"));
}));

test("rows by keys: Enter opens, Escape closes and goes back", at("all", "paths", async (page) => {
    await page.focus(`${shown} tr[tabindex='0']`);
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForSelector(`${shown} .detail h2`);
    assert.match(await hashOf(page), /^#path=\w/);
    assert.ok(await focused(page, ".detail h2"));
    await page.keyboard.press("Escape");
    await page.waitForSelector(`${shown} .detail`, { state: "hidden" });
    assert.equal(await hashOf(page), "#paths");
    assert.ok(await focused(page, "tr[data-row='2']"));
    await page.keyboard.press("End");
    const last = report.paths.filter((path) => path.kind === report.paths[0].kind).length - 1;
    assert.ok(await focused(page, `tr[data-row='${last}']`));
}));

test("nested loops open and close by keys", at("all", "loops", async (page) => {
    const before = (await rows(page)).length;
    await page.focus(`${shown} tr[tabindex='0']`);
    while (!(await focused(page, "[aria-expanded=false]"))) // the hot ones are open from the beginning
        await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    assert.ok(await focused(page, "[aria-expanded=true]"));
    assert.ok((await rows(page)).length > before || before >= 40);
    await page.keyboard.press("ArrowDown");
    assert.ok(await focused(page, "[aria-level='2']"));
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    assert.ok(await focused(page, "[aria-expanded=false]"));
}));

test("the graph of a region: blocks, links, zoom by keys, and a list", at("all", "hotspot/0", async (page) => {
    await page.waitForSelector("svg.graph .node");
    assert.equal(await page.$$eval("svg.graph .node", (all) => all.length), Math.min(100, report.hotspots[0].blocks.length));
    assert.ok(await page.$$eval("svg.graph .edge", (all) => all.length) > 0);
    const box = () => page.getAttribute("svg.graph", "viewBox");
    const before = await box();
    await page.focus("svg.graph");
    await page.keyboard.press("+");
    const after = await box();
    assert.notEqual(after, before);
    await page.keyboard.press("ArrowDown");
    assert.notEqual(await box(), after);
    await page.click(".graph-box summary");
    await page.click(".graph-box .items button >> nth=0");
    await page.waitForSelector(".chosen .listing .insn");
}));

test("the flame graph: zoom, search, and back", withPage("all", "flame", async (page) => {
    const cells = () => page.$$eval(`${shown} .flame-cell`, (all) => all.length);
    const before = await cells();
    assert.ok(before > 5);
    await page.focus(`${shown} .flame-cell[tabindex='0']`);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    const name = await page.evaluate(() => document.activeElement.textContent);
    await page.keyboard.press("Enter");
    await page.waitForFunction((wanted) => document.querySelector("[role=tabpanel]:not([hidden]) .crumbs strong")?.textContent === wanted, name);
    assert.ok(await cells() < before);
    await page.keyboard.press("Escape");
    await page.waitForFunction((wanted) => document.querySelectorAll("[role=tabpanel]:not([hidden]) .flame-cell").length === wanted, before);
    await page.fill(`${shown} input[type=search]`, "collatz");
    assert.ok(await page.$$eval(`${shown} .flame-cell.match`, (all) => all.length) > 0);
    const { contexts, functions } = dataOf("all"); // the sum is exact, whatever is drawn
    const f = functions.name.indexOf("collatz");
    const total = contexts.inclusive.reduce((sum, value, row) => sum + (contexts.function[row] === f ? value : 0), 0);
    assert.match(await status(page), new RegExp(`^1 function matches, in \\d+ contexts?: ${total.toLocaleString("en")} instructions`));
}));

test("heavy functions have colours of their own, and loops those of the functions they are written in", at("all", "overview", async (page) => {
    const bars = (href) => page.$$eval(`${shown} .ranked > li:has(a[href^="${href}"])`, (all) => all.map((item) => [Number(item.querySelector("a").getAttribute("href").split("/")[1]), item.querySelector(".bar-fill").style.background]));
    const functions = await bars("#function/");
    assert.equal(new Set(functions.map(([, colour]) => colour)).size, functions.length);
    const colours = new Map(functions.map(([row, colour]) => [report.functions[row].name, colour]));
    const loops = (await bars("#loop/")).filter(([row]) => colours.has(report.loops[row].written_in));
    assert.ok(loops.length > 0);
    for (const [row, colour] of loops)
        assert.equal(colour, colours.get(report.loops[row].written_in), report.loops[row].header);
}));

test("without lines, places are those in their function", withPage("bare", "loops", async (page) => {
    const { loops, functions, modules } = dataOf("bare");
    const own = (f) => f >= 0 && modules.name[functions.module[f]] === "bare" && /^\w+$/.test(functions.name[f]);
    const names = await page.$$eval(`${shown} tr[data-row]`, (all) => all.map((row) => [Number(row.dataset.row), row.querySelector(".name").firstChild.nextSibling.textContent]));
    const known = names.filter(([row]) => own(loops[row].function));
    assert.ok(known.length > 1);
    for (const [row, name] of known)
        assert.match(name, /^\+0x[0-9a-f]+$/, functions.name[loops[row].function]); // the function is beside it
    await page.evaluate(() => { location.hash = "overview"; });
    const found = await page.innerText(`${shown} .findings a[href^="#loop/"] .finding`);
    assert.doesNotMatch(found, /bare\+0x/);
    const [, first] = /^(\S+)/.exec(found);
    const best = names.find(([row, name]) => `${functions.name[loops[row].function]}${name}` === first)[0];
    const nested = (row) => loops.filter((loop) => loop.parent === loops[row].id).reduce((sum, loop) => sum + loop.inclusive, 0);
    const rest = loops.map((loop, row) => loop.inclusive - nested(row));
    assert.ok(rest.every((value, row) => value <= rest[best] / 0.9 && (value < 0.9 * Math.max(...rest) || loops[row].iterations <= loops[best].iterations)));
}));

test("a search says where contexts are missing", withPage("some contexts", "flame=all", async (page) => {
    await page.fill(`${shown} input[type=search]`, "main");
    assert.match(await status(page), /: at least [1-9][\d,]* instructions/);
}));

test("what is too small to be drawn is said", withPage("huge", "flame=inverted", async (page) => {
    const { total, drawn } = await page.$$eval(`${shown} .flame-cell`, (cells) => {
        const value = (cell) => Number(/, ([\d,]+) instructions/.exec(cell.getAttribute("aria-label"))[1].replaceAll(",", ""));
        return { total: value(cells[0]), drawn: cells.filter((cell) => cell.getAttribute("aria-level") === "2").reduce((sum, cell) => sum + value(cell), 0) };
    });
    const [, said] = /too small to be drawn has ([\d.]+)%/.exec(await page.textContent(`${shown} .flames + .note`));
    assert.ok(Math.abs((100 * (total - drawn)) / total - Number(said)) < 0.06, `${said}% of ${total} - ${drawn}`);
}));

test("the flame graph begins below what only calls one other, and tells at once what is under the pointer", at("all", "flame", async (page) => {
    const first = await page.textContent(`${shown} .flame-cell >> nth=0`);
    assert.equal(first, await page.textContent(`${shown} .crumbs strong`));
    assert.notEqual(first, "all");
    await page.hover(`${shown} .flame-cell >> nth=1`);
    const name = await page.textContent(`${shown} .flame-cell >> nth=1`);
    assert.equal(await page.textContent(".tip:not([hidden]) .tip-name"), name);
    assert.match(await page.textContent(".tip"), /Instructions[\d,]+\d+\.\d%/);
    await page.hover("header");
    assert.equal(await page.$$eval(".tip:not([hidden])", (all) => all.length), 0);
    await page.click(`${shown} .crumbs button >> nth=0`);
    await page.waitForFunction((panel) => document.querySelector(`${panel} .flame-cell`).textContent === "all", shown);
}));

const labels = (page, within) => page.$$eval(`${shown} ${within} .flame-cell`, (cells) => cells.map((cell) => cell.getAttribute("aria-label")));
const numberIn = (label) => Number(/, ([\d,]+) instructions/.exec(label)[1].replaceAll(",", ""));

test("the inverted flame graph has what functions execute in themselves", at("all", "flame=inverted", async (page) => {
    const [all, ...cells] = await labels(page, ".flame");
    assert.equal(numberIn(all), report.summary.instructions);
    const top = cells.find((label) => label.startsWith(`${report.functions[0].name}: `));
    assert.equal(numberIn(top), report.functions[0].self);
}));

test("a sandwich: callers above, callees below, with exact numbers", at("all", "flame=sandwich:collatz", async (page) => {
    assert.equal(await page.evaluate(() => location.hash), "#flame=sandwich:collatz");
    assert.equal(await page.$$eval(`${shown} .flame`, (all) => all.length), 2);
    const { inclusive } = report.functions.find((f) => f.name === "collatz");
    const callers = await labels(page, ".flame >> nth=0 >>"), callees = await labels(page, ".flame >> nth=1 >>");
    assert.ok(callers[0].startsWith("main: "), callers[0]);
    assert.equal(numberIn(callers[0]), inclusive);
    assert.ok(callees[0].startsWith("collatz: "), callees[0]);
    assert.equal(numberIn(callees[0]), inclusive);
    await page.click(`${shown} .flame >> nth=0 >> .flame-cell >> nth=0`);
    await page.waitForFunction(() => location.hash === "#flame=sandwich:main");
}));

test("colours by module have a legend", at("all", "flame=modules", async (page) => {
    const names = await page.$$eval(`${shown} .view > .legend li`, (items) => items.map((item) => item.firstElementChild.nextSibling.data));
    assert.ok(names.length > 0 && names.every((name) => report.modules.some((module) => module.path.endsWith(name))), names.join());
    await page.click(`${shown} .choice button:has-text("Colour by function")`);
    assert.ok(!(await page.isVisible(`${shown} .view > .legend`)));
}));

test("findings are sentences that lead to their views", at("all", "overview", async (page) => {
    const found = await page.$$eval(`${shown} .findings a`, (links) => links.map((link) => [link.querySelector(".finding-label").textContent, link.getAttribute("href"), link.querySelector(".finding").textContent]));
    const views = { "Hottest function": /^#function\/0$/, "Hottest loop": /^#loop\/\d+$/, "Hottest path": /^#path\/\d+$/, "Costliest stall": /^#instruction\/\d+$/, Phases: /^#hotspots$/, Modules: /^#flame=modules$/ };
    assert.deepEqual(found.map(([label]) => label), Object.keys(views));
    for (const [label, href, text] of found) {
        assert.match(href, views[label]);
        assert.match(text, /\.$/);
    }
    const loop = report.loops[Number(found[1][1].split("/")[1])];
    assert.ok(found[1][2].includes(`${(loop.share * 100).toFixed(1)}%`) && found[1][2].includes(loop.executions.toLocaleString("en")), found[1][2]);
    const { causes } = report.cpi[0];
    const worst = Object.keys(causes).filter((cause) => cause !== "retire").reduce((a, b) => (causes[b] > causes[a] ? b : a));
    assert.ok(found[3][2].includes(` ${worst}: `), found[3][2]);
}));

test("addresses name things, and hold in the page of another run", withPage("all", "", async (page) => {
    const opened = async (hash) => {
        await page.evaluate((to) => { location.hash = to; }, hash);
        await page.waitForSelector(`${shown} .detail:not([hidden]) h2`);
        return [await title(page), await page.evaluate(() => location.hash)];
    };
    const names = {};
    for (const hash of ["function/0", "path/3", "loop/1", "instruction/2", "hotspot/0", "syscall/0"]) {
        const [heading, name] = await opened(hash);
        assert.match(name, /^#\w+=/);
        names[name] = heading;
    }
    for (const [name, heading] of Object.entries(names))
        assert.deepEqual(await opened(name), [heading, name]);
    const f = report.functions.findIndex((entry) => entry.name === "collatz");
    assert.deepEqual(await opened(`function/${f}`), ["collatz", "#function=collatz"]);
}));

test("hot spots are in the order of time, in the colours of the chart", at("all", "hotspots", async (page) => {
    const { hotspots } = dataOf("all");
    const shownRows = await page.$$eval(`${shown} tr[data-row]`, (all) => all.map((row) => [Number(row.dataset.row), row.querySelector(".bar-fill").style.background]));
    const times = shownRows.map(([row]) => hotspots[row].detected_at_instructions);
    assert.deepEqual(times, [...times].sort((a, b) => a - b));
    const drawn = new Set(await page.$$eval(`${shown} .chart-area rect`, (all) => all.map((rect) => rect.getAttribute("fill") ?? rect.closest("[fill]")?.getAttribute("fill"))));
    for (const [row, colour] of shownRows)
        assert.ok(!hotspots[row].slices.length || drawn.has(colour), colour);
}));

test("a hot spot that is nearly another is no row of its own, and has its address", withPage("twins", "hotspots", async (page) => {
    const { hotspots } = dataOf("all");
    const spots = await rows(page);
    assert.equal(spots.filter((spot) => /like it$/.test(spot.Hottest)).length > 0, true);
    assert.ok(spots.length <= hotspots.length);
    assert.match(await page.textContent(`${shown} .toolbar .note`), new RegExp(`^${1 + hotspots.length - spots.length} more (is|are) nearly the same`)); // one is the twin
    await page.evaluate((row) => { location.hash = `hotspot/${row}`; }, hotspots.length);
    await page.waitForSelector(`${shown} .detail:not([hidden]) h2`);
    assert.match(await title(page), /^Hot spot #99: /);
    assert.match((await facts(page))["Nearly the same"], new RegExp(`#${hotspots[0].id}, `));
}));

const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).reduce((sum, part) => sum + Number(part), 0) / 3);

test("light and dark: as the system says, or as chosen", withPage("all", "", async (page) => {
    assert.ok(await background(page) > 200);
    await page.emulateMedia({ colorScheme: "dark" });
    assert.ok(await background(page) < 60);
    await page.click(".theme");
    assert.ok(await background(page) > 200);
}));

test("paper is light, without what cannot be clicked, and nothing is cut", withPage("all", "paths", async (page) => {
    await page.emulateMedia({ media: "print" });
    assert.ok(await background(page) > 250 || await page.evaluate(() => getComputedStyle(document.body).backgroundColor) === "rgba(0, 0, 0, 0)");
    assert.ok(!(await page.isVisible("[role=tablist]")));
    assert.equal(await page.$eval(`${shown} .grid-scroll`, (box) => getComputedStyle(box).overflowY), "visible");
    await page.waitForFunction(() => document.querySelectorAll("[role=tabpanel]:not([hidden]) tr[data-at]").length === 60);
    assert.ok((await page.pdf()).length > 20000);
}, { colorScheme: "dark" }));

const places = ["overview", "functions", "function/0", "paths", "path/0", "loops", "loop/0", "hotspots", "hotspot/0", "predictions", "instructions", "instruction/0", "machine", "syscalls", "syscall/0", "counters", "flame", "flame=inverted", "flame=sandwich:main"];

test("a narrow screen has nothing beside it", withPage("all", "", async (page) => {
    for (const place of places) {
        await page.evaluate((to) => { location.hash = to; }, place);
        await page.waitForTimeout(30);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), place);
    }
}, { viewport: { width: 380, height: 700 } }));

// Serious complaints of axe about a page that is shown at each of some places.
const judged = (where, options) => async (page) => {
    await page.evaluate(manifest.axe);
    for (const place of where) {
        await page.evaluate((to) => { location.hash = to; }, place);
        await page.waitForTimeout(30);
        const { violations } = await page.evaluate(([selector, how]) => axe.run({ include: [["header"], [selector]] }, { resultTypes: ["violations"], ...how }), [shown, options]);
        const serious = violations.filter((violation) => ["serious", "critical"].includes(violation.impact));
        assert.deepEqual(serious.map((violation) => `${place}: ${violation.id}: ${violation.nodes[0].html.slice(0, 300)}`), []);
    }
};

// Contrast takes long to measure, and is the same in many places.
test("nothing serious for axe", withPage("all", "", judged(["overview", "function/0", "path/0", "loop/0", "hotspot/0", "predictions", "instruction/0", "machine", "syscall/0", "flame", "flame=inverted", "flame=sandwich:main"], { rules: { "color-contrast": { enabled: false } } }), { bypassCSP: true }));
for (const colorScheme of ["light", "dark"])
    test(`enough contrast, ${colorScheme}`, withPage("all", "", judged(["overview", "path/0", "instruction/0"], { runOnly: ["color-contrast"] }), { colorScheme, bypassCSP: true }));
