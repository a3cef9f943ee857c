// Loaded by child.c before each program that is not a step itself: a child process, or a script of a shell.
"use strict";

process.execPath = process.argv[0] = "/usr/local/bin/node";
// Only the option of child.c, which the arguments of a worker thread do not have; others are the program's own.
if (process.execArgv[1] === __filename) process.execArgv.splice(0, 2);
require("./facts.cjs");
for (const name of [`${__dirname}/facts.cjs`, __filename]) delete require.cache[name];
