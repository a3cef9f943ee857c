import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { openStore } from "../../../src/store/open.ts";
import { command } from "../../support/cli/one-process.ts";
import { dataDirectory, MAIN } from "../../support/cli/processes.ts";
import { DMOJ, PACKAGES, type PackageTexts } from "../../support/problems/packages.ts";

const LIMIT = { timeout: 60_000 };

function directory(t: TestContext, files: Readonly<Record<string, string | Buffer>>, name = "sum"): string {
  const root = mkdtempSync(join(tmpdir(), "assay-package-"));
  chmodSync(root, 0o755); // for commands that have become the user of the service
  t.after(() => rmSync(root, { recursive: true }));
  for (const [path, data] of Object.entries(files)) {
    const full = join(root, name, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, data);
  }
  return join(root, name);
}

/** Both halves of `./assay problems import`, as setup/command-admin.sh joins them. */
async function imported(data: string, path: string, ...flags: string[]) {
  const common = [MAIN, "problems", "import", path, "--account", "shop", "--data", data, ...flags];
  const reads = spawn(process.execPath, common);
  const stores = spawn(process.execPath, [...common, "--packed"]);
  stores.once("close", () => reads.stdout.destroy());
  reads.stdout.pipe(stores.stdin);
  stores.stdin.on("error", () => {});
  const ended = (child: typeof reads) => new Promise<number | null>((resolve) => child.once("close", resolve));
  const [codes, out, errors] = await Promise.all([
    Promise.all([ended(reads), ended(stores)]),
    text(stores.stdout),
    Promise.all([text(reads.stderr), text(stores.stderr)]),
  ]);
  return { codes, out, errors };
}

async function fixture(t: TestContext) {
  const data = dataDirectory(t);
  assert.equal((await command("accounts", "create", "--name", "shop", "--data", data)).code, 0);
  return data;
}

test("a package is stored, listed and deleted", LIMIT, async (t) => {
  const data = await fixture(t);
  const path = directory(t, PACKAGES.sum);
  const first = await imported(data, path, "--time-limit", "1.5");
  assert.deepEqual(first.codes, [0, 0], first.errors.join());
  assert.match(first.out, /^[0-9a-f-]{36}: version 1 of sum, 3 tests, time limit 1\.5 s\n$/);
  const again = await imported(data, path, "--time-limit", "1.5", "--json");
  const { id, isNew, timeLimitSecs } = JSON.parse(again.out);
  assert.deepEqual([isNew, timeLimitSecs], [false, 1.5]);
  const listed = JSON.parse((await command("problems", "list", "--account", "shop", "--json", "--data", data)).stdout);
  assert.deepEqual(
    listed.map((one: Record<string, unknown>) => [one.id, one.name, one.version, one.tests]),
    [[id, "sum", 1, 3]],
  );
  const table = await command("problems", "list", "--account", "shop", "--data", data);
  assert.match(table.stdout, /ID +NAME +VERSION +TESTS +MIB +UPDATED +FAULTS +TITLE\n.*sum.* 0 +Sum of two\n/);
  assert.equal((await command("problems", "delete", "sum", "--account", "shop", "--data", data)).code, 0);
  const gone = await command("problems", "delete", "sum", "--account", "shop", "--data", data);
  assert.deepEqual([gone.code, gone.stderr], [1, "assay: there is no problem sum in this account\n"]);
  const audit = await command("audit", "list", "--json", "--data", data);
  assert.match(audit.stdout, /problem\.import/);
  assert.match(audit.stdout, /problem\.delete/);
});

test("a package with faults is stored only with --allow-faults, and the list has its faults", LIMIT, async (t) => {
  const data = await fixture(t);
  const path = directory(t, { "init.yml": "checker: near.py\ntest_cases: [{in: a, out: a}]\n", a: "1\n" }, "near");
  const refused = await imported(data, path, "--time-limit", "1");
  assert.deepEqual(refused.codes, [1, 1]);
  assert.match(refused.errors.join(), /near\.py is not in the package/);
  const stored = await imported(data, path, "--allow-faults");
  assert.deepEqual(stored.codes, [0, 0], stored.errors.join());
  const fault = "near is faulty: init.yml:2: checker: near.py is not in the package\n";
  assert.match(stored.out, /^[0-9a-f-]{36}: version 1 of near, 1 tests, the time limit of the profile\n/);
  assert.ok(stored.out.endsWith(`\n${fault}`), stored.out);
  const listed = await command("problems", "list", "--account", "shop", "--data", data);
  assert.ok(listed.stdout.endsWith(`\n${fault}`), listed.stdout);
  const json = await command("problems", "list", "--account", "shop", "--json", "--data", data);
  assert.deepEqual(JSON.parse(json.stdout)[0].faults, ["init.yml:2: checker: near.py is not in the package"]);
});

