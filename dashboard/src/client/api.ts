import { queryOptions } from "@tanstack/react-query";
import type { Audit } from "../../../src/http/dashboard/api/audit.ts";
import type { Topic } from "../../../src/http/dashboard/api/changes.ts";
import type { Deliveries, DeliveryResource, SentBody } from "../../../src/http/dashboard/api/deliveries.ts";
import type {
  Endpoint,
  EndpointChanges,
  Endpoints,
  Failing,
  MadeEndpoint,
  NewEndpoint,
  Replayed,
  Replays,
} from "../../../src/http/dashboard/api/endpoints.ts";
import type { FirstSteps } from "../../../src/http/dashboard/api/first-steps.ts";
import type {
  Cancelled,
  ComparedExpectations,
  ExpectationsToCompare,
  JudgementDetail,
  Judgements,
  NewJudgement,
  TestDetail,
} from "../../../src/http/dashboard/api/judgements.ts";
import type { KeyLimits, KeyResource, Keys, MadeKey, NewKey, Rotation } from "../../../src/http/dashboard/api/keys.ts";
import type { Language } from "../../../src/http/dashboard/api/languages.ts";
import type { Total } from "../../../src/http/dashboard/api/lists.ts";
import type {
  Invitations,
  MadeLink,
  Member,
  MemberChanges,
  Members,
  NewInvitation,
} from "../../../src/http/dashboard/api/members.ts";
import type { Hosts, Network, NetworkBound, ProjectBounds, Totals } from "../../../src/http/dashboard/api/network.ts";
import type { Node } from "../../../src/http/dashboard/api/nodes.ts";
import type { Health, Now, Overview, UsageHistory } from "../../../src/http/dashboard/api/overview.ts";
import type { Problem } from "../../../src/http/dashboard/api/problem.ts";
import type { ImportedProblem, ProblemDetail, ProblemList } from "../../../src/http/dashboard/api/problems.ts";
import type { NewProject, Project, ProjectChanges, Projects } from "../../../src/http/dashboard/api/projects.ts";
import type {
  CreatedSandbox,
  ExecutionDetail,
  Executions,
  FileList,
  FileMove,
  FilePath,
  FileRemoval,
  FileText,
  NewSandbox,
  NewSnapshot,
  NewTerminal,
  SandboxDetail,
  SandboxEgress,
  SandboxList,
  SandboxOffer,
  SandboxTimes,
  SnapshotList,
  StartedTerminal,
  TakenSnapshot,
  UsageSamples,
} from "../../../src/http/dashboard/api/sandboxes.ts";
import type {
  Acceptance,
  MyChanges,
  OneTimeLink,
  Person,
  Session,
  SignIn,
} from "../../../src/http/dashboard/api/session.ts";
import type {
  AccountChanges,
  AccountResource,
  Dropped,
  NewAccount,
  Settings,
  Tier,
} from "../../../src/http/dashboard/api/settings.ts";
import type {
  Accepted,
  Cancelled as CancelledRun,
  NewSubmission,
  SubmissionDetail,
  Submissions,
} from "../../../src/http/dashboard/api/submissions.ts";
import { markReachable, markUnreachable } from "./connection.ts";
import { cacheAnswer, cachedAnswer } from "./etag-cache.ts";

/**
 * The client of the dashboard's API. `queries` are requests whose answers TanStack Query caches, usually by path and
 * parameters. `fetchPage` requests a page of a list. `mutations` change something.
 */

/** A request that failed. Pages show its message. The status is 0 if there was no response. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, text: string) {
    super(text);
    this.status = status;
  }
}

/** Whether the service answered that an id or a one-time link is unknown or invalid. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 404 || error.status === 400);
}

/** Whether the service did not answer, which every page shows (shell/offline-notice.tsx). */
export function isUnreachable(error: unknown): boolean {
  return error instanceof ApiError && error.status === 0;
}

export const API = "/dashboard/api";
const UNREACHABLE = "the service is unreachable";

type Parameters = Readonly<Record<string, string | number | undefined>>;

