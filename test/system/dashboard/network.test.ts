import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { parseNetworkBound } from "../../../src/domain/egress/bound.ts";
import type { EgressHost } from "../../../src/domain/egress/egress-record.ts";
import { MemorySandboxes } from "../../support/http/memory-sandboxes.ts";
import { assertOnlyStatus, screenshot } from "./browser.ts";
import { inside } from "./inside.ts";
import { DESK, looksGood, pageActions } from "./page-actions.ts";

const DAY_MS = 86_400_000;
const TABLET = { width: 820, height: 1_180 };
const WIDE = {
  policy: {
    allow: [
      { host: "*.example.org", ports: [80, 443] },
      { host: "api.example.com", ports: [443] },
      { cidr: "203.0.113.0/24", ports: [5432] },
    ],
    bytes_up: 1_000,
    bytes_down: 2 ** 20,
    connections: 8,
    connections_per_minute: 60,
  },
  bytes_up_per_day: 4_000,
  bytes_down_per_day: null,
};
/** A name as long as one can be, and with what a page could take for a link or markup. */
const HOSTILE = `${"x".repeat(60)}.${"y".repeat(60)}.<img/src=//evil.example/>.${"z".repeat(60)}.example`;

async function start(t: TestContext) {
  const started = await inside(t, { sandboxesOver: (store) => new MemorySandboxes(store) });
  const { club } = started;
  const { accountId, projectId, running } = club;
  const { store, clock } = running;
  clock.nowMs = Date.now();
  const bound = (of: unknown, project: string | null = null) =>
    store.egress.setBound({ accountId, projectId: project }, parseNetworkBound(of), "test");
  const reached = async (project: string | null, hosts: readonly EgressHost[], daysAgo = 0) => {
    const nowMs = clock.nowMs;
    clock.nowMs = nowMs - daysAgo * DAY_MS;
    await store.egress.addHosts({ accountId, projectId: project, hosts });
    clock.nowMs = nowMs;
  };
  return { ...pageActions(started.page), ...started, store, projectId, accountId, bound, reached };
}

const host = (name: string | null, decision: "allowed" | "denied", bytes = 0, connections = 1): EgressHost => ({
  ...{ name, decision, connections },
  bytes_up: bytes,
  bytes_down: 10 * bytes,
});

/** As looksGood, and the width of a tablet. */
async function looksGoodEverywhere(page: Page, what: string): Promise<void> {
  await looksGood(page, what);
  await page.setViewportSize(TABLET);
  const wide = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
  assert.ok(wide <= 0, `${what} is ${wide} pixels too wide for a tablet`);
  await screenshot(page, `${what}-tablet`, true);
  await page.setViewportSize(DESK);
}

test("the network of a sandbox: its policy, what it reached, and why the rest was refused", async (t) => {
  const { page, club, go, button, bound, complaints } = await start(t);
  await bound(WIDE);
  const key = await club.running.key({ project: "shop", name: "agent", profiles: ["agent"] });
  const send = async (method: string, path: string, body: object = {}) =>
    (await club.running.ask({ key, method, path: `/api/sandboxes${path}`, body })).json;
  const closed = await send("POST", "");
  const { id } = await send("POST", "", { network: WIDE.policy });
  await send("POST", `/${id}/executions`, { shell: "reach api.example.com evil.example a.b.example.org" });

  await t.test("a sandbox without a network says so", async () => {
    await go(`/sandboxes/${closed.id}`);
    await page.getByText("It has no network, and gets none").waitFor();
  });

  await t.test("a person creates one with all that the bound allows", async () => {
    await go("/sandboxes");
    await button("New sandbox").click();
    await page.getByRole("dialog").getByLabel("Network").selectOption("all that its project may reach");
    await button("Create sandbox").click();
    await page.getByText("by version 1 of its policy").waitFor();
    await page.getByText("203.0.113.0/24").waitFor();
  });

  await t.test("the page shows rules, budgets, and hosts with their decisions", async () => {
    await go(`/sandboxes/${id}`);
    await page.getByText("by version 1 of its policy").waitFor();
    const rules = page.getByRole("list", { name: "Allowed hosts and networks" }).getByRole("listitem");
    assert.deepEqual(
      (await rules.allTextContents()).map((text) => text.replace("port", " port")),
      ["*.example.org ports 80, 443", "api.example.com port 443", "203.0.113.0/24 port 5432"],
    );
    await page.getByText("20 B of 1,000 B").waitFor();
    await page.getByText("980 B may still be sent").waitFor();
    const hosts = page.getByRole("table", { name: "Hosts that it reached or tried to reach" }).getByRole("row");
    await hosts.filter({ hasText: "api.example.com" }).getByText("allowed").waitFor();
    await hosts.filter({ hasText: "evil.example" }).getByText("refused").waitFor();
    await page.getByText("1 connection was refused").waitFor();
  });

  await t.test("an execution shows its connections, each with its rule or the reason, and refused names", async () => {
    await button("Show execution 1").click();
    const execution = page.getByRole("region", { name: "Execution 1" });
    await execution.getByText("3 connections, of which 1 refused; 20 B sent, 200 B received").click();
    const rows = execution.getByRole("table", { name: "Connections" }).getByRole("row");
    await rows.filter({ hasText: "a.b.example.org" }).getByText("rule *.example.org").waitFor();
    await rows
      .filter({ hasText: "evil.example" })
      .getByText("evil.example is not allowed by the policy of this sandbox")
      .waitFor();
    await execution.getByText("refused.example").waitFor();
    await looksGoodEverywhere(page, "sandbox-network");
  });

  await t.test("a new policy and the end of the sandbox are seen without a reload", async () => {
    await send("PUT", `/${id}/network`, Buffer.from('"none"'));
    await page.getByText("Its network is closed by version 2 of its policy").waitFor();
    await send("DELETE", `/${id}`);
    await page.getByText("Its network was closed by version 2 of its policy").waitFor();
    await page.getByRole("table", { name: "Hosts that it reached or tried to reach" }).waitFor();
    assert.deepEqual(complaints, []);
  });
});

