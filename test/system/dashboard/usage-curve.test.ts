import assert from "node:assert/strict";
import { test } from "node:test";
import type { Samples } from "../../../src/domain/samples.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { runPending } from "../../support/http/running.ts";
import { report, signalled } from "../../support/verdict/reports.ts";
import { screenshot, violations } from "./browser.ts";
import { inside } from "./inside.ts";
import { DESK } from "./page-actions.ts";

const MIB = 1_048_576;
const times = (count: number, everyMs: number) => Array.from({ length: count }, (_, i) => (i + 1) * everyMs);

/** Grows to the limit in 340 ms. */
const EATEN: Samples = {
  step: "execute",
  atMs: times(33, 10),
  cpuMs: times(33, 6),
  memoryBytes: times(33, 1.9 * MIB).map(Math.round),
  end: { atMs: 341, cpuMs: 205 },
  peakBytes: 64 * MIB,
  limitBytes: 64 * MIB,
  limitMs: 10_000,
};
/** Works on two CPUs in waves until its time limit, with little memory. */
const WAVES: Samples = {
  ...EATEN,
  atMs: times(100, 20),
  cpuMs: times(100, 20).map((ms) => ms + 150 * Math.sin(ms / 300)),
  memoryBytes: times(100, 1).map((i) => MIB * (7 + Math.sin(i / 5))),
  end: { atMs: 2_004, cpuMs: 2_058 },
  peakBytes: 8.1 * MIB,
  limitBytes: 256 * MIB,
  limitMs: 2_000,
};

test("the curve of memory and CPUs over time", async (t) => {
  const { page, club, go, complaints } = await inside(t);
  const key = await club.running.key({ project: "shop", name: "grader", concurrency: 1000 });
  const ended = async (samples: Samples | undefined, execute = report()) => {
    const { json } = await club.running.submit({ language: "python", code: "print(1)" }, { key });
    const { atMs } = samples?.end ?? { atMs: 12 };
    const limits = { wallMs: samples?.limitMs ?? 10_000, cpuMs: 10_000, stdoutBytes: 65_536, stderrBytes: 65_536 };
    const sizes = { processesPeak: 1, stdoutBytes: 0, stderrBytes: 0 };
    const course = { compileMs: null, execute: { runMs: atMs + 3, wallMs: atMs, teardownMs: 2, ...sizes, limits } };
    await runPending(club.running.store, () => ({
      ...buildOutcome({ execute }),
      runStats: course,
      ...(samples && { samples }),
    }));
    return `/submissions/${json.id}`;
  };
  const eaten = await ended(EATEN, signalled(9, { oomKills: 1 }));
  const waves = await ended(WAVES, signalled(9, { killReason: "wall" }));
  const short = await ended(undefined);
  const curve = page.getByRole("img", { name: /Memory peaks at / });

  await t.test("says in words what it shows", async () => {
    await go(eaten);
    assert.equal(
      await curve.getAttribute("aria-label"),
      "Memory peaks at 64 MiB of 64 MiB, after about 330 ms; 205 ms of CPU time in 341 ms.",
    );
  });

  await t.test("rises to the line of the limit, and has units on its axes", async () => {
    const [limit, line] = [curve.locator("line[class*=limit]"), curve.locator("polyline[class*=memory]")];
    const boxes = await Promise.all([limit.boundingBox(), line.boundingBox()]);
    const [top = 0, highest = 0] = boxes.map((box) => box?.y);
    assert.ok(highest >= top && highest - top < 8, `${highest} below ${top}`);
    const labels = await curve.locator("text").allTextContents();
    for (const label of ["0", "60 MiB", "1 CPU", "100 ms"]) assert.ok(labels.includes(label), `${label} in ${labels}`);
  });

  await t.test("the pointer selects a sample", async () => {
    await curve.hover();
    const figure = page.getByRole("figure", { name: "Memory and CPUs over time" });
    await figure.getByText(/^After 1\d0 ms/).waitFor();
    assert.match((await figure.getByRole("listitem").first().textContent()) ?? "", /^Memory (2|3)\d(\.\d)? MiB$/);
    await page.mouse.move(0, 0);
    await figure.getByText("Peak").waitFor();
  });

  await t.test("marks the time limit, and a memory limit that is above the scale in words", async () => {
    await go(waves);
    await page.getByText("(above this scale)").waitFor();
    await curve.locator("svg").waitFor();
    assert.equal(await curve.locator("line[class*=limit]").count(), 1);
    assert.ok((await curve.locator("text").allTextContents()).includes("2 CPUs"));
  });

  await t.test("a run without samples has none", async () => {
    await go(short);
    assert.equal(await page.getByRole("img", { name: /Memory/ }).count(), 0);
  });

  for (const scheme of ["light", "dark"] as const)
    await t.test(`${scheme}: axe finds nothing, and 300 pixels are enough`, async () => {
      await page.emulateMedia({ colorScheme: scheme });
      for (const [name, path] of Object.entries({ eaten, waves })) {
        for (const width of [1440, 820, 390, 300]) {
          await page.setViewportSize({ width, height: 900 });
          await go(path);
          await curve.scrollIntoViewIfNeeded();
          await screenshot(page, `curve-${name}-${scheme}-${width}`);
          assert.ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), `${width} pixels`);
        }
        assert.deepEqual(await violations(page), [], name);
      }
      await page.setViewportSize(DESK);
    });

  assert.equal(complaints.join("\n"), "");
});