export const queries = {
  session: () => getQuery<Session>("/session"),
  /** Sends the token by POST, because a token in a path would be in the logs of proxies. */
  invitation: (token: string) =>
    queryOptions({
      queryKey: ["/invitations/look", token],
      queryFn: () => send<OneTimeLink>("POST", "/invitations/look", { token }),
    }),
  overview: (which: Parameters) => getQuery<Overview>("/overview", which, ["totals"]),
  usage: (which: Parameters) => getQuery<UsageHistory>("/use", which, ["totals"]),
  latestRuns: (which: Parameters) => getQuery<Submissions>("/submissions", which, ["runs"]),
  firstSteps: (account?: string) => getQuery<FirstSteps>("/first-steps", { account }, ["settings", "runs"]),
  now: (account?: string) => getQuery<Now>("/overview/now", { account }, ["runs", "deliveries", "health"]),
  health: () => getQuery<Health>("/health", {}, ["health"]),
  key: (id: string) => getQuery<KeyResource>(`/keys/${encodeURIComponent(id)}`, {}, ["settings", "usage"]),
  project: (id: string) => getQuery<Project>(`/projects/${encodeURIComponent(id)}`, {}, ["settings"]),
  endpoint: (id: string) => getQuery<Endpoint>(`/endpoints/${encodeURIComponent(id)}`, {}, ["settings", "deliveries"]),
  failingEndpoints: () => getQuery<Failing>("/endpoints/failing", {}, ["settings", "deliveries"]),
  /** The body of a delivery, which is the same in every attempt. */
  sentBody: (delivery: string) =>
    queryOptions({ ...getQuery<SentBody>(`/deliveries/${delivery}/body`), staleTime: Number.POSITIVE_INFINITY }),
  languages: () => getQuery<readonly Language[]>("/languages", {}, ["health"]),
  nodes: () => getQuery<readonly Node[]>("/nodes", {}, ["nodes", "runs"]),
  settings: () => getQuery<Settings>("/settings"),
  judgement: (id: string) => getQuery<JudgementDetail>(`/judgements/${encodeURIComponent(id)}`),
  problem: (id: string) => getQuery<ProblemDetail>(`/problems/${encodeURIComponent(id)}`),
  /**
   * @param state The state of the test. It is part of the cache key, because the answer contains the run as soon as the test has
   * ended.
   */
  test: (id: string, test: number, state: string) =>
    queryOptions({
      queryKey: ["/judgements/tests", id, test, state],
      queryFn: ({ signal }) => get<TestDetail>(`/judgements/${encodeURIComponent(id)}/tests/${test}`, {}, signal),
    }),
  sandbox: (id: string) => getQuery<SandboxDetail>(`/sandboxes/${encodeURIComponent(id)}`),
  /** What a sandbox has reached over the network. */
  sandboxEgress: (id: string) => getQuery<SandboxEgress>(`/sandboxes/${encodeURIComponent(id)}/egress`),
  /** The network bound of an account or a project. */
  network: (owner: NetworkOwner) => getQuery<Network>(networkOf(owner), {}, ["settings"]),
  projectBounds: (account: string) =>
    getQuery<ProjectBounds>(`/accounts/${encodeURIComponent(account)}/bounds`, {}, ["settings"]),
  egressTotals: (owner: NetworkOwner, days: Parameters) =>
    getQuery<Totals>(`/${owner.what}/${encodeURIComponent(owner.id)}/egress`, days),
  sandboxOffer: () => queryOptions({ ...getQuery<SandboxOffer>("/sandboxes/offer"), staleTime: 60_000 }),
  execution: (id: string, number: number) =>
    getQuery<ExecutionDetail>(`/sandboxes/${encodeURIComponent(id)}/executions/${number}`),
  usageSamples: (id: string) => getQuery<UsageSamples>(`/sandboxes/${encodeURIComponent(id)}/samples`),
  fileText: (id: string, path: string) => getQuery<FileText>(`${filesOf(id)}/text`, { path }),
  /** Compares an ended judgement, which does not change, with what the package expects. */
  comparison: (id: string, body: ExpectationsToCompare) =>
    queryOptions({
      queryKey: ["/judgements/compare", id],
      queryFn: () => send<ComparedExpectations>("POST", `/judgements/${encodeURIComponent(id)}/compare`, body),
      staleTime: Number.POSITIVE_INFINITY,
    }),
  deliveriesOf: (id: string) =>
    getQuery<readonly DeliveryResource[]>(`/submissions/${encodeURIComponent(id)}/deliveries`, {}, ["deliveries"]),
  /** A file of the program, which does not change. */
  programFile: (id: string, path: string) =>
    queryOptions({
      queryKey: ["/submissions/file", id, path],
      queryFn: ({ signal }) => getText(addressOf(`/submissions/${encodeURIComponent(id)}/file`, { path }), signal),
      staleTime: Number.POSITIVE_INFINITY,
    }),
  submission: (id: string) => getQuery<SubmissionDetail>(`/submissions/${encodeURIComponent(id)}`),
  total: (list: "/submissions" | "/judgements", search: Parameters) =>
    getQuery<Total>(`${list}/total`, search, ["totals"]),
};

