import { queryOptions } from "@tanstack/react-query";
import type * as A from "../../src/http/dashboard/api-types.ts";

/**
 * Everything that the page asks of the service: the only file that knows its paths. `asking` are questions, kept by
 * TanStack Query under their path and parameters; `change` are what somebody does.
 */

/** The service said no, in a sentence for the person. */
export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, text: string) {
    super(text);
    this.status = status;
  }
}

/** Whether the service said that there is no such thing, or that the text is no id. */
export function isNotThere(error: unknown): boolean {
  return error instanceof Refusal && (error.status === 404 || error.status === 400);
}

export const API = "/dashboard/api";

type Parameters = Readonly<Record<string, string | number | undefined>>;

export const asking = {
  session: () => question<A.Session>("/session"),
  /** By POST, because a token in a path would be in the logs of proxies. */
  invitation: (token: string) =>
    queryOptions({
      queryKey: ["/invitations/look", token],
      queryFn: () => send<A.Invitation>("POST", "/invitations/look", { token }),
    }),
  overview: (window: A.Window, account?: string) => question<A.Overview>("/overview", { window, account }),
  now: (account?: string) => question<A.Now>("/overview/now", { account }),
  health: () => question<A.Health>("/health"),
  project: (id: string) => question<A.Project>(`/projects/${encodeURIComponent(id)}`),
  endpoint: (id: string) => question<A.Endpoint>(`/endpoints/${encodeURIComponent(id)}`),
  languages: () => question<readonly A.Language[]>("/languages"),
  nodes: () => question<readonly A.Node[]>("/nodes"),
  settings: () => question<A.Settings>("/settings"),
  submission: (id: string) => question<A.SubmissionDetail>(`/submissions/${encodeURIComponent(id)}`),
};

/** Options that a choice lists at once, the most that the service sends. */
export const CHOICES = 500;

/** Lists that come in parts, by what the part before said is next. */
export const part = {
  members: (before?: string) => get<A.Members>("/members", { before }),
  invitations: (before?: string) => get<A.Invitations>("/members/invitations", { before }),
  projects: (state: "open" | "any", before?: string, limit?: number) =>
    get<A.Projects>("/projects", { state, before, limit }),
  keys: (state: "live" | "any", project?: string, before?: string, limit?: number) =>
    get<A.Keys>("/keys", { state, project, before, limit }),
  endpoints: (project?: string, before?: string) => get<A.Endpoints>("/endpoints", { project, before }),
  deliveries: (endpoint: string, before?: string) => get<A.Deliveries>("/deliveries", { endpoint, before }),
  audit: (account?: string, before?: string) => get<A.Audit>("/audit", { account, before, limit: 100 }),
  submissions: (search: Parameters, before?: string) =>
    get<A.Submissions>("/submissions", { ...search, before, limit: 50 }),
};

export const change = {
  signIn: (body: A.SignIn) => send<A.Session>("POST", "/session", body),
  signOut: () => send<void>("DELETE", "/session"),
  accept: (body: A.Acceptance) => send<A.Session>("POST", "/invitations/accept", body),
  me: (body: A.MyChanges) => send<A.Person>("PATCH", "/me", body),
  invite: (body: A.NewInvitation) => send<A.Link>("POST", "/members/invitations", body),
  withdraw: (id: string) => send<void>("DELETE", `/members/invitations/${id}`),
  reset: (id: string) => send<A.Link>("POST", `/members/${id}/reset`),
  member: (id: string, body: A.MemberChanges) => send<A.Member>("PATCH", `/members/${id}`, body),
  makeProject: (body: A.NewProject) => send<A.Project>("POST", "/projects", body),
  project: (id: string, body: A.ProjectChanges) => send<A.Project>("PATCH", `/projects/${id}`, body),
  makeKey: (body: A.NewKey) => send<A.MadeKey>("POST", "/keys", body),
  key: (id: string, body: A.KeyLimits) => send<A.Key>("PATCH", `/keys/${id}`, body),
  revokeKey: (id: string) => send<A.Key>("POST", `/keys/${id}/revoke`),
  rotateKey: (id: string, body: A.Rotation) => send<A.MadeKey>("POST", `/keys/${id}/rotate`, body),
  makeEndpoint: (body: A.NewEndpoint) => send<A.MadeEndpoint>("POST", "/endpoints", body),
  endpoint: (id: string, body: A.EndpointChanges) => send<A.Endpoint>("PATCH", `/endpoints/${id}`, body),
  rotateSecret: (id: string, rotation: A.Rotation) =>
    send<A.MadeEndpoint>("POST", `/endpoints/${id}/rotate-secret`, rotation),
  removeEndpoint: (id: string) => send<void>("DELETE", `/endpoints/${id}`),
  testEndpoint: (id: string) => send<A.Delivery>("POST", `/endpoints/${id}/test`),
  replayFailed: (id: string) => send<A.Replayed>("POST", `/endpoints/${id}/replay-failed`, {}),
  replay: (id: string) => send<A.Delivery>("POST", `/deliveries/${id}/replay`),
  tier: (name: string, body: Omit<A.Tier, "name">) => send<A.Tier>("PUT", `/tiers/${encodeURIComponent(name)}`, body),
  makeAccount: (body: A.NewAccount) => send<A.Account>("POST", "/accounts", body),
  suspend: (id: string) => send<A.Account>("POST", `/accounts/${id}/suspend`),
  resume: (id: string) => send<A.Account>("POST", `/accounts/${id}/resume`),
  dropPending: (id: string) => send<A.Dropped>("POST", `/accounts/${id}/drop-pending`),
  submit: (body: A.NewSubmission) => send<A.Accepted>("POST", "/submissions", body),
  again: (id: string) => send<A.Accepted>("POST", `/submissions/${encodeURIComponent(id)}/again`),
  account: (id: string, body: A.AccountChanges) => send<A.Account>("PATCH", `/accounts/${id}`, body),
};

function question<T>(path: string, parameters: Parameters = {}) {
  return queryOptions({
    queryKey: [path, parameters],
    queryFn: ({ signal }) => get<T>(path, parameters, signal),
  });
}

function get<T>(path: string, parameters: Parameters = {}, signal?: AbortSignal): Promise<T> {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) search.set(name, String(value));
  const query = search.size === 0 ? "" : `?${search}`;
  return fetched<T>(`${API}${path}${query}`, signal ? { signal } : {});
}

/** With a body always: what has a type of JSON cannot come from a form of another site. */
function send<T>(method: string, path: string, body: unknown = {}): Promise<T> {
  const headers = { "content-type": "application/json" };
  return fetched<T>(`${API}${path}`, { method, headers, body: JSON.stringify(body) });
}

async function fetched<T>(path: string, init: RequestInit): Promise<T> {
  const answer = await fetch(path, init).catch((error: Error) => {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, "the service does not answer");
  });
  const text = await answer.text();
  if (answer.ok) return (text === "" ? undefined : JSON.parse(text)) as T;
  throw new Refusal(answer.status, refusalIn(text) ?? `the service answered with status ${answer.status}`);
}

function refusalIn(text: string): string | undefined {
  try {
    return (JSON.parse(text) as A.Problem).error;
  } catch {
    // A proxy in between answers with a page of its own: there the status is all that can be told.
    return undefined;
  }
}
