import assert from "node:assert/strict";
import { test } from "node:test";
import { installedLanguages } from "../../../../src/cli/installed-languages.ts";
import { listed } from "../../../../src/languages/load.ts";
import { BROKEN, startTwoTenants } from "../../../support/http/dashboard/two-tenants.ts";

test("lists every language with its commands, limits and examples, available or not", async (t) => {
  const { running, ada } = await startTwoTenants(t);
  running.engine.ready = BROKEN;
  const all = (await ada("GET", "/languages")).json as Record<string, unknown>[];
  assert.deepEqual(
    all.map(({ name, available, detail }) => [name, available, detail]),
    listed(installedLanguages()).map(({ name }) => [
      name,
      ["python", "c"].includes(name),
      name === "rust" ? "its smoke test ended as RE" : "not tested yet",
    ]),
  );
  const python = all.find(({ name }) => name === "python") ?? {};
  const { limits, examples, ...rest } = python;
  assert.deepEqual(rest, {
    name: "python",
    aliases: ["py"],
    version: "Python 3.13",
    available: true,
    detail: "not tested yet",
    compile: null,
    execute: "/usr/bin/python3 main.py",
  });
  const { judge } = limits as { judge: { compile: null; execute: object } };
  assert.deepEqual(
    [judge.compile, Object.keys(judge.execute)],
    [null, ["wallMs", "cpuMs", "memoryBytes", "processes", "fileBytes"]],
  );
  const [hello, echo] = examples as { title: string; verdict: string; code: string; stdin: string }[];
  assert.deepEqual(hello, { title: "Hello", verdict: "AC", code: 'print("hello")\n', stdin: "" });
  assert.equal(echo?.stdin, "a line\nand one without its end");
  assert.notEqual(all.find(({ name }) => name === "rust")?.compile, null);
});
