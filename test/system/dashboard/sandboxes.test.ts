import assert from "node:assert/strict";
import { test } from "node:test";
import { MemorySandboxes } from "../../support/http/memory-sandboxes.ts";
import { inside } from "./inside.ts";
import { looksGood, pageActions } from "./page-actions.ts";

const MIB = 1_048_576;

test("sandboxes: the list, and a page with executions, output, evidence and changes", async (t) => {
  const { page, club, go, complaints } = await inside(t, { sandboxesOver: (store) => new MemorySandboxes(store) });
  const { button, heading } = pageActions(page);
  const key = await club.running.key({ project: "shop", name: "agent", profiles: ["agent"] });
  const send = async (method: string, path: string, body: object) =>
    (await club.running.ask({ key, method, path: `/api/sandboxes${path}`, body })).json;
  const metadata = { task: "fix the tests", model: "a name that is quite long" };
  await go("/sandboxes");
  await page.getByText("No sandboxes yet").waitFor();
  const { id } = await send("POST", "", { metadata, limits: { memory_bytes: 128 * MIB } });
  await page.getByRole("link", { name: id.slice(0, 8) }).waitFor(); // without a reload
  const other = (await send("POST", "", {})).id;
  await send("DELETE", `/${other}`, {});
  await send("POST", `/${id}/executions`, { shell: "echo \u001b[1;32mok\u001b[0m  3 tests passed" });
  await send("POST", `/${id}/executions`, { argv: ["python3", "-c", "print('x')"], background: true });
  const { number } = await send("POST", `/${id}/executions`, { shell: "cat", open_input: true, background: true });

  await t.test("the list shows states, metadata and why a sandbox ended, and filters by state", async () => {
    const ended = page.getByRole("row").filter({ hasText: other.slice(0, 8) });
    await ended.getByText("a client ended it").waitFor();
    const row = page.getByRole("row").filter({ hasText: id.slice(0, 8) });
    for (const text of ["running", "task=fix the tests", "128 MiB", "agent"])
      await row.getByText(text).first().waitFor();
    await looksGood(page, "sandboxes");
    await page.getByLabel("State").selectOption("paused");
    await page.getByText("No sandbox matches").waitFor();
    await page.getByRole("link", { name: "Show all sandboxes" }).click();
    await page.getByRole("link", { name: id.slice(0, 8) }).click();
    await heading(`Sandbox ${id.slice(0, 8)}`);
  });

  await t.test("the page shows the use, and the executions with their verdicts", async () => {
    const use = page.getByRole("listitem");
    await use.filter({ hasText: "Memory" }).getByText("1 B of 128 MiB").waitFor();
    await use.filter({ hasText: "Processes" }).getByText("4 of 256").waitFor();
    const rows = page.getByRole("table", { name: "Executions, newest first" }).getByRole("row");
    assert.equal(await rows.count(), 4);
    await rows.filter({ hasText: "3 tests passed" }).getByText("AC").waitFor();
    await rows.filter({ hasText: "python3 -c 'print('\\''x'\\'')'" }).getByText("running").waitFor();
    await page.getByRole("figure", { name: "Timeline of the executions" }).getByText("after the start").waitFor();
    await page.getByRole("figure").filter({ hasText: "Memory: at most 32 MiB of 128 MiB" }).waitFor();
    await page.getByRole("cell", { name: "pid_namespace" }).waitFor();
  });

  await t.test("an execution has its output, while it runs and after it", async () => {
    await button("Show execution 1").click();
    const first = page.getByRole("region", { name: "Execution 1" });
    await first
      .locator(".cm-line")
      .filter({ hasText: "ok 3 tests passed".slice(0, 2) })
      .first()
      .waitFor();
    await first.getByText("Limits and evidence of this execution").click();
    await first.getByRole("table", { name: "Evidence" }).waitFor();
    await looksGood(page, "sandbox");
    await button(`Show execution ${number}`).click();
    const running = page.getByRole("region", { name: `Execution ${number}` });
    await running.getByText("No output yet.").waitFor();
    await club.running.ask({
      ...{ key, method: "POST", path: `/api/sandboxes/${id}/executions/${number}/input`, body: Buffer.from("live\n") },
      headers: { "content-type": "application/octet-stream" },
    });
    await running.locator(".cm-line").filter({ hasText: "live" }).waitFor();
    await send("POST", `/${id}/executions/${number}/signal`, { signal: "SIGTERM" });
    await running.getByText("exit code 0").waitFor();
    await button("Close").click();
    await running.waitFor({ state: "detached" });
  });

  await t.test("a person pauses, resumes and ends the sandbox, each after a question", async () => {
    for (const [verb, text] of [
      ["Pause", "Its programs are frozen."],
      ["Resume", "running"],
      ["End", "a client ended it."],
    ] as const) {
      await button(verb).click();
      await button(`${verb} sandbox`).click();
      await page.getByRole("status").getByText(text).waitFor();
    }
    assert.equal(await button("End").count(), 0);
    await page.getByRole("heading", { name: "Evidence of the box and its teardown" }).waitFor();
    await page.getByText("the sandbox ended: a client ended it").waitFor();
    assert.equal(await page.getByRole("heading", { name: "Terminal" }).count(), 0);
    assert.equal(await page.getByRole("heading", { name: "Files" }).count(), 0);
    await page.reload();
    await page.getByRole("figure").filter({ hasText: "Memory: at most 32 MiB of 128 MiB" }).waitFor();
    assert.deepEqual(complaints, []);
  });
});

test("without sandboxes, the navigation has no entry, and the page says that they are off", async (t) => {
  const { page, go, complaints } = await inside(t);
  await go("/");
  assert.equal(await page.getByRole("link", { name: "Sandboxes" }).count(), 0);
  await go("/sandboxes");
  await page.getByText("Sandboxes are off on this service.").waitFor();
  assert.deepEqual(complaints, []);
});
