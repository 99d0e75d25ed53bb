// SPDX-License-Identifier: MIT
// What stands behind # in the address: a view (#paths), what one shows (#flame=inverted), or an item of it, by a name that the next run has, too
// (#function=main, #loop=main@x.c:3-7). Links in the page have row numbers (#function/0).
import { processesOf, threadsOf } from "./processes.js";
import { spotName, spotsOf } from "./spots.js";

const LONGEST = 160; // of a name

/** A number for a text (FNV-1a), as text. */
function digest(text, hash = 0x811c9dc5) {
    for (let i = 0; i < text.length; i++)
        hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
    return hash;
}

const brief = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST / 2)}~${digest(text).toString(36)}` : text);

function functionNames(model) {
    const { name, module, offset } = model.data.functions;
    const times = (texts) => texts.reduce((seen, text) => seen.set(text, (seen.get(text) ?? 0) + 1), new Map());
    const inModule = name.map((text, row) => `${text}@${model.moduleName(module[row])}`);
    const byName = times(name), byBoth = times(inModule);
    return name.map((text, row) => (byName.get(text) === 1 ? text : byBoth.get(inModule[row]) === 1 ? inModule[row] : `${inModule[row]}+0x${offset[row]}`));
}

function pathNames(model) {
    const { paths, kinds } = model.data;
    return paths.kind.map((kind, row) => `${kind > 0 ? `${kinds[kind].kind}:` : ""}${model.inFunction(paths.function[row], paths.offset[row])}:${brief(paths.outcomes[row])}`);
}

// A context's name is its function, with a number for those it is called from.
function contextNames(model) {
    const { parent } = model.data.contexts;
    const hashes = new Uint32Array(parent.length);
    return parent.map((above, row) => {
        const name = model.functionName(model.data.contexts.function[row]);
        hashes[row] = digest(`>${name}`, above < 0 ? undefined : hashes[above]);
        return `${name}~${hashes[row].toString(36)}`;
    });
}

function spotNames(model) {
    const names = [];
    for (const row of spotsOf(model).flatMap((spot) => spot.rows).sort((a, b) => model.data.hotspots[a].detected_at_instructions - model.data.hotspots[b].detected_at_instructions))
        names[row] = spotName(model, row);
    return names;
}

const NAMES = {
    function: functionNames,
    path: pathNames,
    loop: (model) => model.data.loops.map((loop, row) => `${model.functionName(loop.function)}@${model.loopName(row)}`),
    hotspot: spotNames,
    instruction: (model) => model.data.instructions.map((insn) => model.inFunction(insn.function, insn.address.replace(/^.*\+0x/s, ""))),
    context: contextNames,
    syscall: (model) => model.data.syscalls.map(({ call }) => call),
    process: (model) => [...processesOf(model), ...threadsOf(model)].map(({ name }) => name),
};

/** Names of all rows, each its own: of the same the second is NAME~2. */
function namesOf(model, item) {
    return model.once(`names of ${item}`, () => {
        const rows = new Map();
        const names = (model.names?.[item] ?? NAMES[item])(model).map((text, row) => {
            const short = brief(text);
            let name = short;
            for (let n = 2; rows.has(name); n++)
                name = `${short}~${n}`;
            rows.set(name, row);
            return name;
        });
        return { names, rows };
    });
}

const escape = (text) => encodeURIComponent(text).replace(/%(?:3A|40|2B|2C|2F|3C|3E)/g, decodeURIComponent);

function unescape(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        return text;
    }
}

/** The address of an item by its name, without #. */
export function nameOf(model, item, row) {
    try {
        return `${item}=${escape(namesOf(model, item).names[row])}`;
    } catch { // half a character
        return `${item}/${row}`;
    }
}

// The function that a sandwich is about, as a row and as a name.
function sandwich(model, what) {
    const row = /^\d{1,9}$/.test(what) ? Number(what) : namesOf(model, "function").rows.get(what) ?? 0;
    return { what: `sandwich:${row}`, address: row < model.data.functions.name.length ? `flame=sandwich:${nameOf(model, "function", row).replace(/^\w+./, "")}` : "flame" };
}

/** What an address means: { view, row (or -1), what, address: with a name for a row }. The first view for what is not known. */
export function parse(model, views, hash) {
    const [, name, row, rest] = /^#?([a-z]*)(?:\/(\d{1,9})|=(.*))?$/s.exec(hash) ?? [];
    const ofItem = views.find((view) => view.item === name && (row ?? rest) !== undefined);
    const view = ofItem ?? views.find((candidate) => candidate.id === name) ?? views[0];
    const text = unescape(rest ?? "");
    if (!ofItem) {
        const between = name === "flame" && /^sandwich:(.*)$/s.exec(text);
        return between ? { view, row: -1, ...sandwich(model, between[1]) } : { view, row: -1, what: view.id === name ? text : "" };
    }
    const known = row === undefined ? namesOf(model, name).rows.get(text) ?? -1 : Number(row);
    return known >= 0 && known < view.size(model) ? { view, row: known, what: "", address: nameOf(model, name, known) } : { view, row: -1, what: "" };
}
