import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { PROFILE_NAMES } from "../../../src/domain/limits.ts";
import { loadLanguages } from "../../../src/languages/load.ts";

const OURS = resolve(import.meta.dirname, "../../../languages");
const PROGRAM = resolve(import.meta.dirname, "patient-languages.ts");

test("patient languages have longer time limits and no other changes", (t) => {
  const place = mkdtempSync(join(tmpdir(), "patient-"));
  t.after(() => rmSync(place, { recursive: true }));
  execFileSync(process.execPath, [PROGRAM, OURS, join(place, "languages"), "3"]);
  const [ours, patient] = [loadLanguages(OURS), loadLanguages(join(place, "languages"))];
  assert.deepEqual(patient.list(), ours.list());
  for (const language of ours.list())
    for (const profile of PROFILE_NAMES) {
      const [short, long] = [ours.limitsFor(language, profile), patient.limitsFor(language, profile)];
      assert.equal(Object.keys(long).join(), Object.keys(short).join());
      for (const step of ["compile", "execute"] as const) {
        const given = short[step];
        if (!given) continue;
        assert.deepEqual(long[step], { ...given, wallMs: given.wallMs * 3, cpuMs: given.cpuMs * 3 });
      }
    }
});
