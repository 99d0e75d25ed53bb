// SPDX-License-Identifier: MIT
/*
 * Reads files with speedscope's own importers: node read_speedscope.js DIRECTORY FILE...
 * DIRECTORY is where npm has put its packages. Prints a JSON list, for each file a list of the profiles that speedscope found in it, or null when it
 * found none: name, total weight, and by frame its name, file, line, and weights.
 *
 * speedscope is a page and its code is bundled: it gets a document that is just good enough to start, and what it offers to its command for loading
 * a file is changed to return the result.
 */
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

class Element {
  constructor(name) {
    Object.assign(this, {
      nodeName: name, localName: name, childNodes: [], attributes: [], parentNode: null,
      style: {}, sheet: {cssRules: [], insertRule() {}},
    });
  }
  get firstChild() { return this.childNodes[0] || null; }
  get nextSibling() {
    const all = this.parentNode ? this.parentNode.childNodes : [];
    return all[all.indexOf(this) + 1] || null;
  }
  insertBefore(child, before) {
    if (child.parentNode) child.parentNode.removeChild(child);
    this.childNodes.splice(before ? this.childNodes.indexOf(before) : this.childNodes.length, 0, child);
    child.parentNode = this;
  }
  appendChild(child) { this.insertBefore(child, null); }
  removeChild(child) {
    this.childNodes = this.childNodes.filter(other => other !== child);
    child.parentNode = null;
  }
  setAttribute() {}
  removeAttribute() {}
  addEventListener() {}
}

function makePage() {
  const nothing = () => {};
  const query = {matches: false, addListener: nothing, addEventListener: nothing};
  const page = {
    console: {log: nothing, warn: nothing, error: nothing, time: nothing, timeEnd: nothing},
    setTimeout, clearTimeout, setInterval, clearInterval, performance, TextDecoder, TextEncoder, WebAssembly, atob,
    requestAnimationFrame: nothing, cancelAnimationFrame: nothing,
    location: {hash: "#localProfilePath=none", protocol: "file:", href: "file:///", search: ""},
    navigator: {userAgent: "", platform: ""},
    localStorage: {getItem: () => null, setItem: nothing},
    matchMedia: () => query, addEventListener: nothing, removeEventListener: nothing,
    HTMLElement: class {}, HTMLCanvasElement: class {},
    document: Object.assign(new Element("html"), {
      body: new Element("body"), head: new Element("head"), fonts: {ready: Promise.resolve()},
      createElement: name => new Element(name), createElementNS: (_, name) => new Element(name),
      createTextNode: () => new Element("#text"), querySelector: () => null,
    }),
  };
  page.window = page.self = page;
  return vm.createContext(page);
}

function start(directory) {
  const release = path.join(directory, "speedscope", "dist", "release");
  const name = fs.readdirSync(release).find(file => /^speedscope-.*\.js$/.test(file));
  const code = fs.readFileSync(path.join(release, name), "utf8");
  const offered = /loadFileFromBase64:\((\w+),(\w+)\)=>\{this\.loadProfile\(\(\)=>(\w+)\(\1,\2\)\)\}/;
  if (!offered.test(code)) throw new Error(name + " does not offer to load files");
  const page = makePage();
  vm.runInContext(code.replace(offered, "loadFileFromBase64:$3"), page);
  return page.speedscope.loadFileFromBase64;
}

function describe(profile) {
  const frames = [];
  profile.forEachFrame(frame => frames.push({
    name: frame.name, file: frame.file, line: frame.line,
    self: frame.getSelfWeight(), total: frame.getTotalWeight(),
  }));
  return {name: profile.getName(), total: profile.getTotalWeight(), frames};
}

async function main() {
  const [directory, ...files] = process.argv.slice(2);
  const load = start(directory);
  const all = [];
  for (const file of files) {
    const group = await load(path.basename(file), fs.readFileSync(file).toString("base64"));
    all.push(group && group.profiles.map(describe));
  }
  process.stdout.write(JSON.stringify(all), () => process.exit(0));
}

main().catch(error => {
  console.error(error);
  process.exit(1);
});
