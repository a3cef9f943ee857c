import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type ComposeService, composeServices } from "../../support/deploy/manifests.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { ROOT } from "../../support/repo/documents.ts";
import { PostgresServer } from "../../support/store/postgres-server.ts";
import { freePort } from "../faults/real-serve.ts";
import { Podman } from "./podman.ts";

/** Arguments: port, data directory, key, submission. Runs inside a container, because the containers have no network. */
const SUBMIT = `
import { readFileSync } from "node:fs";
import { request } from "node:https";
const [port, data, key, code] = process.argv.slice(-4);
const ca = readFileSync(data + "/tls/ca.pem");
const headers = { "x-api-key": key, "content-type": "application/json" };
request({ host: "127.0.0.1", port, path: "/api/submit?wait=true", method: "POST", ca, headers }, (answer) =>
  answer.pipe(process.stdout)).end(JSON.stringify({ language: "c", code }));`;

const FORKS = `#include <unistd.h>
int main(void) {
  for (;;) {
    pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) pause();
  }
}`;
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

function submit(podman: Podman, name: string, key: string, code: string, port = "8443", data = "/var/lib/assay") {
  const node = ["/opt/assay/current/node", "--input-type=module", "--eval", SUBMIT];
  const { stdout, stderr } = podman.exec(name, ...node, "--", port, data, key, code);
  assert.match(stdout, /^\{/, stderr);
  return JSON.parse(stdout);
}

const groupsLeft = () =>
  execFileSync("find", ["/sys/fs/cgroup", "-ignore_readdir_race", "-type", "d", "-path", "*libpod-*"], {
    encoding: "utf8",
  });

/** The mirror of Debian that this machine uses. */
function mirror(): string {
  const script = 'here=$1/image start=0 list=$1/image/manifest; . "$here/parts.sh"; debian_mirror';
  return execFileSync("sh", ["-euc", script, "sh", ROOT], { encoding: "utf8" }).trim();
}

test("the documented command returns verdicts, takes a language pack, and keeps its data when its container is replaced", {
  skip: SKIPS_LONG,
}, async (t) => {
  const podman = new Podman(t);
  const [port, operator] = (await Promise.all([freePort(), freePort()])).map(String) as [string, string];
  const authority = join(podman.place, "ca.pem");
  /** The answer that curl on the machine gets. */
  const curl = (path: string, key: string, ...options: string[]) =>
    JSON.parse(
      execFileSync(
        "curl",
        [
          "-sS",
          "--fail-with-body",
          "--cacert",
          authority,
          "-H",
          `X-API-Key: ${key}`,
          ...options,
          `https://localhost:${port}${path}`,
        ],
        { encoding: "utf8" },
      ),
    );
  const submitted = (key: string, language: string, code: string) => {
    const body = ["-H", "Content-Type: application/json", "-d", JSON.stringify({ language, code })];
    return curl("/api/submit?wait=true", key, ...body);
  };

  podman.documented(port, operator, mirror());
  await healthy(podman, "assay");
  podman.ok("cp", "assay:/var/lib/assay/tls/ca.pem", authority);
  const key = podman.ok("exec", "assay", "assay", "keys", "create", "--name", "first");
  const first = submitted(key, "python", "print(6 * 7)");
  assert.deepEqual(
    [
      first.result.verdict,
      first.output.stdout,
      first.evidence.isolation.mode,
      first.evidence.isolation.controls_missing,
    ],
    ["AC", "42\n", "strict", []],
  );

  // Of the root file system, nothing can be written, so the pack is in the volume.
  const added = podman.exec("assay", "assay", "languages", "add", "lua");
  assert.equal(added.status, 0, added.stderr);
  podman.ok("restart", "--time", "60", "assay");
  await healthy(podman, "assay");
  assert.equal(submitted(key, "lua", "print(6 * 7)").output.stdout, "42\n");
  assert.deepEqual(curl(`/api/result/${first.id}`, key), first);

  // The volume has the data and the pack, and not the container.
  podman.ok("rm", "--force", "--time", "60", "assay");
  podman.documented(port, operator, "http://127.0.0.1:1/debian");
  await healthy(podman, "assay");
  assert.equal(submitted(key, "lua", "print(6 * 7)").output.stdout, "42\n");
  assert.deepEqual(curl(`/api/result/${first.id}`, key), first);

  const removed = podman.exec("assay", "assay", "languages", "remove", "lua");
  assert.equal(removed.status, 0, removed.stderr);
  podman.ok("restart", "--time", "60", "assay");
  await healthy(podman, "assay");
  assert.equal(submitted(key, "c", FORKS).result.verdict, "PLE");
  podman.ok("rm", "--force", "--time", "60", "assay");
  assert.equal(groupsLeft(), "");
});

test("an image of this checkout, run like compose.yaml, contains hostile programs, survives a kill and leaves nothing", {
  skip: SKIPS_LONG,
}, async (t) => {
  const podman = new Podman(t);
  const { assay, service, worker } = composeServices() as Record<"assay" | "service" | "worker", ComposeService>;

  await t.test("the image has neither a key nor a database", () => {
    const root = podman.ok("image", "mount", "assay");
    const look = `find ${root}/opt/assay ${root}/var/lib -maxdepth 4 -name '*.key' -o -maxdepth 4 -name '*.sqlite'`;
    const found = execFileSync("sh", ["-c", look]);
    assert.equal(found.toString(), "");
    assert.equal(execFileSync("ls", ["-A", `${root}/var/lib/assay`]).toString(), "");
    podman.ok("image", "umount", "assay");
  });

  let key = "";
  await t.test("programs that exhaust processes and memory get their verdicts, with every control", async () => {
    podman.start("one", assay);
    await healthy(podman, "one");
    const elsewhere = podman.exec("one", "env", "ASSAY_OPERATOR_LISTEN=127.0.0.1:1", "healthy");
    assert.deepEqual([elsewhere.status, /ECONNREFUSED/.test(elsewhere.stderr)], [1, true], elsewhere.stderr);
    key = podman.ok("exec", "one", "assay", "keys", "create", "--name", "first");
    assert.match(key, /^assay_live_[\w-]+$/);
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

  await t.test("service and launcher have their usual users and capabilities, and no log has the key", () => {
    const look =
      'for one in /proc/[0-9]*; do echo "$(readlink $one/exe) $(grep -E "^(Uid|CapEff)" $one/status | tr -s "\\t\\n" " ")"; done';
    const processes = podman.ok("exec", "one", "sh", "-c", look);
    assert.match(processes, /\/node Uid: 10001 10001 10001 10001 CapEff: 0{16}/);
    assert.match(processes, /\/assay-launcher Uid: 0 0 0 0 CapEff: 0{9}[89]ac01e3 /);
    const { stdout, stderr } = podman.run("logs", "one");
    assert.ok(!(stdout + stderr).includes("assay_live_"));
  });

  await t.test("a killed launcher is restarted", async () => {
    const kill =
      "cd /proc; for one in [0-9]*; do case $(readlink $one/exe) in *assay-launcher) kill -KILL $one; exit;; esac; done";
    podman.ok("exec", "one", "sh", "-c", kill);
    await sleep(6_000); // longer than a self-test is valid
    await healthy(podman, "one");
    assert.equal(submit(podman, "one", key, FORKS).result.verdict, "PLE");
  });

  await t.test(
    "it stops with 0 and leaves nothing, and the next container has the same key and certificate",
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

  await t.test("with PostgreSQL, an unprivileged service and a separate worker run programs together", async () => {
    const server = await PostgresServer.start();
    const [port = "", ofService = "", ofWorker = ""] = (await Promise.all([freePort(), freePort(), freePort()])).map(
      String,
    );
    const shared = { ASSAY_DATABASE: server.url(await server.createDatabase()), ASSAY_WORKERS: "1" };
    const at = (operator: string) => ({ ...shared, ASSAY_OPERATOR_LISTEN: `127.0.0.1:${operator}` });
    const listen = { ...at(ofService), ASSAY_LISTEN: `127.0.0.1:${port}` };
    podman.start("service", { ...service, environment: { ...service.environment, ...listen } }, "host");
    podman.start("worker", { ...worker, environment: at(ofWorker) }, "host");
    await healthy(podman, "service", "/live");
    await healthy(podman, "worker");
    await healthy(podman, "service");
    const status = podman.ok("exec", "service", "grep", "-E", "^(Uid|Cap(Prm|Eff|Bnd)|NoNewPrivs)", "/proc/1/status");
    assert.deepEqual(
      status.split("\n").map((line) => line.split("\t").at(-1)),
      ["10001", "0".repeat(16), "0".repeat(16), "0".repeat(16), "1"],
    );
    const made = podman.ok("exec", "service", "assay", "keys", "create", "--name", "first");
    const { result, evidence } = submit(podman, "service", made, FORKS, port, service.environment?.ASSAY_DATA);
    assert.deepEqual([result.verdict, evidence.isolation.mode], ["PLE", "strict"]);
    podman.ok("stop", "--time", "60", "service", "worker");
    const codes = podman.ok("inspect", "--format", "{{.State.ExitCode}}", "service", "worker");
    assert.equal(codes, "0\n0");
    assert.equal(groupsLeft(), "");
    await server.stop();
  });

  await t.test("without a required capability it fails with a message and runs nothing", () => {
    for (const lost of ["SYS_ADMIN", "MKNOD"]) {
      const kept = assay.cap_add?.filter((name) => name !== lost) ?? [];
      const doctor = podman.once({ ...assay, cap_add: kept }, "doctor");
      assert.equal(doctor.status, 1, `${lost}: ${doctor.stdout}${doctor.stderr}`);
      assert.match(doctor.stdout, /\nNOT ready: nothing is run\n$/, lost);
      assert.doesNotMatch(doctor.stdout, /^works +language/m, lost);
    }
  });
});
