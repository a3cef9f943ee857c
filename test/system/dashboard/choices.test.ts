import assert from "node:assert/strict";
import { test } from "node:test";
import { addKey } from "../../support/store/temporary.ts";
import { violations } from "./browser.ts";
import { inside } from "./inside.ts";

test("a choice with more than 500 options shows a note and lists older ones", async (t) => {
  const { page, club, go } = await inside(t);
  const { store, clock } = club.running;
  clock.nowMs += 1;
  // Several are created at once, because each is a transaction, for which a busy disk takes 100 ms.
  for (let n = 0; n < 501; n += 20) {
    const some = Array.from({ length: Math.min(20, 501 - n) }, (_, at) => n + at);
    await Promise.all(some.map((one) => store.projects.create(club.accountId, `p${one}`, "test")));
    await Promise.all(some.map((one) => addKey(store, `k${one}`, { account: "club" })));
  }
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const options = (label: string) => page.getByLabel(label, { exact: true }).getByRole("option");

  await go("/submissions");
  await button("Filter").click();
  for (const [label, what, all] of [
    ["Project", "projects", 502],
    ["Key", "keys", 501],
  ] as const) {
    await page.getByText(`Only the newest 500 ${what} are listed.`).waitFor();
    assert.equal(await options(label).count(), 501, "500 and the one for any");
    assert.deepEqual(await violations(page), []);
    await button(`List older ${what}`).click();
    await button(`List older ${what}`).waitFor({ state: "detached" });
    assert.equal(await options(label).count(), all + 1);
  }
  await page.getByLabel("Project", { exact: true }).selectOption({ label: "shop" });

  for (const [path, opens] of [
    ["/keys", "New key"],
    ["/webhooks", "New endpoint"],
  ] as const) {
    await go(path);
    await button(opens).click();
    await page.getByText("Only the newest 500 projects are listed.").waitFor();
    assert.deepEqual(await violations(page), []);
    await button("List older projects").click();
    await button("List older projects").waitFor({ state: "detached" });
    await page.getByLabel("Project", { exact: true }).selectOption({ label: "shop (club)" });
  }
});
