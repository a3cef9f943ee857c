import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { runPending } from "../../support/http/running.ts";
import { inside } from "./inside.ts";

/** Of a cold page with its data, without the editor, which comes later. */
const BUDGET_BYTES = 200_000;
const OF_THE_EDITOR = /codemirror|code-mirror|editor|viewer|\/lang-|\/dist-/i;

/** First paint of a cold page on a machine of two cores without load, where that of an almost empty page takes BLANK_MS. */
const PAINT_MS = 400;
const BLANK_MS = 60;
/** Each page is opened this often; the fastest counts, because other work only delays it. */
const TRIES = 3;

const BLANK = "/docs/icon.svg";

test("every page, cold: at most 200 kB without the editor, and painted within 400 ms", async (t) => {
  const { page, club, origin } = await inside(t);
  const { submit, store } = club.running;
  const key = await club.running.key({ project: "shop", name: "grader", concurrency: 1000 });
  let id = "";
  for (let n = 0; n < 60; n++) id = (await submit({ language: "python", code: "print(1)" }, { key })).json.id;
  await runPending(store);
  const places = [
    ...["/", "/submissions", `/submissions/${id}`, `/submissions?open=${id}`, "/judgements", "/problems", "/playground"],
    ...["/projects", `/projects/${club.projectId}`, "/keys", "/webhooks", "/languages", "/nodes", "/members", "/audit"],
    "/profile",
  ];
  for (const place of places) {
    let [bytes, paint, blank] = [0, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let at = 0; at < TRIES; at++) {
      blank = Math.min(blank, (await cold(page, `${origin}/docs/`)).paint);
      const now = await cold(page, `${origin}/dashboard${place}`);
      paint = Math.min(paint, now.paint);
      bytes = Math.max(bytes, now.bytes);
    }
    console.log(place, bytes, Math.round(paint), Math.round(blank));
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
  const paint = await page.evaluate<number>(`performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Infinity`);
  if (process.env.DBG && address.includes("/dashboard")) console.log([...urls.values()].map((u) => u.replace(/.*dashboard/, "")).join("\n   "));
  await session.detach();
  return { bytes, paint };
}
