import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { test } from "node:test";
import fastify from "fastify";
import { NO_METER } from "../../../src/domain/meter.ts";
import { EventLoopTurns } from "../../../src/fairness/turn.ts";
import { LongAnswers } from "../../../src/http/responses/long-answers.ts";

/** A server with one long answer. `read` has the pieces that were generated, and `ended` how many generators have ended. */
async function serve(t: { after: (work: () => unknown) => void }) {
  const answers = new LongAnswers(new EventLoopTurns(), NO_METER);
  const seen = { read: 0, ended: 0 };
  function* pieces() {
    try {
      for (let at = 0; at < 1_000; at++) {
        seen.read++;
        yield "x".repeat(65_536);
      }
    } finally {
      seen.ended++;
    }
  }
  const server = fastify();
  server.get("/", (_, reply) => answers.sendPieces("owner", reply, pieces()));
  const port = Number(new URL(await server.listen({ host: "127.0.0.1", port: 0 })).port);
  t.after(() => server.close());
  return { seen, ask: (method: string) => request({ host: "127.0.0.1", port, method }) };
}

test("a HEAD request generates no part of a long answer", async (t) => {
  const { seen, ask } = await serve(t);
  for (let times = 0; times < 20; times++) {
    const [response] = await once(ask("HEAD").end(), "response");
    assert.equal(response.statusCode, 200);
    await once(response.resume(), "end");
  }
  assert.equal(seen.read, 0);
});

test("a long answer ends with its client", async (t) => {
  const { seen, ask } = await serve(t);
  const sent = ask("GET").end();
  const [response] = await once(sent, "response");
  await once(response, "data");
  sent.on("error", () => {}).destroy();
  while (seen.ended === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(seen.read < 1_000, `${seen.read}`);
});
