import assert from "node:assert/strict";
import { test } from "node:test";
import { snippets } from "../../../dashboard/src/pages/playground/snippets.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { runPending } from "../../support/http/running.ts";
import { report } from "../../support/verdict/reports.ts";
import { assertOnlyStatus, violations } from "./browser.ts";
import { inside } from "./inside.ts";
import { DESK, linesOf, PHONE } from "./page-actions.ts";

const WRITTEN = 'print("as it was written")\n';

test("the playground, from an example to a link that others open", async (t) => {
  const { page, club, origin, go, clipboard, complaints, asked } = await inside(t);
  const { store } = club.running;
  const program = page.getByRole("textbox", { name: "Program" });
  const result = page.getByRole("region", { name: "Result" });
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const source = () => linesOf(program);
  const write = async (text: string) => {
    await program.click();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(text);
  };
  const { json: languages } = await club.ada("GET", "/languages");
  const examplesOf = (name: string): readonly { title: string; verdict: string; code: string; stdin: string }[] =>
    languages.find((language: { name: string }) => language.name === name).examples;

  await t.test("starts with a program in a working language, and has an example for each verdict", async () => {
    await go("/playground");
    await program.waitFor();
    const [first] = examplesOf(await page.getByLabel("Language").inputValue());
    assert.equal(await source(), first?.code);
    const options = await page.getByLabel("Example").locator("option").allTextContents();
    for (const verdict of ["AC", "RE", "TLE", "MLE", "PLE", "FSE", "SIG"])
      assert.ok(
        options.some((option) => option.startsWith(`${verdict}: `)),
        verdict,
      );
  });

  await t.test("each of the eight languages has highlighted examples", async () => {
    assert.equal(languages.length, 8);
    for (const { name } of languages) {
      await page.getByLabel("Language").selectOption(name);
      await page.getByLabel("Example").selectOption({ index: 1 });
      const [first] = examplesOf(name);
      assert.equal(await source(), first?.code, name);
      assert.equal(await page.getByLabel("Standard input").inputValue(), first?.stdin);
      await program.locator(".cm-line span").first().waitFor();
    }
  });

  await t.test("Tab indents; Escape and Tab leave the editor, as its hint says", async () => {
    await page.getByText("To leave with the keyboard, press Esc, then Tab.").waitFor();
    const focused = () => page.evaluate("document.activeElement?.tagName");
    await write("x");
    await page.keyboard.press("Home");
    await page.keyboard.press("Tab");
    assert.equal(await source(), "    x");
    assert.equal(await focused(), "DIV");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
    assert.equal(await focused(), "TEXTAREA");
    assert.equal(await source(), "    x");
  });

  await t.test("Ctrl+Enter runs the program, and shows its output and verdict", async () => {
    await page.getByLabel("Language").selectOption("python");
    await write(WRITTEN);
    await page.getByLabel("Standard input").fill("in\n");
    await program.click();
    await page.keyboard.press("Control+Enter");
    await result.getByRole("heading", { name: "Waiting in the queue" }).waitFor();
    const [claim] = await store.submissions.claim("w", 60_000);
    assert.ok(claim);
    const { language, profile, id } = claim.submission;
    assert.deepEqual(
      [language, profile, String(claim.program.code), String(claim.program.stdin)],
      ["python", "judge", WRITTEN, "in\n"],
    );
    await page.waitForURL(`${origin}/dashboard/playground?from=${id}`);
    await store.live.append(claim.lease, 0, [{ stream: "stdout", at: 0, bytes: Buffer.from("as it") }]);
    await result.getByText("as it").waitFor();
    await store.submissions.finish(
      claim.lease,
      buildOutcome({ execute: report({ stdout: Buffer.from("as it was\n") }) }),
    );
    await result.getByRole("heading", { name: "Accepted", exact: true }).waitFor();
    assert.equal(await linesOf(result.getByRole("textbox", { name: "Standard output" })), "as it was\n");
    await result.getByRole("tab", { name: "Evidence" }).click();
    await result.getByText("isolation.controls_applied").waitFor();
    assert.equal(await source(), WRITTEN);
  });

  await t.test("copies a link that opens the same program with its result", async () => {
    await button("Share").click();
    const link = await clipboard();
    const id = new URL(page.url()).searchParams.get("from");
    assert.equal(link, `${origin}/dashboard/submissions/${id}`);
    await page.goto(link);
    await page.getByRole("link", { name: "Open in the playground" }).click();
    await program.waitFor();
    assert.equal(await source(), WRITTEN);
    await write("print(2)\n");
    await page.reload();
    await program.getByText("print(2)").waitFor();
    await result.getByRole("heading", { name: "Accepted", exact: true }).waitFor();
    assert.equal(await source(), "print(2)\n");
    assert.equal(await page.getByLabel("Standard input").inputValue(), "in\n");
  });

  await t.test("keeps an unfinished program after a visit to another page", async () => {
    await write("print(3)\n");
    await page.getByRole("link", { name: "Languages", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Languages" }).waitFor();
    await page.getByRole("link", { name: "Playground", exact: true }).click();
    await program.waitFor();
    assert.equal(await source(), "print(3)\n");
  });

  await t.test("shows the same run by the API with the program in the editor", async () => {
    const run = { language: "python", code: "print(3)\n", stdin: "in\n", profile: "agent" } as const;
    await page.getByText("agent", { exact: true }).click();
    for (const { name, text } of snippets(origin, run)) {
      await page.getByRole("tab", { name }).click();
      assert.equal(await page.getByRole("region", { name: `As ${name}` }).textContent(), text);
      await button(`Copy as ${name}`).click();
      assert.equal(await clipboard(), text);
    }
    await page.getByText("judge", { exact: true }).click();
  });

  for (const scheme of ["light", "dark"] as const) {
    await t.test(`${scheme}: axe finds nothing, and a phone needs no horizontal scrolling`, async () => {
      await page.emulateMedia({ colorScheme: scheme });
      assert.deepEqual(await violations(page, scheme === "dark" ? ["color-contrast"] : undefined), []);
      await page.setViewportSize(PHONE);
      assert.ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"));
      await page.setViewportSize(DESK);
    });
  }

  await t.test("shows the service's message for a rejected program, and keeps the program", async () => {
    assert.equal(complaints.join("\n"), "");
    await page.getByLabel("Language").selectOption("rust");
    await button("Run").click();
    assert.match(
      (await page.getByRole("alert").filter({ hasText: "Not run" }).textContent()) ?? "",
      /^Not run: .*rust/,
    );
    assert.equal(await source(), "print(3)\n");
    assertOnlyStatus(complaints, "4");
  });

  await t.test("sends no request to another host, and runs only requested programs", async () => {
    assert.equal(await runPending(store), 0);
    assert.deepEqual(
      asked.filter((address) => !address.startsWith(`${origin}/`) && address !== "about:blank"),
      [],
    );
  });
});
