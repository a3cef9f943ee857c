import assert from "node:assert/strict";
import { test } from "node:test";
import { type EgressHost, egressSchema } from "../../../src/domain/egress/egress-record.ts";
import { addToSums, EgressLog, type ExecutionNumber } from "../../../src/egress/log.ts";

const NOW = { policyVersion: 3, budgetLeft: { up: 5, down: 6 } };
const record = (log: EgressLog, execution: ExecutionNumber = 1) => egressSchema.parse(log.toRecord(execution, NOW));
const attempt = (name: string | null, execution: ExecutionNumber = 1) => ({
  execution,
  name,
  address: "198.18.1.0",
  port: 443,
});

test("a record is valid and empty before anything happened", () => {
  assert.deepEqual(record(new EgressLog()), {
    policy_version: 3,
    bytes_up: 0,
    bytes_down: 0,
    budget_left: { up: 5, down: 6 },
    connections: [],
    more: [],
    denied: 0,
    refused_names: [],
    dns: { answered: 0, refused: 0 },
    complete: true,
    source: "inet_diag cgroup id",
  });
});

test("lists connections in the order in which they began, with their bytes of now", () => {
  const log = new EgressLog(() => Date.UTC(2030, 0, 2, 3, 4, 5, 6));
  const [first, second] = [log.connection(attempt("a.example.org")), log.connection(attempt("b.example.org"))];
  first.allowed("*.example.org");
  first.dialed("93.184.215.14");
  second.deny("b.example.org is not allowed", "policy");
  first.moved(10, 0);
  first.moved(0, 200);
  const listed = {
    at: "2030-01-02T03:04:05.006Z",
    name: "a.example.org",
    address: "93.184.215.14",
    port: 443,
    decision: "allowed",
    rule: "*.example.org",
    reason: null,
    bytes_up: 10,
    bytes_down: 200,
    ended: null,
  };
  const denied = {
    ...listed,
    name: "b.example.org",
    address: "198.18.1.0",
    decision: "denied",
    rule: null,
    reason: "b.example.org is not allowed",
    bytes_up: 0,
    bytes_down: 0,
  };
  const before = record(log);
  assert.deepEqual(before.connections, [listed, denied]);
  assert.deepEqual([before.bytes_up, before.bytes_down, before.denied], [10, 200, 1]);
  first.moved(1, 1);
  first.end("budget", "used up");
  first.end("client");
  first.deny("too late", "request");
  assert.deepEqual(record(log).connections[0], {
    ...listed,
    bytes_up: 11,
    bytes_down: 201,
    ended: "budget",
    reason: "used up",
  });
  assert.equal(record(log).denied, 1);
  assert.deepEqual(before.connections, [listed, denied], "a record does not change");
});

test("after 1,000 connections, there are sums by name and decision, and totals stay exact", () => {
  const log = new EgressLog();
  const connect = (name: string, isAllowed: boolean) => {
    const connection = log.connection(attempt(name));
    connection.moved(1, 2);
    if (isAllowed) connection.end("server");
    else connection.deny("no", "policy");
  };
  for (let at = 0; at < 1_000; at++) connect(`first${at}.example.org`, true);
  assert.equal(record(log).more.length, 0);
  for (let at = 0; at < 5; at++) connect("a.example.org", true);
  for (let at = 0; at < 3; at++) connect("a.example.org", false);
  const { connections, more, bytes_up, bytes_down, denied } = record(log);
  assert.equal(connections.length, 1_000);
  assert.deepEqual(more, [
    { name: "a.example.org", decision: "allowed", connections: 5, bytes_up: 5, bytes_down: 10 },
    { name: "a.example.org", decision: "denied", connections: 3, bytes_up: 3, bytes_down: 6 },
  ]);
  assert.deepEqual([bytes_up, bytes_down, denied], [1_008, 2_016, 3]);
});

test("sums and refused names are bounded, also for names without end", () => {
  const log = new EgressLog();
  for (let at = 0; at < 5_000; at++) {
    log
      .connection({ execution: 1, name: null, address: `2001:db8::${at.toString(16)}`, port: 443 })
      .deny("no", "policy");
    log.refusedName(1, `n${at}.evil.test`);
    log.refusedName(1, "often.evil.test");
  }
  const { connections, more, refused_names: names, dns, denied } = record(log);
  assert.equal(connections.length, 1_000);
  assert.ok(more.length <= 1_002);
  assert.equal(
    more.reduce((sum, row) => sum + row.connections, 0),
    4_000,
  );
  assert.equal(more.find(({ name }) => name === null)?.connections, 3_000);
  assert.equal(denied, 5_000);
  assert.equal(names.length, 1_000);
  assert.equal(names.find(({ name }) => name === "often.evil.test")?.queries, 5_000);
  assert.deepEqual(dns, { answered: 0, refused: 10_000 });
});

