import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, closeSync, existsSync, mkdirSync, openSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { directory, script, setup, shell } from "./service-shell.ts";

// Attacks of a compromised service on root's commands.
const DAEMON = 1;

test("a process of the service's user has no descriptor of its caller above 2", (t) => {
  const lock = openSync(join(directory(t), "lock"), "w", 0o600);
  t.after(() => closeSync(lock));
  const { stdout, stderr } = shell(
    "(as_service sh -c 'for fd in /proc/$$/fd/*; do [ ! -e $fd ] || basename $fd; done')",
    { LC_ALL: "none_NONE", LC_CTYPE: "none_NONE" },
    Array(10).fill(lock), // 3 to 12
  );
  assert.deepEqual(stdout.match(/^\d+/gm), ["0", "1", "2"], `${stdout}${stderr}`);
  assert.equal(stderr, "");
});

test("the supervisor has only the needed variables before it starts a process of the service's user", () => {
  const secrets = {
    AWS_SECRET_ACCESS_KEY: "secret",
    "npm.token": "secret",
    "with blank": "secret",
    kept: " SECRET ",
    SECRET: "1",
  };
  const { stdout, stderr } = shell(
    `supervise --process test --user "$(user_ids)" --run 2 sleep 30
     until read -r name </proc/$supervisor_pid/comm && [ "$name" = assay-superviso ]; do sleep 0.01; done
     cat /proc/$supervisor_pid/environ
     end_processes`,
    { ASSAY_DATABASE: "url", data: "/data", ...secrets },
  );
  const found = stdout
    .split("\0")
    .slice(0, -1)
    .map((pair) => pair.slice(0, pair.indexOf("=")));
  const settings = Object.keys(process.env).filter(
    (name) => /^ASSAY_[A-Z0-9_]+$/.test(name) && process.env[name] !== "",
  );
  const needed = ["ASSAY_DATA", "ASSAY_DATABASE", "LANG", "MALLOC_MMAP_THRESHOLD_", "PATH", "TMPDIR", ...settings];
  for (const name of ["TERM", "NO_COLOR"]) if (process.env[name]) needed.push(name);
  assert.deepEqual(found.sort(), [...new Set(needed)].sort(), stderr);
});

test("a process of the service's user does not keep its caller's working directory", (t) => {
  const secret = join(directory(t), "private");
  mkdirSync(join(secret, "open"), { recursive: true, mode: 0o700 });
  const { stdout, stderr } = shell(`cd ${secret}/open; (as_service sh -c 'readlink /proc/$$/cwd')`);
  assert.equal(stdout, "/\n", stderr);
});

test("a process of the service's user does not possess its caller's session keyring", (t) => {
  const [keyctl, addKey] = process.arch === "x64" ? [250, 248] : [219, 217];
  const lines = join(directory(t), "lines");
  // KEYCTL_SEARCH and KEYCTL_READ, in the session keyring.
  const read = `
    my ($type, $name, $value) = ("user", "assay-test", "-" x 6);
    my $key = syscall(${keyctl}, 10, -3, $type, $name, 0);
    print syscall(${keyctl}, 11, $key, $value, 6) < 0 ? "nothing" : $value;`;
  writeFileSync(`${lines}.pl`, read, { mode: 0o644 });
  writeFileSync(lines, script(`/usr/bin/perl ${lines}.pl; echo; (as_service /usr/bin/perl ${lines}.pl)`));
  const session = `
    my ($type, $name, $value) = ("user", "assay-test", "secret");
    syscall(${keyctl}, 1, 0) >= 0 or die "keyctl: $!";
    syscall(${addKey}, $type, $name, $value, 6, -3) >= 0 or die "add_key: $!";
    exec "sh", "-eu", "${lines}"`;
  const { stdout, stderr } = spawnSync("/usr/bin/perl", ["-e", session], { encoding: "utf8" });
  assert.equal(stdout, "secret\nnothing", stderr);
});

for (const [mode, reached] of [
  [0o755, true],
  [0o711, true],
  [0o700, false],
] as const)
  test(`a data directory below one of mode ${mode.toString(8)} is ${reached ? "accepted" : "rejected"} without a test by a process`, (t) => {
    const above = directory(t);
    const data = join(above, "data");
    mkdirSync(data, { mode: 0o755 });
    chmodSync(above, mode);
    const { status, stdout, stderr } = shell("supervisor=/bin/false; give_to_service", { data });
    assert.deepEqual([status, stdout], [reached ? 0 : 1, ""]);
    if (!reached)
      assert.match(
        stderr,
        /^assay: error: the user daemon can't reach \S+: \S+ needs execute permission for others\n$/,
      );
  });

