// Loaded with --require before each program, also by worker threads: sets the stack limit (stack.c), answers questions about the
// machine (facts.cjs), lets a parked runtime wait for its step, and removes its traces, so that the program runs as without it.
"use strict";

const PARKED = Symbol.for("assay.parked"); // set by park.cjs

// A worker thread of a frozen Node finds the program that continued it.
process.execPath = process.argv[0] = "/usr/local/bin/node";
const dlopen = () => process.dlopen({ exports: {} }, "/opt/assay/node/stack.node");
dlopen();
require("./facts.cjs");
for (let at = process.execArgv.indexOf("--require"); at >= 0; at = process.execArgv.indexOf("--require"))
  process.execArgv.splice(at, 2);
process._preload_modules?.splice(0);
for (const name of Object.keys(require.cache)) delete require.cache[name];
if (globalThis[PARKED] && require("node:worker_threads").isMainThread) wait();
delete globalThis[PARKED];

/**
 * The sandbox starts Node before a program exists: reports that Node waits, and returns when /box has the source
 * (launcher/PROTOCOL.md). Node can then be another process, which continues the frozen state of this one (image/freeze/).
 */
function wait() {
  const fs = require("node:fs");
  // What programs use first.
  for (const name of ["buffer", "events", "module", "path", "readline", "stream", "timers", "url", "util", "vm"])
    require(`node:${name}`);
  void fs.ReadStream;
  void process.stdout;
  void process.stderr;
  dlopen(); // finds V8's generator of random numbers
  fs.writeSync(4, Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]));
  fs.readSync(3, Buffer.alloc(8));
  fs.closeSync(3);
  fs.closeSync(4);
  const pid = Number(fs.readlinkSync("/proc/self"));
  Object.defineProperty(process, "pid", { ...Object.getOwnPropertyDescriptor(process, "pid"), value: pid });
  // All contexts of this thread take the seeds of Math.random() from the generator, which gets a new one, the context of the
  // program as well: its first number is drawn later.
  dlopen();
}
