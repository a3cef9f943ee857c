import { z } from "zod";
import { type ClientError, clientError, type ErrorCode, errorRow } from "../../../domain/error.ts";
import { FileError, type FileErrorCode } from "../../../domain/sandboxes/files.ts";
import {
  SANDBOX_END_REASON_NAMES,
  SANDBOX_END_REASONS,
  type SandboxRefusalCode,
  type SandboxRefusals,
  SandboxRefused,
} from "../../../domain/sandboxes/sandbox.ts";
import { named } from "../../named-schemas.ts";

/** The body of an error about a file. */
named("FileFailure", z.strictObject({ error: z.string(), code: z.string(), path: z.string().nullable() }));
/** The body of the error for a sandbox that has ended. */
named("SandboxEnded", z.strictObject({ error: z.string(), end_reason: z.enum(SANDBOX_END_REASON_NAMES) }));

const RETRY_SOON = { headers: { "retry-after": "1" } };
/** A place for a sandbox becomes free when another one ends, and a machine that is away is back when it was started again. */
const RETRY_LATER = { headers: { "retry-after": "5" } };

/** The longest text about a file, of which the client may have chosen the path. */
const MAX_TEXT = 500;

/** The response to each reason for which a sandbox refuses a request. */
const REFUSED: { readonly [Code in SandboxRefusalCode]: (details: SandboxRefusals[Code]) => ClientError } = {
  sandboxesOff: () => clientError("sandboxesOff", []),
  sandboxElsewhere: () => clientError("sandboxElsewhere", []),
  sandboxUnreachable: () => clientError("sandboxUnreachable", [], RETRY_SOON),
  keyRevoked: () => clientError("unauthorized", []),
  accountSuspended: () => clientError("accountSuspended", []),
  sandboxNotFound: () => clientError("sandboxNotFound", []),
  sandboxEnded: ({ reason }) =>
    clientError("sandboxEnded", [SANDBOX_END_REASONS[reason]], { fields: { end_reason: reason } }),
  sandboxMoving: () => clientError("sandboxMoving", [], RETRY_SOON),
  sandboxPaused: () => clientError("sandboxPaused", []),
  sandboxQuota: ({ what, most }) => clientError("sandboxQuota", [what, most], RETRY_SOON),
  sandboxCpus: ({ most }) => clientError("sandboxCpus", [most]),
  sandboxDisk: ({ most }) => clientError("sandboxDisk", [most]),
  networkOff: () => clientError("networkOff", []),
  networkForbidden: ({ reason }) => clientError("networkForbidden", [reason.slice(0, MAX_TEXT)]),
  sandboxWithoutNetwork: () => clientError("sandboxWithoutNetwork", []),
  sandboxesFull: () => clientError("sandboxesFull", [], RETRY_LATER),
  executionsFull: () => clientError("executionsFull", [], RETRY_SOON),
  snapshotNotFound: () => clientError("snapshotNotFound", []),
  snapshotElsewhere: () => clientError("snapshotElsewhere", [], RETRY_LATER),
  snapshotDamaged: () => clientError("snapshotDamaged", []),
  snapshotQuota: ({ what, most }) => clientError("snapshotQuota", [what, most]),
  snapshotsFull: () => clientError("snapshotsFull", [], RETRY_LATER),
  snapshotTooLarge: ({ limit }) => clientError("snapshotTooLarge", [limit]),
  snapshotFailed: ({ why }) => clientError("snapshotFailed", [why.slice(0, MAX_TEXT).toWellFormed()]),
  executionNotFound: () => clientError("executionNotFound", []),
  executionEnded: () => clientError("executionEnded", []),
  takesNoInput: () => clientError("executionTakesNoInput", []),
  inputFull: ({ bytes }) => clientError("inputWaiting", [bytes], RETRY_SOON),
  noTerminal: () => clientError("noTerminal", []),
  idempotencyConflict: () => clientError("idempotencyConflict", []),
};

type FileRow = Extract<
  ErrorCode,
  | "badPath"
  | "fileNotFound"
  | "fileForbidden"
  | "fileConflict"
  | "fileChanged"
  | "fileRangeOutside"
  | "fileRefused"
  | "filesBusy"
  | "fileNoSpace"
>;

/** The row of the list of errors for each failure of a file request. */
const FILE_ROWS: Readonly<Record<FileErrorCode, FileRow>> = {
  badPath: "badPath",
  notFound: "fileNotFound",
  permission: "fileForbidden",
  notDirectory: "fileConflict",
  isDirectory: "fileConflict",
  notRegular: "fileConflict",
  notEmpty: "fileConflict",
  exists: "fileConflict",
  tooManyLinks: "fileConflict",
  otherFileSystem: "fileConflict",
  failed: "fileConflict",
  changed: "fileChanged",
  badRange: "fileRangeOutside",
  badArchive: "fileRefused",
  tooDeep: "fileRefused",
  tooManyDirectories: "fileRefused",
  busy: "filesBusy",
  stopped: "filesBusy",
  noSpace: "fileNoSpace",
};

/** The errors of every request to one sandbox. */
export const SANDBOX_ERRORS = [
  "profileForbidden",
  "sandboxesOff",
  "sandboxElsewhere",
  "sandboxMoving",
  "sandboxUnreachable",
  "sandboxEnded",
] as const satisfies readonly ErrorCode[];

/** The errors of every request for files. */
export const FILE_REQUEST_ERRORS = [
  ...SANDBOX_ERRORS,
  "sandboxPaused",
  "executionsFull",
  ...new Set(Object.values(FILE_ROWS)),
] as const satisfies readonly ErrorCode[];

/** The error of the list for a reason why a sandbox refused a request; any other error as it is. */
export function toClientError(error: unknown): unknown {
  if (error instanceof SandboxRefused) return refusedBy(error.code, error.details);
  if (!(error instanceof FileError)) return error;
  const { code, path } = error;
  const row = FILE_ROWS[code];
  const shown = path === null ? null : path.slice(0, MAX_TEXT).toWellFormed();
  const { status } = errorRow(row);
  return clientError(row, [error.message.slice(0, MAX_TEXT).toWellFormed()], {
    fields: { code, path: shown },
    ...(status === 503 && RETRY_SOON),
  });
}

function refusedBy<Code extends SandboxRefusalCode>(code: Code, details: SandboxRefusals[Code]): ClientError {
  return REFUSED[code](details);
}
