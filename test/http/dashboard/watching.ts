import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import type { Running } from "../running.ts";
import type { SignedInPerson } from "./signed-in.ts";

interface Heard {
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects
  readonly data: any;
}

export interface Watching {
  readonly response: IncomingMessage;
  /** All so far; a heartbeat is the event "alive". */
  readonly heard: Heard[];
  /** Resolves when it has been said so often. */
  readonly next: (event: string, times?: number) => Promise<Heard>;
  /** Resolves when the service has ended the stream. */
  readonly ended: Promise<void>;
  /** Hangs up. */
  readonly leave: () => void;
}

const PATIENCE_MS = 20_000;

/** Watches a submission as a page does. */
export async function watch(
  { port, caPath }: Pick<Running, "port" | "caPath">,
  { cookie }: Pick<SignedInPerson, "cookie">,
  id: string,
): Promise<Watching> {
  const path = `/dashboard/api/submissions/${id}/live`;
  const ca = readFileSync(caPath);
  const sent = request({
    host: "127.0.0.1",
    port,
    path,
    ca,
    servername: "localhost",
    agent: false,
    headers: { cookie },
  });
  sent.on("error", () => {}); // what hangs up on purpose
  sent.end();
  const response = await new Promise<IncomingMessage>((resolve) => sent.once("response", resolve));
  const heard: Heard[] = [];
  let onHeard = () => {};
  let text = "";
  response.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      heard.push(parse(text.slice(0, end)));
      text = text.slice(end + 2);
    }
    onHeard();
  });
  const ended = new Promise<void>((resolve) => response.once("close", resolve));
  const next = async (event: string, times = 1) => {
    const deadline = AbortSignal.timeout(PATIENCE_MS);
    for (;;) {
      const found = heard.filter((one) => one.event === event)[times - 1];
      if (found) return found;
      assert.ok(!deadline.aborted, `${event} was not said ${times} times: ${JSON.stringify(heard)}`);
      await new Promise<void>((resolve) => {
        onHeard = resolve;
        deadline.addEventListener("abort", () => resolve(), { once: true });
      });
    }
  };
  return { response, heard, next, ended, leave: () => sent.destroy() };
}

function parse(block: string): Heard {
  if (block.startsWith(":")) return { event: block.slice(1).trim(), data: null };
  const [, event = "", data = ""] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? [];
  return { event, data: JSON.parse(data) };
}
