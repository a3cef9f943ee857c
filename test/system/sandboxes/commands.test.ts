import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type Ended, MAIN } from "../../support/cli/processes.ts";
import { useProduct } from "../../support/programs/product.ts";

const product = useProduct({ sandboxes: 8 });

function environment(): NodeJS.ProcessEnv {
  const { service, data, key } = product();
  const url = `https://127.0.0.1:${service.port}`;
  return { ...process.env, ASSAY_URL: url, ASSAY_KEY: key, ASSAY_CA: join(data, "tls", "server.pem") };
}

/** Runs `assay sandbox` to its end, without input. */
function sandbox(...args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [MAIN, "sandbox", ...args],
      { env: environment() },
      (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, stdout, stderr }),
    );
    child.stdin?.end();
  });
}

/** What a command that succeeds prints. */
async function printed(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await sandbox(...args);
  assert.deepEqual([code, stderr], [0, ""], args.join(" "));
  return stdout;
}

/** Runs a command that fails with this message. */
async function refused(message: RegExp, ...args: readonly string[]): Promise<void> {
  const { code, stderr } = await sandbox(...args);
  assert.notEqual(code, 0, args.join(" "));
  assert.match(stderr, message);
}

test("a sandbox is what its options ask for, and `change` changes it", async () => {
  const asked = ["--memory", "256", "--files", "64", "--inodes", "1000", "--processes", "50", "--cpus", "1"];
  const life = ["--lifetime", "300", "--idle", "100", "--on-timeout", "end"];
  const own = ["--env", "A=b=c", "--metadata", "task=seven", "--metadata", "of=one two&=three"];
  const id = (await printed("create", ...asked, ...life, ...own)).trim();
  const record = JSON.parse(await printed("get", id, "--json"));
  assert.deepEqual(record.limits, {
    ...{ memory_bytes: 268_435_456, processes: 50, storage: "memory", disk_bytes: 67_108_864, inodes: 1000, cpus: 1 },
  });
  assert.deepEqual([record.lifetime_secs, record.idle_secs], [300, 100]);
  assert.deepEqual(record.metadata, { task: "seven", of: "one two&=three" });
  assert.match(await printed("get", id), /^state {2}running$/m);
  assert.equal(await printed("run", "--sandbox", id, "--", "printenv", "A"), "b=c\n");
  const found = async (...which: string[]) => (await printed("list", ...which)).split("\n")[0]?.split("  ")[0];
  assert.equal(await found("--metadata", "of=one two&=three"), id);
  assert.equal(await found("--metadata", "task=eight"), "");
  assert.equal(await printed("change", id, "--lifetime", "400", "--metadata", "task=eight"), "");
  const changed = JSON.parse(await printed("get", id, "--json"));
  assert.deepEqual([changed.lifetime_secs, changed.idle_secs, changed.metadata], [400, 100, { task: "eight" }]);
  assert.equal(await found("--metadata", "task=eight"), id);
  await refused(/name what to change/, "change", id);
  await refused(/--memory is only for a new sandbox/, "run", "--sandbox", id, "--memory", "64", "--", "true");
  await refused(/Allowed choices are/, "list", "--state", "asleep");
  await printed("end", id);
  assert.match(await printed("get", id), /^end_reason {2}client$/m);
  assert.equal(await found("--state", "ended", "--metadata", "task=eight"), id);
});

test("`pause` stops what runs until `resume`, and `metrics` says what a sandbox uses", async () => {
  const id = (await printed("create")).trim();
  await printed("pause", id);
  assert.match(await printed("list"), new RegExp(`^${id}  paused  `, "m"));
  assert.match(await printed("list", "--state", "paused"), new RegExp(`^${id}  paused  `));
  await refused(/paused/, "run", "--sandbox", id, "--", "true");
  await printed("resume", id);
  assert.equal(await printed("run", "--sandbox", id, "--", "echo", "on"), "on\n");
  assert.match(await printed("metrics", id), /^memory_bytes {2}[1-9]\d+$/m);
  assert.ok(Array.isArray(JSON.parse(await printed("metrics", id, "--samples", "--json")).samples));
  await printed("end", id);
});

