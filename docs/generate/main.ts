import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { documents, ROOT, read } from "../../test/support/repo/documents.ts";
import { fill, SOURCES } from "./regions.ts";

/** `npm run generate`: fills the regions of all documents and sources from the code. test/unit/repo/generated.test.ts checks them. */
for (const path of [...documents(), ...SOURCES]) {
  const before = read(path);
  const after = fill(before);
  if (after === before) continue;
  writeFileSync(join(ROOT, path), after);
  process.stdout.write(`${path} is rewritten\n`);
}
