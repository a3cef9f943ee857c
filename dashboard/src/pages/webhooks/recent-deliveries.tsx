import type { Endpoint } from "../../../../src/http/dashboard/api/endpoints.ts";
import { count } from "../../components/format.ts";
import { StatusBadge } from "../../components/status-badge.tsx";
import css from "./recent-deliveries.module.css";

export function RecentDeliveries({ of: { delivered, failed, pending } }: { of: Endpoint["recent"] }) {
  if (delivered + failed + pending === 0) return <span>none yet</span>;
  return (
    <span className={css.recent}>
      {delivered > 0 && <StatusBadge tone="good">{count(delivered)} delivered</StatusBadge>}
      {failed > 0 && <StatusBadge tone="bad">{count(failed)} failed</StatusBadge>}
      {pending > 0 && <StatusBadge tone="idle">{count(pending)} pending</StatusBadge>}
    </span>
  );
}
