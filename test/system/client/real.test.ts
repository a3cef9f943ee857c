import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { assay } from "../../support/cli/processes.ts";
import { startProxy } from "../../support/client/cutting-proxy.ts";
import { type Asked, CLIENTS } from "../../support/client/drive.ts";
import { source, useProduct } from "../../support/programs/product.ts";
import { stopwatch } from "../../support/stopwatch.ts";
import { makeCertificates, type Receiver, startReceiver } from "../../support/webhooks/receiver.ts";

const LIMIT = { timeout: 60_000 };

let receiver: Receiver;
let closing = async () => {};

const product = useProduct({
  project: "shop",
  prepare: async (data) => {
    const certificates = makeCertificates();
    const context = { after: (close: () => Promise<void>) => (closing = close) } as unknown as TestContext;
    receiver = await startReceiver(context, certificates);
    const ca = join(data, "receivers.pem");
    writeFileSync(ca, certificates.ca);
    return ["--webhook-allow", `127.0.0.1:${receiver.port}`, "--webhook-ca", ca];
  },
});
after(() => closing());

const JUDGED = {
  language: "python",
  code: "print(int(input()) * 2)\n",
  stop: "never",
  tests: [
    { name: "small", stdin: "4\n", expected: "8\n" },
    { name: "odd", stdin: "5\n", expected: "11\n" },
  ],
};
/** Prints a line every 0.1 s, and a character of two bytes in each. */
const SLOW = "import time\nfor n in range(30):\n    print('é', n, flush=True)\n    time.sleep(0.1)\n";

let added: Promise<{ secret: string }> | undefined;

/** The project's endpoint; the first test creates it. */
function endpoint() {
  added ??= addEndpoint();
  return added;
}

async function addEndpoint(): Promise<{ secret: string }> {
  const args = ["create", "--project", "shop", "--url", receiver.url, "--json", "--data", product().data];
  return JSON.parse((await assay("webhooks", ...args)).stdout);
}

