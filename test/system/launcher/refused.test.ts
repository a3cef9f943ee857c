import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { FRAMES, type KeyName } from "../../../src/sandbox/protocol.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { connected, type Entry, entry, frame, parkFrame, Raw, run, step, stepFrame } from "./raw.ts";

/**
 * The only bytes that root reads from an unprivileged process. Every case goes over a real socket to the build with
 * sanitizers, which ends a slot at the first invalid access. After each case, the launcher must run an ordinary
 * program.
 */
const TRUE = step(["/bin/true"]);
const MiB = 1 << 20;

const without = (key: KeyName): Entry[] => TRUE.filter(([name]) => name !== key);
const also = (...entries: Entry[]): Buffer => stepFrame([...TRUE, ...entries]);
const body = (...parts: Buffer[]): Buffer => frame(FRAMES.STEP, Buffer.concat(parts));
const whole = Buffer.concat(TRUE.map(([key, value]) => entry(key, value)));
const file = (name: string | Buffer): Entry[] => [
  ["FILE_NAME", name],
  ["FILE_DATA", "x"],
];

const peerFrame = (changes: Parameters<typeof step>[1] = {}): Buffer =>
  frame(FRAMES.PEER, Buffer.concat(step(["/bin/true"], changes).map(([key, value]) => entry(key, value))));

const NUMBERS = ["KEEP_WORK", "MORE", "WALL_MS", "MEMORY_BYTES", "PROCESSES", "STDOUT_BYTES"] as const;
const ONCE = TRUE.map(([key]) => key as KeyName).filter((key) => key !== "ARG" && key !== "ENV");

