import { type Kysely, sql } from "kysely";
import type { Submission } from "../../domain/submission.ts";
import type { Row, Schema } from "../database/schema.ts";
import { SUBMISSION_COLUMNS, toOutcome, toSubmission } from "./rows.ts";
import type { ReserveMemory } from "./types.ts";

/** The id of the requested submission and the account of the request. */
export interface ReadRequest {
  readonly id: string;
  readonly accountId: string;
}

/** Output is read with its row if both streams together have at most this size. A group of 64 reads then holds at most 1 MiB. */
const INLINE_BYTES = 16_384;

/** A submission, possibly without its output. */
export interface Head {
  /** The submission; without its output if `output` is not null. */
  readonly submission: Submission;
  /** If the output is too large for a grouped read: its size, and a function that reads the complete submission. Otherwise null. */
  readonly output: { readonly bytes: number; readonly read: () => Promise<Submission> } | null;
}

/** Reads submissions, in the order of `wanted`; undefined where the account has no such submission. */
export async function readHeads(db: Kysely<Schema>, wanted: readonly ReadRequest[]): Promise<(Head | undefined)[]> {
  // Clients choose the ids, and PostgreSQL rejects texts with U+0000.
  const ids = [...new Set(wanted.map(({ id }) => id).filter((id) => !id.includes("\0")))];
  if (ids.length === 0) return wanted.map(() => undefined);
  const rows = await withOutcome(db).where("submissions.id", "in", ids).execute();
  const found = new Map(rows.map((row) => [row.id, toHead(db, row)]));
  return wanted.map(({ id, accountId }) => {
    const head = found.get(id);
    return head?.submission.accountId === accountId ? head : undefined;
  });
}

/** Implements SubmissionStore.compileOutput. */
export async function readCompileOutput(
  db: Kysely<Schema>,
  id: string,
  accountId: string,
): Promise<Buffer | null | undefined> {
  if (id.includes("\0")) return undefined; // PostgreSQL rejects such texts
  const row = await db
    .selectFrom("submissions")
    .leftJoin("outcomes", "outcomes.submission_seq", "submissions.seq")
    .select("compile_output")
    .where("submissions.id", "=", id)
    .where("submissions.account_id", "=", accountId)
    .executeTakeFirst();
  return row?.compile_output;
}

/** Reads a submission of any account by its sequence number, with its output; undefined if it does not exist. */
export async function readEnded(db: Kysely<Schema>, seq: number): Promise<Submission | undefined> {
  const row = await withOutcome(db).where("submissions.seq", "=", seq).executeTakeFirst();
  return row && (await complete(toHead(db, row)));
}

/** Reads a large output as well. @param admit awaited with its size before it is read; without `admit`, memory is not bounded. */
export async function complete({ submission, output }: Head, admit?: ReserveMemory): Promise<Submission> {
  if (!output) return submission;
  await admit?.(output.bytes);
  return await output.read();
}

function withOutcome(db: Kysely<Schema>) {
  const bytes = sql<number | null>`length(outcomes.stdout) + length(outcomes.stderr)`;
  const inline = (column: "stdout" | "stderr") =>
    sql<Buffer | null>`case when ${bytes} <= ${sql.lit(INLINE_BYTES)} then ${sql.ref(`outcomes.${column}`)} end`;
  return db
    .selectFrom("submissions")
    .leftJoin("outcomes", "outcomes.submission_seq", "submissions.seq")
    .select([...SUBMISSION_COLUMNS, "submissions.seq", "outcomes.body"])
    .select([bytes.as("bytes"), inline("stdout").as("stdout"), inline("stderr").as("stderr")]);
}

type Joined = NonNullable<Awaited<ReturnType<ReturnType<typeof withOutcome>["executeTakeFirst"]>>>;

function toHead(db: Kysely<Schema>, { seq, bytes, stdout, stderr, body, ...row }: Joined): Head {
  const withOutput = (output: Pick<Row<"outcomes">, "stdout" | "stderr">): Submission =>
    toSubmission(row, body === null ? null : toOutcome({ ...output, body }));
  const submission = withOutput({ stdout, stderr });
  if (bytes === null || bytes <= INLINE_BYTES) return { submission, output: null };
  return { submission, output: { bytes, read: async () => withOutput((await readOutput(db, seq)) ?? EMPTY) } };
}

/** The output of a record that retention deleted between the two reads. */
const EMPTY = { stdout: null, stderr: null };

async function readOutput(db: Kysely<Schema>, seq: number) {
  return await db
    .selectFrom("outcomes")
    .select(["stdout", "stderr"])
    .where("submission_seq", "=", seq)
    .executeTakeFirst();
}
