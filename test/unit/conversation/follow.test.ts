import assert from "node:assert/strict";
import { test } from "node:test";
import { type Conversation, follow } from "../../../src/conversation/conversation.ts";
import type { LiveOutput } from "../../../src/store/live/types.ts";

/** A conversation whose states are given, and how much memory its reader holds. */
function conversationOf(states: readonly (LiveOutput | undefined)[]) {
  const counts = { held: 0, listeners: 0, reads: 0 };
  const conversation: Conversation = {
    give: async () => "ended",
    read: async (_, admit) => {
      const state = states[counts.reads++];
      const bytes = state?.pieces.reduce((sum, piece) => sum + piece.bytes.length, 0) ?? 0;
      if (state && bytes > 0 && !(await admit(bytes))) return { ...state, pieces: [], isWithheld: true };
      return state;
    },
    onChange: (listener) => {
      counts.listeners++;
      listener();
      return () => counts.listeners--;
    },
  };
  return { conversation, counts };
}

const piece = (n: number, text: string) =>
  ({ fence: 1, n, stream: "stdout", at: 0, bytes: Buffer.from(text) }) as const;
const running = (...pieces: LiveOutput["pieces"]): LiveOutput => ({
  status: "running",
  fence: pieces[0]?.fence ?? 1,
  pieces,
});

async function followed(states: readonly (LiveOutput | undefined)[], more: Partial<Parameters<typeof follow>[1]> = {}) {
  const { conversation, counts } = conversationOf(states);
  const take = async (bytes: number) => {
    counts.held += bytes;
    return () => {
      counts.held -= bytes;
    };
  };
  const seen: string[] = [];
  let most = 0;
  const { signal: over } = new AbortController();
  for await (const { status, pieces, isWithheld } of follow(conversation, { take, over, everyMs: 1, ...more })) {
    most = Math.max(most, counts.held);
    seen.push(`${status}${isWithheld ? " withheld" : ""} ${pieces.map(({ bytes }) => bytes).join(",")}`.trim());
  }
  assert.deepEqual([counts.held, counts.listeners], [0, 0], "nothing is left");
  return { seen, most };
}

test("a reader gets each state up to the end, and holds the memory of one read", async () => {
  const states: LiveOutput[] = [
    { status: "pending", fence: 0, pieces: [] },
    running(piece(0, "a"), piece(1, "bc")),
    running(piece(2, "d")),
    { status: "completed", fence: 1, pieces: [] },
  ];
  const { seen, most } = await followed(states);
  assert.deepEqual(seen, ["pending", "running a,bc", "running d", "completed"]);
  assert.equal(most, 3);
});

test("a reader ends if the submission is deleted, if there is no memory, and if nobody reads", async () => {
  assert.deepEqual((await followed([running(), undefined])).seen, ["running"]);
  const none = { take: async () => undefined };
  assert.deepEqual((await followed([running(piece(0, "a"))], none)).seen, ["running withheld"]);
  assert.deepEqual((await followed([running()], { over: AbortSignal.abort() })).seen, []);
});

test("a reader knows which output it lacks, in bytes of each stream", async () => {
  const smile = Buffer.from("x\u{1f600}");
  const part = (n: number, stream: "stdout" | "stderr", at: number, bytes: Buffer) => ({
    fence: 1,
    n,
    stream,
    at,
    bytes,
  });
  const states = (fence: number): LiveOutput[] => [
    running(),
    running(part(0, "stdout", 0, smile.subarray(0, 3)), part(1, "stderr", 0, Buffer.from("ab"))),
    running(part(2, "stdout", 3, smile.subarray(3, 4))),
    running({ ...part(0, "stdout", 0, smile), fence: 2 }),
    { status: "completed", fence, pieces: [] },
  ];
  const positions = async (after: { fence: number; n: number } | null, fence = 2) => {
    const { conversation } = conversationOf(states(fence));
    const seen: unknown[] = [];
    const { signal: over } = new AbortController();
    for await (const { position } of follow(conversation, { after, take: async () => () => {}, over, everyMs: 1 }))
      seen.push(position && [position.stdout, position.stderr]);
    return seen;
  };
  assert.deepEqual(await positions(null), [null, [3, 2], [4, 2], [5, 0], [5, 0]]);
  // The reader that continues has no part of the character, and gets all of it.
  assert.deepEqual(await positions({ fence: 1, n: 2 }), [null, [1, 2], [1, 2], [5, 0], [5, 0]]);
  // Of a third attempt, the reader has seen nothing.
  assert.deepEqual(await positions(null, 3), [null, [3, 2], [4, 2], [5, 0], [0, 0]]);
});

test("an error frees the memory, and the subscription", async () => {
  const { conversation, counts } = conversationOf([running(piece(0, "a"))]);
  const take = async () => {
    counts.held++;
    return () => counts.held--;
  };
  const fails = async () => {
    const { signal: over } = new AbortController();
    for await (const _ of follow(conversation, { take, over, everyMs: 1 })) throw new Error("the client has gone");
  };
  await assert.rejects(fails(), /the client has gone/);
  assert.deepEqual([counts.held, counts.listeners], [0, 0]);
});
