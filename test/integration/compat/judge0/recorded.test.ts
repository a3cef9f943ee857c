import assert from "node:assert/strict";
import { test } from "node:test";
import { runPending, startHttp } from "../../../support/http/running.ts";
import { onEachDatabase } from "../../../support/store/temporary.ts";
import { RECORDED } from "./recorded.ts";

const LIMIT = { timeout: 60_000 };

/** Whether the value has the expected form. */
function check(value: unknown, expected: unknown, isPart: boolean, title: string): void {
  if (expected === "*") assert.ok(value !== undefined && value !== null, title);
  else if (Array.isArray(expected)) {
    assert.ok(Array.isArray(value) && value.length === expected.length, `${title}: ${JSON.stringify(value)}`);
    for (const [at, one] of expected.entries()) check(value[at], one, false, title);
  } else if (typeof expected === "object" && expected !== null) {
    assert.ok(typeof value === "object" && value !== null, `${title}: ${JSON.stringify(value)}`);
    const given = value as Record<string, unknown>;
    if (!isPart) assert.deepEqual(Object.keys(given).sort(), Object.keys(expected).sort(), title);
    for (const [name, one] of Object.entries(expected)) check(given[name], one, false, `${title}: ${name}`);
  } else assert.deepEqual(value, expected, title);
}

onEachDatabase((open) => {
  test("every recorded request has its answer", LIMIT, async (t) => {
    const { ask, store } = await startHttp(t, { open });
    const tokens: string[] = [];
    const filled = <T>(value: T): T => {
      const [token = "", token2 = ""] = tokens;
      return JSON.parse(JSON.stringify(value).replaceAll("{token}", token).replaceAll("{token2}", token2));
    };
    for (const { title, method = "GET", path, body, status, json, part, ends } of RECORDED) {
      const answer = await ask({ method, path: `/judge0${filled(path)}`, ...(body !== undefined && { body }) });
      assert.equal(answer.status, status, `${title}: ${answer.text}`);
      const made = [answer.json].flat().flatMap((one) => (method === "POST" && one?.token ? [one.token] : []));
      tokens.unshift(...made.reverse());
      check(answer.json, filled(json), part === true, title);
      if (ends) assert.ok((await runPending(store, () => ends)) > 0, title);
    }
  });
});
