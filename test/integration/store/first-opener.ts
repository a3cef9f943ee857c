import { openStore } from "../../../src/store/open.ts";
import { addKey } from "../../support/store/temporary.ts";

/** A separate process that opens the store and adds a key: node first-opener.ts DATABASE-AS-JSON NAME. */
const [database = "", name = ""] = process.argv.slice(2);
const store = await openStore({ database: JSON.parse(database) });
await addKey(store, name);
await store.close();
