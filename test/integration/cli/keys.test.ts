import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { command } from "../../support/cli/one-process.ts";
import { assay, dataDirectory } from "../../support/cli/processes.ts";

const isRoot = process.getuid?.() === 0;

test("keys create prints only the key", async (t) => {
  const data = dataDirectory(t);
  const { code, stdout, stderr } = await command("keys", "create", "--name", "n", "--account", "a", "--data", data);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^assay_live_[A-Za-z0-9_-]{32}\n$/);
  assert.equal(stderr, "");
});

test("keys create --json includes the limits; list and revoke find the key", async (t) => {
  const data = dataDirectory(t);
  const limits = ["--rpm", "5", "--concurrency", "2", "--profiles", "judge,agent"];
  const made = JSON.parse((await command("keys", "create", "--name", "n", ...limits, "--json", "--data", data)).stdout);
  assert.match(made.key, /^assay_live_/);
  assert.deepEqual([made.requestsPerMinute, made.concurrency, made.profiles], [5, 2, ["judge", "agent"]]);
  const [listed] = JSON.parse((await command("keys", "list", "--json", "--data", data)).stdout);
  assert.equal(listed.id, made.id);
  assert.equal(JSON.stringify(listed).includes(made.key), false);
  assert.match((await command("keys", "list", "--data", data)).stdout, new RegExp(`${made.prefix}.* n `));
  assert.equal((await command("keys", "revoke", made.key, "--data", data)).code, 0);
  const again = await command("keys", "revoke", made.key, "--data", data);
  assert.deepEqual([again.code, again.stdout], [1, ""]);
  assert.equal(again.stderr, "assay: there is no such live key\n");
});

test("rotates a project's key with an overlap, updates it and lists it", async (t) => {
  const data = ["--data", dataDirectory(t)];
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await command("keys", ...args, "--json", ...data);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  await command("projects", "create", "--name", "shop", "--account", "acme", ...data);
  const profiles = ["--profiles", "judge,agent", "--default-profile", "agent"];
  const first = await json("create", "--name", "n", "--project", "shop", ...profiles);
  assert.deepEqual([first.project, first.account, first.defaultProfile], ["shop", "acme", "agent"]);
  const updated = await json("update", first.prefix, "--rpm", "5", "--default-profile", "judge");
  assert.deepEqual([updated.requestsPerMinute, updated.defaultProfile, "key" in updated], [5, "judge", false]);
  assert.equal((await json("update", first.id, "--rpm", "tier")).requestsPerMinute, null);
  const second = await json("rotate", first.key);
  assert.match(second.key, /^assay_live_/);
  assert.deepEqual(
    [second.replaces, second.project, second.old.id, second.old.state],
    [first.id, "shop", first.id, "live"],
  );
  const overlapMs = Date.parse(second.old.expiresAt) - Date.parse(second.createdAt);
  assert.equal(overlapMs, 24 * 3_600_000, "a day unless told otherwise");
  const { code, stdout, stderr } = await command("keys", "rotate", second.id, "--overlap", "0", ...data);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^assay_live_[A-Za-z0-9_-]{32}\n$/);
  assert.match(stderr, /^the old key assay_live_\S{6}… stops at \S+Z\n$/);
  const listed: { state: string }[] = await json("list", "--project", "shop");
  assert.deepEqual(listed.map(({ state }) => state).toSorted(), ["expired", "live", "live"]);
  const { stdout: table } = await command("keys", "list", ...data);
  assert.match(table, /acme +shop +judge,agent +used never, stops \d{4}-/);
  assert.match(table, / expired \d{4}-/);
});

test("prints the account of a new key or project if the command names no account", async (t) => {
  const data = ["--data", dataDirectory(t)];
  const note = /^note: joined the existing account shop, .*\n$/;
  const made = (name: string) => new RegExp(`^note: created the account ${name}; .* --account selects\n$`);
  const steps: [string[], RegExp][] = [
    [["keys", "create", "--name", "shop"], made("shop")],
    [["projects", "create", "--name", "shop"], note],
    [["keys", "create", "--name", "shop"], note],
    [["keys", "create", "--name", "shop", "--account", "shop"], /^$/],
    [["keys", "create", "--name", "shop", "--project", "shop"], /^$/],
    [["projects", "create", "--name", "fresh"], made("fresh")],
  ];
  for (const [args, expected] of steps) {
    const { code, stdout, stderr } = await command(...args, ...data);
    assert.equal(code, 0, stderr);
    assert.match(stderr, expected, args.join(" "));
    assert.match(stdout, /^\S+\n$/);
  }
});

test("prints a list in pages, and the command for the next page on stderr", async (t) => {
  const data = ["--data", dataDirectory(t)];
  for (const name of ["a", "b", "c"]) await command("keys", "create", "--name", name, "--account", name, ...data);
  const names = async (...args: string[]) => {
    const { stdout, stderr } = await command("keys", "list", "--json", ...args, ...data);
    const rows: { id: string; name: string }[] = JSON.parse(stdout);
    return { names: rows.map(({ name }) => name), last: rows.at(-1)?.id ?? "", stderr };
  };
  const first = await names("--limit", "2");
  assert.deepEqual(first.names, ["c", "b"]);
  assert.equal(first.stderr, `note: there may be more: --after ${first.last}\n`);
  const second = await names("--limit", "2", "--after", first.last);
  assert.deepEqual([second.names, second.stderr], [["a"], ""]);
  assert.deepEqual((await names("--account", "b")).names, ["b"]);
  const { code, stderr } = await command("keys", "list", "--after", "none", ...data);
  assert.deepEqual([code, stderr], [1, "assay: unknown id none\n"]);
});

test("several first commands at once create one database", async (t) => {
  const data = dataDirectory(t);
  const all = await Promise.all(["a", "b", "c"].map((name) => assay("keys", "create", "--name", name, "--data", data)));
  assert.deepEqual(
    all.map(({ code }) => code),
    [0, 0, 0],
  );
  assert.equal(JSON.parse((await command("keys", "list", "--json", "--data", data)).stdout).length, 3);
});

test("files created by root's commands belong to the service, without access for others", {
  skip: !isRoot && "needs root",
}, async (t) => {
  const data = dataDirectory(t);
  await assay("keys", "create", "--name", "n", "--data", data);
  const directory = join(data, "db");
  const owner = statSync(directory).uid;
  for (const name of readdirSync(directory)) {
    const { uid, mode } = statSync(join(directory, name));
    assert.equal(uid, owner, name);
    assert.equal(mode & 0o077, 0, name);
  }
});

test("a wrong option prints one sentence and fails", async (t) => {
  const data = dataDirectory(t);
  const wrong = [
    ["create"],
    ["create", "--name", ""],
    ["create", "--name", "n", "--rpm", "0"],
    ["create", "--name", "n", "--rpm", "x"],
    ["create", "--name", "n", "--profiles", "root"],
    ["create", "--name", "n", "--default-profile", "agent"],
    ["create", "--name", "n", "--project", "none"],
    ["update", "none", "--rpm", "5"],
    ["rotate", "none"],
    ["rotate", "none", "--overlap", "soon"],
    ["destroy"],
  ];
  for (const args of wrong) {
    const { code, stdout, stderr } = await command("keys", ...args, ...(args[0] === "destroy" ? [] : ["--data", data]));
    assert.notEqual(code, 0, args.join(" "));
    assert.equal(stdout, "", args.join(" "));
    assert.doesNotMatch(stderr, /\n +at /, args.join(" "));
  }
});
