// SPDX-License-Identifier: MIT
// What changed, in sentences; each leads to its view.
import { h } from "../dom.js";
import { count, decimals, many, share, short } from "../format.js";
import { findingList } from "../findings.js";
import { pair, signed } from "./change.js";

const SEVERAL = 3; // functions that are named together
const WORTH = 0.01; // of the whole change: what went against it by less is not said

const strong = (text) => h("strong", null, text);
const named = (model, f) => h("strong", { title: model.functionName(f) }, model.brief(f));

/** "12.0% fewer", "2.4 times as many", "exactly as many". */
function compared(old, now) {
    if (old === now)
        return ["exactly as many"];
    if (old > 0 && now >= 2 * old)
        return [strong(`${decimals(Number((now / old).toPrecision(3)))} times as many`)];
    return [strong(`${share(Math.abs(now - old) / (old || 1))} ${now > old ? "more" : "fewer"}`)];
}

function total(model) {
    const { before, total: now } = model;
    return { label: "The run", href: "#functions", text: ["It takes ", compared(before, now), ` instructions: ${count(before)} before, ${count(now)} now${now === before ? "" : ` (${signed(now - before)})`}.`] };
}

function machine(model) {
    const found = model.data.diff.totals.find(({ name }) => name === "cycles");
    return found && { label: "Cycles", href: "#functions", text: ["It takes ", compared(found.old, found.new), ` cycles: ${short(found.old)} before, ${short(found.new)} now.`] };
}

const went = (model, f) => `${short(model.data.functions.old[f])} → ${short(model.data.functions.new[f])}`;

// Of what changed as the whole did: one function that has most of it, or the few that have.
function mostOfIt(model) {
    const { delta } = model.data.functions;
    const same = [...delta.keys()].filter((f) => delta[f] !== 0 && Math.sign(delta[f]) === Math.sign(model.change));
    if (!same.length)
        return null;
    const all = same.reduce((sum, f) => sum + Math.abs(delta[f]), 0);
    const kind = model.change < 0 ? "less" : "more";
    const [first] = same;
    const part = Math.abs(delta[first]) / all;
    if (part >= 0.5 || same.length === 1)
        return { label: "Most of it", href: `#function/${first}`, text: [part > 0.9995 ? "All of it is in " : "Most of it is in ", named(model, first), `: ${went(model, first)} instructions, `, strong(share(part)), ` of what takes ${kind}.`] };
    const few = same.slice(0, SEVERAL);
    const sum = few.reduce((of, f) => of + Math.abs(delta[f]), 0);
    return { label: "Most of it", href: "#functions", text: [few.map((f, i) => [i > 0 && (i + 1 < few.length ? ", " : " and "), named(model, f), ` (${signed(delta[f])})`]), ` ${few.length > 1 ? "have" : "has"} `, strong(sum / all > 0.9995 && sum < all ? "nearly all" : share(sum / all)), ` of what takes ${kind}, in ${many(same.length, "function")}.`] };
}

// What changed against the whole, or where the whole did not change.
function against(model) {
    const { delta } = model.data.functions;
    const f = delta.findIndex((change) => change !== 0 && Math.sign(change) !== Math.sign(model.change));
    if (f < 0 || Math.abs(delta[f]) < WORTH * Math.abs(model.change))
        return null;
    return { label: delta[f] > 0 ? "Takes more" : "Takes less", href: `#function/${f}`, text: [model.change ? "Against that, " : "", named(model, f), ` takes ${delta[f] > 0 ? "more" : "less"}: ${went(model, f)} instructions (`, strong(signed(delta[f])), ")."] };
}

function appeared(model) {
    const { status, delta } = model.data.functions;
    const of = (wanted) => [...status.keys()].filter((f) => status[f] === wanted && delta[f] !== 0);
    const sum = (rows) => rows.reduce((all, f) => all + Math.abs(delta[f]), 0);
    const added = of("added"), removed = of("removed");
    if (!added.length && !removed.length)
        return null;
    const said = (rows, what) => rows.length > 0 && [strong(many(rows.length, "function")), ` ${rows.length === 1 ? "is" : "are"} ${what} (${short(sum(rows))} instructions; first `, named(model, rows[0]), ")"];
    return { label: "New and gone", href: "#functions", text: [said(added, "new"), added.length > 0 && removed.length > 0 && "; ", said(removed, "gone"), "."] };
}

function calls(model) {
    const list = model.data.diff.functions;
    const change = (f) => Math.abs((list[f].new_calls ?? 0) - (list[f].old_calls ?? 0));
    const f = [...list.keys()].filter((row) => list[row].status !== "added" && list[row].status !== "removed").reduce((a, b) => (a < 0 || change(b) > change(a) ? b : a), -1);
    return f < 0 || change(f) < 2 ? null : { label: "Calls", href: `#function/${f}`, text: [named(model, f), " is called ", strong(pair(list[f].old_calls, list[f].new_calls, short)), " times."] };
}

const mean = (side) => (side?.executions ? side.iterations / side.executions : 0);

function loop(model) {
    const { loops } = model.data;
    const row = loops.findIndex(({ old, new: now }) => old && now && (old.executions !== now.executions || old.iterations !== now.iterations));
    if (row < 0)
        return null;
    const { old, new: now, delta } = loops[row];
    return { label: "Loop", href: `#loop/${row}`, text: [(now.line || old.line) > 0 ? ["The loop at ", strong(model.loopName(row)), " in ", named(model, loops[row].function)] : ["A loop of ", named(model, loops[row].function)], ` runs ${pair(old.executions, now.executions, short)} times, `, strong(`${pair(decimals(mean(old)), decimals(mean(now)), String)} iterations`), ` each (${signed(delta)} instructions).`] };
}

function same(model) {
    return model.data.functions.delta.every((delta) => delta === 0) ? { label: "Functions", href: "#functions", text: ["No function changed."] } : null;
}

/** [{ label, href, text }]. */
export const changesOf = (model) => [total, machine, mostOfIt, against, appeared, calls, loop, same].map((find) => find(model)).filter(Boolean);

export const changes = (model) => findingList(changesOf(model));
