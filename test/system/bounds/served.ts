import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { TestContext } from "node:test";
import { newToken } from "../../../src/domain/session.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { type Turns, watchTurns } from "../../support/bounds/measured.ts";
import { runPending, startHttp } from "../../support/http/running.ts";
import { addPerson } from "../../support/store/members.ts";
import { temporaryPostgres, temporaryStore } from "../../support/store/temporary.ts";
import { report } from "../../support/verdict/reports.ts";

/** The process of service.ts. Ends when its parent disconnects. */
const over: (() => unknown)[] = [];
const t = { after: (work: () => unknown) => void over.push(work) } as unknown as TestContext;

const MIB = 1_048_576;

/** The output that is longest as JSON, and the output that is slowest to decode. */
const OUTPUTS = [Buffer.alloc(MIB, 1), randomBytes(MIB)];

const running = await startHttp(t, {
  open: process.argv[2] === "postgres" ? temporaryPostgres : temporaryStore,
  holdMs: 5_000,
});
const { store, ask, key, port, caPath } = running;

const attackerKey = await key({ account: "attacker" });
const ids: string[] = [];
for (const output of OUTPUTS) {
  ids.push(await ended(attackerKey, output));
}
const spentKey = await key({ account: "attacker", requestsPerMinute: 1 });
const honestKey = await key({ account: "honest" });
const id = await ended(honestKey, Buffer.from("1\n"));
const accounts = await store.accounts.list();
const attackerId = accounts.find(({ name }) => name === "attacker")?.id ?? "";
const person = await addPerson(store, "member@example.com", [attackerId]);
const { token, hash } = newToken();
await store.sessions.begin(hash, person);

process.send?.({
  port,
  ca: readFileSync(caPath, "utf8"),
  attacker: { key: attackerKey, spentKey, ids, cookie: `__Host-assay=${token}` },
  honest: { key: honestKey, id },
});

async function ended(by: string, output: Buffer): Promise<string> {
  const body = { language: "python", code: "x" };
  // The test repeats the request with this key.
  const headers = output.length < MIB ? {} : { "idempotency-key": `00000000-0000-4000-8000-00000000000${ids.length}` };
  const { json } = await ask({ method: "POST", path: "/api/submit", key: by, body, headers });
  await runPending(store, () => buildOutcome({ execute: report({ stdout: output, stderr: output }) }));
  return json.id;
}

let turns: (() => Turns) | null = null;
process.on("message", () => {
  if (!turns) {
    turns = watchTurns();
    return;
  }
  process.send?.(turns());
  turns = null;
});

// Unless runs are to stay pending, submissions with wait=true end with the longest output.
const [longest] = OUTPUTS as [Buffer, Buffer];
let work: Promise<unknown> = Promise.resolve();
const working = setInterval(() => {
  if (process.argv[3] === "stay") return;
  work = runPending(store, () => buildOutcome({ execute: report({ stdout: longest, stderr: longest }) }));
}, 200);

process.on("disconnect", async () => {
  clearInterval(working);
  await work;
  for (const work of over.reverse()) await work();
  process.exit(0);
});
