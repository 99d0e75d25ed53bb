// SPDX-License-Identifier: MIT
// Two profiles compared: the page says what `hotpath diff --json` does.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { at, count, facts, hashOf, manifest, shown, status, withPage } from "./browser.mjs";

const diff = JSON.parse(readFileSync(manifest.diff.report, "utf8")).diff;
const data = JSON.parse(readFileSync(manifest.diff.data, "utf8"));
const total = diff.totals.find((entry) => entry.name === "instructions");
const sign = (delta) => (delta > 0 ? "+" : delta < 0 ? "−" : "");
const signed = (delta) => `${sign(delta)}${count(Math.abs(delta))}`;
const labels = (page) => page.$$eval(`${shown} .flame-cell`, (cells) => cells.map((cell) => cell.getAttribute("aria-label")));

test("the data is that of hotpath diff, and its contexts add up", () => {
    assert.deepEqual(data.diff, diff);
    const sum = (values) => values.reduce((all, value) => all + value, 0);
    const { contexts } = data;
    for (const side of ["old", "new"]) {
        assert.equal(sum(contexts[`${side}_self`]), total[side]);
        assert.equal(sum(contexts[`${side}_inclusive`].filter((_, row) => contexts.parent[row] < 0)), total[side]);
        const self = diff.functions.map(() => 0);
        contexts.function.forEach((f, row) => { if (f >= 0) self[f] += contexts[`${side}_self`][row]; });
        for (const name of ["main", "find", "steps", "hash"]) // nobody jumps into them
            assert.equal(self[diff.functions.findIndex((f) => f.name === name)], diff.functions.find((f) => f.name === name)[side], name);
    }
});

test("what changed comes first, in sentences", at("diff", "overview", async (page) => {
    const found = await page.$$eval(`${shown} .findings a`, (links) => links.map((link) => [link.querySelector(".finding-label").textContent, link.getAttribute("href"), link.querySelector(".finding").textContent]));
    assert.ok(found[0][2].includes(`${((Math.abs(total.delta) / total.old) * 100).toFixed(1)}% fewer instructions: ${count(total.old)} before, ${count(total.new)} now`), found[0][2]);
    const most = found.find(([label]) => label === "Most of it");
    assert.ok(most[2].includes(diff.functions[0].name), most[2]);
    for (const [label, href, text] of found) {
        assert.match(href, /^#(functions|function\/\d+|loop\/\d+)$/, label);
        assert.match(text, /\.$/, label);
    }
    assert.match(found.find(([label]) => label === "New and gone")[2], /hash/);
}));

test("functions: old, new and change of each", at("diff", "functions", async (page) => {
    assert.match(await status(page), new RegExp(`^${count(diff.functions.length)} functions`));
    const found = await page.$$eval(`${shown} tr[data-row]`, (all) => all.map((row) => [Number(row.dataset.row), row.querySelector(".bar").title, row.querySelector(".name").title]));
    found.forEach(([row, change, name], i) => {
        assert.equal(row, i);
        assert.equal(change, diff.functions[row].delta ? signed(diff.functions[row].delta) : "0");
        assert.equal(name, diff.functions[row].name);
    });
}));

test("a function: its numbers, and its lines with their source", at("diff", "functions", async (page) => {
    const row = diff.functions.findIndex((f) => f.name === "find");
    await page.evaluate((to) => { location.hash = `function/${to}`; }, row);
    await page.waitForSelector(`${shown} .detail:not([hidden]) h2`);
    assert.equal(await hashOf(page), "#function=find");
    const f = diff.functions[row], shownFacts = await facts(page);
    assert.equal(shownFacts.Old, count(f.old));
    assert.equal(shownFacts.New, count(f.new));
    assert.ok(shownFacts.Change.startsWith(signed(f.delta)));
    const lines = diff.lines.filter((line) => line.function === row && line.delta !== 0);
    const texts = await page.$$eval(`${shown} .detail [aria-label=Lines] tbody tr`, (all) => all.map((line) => line.lastElementChild.textContent.trim()));
    assert.equal(texts.length, lines.length);
    assert.ok(texts.includes("unsigned at = hash(text) & 255;"), texts.join("\n"));
}));

test("loops and paths: old and new", at("diff", "loops", async (page) => {
    assert.match(await status(page), new RegExp(`^${count(diff.loops.length)} loops?`));
    const row = diff.loops.findIndex((loop) => loop.old && loop.new && loop.old.iterations !== loop.new.iterations);
    await page.evaluate((to) => { location.hash = `loop/${to}`; }, row);
    await page.waitForSelector(`${shown} .detail:not([hidden]) h2`);
    const cells = await page.$$eval(`${shown} .detail table tbody tr`, (all) => all.map((line) => [...line.cells].map((cell) => cell.textContent)));
    assert.deepEqual(cells[1], ["Iterations", count(diff.loops[row].old.iterations), count(diff.loops[row].new.iterations)]);
    await page.evaluate(() => { location.hash = "path/0"; });
    await page.waitForSelector(`${shown} .detail:not([hidden]) h2`);
    const path = await facts(page);
    assert.equal(path.Old, count(diff.paths[0].old));
    assert.equal(path.New, count(diff.paths[0].new));
    assert.equal(await page.$$eval(`${shown} .detail ol li`, (all) => all.length), diff.paths[0].steps.length);
}));

test("the flame graph: as wide as new or old, in the colour of the change", at("diff", "flame=all", async (page) => {
    const numbers = `${signed(total.delta)} instructions (${sign(total.delta)}${((Math.abs(total.delta) / total.old) * 100).toFixed(1)}%), ${count(total.old)} before, ${count(total.new)} now`;
    assert.equal((await labels(page))[0], `all: ${numbers}`);
    const widthOf = (name) => page.$$eval(`${shown} .flame-cell`, (cells, wanted) => Math.max(0, ...cells.filter((cell) => cell.getAttribute("aria-label").startsWith(`${wanted}: `)).map((cell) => parseFloat(cell.style.width))), name);
    const { contexts } = data;
    const inclusive = (name, side) => contexts.function.reduce((most, f, row) => (f >= 0 && diff.functions[f].name === name ? Math.max(most, contexts[`${side}_inclusive`][row]) : most), 0);
    const close = (found, expected) => assert.ok(Math.abs(found - expected) < 0.01, `${found} is not ${expected}`);
    close(await widthOf("find"), (100 * inclusive("find", "new")) / total.new);
    const background = await page.$$eval(`${shown} .flame-cell`, (cells) => Object.fromEntries(cells.map((cell) => [cell.getAttribute("aria-label").split(":")[0], cell.style.background])));
    assert.match(background.find, /shrank/);
    assert.match(background.hash, /grew/);
    await page.click(`${shown} .choice button:has-text("As wide as old")`);
    await page.waitForFunction(() => location.hash === "#flame=old");
    await page.evaluate(() => { location.hash = "flame=old,all"; });
    await page.waitForFunction((all) => document.querySelector("[role=tabpanel]:not([hidden]) .flame-cell").getAttribute("aria-label").startsWith(all), "all: ");
    close(await widthOf("find"), (100 * inclusive("find", "old")) / total.old);
    assert.equal(await widthOf("hash"), 0);
    await page.hover(`${shown} .flame-cell >> nth=0`);
    assert.ok((await page.textContent(".tip:not([hidden])")).includes(count(total.old)));
    await page.fill(`${shown} input[type=search]`, "hash");
    assert.match(await status(page), /^\d+ functions? match/);
}));

test("a cell zooms to its context, by name, and Escape goes back", withPage("diff", "flame=all", async (page) => {
    await page.focus(`${shown} .flame-cell[tabindex='0']`);
    for (let i = 0; i < 3; i++)
        await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.startsWith("#context="));
    await page.click(`${shown} .choice button:has-text("As wide as old")`);
    assert.match(await hashOf(page), /^#context=/);
    await page.focus(`${shown} .flame-cell[tabindex='0']`);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => location.hash === "#flame=old,all");
}));

