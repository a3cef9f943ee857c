export { Assay, type SubmitOptions, type WaitOptions } from "./assay.ts";
export { AssayError, type FailureCode } from "./error.ts";
export type { ExecutionEvent, JudgementEvent, SubmissionEvent } from "./events.ts";
export type { CallOptions, FileContent, WriteFileOptions } from "./sandboxes.ts";
export type { AssayOptions } from "./transport.ts";
export type * from "./types.ts";
export { type SignedMessage, type Verification, verifyWebhook, WebhookError, type WebhookMessage } from "./webhook.ts";
