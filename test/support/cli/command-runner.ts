import { program } from "../../../src/cli/program.ts";
import { runProgram } from "../../../src/cli/run-program.ts";

/**
 * Runs commands of the service's program one after the other, for one-process.ts. A message has the arguments of a command, and the
 * response what it printed and its exit code. The process ends when it is disconnected, unless a command has left something open.
 */
export interface Printed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Ends a command at the place where its process would exit. */
class Exit extends Error {}

let code: number | null = null;
const printed = { stdout: "", stderr: "" };

process.exit = (status) => {
  code ??= Number(status ?? process.exitCode ?? 0);
  throw new Exit();
};
for (const name of ["stdout", "stderr"] as const) {
  process[name].write = (chunk: string | Uint8Array) => {
    // What follows an exit is no output of the command.
    if (code === null) printed[name] += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
    return true;
  };
}

process.on("message", async (args: readonly string[]) => {
  Object.assign(printed, { stdout: "", stderr: "" });
  [code, process.exitCode] = [null, undefined];
  process.argv.splice(2, Infinity, ...args);
  try {
    await runProgram(() => program(process.argv[2]));
  } catch (error) {
    if (!(error instanceof Exit)) throw error;
  }
  const ended: Printed = { code: code ?? Number(process.exitCode ?? 0), ...printed };
  process.exitCode = undefined;
  process.send?.(ended);
});
