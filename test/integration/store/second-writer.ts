import { openStore } from "../../../src/store/open.ts";
import { enqueue } from "../../support/store/temporary.ts";

/** A second process that writes to the same SQLite file: node second-writer.ts PATH KEY ACCOUNT COUNT. */
const [path = "", keyId = "", accountId = "", count = "0"] = process.argv.slice(2);
const store = await openStore({ database: { kind: "sqlite", path } });
process.stdout.write("ready\n");
for (let i = 0; i < Number(count); i++) await enqueue(store, { keyId, accountId });
await store.close();
