import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { within } from "../../../bench/load/database.ts";
import { type Conversation, follow, type WorkerSide } from "../../../src/conversation/conversation.ts";
import { Conversations } from "../../../src/conversation/conversations.ts";
import type { LiveInput } from "../../../src/store/live/input.ts";
import { MAX_LIVE_INPUT } from "../../../src/store/live/input.ts";
import type { LiveMark, LivePiece } from "../../../src/store/live/types.ts";
import type { Claim } from "../../../src/store/submissions/types.ts";
import { addKey, enqueue, type OpenTemporary, onEachDatabase, temporaryStore } from "../../support/store/temporary.ts";
import { DONE } from "../../support/webhooks/project.ts";

const LIMIT = { timeout: 30_000 };
const log = pino({ enabled: false });
const bytes = (text: string): LiveInput => ({ kind: "bytes", bytes: Buffer.from(text) });
const textOf = (pieces: readonly LivePiece[], stream: LivePiece["stream"] = "stdout") =>
  Buffer.concat(pieces.filter((piece) => piece.stream === stream).map((piece) => piece.bytes)).toString();

async function until(isTrue: () => boolean): Promise<void> {
  for (const deadline = performance.now() + LIMIT.timeout; !isTrue(); await sleep(5))
    assert.ok(performance.now() < deadline, `never: ${isTrue}`);
}

/** A client that follows a run. */
class Reader {
  readonly pieces: (LivePiece & LiveMark)[] = [];
  readonly ended: Promise<string>;
  readonly #over = new AbortController();
  held = 0;

  /** @param isStuck whether the reader takes no second state. */
  constructor(conversation: Conversation, after: LiveMark | null = null, isStuck = false) {
    const take = async (amount: number) => {
      this.held += amount;
      return () => {
        this.held -= amount;
      };
    };
    const read = async () => {
      let last = "none";
      for await (const { status, pieces } of follow(conversation, {
        after,
        take,
        over: this.#over.signal,
        everyMs: 1_000,
      })) {
        last = status;
        this.pieces.push(...pieces);
        if (isStuck && pieces.length > 0)
          await new Promise((resolve) => this.#over.signal.addEventListener("abort", resolve));
      }
      return last;
    };
    this.ended = read();
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.ended;
  }

  async has(text: string, stream: LivePiece["stream"] = "stdout"): Promise<void> {
    await until(() => textOf(this.pieces, stream) === text);
  }
}

/** A program that keeps what it gets. */
class Program {
  readonly got: LiveInput[] = [];
  readonly #over = new AbortController();
  readonly ended: Promise<void>;

