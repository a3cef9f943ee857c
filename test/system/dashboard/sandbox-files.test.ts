import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { MemorySandboxes } from "../../support/http/memory-sandboxes.ts";
import { inside } from "./inside.ts";
import { looksGood, pageActions } from "./page-actions.ts";

test("files of a sandbox: directories, text, downloads, uploads, names and removal", async (t) => {
  const { page, club, go, complaints } = await inside(t, { sandboxesOver: (store) => new MemorySandboxes(store) });
  const { button } = pageActions(page);
  const key = await club.running.key({ project: "shop", name: "agent", profiles: ["agent"] });
  const ask = (method: string, path: string, body: unknown, headers: Record<string, string> = {}) =>
    club.running.ask({ key, method, path: `/api/sandboxes${path}`, body, headers });
  const { id } = (await ask("POST", "", {})).json;
  const put = async (path: string, text: string) => {
    const type = { "content-type": "application/octet-stream" };
    await ask("PUT", `/${id}/files?path=${encodeURIComponent(path)}`, Buffer.from(text), type);
  };
  const hostile = "<script>document.title='hostile'</script>\n";
  await put("/home/user/page.html", hostile);
  await put("/home/user/notes.txt", "one\ntwo\n");
  await put("/home/user/data.bin", "a\0b");
  await go(`/sandboxes/${id}`);
  const rows = page.getByRole("table", { name: "Files of /home/user" }).getByRole("row");
  const row = (name: string) => rows.filter({ hasText: name });

  await t.test("a directory is listed, and a file is shown as text", async () => {
    await row("notes.txt").getByText("8 B").waitFor();
    await row("page.html").getByRole("button", { name: "page.html", exact: true }).click();
    const view = page.getByRole("region", { name: "File /home/user/page.html" });
    await view.locator(".cm-line").filter({ hasText: "<script>" }).waitFor();
    await looksGood(page, "files");
    assert.doesNotMatch(await page.title(), /hostile/);
    await view.getByRole("button", { name: "Close" }).click();
    await row("data.bin").getByRole("button", { name: "data.bin", exact: true }).click();
    await page.getByText("This file is not text.").waitFor();
  });

  await t.test("a file is downloaded with its exact bytes, and never opened", async () => {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download page.html" }).click(),
    ]);
    assert.equal(download.suggestedFilename(), "page.html");
    assert.equal(readFileSync(await download.path(), "utf8"), hostile);
  });

  await t.test("a file is uploaded, and one of the same name only if the person says so", async () => {
    const upload = async (text: string, replace: boolean) => {
      await button("Upload a file").click();
      const dialog = page.getByRole("dialog");
      const file = { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from(text) };
      await dialog.locator("input[type=file]").setInputFiles(file);
      if (replace) await dialog.getByLabel("Replace a file of this name").check();
      await dialog.getByRole("button", { name: "Upload file" }).click();
      return dialog;
    };
    const refused = await upload("other\n", false);
    await refused.getByRole("alert").getByText("there is a file of this name already").waitFor();
    await refused.getByRole("button", { name: "Cancel" }).click();
    await (await upload("a longer text\n", true)).waitFor({ state: "detached" });
    await row("notes.txt").getByText("14 B").waitFor();
  });

  await t.test("files are renamed, and removed after a question; errors are shown", async () => {
    await button("Rename notes.txt").click();
    await page.getByLabel("New name").fill("page.html");
    await page.getByRole("dialog").getByRole("button", { name: "Rename file" }).click();
    await page.getByRole("alert").getByText("there is a file of this name already").waitFor();
    await page.getByLabel("New name").fill("kept.txt");
    await page.getByRole("dialog").getByRole("button", { name: "Rename file" }).click();
    await row("kept.txt").waitFor();
    await button("Remove kept.txt").click();
    await page.getByRole("dialog").getByText("/home/user/kept.txt").waitFor();
    await button("Remove file").click();
    await row("kept.txt").waitFor({ state: "detached" });
    await button("New directory").click();
    await page.getByRole("dialog").getByLabel("Name").fill("page.html");
    await button("Make directory").click();
    await page.getByRole("alert").getByText("there is a file of this name already").waitFor();
    await button("Cancel").click();
    await button("home").click();
    await page.getByRole("table", { name: "Files of /home" }).waitFor();
    const others = complaints.filter((text) => !text.includes("status of 409"));
    assert.deepEqual(others, []);
  });

  await t.test("a paused sandbox says that its files cannot be read", async () => {
    await club.ada("POST", `/sandboxes/${id}/pause`);
    await page.getByText("The files of a paused sandbox cannot be read.").waitFor();
  });
});
