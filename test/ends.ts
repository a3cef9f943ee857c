import { after } from "node:test";
import { PATIENCE } from "./engine/patience.ts";

/**
 * Loaded with every test file (`assay test`): a file whose process lives on when its tests are done has left something
 * open, most often in a test that failed. Node would wait for it for ever; here it fails, and says what holds it.
 */
const PATIENCE_MS = 10_000 * PATIENCE;

if (process.env.NODE_TEST_CONTEXT) {
  after(() => {
    setTimeout(() => {
      console.error(`${process.argv[1]} does not end: held by ${process.getActiveResourcesInfo().join(", ")}`);
      process.exit(1);
    }, PATIENCE_MS).unref();
  });
}
