import { writeSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { internalError } from "../../../src/domain/outcome.ts";
import { openStore } from "../../../src/store/open.ts";
import { addKey, enqueue } from "../../support/store/temporary.ts";

/**
 * node disk-writer.ts PATH COUNT: accepts and ends submissions, eight at a time, and prints "accepted ID" and
 * "ended ID" when the store has confirmed it. At the end it prints "delays" with the p99.9 and the longest delay of the
 * event loop in milliseconds.
 */
const [path = "", count = "0"] = process.argv.slice(2);
const CLIENTS = 8;
const say = (line: string) => writeSync(1, `${line}\n`);
const store = await openStore({ database: { kind: "sqlite", path } });
const key = await addKey(store, "key", { concurrency: 1_000 });
const delays = monitorEventLoopDelay({ resolution: 1 });
let left = Number(count);
const client = async (_: unknown, at: number) => {
  // The first submissions load code, which takes longer than the delays to measure.
  for (; left > 0; ) {
    if (--left === Number(count) - CLIENTS) delays.enable();
    const accepted = await enqueue(store, key, { code: `#${"x".repeat(30_000)}`, stdin: String(at) });
    if (accepted.kind !== "enqueued") throw new Error(accepted.kind);
    say(`accepted ${accepted.submission.id}`);
    await store.quota.take(key.keyId, 1_000_000);
    for (const { lease } of await store.submissions.claim("w", 60_000)) {
      await store.submissions.finish(lease, internalError("x".repeat(30_000)));
      say(`ended ${lease.submissionId}`);
    }
  }
};
await Promise.all(Array.from({ length: CLIENTS }, client));
delays.disable();
say(`delays ${delays.percentile(99.9) / 1e6} ${delays.max / 1e6}`);
await store.close();
