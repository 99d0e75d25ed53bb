// SPDX-License-Identifier: MIT
// Numbers of the page are those of the report.
import assert from "node:assert/strict";
import { test } from "node:test";
import { at, count, facts, reportOf, rows, shown, status, title } from "./browser.mjs";

const report = reportOf("all");
const share = (value) => (value > 0 && value < 0.0005 ? "<0.1%" : `${(value * 100).toFixed(1)}%`);

// The rows of a view, column by column, as far as they are in sight.
const same = (view, table, columns) => test(`${view}: the rows of the report`, at("all", view, async (page) => {
    const found = await rows(page);
    assert.ok(found.length >= Math.min(20, table.length), `${found.length} rows`);
    found.forEach((row, i) => {
        for (const [label, text] of Object.entries(columns))
            assert.equal(row[label], text(table[i], row[label]), `${view}, row ${i}, ${label}`);
    });
    assert.match(await status(page), new RegExp(`^${count(table.length)} `));
}));

same("functions", report.functions, { Function: (f) => f.name, Instructions: (f) => count(f.self), Calls: (f) => count(f.calls), Self: (f) => share(f.self / report.summary.instructions), Inclusive: (f) => share(f.inclusive / report.summary.instructions) });
same("paths", report.paths.filter((path) => path.kind === report.paths[0].kind), { Count: (p) => count(p.count), Function: (p, text) => (text.startsWith(`${p.function || "(no function)"} `) ? text : p.function), Branches: (p) => count(p.length), Outcomes: (p) => (p.length > 48 ? `${p.outcomes.slice(0, 48)}…` : p.outcomes), Share: (p) => share(p.share) });
same("hotspots", [...report.hotspots].sort((a, b) => a.detected_at_instructions - b.detected_at_instructions), { "#": (h) => String(h.id), Share: (h) => share(h.share), Blocks: (h) => String(h.blocks.length), Functions: (h) => h.functions.join(", ") });
same("predictions", report.predictions, { Scheme: (p) => p.scheme, Hits: (p) => share(p.hit_rate), Noise: (p) => share(p.noise_rate), Predicted: (p) => count(p.predicted), Counters: (p) => count(p.counters) });
same("instructions", report.instructions.slice(0, 5000), { Times: (i) => count(i.retired), Cycles: (i) => share(i.share), Function: (i) => i.function || "(no function)" });
same("counters", report.machine, { Part: (m) => m.part, Name: (m) => m.name, Value: (m) => (m.unit === "share" ? share(m.value) : count(m.value)) });

same("syscalls", report.syscalls, { Call: (s) => s.call, Calls: (s) => count(s.calls), Share: (s) => share(s.share), Errors: (s) => (s.errors ? count(s.errors) : "") });

test("a system call: the paths that led to it", at("all", "syscall/0", async (page) => {
    const [call] = report.syscalls;
    const paths = report.syscall_paths.filter(({ number }) => number === call.number);
    assert.equal(await title(page), call.call);
    assert.equal((await facts(page)).Calls, count(call.calls));
    const found = await page.$$eval(`${shown} .detail .items > li`, (all) => all.map((item) => [...item.querySelectorAll("a")].map((link) => link.title)));
    assert.deepEqual(found, paths.slice(0, 20).map(({ path }) => [...path].reverse().slice(0, 12)));
}));

test("functions that were inlined, and do no more than to call, count", at("names", "functions", async (page) => {
    const { functions, summary } = reportOf("names");
    assert.ok(functions.some((f) => f.self === 0));
    assert.equal(summary.functions, functions.length);
    assert.match(await status(page), new RegExp(`^${count(functions.length)} `));
    await page.evaluate(() => { location.hash = "overview"; });
    await page.waitForSelector(`${shown} .keys`);
    assert.equal(await page.getAttribute(`${shown} .key[href="#functions"]`, "title"), count(functions.length));
    assert.ok((await page.$$eval(`${shown} .more`, (all) => all.map((link) => link.textContent))).includes(`all ${count(functions.length)}`));
}));

