import { EXECUTION_BOUNDS } from "./sandboxes/execution.ts";
import { FILE_ERRORS, type FileErrorCode } from "./sandboxes/files.ts";
import { SANDBOX_END_REASONS } from "./sandboxes/sandbox.ts";
import { MAX_CODE_BYTES, MAX_STDIN_BYTES } from "./submission.ts";

/**
 * Every error that a client can receive: its status, its text, and what the documentation says of it. A text names what the client sent
 * and what is allowed, but no path, stack or internal name. The examples of limits repeat constants of src/http/body/, as a test ensures.
 */
const list = {
  malformedJson: row(400, () => "request body is not valid JSON", { returned: "jsonBody" }),
  bodyNotObject: row(400, () => "request body must be a JSON object"),
  duplicateField: row(400, () => "request body has a duplicate field", { returned: "jsonBody" }),
  tooNested: row(400, (levels: number) => `request body is nested more than ${levels} levels deep`, {
    returned: "jsonBody",
    example: [8],
  }),
  tooManyValues: row(400, (values: number) => `request body has more than ${values} values`, {
    returned: "jsonBody",
    example: [512],
  }),
  fieldMissing: row(400, (field: string) => `${field} is required`, { example: ["code"] }),
  fieldNotString: row(400, (field: string) => `${field} must be a string`, { example: ["code"] }),
  notUnicode: row(400, (field: string) => `${field} must be valid Unicode: it has an unpaired surrogate`, {
    example: ["code"],
  }),
  unknownFields: row(400, (fields: string) => `unknown field: ${fields}`, { example: ['"timeout"'] }),
  webhookField: row(
    400,
    (field: string) =>
      `${field}: webhooks cannot be given per request; they are configured on the project of the API key`,
    { example: ['"webhook_url"'] },
  ),
  codeEmpty: row(400, () => "code must not be empty"),
  codeTooLarge: row(
    400,
    (bytes: number, mostBytes: number) => `code must be at most ${mostBytes} bytes of UTF-8, got ${bytes}`,
    { example: [70_000, MAX_CODE_BYTES] },
  ),
  stdinTooLarge: row(
    400,
    (bytes: number, mostBytes: number) => `stdin must be at most ${mostBytes} bytes of UTF-8, got ${bytes}`,
    { example: [300_000, MAX_STDIN_BYTES] },
  ),
  unsupportedLanguage: row(
    400,
    (name: string, available: readonly string[]) =>
      `unsupported language: ${name}; available languages: ${available.join(", ") || "none yet"}`,
    { example: ['"cobol"', ["c", "python"]] },
  ),
  unknownProfile: row(400, (name: string) => `profile must be judge or agent, got ${name}`, { example: ['"root"'] }),
  badWait: row(400, (value: string) => `wait must be true or false, got ${value}`, { example: ['"yes"'] }),
  unknownQuery: row(400, (names: string) => `unknown query parameter: ${names}`, {
    returned: "everyRoute",
    example: ['"wiat"'],
  }),
  badIdempotencyKey: row(400, () => "Idempotency-Key must be a UUID"),
  badRequest: row(400, () => "malformed request", { returned: "everyRoute" }),
  invalidRequest: row(400, (where: string, why: string) => `${where}: ${why}`, { example: ["name", "must be text"] }),
  badPath: fileRow(400, "badPath"),
  foreignRequest: row(400, (text: string) => text, {
    returned: "foreignApi",
    example: ["language is required and must be a string"],
  }),
  unauthorized: row(401, () => "unauthorized", { message: "Missing or invalid API key", returned: "everyRoute" }),
  signInNeeded: row(401, () => "sign in first", { returned: "dashboard" }),
  signInRefused: row(401, () => "the e-mail or the password is wrong", { returned: "dashboard" }),
  fileForbidden: fileRow(403, "permission"),
  profileForbidden: row(403, (name: string) => `this API key may not use the profile ${name}`, { example: ["agent"] }),
  accountSuspended: row(403, () => "this account is suspended; ask the operator of the service", {
    returned: "everyRoute",
  }),
  httpsRequired: row(403, () => "HTTPS is required", { returned: "everyRoute" }),
  playgroundClosed: row(403, () => "the playground of this account is closed: its key was revoked", {
    returned: "dashboard",
  }),
  notAllowed: row(403, () => "only an administrator may do this", { returned: "dashboard" }),
  foreignRefused: row(403, (text: string) => text, {
    returned: "foreignApi",
    example: ["the operator of the service installs languages"],
  }),
  foreignOrigin: row(403, () => "the request does not come from this service's own pages"),
  submissionNotFound: row(404, () => "submission not found"),
  judgementNotFound: row(404, () => "judgement not found"),
  problemNotFound: row(404, () => "problem not found"),
  sandboxNotFound: row(404, () => "sandbox not found"),
  executionNotFound: row(404, () => "execution not found"),
  snapshotNotFound: row(404, () => "snapshot not found"),
  fileNotFound: fileRow(404, "notFound"),
  notFound: row(404, () => "not found, or you have no access to it", { returned: "dashboard" }),
  linkInvalid: row(404, () => "this link has been used, has expired or is not valid", { returned: "dashboard" }),
  noOutput: row(404, () => "the submission has no output: it has not ended, or the platform failed"),
  noDashboard: row(404, () => "this service was started without the dashboard's files", { returned: "dashboard" }),
  routeNotFound: row(404, () => "no such endpoint", { returned: "unknownRoute" }),
  methodNotAllowed: row(405, (allowed: string) => `method not allowed; allowed: ${allowed}`, {
    returned: "unknownRoute",
    example: ["POST"],
    headers: { allow: "POST" },
  }),
  notFinished: row(408, (seconds: number) => `not finished within ${seconds} s; poll GET /api/result/{id}`, {
    example: [30],
    fields: { id: "8716aa61-b3c9-473f-961a-d3d8661390c4", status: "running" },
    schema: "NotFinished",
  }),
  notFinishedAtStop: row(408, () => "not finished before the service stopped; poll GET /api/result/{id}", {
    fields: { id: "8716aa61-b3c9-473f-961a-d3d8661390c4", status: "pending" },
    schema: "NotFinished",
  }),
  judgementNotFinished: row(
    408,
    (seconds: number) => `not finished within ${seconds} s; poll GET /api/judgements/{id}`,
    { example: [30], fields: { id: "8716aa61-b3c9-473f-961a-d3d8661390c4", status: "running" }, schema: "NotFinished" },
  ),
  judgementNotFinishedAtStop: row(408, () => "not finished before the service stopped; poll GET /api/judgements/{id}", {
    fields: { id: "8716aa61-b3c9-473f-961a-d3d8661390c4", status: "pending" },
    schema: "NotFinished",
  }),
  requestTimeout: row(408, () => "the request did not arrive in time", { returned: "everyRoute" }),
  takesNoInput: row(409, () => "the submission takes no live input: it was submitted without live_input"),
  runEnded: row(409, () => "the run has ended"),
  sandboxPaused: row(409, () => "the sandbox is paused; resume it first"),
  executionEnded: row(409, () => "the execution has ended"),
  executionRuns: row(409, () => "the execution has not ended yet"),
  executionTakesNoInput: row(
    409,
    () => "the execution takes no input: it was started without open_input, or its input has ended",
  ),
  noTerminal: row(409, () => "the execution has no terminal"),
  fileConflict: fileRow(409, "notEmpty"),
  sandboxEnded: row(410, (reason: string) => `the sandbox has ended: ${reason}`, {
    example: [SANDBOX_END_REASONS.idle],
    fields: { end_reason: "idle" },
    schema: "SandboxEnded",
  }),
  fileChanged: fileRow(412, "changed"),
  inputFull: row(
    413,
    (bytes: number, messages: number) =>
      `a program gets at most ${bytes} bytes of input, with the stdin of its submission, in ${messages} pieces`,
    { example: [MAX_STDIN_BYTES, 10_000] },
  ),
  bodyTooLarge: row(413, (bytes: number) => `request body must be at most ${bytes} bytes`, { example: [4_194_304] }),
  submissionTooLarge: row(
    400,
    (bytes: number) =>
      `request body must be at most ${bytes} bytes: code at most ${MAX_CODE_BYTES} and stdin at most ${MAX_STDIN_BYTES} bytes of UTF-8`,
    { example: [4_194_304] },
  ),
  rangeOutside: row(416, (bytes: number) => `the range is outside of the ${bytes} bytes`, {
    example: [12],
    headers: { "content-range": "bytes */12" },
  }),
  fileRangeOutside: fileRow(416, "badRange"),
  notJson: row(415, () => "Content-Type must be application/json", { returned: "jsonBody" }),
  notZip: row(415, () => "Content-Type must be application/zip", { returned: "archive" }),
  expectationFailed: row(417, () => "this Expect header is not supported", { returned: "everyRoute" }),
  idempotencyConflict: row(422, () => "Idempotency-Key was already used with a different request"),
  invalidPackage: row(422, (fault: string) => fault, {
    example: ["problem.yaml:3: limits.memory: the ceiling of this service is 2048 MiB (ASSAY_CEILINGS)"],
  }),
  fileRefused: fileRow(422, "badArchive"),
  snapshotTooLarge: row(
    422,
    (limit: string) => `the files of the snapshot do not fit into the limits of the new sandbox: ${limit}`,
    { example: ["disk or inodes"] },
  ),
  snapshotFailed: row(422, (why: string) => `no snapshot can be taken: ${why}`, {
    example: [`/home/user/a/b: ${FILE_ERRORS.tooDeep}`],
  }),
  problemsFull: row(
    422,
    (problems: number, bytes: number) =>
      `an account has at most ${problems} problems and ${bytes} bytes of their versions: delete a problem first`,
    { example: [500, 4_294_967_296] },
  ),
  notPossible: row(422, (why: string) => why, { returned: "dashboard", example: ["there is no account x"] }),
  quotaExceeded: row(429, () => "API key quota exceeded", {
    returned: "everyRoute",
    headers: { "retry-after": "1" },
  }),
  tooManyRequests: row(429, () => "too many requests without a key from this address", {
    returned: "unknownRoute",
    headers: { "retry-after": "1" },
  }),
  upgradeRequired: row(426, () => "open a WebSocket here"),
  tooManyWatched: row(429, () => "too many runs or lists are watched at the same time: close one of them", {
    headers: { "retry-after": "1" },
  }),
  sandboxCpus: row(
    400,
    (most: number) => `limits.cpus: this service permits an execution at most ${most} (ASSAY_SANDBOX_CPUS)`,
    { example: [1] },
  ),
  sandboxDisk: row(
    400,
    (most: number) =>
      most === 0
        ? "limits.storage: the sandboxes of this service have no disks; its operator can give them some (ASSAY_SANDBOX_DISK)"
        : `limits.disk_bytes: this service permits disks of at most ${most} bytes (ASSAY_SANDBOX_DISK)`,
    { example: [0] },
  ),
  networkOff: row(
    400,
    () => "network: the sandboxes of this service have no network; its operator can give them one (ASSAY_EGRESS)",
  ),
  networkForbidden: row(403, (why: string) => `network: ${why}`, {
    example: ["port 443 of api.example.com is not within the upper bound of the policy"],
  }),
  sandboxWithoutNetwork: row(409, () => "the sandbox was created without a network, and has none for good"),
  sandboxQuota: row(
    429,
    (what: string, most: number) => `this account has its most of ${what} of sandboxes: ${most}; end one first`,
    { example: ["executions", 16], headers: { "retry-after": "1" } },
  ),
  snapshotQuota: row(
    429,
    (what: string, most: number) => `this account has its most of ${what}: ${most}; delete a snapshot first`,
    { example: ["snapshots", 20] },
  ),
  inputWaiting: row(429, (bytes: number) => `${bytes} bytes of input wait for the program, which does not read them`, {
    example: [EXECUTION_BOUNDS.waitingInputBytes],
    headers: { "retry-after": "1" },
  }),
  tooManyExports: row(429, () => "another export of yours is still being sent", {
    returned: "dashboard",
    headers: { "retry-after": "1" },
  }),
  tooManySignIns: row(429, () => "too many attempts to sign in, try again later", {
    returned: "dashboard",
    headers: { "retry-after": "1" },
  }),
  headersTooLarge: row(431, () => "request headers are too large", { returned: "everyRoute" }),
  snapshotDamaged: row(500, () => "the archive of this snapshot was damaged, and cannot be used any more"),
  internal: row(500, () => "internal error", { returned: "everyRoute" }),
  queueFull: row(503, () => "queue full, try again later", { headers: { "retry-after": "1" } }),
  tooManyConnections: row(503, () => "too many connections or requests under way, try again later", {
    returned: "everyRoute",
    headers: { "retry-after": "1" },
  }),
  noRoom: row(503, () => "too much data is in transit, try again later", { headers: { "retry-after": "1" } }),
  shuttingDown: row(503, () => "the service is shutting down, try again later", {
    returned: "everyRoute",
    headers: { "retry-after": "1" },
  }),
  sandboxesOff: row(
    503,
    () =>
      "this service has no sandboxes; its operator can switch them on (ASSAY_SANDBOXES), if the machine can have them (assay doctor)",
  ),
  sandboxElsewhere: row(503, () => "another process of the service has this sandbox; send the request there"),
  sandboxMoving: row(503, () => "the service is being restarted, and the sandbox with it; it goes on in a moment", {
    headers: { "retry-after": "1" },
  }),
  sandboxUnreachable: row(
    503,
    () => "the process that has this sandbox cannot be reached; whether it has received the request is not known",
    { headers: { "retry-after": "1" } },
  ),
  sandboxesFull: row(503, () => "there is no room for another sandbox, try again later", {
    headers: { "retry-after": "1" },
  }),
  snapshotElsewhere: row(503, () => "another machine has this snapshot, and the service cannot reach it", {
    headers: { "retry-after": "1" },
  }),
  executionsFull: row(
    503,
    () => "too many executions and file requests are under way in this sandbox or on this machine, try again later",
    { headers: { "retry-after": "1" } },
  ),
  filesBusy: fileRow(503, "busy"),
  languagesUnproven: row(503, () => "no language is verified yet, try again later", {
    headers: { "retry-after": "1" },
  }),
  databaseUnavailable: row(503, () => "the database does not respond, try again later", {
    returned: "everyRoute",
    headers: { "retry-after": "1" },
  }),
  notReady: row(503, () => "not ready: full isolation is not proven", {
    fields: { status: "not_ready", checks: [{ name: "seccomp_filter", ok: false, detail: "could not be read back" }] },
    schema: "NotReady",
  }),
  snapshotsFull: row(507, () => "there is no room for another snapshot on this machine, try again later", {
    headers: { "retry-after": "5" },
  }),
  fileNoSpace: fileRow(507, "noSpace"),
} as const;