test("a command that waits for the set-up lock prints only a process number from the lock file", async (t) => {
  const data = directory(t);
  const lock = join(data, "lock");
  writeFileSync(lock, "\u001b[2Jtext\n");
  const holder = spawn("flock", [lock, "sh", "-c", "echo locked; exec sleep 3"]);
  t.after(() => holder.kill());
  await once(holder.stdout, "data");
  const { stderr } = shell("lock_set_up", { data });
  assert.match(stderr, /another set-up of .* is running \(process unknown\)/);
});

/** A data directory with an instance whose processes have ended, and the directory of its service. */
function deadInstance(t: TestContext): { data: string; instance: string; service: string } {
  const data = directory(t);
  const instance = join(data, "run/dead");
  const service = join(instance, "service");
  mkdirSync(service, { recursive: true });
  writeFileSync(join(instance, "lock"), "");
  chownSync(service, DAEMON, DAEMON);
  return { data, instance, service };
}

/** A directory for PATH with a program in place of rm. */
function insteadOfRm(data: string, lines: string): string {
  const bin = join(data, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "rm"), `#!/bin/sh\n${lines}\nexec /bin/rm "$@"\n`, { mode: 0o755 });
  return `${bin}:/usr/sbin:/usr/bin:/sbin:/bin`;
}

for (const [name, lines] of [
  ["the end of an instance", 'instance=dead instance_dir=$data/run/dead; exec 7>>"$instance_dir/lock"; close_instance'],
  ["the sweep of a dead instance", "sweep_instances"],
] as const) {
  test(`${name}: a process in the service's directory cannot create files while rm runs`, (t) => {
    const { data, instance, service } = deadInstance(t);
    const create = "setpriv --reuid daemon --clear-groups sh -c 'echo >file' 2>/dev/null";
    const PATH = insteadOfRm(data, `(cd ${service} && ${create} && echo created)`);
    const { status, stdout } = shell(lines, { data, PATH });
    assert.deepEqual([status, stdout, existsSync(instance)], [0, "", false]);
  });

  for (const [what, rm] of [
    ["fails", "exit 1"],
    ["does not end", "exec sleep 120"],
  ] as const)
    test(`${name} succeeds if rm ${what}, and the next sweep removes the directory`, (t) => {
      const { data, service } = deadInstance(t);
      const PATH = insteadOfRm(data, `[ ! -d ${service} ] || ${rm}`);
      const { status, stderr } = shell(lines, { data, PATH });
      assert.equal(status, 0, stderr);
      assert.match(stderr, /^assay: cannot remove \S+: processes of the user daemon may create files in it; .*\n$/);
      assert.equal(shell("sweep_instances", { data }).status, 0);
      assert.deepEqual(readdirSync(join(data, "run")), []);
    });
}

test("a process of the service's user gets no user namespace", () => {
  const { stdout, stderr } = shell(`(as_service sh -c '
    unshare --user true 2>&1 || true
    unshare --user --mount true 2>&1 || true
    perl -e "print syscall(${process.arch === "arm64" ? 220 : 56}, 0x10000000, 0, 0, 0, 0), qq( \\$!\\n)"
    perl -e "print syscall(435, 0, 0), qq( \\$!\\n)"
    ${process.execPath} -e "new (require(\\"node:worker_threads\\").Worker)(\\"console.log(7)\\", { eval: true })"')`);
  assert.equal(
    stdout,
    [
      "unshare: unshare failed: Operation not permitted",
      "unshare: unshare failed: Operation not permitted",
      "-1 Operation not permitted",
      "-1 Function not implemented",
      "7\n",
    ].join("\n"),
    stderr,
  );
});

test("a first key that is no key is not printed as part of a command", () => {
  const { status, stdout, stderr } = shell(`
    . ${setup}/welcome.sh
    ask_database() { answer="assay_live_x'; echo attack '"; }
    url=https://127.0.0.1:8443 trust=
    show_first_key`);
  assert.deepEqual([status, stdout], [1, ""]);
  assert.match(stderr, /the first key contains an unexpected character/);
});
