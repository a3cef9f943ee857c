import { Link, useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import type { History } from "../../../../src/http/dashboard/api/overview.ts";
import { Bars } from "../../components/charts/bars.tsx";
import { type Canvas, type LegendEntry, Plot } from "../../components/charts/plot.tsx";
import { linear } from "../../components/charts/scale.ts";
import { inside, percent, sum } from "../../components/charts/sums.ts";
import type { BucketSelection } from "../../components/charts/times.ts";
import { count } from "../../components/format.ts";
import { deliveriesLink } from "./deliveries-link.ts";
import css from "./overview.module.css";

const STATES = [
  { name: "delivered", colour: "var(--verdict-ac)" },
  { name: "failed", colour: "var(--verdict-re)" },
] as const;

/** Ended webhook deliveries over time, and the endpoints with failed deliveries. */
export function DeliveriesChart({ history: { buckets, failing } }: { history: History }) {
  const navigate = useNavigate();
  const most = Math.max(0, ...buckets.map(({ deliveries }) => deliveries.delivered + deliveries.failed));
  const axis = useMemo(() => linear(most, count), [most]);
  const legend = (span: BucketSelection): readonly LegendEntry[] => {
    const chosen = inside(buckets, span);
    const [delivered, failed] = STATES.map(({ name }) => sum(chosen.map(({ deliveries }) => deliveries[name])));
    const all = (delivered ?? 0) + (failed ?? 0);
    return STATES.map(({ name, colour }) => {
      const amount = (name === "failed" ? failed : delivered) ?? 0;
      return { name, colour, value: all === 0 ? count(amount) : `${count(amount)} · ${percent((100 * amount) / all)}` };
    });
  };
  const draw = useCallback(
    (canvas: Canvas) => (
      <Bars
        canvas={canvas}
        stacks={buckets.map(({ deliveries }) =>
          STATES.map(({ name, colour }) => ({ colour, value: deliveries[name] })),
        )}
      />
    ),
    [buckets],
  );
  return (
    <Plot
      title="Webhook deliveries"
      axis={axis}
      legend={legend}
      empty={most === 0 ? "No delivery ended in this time." : null}
      onPick={() => void navigate(deliveriesLink(failing))}
      below={
        failing.length > 0 && (
          <ul className={css.failing} aria-label="Endpoints with failed deliveries">
            {failing.map(({ id, url, removed, failed }) => (
              <li key={id}>
                <b>{count(failed)} failed</b>{" "}
                {removed ? (
                  `${url} (removed)`
                ) : (
                  <Link to="/webhooks/$id" params={{ id }}>
                    {url}
                  </Link>
                )}
              </li>
            ))}
          </ul>
        )
      }
    >
      {draw}
    </Plot>
  );
}
