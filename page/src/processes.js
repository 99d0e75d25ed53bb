// SPDX-License-Identifier: MIT
// Processes and threads: what they are called, and what each has of functions and contexts.
import { seriesColour } from "./colours.js";

const LONGEST = 40; // of a word of a command line in a name

const program = (command) => command.split(" ", 1)[0].replace(/^.*\/(?=[^/])/s, "");
const cut = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

/** Those that have names of their own keep them; to others `mark(item)` is added. */
function apart(items, mark) {
    const times = items.reduce((seen, { name }) => seen.set(name, (seen.get(name) ?? 0) + 1), new Map());
    for (const item of items)
        if (times.get(item.name) > 1)
            item.name += ` ${mark(item)}`;
    return items;
}

// Of processes that run one program, each with the word that says best which one it is: that the fewest others have, and rather no option.
function names(processes) {
    const words = processes.map(({ command }) => command.split(" ").slice(1).filter(Boolean));
    return processes.map(({ command, pid }, row) => {
        const same = words.filter((_, other) => program(processes[other].command) === program(command));
        const times = (word) => same.filter((others) => others.includes(word)).length;
        const cost = (word) => times(word) + (word.startsWith("-") || word.startsWith("/tmp/") ? same.length : 0);
        const [own] = words[row].filter((word) => times(word) < same.length).sort((a, b) => cost(a) - cost(b));
        return command === "" ? `process ${pid}` : `${program(command)}${own === undefined ? "" : ` ${cut(own.replace(/^.*\/(?=[^/])/s, ""))}`}`;
    });
}

/** [{ row, name, program, command, pid, parent, instructions, threads: rows of threads }], heaviest first. */
export function processesOf(model) {
    return model.once("processes", () => {
        const { processes, threads } = model.data;
        const named = names(processes);
        const ofProcess = ({ pid, command }) => [...threads.keys()].filter((row) => threads[row].pid === pid && threads[row].command === command);
        return apart(processes.map((process, row) => ({ ...process, row, name: named[row], program: program(process.command) || named[row], threads: ofProcess(process) })), ({ pid }) => `(${pid})`);
    });
}

/** [{ row, name, process, … as in the data }], heaviest first. */
export function threadsOf(model) {
    return model.once("threads", () => {
        const processOf = new Map(processesOf(model).flatMap((process) => process.threads.map((row) => [row, process])));
        return apart(model.data.threads.map((thread, row) => ({ ...thread, row, process: processOf.get(row) ?? null, name: thread.name || `thread ${thread.thread}` })), ({ tid }) => `(${tid})`);
    });
}

/** The ways to split the run that say something: [["processes", "By process"], …]. */
export function splitsOf(model) {
    const { processes, threads } = model.data;
    return [processes.length > 1 && ["processes", "By process"], threads.length > processes.length && ["threads", "By thread"]].filter(Boolean);
}

/** The parts of a split: [{ row, name, command, instructions, colour, threads: rows of threads }]. */
export function partsOf(model, split) {
    return model.once(`parts ${split}`, () => (split === "processes" ? processesOf(model) : threadsOf(model).map((thread) => ({ ...thread, threads: [thread.row] })))
        .map((part, i) => ({ ...part, colour: seriesColour(i) })));
}

/** By part of a split: row of `what` ("function" or "context") → { self, inclusive, calls }. */
export function countsOf(model, split, what) {
    return model.once(`counts of a ${what} by ${split}`, () => {
        const table = model.data[`${what}_threads`], items = table[what];
        const parts = partsOf(model, split);
        const partOf = new Map(parts.flatMap(({ threads }, i) => threads.map((row) => [model.data.threads[row].thread, i])));
        const counts = parts.map(() => new Map());
        for (let i = 0; i < items.length; i++) {
            const of = counts[partOf.get(table.thread[i])];
            const known = of?.get(items[i]);
            if (known) {
                known.self += table.self[i];
                known.inclusive += table.inclusive[i];
                known.calls += table.calls[i];
            } else {
                of?.set(items[i], { self: table.self[i], inclusive: table.inclusive[i], calls: table.calls[i] });
            }
        }
        return counts;
    });
}

/** Processes that had a pid: several where it executed one program after the other. */
export const processesOfPid = (model, pid) => processesOf(model).filter((process) => process.pid === pid);

/** The name of the process of a pid, as far as it says which one it was. */
export function nameOfPid(model, pid) {
    const found = processesOfPid(model, pid);
    return found.length === 1 ? found[0].name : `pid ${pid}`;
}
