import { randomBytes, randomUUID } from "node:crypto";
import Database from "better-sqlite3";
import type { Outcome } from "../../src/domain/outcome.ts";
import { newSubmission, programOf } from "../../src/domain/submission.ts";
import { newWebhookSecret, type Signing } from "../../src/domain/webhook.ts";
import type { Store } from "../../src/store/port.ts";
import { conclude } from "../../src/verdict/conclude.ts";
import { keySealer } from "../../src/webhooks/seal.ts";
import { addKey, type Temporary } from "../store/temporary.ts";
import { report } from "../verdict/reports.ts";

/** How every submission of these tests ends, unless told otherwise. */
export const DONE = conclude({ execute: report({ stdout: Buffer.from("42\n"), stderr: Buffer.from("") }) });

export const sealer = keySealer(randomBytes(32));

export interface Project {
  readonly id: string;
  readonly key: { readonly keyId: string; readonly accountId: string };
}

export interface NewEndpoint {
  readonly url?: string;
  readonly signing?: Signing;
}

/** A project with a key. */
export async function addProject({ store, path }: Pick<Temporary, "store" | "path">, name = "p"): Promise<Project> {
  const key = await addKey(store, `key of ${name}`);
  const id = randomUUID();
  change(path, "insert into projects (id, account_id, name, created_at) values (?, ?, ?, 0)", id, key.accountId, name);
  return { id, key };
}

export function addEndpoint(
  { path }: Pick<Temporary, "path">,
  project: Project,
  { url = "https://receiver.example/hook", signing = "standard" }: NewEndpoint = {},
): { id: string; secret: string } {
  const id = randomUUID();
  const secret = newWebhookSecret();
  change(
    path,
    "insert into endpoints (id, project_id, url, secret, signing, active, created_at) values (?, ?, ?, ?, ?, 1, 0)",
    ...[id, project.id, url, sealer.seal(id, secret), signing],
  );
  return { id, secret };
}

export function setActive({ path }: Pick<Temporary, "path">, id: string, active: boolean): void {
  change(path, "update endpoints set active = ? where id = ?", active ? 1 : 0, id);
}

export function remove({ path }: Pick<Temporary, "path">, id: string): void {
  change(path, "update endpoints set active = 0, removed_at = 1 where id = ?", id);
}

function change(path: string, statement: string, ...values: unknown[]): void {
  const database = new Database(path);
  database.prepare(statement).run(...values);
  database.close();
}

/** A submission of the project, run to its end. @returns its id. */
export async function endOne(store: Store, project: Project, outcome: Outcome = DONE): Promise<string> {
  const id = await submit(store, project);
  const [claim] = await store.submissions.claim("w", 60_000);
  if (claim?.submission.id !== id) throw new Error("another submission was claimed");
  await store.submissions.finish(claim.lease, outcome);
  return id;
}

export async function submit(
  store: Store,
  project: Pick<Project, "key"> & { readonly id: string | null },
  profile: "judge" | "agent" = "judge",
): Promise<string> {
  const request = { language: "python", profile, code: "print(42)", stdin: "" } as const;
  const limits = { requestsPerMinute: 60, concurrency: 10, profiles: [profile], defaultProfile: profile } as const;
  const submission = newSubmission(request, { ...project.key, projectId: project.id, ...limits }, Date.now());
  await store.submissions.enqueue({ submission, program: programOf(request), idempotency: null, maxPending: 1000 });
  return submission.id;
}
