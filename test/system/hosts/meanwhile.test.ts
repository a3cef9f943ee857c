import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { environment, type Launcher } from "../../support/launcher/launcher.ts";
import { childrenOf, groupsOf } from "../../support/launcher/machine.ts";
import { anotherBuild } from "./another-build.ts";
import { directory, type Host, Machine, readiness, v2Mount } from "./host.ts";

/**
 * Features that a machine loses and regains while the service runs: readiness becomes 503, logs the reason, and
 * recovers.
 */
const LIMIT = { timeout: 180_000 };
const PROOF_HOLDS_MS = 5_000;

type Service = Awaited<ReturnType<Machine["service"]>>;

async function running(t: TestContext, host: Host = {}) {
  const machine = await Machine.with(t, host);
  const launcher = await up(machine);
  const service = await machine.service();
  // A proof is valid for some seconds, so the test advances the clock.
  let nowMs = Date.now();
  t.mock.timers.enable({ apis: ["Date"], now: nowMs });
  const becomes = async (expected: 200 | 503) => {
    for (let tries = 0; ; tries++) {
      nowMs += PROOF_HOLDS_MS;
      t.mock.timers.setTime(nowMs);
      const { status, json } = await readiness(service);
      if (status === expected) return json;
      assert.ok(tries < 200, `readiness stays ${status}: ${JSON.stringify(json)}`);
    }
  };
  assert.equal((await becomes(200)).enforcement_mode, "strict");
  return { machine, launcher, service, becomes };
}

async function up(machine: Machine, host: Host = {}): Promise<Launcher> {
  const launcher = await machine.launcher(host);
  if (typeof launcher === "string") throw new Error(launcher);
  return launcher;
}

test("a launcher replaced by one of another build is not used until the right one is back", LIMIT, async (t) => {
  const { machine, launcher, service, becomes } = await running(t);
  assert.equal(await launcher.stop(), 0);
  const other = await up(machine, { program: anotherBuild(directory(t)) });
  assert.equal((await becomes(503)).status, "not_ready");
  assert.match(service.words(), /the launcher has another build \(0123456789abcdef\)/);
  assert.equal(await other.stop(), 0);
  const again = await up(machine);
  await becomes(200);
  await assertRuns(service);
  assert.equal(await again.stop(), 0);
});

test("a damaged image is not ready until it is repaired", LIMIT, async (t) => {
  const image = mkdtempSync(join(tmpdir(), "assay-image-"));
  for (const name of ["upper", "work", "rootfs"]) mkdirSync(join(image, name), { recursive: true });
  const layers = `lowerdir=${environment("ASSAY_TEST_IMAGE")}/rootfs,upperdir=upper,workdir=work`;
  execFileSync("mount", ["-t", "overlay", "overlay", "-o", layers, "rootfs"], { cwd: image });
  t.after(() => {
    execFileSync("umount", ["-l", join(image, "rootfs")]);
    rmSync(image, { recursive: true });
  });
  const python = execFileSync("chroot", [join(image, "rootfs"), "sh", "-c", "echo /usr/bin/python3.*"], {
    encoding: "utf8",
  });
  const interpreter = join(image, "rootfs", python.trim());
  const whole = readFileSync(interpreter);

  const { launcher, service, becomes } = await running(t, { image });
  truncateSync(interpreter, 4096);
  const { checks } = await becomes(503);
  assert.deepEqual([checks[0].name, checks[0].ok], ["sandbox", false]);
  writeFileSync(interpreter, whole);
  await becomes(200);
  await assertRuns(service);
  assert.equal(await launcher.stop(), 0);
});

test("control groups that cannot be created: not ready until they can", {
  ...LIMIT,
  skip: v2Mount() === undefined && "cgroup v1 has no way to forbid them",
}, async (t) => {
  const { launcher, service, becomes } = await running(t);
  const home = groupsOf(launcher).find(
    (path) => path.startsWith(v2Mount() ?? "/dev") && path.endsWith(`/assay-${launcher.instance}`),
  );
  assert.ok(home);
  writeFileSync(join(home, "cgroup.max.descendants"), "0");
  // A slot keeps groups for its next box; a new slot needs new ones, and reports the reason.
  for (const slot of childrenOf(launcher.pid)) process.kill(slot, "SIGKILL");
  const { checks } = await becomes(503);
  assert.deepEqual([checks[0].name, checks[0].ok], ["sandbox", false]);
  await becomes(503);
  assert.match(service.words(), /no box: cgroup make [^"]* in unified \(errno 11\)/);
  writeFileSync(join(home, "cgroup.max.descendants"), "max");
  await becomes(200);
  await assertRuns(service);
  assert.equal(await launcher.stop(), 0);
});

async function assertRuns({ ask }: Service): Promise<void> {
  const body = { language: "python", code: "print(6 * 7)" };
  for (let tries = 0; ; tries++) {
    const { status, json } = await ask({ method: "POST", path: "/api/submit?wait=true", body });
    if (status === 200 && json.result.verdict === "AC") return assert.equal(json.output.stdout, "42\n");
    assert.ok(tries < 5, `${status}: ${JSON.stringify(json)}`);
  }
}
