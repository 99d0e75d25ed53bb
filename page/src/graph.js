// SPDX-License-Identifier: MIT
// Blocks and the transfers between them as a graph: laid out by dagre, moved by pointer or keys, and as a list for who cannot see it.
import dagre from "@dagrejs/dagre";
import { h, newId, svg } from "./dom.js";
import { count, many, share, short } from "./format.js";
import { functionColour } from "./colours.js";
import { blockTexts, listing } from "./listing.js";

const CHAR = 6.7, LINE = 15, PAD = 8; // of the text in a block
const WIDEST = 44, TALLEST = 7; // characters, lines
const TALLEST_PICTURE = 620;
const LEAST_SCALE = 0.6, READ_SCALE = 0.85; // below the first, a graph is begun at the second

const cut = (text) => (text.length > WIDEST ? `${text.slice(0, WIDEST - 1)}…` : text);

// How control goes from one block to another: what to call it.
const KINDS = { taken: "taken", fell: "falls through", behind: "goes on behind the call", within: "goes on" };

function kindOf(model, edge) {
    const { edges, flows } = model.data;
    return flows[edges.flow[edge]] === "overlap" ? "within" : edges.taken[edge] ? "taken" : "fell";
}

// Behind a call, control comes back from the callee: an edge of that, or none. Here, where the callee is not drawn, it is a way of the block.
function behindCall(model, block, inside) {
    const { blocks, flows, edges } = model.data;
    if (!/^(call|syscall)/.test(flows[blocks.flow[block]]) || [...model.edgesFrom.of(block)].some((edge) => inside.has(edges.to[edge])))
        return [];
    const next = (parseInt(blocks.offset[block], 16) + blocks.size[block]).toString(16);
    return [...inside].filter((to) => blocks.offset[to] === next && blocks.module[to] === blocks.module[block]).map((to) => ({ from: block, to, count: Math.min(blocks.count[block], blocks.count[to]), kind: "behind" }));
}

/** The heaviest `most` blocks in order, and the links among them: { from, to, count, kind }. */
function select(model, blocks, most) {
    const { blocks: table, edges } = model.data;
    const kept = [...new Set(blocks)].sort((a, b) => table.count[b] * table.insns[b] - table.count[a] * table.insns[a] || a - b).slice(0, most).sort((a, b) => a - b);
    const inside = new Set(kept);
    const links = kept.flatMap((block) => [...[...model.edgesFrom.of(block)].filter((edge) => inside.has(edges.to[edge])).map((edge) => ({ from: block, to: edges.to[edge], count: edges.count[edge], kind: kindOf(model, edge) })),
        ...behindCall(model, block, inside)]);
    return { kept, links };
}

// A block that goes on as another one, which begins inside it, ends there.
function textsOf(model, block, links, withFunction) {
    const { blocks } = model.data;
    const within = links.find((link) => link.from === block && link.kind === "within");
    const code = blockTexts(model, block, { end: within ? parseInt(blocks.offset[within.to], 16) : Infinity });
    const shown = code.slice(0, TALLEST).map(({ text }) => cut(text));
    if (code.length > TALLEST)
        shown.push(`… ${code.length - TALLEST} more`);
    const name = withFunction ? `${model.tag(blocks.function[block])} ` : "";
    return { head: cut(`${name}${model.blockPlace(block)}`), code: shown, foot: `× ${short(blocks.count[block])}` };
}

function layout(model, kept, links) {
    const { blocks } = model.data;
    const graph = new dagre.graphlib.Graph({ multigraph: true });
    graph.setGraph({ rankdir: "TB", nodesep: 24, ranksep: 34, marginx: 10, marginy: 10 });
    const several = new Set(kept.map((block) => blocks.function[block])).size > 1;
    for (const block of kept) {
        const texts = textsOf(model, block, links, several);
        const longest = Math.max(texts.head.length + texts.foot.length + 2, ...texts.code.map((text) => text.length));
        graph.setNode(String(block), { texts, width: longest * CHAR + 2 * PAD, height: (texts.code.length + 1) * LINE + 2 * PAD });
    }
    links.forEach((link, i) => graph.setEdge(String(link.from), String(link.to), { weight: 1 + Math.round(Math.log10(1 + link.count)), width: 44, height: 12, labelpos: "c" }, String(i)));
    dagre.layout(graph);
    return graph;
}

// A smooth line through the points: straight to the middles, bent at the points.
function curve(points) {
    const middle = (a, b) => `${((a.x + b.x) / 2).toFixed(1)} ${((a.y + b.y) / 2).toFixed(1)}`;
    let path = `M${points[0].x.toFixed(1)} ${points[0].y.toFixed(1)}`;
    for (let i = 1; i < points.length - 1; i++)
        path += `Q${points[i].x.toFixed(1)} ${points[i].y.toFixed(1)} ${i === points.length - 2 ? `${points[i + 1].x.toFixed(1)} ${points[i + 1].y.toFixed(1)}` : middle(points[i], points[i + 1])}`;
    return points.length === 2 ? `${path}L${points[1].x.toFixed(1)} ${points[1].y.toFixed(1)}` : path;
}

