/**
 * What PostgreSQL and the network say when a server is away, starting or stopping, and SQLite when its disk takes
 * nothing. Such a failure says nothing about the request, which may succeed as soon as server or disk is back.
 */
const OUTAGES: readonly RegExp[] = [
  /^08/, // connection exceptions
  /^57P0[1-5]$/, // shut down, crashed, starting up, database dropped, idle session ended
  /^53/, // out of connections, memory or disk
  /^25(006|P03|P04)$/, // read-only after a fail-over; a transaction that idled or lasted too long
  /^55P03$/, // a lock was not to be had in time
  /^57014$/, // a statement took too long
  /^SQLITE_(FULL|READONLY|IOERR|CANTOPEN|BUSY)/,
  /^E(CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH|NOTFOUND|AI_AGAIN|NOENT)$/,
];

/** The driver's own errors have no code. */
const WORDS =
  /^(Connection terminated|timeout exceeded when trying to connect|Client (has encountered|was closed)|Cannot use a pool after|Query read timeout|Postgres connection has been discarded)/;

export function isOutage(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (typeof code === "string" && OUTAGES.some((pattern) => pattern.test(code))) return true;
  return typeof message === "string" && WORDS.test(message);
}

/** In words for an operator. An error of several tries (one for each address) has no message of its own. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(reasonOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
