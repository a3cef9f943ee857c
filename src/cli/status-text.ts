import { escaped } from "./answer.ts";
import type { StatusPage } from "./operator-pages.ts";

const DAY_MS = 86_400_000;

/** The status as text, with a line for each subject. Problems are in capitals. */
export function statusText(page: StatusPage, nowMs: number): string {
  const lines: [string, string][] = [
    ["workers", workers(page)],
    ...runtimes(page),
    ["queue", queue(page)],
    ["running", running(page)],
    ...accounts(page),
    ["ended", ended(page)],
    ...sandboxes(page),
    ...network(page),
    ...snapshots(page),
    ["webhooks", webhooks(page)],
    ["database", page.database ? `responds in ${page.database.latencyMs.toFixed(1)} ms` : "UNAVAILABLE"],
    ["disk", disk(page)],
    ["certificate", certificate(page, nowMs)],
    ["languages", page.engine.languages.join(" ") || "NONE is verified"],
  ];
  const details = lines.map(([name, text]) => `  ${name.padEnd(11)}  ${escaped(text)}\n`).join("");
  return `${escaped(`Assay ${page.version}: ${readiness(page, nowMs)}`)}\n${details}`;
}

function readiness({ engine }: StatusPage, nowMs: number): string {
  if (engine.ready) return "ready, every control is verified";
  const since = engine.readyAtMs === null ? "never ready" : `last ready ${span(nowMs - engine.readyAtMs)} ago`;
  const why = engine.failures.map(({ name, detail, fault }) => `${name}: ${fault ?? detail}`).join("; ");
  return `NOT READY, ${since}: ${why}`;
}

function workers({ engine, slots }: StatusPage): string {
  if (!slots) return `${engine.workers} elsewhere`;
  const { wanted, alive, busy } = slots;
  return `${engine.workers}; slots here: ${alive} of ${wanted} open${alive < wanted ? " (SLOTS LOST)" : ""}, ${busy} busy`;
}

function runtimes({ slots }: StatusPage): [string, string][] {
  if (!slots?.runtimes || slots.runtimes.budgetBytes === 0) return [];
  const { waiting, bytes, budgetBytes } = slots.runtimes;
  return [["runtimes", `${waiting} waiting, ${ofMebibytes(bytes, budgetBytes)}`]];
}

function queue({ database }: StatusPage): string {
  if (!database) return "unknown";
  const { pending, oldestPendingMs, held } = database.backlog;
  if (pending === 0) return "empty";
  return `${pending} pending, the longest wait for a start ${span(oldestPendingMs)}; ${held} wait because of their key's concurrency or a suspension`;
}

function running({ database }: StatusPage): string {
  if (!database) return "unknown";
  return counts(database.backlog.running) || "nothing";
}

/** One line for each account. Names are free text, so statusText() escapes them. */
function accounts({ shares }: StatusPage): [string, string][] {
  if (!shares || shares.accounts.length === 0) return [];
  const lines = shares.accounts.map(
    ({ name, pending, running, requests }) =>
      `${name}: ${pending} pending, ${running} running, ${requests} requests in the last minute`,
  );
  const more = shares.amount - shares.accounts.length;
  if (more > 0) lines.push(`and ${more} more`);
  return lines.map((line, at) => [at === 0 ? "accounts" : "", line]);
}

function ended({ recent }: StatusPage): string {
  if (!recent) return "unknown";
  const total = Object.values(recent.verdicts).reduce((sum, one) => sum + one, 0);
  const within = `in ${span(recent.withinMs)}`;
  if (total === 0) return `nothing ${within}`;
  return `${total} ${within}, ${((total * 60_000) / recent.withinMs).toFixed(1)} a minute: ${counts(recent.verdicts)}`;
}

/** What sandboxes hold of each thing that the process may give them. */
function sandboxes({ sandboxes: counted }: StatusPage): [string, string][] {
  if (!counted) return [];
  const { held, most } = counted;
  const full = held.sandboxes >= most.sandboxes || held.memoryBytes >= most.memoryBytes ? " (FULL)" : "";
  const disks = most.diskBytes > 0 ? `, disks ${ofMebibytes(held.diskBytes, most.diskBytes)}` : "";
  const memory = ofMebibytes(held.memoryBytes, most.memoryBytes);
  return [["sandboxes", `${held.sandboxes} of ${most.sandboxes}${full}, memory ${memory}${disks}`]];
}

/** Whether sandboxes of this process can have a network, and how much of it is open. */
function network({ sandboxes: counted }: StatusPage): [string, string][] {
  if (!counted) return [];
  const { egress } = counted;
  if (egress === null) return [["network", "off: no sandbox has one"]];
  return [["network", `${egress.open} ${egress.open === 1 ? "connection" : "connections"} of sandboxes open`]];
}

function snapshots({ snapshots: counted }: StatusPage): [string, string][] {
  if (!counted) return [];
  const { amount, heldBytes, mostBytes } = counted;
  return [["snapshots", `${amount}, ${ofMebibytes(heldBytes, mostBytes)}${heldBytes >= mostBytes ? " (FULL)" : ""}`]];
}

function ofMebibytes(held: number, most: number): string {
  const [some, all] = [held, most].map((bytes) => Math.round(bytes / 1_048_576));
  return `${some} of ${all} MiB`;
}

function webhooks({ database }: StatusPage): string {
  if (!database) return "unknown";
  const { deliveries, oldestDueMs } = database.backlog;
  return deliveries === 0 ? "nothing to deliver" : `${deliveries} to deliver, due for ${span(oldestDueMs)}`;
}

function disk({ disk: space }: StatusPage): string {
  if (!space) return "UNKNOWN: the data directory cannot be read";
  const gigabytes = (bytes: number) => (bytes / 1e9).toFixed(1);
  return `${gigabytes(space.freeBytes)} of ${gigabytes(space.sizeBytes)} GB free`;
}

function certificate({ certificateEndsAtMs: ends }: StatusPage, nowMs: number): string {
  if (ends === null) return "none";
  const day = new Date(ends).toISOString().slice(0, 10);
  return ends < nowMs ? `ENDED on ${day}` : `until ${day}, ${Math.floor((ends - nowMs) / DAY_MS)} days`;
}

/** Names with their amounts, the largest amount first. */
function counts(amounts: Readonly<Record<string, number>>): string {
  const sorted = Object.entries(amounts).sort(([, a], [, b]) => b - a);
  return sorted.map(([name, amount]) => `${name} ${amount}`).join(", ");
}

function span(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  return ms < 2 * DAY_MS ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / DAY_MS)} days`;
}
