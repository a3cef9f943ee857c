import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { SandboxesImpossibleError } from "../../../src/sandbox/held-sandbox.ts";
import { Slot } from "../../../src/sandbox/slot.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { exists } from "../../support/launcher/machine.ts";
import { hold } from "../../support/launcher/sandbox.ts";
import { source } from "../../support/programs/product.ts";
import { shell } from "../../support/sandbox/steps.ts";
import { type Host, Machine, readiness, refusing, v1Mount, v2Mount } from "./host.ts";

/**
 * Machines that lack a feature that strict boxes do not need; the loss is reported. Each machine is created for real,
 * as in refused.test.ts.
 */
interface Row {
  readonly host: (t: TestContext) => Host;
  /** The reason why it cannot be created here, if any. */
  readonly skip?: string | false;
  /** Optional checks that fail in the doctor. */
  readonly without: readonly string[];
  readonly fileSizeEvidence: RegExp;
  readonly pressureEvidence: RegExp;
  readonly backend?: string;
}

const LIMIT = { timeout: 180_000 };
const TRACEPOINT = /^kernel tracepoint$/;
const THE_SIGNAL = /^fallback: the signal alone$/;
const PRESSURE = /^pressure of the box's own cgroup$/;
const NONE = /^none: host interference is not detected$/;

const unified = v2Mount();
const hybrid = unified !== undefined && v1Mount("memory") !== undefined;
/** Switches pressure off for the launcher's group: the kernel removes the file, as on a kernel without PSI. */
const NO_PRESSURE = `at=${unified}$(sed -n 's/^0:://p' /proc/self/cgroup)/assay-$INSTANCE
mkdir -p "$at"; echo 0 >"$at/cgroup.pressure"`;

const ROWS: Readonly<Record<string, Row>> = {
  "no BPF": {
    host: (t) => ({ under: refusing(t, "bpf", "EPERM") }),
    skip: !hybrid && "needs cgroup v1 with v2 beside it",
    without: ["bpf", "sandbox_sockets", "sandbox_network", "sandbox_locks"],
    fileSizeEvidence: THE_SIGNAL,
    pressureEvidence: PRESSURE,
  },
  "no PSI": {
    host: () => ({ prepare: NO_PRESSURE }),
    skip:
      !(hybrid && exists(join(unified, "cgroup.pressure"))) &&
      "the kernel cannot switch it off by group, or systemd manages the groups",
    without: ["pressure"],
    fileSizeEvidence: TRACEPOINT,
    pressureEvidence: NONE,
  },
  "cgroup v1 alone": {
    host: () => ({ prepare: `umount ${unified}` }),
    skip: !hybrid && "needs cgroup v1 with v2 beside it",
    without: [],
    fileSizeEvidence: TRACEPOINT,
    pressureEvidence: PRESSURE,
    backend: "cgroup_hybrid",
  },
  "a kernel that has every system call although its version number is old": {
    host: () => ({ under: ["setarch", "--uname-2.6"] }),
    without: ["sandbox_sockets", "sandbox_network"], // what they need of the kernel cannot be tried, so the version decides (launcher/loopback.c)
    fileSizeEvidence: hybrid ? TRACEPOINT : /./,
    pressureEvidence: hybrid ? PRESSURE : /./,
  },
};

for (const [what, row] of Object.entries(ROWS)) {
  test(`${what}: full enforcement, and the loss is reported`, { ...LIMIT, skip: row.skip ?? false }, async (t) => {
    const machine = await Machine.with(t, row.host(t));

    const { ok, checks, missing } = await machine.doctor();
    assert.deepEqual([ok, missing], [true, row.without]);
    for (const name of row.without) assert.equal(checks.find((check) => check.name === name)?.needed, false);

    const launcher = await machine.launcher();
    if (typeof launcher === "string") throw new Error(launcher);
    const service = await machine.service();
    const { status, json, checks: reported } = await ready(service);
    assert.deepEqual([status, json.status, json.enforcement_mode], [200, "ready", "strict"]);
    if (row.backend) assert.equal(json.cgroup_backend, row.backend);
    const detail = (name: string) => reported.find((check) => check.name === name)?.detail ?? "";
    assert.match(detail("file_size_evidence"), row.fileSizeEvidence);
    assert.match(detail("pressure_evidence"), row.pressureEvidence);

    await assertEnforced(service);
    assert.equal(await launcher.stop(), 0, launcher.stderr());
    assert.deepEqual(await machine.tracesLeft(), []);
  });
}

