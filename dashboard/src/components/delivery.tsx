import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { DeliveryResource, Headers } from "../../../src/http/dashboard/api/deliveries.ts";
import { mutations, queries } from "../client/api.ts";
import { CodeBlock } from "./code-block.tsx";
import { ConfirmButton } from "./confirm-button.tsx";
import { Copyable } from "./copyable.tsx";
import { TableSkeleton } from "./data-table.tsx";
import css from "./delivery.module.css";
import { counted, duration } from "./format.ts";
import { QueryBoundary } from "./query-boundary.tsx";
import { StatusBadge, type Tone } from "./status-badge.tsx";
import { Timestamp } from "./timestamp.tsx";

const TONES: Readonly<Record<DeliveryResource["state"], Tone>> = { pending: "idle", delivered: "good", failed: "bad" };

type Attempt = DeliveryResource["attempts"][number];

/** A delivery in one line. It can be expanded to its request and to its attempts with their responses. */
export function DeliveryEntry({ of: delivery }: { of: DeliveryResource }) {
  const { id, state, kind, attempts, reason, nextAt, createdAt, webhookId, url } = delivery;
  const last = attempts.at(-1);
  return (
    <li>
      <details className={css.delivery}>
        <summary>
          <StatusBadge tone={TONES[state]}>{state}</StatusBadge>
          <span className={css.kind}>{kind}</span>
          <Timestamp at={createdAt} />
          <span>{attempts.length === 0 ? "no attempt" : counted(attempts.length, "attempt")}</span>
          <span className={css.reason}>{last ? (last.status ?? last.error) : reason}</span>
          <span className={css.latency}>{last && duration(last.latencyMs)}</span>
        </summary>
        <div className={css.content}>
          <p className={css.links}>
            <Subject of={delivery} />
            <span>
              URL <Copyable text={url} what="URL of the endpoint" />
            </span>
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
          <RequestBody id={id} />
          <ol className={css.attempts}>
            {attempts.map((attempt) => (
              <AttemptEntry key={attempt.number} of={attempt} isLast={attempt === last} />
            ))}
          </ol>
          {kind !== "test" && state !== "pending" && (
            <ConfirmButton
              label="Replay"
              submit="Replay delivery"
              title="Replay this delivery?"
              act={() => mutations.replay(id)}
              successMessage="Delivery replayed."
              harmless
            >
              Sends the record again with the same <code>webhook-id</code>, by which receivers can recognise duplicates.
            </ConfirmButton>
          )}
        </div>
      </details>
    </li>
  );
}

/** A link to the submission or the judgement whose result is delivered. A test has none. */
function Subject({ of: { submissionId, kind, webhookId } }: { of: DeliveryResource }) {
  if (submissionId) {
    return (
      <Link to="/submissions/$id" params={{ id: submissionId }}>
        Submission {submissionId.slice(0, 8)}
      </Link>
    );
  }
  if (kind === "test") return <span>Test message</span>;
  // The `webhook-id` of the result of a judgement is the id of the judgement.
  return (
    <Link to="/judgements/$id" params={{ id: webhookId }}>
      Judgement {webhookId.slice(0, 8)}
    </Link>
  );
}

function AttemptEntry({ of: attempt, isLast }: { of: Attempt; isLast: boolean }) {
  const { number, at, latencyMs, status, error, answer, sentHeaders, answerHeaders } = attempt;
  return (
    <li>
      <p>
        <b>Attempt {number}</b> <Timestamp at={at} />, {duration(latencyMs)}:{" "}
        {status === null ? "no response" : `status ${status}`}
        {error && `, ${error}`}
      </p>
      {sentHeaders && <HeadersOf name="Request headers" of={sentHeaders} />}
      {status !== null && (
        <>
          {answerHeaders && <HeadersOf name="Response headers" of={answerHeaders} />}
          <details className={css.section} open={isLast}>
            <summary>Response body</summary>
            {answer ? (
              <>
                <CodeBlock label={`Response body of attempt ${number}`}>{answer}</CodeBlock>
                <p className={css.hint}>The service stores at most the first KiB of a response.</p>
              </>
            ) : (
              <p className={css.hint}>Empty.</p>
            )}
          </details>
        </>
      )}
    </li>
  );
}

function HeadersOf({ name, of: headers }: { name: string; of: Headers }) {
  return (
    <details className={css.section}>
      <summary>{`${name} (${headers.length})`}</summary>
      <dl className={css.headers}>
        {headers.map(([header, value], at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a header can repeat, and does not change
          <div key={at}>
            <dt>{header}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

/** The body of the request. It is loaded when it is opened, because a record can have megabytes. */
function RequestBody({ id }: { id: string }) {
  const [open, setOpen] = useState(false);
  const body = useQuery({ ...queries.sentBody(id), enabled: open });
  return (
    <details className={css.section} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Request body</summary>
      {open && (
        <QueryBoundary query={body} placeholder={<TableSkeleton rows={3} />}>
          {({ text, isCut }) =>
            text === null ? (
              <p className={css.hint}>The record was deleted.</p>
            ) : (
              <>
                <CodeBlock label="Request body">{text}</CodeBlock>
                {isCut && <p className={css.hint}>Only the first 64 KiB are shown.</p>}
              </>
            )
          }
        </QueryBoundary>
      )}
    </details>
  );
}
