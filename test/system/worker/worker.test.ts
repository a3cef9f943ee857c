import assert from "node:assert/strict";
import { readFileSync, readlinkSync } from "node:fs";
import { after, before, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { FOREIGN_APIS } from "../../../src/compat/apis.ts";
import { internalError } from "../../../src/domain/outcome.ts";
import { isTerminal, type Submission } from "../../../src/domain/submission.ts";
import type { Languages } from "../../../src/languages/load.ts";
import type { Store } from "../../../src/store/store.ts";
import { Worker, type WorkerOptions } from "../../../src/worker/worker.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { childrenOf, eventually, killChildren, programsOf } from "../../support/launcher/machine.ts";
import { type Noting, noting } from "../../support/metrics/noting.ts";
import { stopwatch } from "../../support/stopwatch.ts";
import { addJudgement } from "../../support/store/judgements.ts";
import { addKey, enqueue, type Temporary, temporaryStore } from "../../support/store/temporary.ts";
import { broken, someLanguages } from "../../support/worker/some-languages.ts";

const LIMIT = { timeout: 30_000 };
const PYTHON = someLanguages(["python"]);
const SLEEP = "import time; time.sleep(600)";

let launcher: Launcher;
/** What the newest worker has logged. */
let newestLogs: readonly string[] = [];
before(async () => {
  launcher = await startLauncher({ slots: 8 });
});
after(async () => assert.equal(await launcher.stop(), 0, launcher.stderr()));

interface Working extends Temporary {
  readonly worker: Worker;
  readonly logs: string[];
  /** How often the meter counted an event. */
  readonly times: Noting["times"];
  readonly key: { keyId: string; accountId: string };
  /** Enqueues a program. @returns its id. */
  readonly submit: (code: string, more?: Parameters<typeof enqueue>[2] & { of?: Working["key"] }) => Promise<string>;
  /** Waits for the end of the submission. */
  readonly end: (id: string) => Promise<Submission>;
  readonly now: (id: string) => Promise<Submission>;
}

type Options = Partial<WorkerOptions> & {
  readonly wrap?: (store: Store) => Store;
  /** Runs before the worker starts. */
  readonly earlier?: (there: Temporary, key: Working["key"]) => Promise<void>;
};

/** A worker on the real launcher and a real store, with its languages proven. */
async function working(
  t: TestContext,
  { wrap = (store) => store, earlier = async () => {}, ...options }: Options = {},
): Promise<Working> {
  let worker: Worker | undefined;
  t.after(() => worker?.stop()); // first, because hooks run in order and the store must be closed after the worker
  const temporary = await temporaryStore(t);
  const { store, clock } = temporary;
  Object.defineProperty(clock, "steadyMs", { get: () => performance.now() }); // tests do not move it
  const key = await addKey(store, "key", { concurrency: 100 });
  await earlier(temporary, key);
  const logs: string[] = [];
  newestLogs = logs;
  const { meter, times } = noting();
  worker = Worker.start({
    foreignApis: FOREIGN_APIS,
    meter,
    store: wrap(store),
    languages: PYTHON,
    launcherSocket: launcher.socket,
    workers: 2,
    leaseMs: 60_000,
    drainMs: 0,
    log: pino({ level: "debug" }, { write: (line: string) => logs.push(line) }),
    ...options,
  });
  await worker.begun;
  const now = async (id: string) => {
    const found = await store.submissions.get(id, key.accountId);
    assert.ok(found);
    return found;
  };
  const end = async (id: string) => {
    const ended = await store.submissions.whenTerminal(id, key.accountId, AbortSignal.timeout(20_000));
    assert.ok(ended && isTerminal(ended.status), `${id} did not end: ${logs.join("")}`);
    return ended;
  };
  const submit: Working["submit"] = async (code, { of = key, ...more } = {}) => {
    const enqueued = await enqueue(store, of, { code, ...more });
    assert.ok(enqueued.kind === "enqueued");
    return enqueued.submission.id;
  };
  return { ...temporary, worker, logs, times, key, submit, end, now };
}

const verdictOf = ({ outcome }: Submission) => outcome?.result.verdict;
const stdoutOf = ({ outcome }: Submission) => outcome?.output?.stdout.toString();

/** Pids of the submissions' programs. Processes that are starting or exiting have no command line. */
function programs(): number[] {
  const pids = programsOf(launcher).map(({ pid }) => pid);
  return pids.filter((pid) => commandOf(pid).includes("main.py"));
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

async function programRuns(amount = 1): Promise<void> {
  try {
    await eventually(`${amount} running`, () => programs().length >= amount);
  } catch (error) {
    throw new Error(
      `${programsOf(launcher).length} processes, and the worker's last lines: ${newestLogs.slice(-4).join("")}`,
      {
        cause: error,
      },
    );
  }
}

/** The slot that runs a program: its ancestor that is a child of the launcher. */
function slotOf(pid: number): number {
  const parent = Number(
    readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ")[1],
  );
  return parent === launcher.pid ? pid : slotOf(parent);
}

/** The box's pid 1: the other process in the program's pid namespace, with the launcher's code. */
function initOf(pid: number): number {
  const namespace = (of: number) => readlinkSync(`/proc/${of}/ns/pid`);
  const init = childrenOf(slotOf(pid)).find((child) => child !== pid && namespace(child) === namespace(pid));
  assert.ok(init, `the box of ${pid} has no init`);
  return init;
}

test("every submission ends with its own output", LIMIT, async (t) => {
  const { submit, end } = await working(t, { languages: someLanguages(["c", "python"]) });
  const numbers = [1, 2, 3, 4, 5, 6];
  const ids = await Promise.all(numbers.map((n) => submit(`print(${n}, input())`, { stdin: `in ${n}\n` })));
  const wrong = await submit("int main( {", { language: "c" });
  const right = await submit('#include <stdio.h>\nint main(void) { puts("c"); }', { language: "c" });
  for (const [index, id] of ids.entries()) {
    const ended = await end(id);
    assert.equal(ended.attempts, 1);
    assert.equal(verdictOf(ended), "AC");
    assert.equal(stdoutOf(ended), `${numbers[index]} in ${numbers[index]}\n`);
  }
  assert.equal((await end(wrong)).outcome?.result.cause, "compile_error");
  assert.equal(stdoutOf(await end(right)), "c\n");
});

test("live output of a watched run is kept while it runs, and of other runs never", LIMIT, async (t) => {
  const { store, submit, end } = await working(t);
  const code = "import sys, time; print('first', flush=True); print('oh', file=sys.stderr, flush=True); time.sleep(3)";
  const seen = (id: string) => store.live.readAfter(id, null);
  const [watched, other] = [await submit(code, { live: true }), await submit(code)];
  const written = async () =>
    ((await seen(watched))?.pieces ?? []).map(({ stream, at, bytes }) => `${stream} ${at} ${bytes}`).sort();
  for (const until = performance.now() + 5_000; (await written()).length < 2 && performance.now() < until; )
    await sleep(20);
  assert.deepEqual(await written(), ["stderr 0 oh\n", "stdout 0 first\n"]);
  assert.equal((await seen(watched))?.status, "running");
  assert.deepEqual((await seen(other))?.pieces, []);
  assert.equal(stdoutOf(await end(watched)), "first\n");
  assert.deepEqual(await seen(watched), { status: "completed", fence: 1, pieces: [] });
  await end(other);
});

test("stores run statistics with the record: the time of each step and the limits", LIMIT, async (t) => {
  const { submit, end } = await working(t, { languages: someLanguages(["c"]) });
  const code = '#include <unistd.h>\nint main(void) { usleep(300000); return write(1, "four", 4) != 4; }';
  const { outcome } = await end(await submit(code, { language: "c" }));
  const { compileMs, compile, execute } = outcome?.runStats ?? assert.fail();
  assert.ok(compileMs !== null && compileMs > 5 && compileMs < 20_000, `${compileMs}`);
  assert.ok(execute && execute.runMs >= 300 && execute.teardownMs > 0 && execute.teardownMs < 5_000);
  assert.ok(execute.wallMs && execute.wallMs >= 300 && execute.wallMs <= execute.runMs);
  assert.ok(compile && compile.wallMs > 5 && compile.wallMs + compile.teardownMs <= compileMs);
  const { limits } = execute;
  assert.deepEqual([execute.stdoutBytes, execute.stderrBytes, limits.wallMs > limits.cpuMs], [4, 0, true]);
  const unfit = await end(await submit("int main( {", { language: "c" }));
  assert.equal(unfit.outcome?.runStats?.execute, null);
  assert.equal((await end(await submit("x", { language: "cobol" }))).outcome?.runStats, undefined);
});

test("a worker offers only proven languages", LIMIT, async (t) => {
  const languages = someLanguages(["c", "python"], (language) => (language.name === "c" ? broken(language) : language));
  const { worker, logs } = await working(t, { languages });
  assert.deepEqual(worker.languages(), ["python"]);
  assert.ok(logs.some((line) => line.includes('"language":"c"') && line.includes("not offered")));
  assert.equal(worker.capacity(), 2);
  assert.equal((await worker.readiness()).ready, true);
});

test("a language that breaks while the worker runs is not offered until it works again", LIMIT, async (t) => {
  const whole = someLanguages(["c", "python"]);
  const damaged = someLanguages(["c", "python"], (language) => (language.name === "c" ? broken(language) : language));
  let now = whole;
  const languages = { ...whole, list: () => now.list() };
  const { worker, logs } = await working(t, { languages, proveNextMs: 50 });
  assert.deepEqual(worker.languages(), ["c", "python"]);
  now = damaged;
  await eventually("the removal of c", () => worker.languages().join() === "python");
  assert.ok(logs.some((line) => line.includes('"language":"c"') && line.includes("not offered")));
  assert.equal((await worker.readiness()).ready, true);
  now = whole;
  await eventually("the return of c", () => worker.languages().join() === "c,python");
  assert.ok(logs.some((line) => line.includes('"language":"c"') && line.includes("offered again")));
});

test("a slot lost during smoke tests removes no language", LIMIT, async (t) => {
  const languages = someLanguages(["c", "python"]);
  let kills = 1;
  const spoiling: Languages = {
    ...languages,
    limitsFor(language, profile) {
      if (language.name === "c" && kills-- > 0) killChildren(launcher.pid);
      return languages.limitsFor(language, profile);
    },
  };
  const { worker } = await working(t, { languages: spoiling });
  assert.deepEqual(worker.languages(), ["c", "python"]);
});

test("a submission in a removed language ends as an internal error with that reason", LIMIT, async (t) => {
  const { submit, end } = await working(t);
  const { status, outcome } = await end(await submit("x", { language: "cobol" }));
  assert.equal(status, "error");
  assert.equal(outcome?.result.errorMessage, "the language cobol is no longer available");
});

test("a key with many submissions does not delay a key with one", LIMIT, async (t) => {
  const { store, submit, end, now } = await working(t);
  const other = await addKey(store, "other", { account: "key" });
  const many = await Promise.all(Array.from({ length: 12 }, () => submit("import time; time.sleep(0.3)")));
  await programRuns(2);
  const waiting = async () => (await Promise.all(many.map(now))).filter(({ status }) => status === "pending").length;
  const one = await submit("print(1)", { of: other });
  const before = await waiting();
  assert.ok(before >= 4, "the queue is too short");
  assert.equal(verdictOf(await end(one)), "AC");
  const passed = before - (await waiting());
  assert.ok(passed <= 4, `${passed} were started before it had ended`);
  for (const id of many) assert.equal(verdictOf(await end(id)), "AC");
});

test("two slots run two submissions at once, never more", LIMIT, async (t) => {
  const { submit, end, now } = await working(t);
  const ids = await Promise.all([1, 2, 3].map(() => submit("import time; time.sleep(1)")));
  await programRuns(2);
  const states = (await Promise.all(ids.map(now))).map(({ status }) => status);
  assert.deepEqual(states.sort(), ["pending", "running", "running"]);
  for (const id of ids) assert.equal(verdictOf(await end(id)), "AC");
});

test("the runs of repeated submissions count as running from the first to the last", LIMIT, async (t) => {
  const wrap = (store: Store): Store => ({
    ...store,
    submissions: {
      ...store.submissions,
      claim: async (...options) => {
        const claims = await store.submissions.claim(...options);
        return claims.map((claim) => ({ ...claim, repeats: { runs: 4, expected: null } }));
      },
    },
  });
  const { submit, end } = await working(t, {
    wrap,
    workers: 1,
    parkBytes: 1 << 30,
    languages: someLanguages(["c"]),
  });
  const code = "#include <unistd.h>\nint main(void) { usleep(300000); }";
  const ids = await Promise.all([1, 2].map(() => submit(code, { language: "c" })));
  let most = 0;
  const counting = setInterval(() => {
    most = Math.max(most, programsOf(launcher).filter(({ pid }) => commandOf(pid) === "./main\0").length);
  }, 20);
  for (const id of ids) assert.equal(verdictOf(await end(id)), "AC");
  clearInterval(counting);
  assert.equal(most, 1);
});

test("an idle worker does not query the queue, and one submission takes one claim", LIMIT, async (t) => {
  let claims = 0;
  const { submit, end } = await working(t, {
    wrap: (store) => ({
      ...store,
      submissions: {
        ...store.submissions,
        claim(...args) {
          claims++;
          return store.submissions.claim(...args);
        },
      },
    }),
  });
  await end(await submit("print(1)"));
  await sleep(100);
  const before = claims;
  assert.ok(before > 0);
  await sleep(1_000);
  assert.equal(claims, before);
  await end(await submit("print(1)"));
  await sleep(100);
  assert.equal(claims, before + 1);
});

test("retries a failed claim without a notification", LIMIT, async (t) => {
  let fail = false;
  const { submit, end } = await working(t, {
    wrap: (store) => ({
      ...store,
      submissions: {
        ...store.submissions,
        async claim(...args) {
          if (!fail) return await store.submissions.claim(...args);
          fail = false;
          throw new Error("database is locked");
        },
      },
    }),
  });
  fail = true;
  assert.equal(stdoutOf(await end(await submit("print(1)"))), "1\n");
  assert.equal(fail, false, "no claim was made");
});

test("a notification between two claims is never lost", LIMIT, async (t) => {
  let claims = 0;
  let wake = () => {};
  let turns = 0;
  await working(t, {
    wrap: (store) => ({
      ...store,
      onWork(listener) {
        wake = listener;
        return store.onWork(listener);
      },
      submissions: {
        ...store.submissions,
        async claim() {
          claims++;
          let promise = Promise.resolve();
          for (let turn = 0; turn < turns; turn++) promise = promise.then(() => {});
          if (claims === 1) void promise.then(() => wake());
          return [];
        },
      },
    }),
  });
  for (turns = 0; turns < 20; turns++) {
    claims = 0;
    wake();
    await sleep(1);
    assert.ok(claims >= 2, `lost ${turns} microtasks after an empty claim`);
  }
});

test("a killed slot delays its own run; other and later runs are not affected", LIMIT, async (t) => {
  const { worker, times, submit, end } = await working(t);
  const victim = await submit("import time; time.sleep(2); print('after all')");
  await programRuns();
  const [program] = programs();
  assert.ok(program);
  const neighbour = await submit("import time; time.sleep(1.5); print('here')");
  await programRuns(2);
  process.kill(slotOf(program), "SIGKILL");
  assert.equal(stdoutOf(await end(neighbour)), "here\n");
  const ended = await end(victim);
  assert.deepEqual([stdoutOf(ended), ended.attempts], ["after all\n", 2]);
  const next = await Promise.all([1, 2, 3, 4].map((n) => submit(`print(${n})`)));
  for (const id of next) assert.equal(verdictOf(await end(id)), "AC");
  await eventually("the second slot", () => worker.capacity() === 2);
  await eventually("the count of ends", () => times("ended python AC") === 6);
  assert.deepEqual(["sandboxesLost", "repeated python", "slotsLost", "slotsOpened"].map(times), [1, 1, 1, 3]);
});

test("a cancelled run is killed at once, and its slot serves others", LIMIT, async (t) => {
  const { store, key, worker, submit, end, now, logs, times } = await working(t);
  const id = await submit("import time; time.sleep(60)");
  await programRuns();
  assert.equal(await store.submissions.cancel(id, "another account"), false);
  assert.equal(await store.submissions.cancel(id, key.accountId), true);
  assert.equal((await now(id)).outcome?.result.cause, "cancelled");
  await eventually("the end of the program", () => programs().length === 0);
  assert.equal(await store.submissions.cancel(id, key.accountId), false);
  assert.equal(verdictOf(await end(await submit("print(1)"))), "AC");
  await eventually("both slots", () => worker.capacity() === 2);
  assert.equal((await now(id)).outcome?.result.cause, "cancelled");
  assertNothingLost({ logs, times });
});

/** A client that cancels runs neither raises an alarm nor hides real losses. */
function assertNothingLost({ logs, times }: Pick<Working, "logs" | "times">): void {
  assert.deepEqual(["sandboxesLost", "leasesLost", "slotsLost", "repeated python"].map(times), [0, 0, 0, 0]);
  assert.deepEqual(
    logs.filter((line) => JSON.parse(line).level > 30),
    [],
  );
}

test("runs of a cancelled judgement and of a stop are not lost", LIMIT, async (t) => {
  const { store, key, worker, submit, logs, times } = await working(t);
  const code = "import time; time.sleep(60)";
  const judgement = await addJudgement(store, key, { answers: ["a", "b"], code });
  await programRuns();
  assert.equal(await store.judgements.cancel(judgement.id, key.accountId), true);
  await eventually("the end of its program", () => programs().length === 0);
  await submit(code);
  await programRuns();
  await worker.stop();
  await eventually("the end of the program", () => programs().length === 0);
  assertNothingLost({ logs, times });
});

/** Kills a part of the only program's run, in each of its next `times` attempts. */
async function killRunning(times: number, choose: (program: number) => number): Promise<void> {
  for (let killed: number | undefined; times > 0; times--) {
    await eventually("the next run", () => {
      const program = programs().find((pid) => pid !== killed);
      if (program) process.kill(choose(program), "SIGKILL");
      killed = program ?? killed;
      return program !== undefined;
    });
    await eventually("its end", () => !programs().includes(killed as number));
  }
}

for (const [what, choose, message] of [
  ["slot is killed", slotOf, "the sandbox was lost before the run ended"],
  ["init is killed", initOf, "the sandbox could not be set up"],
] as const) {
  test(`a run whose ${what} is repeated, and ends as an internal error after the third attempt`, LIMIT, async (t) => {
    const { times, submit, end } = await working(t);
    const patient = await submit("import time; time.sleep(0.5); print('right')");
    await killRunning(2, choose);
    const right = await end(patient);
    assert.deepEqual([stdoutOf(right), verdictOf(right), right.attempts], ["right\n", "AC", 3]);
    const hopeless = await submit(SLEEP);
    await killRunning(3, choose);
    const { status, outcome, attempts } = await end(hopeless);
    assert.deepEqual([status, outcome?.result, attempts], ["error", internalError(message).result, 3]);
    assert.deepEqual(["repeated python", "ended python AC", "ended python IE"].map(times), [4, 1, 1]);
  });
}

test(
  "an agent run whose slot is killed ends as an error at once, because it may have had effects",
  LIMIT,
  async (t) => {
    const { submit, end } = await working(t);
    const id = await submit(SLEEP, { profile: "agent" });
    await killRunning(1, slotOf);
    const { status, attempts } = await end(id);
    assert.deepEqual([status, attempts], ["error", 1]);
  },
);

test("slots killed while idle are replaced at once", LIMIT, async (t) => {
  const { worker, times, submit, end } = await working(t);
  killChildren(launcher.pid);
  await eventually("the loss", () => worker.capacity() === 0);
  await eventually("new slots", () => worker.capacity() === 2);
  assert.deepEqual(["slotsLost", "slotsOpened"].map(times), [2, 4]);
  const id = await submit("print(1)");
  assert.equal(verdictOf(await end(id)), "AC");
});

test(
  "after the launcher is killed and restarted, the worker becomes ready again and no submission is lost",
  LIMIT,
  async (t) => {
    const { worker, submit, end, now } = await working(t);
    let nowMs = Date.now();
    t.mock.timers.enable({ apis: ["Date"], now: nowMs });
    const readyNow = async () => {
      nowMs += 10_000; // longer than a proof is valid
      t.mock.timers.setTime(nowMs);
      return (await worker.readiness()).ready;
    };
    assert.equal(await readyNow(), true);
    await launcher.kill();
    assert.equal(await readyNow(), false);
    await eventually("the loss", () => worker.capacity() === 0);
    const waiting = await submit("print('patient')");
    await sleep(1_100); // the first attempt to reconnect fails as well
    assert.equal((await now(waiting)).status, "pending");
    launcher = await startLauncher({ slots: 8, after: launcher });
    assert.equal(await readyNow(), true);
    assert.equal(stdoutOf(await end(waiting)), "patient\n");
    await eventually("both slots", () => worker.capacity() === 2);
    assert.equal(await readyNow(), true);
  },
);

/** Two programs that run, and three that are claimed and wait. */
async function twoAndThree({ submit, now }: Working, seconds: number) {
  const running = await Promise.all([1, 2].map(() => submit(`import time; time.sleep(${seconds}); print('long')`)));
  await programRuns(2);
  const held = await Promise.all([1, 2, 3].map((n) => submit(`print(${n})`)));
  const states = async () => (await Promise.all(held.map(now))).map(({ status, attempts }) => `${status} ${attempts}`);
  for (const until = performance.now() + 5_000; performance.now() < until; await sleep(5))
    if ((await states()).every((state) => state === "running 1")) break;
  assert.deepEqual(await states(), Array(3).fill("running 1"));
  assert.equal(programs().length, 2);
  return { running, held, states };
}

test("runs that are claimed ahead for one account delay no other account that comes later", LIMIT, async (t) => {
  const there = await working(t, { ahead: { amount: 8, holdMs: 20_000 }, workers: 1 });
  const { store, key, submit, now } = there;
  const isClaimed = async (id: string, accountId: string) =>
    (await store.submissions.get(id, accountId))?.status === "running";
  const running = await submit(SLEEP);
  await programRuns();
  // None of them ends by itself.
  const held = [await submit(SLEEP), await submit(SLEEP), await submit(SLEEP)];
  for (const id of held) while (!(await isClaimed(id, key.accountId))) await sleep(5);
  const other = await addKey(store, "other");
  const late = await submit("print('served')", { of: other });
  while (!(await isClaimed(late, other.accountId))) await sleep(5);
  assert.equal(await store.submissions.cancel(running, key.accountId), true);
  const ended = await store.submissions.whenTerminal(late, other.accountId, AbortSignal.timeout(20_000));
  assert.equal(ended && stdoutOf(ended), "served\n");
  assert.deepEqual(await Promise.all(held.map(async (id) => (await now(id)).status)), Array(3).fill("running"));
});

test("submissions that are claimed ahead and cannot start soon are pending again", LIMIT, async (t) => {
  const there = await working(t, { ahead: { amount: 4, holdMs: 300 } });
  const { running, held, states } = await twoAndThree(there, 2);
  await sleep(600);
  assert.deepEqual(await states(), Array(3).fill("pending 0"));
  assert.equal(there.times("givenBack"), 3);
  for (const id of [...running, ...held]) assert.equal(verdictOf(await there.end(id)), "AC");
});

test("a submission that is cancelled before its start never runs, and costs no slot", LIMIT, async (t) => {
  const there = await working(t, { ahead: { amount: 4, holdMs: 20_000 } });
  const { running, held } = await twoAndThree(there, 1);
  const [first, second, third] = held as [string, string, string];
  assert.equal(await there.store.submissions.cancel(second, there.key.accountId), true);
  for (const id of [...running, first, third]) assert.equal(verdictOf(await there.end(id)), "AC");
  assert.equal((await there.end(second)).outcome?.result.cause, "cancelled");
  assert.equal(there.times("slotsLost"), 0);
  await eventually("the count of ends", () => there.times("ended python AC") === 4);
});

test("stopping returns the submissions that are claimed ahead", LIMIT, async (t) => {
  const there = await working(t, { ahead: { amount: 4, holdMs: 20_000 }, drainMs: 10_000 });
  const { running, states } = await twoAndThree(there, 1);
  await there.worker.stop();
  for (const id of running) assert.equal(stdoutOf(await there.now(id)), "long\n");
  assert.deepEqual(await states(), Array(3).fill("pending 0"));
});

test("stopping lets running submissions finish and starts no others", LIMIT, async (t) => {
  const { worker, submit, now } = await working(t, { workers: 1, drainMs: 10_000 });
  const running = await submit("import time; time.sleep(0.3); print('done')");
  await programRuns();
  const waiting = await submit("print(1)");
  await worker.stop();
  assert.equal(stdoutOf(await now(running)), "done\n");
  const { status, attempts } = await now(waiting);
  assert.deepEqual([status, attempts], ["pending", 0]);
  assert.equal((await worker.readiness()).ready, false);
});

test("at the drain deadline, judge runs are requeued and agent runs end as errors", LIMIT, async (t) => {
  const { worker, times, submit, now } = await working(t, { drainMs: 200 });
  const judge = await submit(SLEEP);
  const agent = await submit(SLEEP, { profile: "agent" });
  await programRuns(2);
  const [began, endedMs] = [performance.now(), stopwatch()];
  await worker.stop();
  const [leastMs, mostMs] = [performance.now() - began, endedMs()];
  assert.ok(leastMs >= 190 && mostMs < 5_000, `${leastMs} and ${mostMs} ms`);
  const { status, attempts, startedAtMs } = await now(judge);
  assert.deepEqual([status, attempts, startedAtMs], ["pending", 0, null]);
  const ended = await now(agent);
  assert.equal(ended.status, "error");
  assert.match(ended.outcome?.result.errorMessage ?? "", /agent runs are not repeated/);
  assert.deepEqual(["givenBack", "slotsLost"].map(times), [2, 0]);
  await eventually("their end", () => programsOf(launcher).length === 0);
});

test("a submission claimed while the worker stops is pending again", LIMIT, async (t) => {
  const claiming = Promise.withResolvers<void>();
  const { worker, submit, now } = await working(t, {
    drainMs: 10_000,
    wrap: (store) => ({
      ...store,
      submissions: {
        ...store.submissions,
        async claim(...args) {
          const claims = await store.submissions.claim(...args);
          if (claims.length > 0) claiming.resolve();
          await sleep(100);
          return claims;
        },
      },
    }),
  });
  const id = await submit("print('claimed')");
  await claiming.promise;
  await worker.stop();
  const { status, attempts } = await now(id);
  assert.deepEqual([status, attempts], ["pending", 0]);
});

test("a stopped worker holds no timers or connections", LIMIT, async (t) => {
  const held = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout" || name === "PipeWrap");
  const before = held().length;
  const { worker, submit, end } = await working(t, { drainMs: 3_600_000, leaseMs: 3_600_000 });
  const id = await submit("import time; time.sleep(1)");
  await programRuns();
  await worker.stop();
  assert.equal(verdictOf(await end(id)), "AC");
  await eventually("an end of all timers and connections", () => held().length <= before);
});

test("a run that lost its lease is ended and does not overwrite the later result", LIMIT, async (t) => {
  const { store, times, submit, end } = await working(t, { workers: 1, leaseMs: 600 });
  const id = await submit(SLEEP);
  await programRuns();
  const outcome = internalError("ended by another worker");
  for (;;) {
    await store.submissions.sweepAll(); // expires the lease as if this worker had been silent
    const [claim] = await store.submissions.claim("another worker", 3_600_000);
    if (!claim) continue;
    assert.deepEqual([claim.submission.id, claim.submission.attempts], [id, 2]);
    await eventually("the end of the first run", () => programsOf(launcher).length === 0);
    assert.equal((await store.submissions.get(id, claim.submission.accountId))?.status, "running");
    assert.equal(await store.submissions.finish(claim.lease, outcome), true);
    break;
  }
  const next = await end(await submit("print('next')"));
  assert.equal(stdoutOf(next), "next\n");
  assert.deepEqual((await end(id)).outcome, outcome);
  assert.equal(times("leasesLost"), 1);
});

test("a lease is renewed while the run lasts", LIMIT, async (t) => {
  const { store, submit, end } = await working(t, { workers: 1, leaseMs: 600 });
  const id = await submit("import time; time.sleep(1.2); print('kept')");
  await programRuns();
  for (let passed = 0; passed < 8; passed++) {
    await sleep(120);
    assert.deepEqual(await store.submissions.sweep(600), { requeued: [], failed: [] });
  }
  const ended = await end(id);
  assert.deepEqual([stdoutOf(ended), ended.attempts], ["kept\n", 1]);
});

test("runs of a worker that died before the start are repeated at once, not after a lease", LIMIT, async (t) => {
  let id = "";
  const { end } = await working(t, {
    earlier: async ({ store }, key) => {
      const enqueued = await enqueue(store, key, { code: "print('left')" });
      assert.ok(enqueued.kind === "enqueued");
      id = enqueued.submission.id;
      assert.equal((await store.submissions.claim("dead", 1_000)).length, 1);
    },
  });
  const ended = await end(id);
  assert.deepEqual([stdoutOf(ended), ended.attempts], ["left\n", 2]);
});

test("the only worker of a database does not wait for leases of its predecessor", LIMIT, async (t) => {
  let id = "";
  const { end } = await working(t, {
    earlier: async ({ store }, key) => {
      const enqueued = await enqueue(store, key, { code: "print('left')" });
      assert.ok(enqueued.kind === "enqueued");
      id = enqueued.submission.id;
      assert.equal((await store.submissions.claim("dead", 3_600_000)).length, 1);
    },
  });
  const ended = await end(id);
  assert.deepEqual([stdoutOf(ended), ended.attempts], ["left\n", 2]);
});

test("runs of a dead worker are requeued and repeated", LIMIT, async (t) => {
  const { store, times, submit, end, now } = await working(t, { leaseMs: 300, wrap: withoutFirst });
  const id = await submit("print('again')");
  while ((await now(id)).status === "pending") await sleep(5);
  const ended = await end(id);
  assert.deepEqual([stdoutOf(ended), ended.attempts], ["again\n", 2]);
  assert.equal(await store.submissions.depth(), 0);
  assert.equal(times("leasesExpired pending"), 1);
});

/** A worker that dies at once claims the first submission. */
function withoutFirst(store: Store): Store {
  let dead = false;
  return {
    ...store,
    submissions: {
      ...store.submissions,
      async claim(workerId, leaseMs, max) {
        if (dead) return store.submissions.claim(workerId, leaseMs, max);
        dead = (await store.submissions.claim("dead", 1, 1)).length > 0;
        return [];
      },
    },
  };
}

test("a run that lasts has samples of its memory and CPU time, a short one has none", LIMIT, async (t) => {
  const { store, submit, end } = await working(t);
  const id = await submit("import time\nx = b'x' * (20 << 20)\ntime.sleep(0.3)");
  const { outcome } = await end(id);
  const samples = (await store.submissionSearch.read(id, null))?.samples;
  assert.ok(samples && samples.atMs.length >= 3, JSON.stringify(samples));
  assert.ok(Math.max(...samples.memoryBytes) > 20 << 20);
  assert.equal(samples.peakBytes, outcome?.metrics?.memoryPeakBytes);
  // Samples have a tenth of a millisecond, so rounding both to whole milliseconds could give two numbers.
  const awayMs = Math.abs(samples.end.atMs - (outcome?.metrics?.wallNs ?? 0) / 1e6);
  assert.ok(awayMs <= 0.051, `${awayMs}`);
  const fails = await submit("raise SystemExit(1)");
  const wallMs = ((await end(fails)).outcome?.metrics?.wallNs ?? 0) / 1e6;
  if (wallMs < 30) assert.equal((await store.submissionSearch.read(fails, null))?.samples, null);
});