const CASES: readonly [promise: string, bytes: Buffer, reason: string, object: string][] = [
  ["a frame that only the launcher sends", frame(FRAMES.HELLO, Buffer.alloc(0)), "unknown frame", ""],
  ["a frame with an unused number", frame(0, whole), "unknown frame", ""],
  ["a frame with the highest number", frame(255, whole), "unknown frame", ""],
  ["a frame longer than the maximum", frame(FRAMES.STEP, Buffer.alloc(0), 64 * MiB + 1), "frame too large", "STEP"],
  ["a frame of 4 GiB", frame(FRAMES.STEP, Buffer.alloc(0), 0xffff_ffff), "frame too large", "STEP"],
  ["an entry torn in its header", body(whole, Buffer.from([1, 0, 0, 0])), "torn entry", ""],
  ["a single stray byte", body(Buffer.from([1])), "torn entry", ""],
  ["a value longer than its frame", body(whole, Buffer.from([2, 9, 0, 0, 0, 61])), "longer than its frame", "ENV"],
  ["a value of 4 GiB", body(Buffer.from([1, 255, 255, 255, 255, 97])), "longer than its frame", "ARG"],
  ["key 0, which does not exist", also([0, ""]), "unknown key", ""],
  ["key 255, which does not exist", also([255, 1]), "unknown key", ""],
  ["a key that belongs to another frame", also(["EXIT_CODE", 0]), "unknown key", ""],
  ["a frame without entries", body(), "missing key", "STDIN"],
  ["a step without a program", stepFrame(without("ARG")), "missing key", "ARG"],
  ["an argument of more than 64 KiB", also(["ARG", Buffer.alloc(64 * 1024 + 1, 97)]), "out of range", "ARG"],
  ["a NUL inside an argument", also(["ARG", "a\0b"]), "contains NUL", "ARG"],
  ["129 arguments", also(...Array(128).fill(["ARG", "a"])), "too many, or out of order", "ARG"],
  ["65 variables", also(...Array(64).fill(["ENV", "A=b"])), "too many, or out of order", "ENV"],
  ["a variable without a value", also(["ENV", "ALONE"]), "is not NAME=VALUE", "ENV"],
  ["a NUL inside a variable", also(["ENV", "A=b\0C=d"]), "is not NAME=VALUE", "ENV"],
  ["a file name with an empty part", also(...file("a//b")), "is not a plain path", "FILE_NAME"],
  ["an absolute file name", also(...file("/a")), "is not a plain path", "FILE_NAME"],
  ["the name of a directory", also(...file("a/")), "is not a plain path", "FILE_NAME"],
  ["a file name of nine parts", also(...file("1/2/3/4/5/6/7/8/9")), "is not a plain path", "FILE_NAME"],
  ["a hidden directory", also(...file("a/.b/c")), "is not a plain path", "FILE_NAME"],
  ["a file name that leads out below a directory", also(...file("a/../../x")), "is not a plain path", "FILE_NAME"],
  ["a file name that leads out", also(...file("../x")), "is not a plain path", "FILE_NAME"],
  ["a hidden file", also(...file(".profile")), "is not a plain path", "FILE_NAME"],
  ["a NUL inside a file name", also(...file("a\0b")), "is not a plain path", "FILE_NAME"],
  ["a file name that is not text", also(...file(Buffer.from([0xff, 0xfe]))), "is not a plain path", "FILE_NAME"],
  [
    "a file name with half of a character",
    also(...file(Buffer.from("aя").subarray(0, 2))),
    "is not a plain path",
    "FILE_NAME",
  ],
  [
    "a file name with a slash of two bytes",
    also(...file(Buffer.from([97, 0xc0, 0xaf, 98]))),
    "is not a plain path",
    "FILE_NAME",
  ],
  ["a file name with a surrogate", also(...file(Buffer.from([0xed, 0xa0, 0x80]))), "is not a plain path", "FILE_NAME"],
  [
    "a file name above U+10FFFF",
    also(...file(Buffer.from([0xf4, 0x90, 0x80, 0x80]))),
    "is not a plain path",
    "FILE_NAME",
  ],
  ["a file name with a line feed", also(...file("a\nb")), "is not a plain path", "FILE_NAME"],
  ["a file name with U+0085", also(...file("a\u0085b")), "is not a plain path", "FILE_NAME"],
  ["a name of 256 bytes", also(...file(`a/${"я".repeat(128)}`)), "is not a plain path", "FILE_NAME"],
  ["a file name of 1,025 bytes", also(...file("a".repeat(1_025))), "out of range", "FILE_NAME"],
  ["two files with one name", also(...file("a"), ...file("a")), "twice the same name", "FILE_NAME"],
  [
    "65 files",
    also(...Array.from({ length: 65 }, (_, i) => file(`f${i}`)).flat()),
    "too many, or out of order",
    "FILE_NAME",
  ],
  ["a file without data", also(["FILE_NAME", "a"]), "file without data", "FILE_DATA"],
  ["data without a file", also(["FILE_DATA", "x"]), "too many, or out of order", "FILE_DATA"],
  ["two names before the data", also(["FILE_NAME", "a"], ["FILE_NAME", "b"]), "too many, or out of order", "FILE_NAME"],
  [
    "files for a directory that a program has used",
    stepFrame([...step(["/bin/true"], { KEEP_WORK: 1 }), ...file("a")]),
    "files only into a fresh work directory",
    "FILE_NAME",
  ],
  [
    "a file for a runtime before its step",
    parkFrame([...TRUE, ...file("a")]),
    "files and input only in a STEP",
    "PARK",
  ],
  [
    "input for a runtime before its step",
    parkFrame(step(["/bin/true"], { STDIN: "x" })),
    "files and input only in a STEP",
    "PARK",
  ],
  [
    "a mode that is none",
    also(["FILE_NAME", "a"], ["FILE_DATA", ""], ["FILE_MODES", Buffer.from([0, 0o10])]),
    "is no mode of a file",
    "FILE_MODES",
  ],
  [
    "fewer modes than files",
    also(["FILE_NAME", "a"], ["FILE_DATA", ""], ["FILE_NAME", "b"], ["FILE_DATA", ""], ["FILE_MODES", Buffer.alloc(2)]),
    "one for each file",
    "FILE_MODES",
  ],
  [
    "a directory with data",
    also(["FILE_NAME", "a"], ["FILE_DATA", "x"], ["FILE_MODES", Buffer.from([0, 0x40])]),
    "directory with data",
    "FILE_DATA",
  ],
  ["a NUL in an argument of a runtime", parkFrame([...TRUE, ["PARK_ARG", "a\0b"]]), "contains NUL", "PARK_ARG"],
  [
    "129 arguments of a runtime",
    parkFrame([...TRUE, ...Array(129).fill(["PARK_ARG", "a"])]),
    "too many, or out of order",
    "PARK_ARG",
  ],
  ["a step with arguments of a runtime", also(["PARK_ARG", "a"]), "only in PARK", "PARK_ARG"],
  ["a peer that keeps a work directory", peerFrame({ KEEP_WORK: 1 }), "has no input and a /box of its own", "PEER"],
  ["a peer with input", peerFrame({ STDIN: "x" }), "has no input and a /box of its own", "PEER"],
  ["a PEER before a PARK", Buffer.concat([peerFrame(), parkFrame(TRUE)]), "a STEP must follow", "PEER"],
  ["a second PEER", Buffer.concat([peerFrame(), peerFrame()]), "a STEP must follow", "PEER"],
  ["a PEER before an invalid STEP", Buffer.concat([peerFrame(), stepFrame(without("ARG"))]), "missing key", "ARG"],
  ...(["STDIN", "MORE", "COLLECT"] as const).map((key): (typeof CASES)[number] => [
    `a STEP with ${key} after a PEER`,
    Buffer.concat([peerFrame(), stepFrame(step(["/bin/true"], { [key]: key === "STDIN" ? "x" : 1 }))]),
    "with a PEER, a STEP has no input, files to collect, or step after it",
    "STEP",
  ]),
  [
    "kept files for a directory that a program has used",
    stepFrame(step(["/bin/true"], { KEEP_WORK: 1, KEEP_FILES: 1 })),
    "files only into a fresh work directory",
    "FILE_NAME",
  ],
  ["kept files for a runtime", parkFrame(step(["/bin/true"], { KEEP_FILES: 1 })), "only in STEP", "KEEP_FILES"],
  ["kept files for a peer", peerFrame({ KEEP_FILES: 1 }), "only in STEP", "KEEP_FILES"],
  ["a fifth place for files", stepFrame(step(["/bin/true"], { KEEP_FILES: 5 })), "out of range", "KEEP_FILES"],
  ["files of an empty place", stepFrame(step(["/bin/true"], { KEEP_FILES: 4 })), "nothing is kept there", "KEEP_FILES"],
  [
    "more than 9 MiB of files to keep",
    stepFrame([...step(["/bin/true"], { KEEP_FILES: 1 }), ["FILE_NAME", "a"], ["FILE_DATA", Buffer.alloc(9 * MiB)]]),
    "too large to keep",
    "KEEP_FILES",
  ],
  ["a PARK without limits", frame(FRAMES.PARK, entry("ARG", "a")), "missing key", "STDIN"],
  [
    "a memory limit below the smallest",
    stepFrame(step(["/bin/true"], { MEMORY_BYTES: MiB - 1 })),
    "out of range",
    "MEMORY_BYTES",
  ],
  [
    "a memory limit above the largest",
    stepFrame(step(["/bin/true"], { MEMORY_BYTES: 1n << 63n })),
    "out of range",
    "MEMORY_BYTES",
  ],
  ["no time at all", stepFrame(step(["/bin/true"], { WALL_MS: 0 })), "out of range", "WALL_MS"],
  ["a flag that is neither 0 nor 1", stepFrame(step(["/bin/true"], { MORE: 2 })), "out of range", "MORE"],
  ...ONCE.map((key): (typeof CASES)[number] => [`a step without ${key}`, stepFrame(without(key)), "missing key", key]),
  ...ONCE.map((key): (typeof CASES)[number] => [
    `${key} twice`,
    also(TRUE.find(([name]) => name === key) as Entry),
    "twice",
    key,
  ]),
  ...NUMBERS.map((key): (typeof CASES)[number] => [
    `${key} as a number of 4 bytes`,
    stepFrame([...without(key), [key, Buffer.alloc(4, 1)]]),
    "is not 8 bytes",
    key,
  ]),
];

