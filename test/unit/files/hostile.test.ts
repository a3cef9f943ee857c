import assert from "node:assert/strict";
import { test } from "node:test";
import { FileError } from "../../../src/domain/sandboxes/files.ts";
import { FileClient } from "../../../src/files/client.ts";
import type { FileProgram } from "../../../src/files/program.ts";

/** Answers as the file program sends them. */
const frame = (type: string, payload: Buffer | string = "", length = Buffer.byteLength(payload)) => {
  const header = Buffer.alloc(4);
  header.writeUInt32BE(length);
  header[0] = type.charCodeAt(0);
  return Buffer.concat([header, Buffer.from(payload)]);
};
const text = (value: string) =>
  Buffer.concat([Buffer.from([value.length >> 8, value.length & 255]), Buffer.from(value)]);
const u32 = (value: number) => Buffer.from([value >>> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255]);
const u64 = (value: number) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
};
const info = (name: string, { type = 0, mode = 0o644, bytes = 5, etag = "1-2-3", target = "" } = {}) =>
  frame("i", Buffer.concat([Buffer.from([type]), u32(mode), u64(bytes), u64(0), text(etag), text(name), text(target)]));
const failure = (code: string, path = "") => frame("f", Buffer.concat([text(code), u32(2), text(path)]));

/** Programs that say `chunks` after the first request, and then nothing. */
class Hostile {
  readonly killed: boolean[] = [];
  written = 0;
  readonly #chunks: () => Iterable<Buffer>;
  readonly #reads: boolean;

  constructor(chunks: () => Iterable<Buffer>, reads = true) {
    this.#chunks = chunks;
    this.#reads = reads;
  }

