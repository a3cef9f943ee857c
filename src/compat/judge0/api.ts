import type { ForeignApi } from "../../domain/foreign-api.ts";
import { JUDGE0_NAME } from "./conventions.ts";
import { DEFAULT_FIELDS, judge0Answer } from "./fields.ts";
import { ACCEPTED, judge0StatusOf } from "./status.ts";
import { toJudge0Submission } from "./submission.ts";

/** The form in which Judge0 sends a callback. */
const CALLBACK = { fields: DEFAULT_FIELDS, base64: true, languageName: String };

/** What the core needs to know about Judge0. The note is the Judge0 status. */
export const JUDGE0_API: ForeignApi = {
  name: JUDGE0_NAME,
  note: (outcome, { reference }) => judge0StatusOf(outcome, reference),
  isAccepted: (note) => note === ACCEPTED,
  callbackBody: (submission) => judge0Answer(toJudge0Submission(submission), CALLBACK),
};
