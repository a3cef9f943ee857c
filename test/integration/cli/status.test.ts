import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { StatusPage } from "../../../src/cli/operator-pages.ts";
import { statusText } from "../../../src/cli/status-text.ts";
import { assay, MAIN } from "../../support/cli/processes.ts";

const NOW = Date.UTC(2031, 0, 2);
const BACKLOG = {
  pending: 0,
  oldestPendingMs: 0,
  held: 0,
  largestShare: 0,
  running: {},
  deliveries: 0,
  oldestDueMs: 0,
};
const WELL: StatusPage = {
  version: "1.2.3",
  engine: { ready: true, readyAtMs: NOW, failures: [], workers: 4, languages: ["c", "go"] },
  slots: { wanted: 4, alive: 4, busy: 1 },
  database: { latencyMs: 0.31, backlog: BACKLOG },
  disk: { freeBytes: 21.4e9, sizeBytes: 40e9 },
  certificateEndsAtMs: NOW + 10.5 * 86_400_000,
  recent: { withinMs: 300_000, verdicts: { RE: 14, AC: 97 } },
  shares: { accounts: [], amount: 0 },
  sandboxes: null,
  snapshots: null,
};

/** The text of one line. */
function line(page: StatusPage, name: string): string | undefined {
  return new RegExp(`^ {2}${name} +(.*)$`, "m").exec(statusText(page, NOW))?.[1];
}

test("prints ten lines for a healthy service", () => {
  assert.equal(
    statusText(WELL, NOW),
    `Assay 1.2.3: ready, every control is verified
  workers      4; slots here: 4 of 4 open, 1 busy
  queue        empty
  running      nothing
  ended        111 in 5 min, 22.2 a minute: AC 97, RE 14
  webhooks     nothing to deliver
  database     responds in 0.3 ms
  disk         21.4 of 40.0 GB free
  certificate  until 2031-01-12, 10 days
  languages    c go
`,
  );
});

test("prints the age of pending and running submissions", () => {
  const backlog = {
    pending: 12,
    oldestPendingMs: 93_000,
    held: 4,
    largestShare: 0.75,
    running: { c: 1, go: 3 },
    deliveries: 2,
    oldestDueMs: 700,
  };
  const busy = { ...WELL, database: { latencyMs: 1, backlog } };
  assert.equal(
    line(busy, "queue"),
    "12 pending, the longest wait for a start 2 min; 4 wait because of their key's concurrency or a suspension",
  );
  assert.equal(line(busy, "running"), "go 3, c 1");
  assert.equal(line(busy, "webhooks"), "2 to deliver, due for 0.7 s");
});

test("prints the accounts with the highest usage and the number of others", () => {
  const accounts = [
    { id: "1", name: "acme", pending: 12, running: 2, requests: 60 },
    { id: "2", name: "a\u001b[2Jb", pending: 0, running: 1, requests: 0 },
  ];
  const text = statusText({ ...WELL, shares: { accounts, amount: 5 } }, NOW);
  assert.ok(
    text.includes(`  accounts     acme: 12 pending, 2 running, 60 requests in the last minute
               a\\u{1b}[2Jb: 0 pending, 1 running, 0 requests in the last minute
               and 3 more
`),
    text,
  );
});

test("prints what sandboxes and snapshots hold of what the process may give them", () => {
  const MIB = 1_048_576;
  const held = { sandboxes: 3, memoryBytes: 1536 * MIB, diskBytes: 0, connections: 9 };
  const most = { sandboxes: 16, memoryBytes: 8192 * MIB, diskBytes: 0 };
  const snapshots = { amount: 2, heldBytes: 30 * MIB, mostBytes: 1024 * MIB };
  const page = { ...WELL, sandboxes: { held, most, egress: null }, snapshots };
  assert.equal(line(page, "sandboxes"), "3 of 16, memory 1536 of 8192 MiB");
  assert.equal(line(page, "snapshots"), "2, 30 of 1024 MiB");
  assert.equal(line(page, "network"), "off: no sandbox has one");
  const open = (amount: number) => line({ ...page, sandboxes: { held, most, egress: { open: amount } } }, "network");
  assert.equal(open(1), "1 connection of sandboxes open");
  assert.equal(open(64), "64 connections of sandboxes open");
  assert.equal(line(WELL, "network"), undefined);
  const withDisks = {
    held: { ...held, diskBytes: 8192 * MIB },
    most: { ...most, sandboxes: 3, diskBytes: 9216 * MIB },
    egress: null,
  };
  const full = { ...page, sandboxes: withDisks, snapshots: { ...snapshots, mostBytes: 30 * MIB } };
  assert.equal(line(full, "sandboxes"), "3 of 3 (FULL), memory 1536 of 8192 MiB, disks 8192 of 9216 MiB");
  assert.equal(line(full, "snapshots"), "2, 30 of 30 MiB (FULL)");
});

