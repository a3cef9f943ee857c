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
  const v8 = require("node:v8");
  // What programs use first.
  for (const name of ["buffer", "events", "module", "path", "readline", "stream", "timers", "url", "util", "vm"])
    require(`node:${name}`);
  void fs.ReadStream;
  void process.stdout;
  void process.stderr;
  const random = new Uint16Array(3);
  fs.writeSync(4, Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]));
  fs.readSync(3, Buffer.alloc(8));
  fs.closeSync(3);
  fs.closeSync(4);
  const pid = Number(fs.readlinkSync("/proc/self"));
  // The process that has waited has used the pipes of the step. Another one gets new pipes, on which writes block.
  if (pid === process.pid) dlopen();
  Object.defineProperty(process, "pid", { ...Object.getOwnPropertyDescriptor(process, "pid"), value: pid });
  const source = fs.openSync("/dev/urandom");
  fs.readSync(source, random);
  fs.closeSync(source);
  // The sequence of Math.random() begins here. Other contexts take their seeds from a generator that exists already: each
  // identity hash takes a number from it. Worker threads have generators of their own, with seeds from OpenSSL, which notices a
  // new process.
  v8.setFlagsFromString(`--random-seed=${(random[0] % 32768) * 65536 + random[1] + 1}`);
  Math.random();
  v8.setFlagsFromString("--random-seed=0");
  for (let left = random[2] % 1024, keys = new WeakSet(); left > 0; left--) keys.add({});
}
