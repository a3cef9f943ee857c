import { randomBytes, randomUUID } from "node:crypto";
import type { ForeignRequest } from "../../../src/domain/foreign-api.ts";
import type { Outcome } from "../../../src/domain/outcome.ts";
import { newSubmission, programOf } from "../../../src/domain/submission.ts";
import { newWebhookSecret, type Signing } from "../../../src/domain/webhook.ts";
import type { DeliveryClaim } from "../../../src/store/deliveries/types.ts";
import type { Store } from "../../../src/store/store.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { keySealer } from "../../../src/webhooks/seal.ts";
import { addKey } from "../store/temporary.ts";
import { report } from "../verdict/reports.ts";

/** The budget of a process that has no attempts under way. */
export const deliveryBudget = (attempts: number, perEndpoint = attempts) => ({
  attempts,
  perEndpoint,
  bodies: { budgetBytes: Number.POSITIVE_INFINITY, heldBytes: new Map<string, number>() },
});

/** The default outcome of submissions in these tests. */
export const DONE = buildOutcome({ execute: report({ stdout: Buffer.from("42\n"), stderr: Buffer.from("") }) });

export const SEALING_KEY = randomBytes(32);
export const sealer = keySealer(SEALING_KEY);

export interface Project {
  readonly id: string;
  readonly key: { readonly keyId: string; readonly accountId: string };
}

export interface NewEndpoint {
  readonly url?: string;
  readonly signing?: Signing;
}

/** Creates a project with a key in the account of that name. */
export async function addProject(store: Store, name = "p", account = name): Promise<Project> {
  const { id: accountId } = await store.accounts.ensure(account, "beta", ACTOR);
  const id = await store.projects.create(accountId, name, ACTOR);
  if (!id) throw new Error("there is such a project");
  return { id, key: await addKey(store, `key of ${name}`, { account, projectId: id }) };
}

export async function addEndpoint(
  store: Store,
  { id: projectId }: Project,
  { url = "https://receiver.example/hook", signing = "standard" }: NewEndpoint = {},
): Promise<{ id: string; secret: string }> {
  const id = randomUUID();
  const secret = newWebhookSecret();
  const added = await store.endpoints.add(
    { id, projectId, url, seal: () => sealer.seal(id, secret), signing },
    10,
    ACTOR,
  );
  if (added !== "added") throw new Error(added);
  return { id, secret };
}

export const ACTOR = "test";

/** Submits and completes a submission of the project. @returns its id. */
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
  idempotency: { readonly key: string; readonly requestHash: string } | null = null,
  foreign?: ForeignRequest,
): Promise<string> {
  const request = { language: "python", profile, code: "print(42)", stdin: "" } as const;
  const limits = { requestsPerMinute: 60, concurrency: 10, executions: 16 } as const;
  const profiles = { profiles: [profile], defaultProfile: profile } as const;
  const submission = newSubmission(
    request,
    { ...project.key, projectId: project.id, ...limits, ...profiles },
    Date.now(),
  );
  const enqueue = {
    submission,
    program: programOf(request),
    idempotency,
    maxPending: 1000,
    ...(foreign && { foreign }),
  };
  const answer = await store.submissions.enqueue(enqueue);
  return "submission" in answer ? answer.submission.id : submission.id;
}

/** A claim of a first attempt at that URL, and its signing secret. */
export function claimFor(url: string, signing: Signing = "standard"): DeliveryClaim & { readonly open: string } {
  const id = randomUUID();
  const open = newWebhookSecret();
  const endpoint = { id, url, secrets: [sealer.seal(id, open)], signing };
  const delivery = { id: randomUUID(), fence: 1, attempt: 1, kind: "result", messageId: randomUUID() } as const;
  return { ...delivery, accountId: "a", bodyBytes: 2, endpoint, callbackUrl: null, open };
}
