// SPDX-License-Identifier: MIT
/*
 * Reads pprof's files with Datadog's decoder, and checks what pprof's own reader would: node read_pprof.js DIRECTORY FILE...
 * DIRECTORY is where npm has put its packages. Prints a JSON list, for each file: types of values, samples (stacks of names leaf first, values, labels),
 * functions, mappings, and so on.
 */
"use strict";
const fs = require("fs");
const path = require("path");
const zlib = require("zlib");

function check(good, what) {
  if (!good) throw new Error(what);
}

function byId(things, what) {
  const map = new Map();
  for (const thing of things) {
    check(Number(thing.id) !== 0, what + " without an id");
    check(!map.has(Number(thing.id)), what + " " + thing.id + " is there twice");
    map.set(Number(thing.id), thing);
  }
  return map;
}

/* Numbers are below 2^53 in the tests. */
function read(bytes, Profile) {
  const profile = Profile.decode(zlib.gunzipSync(bytes));
  const strings = profile.stringTable.strings;
  check(strings[0] === "", "the first string is not empty");
  const text = index => {
    check(Number(index) < strings.length, "string " + index);
    return strings[Number(index)];
  };
  const functions = byId(profile.function, "function"), locations = byId(profile.location, "location");
  const mappings = byId(profile.mapping, "mapping");
  const lineOf = id => {
    const location = locations.get(Number(id));
    check(location && location.line.length === 1, "location " + id);
    check(Number(location.mappingId) === 0 || mappings.has(Number(location.mappingId)), "mapping of location " + id);
    check(functions.has(Number(location.line[0].functionId)), "function of location " + id);
    return functions.get(Number(location.line[0].functionId));
  };
  return {
    types: profile.sampleType.map(type => [text(type.type), text(type.unit)]),
    default: text(profile.defaultSampleType),
    period: [text(profile.periodType.type), Number(profile.period)],
    comments: profile.comment.map(text),
    mappings: profile.mapping.map(m => ({file: text(m.filename), id: text(m.buildId), limit: Number(m.memoryLimit)})),
    functions: profile.function.map(f => ({name: text(f.name), system: text(f.systemName), file: text(f.filename), line: Number(f.startLine)})),
    samples: profile.sample.map(sample => {
      check(sample.value.length === profile.sampleType.length, "a sample has too few values");
      check(sample.locationId.length > 0, "a sample without a stack");
      return {
        stack: sample.locationId.map(id => text(lineOf(id).name)),
        values: sample.value.map(Number),
        labels: Object.fromEntries(sample.label.map(l => [text(l.key), Number(l.str) ? text(l.str) : Number(l.num)])),
      };
    }),
  };
}

const [directory, ...files] = process.argv.slice(2);
const {Profile} = require(path.join(directory, "pprof-format"));
process.stdout.write(JSON.stringify(files.map(file => read(fs.readFileSync(file), Profile))));
