import type { AuditActor } from "../domain/audit.ts";
import { type NetworkBound, type NetworkBoundJson, parseNetworkBound, toBoundJson } from "../domain/egress/bound.ts";
import type { EgressHost } from "../domain/egress/egress-record.ts";
import { type NetworkPolicy, PolicyError, toNetworkJson } from "../domain/egress/policy.ts";
import type { BoundChanged, BoundOwner, StoredBound } from "../store/egress/bounds.ts";
import type { EgressHostOfDay } from "../store/egress/hosts.ts";
import type { EgressTotals } from "../store/egress/totals.ts";
import type { Store } from "../store/store.ts";
import { findAccount } from "./accounts.ts";
import { AdminError } from "./error.ts";
import { findProject } from "./projects.ts";

/** An account or a project, by name or id; with both, the project of that account. */
export interface WhoseNetwork {
  readonly account?: string | undefined;
  readonly project?: string | undefined;
}

/** What the operator permits the sandboxes of an account or project. */
export interface NetworkView {
  readonly account: string;
  /** Null: the bound is that of the account. */
  readonly project: string | null;
  /** Its own bound; null: it has none. */
  readonly bound: (NetworkBoundJson & { readonly version: number; readonly changed_at: string }) | null;
  /** What its sandboxes may reach at most, with the bound of the account. */
  readonly effective: NetworkBoundJson["policy"];
  /** What is left of the present day (UTC); null: there is no such bound. */
  readonly today: {
    readonly date: string;
    readonly bytes_up_left: number | null;
    readonly bytes_down_left: number | null;
  };
}

interface Named extends BoundOwner {
  readonly accountName: string;
  readonly projectName: string | null;
}

/** @throws AdminError if neither is given, or there is no such account or project. */
export async function ownerOfNetwork(store: Store, { account, project }: WhoseNetwork): Promise<Named> {
  if (project !== undefined) {
    const { id, accountId, accountName, name } = await findProject(store, project, account);
    return { accountId, projectId: id, accountName, projectName: name };
  }
  if (account === undefined) throw new AdminError("name an account or a project");
  const { id, name } = await findAccount(store, account);
  return { accountId: id, projectId: null, accountName: name, projectName: null };
}

/** @throws AdminError as ownerOfNetwork. */
export async function showNetwork(store: Store, which: WhoseNetwork): Promise<NetworkView> {
  const { accountId, projectId, accountName, projectName } = await ownerOfNetwork(store, which);
  const effective = await store.egress.bound(accountId, projectId);
  const own = projectId === null ? effective.account : effective.project;
  const { day, up, down } = await store.egress.leftToday(effective);
  return {
    account: accountName,
    project: projectName,
    bound: own && viewOf(own),
    effective: toNetworkJson(effective.policy),
    today: { date: day, bytes_up_left: up, bytes_down_left: down },
  };
}

function viewOf(bound: StoredBound) {
  return { version: bound.version, changed_at: new Date(bound.changedAtMs).toISOString(), ...toBoundJson(bound) };
}

/** All bounds, by the names of their owners. @param accountIds only those of these accounts; null for all. */
export async function listNetworks(store: Store, accountIds: readonly string[] | null = null) {
  return (await store.egress.bounds(accountIds)).map((bound) => ({
    account: bound.accountName,
    project: bound.projectName,
    bound: viewOf(bound),
  }));
}

/**
 * Sets the bound of an account or project. It holds for new sandboxes at once, and narrows those that live.
 * @param value JSON of a bound (networkBoundSchema).
 * @returns how many living sandboxes were narrowed.
 * @throws AdminError if the value is not a bound, or that of a project is not within that of its account; and as ownerOfNetwork.
 */
export async function setNetwork(
  store: Store,
  which: WhoseNetwork,
  value: unknown,
  actor: AuditActor,
): Promise<{ readonly narrowed: number }> {
  const owner = await ownerOfNetwork(store, which);
  const upper = owner.projectId === null ? null : (await store.egress.bound(owner.accountId, null)).policy;
  const bound = boundOf(value, upper);
  return changed(await store.egress.setBound(owner, bound, actor));
}

/** Removes a bound: an account then has no network, and a project that of its account. @throws AdminError as ownerOfNetwork. */
export async function clearNetwork(
  store: Store,
  which: WhoseNetwork,
  actor: AuditActor,
): Promise<{ readonly narrowed: number }> {
  return changed(await store.egress.clearBound(await ownerOfNetwork(store, which), actor));
}

