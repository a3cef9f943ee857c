import { after, beforeEach } from "node:test";
import { PATIENCE } from "./engine/patience.ts";

/**
 * Loaded with every test file (`assay test`): a file whose process lives on when its tests are done has left something
 * open, most often in a test that failed. Node would wait for it for ever; here it fails, and says what holds it.
 */
const PATIENCE_MS = 10_000 * PATIENCE;

/**
 * Where tests are chosen by name, Node loads files of which none is, and ends what they have not begun. A file whose set-up
 * failed has begun none either, but did not pass.
 */
const chosen = process.execArgv.some((argument) => argument.startsWith("--test-name-pattern"));
let begun = false;

if (process.env.NODE_TEST_CONTEXT) {
  beforeEach(() => {
    begun = true;
  });
  // The first of all that are called: nothing of the file itself has been ended yet.
  after((context) => {
    if (chosen && !begun && "passed" in context && context.passed) process.exit(0);
    setTimeout(() => {
      console.error(`${process.argv[1]} does not end: held by ${process.getActiveResourcesInfo().join(", ")}`);
      process.exit(1);
    }, PATIENCE_MS).unref();
  });
}
