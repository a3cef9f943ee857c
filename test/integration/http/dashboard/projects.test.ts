import assert from "node:assert/strict";
import { test } from "node:test";
import { entriesOf, NOT_THERE, startTwoTenants } from "../../../support/http/dashboard/two-tenants.ts";
import { onEachDatabase } from "../../../support/store/temporary.ts";

onEachDatabase((open) => {
  test("a member creates, renames, archives and restores projects of the own account, and each change is recorded", async (t) => {
    const club = await startTwoTenants(t, { open });
    const { ada, accountId, projectId } = club;
    const { status, json } = await ada("POST", "/projects", { name: "blog", accountId });
    const createdAt = new Date(club.running.clock.nowMs).toISOString();
    const account = { id: accountId, name: "club" };
    const blog = { id: json.id, name: "blog", account, createdAt, archivedAt: null, liveKeys: 0, endpoints: 0 };
    assert.deepEqual([status, json], [200, blog]);
    const path = `/projects/${json.id}`;
    assert.deepEqual((await ada("PATCH", path, { name: "diary" })).json, { ...blog, name: "diary" });
    assert.equal((await ada("PATCH", path, { archived: true })).json.archivedAt, createdAt);
    assert.equal((await ada("PATCH", path, { archived: false })).json.archivedAt, null);
    await ada("POST", "/keys", { name: "k", projectId });
    await ada("POST", "/endpoints", { projectId, url: "https://8.8.8.8/" });
    const all = (await ada("GET", "/projects")).json.projects as { id: string; liveKeys: number; endpoints: number }[];
    assert.deepEqual(
      all.map(({ id, liveKeys, endpoints }) => [id, liveKeys, endpoints]),
      [
        [json.id, 0, 0],
        [projectId, 1, 1],
      ],
    );
    assert.deepEqual(
      (await entriesOf(club, ada)).filter(([action]) => action?.startsWith("project.")),
      ["restore", "archive", "rename", "create"].map((action) => [`project.${action}`, json.id]),
    );
  });

  test("projects of another account get the same response as unknown projects; an administrator sees all", async (t) => {
    const { root, ada, accountId, projectId, other } = await startTwoTenants(t, { open });
    for (const [method, path, body] of [
      ["POST", "/projects", { name: "n", accountId: other.accountId }],
      ["POST", "/projects", { name: "n", accountId: "nobody" }],
      ["PATCH", `/projects/${other.projectId}`, { name: "mine" }],
      ["PATCH", `/projects/${other.projectId}`, { archived: true }],
      ["PATCH", "/projects/nobody", { name: "mine" }],
      ["PATCH", "/projects/a%01b", { name: "mine" }],
    ] as const) {
      const { status, json } = await ada(method, path, body);
      assert.deepEqual([status, json], [404, NOT_THERE], `${method} ${path}`);
    }
    const ids = async (who: typeof ada) =>
      (await who("GET", "/projects")).json.projects.map(({ id }: { id: string }) => id);
    assert.deepEqual(await ids(ada), [projectId]);
    assert.deepEqual(await ids(root), [other.projectId, projectId]);
    assert.equal((await root("PATCH", `/projects/${projectId}`, { name: "store" })).status, 200);
    assert.equal((await root("POST", "/projects", { name: "n", accountId })).status, 200);
  });

  test("a project named with the id of another project does not affect that project", async (t) => {
    const { ada, eve, projectId, other } = await startTwoTenants(t, { open });
    assert.equal((await eve("PATCH", `/projects/${other.projectId}`, { name: projectId })).status, 200);
    assert.equal((await ada("PATCH", `/projects/${projectId}`, { name: "still mine" })).json.name, "still mine");
    assert.equal((await ada("POST", "/keys", { name: "k", projectId })).status, 200);
  });

  test("explains a rejected change in one sentence, and names the field of an invalid request", async (t) => {
    const { ada, accountId, projectId } = await startTwoTenants(t, { open });
    await ada("POST", "/keys", { name: "k", projectId });
    const path = `/projects/${projectId}`;
    for (const [status, error, method, to, body] of [
      [422, "the account club already has a project shop", "POST", "/projects", { name: "shop", accountId }],
      [422, "the project shop has live keys (1); revoke them first", "PATCH", path, { archived: true }],
      [422, /^the name must have 1 to 100 visible characters/, "PATCH", path, { name: " " }],
      [400, /name or archived, one at a time/, "PATCH", path, {}],
      [400, /one at a time/, "PATCH", path, { name: "n", archived: true }],
      [400, /^name: /, "POST", "/projects", { accountId }],
      [400, /^accountId: /, "POST", "/projects", { name: "n", accountId: "a\x01b" }],
      [400, /./, "POST", "/projects", { name: "n", accountId, tier: "large" }],
    ] as const) {
      const answer = await ada(method, to, body);
      assert.equal(answer.status, status, JSON.stringify(body));
      if (typeof error === "string") assert.deepEqual(answer.json, { error });
      else assert.match(answer.json.error, error);
    }
  });
});
