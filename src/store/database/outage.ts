/**
 * Codes of errors that do not depend on the request, which may succeed later: of PostgreSQL and the network, if the server is unavailable,
 * starting, stopping or too slow, and of SQLite, if the file cannot be written or another process keeps it locked.
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

/** The messages of such errors that come from the driver itself, and have no code. */
const WORDS =
  /^(Connection terminated|timeout exceeded when trying to connect|Client (has encountered|was closed)|Cannot use a pool after|Query read timeout|Postgres connection has been discarded)/;

export function isOutage(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (typeof code === "string" && OUTAGES.some((pattern) => pattern.test(code))) return true;
  return typeof message === "string" && WORDS.test(message);
}

/** The text of an error, for an operator. An error of several attempts to connect, one for each address, has no message of its own. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(reasonOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