test("two equal profiles: nothing changed, and no list of changes", withPage("same", "", async (page) => {
    const text = await page.textContent(`${shown} .findings`);
    assert.match(text, /exactly as many instructions/);
    assert.match(text, /No function changed\./);
    assert.equal(await page.$$eval(`${shown} .ranked`, (all) => all.length), 0);
}));

const places = ["overview", "functions", "function/0", "flame", "flame=old", "lines", "loops", "loop/0", "paths", "path/0"];

for (const name of ["diff", "diff strings"])
    test(`${name}: a narrow screen has nothing beside it, and names are texts`, withPage(name, "", async (page) => {
        for (const place of places) {
            await page.evaluate((to) => { location.hash = to; }, place);
            await page.waitForTimeout(30);
            assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), place);
        }
        assert.equal(await page.evaluate(() => window.pwned), undefined);
        assert.equal(await page.$$eval("body script, body img, body iframe, body object", (all) => all.length), 1); // its own
    }, { viewport: { width: 380, height: 700 } }));

for (const colorScheme of ["light", "dark"])
    test(`nothing serious for axe, ${colorScheme}`, withPage("diff", "", async (page) => {
        await page.evaluate(manifest.axe);
        for (const place of places) {
            await page.evaluate((to) => { location.hash = to; }, place);
            await page.waitForTimeout(30);
            const { violations } = await page.evaluate((selector) => axe.run({ include: [["header"], [selector]] }, { resultTypes: ["violations"] }), shown);
            const serious = violations.filter((violation) => ["serious", "critical"].includes(violation.impact));
            assert.deepEqual(serious.map((violation) => `${place}: ${violation.id}: ${violation.nodes[0].html.slice(0, 300)}`), []);
        }
    }, { colorScheme, bypassCSP: true }));
