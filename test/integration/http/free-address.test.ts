import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { checkFree } from "../../../src/http/listener/free-address.ts";

test("rejects an address in use, and leaves a free one free", async (t) => {
  const other = createServer().listen(0, "127.0.0.1");
  t.after(() => other.close());
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  await assert.rejects(checkFree({ host: "127.0.0.1", port }), { code: "EADDRINUSE" });
  other.close();
  await once(other, "close");
  await checkFree({ host: "127.0.0.1", port });
  await checkFree({ host: "127.0.0.1", port });
});
