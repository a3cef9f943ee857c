import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { sql } from "kysely";
import { within } from "../../../bench/load/database.ts";
import { MEMBERS_ENDPOINTS_A_DAY } from "../../../src/admin/endpoints.ts";
import { MEMBERS_KEYS } from "../../../src/admin/member-keys.ts";
import { MEMBERS_PROJECTS } from "../../../src/admin/projects.ts";
import { startTwoTenants, type TwoTenants } from "../../support/http/dashboard/two-tenants.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { type OpenTemporary, onEachDatabase, temporaryStore } from "../../support/store/temporary.ts";

/** Keys of the other account: one page of a list, and the number after years of use. */
const FEW = 100;
const MANY = 30_000;
const ROUNDS = SKIPS_LONG ? 25 : 40;
/** Allowed factor by which times of the honest account may rise. */
const AT_MOST = 2;

onEachDatabase((open) => {
  test("a member who creates and revokes keys continuously gets at most 100 a day", async (t) => {
    const { ada, root, projectId } = await startTwoTenants(t, { open });
    let made = 0;
    for (let at = 0; at < MEMBERS_KEYS.aDay + 20; at++) {
      const { status, json } = await ada("POST", "/keys", { name: `k${at}`, projectId });
      if (status === 422) {
        assert.equal(
          json.error,
          "the account made 100 keys in the last 24 hours, the maximum without an administrator",
        );
        continue;
      }
      made++;
      assert.equal((await ada("POST", `/keys/${json.key.id}/revoke`, {})).status, 200);
    }
    assert.equal(made, MEMBERS_KEYS.aDay);
    assert.equal(
      (await root("POST", "/keys", { name: "more", projectId })).status,
      200,
      "an administrator must not be limited",
    );
  });

  test("a member who creates and removes endpoints continuously gets at most 100 a day, in all projects and processes", async (t) => {
    const { running, ada, root, eve, accountId, projectId, other } = await startTwoTenants(t, { open });
    const second = await running.store.projects.create(accountId, "second", "test");
    const add = (who: typeof ada, project: unknown) =>
      who("POST", "/endpoints", { projectId: project, url: "https://8.8.8.8/" });
    let [made, refused] = [0, 0];
    while (refused < 3 && made < 150) {
      const answers = await Promise.all([projectId, second, projectId].map((project) => add(ada, project)));
      for (const { status, json } of answers) {
        if (status === 422) {
          refused++;
          const error = "the account made 100 endpoints in the last 24 hours, the maximum without an administrator";
          assert.deepEqual(json, { error });
        } else {
          made++;
          assert.equal((await ada("DELETE", `/endpoints/${json.endpoint.id}`, {})).status, 204);
        }
      }
    }
    assert.equal(made, MEMBERS_ENDPOINTS_A_DAY);
    assert.equal((await add(eve, other.projectId)).status, 200, "another account has its own bound");
    assert.equal((await add(root, projectId)).status, 200, "an administrator has no bound");
    running.clock.nowMs += 86_400_000;
    // The session of the test's clock has ended as well, so query the store directly.
    const endpoint = {
      id: "new",
      projectId,
      url: "https://8.8.8.8/",
      seal: () => Buffer.from("s"),
      signing: "raw",
    } as const;
    assert.equal(await running.store.endpoints.add(endpoint, 10, "test", MEMBERS_ENDPOINTS_A_DAY), "added");
  });

  test("a member can create a limited number of projects, including archived ones", async (t) => {
    const { ada, accountId, running } = await startTwoTenants(t, { open });
    for (let at = 1; at < MEMBERS_PROJECTS - 1; at++) await running.store.projects.create(accountId, `p${at}`, "test");
    const add = (name: string) => ada("POST", "/projects", { name, accountId });
    const answers = await Promise.all(["a", "b", "c"].map(add));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 422, 422]);
    const last = answers.find(({ status }) => status === 200)?.json;
    assert.equal((await ada("PATCH", `/projects/${last.id}`, { archived: true })).status, 200);
    assert.match((await add("d")).json.error, /^the account has 200 projects, archived ones included, the maximum/);
    const { projects, next } = (await ada("GET", "/projects?limit=150")).json;
    const rest = (await ada("GET", `/projects?limit=150&before=${next}`)).json;
    assert.deepEqual([projects.length, rest.projects.length, rest.next], [150, 50, null]);
  });

  test("30,000 keys of another account do not slow the lists and submissions of an honest one", {
    skip: open === temporaryStore && SKIPS_LONG,
  }, async (t) => {
    // Two services alternate, so that other work of the machine affects both.
    const [few, many] = [await withKeys(t, open, FEW), await withKeys(t, open, MANY)];
    for (const neighbour of [false, true]) {
      for (const ask of Object.keys(ASKS) as (keyof typeof ASKS)[]) {
        await figures([few, many], ask, neighbour, 5); // warm up
        const [before, after] = await figures([few, many], ask, neighbour, ROUNDS);
        assert.ok(before && after);
        const text = `${ask}, the other account ${neighbour ? "lists as well" : "is silent"}: ${show(before)} with ${FEW} keys, ${show(after)} with ${MANY}`;
        t.diagnostic(text);
        assert.ok(after.p50 <= AT_MOST * before.p50, text);
        assert.ok(after.p99 <= AT_MOST * before.p99 + SLACK_MS, text);
      }
    }
    const listed = (await many.eve("GET", "/keys?limit=500")).json;
    assert.deepEqual([listed.keys.length, typeof listed.next], [500, "string"]);
  });
});