/** Number of options that a select requests at once: the maximum page size of the API. */
export const MAX_OPTIONS = 500;

/** Requests for pages of lists. For the first page, `before` is absent; for the next one, it is the `next` of the page before. */
export const fetchPage = {
  members: (before?: string) => get<Members>("/members", { before }),
  invitations: (before?: string) => get<Invitations>("/members/invitations", { before }),
  projects: (state: "open" | "any", before?: string, limit?: number) =>
    get<Projects>("/projects", { state, before, limit }),
  keys: (which: Parameters) => get<Keys>("/keys", which),
  endpoints: (project?: string, before?: string) => get<Endpoints>("/endpoints", { project, before }),
  deliveries: (endpoint: string, before?: string) => get<Deliveries>("/deliveries", { endpoint, before }),
  audit: (search: Parameters, before?: string) => get<Audit>("/audit", { ...search, before, limit: 100 }),
  submissions: (search: Parameters, before?: string, limit = 50) =>
    get<Submissions>("/submissions", { ...search, before, limit }),
  judgements: (search: Parameters, before?: string) => get<Judgements>("/judgements", { ...search, before }),
  problems: (account?: string, before?: string, limit?: number) =>
    get<ProblemList>("/problems", { account, before, limit }),
  sandboxes: (search: Parameters, before?: string) => get<SandboxList>("/sandboxes", { ...search, before, limit: 50 }),
  snapshots: (search: Parameters, before?: string) => get<SnapshotList>("/snapshots", { ...search, before }),
  executions: (id: string, before: string) =>
    get<Executions>(`/sandboxes/${encodeURIComponent(id)}/executions`, { before }),
  hosts: (owner: NetworkOwner, which: Parameters, after?: string) =>
    get<Hosts>(`/${owner.what}/${encodeURIComponent(owner.id)}/hosts`, { ...which, after }),
  files: (id: string, path: string, after?: string) => get<FileList>(filesOf(id), { path, after }),
};

