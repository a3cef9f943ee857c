import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { useEngine } from "./engine.ts";
import { checked } from "./record.ts";

const engine = useEngine({ workers: 1 });

interface Denied {
  readonly name: string;
  readonly error: string;
}

/** The rows of the deny list, read from the file that the filter is made from. */
function denyList(): Denied[] {
  const text = readFileSync(new URL("../../launcher/seccomp.def", import.meta.url), "utf8");
  return [...text.matchAll(/^REFUSE\((\w+), (\w+), /gm)].map(([, name = "", error = ""]) => ({ name, error }));
}

/** A program that tries each call and prints what came of it; arguments that would be harmless if it were allowed. */
function program(calls: readonly Denied[]): string {
  const tries = calls.map(({ name }) => `#ifdef __NR_${name}\n\ttry("${name}", __NR_${name});\n#endif`);
  return `#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void try(const char *name, long number)
{
\terrno = 0;
\tlong result = syscall(number, -1L, 0L, 0L, 0L, 0L, 0L);
\tprintf("%s %s\\n", name, result < 0 ? strerrorname_np(errno) : "allowed");
}

int main(void)
{
${tries.join("\n")}
\treturn 0;
}
`;
}

test("every call of the deny list is refused with the error that the list names", async () => {
  const calls = denyList();
  assert.ok(calls.length > 60);
  const { result, output } = checked(await engine().run("c", program(calls)));
  assert.equal(result.verdict, "AC", output.stderr);
  const seen = new Map(
    output.stdout
      .trim()
      .split("\n")
      .map((line) => line.split(" ") as [string, string]),
  );
  const wrong = calls.filter(({ name, error }) => seen.has(name) && seen.get(name) !== error);
  assert.deepEqual(wrong, [], "refused otherwise, or allowed");
  // The image's headers are younger than most kernels: nearly all of the list has a number there.
  assert.ok(seen.size > calls.length * 0.85, `only ${seen.size} of ${calls.length} were tried`);
});

test("sockets other than AF_UNIX, namespaces by clone and the 32-bit and x32 entries are refused", async () => {
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
  const { result, output } = checked(await engine().run("c", code));
  assert.equal(result.verdict, "AC", output.stderr);
  const lines = output.stdout.trim().split("\n");
  assert.equal(lines.filter((line) => line === "family EAFNOSUPPORT").length, 8);
  assert.equal(lines.filter((line) => line === "namespace EPERM").length, 4);
  assert.ok(lines.includes("unix allowed"));
  if (process.arch !== "x64") return;
  assert.ok(lines.includes("x32 ENOSYS"), output.stdout);
  assert.ok(lines.includes("32bit ENOSYS"), output.stdout);
});
