import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { command } from "../../support/cli/one-process.ts";
import { assay, dataDirectory, serve } from "../../support/cli/processes.ts";
import { type Answer, makeCertificates, type Receiver, startReceiver } from "../../support/webhooks/receiver.ts";

const certificates = makeCertificates();
const LIMIT = { timeout: 60_000 };

interface Fixture {
  readonly receiver: Receiver;
  readonly data: string;
  /** The flags that allow and trust the receiver. */
  readonly flags: readonly string[];
  readonly run: (...args: string[]) => ReturnType<typeof command>;
  readonly json: (...args: string[]) => Promise<unknown>;
}

async function fixture(t: TestContext, answer?: Answer): Promise<Fixture> {
  const receiver = await startReceiver(t, certificates, answer);
  const data = dataDirectory(t);
  const ca = join(data, "receivers.pem");
  writeFileSync(ca, certificates.ca);
  const run = (...args: string[]) => command("webhooks", ...args, "--data", data);
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args, "--json");
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  await command("projects", "create", "--name", "shop", "--data", data);
  const flags = ["--webhook-allow", `127.0.0.1:${receiver.port}`, "--webhook-ca", ca];
  return { receiver, data, flags, run, json };
}

const make = ({ json, receiver }: Fixture, ...flags: string[]) =>
  json("create", "--project", "shop", "--url", receiver.url, ...flags) as Promise<{ id: string; secret: string }>;

test("the command sends a test message, the receiver verifies it, and the delivery is stored", LIMIT, async (t) => {
  const here = await fixture(t, (response) => response.writeHead(202).end("thank you"));
  const { receiver, flags, run, json } = here;
  const { id, secret } = await make(here, ...flags.slice(0, 2));
  const { code, stdout } = await run("test", id, ...flags);
  assert.equal(code, 0);
  assert.match(stdout, /^delivered: 202 in \d+ ms\nthank you\n$/);
  const [one] = receiver.received;
  assert.ok(one);
  const record = new Webhook(secret).verify(one.body, one.headers as Record<string, string>) as Record<string, unknown>;
  assert.deepEqual([record.id, record.status, record.evidence], [one.headers["webhook-id"], "completed", null]);
  assert.match(one.headers["user-agent"] ?? "", /^Assay\/\d+\.\d+\.\d+$/);
  const [delivery, ...others] = (await json("deliveries", "--endpoint", id)) as Record<string, unknown>[];
  assert.deepEqual(others, []);
  const { kind, state, submission, webhookId, attempts } = delivery ?? {};
  assert.deepEqual([kind, state, submission, webhookId], ["test", "delivered", null, record.id]);
  const [{ at, latencyMs, sentHeaders, answerHeaders, ...attempt }] = attempts as [Record<string, unknown>];
  assert.deepEqual(attempt, { number: 1, status: 202, error: null, answer: "thank you" });
  const { connection: _, ...received } = one.headers;
  assert.deepEqual(Object.fromEntries(sentHeaders as [string, string][]), received);
  assert.ok(Array.isArray(answerHeaders) && answerHeaders.length > 0);
  assert.ok(typeof latencyMs === "number" && Date.parse(String(at)) > 0);
});

test("an undelivered test message fails with a reason and is not repeated", LIMIT, async (t) => {
  const here = await fixture(t, (response) => response.writeHead(500).end());
  const { receiver, flags, run } = here;
  const { id } = await make(here, ...flags.slice(0, 2));
  const failed = await run("test", id, ...flags);
  assert.deepEqual([failed.code, failed.stderr], [1, ""]);
  assert.match(failed.stdout, /^failed: 500 in \d+ ms\n$/);
  const untrusted = await run("test", id, ...flags.slice(0, 2));
  assert.equal(untrusted.code, 1);
  assert.match(untrusted.stdout, /^failed: .*certificate.*\n$/);
  const blocked = await run("test", id);
  assert.equal(blocked.code, 1);
  assert.match(blocked.stdout, /^failed: only public addresses are allowed: 127\.0\.0\.1 is loopback\n$/);
  assert.equal(receiver.received.length, 1);
});

