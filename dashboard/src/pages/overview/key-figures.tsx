import { Skeleton } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { History, Now } from "../../../../src/http/dashboard/api/overview.ts";
import { sum } from "../../components/charts/sums.ts";
import { count, counted, duration } from "../../components/format.ts";
import { StatusBadge } from "../../components/status-badge.tsx";
import { deliveriesLink } from "./deliveries-link.ts";
import css from "./overview.module.css";

interface Props {
  readonly now: Now;
  /** Undefined while it loads. */
  readonly history: History | undefined;
  /** The time of the history in words, such as "in the last hour". */
  readonly during: string;
}

/** The present state of the queue, the workers and the deliveries, and the deliveries that failed in the time of the charts. */
export function KeyFigures({ now, history, during }: Props) {
  const free = Math.max(0, now.slots - now.running);
  return (
    <dl className={css.figures}>
      <Figure name="Waiting" value={count(now.pending)}>
        {now.pending === 0 ? "queue empty" : `longest wait ${duration(now.oldestPendingMs)}`}
      </Figure>
      <Figure name="Running" value={count(now.running)}>
        {now.slots === 0 ? "no worker" : `${counted(free, "slot")} of ${count(now.slots)} free`}
      </Figure>
      <Deliveries pending={now.deliveriesDue} history={history} during={during} />
      <Figure
        name="Readiness"
        value={<StatusBadge tone={now.ready ? "good" : "bad"}>{now.ready ? "ready" : "not ready"}</StatusBadge>}
      >
        {now.ready ? "verified by a run" : "see the failed checks"}
      </Figure>
    </dl>
  );
}

function Deliveries({ pending, history, during }: { readonly pending: number } & Pick<Props, "history" | "during">) {
  const failed = history && sum(history.buckets.map(({ deliveries }) => deliveries.failed));
  return (
    <Figure
      name="Webhook deliveries"
      isLong
      isBad={failed !== undefined && failed > 0}
      value={
        <Link {...deliveriesLink(history?.failing ?? [])}>
          <span>{count(pending)} pending</span>
          {failed !== undefined && (
            <>
              {" · "}
              <span>{count(failed)} failed</span>
            </>
          )}
        </Link>
      }
    >
      {failed ? `failed ${during}` : `none failed ${during}`}
    </Figure>
  );
}

export function KeyFiguresSkeleton() {
  return (
    <div className={css.figures}>
      {["a", "b", "c", "d"].map((name) => (
        <div key={name} className={css.figure}>
          <Skeleton height={12} width="50%" my={4} />
          <Skeleton height={24} width="35%" my={8} />
          <Skeleton height={12} width="70%" />
        </div>
      ))}
    </div>
  );
}

interface FigureProps {
  readonly name: string;
  readonly value: ReactNode;
  readonly isBad?: boolean;
  /** Whether the value has words in addition to numbers. */
  readonly isLong?: boolean;
  readonly children: ReactNode;
}

function Figure({ name, value, isBad, isLong, children }: FigureProps) {
  return (
    <div className={css.figure}>
      <dt>{name}</dt>
      <dd className={css.value} data-bad={isBad || undefined} data-long={isLong || undefined}>
        {value}
      </dd>
      <dd className={css.caption}>{children}</dd>
    </div>
  );
}
