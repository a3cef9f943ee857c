import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import {
  createEndpoint,
  listEndpoints,
  removeEndpoint,
  rotateEndpointSecret,
  setEndpointActive,
  setEndpointSigning,
} from "../../../src/admin/endpoints.ts";
import { AdminError } from "../../../src/admin/error.ts";
import { archiveProject, createProject } from "../../../src/admin/projects.ts";
import type { Store } from "../../../src/store/store.ts";
import { keySealer } from "../../../src/webhooks/seal.ts";
import { onEachDatabase, START_MS } from "../../support/store/temporary.ts";

/** The sealer that the service uses; a guard that refuses one address and remembers what it was asked. */
async function fixture(store: Store) {
  const { id: projectId } = await createProject(store, { name: "shop", account: "acme" }, "alice");
  const asked: string[] = [];
  const checkUrl = async (url: string) => {
    asked.push(url);
    if (url.includes("10.0.0.1")) throw new AdminError("the address is not public");
    return url.includes("/hook") ? "its name is not known yet" : null;
  };
  return { store, sealer: keySealer(randomBytes(32)), checkUrl, asked, projectId };
}

onEachDatabase((temporaryStore) => {
  test("a new endpoint shows its secret once and stores it sealed for this endpoint only", async (t) => {
    const { store } = await temporaryStore(t);
    const { projectId, ...dependencies } = await fixture(store);
    const { made, caution } = await createEndpoint(
      dependencies,
      { project: "shop", url: "https://example.com/hook" },
      "alice",
    );
    const { secret, ...view } = made;
    assert.equal(caution, "its name is not known yet");
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    const createdAt = new Date(START_MS).toISOString();
    const expected = { id: view.id, url: "https://example.com/hook", project: "shop", projectId, createdAt };
    assert.deepEqual(view, { ...expected, signing: "standard", active: true });
    assert.deepEqual(await listEndpoints(store), [view]);
    const stored = (await store.endpoints.get(view.id))?.secret ?? Buffer.alloc(0);
    assert.equal(stored.includes(secret), false);
    assert.equal(dependencies.sealer.open(view.id, stored), secret);
    assert.throws(() => dependencies.sealer.open("another", stored));
    assert.equal(JSON.stringify(await store.audit.list({ max: 10 })).includes(secret), false);
  });

  test("stores the validated values, and nothing for a rejected request", async (t) => {
    const { store } = await temporaryStore(t);
    const dependencies = await fixture(store);
    const url = "https://Example.COM:443/hook?a=b";
    assert.equal((await createEndpoint(dependencies, { project: "shop", url }, "alice")).made.url, url);
    const refused = { project: "shop", url: "https://10.0.0.1/" };
    await assert.rejects(createEndpoint(dependencies, refused, "alice"), /the address is not public/);
    await assert.rejects(createEndpoint(dependencies, { project: "none", url }, "alice"), /there is no project none/);
    assert.deepEqual(dependencies.asked, [url, refused.url]);
    assert.deepEqual(
      (await listEndpoints(store)).map((endpoint) => endpoint.url),
      [url],
    );
  });

  test("a project has at most ten endpoints; an archived project accepts none", async (t) => {
    const { store } = await temporaryStore(t);
    const dependencies = await fixture(store);
    const add = () => createEndpoint(dependencies, { project: "shop", url: "https://example.com/" }, "alice");
    const ids: string[] = [];
    for (let i = 0; i < 10; i++) ids.push((await add()).made.id);
    await assert.rejects(add(), /^AdminError: the project shop has 10 endpoints, the maximum$/);
    await removeEndpoint(store, ids[3] ?? "", "alice");
    await add();
    await archiveProject(store, "shop", "alice");
    await removeEndpoint(store, ids[4] ?? "", "alice");
    await assert.rejects(add(), /the project shop is archived/);
  });

  test("lists endpoints by project, enables and disables them, changes their signature and removes them", async (t) => {
    const { store } = await temporaryStore(t);
    const dependencies = await fixture(store);
    await createProject(store, { name: "blog", account: "acme" }, "alice");
    const { made } = await createEndpoint(
      dependencies,
      { project: "shop", url: "https://example.com/", signing: "raw" },
      "alice",
    );
    const { id } = made;
    await createEndpoint(dependencies, { project: "blog", url: "https://example.com/" }, "alice");
    assert.equal((await setEndpointActive(store, id, false, "alice")).active, false);
    assert.equal((await setEndpointActive(store, id, true, "alice")).active, true);
    assert.equal((await setEndpointSigning(store, id, "standard", "alice")).signing, "standard");
    assert.deepEqual(
      (await listEndpoints(store, { project: "shop" })).map((endpoint) => endpoint.id),
      [id],
    );
    await removeEndpoint(store, id, "alice");
    assert.deepEqual(await listEndpoints(store, { project: "shop" }), []);
    assert.equal((await listEndpoints(store)).length, 1);
    const gone = [
      () => setEndpointActive(store, id, true, "alice"),
      () => setEndpointSigning(store, id, "raw", "alice"),
      () => rotateEndpointSecret(dependencies, id, 0, "alice"),
      () => removeEndpoint(store, id, "alice"),
    ];
    for (const change of gone) {
      await assert.rejects(change, new AdminError(`there is no webhook endpoint ${id}`));
    }
    await assert.rejects(listEndpoints(store, { project: "none" }), /there is no project none/);
  });

  test("a new secret replaces the old one", async (t) => {
    const { store } = await temporaryStore(t);
    const dependencies = await fixture(store);
    const { made } = await createEndpoint(dependencies, { project: "shop", url: "https://example.com/" }, "alice");
    const rotated = await rotateEndpointSecret(dependencies, made.id, 0, "bob");
    assert.notEqual(rotated.secret, made.secret);
    const stored = (await store.endpoints.get(made.id))?.secret ?? Buffer.alloc(0);
    assert.equal(dependencies.sealer.open(made.id, stored), rotated.secret);
    const [entry] = await store.audit.list({ max: 1 });
    assert.deepEqual([entry?.actor, entry?.action], ["bob", "endpoint.rotate-secret"]);
    assert.equal(JSON.stringify(entry).includes(rotated.secret), false);
  });
});