function boundOf(value: unknown, upper: NetworkPolicy | null): NetworkBound {
  try {
    return parseNetworkBound(value, upper);
  } catch (error) {
    throw error instanceof PolicyError ? new AdminError(error.message) : error;
  }
}

function changed(change: BoundChanged): { readonly narrowed: number } {
  if (change.kind === "changed") return { narrowed: change.narrowed };
  if (change.kind === "unknown") throw new AdminError("there is no such account or project");
  throw new AdminError(`the bound is not within that of the account: ${change.reason}`);
}

/** The most names in a list, and of days from the first to the last. */
export const MAX_HOSTS = 1_000;
const DAY_MS = 86_400_000;
/** The days of a list that names no first one. */
const USUAL_DAYS = 7;

export interface HostsWanted extends WhoseNetwork {
  readonly decision?: EgressHost["decision"] | undefined;
  /** As in 2026-11-30. By default, the last seven days. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly max?: number | undefined;
  /** `next` of the page before. */
  readonly after?: string | undefined;
}

/** What the sandboxes of an account or project have reached, or tried to. Programs have chosen the names. */
export interface HostsView {
  readonly hosts: readonly EgressHostOfDay[];
  /** Null: there is nothing more. */
  readonly next: string | null;
}

/**
 * What the sandboxes of an account, or of one project of it, have reached: newest day first, and by project, name and decision.
 * @param nowMs since the epoch. @throws AdminError if a day or the cursor is not valid; and as ownerOfNetwork.
 */
export async function listHosts(
  store: Store,
  { decision, from, to, max = 100, after, ...which }: HostsWanted,
  nowMs: number,
): Promise<HostsView> {
  const { accountId, projectId } = await ownerOfNetwork(store, which);
  const days = daysOf({ from, to }, nowMs);
  if (!Number.isSafeInteger(max) || max < 1 || max > MAX_HOSTS)
    throw new AdminError(`a page has 1 to ${MAX_HOSTS} names`);
  const hosts = await store.egress.hosts({
    accountId,
    ...(projectId !== null && { projectId }),
    decision,
    ...days,
    after: after === undefined ? undefined : fromCursor(after),
    max,
  });
  const last = hosts.at(-1);
  return { hosts, next: last && hosts.length === max ? toCursor(last) : null };
}

/** The days of a list. @throws AdminError if one is not a day. */
function daysOf({ from, to }: Pick<HostsWanted, "from" | "to">, nowMs: number) {
  const toDay = checkDay(to ?? dayText(nowMs));
  const fromDay = checkDay(from ?? dayText(Date.parse(toDay) - (USUAL_DAYS - 1) * DAY_MS));
  return { fromDay, toDay };
}

/** The sums of `listHosts` for each day, the newest first. */
export interface TotalsView {
  readonly from: string;
  readonly to: string;
  readonly days: readonly EgressTotals[];
}

/** @param nowMs since the epoch. @throws AdminError as listHosts. */
export async function listTotals(
  store: Store,
  { from, to, ...which }: Omit<HostsWanted, "decision" | "max" | "after">,
  nowMs: number,
): Promise<TotalsView> {
  const { accountId, projectId } = await ownerOfNetwork(store, which);
  const days = daysOf({ from, to }, nowMs);
  const totals = await store.egress.totals({ accountId, ...(projectId !== null && { projectId }), ...days });
  return { from: days.fromDay, to: days.toDay, days: totals };
}

function dayText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function checkDay(text: string): string {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms) || dayText(ms) !== text)
    throw new AdminError(`${JSON.stringify(text.slice(0, 20))} is no day such as 2026-11-30`);
  return text;
}

type Cursor = Pick<EgressHostOfDay, "day" | "projectId" | "name" | "decision">;

/** The place after an entry, which is a text without spaces: no name has one. */
function toCursor({ day, projectId, name, decision }: Cursor): string {
  return [day, projectId ?? "", name ?? "", decision].join(" ");
}

function fromCursor(text: string): Cursor {
  const [day, projectId, name, decision, ...more] = text.split(" ");
  const isValid = day !== undefined && (decision === "allowed" || decision === "denied") && more.length === 0;
  if (!isValid || text.length > 500) throw new AdminError("that is not the `next` of a list of hosts");
  return {
    day,
    projectId: projectId === "" || projectId === undefined ? null : projectId,
    name: name === "" || name === undefined ? null : name,
    decision,
  };
}
