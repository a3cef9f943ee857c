import { after, describe, test } from "node:test";
import { ourLanguages } from "../../src/cli/engine.ts";
import type { Limits } from "../../src/domain/limits.ts";
import { source, useEngine } from "../engine/engine.ts";
import { CELLS, type Cell, INPUT } from "./cells.ts";
import { assertJudged, ended } from "./judged.ts";
import { assertLost, runAndLoseTheSlot } from "./lost.ts";
import { table } from "./table.ts";

/** No more programs that compute at once than the smallest machine has cores; those that only wait run beside them. */
const COMPUTING = 2;
const WAITING = 4;

const engine = useEngine({ workers: COMPUTING + WAITING });
const languages = ourLanguages();
const seen = new Map<Cell["row"], Map<string, string>>();

const waiting = CELLS.filter(({ row }) => row.waits);
const computing = CELLS.filter(({ row }) => !row.waits);

describe("every verdict, in every language", { concurrency: true }, () => {
  describe("programs that compute", { concurrency: COMPUTING }, () => {
    for (const cell of computing) earn(cell);
  });
  describe("programs that wait", { concurrency: WAITING }, () => {
    for (const cell of waiting) earn(cell);
  });
  // Here, not at the end of the file: what is written after the last test is not passed on.
  after(() => console.log(`\n${table((row, language) => seen.get(row)?.get(language) ?? "FAILED")}\n`));
});

function earn(cell: Cell): void {
  const { row, language, end } = cell;
  const title = `${language}: ${row.program}${row.injected ? ` while ${row.injected}` : ""} is ${row.verdict} ${row.cause}`;
  test(end === "neither" ? title : `${title}, ${end}`, async () => {
    const code = source(language, row.program);
    if (row.injected) {
      assertLost(await runAndLoseTheSlot(engine(), language, code));
      note(cell, end);
      return;
    }
    const record = assertJudged(cell, await engine().run(language, code, { stdin: INPUT }), limitsOf(cell));
    const { cause } = record.result;
    note(cell, cause === row.cause ? ended(record) : `${ended(record)} (${cause})`);
  });
}

function limitsOf({ row, language }: Cell): Limits {
  const found = languages.resolve(language);
  if (!found) throw new Error(`there is no language ${language}`);
  const limits = languages.limitsFor(found, "judge");
  return row.cause === "compile_error" && limits.compile ? limits.compile : limits.execute;
}

function note({ row, language }: Cell, text: string): void {
  if (!seen.has(row)) seen.set(row, new Map());
  seen.get(row)?.set(language, text);
}
