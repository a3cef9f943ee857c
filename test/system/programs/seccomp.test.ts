import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { source, useProduct } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";
import { answerOfRules, filterOf } from "../launcher/filter.ts";

const product = useProduct({ workers: 1 });
/**
 * uretprobe and uprobe on x86-64: newer kernels bypass filters and end a process that calls them outside of a probe.
 */
const PAST_FILTERS = new Set(process.arch === "x64" ? [335, 336] : []);
/** User-mode Linux lacks some calls. */
const userMode = readFileSync("/proc/cpuinfo", "utf8").includes("User Mode Linux");
const NAMES = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]));

test("in a box, every call number gets the listed answer through each entry", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "assay-filter-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const filter = filterOf({ compiler: "gcc", run: [] }, directory);
  const allowed = new Set(filter.allowed.map(([, number]) => number));
  const refused = new Map(filter.refused.map(([, number, errno]) => [number, errno]));
  const args = [-1, 0, 0, 0, 0, 0];

  const { result, output } = checked(await product().run("c", source("c", "every-call"), { profile: "agent" }));
  assert.equal(result.verdict, "AC", output.stderr);
  const lines = output.stdout
    .trim()
    .split("\n")
    .map((line) => line.split(" "));
  const native = lines.filter(([entry]) => entry === "native");
  assert.ok(native.length > 500 && native.length === new Set(native.map(([, number]) => number)).size);
  for (const [entry, text, answer] of lines) {
    const number = Number(text);
    if (PAST_FILTERS.has(number) && answer !== "allowed") continue;
    const broken = allowed.has(number)
      ? answerOfRules(filter, { number, args })
      : (refused.get(number) ?? constants.errno.ENOSYS);
    const expected = entry === "native" ? broken : constants.errno.ENOSYS;
    // An allowed call may fail with any error except ENOSYS.
    if (expected === 0) assert.ok(answer !== "ENOSYS" || userMode, `${entry} ${number}`);
    else assert.equal(answer, expected < 0 ? "allowed" : NAMES.get(expected), `${entry} ${number}`);
  }
});

test("refuses sockets other than AF_UNIX, namespaces by clone, and the 32-bit and x32 entries", async () => {
  const code = `#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void say(const char *what, long result)
{
\tprintf("%s %s\\n", what, result < 0 ? strerrorname_np(errno) : "allowed");
}

int main(void)
{
\tint families[] = {AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK, AF_ALG, AF_XDP, AF_BLUETOOTH};
\tfor (unsigned i = 0; i < sizeof families / sizeof *families; i++)
\t\tsay("family", socket(families[i], SOCK_DGRAM, 0));
\tsay("unix", socket(AF_UNIX, SOCK_STREAM, 0));
\tlong flags[] = {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET};
\tfor (unsigned i = 0; i < sizeof flags / sizeof *flags; i++)
\t\tsay("namespace", syscall(SYS_clone, flags[i] | 17, 0, 0, 0, 0));
#ifdef __x86_64__
\tsay("x32", syscall(0x40000000L + SYS_getpid));
\tlong pid = 20; /* getpid by the 32-bit table */
\t__asm__ volatile("int $0x80" : "+a"(pid) : : "memory");
\terrno = (int)-pid;
\tsay("32bit", pid < 0 ? -1 : 0);
#endif
\treturn 0;
}
`;
  const { result, output } = checked(await product().run("c", code));
  assert.equal(result.verdict, "AC", output.stderr);
  const lines = output.stdout.trim().split("\n");
  assert.equal(lines.filter((line) => line === "family EAFNOSUPPORT").length, 8);
  assert.equal(lines.filter((line) => line === "namespace EPERM").length, 4);
  assert.ok(lines.includes("unix allowed"));
  if (process.arch !== "x64") return;
  assert.ok(lines.includes("x32 ENOSYS"), output.stdout);
  assert.ok(lines.includes("32bit ENOSYS"), output.stdout);
});
