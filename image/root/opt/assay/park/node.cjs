// Loaded with --require before the program is opened. The sandbox starts Node before a program exists. This module reports that
// Node waits, and returns when /box has the source (launcher/PROTOCOL.md). It removes its traces, so that the program runs as
// without it. Worker threads load it too.
"use strict";

process.execArgv.splice(process.execArgv.indexOf("--require"), 2);
process._preload_modules?.splice(0);
delete require.cache[__filename];

if (require("node:worker_threads").isMainThread) {
  const fs = require("node:fs");
  // What programs use first.
  for (const name of ["buffer", "events", "module", "path", "readline", "stream", "timers", "url", "util", "vm"])
    require(`node:${name}`);
  void fs.ReadStream;
  void process.stdout;
  void process.stderr;
  fs.writeSync(4, Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]));
  fs.readSync(3, Buffer.alloc(8));
  fs.closeSync(3);
  fs.closeSync(4);
}
