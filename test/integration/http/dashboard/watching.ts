import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import type { SignedInPerson } from "../../../support/http/dashboard/signed-in.ts";
import type { Running } from "../../../support/http/running.ts";

interface Received {
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: each test asserts the shape
  readonly data: any;
}

export interface Watching {
  readonly response: IncomingMessage;
  /** All events so far; a heartbeat is the event "alive". */
  readonly received: Received[];
  /** Resolves with the event when it has occurred this many times. */
  readonly next: (event: string, times?: number) => Promise<Received>;
  /** Resolves when the service has ended the stream. */
  readonly ended: Promise<void>;
  /** Disconnects. */
  readonly leave: () => void;
}

const TIMEOUT_MS = 20_000;

/** Watches a submission, a judgement or another stream, as the page does. @param end of the path. */
export async function watch(
  { port, caPath }: Pick<Running, "port" | "caPath">,
  { cookie }: Pick<SignedInPerson, "cookie">,
  id: string,
  what: "submissions" | "judgements" | "" = "submissions",
  end = "/live",
): Promise<Watching> {
  const path = `/dashboard/api/${what && `${what}/`}${id}${end}`;
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
  sent.on("error", () => {}); // from intended disconnects
  sent.end();
  const response = await new Promise<IncomingMessage>((resolve) => sent.once("response", resolve));
  const received: Received[] = [];
  let onReceived = () => {};
  let text = "";
  response.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      received.push(parse(text.slice(0, end)));
      text = text.slice(end + 2);
    }
    onReceived();
  });
  const ended = new Promise<void>((resolve) => response.once("close", resolve));
  const next = async (event: string, times = 1) => {
    const deadline = AbortSignal.timeout(TIMEOUT_MS);
    for (;;) {
      const found = received.filter((one) => one.event === event)[times - 1];
      if (found) return found;
      assert.ok(!deadline.aborted, `${event} did not occur ${times} times: ${JSON.stringify(received)}`);
      await new Promise<void>((resolve) => {
        onReceived = resolve;
        deadline.addEventListener("abort", () => resolve(), { once: true });
      });
    }
  };
  return { response, received, next, ended, leave: () => sent.destroy() };
}

function parse(block: string): Received {
  if (block.startsWith(":")) return { event: block.slice(1).trim(), data: null };
  const [, event = "", data = ""] = /^event: (\w+)\ndata: (.*)(?:\nid: \d+-\d+)?$/.exec(block) ?? [];
  return { event, data: JSON.parse(data) };
}
