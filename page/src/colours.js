// SPDX-License-Identifier: MIT
// One colour for each function and each cause, everywhere. They are names of style.css, so they follow light and dark.

/** What a cycle was spent on (include/hotpath/cycles.h): in the order of stacks, related ones beside each other. */
export const CAUSES = {
    retire: "instructions retire",
    execute: "the oldest instruction is being executed",
    unit: "it waits to be issued",
    queue: "the branch queue is full",
    serial: "something runs alone",
    l1: "its load is served by the L1, or a store in flight",
    l2: "its load is served by the L2",
    l3: "its load is served by the L3",
    memory: "its load is served by memory",
    dtlb: "the page of its load was not in the DTLB",
    blocked: "its load waits for an older store",
    mispredict: "behind a mispredicted branch",
    trap: "fetched again: a load was too early",
    l1i: "the next line of code was not in the L1I",
    itlb: "the next page of code was not in the ITLB",
    fetch: "fetch was late: taken branches, front end",
};

export const causeColour = (cause) => `var(--cause-${cause in CAUSES ? cause : "other"})`;

/** Where an execution spends its time, in order. */
export const STAGES = {
    map: "from fetch until it is mapped",
    operands: "waiting for operands",
    issue: "waiting to be issued",
    execute: "executing",
    retire: "waiting to retire",
};

export const stageColour = (stage) => `var(--stage-${stage})`;

const HUES = 10;

let ranks = null;

/** Says how heavy functions are, by row, before anything is drawn. */
export function weighFunctions(weights) {
    ranks = new Map([...weights.keys()].sort((a, b) => weights[b] - weights[a] || a - b).map((row, rank) => [row, rank]));
}

/** The heaviest functions have colours of their own; others share them. */
export function functionColour(row) {
    return row < 0 ? "var(--hue-none)" : `var(--hue-${(ranks?.get(row) ?? row) % HUES})`;
}

export const seriesColour = (i) => `var(--hue-${i % HUES})`;
