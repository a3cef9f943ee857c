import type { Command } from "commander";
import { OperatorError } from "../domain/operator-error.ts";
import { escaped } from "./answer.ts";

const OLDEST_NODE = 24;

/** Runs the command that the arguments of this process name. An error is written for the operator, and ends the process. */
export async function runProgram(load: () => Promise<Command>): Promise<void> {
  try {
    requireNode();
    await (await load()).parseAsync();
  } catch (error) {
    process.stderr.write(`assay: ${explain(error)}\n`);
    // A failed service must not leave parts of it running, such as its worker.
    process.exit(1);
  }
}

/** Older versions crash inside the database driver without a clear message. */
function requireNode(): void {
  if (Number(process.versions.node.split(".")[0]) < OLDEST_NODE) {
    throw new OperatorError(`needs Node ${OLDEST_NODE}, but this is ${process.versions.node}; start it with ./assay`);
  }
}

/**
 * The text of an error for the operator. An OperatorError is a sentence, which can contain names and messages of packages. Of an
 * error with a code, such as ENOENT, the message is enough. Any other error is a fault of this program, and is shown with its
 * stack.
 */
function explain(error: unknown): string {
  if (error instanceof OperatorError) return error.message.split("\n").map(escaped).join("\n");
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof Error && code !== undefined) return escaped(error.message);
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
