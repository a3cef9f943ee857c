import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { WebSocket } from "ws";
import { LoadConnection } from "./load/connection.ts";
import { makeDatabase } from "./load/database.ts";
import { makeKeys, makePlace, realSandbox, startServing, userOf } from "./load/serving.ts";
import { type BenchRow, quantile, timesRow } from "./row.ts";

/** Writes each line of its input to its output, at once. */
const ECHO = "process.stdin.pipe(process.stdout);\n";
/** A session must end before the program reaches its limit of wall time. */
const ECHOES = 100;
/** The first echoes of a session, which also start the program. */
const WARM_UP = 5;

export interface EchoFlags {
  readonly launcherSocket: string;
  /** A PostgreSQL server; SQLite if undefined. */
  readonly database?: string;
  readonly rounds: number;
}

/** Sends a line, and resolves when the line has come back. */
interface Talk {
  echo(line: string): Promise<void>;
  end(): void;
}

type Begin = () => Promise<Talk>;

/**
 * Measures how long a line takes from a client to a running program and back. The floor is the same program without a box and without a
 * service: a pipe to a child process, and one from it. Sessions of all rows and of the floor alternate, so that a change of the machine's
 * speed affects all of them.
 */
export async function echoRows({ launcherSocket, database, rounds }: EchoFlags): Promise<BenchRow[]> {
  const place = makePlace(dirname(launcherSocket), userOf(launcherSocket));
  const there = await makeDatabase(database, place.directory);
  try {
    const [key = ""] = await makeKeys(there, 1);
    place.own();
    const serving = await startServing(place, there, realSandbox(launcherSocket, availableParallelism()));
    try {
      const service = { port: serving.port, ca: place.ca, key };
      const begins: Readonly<Record<string, Begin>> = {
        echo_piston: () => piston(service),
        echo_connect: () => connect(service),
      };
      const bareUs: number[] = [];
      const us: Record<string, number[]> = Object.fromEntries(Object.keys(begins).map((name) => [name, []]));
      for (let round = 0; round < rounds; round++) {
        bareUs.push(...(await session(bare)));
        for (const [name, begin] of Object.entries(begins)) us[name]?.push(...(await session(begin)));
      }
      const floor = quantile(bareUs, 0.5);
      return Object.entries(us).map(([name, times]) => timesRow(name, "us", times, floor));
    } finally {
      await serving.stop();
    }
  } finally {
    await there.drop();
    place.remove();
  }
}

async function session(begin: Begin): Promise<number[]> {
  const talk = await begin();
  const times: number[] = [];
  for (let at = -WARM_UP; at < ECHOES; at++) {
    const begun = performance.now();
    await talk.echo(`line ${at}\n`);
    if (at >= 0) times.push((performance.now() - begun) * 1000);
  }
  talk.end();
  return times;
}

/** Calls the listener with the text that a program writes, and resolves echoes when their line is complete. */
class Echoes {
  #text = "";
  #wanted = "";
  #done = Promise.withResolvers<void>();

  wait(line: string): Promise<void> {
    this.#text = "";
    this.#wanted = line;
    this.#done = Promise.withResolvers();
    return this.#done.promise;
  }

  hear(text: string): void {
    this.#text += text;
    if (this.#text === this.#wanted) this.#done.resolve();
  }

  fail(error: Error): void {
    this.#done.reject(error);
  }
}

async function bare(): Promise<Talk> {
  const child = spawn(process.execPath, ["-e", ECHO], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface(child.stdout);
  return {
    echo: async (line) => {
      const heard = once(lines, "line");
      child.stdin.write(line);
      await heard;
    },
    end: () => child.stdin.end(),
  };
}

interface ServiceAt {
  readonly port: number;
  readonly ca: string;
  readonly key: string;
}

/** A WebSocket of the service, and the echoes on it. @param onMessage called with each message. */
async function connected(
  { port, ca, key }: ServiceAt,
  path: string,
  onMessage: (message: { readonly type: string; readonly [field: string]: string }, echoes: Echoes) => void,
) {
  const socket = new WebSocket(`wss://127.0.0.1:${port}${path}`, { ca, headers: { "X-API-Key": key } });
  const echoes = new Echoes();
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => {}); // only the start of a session waits for it
  const fail = (reason: string) => {
    echoes.fail(new Error(reason));
    lost.reject(new Error(reason));
  };
  socket.on("message", (data) => {
    const message = JSON.parse(data.toString());
    if (message.type === "error") fail(data.toString());
    else onMessage(message, echoes);
  });
  socket.on("error", ({ message }) => fail(message)).on("close", () => fail("the session ended early"));
  await Promise.race([once(socket, "open"), lost.promise]);
  const end = () => {
    socket.removeAllListeners().on("error", () => {});
    socket.close();
  };
  return { socket, echoes, lost: lost.promise, end };
}

/** A session of a client of Piston. */
async function piston(service: ServiceAt): Promise<Talk> {
  const started = Promise.withResolvers<void>();
  const { socket, echoes, lost, end } = await connected(
    service,
    "/piston/api/v2/connect",
    ({ type, stage, data = "" }, heard) => {
      if (type === "stage" && stage === "run") started.resolve();
      if (type === "data") heard.hear(data);
    },
  );
  socket.send(JSON.stringify({ type: "init", language: "javascript", version: "*", files: [{ content: ECHO }] }));
  await Promise.race([started.promise, lost]);
  const echo = (line: string) => {
    const heard = echoes.wait(line);
    socket.send(JSON.stringify({ type: "data", stream: "stdin", data: line }));
    return heard;
  };
  return { echo, end };
}

/** A submission with live input, and a WebSocket to its program. */
async function connect(service: ServiceAt): Promise<Talk> {
  const api = await LoadConnection.open(service.port, service.ca, service.key);
  const body = Buffer.from(JSON.stringify({ language: "javascript", code: ECHO, live_input: true }));
  const { status, text } = await api.ask("POST", "/api/submit", body);
  if (status !== 202) throw new Error(`the submission was refused: ${status} ${text}`);
  const { id } = JSON.parse(text) as { id: string };
  const { socket, echoes, end } = await connected(
    service,
    `/api/result/${id}/connect`,
    ({ type, text = "" }, heard) => {
      if (type === "stdout") heard.hear(text);
    },
  );
  return {
    echo: (line) => {
      const heard = echoes.wait(line);
      socket.send(Buffer.from(line));
      return heard;
    },
    end: () => {
      end();
      void api.ask("POST", `/api/result/${id}/input/end`).finally(() => api.end());
    },
  };
}
