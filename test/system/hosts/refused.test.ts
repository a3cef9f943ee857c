import assert from "node:assert/strict";
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { anotherBuild, forEveryUser } from "./another-build.ts";
import { directory, type Host, Machine, readiness, refusing, without } from "./host.ts";

/**
 * Machines on which no box can be strict. Each is created for real, in a mount namespace or under a filter, and checked
 * through the launcher, the doctor and the service's readiness.
 */
interface Row {
  readonly host: (t: TestContext) => Host;
  /** The launcher's error at its start; absent if it starts and each slot reports why it has no box. */
  readonly launcher?: RegExp;
  /** The required checks that fail in the doctor, and the remedy of the first one. */
  readonly missing: readonly string[];
  readonly remedy: RegExp;
  /** The service's log; if the launcher is missing, the connection error. */
  readonly log?: RegExp;
}

const LIMIT = { timeout: 120_000 };
const NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
const READ_ONLY = `awk '$3 ~ /^cgroup2?$/ { print $2 }' /proc/self/mounts | while read -r at; do
  mount -o remount,bind,ro "$at"; done`;
const NO_CONTROLLERS =
  /cgroup: (no memory and pids controllers in v1 or v2|delegate \+memory \+pids.*): (No such file or directory|Invalid argument)\n$/;

const ROWS: Readonly<Record<string, Row>> = {
  "no memory controller": {
    host: (t) => ({ prepare: without(t, "memory") }),
    launcher: NO_CONTROLLERS,
    missing: ["cgroup"],
    remedy: /mount the memory and pids controllers/,
  },
  "no pids controller": {
    host: (t) => ({ prepare: without(t, "pids") }),
    launcher: NO_CONTROLLERS,
    missing: ["cgroup"],
    remedy: /mount the memory and pids controllers/,
  },
  "control groups read-only": {
    host: () => ({ prepare: READ_ONLY }),
    launcher: /cgroup: .*: Read-only file system\n$/,
    missing: ["cgroup"],
    remedy: /writable/,
  },
  "not root": {
    host: (t) => ({ under: NOBODY, program: forEveryUser(directory(t)) }),
    launcher: /^assay-launcher: start: needs root: Operation not permitted\n$/,
    missing: ["root", "pid_namespace", "mount_namespace", "network_namespace", "ipc_namespace", "uts_namespace"],
    remedy: /^run it with sudo$/,
  },
  "root without capabilities, as in an unprivileged container": {
    host: () => ({ under: ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"] }),
    launcher: /namespaces: mount namespace of the launcher: Operation not permitted\n$/,
    missing: ["pid_namespace", "mount_namespace", "network_namespace", "ipc_namespace", "uts_namespace"],
    remedy: /run as root outside an unprivileged container/,
  },
  "a kernel before 5.3, without clone3": {
    host: (t) => ({ under: refusing(t, "clone3", "ENOSYS") }),
    missing: ["kernel", "box"],
    remedy: /Linux 5\.9 or newer/,
    log: /no box: namespaces [^"]* \(errno 38\)/,
  },
  "a kernel before 5.9, without close_range": {
    host: (t) => ({ under: refusing(t, "close_range", "ENOSYS") }),
    missing: ["kernel", "box"],
    remedy: /Linux 5\.9 or newer/,
    log: /no box: box descriptors close \(errno 38\)/,
  },
  "a kernel without seccomp": {
    host: (t) => ({ under: refusing(t, "seccomp", "ENOSYS") }),
    missing: ["seccomp", "box"],
    remedy: /CONFIG_SECCOMP_FILTER/,
    log: /no box: seccomp filter \(errno 38\)/,
  },
  "no image": {
    host: (t) => ({ image: directory(t) }),
    launcher: /mount: image .*rootfs: No such file or directory\n$/,
    missing: ["image"],
    remedy: /image\//,
  },
  "an image without the mount points of a box": {
    host: (t) => ({ image: emptyImage(t, 0o755, ["box", "tmp", "proc"]) }),
    launcher: /image: has no directory \/dev: Not a directory\n$/,
    missing: ["image"],
    remedy: /image\//,
  },
  "an image that others can write to": {
    host: (t) => ({ image: emptyImage(t, 0o777, ["box", "tmp", "proc", "dev"]) }),
    launcher: /image: is writable by users other than root: Operation not permitted\n$/,
    missing: ["image"],
    remedy: /image\//,
  },
  "an image without working programs": {
    host: (t) => ({ image: emptyImage(t, 0o755, ["box", "tmp", "proc", "dev"]) }),
    missing: ["language c", "language python"],
    remedy: /image\//,
    log: /its smoke test ended as IE|no box/,
  },
  "a launcher of another build": {
    host: (t) => ({ program: anotherBuild(directory(t)) }),
    missing: ["build"],
    remedy: /assay serve/,
    log: /the launcher has another build \(0123456789abcdef\) than this service \([0-9a-f]{16}\)/,
  },
};

for (const [what, row] of Object.entries(ROWS)) {
  test(`${what}: nothing runs, and the reason is reported`, LIMIT, async (t) => {
    const machine = await Machine.with(t, row.host(t));

    const { ok, checks, missing } = await machine.doctor();
    assert.equal(ok, false);
    const optional = checks.filter(({ needed, works }) => !needed && !works).map(({ name }) => name);
    const expected = missing.filter((name) => row.missing.includes(name) || !optional.includes(name));
    for (const name of row.missing) assert.ok(missing.includes(name), `${name} does not fail: ${missing}`);
    assert.equal(expected[0], row.missing[0], "the first failed check is not the reason");
    assert.match(checks.find(({ name }) => name === row.missing[0])?.remedy ?? "", row.remedy);
    assert.ok(
      checks.every(({ name, works }) => !works || !name.startsWith("language ")),
      "a program ran",
    );

    const launcher = await machine.launcher();
    const error = typeof launcher === "string" ? launcher : "";
    assert.match(error, row.launcher ?? /^$/);

    const service = await machine.service();
    const { status, json, checks: reported } = await readiness(service);
    assert.deepEqual([status, json.status, "enforcement_mode" in json], [503, "not_ready", false]);
    assert.ok(reported.length > 0 && reported.every(({ ok, detail }) => !ok && detail.length > 0));
    assert.match(service.words(), row.log ?? /the launcher cannot be reached/);
    const submitted = await service.submit();
    assert.deepEqual(
      [submitted.status, submitted.json.error],
      [503, submitted.json.error],
      "no submission is accepted",
    );
    assert.equal((await service.ask({ path: "/api/health" })).json.enforcement_mode, "none");

    if (typeof launcher !== "string") assert.equal(await launcher.stop(), 0);
    assert.deepEqual(await machine.tracesLeft(), []);
  });
}

function emptyImage(t: TestContext, mode: number, names: readonly string[]): string {
  const image = directory(t);
  for (const name of names) mkdirSync(join(image, "rootfs", name), { recursive: true });
  chmodSync(join(image, "rootfs"), mode);
  return image;
}
