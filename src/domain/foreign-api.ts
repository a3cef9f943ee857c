import type { Outcome } from "./outcome.ts";
import type { Program, Submission } from "./submission.ts";

/**
 * What a client of another service's API has sent in addition to a program that our own API can describe. Only the module of that API
 * (src/compat) knows what it means; everything else stores it and passes it on.
 */
export interface ForeignRequest {
  /** The name of the API (`ForeignApi.name`). */
  readonly api: string;
  /** The number by which the module counts submissions (`ForeignSubmissionStore.counts`). */
  readonly category: number;
  readonly data: string;
  /** Bytes that the module needs to judge the outcome, for example an expected output. Null if it needs none. */
  readonly reference: Buffer | null;
  /** Bytes that the module needs only to show the request again. */
  readonly attachment: Buffer | null;
  /** The URL that gets the result of the submission, and the endpoint of the project whose secret signs that message. */
  readonly callback: { readonly url: string; readonly endpointId: string } | null;
}

/** The part of a request that its module needs to judge an outcome. A worker gets it with the submission. */
export type ClaimedForeignRequest = Pick<ForeignRequest, "api" | "data" | "reference">;

/** A submission of a client of another service's API. */
export interface ForeignSubmission extends Pick<ForeignRequest, "api" | "category" | "data"> {
  readonly submission: Submission;
  readonly callbackUrl: string | null;
  /** What the module noted when the submission ended; null until then, and if the platform failed to run it. */
  readonly note: number | null;
  /** What the compiler wrote for a program that compiled; null if it wrote nothing. */
  readonly compileOutput: Buffer | null;
  /** The size of `sent`, even if it is not read. */
  readonly sentBytes: number;
  /** What the client sent; null if nobody needs it. */
  readonly sent: (Pick<ForeignRequest, "reference" | "attachment"> & { readonly program: Program }) | null;
}

/** What the core needs to know about another service's API. All functions are pure. */
export interface ForeignApi {
  readonly name: string;
  /** The number to store with a submission that ends: what the API says about the outcome, so that it is found out only once. */
  readonly note: (outcome: Outcome, request: ClaimedForeignRequest) => number;
  /** Whether a program that is to run several times may run again after an outcome with this note. */
  readonly isAccepted: (note: number) => boolean;
  /** The JSON of the message to the URL of a callback, with LongText for contents. */
  readonly callbackBody: (submission: ForeignSubmission) => unknown;
}

/** The APIs by their names. */
export type ForeignApis = ReadonlyMap<string, ForeignApi>;

/** @throws Error for an unknown name: a later release has accepted the submission. */
export function foreignApiOf(apis: ForeignApis, name: string): ForeignApi {
  const api = apis.get(name);
  if (!api) throw new Error(`this release does not know the API ${name}`);
  return api;
}
