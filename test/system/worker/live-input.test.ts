import assert from "node:assert/strict";
import { test } from "node:test";
import pino from "pino";
import { Conversations } from "../../../src/conversation/conversations.ts";
import type { Slot } from "../../../src/sandbox/slot.ts";
import type { LiveInput } from "../../../src/store/live/input.ts";
import { runWithInput } from "../../../src/worker/run-steps.ts";
import { useSlot } from "../../support/sandbox/one-slot.ts";
import { shell } from "../../support/sandbox/steps.ts";
import { addKey, enqueue, onEachDatabase } from "../../support/store/temporary.ts";

let slot: Slot;
useSlot((opened) => {
  slot = opened;
});

const log = pino({ enabled: false });
const bytes = (text: string): LiveInput => ({ kind: "bytes", bytes: Buffer.from(text) });
const fail = (error: unknown) => assert.fail(String(error));

onEachDatabase((temporaryStore) => {
  for (const inProcess of [true, false]) {
    const where = inProcess ? "in one process" : "through the database";
    test(`${where}, what a client gives before and during a run reaches its program`, async (t) => {
      const { store } = await temporaryStore(t);
      const conversations = new Conversations({ store, log, inProcess });
      const key = await addKey(store, "key");
      const enqueued = await enqueue(store, key, { live: true, takesInput: true, stdin: "first\n" });
      assert.ok(enqueued.kind === "enqueued");
      const conversation = conversations.of(enqueued.submission.id, key.accountId);
      await conversation.give([bytes("before\n")]);
      const [claim] = await store.submissions.claim("w", 60_000);
      assert.ok(claim);
      const heard: string[] = [];
      const script = "while read x; do echo got $x; done; trap 'echo caught; exit 0' USR1; echo ready; sleep 5 & wait";
      const step = shell(script, { stdin: claim.program.stdin });
      const report = await runWithInput(slot, conversations.begin(claim), fail, step, (_, output) => {
        heard.push(output.toString());
        if (heard.join("") === "got first\ngot before\n") void conversation.give([bytes("during\n"), { kind: "end" }]);
        if (heard.join("").endsWith("ready\n")) void conversation.give([{ kind: "signal", signal: 10 }]);
      });
      assert.equal(report.stdout.toString(), "got first\ngot before\ngot during\nready\ncaught\n");
      assert.equal(report.sentSignal, 10);
      assert.equal(report.exitCode, 0);
      assert.equal((await slot.run(shell("cat"))).exitCode, 0);
    });

    test(`${where}, a program without input ends by its limits; a void lease gives it none`, async (t) => {
      const { store } = await temporaryStore(t);
      const conversations = new Conversations({ store, log, inProcess });
      const key = await addKey(store, "key");
      await enqueue(store, key, { live: true, takesInput: true });
      const [claim] = await store.submissions.claim("w", 60_000);
      assert.ok(claim);
      assert.ok(await store.submissions.requeue(claim.lease));
      await conversations.of(claim.submission.id, key.accountId).give([bytes("for another attempt\n")]);
      const step = shell("read x && echo $x");
      const limits = { ...step.limits, wallMs: 300 };
      const end = conversations.begin(claim);
      const { killReason, stdout } = await runWithInput(slot, end, fail, { ...step, limits });
      assert.deepEqual([killReason, stdout.toString()], ["wall", ""]);
    });
  }

  test("a program whose input cannot be read runs until it ends", async (t) => {
    const { store } = await temporaryStore(t);
    const broken = { ...store.liveInput, read: () => Promise.reject(new Error("the database is away")) };
    const conversations = new Conversations({ store: { ...store, liveInput: broken }, log, inProcess: false });
    await enqueue(store, await addKey(store, "key"), { live: true, takesInput: true });
    const [claim] = await store.submissions.claim("w", 60_000);
    assert.ok(claim);
    const failures: string[] = [];
    const step = shell("sleep 0.2; echo end");
    const note = (error: unknown) => failures.push(String(error));
    const { stdout } = await runWithInput(slot, conversations.begin(claim), note, step);
    assert.deepEqual([stdout.toString(), failures], ["end\n", ["Error: the database is away"]]);
  });
});
