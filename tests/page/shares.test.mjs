// SPDX-License-Identifier: MIT
// What shares are of: the rows of a table sum to the whole, whatever the profile has. ("windows": cycles of parts of the run.)
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { at, manifest, shown } from "./browser.mjs";

const PROFILES = ["default", "all", "windows", "huge", "processes", "names"];
const dataOf = (name) => JSON.parse(readFileSync(manifest[name].data, "utf8"));

/** Shares in a column of the table that is shown, of all rows (only those in sight are elements): by row, in percent. */
function shares(page, label) {
    return page.$eval(`${shown} .grid-scroll`, async (box, wanted) => {
        const found = {};
        const at = [...box.querySelectorAll("th")].findIndex((head) => head.textContent === wanted);
        for (let top = 0; top < box.scrollHeight; top += box.clientHeight) {
            box.scrollTop = top;
            box.dispatchEvent(new Event("scroll"));
            for (const row of box.querySelectorAll("tr[data-row]"))
                found[row.dataset.row] = parseFloat(row.cells[at].querySelector(".bar").title);
        }
        return found;
    }, label);
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

/** Titles of bars have four decimals. */
function whole(found, expected, what) {
    const values = Object.values(found);
    assert.ok(Math.abs(sum(values) - expected) < 0.01 + values.length * 0.0001, `${what}: ${sum(values)} of ${expected}, ${values.length} rows`);
}

for (const name of PROFILES) {
    const data = dataOf(name);
    const { summary } = data;
    const has = { functions: true, paths: data.kinds.length > 0, instructions: data.instructions.length > 0, machine: data.cpi.run.length > 0 };

    test(`${name}: functions have all instructions`, at(name, "functions", async (page) => {
        const found = await shares(page, "Self");
        assert.equal(Object.keys(found).length, summary.functions);
        whole(found, 100, "self");
    }));

    if (has.machine)
        test(`${name}: functions have all cycles`, at(name, "functions", async (page) => whole(await shares(page, "Cycles"), 100, "cycles")));

    test(`${name}: contexts have all instructions, and a root what is below it`, at(name, "flame", async (page) => {
        await page.click(`${shown} details > summary`);
        await page.waitForSelector(`${shown} table.grid`);
        whole(await shares(page, "Self"), 100, "contexts");
        const { inclusive, parent } = data.contexts;
        assert.equal(sum(inclusive.filter((_, row) => parent[row] < 0)), summary.instructions);
    }));

    if (has.paths)
        test(`${name}: paths have what their kind has`, at(name, "paths", async (page) => whole(await shares(page, "Share"), (100 * data.kinds[0].instructions) / summary.instructions, "paths")));

    if (has.instructions)
        test(`${name}: instructions have all cycles`, at(name, "instructions", async (page) => whole(await shares(page, "Cycles"), 100, "instructions")));

    if (has.machine) {
        test(`${name}: causes have all cycles`, at(name, "machine", async (page) => {
            const texts = await page.$$eval(`${shown} .card >> nth=0 >> tbody td:nth-child(2)`, (cells) => cells.map((cell) => cell.textContent));
            assert.ok(Math.abs(sum(texts.map((text) => parseFloat(text.replace("<", "")))) - 100) < 0.1 * texts.length);
        }));
        test(`${name}: a listing has the cycles of its function`, at(name, "function/0", async (page) => {
            await page.waitForSelector(`${shown} .detail .listing`);
            const found = await page.$$eval(`${shown} .detail .listing .bar`, (bars) => bars.map((bar) => parseFloat(bar.title)));
            whole(found, (100 * data.functions.cycles[0]) / data.cpi.run[0].cycles, "listing");
        }));
    }
}

for (const [name, present] of Object.entries({ default: false, huge: false, all: true, windows: true }))
    test(`${name}: the machine has a view ${present ? "" : "only "}where one ran`, at(name, "overview", async (page) => {
        assert.equal(await page.$$eval("#tab-machine", (tabs) => tabs.length), Number(present));
        assert.equal(await page.$$eval("#tab-counters", (tabs) => tabs.length), Number(dataOf(name).machine.length > 0));
    }));

test("the overview has nothing but what there is", at("default", "overview", async (page) => {
    const bare = await page.$$eval(`${shown} :is(.keys, .cards, .view)`, (boxes) => boxes.flatMap((box) => [...box.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data)));
    assert.deepEqual(bare, []);
}));

test("the overview counts the paths that were asked for", at("windows", "overview", async (page) => {
    const { kinds } = dataOf("windows");
    assert.ok(kinds.length > 1); // those of samples come with the machine
    const tile = await page.$$eval(`${shown} .key`, (keys) => keys.find((key) => key.querySelector(".figure-label").textContent === "paths").title);
    assert.equal(tile, kinds[0].paths.toLocaleString("en"));
}));
