const { openSync, writeSync } = require("node:fs");

const file = openSync("big", "w");
for (;;) writeSync(file, Buffer.alloc(65_536));
