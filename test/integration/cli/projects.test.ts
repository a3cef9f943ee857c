import assert from "node:assert/strict";
import { test } from "node:test";
import { command } from "../../support/cli/one-process.ts";
import { dataDirectory } from "../../support/cli/processes.ts";

test("creates, changes and lists accounts, projects and tiers, first on an empty data directory", async (t) => {
  const data = ["--data", dataDirectory(t)];
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await command(...args, "--json", ...data);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  assert.deepEqual(await json("accounts", "list"), []);
  assert.deepEqual(await json("tiers", "set", "large", "--rpm", "600", "--concurrency", "50"), {
    name: "large",
    requestsPerMinute: 600,
    concurrency: 50,
  });
  const account = await json("accounts", "create", "--name", "acme", "--tier", "large");
  assert.deepEqual([account.name, account.tier, account.requestsPerMinute], ["acme", "large", 600]);
  const project = await json("projects", "create", "--name", "shop", "--account", "acme");
  assert.deepEqual([project.name, project.account, project.archivedAt], ["shop", "acme", null]);
  assert.equal((await json("accounts", "set-tier", "acme", "beta")).tier, "beta");
  assert.equal((await json("projects", "rename", "shop", "store")).id, project.id);
  assert.notEqual((await json("projects", "archive", "store")).archivedAt, null);
  assert.equal((await json("projects", "restore", project.id)).archivedAt, null);
  assert.deepEqual(await json("projects", "list"), [{ ...project, name: "store" }]);
  assert.deepEqual(
    (await json("tiers", "list")).map(({ name }: { name: string }) => name),
    ["beta", "large"],
  );
  const trail: { action: string; actor: string }[] = await json("audit", "list", "--limit", "3");
  assert.deepEqual(
    trail.map(({ action, actor }) => `${actor} ${action}`),
    ["cli project.restore", "cli project.archive", "cli project.rename"],
  );
});

test("without --json, prints a table, or the one value that a script needs", async (t) => {
  const data = ["--data", dataDirectory(t)];
  const { stdout: id } = await command("projects", "create", "--name", "shop", ...data);
  assert.match(id, /^[0-9a-f-]{36}\n$/);
  const { stdout: account } = await command("accounts", "create", "--name", "acme", ...data);
  assert.match(account, /^[0-9a-f-]{36}\n$/);
  const shown: [string, RegExp][] = [
    ["projects", /^ID +NAME +ACCOUNT +CREATED +STATE\n[0-9a-f-]{36} +shop +shop +\S+ +open\n$/],
    ["accounts", /^ID +NAME +TIER +RPM +CONCURRENCY +CREATED +STATE\n[0-9a-f-]{36} +shop +beta +60 +10 /],
    ["tiers", /^NAME +RPM +CONCURRENCY +SANDBOXES\nbeta +60 +10 +10\n$/],
    ["audit", /^AT +ACTOR +ACTION +SUBJECT +ACCOUNT +ADDRESS +DETAIL\n\S+ +cli +account\.create +\S+ +acme +- +\{/],
  ];
  for (const [noun, expected] of shown) assert.match((await command(noun, "list", ...data)).stdout, expected);
});

test("a mistake prints one sentence, fails and changes nothing", async (t) => {
  const data = ["--data", dataDirectory(t)];
  const refused: [string[], RegExp][] = [
    [["projects", "create"], /required option '--name <name>'/],
    [["projects", "create", "--name", ""], /^assay: the name must have/],
    [["projects", "archive", "none"], /^assay: there is no project none\n$/],
    [["accounts", "create", "--name", "a", "--tier", "none"], /^assay: there is no tier none; there are beta\n$/],
    [["accounts", "set-tier", "none", "beta"], /^assay: there is no account none\n$/],
    [["accounts", "erase", "none", "--yes"], /^assay: there is no account none\n$/],
    [["accounts", "erase", "shop"], /--yes/],
    [["tiers", "set", "beta", "--rpm", "0", "--concurrency", "1"], /^assay: requests per minute must be/],
    [["tiers", "set", "beta", "--rpm", "1"], /required option '--concurrency <number>'/],
    [["audit", "list", "--limit", "0"], /^assay: from 1 to 10000 entries can be listed\n$/],
    [["projects", "destroy"], /unknown command|too many arguments/],
  ];
  for (const [args, expected] of refused) {
    const { code, stdout, stderr } = await command(...args, ...(args[1] === "destroy" ? [] : data));
    assert.notEqual(code, 0, args.join(" "));
    assert.equal(stdout, "", args.join(" "));
    assert.match(stderr, expected, args.join(" "));
  }
  assert.deepEqual(JSON.parse((await command("audit", "list", "--json", ...data)).stdout), []);
});
