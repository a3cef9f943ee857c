import { type TestContext, test } from "node:test";
import type { SignedInPerson } from "../../support/http/dashboard/signed-in.ts";
import { startTwoTenants, type TwoTenants } from "../../support/http/dashboard/two-tenants.ts";
import type { Options } from "../../support/http/running.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { type OpenTemporary, temporaryPostgres, temporaryStore } from "../../support/store/temporary.ts";
import { type Visitor, visit } from "./browser.ts";
import { builtDashboard } from "./built.ts";

export interface Inside extends Visitor {
  readonly club: TwoTenants;
  readonly origin: string;
  /** Opens a page of the dashboard, and waits until it is complete. */
  readonly go: (path: string) => Promise<void>;
  /** The browser has the session of that person from the next request on. */
  readonly become: (person: SignedInPerson) => Promise<void>;
  /** The last copied text. */
  readonly clipboard: () => Promise<string>;
}

/** The API of all pages is tested on both databases; most pages are on one of them. */
const isPostgres = process.env.ASSAY_TEST_DATABASE === "postgres";
const open = isPostgres ? temporaryPostgres : temporaryStore;

/** Defines a test that runs on SQLite and on PostgreSQL. */
export function onEachDatabase(title: string, run: (t: TestContext, open: OpenTemporary) => Promise<void>): void {
  if (!isPostgres) test(`${title}, on SQLite`, (t) => run(t, temporaryStore));
  test(`${title}, on PostgreSQL`, { skip: !isPostgres && SKIPS_LONG }, (t) => run(t, temporaryPostgres));
}

/** Ada, a member of one account, signed in, with the browser at the real service. */
export async function inside(t: TestContext, options: Options = {}): Promise<Inside> {
  const club = await startTwoTenants(t, { dashboardDir: builtDashboard(), open, ...options });
  const origin = `https://127.0.0.1:${club.running.port}`;
  const visitor = await visit(t);
  const { page } = visitor;
  const become = async ({ cookie }: SignedInPerson) => {
    const [name = "", value = ""] = cookie.split("=");
    await page.context().addCookies([{ name, value, url: origin, secure: true, httpOnly: true }]);
  };
  await become(club.ada.person);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin });
  const settled = () => page.locator('[aria-busy="true"]').first().waitFor({ state: "detached" });
  const go = async (path: string) => {
    await page.goto(`${origin}/dashboard${path}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await settled();
  };
  const clipboard = () => page.evaluate<string>("navigator.clipboard.readText()");
  return { ...visitor, club, origin, become, go, clipboard };
}
