import { MAX_CODE_BYTES, MAX_STDIN_BYTES } from "./submission.ts";

/**
 * Every error that a client can receive, with its status and text. A text names what the
 * client sent and what is allowed, but no path, stack or internal name.
 */
const list = {
  malformedJson: row(400, () => "request body is not valid JSON"),
  bodyNotObject: row(400, () => "request body must be a JSON object"),
  duplicateField: row(400, () => "request body has a duplicate field"),
  tooNested: row(400, (levels: number) => `request body is nested more than ${levels} levels deep`),
  tooManyValues: row(400, (values: number) => `request body has more than ${values} values`),
  fieldMissing: row(400, (field: string) => `${field} is required`),
  fieldNotString: row(400, (field: string) => `${field} must be a string`),
  notUnicode: row(400, (field: string) => `${field} must be valid Unicode: it has an unpaired surrogate`),
  unknownFields: row(400, (fields: string) => `unknown field: ${fields}`),
  webhookField: row(
    400,
    (field: string) =>
      `${field}: webhooks cannot be given per request; they are configured on the project of the API key`,
  ),
  codeEmpty: row(400, () => "code must not be empty"),
  codeTooLarge: row(400, (bytes: number) => `code must be at most ${MAX_CODE_BYTES} bytes of UTF-8, got ${bytes}`),
  stdinTooLarge: row(400, (bytes: number) => `stdin must be at most ${MAX_STDIN_BYTES} bytes of UTF-8, got ${bytes}`),
  unsupportedLanguage: row(
    400,
    (name: string, available: readonly string[]) =>
      `unsupported language: ${name}; available languages: ${available.join(", ") || "none yet"}`,
  ),
  unknownProfile: row(400, (name: string) => `profile must be judge or agent, got ${name}`),
  badWait: row(400, (value: string) => `wait must be true or false, got ${value}`),
  unknownQuery: row(400, (names: string) => `unknown query parameter: ${names}`),
  badIdempotencyKey: row(400, () => "Idempotency-Key must be a UUID"),
  badRequest: row(400, () => "malformed request"),
  invalidRequest: row(400, (where: string, why: string) => `${where}: ${why}`),
  pistonRequest: row(400, (text: string) => text),
  unauthorized: row(401, () => "unauthorized", "Missing or invalid API key"),
  signInNeeded: row(401, () => "sign in first"),
  signInRefused: row(401, () => "the e-mail or the password is wrong"),
  profileForbidden: row(403, (name: string) => `this API key may not use the profile ${name}`),
  accountSuspended: row(403, () => "this account is suspended; ask the operator of the service"),
  httpsRequired: row(403, () => "HTTPS is required"),
  playgroundClosed: row(403, () => "the playground of this account is closed: its key was revoked"),
  notAllowed: row(403, () => "only an administrator may do this"),
  pistonPackages: row(403, () => "the operator of the service installs languages, with: assay languages add NAME"),
  foreignOrigin: row(403, () => "the request does not come from this service's own pages"),
  submissionNotFound: row(404, () => "submission not found"),
  judgementNotFound: row(404, () => "judgement not found"),
  problemNotFound: row(404, () => "problem not found"),
  notFound: row(404, () => "not found, or you have no access to it"),
  linkInvalid: row(404, () => "this link has been used, has expired or is not valid"),
  noOutput: row(404, () => "the submission has no output: it has not ended, or the platform failed"),
  noDashboard: row(404, () => "this service was started without the dashboard's files"),
  routeNotFound: row(404, () => "no such endpoint"),
  methodNotAllowed: row(405, (allowed: string) => `method not allowed; allowed: ${allowed}`),
  notFinished: row(408, (seconds: number) => `not finished within ${seconds} s; poll GET /api/result/{id}`),
  notFinishedAtStop: row(408, () => "not finished before the service stopped; poll GET /api/result/{id}"),
  judgementNotFinished: row(
    408,
    (seconds: number) => `not finished within ${seconds} s; poll GET /api/judgements/{id}`,
  ),
  judgementNotFinishedAtStop: row(408, () => "not finished before the service stopped; poll GET /api/judgements/{id}"),
  requestTimeout: row(408, () => "the request did not arrive in time"),
  bodyTooLarge: row(413, (bytes: number) => `request body must be at most ${bytes} bytes`),
  submissionTooLarge: row(
    400,
    (bytes: number) =>
      `request body must be at most ${bytes} bytes: code at most ${MAX_CODE_BYTES} and stdin at most ${MAX_STDIN_BYTES} bytes of UTF-8`,
  ),
  rangeOutside: row(416, (bytes: number) => `the range is outside of the ${bytes} bytes`),
  notJson: row(415, () => "Content-Type must be application/json"),
  notZip: row(415, () => "Content-Type must be application/zip"),
  expectationFailed: row(417, () => "this Expect header is not supported"),
  idempotencyConflict: row(422, () => "Idempotency-Key was already used with a different request"),
  invalidPackage: row(422, (fault: string) => fault),
  problemsFull: row(
    422,
    (problems: number, bytes: number) =>
      `an account has at most ${problems} problems and ${bytes} bytes of their versions: delete a problem first`,
  ),
  notPossible: row(422, (why: string) => why),
  quotaExceeded: row(429, () => "API key quota exceeded"),
  tooManyRequests: row(429, () => "too many requests without a key from this address"),
  upgradeRequired: row(426, () => "open a WebSocket here"),
  tooManyWatched: row(429, () => "too many runs or lists are watched at the same time: close one of them"),
  tooManyExports: row(429, () => "another export of yours is still being sent"),
  tooManySignIns: row(429, () => "too many attempts to sign in, try again later"),
  headersTooLarge: row(431, () => "request headers are too large"),
  internal: row(500, () => "internal error"),
  queueFull: row(503, () => "queue full, try again later"),
  tooManyConnections: row(503, () => "too many connections or requests under way, try again later"),
  noRoom: row(503, () => "too much data is in transit, try again later"),
  shuttingDown: row(503, () => "the service is shutting down, try again later"),
  languagesUnproven: row(503, () => "no language is verified yet, try again later"),
  databaseUnavailable: row(503, () => "the database does not respond, try again later"),
  notReady: row(503, () => "not ready: full isolation is not proven"),
} as const;

