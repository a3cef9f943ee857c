import assert from "node:assert/strict";
import { test } from "node:test";
import { type ListRow, merged, type Unseen } from "../../../dashboard/src/lists/unseen-rows.ts";

const rowsOf = (from: number, until: number): ListRow[] =>
  Array.from({ length: until - from }, (_, n) => ({ id: String(until - 1 - n), completedAt: null }));
const batch = (from: number, until: number): Unseen<ListRow> => ({
  rows: rowsOf(from, until),
  next: null,
  gap: false,
  isCut: false,
});

test("new rows are counted newest first, each once, and those above 500 are cut off", () => {
  let unseen: Unseen<ListRow> = { rows: [], next: null, gap: false, isCut: false };
  for (let from = 0; from < 500; from += 50) unseen = merged(unseen, batch(from, from + 50));
  assert.deepEqual(unseen, batch(0, 500));
  const ended = { id: "499", completedAt: "2026-01-01T00:00:00Z" };
  unseen = merged(unseen, { ...batch(0, 0), rows: [ended] });
  assert.deepEqual([unseen.rows[0], unseen.rows.length, unseen.isCut], [ended, 500, false]);
  unseen = merged(unseen, batch(500, 501));
  // Without the cut rows, the list must be loaded again: `next` does not lead to them.
  assert.deepEqual([unseen.rows[0]?.id, unseen.rows.at(-1)?.id, unseen.isCut], ["500", "1", true]);
  const after = { ...batch(600, 650), next: "600", gap: true };
  assert.deepEqual(merged(unseen, after), after);
});
