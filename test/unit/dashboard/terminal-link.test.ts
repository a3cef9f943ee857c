import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { type LinkState, TerminalLink } from "../../../dashboard/src/pages/sandboxes/terminal-link.ts";

const MIB = 1_048_576;

/** The part of a browser's WebSocket that the link uses. */
class FakeSocket {
  static readonly OPEN = 1;
  static all: FakeSocket[] = [];
  readyState = 0;
  binaryType = "";
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  readonly sent: unknown[] = [];
  readonly url: string;

  constructor(url: URL) {
    this.url = url.href;
    FakeSocket.all.push(this);
  }

  send(message: unknown): void {
    this.sent.push(message);
  }

  /** As a browser does, it reports the end later. */
  close(): void {
    this.readyState = 2;
    queueMicrotask(() => this.end(1005));
  }

  begin(offset: number): void {
    this.readyState = 1;
    this.onopen?.();
    this.text({ type: "start", number: 1, stdout: offset, stderr: 0 });
  }

  text(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }

  output(bytes: number): void {
    this.onmessage?.({ data: new Uint8Array(1 + bytes).fill(65).buffer });
  }

  end(code: number): void {
    this.readyState = 3;
    this.onclose?.({ code });
  }
}

function linked() {
  const states: LinkState[] = [];
  const shown: (() => void)[] = [];
  const skipped: number[] = [];
  const link = new TerminalLink({
    addressFrom: (offset) => new URL(`https://host/attach?stdout=${offset}`),
    write: (_bytes, done) => shown.push(done),
    skip: (bytes) => skipped.push(bytes),
    changed: (state) => states.push(state),
  });
  const socket = () => FakeSocket.all.at(-1) ?? assert.fail("there is no connection");
  const settled = async () => {
    for (let n = 0; n < 10; n++) await Promise.resolve();
  };
  return { link, states, shown, skipped, socket, settled };
}

beforeEach(() => {
  FakeSocket.all = [];
  Object.assign(globalThis, { WebSocket: FakeSocket });
});

/** What an ordinary request to the address of the WebSocket gets. */
function answer(status: number, body: object = {}): void {
  globalThis.fetch = (async () => new Response(JSON.stringify(body), { status })) as typeof fetch;
}

test("a lost connection is made again at the byte that follows, and input is only sent while there is one", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { link, states, shown, skipped, socket, settled } = linked();
  assert.equal(socket().url, "wss://host/attach?stdout=0");
  link.type("too early");
  socket().begin(0);
  link.type("é");
  link.typeBytes("\x00\xff");
  link.resize(30, 90);
  assert.deepEqual(socket().sent, [
    new Uint8Array([0xc3, 0xa9]),
    new Uint8Array([0, 255]),
    '{"type":"resize","rows":30,"cols":90}',
  ]);
  socket().output(10);
  socket().end(1006);
  link.type("lost");
  await settled();
  t.mock.timers.tick(250);
  assert.equal(socket().url, "wss://host/attach?stdout=10");
  socket().begin(10);
  socket().text({ type: "skipped", stream: "stdout", at: 1_000 });
  socket().output(5);
  assert.deepEqual(skipped, [990]);
  socket().end(1001);
  await settled();
  t.mock.timers.tick(250);
  assert.equal(socket().url, "wss://host/attach?stdout=1005");
  assert.deepEqual(
    states.map(({ kind }) => kind),
    ["open", "lost", "open", "lost"],
  );
  assert.equal(shown.length, 2);
});

test("a page that shows output too slowly gives up its connection, and continues when it has caught up", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { link, states, shown, socket, settled } = linked();
  socket().begin(0);
  for (let n = 0; n < 64; n++) socket().output(MIB / 8);
  // What arrived before the end of the connection is asked for again.
  assert.equal(shown.length, 33);
  await settled();
  assert.equal(FakeSocket.all.length, 1);
  link.type("\x03");
  for (const done of shown.splice(0, 24)) done();
  assert.equal(FakeSocket.all.length, 1);
  for (const done of shown.splice(0)) done();
  assert.equal(FakeSocket.all.length, 2);
  socket().begin((33 * MIB) / 8);
  assert.deepEqual(socket().sent, [new Uint8Array([3])], "what was typed meanwhile");
  assert.equal(socket().url, `wss://host/attach?stdout=${(33 * MIB) / 8}`);
  assert.deepEqual(
    states.map(({ kind }) => kind),
    ["open", "open"],
    "the person does not notice",
  );
});

test("attempts that fail are repeated at growing intervals, unless the service refuses for good", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { states, socket, settled } = linked();
  answer(503, { error: "another process of the service has this sandbox" });
  for (const pause of [250, 500, 1_000, 2_000, 5_000, 5_000]) {
    const before = FakeSocket.all.length;
    socket().end(1006);
    await settled();
    await new Promise((resolve) => setImmediate(resolve));
    await settled();
    t.mock.timers.tick(pause - 1);
    assert.equal(FakeSocket.all.length, before);
    t.mock.timers.tick(1);
    assert.equal(FakeSocket.all.length, before + 1);
  }
  assert.deepEqual(states.at(-1), { kind: "lost", reason: "another process of the service has this sandbox" });
  answer(410, { error: "the sandbox has ended: a client ended it" });
  socket().end(1006);
  await settled();
  await new Promise((resolve) => setImmediate(resolve));
  await settled();
  assert.deepEqual(states.at(-1), { kind: "refused", reason: "the sandbox has ended: a client ended it" });
  const attempts = FakeSocket.all.length;
  t.mock.timers.tick(60_000);
  assert.equal(FakeSocket.all.length, attempts);
});

test("the end of the execution, a refusal, and a person who leaves are final", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const ending = linked();
  ending.socket().begin(0);
  ending.socket().text({ type: "ended", execution: { number: 1 } });
  ending.socket().end(1000);
  const refused = linked();
  refused.socket().begin(0);
  refused.socket().text({ type: "error", error: "sign in first" });
  refused.socket().end(1008);
  const left = linked();
  left.socket().begin(0);
  left.link.close();
  await left.settled();
  t.mock.timers.tick(60_000);
  assert.deepEqual(
    [ending.states.at(-1), refused.states.at(-1), left.states.at(-1)],
    [{ kind: "ended", execution: { number: 1 } }, { kind: "refused", reason: "sign in first" }, { kind: "open" }],
  );
  assert.equal(FakeSocket.all.length, 3);
});
