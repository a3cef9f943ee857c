import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { OutputLog, Unannounced } from "../../../src/conversation/output-log.ts";
import type { LiveMark, LivePiece } from "../../../src/store/live/types.ts";

/** All pieces so far. */
function piecesOf(log: OutputLog): (LivePiece & LiveMark)[] {
  const pieces: (LivePiece & LiveMark)[] = [];
  for (let piece = log.next(null); piece; piece = log.next(piece)) pieces.push(piece);
  return pieces;
}

const textOf = (pieces: readonly LivePiece[], stream: LivePiece["stream"]) =>
  pieces.flatMap((piece) => (piece.stream === stream ? [piece.bytes.toString()] : [])).join("");

test("parts keep their order, until the program changes the stream often", () => {
  const unannounced = new Unannounced();
  unannounced.add("stdout", 1);
  unannounced.add("stdout", 2);
  unannounced.add("stderr", 4);
  unannounced.add("stdout", 8);
  assert.deepEqual(unannounced.take(), [
    { stream: "stdout", at: 0, size: 3 },
    { stream: "stderr", at: 0, size: 4 },
    { stream: "stdout", at: 3, size: 8 },
  ]);
  for (let n = 0; n < 1_000; n++) unannounced.add(n % 2 ? "stdout" : "stderr", 1);
  assert.deepEqual(unannounced.take(), [
    { stream: "stderr", at: 4, size: 500 },
    { stream: "stdout", at: 11, size: 500 },
  ]);
  unannounced.add("stderr", 0);
  assert.deepEqual(unannounced.take(), [{ stream: "stderr", at: 504, size: 0 }]);
  for (const stream of ["stdout", "stderr", "stdout"] as const) unannounced.add(stream, 1);
  assert.equal(unannounced.take(false).length, 2);
});

test("a program that writes byte by byte causes few announcements, and an answer to input waits for none", async () => {
  let announcements = 0;
  const log = new OutputLog(1, () => announcements++);
  const startedMs = performance.now();
  let written = 0;
  while (performance.now() - startedMs < 200) {
    log.write("stdout", Buffer.from("x"));
    written++;
    await turn();
  }
  const most = (performance.now() - startedMs) / 10 + 1; // half of the pace, because timers are inexact
  assert.ok(written > most && announcements <= most, `${announcements} announcements of ${written} bytes`);
  // The next announcement would wait now.
  while (textOf(piecesOf(log), "stdout").length < written) await sleep(1);
  const before = announcements;
  log.hurry();
  log.write("stderr", Buffer.from("answer"));
  await turn();
  await turn();
  assert.deepEqual([announcements, textOf(piecesOf(log), "stderr")], [before + 1, "answer"]);
  log.write("stdout", Buffer.from("last"));
  log.end();
  assert.ok(textOf(piecesOf(log), "stdout").endsWith("last"));
});

test("the number of pieces is bounded, however the program writes", async () => {
  const log = new OutputLog(1, () => {});
  let written = 0;
  // Each input of a client permits an announcement, and each announcement has several changes of the stream.
  for (let n = 0; n < 1_000; n++) {
    log.hurry();
    for (const stream of ["stdout", "stderr", "stdout", "stderr", "stdout", "stderr"] as const)
      log.write(stream, Buffer.from("x"));
    written += 3;
    await turn();
  }
  log.end();
  const pieces = piecesOf(log);
  assert.ok(pieces.length < 4_096 + 500, `${pieces.length} pieces`);
  for (const stream of ["stdout", "stderr"] as const) assert.equal(textOf(pieces, stream), "x".repeat(written));
});

test("a piece is short enough to be read at once, and the pieces of a stream have no gaps", async () => {
  const log = new OutputLog(7, () => {});
  log.write("stdout", Buffer.alloc(200_000, "a"));
  log.write("stderr", Buffer.alloc(0));
  log.end();
  const pieces = piecesOf(log);
  assert.deepEqual(
    pieces.map(({ fence, n, stream, at, bytes }) => [fence, n, stream, at, bytes.length]),
    [
      [7, 0, "stdout", 0, 65_536],
      [7, 1, "stdout", 65_536, 65_536],
      [7, 2, "stdout", 131_072, 65_536],
      [7, 3, "stdout", 196_608, 3_392],
      [7, 4, "stderr", 0, 0],
    ],
  );
  assert.equal(log.next({ fence: 6, n: 3 })?.n, 0, "a mark of an earlier attempt is before this one");
});