test("commands use the service's settings, and the service sends replays", LIMIT, async (t) => {
  const here = await fixture(t);
  const { receiver, data, flags, json } = here;
  const service = await serve(t, data, ...flags);
  const { id, secret } = await make(here);
  const sent = (await json("test", id)) as { id: string; webhookId: string };
  const replay = (await json("replay", sent.id)) as { id: string; replays: string };
  assert.equal(replay.replays, sent.id);
  await receiver.until(2);
  const [first, second] = receiver.received;
  assert.ok(first && second);
  assert.deepEqual(second.body, first.body);
  assert.equal(second.headers["webhook-id"], sent.webhookId);
  new Webhook(secret).verify(second.body, second.headers as Record<string, string>);
  for (;;) {
    const [newest] = (await json("deliveries")) as { id: string; kind: string; state: string }[];
    assert.deepEqual([newest?.id, newest?.kind], [replay.id, "replay"]);
    if (newest?.state === "delivered") break;
    await sleep(50);
  }
  service.process.kill("SIGTERM");
  assert.equal(await service.ended, 0, service.output());
  for (const hidden of [secret, "/hook"]) assert.equal(service.output().includes(hidden), false, hidden);
});

test("prints one line for each delivery", LIMIT, async (t) => {
  const here = await fixture(t);
  const { id } = await make(here, ...here.flags.slice(0, 2));
  await here.run("test", id, ...here.flags);
  const { stdout } = await here.run("deliveries");
  const [head, line, ...others] = stdout.trimEnd().split("\n");
  assert.match(head ?? "", /^ID +AT +KIND +STATE +ATTEMPTS +LAST +SUBMISSION +URL$/);
  assert.match(line ?? "", new RegExp(`^\\S{36}  \\S+Z  test  delivered  1 +200 in \\d+ ms +- +${here.receiver.url}$`));
  assert.deepEqual(others, []);
});

test("a receiver's response reaches the terminal as plain text only", LIMIT, async (t) => {
  const here = await fixture(t, (response) => response.end("one\u001b[2Jtwo\u009b31m\u202ethree\r\n\tfour \u00e9"));
  const { id } = await make(here, ...here.flags.slice(0, 2));
  let stdout = "";
  // On a busy machine, an attempt can exceed its time before there is a response.
  for (let attempts = 0; attempts < 5 && !stdout.startsWith("delivered: "); attempts++)
    ({ stdout } = await here.run("test", id, ...here.flags));
  assert.equal(stdout.split("\n").slice(1).join("\n"), "one\ufffd[2Jtwo\ufffd31m\ufffdthree\ufffd\n\tfour \u00e9\n");
});

test("ignores proxies in the environment", LIMIT, async (t) => {
  const proxy = await startReceiver(t, certificates);
  const here = await fixture(t);
  const { id } = await make(here, ...here.flags.slice(0, 2));
  const names = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy"];
  const environment = Object.fromEntries(names.map((name) => [name, new URL(proxy.url).origin]));
  Object.assign(process.env, environment, { NODE_USE_ENV_PROXY: "1", NO_PROXY: "", no_proxy: "" });
  t.after(() => {
    for (const name of [...names, "NODE_USE_ENV_PROXY", "NO_PROXY", "no_proxy"]) delete process.env[name];
  });
  assert.equal((await assay("webhooks", "test", id, ...here.flags, "--data", here.data)).code, 0);
  assert.equal(here.receiver.received.length, 1);
  assert.equal(proxy.connections(), 0);
});

test("a mistake prints one sentence and fails", LIMIT, async (t) => {
  const { run, data, flags } = await fixture(t);
  const wrong: [string[], RegExp][] = [
    [["test", "none"], /^assay: there is no webhook endpoint none\n$/],
    [["replay", "none"], /^assay: there is no such delivery\n$/],
    [["replay"], /^assay: specify a delivery or --failed\n$/],
    [["replay", "none", "--since", "2026-01-01"], /^assay: --endpoint and --since go with --failed\n$/],
    [["replay", "--failed", "--since", "x"], /^assay: x is not a time like .*\n$/],
    [["replay", "--failed", "--endpoint", "none"], /^assay: there is no webhook endpoint none\n$/],
    [["deliveries", "--limit", "x"], /must be a whole number/],
    [["test", "none", "--webhook-ca", join(data, "gone.pem")], /^assay: ENOENT.*gone\.pem'\n$/],
    [["test", "none", "--webhook-ca", join(data, "tls", "server.key")], /^assay: ASSAY_WEBHOOK_CA: there is no cert/],
    [["test", "none", "--webhook-allow", "127.0.0.1"], /^assay: ASSAY_WEBHOOK_ALLOW.*HOST:PORT.*'127\.0\.0\.1'\n$/],
  ];
  for (const [args, expected] of wrong) {
    const { code, stdout, stderr } = await run(...args);
    assert.deepEqual([code, stdout], [1, ""], args.join(" "));
    assert.match(stderr, expected, args.join(" "));
  }
  const refused = await assay(
    "serve",
    "--data",
    data,
    "--listen",
    "127.0.0.1:0",
    ...flags.slice(0, 2),
    "--webhook-ca",
    "gone",
  );
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^assay: ENOENT/);
});
