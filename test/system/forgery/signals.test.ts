import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { accepted, assertSaid, exited, signalled, useBoxes } from "./boxes.ts";

const boxes = useBoxes();

/** Signals that would indicate a limit or a filter violation if the kernel had sent them. */
const SIGNALS = { SIGKILL: 9, SIGXCPU: 24, SIGXFSZ: 25, SIGSYS: 31 } as const;

/** Every way in which a program can send a signal to itself. */
const WAYS: Readonly<Record<string, string>> = {
  kill: "by kill",
  group: "by kill of its own process group",
  tgkill: "by tgkill",
  pthread_kill: "by pthread_kill",
  sigqueue: "by sigqueue",
  pidfd: "by a pidfd",
  timer: "by a timer",
  "cpu-timer": "by a timer on its own CPU clock",
  "child-death": "as the signal of its child's end",
};

for (const [name, signal] of Object.entries(SIGNALS)) {
  describe(`${name} that a program sends itself is SIG`, () => {
    for (const [way, label] of Object.entries(WAYS)) {
      test(label, async () => {
        assertSaid(await boxes().judged("c", "signals-itself", { stdin: `${way} ${signal}` }), signalled(signal));
      });
    }

    test("by a pipe that becomes readable (F_SETSIG): refused", async () => {
      assertSaid(await boxes().judged("c", "signals-itself", { stdin: `readiness ${signal}` }), exited(9));
    });

    test("queued with the kernel's sender code", async () => {
      assertSaid(await boxes().judged("c", "as-if-from-the-kernel", { stdin: String(signal) }), signalled(signal));
    });

    test("in Python", async () => {
      const judged = await boxes().judged("python", "signals-itself", { stdin: String(signal) });
      assertSaid(judged, name === "SIGXFSZ" ? accepted : signalled(signal)); // Python ignores SIGXFSZ
    });
  });

  test(`if a child dies of ${name}, its parent's exit code decides: 0 is AC, ${128 + signal} is RE`, async () => {
    assertSaid(await boxes().judged("c", "signals-its-child", { stdin: `${signal} 0` }), accepted);
    const code = 128 + signal;
    assertSaid(await boxes().judged("c", "signals-its-child", { stdin: `${signal} ${code}` }), exited(code));
  });

  test(`${name} as the signal of a parent's death does not affect the verdict`, async () => {
    const judged = await boxes().judged("c", "dies-with-its-parent", { stdin: String(signal) });
    assertSaid(judged, exited(1));
    // The kernel sends this signal without a sender, as it does at the file-size limit.
    assert.equal(judged.stdout, name === "SIGXFSZ" ? "refused\n" : "taken\n");
  });
}

test("a program cannot install a filter that makes the kernel send it SIGSYS", async () => {
  assertSaid(await boxes().judged("c", "filters-itself-to-death"), exited(9));
});

for (const code of [137, 139, 152, 153, 159]) {
  test(`exit code ${code} is RE with ${code}, not the signal ${code - 128}`, async () => {
    assertSaid(await boxes().judged("c", "exits-with", { stdin: String(code) }), exited(code));
    assertSaid(await boxes().judged("python", "exits-with", { stdin: String(code) }), exited(code));
  });
}
