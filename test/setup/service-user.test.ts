import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type TestContext, test } from "node:test";

// Attacks of a compromised service on root's commands. The user `daemon` exists on every Debian and stands for the service's user.
const DAEMON = 1;
const setup = resolve(import.meta.dirname, "../../setup");

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "assay-service-user-"));
  t.after(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }));
  chmodSync(path, 0o755);
  return path;
}

const script = (lines: string) =>
  `${["say", "step", "data-dir", "machine", "groups", "instance", "relay"].map((part) => `. ${setup}/${part}.sh`).join("\n")}
checkout=${resolve(setup, "..")} service_user=daemon uid_locks=/nowhere
${lines}`;

/** Runs lines of shell after parts of set-up. @param open descriptors that the shell gets as 3 and above */
function shell(lines: string, env: Record<string, string> = {}, open: readonly number[] = []) {
  return spawnSync("sh", ["-euc", script(lines)], {
    encoding: "utf8",
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe", ...open],
    timeout: 60_000,
  });
}

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

/** A directory for PATH with a program in place of `setpriv`, which changes the user. */
function insteadOfSetpriv(t: TestContext, lines: string): string {
  const bin = directory(t);
  writeFileSync(join(bin, "setpriv"), `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
  return `${bin}:/usr/sbin:/usr/bin:/sbin:/bin`;
}

for (const [what, command, names] of [
  ["", "as_service", ["PATH"]],
  [" that clean_env prepares", "clean_env as_service ASSAY_DATABASE", ["ASSAY_DATABASE", "LANG", "PATH", "TMPDIR"]],
] as const)
  test(`a command${what} has only the needed variables before its user changes`, (t) => {
    const PATH = insteadOfSetpriv(t, "unset PWD; exec cat /proc/self/environ");
    const secrets = {
      AWS_SECRET_ACCESS_KEY: "secret",
      "npm.token": "secret",
      "with blank": "secret",
      kept: " SECRET ",
      SECRET: "1",
    };
    const perl = { PERL5OPT: "-Mnone", PERL5LIB: "/none", LANG: "none_NONE", LC_CTYPE: "none_NONE" };
    const { stdout, stderr } = shell(`(${command} true)`, {
      PATH,
      ASSAY_DATABASE: "url",
      data: "/data",
      ...secrets,
      ...perl,
    });
    const found = stdout
      .split("\0")
      .slice(0, -1)
      .map((pair) => pair.slice(0, pair.indexOf("=")));
    assert.deepEqual(found.sort(), names, stderr);
    assert.equal(stderr, "");
  });

test("a process of the service's user has its caller's working directory no more", (t) => {
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
  test(`a data directory below one of mode ${mode.toString(8)} is ${reached ? "accepted" : "refused"}, and no process tries it`, (t) => {
    const above = directory(t);
    const data = join(above, "data");
    mkdirSync(data, { mode: 0o755 });
    chmodSync(above, mode);
    const PATH = insteadOfSetpriv(t, "echo started");
    const { status, stdout, stderr } = shell("give_to_service", { data, PATH });
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

/** A data directory with an instance whose processes are gone, and the directory of its service. */
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

/** Runs lines of shell with a terminal. @returns what the terminal shows */
function onTerminal(data: string, lines: string): { status: number | null; shown: string } {
  mkdirSync(join(data, "run"), { recursive: true });
  writeFileSync(join(data, "lines"), script(`data=${data}\n${lines}`));
  const file = join(data, "typescript");
  const { status } = spawnSync("script", ["-qec", `sh -eu ${data}/lines`, file], { stdio: "ignore", timeout: 30_000 });
  return { status, shown: readFileSync(file, "utf8").replace(/^Script started.*\n/, "") };
}

test("a process of the service's user has no terminal, and its output reaches root's as plain text", (t) => {
  const data = directory(t);
  const { status, shown } = onTerminal(
    data,
    `open_relay
(as_service sh -c '
  for fd in 0 1 2; do readlink /proc/$$/fd/$fd; done
  printf "a\\033[2Jb\\302\\233c\\303\\251d\\fe\\n"
  echo error >&2
  printf "no line end"
  exit 7') || status=$?
close_relay
echo " status $status"`,
  );
  assert.equal(status, 0, shown);
  assert.match(shown, /^\/dev\/null\s+(\S+\/run\/\.relay-\d+) \(deleted\)\s+\1 \(deleted\)\s/);
  assert.match(shown, /a\?\[2Jb\?céd\?e\r\nerror\r\nno line end status 7\r\n/);
  assert.deepEqual(readdirSync(join(data, "run")), []);
});

test("a form feed clears the terminal only for a caller that asks for it", (t) => {
  const { shown } = onTerminal(
    directory(t),
    `open_relay 's/\\f/\\x1b[H\\x1b[J/g'
(as_service printf '\\fpage\\033[2J\\n')
close_relay`,
  );
  assert.equal(shown.split("\r\n")[0], "\u001b[H\u001b[Jpage?[2J");
});

test("a line without end takes bounded memory and does not block the process that writes it", (t) => {
  const { status, shown } = onTerminal(
    directory(t),
    `open_relay
(as_service head -c 300000000 /dev/zero)
close_relay
echo ended`,
  );
  assert.equal(status, 0);
  assert.match(shown, /ended\r\n/);
  assert.ok(shown.length < 10_000);
});

test("a process of the service's user that keeps the pipe open does not keep the command from ending", (t) => {
  const beganMs = performance.now();
  const { status, shown } = onTerminal(
    directory(t),
    `open_relay
(as_service sh -c 'setsid sleep 15 & echo done')
close_relay`,
  );
  assert.equal(status, 0);
  assert.match(shown, /^done\r\n/);
  assert.ok(performance.now() - beganMs < 12_000);
});

test("without the relay, nothing is run as the service's user on a terminal", (t) => {
  const { status, shown } = onTerminal(directory(t), "exec 4>&-\n(as_service echo started)");
  assert.notEqual(status, 0);
  assert.doesNotMatch(shown, /started/);
});
