// Loaded by child.c, after facts.cjs, before each program that is not a step itself: a child process, or a script of a shell.
"use strict";

const own = [`${__dirname}/facts.cjs`, __filename];
process.execPath = process.argv[0] = "/usr/local/bin/node";
// Only the options of child.c, which the arguments of a worker thread do not have; others are the program's own.
if (own.every((name, i) => process.execArgv[2 * i] === "--require" && process.execArgv[2 * i + 1] === name)) {
  process.execArgv.splice(0, 4);
  if (own.every((name, i) => process.execArgv[i] === `--allow-fs-read=${name}`)) process.execArgv.splice(0, 2);
}
for (const name of own) delete require.cache[name];
