import assert from "node:assert/strict";
import { after, before, type TestContext, test } from "node:test";
import type { Languages } from "../../../src/languages/load.ts";
import { SelfTest } from "../../../src/worker/self-test.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { killChildren } from "../../support/launcher/machine.ts";
import { PATIENCE } from "../../support/programs/timeouts.ts";
import { fakeLauncher } from "../../support/sandbox/fake-launcher.ts";
import { ended, frame, hello, keyed, torn } from "../../support/sandbox/frames.ts";
import { broken, someLanguages } from "../../support/worker/some-languages.ts";

const LIMIT = { timeout: 20_000 };
/** The only message that clients receive for a failure without a verdict. */
const UNREACHABLE = "the sandbox could not be reached or built; the service's log says why";

let launcher: Launcher;
before(async () => {
  launcher = await startLauncher({ slots: 4 });
});
after(async () => assert.equal(await launcher.stop(), 0, launcher.stderr()));

/** A self-test that counts the runs it starts. */
function prover(t: TestContext, languages: Languages, socket = launcher.socket) {
  let runs = 0;
  const counted: Languages = {
    ...languages,
    limitsFor(language, profile) {
      runs++;
      return languages.limitsFor(language, profile);
    },
  };
  const made = new SelfTest(socket, counted);
  t.after(() => made.close());
  return { prover: made, runs: () => runs };
}

/** A wall clock that the test controls. */
function movableClock(t: TestContext): (ms: number) => void {
  let nowMs = Date.now();
  t.mock.timers.enable({ apis: ["Date"], now: nowMs });
  return (ms) => {
    nowMs += ms;
    t.mock.timers.setTime(nowMs);
  };
}

test("nothing is ready before a smoke test has run", LIMIT, async (t) => {
  const { prover: untried, runs } = prover(t, someLanguages(["python"]));
  const { ready, cgroupBackend, checks } = await untried.readiness();
  assert.deepEqual([ready, cgroupBackend, checks[0]?.ok, runs()], [false, null, false, 0]);
  assert.deepEqual(untried.working(), []);
});

test("is ready as soon as the languages are proven, even after an earlier request", LIMIT, async (t) => {
  const { prover: ours } = prover(t, someLanguages(["python"]));
  assert.equal((await ours.readiness()).ready, false);
  await ours.proveAll();
  assert.equal((await ours.readiness()).ready, true);
});

test("readiness makes a new run and reports the backend and every check by name", LIMIT, async (t) => {
  const { prover: ours, runs } = prover(t, someLanguages(["c", "python"]));
  const proven = await ours.proveAll();
  assert.deepEqual(
    proven.map(({ name, ok }) => [name, ok]),
    [
      ["c", true],
      ["python", true],
    ],
  );
  assert.equal(runs(), 2);
  const { ready, cgroupBackend, checks } = await ours.readiness();
  assert.equal(runs(), 3);
  assert.equal(ready, true);
  assert.match(cgroupBackend ?? "", /^cgroup_(v1|v2|hybrid)$/);
  assert.deepEqual(
    checks.map(({ name }) => name),
    ["sandbox", "file_size_evidence", "pressure_evidence", "c", "python"],
  );
  assert.ok(checks.every(({ ok, detail }) => ok && detail.length > 0));
});