// Back to the same block: around its right side. (dagre would put its middle wherever there is room.)
function around(node) {
    const x = node.x + node.width / 2, y = node.y, reach = 26, half = Math.min(node.height / 3, 16);
    return { d: `M${x} ${y + half}C${x + reach} ${y + half + 6} ${x + reach} ${y - half - 6} ${x + 3} ${y - half}`, x: x + reach, y: y - half - 6 };
}

function edgeElement(info, link, greatest, arrow, node) {
    const width = 1 + (4 * Math.log2(1 + link.count)) / Math.log2(2 + greatest);
    const line = link.from === link.to ? around(node) : { d: curve(info.points), x: info.x, y: info.y };
    return svg("g", { class: `edge ${link.kind}` },
        svg("title", null, `${KINDS[link.kind]}: ${count(link.count)} times`),
        svg("path", { d: line.d, "stroke-width": width.toFixed(2), "marker-end": `url(#${arrow})` }),
        svg("text", { x: line.x, y: line.y + 4, "text-anchor": "middle" }, short(link.count)));
}

function nodeElement(model, block, node, heat, choose) {
    const left = node.x - node.width / 2, top = node.y - node.height / 2;
    const f = model.data.blocks.function[block];
    const at = (line) => top + PAD + LINE * line + 10;
    return svg("g", { class: "node", "data-block": block, onclick: () => choose(block) },
        svg("title", null, `${model.functionName(f)} ${model.blockAddress(block)}: executed ${count(model.data.blocks.count[block])} times`),
        svg("rect", { x: left, y: top, width: node.width, height: node.height, rx: 5, style: { fill: `color-mix(in srgb, var(--heat) ${(heat * 42).toFixed(0)}%, var(--surface))` } }),
        svg("rect", { x: left, y: top, width: 4, height: node.height, rx: 2, style: { fill: functionColour(f) } }),
        svg("text", { x: left + PAD, y: at(0), class: "node-head" }, node.texts.head),
        svg("text", { x: left + node.width - PAD, y: at(0), "text-anchor": "end", class: "node-head" }, node.texts.foot),
        node.texts.code.map((text, i) => svg("text", { x: left + PAD, y: at(i + 1) }, text)));
}

// Paper has all of it.
addEventListener("beforeprint", () => {
    for (const picture of document.querySelectorAll("svg.graph")) {
        picture.dataset.shown = picture.getAttribute("viewBox");
        picture.setAttribute("viewBox", picture.dataset.whole);
    }
});
addEventListener("afterprint", () => {
    for (const picture of document.querySelectorAll("svg.graph[data-shown]"))
        picture.setAttribute("viewBox", picture.dataset.shown);
});

/** The middle of what is in a window of a size, put where most is executed: blocks that are whole in it count. */
function hottestPart(nodes, wide, high) {
    const edges = (at, size) => nodes.map((node) => node[at] - node[size] / 2);
    const within = (node, x, y) => node.x - node.width / 2 >= x && node.x + node.width / 2 <= x + wide && node.y - node.height / 2 >= y && node.y + node.height / 2 <= y + high;
    let best = { heat: -1, inside: nodes };
    for (const x of new Set(edges("x", "width")))
        for (const y of new Set(edges("y", "height"))) {
            const inside = nodes.filter((node) => within(node, x, y));
            const heat = inside.reduce((sum, node) => sum + node.heat, 0);
            if (inside.length > 0 && (heat > best.heat || (heat === best.heat && inside.length > best.inside.length)))
                best = { heat, inside };
        }
    const middle = (at, size) => (Math.min(...best.inside.map((node) => node[at] - node[size] / 2)) + Math.max(...best.inside.map((node) => node[at] + node[size] / 2))) / 2;
    return { x: middle("x", "width"), y: middle("y", "height") };
}

