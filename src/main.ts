import { escaped } from "./cli/answer.ts";
import { program } from "./cli/program.ts";
import { OperatorError } from "./domain/operator-error.ts";

const OLDEST_NODE = 24;

try {
  requireNode();
  await (await program(process.argv[2])).parseAsync();
} catch (error) {
  process.stderr.write(`assay: ${explain(error)}\n`);
  // A failed service must not leave parts of it running, such as its worker.
  process.exit(1);
}

/** Older versions crash inside the database driver without a clear message. */
function requireNode(): void {
  if (Number(process.versions.node.split(".")[0]) < OLDEST_NODE) {
    throw new OperatorError(`needs Node ${OLDEST_NODE}, but this is ${process.versions.node}; start it with ./assay`);
  }
}

/** Operator errors are one sentence, with names and messages of packages in some; all other errors have a stack. */
function explain(error: unknown): string {
  if (error instanceof OperatorError) return error.message.split("\n").map(escaped).join("\n");
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof Error && code !== undefined) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
