import { Skeleton } from "@mantine/core";
import type { ReactNode } from "react";
import type { Now } from "../../../src/http/dashboard/api/overview.ts";
import { State } from "../pieces/state.tsx";
import { count, counted, duration } from "../pieces/words.ts";
import css from "./overview.module.css";

/** The present figures. */
export function Figures({ now }: { now: Now }) {
  const free = Math.max(0, now.slots - now.running);
  return (
    <dl className={css.figures}>
      <Figure name="Waiting" value={count(now.pending)}>
        {now.pending === 0 ? "queue empty" : `oldest for ${duration(now.oldestPendingMs)}`}
      </Figure>
      <Figure name="Running" value={count(now.running)}>
        {now.slots === 0 ? "no worker" : `${counted(free, "slot")} of ${count(now.slots)} free`}
      </Figure>
      <Figure name="Deliveries due" value={count(now.deliveriesDue)}>
        {now.deliveriesDue === 0 ? "none pending" : "to webhooks"}
      </Figure>
      <Figure
        name="Readiness"
        value={<State tone={now.ready ? "good" : "bad"}>{now.ready ? "ready" : "not ready"}</State>}
      >
        {now.ready ? "verified by a run" : "see the failed checks"}
      </Figure>
    </dl>
  );
}

export function FiguresWaiting() {
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

function Figure({ name, value, children }: { name: string; value: ReactNode; children: ReactNode }) {
  return (
    <div className={css.figure}>
      <dt>{name}</dt>
      <dd className={css.value}>{value}</dd>
      <dd className={css.beside}>{children}</dd>
    </div>
  );
}
