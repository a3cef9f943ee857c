import assert from "node:assert/strict";
import { test } from "node:test";
import pino from "pino";
import type { Slot } from "../../../src/sandbox/slot.ts";
import type { LiveInput } from "../../../src/store/live/input.ts";
import { runWithInput } from "../../../src/worker/live-input.ts";
import { useSlot } from "../../support/sandbox/one-slot.ts";
import { shell } from "../../support/sandbox/steps.ts";
import { addKey, enqueue, onEachDatabase } from "../../support/store/temporary.ts";

let slot: Slot;
useSlot((opened) => {
  slot = opened;
});

const bytes = (text: string): LiveInput => ({ kind: "bytes", bytes: Buffer.from(text) });

onEachDatabase((temporaryStore) => {
  test("what a client gives before and during a run reaches its program", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "key");
    const enqueued = await enqueue(store, key, { live: true, takesInput: true });
    assert.ok(enqueued.kind === "enqueued");
    const give = (...inputs: LiveInput[]) => store.liveInput.give(enqueued.submission.id, key.accountId, inputs);
    await give(bytes("before\n"));
    const [claim] = await store.submissions.claim("w", 60_000);
    assert.ok(claim);
    const heard: string[] = [];
    const script = "while read x; do echo got $x; done; trap 'echo caught' USR1; echo ready; sleep 5 & wait; exit 0";
    const report = await runWithInput(
      { slot, store, claim, log: pino({ enabled: false }) },
      shell(script),
      (_, output) => {
        heard.push(output.toString());
        if (heard.join("") === "got before\n") void give(bytes("during\n"), { kind: "end" });
        if (heard.join("").endsWith("ready\n")) void give({ kind: "signal", signal: 10 });
      },
    );
    assert.equal(report.stdout.toString(), "got before\ngot during\nready\ncaught\n");
    assert.equal(report.sentSignal, 10);
    assert.equal(report.exitCode, 0);
    assert.equal((await slot.run(shell("cat"))).exitCode, 0);
  });

  test("without input, a program ends by its limits; a void lease gives it none", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "key");
    await enqueue(store, key, { live: true, takesInput: true });
    const [claim] = await store.submissions.claim("w", 60_000);
    assert.ok(claim);
    assert.ok(await store.submissions.repeat(claim.lease));
    await store.liveInput.give(claim.submission.id, key.accountId, [bytes("for another attempt\n")]);
    const step = shell("read x && echo $x");
    const limits = { ...step.limits, wallMs: 300 };
    const { killReason, stdout } = await runWithInput(
      { slot, store, claim, log: pino({ enabled: false }) },
      { ...step, limits },
    );
    assert.deepEqual([killReason, stdout.toString()], ["wall", ""]);
  });
});
