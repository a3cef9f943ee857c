import pino from "pino";
import { FOREIGN_APIS } from "../../../src/compat/apis.ts";
import type { DatabaseLocation } from "../../../src/domain/database.ts";
import { openStore } from "../../../src/store/open.ts";
import { Deliverer } from "../../../src/webhooks/deliverer.ts";
import { keySealer } from "../../../src/webhooks/seal.ts";
import { threadedPost } from "../../../src/webhooks/threaded-post.ts";

/** A service process that a test kills. Its settings are one JSON argument. */
const { database, port, ca, key, leaseMs } = JSON.parse(process.argv[2] ?? "") as {
  database: DatabaseLocation;
  port: number;
  ca: string;
  key: string;
  leaseMs: number;
};

Deliverer.start({
  store: await openStore({ database }),
  sealer: keySealer(Buffer.from(key, "hex")),
  allowed: [{ host: "127.0.0.1", port }],
  post: threadedPost({ ca }),
  foreignApis: FOREIGN_APIS,
  userAgent: "Assay/0.0.0",
  drainMs: 0,
  leaseMs,
  log: pino({ level: "silent" }),
});