interface Row<Args extends readonly unknown[]> {
  readonly status: number;
  readonly error: (...args: Args) => string;
  readonly message?: string;
}

function row<Args extends readonly unknown[]>(
  status: number,
  error: (...args: Args) => string,
  message?: string,
): Row<Args> {
  return message === undefined ? { status, error } : { status, error, message };
}

export const ERRORS: typeof list = list;
export type ErrorCode = keyof typeof list;

/** The most characters of client input that an error repeats. */
const MAX_ECHO = 64;

/** Formats client input for an error: printable, quoted and short. */
export function echo(text: string): string {
  const short = text.length > MAX_ECHO ? `${text.slice(0, MAX_ECHO)}…` : text;
  return JSON.stringify(short);
}

/** An error of the list, as a response to the client. */
export class ClientError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly body: { error: string; message?: string; [field: string]: unknown };
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ErrorCode,
    error: string,
    headers: Readonly<Record<string, string>>,
    fields: Readonly<Record<string, unknown>>,
  ) {
    super(error);
    this.name = "ClientError";
    const { status, message } = ERRORS[code] as Row<never>;
    this.code = code;
    this.status = status;
    this.body = { error, ...(message !== undefined && { message }), ...fields };
    this.headers = headers;
  }
}

type ArgsOf<Code extends ErrorCode> = Parameters<(typeof list)[Code]["error"]>;

/**
 * Creates an error of the list.
 * @param extra response headers and further body fields, such as Retry-After or the id of a 408.
 */
export function clientError<Code extends ErrorCode>(
  code: Code,
  args: ArgsOf<Code>,
  extra: { headers?: Readonly<Record<string, string>>; fields?: Readonly<Record<string, unknown>> } = {},
): ClientError {
  const text = (ERRORS[code].error as (...args: ArgsOf<Code>) => string)(...args);
  return new ClientError(code, text, extra.headers ?? {}, extra.fields ?? {});
}