/** An error about a file of a sandbox. Its text names the path, and `code` is one of FILE_ERRORS. */
function fileRow(status: number, code: FileErrorCode) {
  return row(status, (text: string) => text, {
    example: [`/home/user/notes: ${FILE_ERRORS[code]}`],
    fields: { code, path: "/home/user/notes" },
    schema: "FileFailure",
    ...(status === 503 && { headers: { "retry-after": "1" } }),
  });
}

/**
 * Which requests can get the error, besides those of the routes that name it:
 * - `everyRoute`: all requests of the API.
 * - `jsonBody`, `archive`: requests of routes that read a JSON body or an archive.
 * - `unknownRoute`: requests for unknown paths or methods, and for pages without a key.
 * - `dashboard`: only requests of the dashboard's pages, whose API is not described.
 * - `foreignApi`: only clients of other services, whose APIs docs/ describes.
 */
export type Returned = "everyRoute" | "jsonBody" | "archive" | "unknownRoute" | "dashboard" | "foreignApi";

interface RowOptions<Args extends readonly unknown[]> {
  /** Values for the example of the text in the documentation. */
  readonly example: Args;
  /** The field `message` of the body, which explains `error`. */
  readonly message?: string;
  readonly returned?: Returned;
  /** Examples of the headers and the further fields with which the error is sent. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Name of the schema of a body that has further fields. */
  readonly schema?: string;
}

