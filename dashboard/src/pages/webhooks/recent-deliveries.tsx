import type { Endpoint } from "../../../../src/http/dashboard/api/endpoints.ts";
import { count } from "../../components/format.ts";
import { State } from "../../components/status-badge.tsx";
import css from "./recent-deliveries.module.css";

export function Recent({ of: { delivered, failed, pending } }: { of: Endpoint["recent"] }) {
  if (delivered + failed + pending === 0) return <span>none yet</span>;
  return (
    <span className={css.recent}>
      {delivered > 0 && <State tone="good">{count(delivered)} delivered</State>}
      {failed > 0 && <State tone="bad">{count(failed)} failed</State>}
      {pending > 0 && <State tone="idle">{count(pending)} pending</State>}
    </span>
  );
}
