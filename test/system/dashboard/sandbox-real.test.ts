import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sandboxesOf } from "../../../src/sandbox/held-sandbox.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { keeperOf } from "../../support/sandboxes/keeper.ts";
import { inside } from "./inside.ts";
import { pageActions } from "./page-actions.ts";
import { untilScreen } from "./terminal-screen.ts";

const MIB = 1_048_576;
let launcher: Launcher;

before(async () => {
  launcher = await startLauncher({ sandboxes: 2, sandboxMemory: 1024 * MIB });
});

after(async () => {
  assert.equal(await launcher.stop(), 0, launcher.stderr());
});

test("a person works in a real sandbox: a shell in the page, its files, and what it used", async (t) => {
  const { page, club, go, complaints } = await inside(t, {
    sandboxesOver: (store) =>
      keeperOf(t, {
        store,
        engine: sandboxesOf(launcher.socket),
        capacity: { sandboxes: 2, memoryBytes: 1024 * MIB, cpus: 2, diskBytes: 0, network: false },
      }),
  });
  const { button } = pageActions(page);
  const key = await club.running.key({ project: "shop", name: "agent", profiles: ["agent"] });
  const { json } = await club.running.ask({ key, method: "POST", path: "/api/sandboxes", body: {} });
  await go(`/sandboxes/${json.id}`);
  const type = async (line: string) => {
    await page.keyboard.type(line);
    await page.keyboard.press("Enter");
  };

  await t.test("the shell has a prompt, the size of the page, and job control by Ctrl C", async () => {
    await button("Start a terminal").click();
    await untilScreen(page, /user@\w+:~\$/);
    await type("echo $((6 * 7)) $(stty size)");
    await untilScreen(page, /^42 \d+ \d+$/m);
    const before = page.viewportSize() ?? assert.fail("the page has no size");
    await page.setViewportSize({ width: 700, height: 900 });
    await type("clear; until [ $(stty size | cut -d' ' -f2) -lt 90 ]; do sleep 0.1; done; echo narrow");
    await untilScreen(page, /^narrow$/m);
    await page.setViewportSize(before);
    await type("clear; echo asleep; sleep 1000");
    await untilScreen(page, /^asleep$/m);
    await page.keyboard.press("Control+c");
    await type("echo status $?");
    await untilScreen(page, /^status 130$/m);
  });

  await t.test(
    "a program that asks the terminal gets an answer, and one on the alternate screen leaves no trace",
    async () => {
      await type("clear; IFS=';' read -rsd R -p $'\\e[6n' row col; echo row $(tr -dc 0-9 <<<\"$row\")");
      await untilScreen(page, /^row \d+$/m);
      await type("clear; seq 500 | less");
      await untilScreen(page, /^1\n2\n3\n/);
      await page.keyboard.press("G");
      await untilScreen(page, /^500$/m);
      await page.keyboard.press("q");
      await type("echo left less");
      await untilScreen(page, /^left less$/m);
    },
  );

  await t.test("files that it makes are in the directory, and uploaded ones in the shell", async () => {
    await type("mkdir made; printf 'some text\\n' > made/note.txt; ln -s /etc/passwd made/link; echo done >/dev/tty");
    await untilScreen(page, /^done$/m);
    await button("Read the directory again").click();
    await page.getByRole("button", { name: "made/", exact: true }).click();
    const rows = page.getByRole("table", { name: "Files of /home/user/made" }).getByRole("row");
    await rows.filter({ hasText: "link to /etc/passwd" }).waitFor();
    await page.getByRole("button", { name: "note.txt", exact: true }).click();
    await page.getByRole("region", { name: "File /home/user/made/note.txt" }).getByText("some text").waitFor();
    await button("Upload a file").click();
    const dialog = page.getByRole("dialog");
    await dialog
      .locator("input[type=file]")
      .setInputFiles({ name: "given.txt", mimeType: "text/plain", buffer: Buffer.from("from the page\n") });
    await dialog.getByRole("button", { name: "Upload file" }).click();
    await rows.filter({ hasText: "given.txt" }).waitFor();
    await page.getByRole("textbox", { name: "Terminal input" }).focus();
    await type("clear; cat made/given.txt");
    await untilScreen(page, /^from the page$/m);
    await button("Remove given.txt").click();
    await button("Remove file").click();
    await rows.filter({ hasText: "given.txt" }).waitFor({ state: "detached" });
  });

  await t.test("the end of the shell has its verdict, and the usage stays after the end of the sandbox", async () => {
    await page.getByRole("textbox", { name: "Terminal input" }).focus();
    await type("exit 3");
    const status = page.getByRole("region", { name: "Terminal 1" }).getByRole("status");
    await status.getByText("it has ended:").waitFor();
    await status.getByText("runtime error").waitFor();
    await button("End").click();
    await button("End sandbox").click();
    await page.getByRole("status").getByText("a client ended it.").waitFor();
    await page.reload();
    await page.getByRole("figure").filter({ hasText: "Memory: at most" }).waitFor();
    // On a busy machine, xterm says in the console that its work took longer than it wanted.
    assert.deepEqual(
      complaints.filter((text) => !text.startsWith("task queue exceeded")),
      [],
    );
  });
});
