import assert from "node:assert/strict";
import { test } from "node:test";
import { onEachEngine } from "../../store/temporary.ts";
import type { Reply } from "../running.ts";
import type { Asker } from "./club.ts";
import { NOT_THERE, startClub } from "./club.ts";

interface Entry {
  readonly action: string;
  readonly account: string | null;
  readonly detail: { readonly name?: unknown };
}

async function throughAll(ask: Asker, limit: number, which = ""): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let next: string | null = ""; next !== null; ) {
    const { status, json }: Reply = await ask("GET", `/audit?limit=${limit}${which}${next && `&before=${next}`}`);
    assert.equal(status, 200);
    assert.ok(json.entries.length <= limit);
    entries.push(...json.entries);
    next = json.next;
  }
  return entries;
}

onEachEngine((open) => {
  test("parts of the trail have every entry once, newest first; a member's only what belongs to the own accounts", async (t) => {
    const { running, root, ada, accountId, projectId, other } = await startClub(t, { open });
    for (const name of ["a", "b", "c"]) await ada("PATCH", `/projects/${projectId}`, { name });
    await root("PUT", "/tiers/large", { requestsPerMinute: 6, concurrency: 1 });
    const all = await throughAll(root, 100);
    assert.equal(all.length, (await running.store.audit.list({ max: 1_000 })).length);
    assert.deepEqual([all[0]?.action, all[0]?.account], ["tier.set", null]);
    for (const limit of [1, 3]) assert.deepEqual(await throughAll(root, limit), all);
    const mine = all.filter(({ account }) => account === "club");
    assert.deepEqual(
      mine.slice(0, 3).map(({ detail }) => detail.name),
      [
        { from: "b", to: "c" },
        { from: "a", to: "b" },
        { from: "shop", to: "a" },
      ],
    );
    assert.deepEqual(await throughAll(ada, 2), mine);
    assert.deepEqual(await throughAll(root, 2, `&account=${accountId}`), mine);
    assert.deepEqual((await ada("GET", `/audit?account=${other.accountId}`)).json, NOT_THERE);
  });
});

test("what is no such request is said", async (t) => {
  const { ada } = await startClub(t);
  for (const query of ["limit=0", "limit=501", "limit=x", "before=-1", "before=1&before=2", "account=%00", "all=1"]) {
    assert.equal((await ada("GET", `/audit?${query}`)).status, 400, query);
  }
});
