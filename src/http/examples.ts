import { type ClientError, clientError, type ErrorCode } from "../domain/error.ts";
import { MAX_BODY_BYTES } from "./body.ts";

const LATER = { headers: { "retry-after": "1" } };

/** One of each error, as a client may see it. */
export const EXAMPLES: { readonly [code in ErrorCode]: ClientError } = {
  malformedJson: clientError("malformedJson", []),
  bodyNotObject: clientError("bodyNotObject", []),
  duplicateField: clientError("duplicateField", []),
  fieldMissing: clientError("fieldMissing", ["code"]),
  fieldNotString: clientError("fieldNotString", ["code"]),
  notUnicode: clientError("notUnicode", ["code"]),
  unknownFields: clientError("unknownFields", ['"timeout"']),
  webhookField: clientError("webhookField", ['"webhook_url"']),
  codeEmpty: clientError("codeEmpty", []),
  codeTooLarge: clientError("codeTooLarge", [70_000]),
  stdinTooLarge: clientError("stdinTooLarge", [300_000]),
  unsupportedLanguage: clientError("unsupportedLanguage", ['"cobol"', ["c", "python"]]),
  unknownProfile: clientError("unknownProfile", ['"root"']),
  badWait: clientError("badWait", ['"yes"']),
  unknownQuery: clientError("unknownQuery", ['"wiat"']),
  badIdempotencyKey: clientError("badIdempotencyKey", []),
  badRequest: clientError("badRequest", []),
  unauthorized: clientError("unauthorized", []),
  profileForbidden: clientError("profileForbidden", ["agent"]),
  httpsRequired: clientError("httpsRequired", []),
  submissionNotFound: clientError("submissionNotFound", []),
  routeNotFound: clientError("routeNotFound", []),
  methodNotAllowed: clientError("methodNotAllowed", ["POST"], { headers: { allow: "POST" } }),
  notFinished: clientError("notFinished", [30], {
    fields: { id: "8716aa61-b3c9-473f-961a-d3d8661390c4", status: "running" },
  }),
  notFinishedAtStop: clientError("notFinishedAtStop", [], {
    fields: { id: "8716aa61-b3c9-473f-961a-d3d8661390c4", status: "pending" },
  }),
  requestTimeout: clientError("requestTimeout", []),
  bodyTooLarge: clientError("bodyTooLarge", [MAX_BODY_BYTES]),
  notJson: clientError("notJson", []),
  expectationFailed: clientError("expectationFailed", []),
  idempotencyConflict: clientError("idempotencyConflict", []),
  quotaExceeded: clientError("quotaExceeded", [], LATER),
  tooManyFailures: clientError("tooManyFailures", [], LATER),
  tooManyRequests: clientError("tooManyRequests", [], LATER),
  headersTooLarge: clientError("headersTooLarge", []),
  internal: clientError("internal", []),
  queueFull: clientError("queueFull", [], LATER),
  shuttingDown: clientError("shuttingDown", [], LATER),
  databaseAway: clientError("databaseAway", [], LATER),
  languagesUnproven: clientError("languagesUnproven", [], LATER),
  notReady: clientError("notReady", [], {
    fields: { status: "not_ready", checks: [{ name: "seccomp_filter", ok: false, detail: "could not be read back" }] },
  }),
};