export const mutations = {
  signIn: (body: SignIn) => send<Session>("POST", "/session", body),
  signOut: () => send<void>("DELETE", "/session"),
  accept: (body: Acceptance) => send<Session>("POST", "/invitations/accept", body),
  me: (body: MyChanges) => send<Person>("PATCH", "/me", body),
  invite: (body: NewInvitation) => send<MadeLink>("POST", "/members/invitations", body),
  withdraw: (id: string) => send<void>("DELETE", `/members/invitations/${id}`),
  reset: (id: string) => send<MadeLink>("POST", `/members/${id}/reset`),
  member: (id: string, body: MemberChanges) => send<Member>("PATCH", `/members/${id}`, body),
  makeProject: (body: NewProject) => send<Project>("POST", "/projects", body),
  project: (id: string, body: ProjectChanges) => send<Project>("PATCH", `/projects/${id}`, body),
  makeKey: (body: NewKey) => send<MadeKey>("POST", "/keys", body),
  key: (id: string, body: KeyLimits) => send<KeyResource>("PATCH", `/keys/${id}`, body),
  revokeKey: (id: string) => send<KeyResource>("POST", `/keys/${id}/revoke`),
  rotateKey: (id: string, body: Rotation) => send<MadeKey>("POST", `/keys/${id}/rotate`, body),
  makeEndpoint: (body: NewEndpoint) => send<MadeEndpoint>("POST", "/endpoints", body),
  endpoint: (id: string, body: EndpointChanges) => send<Endpoint>("PATCH", `/endpoints/${id}`, body),
  rotateSecret: (id: string, rotation: Rotation) =>
    send<MadeEndpoint>("POST", `/endpoints/${id}/rotate-secret`, rotation),
  removeEndpoint: (id: string) => send<void>("DELETE", `/endpoints/${id}`),
  testEndpoint: (id: string) => send<DeliveryResource>("POST", `/endpoints/${id}/test`),
  replayFailed: (id: string, times: Replays) => send<Replayed>("POST", `/endpoints/${id}/replay-failed`, times),
  replay: (id: string) => send<DeliveryResource>("POST", `/deliveries/${id}/replay`),
  tier: (name: string, body: Omit<Tier, "name">) => send<Tier>("PUT", `/tiers/${encodeURIComponent(name)}`, body),
  makeAccount: (body: NewAccount) => send<AccountResource>("POST", "/accounts", body),
  suspend: (id: string) => send<AccountResource>("POST", `/accounts/${id}/suspend`),
  resume: (id: string) => send<AccountResource>("POST", `/accounts/${id}/resume`),
  dropPending: (id: string) => send<Dropped>("POST", `/accounts/${id}/drop-pending`),
  submit: (body: NewSubmission) => send<Accepted>("POST", "/submissions", body),
  again: (id: string) => send<Accepted>("POST", `/submissions/${encodeURIComponent(id)}/again`),
  cancelSubmission: (id: string) => send<CancelledRun>("POST", `/submissions/${encodeURIComponent(id)}/cancel`),
  judge: (body: NewJudgement) => send<Accepted>("POST", "/judgements", body),
  rejudge: (id: string) => send<Accepted>("POST", `/judgements/${encodeURIComponent(id)}/rejudge`),
  cancelJudgement: (id: string) => send<Cancelled>("POST", `/judgements/${encodeURIComponent(id)}/cancel`),
  changeSandbox: (id: string, change: "pause" | "resume" | "end") =>
    send<SandboxDetail>("POST", `/sandboxes/${encodeURIComponent(id)}/${change}`),
  createSandbox: (body: NewSandbox) => send<CreatedSandbox>("POST", "/sandboxes", body),
  sandboxTimes: (id: string, body: SandboxTimes) =>
    send<SandboxDetail>("PATCH", `/sandboxes/${encodeURIComponent(id)}`, body),
  killExecution: (id: string, number: number) =>
    send<ExecutionDetail>("POST", `/sandboxes/${encodeURIComponent(id)}/executions/${number}/kill`),
  takeSnapshot: (id: string, body: NewSnapshot) =>
    send<TakenSnapshot>("POST", `/sandboxes/${encodeURIComponent(id)}/snapshots`, body),
  deleteSnapshot: (id: string) => send<void>("DELETE", `/snapshots/${encodeURIComponent(id)}`),
  startTerminal: (id: string, size: NewTerminal) =>
    send<StartedTerminal>("POST", `/sandboxes/${encodeURIComponent(id)}/terminals`, size),
  makeDirectory: (id: string, body: FilePath) => send<unknown>("POST", `${filesOf(id)}/directories`, body),
  moveFile: (id: string, body: FileMove) => send<unknown>("POST", `${filesOf(id)}/move`, body),
  removeFile: (id: string, body: FileRemoval) => send<unknown>("POST", `${filesOf(id)}/remove`, body),
  /** @param replace whether a file with this path is replaced. */
  writeFile: (id: string, path: string, bytes: Blob, replace: boolean, progress: Progress) => {
    const to = `${filesOf(id)}/content${queryOf({ path, replace: String(replace) })}`;
    return upload<unknown>({ method: "PUT", path: to, type: "application/octet-stream" }, bytes, progress);
  },
  importProblem: (archive: Blob, options: Parameters, progress: Progress) => {
    const to = { method: "POST", path: `/problems${queryOf(options)}`, type: "application/zip" };
    return upload<ImportedProblem>(to, archive, progress);
  },
  deleteProblem: (id: string) => send<void>("DELETE", `/problems/${encodeURIComponent(id)}`),
  setNetwork: (owner: NetworkOwner, bound: NetworkBound) => send<Network>("PUT", networkOf(owner), bound),
  clearNetwork: (owner: NetworkOwner) => send<Network>("DELETE", networkOf(owner)),
  account: (id: string, body: AccountChanges) => send<AccountResource>("PATCH", `/accounts/${id}`, body),
};

/** Whose network it is. */
export interface NetworkOwner {
  readonly what: "accounts" | "projects";
  readonly id: string;
}

const networkOf = ({ what, id }: NetworkOwner) => `/${what}/${encodeURIComponent(id)}/network`;
const filesOf = (id: string) => `/sandboxes/${encodeURIComponent(id)}/files`;

