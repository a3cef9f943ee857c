import { z } from "zod";
import { FILE_ERRORS, FileError } from "../domain/sandboxes/files.ts";
import {
  SANDBOX_END_REASON_NAMES,
  type SandboxRefusalCode,
  type SandboxRefusals,
  SandboxRefused,
} from "../domain/sandboxes/sandbox.ts";
import { CutOff } from "./messages.ts";
import { count, fileErrorCode } from "./values.ts";

const nothing = z.strictObject({});

/** The most characters of the reason why a snapshot failed, which can name a path that a program chose. */
const WHY_CHARACTERS = 1_000;

/** What each refusal has besides its code. Codes that only a service can have are absent: a worker that sends one violates the protocol. */
const REFUSALS = {
  sandboxesOff: nothing,
  sandboxNotFound: nothing,
  sandboxEnded: z.strictObject({ reason: z.enum(SANDBOX_END_REASON_NAMES) }),
  /** The row has another process meanwhile: the caller reads it again. */
  sandboxElsewhere: nothing,
  sandboxMoving: nothing,
  sandboxPaused: nothing,
  sandboxQuota: z.strictObject({ what: z.enum(["sandboxes", "memory", "executions"]), most: count }),
  sandboxesFull: nothing,
  executionsFull: nothing,
  executionNotFound: nothing,
  executionEnded: nothing,
  takesNoInput: nothing,
  inputFull: z.strictObject({ bytes: count }),
  noTerminal: nothing,
  snapshotNotFound: nothing,
  snapshotElsewhere: nothing,
  snapshotDamaged: nothing,
  snapshotQuota: z.strictObject({ what: z.enum(["snapshots", "bytes of snapshots"]), most: count }),
  snapshotsFull: nothing,
  snapshotTooLarge: z.strictObject({ limit: z.enum(["disk or inodes", "memory"]) }),
  snapshotFailed: z.strictObject({ why: z.string().max(WHY_CHARACTERS) }),
  networkForbidden: z.strictObject({ reason: z.string().max(WHY_CHARACTERS) }),
  sandboxWithoutNetwork: nothing,
  keyRevoked: nothing,
  accountSuspended: nothing,
} as const satisfies { readonly [Code in SandboxRefusalCode]?: z.ZodType<SandboxRefusals[Code]> };
type CrossingCode = keyof typeof REFUSALS;

/** The most characters of a path or text about a file. */
const FILE_TEXT = 1_500;

const failure = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("refused"),
    code: z.enum(Object.keys(REFUSALS) as [CrossingCode]),
    details: z.unknown(),
  }),
  z.strictObject({
    kind: z.literal("file"),
    code: fileErrorCode,
    path: z.string().max(FILE_TEXT).nullable(),
    detail: z.string().max(FILE_TEXT),
  }),
  /** The other process has failed, and its log says why. */
  z.strictObject({ kind: z.literal("failed") }),
]);

/** The other process failed to do what a call asked for. */
export class RemoteFailure extends Error {
  override readonly name = "RemoteFailure";
}

/** @returns the failure as JSON; null if the error is one that only the log gets, and the other process hears `failed`. */
export function encodeFailure(error: unknown): { readonly value: z.output<typeof failure>; readonly isKnown: boolean } {
  if (error instanceof SandboxRefused && Object.hasOwn(REFUSALS, error.code))
    return { value: { kind: "refused", code: error.code as CrossingCode, details: detailsOf(error) }, isKnown: true };
  if (error instanceof FileError) {
    const { code, path, message } = error;
    const detail = (path === null ? message : message.slice(path.length + 2)).slice(0, FILE_TEXT);
    const value = { kind: "file", code, path: path?.slice(0, FILE_TEXT) ?? null, detail } as const;
    return {
      value: JSON.stringify(value).length > 8_000 ? { ...value, path: null, detail: FILE_ERRORS[code] } : value,
      isKnown: true,
    };
  }
  return { value: { kind: "failed" }, isKnown: error instanceof CutOff };
}

function detailsOf(error: SandboxRefused): object {
  if (!SandboxRefused.is(error, "snapshotFailed")) return error.details;
  return { why: error.details.why.slice(0, WHY_CHARACTERS).toWellFormed() };
}

/** @returns the error. @throws if the value is no failure. */
export function decodeFailure(value: unknown): Error {
  const failed = failure.parse(value);
  if (failed.kind === "failed") return new RemoteFailure("the other process has failed; its log says why");
  if (failed.kind === "file") return new FileError(failed.code, failed.path, failed.detail);
  return refusalOf(failed.code, REFUSALS[failed.code].parse(failed.details));
}

function refusalOf(code: CrossingCode, details: object): SandboxRefused {
  return new SandboxRefused<"inputFull">(code as "inputFull", details as SandboxRefusals["inputFull"]);
}
