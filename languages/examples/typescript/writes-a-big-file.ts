import { openSync, writeSync } from "node:fs";

const file = openSync("big", "w");
for (;;) writeSync(file, Buffer.alloc(65_536));
