import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { createKey } from "../../../src/admin/keys.ts";
import { type SeededRun, seedHistory } from "../../support/http/dashboard/seeded-history.ts";
import { runPending } from "../../support/http/running.ts";
import { addEndpoint } from "../../support/webhooks/project.ts";
import { HANGS_MS, screenshot, violations } from "./browser.ts";
import { inside } from "./inside.ts";
import { DESK, PHONE } from "./page-actions.ts";

const MINUTE_MS = 60_000;
interface CSSColours {
  color: string;
}

const execute = promisify(execFile);

test("the charts of the overview, first steps, and the use of keys, projects and endpoints", async (t) => {
  const { page, club, go, clipboard, complaints } = await inside(t, { ownAuthority: true });
  const { running, accountId, projectId } = club;
  const { store, clock } = running;
  clock.nowMs = Date.now();
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const chart = (title: string) => page.getByRole("slider", { name: `${title}: time` });
  const says = async (title: string) => (await chart(title).getAttribute("aria-valuetext")) ?? "";
  const search = () => new URL(page.url()).searchParams;
  const settled = () => page.locator('[aria-busy="true"]').first().waitFor({ state: "detached" });
  const step = (title: string) => page.getByRole("listitem").filter({ hasText: title });

  await t.test(
    "a new account sees its first steps; the copied command is a run as it is, and marks its step",
    async () => {
      await go("/");
      await page.getByRole("heading", { name: "First steps" }).waitFor();
      await step("Create a project").getByText("done").waitFor();
      await step("Create an API key").getByText("to do").waitFor();
      for (const title of ["Ended runs", "Run time, from start to end", "Webhook deliveries"])
        assert.match(await says(title), /^All of it/, title);
      assert.equal(await page.getByText("No run ended in this time.").count(), 3);
      assert.deepEqual(await violations(page), []);
      const { key } = await createKey(store, { name: "first", project: projectId, profiles: ["judge"] }, "test");
      await step("Create an API key").getByText("done").waitFor();
      await button("Copy curl command").click();
      const line = await clipboard();
      assert.match(line, /--cacert/);
      const ended = execute("sh", ["-c", line.replace("YOUR_API_KEY", key)], { timeout: HANGS_MS });
      while ((await runPending(store)) === 0) await sleep(50);
      assert.equal(JSON.parse((await ended).stdout).result.verdict, "AC");
      await step("Run a first program").getByText("done").waitFor();
      assert.equal(await button("Copy curl command").count(), 0);
    },
  );

  const endpoint = await addEndpoint(store, { id: projectId, key: { keyId: "", accountId } });
  const [{ id: keyId } = { id: "" }] = (await store.keys.list()).filter(({ name }) => name === "first");
  const thisMinute = clock.nowMs - (clock.nowMs % MINUTE_MS);
  const run = (minutesAgo: number, rest: Partial<SeededRun> = {}): SeededRun => ({
    ...{ accountId, keyId, language: "python", verdict: "AC", waitMs: 4, runMs: 25 },
    ...{ endedMs: thisMinute - minutesAgo * MINUTE_MS, ...rest },
  });
  await seedHistory(
    running,
    [
      ...Array.from({ length: 98 }, () => run(20)),
      ...Array.from({ length: 3 }, () => run(10, { verdict: "CE", language: "c" })),
      run(1, { verdict: "TLE", runMs: 10_000 }),
      ...Array.from({ length: 1_000 }, (_, i) => run(60 * (1 + (i % 24) * 29), { verdict: i % 3 === 0 ? "RE" : "AC" })),
    ],
    Array.from({ length: 427 }, () => ({ endpointId: endpoint.id, state: "failed", endedMs: thisMinute - MINUTE_MS })),
  );
  await store.history.count(10);
  /** A fixed period of sixty minutes, because the last sixty minutes would change during the test. */
  const hour = { from: thisMinute - 59 * MINUTE_MS, to: thisMinute + MINUTE_MS };
  const anHour = `/?from=${hour.from}&to=${hour.to}`;
  /** The position of a minute of a chart, in pixels of the viewport. */
  const placeIn = async (title: string) => {
    await chart(title).scrollIntoViewIfNeeded();
    const box = (await chart(title).boundingBox()) ?? assert.fail(`${title} is not shown`);
    return { x: (minutesAgo: number) => box.x + 54 + ((box.width - 54) / 60) * (59.5 - minutesAgo), y: box.y };
  };

  await t.test("complete first steps disappear; failed deliveries are red and lead to their endpoint", async () => {
    await go("/?window=1h");
    assert.equal(await page.getByRole("heading", { name: "First steps" }).count(), 0);
    const failed = page.getByRole("link", { name: /pending · 427 failed/ });
    await failed.waitFor();
    await page.getByText("failed in the last hour").waitFor();
    const colours = await failed.evaluate((element) => {
      const { getComputedStyle } = globalThis as unknown as { getComputedStyle: (of: unknown) => CSSColours };
      const own = getComputedStyle(element).color;
      (element as unknown as { style: CSSColours }).style.color = "var(--bad)";
      return [own, getComputedStyle(element).color];
    });
    assert.equal(colours[0], colours[1]);
    await failed.click();
    await page.getByRole("heading", { level: 1, name: "Webhook endpoint" }).waitFor();
    assert.ok(page.url().endsWith(`/webhooks/${endpoint.id}`));
    await settled();
    assert.match(await says("Ended deliveries"), /failed 427/);
    await page.getByRole("table", { name: "Latest runs" }).getByRole("link", { name: "first" }).waitFor();
  });

  await t.test("percentiles are those of the whole window, and of a bucket while it is chosen", async () => {
    await go(anHour);
    const times = "Run time, from start to end";
    assert.match(await says(times), /p50 ≤ 30 ms, p95 ≤ 30 ms, p99 ≤ 30 ms, of 103 runs/);
    await chart(times).focus();
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowLeft");
    assert.match(await says(times), /p50 ≤ 10 s, p95 ≤ 10 s, p99 ≤ 10 s, of 1 run$/);
    assert.match(await says("Ended runs"), /TLE 1 · 100 %/, "the other charts show the same minute");
    await page.keyboard.press("Escape");
    assert.match(await says("Ended runs"), /^All of it: AC 99 · 96 %, CE 3 · 2.9 %, TLE 1 · 1 %$/);
  });

  await t.test(
    "runs are grouped and scaled as the address says; a name lists the runs of it in that time",
    async () => {
      await page.getByLabel("Group ended runs").selectOption("language");
      await settled();
      await page.getByText("100 %", { exact: true }).click();
      await page.waitForURL(/share=true/);
      assert.deepEqual([search().get("by"), search().get("share")], ["language", "true"]);
      assert.match(await says("Ended runs"), /python 100 · 97 %, c 3 · 2.9 %/);
      const mix = page.getByRole("list", { name: "Verdicts by language" }).getByRole("listitem");
      assert.match((await mix.filter({ hasText: "python" }).textContent()) ?? "", /AC 99TLE 1/);
      const ofCompiler = mix.filter({ hasText: /^c/ }).getByRole("link", { name: "CE" });
      assert.match((await ofCompiler.getAttribute("href")) ?? "", /language=c.*cause=compile_error/);
      await page.reload();
      await settled();
      assert.match(await says("Ended runs"), /python 100/);
      await mix.filter({ hasText: "python" }).getByRole("link", { name: "python" }).click();
      await page.getByRole("heading", { level: 1, name: "Submissions" }).waitFor();
      assert.equal(search().get("language"), "python");
      const length = Date.parse(search().get("until") ?? "") - Date.parse(search().get("since") ?? "");
      assert.equal(length, 60 * MINUTE_MS);
      await page.goBack();
      await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    },
  );

  await t.test("dragging in one chart zooms all, and Back undoes it; keys and buttons do the same", async () => {
    await go(anHour);
    const zoomed = async () => {
      await page.waitForURL((url) => url.searchParams.get("from") !== String(hour.from));
      await settled();
    };
    const { x, y } = await placeIn("Queue and slots");
    await page.mouse.move(x(25), y + 60);
    await page.mouse.down();
    await page.mouse.move(x(20), y + 62, { steps: 4 });
    await page.mouse.move(x(15), y + 64, { steps: 4 });
    await screenshot(page, "charts-brush");
    await page.mouse.up();
    await zoomed();
    assert.equal(Number(search().get("to")) - Number(search().get("from")), 11 * MINUTE_MS);
    await page.mouse.move(0, 0);
    assert.match(await says("Ended runs"), /^All of it: AC 98 · 100 %$/);
    assert.match(await says("Run time, from start to end"), /of 98 runs/);
    await page.goBack();
    await page.waitForURL((url) => url.searchParams.get("from") === String(hour.from));
    await settled();
    await chart("Ended runs").focus();
    await page.keyboard.press("End");
    for (let n = 0; n < 10; n++) await page.keyboard.press("Shift+ArrowLeft");
    await page.keyboard.press("Enter");
    await zoomed();
    assert.equal(Number(search().get("to")) - Number(search().get("from")), 11 * MINUTE_MS);
    const before = Number(search().get("from"));
    await button("Earlier").click();
    await page.waitForURL((url) => Number(url.searchParams.get("from")) < before);
    await settled();
    await button("Zoom out").click();
    await settled();
    await button("Zoom in").click();
    await settled();
    await page.getByText("24 h", { exact: true }).click();
    await page.waitForURL(/window=24h/);
    assert.equal(search().get("from"), null);
  });

  await t.test("a click on a part of a bar lists the runs of that verdict and time", async () => {
    await go(anHour);
    const { x, y } = await placeIn("Ended runs");
    await page.mouse.click(x(20), y + 150);
    await page.getByRole("heading", { level: 1, name: "Submissions" }).waitFor();
    assert.equal(search().get("verdict"), "AC");
    assert.equal(search().get("since"), new Date(thisMinute - 20 * MINUTE_MS).toISOString());
  });

  await t.test("the values of a chart are also a table", async () => {
    await go(anHour);
    await page.getByText("Values as a table").first().click();
    const row = page.getByRole("region", { name: "Ended runs: values" }).getByRole("row").filter({ hasText: "98" });
    assert.match((await row.textContent()) ?? "", /98 · 100 %/);
    assert.deepEqual(await violations(page), []);
  });

  await t.test("a key and a project show their use and their latest runs, which are linked", async () => {
    for (const [path, name] of [
      [`/keys/${keyId}`, "first"],
      [`/projects/${projectId}`, "shop"],
    ] as const) {
      await go(path);
      await page.getByRole("heading", { level: 1, name }).waitFor();
      await chart("Ended runs by verdict").waitFor();
      assert.match(await says("Ended runs by verdict"), /AC \d+ · \d+ %/);
      const latest = page.getByRole("table", { name: "Latest runs" }).getByRole("row");
      assert.equal(await latest.count(), 2);
      const id = (await store.submissionSearch.search({ accountIds: [accountId], max: 1 })).found[0]?.id;
      assert.equal(await latest.nth(1).getByRole("link").first().getAttribute("href"), `/dashboard/submissions/${id}`);
    }
    await go("/keys");
    await page.getByRole("link", { name: "first", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "first" }).waitFor();
  });

  await t.test("a key without a run leads to the request for a first one", async () => {
    await createKey(store, { name: "unused", project: projectId, profiles: ["judge"] }, "test");
    await go("/keys");
    await page.getByRole("link", { name: "unused", exact: true }).click();
    await page.getByRole("main").getByRole("link", { name: "playground", exact: true }).click();
    await page.getByRole("heading", { name: "Run it with the API" }).waitFor();
    await page.getByText("X-API-Key").first().waitFor();
  });

  for (const colorScheme of ["light", "dark"] as const) {
    await t.test(`${colorScheme}: axe finds nothing, and a phone needs no horizontal scrolling`, async () => {
      await page.emulateMedia({ colorScheme });
      for (const path of [
        "/?window=7d",
        "/?window=30d&by=language&share=true",
        `/keys/${keyId}`,
        `/webhooks/${endpoint.id}`,
      ]) {
        await go(path);
        await page.getByRole("slider").first().waitFor();
        assert.deepEqual(await violations(page, colorScheme === "dark" ? ["color-contrast"] : undefined), [], path);
        await page.setViewportSize(PHONE);
        const wide = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
        assert.ok(wide <= 0, `${path} is ${wide} pixels too wide for a phone`);
        await page.setViewportSize(DESK);
      }
    });
  }

  await t.test("dismissed first steps stay away, for that person", async () => {
    await page.emulateMedia({ colorScheme: "light" });
    await go("/"); // the page of the endpoint would request it again
    await store.endpoints.remove(endpoint.id, "test");
    await go("/");
    await button("Dismiss first steps").click();
    await page.getByRole("heading", { name: "First steps" }).waitFor({ state: "detached" });
    await page.reload();
    await page.getByText("verified by a run").waitFor();
    assert.equal(await page.getByRole("heading", { name: "First steps" }).count(), 0);
    assert.deepEqual(complaints, []);
  });
});
