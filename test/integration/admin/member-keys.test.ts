import assert from "node:assert/strict";
import { test } from "node:test";
import { createKey } from "../../../src/admin/keys.ts";
import { checkMembersKey, checkMembersRevoke } from "../../../src/admin/member-keys.ts";
import { playgroundKeyId } from "../../../src/domain/key.ts";
import type { ApiKey, KeyChanges } from "../../../src/store/access/types.ts";
import type { Store } from "../../../src/store/store.ts";
import { temporaryStore } from "../../support/store/temporary.ts";

const keyOf = async (store: Store, id: string) => (await store.keys.list()).find((key) => key.id === id) as ApiKey;

test("a member may assign a profile while any live key of the account has it", async (t) => {
  const { store, clock } = await temporaryStore(t);
  const make = (name: string, account: string, profiles: KeyChanges["profiles"]) =>
    createKey(store, { name, account, profiles }, "operator");
  const { id: accountId } = await store.accounts.ensure("one", "beta", "operator");
  const agent = (has: ApiKey | null = null) => checkMembersKey(store, accountId, { profiles: ["agent"] }, has);
  const refused =
    /^AdminError: no key of the account one may use the profile agent; only an administrator may allow it$/;
  await make("theirs", "two", ["agent"]);
  await assert.rejects(agent(), refused);
  await checkMembersKey(store, accountId, { profiles: ["judge"] }, null);
  const given = await make("given", "one", ["agent", "judge"]);
  await agent();
  await store.keys.revoke(given.id, "operator");
  await assert.rejects(agent(), refused);
  await agent(await keyOf(store, given.id));
  const rotated = await make("rotated", "one", ["agent"]);
  await store.keys.rotate(rotated.id, { id: "next", hash: "n", prefix: "n" }, 1_000, "operator");
  await store.keys.update("next", { ...(await keyOf(store, "next")), profiles: ["judge"] }, "operator");
  await agent();
  clock.nowMs += 1_000;
  await assert.rejects(agent(), refused);
});

test("the playground's key grants no profile to others, and members cannot revoke it", async (t) => {
  const { store } = await temporaryStore(t);
  const { id: accountId } = await store.accounts.ensure("one", "beta", "operator");
  const id = playgroundKeyId(accountId);
  const settings = {
    requestsPerMinute: null,
    concurrency: null,
    profiles: ["agent"],
    defaultProfile: "agent",
  } as const;
  await store.keys.add({ id, accountId, projectId: null, name: "p", prefix: "p", hash: "p", ...settings }, "operator");
  await assert.rejects(checkMembersKey(store, accountId, { profiles: ["agent"] }, null), /profile agent/);
  const key = await keyOf(store, id);
  assert.throws(() => checkMembersRevoke(key), /only an administrator may close the playground/);
  checkMembersRevoke({ ...key, id: "another" });
});