test("prints problems in capitals", () => {
  const failures = [{ name: "sandbox", ok: false, detail: "its smoke test ended as IE" }];
  const broken: StatusPage = {
    ...WELL,
    engine: { ...WELL.engine, ready: false, readyAtMs: NOW - 7_200_000, failures, languages: [] },
    slots: { wanted: 4, alive: 2, busy: 0 },
    database: null,
    disk: null,
    certificateEndsAtMs: NOW - 1,
    recent: null,
    shares: null,
  };
  assert.match(
    statusText(broken, NOW),
    /^Assay 1\.2\.3: NOT READY, last ready 2 h ago: sandbox: its smoke test ended as IE\n/,
  );
  assert.equal(line(broken, "workers"), "4; slots here: 2 of 4 open (SLOTS LOST), 0 busy");
  assert.equal(line(broken, "database"), "UNAVAILABLE");
  assert.equal(line(broken, "queue"), "unknown");
  assert.match(line(broken, "certificate") ?? "", /^ENDED on 2031-01-01$/);
  assert.equal(line(broken, "languages"), "NONE is verified");
  assert.match(line(broken, "disk") ?? "", /^UNKNOWN/);
  assert.equal(line({ ...WELL, slots: null }, "workers"), "4 elsewhere");
});

/** A server that responds to /status with this body, on a socket file. */
async function operator(t: TestContext, body: string, status = 200): Promise<string> {
  const path = join(tmpdir(), `assay-status-${process.pid}-${Math.random().toString(36).slice(2)}.sock`);
  const server = createServer((_, answer) => answer.writeHead(status).end(body));
  await new Promise<void>((resolve) => server.listen(path, resolve));
  t.after(() => server.close());
  return `unix:${path}`;
}

test("an unreachable service prints one sentence and exits with 1", async (t) => {
  const gone = await assay("status", "--operator-listen", "unix:/nowhere/operator.sock");
  assert.equal(gone.code, 1);
  assert.match(gone.stderr, /^assay: no response from unix:\/nowhere\/operator\.sock: .*ENOENT.*\n$/);
  const older = await assay("status", "--operator-listen", await operator(t, "{}", 404));
  assert.equal(older.code, 1);
  assert.match(older.stderr, /^assay: no response from unix:\S+: status 404 for \/status\n$/);
  const nowhere = await assay("status");
  assert.equal(nowhere.code, 1);
  assert.match(nowhere.stderr, /^assay: no operator listener: .*\n$/);
});

test("stops reading an endless response after 15 s or 1 MiB", { timeout: 60_000 }, async (t) => {
  const path = join(tmpdir(), `assay-endless-${process.pid}.sock`);
  let [piece, everyMs] = [" ", 1_000];
  const server = createServer((_, answer) => {
    answer.writeHead(200);
    const timer = setInterval(() => answer.write(piece), everyMs);
    answer.on("close", () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  t.after(() => server.close());
  const slow = await assay("status", "--operator-listen", `unix:${path}`);
  assert.match(slow.stderr, /^assay: no response from .*: no complete response within 15 s\n$/);
  [piece, everyMs] = ["x".repeat(1 << 19), 10];
  const long = await assay("status", "--operator-listen", `unix:${path}`);
  assert.match(long.stderr, /^assay: no response from .*: the response is longer than 1 MiB\n$/);
  assert.deepEqual([slow.code, long.code], [1, 1]);
});

test("escapes control characters in every part of a status page", () => {
  const page = { ...WELL, version: "1\u001b[2J", engine: { ...WELL.engine, languages: ["c\u009b2J"] } };
  assert.doesNotMatch(statusText(page, NOW).replaceAll("\n", ""), /\p{C}/u);
  const wrongType = { ...WELL, slots: { wanted: "\u001b[2J", alive: 1, busy: 1 } } as unknown as StatusPage;
  assert.doesNotMatch(statusText(wrongType, NOW).replaceAll("\n", ""), /\p{C}/u);
});

test("prints several services one after the other; as JSON, one line each", async (t) => {
  const page = JSON.stringify(WELL);
  const two = ["--operator-listen", await operator(t, page), "--operator-listen", await operator(t, page)];
  assert.equal((await assay("status", ...two)).stdout.match(/^Assay 1\.2\.3/gm)?.length, 2);
  assert.equal((await assay("status", ...two, "--json")).stdout, `${page}\n${page}\n`);
});

test("watch repeats the request, also after a failed one", { timeout: 30_000 }, async (t) => {
  const path = join(tmpdir(), `assay-watch-${process.pid}.sock`);
  const watching = spawn(process.execPath, [MAIN, "status", "--watch", "--operator-listen", `unix:${path}`]);
  t.after(() => watching.kill("SIGKILL"));
  let seen = "";
  const says = async (pattern: RegExp) => {
    for await (const chunk of watching.stdout.iterator({ destroyOnReturn: false })) {
      seen += chunk;
      if (pattern.test(seen)) return;
    }
    assert.fail(`it ended: ${seen}`);
  };
  await says(/no response from/);
  const server = createServer((_, answer) => answer.end(JSON.stringify(WELL)));
  await new Promise<void>((resolve) => server.listen(path, resolve));
  t.after(() => server.close());
  await says(/Assay 1\.2\.3: ready[\s\S]*Assay 1\.2\.3: ready/);
  assert.equal(seen.includes("\u001b"), false, "nothing for a terminal where there is none");
});
