import assert from "node:assert/strict";
import { test } from "node:test";
import { within } from "../../../bench/load/database.ts";
import { SAMPLES } from "../../support/store/samples.ts";
import { onEachDatabase, type Temporary } from "../../support/store/temporary.ts";
import { ACTOR, addProject, DONE, endOne, submit as submitted } from "../../support/webhooks/project.ts";

async function rows({ database }: Temporary): Promise<number> {
  return await within(database, async ({ db }) => (await db.selectFrom("samples").select("body").execute()).length);
}

onEachDatabase((temporaryStore) => {
  test("samples are stored with the outcome, apart from it, and read with the submission's details", async (t) => {
    const { store } = await temporaryStore(t);
    const project = await addProject(store);
    const id = await endOne(store, project, { ...DONE, samples: SAMPLES });
    const read = await store.submissionSearch.read(id, [project.key.accountId]);
    assert.deepEqual(read?.samples, SAMPLES);
    assert.deepEqual(read?.submission.outcome, DONE);
    assert.deepEqual((await store.submissions.get(id, project.key.accountId))?.outcome, DONE);
    assert.equal(await store.submissionSearch.read(id, ["another"]), undefined);
  });

  test("a run without samples has no row", async (t) => {
    const temporary = await temporaryStore(t);
    const { store } = temporary;
    const project = await addProject(store);
    const id = await endOne(store, project);
    assert.equal((await store.submissionSearch.read(id, null))?.samples, null);
    assert.equal(await rows(temporary), 0);
  });

  test("runs that end in one group each have their own samples, or none", async (t) => {
    const temporary = await temporaryStore(t);
    const { store } = temporary;
    const project = await addProject(store);
    const peaks = [1, null, 3, 4, null];
    const ids: string[] = [];
    for (const _ of peaks) ids.push(await submitted(store, project));
    const claims = await store.submissions.claim("w", 60_000, peaks.length);
    const peakOf = new Map(ids.map((id, i) => [id, peaks[i] ?? null]));
    await Promise.all(
      claims.map(({ lease }) => {
        const peakBytes = peakOf.get(lease.submissionId) ?? null;
        return store.submissions.finish(lease, { ...DONE, ...(peakBytes && { samples: { ...SAMPLES, peakBytes } }) });
      }),
    );
    for (const [id, peakBytes] of peakOf)
      assert.equal((await store.submissionSearch.read(id, null))?.samples?.peakBytes ?? null, peakBytes);
    assert.equal(await rows(temporary), 3);
  });

  test("retention and an erasure delete them with their submission", async (t) => {
    const temporary = await temporaryStore(t);
    const { store, clock } = temporary;
    const project = await addProject(store);
    await endOne(store, project, { ...DONE, samples: SAMPLES });
    clock.nowMs += 1_000;
    await endOne(store, project, { ...DONE, samples: SAMPLES });
    assert.equal(await rows(temporary), 2);
    assert.equal(await store.retention.purge(clock.nowMs - 1, 10), 1);
    assert.equal(await rows(temporary), 1);
    const until = await store.retention.beginErase(project.key.accountId, ACTOR);
    assert.equal(await store.retention.erase(project.key.accountId, until, 10), 1);
    assert.equal(await rows(temporary), 0);
  });
});