/** Moves what an SVG element shows: drag, wheel with Ctrl, + - 0 and arrow keys, and the buttons that are returned. */
function movable(picture, width, height, start) {
    const whole = { x: 0, y: 0, width, height };
    picture.dataset.whole = `0 0 ${width} ${height}`;
    let view = { ...whole };
    const apply = () => picture.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
    const zoom = (factor) => {
        const next = Math.min(Math.max(view.width * factor, width / 20), width * 4);
        const real = next / view.width;
        view = { x: view.x + (view.width * (1 - real)) / 2, y: view.y + (view.height * (1 - real)) / 2, width: next, height: view.height * real };
        apply();
    };
    const move = (dx, dy) => {
        view.x += dx * view.width;
        view.y += dy * view.height;
        apply();
    };
    const reset = () => {
        view = { ...whole };
        apply();
    };
    // First as large as texts are, what is hottest in sight: whole graphs may be too small to read.
    const begin = () => {
        const room = picture.clientWidth;
        if (room > 0 && Math.min(room / width, start.height / height) < LEAST_SCALE) {
            const wide = Math.min(width, room / READ_SCALE), high = start.height / READ_SCALE;
            const middle = hottestPart(start.nodes, wide, high);
            view = { x: wide < width ? middle.x - wide / 2 : 0, y: high < height ? middle.y - high / 2 : 0, width: wide, height: high };
        }
        apply();
    };
    const keys = { "+": () => zoom(0.8), "=": () => zoom(0.8), "-": () => zoom(1.25), 0: reset, ArrowLeft: () => move(-0.1, 0), ArrowRight: () => move(0.1, 0), ArrowUp: () => move(0, -0.1), ArrowDown: () => move(0, 0.1) };
    picture.addEventListener("keydown", (event) => {
        if (event.key in keys && !event.ctrlKey && !event.metaKey && !event.altKey) {
            keys[event.key]();
            event.preventDefault();
        }
    });
    picture.addEventListener("wheel", (event) => {
        if (event.ctrlKey) {
            zoom(event.deltaY > 0 ? 1.1 : 0.9);
            event.preventDefault();
        }
    }, { passive: false });
    picture.addEventListener("pointerdown", (event) => event.target.closest(".node") || picture.setPointerCapture(event.pointerId));
    picture.addEventListener("pointermove", (event) => {
        if (picture.hasPointerCapture(event.pointerId))
            move(-event.movementX / picture.clientWidth, -event.movementY / picture.clientHeight);
    });
    new ResizeObserver((_, observer) => {
        begin();
        observer.disconnect();
    }).observe(picture);
    apply();
    const button = (text, label, action) => h("button", { type: "button", "aria-label": label, title: label, onclick: action }, text);
    return h("div", { class: "choice" }, button("+", "Zoom in", keys["+"]), button("−", "Zoom out", keys["-"]), button("Fit", "Fit: show all of it", reset));
}

// The same in words: blocks and where they lead.
function asList(model, kept, links, choose) {
    const { blocks } = model.data;
    return h("details", { class: "as-table" }, h("summary", null, "As a list"), h("ol", { class: "items" }, kept.map((block) => h("li", null,
        h("button", { type: "button", class: "link", onclick: () => choose(block) }, `${model.functionName(blocks.function[block])} ${model.blockPlace(block)}`),
        ` executed ${count(blocks.count[block])} times`,
        h("ul", null, links.filter((link) => link.from === block).map((link) => h("li", null,
            `${KINDS[link.kind]}, to ${model.blockPlace(link.to)}: ${count(link.count)} times (${share(link.count / (blocks.count[block] || 1))})`)))))));
}

/** A graph of blocks (their rows), of the heaviest `most` where there are more. */
export function blockGraph(model, blocks, label, most = 100) {
    const { kept, links } = select(model, blocks, most);
    if (!kept.length)
        return h("p", { class: "note" }, "There are no blocks to draw.");
    const { blocks: table } = model.data;
    const graph = layout(model, kept, links);
    const { width, height } = graph.graph();
    const greatest = links.reduce((max, link) => Math.max(max, link.count), 1);
    const heaviest = kept.reduce((max, block) => Math.max(max, table.count[block] * table.insns[block]), 1);
    const arrow = newId("arrow");
    const chosen = h("div", { class: "chosen", "aria-live": "polite" });
    const choose = (block) => {
        for (const node of picture.querySelectorAll(".node"))
            node.classList.toggle("chosen-node", node.dataset.block === String(block));
        chosen.replaceChildren(h("h4", null, `Block ${model.blockAddress(block)} of ${model.functionName(table.function[block])}`),
            listing(model, [block], { label: `Block ${model.blockAddress(block)}`, mode: "assembly" }));
    };
    const picture = svg("svg", { class: "graph", role: "group", tabindex: "0", "aria-label": `${label}: ${many(kept.length, "block")}. Plus, minus, 0 and arrow keys move the picture; the list below says the same.`, preserveAspectRatio: "xMidYMin meet" },
        svg("defs", null, svg("marker", { id: arrow, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { d: "M0 0L8 4L0 8z", class: "arrow-head" }))),
        graph.edges().map((edge) => edgeElement(graph.edge(edge), links[edge.name], greatest, arrow, graph.node(edge.v))),
        kept.map((block) => nodeElement(model, block, graph.node(String(block)), (table.count[block] * table.insns[block]) / heaviest, choose)));
    const tall = Math.min(Math.ceil(height), TALLEST_PICTURE);
    picture.style.height = `${tall}px`;
    const nodes = kept.map((block) => ({ ...graph.node(String(block)), heat: table.count[block] * table.insns[block] }));
    return h("div", { class: "graph-box" },
        h("div", { class: "toolbar" }, movable(picture, width, height, { nodes, height: tall }),
            h("ul", { class: "legend" }, h("li", null, h("span", { class: "stroke taken" }), "taken"), h("li", null, h("span", { class: "stroke fell" }), "fell through, or goes on"), h("li", { class: "note" }, "wider: more often"), h("li", null, h("span", { class: "ramp", "aria-hidden": "true" }), "the more of a block's colour, the more was executed in it"))),
        kept.length < new Set(blocks).size && h("p", { class: "note" }, `The heaviest ${count(kept.length)} of ${many(new Set(blocks).size, "block")} are drawn.`),
        picture, asList(model, kept, links, choose), chosen);
}