describe("refuses a request that breaks the protocol, and continues to serve", () => {
  let launcher: Launcher;
  before(async () => {
    launcher = await startLauncher({ sanitize: true });
  });
  after(async () => {
    assert.equal(await launcher.stop(), 0);
    assert.doesNotMatch(launcher.stderr(), /Sanitizer|runtime error/, "a sanitizer reported");
  });

  const serves = async () => {
    const raw = await connected(launcher.socket);
    const { ended, torn } = await run(raw, TRUE);
    assert.equal(ended.optionalInt("EXIT_CODE"), 0);
    assert.equal(torn.int("REAPED"), 1);
    raw.close();
  };

  for (const [promise, bytes, reason, object] of CASES) {
    test(promise, async () => {
      const raw = await connected(launcher.socket);
      raw.send(bytes);
      const refused = await raw.expect("REFUSED");
      assert.deepEqual([refused.text("REASON"), refused.text("OBJECT")], [reason, object]);
      assert.equal(await raw.next(), null, "the connection must close");
      await serves();
    });
  }

  test("closes the connection after a frame that ends in its header", async () => {
    const raw = await connected(launcher.socket);
    raw.send(Buffer.from([5, 0, 0]));
    raw.finish();
    assert.equal(await raw.next(), null);
    await serves();
  });

  test("closes the connection after a frame that ends in its body", async () => {
    const raw = await connected(launcher.socket);
    raw.send(stepFrame(TRUE).subarray(0, -1));
    raw.finish();
    assert.equal(await raw.next(), null);
    await serves();
  });

  test("accepts a frame byte by byte", async () => {
    const raw = await connected(launcher.socket);
    for (const byte of stepFrame(TRUE)) {
      raw.send(Buffer.from([byte]));
      await new Promise(setImmediate);
    }
    assert.equal((await raw.until("ENDED")).entries.optionalInt("EXIT_CODE"), 0);
    raw.close();
  });

  test("runs two steps sent at once one after the other", async () => {
    const raw = await connected(launcher.socket);
    raw.send(Buffer.concat([stepFrame(step(["/bin/echo", "one"])), stepFrame(step(["/bin/echo", "two"]))]));
    for (const expected of ["one\n", "two\n"]) {
      assert.equal((await raw.until("ENDED")).stdout.toString(), expected);
      await raw.expect("TEARDOWN");
    }
    raw.close();
  });

  test("too long arguments are a failure of the platform with step, object and errno", async () => {
    const raw = await connected(launcher.socket);
    const { ended } = await run(raw, step(["/bin/true", ...Array(10).fill("a".repeat(64 * 1024))]));
    const failure = [ended.text("FAIL_STEP"), ended.text("FAIL_OBJECT"), ended.int("FAIL_ERRNO")];
    assert.deepEqual(failure, ["request", "arguments", 7]);
    assert.deepEqual([ended.optionalInt("EXIT_CODE"), ended.optionalInt("SIGNAL")], [null, null]);
    raw.close();
  });

  test("keeping a missing work directory is a failure of the platform, and the slot continues", async () => {
    const raw = await connected(launcher.socket);
    const { ended } = await run(raw, step(["/bin/true"], { KEEP_WORK: 1 }));
    assert.deepEqual([ended.text("FAIL_STEP"), ended.int("FAIL_ERRNO")], ["request", 2]);
    assert.equal((await run(raw, TRUE)).ended.optionalInt("EXIT_CODE"), 0);
    raw.close();
  });

  test("files of a failed step are not in the next step's box", async () => {
    const raw = await connected(launcher.socket);
    const tooBig: Entry[] = [
      ["FILE_NAME", "secret"],
      ["FILE_DATA", Buffer.alloc(MiB, 115)],
    ];
    const sizes = { WORK_BYTES: 64 * 1024 };
    const { ended } = await run(raw, [...step(["/bin/true"], { ...sizes, MORE: 1 }), ...tooBig]);
    assert.deepEqual([ended.text("FAIL_STEP"), ended.int("FAIL_ERRNO")], ["file", 28]);
    assert.equal((await run(raw, step(["/bin/ls", "-A", "/box"], sizes))).stdout, "");
    raw.close();
  });

  test("a silent connection does not delay others", async () => {
    const silent = await connected(launcher.socket);
    await serves();
    silent.close();
  });

  test("refuses a connection with the reason when all slots are taken, until one ends", async () => {
    const [one, two] = [await connected(launcher.socket), await connected(launcher.socket)];
    const third = new Raw(launcher.socket);
    assert.equal((await third.expect("FAILED")).text("STEP_OBJECT"), "all are taken");
    assert.equal(await third.next(), null);
    one.close();
    await serves();
    two.close();
  });
});
