import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { type Asker, startTwoTenants } from "../../../support/http/dashboard/two-tenants.ts";
import type { Reply } from "../../../support/http/running.ts";
import { addPerson } from "../../../support/store/members.ts";
import { onEachDatabase } from "../../../support/store/temporary.ts";

const LIMIT = { timeout: 60_000 };

/** Every list whose cursor is an id, and the name of its rows. */
const LISTS = [
  ["projects", "projects"],
  ["keys", "keys"],
  ["endpoints", "endpoints"],
  ["members", "members"],
  ["members/invitations", "invited"],
] as const;

onEachDatabase((open) => {
  test("a cursor of another account gets the same response as an unknown cursor", LIMIT, async (t) => {
    const { running, root, ada, eve, accountId, projectId, other } = await startTwoTenants(t, { open });
    const fill = async (ask: Asker, project: string, account: string) => {
      const made = async (...asked: Parameters<Asker>) => {
        running.clock.nowMs += 1;
        const { status, json } = await ask(...asked);
        assert.equal(status, 200, JSON.stringify(json));
        return json;
      };
      await made("POST", "/projects", { name: "more", accountId: account });
      await made("POST", "/keys", { name: "k", projectId: project });
      await made("POST", "/endpoints", { projectId: project, url: "https://8.8.8.8/" });
      running.clock.nowMs += 1;
      await addPerson(running.store, `member.${account}@example.com`, [account]);
      const invitation = { email: `${account}@example.com`, accountId: account, administrator: false };
      assert.equal((await root("POST", "/members/invitations", invitation)).status, 200);
    };
    await fill(ada, projectId, accountId);
    await fill(eve, other.projectId, other.accountId);
    for (const [list, name] of LISTS) {
      const rows = (await ada("GET", `/${list}`)).json[name];
      assert.ok(rows.length > 0, list);
      for (const { id } of (await eve("GET", `/${list}`)).json[name]) {
        for (const query of ["", `&account=${accountId}`, "&limit=1"]) {
          const ask = async (before: string) => {
            const { status, text }: Reply = await ada("GET", `/${list}?before=${before}${query}`);
            return [status, text];
          };
          assert.deepEqual(await ask(id), await ask(randomUUID()), `${list} ${query}`);
        }
      }
      // For one account, even an administrator can use only cursors of that account.
      const [foreign] = (await eve("GET", `/${list}`)).json[name];
      const parts = await root("GET", `/${list}?account=${accountId}&before=${foreign.id}`);
      assert.deepEqual(parts.json, { [name]: [], next: null }, list);
    }
  });

  test("lists of people and invitations are paginated, newest first", LIMIT, async (t) => {
    const { running, root, ada, accountId, other } = await startTwoTenants(t, { open });
    for (let n = 0; n < 7; n++) {
      running.clock.nowMs += n % 2; // some with the same time
      await addPerson(running.store, `p${n}@example.com`, n % 3 === 0 ? [accountId, other.accountId] : [accountId]);
      const invitation = { email: `i${n}@example.com`, accountId, administrator: false };
      assert.equal((await root("POST", "/members/invitations", invitation)).status, 200);
    }
    for (const [list, name, most] of [
      ["members", "members", 8],
      ["members/invitations", "invited", 7],
    ] as const) {
      const whole = (await ada("GET", `/${list}`)).json;
      assert.deepEqual([whole[name].length, whole.next], [most, null]);
      for (const limit of [1, 3, most]) {
        const rows: unknown[] = [];
        for (let next: string | null = ""; next !== null; ) {
          const { json }: Reply = await ada("GET", `/${list}?limit=${limit}${next && `&before=${next}`}`);
          assert.ok(json[name].length <= limit);
          rows.push(...json[name]);
          next = json.next;
        }
        assert.deepEqual(rows, whole[name], `${list} in parts of ${limit}`);
      }
      assert.equal((await ada("GET", `/${list}?limit=501`)).status, 400);
    }
  });
});