for (const [name, { call: callWith, verify }] of Object.entries(CLIENTS)) {
  const call = async (method: string, args: readonly unknown[] = [], more: Partial<Asked> = {}) => {
    const { key, service, data } = product();
    const caPath = join(data, "tls", "server.pem");
    const { value, error } = await callWith({ port: service.port, key, caPath, method, args, ...more });
    assert.equal(error, undefined, error?.message);
    return value;
  };

  test(`${name}: runs a program, and reads its bytes`, LIMIT, async () => {
    const code = "import sys\nsys.stdout.buffer.write(b'hello \\xff')\nprint('no', file=sys.stderr)\n";
    const record = await call("submitAndWait", [{ language: "python", code }]);
    assert.deepEqual([record.status, record.result.verdict], ["completed", "AC"]);
    assert.equal(record.evidence.teardown.cleanup_verified, true);
    assert.deepEqual(await call("result", [record.id]), record);
    assert.deepEqual(await call("egress", [record.id]), { id: record.id, network: "none", egress: null });
    assert.equal(
      (await call("stdout", [record.id])).base64,
      Buffer.from([...Buffer.from("hello "), 0xff]).toString("base64"),
    );
    assert.equal((await call("stderr", [record.id])).base64, Buffer.from("no\n").toString("base64"));
  });

  test(
    `${name}: runs a program several times, until one run fails, and reads the warnings of its compiler`,
    LIMIT,
    async () => {
      const code = "int main(void) { int unused; return 0; }\n";
      const request = { language: "c", code, compiler_options: ["-Wall"], runs: 3 };
      const { id, metrics } = await call("submitAndWait", [request]);
      assert.match(Buffer.from((await call("compileOutput", [id])).base64, "base64").toString(), /unused variable/);
      const { runs, memory_peak_bytes: mean } = await call("runs", [id]);
      assert.equal(runs, 3);
      assert.ok(mean > 0 && Math.abs(mean - metrics.memory_peak_bytes) < metrics.memory_peak_bytes);
      const failed = await call("submitAndWait", [{ language: "python", code: "exit(1)", runs: 20 }]);
      assert.equal((await call("runs", [failed.id])).runs, 1);
      assert.equal((await call("compileOutput", [failed.id])).base64, "");
    },
  );

  // A compiled program has the files of its compile step, which belong to the peak.
  for (const [language, code] of [
    ["python", "import time\ntime.sleep(0.3)\n"],
    ["c", "#include <unistd.h>\nint main(void) { return usleep(300000); }\n"],
  ])
    test(`${name}: reads the course of a run, whose peak is the one of the record (${language})`, LIMIT, async () => {
      const { id, metrics, evidence } = await call("submitAndWait", [{ language, code }]);
      const { usage } = await call("usage", [id]);
      assert.deepEqual([usage.step, usage.memory_peak_bytes], ["execute", metrics.memory_peak_bytes]);
      assert.equal(usage.memory_peak_bytes, evidence.limits.cgroup.memory_peak_bytes);
      for (const { memory_bytes: bytes } of usage.samples) assert.ok(bytes <= usage.memory_peak_bytes);
      assert.ok(usage.samples.at(-1).at_secs <= usage.wall_time_secs && usage.samples.length > 3);
    });

  test(`${name}: returns the verdict of a hostile program`, LIMIT, async () => {
    const code = source("c", "forks-without-end");
    const { result, evidence } = await call("submitAndWait", [{ language: "c", code }]);
    assert.deepEqual([result.verdict, evidence.teardown.cleanup_verified], ["PLE", true]);
  });

  test(`${name}: judges a program, follows the judgement and repeats it`, LIMIT, async () => {
    const judgement = await call("judgeAndWait", [JUDGED]);
    assert.deepEqual(
      [judgement.verdict, ...judgement.runs.map(({ verdict }: { verdict: string }) => verdict)],
      ["WA", "AC", "WA"],
    );
    const again = await call("rejudge", [judgement.id]);
    const events = await call("judgementEvents", [again.id], { isAsync: true });
    assert.deepEqual([events.at(-1).type, events.at(-1).judgement.verdict], ["ended", "WA"]);
    assert.equal((await call("waitForJudgement", [again.id])).status, "completed");
    const { judgements } = await call("judgements", [{ verdict: "WA", limit: 2 }]);
    assert.deepEqual(
      judgements.map(({ id }: { id: string }) => id),
      [again.id, judgement.id],
    );
    const { stop: _, tests, ...program } = JUDGED;
    const cases = tests.map(({ stdin, expected }) => ({ stdin, expected }));
    assert.equal((await call("judge", [{ ...program, cases }])).results[0].stdout, "8\n");
  });

  for (const isAsync of name === "Python" ? [false, true] : [true])
    test(`${name}: follows the output over a lost connection${isAsync ? ", asynchronously" : ""}`, LIMIT, async (t) => {
      const proxy = await startProxy(t, product().service.port);
      const { id } = await call("submit", [{ language: "python", code: SLOW, stream: true }]);
      const following = call("events", [id], { port: proxy.port, isAsync });
      while (proxy.connections() === 0) await sleep(10);
      await sleep(700);
      proxy.cut();
      const events = await following;
      assert.ok(proxy.connections() >= 2);
      const text = events.filter(({ type }: { type: string }) => type === "stdout");
      const whole = text.map(({ text }: { text: string }) => text).join("");
      const { type, record } = events.at(-1);
      assert.deepEqual([type, record.result.verdict], ["ended", "AC"]);
      const all = Array.from({ length: 30 }, (_, n) => `é ${n}\n`);
      assert.equal(record.output.stdout, all.join(""));
      // The output of the last 0.2 s can be in the record only.
      assert.ok(
        all.some((_, n) => n >= 20 && whole === all.slice(0, n + 1).join("")),
        whole,
      );
    });

  test(`${name}: closes the connection when the caller ends the iteration`, LIMIT, async (t) => {
    const proxy = await startProxy(t, product().service.port);
    const { id } = await call("submit", [{ language: "python", code: "import time\ntime.sleep(30)", stream: true }]);
    const tookMs = stopwatch();
    const events = await call("events", [id], { port: proxy.port, isAsync: true, withinMs: 700 });
    while (proxy.open() > 0) await sleep(10);
    // The service would have sent its next comment after 15 s.
    assert.ok(tookMs() < 5_000);
    assert.ok(events.every(({ type }: { type: string }) => type === "status"));
    await call("cancel", [id]);
  });

  test(`${name}: gives a running program input and its end, or a signal`, LIMIT, async () => {
    const code = "import sys\nfor line in sys.stdin: print('got', line, end='', flush=True)\n";
    const submit = () => call("submit", [{ language: "python", code, stdin: "first\n", live_input: true }]);
    const { id } = await submit();
    await call("sendInput", [id, "second\n"]);
    await call("sendInput", [id, { base64: Buffer.from("third\n").toString("base64") }]);
    assert.equal((await call("endInput", [id])).id, id);
    const { result, output } = await call("wait", [id]);
    assert.deepEqual([result.verdict, output.stdout], ["AC", "got first\ngot second\ngot third\n"]);
    const { id: killed } = await submit();
    await call("sendSignal", [killed, "SIGTERM"]);
    assert.equal((await call("wait", [killed])).result.verdict, "SIG");
  });

  test(`${name}: cancels, submits several programs and lists them`, LIMIT, async () => {
    const { id } = await call("submit", [{ language: "python", code: "while True: pass" }]);
    assert.equal((await call("cancel", [id])).status, "error");
    const programs = [
      { language: "python", code: "print(1)" },
      { language: "cobol", code: "x" },
    ];
    const [first, second] = await call("batch", [programs]);
    assert.match(second.error, /unsupported language/);
    assert.equal((await call("wait", [first.id])).output.stdout, "1\n");
    const { submissions } = await call("submissions", [{ limit: 2 }]);
    assert.deepEqual(
      submissions.map((one: { id: string }) => one.id),
      [first.id, id],
    );
  });

  test(`${name}: describes the service`, LIMIT, async () => {
    const names = await call("languages");
    assert.deepEqual(
      (await call("languageDetails")).map(({ name }: { name: string }) => name),
      names,
    );
    assert.equal((await call("health")).status, "ok");
    assert.equal((await call("ready")).status, "ready");
  });

  test(`${name}: verifies delivered records and judgements`, LIMIT, async () => {
    const { secret } = await endpoint();
    const delivered = async (id: string) => {
      let found: Receiver["received"][number] | undefined;
      for (let count = 1; !found; count++) {
        await receiver.until(count);
        found = receiver.received.find(({ headers }) => headers["webhook-id"] === id);
      }
      const { value } = await verify({ body: found.body, headers: found.headers as Record<string, string>, secret });
      return value;
    };
    const record = await call("submitAndWait", [{ language: "python", code: "print(6 * 7)" }]);
    assert.deepEqual(await delivered(record.id), { type: "submission", id: record.id, record });
    const judgement = await call("judgeAndWait", [JUDGED]);
    assert.deepEqual(await delivered(judgement.id), { type: "judgement", id: judgement.id, judgement });
  });
}
