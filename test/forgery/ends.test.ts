import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PATIENCE } from "../engine/patience.ts";
import { accepted, assertSaid, cpuTimeout, exited, signalled, useBoxes, wallTimeout } from "./boxes.ts";

const boxes = useBoxes();
const SHORT = { limits: { wallMs: 800 } };

describe("nothing keeps a program beyond its deadline", () => {
  test("ignoring and blocking every signal", async () => {
    assertSaid(await boxes().judged("c", "ignores-every-signal", { limits: { cpuMs: 400 } }), cpuTimeout);
  });

  test("being stopped", async () => {
    assertSaid(await boxes().judged("c", "stops-itself", SHORT), wallTimeout);
  });

  test("bearing the name of the box's init", async () => {
    assertSaid(await boxes().judged("c", "takes-our-name", SHORT), wallTimeout);
  });

  test("having ended its first thread", async () => {
    assertSaid(await boxes().judged("c", "outlives-its-first-thread", SHORT), wallTimeout);
  });

  test("lending its memory to a child that sleeps (vfork)", async () => {
    assertSaid(await boxes().judged("c", "vforks", { stdin: "sleep", ...SHORT }), wallTimeout);
  });

  test("becoming itself again and again", async () => {
    const limits = { wallMs: 800, cpuMs: 10_000 };
    assertSaid(await boxes().judged("c", "execs-itself", { stdin: "for-ever", limits }), wallTimeout);
  });

  test("a chain of processes, each of which ends when the next has begun", async () => {
    const limits = { wallMs: 800, cpuMs: 10_000, processes: 32 };
    assertSaid(await boxes().judged("c", "hops-away", { stdin: "stay", limits }), wallTimeout);
  });

  test("forking in every process while it is killed: the refused forks make it PLE", async () => {
    const limits = { wallMs: 800, cpuMs: 10_000, processes: 64 };
    const judged = await boxes().judged("c", "forks-while-it-is-killed", { limits });
    const bomb = { ...wallTimeout, pidsRefused: "some" } as const;
    assertSaid(judged, { ...bomb, verdict: "PLE", cause: "pids_limit", actor: "kernel" });
  });
});

describe("a run ends with its main program, and what it leaves is killed and said", () => {
  const left = { ...accepted, survivors: 1 };
  const promptly = ({ facts }: { facts: { wallNs: number } }) =>
    assert.ok(facts.wallNs < 2e9 * PATIENCE, `ended after ${facts.wallNs / 1e9} s`);

  test("a daemon with a session of its own", async () => {
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

  test("a grandchild and a thread that write on", async () => {
    const judged = await boxes().judged("c", "writes-after-its-end");
    assertSaid(judged, left);
    promptly(judged);
  });

  test("a chain of processes that is never caught standing", async () => {
    const judged = await boxes().judged("c", "hops-away", { stdin: "go", limits: { processes: 32 } });
    assertSaid(judged, { ...accepted, survivors: "some" });
    promptly(judged);
  });
});

describe("output", () => {
  test("closing every descriptor is AC with nothing written", async () => {
    const judged = await boxes().judged("c", "closes-its-output");
    assertSaid(judged, accepted);
    assert.deepEqual([judged.stdout, judged.outcome.output?.integrity], ["", "complete"]);
  });

  test("filling both streams blocks nobody, and is said", async () => {
    const judged = await boxes().judged("c", "fills-its-output");
    assertSaid(judged, accepted);
    const { stdoutSeen, stderrSeen, stdoutKept } = judged.facts;
    assert.deepEqual([stdoutSeen, stderrSeen, stdoutKept], [8 << 20, 8 << 20, 1 << 20]);
    assert.equal(judged.outcome.output?.integrity, "truncated_by_judge_limit");
  });
});

describe("the end that is reported is the end of the program itself", () => {
  test("a hundred execs, then exit 152", async () => {
    assertSaid(await boxes().judged("c", "execs-itself", { stdin: "once" }), exited(152));
  });

  test("an exec from another thread after the first has ended", async () => {
    const judged = await boxes().judged("c", "execs-from-a-thread");
    assertSaid(judged, exited(9));
    assert.ok(judged.facts.wallNs > 4e8, "both waits were waited for");
  });

  test("a vforked child that kills its parent", async () => {
    assertSaid(await boxes().judged("c", "vforks", { stdin: "kill" }), { ...signalled(9), survivors: 1 });
  });

  test("killing whatever it can name hits nobody of ours", async () => {
    assertSaid(await boxes().judged("c", "kills-everybody"), accepted);
  });

  test("the host's disks cannot be waited for, beyond every kill (sync)", async () => {
    assertSaid(await boxes().judged("c", "waits-for-the-disks"), accepted);
  });
});
