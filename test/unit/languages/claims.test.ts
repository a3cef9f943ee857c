import assert from "node:assert/strict";
import { test } from "node:test";
import { PROFILE_NAMES } from "../../../src/domain/limits.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { read, rows, section } from "../../support/repo/documents.ts";

test("the time that one claim holds a slot, as docs/security.md states it, follows from the limits of all languages", () => {
  const languages = loadLanguages(LANGUAGES);
  const longest = (profile: "judge" | "agent") =>
    Math.max(
      ...languages.list().map((language) => {
        const { compile, execute } = languages.limitsFor(language, profile);
        return (compile?.wallMs ?? 0) + execute.wallMs;
      }),
    );
  const [, bound = ""] =
    rows(section(read("docs/security.md"), "Bounds")).find(([name]) => name === "time that one claim holds a slot") ??
    [];
  const stated = [...bound.matchAll(/(\d+) s \(`(\w+)`\)/g)].map(([, secs, profile]) => [
    profile,
    Number(secs) * 1_000,
  ]);
  assert.deepEqual(stated, [
    ["judge", longest("judge")],
    ["agent", longest("agent")],
  ]);
  // A program that is compiled and run, then its checker, each with the highest limits that a problem can state.
  const judged = languages.list().flatMap((language) =>
    PROFILE_NAMES.map((profile) => {
      const { compile, execute } = languages.ceilingsFor(language, profile);
      return (compile?.wallMs ?? 0) + execute.wallMs;
    }),
  );
  assert.equal(Number(/(\d+) s for a run of a judgement/.exec(bound)?.[1]) * 1_000, 2 * Math.max(...judged));
});