/** @param topics The answer is requested again when one of these topics changes (changes.ts). */
function getQuery<T>(path: string, parameters: Parameters = {}, topics: readonly Topic[] = []) {
  return queryOptions({
    queryKey: [path, parameters],
    queryFn: ({ signal }) => get<T>(path, parameters, signal),
    meta: { topics },
  });
}

export type ApiQuery<T> = ReturnType<typeof getQuery<T>>;

/** The address of an endpoint of the dashboard's API. */
export function addressOf(path: string, parameters: Parameters = {}): string {
  return `${API}${path}${queryOf(parameters)}`;
}

async function get<T>(path: string, parameters: Parameters = {}, signal?: AbortSignal): Promise<T> {
  const address = addressOf(path, parameters);
  const before = cachedAnswer(address);
  const response = await sendRequest(address, {
    ...(signal && { signal }),
    ...(before && { headers: { "if-none-match": before.tag } }),
  });
  const isKnown = response.status === 304 && before !== undefined;
  const text = isKnown ? "" : await textOf(response);
  const data = isKnown ? (before.data as T) : parseAnswer<T>(response.status, text);
  const tag = response.headers.get("etag");
  if (tag) cacheAnswer(address, isKnown ? before : { tag, data, length: text.length });
  return data;
}

async function getText(address: string, signal: AbortSignal): Promise<string> {
  const answer = await sendRequest(address, { signal });
  const text = await textOf(answer);
  return answer.ok ? text : parseAnswer(answer.status, text);
}

function queryOf(parameters: Parameters): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) search.set(name, String(value));
  return search.size === 0 ? "" : `?${search}`;
}

/** Sends a request with a JSON body. A form of another site cannot send such a request. */
function send<T>(method: string, path: string, body: unknown = {}): Promise<T> {
  const headers = { "content-type": "application/json" };
  return sendAndParse<T>(`${API}${path}`, { method, headers, body: JSON.stringify(body) });
}

async function sendAndParse<T>(path: string, init: RequestInit): Promise<T> {
  const answer = await sendRequest(path, init);
  return parseAnswer<T>(answer.status, await textOf(answer));
}

/** Statuses that a proxy returns if the service did not answer it. */
const GATEWAY_FAILURES = [502, 504];

async function sendRequest(path: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(path, init).catch(throwUnreachable);
  if (GATEWAY_FAILURES.includes(answer.status)) markUnreachable();
  else markReachable();
  return answer;
}

/** Reads the body. The connection can also be lost while it is read. */
function textOf(answer: Response): Promise<string> {
  return answer.text().catch(throwUnreachable);
}

function throwUnreachable(error: Error): never {
  if (error.name === "AbortError") throw error;
  markUnreachable();
  throw new ApiError(0, UNREACHABLE);
}

interface Progress {
  /** Called with the share of the bytes that has been sent, from 0 to 1. */
  readonly onSent: (share: number) => void;
  /** Cancels the upload. */
  readonly signal: AbortSignal;
}

/** Uploads by XMLHttpRequest, because `fetch` does not report the progress of a body. */
function upload<T>(
  { method, path, type }: { readonly method: string; readonly path: string; readonly type: string },
  bytes: Blob,
  { onSent, signal }: Progress,
): Promise<T> {
  const request = new XMLHttpRequest();
  const ended = new Promise<T>((resolve, reject) => {
    request.onload = () => {
      try {
        resolve(parseAnswer<T>(request.status, request.responseText));
      } catch (error) {
        reject(error);
      }
    };
    request.onerror = () => reject(new ApiError(0, UNREACHABLE));
    request.onabort = () => reject(new ApiError(0, "the upload was cancelled"));
  });
  signal.onabort = () => request.abort();
  request.upload.onprogress = ({ loaded, total }) => onSent(total > 0 ? loaded / total : 1);
  request.open(method, `${API}${path}`);
  request.setRequestHeader("content-type", type);
  request.send(bytes);
  return ended;
}

function parseAnswer<T>(status: number, text: string): T {
  if (status >= 200 && status < 300) return (text === "" ? undefined : JSON.parse(text)) as T;
  throw new ApiError(status, errorIn(text) ?? `the service returned status ${status}`);
}

function errorIn(text: string): string | undefined {
  try {
    return (JSON.parse(text) as Problem).error;
  } catch {
    // A proxy returned a page of its own: only the status is known.
    return undefined;
  }
}