interface Row<Args extends readonly unknown[]> extends RowOptions<Args> {
  readonly status: number;
  readonly error: (...args: Args) => string;
}

function row<Args extends readonly unknown[]>(
  status: number,
  error: (...args: Args) => string,
  ...[options]: Args extends readonly [] ? [options?: Omit<RowOptions<Args>, "example">] : [options: RowOptions<Args>]
): Row<Args> {
  // An error without arguments has the example [].
  return { status, error, example: [], ...options } as unknown as Row<Args>;
}

export const ERRORS: typeof list = list;
export type ErrorCode = keyof typeof list;

export const ERROR_CODES = Object.keys(list) as readonly ErrorCode[];

/** The row of an error whose arguments are not known. */
export function errorRow(code: ErrorCode): Row<never> {
  return ERRORS[code] as Row<never>;
}

/** The errors that such requests can get. */
export function errorsReturned(by: Returned): readonly ErrorCode[] {
  return ERROR_CODES.filter((code) => errorRow(code).returned === by);
}

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
    const { status, message } = errorRow(code);
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

/** The error as a client receives it, with the values of its example. */
export function errorExample(code: ErrorCode): ClientError {
  const { error, example, headers = {}, fields = {} } = errorRow(code);
  return new ClientError(code, error(...example), headers, fields);
}
