import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../../support/launcher/machine.ts";
import { type RealServe, realServe } from "./real-serve.ts";

const PATIENCE = 600;

/** What this test reads of a sandbox or an execution. */
interface Json {
  readonly id: string;
  readonly number: number;
  readonly state: string;
  readonly status: string;
  readonly end_reason: string | null;
  readonly result: { readonly verdict: string; readonly error_message: string };
  readonly output: { readonly stdout: string };
}

/** Waits until a request gets an answer that satisfies a condition. A service that restarts refuses connections. */
async function until(what: string, ask: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; ; tries++) {
    if (await ask().catch(() => false)) return;
    if (tries > PATIENCE) throw new Error(`${what} did not happen`);
    await sleep(200);
  }
}

async function killService(serve: RealServe): Promise<void> {
  const before = serve.service();
  assert.ok(before);
  process.kill(before, "SIGKILL");
  await eventually("another service runs", () => {
    const now = serve.service();
    return now !== undefined && now !== before;
  });
}

test("a killed service takes its sandboxes over; a killed launcher and a stop end them", async (t) => {
  const serve = await realServe(t, { ASSAY_SANDBOXES: "4" });
  const key = serve.command("keys", "create", "--name", "agent", "--account", "agents", "--profiles", "agent").trim();
  const ask = async (method: string, path: string, body?: object) => {
    const { status, json } = await serve.ask(key, method, path, body);
    return { status, json: json as Json };
  };
  const create = async () => {
    const { status, json } = await ask("POST", "/api/sandboxes", { env: { SECRET: "of the sandbox" } });
    assert.equal(status, 201);
    return `/api/sandboxes/${json.id}`;
  };
  const run = async (sandbox: string, shell: string, more: object = {}) =>
    await ask("POST", `${sandbox}/executions`, { shell, ...more });
  const sandbox = await create();
  assert.equal((await run(sandbox, "echo kept > note")).json.result.verdict, "AC");
  const server = await run(sandbox, "while true; do date +%s.%N > beat; sleep 0.05; done", { background: true });
  assert.equal(server.status, 201);
  const beat = async () => (await run(sandbox, "cat beat")).json.output.stdout;
  await until("the server runs", async () => /^\d/.test(await beat()));

  for (let kills = 0; kills < 2; kills++) {
    await killService(serve);
    await until("the sandbox is there again", async () => (await ask("GET", sandbox)).json.state === "running");
    assert.equal((await run(sandbox, 'cat note; echo "$SECRET"')).json.output.stdout, "kept\nof the sandbox\n");
    const before = await beat();
    await until("the server goes on", async () => (await beat()) !== before);
  }
  const ended = await ask("GET", `${sandbox}/executions/${server.json.number}`);
  assert.deepEqual([ended.json.status, ended.json.result.verdict], ["error", "IE"]);
  assert.match(ended.json.result.error_message, /restarted.*its programs go on/);
  assert.doesNotMatch(serve.words(), /of the sandbox/, "no secret is logged");

  process.kill(serve.launcher() as number, "SIGKILL");
  await until("the sandbox has ended", async () => (await ask("GET", sandbox)).json.state === "ended");
  assert.equal((await ask("GET", sandbox)).json.end_reason, "worker_lost");

  let other = "";
  await until("there are sandboxes again", async () => {
    other = await create();
    return true;
  });
  assert.equal((await run(other, "echo 1")).json.output.stdout, "1\n");
  serve.process.kill("SIGTERM");
  assert.equal(await serve.ended, 0);
});
