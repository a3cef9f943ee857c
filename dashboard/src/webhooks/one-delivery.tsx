import type { Delivery } from "../../../src/http/dashboard/api/deliveries.ts";
import { change } from "../api.ts";
import { Confirm } from "../pieces/confirm.tsx";
import { Copyable } from "../pieces/copyable.tsx";
import { State, type Tone } from "../pieces/state.tsx";
import { Timestamp } from "../pieces/timestamp.tsx";
import { counted, duration } from "../pieces/words.ts";
import css from "./delivery-log.module.css";

const TONES: Readonly<Record<Delivery["state"], Tone>> = { pending: "idle", delivered: "good", failed: "bad" };

/** A delivery in one line; expanded, its attempts with the start of each response. */
export function OneDelivery({ of: delivery }: { of: Delivery }) {
  const { id, state, kind, attempts, reason, nextAt, createdAt, submissionId, webhookId, url } = delivery;
  const last = attempts.at(-1);
  return (
    <li>
      <details className={css.delivery}>
        <summary>
          <State tone={TONES[state]}>{state}</State>
          <span className={css.kind}>{kind}</span>
          <Timestamp at={createdAt} />
          <span>{attempts.length === 0 ? "no attempt" : counted(attempts.length, "attempt")}</span>
          <span>{last ? (last.status ?? last.error) : reason}</span>
          <span className={css.latency}>{last && duration(last.latencyMs)}</span>
        </summary>
        <div className={css.inside}>
          <p className={css.ids}>
            <span>
              URL <Copyable text={url} what="URL of the endpoint" />
            </span>
            {submissionId && (
              <span>
                Submission <Copyable text={submissionId} what="id of the submission" short />
              </span>
            )}
            <span>
              webhook-id <Copyable text={webhookId} what="webhook-id" short />
            </span>
            {nextAt && (
              <span>
                Next attempt <Timestamp at={nextAt} />
              </span>
            )}
          </p>
          {reason && <p>{reason}</p>}
          <ol className={css.attempts}>
            {attempts.map((attempt) => (
              <li key={attempt.number}>
                <p>
                  <b>Attempt {attempt.number}</b> <Timestamp at={attempt.at} />, {duration(attempt.latencyMs)}:{" "}
                  {attempt.status === null ? "no response" : `status ${attempt.status}`}
                  {attempt.error && `, ${attempt.error}`}
                </p>
                {attempt.answer && <pre>{attempt.answer}</pre>}
              </li>
            ))}
          </ol>
          {submissionId && state !== "pending" && (
            <Confirm
              label="Replay"
              title="Replay this delivery?"
              act={() => change.replay(id)}
              said="Delivery replayed."
              harmless
            >
              Sends the record again with the same <code>webhook-id</code>, by which receivers can recognise duplicates.
            </Confirm>
          )}
        </div>
      </details>
    </li>
  );
}
