// SPDX-License-Identifier: MIT
// Processes and threads: by name, what each executed, flame graphs split by them; names that are shortened.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { at, count, facts, hashOf, manifest, reportOf, rows, shown, title, withPage } from "./browser.mjs";

const report = reportOf("processes");
const data = JSON.parse(readFileSync(manifest.processes.data, "utf8"));
const total = report.summary.instructions;
const sum = (values) => values.reduce((all, value) => all + value, 0);
const labels = (page, within = "") => page.$$eval(`${shown} ${within} .flame-cell`, (cells) => cells.map((cell) => [Number(cell.getAttribute("aria-level")), cell.getAttribute("aria-label")]));
const numberIn = (label) => Number(/, ([\d,]+) instructions/.exec(label)[1].replaceAll(",", ""));

test("what threads have of functions and contexts is what these have", () => {
    for (const [table, of, key] of [["function_threads", "functions", "function"], ["context_threads", "contexts", "context"]])
        for (const column of table === "function_threads" ? ["self", "calls"] : ["self", "inclusive", "calls"]) {
            const found = data[of][column].map(() => 0);
            data[table][key].forEach((row, i) => { found[row] += data[table][column][i]; });
            assert.deepEqual(found, data[of][column], `${table}.${column}`);
        }
    const ofThread = new Map();
    data.context_threads.thread.forEach((thread, i) => ofThread.set(thread, (ofThread.get(thread) ?? 0) + data.context_threads.self[i]));
    for (const { thread, instructions } of report.threads)
        assert.equal(ofThread.get(thread), instructions, `thread ${thread}`);
});

test("processes are called by what tells them apart", at("processes", "processes", async (page) => {
    const found = await rows(page);
    const names = found.map((row) => row.Name.replace(/^[▸▾]/, ""));
    for (const name of ["parts first", "parts second"])
        assert.ok(names.some((text) => text === name || text.startsWith(`${name} (`)), `${name} in ${names.join("; ")}`);
    assert.equal(new Set(names).size, names.length);
    assert.deepEqual(found.map((row) => row.Instructions), report.processes.map((process) => count(process.instructions)));
    assert.equal(sum(report.processes.map((process) => process.instructions)), total);
}));

