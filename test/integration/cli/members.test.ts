import assert from "node:assert/strict";
import { test } from "node:test";
import { command } from "../../support/cli/one-process.ts";
import { dataDirectory } from "../../support/cli/processes.ts";

const LINK = /^https:\/\/127\.0\.0\.1:8443\/dashboard\/welcome#[A-Za-z0-9_-]{43}\n$/;

test("members link prints a new link until there is a member; invite and reset print links", async (t) => {
  const data = ["--data", dataDirectory(t)];
  const ok = async (...args: string[]) => {
    const { code, stdout, stderr } = await command("members", ...args, ...data);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  assert.match(await ok("link"), LINK);
  assert.match(
    await ok("link", "--if-empty", "--origin", "https://judge.example.com/x"),
    /^https:\/\/judge\.example\.com\/dashboard\/welcome#/,
  );
  assert.equal(await ok("list"), "ID  E-MAIL  NAME  MAY SEE  SIGNS IN WITH  SEEN  STATE\n");
  const made = JSON.parse(await ok("invite", "Ada@Example.com", "--administrator", "--json"));
  assert.match(`${made.url}\n`, LINK);
  assert.ok(Date.parse(made.expiresAt) > Date.now());

  for (const [args, why] of [
    [["invite", "bob@example.com"], /a member needs an account/],
    [["invite", "bob@example.com", "--account", "never-was"], /there is no account never-was/],
    [["invite", "no address", "--administrator"], /is not an e-mail address/],
    [["reset", "bob@example.com"], /there is no person bob@example.com/],
    [["disable", "bob@example.com"], /there is no person/],
    [["link", "--origin", "judge.example.com"], /--origin must be like https:/],
  ] as const) {
    const { code, stdout, stderr } = await command("members", ...args, ...data);
    assert.deepEqual([code, stdout], [1, ""], args.join(" "));
    assert.match(stderr, why);
  }
});
