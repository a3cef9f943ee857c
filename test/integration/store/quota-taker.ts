import { openStore, type StoreOptions } from "../../../src/store/open.ts";

/**
 * Another process on the same database: node quota-taker.ts OPTIONS KEY LIMIT COUNT NOW AMOUNT. Waits for a line on its
 * standard input, then makes COUNT concurrent requests and prints how many were admitted.
 */
const [options = "{}", keyId = "", limit = "0", count = "0", nowMs = "0", amount = "1"] = process.argv.slice(2);
const store = await openStore({ ...(JSON.parse(options) as StoreOptions), now: () => Number(nowMs) });
process.stdout.write("ready\n");
await new Promise((resolve) => process.stdin.once("data", resolve));
const take = () => store.quota.take(keyId, Number(limit), { amount: Number(amount) });
const waits = await Promise.all(Array.from({ length: Number(count) }, take));
process.stdout.write(`${waits.filter((wait) => wait === 0).length}\n`);
process.stdin.destroy();
await store.close();
