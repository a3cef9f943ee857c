import type { HealthCheck } from "../../../src/http/dashboard/api/overview.ts";
import css from "./health-checks.module.css";
import { StatusBadge } from "./status-badge.tsx";

/** Health checks. The failed ones are first, and show what the failure means and what to do. */
export function HealthChecks({ checks }: { checks: readonly HealthCheck[] }) {
  const sorted = [...checks].sort((a, b) => Number(a.ok) - Number(b.ok));
  return (
    <ul className={css.checks}>
      {sorted.map(({ name, ok, detail, means, remedy }) => (
        <li key={name}>
          <span>
            <StatusBadge tone={ok ? "good" : "bad"}>{ok ? "works" : "fails"}</StatusBadge>
          </span>
          <code>{name}</code>
          <span>{detail}</span>
          {(means || remedy) && (
            <div className={css.advice}>
              {means && (
                <p>
                  <b>What it means.</b> {means}
                </p>
              )}
              {remedy && (
                <p>
                  <b>What to do.</b> {remedy}
                </p>
              )}
            </div>
          )}
        </li>
      ))}
    </ul>
  );
}
