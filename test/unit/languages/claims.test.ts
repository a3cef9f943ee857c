import assert from "node:assert/strict";
import { test } from "node:test";
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
  // A program that is compiled and run, then its checker, which has the limits of the profile judge.
  assert.deepEqual(stated, [
    ["judge", longest("judge") + longest("judge")],
    ["agent", longest("agent") + longest("judge")],
  ]);
});
