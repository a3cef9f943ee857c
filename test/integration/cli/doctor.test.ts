import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { MEANINGS } from "../../../src/domain/remedies.ts";
import { assay } from "../../support/cli/processes.ts";
import { NAMES } from "../../support/languages/directory.ts";
import { environment, type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { tracesLeft } from "../../support/launcher/machine.ts";

const LIMIT = { timeout: 60_000 };

interface Finding {
  readonly name: string;
  readonly works: boolean;
  readonly needed: boolean;
  readonly detail: string;
  readonly means?: string;
  readonly remedy?: string;
}

/** Instance and uids of a launcher that has ended, for a command that brings its own launcher. */
async function place(): Promise<Launcher> {
  const launcher = await startLauncher();
  assert.equal(await launcher.stop(), 0);
  return launcher;
}

const LAUNCHER = () => `${environment("ASSAY_TEST_LAUNCHER")}.delegated`;

async function doctor({ instance, uidBase }: Launcher, launcher: string, image: string, ...more: string[]) {
  const engine = ["--launcher", launcher, "--image", image, "--instance", instance, "--uid-base", String(uidBase)];
  engine.push("--image-bytes", "4294967296");
  return assay("doctor", ...engine, ...more);
}

async function findings(where: Launcher, launcher: string, image: string) {
  const { code, stdout, stderr } = await doctor(where, launcher, image, "--json");
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Finding[] };
  return { code, ok, checks, stderr, named: (name: string) => checks.find((check) => check.name === name) };
}

function directory(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), "assay-doctor-test-"));
  t.after(() => rmSync(made, { recursive: true }));
  return made;
}

/** A launcher that is this shell script. */
function script(t: TestContext, text: string): string {
  const path = join(directory(t), "launcher");
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** Whether a failure has a meaning and a remedy, and a success has neither. */
function explained({ works, means, remedy }: Finding): boolean {
  return works ? means === undefined && remedy === undefined : Boolean(means) && Boolean(remedy);
}

test("tests every control and language on this machine successfully", LIMIT, async () => {
  const where = await place();
  const { code, ok, checks } = await findings(where, LAUNCHER(), environment("ASSAY_TEST_IMAGE"));
  const needed = checks.filter((check) => check.needed);
  assert.deepEqual(
    needed.filter(({ works }) => !works),
    [],
  );
  assert.deepEqual([code, ok], [0, true]);
  const controls = Object.keys(MEANINGS).filter((name) => !["launcher", "language", "runtime"].includes(name));
  const runtimes = ["java", "javascript", "python", "typescript"].map((name) => `runtime ${name}`);
  assert.deepEqual(
    checks.map(({ name }) => name).sort(),
    [...controls, ...runtimes, ...NAMES.map((name) => `language ${name}`)].sort(),
  );
  assert.ok(checks.every(({ detail }) => detail.length > 0));
  assert.ok(checks.every(explained));
  assert.ok(checks.filter(({ name }) => /^(language|runtime) /.test(name)).every(({ works }) => works));
  assert.deepEqual(await tracesLeft(where), []);
});

test("detects an image without /box, prints the remedy and runs nothing", LIMIT, async (t) => {
  const image = directory(t);
  for (const name of ["proc", "dev", "tmp"]) mkdirSync(join(image, "rootfs", name), { recursive: true });
  const where = await place();
  const { code, ok, checks, named } = await findings(where, LAUNCHER(), image);
  assert.deepEqual([code, ok], [1, false]);
  const found = named("image");
  assert.ok(found);
  assert.deepEqual([found.works, found.needed], [false, true]);
  assert.match(found.detail, /\/box/);
  assert.match(found.remedy ?? "", /image\//);
  assert.equal(
    checks.some(({ name }) => name.startsWith("language ")),
    false,
  );
  assert.ok(checks.every(explained));
  assert.deepEqual(await tracesLeft(where), []);
});

test("names formats with a host interpreter (flag F) only", LIMIT, async (t) => {
  const formats = directory(t);
  // The launcher runs in a mount namespace of its own: a registered format would apply to the whole machine.
  const mount = `mount --bind ${formats} /proc/sys/fs/binfmt_misc; exec "$0" "$@"`;
  const within = `exec unshare --mount --propagation private sh -euc '${mount}' ${LAUNCHER()} "$@"`;
  const look = async (text: string) => {
    writeFileSync(join(formats, "foreign"), text);
    const { named } = await findings(await place(), script(t, within), directory(t));
    return [named("formats")?.works, named("formats")?.detail];
  };
  const rest = "offset 0\nmagic 7f454c46\n";
  assert.deepEqual(await look(`enabled\ninterpreter /usr/bin/foreign\nflags: OCF\n${rest}`), [false, "foreign"]);
  const [none, nothing] = await look(`enabled\ninterpreter /usr/bin/Foreign\nflags: OC\n${rest}`);
  assert.deepEqual([none, nothing], [true, "no interpreter of the host is reachable"]);
  assert.equal((await look(`disabled\ninterpreter /usr/bin/foreign\nflags: F\n${rest}`))[0], true);
});

for (const [name, launcher, detail] of [
  ["is not there", () => "/nonexistent/assay-launcher", /^it cannot be started: .*ENOENT/],
  ["is killed", (t: TestContext) => script(t, "kill -9 $$"), /^it ended with SIGKILL$/],
  ["fails with a word", (t: TestContext) => script(t, "echo no such luck >&2; exit 3"), /^no such luck$/],
  ["dies when it should serve", (t: TestContext) => script(t, '[ "$1" = --check ] || kill -9 $$'), /SIGKILL$/],
] as const) {
  test(`reports a launcher that ${name}, without a crash or a wait`, LIMIT, async (t) => {
    const where = { instance: "no-instance", uidBase: 1_999_000_000 } as Launcher;
    const { code, ok, checks, stderr } = await findings(where, launcher(t), "/nonexistent");
    assert.deepEqual([code, ok, stderr], [1, false, ""]);
    assert.deepEqual(
      checks.map((check) => [check.name, check.works, check.needed]),
      [["launcher", false, true]],
    );
    assert.match(checks[0]?.detail ?? "", detail);
    assert.ok(checks.every(explained));
  });
}

test("prints a line for each check, with meaning and remedy for a missing control", LIMIT, async (t) => {
  const good = '{"check":"root","works":true,"detail":"yes"}';
  const bad = '{"check":"seccomp","works":false,"detail":"EINVAL"}';
  const launcher = script(t, `echo '${good}'; echo '${bad}'; exit 1`);
  const { code, stdout } = await doctor({ instance: "no", uidBase: 1 } as Launcher, launcher, "/nonexistent");
  assert.equal(code, 1);
  const lines = stdout.split("\n");
  assert.match(lines[0] ?? "", /works +root +yes$/);
  assert.match(lines[1] ?? "", /MISSING +seccomp +EINVAL$/);
  assert.match(lines[2] ?? "", /means: +dangerous system calls/);
  assert.match(lines[3] ?? "", /remedy: +use a kernel with CONFIG_SECCOMP_FILTER/);
  assert.match(stdout, /NOT ready: nothing is run\n$/);
  assert.equal(stdout.includes("launcher"), false, "the check that failed is the reason");
});

test("reports missing optional controls without failing", LIMIT, async (t) => {
  const line = '{"check":"bpf","works":false,"detail":"EPERM"}';
  const { stdout } = await doctor(
    { instance: "no", uidBase: 1 } as Launcher,
    script(t, `echo '${line}'; exit 1`),
    "/nonexistent",
  );
  assert.match(stdout, /without +bpf +EPERM/);
});
