import assert from "node:assert/strict";
import { test } from "node:test";
import { MemorySandboxes } from "../../support/http/memory-sandboxes.ts";
import { inside } from "./inside.ts";
import { looksGood, pageActions } from "./page-actions.ts";

const GIB = 2 ** 30;

/** Sandboxes of a service that has disks for them. */
class WithDisks extends MemorySandboxes {
  override readonly capacity = { sandboxes: 8, memoryBytes: 8 * GIB, cpus: 2, diskBytes: 8 * GIB, network: true };
}

test("sandboxes are created, changed, stored as snapshots and copied from them", async (t) => {
  const { page, club, go, complaints, clipboard, origin } = await inside(t, {
    sandboxesOver: (store) => new WithDisks(store),
  });
  const { button, heading } = pageActions(page);
  const dialog = page.getByRole("dialog");
  const row = (name: string) => page.getByRole("row").filter({ hasText: name });
  const idOf = () => new URL(page.url()).pathname.split("/").at(-1) ?? "";

  await t.test("without a key for sandboxes, the form says what is missing", async () => {
    await go("/sandboxes");
    await button("New sandbox").click();
    await dialog.getByText("No key allows sandboxes").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
  });
  const key = await club.running.key({ project: "shop", name: "agent", profiles: ["agent"] });
  await club.running.key({ account: "others", name: "their agent", profiles: ["agent"] });

  await t.test("a person creates a sandbox with a disk", async () => {
    await go("/sandboxes");
    await button("New sandbox").click();
    const keys = await dialog.getByLabel("API key").locator("option").allTextContents();
    assert.deepEqual(keys, ["agent (shop, club)"]);
    assert.equal(await dialog.getByLabel("Lifetime, in seconds").inputValue(), "3600");
    await dialog.getByLabel("Lifetime, in seconds").fill("7200");
    await dialog.getByLabel("Memory, in MiB").fill("128");
    await dialog.getByLabel("Files", { exact: true }).selectOption("disk");
    const sizes = await dialog.getByLabel("Size of the disk").locator("option").allTextContents();
    assert.deepEqual(sizes, ["1 GiB", "2 GiB", "4 GiB", "8 GiB"]);
    await dialog.getByLabel("Size of the disk").selectOption("2 GiB");
    await dialog.getByLabel("When its time is over").selectOption("snapshot");
    await looksGood(page, "new-sandbox");
    await dialog.getByLabel("Metadata").fill("task");
    await button("Create sandbox").click();
    await dialog.getByRole("alert").getByText("is not of the form name=value").waitFor();
    await dialog.getByLabel("Metadata").fill("task=42\nuser=ada");
    await button("Create sandbox").click();
    await heading(/^Sandbox [0-9a-f]{8}$/);
    const facts = page.getByRole("definition");
    for (const fact of ["2 h, over", "on a disk of 2 GiB", "a snapshot is taken", "task=42"])
      await facts.filter({ hasText: fact }).first().waitFor();
  });

  await t.test("its times are changed, and its commands copied", async () => {
    await button("Change times").click();
    assert.equal(await dialog.getByLabel("Lifetime, in seconds").inputValue(), "7200");
    await dialog.getByLabel("Lifetime, in seconds").fill("10800");
    await dialog.getByLabel("Idle time, in seconds").fill("120");
    await button("Change times").last().click();
    await dialog.waitFor({ state: "detached" });
    for (const fact of ["3 h, over", "2 min"]) await page.getByRole("definition").filter({ hasText: fact }).waitFor();
    await page.getByText("As curl and as command line").click();
    await button("Copy as assay").click();
    await page.getByText("Copied").first().waitFor();
    const cli = await clipboard();
    assert.match(cli, new RegExp(`^export ASSAY_URL='${origin}' .*\\nassay sandbox run --sandbox ${idOf()} -- `));
    await button("Copy as curl").click();
    const url = `${origin}/api/sandboxes/${idOf()}/executions`;
    while (!(await clipboard()).includes(url)) await page.waitForTimeout(50);
    await looksGood(page, "sandbox-commands");
  });

  await t.test("one execution is killed", async () => {
    const body = { shell: "wait", background: true };
    const { number } = (
      await club.running.ask({ key, method: "POST", path: `/api/sandboxes/${idOf()}/executions`, body })
    ).json;
    await button(`Show execution ${number}`).click();
    await button(`Kill execution ${number}`).click();
    await dialog.getByText("The sandbox and its other executions go on.").waitFor();
    await button("Kill execution").click();
    await button(`Kill execution ${number}`).waitFor({ state: "detached" });
    await page
      .getByRole("region", { name: `Execution ${number}` })
      .getByText("exit code 0")
      .waitFor();
  });

  await t.test("a snapshot is taken, listed, used and deleted", async () => {
    await button("Take a snapshot").click();
    await dialog.getByLabel("Name").fill("before the change");
    await button("Take snapshot").click();
    await dialog.waitFor({ state: "detached" });
    const first = idOf();
    await page.getByRole("link", { name: "Snapshots", exact: true }).click();
    await heading("Snapshots");
    await row("before the change").getByText("2 KiB").waitFor();
    await row("before the change")
      .getByRole("link", { name: first.slice(0, 8) })
      .waitFor();
    await looksGood(page, "snapshots");
    await page.getByLabel("Project", { exact: true }).selectOption("shop");
    await row("before the change").waitFor();
    await button("New sandbox from before the change").click();
    await dialog.getByText("It begins with the 2 KiB of files").waitFor();
    await looksGood(page, "from-snapshot");
    await button("Create sandbox").click();
    await heading(/^Sandbox [0-9a-f]{8}$/);
    await page.getByRole("term").filter({ hasText: "Began with" }).waitFor();
    assert.notEqual(idOf(), first);
    await page.getByRole("link", { name: "Snapshots", exact: true }).click();
    await button("Delete before the change").click();
    await dialog.getByText("before the change").waitFor();
    await button("Delete snapshot").click();
    await page.getByText("No snapshots yet").waitFor();
  });

  await t.test("the list is filtered by metadata", async () => {
    await go("/sandboxes");
    assert.equal(await page.getByRole("row").count(), 3);
    await page.getByLabel("Metadata", { exact: true }).fill("task=42, user=ada");
    await page.keyboard.press("Enter");
    await page.getByRole("row").nth(2).waitFor({ state: "detached" });
    await row("task=42").waitFor();
    assert.equal(new URL(page.url()).searchParams.get("metadata"), "task=42&user=ada");
    await page.getByLabel("Metadata", { exact: true }).fill("task=43");
    await page.getByLabel("State", { exact: true }).focus();
    await page.getByText("No sandbox matches").waitFor();
    await page.getByLabel("Metadata", { exact: true }).fill("nothing");
    await page.keyboard.press("Enter");
    await page.getByText('"nothing" is not of the form name=value').waitFor();
    await looksGood(page, "sandboxes-filtered");
  });

  await t.test("the audit trail says in words what happened", async () => {
    await go("/audit");
    for (const words of ["created the sandbox", "deleted the snapshot", "took a snapshot", "killed execution 1"])
      await page.getByText(words).first().waitFor();
    await page.getByText("lifetime in seconds to 10800").waitFor();
    assert.deepEqual(complaints, []);
  });
});