test("without a launcher, reports not ready and does not throw", LIMIT, async (t) => {
  const { prover: ours } = prover(t, someLanguages(["c", "python"]), `${launcher.socket}-not`);
  for (const { ok, detail, fault } of await ours.proveAll()) {
    assert.equal(ok, false);
    assert.equal(detail, UNREACHABLE);
    assert.match(fault ?? "", /^the launcher cannot be reached: connect ENOENT \//);
  }
  const { ready, cgroupBackend, checks } = await ours.readiness();
  assert.deepEqual([ready, cgroupBackend], [false, null]);
  assert.ok(checks.length > 0 && checks.every(({ ok }) => !ok));
  assert.deepEqual([ours.working(), ours.interrupted], [[], true]);
});

test(
  "a language whose smoke test fails is not offered and its check fails; the others are offered",
  LIMIT,
  async (t) => {
    const languages = someLanguages(["c", "python"], (language) =>
      language.name === "c" ? broken(language) : language,
    );
    const { prover: ours } = prover(t, languages);
    await ours.proveAll();
    assert.deepEqual([ours.working(), ours.interrupted], [["python"], false]);
    const { ready, checks } = await ours.readiness();
    assert.equal(ready, true);
    const c = checks.find(({ name }) => name === "c");
    assert.deepEqual([c?.ok, c?.detail], [false, "its smoke test ended as AC, but not as expected"]);
  },
);

test("is not ready if no language works", LIMIT, async (t) => {
  const { prover: ours } = prover(t, someLanguages(["python"], broken));
  await ours.proveAll();
  const { ready, cgroupBackend, checks } = await ours.readiness();
  assert.deepEqual([ready, cgroupBackend, ours.working()], [false, null, []]);
  assert.deepEqual([checks.length, checks[0]?.ok], [1, false]);
});

test("a proof is valid for five seconds, then a new one is made", LIMIT, async (t) => {
  const { prover: ours, runs } = prover(t, someLanguages(["python"]));
  await ours.proveAll();
  const pass = movableClock(t);
  const first = await ours.readiness();
  pass(4_999);
  assert.equal(await ours.readiness(), first);
  assert.equal(runs(), 2);
  pass(1);
  assert.notEqual(await ours.readiness(), first);
  assert.equal(runs(), 3);
});

test("a clock that is set back does not renew an old proof", LIMIT, async (t) => {
  const { prover: ours, runs } = prover(t, someLanguages(["python"]));
  await ours.proveAll();
  const pass = movableClock(t);
  const first = await ours.readiness();
  pass(-3 * 3_600_000);
  assert.notEqual(await ours.readiness(), first);
  assert.equal(runs(), 3);
});

test(
  "a language that was not proven because of a lost slot can be proven later, together with readiness",
  LIMIT,
  async (t) => {
    const languages = someLanguages(["c", "python"]);
    let kill = true;
    const { prover: ours } = prover(t, {
      ...languages,
      limitsFor(language, profile) {
        if (kill && language.name === "c") killChildren(launcher.pid);
        return languages.limitsFor(language, profile);
      },
    });
    await ours.proveAll();
    assert.deepEqual([ours.working(), ours.interrupted], [["python"], true]);
    kill = false;
    const [checks, readiness] = await Promise.all([ours.proveRest(), ours.readiness()]);
    assert.deepEqual(
      checks.map(({ name, ok }) => [name, ok]),
      [["c", true]],
    );
    assert.deepEqual([readiness.ready, ours.working(), ours.interrupted], [true, ["c", "python"], false]);
  },
);

test("a language that breaks while in use is no longer offered until it works again", LIMIT, async (t) => {
  const whole = someLanguages(["c", "python"]);
  const damaged = someLanguages(["c", "python"], (language) => (language.name === "c" ? broken(language) : language));
  let now = whole;
  const { prover: ours, runs } = prover(t, { ...whole, list: () => now.list() });
  await ours.proveAll();
  assert.deepEqual([await ours.proveNext(), await ours.proveNext(), runs()], [undefined, undefined, 4]);
  now = damaged;
  const lost = await ours.proveNext();
  assert.deepEqual(lost, { name: "c", ok: false, detail: "its smoke test ended as AC, but not as expected" });
  assert.deepEqual([ours.working(), runs()], [["python"], 6]);
  assert.deepEqual([await ours.proveNext(), await ours.proveNext()], [undefined, undefined]);
  now = whole;
  await ours.proveNext();
  assert.equal((await ours.proveNext())?.ok, true);
  assert.deepEqual(ours.working(), ["c", "python"]);
});

test("a lost slot or a timeout does not change the state of a language", LIMIT, async (t) => {
  const whole = someLanguages(["python"]);
  const sleeps = "import time\ntime.sleep(60)\n";
  const slow = someLanguages(["python"], (python) => ({ ...python, smokeTest: { ...python.smokeTest, code: sleeps } }));
  let now = whole;
  let kill = false;
  const { prover: ours } = prover(t, {
    ...whole,
    list: () => now.list(),
    limitsFor(language, profile) {
      if (kill) killChildren(launcher.pid);
      const limits = whole.limitsFor(language, profile);
      return now === slow ? { ...limits, execute: { ...limits.execute, wallMs: 300 * PATIENCE } } : limits;
    },
  });
  await ours.proveAll();
  kill = true;
  assert.deepEqual([await ours.proveNext(), ours.working()], [undefined, ["python"]]);
  kill = false;
  now = slow;
  assert.deepEqual([await ours.proveNext(), ours.working()], [undefined, ["python"]]);
});

test("concurrent requests share one run", LIMIT, async (t) => {
  const { prover: ours, runs } = prover(t, someLanguages(["python"]));
  await ours.proveAll();
  const answers = await Promise.all(Array.from({ length: 20 }, () => ours.readiness()));
  assert.equal(new Set(answers).size, 1);
  assert.deepEqual([answers[0]?.ready, runs()], [true, 2]);
});

test("a killed slot fails one readiness check; the next one has a new slot", LIMIT, async (t) => {
  const languages = someLanguages(["python"]);
  let kill = false;
  const { prover: ours } = prover(t, {
    ...languages,
    limitsFor(...args) {
      if (kill) killChildren(launcher.pid);
      return languages.limitsFor(...args);
    },
  });
  await ours.proveAll();
  assert.equal(ours.interrupted, false);
  const pass = movableClock(t);
  kill = true;
  const { ready, cgroupBackend, checks } = await ours.readiness();
  assert.deepEqual([ready, cgroupBackend, checks[0]?.name, checks[0]?.ok], [false, null, "sandbox", false]);
  assert.equal(ours.interrupted, true);
  kill = false;
  pass(5_000);
  assert.equal((await ours.readiness()).ready, true);
});

test("a failed set-up is reported to clients without the step and to the log with it", LIMIT, async (t) => {
  const fake = await fakeLauncher(t);
  const failures: (string | undefined)[] = [];
  const ours = new SelfTest(fake.socket, someLanguages(["python"]), ({ ok, fault }) => ok || failures.push(fault));
  t.after(() => ours.close());
  const proving = ours.proveAll();
  const peer = await fake.peer();
  peer.say(hello());
  await peer.heard();
  peer.say(frame("STDOUT", Buffer.from("hello\n")), ended({ STDOUT_SEEN: 6 }), torn());
  assert.equal((await proving)[0]?.ok, true);
  const answer = ours.readiness();
  await peer.heard();
  peer.say(keyed("FAILED", { STEP_NAME: "mount", STEP_OBJECT: "/srv/assay/image", STEP_ERRNO: 12 }));
  const [sandbox] = (await answer).checks;
  const fault = "no box: mount /srv/assay/image (errno 12)";
  assert.deepEqual(sandbox, { name: "sandbox", ok: false, detail: UNREACHABLE, fault });
  assert.deepEqual(failures, [fault]);
});

test("is not ready if a control is missing, although the program succeeded", LIMIT, async (t) => {
  const fake = await fakeLauncher(t);
  const { prover: ours } = prover(t, someLanguages(["python"]), fake.socket);
  const proving = ours.proveAll();
  const peer = await fake.peer();
  peer.say(hello());
  await peer.heard();
  peer.say(
    frame("STDOUT", Buffer.from("hello\n")),
    ended({ STDOUT_SEEN: 6, CONTROL_MISSING: ["seccomp: no"] }),
    torn(),
  );
  const [check] = await proving;
  assert.equal(check?.ok, false);
  assert.match(check?.detail ?? "", /^its smoke test ended as IE/);
  assert.equal((await ours.readiness()).ready, false);
});

test("after close, opens no slot and closes slots that were being opened", LIMIT, async (t) => {
  const fake = await fakeLauncher(t);
  const { prover: ours, runs } = prover(t, someLanguages(["c", "python"]), fake.socket);
  const proving = ours.proveAll();
  const peer = await fake.peer();
  ours.close();
  peer.say(hello());
  await peer.closed;
  const checks = await proving;
  assert.deepEqual(
    checks.map(({ ok, detail }) => [ok, detail]),
    [
      [false, "the service is stopping"],
      [false, "the service is stopping"],
    ],
  );
  assert.equal(runs(), 0);
});
