import { z } from "zod";
import { abortAfter } from "../../domain/abort-after.ts";
import { clientError } from "../../domain/error.ts";
import { toLongRecord } from "../../domain/record.ts";
import { isTerminal } from "../../domain/submission.ts";
import { named } from "../named-schemas.ts";
import { disconnected } from "../responses/client-disconnect.ts";
import { route } from "../route.ts";
import { accept } from "./accept.ts";
import { count, status, submissionId } from "./fields.ts";
import { IDEMPOTENCY_KEY, WAIT } from "./parameters.ts";
import { record } from "./record-schema.ts";
import { POLICY_VALUES } from "./sandboxes/bodies.ts";
import { SUBMIT_ERRORS, submitBody, toSubmitRequest } from "./submit-request.ts";

export const accepted = named(
  "Accepted",
  z.strictObject({
    id: submissionId,
    status: z.literal("pending"),
    queue_depth: count.describe("Number of pending submissions of all keys, including this one"),
  }),
);
/** The body of the errors of a wait that ended before the run or judgement. */
named("NotFinished", z.strictObject({ error: z.string(), id: submissionId, status }));

/** Accepts a program. With `wait=true`, it responds when the run has ended, or after `holdMs`. */
export const submit = route({
  id: "submit",
  method: "post",
  path: "/api/submit",
  summary: "Submit a program",
  description:
    "The program runs in a sandbox of its own. The response has the `id` by which you poll the result. The run continues if the " +
    "client disconnects.",
  parameters: { query: { wait: WAIT }, headers: { "Idempotency-Key": IDEMPOTENCY_KEY } },
  body: submitBody,
  successes: {
    200: { description: "The final record, with `wait=true`", body: record },
    202: {
      description: "The submission is accepted; if the Idempotency-Key is known, the current record of its submission",
      body: [accepted, record],
      location: true,
    },
  },
  errors: [...SUBMIT_ERRORS, "notFinished", "notFinishedAtStop"],
  config: { tooLarge: "submissionTooLarge", values: POLICY_VALUES },
  handler:
    ({ dependencies, answers, stopping }) =>
    async ({ request, reply, caller, owner, query, headers: { "Idempotency-Key": key } }) => {
      const { submissions } = dependencies.store;
      const wait = query.wait === "true";
      const valid = toSubmitRequest(request.body, caller, dependencies, { mayHaveNetwork: true });
      const added = await accept(valid, caller, dependencies, { key, live: valid.live, takesInput: valid.takesInput });
      const { id, accountId } = added.submission;
      request.submissionId = id;
      // The client can wait for half a minute, and the program is in the store by now.
      request.forgetBody?.();
      const known = added.kind === "duplicate";
      const admit = answers.admitFor(owner, request, reply);
      if (known || !wait) reply.code(202).header("location", `/api/result/${id}`);
      if (!wait && !known) return { id, status: "pending", queue_depth: added.queueDepth };
      const signal = abortAfter(dependencies.holdMs, disconnected(reply), stopping);
      const read = wait
        ? submissions.whenTerminal(id, accountId, signal, admit, !known)
        : submissions.get(id, accountId, admit);
      const now = (await read) ?? added.submission;
      if (known || isTerminal(now.status)) return answers.send(owner, reply, toLongRecord(now));
      const fields = { id, status: now.status };
      if (stopping.aborted) throw clientError("notFinishedAtStop", [], { fields });
      throw clientError("notFinished", [dependencies.holdMs / 1000], { fields });
    },
});
