import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { accepted, assertSaid, exited, signalled, useBoxes } from "./boxes.ts";

const boxes = useBoxes();

/** The signals that would mean a limit, or a filter of ours, if the kernel had sent them. */
const SIGNALS = { SIGKILL: 9, SIGXCPU: 24, SIGXFSZ: 25, SIGSYS: 31 } as const;

/** Every road that a signal can take from a program to itself. */
const WAYS: Readonly<Record<string, string>> = {
  kill: "by kill",
  group: "by kill of its own process group",
  tgkill: "by tgkill",
  pthread_kill: "by pthread_kill",
  sigqueue: "by sigqueue",
  pidfd: "by a pidfd",
  timer: "by a timer",
  "cpu-timer": "by a timer on its own CPU clock",
  "child-death": "as the signal of its child's death",
};

for (const [name, signal] of Object.entries(SIGNALS)) {
  describe(`${name} that a program sends itself is SIG, whichever way it takes`, () => {
    for (const [way, words] of Object.entries(WAYS)) {
      test(words, async () => {
        assertSaid(await boxes().judged("c", "signals-itself", { stdin: `${way} ${signal}` }), signalled(signal));
      });
    }

    test("by a pipe that became readable (F_SETSIG): refused", async () => {
      assertSaid(await boxes().judged("c", "signals-itself", { stdin: `readiness ${signal}` }), exited(9));
    });

    test("queued with the kernel's own sender code", async () => {
      assertSaid(await boxes().judged("c", "as-if-from-the-kernel", { stdin: String(signal) }), signalled(signal));
    });

    test("from Python", async () => {
      const judged = await boxes().judged("python", "signals-itself", { stdin: String(signal) });
      assertSaid(judged, name === "SIGXFSZ" ? accepted : signalled(signal)); // Python ignores that one
    });
  });

  test(`a child that dies of ${name} is its parent's affair: exit 0 is AC, exit ${128 + signal} is RE`, async () => {
    assertSaid(await boxes().judged("c", "signals-its-child", { stdin: `${signal} 0` }), accepted);
    const code = 128 + signal;
    assertSaid(await boxes().judged("c", "signals-its-child", { stdin: `${signal} ${code}` }), exited(code));
  });

  test(`${name} as the signal of a parent's death counts for nothing`, async () => {
    const judged = await boxes().judged("c", "dies-with-its-parent", { stdin: String(signal) });
    assertSaid(judged, exited(1));
    // The kernel sends that one without a sender, as it does for the file-size limit.
    assert.equal(judged.stdout, name === "SIGXFSZ" ? "refused\n" : "taken\n");
  });
}

test("a program has no filter of its own by which the kernel would send it SIGSYS", async () => {
  assertSaid(await boxes().judged("c", "filters-itself-to-death"), exited(9));
});

for (const code of [137, 139, 152, 153, 159]) {
  test(`exit code ${code} is RE with ${code}, not the signal ${code - 128}`, async () => {
    assertSaid(await boxes().judged("c", "exits-with", { stdin: String(code) }), exited(code));
    assertSaid(await boxes().judged("python", "exits-with", { stdin: String(code) }), exited(code));
  });
}
