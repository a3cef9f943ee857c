import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { documents, ROOT, read } from "../../test/support/repo/documents.ts";
import { FILES } from "./files.ts";
import { fill, SOURCES } from "./regions.ts";

/**
 * `npm run generate`: fills the regions of all documents and sources from the code, and writes the files that are generated as a
 * whole. test/unit/repo/generated.test.ts checks both.
 */
for (const path of [...documents(), ...SOURCES]) write(path, fill(read(path)));
for (const [path, make] of Object.entries(FILES)) write(path, await make());

function write(path: string, after: string): void {
  if (existsSync(join(ROOT, path)) && after === read(path)) return;
  writeFileSync(join(ROOT, path), after);
  process.stdout.write(`${path} is rewritten\n`);
}
