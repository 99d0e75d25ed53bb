// SPDX-License-Identifier: MIT
// node build.mjs OUT.html: bundles the page into one file, the template that `hotpath html` fills (docs/page.md).
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const DATA = '<script id="hotpath-data" type="application/octet-stream"></script>';

async function bundle(entry) {
    const { outputFiles, metafile } = await build({
        metafile: true, absWorkingDir: dirname(fileURLToPath(import.meta.url)),
        entryPoints: [fileURLToPath(new URL(entry, import.meta.url))],
        bundle: true, minify: true, write: false, format: "iife", charset: "utf8", legalComments: "none",
        target: ["chrome105", "firefox113", "safari16.4"],
    });
    return { text: outputFiles[0].text.trim(), inputs: Object.keys(metafile.inputs) };
}

// The licences of the libraries that are in the page, each once, with whom it is of.
async function licences(inputs) {
    const packages = new Set(inputs.flatMap((path) => path.match(/.*node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0] ?? []));
    const texts = new Map();
    for (const path of [...packages].sort()) {
        const directory = fileURLToPath(new URL(`${path}/`, import.meta.url));
        const file = (await readdir(directory)).find((name) => /^licen[cs]e/i.test(name));
        const { name, license } = JSON.parse(await readFile(join(directory, "package.json"), "utf8"));
        const text = file ? (await readFile(join(directory, file), "utf8")).trim() : `Licence: ${license}`;
        texts.set(text, [...(texts.get(text) ?? []), name]);
    }
    return [...texts].map(([text, names]) => `${names.join(", ")}\n\n${text}`).join("\n\n\n").replaceAll("-->", "-- >");
}

// Only this very script may run in the page, whatever a profile has in it.
function policy(script) {
    const hash = createHash("sha256").update(script).digest("base64");
    return `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'`;
}

// </script> ends a script even inside of a string.
const inScript = (text) => text.replace(/<\/(?=script)/gi, "<\\/").replace(/<!--/g, "<\\!--");

const output = process.argv[2];
if (!output) {
    console.error("usage: node build.mjs OUT.html");
    process.exit(2);
}
const code = await bundle("src/main.js"), style = await bundle("style.css");
const script = inScript(code.text);
const parts = { STYLE: style.text, SCRIPT: script, POLICY: policy(script), LICENCES: await licences(code.inputs) };
const page = (await readFile(new URL("index.html", import.meta.url), "utf8")).replace(/%([A-Z]+)%/g, (_, name) => parts[name]);
if (page.split("\n").filter((line) => line === DATA).length !== 1)
    throw new Error(`index.html must have the line ${DATA} once`);
await writeFile(output, page);