test("loops are called by where they are written", at("names", "loops", async (page) => {
    const { loops } = reportOf("names");
    const found = await page.$$eval(`${shown} tr[data-row]`, (all) => all.map((row) => [Number(row.dataset.row), row.querySelector(".name").textContent]));
    assert.ok(loops.some((loop) => loop.header && loop.written_in !== loop.function));
    for (const [row, name] of found) {
        const { header, irreducible } = loops[row];
        const where = header.replace(/^.*\//, "");
        assert.ok(name.startsWith(`${irreducible ? "~ " : ""}${where}`), `${name}: ${where}`);
    }
}));

test("how many paths have half of all is the same everywhere", at("huge", "overview", async (page) => {
    const [, said] = /([\d,]+) paths? of/.exec(await page.textContent(`${shown} .findings a[href^="#path/"]`));
    const { paths: all, summary } = reportOf("huge");
    const paths = all.map((path) => path.instructions).sort((a, b) => b - a);
    let sum = 0;
    const half = 1 + paths.findIndex((instructions) => (sum += instructions) >= summary.instructions / 2);
    assert.equal(said, count(half));
    await page.evaluate(() => { location.hash = "paths"; });
    await page.waitForSelector(`${shown} .chart .note`);
    assert.ok((await page.textContent(`${shown} .chart .note`)).startsWith(`${count(half)} paths have half`));
}));

for (const name of ["all", "windows"])
    test(`${name}: very little is not nothing`, at(name, "overview", async (page) => {
        for (const view of ["overview", "machine", "instructions", "instruction/0", "loops", "predictions"]) {
            await page.evaluate((to) => { location.hash = to; }, view);
            await page.waitForTimeout(50);
            assert.doesNotMatch(await page.innerText(shown), /(^|[^\d.])0\.0+($|[^\d%])/, view);
            assert.doesNotMatch(await page.innerText(shown), /(^|\s)-[\d.]+ [kMG]/, view);
        }
    }));

test("overview: totals", at("all", "overview", async (page) => {
    const { summary } = report;
    const keys = await page.$$eval(".key", (all) => Object.fromEntries(all.map((key) => [key.querySelector(".figure-label").textContent, key.title])));
    const expected = { instructions: summary.instructions, branches: summary.branches, functions: summary.functions, paths: summary.paths, loops: summary.loops, "hot spots": summary.hotspots, "cycles on modern": report.cpi[0].cycles };
    for (const [label, value] of Object.entries(expected))
        assert.equal(keys[label], count(value), label);
    assert.equal(await page.textContent(".figure >> nth=2"), report.cpi[0].cpi.toFixed(3));
    assert.equal(await page.textContent(".command"), report.run.command.join(" "));
}));

test("a path: its numbers, blocks and ways", at("all", "path/0", async (page) => {
    const path = report.paths[0];
    const { Executed, Instructions } = await facts(page);
    assert.equal(Executed, `${count(path.count)} times`);
    assert.equal(Instructions, `${count(path.instructions)} (${share(path.share)})`);
    const ways = await page.$$eval(".path > .step", (steps) => steps.map((step) => /how-(\w+)/.exec(step.className)[1]));
    assert.deepEqual(ways, path.ways);
    const places = await page.$$eval(".path > .step .step-head .note:not(.right)", (steps) => steps.map((step) => step.title));
    assert.deepEqual(places, path.blocks);
}));

test("loops: nested as in the report, each with its numbers", at("all", "loops", async (page) => {
    const roots = report.loops.filter((loop) => loop.parent === null);
    const found = await rows(page);
    assert.equal(found[0].Executions, count(roots[0].executions));
    assert.equal(found[0].Iterations, count(roots[0].iterations));
    const inner = report.loops.findIndex((loop) => loop.parent !== null);
    await page.evaluate((row) => { location.hash = `loop/${row}`; }, inner);
    await page.waitForSelector(`${shown} .detail h2`);
    const shownFacts = await facts(page);
    assert.equal(shownFacts.Executions, count(report.loops[inner].executions));
    assert.equal(shownFacts.Iterations, count(report.loops[inner].iterations));
    assert.equal(shownFacts.Header, report.loops[inner].target);
    const level = await page.getAttribute(`${shown} tr[aria-selected=true]`, "aria-level");
    assert.equal(Number(level), report.loops[inner].depth + 1);
}));

test("an instruction: why, and its cycles", at("all", "instruction/0", async (page) => {
    const worst = report.instructions[0];
    assert.equal(await page.textContent(".why"), worst.why);
    assert.equal((await facts(page)).Cycles, `${count(worst.cycles)} (${share(worst.share)})`);
    assert.equal((await facts(page)).Address, worst.address);
}));

test("a function: lines of its source with their executions", at("all", "functions", async (page) => {
    const row = report.functions.findIndex((f) => f.name === "collatz");
    await page.evaluate((to) => { location.hash = `function/${to}`; }, row);
    await page.waitForSelector(`${shown} .detail .listing`);
    assert.equal(await title(page), "collatz");
    const lines = await page.$$eval(`${shown} .listing tbody tr`, (all) => all.filter((line) => line.cells.length === 4).map((line) => [...line.cells].map((cell) => cell.textContent)));
    const known = lines.find((line) => line[3].includes("steps++"));
    const line = report.lines.find((entry) => entry.line === Number(known[2]) && entry.file.endsWith("all.c"));
    assert.equal(known[0], count(line.executions));
}));
