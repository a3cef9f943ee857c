import assert from "node:assert/strict";
import { test } from "node:test";
import type { WorkFile } from "../../../src/domain/report.ts";
import { SlotFileCache } from "../../../src/sandbox/slot-file-cache.ts";
import { MAX_FILE_SET_BYTES } from "../../../src/sandbox/step.ts";
import { Entries, FrameReader } from "../../../src/sandbox/wire.ts";
import { shell } from "../../support/sandbox/steps.ts";

test("each list of files is isCached once, and a fifth one replaces the least recently used", () => {
  const cache = new SlotFileCache();
  const lists = Array.from({ length: 5 }, (_, at) => [{ name: `file${at}`, data: Buffer.alloc(0) }]);
  const send = (at: number, repeats = true) => {
    const files = lists[at] ?? [];
    const frame = cache.encode(shell("", { files, ...(repeats && { fileOwner: "one" }) }));
    const [step] = new FrameReader().push(Buffer.concat(frame));
    assert.ok(step);
    const entries = new Entries(step);
    return [entries.int("KEEP_FILES"), ...entries.texts("FILE_NAME")];
  };
  assert.deepEqual(send(0, false), [0, "file0"], "of a program that runs once");
  const isCached = [0, 1, 2, 3].map((at) => send(at));
  assert.deepEqual(isCached, [
    [1, "file0"],
    [2, "file1"],
    [3, "file2"],
    [4, "file3"],
  ]);
  const more = [0, 2, 4, 1, 0].map((at) => send(at));
  assert.deepEqual(more, [[1], [3], [2, "file4"], [4, "file1"], [1]]);
});

test("files that are too large for the slot to store are sent with each step", () => {
  const cache = new SlotFileCache();
  const send = (files: readonly WorkFile[]) => {
    const [step] = new FrameReader().push(Buffer.concat(cache.encode(shell("", { files, fileOwner: "one" }))));
    assert.ok(step);
    const entries = new Entries(step);
    return [entries.int("KEEP_FILES"), ...entries.texts("FILE_NAME")];
  };
  const most = [{ name: "a", data: Buffer.alloc(MAX_FILE_SET_BYTES - 1) }];
  const larger = [{ name: "b", data: Buffer.alloc(MAX_FILE_SET_BYTES) }];
  assert.deepEqual([send(most), send(most)], [[1, "a"], [1]]);
  assert.deepEqual(
    [send(larger), send(larger)],
    [
      [0, "b"],
      [0, "b"],
    ],
  );
});

test("an account with many lists replaces its own, not the one of another account", () => {
  const cache = new SlotFileCache();
  const list = () => [{ name: "file", data: Buffer.alloc(0) }];
  const send = (owner: string, files: ReturnType<typeof list>) => {
    const [step] = new FrameReader().push(Buffer.concat(cache.encode(shell("", { files, fileOwner: owner }))));
    assert.ok(step);
    return new Entries(step).texts("FILE_NAME").length;
  };
  const honest = list();
  assert.equal(send("honest", honest), 1);
  for (let at = 0; at < 10; at++) assert.equal(send("hostile", list()), 1);
  assert.equal(send("honest", honest), 0, "it is still there");
  for (let at = 0; at < 10; at++) assert.equal(send(at % 2 ? "hostile" : "second", list()), 1);
  assert.equal(send("honest", honest), 0, "nor to two accounts");
});
