// SPDX-License-Identifier: MIT
// node build.mjs OUT.html: bundles the page into one file, the template that `hotpath html` fills (docs/page.md).
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const DATA = '<script id="hotpath-data" type="application/octet-stream"></script>';

async function bundle(entry) {
    const { outputFiles } = await build({
        entryPoints: [fileURLToPath(new URL(entry, import.meta.url))],
        bundle: true, minify: true, write: false, format: "iife", charset: "utf8", legalComments: "none",
        target: ["chrome105", "firefox113", "safari16.4"],
    });
    return outputFiles[0].text;
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
const script = inScript((await bundle("src/main.js")).trim());
const parts = { STYLE: (await bundle("style.css")).trim(), SCRIPT: script, POLICY: policy(script) };
const page = (await readFile(new URL("index.html", import.meta.url), "utf8")).replace(/%([A-Z]+)%/g, (_, name) => parts[name]);
if (page.split("\n").filter((line) => line === DATA).length !== 1)
    throw new Error(`index.html must have the line ${DATA} once`);
await writeFile(output, page);