  constructor(end: WorkerSide) {
    this.ended = (async () => {
      for await (const input of end.inputs(this.#over.signal)) this.got.push(input);
    })();
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.ended;
  }
}

interface Setup {
  readonly inProcess: boolean;
  readonly open: OpenTemporary;
}

/** A submission, clients of it, and a worker. Unless they are one process, they share only the database. */
async function setUp(t: TestContext, { inProcess, open }: Setup, { takesInput = true, stdin = "" } = {}) {
  const temporary = await open();
  const readers: Reader[] = [];
  t.after(async () => {
    for (const reader of readers) await reader.stop();
    await temporary.dispose();
  });
  const { store } = temporary;
  const theirs = inProcess || !store.manyProcesses ? store : await temporary.another();
  const clients = new Conversations({ store, log, inProcess });
  const worker = inProcess ? clients : new Conversations({ store: theirs, log, inProcess });
  const key = await addKey(store, "key");
  const enqueued = await enqueue(store, key, { live: true, takesInput, stdin });
  assert.ok(enqueued.kind === "enqueued");
  const { id, accountId } = enqueued.submission;
  const claim = async (): Promise<Claim> => {
    const [claimed] = await theirs.submissions.claim("w", 60_000);
    assert.ok(claimed);
    return claimed;
  };
  /** What the worker does at the end of a run. */
  const finish = async (claimed: Claim) => {
    await worker.stop(claimed);
    assert.ok(await theirs.submissions.finish(claimed.lease, DONE));
    worker.forget(claimed);
  };
  const rows = async () =>
    await within(temporary.database, async ({ db }) => ({
      input: (await db.selectFrom("live_input").select("n").execute()).length,
      output: (await db.selectFrom("live_output").select("n").execute()).length,
    }));
  const conversation = clients.of(id, accountId);
  const follows = (after: LiveMark | null = null, isStuck = false) => {
    const reader = new Reader(conversation, after, isStuck);
    readers.push(reader);
    return reader;
  };
  return { ...temporary, clients, worker, id, accountId, conversation, follows, claim, finish, rows };
}

function onEachImplementation(suite: (setup: Setup) => void): void {
  onEachDatabase((open) => {
    for (const inProcess of [true, false])
      describe(inProcess ? "in one process" : "through the database", () => suite({ inProcess, open }));
  });
}

onEachImplementation((setup) => {
  test("input reaches the program once and in order, whether it comes before or after the claim", LIMIT, async (t) => {
    const { conversation, worker, claim, finish } = await setUp(t, setup);
    assert.equal(await conversation.give([bytes("1"), bytes("2")]), "given");
    const claimed = await claim();
    assert.equal(await conversation.give([bytes("3")]), "given");
    const begun = worker.begin(claimed);
    assert.equal(worker.begin(claimed), begun);
    assert.equal(await conversation.give([bytes("4")]), "given");
    const program = new Program(begun);
    assert.equal(await conversation.give([{ kind: "signal", signal: 2 }, bytes("\0\u{1f600}")]), "given");
    assert.equal(await conversation.give([{ kind: "end" }]), "given");
    await until(() => program.got.length >= 7);
    assert.deepEqual(program.got, [
      ...["1", "2", "3", "4"].map(bytes),
      { kind: "signal", signal: 2 },
      bytes("\0\u{1f600}"),
      { kind: "end" },
    ]);
    await program.stop();
    await finish(claimed);
    assert.equal(await conversation.give([bytes("late")]), "ended");
    assert.equal(program.got.length, 7);
  });

  test("many inputs of a client that waits for each arrive in their order", LIMIT, async (t) => {
    const { conversation, worker, claim } = await setUp(t, setup);
    const before = Array.from({ length: 300 }, (_, n) => bytes(`${n} `));
    assert.equal(await conversation.give(before), "given");
    const giving = (async () => {
      for (let n = 300; n < 330; n++) assert.equal(await conversation.give([bytes(`${n} `)]), "given");
    })();
    const program = new Program(worker.begin(await claim()));
    await giving;
    await until(() => program.got.length >= 330);
    const got = program.got.map((input) => (input.kind === "bytes" ? input.bytes.toString() : input.kind));
    assert.equal(got.join(""), Array.from({ length: 330 }, (_, n) => `${n} `).join(""));
    await program.stop();
  });

  test(
    "the log has both streams in order, and each reader gets it once, from the mark that it has",
    LIMIT,
    async (t) => {
      const { worker, claim, finish, follows } = await setUp(t, setup);
      const early = follows();
      const claimed = await claim();
      const end = worker.begin(claimed);
      end.write("stdout", Buffer.from("a"));
      end.write("stderr", Buffer.from("b"));
      end.write("stdout", Buffer.from("c"));
      await early.has("ac");
      end.write("stdout", Buffer.from("d"));
      await early.has("acd");
      end.write("stderr", Buffer.from("e"));
      await early.has("be", "stderr");
      const late = follows();
      await late.has("acd");
      await late.has("be", "stderr");
      assert.deepEqual(late.pieces, early.pieces);
      assert.deepEqual(
        early.pieces.map(({ n, stream, at, bytes: part }) => [n, stream, at, part.toString()]),
        [
          [0, "stdout", 0, "a"],
          [1, "stderr", 0, "b"],
          [2, "stdout", 1, "c"],
          [3, "stdout", 2, "d"],
          [4, "stderr", 1, "e"],
        ],
      );
      const resumed = early.pieces.map((mark) => follows(mark));
      end.write("stdout", Buffer.from("!"));
      await early.has("acd!");
      for (const [at, rest] of resumed.entries()) {
        await until(() => textOf(rest.pieces).endsWith("!"));
        assert.deepEqual(rest.pieces, early.pieces.slice(at + 1));
      }
      await finish(claimed);
      assert.deepEqual(await Promise.all([early.ended, late.ended]), ["completed", "completed"]);
      assert.equal(early.held + late.held, 0);
    },
  );

  test("a reader that continues within a character gets the whole character", LIMIT, async (t) => {
    const { worker, claim, follows } = await setUp(t, setup);
    const end = worker.begin(await claim());
    const early = follows();
    const smile = Buffer.from("\u{1f600}");
    for (let n = 0; n < smile.length; n++) {
      end.write("stdout", Buffer.concat([Buffer.from(n === 0 ? "x" : ""), smile.subarray(n, n + 1)]));
      await until(() => early.pieces.length > n);
    }
    end.write("stdout", Buffer.from("y"));
    await early.has("x\u{1f600}y");
    for (const mark of early.pieces.slice(0, 3)) {
      const rest = follows(mark);
      await rest.has("\u{1f600}y");
      assert.equal(rest.pieces[0]?.at, 1);
    }
  });

  test("a repeated run begins a new log, with a higher fence", LIMIT, async (t) => {
    const { worker, claim, finish, store, follows } = await setUp(t, setup, { takesInput: false });
    const reader = follows();
    const first = await claim();
    worker.begin(first).write("stdout", Buffer.from("lost"));
    await reader.has("lost");
    await worker.stop(first);
    assert.ok(await store.submissions.requeue(first.lease));
    worker.forget(first);
    const second = await claim();
    worker.begin(second).write("stdout", Buffer.from("new"));
    await reader.has("lostnew");
    assert.deepEqual(
      reader.pieces.map(({ fence, n, at }) => [fence, n, at]),
      [
        [first.lease.fence, 0, 0],
        [second.lease.fence, 0, 0],
      ],
    );
    const resumed = follows(reader.pieces[0]);
    await resumed.has("new");
    await finish(second);
    assert.equal(await reader.ended, "completed");
  });

  test("input is bounded in bytes, with the stdin of the submission, and in pieces", LIMIT, async (t) => {
    const { conversation, worker, claim } = await setUp(t, setup, { stdin: "four" });
    const most = MAX_LIVE_INPUT.bytes - 4;
    assert.equal(await conversation.give([bytes("x")]), "given");
    worker.begin(await claim());
    assert.equal(await conversation.give([bytes("x".repeat(most))]), "full");
    assert.equal(await conversation.give([bytes("x".repeat(most - 2))]), "given");
    assert.equal(await conversation.give([bytes("xy")]), "full");
    assert.equal(await conversation.give([bytes("x")]), "given");
    const ends = (amount: number) => Array<LiveInput>(amount).fill({ kind: "end" });
    assert.equal(await conversation.give(ends(MAX_LIVE_INPUT.pieces - 2)), "full");
    for (let n = 0; n < 9; n++) assert.equal(await conversation.give(ends(1_000)), "given");
    assert.equal(await conversation.give(ends(998)), "full");
    assert.equal(await conversation.give(ends(997)), "given");
    assert.equal(await conversation.give(ends(1)), "full");
  });

  test("input that is being stored when the run begins comes first, and counts", LIMIT, async (t) => {
    const { conversation, worker, claim } = await setUp(t, setup);
    const claimed = await claim();
    const most = "x".repeat(MAX_LIVE_INPUT.bytes - 1);
    const early = conversation.give([bytes(most)]);
    const end = worker.begin(claimed);
    const later = [conversation.give([bytes("yy")]), conversation.give([bytes("z")])];
    assert.deepEqual([await early, ...(await Promise.all(later))], ["given", "full", "given"]);
    const over = new AbortController();
    const got: LiveInput[] = [];
    for await (const input of end.inputs(over.signal)) {
      got.push(input);
      if (got.length === 2) over.abort();
    }
    assert.deepEqual(got, [bytes(most), bytes("z")]);
  });

  test("input is for runs of the account that take it", LIMIT, async (t) => {
    const { clients, worker, id, claim, conversation, store } = await setUp(t, setup, { takesInput: false });
    const other = await addKey(store, "other");
    for (const isRunning of [false, true]) {
      if (isRunning) worker.begin(await claim());
      assert.equal(await conversation.give([bytes("a")]), "takesNone");
      assert.equal(await clients.of(id, other.accountId).give([bytes("a")]), "ended");
      assert.equal(await clients.of("unknown", other.accountId).give([bytes("a")]), "ended");
    }
  });

  test("a reader that takes nothing delays neither the program nor other readers", LIMIT, async (t) => {
    const { worker, claim, finish, follows } = await setUp(t, setup);
    const claimed = await claim();
    const end = worker.begin(claimed);
    const stuck = follows(null, true);
    end.write("stdout", Buffer.from("first"));
    await stuck.has("first");
    const other = follows();
    const mebibyte = "x".repeat(1_048_576);
    for (let at = 0; at < mebibyte.length; at += 65_536)
      end.write("stdout", Buffer.from(mebibyte.slice(at, at + 65_536)));
    await other.has(`first${mebibyte}`);
    assert.equal(textOf(stuck.pieces), "first");
    assert.ok(stuck.held < 1_048_576);
    await finish(claimed);
    assert.equal(await other.ended, "completed");
  });

  test("nothing of a conversation is left after its end", LIMIT, async (t) => {
    const { conversation, worker, claim, finish, rows, follows } = await setUp(t, setup);
    await conversation.give([bytes("before")]);
    const claimed = await claim();
    const end = worker.begin(claimed);
    const reader = follows();
    const program = new Program(end);
    await conversation.give([bytes("never read, because the program has ended")]);
    end.write("stdout", Buffer.from("a"));
    await reader.has("a");
    await program.stop();
    await finish(claimed);
    end.write("stdout", Buffer.from("late"));
    assert.equal(await reader.ended, "completed");
    assert.deepEqual(await rows(), { input: 0, output: 0 });
    const after = follows();
    assert.deepEqual([await after.ended, after.pieces], ["completed", []]);
  });
});

test("in one process, the messages of a running program leave no row", LIMIT, async (t) => {
  const { conversation, worker, claim, rows, follows } = await setUp(t, { inProcess: true, open: temporaryStore });
  assert.equal(await conversation.give([bytes("before the claim")]), "given");
  const end = worker.begin(await claim());
  const program = new Program(end);
  const reader = follows();
  for (let n = 0; n < 50; n++) {
    assert.equal(await conversation.give([bytes(`${n}`)]), "given");
    await until(() => program.got.length === n + 2);
    end.write("stdout", Buffer.from("."));
    await reader.has(".".repeat(n + 1));
  }
  assert.deepEqual(await rows(), { input: 1, output: 0 });
  await program.stop();
});

test(
  "in one process, what waits for programs is bounded, and an account leaves memory for others",
  LIMIT,
  async (t) => {
    const { store } = await temporaryStore(t);
    const conversations = new Conversations({ store, log, inProcess: true });
    const [busy, honest] = [await addKey(store, "busy", { concurrency: 32 }), await addKey(store, "honest")];
    for (let n = 0; n < 20; n++) await enqueue(store, busy, { live: true, takesInput: true });
    await enqueue(store, honest, { live: true, takesInput: true });
    const claims: Claim[] = [];
    while (claims.length < 21) claims.push(...(await store.submissions.claim("w", 60_000, 21)));
    for (const claim of claims) conversations.begin(claim);
    const much = Array<LiveInput>(MAX_LIVE_INPUT.pieces).fill({ kind: "end" });
    const give = ({ submission: { id, accountId } }: Claim) => conversations.of(id, accountId).give(much);
    const [theirs = [], others = []] = [busy, honest].map(({ accountId }) =>
      claims.filter(({ submission }) => submission.accountId === accountId),
    );
    const given: string[] = [];
    for (const claim of theirs) given.push(await give(claim));
    assert.ok(given.includes("given") && given.includes("noRoom"), `${given}`);
    assert.equal(await give(others[0] as Claim), "given");
    // The end of a run frees the memory.
    for (const claim of theirs) await conversations.stop(claim);
    const refused = theirs[given.indexOf("noRoom")] as Claim;
    conversations.forget(refused);
    assert.ok(await store.submissions.release(refused.lease, false));
    const [again] = await store.submissions.claim("w", 60_000);
    assert.ok(again);
    conversations.begin(again);
    assert.equal(await give(again), "given");
  },
);

onEachDatabase((open) => {
  for (const inProcess of [true, false])
    test(
      `if the database fails, input is refused instead of lost (${inProcess ? "in one process" : "stored"})`,
      LIMIT,
      async (t) => {
        const { store, claim, id, accountId } = await setUp(t, { inProcess, open });
        const failing = new Error("the database is away");
        const broken = { ...store.liveInput, read: () => Promise.reject(failing) };
        const conversations = new Conversations({ store: { live: store.live, liveInput: broken }, log, inProcess });
        const end = conversations.begin(await claim());
        if (inProcess) await assert.rejects(conversations.of(id, accountId).give([bytes("a")]), failing);
        await assert.rejects(new Program(end).ended, failing);
        await end.stop();
      },
    );
});
