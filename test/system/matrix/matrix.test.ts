import { rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { Limits, ProfileName } from "../../../src/domain/limits.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { environment } from "../../support/launcher/launcher.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { type Product, source, useProduct } from "../../support/programs/product.ts";
import { PROCESS_BYTES, TOO_FEW_PAGES } from "../programs/process-bytes.ts";
import { CELLS, type Cell, INPUT, withoutTheTracepoint } from "./cells.ts";
import { assertJudged, ended } from "./judged.ts";
import { assertLost, runAndLoseTheSlot } from "./lost.ts";
import { withShortCpuTime } from "./short.ts";
import { table } from "./table.ts";

/** Computing programs run at once on at most as many cores as a small machine has. */
const COMPUTING = Math.min(2, availableParallelism());
/** All languages, or those that `assay test` selects on another kernel, which it reports at its end. */
const CHOSEN = process.env.ASSAY_TEST_MATRIX?.split(" ");
/** The kernel sums up the CPU time of threads and children for all languages alike: `assay test full` tries each. */
const SUMMED = ["busy-threads", "busy-children"];
const SOME = ["c", "java", "python"];
const isChosen = ({ language, row }: Pick<Cell, "language" | "row">) =>
  (CHOSEN?.includes(language) ?? true) && !(SKIPS_LONG && SUMMED.includes(row.program) && !SOME.includes(language));
/** The default limit of the CPU time takes each program four seconds of a core, so one program of the plain run has it. */
const profileOf = ({ language, row }: Cell): ProfileName =>
  SKIPS_LONG && row.cause === "cpu_timeout" && !(row.program === "busy" && language === "c") ? "agent" : "judge";
/** Waiting programs run alongside computing ones, unless their compilers would take the only core for long. */
const TOGETHER = COMPUTING > 1 || CHOSEN !== undefined;
const WAITING = 4;

/** Approximate number of adjacent pages in each mapping of a program that fills memory page by page. */
const NEIGHBOURS = 1.5;

const checkout = withShortCpuTime(environment("ASSAY_TEST_DATA"));
const product = useProduct({ workers: COMPUTING + WAITING, parked: true, checkout: () => checkout });
after(() => rmSync(checkout, { recursive: true }));
const languages = loadLanguages(join(checkout, "languages"));
let tracepoint: Promise<boolean> | undefined;
const seen = new Map<Cell["row"], Map<string, string>>();

for (const name of CHOSEN ?? []) if (!languages.resolve(name)) throw new Error(`there is no language ${name}`);
const chosen = CELLS.filter(isChosen);
const waiting = chosen.filter(({ row }) => row.waits);
const computing = chosen.filter(({ row }) => !row.waits);

describe("every verdict, in every language", { concurrency: TOGETHER }, () => {
  describe("programs that compute", { concurrency: COMPUTING }, () => {
    for (const cell of computing) earn(cell);
  });
  describe("programs that wait", { concurrency: WAITING }, () => {
    for (const cell of waiting) earn(cell);
  });
  // The table is printed here and not at the end of the file, because output after the last test is lost.
  after(() => console.log(`\n${table(shown)}\n`));
});

function earn(cell: Cell): void {
  const { row, language, end } = cell;
  const title = `${language}: ${row.program}${row.injected ? ` while ${row.injected}` : ""} is ${row.verdict} ${row.cause}`;
  test(end === "neither" ? title : `${title}, ${end}`, async (t) => {
    const code = source(language, row.program);
    if (row.injected) {
      assertLost(await runAndLoseTheSlot(product(), language, code));
      note(cell, end);
      return;
    }
    if (row.program === "child-eats-memory" && limitsOf(cell).memoryBytes > PROCESS_BYTES * NEIGHBOURS) {
      note(cell, "not tried");
      return t.skip(TOO_FEW_PAGES);
    }
    tracepoint ??= hasTracepoint(product());
    const expected = (await tracepoint) ? cell : withoutTheTracepoint(cell);
    if (expected !== cell) t.diagnostic("without the tracepoint, the documented fallback applies: RE nonzero_exit");
    const profile = profileOf(cell);
    const record = assertJudged(
      expected,
      await product().run(language, code, { stdin: INPUT, profile }),
      limitsOf(cell),
    );
    const { cause } = record.result;
    note(cell, cause === row.cause ? ended(record) : `${ended(record)} (${cause})`);
  });
}

/** Whether the launcher reports the tracepoint. */
async function hasTracepoint({ ask }: Product): Promise<boolean> {
  const { json } = await ask("GET", "/api/health/ready");
  const { checks } = json as { checks: readonly { name: string; detail: string }[] };
  const evidence = checks.find(({ name }) => name === "file_size_evidence");
  if (!evidence) throw new Error(`readiness does not report the tracepoint: ${JSON.stringify(json)}`);
  return !evidence.detail.startsWith("fallback");
}

function limitsOf(cell: Cell): Limits {
  const { row, language } = cell;
  const found = languages.resolve(language);
  if (!found) throw new Error(`there is no language ${language}`);
  const limits = languages.limitsFor(found, profileOf(cell));
  return row.cause === "compile_error" && limits.compile ? limits.compile : limits.execute;
}

function shown(row: Cell["row"], language: Cell["language"]): string {
  return seen.get(row)?.get(language) ?? (isChosen({ row, language }) ? "FAILED" : "not chosen");
}

function note({ row, language }: Cell, text: string): void {
  if (!seen.has(row)) seen.set(row, new Map());
  seen.get(row)?.set(language, text);
}
