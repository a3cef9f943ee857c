import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { z } from "zod";
import { assayBench } from "../../support/cli/processes.ts";
import { LISTED } from "../../support/languages/directory.ts";
import { environment, type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { tracesLeft } from "../../support/launcher/machine.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";

/** Every language is compiled bare and boxed, and boxes run for seconds until the machine is saturated. */
const LIMIT = { timeout: 240_000 };

let launcher: Launcher;
let place: Launcher;
before(async () => {
  launcher = await startLauncher({ slots: 2 });
  place = await startLauncher();
  await place.stop();
});
after(async () => assert.equal(await launcher.stop(), 0, launcher.stderr()));

function bench(...args: string[]) {
  const engine = ["--launcher", `${environment("ASSAY_TEST_LAUNCHER")}.delegated`];
  const machine = ["--image", environment("ASSAY_TEST_IMAGE"), "--instance", place.instance];
  const rest = ["--uid-base", String(place.uidBase), "--launcher-socket", launcher.socket];
  return assayBench(...engine, ...machine, ...rest, ...args);
}

const measured = z.number().positive();
const rows = z.array(
  z.strictObject({
    name: z.string(),
    unit: z.enum(["us", "ms", "1/s"]),
    median: measured,
    p99: measured,
    floor: measured,
    ratio: measured,
  }),
);

test("has rows for boxes, the service and each language, as ratios to their floors", {
  ...LIMIT,
  skip: SKIPS_LONG,
}, async () => {
  const { code, stdout, stderr } = await bench("--json", "--runs", "1");
  assert.equal(code, 0, stderr);
  const found = rows.parse(JSON.parse(stdout));
  assert.deepEqual(found.map(({ name }) => name).sort(), [
    ...LISTED.map((name) => `hello_${name}`),
    "judgement_100x10ms",
    "launcher_warm_box",
    "launcher_warm_box_until_torn",
    "saturated_boxes",
    "service_warm_box",
    "slot_cpu_of_sampled_second",
  ]);
  for (const { name, unit, median, p99, floor, ratio } of found) {
    assert.ok(Math.abs(ratio / (median / floor) - 1) < 0.01, `${name}: ${ratio} is not ${median} / ${floor}`);
    // The slow end: of times the longest, of rates the lowest.
    assert.ok(unit === "1/s" ? p99 <= median : p99 >= median, `${name}: ${median}, ${p99}`);
  }
  assert.deepEqual(await tracesLeft(place), []);
});

test("rejects a non-numeric number of runs", LIMIT, async () => {
  for (const runs of ["0", "1.5"]) {
    const { code, stderr } = await bench("--runs", runs);
    assert.equal(code, 1);
    assert.match(stderr, /must be a whole number above 0/);
  }
});
