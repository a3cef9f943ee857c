import assert from "node:assert/strict";
import { test } from "node:test";
import { languagesOf } from "../../support/languages/directory.ts";
import { source, useProduct } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";

/**
 * The programs whose calls are recorded (test/system/launcher/recorded.test.ts) run despite the calls that the filter refuses.
 */
const product = useProduct({ workers: 1 });

for (const language of languagesOf("typical"))
  test(`files, processes, threads, signals, sockets and timers work as usual: ${language}`, async () => {
    const record = await product().run(language, source(language, "typical"), { profile: "judge", stdin: "a line\n" });
    const { result, output } = checked(record);
    assert.equal(result.verdict, "AC", JSON.stringify({ result, output }));
    assert.match(output.stdout, /^ok/);
  });
