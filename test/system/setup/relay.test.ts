import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { directory, script } from "./service-shell.ts";

// A compromised service and the terminal or file to which root's command writes.

/** Runs lines of shell with a terminal. @returns what the terminal shows */
function onTerminal(data: string, lines: string): { status: number | null; shown: string } {
  mkdirSync(join(data, "run"), { recursive: true });
  writeFileSync(join(data, "lines"), script(`data=${data}\n${lines}`));
  const file = join(data, "typescript");
  const { status } = spawnSync("script", ["-qec", `sh -eu ${data}/lines`, file], { stdio: "ignore", timeout: 30_000 });
  return { status, shown: readFileSync(file, "utf8").replace(/^Script started.*\n/, "") };
}

test("a process of the service's user has no terminal, and its output reaches root's as plain text", (t) => {
  const { status, shown } = onTerminal(
    directory(t),
    `as_service sh -c '
  for fd in 0 1 2; do readlink /proc/$$/fd/$fd; done
  printf "a\\033[2Jb\\302\\233c\\303\\251d\\fe\\n"
  printf "\\302"; sleep 0.1; printf "\\233two parts\\n"
  echo error >&2
  printf "no line end\\302"
  exit 7' || status=$?
echo " status $status"`,
  );
  assert.equal(status, 0, shown);
  assert.match(shown, /^\/dev\/null\s+(pipe:\[\d+\])\s+\1\s/);
  assert.match(shown, /a\?\[2Jb\?céd\?e\r\n\?two parts\r\nerror\r\nno line end\? status 7\r\n/);
});

test("a form feed clears the terminal only for a caller that asks for it", (t) => {
  const { shown } = onTerminal(
    directory(t),
    "supervisor_option=--clears-terminal; as_service printf '\\fpage\\033[2J\\n'",
  );
  assert.equal(shown.split("\r\n")[0], "\u001b[H\u001b[Jpage?[2J");
});

test("an endless line uses bounded memory and does not block its writer", (t) => {
  const { status, shown } = onTerminal(
    directory(t),
    // The limit holds for each process, in KiB.
    "ulimit -v 30000\nas_service head -c 60000000 /dev/zero\necho ' ended'",
  );
  assert.equal(status, 0, shown.slice(0, 1000));
  assert.match(shown.slice(-100), /\? ended\r\n/);
  assert.equal(shown.indexOf(" "), 60_000_000);
});

test("a process of the service's user that keeps the pipe open does not block the end of the command", (t) => {
  const { status, shown } = onTerminal(directory(t), `as_service sh -c 'setsid sleep 120 & echo "done $!"'`);
  assert.equal(status, 0);
  const [, pid] = /^done (\d+)\r\n/.exec(shown) ?? assert.fail(shown);
  process.kill(Number(pid), "SIGKILL"); // an error if it has ended
});

/**
 * Runs lines of shell with output to files.
 * @param to targets of standard output and error, relative to `data`
 * @param command the command of `assay`
 */
function toFiles(data: string, lines: string, to: readonly [string, string], command = "keys") {
  mkdirSync(join(data, "run"), { recursive: true });
  const opened = to.map((file) => openSync(join(data, file), "a"));
  const text = script(`data=${data} command=${command}\n${lines}`);
  const { status } = spawnSync("sh", ["-euc", text], { stdio: ["ignore", ...opened], timeout: 30_000 });
  for (const file of opened) closeSync(file);
  return { status, texts: to.map((file) => (file.startsWith("/") ? "" : readFileSync(join(data, file), "utf8"))) };
}

// Actions of the service's user on a descriptor.
const attack = `
  for fd in 1 2; do
    readlink /proc/$$/fd/$fd >&2
    truncate -s 0 /proc/$$/fd/$fd 2>/dev/null || true
    perl -e "open(F, q(>&=), $fd); truncate(F, 0); seek(F, 0, 0)"
    { cat /proc/$$/fd/$fd; } 2>/dev/null || true
  done
  printf "a\\033[2J\\000b\\n"
  exit 7`;

for (const to of [
  ["log", "log"],
  ["out", "err"],
] as const)
  test(`a process of the service's user does not get ${new Set(to).size} file(s) to which root's command writes`, (t) => {
    const data = directory(t);
    for (const file of new Set(to)) writeFileSync(join(data, file), "old\n");
    const { status, texts } = toFiles(
      data,
      `echo begun; echo error >&2
       as_service sh -c '${attack}' || status=$?
       echo "status $status"`,
      to,
    );
    assert.equal(status, 0, texts.join("\n"));
    const [out = "", err = ""] = texts;
    assert.match(out, /^old\nbegun\n/);
    assert.ok(out.endsWith("a\u001b[2J\0b\nstatus 7\n"), "a file gets all bytes");
    assert.match(err, /^old\n(begun\n)?error\n/);
    assert.equal(err.match(/^pipe:\[\d+\]$/gm)?.length, 2, err);
  });

test("a command fails if its output does not fit on the disk", (t) => {
  const data = directory(t);
  const mount = `mount -t tmpfs -o size=64k none ${data}/run; exec >${data}/run/full`;
  const lines = "as_service head -c 10000000 /dev/zero";
  const text = script(`data=${data} command=backup\n${mount}\n${lines}`);
  mkdirSync(join(data, "run"));
  const { status, stderr } = spawnSync("unshare", ["--mount", "sh", "-euc", text], { encoding: "utf8" });
  assert.notEqual(status, 0, stderr);
  assert.match(stderr, /No space left on device\n[\s\S]*assay: not all output was written\n/);
});

test("a service continues while the disk of its log is full, and the log continues afterwards", (t) => {
  const data = directory(t);
  mkdirSync(join(data, "run"));
  const text = script(`data=${data} command=serve
    mount -t tmpfs -o size=64k none ${data}/run
    head -c 100000 /dev/zero >${data}/run/other 2>/dev/null || true
    exec 9>&1 >>${data}/run/log
    service='for i in 1 2 3 4 5; do head -c 8000 /dev/zero; done; while [ -e ${data}/run/other ]; do sleep 0.02; done; sleep 0.2; echo last; exec sleep 60'
    supervise --process service --user "$(user_ids)" --group "" --stop-seconds 1 --restart --run 3 sh -c "$service"
    sleep 0.5
    rm ${data}/run/other
    until tail -n 1 ${data}/run/log | grep -q last; do sleep 0.02; done
    end_processes
    tail -n 1 ${data}/run/log >&9`);
  const { status, stdout, stderr } = spawnSync("unshare", ["--mount", "sh", "-euc", text], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  assert.match(stdout, /last\n$/);
});

test("a process of the service's user cannot read root's input from its output", () => {
  const lines = script(`data=$(mktemp -d); mkdir $data/run; command=keys
    as_service sh -c 'output=$(readlink /proc/$$/fd/1); echo "$output" >&2; echo output'
    cat
    rm -r $data`);
  // The command has one socket for input and output, as under sshd.
  const perl = `use Socket; socketpair(A, B, AF_UNIX, SOCK_STREAM, 0);
    if (!fork) { close A; open(STDIN, "<&B"); open(STDOUT, ">&B"); exec "sh", "-euc", $ARGV[0] }
    close B; syswrite(A, "the rest of root's script\\n"); shutdown(A, 1); print while <A>; wait; exit $? >> 8;`;
  const { status, stdout, stderr } = spawnSync("perl", ["-e", perl, lines], { encoding: "utf8", timeout: 30_000 });
  assert.equal(status, 0, stderr);
  assert.match(stderr, /^pipe:\[\d+\]\n/);
  assert.equal(stdout, "output\nthe rest of root's script\n");
});
