import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openStore } from "../../../src/store/open.ts";
import { command } from "../../support/cli/one-process.ts";
import { dataDirectory } from "../../support/cli/processes.ts";

test("an operator sets, shows, lists and removes what sandboxes may reach, and the audit trail has it", async (t) => {
  const directory = dataDirectory(t);
  const data = ["--data", directory];
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await command(...args, "--json", ...data);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  const fails = async (message: RegExp, ...args: string[]) => {
    const { code, stdout, stderr } = await command(...args, ...data);
    assert.deepEqual([code === 0, stdout], [false, ""], stderr);
    assert.match(stderr, message);
  };
  await json("accounts", "create", "--name", "acme");
  await json("projects", "create", "--name", "shop", "--account", "acme");
  const closed = await json("network", "show", "--account", "acme");
  assert.deepEqual([closed.bound, closed.effective], [null, "none"]);
  // A project is within its account.
  await fails(
    /no network is open for the account/,
    "network",
    "set",
    "--project",
    "shop",
    "--allow",
    "a.example.org:443",
  );
  const rules = ["--allow", "*.example.org:80,443", "--allow", "203.0.113.0/24:5432", "--allow", "2001:db8::/32:443"];
  const budgets = ["--bytes-up", "17179869184", "--connections", "8", "--bytes-up-per-day", "1125899906842624"];
  assert.deepEqual(await json("network", "set", "--account", "acme", ...rules, ...budgets), { narrowed: 0 });
  const { bound, effective, today } = await json("network", "show", "--account", "acme");
  assert.deepEqual(bound.policy.allow, [
    { host: "*.example.org", ports: [80, 443] },
    { cidr: "203.0.113.0/24", ports: [5432] },
    { cidr: "2001:db8::/32", ports: [443] },
  ]);
  const { policy, bytes_up_per_day, bytes_down_per_day, version } = bound;
  assert.deepEqual([policy.bytes_up, policy.connections], [2 ** 34, 8]);
  assert.deepEqual([bytes_up_per_day, bytes_down_per_day, version], [2 ** 50, null, 1]);
  assert.deepEqual(effective, policy);
  assert.deepEqual([today.bytes_up_left, today.bytes_down_left], [2 ** 50, null]);
  // What show prints can be changed and set.
  const file = join(directory, "bound.json");
  writeFileSync(file, JSON.stringify({ ...bound, policy: { allow: [{ host: "a.example.org", ports: [443] }] } }));
  await json("network", "set", "--project", "shop", "--file", file);
  const project = await json("network", "show", "--project", "shop", "--account", "acme");
  assert.deepEqual(project.effective.allow, [{ host: "a.example.org", ports: [443] }]);
  await fails(
    /within that of the account: port 443 of evil\.net/,
    "network",
    "set",
    "--project",
    "shop",
    "--allow",
    "evil.net:443",
  );
  const listed = await json("network", "list");
  assert.deepEqual(
    listed.map((one: { account: string; project: string }) => [one.account, one.project]),
    [
      ["acme", null],
      ["acme", "shop"],
    ].sort(),
  );
  await json("network", "clear", "--project", "shop");
  assert.equal((await json("network", "show", "--project", "shop")).bound, null);
  await json("network", "clear", "--account", "acme");
  assert.equal((await json("network", "show", "--project", "shop")).effective, "none");
  const trail: { action: string; actor: string }[] = await json("audit", "list", "--limit", "4");
  assert.deepEqual(
    trail.map(({ action, actor }) => `${actor} ${action}`),
    ["cli network.clear", "cli network.clear", "cli network.set", "cli network.set"],
  );
  for (const [message, ...args] of [
    [/allow\[0\]\.host: "\*" is not a rule/, "set", "--account", "acme", "--allow", "*:443"],
    [/must be HOST:PORT/, "set", "--account", "acme", "--allow", "example.org"],
    [/must be HOST:PORT/, "set", "--account", "acme", "--allow", "example.org:https"],
    [/say what sandboxes may reach/, "set", "--account", "acme"],
    [/cannot be used with/, "set", "--account", "acme", "--allow", "a.example.org:443", "--file", file],
    [/name an account or a project/, "show"],
    [/nobody/, "show", "--account", "nobody"],
    [/no such file/, "set", "--account", "acme", "--file", "/nowhere"],
    [/is no day/, "hosts", "--account", "acme", "--from", "2026-02-30"],
  ] as const)
    await fails(message, "network", ...args);
});

test("lists of hosts have pages, and names that programs chose cannot move the cursor of a terminal", async (t) => {
  const directory = dataDirectory(t);
  const data = ["--data", directory];
  assert.equal((await command("accounts", "create", "--name", "acme", ...data)).code, 0);
  const store = await openStore({ database: { kind: "sqlite", path: join(directory, "db", "assay.sqlite") } });
  const [account] = await store.accounts.list();
  assert.ok(account);
  const sums = { connections: 1, bytes_up: 2, bytes_down: 3 };
  await store.egress.addHosts({
    accountId: account.id,
    projectId: null,
    hosts: [
      { name: "a.example.org", decision: "allowed", ...sums },
      { name: "b.example.org", decision: "denied", ...sums },
      { name: "\u001b[2J.example.org", decision: "denied", ...sums },
    ],
  });
  await store.close();
  const first = await command("network", "hosts", "--account", "acme", "--limit", "2", ...data);
  assert.equal(first.code, 0, first.stderr);
  assert.match(
    first.stdout,
    /^DAY +DECISION +NAME .*\n.*denied +\(others\) .*\n.*allowed +a\.example\.org +1 +2 +3\n$/,
  );
  const [, after = ""] = /--after "(.*)"/.exec(first.stderr) ?? [];
  const second = await command("network", "hosts", "--account", "acme", "--after", after, "--json", ...data);
  assert.deepEqual(
    JSON.parse(second.stdout).map(({ name }: { name: string }) => name),
    ["b.example.org"],
  );
});
