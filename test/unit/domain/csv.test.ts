import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { csvLine } from "../../../src/domain/csv.ts";

test("cells are quoted where RFC 4180 requires it; null is empty", () => {
  assert.equal(
    csvLine(["a", 1, null, 'say "x"', "a,b", "two\nlines", " padded"]),
    'a,1,,"say ""x""","a,b","two\nlines"," padded"\r\n',
  );
});

test("no text is a formula for a spreadsheet", () => {
  for (const text of ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1"])
    assert.match(csvLine([text]), /^"?'/, JSON.stringify(text));
  fc.assert(
    fc.property(fc.string(), (text) => !/^"?[=+\-@\t\r]/.test(csvLine([text]).slice(0, -2))),
    { numRuns: 1_000 },
  );
});

test("a reader gets the text back", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.string().filter((text) => !/^[=+\-@\t\r＝＋－＠]/.test(text)),
        { minLength: 1 },
      ),
      (cells) => {
        assert.deepEqual(parse(csvLine(cells)), cells);
      },
    ),
  );
});

function parse(line: string): string[] {
  const cells: string[] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y;
  for (let found = cell.exec(line); found; found = cell.exec(line))
    cells.push(found[1] === undefined ? (found[2] ?? "") : found[1].replaceAll('""', '"'));
  return cells;
}
