import { once } from "node:events";
import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import type { Execution, ExecutionRequest } from "../../client/typescript/src/types.ts";
import { notAllowed } from "../domain/egress/policy.ts";
import { OperatorError } from "../domain/operator-error.ts";
import { escaped } from "./answer.ts";
import { answered, type Connection } from "./sandbox-connection.ts";

/** The size of a terminal whose size is unknown. */
const [USUAL_ROWS, USUAL_COLS] = [24, 80];
/** Ends the modes of a terminal in which a program may have left it: reports of the mouse and of pastes, the other screen, no cursor. */
const USUAL_MODES = "\u001b[?1000;1002;1003;1004;1006;1049;2004l\u001b[?25h\u001b[0m";
/** How long the service may take to close the connection after the end of an execution. */
const CLOSE_MS = 5_000;
/** The most reasons of the network policy that are printed. Programs choose the names in them. */
const MAX_DENIED = 5;

/** Executes a program, passes input, output and signals on. @returns the exit code of this process. */
export async function runIn(connection: Connection, id: string, request: ExecutionRequest): Promise<number> {
  const hasInput = process.stdin.isTTY !== true;
  const begun = await answered(connection.client.startExecution(id, { ...request, open_input: hasInput }));
  const attached = attach(connection, id, begun.number);
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => attached.control({ type: "signal", signal }));
  if (hasInput) {
    void (async () => {
      for await (const chunk of process.stdin) await attached.input(chunk as Buffer);
      attached.control({ type: "end" });
    })().catch(() => {}); // the execution has ended, and takes no more
  }
  try {
    const code = exitCodeOf(await attached.ended);
    if (code !== 0) await printDenied(connection, id, begun.number);
    return code;
  } finally {
    process.stdin.destroy(); // otherwise, whoever holds the other end open would keep this process alive
  }
}

/** Prints the output of an execution from its beginning to its end, without giving it input. @returns the exit code of this process. */
export async function follow(connection: Connection, id: string, number: number): Promise<number> {
  return exitCodeOf(await attach(connection, id, number).ended);
}

/** Opens a shell in a terminal. @returns the exit code of this process. */
export async function shellIn(
  connection: Connection,
  id: string,
  { cwd, env }: Pick<ExecutionRequest, "cwd" | "env">,
): Promise<number> {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY)
    throw new OperatorError("'assay sandbox shell' needs a terminal; use 'assay sandbox run'");
  const size = () => ({ rows: stdout.rows || USUAL_ROWS, cols: stdout.columns || USUAL_COLS });
  const { TERM = "xterm-256color" } = process.env;
  const request = {
    argv: ["/bin/bash", "-l"],
    terminal: size(),
    env: { TERM, ...env },
    ...(cwd !== undefined && { cwd }),
  };
  const { number } = await answered(connection.client.startExecution(id, request));
  const attached = attach(connection, id, number);
  stdin.setRawMode(true);
  stdin.on("data", (bytes: Buffer) => void attached.input(bytes).catch(() => {}));
  stdout.on("resize", () => attached.control({ type: "resize", ...size() }));
  try {
    return exitCodeOf(await attached.ended);
  } finally {
    stdin.setRawMode(false);
    stdin.destroy(); // otherwise, it would keep this process alive
    if (stdout.writable) stdout.write(USUAL_MODES);
  }
}

interface Attached {
  /** The execution, when it has ended and its output is written. Rejects if the connection is lost before. */
  readonly ended: Promise<Execution>;
  /** Resolves when the bytes are sent. */
  input(bytes: Buffer): Promise<void>;
  control(message: object): void;
}

/** Attaches this process to an execution: its output goes to standard output and standard error. */
function attach({ url, key, ca }: Connection, id: string, number: number): Attached {
  const target = new URL(`api/sandboxes/${encodeURIComponent(id)}/executions/${number}/attach`, url);
  target.protocol = url.protocol === "http:" ? "ws:" : "wss:";
  const socket = new WebSocket(target, {
    headers: { "x-api-key": key },
    ...(ca !== undefined && { ca }),
    perMessageDeflate: false,
    followRedirects: false,
  });
  const opened = once(socket, "open");
  opened.catch(() => {});
  const { promise, resolve, reject } = Promise.withResolvers<Execution>();
  socket.on("message", (data: Buffer, isBinary) => {
    if (isBinary) {
      const stream = data[0] === 2 ? process.stderr : process.stdout;
      if (stream.write(data.subarray(1))) return;
      // A slow terminal or pipe slows the sandbox down, not the memory of this process up.
      socket.pause();
      stream.once("drain", () => socket.resume());
      return;
    }
    const message = JSON.parse(data.toString());
    if (message.type === "ended") resolve(message.execution);
    else if (message.type === "error") reject(new OperatorError(message.error));
  });
  socket.on("error", (error) => reject(new OperatorError(`the connection failed: ${error.message}`)));
  socket.on("close", (code) =>
    reject(new OperatorError(`the connection was closed (${code}); the execution ${number} continues`)),
  );
  const ended = promise.then(async (execution) => {
    await Promise.race([once(socket, "close"), sleep(CLOSE_MS)]);
    return execution;
  });
  return {
    ended,
    async input(bytes) {
      await opened;
      await new Promise<void>((sent, failed) => socket.send(bytes, (error) => (error ? failed(error) : sent())));
    },
    control(message) {
      void opened.then(() => socket.send(JSON.stringify(message), () => {})).catch(() => {});
    },
  };
}

/** Says what the policy of the network has denied, because the program itself has only seen an error of the network. */
async function printDenied({ client }: Connection, id: string, number: number): Promise<void> {
  const { egress } = await answered(client.execution(id, number));
  if (egress === null) return;
  const names = egress.refused_names.map(({ name }) => notAllowed(name));
  const denied = egress.connections.flatMap(({ decision, reason }) =>
    decision === "denied" && reason ? [reason] : [],
  );
  const reasons = [...new Set([...names, ...denied])];
  for (const reason of reasons.slice(0, MAX_DENIED)) process.stderr.write(`assay: ${escaped(reason)}\n`);
  if (reasons.length > MAX_DENIED)
    process.stderr.write(`assay: and ${reasons.length - MAX_DENIED} more in the record of execution ${number}\n`);
}

/** @throws OperatorError if the execution has no exit code, because the platform failed. */
function exitCodeOf({ result }: Execution): number {
  const { exit_code: code, signal, verdict, error_message: text } = result;
  if (verdict !== "AC" && text !== null) process.stderr.write(`assay: ${verdict}: ${escaped(text)}\n`);
  if (code !== null) return code;
  return signal === null ? 1 : 128 + Math.min(signal, Math.max(...Object.values(constants.signals)));
}
