import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PATIENCE } from "../../support/programs/timeouts.ts";
import { accepted, assertSaid, cpuTimeout, exited, signalled, useBoxes, wallTimeout } from "./boxes.ts";

const boxes = useBoxes();
const SHORT = { limits: { wallMs: 800 } };

describe("a program ends at its deadline although it", () => {
  test("ignores and blocks every signal", async () => {
    assertSaid(await boxes().judged("c", "ignores-every-signal", { limits: { cpuMs: 400 } }), cpuTimeout);
  });

  test("stops itself", async () => {
    assertSaid(await boxes().judged("c", "stops-itself", SHORT), wallTimeout);
  });

  test("takes the name of the box's init", async () => {
    assertSaid(await boxes().judged("c", "takes-our-name", SHORT), wallTimeout);
  });

  test("has ended its first thread", async () => {
    assertSaid(await boxes().judged("c", "outlives-its-first-thread", SHORT), wallTimeout);
  });

  test("lends its memory to a sleeping child (vfork)", async () => {
    assertSaid(await boxes().judged("c", "vforks", { stdin: "sleep", ...SHORT }), wallTimeout);
  });

  test("executes itself repeatedly", async () => {
    const limits = { wallMs: 800, cpuMs: 10_000 };
    assertSaid(await boxes().judged("c", "execs-itself", { stdin: "for-ever", limits }), wallTimeout);
  });

  test("is a chain of processes, each of which ends after starting the next", async () => {
    const limits = { wallMs: 800, cpuMs: 10_000, processes: 32 };
    assertSaid(await boxes().judged("c", "hops-away", { stdin: "stay", limits }), wallTimeout);
  });

  test("forks in every process while it is killed: the refused forks make it PLE", async () => {
    const limits = { wallMs: 800, cpuMs: 10_000, processes: 64 };
    const judged = await boxes().judged("c", "forks-while-it-is-killed", { limits });
    const bomb = { ...wallTimeout, forksRefused: "some" } as const;
    assertSaid(judged, { ...bomb, verdict: "PLE", cause: "pids_limit", actor: "kernel" });
  });
});

describe("a run ends with its main program, and remaining processes are killed and reported", () => {
  const left = { ...accepted, survivors: 1 };
  const promptly = ({ facts }: { facts: { wallNs: number } }) =>
    assert.ok(facts.wallNs < 2e9 * PATIENCE, `ended after ${facts.wallNs / 1e9} s`);

  test("a daemon in its own session", async () => {
    const judged = await boxes().judged("c", "daemonises-twice");
    assertSaid(judged, left);
    assert.deepEqual(
      judged.outcome.evidence?.teardown.judgeActions.map(({ type }) => type),
      ["descendant_kill"],
    );
  });

  test("a grandchild that holds the output pipe open", async () => {
    const judged = await boxes().judged("c", "holds-the-pipe");
    assertSaid(judged, left);
    assert.equal(judged.stdout, "last word\n");
    promptly(judged);
  });

  test("a grandchild and a thread that continue to write", async () => {
    const judged = await boxes().judged("c", "writes-after-its-end");
    assertSaid(judged, left);
    promptly(judged);
  });

  test("a chain of processes that fork and exit continuously", async () => {
    const judged = await boxes().judged("c", "hops-away", { stdin: "go", limits: { processes: 32 } });
    assertSaid(judged, { ...accepted, survivors: "some" });
    promptly(judged);
  });
});

describe("output", () => {
  test("a program that closes every descriptor is AC without output", async () => {
    const judged = await boxes().judged("c", "closes-its-output");
    assertSaid(judged, accepted);
    assert.deepEqual([judged.stdout, judged.outcome.output?.integrity], ["", "complete"]);
  });

  test("a program that fills both streams is not blocked, and truncation is reported", async () => {
    const judged = await boxes().judged("c", "fills-its-output");
    assertSaid(judged, accepted);
    const { stdoutSeen, stderrSeen, stdoutKept } = judged.facts;
    assert.deepEqual([stdoutSeen, stderrSeen, stdoutKept], [8 << 20, 8 << 20, 1 << 20]);
    assert.equal(judged.outcome.output?.integrity, "truncated_by_judge_limit");
  });
});

describe("the reported end is that of the main program", () => {
  test("after a hundred execs and exit 152", async () => {
    assertSaid(await boxes().judged("c", "execs-itself", { stdin: "once" }), exited(152));
  });

  test("after an exec from another thread when the first has ended", async () => {
    const judged = await boxes().judged("c", "execs-from-a-thread");
    assertSaid(judged, exited(9));
    assert.ok(judged.facts.wallNs > 4e8, "the program ended before both of its waits");
  });

  test("after a vforked child kills its parent", async () => {
    assertSaid(await boxes().judged("c", "vforks", { stdin: "kill" }), { ...signalled(9), survivors: 1 });
  });

  test("a program that signals every pid reaches no process of the launcher", async () => {
    assertSaid(await boxes().judged("c", "kills-everybody"), accepted);
  });

  test("a program cannot wait for the host's disks beyond a kill (sync)", async () => {
    assertSaid(await boxes().judged("c", "waits-for-the-disks"), accepted);
  });
});