  readonly start = async (): Promise<FileProgram> => {
    const number = this.killed.push(false) - 1;
    const asked = Promise.withResolvers<void>();
    const chunks = this.#chunks;
    async function* say() {
      await asked.promise;
      yield* chunks();
      await new Promise(() => {});
    }
    return {
      output: say(),
      write: async (bytes) => {
        asked.resolve();
        this.written += bytes.length;
        if (!this.#reads) await new Promise(() => {});
      },
      kill: () => {
        this.killed[number] = true;
      },
    };
  };

  client(silenceMs = 30_000) {
    return new FileClient(this.start, { silenceMs, abortMs: 50 });
  }
}

const stopped = (error: unknown) => error instanceof FileError && error.code === "stopped";
async function* forever(bytes: number) {
  for (;;) yield Buffer.alloc(bytes);
}
const drain = async (body: AsyncIterable<Buffer>) => {
  let bytes = 0;
  for await (const part of body) bytes += part.length;
  return bytes;
};

const WRONG: Record<string, Buffer> = {
  "a frame of an unknown type": frame("?"),
  "a frame that is too large": frame("i", "", 0xffffff),
  "another answer": frame("g"),
  "a file of an unknown type": info("", { type: 4 }),
  "an impossible mode": info("", { mode: 0o10000 }),
  "an etag that is none": info("", { etag: '"\r\nX: y"' }),
  "a frame that is too short": frame("i", Buffer.alloc(7)),
  "a frame that is too long": Buffer.concat([frame("i", Buffer.concat([info("").subarray(4), Buffer.from("x")]))]),
  "a text beyond its frame": frame("i", Buffer.concat([Buffer.alloc(21), Buffer.from([0, 60]), text("1-2-3")])),
  "content without a request for it": frame("d", "x"),
  "an error that no program has": failure("busy"),
  "an error of an unknown name": failure("__proto__"),
};

for (const [what, answer] of Object.entries(WRONG)) {
  test(`kills a program that sends ${what}`, async () => {
    const hostile = new Hostile(() => [answer]);
    await assert.rejects(hostile.client().stat("x"), stopped);
    assert.deepEqual(hostile.killed, [true]);
  });
}

test("kills a program that says nothing, reads nothing, or stops within a frame", async () => {
  const silent = new Hostile(() => []);
  await assert.rejects(silent.client(50).stat("x"), stopped);
  const deaf = new Hostile(() => [], false);
  await assert.rejects(deaf.client(50).stat("x"), stopped);
  const stuck = new Hostile(() => [info("").subarray(0, 9)]);
  await assert.rejects(stuck.client(50).stat("x"), stopped);
  assert.deepEqual([...silent.killed, ...deaf.killed, ...stuck.killed], [true, true, true]);
});

test("reads an answer that comes byte by byte", async () => {
  const slow = new Hostile(() => [...info("", { type: 2, target: "elsewhere" })].map((byte) => Buffer.from([byte])));
  const client = slow.client();
  assert.deepEqual(await client.stat("x"), {
    path: "/home/user/x",
    type: "link",
    bytes: 5,
    mode: 0o644,
    modifiedAtMs: 0,
    etag: "1-2-3",
    target: "elsewhere",
  });
  client.close();
});

test("a failure names the path of the request, not what the program says", async () => {
  const client = new Hostile(() => [failure("notFound", "/other")]).client();
  await assert.rejects(client.stat("x"), {
    code: "notFound",
    message: "/home/user/x: there is no such file or directory",
  });
  client.close();
});

test("a list must be sorted, and must not repeat, end early for ever, or have more entries than asked for", async () => {
  const end = (more: number, name: string) => frame("e", Buffer.concat([Buffer.from([more]), text(name)]));
  const bad = [
    [info("b"), info("a")],
    [info("a"), info("a")],
    [info("a/b")],
    [info("")],
    [info("a"), info("b"), info("c")],
    [end(1, "")],
    [info("b"), end(1, "a")],
  ];
  for (const answers of bad) {
    const hostile = new Hostile(() => answers);
    await assert.rejects(hostile.client().list("x", null, 2), stopped);
    assert.deepEqual(hostile.killed, [true]);
  }
  const cursor = Buffer.from("m").toString("base64url");
  await assert.rejects(new Hostile(() => [end(1, "m")]).client().list("x", cursor, 2), stopped);
  await assert.rejects(new Hostile(() => [info("a")]).client().list("x", cursor, 2), stopped);
  for (const wrong of ["", "!", Buffer.from("a/b").toString("base64url"), Buffer.from("a\0").toString("base64url")]) {
    await assert.rejects(new Hostile(() => []).client().list("x", wrong, 2), { code: "badPath" });
  }
});

test("content has exactly the announced size, in full frames", async () => {
  const range = (bytes: number) => frame("r", Buffer.concat([u64(0), u64(bytes)]));
  const bad = [
    [range(5), frame("d", "123456")],
    [range(5), frame("d", "123"), frame("d", "45"), frame("e")],
    [range(5), frame("d", "123"), frame("e")],
    [range(5), frame("d")],
    [range(5), frame("d", "", 61_441)],
    [range(5), frame("p")],
  ];
  for (const answers of bad) {
    const hostile = new Hostile(() => [info(""), ...answers]);
    const { body } = await hostile.client().read("x", null);
    await assert.rejects(drain(body), stopped);
    assert.deepEqual(hostile.killed, [true]);
  }
});

test("a reader that leaves kills the program instead of reading the rest", async () => {
  const hostile = new Hostile(function* () {
    yield frame("g");
    for (;;) yield frame("d", Buffer.alloc(262_140));
  });
  const client = hostile.client();
  for await (const part of await client.archive("/")) {
    assert.ok(part.length > 0);
    break;
  }
  assert.deepEqual(hostile.killed, [true]);
  // Also one that has never begun to read.
  const body = (await client.archive("/")) as AsyncIterableIterator<Buffer>;
  await body.return?.();
  assert.deepEqual(hostile.killed, [true, true]);
  // Both have freed their places.
  for (let i = 0; i < 4; i++) await ((await client.archive("/")) as AsyncIterableIterator<Buffer>).return?.();
});

test("an archive of a snapshot in many small frames, or in one that is too long, kills the program", async () => {
  const [short, long] = [Buffer.alloc(32_767), Buffer.alloc(32_768)];
  const counts = frame("n", Buffer.concat([u64(1), u64(1)]));
  const good = [frame("g"), frame("d", short), frame("d", long), frame("d", short), counts];
  const honest = new Hostile(() => good);
  let taken = 0;
  await honest.client().save((bytes) => {
    taken += bytes.length;
  });
  assert.equal(taken, 2 * short.length + long.length);
  const bad: readonly (readonly Buffer[])[] = [
    [frame("d", short), frame("d", short)],
    [frame("d", "", 1_048_577)],
    [frame("d")],
    [frame("e")],
  ];
  for (const answers of bad) {
    const hostile = new Hostile(() => [frame("g"), ...answers, counts]);
    await assert.rejects(
      hostile.client().save(() => {}),
      stopped,
    );
    assert.deepEqual(hostile.killed, [true]);
  }
});

test("no more content is taken from a client than the program accepts", async () => {
  let taken = 0;
  async function* endless() {
    for (;;) {
      taken++;
      yield Buffer.alloc(1_000);
    }
  }
  const deaf = new Hostile(() => [frame("g")]);
  const start = async (): Promise<FileProgram> => {
    const program = await deaf.start();
    let writes = 0;
    return { ...program, write: (bytes) => (++writes > 3 ? new Promise(() => {}) : program.write(bytes)) };
  };
  await assert.rejects(new FileClient(start, { silenceMs: 50 }).write("x", endless(), {}), stopped);
  // One request, two frames that are full, and what waits until a third one is.
  assert.ok(taken * 1_000 < 3 * 65_532 + 1_000, `${taken} chunks`);
});

test("a failure ends an upload at once, although the client says nothing more", async () => {
  const hostile = new Hostile(() => [frame("g"), failure("noSpace"), frame("e")]);
  const client = hostile.client();
  async function* stuck() {
    yield Buffer.alloc(10);
    await new Promise(() => {});
  }
  await assert.rejects(client.write("x", stuck(), {}), { code: "noSpace" });
  assert.deepEqual(hostile.killed, [false], "the program serves the next request");
  client.close();
});

test("an upload that its client gives up is aborted, and its error is passed on", async () => {
  const hostile = new Hostile(() => [frame("g"), frame("e")]);
  const client = hostile.client();
  async function* broken() {
    yield Buffer.alloc(10);
    throw new Error("the connection is lost");
  }
  await assert.rejects(client.write("x", broken(), {}), { message: "the connection is lost" });
  assert.deepEqual(hostile.killed, [false]);
  client.close();
  const mute = new Hostile(() => [frame("g")]);
  await assert.rejects(mute.client().write("x", broken(), {}), { message: "the connection is lost" });
  assert.deepEqual(mute.killed, [true]);
});

test("at most two programs serve requests, and the next request gets the place of the first that ends", async () => {
  const hostile = new Hostile(function* () {
    yield frame("g");
    for (;;) yield frame("d", Buffer.alloc(262_140));
  });
  const client = hostile.client();
  const first = (await client.archive("/")) as AsyncIterableIterator<Buffer>;
  await client.archive("/");
  let third = false;
  const waiting = client.archive("/").then(() => {
    third = true;
  });
  await new Promise(setImmediate);
  assert.equal(third, false);
  assert.equal(hostile.killed.length, 2);
  await first.return?.();
  await waiting;
  assert.equal(hostile.killed.length, 3);
  const late = Array.from({ length: 33 }, () => client.stat("x").catch((error) => error.code));
  assert.equal(await late[32], "busy");
  client.close();
  assert.ok((await Promise.all(late)).slice(0, 32).every((code) => code === "stopped"));
  assert.ok(hostile.killed.every((killed) => killed));
  await assert.rejects(client.stat("x"), stopped);
});

test("a watcher gets a bounded number of events per second, and other work has its turn", async () => {
  const event = frame("v", Buffer.concat([Buffer.from([1]), text("f"), text("")]));
  const hostile = new Hostile(function* () {
    yield frame("g");
    const many = Buffer.concat(Array.from({ length: 5_000 }, () => event));
    for (;;) yield many;
  });
  const client = hostile.client();
  const over = new AbortController();
  const watched = await client.watch("d", false, over.signal);
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  let events = 0;
  const begun = performance.now();
  for await (const event of watched) {
    assert.deepEqual(event, { type: "changed", path: "/home/user/d/f" });
    if (++events === 2_500) over.abort();
    if (events > 2_500) break;
  }
  clearInterval(timer);
  assert.ok(performance.now() - begun >= 1_000, "2,500 events take more than one second");
  assert.ok(turns > 0);
  assert.ok(hostile.killed[0]);
});

test("paths that no file can have are refused before a program starts", async () => {
  const hostile = new Hostile(() => []);
  const client = hostile.client();
  for (const path of ["", "a\0b", "\ud800", "x".repeat(4_096), "é".repeat(2_100)]) {
    await assert.rejects(client.stat(path), { code: "badPath" });
    await assert.rejects(client.write(path, forever(1), {}), { code: "badPath" });
  }
  for (const range of [{ from: -1, to: null }, { from: 2, to: 2 }, { from: 0.5, to: null }, { last: 0 }]) {
    await assert.rejects(client.read("x", range), { code: "badRange" });
  }
  assert.equal(hostile.killed.length, 0);
});

test("a page has bounded bytes, whatever the directory or the program says", async () => {
  const links = (count: number) => () =>
    Array.from({ length: count }, (_, n) =>
      info(String(n).padStart(4, "0") + "\u0001".repeat(200), { type: 2, target: "\u0001".repeat(4_000) }),
    );
  const hostile = new Hostile(links(1_000));
  await assert.rejects(hostile.client().list("d", null, 1_000), stopped);
  assert.deepEqual(hostile.killed, [true]);
  // The path of the directory is part of each entry.
  const deep = new Hostile(() => Array.from({ length: 200 }, (_, n) => info(String(n).padStart(4, "0"))));
  await assert.rejects(deep.client().list(`/${"d".repeat(4_000)}`, null, 1_000), stopped);
});

test("a program that reports progress without end is killed", async () => {
  function* progress() {
    for (let n = 0; n < 1_500; n++) yield frame("p");
  }
  const hostile = new Hostile(progress);
  await assert.rejects(hostile.client().remove("d", true), stopped);
  assert.deepEqual(hostile.killed, [true]);
});