test("the tests of a package arrive as they are, also those that it has twice", LIMIT, async (t) => {
  const data = await fixture(t);
  const contents = [randomBytes(3_000_000), Buffer.from("\n"), randomBytes(100), randomBytes(3_000_000)];
  const files: Record<string, string | Buffer> = {
    "problem.yaml": "name: X\nvalidation: custom\n", // for answers that are longer than an output
    "output_validators/accept.py": "raise SystemExit(42)\n",
  };
  const order = [0, 1, 2, 0, 3, 1];
  for (const [at, content] of order.entries()) {
    files[`data/secret/${at}.in`] = contents[content] as Buffer;
    files[`data/secret/${at}.ans`] = contents[order[order.length - 1 - at] ?? 0] as Buffer;
  }
  const { codes, errors, out } = await imported(data, directory(t, files, "x"), "--time-limit", "1");
  assert.deepEqual(codes, [0, 0], errors.join());
  assert.match(out, /6 tests/);
  const store = await openStore({ database: { kind: "sqlite", path: join(data, "db", "assay.sqlite") } });
  try {
    const lines: string[] = [];
    await store.backup(async (line) => void lines.push(line));
    const stored = lines.flatMap((line) => (/"base64":"([^"]*)"/.exec(line) ?? []).slice(1));
    const isValidator = (content: string) => Buffer.from(content, "base64").includes("accept.py");
    assert.equal(stored.filter(isValidator).length, 1);
    const ofTests = stored.filter((content) => !isValidator(content));
    assert.deepEqual(ofTests.sort(), contents.map((content) => content.toString("base64")).sort());
  } finally {
    await store.close();
  }
});

test("a fault of the package is said once, and nothing is stored", LIMIT, async (t) => {
  const data = await fixture(t);
  const cases: [PackageTexts, string[], string][] = [
    [
      PACKAGES.sum,
      [],
      "assay: the package: has no time limit: give --time-limit or, in its problem.yaml, limits.time_limit\n",
    ],
    [{ "problem.yaml": "a: [" }, ["--time-limit", "1"], "assay: problem.yaml:1: "],
    [PACKAGES.sum, ["--time-limit", "1", "--name", "a b"], 'assay: name: "a b" is not'],
  ];
  for (const [files, flags, message] of cases) {
    const { codes, errors, out } = await imported(data, directory(t, files), ...flags);
    assert.deepEqual([codes, out], [[1, 1], ""]);
    assert.ok(errors[0]?.startsWith(message), errors[0]);
    assert.equal(errors[1], "");
  }
  assert.equal((await command("problems", "list", "--account", "shop", "--json", "--data", data)).stdout, "[]\n");
  const unknown = await command("problems", "list", "--account", "none", "--data", data);
  assert.deepEqual([unknown.code, unknown.stderr], [1, "assay: there is no account none\n"]);
});

test("set-up learns whether a package needs a launcher", LIMIT, async (t) => {
  const withoutSubmissions = Object.entries(PACKAGES.sum).filter(([path]) => !path.startsWith("submissions/"));
  const cases: [PackageTexts, string[], number, RegExp][] = [
    [PACKAGES.sum, [], 3, /^assay: the package has no time limit, .*; otherwise give --time-limit or, .*\n$/],
    [PACKAGES.sum, ["--time-limit", "1"], 0, /^$/],
    [PACKAGES.factors, [], 0, /^$/],
    [Object.fromEntries(withoutSubmissions), [], 1, /has no time limit, and no submissions to measure: give --time-l/],
    [DMOJ, [], 1, /has no time limit, and no submissions to measure/],
    [{ "problem.yaml": "a: [" }, [], 1, /^assay: problem.yaml:1: /],
  ];
  for (const [files, flags, code, said] of cases) {
    const ended = await command("problems", "import", directory(t, files), "--account", "shop", ...flags, "--probe");
    assert.deepEqual([ended.code, ended.stdout], [code, ""], ended.stderr);
    assert.match(ended.stderr, said);
  }
});

test("a package that is cut off on its way is not stored", LIMIT, async (t) => {
  const data = await fixture(t);
  const path = directory(t, PACKAGES.factors, "factors");
  const reads = spawn(process.execPath, [MAIN, "problems", "import", path, "--account", "shop"]);
  const whole = await buffer(reads.stdout);
  for (const length of [10, whole.length - 1]) {
    const stores = spawn(process.execPath, [
      MAIN,
      "problems",
      "import",
      path,
      "--account",
      "shop",
      "--data",
      data,
      "--packed",
    ]);
    stores.stdin.end(whole.subarray(0, length));
    const said = text(stores.stderr);
    const code = await new Promise((resolve) => stores.once("close", resolve));
    assert.deepEqual([code, await said], [1, "assay: the package is cut off\n"]);
  }
  assert.equal((await command("problems", "list", "--account", "shop", "--json", "--data", data)).stdout, "[]\n");
});
