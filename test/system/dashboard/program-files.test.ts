import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { runPending } from "../../support/http/running.ts";
import { report } from "../../support/verdict/reports.ts";
import { inside, onEachDatabase } from "./inside.ts";
import { looksGood } from "./page-actions.ts";

onEachDatabase("a program of several files shows each, and the line in the one with the error", async (t, open) => {
  const { page, club, go, complaints } = await inside(t, { open });
  const from = "lib/part.h:2:1: error: unknown type name ‘nope’\n";
  const key = await club.running.key({ project: "shop" });
  const program = {
    language: "c",
    code: '#include "lib/part.h"\nint main(void) { return 0; }\n',
    files: {
      "lib/part.h": "int one;\nnope two;\n",
      "empty.txt": "",
      "data.bin": { base64: Buffer.from([0, 1, 2, 255]).toString("base64") },
    },
  };
  const { id } = (await club.running.submit(program, { key })).json;
  const stderr = Buffer.from(`${from}main.c:1:9: note: here\n`);
  await runPending(club.running.store, () => buildOutcome({ compile: report({ exitCode: 1, stderr }) }));
  const box = (name: string) => page.getByRole("textbox", { name, exact: true });
  await go(`/submissions/${id}`);
  await page.getByRole("button", { name: "Line 2 of lib/part.h" }).waitFor();
  const files = page.getByRole("combobox", { name: "File of the program" });
  assert.deepEqual(await files.locator("option").allTextContents(), [
    ...["main.c", "data.bin 4 B, binary", "empty.txt 0 B", "lib/part.h 19 B", "stdin 0 B"],
  ]);
  const part = box("File lib/part.h");
  await part.locator(".cm-chosen").getByText("nope two;").waitFor();
  await files.selectOption({ label: "main.c" });
  await box("Source of the program").getByText("int main(void)").waitFor();
  await files.selectOption({ label: "data.bin 4 B, binary" });
  await page.getByText("A binary file of 4 B.").waitFor();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Download data.bin" }).click(),
  ]);
  assert.deepEqual([...readFileSync(await download.path())], [0, 1, 2, 255]);
  await files.selectOption({ label: "empty.txt 0 B" });
  await page.getByText("The file is empty.").waitFor();
  await looksGood(page, "files");
  await page.getByRole("button", { name: "Line 2 of lib/part.h" }).click();
  await part.locator(".cm-chosen").getByText("nope two;").waitFor();
  await files.selectOption({ label: "main.c" });
  await box("Messages of the compiler").getByRole("link", { name: "lib/part.h:2:1" }).click();
  await part.waitFor();
  assert.deepEqual(complaints, []);
});
