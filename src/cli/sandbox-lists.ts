import type { ExecutionSummary, Sandbox, SandboxEgressReport, Snapshot } from "../../client/typescript/src/types.ts";
import { escaped, table, toJson } from "./answer.ts";
import { answered, connection } from "./sandbox-connection.ts";

/** The most entries of a page, which the service bounds. */
const PAGE = 100;

interface Paging {
  readonly before?: string;
  readonly limit: number;
}

/** All entries of a list of the service, page by page. */
async function* paged<Page extends { readonly next: string | null }, Entry>(
  read: (paging: Paging) => Promise<Page>,
  entriesOf: (page: Page) => readonly Entry[],
): AsyncGenerator<Entry> {
  for (let before: string | null | undefined; before !== null; ) {
    const page = await answered(read({ limit: PAGE, ...(before !== undefined && { before }) }));
    yield* entriesOf(page);
    before = page.next;
  }
}

/** Prints entries as they arrive: a line of JSON, or columns. Texts of programs and clients cannot move the cursor of a terminal. */
async function print<Entry>(
  entries: AsyncIterable<Entry> | Iterable<Entry>,
  json: boolean | undefined,
  columns: (entry: Entry) => readonly unknown[],
): Promise<void> {
  for await (const entry of entries) {
    const line = json ? toJson(entry) : columns(entry).map(cell).join("  ");
    process.stdout.write(`${line}\n`);
  }
}

function cell(value: unknown): string {
  return escaped(value === null || value === "" ? "-" : String(value));
}

export interface WhichSandboxes {
  readonly state?: Sandbox["state"];
  readonly metadata?: Readonly<Record<string, string>>;
  /** Also those that have ended. */
  readonly all?: boolean;
  readonly json?: boolean;
}

/**
 * The states of a sandbox that lives, as they are asked for. Filtered lists do not read the many sandboxes that have ended. A sandbox that
 * is resumed between two lists would be in neither, so those that run are asked for again.
 */
const LIVING = ["creating", "running", "paused", "running"] as const;

export async function listSandboxes({ state, metadata, all, json }: WhichSandboxes): Promise<void> {
  const { client } = connection();
  const having = metadata === undefined ? {} : { metadata: new URLSearchParams(metadata).toString() };
  const inState = (wanted: Sandbox["state"] | undefined) =>
    paged(
      (paging) => client.sandboxes({ ...paging, ...having, ...(wanted !== undefined && { state: wanted }) }),
      ({ sandboxes }) => sandboxes,
    );
  const columns = ({ id, state: now, end_reason: reason, timestamps, metadata: pairs }: Sandbox) => [
    ...[id, now, reason, timestamps.created_at],
    ...Object.entries(pairs).map(([name, value]) => `${name}=${value}`),
  ];
  if (all || state !== undefined) return await print(inState(state), json, columns);
  const living = new Map<string, Sandbox>();
  for (const wanted of LIVING) for await (const sandbox of inState(wanted)) living.set(sandbox.id, sandbox);
  const createdAt = ({ timestamps }: Sandbox) => Date.parse(timestamps.created_at);
  await print(
    [...living.values()].sort((one, other) => createdAt(other) - createdAt(one)),
    json,
    columns,
  );
}

export async function listSnapshots({ json }: { readonly json?: boolean }): Promise<void> {
  const snapshots = paged(
    (paging) => connection().client.snapshots(paging),
    (page) => page.snapshots,
  );
  await print(snapshots, json, ({ id, bytes, files, created_at: createdAt, sandbox_id: of, name }: Snapshot) => [
    ...[id, bytes, files, createdAt, of],
    ...(name === null ? [] : [name]),
  ]);
}

export async function listExecutions(id: string, { json }: { readonly json?: boolean }): Promise<void> {
  const executions = paged(
    (paging) => connection().client.executions(id, paging),
    (page) => page.executions,
  );
  await print(executions, json, (one: ExecutionSummary) => {
    const { number, kind, status, verdict, started_at: startedAt, completed_at: completedAt, terminal } = one;
    const how = terminal ? "terminal" : one.background ? "background" : kind;
    const what = one.shell ?? one.argv?.join(" ") ?? one.language;
    return [number, verdict ?? status, startedAt, completedAt, how, what];
  });
}

/** What a sandbox has reached, for people. Programs have chosen the names. */
export function egressText({ egress }: SandboxEgressReport): string {
  if (egress === null) return "nothing is known: the sandbox has no network, or its machine was lost";
  const { policy_version: version, bytes_up: up, bytes_down: down, budget_left: left, denied, dns } = egress;
  const facts = [
    `version ${version} of the policy; ${up} bytes up and ${down} down, ${left.up} and ${left.down} are left`,
    `${denied} connections denied; ${dns.answered} names answered and ${dns.refused} refused`,
  ];
  const rows = egress.hosts.map((host) => [
    ...[host.decision, host.name ?? "(others)"],
    ...[host.connections, host.bytes_up, host.bytes_down].map(String),
  ]);
  return [...facts, table(["DECISION", "NAME", "CONNECTIONS", "UP", "DOWN"], rows)].join("\n");
}

/** Every field of a record with its value, one a line; the name of a field has the names of those around it. */
export function factsOf(value: unknown, name = ""): string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return [`${escaped(name)}  ${typeof value === "string" ? escaped(value) : toJson(value)}`];
  return Object.entries(value).flatMap(([field, inner]) => factsOf(inner, name === "" ? field : `${name}.${field}`));
}
