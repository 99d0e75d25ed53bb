// SPDX-License-Identifier: MIT
// What profilers and the models of a machine counted on their own account.
import { h } from "../dom.js";
import { count, share } from "../format.js";
import { grid } from "../grid.js";

export const countersView = {
    id: "counters", label: "Counters",
    present: (model) => model.data.machine.length > 0,
    create(model) {
        const { machine } = model.data;
        const list = grid({
            label: "Counters of profilers and models", noun: ["counter", "counters"], rows: machine.length,
            columns: [
                { label: "Part", width: "14rem", value: (row) => machine[row].part },
                { label: "Name", value: (row) => machine[row].name },
                { label: "Value", number: true, width: "11rem", value: (row) => machine[row].value, cell: (row) => (machine[row].unit === "share" ? share(machine[row].value) : count(machine[row].value)) },
            ],
            search: (query) => (row) => `${machine[row].part} ${machine[row].name}`.toLowerCase().includes(query),
        });
        return { element: h("div", { class: "view" }, list.element), open() {} };
    },
};
