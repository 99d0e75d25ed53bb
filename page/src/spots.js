// SPDX-License-Identifier: MIT
// Hot spots as people see them: in the order of time, those that are nearly the same taken together, and the phases they make of a run.
import { seriesColour } from "./colours.js";
import { isAddress } from "./model.js";

const SAME = 0.9; // of what both execute
const PHASE = 0.02; // of the run, at least

const heat = (model, block) => model.data.blocks.count[block] * model.data.blocks.insns[block];

/** How much of what two regions execute is in both. */
function alike(model, a, b) {
    let both = 0, all = 0;
    for (const block of a)
        all += heat(model, block);
    for (const block of b)
        if (a.has(block))
            both += heat(model, block);
        else
            all += heat(model, block);
    return all > 0 ? both / all : 0;
}

// By slice: how much of it was executed in a hot spot. Of those taken together the one that has most.
function slicesOf(spots) {
    const slices = new Map();
    for (const spot of spots)
        for (const { slice, instructions } of spot.slices)
            slices.set(slice, Math.max(slices.get(slice) ?? 0, Math.min(1, instructions / spot.slice_width)));
    return slices;
}

/** [{ row, rows, colour, width, slices }]: `row` is the heaviest of those that are nearly the same, `rows` all; `slices` as shares, of `width` instructions each. */
export function spotsOf(model) {
    const { hotspots } = model.data;
    return model.once("spots", () => {
        const order = hotspots.map((_, row) => row).sort((a, b) => hotspots[a].detected_at_instructions - hotspots[b].detected_at_instructions || hotspots[a].id - hotspots[b].id);
        const groups = [];
        for (const row of order) {
            const blocks = new Set(hotspots[row].blocks);
            const known = blocks.size > 0 && groups.find((group) => alike(model, group.blocks, blocks) >= SAME);
            if (known)
                known.rows.push(row);
            else
                groups.push({ blocks, rows: [row] });
        }
        return groups.map(({ blocks, rows }, i) => ({
            blocks,
            row: rows.reduce((a, b) => (hotspots[b].total > hotspots[a].total ? b : a)), rows, colour: seriesColour(i),
            width: hotspots[rows[0]].slice_width, slices: slicesOf(rows.map((row) => hotspots[row])),
        }));
    });
}

/** The group that a hot spot (row) is in. */
export function spotOf(model, row) {
    return model.once("spot of", () => new Map(spotsOf(model).flatMap((spot) => spot.rows.map((of) => [of, spot])))).get(row);
}

const OWN = 0.05; // of what a hot spot executes, at least, to name it by

/** The hottest block of the hottest function of a hot spot, or -1: of blocks that no other hot spot has, where they matter. */
function heartOf(model, row) {
    const { hotspots } = model.data;
    const owners = model.once("owners of blocks", () => {
        const found = new Map();
        for (const { blocks } of spotsOf(model))
            for (const block of blocks)
                found.set(block, (found.get(block) ?? 0) + 1);
        return found;
    });
    const hottest = (blocks) => blocks.reduce((a, b) => (a < 0 || heat(model, b) > heat(model, a) ? b : a), -1);
    const sum = (blocks) => blocks.reduce((total, block) => total + heat(model, block), 0);
    const own = hotspots[row].blocks.filter((block) => owners.get(block) === 1);
    const judged = sum(own) > OWN * sum(hotspots[row].blocks) ? own : hotspots[row].blocks;
    const { function: functions } = model.data.blocks;
    const inFunction = (f) => judged.filter((block) => functions[block] === f);
    const best = [...new Set(judged.map((block) => functions[block]))].reduce((a, b) => (a.length && sum(a) >= sum(inFunction(b)) ? a : inFunction(b)), []);
    return hottest(best);
}

/** "main sample.c:18": where a hot spot is hottest. */
export function spotName(model, row) {
    const block = heartOf(model, row);
    const name = block < 0 ? model.tag(model.data.hotspots[row].functions[0] ?? -1) : model.blockFunction(block);
    const place = block < 0 ? "" : model.blockPlace(block);
    if (place.startsWith("+"))
        return `${model.tag(model.data.blocks.function[block])}${place === "+0x0" ? "" : place}`;
    return !place || isAddress(name) ? place || name : `${name} ${place}`; // an address says more of the block than of its function
}

/** Stretches of the run that one hot spot has most of: [{ spot, from, to }], in shares of the run. Short ones belong to what is before. */
export function phasesOf(model) {
    const spots = spotsOf(model).filter((spot) => spot.slices.size > 0);
    const width = spots[0]?.width ?? 0;
    if (!width || !model.total || spots.some((spot) => spot.width !== width))
        return [];
    const n = Math.ceil(model.total / width);
    const most = Array.from({ length: n }, (_, slice) => spots.reduce((best, spot) => ((spot.slices.get(slice) ?? 0) > (best?.slices.get(slice) ?? 0) ? spot : best), null));
    const runs = [];
    const add = (spot, slices) => (runs.at(-1)?.spot === spot ? (runs.at(-1).slices += slices) : runs.push({ spot, slices }));
    most.forEach((spot) => add(spot, 1));
    const kept = [];
    for (const { spot, slices } of runs)
        if (kept.length && (kept.at(-1).spot === spot || slices < PHASE * n))
            kept.at(-1).slices += slices;
        else
            kept.push({ spot, slices });
    let at = 0;
    return kept.map(({ spot, slices }) => ({ spot, from: at / n, to: (at += slices) / n }));
}
