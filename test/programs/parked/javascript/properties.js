// Every property that a program can reach from its globals and from Node's modules, as a number and a digest for each of them.
require("node:worker_threads"); // replaces process.chdir() when it is first loaded
const { createHash } = require("node:crypto");
const { builtinModules } = require("node:module");

// What Node has loaded so far and where from, which nothing but a debugger asks for, and numbers that differ between two runs.
const VARIES = /^(moduleLoadList|_pathCache|pid|ppid|_startTime|timeOrigin|now)$/;
const seen = new Map();
let lines = [];

function walk(path, value, depth) {
  const isObject = typeof value === "function" || (typeof value === "object" && value !== null);
  if (!isObject) return lines.push(`${path} ${typeof value} ${String(value)}`);
  if (seen.has(value)) return lines.push(`${path} -> ${seen.get(value)}`);
  seen.set(value, path);
  lines.push(`${path} ${Object.isExtensible(value)} ${typeof value === "function" ? `${value.name}/${value.length}` : ""}`);
  if (depth > 7 || (ArrayBuffer.isView(value) && value.byteLength > 64)) return;
  for (const key of Reflect.ownKeys(value)) {
    if (VARIES.test(String(key))) continue;
    const { get, set, value: inner, ...flags } = Reflect.getOwnPropertyDescriptor(value, key);
    lines.push(`${path}.${String(key)} ${JSON.stringify(flags)} ${Boolean(get)} ${Boolean(set)}`);
    try {
      walk(`${path}.${String(key)}`, get ? Reflect.apply(get, value, []) : inner, depth + 1);
    } catch (error) {
      lines.push(`${path}.${String(key)} throws ${error.constructor.name}`);
    }
  }
  walk(`${path}.[[Prototype]]`, Object.getPrototypeOf(value), depth + 1);
}

function describe(name, value) {
  lines = [];
  walk(name, value, 0);
  const text = lines.join("\n").replaceAll(/\d+\.\d{3,}/g, "N"); // times
  console.log(name, lines.length, createHash("sha256").update(text).digest("hex"));
}

process.on("warning", () => {}); // of deprecated modules
for (const [name, value] of Object.entries({ globalThis, process, require, module })) describe(name, value);
for (const name of builtinModules.filter((one) => !/^(inspector|trace_events|wasi|sqlite|test|sea)/.test(one))) describe(name, require(name));
