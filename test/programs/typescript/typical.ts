// A short version of typical.js: TypeScript differs only in its compiler.
import assert from "node:assert";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";

interface Row {
  readonly n: number;
}

const rows: readonly Row[] = [{ n: 1 }, { n: 2 }];
const place = await mkdtemp("/tmp/typical-");
await writeFile(`${place}/rows.json`, JSON.stringify(rows));
const back = JSON.parse(await readFile(`${place}/rows.json`, "utf8")) as Row[];
assert.equal(back.map(({ n }) => n).join(), "1,2");
await rm(place, { recursive: true });
const child = spawn("true");
const [code] = await once(child, "exit");
assert.equal(code, 0);
console.log("ok");
