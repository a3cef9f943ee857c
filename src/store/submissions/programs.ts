import type { Kysely } from "kysely";
import { decodeHarness } from "../../domain/harness.ts";
import { contentsOfTest, type Definition, decodeStates, limitsOfTest, mostPoints } from "../../domain/judgement.ts";
import { withAdditions } from "../../domain/program-options.ts";
import type { Program } from "../../domain/submission.ts";
import type { Schema } from "../database/schema.ts";
import { decodeProgram, PROGRAM_COLUMNS, toProgram } from "./rows.ts";
import type { ClaimedGrading, ClaimedTest } from "./types.ts";

interface Wanted {
  readonly seq: number;
  readonly judgement_seq: number | null;
  readonly test: number | null;
}

interface Loaded {
  readonly program: Program;
  /** The test, if the submission is a run of a judgement; otherwise null. */
  readonly test: ClaimedTest | null;
  /** Set if the submission is a run of the grader. */
  readonly grading?: ClaimedGrading;
}

/**
 * The programs of submissions, by sequence number. The program of a run is that of its judgement, with the input of its test.
 * @param places 0 to read only the input of a test; by default, its answers are read as well.
 */
export async function loadPrograms(
  db: Kysely<Schema>,
  wanted: readonly Wanted[],
  places?: 0,
): Promise<Map<number, Loaded>> {
  const loaded = new Map<number, Loaded>();
  const single = wanted.filter(({ judgement_seq }) => judgement_seq === null).map(({ seq }) => seq);
  if (single.length > 0) {
    const rows = await db
      .selectFrom("programs")
      .select(["submission_seq", ...PROGRAM_COLUMNS])
      .where("submission_seq", "in", single)
      .execute();
    for (const row of rows) loaded.set(row.submission_seq, { program: toProgram(row), test: null });
  }
  const runs = Map.groupBy(wanted, ({ judgement_seq }) => judgement_seq ?? 0);
  runs.delete(0);
  for (const [judgementSeq, own] of runs) await loadRuns(db, judgementSeq, own, loaded, places);
  return loaded;
}

async function loadRuns(
  db: Kysely<Schema>,
  judgementSeq: number,
  runs: readonly Wanted[],
  loaded: Map<number, Loaded>,
  places: 0 | undefined,
): Promise<void> {
  const judgement = await db
    .selectFrom("judgements")
    .innerJoin("versions", "versions.seq", "judgements.version_seq")
    .innerJoin("judged_programs", "judged_programs.judgement_seq", "judgements.seq")
    .select(["version_seq", "code", "additions", "definition", "checker", "grader", "harness", "states"])
    .where("judgements.seq", "=", judgementSeq)
    .executeTakeFirstOrThrow();
  const definition = JSON.parse(judgement.definition) as Definition;
  const contents = await readContents(
    db,
    judgement.version_seq,
    runs.map(({ test }) => test ?? 0),
    places,
  );
  const { code, additions, checker } = judgement;
  const harness = judgement.harness === null ? null : decodeHarness(judgement.harness);
  const program = toProgram({ code, stdin: Buffer.alloc(0), additions });
  for (const { seq, test } of runs) {
    const number = test ?? 0;
    if (number === definition.tests.length) {
      loaded.set(seq, await loadGrader(db, { ...judgement, judgementSeq, definition }, places));
      continue;
    }
    const meta = definition.tests[number];
    const { input, answers, files } = contentsOfTest(meta ?? {}, contents.get(number) ?? []);
    loaded.set(seq, {
      program: { ...program, stdin: input, options: withAdditions(program.options, { ...meta, testFiles: files }) },
      test: {
        judgementSeq,
        points: mostPoints(definition, number),
        checker: meta?.checker ?? definition.checker,
        checkerProgram: checker && decodeProgram(checker),
        ...limitsOfTest(definition, number),
        harness,
        answerFile: meta?.answerFile,
        answers,
        fault: definition.faults?.[0] ?? null,
      },
    });
  }
}

/** The run of the grader. Who reads its record does not see the program, as that of a checker. */
async function loadGrader(
  db: Kysely<Schema>,
  {
    judgementSeq,
    definition,
    grader,
    states,
  }: { judgementSeq: number; definition: Definition; grader: Buffer | null; states: string },
  places: 0 | undefined,
): Promise<Loaded> {
  const nothing = { code: Buffer.alloc(0), stdin: Buffer.alloc(0) };
  if (places !== undefined || grader === null) return { program: nothing, test: null };
  const rows = await db
    .selectFrom("runs")
    .select(["test", "share"])
    .where("judgement_seq", "=", judgementSeq)
    .execute();
  const ended = decodeStates(states);
  const shares = ended.map(() => 0);
  for (const { test, share } of rows) shares[test] = share;
  const grading = { judgementSeq, definition, states: ended, shares };
  return { program: decodeProgram(grader), test: null, grading };
}

/** The input, the answers and the files of each of these tests. @param places as for `loadPrograms`. */
export async function readContents(
  db: Kysely<Schema>,
  versionSeq: number,
  tests: readonly number[],
  places?: 0,
): Promise<Map<number, Buffer[]>> {
  const rows = await db
    .selectFrom("version_contents")
    .innerJoin("contents", "contents.seq", "version_contents.content_seq")
    .select(["test", "bytes"])
    .where("version_seq", "=", versionSeq)
    .where("test", "in", tests)
    .$if(places !== undefined, (query) => query.where("place", "=", places ?? 0))
    .orderBy("test")
    .orderBy("place")
    .execute();
  const contents = new Map<number, Buffer[]>();
  for (const { test, bytes } of rows) contents.set(test, [...(contents.get(test) ?? []), bytes]);
  return contents;
}
