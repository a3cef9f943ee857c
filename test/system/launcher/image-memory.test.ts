import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { CPU_LATE_RATIO, CPU_LATE_USEC } from "../../../src/domain/causes.ts";
import { environment } from "../../support/launcher/launcher.ts";
import { eventually } from "../../support/launcher/machine.ts";
import { source } from "../../support/programs/product.ts";
import { useBoxes } from "../forgery/boxes.ts";

const MIB = 1_048_576;
const boxes = useBoxes({ slots: 2, lockImage: true });
const code = source("c", "ends/maps-image");

/** The path of the largest library of the image. Its pages are removed from memory first, as after a boot. */
function largestLibrary(): { path: string; bytes: number } {
  const rootfs = join(environment("ASSAY_TEST_IMAGE"), "rootfs");
  const files = readdirSync(join(rootfs, "usr/lib"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((path) => ({ path, bytes: statSync(path).size }));
  const { path, bytes } = files.reduce((most, file) => (file.bytes > most.bytes ? file : most));
  execFileSync("dd", [`if=${path}`, "iflag=nocache", "count=0", "status=none"]);
  return { path: `/${relative(rootfs, path)}`, bytes };
}

const statusOf = (pid: number | undefined) => readFileSync(`/proc/${pid}/status`, "utf8");

/** The child of the launcher that has locked the image in memory, and others of that name, of which there should be none. */
function keepersOf(launcher: number): [number | undefined, number[]] {
  const children = readFileSync(`/proc/${launcher}/task/${launcher}/children`, "utf8").trim().split(" ").map(Number);
  const [keeper, ...others] = children.filter((pid) => /^Name:\s+assay-image$/m.test(statusOf(pid)));
  return [keeper, others];
}

test("the launcher keeps all files of the image in memory", () => {
  const { launcher } = boxes();
  const [keeper, others] = keepersOf(launcher.pid);
  const locked = Number(/^VmLck:\s+(\d+) kB$/m.exec(statusOf(keeper))?.[1]) * 1024;
  const rootfs = join(environment("ASSAY_TEST_IMAGE"), "rootfs");
  const size = execFileSync("find", [rootfs, "-type", "f", "-printf", "%s\n"], {
    encoding: "utf8",
    maxBuffer: 64 * MIB,
  });
  const bytes = size
    .trim()
    .split("\n")
    .reduce((sum, line) => sum + Math.ceil(Number(line) / 4096) * 4096, 0);
  assert.equal(locked, bytes);
  assert.deepEqual(others, []);
  assert.equal(launcher.stderr(), "");
});

test("the process that keeps the image in memory can do nothing, and a start of a slot does not copy its mappings", () => {
  const { launcher } = boxes();
  const [keeper] = keepersOf(launcher.pid);
  const status = statusOf(keeper);
  assert.match(status, /^CapEff:\s+0+$/m);
  assert.match(status, /^CapPrm:\s+0+$/m);
  assert.match(status, /^Seccomp:\s+1$/m); // strict: it can read, and no more
  const mappings = (pid: number | undefined) => readFileSync(`/proc/${pid}/maps`, "utf8").split("\n").length;
  assert.ok(mappings(keeper) > 1_000);
  assert.ok(mappings(launcher.pid) < 100, `${mappings(launcher.pid)} mappings`);
});

test("a program is charged for no page of the image", async (t) => {
  const { path, bytes } = largestLibrary();
  const { facts, stdout } = await boxes().judgedCode("c", code, { profile: "agent", stdin: `${path} read 0 0` });
  t.diagnostic(`${Math.round(bytes / MIB)} MiB read, peak ${facts.memoryPeakBytes / MIB} MiB`);
  assert.equal(Number(stdout), bytes);
  assert.ok(bytes > 64 * MIB, path);
  assert.ok(facts.memoryPeakBytes < 8 * MIB, `${facts.memoryPeakBytes} bytes`);
});

for (const [way, cpuMs, what] of [
  ["reclaim 65000 130", 5000, "at its memory limit, with 65,000 mappings of a file of the image"],
  ["keep-using 60 2900", 300, "beyond the bound of page tables, while it uses a file of the image"],
] as const) {
  test(`${what}, a program is MLE and ends within its CPU time`, async (t) => {
    const { path } = largestLibrary();
    const limits = { cpuMs, wallMs: 12_000 };
    const { facts, outcome } = await boxes().judgedCode("c", code, {
      profile: "agent",
      limits,
      stdin: `${path} ${way}`,
    });
    const endMs = facts.endUsec / 1e3 + facts.spentMs.teardown;
    t.diagnostic(`${Math.round(endMs)} ms; ${facts.cpuUsec / 1e3} ms of CPU; ${facts.memoryPeakBytes / MIB} MiB`);
    const { verdict, cause } = outcome.result;
    assert.deepEqual([verdict, cause], ["MLE", "oom_kill"], outcome.result.errorMessage ?? "");
    assert.ok(facts.cpuUsec <= limits.cpuMs * 1e3 * CPU_LATE_RATIO + CPU_LATE_USEC, `${facts.cpuUsec} us`);
  });
}

// The last test, because the image does not stay in memory after it.
test("if the process that keeps the image ends, the launcher says so and goes on", async () => {
  const { launcher } = boxes();
  const [keeper] = keepersOf(launcher.pid);
  assert.ok(keeper);
  process.kill(keeper, "SIGKILL");
  await eventually("the launcher says so", () => launcher.stderr().includes("its keeper has ended"));
  const { outcome } = await boxes().judgedCode("c", "int main(void) { return 0; }");
  assert.equal(outcome.result.verdict, "AC");
});