test(
  "a machine that can have no sandboxes: submissions run, and sandboxes are refused, unless the operator has asked for them",
  LIMIT,
  async (t) => {
    const directory = mkdtempSync(join(tmpdir(), "assay-fallback-"));
    t.after(() => rmSync(directory, { recursive: true }));
    const file = join(directory, "suid_dumpable");
    writeFileSync(file, "1\n");
    const prepare = `mount --bind ${file} /proc/sys/fs/suid_dumpable`;
    const machine = await Machine.with(t, { prepare, sandboxes: 2 });
    assert.match(String(await machine.launcher()), /sandboxes need fs.suid_dumpable 0 or 2/);

    const launcher = await machine.launcher({ sandboxesIfPossible: true });
    if (typeof launcher === "string") throw new Error(launcher);
    assert.match(
      launcher.stderr(),
      /this machine can have no sandboxes, so requests for them are refused .*fs.suid_dumpable/,
    );
    await assert.rejects(hold(launcher), SandboxesImpossibleError);
    const service = await machine.service();
    assert.equal((await ready(service)).status, 200);
    await assertEnforced(service);
    assert.equal(await launcher.stop(), 0, launcher.stderr());
    assert.deepEqual(await machine.tracesLeft(), []);
  },
);

test("swap on: a program gets no swap, whether it was on before or not", LIMIT, async (t) => {
  const machine = await Machine.with(t);
  const launcher = await machine.launcher();
  if (typeof launcher === "string") throw new Error(launcher);
  const slot = await Slot.open(launcher.socket);
  t.after(() => slot.close());
  // More than the limit of 128 MiB, and less than the limit plus the swap that is added while it sleeps.
  const eats = "head -c 160000000 /dev/zero | tail >/dev/null";
  const running = slot.run(shell(`sleep 2; ${eats}`));
  const swap = await swapOn(t);
  if (swap === null) return t.skip("swap cannot be switched on on this machine");
  const { result, evidence } = buildOutcome({ execute: await running });
  assert.deepEqual([result.verdict, evidence?.isolation.mode], ["MLE", "strict"]);

  const { ok, checks, missing } = await (await Machine.with(t)).doctor();
  assert.deepEqual([ok, missing], [true, ["swap"]]);
  assert.match(checks.find(({ name }) => name === "swap")?.means ?? "", /prevents boxes from swapping/);
  const { status, json } = await ready(await machine.service());
  assert.deepEqual([status, json.enforcement_mode], [200, "strict"]);
  const after = buildOutcome({ execute: await slot.run(shell(eats)) });
  assert.equal(after.result.verdict, "MLE");
  swap.stdin?.end();
  await once(swap, "exit");
  slot.close();
  assert.equal(await launcher.stop(), 0, launcher.stderr());
});

test("a container with its own seccomp filter: the launcher's filter is still detected", LIMIT, async (t) => {
  const under = refusing(t, "kexec_load", "EPERM");
  for (const [fault, missing] of [
    [undefined, []],
    ["seccomp_filter", ["seccomp_filter: is not set"]],
  ] as const) {
    const machine = await Machine.with(t, { under, ...(fault && { fault }) });
    const launcher = await machine.launcher();
    if (typeof launcher === "string") throw new Error(launcher);
    const slot = await Slot.open(launcher.socket);
    const { controlsMissing } = await slot.run(shell("true"));
    assert.deepEqual(controlsMissing, missing);
    slot.close();
    assert.equal(await launcher.stop(), 0, launcher.stderr());
  }
});

/**
 * A process that switches on a small swap file, and switches it off when its standard input ends, even if the test
 * dies.
 */
async function swapOn(t: TestContext): Promise<ChildProcess | null> {
  const place = mkdtempSync(join(tmpdir(), "assay-swap-"));
  const file = join(place, "swap");
  // Before the file is removed, and regardless of the result of the test.
  t.after(() => {
    if (readFileSync("/proc/swaps", "utf8").includes(file)) execFileSync("swapoff", [file]);
    rmSync(place, { recursive: true });
  });
  execFileSync("sh", ["-c", `umask 077; dd if=/dev/zero of=${file} bs=1M count=64 2>/dev/null && mkswap ${file}`]);
  const child = spawn("sh", ["-c", `swapon ${file} && echo on && cat; swapoff ${file}`], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const on = await Promise.race([once(child.stdout, "data").then(() => true), once(child, "exit").then(() => false)]);
  return on ? child : null;
}

type Service = Awaited<ReturnType<Machine["service"]>>;

async function ready(service: Service) {
  for (let tries = 0; ; tries++) {
    const answer = await readiness(service);
    if (answer.status === 200 || tries > 100) return answer;
  }
}

/** Checks the three limits by programs of the matrix over HTTPS. */
async function assertEnforced({ ask }: Service): Promise<void> {
  for (const [program, verdict, cause] of [
    ["eats-memory", "MLE", "oom_kill"],
    ["starts-processes-without-end", "PLE", "pids_limit"],
    ["writes-a-big-file", "FSE", "file_size_limit"],
  ] as const) {
    const body = { language: "c", code: source("c", program) };
    const { status, json } = await ask({ method: "POST", path: "/api/submit?wait=true", body });
    assert.equal(status, 200, JSON.stringify(json));
    assert.deepEqual([json.result.verdict, json.result.cause], [verdict, cause], JSON.stringify(json.result));
    assert.equal(json.evidence.isolation.mode, "strict");
    assert.equal(json.evidence.teardown.cleanup_verified, true);
  }
}