test("a process: its threads, its functions, its flame graph", withPage("processes", "processes", async (page) => {
    const row = report.processes.findIndex((process) => process.threads > 1);
    await page.evaluate((to) => { location.hash = `process/${to}`; }, row);
    await page.waitForSelector(`${shown} .detail:not([hidden]) h2`);
    assert.match(await title(page), /^Process parts /);
    assert.match(await hashOf(page), /^#process=parts/);
    const threads = report.threads.filter((thread) => thread.pid === report.processes[row].pid && thread.command === report.processes[row].command);
    assert.equal(await page.$$eval(`${shown} .detail ol[aria-label=Threads] li`, (all) => all.length), threads.length);
    const numbers = new Set(threads.map((thread) => thread.thread));
    const work = data.functions.name.indexOf("work");
    const self = sum(data.function_threads.self.filter((_, i) => data.function_threads.function[i] === work && numbers.has(data.function_threads.thread[i])));
    const first = (await rows(page, `${shown} .detail`))[0];
    assert.equal(first.Function, "work");
    assert.equal(await page.$eval(`${shown} .detail tr[data-at='0'] .bar`, (bar) => bar.title), `${((self / report.processes[row].instructions) * 100).toFixed(4)}%`);
    await page.click(`${shown} .detail a.more`);
    await page.waitForSelector(`${shown} .flame`);
    assert.equal(numberIn((await labels(page))[0][1]), report.processes[row].instructions);
}));

for (const mode of ["", "inverted,"])
    test(`the flame graph by process${mode ? ", inverted" : ""}: each has what it executed`, at("processes", `flame=${mode}processes`, async (page) => {
        const cells = await labels(page);
        assert.equal(numberIn(cells[0][1]), total);
        const found = cells.filter(([level]) => level === 2).map(([, label]) => numberIn(label));
        const expected = report.processes.map((process) => process.instructions);
        assert.deepEqual(found, expected.slice(0, found.length));
        assert.ok(expected.slice(found.length).every((instructions) => instructions < total / 1000));
        await page.hover(`${shown} .flame-cell >> nth=1`);
        assert.match(await page.textContent(".tip:not([hidden])"), /parts (first|second)/);
    }));

test("what only names a pid does not say which program of it", withPage("processes", "processes", async (page) => {
    const times = (pid) => report.processes.filter((process) => process.pid === pid).length;
    const row = report.processes.findIndex((process) => times(process.parent) > 0);
    await page.evaluate((to) => { location.hash = `process/${to}`; }, row);
    await page.waitForSelector(`${shown} .detail:not([hidden]) h2`);
    const found = await facts(page), { parent } = report.processes[row];
    assert.ok((times(parent) > 1 ? "Started by: one of" : "Started by") in found, Object.keys(found).join());
}));

test("the ways to split are buttons, and a part zooms", withPage("processes", "flame", async (page) => {
    await page.click(`${shown} .choice button:has-text("By thread")`);
    await page.waitForFunction(() => location.hash === "#flame=threads");
    assert.equal((await labels(page)).filter(([level]) => level === 2).length, report.threads.filter((thread) => thread.instructions > total / 2000).length);
    await page.click(`${shown} .flame-cell >> nth=1`);
    await page.waitForFunction((all) => !document.querySelector("[role=tabpanel]:not([hidden]) .flame-cell").getAttribute("aria-label").includes(all), total.toLocaleString("en"));
    assert.equal(numberIn((await labels(page))[0][1]), report.threads[0].instructions);
    await page.keyboard.press("Escape");
    await page.click(`${shown} .choice button:has-text("Inverted")`);
    await page.waitForFunction(() => location.hash === "#flame=inverted,threads");
    await page.click(`${shown} .choice button:has-text("Whole run")`);
    await page.waitForFunction(() => location.hash === "#flame=inverted");
}));

test("a function says which processes executed it, the overview which ran", at("processes", "overview", async (page) => {
    const finding = await page.textContent(`${shown} .findings a[href='#processes']`);
    assert.match(finding, new RegExp(`${report.processes.length} processes ran: \\d+\\.\\d% in parts`));
    const work = data.functions.name.indexOf("work");
    await page.evaluate((row) => { location.hash = `function/${row}`; }, work);
    await page.waitForSelector(`${shown} .detail:not([hidden]) h2`);
    assert.match(await page.textContent(`${shown} .detail .columns`), /In 2 processes.*parts (first|second)/s);
}));

test("one process with one thread has none of that", at("default", "overview", async (page) => {
    assert.equal(await page.$$eval("#tab-processes", (all) => all.length), 0);
    await page.evaluate(() => { location.hash = "flame=processes"; });
    await page.waitForSelector(`${shown} .flame`);
    assert.equal(await page.$$eval(`${shown} .choice button:text-is("By process")`, (all) => all.length), 0);
}));

test("threads: the flame graph begins where each does something, all of it shows how", withPage("threads", "flame", async (page) => {
    const cells = () => page.$$eval(`${shown} .flame-cell`, (all) => all.map((cell) => [Number(cell.getAttribute("aria-level")), cell.getAttribute("aria-label").replace(/: [^:]*$/, "")]));
    const start = await cells();
    assert.deepEqual(start[0], [1, "all"]);
    assert.ok(start.some(([level, name]) => level === 2 && name === "thread"), JSON.stringify(start));
    await page.click(`${shown} .flame-cell`);
    await page.waitForFunction(() => location.hash === "#flame=all");
    const whole = await cells();
    assert.ok(whole.some(([level, name]) => level === 2 && /clone/.test(name)), JSON.stringify(whole));
    assert.ok(whole.every(([level, name]) => level > 2 || name !== "thread"));
}));

for (const name of ["default", "processes", "threads"])
    test(`${name}: system calls are worth a sentence where the busiest thread spends a tenth of its time in them`, withPage(name, "", async (page) => {
        const { threads } = JSON.parse(readFileSync(manifest[name].report, "utf8"));
        const busiest = threads.reduce((a, b) => (a.instructions >= b.instructions ? a : b));
        const said = await page.$$eval(`${shown} .findings a[href="#syscalls"]`, (all) => all.map((link) => link.textContent));
        assert.equal(said.length, busiest.in_syscalls >= 0.1 ? 1 : 0);
        if (said.length)
            assert.ok(said[0].includes(`${(busiest.in_syscalls * 100).toFixed(1)}% of the time`), said[0]);
    }));

test("long names are shortened, with the whole name at the pointer and where the function is opened", withPage("names", "functions", async (page) => {
    const { functions } = JSON.parse(readFileSync(manifest.names.data, "utf8"));
    const row = functions.brief.findIndex((brief, at) => /each/.test(brief) && functions.self[at] > 0);
    assert.ok(row >= 0 && functions.brief[row].includes("<…>") && functions.brief[row].length <= 64, functions.brief[row]);
    const cell = `${shown} tr[data-row='${row}'] .name`;
    await page.fill(`${shown} input[type=search]`, "each"); // it may be far down
    assert.equal(await page.getAttribute(cell, "title"), functions.name[row]);
    assert.equal(await page.innerText(cell), functions.brief[row]);
    await page.evaluate((to) => { location.hash = `function/${to}`; }, row);
    await page.waitForSelector(`${shown} .detail:not([hidden]) h2`);
    assert.equal(await title(page), functions.brief[row]);
    assert.equal(await page.textContent(`${shown} .detail pre.command`), functions.name[row]);
    assert.equal(await page.innerText(cell), functions.tag[row] || functions.brief[row]); // the list is narrow now
    await page.evaluate(() => { location.hash = "flame=all"; });
    await page.fill(`${shown} input[type=search]`, functions.name[row].slice(-40));
    assert.match(await page.textContent(`${shown} .status`), /^[1-9]\d* functions? match/);
}));

const places = ["overview", "processes", "process/0", "process/1", "flame=processes", "flame=inverted,threads", "functions", "function/0"];

for (const name of ["processes", "names"])
    test(`${name}: a narrow screen has nothing beside it, and nothing is serious for axe`, withPage(name, "", async (page) => {
        await page.evaluate(manifest.axe);
        for (const place of places) {
            await page.evaluate((to) => { location.hash = to; }, place);
            await page.waitForTimeout(30);
            assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), place);
            const { violations } = await page.evaluate((selector) => axe.run({ include: [["header"], [selector]] }, { resultTypes: ["violations"] }), shown);
            const serious = violations.filter((violation) => ["serious", "critical"].includes(violation.impact));
            assert.deepEqual(serious.map((violation) => `${place}: ${violation.id}: ${violation.nodes[0].html.slice(0, 300)}`), []);
        }
    }, { viewport: { width: 380, height: 700 }, bypassCSP: true, colorScheme: "dark" }));