test("the page about the network: what all sandboxes reached, by day and host", async (t) => {
  const { page, go, become, club, reached, bound, projectId, button, complaints } = await start(t);
  await go("/network");
  await page.getByText("No network is open for the account club").waitFor();
  await page.getByText("Nothing was reached, and nothing was refused").waitFor();
  await page.getByText("Only administrators change the bound of an account.").waitFor();
  assert.equal(await button("Set a bound").count(), 0);
  await bound(WIDE);
  await bound({ policy: { ...WIDE.policy, allow: [WIDE.policy.allow[1]] } }, projectId);
  await reached(projectId, [host("api.example.com", "allowed", 1_000, 12), host(HOSTILE, "denied", 0, 3)]);
  await reached(null, [host("203.0.113.9", "allowed", 20), host(null, "denied", 0, 40)]);
  await reached(projectId, [host("old.example.org", "allowed", 7)], 2);
  await reached(projectId, [host("ancient.example.org", "allowed", 5)], 20);
  const today = new Date().toISOString().slice(0, 10);

  await t.test("totals and hosts, of a period, a day, a decision and a project", async () => {
    await go("/network");
    const days = page.getByRole("table", { name: "Totals by day" }).getByRole("row");
    const hosts = page.getByRole("table", { name: "Hosts by day" }).getByRole("row");
    assert.equal(await days.count(), 1 + 2);
    await page
      .getByText("In all, 14 connections were made and 43 refused; 1 KiB were sent and 10 KiB received.")
      .waitFor();
    assert.equal(await hosts.count(), 1 + 5);
    await hosts.filter({ hasText: "api.example.com" }).getByRole("link", { name: "shop" }).waitFor();
    await hosts.filter({ hasText: "all others together" }).getByText("40").waitFor();
    await looksGoodEverywhere(page, "network");
    await page.getByLabel("Period").selectOption("Last 30 days");
    await hosts.filter({ hasText: "ancient.example.org" }).waitFor();
    await button(`Show the hosts of ${today}`).click();
    await hosts.filter({ hasText: "203.0.113.9" }).waitFor();
    assert.equal(await hosts.count(), 1 + 4);
    await page.getByLabel("Decision").selectOption("Only refused");
    await hosts.filter({ hasText: "all others together" }).waitFor();
    assert.equal(await hosts.count(), 1 + 2);
    await page.getByLabel("Project", { exact: true }).selectOption("shop");
    await page.getByRole("heading", { name: "Bound of the project" }).waitFor();
    await hosts.filter({ hasText: "xxx" }).waitFor();
    assert.equal(await hosts.count(), 1 + 1);
  });

  await t.test("a name is only text: no link, no markup, and cut", async () => {
    await go("/network?decision=denied");
    const cell = page.getByRole("cell").filter({ hasText: "xxx" });
    await cell.getByText("…").waitFor();
    const shown = (await cell.textContent()) ?? "";
    assert.ok(shown.length < 100 && shown.endsWith("zzz.example"), shown);
    assert.equal(await cell.locator("a, img").count(), 0);
  });

  await t.test("others see nothing of it", async () => {
    await become(club.eve.person);
    await go("/network");
    await page.getByText("No network is open for the account others").waitFor();
    await page.getByText("Nothing was reached, and nothing was refused").waitFor();
    assert.equal(await page.getByText("api.example.com").count(), 0);
    assert.deepEqual(complaints, []);
  });
});

