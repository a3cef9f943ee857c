import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { accepted, assertSaid, exited, signalled, useBoxes } from "./boxes.ts";

const boxes = useBoxes();

describe("a program cannot replace a limit of its run", () => {
  for (const [limit, label] of Object.entries({ fsize: "file-size limit", cpu: "CPU limit" })) {
    for (const way of ["setrlimit", "prlimit"]) {
      test(`its own ${label}, by ${way}`, async () => {
        const judged = await boxes().judged("c", "lowers-its-own-limit", { stdin: `${way} ${limit}` });
        assert.equal(judged.stdout, "EPERM\n");
        assertSaid(judged, exited(1));
      });
    }

    test(`the ${label} of its child`, async () => {
      const judged = await boxes().judged("c", "lowers-its-own-limit", { stdin: `of-a-child ${limit}` });
      assert.equal(judged.stdout, "EPERM\n");
      assertSaid(judged, exited(1));
    });
  }

  test("in Python", async () => {
    const judged = await boxes().judged("python", "lowers-its-limits");
    assert.equal(judged.stdout, "refused\nrefused\n");
    assertSaid(judged, exited(1));
  });

  test("by the shell's ulimit", async () => {
    assertSaid(await boxes().judged("python", "lowers-limits-by-shell"), exited(1));
  });

  test("limits without a verdict can be read and lowered, and have no effect on the verdict", async () => {
    assertSaid(await boxes().judged("c", "lowers-harmless-limits"), exited(5));
  });

  test("limits of real-time tasks, which send the same signal, cannot be reached", async () => {
    const judged = await boxes().judged("c", "tries-to-be-real-time");
    assert.equal(judged.stdout, "EPERM\nEPERM\n");
    assertSaid(judged, exited(1));
  });
});

describe("a program cannot make its own start an internal error", () => {
  for (const language of ["c", "rust"]) {
    test(`with an invalid loader name (${language}): the linker's name is used`, async () => {
      assertSaid(await boxes().judged(language, "asks-for-another-loader"), accepted);
    });
  }

  test("as a library (rust): it does not compile", async () => {
    assertSaid(await boxes().judged("rust", "is-a-library"), { ...exited(1), cause: "compile_error" });
  });

  test("as a file larger than its limits: the kernel kills it during exec", async () => {
    assertSaid(await boxes().judged("c", "larger-than-its-limits"), signalled(11));
  });
});