/** Requests of the honest account. */
const ASKS = {
  "list of keys": ({ ada }: Filled) => ada("GET", "/keys"),
  "list of projects": ({ ada }: Filled) => ada("GET", "/projects"),
  submission: ({ running, key }: Filled) => running.submit(undefined, { key }),
} as const;

/** Delay of the slowest request that a busy machine may cause. */
const SLACK_MS = 100;

type Filled = TwoTenants & { readonly key: string };

/** Creates a key of the honest account and `amount` keys of the other account, one in a hundred of them live. */
async function withKeys(t: TestContext, open: OpenTemporary, amount: number): Promise<Filled> {
  const club = await startTwoTenants(t, { open, maxPending: 100_000 });
  const { running, other } = club;
  const key = await running.key({ project: club.projectId });
  await within(running.database, async ({ db }) => {
    await sql`insert into api_keys (id, account_id, project_id, name, prefix, hash, profiles, default_profile, created_at, revoked_at)
      with recursive n(i) as (select 1 union all select i + 1 from n where i < ${sql.lit(amount)})
      select 'many-' || i, ${sql.lit(other.accountId)}, ${sql.lit(other.projectId)}, 'k', 'assay_live_xxxxxx', 'hash-' || i,
      '["judge"]', 'judge', i, case when i % 100 = 0 then null else i end from n`.execute(db);
    if (running.database.kind === "postgres") await sql`analyze`.execute(db);
  });
  return { ...club, key };
}

interface Figures {
  readonly p50: number;
  readonly p99: number;
}

/** Response times of each service. With `neighbour`, the other account lists its keys at the same time. */
async function figures(
  clubs: readonly Filled[],
  ask: keyof typeof ASKS,
  neighbour: boolean,
  rounds: number,
): Promise<Figures[]> {
  const tookMs = clubs.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [at, club] of clubs.entries()) {
      const others = neighbour ? club.eve("GET", "/keys") : null;
      const begun = performance.now();
      const { status } = await ASKS[ask](club);
      tookMs[at]?.push(performance.now() - begun);
      assert.ok(status === 200 || status === 202, `${ask}: ${status}`);
      assert.equal((await others)?.status ?? 200, 200);
    }
  }
  return tookMs.map((times) => {
    const sorted = times.toSorted((a, b) => a - b);
    return { p50: sorted[Math.floor(rounds / 2)] ?? 0, p99: sorted[Math.ceil(rounds * 0.99) - 1] ?? 0 };
  });
}

function show({ p50, p99 }: Figures): string {
  return `p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} ms`;
}