test("bounds are set and removed with a form, which shows what is refused at its field", async (t) => {
  const { page, go, become, club, button, store, accountId, projectId, complaints } = await start(t);
  const dialog = page.getByRole("dialog");
  const invalid = async (label: string, text: string | RegExp) => {
    await dialog.getByText(text).waitFor();
    const field = dialog.getByLabel(label, { exact: true });
    assert.equal(await field.getAttribute("aria-invalid"), "true", label);
    assert.ok(
      await field.evaluate(
        (one) => one === (one as { ownerDocument: { activeElement: unknown } }).ownerDocument.activeElement,
      ),
      label,
    );
  };

  await t.test("an administrator sets that of the account", async () => {
    await become(club.root.person);
    await go(`/network?account=${accountId}`);
    await button("Set a bound").click();
    await dialog.getByLabel("Host or network of rule 1").fill("127.0.0.1");
    await dialog.getByLabel("Ports of rule 1").fill("443 http");
    await button("Set bound").click();
    await invalid("Ports of rule 1", "Must be ports with commas between them");
    await dialog.getByLabel("Ports of rule 1").fill("443, 80");
    await button("Set bound").click();
    await invalid("Host or network of rule 1", "is not a network such as 203.0.113.0/24");
    await looksGood(page, "network-bound");
    await dialog.getByLabel("Host or network of rule 1").fill("*.example.org");
    await button("Add a rule").click();
    await dialog.getByLabel("Host or network of rule 2").fill("10.1.2.3/8");
    await button("Set bound").click();
    await invalid("Host or network of rule 2", "the network is 10.0.0.0/8");
    await dialog.getByLabel("Host or network of rule 2").fill("203.0.113.0/24");
    await dialog.getByLabel("Sent by a sandbox").fill("much");
    await button("Set bound").click();
    await invalid("Sent by a sandbox", "is no number of bytes");
    await dialog.getByLabel("Sent by a sandbox").fill("64 KiB");
    await dialog.getByLabel("Connections at once").fill("65");
    await button("Set bound").click();
    await invalid("Connections at once", "<=64");
    await dialog.getByLabel("Connections at once").fill("4");
    await dialog.getByLabel("Sent per day").fill("1 MiB");
    await button("Set bound").click();
    await page.getByText("Network bound set.").waitFor();
    await page.getByText("may still send 1 MiB").waitFor();
    const { policy, account } = await store.egress.bound(accountId, null);
    assert.ok(policy !== "none" && account);
    assert.deepEqual(
      [policy.allow.length, policy.bytesUp, policy.bytesDown, policy.connections, account.upPerDay, account.downPerDay],
      [2, 65_536, 2 ** 30, 4, 2 ** 20, null],
    );
    assertOnlyStatus(complaints, "422");
  });

  await t.test("a member sets that of a project within it, and sees the entry in the audit trail", async () => {
    await become(club.ada.person);
    await go(`/projects/${projectId}`);
    await page.getByRole("link", { name: "what they may reach" }).click();
    await page.getByText("has no bound of its own, so that of the account club holds").waitFor();
    await button("Set a bound").click();
    assert.equal(await dialog.getByLabel("Host or network of rule 1").inputValue(), "*.example.org");
    await dialog.getByLabel("Host or network of rule 1").fill("api.example.com");
    await button("Set bound").click();
    await invalid("Host or network of rule 1", "of api.example.com is not within the upper bound");
    await dialog.getByLabel("Host or network of rule 1").fill("api.example.org");
    await button("Remove rule 2").click();
    await dialog.getByLabel("Sent by a sandbox").fill("65 KiB");
    await button("Set bound").click();
    await invalid("Sent by a sandbox", "bytes_up is above the upper bound of the policy, which is 65536");
    await dialog.getByLabel("Sent by a sandbox").fill("100");
    await dialog.getByLabel("Sent per day").fill("2 MiB");
    await button("Set bound").click();
    await invalid("Sent per day", "bytes_up_per_day is above that of the account");
    await dialog.getByLabel("Sent per day").fill("1 KiB");
    await button("Set bound").click();
    await page.getByText("Sandboxes of the project shop may reach at most:").waitFor();
    await page.getByText("may still send 1 KiB").waitFor();
    assertOnlyStatus(complaints, "422");
    await page.getByLabel("Project", { exact: true }).selectOption("All projects");
    const projects = page.getByRole("table", { name: "Projects with a bound of their own" });
    await projects.getByText("api.example.org").waitFor();
    assert.equal(await button("Change").count(), 0, "only administrators change the bound of an account");
    await projects.getByRole("link", { name: "shop" }).click();
    await page.getByRole("link", { name: "Changes" }).click();
    await page.getByText("set what sandboxes of shop may reach over the network").waitFor();
  });

  await t.test("a bound of the account that becomes narrower narrows the project, and can be removed", async () => {
    await store.egress.setBound({ accountId, projectId: null }, parseNetworkBound({ policy: "none" }), "test");
    await go(`/network?project=${projectId}`);
    await page.getByText("The bound of the account has become narrower").waitFor();
    await looksGoodEverywhere(page, "network-narrowed");
    await button("Remove the bound").click();
    await button("Remove bound").click();
    await page.getByText("Network bound removed.").waitFor();
    assert.equal((await store.egress.bound(accountId, projectId)).project, null);
    assert.equal(await button("Set a bound").count(), 0);
    assert.deepEqual(complaints, []);
  });
});
