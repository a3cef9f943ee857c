import { reseal } from "../../../src/cli/webhooks.ts";
import type { DatabaseLocation } from "../../../src/domain/database.ts";
import { openStore } from "../../../src/store/open.ts";

/** A process that reseals secrets, two in a transaction. With `dies`, it kills itself after the first. */
const { database, path, dies } = JSON.parse(process.argv[2] ?? "") as {
  database: DatabaseLocation;
  path: string;
  dies: boolean;
};

const store = await openStore({ database });
if (dies) {
  const { secrets } = store;
  const part = secrets.reseal.bind(secrets);
  let parts = 0;
  secrets.reseal = async (...args) => {
    if (parts++ === 1) process.kill(process.pid, "SIGKILL");
    return await part(...args);
  };
}
const done = await reseal(store, { database, secretKey: { path, make: false } }, {}, 2);
process.stdout.write(JSON.stringify(done));
await store.close();
