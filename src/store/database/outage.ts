/**
 * Error codes of PostgreSQL and the network for an unavailable, starting or stopping server, and of SQLite for an
 * unwritable disk. They are independent of the request, which may succeed once the server or disk is available.
 */
const OUTAGES: readonly RegExp[] = [
  /^08/, // connection exceptions
  /^57P0[1-5]$/, // shut down, crashed, starting up, database dropped, idle session ended
  /^53/, // out of connections, memory or disk
  /^25(006|P03|P04)$/, // read-only after a fail-over; a transaction that idled or lasted too long
  /^55P03$/, // lock timeout
  /^57014$/, // statement timeout
  /^SQLITE_(FULL|READONLY|IOERR|CANTOPEN|BUSY)/,
  /^E(CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH|NOTFOUND|AI_AGAIN|NOENT)$/,
];

/** Errors of the driver itself, which have no code. */
const WORDS =
  /^(Connection terminated|timeout exceeded when trying to connect|Client (has encountered|was closed)|Cannot use a pool after|Query read timeout|Postgres connection has been discarded)/;

export function isOutage(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (typeof code === "string" && OUTAGES.some((pattern) => pattern.test(code))) return true;
  return typeof message === "string" && WORDS.test(message);
}

/** Error text for an operator. An error of several attempts (one per address) has no message of its own. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(reasonOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
