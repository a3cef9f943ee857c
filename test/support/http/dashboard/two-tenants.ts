import type { TestContext } from "node:test";
import { createProject } from "../../../../src/admin/projects.ts";
import type { Ask, Options, Reply, Running } from "../running.ts";
import { startHttp } from "../running.ts";
import { type SignedInPerson, signedIn } from "./signed-in.ts";

export const API = "/dashboard/api";

/** Two accounts, each with a project and a member, and an administrator of both. */
export interface TwoTenants {
  readonly running: Running;
  readonly root: Asker;
  readonly ada: Asker;
  readonly eve: Asker;
  /** The account and project of Ada. */
  readonly accountId: string;
  readonly projectId: string;
  /** The account and project of Eve. */
  readonly other: { readonly accountId: string; readonly projectId: string };
}

/** Sends a request below /dashboard/api, with a JSON body. */
export type Asker = ((method: Method, path: string, body?: unknown) => Promise<Reply>) & {
  readonly person: SignedInPerson;
};
type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export async function startTwoTenants(t: TestContext, options: Options = {}): Promise<TwoTenants> {
  const running = await startHttp(t, options);
  const { store } = running;
  const { id: projectId } = await createProject(store, { name: "shop", account: "club" }, "test");
  // Lists are ordered by time.
  running.clock.nowMs += 1;
  const other = await createProject(store, { name: "blog", account: "others" }, "test");
  running.clock.nowMs += 1;
  const projects = await store.projects.list();
  const accountOf = (id: string) => projects.find((project) => project.id === id)?.accountId ?? "";
  const accountId = accountOf(projectId);
  const root = asker(await signedIn(running, "root@example.com", "administrator"));
  const ada = asker(await signedIn(running, "ada@example.com", [accountId]));
  const eve = asker(await signedIn(running, "eve@example.com", [accountOf(other.id)]));
  return {
    running,
    root,
    ada,
    eve,
    accountId,
    projectId,
    other: { accountId: accountOf(other.id), projectId: other.id },
  };
}

function asker(person: SignedInPerson): Asker {
  const ask = (method: Method, path: string, body?: unknown) => {
    const asked: Ask = { method, path: `${API}${path}`, ...(body !== undefined && { body }) };
    return person.ask(asked);
  };
  return Object.assign(ask, { person });
}

export const NOT_THERE = { error: "not found, or you have no access to it" };

/** Audit entries made by a person's changes, newest first, without those about people. */
export async function entriesOf({ running }: TwoTenants, { person }: Asker) {
  const entries = await running.store.audit.list({ max: 100 });
  return entries
    .filter(({ actor, action }) => actor === person.email && !action.startsWith("person."))
    .map(({ action, subject }) => [action, subject]);
}

/** The result of a failed self-test. */
export const BROKEN = {
  ready: false,
  cgroupBackend: null,
  checks: [
    { name: "sandbox", ok: false, detail: "its smoke test ended as IE", fault: "cannot open /var/lib/assay" },
    { name: "file_size_evidence", ok: true, detail: "kernel tracepoint" },
    { name: "rust", ok: false, detail: "its smoke test ended as RE" },
  ],
} as const;
