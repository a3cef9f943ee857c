import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { serialize } from "node:v8";
import { Worker } from "node:worker_threads";
import { parseInThread } from "../../../src/http/body/parse-large.ts";

const LIMIT = { timeout: 60_000 };
/** The most bytes of a message: the texts of one piece, at two bytes for a character, or the rest of a value. */
const MOST_BYTES = 10 * 1_048_576;

/** The sizes of all messages of threads. */
function messages(t: TestContext): number[] {
  const sizes: number[] = [];
  const { emit } = Worker.prototype;
  t.mock.method(Worker.prototype, "emit", function (this: Worker, name: string, ...values: unknown[]) {
    if (name === "message") sizes.push(serialize(values[0]).length);
    return Reflect.apply(emit, this, [name, ...values]);
  });
  return sizes;
}

const BODIES: Readonly<Record<string, () => unknown>> = {
  "many tests": () => ({
    language: "python",
    tests: Array.from({ length: 20 }, (_, at) => ({ stdin: "\u20acx\n".repeat(600_000), expected: [`${at}`, ""] })),
  }),
  "many texts of medium length": () => Array.from({ length: 8_000 }, (_, at) => `${at}`.padEnd(7_000, "x")),
  "many short texts": () =>
    Array.from({ length: 8_000 }, (_, at) => ({ a: `${at}`.padEnd(1_000, "\u20ac") })).slice(0, 4_000),
  "one text, whose pairs of surrogates are cut": () => `x${"\u{1f600}".repeat(3_000_000)}`,
  "names that objects have already": () =>
    JSON.parse(`{"__proto__": ${JSON.stringify("x".repeat(5_000_000))}, "constructor": {"__proto__": {"a": null}}}`),
};

for (const [what, make] of Object.entries(BODIES))
  test(`a large body with ${what} reaches the event loop in small messages`, LIMIT, async (t) => {
    const sizes = messages(t);
    const value = make();
    const parsed = await parseInThread(Buffer.from(JSON.stringify(value)), 8_192);
    assert.equal(JSON.stringify(parsed), JSON.stringify(value));
    assert.ok(Math.max(...sizes) < MOST_BYTES && sizes.length > 1, `${sizes}`);
  });

test("a large body with long names is refused in the thread", LIMIT, async (t) => {
  const sizes = messages(t);
  const names = Array.from({ length: 5_000 }, (_, at) => [`${at}`.padEnd(4_000, "x"), 1]);
  const body = Buffer.from(JSON.stringify(Object.fromEntries(names)));
  await assert.rejects(parseInThread(body, 8_192), { code: "invalidRequest", message: /names of its fields/ });
  assert.ok(Math.max(...sizes) < MOST_BYTES);
});
