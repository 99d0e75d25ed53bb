// SPDX-License-Identifier: MIT
// Which rows a table shows, and in which order. Fast for 100,000 rows: keys are numbers.

/** Numbers that order as `values` do: of texts their ranks. */
export function keysOf(values) {
    if (typeof values[0] !== "string")
        return Float64Array.from(values, (value) => value ?? -Infinity);
    const ranks = new Map([...new Set(values)].sort().map((text, rank) => [text, rank]));
    return Float64Array.from(values, (text) => ranks.get(text));
}

/** `rows` in the order of their keys (of `keys[row]`); equal ones by row. */
export function sorted(rows, keys, descending) {
    const sign = descending ? -1 : 1;
    return Uint32Array.from(rows).sort((a, b) => sign * (keys[a] - keys[b]) || a - b);
}

/** Rows of a forest that are shown: parents first; below those that are open, their children. `orderOf(rows)` orders siblings. */
export function unfold(forest, isOpen, orderOf) {
    const shown = [];
    const add = (rows) => {
        for (const row of orderOf(rows)) {
            shown.push(row);
            if (isOpen(row))
                add(forest.children(row));
        }
    };
    add(forest.roots);
    return shown;
}

/** The rows that match, and all they are nested in. */
export function withParents(rows, parent) {
    const wanted = new Set();
    for (let row of rows)
        for (; row >= 0 && !wanted.has(row); row = parent(row))
            wanted.add(row);
    return wanted;
}
