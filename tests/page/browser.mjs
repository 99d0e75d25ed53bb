// SPDX-License-Identifier: MIT
// What the tests of the page share: one browser, pages that must not complain or load anything, tables as texts.
// PAGES names a JSON file (tests/e2e/test_page.py): the pages by name, with the report (--json) of their profile.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

export const manifest = JSON.parse(readFileSync(process.env.PAGES, "utf8"));
export const reportOf = (name) => JSON.parse(readFileSync(manifest[name].report, "utf8"));

const pages = {};
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
after(() => browser.close());

/** Opens a page by its name, at an address in it, and waits until it is there. What it says on the console or loads is in `complaints`. */
export async function open(name, hash = "", options = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    const page = await context.newPage();
    const url = pathToFileURL(manifest[name].page).href;
    page.complaints = [];
    page.on("console", (message) => page.complaints.push(`console: ${message.text()}`));
    page.on("pageerror", (error) => page.complaints.push(`error: ${error.stack}`));
    page.on("request", (request) => request.url().split("#")[0] === url || /^data:image\/svg/.test(request.url()) || page.complaints.push(`request: ${request.url().slice(0, 200)}`));
    if (options.before)
        await page.addInitScript(options.before);
    await page.goto(hash ? `${url}#${hash}` : url);
    await page.waitForSelector("[role=tabpanel]:not([hidden]), [role=alert]");
    return page;
}

/** A test's body with a page that others of its file use, too, at an address in it. */
export function at(name, hash, body) {
    return async (t) => {
        pages[name] ??= await open(name);
        await pages[name].evaluate((to) => { location.hash = to; }, hash);
        await pages[name].waitForFunction((to) => to.includes("/") || document.querySelector(`[id="view-${to.split("=")[0]}"]:not([hidden])`), hash);
        await body(pages[name], t);
        assert.deepEqual(pages[name].complaints, []);
    };
}

/** A test's body with a page, which is closed behind it and must not have complained. */
export function withPage(name, hash, body, options) {
    return async (t) => {
        const page = await open(name, hash, options);
        try {
            await body(page, t);
            assert.deepEqual(page.complaints, []);
        } finally {
            await page.context().close();
        }
    };
}

export const shown = "[role=tabpanel]:not([hidden])";

/** The rows of a table that are elements now: lists of texts, by its columns' labels. */
export function rows(page, within = shown) {
    return page.$eval(`${within} table.grid`, (table) => {
        const labels = [...table.querySelectorAll("thead th")].map((head) => head.textContent);
        return [...table.querySelectorAll("tbody tr[data-at]")].map((row) => Object.fromEntries([...row.cells].map((cell, i) => [labels[i], cell.textContent])));
    });
}

/** The facts of what was opened. */
export function facts(page) {
    return page.$$eval(`${shown} .detail .facts > div`, (pairs) => Object.fromEntries(pairs.map((pair) => [pair.firstChild.textContent, pair.lastChild.textContent])));
}

export const title = (page) => page.textContent(`${shown} .detail h2`);
export const status = (page) => page.textContent(`${shown} .status`);
export const hashOf = (page) => page.evaluate(() => location.hash);
export const count = (value) => new Intl.NumberFormat("en", { maximumFractionDigits: 0 }).format(value);
