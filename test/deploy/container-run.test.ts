import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { TOO_LONG } from "../engine/long.ts";
import { type ComposeService, composeServices } from "./manifests.ts";
import { Podman, podmanOptions } from "./podman.ts";

/** Submits its last argument, with the key before it, from within: the trial's containers have no network but loopback. */
const SUBMIT = `
import { readFileSync } from "node:fs";
import { request } from "node:https";
const [key, code] = process.argv.slice(-2);
const ca = readFileSync("/var/lib/assay/tls/ca.pem");
const headers = { "x-api-key": key, "content-type": "application/json" };
request({ host: "127.0.0.1", port: 8443, path: "/api/submit?wait=true", method: "POST", ca, headers }, (answer) =>
  answer.pipe(process.stdout)).end(JSON.stringify({ language: "c", code }));`;

const FORKS = "#include <unistd.h>\nint main(void) { for (;;) fork(); }";
const HUNGRY =
  "#include <stdlib.h>\n#include <string.h>\nint main(void) { for (;;) memset(malloc(1 << 20), 1, 1 << 20); }";

async function healthy(podman: Podman, name: string, path = "/ready"): Promise<void> {
  const giveUpAt = performance.now() + 180_000;
  for (;;) {
    const { status } = podman.exec(name, "healthy", path);
    if (status === 0) return;
    const { stdout, stderr } = podman.run("logs", name);
    assert.ok(performance.now() < giveUpAt, `${name} is not healthy: ${stdout}${stderr}`);
    await sleep(500);
  }
}

function submit(podman: Podman, name: string, key: string, code: string) {
  const node = ["/opt/assay/current/node", "--input-type=module", "--eval", SUBMIT];
  const { stdout, stderr } = podman.exec(name, ...node, "--", key, code);
  assert.match(stdout, /^\{/, stderr);
  return JSON.parse(stdout);
}

const groupsLeft = () =>
  execFileSync("find", ["/sys/fs/cgroup", "-type", "d", "-path", "*libpod-*"], { encoding: "utf8" });

test("an image of this checkout runs hostile programs with what compose.yaml gives it, survives a kill, and leaves nothing", {
  skip: TOO_LONG,
}, async (t) => {
  const podman = new Podman(t);
  const { assay } = composeServices() as { assay: ComposeService };

  await t.test("it has neither a key nor a database", () => {
    const root = podman.ok("image", "mount", "assay");
    const data = [`${root}/opt/assay`, `${root}/var/lib/assay`, `${root}/var/lib/assay-service`];
    const found = execFileSync("find", [
      ...data,
      "-maxdepth",
      "2",
      "(",
      "-name",
      "*.key",
      "-o",
      "-name",
      "*.sqlite",
      ")",
    ]);
    assert.equal(found.toString(), "");
    assert.equal(execFileSync("ls", ["-A", `${root}/var/lib/assay`]).toString(), "");
    podman.ok("image", "umount", "assay");
  });

  let key = "";
  await t.test("programs that eat processes and memory get their verdicts, with every control", async () => {
    podman.start("one", assay);
    await healthy(podman, "one");
    key = podman.ok("exec", "one", "assay", "keys", "create", "--name", "first");
    assert.match(key, /^assay_live_\w+$/);
    for (const [code, verdict, cause] of [
      [FORKS, "PLE", "pids_limit"],
      [HUNGRY, "MLE", "oom_kill"],
    ] as const) {
      const { result, evidence } = submit(podman, "one", key, code);
      assert.deepEqual([result.verdict, result.cause, result.actor], [verdict, cause, "kernel"]);
      assert.deepEqual([evidence.isolation.mode, evidence.isolation.controls_missing], ["strict", []]);
      assert.equal(evidence.isolation.controls_applied.length, 17);
      assert.equal(evidence.teardown.cleanup_verified, true);
    }
    const doctor = podman.exec("one", "assay", "doctor");
    assert.match(doctor.stdout, /\nready to run programs with full isolation\n$/, doctor.stdout + doctor.stderr);
  });

  await t.test(
    "service and launcher have the users and capabilities of any other machine, and the key is in no log",
    () => {
      const look =
        'for one in /proc/[0-9]*; do echo "$(readlink $one/exe) $(grep -E "^(Uid|CapEff)" $one/status | tr -s "\\t\\n" " ")"; done';
      const processes = podman.ok("exec", "one", "sh", "-c", look);
      assert.match(processes, /\/node Uid: 10001 10001 10001 10001 CapEff: 0{16}/);
      assert.match(processes, /\/assay-launcher Uid: 0 0 0 0 CapEff: 00000000008/);
      const { stdout, stderr } = podman.run("logs", "one");
      assert.ok(!(stdout + stderr).includes("assay_live_"));
      assert.match(stderr, /there is no key yet; in here: assay keys create --name first/);
    },
  );

  await t.test("a launcher that is killed is started again", async () => {
    const kill =
      "cd /proc; for one in [0-9]*; do case $(readlink $one/exe) in *assay-launcher) kill -KILL $one; exit;; esac; done";
    podman.ok("exec", "one", "sh", "-c", kill);
    await sleep(6_000); // longer than a proof is good for
    await healthy(podman, "one");
    assert.equal(submit(podman, "one", key, FORKS).result.verdict, "PLE");
  });

  await t.test(
    "it stops with 0, nothing is left, and the next one has the same key and the same certificate",
    async () => {
      const authority = podman.ok("exec", "one", "cat", "/var/lib/assay/tls/ca.pem");
      podman.ok("stop", "--time", "60", "one");
      assert.equal(podman.ok("inspect", "one", "--format", "{{.State.ExitCode}}"), "0");
      assert.equal(groupsLeft(), "");
      podman.ok("rm", "one");
      podman.start("two", assay);
      await healthy(podman, "two");
      assert.equal(podman.ok("exec", "two", "cat", "/var/lib/assay/tls/ca.pem"), authority);
      assert.equal(submit(podman, "two", key, FORKS).result.verdict, "PLE");
      podman.ok("rm", "--force", "--time", "60", "two");
      assert.equal(groupsLeft(), "");
    },
  );

  await t.test("with less it refuses, and says what it is; it never runs anything with less", () => {
    const less: readonly (readonly [string, ComposeService, RegExp])[] = [
      [
        "no capabilities",
        { ...assay, cap_add: assay.cap_add?.filter((name) => name !== "SYS_ADMIN") ?? [] },
        /NOT ready/,
      ],
      ["the machine's own groups", { ...assay, cgroup: "host" }, /(Read-only file system|cgroup)[\s\S]*NOT ready/],
    ];
    for (const [what, service, words] of less) {
      const limits = ["--ulimit", "nofile=8192:8192", "--ulimit", "nproc=8192:8192"];
      const doctor = podman.run(
        "run",
        "--rm",
        "--network",
        "none",
        ...limits,
        ...podmanOptions(service),
        "assay",
        "doctor",
      );
      assert.equal(doctor.status, 1, `${what}: ${doctor.stdout}${doctor.stderr}`);
      assert.match(doctor.stdout, words, what);
      assert.doesNotMatch(doctor.stdout, /^works +language/m);
    }
  });
});
