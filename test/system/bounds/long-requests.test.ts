import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { PistonClient } from "../../support/http/piston-client.ts";
import { zipOf } from "../../support/problems/zip.ts";
import { type Product, useProduct } from "../../support/programs/product.ts";

/**
 * Whatever other accounts run, an account with nothing running waits only for the next slot that becomes free: at most for one run and
 * its check. Each of these requests takes much longer as a whole.
 */
const SLOTS = 2;
/** Requests of the busy account: more than there are slots. */
const REQUESTS = 2 * SLOTS;
const RUN_SECS = 0.3;
const RUNS = 12;
const sleeping = `import time; time.sleep(${RUN_SECS})`;

/** A checker that sleeps, and asks for another pass until the last one. */
const ALWAYS_ANOTHER = `import os, sys, time
time.sleep(${RUN_SECS})
log = sys.argv[3] + "passes"
done = os.path.getsize(log) + 1 if os.path.exists(log) else 1
open(log, "a").write("x")
if done < ${RUNS}: open(sys.argv[3] + "nextpass.in", "w").write(str(done))
sys.exit(42)
`;

interface Asked {
  readonly product: Product;
  readonly n: number;
}

/** Makes a long request of the busy account. @returns when it ended, in milliseconds since the epoch. */
type Request = (asked: Asked) => Promise<number>;

interface RunRecord {
  readonly result: { readonly verdict: string };
  readonly timestamps: { readonly created_at: string; readonly started_at: string; readonly completed_at: string };
}

const BATCH = "a batch";
const IMPORT = "an import";
/** Requests of the busy account that may end before the newcomer: its batches and its imports are served one after the other. */
const mostEnded = (what: string) => (what === IMPORT || what === BATCH ? REQUESTS - 1 : 0);

async function posted({ ask }: Product, path: string, body: unknown, headers = {}): Promise<{ id: string }> {
  const { status, json } = await ask("POST", path, body, headers);
  assert.ok(status < 300, JSON.stringify(json));
  return json as { id: string };
}

/** Waits for a submission. @returns when it ended, by the clock of the service. */
async function ended({ ask }: Product, id: string): Promise<number> {
  for (;;) {
    const { status, timestamps } = (await ask("GET", `/api/result/${id}`)).json as RunRecord & { status: string };
    if (["completed", "error"].includes(status)) return Date.parse(timestamps.completed_at);
    await sleep(50);
  }
}

async function judged({ ask }: Product, body: object): Promise<number> {
  const { id } = await posted({ ask } as Product, "/api/judgements", body);
  for (;;) {
    const { json } = await ask("GET", `/api/judgements/${id}`);
    const { status, verdict, timestamps } = json as RunRecord & { status: string; verdict: string };
    if (status === "completed") {
      assert.equal(verdict, "AC", JSON.stringify(json));
      return Date.parse(timestamps.completed_at);
    }
    await sleep(50);
  }
}

/** An archive of a problem with many tests that do not repeat. */
function largeProblem(n: number): Buffer {
  const tests = Array.from({ length: 400 }, (_, at) => [
    { name: `data/secret/${at}.in`, data: `${n} ${at}\n`.repeat(4_000) },
    { name: `data/secret/${at}.ans`, data: `${at}\n` },
  ]);
  return zipOf([{ name: "problem.yaml", data: `name: large ${n}\n` }, ...tests.flat()]);
}

const REQUESTS_OF: Readonly<Record<string, Request>> = {
  "repeated runs": async ({ product, n }) => {
    const body = { language_id: 71, source_code: `${sleeping} # ${n}`, number_of_runs: RUNS };
    const { token } = (await posted(product, "/judge0/submissions", body)) as unknown as { token: string };
    return await ended(product, token);
  },
  "passes of a test": async ({ product, n }) => {
    const checker = { type: "program", interface: "kattis", language: "python", passes: RUNS, code: ALWAYS_ANOTHER };
    const tests = [{ stdin: "0", expected: "" }];
    const code = `${sleeping} # ${n}`;
    return await judged(product, { language: "python", code, tests, checker });
  },
  "a judgement of many tests": async ({ product, n }) => {
    const tests = Array.from({ length: RUNS }, (_, at) => ({ stdin: String(at), expected: "" }));
    return await judged(product, { language: "python", code: `${sleeping} # ${n}`, tests });
  },
  [BATCH]: async ({ product, n }) => {
    const batch = Array.from({ length: RUNS }, (_, at) => ({ language: "python", code: `${sleeping} # ${n} ${at}` }));
    const made = (await posted(product, "/api/submissions/batch", batch)) as unknown as { id: string }[];
    return Math.max(...(await Promise.all(made.map(({ id }) => ended(product, id)))));
  },
  "live sessions": async ({ product }) => {
    const caPath = join(product.data, "tls", "server.pem");
    for (let at = 0; at < RUNS / 3; at++) {
      const client = new PistonClient({ port: product.service.port, caPath, key: product.key });
      await client.init("python", `import time; time.sleep(${3 * RUN_SECS})`);
      await client.closed;
    }
    return Date.now();
  },
  [IMPORT]: async ({ product, n }) => {
    const headers = { "content-type": "application/zip" };
    await posted(product, `/api/problems?name=large-${n}&time_limit=1`, largeProblem(n), headers);
    return Date.now();
  },
};

/** Requests whose runs take turns on a slot. */
const IN_TURN = ["repeated runs", "passes of a test"];

for (const database of ["sqlite", "postgres"] as const)
  describe(`on ${database}, a newcomer`, () => {
    const product = useProduct({ workers: SLOTS, database });
    // Where work gives up a slot in the database, both databases decide; elsewhere one of them is enough.
    const some = Object.entries(REQUESTS_OF).filter(([what]) => database === "sqlite" || IN_TURN.includes(what));
    for (const [what, request] of some)
      test(`is served before any other request ends, next to ${what}`, { timeout: 180_000 }, async (t) => {
        const all = product();
        const honest = await all.runAs(`newcomer to ${what}`);
        const busy = Promise.all(Array.from({ length: REQUESTS }, (_, n) => request({ product: all, n })));
        busy.catch(() => {});
        if (what !== IMPORT) await sleep(3 * RUN_SECS * 1000); // the busy account has all slots
        const served: { createdAt: number; startedAt: number; completedAt: number }[] = [];
        while (served.length < 3) {
          const { result, timestamps } = (await honest("python", "print(1)")) as RunRecord;
          assert.equal(result.verdict, "AC");
          served.push({
            createdAt: Date.parse(timestamps.created_at),
            startedAt: Date.parse(timestamps.started_at),
            completedAt: Date.parse(timestamps.completed_at),
          });
        }
        const ends = await busy;
        t.diagnostic(
          `${what}: waits of ${served.map((one) => one.startedAt - one.createdAt).join(", ")} ms for a slot`,
        );
        for (const [n, { completedAt }] of served.entries()) {
          const before = ends.filter((end) => end < completedAt).length;
          assert.ok(Number.isFinite(completedAt) && ends.every(Number.isFinite));
          assert.ok(before <= mostEnded(what), `${before} long requests ended before run ${n + 1} of the newcomer`);
        }
      });
  });
