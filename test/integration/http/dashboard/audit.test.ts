import assert from "node:assert/strict";
import { test } from "node:test";
import type { Asker } from "../../../support/http/dashboard/two-tenants.ts";
import { NOT_THERE, startTwoTenants } from "../../../support/http/dashboard/two-tenants.ts";
import type { Reply } from "../../../support/http/running.ts";
import { onEachDatabase } from "../../../support/store/temporary.ts";

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

onEachDatabase((open) => {
  test("pages of the audit trail have every entry once, newest first; members see only their own accounts", async (t) => {
    const { running, root, ada, accountId, projectId, other } = await startTwoTenants(t, { open });
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

onEachDatabase((open) => {
  test("every entry from a request has the address of the client", { timeout: 60_000 }, async (t) => {
    const club = await startTwoTenants(t, { open });
    const { running, root, ada, accountId, projectId } = club;
    const { store } = running;
    const known = new Set((await store.audit.list({ max: 1_000 })).map(({ seq }) => seq));
    const done = async (...[method, path, body]: Parameters<Asker>) => {
      const { status, json } = await (path.startsWith("/members") || /accounts|tiers/.test(path) ? root : ada)(
        method,
        path,
        body,
      );
      assert.ok(status === 200 || status === 204, `${method} ${path}: ${status} ${JSON.stringify(json)}`);
      return json;
    };
    await done("PUT", "/tiers/large", { requestsPerMinute: 600, concurrency: 50 });
    const { id: made } = await done("POST", "/accounts", { name: "new", tier: "beta" });
    await done("PATCH", `/accounts/${made}`, { name: "newer", tier: "large" });
    for (const change of ["suspend", "resume", "drop-pending"]) await done("POST", `/accounts/${made}/${change}`, {});
    const { id: project } = await done("POST", "/projects", { name: "p", accountId });
    for (const change of [{ name: "q" }, { archived: true }, { archived: false }])
      await done("PATCH", `/projects/${project}`, change);
    const { key } = await done("POST", "/keys", { name: "k", projectId });
    await done("PATCH", `/keys/${key.id}`, { concurrency: 2 });
    await done("POST", `/keys/${key.id}/rotate`, { overlapMs: 0 });
    const { key: other } = await done("POST", "/keys", { name: "k", projectId });
    await done("POST", `/keys/${other.id}/revoke`, {});
    const { endpoint } = await done("POST", "/endpoints", { projectId, url: "https://8.8.8.8/" });
    const at = `/endpoints/${endpoint.id}`;
    await done("PATCH", at, { active: false, signing: "raw" });
    await done("PATCH", at, { active: true });
    await done("POST", `${at}/rotate-secret`, { overlapMs: 0 });
    await done("POST", `${at}/replay-failed`, {});
    await done("DELETE", at, {});
    const invitation = { email: "bob@example.com", accountId, administrator: false };
    const { url } = await done("POST", "/members/invitations", invitation);
    const token = url.split("#")[1];
    const bob = { token, email: "", name: "Bob", password: "six words that make one password" };
    assert.equal((await ada("POST", "/invitations/accept", bob)).status, 200);
    await done("POST", "/members/invitations", { ...invitation, email: "carol@example.com" });
    const { members } = await done("GET", "/members");
    const { invited } = await done("GET", "/members/invitations");
    await done("DELETE", `/members/invitations/${invited[0].id}`, {});
    const { id } = members.find(({ name }: { name: string }) => name === "Bob");
    await done("POST", `/members/${id}/reset`, {});
    await done("PATCH", `/members/${id}`, { disabled: true });
    const entries = (await store.audit.list({ max: 1_000 })).filter(({ seq }) => !known.has(seq));
    assert.ok(new Set(entries.map(({ action }) => action)).size >= 28, entries.map(({ action }) => action).join());
    for (const { action, address } of entries) assert.equal(address, "127.0.0.1", action);
  });
});

onEachDatabase((open) => {
  test("filters by actor, action, subject and time; ids have names of the own account only", async (t) => {
    const { running, root, ada, eve, projectId, other } = await startTwoTenants(t, { open });
    await ada("PATCH", `/projects/${projectId}`, { name: "web shop" });
    await eve("PATCH", `/projects/${other.projectId}`, { name: "diary" });
    const actions = async (ask: Asker, which: string) =>
      (await ask("GET", `/audit?${which}`)).json.entries.map(({ action }: Entry) => action);
    assert.deepEqual(await actions(root, "action=project.rename"), ["project.rename", "project.rename"]);
    assert.deepEqual(await actions(ada, "action=project.rename"), ["project.rename"]);
    assert.deepEqual(await actions(ada, "actor=eve@example.com"), []);
    assert.deepEqual(await actions(root, "actor=eve@example.com&action=project.rename"), ["project.rename"]);
    assert.deepEqual(await actions(root, `subject=${projectId}`), ["project.rename", "project.create"]);
    assert.deepEqual(await actions(eve, `subject=${projectId}`), []);
    const now = new Date(running.clock.nowMs + 1_000).toISOString();
    assert.deepEqual(await actions(ada, `since=${now}`), []);
    assert.equal((await actions(ada, `until=${now}`)).length, 3);
    const { named } = (await ada("GET", `/audit?subject=${projectId}`)).json;
    assert.deepEqual(named, { [projectId]: { kind: "project", name: "web shop", isGone: false } });
  });
});

test("rejects invalid queries", async (t) => {
  const { ada } = await startTwoTenants(t);
  for (const query of [
    "limit=0",
    "limit=501",
    "limit=x",
    "before=-1",
    "before=1&before=2",
    "account=%00",
    "all=1",
    "action=none",
    "since=today",
    "actor=",
    `subject=${"x".repeat(101)}`,
  ]) {
    assert.equal((await ada("GET", `/audit?${query}`)).status, 400, query);
  }
});