test("executions have records of their own, until they are forgotten", () => {
  const log = new EgressLog();
  log.connection(attempt("a.example.org", 1)).moved(1, 0);
  const second = log.connection(attempt("a.example.org", 2));
  log.connection(attempt("a.example.org", null)).moved(4, 0);
  log.answeredName(2);
  second.moved(2, 0);
  assert.deepEqual(
    [1, 2, null].map((execution) => record(log, execution).bytes_up),
    [1, 2, 4],
  );
  assert.deepEqual(
    [1, null].map((execution) => record(log, execution).source),
    ["inet_diag cgroup id", "sandbox"],
  );
  assert.equal(record(log, 2).dns.answered, 1);
  log.forget(2);
  assert.deepEqual(record(log, 2).connections, []);
  const rest = record(log, null);
  assert.equal(rest.connections.at(-1)?.bytes_up, 0);
  second.moved(8, 0);
  second.end("client");
  const after = record(log, null);
  assert.deepEqual(
    after.connections.map(({ bytes_up, ended }) => [bytes_up, ended]),
    [
      [4, null],
      [8, "client"],
    ],
    "goes on in the background, as a part of the sandbox",
  );
  assert.equal(after.bytes_up, 12);
  assert.equal(record(log, 1).bytes_up, 1);
});

test("sums of the whole sandbox have every connection once, also those whose execution is forgotten", () => {
  const log = new EgressLog();
  const open = log.connection(attempt("a.example.org", 1));
  open.allowed("a.example.org");
  open.dialed("93.184.215.14");
  open.moved(1, 2);
  log.connection(attempt("b.example.org", 1)).deny("no", "policy");
  log.answeredName(1);
  log.refusedName(2, "evil.test");
  log.forget(1);
  open.moved(10, 20);
  const host = { name: "a.example.org", decision: "allowed", connections: 1, bytes_up: 11, bytes_down: 22 };
  const denied = { name: "b.example.org", decision: "denied", connections: 1, bytes_up: 0, bytes_down: 0 };
  assert.deepEqual(log.totals, {
    bytes_up: 11,
    bytes_down: 22,
    denied: 1,
    dns: { answered: 1, refused: 1 },
    hosts: [denied, host],
  });
  open.end("client");
  assert.deepEqual(log.totals.hosts, [denied, host]);
});

test("hosts can be taken piece by piece, and the pieces add up to the sums", () => {
  const log = new EgressLog();
  const taken = new Map<string, EgressHost>();
  const take = () => {
    const fresh = log.takeHosts();
    for (const one of fresh) addToSums(taken, one);
    return fresh.length;
  };
  assert.equal(take(), 0);
  const [open, changed] = [log.connection(attempt("a.example.org")), log.connection(attempt("b.example.org"))];
  open.dialed("93.184.215.14");
  changed.moved(5, 0); // its name, before it is known to which address it leads
  assert.equal(take(), 0, "both can still be denied");
  open.moved(1, 2);
  assert.equal(take(), 1);
  assert.equal(take(), 0);
  changed.deny("a private address", "address");
  open.moved(3, 4);
  log.forget(1);
  open.moved(5, 6);
  assert.equal(take(), 2);
  open.end("server");
  assert.equal(take(), 0);
  assert.deepEqual(
    [...taken.values()].toSorted((a, b) => (a.name ?? "").localeCompare(b.name ?? "")),
    [
      { name: "a.example.org", decision: "allowed", connections: 1, bytes_up: 9, bytes_down: 12 },
      { name: "b.example.org", decision: "denied", connections: 1, bytes_up: 5, bytes_down: 0 },
    ],
  );
  for (let at = 0; at < 3_000; at++) log.connection(attempt(`n${at}.example.org`)).deny("no", "policy");
  const many = log.takeHosts();
  assert.ok(many.length <= 1_002, `${many.length} hosts`);
  assert.equal(
    many.reduce((sum, one) => sum + one.connections, 0),
    3_000,
  );
  assert.ok(log.totals.hosts.length <= 1_002);
});

test("an observer is told how each connection ended, once, and each byte", () => {
  const seen: unknown[] = [];
  const log = new EgressLog(Date.now, {
    over: (how) => seen.push(how),
    moved: (up, down) => seen.push([up, down]),
  });
  const first = log.connection(attempt("a.example.org"));
  first.moved(1, 2);
  first.end("idle");
  first.end("client");
  log.connection(attempt("a.example.org")).deny("no", "request");
  assert.deepEqual(seen, [[1, 2], "idle", "denied_request"]);
});