test("executions in the background are listed, followed, signalled and killed", async () => {
  const id = (await printed("create")).trim();
  const begin = async (shell: string) => (await printed("run", "--sandbox", id, "--background", "--", shell)).trim();
  const first = await begin("trap 'echo ended; exit 7' TERM; echo out; echo err >&2; while :; do sleep 0.1; done");
  assert.equal(first, "1");
  const following = spawn(process.execPath, [MAIN, "sandbox", "output", id, first], { env: environment() });
  const closed = once(following, "close");
  const streams = { stdout: "", stderr: "" };
  const begun = Promise.withResolvers<void>();
  for (const name of ["stdout", "stderr"] as const)
    following[name].on("data", (text: Buffer) => {
      streams[name] += text;
      if (streams.stdout !== "" && streams.stderr !== "") begun.resolve();
    });
  await begun.promise;
  assert.match(await printed("executions", id), /^1 {2}running {2}\S+ {2}- {2}background {2}trap /);
  await printed("kill", id, first, "--signal", "SIGTERM");
  assert.deepEqual((await closed)[0], 7);
  assert.equal(streams.stdout, "out\nended\n");
  assert.match(streams.stderr, /^err\nassay: RE: /);
  const [second, third] = [await begin("echo again; sleep 1000"), await begin("sleep 1000")];
  await printed("kill", id, second, third);
  const killed = await sandbox("output", id, second);
  assert.equal(killed.code, 137, killed.stderr);
  const numbers = (await printed("executions", id, "--json"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    numbers.map(({ number, status }) => [number, status]),
    [3, 2, 1].map((number) => [number, "completed"]),
  );
  await refused(/execution not found/, "kill", id, "9");
  await refused(/--background needs an existing sandbox/, "run", "--background", "--", "true");
  await printed("end", id);
});

test("`run` has the directory, variables and limits of its options, and passes signals on", async () => {
  const id = (await printed("create")).trim();
  const around = ["--cwd", "/tmp", "--env", "B=c", "--"];
  assert.equal(await printed("run", "--sandbox", id, ...around, "pwd; echo $B"), "/tmp\nc\n");
  await refused(/^assay: TLE: /, "run", "--sandbox", id, "--wall-time", "1", "--", "sleep", "100");
  await refused(/^assay: TLE: /, "run", "--sandbox", id, "--cpu-time", "1", "--", "while :; do :; done");
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    const shell = `trap 'exit 9' ${signal.slice(3)}; echo ready; while :; do sleep 0.1; done`;
    const child = spawn(process.execPath, [MAIN, "sandbox", "run", "--sandbox", id, "--", shell], {
      env: environment(),
    });
    await once(child.stdout, "data");
    child.kill(signal);
    assert.deepEqual(await once(child, "close"), [9, null], signal);
  }
  await printed("end", id);
});

test("files are copied into a directory, and a snapshot begins another sandbox", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "assay-commands-"));
  t.after(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, "file"), "of this machine");
  mkdirSync(join(directory, "there"));
  const id = (await printed("create")).trim();
  await printed("run", "--sandbox", id, "--", "mkdir d; echo old > d/keep");
  await printed("cp", join(directory, "file"), `${id}:d/`);
  await printed("cp", `${id}:d/file`, join(directory, "there"));
  assert.equal(readFileSync(join(directory, "there/file"), "utf8"), "of this machine");
  const snapshot = (await printed("snapshot", id, "--name", "both files")).trim();
  assert.match(
    await printed("snapshots", "list"),
    new RegExp(`^${snapshot}  \\d+  \\d+  \\S+  ${id}  both files$`, "m"),
  );
  const [newest = ""] = (await printed("snapshots", "list", "--json")).split("\n");
  const listed = JSON.parse(newest);
  assert.deepEqual([listed.id, listed.name], [snapshot, "both files"]);
  assert.equal(await printed("run", "--from", snapshot, "--", "cat d/keep d/file"), "old\nof this machine");
  await printed("snapshots", "delete", snapshot);
  assert.doesNotMatch(await printed("snapshots", "list"), new RegExp(snapshot));
  await refused(/snapshot/, "create", "--from", snapshot);
  await printed("end", id);
});

test("a shell opens in a sandbox that lives, and leaves it alone", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "assay-commands-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const id = (await printed("create")).trim();
  await printed("run", "--sandbox", id, "--", "mkdir inside");
  const command = `${process.execPath} ${MAIN} sandbox shell ${id} --cwd inside --env C=variable`;
  const shell = spawn("script", ["-qec", command, join(directory, "log")], { env: environment() });
  let seen = "";
  shell.stdout.on("data", (text: Buffer) => {
    const before = seen;
    seen += text;
    if (/\$ $/.test(seen) && !/\$ /.test(before)) shell.stdin.write('echo "$C in $PWD"; exit 6\r');
  });
  assert.deepEqual((await once(shell, "close"))[0], 6, seen);
  assert.match(seen, /variable in \/home\/user\/inside/);
  assert.match(await printed("list"), new RegExp(`^${id}  running`, "m"));
  await printed("end", id);
});
