import assert from "node:assert/strict";
import { test } from "node:test";
import { languagesOf } from "../../support/languages/directory.ts";
import { source, useEngine } from "../../support/programs/engine.ts";
import { checked } from "../../support/programs/record.ts";

/**
 * The programs whose calls are recorded (test/system/launcher/recorded.test.ts) run despite the calls that the filter refuses.
 */
const engine = useEngine({ workers: 1 });

for (const language of languagesOf("typical"))
  test(`files, processes, threads, signals, sockets and timers work as usual: ${language}`, async () => {
    const record = await engine().run(language, source(language, "typical"), { profile: "judge", stdin: "a line\n" });
    const { result, output } = checked(record);
    assert.equal(result.verdict, "AC", JSON.stringify({ result, output }));
    assert.match(output.stdout, /^ok/);
  });
