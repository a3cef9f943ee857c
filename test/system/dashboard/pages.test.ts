import assert from "node:assert/strict";
import { test } from "node:test";
import { firstLink } from "../../../src/admin/people.ts";
import { runPending, startHttp } from "../../support/http/running.ts";
import { assertOnlyStatus, violations, visit } from "./browser.ts";
import { builtDashboard } from "./built.ts";
import { DESK, PASSWORD, PHONE, pageActions } from "./page-actions.ts";

const PLACES = [
  "Overview",
  "Judgements",
  "Problems",
  "Projects",
  "API keys",
  "Webhooks",
  "Languages",
  "Nodes",
  "Members",
  "Audit trail",
  "Settings",
];

test("the dashboard, from the first link to the end of a session", async (t) => {
  const running = await startHttp(t, { dashboardDir: builtDashboard() });
  const { store, port, submit } = running;
  const origin = `https://127.0.0.1:${port}`;
  const { page, asked, complaints } = await visit(t);
  const { heading, go, button } = pageActions(page);

  await t.test("the one-time link creates the first administrator and works once", async () => {
    const { url } = await firstLink(store, { origin, actor: "test" });
    await page.goto(url);
    await heading("First administrator");
    assert.deepEqual(await violations(page), []);
    await page.getByLabel("E-mail").fill("root@example.com");
    await page.getByLabel("Your name").fill("Root");
    await page.getByRole("textbox", { name: "Password" }).fill(PASSWORD);
    await button("Create sign-in").click();
    await heading("Overview");
    assert.deepEqual(complaints, []);
    assert.ok(!asked.some((address) => new URL(address).hash !== ""), "the token is in no request but the API's own");
    await page.goto("about:blank");
    await page.route("**/invitations/look", (route) => route.abort());
    await page.goto(url);
    await page.getByRole("alert").filter({ hasText: "the service is unreachable" }).waitFor();
    assert.equal(await page.getByText("This link does not work").count(), 0, "only the service can know that");
    // Now the page gets an answer without a click, because it tries again by itself.
    await page.unroute("**/invitations/look");
    await heading("This link does not work");
    const answered = complaints.splice(0).filter((text) => !/net::ERR_FAILED/.test(text));
    assert.deepEqual([...new Set(answered.map((text) => /status of (\d+)/.exec(text)?.[1]))], ["404"]);
    await page.goto(`${origin}/dashboard/`);
  });

  await t.test("creates a project and a key; shows the key once, and the API accepts it", async () => {
    await go("Projects");
    await button("New project").click();
    await page.getByRole("textbox", { name: "Name" }).fill("shop");
    await button("Create project").click();
    await page.getByRole("link", { name: "shop", exact: true }).click();
    await heading("shop");
    await button("New key").click();
    await page.getByRole("textbox", { name: "Name" }).fill("grader");
    assert.deepEqual(await violations(page), []);
    await button("Create key").click();
    await button("Done").waitFor();
    const secret =
      (await page
        .getByRole("dialog")
        .getByText(/^assay_live_/)
        .textContent()) ?? "";
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press("Escape");
    assert.equal(await button("Done").count(), 1, "only its button closes it");
    await button("Done").click();
    assert.equal((await submit(undefined, { key: secret })).status, 202);
    await runPending(store);
    await page.getByRole("row").filter({ hasText: "grader" }).getByText("1 of 60").waitFor();
    assert.ok(!(await page.content()).includes(secret));
  });

  await t.test("creates an endpoint, and rejects a disallowed URL with a message", async () => {
    await go("Webhooks");
    await button("New endpoint").click();
    await page.getByLabel("URL").fill("https://169.254.169.254/hook");
    await button("Create endpoint").click();
    await page.getByRole("dialog").getByRole("alert").waitFor();
    assert.deepEqual(
      complaints.splice(0).map((text) => /status of (\d+)/.exec(text)?.[1]),
      ["422"],
    );
    assert.deepEqual(await violations(page), []);
    await page.getByLabel("URL").fill("https://192.0.2.1/hook");
    await page.keyboard.press("Escape");
    assert.equal(await page.getByRole("dialog").count(), 0);
  });

  await t.test("explains a destructive action first, and runs it only by its own button", async () => {
    await go("API keys");
    await button("Actions for grader").click();
    await page.getByRole("menuitem", { name: "Revoke key" }).waitFor();
    assert.deepEqual(await violations(page), []);
    await page.getByRole("menuitem", { name: "Revoke key" }).click();
    await page.getByRole("dialog", { name: "Revoke the key grader?" }).getByText("This cannot be undone").waitFor();
    await button("Cancel").click();
    assert.equal((await store.keys.list()).find(({ name }) => name === "grader")?.isLive, true);
    await button("Actions for grader").click();
    await page.getByRole("menuitem", { name: "Revoke key" }).click();
    await button("Revoke key").click();
    await page.getByText("Key grader revoked.").waitFor();
    assert.equal((await store.keys.list()).find(({ name }) => name === "grader")?.isLive, false);
  });

  await t.test(
    "an account is suspended, its queue is dropped, and it is resumed, each from its own dialog",
    async () => {
      const key = await running.key({ account: "noisy" });
      assert.equal((await submit(undefined, { key })).status, 202);
      await go("Settings");
      const noisy = page.getByRole("row").filter({ hasText: "noisy" });
      const choose = async (item: string) => {
        await button("Actions for noisy").click();
        await page.getByRole("menuitem", { name: item }).click();
      };
      await choose("Suspend");
      assert.deepEqual(await violations(page), []);
      await button("Suspend account").click();
      await noisy.getByText("suspended").waitFor();
      assert.equal((await submit(undefined, { key })).status, 403);
      await choose("Drop pending submissions");
      await page.getByRole("dialog").getByText("1 submission is pending").waitFor();
      await button("Drop submissions").click();
      await page.getByText("1 pending submission of noisy dropped.").waitFor();
      assert.equal(await store.submissions.depth(), 0);
      await choose("Resume");
      await button("Resume account").click();
      await noisy.getByText("active").waitFor();
      assert.equal((await submit(undefined, { key })).status, 202);
      await runPending(store);
    },
  );

  for (const scheme of ["light", "dark"] as const) {
    await t.test(`every page, ${scheme}: axe finds nothing, and a phone needs no horizontal scrolling`, async () => {
      await page.emulateMedia({ colorScheme: scheme });
      for (const name of [...PLACES, "My profile"]) {
        if (name === "My profile") {
          await button("Root").click();
          await page.getByRole("menuitem", { name }).click();
          await heading(name);
        } else await go(name);
        // Structure is the same in both; only colours differ.
        assert.deepEqual(await violations(page, scheme === "dark" ? ["color-contrast"] : undefined), [], name);
        await page.setViewportSize(PHONE);
        const wide = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
        assert.ok(wide <= 0, `${name} is ${wide} pixels too wide for a phone`);
        await page.setViewportSize(DESK);
      }
      assert.deepEqual(complaints, []);
    });
  }

  await t.test("keyboard: the first Tab leads to the content, and a dialog returns the focus", async () => {
    await page.goto(`${origin}/dashboard/projects`);
    await heading("Projects");
    await page.keyboard.press("Tab");
    const focused = (what: string) => page.evaluate(`document.activeElement?.${what}`);
    assert.equal(await focused("textContent"), "Skip to the content");
    await page.keyboard.press("Enter");
    assert.equal(await focused("id"), "main");
    await button("New project").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "New project" }).waitFor();
    assert.equal(await focused("name"), "name");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.equal(await focused("textContent"), "New project");
    await go("Members");
    await button("Actions for Root").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("menuitem", { name: "Change access" }).press("Enter");
    await page.getByRole("dialog", { name: "Access of Root" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.equal(await focused("ariaLabel"), "Actions for Root");
  });

  await t.test("an expired session leads to the sign-in and back to the same page", async () => {
    await page.context().clearCookies();
    // The page may have asked again already, and then it has left for the sign-in by itself.
    await page.evaluate(`document.querySelector('a[href="/dashboard/nodes"]')?.click()`);
    await heading("Sign in");
    const isNodes = new URL(page.url()).searchParams.get("to") === "/nodes";
    await page.evaluate("globalThis.memory = 'of who was here'");
    assert.deepEqual(await violations(page), []);
    await page.getByLabel("E-mail").fill("root@example.com");
    await page.getByRole("textbox", { name: "Password" }).fill("not this one, surely");
    await button("Sign in").click();
    await page.getByRole("alert").waitFor();
    await page.getByRole("textbox", { name: "Password" }).fill(PASSWORD);
    await button("Sign in").click();
    await heading(isNodes ? "Nodes" : "Members");
    assert.equal(await page.evaluate("globalThis.memory"), undefined, "somebody else might be here now");
    assertOnlyStatus(complaints, "401");
  });

  await t.test("a sign-in link cannot redirect to another site", async () => {
    await page.context().clearCookies();
    await page.goto(`${origin}/dashboard/sign-in?to=${encodeURIComponent("https://elsewhere.example/")}`);
    await page.getByLabel("E-mail").fill("root@example.com");
    await page.getByRole("textbox", { name: "Password" }).fill(PASSWORD);
    await button("Sign in").click();
    await heading("Overview");
    assert.deepEqual(complaints, []);
  });

  await t.test("shows a message for a missing page", async () => {
    await page.goto(`${origin}/dashboard/projects/nowhere`);
    await heading("Page not found");
    // Chromium notes the answer about the project by itself.
    const noted = "Failed to load resource: the server responded with a status of 404 (Not Found)";
    assert.deepEqual(complaints.splice(0), [noted]);
    await page.goto(`${origin}/dashboard/no-such-page`);
    await heading("Page not found");
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(complaints, []);
  });

  await t.test("sends no request to another host", () => {
    assert.ok(asked.length > 50);
    const others = asked.filter((address) => !address.startsWith(`${origin}/`) && address !== "about:blank");
    assert.deepEqual(others, []);
  });
});
