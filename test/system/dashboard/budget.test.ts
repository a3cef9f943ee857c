import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { runPending } from "../../support/http/running.ts";
import { addEndpoint } from "../../support/webhooks/project.ts";
import { inside } from "./inside.ts";

/** The most bytes of a cold page with its data. The editor does not count, because it is loaded later. */
const BUDGET_BYTES = 200_000;
/** CodeMirror with a grammar. */
const OF_THE_EDITOR = /assets\/(codemirror|code-mirror|editor|dist)/;

/**
 * The first paint of a cold page. On a busy machine, the page of the documents, which has no script, takes longer than BLANK_MS, and
 * all pages may take longer in proportion.
 */
const PAINT_MS = 400;
const BLANK_MS = 100;
/** How often a page is opened that was late: other work can only delay a paint, so one paint in time is enough. */
const TRIES = 3;

test("every page, cold: at most 200 kB without the editor, and painted within 400 ms", async (t) => {
  const { page, club, origin } = await inside(t);
  const { submit, store } = club.running;
  const { projectId, accountId } = club;
  const endpoint = await addEndpoint(store, { id: projectId, key: { keyId: "", accountId } });
  const key = await club.running.key({ project: "shop", name: "grader", concurrency: 1000 });
  let id = "";
  for (let n = 0; n < 60; n++) id = (await submit({ language: "python", code: "print(1)" }, { key })).json.id;
  await runPending(store);
  const places = [
    ...[
      "/",
      "/submissions",
      `/submissions/${id}`,
      "/judgements",
      "/sandboxes",
      "/snapshots",
      "/problems",
      "/playground",
    ],
    ...[
      "/projects",
      `/projects/${projectId}`,
      "/keys",
      "/webhooks",
      `/webhooks/${endpoint.id}`,
      "/languages",
      "/nodes",
      "/members",
      "/audit",
    ],
    "/profile",
  ];
  for (const place of places) {
    let late = "";
    for (let tries = 0; tries === 0 || (late && tries < TRIES); tries++) {
      const blank = (await cold(page, `${origin}/docs/`)).paint;
      const { bytes, paint } = await cold(page, `${origin}/dashboard${place}`);
      t.diagnostic(`${place}: ${bytes} bytes, ${Math.round(paint)} ms, the documents ${Math.round(blank)} ms`);
      assert.ok(bytes < BUDGET_BYTES, `${place}: ${bytes} of ${BUDGET_BYTES} bytes`);
      const allowed = PAINT_MS * Math.max(1, blank / BLANK_MS);
      late = paint > allowed ? `${place}: painted after ${paint} of ${allowed} ms` : "";
    }
    assert.equal(late, "");
  }
});

/** Opens an address without a cache. @returns the received bytes, and the time of the first paint. */
async function cold(page: Page, address: string): Promise<{ readonly bytes: number; readonly paint: number }> {
  const session = await page.context().newCDPSession(page);
  const urls = new Map<string, string>();
  let bytes = 0;
  session.on("Network.requestWillBeSent", ({ requestId, request }) => urls.set(requestId, request.url));
  session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    if (!OF_THE_EDITOR.test(urls.get(requestId) ?? "")) bytes += encodedDataLength;
  });
  await session.send("Network.enable");
  await session.send("Network.setCacheDisabled", { cacheDisabled: true });
  await page.goto(address);
  await page.getByRole("heading", { level: 1 }).first().waitFor();
  await page.locator('[aria-busy="true"]').first().waitFor({ state: "detached" });
  await page.waitForTimeout(250);
  const paint = await page.evaluate<number>(
    `performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Infinity`,
  );
  await session.detach();
  return { bytes, paint };
}
